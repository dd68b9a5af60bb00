"""Points of blocks: the proof's pairing on all noise of a box; an independent formula; accuracy."""

from importlib import import_module
from itertools import accumulate, product
from math import exp

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.mechanisms import interior_point_code
from dplearn.privacy import ApproxDP
from dplearn.theory import BlockPlan, block_plan, recursive_sizes

module = import_module("dplearn.mechanisms.block_points")  # whose function has its name in the room
MUCH = ApproxDP(10**6, 0.99)


def plan_of(size, left, right, spacing, noise, point, sizes=None):
    return BlockPlan(size, 1, left, right, spacing, ApproxDP(noise), ApproxDP(point), sizes, MUCH)


# The proof: what each pairing of noises leaves as it was.


def cut_off(records, noise, spacing):
    """Return the blocks from below, and last what they leave."""
    reached = list(accumulate((spacing + z for z in noise), initial=0))
    ends = list(accumulate((max(0, end) for end in reached), max))
    return [records[a:b] for a, b in zip(ends, [*ends[1:], None], strict=True)]


def moved(noise, place, by):
    return tuple(z + by * (i == place) for i, z in enumerate(noise))


def without_a_record(noise, spacing, rank):
    """Return the noise that is paired with this one where the record of a rank is removed."""
    cuts = list(accumulate(spacing + z for z in noise))
    first = next((i for i, cut in enumerate(cuts) if cut >= rank), len(cuts))
    return moved(noise, first + 1, -1)


def with_a_record(noise, spacing, rank):
    """Return the noise that is paired with this one where a record comes to have a rank."""
    cuts = list(accumulate(spacing + z for z in noise))
    first = next((i for i, cut in enumerate(cuts) if cut >= rank - 1), len(cuts))
    return moved(noise, first, 1)


def differences(before, after):
    """Return of each block that differs how many records it has lost and gained."""
    changes = [(len(set(a) - set(b)), len(set(b) - set(a))) for a, b in zip(before, after, strict=True)]
    return sorted(change for change in changes if change != (0, 0))


BOX = list(product(range(-5, 6), repeat=3))


@pytest.mark.parametrize("rank", range(1, 6))
@pytest.mark.parametrize("spacing", [1, 2])
def test_noises_are_paired_one_to_one_and_at_most_two_blocks_change(spacing, rank):
    records = (10, 20, 30, 40, 50)
    fewer = records[: rank - 1] + records[rank:]
    removed = [without_a_record(noise, spacing, rank) for noise in BOX]
    added = [with_a_record(noise, spacing, rank) for noise in BOX]
    assert len(set(removed)) == len(set(added)) == len(BOX)
    seen = set()
    for noise, less, more in zip(BOX, removed, added, strict=True):
        # One block, or what is left, loses x and may gain the next record; the next one loses that.
        loss = differences(cut_off(records, noise, spacing), cut_off(fewer, less, spacing))
        assert loss in ([(1, 0)], [(1, 0), (1, 1)])
        seen.add(len(loss))
        gain = differences(cut_off(fewer, noise, spacing), cut_off(records, more, spacing))
        assert gain == [(0, 1)]
    assert seen == ({1, 2} if rank < 5 else {1})


def test_the_papers_pairing_is_not_one_to_one():
    def shortened(noise):
        cuts = list(accumulate(2 + z for z in noise))
        return moved(noise, next((i for i, cut in enumerate(cuts) if cut >= 3), len(cuts)), -1)

    assert len({shortened(noise) for noise in BOX}) < len(BOX)


# What it gives.


def test_points_lie_in_their_blocks():
    n, size = 20_000, 2**64
    plan = block_plan(size, ApproxDP(1), n)
    codes = np.random.default_rng(0).integers(0, 2**62, n).astype(np.uint64)
    ordered = np.sort(codes)
    points = module.block_points(codes, plan, privacy=ApproxDP(1), dice=SeededDice(0))
    ranks = np.searchsorted(ordered, np.array(points, dtype=np.uint64))
    least, most = plan.ranks(n)
    off = plan.radius(1, 0.05)
    assert len(points) == plan.left + plan.right > 10
    assert (ranks >= least - off).all()
    assert (ranks <= most + off).all()


def test_huge_domains_get_points_by_the_recursive_method():
    size, n = 2**4096, 40_000
    plan = block_plan(size, ApproxDP(1, 1e-6), n)
    assert plan.sizes is not None
    assert 2 * plan.noise.epsilon + 3 * plan.point.epsilon == plan.privacy.epsilon <= 1
    delta = (2 + exp(plan.point.epsilon)) * float(plan.point.delta)  # docs/errata.md
    assert delta * (1 - 1e-12) <= plan.privacy.delta <= ApproxDP(1, 1e-6).delta
    codes = [size // 3 + i * i for i in range(n)]
    points = module.block_points(codes, plan, privacy=ApproxDP(1, 1e-6), dice=SeededDice(1))
    assert points == sorted(points)
    assert codes[0] <= points[0] <= points[-1] <= codes[-1]


def test_short_blocks_are_filled_to_the_same_length_and_long_ones_cut(monkeypatch):
    sizes = recursive_sizes(2**20, epsilon=1, delta=1e-6)
    plan = plan_of(2**20, 3, 0, 500, 0.01, sizes.privacy.epsilon, sizes)
    seen = []

    def looked_at(codes, size, **options):
        seen.append(list(codes))
        return interior_point_code(codes, size, privacy=ApproxDP(1), dice=options["dice"])

    monkeypatch.setattr(module, "recursive_interior_point", looked_at)
    module.block_points(range(1, 1501), plan, privacy=MUCH, dice=SeededDice(2))
    assert [len(block) for block in seen] == [sizes.n_samples] * 3
    assert all(block == sorted(block) for block in seen)


def test_where_no_point_is_found_the_one_before_is_taken(monkeypatch):
    answers = iter([None, 7, None])
    monkeypatch.setattr(module, "interior_point_of", lambda *_, **__: next(answers))
    assert module.block_points([5] * 9, plan_of(9, 3, 0, 3, 9, 1), privacy=MUCH, dice=SeededDice(0)) == [
        0,
        7,
        7,
    ]


def test_a_plan_that_spends_more_is_refused():
    with pytest.raises(ValueError, match="plan must cost at most"):
        module.block_points([1], plan_of(3, 1, 1, 1, 1, 1), privacy=ApproxDP(3), dice=SeededDice(0))
