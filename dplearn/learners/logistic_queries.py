"""What logistic regression asks of records: sums of vectors of whole numbers, whose lengths are proved.

Rows are scaled to one length first. Whatever is asked later is a product of such a row, or of its image under
a released matrix, scaled again, and of what a label or a prediction says.

>>> from dplearn.queries import Examples
>>> from dplearn.estimator.stages import Public
>>> from dplearn.privacy import ApproxDP
>>> public = Public(n_samples=2, n_features=1, n_labels=2)
>>> plan = LogisticPlan(ApproxDP(1), "gaussian", n_steps=1, second_moments=True, public=public, bits=3)
>>> records = Examples(plan.rows(np.array([[1.0], [0.0]])), np.array([0, 1]))
>>> records.X.tolist()
[[5.0, 5.0], [0.0, 8.0]]
>>> query = products_query(plan, Mapped(plan, np.eye(2)), label_parts(plan))
>>> query.total(records).tolist(), query.norm  # a label says 4 or -4
([-20, 12], 32)
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.unit_rows import unit_rows
from dplearn.learners.logistic_plan import LogisticPlan
from dplearn.queries import Examples, HistogramQuery, StatisticalQuery, VectorQuery

__all__ = [
    "Mapped",
    "RowQuery",
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

_FINE = 20  # bits of the released matrix that rows are multiplied by, and of a likelihood
_WEIGHT_BITS = 10  # after the point, of the weights that a step asks about
_HEAVIEST = 1 << 20  # no column of weights is longer: 30 bits of it by 10 of a row keep margins exact
_MARGIN_BITS = 9  # after the point, of a margin
_SURE = 16  # a class that is behind by so much has no probability: exp(-16) < 2**-23

Parts = Callable[[Examples], NDArray[np.float64]]  # what is said of each class, of shape (n, asked)


class RowQuery(VectorQuery):
    """A sum of vectors, of which more may be known than that they are short.

    Parameters
    ----------
    function : callable
        As for `VectorQuery`.
    order : {1, 2}
        1: the function sees to it that the magnitudes of a row sum to at most `norm`.
    acute : bool, default=False
        Whether the function sees to it that no two rows have a product below 0.
    **known
        The other parameters of `VectorQuery`.
    """

    def __init__(self, function: Any, *, order: int, acute: bool = False, **known: Any):
        super().__init__(function, **known)
        if order == 1:
            self.l1 = 2 * self.norm
        if acute:
            self.squared_l2 = 2 * self.norm**2  # |v - w|^2 = |v|^2 + |w|^2 - 2 v w


class Mapped:
    """Rows made alike in all directions by a released matrix, and scaled to one length again.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    metric : ndarray of shape (n_columns, n_columns)
        Released. Its scale does not matter.

    Attributes
    ----------
    metric : ndarray of shape (n_columns, n_columns)
        Released. The matrix in whole numbers, such that products with rows are exact.
    unit : float
        Released. What one of these numbers stands for.
    """

    def __init__(self, plan: LogisticPlan, metric: NDArray[np.float64]):
        self._plan = plan
        self.unit = float(np.abs(metric).max()) * 2.0**-_FINE
        self.metric = np.rint(metric / self.unit)
        self._last: tuple[Any, Any] = (None, None)

    def of(self, records: Examples) -> NDArray[np.float64]:
        """Return the rows of some records; of the same object as before, without computing them again.

        Parameters
        ----------
        records : Examples
            Their rows are as `LogisticPlan.rows` gives them.
        """
        if self._last[0] is not records:
            rows = unit_rows(records.X @ self.metric, self._plan.reach, order=self._plan.order)
            self._last = (records, rows)
        return np.asarray(self._last[1])


def moment_weights(order: int) -> tuple[int, int]:
    """Return what entries on and off the diagonal are multiplied by in `moments_query`.

    With 5 and 7, the entries' vector of a row is at most 5 times as long as its matrix is: 49 < 2 * 25. With
    1 and 2 their magnitudes sum to the square of those of the row.

    Parameters
    ----------
    order : {1, 2}
        How rows are measured.
    """
    return (1, 2) if order == 1 else (5, 7)


def moments_query(plan: LogisticPlan) -> RowQuery:
    """Return the query for products of a row's columns, the first at most the second.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    """
    d, (on, off) = plan.n_columns, moment_weights(plan.order)

    def upper(moments: Any) -> NDArray[np.int64]:
        first, second = np.triu_indices(d)
        weights = np.where(first == second, on, off)
        return (_whole(moments[first, second]).T * weights).T  # as integers: a product may be beyond 2**53

    # No two rows x, y are at obtuse angles with 5 and 7: 25 x_i^2 y_i^2 and 49 x_i x_j y_i y_j sum to
    # (49 (x y)^2 + sum x_i^2 y_i^2) / 2 >= 0.
    return RowQuery(
        lambda records: upper(np.einsum("ni,nj->ijn", records.X, records.X)).T,
        size=d * (d + 1) // 2,
        norm=on * plan.reach**2,
        unit=Fraction(1, plan.reach**2),
        total=lambda records: upper(records.X.T @ records.X),
        order=plan.order,
        acute=plan.order == 2,
    )


def mean_row_query(plan: LogisticPlan) -> RowQuery:
    """Return the query for the mean row.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    """
    return RowQuery(
        lambda records: _whole(records.X),
        size=plan.n_columns,
        norm=plan.reach,
        unit=Fraction(1, plan.reach),
        total=lambda records: _whole(records.X.sum(axis=0)),
        order=plan.order,
    )


