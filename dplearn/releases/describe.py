"""Release the statistics of a table's columns, of all records or by group: counts, means, quantiles, shares.

All columns have equal parts of one budget, and the sizes of the groups one more. Each part buys noisy sums
over the cells of a column, from which all of its statistics and their intervals are estimated: see
`dplearn.releases.cell_statistics`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import check_count, check_number
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.domains import Hashed, Product
from dplearn.domains.base import NumberDomain
from dplearn.domains.cells import is_frame
from dplearn.domains.column_kinds import as_learn
from dplearn.domains.product import refuse_text
from dplearn.fit.execute import Facts
from dplearn.fit.relation import COLUMNS, ROWS_OF_TABLE, without_count
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import ALPHA
from dplearn.privacy.shares import GAUSSIAN
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS
from dplearn.queries.noise import CentralNoise, answers_of
from dplearn.queries.query import VectorQuery
from dplearn.releases.cell_statistics import MOST_CELLS, CellNoise, ColumnSums
from dplearn.releases.described import Described, fraction_of, labels
from dplearn.releases.learned_schema import SchemaDetail
from dplearn.releases.release import ColumnRelease, Release, ReleasePlan
from dplearn.releases.synthetic_table import (
    LearnedTableRelease,
    TableFacts,
    checked_domain,
    drawable,
    selected_columns,
    table_of,
)
from dplearn.releases.table_columns import TableColumn, TableTypes, cells_in, table_column
from dplearn.table.groups import MOST_ROWS
from dplearn.table.table import Columns, Table

STATISTICS = ("count", "mean", "std", "25%", "50%", "75%")
_MOST_GROUPS = {1: 1000, 2: 100}  # of each column, by the number of columns that form the groups
_BRANCHING = {"gaussian": 4, "laplace": 16}  # of trees; the errors of quantiles are least
_DETAIL = SchemaDetail(MOST_CELLS, 98, drawn=True)  # ends are not moved outward to round numbers
_ROWS = 10  # of a group, as many as take part in a learner's sums
_QUANTILE = re.compile(r"(\d+(?:\.\d+)?)%")
_SOME = 1000  # records, of whose number noise hardly depends
_SHAPE = "the columns, statistics and groups are chosen without the data"


@documented_by(ColumnRelease)
def describe(
    frame: Any,
    by: Any = None,
    *,
    domain: Any = "learn",
    statistics: Sequence[str] = STATISTICS,
    epsilon: Any = 1.0,
    delta: Any = 1e-6,
    groups: Any = None,
    max_rows_per_group: int | None = None,
    neighbors: str = "replace_one",
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Described:
    """Release the statistics of all columns, as `DataFrame.describe` and `groupby` do, with intervals.

    Parameters
    ----------
    frame : data frame or array of shape (n, d), or parts of it
        Private. Parts: as for the learners of tables in parts, without y.
    by : str or sequence of str, optional
        Public. The names of one or two columns whose values form groups, of whose sizes noisy counts are
        released. Of a column with more than 1,000 values, with two columns 100, intervals of values do.
    domain : "learn", Learn, Schema, Product or LearnedSchema, default="learn"
        Public. The possible values of each column, and the columns that are described; numbers need bounds.
        "learn": a schema is released first, from a tenth of the budget, as by `learned_schema`.
    statistics : sequence of str, default=("count", "mean", "std", "25%", "50%", "75%")
        Public. "count", "mean", "std", or quantiles such as "90%". The least and the greatest value cannot
        be released. Of categories counts and shares are released, whatever is given.
    epsilon : float, default=1.0
        Privacy budget of all statistics together; at least 1e-9. A float stands for its shortest decimal: 0.1
        is 1/10.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples. 0:
        Laplace noise, and categories are not learned. With a declared domain it is not spent where Laplace
        noise has smaller errors, as for one or two columns.
    groups : array-like of shape (n,) or str, optional
        Private. The group of each row, such as the person that it belongs to: texts or integers. The
        guarantee then protects all rows of a group together, and the set of groups is public. Of a table in
        parts: the name of the column that holds them.
    max_rows_per_group : int, optional
        Public. With groups: the most rows of a group that take part, at most 1000; of a group with more, so
        many are chosen by public chance. The noise is proportional to it. Statistics are of the rows that
        take part. None: 10, or 1 with a learned domain, which admits no other number.

    Returns
    -------
    Described
        The statistics, their intervals, the plan and the guarantee.

    Raises
    ------
    DomainError
        If a value is outside its declared domain; the message shows no value, and nothing is spent.

    Warns
    -----
    UserWarning
        If a group must have more records than there are for a mean or a quantile to be within a twentieth,
        or a learned schema has no ranges or lists: functions of public numbers. After the release, if an
        estimate's interval is all that is possible.

    Notes
    -----
    **Privacy.** (epsilon, delta) for one replaced record. Proof: a record is in one group and in one cell of
    each column. Its numbers in the sums of a column are those of its cell in the rows of its group, and 0 in
    those of others; so the sums of neighbours differ by at most `ColumnSums.squared_l2` in the squared l2
    norm, and by twice `added_l1` in the l1 norm. The sizes of groups differ by 2 in both. Each has an equal
    part of the budget, and the noise that it buys (`CentralNoise`). One added record moves them by
    `added_squared_l2`, `added_l1` and 1. One group of at most m rows moves the distances by m times as much.
    With a learned domain: `LearnedTableRelease`. All else is made of the noisy sums.

    **Assumes.** The entries of `guarantee.assumes`.

    **Accuracy.** The intervals of `Described.statistics`, and `describe_plan`.

    **Source.** Li, Miklau, Hay, McGregor and Rastogi (2015) for sums from which all else is estimated; Hay,
    Rastogi, Miklau and Suciu (2010) for trees.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import pandas as pd
    >>> from dplearn.domains import Categories, IntegerRange, Schema
    >>> from dplearn.releases import describe
    >>> frame = pd.DataFrame({"arm": ["drug", "placebo"] * 1500, "score": [1, 2, 3, 3, 3, 6] * 500})
    >>> schema = Schema({"arm": Categories(["drug", "placebo"]), "score": IntegerRange(1, 6)})
    >>> found = describe(frame, "arm", domain=schema, random_state=0)
    >>> found.estimates().round(1)
               score
               count mean  std  25%  50%  75%
    arm
    drug      1504.1  2.3  0.9  1.0  3.0  3.0
    placebo   1495.9  3.7  1.7  2.0  3.0  6.0
    """
    most = None if groups is None else _most_rows(max_rows_per_group, domain)
    choices = Choices(_checked_by(by), _checked_statistics(statistics), most)
    recipe = _recipe(domain, choices, _checked_cost(epsilon, delta, neighbors), random_state)
    found: Described = recipe.run_on(frame, None, ledger, groups)
    return found


@documented_by(describe, ColumnRelease)
def describe_plan(
    n_samples: int | None,
    by: Any = None,
    *,
    domain: Any = "learn",
    statistics: Sequence[str] = STATISTICS,
    epsilon: Any = 1.0,
    delta: Any = 1e-6,
    max_rows_per_group: int | None = None,
    neighbors: str = "replace_one",
    n_features: int | None = None,
) -> Any:
    """Return the plan of `describe`, with the standard deviations of the noise, without data.

    Parameters
    ----------
    n_samples : int or None
        Number of records, at least 1. None, for "add_remove": unknown.
    max_rows_per_group : int, optional
        Public. With groups, whose number `n_samples` then is: the most rows of a group that take part. None:
        without groups.
    n_features : int, optional
        Number of columns; required where the domain is learned and lists no columns.

    Returns
    -------
    ReleasePlan or SchemaFitPlan
        The latter if the domain is learned. With the guarantee, n_samples, noise ("gaussian", or "laplace"
        without delta), by, statistics and

        `count_deviation`: the standard deviation of the noise in the size of a group; 0 if it is public.

        `mean_deviation`, `std_deviation`, `rank_deviation`: for each column of numbers, the standard
        deviation of the noise in the mean and in the standard deviation of a group of m records, times m and
        in widths of the column's range, for evenly distributed numbers; and of the number of records up to a
        quantile.

        `n_needed`: the number of records in a group from which on all of these are at most a twentieth of the
        records or of the width.

    Examples
    --------
    >>> from dplearn.domains import IntegerRange, Schema
    >>> from dplearn.releases import describe_plan
    >>> plan = describe_plan(5000, domain=Schema({"age": IntegerRange(18, 90)}), epsilon=1)
    >>> round(plan.rank_deviation["age"]), plan.n_needed
    (12, 241)
    """
    most = None if max_rows_per_group is None else _most_rows(max_rows_per_group, domain)
    choices = Choices(_checked_by(by), _checked_statistics(statistics), most)
    recipe = _recipe(domain, choices, _checked_cost(epsilon, delta, neighbors))
    return recipe.plan_of_sizes(n_samples, n_features)


@dataclass(frozen=True)
class Choices:
    """The public parameters of a release, besides domain and budget."""

    by: tuple[str, ...]
    statistics: tuple[str, ...]
    group_rows: int | None  # of a group that take part; None: records are rows
    target = None  # of a network; see `LearnedTableRelease`

    def check_target(self, names: Sequence[str]) -> None:
        """Refuse groups by columns that there are not, and a table of no other column."""
        if missing := [name for name in self.by if name not in names]:
            raise ValueError(
                f"by must name columns, got {missing[0]!r}; the columns are {brief(list(names))}"
            )
        if len(names) == len(self.by):
            raise ValueError("frame must have a column that is not in by: for counts alone, see grouped")

    @property
    def has_quantiles(self) -> bool:
        return any(map(_QUANTILE.fullmatch, self.statistics))

    @property
    def has_moments(self) -> bool:
        return bool({"mean", "std"} & {*self.statistics})


def _recipe(domain: Any, choices: Choices, cost: ApproxDP, random_state: Any = None) -> Any:
    """Return the recipe; with a declared domain the one whose noise has the smaller errors."""
    if (learn := as_learn(domain)) is not None:
        return _LearnedDescribe(learn, choices, cost, random_state=random_state)
    domain = checked_domain(domain)
    costs = [cost, replace(cost, delta=Fraction(0))] if cost.delta else [cost]
    recipes = [_Describe(domain, choices, each, random_state=random_state) for each in costs]
    return min(recipes, key=_Describe.errors)


def _checked_cost(epsilon: Any, delta: Any, neighbors: Any) -> ApproxDP:
    return ApproxDP(
        check_number("epsilon", epsilon, low=Fraction(1, 10**9), high=10**9),
        check_number("delta", delta, low=0, below=1),
        neighbors,
    )


def _most_rows(given: Any, domain: Any) -> int:
    """Return how many rows of a group take part."""
    learns = as_learn(domain) is not None
    most = check_count("max_rows_per_group", given or (1 if learns else _ROWS), low=1, high=MOST_ROWS)
    if learns and most > 1:
        raise ValueError(
            f"max_rows_per_group must be 1 where domain='learn', got {most}: release a schema by"
            " learned_schema(frame, groups=...), and pass it as domain="
        )
    return most


def _checked_by(by: Any) -> tuple[str, ...]:
    names = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    if len(names) > 2 or len({*names}) < len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"by must be the name of a column, or two names, got {brief(by)}")
    return names


def _checked_statistics(statistics: Any) -> tuple[str, ...]:
    given = (statistics,) if isinstance(statistics, str) else tuple(statistics)
    for name in given:
        of_quantile = isinstance(name, str) and _QUANTILE.fullmatch(name)
        if name not in ("count", "mean", "std") and not (of_quantile and 0 < fraction_of(name) < 1):
            advice = "; private data have no least or greatest value: take '1%' or '99%'"
            raise ValueError(
                "statistics must be 'count', 'mean', 'std' or quantiles such as '50%', got"
                f" {brief(name)}{advice if name in ('min', 'max') else ''}"
            )
    if not given or len({*given}) < len(given):
        raise ValueError(f"statistics must be at least one, and distinct, got {brief(list(given))}")
    return given


class _Describe(Release[Described]):
    """The recipe of `describe` with a declared domain."""

    takes = "frame"
    repeated = False
    group_rows: int = 1
    cells = MOST_CELLS  # of a column of numbers; audits use fewer
    steps = 1 << 12  # of the values of cells, from the middle of a range to an end; audits use fewer
    most_records = MOST_RECORDS  # audits use fewer

    def __init__(self, domain: Product, choices: Choices, cost: ApproxDP, *, random_state: Any = None):
        choices.check_target(domain.names)
        if hashed := [
            n for n, each in zip(domain.names, domain.domains, strict=True) if isinstance(each, Hashed)
        ]:
            raise ValueError(
                f"column {hashed[0]!r} must not be Hashed: declare Categories([...], other=True)"
            )
        self.domain, self.choices = domain, choices
        self.group_rows = 1 if choices.group_rows is None else choices.group_rows
        assumes = (COLUMNS, ROWS_OF_TABLE, _SHAPE, *domain.assumes)
        cost = replace(cost, assumes=without_count(assumes) if cost.neighbors == ADDED else assumes)
        context = str(cost.epsilon), str(cost.delta), repr(domain), repr(choices), cost.neighbors
        super().__init__("describe", cost, context, random_state)

    @cached_property
    def columns(self) -> tuple[TableColumn, ...]:
        """The cells of each column, those that form groups included."""
        by = self.choices.by
        most = {name: _MOST_GROUPS[len(by)] if name in by else self.cells for name in self.domain.names}
        given = zip(self.domain.names, self.domain.domains, strict=True)
        return tuple(table_column(name, each, most[name]) for name, each in given)

    @property
    def noise(self) -> str:
        return "gaussian" if self.cost.delta else "laplace"

    @cached_property
    def described(self) -> tuple[ColumnSums, ...]:
        """The sums of each column that is described."""
        shown = self.choices
        most, columns = self.steps if shown.has_moments else None, self.columns
        branching = _BRANCHING[self.noise] if shown.has_quantiles else None
        return tuple(
            ColumnSums.of(each, branching=branching, steps=most)
            for each in columns
            if each.name not in shown.by
        )

    @property
    def places(self) -> list[int]:
        """The places of the columns that form groups."""
        return [self.domain.names.index(name) for name in self.choices.by]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each column that forms groups."""
        return tuple(self.columns[place].size for place in self.places)

    @property
    def counts_groups(self) -> bool:
        """Whether the number of records of a group is private."""
        return bool(self.sizes) or self.cost.neighbors == ADDED or self.group_rows > 1

    def read(self, X: Any, y: Any) -> tuple[Facts, Columns]:  # noqa: ARG002 - there is none
        table, _ = table_of(X)
        if is_frame(table):
            table = selected_columns(table, self.domain)
        elif table.shape[1] != len(self.domain):
            raise ValueError(
                f"frame must have {len(self.domain)} columns, as the domain has, got {table.shape[1]}"
            )
        if not len(table):
            raise ValueError("frame must have at least one row, got none")
        refuse_text(table if is_frame(table) else X, self.domain)
        cells = cells_in(self.columns, Columns(self.domain.encode(table)))
        return Facts(len(cells)), Columns([self._groups(cells), cells])

    def _groups(self, cells: NDArray[np.int16]) -> NDArray[np.int64]:
        groups = np.zeros(len(cells), dtype=np.int64)
        for place, size in zip(self.places, self.sizes, strict=True):
            groups = groups * size + cells[:, place]
        return groups

    def plan_of_sizes(self, n_samples: int | None, n_features: int | None) -> "DescribePlan":
        """Return the plan of a release, without a table."""
        if n_features not in (None, len(self.domain)):
            raise ValueError(
                f"n_features must be {len(self.domain)}, as the domain has, got {brief(n_features)}"
            )
        return self.plan(Facts(n_samples))

    def plan(self, facts: Facts) -> "DescribePlan":
        self._noise(facts).check()
        return DescribePlan(
            self.cost,
            self.count(facts),
            title="DescribePlan",
            states={"noise": self.noise, "by": self.choices.by, "statistics": self.choices.statistics},
            later={
                "count_deviation": lambda: self._noise(facts).of_count,
                "mean_deviation": lambda: self._worth(facts)[0],
                "std_deviation": lambda: self._worth(facts)[1],
                "rank_deviation": lambda: self._worth(facts)[2],
                "n_needed": lambda: self._needed(facts),
            },
        )

    def _noise(self, facts: Facts) -> "_Noise":
        groups = math.prod(self.sizes)
        of_groups = [_query(groups, added_l1=1, added_squared_l2=1, squared_l2=2)] * self.counts_groups
        queries = [
            _query(groups * len(each.matrix), each.added_l1, each.added_squared_l2, each.squared_l2)
            for each in self.described
        ]
        n = 1 if self.cost.neighbors == ADDED else facts.n_samples
        noise = CentralNoise.of(
            self.noise, self.cost, n, each=self.group_rows, most_records=self.most_records
        )
        return _Noise(noise, (*of_groups, *queries), self.counts_groups)

    def _worth(self, facts: Facts) -> list[dict[str, float]]:
        """Return the noise in means, in standard deviations and of ranks, of each column of numbers."""
        noise = self._noise(facts).of_cells(self.described)
        found = {
            each.sums.column.name: each.of_even()
            for each in noise
            if isinstance(each.sums.column.domain, NumberDomain)
        }
        shown = (self.choices.has_moments, self.choices.has_moments, self.choices.has_quantiles)
        return [
            {name: errors[place] for name, errors in found.items() if needed}
            for place, needed in enumerate(shown)
        ]

    def errors(self) -> int:
        """Return a measure of the greatest error, for the choice of the noise."""
        return self._needed(Facts(_SOME))

    def _needed(self, facts: Facts) -> int:
        noise = self._noise(facts)
        errors = [noise.of_count, *(each for errors in self._worth(facts) for each in errors.values())]
        given = zip(self.described, noise.of_columns, strict=True)
        errors += [each for sums, each in given if not isinstance(sums.column.domain, NumberDomain)]
        return max(1, math.ceil(max(errors) / float(ALPHA)))

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> Described:
        noise = self._noise(Facts(plan.n_samples))
        n_groups = math.prod(self.sizes)
        totals = table.sums(
            _Counts(self.described, self.places, [each.size for each in self.columns], n_groups)
        )
        found = noise.released([np.ravel(each) for each in totals[not self.counts_groups :]], dice)
        size = found.pop(0) if self.counts_groups else np.array([float(plan.n_samples)])
        released = [each.reshape(n_groups, -1) for each in found]
        sizes = noise.sizes_beside(self.described, released, size)
        measured = [
            tuple(map(cells.estimated, sums, each))
            for cells, sums, each in zip(noise.of_cells(self.described), released, sizes, strict=True)
        ]
        groups = product(*(labels(self.columns[place]) for place in self.places))
        return Described(tuple(groups), plan, tuple(measured))


