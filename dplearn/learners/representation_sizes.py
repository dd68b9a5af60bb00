"""Sample sizes of a selection among concepts that are fixed by public rows, by public chance, or in advance.

A list of K concepts contains one of error at most kappa with probability at least 1 - miss, whatever the
private records are. Then the exponential mechanism and permute-and-flip, on the number of training errors,
select a concept of error above alpha with probability at most miss + K exp(-n rate), where the rate is
-ln(1 - d) and d the greatest value of (1 - s) (alpha - kappa) - kappa (1 - s)**2 / s for s from exp(-epsilon
/ 2) to 1.

Proof. Let c be the good concept, and r the ratio of the selection. A concept h is selected with probability
at most min(1, r**(errors of h - errors of c)), which is at most s**(the same difference) for all s from r to
1. On one record, let p be the probability that only h is wrong, and q that only c is: p - q is above alpha -
kappa, and q is at most kappa. The mean of s**(difference) for one record is 1 - (1 - s) (p - q) + q (1 -
s)**2 / s, which is at most 1 - d. The records are independent, so the mean for n of them is at most (1 -
d)**n. The sum over all concepts of error above alpha gives the bound.

The maximum is at s = max(r, sqrt(kappa / alpha)). If no concept of a class is good, let alpha be the excess
error over the best one of error b. Then q is at most (1 - alpha) / 2, since p + q is at most 1, and the bound
is the one above for the error (1 + alpha) / 2 and kappa = (1 - alpha) / 2, for every b.
"""

import math
import sys
from collections.abc import Callable
from typing import Any

from dplearn._validation import check_count, check_number
from dplearn.kernels.exact import selection_ratio
from dplearn.kernels.search import least

__all__ = [
    "dichotomy_sample_size",
    "growing_sample_size",
    "public_cut_sample_size",
    "public_sample_size",
    "representation_failure",
    "representation_sample_size",
    "sauer_bound",
]

_TINY = 1e-9  # the least alpha, beta and epsilon
_SHARES = [2.0 ** (-i / 4) for i in range(1, 81)]  # of beta, that a missing concept may take


def representation_failure(
    class_size: int,
    n_samples: int,
    *,
    epsilon: Any,
    alpha: Any,
    kappa: Any = 0,
    miss: Any = 0,
    agnostic: bool = False,
) -> float:
    """Return a bound on the probability that the selected concept has a greater error; it may exceed 1.

    Parameters
    ----------
    class_size, n_samples : int
        Number of concepts in the list, and of independent records.
    epsilon : number
        Positive.
    alpha : number
        The error, in (0, 1). With `agnostic`, the excess error over the best concept.
    kappa : number, default=0
        The error of a good concept of the list, at least 0 and below alpha. With `agnostic`, the share of
        records on which it differs from the best concept.
    miss : number, default=0
        The probability that the list lacks such a concept, in [0, 1).
    agnostic : bool, default=False
        False: `kappa` bounds the error of a good concept. True: the errors of all concepts may be greater.

    Returns
    -------
    float

    Notes
    -----
    **Source.** Beimel, Nissim and Stemmer (2013), as stated by Feldman and Xiao (2014), Theorem 6, for
    probabilistic representations; the constants are ours.

    Examples
    --------
    >>> from dplearn.theory import representation_failure
    >>> round(float(representation_failure(2**46, 852, epsilon=1.0, alpha=0.1)), 3)
    0.099
    """
    n = check_count("n_samples", n_samples)
    size = check_count("class_size", class_size, low=1)
    kappa, miss = _small("kappa", kappa), _small("miss", miss)
    rate, _ = _rate(_ratio(epsilon), _share("alpha", alpha), kappa, agnostic=agnostic)
    exponent = math.log(size) - n * rate
    return float(miss + (math.exp(exponent) if exponent < 700 else math.inf))


