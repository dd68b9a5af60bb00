"""Thresholds are tuned on private counts of held-out records, whose scores are scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, recall_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from dplearn import StatisticalQueryLogisticRegression
from dplearn.audit.cases.search import OneAnswer
from dplearn.domains import Floats
from dplearn.model_selection import PrivateTunedThresholdClassifier
from dplearn.privacy import PrivacyLedger

RARE = make_classification(20_000, 6, n_informative=4, weights=[0.98], class_sep=1.5, random_state=0)


def logistic(**parameters):
    return StatisticalQueryLogisticRegression(**{"classes": [0, 1]} | parameters)


def tuned(estimator=None, **parameters):
    return PrivateTunedThresholdClassifier(estimator or logistic(), **{"random_state": 0} | parameters)


def test_a_rare_label_is_found():
    X, y = RARE
    model = tuned(epsilon=3.0).fit(X, y)
    plain = logistic(epsilon=3.0, random_state=0).fit(X, y)
    assert balanced_accuracy_score(y, model.predict(X)) > balanced_accuracy_score(y, plain.predict(X)) + 0.1
    assert recall_score(y, model.predict(X)) > 0.5
    reached = model.estimator_.predict_proba(X)[:, 1] >= model.best_threshold_
    assert (model.predict(X) == reached).all()
    assert model.best_score_ == model.cv_results_["scores"].max()
    assert model.counts_.shape == (2, 21)
    assert model.counts_.sum() == pytest.approx(4000, abs=100)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1"])
def test_the_score_is_that_of_the_counts_without_noise(scoring):
    model = tuned(epsilon=1e6, thresholds=[0.01, 0.05, 0.5], scoring=scoring, cv=0.5).fit(*RARE)
    y, reached = (np.repeat(places.ravel(), model.counts_.ravel()) for places in np.indices((2, 4)))
    wanted = [getattr(metrics, f"{scoring}_score")(y, reached >= place) for place in (1, 2, 3)]
    assert model.cv_results_["scores"] == pytest.approx(wanted)
    assert len(y) == model.plan(20_000).n_held_out == 10_000


def test_the_whole_budget_is_charged_once():
    X, y = RARE
    ledger = PrivacyLedger(1, 1e-6)
    model = tuned(ledger=ledger, random_state=None).fit(X, y)
    assert [each.guarantee for each in ledger.history()] == [model.guarantee_]
    assert model.guarantee_.epsilon == model.estimator_.guarantee_.epsilon == 1
    plan = tuned().plan(20_000)
    assert (plan.n_held_out, plan.fit.epsilon, plan.counting.epsilon, plan.counting.delta) == (4000, 1, 1, 0)
    assert plan.deviation == pytest.approx(2 * 2**0.5, rel=0.03)


def test_a_frame_of_text_and_gaps_is_tuned_with_a_learned_schema():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["a", "b", "c"], 3000),
            "age": np.where(rng.random(3000) < 0.1, np.nan, rng.integers(90, size=3000)),
            "same": 1.0,
        }
    )
    y = np.where(rng.random(3000) < 0.02, "rare", "usual")
    with np.errstate(all="raise"):
        model = tuned(logistic(domain="learn", classes=["rare", "usual"]), epsilon=5.0).fit(frame, y)
    assert set(model.predict(frame)) <= {"rare", "usual"}


def test_a_score_of_one_label_needs_the_positive_label_unless_it_is_1():
    X, y = RARE[0][:500], np.where(RARE[1][:500] == 1, "ill", "well")
    ledger = PrivacyLedger(5, 1e-3)
    found = {"estimator": logistic(classes=None), "scoring": "f1"}  # with declared classes, plan refuses it
    with pytest.raises(ValueError, match=r"scoring='f1' needs pos_label=, one of \['ill', 'well'\]: it"):
        tuned(**found, ledger=ledger, random_state=None).fit(X, y)
    assert ledger.history() == []
    for scoring, given in (("f1", {"pos_label": "ill"}), ("accuracy", {}), ("balanced_accuracy", {})):
        assert tuned(logistic(classes=["ill", "well"]), scoring=scoring, **given).plan(100).n_samples == 100
    model = tuned(logistic(classes=["ill", "well"]), pos_label="ill", thresholds=[0.1, 0.5]).fit(X, y)
    assert model.pos_label_ == "ill"
    assert (model.predict(X)[model.predict_proba(X)[:, 0] >= model.best_threshold_] == "ill").all()


@pytest.mark.parametrize("classes", [[0, 1], [-1, 1], [False, True]])
def test_the_positive_label_of_a_score_of_one_label_is_1_by_default(classes):
    X, y = RARE[0][:2000], np.where(RARE[1][:2000] == 1, classes[1], classes[0])
    assert tuned(logistic(classes=classes), scoring="f1", epsilon=5.0).fit(X, y).pos_label_ == 1


@pytest.mark.filterwarnings("ignore:n_samples is")
def test_two_records_and_a_label_without_records_are_fitted_and_a_held_out_one_is_checked():
    with np.errstate(all="raise"):
        model = tuned().fit(np.zeros((2, 1)), [0, 0])
    assert set(model.predict(np.zeros((3, 1)))) <= {0, 1}
    X, y = RARE[0][:20].copy(), RARE[1][:20]
    X[tuned().plan(20).public.splits[0][1][0], 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tuned(logistic(domain=Floats())).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"cv": KFold(2)}, ValueError, "cv must give one split, got 2"),
        ({"cv": StratifiedKFold(2)}, TypeError, "cv must be None"),
        ({"estimator": OneAnswer(classes=[0, 1])}, TypeError, "estimator must have a method predict_proba"),
        ({"estimator": GaussianNB()}, TypeError, "estimator must be, or end in, a private classifier"),
    ],
)
def test_what_cannot_be_tuned_is_refused_before_anything_is_charged(parameters, error, message):
    ledger = PrivacyLedger(5, 1e-3)
    with pytest.raises(error, match=message):
        tuned(**parameters, ledger=ledger, random_state=None).fit(*RARE)
    assert ledger.history() == []
