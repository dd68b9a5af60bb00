"""Counts with exact discrete noise: Laplace for a pure guarantee, Gaussian for a concentrated one.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> from dplearn.privacy import ApproxDP, ZeroConcentratedDP
>>> laplace_counts(100, privacy=ApproxDP(1), dice=SeededDice(1), low=0, high=200)
102
>>> gaussian_counts(np.array([100, 0, 7]), privacy=ZeroConcentratedDP(0.5), dice=SeededDice(0)).tolist()
[98, -2, 7]
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_ratio
from dplearn.core.grouping import near_integers
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.guarantees import epsilon_of, rho_of

__all__ = ["gaussian_counts", "laplace_counts"]

_FAR = (1 << 62) - 1  # sums and differences of two such numbers fit 64 bits
_BLOCK = 1 << 15  # counts that are made noisy together: what is computed of them stays in the cache


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
    dice : Dice
        Source of chance.
    sensitivity : int, default=1
        The most by which all counts together differ between neighbours: the sum of absolute differences. A
        replaced record moves a histogram by 2.
    low, high : int, optional
        Public ends, at most 2**62 - 1 in magnitude, which are also what None stands for: counts beyond them
        are moved to them, before the noise and after it.

    Returns
    -------
    int, or ndarray of int64 of shape (k,)
        Within low..high.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message shows no count.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in. Proof: where the count moves
    by s the probability of each noisy count moves by at most ratio ** -s; those of several counts multiply;
    ratio ** -sensitivity <= exp(epsilon). Moving to an end works on what was released.

    **Assumes.** The absolute differences of all counts between neighbours sum to at most `sensitivity`; how
    many counts there are, and in what order, is public.

    **Accuracy.** With probability at least 1 - beta no count within the ends is off by more than
    ln(2 k / beta) / ln(1 / ratio), which is sensitivity ln(2 k / beta) / epsilon but for one part in 2**30,
    unless epsilon / sensitivity exceeds 700, which counts as 700.

    **Source.** Dwork, McSherry, Nissim and Smith (2006); Ghosh, Roughgarden and Sundararajan (2009). Here the
    ratio of neighbouring probabilities is rational and the draw exact.
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
    dice : Dice
        Source of chance.
    squared_sensitivity : int, default=1
        The most that the squares of all counts' differences between neighbours sum to. A replaced record
        moves two cells of a histogram by 1: 2.
    low, high : int, optional
        As for `laplace_counts`.

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
    **Privacy.** `privacy`, for the neighbours that `squared_sensitivity` is counted in: the noise has
    sigma2 = squared_sensitivity / (2 rho). Proof: between two discrete Gaussians whose centres are s apart, s
    an integer, the Renyi divergence of order a is at most a s**2 / (2 sigma2); those of several counts add.
    Moving to an end works on what was released.

    **Assumes.** The squares of all counts' differences between neighbours sum to at most
    `squared_sensitivity`; how many counts there are, and in what order, is public.

    **Accuracy.** With probability at least 1 - beta no count within the ends is off by more than
    sqrt(2 sigma2 ln(2 k / beta)).

    **Source.** Canonne, Kamath and Steinke (2020), Theorem 4, Theorem 14 and Proposition 25; their noise,
    sampled by another route.
    """
    ends = _Ends(low, high)
    values = ends.read(counts)
    squared = check_count("squared_sensitivity", squared_sensitivity, low=1)
    sigma2 = squared / (2 * rho_of(privacy))
    noise = dice.discrete_gaussian(sigma2, size=values.size)
    return ends.publish(counts, values, noise)


class _Ends:
    """Public ends as Python integers, and what lies beyond them moved in."""

    def __init__(self, low: int | None, high: int | None):
        self.low = -_FAR if low is None else check_count("low", low, low=-_FAR, high=_FAR)
        self.high = _FAR if high is None else check_count("high", high, low=self.low, high=_FAR)

    def read(self, counts: Any) -> NDArray[np.int64]:
        """Return the counts within the ends, as an array."""
        listed = counts if np.ndim(counts) else [counts]
        return near_integers("counts", listed, self.low, self.high)

    def publish(self, counts: Any, values: NDArray[np.int64], noise: Any) -> Any:
        """Make the values noisy, within the ends, and return them, as one int where one was given."""
        for start in range(0, values.size, _BLOCK):
            block = values[start : start + _BLOCK]
            # The noise is moved in, not the sum: that is the same, and whatever its width nothing overflows.
            part = noise[start : start + _BLOCK].clip(self.low - block, self.high - block)
            block += part.astype(np.int64, copy=False)
        return values if np.ndim(counts) else int(values[0])
