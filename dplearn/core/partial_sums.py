"""A bound on the greatest partial sum of discrete Laplace noise.

>>> import math
>>> from dplearn.core.exact import decay_ratio
>>> ratio = decay_ratio(Fraction(1, 10))  # a scale of 10
>>> round(partial_sum_bound(ratio, 1, math.log(20))), round(partial_sum_bound(ratio, 100, math.log(20)))
(50, 349)
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.exact import decay_rate

__all__ = ["partial_sum_bound"]

_SHARES = np.geomspace(1e-6, 0.999, 400)


def partial_sum_bound(
    ratio: Fraction, steps: Any, log_odds: float, *, shares: NDArray[np.float64] = _SHARES
) -> Any:
    """Return a bound that all partial sums of discrete Laplace noise exceed with small probability only.

    Parameters
    ----------
    ratio : Fraction
        The ratio of the noise: P(k) proportional to ratio**abs(k).
    steps : number or array of numbers
        The number of draws; for a weighted sum with weights of at most 1, the sum of their squares.
    log_odds : float
        The greatest partial sum reaches the bound with probability at most exp(-log_odds).
    shares : ndarray of float64 of shape (k,), optional
        The exponents t of Chernoff's bound that are tried, as shares of their limit ln(1 / ratio).

    Returns
    -------
    float or ndarray of float64 of the shape of `steps`

    Notes
    -----
    exp(t sum) is a submartingale, so by Doob's inequality Chernoff's bound for the whole sum holds for the
    greatest partial sum. The logarithm of E[exp(t Z)] is -ln(1 - 4 r sinh(t / 2)**2 / (1 - r)**2), a convex
    function of t**2 that is 0 at 0. So its value at w t, for a weight w, is at most w**2 times its value at
    t.
    """
    exponents = decay_rate(ratio) * shares
    moments = -np.log1p(-float(ratio) * (2 * np.sinh(exponents / 2) / float(1 - ratio)) ** 2)
    found = np.min((np.asarray(steps)[..., np.newaxis] * moments + log_odds) / exponents, axis=-1)
    return found if np.ndim(steps) else float(found)
