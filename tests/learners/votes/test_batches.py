"""Teachers that array programs train and ask are those of scikit-learn, and each is a function of its shard.

Descents end where no entry of the gradient exceeds `tol`: with a small one, at the same minimum.
"""

import pickle
import warnings
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dplearn.chance import PublicStream
from dplearn.learners.votes import (
    Labels,
    Scores,
    answers_of,
    batches,
    shards,
    standard_estimator,
    train_and_ask,
    train_teachers,
)
from dplearn.learners.votes import teachers as module
from dplearn.learners.votes.batches import (
    BatchedAsking,
    BatchedTraining,
    batched_training,
    can_be_stacked,
)
from dplearn.learners.votes.standard import CellColumns, NumberScaler, apart, standard_teacher
from dplearn.learners.votes.teachers import LabelShares

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

THREE, TWO = np.array(["no", "perhaps", "yes"]), np.array([0, 1])
DEFAULT = standard_estimator(np.zeros((1, 1)), C=10)
ESTIMATORS = {
    "the default": DEFAULT.set_params(logisticregression__tol=1e-8),
    "of cells": make_pipeline(SimpleImputer(), NumberScaler(1), LogisticRegression(tol=1e-8)),
    "logistic regression": LogisticRegression(tol=1e-8),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)),
    "naive Bayes": GaussianNB(),
    "ridge": RidgeClassifier(),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(with_mean=False), GaussianNB()),
    "centred": make_pipeline(StandardScaler(with_std=False), RidgeClassifier()),
    "without intercept": LogisticRegression(C=0.01, tol=1e-8, fit_intercept=False),
    "smooth": GaussianNB(var_smoothing=0.1),
    "ridge without intercept": RidgeClassifier(alpha=7.5, fit_intercept=False),
}
ASKED = list(ESTIMATORS)[:8]
TEACHERS = ASKED[:6]
each_number_of_labels = pytest.mark.parametrize("n_labels", [2, 3])


def arrays_of(teacher):
    """The bytes of a teacher's fitted arrays."""
    steps = [step for _, step in teacher.steps] if hasattr(teacher, "steps") else [teacher]
    arrays = [value for step in steps for value in vars(step).values()]
    return tuple(each.tobytes() for each in arrays if isinstance(each, (np.ndarray, np.floating)))


def one_by_one(monkeypatch, ask, *args, **how):
    """What is answered where no array program trains and asks."""
    with monkeypatch.context() as patched:
        patched.setattr(module, "batched_training", lambda *_: None)
        patched.setattr(module, "can_be_stacked", lambda queries: False)
        return ask(*args, **how)


# Fits of a stack of shards

N_SHARDS, D = 8, 5
RNG = np.random.default_rng(0)
CENTRES = 3 * RNG.normal(size=(3, D))


def stack_of(n_labels, m=24):
    """Return the rows and labels of shards, with some labels absent from the first if there are three."""
    codes = RNG.integers(0, n_labels, size=(N_SHARDS, m))
    codes[:, :n_labels] = np.arange(n_labels)
    if n_labels == 3:
        codes[0], codes[1] = codes[0] % 2, 2 * (codes[1] % 2)
    return CENTRES[codes] + RNG.normal(size=(N_SHARDS, m, D)), THREE[:n_labels][codes]


def taught(estimator, rows, labels):
    training = batched_training(estimator, rows[0], np.unique(labels), N_SHARDS)
    fits = training.fits(rows, labels)
    return [fits.teacher(i) for i in range(len(rows))]


def assert_same(one, other, path=""):
    """Assert that two fitted objects have the same attributes: of descents within `tol`, else to rounding."""
    if hasattr(one, "steps"):
        assert [name for name, _ in one.steps] == [name for name, _ in other.steps]
        for (name, mine), (_, theirs) in zip(one.steps, other.steps, strict=True):
            assert_same(mine, theirs, name)
        return
    assert type(one) is type(other)
    assert vars(one).keys() == vars(other).keys(), path
    for name, theirs in vars(other).items():
        mine = vars(one)[name]
        if hasattr(theirs, "__dict__") and not isinstance(theirs, np.ndarray):
            assert_same(mine, theirs, name)
        elif isinstance(theirs, (np.ndarray, np.floating)):
            assert np.shape(mine) == np.shape(theirs), name
            assert np.asarray(mine).dtype.kind == theirs.dtype.kind, name
            near = {"rtol": 1e-4, "atol": 1e-4} if hasattr(other, "n_iter_") else {"rtol": 1e-7, "atol": 1e-9}
            if name == "n_iter_":
                assert (mine > 0).all()
            elif theirs.dtype.kind in "fi":
                np.testing.assert_allclose(mine, theirs, err_msg=name, **near)
            else:
                assert mine.tolist() == theirs.tolist(), name
        else:
            assert type(mine) is type(theirs), name
            assert mine == theirs or mine != mine, name


