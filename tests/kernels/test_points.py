"""Leads of point functions, sets of buckets, and the public hash, against all small cases."""

from collections import Counter, defaultdict
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from dplearn.kernels.points import (
    BucketSets,
    KeyHash,
    leading_key,
    multiply_shift,
    n_sets,
)

RECORDS = list(product((b"a", b"b", b"c"), (0, 1)))


def lead(rows):
    keys, labels = zip(*rows, strict=True)
    return leading_key(keys, labels)


def replaced(rows):
    return [(*rows[:i], record, *rows[i + 1 :]) for i in range(len(rows)) for record in RECORDS]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_distance_is_0_where_a_neighbour_has_another_leader_and_moves_by_1(n):
    for rows in product(RECORDS, repeat=n):
        leader, distance = lead(rows)
        for other, further in map(lead, replaced(rows)):
            assert abs(distance - further) <= 1
            assert other == leader or distance == further == 0


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
    for _ in range(40):
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
    m, largest, cap = 1 << 12, 8, 30
    nets = np.zeros(m, dtype=np.int64)
    nets[rng.choice(m, 400, replace=False)] = rng.integers(-9, 30, 400)
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


@pytest.mark.parametrize(("width", "bits"), [(3, 1), (3, 2), (4, 2), (4, 3), (4, 4)])
def test_any_two_keys_are_hashed_independently_and_uniformly(width, bits):
    numbers = list(product(range(1 << width), repeat=2))
    for x, y in combinations(range(1 << (width - bits + 1)), 2):
        pairs = Counter(
            tuple(multiply_shift(z, multiplier=a, shift=b, width=width, bits=bits) for z in (x, y))
            for a, b in numbers
        )
        assert set(pairs.values()) == {len(numbers) >> (2 * bits)}
        assert len(pairs) == 1 << (2 * bits)


def test_buckets_are_within_their_number_and_spread():
    hashed = KeyHash(multiplier=3**160, shift=7**90, bits=6)
    found = hashed.buckets(str(i).encode() for i in range(6400))
    assert (found.min(), found.max()) == (0, 63)
    assert Counter(found.tolist()).most_common(1)[0][1] < 160
    assert found[17] == hashed.bucket(b"17")
