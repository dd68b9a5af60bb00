"""One private classifier for each of several labels of a record, within one privacy budget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import partial
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, MultiOutputMixin, clone, is_classifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._progress import watched
from dplearn._validation import check_count, check_number, shown
from dplearn.chance.dice import Dice
from dplearn.estimator.base import (
    ROUTED_PUBLIC,
    PrivateEstimator,
    SeveralOutputsClassifier,
    available_where,
    refuse_parameters,
)
from dplearn.estimator.isolation import learner_alone
from dplearn.estimator.on_released import offers
from dplearn.estimator.recipe import FitRecipe, OutputsFacts
from dplearn.fit import TABLE, begin, refuse_wrapped
from dplearn.learners.limits import least_of_outputs
from dplearn.learners.votes import OnlineEnsembleClassifier
from dplearn.privacy import ApproxDP, Composition, Event, PrivacyLedger
from dplearn.privacy.composition import basic, least_epsilon
from dplearn.privacy.held import held_by
from dplearn.privacy.plan import StatedPlan
from dplearn.privacy.shares import equal_shares
from dplearn.table import LabelledRows, count_of
from dplearn.table.features import read_rows
from dplearn.table.targets import (
    declared_classes,
    declared_sets,
    labels_assumed,
    n_outputs_of,
    read_outputs,
    sets_of_outputs,
)

_LEAST_DELTA = Fraction(1, 10**40)  # composition theorems are computed down to about this delta


@documented_by()
@dataclass(eq=False, repr=False)
class PrivateMultiOutputClassifier(MultiOutputMixin, MetaEstimatorMixin, SeveralOutputsClassifier):
    """Fit one private classifier for each of several labels of a record, within one privacy budget.

    Drop-in: any number of predictions costs no privacy. All classifiers have the same share of the budget,
    the greatest that a composition theorem allows.

    Parameters
    ----------
    estimator : PrivateClassifier
        The classifier, cloned for each output. Its predictions must be functions of the release of its fit.
        Its `epsilon`, its `delta` if it has one, and its `random_state` are set by this class. It must have
        no ledger and a trusted curator (`trust_model="central"`).
    epsilon : float, default=1.0
        Privacy budget of one fit, for all outputs together; positive. A float stands for its shortest
        decimal: 0.1 is 1/10.
    delta
        ... A positive delta increases the shares of many outputs; where it would not, no delta is spent. 0:
        pure differential privacy, and each classifier has an equal part of epsilon.
    classes : sequence, or sequence of sequences, optional
        All labels that can occur, known without looking at the data: one set for all outputs, or one for
        each. None: those that `estimator` declares, or else the labels that occur in `y`; the guarantee then
        assumes that the sets of labels are public.

    Attributes
    ----------
    estimators_ : list of PrivateClassifier
        Released. The fitted classifier of each output. Its `guarantee_` is its share of the budget, and
        holds if the others are not published.
    classes_ : list of ndarray of shape (n_classes,), or ndarray
        Public. The labels of each output, sorted; declared, or assumed to be public. Not a list if there
        is one output.
    n_outputs_ : int
        Public. The number of labels of a record.
    guarantee_
        ... For all outputs together.
    feature_importances_, n_features_in_, feature_names_in_

    See Also
    --------
    AdditiveClassifier : Several outputs by one fit, more accurate than by one classifier for each.
    ParityClassifier : Several parities at once, at the price of one.
    sklearn.multioutput.MultiOutputClassifier : Each output at the full price of `estimator`.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, with all its labels; if
    `estimator` protects labels, for all labels of one record. Proof: a replaced record replaces at most one
    record of each classifier's table, and the draws of the classifiers are independent, so the guarantee is
    that of the composition of their releases. Each release is analysed as zero-concentrated, as one of
    bounded range, or by its epsilon and delta, as its plan states before any draw; the composition of these
    events costs at most `epsilon` at `delta`, by the best theorem of `dplearn.privacy.Composition`.

    **Accuracy.** That of `estimator` with the share of the budget, for each output by itself: if each fails
    with probability at most beta, some of k outputs fails with probability at most k beta.

    **Source.** Bun, Nissim and Stemmer (2016), Observation 3.2, and with `X_public` Lemma 3.7, where public
    rows take the place of a sanitizer. There composition is basic or advanced.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn import PrivateMultiOutputClassifier
    >>> from dplearn.domains import IntegerRange
    >>> from dplearn.learners.rules.generic import ExponentialMechanismClassifier
    >>> X = np.arange(4000)[:, None] % 100
    >>> Y = X > np.array([20, 40, 60, 80])
    >>> learner = ExponentialMechanismClassifier("thresholds", domain=IntegerRange(0, 99))
    >>> model = PrivateMultiOutputClassifier(learner, epsilon=1.0, classes=[False, True], random_state=0)
    >>> model.fit(X, Y).predict(X).shape, bool(model.score(X, Y) > 0.8)
    ((4000, 4), True)
    >>> model.estimators_[0].guarantee_.epsilon, model.guarantee_.epsilon
    (Fraction(1, 4), Fraction(1, 1))
    """

    estimator: Any
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-6
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    __metadata_request__fit = ROUTED_PUBLIC

    @documented_by(SeveralOutputsClassifier.fit)
    def fit(
        self, X: Any, y: Any = None, X_public: Any = None, *, groups: Any = None, **fit_parameters: Any
    ) -> Self:
        """Fit one classifier to each output; the data are used for this one release and are not kept.

        Parameters
        ----------
        X_public : PublicData, optional
            Public rows, for all classifiers; only if the `fit` of `estimator` takes them.
        """
        refuse_parameters(self, fit_parameters)
        takes = X_public is None or "X_public" in signature(_checked(self.estimator).fit).parameters
        if not takes:
            raise TypeError(
                "X_public must be None for an estimator whose fit takes no public rows, got"
                f" {type(self.estimator).__name__}"
            )
        return self._fit_privately(X, y, X_public=X_public, groups=groups)

    def plan(self, n_samples: int, *, n_outputs: int = 1, **parameters: Any) -> StatedPlan:
        """Return the plan of a fit: its guarantee, the share of each output and its plan. No data is read.

        Parameters
        ----------
        **parameters
            Further parameters of the `plan` of `estimator`, such as n_features.

        Returns
        -------
        StatedPlan
            Of `guarantee`, for all outputs together, `n_samples` and `n_outputs`, and of

            - `share`, the guarantee of the classifier of the first output alone. All have the same budget;
              whether one spends delta may depend on its number of labels;
            - `estimator_plan`, the plan of this classifier;
            - `n_least`: no learner with this guarantee is accurate with fewer records: with probability at
              least 1 - beta, the errors of all outputs are at most alpha, where some concept decides the
              labels of each output; alpha and beta are those of `estimator_plan`, whose own `n_needed` is for
              each output by itself. See `theory.multi_label_lower_bound`. None: the plan has no alpha, or no
              such number is known for the class;
            - `n_least_agnostic`: the same where nothing decides the labels, and errors exceed those of best
              concepts by alpha. None also for classifiers that are not accurate for any labels.
        """
        n_samples = check_count("n_samples", n_samples, low=1)
        count = check_count("n_outputs", n_outputs, low=1)
        fit = self._recipe(self.random_state is not None)
        sets = [None] * count if fit.classes is None else sets_of_outputs(fit.classes, count)

        def planned(share: ApproxDP, place: int) -> _Fit:
            learner = _with_share(fit, share, sets[place], 0 if fit.cost.reproducible else None)
            return _Fit(
                learner, learner._recipe(fit.cost.reproducible), learner.plan(n_samples, **parameters)
            )

        alike = len({None if each is None else len(each) for each in sets}) == 1
        fits = _shared(fit.cost, count, planned, alike=alike)
        return fit.planned(MultiOutputFacts(n_samples, n_outputs=count, fits=fits))

    def _recipe(self, reproducible: bool) -> "MultiOutputFit":
        inner = _checked(self.estimator)
        if 0 < check_number("delta", self.delta, low=0, below=1) < _LEAST_DELTA:
            raise ValueError(f"delta must be 0, or at least 1e-40, got {shown(self.delta)}")
        owner, name = _owner_of_classes(inner)
        classes = self.classes
        if classes is None:
            classes = declared_classes(owner.classes, getattr(owner, "domain", None))
        fit = MultiOutputFit(
            self,
            self._cost(reproducible),
            inner=inner,
            classes=classes,
            name_of_classes=name,
            sparse=get_tags(inner).input_tags.sparse,
        )
        # The classifier's own checks; it protects labels, or records.
        for each in [None] if classes is None else declared_sets(classes):
            own = _with_share(fit, fit.cost, each, None)._recipe(reproducible)
            fit = fit.given(cost=replace(fit.cost, protects=own.cost.protects))
        return fit

    def _publish(self, outcome: list[Any], plan: StatedPlan) -> None:
        self.estimators_ = outcome
        sets = list(plan.public.sets)
        self.classes_ = sets if plan.public.many else sets[0]
        self.n_outputs_ = plan.n_outputs

    @available_where(offers("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Return the probabilities that the fitted classifiers predict; costs no privacy.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of n_outputs such arrays
        """
        check_is_fitted(self)
        likely = [each.predict_proba(X) for each in self.estimators_]
        return likely if isinstance(self.classes_, list) else likely[0]

    def _label_columns(self, X: Any) -> list[NDArray[Any]]:
        check_is_fitted(self)
        return [np.asarray(each.predict(X)) for each in self.estimators_]

    def _context(self) -> tuple[object, ...]:
        inner = self.estimator._context() if isinstance(self.estimator, PrivateEstimator) else ()
        return type(self.estimator).__name__, *inner, str(self.epsilon), str(self.delta)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = replace(inner.input_tags)
        tags.non_deterministic = inner.non_deterministic
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = True
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


