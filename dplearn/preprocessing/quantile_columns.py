"""Transformers that learn private quantiles of each column: scaler, clipper, binning, and ranks; their base.

>>> interpolate(np.array([0.5, 2.0, 9.0]), np.array([0.0, 1.0, 2.0]), np.array([10.0, 20.0, 30.0])).tolist()
[15.0, 30.0, 30.0]
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import check_bool, check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.domains import NumberDomain, Product
from dplearn.estimator.recipe import Public
from dplearn.fit.relation import TABLE
from dplearn.kernels.ranks import Ranks, SortedCodes
from dplearn.preprocessing.number_columns import (
    NamesOfColumns,
    NumberColumns,
    NumberColumnsFit,
    Numbers,
    declared_numbers,
    finite,
    scaled,
    unscaled,
)
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import Plan, hidden
from dplearn.releases.extremes import (
    ExtremesPlan,
    counts_within,
    extremes_plan,
    extremes_warnings,
    has_candidates,
    release_extremes,
)
from dplearn.releases.quantiles import (
    QuantilesPlan,
    quantile_warnings,
    quantiles_plan,
    rank_windows,
    release_quantiles,
)
from dplearn.table.features import as_product
from dplearn.table.ranks import parted_ranks
from dplearn.table.rows import Columns
from dplearn.table.table import Table, as_table

_METHODS = ("auto", "quantiles", "above_threshold")
_HALF = Fraction(1, 2)
_QUIET: Any = {"all": "ignore"}  # Any, because the type stubs do not allow this argument


@dataclass(frozen=True)
class ColumnsPlan(Plan):
    """The plan of a fit of a transformer that learns quantiles.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    n_samples : int
        Number of records.
    columns : dict of str to QuantilesPlan or ExtremesPlan
        The plan of each column's quantiles, or of a search for its ends, at its share of epsilon: rank
        errors, and the numbers of records needed. Empty if no quantile is learned.
    error : int
        The greatest rank error over all columns. For each column, with probability at least 1 - beta, no
        quantile has a greater rank error.
    n_inside : int or None
        The number of records from which on all quantiles of a column are, with the same probability, between
        the least and the greatest number of the column. With fewer records they may be any value of the
        domain. None if 0% or 100% is among the quantiles.
    n_needed : int
        The number of records from which on no rank error exceeds the share alpha of the records.
    """

    guarantee: ApproxDP
    n_samples: int
    columns: dict[str, QuantilesPlan | ExtremesPlan]
    fractions: Any = hidden()
    product: Any = hidden()
    share: Any = hidden()

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if the quantiles of the column with the largest domain may be any value of it."""
        columns, epsilon = len(self.product), self.share.epsilon
        drawn = [plan.domain.size for plan in self.columns.values() if isinstance(plan, QuantilesPlan)]
        found: tuple[str, ...] = ()
        if drawn:
            found = quantile_warnings(
                self.n_samples, self.fractions, max(drawn), epsilon=epsilon, columns=columns
            )
        searched = [plan for plan in self.columns.values() if isinstance(plan, ExtremesPlan)]
        if searched:
            n_inside = max((plan.n_inside or self.n_samples + 1) for plan in searched)
            found += extremes_warnings(self.n_samples, n_inside, epsilon=epsilon, columns=columns)
        return found

    @property
    def error(self) -> int:
        """The greatest rank error over all columns."""
        return max((error for plan in self.columns.values() for error in plan.errors), default=0)

    @property
    def n_inside(self) -> int | None:
        """The number of records from which on quantiles are within the range of the data, or None."""
        inside = [plan.n_inside for plan in self.columns.values()]
        return None if None in inside else max((n for n in inside if n is not None), default=1)

    @property
    def n_needed(self) -> int:
        """The number of records from which on no rank error exceeds the share alpha of the records."""
        return max((plan.n_needed for plan in self.columns.values()), default=1)


