"""Dates and times as a domain of numbers: whole numbers of steps, such as days, since 1970-01-01."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn._writing import brief
from dplearn.domains.base import Codes
from dplearn.domains.cells import as_cells, is_number, object_array
from dplearn.domains.numbers import IntegerRange

_UNITS = {
    "D": 86_400 * 10**9,
    "h": 3600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 1000,
    "ns": 1,
}
_STEP = re.compile(r"([1-9]\d{0,8})?(D|h|m|s|ms|us|ns)")
_EPOCH = datetime(1970, 1, 1)
_MOST = (1 << 63) - 1
#: Steps of learned domains.
_LENGTHS = ("s", "15s", "m", "15m", "h", "6h", "D", "7D", "28D", "364D", "3640D")


@dataclass(frozen=True, init=False, repr=False)
class Dates(IntegerRange):
    """Dates, or times of any date, between two ends, rounded down to whole steps.

    Parameters
    ----------
    low, high : date, datetime, datetime64, str or int
        Public ends, both included. A text is a date or time in ISO 8601, such as "2020-01-31" or
        "2020-01-31T09:30"; an integer is a number of steps, and if `low` is one they are since 1970-01-01.
    step : str, default="D"
        The steps: days "D", hours "h", minutes "m", seconds "s", "ms", "us", "ns", or several, such as "7D"
        or "15m", of which the first begins at `low`, rounded down to a whole day, hour, ...
    outside : {"refuse", "clip", "accept"}, default="refuse"
        "refuse": a date outside the range is refused. "clip": it is moved to the nearest end. "accept", with
        `missing` only: as "clip", and no cell is refused; a cell that is no date counts as missing.
    missing : bool, default=False
        True if a missing value (NaT, NaN, None) has a code, below all dates; otherwise it is refused.

    Notes
    -----
    Cells are dates and times of Python, numpy, pandas, polars or Arrow, texts in ISO 8601, and numbers of
    steps since `first` units after 1970-01-01. Times with a zone are read in UTC. `times` turns `decode`'s
    numbers into datetime64.

    Examples
    --------
    >>> from dplearn.domains import Dates
    >>> days = Dates("2020-01-01", "2024-12-31")
    >>> days.encode(["2020-01-01", "2020-01-02T12:00"]).tolist(), days.describe_test(1)
    ([0, 1], '< 2020-01-03')
    >>> days.times(days.decode([1])).tolist()
    [datetime.date(2020, 1, 2)]
    """

    _with_gaps = "Dates(low, high, missing=True)"

    _all = _whole = "dates"
    _are_whole = False  # times are rounded down

    step: str = "D"
    first: int = 0  # units, less than a step

    def __init__(
        self, low: Any, high: Any, step: str = "D", outside: str = "refuse", *, missing: bool = False
    ) -> None:
        if not isinstance(step, str) or not _STEP.fullmatch(step):
            raise ValueError(
                f"step must be D, h, m, s, ms, us or ns, or several, such as 15m, got {brief(step)}"
            )
        object.__setattr__(self, "step", step)
        if self._length[0] > 1 and not is_number(low):
            object.__setattr__(self, "first", Dates(low, low, self._length[1]).low % self._length[0])
        super().__init__(self._end("low", low), self._end("high", high), outside, missing=missing)
        object.__setattr__(self, "numeric", False)  # no array of floats holds times

    @property
    def misreads_text(self) -> bool:
        """False: texts are read as dates."""
        return False

    @property
    def parameters(self) -> dict[str, Any]:
        low, high = self.texts([self.low, self.high])
        given = super().parameters | {"low": low, "high": high}
        return {"low": low, "high": high, "step": self.step} | given

    @property
    def _length(self) -> tuple[int, str]:
        found = _STEP.fullmatch(self.step)
        assert found is not None
        return int(found[1] or 1), found[2]

    @property
    def _unit(self) -> int:
        return _UNITS[self._length[1]]

    def _in_steps(self, units: Any) -> Any:
        """Return numbers of units since 1970-01-01 in steps, rounded down."""
        return (units - self.first) // self._length[0]

    def _end(self, name: str, end: Any) -> int:
        with suppress(TypeError, ValueError, AttributeError, OverflowError):
            return check_count("step", self._step_of(end), low=-_MOST, high=_MOST)
        raise ValueError(f"{name} must be a date, a time, or a text such as '2020-01-31', got {brief(end)}")

    def encode(self, values: Any) -> Codes:
        """Return the number of steps of each date since the first one; with `missing`, 0 is missing."""
        return self._read(values, super().encode)

    def nearest(self, values: Any) -> Codes:
        """Return the codes of the nearest dates in the range."""
        return self._read(values, super().nearest)

    def _read(self, values: Any, encode: Any) -> Codes:
        cells = as_cells(values)
        if cells.dtype.kind in "OU":
            flat = cells.ravel().tolist()
            if all(type(cell) is np.datetime64 for cell in flat) and len({cell.dtype for cell in flat}) == 1:
                # An array of dates: each gets the step that it has by itself.
                return self._read(cells.astype(flat[0].dtype), encode)
            steps = [self._step_or_cell(cell) for cell in flat]
            return encode(object_array(steps).reshape(cells.shape))
        if cells.dtype.kind != "M":
            return encode(cells)
        gaps = np.isnat(cells)
        units = _steps(cells, self._unit).clip(self.first - _MOST)
        codes: Codes = encode(np.where(gaps, np.int64(self.low), self._in_steps(units)))
        if gaps.any() and not self.missing:
            raise self.refuse()
        codes[gaps] = 0
        return codes

    def _step_or_cell(self, cell: Any) -> Any:
        try:
            return self._step_of(cell)
        except Exception:  # an arbitrary cell may raise any error
            return cell

    def _step_of(self, cell: Any) -> Any:
        if cell is None or is_number(cell):
            return cell
        if isinstance(cell, str):
            cell = datetime.fromisoformat(cell.strip())
        if hasattr(cell, "to_datetime64"):  # of pandas
            cell = cell.to_datetime64()
        if isinstance(cell, np.datetime64):
            return None if np.isnat(cell) else self._in_steps(int(_steps(np.array(cell), self._unit)))
        if isinstance(cell, date) and not isinstance(cell, datetime):
            cell = datetime(cell.year, cell.month, cell.day)
        if cell.tzinfo is not None:
            cell = cell.astimezone(UTC).replace(tzinfo=None)
        return self._in_steps((cell - _EPOCH) // timedelta(microseconds=1) * 1000 // self._unit)

    def times(self, numbers: Any) -> NDArray[np.datetime64]:
        """Return numbers of steps since 1970-01-01 as datetime64, and NaN as NaT.

        Parameters
        ----------
        numbers : array-like of int or float
            Whole numbers, or NaN, such as `decode` returns.

        Returns
        -------
        ndarray of datetime64 of the same shape
        """
        count, unit = self._length
        array = np.asarray(numbers)
        gaps = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=bool)
        whole = np.where(gaps, 0, array).astype(np.int64) * count + self.first
        found = whole.view(f"datetime64[{unit}]")
        found[gaps] = "NaT"
        return found

    def texts(self, numbers: Iterable[Any]) -> list[str]:
        """Return numbers of steps as dates in ISO 8601."""
        return np.datetime_as_string(self.times(np.asarray(numbers))).tolist()

    def _text(self, value: int) -> str:
        return self.texts([value])[0]

    @property
    def _defects(self) -> tuple[str, str]:
        if self.outside == "clip":
            return "no date", ""
        return (
            "beyond the ends or no date",
            "times with a zone are read in UTC, outside='clip' moves to the ends",
        )


def everything(step: str) -> Dates:
    """Return the domain of all dates of Python in steps, which accepts all cells."""
    return Dates("0001-01-01", "9999-12-31", step, "accept", missing=True)


def covering(unit: str, first: int, last: int, points: float) -> Dates:
    """Return the domain between two numbers of steps of a unit, in steps so long that these are few."""
    every = everything(unit)
    low, high = every.times([min(max(end, every.low), every.high) for end in (first, last)])
    for step in _LENGTHS[_LENGTHS.index(unit) :]:
        of = Dates(0, 0, step)._step_of  # since 1970-01-01
        found = Dates(of(low), of(high), step, "accept", missing=True)
        if found.size <= points:
            break
    return found


def _steps(times: NDArray[np.datetime64], nanoseconds: int) -> NDArray[np.int64]:
    """Return times of any unit as whole numbers of steps, rounded down, those of NaT arbitrary."""
    unit, count = np.datetime_data(times.dtype)
    if unit not in _UNITS:
        # Of years, months or weeks; or finer than nanoseconds.
        unit, count = "ns" if unit in ("ps", "fs", "as") else "D", 1
        times = times.astype(f"datetime64[{unit}]")
    factor = Fraction(count * _UNITS[unit], nanoseconds)
    ticks = times.astype(times.dtype.newbyteorder("="), copy=False).view(np.int64)
    most = _MOST // factor.numerator  # beyond it a step is beyond all ends
    return np.asarray(ticks.clip(-most, most) * np.int64(factor.numerator) // np.int64(factor.denominator))
