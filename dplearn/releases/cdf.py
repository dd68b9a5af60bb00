"""Private release of a cumulative distribution function."""

from fractions import Fraction
from typing import Any

from dplearn._validation import check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.domains import NumberDomain
from dplearn.domains.base import Codes
from dplearn.fit.execute import Facts
from dplearn.mechanisms.block_points import block_points
from dplearn.mechanisms.tree_counts import tree_counts
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.records.part_ranks import PartedTreeRecords, gathered_codes
from dplearn.records.table import Table
from dplearn.releases.block_errors import BlockPlan, block_guarantee, block_plan
from dplearn.releases.distribution import CDFPlan, CDFRelease, distribution_of, distribution_of_points
from dplearn.releases.reading import as_number_domain, read_codes
from dplearn.releases.release import N_IS_PUBLIC, ColumnRelease
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
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> CDFRelease:
    """Release the cumulative distribution function of private numbers.

    Parameters
    ----------
    values : array-like of shape (n,), or parts of one
        Private. Numbers of the domain. Parts: a Dask series, or a function that returns series or arrays.
    epsilon : float, default=1.0
        Privacy budget of the release; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1). A positive delta is spent only if it reduces
        the error: on Gaussian noise ("tree"), or on points in domains of many hundred bits ("blocks").
        Otherwise the guarantee has delta 0.
    method : {"tree", "blocks"}, default="tree"
        "tree": noisy counts of nested intervals, finer where there are many records. "blocks": an interior
        point of each of many blocks of the sorted records; the lengths of the blocks are noisy. "blocks"
        needs some thousands of records, and its error hardly grows with the size of the domain.
    domain : "float64" or NumberDomain, default="float64"
        Public. The possible values; "float64": all finite floats. Smaller domains need less noise.
    groups : array-like of shape (n,), or parts like those of `values`, optional
        Private. The group of each value, such as the person that it belongs to: texts or integers. The
        guarantee then protects all values of a group together. One value of each group takes part, which is
        chosen by public chance, and the set of groups is public.
    ledger : PrivacyLedger, optional
        The ledger that the release is charged to, before any draw.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the release reproducible, for tests only;
        the guarantee states this.

    Returns
    -------
    CDFRelease
        The distribution function, its plan and its guarantee.

    Raises
    ------
    DomainError
        If a value is outside the domain; nothing is spent, and the message shows no value.
    TypeError, ValueError
        If a parameter is not as described, `values` has another shape, or there are too few records for
        "blocks".
    BudgetExceededError
        If the guarantee does not fit the ledger's remaining budget; nothing is spent.

    Warns
    -----
    UserWarning
        If the error bound of "tree" is 1/2 or more: then it gives no guarantee for the median.

    Notes
    -----
    **Privacy.** (epsilon, delta), for one replaced record: the guarantee of `tree_counts` or `block_points`;
    all further steps are post-processing.

    **Assumes.** All values lie in the domain; the number of records is public.

    **Accuracy.** With probability at least 1 - beta, the greatest difference between the distribution
    function of the records and the released one is at most `cdf_plan(n, beta=beta).error`. `CDFRelease.band`
    gives a finer bound, from released values.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 4; "blocks" is a corrected version of their
    Theorem 4.6. Dwork, Naor, Pitassi and Rothblum (2010) for "tree".

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.releases import cdf
    >>> incomes = np.random.default_rng(0).lognormal(10, 0.5, 100_000)
    >>> found = cdf(incomes, epsilon=1, random_state=0)  # bounds are not needed
    >>> found.ppf([0.1, 0.5, 0.9]).round(-2).tolist()
    [11700.0, 22000.0, 41900.0]
    >>> print(f"{found.cdf(30_000):.2f}")
    0.73
    """
    return _CDF(epsilon, delta, method, domain, random_state).run_on(values, None, ledger, groups)


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
    """Return the plan of `cdf`, with its error bound, without data.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 1.
    epsilon : float, default=1.0
        Privacy budget of the release; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1). A positive delta is spent only if it reduces
        the error: on Gaussian noise ("tree"), or on points in domains of many hundred bits ("blocks").
        Otherwise the guarantee has delta 0.
    method : {"tree", "blocks"}, default="tree"
        "tree": noisy counts of nested intervals, finer where there are many records. "blocks": an interior
        point of each of many blocks of the sorted records; the lengths of the blocks are noisy. "blocks"
        needs some thousands of records, and its error hardly grows with the size of the domain.
    domain : "float64" or NumberDomain, default="float64"
        Public. The possible values; "float64": all finite floats. Smaller domains need less noise.
    alpha : float, default=0.05
        Target error for `n_needed`, as a fraction of the records, in (0, 1).
    beta : float, default=0.05
        Allowed probability of failure, in (0, 1).

    Returns
    -------
    CDFPlan

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described, or there are too few records for "blocks"; the message gives the
        number needed.

    Examples
    --------
    >>> from dplearn.releases import cdf_plan
    >>> plan = cdf_plan(100_000, epsilon=1)
    >>> round(plan.error, 3), plan.n_needed
    (0.05, 100716)
    """
    return _CDF(epsilon, delta, method, domain).plan(Facts(n_samples), alpha=alpha, beta=beta)


class _CDF(ColumnRelease[CDFRelease]):
    """The recipe of `cdf`."""

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
        """Return the guarantee of the method, for every number of records."""
        if self.method == "tree":
            return tree_plan(self.domain.size, self.most).guarantee
        return block_guarantee(self.domain.size, self.most)

    def read(self, X: Any, y: Any) -> tuple[Facts, Codes]:  # noqa: ARG002 - there is none
        codes = read_codes(X, self.domain, takes_missing=False)
        return Facts(len(codes)), codes

    def plan(self, facts: Facts, *, alpha: Any = 0.05, beta: Any = 0.05) -> CDFPlan:
        n = check_count("n_samples", facts.n_samples, low=1)
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

    def run(self, table: Table, plan: CDFPlan, dice: Dice) -> CDFRelease:
        mechanism = plan.mechanism_plan
        if isinstance(mechanism, BlockPlan):
            points = block_points(gathered_codes(table), mechanism, privacy=mechanism.guarantee, dice=dice)
            return distribution_of_points(points, plan)
        levels = tree_counts(
            PartedTreeRecords(table, mechanism.size) if table.in_parts else gathered_codes(table),
            mechanism.size,
            fan_out=mechanism.fan_out,
            threshold=mechanism.threshold,
            privacy=mechanism.privacy,
            dice=dice,
        )
        return distribution_of(levels, plan)
