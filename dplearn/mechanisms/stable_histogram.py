"""Counts of keys that nobody declared: what is rare stays unseen, whatever the set of possible keys.

>>> from dplearn.chance import SeededDice
>>> words = ["of"] * 900 + ["the"] * 950 + ["xylophone"]
>>> stable_histogram(words, privacy=ApproxDP(1, 1e-6), dice=SeededDice(0))
{'of': 901, 'the': 953}
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Any

import numpy as np

from dplearn._validation import check_choice
from dplearn.chance.dice import Dice
from dplearn.core.distributions import laplace_quantile
from dplearn.core.exact import decay_ratio
from dplearn.domains.cells import counts_by_key
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import delta_of, epsilon_of

__all__ = [
    "stable_histogram",
    "stable_histogram_threshold",
]

_PLAIN = {str, bytes, int}  # types whose values are published as they are
_DEEPEST = 16
_BLOCK = 1 << 16  # keys that are looked at together


def stable_histogram(keys: Iterable[Hashable], *, privacy: ApproxDP, dice: Dice) -> dict[Hashable, int]:
    """Return the noisy counts of those keys that are frequent enough to be named.

    Parameters
    ----------
    keys : iterable of None, str, bytes, int, or tuples of these, of length n
        Private. One key for each record, from any set, even an infinite one. Not bool or float, some of
        which are equal to an int.
    privacy : ApproxDP
        Its `epsilon` and `delta` are spent whole; both positive. For neighbours that replace one record.
    dice : Dice
        Source of chance.

    Returns
    -------
    dict
        From key to noisy count, at least `stable_histogram_threshold(privacy)` and at most n; sorted by key.
        A key that is not there has a count near or below the threshold, or none. Numpy's strings and integers
        have become Python's.

    Raises
    ------
    TypeError
        If a key is of another type; the message shows no key.
    ValueError
        If epsilon or delta is 0, or the neighbours are others.

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
    magnitude, k the number of distinct keys: every key with a count of at least the threshold plus t is
    there.

    **Source.** Korolova, Kenthapadi, Mishra and Ntoulas (2009); Bun, Nissim and Stemmer (2016), Proposition
    2.20. The threshold is the exact quantile of discrete noise.
    """
    threshold, ratio = stable_histogram_threshold(privacy), decay_ratio(privacy.epsilon / 2)
    check_choice("neighbors", privacy.neighbors, ("replace_one",))
    present = _counted(keys)
    values = np.array([count for _, count in present], dtype=np.int64)
    n = int(values.sum())
    if n < threshold:
        return {}
    # Below the threshold all noisy counts are one outcome: not published. Above n none is told apart.
    noisy = values + dice.discrete_laplace(ratio, threshold - 1 - values, n - values, size=values.size)
    published = [
        (key, count) for (key, _), count in zip(present, noisy.tolist(), strict=True) if count >= threshold
    ]
    return counts_by_key(published)


def _counted(keys: Iterable[Hashable]) -> list[tuple[Hashable, int]]:
    """Return the keys as they are published, and their counts, in an order that is not that of the records.

    Keys of different types are never compared: "a" and b"a" hash alike, and Python warns, if it is told to.
    """
    counters: dict[str, Counter[Any]] = {}
    rest = iter(keys)
    while block := list(islice(rest, _BLOCK)):
        for name, parts in _by_type(block).items():
            counters.setdefault(name, Counter()).update(parts)
    return [
        (_unranked((name, key)), counter[key])
        for name, counter in sorted(counters.items())
        for key in sorted(counter)
    ]


def _by_type(block: list[Hashable]) -> dict[str, list[Any]]:
    kinds = set(map(type, block))
    if len(kinds) == 1 and kinds <= _PLAIN:
        return {kinds.pop().__name__: block}
    groups: dict[str, list[Any]] = {}
    for key in block:
        name, value = _ranked(key)
        groups.setdefault(name, []).append(value)
    return groups


def _ranked(key: Any, depth: int = 0) -> tuple[str, Any]:
    """Return the name of the type in which a key is published, and the key in it."""
    if isinstance(key, tuple) and depth < _DEEPEST:
        return "tuple", tuple(_ranked(part, depth + 1) for part in tuple.__iter__(key))
    if isinstance(key, str):
        return "str", str.__str__(key)
    if isinstance(key, bytes):
        return "bytes", bytes.join(b"", [key])
    if isinstance(key, int) and not isinstance(key, bool):
        return "int", int.__int__(key)
    if isinstance(key, np.integer):
        return "int", int(key)
    if key is not None:
        raise TypeError("keys must be None, str, bytes, int, or tuples of these, nested up to 16 deep")
    return "None", 0


def _unranked(ranked: tuple[str, Any]) -> Hashable:
    name, value = ranked
    if name == "tuple":
        return tuple(map(_unranked, value))
    return None if name == "None" else value


def stable_histogram_threshold(privacy: ApproxDP) -> int:
    """Return the least noisy count that a stable histogram publishes.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon and delta positive.

    Returns
    -------
    int
        The least threshold with P[1 + Z >= threshold] <= delta, Z the noise of one count.

    Notes
    -----
    **Privacy.** A key that one record alone has is published with probability at most delta: the second
    half of the proof of `stable_histogram`. Sees no data.

    **Assumes.** One record has one key.

    **Accuracy.** The least integer that keeps this, from the exact distribution of the noise.

    **Source.** As for `stable_histogram`.
    """
    ratio = decay_ratio(epsilon_of(privacy) / 2)
    return 1 + laplace_quantile(ratio, delta_of(privacy))
