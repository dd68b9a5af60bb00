"""Teachers and what may still be asked of them: the private state of an ensemble that answers queries."""

import pickle
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dplearn.aggregation.aggregators import Aggregator
from dplearn.aggregation.answers import Answers, QueriesExhaustedError
from dplearn.aggregation.seclusion import attempt
from dplearn.aggregation.teachers import votes_of
from dplearn.core.votes import tally

__all__ = ["Ensemble"]


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

    def answer(self, queries: Any) -> Answers:
        """Release answers to the rows of `queries`; a batch that is too large is refused before any draw.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Public; nobody else's to change.
        """
        classes = self.published["classes_"]
        left, number = self.aggregator.remaining_queries, queries.shape[0]
        if number > left:
            raise QueriesExhaustedError(
                f"X must hold at most the {left} queries that are left, got {number}; nothing was spent."
                + (" This model has answered all it may" if not left else " remaining_queries_ tells them")
            )
        if not number:
            return Answers.without_counts(np.zeros(0, dtype=np.int64), len(classes))
        votes = tally(votes_of(self.teachers, queries, classes), len(classes))
        self.asked += len(votes.winner)
        return self.aggregator.answer(votes)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the source of chance, which another process must have anew.

        A teacher that cannot travel casts no vote there: an error would tell of its shard.
        """
        aggregator = copy(self.aggregator)
        teachers = [attempt(partial(pickle.dumps, each), lambda _: b"") for each in self.teachers]
        return vars(self) | {"aggregator": aggregator.attach(None), "teachers": teachers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Bytes that are no pickle stand for a teacher that could not travel.
        teachers = [attempt(partial(pickle.loads, each), lambda _: None) for each in state["teachers"]]
        self.__dict__.update(state, teachers=teachers)
