"""Private conjunctions: which values all records of one label have, asked for in a single round.

>>> import numpy as np
>>> X = np.random.default_rng(0).integers(0, 2, (20_000, 6))
>>> y = np.where(X[:, 1] & ~X[:, 4] & 1, "ill", "well")
>>> learner = ConjunctionClassifier(positive="ill", classes=["ill", "well"], random_state=0).fit(X, y)
>>> learner.concept_
'ill' if x1 > 0 and x4 <= 0, else 'well'
>>> learner.guarantee_.epsilon
Fraction(1, 1)
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from dplearn._validation import check_count, check_number
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.concepts.base import ChosenConcept
from dplearn.domains import Bits, Product
from dplearn.estimator import RuleClassifier
from dplearn.estimator.intake import (
    TABLE,
    as_product,
    check_classes,
    check_told,
    check_two_labels,
    known_classes,
    labels_assumed,
    read_features,
    read_labels,
)
from dplearn.learners.bins import MOST_BINS, Bins, binned, declared_columns, stacked
from dplearn.learners.conjunction_rule import learn_conjunction
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import Plan
from dplearn.queries import Examples
from dplearn.queries.opening import opened, price_of
from dplearn.theory.conjunction_queries import conjunction_error, conjunction_query_sample_size
from dplearn.theory.share_queries import central_noise

__all__ = ["ConjunctionClassifier", "ConjunctionPlan"]

_UNDECLARED = Bits()


class ConjunctionClassifier(RuleClassifier):
    """Learn a rule such as "yes if smoker and not retired and age > 40", by statistical queries.

    The rule is all that holds of the records with the label that is sought: any number of conditions, one
    for each column at most. All queries are asked together, before any is answered: so in the local model
    each record reports once, whatever others report.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. The decimal that is written is meant: 0.1 is 1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail. Some makes many columns less noisy in the central
        model; where it would not, none is spent.
    model : {"central", "local"}, default="central"
        "central": noise is added to counts of all records. "local": each record reports the value of one
        column, or that its label is the other one, through randomised response.
    domain : Domain, sequence of Domain, Product or Schema, optional
        What values can occur: one domain for all columns or one for each. Conditions on numbers are ranges,
        those on categories lists. None: `Bits()`, so that conditions can only say whether a number is above
        0; for numbers of which all are, declare bounds.
    n_bins : int, default=8
        Into how many bins of equal width the range of a column of numbers is cut, at least 2.
    positive : label, optional
        The label of records that satisfy the rule. None: the second in order, such as 1 or "yes".
    alpha : float, default=0.1
        Error that is wanted, in (0, 1). A condition is kept that few of the positive records break: at most
        alpha / 2 over the number of conditions there can be, or what noise alone may show, up to 1 / 2 over
        that number.
    beta : float, default=0.05
        Probability of failure that is allowed, in (0, 1).
    classes : sequence, optional
        The two labels that can occur. None takes those of the schema, or else those in `y`, and the
        guarantee then says that it assumes the set of labels public.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to, whoever calls it: clones, searches and workers too.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so.

    Attributes
    ----------
    concept_ : ChosenConcept
        Released. The rule, which it prints as.
    noise_ : str
        Public. "laplace" or "gaussian"; "local" for randomised response.
    classes_ : ndarray of shape (2,)
        Public. The labels, sorted: declared, or assumed public.
    guarantee_ : ApproxDP
        Public. What the fit promises, and on what assumptions.
    domain_ : Product
        Public. The domain of a record.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    ExponentialMechanismClassifier : Its "conjunctions" stand noisy labels, but have three literals at most.
    dplearn.theory.conjunction_queries.conjunction_query_sample_size : How many records it takes.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; "local" and "laplace" with
    delta 0, "local" even towards whoever collects the reports. Proof: a column's counts sort each record into
    one cell, its bin or that of the other label, so that replacing one moves two counts by 1; the columns'
    queries have equal parts of the budget ("central") or of the records ("local"). What is made of the
    answers is public.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** Of records that a conjunction of such conditions labels, from `plan(n_samples).n_needed` on,
    the error on their distribution is at most alpha with probability at least 1 - beta; see
    `conjunction_error` for the proof. That is for the worst distribution: a tenth of that is often enough.
    Labels must follow the conjunction: where a few per cent do not, conditions that hold are dropped, and in
    the end the rule is "always". For such labels take `ExponentialMechanismClassifier`.

    **Source.** Kearns (1998) for the algorithm by statistical queries; Kasiviswanathan, Lee, Nissim,
    Raskhodnikova and Smith (2011), Section 5, for its local form. There literals are bits.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        model: str = "central",
        domain: Any = None,
        n_bins: int = 8,
        positive: Any = None,
        alpha: float = 0.1,
        beta: float = 0.05,
        classes: Sequence[Any] | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.model = model
        self.domain = domain
        self.n_bins = n_bins
        self.positive = positive
        self.alpha = alpha
        self.beta = beta
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, *, n_features: int | None = None) -> "ConjunctionPlan":
        """Return what a fit would promise and how accurate it would be, without any data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features : int, optional
            Number of columns; needed unless the domain tells.
        """
        terms = self._terms(self.random_state is not None)
        n_samples = check_count("n_samples", n_samples, low=1)
        features = len(terms.declared) if isinstance(terms.declared, Product) else n_features
        features = check_told("n_features", features, source="domain")
        return terms.plan(n_samples, as_product(terms.declared, features, None))

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        # 1. Check what is public, and that the data are where they were declared to be.
        terms = self._terms(reproducible)
        stream = PublicStream.of(self.random_state, type(self).__name__)
        charge = self._open_account(terms.price)
        X = read_features(self, X, domain=terms.declared, reset=True)
        classes, y = read_labels(y, len(X), terms.classes)
        check_two_labels(classes, "a conjunction")
        positive = terms.positive_code(classes)
        domain = as_product(terms.declared, X.shape[1], getattr(self, "feature_names_in_", None))
        plan = terms.plan(len(X), domain)
        codes = domain.encode(X)
        _warn_if_few(plan)

        # 2. Fix the guarantee, and charge it to the ledger.
        charge(plan.guarantee)

        # 3. Summarise the data into integers: one replaced record replaces one bin a column, and one label.
        bins = terms.bins(domain)
        records = Examples(stacked(bins, codes), y)
        oracle = opened(plan.noise, records, privacy=plan.guarantee, dice=dice, stream=stream)

        # 4. Release.
        found = learn_conjunction(oracle, bins, positive=positive, alpha=plan.alpha, beta=plan.beta)

        # 5. Publish.
        self.classes_ = classes
        self.domain_ = domain
        self.guarantee_ = plan.guarantee
        self.noise_ = plan.noise
        self.concept_ = ChosenConcept(found, tuple(domain.names), tuple(classes.tolist()))

    def _predict_codes(self, columns: Any) -> NDArray[np.intp]:
        return self.concept_.predict(columns)

    def _terms(self, reproducible: bool) -> "_Terms":
        """Read and check all parameters."""
        classes = known_classes(self.classes, self.domain)
        if classes is not None:
            check_two_labels(check_classes(classes), "a conjunction")
        price = price_of(self.model, self.epsilon, self.delta, reproducible=reproducible)
        terms = _Terms(
            price=price,
            model=self.model,
            declared=declared_columns(self.domain, _UNDECLARED),
            n_bins=check_count("n_bins", self.n_bins, low=2, high=MOST_BINS),
            positive=self.positive,
            alpha=float(check_number("alpha", self.alpha, above=0, below=1)),
            beta=float(check_number("beta", self.beta, above=0, below=1)),
            classes=classes,
        )
        if classes is not None:
            terms.positive_code(check_classes(classes))
        return terms

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        domain = declared_columns(self.domain, _UNDECLARED)
        tags.input_tags.allow_nan = domain.accepts_missing
        tags.input_tags.categorical = tags.input_tags.string = not domain.numeric
        return tags


