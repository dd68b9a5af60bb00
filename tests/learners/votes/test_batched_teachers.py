"""Teachers of a batch vote as teachers one by one, and a record changes no bit of another shard's teacher."""

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
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dplearn.chance import PublicStream
from dplearn.learners.votes import batches
from dplearn.learners.votes import teachers as module
from dplearn.learners.votes.asked import Labels, Scores
from dplearn.learners.votes.batches import BatchedTraining, batched_training, equal_runs
from dplearn.learners.votes.recipe import shards
from dplearn.learners.votes.standard import standard_estimator
from dplearn.learners.votes.teachers import LabelShares, train_and_ask, train_teachers
from dplearn.table.passes import InTurn
from dplearn.table.sources import in_parts
from dplearn.table.table import LabelledRows

#: Descents end where no entry of the gradient exceeds `tol`: with a small one, at the same minimum.
TEACHERS = {
    "the default": lambda X: standard_estimator(X, C=10).set_params(logisticregression__tol=1e-8),
    "logistic regression": lambda X: LogisticRegression(tol=1e-8),
    "scaled": lambda X: make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)),
    "naive Bayes": lambda X: GaussianNB(),
    "ridge": lambda X: RidgeClassifier(),
}
DATA = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "made": lambda: make_classification(1200, 12, n_informative=5, random_state=0),
    "made of three": lambda: make_classification(900, 8, n_informative=5, n_classes=3, random_state=0),
}


def one_by_one(monkeypatch, *args, **how):
    with monkeypatch.context() as patched:
        patched.setattr(module, "batched_training", lambda *_: None)
        patched.setattr(module, "can_be_stacked", lambda queries: False)
        return train_and_ask(*args, **how)


