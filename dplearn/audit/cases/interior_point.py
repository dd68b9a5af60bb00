"""Audit cases of interior points: both methods on domains of a few codes.

The exponential method attains its claim if nearly all codes lie between two records, one of which is moved.
RecPrefix has a budget for each step, and the cases make each visible. The step of the lengths nearly attains
its budget; the choice of a prefix at most half of its epsilon, as the weight of one prefix rises and that of
another falls, but its delta up to rounding. The whole recursion combines all three.

RecPrefix is not replayed: a record that moves past others changes the pairs of all records in between for the
same draws. If it keeps its rank, replay holds: tests/laws/test_mechanism_mutants.py.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import ReleaseFit, Rows
from dplearn.chance.dice import Dice
from dplearn.domains import IntegerRange
from dplearn.mechanisms import interior_point
from dplearn.mechanisms.interior_point import (
    PrefixLevel,
    RecursiveSizes,
    choose_prefix,
    recursive_interior_point,
)
from dplearn.privacy import ApproxDP
from dplearn.releases.interior_point import _InteriorPoint

__all__ = ["CASES", "recursive_case", "tiny_sizes"]

_RELEASE = ("InteriorPoint",)


def _exponential_case(
    name: str, universe: Sequence[int], n: int, size: int, epsilon: Any, *, required: Required
) -> AuditCase:
    domain = IntegerRange(0, size - 1)
    asked = {"epsilon": epsilon, "delta": 0, "beta": Fraction(1, 20), "constants": "tight"}
    release = _InteriorPoint(domain, "exponential", **asked)
    return AuditCase(
        name,
        ReleaseFit(lambda: release, list, lambda found: (str(found.value), ())),
        universe,
        n,
        ApproxDP(epsilon),
        ordered=False,
        verifies=("interior_point_code",),
        part_of=_RELEASE,
        required=required,
    )


def tiny_sizes(
    *asides: int, choice: ApproxDP, comparison: Any, base: Any, threshold: int = 2, base_aside: int = 0
) -> RecursiveSizes:
    """Return sizes with a level for each number of records that are set aside; they prove no accuracy."""
    levels = [PrefixLevel(aside, threshold, choice, ApproxDP(comparison)) for aside in asides]
    return RecursiveSizes(tuple(levels), base_aside, ApproxDP(base), 0)


def recursive_case(
    name: str, sizes: RecursiveSizes, universe: Sequence[int], n: int, size: int, *, required: Required
) -> AuditCase:

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        found = recursive_interior_point(rows, size, sizes=sizes, privacy=sizes.privacy, dice=dice)
        return str(found), ()

    return AuditCase(
        name,
        fit,
        universe,
        n,
        sizes.privacy,
        ordered=False,
        rules=None,
        verifies=("recursive_interior_point",),
        part_of=_RELEASE,
        required=required,
    )


def _lengths_case(
    name: str, sizes: RecursiveSizes, universe: Sequence[int], n: int, size: int, *, required: Required
) -> AuditCase:
    """Return a case of the outermost call up to the length that it releases: its claim is the next call's."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        paired = sorted(rows)[: n - sizes.levels[0].aside]
        return str(interior_point._shared_length(paired, size, 0, sizes, dice)), ()

    return AuditCase(
        name, fit, universe, n, sizes.base, ordered=False, rules=None, part_of=_RELEASE, required=required
    )


def _prefix_case(
    name: str, universe: Sequence[int], n: int, claim: ApproxDP, *, required: Required
) -> AuditCase:
    """Return a case of the choice among prefixes of two bits, of codes of three."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        return str(choose_prefix(rows, 3, 2, privacy=claim, dice=dice)), ()

    return AuditCase(
        name, fit, universe, n, claim, ordered=False, rules=None, part_of=_RELEASE, required=required
    )


_CHOICE = ApproxDP(8, Fraction(1, 20))
_TOP = (1 << 80) - 1

CASES = (
    _exponential_case("interior_point_exponential", (0, 1, 2, 70, 79), 3, 80, 1, required=Required(35, 0.97)),
    # 4 of 5 records of 3 bits are paired: lengths from 0 to 3.
    _lengths_case(
        "interior_point_lengths",
        tiny_sizes(1, choice=_CHOICE, comparison=1, base=1),
        (0, 1, 3, 4, 7),
        5,
        8,
        required=Required(16, 0.6),
    ),
    # The same with codes of 80 bits: nearly all lengths lie between those of two pairs.
    _lengths_case(
        "interior_point_long_lengths",
        tiny_sizes(1, choice=_CHOICE, comparison=1, base=1),
        (0, 1 << 40, _TOP - 1, _TOP),
        5,
        _TOP + 1,
        required=Required(12, 0.975),
    ),
    # The threshold is 8: halves of the records are 7 each, and one that leaves makes a third prefix appear.
    _prefix_case(
        "interior_point_prefixes", (0, 2, 6), 14, ApproxDP(4, Fraction(1, 1000)), required=Required(120, 0.46)
    ),
    # The thresholds are 6: if all 6 are alike they have both. The length is theirs most likely, one apart or
    # not.
    recursive_case(
        "interior_point_recursive",
        tiny_sizes(0, choice=ApproxDP(4, Fraction(1, 200)), comparison=8, base=8, threshold=6),
        (0, 2, 7),
        6,
        8,
        required=Required(28, 0.74),
    ),
    # 4 pair into 2, these into 1: the lengths of lengths.
    recursive_case(
        "interior_point_recursive_twice",
        tiny_sizes(0, 0, choice=ApproxDP(16, Fraction(1, 50)), comparison=24, base=2),
        (0, 1, 4, 7),
        4,
        8,
        required=Required(35, 0.34),
    ),
)
