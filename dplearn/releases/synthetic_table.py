"""Synthetic records from a private table: noisy tables of a network of columns, and samples from these."""

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from math import isqrt
from sys import maxsize
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn._documented import documented_by
from dplearn._validation import Named, check_constructed, check_count
from dplearn._writing import brief, near_column, shortened
from dplearn.chance import Dice, PublicStream
from dplearn.domains import Categories, Domain, Floats, Hashed, Learn, NumberDomain, Product, Schema
from dplearn.domains.cells import cells_of, is_frame
from dplearn.domains.column_kinds import STEPS, ColumnKinds, as_learn, kinds_of
from dplearn.domains.dates import everything
from dplearn.domains.product import refuse_text
from dplearn.fit import PUBLIC_ROWS, Facts
from dplearn.fit.relation import COLUMNS, COLUMNS_AND_CATEGORIES, ROWS_OF_TABLE
from dplearn.kernels import IgnoresFloatErrors
from dplearn.privacy import ApproxDP, Guarantee, PrivacyLedger
from dplearn.privacy.shares import CONCENTRATED, Accounting
from dplearn.privacy.unrepeatable import UnrepeatablePickles
from dplearn.releases.learned_schema import (
    NUMBERS,
    LearnedSchema,
    SchemaDetail,
    SchemaRelease,
    unlearned,
    without_values,
)
from dplearn.releases.public_tables import PublicRows
from dplearn.releases.release import Release, Released, Result, checked_cost
from dplearn.releases.schema_fits import OTHER_NOISE, SchemaFit, SchemaFitPlan, part_of, schema_fit_plan
from dplearn.releases.table_cells import ranged_column, widest_numbers
from dplearn.releases.table_columns import (
    MOST_BINS,
    POINTS,
    TableColumn,
    cells_in,
    columns_of_one_value,
    table_column,
    table_columns,
    values_of,
)
from dplearn.releases.table_fidelity import TableFidelity, table_fidelity
from dplearn.releases.table_network import (
    NetworkStep,
    SyntheticTablePlan,
    TableBudget,
    TableLayout,
    TableModel,
    TableNoise,
    checked_layout,
    released_tables,
    replan,
    synthetic_table_plan,
)
from dplearn.releases.table_types import TableTypes, as_table
from dplearn.table import Columns, Table, table_in_memory

MOST_EPSILON = 10**9  #: With more there is no noise.
_FORMAT, _VERSION = "dplearn.SyntheticTable", 1
_LARGEST = 2.0**64  # floats without a smaller declared bound have no bins that values can be drawn from
_NOT_FITTED = "this SyntheticTable is not fitted yet; call fit(frame) first"
_ASSUMES = (COLUMNS, ROWS_OF_TABLE)
_NO_TYPES = TableTypes()


