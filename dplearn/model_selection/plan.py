"""The plan of a private search: its splits by position, and the division of its budget.

The budget is shared by the fits of candidates, the counts that they are compared by, and the last fit.

>>> from types import SimpleNamespace
>>> import numpy as np
>>> scorer = PrivateScorer("accuracy")
>>> wanted = {"candidates": range(10), "n_iter": None, "concentration": 1, "refit": True, "scorer": scorer}
>>> split = (np.arange(80), np.arange(80, 100))
>>> table = SearchTable(100, splits=[split], exposure=Exposure(trains=1, tests=1, apart=True))
>>> plan = SearchPlan.of(SimpleNamespace(cost=ApproxDP(1), method="random_stopping", **wanted), table)
>>> str(plan.fit.epsilon), str(plan.scoring.epsilon), str(plan.refit.epsilon)
('1/6', '1/6', '1/2')
>>> two = wanted | {"candidates": range(2)}
>>> plan = SearchPlan.of(SimpleNamespace(cost=ApproxDP(1), method="auto", **two), table)
>>> plan.method, str(plan.fit.epsilon), str(plan.scoring.epsilon)
('permute_and_flip', '1/4', '1/2')
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from dplearn._validation import check_count, check_number
from dplearn._writing import brief
from dplearn.estimator.recipe import FitRecipe, Public
from dplearn.model_selection.measures import Measure
from dplearn.model_selection.metrics import METRICS, PrivateScorer, measure_of
from dplearn.model_selection.table_noise import TableNoise
from dplearn.privacy import ApproxDP
from dplearn.privacy.gaussian_dp import FAILURE
from dplearn.privacy.plan import Plan, hidden
from dplearn.privacy.random_stopping import MOST_RUNS, RandomStopping, gaussian_run_budget
from dplearn.privacy.shares import GAUSSIAN, gaussian_budget
from dplearn.table.targets import check_classes, labels_assumed

NOISY_SCORES = "noisy_scores"
METHODS = ("auto", "permute_and_flip", NOISY_SCORES, "random_stopping")
_ON_THE_REFIT = Fraction(1, 2)
_ON_SCORES = Fraction(1, 5)  # share of error counts if some record both trains and tests; they need little
_RUNS_PER_CANDIDATE = 4
_LEAST_DELTA = Fraction(1, 1 << 50)  # of searches of Gaussian fits: some thousand runs and fits may fail
_MORE = Fraction(11, 10)  # for less of a gain in epsilon, no candidate is left untried
_BELOW = 1 - Fraction(1, 1 << 60)  # events round mu^2 up
_Parts = tuple[ApproxDP, ApproxDP, ApproxDP | None]  # of each fit, of the error counts, of the last fit
_UNOBSERVED = "how many candidates were tried, and how long it took, is not observed"
Split = tuple[NDArray[np.int64], NDArray[np.int64]]
_BY_POSITION = (KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit, TimeSeriesSplit)
_HELD_OUT = 0.2


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
        """Return the exposure of splits of n records."""
        trains, tests = (
            np.bincount(np.concatenate([split[part] for split in splits]), minlength=n) for part in (0, 1)
        )
        return cls(int(trains.max()), int(tests.max()), not (trains.astype(bool) & tests.astype(bool)).any())


@dataclass(frozen=True)
class SearchTable(Public):
    """The public values of a table on which candidates are compared."""

    splits: Sequence[Split] = ()
    exposure: Any = None
    guarantees: tuple[ApproxDP, ...] = ()  # of the candidates' fits; empty in a plan without data
    notes: tuple[str, ...] = ()  # warnings of the candidates
    gaussian: bool = False  # each candidate's fit, with its budget in such a plan, has Gaussian noise only
    seed: int | None = None  # of the candidates' public choices


@dataclass(frozen=True)
class SearchPlan(Plan):
    """The plan of a private search.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the search.
    method : str
        "permute_and_flip", "noisy_scores" or "random_stopping".
    n_candidates, n_samples : int
        Number of candidates and of records.
    fit, scoring : ApproxDP
        Budget of each fit of a candidate on one split, and of the counts of all candidates from which scores
        are computed; with random stopping, those of one run.
    gaussian : bool
        Whether all candidates are fitted with Gaussian noise and accounted for as Gaussian-DP. Then `fit` is
        the cost of a single fit, with the delta of the whole search, and mu^2 adds up over the fits of a run,
        not epsilon. False if that allows no less noise, as with more than 1024 runs or a great delta.
    refit : ApproxDP or None
        Budget of the last fit, on all records; None without it.
    mean_fits : float
        Mean number of fits, the last one included.
    missed : float
        Probability that a given candidate is never fitted.
    score_error : float
        With probability at least 1 - beta the noise moves an accuracy, such as `best_score_`, by less than
        this. For other metrics: it moves each count that the score is computed from by less than this share
        of the test records (each sum: of its greatest value). NaN if this needs the set of labels, and it is
        not known.
    beta : float
        Probability of failure, as given.

    Notes
    -----
    **Privacy.** All parts together cost at most the budget. Proof: the costs of the last fit and of the
    search before it add up. In the search a record trains in at most `trains` splits and tests in at most
    `tests`. The costs of the fits in which it trains add up. Given all fitted models, the costs of the
    counts add up too: a candidate's table moves by at most `tests` times its sensitivity. Permute-and-flip
    reads the only cell of each table; with "noisy_scores" the tables of K candidates are released as one,
    whose L1 and squared L2 sensitivities are K times those of each. A record that only tests changes no fit,
    and a record that only trains changes no count, given the models: so if no record does both, the cost is
    the larger of the two and not the sum. For random stopping this is the cost of one run, and
    `RandomStopping` proves the total. Scores are functions of released tables.

    If all fits are Gaussian-DP and no record does both, the two kinds of records are accounted for
    separately. The mu^2 of the fits in which a record trains add up, and `gaussian_budget` or, for random
    stopping, `gaussian_runs_delta` gives the total. For a record that only tests, the total is as above.
    """

    guarantee: ApproxDP
    method: str
    n_candidates: int
    n_samples: int
    fit: ApproxDP
    scoring: ApproxDP
    gaussian: bool
    refit: ApproxDP | None
    mean_fits: float
    missed: float
    score_error: float
    beta: float
    params: Any = hidden()
    public: Any = hidden()
    stopping: RandomStopping | None = hidden()  # distribution of the number of runs, with random stopping
    measure: Measure | None = hidden()  # the metric, once the labels are known

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the candidates, each text once."""
        notes: tuple[str, ...] = self.public.notes
        return notes

    @classmethod
    def of(
        cls, params: FitRecipe, public: SearchTable, *, assumes: Sequence[str] = (), beta: Any = 0.05
    ) -> "SearchPlan":
        """Return the plan of a search.

        Parameters
        ----------
        params : Params
            Holds `cost` (the budget), `candidates`, `method`, `refit`, `n_iter`, `concentration`, `scorer`
            and `classes`.
        public : SearchTable
            The splits and the candidates' guarantees.
        assumes : sequence of str
            Assumptions of the search itself; those of the candidates are in `public.guarantees`.
        beta : float, default=0.05
            Probability that the noise exceeds `score_error`, in (0, 1).
        """
        beta = check_number("beta", beta, above=0, below=1)
        splits, n_candidates = public.splits, len(params.candidates)
        gaussian = public.gaussian and public.exposure.apart and _search_part(params).delta >= _LEAST_DELTA
        method, stopping, (fit, scoring, refit) = _division(params, public.exposure, gaussian=False)
        if gaussian:
            other = _division(params, public.exposure, gaussian=True)
            gaussian = _is_better(other[2][0], fit)
            if gaussian:
                method, stopping, (fit, scoring, refit) = other
        runs = Fraction(n_candidates) if stopping is None else stopping.mean
        measure = _measure(params, public)
        own = [*assumes, *([_UNOBSERVED] if stopping else [])]
        return cls(
            guarantee=with_assumptions(params.cost, public.guarantees, own),
            method=method,
            n_candidates=n_candidates,
            n_samples=public.n_samples,
            fit=fit,
            scoring=scoring,
            gaussian=gaussian,
            refit=refit,
            mean_fits=float(runs * len(splits) + (refit is not None)),
            missed=float(stopping.missed(Fraction(1, n_candidates))) if stopping else 0.0,
            score_error=_score_error(measure, method, scoring, public, n_candidates, beta),
            beta=float(beta),
            params=params,
            public=public,
            stopping=stopping,
            measure=measure,
        )


