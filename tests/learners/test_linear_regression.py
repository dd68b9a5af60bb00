"""Linear regression: rows on their grid, how far their moments are apart, the posterior, the regressor."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_diabetes

from dplearn import LinearRegressor
from dplearn.domains import Grid
from dplearn.estimator import FitFacts
from dplearn.kernels import norm_powers
from dplearn.learners import LinearPlan
from dplearn.learners.linear import target_moments_query
from dplearn.learners.linear.regression import LinearModel, bounded_rows, targets_query
from dplearn.privacy import ApproxDP
from dplearn.table.targets import STEPS
from tests.learners.moves import greatest_moves, grid


def plan_of(n_features, order=2, bits=4, design=None):
    noise = {1: "laplace", 2: "gaussian"}[order]
    return LinearPlan(ApproxDP(1), noise, public=FitFacts(10, n_features), bits=bits, design=design)


def tables(rng, n, d):
    """Rows of any magnitude, and targets."""
    X = rng.uniform(-1, 1, (n, d)) * 10.0 ** rng.integers(-3, 4, (n, 1))
    X[: n // 4] = rng.choice([-1.0, 0.0, 1.0, 1e300, -1.7e308, 5e-324], (n // 4, d))
    return X, rng.integers(-STEPS, STEPS + 1, n)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("bits", [0, 1, 4, 9])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_no_row_is_longer_than_its_bound_and_each_is_of_its_record_alone(order, bits, d):
    plan, (X, codes) = plan_of(d, order, bits), tables(np.random.default_rng(0), 1000, d)
    with np.errstate(all="raise"):
        rows = bounded_rows(X, codes, plan)
    assert (rows == np.rint(rows)).all()
    assert norm_powers(rows[:, :-1].astype(np.int64), order).max() <= plan.reach**order
    assert np.abs(rows[:, -1]).max() <= plan.target_reach
    assert rows[:, :-1].any(axis=1).mean() > (0.5 if bits else 0.05)
    alone = [bounded_rows(X[[i]], codes[[i]], plan)[0] for i in range(200, 300)]
    assert np.array_equal(rows[200:300], alone)
    assert np.array_equal(bounded_rows(np.asfortranarray(X), codes, plan), rows)


@pytest.mark.parametrize(("order", "least"), [(1, [0.85, 0.96]), (2, [0.97, 0.97])])
def test_no_pair_of_records_moves_the_moments_further_than_claimed_and_one_nearly_does(order, least):
    """Two long rows whose inner product, targets included, is 0; both contain the constant."""
    plan, numbers = plan_of(2, order, bits=7), [-1e6, -1.4, -1, -0.7, -0.3, 0, 0.3, 0.7, 1, 1.4, 1e6]
    records = grid(numbers, numbers, np.linspace(-STEPS, STEPS, 9))
    rows = bounded_rows(records[:, :2], np.rint(records[:, 2]).astype(int), plan)
    found = greatest_moves(target_moments_query(plan), rows)
    assert found.max() <= 1
    assert (found[order - 1] > least).all()


@pytest.mark.parametrize("order", [1, 2])
def test_no_other_target_of_a_public_row_moves_the_products_further_than_claimed_and_one_does(order):
    plan, targets = plan_of(2, order, bits=7), np.linspace(-STEPS, STEPS, 41).astype(int)
    query = targets_query(replace(plan, guarantee=ApproxDP(1, protects="labels")))
    moves = []
    for x in ([0.0, 0.0], [1e6, -1e6], [0.3, -1.0]):
        rows = bounded_rows(np.tile(x, (len(targets), 1)), targets, plan)
        moves.append(greatest_moves(query, rows)[order - 1, 0])
    assert 0.9 < max(moves) <= 1


def test_public_columns_leave_the_noise_of_products_alone():
    (table, target), how = made(2000, d=3), {"target_range": (-1, 1), "random_state": 0}
    labels = LinearRegressor(protects="labels", **how).fit(table, target)
    whole = LinearRegressor(**how).fit(table, target)
    assert labels.coef_std_.mean() < 0.8 * whole.coef_std_.mean()
    assert labels.plan(2000, n_features=3).n_moments == 5
    parts = [(table[:700], target[:700]), (table[700:], target[700:])]
    assert np.array_equal(LinearRegressor(protects="labels", **how).fit(parts).coef_, labels.coef_)


@pytest.mark.parametrize("stray", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_counts_as_zeros_or_keeps_its_norm(stray):
    plan = plan_of(2)
    rows = bounded_rows(np.array([[stray, 0.5], [0.5, 0.5]]), np.array([STEPS, STEPS]), plan)
    assert (rows[:, :-1].astype(object) ** 2).sum(axis=1).max() <= plan.reach**2
    assert np.abs(rows[:, -1].astype(int)).max() <= plan.target_reach


# The posterior.


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
    model = LinearModel.of(moments, 1e-14)
    assert model.weights == pytest.approx(np.linalg.solve(moments[:-1, :-1], moments[:-1, -1]), abs=1e-5)
    assert model.residual == pytest.approx(0.01, rel=0.05)
    assert np.sqrt(np.diag(model.covariance)).max() < 1e-5


@pytest.mark.parametrize("deviation", [0.003, 0.03, 0.1])
def test_posterior_intervals_cover_the_weights_without_noise(deviation):
    rng, missed = np.random.default_rng(2), []
    for _ in range(200):
        weights = rng.normal(size=6) * 0.3
        moments = moments_of(rng, 2000, 5, weights)
        exact = np.linalg.solve(moments[:-1, :-1], moments[:-1, -1])
        model = LinearModel.of(with_noise(moments, deviation**2, rng), deviation**2)
        spread = np.sqrt(np.diag(model.covariance))
        missed.append(np.abs(model.weights - exact) > 1.96 * spread)
    assert np.mean(missed) < 0.09


@pytest.mark.parametrize("moments", [np.zeros((3, 3)), -np.eye(3), 1e100 * np.eye(3), np.ones((3, 3))])
@pytest.mark.parametrize("variance", [1e-30, 1.0, 1e100])
def test_moments_that_no_table_has_give_finite_weights(moments, variance):
    model = LinearModel.of(moments, variance)
    assert np.isfinite(model.weights).all()
    assert np.isfinite(model.covariance).all()
    assert model.residual > 0


# The regressor.


def learner(**parameters):
    return LinearRegressor(**{"epsilon": 1000.0, "target_range": (0, 400), "random_state": 0} | parameters)


def made(n, d=4, noise=0.1, seed=0):
    """Columns and a target within -1..1, of a linear relation."""
    rng = np.random.default_rng(seed)
    table = rng.uniform(-1, 1, (n, d))
    return table, (table @ np.linspace(-0.3, 0.3, d) + 0.1 + noise * rng.normal(size=n)).clip(-1, 1)


X, Y = load_diabetes(return_X_y=True)
COLUMNS = Grid(-0.2, 0.2, size=4096)


@pytest.fixture(scope="module")
def fitted():
    return learner(domain=COLUMNS).fit(X, Y)


@pytest.mark.parametrize("epsilon", [0.3, 10.0])
def test_prediction_intervals_cover_new_targets(epsilon):
    table, target = made(12_000, noise=0.2)
    covered = []
    for seed in range(3):
        model = learner(epsilon=epsilon, target_range=(-1, 1), random_state=seed)
        model.fit(table[:6000], target[:6000])
        low, high = model.predict_interval(table[6000:]).T
        predicted = model.predict(table[6000:])
        assert np.array_equal([low, predicted, high], np.sort(np.clip([low, predicted, high], -1, 1), axis=0))
        covered.append(np.mean((low <= target[6000:]) & (target[6000:] <= high)))
    assert np.mean(covered) > 0.94
    if epsilon == 10:
        assert np.mean(covered) < 0.97
    narrow = model.predict_interval(table[:9], beta=0.5)
    assert (np.diff(narrow) <= np.diff(model.predict_interval(table[:9]))).all()


def test_coefficient_intervals_cover_the_fit_without_noise():
    table, target = made(4000)
    exact = learner(epsilon=1e5, target_range=(-1, 1)).fit(table, target).coef_
    missed = []
    for seed in range(30):
        model = learner(epsilon=1.0, target_range=(-1, 1), random_state=seed).fit(table, target)
        low, high = model.coef_interval(beta=0.1, of="table").T
        missed.append((exact < low) | (high < exact))
        assert high - low == pytest.approx(2 * 1.6449 * model.coef_std_, rel=1e-3)
    assert np.mean(missed) < 0.15


def test_coefficient_intervals_cover_the_population_where_the_noise_is_small():
    missed, rng = [], np.random.default_rng(0)
    for _ in range(40):
        table = rng.uniform(-1, 1, (2000, 2))
        target = (0.5 * table[:, 0] + 0.2 * table[:, 1] + rng.normal(0, 0.5, 2000)).clip(-3, 3)
        model = LinearRegressor(epsilon=10, domain=Grid(-1, 1, 2001), target_range=(-3, 3)).fit(table, target)
        ends = [model.coef_interval(0.1, of)[0] for of in ("population", "table")]
        missed.append([not low <= 0.5 <= high for low, high in ends])
    population, table = np.sum(missed, axis=0)
    assert population <= binom.isf(1e-6, 40, 0.1) < table + 4


def test_predictions_are_within_the_range_of_the_target(fitted):
    far = np.array([[1e308, -1e308] * 5, [np.finfo(float).max] * 10, [5e-324] * 10])
    for model in (fitted, learner().fit(X, Y)):
        with np.errstate(all="raise"):
            found = np.column_stack([model.predict(far), model.predict_interval(far)])
        assert ((found >= 0) & (found <= 400)).all()


@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}], ids=str)
def test_the_noise_of_products_with_the_target_is_as_planned(settings, monkeypatch):
    seen = []
    right = LinearModel.of

    def watched(moments, variance, basis, unit):
        seen.append(moments[:-1, -1] / unit)
        return right(moments, variance, basis, unit)

    monkeypatch.setattr(LinearModel, "of", watched)
    table, target = made(500, d=3)
    for seed in range(60):
        learner(epsilon=2.0, target_range=(-1, 1), random_state=seed, **settings).fit(table, target)
    plan = learner(epsilon=2.0, target_range=(-1, 1), **settings).plan(500, n_features=3, beta=0.2)
    errors = np.array(seen) - np.mean(seen, axis=0)
    assert np.mean(np.abs(errors).max(axis=1) > plan.tolerance) < 0.2
    assert errors.std() < 1.1 * plan.deviation
    assert errors.std() > 0.9 * plan.deviation
