"""RecPrefix finds interior points of any data from the calculated number of records on."""

import re
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from math import factorial, log
from pathlib import Path

import numpy as np
import pytest

from dplearn.audit import exact_distribution
from dplearn.audit.cases.interior_point import tiny_sizes
from dplearn.chance import SeededDice
from dplearn.core.binomial import success_bounds
from dplearn.core.distributions import laplace_tail
from dplearn.core.exact import decay_ratio, selection_ratio
from dplearn.mechanisms import choosing_mechanism
from dplearn.mechanisms.choosing import choosing_threshold
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.mechanisms.rec_prefix import (
    _more_than_are_close,
    _random_pairs,
    choose_prefix,
    interior_point_method,
    interior_point_sample_size,
    iterated_logarithm,
    next_domain_size,
    recursive_interior_point,
    recursive_sizes,
)
from dplearn.privacy import ApproxDP
from dplearn.theory.interior_point_limit import interior_point_lower_bound

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


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_records_are_no_answer_whatever_they_are(n):
    sizes = tiny_sizes(1, choice=ApproxDP(8, Fraction(1, 20)), comparison=1, base=1)
    distribution = exact_distribution(
        lambda dice: recursive_interior_point([3] * n, 8, sizes=sizes, privacy=PAID, dice=dice)
    )
    assert distribution.probability(None) == 1


def test_sizes_that_spend_more_are_refused():
    sizes = tiny_sizes(0, choice=ApproxDP(8, Fraction(1, 20)), comparison=1, base=1)
    for privacy in (ApproxDP(9, Fraction(1, 20)), ApproxDP(10, Fraction(1, 21))):
        with pytest.raises(ValueError, match="sizes must spend no more than"):
            recursive_interior_point([0] * 4, 8, sizes=sizes, privacy=privacy, dice=SeededDice(0))


def test_a_domain_of_one_code_has_one_answer():
    sizes = tiny_sizes(0, **LARGE)
    found = recursive_interior_point([0] * 8, 1, sizes=sizes, privacy=sizes.privacy, dice=SeededDice(0))
    assert found == 0


# Sample sizes of interior points: the exponential method's is the least; each threshold of RecPrefix is
# exact.

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "interior_point.md"
DELTA = Fraction(1, 10**6)

# The exponential method


def worst_failure(n, size, epsilon):
    """The greatest probability of no interior point, over all data sets."""
    ratio, worst = selection_ratio(Fraction(epsilon)), Fraction(0)
    for rows in combinations_with_replacement(range(size), n):
        weights = [ratio ** -min(sum(x >= c for x in rows), sum(x <= c for x in rows)) for c in range(size)]
        worst = max(worst, 1 - sum(weights[rows[0] : rows[-1] + 1]) / sum(weights))
    return worst


@pytest.mark.parametrize("size", [2, 3, 5, 6])
@pytest.mark.parametrize("epsilon", [1, 2, 4])
@pytest.mark.parametrize("beta", [Fraction(1, 4), Fraction(1, 20)])
def test_the_exponential_size_is_the_least_of_all(size, epsilon, beta):
    n = interior_point_sample_size("exponential", domain_size=size, epsilon=epsilon, beta=beta)
    if n < 10:
        assert worst_failure(n, size, epsilon) <= beta
        assert n == 1 or worst_failure(n - 1, size, epsilon) > beta
    else:
        # Only the two worst cases: halves at neighbouring codes, and all alike.
        ratio = selection_ratio(Fraction(epsilon))
        fails = [
            (size - 2) / (size - 2 + ratio ** -(m // 2) + ratio ** -(m - m // 2)) <= beta
            and (size - 1) / (size - 1 + ratio**-m) <= beta
            for m in (n - 1, n)
        ]
        assert fails == [False, True]


def test_a_domain_of_one_code_takes_one_record():
    assert interior_point_sample_size("exponential", domain_size=1, epsilon=1) == 1


# Tight against published


@pytest.mark.parametrize("bits", [1, 3, 8, 64, 1000, 65536])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1])
@pytest.mark.parametrize("beta", [1e-6, 0.05, 0.3])
def test_tight_is_never_more_than_published(bits, epsilon, beta):
    for method in ("exponential", "recursive"):
        tight, paper = (
            interior_point_sample_size(
                method, domain_size=2**bits, epsilon=epsilon, delta=DELTA, beta=beta, constants=constants
            )
            for constants in ("tight", "paper")
        )
        assert tight <= paper


