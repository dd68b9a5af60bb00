"""Passes over the parts of a table, each of which is the input of one task, here or in the workers of Dask.

Tasks make no draw: a part may be read again, for example if a worker of a cluster is lost, and then has the
same value. Their errors are results, since a cluster would log an error, and code of others that reads parts
might show a value in one. Dask is imported where a collection of it has been given: it is optional.

>>> parts = InTurn(lambda: [([31, 42], "no"), ([57], "yes")])
>>> [result.found() for result in parts.run(lambda number: Task(lambda X, y: (number, len(X), y)))]
[(0, 2, 'no'), (1, 1, 'yes')]
>>> parts.total(lambda number: Task(lambda X, y: [sum(X)])).found()
[130]
>>> import dask.dataframe as dd
>>> import pandas as pd
>>> table = pd.DataFrame({"age": [31, 42, 57], "ill": ["no", "yes", "no"]})
>>> parts = DaskParts.of(dd.from_pandas(table, npartitions=2), "ill")
>>> task = Task(lambda X, y: (X["age"].tolist(), y.tolist()))
>>> [result.found() for result in parts.run(lambda number: task)]
[([31, 42], ['no', 'yes']), ([57], ['no'])]
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar, Token
from copy import copy
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from typing import Any, Self, TextIO, TypeVar

from dplearn.kernels.float_errors import float_errors_ignored
from dplearn.records.part import Name, advice_on, is_name, of_dask, without

Function = Callable[[Any, Any], Any]  # of X and y of a part


class PartsChangedError(RuntimeError):
    """Raised if there are other parts, or parts of other lengths or records, than in the first pass."""

    def __init__(self) -> None:
        super().__init__(
            "X must have the same parts each time it is read, but their records, their number or their"
            " lengths have changed; read them in a fixed order, without shuffling or sampling, from a table"
            " that is not written to meanwhile"
        )

    def __reduce__(self) -> Any:  # a worker of a cluster returns it
        return type(self), ()


class PartsUnreadableError(RuntimeError):
    """Raised if code that reads the parts raises an error, whose text and type might show a value."""


_UNREADABLE = (
    "X must have parts that can be read, but their reader raised an error, which is not shown, since it might"
    " show a value; to see it, read all parts once without dplearn, by frame.compute() for Dask, or by a loop"
    " over the parts. A frequent cause is a column without a declared type, as in read_csv(..., dtype=...)"
)

#: Errors about names, modules and files, which keep their type.
_PUBLIC: tuple[type[Exception], ...] = (NameError, ImportError, FileNotFoundError, PermissionError)


def unreadable(error: BaseException) -> Exception:
    """Return the error that is raised instead of one of code of others that reads parts.

    It depends only on whether that one is about names, modules or files.
    """
    return next((each for each in _PUBLIC if isinstance(error, each)), PartsUnreadableError)(_UNREADABLE)


def reading(read: Callable[[], Any]) -> Any:
    """Return the result of code of others that reads parts; its error is raised as `unreadable`."""
    try:
        return read()
    except (KeyboardInterrupt, SystemExit) as stop:
        found: BaseException = type(stop)()  # a new one: that of the reader may quote a value
    except BaseException as error:  # compiled readers raise errors that are no `Exception`
        found = unreadable(error)
    raise found


@dataclass(frozen=True)
class Task:
    """A function of one part, as a task that raises no error.

    An error would make a cluster log its text, and in some versions the arguments of the task: the part.
    """

    function: Function

    def __call__(self, X: Any, y: Any) -> "Result":
        """Return the value for a part, or the error that the function raised."""
        with float_errors_ignored():  # in the threads and processes of a cluster too
            try:
                return Result(self.function(X, y))
            except Exception as error:
                return Result(error=_without_variables(error))


@dataclass(frozen=True, repr=False)
class Result:
    """The value of a task, or its error."""

    value: Any = None
    error: Exception | None = None

    def found(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


def added(first: Result, second: Result) -> Result:
    """Return the sum of two results whose values are lists of equal lengths, or None; an error prevails."""
    for result in (first, second):
        if result.error is not None:
            return result
    if first.value is None or second.value is None:
        return second if first.value is None else first
    return Result([mine + other for mine, other in zip(first.value, second.value, strict=True)])


def _without_variables(error: Exception) -> Exception:
    """Return an error without notes and tracebacks, in which variables hold private values."""
    error.__cause__ = error.__context__ = None
    vars(error).pop("__notes__", None)
    return error.with_traceback(None)


class Parts(ABC):
    """The parts of a table, each of which can be read again."""

    @abstractmethod
    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        """Yield the result of a task for each part, in their order, from 0."""

    def total(self, task_of: Callable[[int], Task]) -> Result:
        """Return the sum of the results of a task for each part; a cluster adds them where they are."""
        total = Result()
        for result in self.run(task_of):
            total = added(total, result)
            if total.error is not None:
                break
        return total


class InTurn(Parts):
    """Parts that this process reads one after another: pairs of X and y, the same ones at each call."""

    def __init__(self, parts: Callable[[], Iterable[tuple[Any, Any]]]):
        self._parts = parts
        self._n_parts: int | None = None  # known after the first pass

    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        """Yield the result of a task for each part."""
        n_parts = 0
        for X, y in counted(self._parts(), self._n_parts):
            yield task_of(n_parts)(X, y)
            n_parts += 1
        self._n_parts = n_parts


Part = TypeVar("Part")


class PassProgress:
    """A context in which fits and releases on tables in parts show a progress bar.

    The bar shows the number of the current pass over the table, and the number of parts that this pass has
    read. It is drawn by tqdm if that is installed, else it is a line of text. For a Dask collection it shows
    passes only. Dask itself shows the parts of a pass (`dask.diagnostics.ProgressBar`, or the dashboard of a
    cluster).

    Parameters
    ----------
    file : file, optional
        Where the bar is written; standard error by default.

    Notes
    -----
    The number of parts is public. The number of passes is a function of public numbers and of released
    values, except that quantiles and learned schemas may need a few passes more or less, depending on how
    many records are near a wanted rank. Such a number of passes, and the times that tqdm shows, depend on
    private records, and the guarantee does not cover them: show the bar only to people who may see the data.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from dplearn.releases import median
    >>> months = [np.arange(400.0), np.arange(600.0)]
    >>> with PassProgress(file=io.StringIO()):  # PassProgress() writes to standard error
    ...     found = median(lambda: months, epsilon=1)
    """

    def __init__(self, file: TextIO | None = None):
        self._file, self._passes = file, 0
        self._tokens: list[Token[PassProgress | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_SHOWN.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _SHOWN.reset(self._tokens.pop())

    def over(self, parts: Iterable[Part], n_parts: int | None) -> Iterator[Part]:
        """Yield the parts of one pass, and show how many of them have been read."""
        self._passes += 1
        bar: Any = None
        # A file that cannot be written must not end a fit that has been charged.
        with suppress(Exception):
            bar = _bar_of()(desc=f"pass {self._passes}", total=n_parts, unit=" parts", file=self._file)
        try:
            for part in parts:
                yield part
                with suppress(Exception):
                    bar.update()
        finally:
            with suppress(Exception):
                bar.close()


_SHOWN: ContextVar[PassProgress | None] = ContextVar("shown", default=None)


def counted(parts: Iterable[Part], n_parts: int | None = None) -> Iterator[Part]:
    """Yield the parts of one pass; within a `PassProgress`, they are counted on its bar."""
    shown = _SHOWN.get()
    return iter(parts) if shown is None else shown.over(parts, n_parts)


def _bar_of() -> Callable[..., Any]:
    """Return the class of bars: that of tqdm, if it is installed."""
    try:
        bar: Callable[..., Any] = import_module("tqdm.auto").tqdm
    except ImportError:
        return _Line
    return bar


class _Line:
    """A bar as a line of text, with the methods of tqdm's that are used."""

    def __init__(self, desc: str, total: int | None, unit: str, file: TextIO | None):
        self._begin, self._end, self._n = f"\r{desc}: ", unit if total is None else f"/{total}{unit}", 0
        self._file = sys.stderr if file is None else file
        self._write()

    def update(self) -> None:
        """Count one part."""
        self._n += 1
        self._write()

    def close(self) -> None:
        """End the line."""
        self._file.write("\n")
        self._file.flush()

    def _write(self) -> None:
        self._file.write(f"{self._begin}{self._n}{self._end}")
        self._file.flush()


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
        """Return the partitions of X and y."""
        rows = partitions(X)
        if y is None or is_name(y):
            return cls([(each, None) for each in rows], y)
        if not is_dask(y, "y"):
            raise TypeError(_Y_OF_DASK.format(type(y).__name__))
        labels = partitions(y)
        if len(labels) != len(rows):
            raise TypeError(_Y_OF_DASK.format(f"{len(labels)} partitions for the {len(rows)} of X"))
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
                results = reading(partial(import_module("dask").compute, *tasks))
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


