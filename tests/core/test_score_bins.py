"""Each score is in the bin that it is said to be in, and in the middle half of a plain or a shifted one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.core.soft_votes import (
    FIXED_POINT_ONE,
    bins,
    fixed_point,
    half_bins,
    midpoints,
    shifted_bins,
    shifted_midpoints,
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
