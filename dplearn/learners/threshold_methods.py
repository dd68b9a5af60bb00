"""Ways to learn a threshold privately: among all cuts by their errors, or a point between the two labels.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> from dplearn.domains import IntegerRange
>>> column = CutColumn(0, IntegerRange(0, 99))
>>> x, y = np.arange(100, dtype=np.uint8), (np.arange(100) <= 40).astype(np.intp)
>>> stump = by_errors([column], [x], y, privacy=ApproxDP(20), dice=SeededDice(0))
>>> stump.code, stump.inner, stump.outer
(40, 1, 0)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.concepts import Thresholds
from dplearn.concepts.base import Labels
from dplearn.concepts.stumps import Stump
from dplearn.core.cuts import cut_column
from dplearn.core.tapering import TAPERED_SIZE, last_code, tapered
from dplearn.domains import Domain, Floats, IntegerRange, Product
from dplearn.mechanisms.exponential import select_exponential
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.mechanisms.permute_and_flip import select_permute_and_flip
from dplearn.privacy import ApproxDP
from dplearn.privacy.spending import epsilon_of
from dplearn.theory.thresholds_learning import COLUMN_SHARE

__all__ = ["CutColumn", "by_errors", "by_interior_point", "threshold_between"]

_ALL_FLOATS, _PLACES = Floats(), IntegerRange(0, TAPERED_SIZE - 1)
_AT_OR_BELOW, _ABOVE = (1, 0), (0, 1)  # the labels up to a cut and above it


@dataclass(frozen=True)
class CutColumn:
    """A column that may be cut, and where.

    Attributes
    ----------
    feature : int
        Its place in the table.
    domain : Domain
        Ordered. All float64 numbers are cut at the places of `core.tapering`, others at every code.
    """

    feature: int
    domain: Domain

    @property
    def size(self) -> int:
        """How many cuts there are, but for that below the domain."""
        return TAPERED_SIZE if self._tapers else self.domain.size

    @property
    def places(self) -> Domain:
        """The cuts as a domain of their own."""
        return _PLACES if self._tapers else self.domain

    @property
    def _tapers(self) -> bool:
        return self.domain == _ALL_FLOATS

    def of(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the first cut that each record is not above."""
        return tapered(codes) if self._tapers else codes

    def stump(self, cut: int, labels: tuple[int, int]) -> Stump:
        """Return the threshold at a cut, from -1 to size - 1."""
        return Stump(self.feature, self.domain, last_code(cut) if self._tapers else cut, *labels)


class _ColumnThresholds(Thresholds):
    """Thresholds on any column of a domain: one label up to the cut, the other above it."""

    @property
    def features(self) -> range:
        return range(len(self.domain))

    def _cuts_of_all(self) -> int:
        return sum(domain.size + 1 for domain in self.domain.domains)


def by_errors(
    columns: Sequence[CutColumn], codes: Sequence[NDArray[Any]], y: Labels, *, privacy: ApproxDP, dice: Dice
) -> Stump:
    """Return a threshold, those with fewer errors exponentially more probable.

    Parameters
    ----------
    columns : sequence of CutColumn
        Public. Of fewer than 2**64 cuts each.
    codes : list of ndarray of shape (n,)
        Private. Each column's records, in codes of its domain.
    y : ndarray of intp of shape (n,)
        Private. Labels 0 and 1.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.

    Returns
    -------
    Stump
        One of the cuts of one of the columns, that below its domain included, in either direction.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record: it moves each threshold's errors by at most 1.

    **Assumes.** All values lie in their domains, which are public, as are the number of records and the
    columns.

    **Accuracy.** With probability 1 - beta at most `threshold_excess_errors("exponential", ...)` training
    errors more than the best.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 3; here a constant
    counts as two thresholds a column, and not as a column full of them.
    """
    concepts = _ColumnThresholds(Product([column.places for column in columns]))
    places = [column.of(part) for column, part in zip(columns, codes, strict=True)]
    profile = concepts.error_profile(places, y)
    errors, members = profile.groups()
    group, member = select_exponential(errors, members, privacy=privacy, dice=dice)
    chosen: Any = profile.member(errors[group], member)
    found: Stump = columns[chosen.feature].stump(chosen.code, (chosen.inner, chosen.outer))
    return found


