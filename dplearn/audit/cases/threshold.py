"""Audit cases of the threshold learner: its fit on columns of small integers, and `threshold_between` alone.

A fit here uses all examples of both labels; `threshold_between` runs with fewer. Each multiset is run once.
None attains its claim: the exponential mechanism normalises, and small universes lack the worst data.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, Rule
from dplearn.chance.dice import Dice
from dplearn.domains import IntegerRange
from dplearn.learners.rules.constant import Comparison
from dplearn.learners.rules.corner import CornerClassifier
from dplearn.learners.rules.threshold import ThresholdClassifier, threshold_between
from dplearn.privacy import ApproxDP
from dplearn.privacy.unknown_count import MOST_RECORDS

__all__ = ["CASES", "between_case", "comparison_case", "corner_classifier_case", "threshold_case"]


def threshold_case(
    name: str,
    method: str,
    values: Sequence[int],
    n: int,
    *,
    required: Required,
    staged: bool = True,
    **parameters: Any,
) -> AuditCase:
    domain = [IntegerRange(0, size - 1) for size in values]
    chosen: dict[str, Any] = {"epsilon": 1.0, "classes": ("no", "yes"), "domain": domain}
    model = ThresholdClassifier(method=method, **chosen | parameters)
    universe = list(product(*map(range, values), ("no", "yes")))
    rules = RULES if method == "exponential" else TWO_POINTS
    how: dict[str, Any] = {"ordered": False, "rules": rules, "required": required, "staged": staged}
    return fit_case(name, model, _split, _shown, universe, n, claim=ApproxDP(1), **how)


def _split(rows: Rows) -> tuple[Any, Any]:
    return np.array([row[:-1] for row in rows]), [row[-1] for row in rows]


def _shown(fitted: ThresholdClassifier) -> tuple[str, Any]:
    return f"x{fitted.feature_} {fitted.direction_} {fitted.threshold_}", fitted


def corner_classifier_case(
    name: str,
    values: Sequence[int],
    n: int,
    claim: ApproxDP,
    *,
    method: str = "interior_point",
    most: int = MOST_RECORDS,
    required: Required,
    **parameters: Any,
) -> AuditCase:
    """Return a case of the fit of a corner, with errors counted of at most `most` records; small is the whole
    fit.
    """
    domain = [IntegerRange(0, size - 1) for size in values]
    chosen: dict[str, Any] = {
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "classes": ("no", "yes"),
        "beta": 0.9,
    }
    model = CornerClassifier(domain=domain, **chosen | parameters)
    universe = list(product(*map(range, values), ("no", "yes")))
    how: dict[str, Any] = {"claim": claim, "ordered": False, "required": required}
    how |= {
        "staged": not name.startswith("small"),
        "constants": {"_methods": (method,), "_most_records": most},
    }
    return fit_case(name, model, _split, _shown_corner, universe, n, **how)


def _shown_corner(fitted: CornerClassifier) -> tuple[str, Any]:
    return repr(fitted.concept_), fitted


def comparison_case(name: str, n: int, comparison: Comparison, *, required: Required) -> AuditCase:
    """Return a case of the selection among a rule, of which records are predictions, and constant labels."""

    def select(rows: Rows, dice: Dice) -> tuple[str, Any]:
        wrong, ones = sum(predicted != y for predicted, y in rows), sum(y for _, y in rows)
        found = comparison.constant(wrong, ones, n, dice)
        return str(found), found

    claim = ApproxDP(comparison.epsilon)
    universe = list(product((0, 1), (0, 1)))
    return AuditCase(
        name, select, universe, n, claim, ordered=False, part_of=("CornerClassifier",), required=required
    )


def between_case(name: str, size: int, n: int, m: int, *, required: Required) -> AuditCase:
    """Return a case of `threshold_between`, m records of each kind looked at."""
    claim = ApproxDP(1)

    def find(rows: Rows, dice: Dice) -> tuple[str, Any]:
        codes, lower = (np.array(part) for part in zip(*rows, strict=True))
        found = threshold_between(codes, lower.astype(bool), size, m, privacy=claim, dice=dice)
        return str(found), found

    universe = list(product(range(size), (0, 1)))
    return AuditCase(
        name,
        find,
        universe,
        n,
        claim,
        ordered=False,
        rules=TWO_POINTS,
        part_of=("ThresholdClassifier",),
        required=required,
    )


def _moved_by_two(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    """Allow the quality of each point of a small domain to differ by 2, as two replaced points make it."""
    return mine[0] == theirs[0] and all(
        abs(one - other) <= 2 for one, other in zip(_ranked(mine), _ranked(theirs), strict=True)
    )


def _ranked(arguments: tuple[Any, ...]) -> list[int]:
    """Return the cost of every candidate, rising: if none moves by more than 2, no rank does."""
    _, costs, multiplicities = arguments
    pairs = sorted(zip(costs, multiplicities, strict=True))
    return [cost for cost, number in pairs for _ in range(number)]


TWO_POINTS: Mapping[str, Rule] = {**RULES, "power_weighted": _moved_by_two}

CASES = (
    threshold_case("threshold_exponential", "exponential", [4], 3, required=Required(96, 0.72)),
    threshold_case(
        "threshold_exponential_of_two_columns", "exponential", [2, 2], 2, required=Required(27, 0.62)
    ),
    threshold_case("threshold_interior_point", "interior_point", [3], 3, required=Required(56, 0.65)),
    threshold_case(
        "threshold_interior_point_of_four",
        "interior_point",
        [2],
        4,
        staged=False,
        required=Required(35, 0.55),
    ),
    threshold_case(
        "threshold_interior_point_of_two_columns", "interior_point", [2, 2], 2, required=Required(34, 0.52)
    ),
    comparison_case("rule_or_constant", 4, Comparison(Fraction(1), 0.05, 1), required=Required(20, 0.8)),
    between_case("threshold_between", 5, 3, 1, required=Required(21, 0.6)),
    between_case("threshold_between_of_two", 4, 4, 2, required=Required(70, 0.66)),
    corner_classifier_case("corner_classifier", (2, 2), 3, ApproxDP(6), required=Required(110, 0.8)),
    corner_classifier_case(
        "corner_classifier_above", (3,), 3, ApproxDP(2), directions=[">"], required=Required(50, 0.7)
    ),
    corner_classifier_case(
        "corner_classifier_by_errors",
        (2, 2, 2),
        2,
        ApproxDP(1),
        method="exponential",
        directions=["<=", ">", "<="],
        required=Required(27, 0.8),
    ),
    corner_classifier_case(
        "corner_classifier_of_drawn_records",
        (2, 2),
        3,
        ApproxDP(6),
        method="exponential",
        most=2,
        alpha=0.9,
        random_state=0,
        required=Required(33, 0.95),
    ),
    corner_classifier_case("small_corner_classifier", (2, 2), 1, ApproxDP(6), required=Required(5, 0.3)),
)
