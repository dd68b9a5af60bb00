"""Sets of buckets by their errors: as many, and the same ones, as listed one by one."""

from collections import defaultdict
from itertools import combinations
from math import comb

import numpy as np
import pytest

from dplearn.kernels.points import BucketSets, _combination, n_sets


def listed(nets, largest, cap):
    """Return the least deficits, capped, with the sets that have them, by listing all sets."""
    sets = [kept for size in range(largest + 1) for kept in combinations(range(len(nets)), size)]
    sums = {kept: int(sum(nets[place] for place in kept)) for kept in sets}
    best, found = max(sums.values()), defaultdict(set)
    for kept in sets:
        found[min(cap, best - sums[kept])].add(kept)
    return best, found


KINDS = {
    "any": lambda rng, m: rng.integers(-4, 5, m),
    "ties": lambda rng, m: rng.integers(-1, 2, m),
    "mostly none": lambda rng, m: rng.integers(-3, 4, m) * (rng.random(m) < 0.3),
    "none positive": lambda rng, m: -rng.integers(0, 4, m),
    "all negative": lambda rng, m: -rng.integers(1, 4, m),
    "far apart": lambda rng, m: rng.choice([-(10**12), 0, 3, 10**15], m),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_sets_of_each_deficit_are_those_found_one_by_one(kind):
    rng = np.random.default_rng(0)
    for _ in range(120):
        m = int(rng.integers(2, 7))
        nets, largest, cap = KINDS[kind](rng, m), int(rng.integers(1, m)), int(rng.integers(1, 15))
        sets = BucketSets(nets.astype(np.int64), largest, cap)
        best, wanted = listed(nets, largest, cap)
        deficits, counts = sets.groups()
        assert sets.best == best
        assert deficits == sorted(wanted)
        assert counts == [len(wanted[deficit]) for deficit in deficits]
        for deficit, count in zip(deficits, counts, strict=True):
            assert {sets.member(deficit, index) for index in range(count)} == wanted[deficit]
            with pytest.raises(IndexError):
                sets.member(deficit, count)


def test_groups_of_many_buckets_hold_all_sets_and_their_members_have_the_deficit():
    rng = np.random.default_rng(1)
    m, largest, cap = 1 << 17, 20, 60
    nets = np.zeros(m, dtype=np.int64)
    nets[rng.choice(m, 4000, replace=False)] = rng.integers(-9, 30, 4000)
    sets = BucketSets(nets, largest, cap)
    deficits, counts = sets.groups()
    assert sum(counts) == n_sets(m, largest) == sum(comb(m, size) for size in range(largest + 1))
    assert deficits == list(range(cap + 1))
    for deficit, count in zip(deficits, counts, strict=True):
        for index in {0, count // 3, count - 1}:
            member = sets.member(deficit, index)
            assert len(set(member)) == len(member) <= largest
            assert member == tuple(sorted(member))
            assert min(cap, sets.best - int(nets[list(member)].sum())) == deficit


def test_members_of_a_large_group_are_drawn_evenly():
    nets = np.array([5] + [0] * 999, dtype=np.int64)  # a set of two: the first, and any other or none
    sets = BucketSets(nets, 2, 4)
    assert sets.groups() == ([0, 4], [1000, n_sets(1000, 2) - 1000])
    assert {sets.member(0, index) for index in range(1000)} == {
        (0,),
        *((0, place) for place in range(1, 1000)),
    }


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_combinations_are_numbered_without_a_gap(size):
    found = {tuple(_combination(index, size)) for index in range(comb(7, size))}
    assert found == {kept[::-1] for kept in combinations(range(7), size)}
