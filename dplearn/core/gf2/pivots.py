"""Pivots among 64 columns: rows whose sums are all rows, restricted to these columns.

>>> found = pivots_of(np.array([1, 2, 3, 3], dtype=np.uint64))
>>> found.columns, found.rows.tolist()
(3, [3, 1])
>>> found.sums[:2].tolist()  # 3 + 2 = 1 has only column 0, and 2 has only column 1
[3, 2]
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplearn.core.gf2.products import add_rows
from dplearn.core.gf2.words import ALL, WORD, Words

__all__ = ["Pivots", "pivots_of"]

# The number of rows in one round. Uniformly random ones lack rank 64 with probability of about 1/256.
_CANDIDATES = 72


@dataclass(frozen=True, eq=False, repr=False)
class Pivots:
    """The pivots of a column of words.

    Attributes
    ----------
    columns : int
        A word with a bit for each pivot's column: the first columns, from the lowest bit, whose sums are all
        columns.
    rows : ndarray of int of shape (rank,)
        The indices of the pivots' rows, in the order of their columns.
    sums : ndarray of uint64 of shape (64,)
        For each pivot's column c, the set of pivots' rows whose sum is 1 in column c and 0 in all other
        pivots' columns: bit k is set if the row of the pivot in column k belongs to the sum. 0 for other
        columns.
    """

    columns: int
    rows: NDArray[np.intp]
    sums: Words


def pivots_of(words: Words) -> Pivots | None:
    """Return the pivots of a column of words, or None if all words are 0.

    Parameters
    ----------
    words : ndarray of uint64 of shape (n,)
        Contiguous.

    Notes
    -----
    In each round, candidates are spread over the rows that are not sums of the pivots' rows so far, so that
    few rounds are needed; each round finds at least one further pivot.
    """
    found, left = None, words
    while (found is None or found.columns != ALL) and len(places := np.flatnonzero(left)):
        count = min(_CANDIDATES, len(places))
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
    """Return the pivots' columns, their rows, and for each of the 64 columns its pivot's reduced row, or 0.

    In the pivots' columns, a reduced row has in place of its bits the set of pivots' rows whose sum it is.
    The algorithm exchanges variables. Each row is an equation that expresses the row's variable as a sum of
    the columns' variables. A pivot solves one equation for its column's variable and substitutes this
    variable in all other equations, where the row's variable takes the place of the column's. All rows are
    stored one after the other in a long integer, so that one integer product, which has no carries, adds a
    row to many others.
    """
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
