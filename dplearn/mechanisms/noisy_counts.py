"""Counts with exact discrete noise: Laplace for a pure guarantee, Gaussian for a concentrated one.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> from dplearn.privacy import ApproxDP, ZeroConcentratedDP
>>> laplace_counts(100, privacy=ApproxDP(1), dice=SeededDice(0), low=0, high=200)
102
>>> gaussian_counts(np.array([100, 0, 7]), privacy=ZeroConcentratedDP(0.5), dice=SeededDice(0)).tolist()
[98, -2, 7]
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_ratio
from dplearn.core.grouping import check_integers
from dplearn.privacy import ApproxDP, ZeroConcentratedDP

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
    counts : int or ndarray of int of shape (k,)
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

    **Accuracy.** With probability at least 1 - beta no count is off by more than
    ln(2 k / beta) / ln(1 / ratio), which is sensitivity ln(2 k / beta) / epsilon but for one part in 2**30.

    **Source.** Dwork, McSherry, Nissim and Smith (2006); Ghosh, Roughgarden and Sundararajan (2009). Here the
    ratio of neighbouring probabilities is rational and the draw exact.
    """
    values = _moved_in(counts, low, high)
    sensitivity = check_count("sensitivity", sensitivity, low=1)
    ratio = decay_ratio(check_number("epsilon", privacy.epsilon, above=0) / sensitivity)
    lows, highs = (None if end is None else end - values for end in (low, high))
    noise = dice.discrete_laplace(ratio, lows, highs, size=values.size)
    return _published(counts, values, noise, low, high)


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
    counts : int or ndarray of int of shape (k,)
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

    **Accuracy.** With probability at least 1 - beta no count is off by more than
    sqrt(2 sigma2 ln(2 k / beta)).

    **Source.** Canonne, Kamath and Steinke (2020), Theorem 4, Theorem 14 and Proposition 25; their noise,
    sampled by another route.
    """
    values = _moved_in(counts, low, high)
    squared = check_count("squared_sensitivity", squared_sensitivity, low=1)
    sigma2 = squared / (2 * check_number("rho", privacy.rho, above=0))
    noise = dice.discrete_gaussian(sigma2, size=values.size)
    return _published(counts, values, noise, low, high)


def _moved_in(counts: Any, low: int | None, high: int | None) -> NDArray[np.int64]:
    """Return the counts as an int64 array, each beyond an end moved to it, which no distance grows by."""
    lowest = -_FAR if low is None else check_count("low", low, low=-_FAR, high=_FAR)
    highest = _FAR if high is None else check_count("high", high, low=lowest, high=_FAR)
    array = check_integers("counts", np.atleast_1d(counts))
    near = np.minimum(array, np.uint64(_FAR)) if array.dtype.kind == "u" else array
    return np.asarray(near.astype(np.int64, copy=False).clip(lowest, highest), dtype=np.int64)


def _published(counts: Any, values: NDArray[np.int64], noise: Any, low: int | None, high: int | None) -> Any:
    """Make the values noisy, within the ends, and return them, as one int where one was given."""
    lowest, highest = -_FAR if low is None else low, _FAR if high is None else high
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        # The noise is moved in, not the sum: that is the same, and whatever its width nothing overflows.
        part = noise[start : start + _BLOCK].clip(lowest - block, highest - block)
        block += part.astype(np.int64, copy=False)
    return int(values[0]) if np.ndim(counts) == 0 else values
