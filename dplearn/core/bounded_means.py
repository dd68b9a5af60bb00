"""Confidence bounds on the mean of a distribution on [0, 1] from the mean of independent draws.

>>> low, high = mean_bounds(0.02, 10_000, 0.025)
>>> 0.016 < low < 0.02 < high < 0.025
True
"""

import math

__all__ = ["mean_bounds"]

_STEPS = 200
_MARGIN = 1e-9  # relative, for the rounding of logarithms


def mean_bounds(mean: float, n: int, error: float) -> tuple[float, float]:
    """Return confidence bounds on the mean of a distribution on [0, 1].

    Parameters
    ----------
    mean : float
        The mean of n independent draws; values outside [0, 1] count as its nearest end.
    n : int
        Number of draws, at least 1.
    error : float
        The greatest probability that the lower bound is too high, and also that the upper bound is too low.

    Returns
    -------
    low, high : float
        0 <= low <= mean <= high <= 1.

    Notes
    -----
    **Source.** Hoeffding (1963), Theorem 1: a mean of n draws is m or more with probability at most
    exp(-n KL(m, p)), where p < m is the true mean and KL the relative entropy of two coins. So low is the p
    below m with n KL(m, p) = ln(1 / error). For draws that are mostly small it is much nearer than m -
    sqrt(ln(1 / error) / (2 n)).
    """
    mean = min(1.0, max(0.0, mean))
    enough = math.log(1 / error) / n * (1 + _MARGIN) + _MARGIN / n
    return _below(mean, enough), 1 - _below(1 - mean, enough)


def _below(mean: float, enough: float) -> float:
    """Return the greatest p <= mean, found by bisection, whose relative entropy is at least `enough`."""
    low, high = 0.0, mean
    if mean <= 0:
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle > 0 and _entropy(mean, middle) < enough:
            high = middle
        else:
            low = middle
    return low


def _entropy(mean: float, p: float) -> float:
    """Return KL(mean, p), for 0 < p <= mean <= 1."""
    first = mean * math.log(mean / p)
    return first if mean >= 1 else first + (1 - mean) * math.log((1 - mean) / (1 - p))
