"""Privacy cost of noisy-max aggregation (PATE): a public worst-case cost and a secret data-dependent epsilon.

Teachers vote on each query. Each label's count gets discrete Gaussian noise of variance parameter sigma2, and
the label with the greatest noisy count is released; a tie goes to the first. A change of one teacher's vote
changes two counts by 1, which has one cost for any votes: `publishable_noisy_max_cost`. If
nearly all teachers agree, the cost is much smaller, but this smaller cost depends on the votes and may reveal
a single vote. So the results of `secret_noisy_max_renyi` and `secret_noisy_max_epsilon` are private;
`dplearn.mechanisms.sanitized_noisy_max_epsilon` computes an upper bound of the latter that may be published.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from dplearn._validation import check_count, check_number
from dplearn._writing import brief
from dplearn.kernels.distributions import power_at_most
from dplearn.kernels.exact import float_above, selection_ratio
from dplearn.kernels.grouping import near_integers
from dplearn.privacy.composition import Composition, least_epsilon
from dplearn.privacy.conversion import Floats, epsilon_at, log_float, rounded_up
from dplearn.privacy.events import BoundedRange, Gaussian

_LARGEST_LEAD = 1 << 20  # a larger lead of the winner is reduced to this one
_MOST_VOTES = (1 << 62) - 1  # for one label
_BLOCK = 1 << 12  # number of queries with their curves in memory at the same time
_FEWEST, _MOST = Fraction(1, 10**100), Fraction(10**100)  # least and greatest sigma2 without overflow
_ORDERS = 1 + np.exp(np.linspace(np.log(0.05), np.log(5000.0), 300))
_NEAR = np.exp(np.linspace(-0.04, 0.04, 161))  # factors that reach the neighbouring orders of _ORDERS
_CANDIDATES = 64
_LARGEST_GAP = 1 << 16  # a winner who leads by more is treated as if by this much
_CANDIDATE_ORDERS: Floats = 1 + np.exp(np.linspace(math.log(0.05), math.log(5000.0), 64))
_BITS, _SUM_BITS = 40, 61  # of a unit's inverse, and of a sum over all queries
_MARGIN = 2.0**-44


def publishable_noisy_max_cost(
    n_answered: int, sigma2: Any, *, n_asked: int = 0, threshold_sigma2: Any = None
) -> Composition:
    """Return the cost of a number of queries for any votes; it may be published.

    Parameters
    ----------
    n_answered : int
        Number of queries with a released noisy winner.
    sigma2 : number
        Variance parameter of the noise on each count.
    n_asked : int, default=0
        Number of queries, answered or not, that first compare the greatest count with a noisy threshold and
        release the result (Confident-GNMax).
    threshold_sigma2 : number, optional
        Variance parameter of the noise of that test; required if `n_asked` is not 0.

    Returns
    -------
    Composition
        Of Gaussian(sigma2, 2) for each answer and Gaussian(threshold_sigma2, 1) for each test.

    Examples
    --------
    >>> from dplearn.privacy import publishable_noisy_max_cost
    >>> round(float(publishable_noisy_max_cost(1000, 1600).total(delta=1e-5).epsilon), 3)
    4.991
    """
    events = {Gaussian(sigma2, 2): check_count("n_answered", n_answered)}
    if check_count("n_asked", n_asked):
        tests = Gaussian(check_number("threshold_sigma2", threshold_sigma2, above=0))
        events[tests] = events.get(tests, 0) + n_asked
    return Composition(events)


def secret_noisy_max_epsilon(counts: Any, *, sigma2: Any, delta: Any) -> float:
    """Return the epsilon at `delta` of all queries on the given votes; NEVER show, log or decide by it.

    Parameters
    ----------
    counts : ndarray of int of shape (n_queries, n_labels)
        Private. Votes for each label. The queries must not depend on earlier answers.
    sigma2 : number
        From 1e-100 to 1e100; variance parameter of the noise on each count.
    delta : number
        Above 0 and below 1.

    Returns
    -------
    float
        Private. Let P be the output distribution for these votes, and P' that for any votes that differ in
        one teacher's votes. Every event E has P[E] <= exp(epsilon) P'[E] + delta. At most the value of
        `publishable_noisy_max_cost` for the same number of answers.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message contains no count.

    Notes
    -----
    The inequality holds for these votes only, and in one direction only. Any published result that depends on
    it, such as "the epsilon is .31" or "the budget is exhausted", reveals something about the votes.

    **Source.** Papernot et al. (2018), Section 3.2; with another q (see `secret_log_chance_of_another`).

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.privacy import secret_noisy_max_epsilon
    >>> unanimous = np.tile([250, 0, 0, 0], (1000, 1))
    >>> round(secret_noisy_max_epsilon(unanimous, sigma2=1600, delta=1e-5), 3)
    0.311
    """
    variance, counts = _checked_sigma2(sigma2), checked_counts(counts)
    delta = check_number("delta", delta, above=0, below=1)
    if not len(counts):
        return 0.0
    # The curve jumps at the theorem's largest order, often just above the best order: so the search is
    # refined.
    order, divergence = _best_of(_ORDERS, counts, variance, delta)
    order, divergence = _best_of(np.append(order * _NEAR, order), counts, variance, delta)
    certain = epsilon_at(Fraction(order), Fraction(divergence), delta)
    for_any_votes = publishable_noisy_max_cost(len(counts), variance)
    return float_above(Fraction(min(certain, least_epsilon(for_any_votes, delta))))


def _best_of(
    orders: Floats, counts: NDArray[np.int64], sigma2: Fraction, delta: Fraction
) -> tuple[float, float]:
    """Return the order above 1 with the least epsilon in float arithmetic, and its divergence."""
    orders = orders[orders > 1]
    curve = secret_noisy_max_total(counts, sigma2=sigma2, orders=orders)
    epsilons = curve - (np.log(orders) + log_float(delta)) / (orders - 1) + np.log1p(-1 / orders)
    place = int(np.argmin(epsilons))
    return float(orders[place]), float(curve[place])


def secret_noisy_max_total(counts: Any, *, sigma2: Any, orders: Any) -> Floats:
    """Return the sum of `secret_noisy_max_renyi` over all queries, rounded up; it is private too."""
    counts, total = checked_counts(counts), np.zeros(np.size(orders))
    for start in range(0, len(counts), _BLOCK):
        total += secret_noisy_max_renyi(counts[start : start + _BLOCK], sigma2=sigma2, orders=orders).sum(0)
    return total * (1 + (len(counts) + 4) * 2.0**-52)


def secret_noisy_max_renyi(counts: Any, *, sigma2: Any, orders: Any) -> Floats:
    """Return bounds on each query's Renyi divergences for the given votes; NEVER show them.

    Parameters
    ----------
    counts : ndarray of int of shape (n_queries, n_labels)
        Private. Votes for each label.
    sigma2 : number
        From 1e-100 to 1e100; variance parameter of the noise on each count.
    orders : array-like of float of shape (n_orders,)
        Finite and above 1.

    Returns
    -------
    ndarray of float of shape (n_queries, n_orders)
        Private. Divergences of the output distribution for these votes from that for any votes that differ in
        one vote a query, rounded up; at most order / sigma2, rounded up.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message contains no count.

    Notes
    -----
    The divergences of several queries add if no query depends on earlier answers.

    **Source.** Papernot et al. (2018), Theorem 6 and Proposition 10: see `dplearn.privacy.noisy_max`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.privacy import secret_noisy_max_renyi
    >>> unanimous = np.tile([250, 0, 0, 0], (1000, 1))
    >>> costs = secret_noisy_max_renyi(unanimous, sigma2=1600, orders=[2, 10])
    >>> costs.shape  # one row a query, one column an order
    (1000, 2)
    """
    at = np.atleast_1d(np.asarray(orders, dtype=np.float64))
    if at.ndim != 1 or not at.size or not (np.isfinite(at) & (at > 1)).all():
        raise ValueError(f"orders must be finite numbers above 1, got {brief(orders)}")
    variance = _checked_sigma2(sigma2)
    log_q = secret_log_chance_of_another(counts, sigma2=variance)
    return likely_outcome_renyi(log_q, float_above(1 / variance), at)


def secret_log_chance_of_another(counts: Any, *, sigma2: Any) -> Floats:
    """Return bounds on ln P[the released label is not the winner of the votes]; NEVER show them.

    Label j is released only if its noise exceeds that of the winner w by at least the gap (j before w) or by
    more (j after w, since a tie goes to the first label): tails of the difference of two discrete Gaussians,
    added.

    **Source.** Papernot et al. (2018), Proposition 7, for continuous noise, whose bound is too small here if
    a label before w would win a tie: at sigma = 1 and a gap of 2 it is .0786, and the true probability is
    .1393.
    """
    variance, counts = _checked_sigma2(sigma2), checked_counts(counts)
    if not len(counts):
        return np.zeros(0)
    winner = counts.argmax(axis=1)[:, None]
    needed = np.take_along_axis(counts, winner, axis=1) - counts + (np.arange(counts.shape[1]) > winner)
    needed = needed.clip(max=_LARGEST_LEAD)
    logs = log_tails(float(variance), int(needed.max()) + 1)[needed]
    np.put_along_axis(logs, winner, -np.inf, axis=1)
    total = np.logaddexp.reduce(logs, axis=1)
    # A partial sum S' <= S has an error of a few units of |ln S'|, which counts S' / S in ln S, and
    # S' |ln S'| / S <= |ln S| + 1.
    raised: Floats = total + counts.shape[1] * 2.0**-50 * (np.abs(total) + 1)
    return np.minimum(raised, 0.0)


def _checked_sigma2(sigma2: Any) -> Fraction:
    return check_number("sigma2", sigma2, low=_FEWEST, high=_MOST)


def checked_counts(counts: Any) -> NDArray[np.int64]:
    """Return votes of shape (n_queries, n_labels), clipped; the error shows no count."""
    array = np.asarray(counts)
    if array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "iu":
        raise TypeError("counts must be integers of shape (n_queries, n_labels), with at least two labels")
    return near_integers("counts", array.reshape(-1), 0, _MOST_VOTES).reshape(array.shape)


_LEAST_LOG_Q = -1e100  # a smaller q is raised to exp of it: F increases with q
_RAISED, _LOWERED = 1 + 2.0**-48, 1 - 2.0**-48
_CACHED = 1 << 14  # numbers in a block, few enough for intermediate results to stay in the cache
_SHORT_OF = 2.0**-40  # relative margin for rounding in condition (1)


def likely_outcome_renyi(log_q: Floats, rho: float, orders: Floats) -> Floats:
    """Return bounds on the Renyi divergences of releases that each have one likely outcome.

    `log_q` (n,): Private. Bounds on the logarithms of the probability of all outcomes but one. `rho`: from
    1e-100 to 1e100, of each release. `orders` (k,): finite and above 1. Result: Private, at most rho times
    the order, rounded up.

    **Privacy.** If P[not w] <= q, and all divergences of order a are at most rho a, then for m1 >= a > 1, m2
    > 1,

        x = (q exp(rho m2))^(1 - 1/m2),   A = (1 - q) / (1 - x),   B = exp(rho m1) q^(-1/(m1 - 1)),

    the divergence D of order a satisfies exp((a - 1) D) <= F(q) = (1 - q) A^(a - 1) + q B^(a - 1), provided
    that x < 1, A <= B, and

        ln q <= rho m2 (m2 - 1) - m2 ln(m1 / (m1 - 1)) - m2 ln(m2 / (m2 - 1)).                             (1)

    Proof. Let q = P[not w]. The divergence of order m2 gives P'[w] >= 1 - x, so w contributes at most (1 - q)
    A^(a - 1) to the mean of (P / P')^(a - 1) under P; by Jensen's inequality and order m1 the others
    contribute at most q B^(a - 1). F increases up to q: (1) states x' >= m1 / (m1 - 1) at q and below, hence
    x >= q and A >= 1, A increases, B decreases, so A <= B below q too, and F' = A^(a - 1) (-a + (a - 1) A x')
    + B^(a - 1) (m1 - a) / (m1 - 1) >= A^(a - 1) (-a + (a - 1) m1 / (m1 - 1) + (m1 - a) / (m1 - 1)) = 0.

    **Source.** Papernot et al. (2018), Theorem 6, with m2 = sqrt(ln(1/q) / rho) and m1 = m2 + 1 of
    Proposition 10; they do not list A <= B. If a condition fails, the bound is rho a.
    """
    with np.errstate(over="ignore"):
        line = orders * rho * _RAISED
    bounds = np.empty((len(log_q), len(orders)))
    bounds[:] = line
    constants = _Constants(np.maximum(log_q, _LEAST_LOG_Q), rho)
    rows = np.flatnonzero(constants.largest)
    step = max(1, _CACHED // max(1, len(orders)))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        bounds[block] = np.fmin(constants.curves(block, orders), line)
    return bounds


class _Constants:
    """The terms of the theorem that depend on q and not on the order."""

    def __init__(self, log_q: Floats, rho: float):
        with np.errstate(all="ignore"):  # results are discarded where the theorem does not apply
            m2 = np.sqrt(-log_q / rho)
            m1 = m2 + 1
            cost1, cost2 = rho * m1, rho * m2
            # Each rounding error is relative to ln q or cost2, so the last term makes this a bound above ln
            # x.
            log_x = (log_q + cost2) * (1 - 1 / m2) + (_RAISED - 1) * (cost2 - log_q)
            gain, loss = cost2 * (m2 - 1), m2 * (np.log1p(1 / (m1 - 1)) + np.log1p(1 / (m2 - 1)))
            rises = log_q <= gain - loss - _SHORT_OF * (gain + loss)
            # (1) is 2 ln q <= -rho m2 - m2 ln(1 + 1/m2) - m2 ln(1 + 1/(m2 - 1)) <= -1/2 - 1, so that q < .48.
            self.rest = np.log1p(-np.exp(log_q)) * _LOWERED  # ln(1 - q)
            left = np.where(log_x < -1, np.log1p(-np.exp(log_x)), np.log(-np.expm1(log_x)))
            self.share = -left * _RAISED  # -ln(1 - x), to full precision for any x
            self.log_b = (cost1 - log_q / (m1 - 1)) * _RAISED
            ordered = self.rest + self.share <= self.log_b * _LOWERED
            self.log_q = log_q * _LOWERED
            self.largest = np.where((m2 > 1) & (log_x < 0) & rises & ordered, m1, 0.0)

    def curves(self, rows: NDArray[np.intp], orders: Floats) -> Floats:
        """Return ln F / (order - 1) of some rows, and infinity at orders above m1."""
        # The logarithms of both terms of F are linear in the order. Each of their coefficients was rounded up
        # by more than the errors of the following steps, so the bound holds where the terms of the first one
        # cancel.
        more = orders - 1
        with np.errstate(over="ignore", invalid="ignore"):  # above m1, where the results are discarded
            certain = np.multiply.outer(self.rest[rows], orders)
            others = np.multiply.outer(self.share[rows], more)
            certain += others
            np.multiply.outer(self.log_b[rows], more, out=others)
            others += self.log_q[rows, None]
            larger = np.maximum(certain, others)
            others -= certain
            np.abs(others, out=others)
            np.exp(np.negative(others, out=others), out=others)
            larger += np.log1p(others, out=others)
            larger *= _RAISED / more
        np.maximum(larger, 0.0, out=larger)
        np.copyto(larger, np.inf, where=orders > self.largest[rows, None])
        bounds: Floats = larger
        return bounds


_BEYOND = 4096  # number of terms that are summed after the last requested tail
_TERMS = np.arange(1.0, 13.0)  # terms of theta series; the next term is below exp(-70) of the first
_UNIT = 2.0**-50


def log_tails(sigma2: float, size: int) -> NDArray[np.float64]:
    """Return upper bounds, decreasing, on ln P[Y - X >= g] for g from 0 to size - 1.

    For X and Y with P(k) proportional to exp(-k^2 / (2 s)), Z the sum of these weights,

        P[Y - X = d] = exp(-d^2 / (4 s)) c(d),   c(d) = sum over integers x of exp(-(x + d / 2)^2 / s) / Z^2,

    since x^2 + (x + d)^2 = d^2 / 2 + 2 (x + d / 2)^2; c(d) depends only on the parity of d.
    """
    end = size + _BEYOND
    d = np.arange(end, dtype=np.float64)
    even, odd = _log_theta(sigma2 / 2, 0.0), _log_theta(sigma2 / 2, 0.5)
    total = _log_theta(sigma2, 0.0)
    logs = -d * (d / (4 * sigma2)) + (np.where(d % 2, odd, even) - 2 * total)
    # c(odd) <= c(even), and exp(-t^2 / (4 s)) decreases: the sum of the terms from `end` on is at most
    # c(even) times the sum of the first of them and the integral from `end`, that of a Gaussian of variance 2
    # s.
    first = -end * (end / (4 * sigma2))
    integral = 0.5 * math.log(4 * math.pi * sigma2) + log_ndtr(-end / math.sqrt(2 * sigma2))
    beyond = np.logaddexp(first, integral) + even - 2 * total
    tails = np.logaddexp.accumulate(np.concatenate([[beyond], logs[::-1]]))[:0:-1][:size]
    return _rounded_up(tails, steps=end)


def _rounded_up(logs: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return upper bounds on the logarithms of sums of `steps` terms, given the computed logarithms."""
    # A term's error, some units in the last place of its logarithm, counts by its share t / T, and |ln t| t /
    # T is at most |ln T| + 1; each addition adds some units. So the error is at most (steps + 16) units of
    # |ln T| + 1.
    raised: NDArray[np.float64] = logs + (steps + 16) * _UNIT * (np.abs(logs) + 1)
    return np.minimum(raised, 0.0)


