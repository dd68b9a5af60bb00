"""Events made of another event, or of several: a secret sample, and disjoint parts.

>>> from dplearn.privacy.events import PureDP
>>> float(SampledWithReplacement(PureDP(1), m=10, n=1000).pure)
0.01716807271133098
>>> Parallel([PureDP(0.1), PureDP(0.2), PureDP(0.3)], by="value").pure
Fraction(1, 2)
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dplearn._validation import check_choice, check_count
from dplearn.core.exact import exp_bounds, log_bounds, short_above
from dplearn.privacy.events import Approximate, Event, PureDP, checked, freeze, register
from dplearn.privacy.renyi_curves import Floats

__all__ = ["Parallel", "SampledWithReplacement"]

_DIGITS = 60
_LEAST_EPSILON = Fraction(1, 10**30)  # smaller ones count as this, so that exp(epsilon) - 1 keeps its digits
_LARGEST_EPSILON = 1000  # exp of it has 435 digits
_MARGIN = 1 + 2.0**-50  # a sum of two floats is rounded once


@register
@dataclass(frozen=True, init=False)
class SampledWithReplacement(Event):
    """A release from m rows drawn with replacement, and in secret, from the n records.

    With R = (1 + (exp(epsilon) - 1) / n)^m the cost is epsilon' = ln R and
    delta' = delta (R - 1) / (exp(epsilon) - 1), if R is at most exp(epsilon). For m = 1 that is always so,
    and delta' is delta / n.

    Parameters
    ----------
    event : Event
        The release, for neighbours that differ by one replaced row of the m; its epsilon must be known.
    m : int
        Rows drawn, at least 1.
    n : int
        Records, at least 1; public.

    Raises
    ------
    ValueError
        If R exceeds exp(epsilon), or no epsilon is known, or one above 1000 where m is above 1.

    Notes
    -----
    **Privacy.** For neighbours that differ by one replaced record of the n. Proof: let the record be drawn J
    times, w_j = P[J = j], and let p_j and p'_j be an event's probability given J = j. p_0 = p'_0, and j
    replaced rows lead from p_j to p_0 and to p'_j, so p_j <= exp(j epsilon) min(p_0, p'_j) + delta_j, where
    delta_j = delta (exp(j epsilon) - 1) / (exp(epsilon) - 1). The sum of the w_j exp(j epsilon) is R. For
    j >= 1 the number exp(j epsilon) - R is not negative, so exp(j epsilon) min(p_0, p'_j) is at most
    R p'_j + (exp(j epsilon) - R) p_0. The weights of p_0 add up to w_0 + (R - w_0) - R (1 - w_0) = R w_0, so
    the event's probability is at most R times the neighbour's, plus the sum of the w_j delta_j = delta'.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 4.12, state 6 epsilon m / n for
    epsilon <= 1 and n >= 2 m; the formula and its proof here are ours, and attained where delta is 0.
    """

    event: Event
    m: int
    n: int

    def __init__(self, event: Event, m: int, n: int):
        freeze(self, event=event, m=check_count("m", m, low=1), n=check_count("n", n, low=1))
        if checked("event", event).pure is None:
            raise ValueError(f"event must be one whose epsilon is known, got {event!r}")
        if self.m > 1 and self._epsilon > _LARGEST_EPSILON:
            raise ValueError(f"event must have an epsilon of at most {_LARGEST_EPSILON} unless m is 1")
        if self.m > 1 and self._log_factor > self._epsilon:
            raise ValueError(
                f"m must be so small that (1 + (exp(epsilon) - 1) / n)^m <= exp(epsilon), got m={m}, n={n}"
            )

    @property
    def _epsilon(self) -> Fraction:
        """Return the event's epsilon, or more: it is as private as that, too."""
        epsilon = self.event.pure or Fraction(0)
        return max(epsilon, _LEAST_EPSILON) if epsilon else epsilon

    @cached_property
    def _log_factor(self) -> Fraction:
        """Return ln R from above."""
        if self._epsilon > _LARGEST_EPSILON:
            return self._epsilon  # m is 1, and R at most exp(epsilon)
        return self.m * log_bounds(1 + (exp_bounds(self._epsilon, _DIGITS)[1] - 1) / self.n, _DIGITS)[1]

    @cached_property
    def _growth(self) -> tuple[Fraction, Fraction]:
        """Return exp(epsilon) - 1 from below, and R from above."""
        low = max(exp_bounds(self._epsilon, _DIGITS)[0] - 1, self._epsilon)  # exp(x) - 1 >= x
        return low, exp_bounds(self._log_factor, _DIGITS)[1]

    @cached_property
    def failure(self) -> Fraction:
        """Return delta', rounded up; where epsilon is 0 or m is 1 that is delta m / n."""
        if self.m == 1 or not self._epsilon:
            return short_above(self.event.failure * Fraction(self.m, self.n))
        growth, factor = self._growth
        return short_above(self.event.failure * min(Fraction(1), (factor - 1) / growth))

    @cached_property
    def pure(self) -> Fraction:
        """Return epsilon', rounded up; never above epsilon, for ln R - epsilon is convex and 0 at 0."""
        return short_above(min(self._log_factor, self.event.pure or Fraction(0)))

    @classmethod
    def ladder(cls) -> list[Event]:
        """Return examples, none costing more than the next."""
        inner = Approximate(1, "1e-7")
        return [cls(inner, m, n) for m, n in ((1, 1000), (10, 1000), (10, 100), (1, 1))]


@register
@dataclass(frozen=True, init=False)
class Parallel(Event):
    """Releases from disjoint parts of the records.

    Parameters
    ----------
    events : iterable of Event
        One for each part.
    by : {"position", "value"}, default="position"
        Which part a record falls in is fixed by its position, and a replaced record stays in its part: all
        curves are the maxima over the parts. Or by its value, and a replaced record may leave one part and
        enter another: the two worst compose. Then each event must hold for a part that gains a record, loses
        one or has one replaced.
    """

    parts: frozenset[tuple[Event, int]]
    by: str

    def __init__(self, events: Iterable[Event], by: str = "position"):
        most = {"position": 1, "value": 2}[check_choice("by", by, ("position", "value"))]
        counts: dict[Event, int] = {}
        for event in events:
            counts[event] = min(most, counts.get(checked("events", event), 0) + 1)
        freeze(self, parts=frozenset(counts.items()), by=by)

    @property
    def _worst(self) -> list[Event]:
        """Return the events, each as often as it can count."""
        return [event for event, count in self.parts for _ in range(count)]

    def _over_parts(self, costs: Iterable[Fraction | None]) -> Fraction | None:
        """Return the greatest cost, or the sum of the two greatest; None if one is unknown."""
        known = list(costs)
        if None in known:
            return None
        greatest = sorted((cost for cost in known if cost is not None), reverse=True)
        return sum(greatest[: 1 if self.by == "position" else 2], Fraction(0))

    @cached_property
    def failure(self) -> Fraction:
        """Return the worst over the parts."""
        return self._over_parts(event.failure for event in self._worst) or Fraction(0)

    @cached_property
    def pure(self) -> Fraction | None:
        """Return the worst over the parts."""
        return self._over_parts(event.pure for event in self._worst)

    @cached_property
    def rho(self) -> Fraction | None:
        """Return the worst over the parts."""
        return self._over_parts(event.rho for event in self._worst)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Return the corners of all parts' curves."""
        return tuple(point for event, _ in self.parts for point in event.breakpoints)

    def renyi(self, orders: Floats) -> Floats:
        """Return the worst over the parts, at each order."""
        curves = np.sort([event.renyi(orders) for event in self._worst] or [np.zeros(orders.shape)], axis=0)
        worst: Floats = curves[-1] if self.by == "position" else curves[-2:].sum(axis=0) * _MARGIN
        return worst

    @classmethod
    def ladder(cls) -> list[Event]:
        """Return examples, none costing more than the next."""
        parts = [PureDP(0.1), Approximate(0.1, "1e-9"), PureDP(0.05)]
        return [cls(parts), cls(parts, by="value"), cls([*parts, Approximate(1, "1e-8")], by="value")]
