"""Pieces cover a domain once, and tell of each code how many others are below it and up to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.core.intervals import EqualCosts, piece_arrays

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


def test_codes_of_any_size_are_cut_exactly():
    starts, lengths, _, _ = pieces([0, 2**100], 2**200)
    assert starts == [0, 1, 2**100, 2**100 + 1]
    assert lengths == [1, 2**100 - 1, 1, 2**200 - 2**100 - 1]


@pytest.mark.parametrize("size", [2**64 - 1, 2**64, 2**64 + 1])
def test_the_last_code_of_a_domain_ends_it_whatever_type_holds_codes(size):
    starts, lengths, below, upto = pieces([size - 3, size - 1, size - 1], size, start=7, before=2)
    assert (starts, lengths) == ([7, size - 3, size - 2, size - 1], [size - 10, 1, 1, 1])
    assert (below, upto) == ([2, 2, 3, 3], [2, 3, 3, 5])


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
