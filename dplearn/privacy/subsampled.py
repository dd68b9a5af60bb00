"""Secrecy of the sample: the guarantee for n records of a release computed from a secret sample of m rows."""

from dataclasses import replace
from fractions import Fraction

from dplearn._validation import check_choice, check_count, check_number
from dplearn.core.exact import exp_bounds, short_above
from dplearn.privacy.derived import SampledWithReplacement
from dplearn.privacy.events import Approximate
from dplearn.privacy.guarantees import ApproxDP

__all__ = ["published_subsampled", "subsampled"]


def subsampled(guarantee: ApproxDP, *, m: int, n: int) -> ApproxDP:
    """Return the guarantee for n records of a release on a secret sample of m rows.

    Parameters
    ----------
    guarantee : ApproxDP
        The release's guarantee for one replaced row of the m, features and label.
    m : int
        Number of rows drawn, at least 1: each uniformly from the n records, independently, with replacement.
    n : int
        Number of records, at least 1; public.

    Returns
    -------
    ApproxDP
        For one replaced record of the n. With R = (1 + (exp(epsilon) - 1) / n)^m: epsilon' = ln R and
        delta' = delta (R - 1) / (exp(epsilon) - 1), rounded up after 100 bits.

    Raises
    ------
    TypeError, ValueError
        If `guarantee` is of another kind, or R exceeds exp(epsilon); R does not exceed it if epsilon is at
        most 1 and n at least 2 m.

    Notes
    -----
    **Privacy.** See `SampledWithReplacement` for the proof; if delta is 0, some mechanism attains the bound.

    **Assumes.** The sampled rows stay secret. The release must not treat any part of them as public: a
    guarantee that protects only labels, with public features, is therefore refused.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 4.12; see `published_subsampled`.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP, subsampled
    >>> guarantee = subsampled(ApproxDP(1, 1e-6), m=100, n=10_000)
    >>> round(float(guarantee.epsilon), 5), float(guarantee.delta) < 1.009e-8
    (0.01718, True)
    """
    m, n = _checked(guarantee, m, n)
    event = SampledWithReplacement(Approximate(guarantee.epsilon, guarantee.delta), m, n)
    return _guaranteed(guarantee, event.pure, event.failure, m, n)


def published_subsampled(guarantee: ApproxDP, *, m: int, n: int) -> ApproxDP:
    """Return the published, looser guarantee: 6 epsilon m/n and 4 exp(6 epsilon m/n) (m/n) delta.

    Parameters
    ----------
    guarantee : ApproxDP
        The release's guarantee for one replaced row of the m, features and label; epsilon at most 1.
    m : int
        Number of rows drawn, at least 1: each uniformly from the n records, independently, with replacement.
    n : int
        Number of records, at least 2 m; public.

    Returns
    -------
    ApproxDP

    Notes
    -----
    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 4.12.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP, published_subsampled
    >>> published = published_subsampled(ApproxDP(1, 1e-6), m=100, n=10_000)
    >>> float(published.epsilon), float(published.delta) > 4.24e-8
    (0.06, True)
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
    drawn = f"{m} rows are drawn with replacement from {n} records, and the drawn rows stay secret"
    return replace(guarantee, epsilon=epsilon, delta=delta, assumes=(*guarantee.assumes, drawn))
