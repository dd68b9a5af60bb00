"""Distribution functions from a tree and from blocks: within their bounds and bands, with the least error."""

import math
import re
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn.chance import SeededDice
from dplearn.domains import Floats, Grid, IntegerRange, LargeIntegerRange
from dplearn.kernels import depth_of, laplace_tail, partial_sum_bound, prefix_counts
from dplearn.mechanisms import tree_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.releases import ReleasePlan, cdf, cdf_plan
from dplearn.releases.cdf import distribution_of, distribution_of_points
from dplearn.theory import (
    BlockPlan,
    TreePlan,
    block_guarantee,
    block_plan,
    dkw_bound,
    interior_point_sample_size,
    tree_plan,
)

AGES = IntegerRange(0, 120)
RECORDS = np.random.default_rng(0).lognormal(4, 2, 20_000)
PLAIN = ApproxDP(10**6)  # as good as no noise
FOUR_BLOCKS = BlockPlan(100, 1, 2, 2, 10, PLAIN, PLAIN, None, PLAIN)


def planned(mechanism, n, domain):
    """The plan of a distribution function that is made by hand."""
    return ReleasePlan(mechanism.guarantee, n, states={"domain": domain, "mechanism_plan": mechanism})


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["pure", "approximate"])
def test_a_hundred_thousand_records_of_32_bits_are_known_to_within_half_a_percent(delta):
    size, n = 2**32, 10**5
    generator = np.random.default_rng(5)
    codes = np.clip(generator.normal(size / 2, size / 30, n), 0, size - 1).astype(np.int64)
    found = cdf(codes, delta=delta, domain=IntegerRange(0, size - 1), random_state=1)
    ordered = np.sort(codes)
    upto = np.searchsorted(ordered, ordered, "right") / n
    assert np.abs(found.cdf(ordered) - upto).max() < 0.005
    q = np.linspace(0.01, 0.99, 99)
    ranks = np.searchsorted(ordered, found.ppf(q), "right") / n
    assert np.abs(ranks - q).max() < 0.005
    low, high = found.band(beta=0.05, of="table").at(ordered)
    assert ((low <= upto) & (upto <= high)).all()


@pytest.mark.parametrize("domain", [IntegerRange(0, 2**32 - 1), Floats()], ids=["integers", "floats"])
def test_blocks_are_as_near_as_they_promise_and_bands_hold(domain):
    n = 20_000
    values = np.random.default_rng(6).lognormal(11, 2, n).astype(np.int64)
    found = cdf(values, method="blocks", domain=domain, random_state=2)
    ordered = np.sort(values)
    upto = np.searchsorted(ordered, ordered, "right") / n
    off = np.abs(found.cdf(ordered) - upto).max()
    guarantee = found.plan.error
    assert off < 0.6 * guarantee
    assert guarantee < 0.09
    low, high = found.band(beta=0.05, of="table").at(ordered)
    assert ((low <= upto) & (upto <= high)).all()
    assert 0 < (high - low).max() < 2 * guarantee
    assert found.guarantee.delta == 0


