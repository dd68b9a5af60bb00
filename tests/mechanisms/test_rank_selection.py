"""A code near a rank: the distribution is the exponential mechanism's, and the fast route has the same.

Several quantiles: rising, near their ranks, ties or not.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn.chance import SeededDice
from dplearn.kernels import Cell, SortedCodes, power_probabilities, selection_ratio
from dplearn.mechanisms import (
    code_near_rank,
    codes_at_fractions,
    interior_point_of,
    rank_selection,
    select_permute_and_flip,
)
from dplearn.privacy import ApproxDP
from tests.mechanisms.laws import law

SIZE = 6
fractions = st.fractions(0, 1, max_denominator=7)


def everything(data, size=SIZE):
    return Cell(SortedCodes(np.array(data)), 0, len(data), 0, size)


def distribution(data, fraction, alone=True):
    """Probabilities of all codes."""
    cell = everything(data)
    found = law(lambda dice: code_near_rank(cell, fraction, privacy=ApproxDP(1), dice=dice, alone=alone))
    return [found[code] for code in range(SIZE)]


def costs_of(data, fraction):
    """As the docstring has them, code by code."""
    a, b = fraction.numerator, fraction.denominator
    counts = [(sum(c < code for c in data), sum(c <= code for c in data)) for code in range(SIZE)]
    return [max(b * less - a * len(data), a * len(data) - b * upto) for less, upto in counts]


def guaranteed(data, fraction, alone=True):
    a, b = fraction.numerator, fraction.denominator
    ratio = selection_ratio(Fraction(1), b if alone else 2 * max(a, b - a))
    return power_probabilities(ratio, costs_of(data, fraction), [1] * SIZE)


def by_bounds(monkeypatch, *, tries=1, rare=64, light=10):
    """Draw by bounds on costs of any number of data."""
    for name, value in (("FEW", 0), ("TRIES", tries), ("RARE", rare), ("LIGHT", light), ("CHUNK", 2)):
        monkeypatch.setattr(rank_selection, name, value)


NEAR_AND_FAR = [(64, 10), (64, 0), (3, 10), *[pytest.param(2, 1, marks=pytest.mark.nightly)]]


@pytest.mark.parametrize(("rare", "light"), NEAR_AND_FAR)
@pytest.mark.parametrize("tries", [1, pytest.param(2, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("data", [(1, 2, 2, 3), (0, 0, 0, 5), (3, 3, 3, 3), (0, 1, 4, 5, 5), (2,)], ids=str)
def test_bounds_on_costs_change_no_probability(data, tries, rare, light, monkeypatch):
    fractions = (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1))
    cell = everything(data)

    def point(dice):
        return interior_point_of(cell, privacy=ApproxDP(1), dice=dice)

    points = law(point)
    by_bounds(monkeypatch, tries=tries, rare=rare, light=light)
    for fraction in fractions:
        for alone in (True, False):
            assert distribution(data, fraction, alone) == guaranteed(data, fraction, alone)
    assert law(point) == points


@given(st.lists(st.integers(0, 900), min_size=1, max_size=200), fractions, st.integers(1, 99))
def test_bounds_are_at_most_the_costs_and_most_codes_are_accepted(data, fraction, percent):
    a, b, m, ratio = fraction.numerator, fraction.denominator, len(data), Fraction(percent, 100)
    every = np.arange(1000)
    less, upto = (np.searchsorted(np.sort(data), every, side) for side in ("left", "right"))
    for low, high, unit, least in ((a * m, a * m, b, -b * m), (a * m, a * m, b, 0), (m, 0, 1, 0)):
        cell = everything(data, 1000)  # of a quantile, of a window, and of an interior point
        bounds, sizes, pieces = rank_selection.bounded(cell, low, high, unit, least, ratio)
        found = {}
        for bound, size, (start, end, first) in zip(bounds, sizes, pieces, strict=True):
            places = range(start, start + size)
            found |= {place if place < end else first + place - end: bound for place in places}
        costs = np.maximum(np.maximum(least, unit * less - high), low - unit * upto)
        assert sum(sizes) == len(found) == 1000
        assert all(found[code] <= cost for code, cost in enumerate(costs.tolist()))
        weights, bounding = ((float(ratio) ** np.array(each)).sum() for each in (costs, list(found.values())))
        assert weights >= 0.498 * bounding


def test_few_data_are_read_and_none_far_from_the_rank(monkeypatch):
    read, at = [], SortedCodes.at
    monkeypatch.setattr(SortedCodes, "at", lambda self, ranks: read.extend(ranks) or at(self, ranks))
    data = np.arange(100_000) << 40
    assert code_near_rank(everything(data, 2**64), Fraction(1, 2), privacy=ApproxDP(1), dice=SeededDice(0))
    first, stop = rank_selection.examined_ranks(100_000, Fraction(1, 2), 2**64, privacy=ApproxDP(1))
    assert 49_000 < first <= min(read) <= max(read) < stop < 51_000
    assert len(read) < 200


def test_an_empty_cell_has_all_codes_alike():
    cell = Cell(SortedCodes(np.array([9])), 0, 0, 2, 5)
    found = law(lambda dice: code_near_rank(cell, Fraction(1, 4), privacy=ApproxDP(1), dice=dice))
    assert found == dict.fromkeys((2, 3, 4), Fraction(1, 3))


def test_a_domain_of_any_size_will_do():
    cell = Cell(SortedCodes(np.array([2**900 + i for i in range(2000)], dtype=object)), 0, 2000, 0, 2**1000)
    code = code_near_rank(cell, Fraction(1, 2), privacy=ApproxDP(10), dice=SeededDice(0))
    assert abs(code - 2**900 - 1000) < 400


@pytest.mark.parametrize(("most", "sensitivity"), [(None, 4), (9, 6)])
def test_a_single_quantile_is_one_selection_with_all_of_epsilon(most, sensitivity, monkeypatch):
    data, q, cost = (1, 2, 2, 4), Fraction(1, 4), ApproxDP(1)
    ranks = SortedCodes(np.array(data))

    def ours():
        return law(lambda dice: codes_at_fractions(ranks, SIZE, [q], privacy=cost, dice=dice, most=most)[0])

    how = {"privacy": cost, "sensitivity": sensitivity}
    costs = costs_of(data, q)
    assert ours() == law(lambda dice: select_permute_and_flip(costs, [1] * SIZE, dice=dice, **how)[0])
    monkeypatch.setattr(rank_selection, "FEW_CODES", SIZE - 1)
    assert [ours()[code] for code in range(SIZE)] == guaranteed(data, q, alone=most is None)
