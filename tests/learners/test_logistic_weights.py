import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import balanced_accuracy_score, recall_score, roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier

from dplearn import StatisticalQueryLogisticRegression
from dplearn.domains import IntegerRange
from dplearn.learners.logistic_weights import ClassWeights, released_weights, weighted_parts
from dplearn.privacy import PrivacyLedger
from dplearn.queries import Examples, population

RARE = make_classification(20_000, 6, n_informative=4, weights=[0.98], class_sep=1.5, random_state=0)


def fitted(X, y, **parameters):
    known = {"classes": sorted(set(y.tolist())), "random_state": 0}
    return StatisticalQueryLogisticRegression(**known | parameters).fit(X, y)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_balanced_weights_find_a_rare_class_that_a_fit_without_weights_does_not_predict(epsilon):
    X, y = RARE
    plain, model = fitted(X, y, epsilon=epsilon), fitted(X, y, epsilon=epsilon, class_weight="balanced")
    assert balanced_accuracy_score(y, model.predict(X)) > balanced_accuracy_score(y, plain.predict(X)) + 0.1
    assert recall_score(y, model.predict(X)) > 0.6
    ranks = [roc_auc_score(y, each.decision_function(X)) for each in (plain, model)]
    assert ranks[1] > ranks[0] - 0.03


def test_probabilities_are_those_of_the_weighted_population():
    X, y = RARE
    model = fitted(X, y, epsilon=10.0, class_weight={0: 1, 1: 20})
    weights = np.where(y == 1, 20, 1)
    chances = model.predict_proba(X)[:, 1]
    assert np.average(chances, weights=weights) == pytest.approx(np.average(y, weights=weights), abs=0.03)


def test_only_ratios_of_weights_matter_and_absent_labels_have_the_weight_1():
    oracle = population(Examples(np.zeros((4, 1)), np.array([1, 0, 0, 0])))
    found = [
        released_weights(oracle, each, (0, 1), share=1, noise_to_signal=0.0).loss.tolist()
        for each in ({0: 3.0, 1: 9.0}, {1: 3.0}, {0: 1 / 3})
    ]
    assert found == [pytest.approx([1 / 3, 1.0])] * 3


def test_weights_of_several_classes_shift_the_margins_only():
    X, y = load_digits(return_X_y=True)
    known = {"epsilon": 100.0, "domain": IntegerRange(0, 16)}
    model = fitted(X, y, class_weight={3: 50.0}, **known)
    assert (model.predict(X) == 3).sum() > (fitted(X, y, **known).predict(X) == 3).sum()
    assert np.ptp(model.offset_) == pytest.approx(np.log(50))


def test_the_plan_counts_the_query_for_the_classes():
    known = {"n_features": 4, "n_labels": 2}
    learner = StatisticalQueryLogisticRegression()
    plain, weighted = (
        learner.plan(1000, **known),
        learner.set_params(class_weight="balanced").plan(1000, **known),
    )
    assert weighted.n_queries == plain.n_queries + 1
    assert sum(weighted.shares[:2]) + weighted.shares[2] * (weighted.n_steps - 1) == (
        1 - weighted.calibration_share - weighted.counting_share
    )
    assert plain.deviation < weighted.deviation < 1.1 * plain.deviation


@pytest.mark.filterwarnings("ignore:n_samples is")
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_one_record_and_a_class_without_records_are_fitted(delta):
    model = StatisticalQueryLogisticRegression(
        classes=["a", "b"], class_weight="balanced", delta=delta, random_state=0
    )
    with np.errstate(all="raise"):
        model.fit(np.zeros((1, 2)), ["a"])
    assert np.isfinite(model.predict_proba(np.zeros((2, 2)))).all()


@pytest.mark.parametrize(
    ("class_weight", "error", "message"),
    [
        ("even", ValueError, "class_weight must be None, 'balanced' or a dict .*, got 'even'"),
        ([1, 2], TypeError, "class_weight must be None, 'balanced' or a dict"),
        ({0: 0, 1: 1}, ValueError, r"class_weight\[0\] must be a finite number above 0, got 0"),
        ({0: float("nan")}, ValueError, r"class_weight\[0\] must be a finite number above 0"),
        ({0: "x"}, (TypeError, ValueError), r"class_weight\[0\] must be a finite number above 0"),
        ({"no": 2}, ValueError, "class_weight must have labels of the classes as its keys, got 'no'"),
    ],
)
def test_bad_weights_are_refused_before_anything_is_charged(class_weight, error, message):
    ledger = PrivacyLedger(5, 1e-3)
    learner = StatisticalQueryLogisticRegression(class_weight=class_weight, classes=[0, 1], ledger=ledger)
    with pytest.raises(error, match=message):
        learner.fit(RARE[0], RARE[1])
    assert ledger.history() == []


def test_weighted_parts_are_whole_and_no_greater_than_those_of_weight_1():
    parts = lambda rows, y: np.array([[-5.0, 3.0], [511.0, -512.0]])  # noqa: E731
    found = weighted_parts(parts, np.array([1.0, 0.02]))(None, np.array([0, 1]))
    assert found.tolist() == [[-40, 24], [82, -82]]


def test_the_steps_use_weights_as_far_as_the_noise_allows():
    oracle = population(Examples(np.zeros((50, 1)), np.array([1] + [0] * 49)))
    known = {"classes": (0, 1), "share": 1}
    found = [
        released_weights(oracle, "balanced", noise_to_signal=noise, **known).steps[0]
        for noise in (0.001, 0.003, 0.006, 0.015, 0.5)
    ]
    assert found == pytest.approx([49**-1, 49**-0.75, 49**-0.5, 49**-0.25, 1.0])


def test_noise_in_empty_bins_is_no_record_of_a_rare_class():
    weights = ClassWeights(np.ones(2), np.ones(2), 1.0, np.array([0.98, 0.02]))
    noisy = np.column_stack([[0.5, 0.48, 0.0, 0.0], [0.006, 0.006, 0.018, 0.006]])
    assert weights.counts(noisy)[:, 1] == pytest.approx([0.002, 0.002, 0.014, 0.002])


def test_a_fixed_threshold_of_scikit_learn_is_taken_around_a_fitted_model():
    X, y = RARE
    model = FixedThresholdClassifier(
        StatisticalQueryLogisticRegression(epsilon=3.0, classes=[0, 1], random_state=0), threshold=0.02
    ).fit(X, y)
    assert (model.predict(X) == (model.estimator_.predict_proba(X)[:, 1] >= 0.02)).all()
    assert recall_score(y, model.predict(X)) > 0.5
    assert model.estimator_.guarantee_.epsilon == 3
