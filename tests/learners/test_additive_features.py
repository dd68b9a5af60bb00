"""The features of the whole model of an additive fit."""

from types import SimpleNamespace

import numpy as np
import pytest

from dplearn import AdditiveClassifier
from dplearn.domains import Categories
from dplearn.learners.additive_features import features_of
from dplearn.learners.additive_shapes import Shape


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_cells_without_mass_have_no_features_and_keep_their_doubt(delta):
    domain = [Categories([str(each) for each in range(400)])] * 2
    plan = AdditiveClassifier(domain=domain, classes=[0, 1], delta=delta).plan(1000)
    mass = np.zeros(400)
    mass[:3] = 1 / 3
    covariance = np.diag(np.where(mass > 0, 0.2, 1.0))
    effects = np.where(mass > 0, np.arange(400) - 1.0, 0.0)[:, None]
    shape = Shape(effects, covariance)
    features = features_of(
        plan, SimpleNamespace(unit=1.0, curvature=np.ones(1)), [shape, shape], [mass, mass]
    )
    assert [table.shape[1] for table in features.tables] == [4 if delta else 1] * 2
    for table, omitted in zip(features.tables, features.omitted, strict=True):
        assert not table[3:].any()
        # The mean of three effects varies, too.
        assert omitted[3:] == pytest.approx(1 + (0 if delta else 0.2 / 3), abs=0.1)
        assert omitted[:3].max() < (1e-9 if delta else 0.2)
