"""What may be a table: one in memory, or parts, as lists, functions, data sets of Arrow, Dask or Spark."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial, reduce
from importlib import import_module
from inspect import signature
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import issparse

from dplearn._validation import shown
from dplearn._writing import near_column
from dplearn.domains.cells import LAZY, is_frame
from dplearn.table.passes import (
    InTurn,
    Parts,
    Result,
    Task,
    computed_at_once,
    sum_of_two,
    unreadable,
    without_text,
)
from dplearn.table.spark import SparkParts
from dplearn.table.table import InParts, Table

_ONCE = (
    "{} must be parts that can be read again, got an iterator, which is read once; pass a function that"
    " returns a new one each time, such as lambda: {}"
)
_CHUNKS = "pandas.read_csv(path, chunksize=100_000, dtype=...)"
_ONE_COLUMN = "{} must be one column, got a table in parts: give a column of it, such as {}"
_LISTED = (
    "{} must be one column, got a list of series; a list is one column in memory, so pass the parts of a"
    " column by a function: lambda: [first, second]"
)
_READERS = f"pyarrow.dataset.dataset(path), or lambda: {_CHUNKS}"
_PATH = f"X must be a table, got a path; read the file, or pass its parts: {_READERS}"
_UNREAD = "X must be a table in memory, a list of tables or another table in parts, got {}; {}"
_Y_OF_PARTS = (
    "y must be the name of a column of X, a list of names, or a list with the labels of each part of X, got"
    " {}; {}"
)
_PAIRS = "or give X alone, and each part of it as a pair (rows, labels)"
_Y_IN_MEMORY = (
    "y must hold one label or number for each row of X, got the text {!r}; the name of a column is for tables"
    " in parts: here give X without that column, X.drop(columns=...), and the column as y"
)
_Y_ALONE_OF_DASK = (
    "y must be in memory where X is, got a collection of Dask; pass y.compute(), or both X and y of Dask"
)
_IN_PARTS = (
    "X must be a table in memory, got one in parts ({}); call the method for each part, such as"
    " [model.predict(part) for part in parts], or for a Dask frame frame.map_partitions(model.predict)"
)
_END = object()


def in_parts(parts: Parts) -> Table:
    """Return the table of some parts, whose rows are `Given`."""
    return Table(InParts(parts))


def table_in_parts(X: Any, y: Any) -> Table | None:
    """Return a table in parts, of rows as they are given, or None if it is in memory. No value is read.

    X is a `Table`, a Dask collection, a list of tables or of pairs of these with labels, an object that can
    be iterated over again and again, such as a data set of Arrow, or a function that returns an iterable of
    such parts. y is the name of the column of labels, or a list of names; labels in parts like those of X; or
    None. What can be read only once, and labels in other parts or with another index, are refused.
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, np.ndarray) and (y is None or isinstance(y, np.ndarray)):
        return None
    if (parts := _in_workers(X, y)) is not None:
        return in_parts(parts)
    if of_dask(y):
        raise TypeError(_Y_ALONE_OF_DASK)
    # A list beside a table of Arrow in memory holds the labels of its rows.
    named = y is None or isinstance(y, str) or (is_name(y) and not is_arrow(X))
    make = None if is_arrow(X) and not named else _maker_of_tables(X)
    if make is None:
        if isinstance(y, str):
            raise TypeError(_refused(X, y))
        check_index("y", y, X)
        return None
    if named:
        return in_parts(InTurn(lambda: (pair_of(part, y) for part in make())))
    if (problem := _unlike(X, y)) is not None:
        raise TypeError(_Y_OF_PARTS.format(*problem))
    for part, labels in zip(make(), y, strict=True):
        check_index("y", labels, part)
    pairs = InTurn(lambda: ((table_of(part), labels) for part, labels in zip(make(), y, strict=True)))
    return in_parts(pairs)


def _unlike(X: Any, y: Any) -> tuple[str, str] | None:
    """Return what y is, and advice, unless it holds the labels of each part of the list X."""
    kind = type(y).__name__
    if isinstance(y, int):
        return kind, "columns whose names are numbers are renamed by part.rename(columns=str)"
    if not _is_listed(X):
        return kind, f"for {type(X).__name__} give the name of a column, {_PAIRS}"
    if not isinstance(y, (list, tuple)):
        return kind, f"cut it like X: [first_y, second_y], {_PAIRS}"
    return (f"{len(y)} parts", f"X has {len(X)} parts; cut y like X") if len(y) != len(X) else None


