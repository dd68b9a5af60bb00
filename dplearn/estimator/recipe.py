"""The recipe of an estimator's fit: its checked parameters, and what is done with them.

An estimator's `_recipe` returns a `FitRecipe`; `execute` carries it out, and `_publish` sets the fitted
attributes. A recipe holds no ledger and nothing fitted, as it goes to where parts of a table are read. That
of a learner which only asks queries is a `QueryFit`.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from dplearn._validation import check_count, check_given, check_number
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.domains import Product
from dplearn.domains.cells import whole_columns
from dplearn.fit import Recipe, refuse_unsupported
from dplearn.fit.execute import GREATEST_EPSILON
from dplearn.fit.relation import plan_with_count, warnings_with_count
from dplearn.privacy import ApproxDP
from dplearn.privacy.shares import GAUSSIAN, Accounting
from dplearn.privacy.unknown_count import COUNT_SHARE
from dplearn.queries.oracle import CentralOracle, Oracle, oracle_for
from dplearn.table import Columns, Given, LabelledRows, Table, count_of
from dplearn.table.encodings import encoded
from dplearn.table.features import as_product, is_used, read_features, schemas_of
from dplearn.table.groups import MOST_ROWS
from dplearn.table.targets import (
    check_classes,
    check_equal_outputs,
    check_pairs,
    check_two_labels,
    declared_classes,
    declared_sets,
    labels_in_parts,
    read_labels,
    read_outputs,
    sets_of_outputs,
)


@dataclass(frozen=True)
class FitFacts:
    """The public facts of a table that a fit is planned by; `n_samples` is None if it is private."""

    n_samples: int
    n_features: int = 0
    n_labels: int = 0  # the length of `classes`, if that is given
    names: Sequence[str] | None = None
    classes: Any = None  # sorted; None in a plan for which only their number is given
    #: Of public choices in a fit, such as the shard of each record; None in a plan.
    stream: PublicStream | None = None
    sparse: bool = False
    #: `n_features_in_` and `feature_names_in_` of an estimator fitted to it.
    columns: Mapping[str, Any] | None = None
    whole: Sequence[bool] = ()  # for each column, whether its type is one of integers or booleans

    def __post_init__(self) -> None:
        if self.classes is not None:
            object.__setattr__(self, "n_labels", len(self.classes))

    @classmethod
    def of_rows(cls, X: Any, reader: Any, **more: Any) -> Self:
        """Return the facts of rows, and names of columns that were set on `reader`."""
        return cls(X.shape[0], X.shape[1], names=getattr(reader, "feature_names_in_", None), **more)


@dataclass(frozen=True)
class OutputsFacts(FitFacts):
    """The public values of a table with one or several labels a record."""

    n_outputs: int = 1
    many: bool = False

    def __post_init__(self) -> None:
        """Leave `n_labels` unchanged: here `classes` is a list over outputs, not over labels."""


class FitRecipe(Recipe):
    """The recipe of a fit: the checked parameters `values` and what the learner's class says are attributes.

    The estimator's `_recipe` shows which values there are; what it declares of columns and labels is read
    here. They do not change; `given` returns a recipe with others.
    """

    cost: ApproxDP
    #: The class of the estimator.
    kind: Any
    #: The earlier calls that a call of `partial_fit` continues; None in a fit. See `incremental.Calls`.
    earlier: Any = None
    #: The attributes of columns that earlier calls have set.
    columns: Mapping[str, Any] = MappingProxyType({})
    #: The further arguments of `fit`, such as public rows.
    fit_arguments: Mapping[str, Any] = MappingProxyType({})
    #: The plan that was made before the schema was known, for `domain="learn"`.
    tried: Any = None
    #: The accounting of releases that are concentrated, where a schema is learned first.
    accounting: Accounting = GAUSSIAN
    #: Whether a private number of records is estimated first, and the fit then planned by the estimate.
    counts_records = False

    def __init__(self, learner: Any, cost: ApproxDP, **values: Any):
        check_number("epsilon", cost.epsilon, high=GREATEST_EPSILON)
        kind, neighbors = type(learner), getattr(learner, "neighbors", cost.neighbors)
        if hasattr(learner, "max_rows_per_group"):
            most = check_count("max_rows_per_group", learner.max_rows_per_group, low=1, high=MOST_ROWS)
            # In the local model each group makes one report, of one row.
            values = {"group_rows": None if values.get("trust_model") == "local" else most} | values
        if hasattr(learner, "classes") and "classes" not in values:
            values["classes"] = found = declared_classes(learner.classes, getattr(learner, "domain", None))
            if found is not None:
                sets = declared_sets(found) if kind.reads_outputs else [check_classes(found)]
                check_pairs(sets, learner._two_labels)
        vars(self).update(
            {"declared": learner._declared()} | values,
            cost=cost if neighbors == cost.neighbors else replace(cost, neighbors=neighbors),
            kind=kind,
            name=kind.__name__,
            random_state=learner.random_state,
            keeps_types=kind.keeps_types,
            reads_parts=kind.reads_parts,
            most_records=learner._most_records,
            schemas=schemas_of(learner),
        )
        refuse_unsupported(self)

    @classmethod
    def like(cls, other: "FitRecipe") -> Self:
        """Return the recipe of this class with the values of another one."""
        made = object.__new__(cls)
        vars(made).update(vars(other))
        return made

    def given(self, **values: Any) -> Self:
        """Return the recipe with some values changed."""
        changed = self.like(self)
        vars(changed).update(values)
        if "fit_arguments" in values:
            refuse_unsupported(changed)
        return changed

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the values

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"the parameters of a fit do not change, got {name!r}")

    def uses(self, name: str) -> bool:
        return is_used(name, self.schemas)

    def encoded(self, X: Any, y: Any, reader: BaseEstimator) -> tuple[Any, Any]:
        """Validate and encode rows as `Recipe.read` does; scikit-learn's functions set names on `reader`."""
        facts, columns = self.read_columns(X, reader)
        classes, codes = read_labels(y, len(columns), self.classes)
        check_two_labels(classes, self.kind._two_labels)
        return replace(facts, classes=classes), LabelledRows(columns, codes)

    def read_columns(self, X: Any, reader: BaseEstimator) -> tuple[FitFacts, Columns]:
        """Return the public facts of a table, and the codes of its columns in the domain `declared`."""
        stream = self.stream()
        X = read_features(reader, X, domain=self.declared, reset=self.earlier is None)
        facts = FitFacts.of_rows(X, reader, stream=stream, whole=whole_columns(X))
        return facts, self.codes_of(X, as_product(self.declared, X.shape[1], facts.names))

    def codes_of(self, X: Any, domain: Product) -> Columns:
        """Return the codes of a table; raise an error if nothing can be learned over the domain."""
        return encoded(X, domain)

    def summarize(self, rows: Any, plan: Any) -> Any:  # noqa: ARG002 - of use to subclasses
        """Return what is released from, of rows in memory or those of a part; nothing is drawn.

        Applied to the rows of a part alone, it returns what it would return of them among all rows.
        """
        return rows

    def publish(self, learner: Any, facts: Any, outcome: Any, plan: Any) -> None:
        """Set the fitted attributes of an estimator."""
        vars(learner).update(facts.columns or {})
        learner.guarantee_ = plan.guarantee
        learner._publish(outcome, plan)
        vars(learner).pop("schema_", None)  # of a fit before `partial_fit`

    def late_warnings(self, learner: Any, plan: Any) -> tuple[str, ...]:  # noqa: ARG002 - of use to subclasses
        """Return warnings after a fit: a function of its plan and of the attributes that it published."""
        return ()

    def stream(self) -> PublicStream:
        """Return the source of public choices of one fit."""
        return PublicStream.of(self.random_state, self.name)

    def prepared(self, facts: Any, table: Table) -> tuple[Any, Any]:
        facts = self.known(facts, table)
        return facts, self.try_out(self.planned(facts), table)

    def known(self, facts: Any, table: Table) -> Any:  # noqa: ARG002 - of use to subclasses
        """Return the facts, with public values of the whole table that no part of it has."""
        return facts

    def try_out(self, plan: Any, table: Table) -> Any:  # noqa: ARG002 - of use to subclasses
        """Refuse, before the charge and without values, what cannot be carried out as planned; return the
        plan.
        """
        return plan

    def planned(self, facts: Any, **more: Any) -> Any:
        if (n_outputs := getattr(facts, "n_outputs", 1)) > 1:
            refuse_unsupported(self, "outputs", n_outputs=n_outputs)
        if not self.uncounted:
            return self.plan(facts, **more)
        if not self.counts_records:
            return super().planned(facts, **more)

        def plan_of(cost: ApproxDP, facts: Any) -> Any:
            return self.given(cost=cost).plan(facts, **more)

        return plan_with_count(plan_of, self.cost, facts)

    def replannable(self, facts: Any, **more: Any) -> Any:
        """Return a plan that can be made again, for another number of records."""
        return replace(self.planned(facts, **more), replan=partial(self.planned_for, facts, **more))

    def planned_for(self, facts: Any, n_samples: int, **more: Any) -> Any:
        """Return the plan of a fit on another number of records."""
        return self.planned(replace(facts, n_samples=n_samples), **more)

    def read(self, X: Any, y: Any) -> tuple[Any, Any]:
        reader = self.reader()
        facts, rows = self.encoded(X, y, reader)
        assert facts.n_samples in (None, count_of(rows))
        return replace(facts, columns=dict(vars(reader))), rows

    def reader(self) -> BaseEstimator:
        """Return what stands for the estimator: messages name its class and advise its parameters."""
        reader = _reading(self.kind)()
        vars(reader).update(self.columns)
        return reader

    def from_parts(self, table: Table) -> tuple[FitFacts, Table]:
        labels = {}
        if issubclass(self.kind, ClassifierMixin) and self.classes is None:
            labels = {"classes": labels_in_parts(table.values(self._labels_of))}
        # Reading a part uses up nothing of a random generator.
        facts, rows = super(FitRecipe, self.given(**labels, random_state=0)).from_parts(table)
        return replace(facts, stream=self.stream()), rows  # which no other process sends

    def summarized(self, table: Table, plan: Any) -> Any:
        """Return the summary: of rows in memory that count once each, else a table of it."""
        # Where the number of rows is estimated, they are summarised after that.
        counted = getattr(plan, "for_count", None)
        of_rows = (lambda rows: rows) if counted else partial(self.summarize, plan=plan)
        held = table.at_once(of_rows)
        return table.map(of_rows).kept() if held is None else held

    def facts_of_all(self, found: Sequence[Any]) -> Any:
        check_equal_outputs(getattr(facts, "n_outputs", 1) for facts in found)
        return found[0]

    def read_part(self, X: Any, y: Any) -> tuple[Any, Any]:
        self._check_given(y)
        return self.read(X, y)

    def _check_given(self, y: Any) -> None:
        """Refuse parts without labels or targets where the learner requires them."""
        if y is None and issubclass(self.kind, (ClassifierMixin, RegressorMixin)):
            raise ValueError(
                "requires y to be passed, but the target y is None; for a table in parts give the name of a"
                " column of X, labels in the same parts, or a pair (X, y) as each part"
            )

    def _labels_of(self, given: Given) -> Any:
        """Return the labels that occur in a part, of each output; None without rows."""
        y, n = given.y, count_of(given.X)
        self._check_given(y)
        if not n:
            return None
        return read_outputs(y, n, None).classes if self.kind.reads_outputs else [read_labels(y, n, None)[0]]


