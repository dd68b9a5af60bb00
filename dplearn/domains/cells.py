"""Conversion of tables and columns into arrays, cell by cell.

numpy, pandas and polars choose one type for a whole column or table, so one missing value, fraction or text
would change how all others are read, and no guarantee would hold. Therefore lists, data frames and other
containers without a declared type are read into object arrays of unchanged cells.
"""

import math
import re
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from functools import partial
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains.base import Domain
from dplearn.domains.factors import Cells, Factor, Gapped, factor, repeats

Column = NDArray[Any] | Factor | Gapped

NOT_A_TABLE = (
    "Expected 2D array, got {}D array instead. Reshape your data either using array.reshape(-1, 1) if your"
    " data has a single feature or array.reshape(1, -1) if it contains a single sample."
)

#: Advice on columns of dates, and of durations.
DATES_AS_DAYS = (
    "give days, (d - pd.Timestamp('1970-01-01')).dt.days, with domain=IntegerRange(0, 40_000), and turn what"
    " comes out back with pd.to_datetime(v, unit='D')"
)
#: Advice on a lazy frame of polars.
LAZY = (
    "a LazyFrame is not supported: collect it by .collect(); or, for learners of tables in parts, pass"
    " lambda: frame.collect_batches(maintain_order=True)"
)
_SECONDS = "give seconds, d.dt.total_seconds()"

_WIDEST = 8  # bytes of a number that is read without objects
_TYPED = ("dtype", "__array__", "__array_interface__", "__array_struct__")
_TEXTS = re.compile(r"[<>]?u\d|\|?s\d|(large_)?(str(?!uct)|binary)|bytes|cat|enum|dictionary")
_DATES = re.compile(r"Date(time)?")  # of polars
_WHOLE = re.compile(r"[iub]|U?Int\d+|Boolean")  # kinds of numpy and pandas, names of polars
#: Packages whose objects hold a table, and how to get it.
_HOLDERS = {"narwhals": "what it wraps, X.to_native()", "xarray": "X.to_numpy(), or X.to_dataframe()"}
_ARROW = ("__arrow_c_array__", "__arrow_c_stream__", "__dataframe__")


