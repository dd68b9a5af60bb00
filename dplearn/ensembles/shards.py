"""Disjoint shards of records, cut at random by a public stream.

Shards depend on no feature and no label. With stratified shards one replaced record could move another
record to a different shard, and two teachers would change.

>>> from dplearn.chance import PublicStream
>>> cut = shards(7, 3, PublicStream(0))
>>> [len(shard) for shard in cut], sorted(place for shard in cut for place in shard.tolist())
([3, 2, 2], [0, 1, 2, 3, 4, 5, 6])
"""

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.public import PublicStream

__all__ = ["shards"]


def shards(n: int, k: int, stream: PublicStream) -> list[NDArray[np.int64]]:
    """Return the row numbers of each shard, in random order.

    Parameters
    ----------
    n : int
        Public. Number of records.
    k : int
        Number of shards; if it exceeds n, some are empty.
    stream : PublicStream
        The source of the random order. The guarantee holds for every seed of it.

    Returns
    -------
    list of k ndarray of int64
        A partition of 0..n-1; the sizes differ by at most 1.
    """
    return np.array_split(stream.permutation(n), check_count("k", k, low=1))
