"""Access to records by row number, for arrays, sparse matrices, data frames and user-defined records.

In pandas `frame[places]` selects columns if their names are integers, and `series[places]` selects all rows
with these labels, which may be more than one per place. Here a place is always a row number, from 0.

>>> import pandas as pd
>>> ages = pd.Series([31, 42, 57], index=[7, 0, 7])
>>> count_of(ages), taken(ages, np.array([0])).tolist()
(3, [31])
>>> as_records("records", [31, 42, 57])
Traceback (most recent call last):
    ...
TypeError: records must be a numpy array, a sparse matrix, a data frame or series of pandas or polars, \
Examples or other Records; got list
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

__all__ = [
    "Columns",
    "Examples",
    "Records",
    "as_records",
    "count_of",
    "joined",
    "shape_of",
    "taken",
]

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
    """Records held as encoded columns.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
        Private. At least one column.

    Attributes
    ----------
    columns : list of ndarray of shape (n,)
        Private. The columns.
    """

    def __init__(self, columns: Sequence[NDArray[Any]]):
        self.columns = list(columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        return type(self)([column[places] for column in self.columns])

    def blocks(self, length: int) -> Iterator[tuple[slice, list[NDArray[Any]]]]:
        """Yield the places of consecutive records, at most `length` at once, and the columns of these."""
        for start in range(0, len(self), length):
            here = slice(start, start + length)
            yield here, [column[here] for column in self.columns]


class Examples(Records):
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
    >>> from dplearn.queries import Examples
    >>> examples = Examples(np.array([[31], [57]]), np.array(["well", "ill"]))
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
    """Return records if their type supports access by row number.

    Parameters
    ----------
    name : str
        The name of the parameter, for the message.
    records : ndarray, sparse matrix, data frame or series of pandas or polars, or Records
        Private. Lists are refused, since numpy would choose a type that depends on all records. Other types
        are refused, since their `__getitem__` may not select rows.

    Returns
    -------
    object
        As given; a sparse matrix is converted to CSR.

    Raises
    ------
    TypeError
        If the records are of another type.
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
            f" Examples or other Records; got {type(records).__name__}"
        )
    return records


def count_of(records: Any) -> int:
    """Return the number of records.

    Parameters
    ----------
    records : object
        From `as_records`.
    """
    return int(records.shape[0]) if hasattr(records, "shape") else len(records)


def shape_of(X: Any) -> tuple[int, int] | None:
    """Return the numbers of rows and columns without reading a value.

    Parameters
    ----------
    X : object
        Private. Not yet validated.

    Returns
    -------
    tuple of int or None
        None unless X is an array, a data frame or nested lists, with at least one row and one column.
    """
    shape = getattr(X, "shape", None)
    if shape is None and isinstance(X, (list, tuple)) and X and isinstance(X[0], (list, tuple)):
        shape = len(X), len(X[0])
    if shape is None or len(shape) != 2 or not all(shape):
        return None
    return int(shape[0]), int(shape[1])


def taken(records: Any, places: NDArray[np.int64]) -> Any:
    """Return the records with the given row numbers.

    Parameters
    ----------
    records : object
        From `as_records`.
    places : ndarray of int64 of shape (m,)
        Row numbers, from 0 to n - 1.

    Raises
    ------
    TypeError
        If a user-defined `Records` does not return one record for each row number.
    """
    part = records.iloc[places] if hasattr(records, "iloc") else records[places]
    if count_of(part) != len(places):
        raise TypeError("records must return one record for each requested row number")
    return part


def joined(parts: Sequence[Any]) -> Any:
    """Return the records of several parts as one table.

    Parameters
    ----------
    parts : sequence of object
        Private. At least one; all of one type, and from `as_records`.
    """
    first = parts[0]
    if isinstance(first, Examples):
        return Examples(joined([each.X for each in parts]), joined([each.y for each in parts]))
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
