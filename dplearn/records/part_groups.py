"""Groups of the rows of a table in parts: a column holds the ids, and a group's rows may lie in several.

One pass reads the ids. The client then holds a code of each row, and chooses the same rows as of the table in
memory; the parts yield sums of these rows, as often as they occur.

>>> import pandas as pd
>>> from dplearn.records.parts import InTurn
>>> first = pd.DataFrame({"age": [31, 42], "person": ["bo", "al"]})
>>> second = pd.DataFrame({"age": [32], "person": ["bo"]})
>>> table = grouped_parts(InTurn(lambda: [(first, None), (second, None)]), "person")
>>> grouping = table.grouping(most=1, shifts=lambda n: [0] * n)
>>> grouping.members.tolist(), grouping.slots.tolist(), table.lengths  # al, bo
([1, 0, 1], [[1], [0]], [2, 1])
>>> chosen, order = table.chosen(grouping)
>>> list(chosen.values(lambda number: lambda X, y: X["age"].tolist())), order.tolist()
([[31, 42], []], [1, 0])
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import shown
from dplearn.domains.cells import as_cells, frame_column, is_frame
from dplearn.records.groups import Grouping, coded_ids, grouping_of_codes, selected
from dplearn.records.part_digests import digest_of
from dplearn.records.part_sources import column_source_of
from dplearn.records.part_tables import without
from dplearn.records.parts import PARTS, Function, Mapped, PartsChangedError, Source, Task
from dplearn.records.rows import count_of

__all__ = [
    "PARTS_OF_GROUPS",
    "PartedTable",
    "WithGroups",
    "assuming_parts_of_groups",
    "grouped_parts",
    "groups_in_parts",
]

#: The assumption of a guarantee that protects groups, about a table in parts.
PARTS_OF_GROUPS = (
    "the number of parts is public, a part has the same rows each time it is read, and the order of a group's"
    " rows depends on no other group"
)
_NO_NAME = "groups must be the name of a column of X for a table in parts, got {}"
_NO_PARTS = (
    "groups must be parts like those of the values, a Dask series or a function that returns an iterable of"
    " series or arrays, got {}"
)
_NO_COLUMN = "groups must be the name of a column of X in every part, got {!r}; {}"
_UNEQUAL = "groups must have one type in all parts: texts, or integers; declare it where parts are read"


def assuming_parts_of_groups(plan: Any) -> Any:
    """Return a plan whose guarantee assumes what reading groups in parts does, and no public lengths.

    Parameters
    ----------
    plan : Plan
        Of a fit; has a `guarantee`.
    """
    guarantee = plan.guarantee
    others = (each for each in guarantee.assumes if each != PARTS)
    return replace(plan, guarantee=replace(guarantee, assumes=(*others, PARTS_OF_GROUPS)))


class _Identified(Mapped):
    """Parts without their column of ids, which must hold the ids that it held when the groups were found."""

    def __init__(self, source: Source, name: str):
        self.given, self._source, self._name, self.identified = source, source, name, self
        self.digests: dict[int, bytes | None] = {}  # known after the pass that finds the groups

    def _task(self, task_of: Callable[[int], Task], number: int) -> Task:
        function = task_of(number).function
        return Task(partial(_on_others, self._name, self.digests.get(number), function))


class WithGroups(Mapped):
    """Transformed parts without the column of ids, which is read from the parts that they are made from.

    Parameters
    ----------
    source : Source
        Private. The parts as they were given, with the column.
    function : callable
        Maps X, without the column, and y of a part to as many rows and labels.
    name : str
        The column.
    """

    def __init__(self, source: Source, function: Callable[[Any, Any], tuple[Any, Any]], name: str):
        rows, self.groups = _rows_of(source, name), name
        self.identified: _Identified = rows.identified
        super().__init__(rows, function)


def _rows_of(source: Source, name: str) -> _Identified | WithGroups:
    """Return parts without the column of ids; they may have been transformed without it before."""
    return source if isinstance(source, WithGroups) and source.groups == name else _Identified(source, name)


@dataclass(frozen=True, repr=False)
class PartedTable:
    """A table in parts, and the groups of its rows.

    Attributes
    ----------
    source : Source
        Private. The parts, without the column of ids.
    members : ndarray of int64 of shape (n,)
        Private. The number of each row's group, in the order of the sorted ids.
    n_groups : int
        Public.
    lengths : list of int
        Private. The number of rows in each part.
    """

    source: Source
    members: NDArray[np.int64]
    n_groups: int
    lengths: Sequence[int]

    def grouping(self, most: int, shifts: Callable[[int], Any]) -> Grouping:
        """Return which rows of each group take part; see `grouping_of`."""
        return grouping_of_codes(self.members, self.n_groups, most=most, shifts=shifts)

    def chosen(self, grouping: Grouping) -> tuple[Source, NDArray[np.int64]]:
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
        return _Selected(self.source, own, self.lengths), np.searchsorted(ordered, places)


def grouped_parts(source: Source, name: Any) -> PartedTable:
    """Return a table in parts, and the groups of its rows, after one pass over the ids.

    Parameters
    ----------
    source : Source
        Private. Parts of data frames.
    name : str
        Public. The column that holds the id of each row's group.

    Raises
    ------
    TypeError, ValueError
        If a part has no such column, ids are of several types, or a row has none.
    """
    if not isinstance(name, str):
        raise TypeError(_NO_NAME.format(shown(name)))
    rows = _rows_of(source, name)
    found = list(rows.identified.given.values(lambda _: partial(_coded, name)))
    rows.identified.digests = {number: part and part[2] for number, part in enumerate(found)}
    return _parted(rows, found)


def groups_in_parts(source: Source, groups: Any) -> PartedTable:
    """Return parts without names, such as those of a column, and the groups of their rows, after one pass.

    Parameters
    ----------
    source : Source
        Private. The parts.
    groups : Dask series or array, or callable
        Private. The ids, in parts of the same lengths.

    Raises
    ------
    TypeError, ValueError
        If the ids are not in parts, are of several types, or a row has none.
    """
    ids = None if isinstance(groups, str) else column_source_of(groups, "groups")
    if ids is None:
        raise TypeError(_NO_PARTS.format(shown(groups)))
    return _parted(source, list(ids.values(lambda _: _coded_ids)))


def _parted(rows: Source, found: Sequence[Any]) -> PartedTable:
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
    return PartedTable(rows, members, len(ids), [0 if part is None else len(part[1]) for part in found])


class _Selected(Mapped):
    """Some rows of each part."""

    def __init__(self, source: Source, places: Sequence[NDArray[np.int64]], lengths: Sequence[int]):
        self._source, self._places, self._lengths = source, places, lengths

    def _task(self, task_of: Callable[[int], Task], number: int) -> Task:
        known = number < len(self._places)
        places, length = (self._places[number], self._lengths[number]) if known else (np.arange(0), 0)
        return Task(_OfRows(task_of(number).function, places, length))


@dataclass(frozen=True)
class _OfRows:
    """The value of a function of some rows of a part, which must have its length."""

    function: Function
    places: NDArray[np.int64]
    length: int

    def __call__(self, X: Any, y: Any) -> Any:
        if count_of(X) != self.length:
            raise PartsChangedError
        return self.function(selected(X, self.places), None if y is None else selected(y, self.places))


def _coded(name: str, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[np.int64], bytes] | None:  # noqa: ARG001
    """Return the sorted ids of a part, the code of each row among them, and a digest; None without rows."""
    column = _column(X, name)
    return (*coded_ids(column), digest_of(column)) if len(column) else None


def _coded_ids(ids: Any, y: Any) -> tuple[NDArray[Any], NDArray[np.int64]] | None:  # noqa: ARG001
    column = as_cells(ids)
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


def _on_others(name: str, digest: bytes | None, function: Function, X: Any, y: Any) -> Any:
    """Return the value of a function of the other columns; the ids must have the digest."""
    column = _column(X, name)
    if digest and digest != digest_of(column):
        raise PartsChangedError
    return function(without(X, name)[0], y)
