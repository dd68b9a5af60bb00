"""The share of a budget for the number of records, and the noisy number."""

from fractions import Fraction

import pytest

from dplearn.chance import SeededDice, enumerate_paths
from dplearn.fit import noisy_count, shares_with_count
from dplearn.privacy import MOST_RECORDS, ApproxDP, ZeroConcentratedDP, concentrated_budget

WHOLE = ApproxDP(1, 1e-6, neighbors="add_remove")


def test_epsilon_is_divided_and_the_rest_has_the_whole_delta():
    count, rest = shares_with_count(WHOLE, concentrated=False)
    assert (count.epsilon, count.delta) == (Fraction(1, 10), 0)
    assert (rest.epsilon, rest.delta) == (Fraction(9, 10), WHOLE.delta)
    count, rest = shares_with_count(ApproxDP(1, neighbors="add_remove"), concentrated=True)  # pure
    assert count.epsilon + rest.epsilon == 1
    assert rest.delta == 0


def test_rho_of_both_parts_is_at_most_that_of_the_whole():
    count, rest = shares_with_count(WHOLE, concentrated=True)
    assert isinstance(count, ZeroConcentratedDP)
    whole = concentrated_budget(WHOLE)
    assert Fraction(999, 1000) * whole <= count.rho + concentrated_budget(rest) <= whole
    assert count.neighbors == rest.neighbors == "add_remove"


def test_a_delta_that_leaves_nothing_is_refused():
    with pytest.raises(ValueError, match=r"epsilon must be larger, or delta smaller, .* and delta 0\.9"):
        shares_with_count(ApproxDP(1e-6, 0.9, neighbors="add_remove"), concentrated=True)


def test_the_noisy_number_is_within_public_ends_whatever_the_number_is():
    count = ApproxDP(1, neighbors="add_remove")
    for n in (1, 2, 5, 1000):
        paths = enumerate_paths(lambda dice, n=n: noisy_count(n, count, dice, most_records=3))
        assert {found for found, _ in paths} == {1, 2, 3}
    assert noisy_count(10, ZeroConcentratedDP(100, neighbors="add_remove"), SeededDice(0)) == 10
    assert 1 <= noisy_count(1 << 40, count, SeededDice(0)) <= MOST_RECORDS
