"""The estimators of additive models, and the recipes of their fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import AUTO, check_number, shown
from dplearn.domains import Floats
from dplearn.estimator import PrivateRegressor
from dplearn.estimator.base import PrivateEstimator, SeveralOutputsClassifier, available_where
from dplearn.estimator.isolation import native_threads
from dplearn.estimator.recipe import (
    FitFacts,
    OutputsFacts,
    QueryFit,
    planned_columns,
    planned_outputs,
)
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit import TABLE
from dplearn.fit.support import refused_pair
from dplearn.learners.additive.cells import Column
from dplearn.learners.additive.losses import (
    RESIDUAL_BITS,
    LogisticLoss,
    Loss,
    NumberLoss,
    OutputsLoss,
    SoftmaxLoss,
    SquaredLoss,
    weighted,
    weights_of,
)
from dplearn.learners.additive.model import AdditiveModel
from dplearn.learners.additive.plan import BINS, FINEST, AdditivePlan, Bits, additive_plan
from dplearn.learners.additive.poisson import PoissonLoss
from dplearn.learners.additive.steps import learn_additive
from dplearn.learners.bins import declared_columns, stacked, summed, with_unknown
from dplearn.learners.linear import check_class_weight, check_weighted_classes
from dplearn.privacy import PrivacyLedger
from dplearn.queries import LabelledRows, Oracle
from dplearn.queries.oracle import cost_of
from dplearn.table import Columns
from dplearn.table.features import as_product, read_features
from dplearn.table.targets import (
    TargetRange,
    declared_classes,
    declared_sets,
    label_columns,
    labels_assumed,
    read_outputs,
    read_target,
)

#: The losses of numbers, by name.
_LOSSES: dict[str, type[NumberLoss]] = {loss.name: loss for loss in (SquaredLoss, PoissonLoss)}

_NUMBERS = Floats()  # the assumed domain of each undeclared column
# A fit warns if residuals are less than so many standard deviations of the noise in the first shapes. For
# wages of 2,000 to 32,000 records, with target ranges of 1 to 10**10 times their greatest, R^2 is then mostly
# near 0 or negative.
_WITHIN_NOISE = 1.5


@dataclass(frozen=True, eq=False, repr=False)
class ColumnShape:
    """The released main effect of one column on the margin of a label, or on a predicted number.

    Attributes
    ----------
    name : str
        Public. The name of the column.
    column : Column
        Public. The cells of the column.
    effects : ndarray of float64 of shape (n_cells,), or (n_cells, n_classes) of more than two classes
        Released. The effect of a value in each cell, with mean 0 over the released masses.
    deviations : ndarray of float64, of the shape of `effects`
        Released. The estimated standard deviation of each effect, because of privacy noise and smoothing.
    masses : ndarray of float64 of shape (n_cells,)
        Released. The share of records in each cell, with privacy noise; equal numbers of a regression that is
        only a noisy mean.
    """

    name: str
    column: Column
    effects: NDArray[np.float64]
    deviations: NDArray[np.float64]
    masses: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"ColumnShape({self.name!r}, {len(self.masses)} cells)"

    @property
    def cells(self) -> tuple[str, ...]:
        """A description of each cell."""
        return self.column.described()

    @property
    def values(self) -> NDArray[np.float64] | None:
        """The least number of each cell, NaN for the cell of missing numbers; None for categories."""
        return self.column.values

    @property
    def importance(self) -> float:
        """The root mean square effect over all records."""
        squares = np.square(self.effects).reshape(len(self.masses), -1).mean(axis=1)
        return float(np.sqrt(self.masses @ squares))


def _of_one_output(model: Any) -> bool:
    return not isinstance(getattr(model, "classes_", None), list)


class _Additive(PrivateEstimator):
    """What classifiers and regressors share."""

    # The sizes of a fit; audits use smaller ones.
    _finest = FINEST  # bits of the grid of the rows
    _bits: Bits | None = None  # all bits; None: at most those of `_finest`, as many as noise allows
    _steps: int | None = None  # None: by the noise
    _bins = BINS

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Released. The `importance` of each of `shapes_`; with several outputs, the mean over them."""
        check_is_fitted(self)
        models = getattr(self, "estimators_", [self])
        return np.asarray(np.mean([[each.importance for each in model.shapes_] for model in models], axis=0))

    def _values(self, reproducible: bool) -> dict[str, Any]:
        """Return the checked parameters that classifiers and regressors share."""
        return {
            "cost": cost_of("central", self.epsilon, self.delta, reproducible=reproducible),
            "finest": self._finest,
            "bits": self._bits,
            "steps": self._steps,
            "bins": self._bins,
            "interactions": _checked_interactions(self.interactions),
        }

    def _publish_model(self, model: AdditiveModel, plan: AdditivePlan, unit: float, origin: float) -> None:
        """Set the attributes that classifiers and regressors share; margins are multiplied by `unit`."""
        self.noise_, self.domain_ = plan.noise, plan.domain
        self.intercept_ = origin + unit * model.intercept
        self.interactions_ = model.joint.scaled(unit) if model.joint else None
        self.shapes_ = [
            ColumnShape(
                name,
                column,
                _squeezed(unit * effects),
                _squeezed(unit * deviations),
                masses,
            )
            for name, column, effects, deviations, masses in zip(
                plan.domain.names, plan.columns, model.effects, model.deviations, model.masses, strict=True
            )
        ]

    @available_where(_of_one_output)
    def effects(self, X: Any) -> NDArray[np.float64]:
        """Return the effect of each column on each row's prediction; costs no privacy.

        The intercept plus a row's effects, plus the effect of its interactions if the model has them, is its
        margin, or in a regression its predicted number before that is clipped to the target range. A model of
        several outputs has no such method; its `estimators_` have one each. The effect of interactions is the
        rest: `model.decision_function(X) - model.intercept_ - model.effects(X).sum(axis=1)`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `predict`.

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_columns), or (..., n_classes) of more than two classes
            Columns are those of `shapes_`, in their order.
        """
        cells = self._cells(X)
        columns = zip(self.shapes_, cells.T, strict=True)
        return np.stack([with_unknown(shape.effects)[places] for shape, places in columns], axis=1)

    def _cells(self, X: Any) -> NDArray[np.int16]:
        """Return the cell of each column of each row, of shape (n, d); unknown: one past the last."""
        check_is_fitted(self)
        X = read_features(self, X, domain=self.domain_, reset=False)
        return stacked([shape.column for shape in self.shapes_], Columns(self.domain_.nearest(X)))

    def _sums(self, cells: NDArray[np.int16]) -> NDArray[np.float64]:
        """Return intercept plus effects and interactions of each row, of shape (n, k)."""
        total = summed(self.intercept_, [shape.effects for shape in self.shapes_], cells.T)
        return total + self.interactions_.margins(cells) if self.interactions_ else total

    def _variances(self, cells: NDArray[np.int16], unit: float) -> NDArray[np.float64]:
        """Return variances of rows' effects divided by `unit`, as of independent ones, of shape (n, k)."""
        squares = [np.square(shape.deviations / unit) for shape in self.shapes_]
        total = summed(np.zeros(len(self.intercept_)), squares, cells.T)
        return total + self.interactions_.scaled(1 / unit).variances(cells) if self.interactions_ else total

    def _declared(self) -> Any:
        return declared_columns(self.domain, _NUMBERS)


