"""What randomised response tells about the values behind it.

>>> truth_probability(2, 1) > 0.73
True
>>> estimated_frequencies([0, 0, 0, 1], 2, epsilon=3).round(3).tolist()
[0.776, 0.224]
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.core.exact import decay_ratio
from dplearn.core.grouping import near_integers

__all__ = ["check_number_of_values", "estimated_frequencies", "truth_probability"]


def truth_probability(n_values: int, epsilon: Any) -> Fraction:
    """Return the probability with which randomised response keeps a value.

    Parameters
    ----------
    n_values : int
        At least 2.
    epsilon : number
        Positive.

    Returns
    -------
    Fraction
        1 / (1 + (n_values - 1) ratio), with ratio just above exp(-epsilon); each other value has ratio times
        this probability.
    """
    n_values = check_number_of_values(n_values)
    return 1 / (1 + (n_values - 1) * decay_ratio(check_number("epsilon", epsilon, above=0)))


def estimated_frequencies(reports: Any, n_values: int, *, epsilon: Any) -> NDArray[np.float64]:
    """Return unbiased estimates of how frequent each value was before randomised response; costs no privacy.

    Parameters
    ----------
    reports : array-like of int of shape (n,)
        What `randomized_response` released.
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
    """
    n_values = check_number_of_values(n_values)
    p = truth_probability(n_values, epsilon)
    q = (1 - p) / (n_values - 1)
    codes = near_integers("reports", reports, -1, n_values)
    if not codes.size or codes.min() < 0 or codes.max() >= n_values:
        raise ValueError(
            f"reports must hold at least one number, all from 0 to n_values - 1 = {n_values - 1}"
        )
    counts = np.bincount(codes, minlength=n_values)
    return np.asarray((counts / counts.sum() - float(q)) / float(p - q), dtype=np.float64)


def check_number_of_values(n_values: int) -> int:
    """Return the number of values if it is one from 2 to 2**31."""
    return check_count("n_values", n_values, low=2, high=1 << 31)
