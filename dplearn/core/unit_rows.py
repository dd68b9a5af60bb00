"""Rows scaled to one length, on a grid of integers: a row's direction is kept, how long it was is not.

>>> unit_rows(np.array([[3.0, 4.0], [0.03, 0.04], [0.0, 0.0]]), 10).tolist()
[[6.0, 8.0], [6.0, 8.0], [0.0, 0.0]]
>>> unit_rows(np.array([[3.0, 4.0]]), 100, order=1).tolist()
[[42.0, 57.0]]
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn._validation import check_count
from dplearn.core.float_errors import ignores_float_errors

__all__ = ["unit_rows"]

_ROWS = 1 << 12  # rows scaled together: what is computed of them stays in the cache


@ignores_float_errors
def unit_rows(rows: Any, reach: int, *, order: int = 2, intercept: bool = False) -> NDArray[np.float64]:
    """Return rows of whole numbers no longer than `reach`, each in its own row's direction.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
        Any numbers; those that are not finite count as 0.
    reach : int
        The length that all rows are scaled to, before they are rounded towards zero: from 1 to 2**20.
    order : {1, 2}, default=2
        What length is: the sum of magnitudes, or the root of the sum of squares.
    intercept : bool, default=False
        Whether to add a last column of ones first.

    Returns
    -------
    ndarray of float64 of shape (n, d) or (n, d + 1)
        Whole numbers, so that products of them are exact below 2**53.

    Notes
    -----
    Each row depends on its own row alone. Where rows have fewer than some thousand columns, roundings come to
    less than 1 of a length to the power of `order`, so that no row of whole numbers gets longer than `reach`.
    That is checked exactly all the same: a longer row would count as zeros.
    """
    reach = check_count("reach", reach, low=1, high=1 << 20)
    order = check_count("order", order, low=1, high=2)
    n, d = rows.shape
    scaled = np.empty((n, d + intercept))
    for start in range(0, n, _ROWS):
        block = _dense(rows[start : start + _ROWS])
        wide = np.ones((len(block), d + intercept))
        # A narrower or wider float becomes one of 64 bits each by itself; beyond all of them it is infinite.
        wide[:, :d] = block
        scaled[start : start + _ROWS] = _scaled(wide, reach, order)
    return scaled


def _dense(part: Any) -> Any:
    rows: Any = part  # issparse narrows to a type without its methods
    return rows.toarray() if issparse(part) else rows


def _scaled(rows: NDArray[np.float64], reach: int, order: int) -> NDArray[np.float64]:
    if not np.isfinite(rows).all():
        rows = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
    # At most 1 in magnitude, so that no square leaves the range of floats.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(largest > 0, largest, 1.0)
    lengths = np.maximum(_length(rows, order) ** (1 / order), 1.0)  # at least 1, but of a row of zeros
    whole = np.trunc(rows * (reach / lengths)[:, None])
    # Whole numbers below 2**53: this comparison is exact.
    whole[_length(whole, order) > reach**order] = 0.0
    return whole


def _length(rows: NDArray[np.float64], order: int) -> NDArray[np.float64]:
    """Return each row's length, to the power of `order`."""
    if order == 1:
        return np.asarray(np.abs(rows).sum(axis=1))
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
