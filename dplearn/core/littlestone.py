"""The Littlestone dimension of a table of concepts, by recursion over version spaces.

A version space is a set of concepts, here the bits of a Python integer. Its Littlestone dimension is 0 if it
holds one concept; otherwise it is the maximum over the points that split it of 1 + the lesser dimension of
the two parts.

>>> thresholds = VersionSpaces([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
>>> thresholds.bounds()
(2, 2)
>>> thresholds.tree(2)
([1, 2, 0], [0, 1, 2, 3])
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_SPACES", "VersionSpaces"]

MOST_SPACES = 10**6  #: The number of version spaces after which the recursion stops with bounds.


class _FullError(Exception):
    """The memo holds as many version spaces as it may."""


class VersionSpaces:
    """The version spaces of a table of distinct concepts.

    Parameters
    ----------
    table : array-like of shape (n_concepts, n_points)
        0 or 1; the rows are distinct.
    most : int
        The greatest number of version spaces in the memo.
    """

    def __init__(self, table: Any, most: int = MOST_SPACES):
        bits: NDArray[np.bool_] = np.asarray(table, dtype=bool)
        self.size = len(bits)
        self.columns = [_as_integer(column) for column in bits.T]
        self._distinct = set(self.columns)
        self._most = most
        self._known: dict[int, tuple[int, int]] = {}  # bounds on the dimension of a version space

    @property
    def all(self) -> int:
        """The version space of all concepts."""
        return (1 << self.size) - 1

    def bounds(self, space: int | None = None) -> tuple[int, int]:
        """Return a lower and an upper bound on the dimension; they are equal unless the memo is full.

        Parameters
        ----------
        space : int, optional
            A nonempty version space; all concepts by default.
        """
        space = self.all if space is None else space
        least, most = 0, space.bit_count().bit_length() - 1
        try:
            while least < most and self._reaches(space, least + 1):
                least += 1
        except _FullError:
            return least, most
        return least, least

    def tree(self, depth: int, space: int | None = None) -> tuple[list[int], list[int]]:
        """Return a mistake tree: its points in the order of a heap, and the concepts of its leaves.

        Parameters
        ----------
        depth : int
            At most the lower bound of `bounds`, which must have been computed.
        space : int, optional
            A nonempty version space; all concepts by default.

        Returns
        -------
        points : list of int
            The 2**depth - 1 positions of points. The children of node i (from 1) are 2 i for label 0 and
            2 i + 1 for label 1.
        concepts : list of int
            The 2**depth positions of concepts, from the leaf of labels 0, ..., 0 to that of 1, ..., 1.
        """
        level, points = [self.all if space is None else space], []
        for below in reversed(range(depth)):
            following = []
            for each in level:
                column = self._split(each, below)
                points.append(self.columns.index(column))
                following += [each & ~column, each & column]
            level = following
        return points, [(each & -each).bit_length() - 1 for each in level]

    def reaches(self, space: int, depth: int) -> bool:
        """Return whether the dimension of a nonempty version space is at least `depth`; False if unknown."""
        try:
            return self._reaches(space, depth)
        except _FullError:
            return False

    def _reaches(self, space: int, depth: int) -> bool:
        """Return whether the dimension of a nonempty version space is at least `depth`."""
        size = space.bit_count()
        if depth <= 0 or size >> depth == 0:
            return depth <= 0
        if depth == 1:
            return True  # two concepts differ at some point
        least, most = self._known.get(space, (1, size.bit_length() - 1))
        if least < depth <= most:
            if len(self._known) >= self._most and space not in self._known:
                raise _FullError
            halves = self._halves(space, depth - 1)
            if any(self._reaches(p, depth - 1) and self._reaches(q, depth - 1) for p, q in halves):
                least = depth
            else:
                most = depth - 1
            self._known[space] = least, most
        return depth <= least

    def _halves(self, space: int, depth: int) -> list[tuple[int, int]]:
        """Return the ways to split a version space into parts of 2**depth concepts, the most even first."""
        parts = {space & column for column in self._distinct}
        split = {min((p.bit_count(), p), ((q := space ^ p).bit_count(), q)) for p in parts}
        return [(p, space ^ p) for count, p in sorted(split, reverse=True) if count >> depth]

    def _split(self, space: int, depth: int) -> int:
        """Return a column that splits a version space into two of dimension at least `depth`."""
        size = space.bit_count()
        for column in sorted(self._distinct, key=lambda column: abs(2 * (space & column).bit_count() - size)):
            one = space & column
            if one and one != space and self.reaches(one, depth) and self.reaches(space ^ one, depth):
                return column
        raise ValueError(f"no mistake tree of depth {depth + 1} is known for these concepts")


def _as_integer(column: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")
