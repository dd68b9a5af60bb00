"""The released joint distribution of cells."""

import numpy as np
import pytest

from dplearn.learners.additive_copula import _normal_scores


def test_normal_scores_are_standardised_and_in_order():
    mass = np.array([0.1, 0.2, 0.3, 0.4])
    scores = _normal_scores(mass, np.array([3, 1, 0, 2]))
    assert mass @ scores == pytest.approx(0)
    assert mass @ scores**2 == pytest.approx(1)
    assert (np.diff(scores[[3, 1, 0, 2]]) > 0).all()
    assert np.isfinite(_normal_scores(np.array([1.0, 1e-300]), np.arange(2))).all()
    assert _normal_scores(np.ones(1), np.arange(1)).tolist() == [0.0]
