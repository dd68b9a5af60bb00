"""A private classifier of two labels whose decision threshold is tuned on held-out records: a search with a
single candidate, whose table has numbers of records by label and by bin of the probability.
"""

from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import ShuffleSplit
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import AUTO, check_choice, check_count, check_number
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateClassifier
from dplearn.estimator.importances import HasImportances
from dplearn.estimator.recipe import FitRecipe
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit import TABLE
from dplearn.kernels import decay_ratio, nearest_shares
from dplearn.model_selection.candidates import (
    SearchFacts,
    Trial,
    check_candidate,
    cost_of,
    last_step,
    steps_assumed,
    with_assumptions,
)
from dplearn.model_selection.metrics import FARTHEST, PrivateScorer, place_of_positive
from dplearn.model_selection.search import SearchFit
from dplearn.model_selection.tables import BinnedScores, Floats64, NoisyTable, TableNoise, noisy_table
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.pipelines import fitted_together
from dplearn.privacy.plan import Plan, hidden
from dplearn.table import LabelledRows
from dplearn.table.targets import check_classes, check_two_labels, declared_classes, labels_assumed

_SPLIT = "the split into training and held-out records depends only on the records' positions"
_ALONE = "the fitted classifier predicts for each record by itself"
_MOST_THRESHOLDS = 1000

Score = Callable[[Floats64, Floats64, Floats64, Floats64], Floats64]


def _balanced_accuracy(tp: Floats64, fp: Floats64, fn: Floats64, tn: Floats64) -> Floats64:
    return (_ratio(tp, tp + fn) + _ratio(tn, tn + fp)) / 2


def _accuracy(tp: Floats64, fp: Floats64, fn: Floats64, tn: Floats64) -> Floats64:
    return _ratio(tp + tn, tp + fp + fn + tn)


def _f1(tp: Floats64, fp: Floats64, fn: Floats64, tn: Floats64) -> Floats64:  # noqa: ARG001
    return _ratio(2 * tp, 2 * tp + fp + fn)


def _ratio(some: Floats64, whole: Floats64) -> Floats64:
    return np.asarray(some / np.maximum(whole, 1e-9))


_SCORES: dict[str, Score] = {"accuracy": _accuracy, "balanced_accuracy": _balanced_accuracy, "f1": _f1}
_OF_ONE_LABEL = {"f1"}  # scores that are another number if the other label is the positive one


