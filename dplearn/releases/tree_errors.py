"""Plans and error bounds for distribution functions released from a tree of noisy counts.

`tree_plan` fixes the intervals, and the plan bounds the error of the distribution function, both from public
numbers:
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.core.distributions import laplace_quantile, partial_sum_bound
from dplearn.core.exact import decay_rate, decay_ratio
from dplearn.core.intervals import depth_of
from dplearn.core.search import first
from dplearn.privacy import ApproxDP, ZeroConcentrated, ZeroConcentratedDP, calibrate
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.plan import Plan

__all__ = ["TreePlan", "dkw_bound", "tree_plan"]

_WIDEST = 256  # greatest fan-out
_OFTEN = 64  # noise splits on average at most 1 / _OFTEN of the children of an empty split node
_SHARES = np.geomspace(1e-4, 0.999, 400)  # exponents tried in Chernoff's bound, as fractions of their limit
_MOST = 1 << 62


@dataclass(frozen=True)
class TreePlan(Plan):
    """The plan of a tree of noisy counts over a domain, made without data.

    Attributes
    ----------
    size : int
        Number of codes in the domain.
    fan_out, depth : int
        Greatest number of children of a node, and number of levels below the root.
    threshold : int
        A node is split if its noisy count is at least this.
    privacy : ApproxDP or ZeroConcentratedDP
        Budget of `tree_counts`: an epsilon for Laplace noise or a rho for Gaussian noise.
    guarantee : ApproxDP
        The guarantee for that budget; its delta is 0 with Laplace noise.
    """

    size: int = field(repr=False)  # Python writes no integer of more than 4,300 digits
    fan_out: int
    depth: int
    threshold: int
    privacy: ApproxDP | ZeroConcentratedDP
    guarantee: ApproxDP

    def radius(self, levels: Any, beta: float) -> NDArray[np.float64]:
        """Return a bound on the error of the estimates at knots, in records.

        Parameters
        ----------
        levels : array-like of int of any shape
            The depths at which the knots were created, as in `Knots`.
        beta : float
            Above 0 and below 1: the probability that any knot of the tree has a greater error.

        Returns
        -------
        ndarray of float64 of the same shape

        Notes
        -----
        Suppose that all nodes are split; the estimate at a knot depends on its ancestors only. On each level
        above the knot the error is a sum of a_i Z_i over the children of one node. With k of its m children
        before the knot, a_i is 1 - k / m for the first k children and -k / m for the others, and on deeper
        levels a mean of two such values; so the sum of a_i ** 2 is at most k (m - k) / m, at most
        `fan_out` / 4. The logarithm of E[exp(t Z)] is a convex function of t ** 2 that is 0 at 0 (discrete
        Laplace), or at most sigma2 t ** 2 / 2 (discrete Gaussian): so that of the whole sum is at most
        levels * fan_out / 4 times that of one Z at t. The result is Chernoff's bound with a union bound over
        both signs and the at most fan_out ** level knots of each level, with beta / depth for each level.
        """
        depths = np.asarray(levels)
        beta = float(check_number("beta", beta, above=0, below=1))
        half = self.fan_out // 2
        spread = half * (self.fan_out - half) / self.fan_out
        log_size, log_sides = math.log(self.size), math.log(2 * max(self.depth, 1) / beta)
        distinct, places = np.unique(depths, return_inverse=True)
        table = [
            self._tail(level * spread, min(level * math.log(self.fan_out), log_size) + log_sides)
            if level
            else 0.0
            for level in distinct.tolist()
        ]
        found: NDArray[np.float64] = np.array(table)[places.reshape(depths.shape)]
        return found

    def error(self, n: int, beta: float) -> float:
        """Return a bound on the greatest error of the distribution function made from the tree.

        Parameters
        ----------
        n : int
            Number of records.
        beta : float
            Above 0 and below 1: the probability that the error is greater.

        Returns
        -------
        float
            Greatest absolute difference, as a fraction of the records; at most 1.

        Notes
        -----
        Half of beta is used for the knots; isotonic regression does not increase their greatest error.
        Between two neighbouring knots both functions increase from one knot to the other, so their difference
        is at most the error at the knots plus the number of records between the knots. A node that is not
        split, with more than one code and at least one record, has a noisy count below the threshold, so its
        count exceeds the threshold - 1 only by the magnitude of negative noise: the other half of beta is
        used for the noise of the at most n nonempty nodes of each level.
        """
        n = check_count("n", n, low=1)
        half = float(check_number("beta", beta, above=0, below=1)) / 2
        if self.depth and n < self.threshold:
            return 1.0
        uncut = (
            self.threshold - 1 + self._noise_tail(math.log(max(1, n * self.depth) / half))
            if self.depth
            else 0
        )
        return min(1.0, (float(self.radius(self.depth, half)) + uncut) / n)

    def sample_size(self, alpha: float, beta: float) -> int:
        """Return the least n with `error(n, beta)` at most alpha.

        Parameters
        ----------
        alpha, beta : float
            Above 0 and below 1.
        """
        bound = float(check_number("alpha", alpha, above=0, below=1))
        return first(lambda n: self.error(n, beta) <= bound, 1, _MOST)

    @property
    def n_inside(self) -> int:
        """Return the number of records from which on one knot has an error below n / 2, with probability .95.

        With fewer records, a knot below all data may have an estimate of one half: then the median may be any
        value of the domain.
        """
        half = self.fan_out // 2
        spread = self.depth * half * (self.fan_out - half) / self.fan_out
        return math.floor(2 * self._tail(spread, math.log(2 / 0.05))) + 1 if self.depth else 1

    @property
    def variance(self) -> float:
        """Return the variance of a noisy count."""
        if isinstance(self.privacy, ZeroConcentratedDP):
            return float(self.depth / self.privacy.rho)
        ratio = self._ratio
        return float(2 * ratio / (1 - ratio) ** 2)

    @property
    def _ratio(self) -> Fraction:
        return decay_ratio(epsilon_of(self.privacy) / (2 * max(self.depth, 1)))

    @property
    def _rate(self) -> float:
        """Return ln(1 / ratio)."""
        return decay_rate(self._ratio)

    def _tail(self, spread: float, log_odds: float) -> float:
        """Return a bound that a sum of noises with squared weights summing to `spread` exceeds rarely.

        The probability is at most exp(-log_odds).
        """
        if isinstance(self.privacy, ZeroConcentratedDP):
            return math.sqrt(2 * self.variance * spread * log_odds)
        return float(partial_sum_bound(self._ratio, spread, log_odds, shares=_SHARES))

    def _noise_tail(self, log_odds: float) -> float:
        """Return a bound that the noise of one count exceeds with probability at most exp(-log_odds)."""
        if isinstance(self.privacy, ZeroConcentratedDP):
            return math.sqrt(2 * self.variance * log_odds)
        return log_odds / self._rate


@lru_cache(maxsize=256)
def tree_plan(size: int, privacy: ApproxDP) -> TreePlan:
    """Return the plan with the fan-out and the noise that minimise the mean squared error of the knots.

    Parameters
    ----------
    size : int
        Number of codes in the domain.
    privacy : ApproxDP
        Budget; epsilon positive. Gaussian noise is used if delta is positive and the error is smaller.

    Returns
    -------
    TreePlan

    Notes
    -----
    With noise of variance v, the error within a node of m children at its k-th knot has variance
    k (m - k) / m * v, with mean (m * m - 1) / (6 m) * v over the m knots. A path has `depth` such nodes; v is
    proportional to the square of `depth` for Laplace noise, and to `depth` for Gaussian noise. In a large
    domain 16 (Laplace) and 8 (Gaussian) children are best.

    The threshold is such that noise splits an empty node with probability at most 1 / (64 `fan_out`), so that
    an empty node has on average at most 1/63 split descendants; the threshold also prevents splits of nodes
    with fewer records than the noise.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import tree_plan
    >>> plan = tree_plan(2**32, ApproxDP(1))
    >>> plan.fan_out, plan.depth, plan.threshold
    (16, 8, 101)
    >>> f"{plan.error(100_000, beta=0.05):.4f}"
    '0.0151'
    >>> plan.sample_size(alpha=0.01, beta=0.05)
    152060
    """
    check_count("size", size, low=1)
    choices = _noises(privacy)
    plans = [
        _plan(size, fan_out, noise, guarantee) for noise, guarantee in choices for fan_out in _fan_outs(size)
    ]
    return min(plans, key=_knot_variance)


def _noises(privacy: ApproxDP) -> list[tuple[ApproxDP | ZeroConcentratedDP, ApproxDP]]:
    """Return the possible budgets of the tree, each with its guarantee."""
    pure = ApproxDP(epsilon_of(privacy))
    if not privacy.delta:
        return [(pure, pure)]
    target = ApproxDP(pure.epsilon, privacy.delta)
    rise = -math.log(privacy.delta)
    # rho + 2 sqrt(rho ln(1 / delta)) <= epsilon holds at `low`, up to rounding.
    low = (float(target.epsilon) / (math.sqrt(rise + float(target.epsilon)) + math.sqrt(rise))) ** 2
    rho = calibrate(ZeroConcentrated, target, low=low * 0.999, high=low * 1e4)
    return [(pure, pure), (ZeroConcentratedDP(rho), target)]


def _fan_outs(size: int) -> list[int]:
    """Return, for each depth that is possible, the least fan-out with that depth."""
    least: dict[int, int] = {}
    for fan_out in range(2, max(2, min(size, _WIDEST)) + 1):
        least.setdefault(depth_of(size, fan_out), fan_out)
    return list(least.values())


def _plan(size: int, fan_out: int, noise: ApproxDP | ZeroConcentratedDP, guarantee: ApproxDP) -> TreePlan:
    depth = depth_of(size, fan_out)
    rare = Fraction(1, _OFTEN * fan_out)
    uncut = TreePlan(size, fan_out, depth, 1, noise, guarantee)
    if isinstance(noise, ZeroConcentratedDP):
        # P[Z >= t] <= exp(-t**2 / (2 sigma2))
        threshold = math.ceil(math.sqrt(2 * uncut.variance * -math.log(rare)))
    else:
        threshold = laplace_quantile(uncut._ratio, rare)
    return TreePlan(size, fan_out, depth, max(1, threshold), noise, guarantee)


def _knot_variance(plan: TreePlan) -> float:
    return plan.depth * (plan.fan_out - 1 / plan.fan_out) / 6 * plan.variance


def dkw_bound(n: int, beta: float) -> float:
    """Return the Dvoretzky-Kiefer-Wolfowitz bound on the error of an empirical distribution function.

    Parameters
    ----------
    n : int
        Number of independent records.
    beta : float
        Above 0 and below 1: the probability that the error is greater.

    Returns
    -------
    float
        Bound on the greatest difference between the distribution functions of the sample and the population.

    Notes
    -----
    **Source.** Dvoretzky, Kiefer and Wolfowitz (1956), with the constant of Massart (1990).

    Examples
    --------
    >>> from dplearn.theory import dkw_bound
    >>> round(float(dkw_bound(100_000, beta=0.05)), 4)
    0.0043
    """
    n = check_count("n", n, low=1)
    return math.sqrt(math.log(2 / float(check_number("beta", beta, above=0, below=1))) / (2 * n))
