"""Centre and scale each column by its private median and the distance of two private quantiles.

>>> X = np.arange(4000.0)[:, None]
>>> scaler = PrivateRobustScaler(random_state=0).fit(X)
>>> np.round(scaler.transform([[0.0], [4000.0]]), 1).tolist()
[[-1.0], [1.0]]
"""

from fractions import Fraction
from typing import Any

import numpy as np

from dplearn.preprocessing.quantile_columns import Numbers, QuantilesOfColumns, check_percents, finite
from dplearn.privacy import PrivacyLedger

__all__ = ["PrivateRobustScaler"]

_HALF = Fraction(1, 2)


class PrivateRobustScaler(QuantilesOfColumns):
    """Subtract a private median and divide by a private distance of quantiles, column by column.

    Parameters
    ----------
    with_centering, with_scaling : bool, default=True
        What is done. What is not done costs nothing.
    quantile_range : pair of float, default=(25.0, 75.0)
        The quantiles whose distance is the scale, in percent.
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
    center_ : ndarray of float64 of shape (n_features,), or None
        Released. The medians; None without centering.
    scale_ : ndarray of float64 of shape (n_features,), or None
        Released. The distances, 1 in place of 0; None without scaling.
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
        with_centering: bool = True,
        with_scaling: bool = True,
        quantile_range: Any = (25.0, 75.0),
        epsilon: float = 1.0,
        domain: Any = "float64",
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.with_centering = with_centering
        self.with_scaling = with_scaling
        self.quantile_range = quantile_range
        self.epsilon = epsilon
        self.domain = domain
        self.ledger = ledger
        self.random_state = random_state

    def _fractions(self) -> list[Fraction]:
        for name in ("with_centering", "with_scaling"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")
        ends = check_percents("quantile_range", self.quantile_range)
        return sorted({*([_HALF] * self.with_centering), *(ends * self.with_scaling)})

    def _publish_quantiles(self, released: Numbers) -> None:
        found = dict(zip(self._fractions(), released, strict=True))
        self.center_ = found[_HALF] if self.with_centering else None
        self.scale_ = None
        if self.with_scaling:
            low, high = (found[end] for end in check_percents("quantile_range", self.quantile_range))
            distance = finite(high - low)
            self.scale_ = np.where(distance > 0, distance, 1.0)

    def transform(self, X: Any) -> Numbers:
        """Subtract the centre and divide by the scale.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
            Finite: what is beyond the largest float is taken for that.
        """
        numbers = self._numbers(X)
        # Of few records quantiles may be of any magnitude.
        if self.center_ is not None:
            numbers = finite(numbers - self.center_)
        return numbers if self.scale_ is None else finite(numbers / self.scale_)

    def inverse_transform(self, X: Any) -> Numbers:
        """Multiply by the scale and add the centre.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
        """
        numbers = self._transformed(X, self._n_columns)
        if self.scale_ is not None:
            numbers = finite(numbers * self.scale_)
        return numbers if self.center_ is None else finite(numbers + self.center_)
