"""The frequent keys of an undeclared, even infinite, set with noisy counts, and those of several columns."""

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt

import numpy as np

from dplearn._validation import check_choice, check_number
from dplearn.chance.dice import Dice
from dplearn.domains.cells import counts_by_key
from dplearn.domains.keys import KeyCounts, counted_keys
from dplearn.kernels import at_most_exp, decay_ratio, laplace_quantile, least
from dplearn.mechanisms.noisy_counts import gaussian_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.guarantees import delta_of, epsilon_of, rho_of
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS, moved_counts


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
    most_records : int, default=2**32
        Public. With neighbours "add_remove", noisy counts are clipped to it.

    Returns
    -------
    dict
        Maps keys to noisy counts, each at least `stable_histogram_threshold(privacy)` and at most n, or
        `most_records` with neighbours "add_remove"; sorted by key, of types of Python.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record, which subtracts 1 from the count of one key and adds 1 to
    that of another: each gives a factor of at most exp(epsilon / 2), and a key that occurs on one side only,
    with count 1, is published with probability at most delta. Proof: docs/theory/noisy_counts.md. One added
    or removed record moves the count of one key by 1: noise of ratio r >= exp(-epsilon) suffices.

    **Assumes.** Each record has one key, of a type listed above; the number of records is public, except for
    neighbours "add_remove".

    **Accuracy.** Let k be the number of distinct keys. With probability at least 1 - beta all noise is at
    most t = (2 / epsilon) ln(2 k / beta) in magnitude (half of that for "add_remove"), and then every key
    with a count of at least the threshold plus t is published.

    **Source.** Korolova, Kenthapadi, Mishra and Ntoulas (2009); Bun, Nissim and Stemmer (2016), Proposition
    2.20.

    Examples
    --------
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
    """Return the ratio of the noise of one count; a replaced record moves two, an added one moves one."""
    return decay_ratio(epsilon_of(privacy) / moved_counts(privacy.neighbors))


_TWO_PI = Fraction(6283185, 10**6)  # slightly less than 2 pi
_BITS = 64  # of the square root


def frequent_keys(
    columns: Sequence[Sequence[Hashable] | KeyCounts],
    *,
    privacy: ZeroConcentratedDP,
    delta: Fraction,
    dice: Dice,
) -> list[list[Hashable]]:
    """Return the keys of each column whose noisy count reaches a threshold.

    Parameters
    ----------
    columns : sequence of d sequences of length n, or of d KeyCounts
        Private. One key of each record a column: None, str, bytes, int, or tuples of these.
    privacy : ZeroConcentratedDP
        Its `rho` is spent whole, by all columns together. For neighbours that replace one record.
    delta : Fraction
        Probability of failure, by all columns together; in (0, 1).

    Returns
    -------
    list of d lists
        The keys of each column, in nonincreasing order of their noisy counts; keys of equal noisy counts are
        sorted. Empty lists if n is below the threshold.

    Notes
    -----
    **Privacy.** With probability at least 1 - delta on either side, `privacy`; so if `privacy` implies
    (epsilon, delta'), this release has (epsilon, delta + delta'). Proof: at most d pairs of column and key
    occur in the data and not in the neighbour, each of count 1. That none of these is published has
    probability at least 1 - delta, by the threshold; likewise on the other side. Given both events the output
    is a function of the noisy counts of the pairs on both sides. A replaced record moves at most 2 d counts,
    by 1 each.

    **Assumes.** Each record has one key in each column, of a type listed above; the number of records and the
    number of columns are public.

    **Accuracy.** A key whose count is at least the threshold plus sqrt(2 sigma2 ln(k / beta)),
    sigma2 = d / rho, is published with probability at least 1 - beta, for all k such keys together.

    **Source.** Korolova, Kenthapadi, Mishra and Ntoulas (2009); Gopi, Gulhane, Kulkarni, Shen, Shokouhi and
    Yekhanin (2020), Section 5, for Gaussian noise.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import frequent_keys
    >>> from dplearn.privacy import ZeroConcentratedDP
    >>> towns, colours = ["north"] * 600 + ["south"] * 399 + ["moon"], ["red"] * 995 + ["blue"] * 5
    >>> given = {"privacy": ZeroConcentratedDP(0.01), "delta": Fraction(1, 10**6), "dice": SeededDice(0)}
    >>> frequent_keys([towns, colours], **given)
    [['north', 'south'], ['red']]
    """
    check_choice("neighbors", privacy.neighbors, ("replace_one",))
    present = [counted_keys(column) for column in columns]
    if not columns:
        return []
    threshold = frequent_keys_threshold(len(columns), privacy=privacy, delta=delta)
    if len(columns[0]) < threshold:
        return [[] for _ in columns]
    counts = np.array([count for column in present for _, count in column], dtype=np.int64)
    noisy = gaussian_counts(counts, privacy=privacy, dice=dice, squared_sensitivity=2 * len(columns))
    ends = list(accumulate(map(len, present), initial=0))
    return [
        _published(column, noisy[start:stop].tolist(), threshold)
        for column, start, stop in zip(present, ends, ends[1:], strict=False)
    ]


