"""The network of a synthetic table: its plan, its noisy measurements, and the distribution made from them.

The plan says which tables are measured, with what noise, from public values alone. In each round one column
is added to the network, with the earlier ones that it depends on, its parents: a candidate. Its quality is
the number of records that the present model puts into other cells than the true table has, less the expected
error of the noise of its own table. The quality of no dependence is 0. Noisy tables of counts are made
nonnegative with the right sum, then consistent with those of their parents and with the base tables.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, partial, reduce
from itertools import combinations, zip_longest
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._progress import watched
from dplearn.chance import Dice, PublicStream
from dplearn.kernels import root_below
from dplearn.kernels.simplex import nearest_shares
from dplearn.mechanisms import exponential_mechanism, gaussian_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.plan import ALPHA, hidden, noted
from dplearn.privacy.shares import CONCENTRATED, concentrated_budget
from dplearn.queries.noise import LaplaceNoise
from dplearn.releases.public_tables import PublicRows, along, dependent, towards
from dplearn.releases.release import ReleasePlan, few_records
from dplearn.releases.table_cells import merged
from dplearn.releases.table_columns import TableColumn, counts_of
from dplearn.table import as_table

# Shares of the budget, in hundredths: base tables, selections, tables of the network. Chosen on other tables
# than those of the benchmark.
_BASE, _SELECTIONS, _NETWORK = 42, 6, 52
_MOST_TABLES = 10_660  # that all rounds together count: those of 40 columns and two parents
_MOST_COLUMNS = 400
_MOST_IN_COLUMN = (1 << 15) - 1  # a cell is held in 16 bits
_WIDEST = 1 << 55  # variance of Gaussian noise
_RAKINGS = 20
_LEAST = 1e-300
Floats64 = NDArray[np.float64]
_PUBLIC = 0.005  # far cells with this share of public rows are no far ones
_ROWS = 1 << 16  # synthetic rows for the joint distributions of parents that no table contains
_DRAWN = 1 << 16  # rows at once
_PRIOR = 1e-3  # the weight of the distribution without a network's table in one with it
_SHRINKING = 0.6  # of the noise's variance; chosen, as the shares of the budget, on other tables
_WITH_PUBLIC = 2.0  # the same towards public rows, which are nearer than no dependence
_NOISE = 4.0  # standard deviations: that Gaussian noise is more has probability 3e-5
_AT_ONCE = 1 << 22  # cells of tables that are counted in one pass, and one table more
Candidate = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class TableNoise:
    """The noise of one table of counts: a replaced record moves it by 2, and its square by 2; a table of two
    cells, of which one is left, by 1, as the number of records is public.
    """

    epsilon: Fraction | None = None  # the cost with Laplace noise
    rho: Fraction | None = None  # the cost with Gaussian noise; one of both is None
    reach: int | None = None  # Laplace: counts of n are clipped to -reach..n + reach; None: to -n..2 n

    def noisy(self, counts: NDArray[np.int64], n: int, dice: Dice) -> NDArray[np.int64]:
        """Return the counts of all cells with noise."""
        if len(counts) == 1:
            return np.array([n])
        moved = _moved(len(counts))
        asked = counts[:1] if len(counts) == 2 else counts
        if self.rho is not None:
            privacy = ZeroConcentratedDP(self.rho)
            found = gaussian_counts(asked, privacy=privacy, dice=dice, squared_sensitivity=moved)
        else:
            reach = n if self.reach is None else self.reach
            found = self._laplace(len(counts)).noisy(asked, dice, low=-reach, high=n + reach)
        return np.append(found, n - found) if len(counts) == 2 else np.asarray(found)

    def deviation(self, size: int) -> float:
        """Return the standard deviation of the noise of a cell of a table of `size` cells."""
        if size == 1:
            return 0.0
        if self.rho is not None:
            return math.sqrt(_moved(size) / (2 * self.rho))
        return self._laplace(size).deviation

    def expected_error(self, size: int) -> float:
        """Return the mean of half of the sum of the noise's magnitudes, over all cells of a table."""
        if size == 1:
            return 0.0
        mean = self.deviation(size) * math.sqrt(2 / math.pi)
        if self.rho is None:
            ratio = float(self._laplace(size).ratio)
            mean = 2 * ratio / (1 - ratio**2)
        return mean if size == 2 else size * mean / 2

    def _laplace(self, size: int) -> LaplaceNoise:
        assert self.epsilon is not None
        return LaplaceNoise(self.epsilon, _moved(size))


