"""Logistic regressions of an array program are those of scikit-learn, and each is a function of its shard.

Descents end where no entry of the gradient exceeds `tol`: with a small one, at the same minimum.
"""

import pickle
import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from dplearn.chance import PublicStream
from dplearn.learners.votes import Labels, Scores, answers_of, batches, shards, train_and_ask, train_teachers
from dplearn.learners.votes import teachers as module
from dplearn.learners.votes.batches import BatchedTraining, LogisticTeacher, batched_training
from dplearn.learners.votes.standard import CellColumns, NumberScaler, apart, standard_teacher
from dplearn.learners.votes.teachers import LabelShares

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

THREE, TWO = np.array(["no", "perhaps", "yes"]), np.array([0, 1])
ESTIMATORS = {
    "of cells": make_pipeline(SimpleImputer(), NumberScaler(1), LogisticRegression(C=10, tol=1e-8)),
    "logistic regression": LogisticRegression(tol=1e-8),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.1, tol=1e-8)),
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)
each_number_of_labels = pytest.mark.parametrize("n_labels", [2, 3])


def bits(teacher):
    return pickle.dumps(teacher)


def one_by_one(monkeypatch, ask, *args, **how):
    """What is answered where no array program trains."""
    with monkeypatch.context() as patched:
        patched.setattr(module, "batched_training", lambda *_: None)
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
    return batched_training(estimator, rows[0], np.unique(labels)).teachers(rows, labels, rows.shape[1])


def with_gaps(rows):
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    rows[3, :, 1] = np.nan


def with_constants(rows):
    rows[:, :, 0] = np.array([0, 0.1, 1e-300, -7, 1e6, 1 / 3, 5e-324, 1])[:, None]


FITTED = [(each, n_labels, None) for each in ESTIMATORS for n_labels in (2, 3)]
FITTED += [("of cells", 2, with_gaps), ("imputed", 3, with_gaps), ("scaled", 2, with_constants)]


@pytest.mark.parametrize(("name", "n_labels", "change"), FITTED, ids=range(len(FITTED)))
def test_a_teacher_of_a_batch_answers_as_scikit_learns_own(name, n_labels, change):
    rows, labels = stack_of(n_labels)
    queries = rows[0] + 1
    if change is not None:
        change(rows)
    teachers = taught(ESTIMATORS[name], rows, labels)
    assert [i for i, each in enumerate(teachers) if each is None] == ([3] if change is with_gaps else [])
    for i, teacher in enumerate(teachers):
        if teacher is not None:
            own = clone(ESTIMATORS[name]).fit(rows[i], labels[i])
            assert teacher.classes_.tolist() == own.classes_.tolist()
            np.testing.assert_allclose(teacher.predict_proba(queries), own.predict_proba(queries), atol=1e-5)
            assert (teacher.predict(queries) == own.predict(queries)).all()


@each_number_of_labels
def test_logistic_regressions_end_within_the_tolerance(n_labels):
    rows, labels = stack_of(n_labels, m=60)
    for i, teacher in enumerate(taught(LogisticRegression(C=10), rows, labels)):
        first = 1 if len(teacher.classes_) == 2 else 0
        errors = (teacher.predict_proba(rows[i]) - (labels[i][:, None] == teacher.classes_))[:, first:]
        assert abs(errors.T @ rows[i] / 60 + teacher.weights[first:] / (10 * 60)).max() <= 1.001e-4
        assert abs(errors.mean(axis=0)).max() <= 1.001e-4


def one_label(rows, labels):
    labels[2] = labels[2, 0]


def cell(value):
    return lambda rows, labels: rows[2].__setitem__((3, 1), value)


def column(change):
    return lambda rows, labels: rows[2].__setitem__((slice(None), 1), change(rows[2, :, 1]))


