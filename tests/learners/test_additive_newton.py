"""Steps whose curvature is learned on the way: corrections are exact, safe, and need evidence."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from dplearn import AdditiveClassifier
from dplearn.domains import Grid
from dplearn.learners.additive.steps import Path, secant


def positive_definite(size, seed):
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


def corrected(estimates, step, change, variance=0.0, rate=0.6, bias=0.0):
    return secant(estimates, step, change, rate=rate, bias=bias, variance=variance)


@pytest.mark.parametrize("ratio", [2.0, 5.0, 100.0])
@pytest.mark.parametrize("k", [1, 3])
def test_a_correction_gives_the_curvature_that_gradients_show(ratio, k):
    estimates = [positive_definite(6, seed) for seed in range(k)]
    step = np.random.default_rng(9).normal(size=(6, k))
    change = ratio * np.stack([h @ s for h, s in zip(estimates, step.T, strict=True)], axis=1)
    found = corrected(estimates, step, change)
    assert found.ratio == pytest.approx(min(ratio, 16.0))
    inverses = found.inverted([np.linalg.inv(each + np.eye(6)) for each in estimates])
    for old, new, inverse, each in zip(estimates, found.applied(estimates), inverses, step.T, strict=True):
        assert each @ new @ each == pytest.approx(found.ratio * (each @ old @ each))
        assert np.linalg.eigvalsh(new)[0] > 0
        assert inverse == pytest.approx(np.linalg.inv(new + np.eye(6)))


@pytest.mark.parametrize(
    ("seen", "variance", "bias"),
    [
        (1.6, 0.0, 0.0),  # the step of .6 has not passed the minimum
        (0.1, 0.0, 0.0),  # nor here: residuals may be clipped
        (9.0, 10.0, 0.0),  # noise may explain it
        (9.0, 0.0, 7.5),  # the step has followed the noise
    ],
)
def test_a_curvature_is_kept_unless_a_step_has_passed_the_minimum_beyond_noise(seen, variance, bias):
    step = np.array([[1.0], [0.0]])
    assert corrected([np.eye(2)], step, seen * step, variance=variance, bias=bias).ratio == 1.0
    assert corrected([np.eye(2)], step, 9.0 * step).ratio == 9.0


def test_a_step_of_zeros_corrects_nothing():
    nothing = np.zeros((2, 1))
    found = corrected([np.eye(2)], nothing, nothing)
    assert found.applied([np.eye(2)])[0].tolist() == np.eye(2).tolist()


def test_the_measurement_of_a_quadratic_loss_is_curvature_times_minimum():
    true, minimum = positive_definite(4, 0), np.arange(4.0)[:, None]
    points = [np.full((4, 1), float(place)) for place in range(8)]
    gradients = [true @ (minimum - point) for point in points]
    path = SimpleNamespace(points=points, gradients=gradients, variance=6.0)
    measured, variance = Path.measured(path, [true])
    assert measured == pytest.approx(true @ minimum)
    assert variance == 1.0  # the first two of eight are left out


@pytest.mark.parametrize("n", [20_000, pytest.param(400_000, marks=pytest.mark.nightly)])
def test_opposite_effects_of_strongly_correlated_columns_are_learned(n):
    """Synthetic records underestimated the correlations, and the steps diverged the more, the less noise."""
    rng = np.random.default_rng(0)
    X = (np.sqrt(0.9) * rng.normal(size=(n, 1)) + np.sqrt(0.1) * rng.normal(size=(n, 20))).clip(-4, 4)
    margins = X[:, :5].sum(axis=1) - X[:, 5:10].sum(axis=1)
    y = (margins + 0.3 * rng.logistic(size=n) > 0).astype(int)
    train, test = slice(0, n // 2), slice(n // 2, n)
    model = AdditiveClassifier(
        epsilon=20.0, domain=Grid(-4, 4, 1025), classes=[0, 1], interactions=False, random_state=0
    )
    found = roc_auc_score(y[test], model.fit(X[train], y[train]).decision_function(X[test]))
    linear = LogisticRegression().fit(X[train], y[train]).decision_function(X[test])
    assert found > roc_auc_score(y[test], linear) - 0.02
