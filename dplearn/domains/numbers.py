"""Domains of numbers: integer ranges of any size, even grids, and floats of some significand bits."""

import math
import sys
from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_bool, check_choice, check_count, check_number
from dplearn.domains.base import FILL_OR_LEAVE_OUT, NO_GAPS, Codes, NumberDomain, smallest_uint
from dplearn.domains.cells import (
    any_as_number,
    any_as_numbers,
    as_cells,
    as_numbers,
    exact_cells,
    floor_of,
    is_missing,
    is_number,
    object_array,
)

_ANY = "values are of any kind"  # the assumption of a domain that refuses no cell
_LARGEST = sys.float_info.max
_INT64 = (-(1 << 63), (1 << 63) - 1)
_MOST = (1 << 64) - 1  # the greatest unsigned integer of 64 bits
_EXACT = 1 << 53  # floats represent all integers up to here


class _WithGaps(NumberDomain):
    """Numbers among which missing values may have a code, below those of all numbers."""

    _outside: ClassVar[tuple[str, ...]] = ("refuse", "clip", "accept")
    _with_gaps: ClassVar[str]  # the domain with a code for missing values
    outside: str
    missing: bool

    def _check_gaps(self) -> None:
        check_choice("outside", self.outside, self._outside)
        missing = check_bool("missing", self.missing)
        if self.outside == "accept" and not missing:
            raise ValueError("outside='accept' needs missing=True, since some cells count as missing")
        vars(self).update(missing=missing, accepts_missing=missing, numeric=self.outside != "accept")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({given})"

    def describe_test(self, code: int) -> str:
        """Return the test of numbers, '< value' or '<= value', with '(or missing)' if gaps have a code."""
        if not self.missing:
            return self._test(code)
        return f"{self._test(code - 1)} (or missing)" if code else "is missing"

    @abstractmethod
    def _test(self, place: int) -> str:
        """Return the test of the numbers up to a place among them."""

    @property
    def _defects(self) -> tuple[str, str]:
        """The possible defects of a refused value, and domains that take it."""
        return "infinite or no number", ""

    @property
    def _advice(self) -> str:
        return self._advised(f"{self._with_gaps} accepts missing ones")

    @property
    def _advice_without_gaps(self) -> str:
        return self._advised(NO_GAPS)

    def _advised(self, gaps: str) -> str:
        """Return the possible defects of a value outside the domain, with advice, `gaps` on missing ones."""
        wrong, ways = self._defects
        if self.missing:
            return f": it is {wrong}; {ways}" if ways else f": it is {wrong}"
        return f": it is {wrong.replace(' or ', ', ')} or missing; {ways + '; ' if ways else ''}{gaps}"


