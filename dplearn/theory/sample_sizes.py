"""Records needed to generalise and for small databases; lower bounds for private learners and methods."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._documented import Calculator, documented_by
from dplearn._validation import check_count, check_number
from dplearn.kernels import decay_ratio, exp_bounds, float_above, least, log_bounds
from dplearn.learners.limits import least_failure, packing_records
from dplearn.privacy import ApproxDP
from dplearn.privacy.shares import concentrated_budget
from dplearn.releases.counting_queries import database_error

_TINY = 1e-9
_SHARES = 12  # of errors that are tried


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
    error above empirical_alpha: an empirical learner that fails with probability b fails with b + failure at
    most.

    Proof. Let s be empirical_alpha, and n alpha > 1 (else the bound exceeds 1). Draw n further records, on
    which a hypothesis with a true error p > alpha makes at least n p errors with probability above 1/4
    (Greenberg and Mohri, 2014). So the failure probability is at most four times that of some hypothesis with
    k <= n s errors on the first n and j >= n alpha on the second n records. A random permutation of all 2 n
    records does not change it. Fix one of the S labellings, with K errors on the 2 n records. Those on the
    first n are a sample without replacement: P[k <= K / 2 - t] <= exp(-2 t**2 / K) (Hoeffding, 1963, Theorems
    1 and 4). Here t can be K / 2 - n s, and n alpha - K / 2. For K >= n (alpha + s) the first of these,
    divided by sqrt(K), increases with K; for smaller K the second decreases. So the greater t**2 / K is at
    least its value at K = n (alpha + s), n (alpha - s)**2 / (4 (alpha + s)). The sum over the S labellings
    gives the bound.

    **Source.** Vapnik and Chervonenkis (1971), symmetrisation; S: Sauer (1972). The bound with the constants
    of Anthony and Shawe-Taylor (1993), 4 S exp(-n (alpha - s)**2 / (4 alpha)), is weaker. Bun, Nissim,
    Stemmer and Vadhan (2015), Lemma 5.8, is a bound for thresholds.

    Examples
    --------
    >>> from dplearn.theory import generalisation_failure
    >>> round(float(generalisation_failure(1, 1486, alpha=0.1, empirical_alpha=0.05)), 4)
    0.0498
    """
    d, n = check_count("vc_dimension", vc_dimension), check_count("n_samples", n_samples)
    exponent = _log_failure(d, n, _rate(alpha, empirical_alpha))
    return math.exp(exponent) if exponent < 700 else math.inf


@documented_by(generalisation_failure, Calculator)
def generalisation_sample_size(vc_dimension: int, *, alpha: Any, empirical_alpha: Any = 0, beta: Any) -> int:
    """Return the number of records from which on `generalisation_failure` is at most beta.

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


def uniform_convergence_failure(vc_dimension: int, n_samples: int, *, alpha: Any) -> float:
    """Return a bound on the probability that the share of some query is far from its probability.

    Parameters
    ----------
    vc_dimension : int
        VC dimension of the queries, at least 0.
    n_samples : int
        Number n of records: independent draws.
    alpha : number
        The distance of the share of the records that a query counts from its probability, in (0, 1).

    Returns
    -------
    float
        4 S exp(-n alpha**2 / 8), with S as for `generalisation_failure`. It may exceed 1. For thresholds
        `dkw_bound` is far smaller.

    Notes
    -----
    **Source.** Vapnik and Chervonenkis (1971), Theorem 2; Bun, Nissim, Stemmer and Vadhan (2015), Theorem
    4.9, has another constant.

    Examples
    --------
    >>> from dplearn.theory import uniform_convergence_failure
    >>> round(uniform_convergence_failure(1, 12_000, alpha=0.1), 3)
    0.029
    """
    d, n = check_count("vc_dimension", vc_dimension), check_count("n_samples", n_samples)
    exponent = _log_failure(d, n, float(check_number("alpha", alpha, low=_TINY, below=1)) ** 2 / 8)
    return math.exp(exponent) if exponent < 700 else math.inf


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
    alpha : number
        Error of an answer, in (0, 1).
    beta : number
        Probability that some answer has a greater error, in (0, 1).

    Returns
    -------
    SmallDatabaseSizes
        With the `n_rows` for which the number of private records is least.

    Notes
    -----
    Proof. The candidates are the C = C(d + m - 1, m) multisets of m values of d; their qualities are minus
    the greatest magnitude of n c(D') - m c(D) over the queries c. The best quality is at least -n m a
    (`dplearn.releases.counting_queries.database_error`). With probability at least 1 - beta, the exponential
    mechanism with sensitivity m selects one at most 2 m (ln C + ln(1/beta)) / epsilon below the best. Its
    errors are at most alpha if n is at least 2 (ln C + ln(1/beta)) / (epsilon (alpha - a)). The bound is
    computed for each m up to the first whose ln C exceeds the least bound even for a = 0.

    **Source.** Blum, Ligett and Roth (2008); Bun, Nissim and Stemmer (2016), Theorem 2.18.

    Examples
    --------
    >>> from dplearn.theory import small_database_sizes
    >>> small_database_sizes(2**4, 24, epsilon=1.0, alpha=0.1, beta=0.05)  # all two-way tables of four bits
    SmallDatabaseSizes(n_samples=1379, n_rows=191)
    """
    size = check_count("domain_size", domain_size, low=2)
    asked = check_count("n_queries", n_queries, low=1)
    privacy, wanted, failure = _numbers(epsilon, alpha, beta)
    m, candidates, best = 0, -math.log(failure), (math.inf, 0)
    while 2 * candidates < best[0] * privacy * wanted:
        m += 1
        candidates += math.log(size + m - 1) - math.log(m)  # C(|X| + m - 1, m) from C(|X| + m - 2, m - 1)
        slack = wanted - database_error(size, asked, m)
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

    Notes
    -----
    Proof. An error above alpha n is one of at least t + 1, t the integer part of alpha n. Laplace noise of
    ratio r reaches this with probability 2 r**(t + 1) / (1 + r), Gaussian noise of variance n_moved / (2 rho)
    with at most 2 exp(-(t + 1)**2 rho / n_moved) (Canonne, Kamath and Steinke, 2020), summed over the counts.

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
    within = {"low": _TINY, "below": 1}
    return (
        float(check_number("epsilon", epsilon, above=0)),
        float(check_number("alpha", alpha, **within)),
        float(check_number("beta", beta, **within)),
    )


