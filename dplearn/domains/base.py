"""The base class `Domain`: a public, finite set of values, encoded as the integers 0..size-1.

The code of a value depends on this value alone, so one replaced record changes one row of codes. A value
outside the domain raises an error before any charge, without values in its text; a guarantee lists their
absence as a precondition, `assumption`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn._writing import brief
from dplearn.kernels import IgnoresFloatErrors

Codes = NDArray[Any]  # unsigned integers, as narrow as the domain allows

#: Advice on missing values in new records.
FILL_OR_LEAVE_OUT = "fill in a constant, or leave such records out"
#: Advice on missing values for a caller that accepts none in any domain.
NO_GAPS = "drop missing ones if their number may be public, or fill in a constant"
_FARTHEST = 10**100  # numbers beyond count as this far away


class DomainError(ValueError):
    """A value lies outside its declared domain. The message shows the domain and never the value."""


class CellTypeError(DomainError, TypeError):
    """Raised for a cell of a type that cannot be converted to a number."""


def _within_reach(numbers: NDArray[Any]) -> NDArray[np.float64]:
    if numbers.dtype == object:  # integers of any size
        numbers = np.clip(numbers, -_FARTHEST, _FARTHEST)
    return numbers.astype(np.float64).clip(-float(_FARTHEST), float(_FARTHEST))


class Domain(IgnoresFloatErrors, ABC):
    """A public set of values for one column.

    Attributes
    ----------
    ordered : bool
        True if codes have the order of the values, so that tests are of the form "at most"; otherwise tests
        are of the form "equal to".
    accepts_missing : bool
        True if a missing value (NaN, None) has a code.
    numeric : bool
        True if all values are numbers, so that a float array can hold a column.
    """

    row_methods = frozenset({"encode", "nearest", "decode"})
    ordered: ClassVar[bool] = True
    numeric: bool = True
    accepts_missing: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor by name; by default, the fields of the subclass, a dataclass."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @property
    def misreads_text(self) -> bool:
        """Whether values are numbers, and text would be read as missing or not listed, without an error."""
        return self.ordered and not self.numeric

    @property
    def _advice(self) -> str:
        """The advice in the error for a value outside the domain; it does not depend on the value."""
        return ""

    @property
    def _advice_without_gaps(self) -> str:
        """The same advice, for a caller that accepts no domain with missing values."""
        return self._advice

    @property
    def _not_moved(self) -> str:
        """The values that `nearest` refuses in words, with advice."""
        missing = "" if self.accepts_missing else "missing, "
        return (
            f"a finite number would be moved to the nearest value; this one is {missing}infinite, or no"
            f" number, such as text: {FILL_OR_LEAVE_OUT}"
        )

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of codes, an exact Python integer."""

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
        """Return the codes of the nearest values in the domain, for new records, which may lie outside it.

        A value without a nearest value in the domain has the code `size`, which no value of the domain has.

        Parameters
        ----------
        values : ndarray of any shape

        Returns
        -------
        ndarray of unsigned integers of the same shape

        Raises
        ------
        DomainError
            If a value is of a type that no value of the domain has.
        """

    @abstractmethod
    def describe_test(self, code: int) -> str:
        """Return the test "the value's code is <= `code`" (or ==, if unordered) in terms of the value."""

    def at_integers(self, code: int) -> int:
        """Return the code of a test at an integer, if there is one, with the same result for all integers."""
        return code

    def margins(self, codes: Any, cut: int) -> NDArray[np.float64]:  # noqa: ARG002 - of use to subclasses
        """Return how far values are from a test at the code `cut`: 1 where they have no distance."""
        return np.ones(np.shape(codes))

    @property
    @abstractmethod
    def assumption(self) -> str:
        """The precondition on the column, as listed in a guarantee."""

    def refuse(self, *, takes_missing: bool = True) -> DomainError:
        """Return the error for a value outside the domain.

        Parameters
        ----------
        takes_missing : bool, default=True
            True if the caller accepts domains with missing values; the error then recommends one.
        """
        advice = self._advice if takes_missing else self._advice_without_gaps
        return DomainError(f"{self._outside_in_words}{advice}")

    def refuse_new(self) -> DomainError:
        """Return the error for a new value without a nearest value in the domain."""
        return DomainError(f"{self._outside_in_words}; {self._not_moved}")

    @property
    def _outside_in_words(self) -> str:
        return f"a value lies outside the declared domain {brief(self)}, where {self.assumption}"


class NumberDomain(Domain):
    """A public, ordered set of numbers, with codes that can be decoded."""

    @abstractmethod
    def decode(self, codes: Any) -> NDArray[Any]:
        """Return a number of the domain for each code.

        Parameters
        ----------
        codes : array-like of int of any shape
            From 0 to size - 1. Public, or released.

        Returns
        -------
        ndarray of the same shape
            Numbers of the domain, increasing with the code.
        """

    def margins(self, codes: Any, cut: int) -> NDArray[np.float64]:
        """Return how far numbers are from the middle between a cut and the next number; never 0."""
        ends = self.decode(np.clip(np.array([cut, cut + 1], dtype=object), 0, self.size - 1))
        numbers, (low, high) = map(_within_reach, (self.decode(codes), ends))
        # Nothing is known of the distance of a missing value.
        far: NDArray[np.float64] = np.abs(numbers - (low / 2 + high / 2))
        return np.fmax(far, np.finfo(np.float64).tiny)

    def texts(self, numbers: Iterable[Any]) -> list[str]:
        """Return numbers of the domain in six digits, for tables of cells."""
        return [f"{number:.6g}" for number in numbers]


@lru_cache(maxsize=1024)
def smallest_uint(size: int) -> Any:
    """Return the narrowest unsigned dtype that holds 0..size, where `size` is the code of no value."""
    if size >= 1 << 64:
        raise ValueError(f"a domain must have fewer than 2**64 values, got {size}")
    return np.min_scalar_type(size)