MANY = list(ESTIMATORS.values())
SPOILED = {
    "a single label": (one_label, MANY),
    "a missing value": (cell(np.nan), [ESTIMATORS["logistic regression"], ESTIMATORS["scaled"]]),
    "an infinite value": (cell(-np.inf), MANY),
    "a huge value": (cell(1e200), MANY),
    "a column that is constant but for rounding": (
        column(lambda cells: 1 + 5e-15 * (np.arange(24) % 3)),
        [ESTIMATORS["scaled"]],
    ),
    "a slow descent": (
        column(lambda cells: 1000 + 300 * cells),
        [LogisticRegression(C=1e4, tol=1e-10, max_iter=9999)],
    ),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_shard_whose_fit_is_uncertain_is_left_to_scikit_learn_and_changes_no_other(how):
    change, estimators = SPOILED[how]
    for estimator in estimators:
        rows, labels = stack_of(2)
        before = taught(estimator, rows, labels)
        change(rows, labels)
        with np.errstate(all="raise"):
            after = taught(estimator, rows, labels)
        assert [i for i in range(N_SHARDS) if after[i] is None] == [2]
        others = [i for i in range(N_SHARDS) if i != 2]
        assert [bits(after[i]) for i in others] == [bits(before[i]) for i in others]


def test_teachers_share_no_array():
    teachers = taught(ESTIMATORS["imputed"], *stack_of(3))
    arrays = [each for teacher in teachers for each in (teacher.weights, teacher.offsets, teacher.fill)]
    for i, one in enumerate(arrays):
        assert one.base is None or one.base.size == one.size
        assert not any(np.shares_memory(one, other) for other in arrays[:i])


@each_number_of_labels
@pytest.mark.parametrize("kind", [Labels, Scores])
def test_queries_of_every_kind_are_answered_as_by_scikit_learn(kind, n_labels):
    rows, labels = stack_of(n_labels)
    queries = rows[0].round(3)
    gaps, far, narrow = queries.copy(), queries.copy(), queries[:, :4]
    gaps[2, 1], far[3, 0] = np.nan, np.inf
    tables = [queries, queries.astype(int), queries.astype(object), csr_array(queries), pd.DataFrame(queries)]
    for name in ESTIMATORS:
        own = [clone(ESTIMATORS[name]).fit(*each) for each in zip(rows, labels, strict=True)]
        for table in [*tables, gaps, far, narrow]:
            if table is csr_array and name == "of cells":
                continue
            given, expected = (
                answers_of(teachers, table, kind(THREE[:n_labels])).astype(int)
                for teachers in (taught(ESTIMATORS[name], rows, labels), own)
            )
            if not (hasattr(table, "tocsr") and (expected == -1).all()):  # some steps take no sparse rows
                assert abs(given - expected).max() <= 1
                assert (given != expected).mean() <= 0.01


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
SLOW = "logistic regression"


def split(name):
    size, load = DATA[name]
    X, y = load()
    order = PublicStream(0).permutation(len(X))
    asked, rest = order[: len(X) // 5], order[len(X) // 5 :]
    n_shards = min(len(rest) // size, 16)
    return X, y, [rest[i * size : (i + 1) * size] for i in range(n_shards)], X[asked]


def counting(monkeypatch):
    """Count the teachers that are trained in batches, and those that are trained alone."""
    counts, real, alone = [0, 0], BatchedTraining.teachers, module.fitted_teacher

    def teachers(*args):
        given = real(*args)
        counts[0] += sum(each is not None for each in given)
        return given

    def trained(*args):
        counts[1] += 1
        return alone(*args)

    monkeypatch.setattr(BatchedTraining, "teachers", teachers)
    monkeypatch.setattr(module, "fitted_teacher", trained)
    return counts


@pytest.mark.parametrize("base", [None, 15], ids=["equal lengths", "filled up"])
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(each, marks=[pytest.mark.nightly] * (each in ("breast cancer", "digits")))
        for each in DATA
    ],
)
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.nightly] * (each == SLOW)) for each in ESTIMATORS]
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
    if name != SLOW:
        assert counts[0] >= 0.8 * len(cut)
    assert sum(counts) == len(cut)
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
PLAIN = LogisticRegression(tol=1e-8)


def fingerprints(estimator, X, y):
    """Return the bits of each teacher, and its votes and scores."""
    given = train_teachers(estimator, X, y, SHARDS, seeds=range(K), classes=TWO)
    prints = [[bits(teacher)] for teacher in given]
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
    "name", [pytest.param(each, marks=[pytest.mark.nightly] * (each == "scaled")) for each in ESTIMATORS]
)
def test_a_record_changes_no_bit_of_another_shards_teacher(name):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert changed_teachers(ESTIMATORS[name], OTHERS) == [{2}] * len(OTHERS)


