"""Conjunctions of literals over bits: label code 1 if some bits are 1 and some others are 0.

A conjunction over d bits has some positive and some negative variables; it gives label 1 to the records in
which all positive variables are 1 and all negative variables are 0, and label 0 to all others. For n records,
n1 of them with label 1,

    errors(c) = n1 + #(satisfying c, label 0) - #(satisfying c, label 1),

so one signed number per conjunction suffices. These numbers add: the number of a conjunction without some
variable is the sum of the numbers of the two conjunctions with this variable positive and negative. Two
algorithms use this sum in opposite directions: `cube_errors` for all 3**d conjunctions, and `subset_errors`
for those of at most k < d literals.

The order of the conjunctions depends only on d and on the greatest number k of literals, never on data.

- All of them (k >= d): variable i contributes 3**i times 0 if negative, 1 if positive, 2 if absent.
- Fewer (k < d): by the number of literals; then by signs, where the i-th lowest variable contributes 2**i
  times 0 if negative, 1 if positive; then by the variables, in order of the highest, then the next, ....
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.concepts.base import BitConcepts, Labels, ListedMembers, literal
from dplearn.domains import Bits, Product

_LARGEST = 1 << 28  # greatest number of members, each of which has a count in memory


@dataclass(frozen=True)
class Conjunction:
    """The rule with label code 1 if some bits are 1 and some others are 0, and label code 0 otherwise."""

    positive: tuple[int, ...]  # the columns with bits that must be 1; increasing
    negative: tuple[int, ...]  # those with bits that must be 0
    domain: Product | None = field(default=None, repr=False, compare=False)  # the thresholds of bits, if any

    @property
    def used(self) -> tuple[int, ...]:
        return (*self.positive, *self.negative)

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        satisfied = np.ones(len(columns[0]), dtype=bool)
        for feature in self.positive:
            satisfied &= columns[feature] == 1
        for feature in self.negative:
            satisfied &= columns[feature] == 0
        return satisfied.astype(np.intp)

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
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

    Notes
    -----
    A variable is required to be 1 (positive), required to be 0 (negative), or absent; at most 2**28
    conjunctions are counted. The order of the members depends only on d and `max_literals`:

    - with `max_literals` >= d, by the number to which variable i contributes 3**i times 0 if negative, 1 if
      positive, 2 if absent;
    - otherwise by the number of literals; then by the number to which the i-th lowest of the variables
      contributes 2**i times 0 if negative, 1 if positive; then by the variables, in order of the highest,
      then the next, ....

    The empty conjunction, which always predicts label code 1, is a member; the constant label code 0 is not.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 3; here errors are
    computed by sums.

    Examples
    --------
    >>> Conjunctions(16, max_literals=16).size == 3**16, Conjunctions(1000, max_literals=2).size
    (True, 2000001)
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
        """Return the number of errors of each conjunction, as int32, or int64 from n = 2**31 on."""
        return conjunction_errors(columns, y, self.max_literals)

    def dichotomies(self, columns: Sequence[NDArray[np.uint8]]) -> ListedMembers:
        """Return one conjunction for each behaviour on public records; parameters as in `ConceptClass`.

        Behaviours are compared by sums of 64-bit keys of the distinct records that satisfy a conjunction: for
        random keys, two are confused with probability at most 2**-63.
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
    return keys ^ keys >> np.uint64(31)


_CUBE_BLOCK = 10  # variables: 3**10 int32 results fit into the cache
_HELD = 1 << 18  # words of the sets in memory while one more variable is added: 2 MiB
_STEP = (16, 128)  # least and greatest number of words of a set in a block; a count of 128 * 64 fits uint16


def conjunction_errors(columns: Sequence[NDArray[np.uint8]], y: NDArray[Any], k: int) -> NDArray[Any]:
    """Return the errors of each conjunction of at most `k` literals; int64 if n does not fit int32."""
    if k >= len(columns):
        return cube_errors(columns, y)
    return subset_errors(columns, y, k)


