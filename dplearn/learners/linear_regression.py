"""Private linear regression from noisy second moments of bounded rows, or from local randomisers."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import check_number
from dplearn.domains import Domain, Floats, Product
from dplearn.estimator import PrivateRegressor
from dplearn.estimator.fit_recipe import QueryFit
from dplearn.estimator.public import Public, planned_columns
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit.relation import TABLE
from dplearn.learners.bins import declared_columns
from dplearn.learners.linear_moments import bounded_rows, matrix_of, moments_query
from dplearn.learners.linear_noise import linear_plan
from dplearn.learners.linear_plan import FINEST, LinearPlan
from dplearn.learners.linear_posterior import LinearModel
from dplearn.learners.logistic_effects import identified
from dplearn.learners.logistic_queries import moment_weights
from dplearn.privacy import PrivacyLedger
from dplearn.queries import Examples, Oracle
from dplearn.queries.factories import cost_of
from dplearn.records.design_matrix import DesignMatrix, plain_matrix
from dplearn.records.reading import as_product, read_features
from dplearn.records.targets import TargetRange, read_target

__all__ = ["LinearPlan", "LinearRegressor"]

_NUMBERS = Product([Floats()])  # the assumed domain of each undeclared column
# A fit warns if the released variance of residuals is less than this multiple of the least that noise allows,
# and no coefficient is more than so many standard deviations from 0.
_WITHIN_NOISE, _RELATED = 4, 5


@learns_schema()
class LinearRegressor(PrivateRegressor):
    """Linear regression from the noisy second moments of columns and target, released once.

    Rows longer than a public length are shortened together with their targets, which keeps a linear relation
    and decreases the noise. The coefficients are the posterior mean given the released moments.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples. A
        positive delta allows Gaussian noise, which is smaller for many columns. 0: Laplace noise, and pure
        differential privacy. With "local" no delta is spent.
    trust_model : {"central", "local"}, default="central"
        "central": noise is added to sums over all records. "local": each record reports one randomised bit on
        one number, so that no trusted curator is needed; this requires very many records.
    domain : Domain, sequence of Domain, Product, Schema, "learn" or Learn, optional
        The possible values, known without looking at the data: one domain for all columns, or one for each.
        "learn": a fit releases a schema from a tenth of its budget first, and needs no declaration; see
        `Learn`. Unordered values are one-hot encoded, and bounded numbers are scaled to [-1, 1]: declare
        bounds where they are known, for example `Grid(0, 500, outside="clip")`. The values of the unbounded
        `Floats()` are transformed to arsinh(x) / 12. A domain with `missing=True` adds a column that is 1
        where a number is missing. See `DesignMatrix`. None: finite numbers, untransformed; their magnitudes
        should be about 1, since longer rows have less weight, and shorter columns more noise.
    target_range : pair of numbers or "learn", default="learn"
        Public bounds (low, high) on the target, known without looking at the data. "learn": a fit releases a
        range first, together with the domain if that is learned, from one share of its budget, by default a
        tenth; targets beyond it are moved to its ends. It needs the records that `plan(n).schema.n_needed`
        states, and a trusted curator. The noise is proportional to the width of the range.
    clip_target : bool, default=False
        Whether a target outside the declared range is moved to the nearest bound. False: it is refused.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        The tables between which the guarantee holds. "add_remove": one has one record more, and the number of
        records is private; for `trust_model="central"`, tables in memory and no groups.
    max_rows_per_group : int, default=10
        The number of rows of a group that take part, if `fit` has `groups`; from 1 to 1,000; of a group with
        fewer rows, each is repeated. A group counts as one record, whose values are the means over these
        rows.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.

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
    residual_std_ : float
        Released. An upper estimate of the standard deviation of the residuals.
    noisy_count_ : int
        Released. The noisy sum of squares of the constant, in place of the number of records; shortened rows
        count less, so it is too low, by some percent. Only for neighbors="add_remove".
    noise_ : str
        Public. The noise: "laplace", "gaussian" or "local".
    schema_ : Product
        Released. The learned domain of a record, if `domain` is "learn".
    design_ : DesignMatrix or None
        Public. The encoding of columns as numeric columns; its `names` are in the order of `coef_`.
    target_range_ : tuple of float
        Released. The range of the target: the learned one; or the declared one, which is public.
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, with its assumptions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    StatisticalQueryLogisticRegression : A linear model of labels.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; "local" with delta 0, and then
    also towards the collector of the reports. Proof: the only query is a sum over records of the products of
    the numbers of a row: columns, constant and target. The row is a function of its own record, its norm is
    at most a public bound, which is checked in integers, and so is the norm of its products
    (`moments_query`). The oracle's noise is calibrated to that norm. All else is post-processing. For one
    added or removed record: likewise, by the norm of its own products. Nothing else depends on the number of
    records, of which the sum of the squares of the constant is an estimate.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** With probability at least 1 - beta, the noise in the mean product of every numeric column
    with the target is at most `plan(n_samples).tolerance`. A fit warns if `noise_to_signal` is 1 or more; it
    depends on public numbers only.

    **Source.** Wang (2018), AdaSSP: noisy second moments, and a ridge from the known noise. The shortening of
    rows with their targets, and the posterior mean by empirical Bayes in place of that ridge, are ours.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> from sklearn.datasets import load_diabetes
    >>> from dplearn import LinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from dplearn.domains import Grid
    >>> columns = Grid(-0.2, 0.2, size=1024)  # all columns of this table are scaled alike
    >>> learner = LinearRegressor(epsilon=5.0, domain=columns, target_range=(0, 400), random_state=0)
    >>> learner = learner.fit(X, y)
    >>> learner.score(X, y) > 0.3
    True
    >>> learner.guarantee_.epsilon, learner.noise_
    (Fraction(5, 1), 'gaussian')
    >>> low, high = learner.predict_interval(X[:1])[0]
    >>> bool(0 <= low < learner.predict(X[:1])[0] < high <= 400)
    True
    """

    _finest = FINEST  # bits of the grid of the rows; audits use fewer

    reads_parts = True

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        trust_model: str = "central",
        domain: Any = None,
        target_range: Any = "learn",
        clip_target: bool = False,
        neighbors: str = "replace_one",
        max_rows_per_group: int = 10,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.trust_model = trust_model
        self.domain = domain
        self.target_range = target_range
        self.clip_target = clip_target
        self.neighbors = neighbors
        self.max_rows_per_group = max_rows_per_group
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, *, n_features: int | None = None, beta: float = 0.05) -> LinearPlan:
        """Return the plan of a fit: its guarantee and its noise. No data is read.

        If the fit learns its schema, the plan is a `SchemaFitPlan`, which has the same attributes, and a plan
        of the schema.

        Parameters
        ----------
        n_samples : int
            Number of records; for neighbors="add_remove" any guess, which only scales the errors.
        n_features : int, optional
            Number of columns; required unless `domain` determines it.
        beta : float, default=0.05
            Allowed probability of failure, in (0, 1).
        """
        fit = self._recipe(self.random_state is not None)
        public = planned_columns(fit, n_samples, n_features=n_features)
        plan: LinearPlan = fit.planned(public, beta=beta)
        return replace(plan, replan=partial(fit.planned_for, public, beta=beta))

    def _recipe(self, reproducible: bool) -> "LinearFit":
        cost = cost_of(self.trust_model, self.epsilon, self.delta, reproducible=reproducible)
        return LinearFit(
            self,
            cost,
            trust_model=self.trust_model,
            declared=_declared(self.domain),
            target=TargetRange.of(self.target_range, clip=self.clip_target),
            finest=self._finest,
        )

    def _publish(self, outcome: LinearModel, plan: LinearPlan) -> None:
        half, taken = plan.target.half, identified(len(outcome.weights), plan.blocks)
        weights = half * (taken @ outcome.weights)
        self.coef_, self.intercept_ = weights[:-1], float(plan.target.middle + weights[-1])
        self.covariance_ = half**2 * (taken @ outcome.covariance @ taken.T)
        self.coef_std_ = np.sqrt(np.maximum(np.diag(self.covariance_)[:-1], 0.0))
        self.residual_std_ = half * float(np.sqrt(outcome.residual))
        self.noise_, self.design_ = plan.noise, plan.design
        self.target_range_ = (plan.target.low, plan.target.high)
        self.guarantee_ = plan.guarantee

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict targets, clipped to the declared range; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `fit`; a number outside the domain is replaced by the nearest value in it.

        Returns
        -------
        ndarray of float64 of shape (n_samples,)
        """
        rows, largest = self._rows(X)
        predicted: NDArray[np.float64] = (rows[:, :-1] @ self.coef_) * largest + self.intercept_
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
            Lower and upper ends, within the declared range. They cover the residual and the privacy noise in
            the coefficients, both assumed to be normal, and not the sampling error of the coefficients.
        """
        check_is_fitted(self)
        times = _quantile(beta)
        rows, largest = self._rows(X)
        own = ((rows @ self.covariance_) * rows).sum(axis=1)
        half = times * np.sqrt(np.maximum(own, 0.0) * largest**2 + self.residual_std_**2)
        middle = self.predict(X)
        return np.stack([middle - half, middle + half], axis=1).clip(*self.target_range_)

    def coef_interval(self, beta: float = 0.05) -> NDArray[np.float64]:
        """Return intervals for the coefficients of a fit without privacy noise; costs no privacy.

        Parameters
        ----------
        beta : float, default=0.05
            Probability, for each coefficient, that the interval does not contain it, in (0, 1).

        Returns
        -------
        ndarray of float64 of shape (n_numbers, 2)
            Lower and upper ends. They are approximate: the posterior is assumed to be normal. They do not
            cover the sampling error of the records.
        """
        check_is_fitted(self)
        half = self.coef_std_ * _quantile(beta)
        return np.stack([self.coef_ - half, self.coef_ + half], axis=-1)

    def _rows(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rows of numbers with the constant, divided by their largest magnitude, and the latter."""
        check_is_fitted(self)
        design = self.design_
        X = read_features(self, X, domain=None if design is None else design.domain, reset=False)
        table = plain_matrix(X) if design is None else design.of(X, nearest=True)
        rows = np.column_stack([table, np.ones(len(table))])
        largest = np.abs(rows).max(axis=1)  # at least 1, the constant; no product of scaled rows overflows
        return rows / largest[:, None], largest

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        domain = _declared(self.domain)
        if domain is not None:
            tags.input_tags.allow_nan = domain.accepts_missing
            tags.input_tags.categorical = tags.input_tags.string = not domain.numeric
        return tags


