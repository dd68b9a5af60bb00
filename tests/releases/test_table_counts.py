import math
from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.releases.table_counts import TableNoise, counts_of, projected, raked


@pytest.mark.parametrize("noise", [TableNoise.gaussian("0.01"), TableNoise.laplace("0.3", 10**6)], ids=repr)
@pytest.mark.parametrize("size", [2, 3, 40])
def test_the_expected_error_is_the_mean_of_half_of_all_magnitudes(noise, size):
    counts = np.full(size, 500)
    n, dice = 500 * size, SeededDice(0)
    found = [np.abs(noise.noisy(counts, n, dice) - counts).sum() / 2 for _ in range(4000 // size + 400)]
    assert abs(np.mean(found) / noise.expected_error(size) - 1) < 0.12
    if size == 40:
        assert abs(np.std(noise.noisy(np.full(4000, 500), n, dice)) / noise.deviation(size) - 1) < 0.06


def test_a_table_of_two_cells_is_one_count():
    noisy = TableNoise.gaussian(1).noisy(np.array([3, 7]), 10, SeededDice(0))
    assert noisy.sum() == 10
    assert TableNoise.gaussian("1/2").deviation(2) == 1
    assert TableNoise.gaussian("1/2").deviation(3) == math.sqrt(2)
    assert TableNoise(rho=Fraction(1)).noisy(np.array([10]), 10, SeededDice(0)).tolist() == [10]
    assert TableNoise.laplace(1).expected_error(1) == 0


def test_laplace_noise_is_clipped_to_public_ends():
    noise = TableNoise.laplace("1/100", reach=2)
    noisy = noise.noisy(np.full(200, 1), 5, SeededDice(0))
    assert set(noisy.tolist()) >= {-2, 7}
    assert noisy.min() == -2
    assert noisy.max() == 7


def test_counts_add_up_over_parts():
    cells = np.random.default_rng(0).integers(0, 3, (50, 4)).astype(np.int16)
    whole = counts_of((2, 0), (3, 3), cells)
    assert np.array_equal(
        whole, counts_of((2, 0), (3, 3), cells[:20]) + counts_of((2, 0), (3, 3), cells[20:])
    )
    assert whole[3 * 1 + 2] == ((cells[:, 2] == 1) & (cells[:, 0] == 2)).sum()


def test_projected_tables_are_shares():
    shares = projected(np.array([[5, -3], [7, 0]]), 8)
    assert shares.shape == (2, 2)
    assert shares.min() == 0
    assert abs(shares.sum() - 1) < 1e-12


def test_raking_gives_the_margins():
    table = np.random.default_rng(0).random((3, 4, 2))
    first = np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.1]])
    second = np.full((3, 4), 1 / 12) * np.array([[0.2], [0.4], [0.4]]) * 3
    found = raked(table, [((0, 2), first), ((0, 1), second)])
    assert np.allclose(found.sum(axis=2), second)
    assert np.allclose(found.sum(axis=1), first, atol=1e-6)
