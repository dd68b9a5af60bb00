"""Clip each column to two private quantiles and map what is left to a public range.

>>> X = np.arange(4000.0)[:, None]
>>> clipper = PrivateMinMaxClipper(quantile_range=(10, 90), random_state=0).fit(X)
>>> np.round(clipper.transform([[-7.0], [2000.0], [1e9]]), 1).tolist()
[[0.0], [0.5], [1.0]]
"""

from fractions import Fraction
from typing import Any

import numpy as np

from dplearn.preprocessing.quantile_columns import (
    Numbers,
    QuantilesOfColumns,
    check_percents,
    check_range,
    placed,
)
from dplearn.privacy import PrivacyLedger

__all__ = ["PrivateMinMaxClipper"]


class PrivateMinMaxClipper(QuantilesOfColumns):
    """Move numbers beyond two private quantiles to these, and scale the rest to a range.

    Least and greatest of the data are single records; quantiles near the ends take their place. What comes
    out is bounded, as many private learners want it.

    Parameters
    ----------
    feature_range : pair of float, default=(0.0, 1.0)
        Of the transformed columns.
    quantile_range : pair of float, default=(1.0, 99.0)
        The quantiles, in percent.
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
    data_low_, data_high_ : ndarray of float64 of shape (n_features,)
        Released. The quantiles.
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
        feature_range: Any = (0.0, 1.0),
        quantile_range: Any = (1.0, 99.0),
        epsilon: float = 1.0,
        domain: Any = "float64",
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.feature_range = feature_range
        self.quantile_range = quantile_range
        self.epsilon = epsilon
        self.domain = domain
        self.ledger = ledger
        self.random_state = random_state

    def _fractions(self) -> list[Fraction]:
        check_range("feature_range", self.feature_range)
        return list(check_percents("quantile_range", self.quantile_range))

    def _publish_quantiles(self, released: Numbers) -> None:
        self.data_low_, self.data_high_ = released

    def transform(self, X: Any) -> Numbers:
        """Clip and scale.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
            Within `feature_range`.
        """
        low, high = (float(end) for end in check_range("feature_range", self.feature_range))
        share = placed(self._numbers(X), self.data_low_, self.data_high_)
        return np.clip((1 - share) * low + share * high, low, high)

    def inverse_transform(self, X: Any) -> Numbers:
        """Return numbers between the quantiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
        """
        low, high = (np.array(float(end)) for end in check_range("feature_range", self.feature_range))
        share = placed(self._transformed(X, self._n_columns), low, high)
        numbers: Numbers = (1 - share) * self.data_low_ + share * self.data_high_
        return numbers
