"""What a search chooses from: private classifiers, or pipelines of private steps, each to be given a budget.

>>> from sklearn.pipeline import make_pipeline
>>> from dplearn.learners.threshold import ThresholdClassifier
>>> from dplearn.preprocessing import PrivateRobustScaler
>>> pipeline = make_pipeline(PrivateRobustScaler(epsilon=1), ThresholdClassifier(epsilon=3))
>>> with_budget(pipeline, ApproxDP(1), None)["thresholdclassifier"].epsilon
Fraction(3, 4)
"""

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from fractions import Fraction
from inspect import signature
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.domains import DomainError
from dplearn.ensembles.base_estimators import quiet
from dplearn.estimator.base import PrivateClassifier, PrivateEstimator
from dplearn.model_selection.held import answers_from_a_budget
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.held import held_by
from dplearn.privacy.pipelines import check_steps_leak_nothing, may_learn

__all__ = [
    "check_candidate",
    "fit_candidate",
    "last_step",
    "named",
    "no_warnings",
    "private_steps",
    "read_by_candidate",
    "taken_on_trust",
    "with_budget",
]

_IDLE = (None, "passthrough")


def check_candidate(estimator: Any, stateless: Collection[str]) -> None:
    """Refuse what no search can guarantee anything of.

    Parameters
    ----------
    estimator : object
        Should be a private classifier whose fit releases all that it predicts by, or a Pipeline that ends in
        one and whose other steps are private, or learn nothing.
    stateless : collection of str
        Names of further steps that are known to learn nothing.

    Raises
    ------
    TypeError, ValueError
        If it is not, or keeps account of its own.
    """
    last = last_step(estimator)
    if not isinstance(last, PrivateClassifier) or answers_from_a_budget(estimator):
        raise TypeError(
            "estimator must be, or end in, a private classifier of dplearn that releases all it predicts by"
            f" when it is fitted, got {type(last).__name__}"
        )
    steps = dict(_steps(estimator))
    declared = named(stateless)
    if absent := sorted(declared - steps.keys()):
        raise ValueError(f"stateless must name steps of estimator, got {absent[0]!r}")
    if both := sorted(name for name in declared if isinstance(steps[name], PrivateEstimator)):
        raise ValueError(f"stateless must name steps that learn nothing, got {both[0]!r}, which is private")
    check_steps_leak_nothing(estimator, "estimator")
    for name, step in steps.items():
        if isinstance(step, PrivateEstimator):
            _check_private(step, alone=step is estimator)
        elif step not in _IDLE:
            _check_stateless(name, step, declared=name in declared)


def _check_private(step: Any, *, alone: bool) -> None:
    """Refuse a private step whose cost the search cannot set, or that would be charged elsewhere."""
    parameters = step.get_params(deep=False)
    if not {"epsilon", "ledger"} <= parameters.keys() or (
        isinstance(step, PrivateClassifier) and "classes" not in parameters
    ):
        raise TypeError(
            "estimator must have parameters epsilon and classes, for the search to set, got"
            f" {type(step).__name__}"
        )
    if "X_public" in signature(step.fit).parameters and parameters["protects"] == "examples":
        raise ValueError(
            f"estimator must be fitted from X and y alone, got {type(step).__name__}, which needs X_public"
            " unless protects='labels': search over its parameters on public rows"
        )
    if any(isinstance(each, PrivacyLedger) for each in held_by(step)):
        raise ValueError(
            "estimator must have no ledger of its own: give it to the search, which charges for all"
        )
    if not alone and parameters.get("protects", "examples") != "examples":
        raise ValueError(
            f"estimator must protect examples where it has several steps, got protects={step.protects!r}"
        )
    check_number("epsilon", step.epsilon, above=0)


def _check_stateless(name: str, step: Any, *, declared: bool) -> None:
    """Refuse a step that may learn something, or that holds what is private."""
    if not declared and may_learn(step):
        raise ValueError(
            f"estimator must have private steps, or steps that learn nothing, got {type(step).__name__}"
            f" as {name!r}; if you know that it learns nothing from any value, say stateless={[name]!r}"
        )
    if hasattr(step, "predict") or any(
        isinstance(each, (PrivateEstimator, PrivacyLedger)) for each in held_by(step)
    ):
        raise ValueError(
            f"estimator must have its private steps side by side, and none that predicts before the last, got"
            f" {type(step).__name__} as {name!r}, which holds one or is one"
        )


