"""Parities of bits: label code 1 if an odd number of some columns' bits is 1; and masked parities."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_bool, check_count
from dplearn._writing import brief
from dplearn.concepts.base import BitConcepts, CountedErrors, ErrorProfile, Labels, ListedMembers, literal
from dplearn.domains import Bits, Product
from dplearn.kernels import group_counts, nth_equal
from dplearn.kernels.hadamard import nearest_parity, parity_errors, points_of

#: Greatest number of columns of the class: 2**26 counts of 32 bits take 256 MiB.
MOST_FEATURES = 26

_BLOCK = 1 << 16  # number of points in one call of a function
_NAMED = 20  # greatest number of columns that are all named


@dataclass(frozen=True)
class Parity:
    """The rule with label code 1 if the sum of some bits and the intercept is odd, else label code 0.

    Attributes
    ----------
    features : tuple of int
        The columns of the summed bits; increasing.
    intercept : int
        0, or 1 for the complement.
    domain : Product of Bits, optional
        The domains of the columns, with their thresholds, for `describe`. None: no thresholds.
    """

    features: tuple[int, ...]
    intercept: int = 0
    domain: Product | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, coefficients: Any, intercept: int = 0, domain: Product | None = None) -> "Parity":
        """Return the parity with these coefficients: 1 for each column that is summed, else 0."""
        return cls(tuple(np.flatnonzero(coefficients).tolist()), int(intercept), domain)

    @property
    def used(self) -> tuple[int, ...]:
        """The columns that the rule uses."""
        return self.features

    def coefficients(self, n_features: int) -> NDArray[np.uint8]:
        """Return the coefficients, of shape (n_features,): 1 for each column that is summed, else 0."""
        bits = np.zeros(n_features, dtype=np.uint8)
        bits[list(self.features)] = 1
        return bits

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        """Return the label code of each record."""
        odd = np.full(len(columns[0]), self.intercept, dtype=bool)
        for feature in self.features:
            odd ^= columns[feature] == 1
        return odd.astype(np.intp)

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        """Return the rule in words; if it has more than 20 columns, it names the first three and the last."""
        if not self.features:
            return f"always {labels[self.intercept]!r}"
        if len(self.features) == 1:
            (only,) = self.features
            if_set, if_not = labels[1 - self.intercept], labels[self.intercept]
            return f"{if_set!r} if {literal(features[only], only, self.domain)}, else {if_not!r}"
        many = len(self.features) > _NAMED
        terms = [self._term(features, i) for i in self.features[: 3 if many else None]]
        if many:
            terms += ["...", self._term(features, self.features[-1])]
        total = " + ".join(terms) + (f" ({len(self.features)} columns)" if many else "")
        return f"{labels[1]!r} if {total} is {'even' if self.intercept else 'odd'}, else {labels[0]!r}"

    def _term(self, features: Sequence[str], feature: int) -> str:
        term = literal(features[feature], feature, self.domain)
        return term if term == features[feature] else f"({term})"


class Parities(BitConcepts):
    """All parities over bits: label code 1 if the sum of some of the bits is odd.

    Parameters
    ----------
    n_features : int
        The number d of columns; from 1 to 26.
    binarize : float or None, default=0.0
        Numbers above it are encoded as 1, others as 0. None: values must be 0 or 1. For a different threshold
        in each column, see `over`.
    fit_intercept : bool, default=False
        True if the complements are members too.

    Attributes
    ----------
    domain : Product of Bits
        Encodes each column as uint8, 0 or 1.
    n_labels : int
        2.

    Notes
    -----
    Members are ordered by the number to which column i contributes 2**i if it is summed, and an intercept of
    1 contributes 2**d. The parity of no column is the constant label code 0. The errors of all 2**d parities
    are counted, so d is limited.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 3; their Section 4
    learns larger parities without label noise.

    Examples
    --------
    >>> Parities(20).size == 2**20, Parities(20, fit_intercept=True).size == 2**21
    (True, True)
    """

    parameter = "fit_intercept"

    def __init__(self, n_features: int, *, binarize: float | None = 0.0, fit_intercept: bool = False):
        self.n_features = check_count("n_features", n_features, low=1, high=MOST_FEATURES)
        self.fit_intercept = check_bool("fit_intercept", fit_intercept)
        self.domain = Product([Bits(binarize)] * self.n_features)

    @property
    def size(self) -> int:
        return 1 << self.n_features + self.fit_intercept

    @property
    def littlestone_lower_bound(self) -> int:
        """The Littlestone dimension: the unit vectors, and 0 with an intercept, have all labels."""
        return self.n_features + self.fit_intercept

    def error_counts(self, columns: Sequence[NDArray[np.uint8]], y: Labels) -> NDArray[Any]:
        """Return the errors of each parity: int16, int32 from n = 2**15 on, int64 from 2**31 on."""
        errors = parity_errors(points_of(columns), y, self.n_features)
        return np.concatenate((errors, len(y) - errors)) if self.fit_intercept else errors

    def error_profile(self, columns: Sequence[NDArray[np.uint8]], y: Labels) -> ErrorProfile:
        return self.profile_of(points_of(columns), y)

    def profile_of(self, points: NDArray[Any], y: NDArray[Any]) -> ErrorProfile:
        """Count the errors of all parities on records that are packed into integers.

        Parameters
        ----------
        points : ndarray of unsigned int of shape (n,)
            Private. Bit j of a record is that of column j; bits from `n_features` on are ignored.
        y : ndarray of int of shape (n,)
            Private. Label codes, 0 or 1.
        """
        columns = min(2**self.n_features - 1, np.iinfo(points.dtype).max)
        errors = parity_errors(points & columns, y, self.n_features)
        if self.fit_intercept:
            return _WithComplements(errors, len(y), self.member_at)
        return CountedErrors(errors, self.member_at)

    def member_at(self, position: int) -> Parity:
        if not 0 <= position < self.size:
            raise IndexError("position is beyond the last parity")
        features = tuple(i for i in range(self.n_features) if position >> i & 1)
        return Parity(features, position >> self.n_features, self.domain)

    def dichotomies(self, columns: Sequence[NDArray[np.uint8]]) -> ListedMembers:
        """Return one parity for each behaviour on public records; parameters as in `ConceptClass`.

        Each parity is equal to exactly one over columns that are linearly independent, to which all others
        are sums. With an intercept, the constant 1 counts as the last column.
        """
        points: NDArray[Any] = points_of(columns).astype(np.int64)
        if self.fit_intercept:
            points |= 1 << self.n_features
        positions = np.zeros(1, dtype=np.intp)
        for bit in sorted(_lowest_bits(np.unique(points).tolist(), self.n_features + self.fit_intercept)):
            positions = np.concatenate((positions, positions | bit))
        return ListedMembers(self, positions)

    def nearest(
        self, predict: Callable[[NDArray[np.uint8]], Any], labels: tuple[Any, Any] = (0, 1)
    ) -> Parity:
        """Return the member that agrees with a function at the largest number of the 2**d points.

        Parameters
        ----------
        predict : callable
            Maps an array of bits, of dtype uint8 and shape (m, d), to m labels, such as `predict` of a
            classifier. It must be public or released, since it is evaluated at all points.
        labels : pair, default=(0, 1)
            The labels of label codes 0 and 1.

        Returns
        -------
        Parity
            The first member with the most agreements.

        Notes
        -----
        A parity from which a function differs at less than a quarter of all points is the nearest one, since
        two parities differ at half. So an improper learner of parities over uniform bits becomes a proper one
        at no further privacy cost (Bun, Nissim and Stemmer 2016, Lemma 5.3).

        Examples
        --------
        >>> Parities(3).nearest(lambda bits: (bits[:, 0] != bits[:, 2]) & bits.any(axis=1))
        Parity(features=(0, 2), intercept=0)
        """
        values = np.empty(1 << self.n_features, dtype=np.uint8)
        for start in range(0, values.size, _BLOCK):
            points = np.arange(start, min(start + _BLOCK, values.size), dtype="<u4")
            bits = np.unpackbits(points.view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
            given = np.asarray(predict(bits[:, : self.n_features]))
            ones = given == labels[1]
            if given.shape != points.shape or not (ones | (given == labels[0])).all():
                raise ValueError(f"predict must give one of the labels {brief(labels)} to each row")
            values[start : start + points.size] = ones
        position, _ = nearest_parity(values, complements=self.fit_intercept)
        return self.member_at(position)


def _lowest_bits(rows: Sequence[int], width: int) -> set[int]:
    """Return the lowest bits of a basis of the span of rows of bits: the first independent columns."""
    basis: dict[int, int] = {}
    for row in rows:
        while row:
            lowest = row & -row
            if lowest not in basis:
                basis[lowest] = row
                break
            row ^= basis[lowest]
        if len(basis) == width:
            break
    return set(basis)


class _WithComplements:
    """The error profile of parities and their complements; the errors of the two add up to n."""

    def __init__(self, counts: NDArray[Any], n: int, member_at: Callable[[int], Parity]):
        self._counts = counts
        self._n = n
        self._member_at = member_at

    def groups(self) -> tuple[list[int], list[int]]:
        members: Counter[int] = Counter()
        for errors, parities in zip(*group_counts(self._counts), strict=True):
            members[errors] += parities
            members[self._n - errors] += parities
        rising = sorted(members)
        return rising, [members[errors] for errors in rising]

    def member(self, errors: int, index: int) -> Parity:
        parities = int(np.count_nonzero(self._counts == errors))
        if index < parities:
            return self._member_at(nth_equal(self._counts, errors, index))
        complement = nth_equal(self._counts, self._n - errors, index - parities)
        return self._member_at(self._counts.size + complement)


@dataclass(frozen=True)
class MaskedParity:
    """A rule over columns of bits, columns of a binary index (lowest bit first), and a mask column."""

    shown: tuple[int, ...]  # the indices for which a record with mask 1 has label code 1; increasing
    parity: Parity  # the rule for a record with mask 0
    n_bits: int  # the number of columns of bits, and of valid indices
    domain: Product | None = field(default=None, repr=False, compare=False)  # the thresholds of bits, if any

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        shows = np.zeros(self.n_bits + 1, dtype=np.intp)
        shows[list(self.shown)] = 1
        index = index_of(columns[self.n_bits : -1], self.n_bits, len(columns[-1]))
        return np.where(columns[-1] == 1, shows[index], self.parity.predict(columns[: self.n_bits]))

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        mask = literal(features[-1], len(features) - 1, self.domain)
        return (
            f"if {mask}: {self._shown(features, labels)};"
            f" otherwise: {self.parity.describe(features[: self.n_bits], labels)}"
        )

    def _shown(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        if not self.shown:
            return f"always {labels[0]!r}"
        index = features[self.n_bits : -1]
        name = index[0] if len(index) == 1 else "the index" if len(index) == 0 else f"{index[0]}..{index[-1]}"
        named = [str(i) for i in self.shown]
        if len(named) > _NAMED:
            named = [*named[:3], "...", named[-1]]
        return f"{labels[1]!r} if {name} is {' or '.join(named)}, else {labels[0]!r}"


def masked_layout(n_features: int) -> tuple[int, int]:
    """Return the number of columns of bits, and of the index; the remaining last column is the mask.

    `n_features`: at least 2. `n_bits`, `n_index`: n_bits is the greatest number with n_bits <= 2**n_index.
    """
    if check_count("n_features", n_features) < 2:
        raise ValueError(
            f"X must have columns of bits, of an index and of a mask, 2 at least, got {n_features} feature(s)"
        )
    n_bits = n_features - 1
    while n_bits + (n_bits - 1).bit_length() + 1 > n_features:
        n_bits -= 1
    return n_bits, n_features - 1 - n_bits


def masked_rows(bits: Any, index: Any, mask: Any) -> NDArray[np.uint8]:
    """Return the table of a masked parity: bits, the index in binary (lowest bit first), and the mask.

    `index`: from 0 to n_bits - 1. `mask`: 0 or 1; if it is 1, the label is that of the index.
    """
    bits, index, mask = np.asarray(bits), np.asarray(index), np.asarray(mask)
    if bits.ndim != 2 or not bits.shape[1] or not index.shape == mask.shape == bits.shape[:1]:
        raise ValueError("bits must have shape (n, n_bits), index and mask (n,)")
    n_bits = bits.shape[1]
    for name, values in (("bits", bits), ("mask", mask)):
        if not np.isin(values, (0, 1)).all():
            raise ValueError(f"{name} must be 0 or 1")
    if index.dtype.kind not in "iu":
        raise TypeError(f"index must be integers, got dtype {index.dtype}")
    if not ((index >= 0) & (index < n_bits)).all():
        raise ValueError(f"index must be from 0 to {n_bits - 1}, below the number of bits")
    places = index.astype(np.int64)[:, None] >> np.arange((n_bits - 1).bit_length()) & 1
    return np.hstack((bits, places, mask[:, None])).astype(np.uint8)


def index_of(columns: Sequence[NDArray[Any]], n_bits: int, n: int) -> NDArray[np.intp]:
    """Return the minimum of n_bits and each record's index, from its bits, the lowest first."""
    index = np.zeros(n, dtype=np.intp)
    for place, column in enumerate(columns):
        index |= (column == 1).astype(np.intp) << place
    return np.minimum(index, n_bits)
