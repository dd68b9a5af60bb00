"""Multisets of integer codes as counts, which can be added, with ranks; and the intervals of codes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CodeCounts:
    """The codes of a multiset, and how often each occurs.

    `codes` (k,): distinct integers of any dtype, possibly Python integers in an object array; increasing.
    `counts` (k,): positive.
    """

    codes: NDArray[Any]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[Any]) -> "CodeCounts":
        """Return the counts of an array of codes."""
        return cls(*np.unique(codes, return_counts=True))

    def __add__(self, other: "CodeCounts") -> "CodeCounts":
        codes, place = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return CodeCounts(codes, counts)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def window(self, start: int, stop: int) -> list[int]:
        """Return the codes of the ranks start..stop-1, in nondecreasing order; 0 <= start <= stop <= n."""
        upto = np.cumsum(self.counts)
        inside = np.minimum(upto, stop) - np.maximum(upto - self.counts, start)
        codes: list[int] = np.repeat(self.codes, np.maximum(inside, 0)).tolist()
        return codes

    def count(self, code: int) -> tuple[int, int]:
        """Return the number of codes less than `code`, and the number of codes at most `code`."""
        sought = np.array([code], dtype=self.codes.dtype)
        upto = np.concatenate([[0], np.cumsum(self.counts)])
        below, beyond = (int(upto[self.codes.searchsorted(sought, side)[0]]) for side in ("left", "right"))
        return below, beyond


_BITS = 16  # of a code, from the highest, that are looked up
_FEW = 1 << 12  # as many codes are searched as fast as tables are made


class CodePlaces:
    """The function from codes to the intervals that contain them.

    A code's highest bits are looked up. They determine the last interval that has a code with these bits. If
    it and the one before are the only such intervals, then one comparison with its first code decides.

    `starts` (k,): Public. The first code of each interval; increasing, from 0. `size`: Public. The number of
    codes, at most 2**64 - 1. The code `size`, that of no value, is alone in the interval k.
    """

    def __init__(self, starts: NDArray[Any], size: int):
        self._starts = np.append(starts.astype(np.uint64), np.uint64(size))
        self._shift = max(0, size.bit_length() - _BITS)
        self._size = size

    def __call__(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        """Return the interval of each code.

        `codes` (n,): from 0 to `size`.
        """
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
    """Return the first code of each of n intervals.

    `place_of`: from codes to intervals, 0 to n - 1; nondecreasing. `n`: the number of intervals; each has a
    code. `size`: the number of codes, at most 2**64 - 1.
    """
    low, high = np.zeros(n, dtype=np.uint64), np.full(n, size - 1, dtype=np.uint64)
    wanted = np.arange(n)
    for _ in range(size.bit_length()):
        middle = low + (high - low) // np.uint64(2)
        reached = place_of(middle) >= wanted
        low = np.where(reached, low, np.minimum(middle + np.uint64(1), high))
        high = np.where(reached, middle, high)
    return high
