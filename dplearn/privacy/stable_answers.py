"""The noise of a sparse vector that answers stable queries, calibrated to an epsilon and a delta.

A query of distance d to instability is answered if d - G2 >= threshold - G1. G1, the noise of the threshold,
and G2, that of each query, are geometric: P[G1 >= k] = a**k and P[G2 >= k] = b**k. The sparse vector stops
after `max_abstentions` abstentions.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dplearn._validation import check_count, check_number
from dplearn.kernels import decay_rate, decay_ratio, exp_bounds, log_bounds, power_at_most
from dplearn.kernels.exact import decay_bounds
from dplearn.privacy.composition import Composition, least_epsilon
from dplearn.privacy.conversion import log_float
from dplearn.privacy.events import Approximate
from dplearn.privacy.guarantees import ApproxDP, delta_of, epsilon_of

_LEAST = Fraction(1, 10**12)  # smaller epsilons need thresholds beyond the range of the sparse vector
_LARGEST = Fraction(700)  # greater epsilons are replaced by it in float computations
_DIVISIONS = [Fraction(k, 8) for k in range(1, 9)]  # of delta, for spoiled epochs
_ODDS = [Fraction(2) ** (j // 8) * (8 + j % 8) / 8 for j in range(-32, 240)]  # of tests to threshold
_STEPS = 1 << 11  # into which the range of an epoch's epsilon is cut


@dataclass(frozen=True)
class StableAnswersNoise:
    """The noise of a sparse vector that answers stable queries, with its bounds.

    Attributes
    ----------
    threshold : int
        w: the distance from which on queries are answered, up to noise.
    of_threshold : Fraction
        a: the ratio of the noise of the threshold.
    of_test : Fraction
        b: the ratio of the noise of each query.
    renew : bool
        Whether the noise of the threshold is drawn again after each abstention.
    max_abstentions : int
        T: the number of abstentions after which the sparse vector stops.
    """

    threshold: int
    of_threshold: Fraction
    of_test: Fraction
    renew: bool
    max_abstentions: int

    def spoiled(self) -> Fraction:
        """Return a bound on the probability that a query with different answers on neighbours is answered.

        Returns
        -------
        Fraction
            Above a**w (1 - b**T) / (1 - a b**T) by less than one part in 10**30; with renewal above T times
            the same for T = 1. It holds for any number of queries, however they are chosen.
        """
        epochs, tests = (self.max_abstentions, 1) if self.renew else (1, self.max_abstentions)
        a, b = self.of_threshold, self.of_test
        rare = exp_bounds(self.threshold * log_bounds(a)[1])[1]
        kept = exp_bounds(tests * log_bounds(b)[0])[0]
        return min(Fraction(1), epochs * rare * (1 - kept) / (1 - a * kept))

    def refusal_probability(self, distance: int) -> float:
        """Return the probability of an abstention for the first query of an epoch.

        Parameters
        ----------
        distance : int
            The distance of that query, at least 0.

        Returns
        -------
        float
            From w on it is b**(distance - w + 1) (1 - a) / (1 - a b); below,
            1 - a**(w - distance) (1 - b) / (1 - a b).
        """
        short = self.threshold - check_count("distance", distance)
        a, b = self.of_threshold, self.of_test
        both = 1 - a * b
        if short > 0:
            return 1 - float((1 - b) / both) * math.exp(-short * decay_rate(a))
        return float((1 - a) / both) * math.exp((short - 1) * decay_rate(b))

    def least_distance(self, n_queries: int, beta: Any) -> int:
        """Return a distance at which many queries are all answered, if the other queries leave an abstention.

        Parameters
        ----------
        n_queries : int
            The number of queries at that distance or further, at least 1.
        beta : number
            The probability of an abstention for one of them, above 0 and below 1.

        Returns
        -------
        int
            The least d >= threshold with refusal_probability(d) <= 1 - (1 - beta)**(1 / n_queries).

        Notes
        -----
        This holds among any other queries that cause fewer than `max_abstentions` abstentions, also if all
        are chosen adaptively. *Threshold redrawn:* all earlier queries of the epoch were answered, which
        makes a large G1 more likely: an abstention for a far query has probability at most r, that of the
        first query of an epoch, and all n are answered with (1 - r)**n. *Never redrawn:* given G1 = z,
        abstentions for far queries are independent; all are answered with probability at least (1 - b**(d - w
        + 1 + z))**n, and the mean of an n-th power is at least that power of the mean, 1 - r.
        """
        return self.threshold + _beyond(self.of_threshold, self.of_test, _refusals(n_queries, beta))


def stable_answers_noise(
    privacy: ApproxDP,
    max_abstentions: int,
    *,
    n_queries: int = 1000,
    beta: Any = 0.05,
    renew_threshold: bool | None = None,
) -> StableAnswersNoise:
    """Return the noise that answers queries at the least distances, for a given guarantee.

    Parameters
    ----------
    privacy : ApproxDP
        The cost of all answers together: epsilon at least 1e-12, delta positive.
    max_abstentions : int
        T: the number of abstentions after which the sparse vector stops; from 1 to 10**9.
    n_queries : int, default=1000
        The number of stable queries that are all answered with probability 1 - beta; privacy does not depend
        on it.
    beta : number, default=0.05
    renew_threshold : bool, optional
        Whether to draw the noise of the threshold again after each abstention. None: what answers at smaller
        distances.

    Notes
    -----
    **Privacy.** `privacy`, for all answers together, for neighbours between which each query's distance moves
    by at most 1 and is 0 on both sides where the answers differ. Call such a query critical, and fix two
    neighbours and a way to choose each query from the answers before it.

    *Mixture.* Let M* be the mechanism M, but answer a public word instead to a critical query that passes the
    test. M* is a sparse vector's yes and no, with answers added that both neighbours share: its cost
    is purely epsilon with a**-1 b**(-2 T) <= exp(epsilon) (`SparseVector` has the proof). M and M* differ
    only if a critical query passes. So for any event S, with S' the part of it without that word,
    P[M(D) in S] <= P[M*(D) in S'] + delta <= exp(epsilon) P[M(D') in S] + delta, where delta bounds the
    probability, under D, that any critical query passes.

    *Never redrawn.* A critical query passes if z - G2 >= w, given G1 = z: never for z < w, otherwise with
    probability 1 - b**(z - w + 1). One of any number passes only if one of the first T does: if these T all
    fail, it has stopped. Their noise is fresh, so given z, and however they were chosen, the probability is
    at most 1 - b**(T (z - w + 1)). The sum over z >= w of (1 - a) a**z times that is
    delta = a**w (1 - b**T) / (1 - a b**T): the number of queries does not enter.

    *Redrawn after each abstention.* Then each of T epochs ends with its first abstention: the same with T = 1
    gives delta1 = a**w (1 - b) / (1 - a b) and a**-1 b**-2 <= exp(epsilon1). What an epoch is asked depends
    on those before it, but its cost was fixed in advance: T releases of cost (epsilon1, delta1) compose.

    **Accuracy.** `StableAnswersNoise.least_distance`.

    **Source.** Bassily, Thakkar and Thakurta (2018), Theorem 3.6 and Corollary 3.9. There the noise is
    Laplace, always redrawn, and the threshold grows with the number of queries.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import stable_answers_noise
    >>> stable_answers_noise(ApproxDP(1, 1e-6), 10).threshold
    68
    """
    max_abstentions = check_count("max_abstentions", max_abstentions, low=1, high=10**9)
    epsilon, delta = check_number("epsilon", epsilon_of(privacy), low=_LEAST), delta_of(privacy)
    refusals = _refusals(n_queries, beta)
    variants = (False, True) if renew_threshold is None else (bool(renew_threshold),)
    found = [_best(epsilon, delta, max_abstentions, refusals, renew) for renew in variants]
    return min(found, key=lambda noise: noise.least_distance(n_queries, beta))


@lru_cache(maxsize=64)
def _best(
    epsilon: Fraction, delta: Fraction, most: int, refusals: Fraction, renew: bool
) -> StableAnswersNoise:
    if not renew:
        return StableAnswersNoise(*_run(epsilon, delta, most, refusals), renew=False, max_abstentions=most)

    def distance(division: Fraction) -> float:
        guess = _epoch_guess(epsilon, delta * (1 - division), most)
        return min(_distance(guess, odds, delta * division / most, 1, refusals) for odds in _ODDS[::4])

    spoil = delta * min(_DIVISIONS, key=distance) / most
    run = _run(_epoch_epsilon(epsilon, delta, spoil, most), spoil, 1, refusals)
    return StableAnswersNoise(*run, renew=True, max_abstentions=most)


def _run(
    epsilon: Fraction, spoil: Fraction, nones: int, refusals: Fraction
) -> tuple[int, Fraction, Fraction]:
    """Return the threshold and the ratios of a run that ends with its last abstention."""
    # Floats choose how epsilon is split; whatever they choose, the ratios cost at most epsilon, since those
    # returned by `decay_ratio` are too large if anything, and the threshold is exact.
    odds = min(_ODDS, key=lambda odds: _distance(epsilon, odds, spoil, nones, refusals))
    tests = epsilon * odds / (1 + odds)
    a, b = decay_ratio(epsilon - tests), decay_ratio(tests / (2 * nones))
    # (1 - x) / (1 - a x) falls in x, and b**nones is at least exp(-tests / 2).
    kept = decay_bounds(tests / 2, 40, 128)[0]
    return power_at_most(a, spoil * (1 - a * kept) / (1 - kept)), a, b


def _refusals(n_queries: int, beta: Any) -> Fraction:
    """Return a number of at most 1 - (1 - beta)**(1 / n_queries), and close to it."""
    n_queries = check_count("n_queries", n_queries, low=1)
    failure = check_number("beta", beta, above=0, below=1)
    x = log_bounds(1 / (1 - failure))[0] / n_queries
    return max(failure / n_queries, x - x * x / 2)  # 1 - exp(-x) >= x - x**2 / 2


def _beyond(a: Fraction, b: Fraction, refusals: Fraction) -> int:
    """Return the least k >= 0 with b**(k + 1) (1 - a) / (1 - a b) <= refusals."""
    return max(0, power_at_most(b, refusals * (1 - a * b) / (1 - a)) - 1)


def _distance(epsilon: Fraction, odds: Fraction, spoil: Fraction, nones: int, refusals: Fraction) -> float:
    size = float(min(epsilon, _LARGEST))
    of_threshold, test = size / float(1 + odds), size / float(1 + 1 / odds) / (2 * nones)
    passed = math.expm1(-test * nones) / math.expm1(-of_threshold - test * nones)
    failed = math.expm1(-of_threshold) / math.expm1(-of_threshold - test)
    threshold = max(0.0, math.log(passed) - log_float(spoil)) / of_threshold
    return threshold + max(0.0, math.log(failed) - log_float(refusals)) / test


def _epoch_guess(epsilon: Fraction, delta: Fraction, epochs: int) -> Fraction:
    """Return about the epsilon of which basic or zero-concentrated composition takes so many epochs."""
    if not delta:
        return epsilon / epochs
    total, needed = float(min(epsilon, _LARGEST)), -log_float(delta)
    rho = (total / (math.sqrt(total + needed) + math.sqrt(needed))) ** 2  # rho + 2 sqrt(rho needed) = total
    return max(epsilon / epochs, Fraction(math.sqrt(2 * rho / epochs)))


def _epoch_epsilon(epsilon: Fraction, delta: Fraction, spoil: Fraction, epochs: int) -> Fraction:
    """Return nearly the greatest epsilon such that `epochs` releases of (it, spoil) cost (epsilon, delta)."""
    # Some theorems take long for many epochs, so that few candidates are tried: the cost rises with them.
    low = epsilon / epochs
    high = min(epsilon, 2 * _epoch_guess(epsilon, delta - spoil * epochs, epochs))

    def candidate(step: int) -> Fraction:
        return low + (high - low) * step / _STEPS

    def too_much(step: int) -> bool:
        event = Composition({Approximate(candidate(step), spoil): epochs})
        return least_epsilon(event, delta, epsilon) > epsilon

    # The first candidate passes by basic composition.
    return candidate(bisect_left(range(1, _STEPS + 1), True, key=too_much))