def _on_partition(task: Task, name: Name | None, X: Any, y: Any) -> Result:
    """Run a task on a partition; its errors are results, and so are those of the tasks before it."""
    failed: list[Result] = [each for each in (X, y) if isinstance(each, Result)]
    if failed or name is None:
        return failed[0] if failed else task(X, y)
    return Task(lambda X, _: task.function(*without(X, name)))(X, y)


def is_dask(X: Any, name: str) -> bool:
    """Return whether X is a data frame, a series or an array of Dask; refuse other collections of Dask."""
    if not of_dask(X):
        return False
    if not (hasattr(type(X), "to_delayed") and hasattr(type(X), "ndim")):
        raise TypeError(_NOT_OF_DASK.format(name, type(X).__name__, advice_on(X)))
    return True


def partitions(collection: Any) -> list[Any]:
    """Return the partitions of a Dask data frame, series or array, as delayed objects.

    Their tasks raise no error, which a cluster would log: they return it, as a `Result` without its text.
    """
    if not hasattr(collection, "chunks"):
        return _quiet(reading(collection.to_delayed))
    if len(collection.chunks) == 2:  # whole rows are in one part
        collection = collection.rechunk({1: -1})
    # Optimised graphs have tasks of their own: those that make chunks of both X and y would run twice.
    return _quiet(reading(partial(collection.to_delayed, optimize_graph=False)).ravel())


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
        return (partial(_value_or_error, partial(core._execute_task, node), names), *names)
    if type(node).__name__ != "Task" or node.is_coro:
        return node
    quiet, names = copy(node), tuple(node.dependencies)
    quiet.func, quiet.kwargs = partial(_value_or_error, node, names), {}
    quiet.args = tuple(map(import_module("dask._task_spec").TaskRef, names))
    return quiet


def _value_or_error(task: Callable[[Mapping[Any, Any]], Any], names: Sequence[Any], *values: Any) -> Any:
    """Return the value of a task of others, given those of the nodes that it needs, or the first error."""
    failed = [each for each in values if isinstance(each, Result)]
    try:
        return failed[0] if failed else task(dict(zip(names, values, strict=True)))
    except BaseException as error:
        # A cluster runs a task again that raises `Reschedule`.
        if isinstance(error, (KeyboardInterrupt, SystemExit)) or type(error).__name__ == "Reschedule":
            raise
        return Result(error=unreadable(error))
