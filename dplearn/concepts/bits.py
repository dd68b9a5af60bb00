"""The base class of concept classes over columns of bits, and the names of literals."""

from typing import Any, ClassVar, Self

from dplearn._validation import check_count
from dplearn.concepts.base import CountedClass
from dplearn.domains import Bits, Product

__all__ = ["BitConcepts", "literal"]


def literal(name: str, feature: int, domain: Product | None, *, positive: bool = True) -> str:
    """Return the statement that a column's bit is 1 (or 0) in words, with the column's threshold if any.

    `domain`: the columns' domains, with the thresholds of their bits. None: no thresholds. `positive`: True
    for the statement that the bit is 1, False for 0.
    """
    bits = None if domain is None else domain.domains[feature]
    threshold = bits.binarize if isinstance(bits, Bits) else None
    if threshold is None:
        return name if positive else f"not {name}"
    return f"{name} {'>' if positive else '<='} {str(threshold).removesuffix('.0')}"


class BitConcepts(CountedClass):
    """Base of classes over bits that are determined by the columns and one further parameter.

    A subclass sets `parameter` to the name of that parameter, has it, `n_features` and `binarize` as
    arguments of its constructor, and stores it and `n_features` as attributes of the same names.
    """

    default_domain = Bits()
    binary_only = True
    n_labels = 2
    domain: Product
    n_features: int
    parameter: ClassVar[str]

    @classmethod
    def over(cls, domain: Product, n_labels: int = 2, **parameter: Any) -> Self:
        """Return the class over a domain of bits, with a threshold for each column.

        Parameters
        ----------
        domain : Product of Bits
        n_labels : int, default=2
            Must be 2.
        **parameter
            As in the constructor.
        """
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
