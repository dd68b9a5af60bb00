"""Read tables cell by cell.

numpy, pandas and polars choose one type for a whole column or table: one gap turns integers into floats, one
fraction turns a list of lists into floats, one text turns everything into text. Then one record changes how
all others are read, and no guarantee holds. So lists and frames are read as objects, each cell as it is, and
so is whatever else has no type of its own.

>>> from collections import deque
>>> as_cells(deque([2**53 + 1, 0.5])).tolist() == [2**53 + 1, 0.5]
True
"""

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping
from decimal import ROUND_FLOOR, Decimal
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DATES_AS_DAYS",
    "as_cells",
    "cells_of",
    "column_type",
    "counts_by_key",
    "floor_of",
    "frame_column",
    "holds_times",
    "is_frame",
    "is_missing",
    "is_number",
    "is_row",
    "object_array",
    "text_of",
    "times_as_numbers",
    "unread_times",
]

NOT_A_TABLE = (
    "Expected 2D array, got {}D array instead. Reshape your data either using array.reshape(-1, 1) if your"
    " data has a single feature or array.reshape(1, -1) if it contains a single sample."
)

#: What to do about columns of dates, and of durations.
DATES_AS_DAYS = (
    "give days, (d - pd.Timestamp('1970-01-01')).dt.days, with domain=IntegerRange(0, 40_000), and turn what"
    " comes out back with pd.to_datetime(v, unit='D')"
)
_SECONDS = "give seconds, d.dt.total_seconds()"

_TYPED = ("dtype", "__array__", "__array_interface__", "__array_struct__")
_ARROW = ("__arrow_c_array__", "__arrow_c_stream__", "__dataframe__")


def is_missing(value: Any) -> bool:
    """Return True for None, NaN and pandas' missing values."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def text_of(value: Any) -> str:
    """Return the text of a cell, empty if it is missing.

    A whole float reads like the integer: a column of integers turns into floats as soon as one other record
    has a gap, and no cell's text may depend on that. What has no text has that of its type. The text of bytes
    is their literal, which is read by `repr`: of `str`, `python -b` warns.
    """
    if is_missing(value):
        return ""
    try:
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, (bytes, bytearray)):
            return repr(value)
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value) if whole else value).strip()
    except Exception:  # a cell of any kind may do anything when asked for its text
        return f"<{type(value).__name__}>"


def is_number(cell: Any) -> bool:
    """Return True for a real number: of Python, of numpy, a fraction or a decimal.

    What could be turned into one is none: a complex number would lose a part, and text, bytes or an array
    that are read as a number are not what was declared. To numpy a duration is an integer.
    """
    real = isinstance(cell, (float, int, np.floating, np.integer, np.bool_, Decimal, Real))
    return real and not isinstance(cell, np.timedelta64)


def floor_of(cell: Any) -> tuple[Any, bool]:
    """Return a number rounded down, and whether it was whole; exactly, so that no part is too small to see.

    Raises
    ------
    Exception
        If it is no finite number, or raises what it likes when it is asked.
    """
    if not is_number(cell):
        raise TypeError("no number")
    if isinstance(cell, Decimal) and cell.is_finite():
        whole = cell.to_integral_value(rounding=ROUND_FLOOR)  # no integer: that might fill the memory
        return whole, whole == cell
    if isinstance(cell, Rational):
        numerator, denominator = cell.numerator, cell.denominator
    else:
        floating = cell if isinstance(cell, np.floating) else float(cell)
        numerator, denominator = floating.as_integer_ratio()
    floor, rest = divmod(int(numerator), int(denominator))
    return floor, rest == 0


def is_frame(X: Any) -> bool:
    """Return True for a data frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def frame_column(X: Any, position: int) -> NDArray[Any]:
    """Return one column of a data frame: as numbers where its type is numpy's, else as objects."""
    return _column(X.iloc[:, position] if hasattr(X, "iloc") else X[X.columns[position]])


def column_type(X: Any, position: int) -> Any:
    """Return the type of one column of a data frame, as pandas or polars has it."""
    return X.dtypes.iloc[position] if hasattr(X, "iloc") else X.dtypes[position]


def holds_times(dtype: Any) -> bool:
    """Return whether a column type of numpy, pandas or polars is of dates, times or durations.

    Lists of these are integers, other objects, or errors that quote a value, as value and unit have it.
    """
    temporal = getattr(dtype, "is_temporal", None)
    return getattr(dtype, "kind", "") in ("m", "M") or (callable(temporal) and bool(temporal()))


