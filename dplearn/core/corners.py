"""Net labels of the records in all corners of a plane, and exact numbers of pairs of cuts.

The distinct values of two columns divide the cuts of each column into intervals of cuts that divide the
records alike, and so the pairs of cuts into cells. One table of prefix sums has the records of all cells, for
each direction of the corners. A cell has as many pairs of cuts as the product of two lengths, up to 2**128.

>>> import numpy as np
>>> prefix = prefix_nets(np.array([[0, 1], [-1, 0]]))
>>> prefix.tolist()
[[0, 0, 0], [0, 0, 1], [0, -1, 0]]
>>> nets_inside(prefix, (True, False)).tolist()  # above a cut of the first column, up to one of the second
[[0, -1, 0], [0, -1, -1], [0, 0, 0]]
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["blocks_of", "net_counts", "nets_inside", "prefix_nets", "row_totals"]

_BLOCK = 1 << 20  # cells of a block: sums of so many 32-bit numbers are exact in float64
_DENSE = 1 << 22  # widest range of nets with a place for each
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_EVERY = slice(None)


def prefix_nets(nets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the net labels of the records with fewer than i values of the one column, j of the other.

    Parameters
    ----------
    nets : ndarray of int64 of shape (m, k)
        For each pair of values, the number of records with label 1 minus that with label 0.

    Returns
    -------
    ndarray of int64 of shape (m + 1, k + 1)
    """
    prefix = np.zeros((nets.shape[0] + 1, nets.shape[1] + 1), dtype=np.int64)
    prefix[1:, 1:] = nets
    np.cumsum(prefix, axis=0, out=prefix)
    return np.cumsum(prefix, axis=1, out=prefix)


def nets_inside(
    prefix: NDArray[np.int64], above: Sequence[bool], rows: slice = _EVERY, columns: slice = _EVERY
) -> NDArray[np.int64]:
    """Return the net labels inside the corners of a block of cells.

    Parameters
    ----------
    prefix : ndarray of int64 of shape (m, k)
        As returned by `prefix_nets`.
    above : sequence of bool
        For each axis whether a corner has the values above its cut, rather than up to it.
    rows, columns : slice, optional
        The block. By default all cells.
    """
    inside, whole = prefix[rows, columns], prefix[rows, -1:]
    if above[0]:
        inside, whole = prefix[-1:, columns] - inside, prefix[-1:, -1:] - whole
    if len(above) > 1 and above[1]:
        inside = whole - inside
    return inside


def blocks_of(shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Yield slices of rows and of columns that divide a table into blocks, in the order of its rows."""
    wide = min(shape[1], _BLOCK)
    tall = max(1, _BLOCK // wide)
    for row in range(0, shape[0], tall):
        for column in range(0, shape[1], wide):
            yield slice(row, row + tall), slice(column, column + wide)


def net_counts(
    prefix: NDArray[np.int64],
    directions: Sequence[Sequence[bool]],
    heights: NDArray[np.uint64],
    widths: NDArray[np.uint64],
) -> list[dict[int, int]]:
    """Return for each direction the exact number of pairs of cuts for each net of labels inside.

    Parameters
    ----------
    prefix : ndarray of int64 of shape (m, k)
        As returned by `prefix_nets`, with at most 2**24 cells.
    directions : sequence of sequence of bool
        As `above` of `nets_inside`.
    heights, widths : ndarray of uint64 of shape (m,) and (k,)
        The numbers of cuts of each column.

    Returns
    -------
    list of dict from int to int
        Only nets that occur.
    """
    totals = [_Totals(prefix, above) for above in directions]
    for rows, columns in blocks_of(prefix.shape):
        digits = _digits_of_products(heights[rows, None], widths[None, columns])
        for total in totals:
            total.add(rows, columns, digits)
    return [total.read() for total in totals]


class _Totals:
    """The numbers of pairs of cuts for each net of labels inside the corners of one direction."""

    def __init__(self, prefix: NDArray[np.int64], above: Sequence[bool]):
        self._prefix, self._above = prefix, above
        blocks = [nets_inside(prefix, above, *block) for block in blocks_of(prefix.shape)]
        self._low = min(int(block.min()) for block in blocks)
        span = max(int(block.max()) for block in blocks) - self._low + 1
        self._nets = None if span <= _DENSE else np.unique(nets_inside(prefix, above))
        self._digits = np.zeros((4, span if self._nets is None else self._nets.size), dtype=np.int64)

    def add(self, rows: slice, columns: slice, digits: Sequence[NDArray[np.float64]]) -> None:
        """Add the pairs of a block of cells."""
        inside = nets_inside(self._prefix, self._above, rows, columns).ravel()
        places = inside - self._low if self._nets is None else np.searchsorted(self._nets, inside)
        for total, digit in zip(self._digits, digits, strict=False):  # the higher digits are 0
            found = np.bincount(places, weights=digit)  # of at most 2**20 numbers below 2**32
            total[: found.size] += found.astype(np.int64)

    def read(self) -> dict[int, int]:
        """Return the number of pairs for each net that occurs."""
        occurring = np.flatnonzero(self._digits.any(axis=0))
        nets = occurring + self._low if self._nets is None else self._nets[occurring]
        digits = zip(*self._digits[:, occurring].tolist(), strict=True)
        numbers = [sum(digit << 32 * place for place, digit in enumerate(each)) for each in digits]
        return dict(zip(nets.tolist(), numbers, strict=True))


def _digits_of_products(heights: NDArray[np.uint64], widths: NDArray[np.uint64]) -> list[NDArray[np.float64]]:
    """Return the 32-bit digits of all products, the lowest first, as flat arrays."""
    largest = int(heights.max()) * int(widths.max())
    if largest >> 64:
        digits = _four_digits(heights & _LOW, heights >> _HALF, widths & _LOW, widths >> _HALF)
    else:
        product = heights * widths
        digits = [product & _LOW, product >> _HALF] if largest >> 32 else [product]
    return [digit.astype(np.float64).ravel() for digit in digits]


def _four_digits(
    a: NDArray[np.uint64], b: NDArray[np.uint64], c: NDArray[np.uint64], d: NDArray[np.uint64]
) -> list[NDArray[np.uint64]]:
    """Return the digits of (a + 2**32 b) (c + 2**32 d)."""
    low, one, other, high = a * c, a * d, b * c, b * d
    second = (low >> _HALF) + (one & _LOW) + (other & _LOW)
    third = (second >> _HALF) + (one >> _HALF) + (other >> _HALF) + (high & _LOW)
    return [low & _LOW, second & _LOW, third & _LOW, (third >> _HALF) + (high >> _HALF)]


def row_totals(chosen: NDArray[np.bool_], widths: NDArray[np.uint64]) -> list[int]:
    """Return for each row the exact sum of the widths of its chosen cells."""
    low = np.where(chosen, widths & _LOW, np.uint64(0)).sum(axis=1)
    high = np.where(chosen, widths >> _HALF, np.uint64(0)).sum(axis=1)
    return [(upper << 32) + lower for lower, upper in zip(low.tolist(), high.tolist(), strict=True)]
