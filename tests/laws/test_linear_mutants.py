"""Deliberate mistakes in linear and logistic regression: on two neighbouring tables each moves the released
sums further than the noise is for, breaks the enumerated claim, or leaves the proof's draws; no original
does. What all cases that ask an oracle share is in test_ask_mutants.
"""

import math

import numpy as np
import pytest

from dplearn import LinearRegressor
from dplearn.audit.cases import CASES
from dplearn.audit.cases import logistic_regression as cases
from dplearn.audit.cases.linear_regression import LINEAR_REPLAYS, UNIVERSE
from dplearn.audit.cases.logistic_regression import LOGISTIC_REPLAYS, logistic_plan_case
from dplearn.audit.fits import ready
from dplearn.learners.linear import columns, logistic_steps, regression
from dplearn.learners.linear import logistic_queries as queries
from dplearn.learners.linear.logistic_queries import mean_row_query, moments_query
from dplearn.learners.linear.regression import target_moments_query
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows, VectorQuery
from dplearn.table.targets import STEPS, TargetRange
from tests.changed import with_recipe
from tests.laws.mutants import (
    CERTAIN,
    Mistake,
    around,
    assert_caught,
    halved,
    in_places,
    instead,
    instead_of_the_fit,
    mistakes,
)
from tests.laws.test_ask_mutants import noise_that_the_data_scale
from tests.learners.logistic_plans import plan_of


@pytest.mark.parametrize("case", [*LINEAR_REPLAYS, *LOGISTIC_REPLAYS], ids=lambda case: case.name)
def test_larger_fits_draw_as_the_proof_says(case):
    assert not case.replay(seeds=1)


@pytest.mark.parametrize("case", [LINEAR_REPLAYS[1], LOGISTIC_REPLAYS[1]], ids=lambda case: case.name)
def test_noise_that_the_data_scale_breaks_replay(case, monkeypatch):
    noise_that_the_data_scale(monkeypatch)
    assert case.with_fit(case.fit).replay(seeds=1)


# How far the moments of linear regression move

#: Two longer rows; the last number is the target.
LONG = ((100.0, 1.0, 1.0), (1.0, -100.0, -1.0))
#: Two rows as long as can be, whose inner product, targets included, is nearly 0.
ORTHOGONAL = ((1.0, 0.0, 1.0), (0.0, 1.0, -1.0))
#: Two rows of many numbers just above half a step, with opposite signs in half of the columns.
HALVES = ((0.51,) * 40 + (1.0,), (0.51,) * 20 + (-0.51,) * 20 + (-1.0,))
FAR, BEYOND = ((1e9, 0.0, 0.0), (0.0, 1e9, 0.0)), ((0.5, 0.5, 3.0), (0.5, 0.5, 0.0))


def share_moved(pair, *, made=LinearRegressor, delta=1e-6, bits=6):
    """Return by what share of the bound that noise is scaled to the moments of two tables differ."""
    totals = []
    for rows in pair:
        learner = made(target_range=(-1, 1), epsilon=1.0, delta=delta)
        learner._finest = bits
        table = np.array(rows if isinstance(rows[0], tuple) else [rows])
        fit = ready(learner, table[:, :-1], table[:, -1])
        query = target_moments_query(fit.plan)
        totals.append(query.total(fit.summary).astype(object))
    move = totals[0] - totals[1]
    if fit.plan.order == 1:
        return float(np.abs(move).sum() / query.l1)
    return math.sqrt((move**2).sum() / query.squared_l2)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("bits", [0, 6])
def test_no_witness_moves_the_moments_further_than_the_noise_is_for(delta, bits):
    for pair in (LONG, ORTHOGONAL, HALVES, FAR):
        assert share_moved(pair, delta=delta, bits=bits) <= 1
    assert share_moved(ORTHOGONAL) > 0.95
    # The exact epsilon of the enumerated case.
    assert share_moved((UNIVERSE[3], UNIVERSE[4]), delta=0, bits=0) == pytest.approx(5 / 6)


def a_constant_left_out_of_the_length(right, table, targets, plan):
    rows = right(table, targets, plan)
    rows[:, -2], rows[:, -1] = plan.steps, targets
    return rows


def lengths_before_rounding(right, rows, order):
    return 0.0 * right(rows, order) if (rows == np.rint(rows)).all() else right(rows, order)


def half_of_the_sensitivity(right, self, *given, **known):
    right(self, *given, **known)
    self.squared_l2, self.l1 = self.squared_l2 // 2, self.l1 and self.l1 // 2


def one_weight(weight):
    return around(regression, "_weights", lambda right, plan: np.full_like(right(plan), weight), "one_weight")


