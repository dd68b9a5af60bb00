"""Read tables cell by cell.

numpy, pandas and polars choose one type for a whole column or table: one gap turns integers into floats, one
fraction turns a list of lists into floats, one text turns everything into text. Then one record changes how
all others are read, and no guarantee holds. So lists and frames are read as objects, each cell as it is.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cells_of", "frame_column", "is_frame", "is_missing", "object_array", "text_of"]

NOT_A_TABLE = (
    "Expected 2D array, got {}D array instead. Reshape your data either using array.reshape(-1, 1) if your"
    " data has a single feature or array.reshape(1, -1) if it contains a single sample."
)


def is_missing(value: Any) -> bool:
    """Return True for None, NaN and pandas' missing values."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating)) and bool(value != value)


def text_of(value: Any) -> str:
    """Return the text of a cell, empty if it is missing.

    A whole float reads like the integer: a column of integers turns into floats as soon as one other record
    has a gap, and no cell's text may depend on that. What has no text has that of its type.
    """
    if is_missing(value):
        return ""
    value = value.item() if isinstance(value, np.generic) else value
    whole = isinstance(value, float) and value.is_integer()
    try:
        return str(int(value) if whole else value).strip()
    except Exception:  # a cell of any kind may do anything when asked for its text
        return f"<{type(value).__name__}>"


def is_frame(X: Any) -> bool:
    """Return True for a data frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def frame_column(X: Any, position: int) -> NDArray[Any]:
    """Return one column of a data frame: as numbers where its type is numpy's, else as objects."""
    column = X.iloc[:, position] if hasattr(X, "iloc") else X[X.columns[position]]
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy())
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):
        categories = column.cat.categories.tolist()
        return object_array([None if code < 0 else categories[code] for code in column.cat.codes.tolist()])
    if not hasattr(X, "iloc") and column.dtype.is_temporal():
        column = column.to_physical()  # some times that polars can hold, Python cannot
    if hasattr(X, "iloc"):
        gaps = column.isna().tolist()
        return object_array([None if gap else cell for cell, gap in zip(column.array, gaps, strict=True)])
    return object_array(column.to_list())


def cells_of(X: Any) -> NDArray[Any]:
    """Return a table that is no data frame as an array: a numpy array as it is, lists cell by cell.

    Raises
    ------
    ValueError
        If it is not a table: not rows of cells, or rows of unequal lengths.
    """
    if isinstance(X, (list, tuple)):
        if not all(_is_row(row) for row in X) or not X:
            raise ValueError(NOT_A_TABLE.format(1))
        if len({len(row) for row in X}) != 1:
            raise ValueError("rows of X must be equally long")
        array = np.empty((len(X), len(X[0])), dtype=object)
        for i, row in enumerate(X):
            for j, cell in enumerate(row):
                array[i, j] = cell
        return array
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(NOT_A_TABLE.format(array.ndim))
    return array if array.dtype.kind in "iufbc" else array.astype(object)


def _is_row(row: Any) -> bool:
    return isinstance(row, (list, tuple)) or (isinstance(row, np.ndarray) and row.ndim == 1)


def holds_times(dtype: Any) -> bool:
    """Return whether a column type of numpy, pandas or polars is of dates, times or durations.

    Lists of these are integers, other objects, or errors that quote a value, as value and unit have it.
    """
    temporal = getattr(dtype, "is_temporal", None)
    return getattr(dtype, "kind", "") in ("m", "M") or (callable(temporal) and bool(temporal()))


def object_array(cells: list[Any]) -> NDArray[Any]:
    """Return a one-dimensional array that holds the cells as they are."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
