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
NUMBERS = IntegerRange(0, 9)
#: A learner, the arguments of `plan`, alpha, and the bound of a plan that alpha is of: else records suffice.
WISHES = [
    (StatisticalQueryNaiveBayes(), COLUMNS, 0.02, "tolerance"),
    (StatisticalQueryLogisticRegression(), COLUMNS, 0.03, "tolerance"),
    (LinearRegressor(target_range=(0, 1)), {"n_features": 6}, 0.03, "tolerance"),
    (AdditiveClassifier(domain=Floats(), classes=[0, 1]), {"n_features": 6}, 0.004, "deviation"),
    (PointClassifier(), {}, 0.05, None),
    (ParityClassifier(), {"n_features": 6}, 0.05, None),
    (ConjunctionClassifier(domain=Bits()), {"n_features": 3}, 0.3, None),
    (ThresholdClassifier(domain=NUMBERS), {"n_features": 1}, 0.1, None),
    (ExponentialMechanismClassifier(domain=NUMBERS), COLUMNS, 0.2, None),
    (SubsampleAggregateClassifier(), {"n_labels": 2}, None, None),
]
N = 5000


@pytest.mark.parametrize(
    ("learner", "public", "alpha", "bound"), WISHES, ids=[type(each[0]).__name__ for each in WISHES]
)
def test_the_least_epsilon_suffices_and_a_notably_smaller_one_does_not(learner, public, alpha, bound):
    epsilon = learner.epsilon_for(N, alpha=alpha, **public)
    assert float(f"{epsilon:.3g}") == epsilon

    def suffices(epsilon):
        chosen, more = clone(learner).set_params(epsilon=epsilon), {}
        if bound is None and alpha is not None:
            if "alpha" in chosen.get_params():
                chosen.set_params(alpha=alpha)
            elif isinstance(learner, ExponentialMechanismClassifier):
                more = {"alpha": alpha}
        plan = chosen.plan(N, **public, **more)
        needed = getattr(plan, "n_needed_agnostic", getattr(plan, "n_needed", None))
        return needed <= N if bound is None else getattr(plan, bound) <= alpha

    assert suffices(epsilon)
    assert not suffices(0.97 * epsilon)


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
