"""Matrices over GF(2), with 64 columns of a row packed into a word.

>>> A = pack([[1, 0, 1], [0, 1, 1]])
>>> A.shape, A.words.tolist(), A[1:].unpack().tolist()
((2, 3), [[5], [6]], [[0, 1, 1]])
>>> A.dot([1, 1, 1]).tolist()
[0, 0]
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn._validation import check_count
from dplearn.core.gf2.products import add_product
from dplearn.core.gf2.words import WORD, Words, low_bits, n_words, packed, read_bits

__all__ = ["BitMatrix", "as_columns", "as_matrix", "pack", "unpack"]


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

    Raises
    ------
    TypeError
        If `words` is not an array of uint64, or `n_columns` is not an integer.
    ValueError
        If `words` is not two-dimensional, or has too few words for `n_columns`.

    Examples
    --------
    >>> from dplearn.core.gf2 import pack
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

        Raises
        ------
        ValueError
            If `other` has another number of rows, or more than two dimensions.
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
    >>> from dplearn.core.gf2 import pack
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
    >>> from dplearn.core.gf2 import pack, unpack
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