_MARGIN = 1e-6  # far above the relative error of the computed bounds
_TRIED = 1 << 12  # the most numbers of copies
_LARGEST_EPSILON = Fraction(700)  # epsilon; with a greater one, the bound is that of this one


def empirical_lower_bound(vc_dimension: int, *, epsilon: Any, delta: Any = 0, alpha: Any, beta: Any) -> int:
    """Return a number of records such that no private empirical learner of a class is accurate with fewer.

    Parameters
    ----------
    delta : number, default=0
    vc_dimension : int
        The Vapnik-Chervonenkis dimension of the class, or a lower bound on it; at least 1.
    alpha, beta : number
        Error on the given records, and probability of failure; in (0, 1).

    Returns
    -------
    int
        Of order vc_dimension / (alpha epsilon).

    Notes
    -----
    The learner is (epsilon, delta)-private for one replaced record, or for its label only. Its hypothesis, of
    the class or not, has an error of at most alpha on the given records with probability at least 1 - beta,
    for all records that some concept labels without error. Without privacy, one record suffices.

    Let the class shatter d points, and V < d. A data set has m copies of each of V points, with labels that
    are drawn by fair coins, and all other records at one further point. An accurate hypothesis errs on at
    most r = floor(alpha n / m) of the V points, so at a uniform one of them, v, with probability at most w =
    beta + (1 - beta) r / V. With the label of v changed, the data set is as likely, and it differs from the
    first in m labels. So these two labels of v are told apart with a mean probability of error of at most w,
    but at least u(m) (`packing_records` with N = 2 and V = 1). Therefore n records are too few if alpha n / m
    < V p, where p = (u(m) - beta) / (1 - beta).

    *All smaller numbers.* Let u(m) > beta. With up to m records, all of them at one point are too hard. From
    m to m / alpha records, V = 1 will do, as r = 0. From there on let V increase from floor(1 / alpha) to d -
    1: each V serves for numbers from V m to V m p / alpha, and no gap is left if p >= alpha (1 + 1 / V).
    Otherwise V = floor(1 / alpha) is kept. The best m is taken.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 5.5, who exchange the labels of two points and
    state no constant.

    Examples
    --------
    >>> from dplearn.theory import empirical_lower_bound
    >>> [empirical_lower_bound(vc, epsilon=1, alpha=0.05, beta=0.05) for vc in (2, 11, 101, 1001)]
    [80, 80, 564, 5640]
    """
    d = check_count("vc_dimension", vc_dimension, low=1)
    epsilon = check_number("epsilon", epsilon, above=0)
    delta = check_number("delta", delta, low=0, below=1)
    alpha = check_number("alpha", alpha, above=0, below=1)
    beta = check_number("beta", beta, above=0, below=1)
    alone = packing_records([(1.0, 0.0, -math.inf)], epsilon, beta, delta)  # all records at one point
    if d == 1 or alone < 2:
        return alone
    copies = np.unique(np.geomspace(1, alone - 1, _TRIED).astype(np.int64))
    exponent = min(epsilon, _LARGEST_EPSILON)
    excess = float_above(delta / (exp_bounds(exponent)[0] - 1))
    failure = least_failure(copies, 0.0, -math.inf, float(exponent), excess) * (1 - _MARGIN)
    share = np.maximum((failure - float(beta)) / (1 - float(beta)), 0)  # p
    few = min(d - 1, math.floor(1 / alpha))
    points = np.where(share >= float(alpha) * (1 + 1 / few), d - 1, few)
    needed = np.where(share > 0, copies / float(alpha) * np.maximum(1 - _MARGIN, points * share), 0)
    return max(alone, math.ceil(float(needed.max())))


