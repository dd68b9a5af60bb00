"""Domains of numbers: integer ranges, grids between bounds, floats to a number of significand bits."""

import math
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_choice, check_count, check_number
from dplearn.domains.base import GAPS, Codes, NumberDomain, smallest_uint
from dplearn.domains.cells import as_cells, floor_of
from dplearn.domains.number_cells import as_numbers

__all__ = ["Floats", "Grid", "IntegerRange", "as_numbers"]

_OUTSIDE = ("refuse", "clip")
_LARGEST = sys.float_info.max
_INT64 = (-(1 << 63), (1 << 63) - 1)


@dataclass(frozen=True)
class IntegerRange(NumberDomain):
    """The integers low..high.

    Parameters
    ----------
    low, high : int
        Public ends, both included; fewer than 2**64 integers, of 64 bits with sign.
    outside : {"refuse", "clip"}, default="refuse"
        Whether a number outside is refused, or moved to the nearest end. A number that is not whole is
        refused, or rounded down.

    Examples
    --------
    >>> ages = IntegerRange(18, 120)
    >>> ages.encode([18, 20]).tolist(), ages.describe_test(2)
    ([0, 2], '<= 20')
    """

    low: int
    high: int
    outside: str = "refuse"

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", check_count("low", self.low, low=_INT64[0], high=_INT64[1]))
        object.__setattr__(self, "high", check_count("high", self.high, low=self.low, high=_INT64[1]))
        check_choice("outside", self.outside, _OUTSIDE)
        smallest_uint(self.size)

    @property
    def size(self) -> int:
        """How many integers there are."""
        return self.high - self.low + 1

    def encode(self, values: Any) -> Codes:
        """Return value - low."""
        codes, inside = self._codes(values)
        if self.outside == "refuse" and not inside.all():
            raise self.refuse()
        return codes

    def nearest(self, values: Any) -> Codes:
        """Return value - low, the value rounded down and moved into the range."""
        return self._codes(values)[0]

    def _codes(self, values: Any) -> tuple[Codes, NDArray[np.bool_]]:
        """Return codes, and which values are in the range."""
        array = as_cells(values)
        if array.dtype.kind != "O":
            return self._codes_of_numbers(as_numbers(array, self))
        codes: list[int] = []
        inside: list[bool] = []
        # Cell by cell: as an array of floats, large integers would lose digits because of another record.
        with suppress(Exception):  # a cell of any kind may do anything, and its error may quote it
            for cell in array.ravel().tolist():
                floor, whole = floor_of(cell)
                codes.append(int(min(max(floor, self.low), self.high)) - self.low)
                inside.append(bool(whole and self.low <= floor <= self.high))
        if len(inside) < array.size:
            raise self.refuse()
        coded = np.array(codes, dtype=smallest_uint(self.size)).reshape(array.shape)
        return coded, np.array(inside, dtype=bool).reshape(array.shape)

    def _codes_of_numbers(self, values: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_]]:
        if values.dtype.kind == "f":
            floors = np.floor(values.astype(np.float64))
            # Compared as integers: a float knows neither 2**63 - 1 nor 2**53 + 1.
            far = (floors < _INT64[0]) | (floors >= -_INT64[0])
            whole = np.where(far, 0, floors).astype(np.int64)
        else:
            # In one type: numpy 2.0.0 may crash where it compares other byte orders with a large integer.
            floors = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64, copy=False)
            far = floors > _INT64[1]
            whole = np.where(far, 0, floors).astype(np.int64)
        below = np.where(far, floors < 0, whole < self.low)
        above = np.where(far, floors > 0, whole > self.high)
        whole = np.where(below, self.low, np.where(above, self.high, whole))
        codes = whole.view(np.uint64) - np.uint64(self.low % (1 << 64))
        return codes.astype(smallest_uint(self.size)), ~below & ~above & (floors == values)

    def decode(self, codes: Any) -> NDArray[np.int64]:
        """Return low + code."""
        raised = np.asarray(codes).astype(np.uint64) + np.uint64(self.low % (1 << 64))
        return raised.view(np.int64)

    def describe_test(self, code: int) -> str:
        """Return '<= value'; where fractions are rounded down, '< next value'."""
        if self.outside == "clip":
            return "is any number" if code == self.size - 1 else f"< {self.low + code + 1}"
        return f"<= {self.low + code}"

    @property
    def assumption(self) -> str:
        """What a guarantee assumes of the column."""
        if self.outside == "clip":
            return f"values are numbers; integers from {self.low} to {self.high} are told apart"
        return f"values are integers from {self.low} to {self.high}"

    @property
    def _advice(self) -> str:
        if self.outside == "clip":
            return f": it is missing, infinite, or no number; {GAPS}"
        ways = "outside='clip' rounds down and moves to the ends, Grid takes decimals"
        return f": it is missing, not whole, or beyond the ends; {ways}; {GAPS}"


