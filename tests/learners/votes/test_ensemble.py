"""Ensembles count queries, and are pickled without their dice."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from dplearn.audit import FaultyDice
from dplearn.chance import SeededDice
from dplearn.learners.votes.aggregators import (
    AGGREGATIONS,
    SOFT_AGGREGATIONS,
    Ballot,
    QueriesExhaustedError,
)
from dplearn.learners.votes.asked import Labels, Scores
from dplearn.learners.votes.online import Ensemble
from dplearn.learners.votes.teachers import train_teachers
from dplearn.privacy import ApproxDP

X = np.random.default_rng(0).normal(size=(300, 2))  # public
KINDS = [(Labels, name) for name in AGGREGATIONS] + [(Scores, name) for name in SOFT_AGGREGATIONS]

each_kind = pytest.mark.parametrize(("kind", "name"), KINDS)
each_number_of_labels = pytest.mark.parametrize("n_labels", [2, 3])


class Stuck(GaussianNB):
    """Cannot be pickled."""

    def __reduce__(self):
        raise TypeError("stuck with 987654")


def ensemble(kind, name, n_labels=2, dice=None, epsilon=1e6):
    y = (X[:, 0] > 0).astype(int) + (n_labels > 2) * (X[:, 1] > 1)
    shards = [np.arange(i, 300, 10) for i in range(10)]
    teachers = train_teachers(GaussianNB(), X, y, shards, seeds=range(10))
    public = Ballot(ApproxDP(epsilon, "1e-6"), n_labels, 10, 20, 10)
    aggregator = kind.aggregations[name](public).attach(SeededDice(0) if dice is None else dice)
    return Ensemble(teachers, aggregator, kind(np.arange(n_labels)), {})


def how(kind, n_rows):
    """Further arguments of an ensemble's `answer` for so many rows."""
    return [np.full(n_rows, 2)] if kind is Scores else []


def size_of(answers):
    return len(getattr(answers, "codes", answers))


@each_kind
@each_number_of_labels
def test_queries_are_counted(kind, name, n_labels):
    asked = ensemble(kind, name, n_labels)
    for batch, total in ((3, 3), (1, 4), (0, 4), (5, 9)):
        answers = asked.answer(X[:batch], *how(kind, batch))
        assert size_of(answers) == batch
        assert asked.n_asked == total
        assert asked.aggregator.remaining_queries >= 20 - total
    if kind is Scores:
        assert answers.shape == (5, 1 if n_labels == 2 else 3)


@each_kind
def test_a_batch_that_is_too_large_is_refused_before_any_prediction(kind, name):
    dice = FaultyDice(SeededDice(0))
    asked = ensemble(kind, name, dice=dice)
    asked.teachers = None  # a query to the teachers would fail
    with pytest.raises(
        QueriesExhaustedError, match="at most the 20 queries that are left, got 21"
    ) as refused:
        asked.answer(X[:21], *how(kind, 21))
    assert refused.value.released.size == 0
    assert (dice.n_draws, asked.n_asked, asked.aggregator.remaining_queries) == (0, 0, 20)


@each_kind
@each_number_of_labels
def test_no_rows_get_no_answers_of_the_same_kind_and_draw_nothing(kind, name, n_labels):
    dice = FaultyDice(SeededDice(0))
    asked = ensemble(kind, name, n_labels, dice)
    none, some = (asked.answer(X[:n], *how(kind, n)) for n in (0, 2))
    assert type(none) is type(some)
    if kind is Scores:
        assert (none.shape, none.dtype) == ((0, some.shape[1]), some.dtype)
    else:
        assert none.counts.shape == (0, n_labels)
    assert ensemble(kind, name, n_labels, dice).answer(X[:0], *how(kind, 0)) is not None


@each_kind
def test_it_travels_without_dice_and_goes_on_where_it_was(kind, name):
    asked = ensemble(kind, name)
    asked.answer(X[:5], *how(kind, 5))
    there = pickle.loads(pickle.dumps(asked))
    assert type(there.asked) is kind
    assert there.n_asked == 5
    assert there.aggregator.remaining_queries == asked.aggregator.remaining_queries
    assert asked.answer(X[:1], *how(kind, 1)) is not None  # the original still has its dice
    with pytest.raises(AttributeError):
        there.answer(X[:1], *how(kind, 1))
    there.aggregator.attach(SeededDice(1))
    assert size_of(there.answer(X[:2], *how(kind, 2))) == 2


@each_kind
def test_a_teacher_that_cannot_travel_casts_no_vote_there(kind, name):
    asked = ensemble(kind, name)
    asked.teachers[3] = Stuck().fit(X, np.arange(300) % 2)
    there = pickle.loads(pickle.dumps(asked))
    assert [place for place, teacher in enumerate(there.teachers) if teacher is None] == [3]


@each_kind
def test_the_repr_shows_no_teacher(kind, name):
    assert "GaussianNB" not in repr(ensemble(kind, name))


def test_scores_are_the_teachers_and_a_row_keeps_its_own():
    asked = ensemble(Scores, "mean", n_labels=3, epsilon=1e12)
    expected = np.mean([teacher.predict_proba(X[:20]) for teacher in asked.teachers], axis=0)
    assert abs(asked.answer(X[:20], *how(Scores, 20)) - expected).max() < 1 / 4096


def test_each_row_has_bins_of_its_own():
    asked = ensemble(Scores, "sparse_vector")
    asked.teachers = asked.teachers[:1] * 10
    (likely,) = asked.teachers[0].predict_proba(X[:1])[:, 1]
    (coarse,), (fine,) = asked.answer(X[[0, 0]], np.array([2, 100]))
    assert coarse == (0.75 if likely > 0.5 else 0.25)
    assert abs(fine - likely) <= 1 / 200 + 1 / 4096


class Telling(GaussianNB):
    """Warns, prints and draws wherever it is packed or unpacked."""

    def __reduce__(self):
        self._tell()
        return telling, ()

    def _tell(self):
        warnings.warn("a teacher says so", stacklevel=1)
        print("private", np.random.random())


def telling():
    teacher = Telling()
    teacher._tell()
    return teacher


def test_neither_packing_nor_unpacking_reveals_the_number_of_teachers(capsys):
    ours = ensemble(Labels, "gnmax")
    ours.teachers = [Telling(), None, Telling()]
    before = np.random.get_state()[1].tolist()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = pickle.loads(pickle.dumps(ours))
    assert [type(each) for each in again.teachers] == [Telling, type(None), Telling]
    assert not caught
    assert capsys.readouterr() == ("", "")
    assert np.random.get_state()[1].tolist() == before