def times_as_numbers(dtype: Any) -> str:
    """Return what to give in place of a column of this type, which holds times; nothing else counts."""
    durations = getattr(dtype, "kind", "") == "m" or "uration" in str(dtype)
    return f"{dtype}: {_SECONDS if durations else DATES_AS_DAYS}"


def unread_times(X: Any, position: int) -> Any:
    """Return the type of a data frame's column if it is of times that `frame_column` makes no numbers of.

    Of pandas, that is; of polars, times are read as integers. None for any other column.
    """
    unread = is_frame(X) and hasattr(X, "iloc") and holds_times(column_type(X, position))
    return column_type(X, position) if unread else None


def as_cells(values: Any) -> NDArray[Any]:
    """Return values as an array: of their own type if they have one, else each as it is.

    Parameters
    ----------
    values : array-like
        An array or a series has a type of its own, which counts as public. Anything else that has a length
        and items, such as a list or a deque, has none: numpy would choose one by all values.

    Returns
    -------
    ndarray
        Of objects, each as it is, unless the type of `values` is numpy's.

    Raises
    ------
    TypeError
        If it is a masked array, whose masked values numpy would count, or a table or array of Arrow, whose
        gaps would choose the type.
    """
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("a masked array is not supported: fill it, such as by .filled(np.nan), first")
    if _is_listed(values):
        return object_array(list(values))
    if not is_frame(values) and (hasattr(values, "isna") or hasattr(values, "to_physical")):
        return _column(values)
    if not is_frame(values) and any(hasattr(values, name) for name in _ARROW):
        raise TypeError(f"{type(values).__name__} is not supported: turn it into pandas or polars first")
    return np.asarray(values)


def cells_of(X: Any) -> NDArray[Any]:
    """Return a table that is no data frame as an array: a numpy array as it is, lists cell by cell.

    Raises
    ------
    ValueError
        If it is not a table: not rows of cells, or rows of unequal lengths.
    TypeError
        If it holds dates, times or durations by its type, or `as_cells` refuses it.
    """
    if _is_listed(X):
        rows = list(X)
        if not rows or not all(map(is_row, rows)):
            raise ValueError(NOT_A_TABLE.format(1))
        rows = [list(row) for row in rows]
        if len({len(row) for row in rows}) != 1:
            raise ValueError("rows of X must be equally long")
        return object_array([cell for row in rows for cell in row]).reshape(len(rows), len(rows[0]))
    array = as_cells(X)
    if array.ndim != 2:
        raise ValueError(NOT_A_TABLE.format(array.ndim))
    if holds_times(array.dtype):
        raise TypeError(f"X must hold text, bytes or numbers, got dtype {times_as_numbers(array.dtype)}")
    return array if array.dtype.kind in "iufbc" else array.astype(object)


def counts_by_key(published: Iterable[tuple[Hashable, int]]) -> dict[Hashable, int]:
    """Return a dict of released keys: "a" and b"a" hash alike, and `python -bb` refuses to compare them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BytesWarning)
        return dict(published)


def is_row(cell: Any) -> bool:
    """Return whether a cell is itself a row of cells: a list or the like, or an array of one axis."""
    return _is_listed(cell) or (isinstance(cell, np.ndarray) and cell.ndim == 1)


def object_array(cells: list[Any]) -> NDArray[Any]:
    """Return a one-dimensional array that holds the cells as they are."""
    # Not by assigning the list, in which numpy would look for further axes.
    return np.fromiter(cells, dtype=object, count=len(cells))


def _is_listed(values: Any) -> bool:
    """Return whether these are values in a row, as in a list, that have no type in common."""
    if isinstance(values, (list, tuple)):
        return True
    if isinstance(values, (str, bytes, bytearray, Mapping)) or not hasattr(values, "__getitem__"):
        return False
    typed = any(hasattr(values, name) for name in (*_TYPED, *_ARROW))
    return hasattr(values, "__len__") and not typed and not is_frame(values)


def _column(column: Any) -> NDArray[Any]:
    """Return a series of pandas or polars, or an array or index of pandas, as `frame_column` does."""
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column)
    named = getattr(column, "cat", column)
    if hasattr(named, "categories") and hasattr(named, "codes"):
        categories = named.categories.tolist()
        return object_array([None if code < 0 else categories[code] for code in named.codes.tolist()])
    if hasattr(column, "isna"):
        gaps = column.isna().tolist()
        cells = getattr(column, "array", column)
        return object_array([None if gap else cell for cell, gap in zip(cells, gaps, strict=True)])
    if column.dtype.is_temporal():
        column = column.to_physical()  # some times that polars can hold, Python cannot
    return object_array(column.to_list())
