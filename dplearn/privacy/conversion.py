"""Conversion of Renyi divergences into epsilon at a given delta, rounded up.

For P with Renyi divergence at most D of order a > 1 from P', every event has
P[E] <= exp(epsilon) P'[E] + delta with

    epsilon = D + ln(1 / (a delta)) / (a - 1) + ln(1 - 1 / a)

(Canonne, Kamath and Steinke 2020, Proposition 12). Proof: the excess of P over exp(epsilon) P' is the mean
under P' of max(0, r - exp(epsilon)), where r is their ratio. The maximum is at most c r^a for the c with
which the two curves touch, at r = exp(epsilon) a / (a - 1), and the mean of r^a is exp((a - 1) D).

Every order gives a valid epsilon. Floats therefore choose the order, and exact enclosures compute the
epsilon.

>>> from fractions import Fraction
>>> float(concentrated_epsilon(Fraction(1, 2), Fraction(1, 10**6)))
5.22153444454
"""

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dplearn.core.exact import log_bounds

__all__ = ["best_order", "concentrated_epsilon", "decimal_up", "epsilon_at", "log_float", "rounded_up"]

_DIGITS = 12
_LARGEST_EXPONENT = 700.0  # its exponential is within the range of floats


def decimal_up(x: Fraction, digits: int) -> Decimal:
    """Return the least decimal of `digits` significant digits that is at least x."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def rounded_up(x: Fraction, digits: int = _DIGITS) -> Fraction:
    """Return the least decimal of `digits` significant digits that is at least x, as a Fraction."""
    return Fraction(decimal_up(x, digits))


def epsilon_at(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon at `delta` implied by the Renyi divergence of one order, rounded up to 12 digits.

    Parameters
    ----------
    order : Fraction
        Above 1.
    divergence : Fraction
        At least the Renyi divergence of that order.
    delta : Fraction
        Above 0.
    """
    tail = -log_bounds(order * delta)[0] / (order - 1)
    return max(Fraction(0), rounded_up(divergence + tail + log_bounds(1 - 1 / order)[1]))


@lru_cache(maxsize=1024)
def concentrated_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon at `delta` implied by zero-concentrated privacy, rounded up to 12 digits.

    Parameters
    ----------
    rho : Fraction
        Nonnegative.
    delta : Fraction
        Above 0 and below 1.
    """
    if not rho:
        return Fraction(0)
    order = best_order(rho, delta)
    return epsilon_at(order, rho * order, delta)


def best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the order at which the divergence rho * order implies the least epsilon, to float precision.

    The derivative of epsilon with respect to the order a is rho - ln(1 / (a delta)) / (a - 1)^2, so the
    minimum is where rho (a - 1)^2 = ln(1 / (a delta)): the left side increases with a, the right side
    decreases.
    """
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