def is_missing(value: Any) -> bool:
    """Return True for None, NaN and pandas' missing values."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_qnan()
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def text_of(value: Any) -> str:
    """Return the text of a cell, that of the integer for a whole float, empty for a missing value."""
    # A column of integers becomes one of floats if another record has a missing value. An object whose `str`
    # fails has the text of its type. The text of bytes is their `repr`: `python -b` warns of their `str`.
    if is_missing(value):
        return ""
    try:
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, (bytes, bytearray)):
            return repr(value)
        whole = isinstance(value, (float, np.floating)) and value.is_integer()
        return str(int(value) if whole else value).strip()
    except Exception:  # the `str` of an arbitrary object may raise any error
        return f"<{type(value).__name__}>"


def is_number(cell: Any) -> bool:
    """Return True for a real number of Python or numpy, including Fraction and Decimal; not for durations."""
    # Objects that could be converted are not accepted: a complex number would lose its imaginary part.
    real = isinstance(cell, (float, int, np.floating, np.integer, np.bool_, Decimal, Real))
    return real and not isinstance(cell, np.timedelta64)


def floor_of(cell: Any) -> tuple[Any, bool]:
    """Return a number rounded down, and True if it was whole, in exact arithmetic."""
    if not is_number(cell):
        raise TypeError("no number")
    if isinstance(cell, Decimal) and cell.is_finite():
        whole = cell.to_integral_value(rounding=ROUND_FLOOR)  # a Decimal: an int might exceed the memory
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
    return hasattr(X, "shape") and hasattr(X, "columns") and hasattr(X, "dtypes")


def frame_column(X: Any, position: int) -> NDArray[Any]:
    """Return one column of a data frame, as an array of the numpy dtype of its numbers, else of objects."""
    return _column(_series(X, position))


def read_column(X: Any, position: int) -> Column:
    """Return one column of a table: an array, `Gapped` numbers, or, in `columns_read_once`, a `Factor` of its
    cells.
    """
    kept = _KEPT.get() or _Kept()
    if kept.table is not X:
        kept.table, kept.factors = X, {}
    if position in kept.factors:
        return kept.factors[position]
    read = _read(_series(X, position))
    if isinstance(read, np.ndarray) and read.dtype.kind == "O" and repeats(read):
        read = factor(read)
    if isinstance(read, Factor):
        kept.factors[position] = read
    return read


def mapped(function: Cells, column: Column) -> NDArray[Any]:
    """Return the values of a function for the cells of a column, each of its own cell alone."""
    return function(column) if isinstance(column, np.ndarray) else column.map(function)


def as_factor(column: Column) -> Factor:
    """Return a column as a factor."""
    return column if isinstance(column, Factor) else factor(mapped(_as_objects, column))


def factor_of(values: Any) -> Factor:
    """Return a list, an array, or a series of pandas or polars, as a factor."""
    return as_factor(_read(values) if _is_series(values) else as_cells(values))


@dataclass(repr=False, eq=False)
class _Kept:
    """The factors of the table that was read last."""

    table: Any = None  # private
    factors: dict[int, Factor] = field(default_factory=dict)  # private


_KEPT: ContextVar[_Kept | None] = ContextVar("kept", default=None)


@contextmanager
def columns_read_once() -> Iterator[None]:
    """Keep, in a context, the factors of the table that was read last."""
    token = _KEPT.set(_Kept())
    try:
        yield
    finally:
        _KEPT.reset(token)


def _series(X: Any, position: int) -> Any:
    if isinstance(X, np.ndarray):
        return X[:, position]
    return X.iloc[:, position] if hasattr(X, "iloc") else X[X.columns[position]]


def _is_series(values: Any) -> bool:
    """Return True for a series of pandas or polars, and for an array or index of pandas."""
    return not is_frame(values) and (hasattr(values, "isna") or hasattr(values, "to_physical"))


def column_type(X: Any, position: int) -> Any:
    """Return the dtype of one column of a data frame of pandas or polars; of a sparse one, that of cells."""
    dtype = X.dtypes.iloc[position] if hasattr(X, "iloc") else X.dtypes[position]
    return dtype.subtype if _is_sparse(dtype) else dtype


def whole_columns(X: Any) -> tuple[bool, ...]:
    """Return for each column of a table whether its type is one of integers or booleans; no cell is read."""
    places = range(X.shape[1])
    types = [column_type(X, place) for place in places] if is_frame(X) else [X.dtype for _ in places]
    kinds = [getattr(dtype, "kind", "") or str(dtype) for dtype in types]
    return tuple(bool(_WHOLE.fullmatch(kind)) for kind in kinds)


def cell_type(dtype: Any) -> Any:
    """Return the type of the categories of a categorical type, of pandas or Arrow; else the type given."""
    # Categories of objects, which may be of several kinds, have the type object.
    arrow: Any = getattr(dtype, "pyarrow_dtype", None)
    if str(arrow).startswith("dictionary"):
        return type(dtype)(arrow.value_type)
    return getattr(getattr(dtype, "categories", None), "dtype", dtype)


def is_text(dtype: Any) -> bool:
    """Return True for a type of text, bytes or categories of numpy, pandas, Arrow or polars."""
    return bool(_TEXTS.match(str(dtype).lower()))


def holds_times(dtype: Any) -> bool:
    """Return True if a dtype of numpy, pandas or polars is of dates, times or durations."""
    # Lists of these hold integers or other objects, or raise errors that quote a value.
    temporal = getattr(dtype, "is_temporal", None)
    return getattr(dtype, "kind", "") in ("m", "M") or (callable(temporal) and bool(temporal()))


def holds_dates(dtype: Any) -> bool:
    """Return True for a dtype of numpy, pandas, Arrow or polars of dates, or of times of any date."""
    return getattr(dtype, "kind", "") == "M" or _DATES.fullmatch(str(dtype).partition("(")[0]) is not None


def times_as_numbers(dtype: Any, *, of_table: bool = False) -> str:
    """Return advice on a column of times, a text that depends on the column's dtype only."""
    durations = getattr(dtype, "kind", "") == "m" or "uration" in str(dtype)
    declare = "declare Dates(low, high) as its domain, or " if of_table and holds_dates(dtype) else ""
    return f"{dtype}: {declare}{_SECONDS if durations else DATES_AS_DAYS}"


