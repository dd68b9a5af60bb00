"""Points of blocks: where they lie, what lengths blocks have, and what a plan may cost."""

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


def test_the_papers_pairing_of_noises_is_not_one_to_one():
    box = list(product(range(-5, 6), repeat=3))

    def shortened(noise):
        cuts = list(accumulate(2 + z for z in noise))
        place = next((i for i, cut in enumerate(cuts) if cut >= 3), len(cuts))
        return tuple(z - (i == place) for i, z in enumerate(noise))

    assert len({shortened(noise) for noise in box}) < len(box)


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
