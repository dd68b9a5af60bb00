"""Every way of counting cuts agrees with counting each cut by itself, up to domains of 2**64 codes.

The nonuniform float grid: its places have the order of the floats and can be decoded.
"""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import Floats
from dplearn.kernels import cuts as module
from dplearn.kernels.cuts import (
    NONUNIFORM_SIZE,
    Cuts,
    ErrorHistogram,
    cut_column,
    last_code,
    nonuniform_codes,
    split_by_value,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)

HUGE = 2**64 - 1


def column(codes, y, size):
    return np.array(codes, dtype=np.min_scalar_type(size)), np.array(y, dtype=np.uint8)


def expanded(cuts, size):
    """The label counts inside every single cut of a small domain."""
    lengths = np.ones(len(cuts.starts), dtype=np.uint64) if cuts.lengths is None else cuts.lengths
    places = np.repeat(np.arange(len(lengths)), lengths.astype(np.int64))
    every = np.concatenate(
        [np.arange(int(s), int(s) + int(n)) for s, n in zip(cuts.starts, lengths, strict=True)]
    )
    assert every.tolist() == list(range(size))
    return cuts.inside[:, places]


def brute_force(codes, y, size, n_labels, compare):
    columns = [
        [sum(compare(c, cut) and z == a for c, z in zip(codes, y, strict=True)) for cut in range(size)]
        for a in range(n_labels)
    ]
    return np.array(columns)


records = st.integers(1, 5).flatmap(
    lambda n_labels: st.tuples(
        st.lists(st.tuples(st.integers(0, 39), st.integers(0, n_labels - 1)), min_size=1, max_size=9),
        st.just(n_labels),
    )
)


@pytest.mark.parametrize("dense", [1 << 12, 0], ids=["counted", "sorted"])
def test_counts_at_or_below_every_cut_of_a_small_domain(monkeypatch, dense):
    monkeypatch.setattr(module, "_DENSE", dense)

    @repeatable
    @given(records, st.integers(40, 50))
    def check(case, size):
        (codes, y), n_labels = zip(*case[0], strict=True), case[1]
        cuts = cut_column(*column(codes, y, size), size, n_labels)
        assert (cuts.lengths is None) == bool(dense)
        assert cuts.inside.dtype == np.int64
        expected = brute_force(codes, y, size, n_labels, lambda code, cut: code <= cut)
        assert expanded(cuts, size).tolist() == expected.tolist()

    check()


@repeatable
@given(records)
def test_counts_of_every_value(case):
    (codes, y), n_labels = zip(*case[0], strict=True), case[1]
    cuts = split_by_value(*column(codes, y, 40), 40, n_labels)
    expected = brute_force(codes, y, 40, n_labels, lambda code, cut: code == cut)
    assert expanded(cuts, 40).tolist() == expected.tolist()


@pytest.mark.parametrize("size", [4096, 4097, 9999])
def test_domains_on_both_sides_of_the_limit_agree(size):
    rng = np.random.default_rng(size)
    codes, y = column(rng.integers(0, size, 300), rng.integers(0, 3, 300), size)
    cuts = cut_column(codes, y, size, 3)
    assert (cuts.lengths is None) == (size == 4096)
    expected = [[np.count_nonzero(y[codes <= cut] == a) for cut in range(0, size, 7)] for a in range(3)]
    assert expanded(cuts, size)[:, ::7].tolist() == expected


def test_much_data_is_counted_without_sorting_and_domains_without_order_if_they_are_small():
    codes, y = column(np.arange(5000), np.arange(5000) % 2, 10_000)
    assert cut_column(codes, y, 10_000, 2).lengths is None
    assert cut_column(codes[1:], y[1:], 10_000, 2).lengths is not None
    with pytest.raises(ValueError, match=f"a domain of {2**60} values without order is too large to count"):
        split_by_value(*column([1], [0], 2**60), 2**60, 1)


# Large domains: packed words below 2**64, an argsort beyond

near_ends = st.integers(0, 5) | st.integers(0, 2**64 - 2) | st.integers(2**64 - 9, 2**64 - 2)


@pytest.mark.parametrize("n_labels", [1, 5])
@pytest.mark.parametrize("size", [2**40 + 3, 2**53 + 5, 2**61 - 1, 2**62, 2**63, HUGE], ids=str)
def test_intervals_of_cuts_in_large_domains_begin_exactly_at_the_data(size, n_labels):
    # Beyond 2**53 nothing may pass through a float: a signed zero beside uint64 codes is enough for that.
    @repeatable
    @given(st.lists(st.tuples(near_ends, st.integers(0, n_labels - 1)), min_size=1, max_size=9))
    def check(rows):
        codes, y = zip(*[(code % size, label) for code, label in rows], strict=True)
        cuts = cut_column(*column(codes, y, size), size, n_labels)
        starts, lengths = cuts.starts.tolist(), cuts.lengths.tolist()
        assert [s for s, n in zip(starts, lengths, strict=True) if n] == sorted({0, *codes})
        assert [s + n for s, n in zip(starts, lengths, strict=True)] == [*starts[1:], size]
        for start, length, inside in zip(starts, lengths, cuts.inside.T.tolist(), strict=True):
            if length:
                below = Counter(label for code, label in zip(codes, y, strict=True) if code <= start)
                assert inside == [below[label] for label in range(n_labels)]

    check()


# Cuts


