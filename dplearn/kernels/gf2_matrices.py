"""Matrices over GF(2): column j of a row is bit j % 64, counted from the lowest, of its word j // 64.

Products are computed by the method of the four Russians: for each group of eight rows of B (four, if A has
few rows), a table has all sums, each computed with one addition, and a byte of A is an index into it. A
product with few columns is computed bit by bit, as parities of common bits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn._validation import check_count
from dplearn.kernels.rows import blocks

Words = NDArray[np.uint64]

WORD = np.dtype("<u8")  # little-endian, so that the bytes have the order of the bits on any machine
ALL = (1 << 64) - 1  # a word of ones

_CELLS = 1 << 18  # number of bits packed or read in one block, few enough for the cache


def n_words(n_columns: int) -> int:
    return -(-n_columns // 64)


def low_bits(count: int) -> np.uint64:
    """Return the word with its `count` lowest bits set, for a count from 0 to 64."""
    return np.uint64((1 << count) - 1)


def packed(bits: NDArray[Any]) -> Words:
    """Return the words of a matrix of 0/1 bits, with zeros beyond its last column."""
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
    """Return the first at most 64 * n_words columns of a matrix in words, as 0/1 integers."""
    used = words[:, : n_words(n_columns)]
    bits = np.empty((len(words), n_columns), dtype=np.uint8)
    step = max(1, _CELLS // max(1, n_columns))
    for start in range(0, len(words) if n_columns else 0, step):
        part = np.ascontiguousarray(used[start : start + step])
        cells = np.unpackbits(part.reshape(-1).view(np.uint8), bitorder="little")
        bits[start : start + step] = cells.reshape(len(part), -1)[:, :n_columns]
    return bits


BLOCK = 1 << 15  # words looked up in one block; twice as many fit into the cache
WIDTH = 128  # words of a row in one block, so that the tables fit into the cache
MANY = 200  # number of rows above which tables of 256 sums are faster than twice as many of 16
FEW = 6  # greatest number of columns for which a product is computed bit by bit


def add_product(total: Words, left: Words, right: Words) -> None:
    """Add the product of `left` (n, n_words) and `right` (m, width), m <= 64 n_words, to `total` in place."""
    columns = _columns(right)
    if columns is not None:
        _add_bits(total, left, right, columns)
        return
    for word in range(-(-len(right) // 64)):
        add_rows(total, np.ascontiguousarray(left[:, word]), right[64 * word : 64 * word + 64])


def add_rows(total: Words, choices: Words, rows: Words, used: int = ALL) -> None:
    """Add to each row of `total` the sum of those of at most 64 `rows` whose bit is set in `choices` (n,)."""
    # `used` is a word; for each bit that is not set in it, the bit is 0 in all choices or its row is 0.
    n, width = total.shape
    if not (n and width and len(rows)):
        return
    columns = _columns(rows)
    if columns is not None:
        _add_bits(total, choices[:, None], rows, columns)
        return
    size = 8 if n > MANY else 4
    groups = [i for i in range(-(-len(rows) // size)) if used >> size * i & (1 << size) - 1]
    if not groups:
        return
    digits = choices.view(np.uint8).reshape(n, 8).T
    if size == 4:
        digits = np.stack([digits & 15, digits >> 4], axis=1).reshape(16, n)
    places = (digits if len(groups) == len(digits) else digits[groups]).astype(np.intp, order="C")
    places *= len(groups)
    places += np.arange(len(groups))[:, None]
    for part in blocks(width, WIDTH):
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
    if len(places) * n * width <= BLOCK:
        total ^= np.bitwise_xor.reduce(sums.take(places, axis=0, mode="clip"), axis=0)
        return
    step = max(1, BLOCK // width)
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
    return [i for i in range(64) if union >> i & 1] if union.bit_count() <= FEW else None


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


@dataclass(frozen=True, eq=False, repr=False)  # a traceback may show it
class BitMatrix:
    """A matrix over GF(2).

    Parameters
    ----------
    words : ndarray of uint64 of shape (n_rows, n_words)
        Column j is bit j % 64, counted from the lowest, of word j // 64. Bits beyond the last column are
        ignored, so that a matrix and its first columns can share their words. The array is not copied.
    n_columns : int
        At most 64 * n_words.

    Examples
    --------
    >>> from dplearn.kernels.gf2 import pack
    >>> A = pack([[1, 0, 1], [0, 1, 1]])
    >>> A.shape, A[1:].unpack().tolist()
    ((2, 3), [[0, 1, 1]])
    """

    words: Words
    n_columns: int

    def __post_init__(self) -> None:
        if not isinstance(self.words, np.ndarray) or self.words.dtype != WORD:
            raise TypeError("words must be an array of uint64")
        if self.words.ndim != 2:
            raise ValueError(f"words must be two-dimensional, got {self.words.ndim} dimensions")
        check_count("n_columns", self.n_columns, high=64 * self.words.shape[1])

    def __repr__(self) -> str:
        return f"<BitMatrix of shape {self.shape}>"

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: Any) -> "BitMatrix":
        """Return some rows, selected by a slice, a mask or an array of indices as in numpy."""
        return BitMatrix(self.words[rows], self.n_columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.words), self.n_columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the unpacked matrix, for `np.asarray`."""
        if copy is False:
            raise ValueError("copy must not be False: packed bits are unpacked into a new array")
        return self.unpack() if dtype is None else self.unpack().astype(dtype)

    def unpack(self) -> NDArray[np.uint8]:
        """Return the matrix as 0/1 integers of one byte each."""
        return read_bits(self.words, self.n_columns)

    def clean_words(self) -> Words:
        """Return the words with zeros for bits beyond the last column, copied only if necessary."""
        words, last = self.words[:, : n_words(self.n_columns)], self.n_columns % 64
        if not last or not (words[:, -1] >> np.uint64(last)).any():
            return words
        clean = words.copy()
        clean[:, -1] &= low_bits(last)
        return clean

    def dot(self, other: Any) -> NDArray[np.uint8]:
        """Return the product with a vector or matrix, over GF(2).

        Parameters
        ----------
        other : BitMatrix, or array-like of bits of shape (n_columns,) or (n_columns, k)
            The right factor.

        Returns
        -------
        ndarray of uint8 of shape (n_rows,) or (n_rows, k)
        """
        right, shape = as_columns("other", other, self.n_columns)
        product = np.zeros((len(self), n_words(right.n_columns)), dtype=WORD)
        add_product(product, self.words, right.clean_words())
        return read_bits(product, right.n_columns).reshape((len(self), *shape))


