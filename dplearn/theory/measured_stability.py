"""Measure the stability of a learner's scores under one replaced example, on public or synthetic data."""

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
    """The absolute change of each query's score over many pairs of data sets that differ in one example.

    Attributes
    ----------
    n_pairs : int
        Number of pairs.
    mean, mean_square : ndarray of float64 of shape (n_queries,)
        Mean and mean square of the absolute change.
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
        """The greatest root mean square over the queries: a measurement of alpha of Definition 5.7."""
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
    """Return the changes of scores when one of n' examples, at a random position, is replaced.

    Parameters
    ----------
    learner : callable
        Takes n' rows, their labels and a seed, and returns a function from queries to scores, one score per
        query. Both data sets of a pair are used with the same seed.
    X : ndarray of shape (n, n_features)
        Public or synthetic rows. The result is not private.
    y : ndarray of shape (n,)
        Their labels.
    queries : object
        The argument of the function that `learner` returns.
    n_records : int
        n', from 1 to n - 1.
    n_pairs : int, default=200
        Number of pairs, at least 2. The rows of each pair are drawn without replacement.
    seed : int, default=0
        Public. Determines the pairs.

    Returns
    -------
    MeasuredStability

    Raises
    ------
    TypeError, ValueError
        If a parameter is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.theory import measure_stability
    >>> X, y = np.zeros((50, 1)), np.arange(50) % 2
    >>> def share(X, y, seed):
    ...     return lambda queries: np.full(len(queries), np.mean(y))
    >>> found = measure_stability(share, X, y, X[:1], n_records=10, n_pairs=400, seed=1)
    >>> found.n_pairs, bool(abs(found.mean_square[0] - 0.01 * 25 / 49) < 4 * found.mean_square_error[0])
    (400, True)
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
    """Return the index of the example that each step uses.

    Parameters
    ----------
    n_records, n_steps : int
        Numbers of examples and of steps, at least 1.
    order : {"permutation", "sampling", "in_turn"}
        As for `sgd_stability`.
    seed : int
        Public. Determines the order.

    Returns
    -------
    ndarray of int64 of shape (n_steps,)

    Examples
    --------
    >>> from dplearn.theory import example_order
    >>> example_order(3, 6, "in_turn", 0).tolist()
    [0, 1, 2, 0, 1, 2]
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
    """Return the weights of a logistic regression after one gradient step for each given example.

    This is the simplest learner to which `sgd_stability` with `logistic_constants` applies: it starts from
    zero weights, without an intercept, with steps that do not depend on the data, and returns the last
    weights.

    Parameters
    ----------
    X : ndarray of float64 of shape (..., n, n_features)
        Rows; further axes run over several learners.
    y : ndarray of shape (..., n)
        Labels 0 and 1.
    examples : ndarray of int of shape (n_steps,)
        From `example_order`.
    steps : iterable of float
        Step sizes, n_steps of them.
    alpha : number, default=0
        Weight of the penalty ``alpha/2 |w|^2``.

    Returns
    -------
    ndarray of float64 of shape (..., n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.theory import logistic_sgd
    >>> X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
    >>> logistic_sgd(X, y, [0, 1], [1.0, 1.0]).round(2).tolist()
    [1.88]
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
    """Return the mean and the standard error of each column."""
    return sizes.mean(axis=0), sizes.std(axis=0, ddof=1) / np.sqrt(len(sizes))
