"""Counts of codes have the ranks of the sorted codes, and their sum is that of the joined codes.

Tests of the intervals of codes by lookups: equal to a search, for all codes near an end.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.kernels import intervals as code_counts
from dplearn.kernels.intervals import CodePlaces, first_codes
from dplearn.kernels.ranks import CodeCounts, SortedCodes

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
codes = st.lists(st.sampled_from([0, 1, 5, 7, 2**63, 2**64 - 1]), min_size=1, max_size=12)


@repeatable
@given(codes, codes, st.sampled_from([np.uint64, object]))
def test_ranks_of_a_sum_are_those_of_the_sorted_codes(first, second, dtype):
    counts = CodeCounts.of(np.array(first, dtype=dtype)) + CodeCounts.of(np.array(second, dtype=dtype))
    right = SortedCodes(np.array([*first, *second], dtype=dtype))
    assert len(counts) == len(right)
    for start in range(len(right)):
        for stop in range(start, len(right) + 1):
            assert counts.window(start, stop) == right.window(start, stop)
    for code in (0, 3, 7, 8, 2**63, 2**64 - 1):
        assert counts.count(code) == right.count(code)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, object])
def test_no_codes_have_no_ranks(dtype):
    none = CodeCounts.of(np.array([], dtype=dtype))
    assert (len(none), none.window(0, 0), none.count(3)) == (0, [], (0, 0))
    assert (none + CodeCounts.of(np.array([3], dtype=dtype))).window(0, 1) == [3]


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
    assert len(codes) > code_counts._FEW
    many = places(codes.astype(dtype))
    assert many.dtype == np.int16
    assert many.tolist() == [places(codes[[place]].astype(dtype))[0] for place in range(len(codes))]


@given(st.lists(st.integers(0, 2**63), min_size=1, max_size=20, unique=True))
def test_first_codes_are_those_from_which_on_an_interval_is_reached(ends):
    starts = np.array(sorted({0, *ends}), dtype=np.uint64)
    found = first_codes(lambda codes: np.searchsorted(starts, codes, "right") - 1, len(starts), 2**63 + 1)
    assert found.tolist() == starts.tolist()