def with_gaps(rows):
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    rows[3, :, 1] = np.nan


def with_constants(rows):
    rows[:, :, 0] = np.array([0, 0.1, 1e-300, -7, 1e6, 1 / 3, 5e-324, 1])[:, None]


FITTED = [(each, n_labels, 24, None) for each in ESTIMATORS.values() for n_labels in (2, 3)]
FITTED += [
    (RidgeClassifier(), 2, 4, None),  # more columns than rows: solved in the dual
    (make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(tol=1e-8)), 2, 24, with_gaps),
    (make_pipeline(StandardScaler(), GaussianNB()), 2, 24, with_constants),
]


@pytest.mark.parametrize(("estimator", "n_labels", "m", "change"), FITTED, ids=range(len(FITTED)))
def test_a_teacher_of_a_batch_has_every_attribute_of_its_own_fit(estimator, n_labels, m, change):
    rows, labels = stack_of(n_labels, m)
    if change is not None:
        change(rows)
    teachers = taught(estimator, rows, labels)
    assert [i for i, each in enumerate(teachers) if each is None] == ([3] if change is with_gaps else [])
    for i, teacher in enumerate(teachers):
        if teacher is not None:
            assert_same(teacher, clone(estimator).fit(rows[i], labels[i]))


@each_number_of_labels
def test_logistic_regressions_end_within_the_tolerance(n_labels):
    rows, labels = stack_of(n_labels, m=60)
    for i, teacher in enumerate(taught(LogisticRegression(C=10), rows, labels)):
        own = labels[i][:, None] == (teacher.classes_ if len(teacher.coef_) > 1 else teacher.classes_[1:])
        errors = teacher.predict_proba(rows[i])[:, -own.shape[1] :] - own
        assert abs(errors.T @ rows[i] / 60 + teacher.coef_ / (10 * 60)).max() <= 1.001e-4
        assert abs(errors.mean(axis=0)).max() <= 1.001e-4


def one_label(rows, labels):
    labels[2] = labels[2, 0]


def cell(value):
    return lambda rows, labels: rows[2].__setitem__((3, 1), value)


def column(change):
    return lambda rows, labels: rows[2].__setitem__((slice(None), 1), change(rows[2, :, 1]))


