"""Private k-means finds separate clusters, publishes no labels, and its queries move as its proofs say."""

from itertools import product

import numpy as np
import pytest
from sklearn.cluster import KMeans

from dplearn.domains import Grid
from dplearn.preprocessing import PrivateKMeans
from dplearn.preprocessing.boxed_columns import spread_query
from dplearn.preprocessing.k_means import ClusterRound, cluster_query

RNG = np.random.default_rng(3)
MIDDLES = np.array([[-6, 0], [6, 0], [0, 6]])
TABLE = RNG.normal(size=(9000, 2)) + MIDDLES[RNG.integers(0, 3, 9000)]
DOMAIN = Grid(-20, 20, 1 << 12, "clip")


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_separate_clusters_are_found(delta):
    ratios = []
    best = KMeans(3, n_init=3, random_state=0).fit(TABLE).inertia_
    for seed in range(5):
        fitted = PrivateKMeans(3, delta=delta, domain=DOMAIN, random_state=seed).fit(TABLE)
        ratios.append(-fitted.score(TABLE) / best)
        assert fitted.cluster_counts_.sum() == pytest.approx(9000, rel=0.1)
    assert np.median(ratios) < 1.2


def test_labels_are_those_of_the_nearest_centre_of_each_row_alone():
    fitted = PrivateKMeans(3, domain=DOMAIN, random_state=0).fit(TABLE)
    distances = fitted.transform(TABLE[:50])
    assert distances.shape == (50, 3)
    assert (fitted.predict(TABLE[:50]) == distances.argmin(axis=1)).all()
    assert [fitted.predict(TABLE[i : i + 1])[0] for i in range(9)] == fitted.predict(TABLE[:9]).tolist()
    assert fitted.get_feature_names_out().tolist() == [f"privatekmeans{i}" for i in range(3)]
    assert fitted.score(TABLE, sample_weight=np.full(9000, 2)) == pytest.approx(2 * fitted.score(TABLE))


def test_there_are_no_labels_of_the_fitted_records():
    fitted = PrivateKMeans(2, domain=DOMAIN, random_state=0).fit(TABLE)
    for name in ("labels_", "fit_predict"):
        assert not hasattr(fitted, name)
        with pytest.raises(AttributeError, match="labels of the fitted private records are not protected"):
            getattr(fitted, name)


@pytest.mark.parametrize("value", [0, 2.5, "two", None])
def test_other_numbers_of_clusters_are_refused(value):
    with pytest.raises((TypeError, ValueError), match="n_clusters must"):
        PrivateKMeans(value, domain=DOMAIN).fit(TABLE)


@pytest.mark.parametrize("order", [1, 2])
def test_no_pair_of_rows_moves_a_round_further_than_the_noise_is_for(order):
    rows = np.array(list(product(range(-5, 6), repeat=2)), dtype=np.int32)
    asked = ClusterRound(np.array([[-3.0, 0], [2, 2], [0, -9]]), np.array([1.0, 0]), 4, order)
    query = cluster_query(asked)
    each = query.values(rows)
    moves = each[:, None] - each
    assert (np.abs(moves).sum(axis=2).max() if order == 1 else (moves**2).sum(axis=2).max()) == (
        query.l1 if order == 1 else query.squared_l2
    )
    assert (query.total(rows) == each.sum(axis=0)).all()


@pytest.mark.parametrize("order", [1, 2])
def test_no_pair_of_rows_moves_the_spread_further_than_the_noise_is_for(order):
    rows = np.array(list(product(range(-5, 6), repeat=2)), dtype=np.int32)
    rows = rows[(np.abs(rows) ** order).sum(axis=1) <= 5**order]
    query = spread_query(2, 5)
    each = query.values(rows)
    moves = each[:, None] - each
    assert np.abs(moves).sum(axis=2).max() <= query.l1 or order == 2
    assert (moves**2).sum(axis=2).max() <= query.squared_l2
    assert (query.total(rows) == each.sum(axis=0)).all()
