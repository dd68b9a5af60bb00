"""Counts of the codes of records in parts: in the nodes of a tree, or of every code.

>>> from dplearn.core.intervals import children_of, whole
>>> from dplearn.records.part_sources import in_parts
>>> from dplearn.records.passes import InTurn
>>> parts = [np.array([3, 9], dtype=np.uint64), np.array([3], dtype=np.uint64)]
>>> given = in_parts(InTurn(lambda: [(part, None) for part in parts]))
>>> _, records = given.read(lambda X, y: (len(X), X))
>>> PartedTreeRecords(records, 10).counted(children_of(whole(10, 3), np.array([0]), 2)).tolist()
[2, 1]
>>> gathered_codes(records).tolist()
[3, 3, 9]
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.code_counts import CodeCounts
from dplearn.core.intervals import Level, TreeRecords, counted, sorted_codes
from dplearn.records.table import Table

__all__ = ["PartedTreeRecords", "gathered_codes"]


class PartedTreeRecords(TreeRecords):
    """Records in parts that are counted in the nodes of a tree, one pass for each level.

    Parameters
    ----------
    records : Table of ndarray
        Private. Codes, from 0 to size - 1.
    size : int
        Public. Number of codes in the domain.
    """

    def __init__(self, records: Table, size: int):
        self._records, self._size = records, size

    def __len__(self) -> int:
        return len(self._records)

    def counted(self, level: Level) -> NDArray[np.int64]:
        """Return the number of records in each node of a level."""
        [counts] = self._records.sums(partial(_counts_in, level, self._size))
        return np.asarray(counts)


def gathered_codes(records: Table) -> NDArray[Any]:
    """Return the codes of all records: as they are if they are in memory, else in increasing order.

    Parameters
    ----------
    records : Table of ndarray
        Private. Codes.
    """
    held: NDArray[Any] | None = records.at_once(lambda codes: codes)
    if held is not None:
        return held
    [counts] = records.sums(_all_counts)
    return np.repeat(counts.codes, counts.counts)


def _counts_in(level: Level, size: int, codes: NDArray[Any]) -> list[NDArray[np.int64]]:
    return [counted(level, sorted_codes(codes, size))]


def _all_counts(codes: NDArray[Any]) -> list[CodeCounts]:
    return [CodeCounts.of(codes)]