MANY, RIDGE = [*ESTIMATORS.values()], [RidgeClassifier()]
SPOILED = {
    "a single label": (one_label, MANY),
    "a missing value": (cell(np.nan), [ESTIMATORS[each] for each in TEACHERS[2:]]),
    "an infinite value": (cell(-np.inf), MANY),
    "a huge value": (cell(1e200), MANY),
    "a column that is constant but for rounding": (
        column(lambda cells: 1 + 5e-15 * (np.arange(24) % 3)),
        [ESTIMATORS["scaled"]],
    ),
    "a column whose variance underflows": (column(lambda cells: cells * 1e-170), [ESTIMATORS["scaled"]]),
    "an ill-conditioned matrix": (column(lambda cells: cells * 1e8), RIDGE),
    "a column far from 0": (column(lambda cells: 1e15 + np.arange(24) % 3), RIDGE),
    "no variance": (lambda rows, labels: rows.__setitem__(2, 3.0), [GaussianNB()]),
    "a slow descent": (
        column(lambda cells: 1000 + 300 * cells),
        [LogisticRegression(C=1e4, tol=1e-10, max_iter=9999)],
    ),
    "no penalty": (lambda rows, labels: rows.__setitem__(slice(None), 3.0), [RidgeClassifier(alpha=0)]),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_shard_whose_fit_is_uncertain_is_left_to_scikit_learn_and_changes_no_other(how):
    change, estimators = SPOILED[how]
    for estimator in estimators:
        rows, labels = stack_of(2)
        before = taught(estimator, rows, labels)
        spoiled = rows.copy(), labels.copy()
        change(*spoiled)
        with np.errstate(all="raise"):
            after = taught(estimator, *spoiled)
        assert after[2] is None
        if how != "no penalty":
            assert [i for i in range(N_SHARDS) if after[i] is None] == [2]
            others = [i for i in range(N_SHARDS) if i != 2]
            assert [arrays_of(after[i]) for i in others] == [arrays_of(before[i]) for i in others]


def test_teachers_share_no_array():
    teachers = taught(make_pipeline(StandardScaler(), RidgeClassifier()), *stack_of(3))
    arrays = [
        value
        for teacher in teachers
        for step in (teacher[0], teacher[1], teacher[1]._label_binarizer)
        for name, value in vars(step).items()
        if isinstance(value, np.ndarray) and name != "classes_"
    ]
    for i, one in enumerate(arrays):
        assert one.base is None or one.base.size == one.size
        assert not any(np.shares_memory(one, other) for other in arrays[:i])


# Answers of a stack of teachers

OFFSETS = np.array([0.0, 1e3, -0.03, 0.0])
SPREADS = np.array([1.0, 50.0, 1e-3, 0.0])
MANY_QUERIES = OFFSETS + SPREADS * RNG.normal(size=(200, 4))


def fitted(model, n_labels=3, k=9, seed=1):
    """Return teachers on shards of few rows; from some, a label is absent."""
    found = []
    for i in range(k):
        rng = np.random.default_rng([seed, i])
        codes = rng.integers(0, n_labels, size=20) if i % 3 else np.arange(20) % 2
        rows = OFFSETS + SPREADS * (rng.normal(size=(20, 4)) + 0.5 * codes[:, None])
        found.append(clone(model).fit(rows, THREE[codes]))
    return found


def assert_answers_of_one_by_one(monkeypatch, teachers, queries, asked):
    alone = one_by_one(monkeypatch, answers_of, teachers, queries, asked)
    assert answers_of(teachers, queries, asked).tolist() == alone.tolist()
    return alone


@each_number_of_labels
@pytest.mark.parametrize("kind", [Labels, Scores])
@pytest.mark.parametrize("name", ASKED[1:])
def test_a_stack_gives_the_answers_of_the_teachers_one_by_one(name, kind, n_labels, monkeypatch):
    teachers, asked = fitted(ESTIMATORS[name], n_labels), kind(THREE[:n_labels])
    stacked = BatchedAsking(MANY_QUERIES, asked).answers(teachers)
    scores_of_ridge = kind is Scores and name in ("ridge", "centred")
    assert stacked.known.all() == (not scores_of_ridge)
    assert stacked.doubtful.mean() < 0.01
    alone = assert_answers_of_one_by_one(monkeypatch, teachers, MANY_QUERIES, asked)
    assert len(np.unique(alone)) > 1 or scores_of_ridge


def test_a_lead_within_rounding_of_0_is_doubtful_and_decided_by_the_teacher_itself(monkeypatch):
    mirrored, codes = RNG.normal(size=(20, 8, 3)), np.arange(16) % 2
    rows = np.stack([mirrored, -mirrored], axis=2).reshape(20, 16, 3)
    queries = np.vstack([np.zeros(3), RNG.normal(size=(9, 3)) + 7])
    for model, k in product((GaussianNB(), LogisticRegression(fit_intercept=False)), (2, 3)):
        # Of three labels, every other teacher knows the last two, and says the second where they are level.
        teachers = [clone(model).fit(own, codes + (k - 2) * (i % 2)) for i, own in enumerate(rows)]
        asked = Labels(np.arange(k))
        assert BatchedAsking(queries, asked).answers(teachers).doubtful[:, 0].all()
        alone = assert_answers_of_one_by_one(monkeypatch, teachers, queries, asked)
        assert set(alone[:, 0]) == set(range(k - 1))


class Odd(LogisticRegression):
    def predict(self, X):
        return np.full(len(X), "perhaps")


def test_teachers_of_other_kinds_are_asked_one_by_one_among_the_others(monkeypatch):
    rows, labels = MANY_QUERIES[:20], THREE[np.arange(20) % 3]
    other = LogisticRegression().fit(rows, np.array(["no", "unheard of"])[np.arange(20) % 2])
    narrow = LogisticRegression().fit(rows[:, :2], labels)
    others = [Odd().fit(rows, labels), DecisionTreeClassifier().fit(rows, labels), None, other, narrow]
    teachers = [*fitted(LogisticRegression()), LabelShares(labels), LogisticRegression(), *others]
    known = BatchedAsking(MANY_QUERIES, Labels(THREE)).answers(teachers).known
    assert known.tolist() == [True] * 9 + [False] * 7
    for asked in (Labels(THREE), Scores(THREE)):
        assert_answers_of_one_by_one(monkeypatch, teachers, MANY_QUERIES, asked)


@pytest.mark.parametrize("kind", [Labels, Scores])
def test_steps_and_solvers_that_answer_in_another_way_are_asked_one_by_one(kind, monkeypatch):
    """Zeros are missing to this imputer, and another column says where they were; scores are of one label
    against all others for this solver.
    """
    queries, asked = np.where(MANY_QUERIES > OFFSETS, 0.0, MANY_QUERIES), kind(THREE[:2])
    for model, known in (
        (make_pipeline(SimpleImputer(missing_values=0.0, keep_empty_features=True), GaussianNB()), False),
        (make_pipeline(SimpleImputer(add_indicator=True), GaussianNB()), False),
        (LogisticRegression(solver="liblinear"), kind is Labels),
    ):
        teachers = fitted(model, 2, k=3)
        assert BatchedAsking(queries, asked).answers(teachers).known.tolist() == [known] * 3
        assert_answers_of_one_by_one(monkeypatch, teachers, queries, asked)


@pytest.mark.parametrize("name", ASKED[1:])
def test_answers_do_not_depend_on_blocks_and_other_teachers(name, monkeypatch):
    teachers, asked = fitted(ESTIMATORS[name]), Labels(THREE)
    before = BatchedAsking(MANY_QUERIES, asked).answers(teachers)
    others = [teachers[0], None, *fitted(ESTIMATORS[name], seed=2)[2:]]
    model = others[2][-1] if hasattr(others[2], "steps") else others[2]
    spoiled = "coef_" if hasattr(model, "coef_") else "theta_"
    setattr(model, spoiled, np.full_like(getattr(model, spoiled), np.inf))
    with np.errstate(all="raise"):
        after = BatchedAsking(MANY_QUERIES, asked).answers(others)
    assert after.doubtful[2].all()
    assert after.answers[0].tolist() == before.answers[0].tolist()
    assert after.doubtful[0].tolist() == before.doubtful[0].tolist()
    monkeypatch.setattr(batches, "SCORES", 200)
    blocks = BatchedAsking(MANY_QUERIES, asked).answers(teachers)
    assert blocks.answers.tolist() == before.answers.tolist()


# Training and asking

DATA = {
    "breast cancer": (28, lambda: load_breast_cancer(return_X_y=True)),
    "iris": (14, lambda: load_iris(return_X_y=True)),
    "wine": (16, lambda: load_wine(return_X_y=True)),
    "digits": (80, lambda: load_digits(return_X_y=True)),
    "made": (60, lambda: make_classification(1200, 12, n_informative=5, random_state=0)),
    "made of three": (
        40,
        lambda: make_classification(900, 8, n_informative=5, n_classes=3, random_state=0),
    ),
}


#: On columns of very different scales, many descents are too long.
SLOW = ("the default", "logistic regression")


def split(name):
    size, load = DATA[name]
    X, y = load()
    order = PublicStream(0).permutation(len(X))
    asked, rest = order[: len(X) // 5], order[len(X) // 5 :]
    n_shards = min(len(rest) // size, 16)
    return X, y, [rest[i * size : (i + 1) * size] for i in range(n_shards)], X[asked]


def counting(monkeypatch):
    """Count the shards that are trained in batches, and those that are trained alone."""
    counts, real, alone = [0, 0], BatchedTraining.fits, module.fitted_teacher

    def fits(*args):
        given = real(*args)
        counts[0] += int(given.valid.sum())
        return given

    def trained(*args):
        counts[1] += 1
        return alone(*args)

    monkeypatch.setattr(BatchedTraining, "fits", fits)
    monkeypatch.setattr(module, "fitted_teacher", trained)
    return counts


@pytest.mark.parametrize("base", [None, 5], ids=["equal lengths", "filled up"])
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(each, marks=[pytest.mark.nightly] * (each in ("breast cancer", "digits")))
        for each in DATA
    ],
)
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.nightly] * (each in SLOW)) for each in ASKED]
)
def test_votes_are_those_of_teachers_trained_one_by_one(name, data, base, monkeypatch):
    X, y, cut, queries = split(data)
    if base:
        cut = [shard[: len(shard) - 3 * (place % 5)] for place, shard in enumerate(cut)]
    all_numbers = {"numberscaler__n_numbers": X.shape[1]} if name == "of cells" else {}
    estimator = clone(ESTIMATORS[name]).set_params(**all_numbers)
    counts, labels = counting(monkeypatch), np.unique(y)
    given, how = (estimator, X, y, cut), {"queries": queries, "seeds": range(len(cut))}
    votes = train_and_ask(*given, asked=Labels(labels), base=base, **how)
    if name not in SLOW:
        assert counts[0] >= 0.8 * len(cut)
    assert sum(counts) >= len(cut)
    alone = one_by_one(monkeypatch, train_and_ask, *given, asked=Labels(labels), **how)
    assert (votes != alone).mean() <= 1e-4
    scores = train_and_ask(*given, asked=Scores(labels), base=base, **how).astype(int)
    alone = one_by_one(monkeypatch, train_and_ask, *given, asked=Scores(labels), **how)
    assert (scores != alone).mean() <= 0.01
    assert abs(scores - alone).max() <= 1


