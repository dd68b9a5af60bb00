"""An empirical learner is a PAC learner: how many records it takes till few errors on them mean few at large.

>>> generalisation_sample_size(1, alpha=0.1, empirical_alpha=0.05, beta=0.05)
1486
"""

import math
from typing import Any

from dplearn._validation import check_count, check_number
from dplearn.core.search import first

__all__ = ["generalisation_failure", "generalisation_sample_size"]

_TINY = 1e-9


def generalisation_failure(
    vc_dimension: int, n_samples: int, *, alpha: Any, empirical_alpha: Any = 0
) -> float:
    """Return a bound on the probability that some hypothesis is good on the records and bad at large.

    Parameters
    ----------
    vc_dimension : int
        Of the hypotheses, at least 0.
    n_samples : int
        Number of records, independent and labelled by any one function.
    alpha : number
        Error at large, in (0, 1).
    empirical_alpha : number, default=0
        Share of records that are got wrong, at least 0 and below alpha.

    Returns
    -------
    float
        4 S exp(-n (alpha - empirical_alpha)**2 / (2 (alpha + empirical_alpha))), S the number of ways in
        which the hypotheses can label 2 n records, at most the sum of C(2 n, i) over i <= vc_dimension. It
        may exceed 1.

    Notes
    -----
    With probability at least 1 - failure every hypothesis whose error at large exceeds alpha gets more than
    the share empirical_alpha of the records wrong. So an algorithm that gets at most that share wrong with
    probability 1 - b, whatever the records, is wrong at large by at most alpha with probability
    1 - b - failure.

    Proof. Let s be the share, n alpha > 1 (else the bound exceeds 1), and draw n records more. A hypothesis
    whose error p at large exceeds alpha gets n p or more of these wrong with probability above 1/4, as any
    Binomial(n, p) with p > 1/n reaches its mean (Greenberg and Mohri, 2014). So if one is bad, one that gets
    at most n s of the first n wrong, then with probability above 1/4 some gets k <= n s of the first and
    j >= n alpha of the second n wrong; the failure is at most four times the probability of this. Put all
    2 n records into random order, which changes nothing, and fix which K of them one of the S labellings gets
    wrong. Of these each is as probably among the first n as among the second, and drawn without replacement:
    P[k <= K / 2 - t] <= exp(-2 t**2 / K) (Hoeffding, 1963, Theorems 1 and 4). As k <= n s and
    K - k >= n alpha, t is at least K / 2 - n s and at least n alpha - K / 2. Where K >= n (alpha + s), the
    first of these divided by sqrt(K) rises with K; where K is less, the second falls. So t**2 / K is at least
    what it is where they meet, n (alpha - s)**2 / (4 (alpha + s)). Add up the S labellings.

    **Source.** Vapnik and Chervonenkis (1971), symmetrisation; S: Sauer (1972). Weaker as alpha + s is less
    than 2 alpha: 4 S exp(-n (alpha - s)**2 / (4 alpha)), from Vapnik's bound on (error - share) / sqrt(error)
    with the constants of Anthony and Shawe-Taylor (1993). Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.8,
    do it for thresholds.
    """
    d, n = check_count("vc_dimension", vc_dimension), check_count("n_samples", n_samples)
    exponent = _log_failure(d, n, _rate(alpha, empirical_alpha))
    return math.exp(exponent) if exponent < 700 else math.inf


def generalisation_sample_size(vc_dimension: int, *, alpha: Any, empirical_alpha: Any = 0, beta: Any) -> int:
    """Return from how many records on `generalisation_failure` is at most beta.

    Parameters
    ----------
    vc_dimension, alpha, empirical_alpha
        As for `generalisation_failure`.
    beta : number
        In (0, 1).
    """
    d, rate = check_count("vc_dimension", vc_dimension), _rate(alpha, empirical_alpha)
    wanted = math.log(float(check_number("beta", beta, low=_TINY, below=1)))

    def suffices(n: int) -> bool:
        return _log_failure(d, n, rate) <= wanted

    low = math.ceil(d / rate)  # from there on the bound falls: ln S grows by at most d / n a record
    enough = max(1, low)
    while not suffices(enough):
        enough *= 2
    return first(suffices, low, enough)


def _rate(alpha: Any, empirical_alpha: Any) -> float:
    """Return how much a record takes from the logarithm of the failure."""
    large = float(check_number("alpha", alpha, low=_TINY, below=1))
    seen = float(check_number("empirical_alpha", empirical_alpha, low=0, below=check_number("alpha", alpha)))
    return (large - seen) ** 2 / (2 * (large + seen))


def _log_failure(d: int, n: int, rate: float) -> float:
    ways = sum(math.comb(2 * n, i) for i in range(d + 1))
    return math.log(4) + math.log(ways) - n * rate
