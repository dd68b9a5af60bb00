from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import PublicStream, SeededDice
from dplearn.learners.logistic_queries import Mapped, label_parts, products_query
from dplearn.learners.logistic_terms import STEPS, LogisticTerms
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, Examples, LocalOracle


def terms(epsilon=1, delta=0, model="central", n_steps=None):
    return LogisticTerms(ApproxDP(epsilon, delta), model, None, n_steps, None, 10)


@pytest.mark.parametrize(
    ("settings", "n", "steps", "second_moments"),
    [
        ({"delta": "1e-6"}, 30_000, STEPS[2], True),
        ({"delta": "1e-6"}, 1_500, 1, True),
        ({"delta": "1e-6"}, 100, 1, False),
        ({}, 100_000, STEPS[1], True),
        ({}, 10_000, 1, False),
        ({"model": "local"}, 10**9, STEPS[2], True),
        ({"model": "local"}, 10**4, 1, False),
        ({"model": "local", "epsilon": 1000, "delta": 0}, 40, 1, False),
        ({"n_steps": 5}, 100, 5, True),
    ],
)
def test_more_steps_are_taken_where_the_noise_allows(settings, n, steps, second_moments):
    task = terms(**settings).layout(n, 64, 5).task
    assert (task.n_steps, task.second_moments) == (steps, second_moments)


def test_rows_are_on_the_finest_grid_whose_noise_can_be_drawn():
    fine = terms(1, "1e-6").layout(10_000, 20, 2)
    coarse = terms("0.001", "1e-6").layout(10_000, 20, 2)
    assert fine.task.bits == 10 > coarse.task.bits >= 3
    assert terms("1e-9").layout(10_000, 20, 2).task.bits == 10
    with pytest.raises(ValueError, match="epsilon must be large enough"):
        terms("1e-12", "1e-12").layout(10_000, 20, 2)


@pytest.mark.parametrize("settings", [{"delta": "1e-6"}, {}, {"model": "local"}])
def test_the_deviation_is_that_of_answers(settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 30)), np.zeros(4000, dtype=int)
    y[::2] = 1
    layout = terms(**settings).layout(4000, 30, 2)
    records = Examples(layout.task.rows(X), y)
    if layout.kind == "local":
        oracle = LocalOracle(records, privacy=layout.price, dice=SeededDice(0), stream=PublicStream(0))
    else:
        oracle = CentralOracle(records, privacy=layout.price, dice=SeededDice(0))
    query = products_query(layout.task, Mapped(layout.task, np.eye(31)), label_parts(layout.task))
    share = layout.task.shares[1]
    exact = query.total(records) / 4000 * float(query.unit)
    off = oracle.ask(query, share)[0].means - exact
    assert 0.7 < np.sqrt((off**2).mean()) / layout.deviation(query, share) < 1.4


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class"):
        terms().layout(10, 3, 1)
    with pytest.raises(ValueError, match="n_samples=4"):
        terms(model="local").layout(4, 3, 2)
    with pytest.raises(ValueError, match="at least 55, got n_samples=45"):
        terms(model="local", n_steps=24).layout(45, 3, 2)
    with pytest.raises(ValueError, match="at most 8192"):
        terms(model="local").layout(10**6, 1000, 9)
    with pytest.raises(ValueError, match="n_steps must be 1"):
        terms(model="local", n_steps=2).layout(10**6, 200, 2)
    with pytest.raises(ValueError, match=r"fewer than 4096 columns .* declare fewer buckets, .* or take"):
        terms().layout(10, 5000, 2)


def test_the_tolerance_of_reports_is_that_of_the_oracle_with_the_bias_of_clipped_coordinates():
    layout = terms(2, model="local").layout(4000, 30, 2)
    query, share = layout.task.queries()[1]
    noise, _ = query.randomizer(layout.price.epsilon, "bit", int(4000 * share)).bounds(int(4000 * share))
    plan = layout.plan(layout.price, Fraction(1, 20))
    assert noise.bias > 0
    assert plan.tolerance == pytest.approx(noise.at(Fraction(1, 20)) * float(query.unit))
    assert plan.tolerance > plan.deviation * np.sqrt(2 * np.log(40 * query.size)) * 1.01


def test_the_tolerance_holds_as_often_as_it_says():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(500, 3)), rng.integers(3, size=500)
    for settings in ({"delta": "1e-6"}, {}):
        layout = terms(**settings).layout(500, 3, 3)
        plan = layout.plan(layout.price, Fraction(1, 4))
        query = products_query(layout.task, Mapped(layout.task, np.eye(4)), label_parts(layout.task))
        records = Examples(layout.task.rows(X), y)
        exact = query.total(records) / 500 * float(query.unit)
        off = []
        for seed in range(60):
            oracle = CentralOracle(records, privacy=layout.price, dice=SeededDice(seed))
            off.append(np.abs(oracle.ask(query, layout.task.shares[1])[0].means - exact).max())
        assert (
            sum(np.array(off) > plan.tolerance) <= 24
        )  # 15 are expected at most; 24 is three deviations more
        assert max(off) > plan.tolerance / 3
