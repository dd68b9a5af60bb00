"""The noise of sums: its variance is what accounting needs, on a grid that makes the additional one small."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.privacy import ApproxDP
from dplearn.privacy.gaussian_dp import SLACK, mu2_of_gaussian
from dplearn.privacy.shares import gaussian_budget
from dplearn.queries import CentralOracle, HistogramQuery, MeanQuery
from dplearn.queries import noise as noise_module
from dplearn.queries.gaussian_noise import SumNoise, can_be_drawn
from dplearn.queries.noise import noise_of

BUDGETS = [Fraction(1, 10**6), Fraction(1, 50), Fraction(3), Fraction(400)]


@pytest.mark.parametrize("budget", BUDGETS, ids=float)
@pytest.mark.parametrize("squared", [1, 2, 9, 2**18])
@pytest.mark.parametrize("most", [1, 10**6, 2**61])
def test_the_noise_has_its_budget_on_any_grid(squared, budget, most):
    noise = SumNoise.of(squared, budget, most)
    assert noise.squared_l2 == squared * 4**noise.bits
    assert mu2_of_gaussian(Fraction(noise.squared_l2), noise.sigma2) == 2 * budget
    assert most << noise.bits < 2**62
    spent = Fraction(squared) / (2 * budget)
    if most < 2**61:
        assert spent <= noise.deviation**2 * (1 + 1e-12)
        assert noise.deviation**2 <= spent * 1.001
    else:
        assert (noise.bits, noise.sigma2) == (0, spent + SLACK)


def test_noise_that_is_too_wide_cannot_be_drawn():
    assert can_be_drawn(2, Fraction(1, 2**50))
    assert not can_be_drawn(2, Fraction(1, 2**56))
    assert SumNoise.of(2, Fraction(1, 10**400), 5).deviation > 1e100


@pytest.mark.parametrize("size", [1, 5, 40])
@pytest.mark.parametrize("norm", [1 << 25, 1 << 29, 3 << 30])
def test_very_noisy_sums_are_rounded_to_a_coarser_grid(norm, size):
    budget, rng = Fraction(1, 2**12), np.random.default_rng(norm + size)
    noise = SumNoise.of(norm**2, budget, 1 << 61, size)
    assert not can_be_drawn(norm**2, budget) or noise.bits >= 0
    assert can_be_drawn(noise.squared_l2, budget)
    for _ in range(200):  # the distance of multiples is within the bound that the noise is for
        sums = rng.integers(-(1 << 60), 1 << 60, size)
        step = rng.normal(size=size)
        other = sums + np.trunc(step * (norm / np.linalg.norm(step))).astype(np.int64)
        apart = (noise.of_sums(sums) - noise.of_sums(other)).tolist()
        assert sum(each**2 for each in apart) <= noise.squared_l2
    spent = norm / (2 * float(budget)) ** 0.5
    assert noise.deviation >= spent * (1 - 1e-9)
    assert noise.deviation <= spent * (1.001 + 3 * size**0.5 * 2.0**-noise.bits / norm)


def test_answers_on_a_coarser_grid_are_nearly_unbiased():
    query = MeanQuery(lambda records: records, low=0, high=1 << 40)
    oracle = partial(CentralOracle, np.full(50, 1 << 39), privacy=ApproxDP(1, 1e-6))
    found = [oracle(dice=SeededDice(seed)).ask(query)[0].means[0] for seed in range(400)]
    deviation = noise_of("gaussian", ApproxDP(1, 1e-6), 50).deviation(query, Fraction(1))
    assert np.mean(found) == pytest.approx(1 << 39, abs=4 * deviation / 20)


@pytest.mark.parametrize("epsilon", [0.5, 4, 50])
def test_answers_have_the_planned_deviation_and_are_on_the_finer_grid(epsilon):
    n, privacy = 1000, ApproxDP(epsilon, 1e-6)
    query = MeanQuery(lambda records: records, low=-3, high=3)
    found = [
        CentralOracle(np.zeros(n, int), privacy=privacy, dice=SeededDice(seed)).ask(query)[0].means[0]
        for seed in range(300)
    ]
    planned = noise_of("gaussian", privacy, n).deviation(query, Fraction(1))
    assert np.std(found) == pytest.approx(planned, rel=0.15)
    noise = SumNoise.of(query.squared_l2, gaussian_budget(privacy), 3 * n)
    steps = np.array(found) * n * 2**noise.bits
    assert noise.bits > 0
    assert np.allclose(steps, np.rint(steps), atol=1e-6)


def test_an_oracle_answers_no_more_numbers_than_the_theorem_covers(monkeypatch):
    monkeypatch.setattr(noise_module, "MOST_NUMBERS", 7)
    query = HistogramQuery(lambda records: records, categories=3)
    oracle = CentralOracle(np.zeros(9, int), privacy=ApproxDP(1, 1e-6), dice=SeededDice(0))
    oracle.ask([query, query], share="1/2")
    with pytest.raises(ValueError, match="queries must have at most 7 numbers in all"):
        oracle.ask(query, share="1/4")
    assert oracle.left == Fraction(1, 2)
    pure = CentralOracle(np.zeros(9, int), privacy=ApproxDP(1), dice=SeededDice(0))
    assert len(pure.ask([query] * 3)) == 3
