"""Stability of stochastic gradient descent: bounds on the change of weights when one example is replaced.

The bounds follow Hardt, Recht and Singer (2016), who bound the mean change; soft labels need the mean square,
whose root can be much greater. For the proofs see `docs/theory/soft_label_stability.md`.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dplearn._validation import check_choice, check_count, check_number
from dplearn._writing import brief
from dplearn.chance import PublicStream

#: Orders of the examples: a new permutation for each pass, sampling with replacement, or the given order.
ORDERS = ("permutation", "sampling", "in_turn")


@dataclass(frozen=True)
class LossConstants:
    """Constants of the loss of one example, as a function of the weights.

    Attributes
    ----------
    lipschitz : float
        L: at the same weights, the gradients of any two examples differ by at most 2 L, as if each has a norm
        of at most L, not counting a term common to all examples.
    smoothness : float
        Lipschitz constant of the gradient.
    strong_convexity : float
        mu: the loss minus mu/2 times the squared norm of the weights is convex. 0 for a loss that is convex
        only.
    """

    lipschitz: float
    smoothness: float
    strong_convexity: float = 0.0

    def __post_init__(self) -> None:
        check_number("lipschitz", self.lipschitz, above=0)
        smoothness = check_number("smoothness", self.smoothness, low=0)
        check_number("strong_convexity", self.strong_convexity, low=0, high=smoothness)


@dataclass(frozen=True)
class SGDStability:
    """Bounds on the norm of the change that one replaced example causes, in ascending order.

    Attributes
    ----------
    mean : float
        Bound on the mean, over the order of the examples and the position of the replaced one.
    root_mean_square : float
        Bound on the root mean square, over the same: alpha of Definition 5.7 of Bassily, Thakkar and
        Thakurta (2018), for all data.
    any_order : float
        Bound on the root mean square over the position of the replaced example, for each order.
    surely : float
        Bound on the change, for each order and each position of the replaced example.
    """

    mean: float
    root_mean_square: float
    any_order: float
    surely: float

    def scaled(self, factor: float) -> "SGDStability":
        """Return bounds on a quantity that changes by at most `factor` times as much."""
        return SGDStability(
            mean=factor * self.mean,
            root_mean_square=factor * self.root_mean_square,
            any_order=factor * self.any_order,
            surely=factor * self.surely,
        )


def logistic_constants(radius: Any, alpha: Any = 0, *, intercept: bool = False) -> LossConstants:
    """Return the constants of ``ln(1 + exp(-y w.x)) + alpha/2 |w|^2``, with y equal to -1 or 1.

    Parameters
    ----------
    radius : number
        R, above 0: an upper bound on the norm of a row.
    alpha : number, default=0
        Weight of the penalty, at least 0, as in scikit-learn's `SGDClassifier`.
    intercept : bool, default=False
        Whether each row is extended by a constant 1 whose weight is not penalised, as in scikit-learn. The
        loss is then not strongly convex.

    Returns
    -------
    LossConstants
        L = R, smoothness R^2/4 + alpha and mu = alpha, or with an intercept L = sqrt(R^2 + 1), smoothness
        (R^2 + 1)/4 + alpha and mu = 0.

    Examples
    --------
    >>> from dplearn.theory import logistic_constants
    >>> logistic_constants(1, alpha=0.5)
    LossConstants(lipschitz=1.0, smoothness=0.75, strong_convexity=0.5)
    """
    r = float(check_number("radius", radius, above=0))
    penalty = float(check_number("alpha", alpha, low=0))
    squared = r * r + 1 if intercept else r * r
    return LossConstants(
        lipschitz=math.sqrt(squared) if intercept else r,
        smoothness=squared / 4 + penalty,
        strong_convexity=0.0 if intercept else penalty,
    )


def largest_step(constants: LossConstants) -> float:
    """Return 2/(smoothness + mu): each step of size e up to this contracts distances by a factor of 1 - e mu.

    With mu = 0 this is the bound of Hardt, Recht and Singer (2016); else it is at least theirs, 1/smoothness.

    Examples
    --------
    >>> from dplearn.theory import largest_step, logistic_constants
    >>> constants = logistic_constants(1, alpha=0.5)
    >>> round(float(largest_step(constants)), 3)
    1.6
    """
    total = constants.smoothness + constants.strong_convexity
    return 2 / total if total else math.inf


def decaying_steps(constants: LossConstants, n_steps: int) -> NDArray[np.float64]:
    """Return the steps 1/(mu (t + t0)), t = 1, 2, ..., for a strongly convex loss.

    All steps have the same influence on the final weights, 2 L/(mu (n_steps + t0)). So the bound on the mean
    also holds for the root mean square, and for every order in which each pass uses each example once.

    Parameters
    ----------
    constants : LossConstants
        The constants of the loss, with mu above 0.
    n_steps : int
        Number of steps, at least 1.

    Returns
    -------
    ndarray of float64 of shape (n_steps,)
        t0 is the least integer, at least 0, for which no step is above `largest_step`.

    Examples
    --------
    >>> from dplearn.theory import decaying_steps, logistic_constants
    >>> constants = logistic_constants(1, alpha=0.5)
    >>> [round(float(step), 3) for step in decaying_steps(constants, 3)]
    [1.0, 0.667, 0.5]
    """
    mu = float(check_number("strong_convexity", constants.strong_convexity, above=0))
    count = check_count("n_steps", n_steps, low=1)
    # 1 + t0 >= (smoothness + mu)/(2 mu), so steps exceed the largest one at most by rounding.
    shift = max(0, math.ceil((constants.smoothness + mu) / (2 * mu)) - 1)
    return np.minimum(1 / (mu * (shift + np.arange(1, count + 1))), largest_step(constants))


def published_weight_bound(constants: LossConstants, steps: Iterable[float], n_records: int) -> float:
    """Return the bound of Hardt, Recht and Singer (2016) on the mean change of the weights.

    Parameters
    ----------
    steps : iterable of float
        Step sizes, above 0 and at most `largest_step`, in order; each step uses one example. The sizes and
        their number must not depend on the data.

    Returns
    -------
    float
        (2 L/n') times the sum of steps if mu = 0, else 2 L/(mu n'), which does not depend on the steps. It
        bounds `SGDStability.mean`, not `SGDStability.root_mean_square`.

    Examples
    --------
    >>> from dplearn.theory import logistic_constants, published_weight_bound
    >>> constants = logistic_constants(1, alpha=0.5)
    >>> round(float(published_weight_bound(constants, [0.1] * 1000, 1000)), 4)
    0.004
    """
    taken = _checked_steps(steps, largest_step(constants), "")
    n, mu = check_count("n_records", n_records, low=1), constants.strong_convexity
    return 2 * constants.lipschitz * (1 / mu if mu else float(taken.sum())) / n


def published_decaying_bound(constants: LossConstants, n_records: int, *, diameter: Any) -> float:
    """Return the bound of Hardt, Recht and Singer (2016) for steps 1/(mu t), with projection.

    Parameters
    ----------
    constants : LossConstants
        The constants of a strongly convex loss: mu above 0.
    diameter : number
        Diameter of a convex set onto which the weights are projected after each step.

    Returns
    -------
    float
        (2 L + smoothness D)/(mu n'), a bound on the mean change of the weights (the paper's is on the loss).
        The first smoothness/mu steps are too large to contract; for an example used in these the change is
        bounded by the diameter D.

    Examples
    --------
    >>> from dplearn.theory import logistic_constants, published_decaying_bound
    >>> constants = logistic_constants(1, alpha=0.5)
    >>> round(float(published_decaying_bound(constants, 1000, diameter=4)), 4)
    0.01
    """
    mu = float(check_number("strong_convexity", constants.strong_convexity, above=0))
    n, most = check_count("n_records", n_records, low=1), float(check_number("diameter", diameter, above=0))
    return (2 * constants.lipschitz + constants.smoothness * most) / (mu * n)


def sgd_stability(
    constants: LossConstants,
    steps: Iterable[float],
    n_records: int,
    *,
    order: str = "permutation",
    diameter: Any = None,
) -> SGDStability:
    """Return bounds on the change of the final weights when one of n' examples is replaced.

    Parameters
    ----------
    steps : iterable of float
        Step sizes, above 0, in order; each step uses one example. The sizes and their number must not depend
        on the data.
    order : {"permutation", "sampling", "in_turn"}, default="permutation"
        "permutation": a new permutation for each pass. "sampling": each step samples with replacement.
        "in_turn": the given order, or any other order that is the same in all passes. A pass of
        "permutation" or "in_turn" has `n_records` steps.
    diameter : number, optional
        Diameter of a convex set onto which the weights are projected after each step. None: no projection;
        then no step may exceed 2/smoothness.

    Notes
    -----
    A step of size e on a common example multiplies the distance between the weights of two runs by at most
    ``k = max(|1 - e mu|, |1 - e smoothness|)``; one on the replaced example adds at most 2 L e, its influence
    after the k of all later steps. The bounds are moments of the sum of influences, over the order and the
    example's position. For the proof see `docs/theory/soft_label_stability.md`.

    **Source.** Hardt, Recht and Singer (2016), for the mean and steps of at most 1/smoothness. Here the
    influences are summed instead of bounded, and further moments are bounded.

    Examples
    --------
    >>> from dplearn.theory import decaying_steps, largest_step, logistic_constants, sgd_stability
    >>> constants = logistic_constants(1, alpha=0.5)
    >>> weights = sgd_stability(constants, decaying_steps(constants, 1000), 1000, order="in_turn")
    >>> f"{weights.mean:.4f} {weights.root_mean_square:.4f}"
    '0.0040 0.0040'
    """
    if diameter is None:
        limit = 2 / constants.smoothness if constants.smoothness else math.inf
        taken = _checked_steps(steps, limit, " unless there is a diameter")
        most = 2 * constants.lipschitz * float(taken.sum())  # k <= 1, so the change is at most this sum
    else:
        most = float(check_number("diameter", diameter, above=0))
        taken = _checked_steps(steps, math.inf, "")
    n = check_count("n_records", n_records, low=1)
    check_choice("order", order, ORDERS)
    influences = _influences(constants, taken, most)
    bounds = _sampled(influences, n) if order == "sampling" else _in_passes(influences, n, order)
    return SGDStability(*(min(bound, most) for bound in bounds))


def logistic_score_stability(weights: SGDStability, radius: Any) -> SGDStability:
    """Return bounds on the change of 1/(1 + exp(-w.x)) from those on the change of w.

    Parameters
    ----------
    weights : SGDStability
        Bounds on the change of w.
    radius : number
        An upper bound on the norm of a queried row; with an intercept sqrt(R^2 + 1).

    Notes
    -----
    The sigmoid has a slope of at most 1/4, and w.x changes by at most `radius` times the change of w.

    Examples
    --------
    >>> from dplearn.theory import decaying_steps, logistic_constants, logistic_score_stability, sgd_stability
    >>> constants = logistic_constants(1, alpha=0.5)
    >>> weights = sgd_stability(constants, decaying_steps(constants, 1000), 1000, order="in_turn")
    >>> round(float(logistic_score_stability(weights, 1).mean), 4)
    0.001
    """
    return weights.scaled(float(check_number("radius", radius, low=0)) / 4)


def _checked_steps(steps: Iterable[float], limit: float, unless: str) -> NDArray[np.float64]:
    taken = np.fromiter(steps, dtype=np.float64)
    if not taken.size or not np.isfinite(taken).all() or taken.min() <= 0:
        raise ValueError(f"steps must be one or more finite numbers above 0, got {brief(taken)}")
    if taken.max() > limit * (1 + 1e-12):  # the caller may have rounded the limit
        raise ValueError(f"steps must be at most {limit:.6g}{unless}, got {taken.max():.6g}")
    return taken


def _influences(constants: LossConstants, steps: NDArray[np.float64], diameter: float) -> NDArray[np.float64]:
    """Return a bound for each step on the change of the final weights if only its example changes."""
    # The later steps together map a distance x to at most min(cap, growth x); each single step maps it to at
    # most min(diameter, k x).
    each = np.minimum(2 * constants.lipschitz * steps, diameter)
    slow, fast = steps * constants.strong_convexity, steps * constants.smoothness
    factors = np.maximum(abs(1 - slow), abs(1 - fast))
    found, growth, cap = np.empty(steps.size), 1.0, diameter
    for t in range(steps.size - 1, -1, -1):
        found[t] = min(cap, growth * float(each[t]))
        cap = min(cap, growth * diameter)
        growth = growth * float(factors[t]) if factors[t] else 0.0  # which may have become infinite
    return found


def _sampled(influences: NDArray[np.float64], n: int) -> tuple[float, ...]:
    """Return the bounds if each step uses the example with probability 1/n', independently."""
    total, squares = float(influences.sum()), float(influences @ influences)
    mean = total / n
    # The sums S_j over each example's steps add up to the total, so the sum of S_j^2 is at most total^2.
    return mean, math.sqrt(mean**2 + squares * (1 - 1 / n) / n), total / math.sqrt(n), total


def _in_passes(influences: NDArray[np.float64], n: int, order: str) -> tuple[float, ...]:
    """Return the bounds if each pass, the last perhaps in part, uses the example at a uniform position."""
    passes = -(-influences.size // n)
    table = np.zeros((passes, n))
    table.flat[: influences.size] = influences
    if order == "in_turn":
        table = table.sum(axis=0, keepdims=True)  # the position is the same in all passes
    mean = float(table.mean(axis=1).sum())
    # Positions in different passes are independent, so variances add up.
    root = math.sqrt(mean**2 + float(table.var(axis=1).sum()))
    # For a given order, by Minkowski's inequality for the passes' vectors of influences over the examples.
    any_order = float(np.sqrt((table**2).mean(axis=1)).sum())
    return mean, root, max(any_order, root), float(table.max(axis=1).sum())


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

    The simplest learner of `sgd_stability` with `logistic_constants`: from zero weights, without an
    intercept, with public steps, to the last weights.

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
