"""What teachers are asked, labels or scores: the one thing in which hard votes and soft labels differ.

Every answer of a teacher is encoded as one of a few integers, and an invalid one as `NO_VOTE`. So one changed
teacher changes the votes by its own integers only.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn.kernels import FIXED_POINT_ONE, scores_per_row
from dplearn.kernels.votes import SoftVotes, Votes, fixed_point, soft_tally, tally
from dplearn.learners.votes.aggregators import AGGREGATIONS, NO_VOTE, SOFT_AGGREGATIONS, Answers
from dplearn.learners.votes.standard import standard_estimator, standard_scorer, standard_teacher
from dplearn.learners.votes.student import fit_weighted, standard_soft_student, teach, teach_scores
from dplearn.table.targets import places_of


@dataclass(frozen=True)
class Labels:
    """Asks for the label of each row, encoded as its index among the classes."""

    classes: NDArray[Any]
    aggregations: ClassVar = AGGREGATIONS
    width: ClassVar = 1  # integers per row

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest type that holds NO_VOTE and every index."""
        return np.min_scalar_type(-max(len(self.classes), 1))

    def answers(self, teacher: Any, rows: Any) -> NDArray[Any]:
        """Return the index of each label that a teacher predicts, NO_VOTE for any other value."""
        n_rows = rows.shape[0]  # before the teacher may change them
        predicted = np.asarray(teacher.predict(rows))
        if predicted.shape != (n_rows,):
            return np.full((n_rows, 1), NO_VOTE)
        return places_of(self.classes, predicted)[:, None]

    def counted(self, votes: NDArray[Any], n_bins: int) -> Votes:  # noqa: ARG002
        return tally(votes, len(self.classes))

    @property
    def no_answers(self) -> Answers:
        return Answers.without_counts(np.zeros(0, dtype=np.int64), len(self.classes))

    standard_teacher = staticmethod(standard_teacher)

    @staticmethod
    def standard_student(X: Any) -> Any:
        """Return the default student, unfitted, for tables like X."""
        return standard_estimator(X, C=0.1)

    @staticmethod
    def tried(estimator: Any, X: Any, y: NDArray[Any]) -> Any:
        """Return a teacher fitted to public rows; raise the error that it would raise on private ones."""
        return estimator.fit(X, y)

    def student_tried(self, student: Any, X: Any, y: NDArray[Any]) -> Any:
        return fit_weighted(student, X, y, np.linspace(0.5, 1.5, len(y)))

    def taught(self, student: Any, X: Any, answers: Answers) -> Any:
        return teach(student, X, answers, self.classes)

    @staticmethod
    def n_answered(answers: Answers) -> int:
        return int((answers.codes >= 0).sum())


@dataclass(frozen=True)
class Scores:
    """Asks for the probability of each label, as a fixed-point score; of two labels, only of the second.

    The scores of a row add up to at most `FIXED_POINT_ONE`, else the row is replaced with NO_VOTE. So the
    vectors of two teachers, in that unit, have a Euclidean distance of at most the square root of 2.
    """

    classes: NDArray[Any]
    aggregations: ClassVar = SOFT_AGGREGATIONS
    dtype: ClassVar = np.dtype(np.int16)

    @property
    def width(self) -> int:
        return scores_per_row(len(self.classes))

    def answers(self, teacher: Any, rows: Any) -> NDArray[Any]:
        """Return a teacher's score of each label; 0 for a label that does not occur in its shard."""
        n_rows = rows.shape[0]  # before the teacher may change them
        known = np.asarray(teacher.classes_)
        likely = np.asarray(teacher.predict_proba(rows), dtype=np.float64)
        if likely.shape != (n_rows, *known.shape):
            return np.full((n_rows, self.width), NO_VOTE)
        places = places_of(self.classes, known)
        scores = np.zeros((n_rows, len(self.classes)))
        scores[:, places[places >= 0]] = likely[:, places >= 0]
        return self.encoded(scores)

    def encoded(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return probabilities of labels as fixed-point scores."""
        fixed_scores = fixed_point(scores[..., -self.width :])
        wrong = (fixed_scores < 0).any(axis=-1) | (fixed_scores.sum(axis=-1) > FIXED_POINT_ONE)
        return np.where(wrong[..., None], NO_VOTE, fixed_scores)

    def counted(self, votes: NDArray[Any], n_bins: int) -> SoftVotes:
        return soft_tally(votes, n_bins, self.width)

    @property
    def no_answers(self) -> NDArray[np.float64]:
        return np.zeros((0, self.width))

    standard_teacher = staticmethod(standard_scorer)
    standard_student = staticmethod(standard_soft_student)

    @staticmethod
    def tried(estimator: Any, X: Any, y: NDArray[Any]) -> Any:
        """Return an estimator fitted to public rows; raise if its probabilities are malformed."""
        fitted = estimator.fit(X, y)
        classes = np.unique(y)
        answers = Scores(classes).answers(fitted, X) if len(classes) > 1 else np.zeros(1)
        if (answers == NO_VOTE).any():
            raise ValueError("predict_proba must return a probability for each label, with sum 1")
        return fitted

    def student_tried(self, student: Any, X: Any, y: NDArray[Any]) -> Any:
        likely = np.where(y[:, None] == self.classes, 0.9, 0.1)
        return teach_scores(student, X, likely[:, -self.width :], self.classes)

    def taught(self, student: Any, X: Any, answers: NDArray[np.float64]) -> Any:
        return teach_scores(student, X, answers, self.classes)

    @staticmethod
    def n_answered(answers: NDArray[np.float64]) -> int:
        """Return how many rows have all their scores."""
        return int((~np.isnan(answers).any(axis=1)).sum())


Asked = Labels | Scores
