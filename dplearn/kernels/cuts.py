"""Label counts at all cuts of a column, the number of cuts for each number of errors; a grid of float cuts.

All cuts between two adjacent data values split the records alike, so at most n + 1 intervals of cuts, with
their lengths, describe those of a domain of up to 2**64 codes. A small domain needs a histogram, but no
sorting.

The nonuniform float grid has all float64 numbers, rounded more coarsely for magnitudes further from 1, as a
uniform choice among floats has magnitudes above 2**128 or below 2**-128 in seven of eight cases. Magnitudes
from 2**e to 2**(e + 1) have 52 minus the number of binary digits of e significand bits, so the ranges e = 1,
2 to 3, 4 to 7, ..., 512 to 1,023 have equally many places. No bounds need to be guessed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

DENSE = 1 << 12  # domains up to this size, or up to twice the number of records, are counted without sorting
CARRY = 1 << 9  # number of chunks, each with a sum of at most 2**52, whose sums fit into an int64
CHUNK = 1 << 20  # float64 sums of this many 32-bit numbers are exact


@dataclass(frozen=True)
class Cuts:
    """Intervals of cuts that split the records in the same way."""

    starts: NDArray[np.uint64]  # the first cut of each interval, increasing from 0
    lengths: NDArray[np.uint64] | None  # the number of cuts in each; None if all are 1
    inside: NDArray[np.int64]  # (n_labels, m): records at most the cut, or equal to it

    def errors(self, totals: NDArray[np.int64], inner: int, outer: int) -> NDArray[np.int64]:
        """Return the errors of each interval's cuts with label `inner` on the inner side, `outer` outside."""
        wrong: NDArray[np.int64] = self.inside[outer] - self.inside[inner]
        wrong += totals.sum() - totals[outer]
        return wrong

    def number(self, chosen: NDArray[np.bool_]) -> int:
        if self.lengths is None:
            return int(np.count_nonzero(chosen))
        lengths = self.lengths[chosen]  # their sum may be 2**64, so it is computed in two halves
        return (int((lengths >> np.uint64(32)).sum()) << 32) + int((lengths & np.uint64(0xFFFFFFFF)).sum())

    def nth(self, chosen: NDArray[np.bool_], index: int) -> int:
        starts = self.starts[chosen]
        if self.lengths is None:
            return int(starts[index])
        ends = np.cumsum(self.lengths[chosen])[:-1]  # the last sum, which may overflow, is not needed
        interval = int(np.searchsorted(ends, np.uint64(index), side="right"))
        return int(starts[interval]) + index - (int(ends[interval - 1]) if interval else 0)


def cut_column(codes: NDArray[Any], y: NDArray[Any], size: int, n_labels: int) -> Cuts:
    """Count the records of each label at or below each cut 0..size-1."""
    if is_dense(size, codes.size):
        return cuts_of(label_histogram(codes, y, size, n_labels), ordered=True)
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


def is_dense(size: int, n: int) -> bool:
    """Return True if a histogram of the whole domain takes less time than sorting the records."""
    return size <= max(DENSE, 2 * n)


def split_by_value(codes: NDArray[Any], y: NDArray[Any], size: int, n_labels: int) -> Cuts:
    """Count the records of each label with each code 0..size-1."""
    return cuts_of(label_histogram(codes, y, size, n_labels), ordered=False)


def cuts_of(histogram: NDArray[np.int64], *, ordered: bool) -> Cuts:
    """Return the cuts of a column from its label histogram: "at most" if it is ordered, else "equal to"."""
    codes = np.arange(histogram.shape[1], dtype=np.uint64)
    return Cuts(codes, None, histogram.cumsum(axis=1) if ordered else histogram)


def label_histogram(codes: NDArray[Any], y: NDArray[Any], size: int, n_labels: int) -> NDArray[np.int64]:
    """Return the number of records for each label and code, of shape (n_labels, size)."""
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
    """Return codes and labels in the order of the codes, by one sort of packed words if 64 bits suffice."""
    bits = (n_labels - 1).bit_length()
    if size << bits >= 1 << 64:
        order = np.argsort(codes)
        return codes[order], y[order]
    packed = codes.astype(np.uint64) << np.uint64(bits)
    packed |= y.astype(np.uint64)
    packed.sort()
    return packed >> np.uint64(bits), packed & np.uint64((1 << bits) - 1)


