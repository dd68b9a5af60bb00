"""The noise of share queries equals the bounds and the errors of the oracles."""

import numpy as np
import pytest

from dplearn.chance import PublicStream, SeededDice
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, HistogramQuery, LocalOracle
from dplearn.queries.share_noise import SHARE_NOISES, central_noise, share_noise

QUERIES = [HistogramQuery(lambda records: records, categories=5)] * 3
N = 3000


def answers(kind, seed=0, queries=QUERIES):
    records, privacy = np.zeros(N, dtype=int), ApproxDP(1, 0.01 if kind == "gaussian" else 0)
    dice = SeededDice(seed)
    if kind == "local":
        oracle = LocalOracle(records, privacy=privacy, dice=dice, stream=PublicStream(seed))
    else:
        oracle = CentralOracle(records, privacy=privacy, dice=dice, noise=kind)
    return oracle.ask(queries)


def noise_of(kind, n_queries=3):
    return share_noise(5, n_queries=n_queries, n=N, epsilon=1, delta=0.01, noise=kind)


@pytest.mark.parametrize("kind", SHARE_NOISES)
def test_the_bound_is_the_oracles_own(kind):
    bound = answers(kind)[0].noise
    assert noise_of(kind).bound.at(0.05) == pytest.approx(bound.at(0.05), rel=1e-9)


@pytest.mark.parametrize("kind", SHARE_NOISES)
def test_the_deviation_is_that_of_answers(kind):
    # With 40 categories that no record is in: noise is moved to nowhere below 0 in the middle of the range.
    found = []
    for seed in range(120):
        if kind == "local":
            found += [answer.means[1:] for answer in answers(kind, seed)]
        else:
            half = HistogramQuery(lambda records: np.arange(len(records)) % 5, categories=5)
            found += [answer.means - 0.2 for answer in answers(kind, seed, [half] * 3)]
    assert np.std(np.concatenate(found)) == pytest.approx(noise_of(kind).deviation, rel=0.08)


def test_few_columns_have_laplace_noise_and_many_gaussian():
    kinds = [central_noise(d, epsilon=1, delta=1e-6) for d in (1, 4, 20, 100)]
    assert kinds == ["laplace", "laplace", "gaussian", "gaussian"]
    assert central_noise(10**6, epsilon=1, delta=0) == "laplace"


@pytest.mark.parametrize("epsilon", [1e-12, 1e3])
def test_extreme_budgets_have_noise_in_proportion(epsilon):
    noise = share_noise(2, n_queries=1, n=10, epsilon=epsilon)
    assert noise.bound.at(0.5) == pytest.approx(noise.bound.linear * np.log(8))
    assert noise.bound.linear == pytest.approx(2 / epsilon / 10 if epsilon < 1 else 2 / 1e3 / 10, rel=1e-3)


def test_local_queries_need_a_record_each():
    with pytest.raises(ValueError, match="n must leave a record for each of 4 queries, got 3"):
        share_noise(2, n_queries=4, n=3, epsilon=1, noise="local")
    with pytest.raises(ValueError, match="noise must be one of"):
        share_noise(2, n_queries=4, n=3, epsilon=1, noise="central")
