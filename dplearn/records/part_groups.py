"""Groups of the rows of a table in parts: a column holds the ids, and a group's rows may lie in several.

One pass reads the ids. The client then holds a code of each row, and chooses the same rows as of the table in
memory; the parts yield sums of these rows, as often as they occur.

>>> import pandas as pd
>>> from dplearn.records.part_sources import in_parts
>>> from dplearn.records.passes import InTurn
>>> first = pd.DataFrame({"age": [31, 42], "person": ["bo", "al"]})
>>> second = pd.DataFrame({"age": [32], "person": ["bo"]})
>>> given = in_parts(InTurn(lambda: [(first, None), (second, None)]))
>>> table = grouped_parts(given, "person")
>>> grouping = table.grouping(most=1, shifts=lambda n: [0] * n)
>>> grouping.members.tolist(), grouping.slots.tolist(), table.lengths  # al, bo
([1, 0, 1], [[1], [0]], [2, 1])
>>> chosen, order = table.chosen(grouping)
>>> list(chosen.values(lambda given: given.X["age"].tolist())), order.tolist()
([[31, 42], []], [1, 0])
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import shown
from dplearn.domains.cells import as_cells, frame_column, is_frame
from dplearn.records.groups import Grouping, coded_ids, grouping_of_codes, selected
from dplearn.records.part_digests import digest_of
from dplearn.records.part_sources import column_in_parts
from dplearn.records.part_tables import without
from dplearn.records.passes import PartsChangedError
from dplearn.records.rows import count_of
from dplearn.records.table import Given, Table

__all__ = ["PartsWithGroups", "grouped_parts", "groups_in_parts", "with_ids"]

_NO_NAME = "groups must be the name of a column of X for a table in parts, got {}"
_NO_PARTS = (
    "groups must be parts like those of the values, a Dask series or a function that returns an iterable of"
    " series or arrays, got {}"
)
_NO_COLUMN = "groups must be the name of a column of X in every part, got {!r}; {}"
_UNEQUAL = "groups must have one type in all parts: texts, or integers; declare it where parts are read"


@dataclass(frozen=True, repr=False)
class PartsWithGroups:
    """A table in parts, and the groups of its rows.

    Attributes
    ----------
    table : Table
        Private. The parts, without the column of ids.
    members : ndarray of int64 of shape (n,)
        Private. The number of each row's group, in the order of the sorted ids.
    n_groups : int
        Public.
    lengths : list of int
        Private. The number of rows in each part.
    """

    table: Table
    members: NDArray[np.int64]
    n_groups: int
    lengths: Sequence[int]

    def grouping(self, most: int, shifts: Callable[[int], Any]) -> Grouping:
        """Return which rows of each group take part; see `grouping_of`."""
        return grouping_of_codes(self.members, self.n_groups, most=most, shifts=shifts)

    def chosen(self, grouping: Grouping) -> tuple[Table, NDArray[np.int64]]:
        """Return the parts of a table of one row of each group, and the place in it of each group's row.

        Parameters
        ----------
        grouping : Grouping
            Has one row of each group.
        """
        places, starts = grouping.slots[:, 0], np.cumsum([0, *self.lengths])
        ordered = np.sort(places)
        of_parts = np.split(ordered, np.searchsorted(ordered, starts[1:-1]))
        own = [each - start for each, start in zip(of_parts, starts[:-1], strict=True)]

        def rows_of(number: int) -> Callable[[Given], Given]:
            known = number < len(own)
            return partial(_selected, *((own[number], self.lengths[number]) if known else (np.arange(0), 0)))

        return self.table.step(rows_of), np.searchsorted(ordered, places)


def with_ids(table: Table, name: Any) -> Table:
    """Return a table in parts whose column of ids stands beside the others.

    Parameters
    ----------
    table : Table
        Private. Parts of data frames.
    name : str
        Public. The column.
    """
    if not isinstance(name, str):
        raise TypeError(_NO_NAME.format(shown(name)))
    return table.map(partial(_identified, name))


def grouped_parts(table: Table, name: Any) -> PartsWithGroups:
    """Return a table in parts, and the groups of its rows, after one pass over the ids.

    Parameters
    ----------
    table : Table
        Private. Parts of data frames.
    name : str
        Public. The column that holds the id of each row's group.

    Raises
    ------
    TypeError, ValueError
        If a part has no such column, ids are of several types, or a row has none.
    """
    rows = with_ids(table, name)
    found = list(rows.values(_coded))
    digests = [part and part[2] for part in found]

    def unchanged(number: int) -> Callable[[Given], Given]:
        return partial(_unchanged, digests[number] if number < len(digests) else None)

    return _parted(rows.step(unchanged), found)


def groups_in_parts(table: Table, groups: Any) -> PartsWithGroups:
    """Return parts without names, such as those of a column, and the groups of their rows, after one pass.

    Parameters
    ----------
    table : Table
        Private. The parts.
    groups : Dask series or array, or callable
        Private. The ids, in parts of the same lengths.

    Raises
    ------
    TypeError, ValueError
        If the ids are not in parts, are of several types, or a row has none.
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


def _selected(places: NDArray[np.int64], length: int, given: Given) -> Given:
    """Return some rows of a part, which must have its length."""
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
        raise ValueError(_NO_COLUMN.format(name, f"the columns are {', '.join(map(shown, columns[:20]))}"))
    return frame_column(X, columns.index(name))