@dataclass(frozen=True)
class Grid(NumberDomain):
    """Numbers between two bounds, told apart only by which of `size` evenly spaced points they reach.

    Parameters
    ----------
    low, high : float
        Public bounds.
    size : int, default=256
        How many points, both bounds included; at least 2 and at most 2**32.
    outside : {"refuse", "clip"}, default="refuse"
        Whether a number outside the bounds is refused, or moved to the nearest bound.

    Examples
    --------
    >>> grid = Grid(0, 10, size=11)
    >>> grid.encode([0, 0.5, 1, 10]).tolist(), grid.describe_test(1)
    ([0, 0, 1, 10], '< 2')
    """

    low: float
    high: float
    size: int = 256
    outside: str = "refuse"

    def __post_init__(self) -> None:
        low, high = check_number("low", self.low), check_number("high", self.high)
        check_number("high", self.high, above=low)
        for name, bound in (("low", low), ("high", high)):
            check_number(name, bound, low=-_LARGEST, high=_LARGEST)
        check_count("size", self.size, low=2, high=1 << 32)
        check_choice("outside", self.outside, _OUTSIDE)
        object.__setattr__(self, "low", float(low))
        object.__setattr__(self, "high", float(high))
        if not math.isfinite(self._scale):
            raise ValueError(
                f"high - low must be finite, and enough for {self.size} points,"
                f" got low={self.low!r} and high={self.high!r}"
            )

    @cached_property
    def _scale(self) -> float:
        """Points in a unit, rounded so that the upper bound has the last code; inf if there is none."""
        width = self.high - self.low
        scale = (self.size - 1) / width if 0 < width < math.inf else math.inf
        while width * scale < self.size - 1:
            scale = math.nextafter(scale, math.inf)
        return scale

    def encode(self, values: Any) -> Codes:
        """Return the last grid point that each value reaches."""
        return self._codes(values, clip=self.outside == "clip")

    def nearest(self, values: Any) -> Codes:
        """Return the last grid point that each value reaches, the first for values below all."""
        return self._codes(values, clip=True)

    def _codes(self, values: Any, clip: bool) -> Codes:
        if getattr(values, "dtype", None) != np.float64:
            values = as_numbers(values, self).astype(np.float64)
        # NaN and infinities fail this comparison too.
        if values.size and not self.low <= values.min() <= values.max() <= self.high:
            values = as_numbers(values, self)
            if not clip:
                raise self.refuse()
            values = np.clip(values, self.low, self.high)
        steps = np.subtract(values, self.low)
        steps *= self._scale
        codes: Codes = steps.astype(smallest_uint(self.size))
        return codes

    def decode(self, codes: Any) -> NDArray[np.float64]:
        """Return the grid points: numbers that have these codes, where floats are fine enough to tell."""
        wanted = np.asarray(codes).astype(np.float64)
        points = np.minimum(self.low + wanted * ((self.high - self.low) / (self.size - 1)), self.high)
        while (short := self.nearest(points) < wanted).any():  # a point that was rounded down
            points = np.where(short, np.nextafter(points, np.inf), points)
        return points

    def describe_test(self, code: int) -> str:
        """Return '< next grid point'."""
        return "is any number" if code >= self.size - 1 else f"< {_shortest(self._point(code + 1))}"

    def _point(self, code: int) -> float:
        """Return the least float that has this code, by bisection: the grid point but for roundings."""
        below, point = self.low, self.high
        while below < (middle := below / 2 + point / 2) < point:
            if int(self.nearest(np.float64(middle))) < code:
                below = middle
            else:
                point = middle
        return point

    @property
    def assumption(self) -> str:
        """What a guarantee assumes of the column."""
        if self.outside == "clip":
            return f"values are numbers; {self.size} points from {self.low:g} to {self.high:g} are told apart"
        return f"values are numbers from {self.low:g} to {self.high:g}"

    @property
    def _advice(self) -> str:
        if self.outside == "clip":
            return f": it is missing, infinite, or no number; {GAPS}"
        return f": it is missing, no number, or beyond the bounds; outside='clip' moves to these; {GAPS}"