@dataclass(frozen=True, repr=False)
class IntegerRange(_WithGaps):
    """The integers low..high.

    Parameters
    ----------
    low, high : int
        Public ends, both included; integers of 64 bits, signed or not, fewer than 2**64 in total.
    outside : {"refuse", "clip", "accept"}, default="refuse"
        "refuse": a number outside the range, or not whole, is refused. "clip": a number is rounded down and
        moved to the nearest end. "accept", with `missing` only: as "clip", and no cell is refused; an
        infinity is moved to the nearest end, and any other cell counts as missing.
    missing : bool, default=False
        True if a missing value (NaN, None) has a code, below all numbers (in quantiles: see `Floats`);
        otherwise it is refused.

    Examples
    --------
    >>> ages = IntegerRange(18, 120)
    >>> ages.encode([18, 20]).tolist(), ages.describe_test(2)
    ([0, 2], '<= 20')
    """

    _with_gaps = "IntegerRange(low, high, missing=True)"
    _all, _whole = "numbers", "integers"
    _are_whole = True  # values that are not refused

    low: int
    high: int
    outside: str = "refuse"
    missing: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", check_count("low", self.low, low=_INT64[0], high=_MOST))
        object.__setattr__(self, "high", check_count("high", self.high, low=self.low, high=_MOST))
        self._check_gaps()
        smallest_uint(self.size)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "outside": self.outside} | _if_missing(self.missing)

    @property
    def size(self) -> int:
        return self.high - self.low + 1 + self.missing

    def encode(self, values: Any) -> Codes:
        """Return value - low; with `missing`, 0 for missing values and value - low + 1 for numbers."""
        codes, inside = self._codes(values)
        if self.outside == "refuse" and not inside.all():
            raise self.refuse()
        return codes

    def nearest(self, values: Any) -> Codes:
        """Return the codes of the values after rounding down and clipping to the range."""
        return self._codes(values)[0]

    def _codes(self, values: Any) -> tuple[Codes, NDArray[np.bool_]]:
        """Return the codes of the clipped values, and a mask of the values that were not changed."""
        array = exact_cells(values)
        if array.dtype.kind != "O":
            accepted = self.outside == "accept"
            numbers = any_as_numbers(array) if accepted else as_numbers(array, self, missing=self.missing)
            return self._codes_of_numbers(numbers)
        code_of = self._code_of_any if self.outside == "accept" else self._code
        codes: list[int] = []
        inside: list[bool] = []
        # Cell by cell: in an array of floats, large integers would lose digits because of another record.
        with suppress(Exception):  # an arbitrary cell may raise any error, which may quote the cell
            for cell in array.ravel().tolist():
                code, fits = code_of(cell)
                codes.append(code)
                inside.append(fits)
        if len(inside) < array.size:
            raise self.refuse()
        coded = np.array(codes, dtype=smallest_uint(self.size)).reshape(array.shape)
        return coded, np.array(inside, dtype=bool).reshape(array.shape)

    def _code(self, cell: Any) -> tuple[int, bool]:
        floor, whole = cell, True
        if type(cell) is not int:
            if self.missing and (is_missing(cell) or (is_number(cell) and cell != cell)):  # a decimal NaN
                return 0, True
            floor, whole = floor_of(cell)
        code = int(min(max(floor, self.low), self.high)) - self.low + self.missing
        return code, bool(whole and self.low <= floor <= self.high)

    def _code_of_any(self, cell: Any) -> tuple[int, bool]:
        with suppress(Exception):  # of an infinity, and of a cell that is no number
            return self._code(cell)
        return self._code(any_as_number(cell))

    def _codes_of_numbers(self, values: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_]]:
        whole = values.dtype.kind != "f" and values.size
        if whole and self.low <= int(values.min()) and int(values.max()) <= self.high:
            codes = values.astype(np.uint64) - np.uint64((self.low - self.missing) % (1 << 64))
            return codes.astype(smallest_uint(self.size)), np.ones(values.shape, dtype=bool)
        gaps = np.isnan(values) if self.missing and values.dtype.kind == "f" else np.False_
        values = np.where(gaps, values.dtype.type(0), values) if self.missing else values
        floors = np.floor(values.astype(np.float64)) if values.dtype.kind == "f" else values
        # Compared as integers, in types of their own for either sign: floats represent neither 2**63 - 1 nor
        # 2**53 + 1, and numpy 2.0.0 may crash when it compares other byte orders with a large int.
        negative, floating = floors < 0, floors.dtype.kind == "f"
        under = floors < _INT64[0] if floating else np.False_
        over = floors >= 2.0**64 if floating else np.False_
        signed = np.where(negative & ~under, floors, 0).astype(np.int64)
        unsigned = np.where(negative | over, 0, floors).astype(np.uint64)
        below = under | (negative & (signed < self.low)) | (~negative & ~over & (unsigned < self.low))
        above = over | (negative & ~under & (signed > self.high)) | (~negative & (unsigned > self.high))
        codes = np.where(negative, signed.view(np.uint64), unsigned) - np.uint64(self.low % (1 << 64))
        codes = np.where(below, 0, np.where(above, self.high - self.low, codes)) + np.uint64(self.missing)
        codes = np.where(gaps, np.uint64(0), codes) if self.missing else codes
        return codes.astype(smallest_uint(self.size)), (~below & ~above & (floors == values)) | gaps

    def decode(self, codes: Any) -> NDArray[Any]:
        """Return the integer of each code.

        In an array of int64, of uint64 if the range has integers of 2**63 or more, of objects if it has
        negative ones too. With `missing`, NaN stands for a missing value: in a float array if floats
        represent all integers of the range, else in an object array of Python integers.
        """
        codes = np.asarray(codes, dtype=np.uint64)
        numbers: NDArray[Any] = codes - np.uint64(self.missing) + np.uint64(self.low % (1 << 64))
        if self.high <= _INT64[1]:
            numbers = numbers.view(np.int64)
        elif self.low < 0:  # no type of numpy has all of them
            negative = codes < np.uint64(self.missing - self.low)
            numbers = np.where(negative, numbers.view(np.int64).astype(object), numbers.astype(object))
        if not self.missing:
            return numbers
        exact = max(-self.low, self.high) <= _EXACT
        return np.asarray(np.where(codes == 0, np.nan, numbers if exact else numbers.astype(object)))

    def _test(self, place: int) -> str:
        value = self.low + place
        if self.outside == "refuse" and self._are_whole:
            return f"<= {self._text(value)}"
        return f"is any {self._all[:-1]}" if value >= self.high else f"< {self._text(value + 1)}"

    def _text(self, value: int) -> str:
        return str(value)

    @property
    def assumption(self) -> str:
        gaps = " or missing" if self.missing else ""
        whole = f"{self._whole} from {self._text(self.low)} to {self._text(self.high)}"
        if self.outside == "accept":
            return _ANY
        if self.outside == "clip":
            return f"values are {self._all}{gaps}; they are rounded down and clipped to {whole}"
        return f"values are {whole}{gaps}"

    @property
    def _defects(self) -> tuple[str, str]:
        if self.outside == "clip":
            return super()._defects
        ways = "outside='clip' rounds down and moves to the ends, Grid accepts decimals"
        return "beyond the ends, not whole or no number", ways


