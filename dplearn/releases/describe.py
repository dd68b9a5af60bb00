"""Release the statistics of a table's columns, of all records or by group: counts, means, quantiles, shares.

All columns have equal parts of one budget, and the sizes of the groups one more where no column tells them;
each part buys noisy sums over the cells of a column: see `dplearn.releases.cell_statistics`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import check_number
from dplearn._writing import brief, near_column
from dplearn.chance.dice import Dice
from dplearn.domains import Hashed, Product
from dplearn.domains.column_kinds import as_learn
from dplearn.fit import N_IS_PUBLIC, Facts, refuse_unsupported
from dplearn.fit.relation import ROWS_OF_TABLE
from dplearn.privacy import MOST_RECORDS, ApproxDP, PrivacyLedger
from dplearn.privacy.shares import GAUSSIAN
from dplearn.queries.noise import CentralNoise
from dplearn.releases.cell_statistics import MOST_CELLS, CellSums, ColumnSums, cells_of, fine, totals_of
from dplearn.releases.described import Described, fraction_of, labels
from dplearn.releases.learned_schema import SchemaDetail
from dplearn.releases.release import (
    ColumnRelease,
    ReleasePlan,
    checked_cost,
    few_records,
    rows_of_groups,
)
from dplearn.releases.schema_fits import SchemaFitPlan
from dplearn.releases.synthetic_table import (
    MOST_EPSILON,
    DeclaredRelease,
    LearnedRelease,
    TableFacts,
    checked_domain,
    rows_in_cells,
)
from dplearn.releases.table_columns import TableColumn
from dplearn.table import Columns, Table
from dplearn.table.groups import ROWS

STATISTICS = ("count", "mean", "std", "25%", "50%", "75%")
_MOST_GROUPS = {1: 1000, 2: 100}  # of each column, by the number of columns that form the groups
_DETAIL = SchemaDetail(MOST_CELLS, 98, drawn=True)  # ends are not moved outward to round numbers
_QUANTILE = re.compile(r"(\d+(?:\.\d+)?)%")
_MOST_NUMBERS = 1 << 27  # sums
_MOST_VALUES = 4096  # of a column of categories
_SOME = 1000  # records, of whose number noise hardly depends
_ONE_ROW = (
    "one row of each group takes part, drawn by chance: in statistics by {} a row counts less the more rows"
    " its group has, of other values too; release a schema by learned_schema(frame, groups=...), and pass it"
    " as domain=, for up to max_rows_per_group rows"
)
_SHAPE = "the number, names and types of the columns are public, and what is released of them"


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
    epsilon
        ... All statistics together share it.
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
    norm, and by twice `added_l1` in the l1 norm. The sizes of groups differ by 2 in both; quantiles without
    "count" need no sizes, but for groups that may be left out. Each has an equal part of the budget, and the
    noise that it buys (`CentralNoise`). One added record moves them by
    `added_squared_l2`, `added_l1` and 1. One group of at most m rows moves the distances by m times as much.
    With a learned domain: `LearnedRelease`. All else is made of the noisy sums.

    **Accuracy.** The intervals of `Described.statistics`, and `describe_plan`. A single quantile of one
    column has less than half of the error, in ranks, by `quantiles` without an interval.

    **Source.** Li, Miklau, Hay, McGregor and Rastogi (2015) for sums from which all else is estimated; Hay,
    Rastogi, Miklau and Suciu (2010) for trees.

    Examples
    --------
    >>> import pandas as pd
    >>> from dplearn.domains import Categories, IntegerRange, Schema
    >>> from dplearn.releases import describe
    >>> frame = pd.DataFrame({"arm": ["drug", "placebo"] * 1500, "score": [1, 2, 3, 3, 3, 6] * 500})
    >>> schema = Schema({"arm": Categories(["drug", "placebo"]), "score": IntegerRange(1, 6)})
    >>> found = describe(frame, "arm", domain=schema, random_state=0)
    >>> found.estimates()["score", "mean"].round(1).to_dict()
    {'drug': 2.3, 'placebo': 3.6}
    >>> line = found.statistics()[3]
    >>> line.group, line.column, line.statistic, round(line.low, 1), round(line.high, 1)
    (('drug',), 'score', 'mean', 2.2, 2.4)
    """
    most = _most_rows(groups, max_rows_per_group, domain)
    choices = Choices(_checked_by(by), _checked_statistics(statistics), most)
    cost = checked_cost(epsilon, delta, high=MOST_EPSILON, neighbors=neighbors)
    recipe = _Describe.or_learned(domain, choices, cost, random_state)
    return recipe.run_on(frame, None, ledger, groups)


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
    beta: Any = 0.05,
    n_features: int | None = None,
) -> ReleasePlan:
    """Return the plan of `describe`, with the errors of its statistics by noise, without data.

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

        `count_error`: with probability 1 - beta the noise in the size of a group is at most this; 0 if the
        size is public, or not needed. `mean_error`: for each column of numbers, the same of the noise in the
        mean of a group of m evenly distributed numbers, times m, in widths of the column's range.
        `rank_error`: the same of the noise in the number of records up to a quantile.

        `n_needed`: the number of records in a group from which on each of these, and the error of each
        category's number, is at most a twentieth of the records or of the width.

    Examples
    --------
    >>> from dplearn.domains import IntegerRange, Schema
    >>> from dplearn.releases import describe_plan
    >>> plan = describe_plan(5000, domain=Schema({"age": IntegerRange(18, 90)}), epsilon=1)
    >>> round(plan.rank_error["age"]), plan.n_needed
    (24, 481)
    """
    most = _most_rows(max_rows_per_group, max_rows_per_group, domain)
    choices = Choices(_checked_by(by), _checked_statistics(statistics), most)
    cost = checked_cost(epsilon, delta, high=MOST_EPSILON, neighbors=neighbors)
    recipe = _Describe.or_learned(domain, choices, cost)
    if most is not None:
        refuse_unsupported(recipe, "groups")
    return recipe.plan_of_sizes(n_samples, n_features, beta=beta)


