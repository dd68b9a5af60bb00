"""Exact samplers for all primitives of the dice, from uniform random bytes.

A `Table` draws by inversion from weights of any precision: while a boundary between two outcomes may lie
within the known bits of a uniform number, more bits are drawn. So the outcome has exactly the distribution of
the weights. Sixteen bits decide most draws by one look-up. Identities do the rest:

- the base-256 digits of a geometric variable are independent (the first is unbounded), and the difference of
  two geometric variables is discrete Laplace, so a few small tables suffice for any scale;
- a discrete Gaussian is drawn by rejection: a block of integers, weighted by its end nearest to zero, then an
  offset within the block, then a coin with the offset's relative weight;
- permute-and-flip is the exponential mechanism with some draws rejected (see `permute_and_flip`).
"""

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import accumulate, pairwise
from math import ceil, floor, isqrt
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import (
    End,
    Integers,
    check_ends,
    check_groups,
    check_many_groups,
    check_probability,
    check_ratio,
    check_size,
    moved_into,
    one_moved_into,
    one_or_many,
)
from dplearn.kernels import blocks, log_bounds
from dplearn.kernels.distributions import halving_width
from dplearn.kernels.exact import fixed_decay, fixed_power

BitSource = Callable[[int], bytes]  # maps a number of bytes to fresh uniform bytes

_BLOCK = 1 << 15  # draws that are computed together, few enough for the cache
_FEW = 64  # a look-up table is not worth its time for fewer draws
_GUARD = 64  # additional bits of the weights, beyond those of the boundaries
_GAUSSIAN_GUARD = 32  # of a discrete Gaussian, whose weights have small errors
_LONG, _STEP = 45, 17  # bits of the weights and of a step of the quotients from which a look-up is made


class Enclosure(NamedTuple):
    """Lower bounds on weights in units of 2**-bits, with upper bounds on their errors."""

    lows: list[int]
    errors: list[int]
    tail: int = 0  # an upper bound on the total weight of the outcomes that are not listed, in these units


Weights = Callable[[int], Enclosure]  # maps bits to an enclosure; the greatest weight is at least 1/2


