"""The plan of a fit of logistic regression: public values, shares of the budget and row encoding.

>>> from dplearn.estimator.public import Public
>>> plan = LogisticPlan(ApproxDP(1), "laplace", n_steps=6, second_moments=True, public=Public(1000, 4, 3))
>>> plan.n_columns, plan.n_classes, plan.order, [str(share) for share in plan.shares]
(5, 3, 1, ['13/100', '91/300', '13/150'])
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.unit_rows import unit_rows
from dplearn.learners.bins import UNDECLARED
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import ALPHA, Plan, hidden, noted, records_needed
from dplearn.privacy.shares import GAUSSIAN

__all__ = ["FINEST", "LogisticPlan", "row_basis", "row_order"]

#: Rows and residuals are integers of magnitude at most 2**10, so that float sums over 2**33 records are
#: exact.
FINEST = 10

_CALIBRATION = Fraction(3, 20)  # share of the budget for the calibration of slope and offset
_SLOPE = Fraction(2, 15)  # the same with more than two classes, for the slope only
_COUNTING = Fraction(1, 20)  # share of the budget for the numbers of records of the classes, with weights
_SELECTION = Fraction(3, 20)  # share of the budget for the masses of the columns of a wide table


@dataclass(frozen=True)
class LogisticPlan(Plan):
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
        classes, or two with more, which are asked together. All other queries are sequential. A wide table
        has one more, for the masses of its columns, and a fit with class weights one more, for the numbers
        of records of the classes.
    n_kept : int or None
        The greatest number of columns of a wide table that a fit keeps, by their noisy masses, buckets of the
        others included; the noise and the steps are those for so many columns. None: the table is not wide,
        and all columns are used.
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
    replan: Any = hidden()  # from a number of records to the plan of a fit on them; set by `plan`
    narrowed: Any = hidden()  # from a number of kept columns to the plan of the queries about them
    for_count: Any = hidden()  # from an estimated number of records to the plan of a fit; see `counted_plan`

    _computed = ("n_needed",)
    error_name = "tolerance"
    _accounting = GAUSSIAN

    def __post_init__(self) -> None:
        more = (self.n_kept is not None) + (self.class_weight is not None)
        object.__setattr__(self, "n_queries", more + 1 + self.n_steps + self.n_score_queries)

    @property
    def n_needed(self) -> int | None:
        """A number of records for which `tolerance` is at most 0.05; None if 10**10 do not suffice."""
        return records_needed(self.replan, lambda plan: plan.tolerance <= ALPHA)

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
        return row_order(self.noise)

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

    def basis(self) -> NDArray[np.float64]:
        """Return an orthonormal basis, in columns, of the span of all possible rows."""
        return row_basis(self.n_columns, self.blocks)

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

    def rows(self, X: Any) -> NDArray[np.integer[Any]]:
        """Return rows of norm `reach`, with the intercept's column; each is a function of its own row.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_columns - 1)
            Finite numbers.
        """
        return unit_rows(X, self.reach, order=self.order, intercept=True)

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


def row_basis(n_columns: int, blocks: Sequence[slice]) -> NDArray[np.float64]:
    """Return an orthonormal basis, in columns, of the span of all possible rows, whose last number is the 1.

    Parameters
    ----------
    n_columns : int
        Number of numbers in a row, the 1 of the intercept included.
    blocks : sequence of slice
        Blocks of one-hot columns: in each row, exactly one column of a block is 1 and the others are 0.
    """
    constant = np.zeros((n_columns, len(blocks)))
    for place, block in enumerate(blocks):
        constant[block, place], constant[-1, place] = 1.0, -1.0
    return np.asarray(np.linalg.qr(constant, mode="complete")[0][:, len(blocks) :])


def row_order(noise: str) -> int:
    """Return the order of the row norm, as for `unit_rows`: 1 for Laplace noise, 2 for Gaussian noise.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
        The noise.
    """
    return 1 if noise == "laplace" else 2
