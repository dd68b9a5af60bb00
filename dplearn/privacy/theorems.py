"""Five theorems on what releases cost together: from an event to an epsilon at a delta.

Each takes any event, mostly a composition, and gives an epsilon that is certainly valid, rounded up to 12
digits, or infinity where the theorem does not apply. Floats choose orders and trial values; what they chose
is then evaluated by enclosures. The event's failure F is set aside first: a delta of (delta - F) / (1 - F)
is left for the rest.

>>> from dplearn.privacy.events import PureDP
>>> float(advanced(PureDP(1), Fraction(1, 2))), basic(PureDP(1), Fraction(1, 2))
(1.09703042187, Fraction(1, 1))
"""

import math
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from dplearn.core.exact import exp_bounds, float_above, log_bounds, short_above
from dplearn.privacy.conversion import concentrated_epsilon, epsilon_at, log_float, rounded_up
from dplearn.privacy.events import Event
from dplearn.privacy.renyi_curves import Floats

__all__ = [
    "THEOREMS",
    "Epsilon",
    "advanced",
    "basic",
    "least_epsilon",
    "optimal_homogeneous",
    "renyi",
    "zero_concentrated",
]

Epsilon = Fraction | float  # the only float is infinity

_MOST_RELEASES = 10**5  # the sum over so many terms takes some tenths of a second
_LARGEST_EPSILON = 1000  # of one release: beyond it there is nothing to gain on `basic`
_DIGITS = 60
_LOST_DIGITS = 10  # 10**5 steps of a few roundings each lose fewer than 7
_REFINEMENTS = 5
_TRIALS = 20


def basic(event: Event, delta: Fraction) -> Epsilon:
    """Add up the epsilons; the failures must add up to at most `delta`."""
    return math.inf if event.pure is None or _failure(event) > delta else event.pure


def advanced(event: Event, delta: Fraction) -> Epsilon:
    """Return mean + t of the privacy loss of randomised responses, by Hoeffding's bound.

    Notes
    -----
    No composition of epsilon_i private releases is worse than that of randomised responses, whose log-ratios
    are epsilon_i or -epsilon_i with mean epsilon_i tanh(epsilon_i / 2). Let m be the sum of the means and V
    the sum of the epsilon_i^2; by Hoeffding the loss L exceeds m + s with probability at most
    exp(-s^2 / 2V). The delta at m + t is the mean of max(0, 1 - exp(m + t - L)), that is the integral over
    u > 0 of exp(-u) P[L > m + t + u], at most exp(-t^2 / 2V) times the integral of exp(-u (1 + t / V)):

        delta <= exp(-t^2 / 2V) / (1 + t / V).

    Setting 1 + t / V aside gives t = sqrt(2 V ln(1 / delta)); with t = sqrt(2 V ln(e + sqrt(V) / delta))
    the denominator does the rest: these are the two terms of Kairouz, Oh and Viswanath (2017), Theorem 3.5,
    which improves on Dwork, Rothblum and Vadhan (2010). The t that solves the equation is below both.
    """
    parts, rest = event.flat(1), _rest(event, delta)
    epsilons = [(part.pure, count) for part, count in parts.items() if part.pure is not None]
    if len(epsilons) < len(parts) or rest <= 0 or any(e > _LARGEST_EPSILON for e, _ in epsilons):
        return math.inf
    variance = sum((count * short_above(epsilon**2) for epsilon, count in epsilons), Fraction(0))
    mean = sum((count * _mean_loss(epsilon) for epsilon, count in epsilons), Fraction(0))
    return rounded_up(mean + _deviation(variance, rest)) if variance else Fraction(0)


def _mean_loss(epsilon: Fraction) -> Fraction:
    """Return epsilon tanh(epsilon / 2), rounded up; tanh(x) rises with exp(2 x)."""
    high = exp_bounds(epsilon)[1]
    return short_above(epsilon * (high - 1) / (high + 1))


def _deviation(variance: Fraction, delta: Fraction) -> Fraction:
    """Return a t, near the least, with t^2 / 2V + ln(1 + t / V) >= ln(1 / delta)."""
    needed = -log_bounds(delta)[0]
    v, wanted = float_above(variance), float_above(needed)
    enough = _root_above(2 * variance * needed)  # for t^2 / 2V >= ln(1 / delta) alone
    low, high = 0.0, math.sqrt(2 * v * wanted)
    if high == math.inf:
        return enough
    for _ in range(60):
        middle = (low + high) / 2
        if middle * middle / (2 * v) + math.log1p(middle / v) < wanted:
            low = middle
        else:
            high = middle
    t = Fraction(high)
    for _ in range(_TRIALS):
        if t * t / (2 * variance) + log_bounds(1 + t / variance)[0] >= needed:
            return min(t, enough)
        t *= 1 + Fraction(1, 2**45)
    return enough


def _root_above(x: Fraction) -> Fraction:
    """Return a number above the square root of a positive x, by less than one part in 2**60."""
    shift = 64 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2
    return (math.isqrt(math.floor(x * Fraction(4) ** shift)) + 1) / Fraction(2) ** shift


