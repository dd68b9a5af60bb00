"""Decision stumps and thresholds: concepts that test one column at one cut."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.concepts.base import Concept, ConceptClass, Labels
from dplearn.domains import Domain, Floats, Product
from dplearn.domains.base import smallest_uint
from dplearn.kernels.cuts import Cuts, ErrorHistogram, cut_column, cuts_of, label_histogram, split_by_value
from dplearn.kernels.grouping import distinct_values

_MOST_COUNTS = 1 << 22  # numbers that a task on a part returns: 32 MiB
_CONSTANT = -1  # the position of the constant labels among the columns


@dataclass(frozen=True)
class Stump:
    """A test of one column, that its code is at most `code`, or is it without order, with a label for each
    result.
    """

    feature: int
    domain: Domain  # of the column
    code: int  # with -1, below the domain, the test always fails
    inner: int  # the label code if the test holds
    outer: int  # if it fails

    @property
    def used(self) -> tuple[int, ...]:
        """The column that the rule uses; none if all records have one label."""
        return () if self.inner == self.outer or self.code < 0 else (self.feature,)

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        codes = columns[self.feature]
        yes = codes <= self.code if self.domain.ordered else codes == self.code
        return np.where(yes, self.inner, self.outer).astype(np.intp)

    def margins(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return how far each record is from the cut."""
        return self.domain.margins(columns[self.feature], self.code)

    def at_integers(self, whole: Sequence[bool]) -> "Stump":
        """Return the same test, of a column of integers, one of those in `whole`, at an integer."""
        return replace(self, code=self.domain.at_integers(self.code)) if whole[self.feature] else self

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        if not self.used:
            return f"always {labels[self.outer]!r}"
        question = f"{features[self.feature]} {self.domain.describe_test(self.code)}"
        return f"{labels[self.inner]!r} if {question}, else {labels[self.outer]!r}"


