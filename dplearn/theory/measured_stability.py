"""How far a learner's scores move when an example is replaced: measured, on public or synthetic data only.

>>> X, y = np.zeros((50, 1)), np.arange(50) % 2
>>> def share(X, y, seed):
...     return lambda queries: np.full(len(queries), np.mean(y))
>>> found = measure_stability(share, X, y, X[:1], n_records=10, n_pairs=400, seed=1)
>>> found.n_pairs, bool(abs(found.mean_square[0] - 0.01 * 25 / 49) < 4 * found.mean_square_error[0])
(400, True)
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dplearn._validation import check_choice, check_count, check_number
from dplearn.chance import PublicStream
from dplearn.theory.stability import ORDERS

__all__ = ["MeasuredStability", "example_order", "logistic_sgd", "measure_stability"]

Learner = Callable[[Any, Any, int], Callable[[Any], Any]]


@dataclass(frozen=True, eq=False)
class MeasuredStability:
    """The change of each query's score, over many pairs of data sets that differ in one example.

    Attributes
    ----------
    n_pairs : int
        Of how many pairs.
    mean, mean_square : ndarray of float64 of shape (n_queries,)
        Of the change's size.
    mean_error, mean_square_error : ndarray of float64 of shape (n_queries,)
        Their standard errors.
    """

    n_pairs: int
    mean: NDArray[np.float64]
    mean_error: NDArray[np.float64]
    mean_square: NDArray[np.float64]
    mean_square_error: NDArray[np.float64]

    @property
    def root_mean_square(self) -> float:
        """Return the greatest root of a mean square among the queries: alpha of Definition 5.7, measured."""
        return float(np.sqrt(self.mean_square.max()))


def measure_stability(
    learner: Learner,
    X: Any,
    y: Any,
    queries: Any,
    *,
    n_records: int,
    n_pairs: int = 200,
    seed: int = 0,
) -> MeasuredStability:
    """Return how far scores move if one of n' examples, at a place drawn for each pair, is replaced.

    Parameters
    ----------
    learner : callable
        Is given n' rows, their labels and a seed, and returns a function from queries to scores, of which
        there is one a query. Both of a pair are given the same seed.
    X : ndarray of shape (n, n_features)
        Public or synthetic rows. The result is not private.
    y : ndarray of shape (n,)
        Their labels.
    queries : object
        What scores are asked for.
    n_records : int
        n', from 1 to n - 1.
    n_pairs : int, default=200
        At least 2. Rows of each pair are drawn without replacement.
    seed : int, default=0
        Public: the same seed gives the same pairs.

    Returns
    -------
    MeasuredStability

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    """
    n = check_count("n_records", n_records, low=1, high=len(X) - 1)
    count = check_count("n_pairs", n_pairs, low=2)
    changes = []
    for pair in range(count):
        stream = PublicStream(seed, "measured stability", pair)
        rows = stream.permutation(len(X))[: n + 1]
        first, other = rows[:-1], rows[:-1].copy()
        other[stream.labels(n, 1)] = rows[-1]
        (chance,) = stream.seeds(1)
        scores = [np.asarray(learner(X[each], y[each], chance)(queries)) for each in (first, other)]
        changes.append(abs(scores[0] - scores[1]))
    sizes = np.array(changes, dtype=np.float64)
    return MeasuredStability(count, *_moment(sizes), *_moment(sizes**2))


def example_order(n_records: int, n_steps: int, order: str, seed: int) -> NDArray[np.int64]:
    """Return which example each step meets.

    Parameters
    ----------
    n_records, n_steps : int
        At least 1.
    order : {"permutation", "sampling", "in_turn"}
        As for `sgd_stability`.
    seed : int
        Public.

    Returns
    -------
    ndarray of int64 of shape (n_steps,)
    """
    n, steps = check_count("n_records", n_records, low=1), check_count("n_steps", n_steps, low=1)
    check_choice("order", order, ORDERS)
    stream, passes = PublicStream(seed, "order of examples"), -(-steps // n)
    if order == "sampling":
        return stream.labels(n, steps)
    each = [stream.permutation(n) if order == "permutation" else np.arange(n) for _ in range(passes)]
    return np.concatenate(each)[:steps]


def logistic_sgd(
    X: Any, y: Any, examples: Any, steps: Iterable[float], *, alpha: Any = 0
) -> NDArray[np.float64]:
    """Return the weights of a logistic regression after one step for each example that is named.

    The plainest learner that `sgd_stability` with `logistic_constants` is about: from zero, without an
    intercept, steps that do not depend on the data, and the last weights.

    Parameters
    ----------
    X : ndarray of float64 of shape (..., n, n_features)
        Rows; of many learners at once, if there are more axes.
    y : ndarray of shape (..., n)
        Labels 0 and 1.
    examples : ndarray of int of shape (n_steps,)
        From `example_order`.
    steps : iterable of float
        As many.
    alpha : number, default=0
        Penalty.

    Returns
    -------
    ndarray of float64 of shape (..., n_features)
    """
    rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    penalty = float(check_number("alpha", alpha, low=0))
    weights = np.zeros(rows.shape[:-2] + rows.shape[-1:])
    for j, step in zip(examples, steps, strict=True):
        x = rows[..., j, :]
        predicted = expit(np.sum(x * weights, axis=-1))
        weights = (1 - step * penalty) * weights + step * (labels[..., j] - predicted)[..., None] * x
    return weights


def _moment(sizes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard error of each column."""
    return sizes.mean(axis=0), sizes.std(axis=0, ddof=1) / np.sqrt(len(sizes))