@dataclass(frozen=True, eq=False)
class _Counts:
    """The number of records of each group, and the sums of each column; a function of the rows of a part."""

    described: tuple[ColumnSums, ...]
    places: list[int]  # in a row: of the columns that form groups
    n_cells: list[int]
    n_groups: int

    def __call__(self, rows: Columns) -> list[NDArray[np.int64]]:
        groups, cells = rows.columns
        found = [np.bincount(groups, minlength=self.n_groups).astype(np.int64)]
        others = [place for place in range(cells.shape[1]) if place not in self.places]
        for each, place in zip(self.described, others, strict=True):
            size = self.n_cells[place]
            codes = groups * size + cells[:, place]
            counts = np.bincount(codes, minlength=self.n_groups * size).reshape(self.n_groups, size)
            found.append(each.totals(counts.astype(np.int64)))
        return found


def _query(size: int, added_l1: int, added_squared_l2: int, squared_l2: int) -> VectorQuery:
    """Return a query with the sensitivities of sums that are formed elsewhere."""
    norm = math.isqrt(added_squared_l2 - 1) + 1
    query = VectorQuery(
        _formed_elsewhere, size=size, norm=norm, l1=2 * added_l1, squared_l2=squared_l2, added_l1=added_l1
    )
    query.added_squared_l2 = added_squared_l2
    return query