class AdditiveFit(QueryFit):
    """What the fits of classifiers and of regressors share."""

    counts_records = True

    def plan_with(
        self, facts: FitFacts, loss_of: Callable[[AdditivePlan], Loss], assumed: str, beta: Any
    ) -> AdditivePlan:
        """Return the plan with the loss of a plan of its sizes, and an assumption about the targets."""
        failure = check_number("beta", beta, above=0, below=1)
        domain = as_product(self.declared, facts.n_features, facts.names)
        assumes = (*TABLE, *domain.assumes, assumed)
        plan = additive_plan(self, facts, loss_of, domain, beta=failure)
        return replace(plan, guarantee=replace(plan.guarantee, assumes=assumes))

    def summarize(self, rows: Any, plan: AdditivePlan) -> LabelledRows:
        # One replaced record replaces one row of cells and one target.
        return LabelledRows(stacked(plan.columns, rows.X), rows.y)

    def learn(self, oracle: Oracle, plan: AdditivePlan) -> "_Outcome":
        with native_threads(None):  # the matrices are small, and more threads would wait for each other
            return _Outcome(learn_additive(oracle, plan), plan)


@documented_by()
@learns_schema()
@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveClassifier(_Additive, SeveralOutputsClassifier):
    """Classification by an additive logistic model: a smooth effect of each column, and interactions.

    Drop-in: any number of predictions costs no privacy. The margin of a label is an intercept plus one effect
    of each column, its shape, plus one smooth function of all columns if `interactions` allows it. With
    several labels a record, `y` of shape (n_samples, n_outputs), a fit learns a model for each output within
    one budget, more accurate ones than separate fits with shares of it.

    Parameters
    ----------
    delta
        ... 0: Laplace noise, and pure differential privacy, with less accurate shapes.
    domain : Domain, sequence of Domain, Product, Schema, "learn", Learn or None, default="learn"
        ... Then only the types of the columns are public, and a cell of any kind is accepted. None: finite
        numbers without bounds, in cells of a quarter of a power of two, which years, for example, share.
    interactions : {"auto", True, False}, default="auto"
        Whether a margin has one smooth function of all columns, unless a fit estimates that it is 0. "auto":
        if the plan's `resolution` is at least twice its `least_resolution`. True: at any resolution. It needs
        2 to 256 columns, and is left out with Laplace noise.
    class_weight : None, "balanced" or dict, default=None
        Public weights by label, as of scikit-learn; labels without one have the weight 1. "balanced": weights
        inverse to the noisy shares of the labels. Predictions and probabilities are then those of the
        weighted population: the margins are shifted, at no cost. None with several outputs.
    classes : sequence, or sequence of sequences, optional
        All labels that can occur, known without looking at the data; with several outputs, one set for all or
        one for each. None: the labels of the schema, or else the labels that occur in `y`; the guarantee then
        assumes that the set of labels is public.
    neighbors
        ... A tenth of the budget estimates it. For a declared `domain` or None, one output, tables in memory
        and no groups.

    Attributes
    ----------
    estimators_ : list of AdditiveClassifier
        Released. With several outputs, the fitted model of each, with all attributes below; the guarantee of
        each is that of all together. Then this model has no `shapes_`, `intercept_` and `interactions_`.
    shapes_ : list of ColumnShape
        Released. For each column the main effects of its cells on the margin, with their estimated standard
        deviations. With two classes the margin is near the logit of the second.
    feature_importances_ : ndarray of float64 of shape (n_features,)
        Released. The root mean square effect of each column, without interactions.
    intercept_ : ndarray of float64 of shape (1,), or (n_classes,) of more than two classes
        Released. The mean margins, with class weights those of the weighted population.
    interactions_ : Interactions or None
        Released. The part of the margins that depends on several columns together. Its `strengths`, of shape
        (d, d), say of each pair of columns how much the residuals of the first shapes were correlated with
        the product of the columns, in standard deviations of the noise.
    residual_clip_ : float
        Public. The norm to which residuals (indicator of the label minus probability) are shortened: 1/2 if
        the plan's `resolution` is below 2000, else 1; for more than two labels with Laplace noise 2.
        With 1/2 the margin of two labels is not quite a logit, as `predict_proba` takes into account. The
        residuals of several outputs are then shortened together. Released for neighbors="add_remove".
    class_weight_ : ndarray of float64 of shape (n_classes,)
        Released. The weights of the labels; 1 without `class_weight`. "balanced": inverse to noisy shares, of
        which none is below .002. With several outputs, only the `estimators_` have it.
    noisy_count_, noise_, domain_, schema_
    classes_ : ndarray of shape (n_classes,), or list of such
        ... With several outputs, those of each.
    guarantee_, n_features_in_, feature_names_in_

    See Also
    --------
    AdditiveRegressor : The same model of a number.
    PrivateMultiOutputClassifier : Several outputs by any other private classifier.
    StatisticalQueryLogisticRegression : A linear model.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record. Proof: each query is a sum
    over records of integer vectors, functions of their own record and of earlier answers: a histogram of
    labels, smooth rows of the cells, products of a residual and a row, of two normal scores of a row, and of
    both. Rows and residuals have bounded norms, in integers, after rounding. The oracle's noise is calibrated
    to these bounds and to the query's share of the budget, and the shares sum to 1. If the plan is `linear`,
    the queries are those of `StatisticalQueryLogisticRegression` for rows that are functions of a record's
    cells. For neighbors="add_remove" a tenth of the budget estimates the number of records first, of which
    all else is a function.

    **Accuracy.** A fit warns if the plan's `resolution` is below its `least_resolution`: noise then dominates
    the shapes of most tables. `plan(n_samples).deviation` is the noise in one number of the first sums.

    **Source.** Generalised additive models are by Hastie and Tibshirani (1986), and linear functions of
    kernels to landmarks by Williams and Seeger (2001); the private algorithm is ours.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dplearn import AdditiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> learner = AdditiveClassifier(epsilon=1.0, classes=[0, 1], random_state=0).fit(X[:, :5], y)
    >>> learner.score(X[:, :5], y) > 0.8
    True
    >>> shape = learner.shapes_[0]
    >>> shape.name, shape.effects.shape, learner.guarantee_.epsilon
    ('x0', (203,), Fraction(1, 1))
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = "learn"
    interactions: bool | str = "auto"
    class_weight: Any = None
    classes: Sequence[Any] | None = None
    neighbors: str = "replace_one"
    max_rows_per_group: int = 10
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    reads_parts = True

    estimators_: "list[AdditiveClassifier]" = field(init=False)

    def plan(
        self,
        n_samples: int,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        n_outputs: int = 1,
        beta: float = 0.05,
    ) -> AdditivePlan:
        """Return the plan of a fit: its guarantee, its queries and its noise. No data is read.

        With domain="learn" it is a `SchemaFitPlan`, with the same attributes and a plan of the schema;
        columns are planned as numbers unless their kinds are declared.
        """
        fit = self._recipe(self.random_state is not None)
        public = planned_outputs(
            fit, n_samples, n_features=n_features, n_labels=n_labels, n_outputs=n_outputs
        )
        return fit.replannable(public, beta=beta)

    def _recipe(self, reproducible: bool) -> "AdditiveClassifierFit":
        classes = declared_classes(self.classes, self.domain)
        if classes is not None:
            sets = [each.tolist() for each in declared_sets(classes)]
            classes = sets if len(sets) > 1 else sets[0]
        weights = check_class_weight(self.class_weight)
        return AdditiveClassifierFit(
            self, **self._values(reproducible), class_weight=weights, classes=classes
        )

    def _context(self) -> tuple[object, ...]:
        # Without weights a seeded fit is that of versions without this parameter.
        return tuple(each for each in super()._context() if each != ("class_weight", "None"))

    def _publish(self, outcome: "_Outcome", plan: AdditivePlan) -> None:
        plan = replace(outcome.plan, guarantee=plan.guarantee)
        self.classes_ = plan.public.classes
        self.residual_clip_ = plan.loss.outputs[0].reach / 2.0**RESIDUAL_BITS
        if plan.n_outputs == 1:
            [model] = outcome.models
            self._publish_model(model, plan, 1.0, 0.0)
            shares = None if model.base is None else model.base.loss.shares
            self.class_weight_ = weights_of(plan.class_weight, self.classes_, shares)
            self.intercept_ = self.intercept_ + self._shift()
            return
        self.noise_, self.domain_ = plan.noise, plan.domain
        self.estimators_ = []
        for model, labels, loss in zip(outcome.models, self.classes_, plan.loss.outputs, strict=True):
            own = clone(self).set_params(ledger=None, classes=labels.tolist())
            shared = {name: vars(self)[name] for name in vars(self) if name.endswith(("_in_", "guarantee_"))}
            own.__dict__ |= shared
            one = replace(plan.public, classes=labels, n_outputs=1, many=False)
            alone = replace(plan, public=one, loss=loss, n_outputs=1)
            own._publish(_Outcome([model], alone), alone)
            self.estimators_.append(own)

    def _loss(self) -> LogisticLoss | SoftmaxLoss:
        """Return the loss of the margins of one output, for the probabilities of its labels."""
        return _label_loss(len(self.classes_), 2, self.residual_clip_ == 1)

    def _shift(self) -> NDArray[np.float64]:
        """Return what the class weights add to the margins of one output."""
        return self._loss().shift(self.class_weight_)

    def _models(self) -> "list[AdditiveClassifier]":
        check_is_fitted(self)
        return self.estimators_ if isinstance(self.classes_, list) else [self]

    def _margins(self, X: Any) -> list[NDArray[np.float64]]:
        """Return the margins of rows, of shape (n, k), for each output."""
        models = self._models()
        cells = models[0]._cells(X)
        return [model._sums(cells) for model in models]

    def _label_columns(self, X: Any) -> list[NDArray[Any]]:
        codes = [
            (sums[:, 0] > 0).astype(np.intp) if sums.shape[1] == 1 else sums.argmax(axis=1)
            for sums in self._margins(X)
        ]
        return label_columns([model.classes_ for model in self._models()], np.column_stack(codes))

    @available_where(_of_one_output)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margin of each class, or with two classes that of the second; costs no privacy.

        A model of several outputs has no such method; its `estimators_` have one each.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `fit`; a number outside the domain is replaced by the nearest value in it. An unknown
            category has the effect of unlisted ones if the domain has it, as learned domains do, else 0.
        """
        return _squeezed(self._margins(X)[0])

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class; costs no privacy.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of n_outputs such arrays
        """
        likely = [
            weighted(model._loss().probabilities(sums - model._shift()), model.class_weight_)
            for model, sums in zip(self._models(), self._margins(X), strict=True)
        ]
        return likely if isinstance(self.classes_, list) else likely[0]

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the probabilities of `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of n_outputs such arrays
        """
        likely = self.predict_proba(X)
        return [np.log(each) for each in likely] if isinstance(likely, list) else np.log(likely)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        several = refused_pair(("outputs", self.neighbors)) is None
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = several
        return tags


