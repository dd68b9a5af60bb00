r"""What a guarantee means for one person: how well an attacker can tell whether a record was used.

The attacker decides between two neighbouring tables from the whole release. A guarantee bounds the
probability of a true "yes" at each probability of a false one; see docs/theory/tracing.md.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dplearn._validation import check_number
from dplearn.kernels import exp_bounds, log_bounds, root_above
from dplearn.privacy.conversion import as_decimal, rounded_up
from dplearn.privacy.events import Event, event_of
from dplearn.privacy.gaussian_dp import LARGEST_EPSILON, delta_of_mu
from dplearn.privacy.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP, decimal

_ONE = Fraction(1)
_DELTA = Fraction(1, 10**6)  # of the posteriors, for a zero-concentrated guarantee
_MOST = 500  # beyond this epsilon or rho the bounds are 1
_LEAST_RATE = Fraction(1, 10**200)  # smaller false positive rates are raised to it
_TINY = Fraction(1, 10**18)  # below this rho, Pinsker's inequality is exact to 12 digits
_BITS = 160  # of the delta of Gaussian-DP
_ORDERS = np.geomspace(1e-3, 1e5, 241)  # of the Renyi divergences that are tried, less 1
_STEPS = 64
_SHOWN_RATES = (Fraction(1, 1000), Fraction(1, 100))
_SHOWN_PRIORS = (Fraction(1, 2), Fraction(1, 100))
_QUESTION = {
    ("replace_one", "examples"): "whether the table has the record of one person, or another record in its"
    " place",
    ("replace_one", "labels"): "which of two labels the record of one person has, where all other values are"
    " public",
    ("add_remove", "examples"): "whether the record of one person is in the table",
    (
        "replace_one",
        "groups",
    ): "whether the table has the records of one group, or other records in their place",
    ("add_remove", "groups"): "whether the records of one group are in the table",
}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AttackRisk:
    """Upper bounds on the success of every attack on one record; made by `attack_risk`.

    Attributes
    ----------
    guarantee : Guarantee
        The guarantee, with its neighbours and its protected part.
    events : tuple of Event
        What is known of the cost of the release; the rates follow from it.
    """

    guarantee: Guarantee
    events: tuple[Event, ...]

    @property
    def advantage(self) -> Fraction:
        """The greatest difference of the true and the false positive rate, rounded up to 12 digits."""
        return _rounded(min((bound for event in self.events for bound in _advantages(event)), default=_ONE))

    def true_positive_rate(self, false_positive_rate: Any) -> Fraction:
        """Return the greatest true positive rate of an attacker, rounded up to 12 digits.

        Parameters
        ----------
        false_positive_rate : number
            In [0, 1]; the attacker's is at most this.
        """
        rate = check_number("false_positive_rate", false_positive_rate, low=0, high=1)
        return _rounded(min((bound for event in self.events for bound in _rates(event, rate)), default=_ONE))

    @property
    def exception(self) -> Fraction:
        """The greatest probability with which `posterior` is exceeded: 0 without a delta, else 2 delta."""
        return min(_ONE, 2 * self._approximate.delta)

    def posterior(self, prior: Any) -> Fraction:
        """Return the greatest belief in a statement about one record after the release.

        Parameters
        ----------
        prior : number
            The belief before, in (0, 1).

        Returns
        -------
        Fraction
            Rounded up to 12 digits; exceeded with probability `exception` at most. 1 if there is no bound.
        """
        belief, approx = check_number("prior", prior, above=0, below=1), self._approximate
        if self.exception >= 1 or approx.epsilon > _MOST:
            return _ONE
        # Let E be the outcomes with P > 2 exp(epsilon) P'. There P(E) <= exp(epsilon) P'(E) + delta
        # <= P(E) / 2 + delta, so P(E) <= 2 delta.
        factor = exp_bounds(approx.epsilon)[1] * (2 if approx.delta else 1)
        return _rounded(belief * factor / (1 - belief + belief * factor))

    @property
    def _approximate(self) -> ApproxDP:
        """The guarantee, or the approximate one that a zero-concentrated one implies."""
        if isinstance(self.guarantee, ZeroConcentratedDP):
            return self.guarantee.to_approx(_DELTA if self.guarantee.rho else 0)
        assert isinstance(self.guarantee, ApproxDP)
        return self.guarantee

    def sentences(self) -> tuple[str, ...]:
        """Return the bounds as English sentences, one each, with percentages rounded up.

        The last sentence of a reproducible guarantee says that the bounds are void for who knows the seed.
        """
        question = _QUESTION[self.guarantee.neighbors, self.guarantee.protects]
        points = percent(self.advantage).removesuffix(" %")
        few, more = ((percent(rate), percent(self.true_positive_rate(rate))) for rate in _SHOWN_RATES)
        even, small = ((percent(prior), percent(self.posterior(prior))) for prior in _SHOWN_PRIORS)
        unit = self.guarantee._unit
        found = [
            f"An attacker sees the whole release, knows all other {unit}s, has unlimited computing power and"
            f" decides {question}: its true positive rate exceeds its false positive rate by at most {points}"
            " percentage points, where 0 is a guess and 100 is certainty.",
            f"At a false positive rate of {few[0]} its true positive rate is at most {few[1]}, and at"
            f" {more[0]} at most {more[1]}.",
            f"Its belief in a statement about this {unit} becomes at most {even[1]} if it was {even[0]}"
            f" before the release, and at most {small[1]} if it was {small[0]}.",
        ]
        if 0 < self.exception < 1:
            found.append(
                "The bounds on beliefs may fail, with a probability of at most"
                f" {decimal(self.exception)}, which is twice the delta; the bounds on rates include the delta"
                " and do not fail."
            )
        if self.guarantee.reproducible:
            found.append(
                "The noise can be drawn again from its seed: no bound holds against an attacker who knows or"
                " guesses the seed."
            )
        return tuple(found)

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def attack_risk(guarantee: Guarantee, event: Event | None = None) -> AttackRisk:
    """Return upper bounds on the success of every attack on one record.

    Parameters
    ----------
    guarantee : ApproxDP or ZeroConcentratedDP
        The guarantee of the release.
    event : Event, optional
        The privacy event of the same release for the same neighbours, if more is known than the guarantee
        states: `GaussianSums` for Gaussian noise, or `BoundedRange` for the exponential mechanism.

    Returns
    -------
    AttackRisk
        With `advantage`, `true_positive_rate`, `posterior`, `exception` and `sentences`.

    Notes
    -----
    **Accuracy.** Some release with the guarantee attains the advantage: for an ApproxDP, randomised response
    with a failure, which attains all rates, too; for a ZeroConcentratedDP, randomised response; for Gaussian
    noise, the noise itself, up to the failure. Proofs: docs/theory/tracing.md.

    **Source.** Kairouz, Oh and Viswanath (2015), Theorem 2.1, for ApproxDP; Dong, Roth and Su (2022) for
    Gaussian-DP. The bounds for zero-concentrated privacy are ours, by data processing.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP, attack_risk
    >>> risk = attack_risk(ApproxDP(1))
    >>> [round(float(number), 4) for number in (risk.advantage, risk.posterior("0.5"))]
    [0.4621, 0.7311]
    """
    if not isinstance(guarantee, ApproxDP | ZeroConcentratedDP):
        raise TypeError(f"guarantee must be an ApproxDP or a ZeroConcentratedDP, got {guarantee!r}")
    if event is not None and not isinstance(event, Event):
        raise TypeError(f"event must be None or a privacy event, got {event!r}")
    return AttackRisk(guarantee, (event_of(guarantee), *(() if event is None else (event,))))


def epsilon_for_risk(
    *,
    advantage: Any = None,
    true_positive_rate: Any = None,
    false_positive_rate: Any = None,
    posterior: Any = None,
    prior: Any = None,
    delta: Any = 0,
) -> Fraction:
    """Return the greatest epsilon whose attack risk is at most a wanted one, rounded down to 12 digits.

    Exactly one bound must be given: on the advantage, on the true positive rate at a false positive rate, or
    on the posterior from a prior.

    Parameters
    ----------
    advantage : number, optional
        In (0, 1).
    true_positive_rate, false_positive_rate : number, optional
        In (0, 1); the false positive rate is the smaller one.
    posterior, prior : number, optional
        In (0, 1); the prior is the smaller one.
    delta : number, default=0
        The delta of the guarantee; at least 0 and below 1.

    Returns
    -------
    Fraction
        `attack_risk(ApproxDP(epsilon, delta))` meets the bound. Gaussian noise and the exponential mechanism
        have less risk at the same epsilon: see the argument `event` of `attack_risk`.

    Raises
    ------
    ValueError
        If not exactly one bound is given, or no epsilon meets the bound at `delta`.

    Examples
    --------
    >>> from dplearn.privacy import epsilon_for_risk
    >>> float(epsilon_for_risk(true_positive_rate=0.05, false_positive_rate=0.01))
    1.60943791243
    >>> float(epsilon_for_risk(posterior=0.6, prior=0.5))
    0.405465108108
    """
    kinds = (
        {"advantage": advantage},
        {"true_positive_rate": true_positive_rate, "false_positive_rate": false_positive_rate},
        {"posterior": posterior, "prior": prior},
    )
    given = [kind for kind in kinds if any(value is not None for value in kind.values())]
    if len(given) != 1 or None in given[0].values():
        names = [name for kind in given for name, value in kind.items() if value is not None]
        raise ValueError(
            "exactly one must be given of advantage, of true_positive_rate with false_positive_rate, and of"
            f" posterior with prior, got {' and '.join(names) or 'none'}"
        )
    lost = check_number("delta", delta, low=0, below=1)
    (name, value), *others = given[0].items()
    wanted = _rounded_down(check_number(name, value, above=0, below=1))
    less = [check_number(other, smaller, above=0, below=wanted) for other, smaller in others]
    factor = {
        "advantage": lambda: (1 + wanted - 2 * lost) / (1 - wanted),
        "true_positive_rate": lambda: max((wanted - lost) / less[0], (1 - lost - less[0]) / (1 - wanted)),
        "posterior": lambda: wanted * (1 - less[0]) / (less[0] * (1 - wanted)) / (2 if lost else 1),
    }[name]()
    if name == "posterior" and 0 < 2 * lost < 1 and factor < 1:
        least = float(rounded_up(2 * less[0] / (1 + less[0]), 3))
        raise ValueError(
            f"posterior must be at least {least:g} with a positive delta, the least that can be bounded from"
            f" prior={float(less[0]):g}, which is 2 prior / (1 + prior), got {float(wanted):g}; ask for an"
            " advantage, or give delta=0"
        )
    if factor < 1 or (name == "posterior" and 2 * lost >= 1):
        raise ValueError(
            f"{name} must be reachable at delta={float(lost):g}: no epsilon has so small a risk,"
            f" got {float(wanted):g}"
        )
    return _rounded_down(log_bounds(factor)[0])


def percent(x: Fraction) -> str:
    """Return a number in [0, 1] as a percentage, rounded up to three digits, or to more near 100 %."""
    for digits in range(3, 13):
        shown = as_decimal(100 * x, digits)
        if shown < 100:
            return f"{shown.normalize():f} %"
    return "100 %"


def _rounded(x: Fraction) -> Fraction:
    """Return a bound on a probability, rounded up to 12 digits."""
    return min(_ONE, rounded_up(x)) if x > 0 else Fraction(0)


def _rounded_down(x: Fraction) -> Fraction:
    return Fraction(as_decimal(x, 12, ROUND_FLOOR)) if x > 0 else Fraction(0)


def _advantages(event: Event) -> Iterator[Fraction]:
    """Yield bounds on the advantage: a release is arbitrary with the failure probability F, which adds F."""
    if event.pure is not None:
        yield _pair_advantage(event.pure, event.failure)
    if (rho := _rho_beyond_pure(event)) is not None:
        yield _concentrated_advantage(rho) + event.failure
    if event.mu2 is not None and event.pure is None:
        yield _pair_advantage(*_gaussian_pair(event, 0.0))


def _rates(event: Event, rate: Fraction) -> Iterator[Fraction]:
    """Yield bounds on the true positive rate at a false positive rate."""
    # Let s = 1 - F. The main part has a false positive rate of at most rate / s, and the release a true
    # positive rate of at most s times its own, plus F.
    if event.pure is not None:
        yield _pair_rate(event.pure, event.failure, rate)
    if (rho := _rho_beyond_pure(event)) is not None and event.failure < 1:
        yield _concentrated_rate(rho, min(_ONE, rate / (1 - event.failure))) + event.failure
    if event.mu2 is not None and event.pure is None:
        # Where the densities of the two normal numbers have the ratio exp(loss), the test at this rate is.
        mu, quantile = math.sqrt(event.mu2), float(ndtri(1 - float(rate)))
        loss = abs(mu * min(max(quantile, -40.0), 40.0) - mu * mu / 2)
        yield _pair_rate(*_gaussian_pair(event, loss), rate)


def _rho_beyond_pure(event: Event) -> Fraction | None:
    """Return the rho of an event, or None if an epsilon implies it."""
    rho, pure = event.rho, event.pure
    return None if rho is None or (pure is not None and rho >= pure**2 / 2) else rho


def _pair_advantage(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return (exp(epsilon) - 1 + 2 delta) / (exp(epsilon) + 1), rounded up; it increases with epsilon."""
    if epsilon > _MOST or delta >= 1:
        return _ONE
    return 1 - 2 * (1 - delta) / (exp_bounds(epsilon)[1] + 1)


