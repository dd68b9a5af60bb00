"""The private state of an ensemble that answers queries: its teachers and its remaining budget."""

import pickle
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.ensembles.aggregators import Aggregator
from dplearn.ensembles.asking import Answers, Labels, QueriesExhaustedError, Scores
from dplearn.ensembles.isolation import attempt, isolated, isolated_turn, muted_output
from dplearn.ensembles.teachers import answers_of
from dplearn.kernels.soft_votes import SoftVotes, soft_tally
from dplearn.kernels.votes import tally


@dataclass(repr=False)  # a traceback could show the repr
class Ensemble:
    """The private state of a fitted ensemble, which is held only in a one-time state."""

    teachers: list[Any]  # one for each shard, or None
    aggregator: Aggregator  # holds the dice, and counts the remaining queries
    published: dict[str, Any]  # the fitted attributes of the estimator
    asked: int = 0  # queries answered so far

    def answer(self, queries: Any, *how: Any) -> Any:
        """Release answers to queries; a batch that is too large is refused before any draw.

        The queries must not change during the call. `how` are further arguments of a subclass's `_votes`.
        """
        left, number = self.aggregator.remaining_queries, queries.shape[0]
        if number > left:
            raise QueriesExhaustedError(
                f"X must hold at most the {left} queries that are left, got {number}; nothing was spent."
                + (
                    " remaining_queries_ is their number; a greater max_queries allows more, with more noise"
                    if left
                    else " This model has answered all of its queries"
                )
            )
        if not number:
            return self._no_answers()
        votes = self._votes(queries, *how)
        self.asked += len(votes)
        return self.aggregator.answer(votes)

    @property
    def _classes(self) -> NDArray[Any]:
        classes: NDArray[Any] = self.published["classes_"]
        return classes

    def _votes(self, queries: Any) -> Any:
        """Return the counted votes of the teachers on queries."""
        return tally(answers_of(self.teachers, queries, Labels(self._classes)), len(self._classes))

    def _no_answers(self) -> Any:
        return Answers.without_counts(np.zeros(0, dtype=np.int64), len(self._classes))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the dice, since another process needs its own.

        A teacher that cannot be pickled casts no vote after unpickling: an error would depend on its shard.
        """
        aggregator = copy(self.aggregator)
        with muted_output(), isolated():
            teachers = [attempt(partial(_packed, each), lambda _: b"") for each in self.teachers]
        return vars(self) | {"aggregator": aggregator.attach(None), "teachers": teachers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Empty bytes stand for a teacher that could not be pickled.
        with muted_output(), isolated():
            teachers = [attempt(partial(_unpacked, each), lambda _: None) for each in state["teachers"]]
        self.__dict__.update(state, teachers=teachers)


def _packed(teacher: Any) -> bytes:
    with isolated_turn():
        return pickle.dumps(teacher)


def _unpacked(packed: bytes) -> Any:
    with isolated_turn():
        return pickle.loads(packed)  # noqa: S301 - a teacher, from a file that the user trusts


class SoftEnsemble(Ensemble):
    """The private state of a fitted ensemble whose teachers answer with scores."""

    def _votes(self, queries: Any, n_bins: NDArray[np.int64]) -> SoftVotes:  # type: ignore[override]
        asked = Scores(self._classes)
        return soft_tally(answers_of(self.teachers, queries, asked), n_bins, asked.width)

    def _no_answers(self) -> NDArray[np.float64]:
        return np.zeros((0, Scores(self._classes).width))
