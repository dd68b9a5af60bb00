"""Replay sees what differs between neighbours, and only that."""

import warnings
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit import RULES, fitted_with, moved_by, replay_privacy, replay_violations
from dplearn.audit.replay import groups_within
from dplearn.chance import SeededDice, SystemDice
from dplearn.domains import IntegerRange
from dplearn.learners import ExponentialMechanismClassifier

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
    assert groups_within(1)(first, second) == by_matching
    assert by_matching == allowed


# replay_privacy


def published_count(rows, dice):
    return sum(rows) + dice.discrete_laplace(HALF, -sum(rows), 9 - sum(rows))


def test_a_count_keeps_its_rules_and_a_sum_does_not():
    report = replay_privacy(published_count, (0, 1, 0), (1, 1, 0))
    assert report.kept
    assert (report.violations, report.n_draws, report.n_runs) == ((), 3, 3)
    assert not replay_privacy(published_count, (0, 1, 0), (5, 1, 0)).kept


def test_a_violation_names_the_run_the_draw_and_its_arguments():
    report = replay_privacy(published_count, (0, 1), (5, 1), runs=2)
    found = "draw 0, discrete_laplace: (Fraction(1, 2), -1, 8) against (Fraction(1, 2), -6, 3)"
    assert report.violations == (f"run 0: {found}", f"run 1: {found}")


def test_rules_can_be_given_for_another_sensitivity():
    rules = {**RULES, "discrete_laplace": moved_by(5)}
    assert replay_privacy(published_count, (0, 1), (5, 1), rules=rules).kept
    assert not replay_privacy(published_count, (0, 1), (6, 1), rules=rules).kept


def test_later_runs_see_what_depends_on_earlier_outcomes():
    """Only after a coin of 1 in 4 does the number of draws depend on the rows."""

    def rarely(rows, dice):
        return dice.bernoulli(Fraction(1, 4)) and [dice.bernoulli(HALF) for _ in rows]

    assert not replay_privacy(rarely, (1, 1), (1, 1, 1), runs=100).kept
    assert replay_privacy(rarely, (1, 1), (1, 0), runs=100).kept


def test_runs_differ_and_repeat_themselves_unless_dice_are_given():
    def outcomes(dice=None):
        drawn = []
        replay_privacy(
            lambda rows, dice: drawn.append(dice.below(1 << 60)) if rows else dice.below(1 << 60),
            (1,),
            (),
            runs=4,
            dice=dice,
        )
        return drawn

    assert outcomes() == outcomes()
    assert len(set(outcomes())) == 4
    assert outcomes() != outcomes(SystemDice())
    assert outcomes(SeededDice(7)) == outcomes(SeededDice(7))


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_a_whole_fit_of_an_estimator_on_data_of_any_size(mechanism):
    generator = np.random.default_rng(20261121)
    X, y = generator.integers(0, 100, size=(500, 4)), generator.integers(0, 3, size=500)
    other_X, other_y = X.copy(), y.copy()
    other_X[17], other_y[17] = 99 - X[17], (y[17] + 1) % 3
    estimator = ExponentialMechanismClassifier(
        method=mechanism, domain=IntegerRange(0, 99), classes=[0, 1, 2]
    )
    fit = lambda rows, dice: fitted_with(estimator, *rows, dice=dice)  # noqa: E731
    report = replay_privacy(fit, (X, y), (other_X, other_y))
    assert report.kept
    assert report.n_draws == 6
    # Twenty-three replaced records move error counts by more than 1.
    other_X[18:40], other_y[18:40] = 0, (y[18:40] + 1) % 3
    assert not replay_privacy(fit, (X, y), (other_X, other_y)).kept


def test_without_draws_nothing_was_seen():
    assert replay_privacy(lambda rows, dice: rows, (1,), (2,)).n_draws == 0


def test_no_runs_are_refused():
    with pytest.raises(ValueError, match="runs must be an integer at least 1, got 0"):
        replay_privacy(published_count, (0,), (1,), runs=0)


def warned(rows, dice):
    warnings.warn("public", stacklevel=1)
    return [dice.bernoulli(HALF) for _ in range(1 + rows[0])]


def caught(rows, dice):
    try:
        return [dice.bernoulli(HALF) for _ in range(1 + rows[0])]
    except IndexError:
        raise ValueError("public") from None


def swallowed(rows, dice):
    drawn = dice.bernoulli(HALF)
    with suppress(IndexError):
        dice.bernoulli(HALF) if rows[0] else None
    return drawn


@pytest.mark.parametrize("fit", [warned, caught, swallowed])
def test_a_draw_too_many_is_noticed_whatever_becomes_of_it(fit):
    report = replay_privacy(fit, (0,), (1,))
    assert "1 draws against 1 and more on the neighbour" in report.violations[0]
    assert not replay_privacy(fit, (1,), (0,)).kept


def test_a_uniform_draw_may_differ_only_within_the_group_that_was_just_selected():
    def by_value(rows, dice):
        return dice.below(1 + rows[0])

    def within(rows, dice):
        group = dice.power_weighted(HALF, [0, 1], [2 + rows[0], 4 - rows[0]])
        return dice.below([2 + rows[0], 4 - rows[0]][group])

    def beside(rows, dice):
        dice.power_weighted(HALF, [0, 1], [2, 4])
        return dice.below(1 + rows[0])

    assert not replay_privacy(by_value, (1,), (2,)).kept
    assert replay_privacy(within, (0,), (1,)).kept
    assert not replay_privacy(beside, (1,), (2,)).kept


@pytest.mark.parametrize(
    "ends", [lambda count: (-count, 3 - count), lambda count: np.array([[-count] * 5, [3 - count] * 5])]
)
def test_a_count_released_five_times_in_one_draw_moves_by_five(ends):
    def five(rows, dice):
        count = sum(rows)
        low, high = ends(count)
        return (count + dice.discrete_laplace(HALF, low, high, size=5)).tolist()

    assert not replay_privacy(five, (0, 1, 1), (1, 1, 1)).kept
    assert replay_privacy(five, (0, 1, 1), (1, 1, 1), rules={**RULES, "discrete_laplace": moved_by(5)}).kept