class AdditiveClassifierFit(AdditiveFit):
    """The fit of `AdditiveClassifier`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        facts, columns = self.read_columns(X, reader)
        outputs = read_outputs(y, len(columns), self.classes)
        if not outputs.many:
            return replace(facts, classes=outputs.classes[0]), LabelledRows(columns, outputs.codes[:, 0])
        known = vars(facts) | {"classes": outputs.classes, "n_outputs": len(outputs.classes)}
        public = OutputsFacts(**known, many=True)
        return public, LabelledRows(columns, outputs.codes)

    def plan(self, facts: FitFacts, *, beta: Any = 0.05) -> AdditivePlan:
        counts = _label_counts(facts)
        if min(counts) < 2:
            raise ValueError(
                f"y must have at least 2 classes, got {min(counts)} class; classes=[...] declares all"
            )
        if len(counts) == 1:
            check_weighted_classes(self.class_weight, facts.classes)
        return self.plan_with(
            facts,
            lambda plan: _loss_of_labels(counts, plan.order, plan.clear),
            labels_assumed(self.classes),
            beta,
        )


@documented_by()
@learns_schema()
@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveRegressor(PrivateRegressor, _Additive):
    """Regression by an additive model: a smooth effect of each column, and interactions.

    Drop-in: any number of predictions costs no privacy. A prediction is an intercept plus one effect of each
    column, its shape, plus one smooth function of all columns if `interactions` allows it; with
    `loss="poisson"` its logarithm is that.

    Parameters
    ----------
    delta
        ... 0: Laplace noise, and pure differential privacy, with less accurate shapes.
    domain : Domain, sequence of Domain, Product, Schema, "learn", Learn or None, default="learn"
        ... Then only the types of the columns are public, and a cell of any kind is accepted. None: finite
        numbers without bounds, in cells of a quarter of a power of two, which years, for example, share.
    interactions : {"auto", True, False}, default="auto"
        Whether a prediction has one smooth function of all columns, unless a fit estimates that it is 0.
        "auto": if the plan's `resolution` is at least twice its `least_resolution`. True: at any resolution.
        It needs 2 to 256 columns, and is left out with Laplace noise.
    loss : {"squared", "poisson"}, default="squared"
        What a fit minimises, of residuals that are clipped. "poisson": the prediction is the expected count
        of events, as of scikit-learn's `HistGradientBoostingRegressor`; `target_range` is (0, high), and
        there are no prediction intervals.
    target_range
        ... For counts the low end is 0.
    clip_target
        ... For counts, True also allows a declared range whose low end is not 0.
    neighbors
        ... A tenth of the budget estimates it. For a declared `domain` or None, one output, tables in memory
        and no groups.

    Attributes
    ----------
    shapes_ : list of ColumnShape
        Released. For each column the main effects of its cells, in the unit of the target, with their
        estimated standard deviations; of counts, the effects on the logarithm of the expected count.
    feature_importances_ : ndarray of float64 of shape (n_features,)
        Released. The root mean square effect of each column, without interactions.
    intercept_ : ndarray of float64 of shape (1,)
        Released. The mean prediction; of counts, the mean of its logarithm.
    interactions_ : Interactions or None
        Released. The part of the prediction that depends on several columns together, with `strengths` as for
        `AdditiveClassifier`.
    loss_ : str
        Public. The loss of the fit.
    residual_std_ : float
        Released. The root mean square of the differences of targets and predictions, approximately.
    target_range_, schema_, noisy_count_, noise_, domain_, guarantee_, n_features_in_, feature_names_in_

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record. Proof: as for
    `AdditiveClassifier`; here the first query is for the target and its square, of bounded distance, and two
    are histograms of the magnitudes of residuals, the first of which says where residuals are clipped.

    **Few records.** Below a resolution of 12 effects would be noise. The plan's `model` is then "mean",
    unless `interactions` is True or the number of records is private: the first query alone is asked, with
    Laplace noise, the whole epsilon and no delta; all predictions are the noisy mean.

    **Accuracy.** A fit warns if the plan's `resolution` is below its `least_resolution`: noise then dominates
    the shapes of most tables. `plan(n_samples).deviation` is the noise in one number of the first sums.

    **Source.** As for `AdditiveClassifier`, and Huber (1964) for clipped residuals; the private algorithm is
    ours.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn import AdditiveRegressor
    >>> generator = np.random.default_rng(0)
    >>> ages = generator.integers(18, 90, (5000, 1))
    >>> wages = 1000 + 50 * ages[:, 0] + generator.normal(0, 100, 5000)
    >>> learner = AdditiveRegressor(epsilon=1.0, target_range=(0, 6000), random_state=0).fit(ages, wages)
    >>> learner.score(ages, wages) > 0.9, learner.predict_interval([[40]]).shape
    (True, (1, 2))
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = "learn"
    interactions: bool | str = "auto"
    loss: str = "squared"
    target_range: Any = "learn"
    clip_target: bool = False
    neighbors: str = "replace_one"
    max_rows_per_group: int = 10
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    reads_parts = True

    def plan(self, n_samples: int, *, n_features: int | None = None, beta: float = 0.05) -> AdditivePlan:
        """Return the plan of a fit: its guarantee, its queries and its noise. No data is read.

        With domain="learn" it is a `SchemaFitPlan`, with the same attributes and a plan of the schema.
        """
        fit = self._recipe(self.random_state is not None)
        public = planned_columns(fit, n_samples, n_features=n_features)
        return fit.replannable(public, beta=beta)

    def _recipe(self, reproducible: bool) -> "AdditiveRegressorFit":
        loss = _checked_loss(self.loss)
        target = loss.ranged(TargetRange.of(self.target_range, clip=self.clip_target))
        return AdditiveRegressorFit(self, **self._values(reproducible), target=target, loss=loss)

    def _context(self) -> tuple[object, ...]:
        # The squared loss has the stream of a fit without this parameter.
        return tuple(each for each in super()._context() if each != ("loss", "'squared'"))

    def _publish(self, outcome: "_Outcome", plan: AdditivePlan) -> None:
        plan = replace(outcome.plan, guarantee=plan.guarantee)
        [model] = outcome.models
        assert model.base is not None
        units = model.base.loss.units(plan.target)
        self._publish_model(model, plan, units.margin, units.origin)
        self.residual_std_ = units.residual * model.spread
        self.target_range_ = (plan.target.low, plan.target.high)
        # Of the fit: the parameter may be set to another afterwards.
        self.loss_ = model.base.loss.name

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict targets, clipped to the declared range; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `fit`; a number outside the domain is replaced by the nearest value in it. An unknown
            category has the effect of unlisted ones if the domain has it, as learned domains do, else 0.
        """
        margins = self._sums(self._cells(X))[:, 0]
        predicted: NDArray[np.float64] = _LOSSES[self.loss_].predicted(margins)
        return predicted.clip(*self.target_range_)

    def predict_interval(self, X: Any, beta: float = 0.05) -> NDArray[np.float64]:
        """Return intervals for the targets of new records; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `predict`.
        beta : float, default=0.05
            Probability, for each record, that the interval does not contain its target, in (0, 1).

        Returns
        -------
        ndarray of float64 of shape (n_samples, 2)
            Lower and upper ends, within the declared range. They contain the residual and the noise of the
            effects, assumed to be normal. Counts have none.
        """
        failure = float(check_number("beta", beta, above=0, below=1))
        cells = self._cells(X)
        if self.loss_ != "squared":
            raise ValueError(
                "prediction intervals need a fit with loss='squared': the spread of counts"
                " grows with the expected count, and a fit releases their mean spread only"
            )
        middle = self._sums(cells)[:, 0]
        low, high = self.target_range_
        unit = high / 2 - low / 2
        # The residual contains the usual noise of the effects.
        usual = sum(float(shape.masses @ np.square(shape.deviations / unit)) for shape in self.shapes_)
        if self.interactions_:
            usual += float(self.interactions_.usual_deviation[0] / unit) ** 2
        beyond = np.maximum(self._variances(cells, unit)[:, 0] - usual, 0.0)
        half = ndtri(1 - failure / 2) * unit * np.sqrt(beyond + (self.residual_std_ / unit) ** 2)
        return np.stack([middle - half, middle + half], axis=1).clip(low, high)


class AdditiveRegressorFit(AdditiveFit):
    """The fit of `AdditiveRegressor`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        facts, columns = self.read_columns(X, reader)
        codes = read_target(y, len(columns), self.target)
        return facts, LabelledRows(columns, codes)

    def plan(self, facts: FitFacts, *, beta: Any = 0.05) -> AdditivePlan:
        return self.plan_with(
            facts,
            lambda plan: self.loss(bits=plan.bits.targets),
            self.target.assumption,
            beta,
        )

    def late_warnings(self, learner: Any, plan: Any) -> tuple[str, ...]:
        told = super().late_warnings(learner, plan)
        count = f"n_samples is {plan.public.n_samples}"
        if plan.for_count:
            n = learner.noisy_count_
            plan, count = plan.for_count(n), f"the noisy number of records is {n}"
        target = TargetRange(*learner.target_range_)  # which may be learned, and not in the plan
        within = learner.residual_std_ < _WITHIN_NOISE * plan.deviation * target.half
        return (*told, target.too_wide(count)) if within and not plan.noise_dominated else told


