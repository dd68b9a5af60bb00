"""The noise of central answers, from public numbers: a plan and an oracle use the same object.

>>> from dplearn.privacy import ApproxDP
>>> from dplearn.queries.query import MeanQuery
>>> noise, heads = Noise.of("laplace", ApproxDP(1), n=1000), MeanQuery(len, low=0, high=1)
>>> round(noise.deviation(heads, Fraction(1, 2)), 2)  # of the total, with half of the budget
2.83
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_rate, decay_ratio
from dplearn.mechanisms.noisy_counts import gaussian_sums, laplace_counts
from dplearn.privacy import ApproxDP, GaussianSums
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.shares import gaussian_budget
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS
from dplearn.queries.bounds import TailBound
from dplearn.queries.gaussian_noise import SumNoise, can_be_drawn
from dplearn.queries.query import StatisticalQuery

__all__ = ["Noise"]

_FAR = 1 << 62
_FAR_DEVIATION = 1 << 500  # above every useful standard deviation, and within the range of floats


@dataclass(frozen=True)
class Noise:
    """What a budget buys: the noise in the totals of a query, for a part of the budget.

    Attributes
    ----------
    budget : Fraction
        Of all queries together: mu^2 / 2 if the noise is Gaussian, else epsilon.
    gaussian : bool
        Whether the noise is Gaussian.
    n : int
        The number of records; where it is private, a guess or an estimate.
    each : int
        The rows of a record that take part.
    added : bool
        Whether a neighbour has one record more or less.
    most_records : int
        Where the number of records is private, totals are clipped to those of so many.
    """

    budget: Fraction
    gaussian: bool
    n: int
    each: int = 1
    added: bool = False
    most_records: int = MOST_RECORDS

    @classmethod
    def of(cls, kind: str, privacy: ApproxDP, n: int, **more: Any) -> "Noise":
        """Return the noise that a cost buys, of the kind "laplace" or "gaussian"."""
        gaussian = kind == "gaussian"
        budget = gaussian_budget(privacy) if gaussian else epsilon_of(privacy)
        return cls(budget, gaussian, n, added=privacy.neighbors == ADDED, **more)

    # A replaced group replaces `each` rows, so the totals of the rows differ by at most `each` times as much.

    def l1(self, query: StatisticalQuery) -> int:
        """Return the greatest distance of the totals between neighbours, in the L1 norm."""
        return query.added_l1 if self.added else query.l1 * self.each

    def squared_l2(self, query: StatisticalQuery) -> int:
        """Return the greatest squared Euclidean distance of the totals between neighbours."""
        return query.added_squared_l2 if self.added else query.squared_l2 * self.each**2

    def ends(self, query: StatisticalQuery) -> tuple[int, int]:
        """Return public ends of a total, which none is beyond."""
        n = self.n * self.each
        return (-self.most(query), self.most(query)) if self.added else (n * query.low, n * query.high)

    def most(self, query: StatisticalQuery) -> int:
        """Return the greatest magnitude of a total."""
        n = self.most_records if self.added else self.n * self.each
        return n * max(abs(query.low), abs(query.high))

    def sums(self, query: StatisticalQuery, part: Fraction) -> SumNoise:
        """Return the Gaussian noise of the totals."""
        return SumNoise.of(self.squared_l2(query), part * self.budget, self.most(query), query.size)

    def fits(self, query: StatisticalQuery) -> bool:
        """Return whether totals, and their noise, fit 64 bits."""
        return self.most(query) < _FAR

    def can_be_drawn(self, query: StatisticalQuery, part: Fraction) -> bool:
        """Return whether the sampler supports the noise."""
        if not self.gaussian:
            return True
        return can_be_drawn(self.sums(query, part).squared_l2, part * self.budget)

    def deviation(self, query: StatisticalQuery, part: Fraction) -> float:
        """Return the standard deviation of the noise in each total."""
        if self.gaussian:
            return self.sums(query, part).deviation
        return math.sqrt(min(2 * (self.l1(query) / (self.budget * part)) ** 2, Fraction(_FAR_DEVIATION)))

    def bound(self, query: StatisticalQuery, part: Fraction) -> TailBound:
        """Return the bound on the noise in the totals, in steps."""
        if self.gaussian:
            return TailBound(root=math.sqrt(2) * self.deviation(query, part), size=query.size)
        ratio = decay_ratio(part * self.budget / self.l1(query))
        return TailBound(linear=1 / decay_rate(ratio), size=query.size)

    def added_to(
        self, totals: Any, query: StatisticalQuery, part: Fraction, dice: Dice
    ) -> tuple[NDArray[np.float64], int]:
        """Return noisy multiples of totals, in steps, and the binary logarithm of the multiplier."""
        (low, high), spent, bits = self.ends(query), part * self.budget, 0
        if self.gaussian:
            noise = self.sums(query, part)
            bits = noise.bits
            noisy = gaussian_sums(
                noise.of_sums(totals),
                privacy=GaussianSums(spent),
                dice=dice,
                squared_sensitivity=noise.squared_l2,
                low=int(noise.of_sums(low)),
                high=int(noise.of_sums(high)),
            )
        else:
            noisy = laplace_counts(
                totals, privacy=ApproxDP(spent), dice=dice, sensitivity=self.l1(query), low=low, high=high
            )
        return np.asarray(noisy, dtype=np.float64), bits
