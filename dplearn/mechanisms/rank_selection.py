"""Private quantiles of a domain of any size: one, by data near its rank alone, and several by halving."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count, islice, repeat

import numpy as np

from dplearn.chance.dice import Dice
from dplearn.kernels import Cell, Ranks, power_at_most, selection_ratio
from dplearn.kernels.distributions import halving_width
from dplearn.kernels.intervals import piece_arrays
from dplearn.kernels.ranks import ApartCodes, Step, finest_fraction, halving, rank_sensitivity
from dplearn.mechanisms.selection import select_exponential, select_permute_and_flip
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

RARE = 64  # data that are far from the rank are examined with probability at most 2**-64
FEW = 64  # data; the costs of all codes among so many are computed
TRIES = 64  # after so many rejections, mostly of probability 1/2 at most, all costs are computed
LIGHT = 10  # codes that weigh 2**-10 of others have one bound on their costs
CHUNK = 32  # data that are read at once
FEW_CODES = 1 << 12  #: Of a domain of at most so many the costs of all are computed for one quantile.


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
    alone : bool, default=True
        True if this is the only cell that can hold a record. False if a replaced record can leave this cell
        and enter another with the same `privacy`: an added or removed code then costs half of epsilon.

    Returns
    -------
    int
        Code c with probability proportional to ratio ** cost, cost = max(b L - a m, a m - b U), where L is
        the number of data less than c, U the number of data at most c, fraction = a / b, and ratio is just
        above exp(-epsilon / (2 b)), or exp(-epsilon / (4 max(a, b - a))) with `alone=False`. The cost is
        negative for a code that several data equal, with the target rank among theirs.

    Notes
    -----
    **Privacy.** `privacy`, for one code replaced, added or removed; with `alone=False` half its epsilon for
    one added or removed. Proof: a replaced code moves L and U by at most 1, and so the cost by at most b. An
    added code moves m by 1, and L and U by 0 or 1: b L - a m and a m - b U move by a or b - a, and the cost
    by at most s = max(a, b - a) <= b <= 2 s. The sensitivity of the exponential mechanism is b, or 2 s.

    **Assumes.** The ends of the cell are public or released, and its data lie between them; `fraction` is
    public.

    **Accuracy.** With probability at least 1 - beta the cost is at most ln(size / beta) / ln(1 / ratio),
    where size is the number of codes in the interval; then at least t - cost / b of the data are at most the
    code, and at most t + cost / b are less than it. See `dplearn.theory.quantile_errors`.

    **Source.** McSherry and Talwar (2007); Smith (2011), Algorithm 2, for quantiles of real numbers. Here
    ties are counted on both sides, and only data with ranks near the target are examined (a comment in the
    code proves that the distribution is the same).

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.kernels.ranks import Cell, UnsortedCodes
    >>> from dplearn.mechanisms import code_near_rank
    >>> from dplearn.privacy import ApproxDP
    >>> codes = np.arange(100_000) % 1000
    >>> everything = Cell(UnsortedCodes(codes), 0, len(codes), 0, 2**64)
    >>> code_near_rank(everything, Fraction(1, 4), privacy=ApproxDP(1), dice=SeededDice(0))
    249
    """
    target = fraction.numerator * len(cell)
    sensitivity = rank_sensitivity(fraction, alone)
    return code_by_cost(
        cell,
        target,
        target,
        unit=fraction.denominator,
        privacy=privacy,
        dice=dice,
        sensitivity=sensitivity,
        least=-fraction.denominator * len(cell),  # below every cost
    )


def code_by_cost(
    cell: Cell,
    low: int,
    high: int,
    *,
    privacy: ApproxDP,
    dice: Dice,
    unit: int = 1,
    sensitivity: int = 1,
    least: int = 0,
) -> int:
    """Return a code of a cell, selected by its cost as by `select_exponential`. The cost is max(least, unit L
    - high, low - unit U), where L of the m data are less than the code and U at most it; 0 <= high <= low <=
    unit m, and least is 0, or negative if low = high.
    """
    if len(cell) > FEW:
        ratio = selection_ratio(epsilon_of(privacy), sensitivity)
        code = _code_by_bounds(cell, low, high, unit, least, ratio, dice)
        if code is not None:
            return code
    starts, lengths, below, upto = piece_arrays(cell.at(range(len(cell))), cell.stop, start=cell.start)
    if unit * len(cell) >= 1 << 63:  # an upper bound on all products below and on the ends
        below, upto = below.astype(object), upto.astype(object)
    costs = np.maximum(np.maximum(least, unit * below - high), low - unit * upto).tolist()
    piece, place = select_exponential(
        costs, lengths.tolist(), privacy=privacy, dice=dice, sensitivity=sensitivity
    )
    return int(starts[piece]) + place


