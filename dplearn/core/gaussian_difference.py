"""Upper bounds on the logarithms of the tails of the difference of two discrete Gaussian variables.

Let X and Y have P(k) proportional to exp(-k^2 / (2 s)), and let Z be the sum of these weights. Since
x^2 + (x + d)^2 = d^2 / 2 + 2 (x + d / 2)^2,

    P[Y - X = d] = exp(-d^2 / (4 s)) c(d),   c(d) = sum over integers x of exp(-(x + d / 2)^2 / s) / Z^2,

and c(d) depends only on the parity of d. So the distribution of the difference has a closed form, and its
tails are sums of its terms. At distance 2 and s = 1 the tail is .1393; for continuous noise it would be
.0786:

>>> import numpy as np
>>> np.exp(log_tails(1.0, 3)).round(4)
array([0.6411, 0.3589, 0.1393])
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

__all__ = ["log_tails"]

_BEYOND = 4096  # number of terms that are summed after the last requested tail
_TERMS = np.arange(1.0, 13.0)  # terms of theta series; the next term is below exp(-70) of the first
_UNIT = 2.0**-50


def log_tails(sigma2: float, size: int) -> NDArray[np.float64]:
    """Return bounds on ln P[Y - X >= g] for g from 0 to size - 1.

    Parameters
    ----------
    sigma2 : float
        From 1e-100 to 1e100; P(k) proportional to exp(-k^2 / (2 sigma2)) for both variables.
    size : int
        At least 1.

    Returns
    -------
    ndarray of float64 of shape (size,)
        Decreasing, and at least the true values; they exceed these by rounding errors and by the bound on the
        terms that are not summed.
    """
    end = size + _BEYOND
    d = np.arange(end, dtype=np.float64)
    even, odd = _log_theta(sigma2 / 2, 0.0), _log_theta(sigma2 / 2, 0.5)
    total = _log_theta(sigma2, 0.0)
    logs = -d * (d / (4 * sigma2)) + (np.where(d % 2, odd, even) - 2 * total)
    # c(odd) <= c(even), and exp(-t^2 / (4 s)) decreases: the sum of the terms from `end` on is at most
    # c(even) times the sum of the first of them and the integral from `end`, that of a Gaussian of variance 2
    # s.
    first = -end * (end / (4 * sigma2))
    integral = 0.5 * math.log(4 * math.pi * sigma2) + log_ndtr(-end / math.sqrt(2 * sigma2))
    beyond = np.logaddexp(first, integral) + even - 2 * total
    tails = np.logaddexp.accumulate(np.concatenate([[beyond], logs[::-1]]))[:0:-1][:size]
    return _rounded_up(tails, steps=end)


def _rounded_up(logs: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return upper bounds on the logarithms of sums of `steps` terms, given the computed logarithms.

    The logarithm of a term has an error of some units in its last place, and each addition of logarithms adds
    some more. The error of a term t in a sum T is weighted by its share t / T, and |ln t| exp(ln t - ln T) is
    at most |ln T| + 1. So the total error is at most (steps + 16) units of |ln T| + 1.
    """
    raised: NDArray[np.float64] = logs + (steps + 16) * _UNIT * (np.abs(logs) + 1)
    return np.minimum(raised, 0.0)


def _log_theta(variance: float, shift: float) -> float:
    """Return ln of the sum over integers x of exp(-(x + shift)^2 / (2 variance)), shift 0 or 1/2."""
    if variance >= 1:
        # Poisson summation: the sum over frequencies converges fast for a large variance.
        waves = np.exp(-2 * math.pi**2 * variance * _TERMS**2) * (np.cos(2 * math.pi * shift * _TERMS))
        return 0.5 * math.log(2 * math.pi * variance) + math.log1p(2 * float(waves.sum()))
    places = np.concatenate([-_TERMS[::-1], [0.0], _TERMS]) + shift
    return float(np.logaddexp.reduce(-(places**2) / (2 * variance)))
