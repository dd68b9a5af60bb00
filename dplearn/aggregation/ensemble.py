"""Teachers and what may still be asked of them: the private state of an ensemble that answers queries."""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.aggregation.aggregators import Aggregator
from dplearn.aggregation.answers import Answers, QueriesExhaustedError
from dplearn.aggregation.teachers import votes_of
from dplearn.core.votes import tally

__all__ = ["Ensemble"]


@dataclass
class Ensemble:
    """What a fitted ensemble answers from; kept in a holder and nowhere else.

    Attributes
    ----------
    teachers : list
        Private. One for each shard, None where it could not be learned.
    classes : ndarray of shape (n_labels,)
        Public. The labels, sorted.
    aggregator : Aggregator
        Private. The noise, and what is left to be asked.
    asked : int
        Public. How many queries were asked.
    """

    teachers: list[Any]
    classes: NDArray[Any]
    aggregator: Aggregator
    asked: int = 0

    def answer(self, queries: Any, number: int) -> Answers:
        """Release answers to the rows of `queries`; a batch that is too large is refused before any draw.

        Parameters
        ----------
        queries : array-like of shape (number, n_features)
            Public.
        number : int
            How many there are.
        """
        left = self.aggregator.remaining_queries
        if number > left:
            raise QueriesExhaustedError(
                f"X must hold at most the {left} queries that are left, got {number}; nothing was spent."
                " remaining_queries_ and remaining_unstable_ tell what is left"
            )
        n_labels = len(self.classes)
        if not number:
            return Answers.without_counts(np.zeros(0, dtype=np.int64), n_labels)
        votes = tally(votes_of(self.teachers, queries, self.classes), n_labels)
        self.asked += number
        return self.aggregator.answer(votes)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the source of chance, which another process must have anew."""
        aggregator = copy(self.aggregator)
        return vars(self) | {"aggregator": aggregator.attach(None)}