def split(name, size):
    X, y = DATA[name]()
    order = PublicStream(0).permutation(len(X))
    asked, rest = order[: len(X) // 5], order[len(X) // 5 :]
    n_shards = min(len(rest) // size, 16)
    cut = [rest[i * size : (i + 1) * size] for i in range(n_shards)]
    return X, y, cut, X[asked]


def counting(monkeypatch):
    """Count the shards that are trained in batches, and those that are trained alone."""
    counts, real, alone = [0, 0], BatchedTraining.fits, module._trained

    def fits(*args):
        given = real(*args)
        counts[0] += int(given.valid.sum())
        return given

    def trained(*args):
        counts[1] += 1
        return alone(*args)

    monkeypatch.setattr(BatchedTraining, "fits", fits)
    monkeypatch.setattr(module, "_trained", trained)
    return counts


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param("breast cancer", 28, marks=pytest.mark.nightly),
        ("iris", 14),
        ("wine", 16),
        ("made", 60),
        ("made of three", 40),
        pytest.param("digits", 80, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("kind", TEACHERS)
def test_votes_are_those_of_teachers_trained_one_by_one(kind, name, size, monkeypatch):
    X, y, cut, queries = split(name, size)
    how = {"queries": queries, "seeds": range(len(cut))}
    estimator, counts = TEACHERS[kind](X), counting(monkeypatch)
    labels = np.unique(y)
    votes = train_and_ask(estimator, X, y, cut, asked=Labels(labels), **how)
    # On columns of very different scales, many descents are too long.
    slow = kind == "the default" or (kind, name) in {("logistic regression", each) for each in DATA}
    assert counts[0] >= (0 if slow else 0.8 * len(cut))
    assert sum(counts) >= len(cut)
    alone = one_by_one(monkeypatch, estimator, X, y, cut, asked=Labels(labels), **how)
    assert (votes != alone).mean() <= 1e-4
    if kind != "ridge":
        scores = train_and_ask(estimator, X, y, cut, asked=Scores(labels), **how).astype(int)
        alone = one_by_one(monkeypatch, estimator, X, y, cut, asked=Scores(labels), **how)
        assert (scores != alone).mean() <= 0.01
        assert abs(scores - alone).max() <= 1


# One record

K, M, D = 12, 10, 3
N = K * M
NUMBERS = np.random.default_rng(0).normal(size=(N, D))
CODES = (NUMBERS[:, 0] + 0.3 * np.random.default_rng(1).normal(size=N) > 0).astype(int)
SHARDS = shards(N, K, PublicStream(0))
QUERIES = np.random.default_rng(2).normal(size=(40, D))
CLASSES = np.array([0, 1])


def arrays_of(teacher):
    """The bytes of a teacher's fitted arrays."""
    steps = [step for _, step in teacher.steps] if hasattr(teacher, "steps") else [teacher]
    arrays = [value for step in steps for value in vars(step).values() if isinstance(value, np.ndarray)]
    return tuple(value.tobytes() for value in arrays)


def fingerprints(estimator, X, y):
    """Return the bytes of each teacher's fitted arrays, and its votes and scores."""
    taught = train_teachers(estimator, X, y, SHARDS, seeds=range(K), classes=CLASSES)
    how = {"queries": QUERIES, "seeds": range(K)}
    votes, scores = (
        train_and_ask(estimator, X, y, SHARDS, asked=kind(CLASSES), **how) for kind in (Labels, Scores)
    )
    prints = []
    for teacher in taught:
        prints.append([type(teacher), *arrays_of(teacher)])
    return [
        [*mine, vote.tobytes(), score.tobytes()]
        for mine, vote, score in zip(prints, votes, scores, strict=True)
    ]


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
    "kind", [pytest.param(kind, marks=[pytest.mark.nightly] * (kind == "scaled")) for kind in TEACHERS]
)
def test_a_record_changes_no_bit_of_another_shards_teacher(kind):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert changed_teachers(TEACHERS[kind](NUMBERS), OTHERS) == [{2}] * len(OTHERS)


@pytest.mark.parametrize("kind", ["logistic regression", "scaled", "naive Bayes", "ridge"])
def test_every_subset_of_shards_has_the_teachers_that_scikit_learn_fits_one_at_a_time(kind, monkeypatch):
    """Brute force: no teacher has another bit for those that are trained beside it, or for its place among so
    many; how many they are is public.
    """
    monkeypatch.setattr(batches, "_FEWEST_SHARDS", 1)
    estimator, cut, counts = TEACHERS[kind](NUMBERS), SHARDS[:3], counting(monkeypatch)
    alone = [clone(estimator).fit(NUMBERS[shard], CODES[shard]).predict(QUERIES) for shard in cut]
    bits = {}
    for size in range(1, 4):
        for members in permutations(range(3), size):
            shards = [cut[member] for member in members]
            how = {"seeds": members, "classes": CLASSES}
            taught = train_teachers(estimator, NUMBERS, CODES, shards, **how)
            votes = train_and_ask(
                estimator, NUMBERS, CODES, shards, queries=QUERIES, asked=Labels(CLASSES), seeds=members
            )
            for member, teacher, vote in zip(members, taught, votes, strict=True):
                assert vote.tolist() == alone[member].tolist()
                bits.setdefault((member, size), set()).add(arrays_of(teacher))
    assert {len(seen) for seen in bits.values()} == {1}
    assert counts[0] > 3 * counts[1]


def test_an_early_stop_that_shards_share_is_noticed(monkeypatch):
    real = batches._flat
    monkeypatch.setattr(batches, "_flat", lambda *each: np.full(len(each[0]), real(*each).all()))
    assert changed_teachers(LogisticRegression(), OTHERS[:1]) != [{2}]


def test_a_scale_that_shards_share_is_noticed(monkeypatch):
    real = batches.fit_naive_bayes

    def shared(parameters, stack):
        fitted = real(parameters, stack)
        fitted.by_label["var_"] += 1e-15 * stack.rows.var()
        return fitted

    monkeypatch.setitem(batches._MODELS, "GaussianNB", shared)
    assert changed_teachers(GaussianNB(), OTHERS[:1]) != [{2}]


# Where they are trained

HOW = {"queries": QUERIES, "asked": Labels(CLASSES), "seeds": range(K)}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == "naive Bayes" else pytest.mark.nightly) for kind in TEACHERS],
)
def test_workers_give_the_same_votes_and_count_every_teacher(kind):
    estimator, told = TEACHERS[kind](NUMBERS), []
    votes = train_and_ask(estimator, NUMBERS, CODES, SHARDS, progress=lambda n: told.extend([1] * n), **HOW)
    assert len(told) == K
    assert train_and_ask(estimator, NUMBERS, CODES, SHARDS, n_jobs=2, **HOW).tolist() == votes.tolist()
    taught = train_teachers(estimator, NUMBERS, CODES, SHARDS, seeds=range(K), classes=CLASSES, n_jobs=2)
    assert module.answers_of(taught, QUERIES, Labels(CLASSES)).tolist() == votes.tolist()


