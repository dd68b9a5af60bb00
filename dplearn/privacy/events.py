"""Privacy events: frozen values that bound the cost of one release, with its Renyi curve.

An event with failure probability delta is a mixture: on each pair of neighbours, (1 - delta) times a main
part, which satisfies the event's bounds, plus delta times an arbitrary distribution. Every (epsilon, delta)
private release is one with an epsilon private main part (Kairouz, Oh and Viswanath 2017; Murtagh and Vadhan
2018). So in a composition failure probabilities add, and main parts compose. A subclass of `Event` overrides
the bounds that hold for it, and `Event` derives the others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache, singledispatch
from typing import Any, TypeVar

import numpy as np

from dplearn._validation import check_number
from dplearn.kernels import short_above
from dplearn.privacy.conversion import Floats, chords, float_or_infinity, pure_and_concentrated
from dplearn.privacy.gaussian_dp import FAILURE, mu2_of_gaussian, mu2_of_pure
from dplearn.privacy.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP

EVENTS: dict[str, type["Event"]] = {}

Kind = TypeVar("Kind", bound=type["Event"])


def register(kind: Kind) -> Kind:
    """Add a class of events to EVENTS; tests/laws/test_events.py asks for examples of each."""
    EVENTS[kind.__name__] = kind
    return kind


def freeze(event: "Event", /, **fields: object) -> None:
    """Set the fields of a frozen event; only its constructor calls this."""
    for name, value in fields.items():
        object.__setattr__(event, name, value)


def checked(name: str, event: Any) -> "Event":
    """Return `event` if it is an Event whose equality implies equal cost."""
    # Compositions count equal events together, so the event's own class must be a frozen dataclass, all
    # attributes of the event must be compared fields, and no cost may be negative.
    if not isinstance(event, Event):
        raise TypeError(f"{name} must hold privacy events, got {event!r}")
    kind: type = type(event)
    compared = _compared(kind)
    if compared is None:
        raise TypeError(f"{name} must hold events of frozen dataclasses; {kind.__name__} itself is none")
    stray = [key for key in vars(event) if key not in compared and not _is_cache(kind, key)]
    unset = [key for key in compared if not hasattr(event, key)]
    if stray or unset:
        raise TypeError(
            f"{name} must hold events of frozen dataclasses that compare and set all their fields;"
            f" {kind.__name__} does not: {', '.join(sorted(stray + unset))}"
        )
    costs = (event.failure, event.pure, event.rho, event.mu2, event.mu2_failure)
    if any(cost is not None and cost < 0 for cost in costs):
        raise ValueError(
            f"{name} must hold events of nonnegative cost; one {kind.__name__} has a negative one"
        )
    return event


@lru_cache(maxsize=256)
def _compared(kind: type) -> frozenset[str] | None:
    """Return the fields that determine equality, or None if the class itself is not a frozen dataclass."""
    settings = vars(kind).get("__dataclass_params__")
    if settings is None or not (settings.frozen and settings.eq):
        return None
    return frozenset(field.name for field in fields(kind) if field.compare)


def _is_cache(kind: type, key: str) -> bool:
    return isinstance(getattr(kind, key, None), cached_property)


@dataclass(frozen=True, init=False)
class Event:
    """A release with a cost that is fixed before the release; the base class has unbounded cost.

    The bounds hold for the neighbours for which the release was analysed; all events of a composition must
    be for the same neighbours. A subclass is a frozen dataclass whose fields determine its cost, because
    equal events are counted together (see `checked`). It overrides the bounds that hold for it.
    """

    @property
    def failure(self) -> Fraction:
        """Failure probability (delta): the weight of the arbitrary part of the mixture."""
        return Fraction(0)

    @property
    def pure(self) -> Fraction | None:
        """Epsilon of the main part, or None if no epsilon is known."""
        return None

    @property
    def rho(self) -> Fraction | None:
        """Rho of the main part, or None if unknown; epsilon^2 / 2 unless a subclass has a smaller bound."""
        return None if self.pure is None else short_above(self.pure**2 / 2)

    @property
    def mu2(self) -> Fraction | None:
        """mu^2 of the main part as Gaussian-DP, or None; pi epsilon^2 / 2 unless a subclass says."""
        return None if self.pure is None else short_above(mu2_of_pure(self.pure))

    @property
    def mu2_failure(self) -> Fraction:
        """Failure probability of the bound `mu2`, in addition to `failure`; no other bound has it."""
        return Fraction(0)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Breakpoints of the Renyi curve: orders at which its slope jumps, candidates for the best order."""
        return ()

    def renyi(self, orders: Floats) -> Floats:
        """Return upper bounds on the Renyi divergences of the main part.

        Parameters
        ----------
        orders : ndarray of float of shape (k,)
            Finite and above 1.

        Returns
        -------
        ndarray of float of shape (k,)
            Rounded up; infinite where no bound is known.
        """
        epsilon, rho = float_or_infinity(self.pure), float_or_infinity(self.rho)
        return pure_and_concentrated(np.array([epsilon]), np.array([rho]), orders)[0]

    def flat(self, count: int) -> Mapping["Event", int]:
        """Return the simple events in `count` copies of this event, with their counts."""
        return {self: count}