class ErrorHistogram:
    """The exact number of cuts for each number of errors, at most n, for up to 2**64 cuts a column."""

    def __init__(self, n: int):
        self._n = n
        self._low = np.zeros(0, dtype=np.int64)  # sums of the numbers of cuts modulo 2**32
        self._high = np.zeros(0, dtype=np.int64)  # sums of the numbers of cuts divided by 2**32
        self._single: list[NDArray[np.int64]] = []
        self._waiting = 0
        self._chunks = 0

    def add(self, errors: NDArray[np.int64], lengths: NDArray[np.uint64] | None) -> None:
        """Add `lengths[i]` cuts (one if None) with `errors[i]` errors."""
        if lengths is None:
            # One histogram of many short arrays takes less time than many histograms of length n.
            self._single.append(errors)
            self._waiting += errors.size
            if self._waiting >= CHUNK:
                self._count_waiting()
            return
        self._allocate()
        for start in range(0, errors.size, CHUNK):
            some, cuts = errors[start : start + CHUNK], lengths[start : start + CHUNK]
            _add(self._low, np.bincount(some, weights=(cuts & np.uint64(0xFFFFFFFF)).astype(np.float64)))
            high = cuts >> np.uint64(32)
            if high.any():
                _add(self._high, np.bincount(some, weights=high.astype(np.float64)))
            self._chunks += 1
            if self._chunks % CARRY == 0:
                self._high += self._low >> 32
                self._low &= 0xFFFFFFFF

    def groups(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the occurring numbers of errors in increasing order, and the number of cuts with each."""
        if self._single and not self._low.size:  # few cuts; n may be much larger
            return np.unique(np.concatenate(self._single), return_counts=True)
        self._count_waiting()
        occurring = np.flatnonzero(self._low | self._high)
        low, high = self._low[occurring], self._high[occurring]
        if high.size and high.max() >= 1 << 30:  # otherwise high * 2**32 and low are each below 2**62
            low, high = low.astype(object), high.astype(object)
        return occurring, low + (high << 32)

    def _allocate(self) -> None:
        if not self._low.size:
            self._low, self._high = np.zeros((2, self._n + 1), dtype=np.int64)

    def _count_waiting(self) -> None:
        if self._single:
            self._allocate()
            _add(self._low, np.bincount(np.concatenate(self._single)))
        self._single, self._waiting = [], 0


def _add(total: NDArray[np.int64], part: NDArray[Any]) -> None:
    total[: part.size] += part.astype(np.int64)


_SIGNIFICAND = 52
_MAGNITUDES = (2047 << _SIGNIFICAND) - 1  # positive float64 values; also the code of 0
_SHIFTS = np.array([abs(exponent - 1023).bit_length() for exponent in range(2047)])  # number of dropped bits
_ENDS = np.cumsum(1 << (_SIGNIFICAND - _SHIFTS))
_STARTS = np.concatenate((np.zeros(1, dtype=np.int64), _ENDS[:-1]))  # first place of each exponent
_LARGEST = int(_ENDS[-1]) - 1

#: The number of places: 0, and equally many on each side.
NONUNIFORM_SIZE = 2 * _LARGEST + 1


def nonuniform_codes(codes: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the place of each float, a code of `Floats().encode`, after rounding towards 0."""
    steps = (codes.astype(np.uint64) - np.uint64(_MAGNITUDES)).view(np.int64)  # modulo 2**64
    sign = steps >> 63  # 0 or -1
    bits = (steps ^ sign) - sign
    exponents = bits >> _SIGNIFICAND
    bits &= (1 << _SIGNIFICAND) - 1
    bits >>= _SHIFTS[exponents]
    bits += _STARTS[exponents]
    return ((bits ^ sign) - sign + _LARGEST).view(np.uint64)


def last_code(place: int) -> int:
    """Return the greatest code with at most this place; -1 for place -1."""
    if place < 0:
        return -1
    step = place - _LARGEST
    exponent = int(np.searchsorted(_ENDS, abs(step), side="right"))
    shift = int(_SHIFTS[exponent])
    bits = (exponent << _SIGNIFICAND) + ((abs(step) - int(_STARTS[exponent])) << shift)
    # The last code of a positive place has its largest magnitude, that of a negative place its smallest.
    return _MAGNITUDES + bits + (1 << shift) - 1 if step >= 0 else _MAGNITUDES - bits
