"""Each score is in the bin that it is said to be in, and in the middle half of a plain or a shifted one.

Histograms of scores, against a definition by brute force; one changed teacher moves each distance by 1.
"""

import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.kernels import votes as module
from dplearn.kernels.votes import (
    FIXED_POINT_ONE,
    bins,
    fixed_point,
    half_bins,
    midpoints,
    shifted_bins,
    shifted_midpoints,
    soft_tally,
)

ALL = np.arange(FIXED_POINT_ONE)
MANY = [*range(2, 40), 63, 64, 65, 127, 128, 129, 255, 257, 1000, 1365, 2047, FIXED_POINT_ONE // 2]
repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=300)


def between(lower, upper):
    """Where lower <= g / FIXED_POINT_ONE < upper for each score g; ends are (numerator, denominator)."""
    (a, b), (c, d) = lower, upper
    return (a * FIXED_POINT_ONE <= ALL * b) & (ALL * d < c * FIXED_POINT_ONE)


def test_every_grain_is_in_its_half_bin():
    for n_bins in MANY:
        half = half_bins(ALL, n_bins)
        assert between((half, 2 * n_bins), (half + 1, 2 * n_bins)).all()
        assert (half[0], half[-1]) == (0, 2 * n_bins - 1)


def test_every_grain_is_in_its_bin_and_within_half_a_width_of_the_midpoint():
    for n_bins in MANY:
        code = bins(half_bins(ALL, n_bins))
        assert between((code, n_bins), (code + 1, n_bins)).all()
        for g in (0, 1, FIXED_POINT_ONE // 3, FIXED_POINT_ONE // 2, FIXED_POINT_ONE - 1):
            middle = Fraction(2 * int(code[g]) + 1, 2 * n_bins)
            assert abs(Fraction(g, FIXED_POINT_ONE) - middle) <= Fraction(1, 2 * n_bins)
            assert midpoints(code, n_bins)[g] == float(middle)


def test_every_grain_is_in_its_shifted_bin_or_at_an_end():
    for n_bins in MANY:
        half = half_bins(ALL, n_bins)
        code = shifted_bins(half, n_bins)
        ends = code == n_bins - 1
        shifted = between((2 * code + 1, 2 * n_bins), (2 * code + 3, 2 * n_bins))
        assert shifted[~ends].all()
        assert (ends == ((half == 0) | (half == 2 * n_bins - 1))).all()
        assert set(code.tolist()) == set(range(n_bins))


def test_every_grain_but_those_at_the_ends_is_in_the_middle_half_of_a_plain_or_a_shifted_bin():
    for n_bins in MANY:
        half = half_bins(ALL, n_bins)
        plain, shifted = bins(half), shifted_bins(half, n_bins)
        quarters = 4 * n_bins
        in_plain = between((4 * plain + 1, quarters), (4 * plain + 3, quarters))
        in_shifted = between((4 * shifted + 3, quarters), (4 * shifted + 5, quarters)) & (
            shifted < n_bins - 1
        )
        at_an_end = (half == 0) | (half == 2 * n_bins - 1)
        assert (in_plain | in_shifted | at_an_end).all()
        assert not (in_plain & in_shifted).any()


@pytest.mark.parametrize("n_bins", [2, 3, 10, 2047])
def test_midpoints_are_the_middles_of_bins_and_the_label_of_the_ends_has_none(n_bins):
    codes = np.arange(n_bins)
    assert midpoints(codes, n_bins).tolist() == [
        float(Fraction(2 * j + 1, 2 * n_bins)) for j in range(n_bins)
    ]
    *inner, last = shifted_midpoints(codes, n_bins).tolist()
    assert inner == [float(Fraction(j + 1, n_bins)) for j in range(n_bins - 1)]
    assert np.isnan(last)


def test_midpoints_of_queries_with_bins_of_their_own():
    winner, n_bins = np.array([1, 1, 4]), np.array([2, 4, 5])
    assert midpoints(winner, n_bins).tolist() == [0.75, 0.375, 0.9]
    shifted = shifted_midpoints(winner, n_bins)
    assert np.isnan(shifted[[0, 2]]).all()
    assert shifted[1] == 0.5


def test_no_score_stays_no_score():
    for n_bins in MANY:
        none = half_bins(np.array([-1], dtype=np.int16), n_bins)
        assert none.tolist() == bins(none).tolist() == shifted_bins(none, n_bins).tolist() == [-1]


def test_half_bins_of_the_smallest_type_do_not_overflow():
    top = np.array([FIXED_POINT_ONE - 1, FIXED_POINT_ONE // 2], dtype=np.int16)
    assert half_bins(top, FIXED_POINT_ONE // 2).tolist() == [FIXED_POINT_ONE - 1, FIXED_POINT_ONE // 2]


def test_scores_beyond_0_and_1_count_as_these_and_nan_as_none():
    scores = [-np.inf, -3.0, -0.0, 0.0, 5e-324, 1.0, np.nextafter(1, 2), 7.0, np.inf, np.nan]
    fixed_scores = fixed_point(np.array(scores))
    assert fixed_scores.tolist() == [0] * 5 + [FIXED_POINT_ONE - 1] * 4 + [-1]
    assert fixed_scores.dtype == np.int16


@repeatable
@given(st.floats(0, 1, exclude_max=True))
def test_a_score_is_rounded_down_to_a_grain(score):
    (grain,) = fixed_point(np.array([score])).tolist()
    assert Fraction(grain, FIXED_POINT_ONE) <= Fraction(score) < Fraction(grain + 1, FIXED_POINT_ONE)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int64, bool])
def test_scores_of_any_type_are_read(kind):
    assert fixed_point(np.array([0, 1], dtype=kind)).tolist() == [0, FIXED_POINT_ONE - 1]


def test_grains_keep_the_shape():
    assert fixed_point(np.zeros((3, 0))).shape == (3, 0)
    assert fixed_point(np.full((2, 3), 0.5)).tolist() == [[FIXED_POINT_ONE // 2] * 3] * 2


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
def test_leads_are_as_defined_whatever_the_bins_of_each_row(width):
    generator = np.random.default_rng(width)
    for teachers in (0, 1, 2, 7, 30):
        rows = 40
        n_bins = generator.choice([2, 3, 5, 16, 2048], size=rows)
        fixed_scores = generator.integers(-1, FIXED_POINT_ONE, (teachers, rows * width)).astype(np.int16)
        fixed_scores[:, ::3] = (
            fixed_scores[:, ::3] // 512 * 512
        )  # on ends of bins, and more often in the same
        votes = soft_tally(fixed_scores, n_bins, width)
        repeated = [int(number) for number in n_bins for _ in range(width)]
        assert votes.n_bins.tolist() == repeated
        assert (len(votes), votes.width) == (rows, width)
        assert votes.fixed_scores is fixed_scores
        for lead, shifted in ((votes.plain, False), (votes.shifted, True)):
            columns = zip(fixed_scores.T.tolist(), repeated, strict=True)
            assert leads(lead) == [lead_of(column, number, shifted) for column, number in columns]


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
    first, second = (soft_tally(pairs[:, side].T, np.full(len(pairs), n_bins)) for side in (0, 1))
    for one, other in ((first.plain, second.plain), (first.shifted, second.shifted)):
        assert abs(one.distance - other.distance).max() <= 1
        differ = one.winner != other.winner
        assert differ.any()
        assert not one.distance[differ].any()
        assert not other.distance[differ].any()


def test_a_teacher_changes_its_own_column_of_each_row_and_no_other():
    fixed_scores = fixed_point(np.random.default_rng(0).random((20, 12)))
    changed = fixed_scores.copy()
    changed[3, 5] = -1
    n_bins = np.array([2, 3, 4, 5])
    one, other = soft_tally(fixed_scores, n_bins, 3), soft_tally(changed, n_bins, 3)
    for mine, yours in ((one.plain, other.plain), (one.shifted, other.shifted)):
        same = np.arange(12) != 5
        assert (mine.distance == yours.distance)[same].all()
        assert (mine.winner == yours.winner)[same].all()


def test_nobody_who_scores_leaves_the_first_bin_at_no_distance():
    votes = soft_tally(np.full((5, 2), -1, dtype=np.int16), np.array([2, 7]))
    assert leads(votes.plain) == leads(votes.shifted) == [(0, 0), (0, 0)]


def test_no_queries_have_no_leads():
    votes = soft_tally(np.zeros((3, 0), dtype=np.int16), np.zeros(0, dtype=np.int64), 4)
    assert len(votes) == 0
    assert leads(votes.plain) == []


def test_blocks_change_nothing(monkeypatch):
    fixed_scores = fixed_point(np.random.default_rng(1).random((9, 50)))
    n_bins = np.arange(50) % 3 + 2
    whole = soft_tally(fixed_scores, n_bins)
    monkeypatch.setattr(module, "_ENTRIES", 20)
    parts = soft_tally(fixed_scores, n_bins)
    assert leads(parts.plain) == leads(whole.plain)
    assert leads(parts.shifted) == leads(whole.shifted)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("teachers", "queries", "n_bins"), [(500, 20_000, 10), (50, 20_000, FIXED_POINT_ONE // 2)]
)
def test_memory_does_not_grow_with_teachers_and_bins_times_queries(teachers, queries, n_bins):
    fixed_scores = np.zeros((teachers, queries), dtype=np.int16)
    tracemalloc.start()
    try:
        soft_tally(fixed_scores, np.full(queries, n_bins))
        assert tracemalloc.get_traced_memory()[1] < 100e6  # all at once would take 240 or 640 MB
    finally:
        tracemalloc.stop()


def test_what_a_traceback_may_show_holds_no_score():
    votes = soft_tally(fixed_point(np.full((4, 1), 0.987654)), np.array([5]))
    shown = repr(votes) + repr(votes.plain)
    assert "object at" in shown
    assert "4045" not in shown
