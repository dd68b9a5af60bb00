"""Errors of point functions over keys, and over the buckets that keys are hashed into.

A point function is 1 at one key and 0 at all others, or 0 everywhere. The net count of a key is the number of
its records with label 1 minus the number with label 0. The errors of the key's point function are the number
of all records with label 1 minus the net count.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray


def leading_key(keys: Iterable[bytes], labels: Iterable[int]) -> tuple[tuple[bytes] | None, int]:
    """Return the key with the greatest net count, and its distance to instability.

    `keys`: the key of each record. `labels`: its label. `leader`: the key with a net count above 0 and above
    that of all other keys; None if there is none. `distance`: 0 if one replaced record may change the leader;
    it changes by at most 1 with a replaced record.

    Notes
    -----
    Proof: the lead is the greatest net count minus the next one, where keys without records have net count 0.
    A replaced record decreases one key's net count by at most 1 and increases another's by at most 1, or
    changes that of one key by at most 2. So it changes any difference of two net counts, and the lead, by at
    most 2. The distance is d for a lead of 2 d + 1 or 2 d + 2, and 0 for a smaller lead, so it changes by at
    most 1. If it is at least 1, the lead is at least 3, and after one replaced record still at least 1.
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
    """Return how many replaced records, each reducing a lead by 2, leave a lead of at least 1; 0 if none."""
    return max(0, (lead - 1) // 2)


def net_counts(buckets: NDArray[np.int64], labels: NDArray[np.integer], n_buckets: int) -> NDArray[np.int64]:
    """Return the net count of each bucket; parameters as for `bucket_errors`."""
    ones = labels.astype(bool)
    counts = [np.bincount(buckets[chosen], minlength=n_buckets) for chosen in (ones, ~ones)]
    return (counts[0] - counts[1]).astype(np.int64)


def prefix_errors(
    levels: Sequence[NDArray[np.int64]], labels: NDArray[np.integer], n_buckets: int
) -> NDArray[np.int64]:
    """Return the errors of each bucket of each level, of the rule 0 everywhere, and of 1 everywhere.

    `levels` (n,): for each length of a prefix the bucket of each record, from 0 to n_buckets - 1. `labels`
    (n,): the label of each record. `n_buckets`: at least 1. Result: A replaced record changes each entry by
    at most 1.
    """
    ones = int(np.count_nonzero(labels))
    nets = [net_counts(buckets, labels, n_buckets) for buckets in levels]
    return np.concatenate([*(ones - net for net in nets), np.array([ones, len(labels) - ones])])


def bucket_errors(
    buckets: NDArray[np.int64], labels: NDArray[np.integer], n_buckets: int
) -> NDArray[np.int64]:
    """Return the errors of each point function on buckets, the last of which is 0 everywhere.

    `buckets` (n,): from 0 to n_buckets - 1. `labels` (n,): the label of each record. `n_buckets`: at least 1.
    Result: A replaced record changes each entry by at most 1.
    """
    # The rule 0 everywhere is that of one more bucket, without records.
    return int(np.count_nonzero(labels)) - net_counts(buckets, labels, n_buckets + 1)


def best_entries(counts: NDArray[np.int64], labels: NDArray[np.integer]) -> list[int | None]:
    """Return for each output the entry with the greatest count among those labelled 1 in this output.

    `counts` (n_entries,): positive. `labels` (n_entries, n_outputs): the labels of each entry. Result: of
    entries with equal counts, the first; None if no entry is labelled 1.
    """
    if not len(counts):
        return [None] * labels.shape[1]
    kept = counts[:, None] * labels
    best = kept.argmax(axis=0).tolist()
    return [entry if kept[entry, output] else None for output, entry in enumerate(best)]
