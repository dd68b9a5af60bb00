"""The Gaussian noise of an answer: on sums, or on a finer grid where its variance is small.

Discrete Gaussian noise of variance v costs at most as much as continuous noise of variance v - 4 (see
`dplearn.privacy.gaussian_dp.sums_sigma2`). Sums whose noise is small are therefore multiplied by a power of
two before noise is added. The multiple is a function of public numbers, and the additional variance in units
of the sums is then negligible.

>>> noise = SumNoise.of(2, Fraction(1, 50), most=1000)
>>> noise.bits, noise.sigma2  # in units of the sums 50 + 4/256
(4, Fraction(12804, 1))
>>> round(noise.deviation, 4)
7.0722
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dplearn.privacy.gaussian_dp import SLACK, sums_sigma2

__all__ = ["SumNoise", "can_be_drawn"]

_WIDEST = 1 << 56  # the variance parameter of the sampler is below this
_FAR = 1 << 62  # and a multiplied sum below this
_FINE = SLACK << 10  # from this variance on, the additional one is below a thousandth


@dataclass(frozen=True)
class SumNoise:
    """The noise of the sums in an answer.

    Attributes
    ----------
    bits : int
        Sums are multiplied by 2**bits.
    squared_l2 : int
        The greatest squared Euclidean distance of the multiplied sums between neighbours.
    sigma2 : Fraction
        The variance parameter of the noise on multiplied sums.
    """

    bits: int
    squared_l2: int
    sigma2: Fraction

    @classmethod
    def of(cls, squared_l2: int, budget: Fraction, most: int) -> "SumNoise":
        """Return the noise of sums with a budget of mu^2 / 2.

        Parameters
        ----------
        squared_l2 : int
            The greatest squared Euclidean distance of the sums between neighbours.
        budget : Fraction
            Positive; mu^2 / 2 of this answer.
        most : int
            The greatest magnitude of a sum, below 2**62.
        """
        bits = 0
        while squared_l2 << 2 * bits < 2 * budget * _FINE and most << (bits + 1) < _FAR:
            bits += 1
        squared = squared_l2 << 2 * bits
        return cls(bits, squared, sums_sigma2(squared, budget))

    @property
    def deviation(self) -> float:
        """The standard deviation in units of the sums."""
        return math.sqrt(min(self.sigma2, Fraction(1 << 1000))) / (1 << self.bits)


def can_be_drawn(squared_l2: int, budget: Fraction) -> bool:
    """Return whether the sampler supports the noise of sums with a budget of mu^2 / 2.

    Parameters
    ----------
    squared_l2, budget
        As for `SumNoise.of`.
    """
    return sums_sigma2(squared_l2, budget) < _WIDEST
