"""Rows of tables, selected by number, so that the result, including its types, depends on no other row.

In pandas `frame[places]` selects columns if their names are integers, and `series[places]` selects all rows
with these labels. Here a place is always a row number, from 0. numpy chooses one type for a whole array,
scipy one index type for a whole matrix, and pandas one type for all row labels; a shard with these types
would depend on records of other shards. Rows that are cut out by `rows_of` keep only the types of columns,
which are public: the categories of a categorical column, and the type of an array.

>>> import pandas as pd
>>> ages = pd.Series([31, 42, 57], index=[7, 0, 7])
>>> count_of(ages), taken(ages, np.array([0])).tolist()
(3, [31])
>>> table = np.array([[1, 2], [3, "x"]], dtype=object)
>>> plain(rows_of(table, np.array([0]))).dtype.kind, plain(rows_of(table, np.array([1]))).dtype.kind
('i', 'O')
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import deepcopy
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse, sparray, vstack

from dplearn.domains.cells import is_frame

_TABLES = {(library, kind) for library in ("pandas", "polars") for kind in ("DataFrame", "Series")}


class Records(ABC):
    """Base class of user-defined records, to which oracles apply queries."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of records."""

    @abstractmethod
    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        """Return the records with the given row numbers, one for each, in that order."""


class Columns(Records):
    """Records held as encoded columns."""

    def __init__(self, columns: Sequence[NDArray[Any]]):
        self.columns = list(columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, places: NDArray[np.int64] | slice) -> Self:
        return type(self)([column[places] for column in self.columns])

    def blocks(self, length: int) -> Iterator[tuple[slice, list[NDArray[Any]]]]:
        """Yield the places of consecutive records, at most `length` at once, and the columns of these."""
        for start in range(0, len(self), length):
            here = slice(start, start + length)
            yield here, self[here].columns


class LabelledRows(Records):
    """Records that consist of a row and a label.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n, d)
        Private. The rows.
    y : ndarray or series of shape (n,)
        Private. The labels.

    Attributes
    ----------
    X, y : as given
        Private. A sparse matrix is converted to CSR.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.queries import LabelledRows
    >>> examples = LabelledRows(np.array([[31], [57]]), np.array(["well", "ill"]))
    >>> len(examples)
    2
    """

    def __init__(self, X: Any, y: Any):
        self.X, self.y = as_records("X", X), as_records("y", y)
        if count_of(self.X) != count_of(self.y):
            raise ValueError("X and y must have equal numbers of records")

    def __len__(self) -> int:
        return count_of(self.y)

    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        return type(self)(taken(self.X, places), taken(self.y, places))


def as_records(name: str, records: Any) -> Any:
    """Return records if their type supports access by row number, a sparse matrix as CSR.

    Lists are refused, since numpy would choose a type that depends on all records. Other types are refused,
    since their `__getitem__` may not select rows.
    """
    matrix: Any = records
    if issparse(records) and len(matrix.shape) == 2:
        return matrix.tocsr()
    odd = isinstance(
        records, (np.ma.MaskedArray, np.matrix)
    )  # masks would be lost; a matrix row has two axes
    rows = isinstance(records, np.ndarray) and records.ndim > 0 and not odd
    if not (rows or isinstance(records, Records) or _is_table(records)):
        raise TypeError(
            f"{name} must be a numpy array, a sparse matrix, a data frame or series of pandas or polars,"
            f" LabelledRows or other Records; got {type(records).__name__}"
        )
    return records


def count_of(records: Any) -> int:
    """Return the number of records."""
    return int(records.shape[0]) if hasattr(records, "shape") else len(records)


def shape_of(X: Any) -> tuple[int, int] | None:
    """Return the numbers of rows and columns without reading a value; None unless X is a table with some."""
    shape = getattr(X, "shape", None)
    if shape is None and isinstance(X, (list, tuple)) and X and isinstance(X[0], (list, tuple)):
        shape = len(X), len(X[0])
    if shape is None or len(shape) != 2 or not all(shape):
        return None
    return int(shape[0]), int(shape[1])


def taken(records: Any, places: NDArray[np.int64]) -> Any:
    """Return the records with the given row numbers, one for each."""
    part = records.iloc[places] if hasattr(records, "iloc") else records[places]
    if count_of(part) != len(places):
        raise TypeError("records must return one record for each requested row number")
    return part


def joined(parts: Sequence[Any]) -> Any:
    """Return the records of several parts, all of one type, as one table."""
    first = parts[0]
    if isinstance(first, LabelledRows):
        return LabelledRows(joined([each.X for each in parts]), joined([each.y for each in parts]))
    if isinstance(first, Columns):
        return Columns([joined(column) for column in zip(*(each.columns for each in parts), strict=True)])
    if issparse(first):
        return vstack(parts, format="csr")
    if hasattr(first, "iloc"):
        return sys.modules["pandas"].concat(parts, ignore_index=True)
    if _is_table(first):
        return sys.modules["polars"].concat(parts)
    return np.concatenate(parts)


