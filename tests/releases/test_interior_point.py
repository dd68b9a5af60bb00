"""Interior points are found with as many records as their sizes say."""

import re
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import factorial, log
from pathlib import Path

import numpy as np
import pytest

from dplearn.domains import LargeIntegerRange
from dplearn.kernels import decay_ratio, laplace_tail, selection_ratio
from dplearn.mechanisms.interior_point import next_domain_size
from dplearn.privacy import ApproxDP
from dplearn.releases import interior_point
from dplearn.releases.interior_point import iterated_logarithm, more_than_are_close
from dplearn.theory import (
    choosing_threshold,
    interior_point_lower_bound,
    interior_point_method,
    interior_point_sample_size,
    recursive_sizes,
)

HUGE = LargeIntegerRange(0, 2**4096 - 1)
PAGE = Path(__file__).parents[2] / "docs" / "theory" / "interior_point.md"
DELTA = Fraction(1, 10**6)


def test_auto_takes_the_recursive_method_where_the_domain_is_huge_and_delta_positive():
    values = [2**4095 + i for i in range(1000)]
    point = interior_point(values, domain=HUGE, delta=1e-6, random_state=0)
    assert (point.plan.method, point.guarantee.delta) == ("recursive", Fraction(1, 10**6))
    assert values[0] <= point.value <= values[-1]
    assert point.plan.n_needed < 1000
    with pytest.warns(UserWarning, match="recursive method"):
        few = interior_point([1] * 5, domain=HUGE, delta=1e-6, method="recursive", random_state=0)
    assert few.value is None
    floats = interior_point(np.linspace(-3.5, 1e9, 400), epsilon=1, random_state=1)  # need no bounds
    assert -3.5 <= floats.value <= 1e9
    assert (floats.plan.method, floats.plan.n_needed) == ("exponential", 187)
    assert interior_point_method(2**64, epsilon=1, delta=DELTA) == "exponential"  # takes fewer
    assert interior_point_method(2**4096, epsilon=1) == "exponential"


def worst_failure(n, size, epsilon):
    """The greatest probability of no interior point, over all data sets."""
    ratio, worst = selection_ratio(Fraction(epsilon)), Fraction(0)
    for rows in combinations_with_replacement(range(size), n):
        weights = [ratio ** -min(sum(x >= c for x in rows), sum(x <= c for x in rows)) for c in range(size)]
        worst = max(worst, 1 - sum(weights[rows[0] : rows[-1] + 1]) / sum(weights))
    return worst


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
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


def test_the_published_size_is_that_of_the_theorem():
    found = recursive_sizes(2**64, epsilon=1, delta=DELTA, constants="paper")
    assert iterated_logarithm(2**64) == 5
    assert abs(found.n_samples - 18500 * 2**5 * 5 * log(4 * 5 / (0.05 * 1e-6))) < 2
    share, slack, failure = 1 / 10, 1e-6 / 10, 0.05 / 15
    k = int(386 / share * log(4 / (failure * share * slack)))
    assert [(level.aside, level.threshold) for level in found.levels] == [(2 * k, -(-3 * k // 2))] * 2
    assert found.privacy.epsilon == Fraction(5, 10)  # 2 N - 1 steps for N = 3 calls, of the 10 that it pays
    assert found.privacy.delta == 2 * DELTA / 10


def test_the_iterated_logarithm_is_exact():
    times = {1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 16: 3, 17: 4, 65536: 4, 65537: 5, 2**65536: 5, 2**65536 + 1: 6}
    assert {size: iterated_logarithm(size) for size in times} == times


@pytest.mark.parametrize(("size", "lengths"), [(1, 1), (2, 2), (5, 4), (8, 4), (9, 5)])
def test_the_next_domain_holds_every_length(size, lengths):
    assert next_domain_size(size) == lengths
    assert lengths == 1 + max((one ^ other).bit_length() for one in range(size) for other in range(size))


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
        wanted = more_than_are_close(2 * quality - 3, failure)
        assert (n - level.aside) % 2 == 0
        n, size = (n - level.aside) // 2, next_domain_size(size)
    assert sizes.aside == wanted - 1
    assert n - sizes.aside == interior_point_sample_size(
        "exponential", domain_size=size, epsilon=sizes.base.epsilon, beta=failure
    )


def test_the_pages_table_is_what_the_code_says():
    rows = re.findall(r"^\| \$2\^(\S+)\$ \|(.+)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in rows] == ["8", "{16}", "{32}", "{64}", "{256}", "{4096}", "{2^{16}}"]
    for name, cells in rows:
        size = 2 ** (2**16) if "^" in name else 2 ** int(name.strip("{}"))
        asked = {"domain_size": size, "epsilon": 1, "delta": DELTA}
        ways = product(("exponential", "recursive"), ("tight", "paper"))
        found = [interior_point_sample_size(method, **asked, constants=each) for method, each in ways]
        found.append(interior_point_lower_bound(size, epsilon=1, delta=DELTA))
        assert [int(cell.replace(",", "")) for cell in cells.split("|")] == found
