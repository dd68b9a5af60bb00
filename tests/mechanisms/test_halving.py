"""Several quantiles: rising, near their ranks, ties or not."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn.audit import exact_distribution
from dplearn.chance import SeededDice
from dplearn.core.ranks import Cell, SortedCodes
from dplearn.mechanisms.rank_selection import code_near_rank, codes_at_fractions
from dplearn.privacy import ApproxDP

TENTHS = [Fraction(i, 10) for i in range(1, 10)]


@given(st.lists(st.integers(0, 7), min_size=1, max_size=20), st.integers(0, 99))
def test_codes_rise_and_lie_in_the_domain(data, seed):
    q = [Fraction(0), *TENTHS, Fraction(1)]
    found = codes_at_fractions(SortedCodes(np.array(data)), 8, q, privacy=ApproxDP(1), dice=SeededDice(seed))
    assert found == sorted(found)
    assert found[0] >= 0
    assert found[-1] < 8


def test_a_single_quantile_is_one_selection_with_all_of_epsilon():
    ranks, q = SortedCodes(np.array([1, 2, 2, 4])), Fraction(1, 4)
    ours = exact_distribution(
        lambda dice: codes_at_fractions(ranks, 6, [q], privacy=ApproxDP(1), dice=dice)[0]
    )
    cell = Cell(ranks, 0, 4, 0, 6)
    assert (
        ours.key()
        == exact_distribution(lambda dice: code_near_rank(cell, q, privacy=ApproxDP(1), dice=dice)).key()
    )


DATA = {
    "distinct": np.arange(20_000) * 7,
    "most alike": np.where(np.arange(20_000) % 100 < 92, 0, np.arange(20_000)),
    "two values": np.arange(20_000) % 2,
    "all alike": np.full(20_000, 5),
}


@pytest.mark.parametrize("kind", DATA)
def test_ranks_are_kept_whatever_the_ties(kind):
    data = DATA[kind]
    ranks = SortedCodes(data)
    found = codes_at_fractions(ranks, 2**64, TENTHS, privacy=ApproxDP(2), dice=SeededDice(1))
    for q, code in zip(TENTHS, found, strict=True):
        less, upto = ranks.count(code)
        assert less - 400 <= q * 20_000 <= upto + 400
