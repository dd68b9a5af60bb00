"""How many records the stable learner of parities takes where the columns are fair coins.

Shards vote for a solution of theirs, and the winner is released by its distance to instability. With fair
coins a shard's probability of full rank, and so of having the right solution alone, is known exactly; the
others may have voted for one and the same wrong one.

>>> sizes = stable_parity_sizes(16, epsilon=1, delta=1e-6, beta=0.05)
>>> sizes.n_samples, sizes.n_parts, sizes.part_size, round(sizes.failure, 4)
(726, 33, 22, 0.0353)
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from dplearn._validation import check_count, check_number
from dplearn.core.search import first, lowest
from dplearn.mechanisms.stability import release_probability_table
from dplearn.privacy import ApproxDP

__all__ = [
    "StableSizes",
    "full_rank_probability",
    "stable_parity_failure",
    "stable_parity_sizes",
    "stable_parity_split",
]

_SMALLEST = 1e-100  # of beta
_DEEPEST = 1100  # below 2**-1100 floats are 0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StableSizes:
    """How the stable learner cuts its records, and how rarely it then fails.

    Attributes
    ----------
    n_samples : int
        n, of which n - n_parts * part_size < n_parts make some shards larger by one.
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
    """Return how probable it is that rows of fair coins have full column rank over GF(2).

    Parameters
    ----------
    n_rows, n_columns : int
        At least 0.
    fit_intercept : bool, default=False
        Whether a column of ones joins them.

    Returns
    -------
    float
        The product of 1 - 2**(i - n_rows), i from 0 to n_columns - 1; with an intercept from 1 to n_columns,
        and 0 without rows.

    Notes
    -----
    A column is outside the span of i independent ones before it with probability 1 - 2**i / 2**n_rows. A
    column of ones is the first of them.
    """
    rows, columns = check_count("n_rows", n_rows), check_count("n_columns", n_columns)
    return math.exp(_log_full_rank(rows, columns, bool(fit_intercept)))


def stable_parity_failure(
    n_features: int, *, n_parts: int, part_size: int, epsilon: Any, delta: Any, fit_intercept: bool = False
) -> float:
    """Return a bound on the probability that the stable learner does not return the parity of all labels.

    Parameters
    ----------
    n_features : int
        d: columns, all fair coins; at least 1.
    n_parts, part_size : int
        m shards, at least 1, of n' records each.
    epsilon, delta : float
        As for `release_probabilities`.
    fit_intercept : bool, default=False
        Whether complements of parities are learned too.

    Returns
    -------
    float
        1 less the sum, over the number j of shards of full rank, of their binomial probability times that of
        speaking where j votes stand against m - j for another. The number of label columns does not enter.

    Notes
    -----
    A shard of full rank votes for the right parity, and any other, at worst, for one that comes before it.
    With i votes for that the distance is (m - 2 i - 1) / 2 rounded down. An odd number of shards is never
    worse than one more, which changes no distance.
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
    """Return the sizes with which the stable learner needs the fewest records.

    Parameters
    ----------
    n_features, epsilon, delta, fit_intercept
        As for `stable_parity_failure`.
    beta : float
        Probability of failure, in (0, 1).

    Returns
    -------
    StableSizes
        Whose `failure` is at most beta.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    **Source.** Bun, Nissim and Stemmer (2016), Theorem 3.12 and Algorithm 4. There the winner is chosen by
    another mechanism, and sizes are not given with constants.
    """
    d = check_count("n_features", n_features, low=1)
    return _least(d, ApproxDP(epsilon, delta), _beta(beta), bool(fit_intercept))


def stable_parity_split(
    n_samples: int, n_features: int, *, epsilon: Any, delta: Any, beta: Any, fit_intercept: bool = False
) -> StableSizes:
    """Return how the stable learner cuts a given number of records.

    Parameters
    ----------
    n_samples : int
        n, at least 1.
    n_features, epsilon, delta, beta, fit_intercept
        As for `stable_parity_sizes`.

    Returns
    -------
    StableSizes
        If n is at least that of `stable_parity_sizes`, the fewest shards whose `failure` is at most beta, or
        at most beta / x where n is x times as much and suffices for that: large shards cope best with columns
        that are not fair coins. Else those that fail least.
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
    """Return the probability of None at distance 0, 1, ..., till it is 0."""
    table, one = release_probability_table(privacy)
    return np.array([(one - p) / one for p in table])


def _fewest(abstentions: Floats, beta: float) -> int:
    """Return the least distance at which None is improbable enough: 2 times it and 1 votes have it."""
    return int(np.argmax(abstentions <= beta))


@lru_cache(maxsize=4096)
def _log_full_rank(rows: int, columns: int, intercept: bool) -> float:
    if rows < columns + intercept:
        return -math.inf
    gaps = np.arange(rows - columns - intercept + 1, rows - intercept + 1)[:_DEEPEST]
    return float(np.log1p(-(2.0**-gaps)).sum())


def _failure(abstentions: Floats, m: int, log_full_rank: float) -> float:
    """Return the mean of the probability of None over the number i of shards that vote for another."""
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
    """Go from shards that hardly ever lack rank to smaller ones, of which more are needed."""
    abstentions = _abstention_probabilities(privacy)
    fewest = _fewest(abstentions, beta)
    best: StableSizes | None = None
    spare = 8 + math.ceil(math.log2((2 * fewest + 1) / beta))  # rank is lacked by beta / 256 shards at most
    for size in range(d + intercept + spare, d + intercept - 1, -1):
        rank = _log_full_rank(size, d, intercept)

        def enough(half: int, rank: float = rank) -> bool:
            return _failure(abstentions, 2 * half + 1, rank) <= beta

        half = fewest + 1
        while best is None and not enough(half):
            half *= 2
        if best is not None:
            half = ((best.n_samples - 1) // size - 1) // 2  # no more, to be better
            if half < fewest or not enough(half):
                continue
        m = 2 * first(enough, fewest, half) + 1
        best = StableSizes(m * size, m, size, _failure(abstentions, m, rank))
    assert best is not None
    return best
