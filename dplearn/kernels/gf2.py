"""Linear algebra over GF(2), where 1 + 1 = 0: systems of equations between bits, packed 64 to a word.

All functions take 0/1 arrays, or a `BitMatrix` of the same bits in an eighth of the bytes.

A growing system is eliminated 64 columns a step. A step finds the pivots in one word of the remaining rows,
and stores one row for each, reduced in that word and 0 in all words before. Sums of these rows are added to
all other rows until these are 0 in the pivots' columns. Most rows of a tall system are only verified.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import check_count
from dplearn.kernels.gf2_matrices import (
    ALL,
    WORD,
    BitMatrix,
    Words,
    add_product,
    add_rows,
    as_columns,
    as_matrix,
    low_bits,
    n_words,
    pack,
    packed,
    read_bits,
    unpack,
)

__all__ = [
    "BitMatrix",
    "Elimination",
    "nullspace",
    "only_solution",
    "pack",
    "rank",
    "rref",
    "solve",
    "uniform_solution",
    "unpack",
]


Places = NDArray[np.intp]

BEYOND = 64  # d + 64 uniformly random rows of d columns lack full rank with probability below 2**-64
VERIFIED = 1 << 16  # words in a block of verified rows
COPIED = 1 << 21  # words in a block of eliminated rows, unless n_columns + 64 rows have more


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
    Add rows together: n_columns + 64 of them, spread over all, are eliminated first. If the rank is then
    full, the others are only verified; if it is almost full, only those with a nonzero product with the null
    space are eliminated; otherwise all are. The results do not depend on this choice.

    Examples
    --------
    >>> from dplearn.kernels.gf2 import Elimination
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

        Notes
        -----
        The pivots' columns depend only on the set of solutions. For any values of the other unknowns there is
        exactly one solution: with independent, uniform bits each has the same probability.
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
        places, size = np.arange(len(rows)), self.n_columns + BEYOND
        most = max(size, COPIED // max(1, self._echelon.width))
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
        step = max(64, VERIFIED // max(1, self.words.shape[1]))
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


def rank(A: Any) -> int:
    """Return the rank of a matrix over GF(2).

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix, possibly empty.

    Examples
    --------
    >>> from dplearn.kernels.gf2 import rank
    >>> rank([[1, 1, 0], [0, 1, 1], [1, 0, 1]])  # the third row is the sum of the others
    2
    """
    return _eliminated(A).rank


def rref(A: Any) -> tuple[Any, NDArray[np.intp]]:
    """Return the reduced row echelon form of a matrix over GF(2), without rows of zeros.

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix.

    Returns
    -------
    form : ndarray of uint8, or BitMatrix if `A` is one, of shape (rank, d)
        A basis of the row space, the same for all matrices with that row space.
    pivots : ndarray of int of shape (rank,)
        Increasing: the column of each row's first 1, in which all other rows are 0.

    Examples
    --------
    >>> from dplearn.kernels.gf2 import rref
    >>> form, pivots = rref([[1, 1, 0], [0, 1, 1]])
    >>> form.tolist(), pivots.tolist()
    ([[1, 0, 1], [0, 1, 1]], [0, 1])
    """
    system = _eliminated(A)
    return _in_the_form_of(A, system.rref()), system.pivots


def nullspace(A: Any) -> Any:
    """Return a basis of the vectors x with A x = 0 over GF(2).

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix.

    Returns
    -------
    ndarray of uint8, or BitMatrix if `A` is one, of shape (d - rank, d)
        The basis vectors as rows, the same for all matrices with the same row space.

    Examples
    --------
    >>> from dplearn.kernels.gf2 import nullspace
    >>> nullspace([[1, 1, 0], [0, 1, 1], [1, 0, 1]]).tolist()
    [[1, 1, 1]]
    """
    return _in_the_form_of(A, _eliminated(A).nullspace())


def solve(A: Any, b: Any) -> NDArray[np.uint8] | None:
    """Return a solution of A x = b over GF(2), or None if there is none.

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix.
    b : BitMatrix, or array-like of bits of shape (n,) or (n, k)
        One right-hand side, or k of them.

    Returns
    -------
    ndarray of uint8 of shape (d,) or (d, k), or None
        The solution with zeros in the columns without pivot. None if one of the k systems has no solution.

    Examples
    --------
    >>> from dplearn.kernels.gf2 import solve
    >>> solve([[1, 1, 0], [0, 1, 1]], [1, 0]).tolist()
    [1, 0, 0]
    >>> solve([[1, 1, 0], [1, 1, 0]], [1, 0]) is None
    True
    """
    return _eliminated(A, b).solution()


def only_solution(A: Any, b: Any) -> NDArray[np.uint8] | None:
    """Return the solution of A x = b over GF(2) if there is exactly one, else None.

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix.
    b : BitMatrix, or array-like of bits of shape (n,) or (n, k)
        One right-hand side, or k.

    Returns
    -------
    ndarray of uint8 of shape (d,) or (d, k), or None
        None unless each of the k systems has exactly one solution.

    Examples
    --------
    >>> from dplearn.kernels.gf2 import only_solution
    >>> only_solution([[1, 0], [1, 1]], [1, 1]).tolist()
    [1, 0]
    >>> only_solution([[1, 0]], [1]) is None  # there are two solutions
    True
    """
    system = _eliminated(A, b)
    return system.solution() if system.unique else None


@documented_by(only_solution)
def uniform_solution(A: Any, b: Any, bits: Any) -> NDArray[np.uint8] | None:
    """Return a uniformly random solution of A x = b over GF(2), or None if there is none.

    Parameters
    ----------
    bits : BitMatrix, or array-like of bits of shape (d,) or (d, k)
        Independent uniform bits, drawn by the caller, the only randomness of the result. Not all are used.

    Returns
    -------
    ndarray of uint8 of shape (d,) or (d, k), or None
        A function of the set of solutions and of `bits` only: each solution has the same probability, and the
        solutions of the k systems are independent. None if one of the k systems has no solution.

    Notes
    -----
    The unknowns in the columns without pivot are the corresponding `bits`; they determine the others.

    Examples
    --------
    >>> from dplearn.kernels.gf2 import uniform_solution
    >>> A = [[1, 1, 0], [0, 1, 1]]
    >>> [uniform_solution(A, [1, 0], [0, 0, coin]).tolist() for coin in (0, 1)]
    [[1, 0, 0], [0, 1, 1]]
    """
    return _eliminated(A, b).solution(bits)


def _eliminated(A: Any, b: Any = None) -> Elimination:
    matrix = as_matrix(A)
    if b is None:
        return Elimination(matrix.n_columns, 0).add(matrix)
    right, shape = as_columns("b", b, len(matrix))
    return Elimination(matrix.n_columns, *shape).add(matrix, right if shape else b)


def _in_the_form_of(A: Any, matrix: BitMatrix) -> Any:
    return matrix if isinstance(A, BitMatrix) else matrix.unpack()


# The number of rows in one round. Uniformly random ones lack rank 64 with probability of about 1/256.
CANDIDATES = 72


@dataclass(frozen=True, eq=False, repr=False)
class Pivots:
    """The pivots of a column of words."""

    columns: int  # bits of the pivots' columns, the first ones whose sums are all columns
    rows: NDArray[np.intp]  # of the pivots, in the order of their columns
    # (64,): for each pivot's column c, the set of pivots' rows, as bits, whose sum is 1 in column c and 0 in
    # all other pivots' columns; 0 for other columns
    sums: Words


def pivots_of(words: Words) -> Pivots | None:
    """Return the pivots of a contiguous column of words, or None if all words are 0."""
    # In each round, candidates are spread over the rows that are not sums of the pivots' rows so far: few
    # rounds suffice.
    found, left = None, words
    while (found is None or found.columns != ALL) and len(places := np.flatnonzero(left)):
        count = min(CANDIDATES, len(places))
        candidates = places[np.arange(count) * len(places) // count]
        if found is not None:
            candidates = np.concatenate([found.rows, candidates])
        columns, chosen, exchanged = _exchanged(words[candidates])
        found = Pivots(columns, candidates[chosen], exchanged & np.uint64(columns))
        if columns != ALL:
            left = _left(words, exchanged, columns)
    return found


def _left(words: Words, exchanged: Words, columns: int) -> Words:
    """Return the rows after their reduction to 0 in the pivots' columns."""
    sums = words[:, None].copy()
    add_rows(sums, words, exchanged[:, None], columns)
    return sums[:, 0] & np.uint64(ALL ^ columns)


