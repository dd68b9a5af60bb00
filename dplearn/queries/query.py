"""Statistical queries: for the mean of a bounded number, a category or a bounded vector over all records.

A query is a public function of many records at once, each of whose values must depend on one record alone.
The guarantee rests on this, and on the declared bounds, which the query enforces, except sensitivities that
are passed to a `VectorQuery`; these need a proof.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import as_fraction, check_choice, check_count
from dplearn.domains.cells import is_frame
from dplearn.kernels import IgnoresFloatErrors, ignores_float_errors, near_integers
from dplearn.kernels.rows import kept_short
from dplearn.queries.randomizers import (
    BitRandomizer,
    CategoryRandomizer,
    LaplaceRandomizer,
    LocalRandomizer,
    VectorRandomizer,
)
from dplearn.table import count_of

_OF_NUMBERS: dict[str, Callable[[int, int, Fraction], LocalRandomizer]] = {
    "bit": BitRandomizer,
    "laplace": LaplaceRandomizer,
}
KINDS = tuple(_OF_NUMBERS)  # of randomisers
# These messages do not show the type or the shape of the returned values, since these may depend on a record.
_WRONG_NUMBERS = (
    "a query's function must return one integer, or yes or no, for each record, in one dimension;"
    " for decimals see on_grid"
)
_WRONG_ROWS = "a query's function must return integers of shape (n, {}); for decimals see on_grid"
_FAR = 1 << 62
_MOST = 1 << 40  # sums over many records, with noise, then fit 64 bits


class StatisticalQuery(IgnoresFloatErrors, ABC):
    """A public function from a record to one or several bounded integers.

    Attributes
    ----------
    size : int
        The number k of numbers in an answer.
    unit : Fraction
        The value of one step of the integers.
    l1, squared_l2 : int
        The sensitivity of the k totals to one replaced record, in the l1 norm and the squared l2 norm.
    added_l1, added_squared_l2 : int
        The sensitivity of the k totals to one added or removed record: the greatest norms of one record's
        numbers.
    low, high : int
        Bounds on each of the k numbers of one record.
    """

    row_methods = frozenset({"bounded", "inputs", "total", "values"})
    size: int
    unit: Fraction
    l1: int
    squared_l2: int
    added_l1: int
    added_squared_l2: int
    low: int
    high: int

    def __init__(self, function: Callable[[Any], Any]):
        self._function = function

    def values(self, records: Any) -> Any:
        """Return the unvalidated values of the function; private if the records are."""
        return self._function(records)

    @abstractmethod
    def bounded(self, values: Any) -> NDArray[np.int64]:
        """Return values of the function as integers within the declared bounds, of shape (n,) or (n, k)."""

    def inputs(self, records: Any) -> NDArray[np.int64]:
        """Return each record's value within the declared bounds, of shape (n,) or (n, k)."""
        return one_each(self.bounded(self.values(records)), records)

    @abstractmethod
    def total(self, records: Any) -> NDArray[np.int64]:
        """Return the exact k totals over all records."""

    @abstractmethod
    def randomizer(self, epsilon: Any, kind: str = "bit", n_reports: int = 1) -> LocalRandomizer:
        """Return the local randomiser for reports of this query.

        Parameters
        ----------
        epsilon : number
            The cost of a report.
        kind : {"bit", "laplace"}, default="bit"
            As for `LocalOracle`.
        n_reports : int, default=1
            The number of reports from which the mean is estimated; only used for vectors.
        """


class MeanQuery(StatisticalQuery):
    """A query for the mean of one integer per record.

    Parameters
    ----------
    function : callable
        From records to integers or booleans of shape (n,), each a function of its own record alone. A value
        outside the bounds is replaced with the nearest bound. The function must not raise, since an error
        would depend on the data.
    low, high : int
        Public bounds on the function's values, low < high, in steps of `unit`.
    unit : number, default=1
        The value of one step; answers are multiplied by it.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.queries import MeanQuery
    >>> query = MeanQuery(lambda ages: ages, low=0, high=120)
    >>> query.total(np.array([30, 40, 50])).tolist()
    [120]
    >>> query.l1, query.added_l1  # the most that a replaced and an added record change the total
    (120, 120)
    """

    size = 1

    def __init__(self, function: Callable[[Any], Any], *, low: int, high: int, unit: Any = 1):
        super().__init__(function)
        self.low = check_count("low", low, low=-_MOST, high=_MOST)
        self.high = check_count("high", high, low=self.low + 1, high=_MOST)
        self.unit = _positive_unit(unit)
        self.l1 = self.high - self.low
        self.squared_l2 = self.l1**2
        self.added_l1 = max(abs(self.low), abs(self.high))
        self.added_squared_l2 = self.added_l1**2

    def __repr__(self) -> str:
        return f"MeanQuery(low={self.low}, high={self.high}, unit={self.unit})"

    def bounded(self, values: Any) -> NDArray[np.int64]:
        """Return numbers, with those outside the bounds replaced with the nearest bound."""
        return _whole(values, self.low, self.high)

    def total(self, records: Any) -> NDArray[np.int64]:
        return np.asarray(self.inputs(records).sum(keepdims=True), dtype=np.int64)

    def randomizer(self, epsilon: Any, kind: str = "bit", n_reports: int = 1) -> LocalRandomizer:  # noqa: ARG002
        """Return the randomiser to one bit, or the one with Laplace noise."""
        return _OF_NUMBERS[check_choice("kind", kind, KINDS)](self.low, self.high, epsilon)


