"""The plan of a synthetic table: which tables are measured, with what noise, from public values alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import comb, isqrt
from typing import Any

from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import ALPHA, hidden, noted
from dplearn.privacy.shares import CONCENTRATED, concentrated_budget
from dplearn.releases.release import ReleasePlan
from dplearn.releases.table_columns import TableColumn
from dplearn.releases.table_counts import TableNoise

__all__ = [
    "GREATEST_EPSILON",
    "LEAST_EPSILON",
    "SyntheticTablePlan",
    "TableBudget",
    "TableLayout",
    "checked_layout",
    "synthetic_table_plan",
]

#: The ends of epsilon: beyond them noise cannot be drawn, or there is none.
LEAST_EPSILON, GREATEST_EPSILON = Fraction(1, 10**9), 10**9
# Shares of the budget, in hundredths: base tables, selections, tables of the network. Chosen on other tables
# than those of the benchmark.
_BASE, _SELECTIONS, _NETWORK = 42, 6, 52
_BITS = 100  # of the square root of a budget
_MOST_TABLES = 10_660  # that all rounds together count: those of 40 columns and two parents
_MOST_COLUMNS = 400
_MOST_IN_COLUMN = (1 << 15) - 1  # a cell is held in 16 bits
_WIDEST = 1 << 55  # variance of Gaussian noise


@dataclass(frozen=True)
class TableLayout:
    """What is public about a synthetic table before its release.

    Attributes
    ----------
    columns : tuple of TableColumn
        The columns and their cells.
    target : int or None
        The column that all others depend on.
    degree : int
        The most columns that one column depends on, the target included.
    max_cells : int
        The most cells of a table.
    most_error : float, default=0.5
        A table of the network whose expected error is this share of the records, or more, is no candidate.
    """

    columns: tuple[TableColumn, ...]
    target: int | None
    degree: int
    max_cells: int
    most_error: float = 0.5

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def base(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each base table: one column, or the target and one column."""
        places = range(len(self.columns))
        if self.target is None:
            return tuple((place,) for place in places)
        return tuple((self.target, place) for place in places if place != self.target)

    @property
    def first(self) -> tuple[int, ...]:
        """The columns that are placed without a selection: the target, if any, and the first other."""
        return self.base[0]

    @property
    def rounds(self) -> int:
        """The number of selections."""
        return len(self.columns) - len(self.first) if self.others else 0

    @property
    def others(self) -> int:
        """The most columns, besides the target, that one column depends on."""
        return self.degree - (self.target is not None)

    def size_of(self, places: Sequence[int]) -> int:
        """Return the number of cells of the table of some columns."""
        return math.prod(self.columns[place].size for place in places)

    def name_of(self, places: Sequence[int]) -> str:
        """Return the name of a table: the names of its columns."""
        return " x ".join(self.columns[place].name for place in places)


@dataclass(frozen=True)
class TableBudget:
    """The cost of each step of a release.

    Attributes
    ----------
    base : TableNoise
        The noise of each base table.
    selection : Fraction
        The epsilon of each selection; 0 if there are none.
    network : TableNoise
        The noise of each table of the network.
    """

    base: TableNoise
    selection: Fraction
    network: TableNoise

    @classmethod
    def of(cls, privacy: ApproxDP, n_base: int, rounds: int, reach: int | None = None) -> "TableBudget":
        """Return the division of a budget among so many base tables and rounds.

        Parameters
        ----------
        privacy : ApproxDP
            The cost of all steps together. Without delta, their epsilons add up to its epsilon. With delta,
            their rhos add up to at most its `concentrated_budget`; that of a selection is epsilon^2 / 8.
        n_base, rounds : int
            The numbers of base tables, and of selections, after each of which a table may be measured.
        reach : int, optional
            As for `TableNoise`.
        """
        shares = [Fraction(each, 100) for each in (_BASE, _SELECTIONS, _NETWORK)]
        whole = concentrated_budget(privacy) if privacy.delta else privacy.epsilon
        base, selections, network = (share * whole for share in (shares if rounds else (1, 0, 0)))
        each = max(rounds, 1)
        if not privacy.delta:
            return cls(
                TableNoise.laplace(base / n_base, reach),
                selections / each,
                TableNoise.laplace(network / each, reach),
            )
        return cls(
            TableNoise.gaussian(base / n_base),
            _root(8 * selections / each),
            TableNoise.gaussian(network / each),
        )


