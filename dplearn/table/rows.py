"""Rows of tables, selected by number, so that the result, including its types, depends on no other row.

A place is always a row number, from 0, where pandas takes integers for names of columns or labels. numpy,
scipy and pandas choose one type for a whole array, matrix or index, so that a shard would depend on records
of others: rows that `rows_of` cuts out keep only the types of columns, which are public.
"""

from collections.abc import Callable
from copy import deepcopy
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse, sparray

from dplearn.domains.cells import is_frame

_SHORT = 1 << 31
_CANNOT_CHANGE = frozenset({type(None), bool, int, float, complex, str, bytes})
_VALUES = _CANNOT_CHANGE | {Decimal, Fraction, date, datetime, time, timedelta}
_VALUES_OF_PANDAS = ("NAType", "NaTType", "Timestamp", "Timedelta")


def sliceable(X: Any) -> Any:
    """Return a table with access by row: a sparse matrix as CSR, and columns of types of Arrow or scipy that
    cannot be cut, or that scikit-learn cannot read, as plain ones.
    """
    if hasattr(X, "tocsr"):
        return X.tocsr()
    if not hasattr(X, "iloc"):
        return X
    if not is_frame(X):
        return _decoded(X) if _is_coded(X.dtype) else X
    return with_columns(X, _is_coded, _decoded)


def with_columns(X: Any, of: Callable[[Any], bool], made: Callable[[Any], Any]) -> Any:
    """Return a data frame whose columns of some types are made anew."""
    places = [place for place, kind in enumerate(X.dtypes) if of(kind)]
    if not hasattr(X, "iloc"):
        names = [X.columns[place] for place in places]
        return X.with_columns(type(X[name])(name, made(X[name])) for name in names) if names else X
    X = X.copy(deep=False) if places else X
    for place in places:
        X.isetitem(place, made(X.iloc[:, place]))
    return X


def _is_coded(kind: Any) -> bool:
    sparse = getattr(kind, "fill_value", 0)
    return sparse != 0 or str(kind).startswith(("dictionary<", "string_view", "binary_view"))


def _decoded(column: Any) -> Any:
    if hasattr(column, "sparse"):
        return column.sparse.to_dense()
    kind, array = column.dtype.pyarrow_dtype, column.array
    values = array.__arrow_array__().cast(getattr(kind, "value_type", str(kind).removesuffix("_view")))
    return type(column)(type(array)(values), index=column.index, name=column.name)


def rows_of(X: Any, places: NDArray[np.int64]) -> Any:
    """Return a copy of some rows; it shares no memory with the table, except objects in cells."""
    X = sliceable(X)
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
    """Return objects with the type that numpy infers from these rows alone; a mixture stays as it is."""
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
    """Return rows whose cells share no mutable object with other tables; such cells are deeply copied, with
    any error, and a pandas frame is changed in place.
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
    """Return public rows of plain values (of no rows, types are checked); other objects may share state,
    which would join teachers.
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
    strange |= {"Object"} & set(map(str, getattr(rows, "dtypes", ())))  # of polars, whatever its cells are
    if strange:
        raise TypeError(
            f"X must hold numbers, texts and missing values, got {', '.join(sorted(strange))}: turn such"
            " columns into text, or leave them out"
        )
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