@dataclass(frozen=True, init=False, repr=False)
class Grid(_WithGaps):
    """Numbers between two bounds, rounded down to a grid of evenly spaced points.

    Parameters
    ----------
    low, high : float
        Public bounds.
    size : int, default=256
        The number of points, both bounds included; at least 2 and at most 2**32.
    outside : {"refuse", "clip", "accept"}, default="refuse"
        "refuse": a number outside the bounds is refused. "clip": it is moved to the nearest bound. "accept",
        with `missing` only: as "clip", and no cell is refused; an infinity is moved to the nearest bound, and
        any other cell counts as missing.
    missing : bool, default=False
        True if a missing value (NaN, None) has a code, below all numbers (in quantiles: see `Floats`);
        otherwise it is refused.

    Attributes
    ----------
    points : int
        The parameter `size`. (The attribute `size` is the number of codes, which includes that of a missing
        value.)

    Examples
    --------
    >>> grid = Grid(0, 10, size=11)
    >>> grid.encode([0, 0.5, 1, 10]).tolist(), grid.describe_test(1)
    ([0, 0, 1, 10], '< 2')
    """

    _with_gaps = "Grid(low, high, missing=True)"

    low: float
    high: float
    points: int
    outside: str
    missing: bool

    def __init__(
        self, low: float, high: float, size: int = 256, outside: str = "refuse", *, missing: bool = False
    ) -> None:
        lowest, highest = check_number("low", low), check_number("high", high)
        check_number("high", high, above=lowest)
        for name, bound in (("low", lowest), ("high", highest)):
            check_number(name, bound, low=-_LARGEST, high=_LARGEST)
        points = check_count("size", size, low=2, high=1 << 32)
        vars(self).update(
            low=float(lowest), high=float(highest), points=points, outside=outside, missing=missing
        )
        self._check_gaps()
        if not math.isfinite(self._scale):
            raise ValueError(
                f"high - low must be finite, and enough for {self.points} points,"
                f" got low={self.low!r} and high={self.high!r}"
            )

    @property
    def parameters(self) -> dict[str, Any]:
        given = {"low": self.low, "high": self.high, "size": self.points, "outside": self.outside}
        return given | _if_missing(self.missing)

    @property
    def size(self) -> int:
        return self.points + self.missing

    @cached_property
    def _scale(self) -> float:
        """Points per unit, rounded so that the upper bound has the last code; inf if no float is right."""
        width = self.high - self.low
        scale = (self.points - 1) / width if 0 < width < math.inf else math.inf
        while width * scale < self.points - 1:
            scale = math.nextafter(scale, math.inf)
        return scale

    def encode(self, values: Any) -> Codes:
        """Return the index of the greatest grid point not above each value; with `missing`, from 1."""
        return self._codes(values, clip=self.outside != "refuse")

    def nearest(self, values: Any) -> Codes:
        """Return the codes of the values after clipping to the bounds."""
        return self._codes(values, clip=True)

    def _codes(self, values: Any, clip: bool) -> Codes:
        if getattr(values, "dtype", None) != np.float64:
            accepted = self.outside == "accept"
            values = any_as_numbers(values) if accepted else as_numbers(values, self, missing=self.missing)
            values = values.astype(np.float64, copy=False)
        if not self.missing:
            return self._reached(values, clip)
        gaps = np.isnan(values)
        some = gaps.any()
        codes = np.asarray(self._reached(np.where(gaps, self.low, values) if some else values, clip))
        codes += codes.dtype.type(1)
        if some:
            codes[gaps] = 0
        return codes

    def _reached(self, values: NDArray[np.float64], clip: bool) -> Codes:
        """Return the index of the greatest grid point not above each number."""
        # The comparison is also False for NaN and infinities.
        if values.size and not self.low <= values.min() <= values.max() <= self.high:
            if self.outside != "accept":
                values = as_numbers(values, self)
            if not clip:
                raise self.refuse()
            values = np.clip(values, self.low, self.high)
        steps = np.subtract(values, self.low)
        steps *= self._scale
        return steps.astype(smallest_uint(self.size))

    def decode(self, codes: Any) -> NDArray[np.float64]:
        """Return the grid point of each code, NaN for a missing value.

        A grid point has this code if floats can distinguish neighbouring grid points.
        """
        wanted = np.asarray(codes).astype(np.float64) - self.missing
        gaps, wanted = wanted < 0, np.maximum(wanted, 0)
        points = np.minimum(self.low + wanted * ((self.high - self.low) / (self.points - 1)), self.high)
        while (short := self._reached(points, clip=True) < wanted).any():  # points that were rounded down
            points = np.where(short, np.nextafter(points, np.inf), points)
        return np.where(gaps, np.nan, points) if self.missing else points

    def _test(self, place: int) -> str:
        return "is any number" if place >= self.points - 1 else f"< {_shortest(self._point(place + 1))}"

    def _point(self, place: int) -> float:
        """Return the least float with a grid point's code, by bisection; it is that point up to rounding."""
        below, point = self.low, self.high
        while below < (middle := below / 2 + point / 2) < point:
            if int(self._reached(np.asarray(middle), clip=True)) < place:
                below = middle
            else:
                point = middle
        return point

    @property
    def assumption(self) -> str:
        gaps, bounds = " or missing" if self.missing else "", f"from {self.low:g} to {self.high:g}"
        if self.outside == "accept":
            return _ANY
        if self.outside == "clip":
            return (
                f"values are numbers{gaps}; they are clipped and rounded down to"
                f" {self.points} points {bounds}"
            )
        return f"values are numbers {bounds}{gaps}"

    @property
    def _defects(self) -> tuple[str, str]:
        if self.outside == "clip":
            return super()._defects
        return "beyond the bounds or no number", "outside='clip' moves to these"


