"""How many records a masked parity takes, in two rounds of queries, and what one round cannot do.

What each round wants is a sign. Each record is in at most one of m cells, with a sign, and all signs of a
cell are alike; a share 1 / (2 m) of the records is in each. Two ways of asking: which cell and sign a record
has, as one of 2 m + 1 categories ("cells"), or its value under m turned queries ("hadamard"), of which a
record answers one.

>>> masked_parity_sample_size(16, epsilon=1, beta=0.05, trust_model="local")
55652
>>> masked_parity_sample_size(16, epsilon=1, beta=0.05, trust_model="central")
818
>>> masked_parity_sizes(60_000, n_bits=16, epsilon=1, trust_model="local").first_way
'hadamard'
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_choice, check_count, check_number
from dplearn.core.exact import decay_rate, decay_ratio
from dplearn.core.search import first, lowest
from dplearn.mechanisms.randomized_response import truth_probability
from dplearn.queries.bounds import QUERY_MODELS

__all__ = [
    "MaskedParitySizes",
    "masked_parity_sample_size",
    "masked_parity_sizes",
    "nonadaptive_chance",
    "signs_failure",
]


_LARGEST_TRANSFORM = 1 << 13
_SHARES = 64  # of epsilon that are compared
_SLOPES = np.linspace(0, 1, 258)[1:-1]  # of Chernoff's bound, in parts of the largest


@dataclass(frozen=True)
class MaskedParitySizes:
    """How a fit asks, and how often that fails.

    Attributes
    ----------
    first_way, second_way : {"cells", "hadamard"} or None
        How each round asks; None: there is no second round.
    first_share : Fraction
        What part of epsilon, or of the records, the first round takes.
    failure : float
        A bound on the probability that something is learned wrong, if masks are fair coins and indices
        uniform; bits may be anything.
    """

    first_way: str
    second_way: str | None
    first_share: Fraction
    failure: float


def masked_parity_sizes(
    n_samples: int, *, n_bits: int, epsilon: Any, trust_model: str, interactive: bool = True
) -> MaskedParitySizes:
    """Return how to ask so many records about a masked parity.

    Parameters
    ----------
    n_samples : int
        How many records; at least 2.
    n_bits : int
        How many bits d the parity is over.
    epsilon : float
        Positive.
    trust_model : {"central", "local"}
        "central": all records answer both rounds, by noisy counts. "local": each answers in one of them, by
        a randomised report.
    interactive : bool, default=True
        Whether there is a second round. Without it what is added to the parity is not learned, and the first
        round has one cell more.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    n = check_count("n_samples", n_samples, low=1)
    if interactive and n < 2:
        raise ValueError(f"n_samples must be at least 2, for two rounds, got n_samples={n}")
    return _sizes(
        n,
        check_count("n_bits", n_bits, low=1),
        check_number("epsilon", epsilon, above=0),
        check_choice("trust_model", trust_model, QUERY_MODELS),
        bool(interactive),
    )


@lru_cache(maxsize=256)
def _sizes(n: int, d: int, epsilon: Fraction, trust_model: str, interactive: bool) -> MaskedParitySizes:
    local = trust_model == "local"
    first_way = _way(d + (not interactive), d, epsilon, local, n - interactive)
    if not interactive:
        cells = _n_hadamard_queries(d + 1) if first_way == "hadamard" else 1
        used = n // cells * cells if local else n
        failure = signs_failure(
            used, size=d + 1, wanted=d, epsilon=epsilon, trust_model=trust_model, way=first_way
        )
        return MaskedParitySizes(first_way, None, Fraction(1), float(failure[0]))
    second_way = _way(1, 1, epsilon, local, 1)
    share, failure_of_both = (_records_shared if local else _epsilon_shared)(
        n, d, epsilon, first_way, second_way
    )
    return MaskedParitySizes(first_way, second_way, share, failure_of_both)


