"""The queries of logistic regression: sums of integer vectors with proved norm bounds.

Rows are first scaled to one norm. Each later query is a sum of products of a row, or of its rescaled image
under a released matrix, with the centred parts of a label or of a prediction.

>>> from dplearn.queries import Examples
>>> from dplearn.estimator.public import Public
>>> from dplearn.privacy import ApproxDP
>>> public = Public(n_samples=2, n_features=1, n_labels=2)
>>> plan = LogisticPlan(ApproxDP(1), "gaussian", n_steps=1, second_moments=True, public=public, bits=3)
>>> records = Examples(plan.rows(np.array([[1.0], [0.0]])), np.array([0, 1]))
>>> records.X.tolist()
[[5, 5], [0, 8]]
>>> query = products_query(plan, Mapped(plan, np.eye(2)), label_parts(plan))
>>> query.total(records).tolist(), query.norm  # the centred part of a label is 4 or -4
([-20, 12], 32)
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.kept_results import KeptResults
from dplearn.core.row_blocks import float_blocks
from dplearn.core.unit_rows import unit_rows
from dplearn.learners.logistic_plan import LogisticPlan
from dplearn.learners.logistic_weights import WEIGHT_UNITS, count_query, weighted_parts
from dplearn.queries import Examples, HistogramQuery, StatisticalQuery, VectorQuery

__all__ = [
    "Mapped",
    "kinds_of_queries",
    "label_parts",
    "mean_row_query",
    "moment_weights",
    "moments_query",
    "predicted_parts",
    "products_query",
    "score_edges",
    "score_queries",
]

_FINE = 20  # bits of the released metric, and of a likelihood
_WEIGHT_BITS = 10  # bits after the binary point of the weights in a step's query
_HEAVIEST = 1 << 20  # norm bound of a column of weights: 30 bits, times 10 bits of a row, keep margins exact
_MARGIN_BITS = 9  # bits after the binary point of a margin
_SURE = 16  # a class whose margin is lower by this has probability 0: exp(-16) < 2**-23
_LAST = _SURE << _MARGIN_BITS  # the index of that margin in a table

#: From mapped rows as floats, and labels, to the centred parts of the classes, of shape (n, asked).
Parts = Callable[[NDArray[np.float64], NDArray[np.intp]], NDArray[np.float64]]


class Mapped:
    """Rows multiplied by a released metric and rescaled to one norm.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    metric : ndarray of shape (n_columns, n_columns)
        Released. The metric, in any scale.

    Attributes
    ----------
    metric : ndarray of shape (n_columns, n_columns)
        Released. The metric in integers, such that products with rows are exact.
    unit : float
        Released. The unit of these integers.
    """

    def __init__(self, plan: LogisticPlan, metric: NDArray[np.float64]):
        self._plan = plan
        self.unit = float(np.abs(metric).max()) * 2.0**-_FINE
        self.metric = np.rint(metric / self.unit)
        self._rows = KeptResults(self._mapped)

    def of(self, records: Examples) -> NDArray[np.integer[Any]]:
        """Return the mapped rows of records; cached for the same object.

        Parameters
        ----------
        records : Examples
            Records with rows from `LogisticPlan.rows`.
        """
        return np.asarray(self._rows(records))

    def _mapped(self, records: Examples) -> NDArray[np.integer[Any]]:
        return unit_rows(records.X, self._plan.reach, order=self._plan.order, image=self.metric)


def moment_weights(order: int) -> tuple[int, int]:
    """Return the weights of entries on and off the diagonal in `moments_query`.

    With 5 and 7, the norm of the vector of entries is at most 5 times the Frobenius norm of the matrix, since
    49 < 2 * 25. With 1 and 2, its L1 norm is the square of the L1 norm of the row.

    Parameters
    ----------
    order : {1, 2}
        The order of the row norm.
    """
    return (1, 2) if order == 1 else (5, 7)


def moments_query(plan: LogisticPlan) -> VectorQuery:
    """Return the query for second moments: the products of columns i <= j of a row.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    """
    d, (on, off) = plan.n_columns, moment_weights(plan.order)
    norm = on * plan.reach**2

    def upper(moments: Any) -> NDArray[np.int64]:
        first, second = np.triu_indices(d)
        weights = np.where(first == second, on, off)
        return (_whole(moments[first, second]).T * weights).T  # in integers, since a product may exceed 2**53

    def total(records: Examples) -> NDArray[np.int64]:
        return upper(sum((rows.T @ rows for _, rows in float_blocks(records.X)), np.zeros((d, d))))

    def each(records: Examples) -> NDArray[np.int64]:
        rows = records.X.astype(np.float64)
        return upper(np.einsum("ni,nj->ijn", rows, rows)).T

    # With 5 and 7, the inner product for two rows x, y is nonnegative: the terms 25 x_i^2 y_i^2 and 49 x_i
    # x_j y_i y_j sum to (49 (x y)^2 + sum x_i^2 y_i^2) / 2 >= 0. So |v - w|^2 <= |v|^2 + |w|^2.
    return VectorQuery(
        each,
        size=d * (d + 1) // 2,
        norm=norm,
        unit=Fraction(1, plan.reach**2),
        total=total,
        l1=_l1(norm, plan.order),
        squared_l2=2 * norm**2 if plan.order == 2 else None,
        added_l1=norm if plan.order == 1 else None,
    )


def mean_row_query(plan: LogisticPlan) -> VectorQuery:
    """Return the query for the mean row.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    """
    return VectorQuery(
        lambda records: _whole(records.X),
        size=plan.n_columns,
        norm=plan.reach,
        unit=Fraction(1, plan.reach),
        total=lambda records: records.X.sum(axis=0, dtype=np.int64),
        l1=_l1(plan.reach, plan.order),
        added_l1=plan.reach if plan.order == 1 else None,
    )


def products_query(
    plan: LogisticPlan, mapped: Mapped, parts: Parts, weights: NDArray[np.float64] | None = None
) -> VectorQuery:
    """Return the query for the products of mapped rows with centred parts of classes.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    mapped : Mapped
        The map from records to rescaled rows.
    parts : callable
        The map from rescaled rows and labels to integers of shape (n, asked), from `LogisticPlan.less`.
    weights : ndarray of shape (n_classes,), optional
        Released, or public. The weights of records by class, at most 1; see `weighted_parts`. None: all 1.
    """
    units = 1
    if weights is not None:
        units, parts = WEIGHT_UNITS, weighted_parts(parts, weights)
    norm = units * plan.norm

    def each(records: Examples) -> NDArray[np.int64]:
        rows = mapped.of(records).astype(np.float64)
        products = rows[:, :, None] * parts(rows, records.y)[:, None, :]
        return _whole(products.reshape(len(records), -1))

    def total(records: Examples) -> NDArray[np.int64]:
        blocks = float_blocks(mapped.of(records))
        sums = (rows.T @ parts(rows, records.y[block]) for block, rows in blocks)
        return _whole(sum(sums, np.zeros((plan.n_columns, plan.asked))).ravel())

    return VectorQuery(
        each,
        size=plan.n_columns * plan.asked,
        norm=norm,
        unit=Fraction(1, plan.reach * plan.whole * units),
        total=total,
        l1=_l1(norm, plan.order),
        added_l1=norm if plan.order == 1 else None,
    )


def label_parts(plan: LogisticPlan) -> Parts:
    """Return the map from labels to their centred parts.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    """
    return lambda rows, y: plan.less((y[:, None] == np.arange(plan.n_classes)) * plan.whole)  # noqa: ARG005


def predicted_parts(plan: LogisticPlan, weights: NDArray[np.float64]) -> Parts:
    """Return the map from rescaled rows to the centred parts of predictions, probabilities rounded down.

    Margins are exact integers, likelihoods are from a table, and no quotient of such numbers is so near to
    the next integer that it is rounded up to it in floats. The result therefore does not depend on the order
    of float additions.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    weights : ndarray of shape (n_columns, n_classes)
        Released, or public. The weights; numbers beyond a bound are clipped.
    """
    steps = _whole_weights(plan, weights)
    places = 2.0 ** (_MARGIN_BITS - _WEIGHT_BITS) / plan.reach  # a power of 2: products are exact
    if plan.n_classes == 2:
        ahead, table = (steps[:, 1] - steps[:, 0]) * places, _parts_by_margin(plan)

        def of_two(rows: NDArray[np.float64], y: NDArray[np.intp]) -> NDArray[np.float64]:  # noqa: ARG001
            # Truncated towards 0, so that both classes have their likelihoods by the same margin. A margin
            # is below 2**41 in the unit of `steps`, and so below 2**30 here.
            margins = (rows @ ahead).astype(np.int32)
            return table.take(margins + _LAST, mode="clip")[:, None]

        return of_two
    likelihoods = _likelihoods()

    def of_several(rows: NDArray[np.float64], y: NDArray[np.intp]) -> NDArray[np.float64]:  # noqa: ARG001
        margins = rows @ steps
        behind = (margins.max(axis=1, keepdims=True) - margins) * places
        likely = likelihoods.take(np.minimum(behind, _LAST).astype(np.int32))
        return _rounded_parts(plan, likely)

    return of_several


def _likelihoods() -> NDArray[np.float64]:
    """Return the likelihoods of classes whose margins are lower than the greatest, by the difference."""
    likelihoods = np.rint(2.0**_FINE * np.exp(-np.arange(_LAST + 1) / 2.0**_MARGIN_BITS))
    likelihoods[-1] = 0.0
    return likelihoods


def _rounded_parts(plan: LogisticPlan, likely: NDArray[np.float64]) -> NDArray[np.float64]:
    return plan.less(np.floor(likely * plan.whole / likely.sum(axis=1, keepdims=True)))


def _parts_by_margin(plan: LogisticPlan) -> NDArray[np.float64]:
    """Return the centred parts of the second of two classes, by its margin over the first plus `_LAST`."""
    margins = np.arange(-_LAST, _LAST + 1)
    behind = np.maximum(0, np.column_stack([margins, -margins]))
    return _rounded_parts(plan, _likelihoods()[behind])[:, 0]


def score_edges(levels: int) -> NDArray[np.float64]:
    """Return the inner edges of the bins of scores in [-1, 1].

    The widths of the bins halve towards 0. The scale of the scores is unknown beforehand, and such bins have
    a constant relative precision on every scale.

    Parameters
    ----------
    levels : int
        Number of bins on each side of 0. 0: one bin for all scores.
    """
    if not levels:
        return np.zeros(0)
    ends = 2.0 ** -np.arange(levels - 1, 0, -1)
    return np.concatenate([-ends[::-1], [0.0], ends])


def score_queries(
    plan: LogisticPlan, mapped: Mapped, weights: NDArray[np.float64], *, shift: float, reach: float
) -> list[HistogramQuery]:
    """Return the histogram queries of scores, which are asked together.

    With two classes, a score is the margin of the second minus that of the first, and the category is 2 *
    bin, plus 1 if the label is the second. With more, a score is the margin of the label minus that of the
    next class in one query, and minus that of the previous class in the other; the category is the bin.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    mapped : Mapped
        The map from records to rescaled rows.
    weights : ndarray of shape (n_columns, n_classes)
        Released.
    shift, reach : float
        Released. A score minus `shift` is divided by `reach`, and then assigned to a bin of `score_edges`.
    """
    steps = _whole_weights(plan, weights)
    # Margins are exact integers: the bin of a score does not depend on the order of float additions.
    ends = np.rint((score_edges(plan.levels) * reach + shift) * 2.0**_WEIGHT_BITS * plan.reach)

    def of_second(rows: NDArray[np.float64], y: NDArray[np.intp]) -> NDArray[np.int64]:
        return np.asarray(2 * np.digitize(rows @ (steps[:, 1] - steps[:, 0]), ends) + (y == 1))

    def of_label(step: int, rows: NDArray[np.float64], y: NDArray[np.intp]) -> NDArray[np.int64]:
        margins, places = rows @ steps, np.arange(len(y))
        other = (y + step) % plan.n_classes
        return np.asarray(np.digitize(margins[places, y] - margins[places, other], ends))

    def query(bins: Callable[..., NDArray[np.int64]]) -> HistogramQuery:
        def each(records: Examples) -> NDArray[np.int64]:
            blocks = float_blocks(mapped.of(records))
            return np.concatenate([bins(rows, records.y[block]) for block, rows in blocks])

        return HistogramQuery(each, categories=_n_scores(plan))

    asked = [of_second] if plan.n_classes == 2 else [partial(of_label, 1), partial(of_label, -1)]
    return [query(bins) for bins in asked]


def kinds_of_queries(plan: LogisticPlan) -> list[tuple[StatisticalQuery, Fraction]]:
    """Return one query of each kind with its share of the budget; both are public.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    """
    directions, labels, step = plan.shares
    first = moments_query(plan) if plan.second_moments else mean_row_query(plan)
    weights = None if plan.class_weight is None else np.ones(plan.n_classes)
    products = products_query(plan, Mapped(plan, np.ones((1, 1))), label_parts(plan), weights)
    scores = HistogramQuery(lambda records: records.y, categories=_n_scores(plan))
    last = (scores, plan.calibration_share / plan.n_score_queries)
    kinds = [(first, directions), (products, labels), *([(products, step)] if step else []), last]
    return kinds if weights is None else [*kinds, (count_query(plan.n_classes), plan.counting_share)]


def _l1(norm: int, order: int) -> int | None:
    """Return the greatest L1 distance of two vectors of norm `norm`, if that is an L1 norm; else None."""
    return 2 * norm if order == 1 else None


def _n_scores(plan: LogisticPlan) -> int:
    """Return the number of categories of scores, or of scores and labels."""
    bins = len(score_edges(plan.levels)) + 1
    return 2 * bins if plan.n_classes == 2 else bins


def _whole_weights(plan: LogisticPlan, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights as integers in units of 2**-_WEIGHT_BITS, with column norms of at most _HEAVIEST."""
    heaviest = _HEAVIEST / math.sqrt(plan.n_columns)
    return np.asarray(np.rint(weights.clip(-heaviest, heaviest) * 2.0**_WEIGHT_BITS))


def _whole(values: Any) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.float64).astype(np.int64)
