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

`epsilon_candidates` gives the candidate bounds, and the distance of votes from each.

A query in which the winner leads by a gap g costs at most h(g), by `dplearn.privacy.likely_outcome` with
q = (n_labels - 1) P[difference of two noises >= g]. One teacher moves every gap by at most 2. So for a number
c count by how many teachers' votes all gaps could shrink before the answers, and the release of the bound,
would cost more than c: that count moves by at most 1 when one teacher changes her votes.

Everything about h is computed in floats from public numbers, once; it is then rounded up to integer
multiples of a public unit, so that what is computed from the votes is exact.

>>> candidates = epsilon_candidates(
...     n_queries=100, n_labels=2, n_teachers=50, sigma2=100, delta=1e-5, epsilon=Fraction(1), beta=0.05
... )
>>> candidates.reserve, len(candidates.values), float(candidates.values[-1])
(14, 64, 7.58787)
>>> candidates.costs(np.full(100, 50))[-3:]
[2, 2, 0]
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.core.distributions import power_at_most
from dplearn.core.exact import float_above, selection_ratio
from dplearn.core.gaussian_difference import log_tails
from dplearn.core.grouping import near_integers
from dplearn.mechanisms.exponential import select_exponential
from dplearn.privacy import ApproxDP, BoundedRange, Composition, Gaussian
from dplearn.privacy.conversion import rounded_up
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.likely_outcome import likely_outcome_renyi
from dplearn.privacy.renyi_curves import Floats

__all__ = ["EpsilonCandidates", "epsilon_candidates", "sanitized_noisy_max_epsilon"]

_MOST = (1 << 62) - 1  # of votes for one label
_CANDIDATES = 64
_LARGEST_GAP = 1 << 16  # a winner who leads by more is treated as if by this much
_ORDERS: Floats = 1 + np.exp(np.linspace(math.log(0.05), math.log(5000.0), 64))
_BITS, _SUM_BITS = 40, 61  # of a unit's inverse, and of a sum over all queries
_MARGIN = 2.0**-44


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
    costs = candidates.costs(greatest[:, 1] - greatest[:, 0])
    place, _ = select_exponential(costs, [1] * len(costs), privacy=privacy, dice=dice)
    return candidates.values[place]


