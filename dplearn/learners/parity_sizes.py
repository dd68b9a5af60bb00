"""How many records private learning of parities takes: by elimination, or by comparing all of them.

>>> sizes = elimination_sizes(16, epsilon=1, alpha=0.1, beta=0.05)
>>> sizes.n_samples, sizes.n_parts, sizes.part_size, sizes.test_size
(663, 2, 331, 1)
>>> parity_sample_size(16, epsilon=1, alpha=0.1, beta=0.05, bound="paper")
79967
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_choice, check_count, check_number
from dplearn.core.search import lowest
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

_SMALLEST = 1e-9  # alpha and epsilon: nobody has as many records as less would take
_RAREST = 1e-100  # beta
_SLACK = 1e-12  # for rounding: relative
_SHARES = np.arange(1, 64) / 64  # of alpha: errors up to which a candidate may be called good

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EliminationSizes:
    """How elimination cuts its records, and how rarely it then fails.

    Attributes
    ----------
    n_samples : int
        n = n_parts * part_size + test_size.
    n_parts, part_size : int
        k parts of n' records: each gives a candidate, or None.
    test_size : int
        s records, on which candidates are compared; 0 only for one part.
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
    """Return how many records make a private learner of parities accurate, if a parity labels them all.

    Parameters
    ----------
    n_unknowns : int
        d: number of columns, and one more for an intercept; at least 1.
    epsilon : float
        Positive.
    alpha : float
        Error up to which a parity will do, in (0, 1).
    beta : float
        Probability of failure, a greater error or None; in (0, 1).
    method : {"elimination", "agnostic", "once"}, default="elimination"
        "once" is `consistent_parity` on all records: beta must be above its chance to decline. "elimination"
        repeats it on parts. "agnostic" is the exponential mechanism over all parities.
    bound : {"proof", "paper"}, default="proof"
        "proof": the least n for which our bound is at most beta. "paper": with the constants of the paper.

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
    Our bounds are `elimination_failure`, with one part for "once", and `agnostic_failure`. Where no parity
    labels all records, the exponential mechanism needs `generic_sample_size` of 2**d concepts.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011). For "once" Lemma 4.1 has
    (8/(epsilon alpha)) (d ln 2 + ln 4), and beta at least 3/4; for "agnostic" it is Theorem 3.4; for
    "elimination" algorithm A* with b = beta/3, a = alpha/5, k = ceil(ln(1/b)/ln(4/3)) parts of the size of
    Lemma 4.1 for a, and max(10, k/epsilon) ln(k/b)/a test records, which is what the three claims of
    Lemma 4.6 need by its Chernoff bounds and the tail of its noise.
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
    """Return how many records elimination takes without privacy.

    Parameters
    ----------
    n_unknowns, alpha, beta
        As for `parity_sample_size`.

    Returns
    -------
    int
        The least n with 2**(d - 1) (1 - alpha)**n <= beta: a random solution of all n equations then errs
        on more than alpha with probability at most beta.
    """
    d = check_count("n_unknowns", n_unknowns, low=1)
    return _enough(
        (d - 1) * math.log(2) - math.log(_below_1("beta", beta)), _below_1("alpha", alpha, _SMALLEST)
    )


def agnostic_failure(n_unknowns: int, n_samples: int, *, epsilon: Any, alpha: Any) -> float:
    """Return a bound on the probability that the exponential mechanism's parity errs on more than alpha.

    Parameters
    ----------
    n_unknowns, epsilon, alpha
        As for `parity_sample_size`.
    n_samples : int
        n, at least 0.

    Returns
    -------
    float
        2**d (1 - alpha (1 - r))**n with r = exp(-epsilon/2), or 1 if that is less; for any distribution of
        the columns, if a parity labels all records.

    Notes
    -----
    The right parity has weight 1 and one of error e has r**errors, so that this is selected with at most the
    mean of r**errors, which is (1 - e (1 - r))**n.
    """
    d, eps, a = _task(n_unknowns, epsilon, alpha)
    n = check_count("n_samples", n_samples)
    return math.exp(min(0.0, d * math.log(2) + n * math.log1p(-_agnostic_rate(eps, a))))


def elimination_failure(
    n_unknowns: int, *, n_parts: int, part_size: int, test_size: int, epsilon: Any, alpha: Any
) -> float:
    """Return a bound on the probability that elimination fails: None, or an error above alpha.

    Parameters
    ----------
    n_unknowns, epsilon, alpha
        As for `parity_sample_size`.
    n_parts, part_size, test_size : int
        k, n' and s, as in `EliminationSizes`; at least 1, 0 and 0.

    Returns
    -------
    float
        At most 1; for any distribution of the columns, if a parity labels all records.

    Notes
    -----
    Let p and q be the `parity_probabilities`, r = exp(-epsilon/2) and B(e) = min(1, 2**(d - 1) (1 - p
    e)**n').

    *A part.* A parity of error e solves the equations that a part keeps with probability (1 - p e)**n', and
    is then one of two solutions or more, since the right one is another. So a part that did not decline
    gives an error above e with probability at most B(e).

    *The test.* A bad candidate that makes E errors is selected, where there is a good one that makes G, with
    probability at most t**(E - G) / 2, for any t from r to 1/(2 - r). If another makes fewer than E, then the
    bad one must come before the best, and its coin succeed: r**(E - G) / 2 or less. If none does, with
    j = G - E, it must not come after the good one while that one's coin succeeds: 1 - r**j / 2, and
    2 - r**j is at most (2 - r)**j. Let the bad one err on more than alpha and the good one on at most a. The
    mean of t**(E - G) is at most x**s, x = 1 - alpha (1 - t) + a (1/t - 1): it is largest if they never err
    on the same record.

    *Both.* All parts decline with probability q**k. Otherwise one of k gave a bad candidate, each with
    probability at most (1 - q) B(alpha), and it was selected: because no other part gave a good one, with
    u = (q + (1 - q) B(a))**(k - 1), or in spite of one. For any a and t failure has probability at most
    q**k + k (1 - q) B(alpha) (u + (1 - u) x**s / 2).

    **Source.** Kasiviswanathan et al. (2011), Lemmas 4.1 and 4.6. There a part must give a good candidate,
    which takes more records than not giving a bad one; what remains is mostly None, which no test mends.
    """
    d, eps, a = _task(n_unknowns, epsilon, alpha)
    k = check_count("n_parts", n_parts, low=1)
    size = check_count("part_size", part_size)
    s = check_count("test_size", test_size)
    return _failure(_Elimination(d, eps, a, k), size, s)


def elimination_sizes(n_unknowns: int, *, epsilon: Any, alpha: Any, beta: Any) -> EliminationSizes:
    """Return the sizes with which elimination needs the fewest records.

    Parameters
    ----------
    n_unknowns, epsilon, alpha, beta
        As for `parity_sample_size`.

    Returns
    -------
    EliminationSizes
        Whose `failure` is at most beta.
    """
    d, eps, a = _task(n_unknowns, epsilon, alpha)
    return _least_elimination(d, eps, a, _below_1("beta", beta))


def elimination_split(
    n_samples: int, n_unknowns: int, *, epsilon: Any, alpha: Any, beta: Any
) -> EliminationSizes:
    """Return how elimination cuts a given number of records.

    Parameters
    ----------
    n_samples : int
        n, at least 1.
    n_unknowns, epsilon, alpha, beta
        As for `parity_sample_size`.

    Returns
    -------
    EliminationSizes
        If n is at least that of `elimination_sizes`, as many parts and the same share of test records: then
        `failure` is at most beta. If n is x times that and is enough for beta / x, the parts are those for
        beta / x: it fails mostly where all parts decline, and only more parts mend that. If n is less, at
        most as many parts, with which it fails least where the columns are fair coins and every wrong parity
        errs on half of the records; `failure` is for any columns even so.
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
    """The bound of `elimination_failure` for k parts; of 2**d and the like there are only logarithms."""

    d: int
    epsilon: float
    alpha: float
    k: int

    @property
    def chances(self) -> tuple[float, float]:
        keep, abstain = parity_probabilities(self.epsilon)
        return float(keep), float(abstain)

    def wrong(self, sizes: Floats, errors: Any) -> Floats:
        """Return ln B: of how probable a parity above these errors is, in parts of these sizes."""
        exponents: Floats = (self.d - 1) * math.log(2) + sizes * np.log1p(-self.chances[0] * errors)
        return np.minimum(0, exponents)

    def nobody(self, sizes: Floats) -> Floats:
        """Return u for each size in a column and each share of alpha."""
        abstain = self.chances[1]
        good: Floats = (1 - abstain) * np.exp(self.wrong(sizes, self.alpha * _SHARES))
        return (abstain + good) ** (self.k - 1)

    def factors(self) -> Floats:
        """Return ln x for each share of alpha, with the t that makes it least."""
        ratio = math.exp(-self.epsilon / 2)
        t = np.clip(np.sqrt(_SHARES), ratio, 1 / (2 - ratio))
        rates: Floats = self.alpha * (_SHARES * (1 / t - 1) - (1 - t))
        return np.log1p(rates)

    def tests(self, sizes: Floats, beta: float) -> Floats:
        """Return for each size of parts the least size of the test, or infinity: `_failure` solved for s."""
        abstain = self.chances[1]
        left = math.log((beta - abstain**self.k) / (self.k * (1 - abstain))) - _SLACK
        allowed = np.exp(np.minimum(1, left - self.wrong(sizes[:, None], self.alpha)))
        nobody, factors = self.nobody(sizes[:, None]), self.factors()
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.log(2 * (allowed - nobody) / (1 - nobody))  # x**s must be at most their exponential
            longer = np.where(factors < 0, np.ceil(odds / factors), np.inf)
        needed = np.where(allowed > nobody, np.where(odds >= factors, 1, longer), np.inf)
        return np.where(allowed[:, 0] >= 1, float(self.k > 1), needed.min(axis=1))

    def sizes(self, beta: float) -> tuple[int, int]:
        """Return n' and s for which k n' + s is least."""
        keep, abstain = self.chances
        rate = keep * self.alpha
        left = (beta - abstain**self.k) / (self.k * (1 - abstain))
        untested = _enough((self.d - 1) * math.log(2) - math.log(left), rate)
        high = untested + 1 + (untested >> 36)  # where `tests` finds that none is needed, rounding or not
        # With fewer records than this B(alpha) is above left / q**(k - 1), and left to u at least.
        low = max(1, untested - math.ceil((self.k - 1) * math.log(abstain) / math.log1p(-rate)))
        size = lowest(lambda parts: self.k * parts + self.tests(parts, beta), low, high)
        return size, int(self.tests(np.array([size], dtype=np.float64), beta)[0])


@lru_cache(maxsize=1024)
def _failure(task: _Elimination, size: int, test: int) -> float:
    """Return the bound of `elimination_failure` with its best a and t."""
    sizes, abstain = np.array([[size]], dtype=np.float64), task.chances[1]
    nobody = task.nobody(sizes)
    lost = np.exp(np.minimum(0, test * task.factors() - math.log(2)))
    selected = float(np.min(nobody + (1 - nobody) * lost))
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
    """Return k, n' and s, where s is the plan's share of n, rounded down, and what is left over.

    So n' >= (n - n s0 / n0) / k rounded down: with the plan's k neither is below the plan's, from n0 on.
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
    check_number("epsilon", epsilon, above=0)  # what the message says of most that are too small
    size = check_number("epsilon", epsilon, low=_SMALLEST)
    return d, float(min(size, Fraction(700))), _below_1("alpha", alpha, _SMALLEST)


def _below_1(name: str, value: Any, low: float = _RAREST) -> float:
    number = check_number(name, value, above=0, below=1)
    return float(check_number(name, number, low=low))
