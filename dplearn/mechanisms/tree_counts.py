"""Noisy counts of nested intervals in an adaptive tree, for releases of cumulative distribution functions."""

from typing import Any

import numpy as np

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.core.intervals import Level, SortedRecords, TreeRecords, children_of, depth_of, whole
from dplearn.mechanisms.noisy_counts import gaussian_counts, laplace_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.guarantees import epsilon_of, rho_of

__all__ = ["tree_counts"]


def tree_counts(
    codes: Any,
    size: int,
    *,
    fan_out: int,
    threshold: int,
    privacy: ApproxDP | ZeroConcentratedDP,
    dice: Dice,
    low: int | None = None,
    high: int | None = None,
) -> list[Level]:
    """Return a tree of noisy counts in which a node is split if its noisy count reaches the threshold.

    Parameters
    ----------
    codes : array-like of int of shape (n,), or TreeRecords
        Private. From 0 to size - 1, in any order.
    size : int
        Number of codes in the domain; an integer of any size.
    fan_out : int
        Number of nearly equal children of a split node; at least 2.
    threshold : int
        A node of two codes or more is split if its noisy count is at least this; the root, if n is.
    privacy : ApproxDP or ZeroConcentratedDP
        Its `epsilon` is spent whole on Laplace noise, or its `rho` on Gaussian noise.
    dice : Dice
        Source of chance.
    low, high : int, optional
        Public ends of counts, as for `laplace_counts`.

    Returns
    -------
    list of Level
        One level of nodes each, from the root downwards. The count of the root is n, all others are noisy.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof, level by level: the released counts of the levels
    above determine which nodes are counted, so given them the nodes are equal on neighbours. The nodes of a
    level are disjoint: the record leaves at most one of them and enters at most one, so the absolute
    differences of the counts of a level sum to at most 2, and so do the squared differences. Let b be the
    number of levels below the root, `depth_of(size, fan_out)`; each level is an adaptively chosen mechanism
    with epsilon / b or rho / b. (In total 2 b counts may move by 1, and do if the record moves from one child
    of the root to another. With two children of which only the left one is counted the total would be
    2 b - 1; the estimates from both have half the variance or less.)

    **Assumes.** All values lie in the domain, which is public; the number of records is public.

    **Accuracy.** `dplearn.theory.TreePlan.error` bounds the error of the distribution function made from
    these counts.

    **Source.** Dwork, Naor, Pitassi and Rothblum (2010); Hay, Rastogi, Miklau and Suciu (2010). Here the
    domain may have any size, because noisy counts decide which nodes are split.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import tree_counts
    >>> from dplearn.privacy import ApproxDP
    >>> ages = np.repeat([20, 30, 70], 1000)
    >>> levels = tree_counts(ages, 100, fan_out=10, threshold=50, privacy=ApproxDP(1), dice=SeededDice(0))
    >>> [level.starts.size for level in levels]  # the root, ten intervals of 10, and 30 intervals of 1
    [1, 10, 30]
    """
    depth = depth_of(size, fan_out)
    check_count("threshold", threshold, low=1)
    records = codes if isinstance(codes, TreeRecords) else SortedRecords(codes, size)
    levels = [whole(size, len(records))]
    for _ in range(depth):
        level = levels[-1]
        crowded = np.flatnonzero((level.counts >= threshold) & (level.lengths > 1))
        if not crowded.size:
            break
        children = children_of(level, crowded, fan_out)
        counts = _noisy(records.counted(children), privacy, depth, dice, low, high)
        levels.append(children.with_counts(counts))
    return levels


def _noisy(
    counts: Any,
    privacy: ApproxDP | ZeroConcentratedDP,
    depth: int,
    dice: Dice,
    low: int | None,
    high: int | None,
) -> Any:
    """Return the noisy counts of one level: its share of the privacy is 1 / depth, its L1 sensitivity 2."""
    if isinstance(privacy, ZeroConcentratedDP):
        part = ZeroConcentratedDP(rho_of(privacy) / depth)
        return gaussian_counts(counts, privacy=part, dice=dice, squared_sensitivity=2, low=low, high=high)
    pure = ApproxDP(epsilon_of(privacy) / depth)
    return laplace_counts(counts, privacy=pure, dice=dice, sensitivity=2, low=low, high=high)
