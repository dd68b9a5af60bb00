"""Rows of groups, such as the several rows of one person, where a guarantee protects a whole group.

Of each group a fixed number of rows takes part, `each`: of a group with more rows, `each` of them; of a group
with fewer, each row several times, as equally often as possible. So a group is one record whose value, for
any query, is the mean over its `each` rows. It lies within the bounds of a single row's value, so the noise
is that of as many records as there are groups.

The set of groups is public. The number of a group's rows is private, like their values: which of its rows
take part is a function of their positions within the group, their number and a public number of the group.

>>> import numpy as np
>>> grouping = grouping_of(["bo", "al", "bo", "cy", "bo"], 5, most=2, shifts=lambda n: [0] * n)
>>> grouping.n_groups, grouping.slots.tolist()  # al, bo, cy
(3, [[1, 1], [0, 2], [3, 3]])
>>> from dplearn.records.table import Held, Table
>>> records = Table(Held(np.array([1, 10, 2, 100, 4]))).grouped(grouping)
>>> len(records), [int(each) for each in records.sums(lambda rows: [rows.sum()])]
(3, [223])
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains.cells import as_cells, frame_column, is_frame, is_missing
from dplearn.records.tables import rows_of, sliceable

__all__ = [
    "MOST_ROWS",
    "SHIFTS",
    "Grouping",
    "coded_ids",
    "grouping_of",
    "grouping_of_codes",
    "rows_of_shards",
    "selected",
]

#: The greatest `max_rows_per_group`; a sum over groups is over as many rows of each.
MOST_ROWS = 1000
# All learners' queries have values below 2**29, so that their sums over so many rows are below 2**61.
_MOST_SUMMED = 1 << 32
SHIFTS = 1 << 20
_BLOCK = 1 << 12  # groups at once, few enough for the cache


@dataclass(frozen=True, repr=False)
class Grouping:
    """The rows of each group that take part.

    Attributes
    ----------
    slots : ndarray of int64 of shape (n_groups, each)
        Private. Row numbers, those of a group in a row of the array; a row of the table may occur several
        times.
    members : ndarray of int64 of shape (n,)
        Private. The number of each row's group, in the order of the sorted ids.
    """

    slots: NDArray[np.int64]
    members: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """The number of groups; public."""
        return len(self.slots)

    @property
    def each(self) -> int:
        """The number of rows of a group that take part, repeated ones included; public."""
        return int(self.slots.shape[1])

    def once(self) -> "Grouping":
        """Return the rows that take part, each once and as a group of its own; their number is private."""
        return self if self.each == 1 else replace(self, slots=np.unique(self.slots)[:, None])


def grouping_of(groups: Any, n_rows: int, *, most: int, shifts: Callable[[int], Any]) -> Grouping:
    """Return which rows of each group take part.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Private. The group of each row: texts, or integers. The set of these is public.
    n_rows : int
        Number of rows.
    most : int
        Public. The number of rows of a group that take part.
    shifts : callable
        Maps the number of groups to as many public integers from 0 to SHIFTS - 1, by which rows are chosen
        where a group has more.

    Raises
    ------
    TypeError, ValueError
        If a row has no group, groups are of several types, or their number is not that of the rows.
    """
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
    """Return which rows of each group take part.

    Parameters
    ----------
    members : ndarray of int64 of shape (n_rows,)
        Private. The number of each row's group, in the order of the sorted ids.
    n_groups : int
        Public.
    most, shifts
        As for `grouping_of`.
    """
    if n_groups * most >= _MOST_SUMMED:
        raise ValueError(
            f"max_rows_per_group must be below {_MOST_SUMMED} / n for n = {n_groups} groups, got {most}"
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
    """Return the sorted ids that occur, and the number of each row's id among them.

    Parameters
    ----------
    ids : ndarray of shape (n_rows,)
        Private. From `as_cells`.

    Raises
    ------
    TypeError, ValueError
        If an id is missing, or ids are of several types.
    """
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
    """Return the numbers of all rows of the groups in each shard.

    Parameters
    ----------
    grouping : Grouping
        Private. The groups.
    shards : sequence of ndarray of int
        The numbers of the groups in each shard.
    """
    order = np.argsort(grouping.members, kind="stable")
    counts = np.bincount(grouping.members, minlength=grouping.n_groups)
    of_group, none = np.split(order, np.cumsum(counts)[:-1]), np.arange(0)
    return [np.concatenate([none, *(of_group[each] for each in shard.tolist())]) for shard in shards]


def selected(table: Any, places: NDArray[np.int64]) -> Any:
    """Return some rows of a table, or some of its labels.

    Parameters
    ----------
    table : object
        Private. Not yet validated.
    places : ndarray of int64 of shape (m,)
        Row numbers.
    """
    if hasattr(table, "shape"):
        return rows_of(sliceable(table), places)
    return [table[place] for place in places.tolist()]
