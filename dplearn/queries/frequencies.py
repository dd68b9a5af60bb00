"""Estimates of the frequencies of values from the reports of randomised response."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.core.grouping import near_integers
from dplearn.mechanisms.randomized_response import truth_probability

__all__ = ["estimated_frequencies"]


def estimated_frequencies(reports: Any, n_values: int, *, epsilon: Any) -> NDArray[np.float64]:
    """Return unbiased estimates of the frequencies of values before randomised response, at no privacy cost.

    Parameters
    ----------
    reports : array-like of int of shape (n,)
        The output of `randomized_response`.
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

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import randomized_response
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import estimated_frequencies
    >>> truth = np.repeat([0, 1, 2], [600, 300, 100])
    >>> reports = randomized_response(truth, 3, privacy=ApproxDP(2), dice=SeededDice(0))
    >>> estimated_frequencies(reports, 3, epsilon=2).round(2).tolist()
    [0.62, 0.3, 0.08]
    >>> estimated_frequencies([0, 0, 0, 1], 2, epsilon=3).round(3).tolist()
    [0.776, 0.224]
    """
    n_values = check_count("n_values", n_values, low=2, high=1 << 31)
    p = truth_probability(n_values, epsilon)
    q = (1 - p) / (n_values - 1)
    codes = near_integers("reports", reports, -1, n_values)
    if not codes.size or codes.min() < 0 or codes.max() >= n_values:
        raise ValueError(
            f"reports must hold at least one number, all from 0 to n_values - 1 = {n_values - 1}"
        )
    counts = np.bincount(codes, minlength=n_values)
    return np.asarray((counts / counts.sum() - float(q)) / float(p - q), dtype=np.float64)
