"""The recipes of a synthetic table, with a declared schema or one that is learned first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn._validation import check_count
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.domains import Categories, Domain, Floats, Hashed, Learn, Product, Schema
from dplearn.domains.base import NumberDomain
from dplearn.domains.cells import cells_of, is_frame
from dplearn.domains.column_kinds import ColumnKinds, kinds_of
from dplearn.domains.product import refuse_text
from dplearn.fit.execute import Facts
from dplearn.fit.relation import COLUMNS, ROWS_OF_TABLE
from dplearn.privacy import ApproxDP
from dplearn.privacy.shares import CONCENTRATED
from dplearn.records.part_sources import table_in_memory
from dplearn.records.rows import Columns
from dplearn.records.table import Table
from dplearn.releases.learned_schema import (
    NUMBERS,
    ConcentratedPart,
    SchemaDetail,
    SchemaRelease,
)
from dplearn.releases.release import Release, Released
from dplearn.releases.schema_fits import OTHER_NOISE, SchemaFit, SchemaFitPlan, schema_fit_plan
from dplearn.releases.table_columns import TableColumn, table_column, table_columns
from dplearn.releases.table_network import ReleasedTables, released_tables
from dplearn.releases.table_plan import SyntheticTablePlan, TableLayout, checked_layout, synthetic_table_plan
from dplearn.releases.table_values import TableTypes

__all__ = ["LearnedTableRelease", "ReleasedTable", "TableChoices", "TableRelease", "cells_in"]

_ASSUMES = (COLUMNS, ROWS_OF_TABLE)
_NO_TYPES = TableTypes()
_POINTS = (1 << 20) + 1  # of learned ranges: synthetic numbers are not seen to lie on a grid


@dataclass(frozen=True, eq=False)
class ReleasedTable(Released):
    """The result of a release: all released numbers, and the types of the table that was read.

    Attributes
    ----------
    tables : ReleasedTables
        Released.
    plan : SyntheticTablePlan
        The plan of the tables, with the guarantee of the whole release.
    types : TableTypes
        Public.
    """

    tables: ReleasedTables
    plan: SyntheticTablePlan
    types: TableTypes


@dataclass(frozen=True)
class TableChoices:
    """The public parameters that determine a layout, given a domain.

    Attributes
    ----------
    target : str or None
        The name of the target.
    degree, n_bins, max_cells : int
        As for `SyntheticTable`.
    """

    target: str | None
    degree: int
    n_bins: int
    max_cells: int

    def layout(self, domain: Product) -> TableLayout:
        """Return the layout of a table with a domain.

        Raises
        ------
        ValueError
            If the target is no column, or the table cannot be released.
        """
        self.check_target(domain.names)
        return checked_layout(
            table_columns(domain, self.n_bins),
            None if self.target is None else domain.names.index(self.target),
            self.degree,
            self.max_cells,
        )

    def check_target(self, names: Sequence[str]) -> None:
        """Refuse a target that is the name of no column."""
        if self.target is not None and self.target not in names:
            raise ValueError(
                f"target must be the name of a column of the domain, got {brief(self.target)}; the columns"
                f" are {brief(list(names))}"
            )


@dataclass(frozen=True)
class TableFacts(Facts):
    """The public facts of a table of which synthetic records are made.

    Attributes
    ----------
    types : TableTypes
        The kind of the table, and the types of its columns.
    kinds : ColumnKinds or None
        The kinds of the columns, where the schema is learned.
    """

    types: TableTypes = _NO_TYPES
    kinds: ColumnKinds | None = None


class TableRelease(Release[ReleasedTable]):
    """The recipe of a synthetic table.

    Parameters
    ----------
    domain : Product
        Public. The domain of each column.
    layout : TableLayout
        Public. The columns and their cells.
    privacy : ApproxDP
        The cost of the release.
    random_state : None, int or numpy random generator
        As given to the release.
    reach : int, optional
        As for `TableNoise`; audits use a smaller one.

    Attributes
    ----------
    types : TableTypes
        Public. The kind of the table that was read.
    """

    takes = "frame"
    stacklevel = 5  # `fit` is wrapped

    def __init__(
        self,
        domain: Product,
        layout: TableLayout,
        privacy: ApproxDP,
        *,
        random_state: Any = None,
        reach: int | None = None,
    ):
        self.domain, self.layout, self.reach = domain, layout, reach
        guarantee = ApproxDP(
            privacy.epsilon,
            privacy.delta,
            assumes=(*_ASSUMES, *domain.assumes),
            reproducible=privacy.reproducible,
        )
        context = (
            str(guarantee.epsilon),
            str(guarantee.delta),
            str([(column.name, repr(column.domain), column.size) for column in layout.columns]),
            str((layout.target, layout.degree, layout.max_cells)),
        )
        super().__init__("SyntheticTable", guarantee, context, random_state)

    def read(self, X: Any, y: Any) -> tuple[TableFacts, NDArray[np.int16]]:  # noqa: ARG002 - there is none
        table, kind = _table_of(X)
        if is_frame(table):
            table = _selected(table, self.domain)
        elif table.shape[1] != len(self.domain):
            raise ValueError(
                f"frame must have {len(self.domain)} columns, as the domain has, got {table.shape[1]}"
            )
        if not len(table):
            raise ValueError("frame must have at least one row, got none")
        refuse_text(table if is_frame(table) else X, self.domain)
        cells = cells_in(self.layout.columns, Columns(self.domain.encode(table)))
        return TableFacts(len(cells), TableTypes(kind)), cells

    def plan(self, facts: Facts) -> SyntheticTablePlan:
        n = check_count("n_samples", facts.n_samples, low=1)
        return synthetic_table_plan(self.guarantee, n, self.layout, reach=self.reach)

    def run(self, table: Table, plan: SyntheticTablePlan, dice: Dice) -> ReleasedTable:
        return ReleasedTable(released_tables(table, plan, dice), plan, table.facts.types)


class LearnedTableRelease(Release[ReleasedTable]):
    """The recipe of a synthetic table whose schema is released first, from a share of its budget.

    Parameters
    ----------
    learn : Learn
        Public. The declared kinds of columns, and the share of the schema.
    choices : TableChoices
        Public.
    privacy : ApproxDP
        The cost of the release, the schema included.
    random_state : None, int or numpy random generator
        As given to the release.
    reach : int, optional
        As for `TableNoise`; audits use a smaller one.
    numbers : Floats
        The numbers among which ranges are found; audits use fewer.

    Notes
    -----
    **Privacy.** The guarantee of `privacy`, for one replaced record. Proof: the schema is released by
    `SchemaRelease`, and `released_tables` is run with a domain that is a public function of it, each within
    its part of the budget; `dplearn.releases.schema_fits` composes them. The cell of a record is a function
    of the record and the released schema.

    **Assumes.** A row is one record. Types of columns are public. No cell is refused.
    """

    takes = "frame"
    stacklevel = 5

    def __init__(
        self,
        learn: Learn,
        choices: TableChoices,
        privacy: ApproxDP,
        *,
        random_state: Any = None,
        reach: int | None = None,
        numbers: Floats = NUMBERS,
    ):
        self.learn, self.choices, self.reach, self.numbers = learn, choices, reach, numbers
        guarantee = replace(privacy, assumes=_ASSUMES)
        context = str(guarantee.epsilon), str(guarantee.delta), repr(learn), repr(choices)
        super().__init__("SyntheticTable", guarantee, context, random_state)

    def read(self, X: Any, y: Any) -> tuple[TableFacts, Any]:  # noqa: ARG002 - there is none
        table, kind = _table_of(X)
        if not all(table.shape):
            raise ValueError(f"frame must have at least one row and one column, got shape {table.shape}")
        dtype = getattr(X, "dtype", None)
        of_list = dtype is None and not is_frame(table)
        kinds = kinds_of(table, self.learn.columns, dtype, of_list=of_list)
        types = TableTypes.of(table, dtype, kind, named=kinds.names is not None)
        self.choices.check_target(_names(kinds))
        return TableFacts(len(table), types, kinds), table

    def plan(self, facts: TableFacts) -> SchemaFitPlan:
        n = check_count("n_samples", facts.n_samples, low=1)
        facts, kinds = replace(facts, n_samples=n), facts.kinds
        assert kinds is not None
        inner = partial(self.inner, types=facts.types)
        fit = SchemaFit(partial(self.release, kinds), inner, CONCENTRATED, facts)
        return schema_fit_plan(fit, self.guarantee, self.learn.share, lambda *_: _ASSUMES)

    def release(
        self, kinds: ColumnKinds, cost: ApproxDP, part: ConcentratedPart | None = None
    ) -> SchemaRelease:
        """Return the recipe of the schema at a cost."""
        return SchemaRelease(kinds, cost, concentrated=part, numbers=self.numbers, detail=self.detail(kinds))

    def plan_of_sizes(self, n_samples: int, n_features: int | None) -> SchemaFitPlan:
        """Return the plan of a release, without a table.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features : int or None
            Number of columns. Those of undeclared kinds are planned as numbers.

        Raises
        ------
        ValueError
            If neither the kinds of the columns nor their number are given.
        """
        declared: ColumnKinds | None = self.learn.columns
        if declared is None or declared.alike:
            if n_features is None:
                raise ValueError(
                    "n_features must be given, since domain does not list the columns, as in"
                    " domain=Learn({'age': 'integers', 'town': 'categories'})"
                )
            d = check_count("n_features", n_features, low=1)
            declared = ColumnKinds((declared.kinds if declared else ("numbers",)) * d)
        elif n_features not in (None, len(declared)):
            raise ValueError(f"n_features must be {len(declared)}, as domain lists, got {n_features}")
        self.choices.check_target(_names(declared))
        return self.plan(TableFacts(n_samples, kinds=declared))

    def run(self, table: Table, plan: SchemaFitPlan, dice: Dice) -> ReleasedTable:
        learned = plan.release.run(table.map(plan.release.rows_of), plan.schema, dice)
        inner = self.inner(learned.schema, plan.rest, table.facts.types)
        inner_plan = inner.plan(Facts(plan.n_samples))
        if inner_plan.noise != plan.inner.noise:
            raise RuntimeError(OTHER_NOISE)
        found = inner.run(table.map(inner.rows_of), inner_plan, dice)
        return replace(found, plan=replace(inner_plan, guarantee=plan.guarantee))

    def inner(self, schema: Product, budget: ApproxDP, types: TableTypes) -> TableRelease:
        """Return the recipe of the tables, given a learned schema and the rest of the budget."""
        domain = _drawable(schema, types)
        return TableRelease(domain, self.choices.layout(domain), budget, reach=self.reach)

    def detail(self, kinds: ColumnKinds) -> SchemaDetail:
        """Return how fine the domains are: all base tables have at most `max_cells` cells."""
        most = self.choices.max_cells
        if self.choices.target is not None:
            kind = kinds.kinds[_names(kinds).index(self.choices.target)]
            unranged = table_column("", self.numbers, self.choices.n_bins).size
            of_numbers = max(self.choices.n_bins + 1, unranged)
            most //= {"booleans": 4, "categories": isqrt(most)}.get(kind, of_numbers)
        return SchemaDetail(_POINTS, max(1, most - 2), drawn=True)  # missing and other cells have one each


def _names(kinds: ColumnKinds) -> tuple[str, ...]:
    return kinds.names or tuple(f"x{place}" for place in range(len(kinds)))


def cells_in(columns: Sequence[TableColumn], rows: Columns) -> NDArray[np.int16]:
    """Return the cells of encoded records, of shape (n, d) and column by column in memory.

    Parameters
    ----------
    columns : sequence of TableColumn
        Public.
    rows : Columns
        Private. Codes of each column.
    """
    cells = np.empty((len(rows), len(columns)), dtype=np.int16, order="F")
    for place, (column, codes) in enumerate(zip(columns, rows.columns, strict=True)):
        cells[:, place] = column.of(codes)
    return cells


def _table_of(values: Any) -> tuple[Any, str]:
    """Return a table in memory, as a data frame or an array, and its kind; no cell is read."""
    if issparse(values):
        raise TypeError("frame must be dense, got a sparse matrix; make it dense with frame.toarray()")
    table = table_in_memory(values)
    if is_frame(table):
        return table, "pandas" if hasattr(table, "iloc") else "polars"
    return cells_of(table), "array"


def _selected(frame: Any, domain: Product) -> Any:
    """Return the columns of a data frame that the domain names; all of them if it has no names of its own."""
    names = [str(name) for name in frame.columns]
    if (
        not isinstance(domain, Schema)
        and frame.shape[1] == len(domain)
        and not set(domain.names) <= set(names)
    ):
        return frame
    for name in domain.names:
        if names.count(name) != 1:
            how_often = "is missing" if name not in names else "occurs more than once"
            raise ValueError(f"frame must have the columns of its domain once, but {name!r} {how_often}")
    places = [names.index(name) for name in domain.names]
    return frame.iloc[:, places] if hasattr(frame, "iloc") else frame[:, places]


def _drawable(schema: Product, types: TableTypes) -> Product:
    """Return the domains that values are drawn from, a public function of a learned schema.

    Columns whose type has no missing values have none. Categories that are not listed share a cell, also
    where no list is released.
    """
    found = [
        _without_gaps(each, types.types[place]) if types.gapless(place) else _listed(each)
        for place, each in enumerate(schema.domains)
    ]
    if not isinstance(schema, Schema):
        return Product(found)
    return Schema(dict(zip(schema.names, found, strict=True)))


def _listed(domain: Domain) -> Domain:
    return Categories([None], other=True) if isinstance(domain, Hashed) else domain


def _without_gaps(domain: Domain, dtype: str) -> Domain:
    if isinstance(domain, NumberDomain):
        given = {name: value for name, value in domain.parameters.items() if name != "missing"}
        return type(domain)(**given | {"outside": "refuse" if isinstance(domain, Floats) else "clip"})
    booleans = isinstance(domain, Categories) and set(domain.values) == {False, True, None}
    return Categories([False, True]) if booleans and dtype == "bool" else _listed(domain)
