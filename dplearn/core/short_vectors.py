"""Rows of integers that must be short: those longer than a norm count as zeros."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["kept_short"]

_ROWS = 1 << 12  # rows looked at together


def kept_short(rows: Any, size: int, norm: int) -> NDArray[np.int64]:
    """Return the rows, zeros in place of each that is longer than `norm`.

    Parameters
    ----------
    rows : ndarray of int of shape (n, size)
        Any integers. The message shows none of them.
    size : int
        At most 2**30.
    norm : int
        At most 2**30: no square sum of clipped numbers leaves 64 bits before it is seen to be too much.
    """
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != size or rows.dtype.kind not in "iu":
        raise TypeError(f"a query's values must be integers of shape (n, {size})")
    short = np.empty(rows.shape, dtype=np.int64)
    for start in range(0, len(rows), _ROWS):
        block = rows[start : start + _ROWS]
        # A number beyond the norm makes its row too long; norm + 1 does as well, and squares safely.
        near = np.minimum(block, np.uint64(norm + 1)) if block.dtype.kind == "u" else block
        near = near.astype(np.int64).clip(-norm - 1, norm + 1)
        # Integers: as floats, sums of squares above 2**53 would be rounded.
        beyond = (np.abs(near) > norm).any(axis=1)
        lengths = (
            np.einsum("ij,ij->i", near, near) if size * (norm + 1) ** 2 < 1 << 62 else _exact_lengths(near)
        )
        short[start : start + _ROWS] = np.where((beyond | (lengths > norm**2))[:, None], 0, near)
    return short


def _exact_lengths(rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the squared lengths of rows as Python integers."""
    wide = rows.astype(object)
    return np.asarray((wide * wide).sum(axis=1))
