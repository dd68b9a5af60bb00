"""Train a teacher on each shard, and collect the teachers' answers to queries.

A teacher is a function of its own shard and its public seed alone, so one replaced record changes one
teacher, and at most its answer to each query. No error, warning or type depends on a shard. If a shard has a
single label, its teacher answers that label. If the fit fails, the teacher answers the shard's most frequent
label. An empty shard casts no vote, and neither does a teacher whose prediction fails.

Teachers of the commonest classes are trained and asked in batches, as array programs (see
`batched_teachers`). Neither changes a vote, except by rounding and by the tolerance of a descent.

>>> import numpy as np
>>> from sklearn.linear_model import LogisticRegression
>>> X, y = np.arange(12.0)[:, None], np.repeat(["no", "yes"], 6)
>>> shards = [np.array([0, 1, 6, 7]), np.array([2, 3, 8, 9]), np.array([4, 5]), np.array([], dtype=int)]
>>> teachers = train_teachers(LogisticRegression(), X, y, shards, seeds=[1, 2, 3, 4])
>>> answers_of(teachers, np.array([[-5.0], [20.0]]), Labels(np.array(["no", "yes"]))).tolist()
[[0, 1], [0, 1], [0, 0], [-1, -1]]
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from dplearn.ensembles.asking import NO_VOTE, Asked, Labels  # noqa: F401 - the doctest's
from dplearn.ensembles.base_estimators import Seeded, check_teachable, quiet
from dplearn.ensembles.batched_teachers import (
    BatchedAsking,
    BatchedFits,
    BatchedTraining,
    StackedAnswers,
    batched_training,
    can_be_stacked,
)
from dplearn.ensembles.isolation import attempt, isolated, muted_output, native_threads, turn
from dplearn.ensembles.shards import blocks_of, equal_runs, is_small
from dplearn.ensembles.worker_pool import run_tasks
from dplearn.table.rows import own_cells, plain, rows_of, sliceable
from dplearn.table.table import Table

_BLOCK = 1 << 14  # queries in one call of a teacher
_GATHERED = 1 << 20  # rows of a table in parts that are gathered at a time
_RUN = 128  # shards of private lengths in one task
_LONG = 4  # times the least length, about the mean length of such shards
_STACK = 64  # teachers that are asked together


def train_teachers(
    estimator: Any,
    X: Any,
    y: NDArray[Any] | None,
    shards: Sequence[NDArray[np.int64]],
    *,
    seeds: Sequence[int],
    classes: NDArray[Any] | None = None,
    n_jobs: int | None = None,
    base: int | None = None,
    progress: Callable[[], None] | None = None,
) -> list[Any]:
    """Return a fitted estimator for each shard, or None where there is no teacher.

    `y` is None for a table in parts; its rows are gathered in one pass for each million. Without `classes`,
    teachers are trained one by one. `base` is the least length to which shards of private lengths are filled
    up. None: lengths are public, and which teachers are in one array program depends on all of them.

    Notes
    -----
    **Assumes.** The fit and the predictions of the estimator depend only on its parameters, its rows and the
    seeded global generators of numpy and of the standard library: state that it keeps between fits would make
    one teacher depend on another shard.
    """
    function = _TeacherFunction(_base_estimators(estimator))
    return _run(function, X, y, shards, seeds, classes, progress, n_jobs, base)


def train_and_ask(
    estimator: Any,
    X: Any,
    y: NDArray[Any] | None,
    shards: Sequence[NDArray[np.int64]],
    *,
    queries: Any,
    asked: Asked,
    seeds: Sequence[int],
    n_jobs: int | None = None,
    base: int | None = None,
    progress: Callable[[], None] | None = None,
) -> NDArray[Any]:
    """Return the teachers' answers as `answers_of` does; each is dropped in the process that trained it."""
    function = _TeacherFunction(_base_estimators(estimator), plain(sliceable(queries)), asked)
    answers = asked.nothing(len(shards), queries.shape[0])
    given = _run(function, X, y, shards, seeds, asked.classes, progress, n_jobs, base)
    for row, one in zip(answers, given, strict=True):
        row[:] = one
    return answers


