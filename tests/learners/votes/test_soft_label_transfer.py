"""A student of released scores predicts probabilities for ever, from any table, and costs one fit."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from dplearn import PrivacyLedger, PublicData, SoftLabelTransferClassifier

X, Y = make_classification(9000, n_informative=4, n_clusters_per_class=1, flip_y=0.1, random_state=0)
PRIVATE, PUBLIC, TEST = slice(6000), slice(6000, 8000), slice(8000, 9000)
FAST = make_pipeline(StandardScaler(), Ridge())


def fitted(X=X, y=Y, **parameters):
    chosen = {"student": FAST, "epsilon": 3.0, "random_state": 0, "max_queries": 300} | parameters
    model = SoftLabelTransferClassifier(classes=np.unique(y).tolist(), **chosen)
    return model.fit(X[PRIVATE], y[PRIVATE], X_public=PublicData(X[PUBLIC]))


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    "student",
    [
        None,
        FAST,
        pytest.param(DecisionTreeRegressor(max_depth=4), marks=pytest.mark.nightly),
        pytest.param(make_pipeline(StandardScaler(), LogisticRegression()), marks=pytest.mark.nightly),
    ],
    ids=repr,
)
def test_a_students_probabilities_rank_and_are_calibrated(student):
    model = fitted(student=student)
    likely = model.predict_proba(X[TEST])
    assert likely.shape == (1000, 2)
    assert np.allclose(likely.sum(axis=1), 1)
    assert roc_auc_score(Y[TEST], likely[:, 1]) > 0.85
    assert brier_score_loss(Y[TEST], likely[:, 1]) < 0.17  # a constant has .25
    assert (model.predict(X[TEST]) == model.classes_[likely.argmax(axis=1)]).all()


@pytest.mark.nightly
def test_a_student_of_random_labels_knows_nothing():
    shuffled = np.random.default_rng(0).permutation(Y)
    likely = fitted(y=shuffled).predict_proba(X[TEST])
    assert abs(roc_auc_score(Y[TEST], likely[:, 1]) - 0.5) < 0.2


@pytest.mark.nightly
def test_a_student_of_stable_histograms_learns_where_many_teachers_agree():
    model = fitted(estimator=GaussianNB(), aggregation="sparse_vector", epsilon=20.0, bin_width=0.25)
    assert 50 < model.n_answered_ <= model.n_asked_ == 300
    assert roc_auc_score(Y[TEST], model.predict_proba(X[TEST])[:, 1]) > 0.85


def test_it_predicts_for_ever_and_after_a_pickle_too():
    model = fitted()
    again = pickle.loads(pickle.dumps(model))
    first = model.predict_proba(X[TEST])
    assert (model.predict_proba(X[TEST]) == first).all()
    assert (again.predict_proba(X[TEST]) == first).all()
    assert not hasattr(model, "remaining_queries_")


@pytest.mark.nightly
def test_more_than_two_labels_have_a_probability_each():
    X3, y3 = make_classification(9000, n_informative=6, n_classes=3, class_sep=2, random_state=1)
    model = fitted(X3, np.array(["low", "middle", "high"])[y3], epsilon=10.0)
    likely = model.predict_proba(X3[TEST])
    assert likely.shape == (1000, 3)
    assert np.allclose(likely.sum(axis=1), 1)
    assert model.score(X3[TEST], np.array(["low", "middle", "high"])[y3][TEST]) > 0.6


@pytest.mark.nightly
def test_frames_with_texts_and_gaps_and_sparse_tables_are_learned_from():
    frame = pd.DataFrame(X[:, :6].copy(), columns=list("abcdef"))
    frame["text"] = np.where(Y == 1, "often", "seldom")
    frame.loc[::7, "a"] = np.nan
    learned = fitted(frame, student=None).predict_proba(frame[TEST])
    assert roc_auc_score(Y[TEST], learned[:, 1]) > 0.9
    columns = sp.csr_array(np.where(abs(X) > 0.5, X, 0))
    learned = fitted(columns, student=None).predict_proba(columns[TEST])
    assert roc_auc_score(Y[TEST], learned[:, 1]) > 0.8


def test_only_labels_can_be_protected_without_public_rows():
    X, y = load_breast_cancer(return_X_y=True)
    model = SoftLabelTransferClassifier(student=FAST, protects="labels", epsilon=5.0, random_state=0).fit(
        X, y
    )
    assert model.guarantee_.protects == "labels"
    assert model.score(X, y) > 0.7
    with pytest.raises(ValueError, match="X_public must be None where protects='labels'"):
        model.fit(X, y, X_public=PublicData(X))
    with pytest.raises(ValueError, match="X_public must be PublicData"):
        clone(model).set_params(protects="examples").fit(X, y)


@pytest.mark.nightly
def test_a_search_charges_every_fit():
    ledger = PrivacyLedger(100.0, 1e-3)
    model = SoftLabelTransferClassifier(student=FAST, classes=[0, 1], ledger=ledger, max_queries=200)
    GridSearchCV(model, {"epsilon": [1.0, 2.0]}, cv=2, scoring="neg_brier_score").fit(
        X[PRIVATE], Y[PRIVATE], X_public=PublicData(X[PUBLIC])
    )
    spent = float(ledger.spent().epsilon)
    assert spent in (2 * (1 + 2) + 1, 2 * (1 + 2) + 2)  # two folds each, and the best once more


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"estimator": LinearSVC()}, TypeError, "estimator must be None or a classifier with predict_proba"),
        ({"student": StandardScaler()}, TypeError, "student must be None or a classifier"),
        ({"student": Ridge}, TypeError, "student must be None or a classifier"),
        ({"bin_width": 0.7}, ValueError, "bin_width must be"),
        ({"bin_width": "wide"}, ValueError, "bin_width must be 'auto' or a number"),
        ({"aggregation": "gnmax"}, ValueError, "aggregation must be"),
        ({"delta": 0.0}, ValueError, "delta"),
    ],
    ids=repr,
)
def test_what_cannot_be_is_refused_before_anything_is_paid(parameters, error, match):
    ledger = PrivacyLedger(10.0, 1e-3)
    with pytest.raises(error, match=match):
        fitted(**parameters, ledger=ledger, random_state=None)
    assert ledger.spent().epsilon == 0


def test_a_plan_needs_no_data():
    plan = SoftLabelTransferClassifier(classes=[0, 1]).plan(20_000, n_rows=5000)
    assert plan.n_teachers > 100
    assert plan.max_queries <= 5000
    assert plan.max_abstentions is None


@pytest.mark.nightly
@pytest.mark.parametrize("n_labels", [2, pytest.param(10, marks=pytest.mark.nightly)])
def test_sizes_are_settled_for_as_many_scores_as_there_are(n_labels):
    model = SoftLabelTransferClassifier(aggregation="sparse_vector", epsilon=3.0, max_queries=1000)
    plan = model.plan(60_000, n_labels=n_labels)
    assert plan.max_queries == 1000
    assert plan.least_lead - 2 <= 2 * plan.n_teachers / 3  # five of six teachers lead by so much
