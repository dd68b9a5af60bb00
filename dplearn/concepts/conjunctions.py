"""Conjunctions of literals over bits: label code 1 if some bits are 1 and some others are 0.

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
from dplearn.concepts.base import Labels, ListedMembers
from dplearn.concepts.bits import BitConcepts, literal
from dplearn.core.conjunctions import conjunction_at, conjunction_errors
from dplearn.domains import Bits, Product

__all__ = ["Conjunction", "Conjunctions"]

_LARGEST = 1 << 28  # greatest number of members, each of which has a count in memory


@dataclass(frozen=True)
class Conjunction:
    """The rule with label code 1 if some bits are 1 and some others are 0, and label code 0 otherwise.

    Attributes
    ----------
    positive, negative : tuple of int
        The columns with bits that must be 1, and those with bits that must be 0; increasing and disjoint.
    domain : Product of Bits, optional
        The domains of the columns, with their thresholds, for `describe`. None: no thresholds.
    """

    positive: tuple[int, ...]
    negative: tuple[int, ...]
    domain: Product | None = field(default=None, repr=False, compare=False)

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        """Return the label code of each record.

        Parameters
        ----------
        columns : list of ndarray of shape (n,)
            As returned by the class's `domain.encode`.

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
    """All conjunctions of at most `max_literals` literals over bits.

    Parameters
    ----------
    n_features : int
        The number d of columns; at least 1.
    max_literals : int, default=3
        At least 0; d or more means all 3**d conjunctions.
    binarize : float or None, default=0.0
        Numbers above it are encoded as 1, others as 0. None: values must be 0 or 1. For a different threshold
        in each column, see `over`.

    Attributes
    ----------
    domain : Product of Bits
        Encodes each column as uint8, 0 or 1.
    n_labels : int
        2.

    Raises
    ------
    TypeError
        If a parameter is of the wrong type.
    ValueError
        If a parameter is out of range, or there are more than 2**28 conjunctions, which are all counted.

    Notes
    -----
    A variable is required to be 1 (positive), required to be 0 (negative), or absent. The order of the
    members depends only on d and `max_literals`:

    - with `max_literals` >= d, by the number to which variable i contributes 3**i times 0 if negative, 1 if
      positive, 2 if absent;
    - otherwise by the number of literals; then by the number to which the i-th lowest of the variables
      contributes 2**i times 0 if negative, 1 if positive; then by the variables, in order of the highest,
      then the next, ....

    The empty conjunction, which always predicts label code 1, is a member; the constant label code 0 is not.

    **Source.** A class for the generic learner of Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith
    (2011), Section 3. Their learner may need exponential time; here all errors are computed by sums.

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
        """The number of conjunctions."""
        d = self.n_features
        return sum(comb(d, j) << j for j in range(min(self.max_literals, d) + 1))

    @property
    def littlestone_lower_bound(self) -> int:
        """A lower bound on the Littlestone dimension, from k blocks of equally many columns.

        A conjunction has at most one literal of each block of b columns, which must be 1. A point with 0 in
        some columns of one block, and 1 elsewhere, has label 0 if the literal is among them; so a search has
        floor(log2(b + 1)) levels a block. Or first the point of ones tells whether all literals must be 1, or
        all must be 0, and a search of the b literals of each block follows.
        """
        d, levels = self.n_features, 0
        for blocks in range(1, min(self.max_literals, d) + 1):
            width = d // blocks
            one = width.bit_length() - 1
            levels = max(levels, blocks * ((width + 1).bit_length() - 1), 1 + blocks * one)
        return levels

    def error_counts(self, columns: Sequence[NDArray[np.uint8]], y: Labels) -> NDArray[Any]:
        """Return the number of errors of each conjunction.

        Parameters
        ----------
        columns : list of ndarray of uint8 of shape (n,)
            As returned by `domain.encode`.
        y : ndarray of intp of shape (n,)
            Label codes, 0 or 1.

        Returns
        -------
        ndarray of int32 (int64 from n = 2**31 on) of shape (size,)
            Private. In the order of the class.
        """
        return conjunction_errors(columns, y, self.max_literals)

    def dichotomies(self, columns: Sequence[NDArray[np.uint8]]) -> ListedMembers:
        """Return one conjunction for each behaviour on public records; parameters as in `ConceptClass`.

        Behaviours are compared by sums of 64-bit keys of the distinct records that satisfy a conjunction. If
        the keys were random, two different behaviours would have equal sums with probability at most 2**-63;
        then the class would lack one of them.
        """
        packed = np.packbits(np.array(columns), axis=0)
        _, first = np.unique(packed, axis=1, return_index=True)
        distinct = [column[first] for column in columns]
        keys = _mixed(np.arange(len(first), dtype=np.uint64))
        sums = np.zeros(self.size, dtype=np.uint64)
        for bit in range(64):  # the errors if the labels are bits of the keys add up to the sum of keys
            labels = (keys >> np.uint64(bit) & np.uint64(1)).astype(np.intp)
            sums += self.error_counts(distinct, labels).astype(np.uint64) << np.uint64(bit)
        # The cube begins with the conjunctions of most literals, the other order with those of fewest.
        if self.max_literals < self.n_features:
            return ListedMembers(self, np.sort(np.unique(sums, return_index=True)[1]))
        last = self.size - 1 - np.unique(sums[::-1], return_index=True)[1]
        return ListedMembers(self, np.sort(last))

    def member_at(self, position: int) -> Conjunction:
        """Return the conjunction at a position of the class's order, from 0.

        Raises
        ------
        IndexError
            If the position is not below `size`.
        """
        return Conjunction(*conjunction_at(position, self.n_features, self.max_literals), self.domain)


def _too_many(d: int, k: int) -> bool:
    total = 0
    for j in range(min(k, d) + 1):
        total += comb(d, j) << j
        if total > _LARGEST:
            return True
    return False


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a 64-bit key of each number, by SplitMix64 (Steele, Lea and Flood, 2014)."""
    keys = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ keys >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ keys >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = keys ^ keys >> np.uint64(31)
    return mixed