@dataclass(frozen=True, kw_only=True)
class Floats(NumberDomain):
    """All finite floats, rounded towards zero to a number of significand bits: no bounds to guess.

    The bits of a float, read as an integer, keep the order of magnitudes; dropping low bits rounds.

    Parameters
    ----------
    significand_bits : int, default=52
        Bits kept after the leading one: 0 tells powers of two apart, 52 all float64 values.
    smallest, largest : float, default: the smallest and the largest positive float64
        Magnitudes below `smallest` count as 0, magnitudes above `largest` as `largest`: a public guess of
        the useful scales, which spares a learner the others. Nothing is refused.
    missing : bool, default=False
        Whether NaN is a value, below all numbers; else it is refused. Infinities are always refused. Missing
        values count in a quantile: where 30% are missing, the quantiles up to .3 are NaN, and the median is
        the quantile 2/7 of the numbers.

    Notes
    -----
    Has no bounds: for numbers from 0 to 100 take `Grid(0, 100)` or `IntegerRange(0, 100)`. So parameters go
    by name.

    Examples
    --------
    >>> floats = Floats(significand_bits=2, smallest=1, largest=4)
    >>> floats.size  # 0, and on each side 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4
    19
    >>> floats.encode([-4, 0.3, 1, 1.1, 1.3, 99]).tolist(), floats.describe_test(10)
    ([0, 9, 10, 10, 11, 18], '< 1.25')
    """

    significand_bits: int = 52
    smallest: float = 5e-324
    largest: float = sys.float_info.max
    missing: bool = False

    def __post_init__(self) -> None:
        check_count("significand_bits", self.significand_bits, high=52)
        smallest = check_number("smallest", self.smallest, above=0)
        check_number("smallest", smallest, low=5e-324, high=_LARGEST)
        largest = check_number("largest", self.largest, low=smallest)
        check_number("largest", largest, high=_LARGEST)
        if not isinstance(self.missing, bool):
            raise TypeError(f"missing must be True or False, got {self.missing!r}")
        object.__setattr__(self, "smallest", float(smallest))
        object.__setattr__(self, "largest", float(largest))
        object.__setattr__(self, "accepts_missing", self.missing)

    @cached_property
    def _shift(self) -> int:
        return 52 - self.significand_bits

    @cached_property
    def _first(self) -> int:
        """The rounded bits of the least magnitude that is not 0; subnormals may round to 0 whole."""
        return max(1, _bits_of(self.smallest) >> self._shift)

    @cached_property
    def _magnitudes(self) -> int:
        return (_bits_of(self.largest) >> self._shift) - self._first + 1

    @property
    def size(self) -> int:
        """How many rounded values there are, 0 and a missing one included."""
        return 2 * self._magnitudes + 1 + self.missing

    def encode(self, values: Any) -> Codes:
        """Return the place of each value's rounding in the order of all."""
        values = as_numbers(values, self, missing=self.missing).astype(np.float64, copy=False)
        bits = np.asarray(values, order="C").view(np.int64)
        steps = np.bitwise_and(bits, _INT64[1], out=np.empty_like(bits))
        steps >>= self._shift
        np.clip(steps, self._first - 1, self._first + self._magnitudes - 1, out=steps)
        steps -= self._first - 1
        sign = bits >> 63  # 0 or -1
        steps ^= sign
        steps -= sign
        # Codes are below 2**64 but not below 2**63: add as unsigned numbers, modulo 2**64.
        codes = steps.view(np.uint64)
        codes += np.uint64(self._magnitudes + self.missing)
        if self.missing:
            codes[np.isnan(values)] = 0
        return codes.astype(smallest_uint(self.size), copy=False)

    nearest = encode

    def decode(self, codes: Any) -> NDArray[np.float64]:
        """Return the numbers that rounding leaves as they are; NaN for a missing one."""
        codes = np.asarray(codes).astype(np.uint64)
        above = codes > self._magnitudes + self.missing
        steps = codes - np.uint64(self._magnitudes + self.missing)  # modulo 2**64: negative ones wrap
        steps = np.where(above, steps, ~steps + np.uint64(1)).view(np.int64)
        bits = np.where(steps > 0, (self._first - 1 + steps) << self._shift, 0)
        numbers: NDArray[np.float64] = np.where(above, 1.0, -1.0) * bits.view(np.float64)
        numbers = np.where(steps == 0, 0.0, numbers)
        return np.where(codes == 0, np.nan, numbers) if self.missing else numbers

    def describe_test(self, code: int) -> str:
        """Return '< value' or '<= value', whichever is exact; '(or missing)' where that is below."""
        step = code - self._magnitudes - self.missing
        suffix = " (or missing)" if self.missing else ""
        if self.missing and code == 0:
            return "is missing"
        if step >= self._magnitudes:
            return "is any number" + suffix
        if step >= 0:
            return f"< {_shortest(self._magnitude(step + 1))}" + suffix
        return f"<= {_shortest(-self._magnitude(-step))}" + suffix

    def _magnitude(self, step: int) -> float:
        bits = (self._first - 1 + step) << self._shift
        return float(np.array(bits, dtype=np.int64).view(np.float64))

    @property
    def assumption(self) -> str:
        """What a guarantee assumes of the column."""
        return "values are finite numbers" + (" or missing" if self.missing else "")

    @property
    def _advice(self) -> str:
        if self.missing:
            return ": it is infinite, or no number"
        return f": it is missing, infinite, or no number; {GAPS}"


def _shortest(value: float) -> str:
    """Return the shortest text that is exactly this float."""
    return repr(value).removesuffix(".0")


def _bits_of(value: float) -> int:
    return int(np.float64(value).view(np.int64))
