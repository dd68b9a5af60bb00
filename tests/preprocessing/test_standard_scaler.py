"""A private scaler agrees with scikit-learn's, and its query moves as little as its proof says."""

from itertools import product

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from dplearn.domains import Grid
from dplearn.preprocessing import PrivateStandardScaler
from dplearn.preprocessing.standard_scaler import scaler_query

X = np.random.default_rng(1).normal([50, 3, 0], [10, 1, 0.1], (20_000, 3))
DOMAIN = [Grid(0, 100, 1001, "clip"), Grid(-2, 8, 1001, "clip"), Grid(-1, 1, 1001, "clip")]


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_with_a_large_budget_it_is_scikit_learns(delta):
    ours = PrivateStandardScaler(epsilon=1e4, delta=delta, domain=DOMAIN, random_state=0).fit(X)
    theirs = StandardScaler().fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=0.02)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=0.02)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, atol=1e-9)


@pytest.mark.parametrize(("mean", "std"), [(True, False), (False, True), (False, False)])
def test_steps_that_are_off(mean, std):
    fitted = PrivateStandardScaler(with_mean=mean, with_std=std, domain=DOMAIN, random_state=0).fit(X)
    assert (fitted.scale_ is None) == (not std)
    assert (fitted.mean_ is None) == (not (mean or std))
    moved = fitted.transform(X)
    assert (abs(moved.mean(axis=0)) < 0.3).all() or not mean
    np.testing.assert_allclose(fitted.inverse_transform(moved), X, atol=1e-9)
    assert fitted.guarantee_.epsilon == (1 if mean or std else 0)


def test_a_constant_column_is_near_zero_and_not_inflated():
    constant = PrivateStandardScaler(domain=Grid(0, 10), random_state=0).fit(np.full((5000, 2), 4.0))
    assert (abs(constant.transform([[4.0, 4.0]])) < 0.5).all()


@pytest.mark.parametrize(("noise", "squares"), list(product(["laplace", "gaussian"], [True, False])))
def test_no_pair_of_records_moves_the_totals_further_than_the_noise_is_for(noise, squares):
    query = scaler_query(1, noise, 8, squares=squares)
    rows = np.arange(-8, 9, dtype=np.int32)[:, None]
    each = query.values(rows)
    moves = each[:, None] - each
    if noise == "laplace":
        assert np.abs(moves).sum(axis=2).max() == query.l1
    else:
        assert (moves**2).sum(axis=2).max() == query.squared_l2
    assert (query.total(rows) == each.sum(axis=0)).all()


def test_flags_must_be_booleans():
    with pytest.raises(TypeError, match="with_mean must be True or False, got 1"):
        PrivateStandardScaler(with_mean=1).fit(X)