def test_an_early_stop_that_shards_share_is_noticed(monkeypatch):
    real = batches.flat
    monkeypatch.setattr(batches, "flat", lambda *each: np.full(len(each[0]), real(*each).all()))
    assert changed_teachers(LogisticRegression(), OTHERS[:1]) != [{2}]


@pytest.mark.parametrize("name", ["logistic regression", "scaled"])
def test_every_subset_of_shards_has_the_teachers_that_scikit_learn_fits_one_at_a_time(name, monkeypatch):
    """Brute force: no teacher has another bit for those that are trained beside it, or for its place among so
    many; how many they are is public.
    """
    estimator, counts = ESTIMATORS[name], counting(monkeypatch)
    alone = [clone(estimator).fit(NUMBERS[shard], CODES[shard]).predict(QUERIES) for shard in SHARDS[:3]]
    seen = {}
    for size in range(1, 4):
        for members in permutations(range(3), size):
            given = estimator, NUMBERS, CODES, [SHARDS[member] for member in members]
            trained = train_teachers(*given, seeds=members, classes=TWO)
            votes = train_and_ask(*given, **HOW | {"seeds": members})
            for member, teacher, vote in zip(members, trained, votes, strict=True):
                assert vote.tolist() == alone[member].tolist()
                seen.setdefault((member, size), set()).add(bits(teacher))
    assert {len(each) for each in seen.values()} == {1}
    assert counts[0] > 3 * counts[1]


# Where they are trained


def test_workers_give_the_same_votes_and_count_every_teacher():
    told, given = [], (PLAIN, NUMBERS, CODES, SHARDS)
    votes = train_and_ask(*given, progress=told.append, **HOW)
    assert sum(told) == K
    assert train_and_ask(*given, n_jobs=2, **HOW).tolist() == votes.tolist()
    trained = train_teachers(*given, seeds=range(K), classes=TWO, n_jobs=2)
    assert answers_of(trained, QUERIES, Labels(TWO)).tolist() == votes.tolist()


def test_shards_of_unequal_lengths_and_without_rows_are_trained_in_order(monkeypatch):
    cut = [*SHARDS[:5], SHARDS[5][:1], *(shard[:7] for shard in SHARDS[6:]), np.arange(0)]
    given, how = (PLAIN, NUMBERS, CODES, cut), HOW | {"seeds": range(len(cut))}
    votes = train_and_ask(*given, **how)
    assert votes.tolist() == one_by_one(monkeypatch, train_and_ask, *given, **how).tolist()
    assert (votes[-1] == -1).all()
    trained = train_teachers(*given, seeds=range(len(cut)), classes=TWO)
    assert isinstance(trained[0], LogisticTeacher)
    assert isinstance(trained[5], LabelShares)
    assert trained[-1] is None


# The choice

X2 = np.zeros((3, 2))


def chosen(estimator, table=X2, classes=TWO):
    return batched_training(estimator, table, classes) is not None


class Sub(LogisticRegression):
    pass


OTHERS_ALONE = [Sub(), RidgeClassifier(), LogisticRegression(fit_intercept=False), Pipeline([])]
OTHERS_ALONE += [LogisticRegression(class_weight="balanced"), LogisticRegression(solver="newton-cg")]
OTHERS_ALONE += [LogisticRegression(l1_ratio=0.5), LogisticRegression(warm_start=True)]
OTHERS_ALONE += [LogisticRegression(C=-1.0), LogisticRegression(tol=np.nan), LogisticRegression(C="1")]
OTHERS_ALONE += [
    make_pipeline(*each, PLAIN)
    for each in (
        [SimpleImputer(strategy="median")],
        [SimpleImputer(add_indicator=True)],
        [SimpleImputer(missing_values=0.0)],
        [StandardScaler(with_mean=False)],
        [StandardScaler(), StandardScaler()],
        [StandardScaler(), SimpleImputer()],
        [MinMaxScaler()],
        ["passthrough"],
    )
]
OTHERS_ALONE += [make_pipeline(StandardScaler(), Sub()), make_pipeline(StandardScaler())]
OTHER_TABLES = [X2.astype(object), csr_array(X2), pd.DataFrame(X2), X2.astype("U"), X2[:, :0]]
OTHER_TABLES += [np.ma.array(X2), X2.astype(np.float32)]


