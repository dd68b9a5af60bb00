"""Pluralities and their distance to instability over all votes; counts of labels, one query after another."""

import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dplearn.kernels import FIXED_POINT_ONE, plurality
from dplearn.kernels import votes as module
from dplearn.kernels.votes import (
    binned_counts,
    fixed_point,
    sliced_counts,
    soft_tally,
    tally,
)

LABELS = 3
WAYS = [sliced_counts, binned_counts]


def counts_of(n):
    """All counts that n voters can produce, each voting for a label or for none."""
    return {
        tuple(Counter(votes)[label] for label in range(LABELS))
        for votes in product(range(-1, LABELS), repeat=n)
    }


def moved(counts):
    """All counts after one vote was moved, cast or withdrawn."""
    takes = [(i, -1) for i in range(LABELS) if counts[i]]
    gives = [(j, 1) for j in range(LABELS)]
    steps = [(take, give) for take in takes for give in gives]
    steps += [(take,) for take in takes] + [(give,) for give in gives]
    return {tuple(c + sum(by for i, by in step if i == k) for k, c in enumerate(counts)) for step in steps}


ALL = sorted({counts for n in range(7) for counts in counts_of(n)})


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


def counted(labels, n_labels):
    """The counts by their definition."""
    return [[column.count(label) for label in range(n_labels)] for column in labels.T.tolist()]


def agrees(votes, labels, n_labels):
    """Whether a tally is what its definition and `plurality` say, and of the types it guarantees."""
    counts = np.array(counted(labels, n_labels), dtype=np.int64).reshape(-1, n_labels)
    expected = counts, *plurality(counts)
    found = votes.counts, votes.winner, votes.distance
    return all(
        f.dtype == np.int64 and f.shape == e.shape and (f == e).all()
        for f, e in zip(found, expected, strict=True)
    )


def votes_of(shape, n_labels, dtype=np.int64, seed=0):
    """Public votes, some of them not cast, with as many close races as clear ones."""
    generator = np.random.default_rng(seed)
    favourite = generator.integers(0, n_labels, shape[1])
    free = generator.integers(-1, n_labels, shape)
    return np.where(generator.random(shape) < generator.random(shape[1]), favourite, free).astype(dtype)


@pytest.mark.parametrize("n_labels", [2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 63, 64, 127, 128, 254, 255, 1000])
@pytest.mark.parametrize(
    "shape", [(0, 5), (5, 0), (0, 0), (1, 1), (1, 7), (7, 9), (8, 8), (255, 3), (256, 3), (600, 40)]
)
def test_counts_winner_and_distance_are_those_of_their_definitions(n_labels, shape):
    labels = votes_of(shape, n_labels)
    assert agrees(tally(labels, n_labels), labels, n_labels)
    for count in WAYS if n_labels < 256 else []:
        assert count(labels, n_labels).T.tolist() == counted(labels, n_labels)


