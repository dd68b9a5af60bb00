"""A run is recorded draw by draw and replayed on other arguments, moved to what they allow."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import Draw, EnumeratingDice, ReplayDice, SeededDice

HALF = Fraction(1, 2)

EVERY_PRIMITIVE = [
    ("below", (10**6,)),
    ("bernoulli", (Fraction(1, 3),)),
    ("power_weighted", (HALF, (3, 1, 2), (5, 1, 9))),
    ("permute_and_flip", (HALF, (3, 1, 2), (5, 1, 9))),
    ("discrete_laplace", (HALF, -50, 50)),
    ("geometric", (HALF, 0, 50)),
    ("geometric", (HALF, 2, None)),
    ("discrete_gaussian", (Fraction(9),)),
]
WITHOUT_SIZES = ("power_weighted", "permute_and_flip")


def recorded(primitive: str, outcome, *arguments):
    """Return dice that replay a single draw with this outcome."""
    return ReplayDice.replaying([Draw(primitive, arguments, outcome)])


@pytest.mark.parametrize(("name", "arguments"), EVERY_PRIMITIVE)
def test_every_primitive_is_passed_on_recorded_and_replayed_one_or_many(name, arguments):
    for size in ({},) if name in WITHOUT_SIZES else ({}, {"size": 5}, {"size": 0}):
        dice = ReplayDice(SeededDice(1))
        outcome = getattr(dice, name)(*arguments, **size)
        assert np.array_equal(outcome, getattr(SeededDice(1), name)(*arguments, **size))
        assert [(draw.primitive, draw.arguments) for draw in dice.trace] == [
            (name, (*arguments, *size.values()))
        ]
        again = ReplayDice.replaying(dice.trace)
        replayed = getattr(again, name)(*arguments, **size)
        assert np.array_equal(replayed, outcome)
        assert type(replayed) is type(outcome)
        assert [draw.arguments for draw in again.trace] == [draw.arguments for draw in dice.trace]


def test_the_neighbours_arguments_are_recorded_beside_the_same_outcomes():
    first = ReplayDice(EnumeratingDice([4, 1]))
    first.below(6)
    first.discrete_laplace(HALF, 2, 3)
    again = ReplayDice.replaying(first.trace)
    assert (again.below(7), again.discrete_laplace(HALF, 1, 2)) == (4, 2)
    assert [draw.arguments for draw in again.trace] == [(7,), (HALF, 1, 2)]


@pytest.mark.parametrize(("low", "high"), [(-5, 5), (None, 5), (-5, None), (None, None)])
def test_noise_moves_as_its_ends_do(low, high):
    first = ReplayDice(EnumeratingDice([3]))
    drawn = first.geometric(HALF, low, high)
    moved = [end if end is None else end - 2 for end in (low, high)]
    again = ReplayDice.replaying(first.trace).geometric(HALF, *moved)
    assert again == (drawn - 2 if (low, high) != (None, None) else drawn)


def test_the_noise_of_each_count_moves_as_its_own_ends_do():
    first = ReplayDice(EnumeratingDice([1, 0, 1]))
    drawn = first.discrete_laplace(HALF, np.array([0, 0, 0]), np.array([1, 1, 1]), size=3)
    again = ReplayDice.replaying(first.trace)
    moved = again.discrete_laplace(HALF, np.array([0, 5, -5]), np.array([1, 6, -4]), size=3)
    assert moved.tolist() == (drawn + [0, 5, -5]).tolist()
    assert again.trace[0].arguments == (HALF, (0, 5, -5), (1, 6, -4), 3)


@pytest.mark.parametrize("primitive", ["power_weighted", "permute_and_flip"])
@pytest.mark.parametrize(
    ("outcome", "multiplicities", "nearest"), [(1, (1, 0, 0), 0), (1, (0, 0, 1), 2), (2, (4, 1, 0), 1)]
)
def test_a_group_that_the_neighbour_does_not_have_is_not_replayed(
    primitive, outcome, multiplicities, nearest
):
    # Was (dplearn/chance/replay.py, _possible): a group of multiplicity 0 counts as possible, so the
    # replayed run selects from a group without members.
    dice = recorded(primitive, outcome, HALF, (0, 0, 0), (1, 1, 1))
    assert getattr(dice, primitive)(HALF, (0, 0, 0), multiplicities) == nearest


def test_what_the_run_does_to_an_array_or_a_list_does_not_change_the_recording():
    # Was (dplearn/chance/replay.py, _record): the trace held the very array that the mechanism was given.
    first = ReplayDice(SeededDice(0))
    noise = first.discrete_laplace(HALF, -(2**70), 2**70, size=4)
    drawn = noise.copy()
    noise += 100
    assert first.trace[0].outcome.tolist() == drawn.tolist()
    again = ReplayDice.replaying(first.trace).discrete_laplace(HALF, -(2**70), 2**70, size=4)
    assert again.tolist() == drawn.tolist()
    exponents = [0, 1]
    dice = ReplayDice(EnumeratingDice())
    dice.power_weighted(HALF, exponents, [1, 1])
    exponents[0] = 99
    assert dice.trace[0].arguments == (HALF, (0, 1), (1, 1))
