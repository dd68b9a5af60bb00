"""Intervals of an ordered domain: pieces between data, trees of nested intervals, and cells with public ends.

**Pieces.** Sorted data cut a domain into intervals whose codes have the same rank. **Trees.** The children of
a node are at most `fan_out` nearly equal intervals; only those of selected nodes are stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count

Codes = NDArray[Any]  # uint64, or Python integers in an object array where 64 bits do not suffice
Pieces = tuple[Codes, Codes, NDArray[np.int64], NDArray[np.int64]]

_WIDE = 1 << 64


def piece_arrays(codes: Sequence[int], size: int, *, start: int = 0) -> Pieces:
    """Return the nonempty pieces into which nondecreasing codes cut the domain from `start` to `size` - 1."""
    # For each piece its first code, its number of codes, 1 at one of `codes`, and the numbers of data less
    # than its codes and not greater.
    exact = _dtype(size)
    data = np.array(codes, dtype=exact)
    first = np.append(True, data[1:] != data[:-1])[: data.size].nonzero()[0]
    values = data[first]
    # Gaps and values alternate: a gap before each value and one after the last, each possibly empty.
    starts, ends = np.empty(2 * first.size + 1, dtype=exact), np.empty(2 * first.size + 1, dtype=exact)
    starts[0], starts[1::2], starts[2::2] = start, values, values + 1
    ends[-1], ends[:-1:2], ends[1::2] = size, values, values + 1
    ranks = np.append(first, data.size)
    below, upto = np.repeat(ranks, 2)[:-1], np.repeat(ranks, 2)[:-1]
    upto[1::2] = ranks[1:]
    kept = starts < ends
    return starts[kept], (ends - starts)[kept], below[kept], upto[kept]


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes of one depth of a tree, in the order of their codes."""

    starts: Codes  # first code of each node
    lengths: Codes
    parents: NDArray[np.int64]  # indices in the level above; children of one parent are adjacent
    counts: NDArray[np.int64]  # exact or noisy

    def with_counts(self, counts: NDArray[np.int64]) -> "Level":
        """Return the same nodes with other counts."""
        return replace(self, counts=counts)


@dataclass(frozen=True, eq=False)
class Knots:
    """The starts of the leaves of a tree, with estimated prefix counts."""

    starts: Codes  # increasing; the first is 0
    below: NDArray[np.float64]  # estimated number of data less than each start
    levels: NDArray[np.int64]  # the least depth of a node with this start


def depth_of(size: int, fan_out: int) -> int:
    """Return the depth of a tree over `size` codes in which each leaf has one code."""
    # A node of depth l has at most ceil(size / fan_out**l) codes: rounding up once or at each cut is the
    # same.
    check_count("size", size, low=1)
    check_count("fan_out", fan_out, low=2)
    depth = max(0, int((size.bit_length() - 1) / log2(fan_out)) - 1)  # a lower bound despite rounding
    reached = fan_out**depth
    while reached < size:
        depth, reached = depth + 1, reached * fan_out
    return depth


def exact_codes(codes: Any, size: int) -> Codes:
    """Return codes in the dtype of the tree of a domain of `size` codes."""
    # Without a dtype, numpy would convert a list of large integers into floats, with a loss of digits.
    exact = codes if isinstance(codes, np.ndarray) else np.array(codes, dtype=object)
    return exact.astype(_dtype(size))


def sorted_codes(codes: Any, size: int) -> Codes:
    """Return codes in increasing order, in the dtype of the tree of a domain of `size` codes."""
    return np.sort(exact_codes(codes, size))


class SortedRecords:
    """Records in memory, codes from 0 to size - 1, to be counted in the nodes of a tree."""

    def __init__(self, codes: Any, size: int):
        self._codes = sorted_codes(codes, size)

    def __len__(self) -> int:
        return len(self._codes)

    def counted(self, level: Level) -> NDArray[np.int64]:
        return counted(level, self._codes)


def whole(size: int, count: int) -> Level:
    """Return the level of the root, a node of all codes and `count` records."""
    dtype = _dtype(size)
    one = np.zeros(1, dtype=np.int64)
    return Level(np.array([0], dtype=dtype), np.array([size], dtype=dtype), one, one + count)


def children_of(level: Level, places: NDArray[np.int64], fan_out: int) -> Level:
    """Return the level of the children, at most `fan_out` each, of nodes of two codes or more."""
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
    """Return least-squares estimates of the number of data less than the start of each leaf."""
    # `levels` are noisy but for the root's count. From the root downwards, the counts of a node's children
    # are shifted by one number so that they sum to the node's estimate, the least-squares estimate given the
    # node. So all nodes with the same start have the same prefix count.
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


_BITS = 16  # of a code, from the highest, that are looked up
_FEW = 1 << 12  # as many codes are searched as fast as tables are made


class CodePlaces:
    """The function from codes to the intervals that contain them; the code `size` is alone in a last one."""

    # A code's highest bits determine the last interval that has a code with these bits. If it and the one
    # before are the only such intervals, then one comparison with its first code decides.

    def __init__(self, starts: NDArray[Any], size: int):
        self._starts = np.append(starts.astype(np.uint64), np.uint64(size))
        self._shift = max(0, size.bit_length() - _BITS)
        self._size = size

    def __call__(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        if codes.dtype == object:
            codes = codes.astype(np.uint64)
        if len(codes) < _FEW or not self._apart:
            return self._search(codes).astype(np.int16)
        if not self._shift:
            return np.asarray(self._last.take(codes.astype(np.intp, copy=False)))
        heads = (codes >> codes.dtype.type(self._shift)).astype(np.intp)
        places: NDArray[np.int16] = self._last.take(heads)
        places -= codes < self._begins.take(heads)
        return places

    @cached_property
    def _ends(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The intervals of the first and of the last code with the same highest bits."""
        heads = np.arange((self._size >> self._shift) + 1, dtype=np.uint64) << np.uint64(self._shift)
        return self._search(heads), self._search(heads + np.uint64((1 << self._shift) - 1))

    @cached_property
    def _apart(self) -> bool:
        """Whether codes with the same highest bits are in at most two intervals."""
        first, last = self._ends
        return bool((last - first <= 1).all())

    @cached_property
    def _last(self) -> NDArray[np.int16]:
        return self._ends[1].astype(np.int16)

    @cached_property
    def _begins(self) -> NDArray[np.uint64]:
        return np.asarray(self._starts[self._last])

    def _search(self, codes: NDArray[Any]) -> NDArray[np.intp]:
        return np.searchsorted(self._starts, codes.astype(np.uint64), "right") - 1


def first_codes(place_of: Callable[[NDArray[np.uint64]], NDArray[Any]], n: int, size: int) -> NDArray[Any]:
    """Return the first code of each of n nonempty intervals; `place_of` is nondecreasing."""
    low, high = np.zeros(n, dtype=np.uint64), np.full(n, size - 1, dtype=np.uint64)
    wanted = np.arange(n)
    for _ in range(size.bit_length()):
        middle = low + (high - low) // np.uint64(2)
        reached = place_of(middle) >= wanted
        low = np.where(reached, low, np.minimum(middle + np.uint64(1), high))
        high = np.where(reached, middle, high)
    return high
