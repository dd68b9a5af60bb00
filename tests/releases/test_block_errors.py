"""Plans of blocks: what they spend, how long blocks are, and what they promise."""

import math
import re
from fractions import Fraction

import pytest

from dplearn.core.distributions import laplace_tail, partial_sum_bound
from dplearn.privacy import ApproxDP
from dplearn.releases.block_errors import block_guarantee, block_plan, block_sample_size
from dplearn.releases.interior_point_sizes import interior_point_sample_size

# Plans of blocks: what they spend, how far off they are, and when there are too few records.


@pytest.mark.parametrize("bits", [1, 32, 64])
@pytest.mark.parametrize("epsilon", [0.3, 1, 8])
def test_all_of_epsilon_is_spent_and_no_delta_where_none_is_needed(bits, epsilon):
    plan = block_plan(2**bits, ApproxDP(epsilon, 1e-6), 100_000)
    assert plan.privacy == plan.guarantee == ApproxDP(epsilon)
    assert plan.guarantee == block_guarantee(2**bits, ApproxDP(epsilon, 1e-6))


def test_huge_domains_are_worth_a_delta():
    target = ApproxDP(1, 1e-6)
    plan = block_plan(2**4096, target, 60_000)
    assert plan.sizes is not None
    assert block_guarantee(2**4096, target) == plan.guarantee == target
    assert plan.privacy == target
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


def test_more_records_are_known_better_and_larger_domains_worse():
    errors = [block_plan(2**64, ApproxDP(1), n).error(n, 0.05) for n in (10**4, 10**5, 10**6, 10**7)]
    assert errors == sorted(errors, reverse=True)
    assert errors[1] < 0.02
    assert block_plan(2**32, ApproxDP(1), 10**5).error(10**5, 0.05) < errors[1]


def test_a_plan_promises_nothing_for_fewer_records_or_less_failure_than_it_is_made_for():
    plan = block_plan(2**32, ApproxDP(1), 10_000)
    assert plan.error(9_999, 0.05) == plan.error(10_000, 0.0005) == 1.0
    assert plan.error(10_000, 0.05) < plan.error(10_000, 0.01) < 1
    assert plan.radius([0, 1], 0.0005).tolist() == [0, math.inf]


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["pure", "approximate"])
def test_too_few_records_are_told_how_many_are_needed(delta):
    size = 2**20 if not delta else 2**4096
    with pytest.raises(ValueError, match="n_samples must be at least") as refused:
        block_plan(size, ApproxDP(1, delta), 10)
    needed = int(re.search(r"at least (\d+)", str(refused.value))[1])
    assert block_plan(size, ApproxDP(1, delta), needed).left == 1
    with pytest.raises(ValueError, match=f"at least {needed}"):
        block_plan(size, ApproxDP(1, delta), needed - 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, ApproxDP(1), 10), "size must be"),
        ((5, ApproxDP(1), 0), "n_samples must be"),
        ((5, ApproxDP(0), 10), "epsilon must be"),
    ],
    ids=["size", "n", "epsilon"],
)
def test_public_parameters_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        block_plan(*arguments)
    with pytest.raises(ValueError, match="beta must be"):
        block_plan(5, ApproxDP(1), 1000).error(1000, 0)


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
