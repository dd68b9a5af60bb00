"""Calibration of noise: the least for which a theorem, or the exact distribution, proves a guarantee."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.kernels import exp_bounds
from dplearn.kernels.search import between
from dplearn.privacy.composition import least_epsilon
from dplearn.privacy.conversion import log_float
from dplearn.privacy.events import Event
from dplearn.privacy.gaussian_dp import float_sigma2, root_of_falling
from dplearn.privacy.guarantees import ApproxDP

_PRECISION = Fraction(1, 2**30)
_SECANTS, _CLOSE, _LARGEST_LOG = 20, 1e-11, 700.0  # of a guess
_LARGEST_SIGMA2 = 10.0**10  # the distribution of wider noise has more than a million terms
_LEAST_DELTA, _LARGEST_EPSILON = Fraction(1, 10**200), 10**4  # within the range of floats
_BITS = 160


def calibrate(
    make_event: Callable[[Fraction], Event], target: ApproxDP, *, low: Any, high: Any, increasing: bool = True
) -> Fraction:
    """Return the parameter of the costliest event whose cost is at most `target`.

    Parameters
    ----------
    make_event : callable
        Maps a parameter (Fraction) to an Event, usually a composition.
    target : ApproxDP
        The upper bound on the event's epsilon, at the delta of `target`.
    low, high : number
        Above 0; the ends of the searched interval.
    increasing : bool, default=True
        True if the cost increases with the parameter, as for an epsilon: the greatest parameter is returned.
        False if it decreases, as for the variance of noise: the least is returned.

    Returns
    -------
    Fraction
        The cost of the event at this parameter was computed and is at most `target`. If the cost is monotone,
        the parameter is within one part in 2**30 of the best, or is the costlier end of the interval.

    Raises
    ------
    ValueError
        If the cost exceeds `target` at both ends.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP, Composition, PureDP, calibrate
    >>> target = ApproxDP(1, 1e-6)
    >>> epsilon = calibrate(lambda e: Composition({PureDP(e): 1000}), target, low=0.001, high=1)
    >>> round(float(epsilon), 6)
    0.007495
    """
    cheap = check_number("low", low, above=0)
    dear = check_number("high", high, low=cheap)
    if not increasing:
        cheap, dear = dear, cheap

    @cache
    def cost(parameter: Fraction) -> Any:
        return least_epsilon(make_event(parameter), target.delta)

    def fits(parameter: Fraction) -> bool:
        return bool(least_epsilon(make_event(parameter), target.delta, target.epsilon) <= target.epsilon)

    if fits(dear):
        return dear
    if not fits(cheap):
        name, end = ("low", cheap) if increasing else ("high", cheap)
        raise ValueError(f"{name} must be a parameter that costs at most the target, got {float(end)!r}")
    found = cheap
    answer = between(fits, cheap, dear, _guess(cost, target.epsilon, cheap, dear))
    while abs(found - dear) > _PRECISION * min(found, dear):
        middle = _between(*sorted((found, dear)))
        found, dear = (middle, dear) if answer(middle) else (found, middle)
    while not fits(found):  # if the cost is not monotone, an end of the search may not have been computed
        found = (found + cheap) / 2
    return found


def _guess(
    cost: Callable[[Fraction], Any], wanted: Fraction, cheap: Fraction, dear: Fraction
) -> float | None:
    """Return a parameter of nearly the wanted cost, by secants of logarithms; None if they lead to none."""
    end, place, parameter = log_float(cheap), log_float(dear), dear
    if max(abs(end), abs(place)) > _LARGEST_LOG:
        return None
    (low, high), last, above = sorted((cheap, dear)), end, math.nan
    for _ in range(_SECANTS):
        if not 0 < cost(parameter) < math.inf:
            break
        before, above = above, log_float(Fraction(cost(parameter))) - log_float(wanted)
        rise = math.copysign(0.5, place - end) if math.isnan(before) else (above - before) / (place - last)
        moved = place - above / (rise or math.inf)
        if abs(above * before) < _CLOSE:  # the error after a secant is at most of that order
            return math.exp(moved)
        last, place = place, moved if (moved - end) * (place - end) > 0 else (place + end) / 2
        parameter = min(max(Fraction(math.exp(place)), low), high)
    return None


def _between(low: Fraction, high: Fraction) -> Fraction:
    """Return low times a power of 2 while high / low is at least 4, and the midpoint otherwise."""
    factors = int(high / low).bit_length() - 1
    return low * 2 ** (factors // 2) if factors > 1 else (low + high) / 2


def gaussian_sigma2(target: ApproxDP, sensitivity: int = 1) -> Fraction:
    """Return the least variance parameter with which discrete Gaussian noise on one integer has `target`.

    Parameters
    ----------
    target : ApproxDP
        Its delta must be at least 1e-200, its epsilon at most 10,000.
    sensitivity : int, default=1
        The greatest difference of the integer between neighbours; every smaller difference is checked too.

    Returns
    -------
    Fraction
        Integer arithmetic has verified that the exact delta is at most target.delta. The value exceeds the
        least such parameter by about one part in 10**12.

    Raises
    ------
    ValueError
        If `target` is out of that range, or requires a sigma above 100,000: use `calibrate` with a Gaussian
        event in its place.

    Notes
    -----
    **Privacy.** Let the integer differ by D, and Z be the noise. The log-ratio of the probabilities exceeds
    epsilon where Z > t = epsilon sigma2 / D - D / 2, so the exact delta is P[Z > t] - exp(epsilon) P[Z > t +
    D].

    **Source.** Canonne, Kamath and Steinke (2020), Theorem 7.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP, gaussian_sigma2
    >>> round(float(gaussian_sigma2(ApproxDP(1, 1e-6))), 3)
    17.899
    """
    sensitivity = check_count("sensitivity", sensitivity, low=1)
    if target.delta < _LEAST_DELTA or target.epsilon > _LARGEST_EPSILON:
        raise ValueError(
            f"target must have a delta of at least {float(_LEAST_DELTA):g} and an epsilon of at most"
            f" {_LARGEST_EPSILON}, got {target!r}"
        )
    # If D moves the integer, its noise is that of an integer moved by 1, times D.
    guess = sensitivity**2 * float_sigma2(float(target.epsilon), log_float(target.delta))
    if guess > _LARGEST_SIGMA2:
        raise ValueError(
            f"target must need a sigma of at most {math.sqrt(_LARGEST_SIGMA2):g}, got {target!r}, which needs"
            f" about {math.sqrt(guess):g}: calibrate a Gaussian event"
        )
    sigma2 = root_of_falling(lambda s: _log_excess(s, target, sensitivity), guess)
    exact, step = Fraction(sigma2), Fraction(1, 2**44)
    while not _suffices(exact, target, sensitivity):
        exact, step = exact * (1 + step), 2 * step
    return exact


def _reach(sigma2: float, target: ApproxDP, sensitivity: int) -> int:
    """Return K such that the probability beyond K is less than delta / 2**70."""
    return sensitivity + 2 + math.ceil(math.sqrt(2 * sigma2 * (math.log(2.0) * 80 - log_float(target.delta))))


def _log_excess(sigma2: float, target: ApproxDP, sensitivity: int) -> float:
    """Return ln(exact delta / target.delta) in float arithmetic, without cancellation."""
    epsilon, reach = float(target.epsilon), _reach(sigma2, target, sensitivity)
    k = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-k * k / (2 * sigma2))
    gains = (2 * k + sensitivity) * sensitivity / (2 * sigma2) - epsilon
    excess = np.sum(weights * -np.expm1(-np.maximum(gains, 0.0)))
    return float(np.log(max(excess, 1e-300) / np.sum(weights))) - log_float(target.delta)


def _suffices(sigma2: Fraction, target: ApproxDP, sensitivity: int) -> bool:
    """Return True only if the exact delta for each difference up to `sensitivity` is at most target.delta."""
    reach = _reach(float(sigma2), target, sensitivity)
    tails, error = _tails(sigma2, reach, _BITS - math.floor(log_float(target.delta) / math.log(2)))
    factor, total = exp_bounds(target.epsilon, digits=60)[0], tails[0] + tails[1]

    def tail(k: int) -> tuple[int, int]:
        """Return lower and upper bounds on the total weight of k and above; the weights are symmetric."""
        if k >= 0:
            above = tails[min(k, reach + 1)]
            return above, above + error
        rest = total - tails[min(1 - k, reach + 1)]
        return rest - error, rest + 2 * error

    for move in range(1, sensitivity + 1):
        first = math.floor(target.epsilon * sigma2 / move - Fraction(move, 2)) + 1
        if tail(first)[1] - factor * tail(first + move)[0] > target.delta * total:
            return False
    return True


def _tails(sigma2: Fraction, reach: int, bits: int) -> tuple[list[int], int]:
    """Return the total weight of k and above in units of 2**-bits, for k from 0 to reach + 1, and an error
    that bounds by how much the true sums exceed these. The weight exp(-k^2 / (2 sigma2)) is a product of
    factors, each the preceding one times exp(-1 / sigma2): the k-th factor loses at most 3 k + 3 units and
    the k-th weight 3 (k + 1)^2.
    """
    unit = 1 << bits
    digits = bits // 3 + 10
    factor = int(exp_bounds(-1 / (2 * sigma2), digits)[0] * unit)
    shrink = int(exp_bounds(-1 / sigma2, digits)[0] * unit)
    weights = [unit]
    for _ in range(reach):
        weights.append(weights[-1] * factor >> bits)
        factor = factor * shrink >> bits
    tails = list(accumulate(reversed(weights), initial=0))[::-1]
    # Beyond `reach` the weights decrease at least as fast as powers of the last factor.
    beyond = (weights[-1] + 3 * (reach + 1) ** 2) * unit // (unit - factor - 3 * (reach + 2)) + 1
    return tails, 3 * (reach + 2) ** 3 + beyond
