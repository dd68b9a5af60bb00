"""Noisy counts: with discrete Laplace or Gaussian noise, and of the nested intervals of an adaptive tree."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.kernels import Level, decay_ratio, depth_of, near_integers
from dplearn.kernels.intervals import SortedRecords, children_of, whole
from dplearn.privacy import ApproxDP, GaussianSums, ZeroConcentratedDP
from dplearn.privacy.gaussian_dp import sums_sigma2
from dplearn.privacy.guarantees import epsilon_of, rho_of

_FAR = (1 << 62) - 1  # sums and differences of two such numbers fit 64 bits
_BLOCK = 1 << 15  # counts per block when noise is added, so that intermediate arrays fit the cache


def laplace_counts(
    counts: Any,
    *,
    privacy: ApproxDP,
    dice: Dice,
    sensitivity: int = 1,
    low: int | None = None,
    high: int | None = None,
) -> Any:
    """Return one count, or an array of counts, with discrete Laplace noise.

    Parameters
    ----------
    counts : int, ndarray of int or sequence of int, of shape (k,)
        Private.
    privacy : ApproxDP
        Its `epsilon` is spent whole, by all counts together; its `delta` is not used.
    sensitivity : int, default=1
        L1 sensitivity: the greatest sum of absolute differences of the counts between neighbours. A replaced
        record changes a histogram by 2.

    Returns
    -------
    int, or ndarray of int64 of shape (k,)
        Within low..high.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in: a count that moves by s
    changes probabilities by at most ratio ** -s, and ratio ** -sensitivity <= exp(epsilon). Proof:
    docs/theory/noisy_counts.md.

    **Assumes.** The absolute differences of all counts between neighbours sum to at most `sensitivity`; the
    number and the order of the counts are public.

    **Accuracy.** With probability at least 1 - beta no count within the ends has an error of more than
    ln(2 k / beta) / ln(1 / ratio), which is sensitivity ln(2 k / beta) / epsilon to one part in 2**30;
    values of epsilon / sensitivity above 700 count as 700.

    **Source.** Dwork, McSherry, Nissim and Smith (2006); Ghosh, Roughgarden and Sundararajan (2009).

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import laplace_counts
    >>> from dplearn.privacy import ApproxDP
    >>> laplace_counts(100, privacy=ApproxDP(1), dice=SeededDice(1), low=0, high=200)
    102
    """
    ends = _Ends(low, high)
    values = ends.read(counts)
    sensitivity = check_count("sensitivity", sensitivity, low=1)
    ratio = decay_ratio(epsilon_of(privacy) / sensitivity)
    lows = None if low is None else ends.low - values
    highs = None if high is None else ends.high - values
    noise = dice.discrete_laplace(ratio, lows, highs, size=values.size)
    return ends.publish(counts, values, noise)


def gaussian_counts(
    counts: Any,
    *,
    privacy: ZeroConcentratedDP,
    dice: Dice,
    squared_sensitivity: int = 1,
    low: int | None = None,
    high: int | None = None,
) -> Any:
    """Return one count, or an array of counts, with discrete Gaussian noise.

    Parameters
    ----------
    counts : int, ndarray of int or sequence of int, of shape (k,)
        Private.
    privacy : ZeroConcentratedDP
        Its `rho` is spent whole, by all counts together.
    squared_sensitivity : int, default=1
        Squared L2 sensitivity: the greatest sum of squared differences of the counts between neighbours. A
        replaced record changes two cells of a histogram by 1 each: 2.

    Returns
    -------
    int, or ndarray of int64 of shape (k,)
        Within low..high.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described, or sigma2 would reach 2**56; the message shows no count.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `squared_sensitivity` is counted in: the noise has sigma2
    = squared_sensitivity / (2 rho), and a count that moves by s the Renyi divergence a s**2 / (2 sigma2) of
    order a at most. Proof: docs/theory/noisy_counts.md.

    **Assumes.** The squared differences of all counts between neighbours sum to at most
    `squared_sensitivity`; the number and the order of the counts are public.

    **Accuracy.** With probability at least 1 - beta no count within the ends has an error of more than
    sqrt(2 sigma2 ln(2 k / beta)).

    **Source.** Canonne, Kamath and Steinke (2020), Theorem 4, Theorem 14 and Proposition 25.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import gaussian_counts
    >>> from dplearn.privacy import ZeroConcentratedDP
    >>> gaussian_counts(np.array([100, 0, 7]), privacy=ZeroConcentratedDP(0.5), dice=SeededDice(0)).tolist()
    [98, -2, 7]
    """
    squared = check_count("squared_sensitivity", squared_sensitivity, low=1)
    return _with_gaussian(counts, squared / (2 * rho_of(privacy)), dice, low, high)


def gaussian_sums(
    sums: Any,
    *,
    privacy: GaussianSums,
    dice: Dice,
    squared_sensitivity: int = 1,
    low: int | None = None,
    high: int | None = None,
) -> Any:
    """Return one sum, or an array of sums, with discrete Gaussian noise that is accounted for as Gaussian-DP.

    Parameters
    ----------
    sums : int, ndarray of int or sequence of int, of shape (k,)
        Private.
    privacy : GaussianSums
        Its `budget`, mu^2 / 2, is spent whole, by all sums together; positive.
    squared_sensitivity : int, default=1
        As for `gaussian_counts`.

    Returns
    -------
    int, or ndarray of int64 of shape (k,)
        Within low..high.

    Notes
    -----
    **Privacy.** That of the event `privacy`, for the neighbours that `squared_sensitivity` is counted in. The
    budgets of several releases add, also adaptively, up to 2**32 sums in all. The noise has sigma2 =
    squared_sensitivity / (2 budget) + 4. Proof: docs/theory/noisy_counts.md.

    **Assumes.** As for `gaussian_counts`.

    **Accuracy.** As for `gaussian_counts`, with this sigma2. Where squared_sensitivity / (2 budget) is small,
    multiples of the sums have relatively less noise: see `dplearn.queries.noise`.

    **Source.** Dong, Roth and Su (2022), for continuous noise. The additional variance is ours.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import gaussian_sums
    >>> from dplearn.privacy import GaussianSums
    >>> gaussian_sums(np.array([100, 0, 7]), privacy=GaussianSums(0.5), dice=SeededDice(0)).tolist()
    [104, -4, 8]
    """
    squared = check_count("squared_sensitivity", squared_sensitivity, low=1)
    if not isinstance(privacy, GaussianSums):
        raise TypeError(f"privacy must be of type GaussianSums, got {privacy!r}")
    sigma2 = sums_sigma2(squared, check_number("budget", privacy.budget, above=0))
    return _with_gaussian(sums, sigma2, dice, low, high)


def _with_gaussian(counts: Any, sigma2: Fraction, dice: Dice, low: int | None, high: int | None) -> Any:
    """Return counts with discrete Gaussian noise, clipped to public ends."""
    ends = _Ends(low, high)
    values = ends.read(counts)
    return ends.publish(counts, values, dice.discrete_gaussian(sigma2, size=values.size))


class _Ends:
    """Public ends of counts; clips counts and noisy counts to them."""

    def __init__(self, low: int | None, high: int | None):
        self.low = -_FAR if low is None else check_count("low", low, low=-_FAR, high=_FAR)
        self.high = _FAR if high is None else check_count("high", high, low=self.low, high=_FAR)

    def read(self, counts: Any) -> NDArray[np.int64]:
        listed = counts if np.ndim(counts) else [counts]
        return near_integers("counts", listed, self.low, self.high)

    def publish(self, counts: Any, values: NDArray[np.int64], noise: Any) -> Any:
        """Return values + noise clipped to the ends; an int if `counts` is one. Overwrites `values`."""
        for start in range(0, values.size, _BLOCK):
            block = values[start : start + _BLOCK]
            # Clip the noise, not the sum: the result is the same, and no sum overflows.
            part = noise[start : start + _BLOCK].clip(self.low - block, self.high - block)
            block += part.astype(np.int64, copy=False)
        return values if np.ndim(counts) else int(values[0])


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
    codes : array-like of int of shape (n,), or SortedRecords
        Private. From 0 to size - 1, in any order.
    fan_out : int
        Number of nearly equal children of a split node; at least 2.
    threshold : int
        A node of two codes or more is split if its noisy count is at least this; the root, if n is.
    privacy : ApproxDP or ZeroConcentratedDP
        Its `epsilon` is spent whole on Laplace noise, or its `rho` on Gaussian noise.

    Returns
    -------
    list of Level
        One level of nodes each, from the root downwards. The count of the root is n, all others are noisy.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof, level by level: the released counts of the levels
    above determine which nodes are counted. The nodes of a level are disjoint: the record leaves at most one
    of them and enters at most one, so the absolute differences of the counts of a level sum to at most 2, and
    so do the squared differences. Each of the b = `depth_of(size, fan_out)` levels below the root is an
    adaptively chosen mechanism with epsilon / b or rho / b.

    **Assumes.** All values lie in the domain, which is public; the number of records is public.

    **Accuracy.** `dplearn.theory.TreePlan.error` bounds the error of the distribution function made from
    these counts.

    **Source.** Dwork, Naor, Pitassi and Rothblum (2010); Hay, Rastogi, Miklau and Suciu (2010). Here the
    domain may have any size.

    Examples
    --------
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
    records = codes if hasattr(codes, "counted") else SortedRecords(codes, size)  # or of parts
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
