"""Bounds on the rank errors of private quantiles, and sample sizes, from public numbers.

>>> quantile_errors([Fraction(1, 2)], 2**64, 10_000, epsilon=1)
array([95])
>>> quantile_errors([Fraction(i, 4) for i in (1, 2, 3)], 2**64, 10_000, epsilon=1)
array([351, 234, 351])
>>> quantile_sample_size([Fraction(1, 2)], 2**64, epsilon=1, alpha=0.01)
9500
>>> quantile_range_sample_size([Fraction(1, 2)], 2**64, epsilon=1)
191
>>> twentieths = [Fraction(i, 20) for i in range(1, 20)]
>>> quantile_errors(twentieths, 2**64, 200_000, epsilon=1).max().item()  # in windows
499
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.core.distributions import power_at_most
from dplearn.core.exact import selection_ratio
from dplearn.core.ranks import finest_fraction, halving
from dplearn.core.search import first
from dplearn.mechanisms.quantile_windows import WindowTerms
from dplearn.releases.window_terms import BETA, FAILURE, noise_bounds, window_terms

__all__ = ["quantile_errors", "quantile_range_sample_size", "quantile_sample_size", "windows_for"]

_FEWEST = 5  # quantiles for which windows can be better


def quantile_errors(
    q: Sequence[Any], size: int, n_samples: int, *, epsilon: Any, beta: Any = 0.05
) -> NDArray[np.int64]:
    """Return a bound on the rank error of each of several private quantiles.

    Parameters
    ----------
    q : sequence of float of length k
        Strictly increasing, from 0 to 1.
    size : int
        Number of values in the domain; an integer of any size.
    n_samples : int
        Number of records, n.
    epsilon : float
        Privacy budget of all quantiles together.
    beta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    ndarray of int64 of shape (k,)
        Errors e, at most n: with probability at least 1 - beta, for every i at most q[i] * n + e[i] of the
        data are less than value i, and at least q[i] * n - e[i] are at most value i.

    Notes
    -----
    The method is `codes_in_windows` where `windows_for` says so, by public numbers, and halving elsewhere.

    **Halving.** Some code of a cell has selection cost 0, so a code of cost k or more is chosen with
    probability at most size * ratio**k, which must be at most beta over the number of quantiles. The map that
    makes n equal values distinct multiplies the number of codes by less than 2 n. A released code may be a
    datum: it splits its cell within one rank of its position. The next target lies in a cell between two
    released codes: its inherited error is the mean of their errors, weighted by the position of the target
    between them.

    **Windows.** The error is the noise in the rank, plus the reach of a window, plus 1 for a rounded target.
    Let N(j, x) be the probability that j independent moves have the sum x. The noise of rank i is x with
    probability N(i, x) N(k + 1 - i, -x) / N(k + 1, 0), and by Chernoff's bound N(j, x) <= exp(j L(a) - a x)
    for any a > 0, where L is the logarithm of the moment-generating function of one move.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.theory import quantile_errors
    >>> quantile_errors([Fraction(i, 4) for i in (1, 2, 3)], 2**64, 10_000, epsilon=1).tolist()
    [351, 234, 351]
    """
    n = check_count("n_samples", n_samples, low=1)
    size = check_count("size", size, low=1)
    failure = check_number("beta", beta, above=0, below=1)
    wanted = tuple(check_number("q", each, low=0, high=1) for each in q)
    whole = check_number("epsilon", epsilon, above=0)
    terms = windows_for(wanted, size, n, epsilon=whole)
    return (
        _halving_errors(wanted, size, n, whole, failure) if terms is None else _window_errors(terms, failure)
    )


@lru_cache(maxsize=1024)
def windows_for(
    fractions: tuple[Fraction, ...], size: int, n: int, *, epsilon: Fraction
) -> WindowTerms | None:
    """Return the terms of `codes_in_windows` if these bound the greatest error by at most half of halving's.

    Parameters
    ----------
    fractions : tuple of Fraction of length k
        Strictly increasing, from 0 to 1.
    size : int
        Number of codes in the domain.
    n : int
        Number of records.
    epsilon : Fraction
        Privacy budget of all quantiles together.

    Notes
    -----
    Not below a half, because on columns without ties both methods have about the same error for up to 31
    quantiles, though the bounds differ by more (`benchmarks/bench_many_quantiles.py`). Halving is bounded for
    a power of two of records, at most n: with exact fractions of n, the choice would change to and fro.
    """
    terms = window_terms(fractions, size, n, epsilon=epsilon) if len(fractions) >= _FEWEST else None
    if terms is None:
        return None
    fewer = 1 << (n.bit_length() - 1)
    halved = _halving_errors(fractions, size, fewer, epsilon, Fraction(BETA)).max()
    return terms if 2 * _window_errors(terms, Fraction(BETA)).max() <= halved else None


def _window_errors(terms: WindowTerms, beta: Fraction) -> NDArray[np.int64]:
    """Return bounds on the rank errors of `codes_in_windows`; see `quantile_errors`."""
    # 2 FAILURE for gaps without full strength and codes outside windows, the rest for draws that are None.
    left = float(beta - 3 * FAILURE)
    if left <= 0:
        return np.full(len(terms.targets), terms.n, dtype=np.int64)
    noise = np.array(noise_bounds(len(terms.targets), float(terms.ratio), left))
    errors: NDArray[np.int64] = np.minimum(noise + terms.reach + 1, terms.n)
    return errors


def _halving_errors(
    wanted: tuple[Fraction, ...], size: int, n: int, epsilon: Fraction, beta: Fraction
) -> NDArray[np.int64]:
    """Return bounds on the rank errors of `codes_at_fractions`; see `quantile_errors`."""
    share = beta / max(1, len(wanted))
    levels = halving(wanted, finest=finest_fraction(n))
    part = epsilon / max(1, len(levels))
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


def quantile_sample_size(q: Sequence[Any], size: int, *, epsilon: Any, alpha: Any, beta: Any = 0.05) -> int:
    """Return the number of records from which on all rank errors are at most a fraction alpha of the records.

    Parameters
    ----------
    q : sequence of float of length k
        Strictly increasing, from 0 to 1.
    size : int
        Number of values in the domain; an integer of any size.
    epsilon : float
        Privacy budget of all quantiles together.
    alpha : float
        Target error, as a fraction of the records, in (0, 1).
    beta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    int
        A number n for which every `quantile_errors` is at most alpha n, while n - 1 is not enough. Greater
        numbers are enough too, up to one rank where a fraction is rounded.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from dplearn.theory import quantile_sample_size
    >>> quantile_sample_size([0.5], 2**64, epsilon=1, alpha=0.01)
    9500
    """
    share = check_number("alpha", alpha, above=0, below=1)
    return _from(lambda n: quantile_errors(q, size, n, epsilon=epsilon, beta=beta).max() <= share * n)


def quantile_range_sample_size(q: Sequence[Any], size: int, *, epsilon: Any, beta: Any = 0.05) -> int | None:
    """Return the number of records from which on all quantiles lie in the range of the data.

    Parameters
    ----------
    q : sequence of float of length k
        Strictly increasing, from 0 to 1.
    size : int
        Number of values in the domain; an integer of any size.
    epsilon : float
        Privacy budget of all quantiles together.
    beta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    int or None
        A number n for which, by `quantile_errors`, all quantiles lie between the least and the greatest of
        the data with probability at least 1 - beta, while n - 1 is not enough. None if 0 or 1 is among q:
        every value of the domain at or below the data is an exact quantile 0.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    **Accuracy.** At least q n - e of the data are at most the value, so at least one is if e < q n; at most
    q n + e are less, so not all are if e < (1 - q) n. For a median the bound is nearly sharp: for n equal
    data a different value is released with probability (size - 1) r**n / (1 + (size - 1) r**n),
    r = exp(-epsilon / 4), which exceeds beta if n < (4 / epsilon) ln((size - 1) (1 - beta) / beta).

    Examples
    --------
    >>> from dplearn.theory import quantile_range_sample_size
    >>> quantile_range_sample_size([0.5], 2**64, epsilon=1)
    191
    """
    tails = [min(each, 1 - each) for each in (check_number("q", each, low=0, high=1) for each in q)]

    def inside(n: int) -> bool:
        errors = quantile_errors(q, size, n, epsilon=epsilon, beta=beta).tolist()
        return all(error < tail * n for error, tail in zip(errors, tails, strict=True))

    return _from(inside) if all(tails) else None


def _from(suffices: Callable[[int], bool]) -> int:
    """Return a number n such that n and greater numbers suffice and n - 1 does not."""
    low = 1
    while True:
        enough = low
        while not suffices(enough):
            enough *= 2
        n = first(suffices, low, enough)
        # Beyond a power of two, distinct equal values need twice as many codes, and the errors jump.
        low = (1 << (n - 1).bit_length()) + 1
        if suffices(low):
            return n
