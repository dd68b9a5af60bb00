"""Products over GF(2), some rows at a time: the method of the four Russians.

A row of the product of A and B is the sum of those rows of B whose bit is set in A's. Of eight rows of B all
256 sums are written into a table, each with one addition, and looked up by a byte of A; of four, where A has
too few rows to be worth the table. The words are looked up and added in blocks of rows that the cache holds.
A product with few columns is made bit by bit: each tells whether two rows share an odd number of bits.

>>> total = np.zeros((2, 1), dtype=np.uint64)
>>> add_product(total, np.array([[3], [2]], dtype=np.uint64), np.array([[5], [6]], dtype=np.uint64))
>>> total.tolist()
[[3], [6]]
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.gf2.words import ALL, WORD, Words

__all__ = ["add_product", "add_rows"]

_BLOCK = 1 << 15  # words that are looked up at a time: they and as many more stay in the cache
_WIDTH = 128  # words of a row at a time: so wide are the tables that stay there
_MANY = 200  # rows from which on tables of 256 sums cost less than twice as many of 16
_FEW = 6  # columns up to which a product is made bit by bit


def add_product(total: Words, left: Words, right: Words) -> None:
    """Add the product of two matrices to a third.

    Parameters
    ----------
    total : ndarray of uint64 of shape (n, width)
        Is changed.
    left : ndarray of uint64 of shape (n, n_words)
        Bits beyond the rows of `right` are not looked at.
    right : ndarray of uint64 of shape (m, width)
        For m at most 64 * n_words.
    """
    columns = _columns(right)
    if columns is not None:
        _add_bits(total, left, right, columns)
        return
    for word in range(-(-len(right) // 64)):
        add_rows(total, np.ascontiguousarray(left[:, word]), right[64 * word : 64 * word + 64])


def add_rows(total: Words, choices: Words, rows: Words, used: int = ALL) -> None:
    """Add to each row of a matrix the sum of some of at most 64 other rows.

    Parameters
    ----------
    total : ndarray of uint64 of shape (n, width)
        Is changed.
    choices : ndarray of uint64 of shape (n,)
        Bit j tells whether rows[j] is in the sum. Contiguous.
    rows : ndarray of uint64 of shape (m, width)
        For m at most 64.
    used : int
        Only these bits are set in choices, or the others' rows are 0.
    """
    n, width = total.shape
    if not (n and width and len(rows)):
        return
    columns = _columns(rows)
    if columns is not None:
        _add_bits(total, choices[:, None], rows, columns)
        return
    size = 8 if n > _MANY else 4
    groups = [i for i in range(-(-len(rows) // size)) if used >> size * i & (1 << size) - 1]
    if not groups:
        return
    digits = choices.view(np.uint8).reshape(n, 8).T
    if size == 4:
        digits = np.stack([digits & 15, digits >> 4], axis=1).reshape(16, n)
    places = (digits if len(groups) == len(digits) else digits[groups]).astype(np.intp, order="C")
    places *= len(groups)
    places += np.arange(len(groups))[:, None]
    for start in range(0, width, _WIDTH):
        part = slice(start, start + _WIDTH)
        _add_looked_up(total[:, part], places, _sums(rows[:, part], groups, size))


def _sums(rows: Words, groups: list[int], size: int) -> Words:
    """Return all sums of each group of so many rows; sum s of the i-th is in row s * len(groups) + i."""
    missing = -len(rows) % size
    whole = np.pad(rows, ((0, missing), (0, 0))) if missing else rows
    members = whole.reshape(-1, size, rows.shape[1])[groups].transpose(1, 0, 2)
    sums = np.empty((1 << size, len(groups) * rows.shape[1]), dtype=WORD)
    sums[0] = 0
    for bit, row in enumerate(members.reshape(size, -1)):
        np.bitwise_xor(sums[: 1 << bit], row, out=sums[1 << bit : 2 << bit])
    return sums.reshape(len(groups) << size, -1)


def _add_looked_up(total: Words, places: NDArray[np.intp], sums: Words) -> None:
    """Add to row i the rows places[:, i] of a table."""
    n, width = total.shape
    if len(places) * n * width <= _BLOCK:
        total ^= np.bitwise_xor.reduce(sums.take(places, axis=0, mode="clip"), axis=0)
        return
    step = max(1, _BLOCK // width)
    looked_up, more = np.empty((2, min(step, n), width), dtype=WORD)
    for start in range(0, n, step):
        block = total[start : start + step]
        first, other = looked_up[: len(block)], more[: len(block)]
        sums.take(places[0, start : start + step], axis=0, out=first, mode="clip")
        for group in places[1:]:
            sums.take(group[start : start + step], axis=0, out=other, mode="clip")
            np.bitwise_xor(first, other, out=first)
        np.bitwise_xor(block, first, out=block)


def _columns(rows: Words) -> list[int] | None:
    """Return in which columns some row has a bit, if all are in one word and they are few."""
    if rows.shape[1] != 1 or not len(rows):
        return None
    union = int(np.bitwise_or.reduce(rows[:, 0]))
    return [i for i in range(64) if union >> i & 1] if union.bit_count() <= _FEW else None


def _add_bits(total: Words, left: Words, right: Words, columns: list[int]) -> None:
    """Add a product of which only some columns of its only word are not 0."""
    width = -(-len(right) // 64)
    bits: NDArray[Any] = np.zeros(64 * width, dtype=np.uint8)
    for column in columns:
        place = np.uint64(column)
        bits[: len(right)] = right[:, 0] >> place & np.uint64(1)
        shared = left[:, :width] & np.packbits(bits, bitorder="little").view(WORD)
        odd = np.bitwise_count(np.bitwise_xor.reduce(shared, axis=1)) & np.uint8(1)
        total[:, 0] ^= odd.astype(WORD) << place
