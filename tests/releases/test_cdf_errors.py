"""Error bounds of distribution functions from a tree and from blocks hold, and plans choose the least."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.domains import Floats, IntegerRange
from dplearn.kernels.distributions import laplace_tail, partial_sum_bound
from dplearn.kernels.intervals import prefix_counts
from dplearn.mechanisms.noisy_counts import tree_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.releases import cdf_plan
from dplearn.releases.cdf_errors import (
    TreePlan,
    block_guarantee,
    block_plan,
    block_sample_size,
    dkw_bound,
    tree_plan,
)
from dplearn.releases.interior_point import interior_point_sample_size


def test_large_domains_are_cut_into_sixteen_parts_and_small_ones_not_more_often_than_pays():
    plans = [tree_plan(size, ApproxDP(1)) for size in (2**32, 2**64, 4)]
    assert [(plan.fan_out, plan.depth) for plan in plans] == [(16, 8), (16, 16), (4, 1)]
    assert tree_plan(1, ApproxDP(1)).depth == 0


def test_gaussian_noise_is_taken_where_it_is_the_better_and_delta_is_spent_only_then():
    target = ApproxDP(1, 1e-6)
    small, large = tree_plan(100, target), tree_plan(2**64 - 1, target)
    assert isinstance(small.privacy, ApproxDP)
    assert small.guarantee.delta == 0
    assert isinstance(large.privacy, ZeroConcentratedDP)
    assert large.guarantee == target
    assert large.privacy.to_approx(target.delta).epsilon <= target.epsilon
    assert (
        ZeroConcentratedDP(large.privacy.rho * 1001 / 1000).to_approx(target.delta).epsilon > target.epsilon
    )


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["pure", "approximate"])
@pytest.mark.parametrize("bits", [8, 40])
def test_a_bar_keeps_noise_from_cutting_empty_nodes(bits, delta):
    plan = tree_plan(2**bits, ApproxDP(1, delta))
    noise = SeededDice(0)
    draws = 200_000
    if isinstance(plan.privacy, ZeroConcentratedDP):
        drawn = noise.discrete_gaussian(plan.depth / plan.privacy.rho, size=draws)
    else:
        drawn = noise.discrete_laplace(plan._ratio, size=draws)
    expected = draws / (64 * plan.fan_out)
    assert (drawn >= plan.threshold).sum() <= expected + 6 * math.sqrt(expected)
    assert drawn.var() == pytest.approx(plan.variance, rel=0.05)


@pytest.mark.parametrize("privacy", [ApproxDP(1), ZeroConcentratedDP(0.05)], ids=["laplace", "gaussian"])
def test_knots_are_within_their_radius(privacy):
    size, n = 3**6, 2000
    plan = TreePlan(size, 3, 6, 40, privacy, ApproxDP(1))
    codes = np.random.default_rng(1).integers(0, size, n) ** 2 // size
    outside, worst, runs = 0, 0.0, 100
    for seed in range(runs):
        levels = tree_counts(codes, size, fan_out=3, threshold=40, privacy=privacy, dice=SeededDice(seed))
        knots = prefix_counts(levels)
        truth = np.searchsorted(np.sort(codes), knots.starts.astype(np.int64), "left")
        radius = plan.radius(knots.levels, 0.2)
        errors = np.abs(knots.below - truth)
        outside += (errors > radius).any()
        worst = max(worst, float((errors[1:] / radius[1:]).max()))
    assert outside <= 0.2 * runs
    assert worst > 0.4  # a bound that is never approached guarantees little


def test_the_spread_of_a_knot_is_at_most_what_the_bound_says():
    # The errors of a full tree, linear in its noise: weights of each knot, level by level.
    size, fan_out, depth = 27, 3, 3
    codes = np.arange(size)
    zeros = tree_counts(
        codes, size, fan_out=fan_out, threshold=1, privacy=ApproxDP(10**6), dice=SeededDice(0)
    )
    assert len(zeros) == depth + 1
    spread = np.zeros(size)
    for place in range(1, depth + 1):
        for node in range(zeros[place].counts.size):
            moved = zeros[place].counts.copy()
            moved[node] += 1
            changed = [*zeros[:place], zeros[place].with_counts(moved), *zeros[place + 1 :]]
            spread += (prefix_counts(changed).below - prefix_counts(zeros).below) ** 2
    levels = prefix_counts(zeros).levels
    assert (spread <= levels * 2 / 3 + 1e-9).all()  # 1 * 2 / 3 <= fan_out / 4


def test_bounds_rise_with_levels_and_fall_with_beta_and_n():
    plan = tree_plan(2**32, ApproxDP(1))
    radius = plan.radius(np.arange(9), 0.05)
    assert radius[0] == 0
    assert (np.diff(radius) > 0).all()
    assert plan.radius(8, 0.01) > radius[8]
    assert plan.error(10, 0.05) == 1.0
    assert plan.error(10**6, 0.05) < plan.error(10**5, 0.05)


@pytest.mark.parametrize("alpha", [0.5, 0.01])
def test_the_sample_size_is_the_least_that_suffices(alpha):
    plan = tree_plan(2**16, ApproxDP(0.5))
    n = plan.sample_size(alpha, 0.05)
    assert plan.error(n, 0.05) <= alpha < plan.error(n - 1, 0.05)


def test_a_uniform_sample_is_within_the_bound_of_dvoretzky_kiefer_and_wolfowitz():
    generator, n, beta = np.random.default_rng(2), 500, 0.1
    bound = dkw_bound(n, beta)
    ranks = np.arange(n + 1) / n
    far = [
        max(np.abs(ranks[1:] - x).max(), np.abs(ranks[:-1] - x).max())
        for x in np.sort(generator.random((2000, n)), axis=1)
    ]
    share = np.mean(np.array(far) > bound)
    assert 0.05 < share < beta + 0.03


def test_all_of_epsilon_is_spent_and_no_delta_but_for_huge_domains():
    target = ApproxDP(1, 1e-6)
    for bits in (1, 32, 64):
        plan = block_plan(2**bits, target, 100_000)
        assert plan.privacy == plan.guarantee == ApproxDP(1) == block_guarantee(2**bits, target)
    plan = block_plan(2**4096, target, 60_000)
    assert plan.sizes is not None
    assert block_guarantee(2**4096, target) == plan.guarantee == plan.privacy == target
    assert block_plan(2**4096, ApproxDP(1), 200_000).sizes is None


@pytest.mark.parametrize("n", [3000, 10**5, 10**7])
def test_blocks_are_long_enough_and_leave_room_for_noise(n):
    size = 2**32
    plan = block_plan(size, ApproxDP(1), n)
    blocks = plan.left + plan.right
    part = Fraction(1, 3000) / blocks
    enough = interior_point_sample_size(
        "exponential", domain_size=size, epsilon=plan.point.epsilon, beta=part
    )
    assert laplace_tail(plan.ratio, plan.spacing - enough + 1) <= part
    left = n - blocks * plan.spacing
    assert left >= partial_sum_bound(plan.ratio, blocks, math.log(3000))
    assert plan.left == plan.right


def test_more_records_are_known_better_and_larger_domains_and_more_certainty_worse():
    errors = [block_plan(2**64, ApproxDP(1), n).error(n, 0.05) for n in (10**4, 10**5, 10**6, 10**7)]
    assert errors == sorted(errors, reverse=True)
    assert errors[1] < 0.02
    assert block_plan(2**32, ApproxDP(1), 10**5).error(10**5, 0.05) < errors[1]
    plan = block_plan(2**32, ApproxDP(1), 10_000)  # promises nothing for fewer records, or less failure
    assert plan.error(9_999, 0.05) == plan.error(10_000, 0.0005) == 1.0
    assert plan.error(10_000, 0.05) < plan.error(10_000, 0.01) < 1
    assert plan.radius([0, 1], 0.0005).tolist() == [0, math.inf]


def test_counts_are_warned_of_where_the_promised_error_is_a_half():
    plan = tree_plan(Floats().size, ApproxDP(1))
    enough = plan.sample_size(0.5, 0.05)
    assert plan.n_inside < 2753 < enough - 1
    for n in (100, 2753, enough - 1):
        [message] = cdf_plan(n).warnings
        assert message.startswith(f"n_samples is {n}: with epsilon 1, counts")
    assert message == (
        "n_samples is 9923: with epsilon 1, counts among 2^64 values may be off by 50 % of the records, so"
        " that there is no guarantee for the median; 9924 records would be enough, see"
        " cdf_plan(..., alpha=0.5).n_needed; declare a smaller domain=, such as Grid(0, 100, 1001),"
        " spend more epsilon, or use a coarser domain of floats, Floats(significand_bits=...)"
    )
    [message] = cdf_plan(100, epsilon=0.5, domain=IntegerRange(0, 72)).warnings
    assert message.endswith("; declare fewer values in domain=, or spend more epsilon")
    assert cdf_plan(enough).warnings == ()
    assert cdf_plan(1, domain=IntegerRange(0, 0)).warnings == ()


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["pure", "approximate"])
def test_too_few_records_are_told_how_many_are_needed(delta):
    size = 2**20 if not delta else 2**4096
    with pytest.raises(ValueError, match="n_samples must be at least") as refused:
        block_plan(size, ApproxDP(1, delta), 10)
    needed = int(re.search(r"at least (\d+)", str(refused.value))[1])
    assert block_plan(size, ApproxDP(1, delta), needed).left == 1
    with pytest.raises(ValueError, match=f"at least {needed}"):
        block_plan(size, ApproxDP(1, delta), needed - 1)


@pytest.mark.first_by_day
@pytest.mark.parametrize(("size", "privacy"), [(2**32, ApproxDP(1)), (2**4096, ApproxDP(1, 1e-6))])
def test_the_sample_size_is_the_first_with_blocks_so_accurate(size, privacy):
    n = block_sample_size(size, privacy, 0.1, 0.05)
    assert block_plan(size, privacy, n).error(n, 0.05) <= 0.1
    assert block_plan(size, privacy, n - 1).error(n - 1, 0.05) > 0.1


@pytest.mark.nightly
def test_blocks_fail_with_a_probability_that_no_sample_size_lowers():
    assert block_sample_size(100, ApproxDP(1), 0.5, 0.001) is None
    assert block_sample_size(100, ApproxDP(1), 0.5, 0.0011) is not None
    for alpha, beta in ((0, 0.1), (1, 0.1), (0.1, 0)):
        with pytest.raises(ValueError, match=r"alpha must|beta must"):
            block_sample_size(100, ApproxDP(1), alpha, beta)
