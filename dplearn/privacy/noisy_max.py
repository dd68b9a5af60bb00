"""Privacy cost of noisy-max aggregation (PATE): a public worst-case cost and a secret data-dependent epsilon.

Teachers vote on each query. Each label's count gets discrete Gaussian noise of variance parameter sigma2, and
the label with the greatest noisy count is released; a tie goes to the first. A change of one teacher's vote
changes two counts by 1, which has one cost for any votes: `publishable_noisy_max_cost`. If
nearly all teachers agree, the cost is much smaller, but this smaller cost depends on the votes and may reveal
a single vote. So the results of `secret_noisy_max_renyi` and `secret_noisy_max_epsilon` are private;
`dplearn.mechanisms.sanitized_noisy_max_epsilon` computes an upper bound of the latter that may be published.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn._writing import brief
from dplearn.core.exact import float_above
from dplearn.core.gaussian_difference import log_tails
from dplearn.core.grouping import near_integers
from dplearn.privacy.composition import Composition
from dplearn.privacy.conversion import epsilon_at, log_float
from dplearn.privacy.events import Gaussian
from dplearn.privacy.likely_outcome import likely_outcome_renyi
from dplearn.privacy.renyi_curves import Floats
from dplearn.privacy.theorems import least_epsilon

__all__ = [
    "publishable_noisy_max_cost",
    "secret_log_chance_of_another",
    "secret_noisy_max_epsilon",
    "secret_noisy_max_renyi",
    "secret_noisy_max_total",
]

_LARGEST_LEAD = 1 << 20  # a larger lead of the winner is reduced to this one
_MOST_VOTES = (1 << 62) - 1  # for one label
_BLOCK = 1 << 12  # number of queries with their curves in memory at the same time
_FEWEST, _MOST = Fraction(1, 10**100), Fraction(10**100)  # least and greatest sigma2 without overflow
_ORDERS = 1 + np.exp(np.linspace(np.log(0.05), np.log(5000.0), 300))
_NEAR = np.exp(np.linspace(-0.04, 0.04, 161))  # factors that reach the neighbouring orders of _ORDERS


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
    variance, counts = _checked_sigma2(sigma2), _checked_counts(counts)
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
    counts, total = _checked_counts(counts), np.zeros(np.size(orders))
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

    **Source.** Papernot et al. (2018), Theorem 6 and Proposition 10: see `dplearn.privacy.likely_outcome`.

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

    Parameters
    ----------
    counts, sigma2
        As for `secret_noisy_max_renyi`.

    Returns
    -------
    ndarray of float of shape (n_queries,)
        Private. At most 0, rounded up.

    Notes
    -----
    The winner w is the first label with the most votes. Let the gap be the difference of the counts of w and
    of another label j. Label j is released only if its noise exceeds that of w by at least the gap (if j
    precedes w) or by more than the gap (if w precedes j), since a tie goes to the first label. The union
    bound adds these probabilities, which are tails of the difference of two discrete Gaussians.

    **Source.** Papernot et al. (2018), Proposition 7, for continuous noise: half of erfc(gap / (2 sigma)) for
    each label. With discrete noise this is too small if a label before w would win a tie: at sigma = 1 and a
    gap of 2 it is .0786, and the true probability is .1393.
    """
    variance, counts = _checked_sigma2(sigma2), _checked_counts(counts)
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


def _checked_counts(counts: Any) -> NDArray[np.int64]:
    array = np.asarray(counts)
    if array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "iu":
        raise TypeError("counts must be integers of shape (n_queries, n_labels), with at least two labels")
    return near_integers("counts", array.reshape(-1), 0, _MOST_VOTES).reshape(array.shape)
