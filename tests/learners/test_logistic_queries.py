import math
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from scipy.special import softmax

from dplearn.learners.linear.logistic_queries import (
    Mapped,
    label_parts,
    mean_row_query,
    moments_query,
    predicted_parts,
    products_query,
)
from dplearn.queries import LabelledRows
from tests.learners.logistic_plans import plan_of


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


PLANS = [
    plan_of(d, k, order=order, bits=bits)
    for d, k, order, bits in [
        (4, 2, 1, 10),
        (4, 2, 2, 10),
        (3, 3, 1, 7),
        (3, 3, 2, 7),
        (2, 10, 2, 1),
        (5, 4, 2, 0),
    ]
]


shapes = pytest.mark.parametrize(
    "plan", PLANS, ids=lambda plan: f"{plan.n_columns}-{plan.n_classes}-{plan.order}-{plan.bits}"
)


@shapes
def test_totals_are_the_sums_of_rows_that_keep_their_norms(plan):
    records = example(plan)
    for query in queries(plan):
        each = query._function(records).astype(object)
        assert query.inputs(records).tolist() == each.tolist()  # none was longer, and so counted as zeros
        assert query.total(records).tolist() == each.sum(axis=0).tolist()
        if plan.order == 1:
            assert np.abs(each).sum(axis=1).max() <= query.norm == query.added_l1


@shapes
def test_one_replaced_record_moves_totals_by_no_more_than_is_claimed(plan):
    records = example(plan, n=40, seed=1)
    for query in queries(plan, seed=1):
        rows = query.inputs(records).astype(object)
        apart = rows[:, None, :] - rows[None, :, :]
        assert (apart**2).sum(axis=2).max() <= query.squared_l2
        if plan.order == 1:
            assert np.abs(apart).sum(axis=2).max() <= query.l1


def test_claims_are_no_looser_than_they_need_be():
    plan = plan_of(2, 2, order=2, bits=10)
    far = LabelledRows(plan.rows(np.array([[1e30], [0.0], [-1e30]])), np.array([0, 0, 0]))
    first, second, third = moments_query(plan).inputs(far).astype(object)
    assert ((first - second) ** 2).sum() == moments_query(plan).squared_l2
    first, _, third = mean_row_query(plan).inputs(far).astype(object)
    assert ((first - third) ** 2).sum() == mean_row_query(plan).squared_l2
    labels = products_query(plan, Mapped(plan, np.eye(2)), label_parts(plan))
    first, _, third = labels.inputs(far).astype(object)
    assert ((first - third) ** 2).sum() == labels.squared_l2


def test_a_vector_of_products_is_as_long_as_their_matrix():
    plan = plan_of(6, 2)
    records = example(plan)
    lengths = np.sqrt((moments_query(plan).inputs(records).astype(float) ** 2).sum(axis=1)) / 5
    matrices = (records.X.astype(float) ** 2).sum(axis=1)
    assert (lengths <= matrices).all()
    assert (lengths >= 0.98 * matrices).all()


@pytest.mark.parametrize("k", [2, 3, 7])
def test_centred_parts_have_the_claimed_norm(k):
    plan = plan_of(2, k)
    labels = label_parts(plan)(np.ones((k, 2)), np.arange(k)).astype(object)
    square = int(max((labels**2).sum(axis=1)))
    assert plan.norm == isqrt(square * plan.reach**2 - 1) + 1


def test_predictions_are_softmax_rounded_down_to_parts():
    plan = plan_of(5, 4)
    records = example(plan, n=500)
    weights = 6 * np.random.default_rng(3).normal(size=(5, 4))
    parts = predicted_parts(plan, weights)(records.X.astype(float), records.y) + plan.portion
    exact = softmax(records.X / plan.reach @ weights, axis=1)
    assert np.abs(parts / plan.whole - exact).max() < 0.004
    assert (parts >= 0).all()
    assert (parts.sum(axis=1) <= plan.whole).all()


def test_predictions_do_not_depend_on_how_rows_lie_in_memory():
    plan = plan_of(40, 3)
    records = example(plan, n=257)
    weights = np.random.default_rng(4).normal(size=(40, 3))
    mapped = Mapped(plan, np.random.default_rng(5).normal(size=(40, 40)))
    parts = predicted_parts(plan, weights)
    rows = mapped.of(records).astype(float)
    whole = parts(rows, records.y)
    for start in (1, 100, 256):
        rest = LabelledRows(np.asfortranarray(records.X[start:]), records.y[start:])
        assert np.array_equal(mapped.of(rest), rows[start:])
        assert np.array_equal(parts(np.asfortranarray(rows[start:]), rest.y), whole[start:])


@pytest.mark.parametrize("k", [2, 3])
def test_predictions_are_those_of_each_row_by_itself(k):
    plan = plan_of(3, k)
    rows, weights = example(plan, n=400).X.astype(float), 5 * np.random.default_rng(6).normal(size=(3, k))
    likely = [exact_likelihoods(plan, row, weights) for row in rows]
    parts = [[math.floor(Fraction(one * plan.whole, sum(each))) for one in each] for each in likely]
    assert (
        predicted_parts(plan, weights)(rows, np.zeros(400, int)).tolist()
        == plan.less(np.array(parts)).tolist()
    )


def exact_likelihoods(plan, row, weights):
    """The likelihoods of the classes of one row, by exact arithmetic up to the exponential."""
    steps = np.rint(weights * 2**10).astype(int).T.tolist()
    margins = [sum(int(x) * w for x, w in zip(row, column, strict=True)) for column in steps]
    behind = [Fraction(max(margins) - margin, 2**10 * plan.reach) for margin in margins]
    return [0 if each >= 16 else round(2**20 * math.exp(-math.floor(each * 2**9) / 2**9)) for each in behind]


def test_weights_of_any_size_leave_margins_exact():
    plan = plan_of(3, 2)
    records = example(plan)
    huge = predicted_parts(plan, np.array([[1e200, -1e200]] * 3))(records.X.astype(float), records.y)
    signs = np.sign(records.X.sum(axis=1))
    assert np.array_equal(huge[:, 0], -signs * plan.portion)


def test_rows_are_computed_once_for_the_same_records():
    plan = plan_of(3, 2)
    records, mapped = example(plan), Mapped(plan, np.eye(3))
    rows = mapped.of(records)
    assert mapped.of(records) is rows
    assert mapped.of(records[np.arange(3)]).shape == (3, 3)
    assert mapped.of(records) is rows


@pytest.mark.parametrize("n_steps", [1, 2, 24])
def test_shares_are_all_of_the_budget(n_steps):
    plan = plan_of(2, 2, n_steps=n_steps)
    directions, labels, step = plan.shares
    assert directions + labels + (n_steps - 1) * step + plan.calibration_share == Fraction(1)
