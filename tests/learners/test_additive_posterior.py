"""The posterior of the weights of features."""

import numpy as np
import pytest

from dplearn.learners.additive.steps import covariance_of_weights, posterior_weights


@pytest.mark.parametrize("variance", [0.0, 1.0, 1e30])
def test_the_posterior_of_any_weights_is_finite(variance):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 3))
    curvature = root @ root.T + 1e-6 * np.eye(5)  # nearly singular
    usual = np.array([1.0, 100.0, 0.01, 1.0, 4.0])
    mean, priors = posterior_weights(
        curvature @ np.ones(5), curvature, np.zeros(5), variance, slice(3, 4), usual, 1e-9
    )
    assert np.isfinite(mean).all()
    covariance = covariance_of_weights(curvature, priors, variance)
    assert np.linalg.eigvalsh(covariance).min() > -1e-6
    if not variance:
        assert curvature @ mean == pytest.approx(curvature @ np.ones(5), abs=0.01)


def test_weights_that_nothing_measures_keep_their_prior_variance():
    curvature = np.diag([50.0, 0.0, 0.0])
    covariance = covariance_of_weights(curvature, np.array([1.0, 10.0, 0.1]), 1.0)
    assert np.diag(covariance) == pytest.approx([1 / (1 + 50**2), 10, 0.1])
    assert np.isfinite(covariance_of_weights(0 * curvature, np.ones(3), 0.0)).all()


def test_the_posterior_does_not_depend_on_the_scales_of_features():
    """Of a feature on a scale of s, weights are 1 / s, and their prior variances 1 / s^2."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(5, 8))
    curvature, weights, joint = root @ root.T, rng.normal(size=5), slice(3, 5)
    scales = np.array([0.5, 2.0, 1.0, 3.0, 0.7])
    plain, priors = posterior_weights(
        curvature @ weights, curvature, np.zeros(5), 0.0, joint, np.ones(5), 1.0
    )
    scaled, their = posterior_weights(
        scales * (curvature @ weights),
        scales[:, None] * curvature * scales,
        np.zeros(5),
        0.0,
        joint,
        scales**-2.0,
        1.0,
    )
    assert scales * scaled == pytest.approx(plain, abs=1e-3)
    assert scales**2 * their == pytest.approx(priors)


def test_prior_variances_of_joint_features_have_a_greatest_factor():
    curvature, weights, joint = 100 * np.eye(6), np.array([0.1, -0.1, 3.0, -2.0, 2.5, -3.5]), slice(2, 6)
    given = curvature @ weights, curvature, np.zeros(6), 1.0, joint, np.ones(6), 1.0
    assert posterior_weights(*given)[1][2:] == pytest.approx([10.0] * 4)
    assert posterior_weights(*given, 1.0)[1][2:] == pytest.approx([1.0] * 4)


def test_the_sampling_error_shrinks_effects_that_nothing_but_noise_would_explain():
    """Of weights 0, the sampling errors alone, without noise of privacy."""
    rng = np.random.default_rng(2)
    curvature = np.diag(np.full(40, 25.0))
    measured = 5 * rng.normal(size=40)
    found = [
        np.abs(posterior_weights(measured, curvature, np.zeros(40), 1e-9, slice(0, 0), np.ones(40), each)[0])
        for each in (0.0, 5.0)
    ]
    assert found[1].max() < 0.85 * found[0].max()
    assert found[0] == pytest.approx(np.abs(measured) / 25)


@pytest.mark.parametrize("d", [1, 50])
def test_starts_that_are_noise_together_are_taken_back_together(d):
    """True weights are 0, and noise is larger than each start; all together are d times clearer.

    With independent priors that allow nothing else, the multiple s of the starts has the normal prior of mean
    and variance 1, and a measurement of 0 with the precision q: its posterior mean and variance are
    1 / (1 + q).
    """
    start, curvature, variance = 0.5 * (-1.0) ** np.arange(d), 10 * np.eye(d), 100.0
    given = np.zeros(d), curvature, start, variance, slice(0, 0), np.full(d, 1e-9), 0.0
    apart, priors = posterior_weights(*given)
    assert apart == pytest.approx(start, abs=1e-6)
    together, same = posterior_weights(*given, common=start)
    precision = d * (10 * 0.5) ** 2 / variance
    assert together == pytest.approx(start / (1 + precision), abs=1e-6)
    assert same.tolist() == priors.tolist()
    covariance = covariance_of_weights(curvature, priors, variance, start)
    assert covariance == pytest.approx(np.outer(start, start) / (1 + precision), abs=1e-6)
