"""Clip each column to two private quantiles, and scale it to a public range."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import check_choice
from dplearn.domains import Product
from dplearn.preprocessing.number_columns import Numbers
from dplearn.preprocessing.quantile_columns import (
    QuantilesOfColumns,
    QuantilesOfColumnsFit,
    check_percents,
    check_range,
    placed,
)
from dplearn.privacy import PrivacyLedger
from dplearn.releases.extremes import ExtremesPlan, extremes_plan, has_candidates
from dplearn.releases.quantiles import QuantilesPlan, quantiles_plan

__all__ = ["PrivateMinMaxClipper"]

_METHODS = ("auto", "quantiles", "above_threshold")


class PrivateMinMaxClipper(QuantilesOfColumns):
    """Clip each column to two private quantiles, and scale it to a range.

    The minimum and the maximum of a column are values of single records, so quantiles near the ends replace
    them, or numbers just beyond them. Transformed columns are bounded, which many private learners require.

    Parameters
    ----------
    feature_range : pair of float, default=(0.0, 1.0)
        The range of transformed columns.
    quantile_range : pair of float, default=(1.0, 99.0)
        The quantiles, in percent.
    epsilon : float, default=1.0
        Privacy budget of one fit, divided evenly over the columns; at least 1e-9. A float stands for its
        shortest decimal: 0.1 is 1/10.
    method : {"auto", "quantiles", "above_threshold"}, default="auto"
        "quantiles": both ends are private quantiles, drawn from the whole domain. "above_threshold": each end
        is searched for outwards from 0, among four numbers from each power of two to the next, and is the
        first that has about the wanted share of the records on its side; only in domains of `Floats`. "auto":
        the search, for each column of `Floats` with fewer records than the quantiles need to be between the
        least and the greatest number (`n_inside` of their plan); quantiles for all others.
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
    data_low_, data_high_ : ndarray of float64 of shape (n_features,)
        Released. The lower and the upper end of each column. Those of a search are at most and at least 0.
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
    The method of a column depends on public numbers only. A search is two of `first_reaching`.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** The rank errors of quantiles are `quantile_errors` at epsilon / n_features; those of a
    search follow from `first_reaching`. See the result of `plan(n_samples, n_features=...)`.

    **Source.** As for `dplearn.releases.quantiles`; Durfee (2023) for the search.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.preprocessing import PrivateMinMaxClipper
    >>> X = np.arange(4000.0)[:, None]
    >>> clipper = PrivateMinMaxClipper(quantile_range=(10, 90), random_state=0).fit(X)
    >>> np.round(clipper.transform([[-7.0], [2000.0], [1e9]]), 1).tolist()
    [[0.0], [0.5], [1.0]]
    """

    def __init__(
        self,
        *,
        feature_range: Any = (0.0, 1.0),
        quantile_range: Any = (1.0, 99.0),
        epsilon: float = 1.0,
        method: str = "auto",
        domain: Any = "float64",
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.feature_range = feature_range
        self.quantile_range = quantile_range
        self.epsilon = epsilon
        self.method = method
        self.domain = domain
        self.ledger = ledger
        self.random_state = random_state

    def _fractions(self) -> list[Fraction]:
        check_range("feature_range", self.feature_range)
        check_choice("method", self.method, _METHODS)
        return list(check_percents("quantile_range", self.quantile_range))

    def _recipe(self, reproducible: bool) -> "MinMaxClipperFit":
        fit = super()._recipe(reproducible)
        declared = fit.declared
        domains = declared.domains if isinstance(declared, Product) else (declared,)
        if self.method == "above_threshold" and not all(map(has_candidates, domains)):
            raise ValueError(
                "method must be 'auto' or 'quantiles' unless the domain of every column is 'float64' or"
                " Floats, got 'above_threshold'"
            )
        return MinMaxClipperFit.like(fit).given(method=self.method)

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
        """Map numbers within `feature_range` back to numbers between the quantiles.

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


class MinMaxClipperFit(QuantilesOfColumnsFit):
    """The fit of `PrivateMinMaxClipper`."""

    def column_plan(
        self, n_samples: int, fractions: Sequence[Fraction], *, domain: Any, **accuracy: Any
    ) -> QuantilesPlan | ExtremesPlan:
        drawn = quantiles_plan(n_samples, fractions, domain=domain, **accuracy)
        if self.method == "quantiles" or not has_candidates(domain):
            return drawn
        if self.method == "auto" and drawn.inside:
            return drawn
        larger = drawn if self.method == "auto" and drawn.n_inside is not None else None
        return extremes_plan(n_samples, fractions, domain=domain, larger=larger, **accuracy)
