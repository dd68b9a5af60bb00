"""Train a teacher on each shard, and let the teachers answer.

A teacher is a function of its own shard, of its public seed and of nothing else, so one replaced record
changes one teacher, and at most its answer to each query. No error, no warning and no type tells what a shard
held: a shard with a single label teaches that label, a shard on which the fit fails teaches its most frequent
label, and an empty shard, or a teacher whose prediction fails, casts no vote.

>>> import numpy as np
>>> from sklearn.linear_model import LogisticRegression
>>> X, y = np.arange(12.0)[:, None], np.repeat(["no", "yes"], 6)
>>> shards = [np.array([0, 1, 6, 7]), np.array([2, 3, 8, 9]), np.array([4, 5]), np.array([], dtype=int)]
>>> teachers = train_teachers(LogisticRegression(), X, y, shards, seeds=[1, 2, 3, 4])
>>> answers_of(teachers, np.array([[-5.0], [20.0]]), Labels(np.array(["no", "yes"]))).tolist()
[[0, 1], [0, 1], [0, 0], [-1, -1]]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from dplearn.aggregation.asking import NO_VOTE, Asked, Labels  # noqa: F401 - the doctest's
from dplearn.aggregation.crew import carried_out
from dplearn.aggregation.pupils import Seeded, check_teachable, quiet
from dplearn.aggregation.rows import own_cells, plain, rows_of, sliceable
from dplearn.aggregation.seclusion import attempt, secluded, turn
from dplearn.aggregation.silence import silence

__all__ = ["LabelShares", "answers_of", "check_teachable", "train_and_ask", "train_teachers"]

_BLOCK = 1 << 14  # queries that a teacher is asked at once


def train_teachers(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    shards: Sequence[NDArray[np.int64]],
    *,
    seeds: Sequence[int],
    n_jobs: int | None = None,
    progress: Callable[[], None] | None = None,
) -> list[Any]:
    """Return a fitted estimator for each shard, or None where there is no teacher.

    Parameters
    ----------
    estimator : classifier
        Is cloned for each shard, with every `verbose` off, and works in one thread of Python's. What a fit
        and its predictions come to must depend on nothing but the estimator's parameters, the rows it is
        given and the generators of numpy and of the standard library, which are seeded for it: one that
        keeps notes between fits lets teachers learn from each other. What it logs, or prints without
        Python, is not silenced.
    X : ndarray, sparse matrix, pandas or polars data frame of shape (n, d)
        Private. Its type, and those of its columns, are public. An array of objects is read shard by shard.
    y : ndarray of shape (n,)
        Private labels; their type is public.
    shards : sequence of k ndarray of int
        Disjoint places.
    seeds : sequence of k int
        Public; they settle every `random_state` that is None, and where numpy's and the standard library's
        global generators begin.
    n_jobs : int or None
        joblib's. Processes are used where they are clearly faster, and wherever a joblib context asks for
        them; never threads (see `carried_out`). Results are the same, unless pickling changes an estimator.
    progress : callable, optional
        Called once for each shard that is done; when it is called depends on the data.

    Returns
    -------
    list of k classifier, LabelShares or None
        `LabelShares` for a shard that holds a single label, or on which fitting fails; None for an empty one.

    Raises
    ------
    RuntimeError
        If worker processes die, and die again.
    TypeError, ValueError
        If the estimator cannot be cloned, or has a ledger (see `check_teachable`).
    """
    return _taught(_Lesson(_pupils(estimator)), X, y, shards, seeds, n_jobs=n_jobs, progress=progress)


def train_and_ask(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    shards: Sequence[NDArray[np.int64]],
    *,
    queries: Any,
    asked: Asked,
    seeds: Sequence[int],
    n_jobs: int | None = None,
    progress: Callable[[], None] | None = None,
) -> NDArray[Any]:
    """Return the answers of teachers that nobody keeps: no model leaves the process that trained it.

    Parameters
    ----------
    queries : table of shape (m, d)
        Public. For the other parameters see `train_teachers` and `answers_of`.

    Returns
    -------
    ndarray of int of shape (k, m * asked.width)
        As from `answers_of`.
    """
    lesson = _Lesson(_pupils(estimator), plain(sliceable(queries)), asked)
    answers = asked.nothing(len(shards), queries.shape[0])
    given = _taught(lesson, X, y, shards, seeds, n_jobs=n_jobs, progress=progress)
    for row, one in zip(answers, given, strict=True):
        row[:] = one
    return answers


def answers_of(teachers: Sequence[Any], queries: Any, asked: Asked) -> NDArray[Any]:
    """Return how each teacher answers each query.

    Parameters
    ----------
    teachers : sequence of k classifier, LabelShares or None
        From `train_teachers`.
    queries : ndarray, sparse matrix, pandas or polars data frame of shape (m, d)
        Public.
    asked : Asked
        What they are asked.

    Returns
    -------
    ndarray of int of shape (k, m * asked.width)
        `NO_VOTE` where there is no teacher, where asking fails, and where an answer is none.
    """
    queries = plain(sliceable(queries))
    answers = asked.nothing(len(teachers), queries.shape[0])
    with silence(), secluded():
        for place, teacher in enumerate(teachers):
            answers[place] = _answers(teacher, place, queries, asked)
    return answers


class LabelShares:
    """A teacher that answers every row alike, with the shares of the labels in its shard.

    It is a function of its own shard, as any other teacher is. Without it the shards that lack a rare label
    would cast no vote, although they are evidence that the label is rare, and only the shards that hold it
    would be heard. Its `classes_`, the sorted labels of the shard, are private, as all of a teacher is.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Private. The labels of the shard; at least one.
    """

    def __init__(self, labels: NDArray[Any]):
        self.classes_, counts = np.unique(labels, return_counts=True)
        self._shares = counts / labels.size

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most frequent label for each row, of several the first.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Only its length is looked at.
        """
        return np.repeat(self.classes_[[self._shares.argmax()]], X.shape[0])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the labels for each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Only its length is looked at.
        """
        return np.tile(self._shares, (X.shape[0], 1))


@dataclass(frozen=True)
class _Lesson:
    """What is done with a shard: a teacher is trained and, if there are queries, votes and is forgotten."""

    pupils: Seeded
    queries: Any = None
    asked: Asked | None = None
    config: Any = None

    def __call__(self, parcel: tuple[int, Any, NDArray[Any], int]) -> Any:
        place, *shard = parcel
        # The same in every process: the settings of the one that asked.
        with sklearn.config_context(**self.config), secluded():
            teacher = _trained(self.pupils, *shard)
            return teacher if self.asked is None else _answers(teacher, place, self.queries, self.asked)


def _pupils(estimator: Any) -> Seeded:
    check_teachable(estimator)  # an error now, and on no shard
    return Seeded(quiet(estimator))


def _taught(
    lesson: _Lesson,
    X: Any,
    y: NDArray[Any],
    shards: Sequence[NDArray[np.int64]],
    seeds: Sequence[int],
    **how: Any,
) -> list[Any]:
    """Return what the lesson gives for each shard."""
    if len(seeds) != len(shards):
        raise ValueError(f"seeds must be as many as shards, {len(shards)}, got {len(seeds)}")
    table, labels = sliceable(X), np.asarray(y)
    lesson = replace(lesson, config=sklearn.get_config())

    def parcel(i: int) -> tuple[int, Any, NDArray[Any], int]:
        return i, rows_of(table, shards[i]), labels[shards[i]], seeds[i]

    return carried_out(lesson, parcel, len(shards), here=secluded, **how)


def _trained(pupils: Seeded, rows: Any, labels: NDArray[Any], seed: int) -> Any:
    """Return a teacher, or None for an empty shard."""

    def train() -> Any:
        if (labels == labels[0]).all():
            return LabelShares(labels)
        with turn(seed):
            teacher = pupils.clone(seed)
            teacher.fit(plain(own_cells(rows)), own_cells(labels.copy()))
        return teacher

    # Whatever is raised depends on the shard, and so does what stands in.
    return attempt(train, lambda _: LabelShares(labels)) if labels.size else None


def _answers(teacher: Any, place: int, queries: Any, asked: Asked) -> NDArray[Any]:
    """Return one teacher's answers, asked in blocks; what it draws is settled by its place."""
    answers: NDArray[Any] = asked.nothing(1, queries.shape[0])[0]
    if teacher is None:
        return answers
    by_row = answers.reshape(-1, asked.width)
    for start in range(0, len(by_row), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(by_row)))
        # Whatever is raised, and wherever, depends on the teacher; so does the shape of what it says.
        said = attempt(partial(_asked, teacher, place + start, queries, block, asked), lambda _: None)
        by_row[block] = said if np.shape(said) == (block.size, asked.width) else NO_VOTE
    return answers


def _asked(teacher: Any, seed: int, queries: Any, block: NDArray[np.int64], asked: Asked) -> Any:
    """Return what a teacher says of rows that are its own: one that changes them changes nobody else's."""
    with turn(seed):
        return asked.answers(teacher, own_cells(rows_of(queries, block)))
