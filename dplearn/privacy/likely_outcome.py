"""What a release costs on data on which its outcome is nearly certain: less than on the worst data.

Let P and P' be the distributions of a release on the actual data and on a neighbour, whose Renyi divergences
of every order a are at most rho a both ways, and let w be an outcome with P[not w] <= q. For any orders m1 >=
a > 1 and m2 > 1, with

    x = (q exp(rho m2))^(1 - 1/m2),   A = (1 - q) / (1 - x),   B = exp(rho m1) q^(-1/(m1 - 1)),

the divergence of order a of P from P' satisfies exp((a - 1) D) <= F(q) = (1 - q) A^(a - 1) + q B^(a - 1),
provided that x < 1, A <= B, and

    ln q <= rho m2 (m2 - 1) - m2 ln(m1 / (m1 - 1)) - m2 ln(m2 / (m2 - 1)).                             (1)

Proof. First let q = P[not w]. The divergence of order m2 of P' from P bounds P'[not w] by x, so that
P'[w] >= 1 - x, and w contributes at most (1 - q) A^(a - 1) to the mean of (P / P')^(a - 1) under P. Given
not w, the mean of (P / P')^(a - 1) is at most that of (P / P')^(m1 - 1) to the power (a - 1) / (m1 - 1)
(Jensen), and q times the latter is at most exp((m1 - 1) rho m1): the rest contributes q B^(a - 1) at most.

It remains that F rises up to q. With x' = dx/dq the derivative of F is

    A^(a - 1) (-a + (a - 1) A x') + B^(a - 1) (m1 - a) / (m1 - 1).

(1) says x' >= m1 / (m1 - 1) at q. It holds for every smaller q too; it implies x >= q and so A >= 1, and then
A rises, since its logarithm has the derivative (A x' - 1) / (1 - q) > 0, while B falls: B >= A on the way.
Hence the derivative is at least A^(a - 1) times -a + (a - 1) m1 / (m1 - 1) + (m1 - a) / (m1 - 1) = 0.

This is Theorem 6 of Papernot et al. (2018), with their choice (Proposition 10) m2 = sqrt(ln(1/q) / rho) and
m1 = m2 + 1. They do not list A <= B. Where a condition fails, rho a stands.

>>> import numpy as np
>>> likely_outcome_renyi(np.array([-30.0, -0.7]), 1 / 1600, np.array([2.0, 20.0])).round(9)
array([[0.     , 0.     ],
       [0.00125, 0.0125 ]])
"""

import numpy as np
from numpy.typing import NDArray

from dplearn.privacy.renyi_curves import Floats

__all__ = ["likely_outcome_renyi"]

_LEAST_LOG_Q = -1e100  # raising q to it is safe, since F rises
_RAISED, _LOWERED = 1 + 2.0**-48, 1 - 2.0**-48
_CACHED = 1 << 14  # numbers in a block: what is computed of them stays in the cache
_SHORT_OF = 2.0**-40  # what is left of a condition for rounding


def likely_outcome_renyi(log_q: Floats, rho: float, orders: Floats) -> Floats:
    """Return bounds on the Renyi divergences of releases on data that make one outcome of each likely.

    Parameters
    ----------
    log_q : ndarray of float of shape (n,)
        Private. For each release, a bound on the logarithm of the probability of all outcomes but one; at
        most 0, minus infinity included.
    rho : float
        From 1e-100 to 1e100; each release is rho zero-concentrated private on any data.
    orders : ndarray of float of shape (k,)
        Finite and above 1.

    Returns
    -------
    ndarray of float of shape (n, k)
        Private. Rounded up; at most rho times the order, rounded up.
    """
    with np.errstate(over="ignore"):
        line = orders * rho * _RAISED
    bounds = np.empty((len(log_q), len(orders)))
    bounds[:] = line
    constants = _Constants(np.maximum(log_q, _LEAST_LOG_Q), rho)
    rows = np.flatnonzero(constants.largest)
    step = max(1, _CACHED // max(1, len(orders)))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        bounds[block] = np.fmin(constants.curves(block, orders), line)
    return bounds


class _Constants:
    """What the theorem needs of each q, whatever the order."""

    def __init__(self, log_q: Floats, rho: float):
        with np.errstate(all="ignore"):  # where the theorem does not apply anything may come out
            m2 = np.sqrt(-log_q / rho)
            m1 = m2 + 1
            cost1, cost2 = rho * m1, rho * m2
            # Each rounding here is one of the size of ln q or of cost2, so that this is ln x from above.
            log_x = (log_q + cost2) * (1 - 1 / m2) + (_RAISED - 1) * (cost2 - log_q)
            gain, loss = cost2 * (m2 - 1), m2 * (np.log1p(1 / (m1 - 1)) + np.log1p(1 / (m2 - 1)))
            rises = log_q <= gain - loss - _SHORT_OF * (gain + loss)
            # (1) is 2 ln q <= -rho m2 - m2 ln(1 + 1/m2) - m2 ln(1 + 1/(m2 - 1)) <= -1/2 - 1, so that q < .48.
            self.rest = np.log1p(-np.exp(log_q)) * _LOWERED  # ln(1 - q)
            left = np.where(log_x < -1, np.log1p(-np.exp(log_x)), np.log(-np.expm1(log_x)))
            self.share = -left * _RAISED  # -ln(1 - x), with all its digits for any x
            self.log_b = (cost1 - log_q / (m1 - 1)) * _RAISED
            ordered = self.rest + self.share <= self.log_b * _LOWERED
            self.log_q = log_q * _LOWERED
            self.largest = np.where((m2 > 1) & (log_x < 0) & rises & ordered, m1, 0.0)

    def curves(self, rows: NDArray[np.intp], orders: Floats) -> Floats:
        """Return ln F / (order - 1) of some rows, and infinity at orders above m1.

        Both exponents are linear in the order. Each of their terms was rounded up by more than the steps that
        follow are off by, so that nothing is lost where the terms of the first cancel.
        """
        more = orders - 1
        with np.errstate(over="ignore", invalid="ignore"):  # beyond m1, where nothing is kept
            certain = np.multiply.outer(self.rest[rows], orders)
            others = np.multiply.outer(self.share[rows], more)
            certain += others
            np.multiply.outer(self.log_b[rows], more, out=others)
            others += self.log_q[rows, None]
            larger = np.maximum(certain, others)
            others -= certain
            np.abs(others, out=others)
            np.exp(np.negative(others, out=others), out=others)
            larger += np.log1p(others, out=others)
            larger *= _RAISED / more
        np.maximum(larger, 0.0, out=larger)
        np.copyto(larger, np.inf, where=orders > self.largest[rows, None])
        bounds: Floats = larger
        return bounds
