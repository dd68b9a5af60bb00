"""A code near a rank: the distribution is the exponential mechanism's, and the fast route has the same.

Several quantiles: rising, near their ranks, ties or not.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn.chance import SeededDice
from dplearn.kernels.distributions import power_probabilities
from dplearn.kernels.exact import selection_ratio
from dplearn.kernels.ranks import Cell, SortedCodes
from dplearn.mechanisms import rank_selection
from dplearn.mechanisms.rank_selection import code_near_rank, codes_at_fractions
from dplearn.privacy import ApproxDP
from tests.mechanisms.laws import law

SIZE = 6
codes = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=6)
fractions = st.fractions(0, 1, max_denominator=7)


def everything(data, size=SIZE):
    return Cell(SortedCodes(np.array(data)), 0, len(data), 0, size)


def distribution(data, fraction, alone=True):
    """Probabilities of all codes."""
    cell = everything(data)
    found = law(lambda dice: code_near_rank(cell, fraction, privacy=ApproxDP(1), dice=dice, alone=alone))
    return [found[code] for code in range(SIZE)]


def guaranteed(data, fraction, alone=True):
    """As the docstring has them, code by code."""
    a, b = fraction.numerator, fraction.denominator
    ratio = selection_ratio(Fraction(1), b if alone else 2 * max(a, b - a))
    costs = []
    for code in range(SIZE):
        less, upto = sum(c < code for c in data), sum(c <= code for c in data)
        costs.append(max(0, b * less - a * len(data), a * len(data) - b * upto))
    return power_probabilities(ratio, costs, [1] * SIZE)


@given(codes, fractions, st.booleans())
def test_the_law_is_that_of_the_docstring(data, fraction, alone):
    assert distribution(data, fraction, alone) == guaranteed(data, fraction, alone)


@pytest.mark.parametrize("far", [1, 3, *[pytest.param(far, marks=pytest.mark.nightly) for far in (2, 7)]])
@pytest.mark.parametrize("data", [(1, 2, 2, 3), (0, 0, 0, 5), (3, 3, 3, 3), (0, 1, 4, 5, 5), (2,)], ids=str)
def test_looking_at_few_data_changes_no_probability(data, far, monkeypatch):
    monkeypatch.setattr(rank_selection, "_far", lambda ratio, size: far)
    for fraction in (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)):
        for alone in (True, False):
            assert distribution(data, fraction, alone) == guaranteed(data, fraction, alone)


@pytest.mark.parametrize("far", [2, 5, 9])
@pytest.mark.parametrize("nearest", [0, 1, 3])
def test_leaving_out_some_of_those_looked_at_changes_no_probability(far, nearest, monkeypatch):
    # What is asked of one code settles the threshold where the best are few or many: between 0 and far.
    monkeypatch.setattr(rank_selection, "_far", lambda ratio, size: far if size > 1 else nearest)
    for data in ((1, 2, 2, 3), (0, 0, 0, 5), (3, 3, 3, 3), (0, 1, 4, 5, 5)):
        for fraction in (Fraction(0), Fraction(1, 2), Fraction(2, 3)):
            assert distribution(data, fraction) == guaranteed(data, fraction)


def test_what_is_left_out_of_sight_weighs_little_beside_the_best(monkeypatch):
    asked, windows, window = [], [], SortedCodes.window

    def select(costs, sizes, **_):
        asked.append((costs, sizes))
        return 0, 0

    monkeypatch.setattr(rank_selection, "select_exponential", select)
    monkeypatch.setattr(SortedCodes, "window", lambda *given: windows.append(given[1:]) or window(*given))
    data = np.arange(10_000) << 40
    assert code_near_rank(everything(data, 2**64), Fraction(1, 2), privacy=ApproxDP(1), dice=SeededDice(0))
    [(costs, sizes)], [(start, stop)] = asked, windows
    first, last = rank_selection.examined_ranks(10_000, Fraction(1, 2), 2**64, privacy=ApproxDP(1))
    assert 4_000 < first <= start < stop <= last < 6_000
    ratio = selection_ratio(Fraction(1), 2)
    assert costs[0] == 0
    assert sizes[-1] * ratio ** costs[-1] <= Fraction(sizes[0], 2**64) < sizes[-1] * ratio ** (costs[-1] - 12)
    assert costs[:-1] == list(range(0, costs[-1], 2))


def test_an_empty_cell_has_all_codes_alike():
    cell = Cell(SortedCodes(np.array([9])), 0, 0, 2, 5)
    found = law(lambda dice: code_near_rank(cell, Fraction(1, 4), privacy=ApproxDP(1), dice=dice))
    assert found == dict.fromkeys((2, 3, 4), Fraction(1, 3))


def test_a_domain_of_any_size_will_do():
    cell = Cell(SortedCodes(np.array([2**900 + i for i in range(2000)], dtype=object)), 0, 2000, 0, 2**1000)
    code = code_near_rank(cell, Fraction(1, 2), privacy=ApproxDP(10), dice=SeededDice(0))
    assert abs(code - 2**900 - 1000) < 400


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
    ours = law(lambda dice: codes_at_fractions(ranks, 6, [q], privacy=ApproxDP(1), dice=dice)[0])
    cell = Cell(ranks, 0, 4, 0, 6)
    assert ours == law(lambda dice: code_near_rank(cell, q, privacy=ApproxDP(1), dice=dice))
