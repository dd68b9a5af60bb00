"""Composition of privacy events: the least epsilon that any of six theorems proves at a given delta.

Each theorem maps an event to a valid epsilon, rounded up to 12 digits, or infinity. Floats choose orders and
trial values; exact enclosures evaluate the bound there. The event's failure probability F is deducted first:
a delta of (delta - F) / (1 - F) remains for the main part.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.kernels import exp_bounds, float_above, log_bounds, root_above, short_above
from dplearn.privacy.conversion import (
    Floats,
    concentrated_epsilon,
    epsilon_at,
    float_or_infinity,
    log_float,
    pure_and_concentrated,
    rounded_up,
)
from dplearn.privacy.events import (
    Event,
    checked,
    freeze,
    register,
)
from dplearn.privacy.gaussian_dp import FAILURE, least_epsilon_of_mu2, without_failure
from dplearn.privacy.guarantees import ApproxDP

Epsilon = Fraction | float  # the only float is infinity
Events = Mapping[Event, int] | Iterable[Event | tuple[Event, int]]


@register
@dataclass(frozen=True, init=False, repr=False)
class Composition(Event):
    """A sequence of releases, chosen adaptively, with costs that are fixed in advance.

    Its events may be compositions. Two are equal if they contain the same simple events with the same counts.

    Parameters
    ----------
    events : mapping from Event to int, or iterable of Event or (Event, int)
        The releases and their counts.

    Raises
    ------
    TypeError, ValueError
        If `events` holds any other object, an event of negative cost, or an event whose class is not a frozen
        dataclass.

    Examples
    --------
    >>> from dplearn.privacy import BoundedRange, Composition
    >>> many = Composition({BoundedRange(0.01): 1000})
    >>> [round(float(epsilon), 3) for epsilon in many.bounds(delta=1e-6).values()]
    [10.0, 1.537, 1.365, 0.7, 0.7, 0.826]
    >>> float(many.total(delta=1e-6).epsilon)
    0.700205104602
    """

    parts: frozenset[tuple[Event, int]]

    def __init__(self, events: Events):
        counts: dict[Event, int] = {}
        for event, times in _counted(events):
            simples = checked("events", event).flat(check_count("count", times))
            for simple, count in simples.items():
                if simple is not event:
                    checked("events", simple)
                counts[simple] = counts.get(simple, 0) + check_count("count", count)
        freeze(self, parts=frozenset((event, count) for event, count in counts.items() if count))

    def __repr__(self) -> str:
        listed = ", ".join(sorted(f"{event!r}: {count}" for event, count in self.parts))
        return f"Composition({{{listed}}})"

    def flat(self, count: int) -> Mapping[Event, int]:
        """Return the simple events in `count` copies of this composition, with their counts."""
        return {event: count * times for event, times in self.parts}

    @cached_property
    def failure(self) -> Fraction:
        return sum((count * event.failure for event, count in self.parts), Fraction(0))

    @cached_property
    def pure(self) -> Fraction | None:
        return _sum((event.pure, count) for event, count in self.parts)

    @cached_property
    def rho(self) -> Fraction | None:
        return _sum((event.rho, count) for event, count in self.parts)

    @cached_property
    def mu2(self) -> Fraction | None:
        return _sum((event.mu2, count) for event, count in self.parts)

    @cached_property
    def mu2_failure(self) -> Fraction:
        return sum((count * event.mu2_failure for event, count in self.parts), Fraction(0))

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        return tuple(sorted({point for event, _ in self.parts for point in event.breakpoints}))

    @cached_property
    def _plain(self) -> Floats:
        """Return sorted rows (epsilon, rho, count) of the events that do not override `renyi`."""
        rows = [
            (float_or_infinity(event.pure), float_or_infinity(event.rho), float_above(Fraction(count)))
            for event, count in self.parts
            if type(event).renyi is Event.renyi
        ]
        return np.array(sorted(rows)).reshape(-1, 3)

    def renyi(self, orders: Floats) -> Floats:
        epsilons, rhos, counts = self._plain.T
        curves = pure_and_concentrated(epsilons, rhos, orders)
        own = [(event, count) for event, count in self.parts if type(event).renyi is not Event.renyi]
        with np.errstate(over="ignore", invalid="ignore"):
            special = np.reshape(
                [event.renyi(orders) * float_above(Fraction(count)) for event, count in own],
                (-1, len(orders)),
            )
            rows = np.concatenate([curves * counts[:, None], np.sort(special, axis=0)])
            # Each product and each partial sum of nonnegative numbers is rounded once.
            bounds: Floats = rows.sum(axis=0) * (1 + (len(rows) + 4) * 2.0**-52)
        return np.where(np.isnan(bounds), np.inf, bounds)  # NaN: 0 times a count above the largest float

    def bounds(self, delta: Any = 0) -> dict[str, Epsilon]:
        """Return the epsilon that each theorem proves at `delta`.

        Parameters
        ----------
        delta : number, default=0
            At least 0 and below 1.

        Returns
        -------
        dict of str to Fraction or float
            By the theorem's name; infinite if the theorem does not apply.
        """
        at = check_number("delta", delta, low=0, below=1)
        return {name: theorem(self, at) for name, theorem in THEOREMS.items()}

    def total(
        self,
        delta: Any = 0,
        *,
        neighbors: str = "replace_one",
        protects: str = "examples",
        assumes: Iterable[str] = (),
        reproducible: bool = False,
    ) -> ApproxDP:
        """Return the guarantee of all releases together, with the least epsilon that any theorem proves.

        Parameters
        ----------
        delta : number, default=0
            At least 0 and below 1.
        neighbors, protects, assumes, reproducible
            As for `ApproxDP`. They must be those for which the events were analysed.

        Raises
        ------
        ValueError
            If no theorem applies: usually because `delta` is 0, or below the sum of the failure
            probabilities.
        """
        epsilon = least_epsilon(self, check_number("delta", delta, low=0, below=1))
        if epsilon == math.inf:
            raise ValueError(
                f"delta must be large enough for some theorem to apply, got {delta!r}; the failures of"
                f" {self!r} add up to {float(self.failure):g}"
            )
        return ApproxDP(epsilon, delta, neighbors, protects, assumes, reproducible)


def compose(events: Events) -> Composition:
    """Return the composition of `events`; the same as `Composition(events)`.

    Parameters
    ----------
    events : mapping of Event to int, or iterable of Event or of pairs (Event, int)
        The releases, with the number of times that each is made.

    Examples
    --------
    >>> from dplearn.privacy import PureDP, compose
    >>> compose([PureDP(0.1)] * 10).total().epsilon
    Fraction(1, 1)
    """
    return Composition(events)


def _counted(events: Events) -> Iterable[tuple[Event, int]]:
    if isinstance(events, Mapping):
        return events.items()
    return (entry if isinstance(entry, tuple) else (entry, 1) for entry in events)


def _sum(costs: Iterable[tuple[Fraction | None, int]]) -> Fraction | None:
    """Return the sum of the costs times their counts, or None if a cost is unknown."""
    total = Fraction(0)
    for cost, count in costs:
        if cost is None:
            return None
        total += count * cost
    return total


_MOST_RELEASES = 10**5  # a sum of this many terms takes some tenths of a second
_LARGEST_EPSILON = 1000  # of one release: above it no theorem improves on `basic`
_DIGITS = 60
_LOST_DIGITS = 10  # 10**5 steps of a few roundings each lose fewer than 7
_REFINEMENTS = 5
_TRIALS = 20


def basic(event: Event, delta: Fraction) -> Epsilon:
    """Return the sum of the epsilons; the failure probabilities must add up to at most `delta`."""
    return math.inf if event.pure is None or _failure(event) > delta else event.pure


def advanced(event: Event, delta: Fraction) -> Epsilon:
    """Return the mean of the privacy loss plus a deviation t from Hoeffding's bound (advanced composition).

    With m the sum of the epsilon_i tanh(epsilon_i / 2), the means of randomised responses, and V that of the
    epsilon_i^2, P[L > m + s] <= exp(-s^2 / 2V). Integrating exp(-u) P[L > m + t + u] over u > 0,

        delta <= exp(-t^2 / 2V) / (1 + t / V).

    The t that solves it is below both sqrt(2 V ln(1 / delta)) and sqrt(2 V ln(e + sqrt(V) / delta)), the two
    terms of Kairouz, Oh and Viswanath (2017), Theorem 3.5.
    """
    parts, rest = event.flat(1), _rest(event, delta)
    epsilons = [(part.pure, count) for part, count in parts.items() if part.pure is not None]
    if len(epsilons) < len(parts) or rest <= 0 or any(e > _LARGEST_EPSILON for e, _ in epsilons):
        return math.inf
    variance = sum((count * short_above(epsilon**2) for epsilon, count in epsilons), Fraction(0))
    mean = sum((count * _mean_loss(epsilon) for epsilon, count in epsilons), Fraction(0))
    return rounded_up(mean + _deviation(variance, rest)) if variance else Fraction(0)


def _mean_loss(epsilon: Fraction) -> Fraction:
    """Return epsilon tanh(epsilon / 2), rounded up; tanh(x) increases with exp(2 x)."""
    high = exp_bounds(epsilon)[1]
    return short_above(epsilon * (high - 1) / (high + 1))


def _deviation(variance: Fraction, delta: Fraction) -> Fraction:
    """Return a t close to the least one that satisfies t^2 / 2V + ln(1 + t / V) >= ln(1 / delta)."""
    needed = -log_bounds(delta)[0]
    v, wanted = float_above(variance), float_above(needed)
    enough = root_above(2 * variance * needed)  # t^2 / 2V >= ln(1 / delta)
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


def optimal_homogeneous(event: Event, delta: Fraction) -> Epsilon:
    """Return the optimal epsilon of k releases with epsilon e each, where e is the greatest epsilon of all.

    Let p_l and q_l be proportional to C(k, l) exp((k - l) e) and C(k, l) exp(l e), S the product of the 1 -
    delta_i, and s = 1 - (1 - delta) / S. exp(epsilon) is the maximum over l of ((p_0 + ... + p_l) - s) / (q_0
    + ... + q_l) (Kairouz, Oh and Viswanath 2017, Theorem 3.3). The last 10 of 60 digits are not relied on.
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
        # The logarithm is taken of a Decimal: as a Fraction, exp(100000) would have 43,000 digits.
        log = ratio.ln().next_plus() if ratio and ratio > 1 else Decimal(0)
    return math.inf if ratio is None else rounded_up(Fraction(log))


