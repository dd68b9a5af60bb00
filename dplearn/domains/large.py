"""A domain of integers with more than 64 bits, for algorithms whose accuracy depends little on the domain's
size.

>>> huge = LargeIntegerRange(0, 2**1000)
>>> huge.encode([5, 2**999]).tolist() == [5, 2**999]
True
"""

from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains.base import FILL_OR_LEAVE_OUT, Codes, NumberDomain
from dplearn.domains.cells import as_cells, is_number, object_array

__all__ = ["LargeIntegerRange"]

_LARGEST = 1 << 65_536


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
        if not 0 <= self.high - self.low < _LARGEST:
            raise ValueError(f"high must be at least low, and less than 2**65536 above it, in {self!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_written(self.low)}, {_written(self.high)})"

    @property
    def size(self) -> int:
        """The number of integers."""
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
        return f"<= {_written(self.low + code)}"

    @property
    def _not_moved(self) -> str:
        moved = "an integer would be moved to the nearest"
        return f"{moved}; this one is missing, or no integer: {FILL_OR_LEAVE_OUT}"

    @property
    def assumption(self) -> str:
        """The precondition on the column, as listed in a guarantee."""
        return f"values are integers from {_written(self.low)} to {_written(self.high)}"


def _is_integer(cell: Any) -> bool:
    return isinstance(cell, Integral) and is_number(cell) and not isinstance(cell, bool)


def _written(number: int) -> str:
    """Return an integer as text: in decimal up to 64 bits, then near a power of two, else in hexadecimal."""
    if abs(number) < 1 << 64:
        return str(number)
    for power in (number.bit_length() - 1, number.bit_length()):
        rest = abs(number) - (1 << power)
        if abs(rest) < 1 << 16:
            text = f"2**{power}" + (f" {'+' if rest > 0 else '-'} {abs(rest)}" if rest else "")
            return text if number > 0 else f"-({text})"
    return hex(number)
