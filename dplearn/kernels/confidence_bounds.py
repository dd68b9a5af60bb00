"""Confidence bounds on a probability (Clopper-Pearson), and on the mean of a distribution on [0, 1]."""

import math
from math import nextafter
from typing import Any

from scipy.special import betainc, betaincinv

from dplearn._validation import check_count, check_number

_AIMED, _ASKED = 1 - 2e-6, 1 - 1e-6  # shares of the error; the rest is a margin for errors of betainc


def success_bounds(hits: int, n: int, error: Any) -> tuple[float, float]:
    """Return bounds on a success probability, each wrong with probability at most `error` (1e-100 to 1/2).

    **Source.** Clopper and Pearson (1934); the error is smaller by two parts in a million, for safety.
    """
    n = check_count("n", n, low=1, high=10**9)
    hits = check_count("hits", hits, high=n)
    error = float(check_number("error", error, low=1e-100, high=0.5))
    # The upper bound is 1 minus the lower bound on the failure probability, rounded up.
    return _lower(hits, n, error), min(1.0, nextafter(1 - _lower(n - hits, n, error), 2))


def _lower(hits: int, n: int, error: float) -> float:
    """Return a p with P[Binomial(n, p) >= hits] = betainc(hits, n - hits + 1, p) <= error."""
    # scipy's relative error is below 10**-7 (tests compare it with exact sums, up to n = 10**9): a computed
    # value below `error` by one part in a million proves the bound. If it is not, the bound is 0.
    if not hits:
        return 0.0
    p = float(betaincinv(hits, n - hits + 1, error * _AIMED))
    return p if betainc(hits, n - hits + 1, p) < error * _ASKED else 0.0


_STEPS = 200
_MARGIN = 1e-9  # relative, for the rounding of logarithms


def mean_bounds(mean: float, n: int, error: float) -> tuple[float, float]:
    """Return bounds on the mean of a distribution on [0, 1], from the mean of n draws; each wrong as above.

    By Hoeffding (1963), Theorem 1, P[mean >= m] <= exp(-n KL(m, p)) for a true mean p < m: low is the p below
    m with n KL(m, p) = ln(1 / error).
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
