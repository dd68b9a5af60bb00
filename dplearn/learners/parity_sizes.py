"""Sample complexity of private parity learning by elimination and by the exponential mechanism."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_choice, check_count, check_number
from dplearn.kernels.search import lowest
from dplearn.learners.generic import generic_sample_size
from dplearn.mechanisms.parity import parity_probabilities

__all__ = [
    "EliminationSizes",
    "agnostic_failure",
    "elimination_failure",
    "elimination_sizes",
    "elimination_split",
    "nonprivate_parity_sample_size",
    "parity_sample_size",
]

_SMALLEST = 1e-9  # of alpha and epsilon: smaller values require more records than any table has
_RAREST = 1e-100  # beta
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


def parity_sample_size(
    n_unknowns: int,
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    method: str = "elimination",
    bound: str = "proof",
) -> int:
    """Return the sample complexity of a private parity learner, if a parity labels all records.

    Parameters
    ----------
    n_unknowns : int
        d: number of columns, and one more for an intercept; at least 1.
    epsilon : float
        Positive.
    alpha : float
        Target error, in (0, 1).
    beta : float
        Allowed probability of failure, which is a greater error or an abstention; in (0, 1).
    method : {"elimination", "agnostic", "once"}, default="elimination"
        "once": `consistent_parity` on all records; beta must exceed its probability of an abstention.
        "elimination": the same on several parts. "agnostic": the exponential mechanism over all parities.
    bound : {"proof", "paper"}, default="proof"
        "proof": the least n for which our bound is at most beta. "paper": the constants of the paper.

    Returns
    -------
    int
        Number of records, for any distribution of the columns.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    Our bounds are `elimination_failure`, with one part for "once", and `agnostic_failure`. If no parity
    labels all records, the exponential mechanism requires `generic_sample_size` of 2**d concepts.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011). For "once" Lemma 4.1 has
    (8/(epsilon alpha)) (d ln 2 + ln 4), and beta at least 3/4; for "agnostic" it is Theorem 3.4; for
    "elimination" algorithm A* with b = beta/3, a = alpha/5, k = ceil(ln(1/b)/ln(4/3)) parts of the size of
    Lemma 4.1 for a, and max(10, k/epsilon) ln(k/b)/a test records, which is the number that the three claims
    of Lemma 4.6 require with its Chernoff bounds and the tail of its noise.

    Examples
    --------
    >>> from dplearn.theory import parity_sample_size
    >>> parity_sample_size(16, epsilon=1, alpha=0.1, beta=0.05)
    663
    >>> parity_sample_size(16, epsilon=1, alpha=0.1, beta=0.05, bound="paper")
    79967
    """
    method = check_choice("method", method, ("elimination", "agnostic", "once"))
    published = check_choice("bound", bound, ("proof", "paper")) == "paper"
    if method == "elimination" and not published:
        return elimination_sizes(n_unknowns, epsilon=epsilon, alpha=alpha, beta=beta).n_samples
    d, eps, a = _task(n_unknowns, epsilon, alpha)
    if method == "elimination":
        return _published_elimination(d, eps, a, _below_1("beta", beta))
    if method == "agnostic":
        if published:
            return generic_sample_size(1 << d, epsilon=epsilon, alpha=alpha, beta=beta, bound="paper")
        return _enough(d * math.log(2) - math.log(_below_1("beta", beta)), _agnostic_rate(eps, a))
    if published:
        check_number("beta", beta, low=Fraction(3, 4), below=1)
        return math.ceil(_lemma(d, eps, a))
    keep, abstain = parity_probabilities(epsilon)
    left = check_number("beta", beta, above=abstain, below=1) - abstain
    return _enough((d - 1) * math.log(2) - math.log(left / (1 - abstain)), float(keep) * a)


def nonprivate_parity_sample_size(n_unknowns: int, *, alpha: Any, beta: Any) -> int:
    """Return the sample complexity of elimination without privacy.

    Parameters
    ----------
    n_unknowns : int
        d: number of columns, and one more for an intercept; at least 1.
    alpha : float
        Target error, in (0, 1).
    beta : float
        Allowed probability of failure, which is a greater error or an abstention; in (0, 1).

    Returns
    -------
    int
        The least n with 2**(d - 1) (1 - alpha)**n <= beta: a random solution of all n equations then has
        error above alpha with probability at most beta.

    Examples
    --------
    >>> from dplearn.theory import nonprivate_parity_sample_size
    >>> nonprivate_parity_sample_size(16, alpha=0.1, beta=0.05)
    128
    """
    d = check_count("n_unknowns", n_unknowns, low=1)
    return _enough(
        (d - 1) * math.log(2) - math.log(_below_1("beta", beta)), _below_1("alpha", alpha, _SMALLEST)
    )


def agnostic_failure(n_unknowns: int, n_samples: int, *, epsilon: Any, alpha: Any) -> float:
    """Return a bound on the probability that the exponential mechanism selects an error above alpha.

    Parameters
    ----------
    n_unknowns : int
        d: number of columns, and one more for an intercept; at least 1.
    n_samples : int
        n, at least 0.
    epsilon : float
        Positive.
    alpha : float
        Target error, in (0, 1).

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
    d, eps, a = _task(n_unknowns, epsilon, alpha)
    n = check_count("n_samples", n_samples)
    return math.exp(min(0.0, d * math.log(2) + n * math.log1p(-_agnostic_rate(eps, a))))


