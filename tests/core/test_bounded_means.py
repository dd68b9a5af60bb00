"""Bounds on means: as Hoeffding's theorem has them, and valid for coins, whose tails are known exactly."""

import math

import pytest
from scipy.stats import binom

from dplearn.core.confidence_bounds import mean_bounds


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 10), (10, 10), (20, 1000), (999, 1000)])
@pytest.mark.parametrize("error", [0.2, 1e-3, 1e-9])
def test_a_mean_beyond_a_bound_is_as_rare_as_it_says(hits, n, error):
    low, high = mean_bounds(hits / n, n, error)
    assert 0 <= low <= hits / n <= high <= 1
    assert binom.sf(hits - 1, n, low) <= error or low == 0
    assert binom.cdf(hits, n, high) <= error or high == 1


def test_bounds_on_small_means_are_nearer_than_hoeffdings_simple_ones():
    low, high = mean_bounds(0.01, 10_000, 0.025)
    simple = math.sqrt(math.log(40) / 20_000)
    assert high - 0.01 < simple / 3
    assert 0.01 - low < simple / 3
    assert mean_bounds(-1, 10, 0.1)[0] == 0
    assert mean_bounds(2, 10, 0.1)[1] == 1
