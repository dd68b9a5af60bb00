"""The columns that a logistic regression keeps of a wide table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix, random_array
from sklearn.linear_model import LogisticRegression

from dplearn import LinearRegressor, PrivacyLedger, StatisticalQueryLogisticRegression
from dplearn.domains import Categories, DomainError, Schema
from dplearn.estimator.recipe import FitFacts
from dplearn.learners.linear.columns import (
    kept_columns,
    mass_query,
    mass_threshold,
    reduced_rows,
    reduction,
    sparse_rows,
)
from dplearn.learners.linear.logistic_queries import LogisticPlan
from dplearn.privacy import ApproxDP
from dplearn.queries import LabelledRows


def plan_of(d, n=50, n_kept=2, **grid):
    public = FitFacts(n, d, 2)
    return LogisticPlan(ApproxDP(1), "laplace", 1, second_moments=False, n_kept=n_kept, public=public, **grid)


def sparse(n, d, seed=0):
    rng = np.random.default_rng(seed)
    rows = random_array((n, d), density=0.3, rng=rng, format="csr", data_sampler=rng.standard_normal)
    rows.data *= 10.0 ** rng.integers(-300, 300, rows.nnz)
    return rows


@pytest.mark.parametrize("bits", [0, 3, 10])
def test_masses_are_shares_of_squared_lengths_whose_sums_are_bounded(bits):
    rows, plan = sparse(200, 7), plan_of(7, 200, bits=bits)
    query = mass_query(plan)
    each = query.inputs(LabelledRows(rows, np.zeros(200)))
    assert query.total(LabelledRows(rows, np.zeros(200))).tolist() == each.sum(axis=0).tolist()
    assert (each >= 0).all()
    assert each.sum(axis=1).max() <= plan.reach**2
    dense = rows.toarray() / np.maximum(np.abs(rows.toarray()).max(axis=1, keepdims=True), 1e-300)
    exact = dense**2 / np.maximum((dense**2).sum(axis=1, keepdims=True), 1)
    assert np.abs(each / plan.reach**2 - exact).max() <= 1.01 / plan.reach**2


def test_one_replaced_record_moves_masses_by_no_more_than_is_claimed_and_one_reaches_it():
    plan = plan_of(2)
    query = mass_query(plan)
    rows = query.inputs(LabelledRows(csr_array(np.array([[5.0, 0.0], [0.0, -2.0], [1.0, 1.0]])), np.zeros(3)))
    apart = (rows[:, None] - rows[None]).astype(object)
    assert np.abs(apart).sum(axis=2).max() == query.l1
    assert (apart**2).sum(axis=2).max() == query.squared_l2


def test_rows_of_zeros_and_tables_without_numbers_have_no_mass():
    plan = plan_of(3, 2)
    for rows in (csr_array((2, 3)), csr_array((np.zeros(2), ([0, 1], [1, 2])), shape=(2, 3))):
        assert mass_query(plan).total(LabelledRows(rows, np.zeros(2))).tolist() == [0, 0, 0]


def test_a_row_has_the_same_masses_in_any_table():
    rows, query = sparse(30, 9, seed=1), mass_query(plan_of(9))
    together = query.inputs(LabelledRows(rows, np.zeros(30)))
    alone = [query.inputs(LabelledRows(rows[[place]], np.zeros(1)))[0] for place in range(30)]
    assert np.array_equal(together, alone)


def test_sparse_rows_are_those_of_the_table():
    assert sparse_rows(np.array([[0.0, 2.0]])).nnz == 1
    assert sparse_rows(csr_matrix([[0.0, 2.0]])).toarray().tolist() == [[0.0, 2.0]]


@pytest.mark.parametrize("stray", [np.nan, np.inf, -np.inf, 1e308])
def test_no_number_makes_a_mass_that_is_out_of_bounds(stray):
    rows = csr_array((np.array([stray, 1e308, 3.0, stray]), ([0, 0, 1, 1], [0, 1, 0, 2])), shape=(2, 3))
    query = mass_query(plan_of(3, 2))
    total = query.total(LabelledRows(rows, np.zeros(2)))
    assert (total >= 0).all()
    assert total.sum() <= 2 * query.norm


def numbers_that_become_infinite(d):
    twice = csr_matrix((np.full(2, 1.7e308), np.full(2, 7), np.array([0, 2, 2])), shape=(2, d))
    wide = np.zeros((2, d), dtype=np.longdouble)
    wide[0, 7] = np.longdouble("1e4000")
    return [twice, wide, csr_matrix(wide)]


@pytest.mark.parametrize("d", [10, 5000])
@pytest.mark.parametrize("kind", range(3))
def test_numbers_that_are_infinite_as_floats_are_refused_before_the_charge(d, kind):
    ledger = PrivacyLedger(2, 1e-5)
    X = numbers_that_become_infinite(d)[kind]
    learner = StatisticalQueryLogisticRegression(classes=[0, 1], ledger=ledger)
    with pytest.raises(DomainError, match="X must hold finite numbers"):
        learner.fit(X, [0, 1])
    if kind == 1:
        with pytest.raises(DomainError, match="X must hold finite numbers"):
            LinearRegressor(target_range=(0, 1), ledger=ledger).fit(X[:, :10], [0.0, 1.0])
    assert ledger.history() == []
    assert X.shape == (2, d)


def test_columns_above_the_threshold_are_kept():
    masses = np.array([0.0, 0.5, 0.02, 0.3, -0.01])
    assert kept_columns(masses, threshold=0.03, most=4).tolist() == [1, 3]
    assert kept_columns(masses, threshold=0.01, most=4).tolist() == [1, 2, 3]
    assert kept_columns(masses, threshold=0.01, most=2).tolist() == [1, 3]
    assert kept_columns(masses, threshold=9.0, most=4).tolist() == [1]


@pytest.mark.parametrize("order", [1, 2])
def test_about_one_column_without_mass_is_above_the_threshold(order):
    plan = replace(plan_of(10**6), noise="laplace" if order == 1 else "gaussian")
    rng = np.random.default_rng(order)
    noise = rng.laplace(size=10**6) / np.sqrt(2) if order == 1 else rng.normal(size=10**6)
    assert (noise > mass_threshold(plan, 1.0)).sum() <= 5
    assert (noise > 0.9 * mass_threshold(plan, 1.0)).sum() >= 2


def test_rows_are_reduced_to_kept_columns_and_signed_sums_of_the_others():
    matrix = reduction(np.array([1, 4]), 7, 2)
    rows = np.arange(1.0, 8.0)[None] * [[1.0], [10.0]]
    # The others are 0, 2, 3, 5 and 6, with quotients by 2 of 0, 1, 1, 2 and 3.
    assert (rows @ matrix).tolist() == [[2, 5, 1 - 3 - 7, -4 + 6], [20, 50, -90, 20]]
    assert (rows @ reduction(np.array([1, 4]), 7, 0)).tolist() == [[2, 5], [20, 50]]


def test_reduced_records_are_integer_rows_of_the_reduced_table():
    rows, inner, matrix = sparse(20, 6, seed=2), plan_of(6, n_kept=3), reduction(np.array([1, 4]), 6, 1)
    records = LabelledRows(rows, np.arange(20))
    reduced = reduced_rows(inner, matrix, records)
    assert np.array_equal(reduced.X, inner.rows((rows @ matrix).toarray()))
    assert reduced.y is records.y


def wide_table(n=6000, d=5000, seed=0):
    """Five columns that many rows have, two of which matter; all others are nearly empty."""
    rng = np.random.default_rng(seed)
    rows = random_array((n, d), density=0.0002, rng=rng, format="lil", data_sampler=rng.standard_normal)
    rows[:, [7, 70, 700, 4000, 4999]] = rng.choice([-1.0, 0.0, 1.0], (n, 5))
    rows = rows.tocsr()
    margin = 3 * (rows[:, [70]] - rows[:, [4000]]).toarray().ravel()
    return rows, (margin + rng.logistic(size=n) > 0).astype(int)


@pytest.fixture(scope="module")
def wide():
    return wide_table()


def test_wide_tables_are_learned_from_their_common_columns(wide):
    X, y = wide
    fitted = StatisticalQueryLogisticRegression(epsilon=2, classes=[0, 1], random_state=0).fit(
        X[:4000], y[:4000]
    )
    assert set(fitted.columns_) >= {7, 70, 700, 4000, 4999}
    assert fitted.coef_.shape == fitted.coef_std_.shape == (1, 5000)
    assert len(fitted.columns_) < 100
    effects = dict(zip(fitted.columns_.tolist(), fitted.coef_[0, fitted.columns_], strict=True))
    assert 0.5 < effects[70] < 6  # of twelve seeds, from .67 to 1.11
    assert -6 < effects[4000] < -0.5
    assert max(abs(effects[other]) for other in (7, 700, 4999)) < 0.1
    exact = LogisticRegression().fit(X[:4000], y[:4000]).score(X[4000:], y[4000:])
    assert fitted.score(X[4000:], y[4000:]) > exact - 0.04
    margins = fitted.decision_function(X[4000:])
    assert np.array_equal(fitted.decision_function(X[4000:].toarray()), margins)
    reduced = X[4000:] @ reduction(fitted.columns_, 5000, len(fitted.metric_) - 1 - len(fitted.columns_))
    rows = np.column_stack([reduced.toarray(), np.ones(2000)])
    lengths = np.linalg.norm(rows @ fitted.metric_, axis=1)
    products = X[4000:] @ fitted.coef_[0] + fitted.intercept_ - fitted.offset_
    assert np.allclose(fitted.offset_ + products / lengths, margins)


def test_wide_tables_of_any_kind_have_the_same_fit(wide):
    X, y = (part[:800] for part in wide)
    learner = StatisticalQueryLogisticRegression(epsilon=3, classes=[0, 1], random_state=1)
    expected = learner.fit(X, y).coef_
    assert np.array_equal(learner.fit(X.toarray(), y).coef_, expected)
    assert np.array_equal(learner.fit([X[:300], X[300:]], [y[:300], y[300:]]).coef_, expected)


def test_declared_tables_are_wide_by_their_numbers():
    values = [f"v{place}" for place in range(4200)]
    X = np.array(values, dtype=object)[np.random.default_rng(0).permutation(4000) % 40][:, None]
    y = (X[:, 0] < "v20").astype(int)
    schema = Schema({"a": Categories(values)})
    fitted = StatisticalQueryLogisticRegression(domain=schema, classes=[0, 1], random_state=0)
    frame = pd.DataFrame(X, columns=["a"])
    fitted.fit(frame, y)
    kept = {fitted.get_feature_names_out()[place] for place in fitted.columns_}
    assert {f"a == {value!r}" for value in values[:40]} <= kept
    assert fitted.score(frame, y) > 0.95


def test_the_plan_of_a_wide_table_says_how_many_columns_are_kept():
    learner = StatisticalQueryLogisticRegression()
    plans = [learner.plan(n, n_features=1 << 18, n_labels=2) for n in (10**3, 10**5, 10**7)]
    assert [plan.n_kept for plan in plans] == sorted(plan.n_kept for plan in plans)
    assert plans[0].n_kept == 64
    assert plans[-1].n_kept == 1024
    assert learner.plan(10**5, n_features=4095, n_labels=2).n_kept is None
    assert learner.plan(10**5, n_features=4096, n_labels=2).n_kept > 64
    assert all(plan.n_queries == 1 + 1 + plan.n_steps + 1 for plan in plans)
    directions, labels, step = plans[1].shares
    assert directions + labels + 23 * step + plans[1].calibration_share + plans[1].selection_share == 1
