"""Report noisy max: private selection of the candidate whose quality plus one-sided noise is greatest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.core.exact import selection_ratio
from dplearn.core.grouping import check_integers
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

__all__ = ["report_noisy_max"]


def report_noisy_max(qualities: NDArray[Any], *, privacy: ApproxDP, dice: Dice, sensitivity: int = 1) -> int:
    """Return the index of the candidate with the greatest noisy quality.

    Parameters
    ----------
    qualities : ndarray of int of shape (k,)
        Private. Greater is better.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.
    sensitivity : int, default=1
        The most by which one quality differs between neighbours.

    Returns
    -------
    int
        The first index i at which qualities[i] + G_i is greatest. The G_i are independent, with
        P[G_i >= t] = ratio ** t for t >= 0, and ratio is exp(-epsilon / (2 sensitivity)) rounded up to a
        rational number. The noisy maximum itself is not released.

    Raises
    ------
    TypeError, ValueError
        If `qualities` is not a nonempty array of integers, or `sensitivity` not a positive integer.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in. Proof: fix all noise except
    that of candidate i; candidate i is selected exactly if G_i >= t, where the other noisy qualities and
    qualities[i] determine the integer t. Between neighbours t moves by at most 2 sensitivity, and
    P[G >= t + s] >= ratio ** s P[G >= t] for all t and s >= 0.

    **Assumes.** Each quality moves by at most `sensitivity` between neighbours; the number of candidates
    and their order are public.

    **Accuracy.** With probability at least 1 - beta the quality is below the best by at most
    ln(k / beta) / ln(1 / ratio). Of equal noisy qualities the first is selected, so the order of the
    candidates matters. As epsilon decreases, ties become rare and the output distribution approaches that of
    `permute_and_flip`, which does not depend on the order and needs one draw instead of k: prefer that
    mechanism.

    **Source.** Dwork and Roth (2014), Claim 3.9, with noise of scale 1 / epsilon for counts that all move in
    one direction; in general the scale must be 2 / epsilon. Ding, Kifer, Steinke and others (2021) show that
    with continuous one-sided noise this is permute-and-flip. Here the noise is discrete, and of equal noisy
    qualities the first is selected.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import report_noisy_max
    >>> from dplearn.privacy import ApproxDP
    >>> report_noisy_max(np.array([10, 60, 20]), privacy=ApproxDP(1), dice=SeededDice(0))
    1
    """
    qualities = check_integers("qualities", qualities)
    noise = dice.geometric(selection_ratio(epsilon_of(privacy), sensitivity), size=qualities.size)
    # Add as Python integers if the sum may not fit 64 bits.
    wide = noise.dtype == object or qualities.dtype == np.uint64 or _is_far(qualities)
    return int(np.argmax((qualities.astype(object) if wide else qualities.astype(np.int64)) + noise))


def _is_far(values: NDArray[Any]) -> bool:
    return bool(values.max() >= 1 << 62) or bool(values.min() <= -(1 << 62))
