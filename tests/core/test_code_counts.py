"""Counts of codes have the ranks of the sorted codes, and their sum is that of the joined codes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.core.code_counts import CodeCounts
from dplearn.core.ranks import SortedCodes

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
