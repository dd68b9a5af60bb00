"""Logistic regression by statistical queries: accelerated steps, against any oracle.

The gradient of the logistic loss is split: what labels say does not depend on the weights, and is asked for
once; what predictions say is asked for at each step. Before that, the rows' second moments tell how to make
rows alike in all directions, so that few steps are enough.

>>> from dplearn.queries import Examples, population
>>> X = np.array([[2.0, 1.0], [1.0, 2.0], [-1.0, 1.0], [-2.0, 3.0]])
>>> task = LogisticTask(n_columns=3, n_classes=2)
>>> oracle = population(Examples(task.rows(X), np.array([1, 1, 0, 0])))
>>> learn_logistic(oracle, task).probabilities(X).round(1).tolist()
[[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array, issparse
from scipy.special import softmax

from dplearn.learners.logistic_queries import (
    LogisticTask,
    Mapped,
    label_parts,
    mean_row_query,
    moment_weights,
    moments_query,
    predicted_parts,
    products_query,
)
from dplearn.queries import Answer, Oracle

__all__ = ["LogisticModel", "learn_logistic"]

_MOMENTUM = 0.8
_NOISE_KEPT = 0.3  # of the largest eigenvalue that noise alone has: what is added to second moments
_CURVATURE = 0.5  # the most that the logistic loss bends, in its margins
_LEAST = 2.0**-20  # of a row's squared length: where there is no noise, this keeps quotients finite
# Of the longest direction, which is about the mean row's, and in which classes differ least: how much is kept
# where one step is all, and no other mends what that direction does.
_KEPT_OF_LONGEST = 0.5


@dataclass(frozen=True)
class LogisticModel:
    """A released model.

    Attributes
    ----------
    order : {1, 2}
        How rows are measured.
    metric : ndarray of float64 of shape (d, d)
        Released. What rows are multiplied by before they are measured; its last row is the intercept's.
    weights : ndarray of float64 of shape (d, n_classes)
        Released. What rows are multiplied by, and then divided by their length, to get margins.
    """

    order: int
    metric: NDArray[np.float64]
    weights: NDArray[np.float64]

    def margins(self, X: Any) -> NDArray[np.float64]:
        """Return each row's margins, of shape (n, n_classes).

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, d - 1)
            Any numbers.
        """
        X, one = _at_most_one(X)
        lengths = np.linalg.norm(
            X @ self.metric[:-1] + one * self.metric[-1], ord=self.order, axis=1, keepdims=True
        )
        margins = X @ self.weights[:-1] + one * self.weights[-1]
        return np.asarray(margins / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)

    def probabilities(self, X: Any) -> NDArray[np.float64]:
        """Return each row's probability of each class.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, d - 1)
            Any numbers.
        """
        return np.asarray(softmax(self.margins(X), axis=1), dtype=np.float64)


def learn_logistic(oracle: Oracle, task: LogisticTask) -> LogisticModel:
    """Return what statistical queries tell of how labels depend on rows.

    Parameters
    ----------
    oracle : Oracle
        Of records `Examples(task.rows(X), codes)`.
    task : LogisticTask
        What is public about them.

    Returns
    -------
    LogisticModel

    Notes
    -----
    **Accuracy.** Weights get the ridge at which margins of variance 1 are estimated best, given the noise:
    its variance times the number of directions, over that of a class. The average of all steps is released,
    in which noise averages out.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 5, for learning by
    statistical queries; Nesterov (1983) for accelerated steps. Rows of one length in a released metric, and
    the gradient that is split, are ours.
    """
    directions = _directions(oracle, task)
    mapped = Mapped(task, directions.metric)
    _, label_share, step_share = task.shares
    answer = oracle.ask(products_query(task, mapped, label_parts(task)), label_share)[0]
    labels = _per_class(task, answer)
    ridge = (
        2 * task.n_classes * _variance(answer) * directions.dimension
    )  # 2: all steps add about as much noise
    bend = _CURVATURE * directions.largest
    weights = ahead = total = np.zeros_like(labels)
    for step in range(task.n_steps):
        gradient = labels
        if step:
            asked = products_query(task, mapped, predicted_parts(task, mapped, ahead))
            gradient = labels - _per_class(task, oracle.ask(asked, step_share)[0])
        moved = (bend * ahead + gradient) / (bend + ridge)
        weights, ahead = moved, moved + _MOMENTUM * (moved - weights)
        total = total + weights
    return LogisticModel(task.order, mapped.metric, mapped.metric @ (total / task.n_steps))


def _at_most_one(X: Any) -> tuple[Any, NDArray[np.float64]]:
    """Return rows with a 1 added, that last column apart, divided by what is greatest in them.

    Margins do not depend on a row's length, and no product then leaves the range of floats.
    """
    rows: Any = X  # issparse narrows to a type without its methods
    greatest = abs(rows).max(axis=1)
    greatest = greatest.toarray() if issparse(X) else greatest
    one = 1.0 / np.maximum(greatest.reshape(-1, 1), 1.0)
    return (diags_array(one.ravel()) @ rows if issparse(X) else rows * one), one


@dataclass(frozen=True)
class _Directions:
    """What makes rows alike in all directions, in how many they differ, and the most that is left of one."""

    metric: NDArray[np.float64]
    dimension: float
    largest: float


def _directions(oracle: Oracle, task: LogisticTask) -> _Directions:
    """Ask in which directions rows are long, and return what evens that out."""
    d = task.n_columns
    # Rows whose magnitudes sum to 1 have, where most columns are alike, squares that sum to about 2 / d.
    energy = 1.0 if task.order == 2 else min(1.0, 2 / d)
    if not task.second_moments:
        mean = oracle.ask(mean_row_query(task), task.shares[0])[0].means
        along = mean / max(float(np.linalg.norm(mean)), _LEAST)
        # The mean row is taken to be as long as all other directions together, and becomes as each of them.
        metric = np.eye(d) - (1 - 1 / math.sqrt(d)) * np.outer(along, along)
        return _Directions(metric, d, energy / d)
    moments, ridge = _moments(oracle, task)
    values, vectors = np.linalg.eigh(moments)
    values, ridge = np.maximum(values, 0.0), ridge + energy * _LEAST
    scales = (values + ridge) ** -0.5
    if task.n_steps == 1:
        scales[-1] *= _KEPT_OF_LONGEST
    left = values * scales**2
    largest = max(float(left.max() / max(left.sum(), _LEAST)), 1 / d)
    return _Directions(
        (vectors * scales) @ vectors.T, float((values / (values + ridge)).sum()), energy * largest
    )


def _moments(oracle: Oracle, task: LogisticTask) -> tuple[NDArray[np.float64], float]:
    """Return second moments, and what to add to each direction's: a part of what noise alone shows."""
    answer = oracle.ask(moments_query(task), task.shares[0])[0]
    d = task.n_columns
    on, off = moment_weights(task.order)
    moments = np.zeros((d, d))
    moments[np.triu_indices(d)] = answer.means / off
    moments = moments + np.triu(moments, 1).T
    moments[np.diag_indices(d)] *= off / on
    # No eigenvalue of a symmetric matrix of independent noise is much beyond 2 sqrt(d) deviations.
    return moments, _NOISE_KEPT * 2 * math.sqrt(d * _variance(answer)) / off


def _per_class(task: LogisticTask, answer: Answer) -> NDArray[np.float64]:
    """Return an answer as a matrix with a column for each class, in which rows sum to 0."""
    columns = answer.means.reshape(task.n_columns, task.asked)
    if task.asked == 1:
        return np.hstack([-columns, columns])
    return np.asarray(columns - columns.mean(axis=1, keepdims=True))


def _variance(answer: Answer) -> float:
    """Return that of the noise in each number, as its bound tells it."""
    return 2 * answer.noise.linear**2 + answer.noise.root**2 / 2
