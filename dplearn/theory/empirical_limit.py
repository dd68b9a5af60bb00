"""A lower bound for private learners that are accurate on the data set itself."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.core.exact import exp_bounds, float_above
from dplearn.learners.pure_lower_bound import least_failure, packing_records

__all__ = ["empirical_lower_bound"]

_MARGIN = 1e-6  # far above the relative error of the computed bounds
_TRIED = 1 << 12  # the most numbers of copies
_LARGEST = Fraction(700)  # epsilon; with a greater one, the bound is that of this one


def empirical_lower_bound(vc_dimension: int, *, epsilon: Any, delta: Any = 0, alpha: Any, beta: Any) -> int:
    """Return a number of records such that no private empirical learner of a class is accurate with fewer.

    Parameters
    ----------
    vc_dimension : int
        The Vapnik-Chervonenkis dimension of the class, or a lower bound on it; at least 1.
    epsilon : number
        Privacy parameter, positive.
    delta : number, default=0
        Privacy parameter, at least 0 and below 1.
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
    most r = floor(alpha n / m) of the V points. So at a uniform one of them, v, it errs with probability at
    most w = beta + (1 - beta) r / V. With the label of v changed, the data set is as likely, and it differs
    from the first in m labels. Hence these two labels of v are told apart with a mean probability of error
    of at most w, but at least u(m): `packing_records` has the proof, with N = 2 and V = 1 there. Therefore n
    records are too few if alpha n / m < V p, where p = (u(m) - beta) / (1 - beta).

    *All smaller numbers.* Let u(m) > beta. With up to m records, all of them at one point are too hard. From
    m to m / alpha records, V = 1 will do, as r = 0. From there on let V increase from floor(1 / alpha) to
    d - 1: each V serves for numbers from V m to V m p / alpha, and no gap is left if p >= alpha (1 + 1 / V).
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
    exponent = min(epsilon, _LARGEST)
    excess = float_above(delta / (exp_bounds(exponent)[0] - 1))
    failure = least_failure(copies, 0.0, -math.inf, float(exponent), excess) * (1 - _MARGIN)
    share = np.maximum((failure - float(beta)) / (1 - float(beta)), 0)  # p
    few = min(d - 1, math.floor(1 / alpha))
    points = np.where(share >= float(alpha) * (1 + 1 / few), d - 1, few)
    needed = np.where(share > 0, copies / float(alpha) * np.maximum(1 - _MARGIN, points * share), 0)
    return max(alone, math.ceil(float(needed.max())))
