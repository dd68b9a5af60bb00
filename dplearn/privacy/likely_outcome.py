"""Renyi divergence bounds that depend on the data: smaller if one outcome of a release is nearly certain.

Let P and P' be the output distributions of a release on the actual data and on a neighbour. For every order
a, let the Renyi divergences of P from P' and of P' from P be at most rho a. Let w be an outcome with P[not w]
<= q. For any orders m1 >= a > 1 and m2 > 1, with

    x = (q exp(rho m2))^(1 - 1/m2),   A = (1 - q) / (1 - x),   B = exp(rho m1) q^(-1/(m1 - 1)),

the divergence of order a of P from P' satisfies exp((a - 1) D) <= F(q) = (1 - q) A^(a - 1) + q B^(a - 1),
provided that x < 1, A <= B, and

    ln q <= rho m2 (m2 - 1) - m2 ln(m1 / (m1 - 1)) - m2 ln(m2 / (m2 - 1)).                             (1)

Proof. First let q = P[not w]. The divergence of order m2 of P' from P bounds P'[not w] by x, so P'[w] >= 1 -
x, and w contributes at most (1 - q) A^(a - 1) to the mean of (P / P')^(a - 1) under P. By Jensen's
inequality, the mean of (P / P')^(a - 1) given not w is at most the mean of (P / P')^(m1 - 1) given not w to
the power (a - 1) / (m1 - 1), and q times the latter mean is at most exp((m1 - 1) rho m1). So the other
outcomes contribute at most q B^(a - 1).

It remains to show that F increases on the interval up to q. With x' = dx/dq, the derivative of F is

    A^(a - 1) (-a + (a - 1) A x') + B^(a - 1) (m1 - a) / (m1 - 1).

Inequality (1) states that x' >= m1 / (m1 - 1) at q, and then the same holds at every smaller q. It implies x
>= q, hence A >= 1. So A increases with q, since the derivative of its logarithm is (A x' - 1) / (1 - q) > 0,
and B decreases; since A <= B at q, the same holds at every smaller q. The derivative of F is therefore at
least A^(a - 1) times -a + (a - 1) m1 / (m1 - 1) + (m1 - a) / (m1 - 1) = 0.

This is Theorem 6 of Papernot et al. (2018), with their choice (Proposition 10) m2 = sqrt(ln(1/q) / rho) and
m1 = m2 + 1. They do not list the condition A <= B. If a condition fails, the bound is rho a.

>>> import numpy as np
>>> likely_outcome_renyi(np.array([-30.0, -0.7]), 1 / 1600, np.array([2.0, 20.0])).round(9)
array([[0.     , 0.     ],
       [0.00125, 0.0125 ]])
"""

import numpy as np
from numpy.typing import NDArray

from dplearn.privacy.renyi_curves import Floats

__all__ = ["likely_outcome_renyi"]

_LEAST_LOG_Q = -1e100  # a smaller q is raised to exp of it: F increases with q
_RAISED, _LOWERED = 1 + 2.0**-48, 1 - 2.0**-48
_CACHED = 1 << 14  # numbers in a block, few enough for intermediate results to stay in the cache
_SHORT_OF = 2.0**-40  # relative margin for rounding in condition (1)


def likely_outcome_renyi(log_q: Floats, rho: float, orders: Floats) -> Floats:
    """Return bounds on the Renyi divergences of releases that each have one likely outcome.

    Parameters
    ----------
    log_q : ndarray of float of shape (n,)
        Private. For each release, a bound on the logarithm of the probability of all outcomes but one; at
        most 0, possibly minus infinity.
    rho : float
        From 1e-100 to 1e100; each release is rho zero-concentrated private for all data sets.
    orders : ndarray of float of shape (k,)
        Finite and above 1.

    Returns
    -------
    ndarray of float of shape (n, k)
        Private. Divergences, rounded up; at most rho times the order, rounded up.
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
    """The terms of the theorem that depend on q and not on the order."""

    def __init__(self, log_q: Floats, rho: float):
        with np.errstate(all="ignore"):  # results are discarded where the theorem does not apply
            m2 = np.sqrt(-log_q / rho)
            m1 = m2 + 1
            cost1, cost2 = rho * m1, rho * m2
            # Each rounding error is relative to ln q or cost2, so the last term makes this a bound above ln
            # x.
            log_x = (log_q + cost2) * (1 - 1 / m2) + (_RAISED - 1) * (cost2 - log_q)
            gain, loss = cost2 * (m2 - 1), m2 * (np.log1p(1 / (m1 - 1)) + np.log1p(1 / (m2 - 1)))
            rises = log_q <= gain - loss - _SHORT_OF * (gain + loss)
            # (1) is 2 ln q <= -rho m2 - m2 ln(1 + 1/m2) - m2 ln(1 + 1/(m2 - 1)) <= -1/2 - 1, so that q < .48.
            self.rest = np.log1p(-np.exp(log_q)) * _LOWERED  # ln(1 - q)
            left = np.where(log_x < -1, np.log1p(-np.exp(log_x)), np.log(-np.expm1(log_x)))
            self.share = -left * _RAISED  # -ln(1 - x), to full precision for any x
            self.log_b = (cost1 - log_q / (m1 - 1)) * _RAISED
            ordered = self.rest + self.share <= self.log_b * _LOWERED
            self.log_q = log_q * _LOWERED
            self.largest = np.where((m2 > 1) & (log_x < 0) & rises & ordered, m1, 0.0)

    def curves(self, rows: NDArray[np.intp], orders: Floats) -> Floats:
        """Return ln F / (order - 1) of some rows, and infinity at orders above m1.

        The logarithms of both terms of F are linear in the order. Each of their coefficients was rounded up
        by more than the errors of the following steps, so the bound also holds where the terms of the first
        one cancel.
        """
        more = orders - 1
        with np.errstate(over="ignore", invalid="ignore"):  # above m1, where the results are discarded
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