@register
@dataclass(frozen=True, init=False)
class PureDP(Event):
    """An epsilon private release: its Renyi curve is at most that of randomised response.

    Parameters
    ----------
    epsilon : number
        Nonnegative.

    Examples
    --------
    >>> from dplearn.privacy import PureDP
    >>> PureDP(0.1).rho
    Fraction(1, 200)
    """

    epsilon: Fraction

    def __init__(self, epsilon: Any):
        freeze(self, epsilon=check_number("epsilon", epsilon, low=0))

    @property
    def pure(self) -> Fraction:
        return self.epsilon


@register
@dataclass(frozen=True, init=False)
class Approximate(Event):
    """An (epsilon, delta) private release.

    Parameters
    ----------
    epsilon : number
        Nonnegative.
    delta : number
        At least 0 and below 1.
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Any, delta: Any):
        freeze(
            self,
            epsilon=check_number("epsilon", epsilon, low=0),
            delta=check_number("delta", delta, low=0, below=1),
        )

    @property
    def failure(self) -> Fraction:
        return short_above(self.delta)

    @property
    def pure(self) -> Fraction:
        return self.epsilon


@register
@dataclass(frozen=True, init=False)
class BoundedRange(PureDP):
    """An epsilon bounded-range release, such as one of the exponential mechanism.

    For each pair of neighbours, the log-ratios of all outcomes' probabilities lie in an interval of length
    epsilon, as those of the exponential mechanism do. Then rho = epsilon^2 / 8 (Cesar and Rogers 2021; proof:
    docs/theory/composition.md). The Renyi curve is the minimum of this bound and that of the ratios, epsilon.

    Examples
    --------
    >>> from dplearn.privacy import BoundedRange
    >>> BoundedRange(0.1).rho
    Fraction(1, 800)
    """

    @property
    def rho(self) -> Fraction:
        return short_above(self.epsilon**2 / 8)

    @property
    def mu2(self) -> Fraction:
        return short_above(mu2_of_pure(self.epsilon) / 4)


@register
@dataclass(frozen=True, init=False)
class PermuteAndFlip(PureDP):
    """A release of permute-and-flip: rho is epsilon^2 / 2, as for every epsilon private release.

    Its log-ratios do not lie in an interval of length epsilon: with two candidates at epsilon .1 the true rho
    is .00476, nearly four times epsilon^2 / 8.
    """


@register
@dataclass(frozen=True, init=False)
class ZeroConcentrated(Event):
    """A release with Renyi divergences of at most rho times the order.

    Parameters
    ----------
    rho : number
        Nonnegative.
    """

    cost: Fraction

    def __init__(self, rho: Any):
        freeze(self, cost=check_number("rho", rho, low=0))

    @cached_property
    def rho(self) -> Fraction:
        return short_above(self.cost)


@register
@dataclass(frozen=True, init=False)
class Gaussian(Event):
    """Discrete Gaussian noise on at most 2**32 integers: rho = sensitivity2 / (2 sigma2).

    The divergences are at most those of continuous noise (Canonne, Kamath and Steinke 2020, Theorem 14). Its
    delta is not; but mu^2 = sensitivity2 / (sigma2 - 4), except for a failure of probability 2**-79.

    Parameters
    ----------
    sigma2 : number
        Above 0; the variance parameter of the noise on each coordinate.
    sensitivity2 : number, default=1
        The squared Euclidean sensitivity of the vector of integers.

    Examples
    --------
    >>> from dplearn.privacy import Gaussian
    >>> Gaussian(100).rho
    Fraction(1, 200)
    """

    sigma2: Fraction
    sensitivity2: Fraction

    def __init__(self, sigma2: Any, sensitivity2: Any = 1):
        freeze(
            self,
            sigma2=check_number("sigma2", sigma2, above=0),
            sensitivity2=check_number("sensitivity2", sensitivity2, low=0),
        )

    @cached_property
    def rho(self) -> Fraction:
        return short_above(self.sensitivity2 / (2 * self.sigma2))

    @cached_property
    def mu2(self) -> Fraction | None:
        mu2 = mu2_of_gaussian(self.sensitivity2, self.sigma2)
        return None if mu2 is None else short_above(mu2)

    @property
    def mu2_failure(self) -> Fraction:
        return FAILURE


@register
@dataclass(frozen=True, init=False)
class GaussianSums(Event):
    """Discrete Gaussian noise on sums, with sigma2 = D^2 / (2 b) + 4 for budgets b that add up to mu^2 / 2.

    The sums are at most 2**32 integers; D is the Euclidean sensitivity of those that are released together.
    Such a release is mu-Gaussian-DP, except with probability 2**-79, and zero-concentrated with rho =
    mu^2 / 2.

    Parameters
    ----------
    budget : number
        Nonnegative; mu^2 / 2, as of `dplearn.privacy.shares.gaussian_budget`.

    Examples
    --------
    >>> from dplearn.privacy import GaussianSums, compose
    >>> round(float(compose([GaussianSums("0.02")]).total(delta=1e-6).epsilon), 3)
    0.834
    """

    budget: Fraction

    def __init__(self, budget: Any):
        freeze(self, budget=check_number("budget", budget, low=0))

    @cached_property
    def rho(self) -> Fraction:
        return short_above(self.budget)

    @property
    def mu2(self) -> Fraction:
        return 2 * self.rho

    @property
    def mu2_failure(self) -> Fraction:
        return FAILURE


@register
@dataclass(frozen=True, init=False)
class Renyi(Event):
    """A release with bounds on its Renyi divergences at some orders.

    (a - 1) times the divergence of order a is convex in a and 0 at a = 1, so the chords between the given
    points are bounds too. Above the last order the bound is infinite.

    Parameters
    ----------
    orders : iterable of number
        Above 1 and increasing.
    bounds : iterable of number
        Nonnegative upper bounds on the divergences, one for each order.
    """

    orders: tuple[Fraction, ...]
    bounds: tuple[Fraction, ...]

    def __init__(self, orders: Iterable[Any], bounds: Iterable[Any]):
        points = tuple(check_number("orders", order, above=1) for order in orders)
        values = tuple(check_number("bounds", bound, low=0) for bound in bounds)
        if len(points) != len(values) or not points:
            raise ValueError(f"bounds must be as many as orders, got {len(values)} for {len(points)}")
        if list(points) != sorted(set(points)):
            raise ValueError(f"orders must increase, got {[float(order) for order in points]}")
        freeze(self, orders=points, bounds=values)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return tuple(float(order) for order in self.orders)

    def renyi(self, orders: Floats) -> Floats:
        return chords(self.orders, self.bounds, orders)


@singledispatch
def _event_of(guarantee: Guarantee) -> Event:
    raise TypeError(f"guarantee must be an ApproxDP or a ZeroConcentratedDP, got {guarantee!r}")


_event_of.register(ApproxDP, lambda g: Approximate(g.epsilon, g.delta) if g.delta else PureDP(g.epsilon))
_event_of.register(ZeroConcentratedDP, lambda g: ZeroConcentrated(g.rho))


def event_of(guarantee: Guarantee) -> Event:
    """Return the event of a release with a given guarantee.

    Parameters
    ----------
    guarantee : ApproxDP or ZeroConcentratedDP
        Only its numbers are used: the caller must compare neighbours and assumptions.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP, event_of
    >>> event_of(ApproxDP(1, 1e-6))
    Approximate(epsilon=Fraction(1, 1), delta=Fraction(1, 1000000))
    """
    return _event_of(guarantee)