def last_step(estimator: Any) -> Any:
    """Return the step of a pipeline that predicts, or what is no pipeline as it is."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def named(stateless: Collection[str]) -> set[str]:
    """Return the names of steps that were declared to learn nothing; one alone is a name too."""
    return {stateless} if isinstance(stateless, str) else set(stateless)


def private_steps(estimator: Any) -> list[Any]:
    """Return the private steps of a pipeline; what is none is all there is."""
    return [step for _, step in _steps(estimator) if isinstance(step, PrivateEstimator)]


def taken_on_trust(estimator: Any) -> list[str]:
    """Return the names of the steps of which nobody knows beforehand whether they refuse what they are given.

    That is all but the first private one, which reads all records before anything is spent.
    """
    first = private_steps(estimator)[0]
    return [name for name, step in _steps(estimator) if step is not first and _acts(step)]


def _steps(estimator: Any) -> list[tuple[str, Any]]:
    """Return the names and the steps of a pipeline; what is none is a step by itself."""
    return list(estimator.steps) if isinstance(estimator, Pipeline) else [("", estimator)]


def _acting(estimator: Any) -> list[Any]:
    """Return the steps that do something."""
    return [step for _, step in _steps(estimator) if _acts(step)]


def _acts(step: Any) -> bool:
    return isinstance(step, PrivateEstimator) or step not in _IDLE


def with_budget(estimator: Any, budget: ApproxDP, seed: int | None) -> Any:
    """Return a copy that spends no more than a budget when it is fitted.

    Parameters
    ----------
    estimator : object
        As `check_candidate` lets pass. Where several steps are private, they share the budget as the
        epsilons that they have are to each other.
    budget : ApproxDP
        For one fit.
    seed : int or None
        What public choices of the copy are made from, if they are to be repeated.
    """
    copy = quiet(estimator)  # what it told of its progress would tell how often it is fitted
    private = private_steps(copy)
    epsilons = [check_number("epsilon", step.epsilon, above=0) for step in private]
    n_deltas = sum(hasattr(step, "delta") for step in private)
    for step, epsilon in zip(private, epsilons, strict=True):
        given = {"epsilon": budget.epsilon * epsilon / sum(epsilons), "random_state": seed}
        if hasattr(step, "delta"):
            given["delta"] = budget.delta / n_deltas
        step.set_params(**given)
    return copy


def fit_candidate(
    candidate: Any, rows: Any, labels: Any, dice: Dice, *, reproducible: bool, budget: ApproxDP
) -> list[ApproxDP]:
    """Fit a copy, step by step, with these dice; return what its private steps guarantee.

    Parameters
    ----------
    candidate : object
        As `with_budget` returns it.
    rows, labels : table of shape (m, d), and ndarray of shape (m,)
        Private.
    dice : Dice
        Source of chance.
    reproducible : bool
        Whether they can be thrown again.
    budget : ApproxDP
        What all steps may spend together: more is refused.
    """
    left = _Budget(budget)
    for step in _acting(candidate):
        if isinstance(step, PrivateEstimator):
            given = labels if step is last_step(candidate) else None
            table, plan = step._begin(rows, given, step._params(reproducible))
            left.charge(plan.guarantee)
            step._finish(table, plan, dice)
            rows = rows if step is last_step(candidate) else step.transform(rows)
        else:
            rows = _transformed(step, rows)
    return left.guarantees


def read_by_candidate(
    candidate: Any, rows: Any, labels: Any, *, reproducible: bool, budget: ApproxDP
) -> tuple[list[ApproxDP], list[str]]:
    """Let a copy read records, without a draw; return what it would guarantee of them, and what it warns of.

    Of a pipeline, this is done by the first step that is private; what the others are given is released, or
    made by steps that learn nothing. Of those that follow it the parameters are checked.

    Parameters
    ----------
    candidate, rows, labels, reproducible, budget
        As for `fit_candidate`.
    """
    left, notes = _Budget(budget), []
    for step in _acting(candidate):
        if isinstance(step, PrivateEstimator):
            given = labels if step is last_step(candidate) else None
            reader = clone(step)
            with no_warnings():
                _, plan = reader._begin(rows, given, reader._params(reproducible))
            left.charge(plan.guarantee)
            notes += plan.warnings
            break
        rows = _transformed(
            clone(step), deepcopy(rows)
        )  # with copy=False a step changes what others read too
    for step in private_steps(candidate)[1:]:
        step._params(reproducible)
    return left.guarantees, notes


def _transformed(step: Any, rows: Any) -> Any:
    """Return what a step that learns nothing makes of rows; what it says of them may quote them."""
    with no_warnings(), suppress(Exception):  # raised within, what is raised below would carry it along
        return step.fit(rows).transform(rows)
    raise DomainError(
        f"X holds what {type(step).__name__} does not transform (its own message might quote"
        " records); try it on records that you made up"
    )


class _Budget:
    """The budget of all steps of a candidate, and what was guaranteed so far."""

    def __init__(self, budget: ApproxDP):
        self._left = [budget.epsilon, budget.delta]
        self.guarantees: list[ApproxDP] = []

    def charge(self, guarantee: Any) -> None:
        """Refuse a fit that spends more than is left."""
        self._left[0] -= _exactly(guarantee, "epsilon")
        self._left[1] -= _exactly(guarantee, "delta")
        if min(self._left) < 0 or guarantee.neighbors != "replace_one":
            raise ValueError("estimator must spend no more than its parameters epsilon and delta say")
        self.guarantees.append(guarantee)


def _exactly(guarantee: Any, name: str) -> Fraction:
    if not isinstance(guarantee, ApproxDP):
        raise TypeError(f"estimator must guarantee an ApproxDP, got {type(guarantee).__name__}")
    number: Fraction = getattr(guarantee, name)
    return number


@contextmanager
def no_warnings() -> Iterator[None]:
    """Keep silent: what was said when records were read would be said again as often as there are runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
