"""By how many ranks private quantiles may miss, from public numbers alone.

>>> quantile_errors([Fraction(1, 2)], 2**64, 10_000, epsilon=1)
array([95])
>>> quantile_errors([Fraction(i, 4) for i in (1, 2, 3)], 2**64, 10_000, epsilon=1)
array([351, 234, 351])
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.core.distributions import power_at_most
from dplearn.core.exact import selection_ratio
from dplearn.core.halving import finest_fraction, halving

__all__ = ["quantile_errors"]


def quantile_errors(
    q: Sequence[Any], size: int, n_samples: int, *, epsilon: Any, beta: Any = 0.05
) -> NDArray[np.int64]:
    """Return by how many ranks each of several quantiles may miss.

    Parameters
    ----------
    q : sequence of float of length k
        Strictly rising, from 0 to 1.
    size : int
        How many values the domain has; up to any size.
    n_samples : int
        Number of records, n.
    epsilon : float
        Privacy budget of all together.
    beta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    ndarray of int64 of shape (k,)
        Errors e, at most n: with probability at least 1 - beta, for every i at most q[i] * n + e[i] of the
        data are less than value i, and at least q[i] * n - e[i] are not greater.

    Notes
    -----
    Some code of a cell costs 0, so one of cost k or more is chosen with probability at most
    size * ratio**k, which is at most beta over the number of quantiles. Told apart, n equal values take up to
    2 n codes each. A code released may be a datum itself: it cuts to within one rank of where it stands. The
    next target lies between two cuts: its rank is off by the mean of their errors, weighted as the target is.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    """
    n = check_count("n_samples", n_samples, low=1)
    size = check_count("size", size, low=1)
    share = check_number("beta", beta, above=0, below=1) / max(1, len(q))
    wanted = [check_number("q", each, low=0, high=1) for each in q]
    levels = halving(wanted, finest=finest_fraction(n))
    part = check_number("epsilon", epsilon, above=0) / max(1, len(levels))
    split = len(wanted) > 1
    codes = size << (n - 1).bit_length() if split else size
    errors = {-1: Fraction(0), len(wanted): Fraction(0)}
    ends = [*wanted, Fraction(1), Fraction(0)]
    for step in (step for level in levels for step in level):
        unlikely = power_at_most(selection_ratio(part, step.sensitivity), Fraction(share / codes))
        own = Fraction(max(0, unlikely - 1), step.fraction.denominator) + split
        low, high = ends[step.low], ends[step.high]
        exact = (ends[step.place] - low) / (high - low)
        inherited = (1 - step.fraction) * errors[step.low] + step.fraction * errors[step.high]
        errors[step.place] = own + inherited + n * abs(exact - step.fraction)
    return np.array([min(n, ceil(errors[place])) for place in range(len(wanted))], dtype=np.int64)
