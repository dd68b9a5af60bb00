"""Audit cases of released distribution functions, by trees of noisy counts and by blocks, on small domains.

With one block on each side, the noise of its length is enumerated completely; with more, a small delta covers
what is left out. The exact epsilon of blocks is a twentieth to a seventh of the claim, which adds up worst
cases of three blocks that blocks of few records do not attain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.cases.interior_point import tiny_sizes
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, Rule, moved_by
from dplearn.chance.dice import Dice
from dplearn.domains import IntegerRange
from dplearn.kernels import Level, depth_of
from dplearn.mechanisms.block_points import block_points
from dplearn.mechanisms.interior_point import RecursiveSizes
from dplearn.mechanisms.noisy_counts import tree_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.releases.cdf import distribution_of, distribution_of_points
from dplearn.releases.cdf_errors import BlockPlan, TreePlan
from dplearn.releases.release import ReleasePlan

__all__ = ["CASES", "block_case", "distribution_case", "released", "released_blocks"]

_RELEASES = ("CDFRelease",)

#: A replaced record moves two counts of a level by 1.
_LEVELS: Mapping[str, Rule] = {**RULES, "discrete_laplace": moved_by(2)}

#: The draws of the noise of a block's length do not depend on the data.
_LENGTHS: Mapping[str, Rule] = {**RULES, "discrete_laplace": RULES["below"]}


def released(
    mechanism: Callable[..., list[Level]], plan: TreePlan, open_ends: bool, rows: Rows, dice: Dice
) -> tuple[str, Any]:
    """Return the distribution that a tree mechanism makes of integers from 0 on, and all counts as text."""
    ends = {} if open_ends else {"low": 0, "high": len(rows)}
    levels = mechanism(
        rows,
        plan.size,
        fan_out=plan.fan_out,
        threshold=plan.threshold,
        privacy=plan.privacy,
        dice=dice,
        **ends,
    )
    shown = [(level.starts.tolist(), level.counts.tolist()) for level in levels]
    made = distribution_of(levels, _planned(plan, len(rows)))
    # All of it but what is public: the plan.
    return str(shown), (made.n_samples, made.knots, made.cumulative, made.least, made.levels)


def _planned(plan: TreePlan | BlockPlan, n: int) -> ReleasePlan:
    domain = IntegerRange(0, plan.size - 1)
    return ReleasePlan(plan.guarantee, n, states={"domain": domain, "mechanism_plan": plan})


def distribution_case(
    name: str,
    size: int,
    n: int,
    privacy: ApproxDP | ZeroConcentratedDP,
    claim: ApproxDP,
    *,
    threshold: int = 1,
    tail_bits: int = 40,
    required: Required,
) -> AuditCase:
    """Return a case of n integers from 0 to size - 1, halved where a noisy count reaches the threshold."""
    plan = TreePlan(size, 2, depth_of(size, 2), threshold, privacy, claim)
    fit = partial(released, tree_counts, plan, isinstance(privacy, ZeroConcentratedDP))
    return AuditCase(
        name,
        fit,
        range(size),
        n,
        claim,
        ordered=False,
        tail_bits=tail_bits,
        rules=_rules(privacy),
        verifies=("tree_counts",),
        part_of=_RELEASES,
        required=required,
    )


def _rules(privacy: ApproxDP | ZeroConcentratedDP) -> Mapping[str, Rule]:
    return RULES if isinstance(privacy, ZeroConcentratedDP) else _LEVELS


_PURE = ApproxDP(1)
_GAUSSIAN = ZeroConcentratedDP(Fraction(1, 2))

_TREE_CASES = (
    distribution_case("distribution_of_four_values", 4, 2, _PURE, _PURE, required=Required(10, 0.999999)),
    distribution_case(
        "distribution_of_three_values", 3, 3, _PURE, _PURE, threshold=2, required=Required(10, 0.74)
    ),
    distribution_case(
        "distribution_by_gaussian_counts",
        2,
        2,
        _GAUSSIAN,
        _GAUSSIAN.to_approx(Fraction(1, 100)),
        tail_bits=30,
        required=Required(3, 0.8),
    ),
)


def released_blocks(
    mechanism: Callable[..., list[int]], plan: BlockPlan, rows: Rows, dice: Dice
) -> tuple[str, Any]:
    """Return the distribution that blocks make of integers from 0 on, and their points as text."""
    points = mechanism(rows, plan, privacy=plan.guarantee, dice=dice)
    return str(points), _made_of(tuple(points), len(rows), plan)


@lru_cache(maxsize=1024)
def _made_of(points: tuple[int, ...], n: int, plan: BlockPlan) -> tuple[Any, ...]:
    """Return what is published about points, without what is public."""
    made = distribution_of_points(list(points), _planned(plan, n))
    return made.n_samples, made.knots, made.cumulative, made.least, made.most, made.levels


def block_case(
    name: str,
    universe: Sequence[int],
    n: int,
    sides: tuple[int, int],
    noise: Any,
    point: Any,
    *,
    size: int | None = None,
    spacing: int = 2,
    sizes: RecursiveSizes | None = None,
    tail_bits: int | None = None,
    required: Required,
) -> AuditCase:
    spent = ApproxDP(point) if sizes is None else sizes.privacy
    plan = BlockPlan(size or len(universe), 1, *sides, spacing, ApproxDP(noise), spent, sizes, _ANY)
    # Of each open end 2**-tail_bits may be left out, of the distribution at hand and of its neighbour's.
    left_out = Fraction(0) if tail_bits is None else Fraction(2 * sum(sides), 1 << tail_bits)
    claim = ApproxDP(plan.privacy.epsilon, plan.privacy.delta + left_out)
    fit = partial(released_blocks, block_points, plan)
    return AuditCase(
        name,
        fit,
        universe,
        n,
        claim,
        ordered=False,
        tail_bits=tail_bits or 40,
        rules=_LENGTHS,
        part_of=_RELEASES,
        required=required,
    )


_ANY = ApproxDP(1000, Fraction(99, 100))  # for the mechanism's own check, which a case does without
_HALF = Fraction(1, 2)

_FILLED = replace(tiny_sizes(choice=ApproxDP(1), comparison=1, base=_HALF), n_samples=2)

_BLOCK_CASES = (
    block_case("distribution_by_blocks", range(3), 3, (1, 1), _HALF, _HALF, required=Required(10, 0.12)),
    block_case(
        "distribution_by_blocks_at_large_epsilon",
        (0, 1, 3),
        3,
        (1, 1),
        _HALF,
        4,
        size=4,
        spacing=1,
        required=Required(10, 0.13),
    ),
    block_case(
        "distribution_by_blocks_from_below",
        range(3),
        3,
        (2, 0),
        1,
        _HALF,
        spacing=1,
        tail_bits=8,
        required=Required(10, 0.04),
    ),
    block_case(
        "distribution_by_filled_blocks",
        range(3),
        3,
        (1, 1),
        _HALF,
        _HALF,
        sizes=_FILLED,
        required=Required(10, 0.09),
    ),
)

CASES = (*_TREE_CASES, *_BLOCK_CASES)
