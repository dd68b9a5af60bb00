"""A private interior point of integer data: by the exponential mechanism, or RecPrefix for huge domains."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.kernels import Cell, SortedCodes, decay_ratio
from dplearn.kernels.intervals import exact_codes
from dplearn.mechanisms.choosing import choosing_mechanism
from dplearn.mechanisms.rank_selection import code_by_cost
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of


def interior_point_code(codes: Sequence[int], size: int, *, privacy: ApproxDP, dice: Dice) -> int:
    """Return an interior point: a code between the least and the greatest of the data, with high probability.

    Parameters
    ----------
    codes : sequence of int of length n
        Private. From 0 to size - 1, in any order.

    Returns
    -------
    int
        Code c with probability proportional to ratio ** -quality, where quality is the lesser of the number
        of data >= c and the number of data <= c, and ratio is just above exp(-epsilon / 2).

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: both numbers, and so the lesser of them, move by
    at most 1: the exponential mechanism at sensitivity 1.

    **Assumes.** All values lie in the domain, which is public; the number of records is public.

    **Accuracy.** The code lies between the least and the greatest of the data, both included, unless its
    quality is 0, with probability at most size * exp(-epsilon * floor(n / 2) / 2): at most beta if n is at
    least (4 / epsilon) ln(size / beta) + 1.

    **Source.** McSherry and Talwar (2007); Bun, Nissim, Stemmer and Vadhan (2015), Section 3.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import interior_point_code
    >>> from dplearn.privacy import ApproxDP
    >>> data = [500] * 120 + [900] * 180
    >>> 500 <= interior_point_code(data, 2**64, privacy=ApproxDP(1), dice=SeededDice(0)) <= 900
    True
    """
    ordered = SortedCodes(exact_codes(codes, size))
    return interior_point_of(Cell(ordered, 0, len(codes), 0, size), privacy=privacy, dice=dice)


def interior_point_of(cell: Cell, *, privacy: ApproxDP, dice: Dice) -> int:
    """Return `interior_point_code` of the data of a cell, among its codes."""
    # With L data less than a code and U at most it, the cost is m - min(m - L, U) = max(L, m - U).
    return code_by_cost(cell, len(cell), 0, privacy=privacy, dice=dice)


def recursive_interior_point(
    codes: Sequence[int], size: int, *, sizes: "RecursiveSizes", privacy: ApproxDP, dice: Dice
) -> int | None:
    """Return an interior point of the data with high probability, or None (abstention).

    Parameters
    ----------
    codes : sequence of int of length n
        Private. From 0 to size - 1, in any order; integers of any size.
    sizes : RecursiveSizes
        Public. The depth of the recursion, and the number of records and the budget of each of its steps.
    privacy : ApproxDP
        Budget; the cost of `sizes` must not exceed it.
    dice : Dice
        Source of chance; the random pairs are secret.

    Returns
    -------
    int or None
        None if the choosing mechanism abstained in some call, or if n is too small to leave records for
        every call.

    Raises
    ------
    ValueError
        If the cost of `sizes` exceeds `privacy`.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof, by induction from the innermost call, for sorted
    data. If the n records of two data sets differ in one replaced record, so do their m least records, or
    these are equal. Hence there is a bijection of these records under which at most one differs; it maps
    uniformly random pairs to uniformly random pairs, of which at most one differs, and so at most one shared
    length z_j. For each way to form the pairs, the next call releases a function of z with its own guarantee.
    Given the released length, one replaced record adds 1 to the quality of one prefix and subtracts 1 from
    that of another: the choice of a prefix has the guarantee `choice`. Given the prefix, it changes the
    number of records at or above the greater candidate by at most 1: the comparison has the guarantee
    `comparison`. Epsilons and deltas add, as in `sizes.privacy`, and so for the average over all pairs.

    **Assumes.** All values lie in the domain, which is public; n and `sizes` are public.

    **Accuracy.** With `recursive_sizes` for some beta, the code lies between the least and the greatest of
    the data, both included, with probability at least 1 - beta, if n is at least `sizes.n_samples`.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), RecPrefix, which permutes. Here only prefixes of
    paired records are chosen; noise is discrete, and each step has its own budget.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import recursive_interior_point
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.releases.interior_point import recursive_sizes
    >>> sizes = recursive_sizes(2**65536, epsilon=1, delta=1e-6)
    >>> data = [2**65535 - 1 - i for i in range(500)] + [2**65535 + i for i in range(600)]
    >>> given = {"sizes": sizes, "privacy": ApproxDP(1, 1e-6), "dice": SeededDice(0)}
    >>> found = recursive_interior_point(data, 2**65536, **given)
    >>> min(data) <= found <= max(data)
    True
    """
    spent, size = sizes.privacy, check_count("size", size, low=1)
    if spent.epsilon > epsilon_of(privacy) or spent.delta > privacy.delta:
        raise ValueError(f"sizes must cost at most {privacy!r}, got sizes that cost {spent!r}")
    return _interior_point(sorted(map(int, codes)), size, 0, sizes, dice)


def choose_prefix(
    codes: Sequence[int], n_bits: int, length: int, *, privacy: ApproxDP, dice: Dice
) -> int | None:
    """Return a prefix that many codes share, as an integer of `length` bits, or None if too few share one.

    **Privacy.** `privacy`, for one replaced record, with `n_bits` and `length` public or released: it moves
    the numbers of codes with two prefixes by 1, as `choosing_mechanism` assumes with growth 1. The prefix is
    released, not its index.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), RecPrefix, step 5.
    """
    found = Counter(code >> (n_bits - length) for code in codes)
    prefixes = list(found)
    counts = np.array([found[prefix] for prefix in prefixes], dtype=np.int64)
    place = choosing_mechanism(counts, growth=1, privacy=privacy, dice=dice)
    return None if place is None else prefixes[place]


def _interior_point(
    codes: list[int], size: int, depth: int, sizes: "RecursiveSizes", dice: Dice
) -> int | None:
    """Return the result of the recursive call at `depth`; `codes` are sorted."""
    if depth == len(sizes.levels):
        kept = codes[: max(0, len(codes) - sizes.aside)]
        return interior_point_code(kept, size, privacy=sizes.base, dice=dice) if kept else None
    level, n_bits = sizes.levels[depth], (size - 1).bit_length()
    paired = codes[: max(0, len(codes) - level.aside) // 2 * 2]
    shared = _shared_length(paired, size, depth, sizes, dice)
    if shared is None:
        return None
    length = min(shared + 1, n_bits)
    prefix = choose_prefix(paired, n_bits, length, privacy=level.choice, dice=dice)
    if prefix is None:
        return None
    rest = n_bits - length
    least = prefix << rest
    # Codes beyond the domain are excluded; no record is there, so the count is unchanged.
    greatest = min(least | ((1 << rest) - 1), size - 1)
    if least == greatest:
        return least
    reached = len(codes) - bisect_left(codes, greatest)
    # Only the bit [reached + Z >= threshold] is drawn and released.
    gap = level.threshold - reached
    ratio = decay_ratio(level.comparison.epsilon)
    return greatest if dice.discrete_laplace(ratio, gap - 1, gap) == gap else least


def _shared_length(
    paired: list[int], size: int, depth: int, sizes: "RecursiveSizes", dice: Dice
) -> int | None:
    """Return an interior point of the lengths of random pairs' common prefixes."""
    n_bits = (size - 1).bit_length()
    lengths = sorted(n_bits - (one ^ other).bit_length() for one, other in _random_pairs(paired, dice))
    return _interior_point(lengths, next_domain_size(size), depth + 1, sizes, dice)


