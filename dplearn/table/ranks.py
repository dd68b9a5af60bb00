"""Counts and ranks of the codes of records in parts, by passes that count up to 16 bits of codes at a time.

A pass counts, for all columns and ranks at once, the codes that share their leading bits, until few records
share them with a wanted rank. Above 2**16 codes, a last pass gathers the codes near the wanted ranks.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._progress import unseen
from dplearn.kernels.intervals import Level, counted, sorted_codes
from dplearn.kernels.ranks import CodeCounts, Places, Ranks, ranks_of_codes
from dplearn.table.table import Columns, Table

_DIGIT = 16  # bits that a pass tells apart, unless there are very many windows
_COUNTS = 1 << 22  # counts of one pass
FEW = 1 << 17  # codes that are gathered for all windows without telling more bits apart
FEWEST = 1 << 10  # codes that are gathered for each
_SCANS = 4  # of a column for its intervals; for more, a sort takes less time
Window = tuple[int, int]  # ranks from .. to less than


def ranks_of(table: Table, sizes: Sequence[int], windows: Sequence[Sequence[Window]]) -> Sequence[Ranks]:
    """Return the ranks of the codes in each column, in memory or as `parted_ranks` does."""
    held = table.at_once(lambda rows: list(map(ranks_of_codes, rows.columns)))
    return parted_ranks(table, sizes, windows) if held is None else held


def parted_ranks(
    records: Table, sizes: Sequence[int], windows: Sequence[Sequence[Window]] = ()
) -> "list[PartedRanks]":
    """Return the ranks of the codes in each column, found in passes for all ranks in `windows`."""
    passes, n = _Passes(records, sizes), len(records)
    wanted = [
        (column, (max(0, start), min(n, stop)))
        for column, each in enumerate(windows)
        for start, stop in each
        if max(0, start) < min(n, stop)
    ]
    if wanted:
        passes.gather(wanted)
    return [PartedRanks(passes, column) for column in range(len(sizes))]


class PartedRanks:
    """The ranks of the codes of one column; see `dplearn.kernels.ranks.Ranks`."""

    def __init__(self, passes: "_Passes", column: int):
        self._passes, self._column = passes, column

    def __len__(self) -> int:
        return len(self._passes.records)

    def at(self, ranks: Places) -> list[int]:
        start, stop = int(np.min(ranks)), int(np.max(ranks)) + 1
        near = self._passes.holding(self._column, start, stop)
        if near is None:
            self._passes.gather([(self._column, (start, stop))])
            near = self._passes.holding(self._column, start, stop)
        assert near is not None
        return near.counts.at(np.asarray(ranks) - near.below)

    @unseen()
    def count(self, codes: Any) -> tuple[Any, Any]:
        """Return the number of codes less than each of `codes`, and the number at most it."""
        low, high = (min(codes), max(codes)) if np.ndim(codes) else (codes, codes)
        known = self._passes.near[self._column]
        near = next((each for each in known if each.start <= low <= high < each.stop), None)
        if near is not None:
            below, upto = near.counts.count(codes)
            return near.below + below, near.below + upto
        found = self._passes.records.sums(partial(_count_both, self._column, codes))
        return found[0], found[1]


@dataclass(frozen=True)
class _Near:
    """All codes from `start` to `stop` - 1, and the number of codes below `start`."""

    start: int
    stop: int
    below: int
    counts: CodeCounts

    def holds(self, start: int, stop: int) -> bool:
        """Return whether all codes of the ranks start..stop-1 are among these."""
        return self.below <= start < stop <= self.below + len(self.counts)


@dataclass(frozen=True)
class _Interval:
    """An interval of codes, from `start` to less than start + 2**bits, that holds the code of a rank."""

    start: int
    bits: int
    below: int  # codes less than `start`
    inside: int


class _Passes:
    """The passes over records in parts, and the codes that they have gathered."""

    def __init__(self, records: Table, sizes: Sequence[int]):
        self.records, self.sizes = records, sizes
        self.near: dict[int, list[_Near]] = defaultdict(list)

    @unseen()
    def gather(self, windows: Sequence[tuple[int, Window]]) -> None:
        """Gather the codes of some ranks of some columns."""
        n, few = len(self.records), max(FEWEST, FEW // len(windows))
        ends = {
            (column, rank): _Interval(0, max(1, (self.sizes[column] - 1).bit_length()), 0, n)
            for column, (start, stop) in windows
            for rank in (start, stop - 1)
        }
        while wide := [end for end, interval in ends.items() if interval.bits and interval.inside > few]:
            ends |= self._narrowed({end: ends[end] for end in wide})
        found = []
        for column, (start, stop) in windows:
            if self.holding(column, start, stop) is None:
                first, last = ends[column, start], ends[column, stop - 1]
                found.append((column, first.start, last.start + (1 << last.bits), first.below))
        if not found:
            return
        gathered = self.records.sums(partial(_gathered, [each[:3] for each in found]))
        for (column, low, high, below), counts in zip(found, gathered, strict=True):
            self._keep(column, low, high, below, counts)

    def holding(self, column: int, start: int, stop: int) -> _Near | None:
        """Return known codes of a column among which are those of some ranks; None if there are none."""
        return next((each for each in self.near[column] if each.holds(start, stop)), None)

    def _keep(self, column: int, start: int, stop: int, below: int, counts: CodeCounts) -> None:
        """Keep the codes from `start` to `stop` - 1; none is less than the least or above the greatest."""
        if not below:
            start = 0
        if below + len(counts) == len(self.records):
            stop = max(stop, self.sizes[column])
        self.near[column].append(_Near(start, stop, below, counts))

    def _narrowed(self, ends: Mapping[tuple[int, int], _Interval]) -> dict[tuple[int, int], _Interval]:
        """Return for each end the part of its interval that holds the code of its rank."""
        asked = sorted({(column, each.start, each.bits) for (column, _), each in ends.items()})
        digit = max(1, min(_DIGIT, (_COUNTS // len(asked)).bit_length() - 1))
        sums = dict(zip(asked, self.records.sums(partial(_digit_counts, asked, digit)), strict=True))
        below_of = {(column, each.start, each.bits): each.below for (column, _), each in ends.items()}
        for (column, start, bits), counts in sums.items():
            if bits <= digit:  # each code is counted
                below = below_of[column, start, bits]
                self._keep(column, start, start + (1 << bits), below, _counted_from(start, counts))
        found = {}
        for (column, rank), each in ends.items():
            upto = each.below + np.cumsum(sums[column, each.start, each.bits])
            place = int(np.searchsorted(upto, rank, side="right"))
            below = int(upto[place - 1]) if place else each.below
            bits = max(0, each.bits - digit)
            found[column, rank] = _Interval(
                each.start + (place << bits), bits, below, int(upto[place]) - below
            )
        return found


def _counted_from(start: int, counts: NDArray[np.int64]) -> CodeCounts:
    """Return the counts of the codes start, start + 1, ..., without those that are zero."""
    places = np.flatnonzero(counts)
    fit = start + len(counts) <= 1 << 64
    codes = places.astype(np.uint64) + np.uint64(start) if fit else places.astype(object) + start
    return CodeCounts(codes, counts[places])


def _digit_counts(
    asked: Sequence[tuple[int, int, int]], digit: int, records: Columns
) -> list[NDArray[np.int64]]:
    """Return the number of codes in each of the 2**digit parts of some intervals of columns."""
    counts = []
    intervals = [(column, start, start + (1 << bits)) for column, start, bits in asked]
    for (_, start, bits), inside in zip(asked, _within(records, intervals), strict=True):
        shift = max(0, bits - digit)
        places = ((inside - _like(inside, start)) >> _like(inside, shift)).astype(np.int64)
        counts.append(np.bincount(places, minlength=1 << min(bits, digit)))
    return counts


def _gathered(asked: Sequence[tuple[int, int, int]], records: Columns) -> list[CodeCounts]:
    """Return the codes within some intervals of columns."""
    return [CodeCounts.of(inside) for inside in _within(records, asked)]


def _count_both(column: int, sought: Any, records: Columns) -> list[Any]:
    codes = records.columns[column]
    if np.ndim(sought):
        return list(ranks_of_codes(codes).count(sought))
    sought = _like(codes, sought)
    return [int(np.count_nonzero(codes < sought)), int(np.count_nonzero(codes <= sought))]


def _within(records: Columns, intervals: Sequence[tuple[int, int, int]]) -> list[NDArray[Any]]:
    """Return for each column and interval its codes from `low` to `high` - 1, unsigned or of Python."""
    found: list[NDArray[Any]] = [np.empty(0)] * len(intervals)
    places = defaultdict(list)
    for place, (column, _, _) in enumerate(intervals):
        places[column].append(place)
    for column, mine in places.items():
        codes = records.columns[column]
        wide = codes if codes.dtype == object else codes.astype(np.uint64, copy=False)
        ordered = np.sort(wide) if len(mine) > _SCANS else None
        for place in mine:
            _, low, high = intervals[place]
            ends = [_like(wide, low), _like(wide, high - 1)]
            if ordered is None:
                found[place] = wide[((wide >= ends[0]) & (wide <= ends[1])).astype(bool)]
            else:
                first, last = np.searchsorted(ordered, ends[0]), np.searchsorted(ordered, ends[1], "right")
                found[place] = ordered[first:last]
    return found


def _like(codes: NDArray[Any], value: int) -> Any:
    """Return an integer in the type of some codes, to which numpy converts none of them to floats."""
    return value if codes.dtype == object else codes.dtype.type(value)


class PartedTreeRecords:
    """Records in parts that are counted in the nodes of a tree, one pass for each level."""

    def __init__(self, records: Table, size: int):
        self._records, self._size = records, size

    def __len__(self) -> int:
        return len(self._records)

    def counted(self, level: Level) -> NDArray[np.int64]:
        [counts] = self._records.sums(partial(_counts_in, level, self._size))
        return np.asarray(counts)


def gathered_codes(records: Table) -> NDArray[Any]:
    """Return the codes of all records: as they are if they are in memory, else in increasing order."""
    held: NDArray[Any] | None = records.at_once(lambda codes: codes)
    if held is not None:
        return held
    [counts] = records.sums(_all_counts)
    return np.repeat(counts.codes, counts.counts)


def _counts_in(level: Level, size: int, codes: NDArray[Any]) -> list[NDArray[np.int64]]:
    return [counted(level, sorted_codes(codes, size))]


def _all_counts(codes: NDArray[Any]) -> list[CodeCounts]:
    return [CodeCounts.of(codes)]
