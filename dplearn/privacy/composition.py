"""Composition of privacy events: the least epsilon that any of six theorems proves at a given delta."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.kernels.exact import float_above
from dplearn.privacy.conversion import Floats, float_or_infinity, pure_and_concentrated
from dplearn.privacy.events import (
    Approximate,
    BoundedRange,
    Event,
    Gaussian,
    PureDP,
    Renyi,
    checked,
    freeze,
    register,
)
from dplearn.privacy.guarantees import ApproxDP
from dplearn.privacy.theorems import (
    THEOREMS,
    Epsilon,
    advanced,
    basic,
    gaussian,
    least_epsilon,
    optimal_homogeneous,
    renyi,
    zero_concentrated,
)

__all__ = [
    "Composition",
    "advanced",
    "basic",
    "compose",
    "gaussian",
    "optimal_homogeneous",
    "renyi",
    "zero_concentrated",
]

Events = Mapping[Event, int] | Iterable[Event | tuple[Event, int]]


@register
@dataclass(frozen=True, init=False, repr=False)
class Composition(Event):
    """A sequence of releases, chosen adaptively, with costs that are fixed in advance.

    An event of a composition may itself be a composition. Two compositions are equal if they contain the same
    simple events with the same counts, in any order.

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
    >>> list(many.bounds(delta=1e-6))
    ['basic', 'advanced', 'optimal_homogeneous', 'zero_concentrated', 'renyi', 'gaussian']
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
        """Return the sum of the failure probabilities."""
        return sum((count * event.failure for event, count in self.parts), Fraction(0))

    @cached_property
    def pure(self) -> Fraction | None:
        """Return the sum of the epsilons."""
        return _sum((event.pure, count) for event, count in self.parts)

    @cached_property
    def rho(self) -> Fraction | None:
        """Return the sum of the rhos."""
        return _sum((event.rho, count) for event, count in self.parts)

    @cached_property
    def mu2(self) -> Fraction | None:
        """Return the sum of the mu^2."""
        return _sum((event.mu2, count) for event, count in self.parts)

    @cached_property
    def mu2_failure(self) -> Fraction:
        """Return the sum of the failure probabilities of the mu^2."""
        return sum((count * event.mu2_failure for event, count in self.parts), Fraction(0))

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """Return the breakpoints of all Renyi curves, sorted."""
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
        """Return the sum of the Renyi curves, rounded up; it does not depend on the order of the events."""
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

    @classmethod
    def ladder(cls) -> list[Event]:
        """Return examples of this class, in nondecreasing order of cost."""
        one = cls([PureDP(0.1), (BoundedRange(0.2), 3)])
        curve = Renyi((2, 16), ("0.01", "0.1"))
        return [
            cls([]),
            one,
            cls([one, one, Gaussian(100)]),
            cls({one: 2, Gaussian(100): 3, curve: 1}),
            cls({one: 3, Gaussian(100): 3, curve: 2, Approximate(0.1, "1e-9"): 2}),
        ]


def compose(events: Events) -> Composition:
    """Return the composition of `events`; the same as `Composition(events)`.

    Parameters
    ----------
    events : mapping of Event to int, or iterable of Event or of pairs (Event, int)
        The releases, with the number of times that each is made.

    Returns
    -------
    Composition

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