def masked_parity_sample_size(
    n_bits: int, *, epsilon: Any, beta: Any, trust_model: str, interactive: bool = True
) -> int:
    """Return from how many records on a masked parity is learned with probability at least 1 - beta.

    Parameters
    ----------
    n_bits : int
        How many bits d the parity is over.
    epsilon : float
        Positive.
    beta : float
        In (0, 1).
    trust_model : {"central", "local"}
        As for `masked_parity_sizes`.
    interactive : bool, default=True
        As for `masked_parity_sizes`; without a second round only the parity itself is learned.

    Returns
    -------
    int
        Of order d ln(d / beta) / epsilon centrally and d**2 ln(d / beta) / epsilon**2 locally, for a small
        epsilon.

    Notes
    -----
    **Accuracy.** Where masks are fair coins and indices uniform; the bits may have any distribution.

    **Source.** Kasiviswanathan et al. (2011), Proposition 5.18 with Theorem 5.7, which asks of order
    d**3 ln(d / beta) / epsilon**2 locally: there d queries are about one cell each, here about half of them.
    """
    return _least(
        check_count("n_bits", n_bits, low=1),
        check_number("epsilon", epsilon, above=0),
        check_number("beta", beta, above=0, below=1),
        check_choice("trust_model", trust_model, QUERY_MODELS),
        bool(interactive),
    )


@lru_cache(maxsize=256)
def _least(d: int, epsilon: Fraction, beta: Fraction, trust_model: str, interactive: bool) -> int:
    def learned(n: int) -> bool:
        sizes = masked_parity_sizes(
            n, n_bits=d, epsilon=epsilon, trust_model=trust_model, interactive=interactive
        )
        return sizes.failure <= beta

    low = high = 1 + interactive
    while not learned(high):
        low, high = high + 1, 2 * high
    return first(learned, low, high)


def signs_failure(
    n: Any, *, size: int, wanted: int, epsilon: Any, trust_model: str, way: str
) -> NDArray[np.float64]:
    """Bound the probability that a wanted sign comes out wrong.

    Parameters
    ----------
    n : int or ndarray of shape (k,)
        How many records.
    size : int
        How many cells m.
    wanted : int
        Of how many of them the sign is wanted; a share 1 / (2 wanted) of the records is in each.
    epsilon : float
        For these queries together.
    trust_model : {"central", "local"}
        As for `masked_parity_sizes`.
    way : {"cells", "hadamard"}
        How they are asked; "hadamard" centrally for one cell only.

    Returns
    -------
    ndarray of shape (k,)
        At most 1.

    Notes
    -----
    **Accuracy.** Chernoff: a record speaks for the sign with probability p+, against it with p-, and
    E exp(-t x) is least 1 - (sqrt(p+) - sqrt(p-))**2, to the n-th power. Centrally p- is 0 and noise speaks
    besides: its moment generating function is a factor, and the best of some t is taken.
    """
    epsilon = check_number("epsilon", epsilon, above=0)
    logs = _logs(n, size=size, wanted=wanted, epsilon=epsilon, trust_model=trust_model, way=way)
    return np.asarray(np.exp(np.minimum(logs, 0)))


def nonadaptive_chance(n_bits: int, n_queries: int, tolerance: Any) -> float:
    """Bound from below how often all that is asked in one round leaves an error of 1/4 or more.

    Parameters
    ----------
    n_bits : int
        How many bits d the parity is over.
    n_queries : int
        How many queries, with values in -1..1, are asked before any answer is known.
    tolerance : float
        By how much each answer may be off.

    Returns
    -------
    float
        At least 1/2 - n_queries / (8 * tolerance**2 * 2**d), for a masked parity drawn uniformly and an
        oracle that answers as badly as it may.

    Notes
    -----
    **Accuracy.** On records without mask the label of r and that of its complement are opposite, so whoever
    cannot tell them apart errs on half of them for one of the two. A query tells them apart where its
    correlation with r exceeds the tolerance: by Parseval, squared correlations sum to 1/4 at most, so for
    1 / (4 * tolerance**2) of the 2**d parities at most.

    **Source.** Kasiviswanathan et al. (2011), Theorem 5.16, for tolerance 2**(-d/3): it states
    1/2 - t / 2**(d/3 + 2), and its proof gives 1/2 - t / 2**(d/3 + 3), as here.
    """
    d = check_count("n_bits", n_bits, low=1)
    given = check_count("n_queries", n_queries) / (
        4 * float(check_number("tolerance", tolerance, above=0)) ** 2
    )
    return max(0.0, (1 - given / 2.0**d) / 2)


def _logs(
    n: Any, *, size: int, wanted: int, epsilon: Fraction, trust_model: str, way: str
) -> NDArray[np.float64]:
    """Return the logarithm of what `signs_failure` bounds, above 0 where it bounds nothing."""
    records = np.atleast_1d(np.asarray(n, dtype=np.float64))
    share = 1 / (2 * wanted)
    if trust_model == "local":
        logs = records * math.log1p(-_rate(size, share, epsilon, way))
    else:
        logs = _central_logs(records, share, epsilon, way)
    return np.asarray(math.log(wanted) + logs)


