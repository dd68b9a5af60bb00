"""Transformers that learn private quantiles of each column: scaler, clipper, binning, ranks; their base."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache, partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import check_bool, check_choice, check_count, check_number, check_pair
from dplearn.chance.dice import Dice
from dplearn.domains import Floats, Product
from dplearn.estimator.recipe import FitFacts
from dplearn.fit import N_IS_PUBLIC, TABLE
from dplearn.kernels import Ranks, dense, power_at_most, ranks_of_codes
from dplearn.mechanisms.sparse_vector import first_reaching, reaching_ratios
from dplearn.preprocessing.number_columns import (
    NamesOfColumns,
    NumberColumns,
    NumberColumnsFit,
    Numbers,
    declared_numbers,
    finite,
    in_blocks,
    scaled,
    unscaled,
)
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.guarantees import epsilon_of
from dplearn.releases.quantiles import quantile_warnings, quantiles_plan, release_quantiles
from dplearn.releases.release import ReleasePlan, few_records_warnings
from dplearn.table import Columns, Table, as_table, parted_ranks
from dplearn.table.features import as_product

_SEARCH = "above_threshold"
_METHODS = ("auto", "quantiles", _SEARCH)
_BITS = 2  # candidates for an end on the way from a power of two to the next: 2**_BITS
_HALF = Fraction(1, 2)
_QUIET: Any = {"all": "ignore"}  # Any, because the type stubs do not allow this argument


class QuantilesOfColumns(NamesOfColumns, NumberColumns):
    """Base of transformers that learn private quantiles of each column.

    A subclass chooses the quantiles, and computes its fitted attributes from them. Epsilon is divided evenly
    over the columns, since a record affects every column.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit, divided evenly over the columns; at least 1e-9. A float stands for its
        shortest decimal: 0.1 is 1/10.
    domain : "float64", NumberDomain, sequence of them, Product or Schema, default="float64"
        The possible values, known without looking at the data: one domain for all columns, or one for each.
        "float64": all finite floats. Columns of a data frame that a Schema does not name are dropped.
    """

    @abstractmethod
    def _fractions(self) -> list[Fraction]:
        """Check the parameters, and return the ascending fractions of quantiles; none cost nothing."""

    def plan(
        self, n_samples: int, *, n_features: int | None = None, alpha: Any = 0.05, beta: Any = 0.05
    ) -> ReleasePlan:
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
        ReleasePlan
            With the guarantee, n_samples, and `columns`: the plan of each column's quantiles by its name, or
            of a search for its ends, at its share of epsilon; empty if no quantile is learned.

            `error`: the greatest rank error over all columns. For each column, with probability at least
            1 - beta, no quantile has a greater rank error.

            `n_inside`: the number of records from which on all quantiles of a column are, with the same
            probability, between the least and the greatest number of the column. With fewer records they may
            be any value of the domain. None if 0% or 100% is among the quantiles.

            `n_needed`: the number of records from which on no rank error exceeds the share alpha of the
            records.
        """
        fit = self._recipe(self.random_state is not None)
        public = self._planned(fit, n_samples, n_features)
        return fit.planned(public, alpha=alpha, beta=beta)

    def _recipe(self, reproducible: bool) -> "QuantilesOfColumnsFit":
        declared, fractions = declared_numbers(self.domain), self._fractions()
        epsilon = check_number("epsilon", self.epsilon, low=Fraction(1, 10**9))
        # A fit without quantiles costs nothing.
        cost = ApproxDP(epsilon if fractions else 0, reproducible=reproducible)
        return QuantilesOfColumnsFit(self, cost, declared=declared, fractions=fractions)


