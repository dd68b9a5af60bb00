"""Encoded tables: columns of codes, bits, 64 in a word, and matrices of numbers for linear models.

Codes of a float, where any float is in the domain, take as much memory as the float: a learner that turns
them into a few cells reads them block by block. Codes that are narrow next to the cells of the table are
held.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn.domains import Bits, Domain, DomainError, Floats, Product
from dplearn.domains.base import Codes, smallest_uint
from dplearn.domains.cells import is_frame
from dplearn.kernels import BitMatrix, dense, pack
from dplearn.table.features import read_features, read_rows
from dplearn.table.table import Columns

CHECKED = 1 << 12  # rows at once
_NARROW = 4  # held codes take at most this part of the memory of the table


def encoded(X: Any, domain: Product) -> Columns:
    """Return the codes of a table whose cells are all valid; wide ones of numbers are `EncodedColumns`."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "iufb" or _are_narrow(domain, X.itemsize):
        return Columns(domain.encode(X))
    columns = EncodedColumns(X, domain)
    with suppress(DomainError):
        for _ in columns.blocks(CHECKED):
            pass
        return columns
    return Columns(domain.encode(X))  # this error names the first column with such a cell


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
    """Return the bits of a table, with a last one if `intercept`; `nearest` replaces other values."""
    how = "nearest" if nearest else "encode"
    n, d = X.shape
    step = n if is_frame(X) else max(1, _CELLS // d)
    blocks = []
    for start in range(0, n, max(step, 1)):
        part = X if is_frame(X) else X[start : start + step]
        bits = _by_column(part, domain, how) if is_frame(X) else _by_row(dense(part), domain, how)
        ones = np.ones((len(bits), int(intercept)), dtype=np.uint8)
        blocks.append(pack(np.hstack((bits, ones)) if intercept else bits).words)
    return BitMatrix(np.concatenate(blocks), d + intercept)


def _by_row(part: NDArray[Any], domain: Product, how: str) -> NDArray[np.uint8]:
    """Return the bits of all columns at once, encoded by their common domain, in row order."""
    with suppress(DomainError):
        return np.ascontiguousarray(getattr(domain.domains[0], how)(part))
    return _by_column(part, domain, how)  # raises an error that names the column


def _by_column(part: Any, domain: Product, how: str) -> NDArray[np.uint8]:
    return np.ascontiguousarray(np.array(getattr(domain, how)(part), dtype=np.uint8).T)


_FEW_CODES = 1 << 12  # the numbers of so few codes are looked up
_WIDE = 12.0  # arsinh(x) is divided by this and clipped to -1..1, which merges magnitudes above 80,000


@dataclass(frozen=True)
class DesignMatrix:
    """An encoding of the columns of a table as columns of numbers from -1 to 1.

    Unordered values are one-hot encoded. Bounded numbers are scaled to -1..1, bits are 0 or 1, and floats,
    which have no bounds, become arsinh(x) / 12, about sign(x) log(2 |x|) / 12 for large |x|, clipped to
    -1..1. If numbers may be missing, a missing one becomes 0, and a further column is 1 for it.
    """

    domain: Product

    @cached_property
    def names(self) -> tuple[str, ...]:
        names: list[str] = []
        for name, domain in zip(self.domain.names, self.domain.domains, strict=True):
            if domain.ordered:
                names += [name, f"{name} is missing"] if _has_gaps(domain) else [name]
            else:
                names += [f"{name} {domain.describe_test(code)}" for code in range(domain.size)]
        return tuple(names)

    @property
    def n_active(self) -> int:
        """The greatest number of nonzero numbers in a row: one for each column of the table."""
        return len(self.domain.domains)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """The columns of numbers of each one-hot encoding: in each row exactly one of them is 1."""
        placed = zip(self.domain.domains, self._places, strict=True)
        return tuple(place for domain, place in placed if is_one_hot(domain))

    def of(self, X: Any, *, nearest: bool = False) -> NDArray[np.float64]:
        """Return the matrix of a table; `nearest` replaces values outside the domain, unordered with 0."""
        return self.encoded(X, nearest=nearest).toarray()

    def encoded(self, X: Any, *, nearest: bool = False) -> "EncodedMatrix":
        """Return the matrix of a table, held as the codes of its columns; parameters as for `of`."""
        return EncodedMatrix(self, self.domain.nearest(X) if nearest else self.domain.encode(X))

    @cached_property
    def _places(self) -> tuple[slice, ...]:
        """The columns of numbers of each column of the table."""
        widths = [1 + _has_gaps(each) if each.ordered else each.size for each in self.domain.domains]
        return tuple(slice(end - width, end) for width, end in zip(widths, accumulate(widths), strict=True))


class EncodedMatrix(Columns):
    """The matrix of a table, held as the codes of its columns; like a sparse matrix it has `shape`, rows by
    slices or row numbers, and `toarray()`.
    """

    def __init__(self, design: DesignMatrix, columns: Sequence[NDArray[Any]]):
        super().__init__(columns)
        self.design = design

    def __getitem__(self, places: Any) -> "EncodedMatrix":
        return EncodedMatrix(self.design, [column[places] for column in self.columns])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.design.names)

    def toarray(self) -> NDArray[np.float64]:
        return self.numbers().T

    def numbers(self, more: int = 0) -> NDArray[np.float64]:
        """Return the columns of the matrix, each contiguous, and `more` of ones, of shape (columns, n)."""
        found = np.ones((self.shape[1] + more, len(self)))
        given = zip(self.design.domain.domains, self.design._places, self.columns, strict=True)
        for domain, place, codes in given:
            _set_numbers(found[place], domain, codes)
        return found


