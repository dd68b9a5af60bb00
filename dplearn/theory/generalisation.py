"""Generalisation bounds: the number of records with which a small empirical error implies a small true
error.
"""

import math
from typing import Any

from dplearn._validation import check_count, check_number
from dplearn.core.search import least

__all__ = ["generalisation_failure", "generalisation_sample_size"]

_TINY = 1e-9


def generalisation_failure(
    vc_dimension: int, n_samples: int, *, alpha: Any, empirical_alpha: Any = 0
) -> float:
    """Return a bound on the probability that some hypothesis has a small empirical and a large true error.

    Parameters
    ----------
    vc_dimension : int
        VC dimension of the hypotheses, at least 0.
    n_samples : int
        Number n of records: independent draws, labelled by one arbitrary function.
    alpha : number
        True error, in (0, 1).
    empirical_alpha : number, default=0
        Empirical error, as a share of the records, at least 0 and below alpha.

    Returns
    -------
    float
        4 S exp(-n (alpha - empirical_alpha)**2 / (2 (alpha + empirical_alpha))), where S, the number of ways
        in which the hypotheses can label 2 n records, is at most the sum of C(2 n, i) over
        i <= vc_dimension. It may exceed 1.

    Notes
    -----
    With probability at least 1 - failure every hypothesis with a true error above alpha has an empirical
    error above empirical_alpha. So an algorithm that has, for all records, an empirical error of at most
    empirical_alpha with probability 1 - b has a true error of at most alpha with probability 1 - b - failure.

    Proof. Let s be empirical_alpha, and n alpha > 1 (else the bound exceeds 1). Draw n further records. A
    hypothesis with a true error p > alpha makes at least n p errors on these with probability above 1/4,
    since any Binomial(n, p) variable with p > 1/n is at least its mean with that probability (Greenberg and
    Mohri, 2014). So if some hypothesis fails, that is, has p > alpha and at most n s errors on the first n
    records, then with probability above 1/4 some hypothesis has k <= n s errors on the first n and
    j >= n alpha on the second n records. The failure probability is at most four times the probability of
    this event. A random permutation of all 2 n records does not change that probability. Fix one of the S
    labellings, and let K be the number of its errors on the 2 n records. In the random order its errors on
    the first n records are a sample without replacement, in which each of the K errors is included with
    probability 1/2: P[k <= K / 2 - t] <= exp(-2 t**2 / K) (Hoeffding, 1963, Theorems 1 and 4). Since k <= n s
    and K - k >= n alpha, t can be K / 2 - n s, and it can be n alpha - K / 2. For K >= n (alpha + s) the
    first of these, divided by sqrt(K), increases with K; for smaller K the second, divided by sqrt(K),
    decreases with K. So the greater t**2 / K is at least its value at K = n (alpha + s), which is
    n (alpha - s)**2 / (4 (alpha + s)). The sum over the S labellings gives the bound.

    **Source.** Vapnik and Chervonenkis (1971), symmetrisation; S: Sauer (1972). Vapnik's bound on
    (error - share) / sqrt(error) with the constants of Anthony and Shawe-Taylor (1993) gives
    4 S exp(-n (alpha - s)**2 / (4 alpha)), which is weaker, since alpha + s is less than 2 alpha. Bun,
    Nissim, Stemmer and Vadhan (2015), Lemma 5.8, is a bound for thresholds.

    Examples
    --------
    >>> from dplearn.theory import generalisation_failure
    >>> round(float(generalisation_failure(1, 1486, alpha=0.1, empirical_alpha=0.05)), 4)
    0.0498
    """
    d, n = check_count("vc_dimension", vc_dimension), check_count("n_samples", n_samples)
    exponent = _log_failure(d, n, _rate(alpha, empirical_alpha))
    return math.exp(exponent) if exponent < 700 else math.inf


def generalisation_sample_size(vc_dimension: int, *, alpha: Any, empirical_alpha: Any = 0, beta: Any) -> int:
    """Return the number of records from which on `generalisation_failure` is at most beta.

    Parameters
    ----------
    vc_dimension : int
        VC dimension of the hypotheses, at least 0.
    alpha : number
        True error, in (0, 1).
    empirical_alpha : number, default=0
        Empirical error, as a share of the records, at least 0 and below alpha.
    beta : number
        Probability of failure, in (0, 1).

    Returns
    -------
    int

    Examples
    --------
    >>> from dplearn.theory import generalisation_sample_size
    >>> generalisation_sample_size(1, alpha=0.1, empirical_alpha=0.05, beta=0.05)
    1486
    """
    d, rate = check_count("vc_dimension", vc_dimension), _rate(alpha, empirical_alpha)
    wanted = math.log(float(check_number("beta", beta, low=_TINY, below=1)))

    def suffices(n: int) -> bool:
        return _log_failure(d, n, rate) <= wanted

    low = math.ceil(d / rate)  # from here on the bound decreases: ln S grows by at most d / n per record
    return least(suffices, low)


def _rate(alpha: Any, empirical_alpha: Any) -> float:
    """Return the decrease of the logarithm of the failure per record."""
    large = float(check_number("alpha", alpha, low=_TINY, below=1))
    seen = float(check_number("empirical_alpha", empirical_alpha, low=0, below=check_number("alpha", alpha)))
    return (large - seen) ** 2 / (2 * (large + seen))


def _log_failure(d: int, n: int, rate: float) -> float:
    ways = sum(math.comb(2 * n, i) for i in range(d + 1))
    return math.log(4) + math.log(ways) - n * rate
