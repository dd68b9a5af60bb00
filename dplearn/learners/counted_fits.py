"""Fits that estimate a private number of records first, and then plan by the estimate.

For neighbors="add_remove" a share of the budget estimates the number of records. The rest of the fit is that
of a plan for as many records and the remaining budget: the plan is a function of public values and of the
estimate, which is released, and all of its queries are answered by the same oracle.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from dplearn.chance.dice import Dice
from dplearn.estimator.stages import Public, Table
from dplearn.privacy import ApproxDP
from dplearn.privacy.shares import GAUSSIAN, gaussian_budget
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS, without_count
from dplearn.queries.central_oracle import COUNT_SHARE, CentralOracle

__all__ = ["counted", "counted_plan", "counted_warnings"]

_ANY = 1  # a number of records by which parameters are checked before one is known


def counted_plan(plan_of: Callable[[ApproxDP, Public], Any], cost: ApproxDP, public: Public) -> Any:
    """Return a plan whose guarantee is for one added or removed record.

    Parameters
    ----------
    plan_of : callable
        From a cost and public values with a number of records to the plan of such a fit. Its `guarantee` has
        the assumptions for a replaced record.
    cost : ApproxDP
        The whole cost, for added records.
    public : Public
        Public values; in a fit without a number of records.

    Returns
    -------
    Plan
        In a fit, `for_count` maps an estimate to the plan of all else.

    Raises
    ------
    ValueError
        If there is no plan for the fewest records, or for the most.
    """
    rest, guess = _rest(cost), cast("int | None", public.n_samples)

    def for_count(n: int) -> Any:
        return plan_of(rest, replace(public, n_samples=n))

    plan = for_count(_ANY if guess is None else guess)
    guarantee = replace(cost, assumes=without_count(plan.guarantee.assumes))
    if guess is not None:
        return replace(plan, guarantee=guarantee)
    for_count(MOST_RECORDS)  # if the plan for an estimate raises an error, so does one of these two
    return replace(plan, guarantee=guarantee, public=public, for_count=for_count)


def counted(learner: Any, summary: Any, plan: Any, dice: Dice, *, most_records: int) -> tuple[Any, Any]:
    """Estimate the number of records, and return an oracle over their summary and its plan.

    Parameters
    ----------
    learner : PrivateEstimator
        Its stage `_summarize` runs with the new plan, which makes each row from its own record.
    summary : object
        Private. The rows of the table.
    plan : Plan
        From `counted_plan`, in a fit.
    dice : Dice
        Source of chance.
    most_records : int
        As for `CentralOracle`.

    Returns
    -------
    oracle : CentralOracle
        Its shares are those of the remaining budget.
    plan : Plan
        Released. The plan for the estimated number of records.
    """
    oracle = CentralOracle(
        summary,
        privacy=plan.guarantee,
        dice=dice,
        noise=plan.noise,
        count_share=COUNT_SHARE,
        most_records=most_records,
    )
    found = plan.for_count(oracle.estimated_count())
    oracle.replace_records(lambda rows: learner._summarize(Table(plan.public, rows), found))
    return oracle, found


def counted_warnings(plan: Any, n: int) -> tuple[str, ...]:
    """Return the warnings of a fit with an estimated number of records.

    Parameters
    ----------
    plan : Plan
        From `counted_plan`, in a fit.
    n : int
        Released. The estimate.
    """
    start, told = f"n_samples is {n}:", f"the noisy number of records is {n}:"
    return tuple(text.replace(start, told, 1) for text in plan.for_count(n).warnings)


def _rest(cost: ApproxDP) -> ApproxDP:
    """Return the cost of a fit without the share for the number of records."""
    assert cost.neighbors == ADDED
    share = 1 - Fraction(COUNT_SHARE)
    if not cost.delta:
        return replace(cost, epsilon=share * cost.epsilon)
    return replace(cost, epsilon=GAUSSIAN.epsilon_within(share * gaussian_budget(cost), cost.delta))
