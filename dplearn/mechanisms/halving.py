"""Several private quantiles at once, by recursive halving of the data."""

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
    """Return private quantiles of integer codes at the given fractions.

    Parameters
    ----------
    ranks : Ranks
        Private. n codes, n at least 1, from 0 to size - 1.
    size : int
        Number of codes in the domain; an integer of any size.
    fractions : sequence of Fraction of length k
        Strictly increasing, from 0 to 1.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.

    Returns
    -------
    list of int of length k
        The quantiles, in nondecreasing order. About a fraction fractions[i] of the data is less than
        element i.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: equal codes are first made distinct, by a map that
    preserves neighbours (`ApartCodes`). The steps of one level read data in disjoint cells, whose ends were
    released before. The replaced record leaves one cell and enters another cell or the same one. If it is
    the same cell, its number of data m is unchanged and the selection cost in this step moves by at most the
    sensitivity that the step uses, at a privacy cost of the level's epsilon; no other step changes. Otherwise
    two steps have one datum more or less; in each the selection cost moves by at most half the sensitivity,
    at half the level's epsilon, and no other step changes. Hence a level has a privacy cost of its epsilon,
    for all earlier outcomes, and the epsilons of all levels add up to that of `privacy`.

    **Assumes.** All values lie in the domain, which is public; the number of records is public.

    **Accuracy.** `dplearn.theory.quantile_errors` bounds the rank errors.

    **Source.** Kaplan, Schnapp and Stemmer (2022), Algorithm 2, for one record added or removed and distinct
    data. There all steps use one sensitivity; here each step has its own, so that a replaced record costs as
    much at quarters as at medians, and equal data are split evenly, which preserves ranks.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.core.ranks import SortedCodes
    >>> from dplearn.mechanisms import codes_at_fractions
    >>> from dplearn.privacy import ApproxDP
    >>> ranks = SortedCodes(np.arange(100_000) // 100)
    >>> quarters = [Fraction(i, 4) for i in (1, 2, 3)]
    >>> codes_at_fractions(ranks, 2**64, quarters, privacy=ApproxDP(1), dice=SeededDice(0))
    [249, 500, 750]
    """
    n, k = len(ranks), len(fractions)
    levels = halving(fractions, finest=finest_fraction(n))
    # For one quantile no cell is split, and equal codes need not be made distinct.
    bits = (n - 1).bit_length() if k > 1 else 0
    apart = ApartCodes(ranks, bits) if bits else ranks
    part = ApproxDP(epsilon_of(privacy) / len(levels))
    codes, upto = {-1: 0, k: (size << bits) - 1}, {-1: 0, k: n}
    for level in levels:
        for step in level:
            # Data at or below a released code are to its left; both neighbouring cells may choose the code.
            cell = Cell(apart, upto[step.low], upto[step.high], codes[step.low], codes[step.high] + 1)
            chosen = code_near_rank(cell, step.fraction, privacy=part, dice=dice, alone=step.alone)
            codes[step.place], upto[step.place] = chosen, apart.count(chosen)[1] if k > 1 else 0
    return [codes[place] >> bits for place in range(k)]