@pytest.mark.nightly
def test_a_median_lies_among_the_records_from_the_planned_number_on_and_not_long_before():
    domain, generator = Grid(0, 100, 1001), np.random.default_rng(0)
    enough = cdf_plan(1, domain=domain).mechanism_plan.n_inside

    def share_inside(n):
        columns = generator.uniform(60, 70, (100, n))
        releases = [cdf(row, domain=domain, random_state=i) for i, row in enumerate(columns)]
        medians = [float(release.median()) for release in releases]
        return np.mean(
            [row.min() <= median <= row.max() for row, median in zip(columns, medians, strict=True)]
        )

    assert share_inside(enough) > 0.95
    assert share_inside(enough // 3) < 0.9


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("method", ["tree", "blocks"])
def test_from_as_many_records_as_are_needed_the_error_is_at_most_alpha(method, alpha):
    asked = {"method": method, "domain": AGES, "alpha": alpha}
    needed = cdf_plan(100_000, **asked).n_needed
    assert cdf_plan(needed, **asked).error <= alpha < cdf_plan(needed - 1, **asked).error


def made_from(codes, domain, *, privacy=PLAIN, fan_out=4, threshold=1, seed=0):
    plan = TreePlan(domain.size, fan_out, depth_of(domain.size, fan_out), threshold, privacy, privacy)
    levels = tree_counts(
        codes, domain.size, fan_out=fan_out, threshold=threshold, privacy=privacy, dice=SeededDice(seed)
    )
    return distribution_of(levels, planned(plan, len(codes), domain))


@given(
    st.lists(st.integers(0, 29), min_size=1, max_size=40),
    st.sampled_from(["0.01", "0.5", "1000"]),
    st.integers(0, 20),
)
def test_it_is_a_distribution_function_whatever_the_noise(codes, epsilon, seed):
    domain = IntegerRange(-10, 19)
    found = made_from(codes, domain, privacy=ApproxDP(epsilon), seed=seed)
    x = np.arange(-12, 22)
    shares = found.cdf(x)
    assert (np.diff(shares) >= 0).all()
    assert shares[:2].tolist() == [0, 0]
    assert shares[-3:].tolist() == [1, 1, 1]
    assert np.allclose(found.sf(x), 1 - shares)
    q = np.linspace(0, 1, 41)
    values = found.ppf(q)
    assert (np.diff(values) >= 0).all()
    assert (found.cdf(values) >= q - 1e-9).all()
    inner = values > domain.low
    assert (found.cdf(values[inner] - 1) <= q[inner] + 1e-9).all()


@given(st.lists(st.integers(0, 29), min_size=1, max_size=40))
def test_without_noise_it_is_the_distribution_of_the_records(codes):
    found = made_from(codes, IntegerRange(0, 29))
    x = np.arange(30)
    assert np.allclose(found.cdf(x), [np.mean(np.array(codes) <= each) for each in x])
    low, high = found.band(beta=0.05, of="table").at(x)
    assert (low <= found.cdf(x) + 1e-9).all()
    assert (high >= found.cdf(x) - 1e-9).all()


@pytest.mark.parametrize(
    ("domain", "values", "queries"),
    [
        (IntegerRange(-5, 100), [-5, 0, 0, 7, 100], [-9, -5, 0.5, 7, 99.9, 100, 1e9]),
        (Grid(0, 1, size=11), [0.0, 0.31, 0.5, 0.5, 1.0], [-1, 0, 0.3, 0.5, 0.99, 2]),
        (Floats(), [-1e300, -1.5, 0.0, 1.0, 2.5], [-np.inf, -2, -1.5, -1e-300, 0, 1, 2.4999, 2.5, np.inf]),
        (Floats(significand_bits=3), [-3.0, -1.0, 0.0, 1.0, 1.5], [-3.3, -3, -2.99, -0.9, 0, 1.01, 1.6]),
        (LargeIntegerRange(-(2**70), 2**70), [-(2**70), 0, 5, 2**69, 2**70], [-(2**90), -1, 5, 2**70, 2**90]),
    ],
    ids=["integers", "grid", "floats", "few floats", "large integers"],
)
def test_thresholds_are_counted_in_the_values_that_the_domain_tells_apart(domain, values, queries):
    found = made_from(domain.encode(np.array(values, dtype=object)), domain, fan_out=16)
    rounded = domain.decode(domain.encode(np.array(values, dtype=object)))
    assert found.cdf(queries).tolist() == pytest.approx([np.mean(rounded <= x) for x in queries])
    assert found.ppf([0.19, 0.39, 1.0]).tolist() == rounded[[0, 1, 4]].tolist()
    assert found.cdf(found.support()).tolist() == pytest.approx([np.mean(rounded == found.support()[0]), 1])


def test_scalars_give_scalars_arrays_their_shape_and_ends_are_those_of_the_domain():
    found = made_from([3, 3, 5], IntegerRange(0, 9))
    assert np.ndim(found.cdf(3)) == np.ndim(found.ppf(0.5)) == np.ndim(found.band().at(3)[0]) == 0
    assert found.cdf([[3, 4], [5, 6]]).shape == found.ppf([[0.1, 0.2], [0.3, 1]]).shape == (2, 2)
    assert found.median() == 3
    assert found.interval(0.9) == (3, 5)
    shares = found.cdf([np.nan, -np.inf, np.inf])
    assert np.isnan([shares[0], *found.band().at(np.nan)]).all()
    assert shares[1:].tolist() == [0, 1]
    uncut = made_from([0, 0], Floats(), threshold=10)  # is uniform
    assert uncut.knots.tolist() == [0, uncut.domain.size]
    assert uncut.cdf(0.0) == pytest.approx(0.5)
    assert uncut.ppf([0, 1]).tolist() == [-sys.float_info.max, sys.float_info.max]


@pytest.mark.parametrize("values", [RECORDS, np.full(20_000, 7.5), 1e-9 * (RECORDS - 99)])
@pytest.mark.parametrize("given", [{}, {"delta": 1e-6}, {"method": "blocks"}])
def test_among_all_floats_quantiles_and_synthetic_records_lie_among_the_records(values, given):
    with pytest.warns(UserWarning, match=r"quantiles below 0\.[0-4].* declare a smaller domain="):
        found = cdf(values, **given, random_state=0)
    ends = found.ppf([0, 1])
    assert values.min() <= ends[0] <= ends[1] <= values.max()
    assert ends[0] <= found.rvs(1000, random_state=0).min()
    assert found.support()[1] == sys.float_info.max


def test_synthetic_records_follow_the_distribution():
    found = made_from(np.repeat([2, 7, 8], [50, 30, 20]), IntegerRange(0, 9))
    drawn = found.rvs(20_000, random_state=0)
    assert np.allclose([np.mean(drawn == value) for value in (2, 7, 8)], [0.5, 0.3, 0.2], atol=0.02)
    assert found.rvs((2, 3), random_state=1).tolist() == found.rvs((2, 3), random_state=1).tolist()
    assert np.ndim(found.rvs()) == 0


def test_bands_for_the_population_are_wider_and_bands_for_more_confidence_too():
    found = made_from(np.arange(1000) % 30, IntegerRange(0, 29), privacy=ApproxDP(1))
    x = np.arange(30)

    def width(band):
        low, high = band.at(x)
        assert (low <= high).all()
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
        return high - low

    sample, population = width(found.band(of="table")), width(found.band())
    assert (sample[:-1] < population[:-1]).all()
    surer = width(found.band(beta=0.001))
    assert (surer >= population).all()
    assert (surer[:-1] > population[:-1]).all()
    low, high = found.band(of="table").at([-1, 29])
    assert (low[1], high[0]) == (1, 0)


def made_of_points(points, n=40):
    return distribution_of_points(points, planned(FOUR_BLOCKS, n, IntegerRange(0, 99)))


@pytest.mark.parametrize(
    ("points", "n", "x", "shares"),
    [
        # Single points have the middle ranks of their blocks, points that agree all of their blocks.
        ([10, 20, 30, 40], 40, [-1, 9, 10, 20, 30, 40, 99], [0, 0.125, 0.125, 0.375, 0.625, 0.875, 1]),
        ([10, 20, 20, 40], 40, [19, 20], [0.25, 0.75]),
        ([0, 0, 99, 99], 40, [0, 98, 99], [0.5, 0.5, 1]),
        ([7] * 4, 40, [6, 7], [0, 1]),
        # What is left between the sides is half way between their points.
        ([10, 20, 20, 20], 60, [19, 20, 98], [1 / 6, 1, 1]),
        ([10, 10, 30, 30], 60, [10, 29], [0.5, 0.5]),
    ],
    ids=str,
)
def test_points_have_the_ranks_of_their_blocks(points, n, x, shares):
    assert made_of_points(points, n=n).cdf(x).tolist() == pytest.approx(shares, abs=1e-9)


def test_bands_of_points_reach_from_the_point_before_to_the_next():
    band = made_of_points([10, 20, 30, 40]).band(beta=0.05, of="table")
    low, high = band.at([5, 10, 15, 20, 35, 40, 99])
    assert low.tolist() == pytest.approx([0, 1 / 40, 1 / 40, 11 / 40, 21 / 40, 31 / 40, 1], abs=1e-3)
    assert high.tolist() == pytest.approx([9 / 40, 19 / 40, 19 / 40, 29 / 40, 39 / 40, 1, 1], abs=1e-3)


@given(st.lists(st.integers(0, 99), min_size=4, max_size=4))
def test_any_four_points_make_a_distribution_within_its_band(points):
    found = made_of_points(sorted(points))
    x = np.arange(-1, 101)
    shares = found.cdf(x)
    low, high = found.band(beta=0.05, of="table").at(x)
    assert (np.diff(shares) >= 0).all()
    assert (shares[0], shares[-1]) == (0, 1)
    # No step is further off than the error guaranteed: half a block beyond the band's own half.
    assert (shares - low <= 15 / 40 + 1e-3).all()
    assert (high - shares <= 15 / 40 + 1e-3).all()


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


def test_nothing_is_promised_for_fewer_records_or_less_failure():
    none = cdf_plan(100_000, method="blocks", domain=AGES, beta=0.001)
    assert (none.error, none.n_needed) == (1, None)
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
