"""Students of all kinds learn released answers, weighted by their noisy counts."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from dplearn.learners.votes.aggregators import Answers
from dplearn.learners.votes.student import fit_weighted, teach

CLASSES = np.array(["no", "yes"])
THREE = np.array(["a", "b", "c"])


class Recording(ClassifierMixin, BaseEstimator):
    """Stores its training data."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.seen_ = X, y, sample_weight
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Unweighted(Recording):
    def fit(self, X, y):
        return super().fit(X, y)


class Scaling(StandardScaler):
    """A scaler that takes weights, and keeps whether it got any."""

    def fit(self, X, y=None, sample_weight=None):
        self.got_weights_ = sample_weight is not None
        return super().fit(X, y, sample_weight)

    def fit_transform(self, X, y=None, **fit_params):
        return self.fit(X, y, **fit_params).transform(X)


def answers(counts):
    counts = np.array(counts)
    return Answers(np.where(counts.any(axis=1), counts.argmax(axis=1), -1), counts)


def rows(number):
    return np.arange(number, dtype=float).reshape(-1, 1)


def taught(counts, classes=CLASSES, student=None):
    counts = np.array(counts)
    student = Recording() if student is None else student
    return teach(student, rows(len(counts)), answers(counts), classes)


# Weights


def test_with_two_labels_a_row_is_learned_once_weighted_by_the_lead():
    X, y, weights = taught([[9, 1], [3, 5], [100, -20], [0, 1]]).seen_
    assert X.ravel().tolist() == [0, 1, 2, 3]
    assert y.tolist() == ["no", "yes", "no", "yes"]
    leads = np.array([8, 2, 120, 1])
    assert np.allclose(weights, leads * 4 / leads.sum(), rtol=1e-15)


def test_with_more_labels_a_row_is_learned_with_each_whose_count_exceeds_the_rows_mean():
    X, y, weights = taught([[6, 0, 3], [9, 0, 0], [5, 4, 0]], THREE).seen_
    assert X.ravel().tolist() == [0, 1, 2, 2]  # the first row's mean is 3
    assert y.tolist() == ["a", "a", "a", "b"]
    excess = np.array([3, 6, 2, 1])
    assert np.allclose(weights, excess * 3 / excess.sum(), rtol=1e-15)


@pytest.mark.parametrize("n_labels", [2, 3, 7, 49])
def test_weights_are_positive_and_sum_to_the_number_of_answers(n_labels):
    counts = np.random.default_rng(0).integers(-50, 200, size=(40, n_labels))  # public
    counts[::5] = 0  # declined
    _, _, weights = taught(counts, np.arange(n_labels)).seen_
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(32)


def test_a_row_on_which_all_labels_are_level_teaches_nothing():
    X, _, weights = taught([[9, 9, 9], [9, 9, 0], [0, 0, 5]], THREE).seen_
    assert X.ravel().tolist() == [1, 1, 2]
    assert weights.sum() == pytest.approx(3)


def test_where_no_counts_are_released_all_answers_weigh_the_same():
    released = Answers.without_counts(np.array([0, -1, 2, 1]), 3)
    X, y, weights = teach(Recording(), rows(4), released, THREE).seen_
    assert X.ravel().tolist() == [0, 2, 3]
    assert y.tolist() == ["a", "c", "b"]
    assert np.allclose(weights, 1, rtol=1e-15)


def test_only_rows_that_were_answered_are_learned_even_where_there_are_more():
    X, _, _ = teach(Recording(), rows(9), answers([[0, 0], [5, 1], [1, 5]]), CLASSES).seen_
    assert X.ravel().tolist() == [1, 2]


def test_a_student_that_takes_no_weights_learns_the_labels_that_lead_every_row_once():
    student = Unweighted()
    X, y, weights = taught([[9, 1, 8], [0, 0, 0], [0, 1, 0], [7, 7, 7]], THREE, student).seen_
    assert X.ravel().tolist() == [0, 2, 3]
    assert y.tolist() == ["a", "b", "a"]
    assert weights is None
    assert not hasattr(student, "seen_")


# Few answers


@pytest.mark.parametrize("student", [Recording(), Unweighted(), LogisticRegression()], ids=repr)
def test_a_single_label_is_predicted_for_ever(student):
    model = taught([[1, 9], [0, 0], [2, 3]], student=student)
    assert model.predict(rows(4)).tolist() == ["yes"] * 4
    assert model.classes_.tolist() == ["yes"]
    assert model.predict_proba(rows(2)).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("student", [Recording(), Unweighted(), LogisticRegression()], ids=repr)
@pytest.mark.parametrize("counts", [[[0, 0], [0, 0]], np.zeros((0, 2), dtype=int)], ids=["declined", "none"])
def test_without_an_answer_the_first_label_is_predicted(student, counts):
    assert taught(counts, student=student).predict(rows(3)).tolist() == ["no"] * 3


# Where weights go


@pytest.mark.parametrize("routing", [False, True])
def test_in_a_pipeline_weights_reach_the_last_step_and_no_other(routing):
    student = Pipeline([("scale", Scaling()), ("learn", Recording())])
    with sklearn.config_context(enable_metadata_routing=routing):
        model = taught([[9, 1], [3, 5]], student=student)
        assert sklearn.get_config()["enable_metadata_routing"] == routing
    _, y, weights = model["learn"].seen_
    assert y.tolist() == ["no", "yes"]
    assert np.allclose(weights, [1.6, 0.4], rtol=1e-15)
    assert not model["scale"].got_weights_


def test_weights_count_as_so_many_rows():
    X, y = rows(6), np.array([0, 1, 0, 1, 0, 1])
    weighted = fit_weighted(LogisticRegression(), X, y, np.array([1.0, 2, 3, 1, 2, 3]))
    repeated = LogisticRegression().fit(np.repeat(X, [1, 2, 3, 1, 2, 3], 0), np.repeat(y, [1, 2, 3, 1, 2, 3]))
    assert np.allclose(weighted.coef_, repeated.coef_, rtol=1e-3)


# Tables


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, lambda X: pd.DataFrame(X, columns=["c"])])
def test_rows_of_every_kind_of_table_are_cut_out_of_it(kind):
    X, _, _ = teach(Recording(), kind(rows(4)), answers([[0, 0], [5, 1], [0, 0], [1, 5]]), CLASSES).seen_
    assert type(X) is type(kind(rows(4)))
    values = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    assert values.ravel().tolist() == [1, 3]


@pytest.mark.parametrize(
    "labels", [np.array([1.0, 2.0]), np.array([1, 2]), np.array(["a", "b"]), np.array([False, True])]
)
def test_where_all_answers_are_one_label_of_any_type_the_student_predicts_it(labels):
    released = Answers.without_counts(np.array([1, 1, -1]), 2)
    taught_one = teach(Recording(), rows(3), released, labels)
    assert taught_one.predict(rows(2)).tolist() == [labels[1]] * 2
