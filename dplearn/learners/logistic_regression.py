"""Private logistic regression: from noisy sums over all records, or from one report of each.

>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> learner = StatisticalQueryLogisticRegression(epsilon=3.0, classes=[0, 1, 2], random_state=0).fit(X, y)
>>> learner.score(X, y) > 0.7
True
>>> learner.guarantee_.epsilon, learner.noise_, learner.n_steps_
(Fraction(3, 1), 'gaussian', 24)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import log_softmax, ndtri
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import AUTO, check_count_or_auto, check_number
from dplearn.chance.dice import Dice
from dplearn.domains import Domain, Floats, Product, Schema
from dplearn.estimator import PrivateClassifier
from dplearn.estimator.stages import Params, Public, Table, planned_table
from dplearn.learners.bins import declared_columns
from dplearn.learners.logistic_effects import Effects
from dplearn.learners.logistic_noise import logistic_plan
from dplearn.learners.logistic_plan import FINEST, LogisticPlan, row_order
from dplearn.learners.logistic_steps import LogisticModel, learn_logistic
from dplearn.privacy import PrivacyLedger
from dplearn.queries import Examples
from dplearn.queries.factories import cost_of, oracle_for
from dplearn.records.design_matrix import DesignMatrix, plain_matrix
from dplearn.records.reading import (
    TABLE,
    as_product,
    check_classes,
    declared_classes,
    labels_assumed,
    read_features,
    read_labels,
    read_rows,
)

__all__ = ["LogisticPlan", "StatisticalQueryLogisticRegression"]

_NUMBERS = Product([Floats()])  # what is assumed of columns that nobody declared


class StatisticalQueryLogisticRegression(PrivateClassifier):
    """Learn linear margins of classes by statistical queries: sums of short vectors, each of one record.

    Each row, with a 1 added for the intercept, is scaled to length 1, so that no bound need be guessed: how
    long a row is tells nothing. No record's row is clipped.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; keep it far below one over the number of records. It
        pays for Gaussian noise, which many more columns and steps can stand. 0: Laplace noise, and pure
        differential privacy. "local" spends none.
    trust_model : {"central", "local"}, default="central"
        "central": noise is added to sums over all records. "local": each record reports one bit on one number
        of one sum, so that nobody need be trusted with it; that takes very many records.
    domain : Domain, sequence of Domain, Product or Schema, optional
        What values can occur: one domain for all columns or one for each. Values without an order get a
        column of 0 and 1 each, and numbers between bounds are scaled to -1..1: give bounds where there are
        any, since `Floats()`, which have none, become arsinh(x) / 12, so that 40 is 0.37 and counts little
        beside them. A domain with `missing=True` adds a column that is 1 where a number is missing. See
        `DesignMatrix`. None: finite numbers, taken as they are, also in a sparse matrix; columns should then
        be of like size, since large numbers drown the rest.
    n_steps : int or "auto", default="auto"
        How many steps of accelerated gradient descent, each with a query of its own. "auto": 24 (6 where
        delta is 0 in the central model), or 1 where noise would hide the answers to the others. Public
        numbers decide.
    classes : sequence, optional
        All labels that can occur. None: the labels of the schema, or else the labels that occur in `y`; the
        guarantee then assumes that the set of labels is public.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.

    Attributes
    ----------
    coef_ : ndarray of float64 of shape (n_classes, n_numbers), or (1, n_numbers) of two classes
        Released. The effect of each column of numbers on the margin of a row of typical length; with two
        classes, of the second. Comparable between fits: the columns of one categorical feature, of which each
        row has exactly one, sum to 0, and so do classes.
    coef_std_ : ndarray of float64, of the shape of `coef_`
        Released. Standard deviation of the privacy noise in each coefficient; see `coef_interval`.
    intercept_ : ndarray of float64 of shape (n_classes,) or (1,)
        Released. The margin of a row of typical length whose numbers are all 0, in the margin's units.
    offset_ : ndarray of float64 of shape (n_classes,) or (1,)
        Released. The part of the intercept that is not divided by a row's length: the decision function is
        `offset_ + (X @ coef_.T + intercept_ - offset_) / length`.
    metric_ : ndarray of float64 of shape (n_numbers + 1, n_numbers + 1)
        Released. The length of a row is that of the row, with a 1 added, times this matrix (with delta 0, the
        sum of magnitudes): about 1 for a typical row.
    n_steps_ : int
        Public. How many steps were taken.
    noise_ : str
        Public. "laplace", "gaussian" or "local".
    design_ : DesignMatrix or None
        Public. How columns are turned into columns of numbers, whose `names` go with `coef_`.
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted; declared, or assumed to be public.
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, with its assumptions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.queries.VectorQuery : What is asked of records.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; "local" with delta 0, even
    towards whoever collects the reports. Proof: each query is a sum over records of whole vectors, each a
    function of its own record and of what was released before, no longer than a public norm, which is checked
    in integers: products of a row of length 1 with itself, with what its label says, or with what the
    released weights say of it; and last, of two classes, one count by score bin and label; of more, two
    counts by bin of the label's margin, less that of the next class in one and of the previous class in the
    other. Each record is in one cell of each count. The oracle's noise is for that norm and the query's share
    of the budget, and the shares sum to 1. What is made of the answers is public.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** With probability at least 1 - beta no number of the first gradient is released with more
    noise than `plan(n_samples).tolerance`. A fit warns where `noise_to_signal` is 1 or more:
    public numbers say so, whatever the records.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 5: what can be learned
    by statistical queries can be learned locally. Rows scaled to one length in a released metric, a gradient
    whose part that labels have is asked for once, and a calibration by histograms are ours.
    """

    _finest = FINEST  # bits of the grid on which rows are; audits take fewer
    _levels = 9  # of scores; audits take fewer

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        trust_model: str = "central",
        domain: Any = None,
        n_steps: int | str = AUTO,
        classes: Sequence[Any] | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.trust_model = trust_model
        self.domain = domain
        self.n_steps = n_steps
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def plan(
        self,
        n_samples: int,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        beta: float = 0.05,
    ) -> LogisticPlan:
        """Return what a fit would guarantee and how it would ask, without any data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features : int, optional
            Number of columns; required unless `domain` determines it.
        n_labels : int, optional
            Number of labels; required unless `classes` or the schema determines it.
        beta : float, default=0.05
            Allowed probability of failure, in (0, 1).
        """
        params = self._params(self.random_state is not None)
        public = planned_table(params, n_samples, n_features=n_features, n_labels=n_labels)
        return self._plan(params, public, beta=beta)

    def _params(self, reproducible: bool) -> Params:
        classes = declared_classes(self.classes, self.domain)
        if classes is not None:
            check_classes(classes)
        return Params(
            cost_of(self.trust_model, self.epsilon, self.delta, reproducible=reproducible),
            trust_model=self.trust_model,
            declared=_declared(self.domain),
            n_steps=check_count_or_auto("n_steps", self.n_steps, low=1),
            classes=classes,
            finest=self._finest,
            levels=self._levels,
            random_state=self.random_state,
        )

    def _read(self, X: Any, y: Any, params: Params) -> Table:
        stream = self._public_stream(params)
        X = self._rows(X, params.declared, reset=True)
        classes, codes = read_labels(y, X.shape[0], params.classes)
        names = getattr(self, "feature_names_in_", None)
        public = Public(X.shape[0], X.shape[1], names=names, classes=classes, stream=stream)
        design = _design(params.declared, public)
        return Table(public, Examples(plain_matrix(X) if design is None else design.of(X), codes))

    def _plan(self, params: Params, public: Public, *, beta: float = 0.05) -> LogisticPlan:
        failure = check_number("beta", beta, above=0, below=1)
        design = _design(params.declared, public)
        plan = logistic_plan(params, public, design, beta=failure)
        assumed = (_NUMBERS if design is None else design.domain).assumes
        assumes = (*TABLE, *assumed, labels_assumed(params.classes))
        return replace(plan, guarantee=replace(params.cost, assumes=assumes))

    def _summarize(self, table: Table, plan: LogisticPlan) -> Examples:
        # One replaced record replaces one row and one label.
        return Examples(plan.rows(table.rows.X), table.rows.y)

    def _release(self, summary: Examples, plan: LogisticPlan, dice: Dice) -> LogisticModel:
        oracle = oracle_for(plan.noise, summary, privacy=plan.guarantee, dice=dice, stream=plan.public.stream)
        return learn_logistic(oracle, plan)

    def _publish(self, outcome: LogisticModel, plan: LogisticPlan) -> None:
        self.classes_ = plan.public.classes
        self.guarantee_ = plan.guarantee
        self.design_ = plan.design
        self.noise_, self.n_steps_ = plan.noise, plan.n_steps
        effects = Effects.of(outcome, plan.blocks)
        offsets = outcome.offsets
        self.metric_ = outcome.metric
        self.offset_ = offsets[1:] - offsets[:1] if len(self.classes_) == 2 else offsets
        self.coef_, self.coef_std_ = effects.coef, effects.deviation
        self.intercept_ = effects.intercept + self.offset_

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return margins: above 0 for the second of two classes, or the greatest for the predicted one.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for `fit`; numbers outside the domain count as its nearest value. Costs no privacy.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) of more than two
        """
        margins = self._model().margins(self._matrix(X))
        return margins[:, 1] if len(self.classes_) == 2 else margins

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, as calibrated on the training records.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._model().probabilities(self._matrix(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.asarray(log_softmax(self._model().margins(self._matrix(X)), axis=1), dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of `classes_`.
        """
        codes = self._model().margins(self._matrix(X)).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def coef_interval(self, beta: float = 0.05) -> NDArray[np.float64]:
        """Return where the coefficients of a fit without privacy noise would be; costs no privacy.

        Parameters
        ----------
        beta : float, default=0.05
            Probability, for each coefficient, of lying outside, in (0, 1).

        Returns
        -------
        ndarray of float64 of shape (n_classes, n_numbers, 2), or (1, n_numbers, 2) of two classes
            Lower and upper ends. Approximate: noise is taken to be Gaussian, and `metric_` to be known.
            They say nothing of other samples of records.
        """
        check_is_fitted(self)
        half = self.coef_std_ * ndtri(1 - float(check_number("beta", beta, above=0, below=1)) / 2)
        return np.stack([self.coef_ - half, self.coef_ + half], axis=-1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of numbers, which `coef_` has a weight for each of.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of `X`, where it had none; else they must be the same.

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
        if given is None or isinstance(
            domain, Schema
        ):  # of a frame, a schema takes the columns that it names
            return np.asarray(self.design_.names, dtype=object)
        return np.asarray(DesignMatrix(Product(domain.domains, given)).names, dtype=object)

    def _model(self) -> LogisticModel:
        check_is_fitted(self)
        weights = np.column_stack([self.coef_, self.intercept_ - self.offset_]).T
        offsets = self.offset_
        if len(self.classes_) == 2:
            weights = np.hstack([np.zeros_like(weights), weights])
            offsets = np.array([0.0, *offsets])
        return LogisticModel(row_order(self.noise_), self.metric_, weights, offsets)

    def _matrix(self, X: Any) -> Any:
        design = self.design_
        X = self._rows(X, None if design is None else design.domain, reset=False)
        return plain_matrix(X) if design is None else design.of(X, nearest=True)

    def _rows(self, X: Any, declared: Any, *, reset: bool) -> Any:
        if declared is None and issparse(X):
            return read_rows(self, X, reset=reset, sparse=True)
        return read_features(self, X, domain=declared, reset=reset)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        domain = _declared(self.domain)
        tags.input_tags.sparse = domain is None
        if domain is not None:
            tags.input_tags.allow_nan = domain.accepts_missing
            tags.input_tags.categorical = tags.input_tags.string = not domain.numeric
        return tags


def _declared(domain: Any) -> Any:
    """Return the domain of all columns alike, or of each; None where none is declared."""
    return None if domain is None else declared_columns(domain, Floats())


def _design(declared: Domain | Product | None, public: Public) -> DesignMatrix | None:
    return None if declared is None else DesignMatrix(as_product(declared, public.n_features, public.names))