@dataclass(frozen=True)
class SyntheticTablePlan(ReleasePlan):
    """The plan of a `SyntheticTable`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the release.
    n_samples : int
        Number of records.
    noise : str
        "gaussian", or "laplace" without delta.
    rounds : int
        The number of selections, after each of which one table of the network is measured.
    degree : int
        The most columns that one column depends on, the target included: as given, or lowered.
    selection_epsilon : float
        The epsilon of each selection.
    base_deviation, network_deviation : float
        The standard deviations of the noise of a cell of a base table, and of a table of the network, with
        more than two cells.
    expected_tv : mapping of str to float
        For each base table, a bound on the expected total variation distance between its noisy shares and
        the true ones, by noise alone: at most 1. Of a table of the network of k cells it is `network_tv(k)`.
    n_needed : int
        The number of records from which on all these are at most .05.
    """

    noise: str
    rounds: int
    degree: int
    selection_epsilon: float
    base_deviation: float = field(metadata=noted("of a cell's noise"))
    network_deviation: float = field(metadata=noted("of a cell's noise"))
    expected_tv: Mapping[str, float]
    n_needed: int = field(metadata=noted("for base tables within .05"))
    layout: Any = hidden()
    budget: Any = hidden()

    _accounting = CONCENTRATED

    def network_tv(self, n_cells: int) -> float:
        """Return a bound on the expected total variation of the noise of a network's table.

        Parameters
        ----------
        n_cells : int
            The number of cells, at least 1.
        """
        return min(1.0, self.network_error(n_cells))

    def network_error(self, n_cells: int) -> float:
        """Return the expected error of a network's table, as a share of the records; it may be above 1.

        It is infinite if no table of a network is measured.

        Parameters
        ----------
        n_cells : int
            The number of cells, at least 1.
        """
        budget: TableBudget = self.budget
        if not self.rounds:
            return math.inf
        return budget.network.expected_error(n_cells) / self.n_samples

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if the noise of some base table is greater than its mean count."""
        layout: TableLayout = self.layout
        budget: TableBudget = self.budget
        noisy = [
            layout.name_of(places)
            for places in layout.base
            if budget.base.deviation(size := layout.size_of(places)) * size > self.n_samples
        ]
        if not noisy:
            return ()
        more = f" and of {len(noisy) - 1} more tables" if len(noisy) > 1 else ""
        return (
            f"n_samples is {self.n_samples}: the noise of a count of {noisy[0]}{more} is greater than the"
            " mean count; declare fewer categories, take fewer bins, or spend more epsilon",
        )


def synthetic_table_plan(
    guarantee: ApproxDP,
    n_samples: int,
    layout: TableLayout,
    *,
    reach: int | None = None,
    budget: TableBudget | None = None,
) -> SyntheticTablePlan:
    """Return the plan of a synthetic table.

    Parameters
    ----------
    guarantee : ApproxDP
        The guarantee of the release.
    n_samples : int
        Number of records, at least 1.
    layout : TableLayout
        Checked by `checked_layout`.
    reach : int, optional
        As for `TableNoise`; audits use a smaller one.
    budget : TableBudget, optional
        The division of the budget in a stored release. None: that of `TableBudget.of`.

    Raises
    ------
    ValueError
        If epsilon is too small for noise that can be drawn.
    """
    budget = budget or TableBudget.of(guarantee, len(layout.base), layout.rounds, reach)
    if any(noise.rho and 1 / noise.rho >= _WIDEST for noise in (budget.base, budget.network)):
        raise ValueError(
            f"epsilon must be greater for so many tables: with {float(guarantee.epsilon):g} their noise is"
            " too wide to be drawn"
        )
    errors = {
        layout.name_of(places): budget.base.expected_error(layout.size_of(places)) for places in layout.base
    }
    return SyntheticTablePlan(
        guarantee,
        n_samples,
        "gaussian" if guarantee.delta else "laplace",
        layout.rounds,
        layout.degree,
        float(budget.selection),
        budget.base.deviation(3),
        budget.network.deviation(3) if layout.rounds else 0.0,
        {name: min(1.0, error / n_samples) for name, error in errors.items()},
        max(1, math.ceil(max(errors.values()) / ALPHA)),
        layout=layout,
        budget=budget,
    )


def checked_layout(
    columns: Sequence[TableColumn], target: int | None, degree: int, max_cells: int
) -> TableLayout:
    """Return the layout of a table if it can be released.

    Parameters
    ----------
    columns : sequence of TableColumn
        Public.
    target : int or None
        The place of the target.
    degree : int
        At least 1. It is lowered where all rounds together would count more than 10,660 tables: from 41
        columns besides the target on, one of them depends on at most one other; from 23 on, on at most two.
    max_cells : int
        At least 4.

    Raises
    ------
    ValueError
        If there are fewer than two columns or too many, a column has too many cells, or a base table has more
        than `max_cells`.
    """
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        raise ValueError(f"the table must have 2 to {_MOST_COLUMNS} columns, got {len(columns)}")
    layout = TableLayout(tuple(columns), target, min(degree, len(columns)), max_cells)
    for column in columns:
        if column.size > _MOST_IN_COLUMN:
            raise ValueError(
                f"column {column.name!r} must have at most {_MOST_IN_COLUMN} categories or bins, got"
                f" {column.size}"
            )
    for places in layout.base:
        if layout.size_of(places) > max_cells:
            raise ValueError(
                f"the table of {layout.name_of(places)} must have at most max_cells={max_cells} cells, got"
                f" {layout.size_of(places)}: declare fewer categories, or take fewer bins"
            )
    while layout.others > 1 and _n_tables(layout) > _MOST_TABLES:
        layout = replace(layout, degree=layout.degree - 1)
    return layout


def _n_tables(layout: TableLayout) -> int:
    """Return a bound on the number of tables of a column and the columns that it may depend on.

    Each is counted once, in the first round in which it is a candidate, and its last column is the only one
    that is not in the network: so any columns have at most one table.
    """
    d = len(layout.base)
    return sum(comb(d, size + 1) for size in range(1, layout.others + 1))


def _root(square: Fraction) -> Fraction:
    """Return the square root of a rational number, rounded down."""
    return Fraction(isqrt(int(square * (1 << 2 * _BITS))), 1 << _BITS)