def _survival(parts: Mapping[Event, int]) -> Decimal:
    """Return the probability that no release fails, or 0 if it is not known to be positive."""
    # Each 1 - failure is computed exactly, without cancellation for a failure probability near 1.
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
        if p <= worst * q:  # then the same holds for all later terms, and no later quotient exceeds `worst`
            break
        mine, theirs = mine + p, theirs + q
        worst = max(worst, (mine * (1 + trust) - slack) / (theirs * (1 - trust)))
        step = Decimal(releases - lies) / (lies + 1)
        p, q = p * step / growth, q * step * growth
    return worst


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / x.denominator


def zero_concentrated(event: Event, delta: Fraction) -> Epsilon:
    """Convert the sum of the rhos into an epsilon at the best order (see `dplearn.privacy.conversion`)."""
    rest = _rest(event, delta)
    return math.inf if event.rho is None or rest <= 0 else concentrated_epsilon(event.rho, rest)


def renyi(event: Event, delta: Fraction) -> Epsilon:
    """Convert the sum of the Renyi curves into an epsilon at the best order of a grid that is refined five
    times; the sum there, a float rounded up, is converted exactly.
    """
    if all(part.pure is None and type(part).renyi is Event.renyi for part in event.flat(1)):
        return zero_concentrated(event, delta)  # the curve is rho times the order
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
    """Return the difference between the epsilon at `delta` and the divergence, for each order."""
    return (-np.log(orders) - log_float(delta)) / (orders - 1) + np.log1p(-1 / orders)


