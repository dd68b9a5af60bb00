"""Division of an (epsilon, delta) budget among equal releases, and its conversion into rho.

>>> float(equal_epsilon(ApproxDP(1, 1e-6), 1000)), round(float(concentrated_budget(ApproxDP(1, 1e-6))), 9)
(0.0074951001331210135, 0.02435597)
>>> equal_epsilon(ApproxDP(1), 1000)
Fraction(1, 1000)
"""

from fractions import Fraction
from functools import lru_cache

from dplearn._validation import check_count
from dplearn.privacy.calibration import calibrate
from dplearn.privacy.composition import Composition
from dplearn.privacy.events import PureDP, ZeroConcentrated
from dplearn.privacy.guarantees import ApproxDP, delta_of, epsilon_of

__all__ = ["concentrated_budget", "equal_epsilon"]


def equal_epsilon(privacy: ApproxDP, count: int) -> Fraction:
    """Return the greatest epsilon found for which `count` pure releases of that epsilon compose to `privacy`.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon positive. With delta 0 the result is epsilon / count.
    count : int
        At least 1. The epsilon of all releases is fixed in advance; a release may depend on earlier ones.
    """
    target = ApproxDP(epsilon_of(privacy), privacy.delta)
    return _equal_epsilon(target, check_count("count", count, low=1))


@lru_cache(maxsize=64)
def _equal_epsilon(target: ApproxDP, count: int) -> Fraction:
    if not target.delta:
        return target.epsilon / count
    return calibrate(
        lambda epsilon: Composition({PureDP(epsilon): count}),
        target,
        low=target.epsilon / count,
        high=target.epsilon,
        increasing=True,
    )


def concentrated_budget(privacy: ApproxDP) -> Fraction:
    """Return the greatest rho found for which zero-concentrated privacy with rho implies `privacy`.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon and delta positive.
    """
    return _concentrated_budget(ApproxDP(epsilon_of(privacy), delta_of(privacy)))


@lru_cache(maxsize=64)
def _concentrated_budget(target: ApproxDP) -> Fraction:
    # A larger rho exceeds the target unless delta is above 1/2; for such a delta the result is valid, too.
    high = target.epsilon**2 + target.epsilon + 1
    return calibrate(
        lambda rho: Composition({ZeroConcentrated(rho): 1}),
        target,
        low=high / (1 << 400),
        high=high,
    )
