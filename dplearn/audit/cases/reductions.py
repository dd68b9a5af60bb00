"""Audit cases of the learner from two releases, noisy counts, which attain the sum of both epsilons."""

from collections.abc import Callable
from typing import Any

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.cases.counting_queries import query_table, rows_of
from dplearn.audit.fits import Rows, ready
from dplearn.audit.replay import RULES, groups_within, moved_by
from dplearn.chance.dice import Dice
from dplearn.domains import IntegerRange
from dplearn.mechanisms import laplace_counts
from dplearn.privacy import ApproxDP
from dplearn.releases.counting_queries import _SmallDatabase
from dplearn.theory.reductions import learner_from_release

__all__ = ["CASES", "noisy_thresholds", "small_thresholds"]

SIZE = 2  # codes of the domain
EACH = ApproxDP(1)
Release = Callable[[list[int], Dice], tuple[int, ...]]


def noisy_thresholds(values: list[int], dice: Dice) -> tuple[int, ...]:
    """Return noisy numbers of the values at or below each code; a value that becomes absent moves both."""
    counts = [sum(value <= code for value in values) for code in range(SIZE)]
    noisy = laplace_counts(counts, privacy=EACH, dice=dice, sensitivity=SIZE, low=0, high=len(values))
    return tuple(noisy.tolist())


def small_thresholds(values: list[int], dice: Dice) -> tuple[int, ...]:
    """Return the numbers of a small database at or below each code, where the absent are above all."""
    queries = query_table("thresholds", SIZE + 1)
    release = _SmallDatabase(queries, IntegerRange(0, SIZE), len(values), EACH.epsilon, 0)
    rows = rows_of(ready(release, values).run(dice))
    return tuple(sum(row <= code for row in rows) for code in range(SIZE))


def learned_by(release: Release) -> Callable[[Rows, Dice], tuple[str, Any]]:
    """Return the computation of a case: it shows both releases and the learned threshold."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        shown = []

        def counted(values: list[int]) -> Callable[[int], float]:
            counts = release(values, dice)
            shown.append(counts)
            return lambda threshold: counts[threshold] if threshold >= 0 else 0

        values, labels = zip(*rows, strict=True)
        found = learner_from_release(values, labels, range(-1, SIZE), absent=SIZE, release=counted)
        return f"{shown} {found}", (tuple(shown), found)

    return fit


def _case(name: str, release: Release, rule: dict[str, Any], required: Required) -> AuditCase:
    return AuditCase(
        name,
        learned_by(release),
        [(value, label) for value in range(SIZE) for label in (0, 1)],
        2,
        ApproxDP(2 * EACH.epsilon),
        ordered=False,
        rules={**RULES, **rule},
        verifies=("learner_from_release",),
        required=required,
    )


CASES = (
    _case(
        "learner_from_release", noisy_thresholds, {"discrete_laplace": moved_by(SIZE)}, Required(10, 0.999)
    ),
    _case(
        "learner_from_small_database",
        small_thresholds,
        {"power_weighted": groups_within(2)},
        Required(10, 0.5),
    ),
)
