"""Counts of distinct integers in an array, positions of equal elements, and checks of integer arrays."""

from contextlib import suppress
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 15  # elements of a block, so that its copy fits into the cache
_DENSE = 1 << 22  # widest range of values that is counted by one histogram


def distinct_values(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values, at least one, increasing; `np.unique` takes ten times as long."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])]


def group_counts(values: NDArray[Any]) -> tuple[list[int], list[int]]:
    """Return the distinct values, at least one, increasing, and their counts, as Python integers."""
    low, high = int(values.min()), int(values.max())
    if high - low >= _DENSE:
        found, counts = np.unique(values, return_counts=True)
        return found.tolist(), counts.tolist()
    counts = np.zeros(high - low + 1, dtype=np.int64)
    step = max(_BLOCK, counts.size)
    for start in range(0, values.size, step):
        # bincount requires intp: a conversion by blocks keeps the copy in the cache.
        block = values[start : start + step]
        # Narrow types could overflow in the subtraction, and uint64 in the conversion.
        block = (block if block.dtype.itemsize == 8 else block.astype(np.intp)) - low
        part = np.bincount(block.astype(np.intp, copy=False))
        counts[: part.size] += part
    occurring = np.flatnonzero(counts)
    return [low + place for place in occurring.tolist()], counts[occurring].tolist()


def nth_equal(values: NDArray[Any], value: int, index: int) -> int:
    """Return the position of the `index`-th element (from 0) that equals `value`."""
    seen = 0
    for start in range(0, values.size, 1 << 20):
        positions = np.flatnonzero(values[start : start + (1 << 20)] == value)
        if index < seen + positions.size:
            return start + int(positions[index - seen])
        seen += positions.size
    raise IndexError("fewer elements equal the value than the index asks for")


def check_integers(name: str, values: Any) -> NDArray[Any]:
    """Return `values` if it is a nonempty one-dimensional array of integers; errors do not show them."""
    array = np.asarray(values)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be a nonempty one-dimensional array of integers")
    return array


def near_integers(name: str, values: Any, low: int, high: int) -> NDArray[np.int64]:
    """Return integers, also Python's of any size, as a new int64 array clipped to low..high."""
    message = f"{name} must be a one-dimensional array of integers"
    if not isinstance(values, np.ndarray):
        listed = values if np.iterable(values) else [None]
        return np.array([max(low, min(_integer(value, message), high)) for value in listed], dtype=np.int64)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise TypeError(message)
    near = np.minimum(values, np.uint64(max(high, 0))) if values.dtype.kind == "u" else values
    return np.asarray(near.astype(np.int64, copy=False).clip(low, high), dtype=np.int64)


def _integer(value: Any, message: str) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(message)
    with suppress(TypeError):  # it could quote the value as the context of the error below
        return index(value)
    raise TypeError(message)
