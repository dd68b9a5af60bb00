"""Corners: one label where each column is up to, or above, a cut, and the other elsewhere.

The distinct values of the columns divide the cuts of each column into intervals that divide the records
alike, and so the combinations of cuts into cells, each of as many members as the product of its lengths (at
most 2**128). One table of prefix sums has the records of all cells, for each direction of the corners.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn._writing import brief
from dplearn.concepts.base import Concept, ConceptClass, CountedErrors, ErrorProfile, Labels, denied
from dplearn.domains import Domain, Floats, Product
from dplearn.kernels.cuts import label_histogram
from dplearn.kernels.grouping import distinct_values

_MOST_CELLS = 1 << 24
BLOCK = 1 << 20  # cells that are searched for a member together
_MOST_COUNTS = 1 << 22  # numbers that a task on a part returns: 32 MiB
_NAMES = 4  # the most column names in a message
_SIDES = ("<=", ">")
_Intervals = tuple[NDArray[np.uint64], NDArray[np.uint64]]  # the first cut of each, and how many it has


@dataclass(frozen=True)
class Corner:
    """A rule with one label where each of some columns is on one side of its cut, and another elsewhere.

    Attributes
    ----------
    features : tuple of int
        The positions of the columns.
    domains : tuple of Domain
        The domains of these columns.
    codes : tuple of int
        The cut of each column; -1 is below the domain.
    above : tuple of bool
        For each column whether the corner has the codes above the cut, rather than up to it.
    inner : int
        The label code inside the corner, 0 or 1.
    """

    features: tuple[int, ...]
    domains: tuple[Domain, ...]
    codes: tuple[int, ...]
    above: tuple[bool, ...]
    inner: int

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        """Return the label code of each record."""
        inside = np.all([(columns[each[0]] <= each[2]) != each[3] for each in self._sides], axis=0)
        return np.where(inside, self.inner, 1 - self.inner).astype(np.intp)

    def margins(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return how far each record is from the nearest cut; outside, from the farthest that it misses."""
        signed = [
            np.where((columns[feature] <= code) != above, 1, -1) * domain.margins(columns[feature], code)
            for feature, domain, code, above in self._sides
        ]
        return np.abs(np.min(signed, axis=0))

    @property
    def used(self) -> tuple[int, ...]:
        """The columns that the rule uses: those with a cut within the domain; none if no record is inside."""
        sides = list(self._sides)
        if any(code == (domain.size - 1 if above else -1) for _, domain, code, above in sides):
            return ()
        return tuple(feature for feature, domain, code, _ in sides if -1 < code < domain.size - 1)

    @property
    def _sides(self) -> "Iterator[tuple[int, Domain, int, bool]]":
        """The position, domain, cut and side of each column."""
        return zip(self.features, self.domains, self.codes, self.above, strict=True)

    def at_integers(self, whole: Sequence[bool]) -> "Corner":
        """Return the same rule, with cuts of columns of integers, those in `whole`, at integers."""
        parts = zip(self.features, self.domains, self.codes, strict=True)
        codes = (domain.at_integers(code) if whole[each] else code for each, domain, code in parts)
        return replace(self, codes=tuple(codes))

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        """Return the rule in words, without tests that always hold."""
        inner, outer = labels[self.inner], labels[1 - self.inner]
        tests = []
        for feature, domain, code, above in self._sides:
            if code == (domain.size - 1 if above else -1):
                return f"always {outer!r}"
            if code != (-1 if above else domain.size - 1):
                name, test = features[feature], domain.describe_test(code)
                tests.append(denied(name, test) if above else f"{name} {test}")
        return f"{inner!r} if {' and '.join(tests)}, else {outer!r}" if tests else f"always {inner!r}"


