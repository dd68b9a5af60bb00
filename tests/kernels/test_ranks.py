"""Windows of ranks agree with sorting, broken ties preserve neighbours, and each quantile is found once."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dplearn.kernels.ranks
from dplearn.domains import Floats
from dplearn.kernels.ranks import (
    ApartCodes,
    Cell,
    CodeCounts,
    SortedCodes,
    UnsortedCodes,
    _nth_place,
    _nth_places,
    finest_fraction,
    halving,
    rank_sensitivity,
)

few_codes = st.lists(st.integers(0, 5), min_size=1, max_size=12)


@pytest.fixture(params=[48, 50], ids=["whole words", "parts of words"])
def sampling(monkeypatch, request):
    """Look through small data as if they were large."""
    monkeypatch.setattr(dplearn.kernels.ranks, "_FEW", 30)
    monkeypatch.setattr(dplearn.kernels.ranks, "_SAMPLE", 16)
    monkeypatch.setattr(dplearn.kernels.ranks, "_BLOCK", request.param)


DATA = {
    "normal": lambda rng, n: rng.normal(size=n),
    "sorted": lambda rng, n: np.sort(rng.normal(size=n)),
    "falling": lambda rng, n: -np.arange(n, dtype=float),
    "periodic": lambda rng, n: np.tile([1e300, -1e300, 0.0, -0.0], n)[:n],
    "few values": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "one far": lambda rng, n: np.where(np.arange(n) == n // 2, 1e9, 0.0),
}


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("n", [31, 200, 1000])
def test_a_window_is_that_of_sorting_whatever_the_sample(kind, n, sampling):
    rng = np.random.default_rng(n)
    values = DATA[kind](rng, n)
    ranks, codes = UnsortedCodes(values, Floats().encode), np.sort(Floats().encode(values))
    for start, stop in [
        (0, 0),
        (0, 3),
        (0, n),
        (n - 2, n),
        *np.sort(rng.integers(0, n + 1, (40, 2))).tolist(),
    ]:
        assert ranks.window(start, stop) == codes[start:stop].tolist()


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("n", [20, 1000])
def test_all_values_are_checked_once_and_windows_stay_the_same(kind, n, sampling):
    rng = np.random.default_rng(n)
    values, checked = DATA[kind](rng, n), []
    ranks, codes = UnsortedCodes(values, Floats().encode), np.sort(Floats().encode(values))
    for rank in (0, n // 2, n - 1):
        checked.clear()
        ranks.check(lambda block: checked.extend(block.tolist()), rank)
        assert checked == values.tolist()
        for start, stop in [(rank, rank + 1), (n // 2, n // 2 + 2), (0, n)]:
            assert ranks.window(start, stop) == codes[start:stop].tolist()


def test_windows_near_a_rank_that_was_checked_are_not_looked_for_again(sampling, monkeypatch):
    ranks = UnsortedCodes(np.random.default_rng(0).normal(size=1000))
    ranks.check(len, 500)
    expected = np.sort(ranks._values)
    monkeypatch.setattr(dplearn.kernels.ranks, "_around", None)
    assert ranks.window(499, 502) == expected[499:502].tolist()


def test_a_sample_that_misleads_costs_time_only_and_what_a_check_raises_is_passed_on(sampling):
    def check(block):
        if (block == 5.0).any():
            raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        UnsortedCodes(np.arange(1000.0)).check(check, 3)
    for dtype in ("f4", "i8", "u2", ">f8"):
        column = np.random.default_rng(0).integers(0, 300, (1000, 3)).astype(dtype)[:, 1]
        assert UnsortedCodes(column).window(400, 440) == np.sort(column)[400:440].tolist()
    values = np.zeros(1000)
    values[:: 1000 // 16] = 5.0  # the sample sees nothing else
    assert UnsortedCodes(values).window(400, 403) == [0.0] * 3
    assert UnsortedCodes(values).window(998, 1000) == [5.0] * 2


@given(few_codes, st.integers(0, 6))
def test_sorted_and_unsorted_codes_agree(codes, code):
    array = np.array(codes, dtype=np.uint64)
    expected = sum(c < code for c in codes), sum(c <= code for c in codes)
    for ranks in (SortedCodes(array), UnsortedCodes(array), SortedCodes(array.astype(object))):
        assert ranks.count(code) == expected
        assert ranks.window(0, len(ranks)) == sorted(codes)


def apart(codes, bits):
    return ApartCodes(SortedCodes(np.array(codes)), bits)


@given(few_codes)
def test_codes_told_apart_are_distinct_and_stay_with_their_code(codes):
    keys = apart(codes, 4).window(0, len(codes))
    assert len(set(keys)) == len(codes)
    assert keys == sorted(keys)
    assert [key >> 4 for key in keys] == sorted(codes)


@given(few_codes, st.integers(0, 11), st.integers(0, 5))
def test_one_replaced_code_replaces_one_of_those_told_apart(codes, place, code):
    other = [*codes]
    other[place % len(codes)] = code
    one, two = (Counter(apart(each, 4).window(0, len(codes))) for each in (codes, other))
    assert (one - two).total() <= 1


@given(few_codes, st.integers(0, 12), st.integers(0, 12), st.integers(0, 16 * 6))
def test_windows_and_counts_of_codes_told_apart_are_parts_of_all(codes, one, other, key):
    start, stop = sorted(min(each, len(codes)) for each in (one, other))
    keys = apart(codes, 4)
    everything = keys.window(0, len(codes))
    assert keys.window(start, stop) == everything[start:stop]
    assert keys.count(key) == (sum(k < key for k in everything), sum(k <= key for k in everything))


def test_a_cell_counts_only_what_is_within():
    cell = Cell(SortedCodes(np.array([1, 4, 4, 6, 9])), 1, 4, 4, 8)
    assert len(cell) == 3
    assert cell.window(0, 3) == [4, 4, 6]
    assert [cell.count(code) for code in (4, 5, 6, 7)] == [(0, 2), (2, 2), (2, 3), (3, 3)]
    assert Cell(cell.ranks, 3, 4, 4, 8).count(4) == (0, 0)  # both 4 count to the cell before


# Counts of codes


codes_of_any_size = st.lists(st.sampled_from([0, 1, 5, 7, 2**63, 2**64 - 1]), min_size=1, max_size=12)


@given(codes_of_any_size, codes_of_any_size, st.sampled_from([np.uint64, object]))
def test_ranks_of_a_sum_are_those_of_the_sorted_codes(first, second, dtype):
    counts = CodeCounts.of(np.array(first, dtype=dtype)) + CodeCounts.of(np.array(second, dtype=dtype))
    right = SortedCodes(np.array([*first, *second], dtype=dtype))
    assert len(counts) == len(right)
    for start in range(len(right)):
        for stop in range(start, len(right) + 1):
            assert counts.window(start, stop) == right.window(start, stop)
    for code in (0, 3, 7, 8, 2**63, 2**64 - 1):
        assert counts.count(code) == right.count(code)
    none = CodeCounts.of(np.array([], dtype=dtype))
    assert (len(none), none.window(0, 0), none.count(3)) == (0, [], (0, 0))
    assert (none + counts).window(0, len(counts)) == counts.window(0, len(counts))


# Quantiles by recursive halving


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
    [[step]] = halving(
        [Fraction(1234567, 10**7)], finest=finest_fraction(5000)
    )  # rounded by less than a rank
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


def test_the_places_of_many_equal_codes_are_those_of_each():
    for count in (200, 256, 300):
        expected = [_nth_place(i, count, 40) for i in range(count)]
        assert _nth_places(range(count), count, 40) == expected
        assert _nth_places(range(90, count), count, 40) == expected[90:]
        assert expected == sorted(set(expected))
    assert apart([0] * 5, 3).window(0, 5) == [0, 1, 2, 4, 6]  # van der Corput's places
    assert apart([0] * 8, 3).window(0, 8) == list(range(8))
    assert apart([3], 0).window(0, 1) == [3]
