"""Release if stable: the probabilities to speak keep both inequalities exactly, and could not be greater."""

from fractions import Fraction
from itertools import pairwise, product
from math import log

import numpy as np
import pytest

from dplearn.kernels import at_most_exp, decay_ratio
from dplearn.mechanisms import most_frequent_if_stable
from dplearn.privacy import ApproxDP
from dplearn.theory import release_probabilities
from tests.mechanisms.laws import law

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
def test_for_the_rational_ratio_itself_no_probability_could_be_greater_at_all(privacy):
    ratio, delta = decay_ratio(privacy.epsilon), privacy.delta
    for p, q in pairwise(release_probabilities(privacy)):
        more = q + delta / 2**100
        assert q == 1 or more > p / ratio + delta or 1 - p > (1 - more) / ratio + delta


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


def test_the_distance_of_a_plurality_that_leads_by_g_is_at_least_half_of_g_less_two():
    privacy = ApproxDP(1, "0.01")
    table = (*release_probabilities(privacy), *[Fraction(1)] * 40)
    for votes in product(range(6), repeat=3):
        cast = np.repeat(np.arange(3), votes)
        found = law(lambda dice, cast=cast: most_frequent_if_stable(cast, 3, privacy=privacy, dice=dice))
        second, top = sorted(votes)[1:]
        at_least = max(0, -(-(top - second - 2) // 2))
        assert found[votes.index(top)] >= table[at_least]
