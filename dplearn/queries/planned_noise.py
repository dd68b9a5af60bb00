"""The noise of an answer before it is asked for, from public numbers.

>>> from dplearn.queries import HistogramQuery
>>> query = HistogramQuery(len, categories=2)
>>> round(planned_deviation("laplace", ApproxDP(1), 1000, query, Fraction(1)), 5)
0.00283
"""

import math
from fractions import Fraction

from dplearn.privacy import ApproxDP
from dplearn.queries.noise import Noise
from dplearn.queries.query import StatisticalQuery
from dplearn.queries.randomizers import LocalRandomizer

__all__ = ["planned_deviation", "planned_reports"]


def planned_deviation(
    noise: str, privacy: ApproxDP, n_samples: int, query: StatisticalQuery, share: Fraction
) -> float:
    """Return the standard deviation of the noise in each number of an answer.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "local"}
        As for `oracle_for`; with "local", sampling noise is included.
    privacy : ApproxDP
        The cost of all answers, for replaced or for added records.
    n_samples : int
        The number of records; for added ones, any number, by which the noise of totals is divided.
    query : StatisticalQuery
        The query.
    share : Fraction
        The share of the budget for the query.
    """
    if noise == "local":
        randomizer, count = planned_reports(privacy, n_samples, query, share)
        return math.sqrt(randomizer.variance / count) * float(query.unit)
    return Noise.of(noise, privacy, n_samples).deviation(query, share) * float(query.unit) / n_samples


def planned_reports(
    privacy: ApproxDP, n_samples: int, query: StatisticalQuery, share: Fraction
) -> tuple[LocalRandomizer, int]:
    """Return the local randomiser of a query, and the number of records that answer it.

    Parameters
    ----------
    privacy, n_samples, query, share
        As for `planned_deviation`.
    """
    count = max(1, math.floor(share * n_samples))
    return query.randomizer(privacy.epsilon, "bit", count), count
