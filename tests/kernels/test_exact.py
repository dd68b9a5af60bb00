"""Exact bounds enclose, and what exact distributions leave out is what is missing."""

import math
import sys
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn._validation import as_fraction
from dplearn.chance import SeededDice, enumerate_paths
from dplearn.kernels import (
    at_most_exp,
    decay_ratio,
    exp_bounds,
    float_above,
    gaussian_probabilities,
    laplace_quantile,
    laplace_tail,
    log_bounds,
    partial_sum_bound,
    permute_and_flip_probabilities,
    power_at_most,
    short_above,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
exponents = st.fractions(min_value=-60, max_value=60, max_denominator=10**9).filter(bool)

BITS = 1500  # of the reference: exp(-700) is about 2**-1010, so 490 of them are left there


def exp_by_series(x: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose exp(x) without the decimal module: Taylor's series at x / 2**k, squared k times."""
    halvings = ceil(abs(x)).bit_length() + 1
    y = x / 2**halvings
    low = high = term = 1 << BITS
    for n in range(1, 200):
        # |y| <= 1/2, so what is rounded here and left out after 200 terms is below 400 units in all.
        term = floor(term * y / n)
        low, high = low + term, high + term
    low, high = low - 400, high + 400
    for _ in range(halvings):
        low, high = low * low >> BITS, (high * high >> BITS) + 1
    return Fraction(low, 1 << BITS), Fraction(high, 1 << BITS)


@repeatable
@given(exponents, st.integers(5, 80))
def test_exp_bounds_enclose_the_series(x, digits):
    low, high = exp_bounds(x, digits)
    series_low, series_high = exp_by_series(x)
    assert low < series_low <= series_high < high
    assert high - low < Fraction(10) ** (3 - digits) * series_low
    for far in (Fraction(1, 10**30), Fraction(-1, 10**12), Fraction(-700), Fraction(700)):
        low, high = exp_bounds(far)
        series_low, series_high = exp_by_series(far)
        assert low < series_low <= series_high < high


@repeatable
@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12).filter(lambda z: z != 1))
def test_log_bounds_enclose(z):
    low, high = log_bounds(z)
    assert exp_by_series(low)[1] < z < exp_by_series(high)[0]  # exp is increasing
    assert high - low < Fraction(1, 10**35) * max(abs(low), abs(high), 1)


@repeatable
@given(exponents, st.fractions(min_value=-10, max_value=10**6))
def test_at_most_exp_agrees_with_the_series(x, z):
    low, high = exp_by_series(x)
    assert not low < z < high
    assert at_most_exp(z, x) == (z <= low)
    for distance in (10, 60, 100):  # rationals that agree with exp(x) in many digits
        assert at_most_exp(low * (1 - Fraction(1, 10**distance)), x)
        assert not at_most_exp(high * (1 + Fraction(1, 10**distance)), x)


def test_a_number_below_a_power_with_very_many_digits_is_found_at_once():
    assert at_most_exp(Fraction(10**9), Fraction(10**12))


RATES = [Fraction(10) ** k for k in range(-12, 7)] + [Fraction(699), Fraction(700), Fraction(1, 3)]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_decay_ratio_is_never_below_exp_and_tight_in_itself_and_in_its_distance_from_one(rate):
    ratio = decay_ratio(rate)
    low, high = exp_by_series(-min(rate, Fraction(700)))
    assert high <= ratio < 1
    assert ratio <= low * (1 + Fraction(1, 2**31))
    assert 1 - ratio >= (1 - low) * (1 - Fraction(1, 2**31))
    assert ratio.denominator.bit_count() == 1


def test_a_number_is_the_decimal_it_is_written_as():
    for tenth in (0.1, "0.1", Decimal("0.10"), np.float64(0.1), np.float32(0.1), np.float16(0.1)):
        assert as_fraction(tenth) == Fraction(1, 10)
    others = [
        (1e-300, Fraction(1, 10**300)),
        (-2.5, Fraction(-5, 2)),
        (3, 3),
        (Fraction(2, 3), Fraction(2, 3)),
    ]
    for value, exact in (*others, ("1/3", Fraction(1, 3)), (np.int64(-7), -7), (np.uint8(255), 255)):
        assert as_fraction(value) == exact


@pytest.mark.parametrize(
    "x", [Fraction(1, 3), Fraction(1, 10), Fraction(-1, 3), Fraction(10**30 + 1), Fraction(1, 10**400)]
)
def test_the_float_above_is_the_least_that_is_not_below(x):
    above = float_above(x)
    assert above >= x > Fraction(math.nextafter(above, -math.inf))
    assert float_above(Fraction(10**400)) == math.inf
    assert float_above(Fraction(-(10**400))) == -sys.float_info.max


@pytest.mark.parametrize(
    "x", [Fraction(1, 3), Fraction(10**30, 7919), Fraction(1, 3 * 10**50), Fraction("1e-41")]
)
def test_long_numbers_become_short_ones_just_above(x):
    above = short_above(x)
    assert x < above <= x * (1 + Fraction(1, 2**99))
    assert above.numerator.bit_length() <= 102
    assert above.denominator.bit_count() == 1
    for short in (Fraction(0), Fraction(7), Fraction(1, 10), Fraction("1e-40"), Fraction(3, 2**60)):
        assert short_above(short) == short


ratios = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(19, 20), max_denominator=20)
HALF, NINTH = Fraction(1, 2), Fraction(8, 9)