def _random_pairs(codes: Sequence[int], dice: Dice) -> list[tuple[int, int]]:
    """Return a uniformly random partition of the codes into pairs."""
    rest, pairs = list(codes), []
    while rest:
        code = rest.pop()
        place = dice.below(len(rest))
        rest[place], rest[-1] = rest[-1], rest[place]
        pairs.append((code, rest.pop()))
    return pairs


@dataclass(frozen=True)
class PrefixLevel:
    """Public sizes and budgets of one recursive call; in RecPrefix of Bun et al. (2015) budgets are equal."""

    aside: int  # greatest records that are not paired
    # the greater candidate is returned if the noisy number of records from it on is at least this
    threshold: int
    choice: ApproxDP  # of a prefix
    comparison: ApproxDP  # of its two candidates (delta 0)


@dataclass(frozen=True)
class RecursiveSizes:
    """Public sizes and budgets of all calls of the recursive method.

    Attributes
    ----------
    levels : tuple of PrefixLevel
        One for each call that pairs its records, outermost first.
    aside : int
        Number of greatest records that the exponential mechanism, in the innermost call, leaves out.
    base : ApproxDP
        Budget of the exponential mechanism (delta 0).
    n_samples : int
        Least number of records for which the accuracy is proved.

    Notes
    -----
    **Privacy.** `privacy` is the cost of all calls of `recursive_interior_point` together.

    **Assumes.** All values are fixed without data.

    **Accuracy.** `dplearn.theory.recursive_sizes` proves the failure probability beta for `n_samples`
    records.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 3.4.
    """

    levels: tuple[PrefixLevel, ...]
    aside: int
    base: ApproxDP
    n_samples: int

    @property
    def privacy(self) -> ApproxDP:
        """The cost of all calls together, by basic composition."""
        spent = [self.base, *(part for level in self.levels for part in (level.choice, level.comparison))]
        return ApproxDP(sum(part.epsilon for part in spent), sum(part.delta for part in spent))


def next_domain_size(size: int) -> int:
    """Return the number of possible lengths, 0 included, of a common prefix of two codes below `size`."""
    return (size - 1).bit_length() + 1