def elimination_failure(
    n_unknowns: int, *, n_parts: int, part_size: int, test_size: int, epsilon: Any, alpha: Any
) -> float:
    """Return a bound on the probability that elimination abstains or has an error above alpha.

    Parameters
    ----------
    n_unknowns : int
        d: number of columns, and one more for an intercept; at least 1.
    n_parts, part_size, test_size : int
        k, n' and s, as in `EliminationSizes`; at least 1, 0 and 0.
    epsilon : float
        Positive.
    alpha : float
        Target error, in (0, 1).

    Returns
    -------
    float
        At most 1; for any distribution of the columns, if a parity labels all records.

    Notes
    -----
    Let p and q be the `parity_probabilities`, r = exp(-epsilon/2) and B(e) = min(1, 2**(d - 1) (1 - p
    e)**n').

    *A part.* A parity of error e solves the equations in the random sample of a part with probability (1 - p
    e)**n'. It is then one of at least two solutions, since the right parity is another. A part that did not
    abstain therefore gives an error above e with probability at most B(e).

    *The test.* If there is a good candidate with G errors, then a bad candidate with E errors is selected
    with probability at most t**(E - G) / 2, for any t from r to 1/(2 - r). If some candidate has fewer than E
    errors, the bad one must come before the best in the random order, and its coin must succeed: the
    probability is at most r**(E - G) / 2. Otherwise let j = G - E. The bad candidate is not selected if it
    comes after the good one and the coin of the good one succeeds, so that the probability is at most 1 -
    r**j / 2, and 2 - r**j is at most (2 - r)**j. Let the bad candidate have error above alpha, and the good
    one error at most a. The mean of t**(E - G) is at most x**s, x = 1 - alpha (1 - t) + a (1/t - 1): it is
    greatest if the two never err on the same record.

    *Both.* All parts abstain with probability q**k. Otherwise, in a failure, one of the k parts gave a bad
    candidate, each with probability at most (1 - q) B(alpha), and it was selected: either no other part gave
    a good candidate, with probability at most u = (q + (1 - q) B(a))**(k - 1), or another part did. For any a
    and t the probability of failure is at most q**k + k (1 - q) B(alpha) (u + (1 - u) x**s / 2).

    **Source.** Kasiviswanathan et al. (2011), Lemmas 4.1 and 4.6. There a part must give a good candidate,
    which requires more records than not giving a bad one. The remaining failures are mostly abstentions of
    all parts, which do not depend on the test.

    Examples
    --------
    >>> from dplearn.theory import elimination_failure
    >>> round(float(elimination_failure(16, n_parts=2, part_size=331, test_size=1, epsilon=1, alpha=0.1)), 3)
    0.05
    """
    d, eps, a = _task(n_unknowns, epsilon, alpha)
    k = check_count("n_parts", n_parts, low=1)
    size = check_count("part_size", part_size)
    s = check_count("test_size", test_size)
    return _failure(_Elimination(d, eps, a, k), size, s)


