"""Count labels on one side of every possible cut of a column, and how many cuts make how many errors.

A column of an ordered domain of N codes is cut at each of its N codes, N up to 2**64. Between two
neighbouring data values all cuts split the records alike, so that at most n + 1 intervals of cuts have to
be looked at, each with its length. A small domain needs no sorting: a histogram and its prefix sums give
every cut.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cuts", "ErrorHistogram", "cut_column", "split_by_value"]

_DENSE = 1 << 12  # domains up to this size, or up to twice the number of records, are counted without sorting
_CARRY = 1 << 9  # chunks whose sums of 2**52 fit an int64 with room to spare
_CHUNK = 1 << 20  # float64 sums of this many 32-bit numbers are exact


@dataclass(frozen=True)
class Cuts:
    """Intervals of cuts that split the records alike.

    Attributes
    ----------
    starts : ndarray of uint64 of shape (m,)
        The first cut of each interval, rising from 0.
    lengths : ndarray of uint64 of shape (m,) or None
        How many cuts each interval holds; None if each holds one.
    inside : ndarray of int64 of shape (n_labels, m)
        How many records of each label are on the inner side (at most the cut, or equal to it).
    """

    starts: NDArray[np.uint64]
    lengths: NDArray[np.uint64] | None
    inside: NDArray[np.int64]

    def errors(self, totals: NDArray[np.int64], inner: int, outer: int) -> NDArray[np.int64]:
        """Return the errors of each interval's cuts with label `inner` on the inner side, `outer` outside.

        All records but those of label `inner` inside and those of label `outer` outside.
        """
        wrong: NDArray[np.int64] = self.inside[outer] - self.inside[inner]
        wrong += totals.sum() - totals[outer]
        return wrong

    def number(self, chosen: NDArray[np.bool_]) -> int:
        """Return how many cuts the chosen intervals hold."""
        if self.lengths is None:
            return int(np.count_nonzero(chosen))
        lengths = self.lengths[chosen]  # which may sum to 2**64 itself
        return (int((lengths >> np.uint64(32)).sum()) << 32) + int((lengths & np.uint64(0xFFFFFFFF)).sum())

    def nth(self, chosen: NDArray[np.bool_], index: int) -> int:
        """Return the `index`-th cut of the chosen intervals."""
        starts = self.starts[chosen]
        if self.lengths is None:
            return int(starts[index])
        ends = np.cumsum(self.lengths[chosen])[:-1]  # the last, which may not fit, decides nothing
        interval = int(np.searchsorted(ends, np.uint64(index), side="right"))
        return int(starts[interval]) + index - (int(ends[interval - 1]) if interval else 0)


def cut_column(codes: NDArray[Any], y: NDArray[Any], size: int, n_labels: int) -> Cuts:
    """Count the records at or below every cut 0..size-1.

    Parameters
    ----------
    codes : ndarray of unsigned int of shape (n,)
        Below `size`.
    y : ndarray of int of shape (n,)
        Label codes 0..n_labels-1.
    size, n_labels : int
        At most 2**64 - 1 codes.
    """
    if _is_dense(size, codes.size):
        return Cuts(
            np.arange(size, dtype=np.uint64), None, _label_histogram(codes, y, size, n_labels).cumsum(axis=1)
        )
    sorted_codes, sorted_y = _sorted_together(codes, y, size, n_labels)
    last = np.flatnonzero(np.append(sorted_codes[1:] != sorted_codes[:-1], True))
    starts = np.concatenate((np.zeros(1, dtype=np.uint64), sorted_codes[last].astype(np.uint64)))
    lengths = np.diff(starts, append=np.uint64(size))
    inside = np.zeros((n_labels, starts.size), dtype=np.int64)
    inside[-1, 1:] = last + 1
    for label in range(n_labels - 1):
        inside[label, 1:] = np.cumsum(sorted_y == label)[last]
        inside[-1] -= inside[label]
    return Cuts(starts, lengths, inside)


def _is_dense(size: int, n: int) -> bool:
    """Return True where a histogram of the whole domain costs less than sorting the records."""
    return size <= max(_DENSE, 2 * n)


def split_by_value(codes: NDArray[Any], y: NDArray[Any], size: int, n_labels: int) -> Cuts:
    """Count the records equal to every code 0..size-1; parameters as in `cut_column`."""
    inside = _label_histogram(codes, y, size, n_labels)
    return Cuts(np.arange(size, dtype=np.uint64), None, inside)


def _label_histogram(codes: NDArray[Any], y: NDArray[Any], size: int, n_labels: int) -> NDArray[np.int64]:
    """Return counts of shape (n_labels, size)."""
    if size * n_labels >= 1 << 32:
        raise ValueError(f"a domain of {size} values without order is too large to count")
    dtype = np.min_scalar_type(size * n_labels)
    both = y.astype(dtype)
    both *= dtype.type(size)
    both += codes.astype(dtype, copy=False)
    return np.bincount(both, minlength=size * n_labels).reshape(n_labels, size)


def _sorted_together(
    codes: NDArray[Any], y: NDArray[Any], size: int, n_labels: int
) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """Return codes and labels in the order of the codes: one sort of packed words where 64 bits suffice."""
    bits = (n_labels - 1).bit_length()
    if size << bits >= 1 << 64:
        order = np.argsort(codes)
        return codes[order], y[order]
    packed = codes.astype(np.uint64) << np.uint64(bits)
    packed |= y.astype(np.uint64)
    packed.sort()
    return packed >> np.uint64(bits), packed & np.uint64((1 << bits) - 1)


class ErrorHistogram:
    """How many cuts make how many errors, counted exactly though cuts number up to 2**64 a column."""

    def __init__(self, n: int):
        self._low = np.zeros(n + 1, dtype=np.int64)  # numbers of cuts modulo 2**32 ...
        self._high = np.zeros(n + 1, dtype=np.int64)  # ... and divided by it, summed apart
        self._single: list[NDArray[np.int64]] = []
        self._waiting = 0
        self._chunks = 0

    def add(self, errors: NDArray[np.int64], lengths: NDArray[np.uint64] | None) -> None:
        """Count `lengths[i]` cuts, or one, that make `errors[i]` errors."""
        if lengths is None:
            # One count of many short arrays costs less than many counts, each as long as n.
            self._single.append(errors)
            self._waiting += errors.size
            if self._waiting >= _CHUNK:
                self._count_waiting()
            return
        for start in range(0, errors.size, _CHUNK):
            some, cuts = errors[start : start + _CHUNK], lengths[start : start + _CHUNK]
            _add(self._low, np.bincount(some, weights=(cuts & np.uint64(0xFFFFFFFF)).astype(np.float64)))
            high = cuts >> np.uint64(32)
            if high.any():
                _add(self._high, np.bincount(some, weights=high.astype(np.float64)))
            self._chunks += 1
            if self._chunks % _CARRY == 0:
                self._high += self._low >> 32
                self._low &= 0xFFFFFFFF

    def groups(self) -> tuple[list[int], list[int]]:
        """Return the numbers of errors that occur, rising, and how many cuts make each."""
        self._count_waiting()
        occurring = np.flatnonzero(self._low | self._high)
        low, high = self._low[occurring], self._high[occurring]
        if high.size and high.max() >= 1 << 30:  # else high * 2**32 and low are each below 2**62
            low, high = low.astype(object), high.astype(object)
        return occurring.tolist(), (low + (high << 32)).tolist()

    def _count_waiting(self) -> None:
        if self._single:
            _add(self._low, np.bincount(np.concatenate(self._single)))
        self._single, self._waiting = [], 0


def _add(total: NDArray[np.int64], part: NDArray[Any]) -> None:
    total[: part.size] += part.astype(np.int64)
