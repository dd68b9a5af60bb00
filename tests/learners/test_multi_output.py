"""Fits of several outputs: their shares, and what each output learns."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn import (
    ExponentialMechanismClassifier,
    ParityClassifier,
    PointClassifier,
    PrivacyLedger,
    PrivateMultiOutputClassifier,
    PublicData,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    ThresholdClassifier,
)
from dplearn.domains import IntegerRange
from dplearn.privacy import ApproxDP, BoundedRange, Composition, PureDP
from dplearn.releases import quantiles

pytestmark = pytest.mark.filterwarnings("ignore:n_samples is")
X = np.arange(2000)[:, None] % 100
Y = np.array(["no", "yes"])[(np.array([20, 50, 80]) < X).astype(int)]
LABELS = ["no", "yes"]


def thresholds(**parameters):
    return ExponentialMechanismClassifier("thresholds", domain=IntegerRange(0, 99), **parameters)


def several(estimator=None, **parameters):
    return PrivateMultiOutputClassifier(thresholds() if estimator is None else estimator, **parameters)


def numbers(guarantee):
    return guarantee.epsilon, guarantee.delta


SHARES = {5: (0.2, 0.2), 20: (0.0570, 0.0987), 100: (0.0240, 0.0441)}


@pytest.mark.parametrize("k", SHARES)
def test_shares_are_the_greatest_that_the_theorems_allow(k):
    pure, of_range = SHARES[k]
    for method, share in (("permute_and_flip", pure), ("exponential", of_range)):
        plan = several(thresholds(method=method)).plan(2000, n_features=1, n_labels=2, n_outputs=k)
        assert round(float(plan.share.epsilon), 4) == share
        assert plan.share.delta == 0
        assert plan.guarantee.epsilon == 1
        assert plan.guarantee.delta == (0 if k == 5 else Fraction("1e-6"))
        kind = BoundedRange if method == "exponential" else PureDP
        event = kind(plan.share.epsilon)
        assert plan.fits[0].plan.event == event
        assert Composition({event: k}).total(plan.guarantee.delta).epsilon <= 1
        assert Composition({kind(plan.share.epsilon * Fraction(1001, 1000)): k}).total("1e-6").epsilon > 1


def test_the_share_is_that_of_the_event_that_a_learner_promises():
    pure, of_range = SHARES[20]
    cases = {
        ThresholdClassifier(method="exponential", domain=IntegerRange(0, 9)): of_range,
        ThresholdClassifier(method="interior_point", domain=IntegerRange(0, 9)): pure,
        ParityClassifier(method="agnostic"): of_range,
        ParityClassifier(method="elimination"): pure,
        ExponentialMechanismClassifier(domain="learn", classes=LABELS): pure,
        StatisticalQueryLogisticRegression(classes=LABELS): 0.2011,
    }
    for learner, share in cases.items():
        plan = several(learner).plan(2000, n_features=3, n_outputs=20)
        assert round(float(plan.share.epsilon), 4) == share, learner


def test_learners_that_spend_delta_have_half_of_it_and_composition_has_the_rest():
    learner = PointClassifier(method="stability", delta=1e-3)
    plan = several(learner).plan(10_000, n_outputs=20)
    assert plan.share.delta == Fraction("1e-6") / 40
    assert round(float(plan.share.epsilon), 4) == 0.0561
    few = several(learner).plan(10_000, n_outputs=2)
    assert numbers(few.share) == numbers(ApproxDP("0.5", "5e-7"))
    one = several(learner).plan(10_000)
    assert numbers(one.share) == numbers(one.guarantee) == (1, Fraction("1e-6"))


def test_each_output_is_learned_within_one_charge():
    ledger = PrivacyLedger(20, 0)
    model = several(classes=LABELS, epsilon=20.0, ledger=ledger).fit(X, Y)
    assert numbers(ledger.spent()) == (20, 0)  # three outputs spend no delta
    plan = several(epsilon=20.0).plan(2000, n_features=1, n_labels=2, n_outputs=3)
    assert {each.guarantee_.epsilon for each in model.estimators_} == {plan.share.epsilon}
    assert model.score(X, Y) > 0.9
    assert model.score(X, np.where(Y == "no", "yes", "no")) == 0
    assert model.score(X, Y, sample_weight=(model.predict(X) == Y).all(axis=1).astype(float)) == 1


def test_releases_of_outputs_are_independent_and_many_fit_into_a_budget():
    same = np.column_stack([Y[:, 1]] * 40)
    model = several(classes=LABELS, random_state=0).fit(X, same)
    assert len({repr(each.concept_) for each in model.estimators_}) > 1
    assert model.estimators_[0].guarantee_.epsilon > Fraction(1, 40) * 2
    assert model.guarantee_.epsilon == 1


def test_released_quantiles_take_the_place_of_all_cuts():
    rng = np.random.default_rng(0)
    X = rng.lognormal(sigma=2, size=(4000, 1))
    Y = np.quantile(X, [0.2, 0.4, 0.6, 0.8]) < X
    rows = quantiles(X[:, 0], np.arange(1, 32) / 32, epsilon=0.25).values
    learner = PrivateMultiOutputClassifier(
        ExponentialMechanismClassifier("thresholds"), epsilon=0.75, classes=[False, True]
    )
    model = learner.fit(X, Y, X_public=PublicData(rows[:, None]))
    assert (model.predict(X) != Y).mean() < 0.06
    cuts = {each.concept_.concept.code for each in model.estimators_}
    assert cuts <= set(model.estimators_[0].domain_.domains[0].encode(rows).tolist())
    assert model.estimators_[0].guarantee_.assumes[-1] == "the rows in X_public are public"
    with pytest.raises(TypeError, match="X_public must be None for an estimator whose fit takes no public"):
        PrivateMultiOutputClassifier(StatisticalQueryNaiveBayes()).fit(X, Y, X_public=PublicData(rows))


def test_classifiers_of_groups_state_what_the_whole_protects():
    X, groups = np.arange(300)[:, None] % 7, np.arange(300) // 3
    Y = np.column_stack([X[:, 0] > 3, X[:, 0] > 5]).astype(int)
    model = several(classes=[[0, 1]] * 2).fit(X, Y, groups=groups)
    for each in model.estimators_:
        assert each.guarantee_.protects == model.guarantee_.protects == "groups"
        assert each.guarantee_.assumes == model.guarantee_.assumes
        assert each.guarantee_.epsilon < model.guarantee_.epsilon