@dataclass(frozen=True, kw_only=True, repr=False)
class Floats(_WithGaps):
    """All finite floats, rounded towards zero to a number of significand bits, without bounds.

    The bits of a float's magnitude, read as an integer, have the order of the magnitudes, and dropping low
    bits rounds towards zero.

    Parameters
    ----------
    significand_bits : int, default=52
        Number of significand bits that are kept after the leading one: with 0, only signs and powers of two
        are distinguished; with 52, all float64 values.
    smallest, largest : float, default: the smallest and the largest positive float64
        A public guess of the relevant magnitudes, which makes the domain smaller. Magnitudes below `smallest`
        become 0, magnitudes above `largest` become `largest`. No finite number is refused.
    missing : bool, default=False
        True if NaN has a code, below all numbers; otherwise it is refused. Infinities are refused.
        Missing values count in a quantile: if 30% of the values are missing, the quantiles up to .3 are NaN,
        and the median is the quantile 2/7 of the numbers.
    outside : {"refuse", "accept"}, default="refuse"
        "accept", with `missing` only: no cell is refused; infinities become `largest` with their sign, and
        any other cell counts as missing.


    Examples
    --------
    >>> floats = Floats(significand_bits=2, smallest=1, largest=4)
    >>> floats.size  # 0, and on each side 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4
    19
    >>> floats.encode([-4, 0.3, 1, 1.1, 1.3, 99]).tolist(), floats.describe_test(10)
    ([0, 9, 10, 10, 11, 18], '< 1.25')
    """

    _outside = ("refuse", "accept")
    _with_gaps = "Floats(missing=True)"

    significand_bits: int = 52
    smallest: float = 5e-324
    largest: float = sys.float_info.max
    missing: bool = False
    outside: str = "refuse"

    def __post_init__(self) -> None:
        check_count("significand_bits", self.significand_bits, high=52)
        smallest = check_number("smallest", self.smallest, above=0)
        check_number("smallest", smallest, low=5e-324, high=_LARGEST)
        largest = check_number("largest", self.largest, low=smallest)
        check_number("largest", largest, high=_LARGEST)
        object.__setattr__(self, "smallest", float(smallest))
        object.__setattr__(self, "largest", float(largest))
        self._check_gaps()

    @property
    def parameters(self) -> dict[str, Any]:
        given = super().parameters
        return given if self.outside == "accept" else {k: v for k, v in given.items() if k != "outside"}

    @cached_property
    def _shift(self) -> int:
        return 52 - self.significand_bits

    @cached_property
    def _first(self) -> int:
        """The rounded bits of the least positive magnitude; at least 1, since subnormals may round to 0."""
        return max(1, _bits_of(self.smallest) >> self._shift)

    @cached_property
    def _magnitudes(self) -> int:
        return (_bits_of(self.largest) >> self._shift) - self._first + 1

    @property
    def size(self) -> int:
        return 2 * self._magnitudes + 1 + self.missing

    def encode(self, values: Any) -> Codes:
        """Return the position of each rounded value in the order of all rounded values."""
        accepted = self.outside == "accept"
        values = any_as_numbers(values) if accepted else as_numbers(values, self, missing=self.missing)
        values = values.astype(np.float64, copy=False)
        bits = np.asarray(values, order="C").view(np.int64)
        steps = np.bitwise_and(bits, _INT64[1], out=np.empty_like(bits))
        steps >>= self._shift
        np.clip(steps, self._first - 1, self._first + self._magnitudes - 1, out=steps)
        steps -= self._first - 1
        sign = bits >> 63  # 0 or -1
        steps ^= sign
        steps -= sign
        # Codes may exceed 2**63: the addition is of unsigned numbers, modulo 2**64.
        codes = steps.view(np.uint64)
        codes += np.uint64(self._magnitudes + self.missing)
        if self.missing:
            codes[np.isnan(values)] = 0
        return codes.astype(smallest_uint(self.size), copy=False)

    nearest = encode

    def decode(self, codes: Any) -> NDArray[np.float64]:
        """Return the rounded number of each code, NaN for a missing value."""
        codes = np.asarray(codes, dtype=np.uint64)
        above = codes > self._magnitudes + self.missing
        steps = codes - np.uint64(self._magnitudes + self.missing)  # modulo 2**64: negative ones wrap
        steps = np.where(above, steps, ~steps + np.uint64(1)).view(np.int64)
        bits = np.where(steps > 0, (self._first - 1 + steps) << self._shift, 0)
        numbers: NDArray[np.float64] = np.where(above, 1.0, -1.0) * bits.view(np.float64)
        numbers = np.where(steps == 0, 0.0, numbers)
        return np.where(codes == 0, np.nan, numbers) if self.missing else numbers

    def _test(self, place: int) -> str:
        step = place - self._magnitudes
        if step >= self._magnitudes:
            return "is any number"
        if step >= 0:
            return f"< {_shortest(self._magnitude(step + 1))}"
        return f"<= {_shortest(-self._magnitude(-step))}"

    def at_integers(self, code: int) -> int:
        if not self.missing <= code < self.size - 1:
            return code
        if code < self._magnitudes + self.missing:  # "<= value"
            return int(self.encode(np.floor(self.decode([code])))[0])
        return int(self.encode(np.ceil(self.decode([code + 1])))[0]) - 1  # "< value"

    def _magnitude(self, step: int) -> float:
        bits = (self._first - 1 + step) << self._shift
        return float(np.array(bits, dtype=np.int64).view(np.float64))

    @property
    def assumption(self) -> str:
        if self.outside == "accept":
            return _ANY
        return "values are finite numbers" + (" or missing" if self.missing else "")