@dataclass(frozen=True)
class TunedThresholdPlan(Plan):
    """The plan of a fit of `PrivateTunedThresholdClassifier`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    n_samples, n_held_out : int
        Number of records, and of those on which the threshold is tuned.
    n_thresholds : int
        Number of thresholds that are compared.
    fit, counting : ApproxDP
        Budget of the fit of the classifier, and of the counts. No record is in both, so that the guarantee is
        the greater of the two and not their sum.
    deviation : float
        Standard deviation of the noise in each of the 2 * (n_thresholds + 1) counts.
    """

    guarantee: ApproxDP
    n_samples: int
    n_held_out: int
    n_thresholds: int
    fit: ApproxDP
    counting: ApproxDP
    deviation: float = 0.0
    thresholds: Any = hidden()
    params: Any = hidden()
    public: Any = hidden()

    error_name = "deviation"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the classifier."""
        return self.public.notes


@documented_by()
@learns_schema(parameter="estimator__domain")
@dataclass(eq=False, repr=False)
class PrivateTunedThresholdClassifier(HasImportances, MetaEstimatorMixin, PrivateClassifier):
    """Tune the threshold of a private classifier of two labels on held-out records, within one budget.

    Drop-in: any number of predictions costs no privacy. It follows scikit-learn's TunedThresholdClassifierCV
    with one split and without a refit.

    Parameters
    ----------
    estimator : PrivateClassifier or Pipeline
        As for `PrivateSearchCV`, with `predict_proba`. `epsilon` and `delta` are set by this class.
    scoring : {"balanced_accuracy", "accuracy", "f1"}, default="balanced_accuracy"
        The score that the threshold maximises, computed from noisy counts.
    thresholds : int or array-like of float, default=20
        Public. The thresholds that are compared, in (0, 1): these, or so many (from 1 to 1,000) with log-odds
        in equal steps from -7 to 7, which suits rare labels. Each further threshold adds noise to the scores
        of all.
    cv : None, float or splitter, default=None
        Public. The held-out records: None, a fifth of the positions, publicly drawn; a float in (0, 1),
        another share; or a splitter by positions with one split, as for `PrivateSearchCV`.
    pos_label : label, optional
        Public. The label that is predicted from the threshold on. None: the second of `classes_`, which for
        "f1" must be 1 or True, of the labels 0 and 1, -1 and 1, or booleans; for others it must be given.
    epsilon : float, default=1.0
        Privacy budget of the whole fit, the threshold included; positive. A float stands for its shortest
        decimal: 0.1 is 1/10.
    delta : float or "auto", default="auto"
        Delta of the whole fit, if `estimator` has a `delta`; otherwise delta is 0. "auto": that of
        `estimator`.
    stateless : collection of str, default=()
        As for `PrivateSearchCV`.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, once for the whole fit, before any draw.
    random_state
        ... The `random_state` of `estimator` is not used.

    Attributes
    ----------
    estimator_ : PrivateClassifier or Pipeline
        Released. The classifier, fitted on the records that are not held out.
    best_threshold_ : float
        Released. The selected threshold.
    best_score_ : float
        Released. Its noisy score on the held-out records. Selection biases it upwards.
    cv_results_ : dict of str to ndarray
        Released. `thresholds`, and the noisy `scores` at each.
    counts_ : ndarray of int64 of shape (2, n_thresholds + 1)
        Released. The noisy numbers of held-out records, by negative or positive label and by the number of
        thresholds that the probability of the positive label reaches. A number may be negative.
    pos_label_ : label
        Public. The label that is predicted from the threshold on.
    classes_ : ndarray of shape (2,)
        Public. The labels, sorted: declared for `estimator`, or assumed public.
    guarantee_ : ApproxDP
        Public. The guarantee of the whole fit, for all published values, with its assumptions.
    schema_ : Product
        Released. The learned domain of a record, if the `domain` of `estimator` is "learn".
    feature_importances_, n_features_in_, feature_names_in_

    Notes
    -----
    **Privacy.** (epsilon, delta) for one replaced record; the number of records is public. Proof: a record
    is held out or not by its position. One that is not held out changes the fit, whose guarantee is the
    budget; given the fitted classifier, it changes no count. One that is held out changes no fit; it leaves
    one count and enters another, so that the counts move by at most 2 in the L1 norm, and the noise is
    discrete Laplace for sensitivity 2 and the whole epsilon. Threshold and scores are functions of the noisy
    counts.

    **Accuracy.** `plan(n_samples).deviation` is the standard deviation of the noise in each count. Of a label
    with fewer held-out records than about five times that, no threshold can be tuned.

    **Source.** Dwork, McSherry, Nissim and Smith (2006) for the noise and for disjoint records (there:
    histograms); scikit-learn's TunedThresholdClassifierCV for the parameters.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from dplearn import StatisticalQueryLogisticRegression
    >>> from dplearn.model_selection import PrivateTunedThresholdClassifier
    >>> X, y = make_classification(20_000, 6, n_informative=4, weights=[0.98], class_sep=1.5, random_state=0)
    >>> model = StatisticalQueryLogisticRegression(classes=[0, 1])
    >>> tuned = PrivateTunedThresholdClassifier(model, epsilon=2.0, random_state=0).fit(X, y)
    >>> 0.005 < tuned.best_threshold_ < 0.1, tuned.guarantee_.epsilon
    (True, Fraction(2, 1))
    """

    estimator: Any
    _: KW_ONLY
    scoring: str = "balanced_accuracy"
    thresholds: Any = 20
    cv: Any = None
    pos_label: Any = None
    epsilon: float = 1.0
    delta: float | str = AUTO
    stateless: Collection[str] = ()
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def plan(self, n_samples: int) -> TunedThresholdPlan:
        """Return the plan of a fit: its guarantee, its budgets and the noise in the counts, without data."""
        fit = self._recipe(self.random_state is not None)
        return fit.planned(fit.table(check_count("n_samples", n_samples, low=2)))

    def _recipe(self, reproducible: bool) -> "TunedThresholdFit":
        check_choice("scoring", self.scoring, tuple(_SCORES))
        check_candidate(self.estimator, self.stateless, types=["classifier"])
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator must have a method predict_proba, got {type(last_step(self.estimator)).__name__}"
            )
        last = last_step(self.estimator)
        classes = declared_classes(last.classes, getattr(last, "domain", None))
        fit = TunedThresholdFit(
            self,
            cost_of([self.estimator], self.epsilon, self.delta, reproducible=reproducible),
            scorer=PrivateScorer("roc_auc"),
            candidates=[clone(self.estimator)],
            classes=classes,
            declared=last.classes,
            scoring=self.scoring,
            thresholds=_checked_thresholds(self.thresholds),
            cv=_checked_split(self.cv),
            pos_label=self.pos_label,
            sparse=get_tags(self.estimator).input_tags.sparse,
            stateless=self.stateless,
        )
        if classes is not None:
            _positive(fit, check_classes(classes))
        return fit

    def _publish(self, outcome: tuple[Any, NoisyTable], plan: TunedThresholdPlan) -> None:
        fitted, counts = outcome[0], outcome[1].matrix[0]
        scores = _scores(counts, _SCORES[plan.params.scoring])
        best = int(np.argmax(scores))
        self.classes_ = plan.public.classes
        self.counts_ = counts
        self.cv_results_ = {"thresholds": plan.thresholds.copy(), "scores": scores}
        self.best_threshold_, self.best_score_ = float(plan.thresholds[best]), float(scores[best])
        self.pos_label_ = self.classes_[_positive(plan.params, self.classes_)]
        last_step(fitted).set_params(classes=plan.params.declared)
        self.estimator_ = fitted_together(fitted, self.guarantee_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the positive label where its probability reaches `best_threshold_`; costs no privacy."""
        check_is_fitted(self)
        place = int(self.classes_[1] == self.pos_label_)
        reached = self.predict_proba(X)[:, place] >= self.best_threshold_
        return self.classes_[np.where(reached, place, 1 - place)]

    def predict_proba(self, X: Any) -> Floats64:
        """Return the probabilities that the fitted classifier predicts; costs no privacy."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    _two_labels = "a threshold"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = replace(get_tags(self.estimator).input_tags)
        return tags


class TunedThresholdFit(SearchFit):
    """The fit of `PrivateTunedThresholdClassifier`."""

    def table(self, n: int) -> SearchFacts:
        cv = ShuffleSplit(1, test_size=self.cv, random_state=0) if isinstance(self.cv, float) else self.cv
        table = SearchFacts.of(cv, n)
        if len(table.splits) != 1 or not table.exposure.apart:
            raise ValueError(f"cv must give one split, got {len(table.splits)} of {brief(self.cv)}")
        return table

    def read_targets(self, y: Any, n: int) -> tuple[Any, NDArray[Any]]:
        classes, labels = super().read_targets(y, n)
        _positive(self, classes)
        return classes, labels

    def read_by_candidates(self, facts: SearchFacts, records: LabelledRows) -> SearchFacts:
        plan = self.plan(facts)
        found = self.summarize(records, plan).read(plan.fit, None)
        assert found is not None  # only a search over Gaussian fits finds nothing
        return replace(facts, guarantees=found[0], notes=found[1])

    def plan(self, facts: SearchFacts) -> TunedThresholdPlan:  # type: ignore[override]
        own = [*TABLE, labels_assumed(self.classes), _SPLIT, _ALONE]
        counting = replace(self.cost, delta=Fraction(0))
        if float(decay_ratio(counting.epsilon / 2)) == 1:
            raise ValueError(
                f"epsilon must be greater: with {float(counting.epsilon):g} the noise is too wide to be drawn"
            )
        return TunedThresholdPlan(
            with_assumptions(
                self.cost, facts.guarantees, [*own, *steps_assumed(self.candidates, self.stateless)]
            ),
            n_samples=facts.n_samples,
            n_held_out=facts.tested,
            n_thresholds=len(self.thresholds),
            fit=self.cost,
            counting=counting,
            deviation=TableNoise.of(counting, l1=2, squared_l2=2).deviation,
            thresholds=self.thresholds,
            params=self,
            public=facts,
        )

    def run(self, summary: Trial, plan: TunedThresholdPlan, dice: Dice) -> tuple[Any, NoisyTable]:  # type: ignore[override]
        classes, thresholds = plan.public.classes, tuple(plan.thresholds.tolist())
        place = _positive(self, classes)
        statistic = BinnedScores(tuple(classes.tolist()), (place,), thresholds, "predict_proba")
        counts, fitted = summary.counted(0, statistic, plan.fit, dice)
        return fitted, noisy_table(counts, plan.n_held_out, statistic, statistic.noise(plan.counting), dice)


def _checked_split(cv: Any) -> Any:
    """Return the parameter `cv`; a share as a float."""
    if cv is None or not isinstance(cv, (int, float, Fraction)) or isinstance(cv, bool):
        return cv
    return float(check_number("cv", cv, above=0, below=1))


def _checked_thresholds(thresholds: Any) -> Floats64:
    if isinstance(thresholds, str) or not np.ndim(thresholds):
        count = check_count("thresholds", thresholds, low=1, high=_MOST_THRESHOLDS)
        return np.asarray(expit(np.linspace(-FARTHEST, FARTHEST, count) if count > 1 else np.zeros(1)))
    listed = list(thresholds)
    if not 0 < len(listed) <= _MOST_THRESHOLDS or np.ndim(thresholds) > 1:
        raise ValueError(
            f"thresholds must be a number of thresholds, or 1 to {_MOST_THRESHOLDS} of them, got"
            f" {brief(thresholds)}"
        )
    return np.unique([float(check_number("thresholds", each, above=0, below=1)) for each in listed])


def _positive(params: FitRecipe, classes: NDArray[Any]) -> int:
    """Return the place of the positive label among the two."""
    check_two_labels(classes, "a threshold")
    if params.pos_label is None and params.scoring not in _OF_ONE_LABEL:
        return 1
    return place_of_positive(params.scoring, params.pos_label, classes.tolist(), needed="pos_label=")


def _scores(counts: NDArray[np.int64], score: Score) -> Floats64:
    """Return the scores at the thresholds, of noisy counts projected to nonnegative ones of equal sums."""
    fitted = []
    for each in counts:
        total = max(float(each.sum()), 1.0)
        fitted.append(total * nearest_shares(each / total))
    below = [np.cumsum(each)[:-1] for each in fitted]
    (tn, fn), (negative, positive) = below, [each.sum() for each in fitted]
    return score(positive - fn, negative - tn, fn, tn)