@lru_cache(maxsize=256)  # to make a class takes longer than to read a small table
def _reading(kind: Any) -> type[BaseEstimator]:
    declares: dict[str, Any] = {"domain": None} if "domain" in kind._get_param_names() else {}
    return type(kind.__name__, (BaseEstimator,), declares | {"can_learn_schema": kind.can_learn_schema})


class QueryFit(FitRecipe):
    """Base of fits with `learn(oracle, plan)`; a private number of records is the outcome's `count`."""

    def run(self, summary: Any, plan: Any, dice: Dice) -> Any:
        plan_of = getattr(plan, "for_count", None)
        oracle = oracle_for(
            plan.noise,
            summary,
            privacy=plan.guarantee,
            dice=dice,
            stream=plan.public.stream,
            count_share=COUNT_SHARE if plan_of else Fraction(0),
            most_records=self.most_records,
        )
        if not plan_of:
            return self.learn(oracle, plan)
        assert isinstance(oracle, CentralOracle)  # local learners refuse a private number of records
        found = plan_of(oracle.count())
        return self.learn(oracle.map(lambda rows: self.summarize(rows, found)), found)

    @abstractmethod
    def learn(self, oracle: Oracle, plan: Any) -> Any:
        """Return the outcome, a function of the answers alone."""

    def publish(self, learner: Any, facts: Any, outcome: Any, plan: Any) -> None:
        super().publish(learner, facts, outcome, plan)
        if facts.n_samples is None:
            learner.noisy_count_ = outcome.count

    def late_warnings(self, learner: Any, plan: Any) -> tuple[str, ...]:
        return warnings_with_count(plan, learner.noisy_count_) if getattr(plan, "for_count", None) else ()


