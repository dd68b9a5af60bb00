"""Transform each column to a uniform or a normal distribution by its private quantiles."""

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from dplearn._validation import check_choice, check_count
from dplearn.preprocessing.number_columns import Numbers
from dplearn.preprocessing.quantile_columns import QuantilesOfColumns, interpolate
from dplearn.privacy import PrivacyLedger

__all__ = ["PrivateQuantileTransformer"]

_QUIET: Any = {"all": "ignore"}  # Any, because the type stubs do not allow this argument


class PrivateQuantileTransformer(QuantilesOfColumns):
    """Map each column to a uniform or a normal distribution, by private quantiles.

    Parameters
    ----------
    n_quantiles : int, default=15
        The number n of learned quantiles of each column, at least 1: 1/(n + 1), ..., n/(n + 1). Numbers
        beyond the first or the last quantile are mapped to that quantile's fraction. Half as many quantiles
        have about half the error.
    output_distribution : {"uniform", "normal"}, default="uniform"
        The distribution of the transformed columns.
    epsilon : float, default=1.0
        Privacy budget of one fit, divided evenly over the columns; at least 1e-9. A float stands for its
        shortest decimal: 0.1 is 1/10.
    domain : "float64", NumberDomain, sequence of them, Product or Schema, default="float64"
        The possible values, known without looking at the data: one domain for all columns, or one for each.
        "float64": all finite floats. Columns of a data frame that a Schema does not name are dropped.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.

    Attributes
    ----------
    quantiles_ : ndarray of float64 of shape (n_quantiles, n_features)
        Released. The quantiles, ascending in each column.
    references_ : ndarray of float64 of shape (n_quantiles,)
        Public. The fractions of the quantiles.
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, with its assumptions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.theory.quantile_errors : Bounds on the rank errors of quantiles.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** The rank errors are `quantile_errors` at epsilon / n_features; see the result of
    `plan(n_samples, n_features=...)`.

    **Source.** As for `dplearn.releases.quantiles`.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.preprocessing import PrivateQuantileTransformer
    >>> X = np.arange(10_000.0)[:, None] ** 2
    >>> spread = PrivateQuantileTransformer(n_quantiles=7, random_state=0).fit(X)
    >>> np.round(spread.transform([[3000.0**2], [7000.0**2]]), 1).tolist()
    [[0.3], [0.7]]
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
        """Map each number to its estimated cumulative probability, or to the normal quantile of that.

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
            # A number at several equal quantiles gets the middle of their fractions.
            sides = [interpolate(column, points, self.references_, side) for side in ("left", "right")]
            numbers[:, place] = (sides[0] + sides[1]) / 2
        if self.output_distribution != "normal":
            return numbers
        with special.errstate(**_QUIET):  # scipy's setting is separate from numpy's
            return np.asarray(special.ndtri(numbers), dtype=np.float64)

    def inverse_transform(self, X: Any) -> Numbers:
        """Return the approximate preimages of transformed numbers.

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
