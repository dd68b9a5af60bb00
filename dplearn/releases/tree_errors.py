"""The plan of a tree of noisy counts, and how far off the distribution made from it may be, without data.

`tree_plan` fixes the intervals and bounds the error of the distribution, from public numbers alone:

>>> plan = tree_plan(2**32, ApproxDP(1))
>>> plan.fan_out, plan.depth, plan.threshold
(16, 8, 101)
>>> f"{plan.error(100_000, beta=0.05):.4f}, {dkw_bound(100_000, beta=0.05):.4f}"
'0.0151, 0.0043'
>>> plan.sample_size(alpha=0.01, beta=0.05)
152060
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.core.distributions import laplace_quantile
from dplearn.core.exact import decay_rate, decay_ratio
from dplearn.core.intervals import depth_of
from dplearn.core.partial_sums import partial_sum_bound
from dplearn.core.search import first
from dplearn.privacy import ApproxDP, ZeroConcentrated, ZeroConcentratedDP, calibrate
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.plan import Plan

__all__ = ["TreePlan", "dkw_bound", "tree_plan"]

_WIDEST = 256  # children of a node
_OFTEN = 64  # an empty node has one cut child in so many generations
_SHARES = np.geomspace(1e-4, 0.999, 400)  # of the exponent in Chernoff's bound, as a share of its limit
_MOST = 1 << 62


@dataclass(frozen=True)
class TreePlan(Plan):
    """A tree of noisy counts over a domain, fixed before any value is seen.

    Attributes
    ----------
    size : int
        How many codes the domain has.
    fan_out, depth : int
        The most parts that a node is cut into, and the levels below the root.
    threshold : int
        The noisy count from which on a node is cut.
    privacy : ApproxDP or ZeroConcentratedDP
        What `tree_counts` is to spend: an epsilon on Laplace noise or a rho on Gaussian noise.
    guarantee : ApproxDP
        What that keeps; its delta is 0 with Laplace noise.
    """

    size: int = field(repr=False)  # Python writes no integer of more than 4,300 digits
    fan_out: int
    depth: int
    threshold: int
    privacy: ApproxDP | ZeroConcentratedDP
    guarantee: ApproxDP

    def radius(self, levels: Any, beta: float) -> NDArray[np.float64]:
        """Return by how many records the estimate at a knot may be off.

        Parameters
        ----------
        levels : array-like of int of any shape
            The depths at which the knots were first cut, as in `Knots`.
        beta : float
            Above 0 and below 1: the probability that any knot of the tree is off by more.

        Returns
        -------
        ndarray of float64 of the same shape

        Notes
        -----
        Take the tree as if all of it were opened: a knot's estimate depends on its ancestors alone. On each
        level above it the error is a sum of a_i Z_i over the children of one node. For k of m children a_i is
        1 - k / m for the first k and -k / m for the others, and further down a mean of two such; so the sum
        of a_i ** 2 is at most k (m - k) / m, at most `fan_out` / 4. The logarithm of E[exp(t Z)] is a convex
        function of t ** 2 that is 0 at 0 (discrete Laplace), or at most sigma2 t ** 2 / 2 (discrete
        Gaussian): so that of the whole sum is at most levels * fan_out / 4 times that of one Z at t.
        Chernoff's bound, over both signs and all of at most fan_out ** level knots of a level, each level
        having beta / depth.
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
        """Return how far a cumulative distribution function made from the tree may be off, anywhere.

        Parameters
        ----------
        n : int
            Number of records.
        beta : float
            Above 0 and below 1: the probability that it is off by more.

        Returns
        -------
        float
            At most 1: a share of the records.

        Notes
        -----
        Half of beta is for the knots; making their estimates monotone enlarges no greatest error. Between two
        knots both functions rise from the one to the other, so they are apart by at most as many records as
        lie between, and the knots' error. An uncut node with more than one code, and a record in it, has less
        than the threshold unless its noise is negative: the other half of beta is for the noise of at most n
        nonempty nodes of each level.
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
        """Return from how many records on one knot is off by less than half of them, with probability .95.

        With fewer, a knot below all data may seem to have half of them below it: a median may be any value
        of the domain.
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
        """Return what a sum with weights of squared length `spread` exceeds at odds of exp(-log_odds)."""
        if isinstance(self.privacy, ZeroConcentratedDP):
            return math.sqrt(2 * self.variance * spread * log_odds)
        return float(partial_sum_bound(self._ratio, spread, log_odds, shares=_SHARES))

    def _noise_tail(self, log_odds: float) -> float:
        """Return what one count's noise exceeds with probability at most exp(-log_odds)."""
        if isinstance(self.privacy, ZeroConcentratedDP):
            return math.sqrt(2 * self.variance * log_odds)
        return log_odds / self._rate


@lru_cache(maxsize=256)
def tree_plan(size: int, privacy: ApproxDP) -> TreePlan:
    """Return the tree, and the noise, whose knots have the least mean squared error.

    Parameters
    ----------
    size : int
        How many codes the domain has.
    privacy : ApproxDP
        Epsilon positive. Gaussian noise is taken if delta is positive and it is the better.

    Notes
    -----
    With noise of variance v the mean over the m knots of a node of k (m - k) / m * v, the error within it, is
    (m * m - 1) / (6 m) * v. A path has `depth` such nodes; v grows like the square of `depth` for Laplace
    noise, in proportion to it for Gaussian noise. In a large domain 16 and 8 children are best.

    The threshold is such that noise cuts at most one of 64 times `fan_out` empty nodes, so that an empty node
    has one cut descendant in 63; it also keeps those from being cut whose records are fewer than the noise.
    """
    check_count("size", size, low=1)
    choices = _noises(privacy)
    plans = [
        _plan(size, fan_out, noise, guarantee) for noise, guarantee in choices for fan_out in _fan_outs(size)
    ]
    return min(plans, key=_knot_variance)


def _noises(privacy: ApproxDP) -> list[tuple[ApproxDP | ZeroConcentratedDP, ApproxDP]]:
    """Return what can be spent, and what it keeps."""
    pure = ApproxDP(epsilon_of(privacy))
    if not privacy.delta:
        return [(pure, pure)]
    target = ApproxDP(pure.epsilon, privacy.delta)
    rise = -math.log(privacy.delta)
    # rho + 2 sqrt(rho ln(1 / delta)) <= epsilon holds at `low`, but for roundings.
    low = (float(target.epsilon) / (math.sqrt(rise + float(target.epsilon)) + math.sqrt(rise))) ** 2
    rho = calibrate(ZeroConcentrated, target, low=low * 0.999, high=low * 1e4)
    return [(pure, pure), (ZeroConcentratedDP(rho), target)]


def _fan_outs(size: int) -> list[int]:
    """Return the least fan-out for each depth that some fan-out needs."""
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
    """Return how far the distribution of a sample may be from the population's, anywhere.

    Parameters
    ----------
    n : int
        Number of independent records.
    beta : float
        Above 0 and below 1: the probability that it is further.

    Notes
    -----
    **Source.** Dvoretzky, Kiefer and Wolfowitz (1956), with the constant of Massart (1990).
    """
    n = check_count("n", n, low=1)
    return math.sqrt(math.log(2 / float(check_number("beta", beta, above=0, below=1))) / (2 * n))
