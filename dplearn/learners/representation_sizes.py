"""Numbers of records with which a private selection among few candidates is accurate, if one of them is good.

A public random choice draws K hypotheses, the candidates, independently of the data. With probability at
least 1 - miss, one of them has error at most kappa. The exponential mechanism or permute-and-flip then
selects a candidate by its number of training errors. It fails if the selected candidate has error above
alpha.

>>> representation_sample_size(2**16 + 1, epsilon=1, alpha=0.1, beta=0.1)
334
>>> representation_sample_size(4097, epsilon=1, alpha=0.1, beta=0.1, kappa=0.005, miss=0.05)
308
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.core.exact import selection_ratio

__all__ = ["rates", "representation_failure", "representation_sample_size"]

_TINY = 1e-9  # the least alpha and beta
_STEPS = np.linspace(0, 1, 65)[1:-1]  # bases of the bound that are tried, as positions between r and 1


def representation_failure(
    class_size: int, n_samples: int, *, epsilon: Any, alpha: Any, kappa: Any = 0, miss: Any = 0
) -> float:
    """Return a bound on the probability of failure; it may exceed 1.

    Parameters
    ----------
    class_size : int
        Number of candidates, K; any size.
    n_samples : int
        Number of records.
    epsilon : number
        Positive.
    alpha : number
        Error above which the selected candidate fails, in (0, 1).
    kappa : number, default=0
        Error of the best candidate, at least 0 and below alpha.
    miss : number, default=0
        Probability that no candidate has error at most kappa, in [0, 1).

    Notes
    -----
    Let q <= kappa be the error of the best candidate, and r the ratio of the selection, just above
    exp(-epsilon / 2). A candidate with error above alpha is selected with probability at most
    min(1, r**(its errors minus those of the best)) <= s**(the same difference), for any s from r to 1: with
    the exponential mechanism its weight is r**(difference) times that of the best; with permute-and-flip it
    must pass a coin of at most this probability. Let p be the probability that only this candidate is wrong
    on a record, and q' <= kappa the probability that only the best is; then p - q' > alpha - kappa. The mean
    of s**(difference) for one record is 1 - (1 - s) p + q' (1 / s - 1), which is 1 - (1 - s) (p - q') +
    q' (1 - s)**2 / s <= 1 - (1 - s) (alpha - kappa) + kappa (1 - s)**2 / s = B. At most K candidates have
    error above alpha, so the probability of failure is at most miss + K B**n. The value is computed with the
    best s of a grid.
    """
    size, n = check_count("class_size", class_size, low=1), check_count("n_samples", n_samples)
    share, mass, missed = _accuracy(alpha, kappa, miss, below=1.0)
    (rate,) = rates(epsilon, share, np.array([mass]))
    exponent = math.log(size) - n * rate
    return missed + (math.exp(exponent) if exponent < 700 else math.inf)


def representation_sample_size(
    class_size: int, *, epsilon: Any, alpha: Any, beta: Any, kappa: Any = 0, miss: Any = 0
) -> int:
    """Return the least number of records for which `representation_failure` is at most beta.

    Parameters
    ----------
    class_size : int
        Number of candidates, K; any size.
    epsilon : number
        Positive.
    alpha, beta : number
        Allowed error and probability of failure, in (0, 1).
    kappa : number, default=0
        Error of the best candidate, at least 0 and below alpha.
    miss : number, default=0
        Probability that no candidate has error at most kappa, at least 0 and below beta.

    Returns
    -------
    int
        At kappa = 0 about 2 ln(K / (beta - miss)) / (epsilon alpha), if epsilon is small.

    Raises
    ------
    ValueError
        If kappa is not below alpha, miss is not below beta, or another number is out of range.
    """
    size = check_count("class_size", class_size, low=1)
    failure = float(check_number("beta", beta, low=_TINY, below=1))
    share, mass, missed = _accuracy(alpha, kappa, miss, below=failure)
    (rate,) = rates(epsilon, share, np.array([mass]))
    if rate <= 0:
        raise ValueError(f"kappa must be so far below alpha that errors differ, got {kappa} and {alpha}")
    needed: int = math.ceil((math.log(size) - math.log(failure - missed)) / rate)
    return max(1, needed)


def rates(epsilon: Any, alpha: float, masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each error kappa in `masses` the rate -ln B of `representation_failure`, not below 0."""
    least = float(selection_ratio(check_number("epsilon", epsilon)))
    s = (least + (1 - least) * np.append(0.0, _STEPS))[:, None]
    fall = (1 - s) * (alpha - masses) - masses * (1 - s) ** 2 / s
    found: NDArray[np.float64] = -np.log1p(-np.maximum(0.0, np.max(fall, axis=0)))
    return found


def _accuracy(alpha: Any, kappa: Any, miss: Any, *, below: float) -> tuple[float, float, float]:
    share = float(check_number("alpha", alpha, low=_TINY, below=1))
    mass = float(check_number("kappa", kappa, low=0, below=share))
    return share, mass, float(check_number("miss", miss, low=0, below=below))
