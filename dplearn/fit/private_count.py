"""Fits that estimate a private number of records first, and then plan by the estimate.

For neighbors="add_remove" a share of the budget estimates the number of records. The rest of the fit is that
of a plan for as many records and the remaining budget: the plan is a function of public values and of the
estimate, which is released. Where the rest consists of queries, the same oracle answers all of them.

>>> from dplearn.chance import SeededDice
>>> count, rest = counted_shares(ApproxDP(2, 1e-6, neighbors=ADDED), concentrated=False)
>>> str(count.epsilon), str(rest.epsilon), noisy_count(1000, count, SeededDice(0))
('1/5', '9/5', 1003)
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from dplearn.chance.dice import Dice
from dplearn.fit.relation import without_count
from dplearn.mechanisms import gaussian_counts, laplace_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.shares import CONCENTRATED, GAUSSIAN, concentrated_budget, gaussian_budget
from dplearn.privacy.unknown_count import ADDED, COUNT_SHARE, MOST_RECORDS

_ANY = 1  # a number of records by which parameters are checked before one is known


def counted_plan(
    plan_of: Callable[[ApproxDP, Any], Any], cost: ApproxDP, facts: Any, rest: ApproxDP | None = None
) -> Any:
    """Return a plan whose guarantee is for one added or removed record.

    `plan_of` maps a cost and facts with a number of records to the plan of such a fit, whose guarantee has
    the assumptions for a replaced record. `rest` is the cost of all but the estimate; None: of queries with
    the noise of the cost. In a fit, `for_count` of the plan maps an estimate to the plan of all else. Errors
    are those of the plan for the fewest records, and for the most.
    """
    left, guess = _rest(cost) if rest is None else rest, cast("int | None", facts.n_samples)

    def for_count(n: int) -> Any:
        return plan_of(left, replace(facts, n_samples=n))

    plan = for_count(_ANY if guess is None else guess)
    guarantee = replace(cost, assumes=without_count(plan.guarantee.assumes))
    if guess is not None:
        return replace(plan, guarantee=guarantee)
    for_count(MOST_RECORDS)  # if the plan for an estimate raises an error, so does one of these two
    return replace(plan, guarantee=guarantee, public=facts, for_count=for_count)


def counted_shares(cost: ApproxDP, *, concentrated: bool) -> tuple[ApproxDP | ZeroConcentratedDP, ApproxDP]:
    """Return the guarantee of an estimate of the number of records, and that of the rest of a fit.

    If the rest is `concentrated` and has a delta, rho is divided. Otherwise epsilon is, and the rest has the
    whole delta; an epsilon far below delta leaves nothing for it, and is refused.
    """
    share = Fraction(COUNT_SHARE)
    if not (concentrated and cost.delta):
        return ApproxDP(share * cost.epsilon, neighbors=ADDED), replace(
            cost, epsilon=(1 - share) * cost.epsilon
        )
    whole = concentrated_budget(cost)
    rest = CONCENTRATED.epsilon_within((1 - share) * whole, cost.delta)
    if not rest:
        raise ValueError(
            "epsilon must be larger, or delta smaller, for a positive epsilon after the number of records is"
            f" estimated, got epsilon {float(cost.epsilon):g} and delta {float(cost.delta):g}; a given"
            " n_teachers needs no estimate"
        )
    return ZeroConcentratedDP(share * whole, neighbors=ADDED), replace(cost, epsilon=rest)


def noisy_count(
    n: int, privacy: ApproxDP | ZeroConcentratedDP, dice: Dice, *, most_records: int = MOST_RECORDS
) -> int:
    """Return a noisy number of records, from 1 to the public `most_records`; an added record moves n by 1."""
    ends: dict[str, Any] = {"dice": dice, "low": 1, "high": most_records}
    if isinstance(privacy, ZeroConcentratedDP):
        return int(gaussian_counts(n, privacy=privacy, **ends))
    return int(laplace_counts(n, privacy=privacy, **ends))


def counted_warnings(plan: Any, n: int) -> tuple[str, ...]:
    """Return the warnings of a fit with an estimated number of records."""
    start, told = f"n_samples is {n}:", f"the noisy number of records is {n}:"
    return tuple(text.replace(start, told, 1) for text in plan.for_count(n).warnings)


def _rest(cost: ApproxDP) -> ApproxDP:
    """Return the cost of a fit without the share for the number of records."""
    assert cost.neighbors == ADDED
    share = 1 - Fraction(COUNT_SHARE)
    if not cost.delta:
        return replace(cost, epsilon=share * cost.epsilon)
    return replace(cost, epsilon=GAUSSIAN.epsilon_within(share * gaussian_budget(cost), cost.delta))