def representation_sample_size(
    class_size: int,
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    kappa: Any = 0,
    miss: Any = 0,
    agnostic: bool = False,
) -> int:
    """Return the least number of records for which `representation_failure` is at most beta.

    Parameters
    ----------
    class_size : int
        Number of concepts in the list.
    epsilon : number
        Positive.
    alpha : number
        The error, in (0, 1). With `agnostic`, the excess error over the best concept.
    beta : number
        Probability of failure, in (0, 1), and above `miss`.
    kappa : number, default=0
        The error of a good concept of the list, at least 0 and below alpha. With `agnostic`, the share of
        records on which it differs from the best concept.
    miss : number, default=0
        The probability that the list lacks such a concept, in [0, 1).
    agnostic : bool, default=False
        False: `kappa` bounds the error of a good concept. True: the errors of all concepts may be greater.

    Returns
    -------
    int
        With kappa = 0 about (ln(class_size) + ln(1 / beta)) / (alpha (1 - exp(-epsilon / 2))). With
        `agnostic` and a large epsilon, about 2 (ln(class_size) + ln(1 / beta)) / alpha**2.

    Examples
    --------
    >>> from dplearn.theory import representation_sample_size
    >>> representation_sample_size(2**46, epsilon=1.0, alpha=0.1, beta=0.1)
    852
    """
    size = check_count("class_size", class_size, low=1)
    kappa, miss, failure = _small("kappa", kappa), _small("miss", miss), _share("beta", beta)
    if miss >= failure:
        raise ValueError(f"miss must be below beta, {beta}, got {miss}")
    rate, _ = _rate(_ratio(epsilon), _share("alpha", alpha), kappa, agnostic=agnostic)
    return _least_size(size, rate, failure - miss)


def dichotomy_sample_size(
    n_columns: int, *, n_labels: int = 2, epsilon: Any, alpha: Any, beta: Any, agnostic: bool = False
) -> int:
    """Return the number of records from which on a selection among the stumps of their values is accurate.

    Parameters
    ----------
    n_columns : int
        Number of columns, of numbers with arbitrarily many values.
    n_labels : int, default=2
        Number of labels.
    epsilon : number
        Positive.
    alpha : number
        Target error, in (0, 1). With `agnostic`, the excess error over the best stump.
    beta : number
        Allowed probability of failure, in (0, 1).
    agnostic : bool, default=False
        False: some stump makes no error. True: the errors of all stumps may be greater than 0.

    Returns
    -------
    int

    Notes
    -----
    n records have at most n_columns n_labels (n_labels - 1) n + n_labels stumps with cuts at their values.
    The features are public, but random. Proof: as for `growing_sample_size`.

    Examples
    --------
    >>> from dplearn.theory import dichotomy_sample_size
    >>> dichotomy_sample_size(30, epsilon=1.0, alpha=0.1, beta=0.1)
    303
    """
    columns = check_count("n_columns", n_columns, low=1)
    pairs = check_count("n_labels", n_labels, low=1) * (n_labels - 1)
    return growing_sample_size(
        lambda n: columns * pairs * n + n_labels, epsilon=epsilon, alpha=alpha, beta=beta, agnostic=agnostic
    )


def growing_sample_size(
    size_of: Callable[[int], int],
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    agnostic: bool = False,
    n_determining: int = 1,
) -> int:
    """Return the number of records from which on a selection among concepts that they determine is accurate.

    Notes
    -----
    **Assumes.** The features of at most k records determine a concept. For any concept c of a class, the
    selection is among concepts of which one agrees with c on all records.

    Proof. The proof for a fixed list compares the errors of a concept h with those of c. If k records
    determine h, the other n - k records are independent of it, and each of the k contributes a factor of at
    most 1, or of 1/s if c may be wrong on it. So the probability of failure is at most K(n) (1 - d)**(n - k),
    or s**-k times that. Its logarithm is concave in n and above ln(beta) for k records, so once it is at most
    ln(beta) it stays there.
    """
    failure = _share("beta", beta)
    rate, s = _rate(_ratio(epsilon), _share("alpha", alpha), 0.0, agnostic=agnostic)
    lost = -n_determining * math.log(s) if agnostic else 0.0

    def suffices(n: int) -> bool:
        return math.log(size_of(n)) + lost - (n - n_determining) * rate <= math.log(failure)

    return least(suffices, n_determining)