def _is_table(records: Any) -> bool:
    """Return True for a frame or series of pandas or polars, and for subclasses of these."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(records).__mro__}
    return bool(kinds & _TABLES)


_SHORT = 1 << 31
_CANNOT_CHANGE = frozenset({type(None), bool, int, float, complex, str, bytes})
_VALUES = _CANNOT_CHANGE | {Decimal, Fraction, date, datetime, time, timedelta}
_VALUES_OF_PANDAS = ("NAType", "NaTType", "Timestamp", "Timedelta")


def check_index(name: str, column: Any, X: Any, of: str = "X") -> None:
    """Refuse a column of pandas whose index differs from that of a table: rows are paired by position.

    An index that only counts the rows may stand beside any other labels, which then say nothing about the
    order of the rows; but not beside its own labels in another order.
    """
    indexes: list[Any] = [getattr(each, "index", None) for each in (X, column)]
    one, two = indexes
    if not all(hasattr(each, "equals") for each in indexes) or len(one) != len(two) or one.equals(two):
        return
    labels = [each.map(repr).tolist() for each in indexes]  # alike in types such as int64 and Int64
    counts = [each == [repr(row) for row in range(len(each))] for each in labels]
    if labels[0] != labels[1] and (not any(counts) or sorted(labels[0]) == sorted(labels[1])):
        raise ValueError(
            f"{name} and {of} have different indexes, and their rows are paired by position: give"
            f" {name}.loc[{of}.index] if labels occur once, or {name}.to_numpy() if its order is that of {of}"
        )


def sliceable(X: Any) -> Any:
    """Return a table with access by row: a sparse matrix as CSR, any other table unchanged."""
    return X.tocsr() if hasattr(X, "tocsr") else X


def rows_of(X: Any, places: NDArray[np.int64]) -> Any:
    """Return a copy of some rows; it shares no memory with the table, except objects in cells."""
    if hasattr(X, "iloc"):
        rows = X.iloc[places].reset_index(drop=True)
        rows.attrs = {}  # what is said about the whole table
        return rows
    rows = X[places]
    if issparse(X):
        kind = np.int32 if max(rows.nnz, rows.shape[1]) < _SHORT else np.int64  # depends on these rows only
        plain_kind = csr_array if isinstance(rows, sparray) else csr_matrix  # never a subclass of these
        return plain_kind((rows.data, rows.indices.astype(kind), rows.indptr.astype(kind)), shape=rows.shape)
    return rows


def plain(rows: Any) -> Any:
    """Return an array of objects with the type that numpy infers from these rows alone.

    Any other table is returned unchanged, as are cells that numpy would convert to another shape, or numbers
    and missing values that it would convert to texts.
    """
    if is_frame(rows) or rows.dtype != object:
        return rows
    try:
        own = np.asarray(rows.tolist())
    except ValueError:  # cells that are sequences, of unequal lengths
        return rows
    # Numbers and missing values converted to texts would be taken for categories.
    mixed = own.dtype.kind in "US" and not all(isinstance(cell, (str, bytes)) for cell in rows.ravel())
    return own if own.shape == rows.shape and not mixed else rows


def own_cells(rows: Any) -> Any:
    """Return rows whose cells share no mutable object with other tables: such cells are deeply copied.

    A pandas frame is changed in place. The copy of a cell may raise any error.
    """
    if not is_frame(rows):
        return _own(rows) if rows.dtype == object else rows
    if not hasattr(rows, "iloc"):
        return _own_polars(rows)
    for place, dtype in enumerate(rows.dtypes):
        if _holds_objects(dtype):
            rows.isetitem(place, _own(rows.iloc[:, place].to_numpy()))
        elif _has_categories(dtype):
            rows.isetitem(place, _own_categories(rows.iloc[:, place].array))
    return rows


def check_values(rows: Any) -> Any:
    """Return public rows if their cells are plain values: numbers, texts, times, or missing.

    Other objects are refused: one that counts its uses in a class attribute, which no copy separates, would
    pass information from one teacher to another.
    """
    if is_frame(rows):
        kinds = list(zip(rows.columns, rows.dtypes, strict=True))
        columns = [name for name, kind in kinds if _holds_objects(kind)]
        cells = [cell for name in columns for cell in rows[name].to_list()]
        named = [kind.categories for _, kind in kinds if _has_categories(kind)]
        cells += [category for categories in named for category in categories.tolist()]
    else:
        cells = rows.ravel().tolist() if rows.dtype == object else []
    strange = {kind.__name__ for kind in set(map(type, cells)) if not _is_value(kind)}
    if strange:
        raise TypeError(f"X must hold numbers, texts and missing values, got {', '.join(sorted(strange))}")
    return rows


def _is_value(kind: type) -> bool:
    of_numpy = issubclass(kind, np.generic) and kind.__module__ == "numpy" and kind is not np.void
    of_pandas = kind.__name__ in _VALUES_OF_PANDAS and kind.__module__.partition(".")[0] == "pandas"
    return kind in _VALUES or of_numpy or of_pandas


def _holds_objects(kind: Any) -> bool:
    """Return True for columns of objects, including sparse ones of pandas."""
    return "object" in str(kind).lower()


def _has_categories(kind: Any) -> bool:
    """Return True for categorical columns of pandas; the categories of polars are texts."""
    return hasattr(getattr(kind, "categories", None), "tolist")


def _own_categories(column: Any) -> Any:
    """Return a categorical column with a copy of its categories, which all rows of a table would share."""
    own = column.categories.copy(deep=True)
    if own.dtype == object:
        own = type(own)(_own(own.to_numpy()), dtype=object, name=own.name)
    return type(column).from_codes(column.codes.copy(), dtype=type(column.dtype)(own, column.ordered))


def _own_polars(rows: Any) -> Any:
    """Return a frame with copied objects; polars itself does not copy objects."""
    shared = [
        rows[name] for name, dtype in zip(rows.columns, rows.dtypes, strict=True) if str(dtype) == "Object"
    ]
    own = [type(each)(each.name, deepcopy(each.to_list()), dtype=each.dtype) for each in shared]
    return rows.with_columns(own) if own else rows


def _own(cells: Any) -> Any:
    """Return an array of objects, deeply copied if some are mutable."""
    return cells if set(map(type, cells.ravel().tolist())) <= _CANNOT_CHANGE else deepcopy(cells)
