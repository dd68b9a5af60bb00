"""Fits of several outputs: their shares, what they publish, charge and refuse."""

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from dplearn import (
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    LinearRegressor,
    ParityClassifier,
    PointClassifier,
    PrivacyLedger,
    PrivateMultiOutputClassifier,
    SecretSampleClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    ThresholdClassifier,
)
from dplearn.audit.fits import ready
from dplearn.domains import DomainError, Grid, IntegerRange, Schema
from dplearn.model_selection import PrivateSearchCV
from dplearn.preprocessing import PrivateMinMaxClipper
from dplearn.privacy import ApproxDP, BoundedRange, BudgetExceededError, Composition, GaussianSums, PureDP

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


def some(*values):
    """Values of which the first is tested with every change."""
    return [values[0], *(pytest.param(each, marks=pytest.mark.nightly) for each in values[1:])]


SHARES = {
    5: (0.2, 0.2),
    10: (0.1001, 0.1396),
    20: (0.0570, 0.0987),
    50: (0.0344, 0.0624),
    100: (0.0240, 0.0441),
    1000: (0.0075, 0.0140),
}


@pytest.mark.parametrize("k", some(20, 5, 10, 50, 100, 1000))
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
        assert plan.fits[0].event == event
        assert Composition({event: k}).total(plan.guarantee.delta).epsilon <= 1
        assert Composition({kind(plan.share.epsilon * Fraction(1001, 1000)): k}).total("1e-6").epsilon > 1


def test_other_selections_by_the_exponential_mechanism_have_its_shares_and_interior_points_have_not():
    of_range, pure = SHARES[20][::-1]
    cases = {
        ThresholdClassifier(method="exponential", domain=IntegerRange(0, 9)): of_range,
        ThresholdClassifier(method="interior_point", domain=IntegerRange(0, 9)): pure,
        ParityClassifier(method="agnostic"): of_range,
        ParityClassifier(method="elimination"): pure,
    }
    for learner, share in cases.items():
        plan = several(learner).plan(2000, n_features=3, n_outputs=20)
        assert round(float(plan.share.epsilon), 4) == share, learner


def test_learners_with_gaussian_noise_share_mu2():
    plan = several(StatisticalQueryLogisticRegression()).plan(30_000, n_features=12, n_labels=2, n_outputs=8)
    assert plan.estimator_plan.noise == "gaussian"
    assert round(float(plan.share.epsilon), 2) == 0.33
    assert plan.share.delta == plan.guarantee.delta == Fraction("1e-6")
    assert isinstance(plan.fits[0].event, GaussianSums)
    assert Composition({plan.fits[0].event: 8}).total("1e-6").epsilon <= 1


def test_the_event_of_a_learned_schema_is_that_of_its_guarantee():
    exponential = several(ExponentialMechanismClassifier(domain="learn"), classes=LABELS)
    plan = exponential.plan(2000, n_features=1, n_outputs=20)
    assert plan.fits[0].event == PureDP(plan.share.epsilon)
    assert round(float(plan.share.epsilon), 4) == SHARES[20][0]


def test_learners_that_spend_delta_have_half_of_it_and_composition_has_the_rest():
    learner = PointClassifier(method="stability", delta=1e-3)
    plan = several(learner).plan(10_000, n_outputs=20)
    assert plan.share.delta == Fraction("1e-6") / 40
    assert round(float(plan.share.epsilon), 4) == 0.0561
    few = several(learner).plan(10_000, n_outputs=2)
    assert numbers(few.share) == numbers(ApproxDP("0.5", "5e-7"))
    one = several(learner).plan(10_000)
    assert numbers(one.share) == numbers(one.guarantee) == (1, Fraction("1e-6"))


@pytest.mark.parametrize("k", [1, 3, 40])
def test_without_delta_epsilon_is_divided(k):
    plan = several(thresholds(), delta=0).plan(2000, n_features=1, n_labels=2, n_outputs=k)
    assert numbers(plan.share) == (Fraction(1, k), 0)
    assert plan.guarantee.delta == 0


