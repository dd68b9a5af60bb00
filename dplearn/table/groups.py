"""Rows of groups, such as the several rows of one person, where a guarantee protects a whole group.

Of each group `each` rows take part: of one with more rows, `each` of them; of one with fewer, each row
several times, as equally often as possible. So a group is one record, whose value for any query is the mean
over these rows, within the bounds of a single row's value. The set of groups is public; the number of a
group's rows is private: which take part is a function of their positions within the group, their number and a
public number of the group. The rows of a group may lie in several parts, whose ids one pass reads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import shown
from dplearn._writing import near_column
from dplearn.domains.cells import as_cells, frame_column, is_frame, is_missing
from dplearn.table.passes import PartsChangedError, digest_of
from dplearn.table.rows import rows_of
from dplearn.table.sources import column_in_parts, without
from dplearn.table.table import Given, Grouping, Table, count_of

#: The greatest `max_rows_per_group`; a sum over groups is over as many rows of each.
MOST_ROWS = 1000
#: Its default in releases, as in learners.
ROWS = 10
# All learners' queries have values below 2**29, so that their sums over so many rows are below 2**61.
MOST_SUMMED = 1 << 32
SHIFTS = 1 << 20
_BLOCK = 1 << 12  # groups at once, few enough for the cache


def grouping_of(groups: Any, n_rows: int, *, most: int, shifts: Callable[[int], Any]) -> Grouping:
    """Return which `most` rows of each group take part, from a public start where a group has more."""
    if isinstance(groups, str):
        raise TypeError(_NAME_IN_MEMORY.format(groups))
    if is_frame(groups):
        if groups.shape[1] != 1:
            raise ValueError(f"groups must have one column, got a data frame of shape {groups.shape}")
        groups = frame_column(groups, 0)
    ids = as_cells(groups)
    if ids.ndim != 1:
        raise ValueError(f"groups must be a 1d array, one id for each row, got shape {ids.shape}")
    if len(ids) != n_rows:
        raise ValueError(f"X and groups must have equal numbers of rows, got {n_rows} and {len(ids)}")
    found, members = coded_ids(ids)
    return grouping_of_codes(members, len(found), most=most, shifts=shifts)


def grouping_of_codes(
    members: NDArray[np.int64], n_groups: int, *, most: int, shifts: Callable[[int], Any]
) -> Grouping:
    """Return which rows of each group take part, from the number of each row's group among the sorted ids."""
    if n_groups * most >= MOST_SUMMED:
        raise ValueError(
            f"max_rows_per_group must be below {MOST_SUMMED} / n for n = {n_groups} groups, got {most}"
        )
    order = np.argsort(members, kind="stable")
    counts = np.bincount(members, minlength=n_groups)
    starts = np.cumsum(counts) - counts
    # Equally spaced positions from a public start: distinct if the group has at least `most` rows, and else
    # each position equally often, to 1.
    shift, slots = np.asarray(shifts(n_groups), dtype=np.int64), np.empty((n_groups, most), dtype=np.int64)
    for first in range(0, n_groups, _BLOCK):
        own = slice(first, first + _BLOCK)
        positions = shift[own, None] + SHIFTS * np.arange(most)
        positions *= counts[own, None]
        positions //= most * SHIFTS
        positions += starts[own, None]
        slots[own] = order[positions]
    return Grouping(slots, members)


def coded_ids(ids: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted ids, all of one type, and the number of each row's id among them."""
    if ids.dtype == object:
        listed = ids.tolist()
        if any(map(is_missing, listed)):
            raise ValueError(_MISSING)
        if not (all(isinstance(each, str) for each in listed) or all(map(_is_whole, listed))):
            raise TypeError("groups must be all texts or all integers; convert other ids to texts")
        ids = np.array(listed)
    if ids.dtype.kind not in "iubUSf":
        raise TypeError(f"groups must hold texts or integers, got the type {ids.dtype}")
    if ids.dtype.kind == "f":  # pandas stores integers so beside a missing one
        if not np.isfinite(ids).all():
            raise ValueError(_MISSING)
        if (np.trunc(ids) != ids).any():
            raise TypeError("groups must be all texts or all integers; convert other ids to texts")
    found, members = np.unique(ids, return_inverse=True)
    return found, members.astype(np.int64)


_NAME_IN_MEMORY = (
    "groups must hold the id of each row of X, got the text {!r}; the name of a column is for tables in"
    " parts: here give X without that column, X.drop(columns=...), and the column as groups"
)
_MISSING = "groups must name the group of every row, but one is missing; drop such rows, or give each its own"


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer))


