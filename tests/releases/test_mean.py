"""The mean of bounded numbers."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.enumeration import distribution_on, least_exp_epsilon
from dplearn.fit.execute import Facts
from dplearn.releases import mean, mean_plan
from dplearn.releases.mean import _Mean
from dplearn.table.table import InMemory, Table

module = import_module("dplearn.releases.mean")  # the package exports a function by that name
X = np.random.default_rng(0).gamma(2, 10, 5000)
BOUNDS = (0, 100)


def test_the_noise_of_the_mean_is_the_planned_one():
    plan = mean_plan(len(X), BOUNDS, epsilon=0.5, beta=0.1)
    found = np.array([mean(X, BOUNDS, epsilon=0.5, random_state=seed).value for seed in range(400)])
    off = np.abs(found - X.clip(*BOUNDS).mean())
    assert 0.05 < (off > plan.error).mean() < 0.15
    assert mean(X, BOUNDS, epsilon=0.5).plan == mean_plan(len(X), BOUNDS, epsilon=0.5)


def test_the_mean_is_that_of_the_table_in_parts_and_within_the_bounds():
    whole = mean(X, BOUNDS, random_state=0).value
    assert mean(lambda: [X[:10], X[10:10], X[10:]], BOUNDS, random_state=0).value == whole
    assert mean(pd.Series(X), BOUNDS, random_state=0).value == whole
    few = [mean([0.0, 100.0], BOUNDS, epsilon=0.01, random_state=seed).value for seed in range(20)]
    assert (min(few), max(few)) == (0, 100)


def test_noise_for_half_of_the_range_is_refuted(monkeypatch):
    case, pair = CASES["mean"], ((-1.0,) * 3, (-1.0, -1.0, 3.0))
    kept = least_exp_epsilon(*(distribution_on(case.fit, rows) for rows in pair))[0]
    assert kept <= np.e
    release = case.fit.make()
    monkeypatch.setattr(type(release), "plan", _halved(type(release).plan))
    off = least_exp_epsilon(*(distribution_on(case.fit, rows) for rows in pair))[0]
    assert off > np.e**1.9


def _halved(plan_of):
    def plan(self, facts, **more):
        found = plan_of(self, facts, **more)
        return replace(found, guarantee=type(found.guarantee)(2))

    return plan


def test_the_last_bits_of_a_float_do_not_exceed_the_upper_bound():
    rng = np.random.default_rng(0)
    for _ in range(50):
        low, high = sorted(rng.normal(size=2))
        found = mean([high] * int(rng.integers(1, 50)), (low, high), epsilon=1e4, random_state=0)
        assert low <= found.value <= high


@pytest.mark.parametrize("share", [0.0, 0.95, 1.0])
def test_the_widest_bounds_do_not_overflow(share, monkeypatch):
    release = _Mean((-1e300, 1e300), 1)
    monkeypatch.setattr(module, "laplace_counts", lambda _, **how: np.array([int(share * how["high"])]))
    found = release.run(Table(InMemory(np.zeros(1, dtype=np.int64))), release.plan(Facts(10**8)), None)
    assert found.value == pytest.approx((2 * share - 1) * 1e300)