def test_shards_of_unequal_lengths_and_without_rows_are_trained_in_order(monkeypatch):
    cut = [*SHARDS[:5], SHARDS[5][:1], *(shard[:7] for shard in SHARDS[6:]), np.arange(0)]
    how = HOW | {"seeds": range(len(cut))}
    votes = train_and_ask(GaussianNB(), NUMBERS, CODES, cut, **how)
    alone = one_by_one(monkeypatch, GaussianNB(), NUMBERS, CODES, cut, **how)
    assert votes.tolist() == alone.tolist()
    assert (votes[-1] == -1).all()
    taught = train_teachers(GaussianNB(), NUMBERS, CODES, cut, seeds=range(len(cut)), classes=CLASSES)
    assert isinstance(taught[5], LabelShares)
    assert taught[-1] is None


@pytest.mark.parametrize("gathered", [25, 1000])
def test_a_table_in_parts_has_the_same_teachers(gathered, monkeypatch):
    monkeypatch.setattr(module, "_GATHERED", gathered)
    monkeypatch.setattr(batches, "_FEWEST_SHARDS", 1)
    parts = [(NUMBERS[:1], CODES[:1]), (NUMBERS[1:70], CODES[1:70]), (NUMBERS[70:], CODES[70:])]
    given = in_parts(InTurn(lambda: iter(parts)))
    _, rows = given.read(lambda X, y: (len(X), LabelledRows(X, y)))
    whole = train_and_ask(LogisticRegression(), NUMBERS, CODES, SHARDS, **HOW)
    counts = counting(monkeypatch)
    parted = train_and_ask(LogisticRegression(), rows, None, SHARDS, **HOW)
    assert counts[0] >= K - 3
    assert parted.tolist() == whole.tolist()


def of_private_lengths(estimator, cut, numbers=NUMBERS, codes=CODES):
    return train_teachers(estimator, numbers, codes, cut, seeds=range(len(cut)), classes=CLASSES, base=3)


@pytest.mark.parametrize("name", TEACHERS)
def test_lengths_of_other_shards_change_no_bit_of_a_teacher(name, monkeypatch):
    """So lengths of shards may be private, and the shapes of array programs are public."""
    estimator, shapes, real = TEACHERS[name](NUMBERS), [], BatchedTraining.fits

    def fits(self, rows, labels, own=None):
        shapes.append(rows.shape)
        return real(self, rows, labels, own)

    monkeypatch.setattr(BatchedTraining, "fits", fits)
    whole = of_private_lengths(estimator, SHARDS)
    assert set(shapes) == {(K, 12, D)}
    kept = range(0, K, 4)
    cut = [shard[: len(shard) - [0, 5, 1, 8][place % 4]] for place, shard in enumerate(SHARDS)]
    cut[1] = np.concatenate([SHARDS[1], SHARDS[2], SHARDS[3]])  # longer than any place
    other = of_private_lengths(estimator, cut)
    assert set(shapes) == {(K, 3, D), (K, 6, D), (K, 12, D), (1, 30, D)}
    for place in kept:
        assert pickle.dumps(whole[place]) == pickle.dumps(other[place])


@pytest.mark.parametrize("name", TEACHERS)
@pytest.mark.parametrize(
    "data", ["iris", "made of three", pytest.param("breast cancer", marks=pytest.mark.nightly)]
)
def test_shards_that_are_filled_up_have_the_teachers_of_their_rows(name, data, monkeypatch):
    X, y, cut, asked = split(data, 30)
    cut = [shard[: len(shard) - 3 * (place % 5)] for place, shard in enumerate(cut)]
    monkeypatch.setattr(batches, "_FEWEST_SHARDS", 1)
    how = {"seeds": range(len(cut))}
    estimator, classes = TEACHERS[name](X), np.unique(y)
    counts = counting(monkeypatch)
    for kind in (Labels(classes), Scores(classes)):
        votes = train_and_ask(estimator, X, y, cut, queries=asked, asked=kind, base=5, **how)
        # Of these, no fit converges to a `tol` of 1e-8 within the greatest number of steps or evaluations.
        slow = {
            ("iris", "the default"),
            ("iris", "logistic regression"),
            ("breast cancer", "logistic regression"),
        }
        none = (data, name) in slow
        assert (counts[0] == 0) == none
        expected = one_by_one(monkeypatch, estimator, X, y, cut, queries=asked, asked=kind, **how)
        assert (
            (np.abs(votes - expected) <= 1).all() if isinstance(kind, Scores) else (votes == expected).all()
        )


