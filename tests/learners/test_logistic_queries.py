"""Queries and arithmetic of logistic regression: sums and their bounds, steps, calibration, kept columns."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from dplearn.chance import SeededDice
from dplearn.estimator import FitFacts
from dplearn.learners.linear import (
    LogisticPlan,
    Mapped,
    label_parts,
    learn_logistic,
    mass_query,
    products_query,
    score_queries,
)
from dplearn.learners.linear.logistic_queries import (
    mean_row_query,
    moments_query,
    predicted_parts,
    score_edges,
)
from dplearn.learners.linear.logistic_steps import calibrate
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows, PopulationOracle
from tests.learners.logistic_plans import plan_of
from tests.learners.moves import greatest_moves, grid


def example(plan, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, plan.n_columns - 1)) * rng.choice([0, 0.1, 1, 30], size=(n, plan.n_columns - 1))
    return LabelledRows(plan.rows(X), rng.integers(plan.n_classes, size=n))


def queries(plan, seed=0):
    rng = np.random.default_rng(seed)
    mapped = Mapped(plan, rng.normal(size=(plan.n_columns, plan.n_columns)))
    weights = 40 * rng.normal(size=(plan.n_columns, plan.n_classes))
    by_class = np.array([1.0, *rng.random(plan.n_classes - 1)])
    return [
        moments_query(plan),
        mean_row_query(plan),
        products_query(plan, mapped, label_parts(plan)),
        products_query(plan, mapped, predicted_parts(plan, weights)),
        products_query(plan, mapped, label_parts(plan), by_class),
        products_query(plan, mapped, predicted_parts(plan, weights), by_class),
    ]


@pytest.mark.parametrize(
    ("d", "k", "order", "bits"),
    [(4, 2, 1, 10), (4, 2, 2, 10), (3, 3, 1, 7), (3, 3, 2, 7), (2, 10, 2, 1), (5, 4, 2, 0)],
)
def test_no_pair_of_records_moves_totals_further_than_is_claimed(d, k, order, bits):
    plan = plan_of(d, k, order=order, bits=bits)
    few = {2: [-30, -1, -0.1, 0, 0.5, 30], 3: [-30, -1, 0, 0.5, 30]}.get(plan.n_columns, [-30, 0, 1])
    records = grid(*[few] * (plan.n_columns - 1), range(plan.n_classes))
    records = LabelledRows(plan.rows(records[:, :-1]), records[:, -1].astype(int))
    for query in queries(plan):
        found = greatest_moves(query, records)
        assert found.max() <= 1
        assert plan.bits < 7 or found[plan.order - 1].min() > (0.97 if plan.order == 1 else 0.7)
        assert np.array_equal(query.inputs(records), query.values(records))  # no row counts as zeros


def test_weights_of_any_size_leave_margins_exact():
    plan = plan_of(3, 2)
    records = example(plan)
    huge = predicted_parts(plan, np.array([[1e200, -1e200]] * 3))(records.X.astype(float), records.y)
    signs = np.sign(records.X.sum(axis=1))
    assert np.array_equal(huge[:, 0], -signs * plan.portion)


# Steps.


def classes_of(n=2000, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    margins = X @ rng.normal(size=(d, k)) * 2 + rng.gumbel(size=(n, k))
    return X, margins.argmax(axis=1)


def accuracy(model, X, y):
    return np.mean(model.margins(X).argmax(axis=1) == y)


@pytest.mark.parametrize(("k", "order"), [(2, 1), (3, 2)])
def test_without_noise_it_is_as_good_as_logistic_regression(k, order):
    X, y = classes_of(k=k)
    plan = plan_of(5, k, order=order)
    model = learn_logistic(PopulationOracle(LabelledRows(plan.rows(X), y)), plan)
    assert accuracy(model, X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.02


@pytest.mark.parametrize(("order", "delta"), [(1, 0), (2, "1e-6")])
def test_a_central_oracle_with_a_large_epsilon_is_as_accurate(order, delta):
    X, y = classes_of()
    plan = plan_of(5, 3, order=order, n_steps=6 if order == 1 else 24)
    oracle = CentralOracle(LabelledRows(plan.rows(X), y), privacy=ApproxDP(20, delta), dice=SeededDice(0))
    assert accuracy(learn_logistic(oracle, plan), X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.05
    assert oracle.left == 0
    assert len(oracle.rounds) == 2 + plan.n_steps


# Calibration.

EDGES = np.concatenate([[-1.0], score_edges(9), [1.0]])
MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2


def counts_of(slope, offset, n=100_000):
    likely = expit(slope * MIDDLES + offset)
    each = n / len(MIDDLES)
    return np.column_stack([each * (1 - likely), each * likely])


@pytest.mark.parametrize(("slope", "offset"), [(2.0, 0.0), (8.0, -3.0)])
def test_slope_and_offset_are_found_for_every_prior(slope, offset):
    found = calibrate(counts_of(slope, offset), EDGES, slope=1.0, noise=1.0)
    assert (found.slope, found.offset) == (pytest.approx(slope, rel=0.02), pytest.approx(offset, abs=0.02))


def test_the_deviation_of_the_slope_is_that_of_noisy_counts():
    exact, rng = counts_of(6.0, -1.0), np.random.default_rng(0)
    found = [
        calibrate(exact + rng.normal(scale=100.0, size=exact.shape), EDGES, slope=6.0, noise=100.0)
        for _ in range(200)
    ]
    given = np.mean([each.deviation for each in found])
    assert 0.8 < np.std([each.slope for each in found]) / given < 1.25


def test_scores_of_the_wrong_sign_give_nearly_no_slope():
    found = calibrate(counts_of(-4.0, 0.0), EDGES, slope=1.0, noise=1.0)
    assert 0 < found.slope < 1e-3


def test_scores_of_several_classes_are_of_the_label_against_its_two_neighbours():
    plan = plan_of(2, 3, levels=1)
    records = LabelledRows(np.array([[1.0, 0.0], [1.0, 0.0]]) * plan.reach, np.array([0, 2]))
    weights = np.array([[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])  # margins 3, 2, 1
    after, before = score_queries(plan, Mapped(plan, np.eye(2)), weights, shift=0.0, reach=4.0)
    assert after.inputs(records).tolist() == [1, 0]  # 3 - 2, 1 - 3
    assert before.inputs(records).tolist() == [1, 0]  # 3 - 1, 1 - 2


# Columns that are kept of wide tables.


def wide_plan(d, n=50, n_kept=2, **grid):
    public = FitFacts(n, d, 2)
    return LogisticPlan(ApproxDP(1), "laplace", 1, second_moments=False, n_kept=n_kept, public=public, **grid)


def sparse(n, d, seed=0):
    rng = np.random.default_rng(seed)
    rows = random_array((n, d), density=0.3, rng=rng, format="csr", data_sampler=rng.standard_normal)
    rows.data *= 10.0 ** rng.integers(-300, 300, rows.nnz)
    return rows


@pytest.mark.parametrize("bits", [0, 3, 10])
def test_masses_are_shares_of_squared_lengths_each_of_its_row_alone(bits):
    rows, plan = sparse(200, 7), wide_plan(7, 200, bits=bits)
    query = mass_query(plan)
    each = query.inputs(LabelledRows(rows, np.zeros(200)))
    assert (each >= 0).all()
    assert each.sum(axis=1).max() <= plan.reach**2
    dense = rows.toarray() / np.maximum(np.abs(rows.toarray()).max(axis=1, keepdims=True), 1e-300)
    exact = dense**2 / np.maximum((dense**2).sum(axis=1, keepdims=True), 1)
    assert np.abs(each / plan.reach**2 - exact).max() <= 1.01 / plan.reach**2
    alone = [query.inputs(LabelledRows(rows[[place]], np.zeros(1)))[0] for place in range(30)]
    assert np.array_equal(each[:30], alone)


def test_no_pair_of_records_moves_masses_further_than_is_claimed_and_one_reaches_it():
    rows = csr_array(grid([-2.0, 0, 0.5, 5.0], [-2.0, 0, 0.5, 5.0]))
    found = greatest_moves(mass_query(wide_plan(2)), LabelledRows(rows, np.zeros(16)))
    assert found.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("stray", [np.nan, np.inf, -np.inf, 1e308])
def test_no_number_makes_a_mass_that_is_out_of_bounds(stray):
    rows = csr_array((np.array([stray, 1e308, 3.0, stray]), ([0, 0, 1, 1], [0, 1, 0, 2])), shape=(2, 3))
    query = mass_query(wide_plan(3, 2))
    total = query.total(LabelledRows(rows, np.zeros(2)))
    assert (total >= 0).all()
    assert total.sum() <= 2 * query.norm
