"""How well each point function fits: by keys as they are, or by the buckets that they are hashed into.

A point function is 1 at one key and 0 at all others, or 0 everywhere. With the net count of a key, the
records of it that are labelled 1 less those that are labelled 0, it is wrong at as many records as there are
ones, less that net count.

>>> leading_key([b"a", b"a", b"a", b"b", b"c", b"c"], [1, 1, 1, 1, 0, 1])
((b'a',), 0)
>>> leading_key([b"a"] * 9 + [b"b"] * 2, [1] * 9 + [0, 1])
((b'a',), 4)
>>> bucket_errors(np.array([0, 0, 2]), np.array([1, 0, 1]), 3).tolist()
[2, 2, 1, 2]
"""

from collections import Counter
from collections.abc import Iterable
from itertools import compress

import numpy as np
from numpy.typing import NDArray

__all__ = ["bucket_errors", "distance_of_lead", "leading_key"]


def leading_key(keys: Iterable[bytes], labels: Iterable[int]) -> tuple[tuple[bytes] | None, int]:
    """Return the key of the greatest net count, and how many replaced records cannot change that.

    Parameters
    ----------
    keys : iterable of bytes of length n
        The key of each record.
    labels : iterable of {0, 1} of length n
        Its label.

    Returns
    -------
    leader : tuple of one key, or None
        The one key whose net count is above 0 and above all others'; None if there is none.
    distance : int
        0 wherever a replaced record can make another leader, or none; moves by at most 1 with each.

    Notes
    -----
    Proof: the lead is the greatest net count less the next, that of keys without records, 0, included. A
    replaced record moves one key's net count by 1 down and another's by 1 up at most, or one key's by 2: any
    difference of two net counts by at most 2, and so the lead. A distance of d stands for a lead of 2 d + 1
    or 2 d + 2, or less with d = 0; so it moves by at most 1, and where it is 1 or more, the lead is 3 or
    more, of which a replaced record leaves 1.
    """
    known, ones = list(keys), list(labels)
    nets = Counter(compress(known, ones))
    nets.subtract(key for key, one in zip(known, ones, strict=True) if not one and key in nets)
    if not nets:
        return None, 0
    (leader, most), *others = nets.most_common(2)
    lead = most - max([0, *(net for _, net in others)])
    return ((leader,), distance_of_lead(lead)) if lead > 0 else (None, 0)


def distance_of_lead(lead: int) -> int:
    """Return how many replaced records leave a lead of at least 1, each taking 2 of it; 0 if none does."""
    return max(0, (lead - 1) // 2)


def bucket_errors(
    buckets: NDArray[np.int64], labels: NDArray[np.integer], n_buckets: int
) -> NDArray[np.int64]:
    """Return how many records each point function on buckets gets wrong; the last is 0 everywhere.

    Parameters
    ----------
    buckets : ndarray of int of shape (n,)
        From 0 to n_buckets - 1.
    labels : ndarray of {0, 1} of shape (n,)
        Of the records.
    n_buckets : int
        At least 1.

    Returns
    -------
    ndarray of int64 of shape (n_buckets + 1,)
        A replaced record moves each entry by at most 1.
    """
    ones = labels.astype(bool)
    counts = [np.bincount(buckets[chosen], minlength=n_buckets + 1) for chosen in (ones, ~ones)]
    errors: NDArray[np.int64] = int(ones.sum()) - counts[0] + counts[1]
    return errors.astype(np.int64)