@documented_by()
@dataclass(eq=False, repr=False)
class SyntheticTable(Named, IgnoresFloatErrors, UnrepeatablePickles):
    """Synthetic records from noisy tables of columns: any number of rows for the privacy cost of one fit.

    A fit measures a noisy table of each column, chooses which columns depend on which others, and measures
    noisy tables of these. All else follows from the released tables: sampled records cost no privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit, from 1e-9 to 1e9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta
        ... 0: Laplace noise, and pure differential privacy, with less accurate tables.
    domain : "learn", Learn, Schema, Product or LearnedSchema, default="learn"
        Public. "learn": a fit releases a schema first, from a tenth of its budget, and accepts every cell;
        `Learn(...)` has another share, and declares kinds of columns. Categories of ordered types of pandas
        and of Enums of polars are public, and cost nothing. Or the bounded values of each column:
        `IntegerRange`, `Grid`, `Categories`, `Bits`, or `Floats` with a declared `largest`; or the result of
        `learned_schema`, whose cost is its own. A data frame's columns that a schema does not name are left
        out.
    target : str, optional
        Public. The name of a column that the synthetic records will be used to predict: all other columns
        depend on it, and tables with it are measured. Columns without names are "x0", "x1", and so on.
    degree : int, default=2
        The most columns that a column depends on, at least 1, `target` included: with 1 and a target, on the
        target alone. It is lowered so that all rounds count at most 10,660 tables: with 41 columns or more
        besides the target to one besides it, with 23 or more to two.
    n_bins : int, default=16
        The most bins of equal width of a column of integers or of a grid, from 2 to 16,384; `Floats` have
        bins between powers of two. The bin of missing numbers is one more. A range from 0 or above whose end
        is 256 times its start or more has bins that grow by a factor of sqrt(2), and a learned range has
        growing ones beyond its ends. Synthetic numbers are uniform within their bin.

    Attributes
    ----------
    network_ : dict of str to tuple of str
        Released. For each column, in the order in which records are drawn, the columns that it depends on.
    columns_ : tuple of TableColumn
        Released. The columns and their bins; public if the domain is declared.
    domain_ : Schema
        Released. The domain of each column; public if it is declared.
    marginals_ : dict of str to ndarray of float64 of shape (size,)
        Released. The share of records in each bin of each column.
    guarantee_
    plan_ : SyntheticTablePlan
        Released. The plan of the tables, given the domain, with the guarantee of the fit; public if the
        domain is declared.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; the number of records is
    public. Proof: `released_tables`, and with a learned domain `LearnedTableRelease`. Sampled records, and
    whatever is made from them, are post-processing.

    **Accuracy.** `plan` states the expected total variation distance of each base table's noise, and that of
    a table of the network of any size; no error is promised for other queries. Values beyond a learned range
    are lost if the noisy count of their bin is below 2 `base_deviation` (5, of a single far bin). Missing
    values of a column, and categories that are not listed, are dropped if their noisy count is below 4
    `base_deviation`, times the square root of the number of labels if there is a target. With public rows,
    each noisy table is moved towards theirs, and a dependence in them is looked for first.

    **Source.** Zhang, Cormode, Procopiuc, Srivastava and Xiao (2017) for Bayesian networks; McKenna, Mullins,
    Sheldon and Miklau (2022) for candidates that are charged for their noise; Bun, Nissim and Stemmer (2016),
    Section 3.1, for many learners on one sanitised table; James and Stein (1961) for tables moved towards
    others.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from dplearn.domains import Categories, IntegerRange, Schema
    >>> from dplearn.releases import SyntheticTable
    >>> rng = np.random.default_rng(0)
    >>> age = rng.integers(18, 90, 5000)
    >>> frame = pd.DataFrame({"age": age, "works": np.where(age < 65, "yes", "no")})
    >>> schema = Schema({"age": IntegerRange(18, 90), "works": Categories(["no", "yes"])})
    >>> table = SyntheticTable(epsilon=1.0, delta=1e-6, domain=schema, random_state=0).fit(frame)
    >>> table.sample(2, random_state=0)
       age works
    0   53   yes
    1   86    no
    >>> table.network_, table.plan(5000).expected_tv["age"] < 0.02
    ({'age': (), 'works': ('age',)}, True)
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    domain: Any = "learn"
    target: str | None = None
    degree: int = 2
    n_bins: int = 16
    max_cells: int = 20_000
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    row_methods = frozenset({"fit"})

    network_: dict[str, tuple[str, ...]] = field(init=False)
    columns_: tuple[TableColumn, ...] = field(init=False)
    domain_: Schema = field(init=False)
    marginals_: dict[str, NDArray[np.float64]] = field(init=False)
    guarantee_: ApproxDP = field(init=False)
    plan_: SyntheticTablePlan = field(init=False)

    reads_parts = can_learn_schema = True  # see `dplearn.fit.support`

    def __repr__(self) -> str:
        given = [
            f"{each.name}={shortened(getattr(self, each.name))!r}"
            for each in fields(self)
            if each.init and repr(getattr(self, each.name)) != repr(each.default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - as scikit-learn calls it
        """Return the parameters of the constructor by name.

        Parameters
        ----------
        deep : bool, default=True
            Not used.
        """
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def fit(self, frame: Any, X_public: Any = None, *, groups: Any = None) -> Self:
        """Release the tables of a private table; they are used for this one release and are not kept.

        Parameters
        ----------
        frame : data frame or array of shape (n, d), or parts of it
            Private. Cells within the declared domain; of any kind if it is learned. Parts: as for the
            learners of tables in parts, without y.
        X_public : data frame or array of shape (n_public, d), or PublicData of one, optional
            Public. Rows with the columns of `frame`, such as those of an earlier year that are published.
            They cost nothing. The noisy tables are moved towards theirs, more where there is more noise.
        groups : array-like of shape (n,) or str, optional
            ... One row of each group takes part, chosen by public chance. Of a table in parts: the name of
            the column that holds them.

        Returns
        -------
        self : object

        Raises
        ------
        DomainError, TypeError, ValueError
            If a value is outside its declared domain, or an argument is not as described; nothing is spent.
        BudgetExceededError
            If the guarantee does not fit the ledger's remaining budget; nothing is spent.

        Warns
        -----
        UserWarning
            If the noise of a count is greater than the mean count of its table, or there are too few records
            for learned ranges or lists. If a column of a learned domain has one value or none in the released
            tables.
        """
        check_constructed(self)
        recipe: Any = self._recipe(X_public)
        self._publish(recipe.run_on(frame, None, self.ledger, groups))
        return self

    def plan(self, n_samples: int, *, n_features: int | None = None) -> SyntheticTablePlan | SchemaFitPlan:
        """Return the plan of a fit: its guarantee, its noise and the expected error of tables, without data.

        Parameters
        ----------
        n_samples : int
            Number of records, at least 1.
        n_features
            ... Columns of undeclared kinds are planned as numbers.

        Returns
        -------
        SyntheticTablePlan or SchemaFitPlan
            The latter if the domain is learned: the plans of the schema and of the tables, with all
            attributes of the latter.
        """
        return self._recipe().plan_of_sizes(n_samples, n_features)

    def sample(self, m: int, random_state: Any = None) -> Any:
        """Return synthetic records; costs no privacy.

        Parameters
        ----------
        m : int
            Number of records, at least 1.
        random_state : None, int or numpy random generator, default=None
            Public chance. None: fresh entropy of the operating system.

        Returns
        -------
        data frame or array of shape (m, d)
            Of pandas; of polars if the fit's table was; a numpy array if that was an array; of Arrow as
            pandas with types of Arrow. Numbers are uniform within a bin, integers whole; categories are as
            declared, and missing values are gaps. Categories that are not listed are "other" in a learned
            column of texts, else gaps. Columns have the types of the table's as far as these hold what the
            domain does, gaps included; texts of numpy have a width for "other". A learned domain refuses
            categories of dates.
        """
        released = self._fitted()
        m = check_count("m", m, low=1)
        stream = PublicStream.of(random_state, type(self).__name__, "sample")
        columns = released.plan.layout.columns
        values = values_of(columns, released.tables.draw(m, stream), stream)
        return as_table(columns, values, released.types)

    def fidelity(self) -> TableFidelity:
        """Return how near synthetic records are to the released tables, and what they lost; costs no privacy.

        Returns
        -------
            For each column, and each measured table of several, the noise of the released table, and its
            distance from 262,144 synthetic records.
        """
        released = self._fitted()
        return table_fidelity(released.tables, released.plan)

    def to_json(self) -> str:
        """Return all released numbers, with the domains and the guarantee, as a JSON text.

        Raises
        ------
        ValueError
            If the table is not fitted, or has categories that JSON does not have, such as bytes.
        """
        released = self._fitted()
        plan, layout = released.plan, released.plan.layout
        _check_written(layout.columns)
        record = {
            "format": _FORMAT,
            "version": _VERSION,
            "guarantee": json.loads(plan.guarantee.to_json()),
            "concentrated": plan.is_concentrated,
            "n_samples": plan.n_samples,
            **released.types.to_dict(),
            "schema": Schema({column.name: column.domain for column in layout.columns}).to_dict(),
            "starts": [column.starts.tolist() for column in layout.columns],
            "unused": [np.flatnonzero(column.unused).tolist() for column in layout.columns],
            "ranged": [column.ranged for column in layout.columns],
            "target": None if layout.target is None else layout.columns[layout.target].name,
            "degree": layout.degree,
            "n_bins": self.n_bins,
            "max_cells": layout.max_cells,
            "budget": plan.budget,
            "base": released.tables.base,
            "known": released.tables.known,
            "network": released.tables.steps,
        }
        return json.dumps(record, default=_plain)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the fitted table of a text of `to_json`; it samples the same records.

        Parameters
        ----------
        text : str
            JSON.

        Raises
        ------
        ValueError
            If `text` is not such a record, or its format version is not supported.
        """
        record = json.loads(text)
        if not isinstance(record, dict) or record.get("format") != _FORMAT:
            raise ValueError(f"not a {_FORMAT} record")
        if record.get("version") != _VERSION:
            raise ValueError(f"version must be {_VERSION}, got {record.get('version')!r}")
        try:
            return cls._of_record(record)
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise ValueError(f"not a {_FORMAT} record: {error}") from None

    @classmethod
    def _of_record(cls, record: dict[str, Any]) -> Self:
        guarantee = Guarantee.from_json(json.dumps(record["guarantee"]))
        if not isinstance(guarantee, ApproxDP):
            raise ValueError("the guarantee is unknown")
        schema, target = Schema.from_dict(record["schema"]), record["target"]
        place = None if target is None else schema.names.index(target)
        cells = zip(*(record[name] for name in ("starts", "unused", "ranged")), strict=True)
        columns = [
            TableColumn.released(name, domain, *each)
            for (name, domain), each in zip(schema.columns.items(), cells, strict=True)
        ]
        most: int = record["max_cells"]  # of the planned cells; the released ones may be some more
        layout = replace(checked_layout(columns, place, record["degree"], maxsize), max_cells=most)
        costs = record["budget"]
        budget = TableBudget(
            _noise_of(costs["base"]), Fraction(costs["selection"]), _noise_of(costs["network"])
        )
        plan = synthetic_table_plan(guarantee, record["n_samples"], layout, budget=budget)
        plan = plan if record.get("concentrated") else part_of(guarantee, plan)
        steps = [
            NetworkStep(each["column"], tuple(each["parents"]), *_counts_of(each["table"], each["known"]))
            for each in record["network"]
        ]
        base = _counts_of(*record["base"])
        known = record["known"] and _counts_of(*record["known"])
        types = TableTypes.from_dict(record)
        model = TableModel(layout, plan.budget, plan.n_samples, base, steps, known)
        return cls.of(model, plan, types=types, n_bins=record["n_bins"])

    @classmethod
    def of(cls, tables: TableModel, plan: SyntheticTablePlan, *, types: TableTypes, n_bins: int) -> Self:
        """Return a fitted table, given its released numbers; learners on synthetic records call this.

        Parameters
        ----------
        tables : TableModel
            Released. All numbers.
        plan : SyntheticTablePlan
            Public. The plan of the release.
        types : TableTypes
            Public. The types of what `sample` returns.
        n_bins : int
            Public. As for the constructor.
        """
        layout = tables.layout
        found = cls(
            float(plan.guarantee.epsilon),
            float(plan.guarantee.delta),
            domain=Schema({column.name: column.domain for column in layout.columns}),
            target=None if layout.target is None else layout.columns[layout.target].name,
            degree=layout.degree,
            n_bins=n_bins,
            max_cells=layout.max_cells,
        )
        found._publish(ReleasedTable(tables, replan(plan, tables), types))
        return found

    def _recipe(self, X_public: Any = None) -> "TableRelease | LearnedTableRelease":
        """Return the recipe of a fit, after all parameters have been checked."""
        privacy = checked_cost(self.epsilon, self.delta, high=MOST_EPSILON)
        choices, seed = TableChoices.of(self, self.target), self.random_state
        public = X_public[0] if isinstance(X_public, tuple) and len(X_public) == 1 else X_public
        if (learn := as_learn(self.domain)) is not None:
            return LearnedTableRelease(learn, choices, privacy, random_state=seed, public=public)
        domain = checked_domain(self.domain)
        return TableRelease(domain, choices.layout(domain), privacy, random_state=seed, public=public)

    def _publish(self, released: "ReleasedTable") -> None:
        layout, model = released.plan.layout, released.tables
        names = [column.name for column in layout.columns]
        self.network_ = {
            names[place]: tuple(names[each] for each in parents)
            for place, (parents, _) in model.conditionals.items()
        }
        self.columns_ = layout.columns
        self.domain_ = Schema({column.name: column.used_domain for column in layout.columns})
        self.marginals_ = dict(zip(names, model.margins, strict=True))
        self.guarantee_, self.plan_ = released.plan.guarantee, released.plan
        self._released = released

    def _fitted(self) -> "ReleasedTable":
        released: ReleasedTable | None = vars(self).get("_released")
        if released is None:
            raise ValueError(_NOT_FITTED)
        return released


