"""Noise of tables: which kind, and how far sums of it go, beside their exact distributions."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.kernels.distributions import gaussian_probabilities, laplace_probabilities
from dplearn.model_selection.table_noise import TableNoise
from dplearn.privacy import ApproxDP

PURE = TableNoise.of(ApproxDP(1), l1=2, squared_l2=2)
GAUSSIAN = TableNoise.of(ApproxDP(1, 1e-6), l1=20, squared_l2=20)


def masses_of(noise):
    """The distribution of one cell's noise, symmetric about the middle."""
    if noise.gaussian:
        return np.array(gaussian_probabilities(Fraction(noise._sigma2).limit_denominator(10**6))[1], float)
    return np.array(laplace_probabilities(noise._ratio, -80, 80), float)


def test_noise_is_gaussian_only_with_delta_and_if_it_is_less():
    assert not PURE.gaussian
    assert not TableNoise.of(ApproxDP(1, 1e-6), l1=2, squared_l2=2).gaussian
    assert GAUSSIAN.gaussian
    assert GAUSSIAN.deviation < TableNoise.of(ApproxDP(1), l1=20, squared_l2=20).deviation
    assert TableNoise.of(ApproxDP(1, 1e-6), l1=2, squared_l2=2).privacy.delta == 0


@pytest.mark.parametrize("noise", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("cells", [1, 2, 5, 20])
@pytest.mark.parametrize("beta", [0.3, 0.01, 1e-6])
def test_sums_of_noise_go_beyond_the_reach_as_rarely_as_it_says(noise, cells, beta):
    one = masses_of(noise)
    sums = one
    for _ in range(cells - 1):
        sums = np.convolve(sums, one)
    reach = noise.reach(cells, beta, n_cells=cells, room=10**6)
    beyond = sums[len(sums) // 2 + reach + 1 :].sum()
    assert beyond <= beta + 1e-9
    assert sums[len(sums) // 2 + reach // 3 :].sum() > beta  # nor is it far too great
    weighted = noise.weighted_reach(np.full((1, cells), 2.0), beta, n_cells=cells, room=10**6)[0]
    assert 2 * reach - 2 <= weighted * 1.01 + 2


def test_a_sum_of_no_cells_has_no_error_and_near_ends_admit_any():
    assert PURE.reach(0, 0.1, n_cells=4, room=10) == 0
    assert PURE.reach(3, 1e-9, n_cells=4, room=2) == 12
    assert PURE.weighted_reach(np.array([[1.0, 2.0]]), 1e-9, n_cells=4, room=2)[0] == 12


@pytest.mark.parametrize("noise", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_noise_is_drawn_with_its_deviation_and_clipped_to_its_ends(noise):
    found = noise.added(np.zeros(4000, dtype=np.int64), low=-(10**6), high=10**6, dice=SeededDice(3))
    assert abs(found.std() / noise.deviation - 1) < 0.1
    near = noise.added(np.zeros(100, dtype=np.int64), low=-1, high=2, dice=SeededDice(3))
    assert set(near.tolist()) <= {-1, 0, 1, 2}


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", "2000"])
def test_reaches_are_finite_for_extreme_budgets(epsilon):
    with np.errstate(all="raise"):
        noise = TableNoise.of(ApproxDP(epsilon), l1=1 << 16, squared_l2=1 << 32)
        assert 0 <= noise.reach(3, 0.01, n_cells=3, room=1 << 60) < 1 << 62