def _measure(params: FitRecipe, public: SearchTable) -> Measure | None:
    """Return the metric, or None if it needs the labels and they are not known."""
    scorer: PrivateScorer = params.scorer
    known = public.classes if public.classes is not None else getattr(params, "classes", None)
    if known is None and not scorer.any_labels:
        return None
    labels = () if known is None else tuple(check_classes(list(known)).tolist())
    measures = [measure_of(scorer, labels, candidate) for candidate in params.candidates]
    if len({each.statistic for each in measures}) > 1:
        raise ValueError("param_grid must give all candidates predict_proba, or none")
    return measures[0]


def _score_error(
    measure: Measure | None,
    method: str,
    scoring: ApproxDP,
    public: SearchTable,
    n_candidates: int,
    beta: Fraction,
) -> float:
    """Return the share of a cell's greatest value that the noise reaches in some cell; see `SearchPlan`."""
    if measure is None:
        return math.nan
    statistic, tests = measure.statistic, public.exposure.tests
    tables = n_candidates if method == NOISY_SCORES else 1
    spent = replace(scoring, epsilon=scoring.epsilon / 2) if method == "permute_and_flip" else scoring
    noise = TableNoise.of(
        spent, l1=tables * tests * statistic.l1, squared_l2=tables * tests**2 * statistic.squared_l2
    )
    n_tested = sum(len(test) for _, test in public.splits)
    n_cells = tables * statistic.n_cells
    reach = noise.reach(1, beta / (2 * n_cells), n_cells=n_cells, room=n_tested * statistic.high)
    return (reach + 1) / (n_tested * statistic.high)


