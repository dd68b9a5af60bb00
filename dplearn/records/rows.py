"""Records that can be asked: how many there are, and some of them by their places.

`frame[places]` picks columns where their names are numbers, and `series[places]` every row of a label that
occurs twice: then records would answer that were not asked. Here a place is a row's, whatever it is called.

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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

__all__ = ["Columns", "Examples", "Records", "as_records", "count_of", "taken"]

_TABLES = {(library, kind) for library in ("pandas", "polars") for kind in ("DataFrame", "Series")}


class Records(ABC):
    """Records of a form of one's own, for oracles to ask."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many there are."""

    @abstractmethod
    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        """Return those at some places, an array of integers from 0: one for each place, in that order."""


class Columns(Records):
    """Encoded columns, as one sequence of records.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
        Private. At least one.

    Attributes
    ----------
    columns : list of ndarray of shape (n,)
        Private.
    """

    def __init__(self, columns: Sequence[NDArray[Any]]):
        self.columns = list(columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        return type(self)([column[places] for column in self.columns])


class Examples(Records):
    """Rows and their labels, as one sequence of records.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n, d)
        Private.
    y : ndarray or series of shape (n,)
        Private.

    Attributes
    ----------
    X, y : as given
        Private. A sparse matrix by rows.
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
    """Return records if their places are known to be rows.

    Parameters
    ----------
    name : str
        The parameter, for the message.
    records : ndarray, sparse matrix, data frame or series of pandas or polars, or Records
        Private. Neither lists, of which numpy would choose a type by all records together, nor anything
        whose brackets mean who knows what.

    Returns
    -------
    object
        As given; a sparse matrix by rows.

    Raises
    ------
    TypeError
        If they are of another type.
    """
    matrix: Any = records
    if issparse(records) and len(matrix.shape) == 2:
        return matrix.tocsr()
    odd = isinstance(records, (np.ma.MaskedArray, np.matrix))  # would lose masks, or keep two axes in a row
    rows = isinstance(records, np.ndarray) and records.ndim > 0 and not odd
    if not (rows or isinstance(records, Records) or _is_table(records)):
        raise TypeError(
            f"{name} must be a numpy array, a sparse matrix, a data frame or series of pandas or polars,"
            f" Examples or other Records; got {type(records).__name__}"
        )
    return records


def count_of(records: Any) -> int:
    """Return how many records there are.

    Parameters
    ----------
    records : object
        From `as_records`.
    """
    return int(records.shape[0]) if hasattr(records, "shape") else len(records)


def taken(records: Any, places: NDArray[np.int64]) -> Any:
    """Return the records at some places.

    Parameters
    ----------
    records : object
        From `as_records`.
    places : ndarray of int64 of shape (m,)
        From 0 to n - 1.

    Raises
    ------
    TypeError
        If `Records` of the caller's do not give one for each place.
    """
    part = records.iloc[places] if hasattr(records, "iloc") else records[places]
    if count_of(part) != len(places):
        raise TypeError("records must give one record for each place that is asked for")
    return part


def _is_table(records: Any) -> bool:
    """Return True for a frame or series of pandas or polars, and what inherits from one."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(records).__mro__}
    return bool(kinds & _TABLES)