def in_units(dtype: Any) -> str:
    """Return advice on times where no domain need be declared, a text that depends on their dtype only."""
    of_pandas = hasattr(dtype, "kind")
    if getattr(dtype, "kind", "") == "m" or "uration" in str(dtype):
        return f"{dtype}: {_SECONDS}"
    if not of_pandas and str(dtype) == "Time":
        return f"{dtype}: give hours, such as d.dt.hour()"
    days = "(d - pd.Timestamp('1970-01-01')).dt.days" if of_pandas else "d.dt.epoch('d')"
    return f"{dtype}: give days, {days}, and parts such as the weekday or the hour as further columns"


def unread_times(X: Any, position: int) -> Any:
    """Return the dtype of a data frame's column of times if `frame_column` does not convert it; else None."""
    # `frame_column` converts polars' times of day and durations into integers, but not pandas'.
    dtype = column_type(X, position) if is_frame(X) else None
    unread = holds_dates(dtype) or (holds_times(dtype) and hasattr(X, "iloc"))
    return dtype if unread else None


def as_cells(values: Any) -> NDArray[Any]:
    """Return values as an array of the dtype that they declare, which is public, else of objects."""
    # A list or a deque has no dtype: numpy would choose one from all values.
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("a masked array is not supported: fill it, such as by .filled(np.nan), first")
    if _is_listed(values):
        return object_array(list(values))
    if _is_series(values):
        return _column(values)
    if type(values).__name__ == "LazyFrame":
        raise TypeError(LAZY)
    if (package := type(values).__module__.partition(".")[0]) in _HOLDERS:
        kind = f"{type(values).__name__} of {package}"
        raise TypeError(f"a {kind} is not supported: give {_HOLDERS[package]}")
    if not is_frame(values) and any(hasattr(values, name) for name in _ARROW):
        raise TypeError(f"{type(values).__name__} is not supported: turn it into pandas or polars first")
    return np.asarray(values)


def exact_cells(values: Any) -> NDArray[Any]:
    """Return values as `as_cells` does, but long doubles, which float64 would round, as objects."""
    array = as_cells(values)
    return array.astype(object) if array.dtype.kind == "f" and array.itemsize > _WIDEST else array


def cells_of(X: Any, *, dates: bool = False) -> NDArray[Any]:
    """Return a table that is no data frame as a two-dimensional array, read cell by cell."""
    if _is_listed(X):
        rows = list(X)
        if not rows or not all(map(is_row, rows)):
            raise ValueError(NOT_A_TABLE.format(1))
        rows = [list(row) for row in rows]
        if len({len(row) for row in rows}) != 1:
            raise ValueError("rows of X must be equally long")
        return object_array([cell for row in rows for cell in row]).reshape(len(rows), len(rows[0]))
    if X is None:
        raise TypeError("X must be a table, got None")
    array = as_cells(X)
    if array.ndim != 2:
        raise ValueError(NOT_A_TABLE.format(array.ndim))
    if array.dtype.kind == "M" and dates:
        return object_array(list(array.ravel())).reshape(array.shape)
    if holds_times(array.dtype):
        raise TypeError(
            f"X must hold text, bytes or numbers, got dtype {times_as_numbers(array.dtype, of_table=True)}"
        )
    return array if array.dtype.kind in "iufbc" else array.astype(object)