def answers_of(teachers: Sequence[Any], queries: Any, asked: Asked) -> NDArray[Any]:
    """Return each teacher's answer to each query, of shape (k, m * asked.width).

    `NO_VOTE` if there is no teacher, if its prediction fails, and if its answer is invalid.
    """
    queries = plain(sliceable(queries))
    # The number of threads could change how sums of floats are rounded, as in training.
    with muted_output(), isolated(), native_threads(None):
        return _all_answers(teachers, 0, queries, asked)


class LabelShares:
    """A teacher with the same answer to every row: the shares of the labels in its shard.

    Like any other teacher it depends on its own shard only. Without it, a shard that lacks a rare label would
    cast no vote, although it is evidence that the label is rare; only the shards with that label would vote.
    Its `classes_`, the sorted labels of the shard, are private, like every attribute of a teacher.
    """

    def __init__(self, labels: NDArray[Any]):
        self.classes_, counts = np.unique(labels, return_counts=True)
        self._shares = counts / labels.size

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most frequent label for each row; the first of several equally frequent ones."""
        return np.repeat(self.classes_[[self._shares.argmax()]], X.shape[0])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the labels for each row."""
        return np.tile(self._shares, (X.shape[0], 1))


@dataclass(frozen=True)
class _TeacherFunction:
    """The function of the worker pool: it trains a teacher on a shard and returns it, or its answers."""

    base_estimators: Seeded
    queries: Any = None
    asked: Asked | None = None
    config: Any = None

    def __call__(self, task: tuple[int, Any, NDArray[Any], int]) -> Any:
        place, *shard = task
        # Every process uses the caller's configuration of scikit-learn.
        with sklearn.config_context(**self.config), isolated():
            teacher = _trained(self.base_estimators, *shard)
            return teacher if self.asked is None else _answers(teacher, place, self.queries, self.asked)


def _base_estimators(estimator: Any) -> Seeded:
    check_teachable(estimator)  # raises before any shard is read
    return Seeded(quiet(estimator))


@dataclass(frozen=True)
class _BatchFunction:
    """The function of the worker pool for shards with equally many rows; returns a list of results."""

    alone: _TeacherFunction
    training: BatchedTraining

    @cached_property
    def _asking(self) -> BatchedAsking:
        assert self.alone.asked is not None
        return BatchedAsking(self.alone.queries, self.alone.asked)

    def __call__(self, task: tuple[int, NDArray[Any], NDArray[Any], NDArray[Any]]) -> list[Any]:
        first, rows, labels, seeds = task
        if len(rows) == 1:
            return [self.alone((first, rows[0], labels[0], int(seeds[0])))]
        with sklearn.config_context(**self.alone.config), isolated():
            fits, places = self.training.fits(rows, labels), range(len(rows))
            return self._results(fits, places, range(first, first + len(rows)), rows, labels, seeds)

    def _results(
        self,
        fits: BatchedFits,
        places: Sequence[int],
        numbers: Sequence[int],
        rows: Any,
        labels: Any,
        seeds: Any,
    ) -> list[Any]:
        """Return the results of shards with these places among the fits, and numbers among all teachers."""

        def teacher(i: int) -> Any:
            made = fits.teacher(places[i])
            if made is not None:
                return made
            return _trained(self.alone.base_estimators, rows[i].copy(), labels[i], int(seeds[i]))

        queries, asked = self.alone.queries, self.alone.asked
        if asked is None or not can_be_stacked(queries):
            teachers = [teacher(i) for i in range(len(rows))]
            if asked is None:
                return teachers
            return [_answers(each, n, queries, asked) for each, n in zip(teachers, numbers, strict=True)]
        answers = asked.nothing(len(rows), queries.shape[0])
        stacked = self._asking.answers_of_fits(fits).at(places)
        _fill(answers, stacked, teacher, numbers, queries, asked)
        return list(answers)


