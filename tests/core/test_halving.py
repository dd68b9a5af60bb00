"""Every quantile is found once, between two that are found before."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn.core.halving import finest_fraction, halving, rank_sensitivity

wanted = st.sets(st.fractions(0, 1, max_denominator=64), min_size=1, max_size=20).map(sorted)


@given(wanted)
def test_each_step_needs_only_those_before_and_levels_are_few(q):
    known, levels = {-1, len(q)}, halving(q, finest=10**6)
    for level in levels:
        assert all({step.low, step.high} <= known and step.low < step.place < step.high for step in level)
        assert all(step.alone == (len(level) == 1) for step in level)
        known |= {step.place for step in level}
    assert known == set(range(-1, len(q) + 1))
    assert len(levels) == len(q).bit_length()


@given(wanted)
def test_fractions_lead_back_to_what_was_wanted(q):
    ends = {-1: Fraction(0), len(q): Fraction(1)}
    for step in (step for level in halving(q, finest=10**6) for step in level):
        ends[step.place] = ends[step.low] + step.fraction * (ends[step.high] - ends[step.low])
    assert [ends[place] for place in range(len(q))] == q


def test_fractions_are_rounded_by_less_than_a_rank():
    [[step]] = halving([Fraction(1234567, 10**7)], finest=finest_fraction(5000))
    assert step.fraction.denominator <= 5000
    assert 0 < abs(step.fraction - Fraction(1234567, 10**7)) * 5000 < 1


@pytest.mark.parametrize(
    "fraction", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(5, 7), Fraction(1)]
)
def test_the_sensitivity_is_the_most_that_a_record_moves(fraction):
    a, b = fraction.numerator, fraction.denominator
    datasets = [(less, m) for m in range(6) for less in range(m + 1)]  # how many are less, of how many
    moved = {True: 0, False: 0}
    for (less, m), (more, others) in product(datasets, repeat=2):
        if abs((others - more) - (m - less)) <= 1 and abs(more - less) <= 1 and abs(others - m) <= 1:
            moved[m == others] = max(moved[m == others], abs((b * less - a * m) - (b * more - a * others)))
    assert rank_sensitivity(fraction, alone=True) == max(moved.values()) == moved[True]
    assert rank_sensitivity(fraction, alone=False) == 2 * moved[False]
