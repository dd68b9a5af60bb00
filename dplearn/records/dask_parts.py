"""The partitions of a Dask data frame, series or array, each of which is the input of one task in a pass.

Dask is imported where a collection of it has been given, since it is an optional package.

>>> import dask.dataframe as dd
>>> import pandas as pd
>>> table = pd.DataFrame({"age": [31, 42, 57], "ill": ["no", "yes", "no"]})
>>> parts = DaskParts.of(dd.from_pandas(table, npartitions=2), "ill")
>>> task = Task(lambda X, y: (X["age"].tolist(), y.tolist()))
>>> [result.found() for result in parts.run(lambda number: task)]
[([31, 42], ['no', 'yes']), ([57], ['no'])]
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial, reduce
from importlib import import_module
from typing import Any

from dplearn.records.part_advice import advice_on, of_dask
from dplearn.records.part_tables import Name, is_name, without
from dplearn.records.pass_progress import counted
from dplearn.records.passes import Parts, Result, Task, added, reading, unreadable

__all__ = ["DaskParts", "is_dask", "partitions"]

_NOT_OF_DASK = "{} must be a data frame, a series or an array of Dask, got {}; {}"
_GROUP = 8  # sums that are added in one task
_Y_OF_DASK = (
    "y must be the name of a column of X, a list of names, or a Dask series, frame or array with the"
    " partitions of X, got {}; give the name of a column of X, or take y from the same frame: frame['y']"
)


class DaskParts(Parts):
    """The partitions of Dask collections.

    Parameters
    ----------
    parts : list of pair of Delayed
        Private. X and y of each partition.
    name : str or sequence of str, optional
        The column of X that holds y, or the columns.
    """

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
