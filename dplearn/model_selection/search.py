"""Differentially private parameter search over candidate learners and pipelines, with a single budget."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import AUTO, check_bool, check_choice, check_count, check_number
from dplearn.chance import public_seed
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import ignores_float_errors
from dplearn.estimator.base import PrivateEstimator, refuse_parameters
from dplearn.estimator.fit_recipe import FitRecipe
from dplearn.estimator.public import Public
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit.relation import TABLE
from dplearn.model_selection.candidates import (
    check_candidate,
    last_step,
    named,
    private_steps,
    taken_on_trust,
)
from dplearn.model_selection.metrics import METRICS, PrivateScorer
from dplearn.model_selection.plan import METHODS, SearchPlan, SearchTable
from dplearn.model_selection.splits import Exposure, splits_by_position
from dplearn.model_selection.tasks import task_of
from dplearn.model_selection.trial import Choice, Trial, all_planned_gaussian
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.pipelines import fitted_together
from dplearn.records.reading import read_rows
from dplearn.records.rows import Examples

__all__ = ["PrivateSearchCV", "steps_assumed"]

_SPLITS = "the split into training and test records depends only on the records' positions"
_ALONE = "a fitted candidate predicts for each record by itself"


def _predicts_likelihoods(search: Any) -> bool:
    return hasattr(search.estimator, "predict_proba")


@learns_schema(parameter="estimator__domain")
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
    fits then adds up, and `dplearn.privacy.gaussian_stopping.gaussian_runs_delta` has the proof for random
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
    >>> from dplearn.learners.generic import ExponentialMechanismClassifier
    >>> from dplearn.model_selection import PrivateSearchCV
    >>> X = np.arange(4000)[:, None] % 100
    >>> y = X[:, 0] > 40
    >>> model = ExponentialMechanismClassifier(domain=IntegerRange(0, 99))
    >>> search = PrivateSearchCV(model, {"concept_class": ["stumps", "thresholds"]}, random_state=0).fit(X, y)
    >>> list(search.best_params_), search.guarantee_.epsilon, bool(search.score(X, y) > 0.9)
    (['concept_class'], Fraction(1, 1), True)
    """

    best_estimator_: Any

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        epsilon: float = 1.0,
        delta: float | str = AUTO,
        scoring: str | None = None,
        method: str = "auto",
        n_iter: int | None = None,
        concentration: int = 1,
        refit: bool = True,
        cv: Any = None,
        stateless: Collection[str] = (),
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.scoring = scoring
        self.method = method
        self.n_iter = n_iter
        self.concentration = concentration
        self.refit = refit
        self.cv = cv
        self.stateless = stateless
        self.ledger = ledger
        self.random_state = random_state

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
            self._most(candidates, reproducible),
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

    def _publish(self, outcome: Choice, plan: SearchPlan) -> None:
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

    def _most(self, candidates: Sequence[Any], reproducible: bool) -> ApproxDP:
        steps = [step for candidate in candidates for step in private_steps(candidate)]
        labels_only = any(getattr(step, "protects", "") == "labels" for step in steps)
        protects = "labels" if labels_only else "examples"
        deltas = [step.delta for step in steps if hasattr(step, "delta")]
        delta: Any = self.delta
        if delta == AUTO:
            delta = max((check_number("delta", each, low=0, below=1) for each in deltas), default=Fraction(0))
        epsilon = check_number("epsilon", self.epsilon, above=0)
        cost = ApproxDP(epsilon, delta, protects=protects, reproducible=reproducible)
        return cost if deltas else replace(cost, delta=Fraction(0))

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
        records = Examples(rows, values)
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

    def summarize(self, rows: Any, plan: SearchPlan) -> Trial:
        # An oracle of fits and counts: a replaced record moves a table by at most `exposure.tests` times the
        # sensitivity of its statistic.
        return Trial(rows, plan)

    def run(self, summary: Trial, plan: SearchPlan, dice: Dice) -> Choice:
        # The search: fits, counts and the selection. Then the last fit, of the selected candidate.
        choice = summary.choose(dice)
        if plan.refit is None:
            return choice
        return replace(choice, fitted=summary.refit(choice.index, plan.refit, dice))


def steps_assumed(candidates: Sequence[Any], stateless: Collection[str]) -> list[str]:
    """Return the assumptions about the steps of pipelines."""
    trusted = dict.fromkeys(name for each in candidates for name in taken_on_trust(each))
    return [
        *(f"step {name!r} learns nothing from the data" for name in sorted(named(stateless))),
        *(f"step {name!r} takes whatever it is given" for name in trusted),
    ]


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