def gaussian(event: Event, delta: Fraction, below: Epsilon = math.inf) -> Epsilon:
    """Return the exact epsilon of Gaussian-DP for the sum of the mu^2; infinity if not below `below`."""
    failure = _failure(event) + event.mu2_failure
    rest = without_failure(delta, failure)
    if event.mu2 is None or rest < FAILURE:  # no smaller delta occurs, and its computation takes long
        return math.inf
    return least_epsilon_of_mu2(event.mu2, rest, below)


THEOREMS: dict[str, Callable[[Event, Fraction], Epsilon]] = {
    theorem.__name__: theorem
    for theorem in (basic, advanced, optimal_homogeneous, zero_concentrated, renyi, gaussian)
}


def least_epsilon(event: Event, delta: Fraction, enough: Fraction | None = None) -> Epsilon:
    """Return the least epsilon of any theorem; infinity if none applies.

    With `enough`, return the first at most `enough`, or a greater number if none is: this takes less time.
    """
    least: Epsilon = math.inf
    for theorem in (each for each in THEOREMS.values() if each is not gaussian):
        least = min(least, theorem(event, delta))
        if enough is not None and least <= enough:
            return least
    return min(least, gaussian(event, delta, least if enough is None else enough))


def _rest(event: Event, delta: Fraction) -> Fraction:
    """Return the delta that remains for the main part; not positive if none remains."""
    return without_failure(delta, _failure(event))


def _failure(event: Event) -> Fraction:
    """Return the event's failure probability; raise ValueError if it is negative."""
    if event.failure < 0:
        raise ValueError(f"an event's failure must be at least 0, got {float(event.failure):g}")
    return event.failure
