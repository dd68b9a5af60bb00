"""Scaler, components and clusters, of sums in a box: near scikit-learn; queries that move as proofs say."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from dplearn.domains import Grid, IntegerRange
from dplearn.preprocessing import PrivateKMeans, PrivatePCA, PrivateStandardScaler
from dplearn.preprocessing.boxed_columns import shortened, spread_query
from dplearn.preprocessing.k_means import ClusterRound, cluster_query
from dplearn.preprocessing.pca import moments_query, without_noise
from dplearn.preprocessing.standard_scaler import scaler_query
from tests.learners.moves import greatest_moves, grid

RNG = np.random.default_rng(0)
X = RNG.normal([50, 3], [10, 1], (6000, 2))
DOMAIN = [Grid(0, 100, 1001, "clip"), Grid(-2, 8, 1001, "clip")]
ALL = (PrivateStandardScaler(domain=DOMAIN), PrivatePCA(domain=DOMAIN), PrivateKMeans(2, domain=DOMAIN))
learners = pytest.mark.parametrize("learner", ALL, ids=lambda each: type(each).__name__)


@learners
def test_one_record_and_constant_columns_have_finite_results_with_floating_point_errors_that_raise(learner):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in ([[1.7e308, -1.7e308]], np.ones((50, 2)), np.zeros((9, 2))):
            for domain in ("float64", Grid(-1, 1, outside="clip"), IntegerRange(3, 3, outside="clip")):
                fitted = clone(learner).set_params(domain=domain).fit(rows)
                released = [np.asarray(each) for name, each in vars(fitted).items() if name.endswith("_")]
                assert all(np.isfinite(each).all() for each in released if each.dtype.kind == "f")
                assert np.isfinite(fitted.transform([[1.7e308, -1.7e308], [0.0, 0.0]])).all()


def test_released_ranges_hold_most_records_and_their_cost_is_part_of_the_whole():
    far = X * [1e6, 1e-3] + [1e9, 0]
    fitted = PrivateStandardScaler(epsilon=2, random_state=0).fit(far)
    np.testing.assert_allclose(fitted.scale_, far.std(axis=0), rtol=0.15)
    np.testing.assert_allclose(fitted.mean_, far.mean(axis=0), atol=0.2 * far.std(axis=0).max())
    plan = fitted.plan(6000)
    assert len(plan.unbounded) * plan.ranges.epsilon + plan.rest.epsilon == plan.guarantee.epsilon == 2


def test_far_rows_are_shortened_and_keep_their_direction():
    rows = np.array([[300.0, 400.0], [3.0, -4.0], [7.0, 8.0]])
    for order in (1, 2):
        short = shortened(rows.copy(), 10, order)
        assert ((np.abs(short) ** order).sum(axis=1) <= 10**order).all()
        assert short[1].tolist() == [3, -4]
    assert shortened(rows.copy(), 10, 2)[0].tolist() == [6, 8]


# The scaler.


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_with_a_large_budget_a_scaler_is_scikit_learns(delta):
    ours = PrivateStandardScaler(epsilon=1e4, delta=delta, domain=DOMAIN, random_state=0).fit(X)
    theirs = StandardScaler().fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=0.02)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=0.02)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, atol=1e-9)


@pytest.mark.parametrize(("mean", "std"), [(True, False), (False, True), (False, False)])
def test_steps_of_a_scaler_that_are_off(mean, std):
    fitted = PrivateStandardScaler(with_mean=mean, with_std=std, domain=DOMAIN, random_state=0).fit(X)
    assert (fitted.scale_ is None) == (not std)
    assert (fitted.mean_ is None) == (not (mean or std))
    moved = fitted.transform(X)
    assert (abs(moved.mean(axis=0)) < 0.3).all() or not mean
    np.testing.assert_allclose(fitted.inverse_transform(moved), X, atol=1e-9)
    assert fitted.guarantee_.epsilon == (1 if mean or std else 0)


# Components.


ROTATED = RNG.normal(size=(10_000, 5)) @ (
    np.diag([4, 2, 1, 0.5, 0.5]) @ np.linalg.qr(RNG.normal(size=(5, 5)))[0]
)
AROUND_0 = Grid(-16, 16, 1 << 12, "clip")


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_with_a_large_budget_components_are_scikit_learns(delta):
    ours = PrivatePCA(epsilon=1e5, delta=delta, domain=AROUND_0, random_state=0).fit(ROTATED)
    theirs = PCA().fit(ROTATED)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=0.03)
    np.testing.assert_allclose(ours.explained_variance_ratio_.sum(), 1)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, atol=0.05)
    np.testing.assert_allclose(abs((ours.components_[:3] * theirs.components_[:3]).sum(axis=1)), 1, atol=0.01)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(ROTATED)), ROTATED, atol=1e-9)


def test_a_component_is_the_product_with_centred_rows():
    fitted = PrivatePCA(2, domain=AROUND_0, random_state=0).fit(ROTATED)
    for row, found in zip(ROTATED[:9], fitted.transform(ROTATED[:9]), strict=True):
        for component, number in zip(fitted.components_, found, strict=True):
            products = [(x - m) * c for x, m, c in zip(row, fitted.mean_, component, strict=True)]
            assert number == pytest.approx(sum(products))


def test_a_share_of_variance_chooses_the_number():
    fitted = PrivatePCA(0.9, epsilon=100, domain=AROUND_0, random_state=0).fit(ROTATED)
    assert fitted.n_components_ == PCA(0.9).fit(ROTATED).n_components_ == len(fitted.components_)
    assert fitted.explained_variance_ratio_.sum() >= 0.9


def test_noise_alone_has_no_clear_component_and_warns():
    with pytest.warns(UserWarning, match="no component is clearer than the noise"):
        fitted = PrivatePCA(2, epsilon=1.0, domain=Grid(-5000, 5000, 101), random_state=0).fit(ROTATED)
    assert fitted.n_clear_ == 0
    assert fitted.explained_variance_[0] == fitted.explained_variance_[1]


def test_eigenvalues_lose_the_part_of_the_noise():
    deviation, truth = 0.02, np.diag([1.0, *[0.1] * 99])
    noise = RNG.normal(scale=deviation, size=(100, 100))
    noisy = truth + (noise + noise.T) / np.sqrt(2)
    values = np.linalg.eigvalsh(noisy)[::-1]
    found, clear = without_noise(values, deviation)
    assert clear >= 1
    assert values[0] - found[0] == pytest.approx(100 * deviation**2, abs=0.005)


# Clusters.


SEEDED = np.random.default_rng(3)
MIDDLES = np.array([[-6, 0], [6, 0], [0, 6]])
CLUSTERS = SEEDED.normal(size=(9000, 2)) + MIDDLES[SEEDED.integers(0, 3, 9000)]
FAR = Grid(-20, 20, 1 << 12, "clip")


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_separate_clusters_are_found(delta):
    ratios = []
    best = KMeans(3, n_init=3, random_state=0).fit(CLUSTERS).inertia_
    for seed in range(5):
        fitted = PrivateKMeans(3, delta=delta, domain=FAR, random_state=seed).fit(CLUSTERS)
        ratios.append(-fitted.score(CLUSTERS) / best)
        assert fitted.cluster_counts_.sum() == pytest.approx(9000, rel=0.1)
    assert np.median(ratios) < 1.2


def test_labels_are_those_of_the_nearest_centre_and_scores_sums_of_squares():
    fitted = PrivateKMeans(3, domain=FAR, random_state=0).fit(CLUSTERS)
    squares = [[sum((row - centre) ** 2) for centre in fitted.cluster_centers_] for row in CLUSTERS[:50]]
    assert fitted.predict(CLUSTERS[:50]).tolist() == [each.index(min(each)) for each in squares]
    assert fitted.transform(CLUSTERS[:50]) == pytest.approx(np.sqrt(squares))
    assert fitted.score(CLUSTERS[:50]) == pytest.approx(-sum(map(min, squares)))
    weighted = fitted.score(CLUSTERS[:50], sample_weight=np.full(50, 2))
    assert weighted == pytest.approx(2 * fitted.score(CLUSTERS[:50]))


def test_there_are_no_labels_of_the_fitted_records():
    fitted = PrivateKMeans(2, domain=FAR, random_state=0).fit(CLUSTERS)
    for name in ("labels_", "fit_predict"):
        assert not hasattr(fitted, name)
        with pytest.raises(AttributeError, match="labels of the fitted private records are not protected"):
            getattr(fitted, name)


# Queries: over all pairs of records of a grid.


def rows_within(reach, d, order):
    """Rows of whole numbers in a ball; of more than three columns, those on its surface."""
    rows = grid(*[np.arange(-reach, reach + 1)] * d).astype(np.int32)
    lengths = (np.abs(rows) ** order).sum(axis=1)
    return rows[lengths == reach**order if d > 3 else lengths <= reach**order]


CENTRES = np.array([[-3.0, 0], [2, 2], [0, -9]])
#: Queries of the order of noise, and the numbers of columns and steps of a grid.
QUERIES = {
    "moments of one column": (lambda noise, order: moments_query(1, noise, 8), 1, 8),
    "moments": (lambda noise, order: moments_query(2, noise, 8), 2, 8),
    "moments of three columns": (lambda noise, order: moments_query(3, noise, 4), 3, 4),
    "moments of five columns": (lambda noise, order: moments_query(5, noise, 4), 5, 4),
    "scale": (lambda noise, order: scaler_query(1, noise, 8, squares=True), 1, 8),
    "mean": (lambda noise, order: scaler_query(1, noise, 8, squares=False), 1, 8),
    "scale of columns": (lambda noise, order: scaler_query(2, noise, 8, squares=True), 2, 8),
    "clusters": (
        lambda noise, order: cluster_query(ClusterRound(CENTRES, np.array([1.0, 0]), 4, order)),
        2,
        5,
    ),
    "spread": (lambda noise, order: spread_query(2, 5), 2, 5),
}


@pytest.mark.parametrize("name", QUERIES)
def test_no_pair_of_rows_moves_the_totals_further_than_the_noise_is_for(name):
    make, d, reach = QUERIES[name]
    for order, noise in ((1, "laplace"), (2, "gaussian")):
        found = greatest_moves(make(noise, order), rows_within(reach, d, order))
        replaced, added = found[order - 1]
        assert max(replaced, added) <= 1
        # One column has no two rows at a right angle, and a spread no two that differ in all squares.
        assert replaced > (0.56 if name in ("moments of one column", "spread") else 0.88)
        assert (
            {"clusters": 0.65, "scale of columns": 0.49}.get(name, 0.9) < found[1, 1] <= 1
        )  # the norm of a row