class MultiOutputFit(FitRecipe):
    """The fit of `PrivateMultiOutputClassifier`."""

    def publish(self, learner: Any, facts: Any, outcome: Any, plan: Any) -> None:
        super().publish(learner, facts, outcome, plan)
        of_all = {name: getattr(plan.guarantee, name) for name in ("protects", "assumes")}
        for each in outcome:  # which was planned for records, where these may be groups of rows
            each.guarantee_ = replace(vars(each)["guarantee_"], **of_all)

    def cost_of(self, X: Any, y: Any) -> ApproxDP | None:  # noqa: ARG002 - y alone is of use
        """Return the cost of a fit; pure classifiers of few outputs spend no delta."""
        if y is None or self.inner.spends_delta:
            return self.cost
        few = _is_basic(self.cost, max(1, n_outputs_of(y)))
        return replace(self.cost, delta=Fraction(0)) if few else self.cost

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        rows = read_rows(reader, X, reset=True, sparse=self.sparse)
        n = count_of(rows)
        outputs = read_outputs(y, n, self.classes)
        records, count = LabelledRows(rows, outputs.codes), len(outputs.classes)
        reproducible = self.cost.reproducible
        seeds = self.stream().seeds(count) if reproducible else [None] * count

        def read(share: ApproxDP, place: int) -> _Fit:
            # The table is read again in the release, so that one encoded table is held at a time.
            labels = outputs.classes[place]
            learner = _with_share(self, share, None if self.classes is None else labels, seeds[place])
            own = learner._recipe(reproducible).given(fit_arguments=self.fit_arguments)
            ready = learner_alone(learner, lambda: begin(own, rows, labels[records.y[:, place]]))
            return _Fit(learner, own, ready.plan)

        public = MultiOutputFacts.of_rows(
            rows,
            reader,
            n_outputs=count,
            many=outputs.many,
            sets=tuple(outputs.classes),
            fits=_shared(self.cost, count, read),
        )
        return public, records

    def plan(self, facts: "MultiOutputFacts") -> StatedPlan:
        fits = facts.fits
        composed = Composition([fit.plan.event for fit in fits])
        pure = basic(composed, Fraction(0)) <= self.cost.epsilon
        theirs = [text for fit in fits for text in fit.plan.guarantee.assumes if text != labels_assumed(())]
        assumes = tuple(dict.fromkeys([*TABLE, labels_assumed(self.classes), *theirs]))
        delta = Fraction(0) if pure else self.cost.delta
        return StatedPlan(
            replace(self.cost, delta=delta, assumes=assumes),
            title="MultiOutputPlan",
            states={
                "n_samples": facts.n_samples,
                "n_outputs": facts.n_outputs,
                "share": fits[0].plan.guarantee,
                "estimator_plan": fits[0].plan,
            },
            least={
                "n_least": partial(_least, fits, "task"),
                "n_least_agnostic": partial(_least, fits, "agnostic_task"),
            },
            keeps={"fits": fits},
            notes={
                "n_least": "no learner of all outputs with this guarantee with fewer",
                "n_least_agnostic": "the same, for labels that nothing decides",
            },
            warns=tuple(dict.fromkeys(text for fit in fits for text in fit.plan.warnings)),
            public=facts,
        )

    def run(self, summary: LabelledRows, plan: StatedPlan, dice: Dice) -> list[Any]:
        # One replaced record replaces one record of each output's table; each release has its own draws.
        released = []
        for place, fit in enumerate(watched(plan.fits, "Fitting outputs")):
            learner = clone(fit.learner)
            labels = plan.public.sets[place][summary.y[:, place]]
            released.append(learner_alone(learner, partial(_released, learner, summary.X, labels, fit, dice)))
        return released

    def late_warnings(self, learner: Any, plan: StatedPlan) -> tuple[str, ...]:
        given = [
            text
            for model, fit in zip(learner.estimators_, plan.fits, strict=True)
            for text in fit.recipe.late_warnings(model, fit.plan)
        ]
        return tuple(dict.fromkeys(given))