def power_weights(ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> Weights:
    """Return weights multiplicities[i] * ratio**(exponents[i] - exponents[0]), for increasing exponents."""
    # One chain of fixed-point products, rounded down: factors in [0, 1] too low by at most e and f units have
    # a product too low by at most e + f + 1. So a power is too low by at most 2 units for each unit of its
    # exponent.

    def enclose(bits: int) -> Enclosure:
        one = 1 << bits
        factors = {0: one}
        lows, errors = [], []
        power, previous = one, exponents[0]
        for exponent, multiplicity in zip(exponents, multiplicities, strict=True):
            gap = exponent - previous
            if gap not in factors:
                factors[gap] = ratio_power(ratio, gap, bits)
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
    """Return the weights of min(floor(G / unit), count), for P[G >= k] = ratio**k, ratio**unit <= 19/20."""
    # Outcome d < count has weight p**d with p = ratio**unit; outcome `count` has p**count / (1 - p). Powers
    # are too low by at most 2 units for each unit of the exponent. So 1 - p is too high by at most 2 * unit
    # units, and its lower bound is positive if 2**bits exceeds 40 * unit.
    listed = power_weights(ratio, [d * unit for d in range(count)], [1] * count)

    def enclose(bits: int) -> Enclosure:
        lows, errors, tail = listed(bits)
        fine = bits + (40 * unit).bit_length()
        power, beyond = ratio_power(ratio, unit, fine), ratio_power(ratio, count * unit, fine)
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


def ratio_power(ratio: Fraction, exponent: int, bits: int) -> int:
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

    def ends(self, bits: int) -> "Ends":
        """Return `bounds` for all listed outcomes, computed together."""
        total, above = self.lows[-1], self.lows[-1] + self.errors[-1] + self.enclosure.tail
        pairs = list(zip(self.lows, self.errors, strict=True))
        # low + rest_high = above - error, and high + rest_low = total + error.
        return Ends(
            [(low << bits) // (above - error) for low, error in pairs],
            [-(-(low + error << bits) // (total + error)) for low, error in pairs],
        )

    def lookup(self) -> "Lookup":
        """Return the look-up of the ends, rounded outwards to 51 bits."""
        total, error = self.lows[-1], self.errors[-1]
        above = total + error + self.enclosure.tail
        drop, rest = above.bit_length() - _LONG, np.uint64((1 << 64 - 3 * _STEP) - 1)
        # Of a table of which all outcomes are listed, the last end is 1, which has no look-up.
        last = len(self.lows) if self.enclosure.tail else bisect_left(self.lows, total)
        lows = np.array([low >> drop for low in self.lows[:last]], dtype=np.int64)
        # low / 2**drop < lows + 1, and the end is at most (low + error) / total and at most 1.
        whole = max(total >> drop, 1)
        upper = _rounded_down(np.minimum(lows + (error >> drop) + 2, whole), whole) + rest
        return Lookup(_rounded_down(lows, (above >> drop) + 1), upper, len(self.lows))


def _rounded_down(some: NDArray[np.int64], whole: int) -> NDArray[np.uint64]:
    """Return some / whole, of at most 46 bits each, rounded down to 51 bits below 1, in units of 2**-64."""
    found = np.zeros_like(some)
    for _ in range(3):
        digit, some = np.divmod(some << _STEP, whole)
        found = found << _STEP | digit
    return np.minimum(found, (1 << 3 * _STEP) - 1).astype(np.uint64) << np.uint64(64 - 3 * _STEP)


class Table:
    """A distribution on 0, 1, 2, ... with probabilities proportional to some weights."""

    # `weights` maps a precision in bits to an Enclosure; a higher precision may add outcomes at the end.

    def __init__(self, weights: Weights, guard: int = _GUARD):
        self._weights, self._guard = weights, guard
        # Each cache is one attribute that is replaced as a whole, because threads may share a table.
        self._cached: _Cumulated | None = None
        self.ends: Ends | None = None
        self._lookup: Lookup | None = None
        self._singles = 0

    def enclosure(self, bits: int) -> Enclosure:
        """Return the weights at a precision of `bits` bits or more."""
        return self._cumulated(bits).enclosure

    def bounds(self, i: int, bits: int) -> tuple[int, int]:
        """Return lower and upper integer bounds on 2**bits * P[outcome <= i]."""
        cached = self._cumulated(bits + self._guard)
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
        if self.ends is None and (self._cached is None or self._singles <= len(self._cached.lows)):
            return self.resume(uniform, 64, source)
        outcome = self.all_ends().outcome(uniform)
        return self.resume(uniform, 64, source) if outcome is None else outcome

    def draw_many(self, source: BitSource, size: int) -> NDArray[np.int64]:
        """Draw `size` independent outcomes."""
        if size < _FEW and self._lookup is None:
            return np.array([self.draw(source) for _ in range(size)], dtype=np.int64)
        if self._lookup is None:
            self._lookup = self._cumulated(64 + self._guard).lookup()
        if size < _FEW:  # a rule of the call alone: the number of bytes must not depend on earlier calls
            longer, open_ = np.frombuffer(source(8 * size), dtype=">u8").astype(np.uint64), np.arange(size)
            drawn = self._lookup.long(longer)
        else:
            words = np.frombuffer(source(2 * size), dtype=np.uint16)
            drawn = self._lookup.short.take(words).astype(np.int64)
            open_ = (drawn < 0).nonzero()[0]
            if not open_.size:
                return drawn
            more = np.frombuffer(source(8 * open_.size), dtype=np.uint64) >> np.uint64(16)
            longer = words[open_].astype(np.uint64) << np.uint64(48) | more
            drawn[open_] = self._lookup.long(longer)
        for k in np.flatnonzero(drawn[open_] < 0):
            drawn[open_[k]] = self.resume(int(longer[k]), 64, source)
        return drawn

    def all_ends(self) -> "Ends":
        if self.ends is None:
            self.ends = self._cumulated(64 + self._guard).ends(64)
        return self.ends

    def resume(self, uniform: int, bits: int, source: BitSource) -> int:
        """Return the outcome of a uniform number with known first `bits` bits; draw more bits if needed."""
        while True:
            cached = self._cumulated(bits + self._guard)
            lows = cached.lows
            # As 2**bits * lows[i] >= (uniform + 1) * above, the upper end of outcome i, at least
            # cached.lower(i, bits), is certainly above all of [uniform, uniform + 1).
            above = lows[-1] + cached.errors[-1] + cached.enclosure.tail
            i = bisect_left(lows, -(-(uniform + 1) * above >> bits))
            # It is the drawn outcome if its lower end is certainly not above `uniform`.
            if i < len(lows) and (i == 0 or self.bounds(i - 1, bits)[1] <= uniform):
                return i
            uniform = uniform << 64 | int.from_bytes(source(8), "big")
            bits += 64


class Ends(NamedTuple):
    """Lower and upper integer bounds on 2**64 * P[outcome <= i], for each outcome listed with 64 bits."""

    lows: list[int]
    highs: list[int]

    def outcome(self, uniform: int) -> int | None:
        """Return the outcome of a 64-bit number, or None if more bits are needed."""
        i = bisect_right(self.lows, uniform)
        return i if i < len(self.lows) and (i == 0 or self.highs[i - 1] <= uniform) else None


class Lookup:
    """Outcomes by the first 16 and the first 64 bits of the uniform number; -1 if these do not decide."""

    def __init__(self, lows: NDArray[np.uint64], above: NDArray[np.uint64], outcomes: int):
        # lows[i] <= true upper end of outcome i <= above[i] + 1, in units of 2**-64; an end of 1 is left out.
        self._lows, self._above, self._outcomes = lows, above, outcomes
        self.short = self._by_sixteen_bits()

    def _by_sixteen_bits(self) -> NDArray[np.int32]:
        """Return `long` for each 16-bit word w if it is the same for all 64-bit numbers that begin with w."""
        # The upper end of outcome i leaves open the words from lows[i] >> 48 to above[i] >> 48, and the word
        # of lows[i] if this is not its first number. Words between the open ones of i - 1 and those of i are
        # outcome i.
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


_DIGIT = 8  # bits of a geometric variable drawn from one table
_BASE = 1 << _DIGIT
_MANY = 64  # number of draws from which unneeded digits are skipped
MANY_GROUPS = 256  # from this many on, a level of groups is drawn first
_FINE = 4  # a Gaussian block is between 1/16 and 1/32 of sigma wide


class ByteDice:
    """Dice that draw from uniform random bytes, which a subclass provides as `_bytes`."""

    @abstractmethod
    def _bytes(self, count: int) -> bytes:
        """Return so many uniform random bytes."""

    def below(self, n: int, size: int | None = None) -> Any:
        """Draw uniformly from 0..n-1, by rejection of numbers of as many bits that are n or more."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        bits, size = (n - 1).bit_length(), check_size(size)
        if size is None:
            return self._below(n, bits)
        if bits > 63:
            out = np.empty(size, dtype=object)
            out[:] = [self._below(n, bits) for _ in range(size)]
            return out
        drawn = self._uniform_bits(bits, size)
        while (over := np.flatnonzero(drawn >= n)).size:
            drawn[over] = self._uniform_bits(bits, over.size)
        return drawn

    def _below(self, n: int, bits: int) -> int:
        count = (bits + 7) // 8
        while True:
            drawn = int.from_bytes(self._bytes(count), "big") >> (8 * count - bits)
            if drawn < n:
                return drawn

    def _uniform_bits(self, bits: int, size: int) -> NDArray[np.int64]:
        width = next(w for w in (1, 2, 4, 8) if 8 * w >= bits)
        words = np.frombuffer(self._bytes(width * size), dtype=f"u{width}")
        return (words >> words.dtype.type(8 * width - bits) if bits else words * 0).astype(np.int64)

    def bernoulli(self, p: Fraction, size: int | None = None) -> Any:
        """Draw 1 with probability p, by comparison of p with a uniform number, sixteen bits at a time."""
        p, size = check_probability(p), check_size(size)
        whole, part = divmod(p.numerator << 16, p.denominator)
        words = np.frombuffer(self._bytes(2 * (1 if size is None else size)), dtype=np.uint16)
        drawn = (words < whole).astype(np.int64)
        tied = np.flatnonzero(words == whole) if part else np.empty(0, dtype=np.int64)
        if tied.size:
            drawn[tied] = self.bernoulli(Fraction(part, p.denominator), tied.size)
        return one_or_many(drawn, size)

    def power_weighted(self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> int:
        """Draw index i with probability proportional to multiplicities[i] * ratio**exponents[i].

        Of many groups, a level is drawn by a bound on its weight, then a member, which is accepted with its
        weight relative to the bound.
        """
        if len(exponents) < MANY_GROUPS:
            indices, e, m = check_groups(exponents, multiplicities)
            return indices[Table(power_weights(check_ratio(ratio), e, m)).draw(self._bytes)]
        order, *groups = check_many_groups(exponents, multiplicities)
        levels = Levels(check_ratio(ratio), *groups)
        table = Table(power_weights(ratio, levels.bounds, levels.sizes))
        while True:
            level = table.draw(self._bytes)
            group, excess = levels.member(level, self.below(levels.sizes[level]))
            if not excess or self.geometric(ratio, low=excess - 1, high=excess) == excess:
                return int(order[group])

    def permute_and_flip(
        self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]
    ) -> int:
        """Draw the group of the candidate that permute-and-flip selects.

        Propose each candidate c at the times of its own Poisson process of rate 1, with a coin of bias p_c:
        the first candidate whose *first* coin succeeds is the one. All successes are a process of rate A =
        sum of p, and draws of the exponential mechanism; the i-th, at a sum s of i exponential variables
        divided by A, is its candidate's first proposal with probability exp(-(1 - p_c) s) unless that had a
        success before.
        """
        indices, e, m = check_groups(exponents, multiplicities)
        table = Table(power_weights(check_ratio(ratio), e, m))
        seen: set[tuple[int, int]] = set()
        arrivals: list[_Exponential] = []
        while True:
            group = table.draw(self._bytes)
            candidate = group, self._below(m[group], (m[group] - 1).bit_length())
            arrivals.append(_Exponential(self._bytes))
            if candidate in seen:
                continue
            seen.add(candidate)
            if e[group] == e[0] or self._is_first(table, m, group, arrivals):
                return indices[group]

    def _is_first(self, table: Table, m: list[int], group: int, arrivals: list["_Exponential"]) -> bool:
        """Return whether F * A > (1 - p) * (sum of arrivals), for a new exponential F."""
        clock = _Exponential(self._bytes)
        bits = 64
        while True:
            lows, errors, tail = table.enclosure(2 * bits)
            total_low, total_high = sum(lows), sum(lows) + sum(errors) + tail
            one, p_low = lows[0] // m[0], lows[group] // m[group]
            failing_high = one - p_low
            failing_low = failing_high - errors[group] // m[group]
            if clock.low * total_low > failing_high * sum(a.high for a in arrivals):
                return True
            if clock.high * total_high <= failing_low * sum(a.low for a in arrivals):
                return False
            for exponential in (clock, *arrivals):
                exponential.refine()
            bits *= 2

    def discrete_laplace(
        self, ratio: Fraction, low: End = None, high: End = None, size: int | None = None
    ) -> Any:
        """Draw the difference of two geometric variables, clamped to low..high."""
        low, high = check_ends(low, high, check_size(size))
        if size is None:
            drawn = self._one_geometric(check_ratio(ratio)) - self._one_geometric(ratio)
            return one_moved_into(drawn, low, high)
        return moved_into(self._geometric(check_ratio(ratio), size) - self._geometric(ratio, size), low, high)

    def geometric(self, ratio: Fraction, low: End = 0, high: End = None, size: int | None = None) -> Any:
        """Draw a geometric variable, clamped to low..high."""
        low, high = check_ends(low, high, check_size(size))
        if size is None:
            return one_moved_into(self._one_geometric(check_ratio(ratio)), low, high)
        return moved_into(self._geometric(check_ratio(ratio), size, low, high), low, high)

    def _one_geometric(self, ratio: Fraction) -> int:
        """Draw one geometric variable, from the same bytes as `_geometric`."""
        first, *lower = geometric_tables(ratio)
        drawn = total = first.draw(self._bytes)
        while drawn == _BASE:
            drawn = first.draw(self._bytes)
            total += drawn
        for table in lower:
            total = total << _DIGIT | table.draw(self._bytes)
        return total

    def _geometric(self, ratio: Fraction, size: int, low: End = None, high: End = None) -> Integers:
        """Draw G >= 0 with P[G >= k] = ratio**k, digit by digit; the first digit is drawn without bound."""
        # If the lower digits of a number do not change its clamped value, they are not drawn and stay 0.
        first, *lower = geometric_tables(ratio)
        drawn = first.draw_many(self._bytes, size)
        escaped = (drawn == _BASE).nonzero()[0]
        while escaped.size:
            more = first.draw_many(self._bytes, escaped.size)
            drawn[escaped] += more
            escaped = escaped[more == _BASE]
        if not lower:
            return drawn
        shift = _DIGIT * len(lower)
        total = drawn.astype(np.int64 if shift <= 48 else object, copy=False) << shift
        open_ = _undecided(total, 1 << shift, low, high)
        for table in lower:
            shift -= _DIGIT
            digit = table.draw_many(self._bytes, total[open_].size)
            total[open_] += digit.astype(total.dtype, copy=False) << shift
        return total

    def discrete_gaussian(self, sigma2: Fraction, size: int | None = None) -> Any:
        """Draw a block of integers, an offset within it, and a coin; repeat if the coin rejects."""
        if not isinstance(sigma2, (int, Fraction)) or sigma2 <= 0:
            raise ValueError(f"sigma2 must be a positive Fraction, got {sigma2!r}")
        if sigma2 >= 1 << 56:
            raise ValueError("sigma2 must be below 2**56")
        size = check_size(size)
        drawn, accepted = self._gaussian_proposals(Fraction(sigma2), 1 if size is None else size)
        waiting = np.flatnonzero(~accepted)
        while waiting.size:
            drawn[waiting], accepted = self._gaussian_proposals(Fraction(sigma2), waiting.size)
            waiting = waiting[~accepted]
        return one_or_many(drawn, size)

    def _gaussian_proposals(self, sigma2: Fraction, size: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Propose integers by blocks; accept each with its weight relative to its block's end near 0."""
        # Table index 2j is the block edge, edge + 1, ..., with edge = j * width; index 2j + 1 is its mirror
        # image -edge - 1, -edge - 2, .... A number at distance `offset` from the end `near` of its block has
        # weight exp(-offset (2 near + offset) / (2 sigma2)) relative to that end.
        width = block_width(sigma2)
        index = gaussian_table(sigma2).draw_many(self._bytes, size)
        if width == 1:
            return index >> 1 ^ -(index & 1), np.ones(size, dtype=bool)  # edge ^ -1 is -edge - 1
        offset, exponents = self.below(width, size), index
        for here in blocks(size, _BLOCK):
            negative, edge, add = index[here] & 1, (index[here] >> 1) * width, offset[here]
            far = edge + add
            # With near = edge + negative: 2 near + offset = edge + far + 2 negative.
            exponents[here] = (edge + far + 2 * negative) * add
            add[:] = far ^ -negative
        return offset, survivors(exponents, 1 / (2 * sigma2), self._bytes)

    def __reduce__(self) -> NoReturn:
        raise TypeError("dice are never pickled or copied")


class Levels:
    """Groups by increasing exponent, in levels of similar weight: exponents exceed the bound of their level
    by less than a width of weight 1/2 or more, except in the last level, which weighs little.
    """

    def __init__(self, ratio: Fraction, exponents: Integers, multiplicities: Integers):
        # The sums below could overflow; those of objects cannot, and may be greater than any float.
        if multiplicities.dtype != object and multiplicities.sum(dtype=np.float64) >= 1 << 62:
            multiplicities = multiplicities.astype(object)
        self._exponents, self._ends = exponents, np.cumsum(multiplicities)
        width, bits = halving_width(ratio)
        most = max(int((_GUARD + int(self._ends[-1]).bit_length()) / bits), 1) + 1
        bounds = range(int(exponents[0]), int(exponents[-1]) + 1, width)[:most]
        first = exponents.searchsorted(np.array(bounds, dtype=exponents.dtype))
        starts = [*np.append(0, self._ends)[first].tolist(), int(self._ends[-1])]
        levels = [
            (bound, low, high)
            for bound, (low, high) in zip(bounds, pairwise(starts), strict=True)
            if low < high
        ]
        self.bounds = [bound for bound, _, _ in levels]
        self.sizes = [high - low for _, low, high in levels]
        self._starts = [low for _, low, _ in levels]

    def member(self, level: int, place: int) -> tuple[int, int]:
        """Return the group of a member of a level, and by how much its exponent exceeds the level's bound."""
        group = int(self._ends.searchsorted(self._starts[level] + place, "right"))
        return group, int(self._exponents[group]) - self.bounds[level]


class _Exponential:
    """A standard exponential variable -ln(U), with bounds from the bits of U drawn so far."""

    def __init__(self, source: BitSource):
        self._source = source
        self._uniform = 0
        self._bits = 0
        self.refine()

    def refine(self) -> None:
        """Draw 64 more bits of U, and repeat while all bits are 0 and the logarithm is unbounded."""
        fresh = True
        while fresh or not self._uniform:
            self._uniform = self._uniform << 64 | int.from_bytes(self._source(8), "big")
            self._bits += 64
            fresh = False
        digits = 20 + self._bits // 3
        self.low = -log_bounds(Fraction(self._uniform + 1, 1 << self._bits), digits)[1]
        self.high = -log_bounds(Fraction(self._uniform, 1 << self._bits), digits)[0]


def _undecided(starts: Integers, length: int, low: End, high: End) -> slice | NDArray[np.int64]:
    """Return the positions where the lower digits of a number can change its clamped value."""
    # The number lies in starts..starts + length - 1. All positions are returned if the test is not worth its
    # time, or ends are not int64 arrays.
    if starts.dtype == object or not (isinstance(low, np.ndarray) and isinstance(high, np.ndarray)):
        return slice(None)
    if starts.size < _MANY or low.dtype == object or high.dtype == object:
        return slice(None)
    return ((starts < high) & (starts + (length - 1) > low)).nonzero()[0]


@lru_cache(maxsize=32)
def geometric_tables(ratio: Fraction) -> list[Table]:
    """Return a table for each digit, the first digit first, whose outcome 256 stands for 256 or more."""
    # About one number in a million has this outcome: ln(ratio) <= ratio - 1, and (1 - ratio) * 256**digits is
    # at least 14. So ratio**unit is at most exp(-14 / 256) < 19/20 for the unit of the first digit.
    lower: list[Table] = []
    unit = 1
    while (1 - ratio) * _BASE * unit < 14:
        lower.insert(0, Table(power_weights(ratio, [d * unit for d in range(_BASE)], [1] * _BASE)))
        unit *= _BASE
    return [Table(power_blocks(ratio, unit, _BASE)), *lower]


def block_width(sigma2: Fraction) -> int:
    """Return how many integers a block of a discrete Gaussian has: a power of 2, below its deviation."""
    return 1 << max(0, isqrt(floor(sigma2)).bit_length() - 1 - _FINE)


@lru_cache(maxsize=32)
def gaussian_table(sigma2: Fraction) -> Table:
    """Return the table of blocks, weighted by their ends nearest to zero."""
    return Table(partial(gaussian_blocks, sigma2), _GAUSSIAN_GUARD)


def gaussian_blocks(sigma2: Fraction, bits: int) -> Enclosure:
    """Return the weights exp(-near**2 / (2 sigma2)) of all blocks up to the first one below 1 unit."""
    # Powers of q = exp(-1 / (2 sigma2)), too low by less than `error` units of 2**-fine: each weight is too
    # low by less than near**2 * error such units, and exact if near is 0 (see `fixed_power`). The weight of a
    # block before the last is 1 unit or more, so near**2 <= 2 sigma2 * bits there, and in the last one near
    # is greater by at most 1 or a sixteenth of sigma. As error <= 3, near**2 * error < 2**spare: after
    # rounding down, weights are too low by less than 2 units of 2**-bits.
    width = block_width(sigma2)
    spare = (ceil(2 * sigma2) * (bits + 1)).bit_length() + max(8, 40 - bits)
    fine = bits + spare
    q, high = fixed_decay(1 / (2 * sigma2), fine)
    error = high - q + 1
    # The squares of the edges, (j * width)**2, have differences (2 j + 1) * width**2, which increase by 2 *
    # width**2. The square of an edge's mirror image, j * width + 1, is greater by 2 j * width + 1.
    edge, beside, lows = 1 << fine, q, []
    fall, more = fixed_power(q, width * width, fine), fixed_power(q, 2 * width * width, fine)
    step = fixed_power(q, 2 * width, fine)
    while True:
        lows.append(edge >> spare)
        lows.append((weight := edge * beside >> fine) >> spare)
        if not lows[-1]:
            break
        edge, fall, beside = edge * fall >> fine, fall * more >> fine, beside * step >> fine
    if not lows[-2]:
        weight = edge
        del lows[-1]
    near = (len(lows) - 1) // 2 * width + (len(lows) - 1) % 2
    errors = [0] + [2] * (len(lows) - 2) + [-(-(weight + near * near * error) >> spare)]
    # The remaining blocks, j and up on both sides, weigh less than a geometric series that starts below
    # 1 unit. Its ratio is at most exp(-width**2 / (2 sigma2)) < exp(-1 / 2048), since sigma < 32 * width, and
    # the ratio's error is below 2**-30: `rest`, a lower bound on 1 - ratio, is positive.
    j = len(lows) // 2
    exponent = (2 * j + 1) * width * width
    rest = (1 << fine) - fixed_power(q, exponent, fine) - exponent * error
    return Enclosure(lows, errors, -(-(2 * (lows[-1] + errors[-1]) << fine) // rest))


def survivors(exponents: NDArray[np.int64], rate: Fraction, source: BitSource) -> NDArray[np.bool_]:
    """Draw coins that succeed with probability exp(-rate * exponent), a coin for each base-256 digit."""
    alive = np.ones(exponents.size, dtype=bool)
    for position in range(-(-int(exponents.max(initial=0)).bit_length() // _DIGIT)):
        cuts = survival_cuts(rate, position)
        words = np.frombuffer(source(2 * exponents.size), dtype=np.uint16)
        for here in blocks(exponents.size, _BLOCK):
            digit, some, word = exponents[here] >> (_DIGIT * position) & 255, alive[here], words[here]
            ends = cuts.take(digit, mode="clip")  # in range; this mode is faster
            some &= word <= ends
            for k in np.flatnonzero(some & (word == ends)):
                event = Table(exponential_event(rate * (int(digit[k]) << (_DIGIT * position))))
                some[k] = event.resume(int(word[k]), 16, source) == 0
    return alive


@lru_cache(maxsize=128)
def survival_cuts(rate: Fraction, position: int) -> NDArray[np.int64]:
    """Return floor(2**16 exp(-rate * digit * 256**position)) for each digit 0..255."""
    # Powers of one enclosed number, exp(-rate); see `fixed_power` for their errors. All stand in one number,
    # in lanes, and a product with the m-th makes the next m. If the floors of the bounds may differ,
    # exp(-rate) is enclosed with more bits.
    bits = 64
    while True:
        bits *= 2
        lane, unit = 2 * bits + 64, 1 << _DIGIT * position
        low, high = _enclosed_decay(rate, bits)
        step, error = fixed_power(low, unit, bits), (high - low + 1) * unit * _BASE
        powers, kept = 1 << bits, _lanes(bits + 1, lane)
        for digit in range(_DIGIT):
            powers |= (powers * step >> bits & kept) << (lane << digit)
            step = step * step >> bits
        words = np.frombuffer(powers.to_bytes(lane * 32, "little"), dtype="<u8").reshape(256, -1)
        one, upper = words[:, bits // 64].astype(np.int64), words[:, bits // 64 - 1]
        # If errors are below 2**(bits - 64), floors differ only where the 48 bits below them are ones.
        open_ = np.flatnonzero(upper << np.uint64(16) == ((1 << 48) - 1) << 16).tolist()
        rest = [powers >> lane * digit for digit in open_]
        if error < 1 << bits - 64 and all(x >> bits - 16 == x + error >> bits - 16 for x in rest):
            return one << 16 | (upper >> np.uint64(48)).astype(np.int64)


@lru_cache(maxsize=32)
def _enclosed_decay(rate: Fraction, bits: int) -> tuple[int, int]:
    return fixed_decay(rate, bits)


@cache
def _lanes(ones: int, lane: int) -> int:
    """Return a number with as many ones at the lower end of each of 256 lanes."""
    return sum(((1 << ones) - 1) << lane * digit for digit in range(_BASE))
