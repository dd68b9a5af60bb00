"""Lines over the integers modulo a prime p: label code 1 at the points (x, y) with y = a x + b modulo p."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.concepts.base import ConceptClass, Labels
from dplearn.core.lines import residues, slopes_from
from dplearn.core.primes import is_prime
from dplearn.domains import IntegerRange, Product
from dplearn.domains.large import LargeIntegerRange

__all__ = ["LARGEST_BITS", "Line", "LinePoint", "Lines", "check_prime", "plane", "written"]

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

    Raises
    ------
    TypeError, ValueError
        If `p` is not such a prime.

    Notes
    -----
    The lines through two or more records are counted one by one, those through one record together, and so
    are those through none. Time is quadratic in the number of distinct records, and space in the worst case.

    **Source.** Feldman and Xiao (2014), Section 4.2.

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
    >>> profile.member(0, 0).describe(["x", "y"], ["off", "on"])
    "'on' if y = 2 x + 1 modulo 5, else 'off'"
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
        """The number of lines."""
        return self.p**2

    def error_profile(self, columns: Sequence[NDArray[Any]], y: Labels) -> "_LineErrors":
        """Count the errors of all lines; parameters as in `ConceptClass`."""
        x, z = (column.tolist() for column in columns)
        nets: Counter[tuple[int, int]] = Counter()
        for point, label in zip(zip(x, z, strict=True), y.tolist(), strict=True):
            nets[point] += 1 if label else -1
        return _LineErrors(dict(sorted(nets.items())), int(np.count_nonzero(y)), self.p)


class _LineErrors:
    """The errors of all lines. A line's are the ones among the labels minus its net count.

    Parameters
    ----------
    nets : dict from (x, y) to int
        Private. For each point of a record, the number of its labels 1 minus that of its labels 0.
    n_ones : int
        Private. The number of labels 1.
    p : int
        The prime.
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
        """Return the occurring numbers of errors in increasing order, and the number of lines with each."""
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
        """Return the `index`-th line with `errors` errors.

        The lines through several records come first, then those through one, then those through none.
        """
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
        """Return the `index`-th line through no record, by slope and intercept.

        With k distinct points, there are p - k such lines of each slope that no line through several points
        has, and one more for each further point on a line of the slope.
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
    codes: Labels = np.asarray(where, dtype=bool).astype(np.intp)
    return codes
