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
@given(ratios, groups, st.integers(-1000, 1000))
def test_power_law_is_its_formula_and_laws_of_selection_do_not_change_with_all_exponents(ratio, pairs, shift):
    exponents, multiplicities = zip(*pairs, strict=True)
    weights = [m * ratio**e for e, m in pairs]
    theirs = power_probabilities(ratio, exponents, multiplicities)
    ours = permute_and_flip_probabilities(ratio, exponents, multiplicities)
    assert theirs == [w / sum(weights) for w in weights]
    assert sum(ours) == 1
    shifted = [e + shift for e in exponents]
    assert power_probabilities(ratio, shifted, multiplicities) == theirs
    assert permute_and_flip_probabilities(ratio, shifted, multiplicities) == ours
    least = min(e for e, m in pairs if m)  # permute and flip gives the best at least as much
    best = [i for i, (e, m) in enumerate(pairs) if m and e == least]
    assert sum(ours[i] for i in best) >= sum(theirs[i] for i in best)


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


def test_the_law_of_a_gaussian_far_narrower_than_one_is_its_centre():
    # exp(-1 / (2 sigma2)) is below 10**-20000 here, and what rounds to 0 is not in the support.
    support, masses, left_out = gaussian_probabilities(Fraction(1, 10**5))
    assert support == [0]
    assert masses[0] + left_out == 1
    left = [gaussian_probabilities(Fraction(9), bits)[2] for bits in (16, 24, 32, 48)]  # more bits leave less
    assert left == sorted(left, reverse=True)
    assert left[-1] < left[0] / 10**8
    for sigma2, most in ((Fraction(4), 10**10), (Fraction(10**4), 10**8), (Fraction(1, 50), 10**10)):
        assert gaussian_probabilities(sigma2)[2] < Fraction(1, most)
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
