"""Shards are disjoint, even, and a function of public chance alone."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier

from dplearn import SubsampleAggregateClassifier
from dplearn.chance import PublicStream, SystemDice, enumerate_paths
from dplearn.learners.votes import recipe, shards
from dplearn.privacy import OneTimeState


@pytest.mark.parametrize(("n", "k"), [(0, 1), (1, 1), (1, 3), (2, 5), (10, 3), (10, 10), (1000, 7)])
def test_every_record_is_in_exactly_one_shard_and_sizes_are_even_or_records_in_order(n, k):
    even, drawn = shards(n, k, PublicStream(0)), recipe.drawn_shards(n, k, SystemDice())
    for cut in (even, drawn):
        assert len(cut) == k
        assert sorted(place for shard in cut for place in shard.tolist()) == list(range(n))
        assert all(shard.dtype == np.int64 for shard in cut)
    sizes = [len(shard) for shard in even]
    assert max(sizes) - min(sizes) <= 1
    assert all((np.diff(shard) > 0).all() for shard in drawn)


def test_all_cuts_are_equally_likely():
    paths = [
        (str(cut), chance) for cut, chance in enumerate_paths(lambda dice: recipe.drawn_shards(3, 2, dice))
    ]
    assert len({cut for cut, _ in paths}) == len(paths) == 8
    assert {chance for _, chance in paths} == {1 / 8}


class Positions(ClassifierMixin, BaseEstimator):
    """A teacher that looks at row labels and at the flags of its rows, and at its own chance."""

    def fit(self, X, y):
        self.seen_ = list(X.index), [str(kind) for kind in X.dtypes], np.random.random()
        self.label_ = y[0]
        return self

    def predict(self, X):
        return np.repeat(self.label_, len(X))


def teachers_of(model, X, y, own, monkeypatch, path):
    """The teachers of a fit in which each record has a given draw."""

    def drawn(n, k, dice):
        del dice
        assert n == len(own)
        return [np.flatnonzero(own == each) for each in range(k)]

    monkeypatch.setattr(recipe, "drawn_shards", drawn)
    model.fit(X, y).export_teachers(path)
    with OneTimeState.load(path).use() as ensemble:
        return ensemble.teachers


def told(teacher, X):
    """All that a teacher says of some rows, to the last bit."""
    if teacher is None:
        return None
    own = getattr(teacher, "seen_", ())
    return str(own), getattr(teacher, "predict_proba", teacher.predict)(X).tobytes()


@pytest.mark.parametrize("removed", [0, 200, 399])
@pytest.mark.parametrize("kind", ["standard", "stochastic", "positions"])
def test_one_record_more_changes_one_teacher_to_the_last_bit(kind, removed, monkeypatch, tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X[:400], y[:400].to_numpy()
    if kind != "positions":  # the standard teacher of an array is trained in places of public lengths
        X = X.to_numpy()
    estimator = {"stochastic": SGDClassifier(max_iter=5, tol=None), "positions": Positions()}.get(kind)
    public = {"classes": [0, 1], "max_queries": 1, "neighbors": "add_remove", "random_state": 0}
    model = SubsampleAggregateClassifier(estimator, n_teachers=12, epsilon=5.0, **public)
    own = np.random.default_rng(1).integers(0, 12, 400)
    own[own == 5] = 4  # an empty shard
    kept = np.arange(400) != removed
    rows = X.iloc if hasattr(X, "iloc") else X
    tables = (X, y, own), (rows[kept], y[kept], own[kept])
    teachers = [teachers_of(model, *each, monkeypatch, tmp_path / "teachers") for each in tables]
    words = [[told(teacher, X[:20]) for teacher in each] for each in teachers]
    assert [i for i in range(12) if words[0][i] != words[1][i]] == [own[removed]]
    assert words[0][5] is None
