"""Cells read one by one: what holds them, and what the others are, changes none of them."""

import math
from array import array
from collections import UserList, deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import Bits, DomainError, Floats, Grid, Hashed, IntegerRange, LargeIntegerRange
from dplearn.domains.cells import (
    as_cells,
    cells_of,
    column_type,
    floor_of,
    frame_column,
    is_number,
    object_array,
)
from dplearn.domains.keys import read_keys

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=100)
BIG = 2**53
NUMBERS = [
    Floats(),
    Floats(missing=True),
    IntegerRange(0, 100),
    IntegerRange(0, 100, missing=True),
    Grid(0, 100, missing=True),
    IntegerRange(0, 100, outside="clip"),
    Grid(0, 100, size=101, outside="clip"),
    LargeIntegerRange(-(2**80), 2**80),
    Bits(),
    Bits(None),
]


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


class Telltale(float):
    """A number that quotes itself when it is asked for its value."""

    def __float__(self):
        raise KeyError("secret 42")

    __str__ = __int__ = is_integer = as_integer_ratio = __float__


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


@pytest.mark.parametrize(
    "series",
    [
        lambda last: pd.Series(pd.array([BIG + 1, last], dtype="Int64")),
        lambda last: pd.array([BIG + 1, last], dtype="Int64"),
        lambda last: pd.Series(pd.Categorical([BIG + 1, last], categories=[1, BIG + 1])),
        lambda last: pd.Categorical([BIG + 1, last], categories=[1, BIG + 1]),
        lambda last: pd.CategoricalIndex([BIG + 1, last], categories=[1, BIG + 1]),
        lambda last: pl.Series([BIG + 1, last], dtype=pl.Int64),
    ],
    ids=["series", "array", "categorical series", "categorical", "categorical index", "polars"],
)
def test_a_gap_in_a_column_of_integers_leaves_the_others_integers(series):
    assert as_cells(series(1)).tolist() == [BIG + 1, 1]
    assert as_cells(series(None)).tolist() == [BIG + 1, None]


def test_an_array_keeps_its_type():
    for values in (np.array([1, 2], dtype=np.int8), array("b", [1, 2]), pd.Series([1.5]), pl.Series([True])):
        assert as_cells(values).tolist() == list(values)
    assert as_cells(np.array([1, 2], dtype=np.int8)).dtype == np.int8


@pytest.mark.parametrize("read", [as_cells, cells_of], ids=["values", "table"])
def test_masked_arrays_are_refused_whatever_is_masked(read):
    for mask in ([[0, 0]], [[0, 1]]):
        with pytest.raises(TypeError, match=r"masked array is not supported: fill it"):
            read(np.ma.array([[1.0, 99.0]], mask=mask))


@pytest.mark.parametrize("read", [as_cells, cells_of], ids=["values", "table"])
def test_tables_of_arrow_are_refused_without_being_read(read):
    with pytest.raises(TypeError, match=r"Arrow is not supported: turn it into pandas or polars"):
        read(Arrow([[1, 2]]))


@pytest.mark.parametrize("kind", ["M8[ns]", "M8[s]", "M8[D]", "m8[ns]", "m8[D]"])
def test_a_table_of_times_is_refused_by_its_type(kind):
    with pytest.raises(TypeError, match=r"X must hold text, bytes or numbers, got dtype"):
        cells_of(np.zeros((2, 1), dtype=kind))


@pytest.mark.parametrize(
    "X",
    [[1, 2], [], deque(), deque([{}]), "ab", {"a": 1}, {1}, 5, None, Rows(["ab"])],
    ids=lambda X: type(X).__name__,
)
def test_what_is_no_table_is_refused(X):
    with pytest.raises(ValueError, match="Expected 2D array"):
        cells_of(X)


def test_objects_stay_as_they_are_whatever_axes_numpy_finds_in_them():
    for found in ([[1], [2]], [np.array([1]), np.array([2])], [UserList([1]), 5], [np.array(5.0)]):
        assert all(mine is given for mine, given in zip(object_array(found).tolist(), found, strict=True))


@pytest.mark.parametrize(
    "cell",
    [
        np.complex64(2 + 3j),
        np.complex128(2),
        2j,
        bytearray(b"12"),
        memoryview(b"12"),
        array("b", b"12"),
        np.array(4.0),
        np.array([4.0]),
        np.timedelta64(5, "D"),
        np.timedelta64(5, "ns"),
        np.datetime64("2020"),
        pd.Timedelta(5),
        Telltale(5),
        type("Index", (), {"__index__": lambda self: 3, "__float__": lambda self: 3.0})(),
        "5",
        b"5",
        [5],
        np.void(b"5"),
        np.ma.masked,
        Decimal("sNaN"),
        Decimal("Infinity"),
        np.longdouble("inf"),
    ],
    ids=lambda cell: f"{type(cell).__module__}.{type(cell).__name__}",
)
@pytest.mark.parametrize("domain", NUMBERS, ids=repr)
def test_what_is_no_number_is_refused_in_silence_by_every_domain_of_numbers(domain, cell):
    for values in ([1, cell], object_array([1, cell])):
        with pytest.raises(DomainError) as caught:  # and warnings are errors
            domain.encode(as_cells(values))
        assert caught.value.__context__ is None
        assert "42" not in str(caught.value)