def counts_by_key(published: Iterable[tuple[Hashable, int]]) -> dict[Hashable, int]:
    """Return a dict of released keys, without the warnings of `python -b` about keys such as "a" and b"a"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BytesWarning)
        return dict(published)


def is_row(cell: Any) -> bool:
    """Return True if a cell is itself a row of cells: a list or similar, or a one-dimensional array."""
    return _is_listed(cell) or (isinstance(cell, np.ndarray) and cell.ndim == 1)


def object_array(cells: list[Any]) -> NDArray[Any]:
    """Return a one-dimensional object array of the unchanged cells."""
    # `fromiter` does not look for further axes inside the cells, as an assignment of the list would.
    return np.fromiter(cells, dtype=object, count=len(cells))


def _is_listed(values: Any) -> bool:
    """Return True for a list or similar container without a common dtype."""
    if isinstance(values, (list, tuple)):
        return True
    if isinstance(values, (str, bytes, bytearray, Mapping)) or not hasattr(values, "__getitem__"):
        return False
    typed = any(hasattr(values, name) for name in (*_TYPED, *_ARROW))
    return hasattr(values, "__len__") and not typed and not is_frame(values)


def _is_sparse(dtype: Any) -> bool:
    """Return True for a type of pandas' sparse columns, whose cells have a type of numpy."""
    return type(dtype).__name__ == "SparseDtype"


def _column(column: Any) -> NDArray[Any]:
    """Return a series of pandas or polars, or an array or index of pandas, as `frame_column` does."""
    read = _read(column)
    return read if isinstance(read, np.ndarray) else mapped(_as_objects, read)


def _as_objects(cells: NDArray[Any]) -> NDArray[Any]:
    return cells.astype(object, copy=False)


def _read(column: Any) -> Column:
    """Return a series of pandas or polars, or an array or index of pandas, as the type of column suggests."""
    if isinstance(column.dtype, np.dtype) or _is_sparse(column.dtype):
        return np.asarray(column)
    return _read_pandas(column) if hasattr(column, "isna") else _read_polars(column)


def _read_pandas(column: Any) -> Column:
    plain: Any = getattr(column.dtype, "numpy_dtype", None)  # of nullable columns, and those of Arrow
    kind = getattr(plain, "kind", "")
    if holds_dates(column.dtype):
        return _read_dates(column)
    if kind == "f":
        return np.asarray(column.to_numpy(dtype=plain, na_value=np.nan))  # missing values are NaN
    if kind and kind in "iub":
        gaps, numbers = np.asarray(column.isna()), column.to_numpy(dtype=plain, na_value=plain.type(0))
        return Gapped(numbers, gaps) if gaps.any() else np.asarray(numbers)
    if is_text(column.dtype):
        codes, levels = _factorized(column)
        return Factor.of(codes, [*(None if is_missing(level) else level for level in levels), None])
    gaps = column.isna().tolist()
    cells = getattr(column, "array", column)
    return object_array([None if gap else cell for cell, gap in zip(cells, gaps, strict=True)])


def _read_dates(column: Any) -> NDArray[Any]:
    """Return a series of pandas of dates or times, those with a zone in UTC."""
    arrow = getattr(column.dtype, "pyarrow_dtype", None)
    if arrow is None:
        return np.asarray(column.to_numpy(dtype=f"datetime64[{column.dtype.unit}]"))
    array = getattr(column, "array", column).__arrow_array__()
    return np.asarray((array.cast("timestamp[ms]") if str(arrow)[:4] == "date" else array).to_numpy())


def _factorized(column: Any) -> tuple[NDArray[Any], list[Any]]:
    """Return the places of the cells of a series of pandas among its levels, -1 for a gap; and the levels."""
    if not hasattr(getattr(column.dtype, "pyarrow_dtype", None), "index_type"):
        codes, levels = column.factorize()
        return codes, levels.tolist()
    array = getattr(column, "array", column).__arrow_array__()
    try:
        chunks = [array.unify_dictionaries().combine_chunks()]
    except (ValueError, NotImplementedError):  # nulls in dictionaries, or many levels
        chunks = array.chunks
    found, levels = [], []
    for chunk in chunks:
        places = chunk.indices.cast("int64").fill_null(-1).to_numpy()
        found.append(np.where(places < 0, -1, places + len(levels)) if levels else places)
        levels += chunk.dictionary.to_pylist()
    return found[0] if len(found) == 1 else np.concatenate(found), levels