def pack(bits: Any) -> BitMatrix:
    """Return a matrix of bits, packed 64 to a word.

    Parameters
    ----------
    bits : array-like of bool or of the integers 0 and 1, of shape (n_rows, n_columns)
        The matrix; it is copied.

    Returns
    -------
    BitMatrix
        A matrix of the same shape.

    Raises
    ------
    TypeError
        If `bits` are neither integers nor booleans, or sparse.
    ValueError
        If `bits` is not two-dimensional or an integer is neither 0 nor 1. The message does not show it.

    Examples
    --------
    >>> from dplearn.kernels.gf2 import pack
    >>> A = pack([[1, 0, 1], [0, 1, 1]])
    >>> A.shape, A.words.tolist()
    ((2, 3), [[5], [6]])
    """
    if issparse(bits):
        raise TypeError("a matrix of bits must be dense: use .toarray()")
    array = np.asarray(bits)
    if array.ndim != 2:
        raise ValueError(f"a matrix of bits must have two dimensions, got {array.ndim}")
    return BitMatrix(packed(array), array.shape[1])


def unpack(matrix: BitMatrix) -> NDArray[np.uint8]:
    """Return a packed matrix as 0/1 integers of one byte each.

    Parameters
    ----------
    matrix : BitMatrix
        A packed matrix of shape (n_rows, n_columns).

    Returns
    -------
    ndarray of uint8 of shape (n_rows, n_columns)

    Examples
    --------
    >>> from dplearn.kernels.gf2 import pack, unpack
    >>> unpack(pack([[1, 0, 1], [0, 1, 1]])).tolist()
    [[1, 0, 1], [0, 1, 1]]
    """
    return matrix.unpack()


def as_matrix(A: Any) -> BitMatrix:
    """Return `A` as a BitMatrix, packed if necessary."""
    return A if isinstance(A, BitMatrix) else pack(A)


def as_columns(name: str, columns: Any, n_rows: int) -> tuple[BitMatrix, tuple[int, ...]]:
    """Return a vector or matrix as a BitMatrix, and its shape without the number of rows."""
    array = columns if isinstance(columns, BitMatrix) else np.asarray(columns)
    shape = tuple(array.shape[1:])
    if not array.shape or array.shape[0] != n_rows or len(shape) > 1:
        raise ValueError(
            f"{name} must have shape ({n_rows},) or ({n_rows}, k), as many rows as the system asks for, "
            f"got shape {tuple(array.shape)}"
        )
    if isinstance(array, BitMatrix):
        return array, shape
    return pack(array if shape else array[:, None]), shape