# One record

K, M = 12, 10
N = K * M
NUMBERS = np.random.default_rng(0).normal(size=(N, 3))
CODES = (NUMBERS[:, 0] + 0.3 * np.random.default_rng(1).normal(size=N) > 0).astype(int)
SHARDS = shards(N, K, PublicStream(0))
QUERIES = np.random.default_rng(2).normal(size=(40, 3))
HOW = {"queries": QUERIES, "asked": Labels(TWO), "seeds": range(K)}


def fingerprints(estimator, X, y):
    """Return the bytes of each teacher's fitted arrays, and its votes and scores."""
    given = train_teachers(estimator, X, y, SHARDS, seeds=range(K), classes=TWO)
    prints = [[type(teacher), *arrays_of(teacher)] for teacher in given]
    for kind in (Labels, Scores):
        votes = train_and_ask(estimator, X, y, SHARDS, **HOW | {"asked": kind(TWO)})
        for own, vote in zip(prints, votes, strict=True):
            own.append(vote.tobytes())
    return prints


def changed_teachers(estimator, replacements):
    """Return which teachers change with each replacement of the first record of the third shard."""
    before, place = fingerprints(estimator, NUMBERS, CODES), SHARDS[2][0]
    changed = []
    for row, code in replacements:
        X, y = NUMBERS.copy(), CODES.copy()
        X[place], y[place] = row, code
        after = fingerprints(estimator, X, y)
        changed.append({i for i in range(K) if before[i] != after[i]})
    return changed