@pytest.mark.parametrize(
    ("mistake", "pair", "known", "least"),
    [
        (around(VectorQuery, "__init__", half_of_the_sensitivity), ORTHOGONAL, {}, 1.3),
        (
            around(VectorQuery, "__init__", half_of_the_sensitivity),
            (UNIVERSE[3], UNIVERSE[4]),
            {"delta": 0, "bits": 0},
            1.6,
        ),
        (around(regression, "_shortened", a_constant_left_out_of_the_length), LONG, {}, 1.1),
        (around(regression, "norm_powers", lengths_before_rounding), HALVES, {"bits": 0}, 1.1),
        (
            instead(
                TargetRange,
                "encode",
                lambda self, numbers: np.rint(numbers * STEPS).astype(np.int64),
                "a_target_beyond_its_range",
            ),
            BEYOND,
            {},
            1.1,
        ),
        (one_weight(7), ORTHOGONAL, {}, 1.01),
        (one_weight(2), FAR, {"delta": 0}, 1.01),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_mistake_in_the_moments_moves_them_too_far(mistake, pair, known, least, monkeypatch):
    mistake(monkeypatch)
    assert share_moved(pair, **known) > least


def range_of_data(own):
    def encoded(self, X, y, reader):
        target = TargetRange.of((min(y) - 1e-3, max(y) + 1e-3), clip=True)
        return own(self.given(target=target), X, y, reader)

    return encoded


def length_of_the_longest(own):
    return lambda self, rows, plan: own(self, LabelledRows(rows.X / np.abs(rows.X).max(), rows.y), plan)


def summed_twice(own):
    return lambda self, rows, plan: np.vstack([own(self, rows, plan)] * 2)


def beside(row, *, many):
    return (*(many,) * 30, row)


@pytest.mark.parametrize(
    ("changes", "pair", "least"),
    [
        (
            {"encoded": range_of_data},
            [beside((0.0, 0.0, end), many=(0.2, 0.1, 0.01)) for end in (1.0, -1.0)],
            2,
        ),
        (
            {"summarize": length_of_the_longest},
            [beside((end, 0.5, 1.0), many=(0.5, 0.5, 1.0)) for end in (0.5, 50.0)],
            2,
        ),
        ({"summarize": summed_twice}, LONG, 1.1),
    ],
    ids=["range", "length", "twice"],
)
def test_what_the_data_settle_moves_the_moments_too_far(changes, pair, least):
    assert share_moved(pair) <= 1
    assert share_moved(pair, made=with_recipe(LinearRegressor, **changes)) > least


# Queries of logistic regression


def answered(asked, universe, n=1, replaced=None):
    """The case of one query about n records at epsilon 1, whose rows may be made by another function."""
    plan = plan_of(2, 2, order=1, n_steps=1, bits=0)

    def fit(rows, dice):
        table = np.array(rows)[:, :-1]
        scaled = plan.rows(table) if replaced is None else replaced(table)
        oracle = CentralOracle(LabelledRows(scaled, np.zeros(n)), privacy=ApproxDP(1), dice=dice)
        return str(oracle.ask(asked(plan))[0].means.round(6).tolist()), None

    return logistic_plan_case(f"{asked.__name__} of {n}", plan, universe, n).with_fit(fit)


def in_rows(title, asked, replaced, universe, *pair):
    """A mistake in the rows that a query is about."""
    n = len(pair[0])
    wrong = answered(asked, universe, n, replaced).fit
    pair = tuple(tuple(universe[place] for place in rows) for rows in pair)
    return Mistake(instead_of_the_fit(title, wrong), answered(asked, universe, n), pair)


def gradient(task):
    sure = queries.predicted_parts(task, np.array([[-99.0, 99.0], [-99.0, 99.0]]))
    return queries.products_query(task, queries.Mapped(task, np.eye(2)), sure)


def as_they_are(table):
    return np.hstack([table, np.zeros_like(table)])


def by_the_longest(table):
    """One far record takes the other's row from 1 to 0, and its own from one end to the other."""
    rows = as_they_are(table)
    return np.trunc(rows / max(np.abs(rows).max(), 1.0))


def intercept_apart(table):
    return np.hstack([np.sign(table), np.ones_like(table)])


def doubled_weights_forgotten(right, plan):
    """Weights of 2 on the diagonal too, with the norm for 1."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "moment_weights", lambda order: (2, 2))
        query = right(plan)
    query.l1 //= 2
    return query


def kept_by_their_exact_masses(rows, dice):
    shown, _ = CASES["logistic_masses"].fit(rows, dice)
    masses = np.abs(np.array(rows)[:, :2]).sum(axis=0)
    return shown + str(columns.kept_columns(masses, threshold=0.0, most=1)), None


def squares_that_are_not_shares(rows, most):
    return np.rint(rows.data**2 * most).astype(np.int64)


def moments(plan):
    return queries.moments_query(plan)


UNIT, MASSES = cases.UNIVERSE[::2], CASES["logistic_masses"]
ENDS = in_places("logistic_masses", (0, 1), (0, 2))
LOGISTIC = [
    in_rows(
        "clipped_after_they_are_summed",
        mean_row_query,
        as_they_are,
        [(-3.0, 0), (0.0, 0), (3.0, 0)],
        (0, 1),
        (2, 1),
    ),
    in_rows(
        "by_the_longest", mean_row_query, by_the_longest, [(-9.0, 0), (1.0, 0), (9.0, 0)], (0, 1), (1, 1)
    ),
    in_rows("intercept_apart", moments_query, intercept_apart, [(-1.0, 0), (1.0, 0)], (0, 0, 1), (1, 0, 1)),
    Mistake(halved(queries, "products_query"), answered(gradient, UNIT), ((UNIT[0],), (UNIT[1],))),
    Mistake(
        around(queries, "moments_query", doubled_weights_forgotten),
        answered(moments, UNIT),
        ((UNIT[0],), (UNIT[1],)),
    ),
    Mistake(halved(cases, "mass_query"), MASSES, ENDS),
    Mistake(instead_of_the_fit("kept_by_masses", kept_by_their_exact_masses), MASSES, ENDS, CERTAIN),
    Mistake(instead(columns, "_masses", squares_that_are_not_shares), MASSES, ENDS),
    *(
        Mistake(halved(place, name), "logistic_class_weights", ((one,), (other,)), late=True)
        for place, name in ((cases, "products_query"), (logistic_steps, "count_query"))
        for one, other in [CASES["logistic_class_weights"].universe[:2]]
    ),
]


@mistakes(LOGISTIC)
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)
