"""An upper bound on what noisy-max answers cost on these very votes, itself released privately.

The data-dependent epsilon of noisy-max aggregation is private. Where teachers agree, though, many of them
would have to change their votes before it passed a given number, and that "many" moves by at most 1 when one
teacher changes hers: so a number that it is safely below can be selected like anything else.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> from dplearn.privacy import ApproxDP
>>> counts = np.tile([950, 30, 20], (1000, 1))
>>> bound = sanitized_noisy_max_epsilon(
...     counts, n_teachers=1000, sigma2=10_000, delta=1e-5, privacy=ApproxDP(0.5), dice=SeededDice(0)
... )
>>> float(bound)
0.542414
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.core.grouping import near_integers
from dplearn.mechanisms.exponential import select_exponential
from dplearn.privacy import ApproxDP
from dplearn.privacy.epsilon_candidates import EpsilonCandidates, epsilon_candidates
from dplearn.privacy.guarantees import epsilon_of

__all__ = ["costs_of_candidates", "sanitized_noisy_max_epsilon"]

_MOST = (1 << 62) - 1  # of votes for one label


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
    """Return a number that may be published and that epsilon on these very votes most likely does not exceed.

    Parameters
    ----------
    counts : ndarray of int of shape (n_queries, n_labels)
        Private. Votes for each label; its shape is public.
    n_teachers : int
        Public. Greatest number of votes in a query; a winner who leads by more is taken to lead by this.
    sigma2 : number
        From 1e-100 to 1e100; variance parameter of the noise with which the queries were answered.
    delta : number
        Above 0 and below 1; at which epsilon is meant.
    privacy : ApproxDP
        Its `epsilon` is spent on this release; its `delta` is not used.
    dice : Dice
        Source of chance.
    beta : number, default=1/20
        Above 0 and below 1; the probability that the number is too small.

    Returns
    -------
    Fraction
        One of 64 public candidates, from what this release alone costs to what everything costs on any votes.
        It counts the answers to all queries and this release together.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message shows no count.

    Notes
    -----
    **Privacy.** `privacy`, for neighbours that differ by one teacher. Proof: let g be a query's gap between
    the two greatest counts; one teacher moves it by at most 2. Let h(g) be the bound on the divergence of a
    query with q = (n_labels - 1) P[difference of two noises >= g], made falling in g and an integer multiple
    of a public unit. For a candidate c let m(c) be the greatest m for which the sum of h(max(g - 2 m, 0))
    over all queries still gives an epsilon of at most c, -1 if there is none, cut at a public end. What m
    satisfies on some votes m - 1 satisfies on neighbouring ones: m(c) moves by at most 1. So does the cost of
    c, max(reserve - m(c), m(c') - reserve + 1, 0), c' the candidate before; and by costs it is selected.

    **Assumes.** One record changes at most one teacher, and so one vote in each query; the queries were
    chosen without sight of their answers; the noise in the answers is fresh.

    **Accuracy.** With probability at least 1 - beta the number is at least epsilon: for the actual votes and
    any that one teacher could make of them, P[E] <= exp(number) P'[E] + delta for all events about the
    answers and this number, P belonging to the actual votes. Some candidate costs 0; one that is too small
    costs reserve + 1 or more; and (candidates - 1) ratio ** (reserve + 1) <= beta. It is about the epsilon
    that there would be if `reserve` teachers, about 2 ln(64 / beta) / epsilon, had voted against each winner.

    **Source.** Papernot et al. (2018), Section 4 and Appendix B, release the same number with Gaussian noise
    scaled to its smooth sensitivity. There the scale is private too, so that no upper bound can be read off;
    here a bound is selected by the exponential mechanism (McSherry and Talwar 2007) over how far the votes
    are from exceeding it, all in integers.
    """
    array = np.asarray(counts)
    if array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "iu":
        raise TypeError("counts must be integers of shape (n_queries, n_labels), with at least two labels")
    candidates = epsilon_candidates(
        n_queries=array.shape[0],
        n_labels=array.shape[1],
        n_teachers=n_teachers,
        sigma2=sigma2,
        delta=delta,
        epsilon=epsilon_of(privacy),
        beta=beta,
    )
    near = near_integers("counts", array.reshape(-1), 0, _MOST).reshape(array.shape)
    greatest = np.sort(near, axis=1)[:, -2:]
    costs = costs_of_candidates(candidates, greatest[:, 1] - greatest[:, 0])
    place, _ = select_exponential(costs, [1] * len(costs), privacy=privacy, dice=dice)
    return candidates.values[place]


def costs_of_candidates(candidates: EpsilonCandidates, gaps: NDArray[np.int64]) -> list[int]:
    """Return what each candidate costs: 0 for some, more than `reserve` for those that are too small.

    Parameters
    ----------
    candidates : EpsilonCandidates
        Public.
    gaps : ndarray of int64 of shape (n_queries,)
        Private. By how much the winners lead, at least 0.

    Notes
    -----
    **Privacy.** None by itself: costs are private, and one teacher, who moves each gap by at most 2, moves
    each cost by at most 1. The proof is that of `sanitized_noisy_max_epsilon`.

    **Assumes.** The tables of the candidates fall in the gap; all are integers.

    **Accuracy.** Some candidate costs 0; one that is too small costs reserve + 1 or more.

    **Source.** As for `sanitized_noisy_max_epsilon`.
    """
    distances = _distances(candidates, np.minimum(gaps, candidates.largest_gap))
    before = np.concatenate([[-1], distances[:-1]])
    costs = np.maximum(candidates.reserve - distances, before - candidates.reserve + 1)
    listed: list[int] = np.maximum(costs, 0).tolist()
    return listed


def _distances(candidates: EpsilonCandidates, gaps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many teachers' votes each candidate withstands, -1 for none, up to 2 (reserve + 1)."""
    most = 2 * (candidates.reserve + 1)
    distinct, counts = np.unique(gaps, return_counts=True)
    # Sums rise as gaps shrink, so the numbers of teachers that are withstood have no holes.
    withstood = np.full(len(candidates.values), -1, dtype=np.int64)
    for teachers in range(most + 1):
        total = counts @ candidates.divergences[np.maximum(distinct - 2 * teachers, 0)]
        withstood += (total <= candidates.allowed).any(axis=1)
    withstood[-1] = most  # true on any votes
    return withstood
