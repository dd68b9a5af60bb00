"""Secrecy of the sample: what a guarantee becomes when it is kept on rows that are drawn in secret.

>>> guarantee = subsampled(ApproxDP(1, 1e-6), m=100, n=10_000)
>>> guarantee.epsilon < Fraction("0.01719"), guarantee.delta < Fraction("1.009e-8")
(True, True)
>>> published = published_subsampled(ApproxDP(1, 1e-6), m=100, n=10_000)
>>> published.epsilon == Fraction("0.06"), published.delta > Fraction("4.24e-8")
(True, True)
"""

from dataclasses import replace
from fractions import Fraction

from dplearn._validation import check_choice, check_count, check_number
from dplearn.core.exact import exp_bounds, short_above
from dplearn.privacy.derived import SampledWithReplacement
from dplearn.privacy.events import Approximate
from dplearn.privacy.guarantees import ApproxDP

__all__ = ["published_subsampled", "subsampled"]


def subsampled(guarantee: ApproxDP, *, m: int, n: int) -> ApproxDP:
    """Return the guarantee for n records, of which `guarantee` protects m rows that are drawn in secret.

    Parameters
    ----------
    guarantee : ApproxDP
        For one replaced row of the m, features and label.
    m : int
        Rows drawn, at least 1: each uniformly from the n records, independently, with replacement.
    n : int
        Records, at least 1; public.

    Returns
    -------
    ApproxDP
        For one replaced record of the n. With R = (1 + (exp(epsilon) - 1) / n)^m: epsilon' = ln R and
        delta' = delta (R - 1) / (exp(epsilon) - 1), rounded up after 100 bits.

    Raises
    ------
    TypeError, ValueError
        If `guarantee` is another kind of guarantee, or R exceeds exp(epsilon), which for epsilon at most 1
        and n at least 2 m it does not.

    Notes
    -----
    **Privacy.** See `SampledWithReplacement` for the proof; where delta is 0 some mechanism attains it.

    **Assumes.** Which rows were drawn is never shown, not even by what the computation takes as public: so a
    guarantee about labels alone, beside which features may be shown, is refused.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 4.12; see `published_subsampled`.
    """
    m, n = _checked(guarantee, m, n)
    event = SampledWithReplacement(Approximate(guarantee.epsilon, guarantee.delta), m, n)
    return _guaranteed(guarantee, event.pure, event.failure, m, n)


def published_subsampled(guarantee: ApproxDP, *, m: int, n: int) -> ApproxDP:
    """Return the looser guarantee that Lemma 4.12 states: 6 epsilon m/n and 4 exp(6 epsilon m/n) (m/n) delta.

    Parameters
    ----------
    guarantee, m, n
        As for `subsampled`; epsilon at most 1, and n at least 2 m.
    """
    m, n = _checked(guarantee, m, n)
    check_number("epsilon", guarantee.epsilon, high=1)
    check_count("n", n, low=2 * m)
    epsilon = 6 * guarantee.epsilon * Fraction(m, n)
    delta = short_above(4 * exp_bounds(epsilon)[1] * Fraction(m, n) * guarantee.delta)
    return _guaranteed(guarantee, epsilon, delta, m, n)


def _checked(guarantee: ApproxDP, m: int, n: int) -> tuple[int, int]:
    if not isinstance(guarantee, ApproxDP):
        raise TypeError(f"guarantee must be an ApproxDP, got {guarantee!r}")
    check_choice("neighbors", guarantee.neighbors, ("replace_one",))
    check_choice("protects", guarantee.protects, ("examples",))
    return check_count("m", m, low=1), check_count("n", n, low=1)


def _guaranteed(guarantee: ApproxDP, epsilon: Fraction, delta: Fraction, m: int, n: int) -> ApproxDP:
    drawn = f"{m} rows are drawn with replacement from {n} records, and nobody is shown which"
    return replace(guarantee, epsilon=epsilon, delta=delta, assumes=(*guarantee.assumes, drawn))
