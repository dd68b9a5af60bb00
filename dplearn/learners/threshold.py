"""A private threshold: two labels told apart by one cut of one column, no bounds to guess.

>>> import numpy as np
>>> generator = np.random.default_rng(0)
>>> heights = generator.normal(170, 10, (2000, 1))
>>> y = np.where(heights[:, 0] > 180, "tall", "short")
>>> learner = ThresholdClassifier(epsilon=1.0, classes=["short", "tall"], random_state=0).fit(heights, y)
>>> learner.direction_, 179.5 < learner.threshold_ < 180.5, learner.method_
('>', True, 'exponential')
>>> learner.guarantee_.epsilon, learner.guarantee_.delta
(Fraction(1, 1), Fraction(0, 1))
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from dplearn._validation import AUTO, check_choice, check_count, check_number
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.concepts.base import ChosenConcept
from dplearn.concepts.stumps import Stump
from dplearn.domains import Domain, NumberDomain, Product
from dplearn.estimator import RuleClassifier
from dplearn.estimator.intake import (
    as_product,
    check_classes,
    check_two_labels,
    known_classes,
    read_features,
    read_labels,
)
from dplearn.learners.threshold_methods import CutColumn, by_errors, by_interior_point
from dplearn.learners.threshold_terms import ThresholdPlan, ThresholdTerms
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.releases.reading import as_number_domain, is_pair
from dplearn.theory.thresholds_learning import (
    THRESHOLD_METHODS,
)

__all__ = ["ThresholdClassifier"]

_NAMES = 8  # columns in a message


class ThresholdClassifier(RuleClassifier):
    """Learn at which number of which column one label gives way to the other.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. The decimal that is written is meant: 0.1 is 1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, at least 0 and below 1. Neither method has a use for
        it yet, and none is spent.
    method : {"auto", "exponential", "interior_point"}, default="auto"
        "exponential" compares all cuts of all columns by the records that they get wrong: any labels, fewer
        than 2**64 cuts a column. "interior_point" chooses column and direction with a quarter of epsilon, and
        then a point between the greatest records of one label and the least of the other: labels that a cut
        can tell apart, any number of cuts. "auto" takes the one that promises fewer errors, which is
        "exponential" for every domain that it takes.
    domain : "float64", Domain, sequence of Domain, Product or Schema, default="float64"
        What values can occur: one domain for all columns or one for each. "float64" stands for all finite
        floats, `Floats()`, so that no bounds need be guessed; there magnitudes near 1 have the most cuts.
    feature : int or str, optional
        The column, by place or name. None chooses privately among all columns whose domain is ordered.
    alpha : float, default=0.1
        Error that is wanted, in (0, 1).
    beta : float, default=0.05
        Probability of failure that is allowed, in (0, 1).
    classes : sequence, optional
        The two labels that can occur. None takes those of the schema, or else those in `y`, and the guarantee
        then says that it assumes the set of labels public.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to, whoever calls it: clones, searches and workers too.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so.

    Attributes
    ----------
    threshold_ : number
        Released. The last number of the domain on the lower side; -inf where the cut is below the domain.
        What the domain does not tell from it lies on the lower side too.
    direction_ : {"<=", ">"}
        Released. Whether the second of `classes_` is at or below the threshold, or above it.
    feature_ : int
        Released. The column's place; public where `feature` names it.
    concept_ : ChosenConcept
        Released. The threshold as a rule, which it prints as.
    classes_ : ndarray of shape (2,)
        Public. The labels, sorted: declared, or assumed public.
    method_ : str
        Public. How it was learned.
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
    dplearn.theory.thresholds_learning.threshold_sample_size : How many records it takes.
    dplearn.learners.ExponentialMechanismClassifier : Other concepts, and more than two labels.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** `plan(n_samples)` tells how many errors in training beyond the least keep `beta`: with
    "exponential" for all labels, with "interior_point" for those that some threshold tells apart.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, for "interior_point"; Kasiviswanathan, Lee,
    Nissim, Raskhodnikova and Smith (2011), Section 3, for "exponential".
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        method: str = AUTO,
        domain: Any = "float64",
        feature: int | str | None = None,
        alpha: float = 0.1,
        beta: float = 0.05,
        classes: Sequence[Any] | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.domain = domain
        self.feature = feature
        self.alpha = alpha
        self.beta = beta
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, *, n_features: int | None = None) -> ThresholdPlan:
        """Return what a fit would promise and how accurate it would be, without any data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features : int, optional
            Number of columns; if left out, those of the fit, or 1. Those of a domain that lists them count
            instead.
        """
        n_samples = check_count("n_samples", n_samples, low=1)
        seen = getattr(self, "n_features_in_", 1)
        n_features = check_count("n_features", seen if n_features is None else n_features, low=1)
        terms = self._terms(self.random_state is not None)
        if isinstance(terms.declared, Product):
            n_features = len(terms.declared)
        domain = as_product(terms.declared, n_features, None)
        named = isinstance(terms.feature, str) and terms.feature not in domain.names
        # A name that only a data frame will tell is that of any column, if all have one domain.
        feature = 0 if named and not isinstance(terms.declared, Product) else terms.feature
        return terms.plan(n_samples, domain, _columns(domain, feature))

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        # 1. Check what is public, and that the data are where they were declared to be.
        terms = self._terms(reproducible)
        charge = self._open_account(terms.price)
        X = read_features(self, X, domain=terms.declared, reset=True)
        classes, y = read_labels(y, len(X), terms.classes)
        check_two_labels(classes, "a threshold")
        domain = as_product(terms.declared, X.shape[1], getattr(self, "feature_names_in_", None))
        columns = _columns(domain, terms.feature)
        method = terms.settled(columns)
        m = terms.examples(method, len(X), columns)
        codes = domain.encode(X)
        terms.warn_if_few(len(y), method, columns)

        # 2. Fix the guarantee, and charge it to the ledger.
        guarantee = terms.guarantee(domain)
        charge(guarantee)

        # 3. Summarise the data into integers: one replaced record replaces one code a column, and one label.
        asked = [codes[column.feature] for column in columns]

        # 4. Release.
        if method == "exponential":
            stump = by_errors(columns, asked, y, privacy=guarantee, dice=dice)
        else:
            stump = by_interior_point(columns, asked, y, m, privacy=guarantee, dice=dice)

        # 5. Publish.
        self.classes_ = classes
        self.domain_ = domain
        self.method_ = method
        self.guarantee_ = guarantee
        self._publish(stump)

    def _publish(self, stump: Stump) -> None:
        labels = tuple(self.classes_.tolist())
        self.concept_ = ChosenConcept(stump, tuple(self.domain_.names), labels)
        self.feature_ = stump.feature
        self.direction_ = "<=" if stump.inner else ">"
        self.threshold_ = _number(stump)

    def _predict_codes(self, columns: Any) -> NDArray[np.intp]:
        return self.concept_.predict(columns)

    def _terms(self, reproducible: bool) -> ThresholdTerms:
        """Read and check all parameters."""
        classes = known_classes(self.classes, self.domain)
        if classes is not None:
            check_two_labels(check_classes(classes), "a threshold")
        feature = self.feature
        if feature is not None and not isinstance(feature, str):
            feature = check_count("feature", feature)
        budget = ApproxDP(
            check_number("epsilon", self.epsilon, above=0), self.delta, reproducible=reproducible
        )
        return ThresholdTerms(
            price=replace(budget, delta=Fraction(0)),
            method=check_choice("method", self.method, (AUTO, *THRESHOLD_METHODS)),
            declared=_declared(self.domain),
            feature=feature,
            alpha=check_number("alpha", self.alpha, above=0, below=1),
            beta=check_number("beta", self.beta, above=0, below=1),
            classes=classes,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        domain = _declared(self.domain)
        tags.input_tags.allow_nan = domain.accepts_missing
        tags.input_tags.categorical = tags.input_tags.string = not domain.numeric
        return tags


def _declared(domain: Any) -> Any:
    """Return a domain of all columns alike, or of each; "float64" is read."""
    if isinstance(domain, (list, tuple)) and not is_pair(domain):
        return Product([_declared(each) for each in domain])
    return domain if isinstance(domain, (Domain, Product)) else as_number_domain(domain)


def _columns(domain: Product, feature: int | str | None) -> list[CutColumn]:
    """Return the columns that may be cut."""
    if feature is None:
        ordered = [CutColumn(place, each) for place, each in enumerate(domain.domains) if each.ordered]
        if not ordered:
            raise ValueError(f"domain must have an ordered column, got {brief(domain)}")
        return ordered
    if isinstance(feature, str):
        if feature not in domain.names:
            raise ValueError(f"feature must be {_places(domain.names)}, got {feature!r}")
        feature = list(domain.names).index(feature)
    place = check_count("feature", feature, high=len(domain) - 1)
    if not domain.domains[place].ordered:
        raise ValueError(f"feature must have an ordered domain, got {brief(domain.domains[place])}")
    return [CutColumn(place, domain.domains[place])]


def _places(names: Sequence[str]) -> str:
    """Return what a column can be named by."""
    if list(names) == [f"x{place}" for place in range(len(names))]:
        return (
            "the place of a column, as X has no names (a step before may have dropped them:"
            " pipe.set_output(transform='pandas'))"
        )
    shown = [*map(repr, names[:_NAMES]), *(["..."] if len(names) > _NAMES else [])]
    return f"the name or place of a column, among {', '.join(shown)}"


def _number(stump: Stump) -> Any:
    """Return the last number at or below a cut, or the code of a domain that no number stands for."""
    if stump.code < 0:
        return -math.inf
    if not isinstance(stump.domain, NumberDomain):
        return stump.code
    return stump.domain.decode(np.array([stump.code], dtype=object)).tolist()[0]
