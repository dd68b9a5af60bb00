"""How many secret coins can be guessed from a private release: p-values, and lower bounds on epsilon.

Each of n records is one of two candidates, chosen by a secret fair coin. Some of the coins are guessed from
the release. A fit with a small epsilon does not allow many right guesses.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import betainc

from dplearn._validation import check_count, check_number

_MOST = 10**7  # coins
_GREATEST = 30.0  # a guess is then wrong with probability 1e-13: no number of right guesses is evidence
_MARGIN = 1 + 1e-6  # betainc has a relative error below 1e-7 (see kernels.confidence_bounds)
_STEPS = 50


def guesses_p_value(
    n_right: int, n_guesses: int, *, n_coins: int | None = None, epsilon: Any, delta: Any = 0
) -> float:
    """Return the greatest probability of so many right guesses if a release is (epsilon, delta)-private.

    Parameters
    ----------
    n_right : int
        Number of right guesses, from 0 to n_guesses.
    n_guesses : int
        Number of guesses r, from 0 to n_coins. It must be fixed before the release, unless delta is 0; which
        coins are guessed may depend on the release.
    n_coins : int, optional
        Number of secret coins m, up to 10**7; the number of guesses unless given.
    epsilon : number
        Nonnegative.
    delta : number, default=0
        At least 0 and below 1.

    Returns
    -------
    float
        From 0 to 1, rounded up by one part in a million.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    The neighbours are tables in which one coin differs. With q = 1 / (1 + exp(-epsilon)), B a Binomial(r, q)
    variable, v right guesses and F = P[B >= v], the probability is at most

        F + m delta F (1 - F) / (v P[B = v]).

    It is the exact maximum over all (epsilon, delta)-private releases and all guessers, wherever
    m delta F <= v P[B = v]. The proof is in docs/theory/tracing.md.

    **Source.** Steinke, Nasr and Jagielski (2023): the same F; their term for delta is 2 m delta
    max_i P[v > B >= v - i] / i. It is at least 2.6 times as large wherever F is at most 1/20, and for some v
    below the mean of B it is smaller than the maximum, which the theory page shows.

    Examples
    --------
    >>> from dplearn.audit import guesses_p_value
    >>> round(guesses_p_value(48, 50, epsilon=1), 7)
    2.92e-05
    """
    right, guesses, coins = _checked(n_right, n_guesses, n_coins)
    epsilon = check_number("epsilon", epsilon, low=0)
    delta = check_number("delta", delta, low=0, below=1)
    return _p_value(right, guesses, coins, min(float(epsilon), _GREATEST), float(delta))


def epsilon_from_guesses(
    n_right: int, n_guesses: int, *, n_coins: int | None = None, delta: Any = 0, error: Any
) -> float:
    """Return a lower bound on epsilon from a number of right guesses.

    Parameters
    ----------
    n_right : int
        Number of right guesses, from 0 to n_guesses.
    n_guesses : int
        Number of guesses r, from 0 to n_coins. It must be fixed before the release, unless delta is 0; which
        coins are guessed may depend on the release.
    n_coins : int, optional
        Number of secret coins m, up to 10**7; the number of guesses unless given.
    delta : number, default=0
        At least 0 and below 1.
    error : number
        The greatest probability that the bound is above the true epsilon; above 0 and at most 1/2.

    Returns
    -------
    float
        The greatest epsilon, rounded down, whose p-value is at most `error`; 0.0 if there is none. At most
        30.

    Examples
    --------
    >>> from dplearn.audit import epsilon_from_guesses
    >>> round(epsilon_from_guesses(48, 50, error=0.05), 2)
    1.99
    >>> epsilon_from_guesses(30, 50, error=0.05)
    0.0
    """
    right, guesses, coins = _checked(n_right, n_guesses, n_coins)
    share: float = float(check_number("delta", delta, low=0, below=1))
    most: float = float(check_number("error", error, above=0, high=Fraction(1, 2)))

    # If no (epsilon, delta)-private release exceeds `error`, then none with a smaller epsilon does: the
    # returned epsilon is a bound whether or not the formula is monotone.
    def is_refuted(epsilon: float) -> bool:
        return _p_value(right, guesses, coins, epsilon, share) <= most

    if not is_refuted(0.0):
        return 0.0
    low, high = 0.0, _GREATEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low


def _checked(n_right: int, n_guesses: int, n_coins: int | None) -> tuple[int, int, int]:
    guesses = check_count("n_guesses", n_guesses, high=_MOST)
    right = check_count("n_right", n_right, high=guesses)
    coins = guesses if n_coins is None else check_count("n_coins", n_coins, low=guesses, high=_MOST)
    return right, guesses, coins


def _p_value(right: int, guesses: int, coins: int, epsilon: float, delta: float) -> float:
    if not right or epsilon >= _GREATEST:
        return 1.0
    tail = float(betainc(right, guesses - right + 1, 1 / (1 + math.exp(-epsilon))))
    excess = 0.0
    if delta:
        excess = coins * delta * (1 - tail) * _tail_over_term(right, guesses, epsilon) / right
    return min(1.0, _MARGIN * (tail + excess))


def _tail_over_term(right: int, guesses: int, epsilon: float) -> float:
    """Return P[B >= v] / P[B = v] of a Binomial(r, 1 / (1 + exp(-epsilon))) variable, or the largest float.

    Successive probabilities have the ratios exp(epsilon) (r - w) / (w + 1).
    """
    w = np.arange(right, guesses, dtype=np.float64)
    with np.errstate(over="ignore"):
        total = 1 + float(np.cumprod(math.exp(epsilon) * (guesses - w) / (w + 1)).sum())
    return min(total, np.finfo(np.float64).max)
