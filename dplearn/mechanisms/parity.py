"""A private solution of linear equations over GF(2): of a random sample of them, or none at all.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> A = np.eye(3, dtype=np.uint8)[np.arange(300) % 3]
>>> released = [
...     consistent_parity(A, A[:, 1], privacy=ApproxDP(1), dice=SeededDice(seed)) for seed in range(7, 11)
... ]
>>> [None if solution is None else solution.tolist() for solution in released]
[[0, 1, 0], [0, 1, 0], None, [0, 1, 0]]

`parity_probabilities` gives the probability that a record is kept, and that the mechanism abstains:

>>> keep, decline = parity_probabilities(1)
>>> round(float(keep), 4), round(float(decline), 4)
(0.4621, 0.2119)
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.core.exact import exp_bounds
from dplearn.core.gf2 import BitMatrix, pack, uniform_solution
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

__all__ = ["consistent_parity", "parity_probabilities"]

_LARGEST = 40  # greater epsilons count as this: there hardly a record is left out
_BITS = 64  # of the number that takes the place of exp(epsilon)


def consistent_parity(A: Any, b: Any, *, privacy: ApproxDP, dice: Dice) -> NDArray[np.uint8] | None:
    """Return a random solution of a random sample of the equations A x = b over GF(2), or None.

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Private. Each row is one record's equation; d is at least 1.
    b : array-like of bits of shape (n,)
        Private. The records' right-hand sides.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.

    Returns
    -------
    ndarray of uint8 of shape (d,), or None
        None with probability `parity_probabilities(epsilon)[1]` whatever the data, and where the equations
        that were kept have no solution. Otherwise each of their solutions is equally probable.

    Raises
    ------
    TypeError, ValueError
        If `A` and `b` are not bits of these shapes.

    Notes
    -----
    **Privacy.** `privacy`, where neighbours differ in one replaced equation. Proof: fix which other records
    are kept, and let V be the solutions they leave. One more equation leaves all of V, half of it, or
    nothing, so each x has probability at most twice that which it has without the equation: on neighbours
    P(x) is at most (2 p + 1 - p) / (1 - p) = 1 + 2 p / (1 - p) times P'(x), p being the chance to keep. Let b
    be the probability that the others have no solution. That of None lies between q + (1 - q) b and
    q + (1 - q) (p + (1 - p) b), q being the chance to decline beforehand; their ratio falls with b, from
    1 + p (1 - q) / q. `parity_probabilities` makes both bounds equal, at most exp(epsilon). Averaging over
    what else is kept changes neither.

    **Assumes.** One record is one equation; their number and d are public.

    **Accuracy.** Where b is a parity of A whose rows are drawn independently, the solution errs on more than
    a share alpha of new rows with probability at most q + (1 - q) 2**(d - 1) (1 - p alpha)**n.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 4, algorithm A. There
    p = epsilon / 4, q = 1/2 and epsilon <= 1/2; here both chances are the best that the proof allows, for
    every epsilon, and rational.
    """
    keep, abstain = parity_probabilities(epsilon_of(privacy))
    matrix, right = _checked(A, b)
    n, d = matrix.shape
    if dice.bernoulli(abstain):
        return None
    kept = np.flatnonzero(dice.bernoulli(keep, size=n))
    free = random_bits(d, dice)  # a bit for each unknown, used or not: no draw depends on the data
    return uniform_solution(matrix[kept], right[kept], free)


def random_bits(d: int, dice: Dice) -> NDArray[np.uint8]:
    """Return d independent fair bits.

    Parameters
    ----------
    d : int
        How many.
    dice : Dice
        Source of chance.

    Notes
    -----
    **Privacy.** Sees no data. **Assumes.** d is public. **Accuracy.** Exactly uniform: one draw below 2**d.
    **Source.** None is needed.
    """
    number = dice.below(1 << d)
    digits = np.frombuffer(number.to_bytes(-(-d // 8), "little"), dtype=np.uint8)
    return np.unpackbits(digits, count=d, bitorder="little")


def _checked(A: Any, b: Any) -> tuple[BitMatrix, NDArray[np.uint8]]:
    """Return equations and right-hand sides; the errors do not show them."""
    matrix = A if isinstance(A, BitMatrix) else pack(A)
    check_count("number of columns of A", matrix.shape[1], low=1)
    right = np.asarray(b)
    if right.shape != matrix.shape[:1] or not ((right == 0) | (right == 1)).all():
        raise ValueError("b must hold one bit, 0 or 1, for each row of A")
    return matrix, right.astype(np.uint8)


def parity_probabilities(epsilon: Any) -> tuple[Fraction, Fraction]:
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
    **Privacy.** `consistent_parity` keeps epsilon with them: 1 + 2 p / (1 - p) and 1 + p (1 - q) / q bound
    the ratios in its proof. Sees no data.

    **Assumes.** epsilon is public.

    **Accuracy.** p is the greatest and q the least that keep both bounds at E, which is exp(epsilon) but for
    one part in 2**62 of E - 1, up to epsilon 40, as which greater ones count.

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