def _code_among_few(ranks: Ranks, size: int, step: Step, *, privacy: ApproxDP, dice: Dice) -> int:
    """Return a code of a small domain with the costs of `code_near_rank`, by permute-and-flip."""
    a, b, m = step.fraction.numerator, step.fraction.denominator, len(ranks)
    below, upto = (np.asarray(each).astype(object) for each in ranks.count(np.arange(size)))
    costs = np.maximum(b * below - a * m, a * m - b * upto).tolist()
    code, _ = select_permute_and_flip(
        costs, [1] * size, privacy=privacy, dice=dice, sensitivity=step.sensitivity
    )
    return code


def _code_by_bounds(
    cell: Cell, low: int, high: int, unit: int, least: int, ratio: Fraction, dice: Dice
) -> int | None:
    """Return a code by `code_by_cost`, or None after many rejections, from the costs of few codes."""
    # A try draws a code c with probability proportional to ratio ** bound(c), for bounds that are at most the
    # costs, and accepts it with ratio ** (cost(c) - bound(c)). So it returns c with probability proportional
    # to ratio ** cost(c). This holds for each try, and for the draw from all costs that follows many
    # rejections.
    bounds, sizes, pieces = bounded(cell, low, high, unit, least, ratio)
    for _ in range(TRIES):
        group = dice.power_weighted(ratio, bounds, sizes)
        start, end, first = pieces[group]
        place: int = start + dice.below(sizes[group])
        code = place if place < end else first + place - end
        below, upto = cell.count(code)
        excess = max(least, unit * below - high, low - unit * upto) - bounds[group]
        if not excess or dice.geometric(ratio, low=excess - 1, high=excess) == excess:
            return code
    return None


