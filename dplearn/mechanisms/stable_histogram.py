"""Counts of keys that nobody declared: what is rare stays unseen, whatever the set of possible keys.

>>> from dplearn.chance import SeededDice
>>> words = ["of"] * 900 + ["the"] * 950 + ["xylophone"]
>>> stable_histogram(words, privacy=ApproxDP(1, 1e-6), dice=SeededDice(0))
{'of': 903, 'the': 954}
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.core.distributions import laplace_quantile
from dplearn.core.exact import decay_ratio
from dplearn.privacy import ApproxDP

__all__ = ["stable_histogram", "stable_histogram_bar"]

_PLAIN: dict[type, Callable[[Any], Hashable]] = {str: str, bytes: bytes, int: int, np.integer: int}
_PUBLISHED = {str, bytes, int, type(None)}  # and tuples of these, which must be looked into
_BLOCK = 1 << 16  # keys that are looked at together


def stable_histogram(keys: Iterable[Hashable], *, privacy: ApproxDP, dice: Dice) -> dict[Hashable, int]:
    """Return the noisy counts of those keys that are frequent enough to be named.

    Parameters
    ----------
    keys : iterable of None, str, bytes, int, or tuples of these, of length n
        Private. One key for each record, from any set, even an infinite one. Not bool or float, some of
        which are equal to an int.
    privacy : ApproxDP
        Its `epsilon` and `delta` are spent whole; both positive.
    dice : Dice
        Source of chance.

    Returns
    -------
    dict
        From key to noisy count, at least `stable_histogram_bar(privacy)` and at most n; sorted by key. A key
        that is not there has a count near or below the bar, or none. Numpy's strings and integers have become
        Python's.

    Raises
    ------
    TypeError
        If a key is of another type; the message shows no key.
    ValueError
        If epsilon or delta is 0.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: a replaced record takes 1 from one key and gives
    1 to another; let p be the probability that a key of count 1 is published, at most delta. Noise of ratio
    r >= exp(-epsilon / 2) covers each of the two that is present on both sides, exp(epsilon) together. A key
    that is present here only has count 1 and is published with probability p: that is in delta. One that is
    present there only must stay unpublished, which has probability 1 here and 1 - p there; P[E] =
    (1 - p) P[E] + p P[E], whose first part the neighbour has but for the factor exp(epsilon / 2) of the other
    key; the second is at most p. If each of the two is present on one side only, being unpublished has
    probability 1 - p on both, so delta = p serves with epsilon = 0.

    **Assumes.** Each record has one key, of a type listed above; the number of records is public.

    **Accuracy.** With probability at least 1 - beta all noise is below t = (2 / epsilon) ln(2 k / beta) in
    magnitude, k the number of distinct keys: every key with a count of at least the bar plus t is there.

    **Source.** Korolova, Kenthapadi, Mishra and Ntoulas (2009); Bun, Nissim and Stemmer (2016), Proposition
    2.20. The bar is the exact quantile of discrete noise.
    """
    ratio, bar = _noise(privacy)
    counts = _counted(keys)
    present = _in_order(counts)
    values = np.array([counts[key] for key in present], dtype=np.int64)
    n = int(values.sum())
    if n < bar:
        return {}
    # Below the bar all noisy counts are one outcome: not published. Above n none is told apart.
    noisy = values + dice.discrete_laplace(ratio, bar - 1 - values, n - values, size=values.size)
    return {key: count for key, count in zip(present, noisy.tolist(), strict=True) if count >= bar}


def stable_histogram_bar(privacy: ApproxDP) -> int:
    """Return the least noisy count that a stable histogram publishes.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon and delta positive.

    Returns
    -------
    int
        The least bar with P[1 + Z >= bar] <= delta, Z the noise of one count.
    """
    return _noise(privacy)[1]


def _noise(privacy: ApproxDP) -> tuple[Fraction, int]:
    ratio = decay_ratio(check_number("epsilon", privacy.epsilon, above=0) / 2)
    return ratio, 1 + laplace_quantile(ratio, check_number("delta", privacy.delta, above=0))


def _counted(keys: Iterable[Hashable]) -> Counter[Hashable]:
    """Count the keys, each in the one type in which it is published; block by block, as they come."""
    counts: Counter[Hashable] = Counter()
    rest = iter(keys)
    while block := list(islice(rest, _BLOCK)):
        counts.update(block if _PUBLISHED.issuperset(map(type, block)) else map(_checked, block))
    return counts


def _in_order(keys: Iterable[Hashable]) -> list[Any]:
    """Return keys so that the order of records is not published."""
    present: list[Any] = list(keys)
    alike = len(set(map(type, present))) == 1 and type(present[0]) in _PLAIN
    return sorted(present) if alike else sorted(present, key=_rank)


def _checked(key: Hashable) -> Hashable:
    """Return the key in the one type in which it is published."""
    if isinstance(key, tuple):
        return tuple(map(_checked, key))
    for kind, plain in _PLAIN.items():
        if isinstance(key, kind) and not isinstance(key, bool):
            return plain(key)
    if key is not None:
        raise TypeError("keys must be None, str, bytes, int, or tuples of these")
    return None


def _rank(key: Hashable) -> tuple[object, ...]:
    """Order keys of all types."""
    if isinstance(key, tuple):
        return "tuple", tuple(map(_rank, key))
    return type(key).__name__, "" if key is None else key
