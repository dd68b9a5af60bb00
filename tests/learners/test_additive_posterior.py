"""The posterior of the weights of features."""

import numpy as np
import pytest

from dplearn.learners.additive_posterior import covariance_of_weights, posterior_weights


@pytest.mark.parametrize("variance", [0.0, 1.0, 1e30])
def test_the_posterior_of_any_weights_is_finite(variance):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 3))
    curvature = root @ root.T + 1e-6 * np.eye(5)  # nearly singular
    mean, priors = posterior_weights(curvature @ np.ones(5), curvature, np.zeros(5), variance, slice(3, 4))
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
