"""Rows that are too long count as zeros, whatever the integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix

from dplearn.kernels import rows as module
from dplearn.kernels.rows import float_blocks, kept_short, row_blocks, unit_rows

FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)
TABLES = st.tuples(st.integers(0, 6), st.integers(0, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=FLOATS)
)


@given(TABLES, st.sampled_from([1, 2, 1024, 1 << 20]), st.sampled_from([1, 2]), st.booleans())
def test_no_row_is_longer_than_its_reach(rows, reach, order, intercept):
    scaled = unit_rows(rows, reach, order=order, intercept=intercept)
    assert scaled.shape == (len(rows), rows.shape[1] + intercept)
    for row in scaled.tolist():
        whole = [int(value) for value in row]
        assert whole == row
        assert sum(abs(value) ** order for value in whole) <= reach**order


@given(TABLES, st.sampled_from([1, 2]))
def test_a_row_depends_on_itself_alone(rows, order):
    together = unit_rows(rows, 1024, order=order, intercept=True)
    for place in range(len(rows)):
        alone = unit_rows(rows[place : place + 1], 1024, order=order, intercept=True)
        assert np.array_equal(together[place : place + 1], alone)


@pytest.mark.parametrize("order", [1, 2])
def test_directions_are_kept_and_lengths_are_not(order):
    rows = np.random.default_rng(0).normal(size=(200, 7))
    scaled = unit_rows(rows, 1 << 20, order=order)
    lengths = np.linalg.norm(rows, ord=order, axis=1, keepdims=True)
    assert np.abs(scaled / (1 << 20) - rows / lengths).max() < 2.0**-19
    assert np.array_equal(unit_rows(rows * 2.0**-900, 1 << 20, order=order), scaled)


def test_rows_with_a_whole_direction_are_as_long_as_they_may_be():
    rows = np.array([[1.0, 1, 1, 1], [0, 0, -7, 0], [3, 4, 0, 0]])
    assert np.linalg.norm(unit_rows(rows, 1000), axis=1).tolist() == [1000, 1000, 1000]
    odd = np.array([[np.nan, 2.0], [np.inf, -np.inf], [0.0, 0.0]])  # what is no number counts as 0
    assert unit_rows(odd, 8).tolist() == [[0, 8], [0, 0], [0, 0]]
    rows, image = np.array([[3, 0], [0, 2]], dtype=np.int16), np.array([[1.0, 2.0, 2.0], [0.0, 5.0, 0.0]])
    assert unit_rows(rows, 9, image=image).tolist() == [[3, 6, 6], [0, 9, 0]]  # multiplied before
    for reach, order in ((0, 2), ((1 << 20) + 1, 2), (8, 3)):
        with pytest.raises(ValueError, match="must be an integer from"):
            unit_rows(np.ones((1, 1)), reach, order=order)
    for wrong in (np.zeros((2, 3)), np.zeros((2, 2), int), np.zeros(3, int)):
        with pytest.raises(TypeError, match=r"values must be integers of shape \(n, 3\)$"):
            kept_short(wrong, 3, 1)


def test_sparse_and_narrow_rows_are_the_same_rows():
    rows = np.random.default_rng(1).integers(-3, 4, (50, 6))
    dense = unit_rows(rows.astype(float), 1024, intercept=True)
    assert np.array_equal(unit_rows(csr_matrix(rows), 1024, intercept=True), dense)
    assert np.array_equal(unit_rows(rows.astype(np.float16), 1024, intercept=True), dense)


def test_rows_are_scaled_in_blocks_alike(monkeypatch):
    rows = np.random.default_rng(2).normal(size=(30, 4))
    whole = unit_rows(rows, 1024)
    monkeypatch.setattr(module, "_FEWEST", 7)
    monkeypatch.setattr(module, "_MOST", 7)
    assert np.array_equal(unit_rows(rows, 1024), whole)


def test_a_row_that_is_too_long_all_the_same_counts_as_zeros(monkeypatch):
    monkeypatch.setattr(np, "trunc", np.ceil)
    assert unit_rows(np.array([[1.0, 1.0], [1.0, 0.0]]), 10).tolist() == [[0, 0], [10, 0]]


@pytest.mark.parametrize(("reach", "dtype"), [(1, np.int16), (2**15 - 1, np.int16), (2**15, np.int32)])
def test_numbers_have_as_few_bytes_as_hold_the_norm(reach, dtype):
    rows = unit_rows(np.array([[7.0, 0.0]]), reach)
    assert rows.dtype == dtype
    assert rows.tolist() == [[reach, 0]]


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


def test_many_rows_are_looked_at_in_blocks():
    rows = np.random.default_rng(0).integers(-3, 4, (10_000, 2))
    alone = np.vstack([kept_short(rows[i : i + 1], 2, 3) for i in range(0, 10_000, 97)])
    assert (kept_short(rows, 2, 3)[::97] == alone).all()


@pytest.mark.parametrize("n", [0, 1, 1024, 1025, 30_000])
@pytest.mark.parametrize("width", [0, 1, 20, 100_000])
def test_each_row_is_in_one_block(n, width):
    places = [place for block in row_blocks(n, width) for place in range(block.start, block.stop)]
    assert places == list(range(n))


def test_blocks_hold_few_numbers_unless_rows_are_long():
    assert all(20 * (block.stop - block.start) <= 1 << 16 for block in row_blocks(10_000, 20))
    assert [block.stop - block.start for block in row_blocks(2048, 1 << 18)] == [1024, 1024]
    rows = np.full((3000, 2), 1 << 10, dtype=np.int16)  # of floats, whose products are exact
    assert sum(block.T @ block for _, block in float_blocks(rows)).tolist() == [[3000 << 20] * 2] * 2
