"""Private rows as weighted blocks: one type for tables in memory, in parts, and of groups of rows.

A table in memory has one block. One in parts is read again in each pass: each part is the input of one task,
which ends with its sums, the same for every division. A group's rows count as often as they take part.
"""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from dplearn.domains.factors import Factor
from dplearn.kernels import blocks
from dplearn.table.passes import Parts, PartsChangedError, PartTypes, Task, digest_of
from dplearn.table.rows import sliceable

Places = NDArray[np.int64]
_Step = Callable[[Any, Any], Any]  # of what is a part's own, and of its rows
Sums = Callable[[Any], Sequence[Any]]  # from rows to integers, or arrays of them: sums over these rows


class Given(NamedTuple):
    """The rows of a part as they were given."""

    X: Any  # private, as are y and ids
    y: Any
    ids: Any = None  # the group of each row
    name: str | None = None  # of the column of X that held these

    def __repr__(self) -> str:  # a traceback could show it
        return "Given(...)"


@dataclass(frozen=True, repr=False)
class Grouping:
    """The rows of each group that take part."""

    slots: NDArray[np.int64]  # private: row numbers, those of a group in a row; a row may occur several times
    members: NDArray[np.int64]  # private: the number of each row's group

    @property
    def n_groups(self) -> int:
        return len(self.slots)

    @property
    def each(self) -> int:
        """The number of rows of a group that take part, repeated ones included; public."""
        return int(self.slots.shape[1])

    def once(self) -> "Grouping":
        """Return the rows that take part, each once and as a group of its own; their number is private."""
        return self if self.each == 1 else replace(self, slots=np.unique(self.slots)[:, None])


