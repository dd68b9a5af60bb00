"""The choosing mechanism: select from a vast set of solutions of which each record supports only a few."""

from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.core.distributions import laplace_quantile, power_at_most
from dplearn.core.exact import decay_ratio
from dplearn.core.grouping import check_integers, group_counts, nth_equal
from dplearn.mechanisms.exponential import select_exponential
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import delta_of, epsilon_of

__all__ = [
    "choosing_mechanism",
    "choosing_threshold",
]


def choosing_mechanism(
    qualities: NDArray[Any], *, growth: int = 1, privacy: ApproxDP, dice: Dice
) -> int | None:
    """Return the index of a solution of high quality, or None if even the best may not be high enough.

    Parameters
    ----------
    qualities : ndarray of int of shape (k,)
        Private. The quality of each solution that has a positive one; all others count as 0 and need not be
        listed. Where some are not, a solution's place here is private: release the solution that stands there
        and not the index. May be empty.
    growth : int, default=1
        The most solutions whose quality one record can raise.
    privacy : ApproxDP
        Its `epsilon` and `delta` are spent whole; both positive.
    dice : Dice
        Source of chance.

    Returns
    -------
    int or None
        With best the greatest quality and Z discrete Laplace of ratio r, just above exp(-epsilon / 4): None
        if best + Z < `choosing_threshold(growth, privacy)`, else a solution of positive quality q with
        probability proportional to r ** -q.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message shows no quality.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that growth and sensitivity are counted in. Proof: let m be
    the best quality, S the sum of the weights r ** -q over positive qualities, S >= r ** -m; on a neighbour
    m', S'. At most `growth` solutions appear, each with weight 1 / r. The test alone, so None too, moves by a
    factor of at most 1 / r. Let m0 be the least m >= 1 with growth <= (1 / r - 1) r ** -m.

    If m < m0, something is selected with probability at most P[Z >= threshold - m0 + 1] <= delta: the
    threshold's first condition. If m >= m0, then S' <= (S + growth) / r <= S / r ** 2, so a solution that is
    positive in both moves by at most 1 / r (the test) times 1 / r (its weight) times r ** -2 (the sum), and r
    ** -4 is at most exp(epsilon). Those that are positive here only had quality 1: they are selected with
    probability at most P[Z >= threshold - m] growth r ** (m - 1). For m < threshold that is growth r **
    (threshold - 1) / (1 + r), and beyond it falls; it is at most delta by the threshold's second condition.
    With m = 0 nothing can be selected, None is certain, and it exceeds the probability of a failed test by
    P[Z >= threshold] <= delta.

    **Assumes.** One record moves each quality by at most 1 and raises at most `growth` of them; which
    solutions there are is public, though not which have positive quality; a quality is never negative.

    **Accuracy.** With probability at least 1 - beta it selects a solution whose quality falls short of the
    best by at most ln(2 k / beta) / ln(1 / r), once the best is at least
    `choosing_threshold(growth, privacy)` + ln(2 / beta) / ln(1 / r); 1 / ln(1 / r) is 4 / epsilon but for one
    part in 2**30, unless epsilon / 4 exceeds 700.

    **Source.** Beimel, Nissim and Stemmer (2013); Bun, Nissim, Stemmer and Vadhan (2015), where the threshold
    is (8 / epsilon) ln(4 growth / (beta epsilon delta)). Here it is exact: the test's failure and the
    appearance of new solutions are not both feared at once.
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
    first = bisect_right(distinct, 0)  # what is not positive is never selected
    # Selecting at epsilon / 2 weighs a unit of quality by exp(epsilon / 4).
    group, member = select_exponential(
        [-quality for quality in distinct[first:]],
        counts[first:],
        privacy=ApproxDP(privacy.epsilon / 2),
        dice=dice,
    )
    return nth_equal(values, distinct[first + group], member)


def choosing_threshold(growth: int, privacy: ApproxDP) -> int:
    """Return the noisy quality from which on the choosing mechanism answers.

    Parameters
    ----------
    growth : int
        As for `choosing_mechanism`.
    privacy : ApproxDP
        Epsilon and delta positive.

    Notes
    -----
    **Privacy.** The choosing mechanism keeps `privacy` with this threshold, or with a greater one. The two
    conditions that its proof asks of the threshold are those that the code takes the larger of. Sees no data.

    **Assumes.** `growth` is public.

    **Accuracy.** The least integer that keeps both conditions.

    **Source.** As for `choosing_mechanism`: there it is (8 / epsilon) ln(4 growth / (beta epsilon delta)).
    """
    growth = check_count("growth", growth, low=1)
    return _choosing_bar(growth, epsilon_of(privacy), delta_of(privacy))


@lru_cache(maxsize=256)
def _choosing_bar(growth: int, epsilon: Fraction, delta: Fraction) -> int:
    ratio = decay_ratio(epsilon / 4)
    # The least quality at which new solutions cannot more than double the growth of the sum of weights.
    crowded = max(1, power_at_most(ratio, (1 / ratio - 1) / growth))
    unlikely = crowded - 1 + laplace_quantile(ratio, delta)
    return max(unlikely, 1 + power_at_most(ratio, Fraction(delta * (1 + ratio) / growth)))
