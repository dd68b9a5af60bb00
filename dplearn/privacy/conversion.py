"""Renyi divergences: bounds as functions of the order, and their conversion into epsilon at a given delta.

For P with Renyi divergence at most D of order a > 1 from P', every event has
P[E] <= exp(epsilon) P'[E] + delta with

    epsilon = D + ln(1 / (a delta)) / (a - 1) + ln(1 - 1 / a)

(Canonne, Kamath and Steinke 2020, Proposition 12). Proof: the excess of P over exp(epsilon) P' is the mean
under P' of max(0, r - exp(epsilon)), where r is their ratio. The maximum is at most c r^a for the c with
which the two curves touch, at r = exp(epsilon) a / (a - 1), and the mean of r^a is exp((a - 1) D).

Every order gives a valid epsilon: floats choose the order, and exact enclosures compute the epsilon. Curves
are floats, rounded up: errors of numpy's exp, log1p, sinh and tanh are at most 4 units in the last place. No
formula has cancellation or 100 such errors, so a relative margin of 2**-44, at least 256 units, covers them.
Arguments are rounded up before they enter an increasing curve.
"""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dplearn.kernels import float_above, log_bounds

_DIGITS = 12
_LARGEST_EXPONENT = 700.0  # its exponential is within the range of floats


def as_decimal(x: Fraction, digits: int, rounding: str = ROUND_CEILING) -> Decimal:
    """Return the nearest decimal of `digits` significant digits in a direction of rounding, by default up."""
    return Context(prec=digits, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator))


def rounded_up(x: Fraction, digits: int = _DIGITS) -> Fraction:
    """Return the least decimal of `digits` significant digits that is at least x, as a Fraction."""
    return Fraction(as_decimal(x, digits))


def epsilon_at(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon at `delta` implied by the Renyi divergence of one order, rounded up to 12 digits."""
    tail = -log_bounds(order * delta)[0] / (order - 1)
    return max(Fraction(0), rounded_up(divergence + tail + log_bounds(1 - 1 / order)[1]))


@lru_cache(maxsize=1024)
def concentrated_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon at `delta` implied by zero-concentrated privacy, rounded up to 12 digits."""
    if not rho:
        return Fraction(0)
    order = best_order(rho, delta)
    return epsilon_at(order, rho * order, delta)


def best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the order at which the divergence rho * order implies the least epsilon, to float precision."""
    # The derivative of epsilon in the order a is rho - ln(1 / (a delta)) / (a - 1)^2: the minimum is where
    # rho (a - 1)^2, which increases, is ln(1 / (a delta)), which decreases.
    log_rho, log_delta = log_float(rho), log_float(delta)
    low, high = -_LARGEST_EXPONENT, _LARGEST_EXPONENT  # of ln(a - 1)
    for _ in range(64):  # 1400 / 2**64 is below the spacing of floats
        middle = (low + high) / 2
        rise = math.exp(min(log_rho + 2 * middle, _LARGEST_EXPONENT))
        if rise + math.log1p(math.exp(middle)) + log_delta < 0:
            low = middle
        else:
            high = middle
    return 1 + Fraction(math.exp(high))


def log_float(x: Fraction) -> float:
    """Return ln(x) as a float, also for x outside the range of floats."""
    return math.log(x.numerator) - math.log(x.denominator)


Floats = NDArray[np.float64]

_MARGIN = 1 + 2.0**-44
_LEAST_EPSILON = 2.0**-400  # smaller ones are rounded up to it, so that no product underflows


def pure_and_concentrated(epsilons: Floats, rhos: Floats, orders: Floats) -> Floats:
    """Return bounds on the Renyi divergences of releases with a known epsilon or rho; else infinity."""
    with np.errstate(over="ignore"):
        bounds: Floats = rhos[:, None] * orders * _MARGIN
    known = np.isfinite(epsilons)
    bounds[known] = np.minimum(bounds[known], _randomised_response(epsilons[known, None], orders))
    return bounds


def _randomised_response(epsilon: Floats, orders: Floats) -> Floats:
    """Return the Renyi curve of randomised response, the maximum over all epsilon private releases."""
    # At order a it is ln(cosh(x + epsilon / 2) / cosh(epsilon / 2)) / (a - 1) with x = epsilon (a - 1). The
    # numerator's derivative in x, a hyperbolic tangent, is concave, so that an error in x counts at most
    # twice.
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
    """Return the bound of the chords of (a - 1) times the divergence; infinity above the last point."""
    # A divergence increases with its order: orders are rounded down, and each value also bounds the
    # divergences of smaller orders. The chords' heights then increase, so their differences add without
    # cancellation.
    at = np.array([1.0, *(-float_above(-point) for point in points)])
    least = np.minimum.accumulate([float_above(value) for value in values][::-1])[::-1]
    heights = np.array([0.0, *least]) * (at - 1) * _MARGIN
    return np.interp(orders, at, heights, right=np.inf) / (orders - 1) * _MARGIN
