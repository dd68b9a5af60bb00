"""Private targets of regression, encoded as integers on a public grid over their declared range.

>>> target = TargetRange.of((0, 100))
>>> codes = read_target([0, 50, 99.5], 3, target)
>>> codes.tolist()
[-65536, 0, 64881]
>>> target.decode(codes / STEPS).round(3).tolist()
[0.0, 50.0, 99.5]
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_bool, check_number, shown
from dplearn.domains import DomainError
from dplearn.domains.cells import as_numbers, cell_type, column_type, holds_times, in_units, is_frame, is_text
from dplearn.domains.numbers import Floats
from dplearn.kernels.float_errors import ignores_float_errors
from dplearn.records.reading import label_cells

#: The code of the upper bound; that of the lower bound is its negative. A step is 2**-16 of half the range.
STEPS = 1 << 16

#: Bounds are at most so great, and at least so far apart: no square of a target overflows or vanishes.
_GREATEST, _CLOSEST = 1e100, 1e-100
_NOT_FINITE = (
    "Input y contains NaN, infinity or a value that is not a number, and a regressor predicts numbers; drop"
    " records without a target if their number may be public"
)
_ONE_TARGET = "; a regressor predicts one target: fit a regressor to each, with a share of the budget"


@dataclass(frozen=True)
class TargetRange:
    """The declared range of a target, low < high; with `clip` one outside is moved to the nearest bound."""

    low: float
    high: float
    clip: bool = False

    @classmethod
    def of(cls, bounds: Any, *, clip: Any = False) -> "TargetRange":
        """Return the range, given a learner's parameters `target_range` and `clip_target`."""
        pair = isinstance(bounds, (Sequence, np.ndarray)) and not isinstance(bounds, (str, bytes))
        if not pair or len(bounds) != 2:
            raise ValueError(
                "target_range must be a pair (low, high) of public bounds on y, known without looking at the"
                " data, or 'learn'; in a search, which compares fits on one range, it must be a pair; got"
                f" {shown(bounds)}"
            )
        check_bool("clip_target", clip)
        given = f"got ({shown(bounds[0])}, {shown(bounds[1])})"
        low, high = (check_number("target_range", bound) for bound in bounds)
        if low >= high:
            raise ValueError(f"target_range must be a pair (low, high) with low < high, {given}")
        if max(abs(low), abs(high)) > _GREATEST or float(high) - float(low) < _CLOSEST:
            raise ValueError(
                f"target_range must be a pair (low, high) of magnitudes up to {_GREATEST:g} that are at least"
                f" {_CLOSEST:g} apart, {given}"
            )
        return cls(float(low), float(high), bool(clip))

    @property
    def middle(self) -> float:
        """The middle of the range."""
        return self.low / 2 + self.high / 2

    @property
    def half(self) -> float:
        """Half the width of the range."""
        return self.high / 2 - self.low / 2

    @property
    def assumption(self) -> str:
        """The precondition on the target, as listed in a guarantee."""
        ends = f"from {self.low} to {self.high}"
        if self.clip:
            return f"targets are numbers; they are clipped to the range {ends}"
        return f"targets are numbers {ends}"

    def too_wide(self, count: str) -> str:
        """Return the warning of a fit whose released residuals are within its noise."""
        return (
            f"{count}: the released spread of the residuals is within the noise of the fit,"
            f" which is proportional to the width of target_range=({self.low:g}, {self.high:g}), and"
            " predictions may be useless; declare a range that fits the targets, if it is known without"
            " looking at the data, with clip_target=True for the few targets beyond it, or use more records"
            " or a larger epsilon"
        )

    def decode(self, scaled: Any) -> NDArray[np.float64]:
        """Return targets, given numbers on the scale on which the range is [-1, 1]."""
        return np.asarray(self.middle + self.half * np.asarray(scaled, dtype=np.float64))

    @ignores_float_errors
    def encode(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the code of each finite number, from -STEPS to STEPS; refuse others outside, unless `clip`.

        A code is a function of its own number, and is compared with the bounds as an integer. Numbers beyond
        a bound by at most half a step, such as a rounded float32, have the code of the bound.
        """
        steps = np.rint((numbers.astype(np.float64) - self.middle) / self.half * STEPS)
        codes = steps.clip(-STEPS - 1, STEPS + 1).astype(np.int64)
        if not self.clip and (np.abs(codes) > STEPS).any():
            raise DomainError(
                f"y holds a target outside target_range=({self.low}, {self.high}); clip_target=True moves"
                " such targets to the nearest bound"
            )
        return codes.clip(-STEPS, STEPS)


def read_target(y: Any, n: int, target: TargetRange) -> NDArray[np.int64]:
    """Return the code of each record's target, from -STEPS for the lower bound to STEPS for the upper one."""
    return target.encode(read_numbers(y, n))


def read_numbers(y: Any, n: int) -> NDArray[Any]:
    """Return targets as finite numbers, not compared with a range yet."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if holds_times(_type_of(y)):
        raise DomainError(f"y must hold numbers, got {in_units(_type_of(y))}")
    if is_text(cell_type(_type_of(y))):
        raise DomainError(
            f"y must hold numbers, got a type of text, {_type_of(y)}: a regressor predicts numbers, and a"
            " classifier labels; numbers written as text become numbers by y.astype(float)"
        )
    cells = label_cells(y, what="targets", several=_ONE_TARGET)
    if len(cells) != n:
        raise ValueError(f"X and y must have equal numbers of samples, got {n} and {len(cells)}")
    numbers = None
    with suppress(DomainError):  # the error below must not have one about a column of X as its context
        numbers = as_numbers(cells, Floats())
    if numbers is None:
        raise DomainError(_NOT_FINITE)
    return numbers


def _type_of(y: Any) -> Any:
    """Return the public type of targets; None if they have none, as in a list."""
    return column_type(y, 0) if is_frame(y) and y.shape[1] == 1 else getattr(y, "dtype", None)
