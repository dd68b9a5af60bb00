"""The public cells of a column of a synthetic table, and values drawn within them.

The cell of a value is a function of the value and its declared domain; so are the values of a cell.

>>> import numpy as np
>>> from dplearn.chance import PublicStream
>>> from dplearn.domains import Categories, IntegerRange
>>> age = table_column("age", IntegerRange(18, 81), n_bins=16)
>>> age.size, age.of(np.array([0, 1, 63])).tolist(), age.described()[:2]
(16, [0, 0, 15], ('18 to 21', '22 to 25'))
>>> set(age.values(np.zeros(100, dtype=int), PublicStream(0)).tolist()) == {18, 19, 20, 21}
True
>>> gain = table_column("gain", IntegerRange(0, 99_999), n_bins=16)  # a wide range: 0 is a cell, others grow
>>> gain.described()[:2], gain.described()[-1]
(('0', '1 to 781'), '70710 to 99999')
>>> table_column("town", Categories(["north", "south"], other=True), n_bins=16).described()
('north', 'south', 'missing or other')
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.core.code_counts import CodePlaces
from dplearn.domains import Categories, Domain, Floats, Product
from dplearn.domains.base import NumberDomain
from dplearn.domains.cells import object_array

__all__ = ["MOST_BINS", "TableColumn", "columns_of_one_value", "table_column", "table_columns"]

#: The most cells of a column of numbers; a cell is held in 16 bits.
MOST_BINS = 1 << 14
_WIDE = 256.0  # a range from 0 or above is wide if its end is this many times its start, or more
_GROWTH = 2.0**0.5  # of the cells of a wide range, from the greatest down
_EXPONENTS = range(-8, 18)  # the powers of two that are first values of cells of unbounded floats


@dataclass(frozen=True, eq=False)
class TableColumn:
    """The cells of one column.

    Attributes
    ----------
    name : str
        Public. The name of the column.
    domain : Domain
        Public. The domain of the column.
    starts : ndarray of uint64 of shape (size,)
        Public. The first code of each cell, ascending. Categories have a cell each.
    """

    name: str
    domain: Domain
    starts: NDArray[np.uint64]

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.starts)

    @property
    def gap(self) -> int:
        """The number of cells before the numbers: 1 if cell 0 is that of missing numbers, else 0."""
        return int(self.domain.ordered and self.domain.accepts_missing)

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Whether the values of each cell are gaps: missing numbers, or categories that are not listed."""
        if isinstance(self.domain, Categories):
            return np.array([value is None for value in self.domain.values] + [True] * self.domain.other)
        return np.arange(self.size) < self.gap

    def of(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        """Return the cell of each value.

        Parameters
        ----------
        codes : ndarray of unsigned int of shape (n,)
            Private. Codes from `domain.encode`.

        Returns
        -------
        ndarray of int16 of shape (n,)
        """
        if self.size == self.domain.size:
            return codes.astype(np.int16)
        return np.asarray(self._places(codes))

    @cached_property
    def _places(self) -> CodePlaces:
        return CodePlaces(self.starts, self.domain.size)

    def values(self, cells: NDArray[Any], stream: PublicStream) -> NDArray[Any]:
        """Return a value of each cell: a category, or a number drawn uniformly from the cell.

        Parameters
        ----------
        cells : ndarray of int of shape (m,)
            Released. Cells of synthetic records.
        stream : PublicStream
            Public chance.

        Returns
        -------
        ndarray of shape (m,)
            Numbers of the domain: int64 for integers, float64 for others, and for integers with missing
            values, which are NaN. Objects for categories; missing ones are None.
        """
        if isinstance(self.domain, Categories):
            listed = object_array([*self.domain.values, *[None] * self.domain.other])
            return np.asarray(listed[cells])
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
        """Return the value of each code, of the types of `values`; None for unknown categories.

        Parameters
        ----------
        codes : ndarray of unsigned int of shape (m,)
            Codes from `domain.nearest`.

        Returns
        -------
        ndarray of shape (m,)
        """
        if isinstance(self.domain, Categories):
            known = object_array([*self.domain.values, *[None] * (1 + self.domain.other)])
            return np.asarray(known[codes])
        if isinstance(self.domain, NumberDomain):
            return np.asarray(self.domain.decode(codes))
        return codes.astype(np.int64)

    def described(self) -> tuple[str, ...]:
        """Return a description of each cell."""
        if isinstance(self.domain, Categories):
            rest = "missing or other" if None not in self.domain.values else "other"
            named = ["missing" if value is None else str(value) for value in self.domain.values]
            return (*named, *[rest] * self.domain.other)
        if not isinstance(self.domain, NumberDomain):
            return tuple(map(str, range(self.size)))
        whole = np.append(self.starts[1:], np.uint64(self.domain.size)) - np.uint64(1)
        firsts, lasts = (self.domain.decode(codes)[self.gap :] for codes in (self.starts, whole))
        spans = [
            f"{first:.6g}" if first == last else f"{first:.6g} to {last:.6g}"
            for first, last in zip(firsts, lasts, strict=True)
        ]
        return (*["missing"] * self.gap, *spans)


def table_columns(domain: Product, n_bins: int) -> tuple[TableColumn, ...]:
    """Return the cells of each column of a table.

    Parameters
    ----------
    domain : Product
        Public. The domain of a record.
    n_bins : int
        Public. As for `table_column`.
    """
    return tuple(
        table_column(name, each, n_bins) for name, each in zip(domain.names, domain.domains, strict=True)
    )


def columns_of_one_value(columns: Sequence[TableColumn], shares: Sequence[NDArray[Any]]) -> list[str]:
    """Return the names of the columns that have one value or none in synthetic records, gaps apart.

    Parameters
    ----------
    columns : sequence of TableColumn
        Released.
    shares : sequence of ndarray of float64
        Released. The share of records in each cell of each column.
    """
    given = zip(columns, shares, strict=True)
    return [column.name for column, share in given if _is_one_value(column, (share > 0) & ~column.gaps)]


def _is_one_value(column: TableColumn, drawn: NDArray[np.bool_]) -> bool:
    """Return True if the cells that are drawn have no value, or equal ones, or numbers nearly equal."""
    values = column.values(np.repeat(np.flatnonzero(drawn), 9), PublicStream(0, "values"))
    if values.dtype == object or not drawn.any():
        return int(drawn.sum()) <= 1
    # Learned ends have 20 significant bits; those of a column of which most numbers are 0 may be near 0.
    near_zero = 1e-6 if getattr(column.domain, "low", 1) <= 0 else 0.0
    return bool(np.ptp(values) <= max(1e-5 * np.abs(values).max(), near_zero))


def table_column(name: str, domain: Domain, n_bins: int) -> TableColumn:
    """Return the cells of a column.

    Parameters
    ----------
    name : str
        Public. The name of the column.
    domain : Domain
        Public. Categories and bits have a cell each. At most n_bins numbers have a cell each. More have
        cells of equal width, or, in a wide range, 0 has a cell, and the others grow by a factor of sqrt(2)
        up to the end. Floats have cells between powers of two. Missing numbers have the first cell. Hashed
        values have a cell for each bucket, whose number takes their place.
    n_bins : int
        Public. The most cells of numbers between ends, without that of missing ones; at least 2.

    Raises
    ------
    ValueError
        If the domain has 2**64 values or more.
    """
    if not isinstance(domain, NumberDomain):
        return TableColumn(name, domain, np.arange(domain.size, dtype=np.uint64))
    if domain.size >> 64:
        raise ValueError(f"column {name!r} must have fewer than 2**64 values, got {domain!r}")
    gap = int(domain.accepts_missing)
    numbers = domain.size - gap
    if numbers <= n_bins:
        return TableColumn(name, domain, np.arange(domain.size, dtype=np.uint64))
    starts = [*range(gap), *(gap + first for first in _first_numbers(domain, gap, numbers, n_bins))]
    return TableColumn(name, domain, np.unique(np.array(starts, dtype=np.uint64)))


def _first_numbers(domain: NumberDomain, gap: int, numbers: int, n_bins: int) -> list[int]:
    """Return the first code of each cell of numbers, less `gap`."""
    if isinstance(domain, Floats):
        powers = 2.0 ** np.array(_EXPONENTS)
        codes = domain.nearest(np.concatenate([-powers[::-1], [0.0], powers]))
        return [0, *(int(code) - gap for code in codes)]
    low, high = (float(each) for each in domain.decode(np.array([gap, domain.size - 1], dtype=np.uint64)))
    if low < 0 or high < _WIDE * max(low, 1.0):
        return [numbers * place // n_bins for place in range(n_bins)]
    after_zero = [1] * (low == 0)
    ends = high * _GROWTH ** -np.arange(n_bins - 1.0 - len(after_zero), 0.0, -1.0)
    return [0, *after_zero, *(int(code) - gap for code in domain.nearest(np.ceil(ends[ends > low])))]
