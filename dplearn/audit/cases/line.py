"""Audit cases of lines modulo 2 and 3, with points that have the second label, and one that has the first.

Modulo 2 a line has two points, and a table of 7 records can be one record away from another line and from
another point at once. Both releases then show their delta / 2: at epsilon 1 the exact delta is 1 - .95**2 =
.0975 of .1. With so few records the bound on epsilon is not attained.
"""

from fractions import Fraction
from itertools import product
from typing import Any

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, coin_within
from dplearn.learners.rules.line import LineClassifier, line_budgets
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "line_case"]

_DELTA = Fraction(1, 10)
_STABLE = ApproxDP(1, _DELTA)


def line_case(
    name: str,
    p: int,
    claim: ApproxDP,
    *,
    n: int,
    points: Any = None,
    labels: Any = None,
    **options: Any,
) -> AuditCase:
    method = "stability" if claim.delta else "pure"
    model = LineClassifier(
        p,
        epsilon=claim.epsilon,  # type: ignore[arg-type]  # a fraction, which is exact
        delta=claim.delta,  # type: ignore[arg-type]
        method=method,
        proper=options.pop("proper", False),
        classes=[0, 1],
        random_state=0,
    )
    where = points or product(range(p), repeat=2)
    universe = [(*point, label) for point in where for label in labels or [1]]
    universe += [] if labels else [(0, 0, 0)]
    return fit_case(name, model, _split, _shown, universe, n, claim=claim, **options)


def _split(rows: Rows) -> tuple[Any, Any]:
    return [list(row[:2]) for row in rows], [row[2] for row in rows]


def _shown(fitted: LineClassifier) -> tuple[str, Any]:
    return f"{fitted.concept_!r} {fitted.abstained_}", fitted


#: The coin of the line, whose budget is the greater, is a rule for both coins.
_COINS = {**RULES, "bernoulli": coin_within(line_budgets(_STABLE.epsilon, _STABLE.delta)[0])}

CASES = (
    line_case("line_stability", 2, _STABLE, n=7, ordered=False, rules=_COINS, required=Required(57, 0.46)),
    line_case(
        "line_stability_of_three",
        3,
        _STABLE,
        n=5,
        points=[(0, 0), (1, 1), (2, 2), (0, 1)],
        ordered=False,
        rules=_COINS,
        required=Required(32, 0.36),
    ),
    line_case(
        "line_pure_whole_fit",
        2,
        ApproxDP(1),
        n=2,
        labels=[0, 1],
        ordered=False,
        staged=False,
        required=Required(9, 0.6),
    ),
    line_case(
        "line_proper", 2, _STABLE, n=7, ordered=False, proper=True, rules=None, required=Required(57, 0.46)
    ),
    line_case("line_pure", 2, ApproxDP(1), n=3, labels=[0, 1], ordered=False, required=Required(16, 0.72)),
)