def _division(
    params: FitRecipe, exposure: Exposure, *, gaussian: bool
) -> tuple[str, RandomStopping | None, _Parts]:
    """Return the method of a search, its random stopping, and the parts of its budget."""
    method, stopping = _method(params, exposure, gaussian=gaussian)
    fit, scoring, last = _parts(params, stopping, exposure, gaussian=gaussian)
    if method == NOISY_SCORES and exposure.apart:
        scoring = _search_part(params)  # a record that only tests has the delta of the fits, too
    return method, stopping, (fit, scoring, last)


def _is_better(fit: ApproxDP, other: ApproxDP) -> bool:
    """Return whether a budget of a fit is positive and allows less Gaussian noise than another one.

    Its epsilon is 0 if mu is so small that delta alone suffices.
    """
    return fit.epsilon > 0 and gaussian_budget(fit) > gaussian_budget(other)


def _method(params: FitRecipe, exposure: Exposure, *, gaussian: bool) -> tuple[str, RandomStopping | None]:
    """Return the method ("auto": see `PrivateSearchCV`) and its random stopping."""
    candidates = len(params.candidates)
    most = _RUNS_PER_CANDIDATE * candidates
    if gaussian:
        most = min(most, MOST_RUNS)
    stopping = RandomStopping(most if params.n_iter is None else params.n_iter, params.concentration)
    # Permute-and-flip needs a quality of low sensitivity: the only cell of a table.
    all_tried = "permute_and_flip" if METRICS[params.scorer.name].falls else NOISY_SCORES
    if params.method != "auto":
        all_tried = params.method
    flips = params.method != "random_stopping"
    if params.method == "auto":
        flips = candidates <= stopping.factor
        if gaussian:
            each = [_gaussian_fit(params, kind, exposure).epsilon for kind in (None, stopping)]
            flips = each[1] <= _MORE * each[0]
    return (all_tried, None) if flips else ("random_stopping", stopping)


def _search_part(params: FitRecipe) -> ApproxDP:
    """Return the budget of the search without the last fit."""
    return _part(params.cost, 1 - _ON_THE_REFIT) if params.refit else params.cost


def _gaussian_fit(params: FitRecipe, stopping: RandomStopping | None, exposure: Exposure) -> ApproxDP:
    """Return the budget of each fit of a candidate, if all are Gaussian-DP."""
    search, fits = _search_part(params), exposure.trains
    if stopping is None:
        fits *= len(params.candidates)
        whole = gaussian_budget(replace(search, delta=search.delta - fits * FAILURE))
    else:
        whole = gaussian_run_budget(stopping, search, fits)
    return replace(search, epsilon=GAUSSIAN.epsilon_within(whole * _BELOW / fits, search.delta))


def _parts(
    params: FitRecipe, stopping: RandomStopping | None, exposure: Exposure, *, gaussian: bool
) -> _Parts:
    """Return the budgets of each fit of a candidate, of the error counts, and of the last fit."""
    last = _part(params.cost, _ON_THE_REFIT) if params.refit else None
    search = _search_part(params)
    if gaussian:
        one = search if stopping is None else stopping.run_of(search)
        return _gaussian_fit(params, stopping, exposure), replace(one, delta=Fraction(0)), last
    if stopping is None:
        fits, scoring = _shared(search, exposure)
        return _part(fits, Fraction(1, len(params.candidates) * exposure.trains)), scoring, last
    fits, scoring = _shared(stopping.run_of(search), exposure)
    return _part(fits, Fraction(1, exposure.trains)), scoring, last


def _shared(budget: ApproxDP, exposure: Exposure) -> tuple[ApproxDP, ApproxDP]:
    """Return the budgets of all fits in which a record trains, and of the error counts (delta 0)."""
    if exposure.apart:
        return budget, replace(budget, delta=Fraction(0))
    scoring = replace(budget, epsilon=budget.epsilon * _ON_SCORES, delta=Fraction(0))
    return replace(budget, epsilon=budget.epsilon * (1 - _ON_SCORES)), scoring


def _part(budget: ApproxDP, share: Fraction) -> ApproxDP:
    return replace(budget, epsilon=budget.epsilon * share, delta=budget.delta * share)


def with_assumptions(cost: ApproxDP, guarantees: Sequence[ApproxDP], own: Sequence[str]) -> ApproxDP:
    """Return the cost with all assumptions; the search's entry about labels replaces the candidates'."""
    given = labels_assumed(())
    theirs = [entry for guarantee in guarantees for entry in guarantee.assumes if entry != given]
    protects = "labels" if any(guarantee.protects == "labels" for guarantee in guarantees) else cost.protects
    return replace(cost, protects=protects, assumes=tuple(dict.fromkeys([*own, *theirs])))
