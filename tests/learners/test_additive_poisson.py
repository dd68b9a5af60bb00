"""Poisson regression of counts by an additive model."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance

from dplearn import AdditiveRegressor, PrivacyLedger
from dplearn.domains import Categories, Grid, IntegerRange
from dplearn.learners.additive.losses import MARGIN_BITS, RESIDUAL_BITS
from dplearn.learners.additive.poisson import PoissonLoss
from dplearn.queries import Answer
from dplearn.queries.answer import TailBound
from dplearn.table.targets import STEPS

MODEL = AdditiveRegressor(
    loss="poisson",
    domain=Grid(-2, 2, 401),
    target_range=(0, 60),
    clip_target=True,
    epsilon=3.0,
    random_state=0,
)


def counts(n=6000, level=1.0, seed=0):
    """Return columns, and counts whose logarithms have straight effects."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3)).round(2)
    return X, rng.poisson(np.exp(level + 0.5 * X[:, 0] - 0.4 * X[:, 1]))


@pytest.mark.parametrize(("level", "high"), [(-0.7, 12), (1.0, 40), (3.0, 250)])
def test_deviances_are_near_those_of_a_poisson_model_at_large_epsilon(level, high):
    (X, y), (others, seen) = counts(10_000, level), counts(10_000, level, 1)
    model = clone(MODEL).set_params(epsilon=100.0, target_range=(0, high), interactions=False).fit(X, y)
    predicted = model.predict(others)
    assert predicted.min() >= 0
    exact = mean_poisson_deviance(seen, PoissonRegressor(alpha=0).fit(X, y).predict(others))
    found = mean_poisson_deviance(seen, predicted.clip(1e-9))
    assert found < 1.06 * exact
    assert predicted.mean() == pytest.approx(seen.mean(), rel=0.04)


def test_a_fit_of_the_default_epsilon_is_better_than_the_mean_and_than_the_squared_loss():
    (X, y), (others, seen) = counts(), counts(6000, seed=1)
    model = clone(MODEL).set_params(epsilon=1.0)
    found = mean_poisson_deviance(seen, model.fit(X, y).predict(others))
    assert found < 0.5 * mean_poisson_deviance(seen, np.full(len(seen), y.mean()))
    squared = clone(model).set_params(loss="squared").fit(X, y).predict(others)
    assert found < mean_poisson_deviance(seen, squared.clip(1e-3))


def test_a_prediction_is_the_exponential_of_the_intercept_and_the_effects():
    X, y = counts()
    model = clone(MODEL).set_params(interactions=False).fit(X, y)
    sums = model.intercept_ + model.effects(X).sum(axis=1)
    assert model.predict(X) == pytest.approx(np.exp(sums).clip(0, 60))
    assert model.residual_std_ == pytest.approx(np.std(y - model.predict(X)), rel=0.3)
    assert model.target_range_ == (0, 60)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("settings", [{}, {"delta": 0}, {"neighbors": "add_remove"}])
def test_the_plan_is_that_of_the_squared_loss_and_its_guarantee_is_charged(settings):
    X, y = counts(2000)
    ledger = PrivacyLedger(
        10, 1e-4, allow_reproducible=True, neighbors=settings.get("neighbors", "replace_one")
    )
    model = clone(MODEL).set_params(ledger=ledger, **settings).fit(X, y)
    assert ledger.spent().epsilon == model.guarantee_.epsilon == 3
    plans = [
        clone(MODEL).set_params(loss=loss, **settings).plan(2000, n_features=3)
        for loss in ("poisson", "squared")
    ]
    assert plans[0].guarantee == plans[1].guarantee
    assert plans[0].shares == plans[1].shares
    assert sum(plans[0].shares) + plans[0].shares.spread == 1
    assert plans[0].n_needed == plans[1].n_needed


def test_a_learned_schema_parts_and_groups_work_as_for_the_squared_loss():
    X, y = counts(6000)
    base = mean_poisson_deviance(y, np.full(len(y), y.mean()))
    for settings, given in (
        ({"domain": "learn"}, {}),
        ({"domain": "learn", "target_range": "learn"}, {}),
        ({}, {"groups": np.arange(6000)}),
    ):
        model = clone(MODEL).set_params(**settings).fit(X, y, **given)
        assert model.target_range_[0] == 0
        assert mean_poisson_deviance(y, model.predict(X).clip(1e-9)) < 0.6 * base
    parts = clone(MODEL).fit((X[:2500], X[2500:]), (y[:2500], y[2500:]))
    whole = clone(MODEL).fit(X, y)
    assert parts.predict(X) == pytest.approx(whole.predict(X))


