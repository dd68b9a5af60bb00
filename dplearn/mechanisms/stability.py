"""Release an answer unchanged where no few records could have changed it.

>>> from dplearn.chance import SeededDice
>>> guarantee = ApproxDP(1, 1e-6)
>>> release_if_stable("yes", 40, privacy=guarantee, dice=SeededDice(0))
'yes'
>>> release_if_stable("yes", 0, privacy=guarantee, dice=SeededDice(0)) is None
True
>>> most_frequent_if_stable([2] * 90 + [0] * 10, 3, privacy=guarantee, dice=SeededDice(0))
2
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, TypeVar

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.core.exact import exp_bounds, log_bounds
from dplearn.core.votes import plurality
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import delta_of, epsilon_of

__all__ = [
    "most_frequent_if_stable",
    "release_if_stable",
    "release_probabilities",
    "release_probability_table",
]

_LARGEST = Fraction(700)  # greater epsilons count as this
_LONGEST = 1_000_000  # entries of the table of probabilities

Answer = TypeVar("Answer")


def release_if_stable(answer: Answer, distance: int, *, privacy: ApproxDP, dice: Dice) -> Answer | None:
    """Return `answer` if few records could not have changed it, else None.

    Parameters
    ----------
    answer : object
        Private. Returned as it is.
    distance : int
        Private. Nonnegative: how many records can change before the answer may.
    privacy : ApproxDP
        Its `epsilon` and `delta` are spent whole; both positive.
    dice : Dice
        Source of chance.

    Returns
    -------
    object or None
        `answer` with probability `release_probabilities(privacy)[distance]`, 1 beyond its end.

    Raises
    ------
    TypeError, ValueError
        If `distance` is not a nonnegative integer, or `privacy` has no positive epsilon and delta.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `distance` is counted in. Proof: let p(d) be the
    probability to speak. Where neighbours have different answers both distances are 0, each answer has
    probability p(0) <= delta, and silence is equally probable. Else the distances differ by at most 1, and
    the two inequalities p(d + 1) <= exp(epsilon) p(d) + delta and 1 - p(d) <= exp(epsilon) (1 - p(d + 1)) +
    delta hold for every d by construction; the two opposite ones hold since p rises.

    **Assumes.** `distance` is 0 wherever some neighbour has another answer, and moves by at most 1 between
    neighbours.

    **Accuracy.** No mechanism with this guarantee speaks with greater probability at any distance. It speaks
    with probability at least 1 - beta once distance >= ln(1 / (delta * beta)) / epsilon + 1.

    **Source.** Smith and Thakurta (2013); Bassily, Thakkar and Thakurta (2018), Algorithm 2. There noise is
    added to the distance; here the probability of speaking is the largest possible, the recursion of
    Desfontaines, Voss, Gipson and Mandayam (2022).
    """
    if isinstance(distance, bool) or not hasattr(distance, "__index__") or distance < 0:
        raise ValueError("distance must be a nonnegative integer")
    table, one = release_probability_table(privacy)
    p = Fraction(table[int(distance)], one) if distance < len(table) else Fraction(1)
    return answer if dice.bernoulli(p) else None


def most_frequent_if_stable(votes: Any, n_labels: int, *, privacy: ApproxDP, dice: Dice) -> int | None:
    """Return the label with the most votes if few votes could not have changed it, else None.

    Parameters
    ----------
    votes : array-like of int of shape (n,)
        Private. Labels from 0 to n_labels - 1, or -1 where no vote was cast.
    n_labels : int
        At least 2; public.
    privacy : ApproxDP
        Its `epsilon` and `delta` are spent whole.
    dice : Dice
        Source of chance.

    Returns
    -------
    int or None
        The first label with the most votes, or None.

    Raises
    ------
    TypeError, ValueError
        If `votes` is not such an array, or `n_labels` not such a number.

    Notes
    -----
    **Privacy.** `privacy`, where neighbours differ in one vote, which may be moved, cast or withdrawn.

    **Assumes.** One record changes at most one vote.

    **Accuracy.** As for `release_if_stable`; the distance of a plurality that leads by g votes is at least
    (g - 2) / 2.

    **Source.** As for `release_if_stable`. The distance is exact: the gap to the runner-up less one, as in
    the paper, moves by 2 with one vote.
    """
    n_labels = check_count("n_labels", n_labels, low=2)
    array = np.asarray(votes)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError("votes must be a one-dimensional array of integers")
    if array.size and (array.min() < -1 or array.max() >= n_labels):
        raise ValueError(f"votes must be from -1 to n_labels - 1 = {n_labels - 1}")
    codes = array.astype(np.int64)
    winner, distance = plurality(np.bincount(codes[codes >= 0], minlength=n_labels))
    return release_if_stable(int(winner), int(distance), privacy=privacy, dice=dice)


def release_probabilities(privacy: ApproxDP) -> tuple[Fraction, ...]:
    """Return the greatest probabilities to speak that `privacy` allows at distance 0, 1, ..., till one is 1.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon and delta positive, and epsilon large enough for a table of at most a million entries.

    Returns
    -------
    tuple of Fraction
        p(0) = delta, then p(d + 1) = min(exp(epsilon) p(d) + delta, 1 - exp(-epsilon) (1 - p(d) - delta), 1),
        each rounded down by less than a part in 2**64 of itself.

    Raises
    ------
    ValueError
        If epsilon or delta is 0, or epsilon too small.

    Notes
    -----
    **Privacy.** `release_if_stable` keeps `privacy` with them. Proof: neighbours' distances d and d + 1 have
    p(d + 1) <= exp(epsilon) p(d) + delta and 1 - p(d) <= exp(epsilon) (1 - p(d + 1)) + delta, and
    p(0) = delta is all that is shown where answers differ. Sees no data.

    **Assumes.** Distances move by at most 1 between neighbours.

    **Accuracy.** By induction no mechanism that keeps `privacy` speaks with a greater probability at any
    distance, but for the rounding.

    **Source.** As for `release_if_stable`.
    """
    table, one = release_probability_table(privacy)
    return tuple(Fraction(p, one) for p in table)


def release_probability_table(privacy: ApproxDP) -> tuple[list[int], int]:
    """Return the numerators of `release_probabilities` and their common denominator.

    Parameters
    ----------
    privacy : ApproxDP
        As for `release_probabilities`.

    Notes
    -----
    **Privacy.** That of `release_probabilities`: they are the same numbers, without common factors taken out.
    **Assumes.** As there. **Accuracy.** As there. **Source.** As there.
    """
    delta = delta_of(privacy)
    # Going up from delta to 1/2, and again from there, takes ln(1 / delta) / epsilon steps each or fewer.
    least = ceil(2 * log_bounds(2 / delta)[1]) / Fraction(_LONGEST)
    return _speaking_table(check_number("epsilon", epsilon_of(privacy), low=least), delta)


@lru_cache(maxsize=64)
def _speaking_table(epsilon: Fraction, delta: Fraction) -> tuple[list[int], int]:
    """Return numerators and their common denominator; reducing them all would take most of the time."""
    # Below exp(epsilon), so that both steps are at most what they stand for.
    growth = exp_bounds(min(epsilon, _LARGEST), digits=60)[0]
    a, b = growth.denominator, growth.numerator
    one = ceil(1 / delta) << 128
    slack = delta.numerator * one // delta.denominator
    table = [slack]
    while table[-1] < one:
        p = table[-1]
        table.append(min(p * b // a + slack, one - -(-a * (one - p - slack) // b), one))
    return table, one
