"""Base classes of concept classes, also those over bits, and the interfaces of concepts and error profiles.

A concept class is public: its domain, number of labels and members do not depend on data. For given data, an
`ErrorProfile` has the number of members for each number of errors, and the i-th member with a given number. A
private selection needs nothing else, so a class of 2**64 members need not be listed. The members of a *drawn*
class depend on a public seed, and stand for targets that are too many to list.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn._writing import brief
from dplearn.domains import Bits, Domain, Product
from dplearn.kernels import group_counts, nth_equal

Labels = NDArray[np.intp]  # label codes 0..n_labels-1


class Concept(Protocol):
    """Interface of a member: a function from an encoded record to a label code."""

    def predict(self, columns: Any) -> Labels:
        """Return the label code of each record; `columns` is the result of the class's `domain.encode`."""

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        """Return the concept in words, given names of features and labels."""


@dataclass(frozen=True, repr=False)
class ChosenConcept:
    """A published concept with the names of its features and labels; its `repr` is the rule in words."""

    concept: Concept  # the rule, a function of codes
    features: tuple[str, ...]  # the names of the columns
    labels: tuple[Any, ...]  # of each label code

    def predict(self, columns: Any) -> Labels:
        """Return the label code of each encoded record."""
        return self.concept.predict(columns)

    def scores(self, columns: Any) -> NDArray[np.float64]:
        """Return half of a record's margin for its label, and minus that for others; of rules with cuts."""
        codes, concept = np.arange(len(self.labels)), self.concept
        margins: NDArray[np.float64] = concept.margins(columns)[:, None] / 2  # type: ignore[attr-defined]
        return np.where(concept.predict(columns)[:, None] == codes, margins, -margins)

    @property
    def used(self) -> Sequence[int]:
        """The columns that the rule uses; all of them, where a concept has no such attribute."""
        return getattr(self.concept, "used", range(len(self.features)))

    def __repr__(self) -> str:
        return self.concept.describe(self.features, self.labels)


class ErrorProfile(Protocol):
    """Interface of the number of members of a class for each number of errors. Private."""

    def groups(self) -> tuple[Any, Any]:
        """Return the occurring numbers of errors in increasing order, and the number of members with each.

        Lists or arrays of integers; numbers of members may need an array of objects.
        """

    def member(self, errors: int, index: int) -> Concept:
        """Return the `index`-th member with `errors` errors, in the class's order."""