def _exchanged(words: Words) -> tuple[int, list[int], Words]:
    """Return the pivots' columns and rows, and for each of the 64 columns its pivot's reduced row, or 0."""
    # In the pivots' columns, a reduced row has in place of its bits the set of pivots' rows whose sum it is:
    # a pivot exchanges the variable of its row for that of its column. All rows are stored one after the
    # other in a long integer, so that one product without carries adds a row to many others.
    table = int.from_bytes(words.tobytes(), "little")
    lowest = int.from_bytes(b"\1\0\0\0\0\0\0\0" * len(words), "little")  # the lowest bit of each row
    free, columns, chosen = lowest, 0, {}
    for column in range(64):
        marked = table >> column & lowest
        candidates = marked & free
        if not candidates:
            continue
        place = candidates.bit_length() - 1
        own = 1 << place
        row = table >> place & ALL
        table ^= (marked ^ own) * (row ^ 1 << column)
        free ^= own
        columns |= 1 << column
        chosen[column] = place // 64
    rows = np.frombuffer(table.to_bytes(8 * len(words), "little"), dtype=WORD)
    exchanged = np.zeros(64, dtype=WORD)
    exchanged[list(chosen)] = rows[list(chosen.values())]
    return columns, list(chosen.values()), exchanged


@dataclass(frozen=True, eq=False, repr=False)
class _Step:
    """The pivots found in one word, with their rows."""

    word: int  # the index of the word in each row
    columns: int  # a bit for each pivot's column
    places: NDArray[np.intp]  # of the bits that are set in `columns`
    # (64, width): row c is 1 in the pivot's column c, and 0 in the other pivots' columns and in the words
    # before; 0 if column c has no pivot
    rows: Words

    def clear(self, rows: Words) -> None:
        """Add rows of the step to other rows such that these become 0 in the pivots' columns."""
        choices = rows[:, self.word] & np.uint64(self.columns)
        first = self.word + (self.columns == ALL)  # with 64 pivots the word becomes 0 and is not used again
        add_rows(rows[:, first:], choices, self.rows[:, first:], self.columns)