def test_numbers_are_told_by_their_type():
    for number in (
        1,
        1.5,
        True,
        np.bool_(1),
        np.int8(1),
        np.float16(1),
        np.longdouble(1),
        Decimal(1),
        Fraction(1, 3),
    ):
        assert is_number(number)
    for other in (None, "1", b"1", 1j, np.complex64(1), np.timedelta64(1, "D"), np.array(1), pd.NA, object()):
        assert not is_number(other)


@pytest.mark.parametrize(
    "cell",
    [
        Fraction(1, 10**400),
        Decimal("1e-999999"),
        Fraction(10**400 + 1, 10**400),
        Decimal(1) + Decimal("1e-20"),
        -Fraction(1, 10**400),
        Decimal("-1e-999999"),
        np.nextafter(np.longdouble(1), np.longdouble(2)),
    ],
    ids=["fraction", "decimal", "above 1", "decimal above 1", "below 0", "decimal below 0", "long double"],
)
@pytest.mark.parametrize("domain", [IntegerRange(0, 100), Bits(None)], ids=["integers", "bits"])
def test_the_least_part_of_a_whole_number_is_too_much(domain, cell):
    with pytest.raises(DomainError):
        domain.encode(object_array([1, cell]))


def test_fractions_and_decimals_are_rounded_down_exactly_where_a_range_clips():
    below = [
        Fraction(10**400 - 1, 10**400),
        -Fraction(1, 10**400),
        Decimal("1e-999999"),
        Decimal("-1e-999999"),
    ]
    far = [Decimal("1e999999"), Decimal("-1e999999"), np.longdouble("1e4000"), Fraction(10**400, 3)]
    codes = IntegerRange(-5, 5, outside="clip").encode(object_array([*below, *far])) - 5.0
    assert codes.tolist() == [0, -1, 0, -1, 5, -5, 5, 5]


@given(
    st.one_of(st.integers(), st.fractions(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
)
@repeatable
def test_a_number_is_rounded_down_as_its_fraction_is(number):
    exact = Fraction(number)
    assert floor_of(number) == (math.floor(exact), exact.denominator == 1)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
@repeatable
def test_a_decimal_is_rounded_down_as_its_fraction_is(number):
    exact = Fraction(number)
    assert floor_of(number) == (math.floor(exact), exact.denominator == 1)


@pytest.mark.parametrize(
    "cell", [math.nan, math.inf, -math.inf, Decimal("NaN"), "5", None, Telltale(5)], ids=type
)
def test_what_has_no_floor_raises(cell):
    with pytest.raises(Exception, match=r"."):
        floor_of(cell)


def test_a_duration_is_no_key():
    with pytest.raises(DomainError, match="a key is of another type"):
        read_keys([1, np.timedelta64(5, "D")])
    assert read_keys([np.timedelta64("NaT", "D")]) == [None]


def test_a_number_that_raises_when_it_is_asked_has_a_code_where_any_kind_is_declared():
    assert int(Hashed(8).encode(object_array([Telltale(5)]))[0]) < 8


def test_a_lazy_frame_is_refused_with_advice():
    with pytest.raises(TypeError, match="a LazyFrame is not supported: collect it"):
        cells_of(pl.LazyFrame({"a": [1]}))


@pytest.mark.parametrize("kind", [float, "float32", int, bool, object])
def test_a_sparse_column_of_pandas_is_read_as_a_column_of_its_cells(kind):
    dense = pd.Series([0, 0, 1, 0], dtype=kind)
    frame = pd.DataFrame({"a": dense.astype(pd.SparseDtype(kind, dense.iloc[0]))})
    assert column_type(frame, 0) == dense.dtype
    found = frame_column(frame, 0)
    assert (found.dtype, found.tolist()) == (dense.dtype, dense.tolist())


TYPED = [
    ("str", ["a", None, "b"]),
    ("string[python]", ["a", None, ""]),
    ("string[pyarrow]", ["a", None]),
    ("large_string[pyarrow]", ["a", None]),
    ("Int8", [1, None, -128]),
    ("UInt64", [2**64 - 1, None]),
    ("boolean", [True, None, False]),
    ("int64[pyarrow]", [2**62 + 1, None]),
    ("bool[pyarrow]", [False, None]),
    ("Float32", [1.5, None]),
    ("double[pyarrow]", [1.5, None]),
    ("category", ["b", None, "a"]),
]


@pytest.mark.parametrize(("dtype", "cells"), TYPED, ids=lambda each: each if isinstance(each, str) else "")
def test_cells_of_typed_columns_are_those_that_were_given(dtype, cells):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    column = pd.Series(cells, dtype=dtype)
    for values in (column, pd.Index(column), column.array):
        found = as_cells(values).tolist()
        assert found == cells
        assert [type(cell) is bool for cell in found] == [type(cell) is bool for cell in cells]
    assert frame_column(pd.DataFrame({"x": column}), 0).tolist() == cells