def test_all_other_estimators_and_tables_are_trained_one_by_one():
    assert all(chosen(each) for each in ESTIMATORS.values())
    assert chosen(LogisticRegression(C=3, tol=1e-3, max_iter=7, random_state=3))
    assert not any(chosen(each) for each in OTHERS_ALONE)
    assert not any(chosen(PLAIN, table) for table in OTHER_TABLES)
    assert all(chosen(PLAIN, X2.astype(kind)) for kind in (np.float64, np.int8, np.uint64, bool))
    for classes in (["a", "b"], np.array(["a", "b"], dtype=object), [False, True], [-1.0, 1.0, 3.0]):
        assert chosen(PLAIN, classes=np.array(classes))
    for classes in ([0.5, 1.0], np.array([1, "b"], dtype=object), [1]):
        assert not chosen(PLAIN, classes=np.array(classes))
    assert not chosen(PLAIN, classes=None)


# Shards of private lengths


def of_private_lengths(estimator, cut):
    return train_teachers(estimator, NUMBERS, CODES, cut, seeds=range(len(cut)), classes=TWO, base=3)


@each_estimator
def test_lengths_of_other_shards_change_no_bit_of_a_teacher(name):
    """So lengths of shards may be private."""
    whole = of_private_lengths(ESTIMATORS[name], SHARDS)
    cut = [shard[: len(shard) - [0, 5, 1, 8][place % 4]] for place, shard in enumerate(SHARDS)]
    cut[1] = np.concatenate([SHARDS[1], SHARDS[2], SHARDS[3]])  # longer than any place
    other = of_private_lengths(ESTIMATORS[name], cut)
    assert {type(each) for each in whole} == {LogisticTeacher}
    assert not isinstance(other[1], LogisticTeacher)
    for place in range(0, K, 4):
        assert bits(whole[place]) == bits(other[place])


def test_default_teachers_of_texts_are_trained_in_batches():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(size=900), "t": generator.choice(list("uvwx"), 900)})
    y = np.where(frame["t"] == "u", frame["a"] > 0, frame["a"] < 0).astype(int)
    columns, model = apart(standard_teacher(frame))
    rows, cut, how = columns.transform(frame), np.array_split(np.arange(900), 45), {"classes": TWO}
    together = train_teachers(standard_teacher(frame), frame, y, cut, seeds=range(45), **how)
    assert {type(teacher) for teacher in together} == {LogisticTeacher}
    for teacher, shard in zip(together, cut, strict=True):
        alone = clone(model).fit(rows[shard], y[shard])
        np.testing.assert_allclose(teacher.predict_proba(rows), alone.predict_proba(rows), atol=0.02)
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
    assert texts.sum(axis=1).tolist() == [2, 2, 2]
    assert cells.sum(axis=1).tolist() == [0, 2, 2]  # a number is no text
    assert texts[:, [0, 8]].tolist()[1:] == [[1, 1]] * 2  # missing values and empty texts are alike
    np.testing.assert_array_equal(cells[1], texts[0])
    for dtype in (np.float16, np.float32, np.float64):
        found = CellColumns(("number",)).transform(np.array([[1.5], [np.inf], [np.nan]], dtype=dtype))
        np.testing.assert_array_equal(found, [[1.5], [np.nan], [np.nan]])
    odd = np.array([frozenset("uv"), object()], dtype=object)[:, None]  # the text of either may change
    one, same = (columns_of_texts.transform(cells) for cells in (odd, np.array([["frozenset"], ["object"]])))
    np.testing.assert_array_equal(one, same)


def test_common_pairs_of_texts_are_told_apart():
    """With 16 buckets, the first three had one each: they were the same text to every teacher."""
    common = ["a/b", "A/B", "east/west", "yes/no", "male/female", "Male/Female", "True/False", "M/F", "0/1"]
    for pair in common:
        one, other = CellColumns(("text",)).transform(np.array([pair.split("/")], dtype=object).T)
        assert (one != other).any(), pair