def elimination_sizes(n_unknowns: int, *, epsilon: Any, alpha: Any, beta: Any) -> EliminationSizes:
    """Return the sizes of elimination with the fewest records.

    Parameters
    ----------
    n_unknowns : int
        d: number of columns, and one more for an intercept; at least 1.
    epsilon : float
        Positive.
    alpha : float
        Target error, in (0, 1).
    beta : float
        Allowed probability of failure, which is a greater error or an abstention; in (0, 1).

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
    d, eps, a = _task(n_unknowns, epsilon, alpha)
    return _least_elimination(d, eps, a, _below_1("beta", beta))


def elimination_split(
    n_samples: int, n_unknowns: int, *, epsilon: Any, alpha: Any, beta: Any
) -> EliminationSizes:
    """Return the sizes of elimination for a given number of records.

    Parameters
    ----------
    n_samples : int
        n, at least 1.
    n_unknowns : int
        d: number of columns, and one more for an intercept; at least 1.
    epsilon : float
        Positive.
    alpha : float
        Target error, in (0, 1).
    beta : float
        Allowed probability of failure, which is a greater error or an abstention; in (0, 1).

    Returns
    -------
    EliminationSizes
        If n is at least that of `elimination_sizes`: the same number of parts and the same share of test
        records, so that `failure` is at most beta. If n is x times that and suffices for beta / x: the number
        of parts for beta / x, since most failures are abstentions of all parts, and only more parts make
        these less probable. If n is less: at most the same number of parts, chosen to minimise the
        probability of failure on fair coins, where every wrong parity has error 1/2; `failure` is still the
        bound for any columns.

    Examples
    --------
    >>> from dplearn.theory import elimination_split
    >>> sizes = elimination_split(1000, 16, epsilon=1, alpha=0.1, beta=0.05)
    >>> sizes.n_parts, sizes.part_size, sizes.test_size
    (3, 333, 1)
    """
    n = check_count("n_samples", n_samples, low=1)
    plan = elimination_sizes(n_unknowns, epsilon=epsilon, alpha=alpha, beta=beta)
    d, eps, a = _task(n_unknowns, epsilon, alpha)
    if n > plan.n_samples:
        rarer = max(_RAREST, _below_1("beta", beta) * plan.n_samples / n)
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
        untested = _enough((self.d - 1) * math.log(2) - math.log(left), rate)
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
    """Return k, n' and s: s is the plan's share of n, rounded down, plus the remainder of the parts.

    Then n' >= floor((n - n s0 / n0) / k): with the plan's k, neither n' nor s is below the plan's for n >=
    n0.
    """
    test = max(n * plan.test_size // plan.n_samples, int(k > 1)) if k > 1 else 0
    size = max(0, n - test) // k
    return k, size, n - k * size


def _published_elimination(d: int, epsilon: float, alpha: float, beta: float) -> int:
    good, third = alpha / 5, math.log(3 / beta)
    k = math.ceil(third / math.log(4 / 3))
    test = max(10, k / epsilon) * (math.log(k) + third) / good
    return k * math.ceil(_lemma(d, epsilon, good)) + math.ceil(test)


def _agnostic_rate(epsilon: float, alpha: float) -> float:
    return -math.expm1(-epsilon / 2) * alpha


def _lemma(d: int, epsilon: float, alpha: float) -> float:
    return 8 / (epsilon * alpha) * (d + 2) * math.log(2)


def _enough(logarithm: float, rate: float) -> int:
    """Return the least n >= 1 with exp(logarithm) (1 - rate)**n <= 1."""
    return max(1, math.ceil(-logarithm / math.log1p(-rate)))


def _task(n_unknowns: Any, epsilon: Any, alpha: Any) -> tuple[int, float, float]:
    d = check_count("n_unknowns", n_unknowns, low=1)
    check_number("epsilon", epsilon, above=0)  # this message is clearer for most values that are too small
    size = check_number("epsilon", epsilon, low=_SMALLEST)
    return d, float(min(size, Fraction(700))), _below_1("alpha", alpha, _SMALLEST)


def _below_1(name: str, value: Any, low: float = _RAREST) -> float:
    number = check_number(name, value, above=0, below=1)
    return float(check_number(name, number, low=low))
