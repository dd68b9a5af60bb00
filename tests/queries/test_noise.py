"""The planned noise of an answer is the noise that the answer has."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import PublicStream, SeededDice
from dplearn.privacy import ApproxDP, gaussian_budget
from dplearn.privacy.gaussian_dp import SLACK, mu2_of_gaussian
from dplearn.queries import CentralOracle, HistogramQuery, MeanQuery, VectorQuery
from dplearn.queries import noise as noise_module
from dplearn.queries.noise import (
    SHARE_NOISES,
    LaplaceNoise,
    LocalNoise,
    SumNoise,
    can_be_drawn,
    central_noise,
    noise_of,
    share_noise,
)
from dplearn.queries.oracle import oracle_for
from dplearn.releases import mean_plan

QUERIES = [
    MeanQuery(lambda records: records % 3, low=0, high=2, unit="1/2"),
    HistogramQuery(lambda records: records % 4, categories=4),
    VectorQuery(lambda records: np.stack([records % 2, records % 3], axis=1), size=2, norm=3, unit="1/2"),
]
KINDS = {"laplace": ApproxDP(1), "gaussian": ApproxDP(1, 1e-6), "local": ApproxDP(1)}


@pytest.mark.parametrize("query", QUERIES, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_the_planned_deviation_is_that_of_answers(kind, query):
    records, share, privacy = np.arange(400), Fraction(1, 4), KINDS[kind]
    exact, errors = query.total(records) * float(query.unit) / 400, []
    planned = noise_of(kind, privacy, 400).deviation(query, share)
    for seed in range(60):
        stream = PublicStream(seed)
        oracle = oracle_for(kind, records, privacy=privacy, dice=SeededDice(seed), stream=stream)
        answer = oracle.ask(query, share)[0]
        errors.append(answer.means - exact)
        assert kind == "local" or answer.noise_variance == pytest.approx(planned**2, rel=0.01)
    found = float(np.sqrt(np.mean(np.square(errors))))
    # Of reports, what is planned is that of the worst value.
    assert found == pytest.approx(planned, rel=0.25) if kind != "local" else found < 1.1 * planned


def test_local_reports_are_those_of_a_share_of_the_records():
    noise = LocalNoise(Fraction(1), 399)
    assert (noise.count(Fraction(1, 4)), noise.randomizer(QUERIES[0]).epsilon) == (99, 1)
    few, one = LocalNoise(Fraction(1), 2), LocalNoise(Fraction(1), 1)  # a plan states the noise of one report
    assert few.deviation(QUERIES[0], Fraction(1, 4)) == one.deviation(QUERIES[0], Fraction(1))
    tiny = ApproxDP(Fraction(1, 10**400))
    assert 1e70 < noise_of("laplace", tiny, 1).deviation(QUERIES[0], Fraction(1)) < np.inf


BUDGETS = [Fraction(1, 10**6), Fraction(1, 50), Fraction(3), Fraction(400)]


@pytest.mark.parametrize("budget", BUDGETS, ids=float)
@pytest.mark.parametrize("squared", [1, 9, 2**18])
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
    assert [can_be_drawn(2, Fraction(1, 2**bits)) for bits in (50, 56)] == [True, False]
    assert SumNoise.of(2, Fraction(1, 10**400), 5).deviation > 1e100
    for bits in (40, 41):  # as fine as the range allows
        finest = SumNoise.of(squared, Fraction(10**14), 1 << bits)
        assert 1 << bits + finest.bits < 2**62 <= 1 << bits + finest.bits + 1


@pytest.mark.parametrize(("size", "norm"), [(1, 1 << 25), (5, 1 << 29), (40, 3 << 30)])
def test_very_noisy_sums_are_rounded_to_a_coarser_grid(norm, size):
    budget, rng = Fraction(1, 2**12), np.random.default_rng(norm + size)
    noise = SumNoise.of(norm**2, budget, 1 << 61, size)
    assert not can_be_drawn(norm**2, budget) or noise.bits >= 0
    assert can_be_drawn(noise.squared_l2, budget)
    for _ in range(50):  # the distance of multiples is within the bound that the noise is for
        sums = rng.integers(-(1 << 60), 1 << 60, size)
        step = rng.normal(size=size)
        other = sums + np.trunc(step * (norm / np.linalg.norm(step))).astype(np.int64)
        apart = (noise.of_sums(sums) - noise.of_sums(other)).tolist()
        assert sum(each**2 for each in apart) <= noise.squared_l2
    spent = norm / (2 * float(budget)) ** 0.5
    assert noise.deviation >= spent * (1 - 1e-9)
    assert noise.deviation <= spent * (1.001 + 3 * size**0.5 * 2.0**-noise.bits / norm)


@pytest.mark.parametrize(("epsilon", "width"), [(0.5, 6), (50, 6), (1, 1 << 40)])
def test_answers_have_the_planned_deviation_and_are_on_the_finer_or_coarser_grid(epsilon, width):
    n, privacy = 1000 if width == 6 else 50, ApproxDP(epsilon, 1e-6)
    query = MeanQuery(lambda records: records, low=0, high=width)
    half = np.full(n, width // 2)
    found = [
        CentralOracle(half, privacy=privacy, dice=SeededDice(seed)).ask(query)[0].means[0]
        for seed in range(150)
    ]
    planned = noise_of("gaussian", privacy, n).deviation(query, Fraction(1))
    assert np.std(found) == pytest.approx(planned, rel=0.15)
    assert np.mean(found) == pytest.approx(width // 2, abs=4 * planned / 12)
    noise = SumNoise.of(query.squared_l2, gaussian_budget(privacy), width * n)
    steps = np.array(found) * n * 2.0**noise.bits
    assert (noise.bits > 0) == (width == 6)
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


@pytest.mark.parametrize("kind", SHARE_NOISES)
def test_the_noise_of_share_queries_is_that_of_an_equal_part_of_the_budget(kind):
    query, part = HistogramQuery(lambda records: records, categories=5), Fraction(1, 3)
    noise = noise_of(kind, ApproxDP(1, 0.01 if kind == "gaussian" else 0), 3000)
    found = share_noise(5, n_queries=3, n=3000, epsilon=1, delta=0.01, noise=kind)
    assert found.bound.at(0.05) == pytest.approx(noise.bounds(query, part)[0].at(0.05), rel=1e-9)
    deviation = noise.deviation(query, part)
    if kind == "local":  # that of categories in which no record is
        randomizer = noise.randomizer(query)
        chances = np.array([float(randomizer.probability(0, report)) for report in range(5)])
        estimates = [randomizer.estimate(np.array([report]))[1] for report in range(5)]
        deviation = np.sqrt(chances @ np.square(estimates) / 1000)
    assert found.deviation == pytest.approx(deviation, rel=0.01)


def test_few_columns_have_laplace_noise_and_many_gaussian():
    with pytest.raises(ValueError, match="n must leave a record for each of 4 queries, got 3"):
        share_noise(2, n_queries=4, n=3, epsilon=1, noise="local")
    kinds = [central_noise(d, epsilon=1, delta=1e-6) for d in (1, 4, 20, 100)]
    assert kinds == ["laplace", "laplace", "gaussian", "gaussian"]
    assert central_noise(10**6, epsilon=1, delta=0) == "laplace"


@pytest.mark.parametrize(("epsilon", "l1"), [(Fraction(1, 2), 1), (Fraction(3), 2)])
def test_the_deviation_of_laplace_noise_is_that_of_its_law(epsilon, l1):
    steps = np.arange(-400, 401)
    chances = np.exp(-float(epsilon) / l1 * np.abs(steps))
    variance = (steps**2 * chances).sum() / chances.sum()
    assert LaplaceNoise(epsilon, l1, 0.5).deviation == pytest.approx(0.5 * math.sqrt(variance), rel=1e-9)


def test_the_deviation_of_laplace_noise_is_finite_where_its_ratio_rounds_to_1():
    assert LaplaceNoise(Fraction(1, 10**30), 2).deviation == pytest.approx(2e30 * math.sqrt(2), rel=1e-6)
    assert mean_plan(1000, bounds=(0, 1), epsilon=1e-30).warnings
