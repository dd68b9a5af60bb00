"""Error bounds for answers to statistical queries, and the number of records needed for a tolerance.

>>> bound = TailBound(root=0.01)  # an error above 0.01 sqrt(ln(2 / beta)) has probability at most beta
>>> round(bound.at(0.05), 4)
0.0192
>>> query_sample_size(tolerance=0.1, beta=0.05, epsilon=1, queries=10)
56120
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_choice, check_count, check_number
from dplearn.kernels.exact import decay_rate, decay_ratio
from dplearn.kernels.grouping import near_integers
from dplearn.kernels.search import first
from dplearn.mechanisms.randomized_response import truth_probability

_MOST = 1 << 62

#: The trust models: a trusted curator holds all records, or each record is randomised locally.
QUERY_MODELS = ("central", "local")


@dataclass(frozen=True)
class TailBound:
    """A bound on the errors of k numbers: bias + linear * L + root * sqrt(L) with L = ln(2 k / beta).

    Attributes
    ----------
    linear : float, default=0.0
        The coefficient of L: for Laplace noise, its scale.
    root : float, default=0.0
        The coefficient of sqrt(L): for Gaussian noise, sqrt(2) times its standard deviation; also for means
        of bounded numbers (see `sampling_bound`).
    size : int, default=1
        The number k of numbers.
    bias : float, default=0.0
        A bound on the bias of each number, for all records.
    """

    linear: float = 0.0
    root: float = 0.0
    size: int = 1
    bias: float = 0.0

    def at(self, beta: Any) -> float:
        """Return the bound that the errors of all numbers keep with probability at least 1 - beta."""
        log = math.log(2 * self.size / float(check_number("beta", beta, above=0, below=1)))
        return self.bias + self.linear * log + self.root * math.sqrt(log)

    def times(self, factor: float) -> "TailBound":
        """Return the bound for the numbers multiplied by `factor`."""
        return replace(self, **{name: factor * getattr(self, name) for name in ("linear", "root", "bias")})


def sampling_bound(width: float, n: int, size: int = 1) -> TailBound:
    """Return a bound on the deviation of means of n independent bounded numbers from their expectations.

    Parameters
    ----------
    width : float
        Width of the range of the numbers.
    n : int
        How many numbers each mean is over, at least 1.
    size : int, default=1
        The number of means.

    Returns
    -------
    TailBound

    Notes
    -----
    **Source.** Hoeffding (1963): P[deviation of t or more] <= 2 exp(-2 n t**2 / width**2).

    Examples
    --------
    >>> from dplearn.theory import sampling_bound
    >>> round(sampling_bound(1, 1000).at(0.05), 4)
    0.0429
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
    """Return the number of records that suffice to answer statistical queries about their distribution.

    Parameters
    ----------
    tolerance : float
        The greatest error of an answer; positive.
    beta : float
        The probability that the error of some answer exceeds `tolerance`, in (0, 1).
    epsilon : float
        The privacy parameter, positive; delta is 0.
    queries : int, default=1
        The number of queries, all of the same tolerance; they may be adaptive.
    width : float, default=2
        The width of the range of a query's values: 2 b for -b..b.
    trust_model : {"local", "central"}, default="local"
        "local": each record reports one randomised bit for one query. "central": every answer is a mean over
        all records with Laplace noise.

    Returns
    -------
    int
        The least sufficient number of records.

    Notes
    -----
    **Accuracy.** "local", for one query: a report is an unbiased estimate of the record's value in a range of
    width W = width / (2 p - 1), p = 1 / (1 + exp(-epsilon)), so Hoeffding's inequality gives
    n = W**2 ln(2 / beta) / (2 tolerance**2). Queries use disjoint sets of records, at beta / queries each.
    "central": the bounds on the sampling error and on the noise, at half of beta each, must sum to at most
    `tolerance`.

    **Source.** Kasiviswanathan et al. (2011), Lemma 5.6 and Theorem 5.7, with constants; there each record
    adds Laplace noise, and n is of order t ln(t / beta) b**2 / (epsilon**2 tolerance**2).

    Examples
    --------
    >>> from dplearn.theory import query_sample_size
    >>> query_sample_size(tolerance=0.1, beta=0.05, epsilon=1)
    3455
    >>> query_sample_size(tolerance=0.1, beta=0.05, epsilon=1, trust_model="central")
    1045
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
    """Return the least number of records for which the error bound is at most the tolerance."""
    return first(lambda n: off(n) <= tolerance, 1, _MOST)


def estimated_frequencies(reports: Any, n_values: int, *, epsilon: Any) -> NDArray[np.float64]:
    """Return unbiased estimates of the frequencies of values before randomised response, at no privacy cost.

    Parameters
    ----------
    reports : array-like of int of shape (n,)
        The output of `randomized_response`.
    n_values : int
        As for `randomized_response`.
    epsilon : number
        As for `randomized_response`.

    Returns
    -------
    ndarray of float64 of shape (n_values,)
        Sums to 1; some may be below 0 or above 1, as unbiased estimates must.

    Raises
    ------
    TypeError, ValueError
        If `reports` are not such numbers, or none.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import randomized_response
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import estimated_frequencies
    >>> truth = np.repeat([0, 1, 2], [600, 300, 100])
    >>> reports = randomized_response(truth, 3, privacy=ApproxDP(2), dice=SeededDice(0))
    >>> estimated_frequencies(reports, 3, epsilon=2).round(2).tolist()
    [0.62, 0.3, 0.08]
    >>> estimated_frequencies([0, 0, 0, 1], 2, epsilon=3).round(3).tolist()
    [0.776, 0.224]
    """
    n_values = check_count("n_values", n_values, low=2, high=1 << 31)
    p = truth_probability(n_values, epsilon)
    q = (1 - p) / (n_values - 1)
    codes = near_integers("reports", reports, -1, n_values)
    if not codes.size or codes.min() < 0 or codes.max() >= n_values:
        raise ValueError(
            f"reports must hold at least one number, all from 0 to n_values - 1 = {n_values - 1}"
        )
    counts = np.bincount(codes, minlength=n_values)
    return np.asarray((counts / counts.sum() - float(q)) / float(p - q), dtype=np.float64)
