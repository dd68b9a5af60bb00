"""Cases of released distributions: small domains, cut by noisy counts within public ends."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from dplearn.audit.case import AuditCase
from dplearn.audit.enumeration import Rows
from dplearn.audit.rules import RULES, Rule, moved_by
from dplearn.chance.dice import Dice
from dplearn.core.dyadic import Level, depth_of
from dplearn.domains import IntegerRange
from dplearn.mechanisms.tree_counts import tree_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.releases.distribution import distribution_of
from dplearn.theory.thresholds import TreePlan

__all__ = ["CDF_CASES", "distribution_case", "released"]

#: A replaced record moves two counts of a level by 1.
_LEVELS: Mapping[str, Rule] = {**RULES, "discrete_laplace": moved_by(2)}


def released(
    mechanism: Callable[..., list[Level]], plan: TreePlan, open_ends: bool, rows: Rows, dice: Dice
) -> tuple[str, Any]:
    """Return the distribution that a tree mechanism makes of integers from 0 on, and all counts as text."""
    ends = {} if open_ends else {"low": 0, "high": len(rows)}
    levels = mechanism(
        rows, plan.size, fan_out=plan.fan_out, bar=plan.bar, privacy=plan.privacy, dice=dice, **ends
    )
    domain = IntegerRange(0, plan.size - 1)
    shown = [(level.starts.tolist(), level.counts.tolist()) for level in levels]
    made = distribution_of(levels, domain, plan, plan.guarantee)
    # All of it but what is public: the domain, the plan and the guarantee.
    return str(shown), (made.n_records, made.knots, made.cumulative, made.estimates, made.levels)


def distribution_case(
    name: str,
    size: int,
    n: int,
    privacy: ApproxDP | ZeroConcentratedDP,
    claim: ApproxDP,
    *,
    bar: int = 1,
    tail_bits: int = 40,
) -> AuditCase:
    """Return a case of n integers from 0 to size - 1, halved where a noisy count reaches the bar."""
    plan = TreePlan(size, 2, depth_of(size, 2), bar, privacy, claim)
    fit = partial(released, tree_counts, plan, isinstance(privacy, ZeroConcentratedDP))
    return AuditCase(
        name, fit, range(size), n, claim, ordered=False, tail_bits=tail_bits, rules=_rules(privacy)
    )


def _rules(privacy: ApproxDP | ZeroConcentratedDP) -> Mapping[str, Rule]:
    return RULES if isinstance(privacy, ZeroConcentratedDP) else _LEVELS


_PURE = ApproxDP(1)
_GAUSSIAN = ZeroConcentratedDP(Fraction(1, 2))

CDF_CASES = (
    distribution_case("distribution_of_four_values", 4, 2, _PURE, _PURE),
    distribution_case("distribution_of_three_values", 3, 3, _PURE, _PURE, bar=2),
    distribution_case(
        "distribution_by_gaussian_counts",
        2,
        2,
        _GAUSSIAN,
        _GAUSSIAN.to_approx(Fraction(1, 100)),
        tail_bits=30,
    ),
)