def check_index(name: str, column: Any, X: Any, of: str = "X") -> None:
    """Refuse a column of pandas whose index differs from that of a table: rows are paired by position.

    An index that only counts the rows may stand beside any other labels, which then say nothing about the
    order of the rows; but not beside its own labels in another order.
    """
    indexes: list[Any] = [getattr(each, "index", None) for each in (X, column)]
    one, two = indexes
    if not all(hasattr(each, "equals") for each in indexes) or len(one) != len(two) or one.equals(two):
        return
    labels = [each.map(repr).tolist() for each in indexes]  # alike in types such as int64 and Int64
    counts = [each == [repr(row) for row in range(len(each))] for each in labels]
    if labels[0] != labels[1] and (not any(counts) or sorted(labels[0]) == sorted(labels[1])):
        raise ValueError(
            f"{name} and {of} have different indexes, and their rows are paired by position: give"
            f" {name}.loc[{of}.index] if labels occur once, or {name}.to_numpy() if its order is that of {of}"
        )


def table_in_memory(X: Any) -> Any:
    """Return a table in memory, one of Arrow as a data frame; refuse a table in parts."""
    if is_arrow(X):
        return table_of(X)
    lazy = of_dask(X) and is_frame(X)  # numpy computes an array of Dask
    if isinstance(X, Table) or lazy or (not of_dask(X) and _maker_of_tables(X) is not None):
        raise TypeError(_IN_PARTS.format(_list_of(X) if _is_listed(X) else type(X).__name__))
    return X


def column_in_parts(values: Any, name: str = "values") -> Table | None:
    """Return one column in parts, or None if it is in memory, as every list is; no value is read."""
    if isinstance(values, Table):
        return values
    if isinstance(values, np.ndarray):
        return None
    if (parts := _column_in_workers(values, name)) is not None:
        return in_parts(parts)
    if isinstance(values, Iterator):
        raise TypeError(_ONCE.format(name, f'(part["age"] for part in {_CHUNKS})'))
    if hasattr(values, "to_batches"):
        raise ValueError(_ONE_COLUMN.format(name, 'lambda: (part["age"] for part in data.to_batches())'))
    if _is_listed(values):
        if len(values) and _is_series(_first(values)):
            raise TypeError(_LISTED.format(name))
        return None
    make = _maker(values, name)
    if make is None:
        return None
    return in_parts(InTurn(lambda: ((column_of(part), None) for part in make())))


def _refused(X: Any, name: str) -> str:
    """Return why the name of a column is no y beside X, which is not in parts."""
    if _is_listed(X) and not hasattr(X, "to_pandas"):
        return _UNREAD.format(_list_of(X), advice_on(_first(X)) if len(X) else "give at least one table")
    if is_frame(X) or hasattr(X, "shape"):
        return _Y_IN_MEMORY.format(name)
    return _UNREAD.format(type(X).__name__, advice_on(X))


def _maker_of_tables(X: Any) -> Callable[[], Iterator[Any]] | None:
    """Return a function that returns the parts of a table, or None if the table is in memory."""
    _refuse_unread(X)
    return _maker(X, "X")


def _maker(X: Any, name: str) -> Callable[[], Iterator[Any]] | None:
    """Return a function that returns the parts of the parameter `name`, or None if it is in memory."""
    if hasattr(X, "to_batches"):  # a data set or a table of Arrow
        return lambda: parts_read(X.to_batches)
    if hasattr(X, "iter_batches"):  # a file of Parquet
        return lambda: parts_read(X.iter_batches)
    if _is_listed(X):
        return (lambda: parts_read(lambda: X)) if len(X) and is_part(_first(X)) else None
    if hasattr(X, "shape") or hasattr(X, "__array__") or isinstance(X, (Collection, type)):
        return None
    if callable(X):
        _check_no_arguments(X, name)
        return _Calls(X, name)
    return (lambda: parts_read(lambda: X)) if hasattr(X, "__iter__") else None


