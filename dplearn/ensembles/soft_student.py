"""Train a student on released scores so that it estimates probabilities; post-processing, at no cost.

Scores may have noise of mean zero, and be below 0 or above 1. Clipped scores would bias the student's
predictions towards the middle. A regressor learns the mean of unclipped scores. A classifier that takes
weights learns each row with every label, weighted by the label's score plus a margin. The margin is the same
for all labels, and so large that few weights are negative and clipped at 0. The other weights are linear in
the scores, so noise does not bias them, and the margin is subtracted from the classifier's predictions. A
classifier that takes no weights learns the label with the greatest score of each row.

>>> import numpy as np
>>> from sklearn.linear_model import LinearRegression
>>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
>>> scores = np.array([[-0.25], [0.25], [np.nan], [1.25]])
>>> student = teach_scores(LinearRegression(), X, scores, np.array(["no", "yes"]))
>>> student.predict_proba([[1.5], [9.0]]).round(6).tolist()
[[0.5, 0.5], [0.0, 1.0]]
>>> student.predict([[1.0], [2.0]]).tolist()
['no', 'yes']
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from dplearn._writing import brief
from dplearn.core.score_bins import scores_per_row
from dplearn.ensembles.score_regression import ScoreRegression
from dplearn.ensembles.standard import standard_estimator
from dplearn.ensembles.student import fit_weighted, takes_weights
from dplearn.records.rows import plain, rows_of, sliceable

__all__ = ["SoftStudent", "standard_soft_student", "teach_scores"]

Floats = NDArray[np.float64]

#: The share of weights that are clipped when scores are noisy. Clipping none needs a margin as wide as the
#: greatest noise; a forest, whose bootstrap samples separate the labels of a row, would then learn little
#: but the margin.
_CLIPPED = 0.05


class _Scorer(Protocol):
    def scores(self, X: Any) -> Floats:
        """Return scores of shape (n, n_scores): one column for two labels, or one column a label."""


@dataclass(frozen=True, eq=False)
class SoftStudent:
    """A student fitted to released scores; its predictions cost no privacy.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Public. The labels, sorted.
    scorer : object
        Released. Returns the scores of rows.
    """

    classes_: NDArray[Any]
    scorer: _Scorer

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of all labels; costs no privacy.

        Parameters
        ----------
        X : ndarray, sparse matrix or data frame of shape (n, n_features)
            Any rows.

        Returns
        -------
        ndarray of float64 of shape (n, n_labels)
            Each row sums to 1.
        """
        scores = np.clip(self.scorer.scores(X), 0, 1)
        if scores.shape[1] == 1:
            return np.hstack([1 - scores, scores])
        scores[scores.sum(axis=1) == 0] = 1
        probabilities: Floats = scores / scores.sum(axis=1, keepdims=True)
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the greatest probability for each row, of shape (n,); costs no privacy.

        Parameters
        ----------
        X : ndarray, sparse matrix or data frame of shape (n, n_features)
            Any rows.
        """
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels


def teach_scores(student: Any, X: Any, scores: Floats, classes: NDArray[Any]) -> SoftStudent:
    """Return a student fitted to the rows with released scores.

    Parameters
    ----------
    student : classifier or regressor
        The unfitted student, which is cloned. With more than two labels, a regressor with a single output is
        cloned once per label.
    X : ndarray, sparse matrix or data frame of shape (n, n_features)
        Public rows.
    scores : ndarray of float64 of shape (answered, n_scores)
        Released scores of the first rows of X: of the second of two labels, or of each label. A row with a
        nan is an abstention, and is not used.
    classes : ndarray of shape (n_labels,)
        The labels, sorted; at least two.

    Returns
    -------
    SoftStudent
        For every row it predicts the mean of the scores if a classifier would learn a single label, and
        equal probabilities if no row has scores.

    Raises
    ------
    TypeError
        If `student` is neither a classifier nor a regressor.
    ValueError
        If `scores` has the wrong number of columns (one for two labels, else one per label), has more rows
        than `X`, or has an infinite entry.
    """
    _check_student(student)
    _check_scores(scores, X.shape[0], len(classes))
    rows = np.flatnonzero(~np.isnan(scores).any(axis=1))
    answered = scores[rows]
    if not rows.size:
        return SoftStudent(classes, _Constant(np.full(len(classes), 1 / len(classes))))
    if is_regressor(student):
        return SoftStudent(classes, _fit_regressors(student, _cut(X, rows), answered))
    return SoftStudent(classes, _fit_classifier(student, X, rows, answered, classes))


def standard_soft_student(X: Any) -> Pipeline:
    """Return the default student, unfitted, for tables of the same kind as X.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n, n_features)
        Only the types of the columns are read. Missing values are imputed. Non-numeric columns of a frame are
        one-hot encoded; the code of an unknown value is all zeros.

    Returns
    -------
    Pipeline
        A regressor that ends in a `ScoreRegression`.
    """
    return Pipeline([*standard_estimator(X, C=1).steps[:-1], ("scoreregression", ScoreRegression())])


@dataclass(frozen=True, eq=False)
class _Constant:
    """The same scores for every row."""

    each: Floats

    def scores(self, X: Any) -> Floats:
        return np.tile(self.each, (X.shape[0] if hasattr(X, "shape") else len(X), 1))


@dataclass(frozen=True, eq=False)
class _Regressors:
    """Fitted regressors whose predictions are the columns of the scores."""

    fitted: tuple[Any, ...]

    def scores(self, X: Any) -> Floats:
        return np.column_stack([one.predict(X) for one in self.fitted])


@dataclass(frozen=True, eq=False)
class _Classifier:
    """A fitted classifier, and the margin of its weights."""

    fitted: Any
    classes: NDArray[Any]
    margin: float

    def scores(self, X: Any) -> Floats:
        scores: Floats = self._probabilities(X) * (1 + len(self.classes) * self.margin) - self.margin
        return scores

    def _probabilities(self, X: Any) -> Floats:
        if not hasattr(self.fitted, "predict_proba"):
            certain: Floats = np.equal(self.fitted.predict(X)[:, None], self.classes).astype(np.float64)
            return certain
        known = self.fitted.predict_proba(X)
        probabilities = np.zeros((len(known), len(self.classes)))
        probabilities[:, np.searchsorted(self.classes, self.fitted.classes_)] = known
        return probabilities


def _fit_regressors(student: Any, X: Any, scores: Floats) -> _Regressors:
    learns = student.steps[-1][1] if isinstance(student, Pipeline) else student
    if scores.shape[1] > 1 and get_tags(learns).target_tags.multi_output:
        return _Regressors((clone(student).fit(X, scores),))
    return _Regressors(tuple(clone(student).fit(X, column) for column in scores.T))


def _fit_classifier(
    student: Any, X: Any, rows: NDArray[np.int64], scores: Floats, classes: NDArray[Any]
) -> _Scorer:
    shares = _shares(scores)
    margin = 0.0
    if takes_weights(student):
        margin = max(0.0, -float(np.quantile(shares, _CLIPPED)))
        weights = (shares.T + margin).clip(min=0) / (1 + len(classes) * margin)
    else:
        weights = (shares.argmax(axis=1) == np.arange(len(classes))[:, None]).astype(np.float64)
    codes, places = np.nonzero(weights > 0)
    if len(np.unique(codes)) < 2:
        return _Constant(scores.mean(axis=0))
    X = _cut(X, rows[places])
    fitted = fit_weighted(clone(student), X, classes[codes], weights[codes, places])
    return _Classifier(fitted, classes, margin)


def _shares(scores: Floats) -> Floats:
    """Return scores with one column per label, shifted by the same number within a row to the sum 1."""
    if scores.shape[1] == 1:
        return np.hstack([1 - scores, scores])
    shares: Floats = scores + (1 - scores.sum(axis=1, keepdims=True)) / scores.shape[1]
    return shares


def _cut(X: Any, rows: NDArray[np.int64]) -> Any:
    return plain(rows_of(sliceable(X), rows))


def _check_student(student: Any) -> None:
    estimator = hasattr(student, "fit") and hasattr(student, "get_params") and not isinstance(student, type)
    if not (estimator and (is_classifier(student) or is_regressor(student))):
        raise TypeError(f"student must be a classifier or a regressor, got {brief(student)}")


def _check_scores(scores: Floats, n_rows: int, n_labels: int) -> None:
    if n_labels < 2:
        raise ValueError(f"classes must be at least two labels, got {n_labels}")
    columns = scores_per_row(n_labels)
    if scores.ndim != 2 or scores.shape[1] != columns or len(scores) > n_rows:
        raise ValueError(
            f"scores must be of shape (m, {columns}) for {n_labels} labels, m at most {n_rows}, the number of"
            f" rows in X, got {scores.shape}"
        )
    if np.isinf(scores).any():
        raise ValueError("scores must be finite, or nan for abstentions, got an infinite one")
