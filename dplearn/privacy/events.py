"""Privacy events: what one release may cost, as frozen values that own their curves.

An event with failure probability delta is a mixture. For each pair of neighbours both distributions split as
(1 - delta) times a part that keeps the curves below and delta times anything at all. That every
(epsilon, delta) private release so splits, with a purely epsilon private part, is the theorem of Kairouz,
Oh and Viswanath (2017) in the form that Murtagh and Vadhan (2018) gave it. So failures add, and the other
parts compose as if they had never failed.

An event says what it knows, and `Event` derives the rest. One that says nothing has no bound at all.

>>> PureDP(0.1).rho, BoundedRange(0.1).rho
(Fraction(1, 200), Fraction(1, 800))
>>> import numpy as np
>>> PureDP(0.1).renyi(np.array([2.0, 100.0])).round(6)
array([0.009959, 0.093491])
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache, singledispatch
from typing import Any, TypeVar

import numpy as np

from dplearn._validation import check_number
from dplearn.core.exact import short_above
from dplearn.privacy.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP
from dplearn.privacy.renyi_curves import Floats, chords, float_or_infinity, pure_and_concentrated

__all__ = [
    "EVENTS",
    "Approximate",
    "BoundedRange",
    "Event",
    "Gaussian",
    "PermuteAndFlip",
    "PureDP",
    "Renyi",
    "ZeroConcentrated",
    "checked",
    "event_of",
    "freeze",
    "register",
]

EVENTS: dict[str, type["Event"]] = {}

Kind = TypeVar("Kind", bound=type["Event"])


def register(kind: Kind) -> Kind:
    """Enter a kind of event among EVENTS: the laws that every event keeps are then tested on its `ladder`."""
    EVENTS[kind.__name__] = kind
    return kind


def freeze(event: "Event", /, **fields: object) -> None:
    """Set the fields of a frozen value, once."""
    for name, value in fields.items():
        object.__setattr__(event, name, value)


def checked(name: str, event: Any) -> "Event":
    """Return what is known to be an event that can be counted together with those that equal it.

    Its own class must be a frozen dataclass, and all that is set on it a field that is compared: an equality
    that is inherited, or blind to a number, would count two releases of different cost as two of the cheaper.
    No cost may be negative.

    Raises
    ------
    TypeError, ValueError
        If it is anything else.
    """
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
    if any(cost is not None and cost < 0 for cost in (event.failure, event.pure, event.rho)):
        raise ValueError(
            f"{name} must hold events of nonnegative cost; one {kind.__name__} has a negative one"
        )
    return event


@lru_cache(maxsize=256)
def _compared(kind: type) -> frozenset[str] | None:
    """Return the fields that determine equality, or None if the class is no frozen dataclass of its own."""
    settings = vars(kind).get("__dataclass_params__")
    if settings is None or not (settings.frozen and settings.eq):
        return None
    return frozenset(field.name for field in fields(kind) if field.compare)


def _is_cache(kind: type, key: str) -> bool:
    return isinstance(getattr(kind, key, None), cached_property)


@dataclass(frozen=True, init=False)
class Event:
    """A release whose cost is fixed before it is made; without a subclass, one of unbounded cost.

    Numbers hold between neighbours of whatever kind the release was analysed for; what is composed must
    be for the same kind. A subclass is a frozen dataclass whose fields determine its cost, since equal events
    are counted together (`checked` refuses what it can tell to be none); it overrides what it knows.
    """

    @property
    def failure(self) -> Fraction:
        """Probability that is set aside."""
        return Fraction(0)

    @property
    def pure(self) -> Fraction | None:
        """Epsilon of the rest, or None if no epsilon is known."""
        return None

    @property
    def rho(self) -> Fraction | None:
        """Zero-concentrated cost of the rest, or None; epsilon^2 / 2 unless something better is known."""
        return None if self.pure is None else short_above(self.pure**2 / 2)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Orders at which the curve bends, so that the best order may be one of them."""
        return ()

    def renyi(self, orders: Floats) -> Floats:
        """Return upper bounds on the Renyi divergences of the rest.

        Parameters
        ----------
        orders : ndarray of float of shape (k,)
            Finite and above 1.

        Returns
        -------
        ndarray of float of shape (k,)
            Rounded to the safe side; infinite where nothing is known.
        """
        epsilon, rho = float_or_infinity(self.pure), float_or_infinity(self.rho)
        bounds: Floats = pure_and_concentrated(np.array([epsilon]), np.array([rho]), orders)[0]
        return bounds

    def flat(self, count: int) -> Mapping["Event", int]:
        """Return the simple events that `count` of this one are composed of."""
        return {self: count}

    @classmethod
    def ladder(cls) -> list["Event"]:
        """Return examples of this kind, each costing at most what the next one costs."""
        return []


