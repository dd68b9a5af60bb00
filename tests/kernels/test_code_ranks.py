"""Ranks, cuts and trees of codes agree with counting one by one, up to domains of 2**64 codes and more."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dplearn.kernels.ranks
from dplearn.domains import Floats
from dplearn.kernels import CodePlaces, SortedCodes, depth_of, prefix_counts
from dplearn.kernels.cuts import NONUNIFORM_SIZE, last_code, nonuniform_codes
from dplearn.kernels.intervals import children_of, counted, first_codes, piece_arrays, sorted_codes, whole
from dplearn.kernels.ranks import (
    ApartCodes,
    CodeCounts,
    UnsortedCodes,
)

few_codes = st.lists(st.integers(0, 5), min_size=1, max_size=12)


@pytest.fixture(params=[48, 50], ids=["whole words", "parts of words"])
def sampling(monkeypatch, request):
    """Look through small data as if they were large."""
    monkeypatch.setattr(dplearn.kernels.ranks, "FEW", 30)
    monkeypatch.setattr(dplearn.kernels.ranks, "SAMPLE", 16)
    monkeypatch.setattr(dplearn.kernels.ranks, "BLOCK", request.param)


DATA = {
    "normal": lambda rng, n: rng.normal(size=n),
    "sorted": lambda rng, n: np.sort(rng.normal(size=n)),
    "falling": lambda rng, n: -np.arange(n, dtype=float),
    "periodic": lambda rng, n: np.tile([1e300, -1e300, 0.0, -0.0], n)[:n],
    "few values": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "one far": lambda rng, n: np.where(np.arange(n) == n // 2, 1e9, 0.0),
}


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("n", [20, 31, 200, 1000])
def test_windows_are_those_of_sorting_whatever_the_sample_and_a_check_sees_all_values_once(kind, n, sampling):
    rng = np.random.default_rng(n)
    values, checked = DATA[kind](rng, n), []
    ranks, codes = UnsortedCodes(values, Floats().encode), np.sort(Floats().encode(values))
    windows = [(0, 1), (0, 3), (0, n), (n - 2, n), (n // 2, n // 2 + 2)]
    for start, stop in [*windows, *(np.sort(rng.integers(0, n, (40, 2))) + [0, 1]).tolist()]:
        assert ranks.at(range(start, stop)) == codes[start:stop].tolist()
    for rank in (0, n // 2, n - 1):
        checked.clear()
        ranks.check(lambda block: checked.extend(block.tolist()), rank)
        assert checked == values.tolist()
        for start, stop in [(rank, rank + 1), *windows]:
            assert ranks.at(range(start, stop)) == codes[start:stop].tolist()


def test_windows_near_a_rank_that_was_checked_are_not_looked_for_again(sampling, monkeypatch):
    values = np.random.default_rng(0).normal(size=1000)
    ranks = UnsortedCodes(values)
    ranks.check(len, 500)
    monkeypatch.setattr(dplearn.kernels.ranks, "around", None)
    assert ranks.at(range(499, 502)) == np.sort(values)[499:502].tolist()


def test_a_sample_that_misleads_costs_time_only_and_what_a_check_raises_is_passed_on(sampling):
    def check(block):
        if (block == 5.0).any():
            raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        UnsortedCodes(np.arange(1000.0)).check(check, 3)
    for dtype in ("f4", "i8", "u2", ">f8"):
        column = np.random.default_rng(0).integers(0, 300, (1000, 3)).astype(dtype)[:, 1]
        assert UnsortedCodes(column).at(range(400, 440)) == np.sort(column)[400:440].tolist()
    values = np.zeros(1000)
    values[:: 1000 // 16] = 5.0  # the sample sees nothing else
    assert UnsortedCodes(values).at(range(400, 403)) == [0.0] * 3
    assert UnsortedCodes(values).at(range(998, 1000)) == [5.0] * 2


def apart(codes, bits):
    return ApartCodes(SortedCodes(np.array(codes)), bits)


@given(few_codes, st.integers(0, 12), st.integers(0, 12), st.integers(0, 16 * 6))
def test_codes_told_apart_are_distinct_and_stay_with_their_code(codes, one, other, key):
    start, stop = sorted(min(each, len(codes)) for each in (one, other))
    told = apart(codes, 4)
    keys = told.at(range(len(codes)))
    assert keys == sorted(set(keys))
    assert [each >> 4 for each in keys] == sorted(codes)
    assert told.at(range(start, stop)) == keys[start:stop]
    assert told.count(key) == (sum(k < key for k in keys), sum(k <= key for k in keys))
    replaced = [*codes]  # which replaces one of the keys
    replaced[one % len(codes)] = other % 6
    after = Counter(apart(replaced, 4).at(range(len(codes))))
    assert (Counter(keys) - after).total() <= 1


codes_of_any_size = st.lists(st.sampled_from([0, 1, 5, 7, 2**63, 2**64 - 1]), min_size=1, max_size=12)


@given(codes_of_any_size, codes_of_any_size, st.sampled_from([np.uint64, object]))
def test_ranks_of_a_sum_are_those_of_the_sorted_codes(first, second, dtype):
    counts = CodeCounts.of(np.array(first, dtype=dtype)) + CodeCounts.of(np.array(second, dtype=dtype))
    right = SortedCodes(np.array([*first, *second], dtype=dtype))
    assert len(counts) == len(right)
    for start in range(len(right)):
        for stop in range(start, len(right) + 1):
            assert counts.at(range(start, stop)) == right.at(range(start, stop))
    for code in (0, 3, 7, 8, 2**63, 2**64 - 1):
        assert counts.count(code) == right.count(code)
    none = CodeCounts.of(np.array([], dtype=dtype))
    assert (len(none), none.at(range(0)), none.count(3)) == (0, [], (0, 0))
    assert (none + counts).at(range(len(counts))) == counts.at(range(len(counts)))


def pieces(*codes_and_size, **where):
    return tuple(part.tolist() for part in piece_arrays(*codes_and_size, **where))


@pytest.mark.parametrize("size", [2**64 - 1, 2**64, 2**64 + 1])
def test_the_last_code_of_a_domain_ends_it_whatever_type_holds_codes(size):
    starts, lengths, below, upto = pieces([size - 3, size - 1, size - 1], size, start=7)
    assert (starts, lengths) == ([7, size - 3, size - 2, size - 1], [size - 10, 1, 1, 1])
    assert (below, upto) == ([0, 0, 1, 1], [0, 1, 1, 3])
    starts, lengths, _, _ = pieces([0, size], size**2)
    assert (starts, lengths) == ([0, 1, size, size + 1], [1, size - 1, 1, size**2 - size - 1])


# Trees


SIZES = st.integers(2, 200) | st.sampled_from([2**32, 2**64 - 2**53 + 1, 2**64 - 1, 2**64, 3**100])


def grown(size, fan_out, codes, choose, most=6):
    """Return a tree with its true counts, in which the nodes that `choose` picks are cut."""
    ordered = sorted_codes(codes, size)
    levels = [whole(size, len(ordered))]
    while len(levels) <= most:
        level = levels[-1]
        places = np.flatnonzero((level.lengths > 1) & choose(level))
        if not places.size:
            break
        children = children_of(level, places, fan_out)
        levels.append(children.with_counts(counted(children, ordered)))
    return levels


@st.composite
def trees(draw):
    size = draw(SIZES)
    codes = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=12))
    seed = draw(st.integers(0, 99))
    generator = np.random.default_rng(seed)
    levels = grown(
        size, draw(st.integers(2, 5)), codes, lambda level: generator.random(level.counts.size) < 0.6, most=3
    )
    return size, sorted(codes), levels, generator


@pytest.mark.parametrize("size", [2, 7, 16, 17, 27, 100])
def test_all_nodes_are_single_codes_at_the_depth_of_the_domain(size):
    for fan_out in (2, 3, 4, 16):
        levels = grown(size, fan_out, [0], lambda level: level.counts >= 0, most=99)
        assert len(levels) - 1 == depth_of(size, fan_out)
        assert sum(int((level.lengths == 1).sum()) for level in levels) == size
    knots = prefix_counts(grown(8, 2, [0, 0, 5], lambda level: level.starts == 0))
    assert (knots.starts.tolist(), knots.levels.tolist()) == ([0, 1, 2, 4], [0, 3, 2, 1])  # of the first cut


@given(trees())
def test_counts_are_of_the_codes_in_each_node_and_true_counts_give_true_prefixes(tree):
    _, codes, levels, _ = tree
    for level in levels:
        for start, length, count in zip(level.starts, level.lengths, level.counts, strict=True):
            assert count == sum(int(start) <= code < int(start) + int(length) for code in codes)
    knots = prefix_counts(levels)
    assert knots.starts[0] == 0
    assert (knots.starts[1:] > knots.starts[:-1]).all()
    assert np.allclose(knots.below, [sum(code < int(start) for code in codes) for start in knots.starts])


# Places of codes, by lookups


def searched(starts, size, codes):
    found = np.searchsorted(starts, codes, side="right") - 1
    return np.where(codes == size, len(starts), found)


def near(starts, size):
    """Return codes at, before and after all ends, and some others, as unsigned integers."""
    ends = {end + step for end in [*starts.tolist(), size] for step in (-1, 0, 1)}
    codes = sorted(code for code in ends if 0 <= code <= size)
    more = np.random.default_rng(0).integers(0, size, 5000, dtype=np.uint64, endpoint=True)
    return np.concatenate([np.array(codes, dtype=np.uint64), more])


@given(st.lists(st.integers(1, 2**64 - 3), max_size=30, unique=True), st.integers(0, 64))
def test_places_are_those_of_a_search(inner, bits):
    limit = max(1, (1 << bits) - 1)
    starts = np.array(sorted({0, *(each % limit for each in inner)}), dtype=np.uint64)
    size = int(starts[-1]) + 1 + limit % 7
    codes = near(starts, size)
    assert CodePlaces(starts, size)(codes).tolist() == searched(starts, size, codes).tolist()
    for gap in (1, 1 << 40, 1 << 50):  # starts that share their highest bits, or not
        starts = np.arange(200, dtype=np.uint64) * np.uint64(gap)
        codes = near(starts, 2**64 - 1)
        assert CodePlaces(starts, 2**64 - 1)(codes).tolist() == searched(starts, 2**64 - 1, codes).tolist()


@given(st.lists(st.integers(0, 2**63), min_size=1, max_size=20, unique=True))
def test_first_codes_are_those_from_which_on_an_interval_is_reached(ends):
    starts = np.array(sorted({0, *ends}), dtype=np.uint64)
    found = first_codes(lambda codes: np.searchsorted(starts, codes, "right") - 1, len(starts), 2**63 + 1)
    assert found.tolist() == starts.tolist()


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