OTHERS = [([5.0, -3.0, 0.1], 1), (np.nan, 0), (np.inf, 1), (1e300, 0), (-1e-300, 1), (1e9, 1), (0.0, 0)]


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.nightly] * (each == "scaled")) for each in TEACHERS]
)
def test_a_record_changes_no_bit_of_another_shards_teacher(name):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert changed_teachers(ESTIMATORS[name], OTHERS) == [{2}] * len(OTHERS)


def test_an_early_stop_that_shards_share_is_noticed(monkeypatch):
    real = batches.flat
    monkeypatch.setattr(batches, "flat", lambda *each: np.full(len(each[0]), real(*each).all()))
    assert changed_teachers(LogisticRegression(), OTHERS[:1]) != [{2}]


def test_a_scale_that_shards_share_is_noticed(monkeypatch):
    real = batches.fit_naive_bayes

    def shared(parameters, stack):
        fitted = real(parameters, stack)
        fitted.by_label["var_"] += 1e-15 * stack.rows.var()
        return fitted

    monkeypatch.setitem(batches.MODELS, "GaussianNB", shared)
    assert changed_teachers(GaussianNB(), OTHERS[:1]) != [{2}]


@pytest.mark.parametrize("name", ["logistic regression", "scaled", "naive Bayes", "ridge"])
def test_every_subset_of_shards_has_the_teachers_that_scikit_learn_fits_one_at_a_time(name, monkeypatch):
    """Brute force: no teacher has another bit for those that are trained beside it, or for its place among so
    many; how many they are is public.
    """
    monkeypatch.setattr(batches, "FEWEST_SHARDS", 1)
    estimator, counts = ESTIMATORS[name], counting(monkeypatch)
    alone = [clone(estimator).fit(NUMBERS[shard], CODES[shard]).predict(QUERIES) for shard in SHARDS[:3]]
    bits = {}
    for size in range(1, 4):
        for members in permutations(range(3), size):
            given = estimator, NUMBERS, CODES, [SHARDS[member] for member in members]
            trained = train_teachers(*given, seeds=members, classes=TWO)
            votes = train_and_ask(*given, **HOW | {"seeds": members})
            for member, teacher, vote in zip(members, trained, votes, strict=True):
                assert vote.tolist() == alone[member].tolist()
                bits.setdefault((member, size), set()).add(arrays_of(teacher))
    assert {len(seen) for seen in bits.values()} == {1}
    assert counts[0] > 3 * counts[1]


