"""How many records it takes to learn a conjunction by statistical queries, all asked in one round.

For each column the shares of the records with the label that is sought, the positive ones, are asked for by
value. A value with a share of at most a bar is held to break the conjunction.

>>> conjunction_query_sample_size([2] * 10, epsilon=1, alpha=0.1, beta=0.05)
46984
>>> conjunction_query_sample_size([2] * 10, epsilon=1, alpha=0.1, beta=0.05, model="local")
11737310
>>> round(conjunction_error([2] * 10, n=100_000, epsilon=1, alpha=0.1, beta=0.05), 3)
0.076
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dplearn._validation import check_count, check_number
from dplearn._writing import brief
from dplearn.theory.queries import TailBound
from dplearn.theory.search import first
from dplearn.theory.share_queries import share_noise

__all__ = ["conjunction_bar", "conjunction_error", "conjunction_query_sample_size", "literals_kept"]

_MOST = 1 << 62


def literals_kept(sizes: Sequence[int]) -> int:
    """Return how many values are broken by a conjunction that some record satisfies, at most.

    Of each column at least one is not; if no value of some column is left, only the values of that column
    count, for they are those of all positive records.

    Parameters
    ----------
    sizes : sequence of int
        How many values each column has.
    """
    return max(sum(sizes) - len(sizes), max(sizes))


def conjunction_bar(sizes: Sequence[int], noise: TailBound, *, alpha: float, beta: float) -> float:
    """Return the greatest share of positive records with a value that is held to break the conjunction.

    Parameters
    ----------
    sizes : sequence of int
        How many values each column has.
    noise : TailBound
        Of the answer about the column.
    alpha, beta : float
        Error that is wanted, and probability of failure.

    Returns
    -------
    float
        What the noise stays below with all answers, at beta / 2 together; alpha / 2 over the number of
        literals, if that is more. But 1 / 2 over their number at most: where the noise may be more,
        `conjunction_error` promises nothing, and a lower bar learns something more often.
    """
    half = 1 / (2 * literals_kept(sizes))
    return min(half, max(_tolerance(noise, len(sizes), beta), alpha * half))


def conjunction_error(
    sizes: Sequence[int],
    n: int,
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    delta: Any = 0,
    model: str = "laplace",
) -> float:
    """Return the error that a learned conjunction keeps to, if records are labelled by one.

    Parameters
    ----------
    sizes : sequence of int
        How many values each column has.
    n : int
        Number of records, independent draws of a distribution.
    epsilon, delta : number
        What the fit spends.
    alpha, beta : float
        Error that is wanted, which settles the bars, and probability of failure; both in (0, 1).
    model : {"laplace", "gaussian", "local"}, default="laplace"
        Where the noise comes from; see `share_noise`.

    Returns
    -------
    float
        At most 1. With probability at least 1 - beta the error on the distribution is no more.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described, or a query is left without a record.

    Notes
    -----
    **Accuracy.** Let no answer be off by more than its tolerance t, with a bar b >= t. A value that the true
    conjunction excludes is in no positive record, its answer is at most t, and it is excluded: so whatever is
    predicted positive is. A value that is excluded was answered at most b, so that at most b + t of the
    records are positive and have it. With "local" this is the share in the distribution, x. Else it is that
    in the sample, where a value of share x has at most x - sqrt(2 x L / n), L = ln(2 C / beta), with
    probability at most beta / (2 C), by Chernoff's bound; of all C values none that is excluded has a share x
    beyond the root of x - sqrt(2 x L / n) = b + t. What is wrongly predicted negative has an excluded value:
    the error is at most the sum of x over these, of which `literals_kept` tells how many matter.

    **Source.** Kearns (1998) learns conjunctions by statistical queries; the constants are ours.
    """
    alpha, beta = _checked(alpha, beta)
    worst = 0.0
    for size in set(_checked_sizes(sizes)):
        noise = share_noise(
            size + 1, n_queries=len(sizes), n=n, epsilon=epsilon, delta=delta, model=model
        ).bound
        bar = conjunction_bar(sizes, noise, alpha=alpha, beta=beta)
        tolerance = _tolerance(noise, len(sizes), beta)
        if tolerance > bar:  # then literals_kept(sizes) * 2 * tolerance > 1
            return 1.0
        log = 0.0 if model == "local" else math.log(2 * sum(sizes) / beta)
        # The root in sqrt(x) of x - sqrt(2 log / n) sqrt(x) - bar - tolerance.
        half = math.sqrt(log / (2 * n))
        worst = max(worst, (half + math.sqrt(half**2 + bar + tolerance)) ** 2)
    return min(1.0, literals_kept(sizes) * worst)


def conjunction_query_sample_size(
    sizes: Sequence[int],
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    delta: Any = 0,
    model: str = "laplace",
) -> int:
    """Return from how many records on `conjunction_error` is at most alpha.

    Parameters
    ----------
    sizes, epsilon, alpha, beta, delta, model
        As for `conjunction_error`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    """
    wanted, failure = _checked(alpha, beta)
    spent = check_number("epsilon", epsilon, above=0), check_number("delta", delta, low=0, below=1)
    return _least_size(tuple(_checked_sizes(sizes)), *spent, wanted, failure, model)


@lru_cache(maxsize=64)
def _least_size(
    sizes: tuple[int, ...], epsilon: Fraction, delta: Fraction, alpha: float, beta: float, model: str
) -> int:
    asked = {"epsilon": epsilon, "delta": delta, "alpha": alpha, "beta": beta}
    return first(lambda n: conjunction_error(sizes, n, **asked, model=model) <= alpha, len(sizes), _MOST)


def _tolerance(noise: TailBound, n_queries: int, beta: float) -> float:
    """Return what the noise of one answer stays below, with all answers so except for beta / 2."""
    return noise.at(beta / (2 * n_queries))


def _checked(alpha: Any, beta: Any) -> tuple[float, float]:
    return (
        float(check_number("alpha", alpha, above=0, below=1)),
        float(check_number("beta", beta, above=0, below=1)),
    )


def _checked_sizes(sizes: Sequence[int]) -> list[int]:
    checked = [check_count("sizes", size, low=1) for size in sizes]
    if not checked:
        raise ValueError(f"sizes must hold at least one number, got {brief(sizes)}")
    return checked
