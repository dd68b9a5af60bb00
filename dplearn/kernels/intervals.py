"""Intervals of an ordered domain: pieces between data, and trees of nested intervals with prefix counts.

**Pieces.** Sorted data cut a domain into intervals; all codes of one piece have the same rank in the data.

**Trees.** Each node is an interval; its children are at most `fan_out` nearly equal intervals. Only the
children of selected nodes are stored, so the size of a tree does not depend on the size of the domain.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count

Codes = NDArray[Any]  # uint64, or Python integers in an object array where 64 bits do not suffice
Pieces = tuple[Codes, Codes, NDArray[np.int64], NDArray[np.int64]]

_WIDE = 1 << 64


def piece_arrays(codes: Sequence[int], size: int, *, start: int = 0, before: int = 0) -> Pieces:
    """Return the nonempty pieces into which sorted codes cut a domain.

    `codes`: Private. Nondecreasing, from `start` to `size` - 1; integers of any size. `size`: the end of the
    domain, not in it. `start`: the first code of the domain. `before`: the number of further codes less than
    `start`. `starts`, `lengths`: first code of each piece, and the number of its codes: 1 for a piece at one
    of `codes`; a piece between two of them has all codes between. `below`, `upto`: the number of data less
    than the codes of the piece, and the number of data not greater.
    """
    exact = _dtype(size)
    data = np.array(codes, dtype=exact)
    first = np.append(True, data[1:] != data[:-1])[: data.size].nonzero()[0]
    values = data[first]
    # Gaps and values alternate: a gap before each value and one after the last, each possibly empty.
    starts, ends = np.empty(2 * first.size + 1, dtype=exact), np.empty(2 * first.size + 1, dtype=exact)
    starts[0], starts[1::2], starts[2::2] = start, values, values + 1
    ends[-1], ends[:-1:2], ends[1::2] = size, values, values + 1
    ranks = before + np.append(first, data.size)
    below, upto = np.repeat(ranks, 2)[:-1], np.repeat(ranks, 2)[:-1]
    upto[1::2] = ranks[1:]
    kept = starts < ends
    return starts[kept], (ends - starts)[kept], below[kept], upto[kept]


class EqualCosts:
    """The codes of a domain grouped by cost, from pieces of equal cost.

    `starts`, `lengths` (k,): as returned by `piece_arrays`, k at least 1. `costs` (k,): the cost of each code
    of a piece. `costs`: Private. The distinct costs, increasing. `sizes`: Private. The number of codes of
    each cost.
    """

    def __init__(self, starts: NDArray[Any], lengths: NDArray[Any], costs: NDArray[Any]):
        order = np.argsort(costs, kind="stable")
        self._starts, self._lengths, ordered = starts[order], lengths[order], costs[order]
        first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        self._first: list[int] = [*first.tolist(), len(ordered)]
        self.costs: list[int] = ordered[first].tolist()
        # No sum overflows: pieces are disjoint, and the array's dtype fits the number of all codes.
        self.sizes: list[int] = np.add.reduceat(self._lengths, first).tolist()

    def code(self, group: int, place: int) -> int:
        """Return one of the codes of cost costs[group], from place 0 to sizes[group] - 1."""
        members = slice(self._first[group], self._first[group + 1])
        starts: list[int] = self._starts[members].tolist()
        ends: list[int] = list(accumulate(self._lengths[members].tolist(), initial=0))
        piece = bisect_right(ends, place) - 1
        return starts[piece] + place - ends[piece]


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes of one depth of a tree, in the order of their codes.

    `starts`, `lengths` (k,): first code of each node, and the number of its codes. `parents` (k,): index of
    each node's parent in the level above; children of one parent are adjacent. `counts` (k,): the number of
    records in each node, exact or noisy.
    """

    starts: Codes
    lengths: Codes
    parents: NDArray[np.int64]
    counts: NDArray[np.int64]

    def with_counts(self, counts: NDArray[np.int64]) -> "Level":
        """Return the same nodes with other counts."""
        return replace(self, counts=counts)


@dataclass(frozen=True, eq=False)
class Knots:
    """The starts of the leaves of a tree, with estimated prefix counts.

    `starts` (k,): increasing; the first is 0. `below` (k,): the estimated number of data less than each
    start. `levels` (k,): the least depth of a node with this start; 0 for the first.
    """

    starts: Codes
    below: NDArray[np.float64]
    levels: NDArray[np.int64]


def depth_of(size: int, fan_out: int) -> int:
    """Return the depth of a tree over `size` codes in which each leaf has one code.

    A node of depth l has at most ceil(size / fan_out**l) codes: rounding up at each of l cuts gives the same
    number as rounding up once.
    """
    check_count("size", size, low=1)
    check_count("fan_out", fan_out, low=2)
    depth = max(0, int((size.bit_length() - 1) / log2(fan_out)) - 1)  # a lower bound despite rounding
    reached = fan_out**depth
    while reached < size:
        depth, reached = depth + 1, reached * fan_out
    return depth


