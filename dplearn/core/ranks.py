"""Ranks of ordered codes: windows of ranks, ties broken apart, and quantiles found by recursive halving.

>>> ranks = UnsortedCodes(np.array([5, 9, 5, 2]))
>>> ranks.window(1, 3), ranks.count(5)
([5, 5], (1, 3))
>>> apart = ApartCodes(ranks, bits=2)  # four places for each number; the two 5 take the places 0 and 2
>>> apart.window(0, 4) == [4 * 2, 4 * 5, 4 * 5 + 2, 4 * 9]
True
>>> for level in halving([Fraction(i, 4) for i in (1, 2, 3)], finest=100):
...     print([(step.place, str(step.fraction), step.sensitivity) for step in level])
[(1, '1/2', 2)]
[(0, '1/2', 2), (2, '1/2', 2)]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import isqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ApartCodes",
    "Cell",
    "Ranks",
    "SortedCodes",
    "Step",
    "UnsortedCodes",
    "finest_fraction",
    "halving",
    "rank_sensitivity",
]

_FEW = 1 << 16  # for so many numbers, sorting all is as fast as a scan
_SAMPLE = 1 << 14
_BLOCK = 1 << 17  # numbers of one step of a scan: they fit the cache
_WORD = 8  # truth values in 64 bits
_COARSE = 1 << 10


class Ranks(Protocol):
    """A multiset of n codes with access by rank, the place of a code in rising order."""

    def __len__(self) -> int:
        """Return n."""

    def window(self, start: int, stop: int) -> list[int]:
        """Return the codes of the ranks start..stop-1, rising; 0 <= start <= stop <= n."""

    def count(self, code: int) -> tuple[int, int]:
        """Return how many codes are less than `code`, and how many not greater."""


@dataclass(frozen=True)
class Cell:
    """The codes in one interval of a domain.

    Attributes
    ----------
    ranks : Ranks
        Private. All codes.
    first, last : int
        Private. The codes in the interval have the ranks first..last-1.
    start, stop : int
        The interval: codes from start to stop - 1.
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
        """Return how many codes of the cell are less than `code`, and how many not greater.

        Codes equal to an end of the interval may belong to the neighbouring cell.
        """
        below, upto = (min(max(rank, self.first), self.last) for rank in self.ranks.count(code))
        return below - self.first, upto - self.first


class SortedCodes:
    """Codes sorted once, at the start.

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
        # Use the array's own type: numpy would convert uint64 and int64 to floats.
        sought = np.array([code], dtype=self._codes.dtype)
        below, upto = (int(self._codes.searchsorted(sought, side)[0]) for side in ("left", "right"))
        return below, upto


class UnsortedCodes:
    """Codes of numbers without a full sort: one scan finds, most likely, all windows near a rank.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers, none of them NaN once they are checked.
    encode : callable, optional
        From an array of values to their codes, nondecreasing. Default: the values are the codes.
    """

    def __init__(self, values: NDArray[Any], encode: Callable[[NDArray[Any]], NDArray[Any]] | None = None):
        self._values = values
        self._encode = encode or (lambda codes: codes)
        self._below, self._kept = 0, values[:0]  # a known rank, and the sorted values from there on

    def __len__(self) -> int:
        return len(self._values)

    def check(self, check: Callable[[NDArray[Any]], object], rank: int) -> None:
        """Pass all values to `check`, block by block, and keep those near a rank for later windows.

        Parameters
        ----------
        check : callable
            Takes an array of values, and raises an error if one of them is invalid.
        rank : int
            From 0 to n - 1; later windows are expected near it.
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


