"""Shards are disjoint, even, and a function of public chance alone."""

import numpy as np
import pytest

from dplearn.chance import PublicStream
from dplearn.ensembles.shards import shards


@pytest.mark.parametrize(("n", "k"), [(0, 1), (1, 1), (1, 3), (2, 5), (10, 3), (10, 10), (1000, 7)])
def test_every_record_is_in_exactly_one_shard_and_sizes_are_even(n, k):
    cut = shards(n, k, PublicStream(0))
    assert len(cut) == k
    assert sorted(place for shard in cut for place in shard.tolist()) == list(range(n))
    sizes = [len(shard) for shard in cut]
    assert max(sizes) - min(sizes) <= 1
    assert all(shard.dtype == np.int64 for shard in cut)


def test_the_same_public_seed_gives_the_same_shards_and_another_gives_others():
    def cut(seed):
        return [shard.tolist() for shard in shards(100, 4, PublicStream(seed, "shards"))]

    assert cut(1) == cut(1)
    assert cut(1) != cut(2)


def test_a_record_falls_into_every_shard_about_equally_often():
    counts = np.zeros(4)
    for seed in range(2000):
        counts[[0 in shard for shard in shards(10, 4, PublicStream(seed))]] += 1
    expected = 2000 * np.array([3, 3, 2, 2]) / 10
    assert np.abs(counts - expected).max() < 6 * 20.5  # times the largest standard deviation


def test_records_come_in_a_random_order_within_a_shard():
    # A base learner that holds out its last rows must not hold out the last records of a sorted table.
    assert all((np.diff(shard) < 0).any() for shard in shards(100, 4, PublicStream(0)))


def test_there_is_at_least_one_shard():
    with pytest.raises(ValueError, match="k must be an integer at least 1, got 0"):
        shards(10, 0, PublicStream(0))
