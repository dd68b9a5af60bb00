"""Fits and releases as computations for audits: all of it on each path (`WholeFit`), or only what makes
draws.

A `StagedFit` or a `ReleaseFit` reads, plans and summarises once a table, and does the rest once a path.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from importlib import import_module
from typing import Any

from sklearn.base import clone

from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateEstimator
from dplearn.fit import Recipe, begin
from dplearn.fit.execute import issued
from dplearn.learners.bins import UNDECLARED
from dplearn.privacy.plan import Plan

Rows = tuple[Any, ...]
Fit = Callable[[Rows, Dice], Any]
Run = Callable[[Dice], Any]


class TableFit:
    """A computation whose first part makes no draw and runs once a table."""

    def __call__(self, rows: Rows, dice: Dice) -> Any:
        return self.on(rows)(dice)

    @abstractmethod
    def on(self, rows: Rows) -> Run:
        """Return the computation on one table; the first part runs at its first call."""


def run_on(fit: Fit, rows: Rows) -> Run:
    """Return the computation on one table, a function of the dice."""
    return fit.on(rows) if isinstance(fit, TableFit) else partial(fit, rows)


def fitted_with(model: Any, X: Any, y: Any = None, *, dice: Dice, groups: Any = None) -> Any:
    """Return an estimator like `model`, fitted with given dice: a whole fit as a computation for audits.

    Parameters
    ----------
    model : PrivateEstimator
        Supplies the parameters; it is not fitted itself, and its ledger is not charged.
    X : array-like of shape (n, n_features)
        As for `fit`. Audits show their records: they must be public or made up.
    y : array-like of shape (n,), default=None
        As for `fit`; None for a transformer.
    dice : Dice
        The source of chance of the fit, such as those that `enumerate_privacy` passes to a computation.
    groups : array-like of shape (n,), default=None
        As for `fit`.

    Returns
    -------
    PrivateEstimator
        Fitted.

    Examples
    --------
    >>> from dplearn import StatisticalQueryNaiveBayes
    >>> from dplearn.audit import enumerate_privacy, fitted_with
    >>> from dplearn.domains import Bits
    >>> model = StatisticalQueryNaiveBayes(epsilon=1, delta=0, domain=Bits(), classes=[0, 1])
    >>> def fit(rows, dice):  # one feature and the label
    ...     return fitted_with(model, [[x] for x, _ in rows], [y for _, y in rows], dice=dice)
    >>> report = enumerate_privacy(fit, universe=[(0, 0), (0, 1), (1, 0), (1, 1)], n=1)
    >>> round(report.epsilon, 6), report.n_distributions
    (1.0, 4)
    """
    if not isinstance(model, PrivateEstimator):
        raise TypeError(f"model must be an estimator of dplearn, got {type(model).__name__}")
    fresh = clone(model).set_params(ledger=None)
    fresh._fit(X, y, dice, **({} if groups is None else {"groups": groups}))
    return fresh


@dataclass(frozen=True, repr=False)
class Ready:
    """A fit or a release after all that makes no draw."""

    plan: Any
    warnings: tuple[Warning | str, ...]  # before the draws, not issued
    summary: Any  # Private. What the draws are made from
    run: Run  # from dice to a fitted estimator, or to the result of the release; as often as is wanted


def ready(of: Any, X: Any, y: Any = None, *, groups: Any = None, **public: Any) -> Ready:
    """Read, plan and summarise a table for an estimator or a recipe, without a draw or a charge."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if isinstance(of, Recipe):
                found = begin(of, X, y, groups=groups)
                run = found.run
            else:
                learner = _twin(of)
                learner.ledger = None
                recipe = learner._recipe(reproducible=False).given(fit_arguments=public)
                found = begin(recipe, X, y, groups=groups)
                run = partial(_fitted, learner, found)
            for text in issued(found.plan.warnings, found.plan.guarantee):
                warnings.warn(text, UserWarning, stacklevel=2)
            summary = found.summary
    except Exception:
        for each in caught:
            warnings.warn(each.message, stacklevel=2)
        raise
    return Ready(found.plan, tuple(each.message for each in caught), summary, run)