def optimal_homogeneous(event: Event, delta: Fraction) -> Epsilon:
    """Return the exact epsilon of k releases that have epsilon e each, e being the greatest among them.

    Notes
    -----
    Kairouz, Oh and Viswanath (2017), Theorem 3.3. Let l of k randomised responses tell a lie. That has
    probability p_l proportional to C(k, l) exp((k - l) e) here and q_l proportional to C(k, l) exp(l e)
    there. No failure has probability S, the product of the 1 - delta_i. What is left for the rest is
    s = 1 - (1 - delta) / S, and exp(epsilon) is the greatest over l of
    ((p_0 + ... + p_l) - s) / (q_0 + ... + q_l). Numbers carry 60 digits or more; all but 10 are relied on.
    """
    parts = event.flat(1)
    epsilons = [part.pure for part in parts]
    greatest = max((e for e in epsilons if e is not None), default=Fraction(0))
    if None in epsilons or greatest > _LARGEST_EPSILON or sum(parts.values()) > _MOST_RELEASES or not delta:
        return math.inf
    if any(_failure(part) > delta for part in parts):
        return math.inf
    releases = sum(count for part, count in parts.items() if part.pure)
    digits = _DIGITS + math.ceil(-log_float(delta) / math.log(10))
    with localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        trust = Decimal(10) ** (_LOST_DIGITS - digits)
        survival = _survival(parts) * (1 - trust)
        slack = 1 - _decimal(1 - delta) / survival - trust if survival > 0 else Decimal(0)
        ratio = _worst_ratio(releases, _decimal(greatest), slack, trust) if slack > 0 else None
        # As a fraction, exp(100000) would have 43,000 digits.
        log = ratio.ln().next_plus() if ratio and ratio > 1 else Decimal(0)
    return math.inf if ratio is None else rounded_up(Fraction(log))


def _survival(parts: Mapping[Event, int]) -> Decimal:
    """Return the probability that no release fails, 0 where that is not known to be positive.

    Each 1 - failure is subtracted exactly: of a failure near 1 the digits that count come late.
    """
    survival = Decimal(1)
    for part, count in parts.items():
        survival *= _decimal(max(Fraction(0), 1 - part.failure)) ** count
    return survival


def _worst_ratio(releases: int, epsilon: Decimal, slack: Decimal, trust: Decimal) -> Decimal:
    """Return the greatest (p_0 + ... + p_l - slack) / (q_0 + ... + q_l), at least 1, rounded up."""
    growth = epsilon.exp()
    p, q = (growth / (1 + growth)) ** releases, (1 / (1 + growth)) ** releases
    worst, mine, theirs = Decimal(1), Decimal(0), Decimal(0)
    for lies in range(releases + 1):
        if p <= worst * q:  # as are all later ones: adding them cannot raise the quotient above `worst`
            break
        mine, theirs = mine + p, theirs + q
        worst = max(worst, (mine * (1 + trust) - slack) / (theirs * (1 - trust)))
        step = Decimal(releases - lies) / (lies + 1)
        p, q = p * step / growth, q * step * growth
    return worst


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / x.denominator


def zero_concentrated(event: Event, delta: Fraction) -> Epsilon:
    """Add up the rhos and convert their sum at its best order (`dplearn.privacy.conversion`)."""
    rest = _rest(event, delta)
    return math.inf if event.rho is None or rest <= 0 else concentrated_epsilon(event.rho, rest)


def renyi(event: Event, delta: Fraction) -> Epsilon:
    """Add up the Renyi curves and convert the sum at the order that serves best.

    Orders are searched on a grid that is made finer five times around the best; the sum at the best order
    is a float above the true one, and is converted exactly.
    """
    rest = _rest(event, delta)
    if rest <= 0:
        return math.inf
    orders = np.union1d(1 + np.logspace(-4, 8, 97), [point for point in event.breakpoints if point > 1])
    best, order, divergence = math.inf, 0.0, math.inf
    for _ in range(_REFINEMENTS + 1):
        curve = event.renyi(orders)
        epsilons = curve + _tail(orders, rest)
        i = int(np.argmin(epsilons))
        if epsilons[i] < best:
            best, order, divergence = epsilons[i], orders[i], curve[i]
        orders = 1 + np.geomspace(orders[max(i - 1, 0)] - 1, orders[min(i + 1, len(orders) - 1)] - 1, 33)
    if best == math.inf:
        return math.inf
    return epsilon_at(Fraction(order), Fraction(divergence), rest)


def _tail(orders: Floats, delta: Fraction) -> Floats:
    """Return what converting at `delta` adds to a divergence, for each order."""
    tail: Floats = (-np.log(orders) - log_float(delta)) / (orders - 1) + np.log1p(-1 / orders)
    return tail


THEOREMS: dict[str, Callable[[Event, Fraction], Epsilon]] = {
    theorem.__name__: theorem for theorem in (basic, advanced, optimal_homogeneous, zero_concentrated, renyi)
}


def least_epsilon(event: Event, delta: Fraction) -> Epsilon:
    """Return the least epsilon that any of the theorems gives."""
    return min(theorem(event, delta) for theorem in THEOREMS.values())


def _rest(event: Event, delta: Fraction) -> Fraction:
    """Return the delta that is left when failures are set aside; not positive where nothing is left."""
    failure = _failure(event)
    return (delta - failure) / (1 - failure) if failure < 1 else Fraction(0)


def _failure(event: Event) -> Fraction:
    """Return the event's failure; a negative one would certify anything."""
    if event.failure < 0:
        raise ValueError(f"an event's failure must be at least 0, got {float(event.failure):g}")
    return event.failure
