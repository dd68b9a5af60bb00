"""Several quantiles at once, by halving the data again and again.

>>> from dplearn.chance import SeededDice
>>> import numpy as np
>>> from dplearn.core.ranks import SortedCodes
>>> ranks = SortedCodes(np.arange(100_000) // 100)
>>> quarters = [Fraction(i, 4) for i in (1, 2, 3)]
>>> codes_at_fractions(ranks, 2**64, quarters, privacy=ApproxDP(1), dice=SeededDice(0))
[249, 500, 750]
"""

from collections.abc import Sequence
from fractions import Fraction

from dplearn.chance.dice import Dice
from dplearn.core.ranks import ApartCodes, Cell, Ranks, finest_fraction, halving
from dplearn.mechanisms.rank_selection import code_near_rank
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

__all__ = ["codes_at_fractions"]


def codes_at_fractions(
    ranks: Ranks, size: int, fractions: Sequence[Fraction], *, privacy: ApproxDP, dice: Dice
) -> list[int]:
    """Return codes that given fractions of the data are below, most likely to within few of them.

    Parameters
    ----------
    ranks : Ranks
        Private. n codes, n at least 1, from 0 to size - 1.
    size : int
        How many codes the domain has; up to any size.
    fractions : sequence of Fraction of length k
        Strictly rising, from 0 to 1.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.

    Returns
    -------
    list of int of length k
        Rising; neighbours may be equal.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: equal codes are first told apart, which turns
    neighbours into neighbours (`ApartCodes`). The steps of one level look at data in separate cells, whose
    ends were released before. The replaced record leaves one cell and enters another, or the same. In the
    same, m stays and the step's cost moves by at most the sensitivity it is selected with, at the cost of
    the level's epsilon; no other step changes. Else each of two steps has one datum more or less, its cost
    moves by at most half of that, at the cost of half the level's epsilon each, and no other step
    changes. So a level costs its epsilon, whatever came out before, and all the levels' are `privacy`'s.

    **Assumes.** All values lie in the domain, which is public; the number of records is public.

    **Accuracy.** `dplearn.theory.quantile_errors` says by how many ranks they may miss.

    **Source.** Kaplan, Schnapp and Stemmer (2022), Algorithm 2, for one record added or removed and distinct
    data. There all steps use one sensitivity; here each has its own, so that a replaced record costs no more
    at quarters than at medians, and equal data are split evenly, so that ranks are kept.
    """
    n, k = len(ranks), len(fractions)
    levels = halving(fractions, finest=finest_fraction(n))
    # One quantile splits nothing.
    bits = (n - 1).bit_length() if k > 1 else 0
    apart = ApartCodes(ranks, bits) if bits else ranks
    part = ApproxDP(epsilon_of(privacy) / len(levels))
    codes, upto = {-1: 0, k: (size << bits) - 1}, {-1: 0, k: n}
    for level in levels:
        for step in level:
            # Data at or below a code released are to its left. The code itself can be chosen on both sides.
            cell = Cell(apart, upto[step.low], upto[step.high], codes[step.low], codes[step.high] + 1)
            chosen = code_near_rank(cell, step.fraction, privacy=part, dice=dice, alone=step.alone)
            codes[step.place], upto[step.place] = chosen, apart.count(chosen)[1] if k > 1 else 0
    return [codes[place] >> bits for place in range(k)]