def _fitted(unfitted: Any, found: Any, dice: Dice) -> Any:
    """Make the draws of a fit and return the fitted estimator."""
    learner, recipe, plan = _twin(unfitted), found.recipe, _renewed(found.plan)
    recipe.publish(learner, found.table.facts, recipe.run(found.summary, plan, dice), plan)
    for text in recipe.late_warnings(learner, plan):
        warnings.warn(text, UserWarning, stacklevel=2)
    return learner


def refitted(model: Any, **constants: Any) -> Callable[[], Any]:
    """Return a factory of unfitted estimators like `model`, perhaps with other constants of the code."""

    def make() -> Any:
        learner = type(model)(**model.get_params(deep=False))
        vars(learner).update(constants)
        return learner

    return make


@dataclass(frozen=True)
class WholeFit:
    """The fit of an estimator, all of it on each path."""

    make: Callable[[], Any]  # an unfitted estimator
    table: Callable[[Rows], tuple[Any, Any]]  # X and y of records
    # a short text that identifies the outcome, and all published values
    shown: Callable[[Any], tuple[str, Any]]
    # further arguments of the fit, such as public rows
    public: Mapping[str, Any] = field(default_factory=dict)
    groups: Callable[[Rows], Any] | None = None  # of the rows of X, where a record is a group of rows
    parted: bool = False  # the table is in two parts, the first row and all others

    def __call__(self, rows: Rows, dice: Dice) -> tuple[str, Any]:
        X, y = self.table(rows)
        with _notes_on_few(self.n_records(rows, X)) as notes:
            learner, more = self.make(), self.more(rows)
            if self.parted and self.groups is not None:  # a column of the table holds them
                frame: Any = import_module("pandas").DataFrame  # which is an optional package
                X, more["groups"] = frame(X).assign(group=more["groups"]), "group"
            learner._fit(*(two_parts(X, y) if self.parted else (X, y)), dice, **more)
            text, published = self.shown(learner)
        return text, (published, notes)

    def more(self, rows: Rows) -> dict[str, Any]:
        """Return the further arguments of the fit."""
        return {**self.public} if self.groups is None else {**self.public, "groups": self.groups(rows)}

    def n_records(self, rows: Rows, X: Any) -> int:
        """Return the number of records, which are the groups of rows of X if there are groups."""
        return len(X) if self.groups is None else len(set(self.groups(rows)))

    def in_two_parts(self) -> "WholeFit":
        """Return the same fit on a table in two parts."""
        return replace(self, parted=True)


@dataclass(frozen=True)
class IncrementalFit:
    """Calls of `partial_fit` of an estimator, all of it on each path."""

    whole: WholeFit  # the estimator, its tables, and what is shown after each call
    epsilons: tuple[Any, ...]  # of each call
    calls: Callable[[Rows], list[Rows]] | None = None  # the records of each call; None: one each

    def __call__(self, rows: Rows, dice: Dice) -> tuple[str, Any]:
        learner = self.whole.make()
        released = []
        calls = [(row,) for row in rows] if self.calls is None else self.calls(rows)
        for epsilon, part in zip(self.epsilons, calls, strict=True):
            X, y = self.whole.table(part)
            with _notes_on_few(len(X)):
                learner.set_params(epsilon=epsilon)._fit_more(X, y, dice)
                released.append(self.whole.shown(learner)[0])
        return str(released), (released, learner)


class _OtherDice:
    """Dice with some primitives of their own, which are functions of the dice that make all other draws."""

    def __init__(self, dice: Dice, own: Mapping[str, Callable[..., Any]]):
        self._dice, self._own = dice, own

    def __getattr__(self, primitive: str) -> Any:
        if primitive in self._own:
            return partial(self._own[primitive], self._dice)
        return getattr(self._dice, primitive)


def with_draws(fit: Fit, **own: Callable[..., Any]) -> Fit:
    """Return a computation with other draws, functions of the dice and the arguments of a primitive."""

    def run(rows: Rows, dice: Dice) -> Any:
        other: Any = _OtherDice(dice, own)
        return fit(rows, other)

    return run