def _formed_elsewhere(rows: Any) -> Any:
    raise NotImplementedError


@dataclass(frozen=True)
class _Noise:
    """The noise of the sizes of groups, and of the sums of each column: equal parts of a budget."""

    noise: CentralNoise
    queries: tuple[VectorQuery, ...]
    counts_groups: bool

    @property
    def _share(self) -> Fraction:
        return Fraction(1, len(self.queries))

    def check(self) -> None:
        """Refuse noise that cannot be drawn."""
        try:
            self.noise.check(self.queries, self._share, 0)
        except ValueError:
            raise ValueError(
                "epsilon must be larger, or columns, groups or max_rows_per_group fewer, for noise that can"
                f" be drawn, with {len(self.queries)} parts of the budget"
            ) from None

    @cached_property
    def _deviations(self) -> list[float]:
        """The standard deviation of the noise in each total."""
        return [self.noise.deviation(each, self._share) * self.noise.n for each in self.queries]

    @property
    def of_count(self) -> float:
        """The standard deviation of the noise in the size of a group; 0 if it is public."""
        return self._deviations[0] if self.counts_groups else 0.0

    @property
    def of_columns(self) -> list[float]:
        """The standard deviation of the noise in each sum of each column."""
        return self._deviations[self.counts_groups :]

    def _known(self, described: Sequence[ColumnSums]) -> NDArray[np.float64]:
        """Return what the sizes of groups, and the sums of each column, say of the number of records."""
        found = [self.of_count**-2.0] if self.counts_groups else []
        for sums, deviation in zip(described, self.of_columns, strict=True):
            weights = sums.for_all
            found.append(0.0 if weights is None else 1 / float(deviation**2 * (weights @ weights)))
        return np.array(found)

    def of_cells(self, described: Sequence[ColumnSums]) -> list[CellNoise]:
        """Return the noise of the cells of each column, beside which all else that is released is known."""
        columns = list(zip(described, self.of_columns, strict=True))
        if not self.counts_groups:
            return [CellNoise(sums, deviation, 0.0) for sums, deviation in columns]
        known = self._known(described)
        others = known.sum() - known[1:]
        return [
            CellNoise(sums, deviation, float(each**-0.5))
            for (sums, deviation), each in zip(columns, others, strict=True)
        ]

    def sizes_beside(
        self, described: Sequence[ColumnSums], released: Sequence[Any], sizes: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """Return, for each column, the sizes of groups by all that is released of other columns."""
        if not self.counts_groups:
            return [sizes] * len(described)
        known = self._known(described)
        found = [
            sizes,
            *(
                0 * sizes if sums.for_all is None else each @ sums.for_all
                for sums, each in zip(described, released, strict=True)
            ),
        ]
        weighted = known[:, None] * np.array(found)
        return list((weighted.sum(axis=0) - weighted[1:]) / (known.sum() - known[1:])[:, None])

    def released(self, totals: Sequence[NDArray[np.int64]], dice: Dice) -> list[NDArray[np.float64]]:
        """Return noisy totals."""
        bounds = [self.noise.bounds(each, self._share) for each in self.queries]
        answers = answers_of(self.noise, self.queries, self._share, bounds, totals, dice)
        return [each.means * self.noise.n * self.noise.each for each in answers]


class DescribePlan(ReleasePlan):
    """The plan of `describe`."""

    _accounting = GAUSSIAN

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if all records together are too few."""
        n: Any = self.n_samples
        if n is None or n >= self.n_needed:
            return ()
        return (
            f"n_samples is {n}: a group needs {self.n_needed} records for statistics whose noise is at most a"
            " twentieth of the records or of the range; describe fewer columns, or spend more epsilon",
        )


class _LearnedDescribe(LearnedTableRelease):
    """The recipe of `describe` with a schema that is released first."""

    title = "describe"
    stacklevel = 4
    accounting = GAUSSIAN
    repeated = False

    def inner(self, schema: Product, budget: ApproxDP, types: TableTypes) -> _Describe:  # type: ignore[override]
        return _Describe(drawable(schema, types), self.choices, budget)

    def detail(self, facts: TableFacts) -> SchemaDetail:  # noqa: ARG002
        """Return how fine the domains are."""
        return _DETAIL
