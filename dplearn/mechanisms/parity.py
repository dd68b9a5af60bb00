"""Private learning of parities: a random solution of a random sample of linear equations over GF(2)."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.kernels import BitMatrix, exp_bounds, pack
from dplearn.kernels.gf2 import uniform_solution
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

_LARGEST = 40  # greater epsilons count as 40, at which nearly every record is kept
_BITS = 64  # precision of E - 1, where E replaces exp(epsilon)


def consistent_parity(A: Any, b: Any, *, privacy: ApproxDP, dice: Dice) -> NDArray[np.uint8] | None:
    """Return a random solution of a random sample of the equations A x = b over GF(2), or None.

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Private. Row i holds the coefficients of record i's equation; d is at least 1.
    b : array-like of bits of shape (n,)
        Private. The records' right-hand sides.

    Returns
    -------
    ndarray of uint8 of shape (d,), or None
        None (abstention) with probability `parity_probabilities(epsilon)[1]`, independently of the data, and
        whenever the kept equations have no solution. Otherwise a uniformly random solution of them.

    Notes
    -----
    **Privacy.** `privacy`, where neighbours differ in one replaced equation: one more equation at most
    doubles the probability of each solution, and changes that of None by a factor of at most 1 + p (1 - q) /
    q, for the probabilities p to keep a record and q to abstain of `parity_probabilities`. Proof:
    docs/theory/parity.md.

    **Assumes.** One record is one equation; n and d are public.

    **Accuracy.** If the rows of A are independent and identically distributed and b is a parity of them, the
    mechanism abstains, or its solution is wrong on a fraction of more than alpha of new rows, with
    probability at most q + (1 - q) 2**(d - 1) (1 - p alpha)**n.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 4, algorithm A, with p =
    epsilon / 4, q = 1/2 and epsilon <= 1/2; here both are the best that the proof allows, for every epsilon.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import consistent_parity
    >>> from dplearn.privacy import ApproxDP
    >>> A = np.eye(3, dtype=np.uint8)[np.arange(300) % 3]
    >>> consistent_parity(A, A[:, 1], privacy=ApproxDP(1), dice=SeededDice(7)).tolist()
    [0, 1, 0]
    >>> consistent_parity(A, A[:, 1], privacy=ApproxDP(1), dice=SeededDice(9)) is None  # it abstains
    True
    """
    keep, abstain = parity_probabilities(epsilon_of(privacy))
    matrix, right = _checked(A, b)
    n, d = matrix.shape
    if dice.bernoulli(abstain):
        return None
    kept = np.flatnonzero(dice.bernoulli(keep, size=n))
    free = random_bits(d, dice)  # one bit an unknown, even if it is not used: no draw depends on the data
    return uniform_solution(matrix[kept], right[kept], free)


def random_bits(d: int, dice: Dice) -> NDArray[np.uint8]:
    """Return d independent fair bits, by one draw below 2**d."""
    number = dice.below(1 << d)
    digits = np.frombuffer(number.to_bytes(-(-d // 8), "little"), dtype=np.uint8)
    return np.unpackbits(digits, count=d, bitorder="little")


def _checked(A: Any, b: Any) -> tuple[BitMatrix, NDArray[np.uint8]]:
    """Return checked equations and right-hand sides; error messages do not contain them."""
    matrix = A if isinstance(A, BitMatrix) else pack(A)
    check_count("number of columns of A", matrix.shape[1], low=1)
    right = np.asarray(b)
    if right.shape != matrix.shape[:1] or not ((right == 0) | (right == 1)).all():
        raise ValueError("b must hold one bit, 0 or 1, for each row of A")
    return matrix, right.astype(np.uint8)


def parity_probabilities(epsilon: Any) -> tuple[Fraction, Fraction]:
    """Return the probabilities that `consistent_parity` keeps a record and that it abstains at the start.

    Returns
    -------
    keep : Fraction
        (E - 1) / (E + 1), for a rational E just below exp(epsilon): the greatest p with
        1 + 2 p / (1 - p) <= E.
    abstain : Fraction
        1 / (E + 2): the least q with 1 + p (1 - q) / q <= E for that p.

    Notes
    -----
    **Privacy.** With these probabilities `consistent_parity` satisfies epsilon: 1 + 2 p / (1 - p) and
    1 + p (1 - q) / q bound the ratios in its proof. Reads no data.

    **Assumes.** epsilon is public.

    **Accuracy.** p is the greatest and q the least for which both bounds are at most E. E - 1 is exp(epsilon)
    - 1 to one part in 2**62; epsilons above 40 count as 40.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Lemmas 4.2 and 4.3.

    Examples
    --------
    >>> from dplearn.theory import parity_probabilities
    >>> keep, abstain = parity_probabilities(1)
    >>> round(float(keep), 4), round(float(abstain), 4)
    (0.4621, 0.2119)
    """
    return _chances(check_number("epsilon", epsilon, above=0))


@lru_cache(maxsize=64)
def _chances(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return both probabilities, with E - 1 rounded down to `_BITS` significant bits."""
    # A small exp(epsilon) - 1 starts with zero digits; this many extra digits make up for them.
    zeros = max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    low = exp_bounds(min(epsilon, Fraction(_LARGEST)), digits=40 + zeros)[0] - 1
    unit = Fraction(2) ** (low.numerator.bit_length() - low.denominator.bit_length() - _BITS)
    growth = low // unit * unit  # E - 1
    return growth / (growth + 2), 1 / (growth + 3)
