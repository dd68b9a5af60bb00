"""Deliberate mistakes in logistic regression: each breaks the claim or the replay."""

import math

import numpy as np
import pytest

from dplearn.audit.cases import logistic_regression as cases
from dplearn.audit.cases.logistic_regression import (
    CASES as LOGISTIC_CASES,
)
from dplearn.audit.cases.logistic_regression import (
    LOGISTIC_REPLAYS,
    UNIVERSE,
    logistic_fit_case,
    logistic_plan_case,
)
from dplearn.learners.linear import columns, logistic_steps
from dplearn.learners.linear import logistic_queries as queries
from dplearn.learners.linear.logistic_queries import mean_row_query, moments_query
from dplearn.mechanisms import noisy_counts
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows, VectorQuery
from tests.laws.oracle_mistakes import parts_that_the_data_scale
from tests.learners.logistic_plans import plan_of

CASES = {case.name: case for case in LOGISTIC_CASES}
ENDS = UNIVERSE[::4]  # one label, at the two ends


def few():
    """The whole fit, on the two records that differ most."""
    return logistic_fit_case("few", 1, ENDS, classes=(0, 1))


def excess(case):
    """By what factor a case exceeds its claim; infinite where an outcome has no probability on one side."""
    found = case.run().exp_epsilon
    return math.inf if found is None else math.log(found) / float(case.claim.epsilon)


def answered(asked, n, universe, replaced=None):
    """The case of one query about n records at epsilon 1, whose rows may be made by another function."""
    plan = plan_of(2, 2, order=1, n_steps=1, bits=0)

    def fit(rows, dice):
        table = np.array(rows)[:, :-1]
        scaled = plan.rows(table) if replaced is None else replaced(table)
        oracle = CentralOracle(LabelledRows(scaled, np.zeros(n)), privacy=ApproxDP(1), dice=dice)
        return str(oracle.ask(asked(plan))[0].means.round(6).tolist()), None

    return logistic_plan_case("answered", plan, universe, n).with_fit(fit)


@pytest.mark.nightly  # enumeration runs each, and replays it, with every change
@pytest.mark.parametrize("name", CASES)
def test_all_cases_keep_their_claim(name):
    case = CASES[name]
    report = case.run()
    assert report.keeps(case.claim)
    assert not case.replay(seeds=1)
    assert math.log(report.exp_epsilon) > 0.4 * float(case.claim.epsilon)


@pytest.mark.parametrize("case", LOGISTIC_REPLAYS, ids=lambda case: case.name)
def test_larger_fits_draw_as_the_proof_says(case):
    assert not case.replay(seeds=1)


@pytest.mark.nightly
def test_noise_for_an_added_record_where_one_is_replaced_breaks_the_claim(monkeypatch):
    right = VectorQuery.__init__

    def half(self, *given, **known):
        right(self, *given, **known)
        self.l1 //= 2

    assert excess(few()) <= 1
    monkeypatch.setattr(VectorQuery, "__init__", half)
    assert excess(few()) > 1.3


def test_gradients_with_noise_for_an_added_record_break_the_claim():
    def gradient(task):
        mapped = queries.Mapped(task, np.eye(2))
        sure = queries.predicted_parts(task, np.array([[-99.0, 99.0], [-99.0, 99.0]]))
        return queries.products_query(task, mapped, sure)

    def half(task):
        query = gradient(task)
        query.l1 //= 2
        return query

    assert 0.9 < excess(answered(gradient, 1, UNIVERSE[::2])) <= 1
    assert excess(answered(half, 1, UNIVERSE[::2])) > 1.8


@pytest.mark.nightly
def test_one_noise_for_all_numbers_breaks_the_claim(monkeypatch):
    class Repeating:
        def __init__(self, dice):
            self._dice = dice

        def discrete_laplace(self, ratio, low, high, size):
            return np.full(size, self._dice.discrete_laplace(ratio, -3, 3))

    right = noisy_counts.laplace_counts
    monkeypatch.setattr(
        "dplearn.queries.noise.laplace_counts",
        lambda counts, *, dice, **how: right(counts, dice=Repeating(dice), **how),
    )
    assert excess(few()) == math.inf