@repeatable
@given(records, st.data())
def test_errors_are_those_of_the_labels_on_both_sides(case, data):
    (codes, y), n_labels = zip(*case[0], strict=True), case[1]
    inner, outer = (data.draw(st.integers(0, n_labels - 1)) for _ in range(2))
    codes, y = column(codes, y, 40)
    totals = np.bincount(y, minlength=n_labels)
    for cuts, test in (
        (cut_column(codes, y, 40, n_labels), np.less_equal),
        (split_by_value(codes, y, 40, n_labels), np.equal),
    ):
        made = [np.count_nonzero(np.where(test(codes, cut), inner, outer) != y) for cut in range(40)]
        before = cuts.inside.copy()
        assert cuts.errors(totals, inner, outer).tolist() == made
        assert (cuts.inside == before).all()


@repeatable
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=8))
def test_chosen_cuts_are_numbered_in_order(intervals):
    lengths = np.array([n for n, _ in intervals], dtype=np.uint64)
    chosen = np.array([c for _, c in intervals])
    starts = np.cumsum(lengths) - lengths
    every = [s + i for s, (n, c) in zip(starts.tolist(), intervals, strict=True) if c for i in range(n)]
    cuts = Cuts(starts, lengths, np.zeros((1, len(intervals)), dtype=np.int64))
    assert cuts.number(chosen) == len(every)
    assert [cuts.nth(chosen, i) for i in range(len(every))] == every
    single = Cuts(starts, None, cuts.inside)
    assert single.number(chosen) == chosen.sum()
    assert [single.nth(chosen, i) for i in range(chosen.sum())] == starts[chosen].tolist()


def test_cuts_are_numbered_exactly_up_to_2_to_the_64():
    starts = np.array([0, 7, 2**63 + 1, HUGE - 3], dtype=np.uint64)
    lengths = np.array([7, 2**63 - 6, 2**63 - 5, 3], dtype=np.uint64)
    cuts = Cuts(starts, lengths, np.zeros((1, 4), dtype=np.int64))
    every = np.ones(4, dtype=bool)
    assert cuts.number(every) == HUGE
    for index in (0, 6, 7, 2**53 + 1, 2**63, 2**63 + 1, HUGE - 4, HUGE - 3, HUGE - 1):
        assert cuts.nth(every, index) == index
    outer = np.array([True, False, False, True])
    assert [cuts.nth(outer, i) for i in range(10)] == [*range(7), HUGE - 3, HUGE - 2, HUGE - 1]


# ErrorHistogram

blocks = st.lists(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 5) | st.integers(0, HUGE) | st.just(2**32)), min_size=1
    ),
    max_size=5,
)


@repeatable
@given(blocks, st.lists(st.lists(st.integers(0, 9), min_size=1), max_size=3))
def test_cuts_are_counted_exactly_however_long_their_intervals(weighted, single):
    histogram, expected = ErrorHistogram(9), Counter()
    for block in weighted:
        errors, lengths = zip(*block, strict=True)
        histogram.add(np.array(errors), np.array(lengths, dtype=np.uint64))
        for error, length in block:
            expected[error] += length
    for errors in single:
        histogram.add(np.array(errors), None)
        expected.update(errors)
    expected = sorted((error, n) for error, n in expected.items() if n)
    assert [*zip(*histogram.groups(), strict=True)] == expected
    assert [*zip(*histogram.groups(), strict=True)] == expected  # asking changes nothing
    assert all(type(number) is int for numbers in histogram.groups() for number in numbers)
    with pytest.MonkeyPatch.context() as patch:  # block by block
        patch.setattr(module, "_CHUNK", 4)
        again = ErrorHistogram(9)
        for block in weighted:
            errors, lengths = zip(*block, strict=True)
            again.add(np.array(errors), np.array(lengths, dtype=np.uint64))
        for errors in single:
            again.add(np.array(errors), None)
        assert again.groups() == histogram.groups()


FINITE = st.floats(allow_nan=False, allow_infinity=False)


def place_of(*numbers):
    return nonuniform_codes(Floats().encode(np.array(numbers))).tolist()


@given(FINITE, FINITE)
def test_places_keep_the_order_of_floats(x, y):
    low, high = sorted((x, y))
    first, last = place_of(low, high)
    assert 0 <= first <= last < NONUNIFORM_SIZE


@given(FINITE)
def test_the_last_code_of_a_place_is_the_last_that_has_it(x):
    [place] = place_of(x)
    last = last_code(place)
    assert int(Floats().encode(np.array([x]))[0]) <= last
    codes = np.array([last, min(last + 1, Floats().size - 1)], dtype=np.uint64)
    here, after = nonuniform_codes(codes).tolist()
    assert here == place
    assert after == place + 1 or last == Floats().size - 1
    some = int(abs(hash(x))) % NONUNIFORM_SIZE  # every place is some float's
    assert nonuniform_codes(np.array([last_code(some)], dtype=np.uint64)).tolist() == [some]


def test_the_ends_are_the_ends_of_all_floats():
    largest = np.finfo(float).max
    assert place_of(-largest, 0.0, -0.0, largest) == [
        0,
        NONUNIFORM_SIZE // 2,
        NONUNIFORM_SIZE // 2,
        NONUNIFORM_SIZE - 1,
    ]
    assert last_code(-1) == -1
    assert last_code(NONUNIFORM_SIZE - 1) == Floats().size - 1


@pytest.mark.parametrize(("x", "bits"), [(1.0, 52), (0.5, 51), (3e9, 47), (1e-300, 42)])
def test_magnitudes_far_from_one_keep_fewer_bits(x, bits):
    low = 2.0 ** math.floor(math.log2(x))
    first, last = place_of(low, 2 * low)
    assert last - first == 2**bits
