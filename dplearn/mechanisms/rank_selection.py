"""A value near a wanted rank, from a domain of any size, looking at few of the data.

>>> from dplearn.chance import SeededDice
>>> from dplearn.core.ranks import UnsortedCodes
>>> import numpy as np
>>> codes = np.arange(100_000) % 1000
>>> everything = Cell(UnsortedCodes(codes), 0, len(codes), 0, 2**64)
>>> code_near_rank(everything, Fraction(1, 4), privacy=ApproxDP(1), dice=SeededDice(0))
250
"""

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dplearn.chance.dice import Dice
from dplearn.core.distributions import power_at_most
from dplearn.core.exact import selection_ratio
from dplearn.core.intervals import EqualCosts, piece_arrays
from dplearn.core.ranks import Cell, rank_sensitivity
from dplearn.mechanisms.exponential import select_exponential
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

__all__ = ["code_near_rank"]

_RARE = 64  # all data are sorted with probability at most 2**-64


def code_near_rank(
    cell: Cell, fraction: Fraction, *, privacy: ApproxDP, dice: Dice, alone: bool = True
) -> int:
    """Return a code that a given fraction of the data are below, most likely to within few of them.

    Parameters
    ----------
    cell : Cell
        Private, but for its ends. The data, m codes, and the stretch of the domain to choose from.
    fraction : Fraction
        From 0 to 1; t = fraction * m of the data are wanted below.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.
    alone : bool, default=True
        Whether a record can count in no other cell. If it can, one code more or less costs only half of
        epsilon: a record that leaves one cell and enters another, both asked with this privacy, costs it
        once.

    Returns
    -------
    int
        Code c with probability proportional to ratio ** cost, cost = max(0, b L - a m, a m - b U), where
        L of the data are less than c and U not greater, fraction = a / b, and ratio is just above
        exp(-epsilon / (2 b)), or exp(-epsilon / (4 max(a, b - a))) if the cell is not alone.

    Notes
    -----
    **Privacy.** `privacy`, for one code replaced, added or removed; with `alone=False` half its epsilon for
    one added or removed. Proof: one replaced leaves m and moves L and U by at most 1, so b L - a m,
    a m - b U and the cost by at most b. One added moves m by 1, L and U by 0 or 1: so b L - a m moves by -a
    or by b - a, a m - b U by the reverse, and the cost by at most s = max(a, b - a) <= b <= 2 s. The
    exponential mechanism gives epsilon for costs that move by up to what it is told, which is b or 2 s, and
    half of epsilon for half of that.

    **Assumes.** The ends of the cell are public, or released, and its data lie between them; `fraction` is
    public.

    **Accuracy.** With probability at least 1 - beta the cost is at most ln(size / beta) / ln(1 / ratio), size
    being the length of the stretch; then at least t - cost / b of the data are not greater than the code and
    at most t + cost / b are less. See `dplearn.theory.quantile_errors`.

    **Source.** McSherry and Talwar (2007); Smith (2011), Algorithm 2, for quantiles. There the domain is an
    interval of real numbers; here it is any public set of codes, ties are counted on both sides, and only
    data of ranks around the wanted one are looked at, with the same distribution (see the comment in the
    code).
    """
    a, b = fraction.numerator, fraction.denominator
    sensitivity = rank_sensitivity(fraction, alone)
    ratio = selection_ratio(epsilon_of(privacy), sensitivity)
    size = cell.stop - cell.start
    far = _far(ratio, size)
    target = a * len(cell)
    # Codes before the datum of rank `first` have U <= first, codes after that of rank `last` L > last. So
    # both cost at least `far`.
    first, last = (target - far) // b, -((-target - far) // b) - 1
    near = _codes_between(cell, target, b, first, last)
    if first < 0 and last >= len(cell):
        return _draw(near, privacy, dice, sensitivity)
    # Of the k codes of the least cost, which is 0, k >= 1 are inside. With size / k <= 2**(bits - 64),
    # size * ratio ** cutoff <= 2**-64 k.
    bits = _RARE + (-(-size // near.sizes[0]) - 1).bit_length()
    cutoff = min(far, -(-_far(ratio, 1) * bits // _RARE))
    # Let codes be inside that cost less than `cutoff`; all of them were looked at. Let w be weights, I that
    # of all codes inside, O of those outside and B = size * ratio ** cutoff. Code i inside is drawn here with
    # probability w(i) / (I + B), and code j outside with probability
    # B / (I + B) / size * ratio ** (cost(j) - cutoff) = w(j) / (I + B), all of them with O / (I + B). With
    # what is left, (B - O) / (I + B), all is drawn anew from the distribution guaranteed. So any code i has
    # in the end w(i) / (I + B) + (B - O) / (I + B) * w(i) / (I + O) = w(i) / (I + O), which is that
    # distribution. As I >= k and B <= 2**-64 k, it is this rare that more is looked at than the ranks
    # first..last.
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
    """Return the least cost of which `size` codes weigh no more than 2**-64 of one that costs 0."""
    return max(1, power_at_most(ratio, Fraction(1, size << _RARE)))


def _codes_between(cell: Cell, target: int, unit: int, first: int, last: int) -> EqualCosts:
    """Return the codes of a cell from the datum of rank `first` to that of rank `last`, by their costs.

    A rank that is not there leaves that side open. Equal data outside do not count: the first datum's L is
    only known to be at most `first`, so b L <= a m, and the last one's U is more than `last`, so b U >= a m;
    neither enters a cost.
    """
    low, high = max(first, 0), min(last, len(cell) - 1) + 1
    data = cell.window(low, high)
    start = cell.start if first < 0 else data[0]
    stop = cell.stop if last >= len(cell) else data[-1] + 1
    starts, lengths, below, upto = piece_arrays(data, stop, start=start, before=low)
    if unit * len(cell) >= 1 << 63:  # no product is larger, nor is the target
        below, upto = below.astype(object), upto.astype(object)
    return EqualCosts(starts, lengths, np.maximum(np.maximum(0, unit * below - target), target - unit * upto))


def _draw(codes: EqualCosts, privacy: ApproxDP, dice: Dice, sensitivity: int) -> int:
    """Return one of these codes, with probability proportional to its weight."""
    group, place = select_exponential(
        codes.costs, codes.sizes, privacy=privacy, dice=dice, sensitivity=sensitivity
    )
    return codes.code(group, place)