class HistogramQuery(StatisticalQuery):
    """A query for the share of records in each of several categories.

    Parameters
    ----------
    function : callable
        From records to categories 0..categories-1 of shape (n,), each a function of its own record alone, as
        for `MeanQuery`.
    categories : int
        Public. The number of categories, at least 2.
    total : callable, optional
        From records to exactly the number of records in each category, of shape (categories,): faster.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.queries import HistogramQuery
    >>> query = HistogramQuery(lambda ages: ages > 35, categories=2)
    >>> query.total(np.array([30, 40, 50])).tolist()
    [1, 2]
    >>> query.l1, query.added_l1  # a replaced record leaves one category and enters another
    (2, 1)
    """

    unit = Fraction(1)
    l1 = squared_l2 = 2
    added_l1 = added_squared_l2 = 1
    low, high = 0, 1

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        categories: int,
        total: Callable[[Any], Any] | None = None,
    ):
        super().__init__(function)
        self.size = check_count("categories", categories, low=2, high=1 << 31)
        self._total = total

    def __repr__(self) -> str:
        return f"HistogramQuery(categories={self.size})"

    def bounded(self, values: Any) -> NDArray[np.int64]:
        """Return categories, with values outside 0..categories-1 replaced with the nearest category."""
        return _whole(values, 0, self.size - 1)

    def total(self, records: Any) -> NDArray[np.int64]:
        if self._total is not None:
            return np.asarray(self._total(records), dtype=np.int64)
        return np.bincount(self.inputs(records), minlength=self.size).astype(np.int64)

    def randomizer(self, epsilon: Any, kind: str = "bit", n_reports: int = 1) -> LocalRandomizer:  # noqa: ARG002
        """Return randomised response over the categories, for either kind."""
        check_choice("kind", kind, KINDS)
        return CategoryRandomizer(self.size, epsilon)