def _read_polars(column: Any) -> Column:
    if is_text(column.dtype):
        if not len(column):
            return np.zeros(0, dtype=object)
        levels = column.unique(maintain_order=True)
        places = np.arange(len(levels), dtype=np.int32)
        return Factor.of(column.replace_strict(levels, places).to_numpy(), levels.to_list())
    if holds_dates(column.dtype):
        return np.asarray(column.to_numpy())
    if column.dtype.is_temporal():
        column = column.to_physical()  # Python's types cannot represent all times of polars
    kind = column.dtype  # numpy has no integers of 128 bits
    if kind.is_float():
        return np.asarray(column.to_numpy())  # missing values are NaN
    if not kind.is_integer() or "128" in str(kind):
        return object_array(column.to_list())
    if not column.null_count():
        return np.asarray(column.to_numpy())
    return Gapped(column.fill_null(0).to_numpy(), column.is_null().to_numpy())


_LARGEST = sys.float_info.max
_PLAIN = {int, float, bool}


def as_numbers(values: Any, domain: Domain, missing: bool = False) -> NDArray[Any]:
    """Return cells as numbers without infinities, and without NaN unless `missing`; `domain` refuses."""
    array = exact_cells(values)
    if array.dtype.kind == "O":
        with suppress(Exception):  # an arbitrary cell may raise any error; objects are refused below
            array = _as_floats(array, partial(_as_float, missing=missing), missing)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and not _is_finite(array, missing)):
        raise domain.refuse()
    return array


def any_as_numbers(values: Any) -> NDArray[Any]:
    """Return cells of any kind as integers, or floats without infinities; NaN for text or a missing value."""
    array = exact_cells(values)
    if array.dtype.kind in "iub":
        return array.astype(np.uint8) if array.dtype.kind == "b" else array
    if array.dtype.kind == "O":
        array = _as_floats(array, any_as_number, missing=True)
    if array.dtype.kind != "f":
        return np.full(array.shape, np.nan)
    return np.clip(array.astype(np.float64, copy=False), -_LARGEST, _LARGEST)


def any_as_number(cell: Any) -> float:
    """Return a cell of any kind as `any_as_numbers` does in an array of objects."""
    try:
        number = _as_float(cell, missing=True)
    except Exception:  # an arbitrary cell may raise any error
        return math.nan
    return math.copysign(_LARGEST, number) if math.isinf(number) else number


def _as_floats(array: NDArray[Any], read: Callable[[Any], float], missing: bool) -> NDArray[np.float64]:
    """Return cells as floats; those that are all Python's numbers, or None, at once, with the same result."""
    cells = array.ravel().tolist()
    if set(map(type, cells)) <= (_PLAIN | {type(None)} if missing else _PLAIN):
        with suppress(OverflowError):  # of an integer above all floats
            return np.array(cells, dtype=np.float64).reshape(array.shape)
    return np.array([read(cell) for cell in cells], dtype=np.float64).reshape(array.shape)


def _as_float(cell: Any, missing: bool) -> float:
    if missing and is_missing(cell):
        return math.nan
    if not is_number(cell):
        raise TypeError("no number; text is not converted")
    try:
        number = float(cell)
    except OverflowError:
        number = math.inf if cell > 0 else -math.inf
    if math.isinf(number) and cell != number:
        return math.copysign(_LARGEST, number)  # a finite number above the largest float
    return number


def _is_finite(array: NDArray[Any], missing: bool) -> bool:
    """Return True if no element is infinite nor, unless `missing`, NaN."""
    return not np.isinf(array).any() if missing else bool(np.isfinite(array).all())