class QuantilesOfColumns(NamesOfColumns, NumberColumns):
    """Base of transformers that learn private quantiles of each column.

    A subclass chooses the quantiles, and computes its fitted attributes from them. Epsilon is divided evenly
    over the columns, since a record affects every column.
    """

    @abstractmethod
    def _fractions(self) -> list[Fraction]:
        """Check the parameters, and return the fractions of the learned quantiles, ascending.

        If there are none, a fit costs nothing.
        """

    @abstractmethod
    def _publish_quantiles(self, released: Numbers) -> None:
        """Set the fitted attributes from the quantiles, an array of shape (k, n_features)."""

    def plan(
        self, n_samples: int, *, n_features: int | None = None, alpha: Any = 0.05, beta: Any = 0.05
    ) -> "ColumnsPlan":
        """Return the guarantee and the accuracy of a fit, computed without data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features : int, optional
            Number of columns. None: that of the domain, of the fit, or 1.
        alpha : float, default=0.05
            The wanted rank error, as a share of the records, in (0, 1).
        beta : float, default=0.05
            Probability of failure for each column, in (0, 1).

        Returns
        -------
        ColumnsPlan
        """
        fit = self._recipe(self.random_state is not None)
        public = self._planned(fit, n_samples, n_features)
        plan: ColumnsPlan = fit.planned(public, alpha=alpha, beta=beta)
        return plan

    def _recipe(self, reproducible: bool) -> "QuantilesOfColumnsFit":
        declared, fractions = declared_numbers(self.domain), self._fractions()
        epsilon = check_number("epsilon", self.epsilon, low=Fraction(1, 10**9))
        # A fit without quantiles costs nothing.
        cost = ApproxDP(epsilon if fractions else 0, reproducible=reproducible)
        return QuantilesOfColumnsFit(self, cost, declared=declared, fractions=fractions)

    def _publish(self, outcome: Numbers, plan: "ColumnsPlan") -> None:
        self.guarantee_ = plan.guarantee
        self._publish_quantiles(outcome)


class QuantilesOfColumnsFit(NumberColumnsFit):
    """The fit of `QuantilesOfColumns`."""

    def column_plan(
        self, n_samples: int, fractions: Sequence[Fraction], *, domain: Any, **accuracy: Any
    ) -> "QuantilesPlan | ExtremesPlan":
        """Return the plan of one column, with the parameters of `quantiles_plan`."""
        return quantiles_plan(n_samples, fractions, domain=domain, **accuracy)

    def plan(self, public: Public, *, alpha: Any = 0.05, beta: Any = 0.05) -> "ColumnsPlan":
        product = as_product(self.declared, public.n_features, public.names)
        share = ApproxDP(self.cost.epsilon / len(product))

        @cache
        def of(domain: Any) -> QuantilesPlan | ExtremesPlan:
            return self.column_plan(
                public.n_samples,
                self.fractions,
                epsilon=share.epsilon,
                domain=domain,
                alpha=alpha,
                beta=beta,
            )

        named = zip(product.names, product.domains, strict=True) if self.fractions else ()
        return ColumnsPlan(
            replace(self.cost, assumes=(*TABLE, *product.assumes)),
            public.n_samples,
            {name: of(domain) for name, domain in named},
            fractions=self.fractions,
            product=product,
            share=share,
        )

    def summarize(self, rows: Any, plan: "ColumnsPlan") -> "_SortedColumns":  # noqa: ARG002
        return _SortedColumns(rows.columns)

    def run(self, summary: "_SortedColumns | Table", plan: "ColumnsPlan", dice: Dice) -> Numbers:
        # A replaced record replaces one code of each column; each column spends its share of epsilon.
        drawn = {place for place, each in enumerate(plan.columns.values()) if isinstance(each, QuantilesPlan)}
        searched = {
            place: each for place, each in enumerate(plan.columns.values()) if isinstance(each, ExtremesPlan)
        }
        ranks = _ranks_of(summary, plan, drawn) if drawn else ()
        counts = as_table(summary).sums(partial(_counts_of, searched)) if searched else ()
        counts_of = dict(zip(searched, zip(counts[::2], counts[1::2], strict=True), strict=True))
        released = np.empty((len(plan.fractions), len(plan.product)))
        for place, domain in enumerate(plan.product.domains):
            assert isinstance(domain, NumberDomain)  # `declared_numbers` has checked it
            if place in searched:
                released[:, place] = release_extremes(
                    counts_of[place], searched[place], privacy=plan.share, dice=dice
                )
            elif plan.fractions:
                released[:, place] = release_quantiles(
                    ranks[place], domain, plan.fractions, privacy=plan.share, dice=dice
                )
        return released


