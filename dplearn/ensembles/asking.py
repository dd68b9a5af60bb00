"""Queries to teachers, for labels or for scores, both encoded as integers; and released answers.

Every answer of a teacher is encoded as one of a few integers, and an invalid one as `NO_VOTE`. So one changed
teacher changes the votes by its own integers only.

>>> from sklearn.dummy import DummyClassifier
>>> teacher = DummyClassifier(strategy="prior").fit([[0]] * 4, ["no", "no", "no", "yes"])
>>> classes = np.array(["no", "yes"])
>>> Labels(classes).answers(teacher, np.zeros((2, 1))).tolist()
[[0], [0]]
>>> Scores(classes).answers(teacher, np.zeros((2, 1))).tolist()  # of the second label, of 4096
[[1024], [1024]]
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn.kernels.soft_votes import FIXED_POINT_ONE, fixed_point, scores_per_row

#: The vote of a teacher that could not be trained, or whose answer is invalid.
NO_VOTE = -1

_NUMBERS, _TEXT = "biuf", "U"


@dataclass(frozen=True)
class Asked(ABC):
    """The kind of answer that each teacher gives to each query."""

    classes: NDArray[Any]

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of integers per row."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The smallest type that holds NO_VOTE and every answer."""

    @abstractmethod
    def answers(self, teacher: Any, rows: Any) -> NDArray[Any]:
        """Return a teacher's answers, of shape (n_rows, width); may raise any exception."""

    def nothing(self, k: int, m: int) -> NDArray[Any]:
        """Return NO_VOTE for each of k teachers and m rows, of shape (k, m * width)."""
        return np.full((k, m * self.width), NO_VOTE, dtype=self.dtype)


@dataclass(frozen=True)
class Labels(Asked):
    """Asks for the label of each row, encoded as its index among the classes."""

    @property
    def width(self) -> int:
        """One label per row."""
        return 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest type that holds NO_VOTE and every index of a class."""
        return np.min_scalar_type(-max(len(self.classes), 1))

    def answers(self, teacher: Any, rows: Any) -> NDArray[Any]:
        """Return the index of each predicted label, NO_VOTE for any other value."""
        n_rows = rows.shape[0]  # before the teacher may change them
        predicted = np.asarray(teacher.predict(rows))
        if predicted.shape != (n_rows,):
            return np.full((n_rows, 1), NO_VOTE)
        return places_of(predicted, self.classes)[:, None]


@dataclass(frozen=True)
class Scores(Asked):
    """Asks for the probability of each label, as a fixed-point score (see `kernels.soft_votes`).

    With two labels, only the score of the second is used. With more, the fixed-point scores of a row add up
    to at most `FIXED_POINT_ONE`; a row that violates this is replaced with NO_VOTE. So the score vectors of
    two teachers, in units of `FIXED_POINT_ONE`, have a Euclidean distance of at most the square root of 2.
    """

    @property
    def width(self) -> int:
        """Number of scores per row: one for two labels, else one per label."""
        return scores_per_row(len(self.classes))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of fixed-point scores."""
        return np.dtype(np.int16)

    def answers(self, teacher: Any, rows: Any) -> NDArray[Any]:
        """Return a teacher's score of each label; 0 for a label that does not occur in its shard."""
        n_rows = rows.shape[0]  # before the teacher may change them
        known = np.asarray(teacher.classes_)
        likely = np.asarray(teacher.predict_proba(rows), dtype=np.float64)
        if likely.shape != (n_rows, known.size):
            return np.full((n_rows, self.width), NO_VOTE)
        places = places_of(known, self.classes)
        scores = np.zeros((n_rows, len(self.classes)))
        scores[:, places[places >= 0]] = likely[:, places >= 0]
        return self.encoded(scores)

    def encoded(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return probabilities of labels as fixed-point scores."""
        fixed_scores = fixed_point(scores[..., -self.width :])
        wrong = (fixed_scores < 0).any(axis=-1) | (fixed_scores.sum(axis=-1) > FIXED_POINT_ONE)
        return np.where(wrong[..., None], NO_VOTE, fixed_scores)


def places_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the index of each label among the classes, NO_VOTE for any other value."""
    kinds = labels.dtype.kind, classes.dtype.kind
    if all(kind in _NUMBERS for kind in kinds) or all(kind in _TEXT for kind in kinds):
        nearest = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
        return np.where(classes[nearest] == labels, nearest, NO_VOTE)
    place = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([_place(place, label) for label in labels.tolist()], dtype=np.int64)


def _place(place: dict[Any, int], label: Any) -> int:
    try:
        return place.get(label, NO_VOTE)
    except TypeError:  # a value without a hash is no label
        return NO_VOTE


@dataclass(frozen=True)
class Answers:
    """Released answers to queries, in order.

    Codes are indices of the sorted labels, -1 for an abstention. Counts are noisy counts of votes, of shape
    (answered, n_labels); if none are released, 1 for the answer and 0 for other labels.
    """

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def without_counts(cls, codes: NDArray[np.int64], n_labels: int) -> Self:
        """Return answers without noisy counts."""
        return cls(codes, (codes[:, None] == np.arange(n_labels)).astype(np.int64))


class QueriesExhaustedError(RuntimeError):
    """Raised when an ensemble's budget does not cover the queries of a batch.

    Attributes
    ----------
    released : ndarray of shape (answered,)
        Released. The answers to the first queries of the batch; empty if the whole batch was refused.
    """

    def __init__(self, message: str, released: Any = ()):
        super().__init__(message)
        self.released = np.asarray(released)

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.released)
