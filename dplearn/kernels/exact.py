"""Exact arithmetic: rational enclosures of exponentials and logarithms.

Code that decides an outcome uses a rational number rounded to the safe side, or an interval that can be made
narrow enough for the decision.
"""

import math
import sys
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dplearn._validation import check_count

_SIGNIFICANT_BITS = 100
_SHORT = 10**40 << _SIGNIFICANT_BITS  # a fraction with a denominator that divides this is not rounded
_LARGEST_RATE = 700  # exp(-700) is the smallest ratio; a larger rate gets more noise than requested


def _contexts(digits: int) -> tuple[Context, Context]:
    return (
        Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX),
        Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX),
    )


def _enclosed(
    function: Callable[[Context, Decimal], Decimal], x: Fraction, digits: int
) -> tuple[Fraction, Fraction]:
    """Return rationals below and above the value of an increasing function at x."""
    # The decimal module rounds exp and ln to the nearest digit in any context; one step outwards gives
    # bounds.
    down, up = _contexts(digits)
    numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
    low = down.next_minus(function(down, down.divide(numerator, denominator)))
    high = up.next_plus(function(up, up.divide(numerator, denominator)))
    return Fraction(low), Fraction(high)


def exp_bounds(x: Fraction, digits: int = 40) -> tuple[Fraction, Fraction]:
    """Return rationals around exp(x), a few units of the last of `digits` digits apart; both 1 if x is 0."""
    if x == 0:
        return Fraction(1), Fraction(1)
    # The digits of the argument before the decimal point are needed in addition.
    digits += _decimal_places(abs(x.numerator) // x.denominator)
    return _enclosed(Context.exp, x, digits)


def decay_bounds(rate: Fraction, digits: int, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals around exp(-rate), for a rate >= 0; 0 and 2**-bits for a rate of `bits` or more."""
    if rate >= bits:  # exp(-rate) < 2**-rate
        return Fraction(0), Fraction(1, 1 << bits)
    return exp_bounds(-rate, digits)


def fixed_decay(rate: Fraction, bits: int) -> tuple[int, int]:
    """Return integers below and above 2**bits * exp(-rate), which differ by at most 2."""
    # The rational bounds differ by a few units of 10**-(20 + bits // 3), which is below 2**-bits / 10**19.
    low, high = decay_bounds(rate, 20 + bits // 3, bits)
    return math.floor(low * (1 << bits)), min(math.ceil(high * (1 << bits)), 1 << bits)


def fixed_power(base: int, exponent: int, bits: int) -> int:
    """Return a lower bound on b**exponent in units of 2**-bits, by squaring, from `base`, one on b in [0, 1].

    If `base` is too low by at most e units, b**k by fixed-point products, rounded down, is by k (e + 1) - 1
    at most, for k >= 1. Induction: products of numbers too low by f and g units are too low by less than f +
    g + 1, and k (e + 1) - 1 + l (e + 1) - 1 + 1 = (k + l)(e + 1) - 1.
    """
    power = 1 << bits
    for digit in bin(exponent)[2:]:
        power = power * power >> bits
        if digit == "1":
            power = power * base >> bits
    return power


def log_bounds(z: Fraction, digits: int = 40) -> tuple[Fraction, Fraction]:
    """Return rationals around ln(z) for a positive z, computed with `digits` digits; both 0 if z is 1."""
    if z <= 0:
        raise ValueError("log_bounds needs a positive number")
    if z == 1:
        return Fraction(0), Fraction(0)
    # A number near 1 needs additional digits: its leading digits agree with those of 1.
    digits += max(0, _decimal_places(z.denominator) - _decimal_places(abs(z.numerator - z.denominator)) + 2)
    return _enclosed(Context.ln, z, digits)


def at_most_exp(z: Fraction, x: Fraction) -> bool:
    """Return True if z <= exp(x): exp(x) is irrational for x != 0, so that enclosures decide exactly."""
    if x == 0:
        return z <= 1
    if 0 < z.numerator.bit_length() - z.denominator.bit_length() + 1 <= x:
        return True  # z < 2**x; the power itself may have millions of digits
    digits = 40
    while True:
        low, high = exp_bounds(x, digits)
        if z <= low:
            return True
        if z >= high:
            return False
        digits *= 2


def float_above(x: Fraction) -> float:
    """Return the least float that is at least x, possibly infinity."""
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf if x > 0 else -sys.float_info.max
    return nearest if nearest >= x else math.nextafter(nearest, math.inf)


def root_above(x: Fraction) -> Fraction:
    """Return a number that exceeds the square root of a positive x by less than one part in 2**60."""
    shift = 64 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2
    return (math.isqrt(math.floor(x * Fraction(4) ** shift)) + 1) / Fraction(2) ** shift


def root_below(x: Fraction) -> Fraction:
    """Return the square root of a nonnegative x, rounded down to a multiple of 2**-100."""
    return Fraction(math.isqrt(math.floor(x * (1 << 200))), 1 << 100)


def short_above(x: Fraction) -> Fraction:
    """Return x if it is a short decimal, else x rounded up to 100 significant bits."""
    if x < 0:
        raise ValueError("short_above needs a nonnegative number")
    if _SHORT % x.denominator == 0:
        return x
    shift = _SIGNIFICANT_BITS - _floor_log2(x)
    return Fraction(math.ceil(x * Fraction(2) ** shift)) / Fraction(2) ** shift


@lru_cache(maxsize=256)
def decay_ratio(rate: Fraction) -> Fraction:
    """Return a rational below 1 and just above exp(-rate), for a positive rate; 700 for rates above."""
    # It is the ratio of the probabilities of adjacent integers: rounded up, noise is never narrower than
    # requested. At least 32 significant bits of it and of its distance from 1 are right.
    if rate <= 0:
        raise ValueError("decay_ratio needs a positive rate")
    rate = min(rate, Fraction(_LARGEST_RATE))
    bits = 40 + max(0, -_floor_log2(rate)) + math.ceil(rate * Fraction(3, 2))
    high = exp_bounds(-rate, digits=30 + bits // 3)[1]
    return Fraction(math.ceil(high * (1 << bits)), 1 << bits)


def selection_ratio(epsilon: Fraction, sensitivity: int = 1) -> Fraction:
    """Return a rational just above exp(-epsilon / (2 sensitivity)), for the exponential mechanism."""
    if epsilon <= 0:
        raise ValueError(f"epsilon must be above 0, got {epsilon}")
    return decay_ratio(epsilon / (2 * check_count("sensitivity", sensitivity, low=1)))


def decay_rate(ratio: Fraction) -> float:
    """Return ln(1 / ratio) for a ratio in (0, 1), to full precision also close to 1."""
    below = 1 - ratio
    if below < Fraction(1, 2):
        return -math.log1p(-float(below))
    return math.log(ratio.denominator) - math.log(ratio.numerator)


def _decimal_places(n: int) -> int:
    """Return an upper bound on the number of decimal digits of n, in time linear in its length."""
    return n.bit_length() * 30103 // 100000 + 1  # log10(2) < .30103


def _floor_log2(x: Fraction) -> int:
    """Return floor(log2(x)) or one less, for positive x."""
    return x.numerator.bit_length() - x.denominator.bit_length() - 1