def by_interior_point(
    columns: Sequence[CutColumn],
    codes: Sequence[NDArray[Any]],
    y: Labels,
    m: int,
    *,
    privacy: ApproxDP,
    dice: Dice,
) -> Stump:
    """Return a threshold between the greatest records of one label and the least of the other.

    Parameters
    ----------
    columns, codes, y, dice
        As for `by_errors`; the domains may be of any size.
    m : int
        Public. How many records of each label to look at, at least 1.
    privacy : ApproxDP
        A quarter of its `epsilon` pays for column and direction, the rest for the cut.

    Returns
    -------
    Stump

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: a pair of column and direction is selected by the
    errors of its best cut. One record moves each cut's errors by at most 1, and so their least. Once the pair
    is released, the cut is found by `threshold_between`, for any pair with the rest of epsilon.

    **Assumes.** As for `by_errors`; m is public.

    **Accuracy.** With probability 1 - beta at most `threshold_excess_errors("interior_point", ...)` training
    errors, where some threshold has none and m is that of `interior_point_examples`.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, for one column and one direction.
    """
    epsilon = epsilon_of(privacy)
    places = [column.of(part) for column, part in zip(columns, codes, strict=True)]
    errors = [
        wrong
        for column, part in zip(columns, places, strict=True)
        for wrong in _least_errors(part, y, column.size)
    ]
    pair, _ = select_permute_and_flip(
        errors, [1] * len(errors), privacy=ApproxDP(COLUMN_SHARE * epsilon), dice=dice
    )
    position, above = divmod(pair, 2)
    column, labels = columns[position], (_ABOVE if above else _AT_OR_BELOW)
    cut = threshold_between(
        places[position],
        y == labels[0],
        column.size,
        m,
        privacy=ApproxDP((1 - COLUMN_SHARE) * epsilon),
        dice=dice,
    )
    return column.stump(cut, labels)


def threshold_between(
    codes: NDArray[Any], lower: NDArray[np.bool_], size: int, m: int, *, privacy: ApproxDP, dice: Dice
) -> int:
    """Return a code with, most likely, few of the lower records above it and few of the others not.

    Parameters
    ----------
    codes : ndarray of unsigned int, or of int objects, of shape (n,)
        Private. From 0 to size - 1.
    lower : ndarray of bool of shape (n,)
        Private. Which records belong at or below the cut.
    size : int
        How many codes the domain has.
    m : int
        Public. How many of each kind to look at, at least 1.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.

    Returns
    -------
    int
        From -1, one step below the domain, to size - 1.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: the points are the m greatest among the lower
    records and m times one step below the domain; and the m least among the others, each moved one step down,
    and m times the top. A replaced record that keeps its kind replaces one of that kind's m points at most.
    One that changes it is taken from one kind and given to the other, which replaces one point of each at
    most. So two points are replaced at most, and the interior point costs half of epsilon for each.

    **Assumes.** All codes lie in the domain; the number of records, `size` and m are public.

    **Accuracy.** Let some cut t have all lower records, and no others, at or below it. A cut c < t with
    k lower records above it has at most m - min(m, k) points not above it: all others' points, moved down,
    are at t or above, and so above c. A cut c > t that k others are at or below has at most m - min(m, k)
    points not below it. And t has m of each kind. So every interior point makes at most m - 1 errors, and one
    of quality m - k at most k. Not moved down, a tie breaks this: of domain {0, 1} and two others at 1,
    m = 1, the points are one step below the domain and 1, so that 1 is interior, with 2 errors.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, mended for ties.
    """
    # Thresholds begin one step below the domain, so that code c becomes c + 1, and one step down of it c.
    ones = [code + 1 for code in np.sort(codes[lower])[-m:].tolist()]
    zeros = np.sort(codes[~lower])[:m].tolist()
    points = [0] * (m - len(ones)) + ones + zeros + [size] * (m - len(zeros))
    one_point = ApproxDP(epsilon_of(privacy) * Fraction(1, 2))
    return interior_point_code(points, size + 1, privacy=one_point, dice=dice) - 1


def _least_errors(codes: NDArray[Any], y: Labels, size: int) -> tuple[int, int]:
    """Return the fewest errors of a cut with label 1 at or below it, and of one with label 1 above it."""
    if size >= 1 << 64:
        values, codes = np.unique(codes, return_inverse=True)
        codes, size = codes.ravel().astype(np.uint64), values.size
    # Empty intervals of cuts count here too: they have no record inside, like the cut below the domain.
    cuts = cut_column(codes, y, size, 2)
    totals = np.bincount(y, minlength=2)
    # The cut below the domain errs on all records of the label that it gives to none.
    return (
        min(int(cuts.errors(totals, *_AT_OR_BELOW).min()), int(totals[1])),
        min(int(cuts.errors(totals, *_ABOVE).min()), int(totals[0])),
    )