def plain_matrix(X: Any) -> Any:
    """Return a table, which must hold finite numbers, as a matrix of floats; a sparse one as a CSR matrix."""
    if issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "iufb"):
        table = _floats(X)
        if not np.isfinite(table.data if issparse(X) else table).all():
            raise DomainError("X must hold finite numbers")
        return table
    floats = Floats()
    columns = Product([floats] * X.shape[1]).encode(X)
    return np.stack([floats.decode(column) for column in columns], axis=1)


def _floats(X: Any) -> Any:
    """Return a table as floats, which may be infinite; numbers at one place of a sparse matrix are added."""
    table = X.astype(np.float64, copy=False)
    if issparse(X) and not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def is_one_hot(domain: Domain) -> bool:
    """Return whether a column is encoded as one column per value."""
    return not domain.ordered and not isinstance(domain, Bits)


def _has_gaps(domain: Domain) -> bool:
    return domain.ordered and domain.accepts_missing


def _set_numbers(found: NDArray[np.float64], domain: Domain, codes: Codes) -> None:
    """Set the columns of numbers that encode one column of codes, of shape (columns, n)."""
    if is_one_hot(domain):
        np.equal(codes, np.arange(domain.size)[:, None], out=found)
    elif isinstance(domain, Bits):
        found[0] = codes
    elif domain.size <= _FEW_CODES:
        _table(domain).take(codes.astype(np.intp), axis=1, mode="clip", out=found)  # in range; faster
    else:
        found[:] = _numbers(domain, codes)


@lru_cache(maxsize=256)
def _table(domain: Domain) -> NDArray[np.float64]:
    return _numbers(domain, np.arange(domain.size))


def _numbers(domain: Domain, codes: Codes) -> NDArray[np.float64]:
    """Return numbers from -1 to 1 of an ordered domain, 0 for missing ones, and which are missing."""
    if isinstance(domain, Floats):
        numbers = (np.arcsinh(domain.decode(codes)) / _WIDE).clip(-1.0, 1.0)
    else:
        first = int(_has_gaps(domain))  # the code of the least number
        # Of code 0 the difference may underflow. Codes may be Python integers, whose quotient is a float.
        numbers = np.asarray(2 * ((codes - first) / max(domain.size - 1 - first, 1)) - 1, dtype=np.float64)
    gaps = codes == 0
    return np.stack([np.where(gaps, 0.0, numbers), gaps]) if _has_gaps(domain) else numbers[None]
