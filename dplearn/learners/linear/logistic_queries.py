"""What logistic regression asks: its plan, and queries for sums of integer vectors with proved norm bounds:
products of a row, scaled to one norm, or of its image under a released matrix, with the centred parts of a
label or of a prediction.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.kernels import blocks, dense, float_blocks
from dplearn.kernels.kept_results import KeptResults
from dplearn.kernels.rows import unit_rows
from dplearn.learners.bins import UNDECLARED
from dplearn.learners.linear.rows import Layout, OneHotRows, is_worth, numbers_of, places_of, second_moments
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import SizedPlan, hidden, noted
from dplearn.privacy.shares import GAUSSIAN
from dplearn.queries import HistogramQuery, LabelledRows, StatisticalQuery, VectorQuery
from dplearn.queries.noise import norm_order

#: Rows and residuals are integers of magnitude at most 2**10, so that float sums over 2**33 records are
#: exact.
FINEST = 10
_CALIBRATION = Fraction(3, 20)  # share of the budget for the calibration of slope and offset
_SLOPE = Fraction(2, 15)  # the same with more than two classes, for the slope only
_COUNTING = Fraction(1, 20)  # share of the budget for the numbers of records of the classes, with weights
_SELECTION = Fraction(3, 20)  # share of the budget for the masses of the columns of a wide table
#: The parts of weighted records are integers in units of this part of those of unweighted ones.
WEIGHT_UNITS = 8
_FINE = 20  # bits of the released metric, and of a likelihood
_WEIGHT_BITS = 10  # bits after the binary point of the weights in a step's query
_HEAVIEST = 1 << 20  # norm bound of a column of weights: 30 bits, times 10 bits of a row, keep margins exact
_MARGIN_BITS = 9  # bits after the binary point of a margin
_LONGEST = 1 << 15  # the greatest norm of a row of the metric of `OneHotRows`
NORM_BITS = 29  # of the norm of a query for these, if sums over all records fit
_LARGEST = 1 << 24  # weight of a row in a sum, so that it is exact
_EXACT_BITS = 37  # of a number that a row, of an L1 norm below 2**16, is multiplied by, in floats
_BLOCK = 1 << 16  # rows at once, so that there are few products of the metric
_SURE = 16  # a class whose margin is lower by this has probability 0: exp(-16) < 2**-23
_LAST = _SURE << _MARGIN_BITS  # the index of that margin in a table
#: From mapped rows as floats, or `_Rescaled`, and labels, to the centred parts of the classes, of shape (n,
#: asked).
Parts = Callable[[Any, NDArray[np.intp]], NDArray[np.float64]]


@dataclass(frozen=True)
class LogisticPlan(SizedPlan):
    """The plan of a fit of `StatisticalQueryLogisticRegression`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    noise : {"laplace", "gaussian"}
        The noise.
    n_steps : int
        The number of gradient steps; with 1, only the label part of the gradient is queried.
    second_moments : bool
        Whether all second moments of the columns are queried, or only their means.
    n_queries : int
        The number of queries: one for the metric, one for each step, and for the calibration one with two
        classes, or two with more, asked together. A wide table has one more, and so has a fit with class
        weights.
    n_kept : int or None
        The greatest number of columns of a wide table that a fit keeps, buckets included, for which noise and
        steps are planned. None: all columns are used.
    deviation : float
        The standard deviation of the noise in a number of the answer to the label query, in the unit of one
        label.
    tolerance : float
        With probability at least 1 - beta, every number of that answer has at most this error.
    noise_to_signal : float
        The ratio of that noise to the typical signal of the labels for this number of columns. A rule of
        thumb: from 1 on, the fit is noise-dominated, and it warns.
    beta : float
        The arguments of `plan`.
    """

    guarantee: ApproxDP
    noise: str
    n_steps: int
    second_moments: bool
    n_queries: int = field(init=False)
    deviation: float = 0.0
    tolerance: float = 0.0
    noise_to_signal: float = field(default=0.0, metadata=noted("smaller is better; for one domain"))
    beta: float = 0.05
    n_kept: int | None = None
    design: Any = hidden()  # the encoding as a matrix of numbers; None: the table is one
    public: Any = hidden()
    bits: int = hidden(FINEST)  # rows and residuals are rounded to 2**-bits, towards 0
    class_weight: Any = hidden()  # None, "balanced" or a dict from labels to weights
    levels: int = hidden(9)  # number of score bins by magnitude; see `score_edges`

    error_name = "tolerance"
    _accounting = GAUSSIAN

    def __post_init__(self) -> None:
        more = (self.n_kept is not None) + (self.class_weight is not None)
        object.__setattr__(self, "n_queries", more + 1 + self.n_steps + self.n_score_queries)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings if no column is declared, or the label query is noise-dominated; of public numbers."""
        # Sparse rows are those of words, say, and have no bounds to declare.
        n, ranged = self.public.n_samples, self.design is not None or self.public.sparse
        undeclared = () if ranged else (UNDECLARED,)
        # With no more records than labels there is no relation to learn, and no warning. A private number is
        # estimated first, and a fit warns afterwards.
        if n is None or self.n_classes >= n or self.noise_to_signal < 1:
            return undeclared
        delta = ", or a delta such as 1e-6" if self.noise == "laplace" else ""
        return (
            *undeclared,
            f"n_samples is {n}: noise is larger than the signal of the labels for"
            f" {self.n_columns - 1} numeric columns; use more records or a larger epsilon{delta};"
            " plan(n_samples, n_features=..., n_labels=...) reports `noise_to_signal` without data",
        )

    @property
    def n_classes(self) -> int:
        """Number of labels, at least 2."""
        return int(self.public.n_labels)

    @property
    def n_numbers(self) -> int:
        """Number of numeric columns of the table."""
        return int(self.public.n_features if self.design is None else len(self.design.names))

    @property
    def n_columns(self) -> int:
        """Number of numbers in a row of the queries, the intercept's included."""
        return 1 + (self.n_numbers if self.n_kept is None else self.n_kept)

    @property
    def order(self) -> int:
        """The order of the row norm, as for `unit_rows`: 1 or 2."""
        return norm_order(self.noise)

    @property
    def reach(self) -> int:
        """The norm of a row, in units of the grid."""
        return 1 << self.bits

    @property
    def portion(self) -> int:
        """The part of each class in a uniform prediction, in units of the grid."""
        return max(1, self.reach // self.n_classes)

    @property
    def whole(self) -> int:
        """The sum of the parts of all classes in a prediction."""
        return self.portion * self.n_classes

    @property
    def asked(self) -> int:
        """The number of classes in a query: 1 of two classes, since the other is its negative."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def norm(self) -> int:
        """The bound on the norm of the product of a row with the centred parts of a label or a prediction."""
        if self.n_classes == 2:
            return self.reach * self.portion
        if self.order == 1:
            return self.reach * self.whole
        # For parts q >= 0 of sum s <= w, minus w / k each, the squared norm |q|^2 - 2 s w / k + w^2 / k is at
        # most s^2 - 2 s w / k + w^2 / k. This is convex in s, and greatest at s = w,
        # where it is w^2 (1 - 1 / k).
        square = self.reach**2 * self.portion**2 * self.n_classes * (self.n_classes - 1)
        return math.isqrt(square - 1) + 1

    @property
    def active(self) -> int:
        """The greatest number of nonzero numbers in a row."""
        return self.n_columns if self.design is None else min(self.design.n_active + 1, self.n_columns)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Blocks of one-hot columns: their sum minus the intercept's column is 0."""
        return () if self.design is None or self.n_kept is not None else tuple(self.design.blocks)

    @property
    def by_place(self) -> bool:
        """Whether rows are `OneHotRows`."""
        return self.order == 2 and self.n_kept is None and is_worth(self.design)

    @property
    def shares(self) -> tuple[Fraction, Fraction, Fraction]:
        """The shares of the budget for the metric, for the labels and for each further step."""
        left = 1 - self.selection_share - self.calibration_share - self.counting_share
        if self.n_steps == 1:
            return left * Fraction(1, 5), left * Fraction(4, 5), Fraction(0)
        return left * Fraction(3, 20), left * Fraction(7, 20), left / 2 / (self.n_steps - 1)

    @property
    def calibration_share(self) -> Fraction:
        """The share of the budget for the calibration of scores."""
        return (1 - self.selection_share) * (_CALIBRATION if self.n_classes == 2 else _SLOPE)

    @property
    def counting_share(self) -> Fraction:
        """The share of the budget for the numbers of records of the classes."""
        return (1 - self.selection_share) * (Fraction(0) if self.class_weight is None else _COUNTING)

    @property
    def selection_share(self) -> Fraction:
        """The share of the budget for the masses of the columns."""
        return Fraction(0) if self.n_kept is None else _SELECTION

    @property
    def n_score_queries(self) -> int:
        """The number of queries of `score_queries`: one with two classes, two with more."""
        return 1 if self.n_classes == 2 else 2

    def rows(self, X: Any) -> Any:
        """Return rows of norm `reach`, with the intercept's column; each is a function of its own row.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_columns - 1)
            Finite numbers.
        """
        if not self.by_place:
            return unit_rows(X, self.reach, order=self.order, intercept=True)
        return OneHotRows(
            Layout.of(self.design, 1),
            unit_rows(numbers_of(X), self.reach, intercept=True, again=len(self.blocks)),
            places_of(X),
        )

    def less(self, parts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the centred parts of the classes, as queries use them.

        Parameters
        ----------
        parts : ndarray of shape (n, n_classes)
            Nonnegative parts, with sum at most `whole` in each row.
        """
        shown = parts[:, 1:] if self.n_classes == 2 else parts
        middle = self.portion if self.order == 2 or self.n_classes == 2 else 0
        return np.asarray(shown - middle, dtype=np.float64)


class Mapped:
    """Rows multiplied by a released metric, in integers of a `unit`, and rescaled to one norm."""

    def __init__(self, plan: LogisticPlan, metric: NDArray[np.float64]):
        self.plan = plan
        self.unit = float(np.abs(metric).max()) * 2.0**-_FINE
        self.metric = np.rint(metric / self.unit)
        self._kept = KeptResults(self.of_records)

    def of(self, records: LabelledRows) -> NDArray[Any]:
        """Return the mapped rows of records; cached for the same object."""
        return np.asarray(self._kept(records))

    def blocks(self, records: LabelledRows) -> Iterator[tuple[slice, Any]]:
        """Yield blocks of mapped rows, which matrices of whole numbers can be multiplied by."""
        return float_blocks(self.of(records))

    def finer(self, norm: int) -> int:  # noqa: ARG002 - of use to subclasses
        """Return how often the sums of a query of this norm are multiplied."""
        return 1

    def weights(self, parts: Parts, most: int, finer: int) -> Parts:  # noqa: ARG002
        """Return the map to the whole numbers that rows are multiplied by, for parts of norm up to `most`."""
        return parts

    def products(self, records: LabelledRows, parts: Parts) -> NDArray[np.int64]:
        """Return the products of each row and its parts, of shape (n, d * asked)."""
        rows = self.of(records).astype(np.float64)
        return _whole((rows[:, :, None] * parts(rows, records.y)[:, None, :]).reshape(len(rows), -1))

    def total(self, records: LabelledRows, parts: Parts) -> NDArray[np.int64]:
        """Return the sum of `products`."""
        sums = (rows.T @ parts(rows, records.y[block]) for block, rows in self.blocks(records))
        return _whole(sum(sums, np.zeros((self.plan.n_columns, self.plan.asked))).ravel())

    def of_records(self, records: LabelledRows) -> NDArray[np.integer[Any]]:
        return unit_rows(records.X, self.plan.reach, order=self.plan.order, image=self.metric)


class MappedPlaces(Mapped):
    """The same of `OneHotRows`, none of whose images is formed: the metric multiplies sums of rows.

    **Privacy.** A row r of integers has the image r M of integers. With parts p, |p| <= P, it is counted as
    the product of r M and the integers w = p k / q, rounded towards 0, where q >= P is public, and k =
    floor(R q / L) for L >= |r M|, an integer. So |r M| |w| <= |r M| |p| k / q <= R P, the norm of rows that
    are rescaled to norm R, and their sum M sum(r w) is exact. Numbers are below 2**53, or integers modulo
    2**64: L is a root of r M M' r', rounded up.
    """

    def __init__(self, plan: LogisticPlan, metric: NDArray[np.float64]):
        super().__init__(plan, metric)
        # Rows of the metric have norms of at most 2**15, also if rounded.
        self.unit = float(np.linalg.norm(metric, axis=1).max()) / (_LONGEST - math.sqrt(plan.n_columns))
        self.metric = np.rint(metric / self.unit)

    def blocks(self, records: LabelledRows) -> Iterator[tuple[slice, Any]]:
        lengths = self.of(records)
        for block in blocks(len(records), _BLOCK):
            yield block, _Rescaled(records.X[block], self.metric, lengths[block], self.plan.reach)

    def finer(self, norm: int) -> int:
        # Sums of n records, or of groups of up to 2**10 rows, have magnitudes below 2**62.
        grouped = self.plan.guarantee.protects == "groups"
        bits = 61 - int(self.plan.public.n_samples).bit_length() - 10 * grouped
        return 1 << max(0, min(bits, NORM_BITS) - norm.bit_length())

    def weights(self, parts: Parts, most: int, finer: int) -> Parts:
        def of(rows: _Rescaled, y: NDArray[np.intp]) -> NDArray[np.float64]:
            largest = np.minimum(np.floor(self.plan.reach * finer * most / rows.lengths), _LARGEST)
            return np.asarray(np.trunc(parts(rows, y) * largest[:, None] / most))

        return of

    def products(self, records: LabelledRows, parts: Parts) -> NDArray[np.int64]:
        images = records.X.toarray().astype(np.int64) @ self.metric.astype(np.int64)
        weights = [parts(rows, records.y[block]) for block, rows in self.blocks(records)]
        products = images[:, :, None] * np.concatenate(weights).astype(np.int64)[:, None, :]
        return np.asarray(products.reshape(len(records), -1))

    def total(self, records: LabelledRows, parts: Parts) -> NDArray[np.int64]:
        blocks = self.blocks(records)
        sums = (rows.rows.sums(parts(rows, records.y[block])) for block, rows in blocks)
        found = sum(sums, np.zeros((self.plan.n_columns, self.plan.asked), dtype=np.int64))
        return np.asarray(self.metric.T.astype(np.int64) @ found).ravel()

    def of_records(self, records: LabelledRows) -> NDArray[np.int64]:
        """Return the lengths of the images of rows, rounded up; at least 1."""
        squares = records.X.squares((self.metric @ self.metric.T).astype(np.int64))
        lengths = np.ceil(np.sqrt(squares)).astype(np.int64)
        lengths += lengths**2 < squares
        return np.asarray(np.maximum(lengths, 1))


@dataclass(frozen=True, repr=False)
class _Rescaled:
    """Rows multiplied by a metric, and rescaled to one norm; none is formed."""

    rows: OneHotRows  # private, as are the lengths
    metric: NDArray[np.float64]
    lengths: NDArray[np.int64]
    reach: int

    def __matmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return products with weights, whole numbers of columns of norms up to 2**31 in some unit."""
        vectors = self.metric @ weights.reshape(len(weights), -1)  # exact, as all products below
        unit = 2.0 ** (np.frexp(np.abs(vectors).max())[1] - _EXACT_BITS)
        products = self.rows.times(np.rint(vectors / unit)) * (self.reach * unit / self.lengths)[:, None]
        return np.asarray(products.reshape(len(products), *weights.shape[1:]))


def mapped_rows(plan: LogisticPlan, metric: NDArray[np.float64]) -> Mapped:
    return (MappedPlaces if plan.by_place else Mapped)(plan, metric)


def moment_weights(order: int) -> tuple[int, int]:
    """Return the weights of entries on and off the diagonal in `moments_query`: 5 and 7, with a norm at most
    5 times Frobenius's, since 49 < 2 * 25, or 1 and 2, with an L1 norm that is the square of the row's.
    """
    return (1, 2) if order == 1 else (5, 7)


def upper_weights(order: int, d: int) -> NDArray[np.int64]:
    """Return the weight of each entry i <= j of a matrix of d columns, row by row."""
    first, second = np.triu_indices(d)
    return np.where(first == second, *moment_weights(order))


def moments_query(plan: LogisticPlan) -> VectorQuery:
    """Return the query for second moments: the products of columns i <= j of a row."""
    d = plan.n_columns
    norm = moment_weights(plan.order)[0] * plan.reach**2

    def upper(moments: Any) -> NDArray[np.int64]:
        return np.asarray((moments[np.triu_indices(d)].T * upper_weights(plan.order, d)).T)

    def total(records: LabelledRows) -> NDArray[np.int64]:
        return upper(second_moments(records.X))

    def each(records: LabelledRows) -> NDArray[np.int64]:
        rows = dense(records.X).astype(np.int64)
        return upper(np.einsum("ni,nj->ijn", rows, rows)).T

    # With 5 and 7, the inner product for two rows x, y is nonnegative: the terms 25 x_i^2 y_i^2 and 49 x_i
    # x_j y_i y_j sum to (49 (x y)^2 + sum x_i^2 y_i^2) / 2 >= 0. So |v - w|^2 <= |v|^2 + |w|^2.
    square = 2 * norm**2 if plan.order == 2 else None
    return _sums(plan, each, total, d * (d + 1) // 2, norm, plan.reach**2, squared_l2=square)


def mean_row_query(plan: LogisticPlan) -> VectorQuery:

    def total(records: LabelledRows) -> NDArray[np.int64]:
        if plan.by_place:
            return np.asarray(records.X.sums(np.ones((len(records), 1)))[:, 0])
        return np.asarray(records.X.sum(axis=0, dtype=np.int64))

    def each(records: LabelledRows) -> NDArray[np.int64]:
        return _whole(dense(records.X))

    return _sums(plan, each, total, plan.n_columns, plan.reach, plan.reach)


def products_query(
    plan: LogisticPlan, mapped: Mapped, parts: Parts, weights: NDArray[np.float64] | None = None
) -> VectorQuery:
    """Return the query for the products of mapped rows with centred parts of classes."""
    units = 1
    if weights is not None:
        units, parts = WEIGHT_UNITS, weighted_parts(parts, weights)
    norm, whole = plan.norm * units, plan.whole * units
    finer = mapped.finer(norm)
    parts = mapped.weights(parts, whole, finer)
    size = plan.n_columns * plan.asked
    each, total = (partial(function, parts=parts) for function in (mapped.products, mapped.total))
    return _sums(plan, each, total, size, norm * finer, plan.reach * whole * finer)


def any_products_query(plan: LogisticPlan) -> VectorQuery:
    """Return a query for products, whose norms are those of all such queries."""
    weights = None if plan.class_weight is None else np.ones(plan.n_classes)
    return products_query(plan, Mapped(plan, np.ones((1, 1))), label_parts(plan), weights)


def label_parts(plan: LogisticPlan) -> Parts:
    """Return the map from labels to their centred parts."""
    return lambda rows, y: plan.less((y[:, None] == np.arange(plan.n_classes)) * plan.whole)  # noqa: ARG005


def weighted_parts(parts: Parts, weights: NDArray[np.float64]) -> Parts:
    """Return the map from rows and labels to parts times the weight of the label, at most 1, in units of 1/8:
    rounded integers of at most 8 times the part.
    """
    units = WEIGHT_UNITS * weights

    def weighted(rows: NDArray[np.float64], y: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.asarray(np.rint(parts(rows, y) * units[y][:, None]))

    return weighted


def predicted_parts(plan: LogisticPlan, weights: NDArray[np.float64]) -> Parts:
    """Return the map from rescaled rows to the centred parts of predictions, probabilities rounded down.
    Whole margins and likelihoods of a table have no quotient that floats round up to an integer, so that
    the order of float additions does not matter.
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
    """Return the inner edges of the bins of scores in [-1, 1]; widths halve towards 0, for any scale."""
    if not levels:
        return np.zeros(0)
    ends = 2.0 ** -np.arange(levels - 1, 0, -1)
    return np.concatenate([-ends[::-1], [0.0], ends])


def score_queries(
    plan: LogisticPlan, mapped: Mapped, weights: NDArray[np.float64], *, shift: float, reach: float
) -> list[HistogramQuery]:
    """Return the histogram queries of scores, which are asked together.

    Of two classes, the categories are 2 * bin, plus 1 for the second label, of the margin's difference. Of
    more, they are bins of the label's margin minus that of the next class in one query, of the previous one
    in the other.
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
        def each(records: LabelledRows) -> NDArray[np.int64]:
            blocks = mapped.blocks(records)
            return np.concatenate([bins(rows, records.y[block]) for block, rows in blocks])

        return HistogramQuery(each, categories=_n_scores(plan))

    asked = [of_second] if plan.n_classes == 2 else [partial(of_label, 1), partial(of_label, -1)]
    return [query(bins) for bins in asked]


def count_query(n_classes: int) -> HistogramQuery:
    """Return the query for the number of records of each class."""
    return HistogramQuery(lambda records: np.asarray(records.y, dtype=np.int64), categories=n_classes)


def kinds_of_queries(plan: LogisticPlan) -> list[tuple[StatisticalQuery, Fraction]]:
    """Return one query of each kind with its share of the budget; both are public."""
    directions, labels, step = plan.shares
    first = moments_query(plan) if plan.second_moments else mean_row_query(plan)
    products = any_products_query(plan)
    scores = HistogramQuery(lambda records: records.y, categories=_n_scores(plan))
    last = (scores, plan.calibration_share / plan.n_score_queries)
    kinds = [(first, directions), (products, labels), *([(products, step)] if step else []), last]
    return (
        kinds if plan.class_weight is None else [*kinds, (count_query(plan.n_classes), plan.counting_share)]
    )


def _sums(
    plan: LogisticPlan, each: Any, total: Any, size: int, norm: int, whole: int, squared_l2: int | None = None
) -> VectorQuery:
    """Return the query for sums of vectors of norms at most `norm`, in units of 1 / `whole`."""
    l1, added = (2 * norm, norm) if plan.order == 1 else (None, None)
    unit = Fraction(1, whole)
    return VectorQuery(
        each, size=size, norm=norm, unit=unit, total=total, l1=l1, squared_l2=squared_l2, added_l1=added
    )


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