def _pair_rate(epsilon: Fraction, delta: Fraction, rate: Fraction) -> Fraction:
    """Return the lesser of delta + exp(epsilon) rate and 1 - exp(-epsilon) (1 - delta - rate), rounded up."""
    if epsilon > _MOST or delta + rate >= 1:
        return min(_ONE, delta) if not rate else _ONE
    factor = exp_bounds(epsilon)[1]
    return min(delta + factor * rate, 1 - (1 - delta - rate) / factor)


def _gaussian_pair(event: Event, loss: float) -> tuple[Fraction, Fraction]:
    """Return an epsilon and the delta of a Gaussian event there, failures included."""
    failure = event.failure + event.mu2_failure
    epsilon = min(Fraction(loss), Fraction(LARGEST_EPSILON))
    return epsilon, failure + (delta_of_mu(root_above(event.mu2), epsilon, _BITS) if event.mu2 else 0)


def _concentrated_advantage(rho: Fraction) -> Fraction:
    """Return a v with v ln((1 + v) / (1 - v)) >= rho, close to the least one. For an event of probabilities t
    and a = t - v, 2 rho bounds both divergences of order 1: 2 rho >= v (logit(t) - logit(a)) >= 2 v ln((1 +
    v) / (1 - v)) >= 4 v^2, the second with equality at t + a = 1.
    """
    if rho > _MOST:
        return _ONE
    enough = root_above(rho / 2) if rho else Fraction(0)  # Pinsker's inequality
    if rho < _TINY:
        return enough
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        inside = 0 < middle < 1 and 2 * middle * math.atanh(middle) < rho
        low, high = (middle, high) if inside else (low, middle)
    v, step = Fraction(high), Fraction(1, 1 << 50)
    while v < min(enough, _ONE):
        if v * log_bounds((1 + v) / (1 - v))[0] >= rho:
            return v
        v, step = v * (1 + step), 2 * step
    return min(enough, _ONE)