def test_a_plan_states_what_the_fit_spends_and_publishes():
    ledger = PrivacyLedger(3, "1e-5")
    model = several(classes=LABELS, ledger=ledger, epsilon=3.0).fit(X, Y)
    plan = several(classes=LABELS, epsilon=3.0).plan(2000, n_features=1, n_outputs=3)
    assert plan.guarantee.epsilon == model.guarantee_.epsilon == 3
    assert {each.guarantee_.epsilon for each in model.estimators_} == {plan.share.epsilon} == {1}
    assert len(ledger.history()) == 1
    assert numbers(ledger.spent()) == (3, 0)
    assert "labels are among the declared classes" in model.guarantee_.assumes
    assert "the set of labels, and their type, is public" in several().fit(X, Y).guarantee_.assumes
    text = str(plan)
    assert "share" in text
    assert "estimator_plan.n_needed" in text


def test_each_output_is_learned():
    model = several(classes=LABELS, epsilon=20.0).fit(X, Y)
    assert model.n_outputs_ == 3
    assert [each.tolist() for each in model.classes_] == [LABELS] * 3
    assert model.predict(X).shape == (2000, 3)
    assert model.score(X, Y) > 0.9
    assert model.score(X, np.where(Y == "no", "yes", "no")) == 0
    likely = model.predict_proba(X)
    assert [each.shape for each in likely] == [(2000, 2)] * 3
    np.testing.assert_array_equal(model.classes_[1][likely[1].argmax(axis=1)], model.predict(X)[:, 1])
    weights = (model.predict(X) == Y).all(axis=1).astype(float)
    assert model.score(X, Y, sample_weight=weights) == 1


