"""Seeded dice repeat themselves, wherever and after whatever else they are asked; nothing else does."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.chance import EnumeratingDice, ReplayDice, SeededDice, SystemDice, dice_for, sampling
from dplearn.kernels.exact import decay_ratio

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=50)
HALF = Fraction(1, 2)


def a_run(dice) -> list:
    return [
        dice.below(10**9),
        dice.below(10**30),
        dice.bernoulli(Fraction(1, 3), size=20).tolist(),
        dice.power_weighted(HALF, [0, 1, 2], [1, 2, 4]),
        dice.permute_and_flip(HALF, [0, 1, 2], [1, 2, 4]),
        dice.discrete_laplace(decay_ratio(Fraction(1, 7)), -100, 100, size=200).tolist(),
        dice.geometric(decay_ratio(Fraction(1, 7)), size=200).tolist(),
        dice.discrete_gaussian(Fraction(10**5), size=200).tolist(),
    ]


def test_the_same_seed_and_context_give_the_same_run():
    assert a_run(SeededDice(7, "learner", Fraction(1, 10))) == a_run(
        SeededDice(7, "learner", Fraction(1, 10))
    )


def test_the_stream_is_the_same_in_every_version():
    # Frozen when this test was written: a change here changes what every seed means.
    assert SeededDice(0)._bytes(8).hex() == "ef98d1269db4240f"
    assert SeededDice(12345, "Learner", 1)._bytes(8).hex() == "3fa09ffe29a6b642"


def test_different_seeds_and_contexts_have_different_streams():
    seeds = [(0,), (1,), (-1,), (2**64,), (2**64 + 1,), (0, 1), (0, "1"), (1, 0), (10,)]
    seeds += [(0, "a"), (0, "b"), (0, "a", "b"), (0, ("a", "b")), (0, "ab"), (0, Fraction(1, 10))]
    assert len({SeededDice(*arguments)._bytes(32) for arguments in seeds}) == len(seeds)


@repeatable
@given(st.lists(st.integers(0, 30_000) | st.integers(0, 300), min_size=1, max_size=12))
def test_every_request_gets_its_bytes_and_none_twice(counts):
    dice = SeededDice(3)
    taken = [dice._bytes(count) for count in counts]
    assert [len(part) for part in taken] == counts
    stream = b"".join(taken)
    windows = [stream[i : i + 16] for i in range(0, len(stream) - 15, 16)]
    assert len(set(windows)) == len(windows)
    if sum(counts) <= 8192:  # small requests are cut from one stream
        assert stream == SeededDice(3)._bytes(8192)[: len(stream)]


@pytest.mark.parametrize(
    "draw",
    [
        lambda dice: dice.discrete_laplace(Fraction(12, 13), -100, 100, size=20).tolist(),
        lambda dice: dice.discrete_gaussian(Fraction(77), size=20).tolist(),
    ],
    ids=["laplace", "gaussian"],
)
def test_a_seeded_run_does_not_depend_on_what_was_drawn_in_the_process_before(draw):
    # Tables are shared by all dice of the process, and so is what they have computed: 64 draws at once make a
    # look-up, which takes fewer bytes a draw.
    sampling._geometric_tables.cache_clear()
    sampling._gaussian_table.cache_clear()
    first = draw(SeededDice(5))
    SystemDice().discrete_laplace(Fraction(12, 13), -100, 100, size=1000)
    SystemDice().discrete_gaussian(Fraction(77), size=1000)
    assert draw(SeededDice(5)) == first


def test_a_random_state_is_nothing_an_integer_or_a_generator_which_moves_on():
    assert type(dice_for(None, "context")) is SystemDice
    for seed in (5, np.int64(5), np.uint8(5)):
        assert dice_for(seed, "context")._bytes(16) == SeededDice(5, "context")._bytes(16)
    for make in (np.random.RandomState, np.random.default_rng):
        generator = make(0)
        first, second = dice_for(generator)._bytes(16), dice_for(generator)._bytes(16)
        assert first == dice_for(make(0))._bytes(16)
        assert first != second


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize(
    "make", [lambda: SeededDice(0), SystemDice, EnumeratingDice, lambda: ReplayDice(SystemDice())]
)
def test_dice_are_never_copied(make, duplicate):
    with pytest.raises(TypeError, match="never pickled"):
        duplicate(make())
