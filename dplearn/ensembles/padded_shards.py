"""Blocks of shards with private lengths: array programs whose shapes and places are public.

Shards with equally many rows are trained by one array program. Where lengths are private, which shards these
are must not change how another shard's program rounds. So a block consists of consecutive shards, each with a
public place, filled up to a public length. A shard that is shorter than half of this length, or longer than
it, leaves its place empty, and is trained in a block of another length, or by itself: which one depends on
its own length alone. A block in which all places are empty is left out.

>>> blocks, others = blocks_of([3, 5, 40, 4], base=4, n_features=2)
>>> [(block.slots, block.length, block.members) for block in blocks], others
([(range(0, 4), 4, [0, 3]), (range(0, 4), 8, [1])], [2])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.ensembles.batched_teachers import block_size, is_small

__all__ = ["Block", "blocks_of"]

_LENGTHS = 4  # the base, and its double, fourfold and eightfold; longer shards take as long by themselves


@dataclass(frozen=True)
class Block:
    """Shards that are trained by one array program.

    Attributes
    ----------
    slots : range
        Public. The shards that have a place.
    length : int
        Public. The number of rows of a place.
    members : list of int
        Private. The shards that are trained.
    """

    slots: range
    length: int
    members: list[int]

    @property
    def places(self) -> list[int]:
        """The places of the members in the block."""
        return [member - self.slots.start for member in self.members]

    def filled(
        self, rows: Sequence[NDArray[Any]], labels: Sequence[NDArray[Any]]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Return the rows and the labels of the places, and 1 for each row of a shard.

        Parameters
        ----------
        rows, labels : sequence of ndarray
            Private. Those of each shard of the run; of shards that are no members they are not read.

        Returns
        -------
        tuple of ndarray of shape (k, length, d), (k, length) and (k, length)
            A place is filled up with copies of its first row.
        """
        shape = len(self.slots), self.length
        cells = np.zeros((*shape, rows[0].shape[1]), dtype=rows[0].dtype)
        first = labels[self.members[0]]
        codes, own = np.full(shape, first[0], dtype=first.dtype), np.zeros(shape)
        for member, place in zip(self.members, self.places, strict=True):
            n = len(rows[member])
            cells[place, :n], cells[place, n:] = rows[member], rows[member][0]
            codes[place, :n], own[place, :n] = labels[member], 1
        return cells, codes, own


def blocks_of(lengths: Sequence[int], base: int, n_features: int) -> tuple[list[Block], list[int]]:
    """Return the blocks in which some consecutive shards are trained, and the shards in no block.

    Parameters
    ----------
    lengths : sequence of int
        Private. The number of rows of each shard.
    base : int
        Public. The least length of a place.
    n_features : int
        Public.
    """
    found, others = [], set(range(len(lengths)))
    for length in (base << power for power in range(_LENGTHS)):
        if not is_small(length, n_features):
            continue
        size, least = block_size(length, n_features), 2 if length == base else length // 2 + 1
        for start in range(0, len(lengths), size):
            slots = range(start, min(start + size, len(lengths)))
            members = [each for each in slots if least <= lengths[each] <= length]
            others -= set(members)
            if members:
                found.append(Block(slots, length, members))
    return found, sorted(others)
