"""The features of the whole model of an additive fit."""

from types import SimpleNamespace

import numpy as np
import pytest

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.domains import Categories
from dplearn.learners.additive import model
from dplearn.learners.additive.model import features_of
from dplearn.learners.additive.start import Shape

BASE = SimpleNamespace(unit=1.0, curvature=np.ones(1), step_curvature=np.ones(1))


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_cells_without_mass_have_no_features_and_keep_their_doubt(delta):
    domain = [Categories([str(each) for each in range(400)])] * 2
    plan = AdditiveClassifier(domain=domain, classes=[0, 1], delta=delta).plan(1000)
    mass = np.zeros(400)
    mass[:3] = 1 / 3
    covariance = np.diag(np.where(mass > 0, 0.2, 1.0))
    effects = np.where(mass > 0, np.arange(400) - 1.0, 0.0)[:, None]
    shape = Shape(effects, covariance)
    features = features_of(plan, BASE, [shape, shape], [mass, mass])
    assert [table.shape[1] for table in features.tables] == [4 if delta else 1] * 2
    assert features.priors.shape == features.others.shape == (1 + sum(t.shape[1] for t in features.tables),)
    for table, omitted in zip(features.tables, features.omitted, strict=True):
        assert mass @ table == pytest.approx(0)
        assert np.ptp(table[3:], axis=0).max() < 1e-9
        # The mean of three effects varies, too.
        assert omitted[3:] == pytest.approx(1 + (0 if delta else 0.2 / 3), abs=0.1)
        assert omitted[:3].max() < (1e-9 if delta else 0.2)


def shapes_of(effects, variances):
    """Return the shapes of columns of two cells of mass 1/2, and these masses."""
    covariance = np.array([[1.0, -1.0], [-1.0, 1.0]])
    shapes = [
        Shape(np.array([[effect], [-effect]]), variance * covariance)
        for effect, variance in zip(effects, variances, strict=True)
    ]
    return shapes, [np.full(2, 0.5)] * len(shapes)


def two_cells(n, effects, variances, **settings):
    domain = [Categories(["a", "b"])] * len(effects)
    plan = AdditiveClassifier(domain=domain, classes=[0, 1], **settings).plan(n)
    return plan, features_of(plan, BASE, *shapes_of(effects, variances))


def test_scales_make_the_sum_of_posterior_variances_least():
    """Beside other scales of the same features, with the noise of the result."""
    plan, features = two_cells(2000, [1.0, 0.3, 0.1], [1.0, 0.1, 0.01])
    energies = np.array([np.mean(table**2) for each in features.tables for table in each.T])
    energies = np.append(energies, features.constant**2)
    variances = features.priors * energies

    def doubt(energies):
        shares = energies / energies.sum()
        noise = model._COUNTED * plan.step_deviation**2
        return (variances * noise / (variances * shares + noise)).sum()

    free = features.others | (variances > 0.02)  # the others have at least the scale of the largest
    assert free.sum() >= 4
    for place in np.flatnonzero(free):
        for factor in (0.8, 1.25):
            changed = energies.copy()
            changed[place] *= factor
            assert doubt(changed) >= doubt(energies) * (1 - 1e-4)
    assert doubt(variances) > 1.02 * doubt(energies)


def test_what_noise_would_hide_is_no_feature_and_first_shapes_always_are():
    effects, variances = [1.0, 0.5, 0.0], [1e-4, 1.0, 1e-4]
    few, many = (two_cells(n, effects, variances)[1] for n in (300, 300_000))
    assert [table.shape[1] for table in few.tables] == [1, 2, 1]
    assert [table.shape[1] for table in many.tables] == [2, 2, 2]
    # An effect in no feature keeps its doubt.
    assert few.omitted[0] == pytest.approx(1e-4)
    assert many.omitted[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("d", "size"), [(1, 0.0), (1, 1.0), (10, 1e-6), (200, 0.0), (200, 1.0)])
def test_of_a_regression_the_constant_has_a_least_share_of_rows(d, size):
    """Noise in the mean moves all predictions, however many columns there are."""
    domain, sizes = [Categories(["a", "b"])] * d, [size] + [0.1 * size] * (d - 1)
    shares = []
    for learner in (AdditiveRegressor(target_range=(-1, 1)), AdditiveClassifier(classes=[0, 1])):
        plan = learner.set_params(domain=domain).plan(1500)
        with np.errstate(all="raise", under="ignore"):
            features = features_of(plan, BASE, *shapes_of(sizes, [0.01] * d))
        rest = sum(float(np.mean(table**2, axis=0).sum()) for table in features.tables)
        shares.append(features.constant**2 / (features.constant**2 + rest))
        assert all(np.isfinite(start).all() for start in features.starts)
    assert 0.15 / 1.15 - 1e-9 < shares[0] < 1
    assert d < 200 or shares[1] < 1 / 20  # of labels the constant is one feature among hundreds


def test_scales_change_no_prior_and_no_start():
    """A weight times its feature has the same prior, whatever the scale is."""
    shapes, masses = shapes_of([1.0, 0.5], [1.0, 0.3])
    found = []
    for epsilon in (0.1, 10.0):
        plan = AdditiveClassifier(domain=[Categories(["a", "b"])] * 2, classes=[0, 1], epsilon=epsilon).plan(
            3000
        )
        features = features_of(plan, BASE, shapes, masses)
        found.append(
            [
                (float(table[0, 0] ** 2 * features.priors[place]), float((table[:, 0] * start[0])[0]))
                for place, table, start in zip(
                    (0, features.tables[0].shape[1]), features.tables, features.starts, strict=True
                )
            ]
        )
    assert np.array(found[0]) == pytest.approx(np.array(found[1]))
    assert found[0][0] == pytest.approx((0.4**2, 0.6))
