"""Conversion of cells of any type into a numeric array."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains.base import Domain
from dplearn.domains.cells import exact_cells, is_missing, is_number

_LARGEST = sys.float_info.max


def as_numbers(values: Any, domain: Domain, missing: bool = False) -> NDArray[Any]:
    """Return cells as a numeric array without infinities, and without NaN unless `missing`.

    `domain`: the domain whose error is raised. `missing`: True if NaN and other missing values are allowed.
    Result: of an integer or float dtype.
    """
    array = exact_cells(values)
    readable = True
    if array.dtype.kind == "O":
        try:
            cells = [_as_float(cell, missing) for cell in array.ravel().tolist()]
            array = np.array(cells, dtype=np.float64).reshape(array.shape)
        except Exception:  # an arbitrary cell may raise any error
            readable = False
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if not readable or array.dtype.kind not in "iuf":
        raise domain.refuse()
    if array.dtype.kind == "f" and array.size and not _is_finite(array, missing):
        raise domain.refuse()
    return array


def any_as_numbers(values: Any) -> NDArray[Any]:
    """Return cells of any kind as a numeric array; no cell is refused.

    Result: integers unchanged; else float64 without infinities: an infinity becomes the largest float of its
    sign, and NaN stands for a missing value and for a cell that is no number, such as text.
    """
    array = exact_cells(values)
    if array.dtype.kind in "iub":
        return array.astype(np.uint8) if array.dtype.kind == "b" else array
    if array.dtype.kind == "O":
        cells = [any_as_number(cell) for cell in array.ravel().tolist()]
        array = np.array(cells, dtype=np.float64).reshape(array.shape)
    if array.dtype.kind != "f":
        return np.full(array.shape, np.nan)
    return np.clip(array.astype(np.float64, copy=False), -_LARGEST, _LARGEST)


def any_as_number(cell: Any) -> float:
    """Return a cell of any kind as `any_as_numbers` does in an array of objects."""
    try:
        number = _as_float(cell, missing=True)
    except Exception:  # an arbitrary cell may raise any error
        return math.nan
    return math.copysign(_LARGEST, number) if math.isinf(number) else number


def _as_float(cell: Any, missing: bool) -> float:
    if missing and is_missing(cell):
        return math.nan
    if not is_number(cell):
        raise TypeError("no number; text is not converted")
    try:
        number = float(cell)
    except OverflowError:
        number = math.inf if cell > 0 else -math.inf
    if math.isinf(number) and cell != number:
        return math.copysign(_LARGEST, number)  # a finite number above the largest float
    return number


def _is_finite(array: NDArray[Any], missing: bool) -> bool:
    """Return True if no element is infinite nor, unless `missing`, NaN."""
    return not np.isinf(array).any() if missing else bool(np.isfinite(array).all())
