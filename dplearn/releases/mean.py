"""Release the mean of one column of bounded numbers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplearn._documented import documented_by
from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.domains import Grid
from dplearn.fit.execute import Facts
from dplearn.fit.relation import N_IS_PUBLIC
from dplearn.kernels.distributions import laplace_quantile
from dplearn.kernels.exact import decay_ratio
from dplearn.mechanisms.noisy_counts import laplace_counts
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import ALPHA
from dplearn.releases.release import (
    ALL_GROUPS,
    ColumnRelease,
    Released,
    ReleasePlan,
    checked_bounds,
    few_records,
)
from dplearn.table.table import Table


@dataclass(frozen=True)
class Mean(Released):
    """A released mean.

    Attributes
    ----------
    value : float
        Released. The noisy mean, within the bounds.
    plan : ReleasePlan
        Public. The plan of the release, as `mean_plan` describes it.
    """

    value: float
    plan: ReleasePlan


@documented_by(ColumnRelease)
def mean(
    values: Any,
    bounds: Any,
    *,
    epsilon: Any = 1.0,
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Mean:
    """Release the mean of private numbers.

    Parameters
    ----------
    values : array-like of shape (n,), or parts of it
        Private. Numbers; those outside the bounds count as the nearest bound. Parts are a Dask series or
        array, or a function without arguments that returns an iterable of series or arrays.
    bounds : pair of float
        Public. The range of the numbers, chosen without the data; narrow bounds have little noise.
    epsilon : float, default=1.0
        Privacy budget of the release; positive. A float stands for its shortest decimal: 0.1 is 1/10.

    Returns
    -------
    Mean

    Raises
    ------
    DomainError
        If a value is missing or is no number; the message shows no value, and nothing is spent.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record, or group. A replaced record moves the sum by at most
    the distance of the bounds, in whole steps, to which the discrete Laplace noise of the sum is scaled.

    **Assumes.** The number of records, or of groups, is public.

    **Accuracy.** The `error` of `mean_plan`, and a millionth of the bounds' distance by rounding.

    **Source.** Dwork, McSherry, Nissim and Smith (2006).

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> from dplearn.releases import mean
    >>> ages = [20 + i % 60 for i in range(6000)]
    >>> round(mean(ages, (0, 120), epsilon=1, random_state=0).value, 1)
    49.5
    """
    return _Mean(bounds, epsilon, random_state).run_on(values, None, ledger, groups)


@documented_by(mean, ColumnRelease)
def mean_plan(n_samples: int, bounds: Any, *, epsilon: Any = 1.0, beta: Any = 0.05) -> ReleasePlan:
    """Return the plan of `mean`, with a bound on the noise, without data.

    Returns
    -------
    ReleasePlan
        With the guarantee, n_samples and beta; `error`, which the noise exceeds with probability at most
        beta; and `n_needed`, the number of records from which on that is a twentieth of the bounds' distance.

    Examples
    --------
    >>> from dplearn.releases import mean_plan
    >>> round(mean_plan(6000, (0, 120)).error, 3)
    0.06
    """
    return _Mean(bounds, epsilon).plan(Facts(n_samples), beta=beta)


class _Mean(ColumnRelease[Mean]):
    """The recipe of `mean`: noise is added to the sum of whole steps above the lower bound."""

    domain: Grid
    reach = 1 << 20  # steps between the bounds; audits use fewer

    def __init__(self, bounds: Any, epsilon: Any, random_state: Any = None):
        self.domain = Grid(*checked_bounds(bounds), self.reach + 1, "clip")
        self.step = (self.domain.high - self.domain.low) / self.reach
        cost = ApproxDP(
            check_number("epsilon", epsilon, above=0), assumes=(N_IS_PUBLIC, self.domain.assumption)
        )
        super().__init__("mean", cost, (repr(self.domain), str(cost.epsilon)), random_state)

    def plan(self, facts: Facts, *, beta: Any = 0.05) -> ReleasePlan:
        n, failure = self.count(facts), check_number("beta", beta, above=0, below=1)
        noise = laplace_quantile(decay_ratio(self.cost.epsilon / self.reach), failure / 2) - 1
        error, needed = self.step * noise / n, max(1, math.ceil(noise / (self.reach * float(ALPHA))))
        few = few_records(
            n,
            f"with epsilon {float(self.cost.epsilon):.3g}, the noise of the mean may be {error:.3g} or more,"
            " which is over a twentieth of the distance of the bounds",
            "declare narrower bounds",
            "spend more epsilon",
            enough=needed,
            subset=ALL_GROUPS,
        )
        return ReleasePlan(
            self.cost,
            n,
            title="MeanPlan",
            states={"error": error, "n_needed": needed, "beta": float(failure)},
            warns=(few,) if n < needed else (),
        )

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> Mean:
        sums = table.sums(lambda steps: [steps.sum(dtype=np.int64)])
        ends = {"low": 0, "high": plan.n_samples * self.reach}
        [noisy] = laplace_counts(sums, privacy=plan.guarantee, dice=dice, sensitivity=self.reach, **ends)
        value = self.domain.low + self.step * (int(noisy) / plan.n_samples)
        return Mean(min(value, self.domain.high), plan)  # the last bits of a float may exceed the bound
