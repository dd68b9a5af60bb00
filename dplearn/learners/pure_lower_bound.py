"""Numbers of records below which no private learner of a class is accurate, by packing.

>>> from fractions import Fraction
>>> tenth = Fraction(1, 10)
>>> pure_records(1, 1, Fraction(1), tenth, tenth)  # two concepts that agree at some point
39
>>> [pure_records(d - 1, d, Fraction(1), tenth, tenth) for d in (64, 128, 256)]
[39, 66, 121]
"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln

from dplearn.kernels.exact import exp_bounds, float_above
from dplearn.kernels.search import first
from dplearn.privacy import ApproxDP
from dplearn.privacy.base import Guarantee

__all__ = ["LEAST_NOTE", "least_failure", "least_of", "packing_records", "pure_records"]

LEAST_NOTE = "no pure private learner with fewer"  #: The note of a plan's `n_least`.

_MOST_LEVELS = 1 << 12  # of a tree; of a deeper one, as many are used
_MOST_RECORDS = 10**9
_STEPS = 1 << 12  # the most numbers of differing records that are told apart
_ALL = 24  # levels and mistakes up to here are all tried, from there on geometrically
_LARGEST = 1e6  # epsilon; with a greater one, the bound is that of this one
_LARGEST_EXPONENT = 10_000  # of exp, where delta is divided by it
_MARGIN = 1e-6  # far above the relative error of the computed probabilities


def least_of(
    guarantee: Guarantee, *, dimension: int, rooted: int | None = None, alpha: float, beta: float
) -> int | None:
    """Return the bound for learners with a guarantee; None if it is not pure, or not of examples.

    Parameters
    ----------
    guarantee : Guarantee
        That of the learner.
    dimension : int
        A lower bound on the Littlestone dimension of the class; None is returned if it is 0.
    rooted : int, optional
        The levels of a mistake tree of concepts that all agree at a further point; dimension - 1 by default.
    alpha, beta : number
        Error and probability of failure, in (0, 1).
    """
    if not isinstance(guarantee, ApproxDP) or guarantee.delta or not dimension:
        return None
    if (guarantee.protects, guarantee.neighbors) != ("examples", "replace_one"):
        return None
    asked = guarantee.epsilon, Fraction(repr(float(alpha))), Fraction(repr(float(beta)))
    return pure_records(max(0, dimension - 1) if rooted is None else rooted, dimension, *asked)


@lru_cache(maxsize=256)
def pure_records(rooted: int, depth: int, epsilon: Fraction, alpha: Fraction, beta: Fraction) -> int:
    """Return a number n such that no pure private learner of a class is accurate with fewer records.

    Parameters
    ----------
    rooted : int
        The levels of a mistake tree whose concepts all agree at a further point; depth - 1 or more.
    depth : int
        The levels of a mistake tree.
    epsilon, alpha, beta : Fraction
        Privacy, error, and probability of failure; alpha and beta in (0, 1).

    Notes
    -----
    A learner, proper or not, is (epsilon, 0)-private for one replaced record, and has an error of at most
    alpha with probability at least 1 - beta, on every distribution that a concept labels without error.

    *Distributions.* Let a complete tree have k levels, and let its N = 2**k concepts agree at a further
    point, the root. For each leaf x, D_x gives probability 1 - lam to the root and lam / k to each point of
    the path to x, with the labels of x's concept. Any hypothesis makes each pattern of mistakes on exactly
    one path; so at most V = C(k, 0) + ... + C(k, m) paths have at most m mistakes (also if it may predict a
    third label, a mistake on both sides: by induction over k). Let lam be just above alpha k / (m + 1); then
    a hypothesis with an error of at most alpha makes at most m mistakes, and is accurate for at most V
    leaves. Without a root, lam = 1 and m = floor(alpha k).

    *Privacy.* Draw the samples of all leaves together: which records are at the root, and the levels of the
    others. Then the samples of two leaves differ in at most K records, where K is Binomial(n, lam). If an
    event has probability p on one data set, it has at least T(p) = max(exp(-epsilon) p, 1 - exp(epsilon) (1 -
    p)) on a neighbour, and the K-th iterate of T at distance K. T is convex and increasing, and so is its
    iterate. Given K, let s be the mean over the leaves of the probability of success. The mean over x', the
    leaf of the data, of the sum over x of the probability to be accurate for x is at most V; so V >= s + (N -
    1) T^K(s). Since T^K(s) >= exp(-epsilon (K - j)) (1 - exp(epsilon j) (1 - s)) for j from 0 to K, the
    probability of failure 1 - s is at least

        u_j(K) = (1 + a - V) / (1 + a exp(epsilon j)), where a = (N - 1) exp(-epsilon (K - j)).

    So n records are too few while the mean of the greatest u_j(K) exceeds beta. With k = 1 and m = 0 this is
    tight: it is the best that a private rule for two concepts attains. (Group privacy alone, j = 0, gives 31
    in place of 39 at epsilon 1 and alpha = beta = .1.)

    Every k and m prove a bound; this function tries some. A mean that exceeds beta by less than a
    millionth, which is far more than floats err, does not count. The bound is at most 10**9.

    **Source.** Feldman and Xiao (2014), Theorem 7, through communication complexity and without usable
    constants; the proof here is ours.
    """
    return packing_records(_tried(rooted, depth, alpha, beta), epsilon, beta)


def packing_records(
    choices: Iterable[tuple[float, float, float]],
    epsilon: Fraction,
    beta: Fraction,
    delta: Fraction = Fraction(0),
) -> int:
    """Return a number of records below which no private learner succeeds against any of some packings.

    Parameters
    ----------
    choices : iterable of (share, rivals, others)
        For each packing: the probability that a record tells concepts apart, rounded up; ln(N - 1) of its N
        concepts; and ln(V - 1), where a hypothesis is accurate for at most V of them, rounded up.
    epsilon, beta : Fraction
        As for `pure_records`, whose Notes have the proof for delta = 0.
    delta : Fraction
        At least 0 and below 1.

    Notes
    -----
    With delta, T(p) = max(exp(-epsilon) (p - delta), 1 - delta - exp(epsilon) (1 - p)). Let D = delta /
    (exp(epsilon) - 1). Each step of the first kind maps p + D to exp(-epsilon) (p + D), and each of the
    second maps 1 - p + D to exp(epsilon) (1 - p + D). So T^K(s) >= exp(-epsilon (K - j)) (1 + 2 D -
    exp(epsilon j) (1 - s + D)) - D, and with V >= s + (N - 1) T^K(s)

        u_j(K) = (1 + a (1 + 2 D - D exp(epsilon j)) - V - (N - 1) D) / (1 + a exp(epsilon j)).
    """
    records, exponent = 0, float(epsilon) if epsilon < _LARGEST else _LARGEST
    excess = float_above(delta / (exp_bounds(min(epsilon, Fraction(_LARGEST_EXPONENT)))[0] - 1))
    for packing in choices:
        suffices = partial(_suffices, *packing, exponent, excess, float(beta))
        if records < _MOST_RECORDS and not suffices(records):
            high = max(1, records)
            while high < _MOST_RECORDS and not suffices(high):
                high = min(2 * high, _MOST_RECORDS)
            records = first(suffices, records, high)
    return records


def least_failure(
    counts: NDArray[Any], rivals: float, others: float, epsilon: float, excess: float = 0.0
) -> NDArray[np.float64]:
    """Return a lower bound on the probability of failure where samples differ in K records, for each K.

    It is max(0, u_j(K)) of `packing_records` for the best j: the unconstrained optimum rounded down and up.

    Parameters
    ----------
    counts : ndarray of shape (n,)
        K, at least 0.
    rivals, others : float
        ln(N - 1) and ln(V - 1), the latter rounded up.
    epsilon : float
        Positive.
    excess : float
        D = delta / (exp(epsilon) - 1), rounded up.

    Notes
    -----
    With t = exp(epsilon j) and b = (N - 1) exp(-epsilon K), u_j is (1 - (V - 1) / (b t) - D (exp(epsilon j) +
    exp(epsilon (K - j)) - 2)) / (1 / (b t) + t). For c = V - 1 + (N - 1) D it is greatest where b t**2 - 2 t
    (c - D) / (1 + 2 D) - 1 = 0; c stands for the quotient there, since every j gives a bound.
    """
    log_c = np.logaddexp(others, rivals + math.log(excess)) if excess else others
    with np.errstate(all="ignore"):
        log_b = rivals - epsilon * counts
        log_t = np.logaddexp(log_c - log_b, np.logaddexp(2 * (log_c - log_b), -log_b) / 2)
        best = np.zeros(len(counts))
        for j in (np.floor(log_t / epsilon), np.ceil(log_t / epsilon)):
            ahead = np.clip(j, 0, counts)
            step, back = epsilon * ahead, epsilon * (counts - ahead)
            gain = log_b + step  # ln(b t)
            lost = np.exp(others - gain) + excess * (np.expm1(step) + np.expm1(back) if excess else 0)
            best = np.fmax(best, (1 - lost) / (np.exp(-gain) + np.exp(step)))
    return best


def _tried(rooted: int, depth: int, alpha: Fraction, beta: Fraction) -> Iterator[tuple[float, float, float]]:
    """Yield the share of the records on the path, ln(N - 1) and ln(V - 1), for each k and m."""
    rooted, depth = min(rooted, _MOST_LEVELS), min(depth, _MOST_LEVELS)
    for levels in _spread(1, rooted):
        others = _log_others(levels)
        for mistakes in _spread(0, levels - 1):
            share = alpha * levels / (mistakes + 1)
            if others[mistakes] >= levels * math.log(2) + math.log1p(-float(beta)):
                break
            if share < 1:
                yield float_above(share), _log_rivals(levels), float(others[mistakes])
    if depth:
        mistakes = math.floor(alpha * depth)
        yield 1.0, _log_rivals(depth), float(_log_others(depth)[mistakes])


def _spread(low: int, high: int) -> list[int]:
    """Return the integers from low to high, the greater ones in steps of a tenth."""
    found = list(range(low, min(high, _ALL) + 1))
    while found and found[-1] < high:
        found.append(min(high, found[-1] + -(-found[-1] // 10)))
    return found


def _log_rivals(levels: int) -> float:
    """Return ln(2**levels - 1)."""
    return levels * math.log(2) + math.log1p(-(0.5**levels))


@lru_cache(maxsize=256)
def _log_others(levels: int) -> NDArray[np.float64]:
    """Return ln(V - 1) for each number of mistakes below `levels`, rounded up."""
    i = np.arange(1, levels)
    combinations = gammaln(levels + 1) - gammaln(i + 1) - gammaln(levels - i + 1)
    return np.append(-np.inf, np.logaddexp.accumulate(combinations) + 1e-8)


def _suffices(
    share: float, rivals: float, others: float, epsilon: float, excess: float, beta: float, n: int
) -> bool:
    """Return whether n records are not excluded: the bound on the probability of failure is at most beta."""
    failure = _failure(share, rivals, others, epsilon, n, excess)
    return not failure > beta * (1 + _MARGIN)  # true also of NaN


def _failure(
    share: float, rivals: float, others: float, epsilon: float, n: int, excess: float = 0.0
) -> float:
    """Return a lower bound on the probability of failure with n records."""
    most = min(n, math.ceil(n * share + 10 * math.sqrt(n * share) + 40))
    counts = np.unique(np.linspace(0, most, min(most, _STEPS) + 1).astype(np.int64))
    bounds = least_failure(counts, rivals, others, epsilon, excess)
    with np.errstate(all="ignore"):
        # The bounds decrease: the mean is the sum of their decreases times the distribution function.
        below = np.where(counts < n, betainc(np.maximum(n - counts, 1), counts + 1, 1 - min(share, 1)), 1)
        return float((bounds - np.append(bounds[1:], 0)) @ below)
