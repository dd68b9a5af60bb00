"""Ranks, cuts and pieces of codes agree with counting one by one, up to domains of 2**64 codes and more."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dplearn.kernels.ranks
from dplearn.domains import Floats
from dplearn.kernels import Cell, CodePlaces, SortedCodes, depth_of, prefix_counts
from dplearn.kernels import intervals as intervals_module
from dplearn.kernels.cuts import NONUNIFORM_SIZE, last_code, nonuniform_codes
from dplearn.kernels.intervals import children_of, counted, first_codes, piece_arrays, sorted_codes, whole
from dplearn.kernels.ranks import (
    ApartCodes,
    CodeCounts,
    UnsortedCodes,
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
    monkeypatch.setattr(dplearn.kernels.ranks, "_around", None)
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


@given(few_codes, st.integers(0, 6))
def test_sorted_and_unsorted_codes_agree(codes, code):
    array = np.array(codes, dtype=np.uint64)
    expected = sum(c < code for c in codes), sum(c <= code for c in codes)
    for ranks in (SortedCodes(array), UnsortedCodes(array), SortedCodes(array.astype(object))):
        assert ranks.count(code) == expected
        assert ranks.at(range(len(ranks))) == sorted(codes)


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


def test_a_cell_counts_only_what_is_within():
    cell = Cell(SortedCodes(np.array([1, 4, 4, 6, 9])), 1, 4, 4, 8)
    assert (len(cell), cell.at(range(3))) == (3, [4, 4, 6])
    assert [cell.count(code) for code in (4, 5, 6, 7)] == [(0, 2), (2, 2), (2, 3), (3, 3)]
    assert Cell(cell.ranks, 3, 4, 4, 8).count(4) == (0, 0)  # both 4 count to the cell before


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
        told = apart([0] * count, 40)
        each = [told.at([rank])[0] for rank in range(count)]
        assert told.at(range(count)) == each == sorted(set(each))
        assert told.at([count - 1, 90, 7]) == [each[count - 1], each[90], each[7]]
    assert apart([0] * 5, 3).at(range(5)) == [0, 1, 2, 4, 6]  # van der Corput's places
    assert apart([0] * 8, 3).at(range(8)) == list(range(8))
    assert apart([3], 0).at(range(1)) == [3]


repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=200)


def pieces(*codes_and_size, **where):
    return tuple(part.tolist() for part in piece_arrays(*codes_and_size, **where))


@repeatable
@given(st.lists(st.integers(2, 11)), st.integers(0, 2))
def test_every_code_lies_in_one_piece_and_has_the_ranks_of_its_piece(codes, start):
    codes = sorted(codes)
    starts, lengths, below, upto = pieces(codes, 13, start=start)
    found = []
    for first, length, less, not_greater in zip(starts, lengths, below, upto, strict=True):
        assert length >= 1
        for code in range(first, first + length):
            found.append(code)
            assert less == sum(other < code for other in codes)
            assert not_greater == sum(other <= code for other in codes)
    assert found == list(range(start, 13))


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
def test_children_share_out_the_codes_of_their_parent_nearly_equally(tree):
    _, _, levels, _ = tree
    for above, level in pairwise(levels):
        for parent in set(level.parents.tolist()):
            mine = np.flatnonzero(level.parents == parent)
            starts = [int(start) for start in level.starts[mine]]
            lengths = [int(length) for length in level.lengths[mine]]
            assert starts[0] == int(above.starts[parent])
            ends = [start + length for start, length in zip(starts, lengths, strict=True)]
            assert ends == [*starts[1:], int(above.starts[parent]) + int(above.lengths[parent])]
            assert min(lengths) >= 1
            assert max(lengths) - min(lengths) <= 1


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


@given(trees())
def test_leaves_below_a_node_add_up_to_what_is_left_for_it_by_the_shares_of_its_siblings(tree):
    size, _, levels, generator = tree
    noisy = [levels[0]] + [
        level.with_counts(level.counts + generator.integers(-9, 10, level.counts.size))
        for level in levels[1:]
    ]
    knots = prefix_counts(noisy)
    below = dict(zip([int(start) for start in knots.starts], knots.below, strict=True))
    below[size] = float(noisy[0].counts[0])

    def mass(level, node):
        start = int(level.starts[node])
        return below[start + int(level.lengths[node])] - below[start]

    for above, level in pairwise(noisy):
        for parent in set(level.parents.tolist()):
            family = np.flatnonzero(level.parents == parent)
            changes = [mass(level, node) - int(level.counts[node]) for node in family]
            assert np.allclose(changes, changes[0])
            assert sum(mass(level, node) for node in family) == pytest.approx(mass(above, parent))


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


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, object])
def test_few_and_many_codes_of_any_type_have_the_same_places(dtype):
    places = CodePlaces(np.array([0, 7, 100]), 200)
    codes = np.arange(5000) % 201
    assert len(codes) > intervals_module._FEW
    many = places(codes.astype(dtype))
    assert many.dtype == np.int16
    assert many.tolist() == [places(codes[[place]].astype(dtype))[0] for place in range(len(codes))]


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
