"""What a concept class is: which concepts it holds, and how many errors each of them makes.

A class is public: its domain, its number of labels and so its members are fixed before any data is seen.
Given data it answers with an `ErrorProfile`: how many members make how many errors, and which member is
the i-th among those with a given number. That is all that selecting a member needs, so a class of 2**64
members need never list them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dplearn.core.grouping import group_counts, nth_equal
from dplearn.domains import Domain, Product

__all__ = ["ChosenConcept", "Concept", "ConceptClass", "CountedErrors", "ErrorProfile", "Labels"]

Labels = NDArray[np.intp]  # label codes 0..n_labels-1


class Concept(Protocol):
    """One member: a function from an encoded record to a label code."""

    def predict(self, columns: Any) -> Labels:
        """Return the label code of each record; `columns` is what the class's `domain.encode` gives."""

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        """Return the concept in words, given names of features and labels."""


@dataclass(frozen=True, repr=False)
class ChosenConcept:
    """A concept with the names of its features and labels: what a learner publishes. Prints as its rule.

    Attributes
    ----------
    concept : Concept
        The rule over codes.
    features : tuple of str
        Names of the columns.
    labels : tuple
        The label of each label code.
    """

    concept: Concept
    features: tuple[str, ...]
    labels: tuple[Any, ...]

    def predict(self, columns: Any) -> Labels:
        """Return the label code of each encoded record."""
        return self.concept.predict(columns)

    def __repr__(self) -> str:
        return self.concept.describe(self.features, self.labels)


class ErrorProfile(Protocol):
    """How many members of a class make how many errors on some data. Private."""

    def groups(self) -> tuple[list[int], list[int]]:
        """Return the numbers of errors that occur, rising, and how many members make each."""

    def member(self, errors: int, index: int) -> Concept:
        """Return the `index`-th member, in the class's order, among those that make `errors` errors."""


class ConceptClass(ABC):
    """A public set of concepts over a public domain.

    Attributes
    ----------
    domain : Product
        The features' domains; `domain.encode(X)` gives the `columns` that other methods take.
    n_labels : int
        Labels are the codes 0..n_labels-1.
    """

    domain: Any
    n_labels: int
    default_domain: ClassVar[Domain]  # of each column, where a user names the class and no domain
    binary_only: ClassVar[bool] = False

    @classmethod
    def over(cls, domain: Product, n_labels: int) -> "ConceptClass":
        """Return the class over a domain with everything else at its default."""
        return cls(domain, n_labels)  # type: ignore[call-arg]  # the constructors of subclasses

    @property
    @abstractmethod
    def size(self) -> int:
        """How many members the class has; an exact Python integer."""

    @abstractmethod
    def error_profile(self, columns: Any, y: Labels) -> ErrorProfile:
        """Count the errors of all members at once.

        Parameters
        ----------
        columns : list of ndarray of shape (n,)
            The records, as `domain.encode` gives them.
        y : ndarray of intp of shape (n,)
            Their label codes.
        """

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the class takes as public, beyond its domain; for a guarantee's `assumes`."""
        return ()


class CountedErrors:
    """The profile of a class whose members' errors are listed one by one.

    Parameters
    ----------
    counts : ndarray of int of shape (size,)
        Errors of each member.
    member_at : callable
        From a member's position to the member.
    """

    def __init__(self, counts: NDArray[Any], member_at: Any):
        self._counts = counts
        self._member_at = member_at

    def groups(self) -> tuple[list[int], list[int]]:
        """Return the numbers of errors that occur, rising, and how many members make each."""
        return group_counts(self._counts)

    def member(self, errors: int, index: int) -> Concept:
        """Return the `index`-th member among those that make `errors` errors."""
        concept: Concept = self._member_at(nth_equal(self._counts, errors, index))
        return concept
