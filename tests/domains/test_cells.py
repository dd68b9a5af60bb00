"""Cells and keys read one by one: what holds them, and what the others are, changes none of them."""

from collections import UserList, deque

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import (
    Categories,
    KeyCounts,
    frame_column,
    mapped,
    object_array,
    read_column,
    read_keys,
    spelled,
)
from dplearn.domains.cells import (
    any_as_number,
    any_as_numbers,
    as_cells,
    cells_of,
    column_type,
    columns_read_once,
)
from dplearn.domains.keys import counted_keys

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=100)


class Rows:
    """A sequence to numpy, but no `Sequence`."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]


class Arrow(Rows):
    """What tables and arrays of Arrow have in common."""

    def __arrow_c_stream__(self):
        raise AssertionError("is not asked")


holders = pytest.mark.parametrize(
    "holder", [list, tuple, deque, UserList, Rows], ids=lambda kind: kind.__name__
)
cells = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.text(max_size=3),
    st.none(),
    st.fractions(),
    st.lists(st.integers(), max_size=2),
)


@holders
@given(values=st.lists(cells, min_size=1, max_size=6))
@repeatable
def test_values_without_a_type_of_their_own_are_the_objects_that_they_are(holder, values):
    read = as_cells(holder(values))
    assert read.shape == (len(values),)
    assert all(mine is given for mine, given in zip(read.tolist(), values, strict=True))
    table = cells_of(holder([holder([value, 0.5]) for value in values]))
    assert table.shape == (len(values), 2)
    assert all(mine is given for mine, given in zip(table[:, 0].tolist(), values, strict=True))


def test_objects_stay_as_they_are_whatever_axes_numpy_finds_in_them():
    for found in ([[1], [2]], [np.array([1]), np.array([2])], [UserList([1]), 5], [np.array(5.0)]):
        assert all(mine is given for mine, given in zip(object_array(found).tolist(), found, strict=True))


@pytest.mark.parametrize("kind", [float, "float32", int, bool, object])
def test_a_sparse_column_of_pandas_is_read_as_a_column_of_its_cells(kind):
    dense = pd.Series([0, 0, 1, 0], dtype=kind)
    frame = pd.DataFrame({"a": dense.astype(pd.SparseDtype(kind, dense.iloc[0]))})
    assert column_type(frame, 0) == dense.dtype
    found = frame_column(frame, 0)
    assert (found.dtype, found.tolist()) == (dense.dtype, dense.tolist())


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (np.ma.array([[1.0, 99.0]], mask=[[0, 0]]), TypeError, "masked array is not supported: fill it"),
        (Arrow([[1, 2]]), TypeError, "Arrow is not supported: turn it into pandas or polars"),
        (pl.LazyFrame({"a": [1]}), TypeError, "a LazyFrame is not supported: collect it"),
        (np.zeros((2, 1), "M8[s]"), TypeError, "X must hold text, bytes or numbers, got dtype"),
        (np.zeros((2, 1), "m8[D]"), TypeError, "X must hold text, bytes or numbers, got dtype"),
        *(
            (table, ValueError, "Expected 2D array")
            for table in ([1, 2], [], deque(), deque([{}]), "ab", {"a": 1}, {1}, 5, Rows(["ab"]))
        ),
        (None, TypeError, "X must be a table, got None"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_is_no_table_is_refused_and_what_is_masked_or_of_arrow_is_no_column_either(table, error, words):
    with pytest.raises(error, match=words):
        cells_of(table)
    if "masked" in words or "Arrow" in words:
        with pytest.raises(error, match=words):
            as_cells(table)


TYPED = [
    ("Int64", [2**53 + 1, None]),
    (pd.CategoricalDtype([1, 2**53 + 1]), [2**53 + 1, None]),
    ("str", ["a", None, "b"]),
    ("string[python]", ["a", None, ""]),
    ("string[pyarrow]", ["a", None]),
    ("large_string[pyarrow]", ["a", None]),
    ("Int8", [1, None, -128]),
    ("UInt64", [2**64 - 1, None]),
    ("boolean", [True, None, False]),
    ("int64[pyarrow]", [2**62 + 1, None]),
    ("bool[pyarrow]", [False, None]),
    ("category", ["b", None, "a"]),
]


@pytest.mark.parametrize(("dtype", "cells"), TYPED, ids=lambda each: each if isinstance(each, str) else "")
def test_cells_of_typed_columns_are_those_that_were_given(dtype, cells):
    if "pyarrow" in str(dtype):
        pytest.importorskip("pyarrow")
    column = pd.Series(cells, dtype=dtype)
    for values in (column, pd.Index(column), column.array):
        found = as_cells(values).tolist()
        assert found == cells
        assert [type(cell) is bool for cell in found] == [type(cell) is bool for cell in cells]
    assert frame_column(pd.DataFrame({"x": column}), 0).tolist() == cells
    assert as_cells(pl.Series([2**53 + 1, None], dtype=pl.Int64)).tolist() == [2**53 + 1, None]
    if hasattr(pl, "Int128"):  # not in the oldest versions
        assert as_cells(pl.Series([2**100, 1], dtype=pl.Int128)).tolist() == [2**100, 1]


@pytest.mark.parametrize("dtype", ["Float32", "Float64", "double[pyarrow]", pl.Float32, pl.Float64])
@pytest.mark.parametrize("gap", [None, np.nan, 2.5])
def test_columns_of_floats_are_arrays_of_them_with_gaps_or_without(dtype, gap):
    if isinstance(dtype, str):
        pytest.importorskip("pyarrow")
        column = pd.Series([1.5, gap], dtype=dtype)
    else:
        column = pl.Series([1.5, gap], dtype=dtype)
    found = as_cells(column)
    assert found.dtype.kind == "f"
    assert np.array_equal(found, [1.5, np.nan if gap is None else gap], equal_nan=True)


parts = st.none() | st.text() | st.binary() | st.integers() | st.floats(allow_nan=False)
keys = st.recursive(parts, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


@repeatable
@given(keys, keys)
def test_keys_are_spelled_alike_exactly_if_they_are_equal(one, other):
    [first], [second] = read_keys([one]), read_keys([other])
    assert (spelled(first) == spelled(second)) == (first == second)


KEYS = ["b", b"a", "a", 3, "a", None, (1, ("x", None)), 3, np.int64(3), np.str_("a")]


def test_counts_of_keys_in_any_order_and_of_parts_are_the_same_and_of_built_in_types():
    counts = counted_keys(KEYS)
    assert dict(counts) == {"a": 3, b"a": 1, "b": 1, 3: 3, None: 1, (1, ("x", None)): 1}
    assert {type(key) for key, _ in counts} == {str, bytes, int, tuple, type(None)}
    for order in (KEYS, KEYS[::-1]):
        assert counted_keys(order) == counts
        for cut in range(len(KEYS) + 1):
            total = KeyCounts.of(order[:cut]) + KeyCounts.of(order[cut:])
            assert (counted_keys(total), len(total)) == (counts, len(KEYS))


@pytest.mark.parametrize("cells", [[1, 2.5, None, True], [2**53 + 1, -0.0, np.inf], [2**1030, 1.5, None]])
def test_cells_of_python_are_read_at_once_as_one_by_one(cells):
    one_by_one = list(map(any_as_number, cells))
    assert np.array_equal(any_as_numbers(object_array(cells)), one_by_one, equal_nan=True)


def test_levels_that_occur_in_no_row_are_not_read():
    """Types of pandas and Arrow declare categories that no cell of a table, or of some of its rows, has."""
    pa = pytest.importorskip("pyarrow")
    column = pd.Series(pd.Categorical(["a", None, "b"], ["c", "b", "a"]))
    arrow = pa.DictionaryArray.from_arrays(pa.array([2, None, 1], pa.uint8()), ["c", "b", "a"])
    for each in (column, pd.Series(arrow, dtype=pd.ArrowDtype(arrow.type))):
        read = read_column(each.to_frame(), 0)
        assert mapped(Categories(["a", "b", None]).encode, read).tolist() == [0, 2, 1]
        assert mapped(Categories(["a", None]).encode, read[np.array([1, 0])]).tolist() == [1, 0]
        assert dict(read[:1].counts()) == {"a": 1}


@pytest.mark.parametrize("cells", [["a", None], [*map(str, range(100))], [{"b": 1}, None]])
def test_columns_of_arrow_are_read_whatever_is_in_the_dictionaries_of_their_chunks(cells):
    """Arrow unifies no dictionaries with nulls, nor ones with more levels than the type of places numbers."""
    pa = pytest.importorskip("pyarrow")
    more = [f"{cell} and more" if isinstance(cell, str) else cell for cell in cells]
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array([*range(len(each)), None], pa.int8()), pa.array(each))
        for each in (cells, more)
    ]
    for column in (pa.chunked_array(chunks), pa.chunked_array([pa.array(cells), pa.array(more)])):
        frame = pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(column)})
        assert frame_column(frame, 0).tolist() == column.to_pylist()


def test_a_column_is_read_once_within_a_fit_and_anew_in_the_next():
    frame = pd.DataFrame({"a": ["x", "y"] * 500, "b": ["y", "y"] * 500}, dtype=object)
    for cell in ("x", "z"):
        frame.loc[0, "a"] = cell
        with columns_read_once():
            first = read_column(frame, 0)
            assert read_column(frame, 0) is first
            assert read_column(frame, 1) is not first
            assert read_column(frame.copy(), 0) is not first
        assert mapped(lambda cells: cells, first)[:2].tolist() == [cell, "y"]
    assert read_column(frame, 0) is not first
