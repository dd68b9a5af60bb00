"""Enclosures of pi and of the normal tail contain the true values, by another formula, and are narrow."""

import math
from fractions import Fraction

import pytest
from scipy.stats import norm

from dplearn.core.exact import exp_bounds
from dplearn.privacy.gaussian_dp import pi_bounds, tail_bounds

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459")


@pytest.mark.parametrize("bits", [40, 86, 190])
def test_pi_is_enclosed(bits):
    low, high = pi_bounds(bits)
    assert low < PI < high
    assert high - low < Fraction(1, 2**bits)


@pytest.mark.parametrize("bits", [1000, 9000])
def test_bounds_on_pi_of_more_bits_are_within_those_of_fewer(bits):
    (low, high), (least, most) = pi_bounds(bits), pi_bounds(bits - 7)
    assert least < low < high < most
    assert high - low < Fraction(1, 2**bits)


def by_mills_ratio(x, convergents):
    """Bounds on the tail: the convergents of 1 / (x + 1 / (x + 2 / (x + ...))) are on both sides in turn."""
    found = []
    for depth in (convergents, convergents + 1):
        rest = x
        for k in range(depth, 0, -1):
            rest = x + k / rest
        found.append(1 / rest)
    decay = exp_bounds(-x * x / 2, 80)
    low, high = (decay[side] ** 2 / (2 * PI) for side in (0, 1))
    root = 1 << 600
    low, high = (
        Fraction(math.isqrt(math.floor(square * root**2)) + up, root) for up, square in enumerate((low, high))
    )
    return low * min(found), high * max(found)


@pytest.mark.parametrize("bits", [40, 86, 190])
@pytest.mark.parametrize("x", ["5/2", "5", "10.1", "20"])
def test_the_tail_is_the_one_of_mills_ratio(x, bits):
    low, high = tail_bounds(Fraction(x), bits)
    least, most = by_mills_ratio(Fraction(x), 500)
    assert most - least < least / 10**35
    assert low <= most
    assert least <= high
    assert high - low <= Fraction(1, 2**bits)
    mirrored = tail_bounds(-Fraction(x), bits)
    assert mirrored == (1 - high, 1 - low)


@pytest.mark.parametrize("x", [0.0, 1e-9, 1 / 3, 0.7, 1.5, 4.0, -0.2, -6.0, 30.0])
def test_the_tail_is_the_one_of_floats(x):
    low, high = tail_bounds(Fraction(x), 1200)
    assert float(low) == pytest.approx(norm.sf(x), rel=1e-13)
    assert 0 <= high - low < Fraction(1, 2**1200)


def test_far_tails_are_bounded_without_being_computed():
    assert tail_bounds(Fraction(10**6), 80) == (0, Fraction(1, 2**80))
    assert tail_bounds(Fraction(-(10**6)), 80) == (1 - Fraction(1, 2**80), 1)