def _log_theta(variance: float, shift: float) -> float:
    """Return ln of the sum over integers x of exp(-(x + shift)^2 / (2 variance)), shift 0 or 1/2."""
    if variance >= 1:
        # Poisson summation: the sum over frequencies converges fast for a large variance.
        waves = np.exp(-2 * math.pi**2 * variance * _TERMS**2) * (np.cos(2 * math.pi * shift * _TERMS))
        return 0.5 * math.log(2 * math.pi * variance) + math.log1p(2 * float(waves.sum()))
    places = np.concatenate([-_TERMS[::-1], [0.0], _TERMS]) + shift
    return float(np.logaddexp.reduce(-(places**2) / (2 * variance)))


@dataclass(frozen=True)
class EpsilonCandidates:
    """Public candidates, and tables to test them on given votes; see `epsilon_candidates`."""

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
        """The candidates, not falling: from the cost of the release alone to an epsilon on any votes."""
        everything = {Gaussian(self.sigma2, 2): self.n_queries, BoundedRange(self.epsilon): 1}
        most = Composition(everything).total(self.delta).epsilon
        least = min(most, Fraction(float(self._overhead.min())))
        steps = [Fraction(i, _CANDIDATES) ** 2 for i in range(1, _CANDIDATES + 1)]
        return tuple(rounded_up(least + (most - least) * step, digits=6) for step in steps)

    @cached_property
    def _overhead(self) -> Floats:
        """What is added to the sum of divergences at each order to have epsilon, rounded up."""
        log = -np.log(_CANDIDATE_ORDERS * float(self.delta)) / (_CANDIDATE_ORDERS - 1)
        own = BoundedRange(self.epsilon).renyi(_CANDIDATE_ORDERS)
        raised: Floats = log + np.log1p(-1 / _CANDIDATE_ORDERS) + own + _MARGIN * (np.abs(log) + own + 1)
        return raised

    @cached_property
    def _scaled(self) -> tuple[float, NDArray[np.int64]]:
        """The inverse of the unit, and bounds on divergences in units, by gap and order."""
        tails = log_tails(float(self.sigma2), self.largest_gap + 1)
        log_q = np.minimum(tails + math.log(self.n_labels - 1) + _MARGIN * (np.abs(tails) + 50), 0.0)
        curves = likely_outcome_renyi(log_q, float_above(1 / self.sigma2), _CANDIDATE_ORDERS)
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

    `epsilon` is what the release costs, `beta` the probability that the bound is too small. A query with a
    gap g costs at most h(g), by `likely_outcome_renyi` with q = (n_labels - 1) P[difference of two noises >=
    g]. For a number c, count the teachers whose changed votes would make all cost more than c: since one
    teacher moves every gap by at most 2, this moves by at most 1. Floats compute h from public numbers, once;
    multiples of a public unit, rounded up, make all computations on the votes exact.
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
