"""Rows of linear regression on a public grid, and the query for their second moments.

A row consists of the columns, the constant 1 and the target. A row whose columns are too long is shortened
together with its constant and its target, which keeps a linear relation between them.

>>> from dplearn.estimator.public import Public
>>> from dplearn.privacy import ApproxDP
>>> plan = LinearPlan(ApproxDP(1, 1e-6), "gaussian", public=Public(2, 2), bits=3)
>>> plan.reach, plan.target_reach
(11, 7)
>>> rows = bounded_rows(np.array([[0.5, -0.5], [1.0, 1.0]]), np.array([STEPS, -STEPS]), plan)
>>> rows.tolist()  # the second row is longer than 11
[[4, -4, 8, 7], [6, 6, 6, -5]]
>>> query = moments_query(plan)
>>> matrix_of(plan, query.total(rows)).astype(int)[0].tolist()
[52, 20, 68, -2]
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.float_errors import ignores_float_errors
from dplearn.core.row_blocks import dense, float_blocks, row_blocks
from dplearn.core.unit_rows import norm_powers
from dplearn.learners.linear_plan import LinearPlan
from dplearn.learners.logistic_queries import moment_weights
from dplearn.queries import VectorQuery
from dplearn.records.targets import STEPS

__all__ = ["bounded_rows", "matrix_of", "moments_query"]


@ignores_float_errors
def bounded_rows(X: NDArray[Any], codes: NDArray[np.int64], plan: LinearPlan) -> NDArray[np.float64]:
    """Return rows of whole numbers: the columns and the constant, of norm at most `reach`, and the target.

    Parameters
    ----------
    X : ndarray or EncodedMatrix of shape (n, n_numbers - 2)
        Private. Finite numbers; the bound of a declared column is 1.
    codes : ndarray of int64 of shape (n,)
        Private. The targets, from `read_target`.
    plan : LinearPlan
        The plan of the fit.

    Returns
    -------
    ndarray of int32 of shape (n, n_numbers)
        Each row is a function of its own record.

    Notes
    -----
    Rows are rounded to the nearest step. If a rounded row is longer than `reach`, which is checked with exact
    whole numbers, it is shortened and rounded towards zero. A row that is still too long, because of float
    errors, is replaced by zeros.
    """
    n, d = X.shape
    rows = np.empty((n, d + 2), dtype=np.int32)
    for block in row_blocks(n, d):
        given = dense(X[block])
        columns = np.empty((len(given), d + 1))
        columns[:, :d], columns[:, d] = given, 1.0
        targets = np.rint(codes[block] * (plan.target_reach / STEPS))
        rows[block] = _shortened(columns, targets, plan)
    return rows


def _shortened(
    columns: NDArray[np.float64], targets: NDArray[np.float64], plan: LinearPlan
) -> NDArray[np.float64]:
    """Return a block of rows; see `bounded_rows`.

    Norms of rounded rows are exact: of fewer than 2**12 numbers none exceeds 2 * reach, and reach**2 < 2**30.
    """
    # Scaled to magnitudes of at most 1, so that no square overflows.
    largest = np.abs(columns).max(axis=1, keepdims=True)  # at least 1, the constant
    unit = columns / largest
    lengths = norm_powers(unit, plan.order)[:, None] ** (1 / plan.order)
    factors = np.minimum(plan.reach / plan.steps / lengths, largest)
    beyond = 2.0 * plan.reach / plan.steps
    rows = np.column_stack([np.rint(columns.clip(-beyond, beyond) * plan.steps), targets])
    long = norm_powers(rows[:, :-1], plan.order) > plan.reach**plan.order
    short = np.column_stack([unit * plan.steps * factors, targets[:, None] * (factors / largest)])
    rows[long] = np.trunc(short[long])
    rows[~(norm_powers(rows[:, :-1], plan.order) <= plan.reach**plan.order)] = 0.0  # NaN is not at most it
    return rows


def moments_query(plan: LinearPlan) -> VectorQuery:
    """Return the query for second moments: the products of numbers i <= j of a row, weighted.

    Parameters
    ----------
    plan : LinearPlan
        The plan of the fit.

    Notes
    -----
    **Privacy.** Between neighbours the totals move by at most `squared_l2`, or `l1`. Let v and w be two rows
    of norm at most sqrt(E), where E is `LinearPlan.energy`. With weights 5 and 7, the squared norm of the
    released numbers of v is 25 sum v_i^4 + 49 sum_{i<j} v_i^2 v_j^2 <= 25 |v|^4, since 49 < 2 * 25. The inner
    product of those of v and w is (49 (v w)^2 + sum v_i^2 w_i^2) / 2 >= 0, so their squared distance is at
    most 2 * (5 E)^2.

    With weights 1 and 2, let the columns with the constant have the L1 norm r at most, and the targets be y
    and z, at most t <= 2 r in magnitude. The products of columns move by at most 2 r^2, those with the target
    by 2 r (|y| + |z|), and that of the target with itself by |y^2 - z^2|. The sum is convex in |y| and |z|,
    and greatest at |y| = |z| = t, where it is 2 r^2 + 4 r t.

    An added record moves the totals by its own released numbers: by at most 5 E in the Euclidean norm, and
    with weights 1 and 2 by |v|_1^2 <= E in the L1 norm.
    """
    weights = _weights(plan)
    first, second = np.triu_indices(plan.n_numbers)

    def each(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        whole = rows.astype(np.int64)
        return whole[:, first] * whole[:, second] * weights

    def total(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        sums = np.zeros((plan.n_numbers, plan.n_numbers), dtype=np.int64)
        for _, block in float_blocks(
            rows
        ):  # at most 2**13 rows, and `energy` is below 2**40: exact in floats
            sums += (block.T @ block).astype(np.int64)
        return np.asarray(sums[first, second] * weights)

    norm = moment_weights(plan.order)[0] * plan.energy
    query = VectorQuery(
        each,
        size=plan.n_moments,
        norm=norm,
        total=total,
        l1=2 * plan.reach * (plan.reach + 2 * plan.target_reach) if plan.order == 1 else None,
        squared_l2=2 * norm**2 if plan.order == 2 else None,
        added_l1=norm if plan.order == 1 else None,
    )
    # No number of a row exceeds `reach`, or `target_reach`.
    largest = int(weights.max()) * max(plan.reach, plan.target_reach) ** 2
    query.low, query.high = -largest, largest
    return query


def matrix_of(plan: LinearPlan, moments: NDArray[Any]) -> NDArray[np.float64]:
    """Return released moments as a symmetric matrix, without their weights.

    Parameters
    ----------
    plan : LinearPlan
        The plan of the fit.
    moments : ndarray of shape (n_moments,)
        Released. The answer to the query.
    """
    upper = np.zeros((plan.n_numbers, plan.n_numbers))
    upper[np.triu_indices(plan.n_numbers)] = np.asarray(moments) / _weights(plan)
    return np.asarray(upper + np.triu(upper, 1).T)


def _weights(plan: LinearPlan) -> NDArray[np.int64]:
    """Return the weight of each moment."""
    on, off = moment_weights(plan.order)
    first, second = np.triu_indices(plan.n_numbers)
    return np.where(first == second, on, off).astype(np.int64)
