"""Noise of a private table of counts or sums, and bounds on the error of sums of its cells.

>>> from dplearn.chance import SeededDice
>>> noise = TableNoise.of(ApproxDP(1), l1=2, squared_l2=2)
>>> noise.gaussian, round(noise.deviation, 2)
(False, 2.8)
>>> noise.added(np.array([40, 3]), low=0, high=100, dice=SeededDice(1)).shape
(2,)
>>> noise.reach(1, 0.025, n_cells=2, room=100), noise.reach(20, 0.025, n_cells=20, room=1000)
(6, 35)
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.kernels.distributions import laplace_quantile
from dplearn.kernels.exact import decay_ratio
from dplearn.mechanisms import gaussian_sums, laplace_counts
from dplearn.privacy import ApproxDP, GaussianSums
from dplearn.privacy.gaussian_dp import sums_sigma2
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.shares import gaussian_budget

#: The arguments of the moment generating function among which a bound is chosen, as shares of the greatest.
_SHARES = np.concatenate([np.geomspace(1e-4, 0.1, 60), np.linspace(0.1, 0.999, 240)[1:]])
_MARGIN = 1 + 1e-9  # for rounding errors
_UNDERFLOW = -700.0


@dataclass(frozen=True)
class TableNoise:
    """Noise that hides one replaced record in a table of integers.

    Notes
    -----
    **Privacy.** `privacy`, by `laplace_counts` or `gaussian_sums`.

    **Assumes.** `l1` and `squared_l2` bound the differences between neighbours.

    **Accuracy.** `reach`.

    **Source.** As for these two mechanisms; Chernoff (1952) and Levy's inequality for sums.
    """

    privacy: ApproxDP  # delta is 0 unless `gaussian`
    l1: int  # the greatest sum of absolute differences of the cells between neighbours
    squared_l2: int  # the greatest sum of squared differences
    gaussian: bool  # discrete Gaussian, else discrete Laplace

    @classmethod
    def of(cls, privacy: ApproxDP, *, l1: int, squared_l2: int) -> "TableNoise":
        """Return the noise of the smaller variance: Gaussian only with delta, and for many cells."""
        pure = cls(replace(privacy, delta=Fraction(0)), l1, squared_l2, gaussian=False)
        if not privacy.delta:
            return pure
        other = cls(privacy, l1, squared_l2, gaussian=True)
        return other if other.deviation < pure.deviation else pure

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in one cell."""
        if self.gaussian:
            return math.sqrt(self._sigma2)
        ratio = self._ratio
        return float((2 * float(ratio)) ** 0.5 / float(1 - ratio))

    @property
    def _ratio(self) -> Fraction:
        return decay_ratio(epsilon_of(self.privacy) / self.l1)

    @property
    def _rate(self) -> float:
        """Return -ln(ratio), without cancellation where the ratio is near 0 or 1."""
        ratio = self._ratio
        return -math.log(ratio) if ratio < Fraction(1, 2) else -math.log1p(-float(1 - ratio))

    @property
    def _sigma2(self) -> float:
        return float(sums_sigma2(self.squared_l2, gaussian_budget(self.privacy)))

    def added(self, counts: NDArray[np.int64], *, low: int, high: int, dice: Dice) -> NDArray[np.int64]:
        """Return the table with noise, cells clipped to public ends."""
        found: Any
        if self.gaussian:
            found = gaussian_sums(
                counts,
                privacy=GaussianSums(gaussian_budget(self.privacy)),
                dice=dice,
                squared_sensitivity=self.squared_l2,
                low=low,
                high=high,
            )
        else:
            found = laplace_counts(
                counts, privacy=self.privacy, dice=dice, sensitivity=self.l1, low=low, high=high
            )
        return np.asarray(found, dtype=np.int64)

    def reach(self, cells: int, beta: Any, *, n_cells: int, room: int) -> int:
        """Return a distance that the error of a sum of cells exceeds, upwards, with probability <= beta.

        The noise is symmetric, so the same holds downwards. By Levy's inequality all partial sums of the
        cells, in any fixed order, exceed it with probability at most 2 beta together. The ends of a noisy
        cell are at least `room` from any true value. Sums of several cells are bounded only if no cell
        reached an end; beta includes the probability that one did.
        """
        if not cells:
            return 0
        if cells == 1 and not self.gaussian:
            return laplace_quantile(self._ratio, Fraction(beta)) - 1
        left = float(beta) - (2 * n_cells * self._beyond(room) if cells > 1 else 0.0)
        if left <= 0:
            return cells * 2 * room
        return max(0, math.ceil(self._chernoff(cells, left) * _MARGIN) - 1)

    def weighted_reach(
        self, weights: NDArray[np.float64], beta: float, *, n_cells: int, room: int
    ) -> NDArray[np.float64]:
        """Return distances that weighted sums of noise exceed, upwards, with probability <= beta each.

        A smaller weight of a cell, or one of the other sign, has a smaller distance.
        """
        left = beta - 2 * n_cells * self._beyond(room)
        if left <= 0:
            return np.asarray(2.0 * room * weights.sum(axis=1))
        bits = math.log(1 / left)
        if self.gaussian:
            return np.asarray(np.sqrt(2 * self._sigma2 * bits * (weights**2).sum(axis=1)) * _MARGIN)
        most = np.maximum(weights.max(axis=1), 1e-300)
        least = np.full(len(weights), np.inf)
        for share in _SHARES[:: _SHARES.size // 16]:
            s = share * self._rate * weights / most[:, None]
            found = (self._log_moment(s).sum(axis=1) + bits) / (share * self._rate / most)
            least = np.minimum(least, found)
        return least * _MARGIN

    def _log_moment(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the moment generating function of the Laplace noise of a cell."""
        first = 2 * math.log(-math.expm1(-self._rate))
        others = np.log(-np.expm1(s - self._rate)) + np.log(-np.expm1(-s - self._rate))
        return np.asarray(first - others)

    def _beyond(self, room: int) -> float:
        """Return an upper bound on the probability that the noise of one cell is at least `room`."""
        if self.gaussian:
            return math.exp(max(-(room**2) / (2 * self._sigma2), _UNDERFLOW)) * _MARGIN
        return math.exp(max(-room * self._rate, _UNDERFLOW)) * _MARGIN

    def _chernoff(self, cells: int, beta: float) -> float:
        """Return a t with P[sum of the noise of some cells >= t] <= beta: the best Chernoff bound."""
        if self.gaussian:  # its moment generating function is at most exp(s^2 sigma2 / 2)
            return math.sqrt(2 * cells * self._sigma2 * math.log(1 / beta))
        s = _SHARES * self._rate
        return float(np.min((cells * self._log_moment(s) + math.log(1 / beta)) / s))
