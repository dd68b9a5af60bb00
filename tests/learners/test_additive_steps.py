"""The steps of additive models: joint effects of correlated columns, from the answers of an oracle alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.chance import PublicStream, SeededDice
from dplearn.domains import Categories, IntegerRange
from dplearn.learners import additive_steps
from dplearn.learners.additive_losses import MARGIN_BITS, SquaredLoss
from dplearn.learners.additive_margins import margins_of
from dplearn.learners.additive_model import summed
from dplearn.learners.additive_queries import Rows
from dplearn.learners.additive_steps import _ask_spread, learn_additive
from dplearn.queries import CentralOracle, Examples
from dplearn.queries.factories import oracle_for
from dplearn.records.targets import STEPS

AGES = IntegerRange(0, 20)
SETTINGS = [{}, {"delta": 0.0}, {"trust_model": "local"}]


def table(n=4000, d=2, seed=0):
    """Equal columns but for one record in ten."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(0, 21, n)
    X = np.stack([np.where(rng.random(n) < 0.1, rng.integers(0, 21, n), ages) for _ in range(d)], axis=1)
    return X.astype(np.int16), rng


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("numbers", [False, True])
def test_all_of_the_budget_is_spent_in_the_planned_queries(settings, numbers):
    X, rng = table(400)
    if numbers:
        model = AdditiveRegressor(domain=AGES, target_range=(-1, 1), **settings)
        plan, y = model.plan(400, n_features=2), rng.integers(-STEPS, STEPS, 400)
    else:
        plan = AdditiveClassifier(domain=AGES, classes=[0, 1], **settings).plan(400, n_features=2)
        y = rng.integers(0, 2, 400)
    oracle = oracle_for(
        plan.noise, Examples(X, y), privacy=plan.guarantee, dice=SeededDice(0), stream=PublicStream(0)
    )
    (model,) = learn_additive(oracle, plan)
    assert oracle.left == 0
    assert len(oracle.rounds) == plan.n_queries
    assert [effects.shape for effects in model.effects] == [(21, 1)] * 2
    assert all(
        np.abs(mass @ effects).max() < 1e-6 * max(1, np.abs(effects).max())
        for mass, effects in zip(model.masses, model.effects, strict=True)
    )


def test_effects_of_correlated_columns_are_not_counted_twice():
    X, rng = table(8000, d=3)
    target = (X[:, 0] - 10) / 20
    y = np.clip(target + 0.05 * rng.normal(size=8000), -1, 1)
    model = AdditiveRegressor(domain=AGES, target_range=(-1, 1), epsilon=1e4, random_state=0).fit(X, y)
    slopes = [np.polyfit(np.arange(21), shape.effects, 1)[0] for shape in model.shapes_]
    assert sum(slopes) == pytest.approx(1 / 20, rel=0.15)
    assert slopes[0] > max(slopes[1:])
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("bins", [2, 24])
def test_the_spread_is_that_of_residuals(bins):
    plan = AdditiveRegressor(domain=[Categories(["a"])], target_range=(-1, 1), epsilon=1e4).plan(5000)
    rng = np.random.default_rng(0)
    y = np.rint(rng.uniform(-0.5, 0.5, 5000) * STEPS).astype(np.int64)
    oracle = CentralOracle(
        Examples(np.zeros((5000, 1), np.int16), y), privacy=plan.guarantee, dice=SeededDice(0)
    )
    object.__setattr__(plan, "n_bins", bins)
    base = SimpleNamespace(loss=SquaredLoss())
    found = _ask_spread(oracle, plan, base, margins_of([np.zeros((1, 1))], np.zeros(1)))
    if bins == 24:
        assert found == pytest.approx(0.5 / np.sqrt(3), rel=0.1)
    assert 0 < found <= 1


def test_the_last_spread_is_that_of_all_margins(monkeypatch):
    """Of effects, and of interactions in the whole numbers that private records have."""
    X, rng = table(1000)
    X[:, 1] = rng.integers(0, 21, 1000)
    y = np.rint((X[:, 0] - 8.0) * (X[:, 1] - 4.0) / 200 * STEPS).astype(np.int64)
    plan = AdditiveRegressor(domain=AGES, target_range=(-1, 1), epsilon=30.0).plan(1000, n_features=2)
    asked = []
    monkeypatch.setattr(
        additive_steps, "_ask_spread", lambda *given: asked.append(given) or _ask_spread(*given)
    )
    records = Examples(X, y)
    oracle = CentralOracle(records, privacy=plan.guarantee, dice=SeededDice(0))
    (model,) = learn_additive(oracle, plan)
    margins, features = asked[-1][3:]
    found = margins(Rows([], 0, 1, 1.0, joint=features).block(records)) / 2**MARGIN_BITS
    expected = summed(model.intercept, model.effects, X) + model.joint.margins(X)
    assert found == pytest.approx(expected, abs=0.005)
    assert np.abs(model.joint.effects[0]).max() > 0.02
    assert len(asked) == 2
