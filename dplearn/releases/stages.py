"""How every release runs: from public parameters to a result, in one order of stages.

A release is a function of private values, such as `quantiles`, and a function that plans it without any, such
as `quantiles_plan`. Both make the same `Release`, an object of checked parameters, whose stages only `run`
calls:

1. check what is public (the constructor), and that the ledger affords `guarantee`;
2. `read` the values: validate and encode them;
3. `plan` from the parameters and the number of records, and give the plan's warnings;
4. charge the ledger with the plan's guarantee;
5. `summarize` what was read, without a draw;
6. `release`: all secret draws, from the summary and the plan alone.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sized
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import float_errors_ignored
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.privacy.plan import Plan

__all__ = ["N_IS_PUBLIC", "Release", "ReleasePlan", "Released"]

#: The first entry of what every release assumes.
N_IS_PUBLIC = "the number of records is public"

_USER = (
    3  # frames from a warning to who called the function of a release: `run` and that function are between
)


@dataclass(frozen=True)
class ReleasePlan(Plan):
    """What a release runs on, from public values alone.

    Attributes
    ----------
    guarantee : ApproxDP
        What it guarantees, and spends.
    n_samples : int
        Number of records.
    """

    guarantee: ApproxDP
    n_samples: int


class Released:
    """Base of what releases return: frozen dataclasses that keep the plan they were made by."""

    plan: Any

    @property
    def guarantee(self) -> ApproxDP:
        """Public. What the release guarantees, and spent: that of the plan."""
        found: ApproxDP = self.plan.guarantee
        return found


AnyPlan = TypeVar("AnyPlan", bound=ReleasePlan)
Result = TypeVar("Result", bound=Released)


class Release(ABC, Generic[AnyPlan, Result]):
    """The checked parameters of one release, and its stages.

    Parameters
    ----------
    name : str
        Of the function, for the ledger's history.
    guarantee : ApproxDP
        What the release guarantees, whatever the number of records.
    context : tuple of str
        What, besides the name, the draws of a seeded release depend on.
    random_state : None, int or numpy random generator
        As the function was given it.
    """

    def __init__(self, name: str, guarantee: ApproxDP, context: tuple[str, ...], random_state: Any):
        self.name = name
        self.guarantee = guarantee
        self.context = context
        self.random_state = random_state

    def run(self, values: Any, ledger: PrivacyLedger | None) -> Result:
        """Release something of private values.

        Parameters
        ----------
        values : object
            Private. One of each record.
        ledger : PrivacyLedger or None
            Is charged once, before any draw.
        """
        charge = open_account(ledger, self.guarantee, name=self.name)
        dice = dice_for(self.random_state, self.name, *self.context)
        with float_errors_ignored():
            rows = self.read(values)
            plan = self.plan(len(rows))
            for text in plan.warnings:
                warnings.warn(text, UserWarning, stacklevel=_USER)
            charge(plan.guarantee)
            return self.release(self.summarize(rows, plan), plan, dice)

    @abstractmethod
    def read(self, values: Any) -> Sized:
        """Validate and encode private values; inside the declared domain nothing here depends on them."""

    @abstractmethod
    def plan(self, n_samples: int) -> AnyPlan:
        """Return the plan of a release of so many records."""

    def summarize(self, rows: Any, plan: AnyPlan) -> Any:  # noqa: ARG002 - of use to subclasses
        """Return what the release needs to know of the records, without a draw."""
        return rows

    @abstractmethod
    def release(self, summary: Any, plan: AnyPlan, dice: Dice) -> Result:
        """Make all secret draws, and return what was released."""
