"""Rational enclosures of pi and of the tail of the standard normal distribution.

>>> from fractions import Fraction
>>> low, high = tail_bounds(Fraction(3), bits=100)
>>> float(low), high - low < Fraction(1, 2**90)
(0.0013498980316300946, True)
"""

import math
from fractions import Fraction
from functools import lru_cache

from dplearn.core.exact import decay_bounds

__all__ = ["pi_bounds", "tail_bounds"]

_GUARD = 20  # additional bits: the error of pi is below 2**20 units for up to 10,000 bits


@lru_cache(maxsize=16)
def pi_bounds(bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals below and above pi, which differ by less than 2**-bits.

    Parameters
    ----------
    bits : int
        The precision, at most 10,000 bits.

    Notes
    -----
    pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin). Both series alternate with terms that decrease to 0.
    """
    unit = 1 << (bits + _GUARD)
    (low5, high5), (low239, high239) = _arctan(5, unit), _arctan(239, unit)
    return Fraction(16 * low5 - 4 * high239, unit), Fraction(16 * high5 - 4 * low239, unit)


def _arctan(n: int, unit: int) -> tuple[int, int]:
    """Return integers below and above unit * arctan(1 / n)."""
    power, total, terms = unit // n, 0, 0
    while power:
        total += (-1) ** terms * (power // (2 * terms + 1))
        power //= n * n
        terms += 1
    # Each term is rounded down by less than 2; the terms left out add up to less than 1.
    return total - 2 * terms - 1, total + 2 * terms + 1


def tail_bounds(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals below and above P[Z > x] for a standard normal Z.

    Parameters
    ----------
    x : Fraction
        Of any sign.
    bits : int
        The precision: the bounds differ by less than 2**-bits for values of `bits` from 40 to 2,000.

    Notes
    -----
    For x > 0, 1/2 - P[Z > x] is the sum of the terms phi(x) x^(2k+1) / (1 3 5 ... (2k+1)), all positive,
    where phi is the density: both sides are 0 at 0, and have the derivative phi(x). Lower bounds on the terms
    are rounded down, upper bounds up.
    """
    if x < 0:
        mirrored = tail_bounds(-x, bits)
        return 1 - mirrored[1], 1 - mirrored[0]
    square = x * x
    if square >= 2 * bits:  # P[Z > x] <= exp(-x^2 / 2) / 2 < 2**-bits
        return Fraction(0), Fraction(1, 1 << bits)
    # The sum magnifies the relative error of the density, which is about exp(-x^2 / 2).
    fine = bits + _GUARD + math.ceil(Fraction(3, 4) * square)
    unit = 1 << fine
    least, most = _density(x, fine)
    floor = square.numerator * unit // square.denominator  # of unit * square
    low = least * x.numerator // x.denominator
    high = -(-most * x.numerator // x.denominator)
    below, above, odd = low, high, 1
    while high > 2 or odd < 2 * square:
        odd += 2
        low = (low * floor >> fine) // odd
        high = (high * (floor + 1) >> fine) // odd + 1
        below, above = below + low, above + high
    # Each further term is at most half of the one before, so they add up to at most the last one.
    above += high
    return Fraction(unit - 2 * above, 2 * unit), Fraction(unit - 2 * below, 2 * unit)


def _density(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers below and above 2**bits * exp(-x^2 / 2) / sqrt(2 pi)."""
    low, high = decay_bounds(x * x, 20 + bits // 3, 2 * bits)
    least, most = pi_bounds(bits)
    unit = 1 << (2 * bits)
    return (
        math.isqrt(math.floor(unit * low / (2 * most))),
        math.isqrt(math.floor(unit * high / (2 * least))) + 1,
    )
