"""Release what share of private numbers is at most x, for all x at once: a whole distribution.

>>> import numpy as np
>>> incomes = np.random.default_rng(0).lognormal(10, 0.5, 100_000)
>>> found = cdf(incomes, epsilon=1, random_state=0)  # no bounds to guess
>>> found.ppf([0.1, 0.5, 0.9]).round(-2).tolist()
[11700.0, 22000.0, 41900.0]
>>> print(f"{found.cdf(30_000):.2f}")
0.73
>>> plan = cdf_plan(100_000, epsilon=1)
>>> round(plan.error, 3), plan.n_needed
(0.05, 100716)
"""

from fractions import Fraction
from typing import Any

from dplearn._validation import check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.domains import NumberDomain
from dplearn.domains.base import Codes
from dplearn.mechanisms.block_points import block_points
from dplearn.mechanisms.tree_counts import tree_counts
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.releases.block_errors import BlockPlan, block_guarantee, block_plan
from dplearn.releases.distribution import CDFPlan, CDFRelease, distribution_of, distribution_of_points
from dplearn.releases.reading import as_number_domain, read_codes
from dplearn.releases.stages import N_IS_PUBLIC, Release
from dplearn.releases.tree_errors import TreePlan, tree_plan

__all__ = ["cdf", "cdf_plan"]

_METHODS = ("tree", "blocks")


def cdf(
    values: Any,
    *,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    method: str = "tree",
    domain: str | NumberDomain = "float64",
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> CDFRelease:
    """Release the cumulative distribution function of private numbers, once, to be asked at any point.

    Parameters
    ----------
    values : array-like of shape (n,)
        Private. Numbers of the domain.
    epsilon, delta : number, default=1.0 and 0.0
        The most that is spent; epsilon at least 1e-9. Delta is spent only where that is the better: on
        Gaussian noise ("tree"), or on points in domains of many hundred bits ("blocks"); else the guarantee
        has delta 0.
    method : {"tree", "blocks"}, default="tree"
        "tree": noisy counts of nested intervals, finer where there are many records. "blocks": a point in
        each of many blocks of the sorted records, whose lengths are noisy. It needs some thousands of
        records, and its error hardly grows with the size of the domain.
    domain : "float64" or NumberDomain, default="float64"
        Public. The values that are told apart; "float64": all finite floats. The fewer, the less noise.
    ledger : PrivacyLedger, optional
        Is charged before any draw.
    random_state : None, int or numpy random generator, optional
        None: the operating system's entropy. Anything else repeats itself, and the guarantee says so.

    Returns
    -------
    CDFRelease

    Raises
    ------
    DomainError
        If a value is outside the domain; nothing is spent, and the message shows no value.
    TypeError, ValueError
        If a parameter is not as described, `values` has another shape, or there are too few for "blocks".
    BudgetExceededError
        If the ledger's budget does not hold it; nothing is spent.

    Warns
    -----
    UserWarning
        If the error of "tree" may be 1/2 or more, so that nothing is guaranteed of a median.

    Notes
    -----
    **Privacy.** (epsilon, delta), for one replaced record: `tree_counts` or `block_points`; the rest works on
    what they released.

    **Assumes.** All values lie in the domain; the number of records is public.

    **Accuracy.** With probability at least 1 - beta the distribution of the records is nowhere further from
    the released one than `cdf_plan(n, beta=beta).error`; `CDFRelease.band` says more, from what was released.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 4, of which Theorem 4.6 is "blocks", mended;
    Dwork, Naor, Pitassi and Rothblum (2010).
    """
    return _CDF(epsilon, delta, method, domain, random_state).run(values, ledger)


def cdf_plan(
    n_samples: int,
    *,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    method: str = "tree",
    domain: str | NumberDomain = "float64",
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> CDFPlan:
    """Return what a release of a distribution would run on: how far off it may be, without any data.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 1.
    epsilon, delta, method, domain
        As for `cdf`.
    alpha : float, default=0.05
        Error that is wanted, as a share of the records, in (0, 1).
    beta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    CDFPlan

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described, or there are too few records for "blocks"; the message says how
        many are needed.
    """
    return _CDF(epsilon, delta, method, domain).plan(n_samples, alpha=alpha, beta=beta)


class _CDF(Release[CDFPlan, CDFRelease]):
    """A distribution, by either method."""

    def __init__(self, epsilon: Any, delta: Any, method: str, domain: Any, random_state: Any = None):
        self.method = check_choice("method", method, _METHODS)
        epsilon = check_number("epsilon", epsilon, low=Fraction(1, 10**9))
        delta = check_number("delta", delta, low=0, below=1)
        self.domain = as_number_domain(domain)
        if self.domain.accepts_missing:
            raise ValueError(f"domain must not accept missing values, got {self.domain!r}")
        self.most = ApproxDP(epsilon, delta)
        kept = self._guaranteed()
        guarantee = ApproxDP(
            kept.epsilon,
            kept.delta,
            assumes=(N_IS_PUBLIC, self.domain.assumption),
            reproducible=random_state is not None,
        )
        super().__init__("cdf", guarantee, (method, repr(self.domain), repr(kept)), random_state)

    def _guaranteed(self) -> ApproxDP:
        """Return what the method guarantees, whatever the number of records."""
        if self.method == "tree":
            return tree_plan(self.domain.size, self.most).guarantee
        return block_guarantee(self.domain.size, self.most)

    def read(self, values: Any) -> Codes:
        return read_codes(values, self.domain, takes_missing=False)

    def plan(self, n_samples: int, *, alpha: Any = 0.05, beta: Any = 0.05) -> CDFPlan:
        n = check_count("n_samples", n_samples, low=1)
        mechanism: TreePlan | BlockPlan
        if self.method == "tree":
            mechanism = tree_plan(self.domain.size, self.most)
        else:
            mechanism = block_plan(self.domain.size, self.most, n)
        return CDFPlan(
            self.guarantee,
            n,
            self.method,
            self.domain,
            mechanism,
            float(check_number("alpha", alpha, above=0, below=1)),
            float(check_number("beta", beta, above=0, below=1)),
            most=self.most,
        )

    def release(self, summary: Codes, plan: CDFPlan, dice: Dice) -> CDFRelease:
        mechanism = plan.mechanism_plan
        if isinstance(mechanism, BlockPlan):
            points = block_points(summary, mechanism, privacy=mechanism.guarantee, dice=dice)
            return distribution_of_points(points, plan)
        levels = tree_counts(
            summary,
            mechanism.size,
            fan_out=mechanism.fan_out,
            threshold=mechanism.threshold,
            privacy=mechanism.privacy,
            dice=dice,
        )
        return distribution_of(levels, plan)
