"""Lines over the integers modulo a prime p: label code 1 at the points (x, y) with y = a x + b modulo p.

Two points with different x lie on exactly one line, two with equal x on none. The quality of a line is the
number of its points, counted with multiplicity, minus the greatest multiplicity of one of them. If all points
lie on one line, every other line has quality 0.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.concepts.base import ConceptClass, Labels
from dplearn.domains import IntegerRange, Product
from dplearn.domains.numbers import LargeIntegerRange
from dplearn.kernels.points import distance_of_lead

LARGEST_BITS = 8192  #: The most bits of the prime.
_SHORT = 1 << 64
_EXACT = 1 << 53  # floats represent all integers up to here


@dataclass(frozen=True)
class Line:
    """The rule with label code 1 at the points (x, y) with y = slope x + intercept modulo p.

    Attributes
    ----------
    slope, intercept : int
        From 0 to p - 1.
    p : int
        The prime.
    """

    slope: int
    intercept: int
    p: int

    def __repr__(self) -> str:
        return f"Line({self.describe(['x', 'y'], [0, 1])})"

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        """Return the label code of each record; `columns` are the two coordinates, from 0 to p - 1."""
        x, y = (residues(column.tolist(), self.p) for column in columns)
        return _codes((self.slope * x + self.intercept - y) % self.p == 0)

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        """Return the rule in words; integers of more than 64 bits are shortened."""
        line = f"{features[1]} = {_term(self.slope)}{features[0]} + {written(self.intercept)}"
        return f"{labels[1]!r} if {line} modulo {written(self.p)}, else {labels[0]!r}"


@dataclass(frozen=True)
class LinePoint:
    """The rule with label code 1 at one point, or nowhere.

    Attributes
    ----------
    x, y : int or None
        The coordinates; None: label code 0 everywhere.
    """

    x: int | None = None
    y: int | None = None

    def __repr__(self) -> str:
        return f"LinePoint({self.describe(['x', 'y'], [0, 1])})"

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        """Return the label code of each record; `columns` are the two coordinates."""
        if self.x is None:
            return np.zeros(len(columns[0]), dtype=np.intp)
        pairs = zip(*(column.tolist() for column in columns), strict=True)
        return _codes([pair == (self.x, self.y) for pair in pairs])

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        """Return the rule in words; integers of more than 64 bits are shortened."""
        if self.x is None or self.y is None:
            return f"always {labels[0]!r}"
        point = f"{features[0]} = {written(self.x)} and {features[1]} = {written(self.y)}"
        return f"{labels[1]!r} if {point}, else {labels[0]!r}"


class Lines(ConceptClass):
    """All p**2 lines with a slope over the integers modulo p.

    Parameters
    ----------
    p : int
        A prime, of at most 8192 bits.

    Attributes
    ----------
    domain : Product
        Two columns of integers from 0 to p - 1.
    n_labels : int
        2.

    Notes
    -----
    The lines through two or more records are counted one by one, those through one record or none together,
    in quadratic time (Feldman and Xiao 2014, Section 4.2).

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.concepts import Lines
    >>> lines = Lines(5)
    >>> lines.size
    25
    >>> columns = lines.domain.encode(np.array([[0, 1], [1, 3], [2, 2]]))
    >>> profile = lines.error_profile(columns, np.array([1, 1, 0]))
    >>> profile.groups()  # the errors, and the number of lines with each
    ([0, 1, 2, 3], [1, 6, 15, 3])
    """

    binary_only = True

    def __init__(self, p: int):
        self.p = check_prime("p", p)
        self.n_labels = 2
        self.domain = plane(self.p)

    def __repr__(self) -> str:
        return f"Lines({written(self.p)})"

    @property
    def size(self) -> int:
        return self.p**2

    def error_profile(self, columns: Sequence[NDArray[Any]], y: Labels) -> "_LineErrors":
        x, z = (column.tolist() for column in columns)
        nets: Counter[tuple[int, int]] = Counter()
        for point, label in zip(zip(x, z, strict=True), y.tolist(), strict=True):
            nets[point] += 1 if label else -1
        return _LineErrors(dict(sorted(nets.items())), int(np.count_nonzero(y)), self.p)


class _LineErrors:
    """The errors of all lines, private: `n_ones` minus the sum of `nets`, the net labels 1, of a line's
    points.
    """

    def __init__(self, nets: dict[tuple[int, int], int], n_ones: int, p: int):
        self._p, self._n_ones = p, n_ones
        columns = list(zip(*nets, strict=True)) or [(), ()]
        self._x, self._y = (residues(column, p) for column in columns)
        self._nets = np.array(list(nets.values()), dtype=np.int64)
        self._find_lines()

    def _find_lines(self) -> None:
        """Set the lines through two or more points, each at its first point, and count those through one."""
        k, found = len(self._x), []
        self._n_slopes = np.zeros(k, dtype=np.int64)  # of the lines from each point to others
        for place in range(k):
            lines = slopes_from(self._x, self._y, place, self._p)
            self._n_slopes[place] = len(lines.distinct)
            first = np.full(len(lines.distinct), k)
            np.minimum.at(first, lines.groups, lines.places)
            new = first > place
            nets = self._nets[place] + lines.sums(self._nets)
            sizes = 1 + np.bincount(lines.groups, minlength=len(new))
            found.append((np.full(new.sum(), place), lines.distinct[new], nets[new], sizes[new]))
        empty = (np.zeros(0, np.int64), residues([], self._p), np.zeros(0, np.int64), np.zeros(0, np.int64))
        parts = zip(*found, strict=True) if found else [[each] for each in empty]
        self._first, self._slopes, self._line_nets, self._sizes = map(np.concatenate, parts)

    def groups(self) -> tuple[list[int], list[int]]:
        members = Counter((self._n_ones - self._line_nets).tolist())
        for net, n_slopes in zip(self._nets.tolist(), self._n_slopes.tolist(), strict=True):
            members[self._n_ones - net] += self._p - n_slopes
        members[self._n_ones] += self._n_empty()
        rising = sorted(errors for errors, count in members.items() if count)
        return rising, [members[errors] for errors in rising]

    def _n_empty(self) -> int:
        """Return the number of lines through no record."""
        p, k = self._p, len(self._x)
        return p * p - len(self._slopes) - (k * p - int(self._n_slopes.sum()))

    def member(self, errors: int, index: int) -> Line:
        """Return the `index`-th line with `errors` errors: through several records, then one, then none."""
        net = self._n_ones - errors
        several = np.flatnonzero(self._line_nets == net)
        if index < len(several):
            place = int(several[index])
            return self._through(int(self._first[place]), int(self._slopes[place]))
        index -= len(several)
        for place in np.flatnonzero(self._nets == net).tolist():
            alone = self._p - int(self._n_slopes[place])
            if index < alone:
                taken = slopes_from(self._x, self._y, place, self._p).distinct.tolist()
                return self._through(place, nth_missing(taken, index))
            index -= alone
        return self._nth_empty(index)

    def _through(self, place: int, slope: int) -> Line:
        intercept = (int(self._y[place]) - slope * int(self._x[place])) % self._p
        return Line(slope, intercept, self._p)

    def _nth_empty(self, index: int) -> Line:
        """Return the `index`-th line through no record, by slope and intercept. With k distinct points, there
        are p - k such lines of each slope that no line through several points has, and one more for each
        further point on a line of the slope.
        """
        p, k = self._p, len(self._x)
        more: Counter[int] = Counter()
        for slope, size in zip(self._slopes.tolist(), self._sizes.tolist(), strict=True):
            more[slope] += size - 1
        slope = 0
        for special, extra in sorted(more.items()):
            before = (special - slope) * (p - k)
            if index < before:
                break
            index, slope = index - before, special
            if index < p - k + extra:
                return self._empty_with(slope, index)
            index, slope = index - (p - k + extra), special + 1
        further, index = divmod(index, p - k)
        return self._empty_with(slope + further, index)

    def _empty_with(self, slope: int, index: int) -> Line:
        taken = (self._y - slope * self._x) % self._p
        return Line(slope, nth_missing(sorted(set(taken.tolist())), index), self._p)


def nth_missing(taken: Iterable[int], index: int) -> int:
    """Return the `index`-th nonnegative integer (from 0) that is not in an increasing list."""
    for each in taken:
        if each > index:
            break
        index += 1
    return index


def plane(p: int, names: Sequence[str] | None = None) -> Product:
    """Return the domain of two columns of integers from 0 to p - 1."""
    kind = IntegerRange if p <= _EXACT else LargeIntegerRange  # which refuses floats
    return Product([kind(0, p - 1)] * 2, names)


def check_prime(name: str, value: Any) -> int:
    """Return `value` as a Python integer if it is a prime of at most 8192 bits."""
    number = check_count(name, value, low=2)
    if number.bit_length() > LARGEST_BITS:
        raise ValueError(f"{name} must have at most {LARGEST_BITS} bits, got {number.bit_length()} bits")
    if not is_prime(number):
        raise ValueError(f"{name} must be a prime, got {written(number)}")
    return number


def written(number: int) -> str:
    """Return a nonnegative integer as text: in decimal up to 64 bits, as 2**k - 1, or shortened."""
    bits = number.bit_length()
    if number < _SHORT:
        return str(number)
    if number == (1 << bits) - 1:
        return f"2**{bits} - 1"
    return f"{number >> (bits - 32):#x}... ({bits} bits)"


def _term(slope: int) -> str:
    return "" if slope == 1 else f"{written(slope)} "


def _codes(where: Any) -> Labels:
    return np.asarray(where, dtype=bool).astype(np.intp)


Points = Mapping[tuple[int, int], int]
_NARROW = 1 << 31  # below it, products of two residues fit into 64 bits


def counted(x: Any, y: Any) -> Counter[tuple[int, int]]:
    """Return the number of occurrences of each point; `x` and `y` are sequences of Python integers."""
    return Counter(zip(x, y, strict=True))


def residues(values: Any, p: int) -> NDArray[Any]:
    """Return integers from 0 to p - 1 as int64 if p < 2**31, else as Python integers."""
    if p < _NARROW:
        return np.array(values, dtype=np.int64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def inverses(values: NDArray[Any], p: int) -> NDArray[Any]:
    """Return the inverses modulo p of numbers from 1 to p - 1, with one inversion and products of pairs."""
    if len(values) < 2:
        return residues([pow(value, -1, p) for value in values.tolist()], p)
    half = len(values) // 2
    first, second = values[:half], values[half : 2 * half]
    odd = values[2 * half :]
    found = inverses(np.concatenate((first * second % p, odd)), p)
    pairs = found[:half]
    return np.concatenate((pairs * second % p, pairs * first % p, found[half:]))


def slopes_from(x: NDArray[Any], y: NDArray[Any], place: int, p: int, start: int = 0) -> "Slopes":
    """Return the slopes of the lines through one of several distinct points, as residues, and each from
    `start` on.
    """
    dx, dy = (x[start:] - x[place]) % p, (y[start:] - y[place]) % p
    kept = np.flatnonzero(dx != 0)
    slopes = dy[kept] * inverses(dx[kept], p) % p
    distinct, groups = np.unique(slopes, return_inverse=True)
    return Slopes(distinct, groups.reshape(-1), start + kept)


@dataclass(frozen=True, repr=False)
class Slopes:
    """The slopes of the lines from one point to others. Private."""

    distinct: NDArray[Any]  # sorted
    groups: NDArray[np.intp]  # for each other point on a line, the index of its slope
    places: NDArray[np.intp]  # the positions of these points, increasing

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the weights of the other points on each line; below 2**53."""
        totals = np.bincount(self.groups, weights=weights[self.places], minlength=len(self.distinct))
        return totals.astype(np.int64)


