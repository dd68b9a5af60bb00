"""A value that lies between the data, with records that hardly grow with the domain: RecPrefix.

>>> from dplearn.chance import SeededDice
>>> from dplearn.releases.interior_point_sizes import recursive_sizes
>>> sizes = recursive_sizes(2**65536, epsilon=1, delta=1e-6)
>>> data = [2**65535 - 1 - i for i in range(500)] + [2**65535 + i for i in range(600)]
>>> found = recursive_interior_point(
...     data, 2**65536, sizes=sizes, privacy=ApproxDP(1, 1e-6), dice=SeededDice(0)
... )
>>> min(data) <= found <= max(data)
True
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_ratio
from dplearn.mechanisms.choosing import choosing_mechanism
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

__all__ = [
    "PrefixLevel",
    "RecursiveSizes",
    "choose_prefix",
    "next_domain_size",
    "recursive_interior_point",
]


def recursive_interior_point(
    codes: Sequence[int], size: int, *, sizes: "RecursiveSizes", privacy: ApproxDP, dice: Dice
) -> int | None:
    """Return a code with, most likely, some of the data at it or below and some at it or above, or None.

    Parameters
    ----------
    codes : sequence of int of length n
        Private. From 0 to size - 1, in any order; integers of any size.
    size : int
        How many codes the domain has.
    sizes : RecursiveSizes
        Public: how deep the recursion goes, and what each of its steps takes and spends.
    privacy : ApproxDP
        What `sizes` may spend, epsilon and delta.
    dice : Dice
        Source of chance; the pairs that it makes are secret.

    Returns
    -------
    int or None
        None where a prefix's choice was declined, or where n is too small for the sizes to leave each call
        some records.

    Raises
    ------
    ValueError
        If `sizes` spend more than `privacy`.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof, by induction from the innermost call; let the data
    be sorted. The m least of n records change by one replacement if the n do: all but the greatest of them
    are the same records, or the m - 1 least of the others. Map the records of one such set to those of the
    other so that all but one are equal, and pairs to pairs with it: that takes uniformly random pairs to
    uniformly random pairs, of which one differs, so that one z_j does. For each way to make the pairs, the
    next call releases z with its own guarantee; given z, one record adds 1 to one prefix's quality and takes
    1 from another's, so that the choice has its `choice`; given the prefix, the count moves by at most 1, so
    that the comparison has its `comparison`. Epsilons and deltas add, as `sizes.privacy` does, and the mean
    over all pairs keeps the sum. With one epsilon and delta for every step, N calls, the last of which
    is exponential, are ((2 N - 1) epsilon, (N - 1) delta)-private, and so (2 N epsilon, 2 N delta)-private.

    **Assumes.** All values lie in the domain, which is public; n and `sizes` are public.

    **Accuracy.** With `recursive_sizes` of some beta the code lies between the least and the greatest of the
    data, both included, with probability at least 1 - beta, once n is at least `sizes.n_samples`.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), RecPrefix. Here random pairs are drawn, and not a
    permutation; only prefixes of paired records are chosen; all noise is discrete, and each step spends a
    share of its own.
    """
    spent, size = sizes.privacy, check_count("size", size, low=1)
    if spent.epsilon > epsilon_of(privacy) or spent.delta > privacy.delta:
        raise ValueError(f"sizes must spend no more than {privacy!r}, got sizes that spend {spent!r}")
    return _interior_point(sorted(map(int, codes)), size, 0, sizes, dice)


def choose_prefix(
    codes: Sequence[int], n_bits: int, length: int, *, privacy: ApproxDP, dice: Dice
) -> int | None:
    """Return the first bits that many codes share, as an integer of `length` bits, or None if few do.

    Parameters
    ----------
    codes : sequence of int
        Private. Of `n_bits` bits.
    n_bits, length : int
        How many bits codes have, and of them a prefix.
    privacy : ApproxDP
        Epsilon and delta are spent whole; both positive.
    dice : Dice
        Source of chance.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record: it adds 1 to one prefix's number of codes and takes 1
    from another's, as `choosing_mechanism` asks with growth 1. The prefix is released, and not its place.

    **Assumes.** `n_bits` and `length` are public or released.

    **Accuracy.** As for `choosing_mechanism`: what is answered is a prefix of some code.

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
    """Return what one call and those within it return; `codes` are sorted."""
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
    # Codes beyond the domain are no answer; no record is there, so the count stays the same.
    greatest = min(least | ((1 << rest) - 1), size - 1)
    if least == greatest:
        return least
    reached = len(codes) - bisect_left(codes, greatest)
    # The bit [reached + Z >= threshold], and no more.
    gap = level.threshold - reached
    ratio = decay_ratio(level.comparison.epsilon)
    return greatest if dice.discrete_laplace(ratio, gap - 1, gap) == gap else least


