"""Differentially private parameter search over candidate learners and pipelines, with a single budget.

`PrivateSearchCV` makes a recipe, `SearchFit`. Its summary is a `Trial`, an oracle of fits and of counts over
held-out records, from which a `Choice` is released. A `Task` holds what differs for labels and targets.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import AUTO, check_bool, check_choice, check_count
from dplearn._writing import brief
from dplearn.chance import public_seed
from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateEstimator, refuse_parameters
from dplearn.estimator.recipe import FitRecipe, Public
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit.relation import TABLE
from dplearn.kernels.float_errors import ignores_float_errors
from dplearn.mechanisms import permute_and_flip
from dplearn.mechanisms.random_stopping import best_of_runs
from dplearn.model_selection.candidates import (
    check_candidate,
    cost_of,
    fit_candidate,
    is_gaussian,
    last_step,
    private_steps,
    read_by_candidate,
    steps_assumed,
    with_budget,
)
from dplearn.model_selection.measures import Measure, NoisyTable, noisy_table
from dplearn.model_selection.metrics import METRICS, PrivateScorer, measure_of
from dplearn.model_selection.plan import (
    METHODS,
    NOISY_SCORES,
    Exposure,
    SearchPlan,
    SearchTable,
    splits_by_position,
)
from dplearn.model_selection.table_noise import TableNoise
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.pipelines import fitted_together
from dplearn.table.features import read_rows
from dplearn.table.rows import LabelledRows, rows_of
from dplearn.table.targets import (
    TargetRange,
    check_classes,
    declared_classes,
    labels_assumed,
    read_labels,
    read_numbers,
)

_SPLITS = "the split into training and test records depends only on the records' positions"
_ALONE = "a fitted candidate predicts for each record by itself"
_LEAST = Fraction(-(1 << 1100))  # less than any float


def _predicts_likelihoods(search: Any) -> bool:
    return hasattr(search.estimator, "predict_proba")


@learns_schema(parameter="estimator__domain")
@dataclass(eq=False, repr=False)
class PrivateSearchCV(MetaEstimatorMixin, PrivateEstimator):
    """Private grid search: select the best candidate on held-out records, within one privacy budget.

    Parameters
    ----------
    estimator : PrivateClassifier, PrivateRegressor or Pipeline
        A classifier or regressor of dplearn whose predictions depend only on values released by its fit, or a
        pipeline that ends in one and whose other steps are private or stateless. The search is a classifier
        or regressor likewise. It sets `epsilon` and `delta`; in a pipeline the steps share each budget in
        proportion to their own epsilons. Must not have a ledger. With `domain="learn"` of an estimator that
        is no pipeline, the search learns the schema once, from its own budget, before it fits any candidate.
    param_grid : dict or list of dicts
        Maps names of parameters to values, as for scikit-learn's GridSearchCV.
    epsilon : float, default=1.0
        Privacy budget of the whole search, the last fit included; positive. A float stands for its shortest
        decimal: 0.1 is 1/10.
    delta : float or "auto", default="auto"
        Delta of the whole search, if `estimator` has a `delta`; otherwise delta is 0. "auto": the greatest
        `delta` of any candidate.
    scoring : None, str or PrivateScorer, default=None
        The score that is maximised, by scikit-learn's name, or with public parameters; None is "accuracy" of
        classifiers, and "r2" of regressors. See `PrivateScorer`. Its labels are the classes of `estimator`.
        Its target range is by default the `target_range` of the candidates, which must then be the same for
        all: targets and predictions are clipped to it. The effect of one record on a ratio such as "f1"
        depends on the other records; such a score is computed from noisy counts.
    method : {"auto", "permute_and_flip", "noisy_scores", "random_stopping"}, default="auto"
        Method of selection. "permute_and_flip": fit every candidate with an equal share of the budget, and
        select one by permute-and-flip on the numbers of errors, or sums of losses; only for "accuracy" (and
        the averages that equal it), "neg_log_loss" and all metrics of regressors: R^2 and the root of the
        mean squared error are greatest where the sum of squared errors is least. The table of the selected
        candidate's score is released in noisy form. "noisy_scores": fit likewise, release
        noisy counts for every candidate, with an equal share of the budget, and select the greatest score;
        all scores are published. "random_stopping": fit randomly drawn
        candidates, a random number of times, and keep the run for which the noisy score is greatest; each run
        has a third of the search's epsilon for any number of candidates (with
        `concentration=1`). Candidates that are all fitted with Gaussian noise have larger budgets with all
        methods: see the notes. "auto": random stopping, or all candidates by one of the two other methods,
        whichever has the larger epsilon for each fit; of Gaussian candidates all are fitted if random
        stopping gives at most 10 % more.
    n_iter : int, optional
        With random stopping, the greatest number of runs; by default 4 for each candidate, but at most 1024
        for Gaussian candidates. With more than 1024 runs, these have no larger budgets than others.
    concentration : int, default=1
        With random stopping, the shape (at least 0) of the distribution of the number of runs: greater values
        make few runs less likely, and each run has a share of 1 / (2 + `concentration`) of epsilon, or, of
        Gaussian candidates, a smaller budget too. With 1 all numbers of runs up to `n_iter` are equally
        likely.
    refit : bool, default=True
        Whether the selected candidate is fitted again on all records, with half of the budget. Otherwise the
        search has the whole budget, and the fit on the training records is kept if there is one split.
    cv : None, int or splitter, default=None
        The training and test records. None: a fifth of the positions, publicly drawn, are tested. An int: the
        number of folds of consecutive records; each record is then a training record in all splits but one,
        and the budget of each fit is smaller in proportion. Or scikit-learn's KFold, PredefinedSplit,
        RepeatedKFold, ShuffleSplit or TimeSeriesSplit. Splitters that use labels are refused.
    stateless : collection of str, default=()
        Names of pipeline steps that, as the caller knows, learn nothing from data; see
        `dplearn.privacy.pipeline_guarantee`.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, once for the whole search, before any draw.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the search reproducible, for tests only;
        the guarantee states this. The `random_state` of `estimator` is not used.

    Attributes
    ----------
    best_params_ : dict
        Released. The selected parameters.
    best_index_ : int
        Released. The index of the selected candidate in `cv_results_`.
    best_score_ : float
        Released. Noisy score of the selected candidate on held-out records, such as the fraction of correct
        predictions, or R^2. Selection biases it upwards; to report a score, use `private_score` on other
        records. NaN if noise leaves it undefined, such as an R^2 if the noisy variance is negative.
    best_estimator_ : PrivateClassifier, PrivateRegressor or Pipeline
        Released. The selected candidate, fitted; absent with `refit=False` and several splits.
    cv_results_ : dict of str to ndarray or list
        Released. `params` and `param_<name>` list the candidates; `mean_test_score` and `rank_test_score`
        hold the score and rank 1 of the selected candidate, and NaN and 2 for all others; with
        "noisy_scores", the scores and ranks of all.
    method_ : str
        Public. The method of selection.
    budgets_ : dict of str to ApproxDP
        Public. Budgets of each fit of a candidate ("fit"), of the counts ("scoring") and, unless
        `refit` is False, of the last fit ("refit"). The fits of Gaussian candidates are accounted for
        together: each has the delta of the whole search without the last fit, and its epsilon is that of one
        such fit alone. The budgets do not add up then.
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted: declared for `estimator`, or assumed public. Absent for regressors.
    guarantee_ : ApproxDP
        Public. The guarantee of the whole search, for all published values, with its assumptions.
    schema_ : Product
        Released. The learned domain of a record, if the `domain` of `estimator` is "learn".
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    private_score : The score of one fitted estimator, with its confidence interval.

    Notes
    -----
    **Privacy.** (epsilon, delta) for one replaced record; the number of records is public. The proof is in
    `SearchPlan` and `RandomStopping`. Candidates are Gaussian if delta is positive, each is a single private
    step that releases sums with Gaussian noise only, and no record both trains and tests. The mu^2 of their
    fits then adds up, and `dplearn.privacy.random_stopping.gaussian_runs_delta` has the proof for random
    stopping. Where this allows no less noise, they are accounted for like other candidates.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** `plan` returns the budget of each fit, a bound on the noise in scores, and the probability
    that a candidate is never fitted.

    **Source.** McKenna and Sheldon (2020) for permute-and-flip; Liu and Talwar (2019) and Papernot and
    Steinke (2022) for random stopping, with other distributions of the number of runs: see `RandomStopping`.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.domains import IntegerRange
    >>> from dplearn.learners.rules.generic import ExponentialMechanismClassifier
    >>> from dplearn.model_selection import PrivateSearchCV
    >>> X = np.arange(4000)[:, None] % 100
    >>> y = X[:, 0] > 40
    >>> model = ExponentialMechanismClassifier(domain=IntegerRange(0, 99))
    >>> search = PrivateSearchCV(model, {"concept_class": ["stumps", "thresholds"]}, random_state=0).fit(X, y)
    >>> list(search.best_params_), search.guarantee_.epsilon, bool(search.score(X, y) > 0.9)
    (['concept_class'], Fraction(1, 1), True)
    """

    estimator: Any
    param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float | str = AUTO
    scoring: str | None = None
    method: str = "auto"
    n_iter: int | None = None
    concentration: int = 1
    refit: bool = True
    cv: Any = None
    stateless: Collection[str] = ()
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    best_estimator_: Any = field(init=False)

    def plan(
        self,
        n_samples: int,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        beta: float = 0.05,
    ) -> "SearchPlan":
        """Return the plan of the search: its guarantee and the division of its budget, without data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features, n_labels : int, optional
            Numbers of columns and of labels, as for the `plan` of `estimator`, from which it is known whether
            all candidates are fitted with Gaussian noise. If that is not known, the plan assumes that they
            are not; `fit` may then find that each fit of a candidate can have a larger budget.
        beta : float, default=0.05
            A bound on the probability that the noise changes a score by `score_error` or more, in (0, 1).

        Returns
        -------
        SearchPlan
        """
        n = check_count("n_samples", n_samples, low=2)
        fit = self._recipe(self.random_state is not None)
        table = fit.table(n)
        plan: SearchPlan = fit.planned(replace(table, gaussian=True), beta=beta)
        sizes = {"n_features": n_features, "n_labels": n_labels}
        if not (isinstance(plan, SearchPlan) and plan.gaussian and all_planned_gaussian(plan, sizes)):
            plan = fit.planned(table, beta=beta)
        return plan

    def _recipe(self, reproducible: bool) -> "SearchFit":
        candidates = self._candidates()
        task = task_of(self.estimator)
        scorer = task.scorer(self.scoring)
        self._check_method(scorer)
        return SearchFit(
            self,
            cost_of(candidates, self.epsilon, self.delta, reproducible=reproducible),
            candidates=candidates,
            task=task,
            method=self.method,
            refit=check_bool("refit", self.refit),
            n_iter=self.n_iter,
            concentration=self.concentration,
            cv=self.cv,
            grid=list(ParameterGrid(self.param_grid)),
            sparse=get_tags(self.estimator).input_tags.sparse,
            stateless=self.stateless,
            **task.values(scorer, candidates, last_step(self.estimator)),
        )

    def _publish(self, outcome: "Choice", plan: SearchPlan) -> None:
        index, kept = outcome.index, outcome.fitted
        assert plan.measure is not None
        scores = {each: plan.measure.value(table) for each, table in outcome.tables.items()}
        params = plan.params.grid
        self.guarantee_, self.method_ = plan.guarantee, plan.method
        if plan.public.classes is not None:
            self.classes_ = plan.public.classes
        spent = {"fit": plan.fit, "scoring": plan.scoring, "refit": plan.refit}
        self.budgets_ = {name: each for name, each in spent.items() if each is not None}
        self.best_index_, self.best_params_, self.best_score_ = index, params[index], scores[index]
        self.cv_results_ = _results(params, index, scores)
        if kept is not None:
            last_step(kept).set_params(**plan.params.restored)
            self.best_estimator_ = fitted_together(kept, self.guarantee_)  # the selection is part of its cost

    def fit(self, X: Any, y: Any, *, groups: Any = None, **fit_parameters: Any) -> Self:
        """Search privately; the data are used for this one release and are not kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Private. As for `estimator`, in memory.
        y : array-like of shape (n_samples,)
            Private. Labels or targets.
        groups : array-like of shape (n_samples,), optional
            Private. The group of each row, such as the person that it belongs to: texts or integers. The
            guarantee then protects all rows of a group together. One row of each group takes part, which is
            chosen by public chance, and the set of groups is public.
        **fit_parameters : None
            Not supported: a `sample_weight` other than None is refused.

        Returns
        -------
        self : object

        Raises
        ------
        DomainError
            If a value is outside its declared domain or range; nothing is spent.
        TypeError, ValueError
            If weights are given, or a parameter is not as described; nothing is spent.
        BudgetExceededError
            If the cost exceeds the ledger's remaining budget; nothing is spent. `except Exception` does not
            catch this error.
        """
        refuse_parameters(type(self).__name__, fit_parameters)
        return self._fit_privately(X, y, groups=groups)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels or targets by the best candidate; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `estimator`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of `classes_`; of a regressor, float64.
        """
        found: NDArray[Any] = self._best().predict(X)
        return found

    @available_if(_predicts_likelihoods)  # type: ignore[untyped-decorator]
    @ignores_float_errors
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities that the best candidate predicts; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `estimator`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        likely: NDArray[np.float64] = self._best().predict_proba(X)
        return likely

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the best candidate: its accuracy or, of a regressor, R^2.

        The number is not private: compute it on public rows, and use `private_score` for others.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `estimator`.
        y : array-like of shape (n_samples,)
            Labels or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        found: float = self._best().score(X, y, sample_weight=sample_weight)
        return found

    def _best(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "best_estimator_ is absent with refit=False and several splits: fit one with best_params_"
            )
        return self.best_estimator_

    def _candidates(self) -> list[Any]:
        """Check all public parameters, and return one unfitted candidate for each member of the grid."""
        check_choice("method", self.method, METHODS)
        if self.n_iter is not None:
            check_count("n_iter", self.n_iter, low=1)
        check_count("concentration", self.concentration, low=0)
        check_candidate(self.estimator, self.stateless)
        grid = list(ParameterGrid(self.param_grid))
        if not grid:
            raise ValueError("param_grid must hold at least one candidate, got an empty one")
        for name in {name for params in grid for name in params}:
            _check_searched(name, self.estimator)
        candidates = [clone(self.estimator).set_params(**clone(params, safe=False)) for params in grid]
        for candidate in candidates:
            check_candidate(candidate, self.stateless)
        return candidates

    def _check_method(self, scorer: PrivateScorer) -> None:
        """Raise if the method of selection does not suit the metric."""
        if self.method == "permute_and_flip" and not METRICS[scorer.name].falls:
            raise ValueError(
                f"method must be 'auto', 'noisy_scores' or 'random_stopping' for scoring={scorer.name!r}, got"
                " 'permute_and_flip', which needs a score that one record changes little: 'accuracy' or"
                " 'neg_log_loss'"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.regressor_tags, tags.classifier_tags = inner.regressor_tags, inner.classifier_tags
        if tags.classifier_tags is not None:
            tags.classifier_tags = replace(tags.classifier_tags, multi_label=False)
        tags.input_tags = replace(inner.input_tags)
        tags.target_tags.required = True
        return tags


class SearchFit(FitRecipe):
    """The fit of `PrivateSearchCV`."""

    def table(self, n: int) -> SearchTable:
        """Return the public values of a table of n records."""
        splits = splits_by_position(self.cv, n)
        return SearchTable(n, splits=splits, exposure=Exposure.of(splits, n))

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        rows = read_rows(reader, X, reset=True, sparse=self.sparse)
        table = self.table(rows.shape[0])
        classes, values = self.task.read(y, table.n_samples, self)
        seed = public_seed(self.random_state, self.name) if self.cost.reproducible else None
        public = replace(table, n_features=rows.shape[1], classes=classes, seed=seed)
        records = LabelledRows(rows, values)
        for gaussian in (True, False):
            public = replace(public, gaussian=gaussian)
            plan = self.plan(public)
            found = Trial(records, plan).read_all() if plan.gaussian == gaussian else None
            if found is not None:
                break
        assert found is not None  # it is only with gaussian=True
        return replace(public, guarantees=found[0], notes=found[1]), records

    def plan(self, public: Public, *, beta: Any = 0.05) -> SearchPlan:
        assert isinstance(public, SearchTable)
        steps = steps_assumed(self.candidates, self.stateless)
        own = [*TABLE, self.task.assumes(self), _SPLITS, _ALONE, *steps]
        return SearchPlan.of(self, public, assumes=own, beta=beta)

    def summarize(self, rows: Any, plan: SearchPlan) -> "Trial":
        # An oracle of fits and counts: a replaced record moves a table by at most `exposure.tests` times the
        # sensitivity of its statistic.
        return Trial(rows, plan)

    def run(self, summary: "Trial", plan: SearchPlan, dice: Dice) -> "Choice":
        # The search: fits, counts and the selection. Then the last fit, of the selected candidate.
        choice = summary.choose(dice)
        if plan.refit is None:
            return choice
        return replace(choice, fitted=summary.refit(choice.index, plan.refit, dice))


def _check_searched(name: str, estimator: Any) -> None:
    """Raise if a searched parameter is one that the search sets, or one that determines public values."""
    own = name.rpartition("__")[2]
    alone = estimator is last_step(estimator)
    if own in ("ledger", "random_state", "classes") or (own in ("epsilon", "delta") and alone):
        raise ValueError(f"param_grid must not hold {name!r}: the search sets it for all candidates alike")


def _results(params: list[dict[str, Any]], index: int, scores: Mapping[int, float]) -> dict[str, Any]:
    """Return `cv_results_`: the candidates, and the released scores; the selected one has rank 1."""
    shown = np.full(len(params), np.nan)
    for place, score in scores.items():
        shown[place] = score
    # Ranks as scikit-learn's: 1 more than the number of greater scores. What is not released is last.
    order = np.where(np.isfinite(shown), shown, -np.inf)
    ranks = 1 + (order[None, :] > order[:, None]).sum(axis=1)
    if len(scores) == 1:
        ranks = np.full(len(params), 2)
    ranks[index] = 1
    table: dict[str, Any] = {}
    for name in sorted({name for each in params for name in each}):
        column = np.ma.MaskedArray(np.empty(len(params), dtype=object), mask=True)
        for place, each in enumerate(params):
            if name in each:
                column[place] = each[name]
        table[f"param_{name}"] = column
    return {**table, "params": params, "mean_test_score": shown, "rank_test_score": ranks}


@dataclass(frozen=True)
class Choice:
    """The outcome of a selection."""

    index: int
    tables: Mapping[int, NoisyTable]  # of the selected candidate and, if all were released, of the others
    fitted: Any  # on the training records, if there is one split


@dataclass(frozen=True)
class Trial:
    """An oracle of fits and tables of counts: the candidates and the private records."""

    records: LabelledRows
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
        # Some estimators refuse small tables.
        sizes = {len(train): (train, self.plan.fit) for train, _ in self.plan.public.splits}
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
    """Return whether all fits of candidates are known to be Gaussian-DP, without data."""
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


class Task(ABC):
    """What is predicted: its public values, how it is read, and which metrics suit it."""

    kinds: ClassVar[str]  # of estimators, as a plural
    default: ClassVar[str]  # the metric that `scoring=None` stands for
    regression: ClassVar[bool]

    def scorer(self, scoring: Any) -> PrivateScorer:
        """Return the metric that a search compares candidates by."""
        scorer = PrivateScorer.of(self.default if scoring is None else scoring)
        if scorer.regression != self.regression:
            fitting = [repr(name) for name, each in METRICS.items() if each.regression == self.regression]
            raise ValueError(
                f"scoring must be a metric of {self.kinds}, which the search compares, got {scorer.name!r};"
                f" choose one of {', '.join(fitting)}"
            )
        return scorer

    @abstractmethod
    def values(self, scorer: PrivateScorer, candidates: Sequence[Any], last: Any) -> Mapping[str, Any]:
        """Return the parameters of a search that depend on the task, after a check of the public values."""

    @abstractmethod
    def read(self, y: Any, n: int, params: FitRecipe) -> tuple[Any, NDArray[Any]]:
        """Return the public labels, None for regressors, and what each record has."""

    @abstractmethod
    def assumes(self, params: FitRecipe) -> str:
        """Return the assumption about labels or targets."""


class _Labels(Task):
    """The task of classifiers."""

    kinds = "classifiers"
    default = "accuracy"
    regression = False

    def values(self, scorer: PrivateScorer, candidates: Sequence[Any], last: Any) -> Mapping[str, Any]:
        if scorer.labels is not None:
            raise ValueError(
                "scoring must have labels=None in a search, where they are the classes of the estimator,"
                f" got {brief(scorer.labels)}"
            )
        steps = [last_step(candidate) for candidate in candidates]
        given = [declared_classes(each.classes, getattr(each, "domain", None)) for each in steps]
        sets = [None if each is None else tuple(check_classes(each).tolist()) for each in given]
        if len(set(sets)) > 1:
            raise ValueError("param_grid must give all candidates the same classes")
        return {"scorer": scorer, "classes": given[0], "restored": {"classes": last.classes}}

    def read(self, y: Any, n: int, params: FitRecipe) -> tuple[Any, NDArray[Any]]:
        classes, codes = read_labels(y, n, params.classes)
        for candidate in params.candidates:
            last_step(candidate).set_params(classes=list(classes))  # independent of the training labels
        return classes, classes[codes]

    def assumes(self, params: FitRecipe) -> str:
        return labels_assumed(params.classes)


class _Targets(Task):
    """The task of regressors: the range on which errors are counted is the metric's, or the candidates'."""

    kinds = "regressors"
    default = "r2"
    regression = True

    def values(
        self,
        scorer: PrivateScorer,
        candidates: Sequence[Any],
        last: Any,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        if scorer.target_range is None:
            ranges = [TargetRange.of(last_step(each).target_range) for each in candidates]
            if len(set(ranges)) > 1:
                raise ValueError(
                    "param_grid must give all candidates the same target_range, or scoring must have the one"
                    f" on which all are compared: PrivateScorer({scorer.name!r}, target_range=(low, high))"
                )
            scorer = replace(scorer, target_range=(ranges[0].low, ranges[0].high))
        target = TargetRange.of(scorer.target_range, clip=True)
        return {"scorer": scorer, "classes": None, "target": target, "restored": {}}

    def read(self, y: Any, n: int, params: FitRecipe) -> tuple[Any, NDArray[Any]]:  # noqa: ARG002
        return None, read_numbers(y, n)  # each candidate compares them with its own range

    def assumes(self, params: FitRecipe) -> str:
        (clipped,) = measure_of(params.scorer, ()).statistic.assumes
        return clipped


_TASKS: dict[str | None, Task] = {"classifier": _Labels(), "regressor": _Targets()}


def task_of(estimator: Any) -> Task:
    """Return the task of an estimator that `check_candidate` accepts."""
    return _TASKS[get_tags(estimator).estimator_type]
