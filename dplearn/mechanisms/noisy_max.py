"""Report noisy max, and a publishable upper bound on the data-dependent epsilon of noisy-max aggregation.

The data-dependent epsilon of noisy-max aggregation is itself private. The number of teachers that must change
their votes before it exceeds a given candidate has sensitivity 1. So the exponential mechanism can select a
candidate that most likely is an upper bound.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.kernels.exact import selection_ratio
from dplearn.kernels.grouping import check_integers
from dplearn.mechanisms.selection import select_exponential
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.noisy_max import EpsilonCandidates, checked_counts, epsilon_candidates


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


def sanitized_noisy_max_epsilon(
    counts: Any,
    *,
    n_teachers: int,
    sigma2: Any,
    delta: Any,
    privacy: ApproxDP,
    dice: Dice,
    beta: Any = Fraction(1, 20),
) -> Fraction:
    """Release a number that the data-dependent epsilon on these votes does not exceed, with high probability.

    Parameters
    ----------
    counts : ndarray of int of shape (n_queries, n_labels)
        Private. Votes for each label in each query; the shape is public.
    n_teachers : int
        Public. Greatest number of votes in a query; greater gaps between the two greatest counts are replaced
        by it.
    sigma2 : number
        From 1e-100 to 1e100; variance parameter of the noise in the answers to the queries.
    delta : number
        Above 0 and below 1; the delta of the data-dependent guarantee.
    privacy : ApproxDP
        Its `epsilon` is spent on this release; its `delta` is not used.
    dice : Dice
        Source of chance.
    beta : number, default=1/20
        Above 0 and below 1; the probability that the released number is too small.

    Returns
    -------
    Fraction
        One of 64 public candidates, from the cost of this release alone to the data-independent cost of the
        answers and this release. It covers the answers to all queries and this release together.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message shows no count.

    Notes
    -----
    **Privacy.** `privacy`, for neighbours that differ by one teacher. Proof: let g be the gap between the two
    greatest counts of a query; one teacher moves it by at most 2. Let h(g) be the bound on the divergence of
    a query with q = (n_labels - 1) P[difference of two noises >= g], made nonincreasing in g and an integer
    multiple of a public unit. For a candidate c let m(c) be the greatest m for which the sum of
    h(max(g - 2 m, 0)) over all queries still gives an epsilon of at most c, -1 if there is none, and at most
    a public maximum. If m satisfies this on some votes, m - 1 satisfies it on neighbouring votes, so m(c)
    moves by at most 1. So does the selection cost of c, max(reserve - m(c), m(c') - reserve + 1, 0), where c'
    is the candidate before c; the exponential mechanism selects a candidate by this cost.

    **Assumes.** One record changes at most one teacher, and so one vote in each query; the choice of queries
    did not depend on their answers; the noise in the answers is fresh.

    **Accuracy.** With probability at least 1 - beta the number is at least epsilon: for the actual votes and
    any votes that differ from them by one teacher, P[E] <= exp(number) P'[E] + delta for all events E about
    the answers and this number, where P belongs to the actual votes. Some candidate has selection cost 0; a
    candidate that is too small has cost reserve + 1 or more; and (candidates - 1) ratio ** (reserve + 1) <=
    beta. The number is about the epsilon that would result if `reserve` teachers, about
    2 ln(64 / beta) / epsilon, had voted against the winner of each query.

    **Source.** Papernot et al. (2018), Section 4 and Appendix B, release the data-dependent epsilon with
    Gaussian noise scaled to its smooth sensitivity. That scale is private too, so their release gives no
    upper bound. Here the exponential mechanism (McSherry and Talwar 2007) selects a bound by the distance of
    the votes from votes that exceed it, in integers.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import sanitized_noisy_max_epsilon
    >>> from dplearn.privacy import ApproxDP
    >>> counts = np.tile([950, 30, 20], (1000, 1))
    >>> bound = sanitized_noisy_max_epsilon(
    ...     counts, n_teachers=1000, sigma2=10_000, delta=1e-5, privacy=ApproxDP(0.5), dice=SeededDice(0)
    ... )
    >>> float(bound)
    0.550511
    """
    votes = checked_counts(counts)
    candidates = epsilon_candidates(
        n_queries=votes.shape[0],
        n_labels=votes.shape[1],
        n_teachers=n_teachers,
        sigma2=sigma2,
        delta=delta,
        epsilon=epsilon_of(privacy),
        beta=beta,
    )
    greatest = np.sort(votes, axis=1)[:, -2:]
    costs = costs_of_candidates(candidates, greatest[:, 1] - greatest[:, 0])
    place, _ = select_exponential(costs, [1] * len(costs), privacy=privacy, dice=dice)
    return candidates.values[place]


def costs_of_candidates(candidates: EpsilonCandidates, gaps: NDArray[np.int64]) -> list[int]:
    """Return the selection costs, moved by at most 1 by one teacher, which moves each gap by at most 2."""
    # The proof is in `sanitized_noisy_max_epsilon`. Some candidate has cost 0; one that is too small has cost
    # reserve + 1 or more.
    distances = _distances(candidates, np.minimum(gaps, candidates.largest_gap))
    before = np.concatenate([[-1], distances[:-1]])
    costs = np.maximum(candidates.reserve - distances, before - candidates.reserve + 1)
    listed: list[int] = np.maximum(costs, 0).tolist()
    return listed


def _distances(candidates: EpsilonCandidates, gaps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return m(c) of the proof for each candidate c: -1 if there is no such m, at most 2 (reserve + 1)."""
    most = 2 * (candidates.reserve + 1)
    distinct, counts = np.unique(gaps, return_counts=True)
    # Sums increase as gaps shrink, so the condition holds for m = 0, .., m(c): m(c) + 1 is their number.
    distances = np.full(len(candidates.values), -1, dtype=np.int64)
    for teachers in range(most + 1):
        total = counts @ candidates.divergences[np.maximum(distinct - 2 * teachers, 0)]
        distances += (total <= candidates.allowed).any(axis=1)
    distances[-1] = most  # the last candidate bounds epsilon on all votes
    return distances