class ApartCodes:
    """Codes with ties broken: each code has 2**bits places, and equal codes take different ones.

    The places are evenly spread: equal codes take the first places of van der Corput's sequence, 0, 1/2, 1/4,
    3/4, 1/8, ... of all places. So replacing one code replaces one pair of code and place.

    Parameters
    ----------
    ranks : Ranks
        The codes.
    bits : int
        n is at most 2**bits.
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
            # At an end of the window, equal codes may continue outside it.
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
        """Return how many pairs precede (code // 2**bits, code % 2**bits), and how many do not follow it."""
        below, upto = self._ranks.count(code >> self._bits)
        place = code & ((1 << self._bits) - 1)
        return (
            below + _places_below(place, upto - below, self._bits),
            below + _places_below(place + 1, upto - below, self._bits),
        )


@dataclass(frozen=True)
class Step:
    """One quantile to find, between two known ones.

    Attributes
    ----------
    place : int
        Its index among all quantiles in rising order.
    low, high : int
        The indices of the two known quantiles; -1 and the number of all stand for the ends of the domain.
    fraction : Fraction
        The share of the data between these two that is to be below it.
    alone : bool
        Whether it is the only step of its level, as in `rank_sensitivity`.
    """

    place: int
    low: int
    high: int
    fraction: Fraction
    alone: bool

    @property
    def sensitivity(self) -> int:
        """See `rank_sensitivity`."""
        return rank_sensitivity(self.fraction, self.alone)


def rank_sensitivity(fraction: Fraction, alone: bool) -> int:
    """Return the sensitivity of b L - a m to one replaced record, where L of m data are less than some code.

    Parameters
    ----------
    fraction : Fraction
        a / b, from 0 to 1.
    alone : bool
        Whether the same budget is used for no other disjoint data. If it is, the record may move from one
        part of the data to another: the sensitivity is twice that of one added record and counts both parts.
    """
    a, b = fraction.numerator, fraction.denominator
    # An added record changes b L - a m by -a or b - a; a replaced one, with m the same, by b, 0 or -b.
    return b if alone else 2 * max(a, b - a)


def halving(wanted: Sequence[Fraction], *, finest: int) -> list[list[Step]]:
    """Return the steps that find all quantiles: the middle one first, then recursively those on either side.

    The steps form levels; a step needs only the quantiles of earlier levels.

    Parameters
    ----------
    wanted : sequence of Fraction of length k
        The quantiles: strictly rising, from 0 to 1.
    finest : int
        The greatest denominator; fractions are rounded to the nearest one allowed.

    Returns
    -------
    list of list of Step
        The levels, as many as k has binary digits.
    """
    ends = [*wanted, Fraction(1), Fraction(0)]  # index -1 reads the last one
    levels, gaps = [], [(-1, len(wanted))]
    while gaps:
        level = []
        for low, high in gaps:
            place = (low + high) // 2
            part = (ends[place] - ends[low]) / (ends[high] - ends[low])
            level.append(Step(place, low, high, part.limit_denominator(finest), len(gaps) == 1))
        levels.append(level)
        halves = [gap for step in level for gap in ((step.low, step.place), (step.place, step.high))]
        gaps = [(low, high) for low, high in halves if high - low > 1]
    return levels


def finest_fraction(n: int) -> int:
    """Return a denominator that rounds fractions of n data without a change of a rank by 1 or more."""
    return max(n, _COARSE)


def _around(
    values: NDArray[Any], start: int, stop: int, check: Callable[[NDArray[Any]], object] | None = None
) -> tuple[int, NDArray[Any]]:
    """Return a rank of at most `start`, and the sorted values from there up to `stop` - 1 or further.

    Two values of a sample bracket these ranks, most likely. A count verifies the bracket, and a wider one
    replaces it if it fails, until nothing is left outside.
    """
    n = len(values)
    if n <= _FEW:
        if check:
            check(values)
        return 0, np.sort(values)
    sample = np.sort(values[:: n // _SAMPLE])
    size = len(sample)
    # In a random sample a rank's place has a standard deviation of at most sqrt(size) / 2: the first bracket
    # holds both ends nineteen times in twenty. A wider one costs more time than rare failures do.
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
    alike = low is not None and low == high  # then all values between them are equal, and may be many
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
    """Return block[inside], fast if few values are inside: it first finds groups of eight with any inside."""
    if len(block) % _WORD:
        return block.compress(inside)
    words = (inside.view(np.uint64) != 0).nonzero()[0]
    places = inside.reshape(-1, _WORD).take(words, axis=0).ravel().nonzero()[0]
    chosen: NDArray[Any] = block.reshape(-1, _WORD).take(words, axis=0).ravel().take(places)
    return chosen


def _nth_place(i: int, count: int, bits: int) -> int:
    """Return the place of rank i among the first `count` of the sequence.

    The members with even numbers fill the lower half of the places in the order in which the whole sequence
    fills all places; the members with odd numbers fill the upper half so.
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
    """Return how many of the first `count` members of the sequence are below `place`, at most 2**bits."""
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
