"""First shapes of additive models: masses and posteriors of released sums, for whatever is released."""

from types import SimpleNamespace

import numpy as np
import pytest

from dplearn import AdditiveClassifier
from dplearn.chance import PublicStream, SeededDice
from dplearn.domains import Categories, IntegerRange
from dplearn.learners.additive.cells import column_of, kernel
from dplearn.learners.additive.start import (
    _centred_rows,
    _kernels,
    _posterior,
    _usual_factors,
    ask_masses,
    ask_shapes,
    synthetic_cells,
)
from dplearn.queries import LabelledRows
from dplearn.queries.oracle import oracle_for

DOMAIN = [IntegerRange(0, 9), Categories(["a", "b", "c"])]


def planned(n, **parameters):
    model = AdditiveClassifier(classes=[0, 1], domain=DOMAIN, random_state=0, **parameters)
    return model.plan(n)


def cells(n):
    rng = np.random.default_rng(0)
    X = np.stack([rng.binomial(9, 0.3, n), rng.choice(3, n, p=[0.7, 0.2, 0.1])], axis=1)
    return LabelledRows(X.astype(np.int16), rng.integers(0, 2, n))


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_masses_are_nearly_the_shares_of_records(delta):
    plan, records = planned(5000, epsilon=1e4, delta=delta), cells(5000)
    oracle = oracle_for(
        plan.noise, records, privacy=plan.guarantee, dice=SeededDice(0), stream=PublicStream(0)
    )
    masses, variance = ask_masses(oracle, plan)
    assert variance > 0
    for mass, column in zip(masses, records.X.T, strict=True):
        assert mass.sum() == pytest.approx(1)
        assert mass.min() >= 0
        shares = np.bincount(column, minlength=len(mass)) / 5000
        assert np.abs(np.cumsum(mass) - np.cumsum(shares)).max() < 0.03
    assert oracle.left == 1 - plan.shares.masses


def test_centred_rows_are_short_and_their_usual_factors_near_1():
    plan, records = planned(5000, epsilon=1.0), cells(5000)
    masses = [np.bincount(column, minlength=k) / 5000 for column, k in zip(records.X.T, (10, 3), strict=True)]
    rows = _centred_rows(plan, masses)
    for table, mass in zip(rows.tables, masses, strict=True):
        assert mass @ table * rows.unit == pytest.approx(0, abs=0.01)
    assert rows.reach == 1 << plan.bits.rows
    factors = rows.block(records).weights / 1024
    for place, usual in enumerate(_usual_factors(rows, masses)):
        assert ((usual > 0) & (usual <= 1)).all()
        seen = [factors[records.X[:, place] == cell].mean() for cell in range(3)]
        assert usual[:3] == pytest.approx(seen, abs=0.08)


def test_rows_of_laplace_noise_have_the_norm_of_the_columns():
    plan = planned(5000, epsilon=1.0, delta=0.0)
    rows = _centred_rows(plan, [np.full(10, 0.1), np.full(3, 1 / 3)])
    assert (rows.order, rows.reach, rows.constant) == (1, 2, 0)
    assert (rows.block(cells(50)).weights == 1024).all()


@pytest.mark.parametrize("variance", [0.0, 1e-6, 1.0, 1e40])
@pytest.mark.parametrize("n", [1, 10_000])
def test_the_posterior_of_any_sums_is_finite(variance, n):
    column = column_of(IntegerRange(0, 9))
    base = SimpleNamespace(variance=np.array([0.25]), curvature=np.array([0.25]), unit=1.0)
    for sums in (np.zeros((10, 1)), np.full((10, 1), 1e6)):
        for mass in (np.full(10, 0.1), np.eye(10)[0] + 1e-12):
            noise = np.full(1, variance)
            shape = _posterior(np.eye(10), mass, sums, _kernels(column, 5), base, noise, n)
            assert np.isfinite(shape.effects).all()
            assert np.isfinite(shape.covariance).all()
            least = np.linalg.eigvalsh(shape.covariance).min()
            assert least > -1e-6 * max(1, np.abs(shape.covariance).max())


