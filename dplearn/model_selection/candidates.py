"""Candidates of a private search: which estimators can be candidates, and their fits and counts on splits.

A candidate is a private predictor, or a pipeline of private and stateless steps. A `SearchTable` holds what
is public about the table, a `Trial` the private records: it fits within a budget and counts on held-out
records.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from dplearn._validation import AUTO, check_count, check_number
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.domains import DomainError
from dplearn.estimator.base import PrivateEstimator
from dplearn.estimator.base_models import check_own_code, quiet
from dplearn.estimator.isolation import alone, reraised
from dplearn.estimator.recipe import FitFacts
from dplearn.fit import begin, refuse_wrapped
from dplearn.learners.votes import OnlineEnsembleClassifier
from dplearn.model_selection.tables import Counts, Statistic
from dplearn.privacy import ApproxDP, Event, GaussianSums, PrivacyLedger
from dplearn.privacy.gaussian_dp import FAILURE
from dplearn.privacy.held import held_by
from dplearn.privacy.pipelines import check_steps_leak_nothing, may_learn
from dplearn.privacy.shares import gaussian_budget
from dplearn.table import LabelledRows, rows_of
from dplearn.table.targets import labels_assumed

Places = NDArray[np.int64]
Split = tuple[Places, Places]  # the positions of training records, and of test records
_BY_POSITION = (KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit, TimeSeriesSplit)
_HELD_OUT = 0.2
_IDLE = (None, "passthrough")
#: For each type of estimators that can be searched, the parameter that makes public what they predict.
_PUBLIC = {"classifier": "classes", "regressor": "target_range"}


def check_candidate(
    estimator: Any,
    stateless: Collection[str],
    *,
    types: Sequence[str] = tuple(_PUBLIC),
    seen: set[type] | None = None,
) -> None:
    """Check that an estimator, or each step of a pipeline, can be fitted by a private search."""
    check_own_code("estimator", estimator, seen)
    last = last_step(estimator)
    kind = get_tags(last).estimator_type if isinstance(last, PrivateEstimator) else None
    if kind not in types or answers_from_a_budget(estimator):
        raise TypeError(
            f"estimator must be, or end in, a private {' or '.join(types)} of dplearn whose predictions"
            f" depend only on values released by fit, got {type(last).__name__}"
        )
    steps = dict(_steps(estimator))
    declared = named(stateless)
    if absent := sorted(declared - steps.keys()):
        raise ValueError(f"stateless must name steps of estimator, got {absent[0]!r}")
    if both := sorted(name for name in declared if isinstance(steps[name], PrivateEstimator)):
        raise ValueError(f"stateless must name steps that learn nothing, got {both[0]!r}, which is private")
    check_steps_leak_nothing(estimator, "estimator")
    for name, step in steps.items():
        if isinstance(step, PrivateEstimator):
            of_step = kind if step is last else get_tags(step).estimator_type
            _check_private(step, of_step, alone=step is estimator)
        elif step not in _IDLE:
            _check_stateless(name, step, declared=name in declared)


def _check_private(step: Any, kind: str | None, *, alone: bool) -> None:
    """Raise if the search cannot set the budget of a private step, or if the step has its own ledger."""
    parameters = step.get_params(deep=False)
    public = _PUBLIC.get(kind or "", "epsilon")
    if not {"epsilon", "ledger", public} <= parameters.keys():
        raise TypeError(
            f"estimator must have parameters {' and '.join(dict.fromkeys(['epsilon', public]))}, which the"
            f" search sets or reads, got {type(step).__name__}"
        )
    if step.needs_public_rows:
        raise ValueError(
            f"estimator must be fitted from X and y only, got {type(step).__name__}, which needs"
            " X_public: search over its parameters on public rows"
        )
    if any(isinstance(each, PrivacyLedger) for each in held_by(step)):
        raise ValueError(
            "estimator must not have a ledger: pass the ledger to the search, which charges it for all fits"
        )
    if not alone and getattr(step, "protects", "examples") != "examples":
        raise ValueError(
            f"estimator must protect examples if it has several steps, got protects={step.protects!r}"
        )
    private = (each for each in held_by(step) if isinstance(each, PrivateEstimator))
    refuse_wrapped("a search, or a threshold tuned on held-out records", private)
    check_number("epsilon", step.epsilon, above=0)


def _check_stateless(name: str, step: Any, *, declared: bool) -> None:
    """Raise if a non-private step may learn from data, predicts, or holds a private estimator or ledger."""
    if not declared and may_learn(step):
        raise ValueError(
            f"estimator must have private steps, or steps that learn nothing, got {type(step).__name__}"
            f" as {name!r}; if you know that it learns nothing from data, pass stateless={[name]!r}"
        )
    if hasattr(step, "predict") or any(
        isinstance(each, (PrivateEstimator, PrivacyLedger)) for each in held_by(step)
    ):
        raise ValueError(
            f"estimator must have its private steps side by side, and only its last step may predict, got"
            f" {type(step).__name__} as {name!r}, which predicts or contains a private estimator or a ledger"
        )


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline; for other estimators, the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def named(stateless: Collection[str]) -> set[str]:
    """Return the names of declared stateless steps as a set; a string is one name."""
    return {stateless} if isinstance(stateless, str) else set(stateless)


def private_steps(estimator: Any) -> list[Any]:
    """Return the private steps of a pipeline; other estimators count as a single step."""
    return [step for _, step in _steps(estimator) if isinstance(step, PrivateEstimator)]


def steps_assumed(candidates: Sequence[Any], stateless: Collection[str]) -> list[str]:
    """Return the assumptions about steps; only the first private one reads all records before the charge."""
    trusted: dict[str, None] = {}
    for each in candidates:
        first = private_steps(each)[0]
        trusted |= dict.fromkeys(name for name, step in _steps(each) if step is not first and _acts(step))
    return [
        *(f"step {name!r} learns nothing from the data" for name in sorted(named(stateless))),
        *(f"step {name!r} takes whatever it is given" for name in trusted),
    ]


def cost_of(candidates: Sequence[Any], epsilon: Any, delta: Any, *, reproducible: bool) -> ApproxDP:
    """Return the cost of a search: delta is 0 if no step has one, and "auto" the greatest of all steps."""
    steps = [step for candidate in candidates for step in private_steps(candidate)]
    labels_only = any(getattr(step, "protects", "") == "labels" for step in steps)
    deltas = [check_number("delta", step.delta, low=0, below=1) for step in steps if step.spends_delta]
    cost = ApproxDP(
        check_number("epsilon", epsilon, above=0),
        max(deltas, default=Fraction(0)) if delta == AUTO else delta,
        protects="labels" if labels_only else "examples",
        reproducible=reproducible,
    )
    return cost if deltas else replace(cost, delta=Fraction(0))


def _steps(estimator: Any) -> list[tuple[str, Any]]:
    """Return the names and the steps of a pipeline; other estimators count as a single step."""
    return list(estimator.steps) if isinstance(estimator, Pipeline) else [("", estimator)]


def _acting(estimator: Any) -> list[Any]:
    """Return the steps that are not None or "passthrough"."""
    return [step for _, step in _steps(estimator) if _acts(step)]


def _acts(step: Any) -> bool:
    return isinstance(step, PrivateEstimator) or step not in _IDLE


def answers_from_a_budget(estimator: Any) -> bool:
    """Return whether predictions of an estimator may depend on earlier queries, through a spent budget."""
    return any(isinstance(each, OnlineEnsembleClassifier) for each in held_by(estimator))


def with_assumptions(cost: ApproxDP, guarantees: Sequence[ApproxDP], own: Sequence[str]) -> ApproxDP:
    """Return the cost with all assumptions; the search's entry about labels replaces the candidates'."""
    given = labels_assumed(())
    theirs = [entry for guarantee in guarantees for entry in guarantee.assumes if entry != given]
    protects = "labels" if any(guarantee.protects == "labels" for guarantee in guarantees) else cost.protects
    return replace(cost, protects=protects, assumes=tuple(dict.fromkeys([*own, *theirs])))


def splits_by_position(cv: Any, n: int) -> list[Split]:
    """Return the positions of the training records and of the test records of each split.

    Splitters that use labels or groups are refused: their splits depend on private values.
    """
    if cv is None:
        cv = ShuffleSplit(1, test_size=_HELD_OUT, random_state=0)
    elif isinstance(cv, int) and not isinstance(cv, bool):
        cv = KFold(check_count("cv", cv, low=2))
    if type(cv) not in _BY_POSITION:
        kinds = ", ".join(kind.__name__ for kind in _BY_POSITION)
        raise TypeError(
            f"cv must be None, an int or a splitter that uses positions only ({kinds}), got {brief(cv)}:"
            " folds made by labels or groups depend on private values"
        )
    if n < 2:
        raise ValueError(f"n_samples must be at least 2, for training and test records, got n_samples = {n}")
    if isinstance(cv, PredefinedSplit) and len(cv.test_fold) != n:
        raise ValueError(f"cv must assign all {n} records, got a PredefinedSplit of {len(cv.test_fold)}")
    splits = [(np.asarray(train), np.asarray(test)) for train, test in cv.split(np.empty((n, 0)))]
    if not splits or not all(len(train) and len(test) for train, test in splits):
        raise ValueError(
            f"cv must give training and test records in each split, got {brief(cv)} for {n} records"
        )
    return splits


@dataclass(frozen=True)
class Exposure:
    """The use of one record in all splits together."""

    trains: int  # the greatest number of splits in which one record trains
    tests: int
    apart: bool  # no record both trains in some split and tests in some split

    @classmethod
    def of(cls, splits: Sequence[Split], n: int) -> "Exposure":
        trains, tests = (
            np.bincount(np.concatenate([split[part] for split in splits]), minlength=n) for part in (0, 1)
        )
        return cls(int(trains.max()), int(tests.max()), not (trains.astype(bool) & tests.astype(bool)).any())


@dataclass(frozen=True)
class SearchFacts(FitFacts):
    """The public values of a table on which candidates are compared."""

    splits: Sequence[Split] = ()
    exposure: Any = None
    guarantees: tuple[ApproxDP, ...] = ()  # of the candidates' fits; empty in a plan without data
    notes: tuple[str, ...] = ()  # warnings of the candidates
    gaussian: bool = False  # each candidate's fit, with its budget in such a plan, has Gaussian noise only
    seed: int | None = None  # of the candidates' public choices

    @classmethod
    def of(cls, cv: Any, n: int) -> "SearchFacts":
        """Return the public values of a table of n records."""
        splits = splits_by_position(cv, n)
        return cls(n, splits=splits, exposure=Exposure.of(splits, n))

    @property
    def tested(self) -> int:
        """The number of test predictions of each candidate, over all splits."""
        return sum(len(test) for _, test in self.splits)


def with_budget(estimator: Any, budget: ApproxDP, seed: int | None) -> Any:
    """Return a copy of an estimator whose fit costs at most a budget; several private steps share epsilon in
    proportion to their own, and delta equally.
    """
    copy = quiet(estimator)  # progress messages would show the number of fits
    private = private_steps(copy)
    epsilons = [check_number("epsilon", step.epsilon, above=0) for step in private]
    n_deltas = sum(step.spends_delta for step in private)
    for step, epsilon in zip(private, epsilons, strict=True):
        given = {"epsilon": budget.epsilon * epsilon / sum(epsilons), "random_state": seed}
        if step.spends_delta:
            given["delta"] = budget.delta / n_deltas
        step.set_params(**given)
    return copy


def is_gaussian(event: Event, budget: ApproxDP) -> bool:
    """Return whether a release is Gaussian-DP with the mu^2 that a budget implies, except for its failure."""
    if not budget.delta or event.mu2 is None:
        return False
    most = GaussianSums(gaussian_budget(budget)).mu2
    return not event.failure and event.mu2_failure <= FAILURE and event.mu2 <= most


@dataclass(frozen=True)
class Trial:
    """Candidates and private records of a search: fits one within a budget, and counts its test errors."""

    records: LabelledRows
    candidates: Sequence[Any]
    table: SearchFacts
    reproducible: bool

    def _at(self, places: Places) -> tuple[Any, NDArray[Any]]:
        return rows_of(self.records.X, places), self.records.y[places]

    def read(
        self, fit: ApproxDP, last: ApproxDP | None, *, gaussian: bool = False
    ) -> tuple[tuple[ApproxDP, ...], tuple[str, ...]] | None:
        """Return all guarantees and warnings; None if one fit is not Gaussian-DP, as `gaussian` requires."""
        # All records, and one training set of each size: some estimators refuse small tables. Where None is
        # returned, a plan without Gaussian fits follows, which raises errors about records again.
        sizes = {len(train): (train, fit) for train, _ in self.table.splits}
        whole = np.arange(len(self.records)), last or fit
        tables = [(*self._at(places), budget) for places, budget in (*sizes.values(), whole)]
        guarantees: list[ApproxDP] = []
        notes: list[str] = []
        for candidate in self.candidates:
            for place, (rows, labels, budget) in enumerate(tables):
                share = None
                with suppress(*((TypeError, ValueError) if gaussian else ())):
                    share = self._read(with_budget(candidate, budget, self.table.seed), rows, labels, budget)
                if share is None or (gaussian and budget is fit and not share.is_gaussian):
                    return None
                guarantees += share.guarantees
                if last is not None or place < len(sizes):  # else nothing is fitted on all records
                    notes += share.notes
        return tuple(guarantees), tuple(dict.fromkeys(notes))

    def _read(self, candidate: Any, rows: Any, labels: Any, budget: ApproxDP) -> "_Share":
        """Validate records for the first private step, and the parameters of later ones, without a draw."""
        share, private = _Share(budget), private_steps(candidate)
        for step in _acting(candidate):
            if isinstance(step, PrivateEstimator):
                given = labels if step is last_step(candidate) else None
                recipe = _checked(step, self.reproducible)
                share.charge(alone(partial(begin, recipe, rows, given), reraised).plan)
                break
            # A step with copy=False would change the rows of other candidates.
            rows = _transformed(step, deepcopy(rows))
        for step in private[1:]:
            _checked(step, self.reproducible)
        share.is_gaussian &= len(private) == 1
        return share

    def fitted(
        self,
        index: int,
        budget: ApproxDP,
        dice: Dice,
        *,
        places: Places | None = None,
        gaussian: bool = False,
    ) -> Any:
        """Return a candidate fitted within a budget, step by step, on all records or on those of some places;
        with `gaussian` its only private step must be Gaussian-DP.
        """
        candidate = with_budget(self.candidates[index], budget, self.table.seed)
        rows, labels = self._at(np.arange(len(self.records)) if places is None else places)
        share = _Share(budget)

        def fit() -> None:
            given = rows
            for step in _acting(candidate):
                if isinstance(step, PrivateEstimator):
                    is_last = step is last_step(candidate)
                    ready = begin(step._recipe(self.reproducible), given, labels if is_last else None)
                    share.charge(ready.plan)
                    if gaussian and not (share.is_gaussian and len(share.guarantees) == 1):
                        raise ValueError("estimator must be fitted with Gaussian noise only, as planned")
                    step._take(ready.done(dice))
                    given = given if is_last else step.transform(given)
                else:
                    given = _transformed(step, given)

        alone(fit, reraised)  # what a fit prints, or warns of, would show the number of fits
        return candidate

    def counted(
        self, index: int, statistic: Statistic, budget: ApproxDP, dice: Dice, *, gaussian: bool = False
    ) -> tuple[Counts, Any]:
        """Return the sums of a candidate's tables over all splits, and its fit if there is one split."""
        fitted, counts = None, np.zeros(statistic.n_cells, dtype=np.int64)
        for train, test in self.table.splits:
            fitted = self.fitted(index, budget, dice, places=train, gaussian=gaussian)
            counts = counts + statistic.of(fitted, *self._at(test))
        n = self.table.tested
        assert ((statistic.low * n <= counts) & (counts <= statistic.high * n)).all()
        return counts, fitted if len(self.table.splits) == 1 else None


