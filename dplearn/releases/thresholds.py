"""Release what share of private numbers is at most x, for all x at once: a whole distribution.

>>> import numpy as np
>>> incomes = np.random.default_rng(0).lognormal(10, 0.5, 100_000)
>>> release = CDFRelease(epsilon=1, random_state=0).fit(incomes)  # no bounds to guess
>>> release.distribution_.ppf([0.1, 0.5, 0.9]).round(-2).tolist()
[11600.0, 22000.0, 41500.0]
>>> print(f"{release.distribution_.cdf(30_000):.2f}")
0.73
"""

import warnings
from collections.abc import Callable
from fractions import Fraction
from html import escape
from typing import Any, Self

from dplearn._validation import check_choice, check_number
from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import ignores_float_errors
from dplearn.domains import NumberDomain
from dplearn.mechanisms.block_points import block_points
from dplearn.mechanisms.tree_counts import tree_counts
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.privacy.base import guarantee_as_html
from dplearn.privacy.unrepeatable import UnrepeatablePickles
from dplearn.releases.block_errors import BlockPlan, block_guarantee, block_plan
from dplearn.releases.distribution import ReleasedDistribution, distribution_of, distribution_of_points
from dplearn.releases.few_records import count_warnings
from dplearn.releases.reading import as_number_domain, read_codes
from dplearn.releases.tree_errors import TreePlan, tree_plan

__all__ = ["CDFRelease"]

_METHODS = ("tree", "blocks")


class CDFRelease(UnrepeatablePickles):
    """The distribution of private numbers, released once and asked for ever.

    Parameters
    ----------
    epsilon, delta : number, default=1.0 and 0.0
        What may be spent. Delta is spent only where that is the better: on Gaussian noise ("tree"), or on
        points in domains of many hundred bits ("blocks"); else the guarantee has delta 0.
    method : {"tree", "blocks"}, default="tree"
        "tree": noisy counts of nested intervals, finer where there are many records. "blocks": a point in
        each of many blocks of the sorted records, whose lengths are noisy. It needs more records, some
        thousands, and then hardly minds how large the domain is.
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
        Public. What was guaranteed.

    Notes
    -----
    **Privacy.** (epsilon, delta), for one replaced record: `tree_counts` or `block_points`; the rest works on
    what they released.

    **Assumes.** All values lie in the domain; the number of records is public.

    **Accuracy.** With probability at least 1 - beta the distribution of the records is nowhere further from
    the released one than `plan(n).error(n, beta)`; `distribution_.band` says more, from what was released.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 4, of which Theorem 4.6 is "blocks", mended;
    Dwork, Naor, Pitassi and Rothblum (2010).
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

    def plan(self, n_samples: int | None = None) -> TreePlan | BlockPlan:
        """Return how the records will be counted, and so how far off the release may be, without data.

        Parameters
        ----------
        n_samples : int, optional
            Number of records: "blocks" needs it, "tree" does without.

        Raises
        ------
        ValueError
            If "blocks" is not told the number of records, or they are too few; the message says how many are
            needed.
        """
        domain, target, _ = self._checked()
        plan: TreePlan | BlockPlan = _PLANS[self.method](domain.size, target, n_samples)
        return plan

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
            If a parameter is not as described, `values` has another shape, or there are too few for "blocks".
        BudgetExceededError
            If the ledger's budget does not hold it; nothing is spent.
        DomainError
            If a value is outside the domain; nothing is spent, and the message shows no value.

        Warns
        -----
        UserWarning
            If `plan().error(n, 0.05)` is at least 1/2 for "tree", so that nothing is guaranteed of a median.
        """
        domain, target, guarantee = self._checked()
        charge = open_account(self.ledger, guarantee, name=type(self).__name__)
        codes = read_codes(values, domain, takes_missing=False)
        plan = _PLANS[self.method](domain.size, target, len(codes))
        public = (self.method, domain, plan.guarantee)
        dice = dice_for(self.random_state, type(self).__name__, *map(repr, public))
        if isinstance(plan, TreePlan):  # too few for blocks are refused
            for text in count_warnings(len(codes), plan):
                warnings.warn(text, stacklevel=2)
        charge(guarantee)
        self.distribution_ = _RELEASES[self.method](codes, domain, plan, guarantee, dice)
        self.guarantee_ = guarantee
        return self

    def _checked(self) -> tuple[NumberDomain, ApproxDP, ApproxDP]:
        """Check what is public; return the domain, what may be spent, and the guarantee."""
        check_choice("method", self.method, _METHODS)
        epsilon = check_number("epsilon", self.epsilon, low=Fraction(1, 10**9))
        delta = check_number("delta", self.delta, low=0, below=1)
        domain = as_number_domain(self.domain)
        if domain.accepts_missing:
            raise ValueError(f"domain must not accept missing values, got {domain!r}")
        target = ApproxDP(epsilon, delta)
        kept = _GUARANTEES[self.method](domain.size, target)
        guarantee = ApproxDP(
            kept.epsilon,
            kept.delta,
            assumes=(domain.assumption, "the number of records is public"),
            reproducible=self.random_state is not None,
        )
        return domain, target, guarantee

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in _SHOWN)
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        guaranteed = getattr(self, "guarantee_", None)
        try:
            cost = self._checked()[2]
        except (TypeError, ValueError):  # a fit will say what is wrong
            cost = None
        return f"<pre>{escape(repr(self))}</pre>{guarantee_as_html(guaranteed, cost)}"


_SHOWN = ("epsilon", "delta", "method", "domain", "random_state")


def _plan_blocks(size: int, privacy: ApproxDP, n_samples: int | None) -> BlockPlan:
    if n_samples is None:
        raise ValueError("n_samples must be given: method='blocks' plans for a number of records")
    return block_plan(size, privacy, n_samples)


@ignores_float_errors
def _by_tree(
    codes: Any, domain: NumberDomain, plan: TreePlan, guarantee: ApproxDP, dice: Dice
) -> ReleasedDistribution:
    levels = tree_counts(
        codes, plan.size, fan_out=plan.fan_out, threshold=plan.threshold, privacy=plan.privacy, dice=dice
    )
    return distribution_of(levels, domain, plan, guarantee)


@ignores_float_errors
def _by_blocks(
    codes: Any, domain: NumberDomain, plan: BlockPlan, guarantee: ApproxDP, dice: Dice
) -> ReleasedDistribution:
    points = block_points(codes, plan, privacy=plan.guarantee, dice=dice)
    return distribution_of_points(points, len(codes), domain, plan, guarantee)


# Of each method: what it guarantees, its plan, and what it does with the records.
_GUARANTEES: dict[str, Callable[[int, ApproxDP], ApproxDP]] = {
    "tree": lambda size, target: tree_plan(size, target).guarantee,
    "blocks": block_guarantee,
}
_PLANS: dict[str, Callable[[int, ApproxDP, int | None], Any]] = {
    "tree": lambda size, target, _: tree_plan(size, target),
    "blocks": _plan_blocks,
}
_RELEASES: dict[str, Callable[..., ReleasedDistribution]] = {"tree": _by_tree, "blocks": _by_blocks}
