"""The cells of columns, the plan of a synthetic table, and the tables of its network."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import pytest

from dplearn.chance import PublicStream, SeededDice
from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, Schema, object_array
from dplearn.privacy import ApproxDP
from dplearn.releases import SyntheticTable, table_network
from dplearn.releases.table_columns import table_column, table_columns
from dplearn.releases.table_network import (
    NetworkStep,
    TableBudget,
    TableModel,
    TableNoise,
    checked_layout,
    projected,
    raked,
    synthetic_table_plan,
)
from dplearn.releases.table_types import TableTypes, as_table

DOMAINS = (
    IntegerRange(-5, 5),
    IntegerRange(18, 90, missing=True),
    IntegerRange(0, 99_999),
    IntegerRange(-(1 << 63), (1 << 62)),
    Grid(-3.5, 12.25, 1025, "accept", missing=True),
    Floats(smallest=2.0**-20, largest=2.0**20, missing=True),
    Floats(significand_bits=2, smallest=1, largest=4),
    Categories(["north", "south", None]),
    Categories([3, 7], other=True),
    Bits(binarize=None),
    Bits(binarize=0.5),
)
TEXT = pd.Series(["text"]).dtype
FOUR = Schema({f"x{place}": IntegerRange(0, 9) for place in range(4)})
FOUR_COLUMNS = table_columns(FOUR, 5)
EACH = ApproxDP(1, "1e-6")


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("n_bins", [2, 7, 16])
def test_a_value_drawn_from_a_cell_lies_in_it(domain, n_bins):
    column = table_column("x", domain, n_bins)
    cells = np.repeat(np.arange(column.size), 50)
    values = column.values(cells, PublicStream(0))
    if not isinstance(domain, Bits):  # whose values are compared with a threshold
        assert np.array_equal(column.of(domain.nearest(values)), cells)
    assert len(column.described()) == column.size
    assert column.starts[0] == 0  # cells divide all codes
    assert (np.diff(column.starts.astype(object)) > 0).all()
    assert int(column.starts[-1]) < domain.size
    assert column.of(column.starts).tolist() == list(range(column.size))


@pytest.mark.parametrize(
    ("domain", "codes", "values"),
    [
        (Categories(["a", "b"]), [1, 2], ["b", None]),  # an unknown one is none
        (IntegerRange(3, 5), [0, 2], [3, 5]),
        (Hashed(), [3], [3]),
    ],
)
def test_codes_have_the_values_of_the_domain(domain, codes, values):
    assert table_column("x", domain, 4).decoded(np.array(codes)).tolist() == values


def test_numbers_are_uniform_within_a_bin():
    column = table_column("x", IntegerRange(0, 199), 2)
    drawn = column.values(np.zeros(20_000, dtype=int), PublicStream(1))
    counts = np.bincount(drawn, minlength=100)
    assert len(counts) == 100
    assert ((counts - 200) ** 2 / 200).sum() < 170  # of 99 degrees of freedom, with probability below 1e-5


@pytest.mark.parametrize("low", [0, 1, 3])
def test_the_cells_of_a_wide_range_grow_by_a_root_of_two(low):
    first = table_column("x", IntegerRange(low, 10**5), 16).firsts
    assert first[0] == low
    assert ((first[12:] / first[11:-1] < 1.45) & (first[12:] / first[11:-1] > 1.38)).all()
    described = table_column("gain", IntegerRange(0, 99_999, missing=True), 16).described()
    assert described[:2] == ("missing", "0")
    assert "0" not in table_column("age", IntegerRange(0, 120), 16).described()


@pytest.mark.parametrize(
    ("domain", "cells", "expected"),
    [
        (Categories(["a", "b"], other=True), [["a", "b"], [None, None], ["a", None]], TEXT),
        (Categories(["a", "b", None]), [["a", "b"], [None, None], [None, "a"]], TEXT),
        (Categories(["a", "b", 1]), [["a", "b"], ["a", 1], [1, 1]], object),
        (Categories([1, 2, "x"]), [[1, 2], ["x", "x"]], object),
    ],
)
def test_the_type_of_a_column_of_pandas_does_not_depend_on_values(domain, cells, expected):
    column = table_column("c", domain, 8)
    for values in cells:
        found = as_table([column], [object_array(values)], TableTypes("pandas"))["c"]
        assert found.dtype == expected
        assert found.isna().tolist() == [value is None for value in values]
        assert found.dropna().tolist() == [value for value in values if value is not None]
    if None not in domain.values and 1 not in domain.values:
        found = as_table([column], [object_array(["b", "b"])], TableTypes("pandas", ("category",)))["c"]
        assert found.cat.categories.tolist() == ["a", "b"]  # all that are listed


def test_base_tables_are_of_one_column_or_of_the_target_and_one():
    assert checked_layout(FOUR_COLUMNS, None, 2, 100).base == ((0,), (1,), (2,), (3,))
    layout = checked_layout(FOUR_COLUMNS, 2, 2, 100)
    assert layout.base == ((2, 0), (2, 1), (2, 3))
    assert layout.rounds == 2
    assert checked_layout(FOUR_COLUMNS, 2, 1, 100).rounds == 0


def test_the_degree_is_lowered_for_many_columns():
    """By the number of columns besides the target alone."""

    def degree_of(d, target, degree):
        columns = table_columns(Schema({f"x{place}": IntegerRange(0, 1) for place in range(d)}), 2)
        layout = checked_layout(columns, target, degree, 100)
        assert synthetic_table_plan(EACH, 1000, layout).degree == layout.degree
        return layout.degree

    assert [degree_of(d, None, 2) for d in (10, 40, 41, 100, 400)] == [2, 2, 1, 1, 1]
    assert [degree_of(d, None, 3) for d in (22, 23, 40, 41)] == [3, 2, 2, 1]
    assert [degree_of(d, 0, 3) for d in (41, 42, 400)] == [3, 2, 2]
    assert [degree_of(d, 0, 1) for d in (41, 400)] == [1, 1]


def test_more_epsilon_or_records_give_less_error():
    layout = checked_layout(FOUR_COLUMNS, None, 2, 100)
    plans = [
        synthetic_table_plan(ApproxDP(epsilon, delta), n, layout)
        for epsilon, delta, n in ((1, 0, 1000), (1, "1e-6", 1000), (2, "1e-6", 1000), (2, "1e-6", 5000))
    ]
    assert [plan.noise for plan in plans] == ["laplace", "gaussian", "gaussian", "gaussian"]
    assert plans[2].n_needed == plans[3].n_needed
    needed = synthetic_table_plan(EACH, plans[1].n_needed, layout)
    assert 0.049 < max(needed.expected_tv.values()) <= 0.05
    budget = TableBudget.of(ApproxDP(2), 4, 3)  # which is spent whole
    assert 4 * budget.base.epsilon + 3 * (budget.selection + budget.network.epsilon) == 2
    assert TableBudget.of(ApproxDP(2), 4, 0).base.epsilon == ApproxDP("0.5").epsilon


def test_as_many_tables_are_counted_as_the_limit_assumes(monkeypatch):
    """A table is counted in the first round in which it is a candidate, and in no other."""
    counted = []
    right = table_network.quality_of
    monkeypatch.setattr(table_network, "quality_of", lambda *given: counted.append(1) or right(*given))
    records = np.random.default_rng(0).integers(0, 2, (5000, 7))
    schema = Schema({f"x{place}": IntegerRange(0, 1) for place in range(7)})
    for target, d in ((None, 7), ("x0", 6)):
        counted.clear()
        SyntheticTable(20, domain=schema, target=target, degree=2 + (target is not None)).fit(records)
        assert len(counted) == comb(d, 2) + comb(d, 3)


COLUMNS = table_columns(Schema({name: Categories(range(k)) for name, k in (("a", 2), ("b", 3), ("c", 2))}), 4)
RNG = np.random.default_rng(0)
TRUE = RNG.dirichlet(np.ones(12)).reshape(2, 3, 2)
N = 10**6
COUNTS = np.rint(N * TRUE).astype(np.int64)


@pytest.mark.parametrize(
    "noise", [TableNoise(rho=Fraction("0.01")), TableNoise(Fraction("0.3"), reach=10**6)], ids=repr
)
@pytest.mark.parametrize("size", [2, 3, 40])
def test_the_expected_error_is_the_mean_of_half_of_all_magnitudes(noise, size):
    counts = np.full(size, 500)
    n, dice = 500 * size, SeededDice(0)
    found = [np.abs(noise.noisy(counts, n, dice) - counts).sum() / 2 for _ in range(4000 // size + 400)]
    assert abs(np.mean(found) / noise.expected_error(size) - 1) < 0.12
    if size == 40:
        assert abs(np.std(noise.noisy(np.full(4000, 500), n, dice)) / noise.deviation(size) - 1) < 0.06


def test_a_table_of_two_cells_is_one_count():
    noisy = TableNoise(rho=Fraction(1)).noisy(np.array([3, 7]), 10, SeededDice(0))
    assert noisy.sum() == 10
    assert TableNoise(rho=Fraction("1/2")).deviation(2) == 1
    assert TableNoise(rho=Fraction("1/2")).deviation(3) == math.sqrt(2)
    assert TableNoise(rho=Fraction(1)).noisy(np.array([10]), 10, SeededDice(0)).tolist() == [10]
    assert TableNoise(Fraction(1)).expected_error(1) == 0


def test_laplace_noise_is_clipped_to_public_ends():
    noise = TableNoise(Fraction("1/100"), reach=2)
    noisy = noise.noisy(np.full(200, 1), 5, SeededDice(0))
    assert set(noisy.tolist()) >= {-2, 7}
    assert noisy.min() == -2
    assert noisy.max() == 7


def test_projected_tables_are_shares_and_raking_gives_the_margins():
    shares = projected(np.array([[5, -3], [7, 0]]), 8, [np.ones(2, dtype=bool)] * 2)
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
