"""Private principal components agree with scikit-learn's, and their query moves as its proof says."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from dplearn.domains import Grid
from dplearn.preprocessing import PrivatePCA
from dplearn.preprocessing.pca import _without_noise, moments_query

RNG = np.random.default_rng(2)
TABLE = RNG.normal(size=(20_000, 5)) @ (
    np.diag([4, 2, 1, 0.5, 0.5]) @ np.linalg.qr(RNG.normal(size=(5, 5)))[0]
)
DOMAIN = Grid(-16, 16, 1 << 12, "clip")


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_with_a_large_budget_it_is_scikit_learns(delta):
    ours = PrivatePCA(epsilon=1e5, delta=delta, domain=DOMAIN, random_state=0).fit(TABLE)
    theirs = PCA().fit(TABLE)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=0.03)
    np.testing.assert_allclose(ours.explained_variance_ratio_.sum(), 1)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, atol=0.05)
    np.testing.assert_allclose(abs((ours.components_[:3] * theirs.components_[:3]).sum(axis=1)), 1, atol=0.01)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(TABLE)), TABLE, atol=1e-9)


def test_a_usual_budget_finds_the_leading_components():
    fitted = PrivatePCA(2, domain=DOMAIN, random_state=0).fit(TABLE)
    best = PCA(2).fit(TABLE).explained_variance_ratio_.sum()
    kept = fitted.transform(TABLE).var(axis=0).sum() / TABLE.var(axis=0).sum()
    assert kept > 0.98 * best
    assert fitted.components_.shape == (2, 5)
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(2), atol=1e-9)
    assert fitted.get_feature_names_out().tolist() == ["privatepca0", "privatepca1"]


def test_a_share_of_variance_chooses_the_number():
    fitted = PrivatePCA(0.9, epsilon=100, domain=DOMAIN, random_state=0).fit(TABLE)
    assert fitted.n_components_ == PCA(0.9).fit(TABLE).n_components_ == len(fitted.components_)
    assert fitted.explained_variance_ratio_.sum() >= 0.9


def test_noise_alone_has_no_clear_component_and_warns():
    with pytest.warns(UserWarning, match="no component is clearer than the noise"):
        fitted = PrivatePCA(2, epsilon=1.0, domain=Grid(-5000, 5000, 101), random_state=0).fit(TABLE)
    assert fitted.n_clear_ == 0
    assert fitted.explained_variance_[0] == fitted.explained_variance_[1]


def test_eigenvalues_lose_the_part_of_the_noise():
    deviation, truth = 0.02, np.diag([1.0, *[0.1] * 99])
    noise = RNG.normal(scale=deviation, size=(100, 100))
    noisy = truth + (noise + noise.T) / np.sqrt(2)
    found, clear = _without_noise(np.linalg.eigvalsh(noisy)[::-1], deviation)
    assert clear >= 1
    assert abs(found[0] - 1) < abs(np.linalg.eigvalsh(noisy)[-1] - 1) + 0.02


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "n_components must"),
        (6, "at most the number of columns, 5, got 6"),
        (1.5, "n_components must"),
        ("mle", "an integer, a share"),
        (True, "n_components must"),
    ],
)
def test_other_numbers_of_components_are_refused(value, message):
    with pytest.raises((TypeError, ValueError), match=message):
        PrivatePCA(value, domain=DOMAIN).fit(TABLE)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_pair_of_rows_moves_the_totals_further_than_the_noise_is_for(noise, d):
    steps, order = 8, 1 if noise == "laplace" else 2
    query = moments_query(d, noise, steps)
    grid = np.stack(np.meshgrid(*[np.arange(-steps, steps + 1)] * d), axis=-1).reshape(-1, d)
    rows = grid[(np.abs(grid) ** order).sum(axis=1) <= steps**order].astype(np.int32)
    rows = rows[RNG.permutation(len(rows))[:600]] if d == 3 else rows
    corners = steps * np.vstack([np.eye(d), -np.eye(d)]).astype(np.int32)
    each = query.values(np.vstack([rows, corners]))
    norms = (each**2).sum(axis=1)
    if order == 2:
        assert (norms[:, None] + norms - 2 * each @ each.T).max() <= query.squared_l2
    else:
        assert max(np.abs(each - one).sum(axis=1).max() for one in each) <= query.l1
    assert (query.total(rows) == query.values(rows).sum(axis=0)).all()
