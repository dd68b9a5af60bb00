"""Audit cases of stable counts: the whole release, on keys of several types from an undeclared set."""

from fractions import Fraction

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import ReleaseFit
from dplearn.privacy import ApproxDP
from dplearn.releases.stable_counts import _StableCounts

__all__ = ["CASES"]

_COUNTS = ApproxDP(2, Fraction(1, 20))


_COUNTED = ReleaseFit(
    lambda: _StableCounts(_COUNTS.epsilon, _COUNTS.delta), list, lambda found: (str(found.counts), found)
)

CASES = (
    AuditCase(
        "stable_counts",
        _COUNTED,
        ("a", None, 2.0),
        6,
        _COUNTS,
        ordered=False,
        rules=None,
        verifies=("StableCounts",),
        required=Required(28, 0.85),
    ),
    AuditCase(
        "stable_counts_of_few",
        _COUNTED,
        ("a", None, 2.0),
        4,
        _COUNTS,
        rules=None,
        verifies=("StableCounts",),
        required=Required(15, 0.48),
    ),
)