def public_cut_sample_size(
    n_columns: int,
    n_rows: int,
    *,
    n_labels: int = 2,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    agnostic: bool = False,
) -> int:
    """Return the number of private records for a selection among the stumps with cuts at public values.

    Parameters
    ----------
    n_columns, n_rows : int
        Number of columns, and of public rows.
    n_labels : int, default=2
        Number of labels.
    epsilon : number
        Positive.
    alpha : number
        Target error, in (0, 1). With `agnostic`, the excess error over the best stump.
    beta : number
        Allowed probability of failure, in (0, 1).
    agnostic : bool, default=False
        False: some stump makes no error. True: the errors of all stumps may be greater than 0.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If there are too few public rows for any number of private records.

    Examples
    --------
    >>> from dplearn.theory import public_cut_sample_size
    >>> public_cut_sample_size(30, 500, epsilon=1.0, alpha=0.1, beta=0.1)
    366
    """
    columns, rows = check_count("n_columns", n_columns, low=1), check_count("n_rows", n_rows, low=1)
    pairs = check_count("n_labels", n_labels, low=1) * (n_labels - 1)
    found = public_sample_size(
        columns * pairs * rows + n_labels, rows, epsilon=epsilon, alpha=alpha, beta=beta, agnostic=agnostic
    )
    if found is None:
        least = -math.log(_share("beta", beta)) / _share("alpha", alpha)
        raise ValueError(
            f"n_rows must be above ln(1 / beta) / alpha, about {least:.0f}, got {n_rows}: with so few public"
            " rows no cut may be near the best one"
        )
    return found


def public_sample_size(
    class_size: int, n_rows: int, *, epsilon: Any, alpha: Any, beta: Any, agnostic: bool = False
) -> int | None:
    """Return the number of private records for a selection among stumps with cuts at public values, or None.

    Notes
    -----
    Proof. Let the best stump cut a column at t, and kappa = 1 - miss**(1 / n_rows). The stump that cuts at
    the greatest public value up to t, or has the constant label of greater values if there is none, differs
    from the best one at values above that cut and up to t. If their probability is above kappa, then no
    public value is in a set of probability kappa or more, the values from some value up to t, which happens
    with probability at most (1 - kappa)**n_rows = miss. The stump of a value that no public row has is
    replaced by a constant, and differs with the probability of this value, to which the same bound applies.
    The returned size is the least one for a grid of miss.
    """
    ratio, error, failure = _ratio(epsilon), _share("alpha", alpha), _share("beta", beta)
    sizes = []
    for share in _SHARES:
        miss = failure * share
        kappa = -math.expm1(math.log(miss) / n_rows)
        if kappa < error:
            rate, _ = _rate(ratio, error, kappa, agnostic=agnostic)
            sizes.append(_least_size(class_size, rate, failure - miss))
    return min(sizes, default=None)


def sauer_bound(vc_dimension: int, n_points: int) -> int:
    """Return the greatest number of labellings of points by a class of two labels and a VC dimension.

    Parameters
    ----------
    vc_dimension : int
        At least 0.
    n_points : int
        Number of distinct points, such as all of a finite domain.

    Returns
    -------
    int
        The number of sets of at most `vc_dimension` points.

    Notes
    -----
    `representation_sample_size(sauer_bound(v, n), ...)` is the sample size of Corollary 3.6 of
    Kasiviswanathan and others (2011), with constants.

    Examples
    --------
    >>> from dplearn.theory import sauer_bound
    >>> sauer_bound(1, 1000), sauer_bound(2, 2**20)
    (1001, 549756338177)
    """
    points = check_count("n_points", n_points)
    dimension = check_count("vc_dimension", vc_dimension)
    return sum(math.comb(points, size) for size in range(min(dimension, points) + 1))


def _least_size(class_size: int, rate: float, failure: float) -> int:
    """Return the least n >= 1 with class_size exp(-n rate) <= failure."""
    return max(1, math.ceil((math.log(class_size) - math.log(failure)) / rate))


def _rate(ratio: float, alpha: float, kappa: float, *, agnostic: bool) -> tuple[float, float]:
    """Return the rate at which the probability of failure decreases, and the base s of its proof."""
    if kappa >= alpha:
        raise ValueError(f"kappa must be below alpha, {alpha}, got {kappa}")
    if agnostic:
        excess = alpha - kappa
        alpha, kappa = (1 + excess) / 2, (1 - excess) / 2
    s = max(ratio, math.sqrt(kappa / alpha))
    fall = (1 - s) * (alpha - kappa) - kappa * (1 - s) ** 2 / s
    return -math.log1p(-fall), s


def _ratio(epsilon: Any) -> float:
    """Return the ratio of the selection, just above exp(-epsilon / 2)."""
    budget = check_number("epsilon", check_number("epsilon", epsilon, above=0), low=_TINY)
    return max(sys.float_info.min, float(selection_ratio(budget)))


def _share(name: str, value: Any) -> float:
    return float(check_number(name, value, low=_TINY, below=1))


def _small(name: str, value: Any) -> float:
    return float(check_number(name, value, low=0, below=1))