# Where they are trained


def test_workers_give_the_same_votes_and_count_every_teacher():
    told, given = [], (GaussianNB(), NUMBERS, CODES, SHARDS)
    votes = train_and_ask(*given, progress=told.append, **HOW)
    assert sum(told) == K
    assert train_and_ask(*given, n_jobs=2, **HOW).tolist() == votes.tolist()
    trained = train_teachers(*given, seeds=range(K), classes=TWO, n_jobs=2)
    assert answers_of(trained, QUERIES, Labels(TWO)).tolist() == votes.tolist()


def test_shards_of_unequal_lengths_and_without_rows_are_trained_in_order(monkeypatch):
    cut = [*SHARDS[:5], SHARDS[5][:1], *(shard[:7] for shard in SHARDS[6:]), np.arange(0)]
    given, how = (GaussianNB(), NUMBERS, CODES, cut), HOW | {"seeds": range(len(cut))}
    votes = train_and_ask(*given, **how)
    assert votes.tolist() == one_by_one(monkeypatch, train_and_ask, *given, **how).tolist()
    assert (votes[-1] == -1).all()
    trained = train_teachers(*given, seeds=range(len(cut)), classes=TWO)
    assert isinstance(trained[5], LabelShares)
    assert trained[-1] is None


# The choice

X2 = np.zeros((3, 2))


def chosen(estimator, table=X2, classes=TWO, n_shards=50):
    return batched_training(estimator, table, classes, n_shards) is not None


class Sub(GaussianNB):
    pass


OTHERS_ALONE = [Sub(), DecisionTreeClassifier(), GaussianNB(priors=[0.5, 0.5]), GaussianNB(var_smoothing=-1)]
OTHERS_ALONE += [LogisticRegression(class_weight="balanced"), LogisticRegression(solver="newton-cg")]
OTHERS_ALONE += [LogisticRegression(l1_ratio=0.5), LogisticRegression(warm_start=True)]
OTHERS_ALONE += [LogisticRegression(C=-1.0), RidgeClassifier(solver="svd"), RidgeClassifier(positive=True)]
OTHERS_ALONE += [RidgeClassifier(alpha=np.array([1.0])), RidgeClassifier(class_weight={0: 2}), Pipeline([])]
OTHERS_ALONE += [
    make_pipeline(each, GaussianNB())
    for each in (
        SimpleImputer(strategy="median"),
        SimpleImputer(add_indicator=True),
        MinMaxScaler(),
        "passthrough",
    )
]
OTHERS_ALONE += [make_pipeline(StandardScaler(), Sub())]
OTHER_TABLES = [X2.astype(object), csr_array(X2), pd.DataFrame(X2), X2.astype("U"), X2[:, :0]]
OTHER_TABLES += [np.ma.array(X2), X2.astype(np.float32)]


def test_all_other_estimators_and_tables_are_trained_one_by_one():
    assert all(chosen(each) for each in ESTIMATORS.values())
    assert chosen(LogisticRegression(C=3, tol=1e-3, max_iter=7, fit_intercept=False, random_state=3))
    assert not any(chosen(each) for each in OTHERS_ALONE)
    assert not any(chosen(GaussianNB(), table) for table in OTHER_TABLES)
    assert all(chosen(GaussianNB(), X2.astype(kind)) for kind in (np.float64, np.int8, np.uint64, bool))
    assert not chosen(GaussianNB(), n_shards=7)
    for classes in (["a", "b"], np.array(["a", "b"], dtype=object), [False, True], [-1.0, 1.0, 3.0]):
        assert chosen(GaussianNB(), classes=np.array(classes))
    for classes in ([0.5, 1.0], np.array([1, "b"], dtype=object), [1]):
        assert not chosen(GaussianNB(), classes=np.array(classes))
    assert not chosen(GaussianNB(), classes=None)


