"""The partitions of a Spark data frame as parts of a table. A pass is one job (`mapInArrow`): each partition
is read by one task, which sends back its sums alone. Workers import dplearn.
"""

import pickle
from collections.abc import Callable, Iterator
from functools import partial, reduce
from importlib import import_module
from typing import Any

from dplearn.table.passes import Parts, Result, Task, computed_at_once, sum_of_two

_GROUP = 8  # sums that are added in one task
_SENT = "part int, result binary"
Read = Callable[[Any], tuple[Any, Any]]  # from a table of Arrow to X and y


class SparkParts(Parts):
    """The partitions of a Spark data frame, each of which a function makes X and y of."""

    def __init__(self, frame: Any, read: Read):
        self._frame, self._read = frame, read
        self._numbers: dict[int, int] | None = None  # of the partitions with rows, from 0

    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        found = self._collected(self._mapped(task_of))
        yield from map(found.__getitem__, sorted(found))

    def total(self, task_of: Callable[[int], Task]) -> Result:
        results, left = self._mapped(task_of), len(self._numbers or ())
        while left > _GROUP:
            left = -(-left // _GROUP)
            results = results.repartition(left).mapInArrow(_added, _SENT)
        return reduce(sum_of_two, self._collected(results).values(), Result())

    def _mapped(self, task_of: Callable[[int], Task]) -> Any:
        """Return the frame of the results of a task for each partition."""
        if self._numbers is None:
            found = self._collected(self._frame.mapInArrow(_seen, _SENT))
            self._numbers = {place: number for number, place in enumerate(sorted(found))}
        tasks = {place: task_of(number) for place, number in self._numbers.items()}
        return self._frame.mapInArrow(partial(_on_partition, self._read, tasks, task_of(len(tasks))), _SENT)

    def _collected(self, results: Any) -> dict[int, Result]:
        """Run a job and return its results, by the number of the partition that they were made in."""
        found = computed_at_once(results.collect, 1)
        return {row["part"]: pickle.loads(row["result"]) for row in found}  # noqa: S301 - of our own workers


def _here() -> int:
    """Return the number of the partition that this process of a worker reads."""
    return import_module("pyspark").TaskContext.get().partitionId()


def _sent(place: int, result: Result) -> Any:
    arrow = import_module("pyarrow")
    types = arrow.schema([("part", arrow.int32()), ("result", arrow.binary())])
    return arrow.RecordBatch.from_pydict({"part": [place], "result": [pickle.dumps(result)]}, schema=types)


def _seen(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the number of a partition, if it has rows."""
    if sum(batch.num_rows for batch in batches):
        yield _sent(_here(), Result())


def _on_partition(read: Read, tasks: dict[int, Task], other: Task, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the result of a task for the rows of a partition; `other` is that of one that had none before."""
    rows = list(batches)
    if sum(batch.num_rows for batch in rows):
        task = tasks.get(_here(), other)
        table = import_module("pyarrow").Table.from_batches(rows)
        yield _sent(_here(), task(table, None, lambda table, _: read(table)))


def _added(batches: Iterator[Any]) -> Iterator[Any]:
    results = (pickle.loads(each.as_py()) for batch in batches for each in batch.column("result"))  # noqa: S301
    yield _sent(_here(), reduce(sum_of_two, results, Result()))