class _SortedColumns(Columns):
    """The codes of each column, sorted at the first use."""

    @cached_property
    def ranks(self) -> list[SortedCodes]:
        return [SortedCodes(codes) for codes in self.columns]


def _counts_of(searched: Mapping[int, ExtremesPlan], records: Columns) -> list[NDArray[np.int64]]:
    """Return two arrays of counts of each column whose ends are searched for."""
    return [
        counts
        for place, plan in searched.items()
        for counts in counts_within(records.columns[place], plan.domain)
    ]


def _ranks_of(summary: _SortedColumns | Table, plan: ColumnsPlan, drawn: Set[int]) -> Sequence[Ranks]:
    """Return the ranks of the codes of each column; those of the columns in `drawn` are found in passes."""
    if isinstance(summary, _SortedColumns):  # sorted once for all paths of an audit
        return summary.ranks
    sizes = [domain.size for domain in plan.product.domains]
    windows = [
        rank_windows(tuple(plan.fractions), size, plan.n_samples, privacy=plan.share)
        if place in drawn
        else ()
        for place, size in enumerate(sizes)
    ]
    return parted_ranks(summary, sizes, windows)


def check_percents(name: str, value: Any) -> tuple[Fraction, Fraction]:
    """Return two ascending percentages as fractions from 0 to 1."""
    low, high = check_range(name, value, high=100)
    if high <= 1:
        raise ValueError(
            f"{name} must be in percent, as in (25, 75), which is not (0.25, 0.75); with both ends at most 1,"
            f" it would be the lowest percent of the data, got {value!r}"
        )
    return low / 100, high / 100


def check_range(name: str, value: Any, high: int | None = None) -> tuple[Fraction, Fraction]:
    """Return two ascending numbers; within 0..high if `high` is given."""
    if not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(f"{name} must be a pair of rising numbers, got {value!r}")
    least = None if high is None else 0
    first, last = (check_number(name, end, low=least, high=high) for end in value)
    check_number(f"the second of {name}", last, above=first)
    return first, last


