"""Fits with `domain="learn"`: a learner releases a schema first, then fits with it, within one budget.

The recipe is then one around a recipe, `LearnedFit`. Its `read` reads rows with a public schema that accepts
every cell, so that errors come before the charge. Its `plan` divides the cost between the schema and the
learner's own fit: rho or mu^2 where the release is `concentrated`, which makes the schema several times more
accurate. Its `run` releases the schema, then runs the fit of an inner learner with it and the rest.

With `target_range="learn"` a regressor's target is a last column of numbers of the released schema, and the
inner learner has its released range, with `clip_target`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, Self, TypeVar

from numpy.typing import NDArray
from sklearn.base import clone

from dplearn._validation import shown
from dplearn.chance.dice import Dice
from dplearn.domains import Categories, Grid, Learn, Product, Schema
from dplearn.domains.column_kinds import ColumnKinds, as_learn, kinds_of
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.fit import TABLE, Facts, begin, refuse_unsupported
from dplearn.privacy import ApproxDP
from dplearn.releases.learned_schema import (
    NUMBERS,
    ConcentratedPart,
    LearnedSchema,
    LearnedSchemaPlan,
    SchemaRelease,
)
from dplearn.releases.schema_fits import OTHER_NOISE, SchemaFit, SchemaFitPlan, part_of, schema_fit_plan
from dplearn.table import Columns, Given, LabelledRows, Table
from dplearn.table.features import read_features
from dplearn.table.targets import (
    joined_outputs,
    label_columns,
    labels_assumed,
    read_labels,
    read_numbers,
    read_outputs,
)

_ANY = Categories([None], other=True)  # accepts cells of any kind
#: Any number is read with this range, which a learned one then replaces.
_UNIT_RANGE: dict[str, Any] = {"target_range": (0.0, 1.0), "clip_target": True}

# A learned range of targets that is so narrow, in its greatest magnitude or next to 0, is that of one value.
_NARROW, _NEAR_ZERO = 1e-5, 1e-6
_NARROW_RANGE = (
    "the learned target_range is ({:.3g}, {:.3g}): most targets are equal or nearly 0, and all others are"
    " clipped to it; declare target_range=(low, high)"
)

Kind = TypeVar("Kind", bound=type)


def learns_schema(*, parameter: str = "domain") -> Callable[[Kind], Kind]:
    """Return a class decorator: with `domain="learn"` a fit learns the schema, from a share of its budget.

    Parameters
    ----------
    parameter : str, default="domain"
        The name of the parameter that is "learn", as for `set_params`.

    Notes
    -----
    **Privacy.** The guarantee of the learner's parameters: `dplearn.releases.schema_fits` composes the schema
    and the inner fit. With `trust_model="local"` nothing is learned: the schema is public.

    **Assumes.** A learner that accepts a table with `LearnedSchemaPlan.narrowest`, and the plans of
    `LearnedSchemaPlan.widest` and `unranged`, accepts the table with every schema that can be released.
    """

    def decorated(kind: Any) -> Any:
        own = {name: getattr(kind, name) for name in ("_recipe", "__sklearn_tags__")}

        @wraps(own["_recipe"])
        def recipe(learner: Any, reproducible: bool) -> Any:
            owner, domain = _declared(learner, parameter)
            learn, target = as_learn(domain), getattr(learner, "target_range", None)
            ranged = isinstance(target, str) and target == "learn"
            # A learner of another library may take other texts.
            ours = isinstance(domain, Mapping) or getattr(owner, "can_learn_schema", False)
            if learn is None and isinstance(domain, (str, Mapping)) and ours:
                raise TypeError(
                    "domain must be a Domain, a sequence of them, a Product, a Schema, 'learn' or Learn(...),"
                    f" which takes a mapping from columns to kinds, got {shown(domain)}"
                )
            if learn is None and not ranged:
                return own["_recipe"](learner, reproducible)
            return LearnedFit.of(learner, learn, reproducible, parameter=parameter, ranged=ranged)

        @wraps(own["__sklearn_tags__"])
        def tags(learner: Any) -> Any:
            learns = as_learn(_declared(learner, parameter)[1]) is not None
            return own["__sklearn_tags__"](_alike(learner, parameter, _ANY) if learns else learner)

        kind._recipe, kind.__sklearn_tags__, kind.can_learn_schema = recipe, tags, True
        return kind

    return decorated


@dataclass(frozen=True)
class _SchemaFacts(FitFacts):
    """The public values of a table whose schema is learned."""

    kinds: Any = None
    inner: Any = None  # the public values that the inner learner found
    #: Assumptions of the schema with which it read the table; all cells meet them.
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Outcome:
    """The released schema, and the plan and the outcome of the inner fit."""

    schema: Product
    plan: Any
    released: Any


class LearnedFit(FitRecipe):
    """The fit that learns a domain, or the range of the target as a last column, before that of `shell`."""

    @classmethod
    def of(cls, learner: Any, learn: Any, reproducible: bool, *, parameter: str, ranged: bool) -> Self:
        """Return the recipe of a learner, after its own checks."""
        placeholders = ({} if learn is None else {parameter: _ANY}) | (_UNIT_RANGE if ranged else {})
        inner = _with(learner, {**placeholders, "ledger": None})
        own = inner._recipe(reproducible)
        fit = cls.like(own).given(
            own=own,
            shell=inner,
            random_state=learner.random_state,
            classes=getattr(own, "classes", None),
            declared=own.declared if learn is None else None,
            # A schema is learned from one row of each group.
            group_rows=None,
            parameter=parameter,
            ranged=ranged,
            learn=learn or Learn(),
            learns_domain=learn is not None,
            numbers=getattr(learner, "_schema_numbers", NUMBERS),
        )
        refuse_unsupported(fit)
        return fit

    def inner(self, domain: Any, budget: ApproxDP | None = None, *, classes: Any = None) -> FitRecipe:
        """Return the inner recipe with a domain, and with labels and a budget if they are given."""
        given: dict[str, Any] = {}
        if self.ranged:
            domain, target = _without_target(domain)
            given = {"target_range": target, "clip_target": True}
        if self.learns_domain:
            given[self.parameter] = domain
        if classes is not None:
            given[self.parameter.removesuffix("domain") + "classes"] = list(classes)
        if budget is not None:
            amounts = {"epsilon": budget.epsilon, "delta": budget.delta}
            given |= {name: amounts[name] for name in amounts if name in self.shell.get_params(deep=False)}
        return _with(self.shell, given)._recipe(self.cost.reproducible)

    def without_target(self, schema: Any) -> Any:
        """Return the domain of X in a schema that is released."""
        return _without_target(schema)[0] if self.ranged else schema

    def released_kinds(self, kinds: ColumnKinds) -> ColumnKinds:
        """Return the kinds of the columns whose domains are released, given those of X."""
        if not self.ranged:
            return kinds
        kept = kinds if self.learns_domain else ColumnKinds(())
        names = kept.names and (*kept.names, "target" + "_" * max(map(len, kept.names)))  # a new name
        return replace(kept, kinds=(*kept.kinds, "numbers"), names=names)

    def release(
        self, kinds: ColumnKinds, cost: ApproxDP, part: ConcentratedPart | None = None
    ) -> SchemaRelease:
        # A local learner has no curator, who would see the records of the schema.
        curated = getattr(self.shell, "trust_model", "central") == "central"
        guarantee = replace(cost, assumes=TABLE)
        return SchemaRelease(
            self.released_kinds(kinds), guarantee, concentrated=part, numbers=self.numbers, curated=curated
        )

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[_SchemaFacts, LabelledRows]:
        given, X = X, read_features(reader, X, domain=_ANY, reset=True)
        kinds = ColumnKinds(())
        if self.learns_domain:
            kinds = kinds_of(X, self.learn.columns, given)
        classes, targets = _read_targets(y, X.shape[0], self)
        # The inner learner reads the table with a schema that accepts every cell: its errors come before the
        # charge, and depend on no value of X.
        schema = self.release(kinds, self.cost).plan(Facts(X.shape[0])).narrowest
        inner, rows = self.inner(schema, classes=classes), LabelledRows(X, targets)
        found, _ = inner.read(X, _given_targets(rows, classes))
        public = _SchemaFacts.of_rows(
            X,
            reader,
            classes=classes,
            kinds=kinds,
            inner=found,
            accepted=self.without_target(schema).assumes if self.learns_domain else (),
        )
        return public, rows

    def plan(self, facts: Any, **more: Any) -> SchemaFitPlan:
        found = replace(getattr(facts, "inner", facts), n_samples=facts.n_samples)
        kinds = getattr(facts, "kinds", None) or _planned_kinds(self.learn, facts)
        inner = partial(self.inner, classes=found.classes)
        fit = SchemaFit(partial(self.release, kinds), inner, self.own.accounting, found, more)
        assumes = partial(self.assumed, facts)
        plan = schema_fit_plan(fit, self.cost, self.learn.share, assumes, params=self, public=facts)
        if self.ranged and plan.schema.tail is None:
            # Of so many records another model may be learned, and another share be spent on the schema.
            enough = self.plan(replace(facts, n_samples=plan.schema.n_needed), **more).schema
            raise ValueError(
                f"target_range='learn' needs {enough.n_needed} records, got {facts.n_samples}: epsilon"
                f" {float(enough.guarantee.epsilon):.3g} is spent on the ranges of"
                f" {len(enough.columns.of_numbers)} columns, y included; declare"
                " target_range=(low, high), or domain=, or increase epsilon"
            )
        return plan

    def assumed(self, facts: Any, schema: LearnedSchemaPlan, inner: Any) -> tuple[str, ...]:
        """Return what the guarantee of both releases assumes."""
        assumed, dropped = [*TABLE], {labels_assumed(())}  # the types of the columns, and of no value
        found = getattr(facts, "inner", facts)
        if found.n_labels or getattr(found, "many", False):
            assumed.append(labels_assumed(self.classes))
        if self.learns_domain:
            # All cells meet the assumptions of the public schema with which the table was read.
            dropped |= {*self.without_target(schema.narrowest).assumes, *getattr(facts, "accepted", ())}
        if self.ranged:
            dropped.add(self.target.assumption)
            assumed.append("targets are numbers")
        return tuple(
            dict.fromkeys(assumed + [each for each in inner.guarantee.assumes if each not in dropped])
        )

    def try_out(self, plan: Any, table: Table) -> Any:
        return replace(plan, inner=self.own.try_out(plan.inner, table))

    def summarized(self, table: Table, plan: Any) -> Table:  # noqa: ARG002
        return table  # in table order; each row is encoded once the schema is known

    def run(self, summary: Table, plan: SchemaFitPlan, dice: Dice) -> _Outcome:
        # The costs of the two releases add up; see `learns_schema`.
        classes = plan.public.classes
        schema = _released_schema(summary, plan, dice)
        inner = self.inner(schema, classes=classes, budget=plan.rest).given(tried=plan.inner)
        ready = begin(inner, *_given(summary, classes))
        if plan.release.concentrated is not None and not ready.plan.is_concentrated:
            raise RuntimeError(OTHER_NOISE)
        released = ready.run(dice)
        return _Outcome(self.without_target(schema), ready.plan, released)

    def publish(self, learner: Any, facts: Any, outcome: _Outcome, plan: SchemaFitPlan) -> None:
        super().publish(learner, facts, outcome.released, part_of(plan.guarantee, outcome.plan))
        if self.learns_domain:
            learner.schema_ = outcome.schema

    def late_warnings(self, learner: Any, plan: SchemaFitPlan) -> tuple[str, ...]:
        found = LearnedSchema(learner.schema_, plan.schema).warnings if self.learns_domain else ()
        low, high = learner.target_range_ if self.ranged else (0.0, 1.0)
        if high - low <= max(_NARROW * max(abs(low), abs(high)), _NEAR_ZERO):
            found += (_NARROW_RANGE.format(low, high),)
        return (*self.own.late_warnings(learner, plan), *found)


def _read_targets(y: Any, n: int, params: Any) -> tuple[Any, NDArray[Any]]:
    """Return labels, or a list of those of each output, and their codes; of a regression None and numbers."""
    target = getattr(params, "target", None)
    if target is None:
        if not getattr(params.shell, "reads_outputs", False):
            return read_labels(y, n, params.classes)
        outputs = read_outputs(y, n, params.classes)
        if outputs.many:
            return outputs.classes, outputs.codes
        return outputs.classes[0], outputs.codes[:, 0]
    numbers = read_numbers(y, n)
    target.encode(numbers)  # raises an error for a target outside the range, before the charge
    return None, numbers


def _given_targets(rows: LabelledRows, classes: Any) -> Any:
    """Return the targets as the inner learner reads them."""
    if isinstance(classes, list):
        return joined_outputs(label_columns(classes, rows.y))
    return rows.y if classes is None else classes[rows.y]


def _given(table: Table, classes: Any) -> tuple[Any, Any]:
    """Return X and y as the inner learner reads them, in memory or in parts."""
    held = table.at_once(partial(_given_rows, classes))
    return (table.map(partial(_given_rows, classes)), None) if held is None else (held.X, held.y)


def _given_rows(classes: Any, rows: LabelledRows) -> Given:
    return Given(rows.X, _given_targets(rows, classes))


def _cells(release: SchemaRelease, params: Any, kinds: ColumnKinds, rows: LabelledRows) -> Any:
    if not params.ranged:
        return release.rows_of(rows.X)
    target = params.numbers.encode(rows.y)
    if not params.learns_domain:
        return Columns([target])
    of_X = SchemaRelease(kinds, release.cost, numbers=params.numbers)
    return Columns([*of_X.rows_of(rows.X).columns, target])


def _planned_kinds(learn: Learn, public: Any) -> ColumnKinds:
    """Return the kinds of the columns in a plan without a table: as declared, else numbers."""
    declared: ColumnKinds | None = learn.columns
    width = max(1, public.n_features)
    if declared is not None and declared.alike:
        return ColumnKinds(declared.kinds * width)
    if declared is not None and public.n_features not in (0, len(declared)):
        raise ValueError(f"n_features must be {len(declared)}, as domain lists, got {public.n_features}")
    return ColumnKinds(("numbers",) * width) if declared is None else declared


def _released_schema(rows: Table, plan: SchemaFitPlan, dice: Dice) -> Product:
    columns = rows.map(partial(_cells, plan.release, plan.params, plan.public.kinds))
    released: LearnedSchema = plan.release.run(columns, plan.schema, dice)
    return released.schema


def _without_target(schema: Any) -> tuple[Any, tuple[float, float]]:
    """Return the domain of X, None if it has no column here, and the range of the target, the last column."""
    columns, last = schema.domains[:-1], schema.domains[-1]
    target = (last.low, last.high) if isinstance(last, Grid) else (-last.largest, last.largest)
    if isinstance(schema, Schema):
        return Schema(dict(zip(schema.names, columns, strict=False))), target
    return Product(columns) if columns else None, target


def _with(learner: Any, given: dict[str, Any]) -> Any:
    """Return an unfitted copy of a learner with other parameters."""
    return clone(learner).set_params(**given)


def _alike(learner: Any, parameter: str, value: Any) -> Any:
    """Return a shallow copy of a learner with another parameter, to ask for its tags."""
    name, _, inner = parameter.partition("__")
    made = object.__new__(type(learner))
    vars(made).update(vars(learner))
    setattr(made, name, _alike(getattr(learner, name), inner, value) if inner else value)
    return made


def _declared(learner: Any, parameter: str) -> tuple[Any, Any]:
    """Return the learner that a parameter belongs to, and its value; None if there is no such one."""
    *outer, name = parameter.split("__")
    for each in outer:
        learner = getattr(learner, each, None)
    return learner, getattr(learner, name, None)
