"""A stack of functions is minimised as by scipy, and no function changes another one's minimum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dplearn.ensembles import batched_descent
from dplearn.ensembles.batched_descent import minimise

K, P = 12, 4
RNG = np.random.default_rng(0)
STARTS = RNG.uniform(-2, 2, size=(K, P))
SCALES = 10.0 ** RNG.uniform(-1, 1, size=(K, P))


def valleys(points):
    """Rosenbrock's function with a scale of its own for each row, which needs many steps in line searches."""
    x = points * SCALES[: len(points)]
    ahead, here = x[:, 1:], x[:, :-1]
    values = (10 * (ahead - here**2) ** 2 + (1 - here) ** 2).sum(axis=1)
    slopes = np.zeros_like(x)
    slopes[:, :-1] = -40 * here * (ahead - here**2) - 2 * (1 - here)
    slopes[:, 1:] += 20 * (ahead - here**2)
    return values, slopes * SCALES[: len(points)]


def hills(points):
    """A sum of logistic losses and a weak square, which is flat far away."""
    x = (points * SCALES[: len(points)]) - 1
    values = np.logaddexp(0, x).sum(axis=1) + 0.01 * (points**2).sum(axis=1)
    return values, SCALES[: len(points)] / (1 + np.exp(-x)) + 0.02 * points


def alone(loss, i, max_iter):
    def one(point):
        points = STARTS.copy()
        points[i] = point
        values, slopes = loss(points)
        return values[i], slopes[i]

    how = {"gtol": 1e-6, "ftol": 64 * np.finfo(float).eps, "maxls": 50, "maxiter": max_iter}
    return minimize(one, STARTS[i], jac=True, method="L-BFGS-B", options=how)


@pytest.mark.parametrize("loss", [valleys, hills])
def test_each_row_takes_the_iterations_of_scipy(loss):
    least = minimise(loss, STARTS, tol=1e-6, max_iter=60)
    found = [alone(loss, i, 60) for i in range(K)]
    few = [i for i in range(K) if least.converged[i]]
    assert len(few) >= K / 2
    assert least.n_iter[few].tolist() == [found[i].nit for i in few]
    for i in few:
        np.testing.assert_allclose(least.points[i], found[i].x, rtol=1e-5, atol=1e-8)


def test_a_row_that_needs_more_iterations_has_not_converged():
    least = minimise(valleys, STARTS, tol=1e-6, max_iter=5)
    assert not least.converged.any()
    assert (least.n_iter == 5).all()


def spoiled(rows, how):
    """Return valleys in which some rows are something else."""

    def loss(points):
        values, slopes = valleys(points)
        if how == "nan":
            values[rows], slopes[rows] = np.nan, np.nan
        elif how == "flat":
            values[rows], slopes[rows] = 0, 0
        elif how == "endless":
            values[rows], slopes[rows] = points[rows].sum(axis=-1), 1
        elif how == "wrong":
            slopes[rows] = -slopes[rows]
        elif how == "huge":
            values[rows], slopes[rows] = values[rows] * 1e300, slopes[rows] * 1e300
        return values, slopes

    return loss


def changed_rows(how):
    """Return which rows have other bits if the first rows are something else."""
    with np.errstate(all="raise"):
        before = minimise(valleys, STARTS, tol=1e-6, max_iter=60)
        after = minimise(spoiled(slice(0, 3), how), STARTS, tol=1e-6, max_iter=60)
    assert before.converged[3:].any()
    bits = [np.column_stack([m.points.view(np.int64), m.n_iter, m.converged]) for m in (before, after)]
    return set(np.flatnonzero((bits[0] != bits[1]).any(axis=1)).tolist())


@pytest.mark.parametrize("how", ["nan", "flat", "endless", "wrong", "huge"])
def test_no_row_changes_a_bit_of_another_row(how):
    assert changed_rows(how) == {0, 1, 2}


def test_a_stop_that_the_rows_share_is_noticed(monkeypatch):
    real = batched_descent._flat
    monkeypatch.setattr(batched_descent, "_flat", lambda *each: np.full(K, real(*each).any()))
    assert changed_rows("flat") > {0, 1, 2}


def test_rows_at_their_minimum_take_no_step():
    least = minimise(hills, STARTS, tol=1e9, max_iter=60)
    assert least.points.tolist() == STARTS.tolist()
    assert least.converged.all()
    assert not least.n_iter.any()
