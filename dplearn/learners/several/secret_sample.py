"""Empirical learning from distribution learning: a private fit on a secret sample of the records.

A learner with small error on every distribution has a small training error on a sample of the records. The
secrecy of the sample amplifies privacy, which compensates for records that are drawn several times.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import check_count
from dplearn.chance import public_seed
from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateClassifier
from dplearn.estimator.importances import HasImportances
from dplearn.estimator.isolation import learner_alone
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.fit import refuse_wrapped
from dplearn.kernels import first
from dplearn.learners.several.multi_output import PrivateMultiOutputClassifier
from dplearn.learners.votes import EnsembleClassifier
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.derived import subsampled
from dplearn.privacy.plan import StatedPlan
from dplearn.table import InMemory, Table
from dplearn.table.features import read_rows
from dplearn.table.table import shape_of, taken


@documented_by()
@dataclass(eq=False, repr=False)
class SecretSampleClassifier(HasImportances, PrivateClassifier):
    """Fit a private classifier on a secret sample of the records, drawn with replacement.

    Drop-in: any number of predictions costs no privacy.

    Parameters
    ----------
    estimator : PrivateClassifier
        The classifier to fit. Its predictions must be functions of the release of its fit, its guarantee must
        be an `ApproxDP` for examples, and its `ledger` must be None.
    sample_size : int
        Number of rows drawn, at least 1. With an epsilon of at most 1, half the number of records is never
        too large. The greatest size is `largest_sample_size` of the plan.
    random_state
        ... The `random_state` of `estimator` is not used.

    Attributes
    ----------
    estimator_ : PrivateClassifier
        Released. The fitted classifier; its `guarantee_` is the guarantee of this fit.
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted; declared by `estimator`, or assumed to be public.
    guarantee_, feature_importances_, n_features_in_, feature_names_in_

    Notes
    -----
    **Privacy.** The guarantee is `subsampled` of the guarantee of `estimator`, the sample size and the number
    of records.

    **Accuracy.** If on every distribution, with probability at least 1 - beta over `sample_size` records, the
    error of `estimator` is at most alpha, then with probability at least 1 - beta the training error of this
    classifier is at most alpha.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.9, with n = 9 m; here n is any number for
    which the guarantee holds.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn import SecretSampleClassifier, ThresholdClassifier
    >>> from dplearn.domains import IntegerRange
    >>> X = np.arange(4000)[:, None] % 100
    >>> y = X[:, 0] > 40
    >>> inner = ThresholdClassifier(epsilon=1.0, domain=IntegerRange(0, 99), classes=[False, True])
    >>> model = SecretSampleClassifier(inner, sample_size=400, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9, model.guarantee_.epsilon < 0.5
    (True, True)
    """

    estimator: Any
    _: KW_ONLY
    sample_size: int
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def plan(self, n_samples: int, **parameters: Any) -> StatedPlan:
        """Return the plan of a fit: its guarantee and the plan of `estimator` for the sample. No data is
        read.

        Parameters
        ----------
        **parameters
            Further parameters of the `plan` of `estimator`, such as n_features.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `n_samples`, `sample_size`, `largest_sample_size`, and `estimator_plan`, the plan
            of `estimator` for the sample.

        Raises
        ------
        ValueError
            If `sample_size` is too large for the number of records; the message contains the greatest size.
        """
        fit = self._recipe(self.random_state is not None)
        n = check_count("n_samples", n_samples, low=1)
        inner_plan = fit.inner.plan(fit.sample_size, **parameters)
        return _planned(fit, n, inner_plan)

    def _recipe(self, reproducible: bool) -> "SecretSampleFit":
        inner, m = self._inner(), check_count("sample_size", self.sample_size, low=1)
        fit = inner._recipe(reproducible)
        return SecretSampleFit(self, fit.cost, inner=inner, fit=fit, sample_size=m)

    def _publish(self, outcome: Any, plan: StatedPlan) -> None:
        outcome.guarantee_ = plan.guarantee
        self.estimator_, self.classes_ = outcome, outcome.classes_

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the fitted classifier; costs no privacy."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def _inner(self) -> Any:
        """Return an unfitted clone of the estimator, with a random state of its own."""
        if (
            not isinstance(self.estimator, PrivateClassifier)
            or isinstance(
                self.estimator, (EnsembleClassifier, SecretSampleClassifier, PrivateMultiOutputClassifier)
            )
            or not hasattr(self.estimator, "classes")
        ):
            raise TypeError(
                "estimator must be a private classifier whose predictions are functions of its fit's release,"
                f" got {type(self.estimator).__name__}"
            )
        if self.estimator.ledger is not None:
            raise ValueError("estimator must have no ledger: only the ledger of this classifier is charged")
        refuse_wrapped(type(self).__name__, [self.estimator])
        seed = None if self.random_state is None else public_seed(self.random_state, type(self).__name__)
        inner: Any = clone(self.estimator)
        return inner.set_params(random_state=seed)

    def _context(self) -> tuple[object, ...]:
        context = self.estimator._context() if isinstance(self.estimator, PrivateClassifier) else ()
        return type(self.estimator).__name__, *context, repr(self.sample_size)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = replace(inner.input_tags, sparse=False)
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


class SecretSampleFit(FitRecipe):
    """The fit of `SecretSampleClassifier`."""

    def cost_of(self, X: Any, y: Any) -> ApproxDP | None:
        """Return the cost of a fit, which depends on the number of rows."""
        n = _n_rows(X)
        shape = shape_of(X)
        sample = (
            None if shape is None else np.broadcast_to(0, (self.sample_size, shape[1]))
        )  # its shape alone
        inner = self.fit.cost_of(sample, y)
        return None if n is None or inner is None else _guaranteed(inner, self.sample_size, n)

    def chosen(self) -> FitRecipe:
        return self.given(fit=self.fit.chosen())

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        rows = read_rows(reader, X, reset=True, sparse=False)
        return learner_alone(self.inner, lambda: self.fit.read(rows, y))

    def plan(self, facts: FitFacts) -> StatedPlan:
        # The labels of the inner fit are those of all records, since the labels in the sample are private.
        drawn = replace(facts, n_samples=self.sample_size)
        return _planned(self, facts.n_samples, self.fit.planned(drawn))

    def run(self, summary: Any, plan: StatedPlan, dice: Dice) -> Any:
        places = np.asarray(dice.below(plan.n_samples, size=plan.sample_size), dtype=np.int64)
        fit, inner_plan = self.fit, plan.estimator_plan
        drawn = Table(InMemory(taken(summary, places)), facts=inner_plan.public)
        return learner_alone(self.inner, lambda: fit.run(fit.summarized(drawn, inner_plan), inner_plan, dice))

    def try_out(self, plan: StatedPlan, table: Table) -> StatedPlan:
        tried = self.fit.try_out(plan.estimator_plan, table)
        return replace(plan, states={**plan.states, "estimator_plan": tried}, warns=tried.warnings)

    def late_warnings(self, learner: Any, plan: StatedPlan) -> tuple[str, ...]:
        return self.fit.late_warnings(learner.estimator_, plan.estimator_plan)

    def publish(self, learner: Any, facts: Any, outcome: Any, plan: StatedPlan) -> None:
        inner = clone(self.inner)
        self.fit.publish(inner, plan.estimator_plan.public, outcome, plan.estimator_plan)
        super().publish(learner, facts, inner, plan)


def _planned(params: FitRecipe, n: int, inner_plan: Any) -> StatedPlan:
    m, guarantee = params.sample_size, inner_plan.guarantee
    return StatedPlan(
        _guaranteed(guarantee, m, n),
        title="SecretSamplePlan",
        states={
            "n_samples": n,
            "sample_size": m,
            "largest_sample_size": _largest(guarantee, n),
            "estimator_plan": inner_plan,
        },
        warns=inner_plan.warnings,
    )


def _n_rows(X: Any) -> int | None:
    """Return the number of rows if X has a length or a shape, else None."""
    shape = getattr(X, "shape", None)
    if shape is None:
        return len(X) if isinstance(X, (list, tuple)) else None
    return int(shape[0]) if len(shape) == 2 else None


def _guaranteed(guarantee: ApproxDP, m: int, n: int) -> ApproxDP:
    try:
        return subsampled(guarantee, m=m, n=n)
    except ValueError as error:
        if m > 1 and _fits(guarantee, 1, n) and not _fits(guarantee, m, n):
            raise ValueError(
                f"sample_size must be at most {_largest(guarantee, n)} with epsilon"
                f" {float(guarantee.epsilon):g} and n_samples={n}, got {m}: with more rows, repeated draws"
                " of a record cost more privacy than the secrecy of the sample gains"
            ) from None
        raise ValueError(f"sample_size={m} is not valid for n_samples={n}: {error}") from None


def _fits(guarantee: ApproxDP, m: int, n: int) -> bool:
    """Return whether m is a valid sample size."""
    try:
        subsampled(guarantee, m=m, n=n)
    except ValueError:
        return False
    return True


def _largest(guarantee: ApproxDP, n: int) -> int:
    """Return the greatest valid sample size, which is below n by Bernoulli's inequality."""
    return max(1, first(lambda m: not _fits(guarantee, m, n), 1, n) - 1)