def _if_missing(missing: bool) -> dict[str, bool]:
    """Return the parameter `missing` as a dict if it is True, else an empty dict."""
    return {"missing": True} if missing else {}


def _shortest(value: float) -> str:
    return repr(value).removesuffix(".0")


def _bits_of(value: float) -> int:
    return int(np.float64(value).view(np.int64))


_LARGEST_SIZE = 1 << 65_536


@dataclass(frozen=True)
class LargeIntegerRange(NumberDomain):
    """The integers low..high, at most 2**65536 of them, with Python integers as codes.

    Parameters
    ----------
    low, high : int
        Public ends, both included.

    Examples
    --------
    >>> LargeIntegerRange(-(2**100), 2**100).decode([0]).tolist() == [-(2**100)]
    True
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            end = getattr(self, name)
            if isinstance(end, bool) or not isinstance(end, Integral):
                raise TypeError(f"{name} must be an integer, got {type(end).__name__}")
            object.__setattr__(self, name, int(end))
        if not 0 <= self.high - self.low < _LARGEST_SIZE:
            raise ValueError(f"high must be at least low, and less than 2**65536 above it, in {self!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_power_text(self.low)}, {_power_text(self.high)})"

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def encode(self, values: Any) -> Codes:
        """Return value - low, in an array of Python integers."""
        cells = self._cells(values)
        if not all(self.low <= cell <= self.high for cell in cells.ravel().tolist()):
            raise self.refuse()
        return cells - self.low

    def nearest(self, values: Any) -> Codes:
        """Return value - low, after clipping the value to the range."""
        cells = self._cells(values)
        moved = [min(max(cell, self.low), self.high) - self.low for cell in cells.ravel().tolist()]
        return object_array(moved).reshape(cells.shape)

    def decode(self, codes: Any) -> NDArray[Any]:
        """Return low + code, in an array of Python integers."""
        codes = np.asarray(codes, dtype=object)
        return object_array([self.low + int(code) for code in codes.ravel().tolist()]).reshape(codes.shape)

    def _cells(self, values: Any) -> NDArray[Any]:
        """Return Python integers; floats are refused, also whole ones, because they may have lost digits."""
        array = as_cells(values)
        cells = array.ravel().tolist()
        read: list[int] = []
        with suppress(Exception):  # an arbitrary cell may raise any error, which may quote the cell
            read = [int(cell) for cell in cells if _is_integer(cell)]
        if array.dtype.kind not in "iuO" or len(read) < len(cells):
            raise self.refuse()
        return object_array(read).reshape(array.shape)

    def describe_test(self, code: int) -> str:
        """Return '<= value'."""
        return f"<= {_power_text(self.low + code)}"

    @property
    def _not_moved(self) -> str:
        moved = "an integer would be moved to the nearest"
        return f"{moved}; this one is missing, or no integer: {FILL_OR_LEAVE_OUT}"

    @property
    def assumption(self) -> str:
        return f"values are integers from {_power_text(self.low)} to {_power_text(self.high)}"


def _is_integer(cell: Any) -> bool:
    return isinstance(cell, Integral) and is_number(cell) and not isinstance(cell, bool)


def _power_text(number: int) -> str:
    """Return an integer as text: in decimal up to 64 bits, then near a power of two, else in hexadecimal."""
    if abs(number) < 1 << 64:
        return str(number)
    for power in (number.bit_length() - 1, number.bit_length()):
        rest = abs(number) - (1 << power)
        if abs(rest) < 1 << 16:
            text = f"2**{power}" + (f" {'+' if rest > 0 else '-'} {abs(rest)}" if rest else "")
            return text if number > 0 else f"-({text})"
    return hex(number)
