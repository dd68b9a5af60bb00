"""Packing of bits into words: column j of a row is bit j % 64, counted from the lowest, of its word j // 64.

>>> packed(np.array([[True] + 64 * [False] + [True]])).tolist()
[[1, 2]]
>>> read_bits(np.array([[6]], dtype=np.uint64), 4).tolist()
[[0, 1, 1, 0]]
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ALL", "WORD", "Words", "low_bits", "n_words", "packed", "read_bits"]

Words = NDArray[np.uint64]

WORD = np.dtype("<u8")  # little-endian, so that the bytes have the order of the bits on any machine
ALL = (1 << 64) - 1  # a word of ones

_CELLS = 1 << 18  # number of bits packed or read in one block, few enough for the cache


def n_words(n_columns: int) -> int:
    """Return the number of words for `n_columns` bits."""
    return -(-n_columns // 64)


def low_bits(count: int) -> np.uint64:
    """Return the word with its `count` lowest bits set, for a count from 0 to 64."""
    return np.uint64((1 << count) - 1)


def packed(bits: NDArray[Any]) -> Words:
    """Return the words of a matrix of bits, with zeros beyond its last column.

    Parameters
    ----------
    bits : ndarray of bool or int of shape (n_rows, n_columns)
        Each 0 or 1.

    Returns
    -------
    ndarray of uint64 of shape (n_rows, n_words)

    Raises
    ------
    TypeError
        If `bits` is of another type.
    ValueError
        If an integer is neither 0 nor 1. The message does not show it.
    """
    if bits.size and bits.dtype.kind not in "biu":
        raise TypeError("bits must be booleans or the integers 0 and 1")
    n_rows, n_columns = bits.shape
    words = np.empty((n_rows, n_words(n_columns)), dtype=WORD)
    step = max(1, _CELLS // max(1, 64 * words.shape[1]))
    cells = np.zeros((min(step, n_rows), 64 * words.shape[1]), dtype=np.uint8)
    for start in range(0, n_rows if n_columns else 0, step):
        part = bits[start : start + step]
        if bits.dtype.kind != "b" and (part.max() > 1 or part.min() < 0):
            raise ValueError("bits must be 0 or 1")
        block = cells[: len(part)]
        block[:, :n_columns] = part
        words[start : start + step] = (
            np.packbits(block.reshape(-1), bitorder="little").view(WORD).reshape(len(part), -1)
        )
    return words


def read_bits(words: Words, n_columns: int) -> NDArray[np.uint8]:
    """Return the first columns of a matrix in words, as 0/1 integers.

    Parameters
    ----------
    words : ndarray of uint64 of shape (n_rows, n_words)
        Bits beyond the first `n_columns` columns are ignored.
    n_columns : int
        At most 64 * n_words.

    Returns
    -------
    ndarray of uint8 of shape (n_rows, n_columns)
    """
    used = words[:, : n_words(n_columns)]
    bits = np.empty((len(words), n_columns), dtype=np.uint8)
    step = max(1, _CELLS // max(1, n_columns))
    for start in range(0, len(words) if n_columns else 0, step):
        part = np.ascontiguousarray(used[start : start + step])
        cells = np.unpackbits(part.reshape(-1).view(np.uint8), bitorder="little")
        bits[start : start + step] = cells.reshape(len(part), -1)[:, :n_columns]
    return bits
