"""The exponential mechanism finds an interior point of any domain, with the weights that its text says.

RecPrefix finds interior points of any data from the calculated number of records on.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit import exact_distribution
from dplearn.audit.cases.interior_point import tiny_sizes
from dplearn.chance import SeededDice
from dplearn.kernels.confidence_bounds import success_bounds
from dplearn.kernels.exact import decay_ratio, selection_ratio
from dplearn.mechanisms import choosing_mechanism
from dplearn.mechanisms.interior_point import (
    _random_pairs,
    choose_prefix,
    interior_point_code,
    recursive_interior_point,
)
from dplearn.privacy import ApproxDP
from dplearn.releases.interior_point import recursive_sizes

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


#: Data of n codes of b bits: around the middle, where first bits differ, alike, evenly spread, ...
DATA = {
    "around the middle": lambda n, b: [2 ** (b - 1) - n // 2 + i for i in range(n)],
    "either side of the middle": lambda n, b: [2 ** (b - 1) - i % 2 for i in range(n)],
    "alike": lambda n, b: [2 ** (b - 1)] * n,
    "at the ends": lambda n, b: [(2**b - 1) * (i % 2) for i in range(n)],
    "spread": lambda n, b: [(2**b - 1) * i // n for i in range(n)],
    "all lengths": lambda n, b: [2 ** (i % b) for i in range(n)],
}
LARGE = {"choice": ApproxDP(200, Fraction(1, 4)), "comparison": 200, "base": 200, "threshold": 1}


@pytest.mark.parametrize("shape", DATA)
def test_it_succeeds_as_often_as_promised_at_the_calculated_number_of_records(shape):
    privacy, beta, runs = ApproxDP(2, 0.01), 0.3, 60
    sizes = recursive_sizes(2**64, epsilon=2, delta=0.01, beta=beta)
    data = DATA[shape](sizes.n_samples, 64)
    inside = 0
    for seed in range(runs):
        found = recursive_interior_point(data, 2**64, sizes=sizes, privacy=privacy, dice=SeededDice(seed))
        inside += found is not None and min(data) <= found <= max(data)
    assert success_bounds(inside, runs, 1e-6)[0] >= 1 - beta


def test_a_domain_of_65536_bits_takes_hardly_more():
    size, privacy = 2**65536, ApproxDP(1, 1e-6)
    sizes = recursive_sizes(size, epsilon=1, delta=1e-6)
    data = DATA["around the middle"](sizes.n_samples, 65536)
    for seed in range(3):
        found = recursive_interior_point(data, size, sizes=sizes, privacy=privacy, dice=SeededDice(seed))
        assert data[0] <= found <= data[-1]


@pytest.mark.parametrize("depth", [1, 2])
def test_pairs_are_drawn_anew_each_time_at_every_depth(depth):
    sizes = tiny_sizes(*[0] * depth, **LARGE)
    found = {
        recursive_interior_point(
            DATA["spread"](64, 20), 2**20, sizes=sizes, privacy=sizes.privacy, dice=SeededDice(seed)
        )
        for seed in range(10)
    }
    assert len(found) > 1
    assert all(code is None or 0 <= code < 2**20 for code in found)


@pytest.mark.parametrize("m", [2, 4, 6])
def test_every_way_to_pair_is_equally_probable(m):
    distribution = exact_distribution(
        lambda dice: sorted(tuple(sorted(pair)) for pair in _random_pairs(list(range(m)), dice))
    )
    ways = {2: 1, 4: 3, 6: 15}[m]
    assert {distribution.probability(seen) for seen in distribution.masses} == {Fraction(1, ways)}
    assert len(distribution.masses) == ways


def test_the_law_is_that_of_its_steps():
    # Two records: an interior point of their pair's length, a prefix, the noisy count of its last code.
    size, sizes = 8, tiny_sizes(0, choice=ApproxDP(8, Fraction(1, 5)), comparison=1, base=1)

    def in_steps(dice):
        z = interior_point_code([1], 4, privacy=sizes.base, dice=dice)  # 4 = 100 and 6 = 110 share a bit
        length = min(z + 1, 3)
        prefixes = sorted({4 >> (3 - length), 6 >> (3 - length)})
        counts = np.array([Counter([4 >> (3 - length), 6 >> (3 - length)])[prefix] for prefix in prefixes])
        place = choosing_mechanism(counts, privacy=sizes.levels[0].choice, dice=dice)
        if place is None:
            return None
        low = prefixes[place] << (3 - length)
        high = low + (1 << (3 - length)) - 1
        noise = dice.discrete_laplace(decay_ratio(Fraction(1)), -9, 9) if low < high else 0
        return high if sum(code >= high for code in (4, 6)) + noise >= 2 else low

    ours = exact_distribution(
        lambda dice: recursive_interior_point([6, 4], size, sizes=sizes, privacy=sizes.privacy, dice=dice)
    )
    steps = exact_distribution(in_steps)
    assert {seen: ours.probability(seen) for seen in ours.masses} == {
        seen: steps.probability(seen) for seen in steps.masses
    }


def test_a_prefix_is_chosen_by_how_many_codes_have_it():
    privacy = ApproxDP(4, Fraction(1, 20))
    codes = [0b000, 0b001, 0b000, 0b001, 0b110, 0b111, 0b010]
    distribution = exact_distribution(lambda dice: choose_prefix(codes, 3, 2, privacy=privacy, dice=dice))
    counted = exact_distribution(
        lambda dice: choosing_mechanism(np.array([4, 1, 2]), privacy=privacy, dice=dice)
    )
    for place, prefix in enumerate([0b00, 0b01, 0b11]):
        assert distribution.probability(prefix) == counted.probability(place)
    assert distribution.probability(None) == counted.probability(None)
    assert distribution.masses.keys() == {None, 0b00, 0b01, 0b11}


def test_the_order_of_records_makes_no_difference():
    sizes = tiny_sizes(1, choice=ApproxDP(8, Fraction(1, 20)), comparison=1, base=1)
    distributions = [
        exact_distribution(
            lambda dice, c=codes: recursive_interior_point(c, 6, sizes=sizes, privacy=PAID, dice=dice)
        )
        for codes in ([0, 5, 2], [5, 2, 0], np.array([2, 0, 5], dtype=np.uint8))
    ]
    assert distributions[0].key() == distributions[1].key() == distributions[2].key()
    # Codes stop at 5 though three bits go on to 7.
    assert distributions[0].masses.keys() <= {None, *range(6)}


PAID = ApproxDP(10, Fraction(1, 20))


def test_sizes_that_spend_more_are_refused():
    sizes = tiny_sizes(0, choice=ApproxDP(8, Fraction(1, 20)), comparison=1, base=1)
    for privacy in (ApproxDP(9, Fraction(1, 20)), ApproxDP(10, Fraction(1, 21))):
        with pytest.raises(ValueError, match="sizes must cost at most"):
            recursive_interior_point([0] * 4, 8, sizes=sizes, privacy=privacy, dice=SeededDice(0))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_records_are_no_answer_whatever_they_are(n):
    sizes = tiny_sizes(1, choice=ApproxDP(8, Fraction(1, 20)), comparison=1, base=1)
    distribution = exact_distribution(
        lambda dice: recursive_interior_point([3] * n, 8, sizes=sizes, privacy=PAID, dice=dice)
    )
    assert distribution.probability(None) == 1
