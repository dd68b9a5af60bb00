"""Train a teacher on each shard, and collect the teachers' answers to queries.

A teacher is a function of its own shard and its public seed alone, so one replaced record changes one
teacher, and at most its answer to each query. No error, warning or type depends on a shard. If a shard has a
single label, its teacher answers that label. If the fit fails, the teacher answers the shard's most frequent
label. An empty shard casts no vote, and neither does a teacher whose prediction fails.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone

from dplearn._writing import brief
from dplearn.estimator.base_models import Seeded, check_own_code, quiet
from dplearn.estimator.isolation import attempt, isolated, muted_output, native_threads, turn
from dplearn.learners.votes.aggregators import NO_VOTE
from dplearn.learners.votes.asked import Asked
from dplearn.learners.votes.batches import BatchedTraining, OwnTeacher, batched_training, shards_together
from dplearn.learners.votes.standard import CellColumns, apart
from dplearn.learners.votes.worker_pool import run_tasks
from dplearn.privacy.held import held_by
from dplearn.privacy.ledger import PrivacyLedger
from dplearn.privacy.one_time_state import OneTimeState
from dplearn.table import Table, plain, rows_of
from dplearn.table.rows import own_cells

BLOCK = 1 << 14  # queries in one call of a teacher
GATHERED = 1 << 20  # rows of a table in parts that are gathered at a time
_RUN = 128  # shards of private lengths in one task
_LONG = 4  # times the least length, about the mean length of such shards


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
    progress: Callable[[int], None] | None = None,
    asking: tuple[Any, Asked] | None = None,
) -> list[Any]:
    """Return a fitted estimator for each shard, or None where there is no teacher.

    `y` is None for a table in parts. `base` is the least length to which shards of private lengths are filled
    up; None: lengths are public. With `asking`, queries and what is asked, the results are the answers of the
    teachers, each of which is dropped in the process that trained it.

    Notes
    -----
    **Assumes.** The fit and the predictions of the estimator depend only on its parameters, its rows and the
    seeded global generators of numpy and of the standard library: state that it keeps between fits would make
    one teacher depend on another shard.
    """
    check_own_code("estimator", estimator)  # both raise before any shard is read
    check_copies(estimator)
    columns, teacher = apart(estimator)
    base_estimators = Seeded(quiet(teacher))
    if len(seeds) != len(shards):
        raise ValueError(f"seeds must be as many as shards, {len(shards)}, got {len(seeds)}")
    length = base or max(map(len, shards), default=0)
    results: list[Any] = []
    for table, labels, own in _in_memory(X, y, shards, base):
        like = _read(columns, rows_of(table, np.arange(0)))
        training = batched_training(base_estimators.pattern, like, classes)
        together = 1 if training is None else shards_together(length, like.shape[1])
        training = training if together > 1 else None
        starts = range(0, len(own), together)
        sizes = iter([min(together, len(own) - start) for start in starts])
        given = run_tasks(
            partial(_taught, base_estimators, sklearn.get_config(), training, length, columns, asking),
            partial(_task, table, labels, own, seeds, len(results), together),
            len(starts),
            n_jobs=n_jobs,
            progress=progress and (lambda sizes=sizes: progress(next(sizes))),
        )
        results += chain.from_iterable(given)
    return results


def train_and_ask(
    estimator: Any,
    X: Any,
    y: NDArray[Any] | None,
    shards: Sequence[NDArray[np.int64]],
    *,
    queries: Any,
    asked: Asked,
    **how: Any,
) -> NDArray[Any]:
    """Return the answers of the teachers of `train_teachers`, as `answers_of` does."""
    asking = _read(apart(estimator)[0], queries), asked
    return np.stack(train_teachers(estimator, X, y, shards, classes=asked.classes, asking=asking, **how))


def answers_of(
    teachers: Sequence[Any], queries: Any, asked: Asked, columns: CellColumns | None = None
) -> NDArray[Any]:
    """Return each teacher's answer to each query, of shape (k, m * asked.width); `NO_VOTE` where there is
    none.
    """
    queries = _read(columns, queries)
    # The number of threads could change how sums of floats are rounded, as in training.
    with muted_output(), isolated(), native_threads(None):
        return np.stack([_answers(teacher, i, queries, asked) for i, teacher in enumerate(teachers)])


def _read(columns: CellColumns | None, queries: Any) -> Any:
    """Return queries as teachers read them."""
    return plain(queries) if columns is None else columns.transform(queries)


class LabelShares(OwnTeacher):
    """A teacher with the same answer to every row: the shares of the labels in its shard.

    Without it, a shard that lacks a rare label would cast no vote, although it is evidence that the label is
    rare. Its `classes_`, the labels of the shard, are private, like every attribute of a teacher.
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


