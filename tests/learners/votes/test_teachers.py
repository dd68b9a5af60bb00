"""Any replaced record changes at most one teacher, and failures of teachers are not reported."""

import pickle
import random
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dplearn.chance import PublicStream
from dplearn.kernels import FIXED_POINT_ONE
from dplearn.learners.votes import Labels, Scores, answers_of, shards, train_and_ask, train_teachers
from dplearn.learners.votes import teachers as module
from dplearn.table import InTurn, LabelledRows, in_parts, rows_of

CLASSES = np.array(["no", "perhaps", "yes"])
N, K = 16, 4
SHARDS = shards(N, K, PublicStream(0))
SEEDS = PublicStream(1).seeds(K)
NEAREST = KNeighborsClassifier(1)
NUMBERS = np.random.default_rng(0).normal(size=(N, 2)).round(3)
LABELS = CLASSES[np.arange(N) % 3]
QUERIES = np.random.default_rng(1).normal(size=(30, 2))


class Recorder(ClassifierMixin, BaseEstimator):
    """Stores its training data, and predicts the first of its labels."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        self.asked_ = X
        return np.full(X.shape[0], self.y_[0])


def as_cells(X):
    cells = np.empty(X.shape, dtype=object)
    cells[:] = [[float(cell) for cell in row] for row in X]
    return cells


def as_frame(X):
    return pd.DataFrame(X, columns=["a", "b"])


def as_polars(X):
    return pl.DataFrame(X, schema=["a", "b"])


def as_words(X):
    return np.array([[f"{cell:.1f}" for cell in row] for row in X], dtype=object)


WORDS = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier())
NAMED = make_pipeline(make_column_transformer((StandardScaler(), ["a", "b"])), NEAREST)
TABLES = {
    "array": (lambda X: X, NEAREST),
    "columns": (np.asfortranarray, DecisionTreeClassifier()),
    "csr": (sp.csr_array, NEAREST),
    "csc": (sp.csc_matrix, NEAREST),
    "coo": (sp.coo_array, GaussianNB()),  # which takes no sparse rows: shards vote for their commonest label
    "cells": (as_cells, NEAREST),
    "words": (as_words, WORDS),
    "pandas": (as_frame, NAMED),
    "polars": (as_polars, NEAREST),
}


#: Tables that are read in ways of their own; the others at night.
QUICK_TABLES = ("array", "coo", "pandas")


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in QUICK_TABLES else pytest.mark.nightly) for kind in TABLES],
)
def test_any_replacement_of_a_record_changes_the_votes_of_at_most_one_teacher(kind):
    table, estimator = TABLES[kind]

    def votes(X, y):
        return train_and_ask(estimator, table(X), y, SHARDS, **HOW | {"queries": table(QUERIES)})

    before, changed = votes(NUMBERS, LABELS), set()
    owner = {place: i for i, shard in enumerate(SHARDS) for place in shard.tolist()}
    for place in range(N):
        for value, label in [(50.0, "yes"), (np.nan, "no"), (-0.3, "perhaps")]:
            X, y = NUMBERS.copy(), LABELS.copy()
            X[place], y[place] = value, label
            differ = set(np.flatnonzero((votes(X, y) != before).any(axis=1)).tolist())
            assert differ <= {owner[place]}
            changed |= differ
    # Some of the labels that stand in here lead by two: no record moves these.
    assert changed == ({0, 1} if kind == "coo" else set(range(K)))


@pytest.mark.parametrize(
    ("odd", "kind"), [("text", "O"), (0.5, "f"), (None, "O"), (2**70, "O"), ([1], "O")], ids=repr
)
def test_one_records_type_or_row_label_changes_no_other_shards_types_or_row_labels(odd, kind):
    cells = np.empty((4, 2), dtype=object)
    cells[:] = 1
    cells[2, 1] = odd
    cut, labels = np.split(np.arange(4), 2), np.array([0, 1, 0, 1])
    first, second = train_teachers(Recorder(), cells, labels, cut, seeds=[0, 0])
    assert (first.X_.dtype.kind, second.X_.dtype.kind) == ("i", kind)
    frame = pd.DataFrame({"a": range(4)}, index=[0, 1, "x", 3])
    first, _ = train_teachers(Recorder(), frame, labels, cut, seeds=[0, 0])
    assert first.X_.index.equals(pd.RangeIndex(2))


def test_a_sparse_shard_has_indices_of_the_type_that_it_needs():
    wide = sp.csr_array(np.eye(4))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert wide[np.array([0, 1])].indices.dtype == np.int64  # the type that a shard would inherit
    rows = rows_of(wide, np.array([1, 3]))
    assert rows.indices.dtype == rows.indptr.dtype == np.int32
    assert rows.toarray().tolist() == np.eye(4)[[1, 3]].tolist()


def test_shards_without_two_labels_or_that_cannot_be_learned_teach_their_commonest_label():
    X = np.arange(14.0)[:, None]
    X[8] = np.nan
    y = np.array([0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1])
    cut = [*np.split(np.arange(8), 4), np.arange(8, 11), np.arange(0), np.arange(13, 14)]
    taught = train_teachers(LogisticRegression(), X, y, cut, seeds=range(7))
    model, shares, none = LogisticRegression, module.LabelShares, type(None)
    assert [type(each) for each in taught] == [model, shares, shares, model, shares, none, shares]
    votes = answers_of(taught, X[:3], Labels(np.array([0, 1])))
    assert votes[[1, 2, 4, 5, 6]].tolist() == [[1] * 3, [0] * 3, [1] * 3, [-1] * 3, [1] * 3]
    scores = answers_of(taught, X[:3], Scores(np.array([0, 1]))) / FIXED_POINT_ONE
    sure = 1 - 1 / FIXED_POINT_ONE
    assert scores[[1, 2, 6]].tolist() == [[sure] * 3, [0.0] * 3, [sure] * 3]
    assert scores[4] == pytest.approx([2 / 3] * 3, abs=1 / FIXED_POINT_ONE)
    assert (scores[5] < 0).all()


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("classes", [["no", "yes", "zero"], [-1, 2, 5], [False, True], [0.0, 1.0]])
@pytest.mark.parametrize("dtype", [None, object])
def test_a_single_label_is_taught_in_its_own_type_wherever_the_teacher_works(classes, dtype, n_jobs):
    labels, cut = np.array(classes, dtype=dtype), np.split(np.arange(4), 2)
    with parallel_config("loky" if n_jobs else "sequential"):
        taught = train_teachers(NEAREST, NUMBERS[:4], labels[[1, 1, 0, 0]], cut, seeds=[0, 0], n_jobs=n_jobs)
    for teachers in (taught, pickle.loads(pickle.dumps(taught))):
        assert answers_of(teachers, QUERIES[:2], Labels(labels)).tolist() == [[1, 1], [0, 0]]
        assert [teacher.predict(QUERIES).dtype for teacher in teachers] == [labels.dtype] * 2


def faulty(predict, fit=None):
    class Faulty(Recorder):
        def fit(self, X, y):
            if fit is not None:
                fit(X, y)
            return super().fit(X, y)

    Faulty.predict = lambda self, X: predict(X)
    return Faulty()


def failing(error):
    def fail(*_):
        raise error

    return fail


HOW = {"queries": QUERIES, "asked": Labels(CLASSES), "seeds": SEEDS}


def ballots(estimator, queries=QUERIES[:4], classes=CLASSES):
    labels = classes[np.arange(N) % 2]
    return train_and_ask(
        estimator, NUMBERS, labels, SHARDS, **HOW | {"queries": queries, "asked": Labels(classes)}
    )


class Panic(BaseException):
    """Stands for those of compiled libraries, which are no `Exception`."""


ERRORS = [ValueError("x"), MemoryError(), RecursionError(), Warning("x"), StopIteration(), OSError(), Panic()]
ERRORS += [SystemExit("x"), GeneratorExit()]


@pytest.mark.parametrize("error", ERRORS)
def test_after_an_exception_in_fit_a_shard_votes_for_its_commonest_label_and_in_predict_for_none(error):
    codes = [np.bincount(np.arange(N)[shard] % 2).argmax() for shard in SHARDS]
    assert (ballots(faulty(None, fit=failing(error))) == np.array(codes)[:, None]).all()
    assert (ballots(faulty(failing(error))) == -1).all()


@pytest.mark.parametrize(
    ("n_labels", "kind"), [(2, "int8"), (128, "int8"), (129, "int16"), (40_000, "int32")]
)
def test_votes_have_the_smallest_type_that_holds_all_labels(n_labels, kind):
    classes = np.arange(n_labels)
    votes = ballots(faulty(lambda X: [n_labels - 1] * len(X)), classes=classes)
    assert votes.dtype == np.dtype(kind)
    assert (votes == n_labels - 1).all()


def test_a_teacher_that_changes_its_rows_changes_no_others():
    def spoil(X):
        row = X[0].copy()
        X[:] = 0
        return ["yes" if row.any() else "no"] * len(X)

    before, learned = QUERIES[:4].copy(), NUMBERS.copy()
    assert (ballots(faulty(spoil, fit=lambda X, y: X.fill(0))) == 2).all()
    assert (before == QUERIES[:4]).all()
    assert (learned == NUMBERS).all()


class Counting:
    """A number that changes whenever it is read."""

    def __init__(self):
        self.read = 0

    def __float__(self):
        self.read += 1
        return float(self.read)


def of_objects(kind, cells):
    cells = np.array(cells, dtype=object)
    if kind == "polars":
        return pl.DataFrame(
            [pl.Series(name, list(cells[:, j]), dtype=pl.Object) for j, name in enumerate("ab")]
        )
    return {"cells": cells, "pandas": pd.DataFrame(cells, columns=["a", "a"])}[kind]


@pytest.mark.parametrize("kind", ["cells", "pandas", "polars"])
def test_an_object_is_not_the_same_to_two_teachers_in_queries_or_in_two_records(kind):
    cell = Counting()

    def first_read(X):
        row = X.row(0) if kind == "polars" else np.asarray(X)[0]
        return float(row[1]) == 1

    def read(X, y):
        if not first_read(X):
            raise ValueError

    queries = of_objects(kind, [[0.0, cell], [0.0, 0.0]])
    assert (ballots(faulty(lambda X: ["yes" if first_read(X) else "no"] * 2), queries) == 2).all()
    table, labels, cut = (
        of_objects(kind, [[0.0, cell]] * 4),
        np.array([0, 1, 0, 1]),
        np.split(np.arange(4), 2),
    )
    taught = train_teachers(faulty(None, fit=read), table, labels, cut, seeds=[0, 0])
    assert not any(isinstance(teacher, module.LabelShares) for teacher in taught)
    assert cell.read == 0


class Uncopied(Counting):
    def __deepcopy__(self, memo):
        raise Panic


def test_a_cell_that_cannot_be_copied_costs_its_own_teacher_only():
    cells = as_cells(NUMBERS)
    cells[SHARDS[2][0], 0] = Uncopied()
    taught = train_teachers(Recorder(), cells, LABELS, SHARDS, seeds=SEEDS)
    assert [type(teacher) is module.LabelShares for teacher in taught] == [False, False, True, False]


class Drawing(Recorder):
    def fit(self, X, y):
        self.drawn_ = np.random.randint(1 << 30), random.random()
        return super().fit(X, y)

    def predict(self, X):
        return CLASSES[(np.random.randint(3, size=len(X)) + random.randrange(3)) % 3]


def test_draws_from_global_generators_do_not_depend_on_other_teachers():
    alike = LABELS.copy()
    alike[SHARDS[0]] = "no"  # the first teacher is none that draws
    before = np.random.get_state()[1].tolist(), np.random.get_state()[2], random.getstate()
    one, other = (train_teachers(Drawing(), NUMBERS, y, SHARDS, seeds=SEEDS) for y in (LABELS, alike))
    assert [each.drawn_ for each in one[1:]] == [each.drawn_ for each in other[1:]]
    assert len({each.drawn_ for each in one}) == K
    votes = answers_of(one, QUERIES, HOW["asked"])
    assert answers_of([None, *other[1:]], QUERIES, HOW["asked"])[1:].tolist() == votes[1:].tolist()
    assert train_and_ask(Drawing(), NUMBERS, LABELS, SHARDS, **HOW).tolist() == votes.tolist()
    assert (np.random.get_state()[1].tolist(), np.random.get_state()[2], random.getstate()) == before
    assert len(np.unique(votes)) == 3


def test_teachers_share_nothing_that_can_change():
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=KFold(2))
    taught = train_teachers(search, NUMBERS, LABELS, SHARDS, seeds=SEEDS)
    for one, other in pairwise([search, *taught]):
        assert one.param_grid is not other.param_grid
        assert one.cv is not other.cv
        assert one.estimator is not other.estimator


@pytest.mark.parametrize("estimator", [RandomForestClassifier(3), GaussianNB()], ids=["alone", "batched"])
@pytest.mark.parametrize("gathered", [1, 10, 1000])
def test_teachers_of_a_table_in_parts_are_those_of_the_table_in_memory(gathered, estimator, monkeypatch):
    monkeypatch.setattr(module, "GATHERED", gathered)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), rng.integers(0, 2, 90)
    cut, reads = np.array_split(rng.permutation(90), 9), []

    def parts():
        reads.append(1)
        return iter([(X[:1], y[:1]), (X[1:50], y[1:50]), (X[50:], y[50:])])

    _, rows = in_parts(InTurn(parts)).read(lambda X, y: (len(X), LabelledRows(X, y)))
    reads.clear()
    how = {"queries": X, "asked": Labels(np.array([0, 1])), "seeds": range(9)}
    whole = train_and_ask(estimator, X, y, cut, **how)
    assert train_and_ask(estimator, rows, None, cut, **how).tolist() == whole.tolist()
    assert len(reads) == {1: 9, 10: 9, 1000: 1}[gathered]
    parted = train_teachers(estimator, rows, None, cut, seeds=range(9), classes=how["asked"].classes)
    assert answers_of(parted, X, how["asked"]).tolist() == whole.tolist()
