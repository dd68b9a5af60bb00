"""The exponential mechanism finds an interior point of any domain.

RecPrefix finds interior points of any data from the calculated number of records on.
"""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.kernels import success_bounds
from dplearn.mechanisms import PrefixLevel, interior_point_code, recursive_interior_point
from dplearn.privacy import ApproxDP
from dplearn.theory import RecursiveSizes, recursive_sizes
from tests.mechanisms.laws import law

ONE = ApproxDP(1)


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


def tiny_sizes(aside):
    """Sizes with one level that sets so many records aside; they prove no accuracy."""
    level = PrefixLevel(aside, 2, ApproxDP(8, Fraction(1, 20)), ApproxDP(1))
    return RecursiveSizes((level,), 0, ApproxDP(1), 0)


def test_the_order_of_records_makes_no_difference():
    sizes = tiny_sizes(1)
    distributions = [
        law(lambda dice, c=codes: recursive_interior_point(c, 6, sizes=sizes, privacy=PAID, dice=dice))
        for codes in ([0, 5, 2], [5, 2, 0], np.array([2, 0, 5], dtype=np.uint8))
    ]
    assert distributions[0] == distributions[1] == distributions[2]
    assert distributions[0].keys() <= {None, *range(6)}  # though three bits go on to 7


PAID = ApproxDP(10, Fraction(1, 20))


def test_sizes_that_spend_more_are_refused():
    sizes = tiny_sizes(0)
    for privacy in (ApproxDP(9, Fraction(1, 20)), ApproxDP(10, Fraction(1, 21))):
        with pytest.raises(ValueError, match="sizes must cost at most"):
            recursive_interior_point([0] * 4, 8, sizes=sizes, privacy=privacy, dice=SeededDice(0))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_records_are_no_answer_whatever_they_are(n):
    sizes = tiny_sizes(1)
    run = partial(recursive_interior_point, [3] * n, 8, sizes=sizes, privacy=PAID)
    assert law(lambda dice: run(dice=dice)) == {None: 1}


def test_a_domain_of_one_code_has_no_other_answer():
    sizes = tiny_sizes(1)
    found = law(lambda dice: recursive_interior_point([0] * 4, 1, sizes=sizes, privacy=PAID, dice=dice))
    assert found.keys() == {None, 0}