def _least(fits: "Sequence[_Fit]", task: str, guarantee: ApproxDP) -> int | None:
    """Return a lower bound for learners of all outputs; None for plans without such a task."""
    tasks = [getattr(fit.plan, task, None) for fit in fits]
    if not any(tasks):
        return None
    return least_of_outputs(guarantee, tasks, alpha=fits[0].plan.alpha, beta=fits[0].plan.beta)


@dataclass(frozen=True)
class MultiOutputFacts(OutputsFacts):
    """The public values of a table with several labels a record, and the planned fit of each."""

    sets: tuple[NDArray[Any], ...] = ()
    fits: "tuple[_Fit, ...]" = ()


@dataclass(frozen=True, repr=False)
class _Fit:
    """The planned fit of one output: an unfitted classifier, its recipe and its plan."""

    learner: Any
    recipe: Any
    plan: Any


def _released(learner: Any, X: Any, labels: NDArray[Any], fit: _Fit, dice: Dice) -> Any:
    """Return the classifier of one output after its planned fit."""
    ready = begin(fit.recipe, X, labels)
    assert ready.plan.guarantee == fit.plan.guarantee  # what has been charged
    learner._take(ready.done(dice))
    return learner


def _checked(estimator: Any) -> Any:
    """Return an unfitted copy of a classifier; raise TypeError or ValueError if it cannot be wrapped."""
    kind = type(estimator).__name__
    if (
        not (isinstance(estimator, PrivateEstimator) and is_classifier(estimator))
        or "epsilon" not in estimator.get_params(deep=False)
        or _owner_of_classes(estimator) is None
    ):
        raise TypeError(
            "estimator must be a private classifier of dplearn with the parameters epsilon and classes, got"
            f" {kind}"
        )
    held = list(held_by(estimator))
    private = (each for each in held if isinstance(each, PrivateEstimator))
    refuse_wrapped("PrivateMultiOutputClassifier", private)
    if any(isinstance(each, PrivateMultiOutputClassifier) for each in held):
        raise TypeError(f"estimator must be a classifier of one label, got {kind}, which is of several")
    if any(isinstance(each, OnlineEnsembleClassifier) for each in held):
        raise TypeError(
            "estimator must be a classifier whose predictions are functions of its fit's release, got"
            f" {kind}, whose predictions spend a budget: KnowledgeTransferClassifier trains a student"
        )
    if any(isinstance(each, PrivacyLedger) for each in held):
        raise ValueError(
            f"estimator must have ledger=None, got {kind} with a ledger: pass the ledger to"
            " PrivateMultiOutputClassifier, which charges it once for all outputs"
        )
    if any(map(_is_local, held)):
        raise ValueError(
            f"estimator must have trust_model='central', got {kind} with 'local': each record would report"
            " once for each output"
        )
    if estimator.needs_public_rows:
        raise ValueError(
            f"estimator must be one that needs no public rows, got {kind}, which needs X_public;"
            " SyntheticDataClassifier needs no public rows"
        )
    return clone(estimator)


