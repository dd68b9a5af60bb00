"""How far sums of discrete Laplace noise may go.

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
    """Return what the greatest of all partial sums of discrete Laplace noise hardly ever reaches.

    Parameters
    ----------
    ratio : Fraction
        Of the noise.
    steps : number or array of numbers
        How many draws there are; of a sum with weights of at most 1, the sum of their squares.
    log_odds : float
        A partial sum reaches the bound with probability at most exp(-log_odds).
    shares : ndarray of float64 of shape (k,), optional
        What exponents of Chernoff's bound are tried, as shares of their limit ln(1 / ratio).

    Notes
    -----
    exp(t sum) is a submartingale; Doob's inequality gives the bound of Chernoff for the whole sum. The
    logarithm of E[exp(t Z)] is -ln(1 - 4 r sinh(t / 2)**2 / (1 - r)**2), a convex function of t**2 that is 0
    at 0: at w t it is at most w**2 times what it is at t.
    """
    exponents = decay_rate(ratio) * shares
    moments = -np.log1p(-float(ratio) * (2 * np.sinh(exponents / 2) / float(1 - ratio)) ** 2)
    found = np.min((np.asarray(steps)[..., np.newaxis] * moments + log_odds) / exponents, axis=-1)
    return found if np.ndim(steps) else float(found)
