"""A stack of teachers gives the answers of its teachers one by one; none changes the answer of another."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dplearn.learners.votes import batches
from dplearn.learners.votes import teachers as module
from dplearn.learners.votes.asked import Labels, Scores
from dplearn.learners.votes.batches import BatchedAsking, batched_training, can_be_stacked
from dplearn.learners.votes.teachers import LabelShares, answers_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
CLASSES = np.array(["no", "perhaps", "yes"])
OFFSETS = np.array([0.0, 1e3, -0.03, 0.0])
SPREADS = np.array([1.0, 50.0, 1e-3, 0.0])
QUERIES = OFFSETS + SPREADS * RNG.normal(size=(200, 4))
MODELS = {
    "logistic regression": LogisticRegression(),
    "naive Bayes": GaussianNB(),
    "ridge": RidgeClassifier(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(with_mean=False), GaussianNB()),
    "centred": make_pipeline(StandardScaler(with_std=False), RidgeClassifier()),
}


def fitted(model, n_labels=3, k=9, seed=1):
    """Return teachers on shards of few rows; from some, a label is absent."""
    shards = [shard_of(i, n_labels, seed) for i in range(k)]
    return [clone(model).fit(*shard) for shard in shards]


def shard_of(i, n_labels, seed=1):
    rng = np.random.default_rng([seed, i])
    codes = rng.integers(0, n_labels, size=20) if i % 3 else np.arange(20) % 2
    rows = OFFSETS + SPREADS * (rng.normal(size=(20, 4)) + 0.5 * codes[:, None])
    return rows, CLASSES[codes]


def one_by_one(monkeypatch, teachers, queries, asked):
    with monkeypatch.context() as patched:
        patched.setattr(module, "can_be_stacked", lambda queries: False)
        return answers_of(teachers, queries, asked)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("kind", [Labels, Scores])
@pytest.mark.parametrize("name", MODELS)
def test_a_stack_gives_the_answers_of_the_teachers_one_by_one(name, kind, n_labels, monkeypatch):
    teachers, asked = fitted(MODELS[name], n_labels), kind(CLASSES[:n_labels])
    stacked = BatchedAsking(QUERIES, asked).answers(teachers)
    scores_of_ridge = kind is Scores and name in ("ridge", "centred")
    assert stacked.known.all() == (not scores_of_ridge)
    assert stacked.doubtful.mean() < 0.01
    alone = one_by_one(monkeypatch, teachers, QUERIES, asked)
    assert answers_of(teachers, QUERIES, asked).tolist() == alone.tolist()
    assert len(np.unique(alone)) > 1 or scores_of_ridge


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("kind", [Labels, Scores])
@pytest.mark.parametrize("name", MODELS)
def test_fits_give_the_answers_of_the_estimators_made_of_them(name, kind, n_labels):
    shards = [shard_of(i, n_labels) for i in range(9)]
    labels = np.stack([labels for _, labels in shards])
    # In usual units, and without a constant column, all descents converge.
    units, noise = np.where(SPREADS > 0, SPREADS, 1), np.random.default_rng(0).normal(size=(*labels.shape, 4))
    rows = (np.stack([rows for rows, _ in shards]) - OFFSETS) / units + 0.1 * noise
    queries = (QUERIES - OFFSETS) / units
    fits = batched_training(MODELS[name], rows[0], CLASSES[:n_labels], len(rows)).fits(rows, labels)
    assert fits.valid.all()
    asked = BatchedAsking(queries, kind(CLASSES[:n_labels]))
    own, made = asked.answers_of_fits(fits), asked.answers([fits.teacher(i) for i in range(9)])
    assert own.known.tolist() == made.known.tolist()
    assert own.known.all() == (kind is Labels or name not in ("ridge", "centred"))
    sure = own.known[:, None] & ~own.doubtful & ~made.doubtful
    assert sure.sum() >= 0.98 * own.known.sum() * len(queries)
    assert own.answers[sure].tolist() == made.answers[sure].tolist()


def test_a_tie_is_decided_by_the_teacher_itself(monkeypatch):
    mirrored = np.array([[-1.0], [1.0]])
    queries, asked = np.array([[0.0, 0.0], [0.3, -3.0], [1.0, 2.0]]), Labels(np.array([0, 1]))
    for teachers, expected in (
        ([GaussianNB(var_smoothing=1).fit(mirrored * [1.0, 0.1], [0, 1])] * 3, [True, True, False]),
        ([LogisticRegression(C=1e-9).fit(np.zeros((4, 2)), [0, 0, 1, 1])] * 3, [True] * 3),
    ):
        assert BatchedAsking(queries, asked).answers(teachers).doubtful.tolist() == [expected] * 3
        alone = one_by_one(monkeypatch, teachers, queries, asked)
        assert answers_of(teachers, queries, asked).tolist() == alone.tolist()


def test_a_tie_of_the_two_likeliest_of_three_labels_is_doubtful_however_likely_they_are():
    rows = 1e-3 * np.array([[-1.0], [-1.5], [1.0], [1.5], [20.0], [20.5]])  # so densities exceed 1
    teachers = [GaussianNB().fit(rows, np.arange(6) // 2)] * 3
    found = BatchedAsking(np.array([[0.0], [1e-3], [2e-2]]), Labels(np.arange(3))).answers(teachers)
    assert found.doubtful.tolist() == [[True, False, False]] * 3


def test_a_lead_within_rounding_of_0_is_doubtful(monkeypatch):
    mirrored, codes = RNG.normal(size=(20, 8, 3)), np.arange(16) % 2
    rows = np.stack([mirrored, -mirrored], axis=2).reshape(20, 16, 3)
    queries, asked = np.vstack([np.zeros(3), RNG.normal(size=(9, 3)) + 7]), Labels(np.array([0, 1]))
    for model in (GaussianNB(), LogisticRegression(fit_intercept=False)):
        teachers = [clone(model).fit(own, codes) for own in rows]
        assert BatchedAsking(queries, asked).answers(teachers).doubtful[:, 0].all()
        alone = one_by_one(monkeypatch, teachers, queries, asked)
        assert answers_of(teachers, queries, asked).tolist() == alone.tolist()


def test_teachers_of_other_kinds_are_asked_one_by_one_among_the_others(monkeypatch):
    class Odd(LogisticRegression):
        def predict(self, X):
            return np.full(len(X), "perhaps")

    teachers = fitted(LogisticRegression())
    rows, labels = QUERIES[:20], CLASSES[np.arange(20) % 3]
    other = LogisticRegression().fit(rows, np.array(["no", "unheard of"])[np.arange(20) % 2])
    narrow = LogisticRegression().fit(rows[:, :2], labels)
    others = [Odd().fit(rows, labels), DecisionTreeClassifier().fit(rows, labels), None, other, narrow]
    teachers += [LabelShares(labels), LogisticRegression(), *others]
    known = BatchedAsking(QUERIES, Labels(CLASSES)).answers(teachers).known
    assert known.tolist() == [True] * 9 + [False] * 7
    for asked in (Labels(CLASSES), Scores(CLASSES)):
        alone = one_by_one(monkeypatch, teachers, QUERIES, asked)
        assert answers_of(teachers, QUERIES, asked).tolist() == alone.tolist()
    assert (answers_of(teachers, QUERIES, Labels(CLASSES))[11] == 1).all()


@pytest.mark.parametrize("kind", [Labels, Scores])
def test_steps_and_solvers_that_answer_in_another_way_are_asked_one_by_one(kind, monkeypatch):
    """Zeros are missing to this imputer, and another column says where they were; scores are of one label
    against all others for this solver.
    """
    queries, asked = np.where(QUERIES > OFFSETS, 0.0, QUERIES), kind(CLASSES[:2])
    for model, known in (
        (make_pipeline(SimpleImputer(missing_values=0.0, keep_empty_features=True), GaussianNB()), False),
        (make_pipeline(SimpleImputer(add_indicator=True), GaussianNB()), False),
        (LogisticRegression(solver="liblinear"), kind is Labels),
    ):
        teachers = fitted(model, 2, k=3)
        assert BatchedAsking(queries, asked).answers(teachers).known.tolist() == [known] * 3
        alone = one_by_one(monkeypatch, teachers, queries, asked)
        assert answers_of(teachers, queries, asked).tolist() == alone.tolist()


@pytest.mark.parametrize(
    ("queries", "stacked"),
    [
        (QUERIES, True),
        (QUERIES.astype(int), True),
        (QUERIES.astype(np.float32), False),
        (np.where(QUERIES > 0, np.nan, QUERIES), False),
        (QUERIES.astype(object), False),
        (csr_array(QUERIES), False),
        (pd.DataFrame(QUERIES), False),
        (QUERIES[:0], False),
    ],
)
def test_only_arrays_of_finite_numbers_are_asked_of_a_stack(queries, stacked):
    assert can_be_stacked(queries) == stacked


@pytest.mark.parametrize("name", MODELS)
def test_answers_do_not_depend_on_blocks_and_other_teachers(name, monkeypatch):
    teachers, asked = fitted(MODELS[name]), Labels(CLASSES)
    before = BatchedAsking(QUERIES, asked).answers(teachers)
    others = [teachers[0], None, *fitted(MODELS[name], seed=2)[2:]]
    model = others[2][-1] if hasattr(others[2], "steps") else others[2]
    for spoiled in ("coef_", "theta_"):
        if hasattr(model, spoiled):
            setattr(model, spoiled, np.full_like(getattr(model, spoiled), np.inf))
    with np.errstate(all="raise"):
        after = BatchedAsking(QUERIES, asked).answers(others)
    assert after.doubtful[2].all()
    assert after.answers[0].tolist() == before.answers[0].tolist()
    assert after.doubtful[0].tolist() == before.doubtful[0].tolist()
    monkeypatch.setattr(batches, "_SCORES", 200)
    blocks = BatchedAsking(QUERIES, asked).answers(teachers)
    assert blocks.answers.tolist() == before.answers.tolist()
