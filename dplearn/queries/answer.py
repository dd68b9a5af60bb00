"""Answers to statistical queries, and bounds on their errors.

>>> bound = TailBound(root=0.01)  # an error above 0.01 sqrt(ln(2 / beta)) has probability at most beta
>>> round(bound.at(0.05), 4)
0.0192
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number


@dataclass(frozen=True)
class TailBound:
    """A bound on the errors of k numbers: bias + linear * L + root * sqrt(L) with L = ln(2 k / beta).

    Attributes
    ----------
    linear : float, default=0.0
        The coefficient of L: for Laplace noise, its scale.
    root : float, default=0.0
        The coefficient of sqrt(L): for Gaussian noise, sqrt(2) times its standard deviation; also for means
        of bounded numbers (see `sampling_bound`).
    size : int, default=1
        The number k of numbers.
    bias : float, default=0.0
        A bound on the bias of each number, for all records.
    """

    linear: float = 0.0
    root: float = 0.0
    size: int = 1
    bias: float = 0.0

    def at(self, beta: Any) -> float:
        """Return the bound that the errors of all numbers keep with probability at least 1 - beta."""
        log = math.log(2 * self.size / float(check_number("beta", beta, above=0, below=1)))
        return self.bias + self.linear * log + self.root * math.sqrt(log)

    def times(self, factor: float) -> "TailBound":
        """Return the bound for the numbers multiplied by `factor`."""
        return replace(self, **{name: factor * getattr(self, name) for name in ("linear", "root", "bias")})


def sampling_bound(width: float, n: int, size: int = 1) -> TailBound:
    """Return a bound on the deviation of means of n independent bounded numbers from their expectations.

    Parameters
    ----------
    width : float
        Width of the range of the numbers.
    n : int
        How many numbers each mean is over, at least 1.
    size : int, default=1
        The number of means.

    Returns
    -------
    TailBound

    Notes
    -----
    **Source.** Hoeffding (1963): P[deviation of t or more] <= 2 exp(-2 n t**2 / width**2).

    Examples
    --------
    >>> from dplearn.theory import sampling_bound
    >>> round(sampling_bound(1, 1000).at(0.05), 4)
    0.0429
    """
    return TailBound(root=width / math.sqrt(2 * n), size=size)


@dataclass(frozen=True)
class Answer:
    """The answer to one query.

    Attributes
    ----------
    means : ndarray of float64 of shape (k,)
        Released. The estimated mean of each of the query's numbers.
    n : int
        Public. The number of records that the means are over. Where that is private: released, an estimate.
    noise : TailBound
        Public. A bound on the difference between these means and the means over these records.
    sampling : TailBound
        Public. A bound on the difference between the means over these records and their expectations, if
        records are independent draws from a distribution. For reports of bits or categories `noise` bounds
        the sum of both differences, and this is 0.
    sums : TailBound or None
        Where the number of records is estimated: a bound on the part of that error that the noise in the sums
        adds. None: that is all of it.
    """

    means: NDArray[np.float64]
    n: int
    noise: TailBound
    sampling: TailBound
    sums: TailBound | None = None

    @property
    def noise_variance(self) -> float:
        """The variance of the noise in each mean, as its bound implies it; without that of a noisy `n`.

        Laplace noise of scale s has the variance 2 s**2, and `root` is sqrt(2) Gaussian standard deviations.
        """
        noise = self.sums or self.noise
        return 2 * noise.linear**2 + noise.root**2 / 2

    @property
    def mean(self) -> float:
        """The mean, if the query has a single number."""
        if len(self.means) != 1:
            raise ValueError(f"an answer of {len(self.means)} numbers has no single mean: see its means")
        return float(self.means[0])

    def tolerance(self, beta: Any = 0.05) -> float:
        """Return a bound on the errors of all means that holds with probability at least 1 - beta.

        The error is the difference to the expected mean of the bounded values: a number outside the bounds is
        replaced with the nearest bound, and a row longer than the norm with zeros. The probability is over
        the noise and the draw of the records. The bound includes the greatest bias over all records.
        """
        return tolerance_of(self.noise, self.sampling, check_number("beta", beta, above=0, below=1))


def tolerance_of(noise: TailBound, sampling: TailBound, beta: Fraction) -> float:
    """Return the sum of both bounds, each at beta / 2, or at beta if the other does not depend on beta."""
    random = sum(bool(bound.linear or bound.root) for bound in (noise, sampling))
    return sum(bound.at(beta / max(random, 1)) for bound in (noise, sampling))
