"""Sample complexity of masked parity with two rounds of queries, and a lower bound for one round.

Each round estimates signs. Each record is in at most one of m cells and has a sign; all signs in a cell are
equal, and each cell contains a share 1 / (2 m) of the records. There are two forms of queries: a histogram of
cell and sign with 2 m + 1 categories ("cells"), or m queries from the rows of a Hadamard matrix ("hadamard"),
of which each record answers one in the local model.

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
from dplearn.kernels.exact import decay_rate, decay_ratio
from dplearn.kernels.search import first, lowest
from dplearn.mechanisms.randomized_response import truth_probability
from dplearn.queries.noise import QUERY_MODELS

__all__ = [
    "MaskedParitySizes",
    "masked_parity_sample_size",
    "masked_parity_sizes",
    "nonadaptive_chance",
    "signs_failure",
]


_LARGEST_TRANSFORM = 1 << 13
_SHARES = 64  # the number of shares of epsilon that are compared
_SLOPES = np.linspace(0, 1, 258)[1:-1]  # slopes of Chernoff's bound that are tried, as shares of the greatest


@dataclass(frozen=True)
class MaskedParitySizes:
    """The queries of a fit, and a bound on its probability of failure.

    Attributes
    ----------
    first_way, second_way : {"cells", "hadamard"} or None
        The form of the queries of each round; None: there is no second round.
    first_share : Fraction
        The share of epsilon ("central") or of the records ("local") for the first round.
    failure : float
        A bound on the probability that the result is not the masked parity of the labels, if masks are fair
        coins and indices are uniform; the bits may have any distribution.
    """

    first_way: str
    second_way: str | None
    first_share: Fraction
    failure: float


def masked_parity_sizes(
    n_samples: int, *, n_bits: int, epsilon: Any, trust_model: str, interactive: bool = True
) -> MaskedParitySizes:
    """Return the best queries for a masked parity with a given number of records.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 2.
    n_bits : int
        The number of bits of the parity, d.
    epsilon : float
        Positive.
    trust_model : {"central", "local"}
        "central": noisy counts over all records in both rounds. "local": each record answers in one of the
        rounds, by a randomised report.
    interactive : bool, default=True
        Whether there is a second round. Without it the intercept is not learned, and the first round has one
        more cell.

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
    """Return the least number of records from which on the probability of failure is at most beta.

    Parameters
    ----------
    n_bits : int
        The number of bits of the parity, d.
    epsilon : float
        Positive.
    beta : float
        Allowed probability of failure, in (0, 1).
    trust_model : {"central", "local"}
        As for `masked_parity_sizes`.
    interactive : bool, default=True
        As for `masked_parity_sizes`; without a second round only r is learned.

    Returns
    -------
    int
        Of order d ln(d / beta) / epsilon centrally and d**2 ln(d / beta) / epsilon**2 locally, for a small
        epsilon.

    Notes
    -----
    **Accuracy.** For masks that are fair coins, and uniform indices; the bits may have any distribution.

    **Source.** Kasiviswanathan et al. (2011), Proposition 5.18 with Theorem 5.7, which requires order d**3
    ln(d / beta) / epsilon**2 locally: there each of d queries is about one cell, here about half of the
    cells.

    Examples
    --------
    >>> from dplearn.theory import masked_parity_sample_size
    >>> masked_parity_sample_size(16, epsilon=1, beta=0.05, trust_model="local")
    55652
    >>> masked_parity_sample_size(16, epsilon=1, beta=0.05, trust_model="central")
    818
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
    """Return a bound on the probability that some estimated sign is wrong.

    Parameters
    ----------
    n : int or ndarray of shape (k,)
        Number of records.
    size : int
        The number of cells, m.
    wanted : int
        The number of cells whose signs are estimated; each contains a share 1 / (2 wanted) of the records.
    epsilon : float
        The budget of these queries together; positive.
    trust_model : {"central", "local"}
        As for `masked_parity_sizes`.
    way : {"cells", "hadamard"}
        The form of the queries; "hadamard" with "central" for one cell only.

    Returns
    -------
    ndarray of shape (k,)
        The bounds, at most 1.

    Notes
    -----
    **Accuracy.** Chernoff's bound: the contribution x of a record to the signed count is +1 with probability
    p+ and -1 with probability p-. The minimum over t of E exp(-t x) is 1 - (sqrt(p+) - sqrt(p-))**2, and the
    bound is its n-th power. With "central", p- is 0, the moment generating function of the noise is a further
    factor, and the bound is minimised over a grid of t.
    """
    epsilon = check_number("epsilon", epsilon, above=0)
    logs = _logs(n, size=size, wanted=wanted, epsilon=epsilon, trust_model=trust_model, way=way)
    return np.asarray(np.exp(np.minimum(logs, 0)))


def nonadaptive_chance(n_bits: int, n_queries: int, tolerance: Any) -> float:
    """Return a lower bound on the probability of an error of at least 1/4 after one round of queries.

    Parameters
    ----------
    n_bits : int
        The number of bits of the parity, d.
    n_queries : int
        Number of queries, with values in [-1, 1], that are all fixed before the first answer.
    tolerance : float
        The allowed error of each answer.

    Returns
    -------
    float
        The bound 1/2 - n_queries / (8 * tolerance**2 * 2**d), for a uniformly random masked parity and a
        worst-case oracle of this tolerance.

    Notes
    -----
    **Accuracy.** On records with mask 0, the labels of a parity and of its complement are opposite. A learner
    that cannot distinguish them therefore errs on at least half of these records for one of the two. A query
    distinguishes them only if its correlation with the parity exceeds the tolerance. By Parseval's identity
    the squared correlations sum to at most 1/4, so that this holds for at most 1 / (4 * tolerance**2) of the
    2**d parities.

    **Source.** Kasiviswanathan et al. (2011), Theorem 5.16, for tolerance 2**(-d/3): it states 1/2 - t /
    2**(d/3 + 2) for t queries, and its proof gives 1/2 - t / 2**(d/3 + 3), as here.
    """
    d = check_count("n_bits", n_bits, low=1)
    given = check_count("n_queries", n_queries) / (
        4 * float(check_number("tolerance", tolerance, above=0)) ** 2
    )
    return max(0.0, (1 - given / 2.0**d) / 2)


def _logs(
    n: Any, *, size: int, wanted: int, epsilon: Fraction, trust_model: str, way: str
) -> NDArray[np.float64]:
    """Return the logarithm of the bound of `signs_failure`, which is above 0 if the bound is trivial."""
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
    """Return the share of the records for the first round, and the bound on failure."""
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
    """Return the share of epsilon for the first round, and the bound on failure."""
    logs = partial(_logs, n, trust_model="central")

    def both(k: int) -> tuple[float, float]:
        share = Fraction(k, _SHARES)
        one = logs(size=d, wanted=d, epsilon=share * epsilon, way=first_way)
        other = logs(size=1, wanted=1, epsilon=(1 - share) * epsilon, way=second_way)
        return float(one[0]), float(other[0])

    def failure(k: int) -> float:
        one, other = both(k)
        return float(np.logaddexp(one, other))

    # The first bound decreases in the share, the second increases: their sum is nearly least where they are
    # equal.
    meet = first(lambda k: both(k)[0] <= both(k)[1], _SHARES // 2, _SHARES - 1)
    best = min((meet, meet - 1), key=failure)
    return Fraction(best, _SHARES), math.exp(min(0.0, failure(best)))


def _way(size: int, wanted: int, epsilon: Fraction, local: bool, n: int) -> str:
    """Return the form of queries that requires fewer records, of the forms that n records allow."""
    if not local:
        return "hadamard" if size == 1 else "cells"
    if _n_hadamard_queries(size) > min(_LARGEST_TRANSFORM, n):
        return "cells"
    share = 1 / (2 * wanted)
    return max(("hadamard", "cells"), key=lambda way: _rate(size, share, epsilon, way))


def _rate(size: int, share: float, epsilon: Fraction, way: str) -> float:
    """Return (sqrt(p+) - sqrt(p-))**2 for one report."""
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
    """Return the logarithms of the bound for one cell.

    With "cells", two noisy counts, clipped to [0, n], are compared: the count X + Z of the right sign is at
    most the other count Z' if X + Z <= max(Z', 0) or Z' >= n. With "hadamard", a single signed count is wrong
    if X + Z <= 0.
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
    """Return the least power of two that is at least `size`."""
    return 1 << max(size - 1, 0).bit_length()