def _check_written(columns: Sequence[TableColumn]) -> None:
    """Refuse categories that are not the same after they have been written as JSON and read."""
    for column in columns:
        listed = getattr(column.domain, "values", ())
        if not all(value is None or type(value) in (str, int, float, bool) for value in listed):
            raise ValueError(
                f"column {column.name!r} must have categories that are texts, numbers or None, to be written"
                " as JSON; keep the table by pickle or joblib"
            )


def checked_domain(domain: Any) -> Product:
    """Return the declared or released domain if values can be drawn from its cells."""
    domain = domain.schema if isinstance(domain, LearnedSchema) else domain
    if not isinstance(domain, Product):
        raise TypeError(
            "domain must be 'learn', Learn(...), a Schema, or the result of learned_schema(frame, ...), got"
            f" {brief(domain)}"
        )
    for name, each in zip(domain.names, domain.domains, strict=True):
        if isinstance(each, Hashed):
            raise ValueError(
                f"column {name!r} must not be Hashed, since values cannot be given back from"
                f" {each.size} buckets: declare Categories([...], other=True), release a list by"
                " learned_schema, or leave the column out of the schema"
            )
        if isinstance(each, Floats) and each.largest > _LARGEST:
            raise ValueError(
                f"column {name!r} must have bounds, since synthetic numbers are drawn between them: declare"
                " Grid(low, high), IntegerRange(low, high), or Floats(largest=...)"
            )
    return domain


