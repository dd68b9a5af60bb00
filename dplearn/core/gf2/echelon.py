"""Row echelon forms over GF(2), by elimination of 64 columns a step.

A step finds the pivots in one word of the remaining rows. It stores one row for each pivot, reduced in that
word and 0 in all words before. Sums of these rows are added to all other rows until these are 0 in the
pivots' columns.

>>> echelon = Echelon(2, 0)
>>> echelon.insert(np.array([[3], [3]], dtype=np.uint64))
True
>>> echelon.rank, echelon.pivots().tolist()
(1, [0])
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplearn.core.gf2.pivots import Pivots, pivots_of
from dplearn.core.gf2.products import add_rows
from dplearn.core.gf2.words import ALL, WORD, Words, low_bits, n_words, read_bits

__all__ = ["Echelon"]


@dataclass(frozen=True, eq=False, repr=False)
class _Step:
    """The pivots found in one word, with their rows.

    Attributes
    ----------
    word : int
        The index of the word in each row.
    columns : int
        A word with a bit for each pivot's column.
    places : ndarray of int of shape (rank,)
        The positions of the bits that are set in `columns`.
    rows : ndarray of uint64 of shape (64, width)
        Row c is 1 in the pivot's column c, and 0 in the other pivots' columns and in the words before. If
        column c has no pivot, the row is 0.
    """

    word: int
    columns: int
    places: NDArray[np.intp]
    rows: Words

    def clear(self, rows: Words) -> None:
        """Add rows of the step to other rows such that these become 0 in the pivots' columns."""
        choices = rows[:, self.word] & np.uint64(self.columns)
        first = self.word + (self.columns == ALL)  # with 64 pivots the word becomes 0 and is not used again
        add_rows(rows[:, first:], choices, self.rows[:, first:], self.columns)


