"""Sample sizes of rules and parities that no fit plans by: those of papers, and of certain classes."""

import math
from fractions import Fraction
from typing import Any

from dplearn._documented import Calculator, documented_by
from dplearn._validation import check_choice, check_count, check_number
from dplearn.kernels import least
from dplearn.learners.parity.sizes import (
    agnostic_sample_size,
    below_1,
    elimination_sizes,
    enough,
    log_full_rank,
    parity_task,
)
from dplearn.learners.rules.generic import growing_sample_size, public_sample_size
from dplearn.mechanisms.parity import parity_probabilities

_TINY = 1e-100  # below it, squares and quotients of floats underflow or overflow
_SMALLEST = 1e-9  # of alpha: smaller values require more records than any table has
_LEAST_CONFIDENCE = Fraction(1, 10_000)  # of the published size, which is exponential in its inverse


def generic_sample_size(class_size: int, *, epsilon: Any, alpha: Any, beta: Any, bound: str = "proof") -> int:
    """Return the sample complexity of the generic learner in the agnostic setting.

    Parameters
    ----------
    class_size : int
        Number of concepts, ``|H|``; any size.
    alpha : float
        Excess error over the best concept, in (0, 1).
    bound : {"proof", "paper"}, default="proof"
        "proof": the least n from which on the failure bound in the proof of Theorem 3.4 is at most beta.
        "paper": the theorem's closed form ``6 (ln|H| + ln(1/beta)) max(1/(epsilon alpha), 1/alpha**2)``,
        which for small classes is less than its proof requires.

    Examples
    --------
    >>> from dplearn.theory import generic_sample_size
    >>> generic_sample_size(2, epsilon=0.5, alpha=0.5, beta=0.25)
    65
    >>> generic_sample_size(2, epsilon=0.5, alpha=0.5, beta=0.25, bound="paper")
    50
    """
    class_size = check_count("class_size", class_size, low=1)
    epsilon = _positive("epsilon", epsilon)
    alpha = _positive("alpha", alpha, below=1)
    beta = _positive("beta", beta, below=1)
    if check_choice("bound", bound, ("proof", "paper")) == "paper":
        rate = max(1 / (epsilon * alpha), 1 / (alpha * alpha))
        stated: int = math.ceil(6 * (math.log(class_size) - math.log(beta)) * rate)
        return max(1, stated)

    def suffices(n: int) -> bool:
        return _log_failure(class_size, n, epsilon, alpha) <= math.log(beta)

    return least(suffices, 1)  # the bound decreases in n


def generic_failure_bound(class_size: int, n_samples: int, *, epsilon: Any, alpha: Any) -> float:
    """Return the bound of Theorem 3.4's proof on the probability of failure; it may exceed 1.

    Parameters
    ----------
    class_size, n_samples : int
        Number of concepts and of examples.
    epsilon, alpha : float
        As for `generic_sample_size`.

    Examples
    --------
    >>> from dplearn.theory import generic_failure_bound
    >>> round(float(generic_failure_bound(2, 65, epsilon=0.5, alpha=0.5)), 3)
    0.241
    """
    class_size = check_count("class_size", class_size, low=1)
    n_samples = check_count("n_samples", n_samples, low=0)
    epsilon = _positive("epsilon", epsilon)
    alpha = _positive("alpha", alpha, below=1)
    exponent = _log_failure(class_size, n_samples, epsilon, alpha)
    return math.exp(exponent) if exponent < 700 else math.inf


def _positive(name: str, value: Any, below: int | None = None) -> float:
    number = check_number(name, value, above=0, below=below)
    return float(check_number(name, number, low=_TINY))


def _log_failure(class_size: int, n: int, epsilon: float, alpha: float) -> float:
    sampling, privacy = math.log(2) - 2 * n * alpha**2 / 9, -epsilon * n * alpha / 6
    high, low = max(sampling, privacy), min(sampling, privacy)
    return math.log(class_size) + high + math.log1p(math.exp(low - high))


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
    alpha : number
        Target error, in (0, 1). With `agnostic`, the excess error over the best stump.
    agnostic : bool, default=False
        False: some stump makes no error. True: the errors of all stumps may be greater than 0.

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