def test_only_arrays_of_finite_numbers_are_asked_of_a_stack():
    assert can_be_stacked(MANY_QUERIES)
    assert can_be_stacked(MANY_QUERIES.astype(int))
    gaps = np.where(MANY_QUERIES > 0, np.nan, MANY_QUERIES)
    for other in (*OTHER_TABLES, gaps, MANY_QUERIES[:0]):
        assert not can_be_stacked(other)


# Blocks of private lengths


def of_private_lengths(estimator, cut):
    return train_teachers(estimator, NUMBERS, CODES, cut, seeds=range(len(cut)), classes=TWO, base=3)


@pytest.mark.parametrize("name", TEACHERS)
def test_lengths_of_other_shards_change_no_bit_of_a_teacher(name, monkeypatch):
    """So lengths of shards may be private, and the shapes of array programs are public."""
    estimator, shapes, real = ESTIMATORS[name], set(), BatchedTraining.fits

    def fits(self, rows, labels, own=None):
        shapes.add(rows.shape)
        return real(self, rows, labels, own)

    monkeypatch.setattr(BatchedTraining, "fits", fits)
    whole = of_private_lengths(estimator, SHARDS)
    assert shapes == {(K, 12, 3)}
    cut = [shard[: len(shard) - [0, 5, 1, 8][place % 4]] for place, shard in enumerate(SHARDS)]
    cut[1] = np.concatenate([SHARDS[1], SHARDS[2], SHARDS[3]])  # longer than any place
    other = of_private_lengths(estimator, cut)
    assert shapes == {(K, 3, 3), (K, 6, 3), (K, 12, 3), (1, 30, 3)}
    for place in range(0, K, 4):
        assert pickle.dumps(whole[place]) == pickle.dumps(other[place])


def test_default_teachers_of_texts_are_trained_in_batches():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(size=900), "t": generator.choice(list("uvwx"), 900)})
    y = np.where(frame["t"] == "u", frame["a"] > 0, frame["a"] < 0).astype(int)
    columns, model = apart(standard_teacher(frame))
    rows, cut, how = columns.transform(frame), np.array_split(np.arange(900), 45), {"classes": TWO}
    assert batched_training(model, rows[:0], TWO, 45) is not None
    together = train_teachers(standard_teacher(frame), frame, y, cut, seeds=range(45), **how)
    for teacher, shard in zip(together, cut, strict=True):
        alone = clone(model).fit(rows[shard], y[shard])
        np.testing.assert_allclose(teacher.decision_function(rows), alone.decision_function(rows), atol=0.05)
    given = answers_of(together, frame[::-1], Labels(TWO), columns)
    assert (given == [teacher.predict(rows[::-1]) for teacher in together]).all()


def test_cells_are_read_row_by_row():
    frame = pd.DataFrame(
        {"a": [1.5, np.nan, -np.inf], "t": ["u", None, ""], "c": [7, "u", None]}, dtype=object
    )
    columns, columns_of_texts = CellColumns(("number", "text", "cell")), CellColumns(("text",))
    rows = columns.transform(frame)
    assert rows.shape == (3, 2 + 2 * 16)
    for place in range(3):
        np.testing.assert_array_equal(columns.transform(frame[place : place + 1]), rows[place : place + 1])
        np.testing.assert_array_equal(columns.transform(frame.to_numpy()[place : place + 1])[0], rows[place])
    np.testing.assert_array_equal(rows[:, :2], [[1.5, 7], [np.nan, 0], [np.nan, 0]])
    texts, cells = rows[:, 2:18], rows[:, 18:]
    assert texts.sum(axis=1).tolist() == [1, 1, 1]
    assert cells.sum(axis=1).tolist() == [0, 1, 1]  # a number is no text
    assert texts[:, 0].tolist() == [0, 1, 1]  # missing values and empty texts are alike
    np.testing.assert_array_equal(cells[1], texts[0])
    for dtype in (np.float16, np.float32, np.float64):
        found = CellColumns(("number",)).transform(np.array([[1.5], [np.inf], [np.nan]], dtype=dtype))
        np.testing.assert_array_equal(found, [[1.5], [np.nan], [np.nan]])
    odd = np.array([frozenset("uv"), object()], dtype=object)[:, None]  # the text of either may change
    one, same = (columns_of_texts.transform(cells) for cells in (odd, np.array([["frozenset"], ["object"]])))
    np.testing.assert_array_equal(one, same)
