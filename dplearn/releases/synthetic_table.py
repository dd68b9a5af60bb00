"""Synthetic records from a private table: noisy tables of a network of columns, and samples from these.

No error is promised for queries that are not measured: the network is a model of the table.
"""

import json
import warnings
from collections.abc import Sequence
from fractions import Fraction
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn._writing import brief, shortened
from dplearn.chance import PublicStream
from dplearn.core.float_errors import IgnoresFloatErrors
from dplearn.domains import Floats, Hashed, Product, Schema
from dplearn.domains.column_kinds import as_learn
from dplearn.fit.execute import Facts
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.base import Guarantee
from dplearn.privacy.unrepeatable import UnrepeatablePickles
from dplearn.releases.learned_schema import LearnedSchema
from dplearn.releases.schema_fits import SchemaFitPlan
from dplearn.releases.table_columns import MOST_BINS, TableColumn, columns_of_one_value
from dplearn.releases.table_counts import TableNoise
from dplearn.releases.table_model import NetworkStep
from dplearn.releases.table_network import ReleasedTables
from dplearn.releases.table_plan import (
    GREATEST_EPSILON,
    LEAST_EPSILON,
    SyntheticTablePlan,
    TableBudget,
    TableLayout,
    checked_layout,
    synthetic_table_plan,
)
from dplearn.releases.table_release import LearnedTableRelease, ReleasedTable, TableChoices, TableRelease
from dplearn.releases.table_values import TableTypes, as_table, values_of

__all__ = ["SyntheticTable", "SyntheticTablePlan"]

_FORMAT, _VERSION = "dplearn.SyntheticTable", 1
_LARGEST = 2.0**64  # floats without a smaller declared bound have no bins that values can be drawn from
_NOT_FITTED = "this SyntheticTable is not fitted yet; call fit(frame) first"


