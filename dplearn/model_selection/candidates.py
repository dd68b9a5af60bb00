"""Candidates of a private search, private predictors or pipelines of private steps: checks, budgets, fits.

>>> from sklearn.pipeline import make_pipeline
>>> from dplearn.learners.rules.threshold import ThresholdClassifier
>>> from dplearn.preprocessing import PrivateRobustScaler
>>> pipeline = make_pipeline(PrivateRobustScaler(epsilon=1), ThresholdClassifier(epsilon=3))
>>> with_budget(pipeline, ApproxDP(1), None)["thresholdclassifier"].epsilon
Fraction(3, 4)
"""

from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from dplearn._validation import AUTO, check_number
from dplearn.chance.dice import Dice
from dplearn.domains import DomainError
from dplearn.ensembles.base_estimators import check_own_code, quiet
from dplearn.ensembles.isolation import alone, reraised
from dplearn.estimator.base import PrivateEstimator
from dplearn.fit.execute import begin
from dplearn.fit.support import refuse_wrapped
from dplearn.learners.online import OnlineEnsembleClassifier
from dplearn.privacy import ApproxDP, Event, GaussianSums, PrivacyLedger
from dplearn.privacy.gaussian_dp import FAILURE
from dplearn.privacy.held import held_by
from dplearn.privacy.pipelines import check_steps_leak_nothing, may_learn
from dplearn.privacy.shares import gaussian_budget

_IDLE = (None, "passthrough")
#: For each type of estimators that can be searched, the parameter that makes public what they predict.
_PUBLIC = {"classifier": "classes", "regressor": "target_range"}


