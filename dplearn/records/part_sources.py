"""Recognise tables in parts: Dask collections, lists of tables, data sets of Arrow, and functions.

>>> import pandas as pd
>>> first, second = {"age": [31, 42], "ill": ["no", "yes"]}, {"age": [57], "ill": ["no"]}
>>> months = [pd.DataFrame(first), pd.DataFrame(second)]
>>> source = source_of(months, "ill")
>>> list(source.values(lambda number: lambda X, y: (list(X.columns), y.tolist())))
[(['age'], ['no', 'yes']), (['age'], ['no'])]
>>> source_of(months[0], months[0]["ill"]) is None  # a table in memory
True
>>> source_of(iter(months), "ill")
Traceback (most recent call last):
    ...
TypeError: X must be parts that can be read again, got an iterator, which is read once; pass a function that \
returns a new one each time, such as lambda: pandas.read_csv(path, chunksize=100_000, dtype=...)
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial, reduce
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import issparse

from dplearn._validation import shown
from dplearn.domains.cells import is_frame
from dplearn.records.parts import InTurn, Result, Source, Task, added
from dplearn.records.pass_progress import counted

__all__ = ["DaskParts", "column_source_of", "source_of"]

_ONCE = (
    "{} must be parts that can be read again, got an iterator, which is read once; pass a function that"
    " returns a new one each time, such as lambda: {}"
)
_CHUNKS = "pandas.read_csv(path, chunksize=100_000, dtype=...)"
_NO_COLUMN = "parts of a column must be series or arrays, got {}"
_ONE_COLUMN = "{} must be one column, got a table in parts: give a column of it, such as {}"
_PATH = (
    "X must be a table, got a path; read the file, or pass its parts: pyarrow.dataset.dataset(path), or"
    f" lambda: {_CHUNKS}"
)
_NOT_OF_DASK = (
    "{} must be a data frame, a series or an array of Dask, got {}; make a data frame, such as"
    " bag.to_dataframe(), or dask.dataframe.from_delayed([...])"
)
_GROUP = 8  # sums that are added in one task
_NO_PART = "X must have parts that are data frames, arrays, record batches, or pairs of these with y, got {}"
_Y_OF_PARTS = "y must be the name of a column of X, or a list with one part for each part of X, got {}"
_Y_OF_DASK = "y must be the name of a column of X, or a Dask series or array with the partitions of X, got {}"


def source_of(X: Any, y: Any) -> Source | None:
    """Return the parts of a table, or None if the table is in memory. No value is read.

    Parameters
    ----------
    X : object
        A `Source`; a Dask data frame or array; a list of data frames or arrays; a list of pairs of these with
        labels; an object that can be iterated over again and again, such as a data set of Arrow; or a
        function without arguments that returns an iterable of such parts.
    y : object
        The name of the column of labels; or labels in parts like those of X; or None where parts are pairs.

    Raises
    ------
    TypeError
        If the table is in parts that can be read only once, or y does not have the same parts.
    """
    if isinstance(X, Source):
        return X
    if _is_dask(X, "X"):
        return DaskParts.of(X, y)
    if isinstance(X, (str, PathLike)):
        raise TypeError(_PATH)
    if isinstance(X, Iterator):
        raise TypeError(_ONCE.format("X", _CHUNKS))
    if hasattr(X, "__len__") and hasattr(X, "__getitem__") and not hasattr(X, "to_batches"):
        of_parts = not (is_frame(X) or hasattr(X, "shape") or isinstance(X, Mapping)) and len(X) > 0
        if of_parts and _of_dask(X[0]):
            raise TypeError(_NOT_OF_DASK.format("X", f"a list of {type(X[0]).__name__}"))
        return _listed(X, y) if of_parts and _is_part(X[0]) else None
    make = _maker(X)
    if make is None:
        return None
    if y is not None and not isinstance(y, str):
        raise TypeError(_Y_OF_PARTS.format(type(y).__name__))
    return InTurn(lambda: (_pair(part, y) for part in make()))


def column_source_of(values: Any, name: str = "values") -> Source | None:
    """Return the parts of one column, or None if the column is in memory. No value is read.

    A list is a column in memory, never a list of parts: a list of arrays may be a list of rows.

    Parameters
    ----------
    values : object
        A `Source`; a Dask series or array; an object that can be iterated over again and again; or a
        function without arguments that returns an iterable of series or arrays.
    name : str, default="values"
        The name of the parameter, for messages.

    Raises
    ------
    TypeError
        If the column is in parts that can be read only once.
    ValueError
        If it is a table.
    """
    if isinstance(values, Source):
        return values
    if _is_dask(values, name):
        if values.ndim != 1:
            raise ValueError(_ONE_COLUMN.format(name, 'ddf["age"], or array[:, 0]'))
        return DaskParts([(each, None) for each in _partitions(values)])
    each = f'(part["age"] for part in {_CHUNKS})'
    if isinstance(values, Iterator):
        raise TypeError(_ONCE.format(name, each))
    if hasattr(values, "to_batches"):
        raise ValueError(_ONE_COLUMN.format(name, 'lambda: (part["age"] for part in data.to_batches())'))
    make = _maker(values)
    return None if make is None else InTurn(lambda: ((_column(part), None) for part in make()))


def _maker(X: Any) -> Callable[[], Iterator[Any]] | None:
    """Return a function that returns the parts of a table, or None if the table is in memory."""
    if hasattr(X, "to_batches"):  # a data set or a table of Arrow
        return lambda: iter(X.to_batches())
    if hasattr(X, "iter_batches"):  # a file of Parquet
        return lambda: iter(X.iter_batches())
    if hasattr(X, "shape") or hasattr(X, "__array__") or isinstance(X, (Collection, type)):
        return None
    if callable(X):
        return _Calls(X)
    return (lambda: iter(X)) if hasattr(X, "__iter__") else None


class _Calls:
    """The parts that a function returns, which must be new ones at each call.

    After the first pass the function is called for the second one. So an iterator that it returns again and
    again, and that is read once, is refused before anything is charged.
    """

    def __init__(self, function: Callable[[], Any]):
        self._function = function
        self._next: Iterator[Any] | None = None
        self._called = False

    def __call__(self) -> Iterator[Any]:
        """Yield the parts of the next pass."""
        parts, self._next = self._next or self._call(), None
        first, self._called = not self._called, True
        yield from parts
        if first:
            self._next = self._call()
            if self._next is parts:
                raise TypeError(
                    "X must be a function that returns new parts at each call, got one that returned the same"
                    f" iterator twice; make it within the function, such as lambda: {_CHUNKS}"
                )

    def _call(self) -> Iterator[Any]:
        parts = self._function()
        if hasattr(parts, "to_batches"):
            parts = parts.to_batches()
        if is_frame(parts) or not hasattr(parts, "__iter__") or isinstance(parts, str):
            raise TypeError(
                "X must be a function that returns an iterable of parts, got one that returns"
                f" {type(parts).__name__}"
            )
        return iter(parts)


def _listed(X: Sequence[Any], y: Any) -> Source:
    """Return the parts of a list, whose labels are in a list too, in pairs, or in a column."""
    if y is None or isinstance(y, str):
        return InTurn(lambda: (_pair(part, y) for part in X))
    if not isinstance(y, (list, tuple)) or len(y) != len(X):
        given = f"{len(y)} parts" if isinstance(y, (list, tuple)) else type(y).__name__
        raise TypeError(_Y_OF_PARTS.format(given))
    return InTurn(lambda: ((_table(part), labels) for part, labels in zip(X, y, strict=True)))


def _is_table(part: Any) -> bool:
    return is_frame(part) or issparse(part) or (isinstance(part, np.ndarray) and part.ndim == 2)


def _is_part(part: Any) -> bool:
    pair = isinstance(part, tuple) and len(part) == 2 and _is_table(part[0])
    return pair or _is_table(part) or hasattr(part, "to_pandas")


def _table(part: Any) -> Any:
    """Return a table that learners read; a record batch of Arrow as a data frame with the types of Arrow."""
    if _is_table(part):
        return part
    if hasattr(part, "to_pandas"):
        return part.to_pandas(types_mapper=import_module("pandas").ArrowDtype)
    raise TypeError(_NO_PART.format(type(part).__name__))


def _column(part: Any) -> Any:
    """Return a column that releases read; an array of Arrow as a series with the type of Arrow."""
    if getattr(part, "shape", ()):  # a list might be a row
        return part
    if hasattr(part, "to_pandas"):
        return part.to_pandas(types_mapper=import_module("pandas").ArrowDtype)
    raise TypeError(_NO_COLUMN.format(type(part).__name__))


def _pair(part: Any, name: str | None) -> tuple[Any, Any]:
    """Return the rows and the labels of a part."""
    if isinstance(part, tuple) and len(part) == 2:
        if name is not None:
            raise TypeError(f"y must be None where each part is a pair of X and y, got {shown(name)}")
        return _table(part[0]), part[1]
    table = _table(part)
    return (table, None) if name is None else _without(table, name)


def _without(table: Any, name: str) -> tuple[Any, Any]:
    """Return the other columns of a data frame, and the named one."""
    if not is_frame(table) or name not in list(table.columns):
        raise ValueError(f"y must be the name of a column of X, got {shown(name)}")
    return table[[each for each in table.columns if each != name]], table[name]


class DaskParts(Source):
    """The partitions of Dask collections.

    Parameters
    ----------
    parts : list of pair of Delayed
        Private. X and y of each partition.
    name : str, optional
        The column of X that holds y.
    """

    def __init__(self, parts: Sequence[tuple[Any, Any]], name: str | None = None):
        self._parts, self._name = parts, name

    @classmethod
    def of(cls, X: Any, y: Any) -> "DaskParts":
        """Return the partitions of X and y."""
        rows = _partitions(X)
        if y is None or isinstance(y, str):
            return cls([(each, None) for each in rows], y)
        if not _is_dask(y, "y"):
            raise TypeError(_Y_OF_DASK.format(type(y).__name__))
        labels = _partitions(y)
        if len(labels) != len(rows):
            raise TypeError(_Y_OF_DASK.format(f"{len(labels)} partitions for {len(rows)}"))
        return cls(list(zip(rows, labels, strict=True)))

    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        """Yield the result of a task for each partition, from the scheduler that Dask is set to."""
        yield from self._computed(self._tasks(task_of))

    def total(self, task_of: Callable[[int], Task]) -> Result:
        """Return the sum of the results, which the workers add in groups."""
        results = self._tasks(task_of)
        while len(results) > 1:
            groups = [results[start : start + _GROUP] for start in range(0, len(results), _GROUP)]
            results = [_delayed(_sum_of)(*group) for group in groups]
        [total] = self._computed(results)
        return total

    def _computed(self, tasks: Sequence[Any]) -> tuple[Result, ...]:
        """Compute the results of all tasks of a pass; a progress bar shows that their parts are read then."""
        bar, results = counted(range(len(self._parts)), len(self._parts)), ()
        for place in bar:
            if not place:
                results = import_module("dask").compute(*tasks)
        return results

    def _tasks(self, task_of: Callable[[int], Task]) -> list[Any]:
        return [
            _delayed(_on_partition)(task_of(number), self._name, X, y)
            for number, (X, y) in enumerate(self._parts)
        ]


def _delayed(function: Callable[..., Any]) -> Any:
    """Return a function that makes tasks of Dask whose names and keys depend on no argument."""
    return import_module("dask").delayed(function, name="dplearn", pure=False)


def _sum_of(*results: Result) -> Result:
    return reduce(added, results)


def _on_partition(task: Task, name: str | None, X: Any, y: Any) -> Result:
    """Run a task on a partition; its errors are results."""
    if name is None:
        return task(X, y)
    return Task(partial(_on_named, task.function, name))(X, y)


def _on_named(function: Callable[[Any, Any], Any], name: str, X: Any, y: Any) -> Any:  # noqa: ARG001 - no y
    return function(*_without(X, name))


def _of_dask(X: Any) -> bool:
    return hasattr(type(X), "__dask_graph__")


def _is_dask(X: Any, name: str) -> bool:
    """Return whether X is a data frame, a series or an array of Dask; refuse other collections of Dask."""
    if not _of_dask(X):
        return False
    if not (hasattr(type(X), "to_delayed") and hasattr(type(X), "ndim")):
        raise TypeError(_NOT_OF_DASK.format(name, type(X).__name__))
    return True


def _partitions(collection: Any) -> list[Any]:
    """Return the partitions of a Dask data frame, series or array, as delayed objects."""
    if not hasattr(collection, "chunks"):
        return list(collection.to_delayed())
    if len(collection.chunks) == 2:  # whole rows are in one part
        collection = collection.rechunk({1: -1})
    # Optimised graphs have tasks of their own: those that make chunks of both X and y would run twice.
    return list(collection.to_delayed(optimize_graph=False).ravel())
