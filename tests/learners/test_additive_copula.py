"""The released joint distribution of cells."""

import numpy as np
import pytest

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.chance import SeededDice
from dplearn.domains import Grid
from dplearn.learners.additive.start import Shape, _normal_scores, ask_correlations
from dplearn.queries import CentralOracle, LabelledRows
from dplearn.queries.oracle import PopulationOracle


def test_normal_scores_are_standardised_and_in_order():
    mass = np.array([0.1, 0.2, 0.3, 0.4])
    scores = _normal_scores(mass, np.array([3, 1, 0, 2]))
    assert mass @ scores == pytest.approx(0)
    assert mass @ scores**2 == pytest.approx(1)
    assert (np.diff(scores[[3, 1, 0, 2]]) > 0).all()
    assert np.isfinite(_normal_scores(np.array([1.0, 1e-300]), np.arange(2))).all()
    assert _normal_scores(np.ones(1), np.arange(1)).tolist() == [0.0]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_released_correlations_are_those_of_the_columns(correlation):
    """Records that are far out in all columns are shortened; without a mend, .9 is released as .48."""
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=(20_000, 1)), rng.normal(size=(20_000, 8))
    X = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    plan = AdditiveClassifier(domain=Grid(-4, 4, 1025), classes=[0, 1]).plan(20_000, n_features=8)
    codes = (128 * (X.clip(-4, 4) + 4)).astype(np.uint64)
    cells = np.stack([plan.columns[0].of(each) for each in codes.T], axis=1)
    size = plan.columns[0].size
    masses = [np.bincount(each, minlength=size) / 20_000 for each in cells.T]
    shapes = [Shape(np.linspace(-1, 1, size)[:, None], np.eye(size))] * 8
    oracle = PopulationOracle(LabelledRows(cells, np.zeros(20_000, dtype=np.int64)))
    found = ask_correlations(oracle, plan, masses, shapes).correlations
    others = found[~np.eye(8, dtype=bool)]
    assert others.max() < correlation + 0.03
    assert others.min() > correlation - 0.12  # shortened records are nearer to a sphere


@pytest.mark.parametrize(("d", "n", "epsilon", "most"), [(5, 3000, 1.0, 0.2), (100, 3000, 3.0, 0.25)])
def test_noise_hides_no_factor_of_columns_with_small_effects(d, n, epsilon, most):
    """Of a regression, whose steps would diverge, or show interactions, if correlations were wrong."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, 1)) + rng.normal(size=(n, d)) / 2) / np.sqrt(1.25)
    plan = AdditiveRegressor(domain=Grid(-4, 4, 1025), target_range=(-1, 1), epsilon=epsilon)
    plan = plan.plan(n, n_features=d)
    codes = (128 * (X.clip(-4, 4) + 4)).astype(np.uint64)
    cells = np.stack([plan.columns[0].of(each) for each in codes.T], axis=1)
    size = plan.columns[0].size
    masses = [np.bincount(each, minlength=size) / n for each in cells.T]
    effects = np.linspace(-1, 1, size)[:, None]
    shapes = [Shape(effects, np.eye(size)), *[Shape(effects / 100, np.eye(size))] * (d - 1)]
    for seed in range(3):
        examples = LabelledRows(cells, np.zeros(n, dtype=np.int64))
        oracle = CentralOracle(examples, privacy=plan.guarantee, dice=SeededDice(seed))
        found = ask_correlations(oracle, plan, masses, shapes).correlations
        errors = (found - 0.8)[~np.eye(d, dtype=bool)]
        assert np.sqrt(np.mean(errors**2)) < most