def _check_no_arguments(function: Callable[..., Any], name: str) -> None:
    """Refuse a function that cannot be called without arguments."""
    try:
        given = signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions that are not written in Python do not tell
        return
    needed = [
        each.name
        for each in given
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    if needed:
        raise TypeError(
            f"{name} must be a function without arguments, got one that needs {', '.join(needed)}; give their"
            " values within a function: lambda: function(...)"
        )


def _refuse_unread(X: Any) -> None:
    """Refuse what is read or computed before it is a table, or can be read only once."""
    if isinstance(X, (str, PathLike)):
        raise TypeError(_PATH)
    if type(X).__name__ == "LazyFrame":
        raise TypeError(LAZY)
    of_columns = isinstance(X, Mapping) and not hasattr(X, "shape")  # some sparse matrices are mappings
    if of_columns or hasattr(type(X), "to_arrow_reader"):
        raise TypeError(_UNREAD.format(type(X).__name__, advice_on(X)))
    if isinstance(X, Iterator):
        raise TypeError(_ONCE.format("X", _CHUNKS))
    if _is_listed(X) and len(X) and _is_reader(_first(X)):
        raise TypeError(_UNREAD.format(_list_of(X), advice_on(_first(X))))


def parts_read(make: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """Yield the parts of one pass, which code of others makes; its errors are raised without their texts."""
    parts = without_text(lambda: iter(make()))
    while (part := without_text(lambda: next(parts, _END))) is not _END:
        yield part


def _first(X: Any) -> Any:
    return without_text(lambda: X[0])


def _is_listed(X: Any) -> bool:
    """Return whether X is a list or a similar sequence, of rows or of parts."""
    sequence = hasattr(X, "__len__") and hasattr(X, "__getitem__") and not isinstance(X, (str, Mapping))
    return sequence and not (is_frame(X) or hasattr(X, "shape") or hasattr(X, "to_batches"))


def _is_reader(part: Any) -> bool:
    """Return whether an element of a list has to be read or computed before it is a table."""
    unread = isinstance(part, PathLike) or type(part).__name__ == "LazyFrame"
    return unread or of_dask(part) or (hasattr(part, "to_batches") and not is_arrow(part))


def _is_series(part: Any) -> bool:
    """Return whether an element of a list is a series of pandas or polars, or a column of Arrow."""
    return len(getattr(part, "shape", ())) == 1 and hasattr(part, "to_list")


def _list_of(X: Any) -> str:
    """Return what a list holds, for messages: the type of its elements."""
    return f"a list of {type(_first(X)).__name__}" if len(X) else "an empty list"


class _Calls:
    """The parts that a function returns, called once more before the charge: they must be new ones."""

    def __init__(self, function: Callable[[], Any], name: str):
        self._function, self._name = function, name
        self._next: Iterator[Any] | None = None
        self._called = False

    def __call__(self) -> Iterator[Any]:
        """Yield the parts of the next pass."""
        parts, self._next = self._next or self._call(), None
        first, self._called = not self._called, True
        yield from parts_read(lambda: parts)
        if first:
            self._next = self._call()
            if self._next is parts:
                raise TypeError(
                    f"{self._name} must be a function that returns new parts at each call, got one that"
                    " returned the same iterator twice; make it within the function, such as lambda:"
                    f" {_CHUNKS}"
                )

    def _call(self) -> Any:
        parts: Any = without_text(self._function)
        if hasattr(parts, "to_batches"):
            parts = without_text(parts.to_batches)
        if hasattr(parts, "shape") or not hasattr(parts, "__iter__") or isinstance(parts, (str, Mapping)):
            raise TypeError(
                f"{self._name} must be a function that returns an iterable of parts, got one that returns"
                f" {type(parts).__name__}; {advice_on(parts)}"
            )
        return without_text(lambda: iter(parts))


def of_dask(X: Any) -> bool:
    return hasattr(type(X), "__dask_graph__") and not type(X).__module__.startswith("xarray.")


def of_spark(X: Any) -> bool:
    return hasattr(type(X), "mapInArrow")


def _in_workers(X: Any, y: Any) -> Parts | None:
    """Return the parts of a table that workers of a cluster read, or None if X is no such table."""
    if is_dask(X, "X"):
        return DaskParts.of(X, y)
    if not of_spark(X):
        return None
    if y is not None and not is_name(y):
        raise TypeError(_Y_OF_SPARK.format(type(y).__name__))
    return SparkParts(X, partial(pair_of, name=y))


def _column_in_workers(values: Any, name: str) -> Parts | None:
    """Return the parts of a column that workers of a cluster read, or None if there is no such column."""
    if is_dask(values, name):
        if values.ndim != 1:
            raise ValueError(_ONE_COLUMN.format(name, 'ddf["age"], or array[:, 0]'))
        return DaskParts([(each, None) for each in partitions(values)])
    if not of_spark(values):
        return None
    if len(values.columns) != 1:
        raise ValueError(_ONE_COLUMN.format(name, 'frame.select("age")'))
    return SparkParts(values, _only_column)


def _only_column(table: Any) -> tuple[Any, None]:
    return column_of(table.column(0)), None


def _named(*names: str) -> Callable[[Any], bool]:
    return lambda given: type(given).__name__ in names


def _has(method: str) -> Callable[[Any], bool]:
    return lambda given: hasattr(type(given), method)  # some objects seem to have all


_FILES = "pyarrow.dataset.dataset(paths) reads one or several Parquet files"
#: Which objects, and how to pass them; the first that holds counts.
_ADVICE: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (_named("LazyFrame"), "lambda: frame.collect_batches(maintain_order=True) reads a lazy frame of polars"),
    (_has("to_arrow_reader"), "lambda: relation.to_arrow_reader(100_000) reads a relation of DuckDB"),
    (_named("Bag"), "bag.to_dataframe() makes a frame of Dask"),
    (
        _named("Delayed", "DelayedLeaf", "DelayedAttr"),
        "dask.dataframe.from_delayed([...]) makes a frame of Dask",
    ),
    (of_dask, "dask.dataframe.concat([...]) makes one frame of several of Dask"),
    (is_frame, "a single part is given in a list: lambda: [part]"),
    (lambda given: isinstance(given, (str, PathLike)), _FILES),
    (_named("ParquetDataset", "ParquetFile"), _FILES),
    (_has("to_batches"), "pyarrow.dataset.dataset([first, second]) joins data sets of Arrow"),
    (_has("to_pandas"), "its method to_pandas() makes a table"),
    (
        lambda given: isinstance(given, Mapping),
        "pandas.DataFrame(...) makes a table of a dict of columns or of a list of dicts",
    ),
    (callable, "call the function: lambda: function()"),
    (lambda given: given is None, "the function must return the parts, or yield them"),
    (_has("shape"), "a single part is given in a list: lambda: [part]"),
)
_OTHERWISE = (
    "pass a function that reads one part after another, such as lambda: (read(path) for path in paths)"
)


def advice_on(given: Any) -> str:
    """Return how an object that is no table, or no part of one, can be passed; only its type is looked at."""
    return next((advice for fits, advice in _ADVICE if fits(given)), _OTHERWISE)


Name = str | Sequence[str]  # of the column of labels, or of several such columns
_NO_PART = (
    "X must have parts that are data frames, arrays, record batches, or pairs of these with y, got {}; {}"
)
_NO_COLUMN = "parts of a column must be series or arrays, got {}; a single part is given as lambda: [part]"
_NO_Y = "y must be the name of a column of X in every part, or a list of different names, got {}; {}"
_UNNAMED = "the columns of {} have no names: give each part as a pair (rows, labels), and no y"


def is_part(part: Any) -> bool:
    """Return whether an element of a list is a part, and not a row."""
    pair = isinstance(part, tuple) and len(part) == 2 and _is_table(part[0])
    return pair or _is_table(part) or is_arrow(part)


def is_arrow(table: Any) -> bool:
    """Return whether an object is a table, a record batch or a column of Arrow in memory."""
    return type(table).__module__.partition(".")[0] == "pyarrow" and hasattr(table, "to_pandas")


def table_of(part: Any) -> Any:
    """Return a table that learners read; one of Arrow as a data frame with the types of Arrow."""
    if _is_table(part):
        return part
    if is_arrow(part):
        return _of_arrow(part)
    raise TypeError(_NO_PART.format(type(part).__name__, advice_on(part)))


def column_of(part: Any) -> Any:
    """Return a column that releases read; one of Arrow as a series with the type of Arrow."""
    if getattr(part, "shape", ()):  # a list might be a row
        return part
    if is_arrow(part):
        return _of_arrow(part)
    raise TypeError(_NO_COLUMN.format(type(part).__name__))


def is_name(y: Any) -> bool:
    """Return whether y is the name of a column, or a list of several names."""
    listed = isinstance(y, (list, tuple)) and len(y) > 0
    return isinstance(y, str) or (listed and all(isinstance(each, str) for each in y))


def pair_of(part: Any, name: Name | None) -> tuple[Any, Any]:
    """Return the rows and the labels of a part: a pair of both, or a table with named columns of labels."""
    if isinstance(part, tuple) and len(part) == 2:
        if name is not None:
            raise TypeError(f"y must be None where each part is a pair of X and y, got {shown(name)}")
        return table_of(part[0]), part[1]
    table = table_of(part)
    return (table, None) if name is None else without(table, name)


def without(table: Any, name: Name) -> tuple[Any, Any]:
    """Return the other columns of a data frame, and the named one, or the frame of the named ones."""
    names = [name] if isinstance(name, str) else list(name)
    columns = list(table.columns) if is_frame(table) else []
    if not set(names) <= set(columns) or len(set(names)) < len(names):
        # A list may be one of private labels, and is not shown.
        given = shown(name) if isinstance(name, str) else f"{type(name).__name__} of length {len(names)}"
        if not is_frame(table):
            raise ValueError(_NO_Y.format(given, _UNNAMED.format(type(table).__name__)))
        near = near_column(name if isinstance(name, str) else given, columns)
        raise ValueError(_NO_Y.format(given, near.removeprefix("; ")))
    others = table[[each for each in columns if each not in names]]
    return others, table[name] if isinstance(name, str) else table[names]


def _is_table(part: Any) -> bool:
    return is_frame(part) or issparse(part) or (isinstance(part, np.ndarray) and part.ndim == 2)


def _of_arrow(part: Any) -> Any:
    # Metadata of pandas would make an index of some columns.
    return part.to_pandas(types_mapper=import_module("pandas").ArrowDtype, ignore_metadata=True)


_Y_OF_SPARK = "y must be the name of a column of X, or a list of names, where X is a frame of Spark, got {}"
_NOT_OF_DASK = "{} must be a data frame, a series or an array of Dask, got {}; {}"
_GROUP = 8  # sums that are added in one task
_Y_OF_DASK = (
    "y must be the name of a column of X, a list of names, or a Dask series, frame or array with the"
    " partitions of X, got {}; give the name of a column of X, or take y from the same frame: frame['y']"
)


class DaskParts(Parts):
    """The partitions of Dask collections: X and y of each, or X with the names of columns of labels."""

    def __init__(self, parts: Sequence[tuple[Any, Any]], name: Name | None = None):
        self._parts, self._name = parts, name

    @classmethod
    def of(cls, X: Any, y: Any) -> "DaskParts":
        rows = partitions(X)
        if y is None or is_name(y):
            return cls([(each, None) for each in rows], y)
        if not is_dask(y, "y"):
            raise TypeError(_Y_OF_DASK.format(type(y).__name__))
        labels = partitions(y)
        if len(labels) != len(rows):
            raise TypeError(_Y_OF_DASK.format(f"{len(labels)} partitions for the {len(rows)} of X"))
        return cls(list(zip(rows, labels, strict=True)))

    def kept(self, made_by: Callable[[int], Task], fits: Callable[[Any], bool]) -> "DaskParts":
        return KeptInWorkers(self.tasks(made_by), fits)

    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        yield from self._computed(self.tasks(task_of))

    def total(self, task_of: Callable[[int], Task]) -> Result:
        results = self.tasks(task_of)
        while len(results) > 1:
            groups = [results[start : start + _GROUP] for start in range(0, len(results), _GROUP)]
            results = [_delayed(_sum_of)(*group) for group in groups]
        [total] = self._computed(results)
        return total

    def _computed(self, tasks: Sequence[Any]) -> tuple[Result, ...]:
        return computed_at_once(partial(import_module("dask").compute, *tasks), len(self._parts))

    def tasks(self, task_of: Callable[[int], Task]) -> list[Any]:
        tasks = [task_of(number) for number in range(len(self._parts))]
        function = _delayed(_same)(tasks[0].function)
        return [
            _delayed(_on_partition)(function, task.own, self._name, X, y)
            for task, (X, y) in zip(tasks, self._parts, strict=True)
        ]


class KeptInWorkers(DaskParts):
    """Partitions whose X tasks make: in each pass, or, if they fit, once, in the second pass."""

    def __init__(self, made: Sequence[Any], fits: Callable[[Any], bool]):
        super().__init__([(_delayed(_value_or_failed)(each), None) for each in made])
        self._fits, self._passes = fits, 0

    def tasks(self, task_of: Callable[[int], Task]) -> list[Any]:
        self._passes += 1
        if self._passes == 2 and self._fit():
            made = without_text(partial(import_module("dask").persist, *(X for X, _ in self._parts)))
            self._parts = [(each, None) for each in made]
        return super().tasks(task_of)

    def _fit(self) -> bool:
        """Return whether the first partition with rows fits, as all others then do."""
        tasks = (_delayed(_fit)(self._fits, X) for X, _ in self._parts)
        found = (without_text(partial(import_module("dask").compute, task))[0] for task in tasks)
        return next((fit for fit in found if fit is not None), False)


def _delayed(function: Callable[..., Any]) -> Any:
    """Return a function that makes tasks of Dask whose names and keys depend on no argument."""
    return import_module("dask").delayed(function, name="dplearn", pure=False)


def _sum_of(*results: Result) -> Result:
    return reduce(sum_of_two, results)


def _value_or_failed(result: Result) -> Any:
    return result if result.error is not None else result.value


def _fit(fits: Callable[[Any], bool], rows: Any) -> bool | None:
    """Return whether the rows of a part are kept; None without rows, or after an error."""
    return None if rows is None or isinstance(rows, Result) else fits(rows)


def _same(function: Any) -> Any:
    """Return a function that all tasks of a pass share: it is sent once, and not with each task."""
    return function


def _on_partition(function: Any, own: tuple[Any, ...], name: Name | None, X: Any, y: Any) -> Result:
    """Run a task on a partition; its errors are results, and so are those of the tasks before it."""
    failed: list[Result] = [each for each in (X, y) if isinstance(each, Result)]
    if failed:
        return failed[0]
    return Task(function, own)(X, y, None if name is None else lambda X, _: without(X, name))


def is_dask(X: Any, name: str) -> bool:
    """Return whether X is a data frame, a series or an array of Dask; refuse other collections of Dask."""
    if not of_dask(X):
        return False
    if not (hasattr(type(X), "to_delayed") and hasattr(type(X), "ndim")):
        raise TypeError(_NOT_OF_DASK.format(name, type(X).__name__, advice_on(X)))
    return True


def partitions(collection: Any) -> list[Any]:
    """Return the partitions of a Dask data frame, series or array, as delayed objects, whose tasks return an
    error, which a cluster would log, as a `Result` without its text.
    """
    if not hasattr(collection, "chunks"):
        return _quiet(without_text(collection.to_delayed))
    if len(collection.chunks) == 2:  # whole rows are in one part
        collection = collection.rechunk({1: -1})
    # Optimised graphs have tasks of their own: those that make chunks of both X and y would run twice.
    return _quiet(without_text(partial(collection.to_delayed, optimize_graph=False)).ravel())


def _quiet(parts: Sequence[Any]) -> list[Any]:
    """Return the delayed objects of one graph, under the same names, whose tasks raise no error."""
    graphs, graph = import_module("dask.highlevelgraph"), parts[0].__dask_graph__()
    nodes, layers = dict(graph), {}
    for name, layer in graph.layers.items():
        quiet = {key: _quiet_node(nodes, nodes[key]) for key in layer}
        layers[name] = graphs.MaterializedLayer(quiet, annotations=layer.annotations)
    graph = graphs.HighLevelGraph(layers, graph.dependencies)
    return [type(each)(each.key, graph, layer=each.__dask_layers__()[0]) for each in parts]


def _quiet_node(nodes: Mapping[Any, Any], node: Any) -> Any:
    """Return a task of a graph as one that returns its error; data and the like as they are."""
    core = import_module("dask.core")
    if core.istask(node) and hasattr(core, "_execute_task"):  # a tuple, before Dask 2024.12
        names = tuple(core.get_dependencies(nodes, task=node))
        return (partial(value_or_error, partial(core._execute_task, node), names), *names)
    if type(node).__name__ != "Task" or node.is_coro:
        return node
    quiet, names = copy(node), tuple(node.dependencies)
    quiet.func, quiet.kwargs = partial(value_or_error, node, names), {}
    quiet.args = tuple(map(import_module("dask._task_spec").TaskRef, names))
    return quiet


def value_or_error(task: Callable[[Mapping[Any, Any]], Any], names: Sequence[Any], *values: Any) -> Any:
    """Return the value of a task of others, given those of the nodes that it needs, or the first error."""
    failed = [each for each in values if isinstance(each, Result)]
    try:
        return failed[0] if failed else task(dict(zip(names, values, strict=True)))
    except BaseException as error:
        # A cluster runs a task again that raises `Reschedule`.
        if isinstance(error, (KeyboardInterrupt, SystemExit)) or type(error).__name__ == "Reschedule":
            raise
        return Result(error=unreadable(error))