@pytest.mark.parametrize("bounds", [(-1, 9), (2, 9), (-9, -1)])
def test_a_range_that_does_not_start_at_0_is_refused_unless_targets_are_clipped(bounds):
    model = clone(MODEL).set_params(target_range=bounds, clip_target=False)
    with pytest.raises(ValueError, match=r"target_range must be a pair \(0, high\) for loss='poisson'"):
        model.plan(100, n_features=3)
    assert model.set_params(clip_target=True).plan(100, n_features=3).target.low == 0


@pytest.mark.parametrize("loss", ["absolute_error", None, 3, ["poisson"]])
def test_other_losses_are_refused(loss):
    with pytest.raises(ValueError, match="loss must be 'squared' or 'poisson', got"):
        clone(MODEL).set_params(loss=loss).plan(100, n_features=3)


def test_a_model_of_counts_has_no_intervals_and_says_why():
    model = clone(MODEL).fit(*counts(500))
    with pytest.raises(ValueError, match="prediction intervals need a fit with loss='squared'"):
        model.predict_interval([[0.0, 0.0, 0.0]])


def test_residuals_are_clipped_whole_numbers_each_of_its_own_record():
    rng = np.random.default_rng(0)
    loss = PoissonLoss(mean=STEPS // 10, scale=STEPS // 3)
    margins = np.rint(rng.normal(0, 2, (3000, 1)) * 2**MARGIN_BITS).astype(np.int64)
    margins[:4, 0] = [-(1 << 62), 1 << 62, -(1 << 31), 1 << 31]
    y = rng.integers(-STEPS, STEPS + 1, 3000)
    found = loss.residuals(margins, y)
    assert found.dtype == np.int64
    assert np.abs(found).max() <= loss.reach == 1 << RESIDUAL_BITS
    expected = (y + STEPS) / (STEPS // 3) - 0.3 * np.exp((margins[:, 0] / 2**MARGIN_BITS).clip(-16, 16))
    assert found[:, 0] / 2**RESIDUAL_BITS == pytest.approx(expected.clip(-1, 1), abs=0.02)
    alone = [loss.residuals(margins[place : place + 1], y[place : place + 1])[0, 0] for place in range(40)]
    assert found[:40, 0].tolist() == alone
    assert (loss.targets(y) == loss.residuals(np.zeros((3000, 1), np.int64), y)).all()


@pytest.mark.parametrize("means", [(0.0, 0.0), (-5.0, 9.0), (1e30, -1e30), (-1.0, 1.0)])
@pytest.mark.parametrize("deviation", [0.0, 1e-3, 1e20])
def test_the_base_of_any_answer_is_finite(means, deviation):
    noise = TailBound(root=deviation * np.sqrt(2))
    base = PoissonLoss().base([Answer(np.array(means), 100, noise, TailBound())])
    narrow, wider = base.loss.narrowed(base, 0.0, 0.0)
    for each in (base, narrow):
        assert 0 < each.curvature[0] < np.inf
        assert 0 < each.loss.scale <= 2 * STEPS
        assert 0 < each.loss.mean <= 2 * STEPS
    assert wider == 1


def test_small_and_constant_tables_have_finite_predictions():
    X = np.array([["a", 1], ["b", 2], ["a", 3]], dtype=object)
    for y in ([0, 0, 0], [60, 60, 60], [0, 1, 60]):
        for delta in (0, 1e-6):
            model = clone(MODEL).set_params(domain=[Categories(["a", "b"]), IntegerRange(0, 9)], delta=delta)
            with pytest.warns(UserWarning, match="noise is larger"):
                predicted = model.fit(X, y).predict(X)
            assert np.isfinite(predicted).all()


def test_predictions_are_of_the_loss_of_the_fit():
    X, y = np.arange(400)[:, None] % 5, np.arange(400) % 5
    learner = AdditiveRegressor(
        epsilon=100, loss="poisson", target_range=(0, 10), domain=Grid(0, 4), random_state=0
    )
    for ask in (learner.predict, learner.predict_interval):
        with pytest.raises(NotFittedError):
            ask(X)
    predicted = learner.fit(X, y).predict(X)
    assert (learner.set_params(loss="squared").predict(X) == predicted).all()
    with pytest.raises(ValueError, match="prediction intervals"):
        learner.predict_interval(X)
