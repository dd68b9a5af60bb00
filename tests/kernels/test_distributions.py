"""The exact distributions equal their definitions, sum to 1, and the Gaussian's cut is a sound one.

Sums of discrete Laplace noise stay within their bounds as often as these say.
"""

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.chance import SeededDice, enumerate_paths
from dplearn.kernels.distributions import (
    gaussian_probabilities,
    geometric_probabilities,
    laplace_probabilities,
    laplace_quantile,
    laplace_tail,
    partial_sum_bound,
    permute_and_flip_probabilities,
    power_at_most,
    power_probabilities,
)
from dplearn.kernels.exact import decay_ratio

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=50)
ratios = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(19, 20), max_denominator=20)
groups = st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 5)), min_size=1, max_size=5).filter(
    lambda pairs: any(m for _, m in pairs)
)
HALF, NINTH = Fraction(1, 2), Fraction(8, 9)


# power_probabilities


@repeatable
@given(ratios, groups)
def test_power_law_is_its_formula(ratio, pairs):
    exponents, multiplicities = zip(*pairs, strict=True)
    weights = [m * ratio**e for e, m in pairs]
    assert power_probabilities(ratio, exponents, multiplicities) == [w / sum(weights) for w in weights]


@repeatable
@given(ratios, groups, st.integers(-1000, 1000))
def test_adding_a_constant_to_all_exponents_changes_nothing(ratio, pairs, shift):
    exponents, multiplicities = zip(*pairs, strict=True)
    shifted = [e + shift for e in exponents]
    for distribution in (power_probabilities, permute_and_flip_probabilities):
        assert distribution(ratio, exponents, multiplicities) == distribution(ratio, shifted, multiplicities)


def test_an_empty_group_has_probability_zero_wherever_its_exponent_stands():
    assert power_probabilities(HALF, [-50, 0, 1, 50], [0, 2, 4, 0]) == [0, HALF, HALF, 0]
    assert permute_and_flip_probabilities(HALF, [-50, 0, 50], [0, 2, 0]) == [0, 1, 0]


# laplace


@pytest.mark.parametrize("ratio", [HALF, NINTH, Fraction(1, 20)])
@pytest.mark.parametrize("threshold", [-30, -2, -1, 0, 1, 2, 30])
def test_laplace_tail_is_the_sum_of_its_masses(ratio, threshold):
    # Masses of threshold..far, and of everything beyond far: a geometric series, ratio**(far + 1) / (1 -
    # ratio).
    far = 40
    masses = sum(ratio ** abs(k) for k in range(threshold, far + 1)) + ratio ** (far + 1) / (1 - ratio)
    assert laplace_tail(ratio, threshold) == masses * (1 - ratio) / (1 + ratio)


@repeatable
@given(ratios, st.integers(-50, 50))
def test_laplace_tails_mirror_each_other(ratio, threshold):
    assert laplace_tail(ratio, threshold) + laplace_tail(ratio, 1 - threshold) == 1


@repeatable
@given(ratios, st.integers(-12, 12), st.integers(0, 12))
def test_laplace_law_moves_all_mass_outside_to_the_ends(ratio, low, length):
    high = low + length
    distribution = laplace_probabilities(ratio, low, high)
    assert sum(distribution) == 1
    assert distribution[-1] == (laplace_tail(ratio, high) if length else 1)
    assert distribution[0] == (1 - laplace_tail(ratio, low + 1) if length else 1)
    mass = (1 - ratio) / (1 + ratio)
    assert distribution[1:-1] == [mass * ratio ** abs(k) for k in range(low + 1, high)]


# permute and flip


def permute_and_flip(dice, ratio, exponents, multiplicities):
    """The definition: a uniformly random order, a coin for each candidate in turn, the first success wins."""
    least = min(e for e, m in zip(exponents, multiplicities, strict=True) if m)
    waiting = [group for group, m in enumerate(multiplicities) for _ in range(m)]
    while True:
        group = waiting.pop(dice.below(len(waiting)))
        if dice.bernoulli(ratio ** (exponents[group] - least)):
            return group


@pytest.mark.parametrize(
    ("exponents", "multiplicities"),
    [
        ([0], [1]),
        ([0, 1], [1, 1]),
        ([3, 3], [2, 1]),
        ([2, 0, 1], [1, 1, 1]),
        ([0, 4], [1, 3]),
        ([0, 1, 7], [2, 0, 2]),
        ([-2, 1, -1], [1, 2, 1]),
    ],
)
@pytest.mark.parametrize("ratio", [HALF, NINTH])
def test_permute_and_flip_law_is_that_of_its_definition(ratio, exponents, multiplicities):
    distribution = Counter()
    for group, p in enumerate_paths(lambda dice: permute_and_flip(dice, ratio, exponents, multiplicities)):
        distribution[group] += p
    expected = [distribution[group] for group in range(len(exponents))]
    assert permute_and_flip_probabilities(ratio, exponents, multiplicities) == expected