class LinearFit(QueryFit):
    """The fit of `LinearRegressor`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        stream = self.stream()
        X = read_features(reader, X, domain=self.declared, reset=True)
        codes = read_target(y, len(X), self.target)
        names = getattr(reader, "feature_names_in_", None)
        public = Public(X.shape[0], X.shape[1], names=names, stream=stream)
        design = _design(self.declared, public)
        return public, Examples(plain_matrix(X) if design is None else design.encoded(X), codes)

    def plan(self, public: Public, *, beta: float = 0.05) -> LinearPlan:
        failure = check_number("beta", beta, above=0, below=1)
        design = _design(self.declared, public)
        plan = linear_plan(self, public, design, beta=failure)
        assumed = (_NUMBERS if design is None else design.domain).assumes
        assumes = (*TABLE, *assumed, self.target.assumption)
        return replace(plan, guarantee=replace(self.cost, assumes=assumes))

    def summarize(self, rows: Any, plan: LinearPlan) -> NDArray[np.float64]:
        # One replaced record replaces one row.
        return bounded_rows(rows.X, rows.y, plan)

    def learn(self, oracle: Oracle, plan: LinearPlan) -> LinearModel:
        answer = oracle.ask(moments_query(plan))[0]
        scale = plan.steps**2
        off = moment_weights(plan.order)[1]
        variance = answer.noise_variance / (off * scale) ** 2
        moments = matrix_of(plan, answer.means) / scale
        if plan.public.n_samples is not None:
            return LinearModel.of(moments, variance, plan.basis(), plan.target_unit)
        count = max(1, round(float(moments[-2, -2])))  # the answers are sums, and so is that of the constant
        model = LinearModel.of(moments / count, variance / count**2, plan.basis(), plan.target_unit)
        return replace(model, count=count)

    def told(self, learner: Any, plan: Any) -> tuple[str, ...]:
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


def _declared(domain: Any) -> Any:
    """Return the domain of all columns, or the product of their domains; None if none is declared."""
    return None if domain is None else declared_columns(domain, Floats())


def _design(declared: Domain | Product | None, public: Public) -> DesignMatrix | None:
    return None if declared is None else DesignMatrix(as_product(declared, public.n_features, public.names))


def _quantile(beta: Any) -> float:
    """Return the number of standard deviations that a normal number exceeds with probability beta."""
    return float(ndtri(1 - float(check_number("beta", beta, above=0, below=1)) / 2))
