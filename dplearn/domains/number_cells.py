"""Cells as an array of numbers, whatever they came as."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains.base import Domain
from dplearn.domains.cells import as_cells, is_missing, is_number

__all__ = ["as_numbers"]

_LARGEST = sys.float_info.max


def as_numbers(values: Any, domain: Domain, missing: bool = False) -> NDArray[Any]:
    """Return a numeric array without infinities, and without NaN unless `missing`.

    Raised outside the `except` blocks, so that no error carries another that quotes a cell.
    """
    array = as_cells(values)
    readable = True
    if array.dtype.kind == "O":
        try:
            cells = [_as_float(cell, missing) for cell in array.ravel().tolist()]
            array = np.array(cells, dtype=np.float64).reshape(array.shape)
        except Exception:  # a cell of any kind may do anything when asked for its value
            readable = False
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if not readable or array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise domain.refuse()
    if array.dtype.kind == "f" and array.size and not _is_finite(array, missing):
        raise domain.refuse()
    return array


def _as_float(cell: Any, missing: bool) -> float:
    if missing and is_missing(cell):
        return math.nan
    if not is_number(cell):
        raise TypeError("no number; whether text can be read as one is for the caller to say")
    try:
        number = float(cell)
    except OverflowError:
        number = math.inf if cell > 0 else -math.inf
    if math.isinf(number) and cell != number:
        return math.copysign(_LARGEST, number)  # finite, though no float is as large
    return number


def _is_finite(array: NDArray[Any], missing: bool) -> bool:
    """Return True if no element is infinite nor, unless `missing`, NaN."""
    return not np.isinf(array).any() if missing else bool(np.isfinite(array).all())
