"""Comparison of candidates by counts or sums over held-out records, and the private selection of one."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.mechanisms import permute_and_flip
from dplearn.mechanisms.random_stopping import best_of_runs
from dplearn.model_selection.candidates import (
    fit_candidate,
    is_gaussian,
    private_steps,
    read_by_candidate,
    with_budget,
)
from dplearn.model_selection.measures import Measure, NoisyTable, noisy_table
from dplearn.model_selection.plan import NOISY_SCORES, SearchPlan
from dplearn.model_selection.table_noise import TableNoise
from dplearn.privacy import ApproxDP
from dplearn.records.rows import Examples, rows_of

__all__ = ["Choice", "Trial", "all_planned_gaussian"]

_LEAST = Fraction(-(1 << 1100))  # less than any float


@dataclass(frozen=True)
class Choice:
    """The outcome of a selection.

    Attributes
    ----------
    index : int
        Released. Index of the selected candidate.
    tables : dict of int to NoisyTable
        Released. The noisy tables of the selected candidate and, if all were released, of the others.
    fitted : object or None
        Released. The candidate fitted on the training records, if there is one split.
    """

    index: int
    tables: Mapping[int, NoisyTable]
    fitted: Any


@dataclass(frozen=True)
class Trial:
    """An oracle of fits and tables of counts: the candidates and the private records.

    Attributes
    ----------
    records : Examples
        Private. Rows, and labels or targets.
    plan : SearchPlan
        Public. The candidates, the splits and the budgets.
    """

    records: Examples
    plan: SearchPlan

    @property
    def tested(self) -> int:
        """Number of test predictions for each candidate, over all splits."""
        return sum(len(test) for _, test in self.plan.public.splits)

    def read_all(self) -> tuple[tuple[ApproxDP, ...], tuple[str, ...]] | None:
        """Validate the records for each candidate, and return all guarantees and distinct warnings.

        Each candidate reads all records, and one training set of each size. Return None if some fit is not
        Gaussian-DP, as the plan requires, or a candidate refuses its budgets or the records; other candidates
        are then not read. (A plan without Gaussian fits follows, which raises errors about records again.)
        """
        sizes = {
            len(train): (train, self.plan.fit) for train, _ in self.plan.public.splits
        }  # some estimators refuse small tables
        whole = np.arange(len(self.records)), self.plan.refit or self.plan.fit
        tables = [(*self._at(places), budget) for places, budget in (*sizes.values(), whole)]
        guarantees: list[ApproxDP] = []
        notes: list[str] = []
        for candidate in self.plan.params.candidates:
            for rows, labels, budget in tables:
                copy = with_budget(candidate, budget, self.plan.public.seed)
                read = None
                with suppress(*((TypeError, ValueError) if self.plan.gaussian else ())):
                    read = read_by_candidate(
                        copy, rows, labels, reproducible=self.plan.guarantee.reproducible, budget=budget
                    )
                if read is None or (self.plan.gaussian and budget is self.plan.fit and not read[2]):
                    return None
                guarantees += read[0]
                notes += read[1]
        return tuple(guarantees), tuple(dict.fromkeys(notes))

    def _at(self, places: NDArray[np.int64]) -> tuple[Any, NDArray[Any]]:
        return rows_of(self.records.X, places), self.records.y[places]

    @property
    def measure(self) -> Measure:
        """The metric by which candidates are compared."""
        measure = self.plan.measure
        assert measure is not None  # the labels are known once the table is read
        return measure

    def choose(self, dice: Dice) -> Choice:
        """Select a candidate with a great score and release the table of its score; see `SearchPlan`."""
        if self.plan.stopping is not None:
            return self._by_runs(dice)
        by_tables = self.plan.method == NOISY_SCORES
        return self._by_tables(dice) if by_tables else self._by_permute_and_flip(dice)

    def refit(self, index: int, budget: ApproxDP, dice: Dice) -> Any:
        """Return a candidate fitted on all records."""
        return self._fitted(index, np.arange(len(self.records)), budget, dice, gaussian=False)

    def _by_permute_and_flip(self, dice: Dice) -> Choice:
        found = [self._counted(index, dice) for index in range(len(self.plan.params.candidates))]
        # The plan has this method only for metrics that fall with their first cell.
        qualities = -np.array([counts[0] for counts, _ in found])
        half = replace(self.plan.scoring, epsilon=self.plan.scoring.epsilon / 2)
        tests, statistic = self.plan.public.exposure.tests, self.measure.statistic
        index = permute_and_flip(qualities, privacy=half, dice=dice, sensitivity=tests * statistic.first)
        own, fitted = found[index]
        return Choice(index, {index: self._noisy(own, half, dice)}, fitted)

    def _by_tables(self, dice: Dice) -> Choice:
        """Release the tables of all candidates at once, as one table, and take the greatest score."""
        found = [self._counted(index, dice) for index in range(len(self.plan.params.candidates))]
        whole = self._noisy(
            np.concatenate([counts for counts, _ in found]), self.plan.scoring, dice, tables=len(found)
        )
        tables = {
            index: replace(whole, counts=counts)
            for index, counts in enumerate(np.split(whole.counts, len(found)))
        }
        index = max(tables, key=lambda each: self._rank(tables[each]))
        return Choice(index, tables, found[index][1])

    def _by_runs(self, dice: Dice) -> Choice:
        def run(dice: Dice) -> tuple[Fraction, Choice]:
            index = dice.below(len(self.plan.params.candidates))
            counts, fitted = self._counted(index, dice)
            table = self._noisy(counts, self.plan.scoring, dice)
            return self._rank(table), Choice(index, {index: table}, fitted)

        assert self.plan.stopping is not None
        return best_of_runs(run, stopping=self.plan.stopping, dice=dice)[1]

    def _rank(self, table: NoisyTable) -> Fraction:
        """Return the score of a released table, exactly; a score that is not defined is the least."""
        value = self.measure.value(table)
        return Fraction(value) if math.isfinite(value) else _LEAST

    def _noisy(
        self, counts: NDArray[np.int64], privacy: ApproxDP, dice: Dice, *, tables: int = 1
    ) -> NoisyTable:
        """Release the counts of one or several tables; a test record is in each, `exposure.tests` times."""
        statistic, tests = self.measure.statistic, self.plan.public.exposure.tests
        noise = TableNoise.of(
            privacy, l1=tables * tests * statistic.l1, squared_l2=tables * tests**2 * statistic.squared_l2
        )
        return noisy_table(counts, self.tested, statistic, noise, dice)

    def _counted(self, index: int, dice: Dice) -> tuple[NDArray[np.int64], Any]:
        """Return the sums of a candidate's tables over all splits, and its fit if there is one split."""
        statistic, fitted = self.measure.statistic, None
        counts = np.zeros(statistic.n_cells, dtype=np.int64)
        for train, test in self.plan.public.splits:
            fitted = self._fitted(index, train, self.plan.fit, dice, gaussian=self.plan.gaussian)
            counts = counts + statistic.of(fitted, *self._at(test))
        assert ((statistic.low * self.tested <= counts) & (counts <= statistic.high * self.tested)).all()
        return counts, fitted if len(self.plan.public.splits) == 1 else None

    def _fitted(
        self, index: int, places: NDArray[np.int64], budget: ApproxDP, dice: Dice, *, gaussian: bool
    ) -> Any:
        candidate = with_budget(self.plan.params.candidates[index], budget, self.plan.public.seed)
        rows, labels = self._at(places)
        fit_candidate(
            candidate,
            rows,
            labels,
            dice,
            reproducible=self.plan.guarantee.reproducible,
            budget=budget,
            gaussian=gaussian,
        )
        return candidate


def all_planned_gaussian(plan: SearchPlan, sizes: Mapping[str, int | None]) -> bool:
    """Return whether all fits of candidates are known to be Gaussian-DP, without data.

    Parameters
    ----------
    plan : SearchPlan
        A plan with `gaussian`.
    sizes : mapping of str to int or None
        `n_features` and `n_labels` of the candidates' plans. For candidates in a pipeline they are unknown.
    """
    for candidate in plan.params.candidates:
        fitted = with_budget(candidate, plan.fit, None)
        if private_steps(fitted) != [fitted]:
            return False
        known = signature(fitted.plan).parameters.keys() & sizes.keys()
        for n_train in {len(train) for train, _ in plan.public.splits}:
            planned = None
            with suppress(TypeError, ValueError):  # a number that its plan needs is not given
                planned = fitted.plan(n_train, **{name: sizes[name] for name in known})
            if planned is None or not is_gaussian(planned.event, plan.fit):
                return False
    return True
