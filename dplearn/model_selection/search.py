"""Differentially private parameter search over candidate learners and pipelines, with a single budget, which
a `SearchPlan` divides among fits of candidates, tables of counts on test records, and the last fit.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._progress import unseen, watched
from dplearn._validation import AUTO, check_bool, check_choice, check_count, check_number
from dplearn._writing import brief, did_you_mean
from dplearn.chance import public_seed
from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateEstimator, available_where, refuse_parameters
from dplearn.estimator.importances import HasImportances
from dplearn.estimator.on_released import offers
from dplearn.estimator.recipe import FitRecipe
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit import TABLE
from dplearn.mechanisms import permute_and_flip
from dplearn.mechanisms.selection import best_of_runs
from dplearn.model_selection.candidates import (
    Exposure,
    SearchFacts,
    Trial,
    check_candidate,
    cost_of,
    is_gaussian,
    last_step,
    private_steps,
    steps_assumed,
    with_assumptions,
    with_budget,
)
from dplearn.model_selection.metrics import METRICS, Measure, PrivateScorer, measure_of
from dplearn.model_selection.tables import Counts, NoisyTable, noisy_table
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.gaussian_dp import FAILURE
from dplearn.privacy.pipelines import fitted_together
from dplearn.privacy.plan import Plan, hidden
from dplearn.privacy.random_stopping import MOST_RUNS, RandomStopping, gaussian_run_budget
from dplearn.privacy.shares import GAUSSIAN, gaussian_budget
from dplearn.table import LabelledRows
from dplearn.table.features import read_rows
from dplearn.table.targets import (
    TargetRange,
    check_classes,
    declared_classes,
    labels_assumed,
    read_labels,
    read_numbers,
)

FLIPS, NOISY_SCORES, STOPPING = "permute_and_flip", "noisy_scores", "random_stopping"
_METHODS = ("auto", FLIPS, NOISY_SCORES, STOPPING)
_ON_THE_REFIT = Fraction(1, 2)
_ON_SCORES = Fraction(1, 5)  # share of error counts if some record both trains and tests; they need little
_RUNS_PER_CANDIDATE = 4
_LEAST_DELTA = Fraction(1, 1 << 50)  # of searches of Gaussian fits: some thousand runs and fits may fail
_MORE = Fraction(11, 10)  # for less of a gain in epsilon, no candidate is left untried
_BELOW = 1 - Fraction(1, 1 << 60)  # events round mu^2 up
_LEAST = Fraction(-(1 << 1100))  # less than any float
_SPLITS = "the split into training and test records depends only on the records' positions"
_ALONE = "a fitted candidate predicts for each record by itself"
_UNOBSERVED = "how many candidates were tried, and how long it took, is not observed"


@documented_by()
@learns_schema(parameter="estimator__domain")
@dataclass(eq=False, repr=False)
class PrivateSearchCV(HasImportances, MetaEstimatorMixin, PrivateEstimator):
    """Private grid search: select the best candidate on held-out records, within one privacy budget.

    Drop-in: any number of predictions costs no privacy.

    Parameters
    ----------
    estimator : PrivateClassifier, PrivateRegressor or Pipeline
        A classifier or regressor of dplearn whose predictions depend only on values released by its fit, or a
        pipeline that ends in one and whose other steps are private or stateless. The search sets `epsilon`
        and `delta`; in a pipeline the steps share each budget in proportion to their own epsilons. Must not
        have a ledger. With `domain="learn"` the search learns the schema once, before it fits any candidate.
    param_grid : dict or list of dicts
        Maps names of parameters to values, as for scikit-learn's GridSearchCV.
    epsilon : float, default=1.0
        Privacy budget of the whole search, the last fit included; positive. A float stands for its shortest
        decimal: 0.1 is 1/10.
    delta : float or "auto", default="auto"
        Delta of the whole search, if `estimator` has a `delta`; otherwise delta is 0. "auto": the greatest
        `delta` of any candidate.
    scoring : None, str or PrivateScorer, default=None
        The score that is maximised, by scikit-learn's name, or with public parameters (`PrivateScorer`); None
        is "accuracy" of classifiers, and "r2" of regressors. Its labels are the classes of `estimator`, and
        its target range by default the `target_range` of the candidates, which must then be the same for all.
    method : {"auto", "permute_and_flip", "noisy_scores", "random_stopping"}, default="auto"
        "permute_and_flip": fit every candidate with an equal share of the budget, and select one by
        permute-and-flip on the numbers of errors, or sums of losses; only for "accuracy" (and the averages
        that equal it), "neg_log_loss" and all metrics of regressors. The table of the selected candidate's
        score is released in noisy form. "noisy_scores": fit likewise, release noisy counts for every
        candidate, with an equal share of the budget, and select the greatest score. "random_stopping": fit
        randomly drawn candidates, a random number of times, and keep the run with the greatest noisy score;
        each run has a third of the search's epsilon (with `concentration=1`). Candidates that are all fitted
        with Gaussian noise have larger budgets. "auto": the one with the larger epsilon for each fit; of
        Gaussian candidates all are fitted if random stopping gives at most 10 % more.
    n_iter : int, optional
        With random stopping, the greatest number of runs; by default 4 for each candidate, but at most 1024
        for Gaussian candidates. With more than 1024 runs, these have no larger budgets than others.
    concentration : int, default=1
        With random stopping, the shape (at least 0) of the distribution of the number of runs: greater values
        make few runs less likely, and each run has a share of 1 / (2 + `concentration`) of epsilon. With 1
        all numbers of runs up to `n_iter` are equally likely.
    refit : bool, default=True
        Whether the selected candidate is fitted again on all records, with half of the budget. Otherwise the
        search has the whole budget, and the fit on the training records is kept if there is one split.
    cv : None, int or splitter, default=None
        The training and test records. None: a fifth of the positions, publicly drawn, are tested. An int: the
        number of folds of consecutive records, at smaller budgets of fits. Or scikit-learn's KFold,
        PredefinedSplit, RepeatedKFold, ShuffleSplit or TimeSeriesSplit. Splitters that use labels are
        refused.
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
        Released. Noisy score of the selected candidate on held-out records. Selection biases it upwards:
        report one of `private_score` on other records. NaN if noise leaves it undefined.
    best_estimator_ : PrivateClassifier, PrivateRegressor or Pipeline
        Released. The selected candidate, fitted; absent with `refit=False` and several splits.
    cv_results_ : dict of str to ndarray or list
        Released. `params` and `param_<name>` list the candidates; `mean_test_score` and `rank_test_score`
        hold the score and rank 1 of the selected candidate, and NaN and 2 for all others; with
        "noisy_scores", the scores and ranks of all.
    method_ : str
        Public. The method of selection.
    budgets_ : dict of str to ApproxDP
        Public. Budgets of each fit of a candidate ("fit"), of the counts ("scoring") and, unless `refit` is
        False, of the last fit ("refit"). Those of Gaussian candidates do not add up: each has the delta of
        the whole search without the last fit.
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted: declared for `estimator`, or assumed public. Absent for regressors.
    guarantee_
        ... It is that of the whole search, for all published values.
    schema_ : Product
        Released. The learned domain of a record, if the `domain` of `estimator` is "learn".
    feature_importances_, n_features_in_, feature_names_in_

    Notes
    -----
    **Privacy.** (epsilon, delta) for one replaced record; the number of records is public. The proof is in
    `SearchPlan` and `RandomStopping`. Candidates are Gaussian if delta is positive, each is a single private
    step that releases sums with Gaussian noise only, and no record both trains and tests. The mu^2 of their
    fits then adds up, and `dplearn.privacy.random_stopping.gaussian_runs_delta` has the proof for random
    stopping. Where this allows no less noise, they are accounted for like other candidates.

    **Accuracy.** `plan` returns the budget of each fit, a bound on the noise in scores, and the probability
    that a candidate is never fitted.

    **Source.** McKenna and Sheldon (2020) for permute-and-flip; Liu and Talwar (2019) and Papernot and
    Steinke (2022) for random stopping, with other distributions of the number of runs: see `RandomStopping`.

    Examples
    --------
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
    _carried_out = "search"

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
        n_features, n_labels : int, optional
            Numbers of columns and of labels, as for the `plan` of `estimator`, from which it is known whether
            all candidates are fitted with Gaussian noise. If that is not known, the plan assumes that they
            are not; `fit` may then find that each fit of a candidate can have a larger budget.
        beta : float, default=0.05
            A bound on the probability that the noise changes a score by `score_error` or more, in (0, 1).
        """
        n = check_count("n_samples", n_samples, low=2)
        fit = self._recipe(self.random_state is not None)
        table = SearchFit.table(fit, n)  # of a fit that learns a schema too
        plan: SearchPlan = fit.planned(replace(table, gaussian=True), beta=beta)
        sizes = {"n_features": n_features, "n_labels": n_labels}
        if not (isinstance(plan, SearchPlan) and plan.gaussian and all_planned_gaussian(plan, sizes)):
            plan = fit.planned(table, beta=beta)
        return plan

    def _recipe(self, reproducible: bool) -> "SearchFit":
        candidates = self._candidates()
        tags = get_tags(self.estimator)
        regression = tags.estimator_type == "regressor"
        scorer = _scorer(self.scoring, regression=regression)
        if self.method == FLIPS and not METRICS[scorer.name].falls:
            raise ValueError(
                f"method must be 'auto', 'noisy_scores' or 'random_stopping' for scoring={scorer.name!r}, got"
                " 'permute_and_flip', which needs a score that one record changes little: 'accuracy' or"
                " 'neg_log_loss'"
            )
        return SearchFit(
            self,
            cost_of(candidates, self.epsilon, self.delta, reproducible=reproducible),
            candidates=candidates,
            method=self.method,
            refit=check_bool("refit", self.refit),
            n_iter=self.n_iter,
            concentration=self.concentration,
            cv=self.cv,
            grid=list(ParameterGrid(self.param_grid)),
            sparse=tags.input_tags.sparse,
            stateless=self.stateless,
            declared=getattr(last_step(self.estimator), "classes", None),
            **(_of_targets if regression else _of_labels)(scorer, [last_step(each) for each in candidates]),
        )

    def _publish(self, outcome: "Choice", plan: "SearchPlan") -> None:
        index, kept = outcome.index, outcome.fitted
        scores = {each: plan.measure.value(table) for each, table in outcome.tables.items()}
        params = plan.params.grid
        self.method_ = plan.method
        if plan.public.classes is not None:
            self.classes_ = plan.public.classes
        spent = {"fit": plan.fit, "scoring": plan.scoring, "refit": plan.refit}
        self.budgets_ = {name: each for name, each in spent.items() if each is not None}
        self.best_index_, self.best_params_, self.best_score_ = index, params[index], scores[index]
        self.cv_results_ = _results(params, index, scores)
        if kept is not None:
            if plan.public.classes is not None:
                last_step(kept).set_params(classes=plan.params.declared)
            self.best_estimator_ = fitted_together(kept, self.guarantee_)  # the selection is part of its cost

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **fit_parameters: Any) -> Self:
        """Search privately; the data are used for this one release and are not kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Private. As for `estimator`, in memory.
        y : array-like of shape (n_samples,)
            Private. Labels or targets.
        groups : array-like of shape (n_samples,), optional
            ... One row of each group takes part, chosen by public chance.

        Raises
        ------
        DomainError, TypeError, ValueError
            If a value is outside its declared domain or range, weights are given, or a parameter is not as
            described; nothing is spent.
        BudgetExceededError
            If the cost exceeds the ledger's remaining budget; nothing is spent. It is no `Exception`.
        """
        refuse_parameters(self, fit_parameters)
        return self._fit_privately(X, y, groups=groups)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels or targets by the best candidate; costs no privacy."""
        return self._best().predict(X)

    @available_where(offers("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margins of the best candidate; costs no privacy."""
        return self._best().decision_function(X)

    @available_where(offers("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities that the best candidate predicts; costs no privacy."""
        return self._best().predict_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the best candidate: its accuracy or, of a regressor, R^2.

        The number is not private: compute it on public rows, and use `private_score` for others.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        """
        return self._best().score(X, y, sample_weight=sample_weight)

    def _best(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "best_estimator_ is absent with refit=False and several splits, and after an interrupt: fit"
                " one with best_params_"
            )
        return self.best_estimator_

    def _left_by_interrupt(self) -> str | None:
        if not self.refit or hasattr(self, "best_estimator_"):
            return None
        return (
            "the last fit of the search was interrupted, and its budget is spent; best_params_, best_score_"
            " and cv_results_ are kept: fit an estimator with best_params_, at its own cost"
        )

    def _candidates(self) -> list[Any]:
        """Check all public parameters, and return one unfitted candidate for each member of the grid."""
        check_choice("method", self.method, _METHODS)
        if self.n_iter is not None:
            check_count("n_iter", self.n_iter, low=1)
        check_count("concentration", self.concentration, low=0)
        seen: set[type] = set()
        check_candidate(self.estimator, self.stateless, seen=seen)
        grid = list(ParameterGrid(self.param_grid))
        if not grid:
            raise ValueError("param_grid must hold at least one candidate, got an empty one")
        for name in {name for params in grid for name in params}:
            _check_searched(name, self.estimator)
        candidates = [clone(self.estimator).set_params(**clone(params, safe=False)) for params in grid]
        for candidate in candidates:
            check_candidate(candidate, self.stateless, seen=seen)
        return candidates

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
    **Privacy.** All parts together cost at most the budget. Proof: in the search a record trains in at most
    `trains` splits and tests in at most `tests`. The costs of the fits in which it trains add up, and given
    all fitted models those of the counts: a candidate's table moves by at most `tests` times its sensitivity.
    Permute-and-flip reads the only cell of each table; with "noisy_scores" the tables of K candidates are
    released as one, of K times the sensitivities of each. If no record both trains and tests, the cost is the
    larger of the two and not the sum. For random stopping this is the cost of one run, and `RandomStopping`
    proves the total. If all fits are Gaussian-DP and no record does both, the mu^2 of the fits in which a
    record trains add up, and `gaussian_budget` or, for random stopping, `gaussian_runs_delta` gives the
    total.
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
    measure: Any = hidden()  # the metric, a `Measure`, once the labels are known

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the candidates, each text once."""
        return self.public.notes

    @classmethod
    def of(
        cls, params: FitRecipe, facts: SearchFacts, *, assumes: Sequence[str] = (), beta: Any = 0.05
    ) -> "SearchPlan":
        """Return the plan of a search; `assumes` are its own assumptions, besides those of the candidates."""
        beta = check_number("beta", beta, above=0, below=1)
        n_candidates, exposure = len(params.candidates), facts.exposure
        gaussian = facts.gaussian and exposure.apart and _search_part(params).delta >= _LEAST_DELTA
        division = _division(params, exposure, gaussian=False)
        if gaussian:
            other = _division(params, exposure, gaussian=True)
            # The epsilon of a fit is 0 if mu is so small that delta alone suffices.
            gaussian = other.fit.epsilon > 0 and gaussian_budget(other.fit) > gaussian_budget(division.fit)
            division = other if gaussian else division
        stopping = division.stopping
        runs = Fraction(n_candidates) if stopping is None else stopping.mean
        own = [*assumes, *([_UNOBSERVED] if stopping else [])]
        plan = cls(
            guarantee=with_assumptions(params.cost, facts.guarantees, own),
            **division._asdict(),
            n_candidates=n_candidates,
            n_samples=facts.n_samples,
            gaussian=gaussian,
            mean_fits=float(runs * len(facts.splits) + (division.refit is not None)),
            missed=float(stopping.missed(Fraction(1, n_candidates))) if stopping else 0.0,
            score_error=math.nan,
            beta=float(beta),
            params=params,
            public=facts,
            measure=_measure(params, facts),
        )
        return replace(plan, score_error=_score_error(plan, beta))


def _measure(params: FitRecipe, facts: SearchFacts) -> Measure | None:
    """Return the metric, or None if it needs the labels and they are not known."""
    scorer: PrivateScorer = params.scorer
    known = facts.classes if facts.classes is not None else getattr(params, "classes", None)
    if known is None and not scorer.any_labels:
        return None
    labels = () if known is None else tuple(check_classes(list(known)).tolist())
    measures = [measure_of(scorer, labels, candidate) for candidate in params.candidates]
    if len({each.statistic for each in measures}) > 1:
        raise ValueError("param_grid must give all candidates predict_proba, or none")
    return measures[0]


def _score_error(plan: SearchPlan, beta: Fraction) -> float:
    """Return the share of a cell's greatest value that the noise reaches in some cell; see `SearchPlan`."""
    if plan.measure is None:
        return math.nan
    statistic, public = plan.measure.statistic, plan.public
    tables = plan.n_candidates if plan.method == NOISY_SCORES else 1
    spent = _half(plan.scoring) if plan.method == FLIPS else plan.scoring
    noise = statistic.noise(spent, tables=tables, tests=public.exposure.tests)
    n_cells, most = tables * statistic.n_cells, public.tested * statistic.high
    reach = noise.reach(1, beta / (2 * n_cells), n_cells=n_cells, room=most)
    return float((reach + 1) / int(most))


class _Division(NamedTuple):
    """The method of a search, and the parts of its budget: see `SearchPlan`."""

    method: str
    stopping: RandomStopping | None
    fit: ApproxDP
    scoring: ApproxDP
    refit: ApproxDP | None


def _division(params: FitRecipe, exposure: Exposure, *, gaussian: bool) -> _Division:
    method, stopping = _method(params, exposure, gaussian=gaussian)
    last = _part(params.cost, _ON_THE_REFIT) if params.refit else None
    search = _search_part(params)
    run = search if stopping is None else stopping.run_of(search)
    fits, scoring = run, replace(run, delta=Fraction(0))
    if not exposure.apart:
        fits = replace(fits, epsilon=fits.epsilon * (1 - _ON_SCORES))
        scoring = replace(scoring, epsilon=scoring.epsilon * _ON_SCORES)
    if gaussian:
        fit = _gaussian_fit(params, stopping, exposure)
    else:
        fit = _part(fits, Fraction(1, exposure.trains * (1 if stopping else len(params.candidates))))
    if method == NOISY_SCORES and exposure.apart:
        scoring = search  # a record that only tests has the delta of the fits, too
    return _Division(method, stopping, fit, scoring, last)


def _method(params: FitRecipe, exposure: Exposure, *, gaussian: bool) -> tuple[str, RandomStopping | None]:
    """Return the method ("auto": see `PrivateSearchCV`) and its random stopping."""
    candidates = len(params.candidates)
    most = _RUNS_PER_CANDIDATE * candidates
    if gaussian:
        most = min(most, MOST_RUNS)
    stopping = RandomStopping(most if params.n_iter is None else params.n_iter, params.concentration)
    if params.method != "auto":
        return params.method, stopping if params.method == STOPPING else None
    all_tried = candidates <= stopping.factor
    if gaussian:
        each = [_gaussian_fit(params, kind, exposure).epsilon for kind in (None, stopping)]
        all_tried = each[1] <= _MORE * each[0]
    if not all_tried:
        return STOPPING, stopping
    # Permute-and-flip needs a quality of low sensitivity: the only cell of a table.
    return FLIPS if METRICS[params.scorer.name].falls else NOISY_SCORES, None


def _gaussian_fit(params: FitRecipe, stopping: RandomStopping | None, exposure: Exposure) -> ApproxDP:
    """Return the budget of each fit of a candidate, if all are Gaussian-DP."""
    search, fits = _search_part(params), exposure.trains
    if stopping is None:
        fits *= len(params.candidates)
        whole = gaussian_budget(replace(search, delta=search.delta - fits * FAILURE))
    else:
        whole = gaussian_run_budget(stopping, search, fits)
    return replace(search, epsilon=GAUSSIAN.epsilon_within(whole * _BELOW / fits, search.delta))


def _search_part(params: FitRecipe) -> ApproxDP:
    """Return the budget of the search without the last fit."""
    return _part(params.cost, 1 - _ON_THE_REFIT) if params.refit else params.cost


def _part(budget: ApproxDP, share: Fraction) -> ApproxDP:
    return replace(budget, epsilon=budget.epsilon * share, delta=budget.delta * share)


def _half(scoring: ApproxDP) -> ApproxDP:
    """Return the budget of permute-and-flip, and that of the table of the selected candidate."""
    return replace(scoring, epsilon=scoring.epsilon / 2)


class SearchFit(FitRecipe):
    """The fit of `PrivateSearchCV`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        rows = read_rows(reader, X, reset=True, sparse=self.sparse)
        table = self.table(rows.shape[0])
        classes, values = self.read_targets(y, table.n_samples)
        seed = public_seed(self.random_state, self.name) if self.cost.reproducible else None
        records = LabelledRows(rows, values)
        public = replace(table, n_features=rows.shape[1], classes=classes, seed=seed)
        return self.read_by_candidates(public, records), records

    def table(self, n: int) -> SearchFacts:
        """Return the public values of a table of n records."""
        return SearchFacts.of(self.cv, n)

    def read_by_candidates(self, facts: SearchFacts, records: LabelledRows) -> SearchFacts:
        """Validate the records for each candidate: all as Gaussian, if their fits are, else as any."""
        for gaussian in (True, False):
            facts = replace(facts, gaussian=gaussian)
            plan = self.plan(facts)
            if plan.gaussian == gaussian:
                found = self.summarize(records, plan).read(plan.fit, plan.refit, gaussian=gaussian)
                if found is not None:
                    return replace(facts, guarantees=found[0], notes=found[1])
        raise AssertionError  # nothing is found with gaussian=True only

    def read_targets(self, y: Any, n: int) -> tuple[Any, NDArray[Any]]:
        """Return the public labels, None for regressors, and what each record has."""
        if self.scorer.regression:
            return None, read_numbers(y, n)  # each candidate compares them with its own range
        classes, codes = read_labels(y, n, self.classes)
        for candidate in self.candidates:
            last_step(candidate).set_params(classes=list(classes))  # independent of the training labels
        return classes, classes[codes]

    def plan(self, facts: SearchFacts, *, beta: Any = 0.05) -> SearchPlan:
        if self.scorer.regression:
            (targets,) = measure_of(self.scorer, ()).statistic.assumes
        else:
            targets = labels_assumed(self.classes)
        own = [*TABLE, targets, _SPLITS, _ALONE, *steps_assumed(self.candidates, self.stateless)]
        return SearchPlan.of(self, facts, assumes=own, beta=beta)

    def summarize(self, rows: Any, plan: Any) -> Trial:
        # A replaced record moves a table by at most `exposure.tests` times the sensitivity of its statistic.
        return Trial(rows, self.candidates, plan.public, plan.guarantee.reproducible)

    def run(self, summary: Trial, plan: SearchPlan, dice: Dice) -> "Choice":
        # The search: fits, counts and the selection. Then the last fit, of the selected candidate.
        ways = {FLIPS: _by_permute_and_flip, NOISY_SCORES: _by_noisy_scores, STOPPING: _by_random_stopping}
        choice = ways[plan.method](summary, plan, dice)
        if plan.refit is None:
            return choice
        try:
            return replace(choice, fitted=summary.fitted(choice.index, plan.refit, dice))
        except KeyboardInterrupt:  # the choice is released
            return replace(choice, fitted=None)


@dataclass(frozen=True)
class Choice:
    """The outcome of a selection."""

    index: int
    tables: Mapping[int, NoisyTable]  # of the selected candidate and, if all were released, of the others
    fitted: Any  # on all records, or on the training records, if there is one split; None if interrupted


def _by_permute_and_flip(trial: Trial, plan: SearchPlan, dice: Dice) -> Choice:
    found = _all_counted(trial, plan, dice)
    index = flipped([counts for counts, _ in found], plan, dice)
    counts, fitted = found[index]
    return Choice(index, {index: _noisy(counts, plan, _half(plan.scoring), dice)}, fitted)


def flipped(tables: Sequence[Counts], plan: SearchPlan, dice: Dice) -> int:
    """Return the place of a table with a small first cell by permute-and-flip; the metric falls with it."""
    qualities = -np.array([counts[0] for counts in tables])
    most = plan.public.exposure.tests * plan.measure.statistic.steps  # no contribution to it is negative
    return permute_and_flip(qualities, privacy=_half(plan.scoring), dice=dice, sensitivity=most)


def _by_noisy_scores(trial: Trial, plan: SearchPlan, dice: Dice) -> Choice:
    """Release the tables of all candidates at once, as one table, and take the greatest score."""
    found = _all_counted(trial, plan, dice)
    counts = np.concatenate([counts for counts, _ in found])
    whole = _noisy(counts, plan, plan.scoring, dice, tables=len(found))
    parts = np.split(whole.counts, len(found))
    tables = {index: replace(whole, counts=counts) for index, counts in enumerate(parts)}
    index = max(tables, key=lambda each: _rank(tables[each], plan))
    return Choice(index, tables, found[index][1])


def _by_random_stopping(trial: Trial, plan: SearchPlan, dice: Dice) -> Choice:
    def run(dice: Dice) -> tuple[Fraction, Choice]:
        index = dice.below(plan.n_candidates)
        counts, fitted = _counted(trial, plan, index, dice)
        table = _noisy(counts, plan, plan.scoring, dice)
        return _rank(table, plan), Choice(index, {index: table}, fitted)

    assert plan.stopping is not None
    with unseen():
        return best_of_runs(run, stopping=plan.stopping, dice=dice)[1]


def _all_counted(trial: Trial, plan: SearchPlan, dice: Dice) -> list[tuple[Counts, Any]]:
    candidates = watched(range(plan.n_candidates), "Trying candidates")
    return [_counted(trial, plan, index, dice) for index in candidates]


def _counted(trial: Trial, plan: SearchPlan, index: int, dice: Dice) -> tuple[Counts, Any]:
    return trial.counted(index, plan.measure.statistic, plan.fit, dice, gaussian=plan.gaussian)


def _noisy(counts: Counts, plan: SearchPlan, privacy: ApproxDP, dice: Dice, *, tables: int = 1) -> NoisyTable:
    """Release the counts of one or several tables; a test record is in each, `exposure.tests` times."""
    statistic = plan.measure.statistic
    noise = statistic.noise(privacy, tables=tables, tests=plan.public.exposure.tests)
    return noisy_table(counts, plan.public.tested, statistic, noise, dice)


def _rank(table: NoisyTable, plan: SearchPlan) -> Fraction:
    """Return the score of a released table, exactly; a score that is not defined is the least."""
    value = plan.measure.value(table)
    return Fraction(value) if math.isfinite(value) else _LEAST


def _check_searched(name: str, estimator: Any) -> None:
    """Raise if a searched parameter is one that the search sets, or one that determines public values."""
    own, names = name.rpartition("__")[2], sorted(estimator.get_params(deep=False))
    if name.partition("__")[0] not in estimator.get_params():
        kind, near = type(estimator).__name__, did_you_mean(name, names)
        raise ValueError(f"param_grid must hold parameters of {kind}, {', '.join(names)}, got {name!r}{near}")
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


def _scorer(scoring: Any, *, regression: bool) -> PrivateScorer:
    """Return the metric that a search compares candidates by."""
    kinds, default = ("regressors", "r2") if regression else ("classifiers", "accuracy")
    scorer = PrivateScorer.of(default if scoring is None else scoring)
    if scorer.regression != regression:
        fitting = [repr(name) for name, each in METRICS.items() if each.regression == regression]
        raise ValueError(
            f"scoring must be a metric of {kinds}, which the search compares, got {scorer.name!r};"
            f" choose one of {', '.join(fitting)}"
        )
    return scorer


def _of_labels(scorer: PrivateScorer, learners: Sequence[Any]) -> Mapping[str, Any]:
    """Return the values of a search over classifiers: its metric, and the declared labels."""
    if scorer.labels is not None:
        raise ValueError(
            "scoring must have labels=None in a search, where they are the classes of the estimator,"
            f" got {brief(scorer.labels)}"
        )
    given = [declared_classes(each.classes, getattr(each, "domain", None)) for each in learners]
    if len({None if each is None else tuple(check_classes(each).tolist()) for each in given}) > 1:
        raise ValueError("param_grid must give all candidates the same classes")
    return {"scorer": scorer, "classes": given[0]}


def _of_targets(scorer: PrivateScorer, learners: Sequence[Any]) -> Mapping[str, Any]:
    """Return the values of a search over regressors: its metric, and the range of errors."""
    if scorer.target_range is None:
        ranges = [TargetRange.of(each.target_range) for each in learners]
        if len(set(ranges)) > 1:
            raise ValueError(
                "param_grid must give all candidates the same target_range, or scoring must have the one"
                f" on which all are compared: PrivateScorer({scorer.name!r}, target_range=(low, high))"
            )
        scorer = replace(scorer, target_range=(ranges[0].low, ranges[0].high))
    return {"scorer": scorer, "classes": None, "target": TargetRange.of(scorer.target_range, clip=True)}
