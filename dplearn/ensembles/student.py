"""Train a student on released answers, weighted by their noisy counts; post-processing, at no cost.

The released noisy counts of a row contain more information than its answer. The student learns each row once
with every label whose count exceeds the row's mean, weighted by the excess: with two labels, once, with a
weight proportional to the lead. The sum of these weights over rows is a nearly unbiased estimate for the
votes, so many rows with much noise on each serve the student almost as well as few rows with little noise. An
estimator that takes no `sample_weight` learns the answers with equal weights.

>>> import numpy as np
>>> from sklearn.linear_model import LogisticRegression
>>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
>>> answers = Answers(np.array([0, 0, -1, 1]), np.array([[9, 1], [5, 3], [0, 0], [2, 8]]))
>>> teach(LogisticRegression(), X, answers, np.array(["no", "yes"])).predict([[4.0]]).tolist()
['yes']
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from dplearn.ensembles.answers import Answers
from dplearn.records.rows import plain, rows_of, sliceable

__all__ = ["fit_weighted", "takes_weights", "teach"]


def teach(student: Any, X: Any, answers: Answers, classes: NDArray[Any]) -> Any:
    """Return a student fitted to the rows with released answers.

    Parameters
    ----------
    student : classifier
        The unfitted student, which is cloned.
    X : array-like, sparse matrix or data frame of shape (n, n_features)
        Public rows.
    answers : Answers
        The released answers to the first rows of X.
    classes : ndarray of shape (n_labels,)
        The labels, sorted.

    Returns
    -------
    classifier
        The fitted student. If all answers are the same label, a classifier that always predicts it; if there
        are no answers, one that always predicts the first label.
    """
    rows = np.flatnonzero(answers.codes >= 0)
    codes, weights = answers.codes[rows], np.ones(rows.size)
    if takes_weights(student):
        excess = (answers.counts - answers.counts.mean(axis=1, keepdims=True)).clip(min=0)
        rows, codes = np.nonzero(excess)
        weights = excess[rows, codes] * np.count_nonzero(answers.codes >= 0) / max(excess.sum(), 1)
    if len(np.unique(codes)) < 2:
        only = classes[codes[:1]] if codes.size else classes[:1]
        return DummyClassifier(strategy="constant", constant=only).fit(np.zeros((1, 1)), only)
    return fit_weighted(clone(student), plain(rows_of(sliceable(X), rows)), classes[codes], weights)


def takes_weights(student: Any) -> bool:
    """Return True if the student, or the last step of a pipeline, takes `sample_weight`."""
    learned = student.steps[-1][1] if isinstance(student, Pipeline) else student
    return bool(has_fit_parameter(learned, "sample_weight"))


def fit_weighted(student: Any, X: Any, y: NDArray[Any], weights: NDArray[np.float64]) -> Any:
    """Fit a student, with weights if it takes them; a pipeline passes them to its last step.

    Parameters
    ----------
    student : classifier
        Fitted in place.
    X : ndarray, sparse matrix or data frame of shape (n, n_features)
        Rows.
    y : ndarray of shape (n,)
        Labels.
    weights : ndarray of float64 of shape (n,)
        Positive.

    Returns
    -------
    classifier
        The fitted student.
    """
    if not takes_weights(student):
        return student.fit(X, y)
    step = f"{student.steps[-1][0]}__" if isinstance(student, Pipeline) else ""
    # With metadata routing every step that accepts weights, even a scaler, would need a request for them.
    with config_context(enable_metadata_routing=False):
        return student.fit(X, y, **{f"{step}sample_weight": weights})