def check_candidate(
    estimator: Any, stateless: Collection[str], *, types: Sequence[str] = tuple(_PUBLIC)
) -> None:
    """Check that an estimator can be a candidate of a private search: private, without noise in `predict`.

    A pipeline must end in such an estimator, and its other steps be private or stateless.
    """
    check_own_code("estimator", estimator)
    last = last_step(estimator)
    private = isinstance(last, PrivateEstimator) and get_tags(last).estimator_type in types
    if not private or answers_from_a_budget(estimator):
        raise TypeError(
            f"estimator must be, or end in, a private {' or '.join(types)} of dplearn whose predictions"
            f" depend only on values released by fit, got {type(last).__name__}"
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
    """Raise if the search cannot set the budget of a private step, or if the step has its own ledger."""
    parameters = step.get_params(deep=False)
    public = _PUBLIC.get(get_tags(step).estimator_type or "", "epsilon")
    if not {"epsilon", "ledger", public} <= parameters.keys():
        raise TypeError(
            f"estimator must have parameters {' and '.join(dict.fromkeys(['epsilon', public]))}, which the"
            f" search sets or reads, got {type(step).__name__}"
        )
    if step.needs_public_rows:
        raise ValueError(
            f"estimator must be fitted from X and y only, got {type(step).__name__}, which needs X_public"
            " unless protects='labels': search over its parameters on public rows"
        )
    if any(isinstance(each, PrivacyLedger) for each in held_by(step)):
        raise ValueError(
            "estimator must not have a ledger: pass the ledger to the search, which charges it for all fits"
        )
    if not alone and parameters.get("protects", "examples") != "examples":
        raise ValueError(
            f"estimator must protect examples if it has several steps, got protects={step.protects!r}"
        )
    private = (each for each in held_by(step) if isinstance(each, PrivateEstimator))
    refuse_wrapped("a search, or a threshold tuned on held-out records", private)
    check_number("epsilon", step.epsilon, above=0)


def _check_stateless(name: str, step: Any, *, declared: bool) -> None:
    """Raise if a non-private step may learn from data, predicts, or holds a private estimator or ledger."""
    if not declared and may_learn(step):
        raise ValueError(
            f"estimator must have private steps, or steps that learn nothing, got {type(step).__name__}"
            f" as {name!r}; if you know that it learns nothing from data, pass stateless={[name]!r}"
        )
    if hasattr(step, "predict") or any(
        isinstance(each, (PrivateEstimator, PrivacyLedger)) for each in held_by(step)
    ):
        raise ValueError(
            f"estimator must have its private steps side by side, and only its last step may predict, got"
            f" {type(step).__name__} as {name!r}, which predicts or contains a private estimator or a ledger"
        )


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline; for other estimators, the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def named(stateless: Collection[str]) -> set[str]:
    """Return the names of declared stateless steps as a set; a string is one name."""
    return {stateless} if isinstance(stateless, str) else set(stateless)


def private_steps(estimator: Any) -> list[Any]:
    """Return the private steps of a pipeline; other estimators count as a single step."""
    return [step for _, step in _steps(estimator) if isinstance(step, PrivateEstimator)]


def steps_assumed(candidates: Sequence[Any], stateless: Collection[str]) -> list[str]:
    """Return the assumptions about the steps of pipelines.

    Steps are assumed to accept every input, except the first private one, which reads all records before
    anything is spent.
    """
    trusted: dict[str, None] = {}
    for each in candidates:
        first = private_steps(each)[0]
        trusted |= dict.fromkeys(name for name, step in _steps(each) if step is not first and _acts(step))
    return [
        *(f"step {name!r} learns nothing from the data" for name in sorted(named(stateless))),
        *(f"step {name!r} takes whatever it is given" for name in trusted),
    ]


def cost_of(candidates: Sequence[Any], epsilon: Any, delta: Any, *, reproducible: bool) -> ApproxDP:
    """Return the cost of a search: delta is 0 if no step has one, and "auto" the greatest of all steps."""
    steps = [step for candidate in candidates for step in private_steps(candidate)]
    labels_only = any(getattr(step, "protects", "") == "labels" for step in steps)
    deltas = [check_number("delta", step.delta, low=0, below=1) for step in steps if hasattr(step, "delta")]
    cost = ApproxDP(
        check_number("epsilon", epsilon, above=0),
        max(deltas, default=Fraction(0)) if delta == AUTO else delta,
        protects="labels" if labels_only else "examples",
        reproducible=reproducible,
    )
    return cost if deltas else replace(cost, delta=Fraction(0))


def _steps(estimator: Any) -> list[tuple[str, Any]]:
    """Return the names and the steps of a pipeline; other estimators count as a single step."""
    return list(estimator.steps) if isinstance(estimator, Pipeline) else [("", estimator)]


def _acting(estimator: Any) -> list[Any]:
    """Return the steps that are not None or "passthrough"."""
    return [step for _, step in _steps(estimator) if _acts(step)]


def _acts(step: Any) -> bool:
    return isinstance(step, PrivateEstimator) or step not in _IDLE


def with_budget(estimator: Any, budget: ApproxDP, seed: int | None) -> Any:
    """Return a copy of an estimator whose fit costs at most a budget.

    Several private steps share it in proportion to their own epsilons; deltas are shared equally.
    """
    copy = quiet(estimator)  # progress messages would show the number of fits
    private = private_steps(copy)
    epsilons = [check_number("epsilon", step.epsilon, above=0) for step in private]
    n_deltas = sum(hasattr(step, "delta") for step in private)
    for step, epsilon in zip(private, epsilons, strict=True):
        given = {"epsilon": budget.epsilon * epsilon / sum(epsilons), "random_state": seed}
        if hasattr(step, "delta"):
            given["delta"] = budget.delta / n_deltas
        step.set_params(**given)
    return copy


def is_gaussian(event: Event, budget: ApproxDP) -> bool:
    """Return whether a release is Gaussian-DP with the mu^2 that a budget implies, except for its failure."""
    if not budget.delta or event.mu2 is None:
        return False
    most = GaussianSums(gaussian_budget(budget)).mu2
    return not event.failure and event.mu2_failure <= FAILURE and event.mu2 <= most


def fit_candidate(
    candidate: Any,
    rows: Any,
    labels: Any,
    dice: Dice,
    *,
    reproducible: bool,
    budget: ApproxDP,
    gaussian: bool = False,
) -> list[ApproxDP]:
    """Fit a candidate in place, step by step, and return the guarantees of its private steps.

    With `gaussian` the only private step must be Gaussian-DP, as for `is_gaussian`.
    """
    left = _Budget(budget, gaussian=gaussian)

    def fit() -> list[ApproxDP]:
        given = rows
        for step in _acting(candidate):
            if isinstance(step, PrivateEstimator):
                is_last = step is last_step(candidate)
                ready = begin(step._recipe(reproducible), given, labels if is_last else None)
                left.charge(ready.plan.guarantee, ready.plan.event)
                step._take(ready.done(dice))
                given = given if is_last else step.transform(given)
            else:
                given = _transformed(step, given)
        return left.guarantees

    # What a fit prints, or warns of, would show the number of fits.
    guarantees: list[ApproxDP] = alone(fit, reraised)
    return guarantees


def read_by_candidate(
    candidate: Any, rows: Any, labels: Any, *, reproducible: bool, budget: ApproxDP
) -> tuple[list[ApproxDP], list[str], bool]:
    """Validate records for a candidate without a draw, and return its guarantees and warnings.

    In a pipeline only the first private step reads the records; later steps receive released values or the
    output of stateless steps. Of later private steps the parameters are checked. The third value is whether
    the only private step is Gaussian-DP.
    """
    left, notes = _Budget(budget), []
    for step in _acting(candidate):
        if isinstance(step, PrivateEstimator):
            given = labels if step is last_step(candidate) else None
            ready = alone(partial(begin, _checked(clone(step), reproducible), rows, given), reraised)
            left.charge(ready.plan.guarantee, ready.plan.event)
            notes += ready.plan.warnings
            break
        # A step with copy=False would change the rows of other candidates.
        rows = _transformed(clone(step), deepcopy(rows))
    for step in private_steps(candidate)[1:]:
        _checked(step, reproducible)
    return left.guarantees, notes, len(private_steps(candidate)) == 1 and is_gaussian(left.events[0], budget)


def _checked(step: Any, reproducible: bool) -> Any:
    """Return the recipe of a fit; an error about its budget says that it is a share of the caller's."""
    try:
        return step._recipe(reproducible)
    except ValueError as error:
        if not str(error).startswith(("epsilon ", "delta ")):
            raise
        budget = {name: step.get_params()[name] for name in ("epsilon", "delta") if hasattr(step, name)}
        share = " and ".join(f"{name} {float(value):g}" for name, value in budget.items())
        raise ValueError(
            f"{error}; a fit of {type(step).__name__} has {share} here, a share of the whole budget"
        ) from None


def _transformed(step: Any, rows: Any) -> Any:
    """Return the output of a stateless step; hide its errors and warnings, which may quote rows."""
    transformed = alone(lambda: step.fit(rows).transform(rows))
    if transformed is None:
        raise DomainError(
            f"X holds values that {type(step).__name__} does not transform (its own message is hidden because"
            " it might quote records); try it on made-up records"
        )
    return transformed


class _Budget:
    """The remaining budget of the steps of a candidate, and their guarantees so far."""

    def __init__(self, budget: ApproxDP, *, gaussian: bool = False):
        self._left = [budget.epsilon, budget.delta]
        self._gaussian = budget if gaussian else None
        self.guarantees: list[ApproxDP] = []
        self.events: list[Event] = []

    def charge(self, guarantee: Any, event: Event) -> None:
        """Subtract the cost of a step; raise if it exceeds the remaining budget."""
        if self._gaussian is not None and (self.events or not is_gaussian(event, self._gaussian)):
            raise ValueError("estimator must be fitted with Gaussian noise only, as planned")
        self._left[0] -= _exactly(guarantee, "epsilon")
        self._left[1] -= _exactly(guarantee, "delta")
        if min(self._left) < 0 or guarantee.neighbors != "replace_one":
            raise ValueError("estimator must cost at most its parameters epsilon and delta")
        self.guarantees.append(guarantee)
        self.events.append(event)


def _exactly(guarantee: Any, name: str) -> Fraction:
    if not isinstance(guarantee, ApproxDP):
        raise TypeError(f"estimator must have an ApproxDP guarantee, got {type(guarantee).__name__}")
    number: Fraction = getattr(guarantee, name)
    return number


def answers_from_a_budget(estimator: Any) -> bool:
    """Return whether predictions of an estimator may depend on earlier queries, through a spent budget."""
    return any(isinstance(each, OnlineEnsembleClassifier) for each in held_by(estimator))