def leading_line(points: Points, p: int) -> tuple[tuple[int, int] | None, int]:
    """Return the line with the greatest quality, None if it is not alone, and its distance to instability.
    The distance is 0 if one replaced point may change the line, and changes by at most 1 with a replaced
    point. Proof: a point added to a line increases its number of points by 1 and its greatest multiplicity by
    0 or 1, so a replaced point changes each quality by at most 1, and the lead of the greatest over the
    second by at most 2; the rest is the proof of `kernels.points.leading_key`.
    """
    if len(points) < 2:
        return None, 0
    (x, y), counts = _columns(points, p), np.array(list(points.values()), dtype=np.int64)
    others = np.flatnonzero(x != x[0])
    if not others.size:
        return None, 0
    line = _line_through(x, y, [0, int(others[0])], p)
    if not ((line[0] * x + line[1] - y) % p).any():
        lead = int(counts.sum() - counts.max())
    else:
        line, lead = _best_line(x, y, counts, p)
    return (line, distance_of_lead(lead)) if lead > 0 else (None, 0)


def leading_point(points: Points) -> tuple[tuple[int, int] | None, int]:
    """Return the point that occurs most often, or None, and its distance, with the proof of `leading_key`."""
    if not points:
        return None, 0
    (point, most), *others = Counter(points).most_common(2)
    lead = most - max([0, *(count for _, count in others)])
    return (point, distance_of_lead(lead)) if lead > 0 else (None, 0)


