"""Numbers of records for generalisation from a small empirical error, and for small databases of answers."""

import math
from dataclasses import dataclass
from typing import Any

from dplearn._validation import check_count, check_number
from dplearn.kernels.exact import decay_ratio
from dplearn.kernels.search import least
from dplearn.privacy import ApproxDP
from dplearn.privacy.shares import concentrated_budget

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


@dataclass(frozen=True)
class SmallDatabaseSizes:
    """The sizes of a small database.

    Attributes
    ----------
    n_samples : int
        The number of private records that it needs.
    n_rows : int
        The number of its own records.
    """

    n_samples: int
    n_rows: int


def small_database_sizes(
    domain_size: int, n_queries: int, *, epsilon: Any, alpha: Any, beta: Any
) -> SmallDatabaseSizes:
    """Return the least sizes proved for a small database all of whose answers have an error of at most alpha.

    Parameters
    ----------
    domain_size : int
        Number of values of a record, at least 2.
    n_queries : int
        Number of queries, at least 1. The answer to a query is the share of the records with a property.
    epsilon : number
        Positive.
    alpha : number
        Error of an answer, in (0, 1).
    beta : number
        Probability that some answer has a greater error, in (0, 1).

    Returns
    -------
    SmallDatabaseSizes
        Its `n_rows` is the number of rows for which the number of private records is least.

    Notes
    -----
    Proof. The candidates are the C(d + m - 1, m) multisets of m values of a domain of d values; their
    qualities are minus the greatest magnitude of n c(D') - m c(D) over the queries c
    (`dplearn.audit.cases.small_database`). Draw m of the n private records. With probability at most 2 Q
    exp(-2 m a**2), some of the Q answers moves by more than a
    (Hoeffding's inequality, and the union over the queries). If this is below 1, some candidate has no error
    above a, so the best quality is at least -n m a. With probability at least 1 - beta, the exponential
    mechanism with sensitivity m selects a candidate whose quality is below the best by at most
    2 m (ln C + ln(1/beta)) / epsilon. Its errors are at most alpha if, for some a above
    sqrt(ln(2 Q) / (2 m)), n is at least 2 (ln C + ln(1/beta)) / (epsilon (alpha - a)). The bound is computed
    for each m up to the first whose ln C exceeds the least bound even for a = 0.

    **Source.** Blum, Ligett and Roth (2008); Bun, Nissim and Stemmer (2016), Theorem 2.18.

    Examples
    --------
    >>> from dplearn.theory import small_database_sizes
    >>> small_database_sizes(2**4, 24, epsilon=1.0, alpha=0.1, beta=0.05)  # all two-way tables of four bits
    SmallDatabaseSizes(n_samples=2551, n_rows=3514)
    """
    size = check_count("domain_size", domain_size, low=2)
    spread = (math.log(2) + math.log(check_count("n_queries", n_queries, low=1))) / 2
    privacy, wanted, failure = _numbers(epsilon, alpha, beta)
    m, candidates, best = 0, -math.log(failure), (math.inf, 0)
    while 2 * candidates < best[0] * privacy * wanted:
        m += 1
        candidates += math.log(size + m - 1) - math.log(m)  # C(|X| + m - 1, m) from C(|X| + m - 2, m - 1)
        slack = wanted - math.sqrt(spread / m)
        if slack > 0:
            best = min(best, (2 * candidates / (privacy * slack), m))
    return SmallDatabaseSizes(math.floor(best[0]) + 1, best[1])


def noisy_counts_sample_size(
    n_counts: int, *, n_moved: int, epsilon: Any, delta: Any = 0, alpha: Any, beta: Any
) -> int:
    """Return a number of records from which on all noisy counts have an error of at most alpha n.

    Parameters
    ----------
    n_counts : int
        Number of counts, at least 1.
    n_moved : int
        The most counts that a replaced record moves, by 1 each; at least 1.
    epsilon : number
        Positive; the cost of all counts together.
    delta : number, default=0
        0: discrete Laplace noise (`laplace_counts`). Positive: discrete Gaussian noise (`gaussian_counts`).
    alpha, beta : number
        As for `small_database_sizes`.

    Returns
    -------
    int

    Notes
    -----
    Proof. An error above alpha n is one of at least t + 1, t the integer part of alpha n. Laplace noise of
    ratio r reaches this with probability 2 r**(t + 1) / (1 + r), Gaussian noise of variance n_moved / (2 rho)
    with probability at most 2 exp(-(t + 1)**2 rho / n_moved) (Canonne, Kamath and Steinke, 2020). The sum of
    this over the counts is at most beta.

    Examples
    --------
    >>> from dplearn.theory import noisy_counts_sample_size
    >>> noisy_counts_sample_size(24, n_moved=12, epsilon=1.0, alpha=0.1, beta=0.05)
    740
    >>> noisy_counts_sample_size(24, n_moved=12, epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.05)
    580
    """
    counts = check_count("n_counts", n_counts, low=1)
    moved = check_count("n_moved", n_moved, low=1)
    _, wanted, failure = _numbers(epsilon, alpha, beta)
    budget = ApproxDP(check_number("epsilon", epsilon, above=0), delta)
    odds = math.log(2) + math.log(counts) - math.log(failure)
    if budget.delta:
        reached = math.sqrt(odds * moved / float(concentrated_budget(budget)))
    else:
        ratio = float(decay_ratio(budget.epsilon / moved))
        reached = (odds - math.log1p(ratio)) / -math.log(ratio)
    return max(1, math.ceil((math.ceil(reached) - 1) / wanted))


def _numbers(epsilon: Any, alpha: Any, beta: Any) -> tuple[float, float, float]:
    """Return the checked numbers as floats."""
    within = {"low": _TINY, "below": 1}
    return (
        float(check_number("epsilon", epsilon, above=0)),
        float(check_number("alpha", alpha, **within)),
        float(check_number("beta", beta, **within)),
    )
