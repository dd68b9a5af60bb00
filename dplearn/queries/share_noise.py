"""What the noise in answers to share queries comes to, all asked in one round, before anything is asked.

>>> noise = share_noise(4, n_queries=10, n=1000, epsilon=1)
>>> round(1000 * noise.deviation), round(1000 * noise.bound.at(0.05))  # in records
(28, 102)
>>> noise = share_noise(4, n_queries=10, n=1000, epsilon=1, noise="local")
>>> round(1000 * noise.deviation)
126
"""

import math
from dataclasses import dataclass
from typing import Any

from dplearn._validation import check_choice, check_count, check_number
from dplearn.core.exact import decay_rate, decay_ratio
from dplearn.mechanisms.randomized_response import truth_probability
from dplearn.privacy import ApproxDP
from dplearn.privacy.shares import concentrated_budget
from dplearn.queries.bounds import TailBound, sampling_bound

__all__ = ["SHARE_NOISES", "ShareNoise", "central_noise", "share_noise"]

#: Central noise, Laplace or Gaussian, and randomised response of each record.
SHARE_NOISES = ("laplace", "gaussian", "local")


@dataclass(frozen=True)
class ShareNoise:
    """How far released shares are off.

    Attributes
    ----------
    deviation : float
        The noise's standard deviation in the share of a category that no record is in.
    bound : TailBound
        On all shares of one query. With "local" they are off what is expected of the records' distribution,
        sampling included, else what is true of the records.
    """

    deviation: float
    bound: TailBound


def share_noise(
    categories: int, *, n_queries: int, n: int, epsilon: Any, delta: Any = 0, noise: str = "laplace"
) -> ShareNoise:
    """Return the noise in one of several share queries, which have equal parts of a budget.

    Parameters
    ----------
    categories : int
        Of the query, at least 2.
    n_queries : int
        How many are asked together.
    n : int
        How many records there are; with "local", each answers one query.
    epsilon, delta : number
        What all answers spend; "gaussian" needs a positive delta, the others have no use for it.
    noise : {"laplace", "gaussian", "local"}, default="laplace"
        Where the noise comes from.

    Returns
    -------
    ShareNoise

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described, or a query is left without a record.

    Notes
    -----
    A replaced record moves two counts by 1. "laplace" has a scale just above 2 n_queries / epsilon,
    "gaussian" the variance n_queries / rho; "local" is randomised response, whose estimates lie in a range of
    width 1 / (p - q): p the probability of the truth, q of each other category.
    """
    categories = check_count("categories", categories, low=2)
    n_queries, n = check_count("n_queries", n_queries, low=1), check_count("n", n, low=1)
    epsilon = check_number("epsilon", epsilon, above=0)
    if check_choice("noise", noise, SHARE_NOISES) == "laplace":
        ratio = decay_ratio(epsilon / (2 * n_queries))
        below = float(1 - ratio)
        deviation = math.sqrt(2 * float(ratio)) / below
        return ShareNoise(deviation / n, TailBound(1 / decay_rate(ratio) / n, size=categories))
    if noise == "gaussian":
        sigma2 = float(n_queries / concentrated_budget(ApproxDP(epsilon, delta)))
        return ShareNoise(math.sqrt(sigma2) / n, TailBound(root=math.sqrt(2 * sigma2) / n, size=categories))
    if n < n_queries:
        raise ValueError(f"n must leave a record for each of {n_queries} queries, got {n}")
    truth = truth_probability(categories, epsilon)
    other = (1 - truth) / (categories - 1)
    reach, count = 1 / float(truth - other), n // n_queries
    deviation = math.sqrt(float(other * (1 - other)) / count) * reach
    return ShareNoise(deviation, sampling_bound(reach, count, categories))


def central_noise(n_queries: int, *, epsilon: Any, delta: Any) -> str:
    """Return "laplace" or "gaussian", whichever varies less; only the latter spends delta.

    Parameters
    ----------
    n_queries : int
        How many share queries are asked together.
    epsilon, delta : number
        What may be spent.
    """
    kinds = ["laplace"] if not check_number("delta", delta, low=0, below=1) else ["laplace", "gaussian"]

    def deviation(kind: str) -> float:
        return share_noise(2, n_queries=n_queries, n=1, epsilon=epsilon, delta=delta, noise=kind).deviation

    return min(kinds, key=deviation)
