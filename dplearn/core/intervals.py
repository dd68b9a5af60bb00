"""An ordered domain cut at the values that data take: all codes of a piece stand alike to the data.

>>> starts, lengths, below, upto = pieces([3, 3, 7], 10)
>>> starts  # 0..2, 3, 4..6, 7, 8..9
[0, 3, 4, 7, 8]
>>> lengths
[3, 1, 3, 1, 2]
>>> below, upto
([0, 0, 2, 2, 3], [0, 2, 2, 3, 3])
"""

from collections.abc import Sequence
from itertools import groupby

__all__ = ["pieces"]

Pieces = tuple[list[int], list[int], list[int], list[int]]


def pieces(codes: Sequence[int], size: int, *, start: int = 0, before: int = 0) -> Pieces:
    """Return the pieces into which sorted codes cut a domain, none of them empty.

    Parameters
    ----------
    codes : sequence of int
        Private. Rising, from `start` to `size` - 1; any size of integer.
    size : int
        Where the domain ends.
    start : int, default=0
        Where it begins.
    before : int, default=0
        How many further codes are less than `start`.

    Returns
    -------
    starts, lengths : list of int
        First code of each piece, and how many codes it holds: one where some of `codes` stand, else all up to
        the next of them.
    below, upto : list of int
        How many of all codes are less than the codes of the piece, and how many are not greater.
    """
    starts, lengths, below, upto = [], [], [], []
    rank = before
    for code, equal in groupby(codes):
        if code > start:
            starts.append(start)
            lengths.append(code - start)
            below.append(rank)
            upto.append(rank)
        starts.append(code)
        lengths.append(1)
        below.append(rank)
        rank += sum(1 for _ in equal)
        upto.append(rank)
        start = code + 1
    if start < size:
        starts.append(start)
        lengths.append(size - start)
        below.append(rank)
        upto.append(rank)
    return starts, lengths, below, upto
