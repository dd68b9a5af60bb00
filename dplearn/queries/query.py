"""What can be asked of records: a bounded number, a category or a short vector of each; its mean is wanted.

A query is a public function of one record. It is written for many records at once, for speed, but must treat
each by itself: on that, and on the declared bounds, which are enforced, all privacy rests.

>>> ages = np.array([30, 40, 50])
>>> query = MeanQuery(lambda ages: ages, low=0, high=120)
>>> query.total(ages).tolist(), query.l1
([120], 120)
>>> tall = ShareQuery(lambda ages: ages > 35, categories=2)
>>> tall.total(ages).tolist(), tall.l1  # a replaced record leaves one category and enters another
([1, 2], 2)
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import as_fraction, check_count
from dplearn.core.grouping import near_integers
from dplearn.core.short_vectors import kept_short
from dplearn.queries.randomizers import (
    BitRandomizer,
    CategoryRandomizer,
    LaplaceRandomizer,
    LocalRandomizer,
    VectorRandomizer,
)

__all__ = ["Examples", "MeanQuery", "ShareQuery", "StatisticalQuery", "VectorQuery", "on_grid"]

_OF_NUMBERS: dict[str, Callable[[int, int, Fraction], LocalRandomizer]] = {
    "bit": BitRandomizer,
    "laplace": LaplaceRandomizer,
}
_VALUES = "a query's values"
_FAR = 1 << 62
_MOST = 1 << 40  # so that sums over many records, with their noise, keep to 64 bits


@dataclass(frozen=True, repr=False, eq=False)
class Examples:
    """Rows and their labels, as one sequence of records.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Private.
    y : ndarray of shape (n,)
        Private.
    """

    X: Any
    y: NDArray[Any]

    def __post_init__(self) -> None:
        if self.X.shape[0] != len(self.y):
            raise ValueError("X and y must have equal numbers of records")

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, places: Any) -> "Examples":
        return Examples(self.X[places], self.y[places])


class StatisticalQuery(ABC):
    """A public function from a record to a bounded whole number, or to several.

    Attributes
    ----------
    size : int
        How many numbers k are answered.
    unit : Fraction
        What one step of the whole numbers stands for.
    l1, squared_l2 : int
        The most by which one replaced record moves the k totals: in sum, and in the sum of squares.
    low, high : int
        Within which each of the k numbers of one record lies.
    """

    size: int
    unit: Fraction
    l1: int
    squared_l2: int
    low: int
    high: int

    @abstractmethod
    def inputs(self, records: Any) -> NDArray[np.int64]:
        """Return what each record answers, shape (n,) or (n, k), always within the declared bounds."""

    @abstractmethod
    def total(self, records: Any) -> NDArray[np.int64]:
        """Return the k totals over all records, exactly."""

    @abstractmethod
    def randomizer(self, epsilon: Fraction, kind: str) -> LocalRandomizer:
        """Return what a record would randomise its own answer by; `kind` as for `LocalOracle`."""


class MeanQuery(StatisticalQuery):
    """A whole number of each record.

    Parameters
    ----------
    function : callable
        From records to integers, or yes and no, of shape (n,), each of its own record alone. What lies beyond
        the bounds is moved to them. It must not raise: an error would tell of the data.
    low, high : int
        Public bounds, low < high.
    unit : number, default=1
        What one step stands for: answers are multiplied by it.
    """

    size = 1

    def __init__(self, function: Callable[[Any], Any], *, low: int, high: int, unit: Any = 1):
        self.low = check_count("low", low, low=-_MOST, high=_MOST)
        self.high = check_count("high", high, low=self.low + 1, high=_MOST)
        self.unit = _positive_unit(unit)
        self.l1 = self.high - self.low
        self.squared_l2 = self.l1**2
        self._function = function

    def inputs(self, records: Any) -> NDArray[np.int64]:
        """Return each record's number."""
        values = near_integers(_VALUES, _answered(self._function(records)), self.low, self.high)
        return _one_each(values, records)

    def total(self, records: Any) -> NDArray[np.int64]:
        """Return the sum, of shape (1,)."""
        return np.asarray(self.inputs(records).sum(keepdims=True), dtype=np.int64)

    def randomizer(self, epsilon: Fraction, kind: str) -> LocalRandomizer:
        """Return a bit with the right mean through randomised response, or the number with Laplace noise."""
        return _OF_NUMBERS[kind](self.low, self.high, epsilon)


