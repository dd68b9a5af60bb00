"""Base class of transformers that learn private quantiles of each column, and interpolation between them.

>>> interpolate(np.array([0.5, 2.0, 9.0]), np.array([0.0, 1.0, 2.0]), np.array([10.0, 20.0, 30.0])).tolist()
[15.0, 30.0, 30.0]
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.core.ranks import Ranks, SortedCodes
from dplearn.domains import NumberDomain
from dplearn.estimator.public import Public
from dplearn.fit.relation import TABLE
from dplearn.preprocessing.number_columns import (
    NamesOfColumns,
    NumberColumns,
    NumberColumnsFit,
    Numbers,
    declared_numbers,
)
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan, hidden
from dplearn.records.part_ranks import parted_ranks
from dplearn.records.reading import as_product
from dplearn.records.rows import Columns
from dplearn.records.table import Table, as_table
from dplearn.releases.extremes import ExtremesPlan, counts_within, extremes_warnings, release_extremes
from dplearn.releases.quantiles import (
    QuantilesPlan,
    quantile_warnings,
    quantiles_plan,
    rank_windows,
    release_quantiles,
)

__all__ = [
    "ColumnsPlan",
    "QuantilesOfColumns",
    "check_percents",
    "check_range",
    "interpolate",
    "placed",
]


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
    """Return the linear interpolation of heights between ascending points, constant beyond both ends.

    Parameters
    ----------
    x : ndarray of any shape
        Numbers.
    points, heights : ndarray of shape (k,)
        Ascending; points may be equal.
    side : {"left", "right"}, default="right"
        Whether a number at several equal points gets the height of the first or of the last of them.

    Returns
    -------
    ndarray of float64 of the shape of x
    """
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
