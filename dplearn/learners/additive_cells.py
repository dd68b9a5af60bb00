"""Lookups by the cells of records: adjacent columns with few cells are looked up together.

The cells of a bundle of columns are one code. One lookup finds the sum of the entries of these cells, and the
sums by cell follow from the sums by code.

>>> import numpy as np
>>> bundles = grouped([2, 3])
>>> [codes] = bundles.codes(np.array([[0, 2], [1, 1]]))
>>> codes.tolist()
[2, 4]
>>> [table] = bundles.added([np.array([0, 10]), np.array([5, 6, 7])])
>>> table[codes].tolist()
[7, 16]
>>> [each.tolist() for each in bundles.split([np.array([0, 0, 3, 0, 4, 0])])]
[[3, 4], [0, 4, 3]]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnBundles", "grouped"]

_MOST = 1 << 13  # codes of several columns: a table of as many numbers fits the cache


@dataclass(frozen=True)
class ColumnBundles:
    """Bundles of adjacent columns.

    Attributes
    ----------
    bundles : tuple of tuple of int
        For each bundle, the numbers of cells of its columns. The code of a record is its cells as the digits
        of a number with these bases.
    """

    bundles: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.bundles)

    @property
    def sizes(self) -> list[int]:
        """The number of codes of each bundle."""
        return [int(np.prod(sizes)) for sizes in self.bundles]

    @property
    def _slices(self) -> list[slice]:
        """The columns of each bundle."""
        ends = np.cumsum([0, *map(len, self.bundles)]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]

    def codes(self, cells: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the code of each record in each bundle.

        Parameters
        ----------
        cells : ndarray of int of shape (n, d)
            Private.

        Returns
        -------
        list of ndarray of int of shape (n,)
            One for each bundle. They are narrow, so that more of them fit the cache.
        """
        found = []
        for sizes, columns in zip(self.bundles, self._slices, strict=True):
            codes = cells[:, columns.start]
            for place, size in zip(range(columns.start + 1, columns.stop), sizes[1:], strict=True):
                codes = codes.astype(np.int16) * np.int16(size)
                codes += cells[:, place].astype(np.int16, copy=False)
            found.append(codes)
        return found

    def added(self, tables: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return a table for each bundle, whose rows are sums of rows of the tables of its columns.

        Parameters
        ----------
        tables : sequence of ndarray of shape (cells, ...)
            One for each column.
        """
        sums = []
        for columns in self._slices:
            total, *others = tables[columns]
            for table in others:
                total = (total[:, None] + table[None, :]).reshape(-1, *table.shape[1:])
            sums.append(total)
        return sums

    def split(self, sums: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return the sums by the cells of each column.

        Parameters
        ----------
        sums : sequence of ndarray of shape (n_codes,)
            The sums by the codes of each bundle.
        """
        found: list[NDArray[Any]] = []
        for total, sizes in zip(sums, self.bundles, strict=True):
            by_cells, places = total.reshape(sizes), range(len(sizes))
            found += [by_cells.sum(axis=tuple(place for place in places if place != kept)) for kept in places]
        return found


def grouped(sizes: Sequence[int]) -> ColumnBundles:
    """Return adjacent columns in bundles with few codes, a column with more cells alone.

    Parameters
    ----------
    sizes : sequence of int
        The number of cells of each column, at most 2**15.
    """
    bundles: list[tuple[int, ...]] = []
    codes = 0
    for size in sizes:
        if bundles and codes * size <= _MOST:
            bundles[-1] = (*bundles[-1], size)
            codes *= size
        else:
            bundles.append((size,))
            codes = size
    return ColumnBundles(tuple(bundles))
