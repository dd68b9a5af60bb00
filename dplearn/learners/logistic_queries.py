"""What logistic regression asks of records: sums of vectors of whole numbers, whose lengths are proved.

Rows are scaled to one length first. Whatever is asked later is a product of such a row, or of its image under
a released matrix, scaled again, and of what a label or a prediction says.

>>> from dplearn.queries import Examples
>>> task = LogisticTask(n_columns=2, n_classes=2, bits=3)
>>> records = Examples(task.rows(np.array([[1.0], [0.0]])), np.array([0, 1]))
>>> records.X.tolist()
[[5.0, 5.0], [0.0, 8.0]]
>>> query = products_query(task, Mapped(task, np.eye(2)), label_parts(task))
>>> query.total(records).tolist(), query.norm  # a label says 4 or -4
([-20, 12], 32)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.unit_rows import unit_rows
from dplearn.queries import Examples, HistogramQuery, StatisticalQuery, VectorQuery

__all__ = [
    "FINEST",
    "LogisticTask",
    "Mapped",
    "RowQuery",
    "label_parts",
    "mean_row_query",
    "moment_weights",
    "moments_query",
    "predicted_parts",
    "products_query",
    "score_edges",
    "score_queries",
]

#: Rows and residuals are whole numbers up to 2**10: so sums over 2**33 records are exact as floats.
FINEST = 10

_FINE = 20  # bits of the released matrix that rows are multiplied by, and of a likelihood
_CALIBRATION = Fraction(3, 20)  # of the budget, for a slope and an offset
_SLOPE = Fraction(2, 15)  # of the budget, where there are several classes: for a slope
_WEIGHT_BITS = 10  # after the point, of the weights that a step asks about
_HEAVIEST = 1 << 20  # no column of weights is longer: 30 bits of it by 10 of a row keep margins exact
_MARGIN_BITS = 9  # after the point, of a margin
_SURE = 16  # a class that is behind by so much has no probability: exp(-16) < 2**-23

Parts = Callable[[Examples], NDArray[np.float64]]  # what is said of each class, of shape (n, asked)


@dataclass(frozen=True)
class LogisticTask:
    """What is public about one fit.

    Attributes
    ----------
    n_columns, n_classes : int
        Of the rows, the intercept's among them, and of the labels, at least 2.
    order : {1, 2}, default=2
        How rows are measured, as for `unit_rows`: 1 suits Laplace noise, 2 all other.
    n_steps : int, default=24
        How many steps; 1 asks about labels only.
    second_moments : bool, default=True
        Whether all of them are asked for, or only the mean row, which then stands for them.
    bits : int, default=10
        Rows and residuals are rounded to 2**-bits, towards 0.
    n_active : int, optional
        How many numbers of a row may differ from 0, at most; all if left out.
    blocks : tuple of (start, stop), default=()
        Columns of which each row has exactly one that is 1: their sum less the intercept's column is 0.
    levels : int, default=9
        How finely scores are told apart by their order of magnitude; see `score_edges`.
    """

    n_columns: int
    n_classes: int
    order: int = 2
    n_steps: int = 24
    second_moments: bool = True
    bits: int = FINEST
    n_active: int | None = None
    blocks: tuple[tuple[int, int], ...] = ()
    levels: int = 9

    @property
    def reach(self) -> int:
        """How long a row is."""
        return 1 << self.bits

    @property
    def portion(self) -> int:
        """What one class has of a prediction that favours none."""
        return max(1, self.reach // self.n_classes)

    @property
    def whole(self) -> int:
        """What all classes of a prediction have together."""
        return self.portion * self.n_classes

    @property
    def asked(self) -> int:
        """About how many classes is asked: of two, one is the other's negative."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def norm(self) -> int:
        """How long a row is, at most, times what is asked of a label or a prediction."""
        if self.n_classes == 2:
            return self.reach * self.portion
        if self.order == 1:
            return self.reach * self.whole
        # Of parts q >= 0 that sum to s <= w, less w / k each, |q|^2 - 2 s w / k + w^2 / k is at most
        # s^2 - 2 s w / k + w^2 / k: convex in s, and greatest at s = w, w^2 (1 - 1 / k).
        square = self.reach**2 * self.portion**2 * self.n_classes * (self.n_classes - 1)
        return math.isqrt(square - 1) + 1

    @property
    def active(self) -> int:
        """How many numbers of a row may differ from 0, at most."""
        return self.n_columns if self.n_active is None else min(self.n_active, self.n_columns)

    def basis(self) -> NDArray[np.float64]:
        """Return orthogonal directions, in columns, that span all rows there can be."""
        constant = np.zeros((self.n_columns, len(self.blocks)))
        for place, (start, stop) in enumerate(self.blocks):
            constant[start:stop, place], constant[-1, place] = 1.0, -1.0
        return np.asarray(np.linalg.qr(constant, mode="complete")[0][:, len(self.blocks) :])

    @property
    def shares(self) -> tuple[Fraction, Fraction, Fraction]:
        """The shares of the budget for directions, for labels and for each further step."""
        left = 1 - self.calibration_share
        if self.n_steps == 1:
            return left * Fraction(1, 5), left * Fraction(4, 5), Fraction(0)
        return left * Fraction(3, 20), left * Fraction(7, 20), left / 2 / (self.n_steps - 1)

    @property
    def calibration_share(self) -> Fraction:
        """The share of the budget for the calibration of scores."""
        return _CALIBRATION if self.n_classes == 2 else _SLOPE

    @property
    def n_score_queries(self) -> int:
        """How many queries of `score_queries` calibrate scores: one of two classes, two of more."""
        return 1 if self.n_classes == 2 else 2

    @property
    def n_queries(self) -> int:
        """How many queries are asked: for directions, for labels, for further steps, for scores."""
        return 1 + self.n_steps + self.n_score_queries

    @property
    def n_scores(self) -> int:
        """How many categories of scores, or of scores and labels, are told apart."""
        bins = len(score_edges(self.levels)) + 1
        return 2 * bins if self.n_classes == 2 else bins

    def queries(self) -> list[tuple[StatisticalQuery, Fraction]]:
        """Return a query of each kind that is asked, and its share: both are public."""
        directions, labels, step = self.shares
        first = moments_query(self) if self.second_moments else mean_row_query(self)
        products = products_query(self, Mapped(self, np.ones((1, 1))), label_parts(self))
        scores = HistogramQuery(label_parts(self), categories=self.n_scores)
        last = (scores, self.calibration_share / self.n_score_queries)
        return [(first, directions), (products, labels), *([(products, step)] if step else []), last]

    def rows(self, X: Any) -> NDArray[np.float64]:
        """Return rows of length `reach`, the intercept's column added; each a function of its row alone.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_columns - 1)
            Any numbers.
        """
        return unit_rows(X, self.reach, order=self.order, intercept=True)

    def less(self, parts: NDArray[Any]) -> NDArray[np.float64]:
        """Return what is asked about the parts of all classes: in how far they are not alike.

        Parameters
        ----------
        parts : ndarray of shape (n, n_classes)
            At least 0, of sum at most `whole` in each row.
        """
        shown = parts[:, 1:] if self.n_classes == 2 else parts
        middle = self.portion if self.order == 2 or self.n_classes == 2 else 0
        return np.asarray(shown - middle, dtype=np.float64)


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
    task : LogisticTask
        What is public.
    metric : ndarray of shape (n_columns, n_columns)
        Released. Its scale does not matter.

    Attributes
    ----------
    metric : ndarray of shape (n_columns, n_columns)
        Released. The matrix in whole numbers, such that products with rows are exact.
    unit : float
        Released. What one of these numbers stands for.
    """

    def __init__(self, task: LogisticTask, metric: NDArray[np.float64]):
        self._task = task
        self.unit = float(np.abs(metric).max()) * 2.0**-_FINE
        self.metric = np.rint(metric / self.unit)
        self._last: tuple[Any, Any] = (None, None)

    def of(self, records: Examples) -> NDArray[np.float64]:
        """Return the rows of some records; of the same object as before, without computing them again.

        Parameters
        ----------
        records : Examples
            Their rows are as `LogisticTask.rows` gives them.
        """
        if self._last[0] is not records:
            rows = unit_rows(records.X @ self.metric, self._task.reach, order=self._task.order)
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


def moments_query(task: LogisticTask) -> RowQuery:
    """Return the query for products of a row's columns, the first at most the second.

    Parameters
    ----------
    task : LogisticTask
        What is public.
    """
    d, (on, off) = task.n_columns, moment_weights(task.order)

    def upper(moments: Any) -> NDArray[np.int64]:
        first, second = np.triu_indices(d)
        weights = np.where(first == second, on, off)
        return (_whole(moments[first, second]).T * weights).T  # as integers: a product may be beyond 2**53

    # No two rows x, y are at obtuse angles with 5 and 7: 25 x_i^2 y_i^2 and 49 x_i x_j y_i y_j sum to
    # (49 (x y)^2 + sum x_i^2 y_i^2) / 2 >= 0.
    return RowQuery(
        lambda records: upper(np.einsum("ni,nj->ijn", records.X, records.X)).T,
        size=d * (d + 1) // 2,
        norm=on * task.reach**2,
        unit=Fraction(1, task.reach**2),
        total=lambda records: upper(records.X.T @ records.X),
        order=task.order,
        acute=task.order == 2,
    )


def mean_row_query(task: LogisticTask) -> RowQuery:
    """Return the query for the mean row.

    Parameters
    ----------
    task : LogisticTask
        What is public.
    """
    return RowQuery(
        lambda records: _whole(records.X),
        size=task.n_columns,
        norm=task.reach,
        unit=Fraction(1, task.reach),
        total=lambda records: _whole(records.X.sum(axis=0)),
        order=task.order,
    )


def products_query(task: LogisticTask, mapped: Mapped, parts: Parts) -> RowQuery:
    """Return the query for rows times what is said of classes.

    Parameters
    ----------
    task : LogisticTask
        What is public.
    mapped : Mapped
        From records to rows.
    parts : callable
        From records to whole numbers of shape (n, asked), as `LogisticTask.less` gives them.
    """

    def each(records: Examples) -> NDArray[np.int64]:
        products = mapped.of(records)[:, :, None] * parts(records)[:, None, :]
        return _whole(products.reshape(len(records), -1))

    return RowQuery(
        each,
        size=task.n_columns * task.asked,
        norm=task.norm,
        unit=Fraction(1, task.reach * task.whole),
        total=lambda records: _whole((mapped.of(records).T @ parts(records)).ravel()),
        order=task.order,
    )


def label_parts(task: LogisticTask) -> Parts:
    """Return what a label says: all parts to its class.

    Parameters
    ----------
    task : LogisticTask
        What is public.
    """
    return lambda records: task.less((records.y[:, None] == np.arange(task.n_classes)) * task.whole)


def predicted_parts(task: LogisticTask, mapped: Mapped, weights: NDArray[np.float64]) -> Parts:
    """Return what a prediction says: to each class the parts that its probability comes to, rounded down.

    Margins are exact whole numbers, likelihoods are looked up, and a quotient of such numbers is never so
    near to the next whole one that a float would be rounded to it: nothing depends on how floats are added
    up.

    Parameters
    ----------
    task : LogisticTask
        What is public.
    mapped : Mapped
        From records to rows.
    weights : ndarray of shape (n_columns, n_classes)
        Released, or public. Numbers that are too large are moved to a bound.
    """
    steps = _whole_weights(task, weights)
    likelihoods = np.rint(2.0**_FINE * np.exp(-np.arange((_SURE << _MARGIN_BITS) + 1) / 2.0**_MARGIN_BITS))
    likelihoods[-1] = 0.0
    places = 2.0 ** (_MARGIN_BITS - _WEIGHT_BITS) / task.reach

    def parts(records: Examples) -> NDArray[np.float64]:
        margins = mapped.of(records) @ steps
        behind = (margins.max(axis=1, keepdims=True) - margins) * places
        likely = likelihoods[np.minimum(behind, len(likelihoods) - 1).astype(np.intp)]
        return task.less(np.floor(likely * task.whole / likely.sum(axis=1, keepdims=True)))

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
    task: LogisticTask, mapped: Mapped, weights: NDArray[np.float64], *, shift: float, reach: float
) -> list[HistogramQuery]:
    """Return the queries for how many records have which score, to be asked together.

    Of two classes, a score is the margin of the second less that of the first, and categories are 2 * bin,
    plus 1 where the second is the label. Of more, a score is the margin of the label less that of the next
    class, in one query, and of the class before, in the other; categories are bins.

    Parameters
    ----------
    task : LogisticTask
        What is public.
    mapped : Mapped
        From records to rows.
    weights : ndarray of shape (n_columns, n_classes)
        Released.
    shift, reach : float
        Released. Scores less `shift` are divided by `reach`, and then counted in the bins of `score_edges`.
    """
    steps = _whole_weights(task, weights)
    # Margins are exact whole numbers: which bin a score falls in does not depend on how floats are added up.
    ends = np.rint((score_edges(task.levels) * reach + shift) * 2.0**_WEIGHT_BITS * task.reach)

    def of_second(records: Examples) -> NDArray[np.int64]:
        margins = mapped.of(records) @ steps
        return np.asarray(2 * np.digitize(margins[:, 1] - margins[:, 0], ends) + (records.y == 1))

    def of_label(step: int) -> Callable[[Examples], NDArray[np.int64]]:
        def bins(records: Examples) -> NDArray[np.int64]:
            margins, places = mapped.of(records) @ steps, np.arange(len(records))
            other = (records.y + step) % task.n_classes
            return np.asarray(np.digitize(margins[places, records.y] - margins[places, other], ends))

        return bins

    asked = [of_second] if task.n_classes == 2 else [of_label(1), of_label(-1)]
    return [HistogramQuery(each, categories=task.n_scores) for each in asked]


def _whole_weights(task: LogisticTask, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights as whole numbers of 2**-_WEIGHT_BITS, no column longer than _HEAVIEST."""
    heaviest = _HEAVIEST / math.sqrt(task.n_columns)
    return np.asarray(np.rint(weights.clip(-heaviest, heaviest) * 2.0**_WEIGHT_BITS))


def _whole(values: Any) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.float64).astype(np.int64)