class SyntheticTable(IgnoresFloatErrors, UnrepeatablePickles):
    """Synthetic records from noisy tables of columns: any number of rows for the privacy cost of one fit.

    A fit measures a noisy table of each column, chooses which columns depend on which others, and measures
    noisy tables of these. All else follows from the released tables: sampled records cost no privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit, from 1e-9 to 1e9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples. 0:
        Laplace noise, and pure differential privacy, with less accurate tables.
    domain : "learn", Learn, Schema, Product or LearnedSchema, default="learn"
        Public. "learn": a fit releases a schema first, from a tenth of its budget, and accepts every cell, as
        `learned_schema` does. `Learn(...)` has another share, and declares kinds of columns. Or the possible
        values of each column, bounded: `IntegerRange`, `Grid`, `Categories`, `Bits`, or `Floats` with a
        declared `largest`; or the result of `learned_schema`, whose cost is its own. A data frame's columns
        that a schema does not name are left out.
    target : str, optional
        Public. The name of a column that the synthetic records will be used to predict: all other columns
        depend on it, and tables with it are measured. None: the network has no such column. Where the columns
        have no names, or these are no texts, they are "x0", "x1", and so on.
    degree : int, default=2
        The most columns that a column depends on, at least 1, `target` included. With 1 and a target, all
        columns depend on the target alone. It is lowered so that all rounds count at most 10,660 tables: with
        41 columns or more besides the target to one besides it, with 23 or more to two.
    n_bins : int, default=16
        The most bins of a column of integers or of a grid, from 2 to 16,384; `Floats` have bins between
        powers of two, whatever it is. The bin of missing numbers is one more.
        Synthetic numbers are uniform within their bin.
    max_cells : int, default=20_000
        The most cells of a measured table, at least 4.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.

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
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, with its assumptions.
    plan_ : SyntheticTablePlan
        Released. The plan of the tables, given the domain, with the guarantee of the fit; public if the
        domain is declared.

    See Also
    --------
    dplearn.SyntheticDataClassifier : Any classifier, trained on synthetic records.
    learned_schema : Release a schema of a table without declarations.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; the number of records is
    public. Proof: `released_tables`, and with a learned domain `LearnedTableRelease`. Sampled records, and
    whatever is made from them, are post-processing.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** `plan` states the expected total variation distance of each base table's noise, and that of
    a table of the network of any size. For all other queries no error is promised. Missing values of a column
    are dropped if their noisy count is below 4 `base_deviation`, times the square root of the number of
    labels if there is a target.

    **Source.** Zhang, Cormode, Procopiuc, Srivastava and Xiao (2017) for Bayesian networks; McKenna, Mullins,
    Sheldon and Miklau (2022) for candidates that are charged for their noise; Bun, Nissim and Stemmer (2016),
    Section 3.1, for many learners on one sanitised table.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from dplearn.domains import Categories, IntegerRange, Schema
    >>> from dplearn.releases import SyntheticTable
    >>> rng = np.random.default_rng(0)
    >>> age = rng.integers(18, 90, 5000)
    >>> frame = pd.DataFrame({"age": age, "works": np.where(age < 65, "yes", "no")})
    >>> schema = Schema({"age": IntegerRange(18, 90), "works": Categories(["no", "yes"])})
    >>> table = SyntheticTable(epsilon=1.0, delta=1e-6, domain=schema, random_state=0).fit(frame)
    >>> table.sample(3, random_state=0)
       age works
    0   51   yes
    1   90    no
    2   26   yes
    >>> rows = table.sample(10_000, random_state=0)
    >>> bool(rows[rows.works == "no"].age.quantile(0.1) > 60), table.network_
    (True, {'age': (), 'works': ('age',)})
    >>> table.plan(5000).expected_tv["age"] < 0.02
    True
    """

    _read_private_rows = frozenset({"fit"})

    network_: dict[str, tuple[str, ...]]
    columns_: tuple[TableColumn, ...]
    domain_: Schema
    marginals_: dict[str, NDArray[np.float64]]
    guarantee_: ApproxDP
    plan_: SyntheticTablePlan

    reads_parts = can_learn_schema = True  # see `dplearn.fit.support`

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        domain: Any = "learn",
        target: str | None = None,
        degree: int = 2,
        n_bins: int = 16,
        max_cells: int = 20_000,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.target = target
        self.degree = degree
        self.n_bins = n_bins
        self.max_cells = max_cells
        self.ledger = ledger
        self.random_state = random_state

    def __repr__(self) -> str:
        given = [
            f"{name}={shortened(getattr(self, name))!r}"
            for name, each in signature(type(self).__init__).parameters.items()
            if each.default is not each.empty and getattr(self, name) is not each.default
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - as scikit-learn calls it
        """Return the parameters of the constructor by name.

        Parameters
        ----------
        deep : bool, default=True
            Not used.
        """
        return {name: getattr(self, name) for name in list(signature(type(self).__init__).parameters)[1:]}

    def fit(self, frame: Any, *, groups: Any = None) -> Self:
        """Release the tables of a private table; they are used for this one release and are not kept.

        Parameters
        ----------
        frame : data frame or array of shape (n, d), or parts of it
            Private. Cells within the declared domain; of any kind if it is learned. Parts: as for the
            learners of tables in parts, without y.
        groups : array-like of shape (n,) or str, optional
            Private. The group of each row, such as the person that it belongs to: texts or integers. The
            guarantee then protects all rows of a group together. One row of each group takes part, which is
            chosen by public chance, and the set of groups is public. Of a table in parts: the name of the
            column that holds them.

        Returns
        -------
        self : object

        Raises
        ------
        DomainError
            If a value is outside its declared domain; the message shows no value, and nothing is spent.
        TypeError, ValueError
            If a parameter is not as described, or the table is sparse or has other columns; nothing is spent.
        BudgetExceededError
            If the guarantee does not fit the ledger's remaining budget; nothing is spent.

        Warns
        -----
        UserWarning
            If the noise of a count is greater than the mean count of its table, or there are too few records
            for learned ranges or lists; the number of records is public. If the domain is learned and a
            column has one value or none in the released tables: rarer ones are lost.
        """
        recipe: Any = self._recipe()
        self._publish(recipe.run_on(frame, None, self.ledger, groups))
        one = columns_of_one_value(self.columns_, list(self.marginals_.values()))
        if one and isinstance(recipe, LearnedTableRelease):
            text = (
                f"synthetic records have one value or none in each of the columns {brief(one)}: rare values"
                " are not learned; if there are some, declare domain=Schema({'ill': IntegerRange(0, 1), ...})"
            )
            warnings.warn(text, UserWarning, stacklevel=3)  # `fit` is wrapped
        return self

    def plan(self, n_samples: int, *, n_features: int | None = None) -> SyntheticTablePlan | SchemaFitPlan:
        """Return the plan of a fit: its guarantee, its noise and the expected error of tables, without data.

        Parameters
        ----------
        n_samples : int
            Number of records, at least 1.
        n_features : int, optional
            Number of columns; required unless `domain` determines it. Columns of undeclared kinds are planned
            as numbers.

        Returns
        -------
        SyntheticTablePlan or SchemaFitPlan
            The latter if the domain is learned: the plans of the schema and of the tables, with all
            attributes of the latter.

        Raises
        ------
        TypeError, ValueError
            If a parameter is not as described.
        """
        recipe = self._recipe()
        if isinstance(recipe, LearnedTableRelease):
            return recipe.plan_of_sizes(n_samples, n_features)
        if n_features not in (None, len(recipe.domain)):
            raise ValueError(
                f"n_features must be {len(recipe.domain)}, as the domain has, got {brief(n_features)}"
            )
        return recipe.plan(Facts(n_samples))

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
            Of pandas; of polars if the fit's table was; a numpy array if that was an array. Numbers are
            uniform within a bin, integers whole; categories are as declared; missing values, and categories
            that are not listed, are gaps. If the domain was learned, columns have the types of the table's,
            as far as these have gaps where the domain has them.

        Raises
        ------
        TypeError, ValueError
            If m is not as described, or the table is not fitted.
        """
        released = self._fitted()
        m = check_count("m", m, low=1)
        stream = PublicStream.of(random_state, type(self).__name__, "sample")
        columns = released.plan.layout.columns
        values = values_of(columns, released.tables.model.draw(m, stream), stream)
        return as_table(columns, values, released.types)

    def to_json(self) -> str:
        """Return all released numbers, with the domains and the guarantee, as a JSON text.

        Raises
        ------
        ValueError
            If the table is not fitted, or has categories that JSON does not have, such as bytes.
        """
        released = self._fitted()
        plan = released.plan
        budget, layout = plan.budget, plan.layout
        _check_written(layout.columns)
        record = {
            "format": _FORMAT,
            "version": _VERSION,
            "guarantee": json.loads(plan.guarantee.to_json()),
            "n_samples": plan.n_samples,
            **released.types.to_dict(),
            "schema": Schema({column.name: column.domain for column in layout.columns}).to_dict(),
            "starts": [column.starts.tolist() for column in layout.columns],
            "target": None if layout.target is None else layout.columns[layout.target].name,
            "degree": layout.degree,
            "n_bins": self.n_bins,
            "max_cells": layout.max_cells,
            "budget": {
                "base": _noise_to_dict(budget.base),
                "selection": str(budget.selection),
                "network": _noise_to_dict(budget.network),
            },
            "base": [table.tolist() for table in released.tables.base],
            "network": [
                {
                    "column": step.column,
                    "parents": list(step.parents),
                    "table": None if step.table is None else step.table.tolist(),
                }
                for step in released.tables.steps
            ],
        }
        return json.dumps(record)

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
        columns = [
            TableColumn(name, domain, np.array(starts, dtype=np.uint64))
            for (name, domain), starts in zip(schema.columns.items(), record["starts"], strict=True)
        ]
        layout = checked_layout(columns, place, record["degree"], record["max_cells"])
        costs = record["budget"]
        budget = TableBudget(
            _noise_of(costs["base"]), Fraction(costs["selection"]), _noise_of(costs["network"])
        )
        plan = synthetic_table_plan(guarantee, record["n_samples"], layout, budget=budget)
        steps = [
            NetworkStep(
                step["column"],
                tuple(step["parents"]),
                None if step["table"] is None else np.array(step["table"], dtype=np.int64),
            )
            for step in record["network"]
        ]
        base = [np.array(table, dtype=np.int64) for table in record["base"]]
        types = TableTypes.from_dict(record)
        return cls.of(ReleasedTables(plan, base, steps), plan, types=types, n_bins=record["n_bins"])

    @classmethod
    def of(cls, tables: ReleasedTables, plan: SyntheticTablePlan, *, types: TableTypes, n_bins: int) -> Self:
        """Return a fitted table, given its released numbers; learners on synthetic records call this.

        Parameters
        ----------
        tables : ReleasedTables
            Released. All numbers.
        plan : SyntheticTablePlan
            Public. The plan of the release.
        types : TableTypes
            Public. The types of what `sample` returns.
        n_bins : int
            Public. As for the constructor.
        """
        layout: TableLayout = plan.layout
        found = cls(
            float(plan.guarantee.epsilon),
            float(plan.guarantee.delta),
            domain=Schema({column.name: column.domain for column in layout.columns}),
            target=None if layout.target is None else layout.columns[layout.target].name,
            degree=layout.degree,
            n_bins=n_bins,
            max_cells=layout.max_cells,
        )
        found._publish(ReleasedTable(tables, plan, types))
        return found

    def _recipe(self) -> TableRelease | LearnedTableRelease:
        """Return the recipe of a fit, after all parameters have been checked."""
        privacy = ApproxDP(
            check_number("epsilon", self.epsilon, low=LEAST_EPSILON, high=GREATEST_EPSILON),
            check_number("delta", self.delta, low=0, below=1),
            reproducible=self.random_state is not None,
        )
        choices = TableChoices(
            self.target,
            check_count("degree", self.degree, low=1),
            check_count("n_bins", self.n_bins, low=2, high=MOST_BINS),
            check_count("max_cells", self.max_cells, low=4),
        )
        if (learn := as_learn(self.domain)) is not None:
            return LearnedTableRelease(learn, choices, privacy, random_state=self.random_state)
        domain = _checked_domain(self.domain)
        return TableRelease(domain, choices.layout(domain), privacy, random_state=self.random_state)

    def _publish(self, released: "ReleasedTable") -> None:
        layout, model = released.plan.layout, released.tables.model
        names = [column.name for column in layout.columns]
        self.network_ = {
            names[place]: tuple(names[each] for each in parents)
            for place, (parents, _) in model.conditionals.items()
        }
        self.columns_ = layout.columns
        self.domain_ = Schema({column.name: column.domain for column in layout.columns})
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


def _checked_domain(domain: Any) -> Product:
    """Return the declared or released domain if values can be drawn from its cells."""
    domain = domain.schema if isinstance(domain, LearnedSchema) else domain
    if not isinstance(domain, Product):
        raise TypeError(
            "domain must be 'learn', Learn(...), a Schema, or the result of learned_schema(frame, ...), since"
            f" synthetic values are drawn from public or released domains, got {brief(domain)}"
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


def _noise_to_dict(noise: TableNoise) -> dict[str, Any]:
    return {
        "epsilon": None if noise.epsilon is None else str(noise.epsilon),
        "rho": None if noise.rho is None else str(noise.rho),
        "reach": noise.reach,
    }


def _noise_of(record: dict[str, Any]) -> TableNoise:
    exact = {name: None if record[name] is None else Fraction(record[name]) for name in ("epsilon", "rho")}
    return TableNoise(**exact, reach=record["reach"])