class ShareQuery(StatisticalQuery):
    """One of several categories of each record; the share of each is wanted.

    Parameters
    ----------
    function : callable
        From records to categories 0..categories-1 of shape (n,), each of its own record alone, as for
        `MeanQuery`.
    categories : int
        How many there are, at least 2; public.
    """

    unit = Fraction(1)
    l1 = squared_l2 = 2
    low, high = 0, 1

    def __init__(self, function: Callable[[Any], Any], *, categories: int):
        self.size = check_count("categories", categories, low=2, high=1 << 31)
        self._function = function

    def inputs(self, records: Any) -> NDArray[np.int64]:
        """Return each record's category."""
        values = near_integers(_VALUES, _answered(self._function(records)), 0, self.size - 1)
        return _one_each(values, records)

    def total(self, records: Any) -> NDArray[np.int64]:
        """Return how many records are in each category."""
        return np.bincount(self.inputs(records), minlength=self.size).astype(np.int64)

    def randomizer(self, epsilon: Fraction, kind: str) -> LocalRandomizer:  # noqa: ARG002 - one fits all
        """Return randomised response over the categories."""
        return CategoryRandomizer(self.size, epsilon)


class VectorQuery(StatisticalQuery):
    """A vector of whole numbers of each record, no longer than a public norm.

    Parameters
    ----------
    function : callable
        From records to integers of shape (n, size), each row of its own record alone, as for `MeanQuery`. A
        row longer than `norm` counts as zeros.
    size : int
        How many numbers; public.
    norm : int
        The greatest Euclidean length of a row; public.
    unit : number, default=1
        What one step stands for.
    total : callable, optional
        From records to the sum of all rows, of shape (size,), where that is known to be quicker than to add
        them up. It must be that sum exactly, over rows that keep the norm.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        size: int,
        norm: int,
        unit: Any = 1,
        total: Callable[[Any], Any] | None = None,
    ):
        self.size = check_count("size", size, low=1)
        self.norm = check_count("norm", norm, low=1, high=1 << 30)
        self.unit = _positive_unit(unit)
        # Two rows are at most 2 norm apart, and a vector's l1 norm is at most sqrt(size) times its length.
        self.squared_l2 = (2 * self.norm) ** 2
        self.l1 = _ceil_root(self.size * self.squared_l2)
        self.low, self.high = -self.norm, self.norm
        self._function, self._total = function, total

    def inputs(self, records: Any) -> NDArray[np.int64]:
        """Return each record's row, zeros where it is longer than `norm`."""
        return _one_each(kept_short(self._function(records), self.size, self.norm), records)

    def total(self, records: Any) -> NDArray[np.int64]:
        """Return the sum of all rows."""
        if self._total is not None:
            return np.asarray(self._total(records), dtype=np.int64)
        return np.asarray(self.inputs(records).sum(axis=0), dtype=np.int64)

    def randomizer(self, epsilon: Fraction, kind: str) -> LocalRandomizer:  # noqa: ARG002 - one fits all
        """Return one coordinate of the turned vector, picked by chance, as a bit."""
        return VectorRandomizer(self.size, self.norm, epsilon)


def on_grid(function: Callable[[Any], Any], steps: int) -> Callable[[Any], NDArray[np.int64]]:
    """Return a function whose numbers are `steps` times those of `function`, rounded towards zero.

    Rounding towards zero lengthens no vector and leaves no bounds; what is no number counts as 0.

    Parameters
    ----------
    function : callable
        From records to floats of any shape.
    steps : int
        How many steps make 1: a query takes `unit=Fraction(1, steps)`.
    """
    steps = check_count("steps", steps, low=1, high=1 << 30)

    def whole(records: Any) -> NDArray[np.int64]:
        with np.errstate(over="ignore", invalid="ignore"):  # a warning would tell of a record
            values = np.asarray(function(records), dtype=np.float64) * steps
        near = np.nan_to_num(values, nan=0.0).clip(-_FAR, _FAR)
        return np.asarray(np.trunc(near), dtype=np.int64)

    return whole


def _one_each(values: NDArray[np.int64], records: Any) -> NDArray[np.int64]:
    """Return the answers if there is one for each record: on that all accounts rest."""
    if len(values) != len(records):
        raise TypeError("a query must answer once for each record")
    return values


def _answered(values: Any) -> Any:
    """Return what a function answers; an array of yes and no counts as 1 and 0."""
    yes_or_no = isinstance(values, np.ndarray) and values.dtype.kind == "b"
    return values.astype(np.int64) if yes_or_no else values


def _positive_unit(unit: Any) -> Fraction:
    exact = as_fraction(unit)
    if exact <= 0:
        raise ValueError(f"unit must be a positive number, got {unit!r}")
    return exact


def _ceil_root(square: int) -> int:
    root = isqrt(square)
    return root + (root * root < square)