def _moved(size: int) -> int:
    """Return the sum of the magnitudes, and of the squares, by which a record moves the asked counts."""
    return 1 if size == 2 else 2


@dataclass(frozen=True)
class TableLayout:
    """What is public about a synthetic table before its release."""

    columns: tuple[TableColumn, ...]
    target: int | None  # the column that all others depend on
    degree: int  # the most columns that one depends on, the target included
    max_cells: int  # of a table
    most_error: float = 0.5  # a network's table is no candidate if this share of the records is expected

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(column.size for column in self.columns)

    @cached_property
    def n_used(self) -> tuple[int, ...]:
        """The numbers of cells that are drawn from, whatever the counts."""
        return tuple(column.n_used for column in self.columns)

    @cached_property
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
        return len(self.columns) - len(self.first) if self.others else 0

    @property
    def others(self) -> int:
        """The most columns, besides the target, that one column depends on."""
        return self.degree - (self.target is not None)

    def size_of(self, places: Sequence[int]) -> int:
        """Return the number of cells of the table of some columns."""
        return math.prod(self.sizes[place] for place in places)

    def used_size(self, places: Sequence[int]) -> int:
        """Return that without the cells that are left out if their counts may be noise."""
        return math.prod(self.n_used[place] for place in places)

    def name_of(self, places: Sequence[int]) -> str:
        """Return the name of a table: the names of its columns."""
        return " x ".join(self.columns[place].name for place in places)


@dataclass(frozen=True)
class TableBudget:
    """The cost of each step of a release."""

    base: TableNoise  # of each base table
    selection: Fraction  # epsilon of each; 0 if there are none
    network: TableNoise  # of each table of the network

    @classmethod
    def of(cls, privacy: ApproxDP, n_base: int, rounds: int, reach: int | None = None) -> "TableBudget":
        """Return the division of a budget among so many base tables and rounds: epsilons, or with delta rhos
        within `concentrated_budget`, where a selection costs epsilon^2 / 8, add up.
        """
        shares = [Fraction(each, 100) for each in (_BASE, _SELECTIONS, _NETWORK)]
        whole = concentrated_budget(privacy) if privacy.delta else privacy.epsilon
        base, selections, network = (share * whole for share in (shares if rounds else (1, 0, 0)))
        each = max(rounds, 1)
        if privacy.delta:
            noises = TableNoise(rho=base / n_base), TableNoise(rho=network / each)
            return cls(noises[0], root_below(8 * selections / each), noises[1])
        noises = TableNoise(base / n_base, reach=reach), TableNoise(network / each, reach=reach)
        return cls(noises[0], selections / each, noises[1])


@dataclass(frozen=True)
class SyntheticTablePlan(ReleasePlan):
    """The plan of a `SyntheticTable`, or of a learner on synthetic records: that of its synthetic table.

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
        The most columns that one column depends on, the target or label included: as given, or lowered.
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
    layout: TableLayout = hidden()
    budget: TableBudget = hidden()
    domain: Any = hidden()  # this and the others: of the fit of a learner on synthetic records
    n_rows: Any = hidden()
    fills_gaps: bool = hidden(False)

    _accounting = CONCENTRATED

    def network_tv(self, n_cells: int) -> float:
        """Return a bound on the expected total variation of the noise of a network's table.

        Parameters
        ----------
        n_cells : int
            The number of cells, at least 1.
        """
        return min(1.0, self.network_error(n_cells))

    @documented_by(network_tv)
    def network_error(self, n_cells: int) -> float:
        """Return the expected error of a network's table, as a share of the records; it may be above 1.

        It is infinite if no table of a network is measured.
        """
        if not self.rounds:
            return math.inf
        return self.budget.network.expected_error(n_cells) / float(self.n_samples)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if the noise of some base table is greater than its mean count."""
        layout, noise = self.layout, self.budget.base
        noisy = [
            layout.name_of(places)
            for places in layout.base
            if noise.deviation(size := layout.used_size(places)) * size > self.n_samples
        ]
        if not noisy:
            return ()
        more = f" and of {len(noisy) - 1} more tables" if len(noisy) > 1 else ""
        return (
            few_records(
                self.n_samples,
                f"the noise of a count of {noisy[0]}{more} is greater than the mean count",
                "declare fewer categories",
                "take fewer bins",
                "spend more epsilon",
            ),
        )


