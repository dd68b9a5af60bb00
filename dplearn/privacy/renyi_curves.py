"""Renyi curves: divergences as functions of the order, in floats that are rounded up.

Rounding. The errors of numpy's exp, log1p, sinh and tanh are at most 4 units in the last place, those of an
arithmetic operation at most half a unit. No formula below has cancellation or accumulates as many as 100 such
errors, so a relative margin of 2**-44, at least 256 units in the last place, covers them. Arguments are
rounded up before they enter an increasing curve.

>>> import numpy as np
>>> pure_and_concentrated(np.array([1, np.inf]), np.array([np.inf, 1 / 8]), np.array([2.0, 1000.0])).round(4)
array([[  0.7353,   0.9997],
       [  0.25  , 125.    ]])
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dplearn.core.exact import float_above

__all__ = ["Floats", "chords", "float_or_infinity", "pure_and_concentrated"]

Floats = NDArray[np.float64]

_MARGIN = 1 + 2.0**-44
_LEAST_EPSILON = 2.0**-400  # smaller ones are rounded up to it, so that no product underflows


def pure_and_concentrated(epsilons: Floats, rhos: Floats, orders: Floats) -> Floats:
    """Return bounds on the Renyi divergences of releases with a known epsilon, a known rho, or both.

    Parameters
    ----------
    epsilons, rhos : ndarray of float of shape (n,)
        Rounded up; infinite if unknown.
    orders : ndarray of float of shape (k,)
        Finite and above 1.

    Returns
    -------
    ndarray of float of shape (n, k)
        The minimum of the two curves; infinite if both numbers are unknown.
    """
    with np.errstate(over="ignore"):
        bounds: Floats = rhos[:, None] * orders * _MARGIN
    known = np.isfinite(epsilons)
    bounds[known] = np.minimum(bounds[known], _randomised_response(epsilons[known, None], orders))
    return bounds


def _randomised_response(epsilon: Floats, orders: Floats) -> Floats:
    """Return the Renyi curve of randomised response, the maximum over all epsilon private releases.

    At order a it is ln(cosh(x + epsilon / 2) / cosh(epsilon / 2)) / (a - 1) with x = epsilon (a - 1). The
    numerator's derivative in x, a hyperbolic tangent, is concave, so that an error in x counts at most twice.
    """
    epsilon = np.maximum(epsilon, _LEAST_EPSILON)
    # Where exp underflows to 0, the sum that it is a part of is at least 1: the margin covers it.
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        x = epsilon * (orders - 1)
        short = np.minimum(x, 1.0)
        # cosh(x + c) / cosh(c) - 1 = 2 sinh(x / 2)^2 + tanh(c) sinh(x), without cancellation for small x.
        near = np.log1p(2 * np.sinh(short / 2) ** 2 + np.tanh(epsilon / 2) * np.sinh(short))
        # For x >= 1 the sum of the terms' sizes is below 6 times their difference, and nothing overflows.
        far = x + np.log1p(np.exp(-(2 * x + epsilon))) - np.log1p(np.exp(-epsilon))
        curve = np.where(x < 1, near, far) / (orders - 1) * _MARGIN
    bounded: Floats = np.fmin(curve, epsilon)  # no divergence exceeds epsilon
    return bounded


def float_or_infinity(x: Fraction | None) -> float:
    """Return x rounded up to a float, or infinity for None."""
    return np.inf if x is None else float_above(x)


def chords(points: Sequence[Fraction], values: Sequence[Fraction], orders: Floats) -> Floats:
    """Return the bound of the chords of (a - 1) times the divergence, evaluated at `orders`.

    A divergence increases with its order: the given orders are therefore rounded down, and each value also
    bounds the divergences of smaller orders. The chords' heights then increase, so their differences add
    without cancellation.

    Parameters
    ----------
    points : sequence of Fraction
        Orders above 1, increasing.
    values : sequence of Fraction
        Bounds on the divergences of these orders.
    orders : ndarray of float of shape (k,)
        Finite and above 1.

    Returns
    -------
    ndarray of float of shape (k,)
        Rounded up; infinite above the last point.
    """
    at = np.array([1.0, *(-float_above(-point) for point in points)])
    least = np.minimum.accumulate([float_above(value) for value in values][::-1])[::-1]
    heights = np.array([0.0, *least]) * (at - 1) * _MARGIN
    curve: Floats = np.interp(orders, at, heights, right=np.inf) / (orders - 1) * _MARGIN
    return curve
