"""Coefficients from noisy second moments: exact without noise, and covered by their intervals with it."""

import numpy as np
import pytest

from dplearn.learners.linear_posterior import LinearModel


def moments_of(rng, n, d, weights, noise=0.1):
    rows = np.column_stack([rng.uniform(-1, 1, (n, d)), np.ones(n)])
    targets = rows @ weights + noise * rng.normal(size=n)
    full = np.column_stack([rows, targets])
    return full.T @ full / n


def with_noise(moments, variance, rng):
    noise = rng.normal(size=moments.shape) * np.sqrt(variance)
    return moments + np.triu(noise) + np.triu(noise, 1).T


def test_without_noise_it_is_least_squares():
    weights = np.array([0.3, -0.2, 0.0, 0.1])
    moments = moments_of(np.random.default_rng(0), 100_000, 3, weights)
    model = LinearModel.of(moments, 1e-14, np.eye(4))
    assert model.weights == pytest.approx(np.linalg.solve(moments[:-1, :-1], moments[:-1, -1]), abs=1e-5)
    assert model.residual == pytest.approx(0.01, rel=0.05)
    assert np.sqrt(np.diag(model.covariance)).max() < 1e-5


def test_a_unit_of_the_target_is_taken_off():
    moments = moments_of(np.random.default_rng(1), 10_000, 2, np.array([0.3, -0.2, 0.1]))
    scale = np.diag([1.0, 1.0, 1.0, 2.5])
    model, scaled = (
        LinearModel.of(each, 1e-14, np.eye(3), unit)
        for each, unit in ((moments, 1.0), (scale @ moments @ scale, 2.5))
    )
    assert scaled.weights == pytest.approx(model.weights, rel=1e-4)
    assert scaled.residual == pytest.approx(model.residual, rel=1e-4)


@pytest.mark.parametrize("deviation", [0.003, 0.03, 0.1])
def test_posterior_intervals_cover_the_weights_without_noise(deviation):
    rng, missed = np.random.default_rng(2), []
    for _ in range(200):
        weights = rng.normal(size=6) * 0.3
        moments = moments_of(rng, 2000, 5, weights)
        exact = np.linalg.solve(moments[:-1, :-1], moments[:-1, -1])
        model = LinearModel.of(with_noise(moments, deviation**2, rng), deviation**2, np.eye(6))
        spread = np.sqrt(np.diag(model.covariance))
        missed.append(np.abs(model.weights - exact) > 1.96 * spread)
    assert np.mean(missed) < 0.09


def test_noise_alone_gives_small_weights_and_a_wide_residual():
    rng = np.random.default_rng(3)
    model = LinearModel.of(with_noise(np.zeros((9, 9)), 1.0, rng), 1.0, np.eye(8))
    assert np.abs(model.weights).max() < 1
    assert model.residual >= 1


@pytest.mark.parametrize("moments", [np.zeros((3, 3)), -np.eye(3), 1e100 * np.eye(3), np.ones((3, 3))])
@pytest.mark.parametrize("variance", [1e-30, 1.0, 1e100])
def test_moments_that_no_table_has_give_finite_weights(moments, variance):
    model = LinearModel.of(moments, variance, np.eye(2))
    assert np.isfinite(model.weights).all()
    assert np.isfinite(model.covariance).all()
    assert model.residual > 0
