"""The columns of linear models: their encoding as numbers, and those that are kept of a wide table.

A table of hashed text has many columns, most of them nearly empty, whose coefficients would be only noise,
and too many for second moments. A first query asks for the mass of each column: the sum over records of x**2
/ length**2, for a number x of a row of this Euclidean length. Columns whose released masses exceed a
threshold for the noise are kept; each other is added to one of a few buckets, as by hashing.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from scipy.special import ndtri

from dplearn.domains import Domain, Floats, Product
from dplearn.estimator.recipe import FitFacts
from dplearn.kernels import dense, ignores_float_errors, row_blocks
from dplearn.learners.bins import declared_columns
from dplearn.learners.linear.logistic_queries import LogisticPlan
from dplearn.queries import LabelledRows, VectorQuery
from dplearn.table.encodings import DesignMatrix
from dplearn.table.features import as_product

#: The most buckets for the columns that are not kept. On Adult's rows as text, the area under the ROC curve
#: depended little on the number of kept columns and buckets; where no word is frequent, buckets are needed.
N_BUCKETS = 1 << 8
_FLOATS = Floats()
NUMBERS = Product([_FLOATS])  # the assumed domain of each undeclared column


def declared_domain(domain: Any) -> Any:
    """Return the domain of all columns, or the product of their domains; None if none is declared."""
    return None if domain is None else declared_columns(domain, _FLOATS)


def design_of(declared: Domain | Product | None, facts: FitFacts) -> DesignMatrix | None:
    """Return the encoding of a table as a matrix of numbers; None if no domain is declared."""
    return None if declared is None else DesignMatrix(as_product(declared, facts.n_features, facts.names))


def sparse_rows(X: Any) -> Any:
    """Return a wide table as a sparse matrix."""
    table: Any = X  # issparse narrows to a type without its methods
    if issparse(X):
        return csr_array(table)
    blocks: list[Any] = [csr_array(dense(X[block])) for block in row_blocks(*X.shape)]
    return vstack(blocks, format="csr")


def mass_query(plan: LogisticPlan) -> VectorQuery:
    """Return the query for the mass of each column.

    **Privacy.** A record's numbers are nonnegative and sum to at most S, the square of `plan.reach`. A
    replaced record moves totals by at most 2 S in the L1 norm, and 2 S**2 in the squared Euclidean norm, as
    inner products are nonnegative; an added one by S.
    """
    most, d = plan.reach**2, int(plan.n_numbers)

    def each(records: LabelledRows) -> NDArray[np.int64]:
        rows, masses = records.X, _masses(records.X, most)
        return np.asarray(csr_array((masses, rows.indices, rows.indptr), shape=rows.shape).toarray())

    def total(records: LabelledRows) -> NDArray[np.int64]:
        # Sums of at most 2**33 records, of at most 2**20 each, are exact in floats.
        weights = _masses(records.X, most)
        return np.bincount(records.X.indices, weights=weights, minlength=d).astype(np.int64)

    return VectorQuery(
        each,
        size=d,
        norm=most,
        unit=Fraction(1, most),
        total=total,
        l1=2 * most,
        squared_l2=2 * most**2,
        added_l1=most,
    )


def mass_threshold(plan: LogisticPlan, deviation: float) -> float:
    """Return the mass that noise alone is expected to exceed in one of all columns, if none has any mass."""
    d = max(plan.n_numbers, 2)
    # Laplace noise of scale s exceeds t with probability exp(-t / s) / 2, and has deviation s sqrt(2).
    times = math.log(d / 2) / math.sqrt(2) if plan.order == 1 else ndtri(1 - 1 / d)
    return float(deviation * times)


def kept_columns(masses: NDArray[np.float64], *, threshold: float, most: int) -> NDArray[np.intp]:
    """Return the columns whose masses are above a threshold, ascending: at least the greatest, and at most
    the `most` greatest.
    """
    greatest = np.argsort(-masses, kind="stable")[:most]
    n_above = int((masses[greatest] > threshold).sum())
    return np.sort(greatest[: max(1, n_above)])


def reduction(columns: NDArray[np.intp], n_numbers: int, n_buckets: int) -> Any:
    """Return the matrix that maps a row to its kept columns and the buckets of all others: column j, with the
    sign (-1)**(j // n_buckets), is added to bucket j modulo `n_buckets`, or dropped without buckets.
    """
    places = np.zeros(n_numbers, dtype=np.intp)
    signs = np.zeros(n_numbers)
    if n_buckets:
        quotients, places = np.divmod(np.arange(n_numbers), n_buckets)
        signs = 1.0 - 2.0 * (quotients % 2)
        places = places + len(columns)
    places[columns], signs[columns] = np.arange(len(columns)), 1.0
    shape = n_numbers, len(columns) + n_buckets
    found = csr_array((signs, places, np.arange(n_numbers + 1)), shape=shape)
    found.eliminate_zeros()
    return found


@ignores_float_errors
def reduced_rows(plan: LogisticPlan, matrix: Any, records: LabelledRows) -> LabelledRows:
    """Return integer rows of the kept columns and the buckets."""
    return LabelledRows(plan.rows(records.X @ matrix), records.y)


@ignores_float_errors
def _masses(rows: Any, most: int) -> NDArray[np.int64]:
    """Return the share of each stored number in the squared length of its row, times `most`, rounded down. An
    exact check replaces rows of greater sums, by float errors, by zeros; numbers that are not finite count 0.
    """
    lengths = np.diff(rows.indptr)
    filled = np.flatnonzero(lengths)
    starts, lengths = rows.indptr[filled], lengths[filled]
    if not len(starts):
        return np.zeros(0, dtype=np.int64)

    def spread(of_rows: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(of_rows, lengths)

    data = np.where(np.isfinite(rows.data), rows.data, 0.0)
    # Scaled to magnitudes of at most 1, so that no square overflows.
    largest = np.maximum.reduceat(np.abs(data), starts)
    squares = (data / spread(np.where(largest > 0, largest, 1.0))) ** 2
    sums = np.maximum(np.add.reduceat(squares, starts), 1.0)  # a filled row has a square of 1, or is 0
    masses = np.floor(squares * spread(most / sums)).astype(np.int64)
    # No mass is negative, since no square is. The sums are exact integers.
    masses[spread(np.add.reduceat(masses, starts) > most)] = 0
    return np.asarray(masses)