@documented_by(dichotomy_sample_size, Calculator)
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
        least = -math.log(_positive("beta", beta, below=1)) / _positive("alpha", alpha, below=1)
        raise ValueError(
            f"n_rows must be above ln(1 / beta) / alpha, about {least:.0f}, got {n_rows}: with so few public"
            " rows no cut may be near the best one"
        )
    return found


def parity_sample_size(
    n_unknowns: int,
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    method: str = "elimination",
    bound: str = "proof",
) -> int:
    """Return the sample complexity of a private parity learner, if a parity labels all records.

    Parameters
    ----------
    beta
        ... A failure is a greater error or an abstention.
    method : {"elimination", "agnostic", "once"}, default="elimination"
        "once": `consistent_parity` on all records; beta must exceed its probability of an abstention.
        "elimination": the same on several parts. "agnostic": the exponential mechanism over all parities.
    bound : {"proof", "paper"}, default="proof"
        "proof": the least n for which our bound is at most beta. "paper": the constants of the paper.

    Returns
    -------
    int
        Number of records, for any distribution of the columns.


    Notes
    -----
    Our bounds are `elimination_failure`, with one part for "once", and `agnostic_failure`. If no parity
    labels all records, the exponential mechanism requires `generic_sample_size` of 2**d concepts.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011). For "once" Lemma 4.1 has
    (8/(epsilon alpha)) (d ln 2 + ln 4), and beta at least 3/4; for "agnostic" it is Theorem 3.4; for
    "elimination" algorithm A* with b = beta/3, a = alpha/5, k = ceil(ln(1/b)/ln(4/3)) parts of the size of
    Lemma 4.1 for a, and max(10, k/epsilon) ln(k/b)/a test records, which the three claims of Lemma 4.6
    require.

    Examples
    --------
    >>> from dplearn.theory import parity_sample_size
    >>> parity_sample_size(16, epsilon=1, alpha=0.1, beta=0.05)
    663
    >>> parity_sample_size(16, epsilon=1, alpha=0.1, beta=0.05, bound="paper")
    79967
    """
    method = check_choice("method", method, ("elimination", "agnostic", "once"))
    published = check_choice("bound", bound, ("proof", "paper")) == "paper"
    if method == "elimination" and not published:
        return elimination_sizes(n_unknowns, epsilon=epsilon, alpha=alpha, beta=beta).n_samples
    d, eps, a = parity_task(n_unknowns, epsilon, alpha)
    if method == "elimination":
        return _published_elimination(d, eps, a, below_1("beta", beta))
    if method == "agnostic":
        if published:
            return generic_sample_size(1 << d, epsilon=epsilon, alpha=alpha, beta=beta, bound="paper")
        return agnostic_sample_size(d, epsilon=epsilon, alpha=alpha, beta=beta)
    if published:
        check_number("beta", beta, low=Fraction(3, 4), below=1)
        return math.ceil(_lemma(d, eps, a))
    keep, abstain = parity_probabilities(epsilon)
    left = check_number("beta", beta, above=abstain, below=1) - abstain
    return enough((d - 1) * math.log(2) - math.log(left / (1 - abstain)), float(keep) * a)


def nonprivate_parity_sample_size(n_unknowns: int, *, alpha: Any, beta: Any) -> int:
    """Return the sample complexity of elimination without privacy.

    Returns
    -------
    int
        The least n with 2**(d - 1) (1 - alpha)**n <= beta: a random solution of all n equations then has
        error above alpha with probability at most beta.

    Examples
    --------
    >>> from dplearn.theory import nonprivate_parity_sample_size
    >>> nonprivate_parity_sample_size(16, alpha=0.1, beta=0.05)
    128
    """
    d = check_count("n_unknowns", n_unknowns, low=1)
    return enough((d - 1) * math.log(2) - math.log(below_1("beta", beta)), below_1("alpha", alpha, _SMALLEST))


