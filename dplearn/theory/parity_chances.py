"""With what chance a private solution of equations keeps a record, and with what it declines to look.

>>> keep, decline = parity_chances(1)
>>> round(float(keep), 4), round(float(decline), 4)
(0.4621, 0.2119)
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any

from dplearn._validation import check_number
from dplearn.core.exact import exp_bounds

__all__ = ["parity_chances"]

_LARGEST = 40  # greater epsilons count as this: there hardly a record is left out
_BITS = 64  # of the number that takes the place of exp(epsilon)


def parity_chances(epsilon: Any) -> tuple[Fraction, Fraction]:
    """Return with what probabilities `consistent_parity` keeps a record, and declines beforehand.

    Parameters
    ----------
    epsilon : float
        Positive.

    Returns
    -------
    keep : Fraction
        (E - 1) / (E + 1), for a rational E just below exp(epsilon): the greatest p with
        1 + 2 p / (1 - p) <= E.
    decline : Fraction
        1 / (E + 2): the least q with 1 + p (1 - q) / q <= E for that p.

    Raises
    ------
    TypeError, ValueError
        If epsilon is not a positive number.

    Notes
    -----
    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Lemmas 4.2 and 4.3. There
    p = epsilon / 4 for epsilon at most 1/2, and q = 1/2.
    """
    return _chances(check_number("epsilon", epsilon, above=0))


@lru_cache(maxsize=64)
def _chances(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return both chances; E is rounded down to so many bits beyond the first of E - 1."""
    # Of so many digits more than are 0 in exp(epsilon) - 1 before the first that is not.
    zeros = max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    low = exp_bounds(min(epsilon, Fraction(_LARGEST)), digits=40 + zeros)[0] - 1
    unit = Fraction(2) ** (low.numerator.bit_length() - low.denominator.bit_length() - _BITS)
    growth = low // unit * unit  # E - 1
    return growth / (growth + 2), 1 / (growth + 3)
