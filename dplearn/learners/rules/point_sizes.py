"""The sample complexity of point functions does not depend on the number of keys.

A point function is 1 at one key and 0 elsewhere, or 0 everywhere. Records are independent, and labelled by
one, or by one for each output; a failure is an error above alpha of some output. A learner that names the key
needs more records, the more keys there are; with delta, up to a limit.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dplearn._validation import check_count, check_number
from dplearn.kernels import decay_ratio, float_above, least, selection_ratio
from dplearn.kernels.points import distance_of_lead, n_sets
from dplearn.learners.limits import packing_records
from dplearn.learners.rules.generic import checked_epsilon, checked_ratio, checked_share, selection_rate
from dplearn.mechanisms.stability import abstention_probabilities
from dplearn.mechanisms.stable_histogram import stable_histogram_threshold
from dplearn.privacy import ApproxDP
from dplearn.privacy.events import BoundedRange
from dplearn.privacy.shares import equal_epsilon

LARGEST_BITS = 24  #: The most bits of a bucket's number; each bucket has an entry in an array.
_TINY = 1e-9  # the least alpha and beta
_MASSES = 2.0 ** -np.arange(1 / 4, 24, 1 / 4)  # collision masses that are tried, as shares of alpha
_FEW = 4096  # a sum over so many counts is quick, and exact where noise is small
_LARGEST_EXPONENT = 700  # exp of it is finite


def stable_point_failure(
    n_samples: int, *, epsilon: Any, delta: Any, alpha: Any, n_outputs: int = 1
) -> float:
    """Return the probability of failure of "stability", for the worst distribution.

    It is exact for one output, and an upper bound, which may exceed 1, for several.

    Notes
    -----
    **One output.** Only the key of the point function has records labelled 1, and none labelled 0; no other
    key can be released. If its probability is at most alpha, an abstention is also accurate. Otherwise its
    count dominates Binomial(n, alpha), and the probability of release does not decrease with the count: that
    for a key of probability alpha is approached.

    **Several outputs.** Output j errs only where the key of its point function is not released, and above
    alpha only if this key has probability above alpha. There are h <= min(n_outputs, 1 / alpha) such keys,
    each not released with at most the probability of a key of probability alpha: the sum is the bound.

    Examples
    --------
    >>> from dplearn.theory import stable_point_failure
    >>> round(float(stable_point_failure(370, epsilon=1.0, delta=1e-6, alpha=0.1)), 4)
    0.0488
    """
    n = check_count("n_samples", n_samples)
    if check_count("n_outputs", n_outputs, low=1) > 1:
        share = check_number("alpha", alpha, low=_TINY, below=1)
        return min(n_outputs, int(1 / share)) * unreleased(n, *checked_budget(epsilon, delta), float(share))
    abstentions = silences(ApproxDP(*checked_budget(epsilon, delta)))
    counts = np.arange(min(n, len(abstentions) - 1) + 1)
    return float(abstentions[counts] @ binom.pmf(counts, n, checked_share("alpha", alpha)))


def stable_point_sample_size(*, epsilon: Any, delta: Any, alpha: Any, beta: Any, n_outputs: int = 1) -> int:
    """Return the least number of records for which `stable_point_failure` is at most beta.

    Returns
    -------
    int
        About 2 ln(1 / (delta beta)) / (epsilon alpha); with several outputs about 2 ln(h / (delta beta)) /
        (epsilon alpha), where h is the lesser of `n_outputs` and 1 / alpha. With one output and fewer
        records, some distribution has a greater probability of failure.

    Examples
    --------
    >>> from dplearn.theory import stable_point_sample_size
    >>> stable_point_sample_size(epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.05)
    370
    >>> stable_point_sample_size(epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.05, n_outputs=1000)
    450
    """
    failure, share = checked_share("beta", beta), checked_share("alpha", alpha)
    asked = {"epsilon": epsilon, "delta": delta, "alpha": share, "n_outputs": n_outputs}
    return least(lambda n: stable_point_failure(n, **asked) <= failure, 0)


def sanitized_point_failure(
    n_samples: int, *, epsilon: Any, delta: Any, alpha: Any, n_outputs: int = 1, n_keys: int = 1
) -> float:
    """Return a bound on the probability of failure of "sanitizer"; it may exceed 1.

    Parameters
    ----------
    n_keys : int, default=1
        The most keys with label 1, of each output.

    Notes
    -----
    Let t be `n_keys`, S the keys with label 1 of an output, A those of them that are published, r the ratio
    of the weights of the selection, and v a number below alpha. The selected set B fails only if the keys of
    S without B have probability above v, or those of B without S above alpha - v.

    The weight of B relative to A is at most r to the number of records at keys of exactly one of them. A
    published key of count c has the weight r**c, and is published with a probability q(c); counts add up to
    at most n, so all others together weigh at most n max q(c) r**c / c in the mean. Let M(p) = (1 - p + p
    r)**n, a bound on the mean of r to the count of a key of probability at least p. In the first case B lacks
    a key of probability at least v / t, which is not published, or else costs M(v / t); in the second it has
    a key of probability above (alpha - v) / t, one of at most t / (alpha - v), each at a cost of
    M((alpha - v) / t). The remaining choices are the subsets of A and t of the others. At most t / v keys of
    all outputs must be published. The returned value is the minimum over a grid of v.

    **Source.** Bun, Nissim and Stemmer (2016), Lemmas 3.6 and 3.7, and Corollary 3.9. The histogram is their
    sanitizer; the proof for unknown sets of keys and for several keys is ours.

    Examples
    --------
    >>> from dplearn.theory import sanitized_point_failure
    >>> round(sanitized_point_failure(1052, epsilon=1.0, delta=1e-6, alpha=0.1), 4)
    0.0496
    """
    n, k = check_count("n_samples", n_samples), check_count("n_outputs", n_outputs, low=1)
    t, share = check_count("n_keys", n_keys, low=1), checked_share("alpha", alpha)
    privacy = ApproxDP(*checked_budget(checked_epsilon(epsilon), delta))
    half, selection = sanitized_shares(privacy, k)
    budget, r = (half.epsilon, half.delta), float(selection_ratio(selection.epsilon))
    threshold, ratio = histogram_threshold(*budget)
    # q(c) r**c / c is greatest at 1, or next to the threshold: below it, it is x**c / c times a constant.
    below = max(ratio ** (threshold - c) / (1 + ratio) * r**c / c for c in (1, max(1, threshold - 1)))
    log_others = math.log1p(n * max(below, r**threshold / threshold))

    def failure(v: float) -> float:
        least, rest = v / t, share - v
        kept = min(k * t, int(1 / least)) * unreleased(n, *budget, least)
        lacks = math.log(t * 2 ** (t - 1)) + t * log_others + n * math.log1p(-least * (1 - r))
        adds = math.log(t / rest * (2**t - 1)) + (t - 1) * log_others + n * math.log1p(-rest / t * (1 - r))
        return kept + k * sum(math.exp(min(each, _LARGEST_EXPONENT)) for each in (lacks, adds))

    return min(failure(share * part / 16) for part in range(4, 14))


def sanitized_shares(privacy: ApproxDP, n_outputs: int) -> tuple[ApproxDP, ApproxDP]:
    """Return the budget of the histogram of "sanitizer", and that of the selection of each output."""
    # The selections are of bounded range, and compose to the half that the histogram leaves; where their sum
    # is as good, they need no delta, and the histogram has all of it.
    epsilon, delta = privacy.epsilon / 2, privacy.delta / 2
    share = equal_epsilon(ApproxDP(epsilon, delta), n_outputs, BoundedRange)
    delta = privacy.delta if share == epsilon / n_outputs else delta
    return ApproxDP(epsilon, delta), ApproxDP(share)


def sanitized_point_sample_size(
    *, epsilon: Any, delta: Any, alpha: Any, beta: Any, n_outputs: int = 1, n_keys: int = 1
) -> int:
    """Return the least number of records for which `sanitized_point_failure` is at most beta.

    Parameters
    ----------
    n_keys : int, default=1
        The most keys with label 1, of each output.

    Examples
    --------
    >>> from dplearn.theory import sanitized_point_sample_size
    >>> sizes = {"epsilon": 1.0, "delta": 1e-6, "alpha": 0.1, "beta": 0.05}
    >>> [sanitized_point_sample_size(**sizes, n_outputs=k) for k in (1, 32)]
    [1052, 11156]
    """
    failure = checked_share("beta", beta)
    public = {"epsilon": epsilon, "delta": delta, "alpha": alpha, "n_outputs": n_outputs, "n_keys": n_keys}
    return least(lambda n: sanitized_point_failure(n, **public) <= failure, 0)


def proper_point_lower_bound(domain_size: int, *, epsilon: Any, delta: Any = 0, alpha: Any, beta: Any) -> int:
    """Return a number of records such that no private learner that names the key is accurate with fewer.

    Parameters
    ----------
    delta : number, default=0
    domain_size : int
        The number of keys, of any size, at least 1.

    Returns
    -------
    int
        At most 10**9.

    Notes
    -----
    The learner is (epsilon, delta)-private for one replaced record, and proper: it releases one key, or none,
    whose point function has an error of at most alpha with probability at least 1 - beta, for every
    distribution that a point function labels.

    Let one key be set apart. For each other key x, D_x has probability just above alpha at x, with label 1,
    and the rest at the key that is set apart, with label 0. Only x is accurate for D_x, and the samples of
    two distributions, drawn together, differ in Binomial(n, alpha) records. `packing_records` has the rest of
    the proof. For two keys, all records are at x. The bound is about ln(domain_size) / (epsilon alpha) for
    delta = 0; for delta > 0 it grows no further than to about ln(1 / delta) / (epsilon alpha).

    **Source.** Beimel, Kasiviswanathan and Nissim (2010), for the separation of proper and improper learners;
    Bun, Nissim, Stemmer and Vadhan (2015), Section 7. The constants are ours.

    Examples
    --------
    >>> from dplearn.theory import proper_point_lower_bound
    >>> [proper_point_lower_bound(2**bits, epsilon=1, alpha=0.1, beta=0.05) for bits in (8, 64, 1024)]
    [125, 569, 7529]
    >>> proper_point_lower_bound(2**1024, epsilon=1, delta=1e-6, alpha=0.1, beta=0.05)
    209
    """
    size = check_count("domain_size", domain_size, low=1)
    share = float_above(check_number("alpha", alpha, above=0, below=1))
    packings = [(1.0, math.log(size - 1), -math.inf)] if size > 1 else []
    if size > 2:
        packings.append((share, math.log(size - 2), -math.inf))
    return packing_records(
        packings,
        check_number("epsilon", epsilon, above=0),
        check_number("beta", beta, above=0, below=1),
        check_number("delta", delta, low=0, below=1),
    )


def hashed_class_size(n_buckets: int, *, n_keys: int = 1, n_columns: int | None = None) -> int:
    """Return the number of rules among which "hashing" selects.

    Parameters
    ----------
    n_buckets : int
        Number of buckets, m.
    n_keys : int, default=1
        The most keys with label 1, k.
    n_columns : int, optional
        The number of columns d, if keys are prefixes of rows.

    Returns
    -------
    int
        The number of sets of at most k buckets; with prefixes d m + 2: a bucket of prefixes of one length, or
        a constant label.

    Examples
    --------
    >>> from dplearn.theory import hashed_class_size
    >>> hashed_class_size(8192)
    8193
    """
    m = check_count("n_buckets", n_buckets, low=1)
    if n_columns is None:
        return n_sets(m, check_count("n_keys", n_keys, low=1))
    return check_count("n_columns", n_columns, low=1) * m + 2


def hashed_point_failure(
    n_samples: int,
    n_buckets: int,
    *,
    epsilon: Any,
    alpha: Any,
    n_keys: int = 1,
    n_columns: int | None = None,
) -> float:
    """Return a bound on the probability of failure of "hashing"; it may exceed 1.

    Parameters
    ----------
    n_buckets : int
        Number of buckets.
    n_keys : int, default=1
        The most keys with label 1.
    n_columns : int, optional
        The number of columns, if keys are prefixes of rows.

    Notes
    -----
    Let t be the greatest number of keys with label 1, and c the probability of the other keys in the buckets
    of these keys, with m buckets. A prefix is a key of its length. The mean of c over the hash is at most
    t/m, so that c exceeds kappa with probability at most t/(m kappa): the miss. Otherwise the rule of these
    buckets has error at most kappa. All other rules, one fewer than `hashed_class_size`, may have error above
    alpha; `representation_failure` bounds the probability that one of these is selected. Deficits that are
    not distinguished (see `BucketSets`) add less than 2**-64. The returned value is the minimum over a
    grid of kappa.

    Examples
    --------
    >>> from dplearn.theory import hashed_point_failure
    >>> round(float(hashed_point_failure(345, 8192, epsilon=1.0, alpha=0.1)), 4)
    0.0498
    """
    n = check_count("n_samples", n_samples)
    others = hashed_class_size(n_buckets, n_keys=n_keys, n_columns=n_columns) - 1
    share = checked_share("alpha", alpha)
    masses = share * _MASSES
    exponents = math.log(others) - n * selection_rate(checked_ratio(epsilon), share, masses)[0]
    with np.errstate(under="ignore"):
        selected = np.exp(np.minimum(exponents, _LARGEST_EXPONENT))
        return float(np.min(n_keys / (n_buckets * masses) + selected))


@dataclass(frozen=True)
class HashedPointSizes:
    """The sizes of a fit with "hashing".

    Attributes
    ----------
    n_samples : int
        Number of records.
    n_buckets : int
        Number of buckets; a power of two.
    """

    n_samples: int
    n_buckets: int


def hashed_point_sizes(
    *, epsilon: Any, alpha: Any, beta: Any, n_keys: int = 1, n_columns: int | None = None
) -> HashedPointSizes:
    """Return the least number of records with `hashed_point_failure` at most beta, and its buckets.

    Parameters
    ----------
    n_keys : int, default=1
        The most keys with label 1.
    n_columns : int, optional
        The number of columns, if keys are prefixes of rows.

    Raises
    ------
    ValueError
        If more than 2**24 buckets are required; the number is a small multiple of n_keys / (alpha beta).

    Examples
    --------
    >>> from dplearn.theory import hashed_point_sizes
    >>> hashed_point_sizes(epsilon=1.0, alpha=0.1, beta=0.05)
    HashedPointSizes(n_samples=345, n_buckets=8192)
    >>> hashed_point_sizes(epsilon=1.0, alpha=0.1, beta=0.1, n_keys=20)
    HashedPointSizes(n_samples=4778, n_buckets=32768)
    """
    return _hashed_point_sizes(
        checked_ratio(epsilon),
        checked_share("alpha", alpha),
        checked_share("beta", beta),
        check_count("n_keys", n_keys, low=1),
        None if n_columns is None else check_count("n_columns", n_columns, low=1),
    )


@lru_cache(maxsize=64)
def _hashed_point_sizes(
    ratio: float, alpha: float, beta: float, n_keys: int, n_columns: int | None
) -> HashedPointSizes:
    masses = alpha * _MASSES
    decay, _ = selection_rate(ratio, alpha, masses)
    best: HashedPointSizes | None = None
    for bits in range(LARGEST_BITS + 1):
        m = 1 << bits
        rest = beta - n_keys / (m * masses)  # the probability of failure left after collisions
        kept = (rest > 0) & (decay > 0)
        if not kept.any():
            continue
        others = math.log(hashed_class_size(m, n_keys=n_keys, n_columns=n_columns) - 1)
        found: int = math.ceil(np.min((others - np.log(rest[kept])) / decay[kept]))
        if best is None or found < best.n_samples:
            best = HashedPointSizes(max(1, found), m)
    if best is None:
        raise ValueError(
            f"alpha and beta must be so large that 2**{LARGEST_BITS} buckets suffice,"
            f" got alpha={alpha}, beta={beta}"
        )
    return best


@lru_cache(maxsize=64)
def accuracy(method: str, n: int, n_buckets: int, beta: Any, **asked: Any) -> tuple[float, int]:
    """Return the probability of failure with n records, and the number of records needed."""
    if method == "hashing":
        failure = hashed_point_failure(n, n_buckets, **asked)
        needed = hashed_point_sizes(**asked, beta=beta).n_samples
    elif method == "sanitizer":
        failure, needed = sanitized_point_failure(n, **asked), sanitized_point_sample_size(**asked, beta=beta)
    else:
        failure, needed = stable_point_failure(n, **asked), stable_point_sample_size(**asked, beta=beta)
    return min(1.0, failure), needed


@lru_cache(maxsize=16)
def silences(privacy: ApproxDP) -> NDArray[np.float64]:
    """Return the probability that a leader of lead 0, 1, ... is not released; it is 0 for greater leads."""
    by_distance = abstention_probabilities(privacy)
    n = len(by_distance)
    distances = [distance_of_lead(lead) for lead in range(1, 2 * n + 1)]
    return np.append(1.0, by_distance[np.minimum(distances, n - 1)])


def unreleased(n: int, epsilon: Any, delta: Any, alpha: float) -> float:
    """Return the probability that a stable histogram does not publish a key of probability alpha.

    A count c below the threshold t is not published with probability 1 - r**(t - c) / (1 + r), and another
    with probability r**(c - t + 1) / (1 + r); a count of 0 never is. The mean of r**c, for c binomial and at
    least t, is (1 - alpha + alpha r)**n times the probability that a binomial count with another alpha is at
    least t; and so for the mean of r**-c.
    """
    threshold, ratio = histogram_threshold(epsilon, delta)
    if n < threshold:
        return 1.0
    low, high = (1 - alpha + alpha * base for base in (ratio, 1 / ratio))
    with np.errstate(all="ignore"):
        log_r = np.log(ratio)
        above = (1 - threshold) * log_r + n * np.log(low) + binom.logsf(threshold - 1, n, alpha * ratio / low)
        if threshold <= _FEW:
            counts = np.arange(1, threshold)
            below = (binom.pmf(counts, n, alpha) * ratio ** (threshold - counts)).sum()
        else:
            p = alpha / ratio / high
            some = binom.cdf(threshold - 1, n, p) - binom.pmf(0, n, p)
            below = np.exp(threshold * log_r + n * np.log(high) + np.log(max(0.0, some)))
        silent = binom.cdf(threshold - 1, n, alpha) + (np.exp(above) - below) / (1 + ratio)
    return float(silent)


@lru_cache(maxsize=16)
def histogram_threshold(epsilon: Any, delta: Any) -> tuple[int, float]:
    """Return the threshold and the ratio of the noise of a stable histogram."""
    return stable_histogram_threshold(ApproxDP(epsilon, delta)), float(decay_ratio(epsilon / 2))


def checked_budget(epsilon: Any, delta: Any) -> tuple[Fraction, Fraction]:
    """Return both as fractions, epsilon above 0, and delta above 0 and below 1."""
    return check_number("epsilon", epsilon, above=0), check_number("delta", delta, above=0, below=1)
