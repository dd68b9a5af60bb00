"""Shares that sum to 1: the nearest to any numbers, and those whose images are nearest."""

import numpy as np
import pytest

from dplearn.kernels.simplex import fitted_shares, nearest_shares


@pytest.mark.parametrize("seed", range(5))
def test_no_other_shares_are_nearer(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, 6)
    nearest = nearest_shares(values)
    assert (nearest >= 0).all()
    assert nearest.sum() == pytest.approx(1)
    others = rng.dirichlet(np.full(6, 0.3), 500)
    assert ((others - values) ** 2).sum(axis=1).min() >= ((nearest - values) ** 2).sum()
    assert nearest_shares(nearest) == pytest.approx(nearest)
    assert nearest_shares(values + 9) == pytest.approx(nearest)
    assert nearest_shares(np.array([-1e30])).tolist() == [1.0]


@pytest.mark.parametrize("scale", [1e20, 1e100, 1e300, 1e-300, 0.0])
def test_numbers_of_any_magnitude_have_nearest_shares(scale):
    values = scale * np.array([1.0, -1.0, 0.5])
    assert nearest_shares(values).sum() == pytest.approx(1)
    assert nearest_shares(-np.abs(values)).sum() == pytest.approx(1)
    if scale > 1:
        assert nearest_shares(values).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(3))
def test_fitted_shares_have_nearly_the_least_distance_of_images(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(8, 4))
    image = rng.dirichlet(np.ones(8)) @ rows + 0.1 * rng.normal(size=4)
    found = fitted_shares(rows, image)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    # By convexity half of the squared distance exceeds the least one by at most this gap.
    slopes = rows @ (found @ rows - image)
    assert found @ slopes - slopes.min() < 1e-3
    equal = np.full(8, 1 / 8)
    slopes = rows @ (equal @ rows - image)
    assert equal @ slopes - slopes.min() > 1e-2  # the start is no solution


def test_shares_are_recovered_from_their_exact_image():
    rows = np.vander(np.linspace(-1, 1, 4), 4)
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    assert fitted_shares(rows, shares @ rows, rounds=4000) == pytest.approx(shares, abs=1e-3)


def test_shares_of_several_images_are_those_of_each():
    rng = np.random.default_rng(0)
    rows, images = rng.normal(size=(8, 4)), rng.normal(size=(2, 3, 4))
    assert nearest_shares(images) == pytest.approx(np.apply_along_axis(nearest_shares, 2, images))
    found = fitted_shares(rows, images)
    for place in np.ndindex(2, 3):
        assert found[place] == pytest.approx(fitted_shares(rows, images[place]), abs=1e-9)
