"""Disjoint shards of the records, cut by position and public chance alone.

No shard knows a feature or a label. Were they stratified, one replaced record would push another over the
edge of its shard, and two teachers would change.

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
    """Return the places of each shard's records, in a random order.

    Parameters
    ----------
    n : int
        Number of records, public.
    k : int
        Number of shards; where it exceeds n, some are empty.
    stream : PublicStream
        Decides who falls where. The guarantee holds for every seed of it.

    Returns
    -------
    list of k ndarray of int64
        Disjoint; together 0..n-1; their sizes differ by at most 1.
    """
    return np.array_split(stream.permutation(n), check_count("k", k, low=1))