@dataclass(frozen=True)
class _Outcome:
    """What a fit releases."""

    models: list[AdditiveModel]  # of each output
    plan: AdditivePlan  # public, or released: of the queries, with the guarantee of these alone

    @property
    def count(self) -> int:
        """Public, or released: the number of records by which the fit was planned."""
        return self.plan.public.n_samples


def _label_loss(n_labels: int, order: int, clear: bool) -> LogisticLoss | SoftmaxLoss:
    """Return the loss of labels; residuals are shortened to 1/2 unless the noise is small anyway."""
    clip = Fraction(1) if clear else Fraction(1, 2)
    return SoftmaxLoss(n_labels, order, clip) if n_labels > 2 else LogisticLoss(clip)


def _loss_of_labels(counts: Sequence[int], order: int, clear: bool) -> Loss:
    """Return the loss of one output with a number of labels, or of several outputs."""
    losses = [_label_loss(count, order, clear) for count in counts]
    return OutputsLoss(losses, order) if len(losses) > 1 else losses[0]


def _label_counts(facts: FitFacts) -> list[int]:
    if not isinstance(facts, OutputsFacts):
        return [facts.n_labels]
    if facts.classes is None:
        return [facts.n_labels] * facts.n_outputs
    return [len(labels) for labels in facts.classes]


def _checked_loss(loss: Any) -> type[NumberLoss]:
    if not isinstance(loss, str) or loss not in _LOSSES:
        raise ValueError(f"loss must be {' or '.join(map(repr, _LOSSES))}, got {shown(loss)}")
    return _LOSSES[loss]


def _checked_interactions(interactions: Any) -> bool | str:
    if isinstance(interactions, (bool, np.bool_)):
        return bool(interactions)
    if isinstance(interactions, str) and interactions == AUTO:
        return AUTO
    raise ValueError(f"interactions must be {AUTO!r}, True or False, got {shown(interactions)}")


def _squeezed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the only column of a matrix, or the matrix if it has several."""
    return values[:, 0] if values.shape[1] == 1 else values
