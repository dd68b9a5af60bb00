"""Rules of replay: exactly what the proofs allow may differ between the draws of two neighbours."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from dplearn.audit import replay_violations
from dplearn.audit.replay import RULES, coin_within, each_moved_by, groups_within, moved_by
from dplearn.chance import SeededDice
from dplearn.chance.dice import Dice
from dplearn.kernels.exact import exp_bounds
from dplearn.privacy import ApproxDP

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def draw(low, high, size=None, ratio=HALF):
    """The arguments of a noisy draw, as they stand in a trace."""
    return ratio, low, high, size


# Noise between ends


@pytest.mark.parametrize("sensitivity", [1, 2, 3])
@pytest.mark.parametrize("move", range(-4, 5))
def test_one_count_moves_both_ends_by_at_most_the_sensitivity(sensitivity, move):
    allowed = abs(move) <= sensitivity
    assert moved_by(sensitivity)(draw(-3, 6), draw(-3 + move, 6 + move)) == allowed
    assert each_moved_by(sensitivity)(draw(-3, 6), draw(-3 + move, 6 + move)) == allowed


@pytest.mark.parametrize("moves", list(product((-2, -1, 0, 1, 2), repeat=3)))
def test_several_counts_together_or_each(moves):
    lows, highs = np.array([-3, 0, 4]), np.array([6, 9, 13])
    mine = draw(tuple(lows.tolist()), tuple(highs.tolist()), 3)
    theirs = draw(tuple((lows + moves).tolist()), tuple((highs + moves).tolist()), 3)
    for sensitivity in (1, 2, 3):
        assert moved_by(sensitivity)(mine, theirs) == (sum(map(abs, moves)) <= sensitivity)
        assert each_moved_by(sensitivity)(mine, theirs) == (max(map(abs, moves)) <= sensitivity)


@pytest.mark.parametrize("rule", [moved_by(5), each_moved_by(5)], ids=["sum", "each"])
@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (draw(-3, 6), draw(-3, 6, ratio=THIRD)),
        (draw(-3, 6), draw(-3, 7)),
        (draw(-3, 6), draw(-4, 7)),
        (draw(None, 6), draw(-3, 6)),
        (draw(-3, 6), draw(-3, None)),
        (draw(0, None), draw(None, None)),
        (draw((1, 2), (3, 4), 2), draw((1, 2, 3), (3, 4, 5), 3)),
        (draw(1, 3), draw((1,), (3,), 1)),
        (draw((1,), (3,), 1), draw(1, 3, 1)),
    ],
    ids=[
        "another ratio",
        "one end",
        "ends apart",
        "low open in one run",
        "high open in one run",
        "none in one run",
        "another number",
        "arrays in one run",
        "a number in one run",
    ],
)
def test_nothing_else_may_differ(rule, mine, theirs):
    assert not rule(mine, theirs)
    assert not rule(theirs, mine)


@pytest.mark.parametrize("rule", [moved_by(1), each_moved_by(1)], ids=["sum", "each"])
def test_ends_that_are_open_in_both_runs_do_not_count(rule):
    assert rule(draw(None, None), draw(None, None))
    assert rule(draw(None, 4), draw(None, 5))
    assert rule(draw(4, None), draw(3, None))
    assert not rule(draw(None, 4), draw(None, 6))


@pytest.mark.parametrize("rule", [moved_by(1), each_moved_by(1)], ids=["sum", "each"])
def test_no_questions_are_no_difference(rule):
    assert rule(draw((), (), 0), draw((), (), 0))


def test_ends_beyond_64_bits_are_compared_exactly():
    huge = 1 << 70
    assert moved_by(1)(draw(huge, huge + 1), draw(huge + 1, huge + 2))
    assert not moved_by(1)(draw(huge, huge + 1), draw(huge + 2, huge + 3))


# Coins


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


def test_by_default_a_coin_is_public():
    assert RULES["bernoulli"](coin(HALF), coin(HALF))
    assert not RULES["bernoulli"](coin(HALF), coin(THIRD))


# Groups


def groups(costs):
    """The arguments of a selection among candidates of these costs."""
    distinct = sorted(set(costs))
    return HALF, tuple(distinct), tuple(costs.count(cost) for cost in distinct)


def test_groups_are_allowed_exactly_where_some_matching_moves_no_cost_by_more_than_one():
    for mine, theirs in product(product(range(4), repeat=3), repeat=2):
        matched = any(
            all(abs(a - b) <= 1 for a, b in zip(mine, order, strict=True)) for order in permutations(theirs)
        )
        assert groups_within(1)(groups(mine), groups(theirs)) == matched


def test_groups_of_another_number_of_candidates_or_another_ratio_are_refused():
    assert not groups_within(1)(groups((1, 1)), groups((1, 1, 1)))
    assert not groups_within(1)(groups((1, 1)), (THIRD, (1,), (2,)))


# The table


def test_every_primitive_of_the_dice_has_a_rule():
    primitives = {name for name in vars(Dice) if not name.startswith("_")}
    assert set(RULES) == primitives


@pytest.mark.parametrize("primitive", sorted(RULES))
def test_every_rule_allows_no_difference_at_all(primitive):
    arguments = {
        "below": (5, None),
        "bernoulli": coin(HALF),
        "power_weighted": groups((1, 2)),
        "permute_and_flip": groups((1, 2)),
        "discrete_laplace": draw(-1, 4),
        "geometric": draw(0, None),
        "discrete_gaussian": (Fraction(3), None),
    }[primitive]
    assert RULES[primitive](arguments, arguments)


def test_gaussian_noise_may_not_differ_at_all():
    rule = RULES["discrete_gaussian"]
    assert not rule((Fraction(3), None), (Fraction(2), None))
    assert not rule((Fraction(3), 2), (Fraction(3), 3))


@pytest.mark.parametrize("size", [None, 2])
@pytest.mark.parametrize("move", [0, 1, 2])
def test_the_rules_read_real_traces(size, move):
    def run(count, dice):
        ends = (-count, 9 - count) if size is None else (np.array([-count, 0]), np.array([9 - count, 9]))
        return dice.geometric(HALF, *ends, size=size), dice.discrete_laplace(HALF, *ends, size=size)

    found = replay_violations(lambda dice: run(4, dice), lambda dice: run(4 + move, dice), SeededDice(0))
    assert bool(found) == (move > 1)
