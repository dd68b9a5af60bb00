"""Release what share of private numbers is at most x, for all x at once: a whole distribution.

>>> import numpy as np
>>> incomes = np.random.default_rng(0).lognormal(10, 0.5, 100_000)
>>> release = ThresholdRelease(epsilon=1, random_state=0).fit(incomes)  # no bounds to guess
>>> release.distribution_.ppf([0.1, 0.5, 0.9]).round(-2).tolist()
[11700.0, 22000.0, 41600.0]
>>> print(f"{release.distribution_.cdf(30_000):.2f}")
0.73
"""

from typing import Any, Self

from dplearn._validation import check_choice, check_number
from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.domains import NumberDomain
from dplearn.mechanisms.tree_counts import tree_counts
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.releases.distribution import ReleasedDistribution, distribution_of
from dplearn.releases.reading import as_number_domain, read_codes
from dplearn.theory.thresholds import TreePlan, tree_plan

__all__ = ["ThresholdRelease"]

_METHODS = ("tree",)


class ThresholdRelease:
    """The distribution of private numbers, released once and asked for ever.

    Parameters
    ----------
    epsilon, delta : number, default=1.0 and 0.0
        What may be spent. Where delta is positive, Gaussian noise is taken if it is the better; where it is
        not, the guarantee has delta 0.
    method : {"tree"}, default="tree"
        How: by noisy counts of nested intervals, finer where there are many records.
    domain : "float64" or NumberDomain, default="float64"
        The values that are told apart, which are public; "float64" stands for all finite floats. The fewer,
        the less noise.
    ledger : PrivacyLedger, optional
        Is charged before any noise is drawn.
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        None: the operating system's entropy. Anything else makes the release repeatable, for tests alone.

    Attributes
    ----------
    distribution_ : ReleasedDistribution
        Released. The distribution.
    guarantee_ : ApproxDP
        Public. What was promised.

    Notes
    -----
    **Privacy.** (epsilon, delta), for one replaced record: `tree_counts`; the rest works on what it released.

    **Assumes.** All values lie in the domain; the number of records is public.

    **Accuracy.** With probability at least 1 - beta the distribution of the records is nowhere further from
    the released one than `plan().error(n, beta)`; `distribution_.band` says more, from what was released.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 4; Dwork, Naor, Pitassi and Rothblum (2010).
    """

    distribution_: ReleasedDistribution
    guarantee_: ApproxDP

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0.0,
        method: str = "tree",
        domain: str | NumberDomain = "float64",
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.domain = domain
        self.ledger = ledger
        self.random_state = random_state

    def plan(self) -> TreePlan:
        """Return how the records will be counted, and so how far off the release may be, without data."""
        return self._settled()[1]

    def fit(self, values: Any) -> Self:
        """Release the distribution of some values.

        Parameters
        ----------
        values : array-like of shape (n,)
            Private. Numbers of the domain.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If a parameter is not as described, or `values` has another shape.
        BudgetExceededError
            If the ledger's budget does not hold it; nothing is spent.
        DomainError
            If a value is outside the domain; nothing is spent, and the message shows no value.
        """
        domain, plan, guarantee = self._settled()
        charge = open_account(self.ledger, guarantee, name=type(self).__name__)
        codes = read_codes(values, domain)
        public = (self.method, domain, plan.guarantee)
        dice = dice_for(self.random_state, type(self).__name__, *map(repr, public))
        charge(guarantee)
        self.distribution_ = _release(codes, domain, plan, guarantee, dice)
        self.guarantee_ = guarantee
        return self

    def _settled(self) -> tuple[NumberDomain, TreePlan, ApproxDP]:
        """Check what is public; return the domain, the plan and the guarantee."""
        check_choice("method", self.method, _METHODS)
        epsilon = check_number("epsilon", self.epsilon, above=0)
        delta = check_number("delta", self.delta, low=0, below=1)
        domain = as_number_domain(self.domain)
        if domain.accepts_missing:
            raise ValueError(f"domain must not accept missing values, got {domain!r}")
        plan = tree_plan(domain.size, ApproxDP(epsilon, delta))
        kept = plan.guarantee
        guarantee = ApproxDP(
            kept.epsilon,
            kept.delta,
            assumes=(domain.assumption, "the number of records is public"),
            reproducible=self.random_state is not None,
        )
        return domain, plan, guarantee

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in _SHOWN)
        return f"{type(self).__name__}({shown})"


_SHOWN = ("epsilon", "delta", "method", "domain", "random_state")


def _release(
    codes: Any, domain: NumberDomain, plan: TreePlan, guarantee: ApproxDP, dice: Dice
) -> ReleasedDistribution:
    levels = tree_counts(
        codes, plan.size, fan_out=plan.fan_out, bar=plan.bar, privacy=plan.privacy, dice=dice
    )
    return distribution_of(levels, domain, plan, guarantee)