def _owner_of_classes(estimator: Any) -> Any:
    """Return the estimator with the parameter `classes`, and the name for `set_params`; None without one. Of
    a search, it is the searched classifier, or the last step of the searched pipeline.
    """
    name = ""
    while hasattr(estimator, "get_params"):
        parameters = estimator.get_params(deep=False)
        if "classes" in parameters:
            return estimator, f"{name}classes"
        step = (
            parameters["steps"][-1] if parameters.get("steps") else ("estimator", parameters.get("estimator"))
        )
        name, estimator = f"{name}{step[0]}__", step[1]
    return None


def _is_local(held: Any) -> bool:
    """Return whether an object is a learner without a trusted curator, or a grid of parameters with one."""
    if isinstance(held, Mapping):
        grids = [value for name, value in held.items() if str(name).endswith("trust_model")]
        return any("local" in grid for grid in grids if isinstance(grid, Sequence))
    return isinstance(held, PrivateEstimator) and getattr(held, "trust_model", "") == "local"


def _with_share(params: FitRecipe, share: ApproxDP, classes: Any, seed: int | None) -> Any:
    """Return an unfitted classifier of one output with a share of the budget."""
    given: dict[str, Any] = {"epsilon": share.epsilon, "random_state": seed}
    if params.inner.spends_delta:
        given["delta"] = share.delta
    if classes is not None:
        given[params.name_of_classes] = list(classes)
    return clone(params.inner).set_params(**given)


def _is_basic(cost: ApproxDP, k: int) -> bool:
    """Return whether no theorem gives pure releases more than an equal part of epsilon."""
    # A share with the whole delta is for releases with a rho or a mu^2.
    pure = [share for share in equal_shares(cost, k) if share.delta < cost.delta]
    return all(share.epsilon <= cost.epsilon / k for share in pure)


def _shared(
    cost: ApproxDP, count: int, fit: Callable[[ApproxDP, int], _Fit], *, alike: bool = False
) -> tuple[_Fit, ...]:
    """Return fits with the greatest share for which all releases together cost at most the budget."""
    for share in equal_shares(cost, count):
        first = fit(share, 0)
        if not _costs_at_most(cost, [first.plan.event] * count):
            continue
        fits = [first] * count if alike else [first, *(fit(share, place) for place in range(1, count))]
        if _costs_at_most(cost, [each.plan.event for each in fits]):
            return tuple(fits)
    raise ValueError("estimator must cost at most its parameters epsilon and delta, got one that costs more")


def _costs_at_most(cost: ApproxDP, events: Sequence[Event]) -> bool:
    """Return whether the best composition theorem proves a budget."""
    return least_epsilon(Composition(events), cost.delta, cost.epsilon) <= cost.epsilon