def _published(column: list[tuple[Hashable, int]], noisy: list[int], threshold: int) -> list[Hashable]:
    kept = [(count, key) for (key, _), count in zip(column, noisy, strict=True) if count >= threshold]
    return [key for _, key in sorted(kept, key=lambda pair: -pair[0])]  # stable: equal counts stay sorted


def frequent_keys_threshold(n_columns: int, *, privacy: ZeroConcentratedDP, delta: Fraction) -> int:
    """Return the least noisy count that `frequent_keys` publishes.

    Parameters
    ----------
    n_columns : int
        Number of columns, d; at least 1.
    privacy : ZeroConcentratedDP
        Its `rho` is that of all columns together.
    delta : Fraction
        Probability of failure of all columns together, in (0, 1).

    Returns
    -------
    int
        A threshold with d P[1 + Z >= threshold] <= delta, where Z is the noise of one count.

    Notes
    -----
    **Privacy.** d keys of count 1, one a column, are published with probability at most delta, as the proof
    of `frequent_keys` requires. Reads no data. Proof: for t >= 1, P[Z >= t] is at most exp(-t^2 / (2 sigma2))
    sum_j exp(-t j / sigma2) / sqrt(2 pi sigma2), as (t + j)^2 >= t^2 + 2 t j, and all weights exp(-k^2 / (2
    sigma2)) sum to at least sqrt(2 pi sigma2) (Poisson). The geometric sum is at most (t + sigma2) / t.

    **Assumes.** One record has one key in each column.

    **Accuracy.** The least threshold that this bound proves, at most 1 + sqrt(2 sigma2 ln(2 d / delta)) + 1.

    **Source.** Canonne, Kamath and Steinke (2020), Section 4, for the normalising constant.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.privacy import ZeroConcentratedDP
    >>> from dplearn.theory import frequent_keys_threshold
    >>> frequent_keys_threshold(2, privacy=ZeroConcentratedDP(0.01), delta=Fraction(1, 10**6))
    72
    """
    failure = check_number("delta", delta, above=0, below=1)
    return 1 + _tail_start(n_columns / rho_of(privacy), failure / n_columns)


@lru_cache(maxsize=64)
def _tail_start(sigma2: Fraction, delta: Fraction) -> int:
    """Return the least t >= 1 for which the bound proves P[Z >= t] <= delta."""
    root = Fraction(isqrt(int(_TWO_PI * sigma2 * (1 << 2 * _BITS))), 1 << _BITS)  # at most sqrt(2 pi sigma2)

    def proves(t: int) -> bool:
        return at_most_exp((t + sigma2) / (t * root * delta), Fraction(t * t) / (2 * sigma2))

    return least(proves, 1)