def synthetic_table_plan(
    guarantee: ApproxDP,
    n_samples: int,
    layout: TableLayout,
    *,
    reach: int | None = None,
    budget: TableBudget | None = None,
) -> SyntheticTablePlan:
    budget = budget or TableBudget.of(guarantee, len(layout.base), layout.rounds, reach)
    if any(noise.rho and 1 / noise.rho >= _WIDEST for noise in (budget.base, budget.network)):
        raise ValueError(
            f"epsilon must be greater for so many tables: with {float(guarantee.epsilon):g} their noise is"
            " too wide to be drawn"
        )
    errors = {
        layout.name_of(places): budget.base.expected_error(layout.used_size(places)) for places in layout.base
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


def replan(plan: SyntheticTablePlan, tables: "TableModel") -> SyntheticTablePlan:
    if tables.layout is plan.layout:
        return plan
    found = synthetic_table_plan(plan.guarantee, plan.n_samples, tables.layout, budget=plan.budget)
    return replace(plan, layout=found.layout, expected_tv=found.expected_tv, n_needed=found.n_needed)


def checked_layout(
    columns: Sequence[TableColumn], target: int | None, degree: int, max_cells: int
) -> TableLayout:
    """Return the layout of a table if it can be released, with a lower degree if it has very many tables."""
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        raise ValueError(f"the table must have 2 to {_MOST_COLUMNS} columns, got {len(columns)}")
    layout = TableLayout(tuple(columns), target, min(degree, len(columns)), max_cells)
    for column, size in zip(columns, layout.sizes, strict=True):
        if size > _MOST_IN_COLUMN:
            raise ValueError(
                f"column {column.name!r} must have at most {_MOST_IN_COLUMN} categories or bins, got {size}"
            )
    for places in layout.base:
        if layout.used_size(places) > max_cells:
            raise ValueError(
                f"the table of {layout.name_of(places)} must have at most max_cells={max_cells} cells, got"
                f" {layout.used_size(places)}: declare fewer categories, or take fewer bins"
            )
    while layout.others > 1 and _n_tables(layout) > _MOST_TABLES:
        layout = replace(layout, degree=layout.degree - 1)
    return layout


def _n_tables(layout: TableLayout) -> int:
    """Return a bound on the tables of a column and its parents, each counted as it becomes a candidate."""
    d = len(layout.base)
    return sum(comb(d, size + 1) for size in range(1, layout.others + 1))


def projected(counts: NDArray[Any], n: int, kept: Iterable[NDArray[np.bool_]]) -> Floats64:
    """Return the shares nearest to noisy counts of n records, given the cells of each column that are kept:
    nonnegative, with sum 1, and 0 in all other cells.
    """
    cells = reduce(np.logical_and.outer, kept)
    shares = np.zeros(cells.shape)
    if cells.any():
        shares[cells] = nearest_shares(counts.reshape(cells.shape)[cells].astype(np.float64) / n)
    return shares


def raked(table: Floats64, margins: Iterable[tuple[tuple[int, ...], Floats64]]) -> Floats64:
    """Return a table near a given one whose margins are near given ones."""
    given = []
    for axes, margin in margins:
        others = tuple(axis for axis in range(table.ndim) if axis not in axes)
        given.append((others, np.expand_dims(margin, others)))
    for others, margin in given * _RAKINGS:
        table = table * (margin / (table.sum(axis=others, keepdims=True) + _LEAST))
    return table


@dataclass(frozen=True, eq=False)
class NetworkStep:
    """One column of the network, and the noisy table that was measured for it."""

    column: int
    parents: tuple[int, ...]  # besides the target
    table: NDArray[np.int64] | None  # of target, parents, column; without parents the base table again
    known: NDArray[np.int64] | None = None  # the counts of public rows, if there are such


class TableModel:
    """All released numbers of a table, and the distribution of cells made from them, column by column."""

    def __init__(
        self,
        layout: TableLayout,
        budget: TableBudget,
        n_samples: int,
        base: Sequence[NDArray[np.int64]],
        steps: Iterable[NetworkStep] = (),
        known: Sequence[NDArray[np.int64]] | None = None,
    ):
        self.layout, self.budget, self.n_samples = layout, budget, n_samples
        self.known = known  # the counts of public rows in the base tables
        self.base, self.steps = list(base), list[NetworkStep]()
        self._kept = [self._kept_cells(place, base) for place in range(len(layout.columns))]
        shares = [self._projected(places, noisy) for noisy, places in zip(base, layout.base, strict=True)]
        self._tables: dict[tuple[int, ...], Floats64] = {}
        self.margins: list[Floats64]  # the shares of the cells of each column
        if layout.target is None:
            self.margins = shares if known is None else self._moved([each / each.sum() for each in known])
            self._tables |= {(place,): share for place, share in enumerate(self.margins)}
        else:
            self._with_target(layout.target, shares)
        # For each column, in the order of drawing: its parents, and its distribution given theirs.
        self.conditionals: dict[int, tuple[tuple[int, ...], Floats64]] = {}
        self._rows: dict[int, NDArray[np.int16]] = {}
        self._joints: dict[tuple[int, ...], Floats64] = {}  # until the next column
        for place in layout.first:
            self.conditionals[place] = self._without_parents(place)
        for step in steps:
            self.grow(step)

    def __getstate__(self) -> dict[str, Any]:
        """Return the released numbers; all else is made of them."""
        names = ("layout", "budget", "n_samples", "base", "steps", "known")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        TableModel.__init__(self, **state)

    def _with_target(self, target: int, shares: Sequence[Floats64]) -> None:
        """Make all base tables consistent with one distribution of the target: the mean of theirs."""
        labels = np.mean([share.sum(axis=1) for share in shares], axis=0)
        if self.known is not None:
            given = [dependent(each, each.sum(axis=0) / each.sum()) for each in self.known]
            shares = self._moved([labels[:, None] * each for each in given])
        self._tables[target,] = labels
        margins = {target: labels}
        for places, share in zip(self.layout.base, shares, strict=True):
            table = _filled(share, labels)
            self._tables[places] = table
            margins[places[1]] = table.sum(axis=0)
        self.margins = [margins[place] for place in range(len(margins))]
        self._tables |= {(place,): margin for place, margin in margins.items()}

    def grow(self, step: NetworkStep) -> None:
        self.steps.append(step)
        self._grow(step)
        self._joints = {}

    def _grow(self, step: NetworkStep) -> None:
        places = self.places_of(step.column, step.parents)
        if step.table is not None and not step.parents:
            self._measured_again(places, step.table)
        if not step.parents:
            self.conditionals[step.column] = self._without_parents(step.column)
            return
        assert step.table is not None
        parents, margin = places[:-1], self.joint(places[:-1])
        before = margin[..., None] * self._alone(step.column, len(parents))
        noisy, axes = step.table.reshape(before.shape), self._own_axes(len(parents))
        if step.known is not None:
            variance = self.n_samples**-2 * self.budget.network.deviation(noisy.size) ** 2
            before = along(noisy / self.n_samples, before, self._start(places, step.known), variance)
        table = self._projected(places, self._shrunk(noisy, before))
        table = (1 - _PRIOR) * table + _PRIOR * before
        own = self._combined(step.column, axes, table)
        kept = tuple(range(len(parents)))
        table = raked(table, [(axes, own), (kept, margin)])
        self._tables[places] = table
        self.conditionals[step.column] = parents, _given(table, self._alone(step.column, len(parents)))

    def _measured_again(self, places: tuple[int, ...], noisy: NDArray[np.int64]) -> None:
        """Combine a base table with a second measurement of it."""
        again = self._projected(places, noisy)
        if self.known is not None:
            again = self._towards(places, noisy, self._tables[places], self.budget.network)
        table = self._combined(places[-1], tuple(range(len(places))), again)
        if len(places) > 1:
            table = _filled(table, self.margins[places[0]])
        self._tables[places] = table
        self.margins[places[-1]] = self._tables[places[-1],] = table.reshape(-1, table.shape[-1]).sum(axis=0)

    def places_of(self, column: int, parents: Sequence[int]) -> tuple[int, ...]:
        """Return the columns of the table of a column and its parents: the target first, the column last."""
        target = () if self.layout.target is None else (self.layout.target,)
        return (*target, *parents, column)

    def expected(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the counts of a network's table if the column depended on the target alone, rounded."""
        shares = self.joint(places[:-1])[..., None] * self._alone(places[-1], len(places) - 1)
        return np.rint(self.n_samples * shares).astype(np.int64).ravel()

    def _start(self, places: tuple[int, ...], known: NDArray[np.int64]) -> Floats64:
        """Return the shares of a table that has the dependence of public rows, and the model's margins."""
        above, column, n_above = self.joint(places[:-1]), places[-1], len(places) - 1
        axes, kept = self._own_axes(n_above), tuple(range(n_above))
        given = dependent(known, self._alone(column, n_above))
        own = self.margins[column] if self.layout.target is None else self._tables[self.layout.target, column]
        return raked(above[..., None] * given, [(axes, own), (kept, above)])

    def _own_axes(self, n_above: int) -> tuple[int, ...]:
        """Return the axes of the base table of the last column in a network's table."""
        return (n_above,) if self.layout.target is None else (0, n_above)

    def joint(self, places: tuple[int, ...]) -> Floats64:
        """Return joint shares of columns of the network: of a table that has them, or of synthetic rows."""
        if places not in self._joints:
            self._joints[places] = self._joint(places)
        return self._joints[places]

    def _joint(self, places: tuple[int, ...]) -> Floats64:
        for axes, table in self._tables.items():
            if set(places) <= set(axes):
                others = tuple(axis for axis, place in enumerate(axes) if place not in places)
                kept = [place for place in axes if place in places]
                shares = table.sum(axis=others)
                return np.asarray(shares.transpose([kept.index(place) for place in places]))
        sizes = [self.layout.sizes[place] for place in places]
        rows = np.stack([self._drawn_column(place) for place in places], axis=1)
        counts = counts_of(range(len(places)), sizes, rows)
        return counts.reshape(sizes) / len(rows)

    def draw(self, m: int, stream: PublicStream, target: NDArray[Any] | None = None) -> NDArray[np.int16]:
        cells = np.empty((m, len(self.layout.columns)), dtype=np.int16, order="F")
        for start in range(0, m, _DRAWN):
            drawn = cells[start : start + _DRAWN]
            for place, (parents, given) in self.conditionals.items():
                if place == self.layout.target and target is not None:
                    drawn[:, place] = target[start : start + _DRAWN]
                    continue
                above = [drawn[:, each] for each in parents]
                drawn[:, place] = _chosen(above, given, stream.uniform(len(drawn)))
        return cells

    def _without_parents(self, place: int) -> tuple[tuple[int, ...], Floats64]:
        """Return the target, if there is one and this is another column, and the distribution given it."""
        target = self.layout.target
        if target is None or place == target:
            return (), self.margins[place]
        return (target,), self._alone(place, 1)

    def _alone(self, column: int, n_parents: int) -> Floats64:
        """Return the distribution of a column that depends on the target alone, for so many parents."""
        target = self.layout.target
        if target is None:
            return self.margins[column].reshape(*[1] * n_parents, -1)
        table = self._tables[target, column]
        given = _given(table, self.margins[column])
        return given.reshape(len(given), *[1] * (n_parents - 1), -1)

    def _combined(self, column: int, axes: tuple[int, ...], table: Floats64) -> Floats64:
        """Return a base table combined with the one in a network's table, weighted by their precision."""
        own = self.margins[column] if self.layout.target is None else self._tables[self.layout.target, column]
        others = tuple(axis for axis in range(table.ndim) if axis not in axes)
        summed = table.size // own.size
        base, network = (noise.deviation(3) ** 2 for noise in (self.budget.base, self.budget.network))
        weight = base / (base + network * summed)
        return np.asarray((1 - weight) * own + weight * table.sum(axis=others))

    def _shrunk(self, noisy: NDArray[np.int64], before: Floats64) -> Floats64:
        """Return counts of a network's table, moved towards those without parents, as of James and Stein."""
        weight = _SHRINKING if self.known is None else _WITH_PUBLIC
        variance = weight * noisy.shape[-1] * self.budget.network.deviation(noisy.size) ** 2
        return towards(noisy, self.n_samples * before, variance, axis=-1)

    def _moved(self, starts: Sequence[Floats64]) -> list[Floats64]:
        """Return the shares of all base tables, moved towards those of public rows."""
        return [
            self._towards(places, noisy, start, self.budget.base)
            for places, noisy, start in zip(self.layout.base, self.base, starts, strict=True)
        ]

    def _towards(
        self, places: tuple[int, ...], noisy: NDArray[np.int64], start: Floats64, noise: TableNoise
    ) -> Floats64:
        """Return the shares of a noisy base table, moved towards others."""
        variance = _WITH_PUBLIC * noisy.size * noise.deviation(noisy.size) ** 2
        counts = noisy.reshape(start.shape)
        return self._projected(places, towards(counts, self.n_samples * start, variance))

    def _kept_cells(self, place: int, base: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
        """Return the cells of a column that records are drawn from: no gaps, and no categories that are not
        listed, if their count may be noise.
        """
        rest = self.layout.columns[place].rest
        places, noisy = next(each for each in zip(self.layout.base, base, strict=True) if place in each[0])
        table = noisy.reshape([self.layout.sizes[each] for each in places])
        counts = np.moveaxis(table, places.index(place), 0).reshape(len(rest), -1)
        least = _NOISE * self.budget.base.deviation(noisy.size) * counts.shape[1] ** 0.5
        kept = ~rest | (counts.sum(axis=1) >= least)
        used = ~self.layout.columns[place].unused
        return next(cells for cells in (used & kept, used, np.ones_like(used)) if cells.any())

    def _projected(self, places: tuple[int, ...], counts: NDArray[Any]) -> Floats64:
        """Return the shares of a table of noisy counts of some columns; gaps that may be noise have none."""
        return projected(counts, self.n_samples, [self._kept[place] for place in places])

    def _drawn_column(self, place: int) -> NDArray[np.int16]:
        """Return one column of the rows that joint distributions are taken from."""
        if place not in self._rows:
            parents, given = self.conditionals[place]
            stream = PublicStream(place, "rows of a synthetic table")  # of released numbers: always the same
            above = [self._drawn_column(each) for each in parents]
            self._rows[place] = _chosen(above, given, stream.uniform(_ROWS)).astype(np.int16)
        return self._rows[place]


def _chosen(parents: Sequence[NDArray[Any]], given: Floats64, points: Floats64) -> NDArray[np.intp]:
    """Return a cell for each row, by its parents' cells and a point in [0, 1)."""
    row = np.zeros(len(points), dtype=np.intp)
    for cells, size in zip(parents, given.shape, strict=False):
        row = row * size + cells
    table = given.reshape(-1, given.shape[-1])
    ends = table.cumsum(axis=1)
    ends /= ends[:, -1:]
    flat = (ends + np.arange(len(ends))[:, None]).ravel()
    places = np.searchsorted(flat, points + row, side="right") - row * table.shape[1]
    # A point within a rounding error of an end may have a cell too far.
    return np.asarray(np.minimum(np.maximum(places, 0), table.shape[1] - 1))


def _given(table: Floats64, otherwise: Floats64) -> Floats64:
    """Return the distribution of the last axis given the others; `otherwise` where these have no records."""
    sums = table.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), otherwise))