def _concentrated_rate(rho: Fraction, rate: Fraction) -> Fraction:
    """Return a bound on the true positive rate: a t whose divergence exceeds rho times some order."""
    # The divergences increase with t >= a. Floats choose the order and t; exact enclosures verify the
    # divergence.
    rate = max(rate, _LEAST_RATE)
    if rho > _MOST or 1 - rate < Fraction(1, 10**12):
        return _ONE
    if not rho:
        return rate
    least = min(
        (_best_order(float(rho), float(rate), forward) for forward in (True, False)), key=lambda x: x[0]
    )
    t, step = Fraction(max(least[0], float(rate))), Fraction(1, 1 << 45)
    order, forward = Fraction(least[1]), least[2]
    for _ in range(_STEPS):
        t, step = t * (1 + step), 2 * step
        if t >= 1:
            break
        if t > rate and _exceeds(order, t, rate, rho, forward=forward):
            return t
    return _ONE


def _best_order(rho: float, rate: float, forward: bool) -> tuple[float, float, bool]:
    """Return in floats the least true positive rate whose divergence is too great, and its order."""
    less = _ORDERS
    for _ in range(3):
        found = _least_rates(rho, rate, 1 + less, forward)
        best = int(np.argmin(found))
        answer = float(found[best]), float(1 + less[best]), forward
        less = np.geomspace(less[max(best - 1, 0)], less[min(best + 1, len(less) - 1)], 33)
    return answer


