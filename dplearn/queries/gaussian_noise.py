"""The Gaussian noise of an answer: on sums, on a finer grid where its variance is small, or on a coarser one.

Discrete Gaussian noise of variance v costs at most as much as continuous noise of variance v - 4 (see
`dplearn.privacy.gaussian_dp.sums_sigma2`). Sums whose noise is small are therefore multiplied by a power of
two before noise is added. The multiple is a function of public numbers, and the additional variance in units
of the sums is then negligible. Sums whose noise is wider than the sampler permits are divided by a power of
two and rounded; rounding moves each of them by less than 1, which is added to their distance.

>>> noise = SumNoise.of(2, Fraction(1, 50), most=1000)
>>> noise.bits, noise.sigma2  # in units of the sums 50 + 4/256
(4, Fraction(12804, 1))
>>> round(noise.deviation, 4)
7.0722
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        Sums are multiplied by 2**bits, and rounded if that is negative.
    squared_l2 : int
        An upper bound on the squared Euclidean distance of these multiples between neighbours.
    sigma2 : Fraction
        The variance parameter of the noise on these multiples.
    """

    bits: int
    squared_l2: int
    sigma2: Fraction

    @classmethod
    def of(cls, squared_l2: int, budget: Fraction, most: int, size: int = 1) -> "SumNoise":
        """Return the noise of sums with a budget of mu^2 / 2.

        Parameters
        ----------
        squared_l2 : int
            The greatest squared Euclidean distance of the sums between neighbours.
        budget : Fraction
            Positive; mu^2 / 2 of this answer.
        most : int
            The greatest magnitude of a sum, below 2**62.
        size : int, default=1
            The number of sums.

        Notes
        -----
        Rounding to multiples of q = 2**-bits moves the difference of two multiples by less than 1 in each of
        the `size` sums, so that their distance is at most sqrt(squared_l2) / q + sqrt(size).
        """
        bits = 0
        while squared_l2 << 2 * bits < 2 * budget * _FINE and most << (bits + 1) < _FAR:
            bits += 1
        if can_be_drawn(squared_l2, budget):
            squared = squared_l2 << 2 * bits
            return cls(bits, squared, sums_sigma2(squared, budget))
        reach, more = _root_above(squared_l2), _root_above(size)
        coarser = range(1, reach.bit_length())
        bits = next((b for b in coarser if can_be_drawn((-(-reach >> b) + more) ** 2, budget)), 0)
        squared = (-(-reach >> bits) + more) ** 2 if bits else squared_l2
        return cls(-bits, squared, sums_sigma2(squared, budget))

    def of_sums(self, sums: Any) -> NDArray[np.int64]:
        """Return the multiples of sums, or of bounds on them."""
        if self.bits >= 0:
            return np.asarray(sums) << self.bits
        half = 1 << (-self.bits - 1)
        return (np.asarray(sums) + half) >> -self.bits

    @property
    def deviation(self) -> float:
        """The standard deviation in units of the sums."""
        return math.sqrt(min(self.sigma2, Fraction(1 << 1000))) / 2.0**self.bits


def can_be_drawn(squared_l2: int, budget: Fraction) -> bool:
    """Return whether the sampler supports the noise of sums with a budget of mu^2 / 2.

    Parameters
    ----------
    squared_l2, budget
        As for `SumNoise.of`.
    """
    return sums_sigma2(squared_l2, budget) < _WIDEST


def _root_above(number: int) -> int:
    """Return the root of a positive integer, rounded up."""
    return math.isqrt(number - 1) + 1