_STEPS = (
    0,
    1,
    2,
    3,
    4,
    6,
    8,
    12,
    16,
    32,
    64,
    128,
)  # the tried bases, relative to the least one: see `_tried`
_LARGEST_RECURSIVE = (
    30  # for a larger epsilon the recursive bound is skipped, since its bases have too many digits
)


def interior_point_lower_bound(domain_size: int, *, epsilon: Any, delta: Any = 0, beta: Any = 0.05) -> int:
    """Return a number of records below which no (epsilon, delta)-private method succeeds on all data.

    Parameters
    ----------
    delta : number, default=0
    domain_size : int
        The number of codes, of any size.
    beta : number, default=0.05

    Returns
    -------
    int
        The greater of two bounds, at least 1. The first grows with the logarithm of `domain_size` if delta is
        0, the second with log*(domain_size).

    Notes
    -----
    *Equal records.* For n equal records y the only interior point is y. So on any records x the method
    returns y with probability at least exp(-n epsilon) (1 - beta) - D (1 - exp(-n epsilon)), where D = delta
    / (exp(epsilon) - 1). The sum of this over the ``|X| - 1`` other y is at most beta, so n is at least
    ``ln((1 - beta + D) / (beta / (|X| - 1) + D)) / epsilon``.

    *Recursion.* There is a distribution of data sets of n records over S(n) codes on which no method succeeds
    with probability above P(n). For one record, take a uniform one of m codes: S(1) = m, and privacy gives
    P(1) = (exp(epsilon) + (m - 1) delta) / (m - 1 + exp(epsilon)). For n + 1 records, let x_0 be a random
    string of S(n) - 1 digits in base b, so S(n + 1) = b ** (S(n) - 1). Draw hard data for n records, and for
    each of these a string that agrees with x_0 in as many first digits as the record says, with random digits
    after these. An interior point of all n + 1 strings agrees with x_0 in at least the least of these numbers
    of digits, and in the digit after the greatest of them with probability at most exp(epsilon) / b + delta,
    as only the record x_0 depends on that digit. Otherwise the number of digits in which it agrees with x_0
    is an interior point of the data for n. So P(n + 1) = P(n) + exp(epsilon) / b + delta. While this is below
    1 - beta, n + 1 records do not suffice for S(n + 1) codes or more. Every choice of m and of each b proves
    a bound; this function tries some.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 3.2 and Lemma 3.3, which has one digit more,
    base 1 / delta(n), m = 2, and n of order ``log*|X|`` for delta(n) <= 1 / (50 n**2), with no constant.

    Examples
    --------
    >>> from dplearn.theory import interior_point_lower_bound
    >>> [interior_point_lower_bound(2**bits, epsilon=1, delta=1e-6) for bits in (8, 64, 65536)]
    [9, 15, 15]
    >>> interior_point_lower_bound(2**64, epsilon=1)
    48
    """
    size = check_count("domain_size", domain_size, low=1)
    epsilon = check_number("epsilon", epsilon, above=0)
    delta = check_number("delta", delta, low=0, below=1)
    beta = check_number("beta", beta, above=0, below=1)
    if size == 1:
        return 1
    return max(1, _all_alike(size, epsilon, delta, beta), 1 + too_few(size, epsilon, delta, beta))