@dataclass(frozen=True)
class EpsilonCandidates:
    """Public candidates, and what each costs in a selection by given votes; see `epsilon_candidates`.

    Attributes
    ----------
    reserve : int
        A candidate that is too small costs at least one more than this.
    values : tuple of Fraction
        The candidates, not falling. The last one is an epsilon on any votes.
    """

    n_queries: int
    n_labels: int
    largest_gap: int
    sigma2: Fraction
    delta: Fraction
    epsilon: Fraction
    beta: Fraction

    @cached_property
    def reserve(self) -> int:
        """The least one for which all candidates that are too small have probability at most beta."""
        # Some candidate costs 0, so that one of cost k has probability at most ratio**k.
        share = self.beta / (_CANDIDATES - 1)
        return max(0, power_at_most(selection_ratio(self.epsilon), share) - 1)

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """From what the release of a bound costs alone, rising like squares, to what all costs at most."""
        everything = {Gaussian(self.sigma2, 2): self.n_queries, BoundedRange(self.epsilon): 1}
        most = Composition(everything).total(self.delta).epsilon
        least = min(most, Fraction(float(self._overhead.min())))
        steps = [Fraction(i, _CANDIDATES) ** 2 for i in range(1, _CANDIDATES + 1)]
        return tuple(rounded_up(least + (most - least) * step, digits=6) for step in steps)

    def costs(self, gaps: NDArray[np.int64]) -> list[int]:
        """Return what each candidate costs: 0 for some, more than `reserve` for those that are too small.

        Parameters
        ----------
        gaps : ndarray of int64 of shape (n_queries,)
            Private. By how much the winners lead, at least 0.
        """
        distances = self._distances(np.minimum(gaps, self.largest_gap))
        before = np.concatenate([[-1], distances[:-1]])
        costs = np.maximum(self.reserve - distances, before - self.reserve + 1)
        listed: list[int] = np.maximum(costs, 0).tolist()
        return listed

    def _distances(self, gaps: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many teachers' votes each candidate withstands, -1 for none, up to 2 (reserve + 1)."""
        most = 2 * (self.reserve + 1)
        distinct, counts = np.unique(gaps, return_counts=True)
        (_, table), allowed = self._scaled, self._allowed
        # Sums rise as gaps shrink, so the numbers of teachers that are withstood have no holes.
        withstood = np.full(_CANDIDATES, -1, dtype=np.int64)
        for teachers in range(most + 1):
            total = counts @ table[np.maximum(distinct - 2 * teachers, 0)]
            withstood += (total <= allowed).any(axis=1)
        withstood[-1] = most  # true on any votes
        return withstood

    @cached_property
    def _overhead(self) -> Floats:
        """What is added to the sum of divergences at each order to have epsilon, rounded up."""
        log = -np.log(_ORDERS * float(self.delta)) / (_ORDERS - 1)
        own = BoundedRange(self.epsilon).renyi(_ORDERS)
        raised: Floats = log + np.log1p(-1 / _ORDERS) + own + _MARGIN * (np.abs(log) + own + 1)
        return raised

    @cached_property
    def _scaled(self) -> tuple[float, NDArray[np.int64]]:
        """The inverse of the unit, and bounds on divergences in units, by gap and order."""
        tails = log_tails(float(self.sigma2), self.largest_gap + 1)
        log_q = np.minimum(tails + math.log(self.n_labels - 1) + _MARGIN * (np.abs(tails) + 50), 0.0)
        curves = likely_outcome_renyi(log_q, float_above(1 / self.sigma2), _ORDERS)
        falling = np.maximum.accumulate(curves[::-1], axis=0)[::-1]
        # A power of two, so that multiplying by it is exact, and a sum over all queries is of 64 bits.
        largest = Fraction(float(falling.max())) * max(self.n_queries, 1)
        scale = 2.0 ** min(_BITS, _SUM_BITS - math.ceil(largest).bit_length())
        return scale, np.ceil(falling * scale).astype(np.int64)

    @cached_property
    def _allowed(self) -> NDArray[np.int64]:
        """By candidate and order, the greatest sum that gives an epsilon of at most the candidate."""
        scale, _ = self._scaled
        values = np.array([float(value) for value in self.values])[:, None]
        left = values - self._overhead - _MARGIN * values
        return np.floor(left * scale).clip(-1, 2.0**62).astype(np.int64)


def epsilon_candidates(
    *, n_queries: int, n_labels: int, n_teachers: int, sigma2: Any, delta: Any, epsilon: Fraction, beta: Any
) -> EpsilonCandidates:
    """Return candidates for an upper bound on what answers to all queries, and the bound's release, cost.

    Parameters
    ----------
    n_queries, n_labels : int
        Public; at least 0 and at least 2.
    n_teachers : int
        At least 1; leads are cut there.
    sigma2 : number
        From 1e-100 to 1e100; variance parameter of the noise with which the queries were answered.
    delta : number
        Above 0 and below 1.
    epsilon : Fraction
        Positive; what the release of the bound is to cost.
    beta : number
        Above 0 and below 1; the probability that the bound is too small.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    """
    asked = EpsilonCandidates(
        n_queries=check_count("n_queries", n_queries),
        n_labels=check_count("n_labels", n_labels, low=2),
        largest_gap=min(check_count("n_teachers", n_teachers, low=1), _LARGEST_GAP),
        sigma2=check_number("sigma2", sigma2, low=Fraction(1, 10**100), high=Fraction(10**100)),
        delta=check_number("delta", delta, above=0, below=1),
        epsilon=check_number("epsilon", epsilon, above=0),
        beta=check_number("beta", beta, above=0, below=1),
    )
    return _cached(asked)


@lru_cache(maxsize=4)
def _cached(asked: EpsilonCandidates) -> EpsilonCandidates:
    """Return the same candidates, whose tables are there if they were asked for before."""
    return asked
