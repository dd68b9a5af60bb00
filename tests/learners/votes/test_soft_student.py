"""Students of all kinds learn probabilities from released scores."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVC

from dplearn.learners.votes.student import SoftStudent, standard_soft_student, teach_scores

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


# Classifiers that take weights


def test_every_answered_row_is_learned_with_each_label_weighted_by_its_score():
    model = taught(Recording(), [[0.25], [NAN], [0.5], [1.0]])
    X, y, weights = model.scorer.fitted.seen_
    assert X.ravel().tolist() == [0, 2, 0, 2, 3]
    assert y.tolist() == ["no", "no", "yes", "yes", "yes"]
    assert weights.tolist() == [0.75, 0.5, 0.25, 0.5, 1.0]
    assert np.allclose(model.predict_proba(rows(2)), [[5 / 12, 7 / 12]] * 2)


def test_with_more_labels_scores_are_shifted_to_a_sum_of_one():
    _, y, weights = taught(Recording(), [[0.5, 0.3, 0.2], [0.4, 0.4, 0.5]]).scorer.fitted.seen_
    assert y.tolist() == ["a", "a", "b", "b", "c", "c"]
    assert np.allclose(weights, [0.5, 0.3, 0.3, 0.3, 0.2, 0.4])


@pytest.mark.parametrize("n_labels", [2, 3, 6])
def test_noisy_scores_are_learned_without_bias_although_no_weight_is_negative(n_labels):
    chance = np.random.default_rng(n_labels)
    true = np.full(n_labels, 0.01 / (n_labels - 1))
    true[-1] = 0.99
    scores = np.tile(true[1:] if n_labels == 2 else true, (20_000, 1))
    scores += chance.normal(0, 0.5, scores.shape)
    model = taught(Recording(), scores, np.arange(n_labels))
    assert (model.scorer.fitted.seen_[2] > 0).all()
    clipped = taught(Recording(), scores.clip(0, 1), np.arange(n_labels))  # the control
    assert model.predict_proba(rows(1))[0, -1] > 0.93
    assert clipped.predict_proba(rows(1))[0, -1] < 0.88


def test_a_label_of_which_no_score_is_positive_gets_no_probability():
    model = taught(Recording(), [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])
    assert np.allclose(model.predict_proba(rows(1)), [[0.375, 0.625, 0.0]])


def test_weights_reach_the_last_step_of_a_pipeline_and_no_other():
    student = Pipeline([("scale", StandardScaler()), ("learn", Recording())])
    fitted = taught(student, [[0.25], [0.75], [1.0]]).scorer.fitted
    assert fitted["learn"].seen_[2].tolist() == [0.75, 0.25, 0.25, 0.75, 1.0]
    weighed = np.array([0, 1, 0, 1, 2])
    assert fitted["scale"].mean_ == pytest.approx(weighed.mean())


def test_a_classifier_that_only_predicts_labels_is_certain_of_them():
    model = taught(LinearSVC(), [[0.0], [0.1], [0.9], [1.0]])
    assert model.predict_proba(rows(4)).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]


# Classifiers without weights


def test_a_classifier_that_takes_no_weights_learns_the_likelier_label():
    X, y, weights = taught(Unweighted(), [[-0.2], [0.5], [NAN], [0.6], [1.7]]).scorer.fitted.seen_
    assert sorted(zip(X.ravel().tolist(), y.tolist(), strict=True)) == [
        (0, "no"),
        (1, "no"),
        (3, "yes"),
        (4, "yes"),
    ]
    assert weights is None


# Regressors


def test_a_regressor_learns_unclipped_scores_of_the_rows_that_were_answered():
    X, y = taught(Mean(), [[-0.5], [NAN], [1.5]]).scorer.fitted[0].seen_
    assert X.ravel().tolist() == [0, 2]
    assert y.tolist() == [-0.5, 1.5]


def test_with_two_labels_predictions_are_clipped():
    model = teach_scores(LinearRegression(), rows(3), np.array([[0.0], [0.5], [1.0]]), CLASSES)
    predicted = model.predict_proba(np.array([[-5.0], [0.5], [9.0]]))
    assert np.allclose(predicted, [[1, 0], [0.75, 0.25], [0, 1]])


def test_with_more_labels_there_is_a_clone_for_each_and_predictions_are_normalised():
    model = taught(Mean(), [[0.4, 0.2, -0.4], [0.0, 0.2, 0.2]])
    assert [one.seen_[1].tolist() for one in model.scorer.fitted] == [[0.4, 0], [0.2, 0.2], [-0.4, 0.2]]
    assert np.allclose(model.predict_proba(rows(2)), [[0.5, 0.5, 0.0]] * 2)


def test_where_all_predictions_are_clipped_to_0_all_labels_are_alike():
    model = taught(Mean(scale=-1), [[0.4, 0.2, 0.4]])
    assert np.allclose(model.predict_proba(rows(1)), 1 / 3)


@pytest.mark.parametrize(
    "student", [KNeighborsRegressor(1), make_pipeline(StandardScaler(), KNeighborsRegressor(1))]
)
def test_a_regressor_of_many_numbers_is_fitted_once(student):
    scores = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    model = taught(student, scores)
    assert len(model.scorer.fitted) == 1
    assert np.allclose(model.predict_proba(rows(2)), scores)


def test_noise_does_not_bias_a_regressor_but_would_if_scores_were_clipped():
    chance = np.random.default_rng(1)
    X = chance.random((8000, 1))
    scores = 0.1 * X + chance.normal(0, 0.5, (8000, 1))  # from 0 to 0.1
    mean = teach_scores(Ridge(), X, scores, CLASSES).predict_proba(X)[:, 1].mean()
    control = teach_scores(Ridge(), X, scores.clip(0, 1), CLASSES).predict_proba(X)[:, 1].mean()
    assert mean == pytest.approx(0.05, abs=0.02)  # four standard errors, 0.5 / sqrt(8000) each
    assert control > 0.15


# Few answers

STUDENTS = [Recording(), Unweighted(), LogisticRegression(), Ridge(), SVR(), standard_soft_student(rows(1))]


@pytest.mark.parametrize("student", STUDENTS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("classes", [CLASSES, THREE], ids=len)
@pytest.mark.parametrize("number", [0, 3])
def test_without_an_answer_all_labels_are_alike(student, classes, number):
    scores = np.full((number, 1 if len(classes) == 2 else 3), NAN)
    model = teach_scores(student, rows(5), scores, classes)
    assert np.allclose(model.predict_proba(rows(4)), np.full((4, len(classes)), 1 / len(classes)))


def test_a_row_of_which_some_scores_are_missing_teaches_nothing():
    X, _, _ = taught(Unweighted(), [[1, 0, 0], [NAN, 0, 1], [0, 1, 0]]).scorer.fitted.seen_
    assert sorted(X.ravel().tolist()) == [0, 2]


def test_a_single_label_is_predicted_with_the_mean_of_its_scores():
    assert np.allclose(taught(Unweighted(), [[0.6], [0.8]]).predict_proba(rows(3)), [[0.3, 0.7]] * 3)
    assert np.allclose(taught(Recording(), [[1.0], [1.0]]).predict_proba(rows(2)), [[0, 1]] * 2)
    three = taught(Unweighted(), [[0.9, -0.4, 0.3], [0.9, -0.2, 0.3]])
    assert np.allclose(three.predict_proba(rows(1)), [[0.75, 0, 0.25]])


# The default, and tables

CHANCE = np.random.default_rng(7)  # public
NUMBERS = CHANCE.normal(size=(400, 2))
TRUTH = expit(2 * NUMBERS[:, :1])
TEXTS = np.where(NUMBERS[:, 0] > 0, "clerk", "smith")
WITH_NONE = [None, *TEXTS[1:].tolist()]
GAPPY = np.where(CHANCE.random((400, 2)) < 0.1, NAN, NUMBERS)


@pytest.mark.parametrize(
    "X",
    [
        NUMBERS,
        GAPPY,
        csr_matrix(NUMBERS),
        csr_array(NUMBERS),
        csr_matrix(NUMBERS).tocoo(),
        pd.DataFrame(GAPPY, columns=["one", "two"]),
        pd.DataFrame({"text": WITH_NONE, "number": NUMBERS[:, 1]}),
        pd.DataFrame({"text": pd.Categorical(TEXTS)}),
        pl.DataFrame({"text": WITH_NONE, "number": NUMBERS[:, 1]}),
    ],
    ids=["array", "gaps", "csr", "csr array", "coo", "frame with gaps", "texts", "categories", "polars"],
)
def test_the_default_learns_from_every_kind_of_table(X):
    noisy = TRUTH + np.random.default_rng(8).normal(0, 0.15, (400, 1))
    noisy[::9] = NAN
    model = teach_scores(standard_soft_student(X), X, noisy, CLASSES)
    predicted = model.predict_proba(X)
    assert predicted.shape == (400, 2)
    assert ((predicted[:, 1:] - TRUTH) ** 2).mean() < ((TRUTH - TRUTH.mean()) ** 2).mean() / 2


def test_the_default_learns_three_labels_at_once():
    scores = np.hstack([TRUTH * 0.6, TRUTH * 0.4, 1 - TRUTH])
    model = teach_scores(standard_soft_student(NUMBERS), NUMBERS, scores, THREE)
    assert len(model.scorer.fitted) == 1
    assert np.abs(model.predict_proba(NUMBERS) - scores).max() < 0.01


def test_the_default_is_blind_to_texts_that_it_has_not_seen():
    frame = pd.DataFrame({"text": TEXTS})
    model = teach_scores(standard_soft_student(frame), frame, TRUTH, CLASSES)
    assert 0.2 < model.predict_proba(pd.DataFrame({"text": ["baker"]}))[0, 1] < 0.8


# The returned student


@pytest.mark.parametrize("student", [StandardScaler(), Ridge, object(), "ridge", None], ids=repr)
def test_a_student_that_is_neither_a_classifier_nor_a_regressor_is_refused(student):
    with pytest.raises(TypeError, match="student must be a classifier or a regressor"):
        taught(student, [[0.5]])


@pytest.mark.parametrize(
    ("scores", "classes", "message"),
    [
        *((np.zeros(shape), CLASSES, r"\(m, 1\) for 2") for shape in [(3,), (3, 2), (6, 1), (3, 1, 1)]),
        *((np.zeros((5, k)), THREE, r"scores must be of shape \(m, 3\) for 3 labels") for k in (1, 2, 4)),
        (np.array([[0.1], [np.inf]]), CLASSES, "scores must be finite, or nan"),
        (np.zeros((1, 1)), THREE[:1], "classes must be at least two labels, got 1"),
    ],
    ids=range(9),
)
def test_scores_of_a_wrong_shape_or_infinite_ones_are_refused(scores, classes, message):
    with pytest.raises(ValueError, match=message):
        teach_scores(Ridge(), rows(5), scores, classes)


@pytest.mark.parametrize("student", STUDENTS, ids=lambda s: type(s).__name__)
def test_the_given_student_is_never_fitted(student):
    before = set(vars(student)), set(vars(getattr(student, "steps", [("", student)])[-1][1]))
    assert isinstance(teach_scores(student, NUMBERS, TRUTH, CLASSES), SoftStudent)
    assert before == (set(vars(student)), set(vars(getattr(student, "steps", [("", student)])[-1][1])))


@pytest.mark.parametrize("student", STUDENTS, ids=lambda s: type(s).__name__)
def test_probabilities_are_from_0_to_1_and_sum_to_1_however_noisy_the_scores(student):
    scores = np.random.default_rng(3).normal(0.3, 2, (400, 3))
    probabilities = teach_scores(student, NUMBERS, scores, THREE).predict_proba(9 * NUMBERS)
    assert (probabilities >= 0).all()
    assert np.allclose(probabilities.sum(axis=1), 1)


# Refusals
