"""The frequent keys of several columns at once, from undeclared sets, by Gaussian noise and a threshold."""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt, sqrt

import numpy as np

from dplearn._validation import check_choice, check_number
from dplearn.chance.dice import Dice
from dplearn.core.exact import at_most_exp
from dplearn.core.keys import KeyCounts, counted_keys
from dplearn.mechanisms.noisy_counts import gaussian_counts
from dplearn.privacy import ZeroConcentratedDP
from dplearn.privacy.guarantees import rho_of

__all__ = ["frequent_keys", "frequent_keys_threshold"]

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
    dice : Dice
        Source of chance.

    Returns
    -------
    list of d lists
        The keys of each column, in nonincreasing order of their noisy counts; keys of equal noisy counts are
        sorted. Empty lists if n is below the threshold.

    Notes
    -----
    **Privacy.** With probability at least 1 - delta on either side, `privacy`; so if `privacy` implies
    (epsilon, delta'), this release has (epsilon, delta + delta'). Proof: let U be the pairs of column and key
    that occur in the data and not in the neighbour, at most d pairs of count 1. The event that no pair of U
    is published has probability at least 1 - delta, by the threshold; likewise on the other side. Given both
    events the output is a function of the noisy counts of the pairs that occur on both sides. A replaced
    record moves at most 2 d counts, by 1 each, so the squared L2 sensitivity is 2 d.

    **Assumes.** Each record has one key in each column, of a type listed above; the number of records and the
    number of columns are public.

    **Accuracy.** A key whose count is at least the threshold plus sqrt(2 sigma2 ln(k / beta)),
    sigma2 = d / rho, is published with probability at least 1 - beta, for all k such keys together.

    **Source.** Korolova, Kenthapadi, Mishra and Ntoulas (2009); Gopi, Gulhane, Kulkarni, Shen, Shokouhi and
    Yekhanin (2020), Section 5, for Gaussian noise. Here the noise is discrete, and all columns share one
    sensitivity.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> from fractions import Fraction
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import frequent_keys
    >>> from dplearn.privacy import ZeroConcentratedDP
    >>> towns, colours = ["north"] * 600 + ["south"] * 399 + ["moon"], ["red"] * 995 + ["blue"] * 5
    >>> frequent_keys(
    ...     [towns, colours], privacy=ZeroConcentratedDP(0.01), delta=Fraction(1, 10**6), dice=SeededDice(0)
    ... )
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
    of `frequent_keys` requires. Reads no data. Proof: for t >= 1, P[Z >= t] is at most
    exp(-t^2 / (2 sigma2)) sum_j exp(-t j / sigma2) / sqrt(2 pi sigma2), because (t + j)^2 >= t^2 + 2 t j, and
    the sum of all weights exp(-k^2 / (2 sigma2)) is at least sqrt(2 pi sigma2) by Poisson's summation. The
    geometric sum is at most (t + sigma2) / t, because 1 - exp(-x) >= x / (1 + x).

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

    high = 1 + int(sqrt(float(sigma2)))
    while not proves(high):
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if proves(middle) else (middle, high)
    return high
