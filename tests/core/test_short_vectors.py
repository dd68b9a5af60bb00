"""Rows that are too long count as zeros, whatever the integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.core.unit_rows import kept_short

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=80)


@repeatable
@given(rows=st.lists(st.tuples(*[st.integers(-6, 6)] * 3), min_size=1, max_size=9), norm=st.integers(1, 9))
def test_short_rows_stay_and_long_rows_are_zeros(rows, norm):
    kept = kept_short(np.array(rows), 3, norm)
    for row, shown in zip(rows, kept.tolist(), strict=True):
        assert shown == (list(row) if sum(v * v for v in row) <= norm**2 else [0, 0, 0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_no_integer_is_so_large_that_its_square_passes_for_a_small_one(dtype):
    ends = np.iinfo(dtype)
    rows = np.array([[ends.max, 0], [ends.min, ends.max], [3, 4]], dtype=dtype)
    assert kept_short(rows, 2, 5).tolist() == [[0, 0], [0, 0], [3, 4]]


def test_the_greatest_norm_is_kept_exactly():
    norm = 1 << 30
    wide = np.zeros((2, 8), dtype=np.int64)
    wide[0, 0], wide[1, :2] = norm, (norm, 1)  # the second is longer by one part in 2**61
    assert kept_short(wide, 8, norm)[:, 0].tolist() == [norm, 0]


@pytest.mark.parametrize(
    "rows", [np.zeros((2, 3)), np.zeros((2, 2), int), np.zeros(3, int)], ids=["floats", "narrow", "flat"]
)
def test_rows_of_another_kind_are_refused_and_not_shown(rows):
    with pytest.raises(TypeError, match=r"values must be integers of shape \(n, 3\)$"):
        kept_short(rows, 3, 1)


def test_many_rows_are_looked_at_in_blocks():
    rows = np.random.default_rng(0).integers(-3, 4, (10_000, 2))
    alone = np.vstack([kept_short(rows[i : i + 1], 2, 3) for i in range(0, 10_000, 97)])
    assert (kept_short(rows, 2, 3)[::97] == alone).all()
