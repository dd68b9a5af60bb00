"""Rows of numbers: blocks whose intermediate results stay in the cache; integer rows of bounded norm."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.kernels.float_errors import ignores_float_errors

_NUMBERS = 1 << 16  # in a block: half a megabyte of floats
FEWEST, MOST = 1 << 10, 1 << 13  # rows in a block, so that the work for a block is in its rows


def blocks(length: int, step: int) -> Iterator[slice]:
    """Yield slices that cut 0..length-1 into pieces of at most `step`."""
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Yield the slices of consecutive blocks of rows."""
    return blocks(n, min(max(_NUMBERS // max(width, 1), FEWEST), MOST))


def float_blocks(rows: NDArray[Any]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield each block of rows, integers below 2**53 in magnitude, as floats, with its slice."""
    for block in row_blocks(*rows.shape):
        yield block, rows[block].astype(np.float64)


def sums_and_squares(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the sums of each column's numbers and squares, exact for magnitudes up to 2**20."""
    sums = np.zeros((2, rows.shape[1]), dtype=np.int64)
    for _, block in float_blocks(rows):
        sums += np.stack([block.sum(axis=0), (block * block).sum(axis=0)]).astype(np.int64)
    return sums


def symmetric(upper: NDArray[Any], d: int) -> NDArray[np.float64]:
    """Return the symmetric matrix of d columns whose entries i <= j are given, row by row."""
    found = np.zeros((d, d))
    found[np.triu_indices(d)] = upper
    return np.asarray(found + np.triu(found, 1).T)


def greatest_places(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the place of the greatest number of each row, the first of equal ones."""
    return rows[:, 1] > rows[:, 0] if rows.shape[1] == 2 else rows.argmax(axis=1)  # of two much faster


def dense(rows: Any) -> Any:
    """Return rows of a sparse or encoded matrix as an array; others as given."""
    return rows.toarray() if hasattr(rows, "toarray") else rows


@ignores_float_errors
def unit_rows(
    rows: Any,
    reach: int,
    *,
    order: int = 2,
    intercept: bool = False,
    again: int = 0,
    image: NDArray[np.float64] | None = None,
) -> NDArray[np.signedinteger[Any]]:
    """Return rows of integers with norm at most `reach`, each in the direction of the given row alone.

    The norm counts the last number `again` times more.
    """
    # Numbers that are not finite become 0; products with `image` must be exact in floats. Rounding errors
    # change the norm to the power of `order` by less than 1 for fewer than some thousand columns; an exact
    # check replaces a row that is too long by zeros in all cases.
    reach = check_count("reach", reach, low=1, high=1 << 20)
    order = check_count("order", order, low=1, high=2)
    n, d = rows.shape
    width = d + intercept if image is None else image.shape[1]
    scaled = np.empty((n, width), dtype=np.int16 if reach < 1 << 15 else np.int32)
    for block in row_blocks(n, max(d, width)):
        given = dense(rows[block])
        wide = np.ones((len(given), d + intercept))
        # Each number is converted to float64 by itself; a wider float may become infinite.
        wide[:, :d] = given
        scaled[block] = _scaled(wide if image is None else wide @ image, reach, order, again)
    return scaled


def norm_powers(rows: NDArray[Any], order: int, again: int = 0) -> NDArray[Any]:
    """Return the norm of each row to the power of its order; exact below 2**63, or 2**53 for floats.

    The last number counts `again` times more.
    """
    powers = np.abs(rows).sum(axis=1) if order == 1 else np.einsum("ij,ij->i", rows, rows)
    return np.asarray(powers + again * np.abs(rows[:, -1]) ** order) if again else np.asarray(powers)


def _scaled(rows: NDArray[np.float64], reach: int, order: int, again: int) -> NDArray[np.float64]:
    """Return the rows after scaling; they are overwritten, which saves time in the cache."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if not np.isfinite(largest).all():
        np.nan_to_num(rows, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    # Scaled to magnitudes of at most 1, so that no square overflows.
    rows /= np.where(largest > 0, largest, 1.0)
    # The norm is at least 1, or the row is 0.
    lengths = np.maximum(norm_powers(rows, order, again) ** (1 / order), 1.0)
    rows *= (reach / lengths)[:, None]
    np.trunc(rows, out=rows)
    # The sums are whole numbers below 2**53, so this comparison is exact.
    rows[~(norm_powers(rows, order, again) <= reach**order)] = 0.0  # NaN is not at most anything
    return rows


_ROWS = 1 << 12  # number of rows in a block


def kept_short(rows: Any, size: int, norm: int) -> NDArray[np.int64]:
    """Return rows of integers, with zeros in place of each row of norm above `norm`, at most 2**30."""
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != size or rows.dtype.kind not in "iu":
        raise TypeError(f"a query's values must be integers of shape (n, {size})")
    short = np.empty(rows.shape, dtype=np.int64)
    for here in blocks(len(rows), _ROWS):
        block = rows[here]
        # A number above the norm makes its row too long; so does norm + 1, the square of which does not
        # overflow.
        near = np.minimum(block, np.uint64(norm + 1)) if block.dtype.kind == "u" else block
        near = near.astype(np.int64).clip(-norm - 1, norm + 1)
        # In integer arithmetic: floats would round sums of squares above 2**53.
        beyond = (np.abs(near) > norm).any(axis=1)
        lengths = (
            np.einsum("ij,ij->i", near, near) if size * (norm + 1) ** 2 < 1 << 62 else _exact_lengths(near)
        )
        short[here] = np.where((beyond | (lengths > norm**2))[:, None], 0, near)
    return short


def _exact_lengths(rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the squared norms of rows as Python integers."""
    wide = rows.astype(object)
    return np.asarray((wide * wide).sum(axis=1))
