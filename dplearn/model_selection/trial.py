"""Comparison of candidates by their numbers of errors on held-out records, and the private selection of one.

>>> count_errors(np.array(["b", "a"], dtype=object), np.array(["b", "b"]))
1
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.domains import DomainError
from dplearn.mechanisms import laplace_counts, permute_and_flip
from dplearn.mechanisms.random_stopping import best_of_runs
from dplearn.model_selection.candidates import (
    fit_candidate,
    is_gaussian,
    no_warnings,
    private_steps,
    read_by_candidate,
    with_budget,
)
from dplearn.model_selection.plan import SearchPlan
from dplearn.privacy import ApproxDP
from dplearn.records.rows import Examples
from dplearn.records.tables import rows_of

__all__ = ["Choice", "Trial", "all_planned_gaussian", "count_errors", "errors_of"]


@dataclass(frozen=True)
class Choice:
    """The outcome of a selection.

    Attributes
    ----------
    index : int
        Released. Index of the selected candidate.
    errors : int
        Released. Its noisy number of errors on the test records.
    fitted : object or None
        Released. The candidate fitted on the training records, if there is one split.
    """

    index: int
    errors: int
    fitted: Any


@dataclass(frozen=True)
class Trial:
    """An oracle of fits and error counts: the candidates and the private records.

    Attributes
    ----------
    records : Examples
        Private. Rows and labels.
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

    def choose(self, dice: Dice) -> Choice:
        """Select a candidate with few errors and release its noisy number of errors; see `SearchPlan`."""
        with no_warnings():
            return self._by_permute_and_flip(dice) if self.plan.stopping is None else self._by_runs(dice)

    def refit(self, index: int, budget: ApproxDP, dice: Dice) -> Any:
        """Return a candidate fitted on all records."""
        with no_warnings():
            return self._fitted(index, np.arange(len(self.records)), budget, dice, gaussian=False)

    def _by_permute_and_flip(self, dice: Dice) -> Choice:
        found = [self._errors(index, dice) for index in range(len(self.plan.params.candidates))]
        errors = np.array([each for each, _ in found])
        half = replace(self.plan.scoring, epsilon=self.plan.scoring.epsilon / 2)
        index = permute_and_flip(
            -errors, privacy=half, dice=dice, sensitivity=self.plan.public.exposure.tests
        )
        own_errors, fitted = found[index]
        return Choice(index, self._noisy(own_errors, half, dice), fitted)

    def _by_runs(self, dice: Dice) -> Choice:
        def run(dice: Dice) -> tuple[int, Choice]:
            index = dice.below(len(self.plan.params.candidates))
            errors, fitted = self._errors(index, dice)
            noisy = self._noisy(errors, self.plan.scoring, dice)
            return -noisy, Choice(index, noisy, fitted)

        assert self.plan.stopping is not None
        return best_of_runs(run, stopping=self.plan.stopping, dice=dice)[1]

    def _noisy(self, errors: int, privacy: ApproxDP, dice: Dice) -> int:
        noisy: int = laplace_counts(
            errors,
            privacy=privacy,
            dice=dice,
            sensitivity=self.plan.public.exposure.tests,
            low=0,
            high=self.tested,
        )
        return noisy

    def _errors(self, index: int, dice: Dice) -> tuple[int, Any]:
        """Return a candidate's number of errors over all splits, and its fit if there is one split."""
        errors, fitted = 0, None
        for train, test in self.plan.public.splits:
            fitted = self._fitted(index, train, self.plan.fit, dice, gaussian=self.plan.gaussian)
            errors += errors_of(fitted, *self._at(test))
        assert 0 <= errors <= self.tested  # the sensitivity of the noise assumes this
        return errors, fitted if len(self.plan.public.splits) == 1 else None

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
            if planned is None or not is_gaussian(fitted._event(planned), plan.fit):
                return False
    return True


def errors_of(estimator: Any, rows: Any, labels: NDArray[Any]) -> int:
    """Return the number of wrong predictions; errors and warnings of `predict` are hidden."""
    errors = None
    with no_warnings(), suppress(Exception):  # raised outside, so that the error has no context
        errors = count_errors(estimator.predict(rows), labels)
    if errors is None:
        raise DomainError(
            "X holds records for which the classifier does not predict one label each (its own message is"
            " hidden because it might quote records); try its predict on made-up records"
        )
    return errors


def count_errors(predicted: Any, labels: NDArray[Any]) -> int:
    """Return the number of positions at which predicted and true labels differ; entries may have any types.

    Parameters
    ----------
    predicted : array-like of shape (n,) or (n, 1)
        Predicted labels, one a record. (With another shape, one record could count n times.)
    labels : ndarray of shape (n,)
        True labels.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the shapes do not match.
    """
    cells = np.asarray(predicted, dtype=object)
    if cells.shape not in (labels.shape, (*labels.shape, 1)):
        raise ValueError(
            f"predict must return one label for each of {len(labels)} records, got another shape"
        )
    return int(np.count_nonzero(cells.ravel() != labels.astype(object)))
