"""Matrix products over GF(2) by the method of the four Russians.

A row of the product of A and B is the sum of the rows of B that are selected by the bits of A's row. For each
group of eight rows of B, a table has all 256 sums, each computed with one addition, and a byte of A is an
index into it. If A has few rows, groups of four rows with 16 sums take less time. Words are looked up and
added in blocks of rows that fit into the cache. A product with few columns is computed bit by bit: a bit is
the parity of the number of bits that two rows have in common.

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

_BLOCK = 1 << 15  # words looked up in one block; twice as many fit into the cache
_WIDTH = 128  # words of a row in one block, so that the tables fit into the cache
_MANY = 200  # number of rows above which tables of 256 sums are faster than twice as many of 16
_FEW = 6  # greatest number of columns for which a product is computed bit by bit


def add_product(total: Words, left: Words, right: Words) -> None:
    """Add the product of two matrices to a third.

    Parameters
    ----------
    total : ndarray of uint64 of shape (n, width)
        It is modified.
    left : ndarray of uint64 of shape (n, n_words)
        Bits beyond the number of rows of `right` are ignored.
    right : ndarray of uint64 of shape (m, width)
        m is at most 64 * n_words.
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
        It is modified.
    choices : ndarray of uint64 of shape (n,)
        Bit j is set if rows[j] belongs to the sum. Contiguous.
    rows : ndarray of uint64 of shape (m, width)
        m is at most 64.
    used : int
        A word; for each bit that is not set in it, the bit is 0 in all choices or its row is 0.
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
    """Return all sums of each group of `size` rows; sum s of group i is row s * len(groups) + i."""
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
    """Return the columns in which some row has a bit, if rows have one word and these columns are few."""
    if rows.shape[1] != 1 or not len(rows):
        return None
    union = int(np.bitwise_or.reduce(rows[:, 0]))
    return [i for i in range(64) if union >> i & 1] if union.bit_count() <= _FEW else None


def _add_bits(total: Words, left: Words, right: Words, columns: list[int]) -> None:
    """Add a product of one word a row that is 0 outside of some columns."""
    width = -(-len(right) // 64)
    bits: NDArray[Any] = np.zeros(64 * width, dtype=np.uint8)
    for column in columns:
        place = np.uint64(column)
        bits[: len(right)] = right[:, 0] >> place & np.uint64(1)
        shared = left[:, :width] & np.packbits(bits, bitorder="little").view(WORD)
        odd = np.bitwise_count(np.bitwise_xor.reduce(shared, axis=1)) & np.uint8(1)
        total[:, 0] ^= odd.astype(WORD) << place
