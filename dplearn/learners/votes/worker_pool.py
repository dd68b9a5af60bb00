"""Run one function on many tasks: one after the other, or in worker processes of joblib.

`n_jobs`, or a `joblib.parallel_config` around the call, sets the number of workers and the backend. A backend
of processes with more than one worker runs batches of tasks in a worker pool. Every other choice runs the
tasks one after the other in this process. The choice affects speed, not results.

A task may hold private records, and its result must depend on no other task. These rules isolate tasks:

- A process never runs two tasks at once. Threads share Python's warning filters, and some libraries turn
  warnings into errors for a moment to detect a failure. That would make a task in another thread fail.
- Each task is pickled by itself. A task that cannot be pickled runs in this process, without an
  error; if only its result cannot be pickled, it runs again in this process.
- If worker processes are in use, the tasks that run in this process and their results are pickled and
  unpickled too. Pickling can change an object, and the result must not depend on the process.
- Every process, this one included, gives native libraries the same number of threads. The number of threads
  changes how sums of floats are rounded, and the tasks' run times determine which process runs which task.
- The size of a worker's batch depends only on the number of tasks and the number of workers. The tasks in
  this process need no size: after a fixed time the next task begins a new batch, and each result is the same
  in any batch.

Warnings are suppressed while tasks run.
"""

import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from functools import cached_property, partial
from math import ceil
from time import perf_counter, sleep
from typing import Any

from joblib import Parallel, cpu_count, delayed, effective_n_jobs, wrap_non_picklable_objects
from joblib.parallel import get_active_backend

from dplearn.estimator.isolation import attempt, isolated, isolated_turn, muted_output, native_threads

Function = Callable[[Any], Any]

_ATTEMPTS = 2
_DIED_AGAIN = (
    "worker processes died while training teachers, and again when their work was repeated: memory may be"
    " short, estimator may end its process, or workers may be unable to import dplearn; try n_jobs=1"
)
BATCHES_PER_WORKER = 16  # workers end at about the same time, and few tasks are in memory at once
SECONDS_HERE = 0.05  # of a batch in this process; then progress is reported and other threads may enter
_PAUSE = 1e-4  # seconds between batches in this process

_one_batch_at_a_time = threading.Lock()


def run_tasks(
    function: Function,
    task_of: Callable[[int], Any],
    count: int,
    *,
    n_jobs: int | None = None,
    progress: Callable[[], None] | None = None,
) -> list[Any]:
    """Return the results of all tasks, in order."""
    workers, backend = effective_n_jobs(n_jobs), get_active_backend()[0]
    threads = None
    if workers > 1 and not getattr(backend, "supports_sharedmem", False):
        threads = getattr(backend, "inner_max_num_threads", None) or max(1, cpu_count() // workers)
    with muted_output(), native_threads(threads):
        run = _Run(function, task_of, count, threads, progress)
        if run.sent is None:
            run.in_this_process()
        else:
            run.in_processes(n_jobs, max(1, ceil(count / (workers * BATCHES_PER_WORKER))))
    return [run.results[i] for i in range(count)]


class _Run:
    """The tasks of one call and their results."""

    def __init__(
        self,
        function: Function,
        task_of: Callable[[int], Any],
        count: int,
        threads: int | None,
        progress: Callable[[], None] | None,
    ):
        self._task_of, self._count, self._threads, self._progress = task_of, count, threads, progress
        self._pool = threads is not None
        self._given = function
        self.sent = _pickled(function) if self._pool else None  # None: no worker processes can run it
        self.results: dict[int, Any] = {}

    @cached_property
    def _function(self) -> Function:
        """The function as worker processes receive it, if there are any."""
        if not self._pool:
            return self._given
        return attempt(partial(unpickled, self.sent or b""), lambda _: self._given)

    def in_this_process(self) -> None:
        """Run all tasks one after the other."""
        while len(self.results) < self._count:
            before = len(self.results)
            with isolated():
                end = perf_counter() + SECONDS_HERE
                for i in range(before, self._count):
                    self.results[i] = self._result_here(i)
                    if perf_counter() >= end:
                        break
            self._report(len(self.results) - before)
            sleep(_PAUSE)  # another thread may enter the context

    def in_processes(self, n_jobs: int | None, size: int) -> None:
        """Run all tasks in worker processes; repeat the lost tasks once if a worker process dies."""
        for _ in range(_ATTEMPTS):
            left = [i for i in range(self._count) if i not in self.results]
            batches = [left[start : start + size] for start in range(0, len(left), size)]
            try:
                self._dispatch(batches, n_jobs)
            except BrokenExecutor:
                continue
            return
        raise RuntimeError(_DIED_AGAIN)

    def _dispatch(self, batches: Sequence[Sequence[int]], n_jobs: int | None) -> None:
        calls = (
            delayed(_run_batch)(self.sent, [_pickled(self._task_of(i)) for i in batch], self._threads)
            for batch in batches
        )
        for batch, pickles in zip(batches, parallel_for(n_jobs)(calls), strict=True):
            with isolated():
                for i, pickled in zip(batch, pickles, strict=True):
                    # Empty bytes, which cannot be unpickled, stand for a result that could not be sent.
                    sent = partial(unpickled, pickled or b"")
                    self.results[i] = attempt(sent, partial(self._result_here, i))
            self._report(len(batch))

    def _result_here(self, i: int, _: BaseException | None = None) -> Any:
        """Return a task's result, computed in this process; the same as from a worker process."""
        if not self._pool:
            return self._function(self._task_of(i))
        return _pickled_and_unpickled(self._function(_pickled_and_unpickled(self._task_of(i))))

    def _report(self, finished: int) -> None:
        """Report progress, outside of `isolated`: the callback must not draw from a teacher's generators."""
        if self._progress is not None:
            for _ in range(finished):
                self._progress()


def _run_batch(function: bytes, tasks: Sequence[bytes | None], threads: int | None) -> list[bytes | None]:
    """Return the pickled results of some tasks; runs in a worker process."""
    with _one_batch_at_a_time, muted_output(), native_threads(threads), isolated():
        work = attempt(partial(unpickled, function), lambda _: None)
        return [_pickled_result(work, task) for task in tasks]


def _pickled_result(function: Function | None, task: bytes | None) -> bytes | None:
    """Return a task's pickled result, or None if the function, the task or the result cannot be pickled."""
    if function is None or task is None:
        return None
    return attempt(lambda: _pickled(function(unpickled(task))), lambda _: None)


def _pickled(thing: Any) -> bytes | None:
    """Return the pickle of an object, or None if it has none; no backend writes bytes to a disk."""
    # Cells and models may be of any class, and their pickling may raise, print and draw.
    return attempt(partial(_dumped, thing), lambda _: None)


def _dumped(thing: Any) -> bytes:
    with isolated_turn():
        return pickle.dumps(wrap_non_picklable_objects(thing, keep_wrapper=False))


def unpickled(pickled: bytes) -> Any:
    with isolated_turn():
        return pickle.loads(pickled)  # noqa: S301 - of ours, of our own workers, or from a file that users trust


def _pickled_and_unpickled(thing: Any) -> Any:
    """Return an object as another process would receive it, or as it is if it cannot be pickled."""
    return attempt(lambda: unpickled(_dumped(thing)), lambda _: thing)


def parallel_for(n_jobs: int | None) -> Any:
    """Return joblib's `Parallel`, which yields results as they are finished if the backend can."""
    how = {"n_jobs": n_jobs, "batch_size": 1}
    try:
        return Parallel(return_as="generator", **how)
    except ValueError:  # some backends only return all results at once
        return Parallel(**how)