def bounded(
    cell: Cell, low: int, high: int, unit: int, least: int, ratio: Fraction
) -> tuple[list[int], list[int], list[tuple[int, int, int]]]:
    """Return bounds on costs, how many of a cell's codes have each, and which codes: those of two intervals,
    in turn. The datum in the middle and the codes beyond the last ranks have bounds of their own. The costs
    of other codes exceed their bound by less than a width of weight 1/2 or more, but for those of little
    weight.
    """
    (width, fall), m = halving_width(ratio), len(cell)
    middle = min((low + high) // (2 * unit), m - 1)
    others = max(0, min(low - unit * middle, unit * (middle + 1) - high))  # the least cost of other codes
    # A code less than the datum of rank i has U <= i, so costs at least low - unit i, and one greater than it
    # has L > i, so costs at least unit (i + 1) - high.
    far = others + int((RARE - 2 + (cell.stop - cell.start).bit_length()) / fall) * width
    lowest = max(0, min((low - far) // unit, middle))
    highest = min(m - 1, max((high + far) // unit, middle))
    left, centre, right = cell.at([lowest, middle, highest])
    less, upto = cell.count(centre)
    own = max(least, unit * less - high, low - unit * upto)
    bounds = [low - unit * lowest, unit * (highest + 1) - high, own]
    sizes = [left - cell.start, cell.stop - right - 1, 1]
    pieces = [(cell.start, left, right), (right, right, right + 1), (centre, centre, centre)]
    falling = range(low - others, unit * lowest - 1, -width)
    rising = range(others + high, unit * (highest + 1) + 1, width)
    data = _data(cell, (min(middle, rest // unit) for rest in falling), left)
    data_above = _data(cell, (max(middle, -(-rest // unit) - 1) for rest in rising), right)
    end, first = next(data), next(data_above) + 1
    heaviest, rest = (others - own) / width * fall, right - left  # weights in bits, which affect times only
    for level in count():
        light = rest.bit_length() - level * fall < heaviest - LIGHT
        start, stop = (left, right + 1) if light else (next(data), next(data_above) + 1)
        size = end - start + stop - first
        bounds.append(others + level * width)
        sizes.append(size)
        pieces.append((start, end, first))
        heaviest, rest = max(heaviest, size.bit_length() - level * fall), rest - size
        end, first = start, stop
        if not rest:
            break
    return bounds, sizes, pieces


def _data(cell: Cell, ranks: Iterator[int], beyond: int) -> Iterator[int]:
    """Yield the data of some ranks, then `beyond`."""
    while some := list(islice(ranks, CHUNK)):
        yield from cell.at(some)
    yield from repeat(beyond)


def examined_ranks(n: int, fraction: Fraction, size: int, *, privacy: ApproxDP) -> tuple[int, int]:
    """Return the ranks, first and last plus 1, that `code_near_rank` reads with high probability."""
    # The size of the interval must be public or released.
    rank, reach = int(fraction * n), examined_reach(fraction, size, privacy=privacy)
    return max(rank - reach, 0), min(rank + reach, n - 1) + 1


def examined_reach(fraction: Fraction, size: int, *, privacy: ApproxDP, alone: bool = True) -> int:
    """Return how far from its target rank `code_near_rank` looks, for any number of codes."""
    # From the cost `far` on, `size` codes together weigh at most 2**-64 of one code of cost 0.
    ratio = selection_ratio(epsilon_of(privacy), rank_sensitivity(fraction, alone))
    far = power_at_most(ratio, Fraction(1, size << RARE))
    return -(-far // fraction.denominator) + 1


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
    fractions : sequence of Fraction of length k
        Strictly increasing, from 0 to 1.
    most : int, optional
        Public. None: n is public. Otherwise n is private, from 0 to `most`.

    Returns
    -------
    list of int of length k
        In nondecreasing order: about a fraction fractions[i] of the data is less than element i. A single one
        of at most 4,096 codes is selected by permute-and-flip, all others by the exponential mechanism.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record; with `most`, half its epsilon for one added or removed.
    Proof: equal codes are first made distinct, by a map that preserves neighbours (`ApartCodes`). The steps
    of one level read data in disjoint cells, whose ends were released before. A replaced record that stays in
    its cell moves the selection cost there by at most the sensitivity, at the level's epsilon. One that
    enters another cell leaves two steps with one datum more or less: each cost moves by at most half the
    sensitivity, at half the level's epsilon. So a level costs its epsilon, for all earlier outcomes, and the
    epsilons of all levels add up to that of `privacy`.

    With `most`, all else that the output depends on is public (places of equal codes, rounding of fractions),
    and every step has `alone=False`. An added code lies in one cell of each level: all levels together cost
    half of epsilon. So parts of a table by the values of a key, each with quantiles of this `privacy`,
    together cost epsilon for one replaced record, and m times as much for m.

    **Assumes.** All values lie in the domain, which is public; the number of records, or `most`, is public.

    **Accuracy.** `dplearn.theory.quantile_errors` bounds the rank errors.

    **Source.** Kaplan, Schnapp and Stemmer (2022), Algorithm 2, for one record added or removed and distinct
    data, with one sensitivity for all steps.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.kernels.ranks import SortedCodes
    >>> from dplearn.mechanisms import codes_at_fractions
    >>> from dplearn.privacy import ApproxDP
    >>> ranks = SortedCodes(np.arange(100_000) // 100)
    >>> quarters = [Fraction(i, 4) for i in (1, 2, 3)]
    >>> codes_at_fractions(ranks, 2**64, quarters, privacy=ApproxDP(1), dice=SeededDice(0))
    [250, 500, 749]
    """
    n, k = len(ranks) if most is None else most, len(fractions)
    levels = halving(fractions, finest=finest_fraction(n), sized=most is None)
    if k == 1 and size <= FEW_CODES:
        return [_code_among_few(ranks, size, levels[0][0], privacy=privacy, dice=dice)]
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
            codes[step.place], upto[step.place] = chosen, int(apart.count(chosen)[1]) if k > 1 else 0
    return [codes[place] >> bits for place in range(k)]