def _filled(share: Floats64, labels: Floats64) -> Floats64:
    """Return a table with a given distribution of its first axis."""
    return labels[:, None] * _given(share, share.sum(axis=0))


def released_tables(
    records: Any, plan: SyntheticTablePlan, dice: Dice, public: PublicRows | None = None
) -> TableModel:
    """Release the tables of a network.

    **Privacy.** `plan.guarantee`, for one replaced record: a row of cells, each a function of this record
    alone. Tables have the noise of `TableNoise`. A quality is floor(|T - E| / 2) less a public number, with E
    released: a record moves |T - E| by at most 2, and so the floor by at most 1. Selections are thus bounded
    range with the budget's epsilon. Adaptive costs add up as in `TableBudget.of`; the model is
    post-processing. What is counted of public rows is a public number.

    **Accuracy.** The plan's `expected_tv` for base tables.

    **Source.** Zhang, Cormode, Procopiuc, Srivastava and Xiao (2017), PrivBayes; McKenna, Mullins, Sheldon
    and Miklau (2022), AIM, for candidates charged for their noise. The quality is ours.
    """
    layout, n = plan.layout, plan.n_samples
    sizes = layout.sizes
    counts = _tables(records, layout.base, sizes)
    base = [plan.budget.base.noisy(each, n, dice) for each in counts]
    if any(column.kinds is not None for column in layout.columns):
        layout, base, new = merged_layout(layout, base, plan.budget.base, public)
        sizes, plan = layout.sizes, replace(plan, layout=layout)
        records = as_table(records).map(partial(_merged_cells, new))
        public = None if public is None else PublicRows(_merged_cells(new, public.cells), sizes)
    known = None if public is None else [public.counts(places) for places in layout.base]
    model = TableModel(layout, plan.budget, n, base, known=known)
    qualities: dict[Candidate, int] = {}
    placed = [place for place in layout.first if place != layout.target]
    unplaced = [place for place in range(len(sizes)) if place not in layout.first]
    for _ in watched(range(layout.rounds), "Choosing tables"):
        leads = dict.fromkeys(candidates_of(plan, placed, unplaced), 0)
        if public is not None:
            leads |= [usual_candidate(plan, placed, unplaced, public)]
        add_qualities(qualities, list(leads), records, plan, model)
        chosen = exponential_mechanism(
            np.array([qualities[each] + lead for each, lead in leads.items()]),
            privacy=ApproxDP(plan.budget.selection),
            dice=dice,
        )
        column, parents = list(leads)[chosen]
        [table] = _tables(records, [model.places_of(column, parents)], sizes)
        asked = None if public is None else public.counts(model.places_of(column, parents))
        model.grow(NetworkStep(column, parents, plan.budget.network.noisy(table, n, dice), asked))
        placed.append(column)
        unplaced.remove(column)
    for column in unplaced:  # no selections: all depend on the target alone
        model.grow(NetworkStep(column, (), None))
    return model