class DecisionStumps(ConceptClass):
    """All decision stumps: all columns, all cuts of their domains, all pairs of labels.

    Parameters
    ----------
    domain : Product
        The domains of the columns. A test of an ordered column is "at most c" for a code c, one of an
        unordered column is "equal to c".
    n_labels : int, default=2
        At least 1.

    Notes
    -----
    Members are ordered by column, then by the pair of labels, then by code. The count of errors needs one
    sort of each column, or one histogram if the domain has at most twice as many codes as there are records.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.concepts import DecisionStumps
    >>> from dplearn.domains import IntegerRange, Product
    >>> stumps = DecisionStumps(Product([IntegerRange(0, 9)], ["age"]), n_labels=2)
    >>> stumps.size  # ten cuts, a label on each side
    40
    >>> profile = stumps.error_profile([np.array([1, 2, 7])], np.array([0, 0, 1]))
    >>> profile.member(0, 4).describe(["age"], ["child", "adult"])
    "'child' if age <= 6, else 'adult'"
    """

    default_domain = Floats(significand_bits=32, smallest=2.0**-40, largest=2.0**40)
    has_margins = True

    def __init__(self, domain: Product, n_labels: int = 2):
        self.domain = domain
        self.n_labels = check_count("n_labels", n_labels, low=1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, n_labels={self.n_labels})"

    @property
    def size(self) -> int:
        return self._cuts_of_all() * len(self.pairs)

    @property
    def littlestone_lower_bound(self) -> int:
        """A lower bound on the Littlestone dimension, from two of the labels; see `levels_of_cuts`."""
        domains = [self.domain.domains[feature] for feature in self.features]
        sizes = [domain.size if domain.ordered else min(domain.size, 2) for domain in domains]
        return levels_of_cuts(sizes) if self.n_labels > 1 else 0

    @property
    def n_chains(self) -> int:
        """Of each ordered column and label, the records with other labels up to a cut, and those above it."""
        ordered = [self.domain.domains[feature].ordered for feature in self.features]
        return 2 * self.n_labels * len(ordered) if all(ordered) else 0

    @property
    def features(self) -> Sequence[int]:
        """The positions of the tested columns."""
        return range(len(self.domain))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of label codes: if the test holds, and if it fails."""
        return [(a, b) for a in range(self.n_labels) for b in range(self.n_labels)]

    def pairs_of(self, feature: int) -> list[tuple[int, int]]:  # noqa: ARG002 - of use to subclasses
        """Return the pairs of label codes of the tests of a column."""
        return self.pairs

    def at_values(self, columns: Sequence[NDArray[Any]]) -> "ListedStumps":
        """Return the class whose cuts are at the values of public records.

        Parameters
        ----------
        columns : list of ndarray of shape (n,)
            Public. As returned by `domain.encode`.
        """
        return ListedStumps(self, [distinct_values(columns[feature]) for feature in self.features])

    def dichotomies(self, columns: Sequence[NDArray[Any]]) -> "ListedStumps":
        """Return one stump for each behaviour of a column on public records; parameters as in `ConceptClass`.

        A cut between two adjacent values is at the lower one. So a cut depends on one record, and accuracy on
        the distribution of the records follows. Behaviours of several columns may be equal.
        """
        return self._dividing([distinct_values(columns[feature]) for feature in self.features])

    def most_dichotomies(self, n: int) -> int:
        distinct = sum(a != b for a, b in self.pairs)
        cuts = sum(min(n, int(self.domain.domains[feature].size)) for feature in self.features)
        return cuts * distinct + self.n_labels

    def value_sums(self, columns: Sequence[NDArray[Any]]) -> list[NDArray[np.int64]]:
        """Return for each tested column the number of records with each value."""
        sizes = [domain.size for domain in self.domain.domains]
        return [np.bincount(columns[feature], minlength=sizes[feature]) for feature in self.features]

    def dichotomies_of_sums(self, sums: Sequence[NDArray[np.int64]]) -> "ListedStumps":
        domains = self.domain.domains
        return self._dividing(
            [
                np.flatnonzero(counts).astype(smallest_uint(domains[feature].size))
                for feature, counts in zip(self.features, sums, strict=True)
            ]
        )

    def _dividing(self, values: Sequence[NDArray[Any]]) -> "ListedStumps":
        """Return the class of the tests that divide records with these values, each division once."""
        cuts = []
        for feature, occurring in zip(self.features, values, strict=True):
            every = not self.domain.domains[feature].ordered and len(occurring) > 2
            cuts.append(occurring if every else occurring[:-1])
        return ListedStumps(self, cuts)

    def error_profile(self, columns: Sequence[NDArray[Any]], y: Labels) -> "CutErrors":
        labels = y.astype(np.min_scalar_type(self.n_labels))
        totals = np.bincount(labels, minlength=self.n_labels)
        return CutErrors(self, totals, lambda feature: self.cuts(feature, columns, labels))

    def check_sums(self) -> None:
        size = self.n_labels * sum(self.domain.domains[feature].size for feature in self.features)
        if size > _MOST_COUNTS:
            raise ValueError(
                f"domain must have at most 2**{_MOST_COUNTS.bit_length() - 1} pairs of a value and a label in"
                f" all tested columns together if the table is in parts, got {size}: declare coarser domains,"
                " such as Grid(0, 100, 1001), or domain='learn' with enough records, or epsilon, for ranges"
            )

    def error_sums(self, columns: Sequence[NDArray[Any]], y: Labels) -> list[NDArray[np.int64]]:
        """Return for each tested column the number of records with each label and value."""
        sizes = [domain.size for domain in self.domain.domains]
        return [label_histogram(columns[each], y, sizes[each], self.n_labels) for each in self.features]

    def profile_of_sums(self, sums: Sequence[NDArray[np.int64]], n: int) -> "CutErrors":  # noqa: ARG002

        def cuts(feature: int) -> Cuts:
            histogram = sums[self.features.index(feature)]
            return self.of_class(cuts_of(histogram, ordered=self.domain.domains[feature].ordered))

        return CutErrors(self, sums[0].sum(axis=1), cuts)

    def cuts(self, feature: int, columns: Sequence[NDArray[Any]], y: Labels) -> Cuts:
        """Return the label counts for all tests of a column."""
        domain = self.domain.domains[feature]
        count = cut_column if domain.ordered else split_by_value
        return self.of_class(count(columns[feature], y, domain.size, self.n_labels))

    def of_class(self, cuts: Cuts) -> Cuts:
        """Return the label counts for the class's cuts, from those at each code of a column."""
        return cuts

    def member(self, feature: int, cut: int, pair: tuple[int, int]) -> Stump:
        """Return the stump of a column, a cut and a pair of labels."""
        return Stump(feature, self.domain.domains[feature], cut, *pair)

    def _cuts_of_all(self) -> int:
        return sum(self.domain.domains[feature].size for feature in self.features)


