"""Linear effects, of few records with three labels or more: logistic regression in place of shapes and steps.

Where noise allows no more than a straight line for each column, two questions have answers that stand out:
where the records are, and how each label differs from this. The queries of logistic regression ask only
these, of rows of one length, and then for the scale of the margins. Shapes, correlations and gradient steps
would share the same budget. The margins are divided by the length of a typical row instead of each row's own
length, so that the model is a sum of effects of columns, as every additive model is.

>>> from dplearn.domains import Categories, IntegerRange
>>> from dplearn.learners.additive_columns import column_of
>>> line_rows(column_of(IntegerRange(0, 2, missing=True))).tolist()
[[0.0, 1.0], [-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
>>> line_rows(column_of(Categories(["north", "south"]))).tolist()
[[1.0, 0.0], [0.0, 1.0]]
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dplearn.core.last_result import LastResult
from dplearn.estimator.stages import Params, Public
from dplearn.learners.additive_columns import Column
from dplearn.learners.additive_losses import Base, Loss
from dplearn.learners.additive_model import AdditiveModel
from dplearn.learners.logistic_noise import logistic_plan
from dplearn.learners.logistic_plan import FINEST, LogisticPlan
from dplearn.learners.logistic_steps import learn_logistic
from dplearn.privacy import ApproxDP
from dplearn.queries import Examples, Oracle
from dplearn.queries.images import ImageOracle

__all__ = ["learn_linear", "line_rows", "linear_plan"]

Floats64 = NDArray[np.float64]

_BLOCK = 1 << 14  # records whose numbers are held as floats
_LEVELS = 9  # of scores, by magnitude, in the last query


def line_rows(column: Column) -> Floats64:
    """Return a row for each cell: a number from -1 to 1, and a 1 for a missing number; or one 1 a category.

    Parameters
    ----------
    column : Column
        Public, or released. The cells.

    Returns
    -------
    ndarray of float64 of shape (cells, r)
    """
    if not column.ordered:
        return np.eye(column.size)
    gap, numbers = column.gap, column.size - column.gap
    rows = np.zeros((column.size, 1 + gap))
    rows[gap:, 0] = np.linspace(-1.0, 1.0, numbers) if numbers > 1 else 0.0
    rows[:gap, 1:] = 1.0
    return rows


def linear_plan(cost: ApproxDP, n_samples: int, n_numbers: int, n_labels: int) -> LogisticPlan:
    """Return the plan of the queries, which have the whole budget of a fit.

    Parameters
    ----------
    cost : ApproxDP
        The cost of the fit; of a positive delta.
    n_samples, n_numbers, n_labels : int
        The numbers of records, of numbers in all rows of a record, and of labels.
    """
    params = Params(
        cost, trust_model="central", n_steps=1, finest=FINEST, levels=_LEVELS, most_columns=n_numbers
    )
    # One step needs no second moments: on the tables of `_is_linear`, declared ranges make columns similar
    # enough, and the mean row is known much better.
    return replace(logistic_plan(params, Public(n_samples, n_numbers, n_labels)), second_moments=False)


def learn_linear(oracle: Oracle, columns: Sequence[Column], plan: LogisticPlan, loss: Loss) -> AdditiveModel:
    """Learn an additive model of straight lines and effects of categories.

    Parameters
    ----------
    oracle : Oracle
        For `Examples` with cells in X, and codes of labels in y. All of its budget is spent.
    columns : sequence of Column
        Public, or released. The cells of each column.
    plan : LogisticPlan
        From `linear_plan`.
    loss : Loss
        Public. The loss whose margins the model has.

    Returns
    -------
    AdditiveModel
        Its masses are equal for all cells of a column, since they are not asked for.
    """
    tables = [line_rows(column) for column in columns]
    model = learn_logistic(ImageOracle(oracle, LastResult(partial(_image, tables, plan))), plan)
    ends = np.cumsum([0, *(table.shape[1] for table in tables)]).tolist()
    assert model.covariance is not None
    intercept, effects, deviations, masses = model.offsets + model.weights[-1], [], [], []
    for table, (start, stop) in zip(tables, pairwise(ends), strict=True):
        effect, mean = table @ model.weights[start:stop], table.mean(axis=0)
        centred, covariance = table - mean, model.covariance[start:stop, start:stop]
        variances = np.einsum("cr,rs,cs->c", centred, covariance, centred).clip(0.0)
        effects.append(effect - effect.mean(axis=0))
        deviations.append(np.repeat(np.sqrt(variances)[:, None], effect.shape[1], axis=1))
        masses.append(np.full(len(table), 1 / len(table)))
        intercept = intercept + effect.mean(axis=0)
    equal = np.full(plan.n_classes, 1 / plan.n_classes)
    curvature = equal * (1 - equal)
    base = Base(loss, np.zeros_like(equal), curvature, curvature, curvature, np.zeros_like(equal))
    return AdditiveModel(intercept, effects, deviations, masses, base)


def _image(tables: Sequence[Floats64], plan: LogisticPlan, records: Examples) -> Examples:
    """Return the rows of records, of one length, in integers; a block of records at a time."""
    parts = [plan.rows(np.zeros((0, plan.n_numbers)))]
    for start in range(0, len(records), _BLOCK):
        cells = records.X[start : start + _BLOCK].T
        numbers = [table[each] for table, each in zip(tables, cells, strict=True)]
        parts.append(plan.rows(np.concatenate(numbers, axis=1)))
    return Examples(np.concatenate(parts), records.y)
