"""Conjunctions of literals over bits: "yes" if these are set and those are not.

>>> import numpy as np
>>> concepts = Conjunctions(n_features=2, max_literals=1, binarize=None)
>>> concepts.size  # always, not x0, not x1, x0, x1
5
>>> columns = concepts.domain.encode(np.array([[0, 1], [1, 1], [1, 0]]))
>>> concepts.error_counts(columns, np.array([0, 1, 1])).tolist()
[1, 3, 1, 0, 2]
>>> concepts.member_at(3).describe(["smoker", "retired"], ["low", "high"])
"'high' if smoker, else 'low'"
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.concepts.base import CountedErrors, Labels
from dplearn.concepts.bits import BitConcepts, literal
from dplearn.core.conjunctions import conjunction_at, conjunction_errors
from dplearn.domains import Bits, Product

__all__ = ["Conjunction", "Conjunctions"]

_LARGEST = 1 << 28  # members, each of which has a count in memory


@dataclass(frozen=True)
class Conjunction:
    """Label code 1 where some bits are set and some others are not, else label code 0.

    Attributes
    ----------
    positive, negative : tuple of int
        The columns whose bit must be 1, and those whose bit must be 0; rising, none in both.
    domain : Product of Bits, optional
        What a bit says of its column, for `describe`. None: what the column's name says.
    """

    positive: tuple[int, ...]
    negative: tuple[int, ...]
    domain: Product | None = field(default=None, repr=False, compare=False)

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        """Return the label code of each record.

        Parameters
        ----------
        columns : list of ndarray of shape (n,)
            As the class's `domain.encode` gives them.

        Returns
        -------
        ndarray of intp of shape (n,)
        """
        satisfied = np.ones(len(columns[0]), dtype=bool)
        for feature in self.positive:
            satisfied &= columns[feature] == 1
        for feature in self.negative:
            satisfied &= columns[feature] == 0
        return satisfied.astype(np.intp)

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        """Return the rule in words, its literals in the order of columns."""
        literals = sorted([(i, True) for i in self.positive] + [(i, False) for i in self.negative])
        if not literals:
            return f"always {labels[1]!r}"
        words = " and ".join(
            literal(features[i], i, self.domain, positive=positive) for i, positive in literals
        )
        return f"{labels[1]!r} if {words}, else {labels[0]!r}"


class Conjunctions(BitConcepts):
    """All conjunctions of at most so many literals over bits; satisfied means label code 1.

    Parameters
    ----------
    n_features : int
        The number d of columns; at least 1.
    max_literals : int, default=3
        At least 0; d or more means all 3**d conjunctions.
    binarize : float or None, default=0.0
        Numbers above it count as 1, others as 0. None: values must be 0 or 1 already. For a number of its
        own for each column, see `over`.

    Attributes
    ----------
    domain : Product of Bits
        Encodes each column as uint8, 0 or 1.
    n_labels : int
        2.

    Raises
    ------
    TypeError
        If a number is not of the right kind.
    ValueError
        If a parameter is out of range, or there are more than 2**28 conjunctions: each is counted.

    Notes
    -----
    A variable may be required to be 1 (positive), to be 0 (negative), or be absent. Members stand in an
    order that depends on d and `max_literals` alone:

    - all of them (`max_literals` >= d): by the number to which variable i contributes 3**i times 0 if
      negative, 1 if positive, 2 if absent;
    - else by the number of literals; then by the number to which the i-th lowest of the variables
      contributes 2**i times 0 if negative, 1 if positive; then by the variables, the highest compared first.

    The empty conjunction, always label code 1, is a member; always label code 0 is none.

    **Source.** A class for the generic learner of Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith
    (2011), Section 3. There a learner may take exponential time; here all errors come from one pass of sums.

    Examples
    --------
    >>> Conjunctions(16, max_literals=16).size == 3**16
    True
    >>> Conjunctions(1000, max_literals=2).size
    2000001
    >>> Conjunctions(100, max_literals=6)
    Traceback (most recent call last):
    ...
    ValueError: max_literals must leave at most 2**28 conjunctions over 100 features, got 6
    """

    parameter = "max_literals"

    def __init__(self, n_features: int, max_literals: int = 3, *, binarize: float | None = 0.0):
        self.n_features = check_count("n_features", n_features, low=1)
        self.max_literals = check_count("max_literals", max_literals)
        if _too_many(self.n_features, self.max_literals):
            raise ValueError(
                f"max_literals must leave at most 2**28 conjunctions over {n_features} features,"
                f" got {max_literals}"
            )
        self.domain = Product([Bits(binarize)] * self.n_features)

    @property
    def size(self) -> int:
        """How many conjunctions there are."""
        d = self.n_features
        return sum(comb(d, j) << j for j in range(min(self.max_literals, d) + 1))

    def error_counts(self, columns: Sequence[NDArray[np.uint8]], y: Labels) -> NDArray[Any]:
        """Return how many records each conjunction gets wrong.

        Parameters
        ----------
        columns : list of ndarray of uint8 of shape (n,)
            As `domain.encode` gives them.
        y : ndarray of intp of shape (n,)
            Label codes, 0 or 1.

        Returns
        -------
        ndarray of int32 (int64 from n = 2**31 on) of shape (size,)
            In the order of the class.
        """
        return conjunction_errors(columns, y, self.max_literals)

    def error_profile(self, columns: Sequence[NDArray[np.uint8]], y: Labels) -> CountedErrors:
        """Count the errors of all conjunctions; parameters as in `error_counts`."""
        return CountedErrors(self.error_counts(columns, y), self.member_at)

    def member_at(self, position: int) -> Conjunction:
        """Return the conjunction at a position of the class's order, from 0.

        Raises
        ------
        IndexError
            If there are not so many.
        """
        return Conjunction(*conjunction_at(position, self.n_features, self.max_literals), self.domain)


def _too_many(d: int, k: int) -> bool:
    total = 0
    for j in range(min(k, d) + 1):
        total += comb(d, j) << j
        if total > _LARGEST:
            return True
    return False
