"""Release the mean of one column of bounded numbers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.domains import Grid
from dplearn.domains.base import Codes
from dplearn.fit.execute import Facts
from dplearn.fit.relation import N_IS_PUBLIC
from dplearn.kernels.distributions import laplace_quantile
from dplearn.kernels.exact import decay_ratio
from dplearn.mechanisms.noisy_counts import laplace_counts
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import ALPHA
from dplearn.releases.release import (
    ColumnRelease,
    Released,
    ReleasePlan,
    checked_bounds,
    read_codes,
)
from dplearn.table.table import Table


@dataclass(frozen=True)
class MeanPlan(ReleasePlan):
    """The plan of `mean`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the release, which is also its privacy cost.
    n_samples : int
        Number of records.
    error : float
        The noise exceeds this with probability at most `beta`.
    n_needed : int
        The number of records from which on that is a twentieth of the bounds' distance.
    beta : float
        Allowed probability of failure.
    """

    error: float
    n_needed: int
    beta: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if there are fewer records than needed."""
        if self.n_samples >= self.n_needed:
            return ()
        return (
            f"n_samples is {self.n_samples}: the noise of the mean may be {self.error:.3g} or more, which is"
            f" over a twentieth of the distance of the bounds; {self.n_needed} records are enough",
        )


@dataclass(frozen=True)
class Mean(Released):
    """A released mean.

    Attributes
    ----------
    value : float
        Released. The noisy mean, within the bounds.
    plan : MeanPlan
        Public.
    """

    value: float
    plan: MeanPlan


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
    Mean

    Raises
    ------
    DomainError
        If a value is missing or is no number; the message shows no value, and nothing is spent.
    TypeError, ValueError
        If a parameter is not as described; nothing is spent.
    BudgetExceededError
        If the cost exceeds the ledger's remaining budget; nothing is spent.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record, or group. A replaced record moves the sum by at most
    the distance of the bounds, in whole steps, to which the discrete Laplace noise of the sum is scaled.

    **Assumes.** The number of records, or of groups, is public.

    **Accuracy.** `MeanPlan.error`, and a millionth of the bounds' distance by rounding.

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


def mean_plan(n_samples: int, bounds: Any, *, epsilon: Any = 1.0, beta: Any = 0.05) -> MeanPlan:
    """Return the plan of `mean`, with a bound on the noise, without data.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 1.
    bounds : pair of float
        Public. The range of the numbers, chosen without the data; narrow bounds have little noise.
    epsilon : float, default=1.0
        Privacy budget of the release; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    beta : float, default=0.05
        Allowed probability of failure, in (0, 1).

    Returns
    -------
    MeanPlan

    Examples
    --------
    >>> from dplearn.releases import mean_plan
    >>> round(mean_plan(6000, (0, 120)).error, 3)
    0.06
    """
    return _Mean(bounds, epsilon).plan(Facts(n_samples), beta=beta)


class _Mean(ColumnRelease[Mean]):
    """The recipe of `mean`: noise is added to the sum of whole steps above the lower bound."""

    reach = 1 << 20  # steps between the bounds; audits use fewer

    def __init__(self, bounds: Any, epsilon: Any, random_state: Any = None):
        self.grid = Grid(*checked_bounds(bounds), self.reach + 1, "clip")
        self.step = (self.grid.high - self.grid.low) / self.reach
        assumes = N_IS_PUBLIC, self.grid.assumption
        epsilon = check_number("epsilon", epsilon, above=0)
        cost = ApproxDP(epsilon, assumes=assumes, reproducible=random_state is not None)
        super().__init__("mean", cost, (repr(self.grid), str(cost.epsilon)), random_state)

    def read(self, X: Any, y: Any) -> tuple[Facts, Codes]:  # noqa: ARG002 - there is none
        steps = read_codes(X, self.grid, takes_missing=False)
        return Facts(len(steps)), steps

    def plan(self, facts: Facts, *, beta: Any = 0.05) -> MeanPlan:
        n = check_count("n_samples", facts.n_samples, low=1)
        failure = check_number("beta", beta, above=0, below=1)
        noise = laplace_quantile(decay_ratio(self.cost.epsilon / self.reach), failure / 2) - 1
        needed = max(1, math.ceil(noise / (self.reach * float(ALPHA))))
        return MeanPlan(self.cost, n, self.step * noise / n, needed, float(failure))

    def run(self, table: Table, plan: MeanPlan, dice: Dice) -> Mean:
        sums = table.sums(lambda steps: [steps.sum(dtype=np.int64)])
        ends = {"low": 0, "high": plan.n_samples * self.reach}
        [noisy] = laplace_counts(sums, privacy=plan.guarantee, dice=dice, sensitivity=self.reach, **ends)
        value = self.grid.low + self.step * (int(noisy) / plan.n_samples)
        return Mean(min(value, self.grid.high), plan)  # the last bits of a float may exceed the bound
