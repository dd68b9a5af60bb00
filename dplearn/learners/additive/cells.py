"""The public cells of a column, and the public rows and kernels of the cells.

The cell of a value is a function of the value and its declared domain. A kernel is a covariance matrix of the
values of a smooth function at the cells: a straight line, or a line with bends over several lengths.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains import Domain, Floats, LargeIntegerRange
from dplearn.domains.base import NumberDomain
from dplearn.kernels import CodePlaces

Floats64 = NDArray[np.float64]

#: The number of kernels of an ordered column, from stiff to flexible.
LEVELS = 6
#: The most cells of a column of categories; with more values, values share cells.
MOST_CELLS = 512
#: The most cells of an ordered column.
MOST_ORDERED = 256
_EACH = 128  # an ordered domain with at most this many numbers has a cell for each
_EVEN = 64  # the number of cells of equal width
_WIDE = 256.0  # a range is wide if its end is this many times its start, or more
_QUARTERS = 4  # cells between two powers of two
_FINE = (16, 8, _QUARTERS)  # those tried for fine cells, until there are at most MOST_ORDERED in all
_EXPONENTS = (-8, 17)  # powers of two; smaller magnitudes share a cell with 0, greater ones share the last
_LAST = 40  # a greater declared end shares the last cell with all above this power of two
_LEAST_SHARED = 3  # the least number of cells of equal shares, beside those of single values
_SMALL = 2e-3  # eigenvalues below this share of the greatest are dropped
# The weights of a straight line and of functions of correlation length size / 1.5, size / 12, 3 and 0.2
# cells, for each level.
_MIXTURES = (
    (1.0, 0.0, 0.0, 0.0, 0.0),
    (0.5, 0.5, 0.0, 0.0, 0.0),
    (0.2, 0.45, 0.35, 0.0, 0.0),
    (0.1, 0.3, 0.3, 0.3, 0.0),
    (0.05, 0.3, 0.25, 0.25, 0.15),
    (0.05, 0.15, 0.1, 0.1, 0.6),
)


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of one column."""

    domain: Domain
    starts: NDArray[np.uint64] | None  # first codes, ascending; None for categories: the code modulo `size`
    size: int  # the number of cells

    @property
    def ordered(self) -> bool:
        """Whether adjacent cells contain adjacent values."""
        return self.starts is not None

    @property
    def most(self) -> int:
        """The most cells of a column of such a domain with other ends, such as learned ones."""
        return MOST_ORDERED if self.ordered and self.size < self.domain.size else self.size

    @property
    def gap(self) -> int:
        """The number of cells before the numbers: 1 if cell 0 is that of missing numbers, else 0."""
        return int(self.ordered and self.domain.accepts_missing)

    @property
    def values(self) -> Floats64 | None:
        """The least number of each cell, NaN for a missing number; None for a column without numbers."""
        if self.starts is None or not isinstance(self.domain, NumberDomain):
            return None
        return np.asarray(self.domain.decode(self.starts), dtype=np.float64)

    def described(self) -> tuple[str, ...]:
        values = self.values
        if values is None:
            shared = self.size < self.domain.size
            return tuple(
                f"group {cell}" if shared else self.domain.describe_test(cell).removeprefix("== ")
                for cell in range(self.size)
            )
        numbers = self.domain.texts(values[self.gap :])  # type: ignore[attr-defined]
        return ("missing",) * self.gap + tuple(numbers)

    def of(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        """Return the cell of each value; `size` for a code outside the domain."""
        if self.size == self.domain.size:
            return codes.astype(np.int16)
        if self.starts is None:
            return np.where(codes == self.domain.size, self.size, codes % self.size).astype(np.int16)
        return _places(self)(codes)


def column_of(domain: Domain, *, fine: bool = False) -> Column:
    """Return the cells of a column: of a category each, or of few values; else 64 of equal width, the first
    one halved towards 0, or four (`fine`: up to 16) between powers of two and parts of these. Missing numbers
    have cell 0.
    """
    if not domain.ordered:
        return Column(domain, None, min(domain.size, MOST_CELLS))
    gap = int(domain.accepts_missing)
    numbers = domain.size - gap
    if numbers <= _EACH:
        starts = np.arange(domain.size, dtype=np.uint64)
    else:
        for cells in _FINE if fine else (_QUARTERS,):
            first = _first_codes(domain, gap, numbers, cells)
            starts = np.unique(np.array([*range(gap + 1), *first], dtype=np.uint64))
            if len(starts) <= MOST_ORDERED:
                break
    return Column(domain, starts, len(starts))


def column_by_masses(domain: Domain, codes: NDArray[Any], most: int) -> Column:
    """Return about `most` cells of equal shares of public codes; a value of a greater share has its own."""
    if not domain.ordered:
        return column_of(domain)
    gap = int(domain.accepts_missing)
    values, counts = np.unique(codes[(codes >= gap) & (codes < domain.size)], return_counts=True)
    if len(values) > most:
        alone = counts > counts.sum() / most
        rest = np.where(alone, 0, counts)
        places = (np.cumsum(rest) - rest / 2) * max(_LEAST_SHARED, most - alone.sum()) // max(rest.sum(), 1)
        places[alone] = -1 - np.arange(alone.sum())
        values = values[np.append(True, places[1:] != places[:-1])]
    starts = np.array([*range(gap + 1), *values[1:].tolist()], dtype=np.uint64)
    return Column(domain, starts, len(starts))


def kernel(column: Column, level: int) -> Floats64:
    """Return the kernel at a level from 0, a line, to LEVELS - 1; unordered cells are independent."""
    return _kernel(column.size, column.gap, column.ordered, level)


def smooth_rows(column: Column, level: int) -> Floats64:
    """Return a row for each cell, of norm at most 1: their products are nearly proportional to the kernel."""
    return _rows(column.size, column.gap, column.ordered, level)


def line_rows(column: Column) -> Floats64:
    """Return a row for each cell: its place in [-1, 1] and an indicator of a missing number, or one-hot."""
    if not column.ordered:
        return np.eye(column.size)
    gap, numbers = column.gap, column.size - column.gap
    rows = np.zeros((column.size, 1 + gap))
    rows[gap:, 0] = np.linspace(-1.0, 1.0, numbers) if numbers > 1 else 0.0
    rows[:gap, 1:] = 1.0
    return rows


@lru_cache(maxsize=256)
def _places(column: Column) -> CodePlaces:
    assert column.starts is not None
    return CodePlaces(column.starts, column.domain.size)


@lru_cache(maxsize=256)
def _kernel(size: int, gap: int, ordered: bool, level: int) -> Floats64:
    numbers = size - gap
    if not ordered or numbers <= 2:
        return np.eye(size)
    places = np.arange(numbers)
    apart = np.abs(places[:, None] - places[None, :])
    line = np.linspace(-1.0, 1.0, numbers)
    lengths = (numbers / 1.5, numbers / 12, 3.0, 0.2)
    kernels = [np.outer(line, line), *(np.exp(-apart / length) for length in lengths)]
    full = np.zeros((size, size))
    full[:gap, :gap] = 1.0
    full[gap:, gap:] = sum(weight * kernel for weight, kernel in zip(_MIXTURES[level], kernels, strict=True))
    return full


@lru_cache(maxsize=256)
def _rows(size: int, gap: int, ordered: bool, level: int) -> Floats64:
    if not ordered or size - gap <= 2:
        return np.eye(size)
    values, vectors = np.linalg.eigh(_kernel(size, gap, ordered, level))
    kept = values > _SMALL * values.max()
    rows = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(rows / np.linalg.norm(rows, axis=1).max())


def _first_codes(domain: Domain, gap: int, numbers: int, cells: int) -> Any:
    """Return the first codes of the cells of an ordered domain, `cells` of them between two powers of two."""
    assert isinstance(domain, NumberDomain)
    if domain.size >> 64:
        raise ValueError(f"domain must have at most 2**64 values in each column, got {domain!r}")
    low, high = (float(each) for each in domain.decode(np.array([gap, domain.size - 1], dtype=np.uint64)))
    wide = low >= 0 and high >= _WIDE * max(low, 1.0)
    if not isinstance(domain, Floats) and (not wide or isinstance(domain, LargeIntegerRange)):
        even = [numbers * place // _EVEN for place in range(_EVEN)]
        # Many columns with a range from 0 on are mostly 0 or little more.
        halves = [even[1] >> place for place in range(even[1].bit_length())] if low == 0 else []
        return [gap + place for place in even + halves]
    first, last = _EXPONENTS
    if not isinstance(domain, Floats):  # up to the declared end
        last = min(max(last, math.frexp(high)[1]), _LAST)
    steps = (2.0 ** np.arange(first, last)[:, None] * (1 + np.arange(cells) / cells)).ravel()
    steps = np.concatenate([-steps[::-1], [0.0], steps])
    found = domain.nearest(steps[(steps > low) & (steps <= high)])
    if isinstance(domain, Floats | LargeIntegerRange) or cells > _QUARTERS:
        return found
    # Other columns of such a range have most values in the last octaves, of which each is four cells.
    return [*found, *(gap + numbers * place // (_EVEN // 2) for place in range(_EVEN // 2))]
