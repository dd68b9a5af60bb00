"""Calibrated noise is enough, hardly more than enough, and agrees with dp-accounting."""

import math
from fractions import Fraction

import pytest
from dp_accounting.pld.privacy_loss_mechanism import DiscreteGaussianPrivacyLoss
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.kernels.distributions import gaussian_probabilities
from dplearn.kernels.exact import exp_bounds
from dplearn.privacy import (
    ApproxDP,
    BoundedRange,
    Composition,
    Gaussian,
    PureDP,
    calibrate,
    gaussian_sigma2,
)
from dplearn.privacy.calibration import _suffices
from dplearn.privacy.composition import least_epsilon

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=15)

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


def test_a_costlier_end_that_fits_is_returned():
    assert calibrate(PureDP, ONE, low=0.1, high=1) == 1
    assert calibrate(Gaussian, ONE, low=1000, high=2000, increasing=False) == 1000
    assert calibrate(PureDP, ONE, low=1, high=1) == 1


def test_without_delta_epsilon_is_shared_out_exactly_but_for_one_part_in_2_to_the_30():
    epsilon = calibrate(lambda e: Composition({PureDP(e): 10}), ApproxDP(1), low=0.01, high=1)
    assert Fraction(1, 10) * (1 - STEP) <= epsilon <= Fraction(1, 10)


@pytest.mark.parametrize(
    ("make", "low", "high", "increasing", "message"),
    [
        (PureDP, 2, 3, True, "low must be a parameter that costs at most the target, got 2.0"),
        (Gaussian, 1, 2, False, "high must be a parameter that costs at most the target, got 2.0"),
        (PureDP, 0, 1, True, "low must be a finite number above 0, got 0"),
        (PureDP, 2, 1, True, "high must be a finite number at least 2, got 1"),
    ],
)
def test_searches_that_cannot_succeed_are_refused(make, low, high, increasing, message):
    with pytest.raises(ValueError, match="must be") as refusal:
        calibrate(make, ONE, low=low, high=high, increasing=increasing)
    assert str(refusal.value) == message


# One discrete Gaussian


@pytest.mark.parametrize("sensitivity", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0, 0.1, 1, 5])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_the_least_variance_has_exactly_the_wanted_delta_according_to_dp_accounting(
    epsilon, delta, sensitivity
):
    if not epsilon:
        delta = max(delta, 1e-3)  # without epsilon sigma grows like 1 / delta
    sigma2 = gaussian_sigma2(ApproxDP(epsilon, delta), sensitivity)
    theirs = DiscreteGaussianPrivacyLoss(math.sqrt(sigma2), sensitivity).get_delta_for_epsilon(epsilon)
    assert theirs == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), (0.25, "1e-3"), (3, "0.1")])
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


@repeatable
@given(targets, st.integers(1, 4))
def test_integers_confirm_the_variance_and_refuse_less(target, sensitivity):
    sigma2 = gaussian_sigma2(target, sensitivity)
    assert _suffices(sigma2, target, sensitivity)
    assert not _suffices(sigma2 * (1 - Fraction(1, 10**9)), target, sensitivity)


@pytest.mark.parametrize(
    "target",
    [ApproxDP(10**4, "1e-3"), ApproxDP(10, "1e-200"), ApproxDP("1e-3", "0.9"), ApproxDP(0, "0.1")],
    ids=str,
)
@pytest.mark.parametrize("sensitivity", [1, 7])
def test_extreme_targets_have_their_noise_too(target, sensitivity):
    sigma2 = gaussian_sigma2(target, sensitivity)
    assert _suffices(sigma2, target, sensitivity)
    assert not _suffices(sigma2 * (1 - Fraction(1, 10**5)), target, sensitivity)


@repeatable
@given(targets)
def test_one_exact_gaussian_needs_less_noise_than_the_conversion_from_rho(target):
    by_rho = calibrate(Gaussian, target, low=Fraction(1, 1000), high=10**9, increasing=False)
    assert gaussian_sigma2(target) < by_rho


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (ApproxDP(1), "target must have a delta of at least 1e-200 and an epsilon of at most 10000, got"),
        (ApproxDP(1, "1e-201"), "target must have a delta of at least 1e-200"),
        (ApproxDP(10**5, 0.1), "an epsilon of at most 10000"),
        (ApproxDP(0, 1e-6), "target must need a sigma of at most 100000, got ApproxDP"),
    ],
    ids=str,
)
def test_targets_that_are_out_of_reach_are_refused(target, message):
    with pytest.raises(ValueError, match=message):
        gaussian_sigma2(target)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, True], ids=repr)
def test_an_integer_moves_by_an_integer(sensitivity):
    with pytest.raises((TypeError, ValueError), match="sensitivity must be an integer at least 1"):
        gaussian_sigma2(ONE, sensitivity)
