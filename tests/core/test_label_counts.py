"""Counts of labels, by slices of bits and in bins, against a count of one query after another."""

import numpy as np
import pytest

from dplearn.core import votes as module
from dplearn.core.votes import binned_counts, blocks, sliced_counts

WAYS = [sliced_counts, binned_counts]
NUMBERS_OF_LABELS = [*range(1, 18), 31, 32, 63, 64, 127, 128, 254, 255]


def votes_of(shape, n_labels):
    return np.random.default_rng(0).integers(-1, n_labels, shape)


def counted(votes, n_labels):
    return [[row.count(label) for row in votes.T.tolist()] for label in range(n_labels)]


@pytest.mark.parametrize("count", WAYS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 9), (8, 8), (9, 7), (300, 5), (0, 3), (3, 0)])
def test_counts_are_those_of_their_definition(count, shape):
    for n_labels in NUMBERS_OF_LABELS:
        votes = votes_of(shape, n_labels)
        counts = count(votes, n_labels)
        assert counts.shape == (n_labels, shape[1])
        assert counts.tolist() == counted(votes, n_labels), n_labels


@pytest.mark.parametrize("count", WAYS)
@pytest.mark.parametrize("n_labels", [2, 15, 16, 255])
def test_every_vote_of_every_teacher_is_seen(count, n_labels):
    # One vote at a time: whichever bit of whichever byte it comes to, it is counted once, for its label.
    for teacher in range(17):
        for label in {0, 1, n_labels // 2, n_labels - 1}:
            votes = np.full((17, 3), -1)
            votes[teacher, 1] = label
            expected = np.zeros((n_labels, 3), dtype=int)
            expected[label, 1] = 1
            assert (count(votes, n_labels) == expected).all()


@pytest.mark.parametrize("most", [1, 60, 1000])
def test_how_much_is_counted_at_a_time_changes_nothing(monkeypatch, most):
    monkeypatch.setattr(module, "_SLICES", most)
    monkeypatch.setattr(module, "_BINS", most)
    for n_queries in (1, 7, 8, 9, 33):
        votes = votes_of((300, n_queries), 6)
        for count in WAYS:
            assert count(votes, 6).tolist() == counted(votes, 6)


@pytest.mark.parametrize("n_teachers", [126, 127, 128, 255, 256, 32_767, 32_768])
def test_slices_hold_as_many_votes_as_there_are_teachers_or_none(n_teachers):
    counts = sliced_counts(np.ones((n_teachers, 1), dtype=np.int8), 2)
    assert counts.tolist() == [[0], [n_teachers]]
    assert np.iinfo(counts.dtype).min <= -n_teachers - 1


@pytest.mark.parametrize("count", WAYS)
def test_votes_are_left_alone(count):
    votes = votes_of((20, 20), 5).astype(np.int8)
    before = votes.copy()
    count(votes, 5)
    assert (votes == before).all()


@pytest.mark.parametrize(("length", "step"), [(0, 3), (1, 3), (3, 3), (4, 3), (9, 1)])
def test_blocks_cover_everything_once(length, step):
    found = [list(range(length))[block] for block in blocks(length, step)]
    assert [i for part in found for i in part] == list(range(length))
    assert all(0 < len(part) <= step for part in found)