def _records_shared(
    n: int, d: int, epsilon: Fraction, first_way: str, second_way: str
) -> tuple[Fraction, float]:
    """Return which part of the records answers in the first round, in equal parts for its queries."""
    queries = _n_hadamard_queries(d) if first_way == "hadamard" else 1
    logs = partial(_logs, epsilon=epsilon, trust_model="local")

    def failure(each: NDArray[np.float64]) -> NDArray[np.float64]:
        one = logs(queries * each, size=d, wanted=d, way=first_way)
        other = logs(n - queries * each, size=1, wanted=1, way=second_way)
        return np.asarray(np.logaddexp(one, other))

    each = lowest(failure, 1, (n - 1) // queries)
    return Fraction(queries * each, n), math.exp(min(0.0, failure(np.array([float(each)]))[0]))


def _epsilon_shared(
    n: int, d: int, epsilon: Fraction, first_way: str, second_way: str
) -> tuple[Fraction, float]:
    """Return which part of epsilon the first round takes."""
    logs = partial(_logs, n, trust_model="central")

    def both(k: int) -> tuple[float, float]:
        share = Fraction(k, _SHARES)
        one = logs(size=d, wanted=d, epsilon=share * epsilon, way=first_way)
        other = logs(size=1, wanted=1, epsilon=(1 - share) * epsilon, way=second_way)
        return float(one[0]), float(other[0])

    def failure(k: int) -> float:
        one, other = both(k)
        return float(np.logaddexp(one, other))

    # The first falls with its share and the second rises: their sum is nearly least where they meet.
    meet = first(lambda k: both(k)[0] <= both(k)[1], _SHARES // 2, _SHARES - 1)
    best = min((meet, meet - 1), key=failure)
    return Fraction(best, _SHARES), math.exp(min(0.0, failure(best)))


def _way(size: int, wanted: int, epsilon: Fraction, local: bool, n: int) -> str:
    """Return the way in which fewer records suffice, of those that so few can be asked in."""
    if not local:
        return "hadamard" if size == 1 else "cells"
    if _n_hadamard_queries(size) > min(_LARGEST_TRANSFORM, n):
        return "cells"
    share = 1 / (2 * wanted)
    return max(("hadamard", "cells"), key=lambda way: _rate(size, share, epsilon, way))


def _rate(size: int, share: float, epsilon: Fraction, way: str) -> float:
    """Return (sqrt(p+) - sqrt(p-))**2 of one report."""
    if way == "hadamard":
        kept = float(2 * truth_probability(2, epsilon) - 1)
        likely, unlikely = (1 + share * kept) / 2, (1 - share * kept) / 2
    else:
        truth = truth_probability(2 * size + 1, epsilon)
        other = (1 - truth) / (2 * size)
        likely, unlikely = float(other) + share * float(truth - other), float(other)
    return (likely - unlikely) ** 2 / (math.sqrt(likely) + math.sqrt(unlikely)) ** 2


def _central_logs(
    records: NDArray[np.float64], share: float, epsilon: Fraction, way: str
) -> NDArray[np.float64]:
    """Return logarithms of the bound for one cell.

    Two counts with noise are compared, moved into 0..n: that of the right sign is no more than the other's if
    X + Z <= max(Z', 0), or Z' >= n; a single signed count is wrong if X + Z <= 0.
    """
    ratio = decay_ratio(epsilon / 2)
    steep = decay_rate(ratio)
    t, r = _SLOPES * steep, float(ratio)
    above = -np.expm1(t - steep)  # 1 - r exp(t), without cancellation
    noise = 2 * np.log(-np.expm1(-steep)) - np.log(above) - np.log(-np.expm1(-t - steep))
    if way == "cells":
        noise += np.log(r + -math.expm1(-steep) / above) - math.log1p(r)
    logs = (records[:, None] * np.log1p(share * np.expm1(-t)) + noise).min(axis=1)
    if way == "cells":
        logs = np.logaddexp(logs, -records * steep - math.log1p(r))
    return np.asarray(logs, dtype=np.float64)


def _n_hadamard_queries(size: int) -> int:
    """Return the next power of two."""
    return 1 << max(size - 1, 0).bit_length()
