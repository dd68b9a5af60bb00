"""The choosing mechanism: private selection from a large set where a record supports few solutions."""

from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.kernels import (
    check_integers,
    decay_ratio,
    group_counts,
    laplace_quantile,
    nth_equal,
    power_at_most,
)
from dplearn.mechanisms.selection import select_exponential
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import delta_of, epsilon_of


def choosing_mechanism(
    qualities: NDArray[Any], *, growth: int = 1, privacy: ApproxDP, dice: Dice
) -> int | None:
    """Return the index of a solution of high quality, or None if the noisy best quality is too low.

    Parameters
    ----------
    qualities : ndarray of int of shape (k,)
        Private. The quality of each solution with positive quality; others are not listed and have quality 0,
        so release the solution, not its index. May be empty.
    growth : int, default=1
        The greatest number of solutions whose quality one record can raise.
    privacy : ApproxDP
        Its `epsilon` and `delta` are spent whole; both positive.

    Returns
    -------
    int or None
        None (abstention) if the best quality, with discrete Laplace noise of ratio r just above exp(-epsilon
        / 4), is below `choosing_threshold(growth, privacy)`, or is 0; otherwise a solution of positive
        quality q with probability proportional to r ** -q.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that growth and sensitivity are counted in: the test changes
    the probability of a solution by at most 1 / r, its weight by 1 / r, and the sum of the weights by r **
    -2, where the best quality is great enough for `growth`; all else has probability at most delta, by the
    two conditions on the threshold. Proof: docs/theory/selection.md.

    **Assumes.** One record moves each quality by at most 1 and raises at most `growth` of them; the set of
    solutions is public, the subset with positive quality need not be; no quality is negative.

    **Accuracy.** With probability at least 1 - beta it selects a solution whose quality is below the best by
    at most ln(2 k / beta) / ln(1 / r), about (4 / epsilon) ln(2 k / beta), if the best is at least
    `choosing_threshold(growth, privacy)` + ln(2 / beta) / ln(1 / r).

    **Source.** Beimel, Nissim and Stemmer (2013); Bun, Nissim, Stemmer and Vadhan (2015), where the threshold
    is (8 / epsilon) ln(4 growth / (beta epsilon delta)). Here it is the least integer that the proof allows.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import choosing_mechanism
    >>> from dplearn.privacy import ApproxDP
    >>> choosing_mechanism(np.array([0, 90, 3]), privacy=ApproxDP(1, 1e-6), dice=SeededDice(0))
    1
    """
    threshold = choosing_threshold(growth, privacy)
    values = np.asarray(qualities)
    if values.size:
        check_integers("qualities", values)
    best = max(0, int(values.max())) if values.size else 0
    ratio = decay_ratio(privacy.epsilon / 4)
    passed = dice.discrete_laplace(ratio, threshold - best - 1, threshold - best) == threshold - best
    if not passed or not best:
        return None
    distinct, counts = group_counts(values)
    first = bisect_right(distinct, 0)  # only positive qualities are selected
    # At epsilon / 2 the exponential mechanism weights one unit of quality by exp(epsilon / 4).
    group, member = select_exponential(
        [-quality for quality in distinct[first:]],
        counts[first:],
        privacy=ApproxDP(privacy.epsilon / 2),
        dice=dice,
    )
    return nth_equal(values, distinct[first + group], member)


def choosing_threshold(growth: int, privacy: ApproxDP) -> int:
    """Return the least noisy best quality with which the choosing mechanism selects a solution.

    Parameters
    ----------
    growth : int
        As for `choosing_mechanism`.

    Notes
    -----
    **Privacy.** The choosing mechanism satisfies `privacy` with this threshold or a greater one, by the two
    conditions in its proof. Reads no data.

    **Assumes.** `growth` is public.

    **Accuracy.** The least integer that satisfies both conditions.

    **Source.** As for `choosing_mechanism`.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import choosing_threshold
    >>> choosing_threshold(1, ApproxDP(1, 1e-6))
    58
    """
    growth = check_count("growth", growth, low=1)
    return _least_threshold(growth, epsilon_of(privacy), delta_of(privacy))


@lru_cache(maxsize=256)
def _least_threshold(growth: int, epsilon: Fraction, delta: Fraction) -> int:
    ratio = decay_ratio(epsilon / 4)
    # m0 of the proof: from it on, S' <= S / r**2 although `growth` new solutions have weight 1 / r each.
    crowded = max(1, power_at_most(ratio, (1 / ratio - 1) / growth))
    unlikely = crowded - 1 + laplace_quantile(ratio, delta)
    return max(unlikely, 1 + power_at_most(ratio, Fraction(delta * (1 + ratio) / growth)))
