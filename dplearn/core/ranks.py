"""Numbers asked for by rank: a window of ranks without sorting all, and equal numbers told apart.

>>> ranks = UnsortedCodes(np.array([5, 9, 5, 2]))
>>> ranks.window(1, 3), ranks.count(5)
([5, 5], (1, 3))
>>> apart = ApartCodes(ranks, bits=2)  # four places for each number; the two 5 take the places 0 and 2
>>> apart.window(0, 4) == [4 * 2, 4 * 5, 4 * 5 + 2, 4 * 9]
True
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from math import isqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["ApartCodes", "Cell", "Ranks", "SortedCodes", "UnsortedCodes"]

_FEW = 1 << 16  # numbers that are sorted as fast as looked through
_SAMPLE = 1 << 14
_BLOCK = 1 << 17  # numbers looked through at a time: they stay in the cache
_WORD = 8  # truth values in 64 bits


class Ranks(Protocol):
    """n codes that can be asked for by their places in rising order."""

    def __len__(self) -> int:
        """Return n."""

    def window(self, start: int, stop: int) -> list[int]:
        """Return the codes of the ranks start..stop-1, rising; 0 <= start <= stop <= n."""

    def count(self, code: int) -> tuple[int, int]:
        """Return how many codes are less than `code`, and how many not greater."""


@dataclass(frozen=True)
class Cell:
    """The codes within a stretch of a domain.

    Attributes
    ----------
    ranks : Ranks
        Private. All codes.
    first, last : int
        Private. The ranks of those within are first..last-1.
    start, stop : int
        The stretch: codes from start to stop - 1.
    """

    ranks: Ranks
    first: int
    last: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.last - self.first

    def window(self, start: int, stop: int) -> list[int]:
        """Return the codes of the ranks start..stop-1 within the cell."""
        return self.ranks.window(self.first + start, self.first + stop)

    def count(self, code: int) -> tuple[int, int]:
        """Return how many codes within are less than `code`, and how many not greater.

        At the ends of the stretch there may be codes that count to the next cell.
        """
        below, upto = (min(max(rank, self.first), self.last) for rank in self.ranks.count(code))
        return below - self.first, upto - self.first


class SortedCodes:
    """Codes that are sorted once.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Integers of any type, Python's in an object array too.
    """

    def __init__(self, codes: NDArray[Any]):
        self._codes = np.sort(codes)

    def __len__(self) -> int:
        return len(self._codes)

    def window(self, start: int, stop: int) -> list[int]:
        """Return the codes of the ranks start..stop-1."""
        codes: list[int] = self._codes[start:stop].tolist()
        return codes

    def count(self, code: int) -> tuple[int, int]:
        """Return how many codes are less, and how many not greater."""
        # Of the array's own type: of uint64 and int64, numpy would make floats.
        sought = np.array([code], dtype=self._codes.dtype)
        below, upto = (int(self._codes.searchsorted(sought, side)[0]) for side in ("left", "right"))
        return below, upto


class UnsortedCodes:
    """Codes of numbers that are looked through, not sorted: most likely once for all windows near a rank.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers, none of them NaN once they are checked.
    encode : callable, optional
        From an array of values to their codes, none less than that of a smaller value. Left out: values
        are codes.
    """

    def __init__(self, values: NDArray[Any], encode: Callable[[NDArray[Any]], NDArray[Any]] | None = None):
        self._values = values
        self._encode = encode or (lambda codes: codes)
        self._below, self._kept = 0, values[:0]  # of which ranks values are known, and these

    def __len__(self) -> int:
        return len(self._values)

    def check(self, check: Callable[[NDArray[Any]], object], rank: int) -> None:
        """Hand all values to `check`, some at a time, and keep those near a rank while they are at hand.

        Parameters
        ----------
        check : callable
            Takes an array of values, and raises an error if it must not hold one of them.
        rank : int
            From 0 to n - 1; about where windows will be asked for.
        """
        self._below, self._kept = _around(self._values, rank, rank + 1, check)

    def window(self, start: int, stop: int) -> list[int]:
        """Return the codes of the ranks start..stop-1."""
        if start == stop:
            return []
        if not self._below <= start < stop <= self._below + len(self._kept):
            self._below, self._kept = _around(self._values, start, stop)
        codes: list[int] = self._encode(self._kept[start - self._below : stop - self._below]).tolist()
        return codes

    def count(self, code: int) -> tuple[int, int]:
        """Return how many codes are less, and how many not greater."""
        codes = self._encode(self._values)
        sought = np.array(code, dtype=codes.dtype)
        return int(np.count_nonzero(codes < sought)), int(np.count_nonzero(codes <= sought))


def _around(
    values: NDArray[Any], start: int, stop: int, check: Callable[[NDArray[Any]], object] | None = None
) -> tuple[int, NDArray[Any]]:
    """Return values of successive ranks, sorted, start..stop-1 among them, and the first of these ranks.

    Two values of a sample bracket the ranks, most likely; that they do is then counted, else they are taken
    further apart, until nothing is left outside.
    """
    n = len(values)
    if n <= _FEW:
        if check:
            check(values)
        return 0, np.sort(values)
    sample = np.sort(values[:: n // _SAMPLE])
    size = len(sample)
    # In a random sample a rank's place has a standard deviation of at most sqrt(size) / 2: the first bracket
    # holds both ends nineteen times in twenty. What it keeps costs more than that it fails now and then.
    margin, below, kept = isqrt(size), 0, values[:0]
    while not below <= start < stop <= below + len(kept):
        first, last = start * size // n - margin, stop * size // n + margin
        low = sample[first] if first >= 0 else None
        high = sample[last] if last < size else None
        below, kept = _between(values, low, high, check)
        margin, check = 4 * margin, None
    return below, kept


def _between(
    values: NDArray[Any], low: Any, high: Any, check: Callable[[NDArray[Any]], object] | None
) -> tuple[int, NDArray[Any]]:
    """Return how many values are below `low`, and those from `low` to `high`, sorted; None is an open end."""
    below, kept = 0, []
    alike = low is not None and low == high  # all that lie between them, and they may be many
    for first in range(0, len(values), _BLOCK):
        block = np.ascontiguousarray(values[first : first + _BLOCK])
        if check:
            check(block)
        inside = np.ones(len(block), dtype=bool) if low is None else block >= low
        below += len(block) - int(np.count_nonzero(inside))
        if high is not None:
            inside &= block <= high
        kept.append(np.full(np.count_nonzero(inside), low) if alike else _chosen(block, inside))
    found = np.concatenate(kept)
    return below, found if alike else np.sort(found)


def _chosen(block: NDArray[Any], inside: NDArray[np.bool_]) -> NDArray[Any]:
    """Return block[inside], fast where few are: eight at a time tell first whether any of them is."""
    if len(block) % _WORD:
        return block.compress(inside)
    words = (inside.view(np.uint64) != 0).nonzero()[0]
    places = inside.reshape(-1, _WORD).take(words, axis=0).ravel().nonzero()[0]
    chosen: NDArray[Any] = block.reshape(-1, _WORD).take(words, axis=0).ravel().take(places)
    return chosen


class ApartCodes:
    """Codes told apart: each has 2**bits places, and equal ones stand at different places, evenly spread.

    Replacing one code replaces one of what they turn into: the equal ones take the first places of a fixed
    sequence, van der Corput's: 0, 1/2, 1/4, 3/4, 1/8, ... of all.

    Parameters
    ----------
    ranks : Ranks
        The codes.
    bits : int
        There are at most 2**bits of them.
    """

    def __init__(self, ranks: Ranks, bits: int):
        self._ranks = ranks
        self._bits = bits

    def __len__(self) -> int:
        return len(self._ranks)

    def window(self, start: int, stop: int) -> list[int]:
        """Return code * 2**bits + place for the ranks start..stop-1."""
        codes = self._ranks.window(start, stop)
        found: list[int] = []
        rank = start
        for code, equal in groupby(codes):
            here = len(list(equal))
            # Others that are equal may stand outside the window, at its ends.
            cut = rank == start or rank + here == stop
            below, upto = self._ranks.count(code) if cut else (rank, rank + here)
            shifted = code << self._bits
            if upto - below == 1:
                found.append(shifted)  # the first place
            else:
                ranks = range(rank - below, rank - below + here)
                found += [shifted + _nth_place(i, upto - below, self._bits) for i in ranks]
            rank += here
        return found

    def count(self, code: int) -> tuple[int, int]:
        """Return how many stand before code // 2**bits, code % 2**bits, and how many not after."""
        below, upto = self._ranks.count(code >> self._bits)
        place = code & ((1 << self._bits) - 1)
        return (
            below + _places_below(place, upto - below, self._bits),
            below + _places_below(place + 1, upto - below, self._bits),
        )


def _nth_place(i: int, count: int, bits: int) -> int:
    """Return the place of rank i among the first `count` of the sequence.

    The even-numbered members of the sequence, halved in number, fill the lower half of the places as the
    whole sequence fills all; so do the odd-numbered ones the upper half.
    """
    place = 0
    while count > 1:
        bits -= 1
        even = (count + 1) // 2
        if i < even:
            count = even
        else:
            i, count, place = i - even, count // 2, place + (1 << bits)
    return place


def _places_below(place: int, count: int, bits: int) -> int:
    """Return how many of the first `count` of the sequence are below `place`, at most 2**bits."""
    below = 0
    while count and place:
        if bits == 0:
            return below + count
        bits -= 1
        even = (count + 1) // 2
        if place >> bits:
            below, place, count = below + even, place - (1 << bits), count // 2
        else:
            count = even
    return below
