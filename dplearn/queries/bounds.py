"""How far off the answers to statistical queries may be, and how many records keep a tolerance.

>>> bound = TailBound(root=0.01)  # off by more than 0.01 sqrt(ln(2 / beta)) with probability beta at most
>>> round(bound.at(0.05), 4)
0.0192
>>> query_sample_size(tolerance=0.1, beta=0.05, epsilon=1)
3455
>>> query_sample_size(tolerance=0.1, beta=0.05, epsilon=1, trust_model="central")
1045
>>> query_sample_size(tolerance=0.1, beta=0.05, epsilon=1, queries=10)
56120
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dplearn._validation import check_choice, check_count, check_number
from dplearn.core.exact import decay_rate, decay_ratio
from dplearn.core.search import first
from dplearn.mechanisms.randomized_response import truth_probability

__all__ = ["QUERY_MODELS", "TailBound", "query_sample_size", "sampling_bound"]

_MOST = 1 << 62

#: Who is trusted with the records: one who asks all of them, or nobody.
QUERY_MODELS = ("central", "local")


@dataclass(frozen=True)
class TailBound:
    """A bound on how far k numbers are off: bias + linear * L + root * sqrt(L), L = ln(2 k / beta).

    Attributes
    ----------
    linear : float, default=0.0
        As for Laplace noise of this scale.
    root : float, default=0.0
        As for Gaussian noise of this standard deviation times sqrt(2), or a mean of bounded numbers.
    size : int, default=1
        How many numbers k.
    bias : float, default=0.0
        By how much the expected value of each number may be off, whatever the records.
    """

    linear: float = 0.0
    root: float = 0.0
    size: int = 1
    bias: float = 0.0

    def at(self, beta: Any) -> float:
        """Return what no number is off by more than, with probability at least 1 - beta."""
        log = math.log(2 * self.size / float(check_number("beta", beta, above=0, below=1)))
        return self.bias + self.linear * log + self.root * math.sqrt(log)

    def times(self, factor: float) -> "TailBound":
        """Return the bound of numbers `factor` times as large."""
        return replace(self, **{name: factor * getattr(self, name) for name in ("linear", "root", "bias")})


def sampling_bound(width: float, n: int, size: int = 1) -> TailBound:
    """Return by how much means of n independent numbers within a range may differ from what is expected.

    Parameters
    ----------
    width : float
        Of the range.
    n : int
        At least 1.
    size : int, default=1
        How many means.

    Notes
    -----
    **Source.** Hoeffding (1963): P[off by t or more] <= 2 exp(-2 n t**2 / width**2).
    """
    return TailBound(root=width / math.sqrt(2 * n), size=size)


def query_sample_size(
    *,
    tolerance: Any,
    beta: Any,
    epsilon: Any,
    queries: int = 1,
    width: Any = 2,
    trust_model: str = "local",
) -> int:
    """Return how many records suffice to answer statistical queries about the distribution they come from.

    Parameters
    ----------
    tolerance : float
        By how much an answer may be off; positive.
    beta : float
        Probability with which some answer may be off by more, in (0, 1).
    epsilon : float
        Positive; delta is 0.
    queries : int, default=1
        How many are asked, one after the other if need be, all of the same tolerance.
    width : float, default=2
        Of the range of a query's values: 2 b for -b..b.
    trust_model : {"local", "central"}, default="local"
        "local": each record answers one query, by a bit. "central": all records answer all queries, whose
        means get Laplace noise.

    Returns
    -------
    int

    Notes
    -----
    **Accuracy.** "local", for one query: a report estimates the record's value without bias, within a range
    of width W = width / (2 p - 1), p = 1 / (1 + exp(-epsilon)), so that Hoeffding's inequality gives
    n = W**2 ln(2 / beta) / (2 tolerance**2). Queries are asked of separate records, at beta / queries each.
    "central": the sampling error and that of the noise, at half of beta each, must sum to `tolerance`.

    **Source.** Kasiviswanathan et al. (2011), Lemma 5.6 and Theorem 5.7, with constants; there each record
    adds Laplace noise, and n is of order t ln(t / beta) b**2 / (epsilon**2 tolerance**2).
    """
    tolerance = float(check_number("tolerance", tolerance, above=0))
    beta = check_number("beta", beta, above=0, below=1) / check_count("queries", queries, low=1)
    epsilon = check_number("epsilon", epsilon, above=0)
    width = float(check_number("width", width, above=0))
    if check_choice("trust_model", trust_model, QUERY_MODELS) == "local":
        reach = width / float(2 * truth_probability(2, epsilon) - 1)
        return queries * _least(lambda n: sampling_bound(reach, n).at(beta), tolerance)
    scale = width / decay_rate(decay_ratio(epsilon / queries))

    def off(n: int) -> float:
        return sampling_bound(width, n).at(beta / 2) + TailBound(linear=scale / n).at(beta / 2)

    return _least(off, tolerance)


def _least(off: Callable[[int], float], tolerance: float) -> int:
    """Return the least number of records with which they are off by no more than the tolerance."""
    return first(lambda n: off(n) <= tolerance, 1, _MOST)
