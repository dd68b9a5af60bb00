"""The linear regressor: what it learns, from what input, what it refuses, and what its intervals cover."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dplearn import BudgetExceededError, LinearRegressor, PrivacyLedger
from dplearn.domains import Bits, Categories, DomainError, Floats, Grid, IntegerRange, Schema

X, Y = load_diabetes(return_X_y=True)
COLUMNS = Grid(-0.2, 0.2, size=4096)


def learner(**parameters):
    return LinearRegressor(**{"epsilon": 1000.0, "target_range": (0, 400), "random_state": 0} | parameters)


@pytest.fixture(scope="module")
def fitted():
    return learner(domain=COLUMNS).fit(X, Y)


def made(n, d=4, noise=0.1, seed=0):
    """Columns and a target within -1..1, of a linear relation."""
    rng = np.random.default_rng(seed)
    table = rng.uniform(-1, 1, (n, d))
    return table, (table @ np.linspace(-0.3, 0.3, d) + 0.1 + noise * rng.normal(size=n)).clip(-1, 1)


def test_at_large_epsilon_it_is_least_squares(fitted):
    plain = LinearRegression().fit(X, Y)
    assert fitted.score(X, Y) > plain.score(X, Y) - 0.02
    assert is_regressor(fitted)
    assert (fitted.coef_.shape, fitted.noise_, fitted.target_range_) == ((10,), "gaussian", (0.0, 400.0))


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"), [(1.0, 1e-6, 0.85), (0.1, 1e-6, 0.7), (1.0, 0.0, 0.85)]
)
def test_a_linear_relation_is_learned_at_a_small_epsilon(epsilon, delta, least):
    table, target = made(20_000)
    small = learner(epsilon=epsilon, delta=delta, target_range=(-1, 1)).fit(table[:10_000], target[:10_000])
    plain = LinearRegression().fit(table[:10_000], target[:10_000])
    assert small.score(table[10_000:], target[10_000:]) > least * plain.score(table[10_000:], target[10_000:])
    assert small.coef_ == pytest.approx(plain.coef_, abs=0.15)


def test_rows_beyond_the_reach_are_learned_from_too():
    table, target = made(20_000)
    long = learner(target_range=(-1, 1)).fit(5 * table, target)
    assert long.coef_ * 5 == pytest.approx(np.linspace(-0.3, 0.3, 4), abs=0.02)


def test_a_table_of_anything_is_encoded_by_its_schema():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 3000),
            "town": rng.choice(["north", "south", None], 3000),
            "debt": np.where(rng.random(3000) < 0.2, np.nan, rng.uniform(0, 100, 3000)),
            "owner": rng.integers(0, 2, 3000),
        }
    )
    wage = frame["age"] / 2 + np.where(frame["town"] == "south", 20, 0) - frame["debt"].fillna(80) / 4
    schema = Schema(
        {
            "age": IntegerRange(18, 90),
            "town": Categories(["north", "south", None]),
            "debt": Grid(0, 100, missing=True),
            "owner": Bits(None),
        }
    )
    model = learner(domain=schema, target_range=(-30, 80), epsilon=20.0).fit(frame, wage)
    assert model.score(frame, wage) > 0.95
    assert model.design_.names[2:5] == ("town == 'south'", "town is missing", "debt")
    assert model.coef_[1:4].sum() == pytest.approx(0, abs=1e-9)
    assert model.coef_[2] - model.coef_[1] == pytest.approx(20, abs=2)
    assert model.predict(frame.assign(town="moon", age=300)).shape == (3000,)
    with pytest.raises(DomainError, match="in column 'age'"):
        learner(domain=schema, target_range=(-30, 80)).fit(frame.assign(age=300), wage)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 10.0])
def test_prediction_intervals_cover_new_targets(epsilon):
    table, target = made(12_000, noise=0.2)
    covered = []
    for seed in range(5):
        model = learner(epsilon=epsilon, target_range=(-1, 1), random_state=seed)
        model.fit(table[:6000], target[:6000])
        low, high = model.predict_interval(table[6000:]).T
        predicted = model.predict(table[6000:])
        assert (low >= -1).all()
        assert (low <= predicted).all()
        assert (predicted <= high).all()
        assert (high <= 1).all()
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
    for seed in range(60):
        model = learner(epsilon=1.0, target_range=(-1, 1), random_state=seed).fit(table, target)
        low, high = model.coef_interval(beta=0.1).T
        missed.append((exact < low) | (high < exact))
        assert high - low == pytest.approx(2 * 1.6449 * model.coef_std_, rel=1e-3)
    assert np.mean(missed) < 0.15


def test_predictions_are_within_the_range_of_the_target(fitted):
    with np.errstate(all="raise"):
        far = fitted.predict(X * 1e300)
        plain = learner().fit(X, Y)
        edges = np.array([[1e308, -1e308] * 5, [np.finfo(float).max] * 10, [5e-324] * 10])
        predicted, ends = plain.predict(edges), plain.predict_interval(edges)
    assert ((far >= 0) & (far <= 400)).all()
    assert ((predicted >= 0) & (predicted <= 400)).all()
    assert ((ends >= 0) & (ends <= 400)).all()


@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}], ids=str)
@pytest.mark.parametrize(
    "table",
    [np.zeros((50, 3)), np.ones((50, 1)), np.ones((1, 2)), np.full((9, 2), 1e300), made(40, d=600)[0]],
    ids=lambda table: str(table.shape),
)
@pytest.mark.filterwarnings("ignore:n_samples is")
def test_any_table_is_fitted(table, settings):
    for target in (np.zeros(len(table)), np.linspace(0, 400, len(table))):
        with np.errstate(all="raise"):
            model = learner(epsilon=1.0, **settings).fit(table, target)
        assert np.isfinite(model.predict(table)).all()
        assert np.isfinite(model.coef_std_).all()


def test_a_constant_target_is_learned():
    model = learner(epsilon=10.0).fit(X, np.full(len(X), 100.0))
    assert np.abs(model.predict(X) - 100).mean() < 25


def test_too_many_columns_are_refused_with_advice():
    with pytest.raises(ValueError, match=r"at most 4094 numeric columns.*got 5000: declare fewer buckets"):
        learner().plan(100, n_features=5000)
    assert learner(epsilon=1.0).plan(10**6, n_features=3000).n_moments == 3002 * 3003 // 2


def test_a_refused_fit_has_no_cost(fitted):
    ledger = PrivacyLedger(2.0, 1e-5)
    paid = {"ledger": ledger, "random_state": None, "epsilon": 1.0}
    secret = np.r_[398.123, np.zeros(len(X) - 1)]
    for table, target in (
        ([[np.nan]], [0]),
        ([[1.0], [2.0]], [0]),
        (X, secret + 2),
        (X, secret * np.nan),
        (X, secret.astype(str)),
        (X, None),
    ):
        with pytest.raises(ValueError, match=r"NaN|samples|target_range|requires y|number") as refused:
            learner(**paid).fit(np.array(table), target)
        assert "398" not in str(refused.value)
    with pytest.raises(TypeError, match="dense data is required"):
        learner(**paid).fit(csr_matrix(X), Y)
    assert ledger.spent().epsilon == 0
    learner(**paid).fit(X, Y)
    learner(**paid).fit(X, Y)
    with pytest.raises(BudgetExceededError):
        learner(**paid).fit(X, Y)


def test_a_target_outside_its_range_is_clipped_where_the_learner_says_so():
    wild = np.where(np.arange(len(Y)) < 3, 1e6, Y)
    with pytest.raises(DomainError, match="outside target_range"):
        learner().fit(X, wild)
    clipped = learner(clip_target=True).fit(X, wild)
    assert (
        "targets are numbers; they are clipped to the range from 0.0 to 400.0" in clipped.guarantee_.assumes
    )
    assert np.array_equal(clipped.coef_, learner(clip_target=True).fit(X, wild.clip(0, 400)).coef_)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"target_range": None}, ValueError, r"target_range must be a pair \(low, high\) of public bounds"),
        ({"target_range": (1, 0)}, ValueError, "target_range must be"),
        ({"clip_target": 1}, TypeError, "clip_target must be"),
        ({"epsilon": 0}, ValueError, "epsilon must be"),
        ({"delta": 1.0}, ValueError, "delta"),
        ({"domain": "floats"}, TypeError, "domain must be"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        learner(**parameters).fit(X, Y)


def test_the_plan_matches_the_fit():
    for settings in ({}, {"delta": 0.0}, {"domain": COLUMNS}):
        model = learner(epsilon=3.0, **settings)
        plan = model.plan(len(X), n_features=10)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, Y)
        assert [str(each.message) for each in caught] == list(plan.warnings)
        assert plan.noise == model.noise_
        assert plan.guarantee == model.guarantee_
        assert 0 < plan.deviation < plan.tolerance
    with pytest.raises(ValueError, match="n_features must be given"):
        learner().plan(100)
    assert learner(domain=[Bits(), Categories(["a", "b"])]).plan(100).n_moments == 15


@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}], ids=str)
def test_the_noise_of_products_with_the_target_is_as_planned(settings, monkeypatch):
    from dplearn.learners import linear_regression

    seen = []
    right = linear_regression.LinearModel.of

    def watched(moments, variance, basis, unit):
        seen.append(moments[:-1, -1] / unit)
        return right(moments, variance, basis, unit)

    monkeypatch.setattr(linear_regression.LinearModel, "of", watched)
    table, target = made(500, d=3)
    for seed in range(60):
        learner(epsilon=2.0, target_range=(-1, 1), random_state=seed, **settings).fit(table, target)
    plan = learner(epsilon=2.0, target_range=(-1, 1), **settings).plan(500, n_features=3, beta=0.2)
    errors = np.array(seen) - np.mean(seen, axis=0)
    assert np.mean(np.abs(errors).max(axis=1) > plan.tolerance) < 0.2
    assert errors.std() < 1.1 * plan.deviation
    assert errors.std() > 0.9 * plan.deviation


@pytest.mark.parametrize("value", [0.0, 1e300])
def test_the_warning_is_the_same_for_all_records(value):
    few = learner(epsilon=0.01, delta=0.0)
    with pytest.warns(UserWarning, match="n_samples is 50: noise is larger") as caught:
        few.fit(np.full((50, 4), value), np.zeros(50))
    undeclared, message = [str(each.message) for each in caught]
    assert undeclared.startswith("domain is None: numbers are read as they are")
    assert "a delta such as 1e-6" in message
    assert few.plan(50, n_features=4).noise_to_signal > 1


def test_the_guarantee_says_what_is_assumed(fitted):
    assert "targets are numbers from 0.0 to 400.0" in fitted.guarantee_.assumes
    assert "in every column, values are finite numbers" in learner().fit(X, Y).guarantee_.assumes
    assert learner(domain=Floats()).fit(X, Y).design_ is not None


def test_it_goes_with_pipelines_searches_and_pickles(fitted):
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(), learner()), {"linearregressor__delta": [0.0, 1e-6]}, cv=2
    ).fit(X, Y)
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(copy.predict(X), search.predict(X))
    assert np.array_equal(clone(fitted).fit(X, Y).coef_, fitted.coef_)


def test_a_fitted_model_contains_no_records(fitted):
    arrays = [value for value in vars(fitted).values() if isinstance(value, np.ndarray)]
    assert max(array.size for array in arrays) == 121