def _taught(
    base_estimators: Seeded,
    config: Any,  # of scikit-learn: every process uses the caller's
    training: BatchedTraining | None,
    base: int,  # the least length to which shards are filled up
    columns: CellColumns | None,  # how each row is read by itself, before the teachers' own steps
    asking: tuple[Any, Asked] | None,
    task: tuple[int, Any, NDArray[Any], NDArray[Any], list[int]],
) -> list[Any]:
    """Return the teachers of some shards, or their answers; runs in the worker pool."""
    first, table, codes, ends, seeds = task
    table = table if columns is None else columns.transform(table)
    rows, labels = [table], [codes]
    if len(ends) > 1:  # copies: how numbers are rounded may depend on their place in memory
        rows, labels = ([given[i:j].copy() for i, j in pairwise((0, *ends))] for given in (table, codes))
    with sklearn.config_context(**config), isolated():
        teachers: list[Any] = [None] * len(rows)
        if training is not None:
            teachers = list(training.teachers(rows, labels, base))
        for i, (own, known, seed) in enumerate(zip(rows, labels, seeds, strict=True)):
            if teachers[i] is None:
                teachers[i] = fitted_teacher(base_estimators, own, known, seed)
        if asking is None:
            return teachers
        return [_answers(teacher, i, *asking) for i, teacher in enumerate(teachers, first)]


def check_copies(estimator: Any) -> None:
    """Refuse an estimator that cannot be cloned, or that holds what teachers would charge or query."""
    if clone(estimator) is clone(estimator) and type(estimator).__name__ != "FrozenEstimator":
        raise ValueError(f"estimator must be one that sklearn.base.clone copies, got {brief(estimator)}")
    held = list(held_by(clone(estimator)))  # as for each teacher
    if any(isinstance(each, OneTimeState) for each in held):
        raise ValueError(
            f"estimator must hold no fitted ensemble, which teachers would query; got {brief(estimator)}"
        )
    if any(isinstance(each, PrivacyLedger) for each in held):
        raise ValueError(
            "estimator must have no ledger, and no estimator inside it either, since the number of charges"
            f" would depend on the data: give the ledger to the ensemble; got {brief(estimator)}"
        )


def _task(
    table: Any,
    labels: NDArray[Any],
    shards: Sequence[NDArray[np.int64]],
    seeds: Sequence[int],
    before: int,
    together: int,
    i: int,
) -> tuple[int, Any, NDArray[Any], NDArray[Any], list[int]]:
    """Return the task of a run of shards, and the number of the first of them among all."""
    run = shards[i * together : (i + 1) * together]
    first, places, ends = before + i * together, np.concatenate(run), np.cumsum([len(each) for each in run])
    own = list(map(int, seeds[first : first + len(run)]))
    return first, rows_of(table, places), labels[places], ends, own


def _in_memory(
    X: Any, y: NDArray[Any] | None, shards: Sequence[NDArray[np.int64]], base: int | None
) -> Iterator[tuple[Any, NDArray[Any], Sequence[NDArray[np.int64]]]]:
    """Yield a table in memory, its labels, and the shards among its rows; in the order of the shards."""
    if not isinstance(X, Table):
        yield X, np.asarray(y), shards
        return
    batch_of = np.cumsum([len(shard) for shard in shards]) // GATHERED
    if base is not None:  # a public number of shards
        batch_of = np.arange(len(shards)) // (_RUN * max(1, GATHERED // (_RUN * _LONG * base)))
    for batch in np.unique(batch_of):
        own = [shards[each] for each in np.flatnonzero(batch_of == batch).tolist()]
        ends = np.cumsum([len(shard) for shard in own])
        rows = X.take(np.concatenate(own))
        yield rows.X, np.asarray(rows.y), np.split(np.arange(ends[-1]), ends[:-1])


def fitted_teacher(base_estimators: Seeded, rows: Any, labels: NDArray[Any], seed: int) -> Any:
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


def _answers(teacher: Any, place: int, queries: Any, asked: Asked) -> NDArray[Any]:
    """Return one teacher's answers, block by block; its index and the block seed its draws."""
    answers = np.full(queries.shape[0] * asked.width, NO_VOTE, dtype=asked.dtype)
    if teacher is None:
        return answers
    by_row = answers.reshape(-1, asked.width)
    for start in range(0, len(by_row), BLOCK):
        block = np.arange(start, min(start + BLOCK, len(by_row)))
        # An exception depends on the teacher, and so does the shape of its answers.
        given = attempt(partial(_asked, teacher, place + start, queries, block, asked), lambda _: None)
        by_row[block] = given if np.shape(given) == (block.size, asked.width) else NO_VOTE
    return answers


def _asked(teacher: Any, seed: int, queries: Any, block: NDArray[np.int64], asked: Asked) -> Any:
    """Return a teacher's answers to a copy of some rows: a teacher that changes its rows changes the copy."""
    rows = rows_of(queries, block)
    if isinstance(teacher, OwnTeacher):
        return asked.answers(teacher, rows)
    with turn(seed):
        return asked.answers(teacher, own_cells(rows))