class QuantilesOfColumnsFit(NumberColumnsFit):
    """The fit of `QuantilesOfColumns`."""

    def column_plan(self, n_samples: int, *, domain: Any, **given: Any) -> ReleasePlan:
        return quantiles_plan(n_samples, self.fractions, domain=domain, **given)

    def plan(self, facts: FitFacts, *, alpha: Any = 0.05, beta: Any = 0.05) -> ReleasePlan:
        product = as_product(self.declared, facts.n_features, facts.names)
        share = ApproxDP(self.cost.epsilon / len(product))
        given = {"epsilon": share.epsilon, "alpha": alpha, "beta": beta}
        of = cache(lambda domain: self.column_plan(facts.n_samples, domain=domain, **given))
        named = zip(product.names, product.domains, strict=True) if self.fractions else ()
        columns = {name: of(domain) for name, domain in named}
        return ReleasePlan(
            replace(self.cost, assumes=(*TABLE, *product.assumes)),
            facts.n_samples,
            title="ColumnsPlan",
            states={"columns": columns},
            keeps={
                "fractions": self.fractions,
                "product": product,
                "share": share,
                "error": partial(_greatest, columns, "error", 0),
                "n_inside": partial(_greatest, columns, "n_inside", 1),
                "n_needed": partial(_greatest, columns, "n_needed", 1),
            },
            warns=_warnings(facts.n_samples, columns, share.epsilon),
        )

    def summarize(self, rows: Any, plan: ReleasePlan) -> "_SortedColumns":  # noqa: ARG002
        return _SortedColumns(rows.columns)

    def run(self, summary: "_SortedColumns | Table", plan: ReleasePlan, dice: Dice) -> Numbers:
        # A replaced record replaces one code of each column; each column spends its share of epsilon.
        columns = dict(enumerate(plan.columns.values()))
        searched = {place: each for place, each in columns.items() if each.method == _SEARCH}
        ranks = _ranks_of(summary, plan, columns.keys() - searched) if len(searched) < len(columns) else ()
        counts = as_table(summary).sums(partial(_counts_of, searched)) if searched else ()
        counts_of = dict(zip(searched, zip(counts[::2], counts[1::2], strict=True), strict=True))
        released = np.empty((len(plan.fractions), len(plan.product)))
        for place, each in columns.items():
            if place in searched:
                found = release_extremes(counts_of[place], each, privacy=plan.share, dice=dice)
            else:
                found = release_quantiles(ranks[place], each.domain, each.search, dice=dice)
            released[:, place] = found
        return released


def _greatest(columns: Mapping[str, ReleasePlan], name: str, least: int) -> int | None:
    """Return the greatest number of that name of all columns; None if a column has None."""
    found = [getattr(plan, name) for plan in columns.values()]
    return None if None in found else max(found, default=least)


def _warnings(n: int, columns: Mapping[str, ReleasePlan], epsilon: Fraction) -> tuple[str, ...]:
    """Return a warning if the quantiles of the column with the largest domain may be any value of it."""
    drawn = [plan.search for plan in columns.values() if plan.method != _SEARCH]
    searched = [plan.n_inside or n + 1 for plan in columns.values() if plan.method == _SEARCH]
    found: tuple[str, ...] = ()
    if drawn:
        widest = max(drawn, key=lambda search: search.size)
        found = quantile_warnings(n, widest, columns=len(columns))
    if not searched:
        return found
    return found + few_records_warnings(
        n,
        float(max(searched) > n),
        least=1,
        problem=f"with epsilon {float(epsilon):.3g}{' a column' if len(columns) > 1 else ''}, the search for"
        " the ends of the data may miss most records or end far beyond all of them",
        remedy="take fewer columns" if len(columns) > 1 else "",
    )


class _SortedColumns(Columns):
    """The codes of each column, sorted at the first use."""

    @cached_property
    def ranks(self) -> list[Ranks]:
        return list(map(ranks_of_codes, self.columns))


def _counts_of(searched: Mapping[int, ReleasePlan], records: Columns) -> list[NDArray[np.int64]]:
    """Return two arrays of counts of each column whose ends are searched for."""
    return [
        counts
        for place, plan in searched.items()
        for counts in counts_within(records.columns[place], plan.domain)
    ]


def _ranks_of(summary: _SortedColumns | Table, plan: ReleasePlan, drawn: Set[int]) -> Sequence[Ranks]:
    """Return the ranks of the codes of each column; those of the columns in `drawn` are found in passes."""
    if isinstance(summary, _SortedColumns):  # sorted once for all paths of an audit
        return summary.ranks
    asked = [each.search.ranks if place in drawn else () for place, each in enumerate(plan.columns.values())]
    return parted_ranks(summary, [domain.size for domain in plan.product.domains], asked)


def check_percents(name: str, value: Any) -> tuple[Fraction, Fraction]:
    """Return two ascending percentages as fractions from 0 to 1."""
    low, high = check_pair(name, value, low=0, high=100)
    if high <= 1:
        raise ValueError(
            f"{name} must be in percent, as in (25, 75), which is not (0.25, 0.75); with both ends at most 1,"
            f" it would be the lowest percent of the data, got {value!r}"
        )
    return low / 100, high / 100


