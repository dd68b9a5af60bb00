"""Sample complexity and error bounds of the private threshold learners.

"exponential" selects among all cuts of all columns, in both directions, by their errors. "interior_point"
selects column and direction with a quarter of epsilon, and a point between the two labels with the rest.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from scipy.stats import binom

from dplearn._validation import check_choice, check_count, check_number
from dplearn.kernels.exact import selection_ratio
from dplearn.kernels.search import first

__all__ = [
    "COLUMN_SHARE",
    "THRESHOLD_METHODS",
    "interior_point_examples",
    "threshold_excess_errors",
    "threshold_sample_size",
]

THRESHOLD_METHODS = ("exponential", "interior_point")

#: The share of epsilon that "interior_point" spends on column and direction. Each error is a logarithm
#: divided by its share, and the error of the column counts three times; for 2**64 cuts the sum is least near
#: a quarter.
COLUMN_SHARE = Fraction(1, 4)

_MOST_RECORDS = 1 << 62
_MOST_COUNTED = 10**12  # the most trials for which binomial tails are computed


def threshold_excess_errors(method: str, n_cuts: int, *, n_columns: int = 1, epsilon: Any, beta: Any) -> int:
    """Return a bound on the training errors of a private threshold beyond those of the best threshold.

    Parameters
    ----------
    method : {"exponential", "interior_point"}
        The method of `ThresholdClassifier`.
    n_cuts : int
        The greatest number of cuts of a column, which is one more than the number of values in its domain.
    n_columns : int, default=1
        Number of columns to select from.
    epsilon : float
        Positive.
    beta : float
        Allowed probability of more errors, in (0, 1).

    Returns
    -------
    int
        The bound. With "exponential" it holds for all data; with "interior_point" for data that some
        threshold labels without error, if there are enough records for `interior_point_examples`.

    Raises
    ------
    TypeError, ValueError
        If a parameter has a wrong type or is out of range.

    Notes
    -----
    **Source.** The exponential mechanism's bound, McSherry and Talwar (2007); Bun, Nissim, Stemmer and Vadhan
    (2015), Lemma 5.7. The bound of "interior_point" is proved at `interior_point_examples`.

    Examples
    --------
    >>> from dplearn.theory import threshold_excess_errors
    >>> threshold_excess_errors("exponential", 2**64, epsilon=1, beta=0.05)
    96
    >>> threshold_excess_errors("interior_point", 2**64, epsilon=1, beta=0.05)
    361
    """
    n_cuts, n_columns, epsilon = _checked(n_cuts, n_columns, epsilon)
    beta = check_number("beta", beta, above=0, below=1)
    if check_choice("method", method, THRESHOLD_METHODS) == "exponential":
        return _shortfall(2 * n_columns * n_cuts, epsilon, beta)
    column, point = _interior_shortfalls(n_cuts, n_columns, epsilon, beta)
    return 3 * column + point


def interior_point_examples(
    n_samples: int, n_cuts: int, *, n_columns: int = 1, epsilon: Any, alpha: Any, beta: Any
) -> int:
    """Return the number of examples of each label that "interior_point" uses.

    Parameters
    ----------
    n_samples : int
        Number of records.
    n_cuts : int
        The greatest number of cuts of a column, which is one more than the number of values in its domain.
    n_columns : int, default=1
        Number of columns to select from.
    epsilon : float
        Positive.
    alpha : float
        Target error, in (0, 1).
    beta : float
        Allowed probability of more errors, in (0, 1).

    Returns
    -------
    int
        The maximum of alpha * n_samples, so that the quality separates points with fewer errors from points
        with more, and of the least m for which the bound holds; at most n_samples.

    Notes
    -----
    **Accuracy.** For data that some cut labels without error, see the proof at
    `dplearn.releases.threshold_from_interior_point`, whose points are used here. Let label 1 be the label at
    or below the cut, let m records of each label be used, and let a cut t err on P records labelled 0 and on
    N records labelled 1, L = P + N. The quality of a cut, the minimum of the numbers of points not below it
    and not above it, is at least m - L for t. Let the quality of the chosen cut c be at most K below the
    best, and let m > 2 L + K or m = n_samples. If c > t, the points not below c are at most N ones, and m
    zeros minus the zeros at or below c (minus m, if these are more than m). Therefore at most L + K + N zeros
    are at or below c, and c errs on at most N ones: at most 3 L + K errors in total. The case c < t is the
    same with the labels swapped. On records that some threshold labels without error, L is at most the
    shortfall of the selected column and direction from the best.

    Examples
    --------
    >>> from dplearn.theory import interior_point_examples
    >>> interior_point_examples(2000, 2**64, epsilon=1, alpha=0.1, beta=0.05)
    327
    """
    n_samples = check_count("n_samples", n_samples, low=1)
    n_cuts, n_columns, epsilon = _checked(n_cuts, n_columns, epsilon)
    alpha = check_number("alpha", alpha, above=0, below=1)
    beta = check_number("beta", beta, above=0, below=1)
    column, point = _interior_shortfalls(n_cuts, n_columns, epsilon, beta)
    wanted: int = max(math.ceil(alpha * n_samples), 2 * column + point + 1)
    return min(n_samples, wanted)


def threshold_sample_size(
    method: str,
    n_cuts: int,
    *,
    n_columns: int = 1,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    realizable: bool = False,
) -> int:
    """Return the least number of records from which on a private threshold is accurate.

    Parameters
    ----------
    method : {"exponential", "interior_point"}
        The method of `ThresholdClassifier`.
    n_cuts : int
        The greatest number of cuts of a column, which is one more than the number of values in its domain.
    n_columns : int, default=1
        Number of columns to select from.
    epsilon : float
        Positive.
    alpha : float
        Excess error over the best threshold on the distribution, in (0, 1).
    beta : float
        Allowed probability of failure, in (0, 1); one half is for the sample, the other for the learner.
    realizable : bool, default=False
        Whether some threshold has error 0; required by "interior_point".

    Returns
    -------
    int
        The least number of records for which the proof in the Notes holds.

    Raises
    ------
    TypeError, ValueError
        If a parameter has a wrong type or is out of range.

    Notes
    -----
    **Accuracy.** Realizable and one column: the error regions of thresholds form four chains (either
    direction, either side of the right cut). The least region of a chain with probability above alpha
    contains at most k records with probability at most P[Binomial(n, alpha) <= k], and all greater regions
    contain at least as many records. Otherwise: the empirical distributions of the records labelled 1 above a
    cut, and of those labelled 0 at or below it, differ from the true ones by at most s for all cuts at once,
    with probability at least 1 - 4 n_columns exp(-2 n s**2). The error of each of the two compared thresholds
    then differs from its empirical error by at most 2 s, so that k / n + 4 s <= alpha suffices.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.8, with binomial tails in place of its
    Chernoff bound; Massart (1990) for the constant of the second bound.

    Examples
    --------
    >>> from dplearn.theory import threshold_sample_size
    >>> threshold_sample_size("exponential", 2**64, epsilon=1, alpha=0.1, beta=0.05, realizable=True)
    1231
    """
    n_cuts, n_columns, epsilon = _checked(n_cuts, n_columns, epsilon)
    alpha = check_number("alpha", alpha, above=0, below=1)
    half = check_number("beta", beta, above=0, below=1) / 2
    if check_choice("method", method, THRESHOLD_METHODS) == "interior_point" and not realizable:
        raise ValueError("realizable must be True with method 'interior_point', got False")
    wrong = threshold_excess_errors(method, n_cuts, n_columns=n_columns, epsilon=epsilon, beta=half)
    least = wrong + 1  # also more than the records of one label that "interior_point" uses
    if realizable and n_columns == 1 and wrong / alpha < _MOST_COUNTED:
        return _first_from(least, lambda n: 4 * binom.cdf(wrong, n, float(alpha)) <= half)
    spread = 4 * math.sqrt((math.log(4 * n_columns) + _minus_log(half)) / 2)
    return _first_from(least, lambda n: wrong / n + spread / math.sqrt(n) <= alpha)


def _checked(n_cuts: Any, n_columns: Any, epsilon: Any) -> tuple[int, int, Fraction]:
    return (
        check_count("n_cuts", n_cuts, low=1),
        check_count("n_columns", n_columns, low=1),
        check_number("epsilon", epsilon, above=0),
    )


def _interior_shortfalls(n_cuts: int, n_columns: int, epsilon: Fraction, beta: Fraction) -> tuple[int, int]:
    """Return the shortfalls of the selected column and direction, and of the point, from the best."""
    column = _shortfall(2 * n_columns, COLUMN_SHARE * epsilon, beta / 2)
    # A replaced record changes at most two of the points.
    return column, _shortfall(n_cuts, (1 - COLUMN_SHARE) * epsilon / 2, beta / 2)


def _shortfall(candidates: int, epsilon: Fraction, beta: Fraction) -> int:
    """Return the greatest k with candidates * ratio**k >= beta; a greater shortfall is less probable."""
    ratio = selection_ratio(epsilon)
    # -log(ratio) >= 1 - ratio, which is above 0 in floats even where the ratio rounds to 1.
    rate = max(-math.log(ratio), float(1 - ratio))
    return math.floor(min((math.log(candidates) + _minus_log(beta)) / rate, float(_MOST_RECORDS)))


def _minus_log(beta: Fraction) -> float:
    """Return -ln(beta) for a beta that may be outside the range of floats."""
    return math.log(beta.denominator) - math.log(beta.numerator)


def _first_from(least: int, holds: Callable[[int], bool]) -> int:
    """Return the first integer from `least` on at which a monotone condition holds."""
    high = least
    while not holds(high):
        high *= 2
    return first(holds, least, high)
