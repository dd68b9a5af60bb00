"""Guarantees derived from those of other releases: on a secret sample, and on disjoint parts of a table."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dplearn._validation import check_choice, check_count, check_number
from dplearn.kernels import exp_bounds, log_bounds, short_above
from dplearn.privacy.conversion import Floats
from dplearn.privacy.events import Approximate, Event, checked, freeze, register
from dplearn.privacy.guarantees import ApproxDP

_DIGITS = 60
_LEAST_EPSILON = Fraction(1, 10**30)  # smaller ones are raised to it: exp(epsilon) - 1 keeps its digits
_LARGEST_EPSILON = 1000  # its exponential has 435 digits
_MARGIN = 1 + 2.0**-50  # a sum of two floats is rounded once


@register
@dataclass(frozen=True, init=False)
class SampledWithReplacement(Event):
    """A release computed from a secret sample of m rows, drawn with replacement from the n records.

    With R = (1 + (exp(epsilon) - 1) / n)^m, the cost is epsilon' = ln R and delta' = delta (R - 1) /
    (exp(epsilon) - 1), provided that R is at most exp(epsilon). For m = 1 this always holds, and delta' is
    delta / n.

    Parameters
    ----------
    event : Event
        The release, for neighbours that differ by one replaced row of the m; its epsilon must be known.
    m : int
        Number of rows drawn, at least 1.
    n : int
        Number of records, at least 1; public.

    Raises
    ------
    ValueError
        If R exceeds exp(epsilon), if the event has no epsilon, or if m is above 1 and epsilon above 1000.

    Notes
    -----
    **Privacy.** For neighbours that differ by one replaced record of the n. Proof: let J be the number of
    times that the record is drawn, w_j = P[J = j], and let p_j and p'_j be the probabilities of a set of
    outcomes given J = j. Then p_0 = p'_0. Both p_0 and p'_j belong to samples that differ from that of p_j by
    j replaced rows, so p_j <= exp(j epsilon) min(p_0, p'_j) + delta_j, where delta_j = delta (exp(j epsilon)
    - 1) / (exp(epsilon) - 1). The sum of the w_j exp(j epsilon) is R. For j >= 1 the number exp(j epsilon) -
    R is nonnegative, so exp(j epsilon) min(p_0, p'_j) is at most R p'_j + (exp(j epsilon) - R) p_0. The
    coefficients of p_0 add up to w_0 + (R - w_0) - R (1 - w_0) = R w_0, so the probability of the set is at
    most R times that of the neighbour, plus the sum of the w_j delta_j = delta'. **Source.** Bun, Nissim,
    Stemmer and Vadhan (2015), Lemma 4.12, state 6 epsilon m / n for epsilon <= 1 and n >= 2 m. The formula
    above and its proof are ours; for delta = 0 the bound is attained.

    Examples
    --------
    >>> from dplearn.privacy import PureDP, SampledWithReplacement
    >>> float(SampledWithReplacement(PureDP(1), m=10, n=1000).pure)
    0.01716807271133098
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
        """Return the event's epsilon, or a larger value, which is also a valid epsilon of the event."""
        epsilon = self.event.pure or Fraction(0)
        return max(epsilon, _LEAST_EPSILON) if epsilon else epsilon

    @cached_property
    def _log_factor(self) -> Fraction:
        """Return an upper bound on ln R."""
        if self._epsilon > _LARGEST_EPSILON:
            return self._epsilon  # m is 1, and R at most exp(epsilon)
        return self.m * log_bounds(1 + (exp_bounds(self._epsilon, _DIGITS)[1] - 1) / self.n, _DIGITS)[1]

    @cached_property
    def _growth(self) -> tuple[Fraction, Fraction]:
        """Return a lower bound on exp(epsilon) - 1 and an upper bound on R."""
        low = max(exp_bounds(self._epsilon, _DIGITS)[0] - 1, self._epsilon)  # exp(x) - 1 >= x
        return low, exp_bounds(self._log_factor, _DIGITS)[1]

    @cached_property
    def failure(self) -> Fraction:
        if self.m == 1 or not self._epsilon:
            return short_above(self.event.failure * Fraction(self.m, self.n))
        growth, factor = self._growth
        return short_above(self.event.failure * min(Fraction(1), (factor - 1) / growth))

    @cached_property
    def pure(self) -> Fraction:
        return short_above(min(self._log_factor, self.event.pure or Fraction(0)))


@register
@dataclass(frozen=True, init=False)
class Parallel(Event):
    """Releases computed from disjoint parts of the records, one event for each part.

    Parameters
    ----------
    events : iterable of Event
        One for each part.
    by : {"position", "value"}, default="position"
        What determines a record's part. "position": a replaced record stays in its part, and the cost is the
        maximum over the parts. "value": it may enter another part, and the cost is the composition of the two
        costliest events, which must hold for a part that gains or loses a record, too.

    Examples
    --------
    >>> from dplearn.privacy import Parallel, PureDP
    >>> Parallel([PureDP(0.1), PureDP(0.2), PureDP(0.3)], by="value").pure
    Fraction(1, 2)
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
        """Return the events, each with its multiplicity (at most 1 by position, 2 by value)."""
        return [event for event, count in self.parts for _ in range(count)]

    def _over_parts(self, costs: Iterable[Fraction | None]) -> Fraction | None:
        """Return the greatest cost, or (by value) the sum of the two greatest; None if one is unknown."""
        known = list(costs)
        if None in known:
            return None
        greatest = sorted((cost for cost in known if cost is not None), reverse=True)
        return sum(greatest[: 1 if self.by == "position" else 2], Fraction(0))

    @cached_property
    def failure(self) -> Fraction:
        return self._over_parts(event.failure for event in self._worst) or Fraction(0)

    @cached_property
    def pure(self) -> Fraction | None:
        return self._over_parts(event.pure for event in self._worst)

    @cached_property
    def rho(self) -> Fraction | None:
        return self._over_parts(event.rho for event in self._worst)

    @cached_property
    def mu2(self) -> Fraction | None:
        return self._over_parts(event.mu2 for event in self._worst)

    @cached_property
    def mu2_failure(self) -> Fraction:
        return self._over_parts(event.mu2_failure for event in self._worst) or Fraction(0)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return tuple(point for event, _ in self.parts for point in event.breakpoints)

    def renyi(self, orders: Floats) -> Floats:
        curves = np.sort([event.renyi(orders) for event in self._worst] or [np.zeros(orders.shape)], axis=0)
        return curves[-1] if self.by == "position" else curves[-2:].sum(axis=0) * _MARGIN


def subsampled(guarantee: ApproxDP, *, m: int, n: int) -> ApproxDP:
    """Return the guarantee for n records of a release on a secret sample of m rows.

    Parameters
    ----------
    guarantee : ApproxDP
        The release's guarantee for one replaced row of the m, features and label.
    m : int
        Number of rows drawn, at least 1: each uniformly from the n records, independently, with replacement.
    n : int
        Number of records, at least 1; public.

    Returns
    -------
    ApproxDP
        For one replaced record of the n. With R = (1 + (exp(epsilon) - 1) / n)^m: epsilon' = ln R and
        delta' = delta (R - 1) / (exp(epsilon) - 1), rounded up after 100 bits.

    Raises
    ------
    TypeError, ValueError
        If `guarantee` is of another kind, or R exceeds exp(epsilon); R does not exceed it if epsilon is at
        most 1 and n at least 2 m.

    Notes
    -----
    **Privacy.** See `SampledWithReplacement` for the proof; if delta is 0, some mechanism attains the bound.

    **Assumes.** The sampled rows stay secret: a guarantee that protects only labels, with public features, is
    refused.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 4.12; see `published_subsampled`.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP, subsampled
    >>> guarantee = subsampled(ApproxDP(1, 1e-6), m=100, n=10_000)
    >>> round(float(guarantee.epsilon), 5), float(guarantee.delta) < 1.009e-8
    (0.01718, True)
    """
    m, n = _checked(guarantee, m, n)
    event = SampledWithReplacement(Approximate(guarantee.epsilon, guarantee.delta), m, n)
    return _guaranteed(guarantee, event.pure, event.failure, m, n)


def published_subsampled(guarantee: ApproxDP, *, m: int, n: int) -> ApproxDP:
    """Return the published, looser guarantee: 6 epsilon m/n and 4 exp(6 epsilon m/n) (m/n) delta.

    Parameters
    ----------
    guarantee : ApproxDP
        The release's guarantee for one replaced row of the m, features and label; epsilon at most 1.
    m : int
        Number of rows drawn, at least 1: each uniformly from the n records, independently, with replacement.
    n : int
        Number of records, at least 2 m; public.

    Notes
    -----
    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 4.12.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP, published_subsampled
    >>> published = published_subsampled(ApproxDP(1, 1e-6), m=100, n=10_000)
    >>> float(published.epsilon), float(published.delta) > 4.24e-8
    (0.06, True)
    """
    m, n = _checked(guarantee, m, n)
    check_number("epsilon", guarantee.epsilon, high=1)
    check_count("n", n, low=2 * m)
    epsilon = 6 * guarantee.epsilon * Fraction(m, n)
    delta = short_above(4 * exp_bounds(epsilon)[1] * Fraction(m, n) * guarantee.delta)
    return _guaranteed(guarantee, epsilon, delta, m, n)


def _checked(guarantee: ApproxDP, m: int, n: int) -> tuple[int, int]:
    if not isinstance(guarantee, ApproxDP):
        raise TypeError(f"guarantee must be an ApproxDP, got {guarantee!r}")
    check_choice("neighbors", guarantee.neighbors, ("replace_one",))
    check_choice("protects", guarantee.protects, ("examples",))
    return check_count("m", m, low=1), check_count("n", n, low=1)


def _guaranteed(guarantee: ApproxDP, epsilon: Fraction, delta: Fraction, m: int, n: int) -> ApproxDP:
    drawn = f"{m} rows are drawn with replacement from {n} records, and the drawn rows stay secret"
    return replace(guarantee, epsilon=epsilon, delta=delta, assumes=(*guarantee.assumes, drawn))
