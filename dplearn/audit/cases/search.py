"""Audit cases of private search: whole searches over a minimal learner, and random stopping alone."""

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, PredefinedSplit

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import ReleaseFit, Rows, WholeFit
from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateClassifier, PrivateRegressor
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.mechanisms import randomized_response
from dplearn.mechanisms.selection import best_of_runs
from dplearn.model_selection.metrics import PrivateScorer, measure_of
from dplearn.model_selection.score import _Score
from dplearn.model_selection.search import PrivateSearchCV
from dplearn.model_selection.tables import Statistic, TableNoise
from dplearn.model_selection.tuned_threshold import PrivateTunedThresholdClassifier
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan
from dplearn.privacy.random_stopping import RandomStopping
from dplearn.privacy.shares import GAUSSIAN, gaussian_budget
from dplearn.table.targets import TargetRange, read_target

_SEARCH = ("PrivateSearchCV",)
_DELTA = Fraction(1, 20)
#: Probabilities of a run's three outcomes: each differs by a factor of at most 8 / 5.
_OF_5000 = {0: (3092, 8, 1900), 1: (1955, 5, 3040)}
#: Probabilities of three outcomes of a Gaussian-DP run with mu = 1/2, in 100,000ths: a normal number, of mean
#: 0 or 1/2, between -2.6 and .7, below -2.6, and above .7.
OF_100000 = {0: (75337, 466, 24197), 1: (57829, 97, 42074)}


def best_of_runs_case(
    name: str,
    stopping: RandomStopping,
    claim: ApproxDP,
    *,
    weights: Mapping[int, tuple[int, ...]] = _OF_5000,  # of the ranks, on both tables
    **options: Any,
) -> AuditCase:
    """Return a case in which each run releases a rank; keeping the best shows its cost at the middle one."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        def run(dice: Dice) -> tuple[int, None]:
            return dice.power_weighted(Fraction(1, 2), (0, 0, 0), weights[rows[0]]), None

        found = best_of_runs(run, stopping=stopping, dice=dice)
        return str(found), found

    return AuditCase(name, fit, (0, 1), 1, claim, **{"rules": None, "part_of": _SEARCH} | options)


@dataclass(frozen=True)
class AnswerPlan(Plan):
    """The plan of a fit that asks one record for its answer."""

    guarantee: ApproxDP
    noise: str = "exact"

    _accounting = GAUSSIAN


@dataclass(eq=False, repr=False)
class OneAnswer(PrivateClassifier):
    """Predict one constant label: the randomised response of one of the training records."""

    _: KW_ONLY
    place: int = 0
    epsilon: Any = 1.0
    delta: Any = 0.0
    classes: Any = None
    ledger: Any = None
    random_state: Any = None

    def _recipe(self, reproducible: bool) -> "OneAnswerFit":
        cost = ApproxDP(self.epsilon, self.delta, reproducible=reproducible)
        return OneAnswerFit(self, cost, classes=np.array(self.classes), place=self.place)

    def _publish(self, outcome: tuple[int, Any], plan: AnswerPlan) -> None:
        self.guarantee_, (self.concept_, self.classes_) = plan.guarantee, outcome

    def predict(self, X: Any) -> Any:
        return self.classes_[[self.concept_] * len(X)]


class OneAnswerFit(FitRecipe):
    """The fit of `OneAnswer`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:  # noqa: ARG002
        return FitFacts(len(X), 1, classes=self.classes), np.asarray(y)

    def plan(self, facts: FitFacts) -> AnswerPlan:  # noqa: ARG002 - any table has this plan
        return AnswerPlan(self.cost)

    def run(self, summary: Any, plan: AnswerPlan, dice: Dice) -> tuple[int, Any]:
        label = int(summary[self.place])
        if not (plan.guarantee.delta and dice.bernoulli(plan.guarantee.delta)):
            label = int(randomized_response(np.array([label]), 2, privacy=plan.guarantee, dice=dice)[0])
        return label, self.classes


