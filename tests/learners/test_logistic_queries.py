from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from scipy.special import softmax

from dplearn.learners.logistic_queries import (
    LogisticTask,
    Mapped,
    label_parts,
    mean_row_query,
    moments_query,
    predicted_parts,
    products_query,
)
from dplearn.queries import Examples


def example(task, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, task.n_columns - 1)) * rng.choice([0, 0.1, 1, 30], size=(n, task.n_columns - 1))
    return Examples(task.rows(X), rng.integers(task.n_classes, size=n))


def queries(task, seed=0):
    rng = np.random.default_rng(seed)
    mapped = Mapped(task, rng.normal(size=(task.n_columns, task.n_columns)))
    weights = 40 * rng.normal(size=(task.n_columns, task.n_classes))
    return [
        moments_query(task),
        mean_row_query(task),
        products_query(task, mapped, label_parts(task)),
        products_query(task, mapped, predicted_parts(task, mapped, weights)),
    ]


TASKS = [
    LogisticTask(d, k, order=order, bits=bits)
    for d, k, order, bits in [
        (4, 2, 1, 10),
        (4, 2, 2, 10),
        (3, 3, 1, 7),
        (3, 3, 2, 7),
        (2, 10, 2, 1),
        (5, 4, 2, 0),
    ]
]


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_totals_are_the_sums_of_rows_that_keep_their_norms(task):
    records = example(task)
    for query in queries(task):
        each = query._function(records).astype(object)
        assert query.inputs(records).tolist() == each.tolist()  # none was longer, and so counted as zeros
        assert query.total(records).tolist() == each.sum(axis=0).tolist()
        if task.order == 1:
            assert np.abs(each).sum(axis=1).max() <= query.norm


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_one_replaced_record_moves_totals_by_no_more_than_is_claimed(task):
    records = example(task, n=40, seed=1)
    for query in queries(task, seed=1):
        rows = query.inputs(records).astype(object)
        apart = rows[:, None, :] - rows[None, :, :]
        assert (apart**2).sum(axis=2).max() <= query.squared_l2
        if task.order == 1:
            assert np.abs(apart).sum(axis=2).max() <= query.l1


def test_claims_are_no_looser_than_they_need_be():
    task = LogisticTask(2, 2, order=2, bits=10)
    far = Examples(task.rows(np.array([[1e30], [0.0], [-1e30]])), np.array([0, 0, 0]))
    first, second, third = moments_query(task).inputs(far).astype(object)
    assert ((first - second) ** 2).sum() == moments_query(task).squared_l2
    first, _, third = mean_row_query(task).inputs(far).astype(object)
    assert ((first - third) ** 2).sum() == mean_row_query(task).squared_l2
    labels = products_query(task, Mapped(task, np.eye(2)), label_parts(task))
    first, _, third = labels.inputs(far).astype(object)
    assert ((first - third) ** 2).sum() == labels.squared_l2


def test_a_vector_of_products_is_as_long_as_their_matrix():
    task = LogisticTask(6, 2)
    records = example(task)
    lengths = np.sqrt((moments_query(task).inputs(records).astype(float) ** 2).sum(axis=1)) / 5
    matrices = (records.X**2).sum(axis=1)
    assert (lengths <= matrices).all()
    assert (lengths >= 0.98 * matrices).all()


@pytest.mark.parametrize("k", [2, 3, 7])
def test_what_is_said_of_classes_is_as_long_as_is_claimed(k):
    task = LogisticTask(2, k)
    labels = label_parts(task)(Examples(np.ones((k, 2)), np.arange(k))).astype(object)
    square = int(max((labels**2).sum(axis=1)))
    assert task.norm == isqrt(square * task.reach**2 - 1) + 1


def test_predictions_are_softmax_rounded_down_to_parts():
    task = LogisticTask(5, 4)
    records = example(task, n=500)
    mapped = Mapped(task, np.eye(5))
    weights = 6 * np.random.default_rng(3).normal(size=(5, 4))
    parts = predicted_parts(task, mapped, weights)(records) + task.portion
    exact = softmax(records.X / task.reach @ weights, axis=1)
    assert np.abs(parts / task.whole - exact).max() < 0.004
    assert (parts >= 0).all()
    assert (parts.sum(axis=1) <= task.whole).all()


def test_predictions_do_not_depend_on_how_rows_lie_in_memory():
    task = LogisticTask(40, 3)
    records = example(task, n=257)
    weights = np.random.default_rng(4).normal(size=(40, 3))
    mapped = Mapped(task, np.random.default_rng(5).normal(size=(40, 40)))
    parts = predicted_parts(task, mapped, weights)
    whole = parts(records)
    for start in (1, 100, 256):
        rest = Examples(np.asfortranarray(records.X[start:]), records.y[start:])
        assert np.array_equal(parts(rest), whole[start:])


def test_weights_of_any_size_leave_margins_exact():
    task = LogisticTask(3, 2)
    records = example(task)
    mapped = Mapped(task, np.eye(3))
    huge = predicted_parts(task, mapped, np.array([[1e200, -1e200]] * 3))(records)
    signs = np.sign(records.X.sum(axis=1))
    assert np.array_equal(huge[:, 0], -signs * task.portion)


def test_rows_are_computed_once_for_the_same_records():
    task = LogisticTask(3, 2)
    records, mapped = example(task), Mapped(task, np.eye(3))
    rows = mapped.of(records)
    assert mapped.of(records) is rows
    assert mapped.of(records[np.arange(3)]).shape == (3, 3)
    assert mapped.of(records) is not rows


@pytest.mark.parametrize("n_steps", [1, 2, 24])
def test_shares_are_all_of_the_budget(n_steps):
    task = LogisticTask(2, 2, n_steps=n_steps)
    directions, labels, step = task.shares
    assert directions + labels + (n_steps - 1) * step + task.calibration_share == Fraction(1)