@pytest.mark.parametrize("n_labels", [2, 16, 127, 128])
@pytest.mark.parametrize("n_teachers", [126, 127, 128, 255, 256, 511, 32_767, 32_768, 40_000])
def test_no_count_wraps_where_all_teachers_agree(n_labels, n_teachers):
    # A byte holds 255, and two bytes 65,535.
    votes = tally(np.full((n_teachers, 2), n_labels - 1, dtype=np.int8), n_labels)
    assert votes.counts[:, :-1].max() == 0
    assert votes.counts[:, -1].tolist() == [n_teachers] * 2
    assert votes.winner.tolist() == [n_labels - 1] * 2
    assert votes.distance.tolist() == [(n_teachers + 1) // 2 - 1] * 2
    sliced = sliced_counts(np.ones((n_teachers, 1), dtype=np.int8), 2)
    assert sliced.tolist() == [[0], [n_teachers]]
    assert np.iinfo(sliced.dtype).min <= -n_teachers - 1


@pytest.mark.parametrize(("n_labels", "shape"), [(2, (500, 40_000)), (100, (20_000, 1000))])
def test_memory_beside_the_result_does_not_grow_with_the_votes(n_labels, shape):
    labels = np.zeros(shape, dtype=np.int8)
    assert labels.nbytes >= 20_000_000
    tracemalloc.start()
    votes = tally(labels, n_labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    returned = votes.counts.nbytes + votes.winner.nbytes + votes.distance.nbytes
    assert peak - returned < 16_000_000


# Scores in bins


def test_scores_are_rounded_down():
    for score in (*np.random.default_rng(0).random(300).tolist(), np.nextafter(1, 0), 0.5):
        (grain,) = fixed_point(np.array([score])).tolist()
        assert Fraction(grain, FIXED_POINT_ONE) <= Fraction(score) < Fraction(grain + 1, FIXED_POINT_ONE)


def bin_of(grain, n_bins, shifted):
    """The bin of a grain, by its definition; the ends of shifted bins are the last label."""
    score = Fraction(grain, FIXED_POINT_ONE)
    if not shifted:
        return int(score * n_bins)
    place = score * n_bins - Fraction(1, 2)
    return int(place) if 0 <= place < n_bins - 1 else n_bins - 1


def lead_of(column, n_bins, shifted):
    """Winner and distance: one less than how many votes must move before another label wins."""
    votes = Counter(bin_of(grain, n_bins, shifted) for grain in column if grain >= 0)
    counts = [votes[label] for label in range(n_bins)]
    winner = max(range(n_bins), key=lambda label: (counts[label], -label))
    needed = []
    for rival in set(range(n_bins)) - {winner}:
        moved = 0
        while (counts[rival] + moved, -rival) <= (counts[winner] - moved, -winner):
            moved += 1
        needed.append(moved)
    return winner, min(needed) - 1


def leads(lead):
    return list(zip(lead.winner.tolist(), lead.distance.tolist(), strict=True))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_leads_are_as_defined_whatever_the_blocks(width, monkeypatch):
    generator = np.random.default_rng(width)
    for teachers, rows in ((0, 5), (3, 0), (1, 20), (2, 20), (7, 20), (30, 20), (7, 20)):
        monkeypatch.setattr(module, "ENTRIES", 20 if teachers == 7 else 1 << 20)
        n_bins = int(generator.choice([2, 3, 5, 16, 64, FIXED_POINT_ONE // 2]))
        fixed_scores = generator.integers(-1, FIXED_POINT_ONE, (teachers, rows * width)).astype(np.int16)
        fixed_scores[:, ::3] = fixed_scores[:, ::3] // 512 * 512  # on ends of bins, more often in the same
        votes = soft_tally(fixed_scores, n_bins, width)
        assert (len(votes), votes.n_bins, votes.width) == (rows, n_bins, width)
        assert votes.fixed_scores is fixed_scores
        for lead, shifted in ((votes.plain, False), (votes.shifted, True)):
            assert leads(lead) == [lead_of(column, n_bins, shifted) for column in fixed_scores.T.tolist()]


def neighbours(k, values):
    """Pairs of all columns of k fixed-point scores that differ in one teacher."""
    for column in product(values, repeat=k):
        for place in range(k):
            for other in values:
                yield column, (*column[:place], other, *column[place + 1 :])


@pytest.mark.parametrize(("k", "n_bins"), [(1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (2, 3), (3, 3), (4, 3)])
def test_a_changed_teacher_moves_distances_by_one_and_winners_only_where_both_are_zero(k, n_bins):
    middles = [(2 * h + 1) * FIXED_POINT_ONE // (4 * n_bins) for h in range(2 * n_bins)]
    pairs = np.array(list(neighbours(k, [-1, *middles])), dtype=np.int16)
    first, second = (soft_tally(pairs[:, side].T, n_bins) for side in (0, 1))
    for one, other in ((first.plain, second.plain), (first.shifted, second.shifted)):
        assert abs(one.distance - other.distance).max() <= 1
        differ = one.winner != other.winner
        assert differ.any()
        assert not one.distance[differ].any()
        assert not other.distance[differ].any()
