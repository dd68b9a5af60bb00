"""Exact inversion sampling from weights that can be computed to any precision.

The bits of a uniform number in [0, 1) are drawn as needed. While the interval of its known bits may contain a
boundary between two outcomes, more bits are drawn and the boundaries are computed more precisely. The outcome
therefore has exactly the distribution of the weights, although no number is ever computed completely. Sixteen
bits decide most draws by one look-up, and sixty-four decide nearly all others.

>>> from fractions import Fraction
>>> table = Table(power_weights(Fraction(1, 2), [0, 1, 2], [1, 1, 1]))
>>> [table.bounds(i, 8) for i in range(3)]  # 256 * (4/7, 6/7, 1), from below and above
[(146, 147), (219, 220), (256, 256)]
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplearn.core.exact import fixed_decay, fixed_power

__all__ = ["BitSource", "Enclosure", "Table", "Weights", "exponential_event", "power_blocks", "power_weights"]

BitSource = Callable[[int], bytes]  # maps a number of bytes to fresh uniform bytes

_FEW = 64  # a look-up table is not worth its time for fewer draws
_GUARD = 64  # additional bits of the weights, beyond those of the boundaries


class Enclosure(NamedTuple):
    """Lower bounds on weights in units of 2**-bits, with upper bounds on their errors.

    `tail` is an upper bound on the total weight, in the same units, of the outcomes that are not listed at
    this precision.
    """

    lows: list[int]
    errors: list[int]
    tail: int = 0


Weights = Callable[[int], Enclosure]  # maps bits to an enclosure; the greatest weight is at least 1/2


def power_weights(ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> Weights:
    """Return weights multiplicities[i] * ratio**(exponents[i] - exponents[0]), for increasing exponents.

    The weights are computed as one chain of fixed-point products, rounded down. If a product is too low by at
    most e units and a factor in [0, 1] by at most f, their product, rounded down, is too low by at most
    e + f + 1. So a power of the ratio computed by unit steps or by squaring is too low by at most 2 units for
    each unit of its exponent.
    """

    def enclose(bits: int) -> Enclosure:
        one = 1 << bits
        factors = {0: one}
        lows, errors = [], []
        power, previous = one, exponents[0]
        for exponent, multiplicity in zip(exponents, multiplicities, strict=True):
            gap = exponent - previous
            if gap not in factors:
                factors[gap] = _fixed_power(ratio, gap, bits)
            power = power * factors[gap] >> bits
            if not power:
                break
            previous = exponent
            lows.append(multiplicity * power)
            errors.append(multiplicity * 2 * (exponent - exponents[0]))
        # Each weight after the chain reaches 0 is at most the upper bound of the first of them.
        rest = sum(multiplicities[len(lows) :])
        tail = rest * 2 * (exponents[len(lows)] - exponents[0]) if rest else 0
        return Enclosure(lows, errors, tail)

    return enclose


def exponential_event(rate: Fraction) -> Weights:
    """Return the weights of two outcomes: outcome 0 has probability exp(-rate)."""

    def enclose(bits: int) -> Enclosure:
        return _event(*fixed_decay(rate, bits), bits)

    return enclose


def power_blocks(ratio: Fraction, unit: int, count: int) -> Weights:
    """Return the weights of min(floor(G / unit), count), where P[G >= k] = ratio**k.

    Requires ratio**unit <= 19/20. Outcome d < count has weight p**d with p = ratio**unit; outcome `count` has
    weight p**count / (1 - p). Fixed-point powers are too low by at most 2 units for each unit of the
    exponent. So 1 - p computed from p is too high by at most 2 * unit units, and its lower bound is positive
    if 2**bits exceeds 40 * unit.
    """
    listed = power_weights(ratio, [d * unit for d in range(count)], [1] * count)

    def enclose(bits: int) -> Enclosure:
        lows, errors, tail = listed(bits)
        fine = bits + (40 * unit).bit_length()
        power, beyond = _fixed_power(ratio, unit, fine), _fixed_power(ratio, count * unit, fine)
        gap = (1 << fine) - power
        low = (beyond << bits) // gap
        high = -(-(beyond + 2 * count * unit << bits) // (gap - 2 * unit))
        if tail:  # some outcomes below `count` are not listed, so `count` cannot be either
            return Enclosure(lows, errors, tail + high)
        return Enclosure([*lows, low], [*errors, high - low])

    return enclose


def _event(low: int, high: int, bits: int) -> Enclosure:
    """Return the weights of an event with probability in [low, high] / 2**bits and its complement."""
    return Enclosure([low, (1 << bits) - high], [high - low] * 2)


def _fixed_power(ratio: Fraction, exponent: int, bits: int) -> int:
    """Return ratio**exponent in units of 2**-bits, too low by at most 2 * exponent units."""
    return fixed_power((ratio.numerator << bits) // ratio.denominator, exponent, bits)


class _Cumulated(NamedTuple):
    """An enclosure and its cumulative sums."""

    bits: int
    enclosure: Enclosure
    lows: list[int]
    errors: list[int]  # upper bounds on the errors of `lows`

    def lower(self, i: int, bits: int) -> int:
        """Return an integer that is at most 2**bits * P[outcome <= i]."""
        low = self.lows[i]
        rest_high = self.lows[-1] - low + self.errors[-1] - self.errors[i] + self.enclosure.tail
        return (low << bits) // (low + rest_high) if low else 0

    def ends(self, bits: int) -> "_Ends":
        """Return `bounds` for all listed outcomes, computed together."""
        total, above = self.lows[-1], self.lows[-1] + self.errors[-1] + self.enclosure.tail
        pairs = list(zip(self.lows, self.errors, strict=True))
        # low + rest_high = above - error, and high + rest_low = total + error.
        return _Ends(
            [(low << bits) // (above - error) for low, error in pairs],
            [-(-(low + error << bits) // (total + error)) for low, error in pairs],
        )


class Table:
    """A distribution on 0, 1, 2, ... with probabilities proportional to some weights.

    Parameters
    ----------
    weights : callable
        Maps a precision in bits to an Enclosure of the weights. A higher precision may add outcomes at the
        end.
    """

    def __init__(self, weights: Weights):
        self._weights = weights
        # Each cache is one attribute that is replaced as a whole, because threads may share a table.
        self._cached: _Cumulated | None = None
        self._ends: _Ends | None = None
        self._lookup: _Lookup | None = None
        self._singles = 0

    def enclosure(self, bits: int) -> Enclosure:
        """Return the weights at a precision of `bits` bits or more."""
        return self._cumulated(bits).enclosure

    def bounds(self, i: int, bits: int) -> tuple[int, int]:
        """Return lower and upper integer bounds on 2**bits * P[outcome <= i]."""
        cached = self._cumulated(bits + _GUARD)
        if i >= len(cached.lows):  # too improbable to be listed at this precision
            return cached.lower(len(cached.lows) - 1, bits), 1 << bits
        low, high = cached.lows[i], cached.lows[i] + cached.errors[i]
        rest_low = cached.lows[-1] - low
        # The greatest value has the upper bound of the head and the lower bound of the rest.
        return cached.lower(i, bits), -(-(high << bits) // (high + rest_low))

    def _cumulated(self, bits: int) -> "_Cumulated":
        cached = self._cached
        if cached is None or cached.bits < bits:
            enclosure = self._weights(bits)
            cached = _Cumulated(
                bits, enclosure, list(accumulate(enclosure.lows)), list(accumulate(enclosure.errors))
            )
            self._cached = cached
        return cached

    def draw(self, source: BitSource) -> int:
        """Draw one outcome."""
        uniform = int.from_bytes(source(8), "big")
        self._singles += 1
        # All ends are computed after as many draws as outcomes. The ends of single drawn outcomes are not
        # cached: the cache would reveal the outcomes.
        if self._ends is None and (self._cached is None or self._singles <= len(self._cached.lows)):
            return self.resume(uniform, 64, source)
        outcome = self._all_ends().outcome(uniform)
        return self.resume(uniform, 64, source) if outcome is None else outcome

    def draw_many(self, source: BitSource, size: int) -> NDArray[np.int64]:
        """Draw `size` independent outcomes."""
        if size < _FEW:  # a rule of the call alone: the number of bytes must not depend on earlier calls
            return np.array([self.draw(source) for _ in range(size)], dtype=np.int64)
        if self._lookup is None:
            self._lookup = _Lookup(self._all_ends())
        words = np.frombuffer(source(2 * size), dtype=np.uint16)
        drawn = self._lookup.short.take(words).astype(np.int64)
        open_ = (drawn < 0).nonzero()[0]
        if open_.size:
            more = np.frombuffer(source(8 * open_.size), dtype=np.uint64) >> np.uint64(16)
            longer = words[open_].astype(np.uint64) << np.uint64(48) | more
            drawn[open_] = self._lookup.long(longer)
            for k in np.flatnonzero(drawn[open_] < 0):
                drawn[open_[k]] = self.resume(int(longer[k]), 64, source)
        return drawn

    def _all_ends(self) -> "_Ends":
        if self._ends is None:
            self._ends = self._cumulated(64 + _GUARD).ends(64)
        return self._ends

    def resume(self, uniform: int, bits: int, source: BitSource) -> int:
        """Return the outcome of a uniform number with known first `bits` bits; draw more bits if needed."""
        while True:
            cached = self._cumulated(bits + _GUARD)
            outcomes = range(len(cached.lows))
            # i is the first outcome with an upper end that is certainly above all of [uniform, uniform + 1).
            i = bisect_right(outcomes, uniform, key=partial(cached.lower, bits=bits))
            # It is the drawn outcome if its lower end is certainly not above `uniform`.
            if i in outcomes and (i == 0 or self.bounds(i - 1, bits)[1] <= uniform):
                return i
            uniform = uniform << 64 | int.from_bytes(source(8), "big")
            bits += 64


class _Ends(NamedTuple):
    """Lower and upper integer bounds on 2**64 * P[outcome <= i], for each outcome listed with 64 bits."""

    lows: list[int]
    highs: list[int]

    def outcome(self, uniform: int) -> int | None:
        """Return the outcome of a 64-bit number, or None if more bits are needed."""
        i = bisect_right(self.lows, uniform)
        return i if i < len(self.lows) and (i == 0 or self.highs[i - 1] <= uniform) else None


class _Lookup:
    """Outcomes by the first 16 and the first 64 bits of the uniform number; -1 if these do not decide."""

    def __init__(self, ends: _Ends):
        closed = ends.lows[-1] == 1 << 64
        # The upper end of a closed table's last outcome is 2**64, which does not fit into uint64.
        last = ends.lows.index(1 << 64) if closed else len(ends.lows)
        # lows[i] <= true upper end of outcome i <= above[i] + 1.
        self._lows = np.array(ends.lows[:last], dtype=np.uint64)
        self._above = np.array([max(high, 1) - 1 for high in ends.highs[:last]], dtype=np.uint64)
        self._outcomes = len(ends.lows)
        self.short = self._by_sixteen_bits()

    def _by_sixteen_bits(self) -> NDArray[np.int32]:
        """Return `long` for each 16-bit word w if it is the same for all 64-bit numbers that begin with w.

        The upper end of outcome i leaves open the words from lows[i] >> 48 to above[i] >> 48, if there are
        any, and the word of lows[i] also if this is not its first number. Bounds increase with i, so the
        words between the open ones of i - 1 and those of i are outcome i.
        """
        short = np.uint64(48)
        shifted = self._lows >> short
        inner = (shifted << short) != self._lows
        first = shifted.astype(np.int64)
        stop = np.maximum((self._above >> short).astype(np.int64), first - ~inner) + 1
        # Runs of words: outcome 0, open, outcome 1, open, ..., and those after the last end.
        edges = np.zeros(2 * first.size + 2, dtype=np.int64)
        edges[1:-1:2], edges[2:-1:2], edges[-1] = first, stop, 1 << 16
        runs = np.full(2 * first.size + 1, -1, dtype=np.int32)
        runs[::2] = np.arange(first.size + 1)
        if first.size == self._outcomes:
            runs[-1] = -1  # an outcome that is not listed
        return np.repeat(runs, np.diff(np.maximum.accumulate(edges)))

    def long(self, uniform: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the outcome of each 64-bit number; -1 if more bits are needed."""
        found = np.searchsorted(self._lows, uniform, side="right")
        previous = np.maximum(found - 1, 0)
        clear = (found == 0) | (uniform > self._above[previous]) if self._lows.size else found == 0
        return np.where(clear & (found < self._outcomes), found, -1)
