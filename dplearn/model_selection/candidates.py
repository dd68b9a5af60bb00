"""What a search chooses from: private classifiers, or pipelines of private steps, each to be given a budget.

>>> from sklearn.pipeline import make_pipeline
>>> from dplearn.learners.threshold import ThresholdClassifier
>>> from dplearn.preprocessing import PrivateRobustScaler
>>> pipeline = make_pipeline(PrivateRobustScaler(epsilon=1), ThresholdClassifier(epsilon=3))
>>> with_budget(pipeline, ApproxDP(1), None)["thresholdclassifier"].epsilon
Fraction(3, 4)
"""

from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from dplearn._validation import check_number
from dplearn.aggregation.pupils import quiet
from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateClassifier, PrivateEstimator
from dplearn.estimator.within import OpenAccount, fit_within, read_all
from dplearn.privacy import ApproxDP
from dplearn.privacy.pipelines import check_nothing_told, may_learn

__all__ = ["check_candidate", "fit_candidate", "last_step", "read_by_candidate", "with_budget"]


def check_candidate(estimator: Any, stateless: Collection[str]) -> None:
    """Refuse what no search can promise anything of.

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
    if not isinstance(last, PrivateClassifier) or get_tags(last).non_deterministic:
        raise TypeError(
            "estimator must be, or end in, a private classifier of dplearn that releases all it predicts by"
            f" when it is fitted, got {type(last).__name__}"
        )
    check_nothing_told(estimator, "estimator")
    for name, step in _steps(estimator):
        if isinstance(step, PrivateEstimator):
            _check_private(step)
        elif not (name in stateless or step is None or step == "passthrough" or not may_learn(step)):
            raise ValueError(
                f"estimator must have private steps, or steps that learn nothing, got {type(step).__name__}"
                f" as {name!r}; if you know that it learns nothing from any value, say stateless={[name]!r}"
            )


def _check_private(step: Any) -> None:
    parameters = step.get_params(deep=False)
    if "epsilon" not in parameters:
        raise TypeError(
            f"estimator must have a parameter epsilon, for the search to set, got {type(step).__name__}"
        )
    if step.ledger is not None:
        raise ValueError(
            "estimator must have no ledger of its own: give it to the search, which charges for all"
        )
    check_number("epsilon", step.epsilon, above=0)


def last_step(estimator: Any) -> Any:
    """Return the step of a pipeline that predicts, or what is no pipeline as it is."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _steps(estimator: Any) -> list[tuple[str, Any]]:
    """Return the names and the steps of a pipeline; what is none is a step by itself."""
    return list(estimator.steps) if isinstance(estimator, Pipeline) else [("", estimator)]


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
    private = [step for _, step in _steps(copy) if isinstance(step, PrivateEstimator)]
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
) -> None:
    """Fit a copy, step by step, with these dice.

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
    spend = _within(budget)
    for _, step in _steps(candidate):
        if isinstance(step, PrivateEstimator):
            given = labels if step is last_step(candidate) else None
            fit_within(step, rows, given, dice, reproducible=reproducible, open_account=spend)
        elif step is not None and step != "passthrough":
            step.fit(rows)
        if step is not last_step(candidate) and step is not None and step != "passthrough":
            rows = step.transform(rows)


def read_by_candidate(
    candidate: Any, rows: Any, labels: Any, dice: Dice, *, reproducible: bool, budget: ApproxDP
) -> list[ApproxDP]:
    """Let a copy read records, without a draw, and return what it would promise of them.

    Of a pipeline, this is done by the first step that is private; what the others are given is released, or
    made by steps that learn nothing.

    Parameters
    ----------
    candidate, rows, labels, dice, reproducible, budget
        As for `fit_candidate`.
    """
    promises: list[ApproxDP] = []
    spend = _within(budget, promises)
    for _, step in _steps(candidate):
        if isinstance(step, PrivateEstimator):
            given = labels if step is last_step(candidate) else None
            read_all(step, rows, given, dice, reproducible=reproducible, open_account=spend)
            break
        if step is not None and step != "passthrough":
            rows = clone(step).fit(rows).transform(rows)
    return promises


def _within(budget: ApproxDP, promises: list[ApproxDP] | None = None) -> OpenAccount:
    """Return what stands in place of a ledger: it has a budget, and keeps what was promised."""
    left = [budget.epsilon, budget.delta]

    def open_account(_: Any) -> Callable[[Any], None]:
        return charge

    def charge(guarantee: Any) -> None:
        left[0] -= _exactly(guarantee, "epsilon")
        left[1] -= _exactly(guarantee, "delta")
        if min(left) < 0 or guarantee.neighbors != "replace_one":
            raise ValueError("estimator must spend no more than its parameters epsilon and delta say")
        if promises is not None:
            promises.append(guarantee)

    return open_account


def _exactly(guarantee: Any, name: str) -> Fraction:
    if not isinstance(guarantee, ApproxDP):
        raise TypeError(f"estimator must promise an ApproxDP, got {type(guarantee).__name__}")
    number: Fraction = getattr(guarantee, name)
    return number