@register
@dataclass(frozen=True, init=False)
class PureDP(Event):
    """An epsilon private release: no worse than randomised response with that epsilon.

    Parameters
    ----------
    epsilon : number
        Nonnegative.
    """

    epsilon: Fraction

    def __init__(self, epsilon: Any):
        freeze(self, epsilon=check_number("epsilon", epsilon, low=0))

    @property
    def pure(self) -> Fraction:
        """Return epsilon."""
        return self.epsilon

    @classmethod
    def ladder(cls) -> list[Event]:
        """Return examples, none costing more than the next."""
        return [cls(epsilon) for epsilon in (0, 0.01, 0.1, "1/3", 1, 5)]


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
        """Return delta, or a little more if it is no short number."""
        return short_above(self.delta)

    @property
    def pure(self) -> Fraction:
        """Return epsilon."""
        return self.epsilon

    @classmethod
    def ladder(cls) -> list[Event]:
        """Return examples, none costing more than the next."""
        steps = ((0.1, 0), (0.1, "1e-9"), ("1/3", "1e-9"), ("1/3", "1e-7"), (1, "3e-7"))
        return [cls(epsilon, delta) for epsilon, delta in steps]


@register
@dataclass(frozen=True, init=False)
class BoundedRange(PureDP):
    """An exponential mechanism, or any release whose log-ratios lie in an interval of length epsilon.

    Then rho = epsilon^2 / 8 (Cesar and Rogers 2021; a proof stands in docs/composition.md); the ratios are at
    most epsilon too, so at each order the lower curve counts. The exponential mechanism's weights move by
    factors within exp(-epsilon / 2) and exp(epsilon / 2), and dividing by their sum moves all ratios alike.
    """

    @property
    def rho(self) -> Fraction:
        """Return epsilon^2 / 8."""
        return short_above(self.epsilon**2 / 8)


@register
@dataclass(frozen=True, init=False)
class PermuteAndFlip(PureDP):
    """Permute-and-flip, charged epsilon^2 / 2 like any epsilon private release, and not epsilon^2 / 8.

    Its log-ratios are not confined to an interval of length epsilon. With two candidates at epsilon .1, the
    true rho is .00476: nearly four times epsilon^2 / 8 = .00125, and below epsilon^2 / 2 = .005.
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
        """Return rho, or a little more if it is no short number."""
        return short_above(self.cost)

    @classmethod
    def ladder(cls) -> list[Event]:
        """Return examples, none costing more than the next."""
        return [cls(rho) for rho in (0, "1e-9", 0.005, "1/7", 2)]


@register
@dataclass(frozen=True, init=False)
class Gaussian(Event):
    """Discrete Gaussian noise on integers: rho = sensitivity2 / (2 sigma2).

    Canonne, Kamath and Steinke (2020), Theorem 14: the divergences are at most those of continuous noise.

    Parameters
    ----------
    sigma2 : number
        Above 0; the variance parameter of the noise on each coordinate.
    sensitivity2 : number, default=1
        The most by which the answers move between neighbours, in squared Euclidean length.
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
        """Return sensitivity2 / (2 sigma2), or a little more if it is no short number."""
        return short_above(self.sensitivity2 / (2 * self.sigma2))

    @classmethod
    def ladder(cls) -> list[Event]:
        """Return examples, none costing more than the next."""
        return [cls(*parameters) for parameters in ((10**6,), (300,), (300, 2), ("7/3", 2))]


@register
@dataclass(frozen=True, init=False)
class Renyi(Event):
    """A release whose Renyi divergences are known at some orders.

    (a - 1) times the divergence of order a is convex in a and 0 at a = 1, so that chords between the given
    points are bounds too; beyond the last order nothing is known.

    Parameters
    ----------
    orders : iterable of number
        Above 1 and increasing.
    bounds : iterable of number
        Nonnegative; as many as orders.
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
        """Return the given orders."""
        return tuple(float(order) for order in self.orders)

    def renyi(self, orders: Floats) -> Floats:
        """Return the chords between the given points, rounded up."""
        return chords(self.orders, self.bounds, orders)

    @classmethod
    def ladder(cls) -> list[Event]:
        """Return examples, none costing more than the next."""
        orders = (1.5, 2, 8, 64)
        return [cls(orders, [scale * order for order in orders]) for scale in (0.001, 0.01, 1)]


@singledispatch
def _event_of(guarantee: Guarantee) -> Event:
    raise TypeError(f"guarantee must be an ApproxDP or a ZeroConcentratedDP, got {guarantee!r}")


_event_of.register(ApproxDP, lambda g: Approximate(g.epsilon, g.delta) if g.delta else PureDP(g.epsilon))
_event_of.register(ZeroConcentratedDP, lambda g: ZeroConcentrated(g.rho))


def event_of(guarantee: Guarantee) -> Event:
    """Return the event of a release of which only a guarantee is known.

    Parameters
    ----------
    guarantee : ApproxDP or ZeroConcentratedDP
        What it says of neighbours and of assumptions is the caller's to compare.
    """
    return _event_of(guarantee)