def _all_alike(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> int:
    # D is rounded up, which only decreases a quotient above 1. If the quotient is below 1 there is no bound.
    share = delta / (exp_bounds(min(epsilon, Fraction(_LARGEST_RECURSIVE)))[0] - 1)
    return math.ceil(log_bounds((1 - beta + share) / (beta / (size - 1) + share))[0] / epsilon)


def too_few(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> int:
    """Return the greatest number of records that the recursion excludes, over the tried bases."""
    if epsilon > _LARGEST_RECURSIVE:
        return 0
    growth = exp_bounds(epsilon)[1]
    # P(1) < 1 - beta for m - 1 > growth * beta / (1 - beta - delta).
    room = 1 - beta - delta
    if room <= 0:
        return 0
    excluded = 0
    for others in _tried(growth * beta / room):
        failing = 1 - beta - (growth + others * delta) / (others + growth)
        if others < size:
            excluded = max(excluded, 1 + _more(others + 1, size, failing, growth, delta))
    return excluded


def _more(codes: int, size: int, room: Fraction, growth: Fraction, delta: Fraction) -> int:
    """Return the number of further records that the recursion excludes; `room` is 1 - beta - P(n)."""
    if room <= delta:
        return 0
    found = 0
    for base in _tried(growth / (room - delta)):
        if (codes - 1) * (base.bit_length() - 1) >= size.bit_length():
            break  # there would be at least 2 ** (that product) codes, more than `size`
        strings = base ** (codes - 1)
        if codes < strings <= size:
            found = max(found, 1 + _more(strings, size, room - delta - growth / base, growth, delta))
    return found


def _tried(bound: Fraction) -> Iterator[int]:
    """Yield integers above a bound, ascending."""
    least = math.floor(bound) + 1
    return (least + least * step // 8 if step > 8 else least + step for step in _STEPS)


def corner_lower_bound(
    n_columns: int, domain_size: int, *, epsilon: Any, delta: Any = 0, alpha: Any, beta: Any
) -> int:
    """Return a number of records such that no private learner that names a corner is accurate with fewer.

    Parameters
    ----------
    delta : number, default=0
    n_columns : int
        The number of columns d: the label is 1 where each is at most its cut.
    domain_size : int
        The number of values of each column, of any size.
    alpha, beta : number
        Error on the given records, and probability of failure; in (0, 1).

    Returns
    -------
    int
        Of order d / alpha times `interior_point_lower_bound`.

    Notes
    -----
    The corner has an error of at most alpha on the given records, at least two, with probability at least 1 -
    beta, for all records that some corner labels without error.

    Proof. Let m, even, be too few codes for an interior point among half as many values, with the privacy of
    two replaced records and failure above beta + 2 a. Place hard data of m codes on a random one of d columns
    and fresh ones on each other (`threshold_from_corner_learner`), and fill up with records at the least
    value of all columns, of label 1, to n = a d m / alpha. At most alpha n = a d m errors leave c a m or
    fewer on the private column with probability 1 - beta - 1 / c. For c just below 1 / (2 a) these are fewer
    than m / 2, which give an interior point (`interior_point_from_threshold_learner`). For fewer records take
    fewer columns, and then fewer codes: the share of errors grows to at most twice alpha, so a is at least
    that. The best of some a is taken.

    *Releases.* Two releases of the queries of all corners, with errors of at most alpha, make such a learner
    with errors of at most 4 alpha (`learner_from_release`): no release with epsilon and delta is so accurate
    with fewer records than this function returns for 2 epsilon, 2 delta, 4 alpha and 2 beta.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorems 6.2, 6.4 and 6.7, with no constants stated.

    Examples
    --------
    >>> from dplearn.theory import corner_lower_bound
    >>> [corner_lower_bound(d, 2**64, epsilon=1, delta=1e-6, alpha=0.01, beta=0.05) for d in (1, 10, 100)]
    [238, 2376, 23751]
    """
    d = check_count("n_columns", n_columns, low=1)
    values = check_count("domain_size", domain_size, low=2) // 2
    each = ApproxDP(check_number("epsilon", epsilon, above=0), check_number("delta", delta, low=0, below=1))
    share = check_number("alpha", alpha, above=0, below=1)
    failure = check_number("beta", beta, above=0, below=1)
    found = 1
    if each.delta and (1 + exp_bounds(min(each.epsilon, _LARGEST_EPSILON))[1]) * each.delta >= 1:
        return found
    privacy = each.for_group(2)
    for place in range(1, _SHARES):
        a = (1 - failure) / 2 * place / _SHARES
        allowed = failure + 2 * a * (1 + Fraction(1, 1000))
        if 2 * share <= a and allowed < 1 and privacy.delta < 1:
            asked = {"epsilon": privacy.epsilon, "delta": privacy.delta, "beta": allowed}
            codes = (interior_point_lower_bound(values, **asked) - 1) // 2 * 2
            found = max(found, math.floor(a * d * codes / share) + 1)
    return found
