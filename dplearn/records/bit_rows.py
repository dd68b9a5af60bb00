"""Bit-packed tables: 64 columns of a record in a word, so that a cell takes an eighth of a byte.

>>> from dplearn.domains import Bits, Product
>>> packed_rows(np.array([[0.5, -1.0, 2.0]]), Product([Bits()] * 3), intercept=True).unpack().tolist()
[[1, 0, 1, 1]]
"""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn.core.gf2 import BitMatrix, pack
from dplearn.domains import Domain, DomainError, Product
from dplearn.domains.cells import is_frame
from dplearn.records.reading import read_features, read_rows

__all__ = ["packed_rows", "read_bits"]

_CELLS = 1 << 22  # cells of a table that are encoded at a time


def read_bits(estimator: Any, X: Any, bits: Domain, *, reset: bool) -> Any:
    """Return X in the form that `packed_rows` accepts; see `read_features`."""
    if issparse(X):
        return read_rows(estimator, X, reset=reset, sparse=True)
    return read_features(estimator, X, domain=bits, reset=reset)


def packed_rows(X: Any, domain: Product, *, intercept: bool = False, nearest: bool = False) -> BitMatrix:
    """Return the bits of a table.

    Parameters
    ----------
    X : ndarray, CSR matrix or data frame of shape (n, d)
        The result of `read_features` or `read_rows`.
    domain : Product of Bits
        The encoding of values as bits, the same in every column.
    intercept : bool, default=False
        Whether to add a last column of ones.
    nearest : bool, default=False
        Whether to replace values outside the domain with the nearest inside, as predictions do.

    Returns
    -------
    BitMatrix of shape (n, d) or (n, d + 1)

    Raises
    ------
    DomainError
        If a value is outside its column's domain; the message names the column and the domain.
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