@dataclass(frozen=True, repr=False, eq=False)  # a traceback could show the repr
class Table:
    """Private rows, which form records: each row one, or groups of rows."""

    blocks: "InMemory | InParts"  # private: the rows
    grouping: Grouping | None = None  # private: the rows of each record; None: a record is a row
    order: Places | None = None  # private: the row of each record, where that is not its number
    facts: Any = None  # public

    def __len__(self) -> int:
        return self.blocks.n_rows if self.grouping is None else self.grouping.n_groups

    @property
    def each(self) -> int:
        """The number of rows of a record that take part, repeated ones included."""
        return 1 if self.grouping is None else self.grouping.each

    @property
    def in_parts(self) -> bool:
        """Whether one part of the rows at a time is in memory."""
        return isinstance(self.blocks, InParts)

    def map(self, function: Callable[[Any], Any]) -> "Table":
        """Return the table of what a function makes of the rows: as many, each of its own row alone."""
        return replace(self, blocks=self.blocks.map(function))

    def sums(self, function: Sums) -> list[Any]:
        """Return the sums over all rows, as often as each takes part, in one pass."""
        return list(self.blocks.sums(function))

    def take(self, places: Places) -> Any:
        """Return some rows, by the numbers of their records, in that order; they are in memory."""
        return self.blocks.take(places if self.order is None else self.order[places])

    def at_once(self, function: Callable[[Any], Any]) -> Any:
        """Apply a function to all rows if they are in memory and each counts once; else return None."""
        return self.blocks.at_once(function)

    def step(self, function: _Step, own_of: Callable[[int], Any]) -> "Table":
        """Return the table of rows that a function makes of what is given by the part's number, and rows."""
        return replace(self, blocks=self._parts.step(function, own_of))

    def values(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        """Yield the value of a function of the rows of each part; raise the first error."""
        return self._parts.values(function)

    @property
    def lengths(self) -> list[int]:
        """The number of rows in each part."""
        return self._parts.lengths

    @property
    def _parts(self) -> "InParts":
        assert isinstance(self.blocks, InParts)
        return self.blocks

    def kept(self) -> "Table":
        """Return the table of these rows, of which parts are made once, in the next pass, if they fit."""
        return replace(self, blocks=self.blocks.kept())

    def grouped(self, grouping: Grouping) -> "Table":
        """Return the table whose records are groups of the rows of this one."""
        times = np.bincount(grouping.slots.ravel(), minlength=self.blocks.n_rows)
        return replace(self, blocks=replace(self.blocks, weights=times), grouping=grouping)

    def ungrouped(self) -> "Table":
        """Return the table whose records are all rows."""
        return Table(replace(self.blocks, weights=None))

    def read(
        self, encode: Callable[[Any, Any], tuple[Any, Any]], name: str = "X", *, categories: bool = False
    ) -> "tuple[list[Any], Table]":
        """Return what reading each part shows, None of an empty part, and the table of the rows read.

        The first pass reads all parts; each later one reads them again, with the same checks. `encode` maps X
        and y of a part to what it shows, and to as many rows, each made from its own row alone.
        """
        blocks = self._parts
        reader = partial(_first_read, encode, digests=not blocks.checks)
        found = list(blocks.values(reader))
        if blocks.checks and len(found) != len(blocks.checks):  # of rows that were read before
            raise PartsChangedError
        known = [each for each in found if each is not None]
        if not known:
            raise ValueError(_NO_ROWS.format(name))
        types = known[0].types
        for each in known:
            types.check_same(each.types, name, categories=categories)
        checks = tuple(_NONE if each is None else _Check(each.length, each.digest) for each in found)
        again = partial(_read_again, encode, partial(types.check_same, name=name, categories=categories))
        rows = replace(blocks, checks=checks).step(
            again, lambda number: checks[number] if number < len(checks) else None
        )
        return [each and each.shown for each in found], Table(rows)


@dataclass(frozen=True, repr=False, eq=False)
class InMemory:
    """Rows in memory."""

    rows: Any  # private: from `as_records`
    weights: Places | None = None  # private: how often each row takes part; None: once

    @property
    def n_rows(self) -> int:
        return count_of(self.rows)

    def map(self, function: Callable[[Any], Any]) -> "InMemory":
        return InMemory(function(self.rows), self.weights)

    def sums(self, function: Sums) -> Sequence[Any]:
        return _weighted_sums(function, self._by_weight) or []

    @cached_property
    def _by_weight(self) -> list[tuple[int, Any]]:
        """The same objects for all sums, which may keep results."""
        return list(_by_weight(self.rows, self.weights))

    def kept(self) -> "InMemory":
        return self

    def take(self, places: Places) -> Any:
        return taken(self.rows, places)

    def at_once(self, function: Callable[[Any], Any]) -> Any:
        return function(self.rows) if self.weights is None else None


class _Check(NamedTuple):
    """What a later pass compares a part with: the number of its rows, and their digest, None to skip it."""

    length: int
    digest: bytes | None


_NONE = _Check(0, None)


@dataclass(frozen=True, repr=False, eq=False)
class InParts:
    """Rows of which one part at a time is in memory, here or in the workers of a cluster."""

    parts: Parts
    steps: tuple[tuple[_Step, Callable[[int], Any]], ...] = ()  # and what is a part's own, by its number
    checks: tuple[_Check, ...] = ()  # private: of each part, once the parts have been read
    weights: Places | None = None  # private: as for `InMemory`

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    @property
    def lengths(self) -> list[int]:
        return [each.length for each in self.checks]

    def map(self, function: Callable[[Any], Any]) -> "InParts":
        return self.step(partial(_mapped, function), _nothing)

    def step(self, function: _Step, own_of: Callable[[int], Any]) -> "InParts":
        return replace(self, steps=(*self.steps, (function, own_of)))

    def values(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        for result in self.parts.run(self._task_of(partial(_applied, function), _nothing)):
            yield result.found()

    def sums(self, function: Sums) -> Sequence[Any]:
        numbers, weights_of = set(), self._weights_of  # also of parts from which no row takes part

        def own(number: int) -> Any:
            numbers.add(number)
            return weights_of(number)

        sums: Sequence[Any] = self.parts.total(self._task_of(partial(_summed, function), own)).found() or []
        if len(numbers) < len(self.checks):
            raise PartsChangedError
        return sums

    def kept(self) -> "InParts":
        parts = self.parts.kept(self._task_of(_copied, _nothing), partial(_fit, self.n_rows))
        return self if parts is None else replace(self, parts=parts, steps=((_kept_rows, _nothing),))

    def take(self, places: Places) -> Any:
        part_of = np.searchsorted(self._starts, places, side="right") - 1
        order = np.argsort(part_of, kind="stable")
        ordered, owners = places[order], part_of[order]

        def own(number: int) -> Any:
            return ordered[owners == number] - self._starts[min(number, len(self.checks))]

        found = [each.found() for each in self.parts.run(self._task_of(_taken, own))]
        if len(found) < len(self.checks):
            raise PartsChangedError
        return taken(joined([rows for rows in found if rows is not None]), np.argsort(order, kind="stable"))

    def at_once(self, function: Callable[[Any], Any]) -> None:  # noqa: ARG002 - they are not in memory
        return None

    def _task_of(self, last: _Step, own_of: Callable[[int], Any]) -> Callable[[int], Task]:
        """Return the task of each part: all steps, then a last one."""
        steps = (*self.steps, (last, own_of))
        function = partial(_one_after_another, [step for step, _ in steps])
        return lambda number: Task(function, ([own(number) for _, own in steps],))

    def _weights_of(self, number: int) -> NDArray[np.int16] | None:
        """Return the weights of the rows of a part; there are none of more than a thousand."""
        if self.weights is None:
            return None
        number = min(number, len(self.checks))
        start, stop = [*self._starts, self._starts[-1]][number : number + 2]
        return self.weights[start:stop].astype(np.int16)

    @cached_property
    def _starts(self) -> list[int]:
        return np.cumsum([0, *self.lengths]).tolist()


def as_table(records: Any, name: str = "records") -> Table:
    """Return records as a table: as given, or of records in memory from `as_records`."""
    return records if isinstance(records, Table) else Table(InMemory(as_records(name, records)))


MOST_KEPT = 1 << 27  # bytes of encoded rows of a table in parts
_FACTOR = 32  # bytes that are reckoned for a cell of a factor
_NO_ROWS = "Found array with 0 sample(s) while a minimum of 1 is required: {} has no part with rows"


def _nothing(number: int) -> None:
    """Return what is given to a step that is the same for all parts."""


def _mapped(function: Callable[[Any], Any], own: None, rows: Any) -> Any:  # noqa: ARG001
    return None if rows is None else function(rows)


def _applied(function: Callable[[Any], Any], own: None, rows: Any) -> Any:  # noqa: ARG001
    return function(rows)


def _taken(places: Places, rows: Any) -> Any:
    return None if rows is None else taken(rows, places)


def _copied(own: None, rows: Any) -> Any:  # noqa: ARG001
    """Return rows that share no memory with a part, which its reader may overwrite."""
    return taken(rows, np.arange(count_of(rows))) if _bytes_of(rows) < math.inf else rows


def _kept_rows(own: None, given: Given) -> Any:  # noqa: ARG001
    return given.X


def _fit(n: int, rows: Any) -> bool:
    """Return whether n rows like those of a part are kept; a function of their types alone."""
    return rows is None or _bytes_of(rows) * n <= MOST_KEPT * count_of(rows)


def _bytes_of(rows: Any) -> float:
    """Return the bytes of rows that are arrays of numbers, about those of factors, else infinity."""
    if isinstance(rows, LabelledRows):
        return _bytes_of(rows.X) + _bytes_of(rows.y)
    if isinstance(rows, Columns):  # some encode a table each time
        return sum(map(_bytes_of, vars(rows).get("columns", [None])))
    if isinstance(rows, Factor):  # how many levels a part has is private
        return _FACTOR * len(rows)
    return rows.nbytes if type(rows) is np.ndarray and not rows.dtype.hasobject else math.inf


def _one_after_another(steps: Sequence[_Step], owns: Sequence[Any], X: Any, y: Any) -> Any:
    rows: Any = Given(X, y)
    for step, own in zip(steps, owns, strict=True):
        rows = step(own, rows)
    return rows


class _First(NamedTuple):
    """What the first pass finds in a part."""

    shown: Any
    length: int
    digest: bytes | None
    types: PartTypes


def _first_read(encode: Callable[[Any, Any], tuple[Any, Any]], given: Given, *, digests: bool) -> Any:
    """Return what reading a part shows; None of an empty one, which learners could not read. Rows made from
    rows that later passes compare are not compared.
    """
    if given is None or not count_of(given.X):
        return None
    shown, rows = encode(given.X, given.y)
    return _First(shown, count_of(rows), digest_of(rows) if digests else None, PartTypes.of(given.X))


def _read_again(encode: Any, check_types: Any, check: _Check | None, given: Given | None) -> Any:
    """Return the rows of a part after the first pass; they must be those of the first pass."""
    if check is None:  # there was no such part
        raise PartsChangedError
    if given is None or not check.length:
        if check.length or (given is not None and count_of(given.X)):
            raise PartsChangedError
        return None
    check_types(PartTypes.of(given.X))
    _, rows = encode(given.X, given.y)
    if count_of(rows) != check.length or (check.digest and check.digest != digest_of(rows)):
        raise PartsChangedError
    return rows


def _summed(function: Sums, weights: NDArray[np.int16] | None, rows: Any) -> Sequence[Any] | None:
    """Return the sums over the rows of a part; None without rows that take part."""
    return None if rows is None else _weighted_sums(function, _by_weight(rows, weights))


def _by_weight(rows: Any, weights: NDArray[Any] | None) -> Iterator[tuple[int, Any]]:
    """Yield weights from 1 on, and the rows that have them."""
    if weights is None:
        yield 1, rows
        return
    for weight in range(1, int(weights.max(initial=0)) + 1):
        own = np.flatnonzero(weights == weight)
        if len(own):
            yield weight, rows if len(own) == len(weights) else taken(rows, own)


def _weighted_sums(function: Sums, blocks: Any) -> Sequence[Any] | None:
    """Return the sums over blocks of rows that take part equally often; None without such rows."""
    total: Sequence[Any] | None = None
    for weight, rows in blocks:
        sums = function(rows) if weight == 1 else [weight * each for each in function(rows)]
        total = sums if total is None else [old + new for old, new in zip(total, sums, strict=True)]
    return total


_TABLES = {(library, kind) for library in ("pandas", "polars") for kind in ("DataFrame", "Series")}


class Records(ABC):
    """Base class of user-defined records, to which oracles apply queries."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of records."""

    @abstractmethod
    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        """Return the records with the given row numbers, one for each, in that order."""


class Columns(Records):
    """Records held as encoded columns."""

    def __init__(self, columns: Sequence[Any]):
        self.columns: list[Any] = list(columns)  # arrays, or a `Factor` of keys

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, places: NDArray[np.int64] | slice) -> Self:
        return type(self)([column[places] for column in self.columns])

    def blocks(self, length: int) -> Iterator[tuple[slice, list[NDArray[Any]]]]:
        """Yield the places of consecutive records, at most `length` at once, and the columns of these."""
        return ((here, self[here].columns) for here in blocks(len(self), length))


class LabelledRows(Records):
    """Records that consist of a row and a label.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n, d)
        Private. The rows; a sparse matrix is converted to CSR.
    y : ndarray or series of shape (n,)
        Private. The labels.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.queries import LabelledRows
    >>> examples = LabelledRows(np.array([[31], [57]]), np.array(["well", "ill"]))
    >>> len(examples)
    2
    """

    def __init__(self, X: Any, y: Any):
        self.X, self.y = as_records("X", X), as_records("y", y)
        if count_of(self.X) != count_of(self.y):
            raise ValueError("X and y must have equal numbers of records")

    def __len__(self) -> int:
        return count_of(self.y)

    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        return type(self)(taken(self.X, places), taken(self.y, places))


def as_records(name: str, records: Any) -> Any:
    """Return records, sparse ones as CSR; refuse lists, whose type would depend on all, and unknown types."""
    matrix: Any = records
    if issparse(records) and len(matrix.shape) == 2:
        return matrix.tocsr()
    odd = isinstance(
        records, (np.ma.MaskedArray, np.matrix)
    )  # masks would be lost; a matrix row has two axes
    rows = isinstance(records, np.ndarray) and records.ndim > 0 and not odd
    if not (rows or isinstance(records, Records) or _is_table(records)):
        raise TypeError(
            f"{name} must be a numpy array, a sparse matrix, a data frame or series of pandas or polars,"
            f" LabelledRows or other Records; got {type(records).__name__}"
        )
    return records


def count_of(records: Any) -> int:
    """Return the number of records."""
    return int(records.shape[0]) if hasattr(records, "shape") else len(records)


def shape_of(X: Any) -> tuple[int, int] | None:
    """Return the numbers of rows and columns without reading a value; None unless X is a table with some."""
    shape = getattr(X, "shape", None)
    if shape is None and isinstance(X, (list, tuple)) and X and isinstance(X[0], (list, tuple)):
        shape = len(X), len(X[0])
    if shape is None or len(shape) != 2 or not all(shape):
        return None
    return int(shape[0]), int(shape[1])


def taken(records: Any, places: NDArray[np.int64]) -> Any:
    """Return the records with the given row numbers, one for each."""
    records = sliceable(records)
    part = records.iloc[places] if hasattr(records, "iloc") else records[places]
    if count_of(part) != len(places):
        raise TypeError("records must return one record for each requested row number")
    return part


def joined(parts: Sequence[Any]) -> Any:
    """Return the records of several parts, all of one type, as one table."""
    first = parts[0]
    if isinstance(first, LabelledRows):
        return LabelledRows(joined([each.X for each in parts]), joined([each.y for each in parts]))
    if isinstance(first, Columns):
        return Columns([joined(column) for column in zip(*(each.columns for each in parts), strict=True)])
    if issparse(first):
        return vstack(parts, format="csr")
    if hasattr(first, "iloc"):
        return sys.modules["pandas"].concat(parts, ignore_index=True)
    if _is_table(first):
        return sys.modules["polars"].concat(parts)
    return np.concatenate(parts)


def _is_table(records: Any) -> bool:
    """Return True for a frame or series of pandas or polars, and for subclasses of these."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(records).__mro__}
    return bool(kinds & _TABLES)
