"""Encoded columns that are not held in memory: the rows of a table are encoded whenever they are read.

The codes of a float, where any float is in the domain, take as much memory as the float. A learner that turns
codes into a few cells reads them block by block, so that the cells are all that it adds to the table. Codes
that are narrow next to the cells of the table are held.

>>> from dplearn.domains import Floats, IntegerRange
>>> amounts = Product([Floats()], names=["amount"])
>>> columns = encoded(np.array([[0.5], [2.0], [90.0]]), amounts)
>>> len(columns), [len(codes) for _, [codes] in columns.blocks(2)]
(3, [2, 1])
>>> type(columns).__name__, type(encoded(np.array([[18.0]]), Product([IntegerRange(18, 90)]))).__name__
('EncodedColumns', 'Columns')
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn.domains import DomainError, Product
from dplearn.domains.base import smallest_uint
from dplearn.records.rows import Columns

__all__ = ["EncodedColumns", "encoded"]

_CHECKED = 1 << 12  # rows at once
_NARROW = 4  # held codes take at most this part of the memory of the table


def encoded(X: Any, domain: Product) -> Columns:
    """Return the codes of a table after all of its cells have been validated.

    Parameters
    ----------
    X : ndarray or data frame of shape (n, d)
        Private. From `read_features`.
    domain : Product
        Public. The domain of a record.

    Returns
    -------
    Columns
        `EncodedColumns` for an array of numbers with wide codes. Other cells take long to encode: their codes
        are held.

    Raises
    ------
    DomainError
        As `domain.encode`.
    """
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "iufb" or _are_narrow(domain, X.itemsize):
        return Columns(domain.encode(X))
    columns = EncodedColumns(X, domain)
    valid = True
    try:
        for _ in columns.blocks(_CHECKED):
            pass
    except DomainError:
        valid = False
    # The error for the whole table names the first column with such a cell.
    return columns if valid else Columns(domain.encode(X))


def _are_narrow(domain: Product, bytes_of_cell: int) -> bool:
    """Return whether the codes of a record take little memory next to its cells."""
    codes = sum(smallest_uint(each.size).itemsize for each in domain.domains)
    return bool(codes * _NARROW <= bytes_of_cell * len(domain))


class EncodedColumns(Columns):
    """The codes of a table of numbers, computed whenever they are read.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Private. All cells are in the domain.
    domain : Product
        Public. The domain of a record.
    """

    def __init__(self, X: NDArray[Any], domain: Product):
        self._X, self._domain = X, domain

    @property
    def columns(self) -> list[NDArray[Any]]:  # type: ignore[override]
        """The columns."""
        return self._domain.encode(self._X)

    def __len__(self) -> int:
        return len(self._X)

    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        return type(self)(self._X[places], self._domain)

    def blocks(self, length: int) -> Iterator[tuple[slice, list[NDArray[Any]]]]:
        """Yield the places of consecutive records, at most `length` at once, and the columns of these."""
        for start in range(0, len(self), length):
            here = slice(start, start + length)
            yield here, self._domain.encode(self._X[here])