class ConceptClass(ABC):
    """A public set of concepts over a public domain.

    Attributes
    ----------
    domain : Product
        The features' domains; `domain.encode(X)` returns the `columns` that other methods take.
    n_labels : int
        Labels are the codes 0..n_labels-1.
    """

    domain: Any
    n_labels: int
    default_domain: ClassVar[Domain]  # of each column, if a learner gets the class's name without a domain
    binary_only: ClassVar[bool] = False
    has_margins: ClassVar[bool] = False  # whether members have cuts, and so a method `margins`
    most_columns: ClassVar[float] = inf  # that the members use, with all other parameters at their defaults

    @classmethod
    def over(cls, domain: Product, n_labels: int) -> "ConceptClass":
        """Return the class over a domain, with all other parameters at their defaults.

        Raise ValueError if the members would not use all columns.
        """
        if len(domain) > cls.most_columns:
            most = int(cls.most_columns)
            raise ValueError(
                f"X must have at most {most} column{'s' * (most > 1)} for concept_class"
                f" {cls.__name__.lower()!r}, got {len(domain)}: {brief(list(domain.names[most:]))} would not"
                f" be used; drop them, give dplearn.concepts.{cls.__name__}(domain, ...) with the positions"
                " of its columns, or take 'stumps'"
            )
        return cls(domain, n_labels)  # type: ignore[call-arg]  # the constructors of subclasses

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of members, an exact Python integer."""

    def check_records(self, n: int) -> None:  # noqa: B027 - most classes count the errors of any number
        """Raise an error if the errors of the class cannot be counted on n records, whatever they are."""

    @abstractmethod
    def error_profile(self, columns: Any, y: Labels) -> ErrorProfile:
        """Count the errors of all members.

        Parameters
        ----------
        columns : list of ndarray of shape (n,)
            Private. The records, as returned by `domain.encode`.
        y : ndarray of intp of shape (n,)
            Private. Their label codes.
        """

    def dichotomies(self, columns: Any) -> "ConceptClass":  # noqa: ARG002 - of use to subclasses
        """Return a class with one member for each behaviour of the members on public records.

        Parameters
        ----------
        columns : list of ndarray of shape (n,)
            Public. The records, as returned by `domain.encode`.

        Returns
        -------
        ConceptClass
            Over the same domain. On the records, each of its members differs from all others, and each member
            of this class is equal to one of them.
        """
        raise TypeError(
            "concept_class must be a class whose members are compared on public records if protects='labels',"
            " or X_public is given: stumps, thresholds, corners, conjunctions, parities, a FiniteClass, or"
            f" one with a method dichotomies; got {type(self).__name__}"
        )

    def most_dichotomies(self, n: int) -> int:  # noqa: ARG002 - of use to subclasses
        """Return an upper bound of the number of behaviours on any n records."""
        return self.size

    @property
    def records_of_dichotomy(self) -> int:
        """The greatest number of records whose features determine a member of `dichotomies`.

        Used for a class with `most_dichotomies` below its size.
        """
        return 1

    def value_sums(self, columns: Any) -> list[NDArray[np.int64]]:  # noqa: ARG002 - of use to subclasses
        """Return arrays that add up over parts of public records, and determine the class's dichotomies."""
        raise TypeError(
            "X must be a table in memory if protects='labels', except with stumps and thresholds; got one in"
            f" parts with {type(self).__name__}"
        )

    def dichotomies_of_sums(self, sums: Sequence[NDArray[np.int64]]) -> "ConceptClass":
        """Return the class of `dichotomies` from the sums of `value_sums` over the parts of the records."""
        raise NotImplementedError

    @property
    def n_chains(self) -> int:
        """Of how many families of growing sets, two a member, the mistakes consist; 0: it is not known."""
        return 0

    @property
    def littlestone_lower_bound(self) -> int:
        """A lower bound on the Littlestone dimension; see `dplearn.theory.pure_private_lower_bound`."""
        return 0

    def check_sums(self) -> None:
        """Raise an error unless the errors of all members follow from sums over the records."""
        raise TypeError(
            f"X must be a table in memory for {type(self).__name__}, got one in parts: a class whose errors"
            " are counted in parts has the methods check_sums, error_sums and profile_of_sums"
        )

    def error_sums(self, columns: Any, y: Labels) -> list[NDArray[np.int64]]:
        """Return arrays that add up over parts of the records; parameters as in `error_profile`."""
        raise NotImplementedError

    def profile_of_sums(self, sums: Sequence[NDArray[np.int64]], n: int) -> ErrorProfile:
        """Return the error profile of n records from the sums of `error_sums` over their parts."""
        raise NotImplementedError

    @property
    def is_drawn(self) -> bool:
        """Whether the members depend on a public seed: whether the class has a method `draw` of its own."""
        return type(self).draw is not ConceptClass.draw

    def draw(self, seed: int) -> "ConceptClass":  # noqa: ARG002 - of use to subclasses
        """Return the class whose members a public seed determines, with at most `size` members.

        A learner draws the seed before it reads the data, and publishes it. The members must be a function of
        the seed alone; the guarantee holds for each seed, and accuracy is over it.

        Parameters
        ----------
        seed : int
            From 0 to 2**256 - 1, uniform; `PublicStream(seed)` draws from it.

        Returns
        -------
        ConceptClass
            Of the same number of labels. A class that is not drawn returns itself.
        """
        return self

    def miss(self, kappa: float) -> float:  # noqa: ARG002 - of use to subclasses
        """Return a bound on the probability that a drawn class has no member close to a target.

        Parameters
        ----------
        kappa : float
            In (0, 1).

        Returns
        -------
        float
            For each target concept and each distribution of records, with probability at least 1 minus this
            over the seed, some member differs from the target on a record with probability at most kappa.
            0 for a class that is not drawn: its members are the targets.
        """
        return 0.0

    @property
    def assumes(self) -> tuple[str, ...]:
        """The assumptions of the class beyond those of its domain, for a guarantee's `assumes`."""
        return ()


class CountedErrors:
    """The error profile of a class, from an array of the errors of all members.

    Parameters
    ----------
    counts : ndarray of int of shape (size,)
        Private. The number of errors of each member.
    member_at : callable
        Maps a member's position to the member.
    """

    def __init__(self, counts: NDArray[Any], member_at: Any):
        self._counts = counts
        self._member_at = member_at

    def groups(self) -> tuple[list[int], list[int]]:
        """Return the occurring numbers of errors in increasing order, and the number of members with each."""
        return group_counts(self._counts)

    def member(self, errors: int, index: int) -> Concept:
        """Return the `index`-th member with `errors` errors."""
        return self._member_at(nth_equal(self._counts, errors, index))


