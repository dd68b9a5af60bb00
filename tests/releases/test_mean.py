"""The mean of bounded numbers."""

from dataclasses import replace

import numpy as np
import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.enumeration import distribution_on, least_exp_epsilon
from dplearn.releases import mean

X = np.random.default_rng(0).gamma(2, 10, 5000)


def test_the_mean_is_within_the_bounds():
    few = [mean([0.0, 100.0], (0, 100), epsilon=0.01, random_state=seed).value for seed in range(20)]
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


@pytest.mark.parametrize("end", [-1e300, 1e300])
def test_the_widest_bounds_do_not_overflow(end):
    assert mean(np.full(10**5, end), (-1e300, 1e300), random_state=0).value == pytest.approx(end, rel=1e-3)
