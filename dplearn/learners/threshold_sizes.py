"""How many records a private threshold takes, and how many of them it may get wrong.

"exponential" selects among all cuts of all columns, both directions of each, by their errors.
"interior_point" selects column and direction with a quarter of epsilon, and a point between the two labels
with the rest.

>>> threshold_excess_errors("exponential", 2**64, epsilon=1, beta=0.05)
96
>>> threshold_excess_errors("interior_point", 2**64, epsilon=1, beta=0.05)
361
>>> threshold_sample_size("exponential", 2**64, epsilon=1, alpha=0.1, beta=0.05, realizable=True)
1231
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from scipy.stats import binom

from dplearn._validation import check_choice, check_count, check_number
from dplearn.core.exact import selection_ratio
from dplearn.core.search import first

__all__ = [
    "COLUMN_SHARE",
    "THRESHOLD_METHODS",
    "interior_point_examples",
    "threshold_excess_errors",
    "threshold_sample_size",
]

THRESHOLD_METHODS = ("exponential", "interior_point")

#: Of epsilon, what "interior_point" spends on choosing column and direction. Both errors are logarithms over
#: their shares, that of a column three times; near a quarter their sum is least for 2**64 cuts.
COLUMN_SHARE = Fraction(1, 4)

_MOST_RECORDS = 1 << 62
_MOST_COUNTED = 10**12  # trials up to which binomial tails are taken


def threshold_excess_errors(method: str, n_cuts: int, *, n_columns: int = 1, epsilon: Any, beta: Any) -> int:
    """Return how many training errors a private threshold makes beyond the least, at most.

    Parameters
    ----------
    method : {"exponential", "interior_point"}
        How it is learned.
    n_cuts : int
        How many cuts a column has, at most: one more than its domain has values.
    n_columns : int, default=1
        How many columns it may be a cut of.
    epsilon : float
        Positive.
    beta : float
        Probability with which there may be more, in (0, 1).

    Returns
    -------
    int
        With "exponential" for all data. With "interior_point" for data that some threshold labels without
        error, and if there are enough of them for `interior_point_examples`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    **Source.** The exponential mechanism's bound, McSherry and Talwar (2007); Bun, Nissim, Stemmer and
    Vadhan (2015), Lemma 5.7. That of "interior_point" is proved at `interior_point_examples`.
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
    """Return how many examples of each label "interior_point" looks at.

    Parameters
    ----------
    n_samples : int
        Number of records.
    n_cuts, n_columns, epsilon, beta
        As for `threshold_excess_errors`.
    alpha : float
        Error that is wanted, in (0, 1).

    Returns
    -------
    int
        The greater of alpha * n_samples, so that a point that errs by less is told from one that errs by
        more, and of what the bound takes; at most n_samples.

    Notes
    -----
    **Accuracy.** `dplearn.releases.threshold_from_interior_point` has the proof for data that some cut labels
    without error, whose points these are. Let label 1 be the one at or below the cut, m of each label be
    looked at, and a cut t err on P records labelled 0 and N labelled 1, L = P + N. Its quality, the less of
    the numbers of points not below and not above it, is at least m - L. Let the chosen cut c fall short of
    the best quality by K at most, and either m > 2 L + K or m = n_samples. If c > t, the points not below c
    are N ones at most, and m zeros less those at or below c (less m, if they are more): of these there are L
    + K + N at most, and c errs on N ones at most, which makes 3 L + K. If c < t, so with the labels swapped.
    On records that some threshold labels without error, L is at most by what the choice of column and
    direction falls short of the best.
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
    """Return from how many records on a private threshold is accurate for their distribution.

    Parameters
    ----------
    method, n_cuts, n_columns, epsilon
        As for `threshold_excess_errors`.
    alpha : float
        Error beyond that of the best threshold, in (0, 1).
    beta : float
        Probability of failure, in (0, 1); half of it for the sample, half for the learner.
    realizable : bool, default=False
        Whether some threshold has no error at all; "interior_point" guarantees nothing else.

    Returns
    -------
    int
        The least number for which the proof below holds.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    **Accuracy.** Realizable and one column: the regions in which thresholds err form four chains (either
    direction, either side of the right cut). The least region of a chain whose probability exceeds alpha
    holds no more than k records with probability at most P[Binomial(n, alpha) <= k], and all greater ones
    hold as many. Else: the records labelled 1 above a cut, and those labelled 0 at or below it, have
    empirical distributions that are off by at most s with probability 1 - 4 n_columns exp(-2 n s**2), for
    all cuts at once, so that errors are off by 2 s, twice: k / n + 4 s <= alpha suffices.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.8, with binomial tails in place of its
    Chernoff bound; Massart (1990) for the constant of the second.
    """
    n_cuts, n_columns, epsilon = _checked(n_cuts, n_columns, epsilon)
    alpha = check_number("alpha", alpha, above=0, below=1)
    half = check_number("beta", beta, above=0, below=1) / 2
    if check_choice("method", method, THRESHOLD_METHODS) == "interior_point" and not realizable:
        raise ValueError("realizable must be True with method 'interior_point', got False")
    wrong = threshold_excess_errors(method, n_cuts, n_columns=n_columns, epsilon=epsilon, beta=half)
    least = wrong + 1  # also more than "interior_point" looks at of one label
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
    """Return how far the choice of column and direction, and that of the point, fall short of the best."""
    column = _shortfall(2 * n_columns, COLUMN_SHARE * epsilon, beta / 2)
    # A replaced record moves two of the points.
    return column, _shortfall(n_cuts, (1 - COLUMN_SHARE) * epsilon / 2, beta / 2)


def _shortfall(candidates: int, epsilon: Fraction, beta: Fraction) -> int:
    """Return the greatest k that candidates * ratio**k >= beta allows: more has a lesser probability."""
    ratio = selection_ratio(epsilon)
    # -log(ratio) >= 1 - ratio, which floats still resolve where they take the ratio for 1.
    rate = max(-math.log(ratio), float(1 - ratio))
    return math.floor(min((math.log(candidates) + _minus_log(beta)) / rate, float(_MOST_RECORDS)))


def _minus_log(beta: Fraction) -> float:
    """Return -ln(beta), of a number that a float may not hold."""
    return math.log(beta.denominator) - math.log(beta.numerator)


def _first_from(least: int, holds: Callable[[int], bool]) -> int:
    """Return the first integer from `least` on at which a condition that stays true holds."""
    high = least
    while not holds(high):
        high *= 2
    return first(holds, least, high)
