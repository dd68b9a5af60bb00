"""Multisets of integers as counts, which can be added, and ranks within them.

>>> few = CodeCounts.of(np.array([5, 9, 5])) + CodeCounts.of(np.array([2, 5]))
>>> few.window(1, 4), few.count(5), few.count(6), len(few)
([5, 5, 5], (1, 4), (4, 4), 5)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CodeCounts"]


@dataclass(frozen=True, eq=False)
class CodeCounts:
    """The codes of a multiset, and how often each occurs.

    Attributes
    ----------
    codes : ndarray of shape (k,)
        Distinct integers of any dtype, possibly Python integers in an object array; increasing.
    counts : ndarray of int64 of shape (k,)
        Positive.
    """

    codes: NDArray[Any]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[Any]) -> "CodeCounts":
        """Return the counts of an array of codes."""
        return cls(*np.unique(codes, return_counts=True))

    def __add__(self, other: "CodeCounts") -> "CodeCounts":
        codes, place = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return CodeCounts(codes, counts)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def window(self, start: int, stop: int) -> list[int]:
        """Return the codes of the ranks start..stop-1, in nondecreasing order; 0 <= start <= stop <= n."""
        upto = np.cumsum(self.counts)
        inside = np.minimum(upto, stop) - np.maximum(upto - self.counts, start)
        codes: list[int] = np.repeat(self.codes, np.maximum(inside, 0)).tolist()
        return codes

    def count(self, code: int) -> tuple[int, int]:
        """Return the number of codes less than `code`, and the number of codes at most `code`."""
        sought = np.array([code], dtype=self.codes.dtype)
        upto = np.concatenate([[0], np.cumsum(self.counts)])
        below, beyond = (int(upto[self.codes.searchsorted(sought, side)[0]]) for side in ("left", "right"))
        return below, beyond