@dataclass(frozen=True)
class Choices:
    """The public parameters of a release, besides domain and budget."""

    by: tuple[str, ...]
    statistics: tuple[str, ...]
    group_rows: int | None  # of a group that take part; None: records are rows

    def check_target(self, names: Sequence[str]) -> None:
        """Refuse groups by columns that there are not, and a table of no other column."""
        if missing := [name for name in self.by if name not in names]:
            raise ValueError(f"by must name columns, got {missing[0]!r}{near_column(missing[0], names)}")
        if len(names) == len(self.by):
            raise ValueError("frame must have a column that is not in by: for counts alone, see grouped")


def _most_rows(groups: Any, given: Any, domain: Any) -> int | None:
    """Return how many rows of a group take part; None without groups."""
    learns = as_learn(domain) is not None
    most = rows_of_groups(groups, given, 1 if learns else ROWS)
    if learns and most > 1:
        raise ValueError(
            f"max_rows_per_group must be 1 where domain='learn', got {most}: release a schema by"
            " learned_schema(frame, groups=...), and pass it as domain="
        )
    return None if groups is None else most


def _checked_by(by: Any) -> tuple[str, ...]:
    names = () if by is None else tuple(by) if isinstance(by, (list, tuple)) else (by,)
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


class _Describe(DeclaredRelease[Described]):
    """The recipe of `describe` with a declared domain."""

    repeated = False
    group_rows: int = 1
    cells = MOST_CELLS  # of a column of numbers; audits use fewer
    steps = 1 << 12  # of the values of cells, from the middle of a range to an end; audits use fewer
    most_records = MOST_RECORDS  # audits use fewer

    def __init__(
        self,
        domain: Product,
        choices: Choices,
        cost: ApproxDP,
        *,
        random_state: Any = None,
        columns: Sequence[TableColumn] | None = None,
    ):
        choices.check_target(domain.names)
        if hashed := [
            n for n, each in zip(domain.names, domain.domains, strict=True) if isinstance(each, Hashed)
        ]:
            raise ValueError(
                f"column {hashed[0]!r} must not be Hashed: declare Categories([...], other=True)"
            )
        self.domain, self.choices, self.learned = domain, choices, columns
        self.noise = "gaussian" if cost.delta else "laplace"
        self.places = [domain.names.index(name) for name in choices.by]  # of the columns that form groups
        self.group_rows = 1 if choices.group_rows is None else choices.group_rows
        assumes = (N_IS_PUBLIC, _SHAPE, ROWS_OF_TABLE, *domain.assumes)
        cost = replace(cost, assumes=assumes)
        chosen = repr(choices.by), repr(choices.statistics), cost.neighbors
        context = str(cost.epsilon), str(cost.delta), repr(domain), *chosen
        super().__init__("describe", cost, context, random_state)

    @staticmethod
    def or_learned(domain: Any, choices: Choices, cost: ApproxDP, random_state: Any = None) -> Any:
        """Return the recipe; with a declared domain the one whose noise has the smaller errors."""
        if (learn := as_learn(domain)) is not None:
            found = LearnedDescribe(learn, choices, cost, random_state=random_state)
            refuse_unsupported(found)
            return found
        domain = checked_domain(domain)
        costs = [cost, replace(cost, delta=Fraction(0))] if cost.delta else [cost]
        recipes = [_Describe(domain, choices, each, random_state=random_state) for each in costs]
        return min(recipes, key=lambda each: each._sums(_SOME).error("n_needed", 0.05))

    @cached_property
    def columns(self) -> tuple[TableColumn, ...]:
        """The cells of each column, those that form groups included."""
        if self.learned is not None:
            return tuple(self.learned)
        by = self.choices.by
        most = {name: _MOST_GROUPS[len(by)] if name in by else self.cells for name in self.domain.names}
        given = zip(self.domain.names, self.domain.domains, strict=True)
        found = tuple(cells_of(name, each, most[name], read=fine(each)) for name, each in given)
        for each in found:
            if each.size > _MOST_VALUES:
                raise ValueError(
                    f"column {each.name!r} must have at most {_MOST_VALUES} categories, got {each.size}:"
                    " declare fewer, Categories([...], other=True), or take stable_counts"
                )
        return found

    @cached_property
    def described(self) -> tuple[ColumnSums, ...]:
        """The sums of each column that is described."""
        names = self.choices.statistics
        asked = {
            "quantiles": any(map(_QUANTILE.fullmatch, names)),
            "means": not {"mean", "std"}.isdisjoint(names),
            "gaussian": self.noise == "gaussian",
        }
        shown = (each for each in self.columns if each.name not in self.choices.by)
        return tuple(ColumnSums.of(each, self.steps, **asked) for each in shown)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each column that forms groups."""
        return tuple(self.columns[place].size for place in self.places)

    @property
    def n_is_public(self) -> bool:
        """Whether the number of records of a group is public."""
        return not (self.sizes or self.uncounted or self.group_rows > 1)

    @property
    def counts_groups(self) -> bool:
        """Whether the sizes of groups have a part; the sums for quantiles tell them, too."""
        names = self.choices.statistics
        told = any(map(_QUANTILE.fullmatch, names)) and "count" not in names
        return not self.n_is_public and (not told or bool(self.optional.any()))

    def read(self, X: Any, y: Any) -> tuple[Facts, Columns]:  # noqa: ARG002 - there is none
        _, cells = rows_in_cells(X, self.domain, self.columns)
        groups = np.zeros(len(cells), dtype=np.int64)
        for place, size in zip(self.places, self.sizes, strict=True):
            groups = groups * size + cells[:, place]
        return Facts(len(cells)), Columns([groups, cells])

    def plan(self, facts: Facts, *, beta: Any = 0.05) -> "DescribePlan":
        n, failure = self.count(facts), float(check_number("beta", beta, above=0, below=1))
        sums = self._sums(n)
        sums.check()
        numbers = sum(each.size for each in sums.queries)
        if numbers > _MOST_NUMBERS:
            raise ValueError(
                f"by must form fewer groups, or fewer columns be described: there are {numbers} sums, and at"
                f" most {_MOST_NUMBERS} fit into memory"
            )
        return DescribePlan(
            self.cost,
            n,
            states={
                "noise": self.noise,
                "by": self.choices.by,
                "statistics": self.choices.statistics,
                "beta": failure,
            },
            keeps={"one_row": self.learned is not None and self.choices.group_rows == 1},
            later={
                name: partial(sums.error, name, failure)
                for name in ("count_error", "mean_error", "rank_error", "n_needed")
            },
        )

    def _sums(self, n: int | None) -> CellSums:
        counts = 1 if self.uncounted else n
        each, most = self.group_rows, self.most_records
        noise = CentralNoise.of(self.noise, self.cost, counts or 1, each=each, most_records=most)
        return CellSums(noise, self.described, math.prod(self.sizes), self.counts_groups, self.n_is_public)

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> Described:
        sums = self._sums(plan.n_samples)
        totals = table.sums(partial(totals_of, sums, self.places))
        released = sums.released(totals, dice)
        places = sums.places(released, self.optional) if self.optional.any() else np.arange(sums.n_groups)
        groups = list(product(*(labels(self.columns[place]) for place in self.places)))
        measured = sums.estimated(released, places, plan.n_samples)
        named = tuple(groups[place] for place in places)
        sizes = sums.of_groups(released, places) if self.sizes and self.counts_groups else ()
        return Described(named, plan, measured, sizes=sizes)

    @property
    def optional(self) -> NDArray[np.bool_]:
        """Whether each group is left out where it may have no record: of missing and of learned values."""
        found = np.zeros(1, dtype=bool)
        for column in (self.columns[place] for place in self.places):
            others = np.zeros(column.size, dtype=bool) | column.ranged | column.gaps
            if getattr(column.domain, "other", False):
                others[-1] = True
            found = (found[:, None] | others).ravel()
        return found


class DescribePlan(ReleasePlan):
    """The plan of `describe`."""

    _accounting = GAUSSIAN

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings if all records together are too few, or one row of each group forms groups of rows."""
        n, needed = self.n_samples, self.n_needed
        one_row = (_ONE_ROW.format(" and ".join(map(repr, self.by))),) if self.by and self.one_row else ()
        if n is None or n >= needed:
            return one_row
        problem = "the noise of a statistic may be over a twentieth of the records or of the range"
        remedies = "declare fewer columns in domain=", "spend more epsilon"
        subset = "" if self.by else "describe all records, with by= this column"
        return (*one_row, few_records(n, problem, *remedies, enough=needed, subset=subset))


