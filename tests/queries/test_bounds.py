import math

import numpy as np
import pytest

from dplearn.theory import TailBound, query_sample_size, sampling_bound, truth_probability


def test_a_tail_bound_is_its_formula():
    bound = TailBound(linear=3, root=2, size=5)
    log = math.log(2 * 5 / 0.01)
    assert bound.at(0.01) == pytest.approx(3 * log + 2 * math.sqrt(log))
    assert bound.times(2).at(0.01) == pytest.approx(2 * bound.at(0.01))
    for beta in (0, 1, -1, "x"):
        with pytest.raises(ValueError, match="beta"):
            TailBound().at(beta)


@pytest.mark.parametrize(("width", "n", "size"), [(2, 50, 1), (1, 400, 3)])
def test_means_keep_the_sampling_bound(width, n, size):
    coins = np.random.default_rng(0).binomial(n, 0.5, (20_000, size)) / n * width
    for beta in (0.2, 0.01):
        off = (np.abs(coins - width / 2).max(axis=1) > sampling_bound(width, n, size).at(beta)).mean()
        assert beta / 20 < off <= beta


@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_central_sizes_are_the_least_that_keep_the_tolerance(epsilon):
    def off(n):
        return sampling_bound(2, n).at(0.025) + TailBound(linear=2 / epsilon / n).at(0.025)

    n = query_sample_size(tolerance=0.1, beta=0.05, epsilon=epsilon, trust_model="central")
    assert off(n) <= 0.1 * (1 + 1e-8)
    assert off(n - 1) > 0.1 * (1 - 1e-8)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_reports_keep_the_tolerance(epsilon):
    # One query about fair coins from -1 to 1, the hardest, by one bit of each record.
    tolerance, beta = 0.2, 0.1
    n = query_sample_size(tolerance=tolerance, beta=beta, epsilon=epsilon)
    assert query_sample_size(tolerance=tolerance, beta=beta * 7, epsilon=epsilon, queries=7) == 7 * n
    kept = float(2 * truth_probability(2, epsilon) - 1)
    ones = np.random.default_rng(1).binomial(n, 1 / 2, 50_000)
    off = np.abs((2 * ones / n - 1) / kept) > tolerance
    assert 0 < off.mean() <= beta
    fewer = np.random.default_rng(2).binomial(n // 4, 1 / 2, 50_000)
    assert (np.abs((2 * fewer / (n // 4) - 1) / kept) > tolerance).mean() > beta