@repeatable
@given(ratios, groups)
def test_laws_of_selection_sum_to_one(ratio, pairs):
    exponents, multiplicities = zip(*pairs, strict=True)
    assert sum(power_probabilities(ratio, exponents, multiplicities)) == 1
    assert sum(permute_and_flip_probabilities(ratio, exponents, multiplicities)) == 1


@repeatable
@given(ratios, groups)
def test_permute_and_flip_gives_the_best_at_least_what_the_exponential_mechanism_gives_them(ratio, pairs):
    exponents, multiplicities = zip(*pairs, strict=True)
    least = min(e for e, m in pairs if m)
    best = [i for i, (e, m) in enumerate(pairs) if m and e == least]
    ours = permute_and_flip_probabilities(ratio, exponents, multiplicities)
    theirs = power_probabilities(ratio, exponents, multiplicities)
    assert sum(ours[i] for i in best) >= sum(theirs[i] for i in best)


# gaussian_probabilities


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


def test_what_the_gaussian_leaves_out_is_small_at_the_default_precision():
    assert gaussian_probabilities(Fraction(4))[2] < Fraction(1, 10**10)
    assert gaussian_probabilities(Fraction(10**4))[2] < Fraction(1, 10**8)
    assert gaussian_probabilities(Fraction(1, 50))[2] < Fraction(1, 10**10)


def test_more_bits_leave_less_out():
    left_out = [gaussian_probabilities(Fraction(9), bits)[2] for bits in (16, 24, 32, 48)]
    assert left_out == sorted(left_out, reverse=True)
    assert left_out[-1] < left_out[0] / 10**8


def test_the_law_of_a_gaussian_far_narrower_than_one_is_its_centre():
    # exp(-1 / (2 sigma2)) is below 10**-20000 here, and what rounds to 0 is not in the support.
    support, masses, left_out = gaussian_probabilities(Fraction(1, 10**5))
    assert support == [0]
    assert masses[0] + left_out == 1
    assert left_out <= Fraction(1, 2**39)


@repeatable
@given(ratios, st.integers(-5, 5), st.integers(0, 8))
def test_geometric_law_moves_all_mass_outside_to_the_ends(ratio, low, length):
    distribution = geometric_probabilities(ratio, low, low + length)
    assert sum(distribution) == 1
    for k, p in zip(range(low + 1, low + length), distribution[1:], strict=False):
        assert p == ((1 - ratio) * ratio**k if k >= 0 else 0)
    assert distribution[-1] == (ratio ** max(low + length, 0) if length else 1)


@repeatable
@given(ratios, st.fractions(min_value=Fraction(1, 10**6), max_value=2))
def test_power_at_most_is_the_least_such_power(ratio, target):
    k = power_at_most(ratio, target)
    assert ratio**k <= target
    assert k == 0 or ratio ** (k - 1) > target


@pytest.mark.parametrize("k", [1, 7, 300])
def test_power_at_most_decides_where_a_power_equals_the_target(k):
    assert power_at_most(Fraction(2, 3), Fraction(2, 3) ** k) == k
    assert power_at_most(Fraction(2, 3), Fraction(2, 3) ** k - Fraction(1, 10**200)) == k + 1


@repeatable
@given(ratios, st.fractions(min_value=Fraction(1, 10**6), max_value=Fraction(9, 10)))
def test_the_laplace_quantile_is_the_least_positive_bar_with_so_small_a_tail(ratio, delta):
    threshold = laplace_quantile(ratio, delta)
    assert laplace_tail(ratio, threshold) <= delta
    assert threshold == 1 or laplace_tail(ratio, threshold - 1) > delta


def test_the_continuous_quantile_would_not_do():
    # ceil(ln(1 / (2 delta)) / epsilon) is the threshold for continuous noise: 0.0134 for 0.01.
    ratio = decay_ratio(Fraction(1))
    assert round(float(laplace_tail(ratio, 4)), 4) == 0.0134
    assert laplace_quantile(ratio, Fraction(1, 100)) == 5


@pytest.mark.parametrize("rate", [0.05, 1, 5])
@pytest.mark.parametrize("steps", [1, 40])
def test_partial_sums_exceed_their_bound_as_rarely_as_it_says(steps, rate):
    ratio = decay_ratio(Fraction(rate))
    bound = partial_sum_bound(ratio, steps, math.log(20))
    sums = SeededDice(0).discrete_laplace(ratio, size=4000 * steps).reshape(4000, steps).cumsum(axis=1)
    share = (sums.max(axis=1) >= bound).mean()
    assert 0 < share <= 0.05
    assert partial_sum_bound(ratio, np.array([steps, 2 * steps]), math.log(20))[0] == bound


@pytest.mark.parametrize("weights", [[1, 1, 0.5], [0.25] * 8])
def test_weights_count_by_their_squares(weights):
    ratio, squares = decay_ratio(Fraction(1)), sum(w * w for w in weights)
    bound = partial_sum_bound(ratio, squares, math.log(20))
    sums = SeededDice(0).discrete_laplace(ratio, size=8000 * len(weights)).reshape(8000, -1) @ weights
    assert (sums >= bound).mean() <= 0.05 < (sums >= bound / 3).mean()