def sorted_codes(codes: Any, size: int) -> Codes:
    """Return codes in increasing order, in the dtype of the tree of a domain of `size` codes."""
    # Without a dtype, numpy would convert a list of large integers into floats, with a loss of digits.
    exact = codes if isinstance(codes, np.ndarray) else np.array(codes, dtype=object)
    return np.sort(exact.astype(_dtype(size)))


class TreeRecords(ABC):
    """Records that are counted in the nodes of a tree: in memory, or in parts that are read in passes."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of records."""

    @abstractmethod
    def counted(self, level: Level) -> NDArray[np.int64]:
        """Return the number of records in each node of a level."""


class SortedRecords(TreeRecords):
    """Records in memory.

    `codes` (n,): Private. From 0 to size - 1, in any order. `size`: Public. Number of codes in the domain.
    """

    def __init__(self, codes: Any, size: int):
        self._codes = sorted_codes(codes, size)

    def __len__(self) -> int:
        return len(self._codes)

    def counted(self, level: Level) -> NDArray[np.int64]:
        """Return the number of records in each node of a level."""
        return counted(level, self._codes)


def whole(size: int, count: int) -> Level:
    """Return the level of the root, a node of all codes and `count` records."""
    dtype = _dtype(size)
    one = np.zeros(1, dtype=np.int64)
    return Level(np.array([0], dtype=dtype), np.array([size], dtype=dtype), one, one + count)


def children_of(level: Level, places: NDArray[np.int64], fan_out: int) -> Level:
    """Return the level of the children of some nodes, with counts 0.

    `level`: the level of the nodes. `places` (k,): indices of the nodes, increasing; each node has at least
    two codes. `fan_out`: the greatest number of children; a node with fewer codes has one child for each
    code.
    """
    families = np.minimum(level.lengths[places], fan_out).astype(np.int64)
    parents = np.repeat(places, families)
    firsts = np.repeat(np.cumsum(families) - families, families)
    dtype = level.starts.dtype
    nth = (np.arange(parents.size) - firsts).astype(dtype)
    members = np.repeat(families, families).astype(dtype)
    length = level.lengths[parents]
    whole_part, rest = length // members, length % members  # the first `rest` children have one code more
    starts = level.starts[parents] + nth * whole_part + np.minimum(nth, rest)
    lengths = whole_part + (nth < rest).astype(dtype)
    return Level(starts, lengths, parents, np.zeros(parents.size, dtype=np.int64))


def counted(level: Level, codes: Codes) -> NDArray[np.int64]:
    """Return the number of the sorted codes in each node."""
    lasts = level.starts + level.lengths - level.lengths.dtype.type(1)  # a node's end may be 2**64
    counts: NDArray[np.int64] = np.searchsorted(codes, lasts, "right")
    counts -= np.searchsorted(codes, level.starts, "left")
    return counts


def prefix_counts(levels: Sequence[Level]) -> Knots:
    """Return least-squares estimates of the number of data less than the start of each leaf.

    `levels`: from the root downwards, with noisy counts; the root's count is exact. Result: prefix counts;
    because of the noise they need not be monotone.

    Notes
    -----
    From the root downwards, the counts of a node's children are shifted by one common number so that they sum
    to the node's estimate. This is the least-squares estimate, given the node. All nodes with the same start,
    at all depths, therefore have the same prefix count.
    """
    masses = levels[0].counts.astype(np.float64)
    below, first_at = np.zeros(masses.size), np.zeros(masses.size, dtype=np.int64)
    found = []
    for depth, level in enumerate(levels):
        if depth:
            families = np.bincount(level.parents, minlength=masses.size)
            sums = np.bincount(level.parents, level.counts, minlength=masses.size)
            short = (masses - sums) / np.maximum(families, 1)
            mine = level.counts + short[level.parents]
            before = np.cumsum(mine) - mine
            eldest = np.append(True, level.parents[1:] != level.parents[:-1])
            firsts = np.flatnonzero(eldest)
            before -= np.repeat(before[firsts], families[families > 0])
            below = below[level.parents] + before
            first_at = np.where(eldest, first_at[level.parents], depth)
            masses = mine
        last = depth + 1 == len(levels)
        cut = np.empty(0, dtype=np.int64) if last else levels[depth + 1].parents
        leaf = np.bincount(cut, minlength=masses.size) == 0
        found.append((level.starts[leaf], below[leaf], first_at[leaf]))
    starts, values, depths = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(starts)
    return Knots(starts[order], values[order], depths[order])


def _dtype(size: int) -> Any:
    """Return the dtype of codes, starts and lengths up to `size`."""
    return np.dtype(np.uint64) if size < _WIDE else np.dtype(object)