def test_the_published_size_is_that_of_the_theorem():
    found = recursive_sizes(2**64, epsilon=1, delta=DELTA, constants="paper")
    assert iterated_logarithm(2**64) == 5
    assert abs(found.n_samples - 18500 * 2**5 * 5 * log(4 * 5 / (0.05 * 1e-6))) < 2
    share, slack, failure = 1 / 10, 1e-6 / 10, 0.05 / 15
    k = int(386 / share * log(4 / (failure * share * slack)))
    assert [(level.aside, level.threshold) for level in found.levels] == [(2 * k, -(-3 * k // 2))] * 2
    assert found.privacy.epsilon == Fraction(5, 10)  # 2 N - 1 steps for N = 3 calls, of the 10 that it pays
    assert found.privacy.delta == 2 * DELTA / 10


@pytest.mark.parametrize(
    ("size", "times"),
    [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (16, 3), (17, 4), (65536, 4), (65537, 5)],
)
def test_the_iterated_logarithm_is_exact(size, times):
    assert iterated_logarithm(size) == times


def test_the_iterated_logarithm_of_huge_numbers_is_exact():
    assert iterated_logarithm(2**65536) == 5
    assert iterated_logarithm(2**65536 + 1) == 6


@pytest.mark.parametrize(("size", "lengths"), [(1, 1), (2, 2), (5, 4), (8, 4), (9, 5)])
def test_the_next_domain_holds_every_length(size, lengths):
    assert next_domain_size(size) == lengths
    assert lengths == 1 + max((one ^ other).bit_length() for one in range(size) for other in range(size))


# Each inequality of the recursion


def numbers_of_close_pairs(m, distance):
    """How many of all ways to pair m places have each number of close pairs."""

    def count(places):
        if not places:
            return {0: 1}
        found = {}
        for i in range(1, len(places)):
            near = places[i] - places[0] <= distance
            for close, ways in count(places[1:i] + places[i + 1 :]).items():
                found[close + near] = found.get(close + near, 0) + ways
        return found

    return count(tuple(range(m)))


@pytest.mark.parametrize("m", [2, 4, 8, 10])
@pytest.mark.parametrize("distance", [1, 2, 3, 5])
def test_close_pairs_are_as_rare_as_the_bound_says(m, distance):
    ways = numbers_of_close_pairs(m, distance)
    for t in range(distance + 1, m // 2 + 1):
        bound = Fraction(factorial(distance) * distance ** (t - distance), factorial(t))
        assert Fraction(sum(n for close, n in ways.items() if close >= t), sum(ways.values())) <= bound


@pytest.mark.parametrize("distance", [1, 2, 17, 301])
@pytest.mark.parametrize("failure", [Fraction(3, 10), Fraction(1, 80), Fraction(1, 10**9)])
def test_the_number_of_pairs_is_the_least_that_the_bound_allows(distance, failure):
    def bound(t):
        return Fraction(factorial(distance) * distance ** (t - distance), factorial(t))

    t = _more_than_are_close(distance, failure)
    assert bound(t) <= failure < bound(t - 1)


@pytest.mark.parametrize("bits", [3, 64, 65536])
@pytest.mark.parametrize(("epsilon", "delta"), [(Fraction(1), DELTA), (Fraction(1, 10), Fraction(1, 100))])
@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 3)])
def test_failures_add_up_to_beta_and_shares_to_the_whole(bits, epsilon, delta, beta):
    sizes = recursive_sizes(2**bits, epsilon=epsilon, delta=delta, beta=beta)
    assert sizes.privacy == ApproxDP(epsilon, delta)
    failure = beta / (3 * len(sizes.levels) + 1)
    n, size, wanted = sizes.n_samples, 2**bits, 1
    for level in sizes.levels:
        # Neither a candidate that fewer than `wanted` reach, nor one that aside + 1 reach, is mistaken.
        noise = decay_ratio(level.comparison.epsilon)
        assert laplace_tail(noise, level.threshold - (wanted - 1)) <= failure
        assert laplace_tail(noise, level.aside + 1 - level.threshold + 1) <= failure
        # The least quality that is not declined too often, and the pairs that are needed to reach it.
        threshold, noise = choosing_threshold(1, level.choice), decay_ratio(level.choice.epsilon / 4)
        quality = next(q for q in range(1, 10**6) if laplace_tail(noise, q - threshold + 1) <= failure)
        wanted = _more_than_are_close(2 * quality - 3, failure)
        assert (n - level.aside) % 2 == 0
        n, size = (n - level.aside) // 2, next_domain_size(size)
    assert sizes.aside == wanted - 1
    assert n - sizes.aside == interior_point_sample_size(
        "exponential", domain_size=size, epsilon=sizes.base.epsilon, beta=failure
    )


def test_auto_takes_the_method_of_fewer_records():
    public = {"epsilon": 1, "delta": DELTA}
    assert interior_point_method(2**64, **public) == "exponential"
    assert interior_point_method(2**4096, **public) == "recursive"
    assert interior_point_method(2**4096, epsilon=1) == "exponential"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number at least"),
        ({"delta": 0}, "delta must be a finite number above 0"),
        ({"beta": 1}, "beta must be a finite number above 0 and below 1"),
        ({"domain_size": 0}, "domain_size must be an integer at least 1"),
        ({"constants": "best"}, "constants must be one of"),
        ({"method": "auto"}, "method must be one of"),
        ({"constants": "paper", "epsilon": 2}, "epsilon must be a finite number at most 1"),
    ],
)
def test_a_wrong_parameter_is_named(changed, message):
    public = {"method": "recursive", "domain_size": 16, "epsilon": 1, "delta": DELTA} | changed
    with pytest.raises(ValueError, match=message):
        interior_point_sample_size(public.pop("method"), **public)


# The page


def test_the_pages_table_is_what_the_code_says():
    rows = re.findall(r"^\| (2\^\S+) \|(.+)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in rows] == [f"2^{bits}" for bits in (8, 16, 32, 64, 256, 4096, "(2^16)")]
    for name, cells in rows:
        size = 2 ** (2**16) if "(" in name else 2 ** int(name[2:])
        given = [int(cell.replace(",", "")) for cell in cells.split("|")]
        assert given == [
            *(
                interior_point_sample_size(
                    method, domain_size=size, epsilon=1, delta=DELTA, constants=constants
                )
                for method in ("exponential", "recursive")
                for constants in ("tight", "paper")
            ),
            interior_point_lower_bound(size, epsilon=1, delta=DELTA),
        ]


def test_the_recursive_size_hardly_grows_and_falls_as_one_over_epsilon():
    small, large, strict = (
        recursive_sizes(size, epsilon=epsilon, delta=DELTA).n_samples
        for size, epsilon in ((2**8, 1), (2**65536, 1), (2**65536, 0.1))
    )
    assert small < large < 1.4 * small
    assert 8 * large < strict < 12 * large
