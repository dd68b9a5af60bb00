"""Plans and error bounds of both methods of `cdf`: `tree_plan` and `block_plan`, from public numbers."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import check_count, check_number
from dplearn.kernels import decay_rate, decay_ratio, depth_of, first, laplace_quantile, least, lowest
from dplearn.kernels.distributions import partial_sum_bound
from dplearn.mechanisms.block_points import block_cost, deltas_of_points
from dplearn.mechanisms.interior_point import RecursiveSizes
from dplearn.privacy import ApproxDP, Plan, ZeroConcentrated, ZeroConcentratedDP, calibrate
from dplearn.privacy.guarantees import epsilon_of
from dplearn.releases.interior_point import interior_point_sample_size, recursive_sizes

_WIDEST = 256  # greatest fan-out
_OFTEN = 64  # noise splits on average at most 1 / _OFTEN of the children of an empty split node
_TILTS = np.geomspace(1e-4, 0.999, 400)  # exponents tried in Chernoff's bound, as fractions of their limit
_MOST = 1 << 62
#: Probability that blocks are too short or overlap, or that a point is not among the records of its block.
_FAILURE = Fraction(1, 1000)
_BETA = 0.05  # a plan minimises the error bound for this probability of failure
_SHARES = 32  # epsilon is divided in units of 1/32
_POINTS = {"exponential": 2, "recursive": 3}  # how many times the epsilon of a point is spent, by its method


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
        above the knot the error is a sum of a_i Z_i over the m children of one node: with k before the knot,
        a_i is 1 - k / m for these and -k / m for the others, and on deeper levels a mean of two such values;
        so the sum of a_i ** 2 is at most k (m - k) / m <= `fan_out` / 4. The logarithm of E[exp(t Z)] is a
        convex function of t ** 2 that is 0 at 0 (discrete Laplace), or at most sigma2 t ** 2 / 2 (discrete
        Gaussian): that of the whole sum is at most levels * fan_out / 4 times that of one Z. The result is
        Chernoff's bound with a union bound over both signs and the at most fan_out ** level knots of each
        level, with beta / depth for each.
        """
        beta = float(check_number("beta", beta, above=0, below=1))
        return self._radius(levels, math.log(self.fan_out), math.log(2 * max(self.depth, 1) / beta))

    def _radius(self, levels: Any, log_knots: float, log_sides: float) -> NDArray[np.float64]:
        """Return Chernoff's bounds for exp(log_knots) times as many knots on each next level."""
        depths, half = np.asarray(levels), self.fan_out // 2
        spread, log_size = half * (self.fan_out - half) / self.fan_out, math.log(self.size)
        distinct, places = np.unique(depths, return_inverse=True)
        table = [
            self._tail(level * spread, min(level * log_knots, log_size) + log_sides) if level else 0.0
            for level in distinct.tolist()
        ]
        return np.array(table)[places.reshape(depths.shape)]

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
        Between two knots the difference is at most the error at the knots plus the number of records between
        them. A node of records that is not split has a noisy count below the threshold, so its count exceeds
        the threshold - 1 only by negative noise: the other half of beta is for that of the at most n nonempty
        nodes of each level.
        """
        n = check_count("n", n, low=1)
        half = float(check_number("beta", beta, above=0, below=1)) / 2
        if not self.depth:
            return 0.0
        if n < self.threshold:
            return 1.0
        uncut = self.threshold - 1 + self._noise_tail(math.log(n * self.depth / half))
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

        With fewer records, the median may be any value of the domain.
        """
        return math.floor(2 * float(self.radius_of_one(self.depth))) + 1

    def radius_of_one(self, levels: Any) -> NDArray[np.float64]:
        """Return a bound on the error of a knot of each level alone, in records, with probability .95."""
        return self._radius(levels, 0, math.log(2 / _BETA))

    def unknown_tail(self, n: int) -> float:
        """Return the most that the estimate of a knot with no record below it likely is."""
        return min(1.0, float(self.radius_of_one(self.depth)) / n)

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

    def _tail(self, spread: float, log_odds: float) -> float:
        """Return a bound that a sum of noises with squared weights summing to `spread` exceeds with
        probability at most exp(-log_odds).
        """
        if isinstance(self.privacy, ZeroConcentratedDP):
            return math.sqrt(2 * self.variance * spread * log_odds)
        return float(partial_sum_bound(self._ratio, spread, log_odds, shares=_TILTS))

    def _noise_tail(self, log_odds: float) -> float:
        """Return a bound that the noise of one count exceeds with probability at most exp(-log_odds)."""
        if isinstance(self.privacy, ZeroConcentratedDP):
            return math.sqrt(2 * self.variance * log_odds)
        return log_odds / decay_rate(self._ratio)


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
    With noise of variance v, the error within a node of m children at its k-th knot has variance k (m - k) /
    m * v, with mean (m * m - 1) / (6 m) * v. A path has `depth` such nodes; v is proportional to the square
    of `depth` for Laplace noise, and to `depth` for Gaussian noise. Noise splits an empty node with
    probability at most 1 / (64 `fan_out`), so that it has on average at most 1/63 split descendants.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import tree_plan
    >>> plan = tree_plan(2**32, ApproxDP(1))
    >>> plan.fan_out, plan.depth, plan.threshold
    (16, 8, 101)
    >>> f"{plan.error(100_000, beta=0.05):.4f}", plan.sample_size(alpha=0.01, beta=0.05)
    ('0.0151', 152060)
    """
    check_count("size", size, low=1)
    choices = _noises(privacy)
    plans = [
        _plan(size, fan_out, noise, guarantee) for noise, guarantee in choices for fan_out in _fan_outs(size)
    ]
    return min(plans, key=lambda each: each.depth * (each.fan_out - 1 / each.fan_out) / 6 * each.variance)


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
    gaussian = isinstance(noise, ZeroConcentratedDP)
    tail = math.ceil(uncut._noise_tail(-math.log(rare))) if gaussian else laplace_quantile(uncut._ratio, rare)
    return replace(uncut, threshold=max(1, tail))


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


@dataclass(frozen=True)
class BlockPlan(Plan):
    """The plan of points in blocks of the sorted records, made without data.

    Attributes
    ----------
    size : int
        Number of codes in the domain.
    n_samples : int
        Least number of records for which the bound of `error` holds.
    left, right : int
        Number of blocks cut from the least record upwards, and then from the greatest record downwards.
    spacing : int
        Number of records in a block before noise.
    noise : ApproxDP
        Privacy of the noise of one block's length, for a length that differs by 1 (delta 0).
    point : ApproxDP
        Budget of the interior point of one block.
    sizes : RecursiveSizes or None
        Sizes of the recursive method; None if the exponential mechanism finds the points.
    guarantee : ApproxDP
        The guarantee of all points together.
    """

    size: int = field(repr=False)  # Python writes no integer of more than 4,300 digits
    n_samples: int
    left: int
    right: int
    spacing: int
    noise: ApproxDP
    point: ApproxDP
    sizes: RecursiveSizes | None
    guarantee: ApproxDP

    @property
    def ratio(self) -> Fraction:
        """Return the ratio of the discrete Laplace noise of a block's length."""
        return decay_ratio(epsilon_of(self.noise))

    @property
    def privacy(self) -> ApproxDP:
        """Return the privacy cost of `block_points`."""
        return block_cost(self)

    def ranks(self, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds on the ranks of the blocks' points, before noise.

        Parameters
        ----------
        n : int
            Number of records.

        Returns
        -------
        least : ndarray of float64 of shape (left + right,)
            At least this many records are at most the point, if the point is an interior point of its block.
        most : ndarray of float64 of shape (left + right,)
            At most this many records are less than the point, under the same condition.
        """
        below = self.spacing * np.arange(self.left, dtype=np.float64)
        above = n - self.spacing * np.arange(self.right, 0, -1, dtype=np.float64)
        starts = np.concatenate([below, above])
        return starts + 1, starts + self.spacing - 1

    def radius(self, levels: Any, beta: float) -> NDArray[np.float64]:
        """Return a bound on the error of the ends of blocks, in records.

        Parameters
        ----------
        levels : array-like of int of any shape
            0 for knots whose rank is known, 1 for all others.
        beta : float
            Above 0 and below 1: the probability that some end has a greater error, or some block fails.

        Returns
        -------
        ndarray of float64 of the same shape
            Infinite at level 1 if beta is at most 1/1000, the probability that blocks fail.

        Notes
        -----
        The error of an end is a sum of noises, unless one of the three events in `block_plan` occurs, with
        probability at most 1/3000 each. Doob's inequality bounds the sums, once for each side and sign.
        """
        beta = float(check_number("beta", beta, above=0, below=1))
        rest = beta - float(_FAILURE)
        longest = max(self.left, self.right)
        off = partial_sum_bound(self.ratio, longest, math.log(4 / rest)) if rest > 0 else math.inf
        return np.where(np.asarray(levels) > 0, off, 0.0)

    def radius_of_one(self, levels: Any) -> NDArray[np.float64]:
        """Return a bound on the errors of all ends of blocks, in records, with probability .95."""
        return self.radius(levels, _BETA)

    def unknown_tail(self, n: int) -> float:
        """Return the most that the estimate of a knot with no record below it likely is."""
        return min(1.0, (float(self.radius_of_one(1)) + self.spacing) / n)

    @documented_by(TreePlan.error)
    def error(self, n: int, beta: float) -> float:
        """Return a bound on the greatest error of the distribution function made from the points.

        Returns
        -------
        float
            Greatest absolute difference, as a fraction of the records; at most 1.

        Notes
        -----
        Let s be the spacing and w the radius. For x between the points of two neighbouring left blocks, l and
        l + 1, at least (l - 1) s + 1 - w and at most (l + 1) s - 1 + w records are at most x; the released
        function increases there from (l - 1/2) s or more to (l + 1/2) s or less: its error is less than 3 s /
        2 + w. Between the left and the right blocks the bound is greater by the number of records in no
        block.
        """
        n = check_count("n", n, low=1)
        off = float(self.radius(1, beta))
        if n < self.n_samples or math.isinf(off):
            return 1.0
        return min(1.0, (n - (self.left + self.right - 1.5) * self.spacing + off) / n)

    def sample_size(self, alpha: float, beta: float) -> int | None:
        """Return the least n for which the plan of as many records has an `error` of at most alpha, or None.

        Parameters
        ----------
        alpha, beta : float
            Above 0 and below 1; of a beta of at most 1/1000 no number is enough.
        """
        share = check_number("alpha", alpha, above=0, below=1)
        if check_number("beta", beta, above=0, below=1) <= _FAILURE:
            return None

        def suffices(n: int) -> bool:
            try:
                return block_plan(self.size, self.guarantee, n).error(n, beta) <= share
            except ValueError:  # too few records for one block on each side
                return False

        return least(suffices, 1)


@lru_cache(maxsize=256)
@documented_by(tree_plan)
def block_plan(size: int, privacy: ApproxDP, n_samples: int) -> BlockPlan:
    """Return the plan of blocks with about the least error bound for `n_samples` records.

    Parameters
    ----------
    privacy : ApproxDP
        Budget; epsilon positive. Delta is spent only if the recursive method needs fewer records for a point.
    n_samples : int
        Number of records.

    Raises
    ------
    ValueError
        If there are too few records for one block on each side; the message gives the number needed.

    Notes
    -----
    Each of these three events has probability at most 1/3000. (1) Some block has fewer than m records: its
    noise is at most -t, where the spacing is at least m + t - 1. (2) The point of some block of m or more
    records is not an interior point. (3) Left and right blocks overlap: the sum of all noise exceeds the
    number of records between them. Epsilon is divided as if a point needed records in inverse proportion to
    its epsilon.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import block_plan
    >>> plan = block_plan(2**64, ApproxDP(1), 100_000)
    >>> plan.left, plan.right, plan.spacing, f"{plan.error(100_000, beta=0.05):.4f}"
    (63, 63, 790, '0.0183')
    """
    size, n = check_count("size", size, low=1), check_count("n_samples", n_samples, low=1)
    privacy = ApproxDP(epsilon_of(privacy), privacy.delta)
    method = _method(size, privacy)
    noise, of_point = _shared_out(size, privacy, method, n)
    ratio, point = decay_ratio(noise), _point(privacy, of_point, method)

    def spacing(side: int) -> int:
        """Return the least spacing for `side` blocks on each side."""
        failure = _FAILURE / 3 / (2 * side)
        return _records(size, point, failure, method) + laplace_quantile(ratio, failure) - 1

    def needed(side: int) -> int:
        return 2 * side * spacing(side) + int(_between(ratio, side))

    least = needed(1)
    if n < least:
        raise ValueError(
            f"n_samples must be at least {least} for blocks of records of this domain at this epsilon and"
            f" delta, got {n}"
        )
    most = first(lambda side: needed(side + 1) > n, 1, n // (2 * spacing(1)))
    side = lowest(lambda sides: _error(ratio, sides, n), 1, most)
    sizes = None
    if method == "recursive":
        failure = _FAILURE / 3 / (2 * side)
        sizes = recursive_sizes(size, epsilon=point.epsilon, delta=point.delta, beta=failure)
    wide = (n - _between(ratio, side)) // (2 * side)
    kept = block_guarantee(size, privacy)
    return BlockPlan(size, n, side, side, wide, ApproxDP(noise), point, sizes, kept)


@documented_by(block_plan)
def block_guarantee(size: int, privacy: ApproxDP) -> ApproxDP:
    """Return the guarantee of a plan of blocks, for every number of records.

    Returns
    -------
    ApproxDP
        `privacy`, with delta 0 if the exponential mechanism finds the points.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import block_guarantee
    >>> block_guarantee(2**64, ApproxDP(1)).epsilon
    Fraction(1, 1)
    """
    return privacy if _method(size, privacy) == "recursive" else ApproxDP(privacy.epsilon)


@lru_cache(maxsize=256)
def _method(size: int, privacy: ApproxDP) -> str:
    """Return the method that finds an interior point of the fewest records a block."""
    methods = list(_POINTS) if privacy.delta else ["exponential"]
    return min(methods, key=lambda method: _of_half(size, privacy, method)[0])


def _of_half(size: int, privacy: ApproxDP, method: str) -> tuple[int, Fraction]:
    """Return the records a block, where half of the budget is for points, and the epsilon of one point."""
    half = privacy.epsilon / (2 * _POINTS[method])
    return _records(size, _point(privacy, half, method), _FAILURE / 300, method), half


def _shared_out(size: int, privacy: ApproxDP, method: str, n: int) -> tuple[Fraction, Fraction]:
    """Return the epsilons of a block's noise and of its point that about minimise the error bound."""
    epsilon, failure = privacy.epsilon, _FAILURE / 300
    records, half = _of_half(size, privacy, method)
    found = []
    for share in range(1, _SHARES):
        point = 2 * half * share / _SHARES
        noise = epsilon * (_SHARES - share) / (2 * _SHARES)
        ratio = decay_ratio(noise)
        spacing = math.ceil(records * half / point) + laplace_quantile(ratio, failure) - 1
        sides = np.unique(np.geomspace(1, max(1, n // (2 * spacing)), 64).astype(np.int64))
        room = n - 2 * sides * spacing - _between(ratio, sides)
        # If no block fits: choose the share with which one block would need the fewest further records.
        errors = np.where(room >= 0, _error(ratio, sides, n), n - np.minimum(room, 0) * 2.0)
        found.append((float(errors.min()), noise, point))
    _, noise, point = min(found)
    return noise, point


def _records(size: int, point: ApproxDP, failure: Fraction, method: str) -> int:
    budget: dict[str, Any] = {"epsilon": point.epsilon, "delta": point.delta}
    return interior_point_sample_size(method, domain_size=size, **budget, beta=failure)


def _point(privacy: ApproxDP, epsilon: Fraction, method: str) -> ApproxDP:
    """Return the budget of the interior point of one block, given its epsilon."""
    return ApproxDP(epsilon, privacy.delta / deltas_of_points(epsilon) if method == "recursive" else 0)


def _between(ratio: Fraction, sides: Any) -> Any:
    """Return the number of records between left and right blocks, before noise, that prevents an overlap."""
    bound = np.ceil(partial_sum_bound(ratio, 2 * np.asarray(sides), math.log(3 / _FAILURE)))
    return bound.astype(np.int64) if np.ndim(sides) else int(bound)


def _error(ratio: Fraction, sides: Any, n: int) -> NDArray[np.float64]:
    """Return the bound of `BlockPlan.error` in records, up to rounding, for each number of blocks a side."""
    counts = np.asarray(sides, dtype=np.int64)
    between = _between(ratio, counts)
    off = partial_sum_bound(ratio, counts, math.log(4 / (_BETA - float(_FAILURE))))
    return between + 1.5 * (n - between) / (2 * counts) + off