def test_rows_that_are_clipped_after_they_are_summed_break_the_claim():
    far = [(-3.0, 0), (0.0, 0), (3.0, 0)]
    assert excess(answered(mean_row_query, 2, far)) <= 1
    as_they_are = lambda table: np.hstack([table, np.zeros_like(table)])  # noqa: E731
    assert excess(answered(mean_row_query, 2, far, as_they_are)) > 1.5


def test_a_norm_that_the_longest_row_sets_breaks_the_claim():
    """One far record takes the other's row from 1 to 0, and its own from one end to the other."""

    def by_longest(table):
        rows = np.hstack([table, np.zeros_like(table)])
        return np.trunc(rows / max(np.abs(rows).max(), 1.0))

    universe = [(-9.0, 0), (1.0, 0), (9.0, 0)]
    assert excess(answered(mean_row_query, 2, universe, by_longest)) > 1.2


def test_an_intercept_that_is_left_out_of_the_length_breaks_the_claim():
    def apart(table):
        return np.hstack([np.sign(table), np.ones_like(table)])

    universe = [(-1.0, 0), (1.0, 0)]
    assert excess(answered(moments_query, 3, universe)) <= 1
    assert excess(answered(moments_query, 3, universe, apart)) > 1.5


def test_products_of_columns_whose_doubled_weight_is_forgotten_break_the_claim(monkeypatch):
    """Weights of 2 on the diagonal too, with the norm for 1."""
    right = queries.moment_weights

    def forgotten(query):
        def asked(plan):
            monkeypatch.setattr(queries, "moment_weights", lambda order: (2, 2))
            found = query(plan)
            monkeypatch.setattr(queries, "moment_weights", right)
            found.l1 //= 2
            return found

        return asked

    assert excess(answered(forgotten(moments_query), 1, UNIVERSE[::2])) > 1.5


def test_shares_that_the_data_settle_break_replay(monkeypatch):
    case = LOGISTIC_REPLAYS[1]
    parts_that_the_data_scale(monkeypatch)
    assert case.with_fit(case.fit).replay(seeds=1)


MASSES = CASES["logistic_masses"]


def test_masses_with_noise_for_an_added_record_break_the_claim(monkeypatch):
    right = columns.mass_query

    def half(plan):
        query = right(plan)
        query.l1 //= 2
        return query

    assert 0.999 < excess(MASSES) <= 1
    monkeypatch.setattr("dplearn.audit.cases.logistic_regression.mass_query", half)
    assert excess(MASSES.with_fit(MASSES.fit)) > 1.9


def test_columns_that_are_kept_by_their_exact_masses_break_the_claim(monkeypatch):
    def by_data(rows, dice):
        shown, _ = MASSES.fit(rows, dice)
        masses = np.abs(np.array(rows)[:, :2]).sum(axis=0)
        return shown + str(columns.kept_columns(masses, threshold=0.0, most=1)), None

    assert excess(MASSES.with_fit(by_data)) == math.inf


def test_masses_of_squares_that_are_not_shares_break_the_claim(monkeypatch):
    monkeypatch.setattr(columns, "_masses", lambda rows, most: np.rint(rows.data**2 * most).astype(np.int64))
    assert excess(MASSES.with_fit(MASSES.fit)) > 1.5


@pytest.mark.nightly
def test_weighted_gradients_with_noise_for_an_added_record_break_the_claim(monkeypatch):
    case = CASES["logistic_class_weights"]
    right = cases.products_query

    def half(*given):
        query = right(*given)
        query.l1 //= 2
        return query

    monkeypatch.setattr(cases, "products_query", half)
    assert excess(case.with_fit(case.fit)) > 1.1


@pytest.mark.nightly
def test_classes_that_are_counted_with_half_the_noise_break_the_claim(monkeypatch):
    case = CASES["logistic_class_weights"]
    right = logistic_steps.count_query

    def half(n_classes):
        query = right(n_classes)
        query.l1 //= 2
        return query

    monkeypatch.setattr(logistic_steps, "count_query", half)
    assert excess(case.with_fit(case.fit)) > 1.2
