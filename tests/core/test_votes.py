"""Pluralities and their distance to instability, against brute force over all votes."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from dplearn.core.votes import plurality

LABELS = 3


def counts_of(n):
    """All counts that n voters can produce, each voting for a label or for none."""
    return {
        tuple(Counter(votes)[label] for label in range(LABELS))
        for votes in product(range(-1, LABELS), repeat=n)
    }


def moved(counts, withdrawn=True):
    """All counts after one vote was moved, and where allowed cast or withdrawn."""
    takes = [(i, -1) for i in range(LABELS) if counts[i]]
    gives = [(j, 1) for j in range(LABELS)]
    steps = [(take, give) for take in takes for give in gives]
    if withdrawn:
        steps += [(take,) for take in takes] + [(give,) for give in gives]
    return {tuple(c + sum(by for i, by in step if i == k) for k, c in enumerate(counts)) for step in steps}


def winner(counts):
    return max(range(LABELS), key=lambda label: (counts[label], -label))


def steps_to_another_winner(counts, withdrawn):
    """The least number of changed votes after which another label wins, by breadth first search."""
    seen, layer, steps = {counts}, {counts}, 0
    while all(winner(c) == winner(counts) for c in layer):
        layer = {other for c in layer for other in moved(c, withdrawn)} - seen
        seen |= layer
        steps += 1
    return steps


ALL = sorted({counts for n in range(7) for counts in counts_of(n)})


@pytest.mark.parametrize("n", range(7))
def test_the_winner_is_the_first_label_with_the_most_votes(n):
    for counts in counts_of(n):
        assert plurality(np.array(counts))[0] == winner(counts)


def test_the_distance_is_one_less_than_the_least_number_of_changed_votes():
    for counts in ALL:
        assert plurality(np.array(counts))[1] == steps_to_another_winner(counts, withdrawn=True) - 1


def test_moving_votes_is_as_quick_as_casting_and_withdrawing_too_once_there_is_a_vote():
    for counts in ALL:
        if any(counts):
            assert plurality(np.array(counts))[1] == steps_to_another_winner(counts, withdrawn=False) - 1


def test_the_distance_is_0_wherever_a_neighbour_has_another_winner_and_moves_by_at_most_1():
    changes = 0
    for counts in ALL:
        here, distance = plurality(np.array(counts))
        for other in moved(counts):
            there, far = plurality(np.array(other))
            assert abs(distance - far) <= 1
            if here != there:
                changes += 1
                assert distance == far == 0
    assert changes > 100


def test_the_gap_less_one_would_move_by_two_and_be_positive_where_the_winner_changes():
    # The distance of the paper, max(0, gap - 1): one moved vote changes the gap by 2.
    def of_the_paper(counts):
        top, second = sorted(counts, reverse=True)[:2]
        return max(0, top - second - 1)

    assert of_the_paper((2, 0, 0)) == 1
    assert (1, 1, 0) in moved((2, 0, 0))
    assert of_the_paper((5, 1, 0)) - of_the_paper((4, 2, 0)) == 2
    assert plurality(np.array((5, 1, 0)))[1] - plurality(np.array((4, 2, 0)))[1] == 1


def test_many_votes_are_decided_at_once():
    table = np.array(ALL).reshape(-1, 1, LABELS)
    winners, distances = plurality(table)
    assert winners.shape == distances.shape == (len(ALL), 1)
    assert winners.dtype == distances.dtype == np.int64
    singly = [plurality(np.array(counts)) for counts in ALL]
    assert winners[:, 0].tolist() == [int(w) for w, _ in singly]
    assert distances[:, 0].tolist() == [int(d) for _, d in singly]


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "u8", ">i4"])
def test_every_dtype_is_counted_without_wrapping(dtype):
    winners, distances = plurality(np.array([[0, 100, 99], [100, 0, 0]], dtype=dtype))
    assert winners.tolist() == [1, 0]
    assert distances.tolist() == [0, 50]


def test_huge_counts_and_many_labels_do_not_overflow():
    counts = np.zeros(100_000, dtype=np.int64)
    counts[-1] = 2**62
    assert [int(x) for x in plurality(counts)] == [99_999, 2**61 - 1]


def test_the_counts_are_left_alone():
    counts = np.array([[4, 1, 0], [0, 0, 2]])
    before = counts.copy()
    plurality(counts)
    assert (counts == before).all()
