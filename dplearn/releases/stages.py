"""The stages that every release runs in, from public parameters to a result.

A release has a function of private values, such as `quantiles`, and a function that returns its plan without
data, such as `quantiles_plan`. Both construct the same `Release`, an object of checked parameters. A release
calls `run`, which runs the stages in this order; a plan calls stage 3 alone:

1. check the public parameters (the constructor), and that `guarantee` fits the ledger's remaining budget;
2. `read` the values: validate and encode them; or all parts of them, each by `read_part`; or one value of
   each group, by `read_groups`;
3. `plan` from the parameters and the number of records, and issue the plan's warnings;
4. charge the ledger with the plan's guarantee;
5. `summarize` the records, without a draw; or `summarize_parts`, by passes over the parts;
6. `release`: all secret draws, from the summary and the plan only.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sized
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance import PublicStream, dice_for
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import float_errors_ignored
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.privacy.plan import Plan
from dplearn.privacy.unknown_count import ADDED, refuse_public_counts
from dplearn.records.groups import SHIFTS, assuming_groups, grouping_of, selected
from dplearn.records.part_groups import assuming_parts_of_groups, grouped_parts, groups_in_parts
from dplearn.records.part_sources import column_source_of
from dplearn.records.part_tables import column_of, is_arrow
from dplearn.records.parts import PartedRecords, PartsChangedError, Source, assuming_parts
from dplearn.records.rows import count_of
from dplearn.records.tables import check_index
from dplearn.releases.part_reading import read_parts

__all__ = ["N_IS_PUBLIC", "Release", "ReleasePlan", "Released", "in_memory"]

#: The first entry of `assumes` in the guarantee of every release for one replaced record.
N_IS_PUBLIC = "the number of records is public"


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


AnyPlan = TypeVar("AnyPlan", bound=ReleasePlan)
Result = TypeVar("Result", bound=Released)


class Release(ABC, Generic[AnyPlan, Result]):
    """The checked parameters of one release, and its stages.

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

    #: Name of the parameter with the private values, for errors about parts.
    takes: ClassVar[str] = "values"
    #: Whether values are tables, whose parts have columns with names.
    named: ClassVar[bool] = False
    #: Public attributes that `read_part` sets.
    set_by_reading: ClassVar[tuple[str, ...]] = ()
    #: Stacklevel of warnings: the caller of the release function, which calls `run`.
    stacklevel: ClassVar[int] = 3
    #: The most values of a group that take part.
    group_rows: int = 1

    def __init__(self, name: str, guarantee: ApproxDP, context: tuple[str, ...], random_state: Any):
        self.name = name
        self.guarantee = guarantee
        self.context = context
        self.random_state = random_state

    def run(self, values: Any, ledger: PrivacyLedger | None, groups: Any = None) -> Result:
        """Run all stages on private values and return the result.

        Parameters
        ----------
        values : object
            Private. One value a record; or parts of them, see `source_of`.
        ledger : PrivacyLedger or None
            The account that is charged, once, before any draw.
        groups : object, optional
            Private. The group of each value, of which one takes part; see `read_groups`.
        """
        known = self.guarantee if groups is None else replace(self.guarantee, protects="groups")
        charge = open_account(ledger, known, name=self.name)
        dice = dice_for(self.random_state, self.name, *self.context)
        with float_errors_ignored():
            rows, plan = self.begin(values, groups)
            for text in plan.warnings:
                warnings.warn(text, UserWarning, stacklevel=self.stacklevel)
            charge(plan.guarantee)
            result = self.release(self.summary_of(rows, plan), plan, dice)
        for text in result.warnings:
            with suppress(UserWarning):  # as an error it would lose a release that is paid for
                warnings.warn(text, UserWarning, stacklevel=self.stacklevel)
        return result

    def begin(self, values: Any, groups: Any = None) -> tuple[Sized, AnyPlan]:
        """Read private values and plan their release, without a draw or a charge; arguments as for `run`."""
        source = self.source_of(values)
        if self.guarantee.neighbors == ADDED:
            refuse_public_counts(f"{self.takes} must be in memory", groups, source)
        if groups is None:
            rows = self.read(in_memory(values)) if source is None else read_parts(self, source)
            plan = self.plan_of(rows)
            plan = plan if source is None else assuming_parts(plan)
        else:
            rows, n_groups = self.read_groups(values, groups, source)
            plan = assuming_groups(self.plan(n_groups))
            plan = replace(plan, guarantee=replace(plan.guarantee, protects="groups"))
            plan = plan if source is None else assuming_parts_of_groups(plan)
        return rows, plan

    def read_groups(self, values: Any, groups: Any, source: Source | None = None) -> tuple[Sized, int]:
        """Return the encoded values that take part, chosen by public chance, and the number of groups.

        Parameters
        ----------
        values : object
            Private. One value a row.
        groups : array-like of shape (n,), or parts of one
            Private. The group of each row, such as the person that it belongs to. Of a table in parts: the
            name of the column that holds them.
        source : Source, optional
            Private. The parts of the values.
        """
        shifts = partial(PublicStream.of(self.random_state, self.name, "groups").labels, SHIFTS)
        if source is None:
            check_index("groups", groups, values[0] if isinstance(values, tuple) else values, of=self.takes)
            values = in_memory(values)
            grouping = grouping_of(groups, self.n_values(values), most=self.group_rows, shifts=shifts)
            return self.read(self.chosen(values, grouping.once().slots[:, 0])), grouping.n_groups
        given = grouped_parts(source, groups) if self.named else groups_in_parts(source, groups)
        chosen, order = given.chosen(given.grouping(self.group_rows, shifts).once())
        try:
            return read_parts(self, chosen).ordered(order), given.n_groups
        except PartsChangedError:
            raise ValueError(f"{self.takes} and their groups must have the same parts each time") from None

    def n_values(self, values: Any) -> int:
        """Return the number of values in memory, before they are read."""
        return count_of(values)

    def chosen(self, values: Any, places: NDArray[np.int64]) -> Any:
        """Return some of the values in memory, before they are read."""
        return selected(values, places)

    def plan_of(self, rows: Sized) -> AnyPlan:
        """Return the plan of a release of these records, from which a private number of them is withheld."""
        return self.plan(None if self.guarantee.neighbors == ADDED else len(rows))

    def source_of(self, values: Any) -> Source | None:
        """Return the parts of the values, or None if they are in memory."""
        return column_source_of(values, self.takes)

    def summary_of(self, rows: Any, plan: AnyPlan) -> Any:
        """Return the summary of records in memory, or of records in parts."""
        if isinstance(rows, PartedRecords):
            return self.summarize_parts(rows, plan)
        return self.summarize(rows, plan)

    @abstractmethod
    def read(self, values: Any) -> Sized:
        """Validate and encode private values; inside the domain no error, warning or type depends on them."""

    @abstractmethod
    def plan(self, n_samples: Any) -> AnyPlan:
        """Return the plan of a release of `n_samples` records, which are None if their number is private."""

    def checked_count(self, n_samples: Any) -> int | None:
        """Return a number of records, at least 1, or None if it may be private."""
        if n_samples is None and self.guarantee.neighbors == ADDED:
            return None
        return check_count("n_samples", n_samples, low=1)

    def summarize(self, rows: Any, plan: AnyPlan) -> Any:  # noqa: ARG002 - of use to subclasses
        """Return a summary of the records for `release`, without a draw."""
        return rows

    def read_part(self, values: Any) -> Any:
        """Validate and encode the values of one part; each record is a function of its own value alone.

        If the parts consist of two columns, `values` is a pair of them.
        """
        return self.read(values)

    @abstractmethod
    def summarize_parts(self, rows: PartedRecords, plan: AnyPlan) -> Any:
        """Return a summary of records in parts for `release`, of the same distribution as in memory.

        Parameters
        ----------
        rows : PartedRecords
            Private. Those of `read_part`.
        plan : ReleasePlan
            The plan of the release.
        """

    @abstractmethod
    def release(self, summary: Any, plan: AnyPlan, dice: Dice) -> Result:
        """Make all secret draws and return the result."""


def in_memory(values: Any) -> Any:
    """Return values, those of Arrow as a series or a data frame."""
    return column_of(values) if is_arrow(values) else values
