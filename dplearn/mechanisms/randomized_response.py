"""Randomised response: each record reports its value, or with a known probability a different one."""

from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.kernels import decay_ratio
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of


def randomized_response(values: Any, n_values: int, *, privacy: ApproxDP, dice: Dice) -> Any:
    """Return one report for each value: the value itself, or with a known probability a different one.

    Parameters
    ----------
    values : int or array-like of int of shape (n,)
        Private. From 0 to n_values - 1, one value a record.
    n_values : int
        Public. Number of possible values, at least 2.
    privacy : ApproxDP
        Its `epsilon` is spent whole on each record's report; its `delta` is not used.

    Returns
    -------
    int, or ndarray of int64 of shape (n,)
        The reports. A report is the true value with probability `truth_probability(n_values, epsilon)`,
        otherwise a uniformly random one of the other values.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record, even if every single report is published (local
    privacy). Proof: the true value is 1 / ratio <= exp(epsilon) times as probable as each other value.

    **Assumes.** Values are in the declared range; each record has one value; the number of records is
    public.

    **Accuracy.** With probability at least 1 - beta each estimated frequency has an error of at most
    sqrt(ln(2 n_values / beta) / (2 n)) / (p - q), where p is the probability of the true value and q that of
    each other value.

    **Source.** Warner (1965); Kairouz, Bonawitz and Ramage (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import randomized_response
    >>> from dplearn.privacy import ApproxDP
    >>> truth = np.repeat([0, 1, 2], [600, 300, 100])
    >>> reports = randomized_response(truth, 3, privacy=ApproxDP(2), dice=SeededDice(0))
    >>> bool((reports == truth).mean() > 0.7)  # with three values the truth has probability 0.787
    True
    """
    n_values = _number_of_values(n_values)
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
    reports -= n_values * (reports >= n_values)  # reports < 2 n_values before this line
    return int(reports[0]) if np.ndim(values) == 0 else reports


def truth_probability(n_values: int, epsilon: Any) -> Fraction:
    """Return the probability that randomised response reports the true value.

    Parameters
    ----------
    n_values : int
        Number of possible values, at least 2.

    Returns
    -------
    Fraction
        1 / (1 + (n_values - 1) ratio), with ratio just above exp(-epsilon); each other value has ratio times
        this probability.

    Notes
    -----
    **Privacy.** With this probability `randomized_response` satisfies epsilon: the probabilities of any two
    values differ by a factor of at most 1 / ratio <= exp(epsilon). Reads no data.

    **Assumes.** `n_values` is public.

    **Accuracy.** Exactly the greatest probability of the true value that this ratio permits.

    **Source.** Warner (1965) for two values; Kairouz, Bonawitz and Ramage (2016) for more.

    Examples
    --------
    >>> from dplearn.theory import truth_probability
    >>> float(truth_probability(2, 1)) > 0.73
    True
    """
    n_values = _number_of_values(n_values)
    return 1 / (1 + (n_values - 1) * decay_ratio(check_number("epsilon", epsilon, above=0)))


def _number_of_values(n_values: int) -> int:
    """Return `n_values` if it is an integer from 2 to 2**31, else raise."""
    return check_count("n_values", n_values, low=2, high=1 << 31)
