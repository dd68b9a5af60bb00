"""Teachers and what may still be asked of them: the private state of an ensemble that answers queries."""

import pickle
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.aggregation.aggregators import Aggregator
from dplearn.aggregation.answers import Answers, QueriesExhaustedError
from dplearn.aggregation.asking import Labels, Scores
from dplearn.aggregation.seclusion import attempt, secluded, untold
from dplearn.aggregation.silence import silence
from dplearn.aggregation.teachers import answers_of
from dplearn.core.soft_votes import SoftVotes, soft_tally
from dplearn.core.votes import tally

__all__ = ["Ensemble", "SoftEnsemble"]


@dataclass(repr=False)  # a traceback may show it
class Ensemble:
    """What a fitted ensemble answers from; kept in a holder and nowhere else.

    Attributes
    ----------
    teachers : list
        Private. One for each shard.
    aggregator : Aggregator
        Private. The noise, and what is left to be asked.
    published : dict
        Public. The fitted attributes of the estimator that it belongs to.
    asked : int
        Public. How many queries were asked.
    """

    teachers: list[Any]
    aggregator: Aggregator
    published: dict[str, Any]
    asked: int = 0

    def answer(self, queries: Any, *how: Any) -> Any:
        """Release answers to the rows of `queries`; a batch that is too large is refused before any draw.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Public; nobody else's to change.
        *how : object
            Public. What else a kind of ensemble wants to know of the queries.
        """
        left, number = self.aggregator.remaining_queries, queries.shape[0]
        if number > left:
            raise QueriesExhaustedError(
                f"X must hold at most the {left} queries that are left, got {number}; nothing was spent."
                + (
                    " remaining_queries_ tells them; max_queries=... asks for more, with more noise on each"
                    if left
                    else " This model has answered all it may"
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
        """Return what teachers say of queries, counted."""
        return tally(answers_of(self.teachers, queries, Labels(self._classes)), len(self._classes))

    def _no_answers(self) -> Any:
        return Answers.without_counts(np.zeros(0, dtype=np.int64), len(self._classes))

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the source of chance, which another process must have anew.

        A teacher that cannot travel casts no vote there: an error would tell of its shard.
        """
        aggregator = copy(self.aggregator)
        with silence(), secluded():
            teachers = [attempt(partial(_packed, each), lambda _: b"") for each in self.teachers]
        return vars(self) | {"aggregator": aggregator.attach(None), "teachers": teachers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Bytes that are no pickle stand for a teacher that could not travel.
        with silence(), secluded():
            teachers = [attempt(partial(_unpacked, each), lambda _: None) for each in state["teachers"]]
        self.__dict__.update(state, teachers=teachers)


def _packed(teacher: Any) -> bytes:
    with untold():
        return pickle.dumps(teacher)


def _unpacked(packed: bytes) -> Any:
    with untold():
        return pickle.loads(packed)  # noqa: S301 - a teacher of ours, of a file that its user trusts


class SoftEnsemble(Ensemble):
    """An ensemble whose teachers are asked for scores."""

    def _votes(self, queries: Any, n_bins: NDArray[np.int64]) -> SoftVotes:  # type: ignore[override]
        asked = Scores(self._classes)
        return soft_tally(answers_of(self.teachers, queries, asked), n_bins, asked.width)

    def _no_answers(self) -> NDArray[np.float64]:
        return np.zeros((0, Scores(self._classes).width))