class Corners(ConceptClass):
    """All corners of ordered columns: one label inside, the other outside.

    Parameters
    ----------
    domain : Product
        The domains of all columns.
    n_labels : int, default=2
        Must be 2.
    features : sequence of int, optional
        The positions of the columns. None: all.
    directions : sequence of {"<=", ">"}, optional
        For each of these columns, whether a corner has the values up to its cut or those above it. None: the
        members have all directions.
    inside : {0, 1}, optional
        The label code inside a corner. None: the members have both.

    Notes
    -----
    The cuts of a column of N < 2**64 ordered codes are one step below the domain, and at each code: N + 1. A
    corner may be empty, or have all records, so the constant labels belong to the class. With one column
    these are the thresholds; the other direction with the other label is the same rule, and is not repeated
    unless `inside` is given. A missing value, if the domain has them, has code 0, and is below all numbers.

    Members are ordered by direction, then by the label inside, then by the cuts, that of the first column
    first. The values of n records in k columns leave at most (n + 1)**k cells between adjacent values; the
    errors follow from one table of prefix sums, of at most 2**24 cells, fewer if there are more than four
    directions (`check_records` refuses more).

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.concepts import Corners
    >>> from dplearn.domains import IntegerRange, Product
    >>> ages = Product([IntegerRange(0, 9), IntegerRange(0, 4)], ["age", "dose"])
    >>> corners = Corners(ages, directions=("<=", ">"), inside=1)
    >>> corners.size  # eleven cuts of the one column, six of the other, with those outside the domain
    66
    >>> corners.error_profile([np.array([1, 2, 7]), np.array([4, 0, 3])], np.array([1, 0, 0])).groups()
    ([0, 1, 2], [28, 35, 3])
    """

    default_domain = Floats(significand_bits=32, smallest=2.0**-40, largest=2.0**40)
    has_margins = True
    binary_only = True
    domain: Product

    def __init__(
        self,
        domain: Product,
        n_labels: int = 2,
        *,
        features: Sequence[int] | None = None,
        directions: Sequence[str] | None = None,
        inside: int | None = None,
    ):
        self.domain = domain
        if not isinstance(domain, Product):
            raise TypeError(f"domain must be a Product of the domains of all columns, got {brief(domain)}")
        self.n_labels = check_count("n_labels", n_labels, low=2, high=2)
        self.features = _checked_features(domain, features)
        self.inside = None if inside is None else check_count("inside", inside, high=1)
        self.given_directions = _checked_directions(directions, len(self.features))

    def __repr__(self) -> str:
        shown = [repr(self.domain), f"features={self.features!r}"]
        if self.given_directions is not None:
            shown.append(f"directions={self.given_directions!r}")
        if self.inside is not None:
            shown.append(f"inside={self.inside}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def size(self) -> int:
        return self._kinds * prod(size + 1 for size in self.sizes)

    @property
    def _kinds(self) -> int:
        """The number of directions with a label inside."""
        return self._n_directions * len(self.labels_inside)

    @property
    def _n_directions(self) -> int:
        one = self.given_directions is not None or (len(self.features) == 1 and self.inside is None)
        return 1 if one else 1 << len(self.features)

    @property
    def sizes(self) -> list[int]:
        """The number of codes of each of the columns."""
        return [int(self.domain.domains[feature].size) for feature in self.features]

    @property
    def directions(self) -> list[tuple[bool, ...]]:
        """For each direction, and each column, whether a corner has the codes above its cut."""
        if self.given_directions is not None:
            return [tuple(side == ">" for side in self.given_directions)]
        return list(product((False, True), repeat=len(self.features)))[: self._n_directions]

    @property
    def labels_inside(self) -> tuple[int, ...]:
        """The label codes inside a corner."""
        return (0, 1) if self.inside is None else (self.inside,)

    @property
    def littlestone_lower_bound(self) -> int:
        """A lower bound on the Littlestone dimension.

        A point in the corner of the domain tells which label is inside. On each column of N codes, with the
        others at that end, follow the floor(log2(N)) levels of a binary search.
        """
        return (self.inside is None) + sum(size.bit_length() - 1 for size in self.sizes)

    @property
    def n_chains(self) -> int:
        """Of one column, two of each direction and label inside: the mistakes inside, and those outside."""
        return 2 * self._n_directions * len(self.labels_inside) if len(self.features) == 1 else 0

    @property
    def records_of_dichotomy(self) -> int:
        """The number of records whose features determine a member of `dichotomies`: one for each column."""
        return len(self.features)

    def takes(self, n: int) -> bool:
        """Return whether the errors of all corners can be counted on any n records."""
        wide = prod(size + 1 for size in self.sizes[1:]) > 1 << 64
        return not wide and self._n_cells(n) * max(4, self._n_directions) <= 4 * _MOST_CELLS

    def _n_cells(self, n: int) -> int:
        return prod(min(n, size) + 1 for size in self.sizes)

    def check_records(self, n: int) -> None:
        """Raise ValueError if n records may have too many cells, or a cell too many members."""
        if not self.takes(n):
            names = " and ".join(repr(self.domain.names[feature]) for feature in self.features[:_NAMES])
            more = " and others" * (len(self.features) > _NAMES)
            raise ValueError(
                f"domain must leave at most 2**{_MOST_CELLS.bit_length() - 1} combinations of cuts between"
                f" {n:,} records for concept_class 'corners' in up to 4 directions, fewer in more, and 2**64"
                f" of all columns but the first, got up to {self._n_cells(n):,} in {self._n_directions}"
                f" directions: declare coarser domains of {names}{more}, such as Grid(0, 100, 1001)"
            )

    def error_profile(self, columns: Sequence[NDArray[Any]], y: Labels) -> ErrorProfile:
        of_class = [columns[feature] for feature in self.features]
        values = [distinct_values(codes) for codes in of_class]
        ranks = [np.searchsorted(each, codes) for each, codes in zip(values, of_class, strict=True)]
        axes = [_cuts_between(each, size) for each, size in zip(values, self.sizes, strict=True)]
        return CornerErrors(self, _nets(ranks, values, y), axes, np.bincount(y, minlength=2).tolist())

    def check_sums(self) -> None:
        size = 2 * prod(self.sizes)
        if size > _MOST_COUNTS:
            raise ValueError(
                f"domain must have at most 2**{_MOST_COUNTS.bit_length() - 1} combinations of values and a"
                f" label in the columns of corners if the table is in parts, got {size}: declare coarser"
                " domains, such as Grid(0, 100, 1001)"
            )

    def error_sums(self, columns: Sequence[NDArray[Any]], y: Labels) -> list[NDArray[np.int64]]:
        """Return the number of records with each label and combination of values."""
        cells = np.zeros(len(y), dtype=np.int64)
        for feature, size in zip(self.features, self.sizes, strict=True):
            cells = cells * size + columns[feature].astype(np.int64)
        return [label_histogram(cells, y, prod(self.sizes), 2)]

    def profile_of_sums(self, sums: Sequence[NDArray[np.int64]], n: int) -> "CornerErrors":  # noqa: ARG002
        (counts,) = sums
        nets = (counts[1] - counts[0]).reshape(self.sizes)
        axes = [(np.arange(size + 1, dtype=np.uint64), np.ones(size + 1, np.uint64)) for size in self.sizes]
        return CornerErrors(self, nets, axes, counts.sum(axis=1).tolist())

    def dichotomies(self, columns: Sequence[NDArray[Any]]) -> "ListedCorners":
        """Return the corners that differ on public records; parameters as in `ConceptClass`.

        For each direction and each label inside, each behaviour once. A cut between two adjacent values is at
        the lower one, and a corner that is bounded by no record of it is left out. Corners of several
        directions, or labels, may behave alike.
        """
        return ListedCorners(self, columns)

    def most_dichotomies(self, n: int) -> int:
        corners = prod(min(n + 1, size) for size in self.sizes) + 1  # and the empty one
        return self._kinds * corners

    def member(self, above: Sequence[bool], inner: int, codes: Sequence[int]) -> Corner:
        """Return the corner of a direction, a label inside and the cut of each column."""
        domains = tuple(self.domain.domains[feature] for feature in self.features)
        return Corner(self.features, domains, tuple(codes), tuple(above), inner)


class ListedCorners(Corners):
    """The corners of a class, in its order, that differ on public records, in encoded `columns`."""

    def __init__(self, corners: Corners, columns: Sequence[NDArray[Any]]):
        vars(self).update(vars(corners))
        of_class = [columns[feature] for feature in self.features]
        self._values = [distinct_values(codes) for codes in of_class]
        ranks = [np.searchsorted(each, codes) for each, codes in zip(self._values, of_class, strict=True)]
        occupied = _records(ranks, self._values) > 0
        self.listed = [_bounded(occupied, above) for above in self.directions]

    def __repr__(self) -> str:
        return f"ListedCorners({self.size} of {super().__repr__().replace('Listed', '', 1)})"

    @property
    def size(self) -> int:
        return len(self.labels_inside) * sum(int(np.count_nonzero(listed)) for listed in self.listed)

    @property
    def littlestone_lower_bound(self) -> int:
        """0: no bound is known for the listed corners."""
        return 0

    def check_records(self, n: int) -> None:
        """Return: the cells are those of the public records."""

    def check_sums(self) -> None:
        raise TypeError("X must be a table in memory where public rows list the corners, got one in parts")

    def dichotomies(self, columns: Sequence[NDArray[Any]]) -> "ListedCorners":  # noqa: ARG002 - none are used
        raise TypeError("concept_class must have cuts that are not listed yet if public rows list them")

    most_dichotomies = ConceptClass.most_dichotomies

    def error_profile(self, columns: Sequence[NDArray[Any]], y: Labels) -> ErrorProfile:
        of_class = [columns[feature] for feature in self.features]
        ranks = [
            np.minimum(np.searchsorted(each, codes), len(each) - 1)  # the last cut is the top
            for each, codes in zip(self._values, of_class, strict=True)
        ]
        prefix, (zeros, ones) = prefix_nets(_nets(ranks, self._values, y)), np.bincount(y, minlength=2)
        counts = []
        for above, listed in zip(self.directions, self.listed, strict=True):
            nets = nets_inside(prefix, above)[listed]
            counts += [ones - nets if inner else zeros + nets for inner in self.labels_inside]
        return CountedErrors(np.concatenate(counts), self._member_at)

    def _member_at(self, place: int) -> Corner:
        for above, listed in zip(self.directions, self.listed, strict=True):
            cells = np.argwhere(listed)
            if place < len(self.labels_inside) * len(cells):
                label, cell = divmod(place, len(cells))
                # The cuts are below the domain, at all values but the last, and at the top.
                cuts = [
                    -1 if not cut else size - 1 if cut == len(each) else int(each[cut - 1])
                    for cut, each, size in zip(cells[cell], self._values, self.sizes, strict=True)
                ]
                return self.member(above, self.labels_inside[label], cuts)
            place -= len(self.labels_inside) * len(cells)
        raise IndexError("fewer corners are listed than the place asks for")


class CornerErrors:
    """The error profile of a class of corners. Private."""

    def __init__(
        self,
        corners: Corners,
        nets: NDArray[np.int64],  # for each combination of values, the records with label 1 minus label 0
        axes: Sequence[_Intervals],  # of m values, m + 1 of a column's cuts; 0 is the cut below the domain
        totals: Sequence[int],  # the number of records of each label
    ):
        self._corners, self._totals, self._prefix = corners, totals, prefix_nets(nets)
        self._starts, self._lengths = zip(*axes, strict=True)

    @cached_property
    def _counts(self) -> list[dict[int, int]]:
        """For each direction, the number of combinations of cuts for each net of labels inside."""
        directions = self._corners.directions
        return [net_counts(nets_inside(self._prefix, above), self._lengths) for above in directions]

    def groups(self) -> tuple[list[int], list[int]]:
        members: dict[int, int] = {}
        for counts in self._counts:
            for inner in self._corners.labels_inside:
                for net, number in counts.items():
                    errors = self._totals[1] - net if inner else self._totals[0] + net
                    members[errors] = members.get(errors, 0) + number
        rising = sorted(members)
        return rising, [members[errors] for errors in rising]

    def member(self, errors: int, index: int) -> Concept:
        for above, counts in zip(self._corners.directions, self._counts, strict=True):
            for inner in self._corners.labels_inside:
                net = self._totals[1] - errors if inner else errors - self._totals[0]
                here = counts.get(net, 0)
                if index < here:
                    return self._corners.member(above, inner, self._nth(above, net, index))
                index -= here
        raise IndexError("fewer corners make so many errors than the index asks for")

    def _nth(self, above: Sequence[bool], net: int, index: int) -> list[int]:
        """Return the cuts of the `index`-th corner of a direction with these net labels inside."""
        chosen, cuts = nets_inside(self._prefix, above) == net, []
        for column, (starts, heights) in enumerate(zip(self._starts, self._lengths, strict=True), 1):
            widths = _products(self._lengths[column:])
            rows = enumerate(row_totals(chosen.reshape(len(heights), -1), widths))
            for row, width in rows:
                here = int(heights[row]) * width
                if index < here:
                    cut, index = divmod(index, width)
                    cuts.append(int(starts[row]) + cut - 1)
                    chosen = chosen[row]
                    break
                index -= here
        return cuts


def _records(ranks: Sequence[NDArray[np.intp]], values: Sequence[NDArray[Any]]) -> NDArray[np.intp]:
    shape = tuple(map(len, values))
    return np.bincount(np.ravel_multi_index(tuple(ranks), shape), minlength=prod(shape)).reshape(shape)


def _nets(ranks: Sequence[NDArray[np.intp]], values: Sequence[NDArray[Any]], y: Labels) -> NDArray[np.int64]:
    """Return the number of records with label 1 minus that with label 0, as `_records`."""
    ones, zeros = ([each[y == label] for each in ranks] for label in (1, 0))
    nets = _records(ones, values)
    nets -= _records(zeros, values)
    return nets.astype(np.int64, copy=False)


def _cuts_between(values: NDArray[Any], size: int) -> _Intervals:
    """Return the intervals of cuts that divide values alike, from 0 for the cut below the domain."""
    cuts = values.astype(np.uint64)
    starts = np.concatenate((np.zeros(1, np.uint64), cuts + np.uint64(1)))
    # There are size + 1 cuts, which may be 2**64: the last length is computed without this number.
    lengths = np.append(np.diff(starts), np.uint64(size) - cuts[-1])
    return starts, lengths


def _bounded(occupied: NDArray[np.bool_], above: Sequence[bool]) -> NDArray[np.bool_]:
    """Return the cells of the corners that records bound on each side, and of one empty corner."""
    turned = tuple(axis for axis, side in enumerate(above) if side)
    from_corner = np.flip(occupied, turned)
    bounded = np.ones_like(occupied)
    for own in range(occupied.ndim):
        found = from_corner
        for axis in {*range(occupied.ndim)} - {own}:
            found = np.logical_or.accumulate(found, axis=axis)
        bounded &= found
    listed = np.zeros([size + 1 for size in occupied.shape], dtype=bool)
    listed[tuple(slice(None, -1) if side else slice(1, None) for side in above)] = np.flip(bounded, turned)
    listed[tuple(-1 if side else 0 for side in above)] = True
    return listed


def _checked_features(domain: Product, features: Any) -> tuple[int, ...]:
    """Return the positions of distinct columns with ordered domains."""
    if features is None:
        features = tuple(range(len(domain)))
    if not isinstance(features, (list, tuple)) or not features:
        raise ValueError(f"features must be the positions of at least one column, got {brief(features)}")
    places = tuple(check_count("features", each, high=len(domain) - 1) for each in features)
    if len(set(places)) < len(places):
        raise ValueError(f"features must be distinct columns, got {places}")
    for place in places:
        part = domain.domains[place]
        if not part.ordered or part.size >= 1 << 64:
            raise ValueError(
                "domain must be ordered, of fewer than 2**64 values, in the columns of corners, got"
                f" {brief(part)} in column {domain.names[place]!r}"
            )
    return places


def _checked_directions(directions: Any, k: int) -> tuple[str, ...] | None:
    if directions is None:
        return None
    given = isinstance(directions, (list, tuple)) and [each for each in directions if each in _SIDES]
    if not given or len(given) != len(directions) or len(given) != k:
        raise ValueError(
            f"directions must have '<=' or '>' for each of {k} ordered columns, got {brief(directions)}"
        )
    return tuple(given)


DENSE = 1 << 22  # widest range of nets with a place for each
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def prefix_nets(nets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the net labels of records with the first i values of each column, from those of combinations,
    `nets`.
    """
    prefix = np.zeros([size + 1 for size in nets.shape], dtype=np.int64)
    prefix[(slice(1, None),) * nets.ndim] = nets
    for axis in range(nets.ndim):
        np.cumsum(prefix, axis=axis, out=prefix)
    return prefix


def nets_inside(prefix: NDArray[np.int64], above: Sequence[bool]) -> NDArray[np.int64]:
    """Return the net labels inside the corners of each cell; `above`: whether they have the values above a
    cut.
    """
    inside = prefix
    for axis, side in enumerate(above):
        if side:
            inside = inside.take([-1], axis=axis) - inside
    return inside


def net_counts(inside: NDArray[np.int64], lengths: Sequence[NDArray[np.uint64]]) -> dict[int, int]:
    """Return the exact number of combinations of cuts, by their `lengths`, for each net of labels inside."""
    heights, widths = lengths[0], _products(lengths[1:])
    inside = inside.reshape(len(heights), -1)
    low = int(inside.min())
    span = int(inside.max()) - low + 1
    nets = None if span <= DENSE else np.unique(inside)
    totals = np.zeros((4, span if nets is None else nets.size), dtype=np.int64)
    wide = min(inside.shape[1], BLOCK)
    tall = max(1, BLOCK // wide)
    for row, column in product(range(0, len(heights), tall), range(0, len(widths), wide)):
        rows, columns = slice(row, row + tall), slice(column, column + wide)
        block = inside[rows, columns].ravel()
        places = block - low if nets is None else np.searchsorted(nets, block)
        digits = _digits_of_products(heights[rows, None], widths[None, columns])
        for total, digit in zip(totals, digits, strict=False):  # the higher digits are 0
            found = np.bincount(places, weights=digit)  # of at most 2**20 numbers below 2**32
            total[: found.size] += found.astype(np.int64)
    occurring = np.flatnonzero(totals.any(axis=0))
    found_nets = occurring + low if nets is None else nets[occurring]
    numbers = [
        sum(digit << 32 * place for place, digit in enumerate(each))
        for each in zip(*totals[:, occurring].tolist(), strict=True)
    ]
    return dict(zip(found_nets.tolist(), numbers, strict=True))


def _digits_of_products(heights: NDArray[np.uint64], widths: NDArray[np.uint64]) -> list[NDArray[np.float64]]:
    """Return the 32-bit digits of all products, the lowest first, as flat arrays."""
    largest = int(heights.max()) * int(widths.max())
    if largest >> 64:
        digits = _four_digits(heights & _LOW, heights >> _HALF, widths & _LOW, widths >> _HALF)
    else:
        product = heights * widths
        digits = [product & _LOW, product >> _HALF] if largest >> 32 else [product]
    return [digit.astype(np.float64).ravel() for digit in digits]


def _four_digits(
    a: NDArray[np.uint64], b: NDArray[np.uint64], c: NDArray[np.uint64], d: NDArray[np.uint64]
) -> list[NDArray[np.uint64]]:
    low, one, other, high = a * c, a * d, b * c, b * d
    second = (low >> _HALF) + (one & _LOW) + (other & _LOW)
    third = (second >> _HALF) + (one >> _HALF) + (other >> _HALF) + (high & _LOW)
    return [low & _LOW, second & _LOW, third & _LOW, (third >> _HALF) + (high >> _HALF)]


def row_totals(chosen: NDArray[np.bool_], widths: NDArray[np.uint64]) -> Iterator[int]:
    """Yield for each row the exact sum of the widths of its chosen cells."""
    tall = max(1, BLOCK // len(widths))
    for start in range(0, len(chosen), tall):
        block = chosen[start : start + tall]
        low = np.where(block, widths & _LOW, np.uint64(0)).sum(axis=1)
        high = np.where(block, widths >> _HALF, np.uint64(0)).sum(axis=1)
        yield from ((upper << 32) + lower for lower, upper in zip(low.tolist(), high.tolist(), strict=True))


def _products(lengths: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return the number of combinations of cuts in each cell of some columns, whose sum is at most 2**64."""
    widths = np.ones(1, np.uint64)
    for each in lengths:
        widths = np.multiply.outer(widths, each).ravel()
    return widths