def rows_of_shards(grouping: Grouping, shards: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    order = np.argsort(grouping.members, kind="stable")
    counts = np.bincount(grouping.members, minlength=grouping.n_groups)
    of_group, none = np.split(order, np.cumsum(counts)[:-1]), np.arange(0)
    return [np.concatenate([none, *(of_group[each] for each in shard.tolist())]) for shard in shards]


def selected(table: Any, places: NDArray[np.int64]) -> Any:
    """Return some rows of a table that is not validated yet, or some of its labels."""
    if hasattr(table, "shape"):
        return rows_of(table, places)
    return [table[place] for place in places.tolist()]


_NO_NAME = "groups must be the name of a column of X for a table in parts, got {}"
_NO_PARTS = (
    "groups must be parts like those of the values, a Dask series or a function that returns an iterable of"
    " series or arrays, got {}"
)
_NO_COLUMN = "groups must be the name of a column of X in every part, got {!r}; {}"
_UNEQUAL = "groups must have one type in all parts: texts, or integers; declare it where parts are read"


@dataclass(frozen=True, repr=False)
class PartsWithGroups:
    """A table in parts, and the groups of its rows."""

    table: Table  # private: the parts, without the column of ids
    members: NDArray[np.int64]  # private: the number of each row's group
    n_groups: int
    lengths: Sequence[int]  # private: the rows in each part

    def grouping(self, most: int, shifts: Callable[[int], Any]) -> Grouping:
        """Return which rows of each group take part; see `grouping_of`."""
        return grouping_of_codes(self.members, self.n_groups, most=most, shifts=shifts)

    def chosen(self, grouping: Grouping) -> tuple[Table, NDArray[np.int64]]:
        """Return the parts of a table of one row of each group, and the place in it of each group's row."""
        places, starts = grouping.slots[:, 0], np.cumsum([0, *self.lengths])
        ordered = np.sort(places)
        of_parts = np.split(ordered, np.searchsorted(ordered, starts[1:-1]))
        own = [each - start for each, start in zip(of_parts, starts[:-1], strict=True)]

        def own_of(number: int) -> tuple[NDArray[np.int64], int]:
            return (own[number], self.lengths[number]) if number < len(own) else (np.arange(0), 0)

        return self.table.step(_selected, own_of), np.searchsorted(ordered, places)


def with_ids(table: Table, name: Any) -> Table:
    """Return a table in parts whose column of ids stands beside the others."""
    if not isinstance(name, str):
        raise TypeError(_NO_NAME.format(shown(name)))
    return table.map(partial(_identified, name))


def grouped_parts(table: Table, name: Any) -> PartsWithGroups:
    """Return a table in parts, and the groups of its rows, after one pass over the column of ids."""
    rows = with_ids(table, name)
    found = list(rows.values(_coded))
    digests = [part and part[2] for part in found]

    known = rows.step(_unchanged, lambda number: digests[number] if number < len(digests) else None)
    return _parted(known, found)


def groups_in_parts(table: Table, groups: Any) -> PartsWithGroups:
    """Return parts without names, such as those of a column, and the groups of their rows, after one pass;
    the ids are in parts of the same lengths.
    """
    ids = None if isinstance(groups, str) else column_in_parts(groups, "groups")
    if ids is None:
        raise TypeError(_NO_PARTS.format(shown(groups)))
    return _parted(table, list(ids.values(_coded_column)))


def _parted(rows: Table, found: Sequence[Any]) -> PartsWithGroups:
    """Return rows with their groups, from the ids of each part and the codes of rows among them."""
    known = [part for part in found if part is not None]
    if not known:
        raise ValueError(
            "Found array with 0 sample(s) while a minimum of 1 is required: X has no part with rows"
        )
    if len({ids.dtype.kind for ids, *_ in known}) > 1:
        raise TypeError(_UNEQUAL)
    ids = np.unique(np.concatenate([own for own, *_ in known]))
    members = np.concatenate([np.searchsorted(ids, own)[codes] for own, codes, *_ in known])
    return PartsWithGroups(rows, members, len(ids), [0 if part is None else len(part[1]) for part in found])


def _selected(own: tuple[NDArray[np.int64], int], given: Given) -> Given:
    """Return some rows of a part, which must have its length."""
    places, length = own
    if count_of(given.X) != length:
        raise PartsChangedError
    return Given(selected(given.X, places), None if given.y is None else selected(given.y, places))


def _identified(name: str, given: Given) -> Given:
    """Return a part with its ids beside the other columns; it may have been transformed so before."""
    if given.name == name:
        return given
    ids = _column(given.X, name)
    return Given(without(given.X, name)[0], given.y, ids, name)


def _unchanged(digest: bytes | None, given: Given) -> Given:
    """Return a part, whose ids must have the digest that they had when the groups were found."""
    if digest and digest != digest_of(given.ids):
        raise PartsChangedError
    return given


def _coded(given: Given) -> tuple[NDArray[Any], NDArray[np.int64], bytes] | None:
    """Return the sorted ids of a part, the code of each row among them, and a digest; None without rows."""
    return (*coded_ids(given.ids), digest_of(given.ids)) if len(given.ids) else None


def _coded_column(given: Given) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    column = as_cells(given.X)
    if column.ndim != 1:
        raise ValueError(f"groups must have parts that are columns, got shape {column.shape}")
    return coded_ids(column) if len(column) else None


def _column(X: Any, name: str) -> NDArray[Any]:
    if not is_frame(X):
        advice = f"the columns of {type(X).__name__} have no names: give data frames"
        raise ValueError(_NO_COLUMN.format(name, advice))
    columns = list(X.columns)
    if columns.count(name) != 1:
        raise ValueError(_NO_COLUMN.format(name, near_column(name, columns).removeprefix("; ")))
    return frame_column(X, columns.index(name))
