"""Drawn shards are disjoint, each record's draw is its own, and a further record changes one teacher."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier

from dplearn import SubsampleAggregateClassifier
from dplearn.chance import SeededDice, SystemDice, enumerate_paths
from dplearn.ensembles.drawn_shards import drawn_shards
from dplearn.learners import ensembles

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


def test_shards_differ_in_length_unlike_equal_ones():
    lengths = {len(shard) for shard in drawn_shards(200, 10, SeededDice(0))}
    assert len(lengths) > 4


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

    monkeypatch.setattr(ensembles, "drawn_shards", drawn)
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
