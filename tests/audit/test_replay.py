"""Replay sees what differs between neighbours beyond what the proofs allow, and only that."""

import warnings
from contextlib import suppress
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from dplearn.audit import RULES, coin_within, each_moved_by, moved_by, replay_privacy, replay_violations
from dplearn.chance import Dice, SeededDice, SystemDice
from dplearn.kernels import exp_bounds
from dplearn.privacy import ApproxDP

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def draw(low, high, size=None, ratio=HALF):
    """The arguments of a noisy draw, as they stand in a trace."""
    return ratio, low, high, size


WITHIN_1 = RULES["power_weighted"]
SENSITIVE = (1, 2, 3)
MOVES = (*((move,) for move in range(-4, 5)), *product((-2, -1, 0, 1, 2), repeat=3))


@pytest.mark.parametrize("moves", MOVES, ids=str)
def test_counts_move_both_ends_by_at_most_the_sensitivity_together_or_each(moves):
    lows, highs = np.array([-3, 0, 4])[: len(moves)], np.array([6, 9, 13])[: len(moves)]

    def ends(by):
        pair = ((lows + by).tolist(), (highs + by).tolist())
        if len(moves) > 1:
            return draw(*map(tuple, pair), len(moves))
        return draw(*(each[0] for each in pair))

    for sensitivity in SENSITIVE:
        assert moved_by(sensitivity)(ends(0), ends(moves)) == (sum(map(abs, moves)) <= sensitivity)
        assert each_moved_by(sensitivity)(ends(0), ends(moves)) == (max(map(abs, moves)) <= sensitivity)


@pytest.mark.parametrize("rule", [moved_by, each_moved_by])
def test_nothing_else_may_differ_and_ends_that_are_open_in_both_runs_do_not_count(rule):
    huge = 1 << 70  # beyond 64 bits
    for mine, theirs in (
        (draw(-3, 6), draw(-3, 6, ratio=THIRD)),
        (draw(-3, 6), draw(-3, 7)),  # one end
        (draw(-3, 6), draw(-4, 7)),  # ends apart
        (draw(None, 6), draw(-3, 6)),  # open in one run
        (draw(-3, 6), draw(-3, None)),
        (draw(0, None), draw(None, None)),
        (draw((1, 2), (3, 4), 2), draw((1, 2, 3), (3, 4, 5), 3)),
        (draw(1, 3), draw((1,), (3,), 1)),  # arrays in one run
        (draw((1,), (3,), 1), draw(1, 3, 1)),
        (draw(None, 4), draw(None, 10)),
        (draw(huge, huge + 1), draw(huge + 6, huge + 7)),
    ):
        assert not rule(5)(mine, theirs)
        assert not rule(5)(theirs, mine)
    for mine, theirs in (
        (draw(None, None), draw(None, None)),
        (draw(None, 4), draw(None, 5)),
        (draw(4, None), draw(3, None)),
        (draw((), (), 0), draw((), (), 0)),  # no questions
        (draw(huge, huge + 1), draw(huge + 1, huge + 2)),
    ):
        assert rule(1)(mine, theirs)


def coin(p):
    return p, None


