"""Cells of columns whose range is learned or wide: far ones, and what the released counts make of them.

A cell more costs a histogram no privacy. So columns of learned ranges also have cells beyond these, of
growing width, and cells of one value at 0 and 1. Cells whose counts may be noise are then left out, or
merged.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains import Floats, IntegerRange, NumberDomain
from dplearn.releases.table_columns import (
    FAR,
    SPLIT,
    UNUSED,
    TableColumn,
    even_starts,
    far_column,
    with_firsts,
)

_NARROW = 2.0**-19  # ends of a range are released to 20 significant bits: one so narrow has a single value
_NEAR_ZERO = 2.0**-20  # the same where the value is 0
_DOUBLINGS = 16  # of the widths of cells beyond a range; further ones grow by 16
_MOST_DOUBLED = 20  # an exponent: narrower cells grow by 2
_HALVES = np.array([0.25, 0.5, 0.75, 1.5, 3.0])  # of the first step beyond a range: where a cell may be two
_CODES = np.arange(1.0, 8.0)  # integers so near to a range are told apart
_OCTAVES = 5  # below the width of a cell, in which numbers near 0 are told apart
_FIRST = -20  # exponent of the least power of two at which floats without a range are cut
_LAST = 26  # of the greatest; greater ones grow by 16
_AROUND = 4096  # the narrowest cells around a median are this times narrower than its magnitude
# Standard deviations. A far cell, or several in a row, are kept if their count is so many: noise alone is so
# with probability 3e-7, and Laplace noise 4e-7.
_ALONE, _ALONE_LAPLACE = 5.0, 10.0
_LENGTHS = (1, 2, 4, 8)  # the numbers of cells in a row
_BESIDE = 2.0  # the same of a cell beside a kept one, which has values of about the same size
_CODE = 3.0  # the same of a cell of few integers other than 0 and 1, which may be no codes of the column
_APART = 2.0  # and of the records that are elsewhere if two cells are one
_NEIGHBORS = 2  # cells that are left out whose counts a kept one has
_EXACT, _MOST_CODES = 1 << 53, (1 << 64) - 1  # floats represent all integers up to here; of a column
_END, _LEAST = 2.0**65, 1e-300  # above all numbers; the least width
Numbers = NDArray[np.float64]


def ranged_column(name: str, domain: NumberDomain, n_bins: int, widest: NumberDomain) -> TableColumn:
    """Return the cells of a column of a learned range, among the numbers of a wider domain."""
    whole, gap = isinstance(widest, IntegerRange), int(widest.accepts_missing)
    inner, (low, high) = _range_of(domain, n_bins, widest)
    lone = high - low <= max(float(whole), _NARROW * abs(low), _NEAR_ZERO)
    splits = [_singles(widest)]
    if lone:
        regular = _around(low, whole, widest)
        splits += [np.array([low, high])]
    else:
        step = max((high - low) / 4, float(whole))
        doublings = int(max(_DOUBLINGS, _MOST_DOUBLED - np.log2(step)))
        away, halves = step * _growing(_greatest(widest) / step, doublings), step * _HALVES
        octaves = (high - low) / n_bins * 2.0 ** -np.arange(1.0, 1 + _OCTAVES)
        regular = [low - away, inner, np.array([high]), high + away, np.zeros(int(not low < 0 < high))]
        splits += [each[(each > low) & (each < high)] for each in (-octaves, octaves)]
        splits += [low - halves, high + halves]
    if whole:
        splits += [low - _CODES, high + _CODES]
    starts, cuts = (_codes_of(widest, np.concatenate(each)) for each in (regular, splits))
    near = () if lone else (int(_codes_of(widest, np.array([low]))[0]), _end_of(widest, high))
    return far_column(name, widest, (with_firsts(starts, gap), cuts), near, ranged=True)


def widest_numbers(numbers: Floats, plain: Any, learned: NumberDomain, *, whole: bool) -> NumberDomain:
    """Return the domain of all numbers of a column that synthetic ones may be, by its type of numpy; of
    integers with gaps those that floats represent, unless the learned range has greater ones.
    """
    missing = learned.accepts_missing
    if not whole:
        outside = "accept" if missing else "refuse"
        return Floats(smallest=numbers.smallest, largest=numbers.largest, missing=missing, outside=outside)
    info = np.iinfo(plain if plain is not None and plain.kind in "iu" else np.int64)
    floats = missing and max(-getattr(learned, "low", 0), getattr(learned, "high", 0)) <= _EXACT
    most = _EXACT if floats else int(numbers.largest)
    low, high = max(-most, int(info.min)), min(most, int(info.max))
    high = min(high, low + _MOST_CODES - 1 - missing)  # of 64 bits, the last integers have one code
    return IntegerRange(low, high, "accept" if missing else "clip", missing=missing)


def _codes_of(widest: NumberDomain, numbers: Numbers) -> NDArray[np.uint64]:
    """Return the codes of the least numbers that are not below some numbers."""
    whole = np.ceil(numbers) if isinstance(widest, IntegerRange) else numbers
    return np.asarray(widest.nearest(whole), dtype=np.uint64)


def _end_of(widest: NumberDomain, end: float) -> int:
    return widest.size if end > _greatest(widest) else int(_codes_of(widest, np.array([end]))[0])


def _range_of(domain: NumberDomain, n_bins: int, widest: NumberDomain) -> tuple[Numbers, tuple[float, float]]:
    """Return the first number of each cell of a range, and its ends, of which the upper one is beyond it."""
    whole = isinstance(widest, IntegerRange)
    if isinstance(domain, Floats) or domain == widest:  # no range is learned
        return np.zeros(1), (0.0, float(whole) or 5e-324)
    gap = int(domain.accepts_missing)
    numbers = domain.size - gap
    codes = np.array([*even_starts(numbers, n_bins), numbers - 1], dtype=np.uint64) + np.uint64(gap)
    *inner, last = np.asarray(domain.decode(codes), dtype=np.float64)
    if not whole and numbers == 2:  # a single number, and the one above
        return np.array(inner), (inner[0], float(np.nextafter(inner[0], np.inf)))
    return np.array(inner), (inner[0], last + 1 if whole else float(np.nextafter(last, np.inf)))


def _around(center: float, whole: bool, widest: NumberDomain) -> list[Numbers]:
    """Return first numbers of cells of all magnitudes, and finer ones around a number."""
    first = 0 if whole else _FIRST
    powers = 2.0**first * _growing(_greatest(widest) * 2.0**-first, _LAST - first)
    powers = powers[(powers <= abs(center) / 4) | (powers >= 4 * abs(center))]  # near it there are finer ones
    step = max(abs(center) / _AROUND, float(whole))
    away = step * _growing(max(1.0, 2 * abs(center) / max(step, _LEAST)), _LAST)
    return [-powers, np.zeros(1), powers, center - away, center + away]


def _greatest(widest: NumberDomain) -> float:
    return float(widest.decode(np.array([widest.size - 1], dtype=np.uint64))[0])


def _growing(most: float, doublings: int) -> Numbers:
    """Return numbers from 1 on, growing by 2, and then by 16, up to twice a given one."""
    last = np.log2(most) + 1
    return 2.0 ** np.concatenate(
        [np.arange(0.0, max(0.0, min(last, doublings))), np.arange(doublings, max(last, doublings), 4.0)]
    )


def _singles(widest: NumberDomain) -> Numbers:
    """Return the first numbers of the cells of 0 and of 1, and of those after them."""
    after = (widest.smallest, np.nextafter(1, 2)) if isinstance(widest, Floats) else (1.0, 2.0)
    return np.array([0.0, 1.0, *after])


def merged(
    column: TableColumn, counts: Numbers, deviation: float, *, gaussian: bool, tails: bool = True
) -> tuple[TableColumn, NDArray[np.int16]]:
    """Return the column with fewer cells, given noisy counts of these, and the new cell of each cell; with
    `tails`, a kept cell has the records of its neighbors that are left out.
    """
    alone = _ALONE if gaussian else _ALONE_LAPLACE
    whole = np.flatnonzero(column.marks & SPLIT == 0)  # the first of the cells that may be one
    kept = np.repeat(_kept(column, whole, counts, deviation, alone), np.diff(np.append(whole, column.size)))
    first = _split(column, counts, deviation, kept)
    kept = kept[first] & _kept(column, first, counts, deviation, alone)
    first, kept = _without_holes(column, first, kept)
    begins = np.flatnonzero(kept | np.append(True, kept[:-1]))  # cells that are left out in a row are one
    kinds = np.where(kept[begins], 0, UNUSED).astype(np.int8)
    found = replace(column, starts=column.starts[first[begins]], kinds=kinds)
    cells = np.searchsorted(begins, np.arange(len(first)), side="right") - 1
    if tails:
        cells = _with_neighbors(cells, kept, column.gap)
    return found, cells[np.searchsorted(first, np.arange(column.size), side="right") - 1].astype(np.int16)


def _kept(
    column: TableColumn, first: NDArray[np.intp], counts: Numbers, deviation: float, alone: float
) -> NDArray[np.bool_]:
    """Return the cells that numbers are drawn from, given the first of those that are one."""
    numbers, scores = first[column.gap :], _scores(column, first, counts, deviation)[column.gap :]
    sizes, kept = np.diff(np.append(numbers, column.size)), column.marks[numbers] & FAR == 0
    lengths = (1,) if kept.any() else _LENGTHS  # without a range, records may be anywhere
    best = (-np.inf, 0, 0)
    for length in lengths:
        together = _moving(scores * np.sqrt(sizes), length) / np.sqrt(_moving(sizes, length))
        together[_moving(kept, length) > 0] = -np.inf
        place = int(together.argmax()) if len(together) else 0
        best = max(best, (together[place], length, place)) if len(together) else best
        here = (np.flatnonzero(together > alone)[:, None] + np.arange(length)).ravel()
        kept[here] |= scores[here] > 1
    if not kept.any():
        kept[best[2] : best[2] + best[1]] = True
    ends = np.append(column.starts, np.uint64(column.domain.size))[np.append(numbers, column.size)]
    few = isinstance(column.domain, IntegerRange) & (np.diff(ends) <= len(_CODES))
    few &= ~np.isin(column.firsts[numbers], (0, 1))
    beside = scores > np.where(few, _CODE, _BESIDE)
    for here, clear in ((kept, beside), (kept[::-1], beside[::-1])):
        for place in range(1, len(here)):
            here[place] |= here[place - 1] & clear[place]
    return np.append(np.ones(column.gap, dtype=bool), kept)


def _scores(column: TableColumn, first: NDArray[np.intp], counts: Numbers, deviation: float) -> Numbers:
    """Return the counts of cells in standard deviations of their noise."""
    sizes = np.diff(np.append(first, column.size))
    return np.asarray(np.add.reduceat(counts, first) / (deviation * np.sqrt(sizes)))


def _moving(values: NDArray[Any], length: int) -> Numbers:
    """Return the sums of so many values in a row."""
    sums = np.append(0.0, np.cumsum(values))
    return np.asarray(sums[length:] - sums[:-length])


def _split(
    column: TableColumn, counts: Numbers, deviation: float, kept: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Return the first cells of those that are one, if the records of either would be elsewhere by noise."""
    first, far = np.arange(column.size), column.marks & FAR > 0
    optional = (column.marks & SPLIT > 0) & np.append(False, far[1:] == far[:-1])
    ends = np.append(np.nan_to_num(column.firsts), _END)
    while True:
        sums, widths = np.add.reduceat(counts, first), np.diff(ends[np.append(first, column.size)])
        share = widths[1:] / np.maximum(widths[1:] + widths[:-1], _LEAST)
        moved = np.abs(sums[1:] - share * (sums[1:] + sums[:-1]))
        moved[~kept[first[1:]]] = 0.0
        moved[~optional[first[1:]]] = np.inf
        if not len(moved) or moved[place := int(moved.argmin())] >= _APART * deviation:
            return first
        first = np.delete(first, place + 1)


def _without_holes(
    column: TableColumn, first: NDArray[np.intp], kept: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the cells with those between two kept ones as one kept cell, if it is not wider than both."""
    ends = np.append(np.nan_to_num(column.firsts), _END)[np.append(first, column.size)]
    places, kept = np.flatnonzero(kept[column.gap :]) + column.gap, kept.copy()
    dropped: list[int] = []
    for left, right in pairwise(places.tolist()):
        hole = ends[right] - ends[left + 1]
        if right > left + 1 and hole <= ends[right + 1] - ends[left] - hole:
            kept[left + 1] = True
            dropped += range(left + 2, right)
    return np.delete(first, dropped), np.delete(kept, dropped)


def _with_neighbors(cells: NDArray[np.intp], kept: NDArray[np.bool_], gap: int) -> NDArray[np.intp]:
    """Return new cells with those that are left out beside a kept one: their records are those of a tail."""
    found = cells.copy()
    for place in np.flatnonzero(kept[gap:]) + gap:
        for side in (1, -1):
            near = np.arange(place + side, place + side * (_NEIGHBORS + 1), side)
            near = near[(near >= gap) & (near < len(kept))]
            if not kept[near].any():
                found[near] = cells[place]
    return found