def test_labels_of_several_kinds_and_numbers_of_classes():
    kinds = np.column_stack([X[:, 0] // 34, X[:, 0] > 50]).astype(object)
    kinds[:, 1] = np.where(kinds[:, 1].astype(bool), "old", "young")
    frame = pd.DataFrame({"third": kinds[:, 0].astype(int), "age": kinds[:, 1]})
    names = [[0, 1, 2], ["old", "young"]]
    for holder in (kinds, frame, kinds.tolist()):
        model = several(
            ExponentialMechanismClassifier(domain=IntegerRange(0, 99)), classes=names, epsilon=30.0
        )
        found = model.fit(pd.DataFrame({"x": X[:, 0]}), holder).predict(pd.DataFrame({"x": X[:, 0]}))
        assert found.dtype == object
        assert set(found[:, 1]) == {"old", "young"}
        assert [len(each.classes_) for each in model.estimators_] == [3, 2]
        assert model.feature_names_in_.tolist() == model.estimators_[1].feature_names_in_.tolist() == ["x"]
    plan = model.plan(2000, n_outputs=2, n_features=1)
    assert [fit.plan.class_size for fit in plan.fits] == [fit.class_size for fit in _plans_of(model, kinds)]


def _plans_of(model, kinds):
    plan = ready(model, X, kinds).plan
    assert plan.public.n_outputs == 2
    return [fit.plan for fit in plan.fits]


def test_one_dimension_of_labels_is_one_output_with_the_whole_budget():
    model = several(epsilon=2.0, classes=LABELS).fit(X, Y[:, 0])
    assert model.n_outputs_ == 1
    assert model.classes_.tolist() == LABELS
    assert model.predict(X).shape == (2000,)
    assert model.predict_proba(X).shape == (2000, 2)
    assert model.score(X, Y[:, 0]) > 0.9
    assert model.estimators_[0].guarantee_.epsilon == model.guarantee_.epsilon == 2


def test_many_outputs_fit_into_a_budget():
    many = np.column_stack([Y] * 20)
    model = several(classes=LABELS, ledger=PrivacyLedger(1, 1e-6)).fit(X, many)
    assert model.predict(X).shape == (2000, 60)
    assert numbers(model.ledger.spent()) == (1, Fraction("1e-6"))
    assert model.estimators_[0].guarantee_.epsilon > Fraction(1, 60) * 3


def test_releases_of_outputs_are_independent():
    same = np.column_stack([Y[:, 1]] * 40)
    model = several(classes=LABELS, random_state=0).fit(X, same)
    assert len({repr(each.concept_) for each in model.estimators_}) > 1
    again = several(classes=LABELS, random_state=0).fit(X, same)
    assert (model.predict(X) == again.predict(X)).all()
    assert model.guarantee_.reproducible
    assert all(each.guarantee_.reproducible for each in model.estimators_)


LEDGER = PrivacyLedger(1)
REFUSED = {
    "not private": (
        LogisticRegression(),
        TypeError,
        "private classifier of dplearn .*got LogisticRegression",
    ),
    "regressor": (LinearRegressor(target_range=(0, 1)), TypeError, "got LinearRegressor"),
    "class": (ThresholdClassifier, TypeError, "estimator must be"),
    "pipeline": (make_pipeline(thresholds()), TypeError, "got Pipeline"),
    "queries": (SubsampleAggregateClassifier(), TypeError, "estimator .*spend a budget"),
    "public rows": (
        KnowledgeTransferClassifier(),
        ValueError,
        "X_public unless protects='labels'; SyntheticDataClassifier",
    ),
    "sample": (SecretSampleClassifier(thresholds(), sample_size=5), TypeError, "epsilon and classes"),
    "several": (several(), TypeError, "estimator must be a private classifier|classifier of one label"),
    "ledger": (thresholds(ledger=LEDGER), ValueError, "estimator must have ledger=None"),
    "local": (StatisticalQueryNaiveBayes(trust_model="local"), ValueError, "trust_model='central'"),
    "nested ledger": (
        PrivateSearchCV(thresholds(ledger=LEDGER), {}),
        ValueError,
        "estimator must have ledger",
    ),
    "nested local": (
        PrivateSearchCV(ConjunctionClassifier(), {"trust_model": ["central", "local"]}),
        ValueError,
        "trust_model='central'",
    ),
}


@pytest.mark.parametrize(("estimator", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_estimators_that_cannot_be_wrapped_are_refused_before_a_charge(estimator, error, words):
    ledger = PrivacyLedger(10, 1e-3)
    with pytest.raises(error, match=words):
        several(estimator, ledger=ledger).fit(X, Y)
    with pytest.raises(error, match=words):
        several(estimator).plan(2000)
    assert ledger.history() == LEDGER.history() == []


@pytest.mark.parametrize(
    ("parameters", "y", "error", "words"),
    [
        ({"epsilon": 0}, Y, ValueError, "epsilon must be"),
        ({"delta": 1}, Y, ValueError, "delta must be"),
        ({"classes": ["no", "no"]}, Y, ValueError, "classes must be distinct"),
        ({"classes": [LABELS] * 2}, Y, ValueError, "label set for each of 3 outputs, got 2"),
        ({"classes": ["no", "maybe"]}, Y, DomainError, "not among the declared"),
        ({}, Y[:-1], ValueError, "equal numbers"),
        ({}, None, ValueError, "y"),
        ({}, np.full((2000, 2), np.nan), ValueError, "NaN"),
        ({}, [["no", "yes"]] * 1999 + [["no"]], ValueError, "equally long"),
    ],
)
def test_bad_input_is_refused_before_a_charge(parameters, y, error, words):
    ledger = PrivacyLedger(10, 1e-3)
    with pytest.raises(error, match=words):
        several(**parameters, ledger=ledger).fit(X, y)
    assert ledger.history() == []


def test_a_cell_outside_the_domain_and_weights_are_refused_before_a_charge():
    ledger = PrivacyLedger(10, 1e-3)
    outside = X.copy()
    outside[-1] = 100
    with pytest.raises(DomainError):
        several(ledger=ledger).fit(outside, Y)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        several(ledger=ledger).fit(X, Y, sample_weight=np.ones(2000))
    assert ledger.history() == []


def test_an_output_with_labels_that_a_learner_refuses_is_refused_before_a_charge():
    ledger = PrivacyLedger(10, 1e-3)
    three = np.column_stack([Y[:, 0], np.array(["a", "b", "c"])[X[:, 0] % 3]])
    with pytest.raises(ValueError, match="needs 2 classes, got 3"):
        several(ThresholdClassifier(domain=IntegerRange(0, 99)), ledger=ledger).fit(X, three)
    assert ledger.history() == []


def test_a_ledger_that_holds_less_refuses_before_a_value_is_read():
    ledger = PrivacyLedger("0.5", 1e-6)
    with pytest.raises(BudgetExceededError):
        several(ledger=ledger).fit(X, object())
    without_delta = PrivacyLedger(1)
    several(ledger=without_delta, classes=LABELS).fit(X, Y)  # three outputs spend none
    assert numbers(without_delta.spent()) == (1, 0)
    with pytest.raises(BudgetExceededError):
        several(ledger=PrivacyLedger(1)).fit(X, np.column_stack([Y] * 20))


def test_labels_of_a_schema_and_of_the_estimator_are_declared():
    schema = Schema({"x": IntegerRange(0, 99)}, labels=LABELS)
    frame = pd.DataFrame({"x": X[:, 0]})
    for learner in (ExponentialMechanismClassifier(domain=schema), thresholds(classes=LABELS)):
        model = several(learner).fit(frame, np.full((2000, 2), "no"))
        assert [each.tolist() for each in model.classes_] == [LABELS] * 2
        assert "labels are among the declared classes" in model.guarantee_.assumes


def test_the_estimator_is_left_as_it_was_and_nested_parameters_can_be_set():
    inner = thresholds(epsilon=0.5)
    model = several(inner)
    before = inner.get_params()
    fitted = clone(model).set_params(estimator__method="permute_and_flip").fit(X, Y)
    assert inner.get_params() == before
    assert not hasattr(inner, "guarantee_")
    assert fitted.estimators_[0].method == "permute_and_flip"
    assert model.get_params()["estimator__method"] == "exponential"
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict(X), fitted.predict(X))


def test_it_is_searched_and_stands_in_pipelines_as_scikit_learn_wishes():
    ledger = PrivacyLedger(100, 1e-3)
    grid = {"estimator__method": ["exponential", "permute_and_flip"]}
    search = GridSearchCV(several(classes=LABELS, ledger=ledger), grid, cv=KFold(2)).fit(X, Y)
    assert len(ledger.history()) == 5
    assert search.predict(X).shape == Y.shape
    pipeline = make_pipeline(
        PrivateMinMaxClipper(epsilon=5.0, domain=Grid(0, 99, 100)),
        several(ExponentialMechanismClassifier("thresholds"), epsilon=20.0),
    )
    assert pipeline.fit(X.astype(float), Y).score(X.astype(float), Y) > 0.5


@pytest.mark.filterwarnings("ignore")
def test_private_searches_of_each_output_find_candidates_of_their_own():
    search = PrivateSearchCV(thresholds(), {"method": ["exponential", "permute_and_flip"]}, epsilon=1.0)
    model = several(search, classes=LABELS, epsilon=100.0, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert len({id(each.best_estimator_) for each in model.estimators_}) == 3
    assert [each.classes_.tolist() for each in model.estimators_] == [LABELS] * 3
    assert model.guarantee_.epsilon == 100


def test_float_errors_of_the_caller_do_not_reach_private_rows():
    with np.errstate(all="raise"):
        model = several(StatisticalQueryLogisticRegression(domain=Grid(0, 99, 100)), epsilon=50.0)
        assert model.fit(X, Y).predict_proba(X)[0].shape == (2000, 2)
        assert 0 <= model.score(X, Y) <= 1


def test_secret_samples_of_it_are_refused():
    with pytest.raises(TypeError, match="got PrivateMultiOutputClassifier"):
        SecretSampleClassifier(several(), sample_size=10).fit(X, Y)


def test_shares_fall_with_the_number_of_outputs():
    shares = [
        several().plan(2000, n_features=1, n_labels=2, n_outputs=k).share.epsilon for k in (1, 2, 7, 20)
    ]
    assert all(mine > theirs for mine, theirs in pairwise(shares))


def test_a_delta_that_no_theorem_is_computed_for_is_refused():
    model = PrivateMultiOutputClassifier(ExponentialMechanismClassifier("thresholds"), delta="1e-100")
    with pytest.raises(ValueError, match="delta must be 0, or at least 1e-40"):
        model.plan(1000, n_outputs=2, n_features=1)
