"""The plan of a fit of logistic regression: what is fixed before any data, and what its rows look like.

>>> from dplearn.estimator.stages import Public
>>> plan = LogisticPlan(ApproxDP(1), "laplace", n_steps=6, second_moments=True, public=Public(1000, 4, 3))
>>> plan.n_columns, plan.n_classes, plan.order, [str(share) for share in plan.shares]
(5, 3, 1, ['13/100', '91/300', '13/150'])
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.unit_rows import unit_rows
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan, hidden, noted

__all__ = ["FINEST", "LogisticPlan", "row_order"]

#: Rows and residuals are whole numbers up to 2**10: so sums over 2**33 records are exact as floats.
FINEST = 10

_CALIBRATION = Fraction(3, 20)  # of the budget, for a slope and an offset
_SLOPE = Fraction(2, 15)  # of the budget, where there are several classes: for a slope


@dataclass(frozen=True)
class LogisticPlan(Plan):
    """What a fit of `StatisticalQueryLogisticRegression` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    noise : {"laplace", "gaussian", "local"}
        Which noise it would add.
    n_steps : int
        How many steps it would take; 1 asks about labels only.
    second_moments : bool
        Whether it would ask for all second moments of the columns, or for their means only.
    n_queries : int
        How many queries it would ask: one for directions, one for each step, and one for the calibration, or
        two of more than two classes, which are asked together; all others one after the other.
    deviation : float
        The standard deviation of the noise in a number of the answer about labels, in which a label counts 1;
        with "local", that of sampling included.
    tolerance : float
        With probability at least 1 - beta no number of that answer is off by more; with "local", the bias of
        clipped coordinates included, whatever the records.
    noise_to_signal : float
        How great that noise is next to what labels say of so many columns. A rule of thumb: from 1 on next to
        nothing is learned, and a fit warns.
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
    noise_to_signal: float = field(default=0.0, metadata=noted("compare settings by this: smaller is better"))
    beta: float = 0.05
    design: Any = hidden()  # how the table becomes a matrix of numbers; None: it is one
    public: Any = hidden()
    bits: int = hidden(FINEST)  # rows and residuals are rounded to 2**-bits, towards 0
    levels: int = hidden(9)  # how finely scores are told apart by magnitude; see `score_edges`

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_queries", 1 + self.n_steps + self.n_score_queries)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn if public numbers say that noise hides the labels."""
        n = self.public.n_samples
        # With no more records than labels there is nothing to hide.
        if self.n_classes >= n or self.noise_to_signal < 1:
            return ()
        delta = ", or a delta such as 1e-6" if self.noise == "laplace" else ""
        bounds = (
            ", and declare bounds, domain=..., if the columns differ in size" if self.design is None else ""
        )
        return (
            f"n_samples is {n}: noise is larger than the signal of the labels for"
            f" {self.n_columns - 1} numeric columns; use more records or a larger epsilon{delta}{bounds};"
            " plan(n_samples, n_features=..., n_labels=...) reports `noise_to_signal` without data",
        )

    @property
    def n_classes(self) -> int:
        """Number of labels, at least 2."""
        return int(self.public.n_labels)

    @property
    def n_columns(self) -> int:
        """Numbers in a row, that of the intercept included."""
        return 1 + int(self.public.n_features if self.design is None else len(self.design.names))

    @property
    def order(self) -> int:
        """How rows are measured, as for `unit_rows`: 1 or 2."""
        return row_order(self.noise)

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
        return self.n_columns if self.design is None else min(self.design.n_active + 1, self.n_columns)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Columns of which each row has exactly one that is 1: their sum less the intercept's is 0."""
        return () if self.design is None else tuple(self.design.blocks)

    def basis(self) -> NDArray[np.float64]:
        """Return orthogonal directions, in columns, that span all rows there can be."""
        constant = np.zeros((self.n_columns, len(self.blocks)))
        for place, block in enumerate(self.blocks):
            constant[block, place], constant[-1, place] = 1.0, -1.0
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


def row_order(noise: str) -> int:
    """Return how rows are measured, as for `unit_rows`: 1 suits Laplace noise, 2 all other.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "local"}
        Where it comes from.
    """
    return 1 if noise == "laplace" else 2
