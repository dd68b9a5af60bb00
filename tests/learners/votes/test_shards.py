"""Shards are disjoint, even, and a function of public chance alone."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier

from dplearn import SubsampleAggregateClassifier
from dplearn.chance import PublicStream, SystemDice, enumerate_paths
from dplearn.learners.votes import recipe
from dplearn.learners.votes.batches import blocks_of
from dplearn.learners.votes.recipe import drawn_shards, shards


@pytest.mark.parametrize(("n", "k"), [(0, 1), (1, 1), (1, 3), (2, 5), (10, 3), (10, 10), (1000, 7)])
def test_every_record_is_in_exactly_one_shard_and_sizes_are_even(n, k):
    cut = shards(n, k, PublicStream(0))
    assert len(cut) == k
    assert sorted(place for shard in cut for place in shard.tolist()) == list(range(n))
    sizes = [len(shard) for shard in cut]
    assert max(sizes) - min(sizes) <= 1
    assert all(shard.dtype == np.int64 for shard in cut)


def test_the_same_public_seed_gives_the_same_shards_and_another_gives_others():
    def cut(seed):
        return [shard.tolist() for shard in shards(100, 4, PublicStream(seed, "shards"))]

    assert cut(1) == cut(1)
    assert cut(1) != cut(2)


def test_a_record_falls_into_every_shard_about_equally_often():
    counts = np.zeros(4)
    for seed in range(2000):
        counts[[0 in shard for shard in shards(10, 4, PublicStream(seed))]] += 1
    expected = 2000 * np.array([3, 3, 2, 2]) / 10
    assert np.abs(counts - expected).max() < 6 * 20.5  # times the largest standard deviation


# Drawn shards

N_TEACHERS = 12


@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 3), (2, 5), (10, 3), (1000, 7)])
def test_every_record_is_in_exactly_one_shard_in_the_order_of_the_table(n, k):
    cut = drawn_shards(n, k, SystemDice())
    assert len(cut) == k
    assert sorted(place for shard in cut for place in shard.tolist()) == list(range(n))
    assert all((np.diff(shard) > 0).all() and shard.dtype == np.int64 for shard in cut)


def test_all_cuts_are_equally_likely():
    cuts = dict.fromkeys(map(str, ([s.tolist() for s in cut] for cut, _ in _paths(3, 2))), 0)
    assert len(cuts) == 8
    assert {probability for _, probability in _paths(3, 2)} == {1 / 8}


def _paths(n, k):
    return enumerate_paths(lambda dice: drawn_shards(n, k, dice))


class Positions(ClassifierMixin, BaseEstimator):
    """A teacher that looks at row labels and at the flags of its rows, and at its own chance."""

    def fit(self, X, y):
        self.seen_ = list(X.index), [str(kind) for kind in X.dtypes], np.random.random()
        self.label_ = y[0]
        return self

    def predict(self, X):
        return np.repeat(self.label_, len(X))


def teachers_of(model, X, y, own, monkeypatch):
    """The teachers of a fit in which each record has a given draw."""

    def drawn(n, k, dice):
        del dice
        assert n == len(own)
        return [np.flatnonzero(own == each) for each in range(k)]

    monkeypatch.setattr(recipe, "drawn_shards", drawn)
    model = model.fit(X, y)
    with model._one_time_state.use() as ensemble:
        return ensemble.teachers


def told(teacher, X):
    """All that a teacher says of some rows, to the last bit."""
    if teacher is None:
        return None
    own = getattr(teacher, "seen_", ())
    return str(own), getattr(teacher, "predict_proba", teacher.predict)(X).tobytes()


@pytest.mark.parametrize("removed", [0, 200, 399])
@pytest.mark.parametrize("kind", ["standard", "stochastic", "positions"])
def test_one_record_more_changes_one_teacher_to_the_last_bit(kind, removed, monkeypatch):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X[:400], y[:400].to_numpy()
    if kind != "positions":  # the standard teacher of an array is trained in places of public lengths
        X = X.to_numpy()
    estimator = {
        "standard": None,
        "stochastic": SGDClassifier(max_iter=5, tol=None),
        "positions": Positions(),
    }
    model = SubsampleAggregateClassifier(
        estimator[kind],
        n_teachers=N_TEACHERS,
        epsilon=5.0,
        classes=[0, 1],
        max_queries=1,
        neighbors="add_remove",
        random_state=0,
    )
    own = np.random.default_rng(1).integers(0, N_TEACHERS, 400)
    own[own == 5] = 4  # an empty shard
    kept = np.arange(400) != removed
    rows = X.iloc if hasattr(X, "iloc") else X
    teachers = [
        teachers_of(model, *each, monkeypatch) for each in ((X, y, own), (rows[kept], y[kept], own[kept]))
    ]
    words = [[told(teacher, X[:20]) for teacher in each] for each in teachers]
    assert [i for i in range(N_TEACHERS) if words[0][i] != words[1][i]] == [own[removed]]
    assert words[0][5] is None


def test_seeds_of_teachers_are_functions_of_the_public_seed_and_of_their_number():
    seen = []
    for n in (100, 101):
        X, y = np.arange(n)[:, None] / n, np.arange(n) % 2
        model = SubsampleAggregateClassifier(
            SGDClassifier(), n_teachers=3, classes=[0, 1], epsilon=9, neighbors="add_remove", random_state=0
        ).fit(X, y)
        with model._one_time_state.use() as ensemble:
            seen.append([getattr(each, "random_state", None) for each in ensemble.teachers])
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 3


# Blocks of private lengths


def test_a_shard_is_trained_where_its_own_length_says():
    lengths, d = [1, 2, 20, 21, 40, 41, 80, 81, 160, 161, 10_000, 0], 10
    blocks = blocks_of(lengths, 20, d)
    padded = [block for block in blocks if block.padded]
    place = {member: block.length for block in padded for member in block.members}
    assert place == {1: 20, 2: 20, 3: 40, 4: 40, 5: 80, 6: 80, 7: 160, 8: 160}
    assert [block.members for block in blocks if not block.padded] == [[0], [9], [10], [11]]
    place = {member: block.length for block in blocks for member in block.members}
    for changed in range(len(lengths)):
        other = [*lengths[:changed], 33, *lengths[changed + 1 :]]
        found = {member: block.length for block in blocks_of(other, 20, d) for member in block.members}
        assert {**found, changed: None} == {**place, changed: None}


def test_the_places_of_a_block_depend_on_no_length(monkeypatch):
    monkeypatch.setattr("dplearn.learners.votes.batches._CELLS", 800)
    rng = np.random.default_rng(0)
    shapes = {}
    for _ in range(20):
        for block in blocks_of(rng.integers(0, 100, 30).tolist(), 10, 2):
            if not block.padded:
                continue
            shapes.setdefault(block.length, set()).add((block.slots.start, block.slots.stop))
            assert block.places == [member - block.slots.start for member in block.members]
    assert shapes.keys() == {10, 20, 40, 80}
    assert shapes[10] == {(0, 30)}
    assert shapes[80] == {(start, start + 5) for start in range(0, 30, 5)}


def test_a_place_is_filled_up_with_its_first_row():
    block = blocks_of([2, 3, 9], 4, 1)[0]
    rows = [np.arange(n)[:, None] + 10 * n for n in (2, 3)]
    cells, labels, own = block.filled(rows, [np.array(["a", "bc", "d"])[:n] for n in (2, 3)])
    assert cells[:, :, 0].tolist() == [[20, 21, 20, 20], [30, 31, 32, 30], [0, 0, 0, 0]]
    assert labels[:2].tolist() == [["a", "bc", "a", "a"], ["a", "bc", "d", "a"]]
    assert own.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