class LearnedDescribe(LearnedRelease):
    """The recipe of `describe` with a schema that is released first."""

    title = "describe"
    learns_domain = True
    accounting = GAUSSIAN

    def plan(self, facts: TableFacts, **more: Any) -> SchemaFitPlan:
        found = super().plan(facts, **more)
        kinds = dict(zip(facts.kinds.names or (), facts.kinds.kinds, strict=False))
        listed = [name for name in self.choices.by if kinds.get(name) == "categories"]
        if listed and found.schema.threshold is None:
            raise ValueError(
                f"by must name columns whose categories can be learned, got {listed[0]!r}: n_samples is"
                f" {facts.n_samples}, and {found.schema.n_needed} records are enough for lists with"
                f" {len(facts.kinds)} columns; leave columns out, list its categories by the type"
                " pd.CategoricalDtype([...], ordered=True), or declare domain=Schema(...)"
            )
        return found

    def inner(self, schema: Product, budget: ApproxDP, facts: TableFacts) -> _Describe:
        domain, columns = self.columns(schema, facts, MOST_CELLS)
        return _Describe(domain, self.choices, budget, columns=columns)

    def detail(self, facts: TableFacts) -> SchemaDetail:  # noqa: ARG002
        """Return how fine the domains are."""
        return _DETAIL
