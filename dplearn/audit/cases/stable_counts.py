"""Audit cases of stable counts: the whole release, on keys from an undeclared set.

Keys have several types, and one is missing. With so few records the exact delta is below the claimed one.
"""

from fractions import Fraction
from typing import Any

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Rows
from dplearn.chance.dice import Dice
from dplearn.privacy import ApproxDP
from dplearn.releases.stable_counts import _StableCounts

__all__ = ["CASES"]

_COUNTS = ApproxDP(2, Fraction(1, 20))


def _counted(rows: Rows, dice: Dice) -> tuple[str, Any]:
    stages = _StableCounts(_COUNTS.epsilon, _COUNTS.delta)
    keys = stages.read(list(rows))
    plan = stages.plan_of(keys)
    found = stages.release(stages.summarize(keys, plan), plan, dice)
    return str(found.counts), found


CASES = (
    AuditCase(
        "stable_counts",
        _counted,
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
        _counted,
        ("a", None, 2.0),
        4,
        _COUNTS,
        rules=None,
        verifies=("StableCounts",),
        required=Required(15, 0.48),
    ),
)
