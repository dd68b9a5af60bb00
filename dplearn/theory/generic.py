"""Sample sizes of the generic private learner (Kasiviswanathan et al. 2011, Section 3).

The learner picks a concept by the exponential mechanism on the number of errors. It fails if the concept's
true error exceeds the least in the class by more than alpha; over the sample and the learner's chance this
happens with probability at most |H| (2 exp(-2 n alpha**2 / 9) + exp(-epsilon n alpha / 6)).

>>> generic_sample_size(2, epsilon=0.5, alpha=0.5, beta=0.25, bound="paper")
50
>>> generic_sample_size(2, epsilon=0.5, alpha=0.5, beta=0.25)
65
"""

import math
from typing import Any

from dplearn._validation import check_choice, check_count, check_number
from dplearn.theory.search import first

__all__ = ["generic_failure_bound", "generic_sample_size"]

_TINY = 1e-100  # below it squares and quotients of floats lose their meaning


def generic_sample_size(class_size: int, *, epsilon: Any, alpha: Any, beta: Any, bound: str = "proof") -> int:
    """Return how many examples make the generic learner agnostically accurate.

    Parameters
    ----------
    class_size : int
        Number of concepts, ``|H|``; any size.
    epsilon : float
        Positive.
    alpha : float
        Excess error over the best concept, in (0, 1).
    beta : float
        Probability of failure, in (0, 1).
    bound : {"proof", "paper"}, default="proof"
        "proof": the least n from which on the failure bound in the proof of Theorem 3.4 is at most beta.
        "paper": the closed form ``6 (ln|H| + ln(1/beta)) max(1/(epsilon alpha), 1/alpha**2)`` as the theorem
        states it, which for small classes is less than its own proof needs.

    Returns
    -------
    int
        Number of examples.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    """
    class_size = check_count("class_size", class_size, low=1)
    epsilon = _positive("epsilon", epsilon)
    alpha = _positive("alpha", alpha, below=1)
    beta = _positive("beta", beta, below=1)
    if check_choice("bound", bound, ("proof", "paper")) == "paper":
        rate = max(1 / (epsilon * alpha), 1 / (alpha * alpha))
        stated: int = math.ceil(6 * (math.log(class_size) - math.log(beta)) * rate)
        return max(1, stated)

    def suffices(n: int) -> bool:
        return _log_failure(class_size, n, epsilon, alpha) <= math.log(beta)

    enough = 1
    while not suffices(enough):
        enough *= 2
    return first(suffices, enough // 2 + 1, enough)  # the bound falls with n


def generic_failure_bound(class_size: int, n_samples: int, *, epsilon: Any, alpha: Any) -> float:
    """Return the proof's bound on the probability that the generic learner fails; it may exceed 1.

    Parameters
    ----------
    class_size, n_samples : int
        Number of concepts and of examples.
    epsilon, alpha : float
        As for `generic_sample_size`.
    """
    class_size = check_count("class_size", class_size, low=1)
    n_samples = check_count("n_samples", n_samples, low=0)
    epsilon = _positive("epsilon", epsilon)
    alpha = _positive("alpha", alpha, below=1)
    exponent = _log_failure(class_size, n_samples, epsilon, alpha)
    return math.exp(exponent) if exponent < 700 else math.inf


def _positive(name: str, value: Any, below: int | None = None) -> float:
    number = check_number(name, value, above=0, below=below)
    return float(check_number(name, number, low=_TINY))


def _log_failure(class_size: int, n: int, epsilon: float, alpha: float) -> float:
    sampling, privacy = math.log(2) - 2 * n * alpha**2 / 9, -epsilon * n * alpha / 6
    high, low = max(sampling, privacy), min(sampling, privacy)
    return math.log(class_size) + high + math.log1p(math.exp(low - high))