def _shared_length(
    paired: list[int], size: int, depth: int, sizes: "RecursiveSizes", dice: Dice
) -> int | None:
    """Return how many first bits many random pairs share, and some no more: as private as the next call."""
    n_bits = (size - 1).bit_length()
    lengths = sorted(n_bits - (one ^ other).bit_length() for one, other in _random_pairs(paired, dice))
    return _interior_point(lengths, next_domain_size(size), depth + 1, sizes, dice)


def _random_pairs(codes: Sequence[int], dice: Dice) -> list[tuple[int, int]]:
    """Return all codes in pairs, each way to pair them equally probable, as after a random permutation."""
    rest, pairs = list(codes), []
    while rest:
        code = rest.pop()
        place = dice.below(len(rest))
        rest[place], rest[-1] = rest[-1], rest[place]
        pairs.append((code, rest.pop()))
    return pairs


@dataclass(frozen=True)
class PrefixLevel:
    """One recursive call's public sizes.

    Attributes
    ----------
    aside : int
        How many of the greatest records are not paired.
    threshold : int
        The noisy number of records not less than the greater candidate from which on it is the answer.
    choice, comparison : ApproxDP
        What the choice of a prefix may spend, and the comparison of its two candidates (delta 0).

    Notes
    -----
    **Privacy.** A call spends `choice` and `comparison`, beside what the calls within it spend: the proof is
    that of `recursive_interior_point`.

    **Assumes.** All are fixed without data.

    **Accuracy.** That of `dplearn.theory.recursive_sizes`, which makes them; other sizes are as private.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), RecPrefix, where every step spends as much.
    """

    aside: int
    threshold: int
    choice: ApproxDP
    comparison: ApproxDP


@dataclass(frozen=True)
class RecursiveSizes:
    """All public sizes of the recursive method.

    Attributes
    ----------
    levels : tuple of PrefixLevel
        One for each call that pairs its records, outermost first.
    aside : int
        How many of the greatest records the exponential method, at the end, does without.
    base : ApproxDP
        What it may spend (delta 0).
    n_samples : int
        From how many records on the method succeeds.

    Notes
    -----
    **Privacy.** `privacy` adds up what `recursive_interior_point` spends on all calls.

    **Assumes.** All are fixed without data.

    **Accuracy.** `dplearn.theory.recursive_sizes` proves what beta they keep from `n_samples` records on.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 3.4.
    """

    levels: tuple[PrefixLevel, ...]
    aside: int
    base: ApproxDP
    n_samples: int

    @property
    def privacy(self) -> ApproxDP:
        """What all calls together spend, by basic composition."""
        spent = [self.base, *(part for level in self.levels for part in (level.choice, level.comparison))]
        return ApproxDP(sum(part.epsilon for part in spent), sum(part.delta for part in spent))


def next_domain_size(size: int) -> int:
    """Return how many lengths, 0 included, a common prefix of two codes below `size` can have.

    Parameters
    ----------
    size : int
        At least 1; public.

    Notes
    -----
    **Privacy.** Sees no data. **Assumes.** `size` is public. **Accuracy.** Exact: codes have
    ceil(log2(size)) bits, and a prefix any number of them. **Source.** As for `recursive_interior_point`.
    """
    return (size - 1).bit_length() + 1