def _checked(step: Any, reproducible: bool) -> Any:
    """Return the recipe of a fit; an error about its budget says that it is a share of the caller's."""
    try:
        return step._recipe(reproducible)
    except ValueError as error:
        if not str(error).startswith(("epsilon ", "delta ")):
            raise
        budget = {name: step.get_params()[name] for name in ("epsilon", "delta") if hasattr(step, name)}
        share = " and ".join(f"{name} {float(value):g}" for name, value in budget.items())
        raise ValueError(
            f"{error}; a fit of {type(step).__name__} has {share} here, a share of the whole budget"
        ) from None


def _transformed(step: Any, rows: Any) -> Any:
    """Return the output of a stateless step; hide its errors and warnings, which may quote rows."""
    transformed = alone(lambda: step.fit(rows).transform(rows))
    if transformed is None:
        raise DomainError(
            f"X holds values that {type(step).__name__} does not transform (its own message is hidden because"
            " it might quote records); try it on made-up records"
        )
    return transformed


class _Share:
    """A share of the budget, within which the private steps of a candidate run."""

    def __init__(self, budget: ApproxDP):
        self._budget, self._left = budget, [budget.epsilon, budget.delta]
        self.guarantees: list[ApproxDP] = []
        self.notes: tuple[str, ...] = ()
        self.is_gaussian = True  # all steps are Gaussian-DP, with the mu^2 of the whole share

    def charge(self, plan: Any) -> None:
        """Subtract the cost of a step; raise if it exceeds what is left of the share."""
        guarantee = plan.guarantee
        if not isinstance(guarantee, ApproxDP):
            raise TypeError(f"estimator must have an ApproxDP guarantee, got {type(guarantee).__name__}")
        self._left[0] -= guarantee.epsilon
        self._left[1] -= guarantee.delta
        if min(self._left) < 0 or guarantee.neighbors != "replace_one":
            raise ValueError("estimator must cost at most its parameters epsilon and delta")
        self.guarantees.append(guarantee)
        self.is_gaussian &= is_gaussian(plan.event, self._budget)
        self.notes += tuple(plan.warnings)
