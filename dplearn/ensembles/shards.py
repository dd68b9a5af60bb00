"""Cut a table into shards, one for each teacher, and shards into runs for one array program.

Where the number of records is public, shards are cut at random by a public stream. They depend on no feature
and no label: with stratified shards one replaced record could move another record to a different shard, and
two teachers would change. Where the number is private, each record draws its shard in secret.

Shards with equally many rows are trained by one array program. Where lengths are private, which shards these
are must not change how another shard's program rounds, so its shape and its places are public (`blocks_of`).

>>> from dplearn.chance import PublicStream, SeededDice
>>> cut = shards(7, 3, PublicStream(0))
>>> [len(shard) for shard in cut], sorted(place for shard in cut for place in shard.tolist())
([3, 2, 2], [0, 1, 2, 3, 4, 5, 6])
>>> [shard.tolist() for shard in drawn_shards(7, 3, SeededDice(0))]
[[0, 2, 3, 6], [], [1, 4, 5]]
>>> blocks, others = blocks_of([3, 5, 40, 4], base=4, n_features=2)
>>> [(block.slots, block.length, block.members) for block in blocks], others
([(range(0, 4), 4, [0, 3]), (range(0, 4), 8, [1])], [2])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.chance.public import PublicStream

_CELLS = 1 << 17  # of a batch: a megabyte, so that it stays in a processor's cache
_MOST = 128  # teachers in a batch
_FEWEST = 4  # teachers in a full batch; with fewer, the array program is slower than separate fits
_LENGTHS = 4  # the base, and its double, fourfold and eightfold; longer shards take as long by themselves


def shards(n: int, k: int, stream: PublicStream) -> list[NDArray[np.int64]]:
    """Return the row numbers of each of k shards of a public number of rows, whose sizes differ by at most 1.

    The guarantee holds for every seed of the stream.
    """
    return np.array_split(stream.permutation(n), check_count("k", k, low=1))


def drawn_shards(n: int, k: int, dice: Dice) -> list[NDArray[np.int64]]:
    """Return the row numbers of each of k shards of a private number of rows, in the order of the table.

    Notes
    -----
    **Privacy.** Fix the draws of the records that two tables share, where one of them has one record more.
    For each value of these draws, and of that of the further record, the shards of the two tables are equal,
    except for the one in which the further record is missing. So one teacher differs: it is a function of the
    rows of its own shard, in the order of the table, and of its number. All that follows is private for one
    changed teacher, for every value of the draws, so it is private for their mixture, too: the draws are
    independent and uniform, and those of the shared records have the same distribution in both tables.

    **Assumes.** The draws stay secret: with a published seed the records behind the further one would take
    the draws of those before them, and every shard would change.
    """
    own = np.asarray(dice.below(check_count("k", k, low=1), size=n), dtype=np.int64)
    order = np.argsort(own, kind="stable")
    return np.split(order, np.cumsum(np.bincount(own, minlength=k))[:-1])


def equal_runs(lengths: Sequence[int], n_features: int) -> list[tuple[int, int]]:
    """Return the runs of shards with equally many rows: the index of the first, and that after the last.

    A run has no more cells than fit into a processor's cache; a run of one shard is trained by itself.
    """
    runs, start = [], 0
    while start < len(lengths):
        most = _block_size(lengths[start], n_features)
        end = start + 1
        while end < min(start + most, len(lengths)) and lengths[end] == lengths[start]:
            end += 1
        together = is_small(lengths[start], n_features)
        runs += [(start, end)] if together else [(each, each + 1) for each in range(start, end)]
        start = end
    return runs


def is_small(length: int, n_features: int) -> bool:
    """Return whether an array program is faster than a fit of the estimator, for a shard of this length."""
    return length > 1 and length * n_features * _FEWEST <= _CELLS


def _block_size(length: int, n_features: int) -> int:
    """Return the greatest number of shards of a length in one array program."""
    return min(_CELLS // max(length * n_features, 1), _MOST)


@dataclass(frozen=True)
class Block:
    """Shards that are trained by one array program, whose `slots` and `length` are public.

    Only the `members` among the slots are trained; the places of the others stay empty.
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

        A place is filled up with copies of its first row. Shards that are no members are not read.
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
    """Return the blocks in which consecutive shards of private lengths are trained, and the shards in none.

    Each shard has a public place, filled up to a public length, at least `base`. A shard that is shorter than
    half of this length, or longer than it, leaves its place empty, and is trained in a block of another
    length, or by itself: which one depends on its own length alone. A block without members is left out.
    """
    found, others = [], set(range(len(lengths)))
    for length in (base << power for power in range(_LENGTHS)):
        if not is_small(length, n_features):
            continue
        size, least = _block_size(length, n_features), 2 if length == base else length // 2 + 1
        for start in range(0, len(lengths), size):
            slots = range(start, min(start + size, len(lengths)))
            members = [each for each in slots if least <= lengths[each] <= length]
            others -= set(members)
            if members:
                found.append(Block(slots, length, members))
    return found, sorted(others)
