"""Students of all kinds learn released answers, weighted by their noisy counts, or released scores."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csr_matrix
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVC

from dplearn.learners.votes.aggregators import Answers
from dplearn.learners.votes.student import ScoreRegression, standard_soft_student, teach, teach_scores

CLASSES = np.array(["no", "yes"])
THREE = np.array(["a", "b", "c"])
NAN = np.nan


class Recording(ClassifierMixin, BaseEstimator):
    """Stores its training data, and predicts the weighted share of each label."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.seen_ = X, y, sample_weight
        self.parts_ = np.bincount(codes, sample_weight) / np.bincount(codes, sample_weight).sum()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.parts_.argmax()])

    def predict_proba(self, X):
        return np.tile(self.parts_, (len(X), 1))


class Unweighted(Recording):
    def fit(self, X, y):
        return super().fit(X, y)


class Mean(RegressorMixin, BaseEstimator):
    """Stores its training data, takes one column only, and predicts its scaled mean."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y):
        assert y.ndim == 1
        self.seen_ = X, y
        return self

    def predict(self, X):
        return np.full(len(X), self.scale * self.seen_[1].mean())


def rows(number):
    return np.arange(number, dtype=float).reshape(-1, 1)


def taught(student, scores, classes=None):
    scores = np.array(scores, dtype=float)
    if classes is None:
        classes = CLASSES if scores.shape[1] == 1 else THREE
    return teach_scores(student, rows(len(scores)), scores, classes)


# Released scores

SCORES = [[0.25], [NAN], [0.5], [1.0]]
SEEN = {
    "each label weighted by its score": (
        (Recording, SCORES),
        ([0, 2, 0, 2, 3], ["no", "no", "yes", "yes", "yes"], [0.75, 0.5, 0.25, 0.5, 1.0]),
    ),
    "scores shifted to a sum of one": (
        (Recording, [[0.5, 0.3, 0.2], [0.4, 0.4, 0.5]]),
        ([0, 1, 0, 1, 0, 1], ["a", "a", "b", "b", "c", "c"], [0.5, 0.3, 0.3, 0.3, 0.2, 0.4]),
    ),
    "without weights the likelier label": (
        (Unweighted, [[-0.2], [0.5], [NAN], [0.6], [1.7]]),
        ([0, 1, 3, 4], ["no", "no", "yes", "yes"], None),
    ),
    "a row that lacks a score": (
        (Unweighted, [[1, 0, 0], [NAN, 0, 1], [0, 1, 0]]),
        ([0, 2], ["a", "b"], None),
    ),
}


def assert_seen(model, places, labels, weights):
    X, y, given = model.seen_
    assert (X.ravel().tolist(), y.tolist()) == (places, labels)
    assert given is None if weights is None else np.allclose(given, weights, rtol=1e-14)


@pytest.mark.parametrize("what", SEEN)
def test_a_classifier_learns_every_answered_row(what):
    (kind, scores), expected = SEEN[what]
    assert_seen(taught(kind(), scores).model, *expected)


def test_probabilities_are_those_of_the_weighted_rows():
    assert np.allclose(taught(Recording(), SCORES).predict_proba(rows(2)), [[5 / 12, 7 / 12]] * 2)


@pytest.mark.parametrize("n_labels", [2, 3, 6])
def test_noisy_scores_are_learned_without_bias_although_no_weight_is_negative(n_labels):
    chance = np.random.default_rng(n_labels)
    true = np.full(n_labels, 0.01 / (n_labels - 1))
    true[-1] = 0.99
    scores = np.tile(true[1:] if n_labels == 2 else true, (20_000, 1))
    scores += chance.normal(0, 0.5, scores.shape)
    model = taught(Recording(), scores, np.arange(n_labels))
    assert (model.model.seen_[2] > 0).all()
    clipped = taught(Recording(), scores.clip(0, 1), np.arange(n_labels))  # the control
    assert model.predict_proba(rows(1))[0, -1] > 0.93
    assert clipped.predict_proba(rows(1))[0, -1] < 0.88


def test_a_classifier_that_only_predicts_labels_is_certain_of_them():
    model = taught(LinearSVC(), [[0.0], [0.1], [0.9], [1.0]])
    assert model.predict_proba(rows(4)).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_with_more_labels_there_is_a_clone_for_each_or_one_of_many_numbers_and_predictions_are_normalised():
    model = taught(Mean(), [[0.4, 0.2, -0.4], [0.0, 0.2, 0.2]])
    assert [one.seen_[1].tolist() for one in model.model.estimators_] == [[0.4, 0], [0.2, 0.2], [-0.4, 0.2]]
    assert np.allclose(model.predict_proba(rows(2)), [[0.5, 0.5, 0.0]] * 2)
    for student in (KNeighborsRegressor(1), make_pipeline(StandardScaler(), KNeighborsRegressor(1))):
        scores = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
        model = taught(student, scores)
        assert np.allclose(model.predict_proba(rows(2)), scores)


STUDENTS = [Recording(), Unweighted(), LogisticRegression(), Ridge(), SVR(), standard_soft_student(rows(1))]


@pytest.mark.parametrize("student", STUDENTS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("number", [0, 3])
def test_without_an_answer_all_labels_are_alike(student, number):
    for classes, columns in ((CLASSES, 1), (THREE, 3)):
        model = teach_scores(student, rows(5), np.full((number, columns), NAN), classes)
        assert np.allclose(model.predict_proba(rows(4)), np.full((4, len(classes)), 1 / len(classes)))


def test_a_single_label_is_predicted_with_the_mean_of_its_scores():
    assert np.allclose(taught(Unweighted(), [[0.6], [0.8]]).predict_proba(rows(3)), [[0.3, 0.7]] * 3)
    assert np.allclose(taught(Recording(), [[1.0], [1.0]]).predict_proba(rows(2)), [[0, 1]] * 2)
    three = taught(Unweighted(), [[0.9, -0.4, 0.3], [0.9, -0.2, 0.3]])
    assert np.allclose(three.predict_proba(rows(1)), [[0.75, 0, 0.25]])


CHANCE = np.random.default_rng(7)  # public
NUMBERS = CHANCE.normal(size=(400, 2))
TRUTH = expit(2 * NUMBERS[:, :1])
GAPPY = np.where(CHANCE.random((400, 2)) < 0.1, NAN, NUMBERS)
TEXTS = [None, *np.where(NUMBERS[1:, 0] > 0, "clerk", "smith").tolist()]


@pytest.mark.parametrize(
    "X", [csr_matrix(NUMBERS).tocoo(), pd.DataFrame(GAPPY, columns=["a", "b"]), pl.DataFrame({"a": TEXTS})]
)
def test_the_default_learns_from_every_kind_of_table(X):
    noisy = TRUTH + np.random.default_rng(8).normal(0, 0.15, (400, 1))
    noisy[::9] = NAN
    predicted = teach_scores(standard_soft_student(X), X, noisy, CLASSES).predict_proba(X)
    assert predicted.shape == (400, 2)
    assert ((predicted[:, 1:] - TRUTH) ** 2).mean() < ((TRUTH - TRUTH.mean()) ** 2).mean() / 2


@pytest.mark.parametrize("student", STUDENTS, ids=lambda s: type(s).__name__)
def test_probabilities_are_from_0_to_1_and_sum_to_1_however_noisy_the_scores(student):
    scores, before = np.random.default_rng(3).normal(0.3, 2, (400, 3)), pickle.dumps(student)
    probabilities = teach_scores(student, NUMBERS, scores, THREE).predict_proba(9 * NUMBERS)
    assert pickle.dumps(student) == before  # it is cloned
    assert (probabilities >= 0).all()
    assert np.allclose(probabilities.sum(axis=1), 1)


# Released answers


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


def counted(counts, classes=CLASSES, student=None):
    counts = np.array(counts)
    student = Recording() if student is None else student
    return teach(student, rows(len(counts)), answers(counts), classes)


@pytest.mark.parametrize(
    ("counts", "places", "labels", "excess"),
    [
        # With two labels a row is learned once, weighted by the lead.
        ([[9, 1], [3, 5], [100, -20], [0, 1]], [0, 1, 2, 3], ["no", "yes", "no", "yes"], [8, 2, 120, 1]),
        # With more, with each label whose count exceeds the row's mean, which of the first row is 3.
        ([[6, 0, 3], [9, 0, 0], [5, 4, 0]], [0, 1, 2, 2], ["a", "a", "a", "b"], [3, 6, 2, 1]),
        ([[9, 9, 9], [9, 9, 0], [0, 0, 5]], [1, 1, 2], ["a", "b", "c"], [3, 3, 10 / 3]),
    ],
)
def test_weights_are_leads_and_sum_to_the_number_of_answers(counts, places, labels, excess):
    classes = CLASSES if len(counts[0]) == 2 else THREE
    weights = np.array(excess) * len(counts) / np.sum(excess)
    assert_seen(counted(counts, classes), places, labels, weights)


def test_where_no_counts_are_released_all_answers_weigh_the_same():
    released = Answers.without_counts(np.array([0, -1, 2, 1]), 3)
    model = teach(Recording(), rows(4), released, THREE)
    assert_seen(model, [0, 2, 3], ["a", "c", "b"], [1, 1, 1])


def test_a_student_that_takes_no_weights_learns_the_labels_that_lead_every_row_once():
    student = Unweighted()
    model = counted([[9, 1, 8], [0, 0, 0], [0, 1, 0], [7, 7, 7]], THREE, student)
    assert_seen(model, [0, 2, 3], ["a", "b", "a"], None)
    assert not hasattr(student, "seen_")


@pytest.mark.parametrize("student", [Recording(), Unweighted(), LogisticRegression()], ids=repr)
def test_a_single_label_is_predicted_for_ever_and_without_an_answer_the_first(student):
    model = counted([[1, 9], [0, 0], [2, 3]], student=student)
    assert model.predict(rows(4)).tolist() == ["yes"] * 4
    assert model.classes_.tolist() == ["yes"]
    assert model.predict_proba(rows(2)).tolist() == [[1.0], [1.0]]
    for counts in ([[0, 0], [0, 0]], np.zeros((0, 2), dtype=int)):
        assert counted(counts, student=student).predict(rows(3)).tolist() == ["no"] * 3


@pytest.mark.parametrize("routing", [False, True])
def test_in_a_pipeline_weights_reach_the_last_step_and_no_other(routing):
    student = Pipeline([("scale", Scaling()), ("learn", Recording())])
    with sklearn.config_context(enable_metadata_routing=routing):
        model = counted([[9, 1], [3, 5]], student=student)
        assert sklearn.get_config()["enable_metadata_routing"] == routing
    assert model["learn"].seen_[1].tolist() == ["no", "yes"]
    assert np.allclose(model["learn"].seen_[2], [1.6, 0.4], rtol=1e-15)
    assert not model["scale"].got_weights_


# The curve of scores: noisy and unclipped ones are learned as they are

DICE = np.random.default_rng(0)
POINTS = DICE.normal(size=(2000, 3))
CURVE = expit(POINTS @ [2.0, -1.0, 0.0] + 0.5)
CURVES = softmax(POINTS @ [[2.0, 0, -1], [0, 1, 0], [0, 0, 1]], axis=1)


def test_labels_as_scores_give_the_logistic_regression_of_these_labels():
    y = (DICE.random(2000) < CURVE).astype(int)
    # Two columns share the height of one, each with half of it: the penalty is half of a single column's.
    other = LogisticRegression(C=0.02, tol=1e-8).fit(POINTS, y)
    curve = ScoreRegression(C=0.01).fit(POINTS, y.astype(float))
    assert np.abs(curve.predict(POINTS) - other.predict_proba(POINTS)[:, 1]).max() < 1e-3


@pytest.mark.parametrize("true", [CURVE, CURVES], ids=["two", "three"])
def test_scores_far_outside_of_0_and_1_do_not_bias_the_curve_but_clipped_they_do(true):
    noisy = true + np.random.default_rng(1).normal(0, 0.8, true.shape)
    extreme = true > 0.9
    bias = (ScoreRegression().fit(POINTS, noisy).predict(POINTS) - true)[extreme].mean()
    control = (ScoreRegression().fit(POINTS, noisy.clip(0, 1)).predict(POINTS) - true)[extreme].mean()
    assert abs(bias) < 0.03
    assert control < -0.1


@pytest.mark.parametrize("mean", [-0.3, 1.3])
def test_scores_that_no_probability_has_give_certainty(mean):
    probabilities = ScoreRegression().fit(POINTS, np.full(2000, mean)).predict(POINTS)
    assert np.abs(probabilities - round(mean)).max() < 1e-6