def placed(x: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Return the position of each number between `low` and `high`: 0 up to `low`, 1 from `high` on.

    All arrays broadcast together. If the ends are equal, a number equal to them has the position 0.
    """
    # Differences of quarters do not overflow; quarters of small numbers would lose digits.
    unit = np.where(np.maximum(abs(low), abs(high)) > 1, 0.25, 1.0)
    inside = np.clip(x, low, high)
    width = high * unit - low * unit
    share: Numbers = (inside * unit - low * unit) / np.where(width > 0, width, 1)
    return np.where((width == 0) & (x > high), 1.0, np.minimum(share, 1.0))


def interpolate(x: Numbers, points: Numbers, heights: Numbers, side: str = "right") -> Numbers:
    """Return the linear interpolation of heights between ascending points, constant beyond both ends."""
    if len(points) == 1:
        return np.full(x.shape, heights[0])
    found = np.searchsorted(points, x, side="left" if side == "left" else "right")
    first = np.clip(found - 1, 0, len(points) - 2)
    share = placed(x, points[first], points[first + 1])
    # A number at equal points is at both ends of its interval; `side` chooses one of them.
    equal = (points[first] == points[first + 1]) & (x == points[first])
    share = np.where(equal, float(side == "right"), share)
    between: Numbers = (1 - share) * heights[first] + share * heights[first + 1]
    return between


@dataclass(eq=False, repr=False, kw_only=True)
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

    feature_range: Any = (0.0, 1.0)
    quantile_range: Any = (1.0, 99.0)
    epsilon: float = 1.0
    method: str = "auto"
    domain: Any = "float64"
    ledger: PrivacyLedger | None = None
    random_state: Any = None

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


@dataclass(eq=False, repr=False, kw_only=True)
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

    with_centering: bool = True
    with_scaling: bool = True
    quantile_range: Any = (25.0, 75.0)
    epsilon: float = 1.0
    domain: Any = "float64"
    ledger: PrivacyLedger | None = None
    random_state: Any = None

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


@dataclass(eq=False, repr=False)
class PrivateKBinsDiscretizer(QuantilesOfColumns):
    """Replace each number with its bin between private quantiles, or between equidistant cuts.

    Parameters
    ----------
    n_bins : int, default=4
        Number of bins of each column, at least 2. The first and the last bin are unbounded.
    encode : {"onehot", "onehot-dense", "ordinal"}, default="onehot"
        A column of zeros and ones for each bin, in a sparse matrix or in an array; or the bin's number.
        `set_output` requires one of the latter two.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins with equal numbers of records, or bins of equal width between the two quantiles of
        `quantile_range`.
    quantile_range : pair of float, default=(1.0, 99.0)
        The two quantiles for "uniform", in percent.
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
    cuts_ : ndarray of float64 of shape (n_bins - 1, n_features)
        Released. The boundaries between bins, ascending; a number at a cut is in the bin above it. A bin
        between equal cuts is empty.
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
    >>> from dplearn.preprocessing import PrivateKBinsDiscretizer
    >>> X = np.arange(4000.0)[:, None]
    >>> binned = PrivateKBinsDiscretizer(n_bins=4, encode="ordinal", random_state=0).fit(X)
    >>> binned.transform([[-1e9], [1500.0], [2500.0], [1e9]]).ravel().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """

    n_bins: int = 4
    _: KW_ONLY
    encode: str = "onehot"
    strategy: str = "quantile"
    quantile_range: Any = (1.0, 99.0)
    epsilon: float = 1.0
    domain: Any = "float64"
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def _fractions(self) -> list[Fraction]:
        check_choice("encode", self.encode, ("onehot", "onehot-dense", "ordinal"))
        check_choice("strategy", self.strategy, ("quantile", "uniform"))
        bins = check_count("n_bins", self.n_bins, low=2)
        ends = list(check_percents("quantile_range", self.quantile_range))
        return ends if self.strategy == "uniform" else [Fraction(i, bins) for i in range(1, bins)]

    def _publish_quantiles(self, released: Numbers) -> None:
        if self.strategy == "uniform":
            share = np.arange(1, self.n_bins)[:, None] / self.n_bins
            released = np.sort((1 - share) * released[0] + share * released[1], axis=0)
        self.cuts_ = released

    def transform(self, X: Any) -> Any:
        """Return the bin of each number.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, or CSR matrix
            Of shape (n_samples, n_features) with encode="ordinal"; else (n_samples, n_features * n_bins).
        """
        numbers = self._numbers(X)
        pairs = zip(self.cuts_.T, numbers.T, strict=True)
        bins = np.column_stack([np.searchsorted(cuts, column, side="right") for cuts, column in pairs])
        if self.encode == "ordinal":
            return bins.astype(np.float64)
        n, d = bins.shape
        columns = (bins + self.n_bins * np.arange(d)).ravel()
        shape = (n, d * self.n_bins)
        marked = csr_matrix((np.ones(n * d), columns, np.arange(0, n * d + 1, d)), shape=shape)
        return marked if self.encode == "onehot" else marked.toarray()

    def inverse_transform(self, X: Any) -> Numbers:
        """Return the middle of each bin; for the first and the last bin, their cut.

        Parameters
        ----------
        X : array-like or sparse matrix
            The result of `transform`.

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        d = self._n_columns
        dense: Any = X  # issparse narrows to a type without its methods
        dense = dense.toarray() if issparse(X) else dense
        rows = self._transformed(dense, len(self.get_feature_names_out()))
        if self.encode == "ordinal":
            bins = np.clip(rows, 0, self.n_bins - 1).astype(np.intp)
        else:
            bins = rows.reshape(len(rows), d, self.n_bins).argmax(axis=2)
        middles = np.vstack([self.cuts_[:1], self.cuts_[:-1] / 2 + self.cuts_[1:] / 2, self.cuts_[-1:]])
        inverse: Numbers = middles[bins, np.arange(d)]
        return inverse

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns; for one-hot encodings followed by `_` and the bin's number.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the input's columns.
        """
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        if self.encode == "ordinal":
            return names
        return np.array([f"{name}_{i}" for name in names for i in range(self.n_bins)], dtype=object)


@dataclass(eq=False, repr=False, kw_only=True)
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

    n_quantiles: int = 15
    output_distribution: str = "uniform"
    epsilon: float = 1.0
    domain: Any = "float64"
    ledger: PrivacyLedger | None = None
    random_state: Any = None

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