class CountedClass(ConceptClass):
    """Base of classes that count the errors of each member in one array."""

    @abstractmethod
    def error_counts(self, columns: Any, y: Labels) -> NDArray[Any]:
        """Return the number of errors of each member.

        Parameters
        ----------
        columns : list of ndarray of shape (n,)
            As returned by `domain.encode`.
        y : ndarray of intp of shape (n,)
            Label codes.

        Returns
        -------
        ndarray of int of shape (size,)
            Private. In the order of the class.
        """

    @abstractmethod
    def member_at(self, position: int) -> Concept:
        """Return the member at a position of the class's order, from 0."""

    def error_profile(self, columns: Any, y: Labels) -> ErrorProfile:
        return CountedErrors(self.error_counts(columns, y), self.member_at)

    def check_sums(self) -> None:
        """Return: the errors of a member add up over parts of the records."""

    def error_sums(self, columns: Any, y: Labels) -> list[NDArray[np.int64]]:
        """Return the errors of all members."""
        return [self.error_counts(columns, y).astype(np.int64, copy=False)]

    def profile_of_sums(self, sums: Sequence[NDArray[np.int64]], n: int) -> ErrorProfile:  # noqa: ARG002
        return CountedErrors(sums[0], self.member_at)


class ListedMembers(CountedClass):
    """Some members of a class, at increasing `positions` of its order, that counts the errors of each."""

    def __init__(self, concepts: CountedClass, positions: NDArray[np.intp]):
        self.domain, self.n_labels = concepts.domain, concepts.n_labels
        self._concepts, self._positions = concepts, positions

    def __repr__(self) -> str:
        return f"ListedMembers({self.size} of {self._concepts!r})"

    @property
    def size(self) -> int:
        return len(self._positions)

    @property
    def assumes(self) -> tuple[str, ...]:
        return self._concepts.assumes

    def error_counts(self, columns: Any, y: Labels) -> NDArray[Any]:
        return self._concepts.error_counts(columns, y)[self._positions]

    def member_at(self, position: int) -> Concept:
        return self._concepts.member_at(int(self._positions[position]))


def literal(name: str, feature: int, domain: Product | None, *, positive: bool = True) -> str:
    """Return the statement that a column's bit is 1 (or 0) in words, with the domain's threshold if any."""
    bits = None if domain is None else domain.domains[feature]
    threshold = bits.binarize if isinstance(bits, Bits) else None
    if threshold is None:
        return name if positive else f"not {name}"
    return f"{name} {'>' if positive else '<='} {str(threshold).removesuffix('.0')}"


def denied(name: str, test: str) -> str:
    """Return the statement that a column does not pass a test of `Domain.describe_test`."""
    contrary = {"== ": "!= ", "<= ": "> ", "< ": ">= ", "is ": "is not "}
    test = test.removesuffix(" (or missing)")
    for word, other in contrary.items():
        if test.startswith(word):
            return f"{name} {other}{test.removeprefix(word)}"
    return f"not ({name} {test})"


class BitConcepts(CountedClass):
    """Base of classes over bits that are determined by the columns and one further parameter, whose name a
    subclass sets as `parameter`; both are arguments of its constructor and attributes.
    """

    default_domain = Bits()
    binary_only = True
    n_labels = 2
    domain: Product
    n_features: int
    parameter: ClassVar[str]

    @classmethod
    def over(cls, domain: Product, n_labels: int = 2, **parameter: Any) -> Self:
        """Return the class over a domain of bits, with a threshold for each column, for two labels."""
        check_count("n_labels", n_labels, low=2, high=2)
        if not all(isinstance(part, Bits) for part in domain.domains):
            raise ValueError(
                f"domain must have Bits in every column, got {domain!r}: Bits(binarize=40) is 1 for numbers"
                " above 40; for categories, make a column of 0 and 1 for each"
            )
        concepts = cls(len(domain), **parameter)  # type: ignore[call-arg]  # the constructors of subclasses
        concepts.domain = domain
        return concepts

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        name, (domain, value) = type(self).__name__, self._parts()
        threshold = getattr(domain.domains[0], "binarize", None)
        if domain == Product([Bits(threshold)] * self.n_features):
            return f"{name}({self.n_features}, {self.parameter}={value!r}, binarize={threshold!r})"
        return f"{name}.over({domain!r}, {self.parameter}={value!r})"

    def _parts(self) -> tuple[Product, Any]:
        return self.domain, getattr(self, self.parameter)
