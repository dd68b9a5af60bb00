"""Pieces cover a domain once and have the ranks of their codes; trees have consistent estimates."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.kernels import intervals as module
from dplearn.kernels.intervals import (
    CodePlaces,
    EqualCosts,
    children_of,
    counted,
    depth_of,
    first_codes,
    piece_arrays,
    prefix_counts,
    sorted_codes,
    whole,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=200)


def pieces(*codes_and_size, **where):
    return tuple(part.tolist() for part in piece_arrays(*codes_and_size, **where))


@repeatable
@given(st.lists(st.integers(2, 11)), st.integers(0, 2), st.integers(0, 5))
def test_every_code_lies_in_one_piece_and_has_the_ranks_of_its_piece(codes, start, before):
    codes = sorted(codes)
    starts, lengths, below, upto = pieces(codes, 13, start=start, before=before)
    found = []
    for first, length, less, not_greater in zip(starts, lengths, below, upto, strict=True):
        assert length >= 1
        for code in range(first, first + length):
            found.append(code)
            assert less == before + sum(other < code for other in codes)
            assert not_greater == before + sum(other <= code for other in codes)
    assert found == list(range(start, 13))


@pytest.mark.parametrize("size", [2**64 - 1, 2**64, 2**64 + 1])
def test_the_last_code_of_a_domain_ends_it_whatever_type_holds_codes(size):
    starts, lengths, below, upto = pieces([size - 3, size - 1, size - 1], size, start=7, before=2)
    assert (starts, lengths) == ([7, size - 3, size - 2, size - 1], [size - 10, 1, 1, 1])
    assert (below, upto) == ([2, 2, 3, 3], [2, 3, 3, 5])
    starts, lengths, _, _ = pieces([0, size], size**2)
    assert (starts, lengths) == ([0, 1, size, size + 1], [1, size - 1, 1, size**2 - size - 1])


@repeatable
@given(st.lists(st.integers(0, 40), max_size=8), st.lists(st.integers(0, 3), min_size=17, max_size=17))
def test_every_code_has_one_place_among_those_of_its_cost(codes, wanted):
    starts, lengths, _, _ = piece_arrays(sorted(codes), 41)
    costs = np.array(wanted[: len(starts)])
    alike = EqualCosts(starts, lengths, costs)
    expected = {}
    for start, length, cost in zip(starts.tolist(), lengths.tolist(), costs.tolist(), strict=True):
        expected.setdefault(cost, []).extend(range(start, start + length))
    assert alike.costs == sorted(expected)
    assert alike.sizes == [len(expected[cost]) for cost in alike.costs]
    for group, cost in enumerate(alike.costs):
        assert [alike.code(group, place) for place in range(alike.sizes[group])] == expected[cost]


@pytest.mark.parametrize("size", [2**64 - 1, 2**200])
def test_codes_of_equal_cost_are_counted_exactly(size):
    starts, lengths, below, upto = piece_arrays([5, size // 2], size)
    alike = EqualCosts(starts, lengths, np.maximum(below - 1, 1 - upto))
    assert (alike.costs, alike.sizes) == ([0, 1], [size // 2 - 4, size - size // 2 + 4])
    assert [alike.code(0, 0), alike.code(0, size // 2 - 5)] == [5, size // 2]
    assert [alike.code(1, 4), alike.code(1, 5), alike.code(1, size - size // 2 + 3)] == [
        4,
        size // 2 + 1,
        size - 1,
    ]
    assert type(alike.code(0, 1)) is int


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


@pytest.mark.parametrize("size", [2, 7, 16, 17, 27, 100])
@pytest.mark.parametrize("fan_out", [2, 3, 4, 16])
def test_all_nodes_are_single_codes_at_the_depth_of_the_domain(size, fan_out):
    levels = grown(size, fan_out, [0], lambda level: level.counts >= 0, most=99)
    assert len(levels) - 1 == depth_of(size, fan_out)
    assert sum(int((level.lengths == 1).sum()) for level in levels) == size
    knots = prefix_counts(grown(8, 2, [0, 0, 5], lambda level: level.starts == 0))
    assert (knots.starts.tolist(), knots.levels.tolist()) == ([0, 1, 2, 4], [0, 3, 2, 1])  # of the first cut
    for asked, words in (
        ((0, 2), "size must be an integer at least 1"),
        ((5, 1), "fan_out must be an integer"),
    ):
        with pytest.raises(ValueError, match=words):
            depth_of(*asked)


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


@pytest.mark.parametrize("gap", [1, 1 << 40, 1 << 50])
def test_starts_that_share_their_highest_bits_are_searched(gap):
    starts = np.arange(200, dtype=np.uint64) * np.uint64(gap)
    size = 2**64 - 1
    places, codes = CodePlaces(starts, size), near(starts, size)
    assert places._apart == (gap > 1 << 48)
    assert places(codes).tolist() == searched(starts, size, codes).tolist()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, object])
def test_few_and_many_codes_of_any_type_have_the_same_places(dtype):
    places = CodePlaces(np.array([0, 7, 100]), 200)
    codes = np.arange(5000) % 201
    assert len(codes) > module._FEW
    many = places(codes.astype(dtype))
    assert many.dtype == np.int16
    assert many.tolist() == [places(codes[[place]].astype(dtype))[0] for place in range(len(codes))]


@given(st.lists(st.integers(0, 2**63), min_size=1, max_size=20, unique=True))
def test_first_codes_are_those_from_which_on_an_interval_is_reached(ends):
    starts = np.array(sorted({0, *ends}), dtype=np.uint64)
    found = first_codes(lambda codes: np.searchsorted(starts, codes, "right") - 1, len(starts), 2**63 + 1)
    assert found.tolist() == starts.tolist()
