"""What a mechanism may spend: the numbers of a promise, if it is one and they suffice.

>>> from dplearn.privacy import ApproxDP
>>> epsilon_of(ApproxDP(0.1))
Fraction(1, 10)
"""

from fractions import Fraction
from typing import Any

from dplearn._validation import check_number
from dplearn.privacy.guarantees import ApproxDP, ZeroConcentratedDP

__all__ = ["delta_of", "epsilon_of", "rho_of"]


def epsilon_of(privacy: Any) -> Fraction:
    """Return epsilon, which must be positive, of an ApproxDP."""
    return check_number("epsilon", _checked(privacy, ApproxDP).epsilon, above=0)


def delta_of(privacy: Any) -> Fraction:
    """Return delta, which must be positive, of an ApproxDP."""
    return check_number("delta", _checked(privacy, ApproxDP).delta, above=0)


def rho_of(privacy: Any) -> Fraction:
    """Return rho, which must be positive, of a ZeroConcentratedDP."""
    return check_number("rho", _checked(privacy, ZeroConcentratedDP).rho, above=0)


def _checked(privacy: Any, kind: type) -> Any:
    if not isinstance(privacy, kind):
        raise TypeError(f"privacy must be of type {kind.__name__}, got {privacy!r}")
    return privacy
