"""What teachers are asked, and how their answers become integers.

Whatever a teacher answers, it is one of a few integers, and `NO_VOTE` where it cannot be read: what is
counted later moves by one teacher's integers and by nothing else.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.score_bins import FIXED_POINT_ONE, fixed_point, scores_per_row

__all__ = ["NO_VOTE", "Asked", "Labels", "Scores"]

#: What a teacher votes that could not be trained, or does not answer what it is asked.
NO_VOTE = -1

_NUMBERS, _TEXT = "biuf", "U"


@dataclass(frozen=True)
class Asked(ABC):
    """A question that all teachers are asked about each row.

    Attributes
    ----------
    classes : ndarray of shape (n_labels,)
        Public. The labels, sorted.
    """

    classes: NDArray[Any]

    @property
    @abstractmethod
    def width(self) -> int:
        """How many integers answer for a row."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The smallest type that holds NO_VOTE and every answer."""

    @abstractmethod
    def answers(self, teacher: Any, rows: Any) -> NDArray[Any]:
        """Return what a teacher answers, of shape (n_rows, width); may raise anything."""

    def nothing(self, k: int, m: int) -> NDArray[Any]:
        """Return the answers of k teachers, about m rows, who have none."""
        return np.full((k, m * self.width), NO_VOTE, dtype=self.dtype)


@dataclass(frozen=True)
class Labels(Asked):
    """Which label does the row have? Answered with its place among the classes."""

    @property
    def width(self) -> int:
        """One label a row."""
        return 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest type that holds NO_VOTE and every place among the classes."""
        return np.min_scalar_type(-max(len(self.classes), 1))

    def answers(self, teacher: Any, rows: Any) -> NDArray[Any]:
        """Return the place of each predicted label, NO_VOTE for what is none of them.

        Parameters
        ----------
        teacher : classifier
            Has `predict`.
        rows : table of shape (n_rows, n_features)
            Its own to change.
        """
        n_rows = rows.shape[0]  # before they are the teacher's to change
        predicted = np.asarray(teacher.predict(rows))
        if predicted.shape != (n_rows,):
            return np.full((n_rows, 1), NO_VOTE)
        return _places(predicted, self.classes)[:, None]


@dataclass(frozen=True)
class Scores(Asked):
    """Asks for the probability of each label, in fixed point (see `core.score_bins`).

    With two labels only the second is asked for. Of more, a row's fixed-point scores add up to at most
    `FIXED_POINT_ONE`, or none of them counts: so two teachers' differ by at most the square root of 2 in
    Euclidean length.
    """

    @property
    def width(self) -> int:
        """One score for two labels, else one for each."""
        return scores_per_row(len(self.classes))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of scores in fixed point."""
        return np.dtype(np.int16)

    def answers(self, teacher: Any, rows: Any) -> NDArray[Any]:
        """Return how likely a teacher finds each label; 0 for one that its shard did not hold.

        Parameters
        ----------
        teacher : classifier
            Has `predict_proba` and `classes_`.
        rows : table of shape (n_rows, n_features)
            Its own to change.
        """
        n_rows = rows.shape[0]  # before they are the teacher's to change
        known = np.asarray(teacher.classes_)
        likely = np.asarray(teacher.predict_proba(rows), dtype=np.float64)
        if likely.shape != (n_rows, known.size):
            return np.full((n_rows, self.width), NO_VOTE)
        places = _places(known, self.classes)
        scores = np.zeros((n_rows, len(self.classes)))
        scores[:, places[places >= 0]] = likely[:, places >= 0]
        fixed_scores = fixed_point(scores[:, -self.width :])
        wrong = (fixed_scores < 0).any(axis=1) | (fixed_scores.sum(axis=1) > FIXED_POINT_ONE)
        return np.where(wrong[:, None], NO_VOTE, fixed_scores)


def _places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each label among the classes, NO_VOTE for what is none of them."""
    kinds = labels.dtype.kind, classes.dtype.kind
    if all(kind in _NUMBERS for kind in kinds) or all(kind in _TEXT for kind in kinds):
        nearest = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
        return np.where(classes[nearest] == labels, nearest, NO_VOTE)
    place = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([_place(place, label) for label in labels.tolist()], dtype=np.int64)


def _place(place: dict[Any, int], label: Any) -> int:
    try:
        return place.get(label, NO_VOTE)
    except TypeError:  # what cannot be hashed is no label
        return NO_VOTE