def _plain(value: Any) -> Any:
    """Return counts, an exact number, or the noise or a step of a network, as JSON holds them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value) if isinstance(value, Fraction) else vars(value)


def _counts_of(*tables: Any) -> list[Any]:
    return [None if table is None else np.array(table, dtype=np.int64) for table in tables]


def _noise_of(record: dict[str, Any]) -> TableNoise:
    exact = {name: None if record[name] is None else Fraction(record[name]) for name in ("epsilon", "rho")}
    return TableNoise(**exact, reach=record["reach"])


@dataclass(frozen=True, eq=False)
class ReleasedTable(Released):
    """The result of a release: all released numbers, and the types of the table that was read."""

    tables: TableModel
    plan: SyntheticTablePlan
    types: TableTypes
    schema: Product | None = None  # the learned one, of which the cells are a function
    unlearned: tuple[str, ...] = ()  # columns of which it has neither a category nor a range

    @property
    def warnings(self) -> tuple[str, ...]:
        found = without_values(self.schema, self.unlearned)
        one = columns_of_one_value(self.tables.layout.columns, self.tables.margins)
        one = [name for name in one if name not in self.unlearned]
        if one and self.schema is not None:
            found += (
                f"synthetic records have one value or none in each of the columns {brief(one)}: rare values"
                " are not learned; if there are some, declare all values in domain=Schema(...)",
            )
        return found


@dataclass(frozen=True)
class TableChoices:
    """The public parameters that determine a layout, given a domain."""

    target: str | None
    degree: int
    n_bins: int
    max_cells: int

    @classmethod
    def of(cls, shell: Any, target: str | None = None) -> Self:
        """Return the checked parameters of a synthetic table, or of a learner on synthetic records."""
        return cls(
            target,
            check_count("degree", shell.degree, low=1),
            check_count("n_bins", shell.n_bins, low=2, high=MOST_BINS),
            check_count("max_cells", shell.max_cells, low=4),
        )

    def layout(self, domain: Product, columns: Sequence[TableColumn] = ()) -> TableLayout:
        """Return the layout of a table with a domain, and cells of its columns if they are given."""
        self.check_target(domain.names)
        return checked_layout(
            columns or table_columns(domain, self.n_bins),
            None if self.target is None else domain.names.index(self.target),
            self.degree,
            self.max_cells,
        )

    def check_target(self, names: Sequence[str]) -> None:
        """Refuse a target that is the name of no column."""
        if self.target is not None and self.target not in names:
            raise ValueError(
                f"target must be the name of a column of the domain, got {brief(self.target)}"
                f"{near_column(self.target, names)}"
            )


@dataclass(frozen=True)
class TableFacts(Facts):
    """The public facts of a table of which synthetic records are made."""

    types: TableTypes = _NO_TYPES
    kinds: Any = None  # ColumnKinds, where a schema is learned


class DeclaredRelease(Release[Result]):
    """The recipe of a release about a table whose columns are declared."""

    takes = "frame"
    domain: Product

    def plan_of_sizes(self, n_samples: int | None, n_features: int | None, **more: Any) -> Any:
        if n_features not in (None, len(self.domain)):
            raise ValueError(
                f"n_features must be {len(self.domain)}, as the domain has, got {brief(n_features)}"
            )
        return self.plan(Facts(n_samples), **more)


class TableRelease(DeclaredRelease[ReleasedTable]):
    """The recipe of a synthetic table."""

    def __init__(
        self,
        domain: Product,
        layout: TableLayout,
        privacy: ApproxDP,
        *,
        random_state: Any = None,
        reach: int | None = None,
        public: Any = None,
    ):
        self.domain, self.layout, self.reach = domain, layout, reach
        self.public = None if public is None else PublicRows(self._public_cells(public), layout.sizes)
        guarantee = replace(privacy, assumes=(*_ASSUMES, *domain.assumes, *_assumed(public)))
        context = (
            str(guarantee.epsilon),
            str(guarantee.delta),
            str([(column.name, repr(column.domain), column.size) for column in layout.columns]),
            str((layout.target, layout.degree, layout.max_cells)),
        )
        super().__init__("SyntheticTable", guarantee, context, random_state)

    def read(self, X: Any, y: Any) -> tuple[TableFacts, NDArray[np.int16]]:  # noqa: ARG002 - there is none
        types, cells = rows_in_cells(X, self.domain, self.layout.columns)
        return TableFacts(len(cells), types), cells

    def _public_cells(self, X: Any) -> NDArray[np.int16]:
        """Return the cells of public rows; an error names them."""
        try:
            return rows_in_cells(X, self.domain, self.layout.columns)[1]
        except (TypeError, ValueError) as error:
            raise type(error)(f"X_public: {error}") from None

    def plan(self, facts: Facts) -> SyntheticTablePlan:
        return synthetic_table_plan(self.cost, self.count(facts), self.layout, reach=self.reach)

    def run(self, table: Table, plan: SyntheticTablePlan, dice: Dice) -> ReleasedTable:
        tables = released_tables(table, plan, dice, self.public)
        return ReleasedTable(tables, replan(plan, tables), table.facts.types)


class LearnedRelease(Release[Any]):
    """The recipe of a release about a table whose schema is released first, from a share of its budget.

    **Privacy.** `SchemaRelease`, then the `inner` release with a domain that is a function of the released
    schema, composed by `dplearn.releases.schema_fits`.

    **Assumes.** A row is one record; types of columns are public.
    """

    takes = "frame"
    title: str  # in the ledger
    accounting: Accounting  # of the inner release

    def __init__(
        self,
        learn: Learn,
        choices: Any,  # TableChoices, or those of another release
        privacy: ApproxDP,
        *,
        random_state: Any = None,
        reach: int | None = None,
        numbers: Floats = NUMBERS,
        public: Any = None,
    ):
        self.learn, self.choices, self.reach, self.numbers = learn, choices, reach, numbers
        self.public = public
        guarantee = replace(privacy, assumes=(*_ASSUMES, *_assumed(public)))
        context = str(guarantee.epsilon), str(guarantee.delta), repr(learn), repr(choices)
        super().__init__(self.title, guarantee, context, random_state)

    def read(self, X: Any, y: Any) -> tuple[TableFacts, Any]:  # noqa: ARG002 - there is none
        table = _table_of(X)
        if not all(table.shape):
            raise ValueError(f"frame must have at least one row and one column, got shape {table.shape}")
        kinds = kinds_of(table, self.learn.columns, X)
        types = TableTypes.of(table, getattr(X, "dtype", None), named=kinds.names is not None)
        self.choices.check_target(_names(kinds))
        # Nothing is learned of booleans, as nothing is of declared categories.
        free = ("booleans" if place in types.declared else kind for place, kind in enumerate(kinds.kinds))
        return TableFacts(len(table), types, replace(kinds, kinds=tuple(free))), table

    def plan(self, facts: TableFacts, **more: Any) -> SchemaFitPlan:
        facts = replace(facts, n_samples=self.count(facts))
        detail = self.detail(facts)
        release = partial(SchemaRelease, facts.kinds, numbers=self.numbers, detail=detail)
        fit = SchemaFit(release, partial(self.inner, facts=facts), self.accounting, facts, more)
        columns = COLUMNS_AND_CATEGORIES if facts.types.declared else COLUMNS
        assumes = [columns if each == COLUMNS else each for each in self.cost.assumes]
        return schema_fit_plan(fit, self.cost, self.learn.share, lambda *_: assumes)

    def plan_of_sizes(self, n_samples: int | None, n_features: int | None, **more: Any) -> SchemaFitPlan:
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
        return self.plan(TableFacts(n_samples, kinds=declared), **more)

    def run(self, table: Table, plan: SchemaFitPlan, dice: Dice) -> Any:
        learned = plan.release.run(table.map(plan.release.rows_of), plan.schema, dice)
        inner = self.inner(learned.schema, plan.rest, table.facts)
        inner_plan = inner.plan(Facts(plan.n_samples))
        if inner_plan.noise != plan.inner.noise:
            raise RuntimeError(OTHER_NOISE)
        found = inner.run(table.map(inner.rows_of), inner_plan, dice)
        schema, kept = learned.schema, part_of(plan.guarantee, found.plan)
        return replace(found, plan=kept, schema=schema, unlearned=unlearned(schema, plan.schema))

    def columns(self, schema: Product, facts: TableFacts, n_bins: int) -> tuple[Product, list[TableColumn]]:
        named = enumerate(zip(schema.names, drawable(schema, facts.types), strict=True))
        found = [self._column(name, each, facts, place, n_bins) for place, (name, each) in named]
        domains = {column.name: column.domain for column in found}
        return Schema(domains) if isinstance(schema, Schema) else Product(domains.values()), found

    def _column(self, name: str, domain: Domain, facts: TableFacts, place: int, n_bins: int) -> TableColumn:
        """Return the cells of a column, which of numbers are those of all, not of the learned range alone."""
        if not isinstance(domain, NumberDomain):
            return table_column(name, domain, n_bins)
        kind, plain = facts.kinds.kinds[place], facts.types.plain(place)
        if kind in STEPS:
            return ranged_column(name, domain, n_bins, everything(STEPS[kind]))
        widest = widest_numbers(self.numbers, plain, domain, whole=kind == "integers")
        return ranged_column(name, domain, n_bins, widest)

    @abstractmethod
    def inner(self, schema: Product, budget: ApproxDP, facts: TableFacts) -> Any:
        """Return the recipe of the inner release, given a learned schema and the rest of the budget."""

    @abstractmethod
    def detail(self, facts: TableFacts) -> SchemaDetail:
        """Return how fine the domains are."""


class LearnedTableRelease(LearnedRelease):
    """The recipe of a synthetic table with a learned schema."""

    title = "SyntheticTable"
    accounting = CONCENTRATED

    def inner(self, schema: Product, budget: ApproxDP, facts: TableFacts) -> TableRelease:
        """Return the recipe of the tables, given a learned schema and the rest of the budget."""
        domain, columns = self.columns(schema, facts, self.choices.n_bins)
        layout = self.choices.layout(domain, columns)
        return TableRelease(domain, layout, budget, reach=self.reach, public=self.public)

    def detail(self, facts: TableFacts) -> SchemaDetail:
        """Return how fine the domains are: all base tables have at most `max_cells` cells."""
        most, kinds = self.choices.max_cells, facts.kinds
        if self.choices.target is not None:
            place = _names(kinds).index(self.choices.target)
            kind = kinds.kinds[place]
            unranged = table_column("", self.numbers, self.choices.n_bins).size
            of_numbers = max(self.choices.n_bins + 1, unranged)
            booleans = 2 + len(facts.types.declared.get(place, (False, True)))
            most //= {"booleans": booleans, "categories": isqrt(most)}.get(kind, of_numbers)
        listed = max(1, most - 2)  # missing and other cells have one each
        return SchemaDetail(POINTS, listed, drawn=True, medians=True)


def _assumed(public: Any) -> tuple[str, ...]:
    return (PUBLIC_ROWS,) * (public is not None)


def _names(kinds: ColumnKinds) -> tuple[str, ...]:
    return kinds.names or tuple(f"x{place}" for place in range(len(kinds)))


def rows_in_cells(
    X: Any, domain: Product, columns: Sequence[TableColumn]
) -> tuple[TableTypes, NDArray[np.int16]]:
    """Return the types of a table, and the cells of its rows in columns, by name those of a domain."""
    table = _table_of(X)
    if is_frame(table):
        table = _selected(table, domain)
    elif table.shape[1] != len(domain):
        raise ValueError(f"frame must have {len(domain)} columns, as the domain has, got {table.shape[1]}")
    if not len(table):
        raise ValueError("frame must have at least one row, got none")
    refuse_text(table if is_frame(table) else X, domain)
    named = Product([column.domain for column in columns], [column.name for column in columns])
    types = TableTypes.of(table, getattr(X, "dtype", None), named=True)
    return types, cells_in(columns, Columns(named.encode(table)))


def _table_of(values: Any) -> Any:
    """Return a table in memory, as a data frame or an array; no cell is read."""
    if issparse(values):
        raise TypeError("frame must be dense, got a sparse matrix; make it dense with frame.toarray()")
    if getattr(values, "ndim", 2) == 1:
        raise ValueError("frame must be a table, got a column: give a table of it, such as df[['age']]")
    table = table_in_memory(values)
    return table if is_frame(table) else cells_of(table, dates=True)


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
            absent = f"is missing{near_column(name, names)}"
            how_often = absent if name not in names else "occurs more than once"
            raise ValueError(f"frame must have the columns of its domain once, but {name!r} {how_often}")
    places = [names.index(name) for name in domain.names]
    if places == list(range(len(names))):
        return frame
    return frame.iloc[:, places] if hasattr(frame, "iloc") else frame[:, places]


def drawable(schema: Product, types: TableTypes) -> list[Domain]:
    """Return the domains that values are drawn from, given a learned schema: without missing values for types
    without, of declared categories for types with these, and with one cell for all categories not listed.
    """
    return [
        _without_gaps(each, types.plain(place))
        if types.gapless(place)
        else _listed(types.domain_of(place, each))
        for place, each in enumerate(schema.domains)
    ]


def _listed(domain: Domain) -> Domain:
    return Categories([None], other=True) if isinstance(domain, Hashed) else domain


def _without_gaps(domain: Domain, plain: Any) -> Domain:
    if isinstance(domain, NumberDomain):
        given = {name: value for name, value in domain.parameters.items() if name != "missing"}
        return type(domain)(**given | {"outside": "refuse" if isinstance(domain, Floats) else "clip"})
    booleans = isinstance(domain, Categories) and set(domain.values) == {False, True, None}
    return Categories([False, True]) if booleans and plain == np.dtype(bool) else _listed(domain)
