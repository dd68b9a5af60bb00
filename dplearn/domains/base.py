"""What a domain is: a public, finite set of values and an encoding of them by the integers 0..size-1.

The encoding of a value depends on that value alone, never on the rest of a column: so one replaced record
changes one row of codes. Values outside the domain are refused before anything is spent; that they do not
occur is a precondition, which `assumption` words for a guarantee. Messages hold no value.
"""

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn._writing import brief
from dplearn.core.float_errors import IgnoresFloatErrors

__all__ = ["Codes", "Domain", "DomainError", "NumberDomain", "smallest_uint"]

Codes = NDArray[Any]  # unsigned integers, as narrow as the domain allows

#: What to do about missing values where a domain of numbers has none; followed by the domain that takes them.
GAPS = "drop missing ones if their number may be public, fill in a constant, or take"
#: The same of new records.
FILL_OR_LEAVE_OUT = "fill in a constant, or leave such records out"
#: The same for what takes no missing values, whatever the domain.
NO_GAPS = "drop missing ones if their number may be public, or fill in a constant"


class DomainError(ValueError):
    """A value lies outside its declared domain. The message says which domain, never which value."""


class Domain(IgnoresFloatErrors, ABC):
    """A public set of values for one column.

    Attributes
    ----------
    ordered : bool
        Whether codes keep the order of values, so that "at most" is a question; else "equal to" is.
    accepts_missing : bool
        Whether a missing value (NaN, None) has a code.
    numeric : bool
        Whether values are numbers, so that a column of them fits a float array.
    """

    _read_private_rows = frozenset({"encode", "nearest", "decode"})
    ordered: ClassVar[bool] = True
    numeric: bool = True
    accepts_missing: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that make an equal domain, by name; of a subclass that is a dataclass, its fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @property
    def _advice(self) -> str:
        """What the error for a value outside adds: the same whichever value it is."""
        return ""

    @property
    def _advice_without_gaps(self) -> str:
        """The same, for what takes no domain with missing values."""
        return self._advice

    @property
    def _not_moved(self) -> str:
        """Which values `nearest` refuses, and what to do about them."""
        missing = "" if self.accepts_missing else "missing, "
        return (
            f"a finite number would be moved to the nearest value; this one is {missing}infinite, or no"
            f" number, such as text: {FILL_OR_LEAVE_OUT}"
        )

    @property
    @abstractmethod
    def size(self) -> int:
        """How many codes there are; an exact Python integer."""

    @abstractmethod
    def encode(self, values: Any) -> Codes:
        """Return the code of each value.

        Parameters
        ----------
        values : ndarray of any shape

        Returns
        -------
        ndarray of unsigned integers of the same shape

        Raises
        ------
        DomainError
            If a value is outside the domain.
        """

    @abstractmethod
    def nearest(self, values: Any) -> Codes:
        """Return codes as `encode` does, with values outside the domain moved to its nearest end.

        For prediction: a new record may lie where none was declared. Where nothing is nearest, the code is
        `size`, which no value of the domain has.
        """

    @abstractmethod
    def describe_test(self, code: int) -> str:
        """Return in words what is true of a value exactly if its code is <= `code`, or == if unordered."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What a guarantee assumes of the column."""

    def refuse(self, *, takes_missing: bool = True) -> DomainError:
        """Return the error for a value outside.

        Parameters
        ----------
        takes_missing : bool, default=True
            Whether the caller would take a domain with missing values, so that the error may advise one.
        """
        advice = self._advice if takes_missing else self._advice_without_gaps
        return DomainError(f"{self._outside_in_words}{advice}")

    def refuse_new(self) -> DomainError:
        """Return the error for a value that `nearest` moves nowhere."""
        return DomainError(f"{self._outside_in_words}; {self._not_moved}")

    @property
    def _outside_in_words(self) -> str:
        return f"a value lies outside the declared domain {brief(self)}, where {self.assumption}"


class NumberDomain(Domain):
    """A public set of numbers, in their order: a code can be read as a number again."""

    @abstractmethod
    def decode(self, codes: Any) -> NDArray[Any]:
        """Return the number that stands for each code.

        Parameters
        ----------
        codes : array-like of int of any shape
            From 0 to size - 1. Public, or released.

        Returns
        -------
        ndarray of the same shape
            Numbers of the domain, the greater the greater their codes are.
        """


def smallest_uint(size: int) -> Any:
    """Return the narrowest unsigned dtype that holds 0..size, `size` itself being the code of no value."""
    if size >= 1 << 64:
        raise ValueError(f"a domain must have fewer than 2**64 values, got {size}")
    return np.min_scalar_type(size)
