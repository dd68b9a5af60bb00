"""The noise of an answer before it is asked for, from public numbers.

>>> from dplearn.queries import HistogramQuery
>>> query = HistogramQuery(len, categories=2)
>>> round(planned_deviation("laplace", ApproxDP(1), 1000, query, Fraction(1)), 5)
0.00283
"""

import math
from fractions import Fraction

from dplearn.privacy import ApproxDP
from dplearn.privacy.shares import gaussian_budget
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS
from dplearn.queries.gaussian_noise import SumNoise
from dplearn.queries.query import StatisticalQuery
from dplearn.queries.randomizers import LocalRandomizer

__all__ = ["planned_deviation", "planned_reports"]

_FAR = 1 << 500  # above every useful standard deviation, and within the range of floats


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
    added = privacy.neighbors == ADDED
    if noise == "gaussian":
        most = (MOST_RECORDS if added else n_samples) * max(abs(query.low), abs(query.high))
        moved = query.added_squared_l2 if added else query.squared_l2
        drawn = SumNoise.of(moved, gaussian_budget(privacy) * share, most, query.size)
        return drawn.deviation * float(query.unit) / n_samples
    squared = 2 * ((query.added_l1 if added else query.l1) / (privacy.epsilon * share)) ** 2
    return math.sqrt(min(squared, Fraction(_FAR))) * float(query.unit) / n_samples


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