def merged_layout(
    layout: TableLayout, base: Sequence[NDArray[np.int64]], noise: TableNoise, public: PublicRows | None
) -> tuple[TableLayout, list[NDArray[np.int64]], list[NDArray[np.int16]]]:
    """Return the layout without cells that may be noise and are rare in public rows, its base tables, and the
    new cell of each cell.
    """
    columns = list(layout.columns)
    shaped = [
        table.reshape([layout.sizes[place] for place in places])
        for places, table in zip(layout.base, base, strict=True)
    ]
    new = [np.arange(size, dtype=np.int16) for size in layout.sizes]
    # The target is first: the counts of other columns are sums over the cells of it that are left.
    for place in sorted(range(len(columns)), key=lambda each: each != layout.target):
        if columns[place].kinds is None:
            continue
        if public is not None:
            columns[place] = columns[place].near(public.counts((place,)) > _PUBLIC * len(public.cells))
        found = [number for number, places in enumerate(layout.base) if place in places]
        axes = [layout.base[number].index(place) for number in found]
        # One a table, or none.
        others = [columns[each] for number in found for each in layout.base[number] if each != place]
        sums = [
            _alone(shaped[number], axis, other) for number, axis, other in zip_longest(found, axes, others)
        ]
        variance = max(1, sum(int((~other.unused).sum()) for other in others)) / len(found) ** 2
        deviation = noise.deviation(base[found[0]].size) * math.sqrt(variance)
        gaussian, tails = noise.rho is not None, place != layout.target  # tables of a label have little noise
        columns[place], new[place] = merged(
            columns[place], np.mean(sums, axis=0), deviation, gaussian=gaussian, tails=tails
        )
        for number, axis in zip(found, axes, strict=True):
            shaped[number] = _summed(shaped[number], new[place], columns[place].size, axis)
    return replace(layout, columns=tuple(columns)), [each.ravel() for each in shaped], new


