"""Exact probabilities, as Fractions, of the discrete distributions that mechanisms draw from."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn.kernels.exact import decay_bounds, decay_rate, log_bounds


def power_probabilities(
    ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]
) -> list[Fraction]:
    """Return the distribution with P(i) proportional to multiplicities[i] * ratio**exponents[i]."""
    least = min(e for e, m in zip(exponents, multiplicities, strict=True) if m)
    p, q = ratio.numerator, ratio.denominator
    span = max(exponents) - least
    # With the common denominator q**span, each weight is an integer.
    weights = [
        m * p ** (e - least) * q ** (span - e + least) if m else 0
        for e, m in zip(exponents, multiplicities, strict=True)
    ]
    total = sum(weights)
    return [Fraction(weight, total) for weight in weights]


def laplace_tail(ratio: Fraction, threshold: int) -> Fraction:
    """Return P[Z >= threshold] for P(Z = k) proportional to ratio**abs(k)."""
    if threshold >= 1:
        return ratio**threshold / (1 + ratio)
    return 1 - ratio ** (1 - threshold) / (1 + ratio)


def laplace_probabilities(ratio: Fraction, low: int, high: int) -> list[Fraction]:
    """Return the distribution on low..high of min(max(Z, low), high), Z discrete Laplace."""
    return _between([laplace_tail(ratio, k) for k in range(low + 1, high + 1)])


def geometric_tail(ratio: Fraction, threshold: int) -> Fraction:
    """Return P[G >= threshold] for P[G >= k] = ratio**k, k >= 0."""
    return ratio ** max(threshold, 0)


def geometric_probabilities(ratio: Fraction, low: int, high: int) -> list[Fraction]:
    """Return the distribution on low..high of min(max(G, low), high), G geometric."""
    return _between([geometric_tail(ratio, k) for k in range(low + 1, high + 1)])


def _between(tails: list[Fraction]) -> list[Fraction]:
    return [above - below for above, below in zip([Fraction(1), *tails], [*tails, Fraction(0)], strict=True)]


def power_at_most(ratio: Fraction, target: Fraction) -> int:
    """Return the least k >= 0 with ratio**k <= target, for 0 < ratio < 1 and a positive target."""
    if target >= 1:
        return 0
    digits = 40
    while True:
        (low, high), (rate_low, rate_high) = log_bounds(1 / target, digits), log_bounds(1 / ratio, digits)
        least, most = ceil(low / rate_high), ceil(high / rate_low)
        if least == most:
            return least
        # The two bounds can stay different only if an integer lies between them; the power itself decides.
        if ratio**least <= target:
            return least
        digits *= 2


@lru_cache(maxsize=256)
def halving_width(ratio: Fraction) -> tuple[int, float]:
    """Return the greatest width with ratio**width >= 1/2, or 1 if there is none, and -log2(ratio**width)."""
    width = max(1, power_at_most(ratio, Fraction(1, 2)) - 1)
    return width, width * decay_rate(ratio) / log(2)


@lru_cache(maxsize=256)
def laplace_quantile(ratio: Fraction, delta: Fraction) -> int:
    """Return the least threshold >= 1 with P[Z >= threshold] <= delta, for Z as ratio**abs(k)."""
    check_number("delta", delta, above=0)
    return max(
        1, power_at_most(ratio, delta * (1 + ratio))
    )  # P[Z >= threshold] = ratio**threshold / (1 + ratio)


def permute_and_flip_probabilities(
    ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]
) -> list[Fraction]:
    """Return the distribution of the group of the candidate that permute-and-flip selects."""
    # Let candidates arrive at uniform times in [0, 1], each accepted with p = ratio**(exponent - the least);
    # the first accepted one is selected. So group i has the integral over t in [0, 1] of m_i p_i (1 - p_i
    # t)**(m_i - 1) times the product over the other groups j of (1 - p_j t)**m_j, a polynomial in t.
    least = min(e for e, m in zip(exponents, multiplicities, strict=True) if m)
    accept = [
        ratio ** (e - least) if m else Fraction(0) for e, m in zip(exponents, multiplicities, strict=True)
    ]
    distribution = []
    for i, winner in enumerate(multiplicities):
        survival = [Fraction(1)]  # coefficients of the polynomial in t, constant first
        for j, m in enumerate(multiplicities):
            survival = _times_power_of_one_minus(survival, accept[j], max(m - (i == j), 0))
        integral = sum((c / (k + 1) for k, c in enumerate(survival)), Fraction(0))
        distribution.append(winner * accept[i] * integral)
    return distribution


def _times_power_of_one_minus(polynomial: list[Fraction], p: Fraction, m: int) -> list[Fraction]:
    """Return the coefficients of polynomial(t) * (1 - p t)**m."""
    product = [Fraction(0)] * (len(polynomial) + m)
    for k in range(m + 1):
        factor = comb(m, k) * (-p) ** k
        for place, c in enumerate(polynomial, k):
            product[place] += factor * c
    return product


@lru_cache(maxsize=64)
def gaussian_probabilities(sigma2: Fraction, bits: int = 40) -> tuple[list[int], list[Fraction], Fraction]:
    """Return support, masses, multiples of 2**-bits from below, and omitted mass of a discrete Gaussian."""
    digits = 20 + bits // 3
    highs = [Fraction(1)]
    while highs[-1] >= Fraction(1, 1 << (bits + 8)):
        highs.append(decay_bounds(Fraction(len(highs) ** 2) / (2 * sigma2), digits, bits + 9)[1])
    # Beyond the last k the weights decrease at least as fast as a geometric series with this ratio.
    fall = decay_bounds(Fraction(2 * len(highs) - 1) / (2 * sigma2), digits, bits + 9)[1]
    total = 1 + 2 * sum(highs[1:], Fraction(0)) + 2 * highs[-1] * fall / (1 - fall)
    side = []
    for k in range(len(highs)):
        low = decay_bounds(Fraction(k * k) / (2 * sigma2), digits, bits + 9)[0]
        side.append(Fraction((low / total * (1 << bits)).__floor__(), 1 << bits))
    side = [mass for mass in side if mass]
    support = list(range(1 - len(side), len(side)))
    masses = [*reversed(side[1:]), *side]
    return support, masses, 1 - sum(masses, Fraction(0))


_SHARES = np.geomspace(1e-6, 0.999, 400)


def partial_sum_bound(
    ratio: Fraction, steps: Any, log_odds: float, *, shares: NDArray[np.float64] = _SHARES
) -> Any:
    """Return a bound that partial sums of discrete Laplace noise reach with probability <= exp(-log_odds).

    `steps` is the number of draws or, for weights of at most 1, the sum of their squares. Doob's inequality
    makes Chernoff's bound, with exponents `shares` of ln(1 / ratio), that of the greatest partial sum. ln
    E[exp(t Z)] = -ln(1 - 4 r sinh(t / 2)**2 / (1 - r)**2) is convex in t**2 and 0 at 0: a weight w multiplies
    it by <= w**2.
    """
    exponents = decay_rate(ratio) * shares
    moments = -np.log1p(-float(ratio) * (2 * np.sinh(exponents / 2) / float(1 - ratio)) ** 2)
    found = np.min((np.asarray(steps)[..., np.newaxis] * moments + log_odds) / exponents, axis=-1)
    return found if np.ndim(steps) else float(found)