class OneChance(OneAnswer):
    """Predict one constant probability, by the randomised response of one of the training records."""

    def predict_proba(self, X: Any) -> Any:
        likely = 0.25 + 0.5 * self.concept_
        return np.tile([1 - likely, likely], (len(X), 1))


class GaussianAnswer(OneAnswer):
    """Predict one constant label: whether the label of a record, with Gaussian noise, is positive."""

    def _recipe(self, reproducible: bool) -> "GaussianAnswerFit":
        return GaussianAnswerFit.like(super()._recipe(reproducible))


class GaussianAnswerFit(OneAnswerFit):
    """The fit of `GaussianAnswer`."""

    def plan(self, facts: FitFacts) -> AnswerPlan:  # noqa: ARG002
        return AnswerPlan(self.cost, "gaussian")

    def run(self, summary: Any, plan: AnswerPlan, dice: Dice) -> tuple[int, Any]:
        # The sign of a normal number of mean mu / 2 or - mu / 2, rounded towards 1/2.
        mu = math.sqrt(2 * gaussian_budget(plan.guarantee))
        wrong = Fraction(math.ceil(math.erfc(mu / math.sqrt(8)) * 500), 1000)
        return int(summary[self.place]) ^ int(dice.bernoulli(wrong)), self.classes


@dataclass(eq=False, repr=False)
class OneNumber(PrivateRegressor):
    """Predict one constant target, an end of the range: the nearer one to the target of a training record."""

    _: KW_ONLY
    place: int = 0
    epsilon: Any = 1.0
    target_range: Any = None
    ledger: Any = None
    random_state: Any = None

    def _recipe(self, reproducible: bool) -> "OneNumberFit":
        cost = ApproxDP(self.epsilon, reproducible=reproducible)
        target = TargetRange.of(self.target_range, clip=True)
        return OneNumberFit(self, cost, classes=(target.low, target.high), target=target, place=self.place)

    def _publish(self, outcome: tuple[int, Any], plan: AnswerPlan) -> None:
        end, ends = outcome
        self.guarantee_, self.concept_ = plan.guarantee, ends[end]

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.concept_)


