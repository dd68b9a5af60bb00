"""Lower bounds on the number of records of private learners, and of private methods for interior points."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.kernels.exact import exp_bounds, float_above, log_bounds
from dplearn.learners.limits import least_failure, packing_records

_MARGIN = 1e-6  # far above the relative error of the computed bounds
_TRIED = 1 << 12  # the most numbers of copies
_LARGEST_EPSILON = Fraction(700)  # epsilon; with a greater one, the bound is that of this one


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
    domain_size : int
        The number of codes, of any size.
    epsilon : number
        Privacy parameter, positive.
    delta : number, default=0
        Privacy parameter, at least 0 and below 1.
    beta : number, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    int
        The greater of two bounds, at least 1. The first grows with the logarithm of `domain_size` if delta is
        0, the second with log*(domain_size).

    Notes
    -----
    *Equal records.* For n equal records y the only interior point is y. At most n replacements lead from n
    records x to n records y. So on the records x the method returns y with probability at least
    exp(-n epsilon) (1 - beta) - D (1 - exp(-n epsilon)), where D = delta / (exp(epsilon) - 1). The sum of
    this over the ``|X| - 1`` other y is at most beta, so n is at least
    ``ln((1 - beta + D) / (beta / (|X| - 1) + D)) / epsilon``.

    *Recursion.* There is a distribution of data sets of n records over S(n) codes on which no method succeeds
    with probability above P(n). For one record, take a uniform one of m codes: S(1) = m, and privacy between
    the records x and x' gives P(1) = (exp(epsilon) + (m - 1) delta) / (m - 1 + exp(epsilon)). For n + 1
    records, let x_0 be a random string of S(n) - 1 digits in base b, so S(n + 1) = b ** (S(n) - 1). Draw hard
    data for n records, and for each of these records a string that agrees with x_0 in as many first digits as
    the record says, with random digits after these. An interior point of all n + 1 strings agrees with x_0 in
    at least the least of these numbers of digits. It agrees with x_0 also in the digit after the greatest of
    them with probability at most exp(epsilon) / b + delta, as only the record x_0 depends on that digit.
    Otherwise the number of digits in which it agrees with x_0 is an interior point of the data for n. So
    P(n + 1) = P(n) + exp(epsilon) / b + delta. While this is below 1 - beta, n + 1 records do not suffice for
    S(n + 1) codes or more. Every choice of m and of each b proves a bound; this function tries some.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 3.2 and Lemma 3.3, which has one digit more,
    base 1 / delta(n), m = 2, and n of order ``log*|X|`` for delta(n) <= 1 / (50 n**2), with no constant
    stated.

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
    return max(1, _all_alike(size, epsilon, delta, beta), 1 + _too_few(size, epsilon, delta, beta))


def _all_alike(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> int:
    # D is rounded up, which only decreases a quotient above 1. If the quotient is below 1 there is no bound.
    share = delta / (exp_bounds(min(epsilon, Fraction(_LARGEST_RECURSIVE)))[0] - 1)
    return math.ceil(log_bounds((1 - beta + share) / (beta / (size - 1) + share))[0] / epsilon)


def _too_few(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> int:
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
    """Return the number of further records that the recursion excludes.

    `codes` is S(n) for excluded n, and `room` is 1 - beta - P(n).
    """
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
