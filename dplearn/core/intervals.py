"""An ordered domain cut at the values that data take: all codes of a piece stand alike to the data.

>>> starts, lengths, below, upto = piece_arrays([3, 3, 7], 10)
>>> starts.tolist()  # 0..2, 3, 4..6, 7, 8..9
[0, 3, 4, 7, 8]
>>> lengths.tolist()
[3, 1, 3, 1, 2]
>>> below.tolist(), upto.tolist()
([0, 0, 2, 2, 3], [0, 2, 2, 3, 3])
>>> alike = EqualCosts(starts, lengths, np.maximum(below, 3 - upto))
>>> alike.costs, alike.sizes
([1, 2, 3], [1, 4, 5])
>>> [alike.code(2, place) for place in range(5)]
[0, 1, 2, 8, 9]
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["EqualCosts", "piece_arrays"]

Pieces = tuple[NDArray[Any], NDArray[Any], NDArray[np.int64], NDArray[np.int64]]


def piece_arrays(codes: Sequence[int], size: int, *, start: int = 0, before: int = 0) -> Pieces:
    """Return the pieces into which sorted codes cut a domain, none of them empty.

    Parameters
    ----------
    codes : sequence of int
        Private. Rising, from `start` to `size` - 1; any size of integer.
    size : int
        Where the domain ends.
    start : int, default=0
        Where it begins.
    before : int, default=0
        How many further codes are less than `start`.

    Returns
    -------
    starts, lengths : ndarray of uint64, or of int objects where that does not suffice
        First code of each piece, and how many codes it holds: one where some of `codes` stand, else all up to
        the next of them.
    below, upto : ndarray of int64
        How many of all codes are less than the codes of the piece, and how many are not greater.
    """
    exact = np.uint64 if size < 1 << 64 else object
    data = np.array(codes, dtype=exact)
    first = np.append(True, data[1:] != data[:-1])[: data.size].nonzero()[0]
    values = data[first]
    # What is free and what is taken, in turn: free before each value and after the last, if anything is.
    starts, ends = np.empty(2 * first.size + 1, dtype=exact), np.empty(2 * first.size + 1, dtype=exact)
    starts[0], starts[1::2], starts[2::2] = start, values, values + 1
    ends[-1], ends[:-1:2], ends[1::2] = size, values, values + 1
    ranks = before + np.append(first, data.size)
    below, upto = np.repeat(ranks, 2)[:-1], np.repeat(ranks, 2)[:-1]
    upto[1::2] = ranks[1:]
    kept = starts < ends
    return starts[kept], (ends - starts)[kept], below[kept], upto[kept]


class EqualCosts:
    """Pieces of a domain put together by what their codes cost.

    Parameters
    ----------
    starts, lengths : ndarray of shape (k,)
        As `piece_arrays` returns them, k at least 1.
    costs : ndarray of int64, or of int objects, of shape (k,)
        What each code of a piece costs.

    Attributes
    ----------
    costs : list of int
        Private. All costs that occur, rising.
    sizes : list of int
        Private. How many codes have each of them.
    """

    def __init__(self, starts: NDArray[Any], lengths: NDArray[Any], costs: NDArray[Any]):
        order = np.argsort(costs, kind="stable")
        self._starts, self._lengths, ordered = starts[order], lengths[order], costs[order]
        first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        self._first: list[int] = [*first.tolist(), len(ordered)]
        self.costs: list[int] = ordered[first].tolist()
        # No sum overflows: pieces have no code in common, and all codes are counted in the array's type.
        self.sizes: list[int] = np.add.reduceat(self._lengths, first).tolist()

    def code(self, group: int, place: int) -> int:
        """Return one of the codes of cost costs[group], from place 0 to sizes[group] - 1."""
        members = slice(self._first[group], self._first[group + 1])
        starts: list[int] = self._starts[members].tolist()
        ends: list[int] = list(accumulate(self._lengths[members].tolist(), initial=0))
        piece = bisect_right(ends, place) - 1
        return starts[piece] + place - ends[piece]