def conjunction_at(position: int, d: int, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the positive and the negative variables of the conjunction at a position of the order."""
    if position >= 0 and k >= d and position < 3**d:
        digits = [position // 3**i % 3 for i in range(d)]
        return _named(1, digits, range(d)), _named(0, digits, range(d))
    if position >= 0 and k < d:
        for j in range(k + 1):
            sets = comb(d, j)
            if position < sets << j:
                signs, rank = divmod(position, sets)
                digits = [signs >> i & 1 for i in range(j)]
                variables = _set_at(rank, d, j)
                return _named(1, digits, variables), _named(0, digits, variables)
            position -= sets << j
    raise IndexError("position is beyond the last conjunction")


def _named(wanted: int, digits: Sequence[int], variables: Sequence[int]) -> tuple[int, ...]:
    return tuple(v for digit, v in zip(digits, variables, strict=True) if digit == wanted)


def _set_at(rank: int, d: int, j: int) -> list[int]:
    """Return the set of `j` variables below `d` with this colexicographic rank, in increasing order."""
    variables = []
    for i in range(j, 0, -1):
        # comb(v, i) sets of i variables lie below v.
        v = bisect_right(range(d), rank, key=lambda u, i=i: comb(u, i)) - 1  # type: ignore[misc]
        variables.append(v)
        rank -= comb(v, i)
    return variables[::-1]


# The cube: from the 2**d conjunctions with all variables to those with fewer.


def cube_errors(columns: Sequence[NDArray[np.uint8]], y: NDArray[Any]) -> NDArray[Any]:
    """Return the errors of all 3**d conjunctions, by 3**d - 2**d additions in place."""
    d = len(columns)
    errors = np.empty((3,) * d, dtype=_dtype(len(y)))
    _fill_cube(errors, _signed_histogram(columns, y))
    errors += int(np.count_nonzero(y))
    return errors.reshape(-1)


def _signed_histogram(columns: Sequence[NDArray[np.uint8]], y: NDArray[Any]) -> NDArray[Any]:
    """Return the net labels 0 of each pattern of bits, of shape (2,) * d; the first axis is the last
    variable.
    """
    codes = y.astype(np.intp)
    for start in range(0, len(columns), 7):
        seven = columns[start : start + 7]
        # Collected in bytes first: a register holds 8 times as many.
        code = np.zeros(len(y), dtype=np.uint8)
        for column in reversed(seven):
            code |= column
            code <<= 1
        codes |= code.astype(np.intp) << start
    counts = np.bincount(codes, minlength=2 << len(columns)).reshape(-1, 2)
    return (counts[:, 0] - counts[:, 1]).reshape((2,) * len(columns))


def _fill_cube(cube: NDArray[Any], patterns: NDArray[Any]) -> None:
    """Write sums over `patterns`, of shape (2,) * d, to `cube`, of shape (3,) * d."""
    d = cube.ndim
    if d > _CUBE_BLOCK:
        # The halves are computed in place, depth first, so that they stay in the cache.
        _fill_cube(cube[0], patterns[0])
        _fill_cube(cube[1], patterns[1])
        np.add(cube[0], cube[1], out=cube[2])
        return
    cube[(slice(2),) * d] = patterns
    for axis in reversed(range(d)):
        # Later axes are complete; earlier ones have only the entries 0 and 1.
        part = np.moveaxis(cube[(slice(2),) * axis], axis, 0)
        np.add(part[0], part[1], out=part[2, ...])


# Sets of variables: from the positive conjunctions, counted by bitwise operations, to those with negations.


def subset_errors(columns: Sequence[NDArray[np.uint8]], y: NDArray[Any], k: int) -> NDArray[Any]:
    """Return the errors of all conjunctions of at most `k` < d literals, by bitwise operations on words."""
    d = len(columns)
    ends = [0, *accumulate(comb(d, j) << j for j in range(k + 1))]
    errors = np.empty(ends[-1], dtype=_dtype(len(y)))
    levels = [errors[ends[j] : ends[j + 1]].reshape(1 << j, comb(d, j)) for j in range(k + 1)]
    ones = int(np.count_nonzero(y))
    positive = [level[-1] for level in levels]
    positive[0][:] = len(y) - 2 * ones
    for counts in positive[1:]:
        counts[:] = 0
    if k > 0:
        _tally(positive, _words(columns, np.flatnonzero(y == 0)), np.add)
        _tally(positive, _words(columns, np.flatnonzero(y)), np.subtract)
        _fill_negative(levels, d)
    errors += ones
    return errors


def _words(columns: Sequence[NDArray[np.uint8]], records: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Return the bits of some records, 64 a word, in shape (words, d); the last word is padded with 0."""
    packed = np.zeros((len(columns), -(-records.size // 64) * 8), dtype=np.uint8)
    for row, column in zip(packed, columns, strict=True):
        row[: -(-records.size // 8)] = np.packbits(column[records])
    return np.ascontiguousarray(packed.view(np.uint64).T)


def _tally(positive: Sequence[NDArray[Any]], words: NDArray[np.uint64], tally: np.ufunc) -> None:
    """Add to (or subtract from) positive[j], for each set of j variables, the records in which all are 1."""
    d, k = words.shape[1], len(positive) - 1
    most = max(comb(d, j) for j in range(k))
    step = min(max(_HELD // most, _STEP[0]), _STEP[1])
    for start in range(0, len(words), step):
        block = held = words[start : start + step]
        tally(positive[1], _popcounts(block), out=positive[1])
        for j in range(2, k + 1):
            longer = np.empty((len(block), comb(d, j) if j < k else 0), dtype=np.uint64)
            for v in range(j - 1, d):
                first, stop = comb(v, j), comb(v + 1, j)
                both = held[:, : stop - first] & block[:, v : v + 1]
                counts = positive[j][first:stop]
                tally(counts, _popcounts(both), out=counts)
                if j < k:
                    longer[:, first:stop] = both
            held = longer


def _popcounts(words: NDArray[np.uint64]) -> NDArray[np.uint16]:
    return np.bitwise_count(words).sum(axis=0, dtype=np.uint16)


def _fill_negative(levels: Sequence[NDArray[Any]], d: int) -> None:
    """Complete levels of shape (2**j, comb(d, j)), given their last rows, with all literals positive."""
    shorter = np.empty((0, 1), dtype=np.intp)  # row p: the rank of each set without its p-th variable
    for j in range(1, len(levels)):
        ranks = []
        for v in range(j - 1, d):
            # The removed variable of a set with highest variable v is a lower one, or v itself.
            below = comb(v, j - 1)
            ranks.append(np.vstack([shorter[:, :below] + below, np.arange(below)]))
            _negate(levels[j][:, comb(v, j) : comb(v + 1, j)], levels[j - 1], ranks[-1])
            if j == len(levels) - 1:
                ranks.clear()  # the last level's ranks are not used again
        if ranks:
            shorter = np.hstack(ranks)


def _negate(block: NDArray[Any], shorter: NDArray[Any], ranks: NDArray[np.intp]) -> None:
    """Fill the rows of `block`: the number with a variable negative is that without it minus that with it."""
    for p, absent in enumerate(ranks):
        rows = 1 << p
        np.subtract(shorter[-rows:].take(absent, axis=1), block[-rows:], out=block[-2 * rows : -rows])


def _dtype(n: int) -> type[np.signedinteger[Any]]:
    return np.int32 if n < 1 << 31 else np.int64
