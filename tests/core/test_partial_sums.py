"""Sums of discrete Laplace noise stay within their bounds as often as these say."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.core.distributions import partial_sum_bound
from dplearn.core.exact import decay_ratio


@pytest.mark.parametrize("rate", [0.05, 1, 5])
@pytest.mark.parametrize("steps", [1, 40])
def test_partial_sums_exceed_their_bound_as_rarely_as_it_says(steps, rate):
    ratio = decay_ratio(Fraction(rate))
    bound = partial_sum_bound(ratio, steps, math.log(20))
    sums = SeededDice(0).discrete_laplace(ratio, size=4000 * steps).reshape(4000, steps).cumsum(axis=1)
    share = (sums.max(axis=1) >= bound).mean()
    assert 0 < share <= 0.05
    assert partial_sum_bound(ratio, np.array([steps, 2 * steps]), math.log(20))[0] == bound


@pytest.mark.parametrize("weights", [[1, 1, 0.5], [0.25] * 8])
def test_weights_count_by_their_squares(weights):
    ratio, squares = decay_ratio(Fraction(1)), sum(w * w for w in weights)
    bound = partial_sum_bound(ratio, squares, math.log(20))
    sums = SeededDice(0).discrete_laplace(ratio, size=8000 * len(weights)).reshape(8000, -1) @ weights
    assert (sums >= bound).mean() <= 0.05 < (sums >= bound / 3).mean()
