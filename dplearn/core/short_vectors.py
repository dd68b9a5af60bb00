"""Enforcement of a norm bound on rows of integers: rows above the bound are replaced by zeros."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["kept_short"]

_ROWS = 1 << 12  # number of rows in a block


def kept_short(rows: Any, size: int, norm: int) -> NDArray[np.int64]:
    """Return the rows, with zeros in place of each row of Euclidean norm above `norm`.

    Parameters
    ----------
    rows : ndarray of int of shape (n, size)
        Private. Any integers; error messages do not show them.
    size : int
        At most 2**30.
    norm : int
        At most 2**30, so that the square of a clipped number fits into 64 bits.

    Returns
    -------
    ndarray of int64 of shape (n, size)

    Raises
    ------
    TypeError
        If `rows` are not integers of that shape.
    """
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != size or rows.dtype.kind not in "iu":
        raise TypeError(f"a query's values must be integers of shape (n, {size})")
    short = np.empty(rows.shape, dtype=np.int64)
    for start in range(0, len(rows), _ROWS):
        block = rows[start : start + _ROWS]
        # A number above the norm makes its row too long; so does norm + 1, the square of which does not
        # overflow.
        near = np.minimum(block, np.uint64(norm + 1)) if block.dtype.kind == "u" else block
        near = near.astype(np.int64).clip(-norm - 1, norm + 1)
        # In integer arithmetic: floats would round sums of squares above 2**53.
        beyond = (np.abs(near) > norm).any(axis=1)
        lengths = (
            np.einsum("ij,ij->i", near, near) if size * (norm + 1) ** 2 < 1 << 62 else _exact_lengths(near)
        )
        short[start : start + _ROWS] = np.where((beyond | (lengths > norm**2))[:, None], 0, near)
    return short


def _exact_lengths(rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the squared norms of rows as Python integers."""
    wide = rows.astype(object)
    return np.asarray((wide * wide).sum(axis=1))
