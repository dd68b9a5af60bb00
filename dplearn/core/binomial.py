"""Bounds on a probability from counts: those of Clopper and Pearson, rounded outwards.

>>> low, high = success_bounds(0, 1000, 0.01)
>>> low, 0.00459 < high < 0.0046
(0.0, True)
"""

from math import nextafter
from typing import Any

from scipy.special import betainc, betaincinv

from dplearn._validation import check_count, check_number

__all__ = ["success_bounds"]

_OUTWARD = 1e-8  # relative; `_lower` says why it is enough


def success_bounds(hits: int, n: int, error: Any) -> tuple[float, float]:
    """Return bounds on a probability, given how many independent trials succeeded with it.

    Parameters
    ----------
    hits : int
        From 0 to n.
    n : int
        Number of trials, from 1 to 10**9.
    error : number
        Probability allowed for the lower bound to be too high, and also for the upper bound to be too low;
        from 1e-100 to 1/2.

    Returns
    -------
    low, high : float
        0 <= low < high <= 1.

    Notes
    -----
    **Source.** Clopper and Pearson (1934): low is the p with P[Binomial(n, p) >= hits] = error, high the p
    with P[Binomial(n, p) <= hits] = error. Here both are moved outwards by a part in 10**8.
    """
    n = check_count("n", n, low=1, high=10**9)
    hits = check_count("hits", hits, high=n)
    error = float(check_number("error", error, low=1e-100, high=0.5))
    # Failures in place of successes turn one bound into the other; the difference is rounded up.
    return _lower(hits, n, error), min(1.0, nextafter(1 - _lower(n - hits, n, error), 2))


def _lower(hits: int, n: int, error: float) -> float:
    """Return a p with P[Binomial(n, p) >= hits] <= error.

    That probability is F(p) = betainc(hits, n - hits + 1, p). The density of F in x = ln(p) is proportional
    to exp(hits x) (1 - exp(x))**(n - hits), whose logarithm is concave; so ln F is concave in x. It is 0 at
    x = 0 and ln(error) at the root, so its slope there is at least ln(1 / error) / ln(1 / p), and so it is
    to the left of the root. From F(p) <= n p follows p >= error / n, so the slope is at least
    ln(1 / error) / (ln(1 / error) + ln(n)) >= ln(2) / (ln(2) + 21) > 1/32. Moving p down by a part in 10**8
    lowers F by more than a part in 10**10; betainc errs by less (tests compare it with exact sums).
    """
    if not hits:
        return 0.0
    p = float(betaincinv(hits, n - hits + 1, error)) * (1 - _OUTWARD)
    # What betainc does not confirm is no bound; 0 always is one.
    return p if betainc(hits, n - hits + 1, p) < error else 0.0
