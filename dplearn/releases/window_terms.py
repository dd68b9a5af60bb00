"""Which windows release many quantiles with the least error, from public numbers.

`dplearn.mechanisms.quantile_windows` has the mechanism and its privacy, which holds for any terms; here terms
are chosen. Floats decide which terms are better, and never what they cost.

>>> twentieths = tuple(Fraction(i, 20) for i in range(1, 20))
>>> terms = window_terms(twentieths, 2**32, 200_000, epsilon=Fraction(1))
>>> terms.epsilon <= 1, min(terms.gaps) >= terms.least + terms.ramp
(True, True)
"""

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import ceil, inf, log, log1p, log2, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from dplearn.core.distributions import power_at_most
from dplearn.core.exact import selection_ratio
from dplearn.mechanisms.quantile_windows import WindowTerms

__all__ = ["BETA", "FAILURE", "noise_bounds", "window_terms"]

#: Probability that some window has less than full strength; and that some code outside a window is chosen.
FAILURE = Fraction(1, 1 << 40)
BETA = 0.05  #: Probability of failure at which bounds on errors are compared.
_MERGING = Fraction(1, 20)  # share of epsilon that is spent where two noisy ranks are mapped to one
_NOISE = tuple(Fraction(i, 20) for i in range(4, 17))  # possible shares of epsilon for the noise
_RAMPS = Fraction(1, 20), Fraction(1, 10), Fraction(1, 5)  # and for windows that lose strength


def window_terms(
    fractions: tuple[Fraction, ...], size: int, n: int, *, epsilon: Fraction
) -> WindowTerms | None:
    """Return the terms of least predicted error with a given privacy cost, or None if gaps are too small.

    Parameters
    ----------
    fractions : tuple of Fraction of length k
        The quantiles, strictly increasing, from 0 to 1.
    size : int
        Number of codes in the domain.
    n : int
        Number of records.
    epsilon : Fraction
        The cost of `codes_in_windows` with these terms is at most this.

    Notes
    -----
    The predicted error is the root mean square over quantiles for data whose neighbours are all equally far
    apart. All windows have full strength with high probability, and no code outside them is drawn. With more
    records, neither the predicted error nor the bound on the errors is greater.
    """
    k, targets = len(fractions), tuple(int(fraction * n) for fraction in fractions)
    # Gaps between targets are at least this, which never falls when n grows.
    narrowest = int(n * min(high - low for low, high in pairwise((Fraction(0), *fractions, Fraction(1)))))
    if narrowest * epsilon * log(2) < 6 * log2(k * size / FAILURE):
        return None  # even if all of epsilon were for the choice, windows would meet
    merging = epsilon * _MERGING
    fitting = [terms for terms in _possible(k, size, epsilon) if terms[0] <= narrowest]
    if not fitting:
        return None
    _, noise, choice, reach, least, ramp = fitting[-1]
    return WindowTerms(targets, n, noise, choice, reach, least, ramp, merging / 2, ceil(5 / merging))


@lru_cache(maxsize=64)
def _possible(k: int, size: int, epsilon: Fraction) -> list[tuple[int, Fraction, Fraction, int, int, int]]:
    """Return the gap that terms need, and the terms from `noise` on; greater gaps come with lesser errors."""
    merging = epsilon * _MERGING
    decay, zone = merging / 2, ceil(5 / merging)
    found = []
    for share, ramps in product(_NOISE, _RAMPS):
        noise, choice = epsilon * share, epsilon * (1 - _MERGING - share - ramps) / 3
        if choice <= 0:
            continue
        # The last rank more covers the rounding of the ratio of one unit of strength.
        reach = 1 + power_at_most(selection_ratio(2 * choice, 1), FAILURE / (k * size))
        reach = max(reach, -(-zone // 2))
        least = max(2 * reach, *_least_gaps(k, merging, decay, zone))
        ramp = ceil(4 * choice * reach / (epsilon * ramps))
        ratio = selection_ratio(noise, 1)
        margin = power_at_most(ratio, FAILURE * (1 - ratio) / (k + 1))
        error = sqrt(_mean_variance(k, float(ratio)) + 2 / float(choice) ** 2)
        found.append(((least + ramp + margin, noise, choice, reach, least, ramp), error))
    chain, least_error, least_bound = [], inf, inf
    for terms, error in sorted(found):
        _, noise, _, reach, _, _ = terms
        if error < least_error:
            bound = max(noise_bounds(k, float(selection_ratio(noise, 1)), BETA)) + reach
            if bound <= least_bound:
                least_error, least_bound = error, bound
                chain.append(terms)
    return chain


def _least_gaps(k: int, merging: Fraction, decay: Fraction, zone: int) -> tuple[int, int]:
    """Return the gaps from which on (k + 1) q(1) <= merging / 10 and q(zone) <= merging / 5.

    Then F <= 1 + merging (1/2 + 1/10 + 1/5 + 1/5) <= exp(merging).
    """
    each = 1 / (1 + decay)
    return 1 + power_at_most(each, merging / (10 * (k + 1))), zone + power_at_most(each, merging / 5)


def _mean_variance(k: int, ratio: float) -> float:
    """Return the mean variance of the noise in k ranks."""
    places: NDArray[Any] = np.arange(1, k + 1)
    return float(np.mean(2 * ratio / (1 - ratio) ** 2 * places * (k + 1 - places) / (k + 1)))


@lru_cache(maxsize=64)
def noise_bounds(k: int, ratio: float, beta: float) -> tuple[int, ...]:
    """Return what the noise of the k ranks exceeds with probability at most beta.

    Parameters
    ----------
    k : int
    ratio, beta : float

    Notes
    -----
    Chernoff's bound; see `dplearn.releases.quantile_errors.quantile_errors`.
    """
    totals = np.arange(int(40 * (k + 1) / (1 - ratio)) + 100)
    log_weights = 2 * (gammaln(totals + k + 1) - gammaln(totals + 1) - gammaln(k + 1) + totals * log(ratio))
    log_zero = logsumexp(log_weights) + 2 * (k + 1) * log1p(-ratio)  # of N(k + 1, 0)
    before = np.arange(1, k + 1)
    after = k + 1 - before
    # Near-optimal tilts are in the ratio of the numbers of moves on the other side.
    scales, top = np.geomspace(1e-3, 1e3, 200)[:, np.newaxis], -0.99 * log(ratio)
    up, down = np.minimum(scales / before, top), np.minimum(scales / after, top)
    bound = before * _log_moment(ratio, up) + after * _log_moment(ratio, down) - log_zero
    tails = (bound - np.log(-np.expm1(-up - down)) - log(beta / (2 * k))) / (up + down)
    return tuple(np.ceil(tails.min(axis=0)).astype(np.int64).tolist())


def _log_moment(ratio: float, tilt: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln E exp(tilt d) of a move d with P(d) proportional to ratio ** abs(d)."""
    above, below = np.log1p(-ratio * np.exp(tilt)), np.log1p(-ratio * np.exp(-tilt))
    moment: NDArray[np.float64] = 2 * np.log1p(-ratio) - above - below
    return moment
