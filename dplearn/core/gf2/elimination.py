"""Gaussian elimination over GF(2) for a growing system; most rows of a tall system are only verified."""

from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.core.gf2.echelon import Echelon
from dplearn.core.gf2.matrices import BitMatrix, as_columns, as_matrix
from dplearn.core.gf2.products import add_product
from dplearn.core.gf2.words import WORD, Words, low_bits, n_words, packed, read_bits

__all__ = ["Elimination"]

Places = NDArray[np.intp]

_BEYOND = 64  # d + 64 uniformly random rows of d columns lack full rank with probability below 2**-64
_VERIFIED = 1 << 16  # words in a block of verified rows
_COPIED = 1 << 21  # words in a block of eliminated rows, unless n_columns + 64 rows have more


class Elimination:
    """A system of linear equations over GF(2) to which equations are added.

    Parameters
    ----------
    n_columns : int
        The number of unknowns, at least 0.
    n_sides : int, optional
        The number of right-hand sides, which share the left sides; solutions then have shape
        (n_columns, n_sides). None means one right-hand side, and solutions of shape (n_columns,).

    Attributes
    ----------
    consistent : bool
        True if there is a solution for each right-hand side.

    Notes
    -----
    Rows that are added together take less time than rows that are added one by one. First, n_columns + 64
    rows, spread over all new ones, are eliminated. If the rank is then full, the other rows are only
    verified, in a fraction of the time. If the rank is almost full, the other rows are multiplied by a basis
    of the null space, and only those with a nonzero product are eliminated. Otherwise all rows are
    eliminated. The results do not depend on this choice, and the time is at most a small multiple of that of
    eliminating all rows.

    Examples
    --------
    >>> from dplearn.core.gf2 import Elimination
    >>> system = Elimination(2).add([[1, 0]], [1])
    >>> system.rank, system.pivots.tolist(), system.solution(bits=[1, 1]).tolist()
    (1, [0], [1, 1])
    >>> system.add([[1, 0], [1, 1]], [1, 1]).solution().tolist()
    [1, 0]
    >>> system.add([[0, 0]], [1]).consistent
    False
    """

    def __init__(self, n_columns: int, n_sides: int | None = None):
        self.n_columns = check_count("n_columns", n_columns)
        self._n_sides = 1 if n_sides is None else check_count("n_sides", n_sides)
        self._sides = () if n_sides is None else (self._n_sides,)
        self._echelon = Echelon(self.n_columns, n_words(self._n_sides))
        self.consistent = True

    @property
    def rank(self) -> int:
        """The rank of the left sides so far."""
        return self._echelon.rank

    @property
    def pivots(self) -> Places:
        """The columns, increasing, that are not sums of columns before them."""
        return self._echelon.pivots()

    @property
    def unique(self) -> bool:
        """True if there is exactly one solution for each right-hand side."""
        return self.consistent and self.rank == self.n_columns

    def add(self, A: Any, b: Any = None) -> "Elimination":
        """Add equations.

        Parameters
        ----------
        A : BitMatrix, or array-like of bits of shape (n, n_columns)
            Left sides.
        b : array-like of bits of shape (n,) or (n, n_sides), or BitMatrix, optional
            Right sides, of the first shape if `n_sides` is None. None means zeros.

        Returns
        -------
        Elimination
            This object.

        Raises
        ------
        TypeError
            If `A` or `b` are neither integers nor booleans.
        ValueError
            If their shapes do not fit, or an integer is neither 0 nor 1. The messages show no bits.
        """
        matrix = as_matrix(A)
        if matrix.n_columns != self.n_columns:
            raise ValueError(f"A must have n_columns = {self.n_columns} columns, got {matrix.n_columns}")
        self._add(_Rows(matrix, self._right("b", b, len(matrix))))
        return self

    def solution(self, bits: Any = None) -> NDArray[np.uint8] | None:
        """Return a solution of the system.

        Parameters
        ----------
        bits : array-like of bits of shape (n_columns,) or (n_columns, n_sides), or BitMatrix, optional
            The values of the unknowns in columns without pivot; the other bits are not used. None means
            zeros.

        Returns
        -------
        ndarray of uint8 of shape (n_columns,) or (n_columns, n_sides), or None
            None if some right-hand side has no solution.

        Raises
        ------
        TypeError, ValueError
            As for `add`.

        Notes
        -----
        The pivots' columns depend only on the set of solutions, not on the order of the rows. For any values
        of the unknowns in the other columns there is exactly one solution. So with independent, uniform bits
        each solution has the same probability.
        """
        values = self._right("bits", bits, self.n_columns)
        if not self.consistent:
            return None
        solved = read_bits(self._echelon.solution(values), self._n_sides)
        return solved.reshape(self.n_columns, *self._sides)

    def rref(self) -> BitMatrix:
        """Return the nonzero rows of the left sides' reduced row echelon form."""
        return BitMatrix(self._echelon.reduced(), self.n_columns)

    def nullspace(self) -> BitMatrix:
        """Return a matrix with rows that are a basis of the solutions for right-hand side 0."""
        return BitMatrix(packed(self._echelon.nullspace().T), self.n_columns)

    def _right(self, name: str, bits: Any, n_rows: int) -> Words:
        if bits is None:
            return np.zeros((n_rows, n_words(self._n_sides)), dtype=WORD)
        columns, shape = as_columns(name, bits, n_rows)
        if shape != self._sides:
            raise ValueError(f"{name} must have shape {(n_rows, *self._sides)}, got {(n_rows, *shape)}")
        return columns.clean_words()

    def _add(self, rows: "_Rows") -> None:
        places, size = np.arange(len(rows)), self.n_columns + _BEYOND
        most = max(size, _COPIED // max(1, self._echelon.width))
        while len(places) and not (self.rank == self.n_columns and not self.consistent):
            if self._verifying_pays(len(places) > size):
                places = self._unexplained(rows, places)
            if len(places) > size:
                some = _spread(len(places), size)
                chosen, places = places[some], np.delete(places, some)
            else:
                chosen, places = places, places[:0]
            self.consistent &= self._echelon.insert(rows.copied(chosen))
            size = min(2 * size, most)  # doubled, so that there are few rounds for any rows

    def _verifying_pays(self, many: bool) -> bool:
        """Return True if a product with a basis of the null space takes less time than an elimination."""
        missing, width = self.n_columns - self.rank, self._echelon.width
        if not missing:
            return True
        return many and self.n_columns * n_words(missing) < self.rank * (width - self.rank / 128)

    def _unexplained(self, rows: "_Rows", places: Places) -> Places:
        """Return the places of rows outside the row space so far; verify the right sides of the others."""
        basis = packed(self._echelon.nullspace())
        sides = self._echelon.solution(np.zeros((self.n_columns, self._echelon.n_sides), dtype=WORD))
        factors, n_missing = np.concatenate([basis, sides], axis=1), basis.shape[1]
        left = [places[:0]]
        for some, part, right in rows.blocks(places):
            sums = np.zeros((len(part), factors.shape[1]), dtype=WORD)
            add_product(sums, part, factors)
            new = sums[:, :n_missing].any(axis=1)
            self.consistent &= not (sums[~new, n_missing:] != right[~new]).any()
            left.append(some[new])
            if not (n_missing or self.consistent):
                break
        return np.concatenate(left)


class _Rows:
    """Equations: words of left and right sides."""

    def __init__(self, matrix: BitMatrix, right: Words):
        self.words = matrix.words[:, : n_words(matrix.n_columns)]
        self.n_columns, self.right = matrix.n_columns, right

    def __len__(self) -> int:
        return len(self.words)

    def copied(self, places: Places) -> Words:
        """Return copies of rows, with zeros beyond the last column, followed by their right sides."""
        part, width = _part(places), self.words.shape[1]
        rows = np.empty((len(places), width + self.right.shape[1]), dtype=WORD)
        rows[:, :width], rows[:, width:] = self.words[part], self.right[part]
        if self.n_columns % 64:
            rows[:, width - 1] &= low_bits(self.n_columns % 64)
        return rows

    def blocks(self, places: Places) -> Iterator[tuple[Places, Words, Words]]:
        """Yield blocks of rows: their places, left sides and right sides."""
        step = max(64, _VERIFIED // max(1, self.words.shape[1]))
        for start in range(0, len(places), step):
            some = places[start : start + step]
            yield some, self.words[_part(some)], self.right[_part(some)]


def _part(places: Places) -> Any:
    """Return increasing places as a slice if they are contiguous, so that indexing makes no copy."""
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _spread(length: int, size: int) -> Places:
    """Return increasing places, spread evenly but not periodically, as multiples of the golden section."""
    step = max(1, int(length * 0.6180339887498949))
    while gcd(step, length) > 1:
        step += 1
    return np.sort(np.arange(size) * step % length)
