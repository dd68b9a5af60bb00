"""Private quantiles of a domain of any size: one, by data near its rank alone, and several by halving."""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dplearn.chance.dice import Dice
from dplearn.kernels.distributions import power_at_most
from dplearn.kernels.exact import selection_ratio
from dplearn.kernels.intervals import EqualCosts, piece_arrays
from dplearn.kernels.ranks import ApartCodes, Cell, Ranks, finest_fraction, halving, rank_sensitivity
from dplearn.mechanisms.selection import select_exponential
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

_RARE = 64  # all data are examined with probability at most 2**-64


def code_near_rank(
    cell: Cell, fraction: Fraction, *, privacy: ApproxDP, dice: Dice, alone: bool = True
) -> int:
    """Return a private quantile: a code such that about a given fraction of the data are less than it.

    Parameters
    ----------
    cell : Cell
        Private, except its ends. The data (m codes) and the interval of codes to choose from.
    fraction : Fraction
        From 0 to 1; the target rank is t = fraction * m.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.
    alone : bool, default=True
        True if this is the only cell that can hold a record. False if a replaced record can leave this cell
        and enter another cell with the same `privacy`: then one added or removed code costs half of epsilon,
        and the two cells together cost epsilon.

    Returns
    -------
    int
        Code c with probability proportional to ratio ** cost, cost = max(0, b L - a m, a m - b U), where
        L is the number of data less than c, U the number of data at most c, fraction = a / b, and ratio is
        just above exp(-epsilon / (2 b)), or exp(-epsilon / (4 max(a, b - a))) with `alone=False`.

    Notes
    -----
    **Privacy.** `privacy`, for one code replaced, added or removed; with `alone=False` half its epsilon for
    one added or removed. Proof: a replaced code leaves m unchanged and moves L and U by at most 1, so
    b L - a m, a m - b U and the cost move by at most b. An added code moves m by 1, and L and U by 0 or 1: so
    b L - a m moves by -a or by b - a, a m - b U by the negative of one of these, and the cost by at most
    s = max(a, b - a) <= b <= 2 s. The exponential mechanism gives epsilon for costs that move by at most its
    sensitivity, which is b or 2 s, and half of epsilon for costs that move by at most half of it.

    **Assumes.** The ends of the cell are public or released, and its data lie between them; `fraction` is
    public.

    **Accuracy.** With probability at least 1 - beta the cost is at most ln(size / beta) / ln(1 / ratio),
    where size is the number of codes in the interval; then at least t - cost / b of the data are at most the
    code, and at most t + cost / b are less than it. See `dplearn.theory.quantile_errors`.

    **Source.** McSherry and Talwar (2007); Smith (2011), Algorithm 2, for quantiles. There the domain is an
    interval of real numbers; here it is any public set of codes, ties are counted on both sides, and only
    data with ranks near the target are examined, with the same output distribution (a comment in the code
    proves it).

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.kernels.ranks import Cell, UnsortedCodes
    >>> from dplearn.mechanisms import code_near_rank
    >>> from dplearn.privacy import ApproxDP
    >>> codes = np.arange(100_000) % 1000
    >>> everything = Cell(UnsortedCodes(codes), 0, len(codes), 0, 2**64)
    >>> code_near_rank(everything, Fraction(1, 4), privacy=ApproxDP(1), dice=SeededDice(0))
    250
    """
    a, b = fraction.numerator, fraction.denominator
    sensitivity = rank_sensitivity(fraction, alone)
    ratio = selection_ratio(epsilon_of(privacy), sensitivity)
    size = cell.stop - cell.start
    far = _far(ratio, size)
    target = a * len(cell)
    first, last = _near_ranks(target, b, far)
    near = _codes_between(cell, target, b, first, last)
    if first < 0 and last >= len(cell):
        return _draw(near, privacy, dice, sensitivity)
    # The k codes of the least cost, 0, are inside, k >= 1. As size / k <= 2**(bits - 64),
    # size * ratio ** cutoff <= 2**-64 k.
    bits = _RARE + (-(-size // near.sizes[0]) - 1).bit_length()
    cutoff = min(far, -(-_far(ratio, 1) * bits // _RARE))
    # A code is inside if it costs less than `cutoff`; all codes inside are among `near`. Let w be the weight
    # of a code, I the total weight of the codes inside, O that of the codes outside, and
    # B = size * ratio ** cutoff. Code i inside is drawn here with probability w(i) / (I + B), and code j
    # outside with probability B / (I + B) / size * ratio ** (cost(j) - cutoff) = w(j) / (I + B), which sums
    # to O / (I + B). With the remaining probability, (B - O) / (I + B), a second draw from the exact
    # distribution replaces the first. So every code i has probability
    # w(i) / (I + B) + (B - O) / (I + B) * w(i) / (I + O) = w(i) / (I + O), as in the exact distribution. As
    # I >= k and B <= 2**-64 k, data beyond ranks first..last are examined with probability at most 2**-64.
    inside = bisect_left(near.costs, cutoff)
    costs, sizes = [*near.costs[:inside], cutoff], [*near.sizes[:inside], size]
    group, place = select_exponential(costs, sizes, privacy=privacy, dice=dice, sensitivity=sensitivity)
    if group < inside:
        return near.code(group, place)
    code = cell.start + place
    below, upto = cell.count(code)
    excess = max(0, b * below - target, target - b * upto) - cutoff
    if excess >= 0 and dice.geometric(ratio, low=excess - 1, high=excess) == excess:
        return code
    everything = _codes_between(cell, target, b, -1, len(cell))
    return _draw(everything, privacy, dice, sensitivity)


@lru_cache(maxsize=256)
def _far(ratio: Fraction, size: int) -> int:
    """Return the least cost at which `size` codes together weigh at most 2**-64 of one code of cost 0."""
    return max(1, power_at_most(ratio, Fraction(1, size << _RARE)))


def examined_ranks(
    n: int, fraction: Fraction, size: int, *, privacy: ApproxDP, alone: bool = True
) -> tuple[int, int]:
    """Return the ranks, first and last plus 1, that `code_near_rank` reads with probability 1 - 2**-64."""
    # The size of the interval must be public or released. The comment in `code_near_rank` proves the
    # probability.
    far = _farthest(fraction, size, privacy, alone)
    first, last = _near_ranks(fraction.numerator * n, fraction.denominator, far)
    return max(first, 0), min(last, n - 1) + 1


def examined_reach(fraction: Fraction, size: int, *, privacy: ApproxDP, alone: bool = True) -> int:
    """Return how far from its target rank `code_near_rank` looks, for any number of codes."""
    return -(-_farthest(fraction, size, privacy, alone) // fraction.denominator)


def _farthest(fraction: Fraction, size: int, privacy: ApproxDP, alone: bool) -> int:
    """Return the cost from which on codes are examined with probability 2**-64 at most."""
    return _far(selection_ratio(epsilon_of(privacy), rank_sensitivity(fraction, alone)), size)


def _near_ranks(target: int, unit: int, far: int) -> tuple[int, int]:
    """Return `first` and `last`: codes with U <= first or L > last cost at least `far`."""
    return (target - far) // unit, -((-target - far) // unit) - 1


def _codes_between(cell: Cell, target: int, unit: int, first: int, last: int) -> EqualCosts:
    """Return the codes of a cell between the data of ranks `first` and `last`, grouped by cost."""
    # If a rank is outside 0..m-1, that side extends to the end of the cell. Data outside these ranks that
    # equal the first or last datum are not counted, which changes no cost: the L of the first datum is at
    # most `first`, so b L <= a m, and the U of the last exceeds `last`, so b U >= a m.
    low, high = max(first, 0), min(last, len(cell) - 1) + 1
    data = cell.window(low, high)
    start = cell.start if first < 0 else data[0]
    stop = cell.stop if last >= len(cell) else data[-1] + 1
    starts, lengths, below, upto = piece_arrays(data, stop, start=start, before=low)
    if unit * len(cell) >= 1 << 63:  # an upper bound on all products below and on the target
        below, upto = below.astype(object), upto.astype(object)
    return EqualCosts(starts, lengths, np.maximum(np.maximum(0, unit * below - target), target - unit * upto))


def _draw(codes: EqualCosts, privacy: ApproxDP, dice: Dice, sensitivity: int) -> int:
    """Return one of `codes` by the exponential mechanism."""
    group, place = select_exponential(
        codes.costs, codes.sizes, privacy=privacy, dice=dice, sensitivity=sensitivity
    )
    return codes.code(group, place)


def codes_at_fractions(
    ranks: Ranks,
    size: int,
    fractions: Sequence[Fraction],
    *,
    privacy: ApproxDP,
    dice: Dice,
    most: int | None = None,
) -> list[int]:
    """Return private quantiles of integer codes at the given fractions.

    Parameters
    ----------
    ranks : Ranks
        Private. n codes from 0 to size - 1; n is at least 1 where it is public.
    size : int
        Number of codes in the domain; an integer of any size.
    fractions : sequence of Fraction of length k
        Strictly increasing, from 0 to 1.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.
    most : int, optional
        Public. None: n is public. Otherwise n is private, from 0 to `most`.

    Returns
    -------
    list of int of length k
        The quantiles, in nondecreasing order. About a fraction fractions[i] of the data is less than
        element i.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record; with `most`, half its epsilon for one added or removed.
    Proof: equal codes are first made distinct, by a map that
    preserves neighbours (`ApartCodes`). The steps of one level read data in disjoint cells, whose ends were
    released before. The replaced record leaves one cell and enters another cell or the same one. If it is
    the same cell, its number of data m is unchanged and the selection cost in this step moves by at most the
    sensitivity that the step uses, at a privacy cost of the level's epsilon; no other step changes. Otherwise
    two steps have one datum more or less; in each the selection cost moves by at most half the sensitivity,
    at half the level's epsilon, and no other step changes. Hence a level has a privacy cost of its epsilon,
    for all earlier outcomes, and the epsilons of all levels add up to that of `privacy`.

    With `most`, all else that the output depends on is public: the places of equal codes and the rounding of
    fractions follow from `most`, and every step has `alone=False`. An added code adds one pair of code and
    place, which lies in one cell of each level, for all earlier outcomes: there the selection cost moves by
    at most half the sensitivity, at half the level's epsilon, and no other step changes. Hence all levels
    together cost half of epsilon. A replaced code costs epsilon as above, or as one removed and one added.
    So parts of a table by the values of a key, each with quantiles of this `privacy`, together cost epsilon
    for one replaced record, which leaves one part and enters another or the same, and m times as much for m
    replaced records.

    **Assumes.** All values lie in the domain, which is public; the number of records, or `most`, is public.

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
    >>> from dplearn.kernels.ranks import SortedCodes
    >>> from dplearn.mechanisms import codes_at_fractions
    >>> from dplearn.privacy import ApproxDP
    >>> ranks = SortedCodes(np.arange(100_000) // 100)
    >>> quarters = [Fraction(i, 4) for i in (1, 2, 3)]
    >>> codes_at_fractions(ranks, 2**64, quarters, privacy=ApproxDP(1), dice=SeededDice(0))
    [249, 500, 750]
    """
    n, k = len(ranks) if most is None else most, len(fractions)
    levels = halving(fractions, finest=finest_fraction(n), sized=most is None)
    # For one quantile no cell is split, and equal codes need not be made distinct.
    bits = (n - 1).bit_length() if k > 1 else 0
    apart = ApartCodes(ranks, bits) if bits else ranks
    part = ApproxDP(epsilon_of(privacy) / len(levels))
    codes, upto = {-1: 0, k: (size << bits) - 1}, {-1: 0, k: len(ranks)}
    for level in levels:
        for step in level:
            # Data at or below a released code are to its left; both neighbouring cells may choose the code.
            cell = Cell(apart, upto[step.low], upto[step.high], codes[step.low], codes[step.high] + 1)
            chosen = code_near_rank(cell, step.fraction, privacy=part, dice=dice, alone=step.alone)
            codes[step.place], upto[step.place] = chosen, apart.count(chosen)[1] if k > 1 else 0
    return [codes[place] >> bits for place in range(k)]
