"""Seeded dice repeat themselves, wherever and after whatever else they are asked; nothing else does."""

import copy
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.chance import (
    EnumeratingDice,
    PublicStream,
    ReplayDice,
    SeededDice,
    SystemDice,
    dice_for,
    public_seed,
    sampling,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=50)


def test_different_seeds_and_contexts_have_different_streams():
    seeds = [(0,), (1,), (-1,), (2**64,), (2**64 + 1,), (0, 1), (0, "1"), (1, 0), (10,)]
    seeds += [(0, "a"), (0, "b"), (0, "a", "b"), (0, ("a", "b")), (0, "ab"), (0, Fraction(1, 10))]
    assert len({SeededDice(*arguments).below(2**256) for arguments in seeds}) == len(seeds)
    assert all(SeededDice(*each).below(2**256) == SeededDice(*each).below(2**256) for each in seeds)


def drawn_bytes(dice, count):
    return dice.below(256**count).to_bytes(count, "big")


@repeatable
@given(st.lists(st.integers(0, 30_000) | st.integers(0, 300), min_size=1, max_size=12))
def test_every_request_gets_its_bytes_and_none_twice(counts):
    dice = SeededDice(3)
    taken = [drawn_bytes(dice, count) for count in counts]
    assert [len(part) for part in taken] == counts
    stream = b"".join(taken)
    windows = [stream[i : i + 16] for i in range(0, len(stream) - 15, 16)]
    assert len(set(windows)) == len(windows)
    if sum(counts) <= 8192:  # small requests are cut from one stream
        assert stream == drawn_bytes(SeededDice(3), 8192)[: len(stream)]


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
    sampling.geometric_tables.cache_clear()
    sampling.gaussian_table.cache_clear()
    first = draw(SeededDice(5))
    SystemDice().discrete_laplace(Fraction(12, 13), -100, 100, size=1000)
    SystemDice().discrete_gaussian(Fraction(77), size=1000)
    assert draw(SeededDice(5)) == first


def test_a_random_state_is_nothing_an_integer_or_a_generator_which_moves_on():
    assert type(dice_for(None, "context")) is SystemDice
    for seed in (5, np.int64(5), np.uint8(5)):
        assert dice_for(seed, "context").below(2**128) == SeededDice(5, "context").below(2**128)
    for make in (np.random.RandomState, np.random.default_rng):
        generator = make(0)
        first, second = dice_for(generator).below(2**128), dice_for(generator).below(2**128)
        assert first == dice_for(make(0)).below(2**128)
        assert first != second


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize(
    "make", [lambda: SeededDice(0), SystemDice, EnumeratingDice, lambda: ReplayDice(SystemDice())]
)
def test_dice_are_never_copied(make, duplicate):
    with pytest.raises(TypeError, match="never pickled"):
        duplicate(make())


# Public choices


def test_permutations_labels_and_numbers_are_uniform_and_a_large_permutation_has_no_memory():
    stream = PublicStream(1)
    counts = Counter(tuple(stream.permutation(3).tolist()) for _ in range(1200))
    # The standard deviation of each of the six counts is 12.9.
    assert len(counts) == 6
    assert all(abs(count - 200) < 6 * 12.9 for count in counts.values())
    assert all(sorted(stream.permutation(n)) == [*range(n)] for n in (0, 1, 2, 64, 65))
    drawn = stream.permutation(10**4)
    assert sorted(drawn.tolist()) == list(range(10**4))
    # A correlation of n independent pairs has standard deviation n**-0.5.
    assert abs(np.corrcoef(np.arange(10**4), drawn)[0, 1]) < 6 * 10**-2
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 6 * 10**-2
    numbers = PublicStream(0, "numbers").uniform(20_000)
    assert 0 <= numbers.min() < numbers.max() < 1
    in_bins = np.bincount((numbers * 20).astype(int), minlength=20)
    assert ((in_bins - 1000) ** 2 / 1000).sum() < 60  # of 19 degrees of freedom, with probability below 1e-5
    of_labels = np.bincount(PublicStream(4).labels(3, 30_000), minlength=3)
    assert np.abs(of_labels - 10_000).max() < 6 * 81.7  # times the standard deviation of each count
    seeds = PublicStream(3).seeds(1000)
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) > 990
    assert max(seeds) > 2**30


def test_other_seeds_and_contexts_give_other_streams():
    streams = [(0,), (1,), (0, "a"), (0, "b"), (0, "a", "b"), (b"",), (b"\0",), (b"\0\0",), (b"\1",), (256,)]
    assert len({tuple(PublicStream(*each).seeds(4)) for each in streams}) == len(streams)


def test_a_public_stream_is_no_secret_stream_of_the_same_seed_and_context():
    public = PublicStream(5, "learner").seeds(8)
    for dice in (SeededDice(5, "learner"), SeededDice(5), dice_for(5, "learner")):
        assert dice.below(2**31, size=8).tolist() != public


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generators_noise_does_not_tell_its_public_seed(make):
    seed, generator = public_seed(make(0)), make(0)
    assert seed == public_seed(generator)
    noise = dice_for(generator, "learner").below(2**256)  # from bytes that were not used for the seed
    assert noise != dice_for(make(0), "learner").below(2**256)
