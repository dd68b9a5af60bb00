"""The stability-based histogram: noisy counts of the frequent keys from an undeclared, even infinite, set."""

from collections.abc import Hashable, Iterable
from fractions import Fraction

import numpy as np

from dplearn.chance.dice import Dice
from dplearn.core.distributions import laplace_quantile
from dplearn.core.exact import decay_ratio
from dplearn.core.keys import KeyCounts, counted_keys
from dplearn.domains.cells import counts_by_key
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import delta_of, epsilon_of
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS, moved_counts

__all__ = [
    "stable_histogram",
    "stable_histogram_ratio",
    "stable_histogram_threshold",
]


def stable_histogram(
    keys: Iterable[Hashable] | KeyCounts,
    *,
    privacy: ApproxDP,
    dice: Dice,
    most_records: int = MOST_RECORDS,
) -> dict[Hashable, int]:
    """Return the keys whose noisy count reaches a threshold, with their noisy counts.

    Parameters
    ----------
    keys : iterable of None, str, bytes, int, or tuples of these, of length n; or KeyCounts
        Private. One key a record, from any set, even an infinite one. bool and float are refused, because
        some of their values are equal to an int.
    privacy : ApproxDP
        Its `epsilon` and `delta` are spent whole; both positive. Its `neighbors` decide the noise.
    dice : Dice
        Source of chance.
    most_records : int, default=2**32
        Public. With neighbours "add_remove", noisy counts are clipped to it.

    Returns
    -------
    dict
        Maps keys to noisy counts, each at least `stable_histogram_threshold(privacy)` and at most n, or
        `most_records` with neighbours "add_remove"; sorted by key. NumPy strings and integers are converted
        to those of Python.

    Raises
    ------
    TypeError
        If a key is of another type; the message shows no key.
    ValueError
        If epsilon or delta is 0.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: a replaced record subtracts 1 from the count of
    one key and adds 1 to that of another. Let p be the probability that a key of count 1 is published, at
    most delta; let P and P' be the output distributions on a data set and its neighbour. For a key that is
    present in both, noise of ratio r >= exp(-epsilon / 2) gives a factor of at most exp(epsilon / 2); for two
    such keys, exp(epsilon) together. A key that is present in the data set only has count 1 and is published
    with probability p, which delta covers. A key that is present in the neighbour only is unpublished with
    probability 1 under P and 1 - p under P'; write P[E] = (1 - p) P[E] + p P[E]: the first part is at most
    exp(epsilon / 2) P'[E], the factor of the other key, and the second is at most p. If each of the two keys
    is present on one side only, each is unpublished with probability 1 - p on its side, so epsilon = 0 and
    delta = p suffice.

    For one added or removed record: it moves the count of one key by 1, so noise of ratio r >= exp(-epsilon)
    suffices if the key is present in both tables. If it is present in one only, it has count 1 there, and the
    output without it has the same distribution as on the other table: (0, p) suffices, with p at most delta.
    Nothing else depends on the number of records.

    **Assumes.** Each record has one key, of a type listed above; the number of records is public, except for
    neighbours "add_remove".

    **Accuracy.** Let k be the number of distinct keys. With probability at least 1 - beta all noise is at
    most t = (2 / epsilon) ln(2 k / beta) in magnitude (half of that for "add_remove"), and then every key
    with a count of at least the threshold plus t is published.

    **Source.** Korolova, Kenthapadi, Mishra and Ntoulas (2009); Bun, Nissim and Stemmer (2016), Proposition
    2.20. Here the threshold is the exact quantile of the discrete noise.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import stable_histogram
    >>> from dplearn.privacy import ApproxDP
    >>> words = ["of"] * 900 + ["the"] * 950 + ["xylophone"]
    >>> stable_histogram(words, privacy=ApproxDP(1, 1e-6), dice=SeededDice(0))
    {'of': 901, 'the': 953}
    """
    threshold, ratio = stable_histogram_threshold(privacy), stable_histogram_ratio(privacy)
    present = counted_keys(keys)
    values = np.array([count for _, count in present], dtype=np.int64)
    most = most_records if privacy.neighbors == ADDED else int(values.sum())
    if most < threshold:
        return {}
    # Noisy counts below the threshold are one outcome (not published); others are at most `most`.
    values = np.minimum(values, most)
    noisy = values + dice.discrete_laplace(ratio, threshold - 1 - values, most - values, size=values.size)
    published = [
        (key, count) for (key, _), count in zip(present, noisy.tolist(), strict=True) if count >= threshold
    ]
    return counts_by_key(published)


def stable_histogram_threshold(privacy: ApproxDP) -> int:
    """Return the least noisy count that a stable histogram publishes.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon and delta positive.

    Returns
    -------
    int
        The least threshold with P[1 + Z >= threshold] <= delta, where Z is the noise of one count.

    Notes
    -----
    **Privacy.** A key of count 1 is published with probability at most delta, as the proof of
    `stable_histogram` requires. Reads no data.

    **Assumes.** One record has one key.

    **Accuracy.** The least such integer, from the exact distribution of the noise.

    **Source.** As for `stable_histogram`.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import stable_histogram_threshold
    >>> stable_histogram_threshold(ApproxDP(1, 1e-6))
    28
    """
    return 1 + laplace_quantile(stable_histogram_ratio(privacy), delta_of(privacy))


def stable_histogram_ratio(privacy: ApproxDP) -> Fraction:
    """Return the ratio of the noise of one count.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon positive. A replaced record moves two counts by 1 each, an added or removed one moves one.
    """
    return decay_ratio(epsilon_of(privacy) / moved_counts(privacy.neighbors))