def _alone(table: NDArray[np.int64], axis: int, other: TableColumn | None) -> NDArray[np.int64]:
    """Return the counts of the cells along an axis, over the cells of the other column that are used."""
    if other is None:
        return table
    return np.asarray(np.compress(~other.unused, table, axis=1 - axis).sum(axis=1 - axis))


def _summed(table: NDArray[np.int64], cells: NDArray[np.int16], size: int, axis: int) -> NDArray[np.int64]:
    """Return a table whose cells along an axis are sums over those that are one."""
    found = np.zeros((size, *np.delete(table.shape, axis)), dtype=np.int64)
    np.add.at(found, cells, np.moveaxis(table, axis, 0))
    return np.moveaxis(found, 0, axis)


def _merged_cells(new: Sequence[NDArray[np.int16]], cells: NDArray[np.int16]) -> NDArray[np.int16]:
    found = np.empty_like(cells)
    for place, each in enumerate(new):
        found[:, place] = each[cells[:, place]]
    return found


def candidates_of(
    plan: SyntheticTablePlan, placed: Sequence[int], unplaced: Sequence[int], *, any_noise: bool = False
) -> Iterator[Candidate]:
    """Yield the candidates of a round, a public function of the network: those that are worth their noise, or
    with any noise.
    """
    layout = plan.layout
    target = () if layout.target is None else (layout.target,)
    above = [
        (parents, layout.size_of((*target, *parents)), layout.used_size((*target, *parents)))
        for size in range(1, layout.others + 1)
        for parents in combinations(sorted(placed), size)
    ]
    is_worth = cache(lambda used: any_noise or plan.network_error(used) < layout.most_error)
    for column in unplaced:
        yield column, ()
        own, used_own = layout.sizes[column], layout.n_used[column]
        for parents, cells, used in above:
            if own * cells <= layout.max_cells and is_worth(used_own * used):
                yield column, parents