@dataclass(frozen=True)
class _PaddedFunction(_BatchFunction):
    """The function of the worker pool for consecutive shards whose lengths are private."""

    base: int

    def __call__(self, task: tuple[int, Any, Any, NDArray[Any]]) -> list[Any]:
        first, rows, labels, seeds = task
        results: list[Any] = [None] * len(rows)
        blocks, others = blocks_of([len(each) for each in rows], self.base, rows[0].shape[1])
        with sklearn.config_context(**self.alone.config), isolated():
            for block in blocks:
                fits, members = self.training.fits(*block.filled(rows, labels)), block.members
                own = [[given[each] for each in members] for given in (rows, labels, seeds)]
                numbers = [first + each for each in members]
                found = self._results(fits, block.places, numbers, *own)
                for member, result in zip(members, found, strict=True):
                    results[member] = result
        for each in others:
            [results[each]] = self._by_itself((first + each, rows[each], labels[each], int(seeds[each])))
        return results

    def _by_itself(self, task: tuple[int, NDArray[Any], NDArray[Any], int]) -> list[Any]:
        """Return the result of one shard, by an array program if its own length makes this faster."""
        number, rows, labels, seed = task
        if not is_small(*rows.shape):
            return [self.alone(task)]
        with sklearn.config_context(**self.alone.config), isolated():
            fits = self.training.fits(rows[None], labels[None])
            return self._results(fits, [0], [number], [rows], [labels], [seed])


def _run(
    function: _TeacherFunction,
    X: Any,
    y: NDArray[Any] | None,
    shards: Sequence[NDArray[np.int64]],
    seeds: Sequence[int],
    classes: NDArray[Any] | None,
    progress: Callable[[], None] | None,
    n_jobs: int | None,
    base: int | None,
) -> list[Any]:
    """Return the result of the function for each shard."""
    if len(seeds) != len(shards):
        raise ValueError(f"seeds must be as many as shards, {len(shards)}, got {len(seeds)}")
    function = replace(function, config=sklearn.get_config())
    results: list[Any] = []
    for table, labels, own in _in_memory(X, y, shards, base):
        training = batched_training(function.base_estimators.pattern, table, classes, len(shards))
        how: dict[str, Any] = {"context": isolated, "n_jobs": n_jobs}
        if training is None:
            task = partial(_task, table, labels, own, seeds, len(results))
            results += run_tasks(function, task, len(own), progress=progress, **how)
            continue
        if base is None:
            batch: Callable[..., Any]
            runs = equal_runs([len(shard) for shard in own], table.shape[1])
            batch, of_runs = _batch, _BatchFunction(function, training)
        else:
            runs = [(start, min(start + _RUN, len(own))) for start in range(0, len(own), _RUN)]
            batch, of_runs = _shards_of_run, _PaddedFunction(function, training, base)
        tasks = partial(batch, table, labels, own, seeds, len(results), runs)
        told = None if progress is None else _Told(progress, runs)
        given = run_tasks(of_runs, tasks, len(runs), progress=told, **how)
        results += chain.from_iterable(given)
    return results


class _Told:
    """A callback for each finished run of shards, which reports the progress of each shard."""

    def __init__(self, progress: Callable[[], None], runs: Sequence[tuple[int, int]]):
        self._progress, self._sizes = progress, iter([end - start for start, end in runs])

    def __call__(self) -> None:
        for _ in range(next(self._sizes)):
            self._progress()


