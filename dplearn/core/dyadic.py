"""Trees over an ordered domain: each node an interval of codes, cut into at most `fan_out` nearly equal ones.

Only what was opened is there: a tree costs as much as it shows, whatever the size of its domain.

>>> import numpy as np
>>> root = whole(10, count=4)
>>> halves = opened(root, np.array([0]), fan_out=2)
>>> halves.starts.tolist(), halves.lengths.tolist()
([0, 5], [5, 5])
>>> counted(halves, np.array([1, 1, 6, 9], dtype=np.uint64)).tolist()
[2, 2]
>>> knots = prefix_counts([root, halves.with_counts(np.array([1, 5]))])  # 2 too many: 1 less for each
>>> knots.starts.tolist(), knots.below.tolist(), knots.levels.tolist()
([0, 5], [0.0, 0.0], [0, 1])
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count

__all__ = ["Knots", "Level", "counted", "depth_of", "opened", "prefix_counts", "sorted_codes", "whole"]

Codes = NDArray[Any]  # uint64, or Python integers in an object array where 64 bits do not suffice
_WIDE = 1 << 64


@dataclass(frozen=True, eq=False)
class Level:
    """Nodes of one depth, in the order of their codes.

    Attributes
    ----------
    starts, lengths : ndarray of uint64 or object of shape (k,)
        First code of each node, and how many codes it holds.
    parents : ndarray of int64 of shape (k,)
        Place of each node's parent in the level above; children of one parent stand together.
    counts : ndarray of int64 of shape (k,)
        How many records each holds, or is said to hold.
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
    """Where the leaves of a tree begin, and how many records come before.

    Attributes
    ----------
    starts : ndarray of uint64 or object of shape (k,)
        Rising; the first is 0.
    below : ndarray of float64 of shape (k,)
        Estimates of how many codes are less than each start.
    levels : ndarray of int64 of shape (k,)
        The depth at which a node first began there; 0 for the first.
    """

    starts: Codes
    below: NDArray[np.float64]
    levels: NDArray[np.int64]


def depth_of(size: int, fan_out: int) -> int:
    """Return how often a domain of `size` codes must be cut until each node holds one.

    A node of depth l holds at most ceil(size / fan_out**l) codes: cutting rounds up once or l times alike.
    """
    check_count("size", size, low=1)
    check_count("fan_out", fan_out, low=2)
    depth = max(0, int((size.bit_length() - 1) / log2(fan_out)) - 1)  # too small, whatever was rounded
    reached = fan_out**depth
    while reached < size:
        depth, reached = depth + 1, reached * fan_out
    return depth


def sorted_codes(codes: Any, size: int) -> Codes:
    """Return codes in rising order, in the type that the tree of a domain of `size` codes has."""
    # A list of large integers would become an array of floats, and lose digits.
    exact = codes if isinstance(codes, np.ndarray) else np.array(codes, dtype=object)
    return np.sort(exact.astype(_dtype(size)))


def whole(size: int, count: int) -> Level:
    """Return the level of the root alone, which holds all codes and `count` records."""
    dtype = _dtype(size)
    one = np.zeros(1, dtype=np.int64)
    return Level(np.array([0], dtype=dtype), np.array([size], dtype=dtype), one, one + count)


def opened(level: Level, places: NDArray[np.int64], fan_out: int) -> Level:
    """Return the children of some nodes, without counts.

    Parameters
    ----------
    level : Level
        Where the nodes are.
    places : ndarray of int64 of shape (k,)
        Rising; nodes of at least two codes.
    fan_out : int
        The most children of a node; one with fewer codes has a child for each.
    """
    families = np.minimum(level.lengths[places], fan_out).astype(np.int64)
    parents = np.repeat(places, families)
    firsts = np.repeat(np.cumsum(families) - families, families)
    dtype = level.starts.dtype
    nth = (np.arange(parents.size) - firsts).astype(dtype)
    members = np.repeat(families, families).astype(dtype)
    length = level.lengths[parents]
    whole_part, rest = length // members, length % members  # the first `rest` children hold one code more
    starts = level.starts[parents] + nth * whole_part + np.minimum(nth, rest)
    lengths = whole_part + (nth < rest).astype(dtype)
    return Level(starts, lengths, parents, np.zeros(parents.size, dtype=np.int64))


def counted(level: Level, codes: Codes) -> NDArray[np.int64]:
    """Return how many of the sorted codes each node holds."""
    lasts = level.starts + level.lengths - level.lengths.dtype.type(1)  # a node's end may be 2**64
    counts: NDArray[np.int64] = np.searchsorted(codes, lasts, "right")
    counts -= np.searchsorted(codes, level.starts, "left")
    return counts


def prefix_counts(levels: Sequence[Level]) -> Knots:
    """Return what a tree with noisy counts says of how many codes are less than the start of each leaf.

    Parameters
    ----------
    levels : sequence of Level
        From the root, whose count is known, downwards.

    Returns
    -------
    Knots
        Not always rising: noise has its way.

    Notes
    -----
    Going down, the children of a node are all changed by the same number so that they add up to it: the least
    squares, given the node. So whatever begins somewhere, and however deep, is estimated alike.
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
    """Return the type of codes, starts and lengths up to `size`."""
    return np.dtype(np.uint64) if size < _WIDE else np.dtype(object)