def usual_candidate(
    plan: SyntheticTablePlan, placed: Sequence[int], unplaced: Sequence[int], public: PublicRows
) -> tuple[Candidate, int]:
    """Return the candidate with the greatest dependence in public rows, and the public number that its
    quality is raised by: what others may have by chance. Where all are charged more for noise than they are
    worth, this charge is waived too, since tables are moved towards those of public rows.
    """
    target = () if plan.layout.target is None else (plan.layout.target,)
    every = candidates_of(plan, placed, unplaced, any_noise=True)
    tables = {(*target, *parents, column): (column, parents) for column, parents in every if parents}
    lead = 2 * math.log(1 + len(tables)) / float(plan.budget.selection)
    if best := public.best(tables, len(target), plan.network_error):
        return tables[best], math.ceil(lead)
    if best := public.best(tables, len(target), lambda _: 0.0):
        return tables[best], math.ceil(lead + plan.budget.network.expected_error(plan.layout.size_of(best)))
    return (unplaced[0], ()), math.ceil(lead)


def quality_of(counts: NDArray[np.int64], expected: NDArray[np.int64], penalty: int) -> int:
    """Return the quality of a candidate, which a replaced record moves by at most 1."""
    return int(np.abs(counts - expected).sum()) // 2 - penalty


def add_qualities(
    qualities: dict[Candidate, int],
    candidates: Sequence[Candidate],
    records: Any,
    plan: SyntheticTablePlan,
    model: TableModel,
) -> None:
    """Add the qualities of candidates that are new in this round; those of the others do not change."""
    layout, noise = plan.layout, plan.budget.network
    qualities |= {each: 0 for each in candidates if not each[1]}
    new = {each: model.places_of(*each) for each in candidates if each not in qualities}
    passes = np.cumsum([layout.size_of(each) for each in new.values()]) // _AT_ONCE
    for number in np.unique(passes):
        asked = [each for each, own in zip(new.items(), passes, strict=True) if own == number]
        counted = _tables(records, [places for _, places in asked], layout.sizes)
        for (each, places), counts in zip(asked, counted, strict=True):
            penalty = round(noise.expected_error(layout.used_size(places)))
            qualities[each] = quality_of(counts, model.expected(places), penalty)


def _tables(
    records: Any, tables: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> Sequence[NDArray[np.int64]]:
    """Return the counts of some tables, in one pass over the records."""
    return as_table(records).sums(partial(_counted, tables, sizes))


def _counted(
    tables: Sequence[tuple[int, ...]], sizes: Sequence[int], cells: NDArray[Any]
) -> list[NDArray[np.int64]]:
    return [counts_of(places, [sizes[place] for place in places], cells) for places in tables]
