"""Columns as factors: the distinct cells of a column, and for each row the place of its cell among them.

A function is applied to each distinct cell, and taken for each row: only the time depends on other cells.

>>> read = factor(np.array(["no", None, "no"], dtype=object))
>>> read.codes.tolist(), read.levels.tolist(), read.counts()
([0, 1, 0], ['no', None], [('no', 2), (None, 1)])
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cells = Callable[[Any], NDArray[Any]]  # from an array to values of its cells, each of its own cell alone

_FEW = 1 << 12  # cells by which is told whether cells repeat
_BUILT_IN = {str, int, float, bool, bytes, type(None)}
_NEVER_EQUAL = ({str, int, type(None)}, {str, float, type(None)})  # cells of different ones of these types


@dataclass(frozen=True, repr=False, eq=False)
class Factor:
    """A column as its distinct cells, and the place of each row's cell among them."""

    codes: NDArray[Any]  # private, as are the other attributes; -1 is the place of the last level
    levels: NDArray[Any]  # some may occur in no row
    sizes: NDArray[np.int64]  # the number of rows of each level

    @classmethod
    def of(cls, codes: NDArray[Any], levels: list[Any]) -> "Factor":
        """Return a factor that takes little memory."""
        sizes = np.bincount(np.add(codes, 1, dtype=np.intp), minlength=len(levels) + 1)
        sizes[-1] += sizes[0]
        narrow = codes.astype(np.min_scalar_type(-max(1, len(levels))), copy=False)
        return cls(narrow, np.fromiter(levels, dtype=object, count=len(levels)), sizes[1:])

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, places: Any) -> "Factor":
        return Factor.of(self.codes[places], self.levels.tolist())

    def map(self, function: Cells) -> NDArray[Any]:
        occur = self.sizes > 0  # a function may refuse other levels
        found = function(self.levels[occur])
        values = np.empty(len(self.levels), dtype=found.dtype)
        values[occur] = found
        return values.take(self.codes)

    def with_levels(self, levels: list[Any]) -> "Factor":
        """Return the column with other cells in place of its levels."""
        return Factor(self.codes, np.fromiter(levels, dtype=object, count=len(levels)), self.sizes)

    def counts(self) -> list[tuple[Any, int]]:
        """Return each cell that occurs, and the number of rows that have it."""
        counted = zip(self.levels.tolist(), self.sizes.tolist(), strict=True)
        return [(level, size) for level, size in counted if size]


@dataclass(frozen=True, repr=False, eq=False)
class Gapped:
    """A column of whole numbers, some of which are missing."""

    numbers: NDArray[Any]  # private; any number in a gap
    gaps: NDArray[np.bool_]  # private

    def map(self, function: Cells) -> NDArray[Any]:
        """Return the values of a function for all numbers, and for None in the gaps."""
        missing = function(np.array([None], dtype=object))
        if self.gaps.all():
            return np.repeat(missing, len(self.gaps))
        found = function(np.where(self.gaps, self.numbers[self.gaps.argmin()], self.numbers))
        found[self.gaps] = missing
        return found


def repeats(cells: NDArray[Any]) -> bool:
    """Return whether the first cells of an array are of built-in types, and each occurs twice on average."""
    first = cells[:_FEW].tolist()
    kinds = list(map(type, first))
    return set(kinds) <= _BUILT_IN and 2 * len(set(zip(kinds, first, strict=True))) <= len(first)


def factor(cells: NDArray[Any]) -> Factor:
    """Return an array as a factor, with a level for each row if some cell is not of a built-in type."""
    listed = cells.tolist()
    kinds = set(map(type, listed))
    if not kinds <= _BUILT_IN:
        return Factor.of(np.arange(len(listed)), listed)
    alike = len(kinds) == 1 or any(kinds <= each for each in _NEVER_EQUAL)
    keys: Iterable[Any] = listed if alike else zip(map(type, listed), listed, strict=True)
    place: dict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(place.__getitem__, keys), np.int32, len(listed))
    return Factor.of(codes, list(place) if alike else [cell for _, cell in place])
