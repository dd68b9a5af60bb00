"""Private linear regression from noisy second moments of bounded rows.

A row consists of the columns, the constant 1 and the target, on a public grid; one that is too long is
shortened as a whole, which keeps a linear relation. One query releases the sums over rows of the products of
all pairs of numbers. The relation `products = moments @ weights` of least squares then holds up to noise of
known variance. With a normal prior, the posterior of the weights is normal, too; it is averaged over prior
variances, in proportion to the probability of the released products.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import check_choice, check_number
from dplearn.chance.dice import Dice
from dplearn.estimator import PrivateRegressor
from dplearn.estimator.public_data import PUBLIC_FEATURES
from dplearn.estimator.recipe import FitFacts, FitRecipe, QueryFit, planned_columns
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit import TABLE
from dplearn.kernels import dense, ignores_float_errors, norm_powers, row_blocks
from dplearn.kernels.rows import symmetric
from dplearn.learners.bins import UNDECLARED
from dplearn.learners.linear.columns import NUMBERS, declared_domain, design_of
from dplearn.learners.linear.logistic_queries import moment_weights, upper_weights
from dplearn.learners.linear.logistic_steps import normal_interval
from dplearn.learners.linear.rows import (
    Layout,
    OneHotRows,
    identified,
    is_worth,
    numbers_of,
    places_of,
    prediction_blocks,
    second_moments,
    spectrum,
)
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import SizedPlan, hidden, noted
from dplearn.privacy.shares import GAUSSIAN, gaussian_budget
from dplearn.privacy.unknown_count import ADDED
from dplearn.queries import LabelledRows, Oracle, VectorQuery
from dplearn.queries.noise import can_be_drawn, first_drawn, greatest_noise, noise_of, norm_order
from dplearn.releases.release import covers_sampling
from dplearn.table import as_table
from dplearn.table.encodings import DesignMatrix, plain_matrix
from dplearn.table.features import read_features
from dplearn.table.targets import STEPS, TargetRange, read_target

#: The finest grid has 2**12 steps from 0 to the bound of a column.
_FINEST = 12
#: The noise in the mean products of columns with the target, as a Euclidean norm over all columns, from which
#: on fits were noise-dominated (R^2 below a tenth of that without privacy), on the tables of
#: `LinearPlan.reach`, by the order of the row norm.
_NOISE_DOMINATED = 0.2
_MOST_NUMBERS = 1 << 12  # the most numbers in a row
_LARGEST = 1 << 30  # the bound on the norm of a query
_LARGEST_OF_ANY = (1 << 30) - 1  # of a number of a record, so that sums over any number of records fit
#: The prior variances of a weight, in the unit of half the target's range by the bound of a column; all are
#: equally probable. Chosen on the tables of `LinearPlan.reach`, as was the form of the estimate, with which
#: AdaSSP, ridges of fixed multiples of the noise, and Stein's unbiased estimate of the risk were compared.
_PRIORS = np.geomspace(0.01, 30.0, 33)
_LEAST = 1e-12  # relative to the largest eigenvalue
# A fit warns if the released variance of residuals is less than this multiple of the least that noise allows,
# and no coefficient is more than so many standard deviations from 0.
_WITHIN_NOISE, _RELATED = 4, 5


@dataclass(frozen=True)
class LinearPlan(SizedPlan):
    """The plan of a fit of `LinearRegressor`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    noise : {"laplace", "gaussian"}
        The noise.
    n_moments : int
        The number of second moments that are released: of all pairs of numeric columns, of the constant 1 and
        of the target. They are the answer to one query. Where targets alone are protected, of the target with
        each of these.
    deviation : float
        The standard deviation of the noise in the mean product of a numeric column with the target, in the
        unit of the column's bound times half the target's range.
    tolerance : float
        With probability at least 1 - beta, all these mean products have at most this error.
    noise_to_signal : float
        The ratio of that noise to the typical signal of the target for this number of columns. A rule of
        thumb: from 1 on, the fit is noise-dominated, and it warns.
    beta : float
        The argument of `plan`.

    Notes
    -----
    For neighbors="add_remove", `deviation`, `tolerance` and `noise_to_signal` are those of sums divided by
    `n_samples`; a fit divides by a noisy number of records.
    """

    guarantee: ApproxDP
    noise: str
    n_moments: int = field(init=False)
    deviation: float = 0.0
    tolerance: float = 0.0
    noise_to_signal: float = field(default=0.0, metadata=noted("smaller is better; for one domain"))
    beta: float = 0.05
    design: Any = hidden()  # the encoding as a matrix of numbers; None: the table is one
    target: Any = hidden()  # the TargetRange
    public: Any = hidden()
    bits: int = hidden(_FINEST)  # the grid has 2**bits steps from 0 to the bound of a column
    known: Any = hidden()  # the sums of products of the columns of public rows, in a fit to these

    error_name = "tolerance"
    _accounting = GAUSSIAN

    def __post_init__(self) -> None:
        d, public = self.n_numbers, self.guarantee.protects == "labels"
        object.__setattr__(self, "n_moments", d if public else d * (d + 1) // 2)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings if no column is declared, or the noise dominates; a function of public numbers."""
        n, undeclared = self.public.n_samples, (UNDECLARED,) * (self.design is None)
        if n is None:  # private: a fit warns afterwards, by its noisy number of records
            return undeclared
        return undeclared + self.warnings_for(f"n_samples is {n}", 1)

    def warnings_for(self, count: str, n: int) -> tuple[str, ...]:
        """Return the warning if the noise of sums, divided by n, dominates; `count` says what n is."""
        if self.noise_to_signal < n:
            return ()
        delta = ", or a delta such as 1e-6" if self.noise == "laplace" else ""
        return (
            f"{count}: noise is larger than the signal of the target for {self.n_numbers - 2}"
            f" numeric columns, and predictions are near a constant; use more records or a larger"
            f" epsilon{delta}; plan(n_samples, n_features=...) reports `noise_to_signal` without data",
        )

    @property
    def n_numbers(self) -> int:
        """Number of numbers in a row, the constant and the target included."""
        return 2 + int(self.public.n_features if self.design is None else len(self.design.names))

    @property
    def query(self) -> VectorQuery:
        """The one query, for the products that are not public."""
        ask = targets_query if self.guarantee.protects == "labels" else target_moments_query
        return ask(self)

    @property
    def active(self) -> int:
        """The number of columns of the table; with a design, all other numbers of a row are 0."""
        return int(self.public.n_features) if self.design is None else int(self.design.n_active)

    @property
    def order(self) -> int:
        """The order of the row norm: 1 for Laplace noise, 2 for Gaussian noise."""
        return norm_order(self.noise)

    @property
    def steps(self) -> int:
        """The bound of a column, and the constant, in units of the grid."""
        return 1 << self.bits

    @property
    def reach(self) -> int:
        """The greatest norm of the columns of a row with the constant, in units of the grid.

        Longer rows are shortened together with their targets. With k columns the reach is 1 + 0.6 k for order
        1, and the root of 1 + k / 2 for order 2, of the greatest norms 1 + k and its root. It was chosen on
        tables that no benchmark reports.
        """
        if self.order == 1:
            return self.steps * (5 + 3 * self.active) // 5
        return math.isqrt(self.steps**2 * (2 + self.active) // 2)

    @property
    def target_reach(self) -> int:
        """The number of a target at a bound of its range, in units of the grid; chosen on the same tables."""
        share = 4 if self.order == 1 else 7
        return max(1, share * self.reach // 10)

    @property
    def energy(self) -> int:
        """The greatest norm of the matrix of products of a row: the square of the norm of the row."""
        if self.order == 1:
            return (self.reach + self.target_reach) ** 2
        return self.reach**2 + self.target_reach**2

    @property
    def target_unit(self) -> float:
        """The number of a target at a bound, in units of the bound of a column."""
        return self.target_reach / self.steps

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Blocks of one-hot columns: their sum minus the constant is 0."""
        return () if self.design is None else tuple(self.design.blocks)

    @property
    def by_place(self) -> bool:
        """Whether rows are `OneHotRows`."""
        return is_worth(self.design)


@dataclass(frozen=True)
class LinearModel:
    """The posterior of the weights of numeric columns and of the constant."""

    weights: NDArray[np.float64]  # the mean; the weight of the constant is the last
    covariance: NDArray[np.float64]  # due to the privacy noise
    residual: float  # an upper estimate of the variance of the residuals
    sampling: NDArray[np.float64]  # the covariance due to the draw of the records, times their number
    count: int | None = None  # the estimated number of records, where that is private

    @classmethod
    def of(
        cls,
        moments: NDArray[np.float64],
        variance: float,
        encodings: Sequence[slice] = (),
        unit: float = 1.0,
        *,
        exact: bool = False,
    ) -> "LinearModel":
        """Return the model, given mean second moments of rows (columns, constant, target), each with this
        noise variance, or but for those of `exact` columns. The target's bound is `unit` times a column's.
        """
        found, vectors = spectrum(moments[:-1, :-1], encodings)
        of_columns = 0.0 if exact else variance
        energies = _without_noise(found, of_columns)
        products = vectors.T @ moments[:-1, -1]
        mean, own = _posterior(energies, products, variance, of_columns, _PRIORS * unit**2)
        weights = vectors @ mean
        explained = float(energies @ mean**2)
        noise = math.sqrt(2 * variance)
        weight = float(moments[-2, -2])  # the mean square of the constant in shortened rows
        residual = max(float(moments[-1, -1]) - explained, 0.0) + noise
        covariance = (vectors * own) @ vectors.T
        spread = residual / max(weight - noise, weight / 2, _LEAST) / unit**2
        # A product has the variance residual * energy / n, of which the shrinkage of its weight is left.
        shrunk = np.divide(mean, products, out=np.zeros_like(mean), where=products != 0)
        sampling = spread * (vectors * shrunk**2 * energies) @ vectors.T
        return cls(weights / unit, covariance / unit**2, spread, sampling)


@documented_by()
@learns_schema()
@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegressor(PrivateRegressor):
    """Linear regression from the noisy second moments of columns and target, released once.

    Drop-in: any number of predictions costs no privacy. Rows longer than a public length are shortened
    together with their targets, which keeps a linear relation. Coefficients are the posterior mean given the
    moments.

    Parameters
    ----------
    delta
        ... A positive delta allows Gaussian noise, which is smaller for many columns. 0: Laplace
        noise, and pure differential privacy.
    domain
        ... Unordered values are one-hot encoded, and bounded numbers are scaled to [-1, 1]: declare bounds
        where they are known, for example `Grid(0, 500, outside="clip")`. Unbounded `Floats()` become
        arsinh(x) / 12. A domain with `missing=True` adds a column that is 1 where a number is missing. See
        `DesignMatrix`. None: finite numbers, untransformed; their magnitudes should be about 1.
    target_range
        ... The noise is proportional to the width of the range.
    protects : {"examples", "labels"}, default="examples"
        The unit of protection. "examples": one whole record. "labels": one target; all features are public,
        so that the second moments of columns are exact.
    neighbors
        ... Only for tables in memory and no groups.

    Attributes
    ----------
    coef_ : ndarray of float64 of shape (n_numbers,)
        Released. The effect of each numeric column on the target, where a declared column ranges over
        [-1, 1]; those of the one-hot columns of one categorical feature sum to 0.
    coef_std_ : ndarray of float64 of shape (n_numbers,)
        Released. The posterior standard deviation of each coefficient, due to the privacy noise; see
        `coef_interval`.
    intercept_ : float
        Released. The prediction for a row whose numbers are all 0.
    covariance_ : ndarray of float64 of shape (n_numbers + 1, n_numbers + 1)
        Released. The posterior covariance of the coefficients and the intercept, due to the privacy noise.
    sampling_covariance_ : ndarray of float64 of shape (n_numbers + 1, n_numbers + 1)
        Released. That due to the draw of the records, for residuals of equal variance.
    residual_std_ : float
        Released. An upper estimate of the standard deviation of the residuals.
    noisy_count_ : int
        Released. The noisy sum of squares of the constant, some percent below the number of records. Only for
        neighbors="add_remove".
    noise_, schema_
    design_ : DesignMatrix or None
        Public. The encoding of columns as numeric columns; its `names` are in the order of `coef_`.
    target_range_, guarantee_, n_features_in_, feature_names_in_

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, or for one replaced target if
    `protects` is "labels" (`targets_query`). Proof: the only query is a sum
    over records of the products of the numbers of a row, a function of its own record, whose norm is at most
    a public bound, checked in integers, and so is that of its products (`target_moments_query`). The oracle's
    noise is calibrated to that norm; for one added or removed record likewise, and the sum of squares of the
    constant estimates the number of records.

    **Accuracy.** With probability at least 1 - beta, the noise in the mean product of every numeric column
    with the target is at most `plan(n_samples).tolerance`. A fit warns if `noise_to_signal` is 1 or more.

    **Source.** Wang (2018), AdaSSP: noisy second moments, and a ridge from the known noise. The shortening of
    rows with their targets, and the posterior mean by empirical Bayes, are ours.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dplearn import LinearRegressor
    >>> from dplearn.domains import Grid
    >>> X, y = load_diabetes(return_X_y=True)
    >>> columns = Grid(-0.2, 0.2, size=1024)  # all columns of this table are scaled alike
    >>> learner = LinearRegressor(epsilon=5, domain=columns, target_range=(0, 400), random_state=0)
    >>> learner = learner.fit(X, y)
    >>> learner.score(X, y) > 0.3, learner.noise_, learner.predict_interval(X[:1]).shape
    (True, 'gaussian', (1, 2))
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = None
    target_range: Any = "learn"
    clip_target: bool = False
    protects: str = "examples"
    neighbors: str = "replace_one"
    max_rows_per_group: int = 10
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    _finest = _FINEST  # bits of the grid of the rows; audits use fewer

    reads_parts = True

    def plan(self, n_samples: int, *, n_features: int | None = None, beta: float = 0.05) -> LinearPlan:
        """Return the plan of a fit: its guarantee and its noise. No data is read.

        With domain="learn" it is a `SchemaFitPlan`, with the same attributes and a plan of the schema.
        """
        fit = self._recipe(self.random_state is not None)
        public = planned_columns(fit, n_samples, n_features=n_features)
        return fit.replannable(public, beta=beta)

    def _recipe(self, reproducible: bool) -> "LinearFit":
        protects = check_choice("protects", self.protects, ("examples", "labels"))
        return LinearFit(
            self,
            self._cost(reproducible, protects=protects),
            target=TargetRange.of(self.target_range, clip=self.clip_target),
            finest=self._finest,
        )

    def _publish(self, outcome: LinearModel, plan: LinearPlan) -> None:
        half = plan.target.half

        def covariance(of: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(half**2 * identified(identified(of, plan.blocks).T, plan.blocks))

        weights = half * identified(outcome.weights, plan.blocks)
        self.coef_, self.intercept_ = weights[:-1], float(plan.target.middle + weights[-1])
        self.covariance_ = covariance(outcome.covariance)
        self.coef_std_ = np.sqrt(np.maximum(np.diag(self.covariance_)[:-1], 0.0))
        n = plan.public.n_samples if outcome.count is None else outcome.count
        self.sampling_covariance_ = covariance(outcome.sampling) / n
        self.residual_std_ = half * float(np.sqrt(outcome.residual))
        self.noise_, self.design_ = plan.noise, plan.design
        self.target_range_ = (plan.target.low, plan.target.high)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict targets, clipped to the declared range; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `fit`; a number outside the domain is replaced by the nearest value in it.
        """
        predicted, _ = self._predicted(X)
        return predicted

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
            Lower and upper ends, within the declared range. They cover the residual, privacy noise and
            sampling error, all assumed to be normal.
        """
        predicted, deviation = self._predicted(X, deviations=True)
        return normal_interval(predicted, deviation, beta).clip(*self.target_range_)

    def coef_interval(self, beta: float = 0.05, of: str = "population") -> NDArray[np.float64]:
        """Return intervals for the coefficients; costs no privacy.

        Parameters
        ----------
        beta : float, default=0.05
            Probability, for each coefficient, that the interval does not contain it, in (0, 1).
        of : {"population", "table"}, default="population"
            "population": the coefficients of the distribution that the records are independent draws from;
            the interval covers sampling and noise. "table": those of a fit to these records without privacy
            noise; it covers the noise alone.

        Returns
        -------
        ndarray of float64 of shape (n_numbers, 2)
            Lower and upper ends. They are approximate: noise and sampling errors are assumed to be normal,
            and the residuals to have equal variance.
        """
        check_is_fitted(self)
        sampling = self.sampling_covariance_ if covers_sampling(of) else 0.0
        variances = np.diag(self.covariance_ + sampling)[:-1]
        return normal_interval(self.coef_, np.sqrt(np.maximum(variances, 0.0)), beta)

    def _predicted(
        self, X: Any, *, deviations: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the predictions within the range, and the deviations of targets from them; else zeros."""
        check_is_fitted(self)
        design = self.design_
        X = read_features(self, X, domain=None if design is None else design.domain, reset=False)
        table = plain_matrix(X) if design is None else design.encoded(X, nearest=True)
        predicted, own = np.empty(table.shape[0]), np.zeros(table.shape[0])
        weights, gram = np.append(self.coef_, self.intercept_), self.covariance_ + self.sampling_covariance_
        for block, rows, largest in prediction_blocks(table):
            predicted[block] = rows.times(weights[:, None])[:, 0] * largest
            if deviations:
                own[block] = np.maximum(rows.squares(gram), 0.0) * largest**2
        deviations_of = np.sqrt(own + self.residual_std_**2)
        return predicted.clip(*self.target_range_), deviations_of

    def _declared(self) -> Any:
        return declared_domain(self.domain)


class LinearFit(QueryFit):
    """The fit of `LinearRegressor`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        stream = self.stream()
        X = read_features(reader, X, domain=self.declared, reset=True)
        codes = read_target(y, len(X), self.target)
        public = FitFacts.of_rows(X, reader, stream=stream)
        design = design_of(self.declared, public)
        return public, LabelledRows(plain_matrix(X) if design is None else design.encoded(X), codes)

    def plan(self, facts: FitFacts, *, beta: float = 0.05) -> LinearPlan:
        failure = check_number("beta", beta, above=0, below=1)
        design = design_of(self.declared, facts)
        plan = linear_plan(self, facts, design, beta=failure)
        assumed = (NUMBERS if design is None else design.domain).assumes
        assumes = (*TABLE, *assumed, self.target.assumption)
        assumes += (PUBLIC_FEATURES,) * (self.cost.protects == "labels")
        return replace(plan, guarantee=replace(self.cost, assumes=assumes))

    def summarize(self, rows: Any, plan: LinearPlan) -> Any:
        # One replaced record replaces one row.
        return bounded_rows(rows.X, rows.y, plan)

    def run(self, summary: Any, plan: LinearPlan, dice: Dice) -> LinearModel:
        if self.cost.protects == "labels":  # the columns of all rows are public
            [moments] = as_table(summary).sums(lambda rows: [second_moments(rows)[:-1, :-1]])
            plan = replace(plan, known=moments)
        model: LinearModel = super().run(summary, plan, dice)
        return model

    def learn(self, oracle: Oracle, plan: LinearPlan) -> LinearModel:
        answer = oracle.ask(plan.query)[0]
        scale = plan.steps**2
        off = moment_weights(plan.order)[1]
        variance = answer.noise_variance / (off * scale) ** 2
        moments = matrix_of(plan, answer.means) / scale
        if plan.known is not None:
            moments[:-1, :-1] = plan.known / (scale * plan.public.n_samples)
            return LinearModel.of(moments, variance, plan.blocks, plan.target_unit, exact=True)
        if plan.public.n_samples is not None:
            return LinearModel.of(moments, variance, plan.blocks, plan.target_unit)
        count = max(1, round(float(moments[-2, -2])))  # the answers are sums, and so is that of the constant
        model = LinearModel.of(moments / count, variance / count**2, plan.blocks, plan.target_unit)
        return replace(model, count=count)

    def late_warnings(self, learner: Any, plan: Any) -> tuple[str, ...]:
        n, count = 1, f"n_samples is {plan.public.n_samples}"
        target = TargetRange(*learner.target_range_)  # which may be learned, and not in the plan
        dominated: tuple[str, ...] = ()
        if plan.public.n_samples is None:  # the noise in the plan is that of sums
            n = learner.noisy_count_
            count = f"the noisy number of records is {n}"
            dominated = plan.warnings_for(count, n)
        # The released variance of residuals is at least sqrt(2) deviations of the noise in a mean product.
        least = math.sqrt(2) * plan.deviation / n / plan.target_unit * target.half**2
        within = learner.residual_std_**2 < _WITHIN_NOISE * least
        related = (np.abs(learner.coef_) > _RELATED * learner.coef_std_).any()
        too_wide = within and not related and plan.noise_to_signal < n
        return (*dominated, *((target.too_wide(count),) if too_wide else ()))


def linear_plan(
    params: FitRecipe,
    facts: FitFacts,
    design: DesignMatrix | None = None,
    *,
    beta: Fraction = Fraction(1, 20),
) -> LinearPlan:
    """Return the plan of a fit; its guarantee is the cost, without assumptions yet."""
    noise = "gaussian" if params.cost.delta else "laplace"
    plan = LinearPlan(params.cost, noise, beta=float(beta), design=design, target=params.target, public=facts)
    if plan.n_numbers > _MOST_NUMBERS:
        raise ValueError(
            f"X must have at most {_MOST_NUMBERS - 2} numeric columns, where a column of categories or of"
            f" hashes counts once for each value, got {plan.n_numbers - 2}: declare fewer buckets, drop"
            " columns by a rule that uses no records, or project them onto fewer (GaussianRandomProjection,"
            " of sklearn.random_projection, uses only the number of columns)"
        )
    rounded = (replace(plan, bits=bits) for bits in range(params.finest, -1, -1))
    return _with_noise(first_drawn(rounded, _can_be_drawn, params.cost.epsilon), beta)


def _can_be_drawn(plan: LinearPlan) -> bool:
    """Return whether the query takes the norm of this grid, and the sampler the noise."""
    norm = moment_weights(plan.order)[0] * plan.energy
    added = plan.guarantee.neighbors == ADDED
    if norm > _LARGEST or (added and target_moments_query(plan).high > _LARGEST_OF_ANY):
        return False
    moved = norm**2 if added else 2 * norm**2
    return plan.noise != "gaussian" or can_be_drawn(moved, gaussian_budget(plan.guarantee))


def _with_noise(plan: LinearPlan, beta: Fraction) -> LinearPlan:
    """Return the plan with the noise of the mean products of columns with the target."""
    query, share = plan.query, Fraction(1)
    # Without a number of records, for neighbors="add_remove", the noise is that of sums.
    noise = noise_of(plan.noise, plan.guarantee, int(plan.public.n_samples or 1))
    deviation = noise.deviation(query, share)
    unit = 1 / (moment_weights(plan.order)[1] * plan.steps * plan.target_reach)
    return replace(
        plan,
        deviation=deviation * unit,
        tolerance=greatest_noise(plan.noise, deviation, plan.n_numbers - 1, beta) * unit,
        noise_to_signal=deviation * unit * math.sqrt(plan.n_numbers - 1) / _NOISE_DOMINATED,
    )


@ignores_float_errors
def bounded_rows(X: Any, codes: NDArray[np.int64], plan: LinearPlan) -> Any:
    """Return rows of whole numbers: the columns and the constant, of norm at most `reach`, and the target. An
    exact check shortens longer ones towards zero, and replaces those still too long by zeros.
    """
    numbers, again = (numbers_of(X), len(plan.blocks)) if plan.by_place else (X, 0)
    n, d = numbers.shape
    rows = np.empty((n, d + 2), dtype=np.int32)
    for block in row_blocks(n, d):
        given = dense(numbers[block])
        columns = np.empty((len(given), d + 1))
        columns[:, :d], columns[:, d] = given, 1.0
        targets = np.rint(codes[block] * (plan.target_reach / STEPS))
        rows[block] = _shortened(columns, targets, plan, again)
    return OneHotRows(Layout.of(plan.design, 2), rows, places_of(X)) if plan.by_place else rows


def _shortened(
    columns: NDArray[np.float64], targets: NDArray[np.float64], plan: LinearPlan, again: int
) -> NDArray[np.float64]:
    """Return a block of `bounded_rows`; of fewer than 2**12 numbers all norms are exact in floats. The
    constant is in the norm `again` times more, for the encodings.
    """
    # Scaled to magnitudes of at most 1, so that no square overflows.
    largest = np.abs(columns).max(axis=1, keepdims=True)  # at least 1, the constant
    unit = columns / largest
    lengths = norm_powers(unit, plan.order, again)[:, None] ** (1 / plan.order)
    factors = np.minimum(plan.reach / plan.steps / lengths, largest)
    beyond = 2.0 * plan.reach / plan.steps
    rows = np.column_stack([np.rint(columns.clip(-beyond, beyond) * plan.steps), targets])
    most = plan.reach**plan.order
    long = norm_powers(rows[:, :-1], plan.order, again) > most
    short = np.column_stack([unit * plan.steps * factors, targets[:, None] * (factors / largest)])
    rows[long] = np.trunc(short[long])
    rows[~(norm_powers(rows[:, :-1], plan.order, again) <= most)] = 0.0  # NaN is not at most it
    return np.asarray(rows)


def target_moments_query(plan: LinearPlan) -> VectorQuery:
    """Return the query for second moments: the products of numbers i <= j of a row, weighted.

    **Privacy.** Totals move by at most `squared_l2`, or `l1`. For rows v, w of norm at most sqrt(E), with E
    as in `LinearPlan.energy`, and weights 5 and 7, the squared norm is 25 sum v_i^4 + 49 sum_{i<j} v_i^2
    v_j^2 <= 25 |v|^4, since 49 < 2 * 25. The inner product (49 (v w)^2 + sum v_i^2 w_i^2) / 2 is >= 0, so the
    squared distance is at most 2 * (5 E)^2. With weights 1 and 2, columns of L1 norm at most r and targets
    |y|, |z| <= t <= 2 r, products move by 2 r^2, 2 r (|y| + |z|) and |y^2 - z^2|: convex, at most 2 r^2 + 4 r
    t, at |y| = |z| = t. An added record moves totals by at most 5 E, or |v|_1^2 <= E.
    """
    weights = upper_weights(plan.order, plan.n_numbers)
    first, second = np.triu_indices(plan.n_numbers)

    def each(rows: Any) -> NDArray[np.int64]:
        whole = dense(rows).astype(np.int64)
        return np.asarray(whole[:, first] * whole[:, second] * weights)

    def total(rows: Any) -> NDArray[np.int64]:
        return np.asarray(second_moments(rows)[first, second] * weights)  # `energy` is below 2**28

    norm = moment_weights(plan.order)[0] * plan.energy
    # No number of a row exceeds `reach`, or `target_reach`.
    largest = int(weights.max()) * max(plan.reach, plan.target_reach) ** 2
    return VectorQuery(
        each,
        size=plan.n_moments,
        norm=norm,
        total=total,
        l1=2 * plan.reach * (plan.reach + 2 * plan.target_reach) if plan.order == 1 else None,
        squared_l2=2 * norm**2 if plan.order == 2 else None,
        added_l1=norm if plan.order == 1 else None,
        ends=(-largest, largest),
    )


def targets_query(plan: LinearPlan) -> VectorQuery:
    """Return the query for the products of a row's numbers with its target, weighted, where rows are public.

    **Privacy.** Another target z in place of y moves them by |y - z| times the norm of (off x, on (y + z)),
    where |x| <= r, and |y|, |z| <= t <= r, so that |y - z| <= 2 t - s for s = |y + z|. Both (2 t - s)^2 (49
    r^2 + 25 s^2), and (2 t - s) (2 r + s) for order 1, decrease in s: they are greatest at s = 0.
    """
    weights, r, t = _target_weights(plan), plan.reach, plan.target_reach
    off = moment_weights(plan.order)[1]

    def each(rows: Any) -> NDArray[np.int64]:
        whole = dense(rows).astype(np.int64)
        return np.asarray(whole * whole[:, -1:] * weights)

    return VectorQuery(
        each,
        size=plan.n_numbers,
        norm=off * t * (math.isqrt(r**2 + t**2) + 1),
        total=lambda rows: second_moments(rows)[-1] * weights,
        ends=(-off * t * r, off * t * r),
        l1=2 * off * t * r if plan.order == 1 else None,
        squared_l2=(2 * off * t * r) ** 2 if plan.order == 2 else None,
    )


def matrix_of(plan: LinearPlan, moments: NDArray[Any]) -> NDArray[np.float64]:
    """Return released moments as a symmetric matrix, without their weights; with zeros for public ones."""
    size = plan.n_numbers
    if plan.guarantee.protects != "labels":
        return symmetric(moments / upper_weights(plan.order, size), size)
    matrix = np.zeros((size, size))
    matrix[-1] = matrix[:, -1] = moments / _target_weights(plan)
    return matrix


def _target_weights(plan: LinearPlan) -> NDArray[np.int64]:
    """Return the weights of the products with the target, the last of which is its square."""
    on, off = moment_weights(plan.order)
    return np.array([off] * (plan.n_numbers - 1) + [on])


def _without_noise(found: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    """Return estimates of the eigenvalues of a matrix, given those of its sum with symmetric noise of
    variance v: noise has eigenvalues within 2 sqrt(r v) of 0, and moves one of a > sqrt(r v) to about a + r v
    / a. The others are replaced by twice the mean that the trace leaves.
    """
    edge = 2 * math.sqrt(len(found) * variance)
    seen = found > edge
    estimates = np.where(seen, (found + np.sqrt(np.maximum(found**2 - edge**2, 0.0))) / 2, 0.0)
    rest = max(float(found.sum() - estimates.sum()), 0.0) / max(int((~seen).sum()), 1)
    least = _LEAST * max(float(np.abs(found).max()), 1.0)
    return np.where(seen, estimates, max(min(2 * rest, edge / 2), least))


def _posterior(
    energies: NDArray[np.float64],
    products: NDArray[np.float64],
    variance: float,
    of_columns: float,
    priors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the posterior mean and variance of the weight in each direction; a product is energy * weight
    plus noise of variance v + r t u, for a prior variance t: its own, and that of moments, u, times weights.
    """
    noise = (variance + of_columns * len(energies) * priors)[:, None]
    total = priors[:, None] * energies**2 + noise
    log = -0.5 * (np.log(total) + products**2 / total).sum(axis=1)
    probable = np.exp(log - log.max())
    probable /= probable.sum()
    means = priors[:, None] * energies * products / total
    mean = probable @ means
    own = probable @ (priors[:, None] * noise / total + (means - mean) ** 2)
    return mean, own