def test_an_interrupt_between_batches_is_raised_and_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr("dplearn.learners.votes.batches._CELLS", 4 * M * D)
    told = []

    def stop(finished):
        told.append(finished)
        if len(told) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("dplearn.learners.votes.worker_pool._SECONDS_HERE", 0)
    before, errors = np.random.get_state()[1].tolist(), np.geterr()
    with pytest.raises(KeyboardInterrupt):
        train_and_ask(GaussianNB(), NUMBERS, CODES, SHARDS, progress=stop, **HOW)
    assert told == [4, 4]  # teachers of a batch
    assert (np.random.get_state()[1].tolist(), np.geterr()) == (before, errors)


# The choice

X2 = np.zeros((3, 2))


def chosen(estimator, table=X2, classes=CLASSES, n_shards=50):
    return batched_training(estimator, table, classes, n_shards) is not None


class Sub(GaussianNB):
    pass


def test_estimators_with_plain_settings_are_batched():
    for make in TEACHERS.values():
        assert chosen(make(X2))
    assert chosen(make_pipeline(SimpleImputer(), GaussianNB()))
    assert chosen(LogisticRegression(C=3, tol=1e-3, max_iter=7, fit_intercept=False, random_state=3))


OTHERS_ALONE = [Sub(), DecisionTreeClassifier(), GaussianNB(priors=[0.5, 0.5]), GaussianNB(var_smoothing=-1)]
OTHERS_ALONE += [LogisticRegression(class_weight="balanced"), LogisticRegression(solver="newton-cg")]
OTHERS_ALONE += [
    LogisticRegression(l1_ratio=0.5),
    LogisticRegression(warm_start=True),
    LogisticRegression(C=-1.0),
]
OTHERS_ALONE += [RidgeClassifier(solver="svd"), RidgeClassifier(positive=True)]
OTHERS_ALONE += [RidgeClassifier(alpha=np.array([1.0])), RidgeClassifier(class_weight={0: 2}), Pipeline([])]
OTHERS_ALONE += [
    make_pipeline(SimpleImputer(**how), GaussianNB())
    for how in ({"strategy": "median"}, {"add_indicator": True})
]
OTHERS_ALONE += [make_pipeline(each, GaussianNB()) for each in (MinMaxScaler(), "passthrough")]
OTHERS_ALONE += [make_pipeline(StandardScaler(), Sub())]


def test_all_other_estimators_and_tables_are_trained_one_by_one():
    for estimator in OTHERS_ALONE:
        assert not chosen(estimator)
    for table in (
        X2.astype(object),
        csr_array(X2),
        pd.DataFrame(X2),
        X2.astype("U"),
        X2[:, :0],
        np.ma.array(X2),
    ):
        assert not chosen(GaussianNB(), table)
    assert not chosen(GaussianNB(), X2.astype(np.float32))
    assert not chosen(GaussianNB(), n_shards=7)
    assert not chosen(GaussianNB(), classes=None)
    for kind in (np.float64, np.int8, np.uint64, bool):
        assert chosen(GaussianNB(), X2.astype(kind))


@pytest.mark.parametrize(
    ("classes", "batched"),
    [
        (["a", "b"], True),
        (np.array(["a", "b"], dtype=object), True),
        ([False, True], True),
        ([-1.0, 1.0, 3.0], True),
        ([0.5, 1.0], False),
        (np.array([1, "b"], dtype=object), False),
        ([1], False),
    ],
)
def test_labels_that_every_fit_accepts_are_batched(classes, batched):
    assert chosen(GaussianNB(), classes=np.array(classes)) == batched


def test_runs_have_equal_lengths_and_few_cells():
    assert equal_runs([5, 5, 5, 4, 4, 0], 2) == [(0, 3), (3, 5), (5, 6)]
    assert equal_runs([1, 1, 6], 2) == [(0, 1), (1, 2), (2, 3)]
    assert equal_runs([1000] * 9, 32) == [(0, 4), (4, 8), (8, 9)]
    assert equal_runs([1000] * 3, 33) == [(0, 1), (1, 2), (2, 3)]
    assert [end - start for start, end in equal_runs([20] * 300, 2)] == [128, 128, 44]
