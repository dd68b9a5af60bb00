from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import PublicStream, SeededDice
from dplearn.estimator.stages import Params
from dplearn.learners.logistic_plan import STEPS, logistic_layout
from dplearn.learners.logistic_queries import Mapped, label_parts, products_query
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, Examples, LocalOracle


def layout(n, d, k, *, epsilon=1, delta=0, trust_model="central", n_steps=None):
    settings = {"trust_model": trust_model, "n_steps": n_steps, "finest": 10, "levels": 9}
    return logistic_layout(Params(ApproxDP(epsilon, delta), **settings), n, d, k)


def planned(laid_out, beta):
    return laid_out.plan(laid_out.cost, beta, design=None, public=None)


@pytest.mark.parametrize(
    ("settings", "n", "steps", "second_moments"),
    [
        ({"delta": "1e-6"}, 30_000, STEPS[2], True),
        ({"delta": "1e-6"}, 1_500, 1, True),
        ({"delta": "1e-6"}, 100, 1, False),
        ({}, 100_000, STEPS[1], True),
        ({}, 10_000, 1, False),
        ({"trust_model": "local"}, 10**9, STEPS[2], True),
        ({"trust_model": "local"}, 10**4, 1, False),
        ({"trust_model": "local", "epsilon": 1000, "delta": 0}, 40, 1, False),
        ({"n_steps": 5}, 100, 5, True),
    ],
)
def test_more_steps_are_taken_where_the_noise_allows(settings, n, steps, second_moments):
    task = layout(n, 64, 5, **settings).task
    assert (task.n_steps, task.second_moments) == (steps, second_moments)


def test_rows_are_on_the_finest_grid_whose_noise_can_be_drawn():
    fine = layout(10_000, 20, 2, delta="1e-6")
    coarse = layout(10_000, 20, 2, epsilon="0.001", delta="1e-6")
    assert fine.task.bits == 10 > coarse.task.bits >= 3
    assert layout(10_000, 20, 2, epsilon="1e-9").task.bits == 10
    with pytest.raises(ValueError, match="epsilon must be large enough"):
        layout(10_000, 20, 2, epsilon="1e-12", delta="1e-12")


@pytest.mark.parametrize("settings", [{"delta": "1e-6"}, {}, {"trust_model": "local"}])
def test_the_deviation_is_that_of_answers(settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 30)), np.zeros(4000, dtype=int)
    y[::2] = 1
    laid_out = layout(4000, 30, 2, **settings)
    records = Examples(laid_out.task.rows(X), y)
    if laid_out.kind == "local":
        oracle = LocalOracle(records, privacy=laid_out.cost, dice=SeededDice(0), stream=PublicStream(0))
    else:
        oracle = CentralOracle(records, privacy=laid_out.cost, dice=SeededDice(0))
    query = products_query(laid_out.task, Mapped(laid_out.task, np.eye(31)), label_parts(laid_out.task))
    share = laid_out.task.shares[1]
    exact = query.total(records) / 4000 * float(query.unit)
    off = oracle.ask(query, share)[0].means - exact
    assert 0.7 < np.sqrt((off**2).mean()) / laid_out.deviation(query, share) < 1.4


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class"):
        layout(10, 3, 1)
    with pytest.raises(ValueError, match="n_samples=4"):
        layout(4, 3, 2, trust_model="local")
    with pytest.raises(ValueError, match="at least 55, got n_samples=45"):
        layout(45, 3, 2, trust_model="local", n_steps=24)
    with pytest.raises(ValueError, match="at most 8192"):
        layout(10**6, 1000, 9, trust_model="local")
    with pytest.raises(ValueError, match="n_steps must be 1"):
        layout(10**6, 200, 2, trust_model="local", n_steps=2)
    with pytest.raises(ValueError, match=r"fewer than 4096 columns .* declare fewer buckets, .* or take"):
        layout(10, 5000, 2)


def test_the_tolerance_of_reports_is_that_of_the_oracle_with_the_bias_of_clipped_coordinates():
    laid_out = layout(4000, 30, 2, epsilon=2, trust_model="local")
    query, share = laid_out.task.queries()[1]
    noise, _ = query.randomizer(laid_out.cost.epsilon, "bit", int(4000 * share)).bounds(int(4000 * share))
    plan = planned(laid_out, Fraction(1, 20))
    assert noise.bias > 0
    assert plan.tolerance == pytest.approx(noise.at(Fraction(1, 20)) * float(query.unit))
    assert plan.tolerance > plan.deviation * np.sqrt(2 * np.log(40 * query.size)) * 1.01


def test_the_tolerance_holds_as_often_as_it_says():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(500, 3)), rng.integers(3, size=500)
    for settings in ({"delta": "1e-6"}, {}):
        laid_out = layout(500, 3, 3, **settings)
        plan = planned(laid_out, Fraction(1, 4))
        query = products_query(laid_out.task, Mapped(laid_out.task, np.eye(4)), label_parts(laid_out.task))
        records = Examples(laid_out.task.rows(X), y)
        exact = query.total(records) / 500 * float(query.unit)
        off = []
        for seed in range(60):
            oracle = CentralOracle(records, privacy=laid_out.cost, dice=SeededDice(seed))
            off.append(np.abs(oracle.ask(query, laid_out.task.shares[1])[0].means - exact).max())
        assert (
            sum(np.array(off) > plan.tolerance) <= 24
        )  # 15 are expected at most; 24 is three deviations more
        assert max(off) > plan.tolerance / 3