def two_parts(X: Any, y: Any) -> tuple[Any, Any]:
    """Return a table in two parts, the first record and all others."""
    return [X[:1], X[1:]], None if y is None else [y[:1], y[1:]]


@dataclass(frozen=True)
class StagedFit(TableFit):
    """The fit of an estimator, with what makes no draw run once a table, and the rest once a path."""

    whole: WholeFit

    def in_two_parts(self) -> WholeFit:
        """Return the fit on a table in two parts, all of it on each path."""
        return self.whole.in_two_parts()

    def on(self, rows: Rows) -> Run:

        @cache
        def before() -> tuple[int, Ready] | None:
            # The whole fit shows the error and the warnings before it on each path.
            with suppress(Exception), warnings.catch_warnings(action="ignore"):
                X, y = self.whole.table(rows)
                return self.whole.n_records(rows, X), ready(self.whole.make(), X, y, **self.whole.more(rows))
            return None

        def run(dice: Dice) -> tuple[str, Any]:
            found = before()
            if found is None:
                return self.whole(rows, dice)
            n, fit = found
            with _notes_on_few(n) as notes:
                for message in fit.warnings:
                    warnings.warn(message, stacklevel=1)
                text, published = self.whole.shown(fit.run(dice))
            return text, (published, notes)

        return run


@dataclass(frozen=True)
class ReleaseFit(TableFit):
    """A release, with all that makes no draw done once a table."""

    make: Callable[[], Recipe]  # the release
    values: Callable[[Rows], Any]  # X of records, or a pair of X and y
    # a short text that identifies the outcome, and all published values
    shown: Callable[[Any], tuple[str, Any]]
    groups: Callable[[Rows], Any] | None = None  # of the values, where a record is a group

    def in_two_parts(self) -> "ReleaseFit":
        """Return the same release of a table in two parts, the first record and all others."""
        return replace(self, values=lambda rows: [self.values(part) for part in (rows[:1], rows[1:]) if part])

    def on(self, rows: Rows) -> Run:
        groups = None if self.groups is None else self.groups(rows)
        values = self.values(rows)
        X, y = values if isinstance(values, tuple) else (values, None)
        before = cache(lambda: ready(self.make(), X, y, groups=groups))

        def run(dice: Dice) -> tuple[str, Any]:
            found = before()
            public = tuple(issued(found.plan.warnings, found.plan.guarantee))
            for message in found.warnings:
                if str(message) not in public:
                    warnings.warn(message, stacklevel=1)
            text, published = self.shown(found.run(dice))
            return text, (published, public)

        return run


def _renewed(plan: Any) -> Any:
    """Return the plan with copies of its public streams, in the state after the first stages."""
    own = {each.name: getattr(plan, each.name) for each in fields(plan)} if is_dataclass(plan) else {}
    changed: dict[str, Any] = {key: _renewed(value) for key, value in own.items() if isinstance(value, Plan)}
    if states := own.get("states"):  # not those of an inner plan, whose attributes a plan may pass on
        changed["states"] = {
            key: _renewed(value) if isinstance(value, Plan) else value for key, value in states.items()
        }
    plan = replace(plan, **changed) if changed else plan
    public: Any = getattr(plan, "public", None)
    stream: Any = getattr(public, "stream", None)
    if stream is None:
        return plan
    twin = _twin(stream)
    twin._dice = _twin(stream._dice)  # dice refuse copies, to protect noise; this stream is public
    return replace(plan, public=replace(public, stream=twin))


def _twin(value: Any) -> Any:
    """Return another object with the same attributes."""
    twin = object.__new__(type(value))
    vars(twin).update(vars(value))
    return twin


@contextmanager
def _notes_on_few(n: int) -> Iterator[list[str]]:
    """Collect advice on few records or undeclared numbers, of public values alone; issue all others again."""
    notes: list[str] = []
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield notes
    finally:
        for message in [each.message for each in caught]:
            # With another category, further arguments or attributes a warning could carry more than its text.
            plain = type(message) is UserWarning and message.args == (str(message),) and not vars(message)
            if plain and str(message).startswith((f"n_samples is {n}: ", f"n_samples is {n}, ", UNDECLARED)):
                notes.append(str(message))
            else:
                warnings.warn(message, stacklevel=1)
