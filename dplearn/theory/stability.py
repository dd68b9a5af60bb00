"""How far the weights of stochastic gradient descent move when one of its n' examples is replaced.

Bounds after Hardt, Recht and Singer (2016), who bound the mean change. The soft labels of Bassily, Thakkar
and Thakurta (2018) need its mean square, which can be much greater: `docs/theory/soft_label_stability.md`
has the proofs.

>>> constants = logistic_constants(1, alpha=0.5)
>>> steps = decaying_steps(constants, 1000)
>>> weights = sgd_stability(constants, steps, 1000, order="in_turn")
>>> f"{weights.mean:.4f} {weights.root_mean_square:.4f} {logistic_score_stability(weights, 1).mean:.4f}"
'0.0040 0.0040 0.0010'
>>> steps = [largest_step(constants)] * 1000
>>> weights = sgd_stability(constants, steps, 1000)  # steps that do not decay
>>> f"{weights.mean:.4f} {weights.root_mean_square:.4f}"
'0.0040 0.1033'
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_choice, check_count, check_number
from dplearn._writing import brief

__all__ = [
    "ORDERS",
    "LossConstants",
    "SGDStability",
    "decaying_steps",
    "largest_step",
    "logistic_constants",
    "logistic_score_stability",
    "published_decaying_bound",
    "published_weight_bound",
    "sgd_stability",
]

#: In which order examples are met: shuffled anew for each pass, drawn with replacement, or as they stand.
ORDERS = ("permutation", "sampling", "in_turn")


@dataclass(frozen=True)
class LossConstants:
    """What is known of the loss of one example, as a function of the weights.

    Attributes
    ----------
    lipschitz : float
        L: at the same weights, the gradients of two examples are at most 2 L apart. Gradients of norm L at
        most are enough; what all examples share, as a penalty, does not count.
    smoothness : float
        Lipschitz constant of the gradient.
    strong_convexity : float
        mu: the loss less mu/2 times the weights' squared norm is convex. 0 for a loss that is just convex.
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
    """Bounds on the norm of a change that one replaced example makes, each at most the next.

    Attributes
    ----------
    mean : float
        On the mean over the order and over which example is replaced.
    root_mean_square : float
        On the root of the mean square, over the same: alpha of Definition 5.7 of Bassily, Thakkar and
        Thakurta (2018), for any data.
    any_order : float
        The same over which example is replaced, for each order that can be drawn.
    surely : float
        On the change, whichever order is drawn and whichever example is replaced.
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
    """Return the constants of ``ln(1 + exp(-y w.x)) + alpha/2 |w|^2``, y being -1 or 1.

    Parameters
    ----------
    radius : number
        R, above 0: no row has a greater norm.
    alpha : number, default=0
        At least 0: weight of the penalty, as scikit-learn's `SGDClassifier` has it.
    intercept : bool, default=False
        Whether a constant 1 joins each row, whose weight is not penalised, as in scikit-learn. The loss is
        then not strongly convex. (A constant that is penalised is a column like others: it is in `radius`.)

    Returns
    -------
    LossConstants
        L = R, smoothness R^2/4 + alpha and mu = alpha, or with an intercept L = sqrt(R^2 + 1), smoothness
        (R^2 + 1)/4 + alpha and mu = 0. The penalty does not enter L, since it is the same for all examples.
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
    """Return 2/(smoothness + mu), up to which a step e brings any two weights together by 1 - e mu or more.

    With mu = 0 it is the 2/smoothness of Hardt, Recht and Singer (2016); else it is at least 1/smoothness, up
    to which they go for constant steps.
    """
    total = constants.smoothness + constants.strong_convexity
    return 2 / total if total else math.inf


def decaying_steps(constants: LossConstants, n_steps: int) -> NDArray[np.float64]:
    """Return the steps 1/(mu (t + t0)), t = 1, 2, ..., for a strongly convex loss.

    With them all steps have the same influence on the final weights, 2 L/(mu (n_steps + t0)), so that the
    bound on the mean holds for the mean square as well, and surely where each pass meets each example once.

    Parameters
    ----------
    constants : LossConstants
        mu above 0.
    n_steps : int
        At least 1.

    Returns
    -------
    ndarray of float64 of shape (n_steps,)
        t0 is the least integer, at least 0, for which no step is above `largest_step`.
    """
    mu = float(check_number("strong_convexity", constants.strong_convexity, above=0))
    count = check_count("n_steps", n_steps, low=1)
    # 1 + t0 >= (smoothness + mu)/(2 mu), so no step is above the largest but by rounding.
    shift = max(0, math.ceil((constants.smoothness + mu) / (2 * mu)) - 1)
    return np.minimum(1 / (mu * (shift + np.arange(1, count + 1))), largest_step(constants))


