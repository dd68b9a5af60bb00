"""The chosen epsilon has the wanted property, and the next decimal does not."""

import pytest
from sklearn.base import clone

from dplearn import (
    AdditiveClassifier,
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    LinearRegressor,
    ParityClassifier,
    PointClassifier,
    PrivacyLedger,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    ThresholdClassifier,
)
from dplearn.domains import Bits, Floats, IntegerRange

COLUMNS = {"n_features": 6, "n_labels": 2}
#: A learner, the arguments of `plan`, alpha, and what the plan of the chosen epsilon must satisfy.
WISHES = [
    (StatisticalQueryNaiveBayes(), COLUMNS, 0.02, lambda plan, n: plan.tolerance <= 0.02),
    (StatisticalQueryLogisticRegression(), COLUMNS, 0.03, lambda plan, n: plan.tolerance <= 0.03),
    (LinearRegressor(target_range=(0, 1)), {"n_features": 6}, 0.03, lambda plan, n: plan.tolerance <= 0.03),
    (
        AdditiveClassifier(domain=Floats(), classes=[0, 1]),
        {"n_features": 6},
        0.004,
        lambda plan, n: plan.deviation <= 0.004,
    ),
    (AdditiveClassifier(), COLUMNS, 0.01, lambda plan, n: plan.deviation <= 0.01),
    (PointClassifier(), {}, 0.05, lambda plan, n: plan.n_needed <= n and plan.alpha == 0.05),
    (ParityClassifier(), {"n_features": 6}, 0.05, lambda plan, n: plan.n_needed <= n and plan.alpha == 0.05),
    (
        ConjunctionClassifier(domain=Bits()),
        {"n_features": 3},
        0.3,
        lambda plan, n: plan.n_needed <= n and plan.alpha == 0.3,
    ),
    (
        ThresholdClassifier(domain=IntegerRange(0, 9)),
        {"n_features": 1},
        0.1,
        lambda plan, n: plan.n_needed <= n,
    ),
    (
        ExponentialMechanismClassifier(domain=IntegerRange(0, 9)),
        COLUMNS,
        0.2,
        lambda plan, n: plan.n_needed <= n and plan.alpha == 0.2,
    ),
    (SubsampleAggregateClassifier(), {"n_labels": 2}, None, lambda plan, n: plan.n_needed <= n),
]
#: An additive model of 6 columns without bounds; the one before it runs with every change.
SLOW = [WISHES[4]]
N = 5000


@pytest.mark.parametrize(
    ("learner", "public", "alpha", "suffices"),
    [
        pytest.param(*each, id=type(each[0]).__name__, marks=pytest.mark.nightly if each in SLOW else ())
        for each in WISHES
    ],
)
def test_the_least_epsilon_suffices_and_a_notably_smaller_one_does_not(learner, public, alpha, suffices):
    epsilon = learner.epsilon_for(N, alpha=alpha, **public)
    assert float(f"{epsilon:.3g}") == epsilon

    def plan(epsilon):
        chosen = clone(learner).set_params(epsilon=epsilon)
        if alpha is None or "alpha" not in learner.get_params():
            more = {"alpha": alpha} if isinstance(learner, ExponentialMechanismClassifier) else {}
            return chosen.plan(N, **public, **more)
        return chosen.set_params(alpha=alpha).plan(N, **public)

    assert suffices(plan(epsilon), N)
    assert not suffices(plan(0.97 * epsilon), N)


@pytest.mark.parametrize(
    ("learner", "least", "most"),
    [
        (StatisticalQueryNaiveBayes(delta=0), 0.2, 0.21),
        (StatisticalQueryNaiveBayes(delta=1e-6), 1, 1.3),  # Gaussian noise
        (ExponentialMechanismClassifier(method="exponential"), 0.39, 0.41),  # of bounded range
        (ExponentialMechanismClassifier(method="permute_and_flip"), 0.2, 0.201),
    ],
)
def test_the_greatest_epsilon_within_an_advantage_knows_the_noise(learner, least, most):
    public = {"n_features": 20, "n_labels": 2}
    epsilon = learner.epsilon_for(N, advantage=0.1, **public)
    assert least <= epsilon <= most
    assert clone(learner).set_params(epsilon=epsilon).plan(N, **public).risk.advantage <= 0.1
    assert clone(learner).set_params(epsilon=1.02 * epsilon).plan(N, **public).risk.advantage > 0.1


def test_no_parameter_and_no_ledger_is_touched():
    ledger = PrivacyLedger(epsilon=1)
    learner = StatisticalQueryNaiveBayes(epsilon=0.5, delta=0, ledger=ledger)
    learner.epsilon_for(N, advantage=0.1, **COLUMNS)
    assert (learner.epsilon, learner.ledger, ledger.spent().epsilon) == (0.5, ledger, 0)