def placed(x: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Return the position of each number: 0 up to `low`, 1 from `high` on, and 0 at ends that are equal."""
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
    return (1 - share) * heights[first] + share * heights[first + 1]


@documented_by(QuantilesOfColumns, NumberColumns)
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
    method : {"auto", "quantiles", "above_threshold"}, default="auto"
        "quantiles": both ends are private quantiles, drawn from the whole domain. "above_threshold": each end
        is searched for outwards from 0, among four numbers from each power of two to the next, and is the
        first that has about the wanted share of the records on its side; only in domains of `Floats`. "auto":
        the search, for each column of `Floats` with fewer records than the quantiles need to be between the
        least and the greatest number (`n_inside` of their plan); quantiles for all others.

    Attributes
    ----------
    data_low_, data_high_ : ndarray of float64 of shape (n_features,)
        Released. The lower and the upper end of each column. Those of a search are at most and at least 0.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.
    The method of a column depends on public numbers only. A search is two of `first_reaching`.

    **Accuracy.** The rank errors of quantiles are `dplearn.theory.quantile_errors` at epsilon / n_features;
    those of a search follow from `first_reaching`. See the result of `plan(n_samples, n_features=...)`.

    **Source.** As for `dplearn.releases.quantiles`; Durfee (2023) for the search.

    Examples
    --------
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
        check_pair("feature_range", self.feature_range)
        check_choice("method", self.method, _METHODS)
        return list(check_percents("quantile_range", self.quantile_range))

    def _recipe(self, reproducible: bool) -> "MinMaxClipperFit":
        fit = super()._recipe(reproducible)
        declared = fit.declared
        domains = declared.domains if isinstance(declared, Product) else (declared,)
        if self.method == _SEARCH and not all(map(has_candidates, domains)):
            raise ValueError(
                "method must be 'auto' or 'quantiles' unless the domain of every column is 'float64' or"
                " Floats, got 'above_threshold'"
            )
        return MinMaxClipperFit.like(fit).given(method=self.method)

    def _publish(self, outcome: Numbers, plan: ReleasePlan) -> None:  # noqa: ARG002
        self.data_low_, self.data_high_ = outcome

    def transform(self, X: Any) -> Numbers:
        """Clip, and scale to `feature_range`."""
        low, high = (float(end) for end in check_pair("feature_range", self.feature_range))

        def of(rows: Numbers) -> Numbers:
            share = placed(rows, self.data_low_, self.data_high_)
            return np.clip((1 - share) * low + share * high, low, high)

        numbers = self._numbers(X)
        return in_blocks(of, numbers, numbers.shape[1])

    def inverse_transform(self, X: Any) -> Numbers:
        """Map numbers within `feature_range` back to numbers between the quantiles."""
        low, high = (np.array(float(end)) for end in check_pair("feature_range", self.feature_range))
        share = placed(self._transformed(X, self._n_columns), low, high)
        return (1 - share) * self.data_low_ + share * self.data_high_


class MinMaxClipperFit(QuantilesOfColumnsFit):
    """The fit of `PrivateMinMaxClipper`."""

    def column_plan(self, n_samples: int, *, domain: Any, **given: Any) -> ReleasePlan:
        drawn = super().column_plan(n_samples, domain=domain, **given)
        if self.method == "quantiles" or not has_candidates(domain):
            return drawn
        if self.method == "auto" and drawn.inside:
            return drawn
        larger = drawn if self.method == "auto" and drawn.n_inside is not None else None
        return extremes_plan(n_samples, self.fractions, domain=domain, larger=larger, **given)


# A quantile near the end of the data is drawn from the whole domain, and with few records from beyond the
# data. A search for an end passes candidates outwards from 0, in the order of their magnitude, and stops soon
# after the last record.


def extremes_plan(
    n_samples: int,
    q: Sequence[Fraction],
    *,
    epsilon: Any,
    domain: Floats,
    alpha: Any = 0.05,
    beta: Any = 0.05,
    larger: ReleasePlan | None = None,
) -> ReleasePlan:
    """Return the plan of a search for two ends, or `larger`, of quantiles, from its `n_inside` records on.

    **Accuracy.** With probability at least 1 - beta, for both ends together: at most q[0] n + error records
    are below the lower end, and at most (1 - q[1]) n + error above the upper one. From `n_inside` records on
    each end is then at most the first candidate with no record beyond it: at most a quarter greater in
    magnitude than the furthest record on its side of 0 (of numbers from 2.3e-308 on).
    """
    guarantee = ApproxDP(epsilon, assumes=(N_IS_PUBLIC, domain.assumption))
    alpha, beta, tail = float(alpha), float(beta), min(_tails(q))
    least, past = _reaches(guarantee.epsilon, beta, len(candidates(domain)))
    error = min(least, n_samples)
    return ReleasePlan(
        guarantee,
        n_samples,
        title="ExtremesPlan",
        states={"q": tuple(map(float, q)), "domain": domain, "alpha": alpha, "beta": beta},
        later={
            "errors": (error, error),
            # A count of n exceeds the threshold by floor(tail n), which must be at least `past`.
            "n_inside": ceil(past / tail) if tail else None,
            "n_needed": partial(_needed, ceil(least / Fraction(repr(alpha))), larger),
        },
        keeps={"fractions": tuple(q), "method": _SEARCH, "error": error},
    )


def _needed(n: int, larger: ReleasePlan | None) -> int:
    """Return the number of records from which on no error exceeds alpha n, by the method of so many."""
    if larger is None or max(n, larger.n_needed) <= larger.n_inside:
        return n
    return int(max(larger.n_inside, larger.n_needed))


def has_candidates(domain: Any) -> bool:
    """Return whether the values of a domain have an order of magnitude to search in: floats around 0."""
    return isinstance(domain, Floats) and not domain.accepts_missing


@lru_cache(maxsize=16)
def candidates(domain: Floats) -> NDArray[np.uint64]:
    """Return the codes of the candidates for the upper end, ascending from that of 0 to the greatest."""
    steps = (domain.size - 1) // 2
    stride = 1 << max(0, domain.significand_bits - _BITS)
    upto = np.arange(0, steps, stride, dtype=np.uint64)
    found = np.append(upto, np.uint64(steps)) + np.uint64(steps)
    found.flags.writeable = False
    return found


def counts_within(codes: NDArray[Any], domain: Floats) -> list[NDArray[np.int64]]:
    """Return the numbers of records up to each candidate for the upper end and from each for the lower."""
    ends, codes = candidates(domain), codes.astype(np.uint64, copy=False)
    mirrored = np.uint64(domain.size - 1) - codes
    return [_counts_upto(ends, side) for side in (codes, mirrored)]


def _counts_upto(ends: NDArray[np.uint64], codes: NDArray[np.uint64]) -> NDArray[np.int64]:
    places = np.searchsorted(ends, codes, side="left")  # of the first end that is not less
    return np.cumsum(np.bincount(places, minlength=len(ends)))


def release_extremes(
    counts: Sequence[NDArray[np.int64]], plan: ReleasePlan, *, privacy: ApproxDP, dice: Dice
) -> NDArray[np.float64]:
    """Return a private lower and upper end of a column.

    **Privacy.** Each is a search of `first_reaching`: a replaced record moves counts up to some candidates by
    1, in one direction.
    """
    half = ApproxDP(epsilon_of(privacy) / 2)
    ends = candidates(plan.domain)
    upper, lower = (
        int(ends[first_reaching(found, _threshold(tail, plan.n_samples), privacy=half, dice=dice)])
        for found, tail in zip(counts, reversed(_tails(plan.fractions)), strict=True)
    )
    ends = plan.domain.decode(np.array([plan.domain.size - 1 - lower, upper], dtype=np.uint64))
    return np.asarray(ends)


def _tails(q: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Return the shares of the records beyond the lower and the upper end."""
    return q[0], 1 - q[1]


def _threshold(tail: Fraction, n: int) -> int:
    """Return the number of records that an end should have on its side."""
    return n - int(tail * n)


@lru_cache(maxsize=64)
def _reaches(epsilon: Fraction, beta: float, m: int) -> tuple[int, int]:
    """Return how far a count may miss the threshold, and exceed it in vain; four events of beta / 4."""
    of_threshold, of_count = reaching_ratios(epsilon / 2)
    quarter = Fraction(repr(beta)) / 4
    return power_at_most(of_count, quarter / m) - 1, power_at_most(of_threshold, quarter) - 1


@documented_by(QuantilesOfColumns, NumberColumns)
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

    Attributes
    ----------
    center_ : ndarray of float64 of shape (n_features,), or None
        Released. The medians; None without centering.
    scale_ : ndarray of float64 of shape (n_features,), or None
        Released. The distances between the quantiles, with 1 in place of 0; None without scaling.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.

    **Accuracy.** The rank errors are `dplearn.theory.quantile_errors` at epsilon / n_features; see the result
    of `plan(n_samples, n_features=...)`.

    **Source.** As for `dplearn.releases.quantiles`.

    Examples
    --------
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

    def _publish(self, outcome: Numbers, plan: ReleasePlan) -> None:  # noqa: ARG002
        found = dict(zip(self._fractions(), outcome, strict=True))
        self.center_ = found[_HALF] if self.with_centering else None
        self.scale_ = None
        if self.with_scaling:
            low, high = (found[end] for end in check_percents("quantile_range", self.quantile_range))
            distance = finite(high - low)
            self.scale_ = np.where(distance > 0, distance, 1.0)

    def transform(self, X: Any) -> Numbers:
        """Subtract the centre and divide by the scale."""
        # With few records the quantiles may have any magnitude, so results may overflow.
        return scaled(self._numbers(X), self.center_, self.scale_)

    def inverse_transform(self, X: Any) -> Numbers:
        """Multiply by the scale and add the centre."""
        return unscaled(self._transformed(X, self._n_columns), self.center_, self.scale_)


@documented_by(QuantilesOfColumns, NumberColumns)
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

    Attributes
    ----------
    cuts_ : ndarray of float64 of shape (n_bins - 1, n_features)
        Released. The boundaries between bins, ascending; a number at a cut is in the bin above it. A bin
        between equal cuts is empty.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.

    **Accuracy.** The rank errors are `dplearn.theory.quantile_errors` at epsilon / n_features; see the result
    of `plan(n_samples, n_features=...)`.

    **Source.** As for `dplearn.releases.quantiles`.

    Examples
    --------
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

    def _publish(self, outcome: Numbers, plan: ReleasePlan) -> None:  # noqa: ARG002
        if self.strategy == "uniform":
            share = np.arange(1, self.n_bins)[:, None] / self.n_bins
            outcome = np.sort((1 - share) * outcome[0] + share * outcome[1], axis=0)
        self.cuts_ = outcome

    def transform(self, X: Any) -> Any:
        """Return the bin of each number.

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
        """
        check_is_fitted(self)
        d = self._n_columns
        rows = self._transformed(dense(X), len(self.get_feature_names_out()))
        if self.encode == "ordinal":
            bins = np.clip(rows, 0, self.n_bins - 1).astype(np.intp)
        else:
            bins = rows.reshape(len(rows), d, self.n_bins).argmax(axis=2)
        middles = np.vstack([self.cuts_[:1], self.cuts_[:-1] / 2 + self.cuts_[1:] / 2, self.cuts_[-1:]])
        return middles[bins, np.arange(d)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns; for one-hot encodings followed by `_` and the bin's number."""
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        if self.encode == "ordinal":
            return names
        return np.array([f"{name}_{i}" for name in names for i in range(self.n_bins)], dtype=object)


@documented_by(QuantilesOfColumns, NumberColumns)
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

    Attributes
    ----------
    quantiles_ : ndarray of float64 of shape (n_quantiles, n_features)
        Released. The quantiles, ascending in each column.
    references_ : ndarray of float64 of shape (n_quantiles,)
        Public. The fractions of the quantiles.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.

    **Accuracy.** The rank errors are `dplearn.theory.quantile_errors` at epsilon / n_features; see the result
    of `plan(n_samples, n_features=...)`.

    **Source.** As for `dplearn.releases.quantiles`.

    Examples
    --------
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

    def _publish(self, outcome: Numbers, plan: ReleasePlan) -> None:  # noqa: ARG002
        self.quantiles_ = outcome
        self.references_ = np.array([float(each) for each in self._fractions()])

    def transform(self, X: Any) -> Numbers:
        """Map each number to its estimated cumulative probability, or to the normal quantile of that."""
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
        """Return the approximate preimages of transformed numbers."""
        shares = self._transformed(X, self._n_columns)
        if self.output_distribution == "normal":
            with special.errstate(**_QUIET):
                shares = special.ndtr(shares)
        columns = zip(shares.T, self.quantiles_.T, strict=True)
        return np.column_stack([interpolate(column, self.references_, points) for column, points in columns])
