"""The columns of a synthetic table, and their cells.

The cell of a value is a function of the value and its declared domain; so are the values of a cell.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.domains import Categories, Domain, Floats, Grid, IntegerRange, NumberDomain, Product
from dplearn.domains.cells import object_array
from dplearn.kernels import CodePlaces
from dplearn.table import Columns

#: The most cells of a column of numbers; a cell is held in 16 bits.
MOST_BINS = 1 << 14
_WIDE = 256.0  # a range from 0 or above is wide if its end is this many times its start, or more
_TINY = 2.0**-64
_FEW = 16  # cells with records of a column without a range, as far as plans know
_EXPONENTS = range(-8, 18)  # the powers of two that are first values of cells of unbounded floats
#: Kinds of cells: left out if their counts may be noise; perhaps one with the cell before; not drawn from.
FAR, SPLIT, UNUSED = 1, 2, 4
POINTS = (1 << 20) + 1  # of learned ranges: synthetic numbers are not seen to lie on a grid
_TEXT_OR_NONE = {str, type(None)}


@dataclass(frozen=True, eq=False)
class TableColumn:
    """The cells of one column."""

    name: str
    domain: Domain
    starts: NDArray[np.uint64]  # the first code of each cell, ascending; categories have a cell each
    kinds: NDArray[np.int8] | None = None  # sums of `FAR`, `SPLIT` and `UNUSED` of each cell; None: all 0
    ranged: bool = False  # the cells are those of a learned range, and of all numbers beyond it

    @classmethod
    def released(
        cls, name: str, domain: Domain, starts: Sequence[int], unused: Sequence[int], ranged: bool
    ) -> "TableColumn":
        kinds = np.zeros(len(starts), dtype=np.int8)
        kinds[list(unused)] = UNUSED
        return cls(name, domain, np.array(starts, dtype=np.uint64), kinds, ranged)

    @property
    def size(self) -> int:
        return len(self.starts)

    @property
    def gap(self) -> int:
        """The number of cells before the numbers: 1 if cell 0 is that of missing numbers, else 0."""
        return int(self.domain.ordered and self.domain.accepts_missing)

    @cached_property
    def _listed(self) -> list[Any]:
        """The value of each cell of categories; of those that are not listed a gap, or "other" if missing
        ones have a cell of their own and all others are texts.
        """
        assert isinstance(self.domain, Categories)
        texts = None in self.domain.values and {type(value) for value in self.domain.values} <= _TEXT_OR_NONE
        return [*self.domain.values, *["other" if texts else None] * self.domain.other]

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Whether the values of each cell are gaps: missing numbers, or categories that are None."""
        if isinstance(self.domain, Categories):
            return np.array([value is None for value in self._listed])
        return np.arange(self.size) < self.gap

    @property
    def marks(self) -> NDArray[np.int8]:
        return np.zeros(self.size, dtype=np.int8) if self.kinds is None else self.kinds

    def near(self, cells: NDArray[np.bool_]) -> "TableColumn":
        """Return the column in which these cells are no far ones."""
        return replace(self, kinds=np.where(cells, self.marks & ~FAR, self.marks).astype(np.int8))

    @property
    def unused(self) -> NDArray[np.bool_]:
        """Whether no number is drawn from each cell."""
        return self.marks & UNUSED > 0

    @property
    def n_used(self) -> int:
        """The number of cells that are drawn from, whatever the counts; of a wide declared range, of all."""
        found = int((self.marks == 0).sum())
        if found > self.gap:
            return found
        return self.gap + _FEW if self.ranged else self.size

    @property
    def used_domain(self) -> Domain:
        """The domain; of a learned range that of the cells that numbers are drawn from."""
        if not self.ranged:
            return self.domain
        assert isinstance(self.domain, (Floats, IntegerRange))
        numbers = np.arange(self.gap, self.size)
        used = numbers[~self.unused[self.gap :]]
        used = used if used.size else numbers  # only gaps are drawn
        ends = np.append(self.starts, np.uint64(self.domain.size))
        codes = np.array([ends[used[0]], ends[used[-1] + 1] - np.uint64(1)])
        low, high = np.asarray(self.domain.decode(codes)).tolist()
        outside, missing = "accept" if self.gap else "clip", bool(self.gap)
        if isinstance(self.domain, IntegerRange):  # or dates
            given = {"low": int(low), "high": int(high), "outside": outside, "missing": missing}
            return type(self.domain)(**self.domain.parameters | given)
        if high > low:
            return Grid(low, high, POINTS, outside, missing=missing)
        return Grid(low, max(np.nextafter(low, np.inf), low + _TINY), 2, outside, missing=missing)

    @property
    def firsts(self) -> NDArray[np.float64]:
        assert isinstance(self.domain, NumberDomain)
        return np.asarray(self.domain.decode(self.starts), dtype=np.float64)

    @property
    def rest(self) -> NDArray[np.bool_]:
        """Whether each cell is of gaps, or of categories that are not listed."""
        listed = len(self.domain.values) if isinstance(self.domain, Categories) else self.size
        return self.gaps | (np.arange(self.size) >= listed)

    def of(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        if self.size == self.domain.size:
            return codes.astype(np.int16)
        return np.asarray(self._places(codes))

    @cached_property
    def _places(self) -> CodePlaces:
        return CodePlaces(self.starts, self.domain.size)

    def values(self, cells: NDArray[Any], stream: PublicStream) -> NDArray[Any]:
        """Return a value of each cell: a category, or a number drawn uniformly from the cell."""
        if isinstance(self.domain, Categories):
            return np.asarray(object_array(self._listed)[cells])
        if not isinstance(self.domain, NumberDomain):  # bits, or the numbers of buckets
            return cells.astype(np.int64)
        ends = np.append(self.starts[1:], np.uint64(self.domain.size))
        if isinstance(self.domain, Floats):
            codes = self._uniform_floats(self.domain, cells, stream)
            codes = np.clip(codes, self.starts[cells], ends[cells] - np.uint64(1))
            return np.asarray(self.domain.decode(codes))
        low, widths = self.starts[cells], (ends - self.starts)[cells]
        drawn = np.minimum((stream.uniform(len(cells)) * widths).astype(np.uint64), widths - np.uint64(1))
        return np.asarray(self.domain.decode(low + drawn))

    def _uniform_floats(self, domain: Floats, cells: NDArray[Any], stream: PublicStream) -> NDArray[Any]:
        """Return codes of floats that are uniform between the ends of cells; endless cells have one end."""
        first = np.asarray(domain.decode(self.starts), dtype=np.float64)
        low, high = first.copy(), np.append(first[1:], first[-1])
        if self.size > self.gap + 1:
            low[self.gap] = high[self.gap]
        if self.gap:
            low[0] = high[0] = 0.0  # moved to the code of missing numbers by the caller
        drawn = low[cells] + stream.uniform(len(cells)) * (high - low)[cells]
        return np.asarray(domain.nearest(drawn).astype(np.uint64))

    def decoded(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each code, of the types of `values`; None for codes of no category."""
        if isinstance(self.domain, Categories):
            return np.asarray(object_array([*self._listed, None])[codes])
        if isinstance(self.domain, NumberDomain):
            return np.asarray(self.domain.decode(codes))
        return codes.astype(np.int64)

    def described(self) -> tuple[str, ...]:
        if isinstance(self.domain, Categories):
            rest = "missing or other" if None not in self.domain.values else "other"
            named = ["missing" if value is None else str(value) for value in self.domain.values]
            return (*named, *[rest] * self.domain.other)
        if not isinstance(self.domain, NumberDomain):
            return tuple(map(str, range(self.size)))
        whole = np.append(self.starts[1:], np.uint64(self.domain.size)) - np.uint64(1)
        firsts, lasts = (self.domain.decode(codes)[self.gap :] for codes in (self.starts, whole))
        ends = zip(self.domain.texts(firsts), self.domain.texts(lasts), strict=True)
        spans = [first if first == last else f"{first} to {last}" for first, last in ends]
        return (*["missing"] * self.gap, *spans)


def table_columns(domain: Product, n_bins: int) -> tuple[TableColumn, ...]:
    return tuple(
        table_column(name, each, n_bins) for name, each in zip(domain.names, domain.domains, strict=True)
    )


def columns_of_one_value(columns: Sequence[TableColumn], shares: Sequence[NDArray[Any]]) -> list[str]:
    """Return the names of the columns that have one value or none in synthetic records, the rest apart."""
    given = zip(columns, shares, strict=True)
    return [column.name for column, share in given if _is_one_value(column, (share > 0) & ~column.rest)]


def _is_one_value(column: TableColumn, drawn: NDArray[np.bool_]) -> bool:
    """Return True if the cells that are drawn have no value, or equal ones, or numbers nearly equal."""
    values = column.values(np.repeat(np.flatnonzero(drawn), 9), PublicStream(0, "values"))
    values = values if values.dtype == object else values.astype(np.float64)  # differences may have 65 bits
    if values.dtype == object or not drawn.any():
        return int(drawn.sum()) <= 1
    # Learned ends have 20 significant bits; those of a column of which most numbers are 0 may be near 0.
    near_zero = 1e-6 if getattr(column.domain, "low", 1) <= 0 else 0.0
    return bool(np.ptp(values) <= max(1e-5 * np.abs(values).max(), near_zero))


def table_column(name: str, domain: Domain, n_bins: int) -> TableColumn:
    """Return the cells of a column: of numbers a value each, or `n_bins` of equal width; in a wide range from
    0 they grow by a factor of sqrt(2), and floats have those between powers of two. Missing numbers have the
    first, hashed values one of each bucket.
    """
    if not isinstance(domain, NumberDomain):
        return TableColumn(name, domain, np.arange(domain.size, dtype=np.uint64))
    if domain.size >> 64:
        raise ValueError(f"column {name!r} must have fewer than 2**64 values, got {domain!r}")
    gap = int(domain.accepts_missing)
    numbers = domain.size - gap
    if numbers <= n_bins:
        return TableColumn(name, domain, np.arange(domain.size, dtype=np.uint64))
    if isinstance(domain, Floats):
        powers = 2.0 ** np.array(_EXPONENTS)
        codes = domain.nearest(np.concatenate([-powers[::-1], [0.0], powers]))
        return TableColumn(name, domain, with_firsts(codes, gap))
    low, high = (float(each) for each in domain.decode(np.array([gap, domain.size - 1], dtype=np.uint64)))
    if low < 0 or high < _WIDE * max(low, 1.0):
        return TableColumn(name, domain, with_firsts(gap + np.array(even_starts(numbers, n_bins)), gap))
    least = float(domain.decode(np.array([gap + (low == 0)], dtype=np.uint64))[0])
    ends = np.ceil(high * 2.0 ** -(np.arange(max(n_bins - 2.0, 2 * (np.log2(high) - np.log2(least)))) / 2))
    whole = with_firsts(domain.nearest(np.append(ends[::2], least)), gap)
    return far_column(name, domain, (whole, domain.nearest(ends[1::2])))


def with_firsts(codes: NDArray[Any], gap: int) -> NDArray[np.uint64]:
    """Return first codes of cells, in order, with those of missing numbers and of the least one."""
    return np.unique(np.append(np.asarray(codes).astype(np.uint64), np.arange(gap + 1, dtype=np.uint64)))


def far_column(
    name: str,
    domain: NumberDomain,
    codes: tuple[NDArray[Any], NDArray[Any]],
    near: Sequence[Any] = (),
    *,
    ranged: bool = False,
) -> TableColumn:
    """Return the column of first codes of cells, and of cuts where a cell may be two; all cells are far, but
    for those from the first to before the second code in `near`.
    """
    starts, cuts = (each.astype(np.uint64) for each in codes)
    both = np.union1d(starts, cuts)
    first, end = near or (domain.size, 0)
    kinds = np.where(np.isin(both, starts), 0, SPLIT) | np.where((both < first) | (both >= end), FAR, 0)
    kinds[: int(domain.accepts_missing)] = 0
    return TableColumn(name, domain, both, kinds.astype(np.int8), ranged)


def even_starts(size: int, n_bins: int) -> list[int]:
    """Return the first codes of cells of equal width, or of one code each if there are fewer."""
    n_bins = min(size, n_bins)
    return [size * place // n_bins for place in range(n_bins)]


def values_of(
    columns: Sequence[TableColumn], cells: NDArray[Any], stream: PublicStream
) -> list[NDArray[Any]]:
    return [column.values(cells[:, place], stream) for place, column in enumerate(columns)]


def cells_in(columns: Sequence[TableColumn], rows: Columns) -> NDArray[np.int16]:
    """Return the cells of encoded records, of shape (n, d) and column by column in memory."""
    cells = np.empty((len(rows), len(columns)), dtype=np.int16, order="F")
    for place, (column, codes) in enumerate(zip(columns, rows.columns, strict=True)):
        cells[:, place] = column.of(codes)
    return cells


def counts_of(places: Sequence[int], sizes: Sequence[int], cells: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of records in each cell of the table of some columns."""
    index = cells[:, places[0]].astype(np.int64)
    for place, size in zip(places[1:], sizes[1:], strict=True):
        index *= size
        index += cells[:, place]
    return np.bincount(index, minlength=math.prod(sizes))
