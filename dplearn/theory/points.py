"""How many records it takes to learn a point function: none of these numbers depends on how many keys exist.

A point function is 1 at one key and 0 elsewhere, or 0 everywhere. Records are independent and labelled by one
of these. A learner fails if what it learns is wrong with probability above alpha on a new record.

>>> stable_point_sample_size(epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.05)
370
>>> hashed_point_sizes(epsilon=1.0, alpha=0.1, beta=0.05)
HashedPointSizes(n_samples=345, n_buckets=8192)
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dplearn._validation import check_count, check_number
from dplearn.core.exact import selection_ratio
from dplearn.core.points import distance_of_lead
from dplearn.privacy import ApproxDP
from dplearn.theory.bars import speaking_table
from dplearn.theory.search import first

__all__ = [
    "HashedPointSizes",
    "hashed_point_failure",
    "hashed_point_sizes",
    "stable_point_failure",
    "stable_point_sample_size",
]

LARGEST_BITS = 24  #: Of a bucket: each has an entry in an array.
_TINY = 1e-9  # the least alpha and beta
_MASSES = 2.0 ** -np.arange(1 / 4, 24, 1 / 4)  # of a collision, as shares of alpha, that are tried
_STEPS = np.linspace(0, 1, 65)[1:-1]  # where the base of the bound is tried


def stable_point_failure(n_samples: int, *, epsilon: Any, delta: Any, alpha: Any) -> float:
    """Return the probability that learning through stability fails, for the worst distribution.

    Parameters
    ----------
    n_samples : int
        Number of records.
    epsilon, delta : number
        Both positive.
    alpha : number
        In (0, 1).

    Notes
    -----
    Only the key of the point function has records labelled 1, and none labelled 0, so it is the only one that
    can be released. If its probability is at most alpha, silence is accurate too. Else its count is at least,
    in law, Binomial(n, alpha), and a greater count is never released less often: the failure is at most that
    of a probability of just alpha, to which it comes as near as one likes.
    """
    n = check_count("n_samples", n_samples)
    silence = _silence(*_budget(epsilon, delta))
    counts = np.arange(min(n, len(silence) - 1) + 1)
    return float(silence[counts] @ binom.pmf(counts, n, _share("alpha", alpha)))


def stable_point_sample_size(*, epsilon: Any, delta: Any, alpha: Any, beta: Any) -> int:
    """Return how many records make learning through stability fail with probability at most beta.

    Parameters
    ----------
    epsilon, delta : number
        Both positive.
    alpha, beta : number
        Error and probability of failure that are allowed, in (0, 1).

    Returns
    -------
    int
        About 2 ln(1 / (delta beta)) / (epsilon alpha). With less, some distribution makes it fail more often.
    """
    failure, share = _share("beta", beta), _share("alpha", alpha)
    _silence(*_budget(epsilon, delta))

    def suffices(n: int) -> bool:
        return stable_point_failure(n, epsilon=epsilon, delta=delta, alpha=share) <= failure

    enough = 1
    while not suffices(enough):
        enough *= 2
    return first(suffices, enough // 2, enough)


def hashed_point_failure(n_samples: int, n_buckets: int, *, epsilon: Any, alpha: Any) -> float:
    """Return a bound on the probability that learning through hashing fails; it may exceed 1.

    Parameters
    ----------
    n_samples : int
        Number of records.
    n_buckets : int
        Into how many buckets keys are hashed.
    epsilon : number
        Positive.
    alpha : number
        In (0, 1).

    Notes
    -----
    Let c be the probability of other keys in the point's bucket. Over the hash its mean is at most 1/m, m
    buckets, so it exceeds k with probability at most 1/(m k). If it does not, the point function of that
    bucket (or 0, if the target is 0) is wrong with probability q <= k; call it the best. There are at most m
    others on buckets that are wrong with probability above alpha, or m - 1 and 0. One of these is selected
    with probability at most min(1, r**(its errors less the best's)) <= s**(that), for any s from r to 1. Let
    it be wrong alone with probability p, and the best alone with q' <= k, p - q' >= alpha - k. In the mean
    over a record, s**(difference) is 1 - (1 - s) (p - q') + q' (1 - s)**2 / s, which is at most
    1 - (1 - s) (alpha - k) + k (1 - s)**2 / s = B. So the failure is at most 1/(m k) + m B**n. The least over
    some k and s is returned.
    """
    n, m = check_count("n_samples", n_samples), check_count("n_buckets", n_buckets, low=1)
    share = _share("alpha", alpha)
    masses, decay = _rates(_epsilon(epsilon), share)
    with np.errstate(under="ignore"):
        return float(np.min(1 / (m * masses) + m * np.exp(-n * decay)))


@dataclass(frozen=True)
class HashedPointSizes:
    """What learning through hashing takes.

    Attributes
    ----------
    n_samples : int
        Number of records.
    n_buckets : int
        Into how many buckets keys are hashed; a power of two.
    """

    n_samples: int
    n_buckets: int


def hashed_point_sizes(*, epsilon: Any, alpha: Any, beta: Any) -> HashedPointSizes:
    """Return the least number of records for which `hashed_point_failure` is at most beta, and the buckets.

    Parameters
    ----------
    epsilon : number
        Positive.
    alpha, beta : number
        Error and probability of failure that are allowed, in (0, 1).

    Raises
    ------
    ValueError
        If it takes more than 2**24 buckets: they are about 1 / (alpha beta), or some times more.
    """
    return _hashed_point_sizes(_epsilon(epsilon), _share("alpha", alpha), _share("beta", beta))


@lru_cache(maxsize=64)
def _hashed_point_sizes(epsilon: float, alpha: float, beta: float) -> HashedPointSizes:
    masses, decay = _rates(epsilon, alpha)
    best: HashedPointSizes | None = None
    for bits in range(LARGEST_BITS + 1):
        m = 1 << bits
        rest = beta - 1 / (m * masses)  # what collisions leave
        kept = rest > 0
        if not kept.any():
            continue
        found: int = math.ceil(np.min((math.log(m) - np.log(rest[kept])) / decay[kept]))
        if best is None or found < best.n_samples:
            best = HashedPointSizes(max(1, found), m)
    if best is None:
        raise ValueError(
            f"alpha and beta must be so large that 2**{LARGEST_BITS} buckets suffice,"
            f" got alpha={alpha}, beta={beta}"
        )
    return best


def _rates(epsilon: float, alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return masses k of a collision, below alpha, and -ln B for each, B the least over some s."""
    masses = alpha * _MASSES
    least = float(selection_ratio(check_number("epsilon", epsilon)))
    s = (least + (1 - least) * np.append(0.0, _STEPS))[:, None]
    fall = (1 - s) * (alpha - masses) - masses * (1 - s) ** 2 / s
    return masses, -np.log1p(-np.max(fall, axis=0))


@lru_cache(maxsize=16)
def _silence(epsilon: Any, delta: Any) -> NDArray[np.float64]:
    """Return, for counts 0, 1, ..., the probability that a lead of that count is not released; 0 beyond."""
    table, one = speaking_table(ApproxDP(epsilon, delta))
    by_distance = np.array([(one - p) / one for p in table])
    counts = range(2 * len(table) + 1)
    return np.array([1.0, *(by_distance[min(distance_of_lead(c), len(table) - 1)] for c in counts[1:])])


def _budget(epsilon: Any, delta: Any) -> tuple[Any, Any]:
    return check_number("epsilon", epsilon, above=0), check_number("delta", delta, above=0, below=1)


def _epsilon(epsilon: Any) -> float:
    return float(check_number("epsilon", check_number("epsilon", epsilon, above=0), low=_TINY))


def _share(name: str, value: Any) -> float:
    return float(check_number(name, value, low=_TINY, below=1))
