"""Candidate bounds on the cost of noisy-max answers on given votes, with public tables to test them.

A query in which the winner leads by a gap g costs at most h(g), by `dplearn.privacy.likely_outcome` with
q = (n_labels - 1) P[difference of two noises >= g]. One teacher moves every gap by at most 2. So for a number
c, count the teachers whose changed votes would reduce all gaps so far that the answers and the release of the
bound cost more than c: this count changes by at most 1 if one teacher changes the votes.

Everything about h is computed in floats from public numbers, once; it is then rounded up to integer
multiples of a public unit, so that all computations on the votes are exact.

>>> candidates = epsilon_candidates(
...     n_queries=100, n_labels=2, n_teachers=50, sigma2=100, delta=1e-5, epsilon=Fraction(1), beta=0.05
... )
>>> candidates.reserve, len(candidates.values), float(candidates.values[-1])
(14, 64, 7.46792)
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.core.distributions import power_at_most
from dplearn.core.exact import float_above, selection_ratio
from dplearn.core.gaussian_difference import log_tails
from dplearn.privacy.composition import Composition
from dplearn.privacy.conversion import rounded_up
from dplearn.privacy.events import BoundedRange, Gaussian
from dplearn.privacy.likely_outcome import likely_outcome_renyi
from dplearn.privacy.renyi_curves import Floats

__all__ = ["EpsilonCandidates", "epsilon_candidates"]

_CANDIDATES = 64
_LARGEST_GAP = 1 << 16  # a winner who leads by more is treated as if by this much
_ORDERS: Floats = 1 + np.exp(np.linspace(math.log(0.05), math.log(5000.0), 64))
_BITS, _SUM_BITS = 40, 61  # of a unit's inverse, and of a sum over all queries
_MARGIN = 2.0**-44


@dataclass(frozen=True)
class EpsilonCandidates:
    """Public candidates, and tables to test them on given votes; see `epsilon_candidates`.

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
    def divergences(self) -> NDArray[np.int64]:
        """Bounds on the divergence of one query by gap and order, in units rounded up; falling in the gap."""
        return self._scaled[1]

    @cached_property
    def allowed(self) -> NDArray[np.int64]:
        """By candidate and order, the greatest sum of divergences that gives an epsilon of at most it."""
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
