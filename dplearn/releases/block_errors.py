"""The plan of blocks of sorted records, and how far off the distribution made from them may be, without data.

`block_plan` fixes the blocks and bounds the error of the distribution:

>>> from dplearn.privacy import ApproxDP
>>> plan = block_plan(2**64, ApproxDP(1), 100_000)
>>> plan.left, plan.right, plan.spacing
(63, 63, 790)
>>> f"{plan.error(100_000, beta=0.05):.4f}"
'0.0183'
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
from dplearn.core.exact import decay_ratio
from dplearn.core.partial_sums import partial_sum_bound
from dplearn.core.search import first, lowest
from dplearn.mechanisms.block_points import block_cost, deltas_of_points
from dplearn.mechanisms.rec_prefix import RecursiveSizes
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.plan import Plan
from dplearn.releases.interior_point_sizes import interior_point_sample_size, recursive_sizes

__all__ = ["BlockPlan", "block_guarantee", "block_plan", "block_sample_size"]

#: Of blocks that are short or overlap, or of a point that is not among the records of its block.
_FAILURE = Fraction(1, 1000)
_BETA = 0.05  # for which the error of a plan is least
_SHARES = 32  # epsilon is shared out in so many equal parts


@dataclass(frozen=True)
class BlockPlan(Plan):
    """Blocks of sorted records, fixed for so many records before any value is seen.

    Attributes
    ----------
    size : int
        How many codes the domain has.
    n_samples : int
        From how many records on `error` holds.
    left, right : int
        How many blocks are cut off from below, and then how many from above.
    spacing : int
        How many records a block has but for noise.
    noise : ApproxDP
        What one more or less in a block's noise may show (delta 0).
    point : ApproxDP
        What the interior point of one block may spend.
    sizes : RecursiveSizes or None
        Those of the recursive method, where that finds the points; else the exponential mechanism does.
    guarantee : ApproxDP
        What all that keeps.
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
        """Return what `block_points` is proved to spend."""
        return block_cost(self)

    def ranks(self, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how many records are at most the point of each block, and how many less, but for noise.

        Parameters
        ----------
        n : int
            Number of records.

        Returns
        -------
        least : ndarray of float64 of shape (left + right,)
            If the block holds its point, at least so many records are at most the point.
        most : ndarray of float64 of shape (left + right,)
            At most so many are less.
        """
        below = self.spacing * np.arange(self.left, dtype=np.float64)
        above = n - self.spacing * np.arange(self.right, 0, -1, dtype=np.float64)
        starts = np.concatenate([below, above])
        return starts + 1, starts + self.spacing - 1

    def radius(self, levels: Any, beta: float) -> NDArray[np.float64]:
        """Return by how many records any cut may be off.

        Parameters
        ----------
        levels : array-like of int of any shape
            0 where a rank is known, else 1.
        beta : float
            Above 0 and below 1: the probability that any cut is off by more, or any block fails.

        Returns
        -------
        ndarray of float64 of the same shape
            Infinite where beta is less than what blocks fail with.

        Notes
        -----
        A cut is off by a sum of noises, and all blocks are sound, unless one of three has failed that
        `block_plan` provides for with a third of 1/1000 each. Doob's inequality for the rest: once for each
        side and sign.
        """
        beta = float(check_number("beta", beta, above=0, below=1))
        rest = beta - float(_FAILURE)
        longest = max(self.left, self.right)
        off = partial_sum_bound(self.ratio, longest, math.log(4 / rest)) if rest > 0 else math.inf
        return np.where(np.asarray(levels) > 0, off, 0.0)

    def error(self, n: int, beta: float) -> float:
        """Return how far a cumulative distribution function made from the blocks may be off, anywhere.

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
        Let s be the spacing and w the radius. Between the points of two neighbouring blocks, l and l + 1 from
        below, at least (l - 1) s + 1 - w records are at most x, and at most (l + 1) s - 1 + w; the released
        function rises there from (l - 1/2) s or more to (l + 1/2) s or less. So it is off by less than
        3 s / 2 + w. Between the blocks from below and those from above that is greater by the number of
        records that both leave, which is n - (left + right) s but for noise.
        """
        n = check_count("n", n, low=1)
        off = float(self.radius(1, beta))
        if n < self.n_samples or math.isinf(off):
            return 1.0
        return min(1.0, (n - (self.left + self.right - 1.5) * self.spacing + off) / n)


def block_plan(size: int, privacy: ApproxDP, n_samples: int) -> BlockPlan:
    """Return the blocks whose error for so many records is least.

    Parameters
    ----------
    size : int
        How many codes the domain has.
    privacy : ApproxDP
        Epsilon positive. Delta is spent only where the recursive method needs fewer records for a point.
    n_samples : int
        Number of records.

    Raises
    ------
    ValueError
        If there are too few records for one block on each side; the message says how many are needed.

    Notes
    -----
    Each of these fails with probability at most 1/3000. Some block has fewer than m records, for which its
    noise must be -t or less: m + t - 1 is the least spacing. The point of some block of m records or more is
    not among them. Blocks from below and from above overlap, for which all noise must exceed what is left
    between them.

    How epsilon is shared out is found with the number of records of a point taken as inversely proportional
    to its share; the number of blocks and their spacing are then computed exactly.
    """
    size, n_samples = check_count("size", size, low=1), check_count("n_samples", n_samples, low=1)
    return _block_plan(size, ApproxDP(epsilon_of(privacy), privacy.delta), n_samples)


def block_sample_size(size: int, privacy: ApproxDP, alpha: Any, beta: Any) -> int | None:
    """Return from how many records on a distribution made from the blocks for so many is accurate.

    Parameters
    ----------
    size, privacy
        As for `block_plan`.
    alpha : float
        Error that is wanted, as a share of the records, in (0, 1).
    beta : float
        Probability that it is exceeded, in (0, 1).

    Returns
    -------
    int or None
        A number n with `block_plan(size, privacy, n).error(n, beta)` at most alpha, where one fewer is not
        enough; more are enough too, but for roundings. None: blocks fail more often than beta, however many
        records there are.
    """
    share = check_number("alpha", alpha, above=0, below=1)
    if check_number("beta", beta, above=0, below=1) <= _FAILURE:
        return None

    def suffices(n: int) -> bool:
        try:
            return block_plan(size, privacy, n).error(n, beta) <= share
        except ValueError:  # too few for one block on each side
            return False

    enough = 1
    while not suffices(enough):
        enough *= 2
    return first(suffices, enough // 2 + 1, enough)


def block_guarantee(size: int, privacy: ApproxDP) -> ApproxDP:
    """Return what blocks keep, whatever the number of records: delta is 0 where it is not needed.

    Parameters
    ----------
    size, privacy
        As for `block_plan`.
    """
    return privacy if _recursive(size, privacy) else ApproxDP(privacy.epsilon)


@lru_cache(maxsize=256)
def _block_plan(size: int, privacy: ApproxDP, n: int) -> BlockPlan:
    recursive = _recursive(size, privacy)
    noise, point = _shared_out(size, privacy, recursive, n)
    ratio, slack = decay_ratio(noise), _point_delta(privacy, point, recursive)

    def spacing(side: int) -> int:
        """Return the least spacing for `side` blocks on each side."""
        part = _FAILURE / 3 / (2 * side)
        return _records(size, point, slack, part, recursive) + laplace_quantile(ratio, part) - 1

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
    part = _FAILURE / 3 / (2 * side)
    sizes = recursive_sizes(size, epsilon=point, delta=slack, beta=part) if recursive else None
    wide = (n - _between(ratio, side)) // (2 * side)
    kept = ApproxDP(privacy.epsilon, privacy.delta if recursive else 0)
    return BlockPlan(size, n, side, side, wide, ApproxDP(noise), ApproxDP(point, slack), sizes, kept)


@lru_cache(maxsize=256)
def _recursive(size: int, privacy: ApproxDP) -> bool:
    """Return whether the recursive method needs fewer records for the point of a block, of many."""
    if not privacy.delta:
        return False
    part, epsilon = _FAILURE / 300, privacy.epsilon

    def needed(recursive: bool) -> int:
        point = epsilon / (6 if recursive else 4)
        return _records(size, point, _point_delta(privacy, point, recursive), part, recursive)

    return needed(True) < needed(False)


def _shared_out(size: int, privacy: ApproxDP, recursive: bool, n: int) -> tuple[Fraction, Fraction]:
    """Return epsilon for the noise of a block's length, and for its point, where the error is about least."""
    epsilon, part = privacy.epsilon, _FAILURE / 300
    half = epsilon / (6 if recursive else 4)
    scale = _records(size, half, _point_delta(privacy, half, recursive), part, recursive) * half
    found = []
    for share in range(1, _SHARES):
        point = 2 * half * share / _SHARES
        noise = epsilon * (_SHARES - share) / (2 * _SHARES)
        ratio = decay_ratio(noise)
        spacing = math.ceil(scale / point) + laplace_quantile(ratio, part) - 1
        sides = np.unique(np.geomspace(1, max(1, n // (2 * spacing)), 64).astype(np.int64))
        room = n - 2 * sides * spacing - _between(ratio, sides)
        # Where no block has room: the share with which one would have it first.
        errors = np.where(room >= 0, _error(ratio, sides, n), n - np.minimum(room, 0) * 2.0)
        found.append((float(errors.min()), noise, point))
    _, noise, point = min(found)
    return noise, point


def _records(size: int, point: Fraction, slack: Fraction, failure: Fraction, recursive: bool) -> int:
    return interior_point_sample_size(
        "recursive" if recursive else "exponential",
        domain_size=size,
        epsilon=point,
        delta=slack,
        beta=failure,
    )


def _point_delta(privacy: ApproxDP, point: Fraction, recursive: bool) -> Fraction:
    return privacy.delta / deltas_of_points(point) if recursive else Fraction(0)


def _between(ratio: Fraction, sides: Any) -> Any:
    """Return how many records must be left so that blocks on both sides hardly ever overlap."""
    bound = np.ceil(partial_sum_bound(ratio, 2 * np.atleast_1d(sides), math.log(3 / _FAILURE))).astype(
        np.int64
    )
    return bound if np.ndim(sides) else int(bound[0])


def _error(ratio: Fraction, sides: Any, n: int) -> NDArray[np.float64]:
    """Return `BlockPlan.error`, in records, but for roundings."""
    counts = np.asarray(sides, dtype=np.int64)
    between = _between(ratio, counts)
    off = partial_sum_bound(ratio, counts, math.log(4 / (_BETA - float(_FAILURE))))
    error: NDArray[np.float64] = between + 1.5 * (n - between) / (2 * counts) + off
    return error
