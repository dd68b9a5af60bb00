"""How many records no private method finds interior points with.

>>> [interior_point_lower_bound(2**bits, epsilon=1, delta=1e-6) for bits in (8, 64, 65536)]
[9, 15, 15]
>>> interior_point_lower_bound(2**64, epsilon=1)
48
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dplearn._validation import check_count, check_number
from dplearn.core.exact import exp_bounds, log_bounds

__all__ = ["interior_point_lower_bound"]

_STEPS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128)  # above the least base, by which bases are tried
_LARGEST = 30  # epsilon: beyond it the recursive bound is left out, its bases having too many digits


def interior_point_lower_bound(domain_size: int, *, epsilon: Any, delta: Any = 0, beta: Any = 0.05) -> int:
    """Return a number of records below which no (epsilon, delta)-private method succeeds on all data.

    Parameters
    ----------
    domain_size : int
        How many codes there are, up to any size.
    epsilon : number
        Positive.
    delta : number, default=0
        At least 0.
    beta : number, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    int
        The greater of two bounds, at least 1; the second grows with log*(domain_size), the first, with
        delta 0, with its logarithm.

    Notes
    -----
    *Records all alike.* With n records y only y is right. n replacements lead from n records x to them, so
    that on these y has probability at least exp(-n epsilon) (1 - beta) - D (1 - exp(-n epsilon)),
    D = delta / (exp(epsilon) - 1). Summed over the ``|X| - 1`` other y that is at most beta: n is at least
    ``ln((1 - beta + D) / (beta / (|X| - 1) + D)) / epsilon``.

    *Recursion.* There are data of n records of S(n) codes on which no method succeeds with probability above
    P(n). One record: any of m codes, S(1) = m; from x's chance to be found where x' stands,
    P(1) = (exp(epsilon) + (m - 1) delta) / (m - 1 + exp(epsilon)). One more: draw x_0, a string of S(n) - 1
    digits in base b, S(n + 1) = b ** (S(n) - 1); and n strings that agree with x_0 in as many first digits as
    the hard data for n say, and are random after these. An interior point of all agrees with x_0 in at least
    the least of these lengths, and in the digit after the greatest with probability at most
    exp(epsilon) / b + delta, as that digit of x_0 is known to x_0 alone: the number of digits agreed on would
    be interior to the data for n. So P(n + 1) = P(n) + exp(epsilon) / b + delta. While it is below 1 - beta,
    n + 1 records are too few for S(n + 1) codes or more. Every m and b prove a bound; we try some.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 3.2 and Lemma 3.3, which has one digit more,
    base 1 / delta(n), m = 2, and n of order ``log*|X|`` for delta(n) <= 1 / (50 n**2), with no constant
    stated.
    """
    size = check_count("domain_size", domain_size, low=1)
    epsilon = check_number("epsilon", epsilon, above=0)
    delta = check_number("delta", delta, low=0, below=1)
    beta = check_number("beta", beta, above=0, below=1)
    if size == 1:
        return 1
    return max(1, _all_alike(size, epsilon, delta, beta), 1 + _too_few(size, epsilon, delta, beta))


def _all_alike(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> int:
    # D rounded up: the quotient of the sums, above 1, only falls. Below 1 there is no bound.
    share = delta / (exp_bounds(min(epsilon, Fraction(_LARGEST)))[0] - 1)
    return math.ceil(log_bounds((1 - beta + share) / (beta / (size - 1) + share))[0] / epsilon)


def _too_few(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> int:
    """Return the greatest number of records that the recursion was found to exclude."""
    if epsilon > _LARGEST:
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
    """Return how many further records are excluded, some number of codes being hard with room left."""
    if room <= delta:
        return 0
    found = 0
    for base in _tried(growth / (room - delta)):
        if (codes - 1) * (base.bit_length() - 1) >= size.bit_length():
            break  # 2 ** (that product) codes would be too many already
        strings = base ** (codes - 1)
        if codes < strings <= size:
            found = max(found, 1 + _more(strings, size, room - delta - growth / base, growth, delta))
    return found


def _tried(bound: Fraction) -> Iterator[int]:
    """Yield integers above a bound."""
    least = math.floor(bound) + 1
    return (least + least * step // 8 if step > 8 else least + step for step in _STEPS)