@dataclass(frozen=True)
class ConjunctionPlan(Plan):
    """What a fit of `ConjunctionClassifier` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would promise.
    noise : str
        Which noise it would add.
    n_samples : int
        Number of records.
    error : float
        If a conjunction labels the records, the error on their distribution is at most this, with
        probability at least 1 - beta.
    n_needed : int
        From how many records on that is at most alpha, in the worst case.
    alpha, beta : float
        As the estimator has them.
    """

    guarantee: ApproxDP
    noise: str
    n_samples: int
    error: float
    n_needed: int
    alpha: float
    beta: float


@dataclass(frozen=True)
class _Terms:
    """All parameters of one fit, read and checked before the data."""

    price: ApproxDP
    model: str
    declared: Any
    n_bins: int
    positive: Any
    alpha: float
    beta: float
    classes: Sequence[Any] | None

    def bins(self, domain: Product) -> tuple[Bins, ...]:
        """Return the bins of each column."""
        return tuple(binned(each, self.n_bins) for each in domain.domains)

    def plan(self, n_samples: int, domain: Product) -> ConjunctionPlan:
        """Return how a table of this shape will be learned."""
        sizes = [each.size for each in self.bins(domain)]
        if self.model == "local" and n_samples < len(sizes):
            raise ValueError(
                f"model='local' needs a record for each of {len(sizes)} columns, got n_samples={n_samples}"
            )
        noise = self._noise(len(sizes))
        delta = self.price.delta if noise == "gaussian" else Fraction(0)
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        asked = {"epsilon": self.price.epsilon, "delta": delta, "alpha": self.alpha, "beta": self.beta}
        return ConjunctionPlan(
            guarantee=replace(self.price, delta=delta, assumes=assumes),
            noise=noise,
            n_samples=n_samples,
            error=conjunction_error(sizes, n_samples, model=noise, **asked),
            n_needed=conjunction_query_sample_size(sizes, model=noise, **asked),
            alpha=self.alpha,
            beta=self.beta,
        )

    def positive_code(self, classes: NDArray[Any]) -> int:
        """Return the label code of records that satisfy the rule."""
        labels = classes.tolist()
        if self.positive is None:
            return 1
        if self.positive not in labels:
            raise ValueError(f"positive must be one of the two labels, got {self.positive!r}")
        return int(labels.index(self.positive))

    def _noise(self, n_queries: int) -> str:
        """Return where noise comes from: where there is a choice, what varies less."""
        if self.model == "local":
            return "local"
        return central_noise(n_queries, epsilon=self.price.epsilon, delta=self.price.delta)


def _warn_if_few(plan: ConjunctionPlan) -> None:
    """Warn if the public numbers promise less than is asked for."""
    if plan.n_samples < plan.n_needed:
        warnings.warn(
            f"n_samples is {plan.n_samples}: alpha={plan.alpha} and beta={plan.beta} take {plan.n_needed}"
            " records in the worst case; plan(n_samples, n_features=...) tells more, without any data",
            stacklevel=5,
        )
