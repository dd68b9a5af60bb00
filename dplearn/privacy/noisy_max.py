"""What noisy-max aggregation (PATE) costs: one number that may be published, and one that may not.

Teachers vote on each query; every label's count gets discrete Gaussian noise of variance parameter sigma2,
and the label with the greatest noisy count is released, the first one in a tie. One teacher who changes her
vote moves two counts by 1, so a query costs rho = 1 / sigma2 on any votes: `publishable_noisy_max_cost`.
Where nearly all teachers agree it costs far less, but how much less depends on the votes and may tell of a
single one: `secret_noisy_max_renyi` and `secret_noisy_max_epsilon` are private themselves. An upper bound of
the latter that may be published is `dplearn.mechanisms.sanitized_noisy_max_epsilon`.

>>> import numpy as np
>>> unanimous = np.tile([250, 0, 0, 0], (1000, 1))
>>> round(float(publishable_noisy_max_cost(1000, 1600).total(delta=1e-5).epsilon), 3)
5.378
>>> round(secret_noisy_max_epsilon(unanimous, sigma2=1600, delta=1e-5), 3)
0.311
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
from dplearn.privacy.conversion import concentrated_epsilon, epsilon_at, log_float
from dplearn.privacy.events import Gaussian
from dplearn.privacy.likely_outcome import likely_outcome_renyi
from dplearn.privacy.renyi_curves import Floats

__all__ = [
    "publishable_noisy_max_cost",
    "secret_log_chance_of_another",
    "secret_noisy_max_epsilon",
    "secret_noisy_max_renyi",
    "secret_noisy_max_total",
]

_LARGEST_LEAD = 1 << 20  # a winner who leads by more is treated as if by this much
_MOST_VOTES = (1 << 62) - 1  # for one label
_BLOCK = 1 << 12  # queries whose curves are in memory together
_FEWEST, _MOST = Fraction(1, 10**100), Fraction(10**100)  # sigma2 for which nothing overflows
_ORDERS = 1 + np.exp(np.linspace(np.log(0.05), np.log(5000.0), 300))
_NEAR = np.exp(np.linspace(-0.04, 0.04, 161))  # as far as the next of these orders


def publishable_noisy_max_cost(
    n_answered: int, sigma2: Any, *, n_asked: int = 0, threshold_sigma2: Any = None
) -> Composition:
    """Return what so many queries cost whatever the votes are: it may be published.

    Parameters
    ----------
    n_answered : int
        Queries whose noisy winner is released.
    sigma2 : number
        Variance parameter of the noise on each count.
    n_asked : int, default=0
        Queries of which it is released whether the greatest count passes a noisy threshold first
        (Confident-GNMax), answered or not.
    threshold_sigma2 : number, optional
        Variance parameter of the noise of that test; needed if `n_asked` is not 0.

    Returns
    -------
    Composition
        Of Gaussian(sigma2, 2) for each answer and Gaussian(threshold_sigma2, 1) for each test.
    """
    events = {Gaussian(sigma2, 2): check_count("n_answered", n_answered)}
    if check_count("n_asked", n_asked):
        tests = Gaussian(check_number("threshold_sigma2", threshold_sigma2, above=0))
        events[tests] = events.get(tests, 0) + n_asked
    return Composition(events)


def secret_noisy_max_epsilon(counts: Any, *, sigma2: Any, delta: Any) -> float:
    """Return epsilon at `delta` of all queries on these very votes: NEVER to be shown, logged or decided by.

    Parameters
    ----------
    counts : ndarray of int of shape (n_queries, n_labels)
        Private. Votes for each label; the queries are chosen without sight of the answers.
    sigma2 : number
        From 1e-100 to 1e100; variance parameter of the noise on each count.
    delta : number
        Above 0 and below 1.

    Returns
    -------
    float
        Private. For these votes and for all that one teacher could change them to, every event has
        P[E] <= exp(epsilon) P'[E] + delta, P belonging to these votes. It is at most the epsilon of
        n_queries / sigma2 zero-concentrated privacy.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message shows no count.

    Notes
    -----
    The guarantee is about these votes only, and one-sided. Any published number that depends on it, "the
    epsilon is .31" as much as "the budget is used up", tells of the votes.

    **Source.** Papernot et al. (2018), Section 3.2; with another q (see `secret_log_chance_of_another`).
    """
    variance, counts = _checked_sigma2(sigma2), _checked_counts(counts)
    delta = check_number("delta", delta, above=0, below=1)
    if not len(counts):
        return 0.0
    # The curve jumps where the theorem ends, mostly right after the best order: a second look comes close.
    order, divergence = _best_of(_ORDERS, counts, variance, delta)
    order, divergence = _best_of(np.append(order * _NEAR, order), counts, variance, delta)
    certain = epsilon_at(Fraction(order), Fraction(divergence), delta)
    return float_above(min(certain, concentrated_epsilon(len(counts) / variance, delta)))


def _best_of(
    orders: Floats, counts: NDArray[np.int64], sigma2: Fraction, delta: Fraction
) -> tuple[float, float]:
    """Return the order, among those above 1, that seems to give the least epsilon, and its divergence."""
    orders = orders[orders > 1]
    curve = secret_noisy_max_total(counts, sigma2=sigma2, orders=orders)
    epsilons = curve - (np.log(orders) + log_float(delta)) / (orders - 1) + np.log1p(-1 / orders)
    place = int(np.argmin(epsilons))
    return float(orders[place]), float(curve[place])


def secret_noisy_max_total(counts: Any, *, sigma2: Any, orders: Any) -> Floats:
    """Return the sum over queries of `secret_noisy_max_renyi`, rounded up; private like each of them."""
    counts, total = _checked_counts(counts), np.zeros(np.size(orders))
    for start in range(0, len(counts), _BLOCK):
        total += secret_noisy_max_renyi(counts[start : start + _BLOCK], sigma2=sigma2, orders=orders).sum(0)
    return total * (1 + (len(counts) + 4) * 2.0**-52)


def secret_noisy_max_renyi(counts: Any, *, sigma2: Any, orders: Any) -> Floats:
    """Return bounds on each query's Renyi divergences on these very votes: NEVER to be shown.

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
        Private. Divergences from these votes' distribution to that of any votes that differ in one vote a
        query, rounded up; at most order / sigma2, rounded up.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message shows no count.

    Notes
    -----
    Divergences of queries that were chosen without sight of the answers add.

    **Source.** Papernot et al. (2018), Theorem 6 and Proposition 10: see `dplearn.privacy.likely_outcome`.
    """
    at = np.atleast_1d(np.asarray(orders, dtype=np.float64))
    if at.ndim != 1 or not at.size or not (np.isfinite(at) & (at > 1)).all():
        raise ValueError(f"orders must be finite numbers above 1, got {brief(orders)}")
    variance = _checked_sigma2(sigma2)
    log_q = secret_log_chance_of_another(counts, sigma2=variance)
    return likely_outcome_renyi(log_q, float_above(1 / variance), at)


def secret_log_chance_of_another(counts: Any, *, sigma2: Any) -> Floats:
    """Return bounds on ln of the probability that not the winner of the votes is released: NEVER to be shown.

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
    The winner w is the first label with the most votes. Another label j is released only if its noise exceeds
    that of w by the gap between their counts or more if j comes first, and by more than the gap if w does: a
    tie goes to the first. The union bound adds these probabilities, which are tails of the difference of two
    discrete Gaussians.

    **Source.** Papernot et al. (2018), Proposition 7, has continuous noise: half of erfc(gap / (2 sigma)) for
    each label. That is too small here where a label before w would win a tie: at sigma = 1 and a gap of 2 it
    is .0786, and truly .1393.
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
    # Each addition is off by a few units of the size of a sum, which is largest where the sum is.
    raised: Floats = total + counts.shape[1] * 2.0**-50 * (np.abs(total) + 1)
    return np.minimum(raised, 0.0)


def _checked_sigma2(sigma2: Any) -> Fraction:
    return check_number("sigma2", sigma2, low=_FEWEST, high=_MOST)


def _checked_counts(counts: Any) -> NDArray[np.int64]:
    array = np.asarray(counts)
    if array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "iu":
        raise TypeError("counts must be integers of shape (n_queries, n_labels), with at least two labels")
    return near_integers("counts", array.reshape(-1), 0, _MOST_VOTES).reshape(array.shape)