def _least_rates(rho: float, rate: float, orders: Floats, forward: bool) -> Floats:
    """Return for each order the t with a divergence of rho times the order, or 1, by bisection of ln t."""
    low, high = np.full(orders.shape, math.log(rate)), np.zeros(orders.shape)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        yes, no = (middle, math.log(rate)), (np.log(-np.expm1(np.minimum(middle, -1e-17))), math.log1p(-rate))
        a, b = (1, 0) if not forward else (0, 1)
        logs = np.logaddexp(orders * yes[a] + (1 - orders) * yes[b], orders * no[a] + (1 - orders) * no[b])
        above = logs > (orders - 1) * rho * orders
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(np.exp(high))


def _exceeds(order: Fraction, t: Fraction, rate: Fraction, rho: Fraction, *, forward: bool) -> bool:
    """Return True only if the divergence of two coins exceeds rho times the order."""
    exponent = (order - 1) * order * rho
    if exponent > 10**5:
        return False
    first, second = (t, rate) if forward else (rate, t)
    total = Fraction(0)
    for p, q in ((first, second), (1 - first, 1 - second)):
        log = order * log_bounds(p)[0] - (order - 1) * log_bounds(q)[1]
        if log > -(10**5):
            total += exp_bounds(log)[0]
    return total > exp_bounds(exponent)[1]
