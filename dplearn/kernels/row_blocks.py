"""Blocks of consecutive rows, such that the intermediate results of a block stay in the cache."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBERS = 1 << 16  # in a block: half a megabyte of floats
_FEWEST, _MOST = 1 << 10, 1 << 13  # rows in a block, so that the work for a block is in its rows


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Yield the slices of consecutive blocks of rows."""
    rows = min(max(_NUMBERS // max(width, 1), _FEWEST), _MOST)
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def float_blocks(rows: NDArray[Any]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield each block of rows, as floats, with its slice.

    `rows` (n, d): Private. Integers below 2**53 in magnitude; their sums and products are exact in floats
    below 2**53.
    """
    for block in row_blocks(*rows.shape):
        yield block, rows[block].astype(np.float64)


def sums_and_squares(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the sums of the numbers of each column, and of their squares.

    `rows` (n, d): Private. Of magnitude at most 2**20, so that the sums of a block are exact in floats.
    """
    sums = np.zeros((2, rows.shape[1]), dtype=np.int64)
    for _, block in float_blocks(rows):
        sums += np.stack([block.sum(axis=0), (block * block).sum(axis=0)]).astype(np.int64)
    return sums


def dense(rows: Any) -> Any:
    """Return rows of a sparse or encoded matrix as an array; others as given.

    `rows` (n, d): Private. The rows of a block.
    """
    return rows.toarray() if hasattr(rows, "toarray") else rows
