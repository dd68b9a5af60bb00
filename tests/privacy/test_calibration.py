"""Calibrated noise is enough, hardly more than enough, and agrees with dp-accounting."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.kernels import exp_bounds, gaussian_probabilities
from dplearn.privacy import (
    ApproxDP,
    BoundedRange,
    Composition,
    Gaussian,
    GaussianSums,
    PureDP,
    ZeroConcentrated,
    ZeroConcentratedDP,
    calibrate,
    concentrated_budget,
    equal_epsilon,
    equal_shares,
    event_of,
    gaussian_budget,
    gaussian_sigma2,
    least_epsilon,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=8)

ONE = ApproxDP(1, 1e-6)
STEP = Fraction(1, 2**29)

targets = st.builds(ApproxDP, st.sampled_from([0.1, 1, 5]), st.sampled_from([1e-9, 1e-6, 0.01]))


@repeatable
@given(targets, st.integers(1, 200), st.sampled_from([PureDP, BoundedRange]))
def test_the_greatest_epsilon_fits_and_a_little_more_does_not(target, k, kind):
    def make(epsilon):
        return Composition({kind(epsilon): k})

    epsilon = calibrate(make, target, low=target.epsilon / k, high=10)
    assert least_epsilon(make(epsilon), target.delta) <= target.epsilon
    assert least_epsilon(make(epsilon * (1 + STEP)), target.delta) > target.epsilon


@repeatable
@given(targets, st.integers(1, 200))
def test_the_least_variance_fits_and_a_little_less_does_not(target, k):
    def make(sigma2):
        return Composition({Gaussian(sigma2): k})

    sigma2 = calibrate(make, target, low=Fraction(1, 100), high=10**9, increasing=False)
    assert least_epsilon(make(sigma2), target.delta) <= target.epsilon
    assert least_epsilon(make(sigma2 * (1 - STEP)), target.delta) > target.epsilon


def test_a_costlier_end_that_fits_is_returned_and_without_delta_epsilon_is_shared_out():
    assert calibrate(PureDP, ONE, low=0.1, high=1) == calibrate(PureDP, ONE, low=1, high=1) == 1
    assert calibrate(Gaussian, ONE, low=1000, high=2000, increasing=False) == 1000
    epsilon = calibrate(lambda e: Composition({PureDP(e): 10}), ApproxDP(1), low=0.01, high=1)
    assert Fraction(1, 10) * (1 - STEP) <= epsilon <= Fraction(1, 10)


# One discrete Gaussian


@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1, "1e-6"), (0.25, "1e-3"), (3, "0.1"), (0, "0.1"), ("1e-3", "0.9")],
)
def test_the_exact_law_keeps_the_target_and_that_of_slightly_less_noise_does_not(epsilon, delta, sensitivity):
    target = ApproxDP(epsilon, delta)
    sigma2 = gaussian_sigma2(target, sensitivity)

    def delta_of(sigma2):
        support, masses, left_out = gaussian_probabilities(sigma2, bits=80)
        distribution = dict(zip(support, masses, strict=True))
        z = exp_bounds(target.epsilon)[0]
        worst = max(
            sum(
                max(Fraction(0), p - z * distribution.get(k - move, Fraction(0)))
                for k, p in distribution.items()
            )
            for move in range(1, sensitivity + 1)
        )
        return worst, left_out

    enough, left_out = delta_of(sigma2)
    assert enough <= target.delta + 100 * left_out
    assert left_out < Fraction(1, 10**20)
    assert delta_of(sigma2 * (1 - Fraction(1, 10**8)))[0] > target.delta
    if epsilon in (1, 3):
        by_rho = calibrate(Gaussian, target, low=Fraction(1, 1000), high=10**9, increasing=False)
        assert gaussian_sigma2(target) < by_rho


# Shares of a budget


BUDGETS = [ApproxDP(1, 1e-6), ApproxDP("1e-3", "1e-12"), ApproxDP(50, "0.05"), ApproxDP(3, "0.9")]


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize("count", [1, 77])
def test_so_many_equal_releases_fit_and_slightly_larger_ones_do_not(privacy, count):
    share = equal_epsilon(privacy, count)
    assert share >= privacy.epsilon / count
    assert Composition({PureDP(share): count}).total(privacy.delta).epsilon <= privacy.epsilon
    larger = Composition({PureDP(share * Fraction(1001, 1000)): count}).total(privacy.delta).epsilon
    assert larger > privacy.epsilon or share == privacy.epsilon  # the whole is the most that is tried


@pytest.mark.parametrize("privacy", [*BUDGETS, ApproxDP("1e-11", "1e-300")], ids=str)
def test_the_concentrated_budget_implies_the_other_and_slightly_more_does_not(privacy):
    rho = concentrated_budget(privacy)
    assert ZeroConcentratedDP(rho).to_approx(privacy.delta).epsilon <= privacy.epsilon
    assert ZeroConcentratedDP(rho * Fraction(1001, 1000)).to_approx(privacy.delta).epsilon > privacy.epsilon
    assert equal_epsilon(ApproxDP(1), 7) == Fraction(1, 7)
    with pytest.raises(ValueError, match="delta must be a finite number above 0"):
        concentrated_budget(ApproxDP(1))


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize("count", [1, 77])
def test_so_many_shares_of_each_kind_fit(privacy, count):
    shares = equal_shares(privacy, count)
    assert len(shares) <= 5
    assert [share.epsilon for share in shares] == sorted({share.epsilon for share in shares}, reverse=True)
    kinds = [
        lambda share: event_of(share),
        lambda share: PureDP(share.epsilon),
        lambda share: BoundedRange(share.epsilon),
        lambda share: ZeroConcentrated(concentrated_budget(share)),
        lambda share: GaussianSums(gaussian_budget(share)),
    ]

    def fits(event):
        return least_epsilon(Composition({event: count}), privacy.delta) <= privacy.epsilon

    assert fits(event_of(shares[-1]))
    assert all(any(fits(kind(share)) for kind in kinds) for share in shares)
    assert fits(PureDP(shares[-1].epsilon))


def test_no_delta_is_spent_on_composition_for_a_tiny_gain():
    last = equal_shares(ApproxDP(1, 1e-6), 5)[-1]
    assert last == ApproxDP("0.2", "2e-7")
    assert equal_shares(ApproxDP(1), 5) == (ApproxDP("0.2"),)
    kept = ApproxDP(1, 1e-6, protects="labels", reproducible=True)
    assert {(each.protects, each.reproducible) for each in equal_shares(kept, 9)} == {("labels", True)}
