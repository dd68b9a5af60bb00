"""Candidates of a private search, private predictors or pipelines of private steps: checks, budgets, fits.

>>> from sklearn.pipeline import make_pipeline
>>> from dplearn.learners.threshold import ThresholdClassifier
>>> from dplearn.preprocessing import PrivateRobustScaler
>>> pipeline = make_pipeline(PrivateRobustScaler(epsilon=1), ThresholdClassifier(epsilon=3))
>>> with_budget(pipeline, ApproxDP(1), None)["thresholdclassifier"].epsilon
Fraction(3, 4)
"""

from collections.abc import Collection, Sequence
from copy import deepcopy
from fractions import Fraction
from functools import partial
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.domains import DomainError
from dplearn.ensembles.base_estimators import check_own_code, quiet
from dplearn.ensembles.isolation import alone, reraised
from dplearn.estimator.base import PrivateEstimator
from dplearn.fit.execute import begin
from dplearn.fit.support import refuse_wrapped
from dplearn.model_selection.held import answers_from_a_budget
from dplearn.privacy import ApproxDP, Event, GaussianSums, PrivacyLedger
from dplearn.privacy.gaussian_dp import FAILURE
from dplearn.privacy.held import held_by
from dplearn.privacy.pipelines import check_steps_leak_nothing, may_learn
from dplearn.privacy.shares import gaussian_budget

__all__ = [
    "check_candidate",
    "fit_candidate",
    "is_gaussian",
    "last_step",
    "named",
    "private_steps",
    "read_by_candidate",
    "taken_on_trust",
    "with_budget",
]

_IDLE = (None, "passthrough")
#: For each type of estimators that can be searched, the parameter that makes public what they predict.
_PUBLIC = {"classifier": "classes", "regressor": "target_range"}


def check_candidate(
    estimator: Any, stateless: Collection[str], *, types: Sequence[str] = tuple(_PUBLIC)
) -> None:
    """Check that an estimator can be a candidate of a private search.

    Parameters
    ----------
    estimator : object
        Must be a private classifier or regressor whose predictions depend only on values released by its
        fit, or a Pipeline that ends in one and whose other steps are private or stateless.
    stateless : collection of str
        Names of further steps that learn nothing from data, by the caller's declaration.
    types : sequence of str, default=("classifier", "regressor")
        The types of estimators, by scikit-learn's tags, that are accepted.

    Raises
    ------
    TypeError, ValueError
        If the estimator is of another kind, has its own ledger, or a method has been replaced (see
        `check_own_code`).
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


def taken_on_trust(estimator: Any) -> list[str]:
    """Return the names of the steps for which the guarantee assumes that they accept every input.

    These are all steps except the first private one, which reads all records before anything is spent.
    """
    first = private_steps(estimator)[0]
    return [name for name, step in _steps(estimator) if step is not first and _acts(step)]


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

    Parameters
    ----------
    estimator : object
        Accepted by `check_candidate`. Several private steps share the budget in proportion to their own
        epsilons; deltas are shared equally.
    budget : ApproxDP
        Budget of one fit.
    seed : int or None
        Seed of the public choices of the copy, for reproducible searches.

    Returns
    -------
    object
        Unfitted.
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
    """Return whether a release is Gaussian-DP with the mu^2 that a budget implies, except for its failure.

    Parameters
    ----------
    event : Event
        The event of a release whose guarantee is at most `budget`.
    budget : ApproxDP
        Epsilon positive. With delta 0 nothing is Gaussian-DP.
    """
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

    Parameters
    ----------
    candidate : object
        From `with_budget`.
    rows, labels : table of shape (m, d), and ndarray of shape (m,)
        Private.
    dice : Dice
        Source of chance.
    reproducible : bool
        Whether the dice are seeded.
    budget : ApproxDP
        Budget of all steps together.
    gaussian : bool, default=False
        Whether the only private step must be Gaussian-DP, as for `is_gaussian`.

    Returns
    -------
    list of ApproxDP

    Raises
    ------
    ValueError
        If the steps cost more than the budget.
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
    output of stateless steps. Of later private steps the parameters are checked.

    Parameters
    ----------
    candidate, rows, labels, reproducible, budget
        As for `fit_candidate`.

    Returns
    -------
    guarantees : list of ApproxDP
    warnings : list of str
    gaussian : bool
        Whether the only private step is Gaussian-DP, as for `is_gaussian`.
    """
    left, notes = _Budget(budget), []
    for step in _acting(candidate):
        if isinstance(step, PrivateEstimator):
            given = labels if step is last_step(candidate) else None
            ready = alone(partial(begin, _checked(clone(step), reproducible), rows, given), reraised)
            left.charge(ready.plan.guarantee, ready.plan.event)
            notes += ready.plan.warnings
            break
        rows = _transformed(
            clone(step), deepcopy(rows)
        )  # a step with copy=False would change the rows of other candidates
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