class Echelon:
    """The row space of a growing matrix.

    Parameters
    ----------
    n_columns : int
        The number of columns of the matrix.
    n_sides : int
        The number of additional words of each row, for the right-hand sides.
    """

    def __init__(self, n_columns: int, n_sides: int):
        self.n_columns = n_columns
        self.width = n_words(n_columns)
        self.n_sides = n_sides
        self.rank = 0
        self._steps: list[list[_Step]] = [[] for _ in range(self.width)]  # for each word

    def insert(self, rows: Words) -> bool:
        """Add rows to the matrix.

        Parameters
        ----------
        rows : ndarray of uint64 of shape (n, width + n_sides)
            With zeros beyond the last column. It is overwritten.

        Returns
        -------
        bool
            True if all sums of rows that are 0 in all columns are also 0 in the right-hand sides.
        """
        for word, steps in enumerate(self._steps):
            if not len(rows):
                return True
            for step in steps:
                step.clear(rows)
            if any(step.columns == ALL for step in steps):
                continue
            found = pivots_of(np.ascontiguousarray(rows[:, word]))
            if found is not None:
                rows = self._step(rows, word, found)
        return not rows[:, self.width :].any()

    def _step(self, rows: Words, word: int, found: Pivots) -> Words:
        """Add a step for the found pivots, and return the other rows, reduced."""
        places, count = np.flatnonzero(_bits_of(found.columns)), len(found.rows)
        raw, reduced = np.zeros((2, 64, rows.shape[1]), dtype=WORD)
        raw[places] = rows[found.rows]
        add_rows(reduced[:, word:], found.sums, raw[:, word:], found.columns)
        step = _Step(word, found.columns, places, reduced)
        self._steps[word].append(step)
        self.rank += count
        # The first rows replace the pivots' rows, so that the remaining rows are contiguous.
        vacant = found.rows[found.rows >= count]
        rows[vacant] = rows[np.delete(np.arange(count), found.rows[found.rows < count])]
        step.clear(rows[count:])
        return rows[count:]

    def pivots(self) -> NDArray[np.intp]:
        """Return the pivots' columns, increasing: the columns that are not sums of columns before them."""
        return np.sort(self._columns())

    def free(self) -> NDArray[np.intp]:
        """Return the columns without pivot, increasing."""
        return np.delete(np.arange(self.n_columns), self._columns())

    def reduced(self) -> Words:
        """Return the nonzero rows of the reduced row echelon form, without right-hand sides."""
        columns, words = self._columns(), np.flatnonzero(self._free_words())
        rows = np.argsort(np.argsort(columns))
        form = np.zeros((self.rank, self.width), dtype=WORD)
        form[rows[:, None], words] = self._free_part(words)
        form[rows, columns // 64] |= np.uint64(1) << (columns % 64).astype(WORD)
        return form

    def nullspace(self) -> NDArray[np.uint8]:
        """Return a basis of the null space as the columns of a matrix, one for each free column."""
        free, words = self.free(), np.flatnonzero(self._free_words())
        basis = np.zeros((self.n_columns, len(free)), dtype=np.uint8)
        basis[free, np.arange(len(free))] = 1
        bits = read_bits(self._free_part(words), 64 * len(words))
        basis[self._columns()] = bits[:, 64 * np.searchsorted(words, free // 64) + free % 64]
        return basis

    def solution(self, bits: Words) -> Words:
        """Return the solution with given bits in the free columns.

        Parameters
        ----------
        bits : ndarray of uint64 of shape (n_columns, n_sides)
            Only the bits of the free columns are used.

        Returns
        -------
        ndarray of uint64 of shape (n_columns, n_sides)
            The unknowns of the solution for each right-hand side.
        """
        rows, free, unknowns = self._rows(), self._free_words(), bits.copy()
        sums = rows[:, self.width :].copy()
        for word in np.flatnonzero(free):
            own = bits[64 * word : 64 * word + 64]
            add_rows(sums, rows[:, word] & free[word], own, int(free[word]))
        unknowns[self._columns()] = self._substituted(rows, sums)
        return unknowns

    def _in_order(self) -> Iterator[_Step]:
        """Yield the steps such that the rows of each are 0 in the pivots' columns of all steps before it."""
        return (step for steps in self._steps for step in steps)

    def _columns(self) -> NDArray[np.intp]:
        """Return the pivots' columns in the order of the steps."""
        columns = [64 * step.word + step.places for step in self._in_order()]
        return np.concatenate([np.empty(0, dtype=np.intp), *columns])

    def _rows(self) -> Words:
        """Return the rows of all steps, 64 for each step."""
        none = np.empty((0, self.width + self.n_sides), dtype=WORD)
        return np.concatenate([none, *(step.rows for step in self._in_order())])

    def _free_words(self) -> Words:
        """Return words with a bit for each free column."""
        words = np.full(self.width, ALL, dtype=WORD)
        if self.width:
            words[-1] = low_bits(self.n_columns - 64 * (self.width - 1))
        for step in self._in_order():
            words[step.word] &= np.uint64(ALL ^ step.columns)
        return words

    def _free_part(self, words: NDArray[np.intp]) -> Words:
        """Return the reduced form's bits in the free columns of some words, in the order of `_columns`."""
        if not len(words):
            return np.empty((self.rank, 0), dtype=WORD)
        rows = self._rows()
        return self._substituted(rows, np.ascontiguousarray(rows[:, words] & self._free_words()[words]))

    def _substituted(self, rows: Words, sums: Words) -> Words:
        """Return the values of the pivots' unknowns by back substitution, from the last step to the first.

        Parameters
        ----------
        rows : ndarray of uint64 of shape (64 * n_steps, width + n_sides)
            The rows of all steps.
        sums : ndarray of uint64 of shape (64 * n_steps, k)
            The right-hand side of each row. It is modified.

        Returns
        -------
        ndarray of uint64 of shape (rank, k)
            In the order of `_columns`.
        """
        places = [np.empty(0, dtype=np.intp)]
        for i, step in reversed(list(enumerate(self._in_order()))):
            choices = rows[: 64 * i, step.word] & np.uint64(step.columns)
            add_rows(sums[: 64 * i], choices, sums[64 * i : 64 * i + 64], step.columns)
            places.append(64 * i + step.places)
        return sums[np.concatenate(places[::-1])]


def _bits_of(word: int) -> NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(word.to_bytes(8, "little"), dtype=np.uint8), bitorder="little")
