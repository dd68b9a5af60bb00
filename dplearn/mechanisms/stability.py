"""Stability-based release: publish an answer unchanged if its distance to instability is large."""

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.kernels import exp_bounds, log_bounds, plurality
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import delta_of, epsilon_of

_LARGEST = Fraction(700)  # greater epsilons count as 700
_LONGEST = 1_000_000  # greatest length of the table of probabilities

Answer = TypeVar("Answer")


def release_if_stable(answer: Answer, distance: int, *, privacy: ApproxDP, dice: Dice) -> Answer | None:
    """Return `answer` with a probability that grows with its distance to instability, else None.

    Parameters
    ----------
    answer : object
        Private. Returned unchanged.
    distance : int
        Private. Distance to instability, nonnegative: the number of records that can be replaced without a
        change of the answer.
    privacy : ApproxDP
        Its `epsilon` and `delta` are spent whole; both positive.

    Returns
    -------
    object or None
        `answer` with probability `release_probabilities(privacy)[distance]`, which is 1 beyond the end of
        that table; otherwise None (abstention).

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `distance` is counted in: answers that differ have
    probability p(0) <= delta each, and p(d) and p(d + 1) satisfy the inequalities of (epsilon, delta) for
    both outcomes. Proof: docs/theory/stable_answers.md.

    **Assumes.** `distance` is 0 wherever some neighbour has another answer, and moves by at most 1 between
    neighbours.

    **Accuracy.** No mechanism with this guarantee releases the answer with greater probability at any
    distance. The answer is released with probability at least 1 - beta if
    distance >= ln(1 / (delta * beta)) / epsilon + 1.

    **Source.** Smith and Thakurta (2013); Bassily, Thakkar and Thakurta (2018), Algorithm 2, with a noisy
    distance; the recursion is that of Desfontaines, Voss, Gipson and Mandayam (2022).

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import release_if_stable
    >>> from dplearn.privacy import ApproxDP
    >>> [release_if_stable("yes", d, privacy=ApproxDP(1, 1e-6), dice=SeededDice(0)) for d in (40, 0)]
    ['yes', None]
    """
    if isinstance(distance, bool) or not hasattr(distance, "__index__") or distance < 0:
        raise ValueError("distance must be a nonnegative integer")
    table, one = release_probability_table(privacy)
    p = Fraction(table[int(distance)], one) if distance < len(table) else Fraction(1)
    return answer if dice.bernoulli(p) else None


def most_frequent_if_stable(votes: Any, n_labels: int, *, privacy: ApproxDP, dice: Dice) -> int | None:
    """Return the label with the most votes if the plurality is stable, else None.

    Parameters
    ----------
    votes : array-like of int of shape (n,)
        Private. Labels from 0 to n_labels - 1, or -1 for no vote.
    n_labels : int
        Public. Number of labels, at least 2.
    privacy : ApproxDP
        Its `epsilon` and `delta` are spent whole.

    Returns
    -------
    int or None
        The label with the most votes, of equal ones the first; None for abstention.

    Notes
    -----
    **Privacy.** `privacy`, where neighbours differ in one vote, which may be changed, added or removed.

    **Assumes.** One record changes at most one vote.

    **Accuracy.** As for `release_if_stable`; the distance of a plurality that leads by g votes is at least
    (g - 2) / 2.

    **Source.** As for `release_if_stable`, with the exact distance, where the paper has the gap to the second
    label.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import most_frequent_if_stable
    >>> from dplearn.privacy import ApproxDP
    >>> votes = [2] * 90 + [0] * 10
    >>> most_frequent_if_stable(votes, 3, privacy=ApproxDP(1, 1e-6), dice=SeededDice(0))
    2
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
    """Return the greatest probabilities of release that `privacy` allows at distances 0, 1, ..., up to 1.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon and delta positive, and epsilon large enough for a table of at most a million entries.

    Returns
    -------
    tuple of Fraction
        p(0) = delta, then p(d + 1) = min(exp(epsilon) p(d) + delta, 1 - exp(-epsilon) (1 - p(d) - delta), 1),
        each rounded down by a relative error of less than 2**-64.

    Notes
    -----
    **Privacy.** With these probabilities `release_if_stable` satisfies `privacy`, by its proof. Reads no
    data.

    **Assumes.** Distances move by at most 1 between neighbours.

    **Accuracy.** By induction, no mechanism that satisfies `privacy` releases the answer with a greater
    probability at any distance, up to rounding.

    **Source.** As for `release_if_stable`.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import release_probabilities
    >>> [round(float(p), 4) for p in release_probabilities(ApproxDP(1, 0.01))]
    [0.01, 0.0372, 0.1111, 0.3119, 0.7506, 0.9119, 0.9713, 0.9931, 1.0]
    """
    table, one = release_probability_table(privacy)
    return tuple(Fraction(p, one) for p in table)


def release_probability_table(privacy: ApproxDP) -> tuple[list[int], int]:
    """Return the numerators of `release_probabilities` and their common denominator."""
    delta = delta_of(privacy)
    # From delta up to 1/2, and from 1/2 up to 1, the table has at most ln(1 / delta) / epsilon steps each.
    least = ceil(2 * log_bounds(2 / delta)[1]) / Fraction(_LONGEST)
    return _speaking_table(check_number("epsilon", epsilon_of(privacy), low=least), delta)


@lru_cache(maxsize=16)
def abstention_probabilities(privacy: ApproxDP) -> NDArray[np.float64]:
    """Return the probabilities of an abstention at distances 0, 1, ..., up to the first that is 0."""
    table, one = release_probability_table(privacy)
    return np.array([(one - p) / one for p in table])


@lru_cache(maxsize=64)
def _speaking_table(epsilon: Fraction, delta: Fraction) -> tuple[list[int], int]:
    """Return numerators and their common denominator; the fractions are not reduced, for speed."""
    # growth is at most exp(epsilon), so both steps below are at most those of the recursion.
    growth = exp_bounds(min(epsilon, _LARGEST), digits=60)[0]
    a, b = growth.denominator, growth.numerator
    one = ceil(1 / delta) << 128
    slack = delta.numerator * one // delta.denominator
    table = [slack]
    while table[-1] < one:
        p = table[-1]
        table.append(min(p * b // a + slack, one - -(-a * (one - p - slack) // b), one))
    return table, one
