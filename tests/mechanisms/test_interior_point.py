"""The exponential mechanism finds an interior point of any domain, with the weights that its text says."""

from fractions import Fraction

import pytest

from dplearn.audit import exact_distribution
from dplearn.chance import SeededDice
from dplearn.core.exact import selection_ratio
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.privacy import ApproxDP

ONE = ApproxDP(1)


@pytest.mark.parametrize("codes", [[0, 0, 0], [2, 4, 4, 1], [5], [0, 5, 5]])
def test_each_code_has_the_weight_of_its_depth(codes):
    distribution = exact_distribution(lambda dice: interior_point_code(codes, 6, privacy=ONE, dice=dice))
    ratio = selection_ratio(Fraction(1))
    weights = [ratio ** -min(sum(c >= x for c in codes), sum(c <= x for c in codes)) for x in range(6)]
    assert [distribution.probability(x) for x in range(6)] == [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("size", [2**20, 2**64, 2**4000], ids=["20 bits", "64 bits", "4000 bits"])
def test_enough_records_find_an_interior_point_in_a_domain_of_any_size(size):
    n = int(4 * (size.bit_length() * 0.6932 + 7)) + 1  # (4 / epsilon) ln(size / beta) + 1, beta < 0.001
    codes = [size // 3] * (n // 2) + [size // 3 + 5] * (n - n // 2)
    for seed in range(20):
        found = interior_point_code(codes, size, privacy=ONE, dice=SeededDice(seed))
        assert size // 3 <= found <= size // 3 + 5
