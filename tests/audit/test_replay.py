"""Replay sees what differs between neighbours, and only that."""

from fractions import Fraction

import pytest

from dplearn.audit import replay_violations
from dplearn.audit.rules import groups_within_one
from dplearn.chance import SeededDice

HALF = Fraction(1, 2)


def violations(mine, theirs):
    return replay_violations(mine, theirs, SeededDice(0))


def test_equal_runs_have_no_violation():
    run = lambda dice: dice.discrete_laplace(HALF, -3, 3)  # noqa: E731
    assert violations(run, run) == []


@pytest.mark.parametrize(
    "neighbour",
    [
        lambda dice: dice.discrete_laplace(Fraction(1, 3), -3, 3),
        lambda dice: dice.discrete_laplace(HALF, -3, 4),
        lambda dice: dice.bernoulli(HALF),
        lambda dice: (dice.discrete_laplace(HALF, -3, 3), dice.bernoulli(HALF)),
        lambda dice: 0,
    ],
    ids=["another scale", "a private clamp", "another primitive", "one draw more", "no draw"],
)
def test_a_draw_with_other_arguments_is_a_violation(neighbour):
    assert violations(lambda dice: dice.discrete_laplace(HALF, -3, 3), neighbour)


@pytest.mark.parametrize(
    ("mine", "theirs", "allowed"),
    [
        (([0, 2], [1, 3]), ([1, 2], [1, 3]), True),
        (([0, 2], [1, 3]), ([1, 3], [2, 2]), True),  # 0, 2, 2, 2 against 1, 1, 3, 3, in order
        (([0, 1], [1, 1]), ([1], [2]), True),
        (([5], [4]), ([4, 6], [2, 2]), True),
        (([5], [4]), ([3, 5], [1, 3]), False),
        (([5], [4]), ([5], [5]), False),
    ],
)
def test_groups_may_move_by_one_error_each(mine, theirs, allowed):
    first, second = (HALF, *mine), (HALF, *theirs)
    in_order = [
        sorted(e for e, m in zip(*groups, strict=True) for _ in range(m)) for groups in (mine, theirs)
    ]
    by_matching = len(in_order[0]) == len(in_order[1]) and all(
        abs(a - b) <= 1 for a, b in zip(*in_order, strict=True)
    )
    assert groups_within_one(first, second) == by_matching
    assert by_matching == allowed
