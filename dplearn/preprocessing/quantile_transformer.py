"""Spread each column evenly, or like a bell, by its private quantiles.

>>> X = np.arange(10_000.0)[:, None] ** 2
>>> spread = PrivateQuantileTransformer(n_quantiles=7, random_state=0).fit(X)
>>> np.round(spread.transform([[3000.0**2], [7000.0**2]]), 1).tolist()
[[0.3], [0.7]]
"""

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from dplearn._validation import check_choice, check_count
from dplearn.preprocessing.quantile_columns import Numbers, QuantilesOfColumns, interpolate
from dplearn.privacy import PrivacyLedger

__all__ = ["PrivateQuantileTransformer"]

_QUIET: Any = {"all": "ignore"}  # the stubs know another word


class PrivateQuantileTransformer(QuantilesOfColumns):
    """Map each column to its private ranks, as shares of all or as a normal distribution has them.

    Parameters
    ----------
    n_quantiles : int, default=15
        How many quantiles of each column are learned: 1/(n + 1), ..., n/(n + 1). What lies beyond the first
        or the last is mapped to it. Half as many have about half the error.
    output_distribution : {"uniform", "normal"}, default="uniform"
        Of the transformed columns.
    epsilon : float, default=1.0
        Privacy budget of one fit, divided evenly over columns; positive, at least 1e-9.
    domain : "float64", NumberDomain, sequence of them, Product or Schema, default="float64"
        What values can occur: one domain for all columns or one for each. "float64": all finite floats. Of
        a data frame, columns that a Schema does not name are left out.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so.

    Attributes
    ----------
    quantiles_ : ndarray of float64 of shape (n_quantiles, n_features)
        Released. Rising in each column.
    references_ : ndarray of float64 of shape (n_quantiles,)
        Public. What shares of the records are below them.
    guarantee_ : ApproxDP
        Public. What the fit guarantees, and on what assumptions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.theory.quantile_errors : By how many ranks quantiles may miss.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** `quantile_errors` at epsilon / n_features; `plan(n_samples, n_features=...)` tells them.

    **Source.** As for `dplearn.releases.quantiles`.
    """

    def __init__(
        self,
        *,
        n_quantiles: int = 15,
        output_distribution: str = "uniform",
        epsilon: float = 1.0,
        domain: Any = "float64",
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.n_quantiles = n_quantiles
        self.output_distribution = output_distribution
        self.epsilon = epsilon
        self.domain = domain
        self.ledger = ledger
        self.random_state = random_state

    def _fractions(self) -> list[Fraction]:
        check_choice("output_distribution", self.output_distribution, ("uniform", "normal"))
        count = check_count("n_quantiles", self.n_quantiles, low=1)
        return [Fraction(i, count + 1) for i in range(1, count + 1)]

    def _publish_quantiles(self, released: Numbers) -> None:
        self.quantiles_ = released
        self.references_ = np.array([float(each) for each in self._fractions()])

    def transform(self, X: Any) -> Numbers:
        """Map each number to its share of records below, or to where a normal distribution has that share.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
        """
        numbers = self._numbers(X)
        for place, points in enumerate(self.quantiles_.T):
            column = numbers[:, place].copy()
            # Of equal quantiles, the middle.
            sides = [interpolate(column, points, self.references_, side) for side in ("left", "right")]
            numbers[:, place] = (sides[0] + sides[1]) / 2
        if self.output_distribution != "normal":
            return numbers
        with special.errstate(**_QUIET):  # scipy has a setting of its own beside numpy's
            return np.asarray(special.ndtri(numbers), dtype=np.float64)

    def inverse_transform(self, X: Any) -> Numbers:
        """Return numbers that are mapped near those given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
        """
        shares = self._transformed(X, self._n_columns)
        if self.output_distribution == "normal":
            with special.errstate(**_QUIET):
                shares = special.ndtr(shares)
        columns = zip(shares.T, self.quantiles_.T, strict=True)
        return np.column_stack([interpolate(column, self.references_, points) for column, points in columns])
