"""Releases of statistics: recipes, their plans and their results.

A release has a function of private values, such as `quantiles`, and a function that returns its plan without
data, such as `quantiles_plan`. Both make the same recipe, of checked parameters; see `dplearn.fit.execute`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dplearn._validation import check_count
from dplearn.chance import dice_for
from dplearn.fit.execute import Facts, Recipe, execute
from dplearn.fit.relation import N_IS_PUBLIC
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import Plan
from dplearn.privacy.unknown_count import ADDED
from dplearn.records.part import column_of, is_arrow
from dplearn.records.part_sources import column_in_parts
from dplearn.records.table import Table

__all__ = ["N_IS_PUBLIC", "ColumnRelease", "Release", "ReleasePlan", "Released", "in_memory"]


@dataclass(frozen=True)
class ReleasePlan(Plan):
    """Base of the plans of releases, which are made from public values only.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the release, which is also its privacy cost.
    n_samples : int
        Number of records; a release with neighbors="add_remove" has a plan that may have None.
    """

    guarantee: ApproxDP
    n_samples: int


class Released:
    """Base of the results of releases: frozen dataclasses that keep the plan of the release."""

    plan: Any

    @property
    def guarantee(self) -> ApproxDP:
        """Public. The guarantee of the release: that of the plan."""
        found: ApproxDP = self.plan.guarantee
        return found.of_one("release")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Released. Warnings about the result, functions of it alone; the release function emits them."""
        return ()


Result = TypeVar("Result", bound=Released)


class Release(Recipe, Generic[Result]):
    """The recipe of a release.

    Parameters
    ----------
    name : str
        Name of the release function, for the ledger's history.
    guarantee : ApproxDP
        The guarantee of the release, for every number of records.
    context : tuple of str
        Texts that, with the name, determine the random stream of a seeded release.
    random_state : None, int or numpy random generator
        As given to the release function.
    """

    #: Stacklevel of warnings: the caller of the release function, which calls `run_on`.
    stacklevel = 4

    def __init__(self, name: str, guarantee: ApproxDP, context: tuple[str, ...], random_state: Any):
        self.name, self.cost, self.context, self.random_state = name, guarantee, context, random_state

    @property
    def guarantee(self) -> ApproxDP:
        """The guarantee for one replaced or added record."""
        return self.cost

    def run_on(self, X: Any, y: Any, ledger: PrivacyLedger | None, groups: Any = None) -> Result:
        """Carry out the release on private values and return the result.

        Parameters
        ----------
        X, y : object
            Private. One value a record, or rows; or parts of them.
        ledger : PrivacyLedger or None
            The account that is charged, once, before any draw.
        groups : object, optional
            Private. The group of each value.
        """
        dice = dice_for(self.random_state, self.name, *self.context)
        done = execute(self, X, y, groups=groups, ledger=ledger, dice=dice, stacklevel=self.stacklevel)
        found: Result = done.released
        return found

    def rows_of(self, X: Any) -> Any:
        """Return rows in memory as `read` encodes them."""
        return self.read(X, None)[1]

    def checked_count(self, facts: Facts) -> int | None:
        """Return a number of records, at least 1, or None if it may be private."""
        if facts.n_samples is None and self.guarantee.neighbors == ADDED:
            return None
        return check_count("n_samples", facts.n_samples, low=1)

    def warnings_of(self, released: Released) -> Sequence[str]:
        return released.warnings


class ColumnRelease(Release[Result]):
    """The recipe of a release of one column."""

    takes = "values"
    named = False

    def parts_of(self, X: Any, y: Any) -> Table | None:  # noqa: ARG002 - there is none
        return column_in_parts(X, self.takes)

    def in_memory(self, X: Any, y: Any) -> tuple[Any, Any]:
        return in_memory(X), y


def in_memory(values: Any) -> Any:
    """Return values, those of Arrow as a series or a data frame."""
    return column_of(values) if is_arrow(values) else values
