"""Both ways to a threshold: what they find where noise hardly counts, and the ties that the lemma forgets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.chance import SeededDice
from dplearn.core.tapering import TAPERED_SIZE
from dplearn.domains import Floats, IntegerRange, LargeIntegerRange
from dplearn.learners.threshold_methods import (
    CutColumn,
    _least_errors,
    by_errors,
    by_interior_point,
    threshold_between,
)
from dplearn.privacy import ApproxDP

PLENTY = ApproxDP(2000)
SIZE = 8
TABLES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, 1)), min_size=1, max_size=12)


def errors_of(stump, codes, y):
    return int((stump.predict([codes]) != y).sum())


def least_errors(codes, y):
    """Of all cuts and both directions, one by one."""
    return min(
        int((np.where(codes <= cut, low, 1 - low) != y).sum()) for cut in range(-1, SIZE) for low in (0, 1)
    )


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_with_plenty_of_privacy_errors_are_the_fewest(table):
    codes, y = np.array(table, dtype=np.uint8).T
    column = CutColumn(0, IntegerRange(0, SIZE - 1))
    stump = by_errors([column], [codes], y.astype(np.intp), privacy=PLENTY, dice=SeededDice(0))
    assert errors_of(stump, codes, y) == least_errors(codes, y)


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_the_fewest_errors_of_each_direction_are_those_of_all_cuts(table):
    codes, y = np.array(table, dtype=np.uint8).T
    y = y.astype(np.intp)
    expected = tuple(
        min(int((np.where(codes <= cut, low, 1 - low) != y).sum()) for cut in range(-1, SIZE))
        for low in (1, 0)
    )
    for kind, size in ((np.uint8, SIZE), (np.uint64, 2**63), (object, 2**70)):
        assert _least_errors(codes.astype(kind), y, size) == expected


@given(TABLES, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_a_threshold_between_errs_on_less_than_m_records_that_a_cut_labels(table, m):
    codes, _ = np.array(table, dtype=np.uint8).T
    lower = codes <= table[0][0] - 1 + table[0][1]
    cut = threshold_between(codes, lower, SIZE, m, privacy=ApproxDP(200), dice=SeededDice(0))
    assert -1 <= cut < SIZE
    assert ((codes.astype(int) <= cut) != lower).sum() < m


@pytest.mark.parametrize("wrong", range(3))
def test_errors_are_at_most_three_times_those_of_the_best_cut(wrong):
    codes = np.arange(100, dtype=np.uint8)
    y = (codes <= 40).astype(np.intp)
    y[[80, 85, 90][:wrong]] = 1
    column = CutColumn(0, IntegerRange(0, 99))
    stump = by_interior_point([column], [codes], y, 20, privacy=PLENTY, dice=SeededDice(0))
    assert errors_of(stump, codes, y) <= 3 * wrong


def test_a_domain_of_any_size_has_an_interior_point():
    domain = LargeIntegerRange(0, 2**300)
    values = [2**100 + i for i in range(200)] + [2**250 + i for i in range(200)]
    codes, y = domain.encode(values), np.repeat([0, 1], 200)
    stump = by_interior_point(
        [CutColumn(0, domain)], [codes], y, 150, privacy=ApproxDP(50), dice=SeededDice(0)
    )
    assert errors_of(stump, codes, y) == 0
    assert (stump.inner, stump.outer) == (0, 1)


def test_all_floats_are_cut_at_tapered_places_and_others_at_every_code():
    assert CutColumn(0, Floats()).size == TAPERED_SIZE
    assert CutColumn(0, Floats(missing=True)).size == Floats(missing=True).size
    assert CutColumn(0, Floats()).stump(TAPERED_SIZE - 1, (0, 1)).code == Floats().size - 1
    assert CutColumn(0, Floats()).stump(-1, (0, 1)).code == -1


@pytest.mark.parametrize("learn", [by_errors, by_interior_point])
def test_the_column_that_tells_is_found_among_others(learn):
    rng = np.random.default_rng(0)  # public data
    table = rng.integers(0, 100, (5, 300)).astype(np.uint8)
    y = (table[3] > 60).astype(np.intp)
    columns = [CutColumn(i, IntegerRange(0, 99)) for i in range(5)]
    more = (300,) if learn is by_interior_point else ()
    stump = learn(columns, list(table), y, *more, privacy=ApproxDP(50), dice=SeededDice(0))
    assert (stump.feature, stump.inner, stump.outer) == (3, 0, 1)
    assert abs(stump.code - 60) <= 3
