"""Encoded tables in little memory: columns whose codes are not held, and tables of bits, 64 in a word.

The codes of a float, where any float is in the domain, take as much memory as the float. A learner that turns
codes into a few cells reads them block by block, so that the cells are all that it adds to the table. Codes
that are narrow next to the cells of the table are held.

>>> from dplearn.domains import Bits, Floats, IntegerRange
>>> amounts = Product([Floats()], names=["amount"])
>>> columns = encoded(np.array([[0.5], [2.0], [90.0]]), amounts)
>>> len(columns), [len(codes) for _, [codes] in columns.blocks(2)]
(3, [2, 1])
>>> type(columns).__name__, type(encoded(np.array([[18.0]]), Product([IntegerRange(18, 90)]))).__name__
('EncodedColumns', 'Columns')
>>> packed_rows(np.array([[0.5, -1.0, 2.0]]), Product([Bits()] * 3), intercept=True).unpack().tolist()
[[1, 0, 1, 1]]
"""

from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn.domains import Domain, DomainError, Product
from dplearn.domains.base import smallest_uint
from dplearn.domains.cells import is_frame
from dplearn.kernels.gf2 import BitMatrix, pack
from dplearn.records.reading import read_features, read_rows
from dplearn.records.rows import Columns

_CHECKED = 1 << 12  # rows at once
_NARROW = 4  # held codes take at most this part of the memory of the table


def encoded(X: Any, domain: Product) -> Columns:
    """Return the codes of a table after all of its cells have been validated.

    Wide codes of an array of numbers are `EncodedColumns`. Other cells take long to encode: their codes are
    held.
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
    """The codes of a table of numbers, all in the domain, computed whenever they are read."""

    def __init__(self, X: NDArray[Any], domain: Product):
        self._X, self._domain = X, domain

    @property
    def columns(self) -> list[NDArray[Any]]:  # type: ignore[override]
        """The columns."""
        return self._domain.encode(self._X)

    def __len__(self) -> int:
        return len(self._X)

    def __getitem__(self, places: NDArray[np.int64] | slice) -> Self:
        return type(self)(self._X[places], self._domain)


_CELLS = 1 << 22  # cells of a table that are encoded at a time


def read_bits(estimator: Any, X: Any, bits: Domain, *, reset: bool) -> Any:
    """Return X in the form that `packed_rows` accepts; see `read_features`."""
    if issparse(X):
        return read_rows(estimator, X, reset=reset, sparse=True)
    return read_features(estimator, X, domain=bits, reset=reset)


def packed_rows(X: Any, domain: Product, *, intercept: bool = False, nearest: bool = False) -> BitMatrix:
    """Return the bits of a table from `read_bits`, with a last column of ones if `intercept`.

    `nearest` replaces values outside the domain with the nearest inside, as predictions do; else they are
    refused.
    """
    how = "nearest" if nearest else "encode"
    n, d = X.shape
    step = n if is_frame(X) else max(1, _CELLS // d)
    blocks = []
    for start in range(0, n, max(step, 1)):
        part = X if is_frame(X) else X[start : start + step]
        bits = _by_column(part, domain, how) if is_frame(X) else _by_row(_dense(part), domain, how)
        ones = np.ones((len(bits), int(intercept)), dtype=np.uint8)
        blocks.append(pack(np.hstack((bits, ones)) if intercept else bits).words)
    return BitMatrix(np.concatenate(blocks), d + intercept)


def _dense(part: Any) -> Any:
    rows: Any = part  # issparse narrows to a type without its methods
    return rows.toarray() if issparse(part) else rows


def _by_row(part: NDArray[Any], domain: Product, how: str) -> NDArray[np.uint8]:
    """Return the bits of all columns at once, encoded by their common domain, in row order."""
    with suppress(DomainError):
        return np.ascontiguousarray(getattr(domain.domains[0], how)(part))
    return _by_column(part, domain, how)  # raises an error that names the column


def _by_column(part: Any, domain: Product, how: str) -> NDArray[np.uint8]:
    return np.ascontiguousarray(np.array(getattr(domain, how)(part), dtype=np.uint8).T)
