"""Centre each column at its private median, and scale it by the distance between two private quantiles."""

from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import check_bool
from dplearn.preprocessing.number_columns import Numbers, finite, scaled, unscaled
from dplearn.preprocessing.quantile_columns import QuantilesOfColumns, check_percents
from dplearn.privacy import PrivacyLedger

__all__ = ["PrivateRobustScaler"]

_HALF = Fraction(1, 2)


class PrivateRobustScaler(QuantilesOfColumns):
    """Subtract each column's private median, and divide by the distance between two private quantiles.

    Parameters
    ----------
    with_centering, with_scaling : bool, default=True
        Whether the median is subtracted, and whether columns are divided by the distance. A step that is off
        costs nothing.
    quantile_range : pair of float, default=(25.0, 75.0)
        The quantiles whose distance is the scale, in percent.
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
    center_ : ndarray of float64 of shape (n_features,), or None
        Released. The medians; None without centering.
    scale_ : ndarray of float64 of shape (n_features,), or None
        Released. The distances between the quantiles, with 1 in place of 0; None without scaling.
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
    >>> from dplearn.preprocessing import PrivateRobustScaler
    >>> X = np.arange(4000.0)[:, None]
    >>> scaler = PrivateRobustScaler(random_state=0).fit(X)
    >>> np.round(scaler.transform([[0.0], [4000.0]]), 1).tolist()
    [[-1.0], [1.0]]
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
        names = ("with_centering", "with_scaling")
        centering, scaling = (check_bool(name, getattr(self, name)) for name in names)
        ends = check_percents("quantile_range", self.quantile_range)
        return sorted({*([_HALF] * centering), *(ends * scaling)})

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
            Finite: overflows are replaced with the largest finite float.
        """
        # With few records the quantiles may have any magnitude, so results may overflow.
        return scaled(self._numbers(X), self.center_, self.scale_)

    def inverse_transform(self, X: Any) -> Numbers:
        """Multiply by the scale and add the centre.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
        """
        return unscaled(self._transformed(X, self._n_columns), self.center_, self.scale_)