def products_query(plan: LogisticPlan, mapped: Mapped, parts: Parts) -> RowQuery:
    """Return the query for rows times what is said of classes.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    mapped : Mapped
        From records to rows.
    parts : callable
        From records to whole numbers of shape (n, asked), as `LogisticPlan.less` gives them.
    """

    def each(records: Examples) -> NDArray[np.int64]:
        products = mapped.of(records)[:, :, None] * parts(records)[:, None, :]
        return _whole(products.reshape(len(records), -1))

    return RowQuery(
        each,
        size=plan.n_columns * plan.asked,
        norm=plan.norm,
        unit=Fraction(1, plan.reach * plan.whole),
        total=lambda records: _whole((mapped.of(records).T @ parts(records)).ravel()),
        order=plan.order,
    )


def label_parts(plan: LogisticPlan) -> Parts:
    """Return what a label says: all parts to its class.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    """
    return lambda records: plan.less((records.y[:, None] == np.arange(plan.n_classes)) * plan.whole)


def predicted_parts(plan: LogisticPlan, mapped: Mapped, weights: NDArray[np.float64]) -> Parts:
    """Return what a prediction says: to each class the parts that its probability comes to, rounded down.

    Margins are exact whole numbers, likelihoods are looked up, and a quotient of such numbers is never so
    near to the next whole one that a float would be rounded to it: nothing depends on how floats are added
    up.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    mapped : Mapped
        From records to rows.
    weights : ndarray of shape (n_columns, n_classes)
        Released, or public. Numbers that are too large are moved to a bound.
    """
    steps = _whole_weights(plan, weights)
    likelihoods = np.rint(2.0**_FINE * np.exp(-np.arange((_SURE << _MARGIN_BITS) + 1) / 2.0**_MARGIN_BITS))
    likelihoods[-1] = 0.0
    places = 2.0 ** (_MARGIN_BITS - _WEIGHT_BITS) / plan.reach

    def parts(records: Examples) -> NDArray[np.float64]:
        margins = mapped.of(records) @ steps
        behind = (margins.max(axis=1, keepdims=True) - margins) * places
        likely = likelihoods[np.minimum(behind, len(likelihoods) - 1).astype(np.intp)]
        return plan.less(np.floor(likely * plan.whole / likely.sum(axis=1, keepdims=True)))

    return parts


def score_edges(levels: int) -> NDArray[np.float64]:
    """Return the inner ends of the bins in which scores from -1 to 1 are counted.

    Bins become half as wide with each step towards 0: the scale of scores is not known beforehand, and these
    bins tell scores of any scale apart, at a relative precision.

    Parameters
    ----------
    levels : int
        How many magnitudes are told apart on each side of 0; 0: all scores share one bin.
    """
    if not levels:
        return np.zeros(0)
    ends = 2.0 ** -np.arange(levels - 1, 0, -1)
    return np.concatenate([-ends[::-1], [0.0], ends])


def score_queries(
    plan: LogisticPlan, mapped: Mapped, weights: NDArray[np.float64], *, shift: float, reach: float
) -> list[HistogramQuery]:
    """Return the queries for how many records have which score, to be asked together.

    Of two classes, a score is the margin of the second less that of the first, and categories are 2 * bin,
    plus 1 where the second is the label. Of more, a score is the margin of the label less that of the next
    class, in one query, and of the class before, in the other; categories are bins.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    mapped : Mapped
        From records to rows.
    weights : ndarray of shape (n_columns, n_classes)
        Released.
    shift, reach : float
        Released. Scores less `shift` are divided by `reach`, and then counted in the bins of `score_edges`.
    """
    steps = _whole_weights(plan, weights)
    # Margins are exact whole numbers: which bin a score falls in does not depend on how floats are added up.
    ends = np.rint((score_edges(plan.levels) * reach + shift) * 2.0**_WEIGHT_BITS * plan.reach)

    def of_second(records: Examples) -> NDArray[np.int64]:
        margins = mapped.of(records) @ steps
        return np.asarray(2 * np.digitize(margins[:, 1] - margins[:, 0], ends) + (records.y == 1))

    def of_label(step: int) -> Callable[[Examples], NDArray[np.int64]]:
        def bins(records: Examples) -> NDArray[np.int64]:
            margins, places = mapped.of(records) @ steps, np.arange(len(records))
            other = (records.y + step) % plan.n_classes
            return np.asarray(np.digitize(margins[places, records.y] - margins[places, other], ends))

        return bins

    asked = [of_second] if plan.n_classes == 2 else [of_label(1), of_label(-1)]
    return [HistogramQuery(each, categories=_n_scores(plan)) for each in asked]


def kinds_of_queries(plan: LogisticPlan) -> list[tuple[StatisticalQuery, Fraction]]:
    """Return a query of each kind that is asked, and its share of the budget: both are public.

    Parameters
    ----------
    plan : LogisticPlan
        The plan of the fit.
    """
    directions, labels, step = plan.shares
    first = moments_query(plan) if plan.second_moments else mean_row_query(plan)
    products = products_query(plan, Mapped(plan, np.ones((1, 1))), label_parts(plan))
    scores = HistogramQuery(label_parts(plan), categories=_n_scores(plan))
    last = (scores, plan.calibration_share / plan.n_score_queries)
    return [(first, directions), (products, labels), *([(products, step)] if step else []), last]


def _n_scores(plan: LogisticPlan) -> int:
    """Return how many categories of scores, or of scores and labels, are told apart."""
    bins = len(score_edges(plan.levels)) + 1
    return 2 * bins if plan.n_classes == 2 else bins


def _whole_weights(plan: LogisticPlan, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights as whole numbers of 2**-_WEIGHT_BITS, no column longer than _HEAVIEST."""
    heaviest = _HEAVIEST / math.sqrt(plan.n_columns)
    return np.asarray(np.rint(weights.clip(-heaviest, heaviest) * 2.0**_WEIGHT_BITS))


def _whole(values: Any) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.float64).astype(np.int64)
