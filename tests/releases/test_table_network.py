"""The tables of a network: counted, made consistent, and sampled from."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import PublicStream, SeededDice
from dplearn.domains import Categories, Schema
from dplearn.privacy import ApproxDP
from dplearn.releases.table_columns import table_columns
from dplearn.releases.table_network import (
    NetworkStep,
    TableBudget,
    TableModel,
    TableNoise,
    checked_layout,
    counts_of,
    projected,
    raked,
)

COLUMNS = table_columns(Schema({name: Categories(range(k)) for name, k in (("a", 2), ("b", 3), ("c", 2))}), 4)
RNG = np.random.default_rng(0)
TRUE = RNG.dirichlet(np.ones(12)).reshape(2, 3, 2)
N = 10**6
COUNTS = np.rint(N * TRUE).astype(np.int64)


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


def test_projected_tables_are_shares_and_raking_gives_the_margins():
    shares = projected(np.array([[5, -3], [7, 0]]), 8)
    assert (shares.shape, shares.min()) == ((2, 2), 0)
    assert abs(shares.sum() - 1) < 1e-12
    table = np.random.default_rng(0).random((3, 4, 2))
    first = np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.1]])
    second = np.full((3, 4), 1 / 12) * np.array([[0.2], [0.4], [0.4]]) * 3
    found = raked(table, [((0, 2), first), ((0, 1), second)])
    assert np.allclose(found.sum(axis=2), second)
    assert np.allclose(found.sum(axis=1), first, atol=1e-6)


def model_of(target, degree=2):
    layout = checked_layout(COLUMNS, target, degree, 100)
    axes = [tuple({0, 1, 2} - set(places)) for places in layout.base]
    tables = [COUNTS.sum(axis=others) for others in axes]
    tables = [
        table.T if places != tuple(sorted(places)) else table
        for table, places in zip(tables, layout.base, strict=True)
    ]
    budget = TableBudget.of(ApproxDP(10**4, "1e-6"), len(layout.base), layout.rounds)
    return TableModel(layout, budget, N, [table.ravel() for table in tables])


def shares(model, m=200_000):
    cells = model.draw(m, PublicStream(0)).astype(int)
    return np.bincount(cells @ [6, 2, 1], minlength=12).reshape(2, 3, 2) / m


def test_exact_tables_of_a_full_network_give_the_distribution_with_and_without_a_target():
    model = model_of(None)
    model.grow(NetworkStep(1, (0,), COUNTS.sum(axis=2).ravel()))
    model.grow(NetworkStep(2, (0, 1), COUNTS.ravel()))
    assert np.abs(shares(model) - TRUE).sum() < 0.01
    model = model_of(2)
    model.grow(NetworkStep(1, (0,), COUNTS.transpose(2, 0, 1).ravel()))
    assert np.abs(shares(model) - TRUE).sum() < 0.01
    assert model.draw(3, PublicStream(0), target=np.array([1, 0, 1]))[:, 2].tolist() == [1, 0, 1]


@pytest.mark.parametrize("target", [None, 2])
def test_without_parents_columns_are_independent_given_the_target(target):
    model = model_of(target)
    for column in range(3):
        if column not in model.layout.first:
            model.grow(NetworkStep(column, (), None))
    if target is None:
        expected = np.einsum("i,j,k->ijk", TRUE.sum((1, 2)), TRUE.sum((0, 2)), TRUE.sum((0, 1)))
    else:
        label = TRUE.sum((0, 1))
        expected = np.einsum("ik,jk,k->ijk", TRUE.sum(1), TRUE.sum(0), 1 / label)
    assert np.abs(shares(model) - expected).sum() < 0.01


def test_the_joint_distribution_of_columns_that_no_table_contains_is_that_of_the_rows():
    model = model_of(None)
    model.grow(NetworkStep(1, (0,), COUNTS.sum(axis=2).ravel()))
    model.grow(NetworkStep(2, (1,), COUNTS.sum(axis=0).ravel()))
    ab, bc = TRUE.sum(axis=2), TRUE.sum(axis=0)
    expected = np.einsum("ij,jk,j->ik", ab, bc, 1 / TRUE.sum((0, 2)))
    assert np.abs(model.joint((0, 2)) - expected).sum() < 0.02
    assert np.allclose(model.joint((1, 0)), model.joint((0, 1)).T)


def test_a_second_measurement_halves_the_variance():
    layout = checked_layout(COLUMNS, None, 2, 100)
    budget = TableBudget.of(ApproxDP(10**4, "1e-6"), 3, 2)
    base = [np.array([10, 90]), np.array([30, 30, 40]), np.array([50, 50])]
    model = TableModel(layout, budget, 100, base)
    model.grow(NetworkStep(1, (), np.array([40, 40, 20])))
    variances = [noise.deviation(3) ** 2 for noise in (budget.base, budget.network)]
    weight = variances[0] / sum(variances)
    assert np.allclose(model.margins[1], (1 - weight) * base[1] / 100 + weight * np.array([0.4, 0.4, 0.2]))


def test_tables_of_noise_alone_still_give_records():
    layout = checked_layout(COLUMNS, None, 2, 100)
    model = TableModel(
        layout,
        TableBudget.of(ApproxDP("0.001", "1e-6"), 3, 2),
        5,
        [np.array([-9000, 9005]), np.array([-50, 7000, -9]), np.array([800, -795])],
    )
    model.grow(NetworkStep(1, (0,), np.array([-800, 3, 900, -5, 7000, -300])))
    model.grow(NetworkStep(2, (0, 1), RNG.integers(-9000, 9000, 12)))
    assert model.draw(1000, PublicStream(0)).max() <= 2