def _columns(points: Points, p: int) -> tuple[NDArray[Any], NDArray[Any]]:
    x, y = zip(*points, strict=True)
    return residues(x, p), residues(y, p)


def _line_through(x: NDArray[Any], y: NDArray[Any], places: list[int], p: int) -> tuple[int, int]:
    """Return the line through two points with different x, as Python integers."""
    (x0, x1), (y0, y1) = x[places].tolist(), y[places].tolist()
    slope = (y1 - y0) * pow(x1 - x0, -1, p) % p
    return slope, (y0 - slope * x0) % p


def _best_line(
    x: NDArray[Any], y: NDArray[Any], counts: NDArray[np.int64], p: int
) -> tuple[tuple[int, int], int]:
    """Return a line of the greatest quality, and the lead over the second greatest."""
    best, most, second = (-1, -1), 0, 0
    for line, quality in _qualities(x, y, counts, p):
        if line == best:
            continue  # without its first points, so the quality is not greater
        if quality > most:
            best, most, second = line, quality, most
        else:
            second = max(second, quality)
    return best, most - second


def _qualities(
    x: NDArray[Any], y: NDArray[Any], counts: NDArray[np.int64], p: int
) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield, for each point, the two best lines through it and later points, with their qualities there."""
    for place in range(len(x) - 1):
        lines = slopes_from(x, y, place, p, start=place + 1)
        if not lines.distinct.size:
            continue
        most = np.full(len(lines.distinct), counts[place])
        np.maximum.at(most, lines.groups, counts[lines.places])
        qualities = counts[place] + lines.sums(counts) - most
        for group in np.argsort(-qualities, kind="stable")[:2].tolist():
            slope = int(lines.distinct[group])
            yield (slope, int((y[place] - slope * x[place]) % p)), int(qualities[group])


_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
_PROVED = 3_317_044_064_679_887_385_961_981  # below it, a number that passes all of `_BASES` is prime
_ROUNDS = 20


@lru_cache(maxsize=64)
def is_prime(n: int) -> bool:
    """Return whether an integer is prime: correct for n below 3 * 10**24 and for n = 2**k - 1, by the test of
    Lucas and Lehmer. Otherwise a composite number is called prime with probability at most 4**-20 over 20
    bases, taken from a hash of n (Rabin 1980; Sorenson and Webster 2015 for the 13 bases).
    """
    if n < 2 or any(n % small == 0 for small in _BASES):
        return n in _BASES
    if n & (n + 1) == 0:
        return _is_mersenne_prime(n)
    rest = n - 1
    twos = (rest & -rest).bit_length() - 1
    bases = _BASES if n < _PROVED else (2, *hashed_bases(n))
    return all(_passes(n, base, rest >> twos, twos) for base in bases)


def _passes(n: int, base: int, odd: int, twos: int) -> bool:
    """Return whether an odd n = odd * 2**twos + 1 passes the test of Miller and Rabin."""
    power = pow(base, odd, n)
    if power in (1, n - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % n
        if power == n - 1:
            return True
    return False


def hashed_bases(n: int) -> list[int]:
    """Return bases of Miller and Rabin's test that are a number's own."""
    size = (n.bit_length() + 7) // 8
    stream = shake_256(n.to_bytes(size, "big")).digest(_ROUNDS * (size + 8))
    words = (stream[i : i + size + 8] for i in range(0, len(stream), size + 8))
    return [2 + int.from_bytes(word, "big") % (n - 3) for word in words]


def _is_mersenne_prime(n: int) -> bool:
    k = n.bit_length()
    if not is_prime(k):
        return False
    s = 4
    for _ in range(k - 2):
        s = s * s - 2
        for _ in range(2):  # 2**k is 1 modulo n; afterwards s is at most 2**k
            s = (s & n) + (s >> k)
    return s % n == 0
