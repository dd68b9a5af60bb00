"""Division of an (epsilon, delta) budget among equal releases, and its conversion into rho or mu^2 / 2."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from dplearn._validation import check_count
from dplearn.privacy.calibration import calibrate
from dplearn.privacy.composition import Composition, least_epsilon
from dplearn.privacy.events import (
    Approximate,
    BoundedRange,
    Event,
    GaussianSums,
    PureDP,
    ZeroConcentrated,
)
from dplearn.privacy.gaussian_dp import LARGEST_EPSILON, greatest_mu, without_failure
from dplearn.privacy.guarantees import ApproxDP, delta_of, epsilon_of

_BELOW = 1 - Fraction(1, 1 << 28)  # concentrated_budget is correct to one part in 2**30
_LEAST_EPSILON = Fraction(1, 10**100)  # floats represent what follows from it
_LEAST_DELTA = Fraction(1, 1 << 70)  # below it, the failure of Gaussian sums is no small part of delta
WORTH_DELTA = 1 + Fraction(1, 10**4)  #: For a smaller gain in epsilon, no delta is spent on composition.


def equal_epsilon(privacy: ApproxDP, count: int, kind: Callable[[Any], Event] = PureDP) -> Fraction:
    """Return the greatest epsilon found for which `count` releases of that epsilon compose to `privacy`."""
    # The epsilon of all releases is fixed in advance; a release, an event of `kind` at most as costly as a
    # pure one, may depend on earlier ones.
    target = ApproxDP(epsilon_of(privacy), privacy.delta)
    return _equal_epsilon(target, check_count("count", count, low=1), kind)


@lru_cache(maxsize=64)
def _equal_epsilon(target: ApproxDP, count: int, kind: Callable[[Any], Event]) -> Fraction:
    if not target.delta or count == 1:
        return target.epsilon / count
    return calibrate(
        lambda epsilon: Composition({kind(epsilon): count}),
        target,
        low=target.epsilon / count,
        high=target.epsilon,
    )


def equal_shares(privacy: ApproxDP, count: int) -> tuple[ApproxDP, ...]:
    """Return equal shares of a budget that a composition theorem allows, in decreasing order of epsilon."""
    # `count` releases whose guarantees are the last share compose to `privacy`. A greater share suffices only
    # for releases of lower cost. The caller composes the events, and takes the first share for which their
    # cost is at most `privacy`.
    count = check_count("count", count, low=1)
    numbers = _equal_shares(ApproxDP(epsilon_of(privacy), privacy.delta), count)
    return tuple(replace(privacy, epsilon=epsilon, delta=delta) for epsilon, delta in numbers)


@lru_cache(maxsize=64)
def _equal_shares(target: ApproxDP, count: int) -> tuple[tuple[Fraction, Fraction], ...]:
    basic = target.epsilon / count, target.delta / count
    if not target.delta or count == 1:
        return (basic,)
    half = target.delta / (2 * count)  # the failures add up to half of delta, and composition uses the rest
    kinds = (partial(Approximate, delta=half), PureDP, BoundedRange)
    shares = [(_equal_epsilon(target, count, kind), half) for kind in kinds]
    for accounting in (CONCENTRATED, GAUSSIAN):
        share = accounting.epsilon_within(accounting.budget(target) / count, target.delta)
        shares.append((share, target.delta))
    least = shares[0] if shares[0][0] > basic[0] * WORTH_DELTA else basic
    greater = {share for share in shares if share[0] > least[0] * WORTH_DELTA}
    return (*sorted(greater, reverse=True), least)


def concentrated_budget(privacy: ApproxDP) -> Fraction:
    """Return the greatest rho found for which zero-concentrated privacy with rho implies `privacy`."""
    return _concentrated_budget(ApproxDP(epsilon_of(privacy), delta_of(privacy)))


@lru_cache(maxsize=64)
def _concentrated_budget(target: ApproxDP) -> Fraction:
    # A larger rho exceeds the target unless delta is above 1/2; for such a delta the result is valid, too.
    high = target.epsilon**2 + target.epsilon + 1
    return calibrate(ZeroConcentrated, target, low=high / (1 << 400), high=high)


def gaussian_budget(privacy: ApproxDP) -> Fraction:
    """Return the greatest mu^2 / 2 found for which sums with Gaussian noise have the guarantee `privacy`."""
    # For at most 2**32 integers together, with noise as of `sums_sigma2` and budgets that add up to this one,
    # also adaptive ones. It exceeds `concentrated_budget` by 13 to 18 % at delta 1e-6, and equals it where
    # epsilon is above 64 or below 10**-100, or delta below 2**-70.
    return _gaussian_budget(ApproxDP(epsilon_of(privacy), delta_of(privacy)))


@lru_cache(maxsize=64)
def _gaussian_budget(target: ApproxDP) -> Fraction:
    if not _LEAST_EPSILON <= target.epsilon <= LARGEST_EPSILON or target.delta < _LEAST_DELTA:
        return _concentrated_budget(target)
    return greatest_mu(target.epsilon, without_failure(target.delta)) ** 2 / 2


@dataclass(frozen=True)
class Accounting:
    """A kind of budget that adds up over releases, and in which a release states its cost."""

    budget: Callable[[ApproxDP], Fraction]  # the greatest that implies a guarantee
    event: Callable[[Fraction], Event]  # of a release with a budget, and a rho of at most it

    def epsilon_within(self, budget: Fraction, delta: Fraction) -> Fraction:
        """Return an epsilon whose budget at a delta is at most a given one, and nearly as great."""
        epsilon = Fraction(least_epsilon(self.event(budget), delta)) * _BELOW
        while epsilon and self.budget(ApproxDP(epsilon, delta)) > budget:
            epsilon *= _BELOW
        return epsilon


#: Releases with a rho, such as exponential mechanisms and discrete Gaussian noise together.
CONCENTRATED = Accounting(concentrated_budget, ZeroConcentrated)
#: Releases of sums with discrete Gaussian noise alone.
GAUSSIAN = Accounting(gaussian_budget, GaussianSums)
