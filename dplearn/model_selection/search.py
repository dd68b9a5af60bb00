"""A search for good parameters that is private as a whole: what was tried, what was chosen, how good it is.

>>> import numpy as np
>>> from dplearn.domains import IntegerRange
>>> from dplearn.learners.generic import ExponentialMechanismClassifier
>>> X = np.arange(4000)[:, None] % 100
>>> y = X[:, 0] > 40
>>> model = ExponentialMechanismClassifier(domain=IntegerRange(0, 99))
>>> search = PrivateSearchCV(model, {"concept_class": ["stumps", "thresholds"]}, random_state=0).fit(X, y)
>>> list(search.best_params_), search.guarantee_.epsilon, bool(search.score(X, y) > 0.9)
(['concept_class'], Fraction(1, 1), True)
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import AUTO, check_choice, check_count, check_number
from dplearn.chance import public_seed
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import ignores_float_errors
from dplearn.estimator.base import PrivateClassifier
from dplearn.estimator.stages import Params, Public, Table
from dplearn.model_selection.candidates import (
    check_candidate,
    last_step,
    named,
    private_steps,
    taken_on_trust,
)
from dplearn.model_selection.plan import METHODS, SearchPlan, SearchTable
from dplearn.model_selection.splits import Exposure, splits_by_position
from dplearn.model_selection.trial import Choice, Trial
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.pipelines import fitted_together
from dplearn.records.reading import (
    TABLE,
    check_classes,
    declared_classes,
    labels_assumed,
    read_labels,
    read_rows,
)
from dplearn.records.rows import Examples

__all__ = ["PrivateSearchCV"]

_SPLITS = "which records train and which test depends on their places alone"
_ALONE = "a fitted candidate predicts for each record by itself"


def _predicts_likelihoods(search: Any) -> bool:
    return hasattr(search.estimator, "predict_proba")


class PrivateSearchCV(MetaEstimatorMixin, PrivateClassifier):
    """Try the candidates of a grid on held-out records, and keep the best, all within one budget.

    Parameters
    ----------
    estimator : PrivateClassifier or Pipeline
        What is fitted: a classifier of dplearn that releases all it predicts by when it is fitted, or a
        pipeline that ends in one and whose other steps are private too. Its own `epsilon` and `delta` are not
        used but where several steps share a budget: then as their epsilons are to each other. It has no
        ledger of its own.
    param_grid : dict or list of dicts
        Names of parameters, with the values to try; as for scikit-learn's GridSearchCV.
    epsilon : float, default=1.0
        What the whole search spends, the last fit included.
    delta : float or "auto", default="auto"
        Likewise, where `estimator` has a `delta`; nothing is spent of it where it has none. "auto": the
        largest `delta` of any candidate.
    scoring : {None, "accuracy"}, default=None
        Candidates are judged by how many labels they predict right: one record moves that by one. What one
        record does to other scores depends on the rest.
    method : {"auto", "permute_and_flip", "random_stopping"}, default="auto"
        How the best is found. "permute_and_flip" fits every candidate, each with its share of the budget, and
        selects one by noisy counts of errors. "random_stopping" fits candidates drawn at random, a random
        number of times, each with a third of the budget however many candidates there are, and keeps the run
        of the fewest noisy errors. "auto" takes the one that leaves more for each fit.
    n_iter : int, optional
        With random stopping, the largest number of runs; 4 for each candidate if left out.
    concentration : int, default=1
        With random stopping: larger ones make few runs less likely, and each fit gets one part of
        2 + `concentration`. With 1 all numbers of runs up to `n_iter` are equally likely.
    refit : bool, default=True
        Whether the candidate chosen is fitted anew on all records, with half of the budget. If not, the
        search has all of it, and what is kept is the fit on the training records, if there is one split.
    cv : None, int or splitter, default=None
        Which records train and which test. None: a fifth of them tests, drawn by their places and not by
        their values. An int: so many folds of successive records; each record then trains in all but one, and
        each fit has that much less to spend. Or scikit-learn's KFold, PredefinedSplit, RepeatedKFold,
        ShuffleSplit or TimeSeriesSplit. Folds that look at labels are refused.
    stateless : collection of str, default=()
        Names of steps of a pipeline that you know to learn nothing from any value; see
        `dplearn.privacy.pipeline_guarantee`.
    ledger : PrivacyLedger, optional
        The budget that each search is charged to, once and whole.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the search repeatable, for tests only: the
        guarantee then says so. That of `estimator` is not used.

    Attributes
    ----------
    best_params_ : dict
        Released. The parameters chosen.
    best_index_ : int
        Released. Their place in `cv_results_`.
    best_score_ : float
        Released. Share of correct predictions on held-out records, with noise, from 0 to 1. That of a best
        one is likely to be too high; for a number to report take `private_score` on other records.
    best_estimator_ : PrivateClassifier or Pipeline
        Released. The candidate chosen, fitted; there is none with `refit=False` and several splits.
    cv_results_ : dict of str to ndarray or list
        Released. `params` and `param_<name>` list the candidates; `mean_test_score` and `rank_test_score`
        hold numbers of the chosen one, and NaN and 2 for those of which nothing is released.
    method_ : str
        Public. How the best was found.
    budgets_ : dict of str to ApproxDP
        Public. What each fit of a candidate may spend, "fit", what is spent on errors, "scoring", and, unless
        `refit` is False, what the last fit spends, "refit".
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted: declared for `estimator`, or assumed public.
    guarantee_ : ApproxDP
        Public. What the whole search guarantees, with all it published, and on what assumptions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    private_score : The accuracy of one fitted classifier, with its confidence interval.

    Notes
    -----
    **Privacy.** (epsilon, delta) for one replaced record; the number of records is public. Proof in
    `SearchPlan` and `RandomStopping`.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** `plan` tells what each fit may spend, how far noisy errors may be off, and how likely a
    candidate is never tried.

    **Source.** McKenna and Sheldon (2020) for permute-and-flip; Liu and Talwar (2019) and Papernot and
    Steinke (2022) for random stopping, with other numbers of runs: see `RandomStopping`.
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

    def plan(self, n_samples: int, *, beta: float = 0.05) -> "SearchPlan":
        """Return what a search would guarantee, and what it would spend on what, without any data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        beta : float, default=0.05
            Probability with which noisy errors may be further off.
        """
        n = check_count("n_samples", n_samples, low=2)
        params = self._params(self.random_state is not None)
        return self._plan(params, self._table(params, n), beta=beta)

    def _params(self, reproducible: bool) -> Params:
        candidates = self._candidates()
        return Params(
            self._most(candidates, reproducible),
            candidates=candidates,
            classes=self._declared_classes(candidates),
            method=self.method,
            refit=bool(self.refit),
            n_iter=self.n_iter,
            concentration=self.concentration,
            cv=self.cv,
            declared=last_step(self.estimator).classes,
            grid=list(ParameterGrid(self.param_grid)),
            random_state=self.random_state,
            sparse=get_tags(self.estimator).input_tags.sparse,
            stateless=self.stateless,
        )

    def _table(self, params: Params, n: int) -> SearchTable:
        splits = splits_by_position(params.cv, n)
        return SearchTable(n, splits=splits, exposure=Exposure.of(splits, n))

    def _read(self, X: Any, y: Any, params: Params) -> Table:
        rows = read_rows(self, X, reset=True, sparse=params.sparse)
        table = self._table(params, rows.shape[0])
        classes, codes = read_labels(y, table.n_samples, params.classes)
        for candidate in params.candidates:
            last_step(candidate).set_params(classes=list(classes))  # whatever labels train
        seed = public_seed(params.random_state, type(self).__name__) if params.cost.reproducible else None
        public = replace(table, n_features=rows.shape[1], classes=classes, seed=seed)
        records = Examples(rows, classes[codes])
        guarantees, notes = Trial(records, self._plan(params, public)).read_all()
        return Table(replace(public, guarantees=guarantees, notes=notes), records)

    def _plan(self, params: Params, public: Public, *, beta: Any = 0.05) -> SearchPlan:
        assert isinstance(public, SearchTable)
        steps = _of_steps(params.candidates, params.stateless)
        own = [*TABLE, labels_assumed(params.classes), _SPLITS, _ALONE, *steps]
        return SearchPlan.of(params, public, assumes=own, beta=beta)

    def _summarize(self, table: Table, plan: SearchPlan) -> Trial:
        # An oracle of fits and error counts: a replaced record moves each count by at most `exposure.tests`.
        return Trial(table.rows, plan)

    def _release(self, summary: Trial, plan: SearchPlan, dice: Dice) -> Choice:
        # Fit, count errors and release, again and again; then fit what was chosen.
        choice = summary.choose(dice)
        if plan.refit is None:
            return choice
        return replace(choice, fitted=summary.refit(choice.index, plan.refit, dice))

    def _publish(self, outcome: Choice, plan: SearchPlan) -> None:
        index, kept = outcome.index, outcome.fitted
        tested = sum(len(test) for _, test in plan.public.splits)
        score = 1 - outcome.errors / tested
        params = plan.params.grid
        self.classes_, self.guarantee_, self.method_ = plan.public.classes, plan.guarantee, plan.method
        spent = {"fit": plan.fit, "scoring": plan.scoring, "refit": plan.refit}
        self.budgets_ = {name: each for name, each in spent.items() if each is not None}
        self.best_index_, self.best_params_, self.best_score_ = index, params[index], score
        self.cv_results_ = _results(params, index, score)
        if kept is not None:
            last_step(kept).set_params(classes=plan.params.declared)
            self.best_estimator_ = fitted_together(kept, self.guarantee_)  # chosen by what all of it cost

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels by the best candidate; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `estimator`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of `classes_`.
        """
        labels: NDArray[Any] = self._best().predict(X)
        return labels

    @available_if(_predicts_likelihoods)  # type: ignore[untyped-decorator]
    @ignores_float_errors
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return what the best candidate gives for probabilities.

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

    def _best(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "there is no best_estimator_ with refit=False and several splits: fit one with best_params_"
            )
        return self.best_estimator_

    def _candidates(self) -> list[Any]:
        """Return one unfitted copy for each member of the grid, once all that is public is checked."""
        check_choice("method", self.method, METHODS)
        if self.scoring not in (None, "accuracy"):
            raise ValueError(
                f"scoring must be None or 'accuracy', got {self.scoring!r}: what one record does to another"
                " score depends on the other records"
            )
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

    def _declared_classes(self, candidates: Sequence[Any]) -> Sequence[Any] | None:
        """Return the labels that were declared, which all candidates must agree on."""
        last = [last_step(candidate) for candidate in candidates]
        given = [declared_classes(each.classes, getattr(each, "domain", None)) for each in last]
        sets = [None if each is None else tuple(check_classes(each).tolist()) for each in given]
        if len(set(sets)) > 1:
            raise ValueError("param_grid must leave all candidates with the same classes")
        return given[0]

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
        tags.input_tags = replace(inner.input_tags)
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def _of_steps(candidates: Sequence[Any], stateless: Collection[str]) -> list[str]:
    """Return what is assumed of the steps of pipelines."""
    trusted = dict.fromkeys(name for each in candidates for name in taken_on_trust(each))
    return [
        *(f"step {name!r} learns nothing from the data" for name in sorted(named(stateless))),
        *(f"step {name!r} takes whatever it is given" for name in trusted),
    ]


def _check_searched(name: str, estimator: Any) -> None:
    """Refuse parameters that the search sets, or that decide what is public."""
    own = name.rpartition("__")[2]
    alone = estimator is last_step(estimator)
    if own in ("ledger", "random_state", "classes") or (own in ("epsilon", "delta") and alone):
        raise ValueError(f"param_grid must not hold {name!r}: the search sets it for all candidates alike")


def _results(params: list[dict[str, Any]], index: int, score: float) -> dict[str, Any]:
    """Return a table of the candidates, with what is released of them."""
    scores, ranks = np.full(len(params), np.nan), np.full(len(params), 2)
    scores[index], ranks[index] = score, 1
    table: dict[str, Any] = {}
    for name in sorted({name for each in params for name in each}):
        column = np.ma.MaskedArray(np.empty(len(params), dtype=object), mask=True)
        for place, each in enumerate(params):
            if name in each:
                column[place] = each[name]
        table[f"param_{name}"] = column
    return {**table, "params": params, "mean_test_score": scores, "rank_test_score": ranks}
