"""Turn vectors by public signs and a Walsh-Hadamard transform, one coordinate at a time or back.

>>> row = np.array([[3, 0, 0]])
>>> [int(turned_coordinate(row, np.array([j]))[0]) for j in range(turned_size(3))]
[-3, -3, -3, -3]
>>> unturned(np.array([-3.0, -3.0, -3.0, -3.0]), 3).tolist()
[3.0, 0.0, 0.0]
"""

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

__all__ = ["turned_coordinate", "turned_size", "unturned"]

_LARGEST = 1 << 13


def turned_size(size: int) -> int:
    """Return how many coordinates a turned vector has: the next power of two."""
    turned = 1 << max(size - 1, 0).bit_length()
    if turned > _LARGEST:
        raise ValueError(f"size must be at most {_LARGEST}, got {size}")
    return turned


def turned_coordinate(rows: NDArray[np.int64], picked: NDArray[Any]) -> NDArray[np.int64]:
    """Return coordinate picked[i] of row i, turned.

    Parameters
    ----------
    rows : ndarray of int of shape (n, size)
    picked : ndarray of int of shape (n,)
        From 0 to turned_size(size) - 1.

    Returns
    -------
    ndarray of int64 of shape (n,)
        Sums of the row's numbers with signs + or -.
    """
    turn = _turn(rows.shape[1])
    signs = turn[np.asarray(picked, dtype=np.intp)]
    return np.asarray(np.einsum("ij,ij->i", rows, signs, dtype=np.int64))


def unturned(turned: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Return the vector of `size` numbers whose turned coordinates come nearest to those given."""
    turn = _turn(size)
    return np.asarray(turn.T @ turned / len(turn), dtype=np.float64)


@lru_cache(maxsize=8)
def _turn(size: int) -> NDArray[np.int8]:
    """Return signs of shape (turned_size(size), size): a Hadamard matrix, its columns' signs mixed up."""
    full = hadamard(turned_size(size), dtype=np.int8)[:, :size]
    # Public and fixed, with no pattern that data have.
    stream = hashlib.shake_128(b"signs of turned vectors").digest(-(-size // 8))
    flips = 1 - 2 * np.unpackbits(np.frombuffer(stream, dtype=np.uint8))[:size].astype(np.int8)
    signs: NDArray[np.int8] = full * flips
    signs.flags.writeable = False
    return signs