def test_the_posterior_recovers_effects_without_noise_and_is_0_with_noise_alone():
    column, effects = column_of(IntegerRange(0, 9)), np.linspace(-1, 1, 10)
    base = SimpleNamespace(variance=np.array([0.25]), curvature=np.array([0.25]), unit=1.0)
    mass = np.full(10, 0.1)
    sums = (0.25 * mass * effects)[:, None]
    exact = _posterior(np.eye(10), mass, sums, _kernels(column, 2), base, np.full(1, 1e-10), 10**8)
    assert exact.effects[:, 0] == pytest.approx(effects, abs=0.02)
    noise = np.random.default_rng(0).normal(0, 1, (10, 1))
    nothing = _posterior(np.eye(10), mass, noise, _kernels(column, 2), base, np.ones(1), 10**8)
    assert np.abs(nothing.effects).max() < 0.3


def test_a_column_without_effect_states_that_one_may_be_there():
    base = SimpleNamespace(variance=np.array([0.25]), curvature=np.array([0.25]), unit=1.0)
    mass = np.array([0.5, 0.5, 0.0])
    shape = _posterior(np.eye(3), mass, np.zeros((3, 1)), [np.eye(3)], base, np.full(1, 1e-4), 10_000)
    assert not shape.effects.any()
    assert shape.covariance[2, 2] >= 0.01  # the least amplitude
    assert (np.diag(shape.covariance)[:2] < 0.2 * shape.covariance[2, 2]).all()


def test_noise_in_masses_is_no_effect_of_a_cell_without_records():
    """Masses of unused categories that are too large: their sums are not those of the mean target."""
    domain = [Categories([*"ab", *map(str, range(20))])]
    plan = AdditiveClassifier(classes=[0, 1], domain=domain, random_state=0).plan(20_000)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (20_000, 1)).astype(np.int16)
    y = (rng.random(20_000) < np.where(X[:, 0] == 0, 0.01, 0.05)).astype(int)
    for seed in range(5):
        oracle = oracle_for(
            plan.noise,
            LabelledRows(X, y),
            privacy=plan.guarantee,
            dice=SeededDice(seed),
            stream=PublicStream(0),
        )
        base = plan.loss.ask_base(oracle, plan.shares.target)
        masses, variance = ask_masses(oracle, plan)
        assert (masses[0][2:] > 0).any()
        ((shape,),) = ask_shapes(oracle, plan, base, masses, variance)
        scale = np.sqrt(np.diag(shape.covariance))[2:]
        assert (np.abs(shape.effects[2:, 0]) < 2.5 * scale).all()


def test_a_column_without_order_has_one_kernel():
    assert len(_kernels(column_of(Categories(["a", "b", "c"])), 5)) == 1
    assert len(_kernels(column_of(IntegerRange(0, 9)), 3)) == 4
    assert _kernels(column_of(IntegerRange(0, 9)), 3)[2] is kernel(column_of(IntegerRange(0, 9)), 2)


def test_synthetic_records_have_the_given_masses_and_correlations():
    masses = [np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.9])]
    orders = [np.array([2, 0, 1]), np.arange(2)]
    found = synthetic_cells(masses, orders, np.array([[1.0, 0.8], [0.8, 1.0]]), 20_000)
    assert np.bincount(found[:, 0]) / 20_000 == pytest.approx(masses[0], abs=0.02)
    assert np.bincount(found[:, 1]) / 20_000 == pytest.approx(masses[1], abs=0.02)
    places = np.argsort(orders[0])[found[:, 0]]
    assert np.corrcoef(places, found[:, 1])[0, 1] > 0.3
    again = synthetic_cells(masses, orders, np.eye(2), 20_000)
    assert abs(np.corrcoef(np.argsort(orders[0])[again[:, 0]], again[:, 1])[0, 1]) < 0.03