@pytest.mark.parametrize("steps", [20, pytest.param(40, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "privacy", [ApproxDP(1), ApproxDP(1, "0.05"), ApproxDP(0, "0.25"), ApproxDP("0.1", "0.01")]
)
def test_a_private_coin_is_allowed_exactly_where_both_its_sides_keep_the_claim(privacy, steps):
    low, high = exp_bounds(privacy.epsilon)
    rule = coin_within(privacy)
    grid = [Fraction(k, steps) for k in range(steps + 1)]
    seen = set()
    for p, q in product(grid, repeat=2):
        pairs = [(p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)]
        assert rule(coin(p), coin(q)) == all(a <= low * b + privacy.delta for a, b in pairs)
        assert rule(coin(p), coin(q)) == all(a <= high * b + privacy.delta for a, b in pairs)
        seen.add(rule(coin(p), coin(q)))
    assert seen == {True, False}


def groups(costs):
    """The arguments of a selection among candidates of these costs."""
    distinct = sorted(set(costs))
    return HALF, tuple(distinct), tuple(costs.count(cost) for cost in distinct)


def test_groups_are_allowed_exactly_where_some_matching_moves_no_cost_by_more_than_one():
    for mine, theirs in product(product(range(4), repeat=3), repeat=2):
        matched = any(
            all(abs(a - b) <= 1 for a, b in zip(mine, order, strict=True)) for order in permutations(theirs)
        )
        assert WITHIN_1(groups(mine), groups(theirs)) == matched

    assert not WITHIN_1(groups((1, 1)), groups((1, 1, 1)))
    assert not WITHIN_1(groups((1, 1)), (THIRD, (1,), (2,)))
    assert WITHIN_1((HALF, [5], [4]), (HALF, [4, 6], [2, 2]))
    assert not WITHIN_1((HALF, [5], [4]), (HALF, [3, 5], [1, 3]))


ARGUMENTS = {
    "below": ((5, None), (6, None)),
    "bernoulli": (coin(HALF), coin(THIRD)),
    "power_weighted": (groups((1, 2)), groups((1, 4))),
    "permute_and_flip": (groups((1, 2)), groups((1, 4))),
    "discrete_laplace": (draw(-1, 4), draw(1, 6)),
    "geometric": (draw(0, None), draw(2, None)),
    "discrete_gaussian": ((Fraction(3), None), (Fraction(2), None)),
}


def test_every_primitive_of_the_dice_has_a_rule_that_allows_no_difference_and_by_default_little():
    assert set(RULES) == {name for name in vars(Dice) if not name.startswith("_")} == set(ARGUMENTS)
    for primitive, (arguments, others) in ARGUMENTS.items():
        assert RULES[primitive](arguments, arguments)
        assert primitive == "below" or not RULES[primitive](arguments, others)
    assert not RULES["discrete_gaussian"]((Fraction(3), 2), (Fraction(3), 3))


@pytest.mark.parametrize("size", [None, 2])
@pytest.mark.parametrize("move", [0, 1, 2])
def test_the_rules_read_real_traces(size, move):
    def run(count, dice):
        ends = (-count, 9 - count) if size is None else (np.array([-count, 0]), np.array([9 - count, 9]))
        return dice.geometric(HALF, *ends, size=size), dice.discrete_laplace(HALF, *ends, size=size)

    found = replay_violations(lambda dice: run(4, dice), lambda dice: run(4 + move, dice), SeededDice(0))
    assert bool(found) == (move > 1)


def published_count(rows, dice):
    return sum(rows) + dice.discrete_laplace(HALF, -sum(rows), 9 - sum(rows))


def test_a_count_keeps_its_rules_and_a_sum_only_those_of_its_sensitivity():
    report = replay_privacy(published_count, (0, 1, 0), (1, 1, 0))
    assert report.kept
    assert (report.violations, report.n_draws, report.n_runs) == ((), 3, 3)
    report = replay_privacy(published_count, (0, 1), (5, 1), runs=2)
    found = "draw 0, discrete_laplace: (Fraction(1, 2), -1, 8) against (Fraction(1, 2), -6, 3)"
    assert report.violations == (f"run 0: {found}", f"run 1: {found}")
    rules = {**RULES, "discrete_laplace": moved_by(5)}
    assert replay_privacy(published_count, (0, 1), (5, 1), rules=rules).kept
    assert not replay_privacy(published_count, (0, 1), (6, 1), rules=rules).kept
    assert replay_privacy(lambda rows, dice: rows, (1,), (2,)).n_draws == 0  # nothing was seen
    with pytest.raises(ValueError, match="runs must be an integer at least 1, got 0"):
        replay_privacy(published_count, (0,), (1,), runs=0)


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
