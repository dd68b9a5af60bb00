"""The noise of sums: its variance is what accounting needs, on a grid that makes the additional one small."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.privacy import ApproxDP
from dplearn.privacy.gaussian_dp import SLACK, mu2_of_gaussian
from dplearn.privacy.shares import gaussian_budget
from dplearn.queries import CentralOracle, HistogramQuery, MeanQuery, central_oracle
from dplearn.queries.gaussian_noise import SumNoise, can_be_drawn
from dplearn.queries.planned_noise import planned_deviation

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


@pytest.mark.parametrize("epsilon", [0.5, 4, 50])
def test_answers_have_the_planned_deviation_and_are_on_the_finer_grid(epsilon):
    n, privacy = 1000, ApproxDP(epsilon, 1e-6)
    query = MeanQuery(lambda records: records, low=-3, high=3)
    found = [
        CentralOracle(np.zeros(n, int), privacy=privacy, dice=SeededDice(seed)).ask(query)[0].means[0]
        for seed in range(300)
    ]
    planned = planned_deviation("gaussian", privacy, n, query, Fraction(1))
    assert np.std(found) == pytest.approx(planned, rel=0.15)
    noise = SumNoise.of(query.squared_l2, gaussian_budget(privacy), 3 * n)
    steps = np.array(found) * n * 2**noise.bits
    assert noise.bits > 0
    assert np.allclose(steps, np.rint(steps), atol=1e-6)


def test_an_oracle_answers_no_more_numbers_than_the_theorem_covers(monkeypatch):
    monkeypatch.setattr(central_oracle, "MOST_NUMBERS", 7)
    query = HistogramQuery(lambda records: records, categories=3)
    oracle = CentralOracle(np.zeros(9, int), privacy=ApproxDP(1, 1e-6), dice=SeededDice(0))
    oracle.ask([query, query], share="1/2")
    with pytest.raises(ValueError, match="queries must have at most 7 numbers in all"):
        oracle.ask(query, share="1/4")
    assert oracle.left == Fraction(1, 2)
    pure = CentralOracle(np.zeros(9, int), privacy=ApproxDP(1), dice=SeededDice(0))
    assert len(pure.ask([query] * 3)) == 3
