"""Randomised response: each record answers for itself, and lies with a known probability.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> truth = np.repeat([0, 1, 2], [600, 300, 100])
>>> reports = randomized_response(truth, 3, privacy=ApproxDP(2), dice=SeededDice(0))
>>> estimated_frequencies(reports, 3, epsilon=2).round(2).tolist()
[0.62, 0.3, 0.08]

The frequencies of the values can be estimated from the reports:

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
from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_ratio
from dplearn.core.grouping import near_integers
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

__all__ = ["check_number_of_values", "estimated_frequencies", "randomized_response", "truth_probability"]


def randomized_response(values: Any, n_values: int, *, privacy: ApproxDP, dice: Dice) -> Any:
    """Return each value, or with a known probability another one.

    Parameters
    ----------
    values : int or array-like of int of shape (n,)
        Private. From 0 to n_values - 1, one for each record.
    n_values : int
        At least 2; public.
    privacy : ApproxDP
        Its `epsilon` is spent whole, by each record on itself; its `delta` is not used.
    dice : Dice
        Source of chance.

    Returns
    -------
    int, or ndarray of int64 of shape (n,)
        Each value is kept with probability `truth_probability(n_values, epsilon)`, else it is one of the
        others, all equally probable.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message shows no value.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record, even towards someone who sees each report (local
    privacy). Proof: the true value is 1 / ratio <= exp(epsilon) times as probable as each other one.

    **Assumes.** Values are in the declared range; each record gives one value; the number of records is
    public.

    **Accuracy.** With probability at least 1 - beta each estimated frequency is off by at most
    sqrt(ln(2 n_values / beta) / (2 n)) / (p - q), p the probability of the truth, q of each other value.

    **Source.** Warner (1965); Kairouz, Bonawitz and Ramage (2016). Here the probabilities are rational and
    the draws exact.
    """
    n_values = check_number_of_values(n_values)
    p = truth_probability(n_values, epsilon_of(privacy))
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError("values must be an integer or a one-dimensional array of integers")
    codes = array.astype(np.int64)
    if codes.size and (codes.min() < 0 or codes.max() >= n_values):
        raise ValueError(f"values must be from 0 to n_values - 1 = {n_values - 1}")
    truthful = dice.bernoulli(p, size=codes.size)
    # A shift by 1..n_values-1 makes every other value equally probable.
    shift = 1 + dice.below(n_values - 1, size=codes.size)
    reports = codes + shift * (1 - truthful)
    reports -= n_values * (reports >= n_values)  # which is less than twice n_values
    return int(reports[0]) if np.ndim(values) == 0 else reports


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
