"""The noise in the answers to several share queries of one round, computed without data.

>>> noise = share_noise(4, n_queries=10, n=1000, epsilon=1)
>>> round(1000 * noise.deviation), round(1000 * noise.bound.at(0.05))  # as numbers of records
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
from dplearn.privacy.base import NEIGHBORS
from dplearn.privacy.shares import gaussian_budget
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS, moved_counts
from dplearn.queries.bounds import TailBound, sampling_bound
from dplearn.queries.gaussian_noise import SumNoise

__all__ = ["SHARE_NOISES", "ShareNoise", "central_noise", "share_noise"]

#: The kinds of noise: central Laplace or Gaussian noise, and local randomised response.
SHARE_NOISES = ("laplace", "gaussian", "local")


@dataclass(frozen=True)
class ShareNoise:
    """The noise of released shares.

    Attributes
    ----------
    deviation : float
        Standard deviation of the noise in the share of a category without records.
    bound : TailBound
        A bound on the errors of all shares of one query: for "local", with respect to the records'
        distribution, so that sampling is included; else with respect to the records.
    """

    deviation: float
    bound: TailBound


def share_noise(
    categories: int,
    *,
    n_queries: int,
    n: int,
    epsilon: Any,
    delta: Any = 0,
    noise: str = "laplace",
    neighbors: str = "replace_one",
) -> ShareNoise:
    """Return the noise in one of several share queries, which use equal parts of a budget.

    Parameters
    ----------
    categories : int
        The number of categories of the query, at least 2.
    n_queries : int
        The number of queries of the round.
    n : int
        The number of records; with "local", each answers one query.
    epsilon, delta : number
        The cost of all answers together. "gaussian" needs a positive delta; the others do not use it.
    noise : {"laplace", "gaussian", "local"}, default="laplace"
        The kind of noise.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        With "add_remove" the noise of counts is divided by n, which may be a guess: the noise itself does not
        depend on it.

    Returns
    -------
    ShareNoise

    Raises
    ------
    TypeError, ValueError
        If a parameter is invalid, or there are fewer records than queries for "local".

    Notes
    -----
    A replaced record moves two counts by 1 each. "laplace" has a scale just above 2 n_queries / epsilon, and
    "gaussian" the variance n_queries / budget, where the budget is `gaussian_budget`, and a little more. An
    added record moves one count by 1: half of that scale, and half of that variance.
    "local" is randomised response, whose estimates are in a range of width 1 / (p - q), with p the
    probability of the true category and q that of each other one.
    """
    categories = check_count("categories", categories, low=2)
    n_queries, n = check_count("n_queries", n_queries, low=1), check_count("n", n, low=1)
    epsilon = check_number("epsilon", epsilon, above=0)
    unknown = check_choice("neighbors", neighbors, NEIGHBORS) == ADDED
    moved = moved_counts(neighbors)
    if check_choice("noise", noise, SHARE_NOISES) == "laplace":
        ratio = decay_ratio(epsilon / (moved * n_queries))
        below = float(1 - ratio)
        deviation = math.sqrt(2 * float(ratio)) / below
        return ShareNoise(deviation / n, TailBound(1 / decay_rate(ratio) / n, size=categories))
    if noise == "gaussian":
        budget = gaussian_budget(ApproxDP(epsilon, delta)) / n_queries
        deviation = SumNoise.of(moved, budget, MOST_RECORDS if unknown else n).deviation / n
        return ShareNoise(deviation, TailBound(root=math.sqrt(2) * deviation, size=categories))
    if n < n_queries:
        raise ValueError(f"n must leave a record for each of {n_queries} queries, got {n}")
    truth = truth_probability(categories, epsilon)
    other = (1 - truth) / (categories - 1)
    reach, count = 1 / float(truth - other), n // n_queries
    deviation = math.sqrt(float(other * (1 - other)) / count) * reach
    return ShareNoise(deviation, sampling_bound(reach, count, categories))


def central_noise(n_queries: int, *, epsilon: Any, delta: Any, neighbors: str = "replace_one") -> str:
    """Return "laplace" or "gaussian", the noise with the smaller variance; only the latter spends delta.

    Parameters
    ----------
    n_queries : int
        The number of share queries of the round.
    epsilon, delta : number
        The cost of all answers together.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        As for `share_noise`.
    """
    kinds = ["laplace"] if not check_number("delta", delta, low=0, below=1) else ["laplace", "gaussian"]

    def deviation(kind: str) -> float:
        how = {"epsilon": epsilon, "delta": delta, "noise": kind, "neighbors": neighbors}
        return share_noise(2, n_queries=n_queries, n=1, **how).deviation

    return min(kinds, key=deviation)
