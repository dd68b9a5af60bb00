from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.estimator.public import Public
from dplearn.learners.logistic_noise import MOST_COLUMNS, STEPS, deviation_of, logistic_plan
from dplearn.learners.logistic_queries import Mapped, label_parts, products_query
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, Examples


def planned(n, d, k, *, epsilon=1, delta=0, n_steps=None, beta="1/20"):
    settings = {
        "n_steps": n_steps,
        "class_weight": None,
        "finest": 10,
        "levels": 9,
        "most_columns": MOST_COLUMNS,
    }
    return logistic_plan(
        SimpleNamespace(cost=ApproxDP(epsilon, delta), **settings), Public(n, d, k), beta=Fraction(beta)
    )


@pytest.mark.parametrize(
    ("settings", "n", "steps", "second_moments"),
    [
        ({"delta": "1e-6"}, 30_000, STEPS[2], True),
        ({"delta": "1e-6"}, 1_500, 1, True),
        ({"delta": "1e-6"}, 100, 1, False),
        ({}, 100_000, STEPS[1], True),
        ({}, 10_000, 1, False),
        ({"n_steps": 5}, 100, 5, True),
    ],
)
def test_more_steps_are_taken_where_the_noise_allows(settings, n, steps, second_moments):
    plan = planned(n, 64, 5, **settings)
    assert (plan.n_steps, plan.second_moments) == (steps, second_moments)


def test_rows_are_on_the_finest_grid_whose_noise_can_be_drawn():
    fine = planned(10_000, 20, 2, delta="1e-6")
    coarse = planned(10_000, 20, 2, epsilon="0.001", delta="1e-6")
    assert fine.bits == 10 > coarse.bits >= 3
    assert planned(10_000, 20, 2, epsilon="1e-9").bits == 10
    with pytest.raises(ValueError, match="epsilon must be large enough"):
        planned(10_000, 20, 2, epsilon="1e-12", delta="1e-12")


@pytest.mark.parametrize("settings", [{"delta": "1e-6"}, {}])
def test_the_deviation_is_that_of_answers(settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 30)), np.zeros(4000, dtype=int)
    y[::2] = 1
    plan = planned(4000, 30, 2, **settings)
    records = Examples(plan.rows(X), y)
    oracle = CentralOracle(records, privacy=plan.guarantee, dice=SeededDice(0))
    query = products_query(plan, Mapped(plan, np.eye(31)), label_parts(plan))
    share = plan.shares[1]
    exact = query.total(records) / 4000 * float(query.unit)
    off = oracle.ask(query, share)[0].means - exact
    assert 0.7 < np.sqrt((off**2).mean()) / deviation_of(plan, query, share) < 1.4


def test_a_single_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class"):
        planned(10, 3, 1)


def test_the_tolerance_holds_as_often_as_it_says():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(500, 3)), rng.integers(3, size=500)
    for settings in ({"delta": "1e-6"}, {}):
        plan = planned(500, 3, 3, beta="1/4", **settings)
        query = products_query(plan, Mapped(plan, np.eye(4)), label_parts(plan))
        records = Examples(plan.rows(X), y)
        exact = query.total(records) / 500 * float(query.unit)
        off = []
        for seed in range(60):
            oracle = CentralOracle(records, privacy=plan.guarantee, dice=SeededDice(seed))
            off.append(np.abs(oracle.ask(query, plan.shares[1])[0].means - exact).max())
        assert (
            sum(np.array(off) > plan.tolerance) <= 24
        )  # 15 are expected at most; 24 is three deviations more
        assert max(off) > plan.tolerance / 3
