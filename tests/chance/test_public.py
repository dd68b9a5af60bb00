"""Public choices repeat themselves, are uniform, and leave the secret stream alone."""

import hashlib
from collections import Counter

import numpy as np
import pytest

from dplearn.chance import PublicStream, SeededDice, dice_for, public_seed

FROZEN = {
    "permutation": [2, 6, 1, 3, 5, 0, 4, 7],
    "seeds": [1054782393, 971517901],
    "public_seed": "2eef4ccc0e55310c",
}


def test_every_permutation_of_three_comes_about_equally_often_and_a_large_one_has_no_memory():
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


def test_the_streams_are_the_same_in_every_version():
    # Frozen when this test was written: a change here changes every shard of every seeded fit.
    assert PublicStream(0, "a").permutation(8).tolist() == FROZEN["permutation"]
    assert PublicStream(b"seed").seeds(2) == FROZEN["seeds"]
    assert hashlib.sha256(str(public_seed(0, "a")).encode()).hexdigest()[:16] == FROZEN["public_seed"]


def test_other_seeds_and_contexts_give_other_streams():
    streams = [(0,), (1,), (0, "a"), (0, "b"), (0, "a", "b"), (b"",), (b"\0",), (b"\0\0",), (b"\1",), (256,)]
    assert len({tuple(PublicStream(*each).seeds(4)) for each in streams}) == len(streams)


def test_a_public_stream_is_no_secret_stream_of_the_same_seed_and_context():
    public = PublicStream(5, "learner")._dice._bytes(32)
    assert public not in {SeededDice(5, "learner")._bytes(32), SeededDice(5)._bytes(32)}
    assert dice_for(5, "learner")._bytes(32) != public


def test_seeds_are_fit_for_numpy_and_differ():
    seeds = PublicStream(3).seeds(1000)
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) > 990
    assert max(seeds) > 2**30
    assert PublicStream(3).seeds(0) == []


def test_uniform_numbers_are_uniform():
    drawn = PublicStream(0, "numbers").uniform(20_000)
    assert 0 <= drawn.min() < drawn.max() < 1
    counts = np.bincount((drawn * 20).astype(int), minlength=20)
    assert ((counts - 1000) ** 2 / 1000).sum() < 60  # of 19 degrees of freedom, with probability below 1e-5
    assert np.array_equal(drawn[:5], PublicStream(0, "numbers").uniform(5))


def test_labels_are_uniform():
    counts = np.bincount(PublicStream(4).labels(3, 30_000), minlength=3)
    assert np.abs(counts - 10_000).max() < 6 * 81.7  # times the standard deviation of each count


def test_an_integer_always_gives_the_same_seed_every_context_another_and_none_a_new_one():
    assert public_seed(3, "a") == public_seed(np.int64(3), "a")
    assert len({public_seed(3, "a"), public_seed(3, "b"), public_seed(3), public_seed(4)}) == 4
    assert public_seed(3, "a") >= 2**128  # or the seed would be no harder to guess than the number
    assert public_seed(None) != public_seed(None)
    assert PublicStream.of(None).seed != PublicStream.of(None).seed
    stream = PublicStream.of(3, "a")
    assert PublicStream(stream.seed, "a").seeds(5) == stream.seeds(5)


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generators_noise_does_not_tell_its_public_seed(make):
    seed, generator = public_seed(make(0)), make(0)
    assert seed == public_seed(generator)
    noise = dice_for(generator, "learner")._bytes(32)  # from bytes that were not used for the seed
    assert noise != dice_for(make(0), "learner")._bytes(32)
