"""Rows of linear regression on their grid, and how far the moments of two rows are apart."""

from dataclasses import replace

import numpy as np
import pytest

from dplearn.core import row_blocks
from dplearn.domains import Bits, Categories, Grid, Product
from dplearn.estimator.public import Public
from dplearn.learners.linear_moments import bounded_rows, matrix_of, moments_query
from dplearn.learners.linear_plan import LinearPlan
from dplearn.privacy import ApproxDP
from dplearn.records.design_matrix import DesignMatrix
from dplearn.records.targets import STEPS


def plan_of(n_features, order=2, bits=4, design=None):
    noise = {1: "laplace", 2: "gaussian"}[order]
    return LinearPlan(ApproxDP(1), noise, public=Public(10, n_features), bits=bits, design=design)


def tables(rng, n, d):
    """Rows of any magnitude, and targets."""
    X = rng.uniform(-1, 1, (n, d)) * 10.0 ** rng.integers(-3, 4, (n, 1))
    X[: n // 4] = rng.choice([-1.0, 0.0, 1.0, 1e300, -1.7e308, 5e-324], (n // 4, d))
    return X, rng.integers(-STEPS, STEPS + 1, n)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("bits", [0, 1, 4, 9])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_no_row_is_longer_than_its_bound(order, bits, d):
    plan = plan_of(d, order, bits)
    with np.errstate(all="raise"):
        rows = bounded_rows(*tables(np.random.default_rng(0), 5000, d), plan)
    columns = np.abs(rows[:, :-1].astype(np.int64)).astype(object)
    assert (rows == np.rint(rows)).all()
    assert ((columns**order).sum(axis=1) <= plan.reach**order).all()
    assert np.abs(rows[:, -1]).max() <= plan.target_reach
    moments = np.abs(moments_query(plan).inputs(rows)).astype(object)  # no row is cut to zeros
    assert ((moments**order).sum(axis=1) <= moments_query(plan).norm ** order).all()
    assert rows[:, :-1].any(axis=1).mean() > (0.5 if bits else 0.05)


def test_rows_that_are_short_enough_are_rounded_to_the_nearest_step():
    plan = plan_of(3, bits=6)
    X = np.array([[0.1, -0.2, 0.3]])
    assert bounded_rows(X, np.array([STEPS // 2]), plan)[0, :-1].tolist() == [6, -13, 19, 64]


def test_longer_rows_are_shortened_with_their_constants_and_targets():
    plan = plan_of(2, bits=12)
    X, codes = np.array([[3.0, 4.0], [0.1, 0.2]]), np.array([STEPS, STEPS])
    long, short = bounded_rows(X, codes, plan) / plan.steps
    assert np.linalg.norm(long[:-1]) == pytest.approx(np.sqrt(2), abs=1e-3)
    assert long[:3] / long[2] == pytest.approx([3, 4, 1], abs=1e-2)
    assert short[3] == pytest.approx(plan.target_unit)
    assert long[3] / long[2] == pytest.approx(plan.target_unit, rel=1e-2)


def test_a_row_depends_on_its_record_alone():
    plan, (X, codes) = plan_of(5), tables(np.random.default_rng(1), 200, 5)
    alone = [bounded_rows(X[[i]], codes[[i]], plan)[0] for i in range(len(X))]
    assert np.array_equal(bounded_rows(X, codes, plan), alone)
    fortran = bounded_rows(np.asfortranarray(X), codes, plan)
    assert np.array_equal(fortran, alone)


@pytest.mark.parametrize("order", [1, 2])
def test_the_total_is_the_sum_over_records_also_in_blocks(order, monkeypatch):
    plan = plan_of(4, order)
    rows = bounded_rows(*tables(np.random.default_rng(2), 300, 4), plan)
    query = moments_query(plan)
    expected = query.inputs(rows).sum(axis=0)
    assert np.array_equal(query.total(rows), expected)
    monkeypatch.setattr(row_blocks, "_FEWEST", 7)
    monkeypatch.setattr(row_blocks, "_MOST", 7)
    assert np.array_equal(query.total(rows), expected)
    whole = rows.astype(np.int64)
    assert np.array_equal(matrix_of(plan, expected), whole.T @ whole)


def squared_move(query, rows):
    one, other = query.inputs(rows).astype(object)
    return int(((one - other) ** 2).sum())


def l1_move(query, rows):
    one, other = query.inputs(rows).astype(object)
    return int(np.abs(one - other).sum())


def climbed(plan, move, rng, steps=4000):
    """Return the greatest move found by changing one number of a pair of records at a time.

    Targets of any size and columns beyond their bounds are tried, too.
    """
    query, d = moments_query(plan), plan.n_numbers - 2
    best = 0
    for _ in range(4):
        X, codes = rng.uniform(-1, 1, (2, d)), rng.integers(-STEPS, STEPS + 1, 2)
        found = move(query, bounded_rows(X, codes, plan))
        for _ in range(steps // 4):
            new_X, new_codes = X.copy(), codes.copy()
            place = rng.integers(0, 2), rng.integers(0, d)
            kind = rng.integers(0, 4)
            if kind == 0:
                new_codes[place[0]] = rng.choice([-STEPS, 0, STEPS])
            elif kind == 1:
                new_X[place] = rng.choice([-1.0, 0.0, 1.0, 5.0, -5.0, 1e6])
            else:
                new_X[place] += rng.normal() * 0.3
            now = move(query, bounded_rows(new_X, new_codes, plan))
            if now >= found:
                X, codes, found = new_X, new_codes, now
        best = max(best, found)
    return best


@pytest.mark.parametrize("d", [2, pytest.param(6, marks=pytest.mark.nightly)])
def test_no_pair_of_records_moves_the_moments_further_than_claimed_and_one_nearly_does(d):
    rng = np.random.default_rng(d)
    plan = plan_of(d, bits=7)
    query = moments_query(plan)
    assert query.squared_l2 == 2 * (5 * plan.energy) ** 2
    share = climbed(plan, squared_move, rng) / query.squared_l2
    assert 0.93 < share <= 1  # two long rows whose inner product, targets included, is 0
    with_laplace = plan_of(d, 1, bits=7)
    query = moments_query(with_laplace)
    assert query.l1 < 2 * query.norm
    # Both rows contain the constant, so they do not differ in all numbers.
    assert 0.84 < climbed(with_laplace, l1_move, rng) / query.l1 <= 1


def test_a_design_has_as_many_active_numbers_as_columns():
    design = DesignMatrix(Product([Categories(list("abcdefgh")), Bits(), Grid(0, 9)]))
    plan = plan_of(3, design=design)
    assert (plan.n_numbers, plan.active) == (12, 3)
    assert plan.reach == plan_of(3).reach
    assert plan.basis().shape == (11, 10)
    rows = design.of(np.array([["c", 1, 4.0]], dtype=object))
    assert np.append(rows, 1.0) @ (np.eye(11) - plan.basis() @ plan.basis().T) == pytest.approx(np.zeros(11))
    assert replace(plan, bits=0).reach >= 1


@pytest.mark.parametrize("stray", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_counts_as_zeros_or_keeps_its_norm(stray):
    plan = plan_of(2)
    rows = bounded_rows(np.array([[stray, 0.5], [0.5, 0.5]]), np.array([STEPS, STEPS]), plan)
    assert (rows[:, :-1].astype(object) ** 2).sum(axis=1).max() <= plan.reach**2
    assert np.abs(rows[:, -1].astype(int)).max() <= plan.target_reach


@pytest.mark.parametrize(("order", "least"), [(1, 0.99), (2, 0.9)])
def test_an_added_record_moves_the_totals_by_nearly_its_bound_and_never_by_more(order, least):
    query, plan = moments_query(plan_of(2, order, bits=6)), plan_of(2, order, bits=6)
    X, _ = tables(np.random.default_rng(0), 5000, 2)
    rows = bounded_rows(X, np.full(5000, STEPS), plan)
    moments = np.abs(query.inputs(rows)).astype(object)
    moves = (moments**order).sum(axis=1)
    bound = query.added_l1 if order == 1 else query.added_squared_l2
    assert least * bound < moves.max() <= bound
    assert bound < (query.l1 if order == 1 else query.squared_l2)