class Echelon:
    """The row space of a growing matrix, whose rows have `n_sides` more words for the right-hand sides."""

    def __init__(self, n_columns: int, n_sides: int):
        self.n_columns = n_columns
        self.width = n_words(n_columns)
        self.n_sides = n_sides
        self.rank = 0
        self._steps: list[list[_Step]] = [[] for _ in range(self.width)]  # for each word

    def insert(self, rows: Words) -> bool:
        """Add rows, overwriting them; return whether sums that are 0 in all columns are 0 on the right."""
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
        """Return the solution, for each right-hand side, with given bits in the free columns."""
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
        none = np.empty((0, self.width + self.n_sides), dtype=WORD)
        return np.concatenate([none, *(step.rows for step in self._in_order())])

    def _free_words(self) -> Words:
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
        """Return the values of the pivots' unknowns in the order of `_columns`, by back substitution."""
        places = [np.empty(0, dtype=np.intp)]
        for i, step in reversed(list(enumerate(self._in_order()))):
            choices = rows[: 64 * i, step.word] & np.uint64(step.columns)
            add_rows(sums[: 64 * i], choices, sums[64 * i : 64 * i + 64], step.columns)
            places.append(64 * i + step.places)
        return sums[np.concatenate(places[::-1])]


def _bits_of(word: int) -> NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(word.to_bytes(8, "little"), dtype=np.uint8), bitorder="little")
