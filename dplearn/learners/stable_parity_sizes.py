"""Sample complexity of the stable parity learner for columns that are independent fair coins.

Each shard votes for a solution of its equations, and the winner is released by its distance to instability.
For fair coins, the probability that a shard has full rank, and therefore only the right solution, is known
exactly. In the worst case all other shards vote for the same wrong solution.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from dplearn._validation import check_count, check_number
from dplearn.kernels.search import first, lowest
from dplearn.mechanisms.stability import release_probability_table
from dplearn.privacy import ApproxDP

__all__ = [
    "StableSizes",
    "full_rank_probability",
    "stable_parity_failure",
    "stable_parity_sizes",
    "stable_parity_split",
]

_SMALLEST = 1e-100  # the least beta
_DEEPEST = 1100  # floats below 2**-1100 are 0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StableSizes:
    """The sizes of the stable learner, with a bound on its probability of failure.

    Attributes
    ----------
    n_samples : int
        n; the remainder n - n_parts * part_size < n_parts makes some shards larger by one record.
    n_parts, part_size : int
        m shards of n' records or one more.
    failure : float
        `stable_parity_failure` of these sizes.
    """

    n_samples: int
    n_parts: int
    part_size: int
    failure: float


def full_rank_probability(n_rows: int, n_columns: int, *, fit_intercept: bool = False) -> float:
    """Return the probability that a matrix of fair coins has full column rank over GF(2).

    Parameters
    ----------
    n_rows, n_columns : int
        At least 0.
    fit_intercept : bool, default=False
        Whether a column of ones is appended.

    Returns
    -------
    float
        The product of 1 - 2**(i - n_rows) for i from 0 to n_columns - 1; with an intercept for i from 1 to
        n_columns, and 0 if there are no rows.

    Notes
    -----
    A random column is outside the span of i independent columns with probability 1 - 2**i / 2**n_rows. With
    an intercept, the column of ones is the first of these.

    Examples
    --------
    >>> from dplearn.theory import full_rank_probability
    >>> round(float(full_rank_probability(20, 16)), 4)
    0.9388
    """
    rows, columns = check_count("n_rows", n_rows), check_count("n_columns", n_columns)
    return math.exp(_log_full_rank(rows, columns, bool(fit_intercept)))


def stable_parity_failure(
    n_features: int, *, n_parts: int, part_size: int, epsilon: Any, delta: Any, fit_intercept: bool = False
) -> float:
    """Return a bound on the probability that the stable learner does not release the right parity.

    Parameters
    ----------
    n_features : int
        d: the number of columns, all fair coins; at least 1.
    n_parts, part_size : int
        m shards, at least 1, of n' records each.
    epsilon, delta : float
        Privacy budget: epsilon positive, delta in (0, 1).
    fit_intercept : bool, default=False
        Whether complements of parities are learned also.

    Returns
    -------
    float
        1 minus the sum over j, the number of shards of full rank, of the binomial probability of j times the
        probability of a release with j votes against m - j votes for one other solution. It does not depend
        on the number of label columns.

    Notes
    -----
    A shard of full rank votes for the right parity. In the worst case, the other i shards all vote for one
    parity that precedes it in the order of ties; the distance is then floor((m - 2 i - 1) / 2). An odd number
    of shards is never worse than one more, which changes no distance.

    Examples
    --------
    >>> from dplearn.theory import stable_parity_failure
    >>> round(float(stable_parity_failure(16, n_parts=33, part_size=22, epsilon=1, delta=1e-6)), 4)
    0.0353
    """
    d = check_count("n_features", n_features, low=1)
    m = check_count("n_parts", n_parts, low=1)
    size = check_count("part_size", part_size)
    return _failure(
        _abstention_probabilities(ApproxDP(epsilon, delta)), m, _log_full_rank(size, d, bool(fit_intercept))
    )


def stable_parity_sizes(
    n_features: int, *, epsilon: Any, delta: Any, beta: Any, fit_intercept: bool = False
) -> StableSizes:
    """Return the sizes of the stable learner with the fewest records.

    Parameters
    ----------
    n_features : int
        d: the number of columns, all fair coins; at least 1.
    epsilon, delta : float
        Privacy budget: epsilon positive, delta in (0, 1).
    beta : float
        Allowed probability of failure, in (0, 1).
    fit_intercept : bool, default=False
        Whether complements of parities are learned also.

    Returns
    -------
    StableSizes
        Sizes with `failure` at most beta.

    Raises
    ------
    TypeError, ValueError
        If a parameter has a wrong type or is out of range.

    Notes
    -----
    **Source.** Bun, Nissim and Stemmer (2016), Theorem 3.12 and Algorithm 4. There the winner is selected by
    another mechanism, and the sizes have no explicit constants.

    Examples
    --------
    >>> from dplearn.theory import stable_parity_sizes
    >>> sizes = stable_parity_sizes(16, epsilon=1, delta=1e-6, beta=0.05)
    >>> sizes.n_samples, sizes.n_parts, sizes.part_size, round(sizes.failure, 4)
    (726, 33, 22, 0.0353)
    """
    d = check_count("n_features", n_features, low=1)
    return _least(d, ApproxDP(epsilon, delta), _beta(beta), bool(fit_intercept))


def stable_parity_split(
    n_samples: int, n_features: int, *, epsilon: Any, delta: Any, beta: Any, fit_intercept: bool = False
) -> StableSizes:
    """Return the sizes of the stable learner for a given number of records.

    Parameters
    ----------
    n_samples : int
        n, at least 1.
    n_features : int
        d: the number of columns, all fair coins; at least 1.
    epsilon, delta : float
        Privacy budget: epsilon positive, delta in (0, 1).
    beta : float
        Allowed probability of failure, in (0, 1).
    fit_intercept : bool, default=False
        Whether complements of parities are learned also.

    Returns
    -------
    StableSizes
        If n is at least that of `stable_parity_sizes`: the least number of shards with `failure` at most
        beta, or at most beta / x if n is x times as great and suffices for that, since large shards are best
        for columns that are not fair coins. Otherwise the sizes with the least `failure`.

    Examples
    --------
    >>> from dplearn.theory import stable_parity_split
    >>> sizes = stable_parity_split(1000, 16, epsilon=1, delta=1e-6, beta=0.05)
    >>> sizes.n_parts, sizes.part_size
    (33, 30)
    """
    n = check_count("n_samples", n_samples, low=1)
    plan = stable_parity_sizes(
        n_features, epsilon=epsilon, delta=delta, beta=beta, fit_intercept=fit_intercept
    )
    abstentions, wanted = _abstention_probabilities(ApproxDP(epsilon, delta)), _beta(beta)
    if n > plan.n_samples:
        less = wanted * plan.n_samples / n
        sharper = _least(n_features, ApproxDP(epsilon, delta), less, bool(fit_intercept))
        plan, wanted = (sharper, less) if sharper.n_samples <= n else (plan, wanted)

    def failure(half: float) -> float:
        m = 2 * int(half) + 1
        return _failure(abstentions, m, _log_full_rank(n // m, n_features, bool(fit_intercept)))

    if n >= plan.n_samples:
        half = first(lambda half: failure(half) <= wanted, _fewest(abstentions, wanted), plan.n_parts // 2)
    else:
        most = max(1, n // (n_features + bool(fit_intercept)))
        half = lowest(lambda halves: np.array([failure(half) for half in halves]), 0, (most - 1) // 2)
    m = 2 * half + 1
    return StableSizes(n, m, n // m, failure(half))


def _beta(beta: Any) -> float:
    return float(check_number("beta", check_number("beta", beta, above=0, below=1), low=_SMALLEST))


@lru_cache(maxsize=8)
def _abstention_probabilities(privacy: ApproxDP) -> Floats:
    """Return the probabilities of an abstention at distances 0, 1, ..., up to the first that is 0."""
    table, one = release_probability_table(privacy)
    return np.array([(one - p) / one for p in table])


def _fewest(abstentions: Floats, beta: float) -> int:
    """Return the least distance k, for 2 k + 1 votes, with an abstention of probability at most beta."""
    return int(np.argmax(abstentions <= beta))


@lru_cache(maxsize=4096)
def _log_full_rank(rows: int, columns: int, intercept: bool) -> float:
    if rows < columns + intercept:
        return -math.inf
    gaps = np.arange(rows - columns - intercept + 1, rows - intercept + 1)[:_DEEPEST]
    return float(np.log1p(-(2.0**-gaps)).sum())


def _failure(abstentions: Floats, m: int, log_full_rank: float) -> float:
    """Return the mean probability of an abstention over i, the number of shards with another vote."""
    i = np.arange(m + 1)
    rank = math.exp(log_full_rank)
    missed = -math.expm1(log_full_rank)
    logarithms = gammaln(m + 1) - gammaln(i + 1) - gammaln(m - i + 1) + xlogy(i, missed) + xlogy(m - i, rank)
    distances = (m - 2 * i - 1) // 2
    abstained = np.where(
        distances < len(abstentions), abstentions[np.clip(distances, 0, len(abstentions) - 1)], 0.0
    )
    return min(1.0, float(np.exp(logarithms) @ np.where(distances < 0, 1.0, abstained)))


@lru_cache(maxsize=256)
def _least(d: int, privacy: ApproxDP, beta: float, intercept: bool) -> StableSizes:
    """Search from shards of nearly certain full rank to smaller shards, of which more are required."""
    abstentions = _abstention_probabilities(privacy)
    fewest = _fewest(abstentions, beta)
    best: StableSizes | None = None
    spare = 8 + math.ceil(math.log2((2 * fewest + 1) / beta))  # the mean number without full rank: beta / 256
    for size in range(d + intercept + spare, d + intercept - 1, -1):
        rank = _log_full_rank(size, d, intercept)

        def enough(half: int, rank: float = rank) -> bool:
            return _failure(abstentions, 2 * half + 1, rank) <= beta

        half = fewest + 1
        while best is None and not enough(half):
            half *= 2
        if best is not None:
            half = ((best.n_samples - 1) // size - 1) // 2  # with more, n_samples is not lower
            if half < fewest or not enough(half):
                continue
        m = 2 * first(enough, fewest, half) + 1
        best = StableSizes(m * size, m, size, _failure(abstentions, m, rank))
    assert best is not None
    return best
