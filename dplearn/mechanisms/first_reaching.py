"""Private search for the first of rising counts that reaches a threshold."""

from fractions import Fraction
from typing import Any

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_ratio
from dplearn.core.grouping import near_integers
from dplearn.mechanisms.sparse_vector import Questions
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

__all__ = ["first_reaching", "reaching_ratios"]

_FAR = 1 << 61
#: The share of epsilon that the threshold's noise takes; any share is valid. If the count after the last
#: record never changes, more than k further candidates are passed with a probability of the order of
#: k ** -(share / (1 - share)): with two thirds, of k ** -2, so that the expected number is finite.
_OF_THRESHOLD = Fraction(2, 3)


def reaching_ratios(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return the ratios a and b of the noises of `first_reaching`, of the threshold and of the counts.

    Parameters
    ----------
    epsilon : Fraction
        The privacy cost of one search.

    Notes
    -----
    **Privacy.** A function of a public number.

    **Assumes.** Nothing.

    **Accuracy.** Rounded up, so that a * b >= exp(-epsilon).

    **Source.** As for `first_reaching`.
    """
    return decay_ratio(epsilon * _OF_THRESHOLD), decay_ratio(epsilon * (1 - _OF_THRESHOLD))


def first_reaching(counts: Any, threshold: int, *, privacy: ApproxDP, dice: Dice) -> int:
    """Return the index of the first count that, with noise, reaches a noisy threshold.

    Parameters
    ----------
    counts : array-like of int of shape (m,)
        Private. At least one; m is public. Clipped to 2**61 in magnitude.
    threshold : int
        Public.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.

    Returns
    -------
    int
        The first i with counts[i] + G[i] >= threshold + B; m - 1 if there is none. B and all G are
        independent and geometric, with the ratios of `reaching_ratios`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    **Privacy.** `privacy`. Proof, for neighbours whose counts are larger by 0 or 1 each, and an index i: map
    B to B + 1, at a factor of a. A count before i that stays below threshold + B stays below threshold + B
    + 1 after it has grown by at most 1. Count i reaches threshold + B + 1 if its noise is greater by 1: a
    factor of b. For neighbours whose counts are smaller by 0 or 1, keep B: the counts before i stay below,
    and count i needs a noise greater by at most 1. So the probability of i falls by a factor of at most
    a b >= exp(-epsilon), likewise that of m - 1, to which the case without any such count is added.

    **Assumes.** Between neighbours no count moves by more than 1, and all that move do so in the same
    direction, such as the numbers of records up to rising candidates if one record is replaced. (For counts
    that move in both directions use `AboveThreshold`, which spends a part of epsilon twice.)

    **Accuracy.** With probability at least 1 - beta, the count found is at least
    threshold - ln(2 m / beta) / ln(1 / b), or the last, and no earlier count is greater than
    threshold + ln(2 / beta) / ln(1 / a).

    **Source.** Durfee (2023) searches for extremes with the sparse vector technique of Dwork, Naor, Reingold
    and others (2009); the proof here is our own.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import first_reaching
    >>> from dplearn.privacy import ApproxDP
    >>> first_reaching([0, 3, 40, 700, 990, 1000], 900, privacy=ApproxDP(1), dice=SeededDice(0))
    4
    """
    near = near_integers("counts", counts, -_FAR, _FAR)
    if not near.size:
        raise ValueError("counts must hold at least one count")
    bar = check_count("threshold", threshold, low=1 - _FAR, high=_FAR) - 1
    of_threshold, of_count = reaching_ratios(epsilon_of(privacy))
    answers = Questions(dice, bar, of_threshold, of_count, False, (1, None)).answer(near)
    return int(answers.size) - 1
