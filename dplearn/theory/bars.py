"""From what noisy value on, or with what probability, a mechanism answers: from public parameters alone.

>>> choosing_bar(1, ApproxDP(1, 0.05)), stable_histogram_bar(ApproxDP(1, 1e-6))
(15, 28)
>>> speak = speaking_probabilities(ApproxDP(0.1, 1e-6))
>>> len(speak), next(distance for distance, p in enumerate(speak) if p >= Fraction(95, 100))
(218, 131)
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil

from dplearn._validation import check_count, check_number
from dplearn.core.distributions import laplace_quantile, power_at_most
from dplearn.core.exact import decay_ratio, exp_bounds, log_bounds
from dplearn.privacy import ApproxDP
from dplearn.privacy.spending import delta_of, epsilon_of

__all__ = [
    "choosing_bar",
    "speaking_probabilities",
    "speaking_table",
    "stable_histogram_bar",
]

_LARGEST = Fraction(700)  # greater epsilons count as this
_LONGEST = 1_000_000  # entries of the table of probabilities


def choosing_bar(growth: int, privacy: ApproxDP) -> int:
    """Return the noisy quality from which on the choosing mechanism answers.

    Parameters
    ----------
    growth : int
        As for `choosing_mechanism`.
    privacy : ApproxDP
        Epsilon and delta positive.
    """
    growth = check_count("growth", growth, low=1)
    return _choosing_bar(growth, epsilon_of(privacy), delta_of(privacy))


@lru_cache(maxsize=256)
def _choosing_bar(growth: int, epsilon: Fraction, delta: Fraction) -> int:
    ratio = decay_ratio(epsilon / 4)
    # The least quality at which new solutions cannot more than double the growth of the sum of weights.
    crowded = max(1, power_at_most(ratio, (1 / ratio - 1) / growth))
    unlikely = crowded - 1 + laplace_quantile(ratio, delta)
    return max(unlikely, 1 + power_at_most(ratio, Fraction(delta * (1 + ratio) / growth)))


def stable_histogram_bar(privacy: ApproxDP) -> int:
    """Return the least noisy count that a stable histogram publishes.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon and delta positive.

    Returns
    -------
    int
        The least bar with P[1 + Z >= bar] <= delta, Z the noise of one count.
    """
    ratio = decay_ratio(epsilon_of(privacy) / 2)
    return 1 + laplace_quantile(ratio, delta_of(privacy))


def speaking_probabilities(privacy: ApproxDP) -> tuple[Fraction, ...]:
    """Return the greatest probabilities to speak that `privacy` allows at distance 0, 1, ..., till one is 1.

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon and delta positive, and epsilon large enough for a table of at most a million entries.

    Returns
    -------
    tuple of Fraction
        p(0) = delta, then p(d + 1) = min(exp(epsilon) p(d) + delta, 1 - exp(-epsilon) (1 - p(d) - delta), 1),
        each rounded down by less than a part in 2**64 of itself.

    Raises
    ------
    ValueError
        If epsilon or delta is 0, or epsilon too small.
    """
    table, one = speaking_table(privacy)
    return tuple(Fraction(p, one) for p in table)


def speaking_table(privacy: ApproxDP) -> tuple[list[int], int]:
    """Return the numerators of `speaking_probabilities` and their common denominator.

    Parameters
    ----------
    privacy : ApproxDP
        As for `speaking_probabilities`.
    """
    delta = delta_of(privacy)
    # Going up from delta to 1/2, and again from there, takes ln(1 / delta) / epsilon steps each or fewer.
    least = ceil(2 * log_bounds(2 / delta)[1]) / Fraction(_LONGEST)
    return _speaking_table(check_number("epsilon", epsilon_of(privacy), low=least), delta)


@lru_cache(maxsize=64)
def _speaking_table(epsilon: Fraction, delta: Fraction) -> tuple[list[int], int]:
    """Return numerators and their common denominator; reducing them all would take most of the time."""
    # Below exp(epsilon), so that both steps are at most what they stand for.
    growth = exp_bounds(min(epsilon, _LARGEST), digits=60)[0]
    a, b = growth.denominator, growth.numerator
    one = ceil(1 / delta) << 128
    slack = delta.numerator * one // delta.denominator
    table = [slack]
    while table[-1] < one:
        p = table[-1]
        table.append(min(p * b // a + slack, one - -(-a * (one - p - slack) // b), one))
    return table, one