def permute_and_flip(dice, ratio, exponents, multiplicities):
    """The definition: a uniformly random order, a coin for each candidate in turn, the first success wins."""
    least = min(e for e, m in zip(exponents, multiplicities, strict=True) if m)
    waiting = [group for group, m in enumerate(multiplicities) for _ in range(m)]
    while True:
        group = waiting.pop(dice.below(len(waiting)))
        if dice.bernoulli(ratio ** (exponents[group] - least)):
            return group


GROUPS = [([0], [1]), ([0, 1], [1, 1]), ([3, 3], [2, 1]), ([2, 0, 1], [1, 1, 1]), ([0, 4], [1, 3])]
GROUPS += [([0, 1, 7], [2, 0, 2]), ([-2, 1, -1], [1, 2, 1])]


@pytest.mark.parametrize(("exponents", "multiplicities"), GROUPS)
@pytest.mark.parametrize("ratio", [HALF, NINTH])
def test_permute_and_flip_law_is_that_of_its_definition(ratio, exponents, multiplicities):
    distribution = Counter()
    for group, p in enumerate_paths(lambda dice: permute_and_flip(dice, ratio, exponents, multiplicities)):
        distribution[group] += p
    expected = [distribution[group] for group in range(len(exponents))]
    assert permute_and_flip_probabilities(ratio, exponents, multiplicities) == expected


def gaussian_masses(sigma2: Fraction, reach: int) -> list[Decimal]:
    """Return the masses of 0..reach to about 90 digits, summed until the weights fall below 10**-100."""
    with localcontext() as context:
        context.prec = 120
        rate = Decimal(sigma2.denominator) / (2 * Decimal(sigma2.numerator))
        weights = [Decimal(1)]
        while weights[-1] > Decimal("1e-110") or len(weights) <= reach:
            weights.append((-rate * len(weights) ** 2).exp())
        total = 2 * sum(weights) - 1
        return [w / total for w in weights[: reach + 1]]


@pytest.mark.parametrize("sigma2", [Fraction(1, 50), HALF, Fraction(4), Fraction(31, 3), Fraction(1000)])
@pytest.mark.parametrize("bits", [20, 40, 64])
def test_gaussian_masses_are_below_the_truth_by_little_and_left_out_is_what_is_missing(sigma2, bits):
    support, masses, left_out = gaussian_probabilities(sigma2, bits)
    truth = [Fraction(mass) for mass in gaussian_masses(sigma2, support[-1] + 1)]
    assert support == list(range(-support[-1], support[-1] + 1))
    for k, mass in zip(support, masses, strict=True):
        assert 0 < mass <= truth[abs(k)]
        assert (mass * 2**bits).denominator == 1
    assert left_out == 1 - sum(masses) >= 0
    # Each listed mass is rounded down by less than 2 units of 2**-bits (one of them for the total, which is
    # rounded up); each unlisted one is below 2 units, and 12 sigma hold all but exp(-72) of them.
    reach = len(support) + 24 * (sigma2.numerator // sigma2.denominator + 1) ** 0.5
    assert left_out <= Fraction(2 * int(reach), 2**bits)


@pytest.mark.parametrize("bits", [10, 11, 12])
def test_gaussian_masses_count_the_tail_beyond_the_weights_that_are_summed(bits):
    # Found by search: without the tail in the total, a mass of this law comes out just above a multiple of
    # 2**-bits that the true mass is just below.
    support, masses, _ = gaussian_probabilities(Fraction(506), bits)
    truth = [Fraction(mass) for mass in gaussian_masses(Fraction(506), support[-1])]
    assert all(mass <= truth[abs(k)] for k, mass in zip(support, masses, strict=True))


@repeatable
@given(ratios, st.fractions(min_value=Fraction(1, 10**6), max_value=2))
def test_power_at_most_is_the_least_such_power(ratio, target):
    k = power_at_most(ratio, target)
    assert ratio**k <= target
    assert k == 0 or ratio ** (k - 1) > target
    assert power_at_most(ratio, ratio**k) == k  # decides where a power equals the target
    assert power_at_most(ratio, ratio**k - ratio**k / 10**200) == k + 1


@repeatable
@given(ratios, st.fractions(min_value=Fraction(1, 10**6), max_value=Fraction(9, 10)))
def test_the_laplace_quantile_is_the_least_positive_bar_with_so_small_a_tail(ratio, delta):
    threshold = laplace_quantile(ratio, delta)
    assert laplace_tail(ratio, threshold) <= delta
    assert threshold == 1 or laplace_tail(ratio, threshold - 1) > delta
    assert laplace_tail(ratio, threshold) + laplace_tail(ratio, 1 - threshold) == 1
    # ceil(ln(1 / (2 delta)) / epsilon) is the threshold for continuous noise, and would not do.
    assert laplace_quantile(decay_ratio(Fraction(1)), Fraction(1, 100)) == 5


@pytest.mark.parametrize("rate", [0.05, 1, 5])
@pytest.mark.parametrize("weights", [[1.0], [1.0] * 40, [1, 1, 0.5], [0.25] * 8], ids=len)
def test_weighted_partial_sums_exceed_their_bound_as_rarely_as_it_says(weights, rate):
    ratio, squares = decay_ratio(Fraction(rate)), sum(w * w for w in weights)
    bound = partial_sum_bound(ratio, squares, math.log(20))
    noise = SeededDice(0).discrete_laplace(ratio, size=8000 * len(weights)).reshape(8000, -1)
    greatest = (noise * weights).cumsum(axis=1).max(axis=1)
    assert (greatest >= bound).mean() <= 0.05
    assert rate > 1 or (greatest >= bound / 3).mean() > 0.05
    assert partial_sum_bound(ratio, np.array([squares, 2 * squares]), math.log(20))[0] == bound
