"""Sample complexity of private parities: by elimination, by the exponential mechanism, by stable votes.

Votes are analysed for columns that are independent fair coins, for which the probability that a shard has
full rank, and so only the right solution, is exact; all other shards may vote for the same wrong solution.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from dplearn._documented import Calculator, documented_by
from dplearn._validation import check_count, check_number
from dplearn.kernels import first, lowest
from dplearn.mechanisms.parity import parity_probabilities
from dplearn.mechanisms.stability import abstention_probabilities
from dplearn.privacy import ApproxDP

_SMALLEST = 1e-9  # of alpha and epsilon: smaller values require more records than any table has
_RAREST = 1e-100  # beta
_DEEPEST = 1100  # floats below 2**-1100 are 0
_SLACK = 1e-12  # relative tolerance for rounding
_SHARES = np.arange(1, 64) / 64  # shares a / alpha that are tried for the error a of a good candidate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EliminationSizes:
    """The sizes of elimination, with a bound on its probability of failure.

    Attributes
    ----------
    n_samples : int
        n = n_parts * part_size + test_size.
    n_parts, part_size : int
        k parts of n' records; each gives a candidate, or abstains.
    test_size : int
        s test records, on which candidates are compared; 0 only for one part.
    failure : float
        `elimination_failure` of these sizes.
    """

    n_samples: int
    n_parts: int
    part_size: int
    test_size: int
    failure: float


def agnostic_failure(n_unknowns: int, n_samples: int, *, epsilon: Any, alpha: Any) -> float:
    """Return a bound on the probability that the exponential mechanism selects an error above alpha.

    Parameters
    ----------
    n_samples : int
        n, at least 0.

    Returns
    -------
    float
        The minimum of 1 and 2**d (1 - alpha (1 - r))**n, where r = exp(-epsilon/2); for any distribution of
        the columns, if a parity labels all records.

    Notes
    -----
    The right parity has weight 1, and a parity of error e has weight r**errors. The probability of its
    selection is therefore at most the mean of r**errors, which is (1 - e (1 - r))**n.

    Examples
    --------
    >>> from dplearn.theory import agnostic_failure
    >>> round(float(agnostic_failure(16, 400, epsilon=1, alpha=0.1)), 3)
    0.007
    """
    d, eps, a = parity_task(n_unknowns, epsilon, alpha)
    n = check_count("n_samples", n_samples)
    return math.exp(min(0.0, d * math.log(2) + n * math.log1p(-_agnostic_rate(eps, a))))


def agnostic_sample_size(n_unknowns: int, *, epsilon: Any, alpha: Any, beta: Any) -> int:
    """Return the least number of records for which `agnostic_failure` is at most beta."""
    d, eps, a = parity_task(n_unknowns, epsilon, alpha)
    return enough(d * math.log(2) - math.log(below_1("beta", beta)), _agnostic_rate(eps, a))


def elimination_failure(
    n_unknowns: int, *, n_parts: int, part_size: int, test_size: int, epsilon: Any, alpha: Any
) -> float:
    """Return a bound on the probability that elimination abstains or has an error above alpha.

    Parameters
    ----------
    n_parts, part_size, test_size : int
        k, n' and s, as in `EliminationSizes`; at least 1, 0 and 0.

    Returns
    -------
    float
        At most 1; for any distribution of the columns, if a parity labels all records.

    Notes
    -----
    For each part, a parity of error e solves the random sample with probability (1 - p e)**n', and is then
    one of at least two solutions: a part gives an error above e with probability at most B(e) = min(1, 2**(d
    - 1) (1 - p e)**n'), for p and q of `parity_probabilities`. A bad candidate with E errors is selected in
    the test against a good one with G errors with probability at most t**(E - G) / 2, for any t from r =
    exp(-epsilon/2) to 1/(2 - r), in the mean at most x**s, x = 1 - alpha (1 - t) + a (1/t - 1). All parts
    abstain with probability q**k. For any a and t the probability of failure is at most q**k + k (1 - q)
    B(alpha) (u + (1 - u) x**s / 2), u = (q + (1 - q) B(a))**(k - 1). Proof: docs/theory/parity.md.

    **Source.** Kasiviswanathan et al. (2011), Lemmas 4.1 and 4.6, where a part must give a good candidate.

    Examples
    --------
    >>> from dplearn.theory import elimination_failure
    >>> round(float(elimination_failure(16, n_parts=2, part_size=331, test_size=1, epsilon=1, alpha=0.1)), 3)
    0.05
    """
    d, eps, a = parity_task(n_unknowns, epsilon, alpha)
    k = check_count("n_parts", n_parts, low=1)
    size = check_count("part_size", part_size)
    s = check_count("test_size", test_size)
    return _failure(_Elimination(d, eps, a, k), size, s)


def elimination_sizes(n_unknowns: int, *, epsilon: Any, alpha: Any, beta: Any) -> EliminationSizes:
    """Return the sizes of elimination with the fewest records.

    Parameters
    ----------
    beta
        ... A failure is a greater error or an abstention.

    Returns
    -------
    EliminationSizes
        Sizes with `failure` at most beta.

    Examples
    --------
    >>> from dplearn.theory import elimination_sizes
    >>> sizes = elimination_sizes(16, epsilon=1, alpha=0.1, beta=0.05)
    >>> sizes.n_samples, sizes.n_parts, sizes.part_size, sizes.test_size
    (663, 2, 331, 1)
    """
    d, eps, a = parity_task(n_unknowns, epsilon, alpha)
    return _least_elimination(d, eps, a, below_1("beta", beta))


def elimination_split(
    n_samples: int, n_unknowns: int, *, epsilon: Any, alpha: Any, beta: Any
) -> EliminationSizes:
    """Return the sizes of elimination for a given number of records.

    Parameters
    ----------
    beta
        ... A failure is a greater error or an abstention.

    Returns
    -------
    EliminationSizes
        If n is at least that of `elimination_sizes`: the same number of parts and share of test records. If n
        is x times that and suffices for beta / x: the number of parts for beta / x, since most failures are
        abstentions of all parts. If n is less: at most the same number of parts, chosen to minimise the
        probability of failure on fair coins; `failure` is still the bound for any columns.

    Examples
    --------
    >>> from dplearn.theory import elimination_split
    >>> sizes = elimination_split(1000, 16, epsilon=1, alpha=0.1, beta=0.05)
    >>> sizes.n_parts, sizes.part_size, sizes.test_size
    (3, 333, 1)
    """
    n = check_count("n_samples", n_samples, low=1)
    plan = elimination_sizes(n_unknowns, epsilon=epsilon, alpha=alpha, beta=beta)
    d, eps, a = parity_task(n_unknowns, epsilon, alpha)
    if n > plan.n_samples:
        rarer = max(_RAREST, below_1("beta", beta) * plan.n_samples / n)
        sharper = _least_elimination(d, eps, a, rarer)
        plan = sharper if sharper.n_samples <= n else plan
    cuts = [_cut(n, k, plan) for k in range(1, plan.n_parts + 1)]
    if n >= plan.n_samples:
        k, size, s = cuts[-1]
    else:
        k, size, s = min(cuts, key=lambda cut: _failure(_Elimination(d, eps, max(a, 0.5), cut[0]), *cut[1:]))
    return EliminationSizes(n, k, size, s, _failure(_Elimination(d, eps, a, k), size, s))


@dataclass(frozen=True)
class _Elimination:
    """The bound of `elimination_failure` for k parts, in logarithms, since 2**d may exceed floats."""

    d: int
    epsilon: float
    alpha: float
    k: int

    @property
    def chances(self) -> tuple[float, float]:
        keep, abstain = parity_probabilities(self.epsilon)
        return float(keep), float(abstain)

    def wrong(self, sizes: Floats, errors: Any) -> Floats:
        """Return ln B for parts of these sizes and errors above these values."""
        exponents: Floats = (self.d - 1) * math.log(2) + sizes * np.log1p(-self.chances[0] * errors)
        return np.minimum(0, exponents)

    def none_good(self, sizes: Floats) -> Floats:
        """Return u for each size (rows) and each share of alpha (columns)."""
        abstain = self.chances[1]
        good: Floats = (1 - abstain) * np.exp(self.wrong(sizes, self.alpha * _SHARES))
        return (abstain + good) ** (self.k - 1)

    def factors(self) -> Floats:
        """Return ln x for each share of alpha, minimised over t."""
        ratio = math.exp(-self.epsilon / 2)
        t = np.clip(np.sqrt(_SHARES), ratio, 1 / (2 - ratio))
        rates: Floats = self.alpha * (_SHARES * (1 / t - 1) - (1 - t))
        return np.log1p(rates)

    def tests(self, sizes: Floats, beta: float) -> Floats:
        """Return the least test size for each part size, or infinity: `_failure` solved for s."""
        abstain = self.chances[1]
        left = math.log((beta - abstain**self.k) / (self.k * (1 - abstain))) - _SLACK
        allowed = np.exp(np.minimum(1, left - self.wrong(sizes[:, None], self.alpha)))
        none_good, factors = self.none_good(sizes[:, None]), self.factors()
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.log(2 * (allowed - none_good) / (1 - none_good))  # ln of the greatest allowed x**s
            longer = np.where(factors < 0, np.ceil(odds / factors), np.inf)
        needed = np.where(allowed > none_good, np.where(odds >= factors, 1, longer), np.inf)
        return np.where(allowed[:, 0] >= 1, float(self.k > 1), needed.min(axis=1))

    def sizes(self, beta: float) -> tuple[int, int]:
        """Return the n' and s that minimise k n' + s."""
        keep, abstain = self.chances
        rate = keep * self.alpha
        left = (beta - abstain**self.k) / (self.k * (1 - abstain))
        untested = enough((self.d - 1) * math.log(2) - math.log(left), rate)
        high = untested + 1 + (untested >> 36)  # a size that needs no test for beta, in spite of rounding
        # With fewer records than this, B(alpha) is above left / q**(k - 1), and u is at least q**(k - 1).
        low = max(1, untested - math.ceil((self.k - 1) * math.log(abstain) / math.log1p(-rate)))
        size = lowest(lambda parts: self.k * parts + self.tests(parts, beta), low, high)
        return size, int(self.tests(np.array([size], dtype=np.float64), beta)[0])


@lru_cache(maxsize=1024)
def _failure(task: _Elimination, size: int, test: int) -> float:
    """Return the bound of `elimination_failure`, minimised over a and t."""
    sizes, abstain = np.array([[size]], dtype=np.float64), task.chances[1]
    none_good = task.none_good(sizes)
    lost = np.exp(np.minimum(0, test * task.factors() - math.log(2)))
    selected = float(np.min(none_good + (1 - none_good) * lost))
    bad = task.k * (1 - abstain) * math.exp(float(task.wrong(sizes, task.alpha)[0, 0]))
    return min(1.0, abstain**task.k + bad * selected)


@lru_cache(maxsize=256)
def _least_elimination(d: int, epsilon: float, alpha: float, beta: float) -> EliminationSizes:
    abstain = float(parity_probabilities(epsilon)[1])
    k = 1 + math.floor(math.log(beta) / math.log(abstain))
    found: list[EliminationSizes] = []
    while len(found) < 3 or found[-3] != min(found, key=lambda sizes: sizes.n_samples):
        if abstain**k < beta:
            task = _Elimination(d, epsilon, alpha, k)
            size, test = task.sizes(beta)
            found.append(EliminationSizes(k * size + test, k, size, test, _failure(task, size, test)))
        k += 1
    return found[-3]


def _cut(n: int, k: int, plan: EliminationSizes) -> tuple[int, int, int]:
    """Return k, n' and s: s is the plan's share of n, rounded down, plus the remainder of the parts. With the
    plan's k, neither n' nor s is below the plan's for n >= n0: n' >= floor((n - n s0 / n0) / k).
    """
    test = max(n * plan.test_size // plan.n_samples, int(k > 1)) if k > 1 else 0
    size = max(0, n - test) // k
    return k, size, n - k * size


def _agnostic_rate(epsilon: float, alpha: float) -> float:
    return -math.expm1(-epsilon / 2) * alpha


def enough(logarithm: float, rate: float) -> int:
    """Return the least n >= 1 with exp(logarithm) (1 - rate)**n <= 1."""
    return max(1, math.ceil(-logarithm / math.log1p(-rate)))


def parity_task(n_unknowns: Any, epsilon: Any, alpha: Any) -> tuple[int, float, float]:
    """Return checked numbers of a task: the unknown bits, epsilon, and the error allowed."""
    d = check_count("n_unknowns", n_unknowns, low=1)
    check_number("epsilon", epsilon, above=0)  # this message is clearer for most values that are too small
    size = check_number("epsilon", epsilon, low=_SMALLEST)
    return d, float(min(size, Fraction(700))), below_1("alpha", alpha, _SMALLEST)


def below_1(name: str, value: Any, low: float = _RAREST) -> float:
    """Return a number that is checked to be in (0, 1), and at least `low`."""
    number = check_number(name, value, above=0, below=1)
    return float(check_number(name, number, low=low))


@dataclass(frozen=True)
class StableSizes:
    """The sizes of the stable learner, with a bound on its probability of failure.

    Attributes
    ----------
    n_samples : int
        n; the remainder n - n_parts * part_size < n_parts makes some shards larger by one record.
    n_parts, part_size : int
        m shards of n' records or one more.
    failure : float
        `stable_parity_failure` of these sizes.
    """

    n_samples: int
    n_parts: int
    part_size: int
    failure: float


def stable_parity_failure(
    n_features: int, *, n_parts: int, part_size: int, epsilon: Any, delta: Any, fit_intercept: bool = False
) -> float:
    """Return a bound on the probability that the stable learner does not release the right parity.

    Parameters
    ----------
    n_features : int
        d: the number of columns, all fair coins; at least 1.
    n_parts, part_size : int
        m shards, at least 1, of n' records each.
    epsilon, delta : float
        Privacy budget: epsilon positive, delta in (0, 1).
    fit_intercept : bool, default=False
        Whether complements of parities are learned also.

    Returns
    -------
    float
        1 minus the sum over j, the number of shards of full rank, of the binomial probability of j times the
        probability of a release with j votes against m - j votes for one other solution. It does not depend
        on the number of label columns.

    Notes
    -----
    A shard of full rank votes for the right parity. In the worst case, the other i shards all vote for one
    parity that precedes it in the order of ties; the distance is then floor((m - 2 i - 1) / 2). An odd number
    of shards is never worse than one more, which changes no distance.

    Examples
    --------
    >>> from dplearn.theory import stable_parity_failure
    >>> round(float(stable_parity_failure(16, n_parts=33, part_size=22, epsilon=1, delta=1e-6)), 4)
    0.0353
    """
    d = check_count("n_features", n_features, low=1)
    m = check_count("n_parts", n_parts, low=1)
    size = check_count("part_size", part_size)
    return _stable_failure(
        abstention_probabilities(ApproxDP(epsilon, delta)), m, log_full_rank(size, d, bool(fit_intercept))
    )


@documented_by(stable_parity_failure, Calculator)
def stable_parity_sizes(
    n_features: int, *, epsilon: Any, delta: Any, beta: Any, fit_intercept: bool = False
) -> StableSizes:
    """Return the sizes of the stable learner with the fewest records.

    Returns
    -------
    StableSizes
        Sizes with `failure` at most beta.

    Notes
    -----
    **Source.** Bun, Nissim and Stemmer (2016), Theorem 3.12 and Algorithm 4. There the winner is selected by
    another mechanism, and the sizes have no explicit constants.

    Examples
    --------
    >>> from dplearn.theory import stable_parity_sizes
    >>> sizes = stable_parity_sizes(16, epsilon=1, delta=1e-6, beta=0.05)
    >>> sizes.n_samples, sizes.n_parts, sizes.part_size, round(sizes.failure, 4)
    (726, 33, 22, 0.0353)
    """
    d = check_count("n_features", n_features, low=1)
    return _least_stable(d, ApproxDP(epsilon, delta), below_1("beta", beta), bool(fit_intercept))


@documented_by(stable_parity_failure, Calculator)
def stable_parity_split(
    n_samples: int, n_features: int, *, epsilon: Any, delta: Any, beta: Any, fit_intercept: bool = False
) -> StableSizes:
    """Return the sizes of the stable learner for a given number of records.

    Returns
    -------
    StableSizes
        If n is at least that of `stable_parity_sizes`: the least number of shards with `failure` at most
        beta, or at most beta / x if n is x times as great and suffices for that, since large shards are best
        for columns that are not fair coins. Otherwise the sizes with the least `failure`.

    Examples
    --------
    >>> from dplearn.theory import stable_parity_split
    >>> sizes = stable_parity_split(1000, 16, epsilon=1, delta=1e-6, beta=0.05)
    >>> sizes.n_parts, sizes.part_size
    (33, 30)
    """
    n = check_count("n_samples", n_samples, low=1)
    plan = stable_parity_sizes(
        n_features, epsilon=epsilon, delta=delta, beta=beta, fit_intercept=fit_intercept
    )
    abstentions, wanted = abstention_probabilities(ApproxDP(epsilon, delta)), below_1("beta", beta)
    if n > plan.n_samples:
        less = wanted * plan.n_samples / n
        sharper = _least_stable(n_features, ApproxDP(epsilon, delta), less, bool(fit_intercept))
        plan, wanted = (sharper, less) if sharper.n_samples <= n else (plan, wanted)

    def failure(half: float) -> float:
        m = 2 * int(half) + 1
        return _stable_failure(abstentions, m, log_full_rank(n // m, n_features, bool(fit_intercept)))

    if n >= plan.n_samples:
        half = first(lambda half: failure(half) <= wanted, _fewest(abstentions, wanted), plan.n_parts // 2)
    else:
        most = max(1, n // (n_features + bool(fit_intercept)))
        half = lowest(lambda halves: np.array([failure(half) for half in halves]), 0, (most - 1) // 2)
    m = 2 * half + 1
    return StableSizes(n, m, n // m, failure(half))


def _fewest(abstentions: Floats, beta: float) -> int:
    """Return the least distance k, for 2 k + 1 votes, with an abstention of probability at most beta."""
    return int(np.argmax(abstentions <= beta))


@lru_cache(maxsize=4096)
def log_full_rank(rows: int, columns: int, intercept: bool) -> float:
    """Return the logarithm of the probability that random equations have full column rank."""
    if rows < columns + intercept:
        return -math.inf
    gaps = np.arange(rows - columns - intercept + 1, rows - intercept + 1)[:_DEEPEST]
    return float(np.log1p(-(2.0**-gaps)).sum())


def _stable_failure(abstentions: Floats, m: int, log_full_rank: float) -> float:
    """Return the mean probability of an abstention over i, the number of shards with another vote."""
    i = np.arange(m + 1)
    rank = math.exp(log_full_rank)
    missed = -math.expm1(log_full_rank)
    logarithms = gammaln(m + 1) - gammaln(i + 1) - gammaln(m - i + 1) + xlogy(i, missed) + xlogy(m - i, rank)
    distances = (m - 2 * i - 1) // 2
    abstained = np.where(
        distances < len(abstentions), abstentions[np.clip(distances, 0, len(abstentions) - 1)], 0.0
    )
    return min(1.0, float(np.exp(logarithms) @ np.where(distances < 0, 1.0, abstained)))


@lru_cache(maxsize=256)
def _least_stable(d: int, privacy: ApproxDP, beta: float, intercept: bool) -> StableSizes:
    """Search from shards of nearly certain full rank to smaller shards, of which more are required."""
    abstentions = abstention_probabilities(privacy)
    fewest = _fewest(abstentions, beta)
    best: StableSizes | None = None
    spare = 8 + math.ceil(math.log2((2 * fewest + 1) / beta))  # the mean number without full rank: beta / 256
    for size in range(d + intercept + spare, d + intercept - 1, -1):
        rank = log_full_rank(size, d, intercept)

        def enough(half: int, rank: float = rank) -> bool:
            return _stable_failure(abstentions, 2 * half + 1, rank) <= beta

        half = fewest + 1
        while best is None and not enough(half):
            half *= 2
        if best is not None:
            half = ((best.n_samples - 1) // size - 1) // 2  # with more, n_samples is not lower
            if half < fewest or not enough(half):
                continue
        m = 2 * first(enough, fewest, half) + 1
        best = StableSizes(m * size, m, size, _stable_failure(abstentions, m, rank))
    assert best is not None
    return best