def published_weight_bound(constants: LossConstants, steps: Iterable[float], n_records: int) -> float:
    """Return the bound of Hardt, Recht and Singer (2016) on the mean change of the weights.

    Parameters
    ----------
    constants, steps, n_records
        As for `sgd_stability`; no step may be above `largest_step`.

    Returns
    -------
    float
        (2 L/n') times the sum of steps if mu = 0, else 2 L/(mu n'), in which the
        steps do not enter. It bounds `SGDStability.mean`, not the mean square.
    """
    taken = _checked_steps(steps, largest_step(constants), "")
    n, mu = check_count("n_records", n_records, low=1), constants.strong_convexity
    return 2 * constants.lipschitz * (1 / mu if mu else float(taken.sum())) / n


def published_decaying_bound(constants: LossConstants, n_records: int, *, diameter: Any) -> float:
    """Return the bound of Hardt, Recht and Singer (2016) for steps 1/(mu t), with projection.

    Parameters
    ----------
    constants, n_records, diameter
        As for `sgd_stability`; mu above 0.

    Returns
    -------
    float
        (2 L + smoothness D)/(mu n'), on the mean change of the weights (theirs is on the loss): the
        first smoothness/mu steps are too large, and an example that is met there is given up.
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
    """Return bounds on how far the final weights move when one of n' examples is replaced.

    Parameters
    ----------
    constants : LossConstants
        Of a convex loss.
    steps : iterable of float
        Sizes of all steps, one example each, in the order in which they are taken; above 0. They must not
        depend on the data; neither may their number.
    n_records : int
        n', at least 1.
    order : {"permutation", "sampling", "in_turn"}, default="permutation"
        Shuffled anew for each pass; drawn with replacement; or as the examples stand, pass after pass, or
        in any other order that all passes share. One pass is `n_records` steps of the last or the first.
    diameter : number, optional
        Of a convex set onto which weights are projected after each step. Without one no step may be above
        2/smoothness; with one each step may.

    Returns
    -------
    SGDStability

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    Both runs start alike and meet examples in the same order. A step of size e on the same example multiplies
    the distance of their weights by at most ``k = max(|1 - e mu|, |1 - e smoothness|)``, and on the replaced
    example by k with 2 L e added. So the final distance is at most the sum, over the steps that met that
    example, of their influence 2 L e times the k of all later steps. The moments of that sum, over the order
    and the example's place, are the bounds. The sum of all influences is at most 2 L/mu, if no step is above
    `largest_step`. With a diameter no distance is ever above it.

    **Source.** Hardt, Recht and Singer (2016), on convex and strongly convex losses, for the mean; there
    steps are at most 1/smoothness if strongly convex. Here influences are summed and not bounded, and other
    moments are added.
    """
    if diameter is None:
        limit = 2 / constants.smoothness if constants.smoothness else math.inf
        taken = _checked_steps(steps, limit, " unless there is a diameter")
        most = 2 * constants.lipschitz * float(taken.sum())  # of which no step makes more: k is at most 1
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
        Of w.
    radius : number
        No queried row has a greater norm; with an intercept sqrt(R^2 + 1).

    Notes
    -----
    The sigmoid has slope 1/4 at most, and w.x moves by at most radius times as much as w.
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
    """Return, for each step, how far the final weights move if that step alone sees another example.

    Later steps take a distance x to min(cap, growth x), as does each of them with its own k and the diameter.
    """
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
    """Each step meets the example with probability 1/n', independently."""
    total, squares = float(influences.sum()), float(influences @ influences)
    mean = total / n
    # The sums S_j over each example's steps add up to the total: the sum of S_j^2 is at most its square.
    return mean, math.sqrt(mean**2 + squares * (1 - 1 / n) / n), total / math.sqrt(n), total


def _in_passes(influences: NDArray[np.float64], n: int, order: str) -> tuple[float, ...]:
    """Each pass meets the example once, at a place that is uniform; a last pass may stop early."""
    passes = -(-influences.size // n)
    table = np.zeros((passes, n))
    table.flat[: influences.size] = influences
    if order == "in_turn":
        table = table.sum(axis=0, keepdims=True)  # the same place in all passes: as good as one step
    mean = float(table.mean(axis=1).sum())
    # Places in different passes are independent, so variances add up.
    root = math.sqrt(mean**2 + float(table.var(axis=1).sum()))
    # For a given order, by Minkowski: a vector over the examples for each pass.
    any_order = float(np.sqrt((table**2).mean(axis=1)).sum())
    return mean, root, max(any_order, root), float(table.max(axis=1).sum())