class Thresholds(DecisionStumps):
    """All thresholds on one ordered column: one label up to the cut, another above it.

    Parameters
    ----------
    domain : Product
        The domains of all columns.
    n_labels : int, default=2
        The members have all ordered pairs of distinct labels; a single label is paired with itself.
    feature : int, default=0
        The position of the column.

    Notes
    -----
    The first cut is one step below the domain, the last is the domain's top.

    Examples
    --------
    >>> from dplearn.concepts import Thresholds
    >>> from dplearn.domains import IntegerRange, Product
    >>> thresholds = Thresholds(Product([IntegerRange(0, 9)], ["age"]))
    >>> thresholds.size  # eleven cuts, one of them below the domain, and two orders of the labels
    22
    """

    most_columns = 1

    def __init__(self, domain: Product, n_labels: int = 2, feature: int = 0):
        super().__init__(domain, n_labels)
        self.feature = check_count("feature", feature, high=len(domain) - 1)
        if not domain.domains[self.feature].ordered:
            raise ValueError(f"feature must have an ordered domain, got {domain.domains[self.feature]!r}")

    @property
    def features(self) -> Sequence[int]:
        """The position of the one tested column."""
        return range(self.feature, self.feature + 1)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of distinct label codes: up to the cut, and above it."""
        return [pair for pair in super().pairs if pair[0] != pair[1]] or super().pairs

    def of_class(self, cuts: Cuts) -> Cuts:
        """Return the label counts for all cuts, beginning with the one below the domain."""
        # All cuts are shifted up by one, and the cut without records inside comes first.
        starts = np.concatenate((np.zeros(1, dtype=np.uint64), cuts.starts + np.uint64(1)))
        lengths = (
            None if cuts.lengths is None else np.concatenate((np.ones(1, dtype=np.uint64), cuts.lengths))
        )
        return Cuts(starts, lengths, np.pad(cuts.inside, ((0, 0), (1, 0))))

    def member(self, feature: int, cut: int, pair: tuple[int, int]) -> Stump:
        """Return the threshold of a cut and a pair of labels."""
        return super().member(feature, cut - 1, pair)

    def _cuts_of_all(self) -> int:
        return super()._cuts_of_all() + len(self.features)


class ListedStumps(DecisionStumps):
    """The stumps of a class with public `cuts` for each tested column, in its order; constants come last."""

    def __init__(self, stumps: DecisionStumps, cuts: Sequence[NDArray[Any]]):
        super().__init__(stumps.domain, stumps.n_labels)
        self._codes = dict(zip(stumps.features, cuts, strict=True))

    @property
    def size(self) -> int:
        n_cuts = sum(map(len, self._codes.values()))
        return n_cuts * self.n_labels * (self.n_labels - 1) + self.n_labels

    @property
    def features(self) -> Sequence[int]:
        return [*(feature for feature, cuts in self._codes.items() if len(cuts)), _CONSTANT]

    @property
    def littlestone_lower_bound(self) -> int:
        """A lower bound on the Littlestone dimension, from as many values of a column as it has cuts."""
        ordered = [self.domain.domains[feature].ordered for feature in self._codes]
        counts = [len(cuts) for cuts in self._codes.values()]
        sizes = [max(1, n if each else min(n, 2)) for n, each in zip(counts, ordered, strict=True)]
        return levels_of_cuts(sizes) if self.n_labels > 1 else 0

    def pairs_of(self, feature: int) -> list[tuple[int, int]]:
        """Return the pairs of label codes of a column: distinct ones, and equal ones of a constant."""
        return [pair for pair in self.pairs if (pair[0] == pair[1]) == (feature == _CONSTANT)]

    def dichotomies(self, columns: Sequence[NDArray[Any]]) -> "ListedStumps":  # noqa: ARG002 - none are used
        raise TypeError("concept_class must have cuts that are not listed yet if public rows list them")

    at_values = dichotomies

    most_dichotomies = ConceptClass.most_dichotomies

    def cuts(self, feature: int, columns: Sequence[NDArray[Any]], y: Labels) -> Cuts:
        """Return the label counts for the listed tests of a column; those of a constant have no records."""
        if feature == _CONSTANT:
            return Cuts(np.zeros(1, np.uint64), None, np.zeros((self.n_labels, 1), np.int64))
        every, listed = super().cuts(feature, columns, y), self._codes[feature].astype(np.uint64)
        places = np.searchsorted(every.starts, listed, side="right") - 1  # the interval of each cut
        return Cuts(listed, None, every.inside[:, places])

    def check_sums(self) -> None:
        size = self.n_labels * sum(len(cuts) + 1 for cuts in self._codes.values())
        if size > _MOST_COUNTS:
            raise ValueError(
                f"X_public must have at most 2**{_MOST_COUNTS.bit_length() - 1} pairs of a value and a label"
                f" in all tested columns together if the table is in parts, got {size}: take fewer rows"
            )

    def error_sums(self, columns: Sequence[NDArray[Any]], y: Labels) -> list[NDArray[np.int64]]:
        """Return for each column the number of records with each label between adjacent cuts."""
        return [self._histogram(feature, columns, y) for feature in self._codes]

    def profile_of_sums(self, sums: Sequence[NDArray[np.int64]], n: int) -> "CutErrors":  # noqa: ARG002
        histograms = dict(zip(self._codes, sums, strict=True))

        def cuts(feature: int) -> Cuts:
            if feature == _CONSTANT:
                return self.cuts(feature, [], np.zeros(0, np.intp))
            found = cuts_of(histograms[feature], ordered=self.domain.domains[feature].ordered)
            return Cuts(self._codes[feature].astype(np.uint64), None, found.inside[:, :-1])

        return CutErrors(self, sums[0].sum(axis=1), cuts)

    def member(self, feature: int, cut: int, pair: tuple[int, int]) -> Stump:
        if feature == _CONSTANT:
            return super().member(next(iter(self._codes)), -1, pair)
        return super().member(feature, cut, pair)

    def _histogram(self, feature: int, columns: Sequence[NDArray[Any]], y: Labels) -> NDArray[np.int64]:
        """Return the number of records with each label up to each cut from the last, or equal to each."""
        cuts, codes = self._codes[feature], columns[feature]
        places = np.searchsorted(cuts, codes)
        if not self.domain.domains[feature].ordered:
            unlisted = np.append(cuts, cuts.dtype.type(0))[places] != codes
            places[unlisted] = len(cuts)
        return label_histogram(places, y, len(cuts) + 1, self.n_labels)


class CutErrors:
    """The error profile of a class of stumps, from the label counts of cuts of a column. Private."""

    def __init__(self, stumps: DecisionStumps, totals: NDArray[np.int64], cuts_of: Callable[[int], Cuts]):
        self._stumps, self._totals, self._cuts_of = stumps, totals, cuts_of
        self._least: dict[int, int] = {}  # least number of errors of a stump on each column
        self._kept: tuple[int, Cuts] | None = None  # the cuts of one column, which take much memory

    def groups(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        n = int(self._totals.sum())
        histogram = ErrorHistogram(n)
        for feature in self._stumps.features:
            cuts = self._cuts(feature)
            least = n
            for pair in self._stumps.pairs_of(feature):
                errors = cuts.errors(self._totals, *pair)
                histogram.add(errors, cuts.lengths)
                least = min(least, int(errors.min()))
            self._least[feature] = least
        return histogram.groups()

    def member(self, errors: int, index: int) -> Concept:
        for feature in self._stumps.features:
            if self._least.get(feature, 0) > errors:
                continue
            cuts = self._cuts(feature)
            for pair in self._stumps.pairs_of(feature):
                chosen = cuts.errors(self._totals, *pair) == errors
                here = cuts.number(chosen)
                if index < here:
                    return self._stumps.member(feature, cuts.nth(chosen, index), pair)
                index -= here
        raise IndexError("fewer stumps make so many errors than the index asks for")

    def _cuts(self, feature: int) -> Cuts:
        if self._kept is None or self._kept[0] != feature:
            self._kept = feature, self._cuts_of(feature)
        return self._kept[1]


def levels_of_cuts(sizes: Sequence[int]) -> int:
    """Return the levels of a mistake tree of the cuts of columns with these numbers of ordered values.

    The first point has the least value in each column. A binary search of the greatest column then has
    floor(log2(size)) levels. Or the next j points have the least value in some columns and the greatest in
    the others; their labels tell which of 2**j columns is cut, and a search of its size - 1 inner cuts
    follows. With one column this is the Littlestone dimension, floor(log2(2 size)).
    """
    falling = sorted(sizes, reverse=True)
    levels, j = falling[0].bit_length() - 1, 1
    while 1 << j <= len(falling) and (inner := falling[(1 << j) - 1] - 1):
        levels, j = max(levels, j + inner.bit_length() - 1), j + 1
    return 1 + levels
