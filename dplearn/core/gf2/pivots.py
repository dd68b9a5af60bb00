"""Pivots among 64 columns: rows that all others are sums of, as far as these columns go.

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

# So many rows are looked at at once. If they are uniformly random, they have rank 64 but for one time in 256.
_CANDIDATES = 72


@dataclass(frozen=True, eq=False, repr=False)
class Pivots:
    """What is to be known of the rows of one word.

    Attributes
    ----------
    columns : int
        A bit for each column that has a pivot: the first that all others are sums of, from the lowest bit.
    rows : ndarray of int of shape (rank,)
        The rows with the pivots, in the columns' order.
    sums : ndarray of uint64 of shape (64,)
        For each pivot's column c, which of these rows add up to one that has a bit in c and in no other
        pivot's column: bit k is set if the row of column k is one of them. Else 0.
    """

    columns: int
    rows: NDArray[np.intp]
    sums: Words


def pivots_of(words: Words) -> Pivots | None:
    """Find pivots of a column of words, or return None if all are 0.

    Parameters
    ----------
    words : ndarray of uint64 of shape (n,)
        Contiguous.

    Notes
    -----
    Candidates are spread over the rows that are no sums of the pivots' rows so far, so that few rounds are
    needed; each finds at least one pivot more.
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
    """Return, outside of the pivots' columns, what is left of rows that are reduced to 0 inside."""
    sums = words[:, None].copy()
    add_rows(sums, words, exchanged[:, None], columns)
    return sums[:, 0] & np.uint64(ALL ^ columns)


def _exchanged(words: Words) -> tuple[int, list[int], Words]:
    """Return the pivots' columns, their rows, and for each of the 64 columns its pivot's reduced row, or 0.

    In the pivots' columns, that tells instead which rows add up to it. All rows lie one behind the other in a
    long integer, and each starts as an equation that gives its sum by its columns. A pivot solves one of them
    for its column and puts that into the others, where the row's sum takes the column's place: one product of
    integers adds a row to many others, and nothing is carried.
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