class OneNumberFit(OneAnswerFit):
    """The fit of `OneNumber`, whose answers are the ends of the range."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:  # noqa: ARG002
        return FitFacts(len(X), 1), (read_target(y, len(X), self.target) > 0).astype(np.int64)


def search_case(
    name: str,
    claim: ApproxDP,
    *,
    required: Required,
    n: int = 2,
    refit: bool = False,
    learner: type[OneAnswer] = OneAnswer,
    grid: Any = None,
    **parameters: Any,
) -> AuditCase:
    """Return a case of a whole search, for which of the first two training records is asked."""

    def make() -> PrivateSearchCV:
        return PrivateSearchCV(
            learner(classes=[0, 1]),
            {"place": [0, -1]} if grid is None else grid,
            refit=refit,
            random_state=0,
            **{"cv": PredefinedSplit([-1] * (n - 1) + [0]), "epsilon": claim.epsilon, "delta": claim.delta}
            | parameters,
        )

    # Not staged: the candidates, which `_publish` refers to, are set up when the table is read and fitted
    # when outcomes are released, so each path needs candidates of its own.
    fit = WholeFit(make, _split, _found)
    return AuditCase(name, fit, (0, 1), n, claim, rules=None, verifies=_SEARCH, required=required)


def _split(rows: Rows) -> tuple[Any, Any]:
    return np.zeros((len(rows), 1)), np.array(rows)


def _found(search: PrivateSearchCV) -> tuple[str, Any]:
    best = getattr(search, "best_estimator_", None)
    return f"{search.best_index_} {search.best_score_:.3f} {getattr(best, 'concept_', None)}", search


def _tuning() -> PrivateTunedThresholdClassifier:
    return PrivateTunedThresholdClassifier(
        OneChance(classes=[0, 1]), thresholds=[0.5], cv=PredefinedSplit([-1, 0]), epsilon=2, random_state=0
    )


def _tuned(fitted: PrivateTunedThresholdClassifier) -> tuple[str, Any]:
    return f"{fitted.estimator_.concept_} {fitted.counts_.tolist()} {fitted.best_score_:.3f}", fitted


class Echo:
    """Predict, for each row, what its only column says: a label, a number, or the probability of 1."""

    classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Any:
        return np.asarray(X)[:, 0]

    def predict_proba(self, X: Any) -> Any:
        likely = np.asarray(X, dtype=float)[:, 0]
        return np.column_stack([1 - likely, likely])


def score_recipe(estimator: Any, statistic: Statistic, claim: ApproxDP, *, gaussian: bool = False) -> _Score:
    """Return the recipe of a private score, whose public chance has the seed 0."""
    noise = TableNoise(claim, statistic.l1, statistic.squared_l2, gaussian)
    return _Score(estimator, statistic, noise, claim, random_state=0)


_ACCURACY = measure_of(PrivateScorer("accuracy"), ())
_SCORED = ReleaseFit(
    lambda: score_recipe(Echo(), _ACCURACY.statistic, ApproxDP(1)),
    _split,
    lambda found: (f"{_ACCURACY.value(found):.3f}", found.counts.tolist()),
)

CASES = (
    best_of_runs_case("best_of_runs", RandomStopping(7), ApproxDP("1.5"), required=Required(2, 0.85)),
    best_of_runs_case(
        "best_of_logarithmically_many_runs", RandomStopping(7, 0), ApproxDP(1), required=Required(2, 0.9)
    ),
    best_of_runs_case(
        "best_of_concentrated_runs", RandomStopping(7, 2), ApproxDP(2), required=Required(2, 0.79)
    ),
    best_of_runs_case(
        "best_of_gaussian_runs",
        RandomStopping(7),
        ApproxDP("2.297", "0.001"),
        weights=OF_100000,
        required=Required(2, 0.91),
    ),
    best_of_runs_case("best_of_two_runs", RandomStopping(2), ApproxDP(1), required=Required(2, 0.69)),
    search_case(
        "search_by_permute_and_flip", ApproxDP(2), method="permute_and_flip", required=Required(4, 0.79)
    ),
    search_case(
        "search_and_refit", ApproxDP(2), method="permute_and_flip", refit=True, required=Required(4, 0.56)
    ),
    search_case(
        "search_by_random_stopping",
        ApproxDP(2),
        method="random_stopping",
        n_iter=2,
        required=Required(4, 0.57),
    ),
    search_case(
        "search_with_delta",
        ApproxDP(2, _DELTA),
        method="random_stopping",
        n_iter=2,
        required=Required(4, 0.54),
    ),
    search_case(
        "search_over_gaussian_fits",
        ApproxDP(2, _DELTA),
        method="random_stopping",
        n_iter=2,
        learner=GaussianAnswer,
        required=Required(4, 0.5),
    ),
    search_case(
        "gaussian_search_by_permute_and_flip",
        ApproxDP(2, _DELTA),
        method="permute_and_flip",
        learner=GaussianAnswer,
        required=Required(4, 0.5),
    ),
    search_case(
        "search_over_folds", ApproxDP(2), method="permute_and_flip", cv=KFold(2), required=Required(2, 0.07)
    ),
    AuditCase(
        "tuned_threshold",
        WholeFit(_tuning, _split, _tuned),
        (0, 1),
        2,
        ApproxDP(2),
        rules=None,
        verifies=("PrivateTunedThresholdClassifier",),
        required=Required(4, 0.999),
    ),
    AuditCase(
        "private_score",
        _SCORED,
        (0, 1),
        4,
        ApproxDP(1),
        ordered=False,
        part_of=("PrivateScore",),
        required=Required(5, 0.999999),
    ),
)
