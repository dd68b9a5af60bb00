"""Computations as an audit runs them: whole fits, and fits whose stages before the draws run once a table.

The stages `_params`, `_read`, `_plan` and `_summarize` make no draw, so a `StagedFit` runs them once a table,
and `_release` and `_publish` once a path. A `WholeFit` runs all of a fit on each path: one case a class shows
that the stages together are the fit.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from dplearn.chance.dice import Dice
from dplearn.privacy.plan import Plan

__all__ = ["Fit", "Rows", "StagedFit", "TableFit", "WholeFit", "refitted", "run_on"]

Rows = tuple[Any, ...]
Fit = Callable[[Rows, Dice], Any]
Run = Callable[[Dice], Any]


class TableFit:
    """A computation of which a part makes no draw, and runs once a table."""

    def __call__(self, rows: Rows, dice: Dice) -> Any:
        return self.on(rows)(dice)

    def on(self, rows: Rows) -> Run:
        """Return the computation on one table; nothing is computed before it is first called."""
        raise NotImplementedError


def run_on(fit: Fit, rows: Rows) -> Run:
    """Return a computation on one table, to be called with dice for each path.

    Parameters
    ----------
    fit : callable or TableFit
        `fit(rows, dice)` returns what is published.
    rows : tuple
        The records.
    """
    return fit.on(rows) if isinstance(fit, TableFit) else partial(fit, rows)


def refitted(model: Any) -> Callable[[], Any]:
    """Return a function that makes an unfitted estimator with the parameters of `model`, which it shares."""
    return lambda: type(model)(**model.get_params(deep=False))


@dataclass(frozen=True)
class WholeFit:
    """The fit of an estimator: all stages run on each path.

    Attributes
    ----------
    make : callable
        Returns an unfitted estimator.
    table : callable
        From records to X and y, as the estimator takes them.
    shown : callable
        From the fitted estimator to a short text that names what was released, and all that is published.
    public : mapping
        What else the fit takes, such as public rows.
    """

    make: Callable[[], Any]
    table: Callable[[Rows], tuple[Any, Any]]
    shown: Callable[[Any], tuple[str, Any]]
    public: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, rows: Rows, dice: Dice) -> tuple[str, Any]:
        X, y = self.table(rows)
        with _notes_on_few(len(X)) as notes:
            learner = self.make()
            learner._fit(X, y, dice, **self.public)
            text, published = self.shown(learner)
        return text, (published, notes)


@dataclass(frozen=True)
class StagedFit(TableFit):
    """The fit of an estimator: `_release` and `_publish` run on each path, the stages before once a table.

    Attributes
    ----------
    whole : WholeFit
        The same fit, of which all stages run on each path.
    """

    whole: WholeFit

    def on(self, rows: Rows) -> Run:
        """Return the fit on one table; its first stages run when it is first called."""
        ready: list[_Ready | None] = []

        def run(dice: Dice) -> tuple[str, Any]:
            if not ready:
                ready.append(self._read(rows))
            # What a fit refuses, the whole fit refuses on each path.
            return self.whole(rows, dice) if ready[0] is None else self._finish(ready[0], dice)

        return run

    def _read(self, rows: Rows) -> "_Ready | None":
        """Run the stages that make no draw, or return None if one of them raises an error."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                learner = self.whole.make()
                X, y = self.whole.table(rows)
                table, plan = learner._begin(X, y, learner._params(False), **self.whole.public)
                for text in plan.warnings:
                    warnings.warn(text, UserWarning, stacklevel=1)
                summary = learner._summarize(table, plan)
            except Exception:
                return None
        return _Ready(len(X), learner, plan, summary, [each.message for each in caught])

    def _finish(self, ready: "_Ready", dice: Dice) -> tuple[str, Any]:
        """Release and publish, with a copy of the estimator as it was read."""
        with _notes_on_few(ready.n_samples) as notes:
            for message in ready.caught:
                warnings.warn(message, stacklevel=1)
            learner = _twin(ready.learner)
            plan = _renewed(ready.plan)
            learner._publish(learner._release(ready.summary, plan, dice), plan)
            text, published = self.whole.shown(learner)
        return text, (published, notes)


class _Ready(NamedTuple):
    """A fit up to its draws."""

    n_samples: int
    learner: Any
    plan: Any
    summary: Any
    caught: list[Any]


def _renewed(plan: Any) -> Any:
    """Return the plan with public streams of its own, which stand where the first stages left them."""
    inner = {each.name: getattr(plan, each.name) for each in fields(plan)} if is_dataclass(plan) else {}
    inner = {name: _renewed(value) for name, value in inner.items() if isinstance(value, Plan)}
    plan = replace(plan, **inner) if inner else plan
    public: Any = getattr(plan, "public", None)
    stream: Any = getattr(public, "stream", None)
    if stream is None:
        return plan
    twin = _twin(stream)
    twin._dice = _twin(stream._dice)  # which refuse to be copied: noise never is, but this stream is public
    return replace(plan, public=replace(public, stream=twin))


def _twin(value: Any) -> Any:
    """Return another object with the same attributes."""
    twin = object.__new__(type(value))
    vars(twin).update(vars(value))
    return twin


@contextmanager
def _notes_on_few(n: int) -> Iterator[list[str]]:
    """Collect warnings that n records are few, which public numbers settle; all others are given again."""
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
            if plain and str(message).startswith(f"n_samples is {n}: "):
                notes.append(str(message))
            else:
                warnings.warn(message, stacklevel=1)
