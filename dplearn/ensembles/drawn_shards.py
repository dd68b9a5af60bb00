"""Shards of a private number of records: each record draws its shard by itself, uniformly and in secret.

Fix the draws of the records that two tables share, where one of them has one record more. For each value of
these draws, and of that of the further record, the shards of the two tables are equal, except for one, in
which the further record is missing. A teacher is a function of the rows of its own shard, in the order of the
table, and of its number, so one teacher differs, whatever it learns. All that follows is private for one
changed teacher, for every value of the draws, so it is private for their mixture, too: the draws are
independent and uniform, and those of the shared records have the same distribution in both tables. The draws
must stay secret. With a published seed the records behind the further one would take the draws of those
before them, and every shard would change.

>>> from dplearn.chance import SeededDice
>>> cut = drawn_shards(7, 3, SeededDice(0))
>>> [shard.tolist() for shard in cut]
[[0, 2, 3, 6], [], [1, 4, 5]]
"""

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.dice import Dice

__all__ = ["drawn_shards"]


def drawn_shards(n: int, k: int, dice: Dice) -> list[NDArray[np.int64]]:
    """Return the row numbers of each shard, in the order of the table.

    Parameters
    ----------
    n : int
        Private. Number of records.
    k : int
        Public. Number of shards; some may be empty.
    dice : Dice
        Source of chance.

    Returns
    -------
    list of k ndarray of int64
        Private, like their lengths. A partition of 0..n-1.
    """
    own = np.asarray(dice.below(check_count("k", k, low=1), size=n), dtype=np.int64)
    order = np.argsort(own, kind="stable")
    return np.split(order, np.cumsum(np.bincount(own, minlength=k))[:-1])