def _batch(
    table: NDArray[Any],
    labels: NDArray[Any],
    shards: Sequence[NDArray[np.int64]],
    seeds: Sequence[int],
    first: int,
    runs: Sequence[tuple[int, int]],
    i: int,
) -> tuple[int, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the task of a run of shards with equally many rows."""
    start, end = runs[i]
    places = np.stack(shards[start:end])
    rows = np.take(table, places, axis=0)  # faster than an index of two axes
    return first + start, rows, labels[places], np.array(seeds[first + start : first + end])


def _shards_of_run(
    table: NDArray[Any],
    labels: NDArray[Any],
    shards: Sequence[NDArray[np.int64]],
    seeds: Sequence[int],
    first: int,
    runs: Sequence[tuple[int, int]],
    i: int,
) -> tuple[int, list[NDArray[Any]], list[NDArray[Any]], NDArray[Any]]:
    """Return the task of a run of shards of any lengths."""
    start, end = runs[i]
    own = shards[start:end]
    rows, given = [np.take(table, each, axis=0) for each in own], [labels[each] for each in own]
    return first + start, rows, given, np.array(seeds[first + start : first + end])


def _task(
    table: Any,
    labels: NDArray[Any],
    shards: Sequence[NDArray[np.int64]],
    seeds: Sequence[int],
    first: int,
    i: int,
) -> tuple[int, Any, NDArray[Any], int]:
    """Return the task of one of some shards; its teacher has the number `first` + i among all teachers."""
    return first + i, rows_of(table, shards[i]), labels[shards[i]], seeds[first + i]


def _in_memory(
    X: Any, y: NDArray[Any] | None, shards: Sequence[NDArray[np.int64]], base: int | None
) -> Iterator[tuple[Any, NDArray[Any], Sequence[NDArray[np.int64]]]]:
    """Yield a table in memory, its labels, and the shards among its rows; in the order of the shards."""
    if not isinstance(X, Table):
        yield sliceable(X), np.asarray(y), shards
        return
    batch_of = np.cumsum([len(shard) for shard in shards]) // _GATHERED
    if base is not None:  # a public number of shards
        batch_of = np.arange(len(shards)) // (_RUN * max(1, _GATHERED // (_RUN * _LONG * base)))
    for batch in np.unique(batch_of):
        own = [shards[each] for each in np.flatnonzero(batch_of == batch).tolist()]
        ends = np.cumsum([len(shard) for shard in own])
        rows = X.take(np.concatenate(own))
        yield sliceable(rows.X), np.asarray(rows.y), np.split(np.arange(ends[-1]), ends[:-1])


def _trained(base_estimators: Seeded, rows: Any, labels: NDArray[Any], seed: int) -> Any:
    """Return a teacher, or None for an empty shard."""

    def train() -> Any:
        if (labels == labels[0]).all():
            return LabelShares(labels)
        with turn(seed):
            teacher = base_estimators.clone(seed)
            teacher.fit(plain(own_cells(rows)), own_cells(labels.copy()))
        return teacher

    # An exception depends on the shard, and so does the teacher that replaces the failed one.
    return attempt(train, lambda _: LabelShares(labels)) if labels.size else None


def _all_answers(teachers: Sequence[Any], first: int, queries: Any, asked: Asked) -> NDArray[Any]:
    """Return the answers of teachers, of which the first has the number `first` among all teachers."""
    answers = asked.nothing(len(teachers), queries.shape[0])
    batched = BatchedAsking(queries, asked) if len(teachers) > 1 and can_be_stacked(queries) else None
    for start in range(0, len(teachers), _STACK):
        stack = teachers[start : start + _STACK]
        if batched is None:
            for place, teacher in enumerate(stack, start):
                answers[place] = _answers(teacher, first + place, queries, asked)
            continue
        own = answers[start : start + _STACK]
        numbers = range(first + start, first + start + len(stack))
        _fill(own, batched.answers(stack), stack.__getitem__, numbers, queries, asked)
    return answers


def _fill(
    answers: NDArray[Any],
    stacked: StackedAnswers,
    teacher: Callable[[int], Any],
    numbers: Sequence[int],
    queries: Any,
    asked: Asked,
) -> None:
    """Write the answers of a stack into an array; a teacher is asked by itself where they are not known."""
    for i, own in enumerate(answers):
        if not stacked.known[i]:
            own[:] = _answers(teacher(i), numbers[i], queries, asked)
            continue
        own[:] = stacked.answers[i].ravel()
        rows = np.flatnonzero(stacked.doubtful[i])
        if rows.size:
            again = _answers(teacher(i), numbers[i], queries[rows], asked)
            own.reshape(-1, asked.width)[rows] = again.reshape(-1, asked.width)


def _answers(teacher: Any, place: int, queries: Any, asked: Asked) -> NDArray[Any]:
    """Return one teacher's answers, block by block; its index and the block seed its draws."""
    answers: NDArray[Any] = asked.nothing(1, queries.shape[0])[0]
    if teacher is None:
        return answers
    by_row = answers.reshape(-1, asked.width)
    for start in range(0, len(by_row), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(by_row)))
        # An exception depends on the teacher, and so does the shape of its answers.
        given = attempt(partial(_asked, teacher, place + start, queries, block, asked), lambda _: None)
        by_row[block] = given if np.shape(given) == (block.size, asked.width) else NO_VOTE
    return answers


def _asked(teacher: Any, seed: int, queries: Any, block: NDArray[np.int64], asked: Asked) -> Any:
    """Return a teacher's answers to a copy of some rows: a teacher that changes its rows changes the copy."""
    with turn(seed):
        return asked.answers(teacher, own_cells(rows_of(queries, block)))
