"""Point functions over keys, hashed into buckets: their errors, and all sets of at most k buckets by errors.

A point function is 1 at one key and 0 at all others, or 0 everywhere. The net count of a key, or of a bucket,
is its number of records with label 1 minus that with label 0. The errors of a rule that gives label 1 to a
key, or to the buckets of a set, are the number of records with label 1 minus their net counts. The deficit of
a set is its errors minus the least errors of any set.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count


def leading_key(keys: Iterable[bytes], labels: Iterable[int]) -> tuple[tuple[bytes] | None, int]:
    """Return the key whose net count is above 0 and that of all other keys, if any, and its distance.

    The distance to instability is d for a lead of 2 d + 1 or 2 d + 2, else 0. One replaced record moves the
    lead, over the next net count or 0, by at most 2, so the distance by at most 1; and a lead of 3 stays
    above 0.
    """
    known, ones = list(keys), list(labels)
    nets = Counter(compress(known, ones))
    nets.subtract(key for key, one in zip(known, ones, strict=True) if not one and key in nets)
    if not nets:
        return None, 0
    (leader, most), *others = nets.most_common(2)
    lead = most - max([0, *(net for _, net in others)])
    return ((leader,), distance_of_lead(lead)) if lead > 0 else (None, 0)


def distance_of_lead(lead: int) -> int:
    """Return how many replaced records, each reducing a lead by 2, leave a lead of at least 1; 0 if none."""
    return max(0, (lead - 1) // 2)


def net_counts(buckets: NDArray[np.int64], labels: NDArray[np.integer], n_buckets: int) -> NDArray[np.int64]:
    ones = labels.astype(bool)
    counts = [np.bincount(buckets[chosen], minlength=n_buckets) for chosen in (ones, ~ones)]
    return (counts[0] - counts[1]).astype(np.int64)


def prefix_errors(
    levels: Sequence[NDArray[np.int64]], labels: NDArray[np.integer], n_buckets: int
) -> NDArray[np.int64]:
    """Return the errors of each bucket of each level, of 0 everywhere and of 1; a record moves each by 1."""
    ones = int(np.count_nonzero(labels))
    nets = [net_counts(buckets, labels, n_buckets) for buckets in levels]
    return np.concatenate([*(ones - net for net in nets), np.array([ones, len(labels) - ones])])


def bucket_errors(
    buckets: NDArray[np.int64], labels: NDArray[np.integer], n_buckets: int
) -> NDArray[np.int64]:
    """Return the errors, moved by at most 1, of each point function on buckets, the last 0 everywhere."""
    # The rule 0 everywhere is that of one more bucket, without records.
    return int(np.count_nonzero(labels)) - net_counts(buckets, labels, n_buckets + 1)


def best_entries(counts: NDArray[np.int64], labels: NDArray[np.integer]) -> list[int | None]:
    """Return for each output the first entry with the greatest count among those labelled 1, or None."""
    if not len(counts):
        return [None] * labels.shape[1]
    kept = counts[:, None] * labels
    best = kept.argmax(axis=0).tolist()
    return [entry if kept[entry, output] else None for output, entry in enumerate(best)]


WIDTH = 256  #: Bits of multiplier and shift.
LARGEST_BITS = 32  #: Of a bucket.
_DIGEST = 28  # bytes: 224 + 32 <= 256


def multiply_shift(x: int, *, multiplier: int, shift: int, width: int, bits: int) -> int:
    """Return the `bits` highest of the `width` lowest bits of multiplier x + shift.

    With uniform multiplier and shift below 2**width, different x below 2**(width - bits + 1) collide with
    probability exactly 2**-bits (Dietzfelbinger 1996, Theorem 1): for y - x = 2**s u, u odd, multiplier (y -
    x) is 2**s times a number that is uniform modulo 2**(width - s) and independent of the uniform multiplier
    x + shift; and s <= width - bits.
    """
    return ((multiplier * x + shift) & ((1 << width) - 1)) >> (width - bits)


@dataclass(frozen=True)
class KeyHash:
    """A public function from bytes to 2**bits buckets, by numbers drawn without the keys."""

    # Two keys collide with probability 2**-bits, unless their 224-bit BLAKE2b digests are equal: none are
    # known.

    multiplier: int
    shift: int
    bits: int

    def __post_init__(self) -> None:
        check_count("multiplier", self.multiplier, high=(1 << WIDTH) - 1)
        check_count("shift", self.shift, high=(1 << WIDTH) - 1)
        check_count("bits", self.bits, high=LARGEST_BITS)

    def bucket(self, key: bytes) -> int:
        digest = int.from_bytes(hashlib.blake2b(key, digest_size=_DIGEST).digest(), "big")
        return multiply_shift(
            digest, multiplier=self.multiplier, shift=self.shift, width=WIDTH, bits=self.bits
        )

    def buckets(self, keys: Iterable[bytes]) -> NDArray[np.int64]:
        known: dict[bytes, int] = {}
        return np.array(
            [known[key] if key in known else known.setdefault(key, self.bucket(key)) for key in keys],
            dtype=np.int64,
        )


def n_sets(n_buckets: int, largest: int) -> int:
    """Return the number of sets of at most `largest` of `n_buckets` buckets."""
    return sum(comb(n_buckets, size) for size in range(largest + 1))


class _Alike(NamedTuple):
    """Buckets that change the deficit of a set equally: each of them if the set deviates at it."""

    # A set deviates at a bucket above the bar that it lacks, and at another one that it holds.

    step: int  # 1: a deviation adds a bucket to the set; -1: it takes one away
    gap: int  # what each deviation adds to the deficit
    buckets: NDArray[np.int64]


class BucketSets:
    """The sets of at most `largest` buckets, grouped by min(deficit, cap).

    With the bar t, the `largest`-th greatest net count, or 0 if that is negative, the deficit of j buckets is
    the sum of abs(net - t) over the buckets at which they deviate, plus t (largest - j), all nonnegative. So
    the numbers of sets of each size and deficit follow by convolution, one class of equal net counts after
    another; a set is found by taking the classes away again.
    """

    # The counts of one size are packed into one integer, `width` bits for each deficit from 0 to `cap` - 1. A
    # count is at most the number of all sets, which has fewer bits, so counts never carry.

    def __init__(self, nets: NDArray[np.int64], largest: int, cap: int):
        self._largest, self._cap = largest, cap
        self._size = n_sets(len(nets), largest)
        self._width = -(-self._size.bit_length() // 8) * 8
        self._bar = max(0, int(np.partition(nets, -largest)[-largest]))
        excess = nets - self._bar
        self.best = self._bar * largest + int(excess[excess > 0].sum())
        self._classes = list(_classes_of(excess, cap))
        self._core = sum(len(alike.buckets) for alike in self._classes if alike.step < 0)
        counts = [0] * (largest + 1)
        counts[self._core] = 1
        for alike in self._classes:
            counts = self._with(alike, counts, cap)
        self._counts = counts

    def groups(self) -> tuple[list[int], list[int]]:
        """Return the occurring values of min(deficit, cap), increasing, and the number of sets with each."""
        whole = 0
        for size, packed in enumerate(self._counts):
            missing = self._bar * (self._largest - size)
            if missing < self._cap:
                whole += self._cut(packed << self._width * missing, self._cap)
        near = self._unpacked(whole)
        found = [*enumerate(near), (self._cap, self._size - sum(near))]
        deficits, counts = zip(*[(deficit, count) for deficit, count in found if count], strict=True)
        return list(deficits), list(counts)

    def member(self, deficit: int, index: int) -> tuple[int, ...]:
        """Return the `index`-th set with a value of min(deficit, cap), as its buckets in increasing order."""
        far = deficit == self._cap
        slots = self._cap if far else deficit + 1
        counts = [self._cut(packed, slots) for packed in self._counts]
        # Find the size, then the class by class the buckets at which the set deviates.
        options = [(size, deficit - self._bar * (self._largest - size)) for size in range(self._largest + 1)]
        (size, rest), index = self._option(
            index, [(option, self._count(counts, len(self._classes), *option, far)) for option in options]
        )
        deviating: list[int] = []
        for place in reversed(range(len(self._classes))):
            alike = self._classes[place]
            counts = self._with(alike, counts, slots, back=True)
            found = [
                ((i, size - alike.step * i, rest - alike.gap * i), comb(len(alike.buckets), i))
                for i in range(min(len(alike.buckets), self._largest) + 1)
                if 0 <= size - alike.step * i <= self._largest
            ]
            chances = [
                (option, ways * self._count(counts, place, *option[1:], far)) for option, ways in found
            ]
            (i, size, rest), index = self._option(index, chances)
            which, index = divmod(index, self._count(counts, place, size, rest, far))
            deviating += alike.buckets[_combination(which, i)].tolist()
        core = [alike.buckets for alike in self._classes if alike.step < 0]
        return tuple(sorted({*np.concatenate([[], *core]).astype(int).tolist()} ^ {*deviating}))

    def _with(self, alike: _Alike, counts: list[int], slots: int, back: bool = False) -> list[int]:
        """Return the counts after one more class; with `back`, before it."""
        # Sets deviate at i of the M buckets of a class in C(M, i) ways: a factor (1 + y x^gap)^M; the
        # coefficients of its inverse are (-1)^i C(M + i - 1, i).
        step, gap, n_alike = alike.step, alike.gap, len(alike.buckets)
        most = self._largest if back else min(self._largest, n_alike)
        if gap:
            most = min(most, (slots - 1) // gap)
        weights = [
            (-1) ** i * comb(n_alike + i - 1, i) if back else comb(n_alike, i) for i in range(most + 1)
        ]
        new = []
        for size in range(self._largest + 1):
            total = counts[size]
            for i in range(1, most + 1):
                source = size - step * i
                if 0 <= source <= self._largest and counts[source]:
                    total += counts[source] * weights[i] << self._width * gap * i
            new.append(self._cut(total, slots))
        return new

    def _count(self, counts: list[int], n_classes: int, size: int, rest: int, far: bool) -> int:
        """Return the number of sets of a size and deficit that deviate at the first `n_classes` only."""
        if not far:
            return counts[size] >> self._width * rest & (1 << self._width) - 1 if rest >= 0 else 0
        kept = self._classes[n_classes:]
        free = sum(len(alike.buckets) for alike in self._classes[:n_classes])
        fixed = sum(len(alike.buckets) for alike in kept if alike.step < 0)
        below = sum(self._unpacked(self._cut(counts[size], max(0, rest))))
        return (comb(free, size - fixed) if size >= fixed else 0) - below

    @staticmethod
    def _option(index: int, options: list[tuple[Any, int]]) -> tuple[Any, int]:
        """Return the option that holds the `index`-th of the things that each option has some number of."""
        for option, count in options:
            if index < count:
                return option, index
            index -= count
        raise IndexError("fewer sets have the deficit than the index asks for")

    def _cut(self, packed: int, slots: int) -> int:
        return packed & (1 << self._width * slots) - 1

    def _unpacked(self, packed: int) -> list[int]:
        """Return the counts that are packed into an integer, up to the last positive one."""
        step = self._width // 8
        text = packed.to_bytes(-(-packed.bit_length() // self._width) * step, "little")
        return [int.from_bytes(text[i : i + step], "little") for i in range(0, len(text), step)]


def _classes_of(excess: NDArray[np.int64], cap: int) -> Iterator[_Alike]:
    """Yield the classes of buckets, from net counts minus the bar; first those above it."""
    gaps = np.minimum(np.abs(excess), cap)
    for step, chosen in ((-1, excess > 0), (1, excess <= 0)):
        (places,) = np.nonzero(chosen)
        ordered = places[np.argsort(gaps[places], kind="stable")]
        values, starts, sizes = np.unique(gaps[ordered], return_index=True, return_counts=True)
        for gap, start, size in zip(values.tolist(), starts, sizes, strict=True):
            yield _Alike(step, gap, ordered[start : start + size])


def _combination(index: int, size: int) -> list[int]:
    """Return the `index`-th set of `size` nonnegative integers, in decreasing order (combinadics)."""
    found = []
    for left in range(size, 0, -1):
        low, high = left - 1, left
        while comb(high, left) <= index:
            low, high = high, 2 * high
        while high - low > 1:  # comb(low, left) <= index < comb(high, left)
            middle = (low + high) // 2
            low, high = (middle, high) if comb(middle, left) <= index else (low, middle)
        found.append(low)
        index -= comb(low, left)
    return found
