"""Additive models of straight lines by the queries of logistic regression, for few records and many labels.

Where noise allows no more than a straight line for each column, and there are three labels or more, two
statistics stand out from the noise: the mean row, and the difference of each label's mean row from it. After
the masses of the cells, a fit asks for these two, of rows of one length, and for the scale of the margins;
shapes, correlations and gradient steps would share the same budget. The margins are divided by the length of
a typical row instead of each row's own length, so that the model is a sum of effects of columns.

>>> from dplearn.domains import Categories, IntegerRange
>>> from dplearn.learners.additive_columns import column_of
>>> line_rows(column_of(IntegerRange(0, 2, missing=True))).tolist()
[[0.0, 1.0], [-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
>>> line_rows(column_of(Categories(["north", "south"]))).tolist()
[[1.0, 0.0], [0.0, 1.0]]
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.estimator.recipe import Public
from dplearn.learners.additive_columns import Column
from dplearn.learners.additive_model import AdditiveModel
from dplearn.learners.linear import FINEST, LogisticPlan, can_be_drawn, learn_logistic, logistic_plan
from dplearn.privacy import ApproxDP
from dplearn.queries import LabelledRows, Oracle

__all__ = ["learn_linear", "line_rows", "linear_plan"]

Floats64 = NDArray[np.float64]

_BLOCK = 1 << 14  # records whose numbers are held as floats
_LEVELS = 9  # of scores, by magnitude, in the last query


def line_rows(column: Column) -> Floats64:
    """Return the numbers of each cell: its place in [-1, 1] and an indicator of a missing number, or one-hot.

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


def linear_plan(
    cost: ApproxDP, share: Fraction, n_samples: int, n_numbers: int, n_labels: int
) -> LogisticPlan | None:
    """Return the plan of the queries after that for the masses, with the noise of the whole budget of a fit.

    Parameters
    ----------
    cost : ApproxDP
        The cost of the fit; of a positive delta.
    share : Fraction
        The share of the budget of these queries.
    n_samples, n_numbers, n_labels : int
        The numbers of records, of numbers in all rows of a record, and of labels.

    Returns
    -------
    LogisticPlan or None
        With as many bits as the sampler of noise allows; None if it allows none.
    """
    public = Public(n_samples, n_numbers, n_labels)
    for bits in range(FINEST, -1, -1):
        params: Any = SimpleNamespace(
            cost=cost,
            n_steps=1,
            class_weight=None,
            finest=bits,
            levels=_LEVELS,
            most_columns=n_numbers,
        )
        with suppress(ValueError):  # no noise can be drawn even with the whole budget
            # One step needs no second moments: on the tables of `_is_linear`, declared ranges make columns
            # similar enough, and the mean row is known much better.
            plan = replace(logistic_plan(params, public), second_moments=False)
            if can_be_drawn(plan, share):
                return plan
    return None


def learn_linear(
    oracle: Oracle,
    columns: Sequence[Column],
    masses: Sequence[Floats64],
    plan: LogisticPlan,
    share: Fraction,
) -> AdditiveModel:
    """Learn an additive model of straight lines and effects of categories.

    Parameters
    ----------
    oracle : Oracle
        For `LabelledRows` with cells in X, and codes of labels in y.
    columns : sequence of Column
        Public, or released. The cells of each column.
    masses : sequence of ndarray of shape (cells,)
        Released. The shares of records in the cells of each column.
    plan : LogisticPlan
        From `linear_plan`.
    share : Fraction
        Public. The share of the oracle's budget that is spent.

    Returns
    -------
    AdditiveModel
    """
    tables = [line_rows(column) for column in columns]
    model = learn_logistic(oracle.within(share).map(partial(_image, tables, plan)), plan)
    assert model.covariance is not None
    intercept, effects, deviations, start = model.offsets + model.weights[-1], [], [], 0
    for table, mass in zip(tables, masses, strict=True):
        own = slice(start, start := start + table.shape[1])
        mean, covariance = mass @ table, model.covariance[own, own]
        variances = np.einsum("cr,rs,cs->c", table - mean, covariance, table - mean).clip(0.0)
        effects.append((table - mean) @ model.weights[own])
        deviations.append(np.repeat(np.sqrt(variances)[:, None], plan.n_classes, axis=1))
        intercept = intercept + mean @ model.weights[own]
    return AdditiveModel(intercept, effects, deviations, list(masses))


def _image(tables: Sequence[Floats64], plan: LogisticPlan, records: LabelledRows) -> LabelledRows:
    """Return the rows of records, of one length, in integers; a block of records at a time."""
    blocks = [plan.rows(np.zeros((0, plan.n_numbers)))]
    for start in range(0, len(records), _BLOCK):
        cells = records.X[start : start + _BLOCK].T
        numbers = [table[each] for table, each in zip(tables, cells, strict=True)]
        blocks.append(plan.rows(np.concatenate(numbers, axis=1)))
    return LabelledRows(np.concatenate(blocks), records.y)
