"""Access to codes by rank, with ties broken if required, and the steps of recursive halving for quantiles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FEW = 1 << 16  # for up to this many numbers, a full sort is as fast as a scan
SAMPLE = 1 << 14
BLOCK = 1 << 17  # numbers in one block of a scan; they fit into the cache
_WORD = 8  # truth values in 64 bits
_COARSE = 1 << 10
_NARROW = 2  # bytes of codes that are counted without sorting

Places = Sequence[int] | NDArray[np.int64]


class Ranks(Protocol):
    """Interface of a multiset of n codes with access by rank, the position in nondecreasing order."""

    def __len__(self) -> int:
        """Return n."""

    def at(self, ranks: Places) -> list[int]:
        """Return the codes of some ranks, each from 0 to n - 1."""

    def count(self, codes: Any) -> tuple[Any, Any]:
        """Return the number of codes less than each of `codes`, one or several, and the number at most it."""


@dataclass(frozen=True)
class Cell:
    """The codes in one interval of a domain."""

    ranks: Ranks  # Private. All codes
    first: int  # Private. The codes in the interval have the ranks first..last-1
    last: int
    start: int  # codes from start to stop - 1
    stop: int

    def __len__(self) -> int:
        return self.last - self.first

    def at(self, ranks: Places) -> list[int]:
        """Return the codes of some ranks within the cell."""
        return self.ranks.at(np.asarray(ranks, dtype=np.int64) + self.first) if len(ranks) else []

    def count(self, code: int) -> tuple[int, int]:
        """Return the number of codes of the cell less than `code`, and the number at most `code`."""
        # Codes equal to an end of the interval may belong to the neighbouring cell.
        below, upto = (min(max(int(rank), self.first), self.last) for rank in self.ranks.count(code))
        return below - self.first, upto - self.first


class SortedCodes:
    """Integers of any dtype, possibly Python integers in an object array, sorted at construction."""

    def __init__(self, codes: NDArray[Any]):
        self._codes = np.sort(codes)

    def __len__(self) -> int:
        return len(self._codes)

    def at(self, ranks: Places) -> list[int]:
        """Return the codes of some ranks."""
        return self._codes[np.asarray(ranks, dtype=np.int64)].tolist()

    def count(self, codes: Any) -> tuple[Any, Any]:
        """Return the number of codes less than each of `codes`, and the number at most it."""
        # In the array's own dtype: numpy would convert uint64 and int64 to floats.
        sought = np.array(codes, dtype=self._codes.dtype)
        return self._codes.searchsorted(sought), self._codes.searchsorted(sought, "right")


class UnsortedCodes:
    """Codes of numbers by a nondecreasing `encode`, without a full sort: a scan finds windows of ranks."""

    def __init__(self, values: NDArray[Any], encode: Callable[[NDArray[Any]], NDArray[Any]] | None = None):
        self._values = values
        self._encode = encode or (lambda codes: codes)
        self._keep(0, values[:0])

    def __len__(self) -> int:
        return len(self._values)

    def check(self, check: Callable[[NDArray[Any]], object], rank: int) -> None:
        """Pass all values to `check`, which may raise, block by block, and keep those near a rank."""
        self._keep(*around(self._values, rank, rank + 1, check))

    def at(self, ranks: Places) -> list[int]:
        start, stop = int(np.min(ranks)), int(np.max(ranks)) + 1
        if not self._below <= start < stop <= self._below + len(self._kept):
            margin = stop - start  # further ranks often follow
            self._keep(*around(self._values, max(start - margin, 0), min(stop + margin, len(self))))
        return self._kept.at(np.asarray(ranks) - self._below)

    def count(self, codes: Any) -> tuple[Any, Any]:
        """Return the number of codes less than the code, and the number at most it."""
        below, upto = self._kept.count(codes)
        if 0 < below <= upto < len(self._kept):  # none of those that are not kept is equal
            return self._below + below, self._below + upto
        every = self._encode(self._values)
        sought = np.array(codes, dtype=every.dtype)
        return np.count_nonzero(every < sought), np.count_nonzero(every <= sought)

    def _keep(self, below: int, values: NDArray[Any]) -> None:
        """Keep sorted values from a known rank on."""
        self._below, self._kept = below, SortedCodes(self._encode(values) if len(values) else values)


class ApartCodes:
    """Codes with ties broken: each of n <= 2**bits codes has 2**bits places, equal codes different ones."""

    # Equal codes have the first places of van der Corput's sequence, 0, 1/2, 1/4, 3/4, ... of all places. So
    # a replaced code replaces one pair of code and place.

    def __init__(self, ranks: Ranks, bits: int):
        self._ranks = ranks
        self._bits = bits

    def __len__(self) -> int:
        return len(self._ranks)

    def at(self, ranks: Places) -> list[int]:
        """Return code * 2**bits + place for some ranks."""
        codes = self._ranks.at(ranks)
        below, upto = self._ranks.count(codes)
        places = _nth_places(np.asarray(ranks, dtype=np.int64) - below, upto - below, self._bits)
        return [(code << self._bits) + place for code, place in zip(codes, places.tolist(), strict=True)]

    def count(self, codes: Any) -> tuple[Any, Any]:
        """Return the number of pairs below (codes // 2**bits, codes % 2**bits), and the number at most it."""
        below, upto = map(int, self._ranks.count(codes >> self._bits))
        place = codes & ((1 << self._bits) - 1)
        return (
            below + _places_below(place, upto - below, self._bits),
            below + _places_below(place + 1, upto - below, self._bits),
        )


@dataclass(frozen=True)
class Step:
    """One step of recursive halving: a quantile to find between two known ones."""

    place: int  # of the quantile among all quantiles in increasing order
    low: int  # of the two known quantiles; -1 and the number of quantiles stand for the ends of the domain
    high: int
    fraction: Fraction  # of the data between the known quantiles, that should be below the wanted one
    alone: bool  # every replaced record is replaced within its cell

    @property
    def sensitivity(self) -> int:
        """The sensitivity of the step's cost; see `rank_sensitivity`."""
        return rank_sensitivity(self.fraction, self.alone)


def rank_sensitivity(fraction: Fraction, alone: bool) -> int:
    """Return the sensitivity of b L - a m, where L of m data are less than a code and `fraction` is a / b."""
    # If not `alone`, a replaced record may move from one disjoint part of the data to another: twice that of
    # one added record covers both parts.
    a, b = fraction.numerator, fraction.denominator
    # An added record changes b L - a m by -a or b - a; a replaced one, with m the same, by b, 0 or -b.
    return b if alone else 2 * max(a, b - a)


def halving(wanted: Sequence[Fraction], *, finest: int, sized: bool = True) -> list[list[Step]]:
    """Return levels of steps that find increasing quantiles: the middle one, then recursively both sides."""
    # A step needs only the quantiles of earlier levels. Fractions are rounded to denominators up to `finest`.
    # If not `sized`, the number of data is private.
    ends = [*wanted, Fraction(1), Fraction(0)]  # index -1 reads the last one
    levels, gaps = [], [(-1, len(wanted))]
    while gaps:
        level = []
        for low, high in gaps:
            place = (low + high) // 2
            part = (ends[place] - ends[low]) / (ends[high] - ends[low])
            level.append(Step(place, low, high, part.limit_denominator(finest), sized and len(gaps) == 1))
        levels.append(level)
        halves = [gap for step in level for gap in ((step.low, step.place), (step.place, step.high))]
        gaps = [(low, high) for low, high in halves if high - low > 1]
    return levels


def finest_fraction(n: int) -> int:
    """Return a denominator for which the rounding of a fraction changes a rank of n data by less than 1."""
    return max(n, _COARSE)


def around(
    values: NDArray[Any], start: int, stop: int, check: Callable[[NDArray[Any]], object] | None = None
) -> tuple[int, NDArray[Any]]:
    """Return a rank of at most `start`, and the sorted values from this rank to `stop` - 1 or further."""
    # Two values of a sample usually bracket these ranks. A count verifies the bracket; a wider one replaces
    # it.
    n = len(values)
    if n <= FEW:
        if check:
            check(values)
        return 0, np.sort(values)
    sample = np.sort(values[:: n // SAMPLE])
    size = len(sample)
    # In a random sample, the position of a rank has a standard deviation of at most sqrt(size) / 2, so the
    # first bracket is correct about nineteen times in twenty. A wider one would take more time than rare
    # failures.
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
    alike = low is not None and low == high  # all values between are equal, and possibly many
    for first in range(0, len(values), BLOCK):
        block = np.ascontiguousarray(values[first : first + BLOCK])
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
    """Return block[inside], fast if few values are inside: groups of eight without any are skipped."""
    if len(block) % _WORD:
        return block.compress(inside)
    words = (inside.view(np.uint64) != 0).nonzero()[0]
    places = inside.reshape(-1, _WORD).take(words, axis=0).ravel().nonzero()[0]
    return block.reshape(-1, _WORD).take(words, axis=0).ravel().take(places)


def _nth_places(i: NDArray[np.int64], counts: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return the place of rank i among the first `counts` of the sequence."""
    # Members with even indices fill the lower half of the places in the order of the whole sequence, odd ones
    # the upper half.
    places = np.zeros_like(i)
    for bit in range(bits - 1, bits - 1 - int(counts.max(initial=1) - 1).bit_length(), -1):
        even = (counts + 1) // 2
        odd = i >= even
        i = np.where(odd, i - even, i)
        counts = np.where(odd, counts // 2, even)
        places += odd.astype(np.int64) << bit
    return places


def _places_below(place: int, count: int, bits: int) -> int:
    """Return the number of the first `count` members of the sequence below `place`; place <= 2**bits."""
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


@dataclass(frozen=True, eq=False)
class CodeCounts:
    """The codes of a multiset, and how often each occurs."""

    codes: NDArray[Any]  # distinct integers of any dtype, increasing
    counts: NDArray[np.int64]  # positive

    @classmethod
    def of(cls, codes: NDArray[Any]) -> "CodeCounts":
        if codes.dtype.itemsize > _NARROW:
            return cls(*np.unique(codes, return_counts=True))
        counts = np.bincount(codes)
        distinct = np.flatnonzero(counts)
        return cls(distinct.astype(codes.dtype), counts[distinct])

    def __add__(self, other: "CodeCounts") -> "CodeCounts":
        codes, place = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return CodeCounts(codes, counts)

    @cached_property
    def _upto(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def at(self, ranks: Places) -> list[int]:
        return self.codes[self._upto.searchsorted(np.asarray(ranks), "right")].tolist()

    def count(self, codes: Any) -> tuple[Any, Any]:
        """Return the number of codes less than each of `codes`, and the number at most it."""
        sought = np.array(codes, dtype=self.codes.dtype)
        upto = np.append(0, self._upto)
        return upto[self.codes.searchsorted(sought)], upto[self.codes.searchsorted(sought, "right")]


def ranks_of_codes(codes: NDArray[Any]) -> Ranks:
    """Return the ranks of codes in memory; those of a narrow type are counted, and others sorted."""
    return SortedCodes(codes) if codes.dtype.itemsize > _NARROW else CodeCounts.of(codes)
