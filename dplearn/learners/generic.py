"""The generic private learner: pick a concept by how few records it gets wrong, privately.

>>> from sklearn.datasets import load_iris
>>> from dplearn.domains import Grid
>>> X, y = load_iris(return_X_y=True)
>>> learner = ExponentialMechanismClassifier(
...     epsilon=1.0, domain=Grid(0, 10, 101), classes=[0, 1, 2], random_state=0
... ).fit(X, y)
>>> learner.concept_
0 if x2 < 3.8, else 2
>>> learner.guarantee_.epsilon
Fraction(1, 1)
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from dplearn._validation import check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.concepts import CONCEPT_CLASSES, ConceptClass, DecisionStumps
from dplearn.concepts.base import ChosenConcept
from dplearn.core.exact import selection_ratio
from dplearn.domains import Domain, DomainError, Product
from dplearn.estimator import RuleClassifier
from dplearn.estimator.intake import (
    TABLE,
    as_product,
    check_classes,
    check_told,
    known_classes,
    labels_assumed,
    read_features,
    read_labels,
)
from dplearn.mechanisms import select_exponential, select_permute_and_flip
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import Plan
from dplearn.releases.few_records import warn_if_few, written
from dplearn.theory import generic_sample_size

__all__ = ["ExponentialMechanismClassifier", "GenericPlan"]

#: From so many labels on, all pairs of which stumps are tried with, a fit takes long.
_MANY_LABELS = 200
_BETA = 0.05  # at which too few records are warned of, as `plan` has it
_MECHANISMS = {"exponential": select_exponential, "permute_and_flip": select_permute_and_flip}


class ExponentialMechanismClassifier(RuleClassifier):
    """Select one concept of a class, those with fewer training errors exponentially more probable.

    Parameters
    ----------
    concept_class : str or ConceptClass, default="stumps"
        "stumps" (any column, any cut, any label on each side), "thresholds" (the first column),
        "conjunctions" (at most three literals over bits, two labels), "parities" (sums of bits modulo 2, at
        most 26 columns, two labels), or an instance of a concept class, which then states the domain.
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. The decimal that is written is meant: 0.1 is 1/10.
    mechanism : {"exponential", "permute_and_flip"}, default="exponential"
        How to select. Permute-and-flip is never worse in expectation at the same epsilon; the exponential
        mechanism composes more tightly.
    domain : Domain, sequence of Domain, Product or Schema, optional
        What values can occur: one domain for all columns or one for each. None takes the class's default:
        for stumps and thresholds all finite floats, magnitudes between 2**-40 and 2**40 told apart to 32
        bits, so that no bounds need be guessed; for bits, whether a number is above 0.
    classes : sequence, optional
        All labels that can occur. None takes those of the schema, or else those in `y`, and the guarantee
        then says that it assumes the set of labels public.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to, whoever calls it: clones, searches and workers too.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so.

    Attributes
    ----------
    concept_ : ChosenConcept
        Released. The selected concept; prints as its rule.
    classes_ : ndarray of shape (n_classes,)
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
    dplearn.theory.generic_sample_size : How many records the learner needs.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.
    `guarantee_` is of one fit: a grid search or a cross-validation makes many, and `ledger` adds them up.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** With probability at least 1 - beta over the selection, the concept makes at most
    ln(size / beta) / ln(1 / ratio) training errors more than the best, ratio just above exp(-epsilon / 2).

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 3.
    """

    def __init__(
        self,
        concept_class: str | ConceptClass = "stumps",
        *,
        epsilon: float = 1.0,
        mechanism: str = "exponential",
        domain: Any = None,
        classes: Sequence[Any] | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.concept_class = concept_class
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.domain = domain
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def plan(
        self,
        n_samples: int,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        alpha: float = 0.1,
        beta: float = 0.05,
    ) -> "GenericPlan":
        """Return what a fit would promise and how accurate it would be, without any data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features : int, optional
            Number of columns; needed unless the domain or the concept class tells.
        n_labels : int, optional
            Number of labels; needed unless `classes`, the schema or the concept class tells.
        alpha : float, default=0.1
            Excess error that is wanted over the best concept.
        beta : float, default=0.05
            Probability of failure that is allowed.
        """
        n_samples = check_count("n_samples", n_samples, low=1)
        mechanism = self._check_parameters()
        known = self._known_classes()
        labels = n_labels if known is None else len(known)
        features = len(self.domain) if isinstance(self.domain, (Product, list, tuple)) else n_features
        if isinstance(self.concept_class, ConceptClass):
            labels, features = self.concept_class.n_labels, 0
        features = check_told("n_features", features, source="domain", low=0)
        labels = check_told("n_labels", labels, source="classes", low=0)
        concepts = _concepts(self.concept_class, self.domain, features, labels, None)
        guarantee = _guarantee(self._price(self.random_state is not None), concepts, range(labels))
        beta = float(check_number("beta", beta, above=0, below=1))
        excess = _excess_errors(concepts, guarantee, beta)
        return GenericPlan(
            guarantee=guarantee,
            mechanism=mechanism,
            class_size=concepts.size,
            n_samples=n_samples,
            excess_error=min(1.0, ceil(min(excess, n_samples)) / n_samples),
            n_needed=generic_sample_size(concepts.size, epsilon=self.epsilon, alpha=alpha, beta=beta),
            alpha=alpha,
            beta=beta,
        )

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        # 1. Check what is public, and that the data are where they were declared to be.
        select = _MECHANISMS[self._check_parameters()]
        price = self._price(reproducible)
        charge = self._open_account(price)
        concept_class, domain, declared = self.concept_class, self.domain, self._declared()
        known = self._known_classes()
        X = read_features(self, X, domain=declared, reset=True)
        classes, codes = read_labels(y, len(X), known)
        names = getattr(self, "feature_names_in_", None)
        concepts = _concepts(concept_class, domain, X.shape[1], len(classes), names)
        _check_labels(concepts, len(classes), declared=known is not None)
        columns = concepts.domain.encode(X)
        _warn_if_few(len(X), concepts, price)

        # 2. Fix the guarantee, and charge it to the ledger.
        guarantee = _guarantee(price, concepts, known)
        charge(guarantee)

        # 3. Summarise the data into integers: one replaced record moves each member's errors by at most 1.
        profile = concepts.error_profile(columns, codes)
        errors, members = profile.groups()

        # 4. Release.
        group, member = select(errors, members, privacy=guarantee, dice=dice)
        chosen = profile.member(errors[group], member)

        # 5. Publish.
        self.classes_ = classes
        self.domain_ = concepts.domain
        self.guarantee_ = guarantee
        self.concept_ = ChosenConcept(chosen, tuple(concepts.domain.names), tuple(classes.tolist()))

    def _predict_codes(self, columns: Any) -> NDArray[np.intp]:
        return self.concept_.predict(columns)

    def _context(self) -> tuple[object, ...]:
        return str(self.epsilon), self.mechanism, repr(self.concept_class), repr(self.domain)

    def _check_parameters(self) -> str:
        check_number("epsilon", self.epsilon, above=0)
        if (known := self._known_classes()) is not None:
            check_classes(known)
        declared = self.domain if isinstance(self.domain, (list, tuple)) else [self.domain]
        if not all(part is None or isinstance(part, (Domain, Product)) for part in declared):
            raise TypeError(
                f"domain must be a Domain, a sequence of them, a Product or a Schema, got {self.domain!r}"
            )
        return check_choice("mechanism", self.mechanism, tuple(_MECHANISMS))

    def _known_classes(self) -> Sequence[Any] | None:
        return known_classes(self.classes, self.domain)

    def _declared(self) -> Any:
        """Return what was declared of the columns; it tells how to read them."""
        if isinstance(self.concept_class, ConceptClass):
            return self.concept_class.domain
        return Product(self.domain) if isinstance(self.domain, (list, tuple)) else self.domain

    def _price(self, reproducible: bool) -> ApproxDP:
        """Return what a fit promises so far as its parameters tell: all but the assumptions."""
        return ApproxDP(self.epsilon, reproducible=reproducible)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        domain = self._declared()
        kind = CONCEPT_CLASSES.get(self.concept_class) if isinstance(self.concept_class, str) else None
        tags.classifier_tags.multi_class = kind is None or not kind.binary_only
        if domain is not None:
            tags.input_tags.allow_nan = domain.accepts_missing
            tags.input_tags.categorical = tags.input_tags.string = not domain.numeric
        return tags


def _concepts(
    concept_class: str | ConceptClass,
    domain: Any,
    n_features: int,
    n_labels: int,
    names: Sequence[str] | None,
) -> ConceptClass:
    """Return the concept class, built if only its name was given."""
    if isinstance(concept_class, ConceptClass):
        if domain is not None:
            raise ValueError("domain must be None where concept_class states it, got both")
        if concept_class.n_labels != n_labels:
            raise ValueError(
                f"concept_class must have as many labels as there are classes, {n_labels},"
                f" got {concept_class.n_labels}"
            )
        return concept_class
    kind = CONCEPT_CLASSES[check_choice("concept_class", concept_class, tuple(CONCEPT_CLASSES))]
    if kind.binary_only and n_labels != 2:
        raise ValueError(
            "Only binary classification is supported with concept_class"
            f" {concept_class!r}, which needs 2 classes, got {n_labels} class"
            + ("es" if n_labels != 1 else "; classes=[...] declares both")
        )
    domain = kind.default_domain if domain is None else domain
    return kind.over(as_product(domain, n_features, names), n_labels)


def _check_labels(concepts: ConceptClass, n_labels: int, *, declared: bool) -> None:
    """Refuse so many labels that nobody declared that they look like numbers; warn of them if declared."""
    if n_labels < _MANY_LABELS or not isinstance(concepts, DecisionStumps):
        return
    if not declared:
        raise DomainError(
            f"y has {n_labels} labels, {_MANY_LABELS} or more, and none is declared: if it is a number to"
            " predict, cut it into a few public ranges first, such as y > 40; if they are labels,"
            " classes=[...] declares them (--labels on the command line): those taken from y are published"
        )
    warnings.warn(
        f"y has {n_labels} labels: a rule names two of them, and a fit takes time in proportion to the number"
        " of pairs; join labels into fewer, or take another learner, such as StatisticalQueryNaiveBayes",
        stacklevel=5,
    )


def _excess_errors(concepts: ConceptClass, price: ApproxDP, beta: float) -> float:
    """Return how many more errors than the best member one makes at most, with probability 1 - beta."""
    # -log(ratio) >= 1 - ratio, which floats still resolve where they take the ratio for 1.
    ratio = selection_ratio(price.epsilon)
    return (log(concepts.size) - log(beta)) / max(-log(ratio), float(1 - ratio))


def _warn_if_few(n_samples: int, concepts: ConceptClass, price: ApproxDP) -> None:
    """Warn if a constant label, of which half are right, may be as good as what comes out."""
    warn_if_few(
        n_samples,
        _excess_errors(concepts, price, _BETA),
        enough=n_samples / 2,
        problem=f"with epsilon {float(price.epsilon):.3g} and {written(concepts.size)} concepts, half of the"
        " records more may come out wrong than with the best of them",
        fewer=", or take fewer columns",
        stacklevel=5,
    )


def _guarantee(price: ApproxDP, concepts: ConceptClass, classes: Sequence[Any] | None) -> ApproxDP:
    assumes = (*TABLE, *concepts.domain.assumes, *concepts.assumes, labels_assumed(classes))
    return replace(price, assumes=assumes)


@dataclass(frozen=True)
class GenericPlan(Plan):
    """What a fit of the generic learner would give.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would promise.
    mechanism : str
        How it would select.
    class_size : int
        Number of concepts.
    n_samples : int
        Number of records.
    excess_error : float
        With probability at least 1 - beta the training error exceeds the best concept's by at most this.
    n_needed : int
        Number of records from which on the true error exceeds the best concept's by at most alpha with
        probability at least 1 - beta.
    alpha, beta : float
        As asked for.
    """

    guarantee: ApproxDP
    mechanism: str
    class_size: int
    n_samples: int
    excess_error: float
    n_needed: int
    alpha: float
    beta: float