def planned_columns(fit: Any, n_samples: Any, *, n_features: Any) -> FitFacts:
    """Return the sizes of a planned table without labels; the size of a declared domain counts."""
    features = len(fit.declared) if isinstance(fit.declared, Product) else n_features
    return FitFacts(
        check_count("n_samples", n_samples, low=1), check_given("n_features", features, source="domain")
    )


def planned_table(fit: Any, n_samples: Any, *, n_features: Any, n_labels: Any) -> FitFacts:
    """Return the sizes of a planned table of labelled records; the number of declared classes counts."""
    columns = planned_columns(fit, n_samples, n_features=n_features)
    labels = n_labels if fit.classes is None else len(fit.classes)
    return replace(columns, n_labels=check_given("n_labels", labels, source="classes"))


def planned_outputs(fit: Any, n_samples: Any, *, n_features: Any, n_labels: Any, n_outputs: Any) -> FitFacts:
    """Return the sizes of a planned table with one or several labels a record; declared ones count."""
    count = check_count("n_outputs", n_outputs, low=1)
    sets = None if fit.classes is None else sets_of_outputs(fit.classes, count)
    if count == 1:
        known = fit if sets is None else fit.given(classes=sets[0])
        return planned_table(known, n_samples, n_features=n_features, n_labels=n_labels)
    columns = planned_columns(fit, n_samples, n_features=n_features)
    labels = check_given("n_labels", n_labels if sets is None else max(map(len, sets)), source="classes")
    return OutputsFacts(
        columns.n_samples, columns.n_features, labels, classes=sets, n_outputs=count, many=True
    )


def cost_of_fit(estimator: Any, X: Any = None, y: Any = None) -> ApproxDP | None:
    """Return the greatest cost of a fit by shapes of X and y, or None if parameters do not determine it."""
    with suppress(Exception):  # `fit` reports invalid parameters
        return estimator._recipe(estimator.random_state is not None).cost_of(X, y)
    return None