def _published_elimination(d: int, epsilon: float, alpha: float, beta: float) -> int:
    good, third = alpha / 5, math.log(3 / beta)
    k = math.ceil(third / math.log(4 / 3))
    test = max(10, k / epsilon) * (math.log(k) + third) / good
    return k * math.ceil(_lemma(d, epsilon, good)) + math.ceil(test)


def _lemma(d: int, epsilon: float, alpha: float) -> float:
    return 8 / (epsilon * alpha) * (d + 2) * math.log(2)


def full_rank_probability(n_rows: int, n_columns: int, *, fit_intercept: bool = False) -> float:
    """Return the probability that a matrix of fair coins has full column rank over GF(2).

    Parameters
    ----------
    n_rows, n_columns : int
        At least 0.
    fit_intercept : bool, default=False
        Whether a column of ones is appended.

    Returns
    -------
    float
        The product of 1 - 2**(i - n_rows) for i from 0 to n_columns - 1; with an intercept for i from 1 to
        n_columns, and 0 if there are no rows.

    Examples
    --------
    >>> from dplearn.theory import full_rank_probability
    >>> round(float(full_rank_probability(20, 16)), 4)
    0.9388
    """
    rows, columns = check_count("n_rows", n_rows), check_count("n_columns", n_columns)
    return math.exp(log_full_rank(rows, columns, bool(fit_intercept)))


def published_line_sample_size(*, epsilon: Any, delta: Any, alpha: Any, beta: Any) -> int:
    """Return the number of records of the published learner of lines, at one run.

    Parameters
    ----------
    epsilon, delta : number
        Both positive, below 1/2 in the paper.
    alpha, beta : number
        Allowed error and probability of failure, in (0, 1); beta at least 1/10000.

    Returns
    -------
    int
        l 2**k for the l shards of Lemma 16, where k is the greatest integer of the interval that it is drawn
        from. The number is exponential in 1/beta, for which the paper repeats the learner at a constant beta.

    Notes
    -----
    **Source.** Feldman and Xiao (2014), Lemma 16, with the confidence in place of the privacy parameter in
    72 ln(4 / beta).

    Examples
    --------
    >>> from dplearn.theory import published_line_sample_size
    >>> published_line_sample_size(epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.1)
    1226708480901685182464
    """
    e = float(check_number("epsilon", epsilon, above=0))
    d = float(check_number("delta", delta, above=0, below=1))
    error = float(check_number("alpha", alpha, low=_SMALLEST, below=1))
    confidence = float(check_number("beta", beta, low=_LEAST_CONFIDENCE, below=1))
    shards = max(12 / e * -math.log(confidence * d) + 13, 72 * math.log(4 / confidence))
    power = math.floor(math.log2(math.log(1.5) / error) + 6 / confidence)
    return math.ceil(shards) << max(0, power)


def nonadaptive_chance(n_bits: int, n_queries: int, tolerance: Any) -> float:
    """Return a lower bound on the probability of an error of at least 1/4 after one round of queries.

    **Accuracy.** 1/2 - n_queries / (8 * tolerance**2 * 2**d), for answers in [-1, 1] within `tolerance` and a
    uniform masked parity of d bits: a learner that cannot distinguish a parity from its complement errs on
    half of the records with mask 0, and by Parseval's identity a query does so for at most 1 / (4 *
    tolerance**2) of them.

    **Source.** Kasiviswanathan et al. (2011), Theorem 5.16, for tolerance 2**(-d/3): it states 1/2 - t /
    2**(d/3 + 2) for t queries, and its proof gives 1/2 - t / 2**(d/3 + 3), as here.
    """
    d = check_count("n_bits", n_bits, low=1)
    given = check_count("n_queries", n_queries) / (
        4 * float(check_number("tolerance", tolerance, above=0)) ** 2
    )
    return max(0.0, (1 - given / 2.0**d) / 2)
