"""Release if stable: the probabilities to speak keep both inequalities exactly, and could not be greater."""

from fractions import Fraction
from itertools import pairwise, product
from math import log

import numpy as np
import pytest

from dplearn.audit import exact_distribution
from dplearn.audit.enumeration import least_exp_epsilon
from dplearn.kernels.distributions import laplace_quantile, laplace_tail
from dplearn.kernels.exact import at_most_exp, decay_ratio
from dplearn.mechanisms import most_frequent_if_stable, release_if_stable
from dplearn.privacy import ApproxDP
from dplearn.theory import release_probabilities

SETTINGS = [
    ApproxDP(1, "0.01"),
    ApproxDP("0.1", "1e-6"),
    ApproxDP("0.5", "1e-12"),
    ApproxDP(3, "0.05"),
    ApproxDP(10, "1e-30"),
    ApproxDP("0.01", "0.3"),
    ApproxDP(1, "0.9"),
    ApproxDP(10**9, "0.1"),
]
EACH = pytest.mark.parametrize("privacy", SETTINGS, ids=lambda p: f"{float(p.epsilon):g}-{float(p.delta):g}")


def within(p, q, privacy):
    """Decide p <= exp(epsilon) q + delta without rounding."""
    excess = p - privacy.delta
    return excess <= 0 or (q > 0 and at_most_exp(excess / q, min(privacy.epsilon, Fraction(2000))))


# Privacy


@EACH
def test_neighbouring_probabilities_keep_all_four_inequalities(privacy):
    table = release_probabilities(privacy)
    assert table[0] <= privacy.delta
    assert table[-1] == 1
    for p, q in pairwise(table):
        assert p < q
        assert within(q, p, privacy)
        assert within(p, q, privacy)
        assert within(1 - p, 1 - q, privacy)
        assert within(1 - q, 1 - p, privacy)


@EACH
def test_no_probability_could_be_greater_by_more_than_the_rounding_of_exp(privacy):
    table = release_probabilities(privacy)
    assert privacy.delta - table[0] < privacy.delta / 2**127
    for p, q in pairwise(table):
        # The ratio that stands for exp(-epsilon) is greater by less than one part in 2**32 of 1 - ratio.
        more = q + (1 - decay_ratio(privacy.epsilon)) / 2**30
        spoken, abstained = within(more, p, privacy), within(1 - p, max(1 - more, Fraction(0)), privacy)
        assert q == 1 or not (spoken and abstained)


@EACH
def test_for_the_rational_ratio_itself_no_probability_could_be_greater_at_all(privacy):
    ratio, delta = decay_ratio(privacy.epsilon), privacy.delta
    for p, q in pairwise(release_probabilities(privacy)):
        more = q + delta / 2**100
        assert q == 1 or more > p / ratio + delta or 1 - p > (1 - more) / ratio + delta


def test_at_epsilon_a_tenth_it_speaks_from_distance_131_where_laplace_noise_needs_155():
    privacy = ApproxDP("0.1", "1e-6")
    table = release_probabilities(privacy)
    assert table[130] < Fraction(95, 100) <= table[131]
    ratio = decay_ratio(privacy.epsilon)
    threshold = laplace_quantile(ratio, privacy.delta)
    assert laplace_tail(ratio, threshold - 154) < Fraction(95, 100) <= laplace_tail(ratio, threshold - 155)


@EACH
def test_it_speaks_at_least_as_often_as_laplace_noise_at_every_distance(privacy):
    ratio = decay_ratio(privacy.epsilon)
    threshold = laplace_quantile(ratio, privacy.delta)
    for distance, p in enumerate(release_probabilities(privacy)[:1000]):
        assert p >= laplace_tail(ratio, threshold - distance) * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("distances", [(0, 1), (2, 3), (7, 8), (8, 9), (40, 41)])
def test_the_law_is_one_coin(distances):
    privacy = ApproxDP(1, "0.01")
    table = release_probabilities(privacy)
    distributions = []
    for distance in distances:
        distribution = exact_distribution(
            lambda dice, d=distance: release_if_stable("yes", d, privacy=privacy, dice=dice)
        )
        assert distribution.probability("yes") == (table[distance] if distance < len(table) else 1)
        assert distribution.probability("yes") + distribution.probability(None) == 1
        distributions.append(distribution)
    for distribution, other in (distributions, distributions[::-1]):
        assert at_most_exp(least_exp_epsilon(distribution, other, privacy.delta)[0], privacy.epsilon)


def test_the_claim_is_attained():
    table = release_probabilities(ApproxDP(1, "0.01"))
    assert not at_most_exp((table[1] - Fraction(1, 100)) / table[0], Fraction(999_999, 1_000_000))


# Assumes


def test_a_distance_that_moves_by_two_breaks_the_claim():
    privacy = ApproxDP(1, "0.01")
    table = release_probabilities(privacy)
    assert not within(table[2], table[0], privacy)


def test_a_distance_above_0_where_a_neighbour_has_another_answer_breaks_the_claim():
    privacy = ApproxDP(1, "0.01")
    # The answer at distance 1 is impossible on the neighbour: delta alone must pay for it.
    assert release_probabilities(privacy)[1] > privacy.delta


# Accuracy


@EACH
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**9)])
def test_it_speaks_with_probability_1_less_beta_from_the_stated_distance_on(privacy, beta):
    table = release_probabilities(privacy)
    enough = -log(privacy.delta * beta) / privacy.epsilon + 1
    assert all(1 - p <= beta for distance, p in enumerate(table) if distance >= enough)
    assert len(table) - 1 <= enough or 1 - table[int(enough) + 1] <= beta
    # Not before half of it, at beta 1/2: the formula is no empty bound.
    if beta == Fraction(1, 2) and enough > 20 and privacy.delta < Fraction(1, 10):
        assert table[int(enough / 2) - 2] < 1 - beta


@pytest.mark.parametrize("privacy", [ApproxDP(1, "0.01"), ApproxDP(3, "1e-4")])
def test_the_distance_of_a_plurality_that_leads_by_g_is_at_least_half_of_g_less_two(privacy):
    table = (*release_probabilities(privacy), *[Fraction(1)] * 40)
    for votes in product(range(9), repeat=3):
        cast = np.repeat(np.arange(3), votes)
        distribution = exact_distribution(
            lambda dice, cast=cast: most_frequent_if_stable(cast, 3, privacy=privacy, dice=dice)
        )
        second, top = sorted(votes)[1:]
        at_least = max(0, -(-(top - second - 2) // 2))
        assert distribution.probability(votes.index(top)) >= table[at_least]