class VectorQuery(StatisticalQuery):
    """A query for the mean of one vector of integers per record, of bounded Euclidean norm.

    Parameters
    ----------
    function : callable
        From records to integers of shape (n, size), each row a function of its own record alone, as for
        `MeanQuery`. A row longer than `norm` is replaced with zeros.
    size : int
        Public. The length of a vector.
    norm : int
        Public. The greatest Euclidean norm of a row, in steps of `unit`.
    unit : number, default=1
        The value of one step; answers are multiplied by it.
    total : callable, optional
        From records to exactly the sum of all rows, of shape (size,): a faster implementation.
    l1, squared_l2 : int, optional
        Public. The sensitivities: bounds on the distance of any two rows, in the L1 norm and in the squared
        Euclidean norm, if lower ones are proved than those that follow from `norm`; they are not enforced.
    added_l1, added_squared_l2 : int, optional
        Public. Bounds on the L1 norm and on the squared Euclidean norm of a row, likewise.
    ends : tuple of int, optional
        Public. Bounds on each number of a row, likewise.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.queries import VectorQuery
    >>> query = VectorQuery(lambda rows: rows, size=2, norm=5)
    >>> query.total(np.array([[3, 4], [1, 0], [9, 9]])).tolist()  # the last row is longer than 5
    [4, 4]
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        size: int,
        norm: int,
        unit: Any = 1,
        total: Callable[[Any], Any] | None = None,
        l1: int | None = None,
        squared_l2: int | None = None,
        added_l1: int | None = None,
        added_squared_l2: int | None = None,
        ends: tuple[int, int] | None = None,
    ):
        super().__init__(function)
        self.size = check_count("size", size, low=1)
        self.norm = check_count("norm", norm, low=1, high=1 << 30)
        self.unit = _positive_unit(unit)
        # Two rows are at most 2 norm apart, and a vector's l1 norm is at most sqrt(size) times its length.
        distance = (2 * self.norm) ** 2
        self.squared_l2 = distance if squared_l2 is None else check_count("squared_l2", squared_l2, low=1)
        self.l1 = _ceil_root(self.size * distance) if l1 is None else check_count("l1", l1, low=1)
        # One row is short, whatever the distance of two is: `norm` is enforced.
        self.added_squared_l2 = self.norm**2 if added_squared_l2 is None else added_squared_l2
        least = _ceil_root(self.size * self.norm**2)
        self.added_l1 = least if added_l1 is None else check_count("added_l1", added_l1, low=1)
        self.low, self.high = ends or (-self.norm, self.norm)
        self._total = total

    def __repr__(self) -> str:
        return f"VectorQuery(size={self.size}, norm={self.norm}, unit={self.unit})"

    def bounded(self, values: Any) -> NDArray[np.int64]:
        """Return rows, with those longer than `norm` replaced with zeros."""
        with suppress(TypeError, ValueError):  # the error below must not have a private one as its context
            return kept_short(values, self.size, self.norm)
        raise TypeError(_WRONG_ROWS.format(self.size))

    def total(self, records: Any) -> NDArray[np.int64]:
        if self._total is not None:
            return np.asarray(self._total(records), dtype=np.int64)
        return np.asarray(self.inputs(records).sum(axis=0), dtype=np.int64)

    def randomizer(self, epsilon: Any, kind: str = "bit", n_reports: int = 1) -> LocalRandomizer:
        """Return the randomizer of one random Hadamard coordinate, reported as a bit, for either kind."""
        check_choice("kind", kind, KINDS)
        return VectorRandomizer(self.size, self.norm, epsilon, n_reports)


def on_grid(function: Callable[[Any], Any], steps: int) -> Callable[[Any], NDArray[np.int64]]:
    """Return a function whose values are `steps` times those of `function`, rounded towards zero.

    Rounding towards zero keeps norms and bounds. NaN becomes 0.

    Parameters
    ----------
    function : callable
        From records to floats of any shape.
    steps : int
        The number of steps per 1. The query takes `unit=Fraction(1, steps)`, and bounds in steps.

    Returns
    -------
    callable
        From records to int64 of the same shape.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dplearn.queries import MeanQuery, on_grid
    >>> weeks = on_grid(lambda days: days / 7, 1024)
    >>> query = MeanQuery(weeks, low=0, high=20 * 1024, unit=Fraction(1, 1024))  # up to 20 weeks
    >>> float(query.total(np.array([14, 28]))[0] * query.unit)
    6.0
    """
    steps = check_count("steps", steps, low=1, high=1 << 30)

    @ignores_float_errors
    def whole(records: Any) -> NDArray[np.int64]:
        values = _decimals(function(records)) * steps
        near = np.nan_to_num(values, nan=0.0).clip(-_FAR, _FAR)
        return np.asarray(np.trunc(near), dtype=np.int64)

    return whole


def totals(queries: Sequence[StatisticalQuery], records: Any) -> list[NDArray[np.int64]]:
    """Return the exact totals of each query over all records."""
    return [query.total(records) for query in queries]


def one_each(values: NDArray[np.int64], records: Any) -> NDArray[np.int64]:
    """Return the values if there is one for each record, which all sensitivities assume; else raise."""
    if len(values) != count_of(records):
        raise TypeError("a query must answer once for each record")
    return values


def _whole(values: Any, low: int, high: int) -> NDArray[np.int64]:
    """Return integers within bounds; booleans become 1 and 0."""
    if isinstance(getattr(values, "dtype", None), np.dtype):
        array = np.asarray(values)
        listed: Any = array.astype(np.int64) if array.dtype.kind == "b" else array
    elif is_frame(values) or not np.iterable(values):
        raise TypeError(_WRONG_NUMBERS)
    else:
        listed = [int(value) if isinstance(value, (bool, np.bool_)) else value for value in values]
    with suppress(TypeError):
        return near_integers("values", listed, low, high)
    raise TypeError(_WRONG_NUMBERS)


def _decimals(values: Any) -> NDArray[np.float64]:
    """Return floats; the error does not show the invalid values."""
    with suppress(TypeError, ValueError, OverflowError):
        return np.asarray(values, dtype=np.float64)
    raise TypeError("a function for on_grid must return numbers")


def _positive_unit(unit: Any) -> Fraction:
    exact = as_fraction(unit)
    if exact <= 0:
        raise ValueError(f"unit must be a positive number, got {unit!r}")
    return exact


def _ceil_root(square: int) -> int:
    root = isqrt(square)
    return root + (root * root < square)
