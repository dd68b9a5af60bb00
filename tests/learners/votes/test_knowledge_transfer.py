"""Tests of knowledge transfer: the student is a function of released answers and public rows."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from dplearn import ApproxDP, KnowledgeTransferClassifier, LedgerError, PrivacyLedger, PublicData
from dplearn.learners.votes.aggregators import AGGREGATIONS

# Public.
ALL, LABELS = make_classification(6000, n_features=6, class_sep=1.5, flip_y=0.0, random_state=1)
X, Y = ALL[:4000], LABELS[:4000]
PUBLIC, TRUE = ALL[4000:], LABELS[4000:]


def learner(estimator=None, student=None, **parameters):
    estimator = GaussianNB() if estimator is None else estimator
    student = GaussianNB() if student is None else student
    return KnowledgeTransferClassifier(
        estimator, student, **{"epsilon": 20.0, "classes": [0, 1]} | parameters
    )


@pytest.mark.first_by_day
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("protects", ["examples", pytest.param("labels", marks=pytest.mark.nightly)])
def test_at_a_large_epsilon_the_student_is_nearly_as_good_as_one_without_privacy(aggregation, protects):
    extra = {"X_public": PublicData(PUBLIC)} if protects == "examples" else {}
    model = learner(aggregation=aggregation, protects=protects).fit(X, Y, **extra)
    assert model.score(PUBLIC, TRUE) > GaussianNB().fit(X, Y).score(PUBLIC, TRUE) - 0.05
    assert 0 < model.n_answered_ <= model.n_asked_
    assert model.guarantee_.protects == protects
    kept = pickle.loads(pickle.dumps(model))
    assert (kept.predict(PUBLIC) == model.predict(PUBLIC)).all()


def test_the_guarantee_states_the_public_values():
    by_example = learner().fit(X, Y, X_public=PublicData(PUBLIC)).guarantee_
    by_label = learner(protects="labels").fit(X, Y).guarantee_
    assert "the rows in X_public are public" in by_example.assumes
    assert any(text.startswith("all features are public") for text in by_label.assumes)
    assert not by_label.implies(ApproxDP(20, 1e-6))


def test_a_ledger_for_examples_refuses_a_guarantee_for_labels():
    with pytest.raises(LedgerError, match="protects 'labels'"):
        learner(protects="labels", ledger=PrivacyLedger(100, delta=1e-3)).fit(X, Y)
    ledger = PrivacyLedger(100, delta=1e-3, protects="labels")
    learner(protects="labels", ledger=ledger).fit(X, Y)
    assert len(ledger.history()) == 1


@pytest.mark.parametrize(
    ("public", "message"),
    [
        (None, "X_public must be PublicData"),
        (PUBLIC, "a search silently cuts every array that has as many rows"),
        ((PUBLIC, PUBLIC), "a tuple of 2"),
        (PublicData(PUBLIC[:, :3]), "3 features"),
        (PublicData(PUBLIC[:0]), "0 sample"),
        (PublicData(np.where(PUBLIC > 0, PUBLIC, np.nan)), "NaN"),
    ],
)
def test_public_rows_that_cannot_be_used_are_refused_before_anything_is_spent(public, message):
    ledger = PrivacyLedger(100, delta=1e-3)
    with pytest.raises((TypeError, ValueError), match=message):
        learner(ledger=ledger).fit(X, Y, X_public=public)
    with pytest.raises(ValueError, match="X_public must be None where protects='labels'"):
        learner(protects="labels").fit(X, Y, X_public=PublicData(PUBLIC))
    assert ledger.history() == []


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ZeroDivisionError("always")

    def predict(self, X):
        return X


def test_an_estimator_that_cannot_learn_is_refused_before_a_charge():
    ledger = PrivacyLedger(100, delta=1e-3)
    with pytest.raises(ValueError, match=r"student must be able to learn .* ZeroDivisionError: always"):
        learner(student=Broken(), ledger=ledger).fit(X, Y, X_public=PublicData(PUBLIC))
    assert ledger.history() == []
    with pytest.raises(ValueError, match=r"estimator must be able to learn .* ZeroDivisionError: always"):
        learner(Broken(), ledger=ledger).fit(X, Y, X_public=PublicData(PUBLIC))
    assert ledger.history() == []


def tables(X):
    names = [f"c{i}" for i in range(X.shape[1])]
    return {
        "array": X,
        "lists": X.tolist(),
        "sparse": csr_matrix(X),
        "pandas": pd.DataFrame(X, columns=names),
        "polars": pl.DataFrame(X, schema=names),
    }


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(each, marks=() if each in ("sparse", "pandas") else pytest.mark.nightly)
        for each in tables(X[:2])
    ],
)
@pytest.mark.parametrize(
    "how", [{"epsilon": 1e3, "n_teachers": 40}, pytest.param({"epsilon": 20.0}, marks=pytest.mark.nightly)]
)
def test_tables_of_every_kind_are_learned_with_the_standard_estimators(kind, how):
    rows, public = tables(X)[kind], tables(PUBLIC)[kind]
    model = KnowledgeTransferClassifier(**how, classes=[0, 1]).fit(rows, Y, X_public=PublicData(public))
    assert model.score(public, TRUE) > 0.85


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    "student",
    [
        LinearSVC(),
        HistGradientBoostingClassifier(max_iter=20),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), LinearSVC()),
    ],
    ids=lambda student: type(student).__name__,
)
@pytest.mark.parametrize("routing", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_students_of_every_kind(student, routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        model = learner(student=student).fit(X, Y, X_public=PublicData(PUBLIC))
        assert model.score(PUBLIC, TRUE) > 0.85
    assert hasattr(model, "predict_proba") == hasattr(student, "predict_proba")


def test_probabilities_have_a_column_for_every_class_even_one_without_answers():
    model = learner(classes=[-1, 0, 1]).fit(X, Y, X_public=PublicData(PUBLIC))
    probabilities = model.predict_proba(PUBLIC[:5])
    assert probabilities.shape == (5, 3)
    assert np.allclose(probabilities.sum(axis=1), 1)


def test_many_classes_and_strings():
    rows, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = learner(protects="labels", classes=sorted(set(names)), n_teachers=10, epsilon=50.0).fit(
        rows, names
    )
    assert model.score(rows, names) > 0.85


def test_in_a_search_public_rows_as_many_as_private_ones_are_not_cut():
    public = PublicData(PUBLIC[:400])
    ledger = PrivacyLedger(1000, delta=1e-3)
    search = GridSearchCV(learner(ledger=ledger), {"n_teachers": [10, 20]}, cv=KFold(2))
    search.fit(X[:400], Y[:400], X_public=public)
    assert len(ledger.history()) == 5
    assert search.best_estimator_.score(PUBLIC, TRUE) > 0.8


def test_in_a_pipeline_public_rows_pass_the_steps_before():
    with sklearn.config_context(enable_metadata_routing=True):
        model = learner().set_fit_request(X_public=True)
        steps = [("scale", StandardScaler()), ("model", model)]
        pipeline = Pipeline(steps, transform_input=["X_public"])
        pipeline.fit(X * 1000, Y, X_public=PublicData(PUBLIC * 1000))
        assert pipeline.score(PUBLIC * 1000, TRUE) > 0.85


def test_max_queries_limits_the_number_of_queried_public_rows():
    model = learner(max_queries=37).fit(X, Y, X_public=PublicData(PUBLIC))
    assert model.n_asked_ == model.n_answered_ == 37
    plan = learner(max_queries=37).plan(len(X), n_rows=2000)
    assert (plan.max_queries, plan.n_teachers) == (37, model.n_teachers_)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("protects", "records"),
        ("student", "tree"),
        ("max_queries", 0),
        ("n_teachers", 1.5),
        ("aggregation", 3),
    ],
)
def test_a_bad_parameter_is_named(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        KnowledgeTransferClassifier(**{name: value}).fit(X, Y, X_public=PublicData(PUBLIC))


def test_an_estimator_without_support_for_missing_values_is_warned_of():
    names = list("abcdef")[: X.shape[1]]
    private, public = (pd.DataFrame(rows[:, : len(names)], columns=names) for rows in (X, PUBLIC))
    with pytest.warns(UserWarning, match="estimator fails where values are missing") as given:
        learner(LogisticRegression()).fit(private, Y, X_public=PublicData(public))
    assert given[0].filename == __file__
