"""Masked parity: what takes two rounds of questions to learn, and cannot be learned in one.

>>> import numpy as np
>>> generator = np.random.default_rng(0)
>>> bits, index = generator.integers(0, 2, (3000, 8)), generator.integers(0, 8, 3000)
>>> mask = generator.integers(0, 2, 3000)
>>> X = masked_rows(bits, index, mask)
>>> parity = bits[:, 1] ^ bits[:, 5]
>>> y = np.where(mask, np.isin(index, [1, 5]), 1 - parity)
>>> learner = MaskedParityClassifier(epsilon=1.0, classes=[0, 1], binarize=None, random_state=0).fit(X, y)
>>> learner.parity_.tolist(), learner.intercept_, learner.rounds_
([0, 1, 0, 0, 0, 1, 0, 0], 1, 2)
>>> learner.concept_
if x11: 1 if x8..x10 is 1 or 5, else 0; otherwise: 1 if x1 + x5 is even, else 0
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import check_choice, check_count, check_number
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.concepts.base import ChosenConcept
from dplearn.concepts.masked_parities import MaskedParity, masked_layout, masked_rows
from dplearn.domains import Bits, Product
from dplearn.estimator import RuleClassifier
from dplearn.estimator.bit_rows import packed_rows
from dplearn.estimator.intake import (
    TABLE,
    as_product,
    check_classes,
    check_two_labels,
    labels_assumed,
    read_features,
    read_labels,
    read_rows,
)
from dplearn.learners.masked_parity_rounds import Asking, MaskedRecords, learn_masked_parity
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import Plan
from dplearn.queries.opening import opened
from dplearn.theory.masked_parity import (
    MaskedParitySizes,
    masked_parity_sample_size,
    masked_parity_sizes,
)
from dplearn.theory.queries import QUERY_MODELS

__all__ = ["MaskedParityClassifier", "MaskedParityPlan", "masked_rows"]


class MaskedParityClassifier(RuleClassifier):
    """Learn a parity of which half of the records show one bit each, and the other half sums only.

    A record has d bits x, an index i and a mask. With mask, its label is bit i of a hidden r; without, it is
    the sum of the bits of x that r has, modulo 2, or always the complement of that. Two rounds of
    averages learn it: one finds r, the next, which needs r, whether there is a complement. One round finds r
    and no more, whoever asks: it separates what can be learned with and without interaction.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. The decimal that is written is meant.
    delta : float, default=0.0
        Probability with which the guarantee may fail. Neither model has a use for it, and none is spent.
    model : {"central", "local"}, default="central"
        "central": whoever fits sees the records and answers about all of them with noise. "local": each
        record answers one question, by a report that it randomises itself.
    interactive : bool, default=True
        Whether there is a second round. Without it, records without mask get the label that most of them
        have, which is right for half of them.
    beta : float, default=0.05
        Probability of failure that is allowed, in (0, 1); for `plan` and a warning.
    binarize : float or None, default=0.0
        Numbers above it count as 1, others as 0. None: values must be 0 or 1 already.
    classes : sequence, optional
        The two labels that can occur. None takes those in `y`, and the guarantee then says that it assumes
        the set of labels public.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to, whoever calls it: clones, searches and workers too.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so.

    Attributes
    ----------
    parity_ : ndarray of uint8 of shape (d,)
        Released. 1 for each bit of x that is added: the hidden r.
    intercept_ : int
        Released. 1 where records without mask get the complement; with `interactive=False` the label code
        that all of them get.
    concept_ : ChosenConcept
        Released. The rule, which it prints as.
    rounds_ : int
        Public. How many rounds of questions there were.
    classes_ : ndarray of shape (2,)
        Public. The labels, sorted: declared, or assumed public.
    guarantee_ : ApproxDP
        Public. What the fit promises, and on what assumptions.
    domain_ : Product
        Public. What counts as 1 in each column.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.learners.masked_parity.masked_rows : Makes a table of this form from bits, an index and a mask.
    dplearn.theory.masked_parity.masked_parity_sample_size : How many records it takes.

    Notes
    -----
    All columns are bits: first x, then the index in binary, its lowest bit first, last the mask. Of so many
    columns as many are bits of x as can be, so that ceil(log2(d)) are left for the index.

    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.
    With "local" even towards whoever collects the reports.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** `plan(n_samples, n_features=...)` bounds the probability that the rule is not the one that
    labels all records, where masks are fair coins and indices uniform; x may have any distribution.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 5.3.
    """

    parity_: NDArray[np.uint8]
    intercept_: int
    concept_: ChosenConcept

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        model: str = "central",
        interactive: bool = True,
        beta: float = 0.05,
        binarize: float | None = 0.0,
        classes: Sequence[Any] | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.model = model
        self.interactive = interactive
        self.beta = beta
        self.binarize = binarize
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, *, n_features: int) -> "MaskedParityPlan":
        """Return what a fit would promise and how accurate it would be, without any data.

        Parameters
        ----------
        n_samples, n_features : int
            Numbers of records and of columns: bits, index and mask.
        """
        terms = self._terms(self.random_state is not None)
        n_bits, _ = masked_layout(check_count("n_features", n_features, low=1))
        sizes = terms.sizes(check_count("n_samples", n_samples, low=1), n_bits)
        return MaskedParityPlan(
            guarantee=terms.guarantee(as_product(terms.bits, n_features, None)),
            n_samples=n_samples,
            n_bits=n_bits,
            n_rounds=1 + terms.interactive,
            first_share=float(sizes.first_share),
            failure=sizes.failure,
            n_needed=terms.n_needed(n_bits),
            alpha=0.0 if terms.interactive else 0.25,
            beta=float(terms.beta),
        )

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        # 1. Check what is public, and that the data are where they were declared to be.
        terms = self._terms(reproducible)
        stream = PublicStream.of(self.random_state, type(self).__name__)
        charge = self._open_account(terms.price)
        X = self._rows(X, reset=True)
        n_bits, _ = masked_layout(X.shape[1])
        classes, codes = read_labels(y, X.shape[0], terms.classes)
        check_two_labels(classes, "a masked parity")
        sizes = terms.sizes(X.shape[0], n_bits)
        domain = as_product(terms.bits, X.shape[1], getattr(self, "feature_names_in_", None))
        matrix = packed_rows(X, domain)
        _warn_if_few(terms, sizes, X.shape[0], n_bits)

        # 2. Fix the guarantee, and charge it to the ledger.
        guarantee = terms.guarantee(domain)
        charge(guarantee)

        # 3. Summarise the data into integers: one replaced record replaces one row of bits, and one label.
        records = MaskedRecords.of(matrix, n_bits, codes)

        # 4. Release.
        kind = "local" if terms.model == "local" else "laplace"
        oracle = opened(kind, records, privacy=guarantee, dice=dice, stream=stream)
        chosen = learn_masked_parity(oracle, n_bits, *_askings(sizes), domain)

        # 5. Publish.
        self.classes_ = classes
        self.domain_ = domain
        self.guarantee_ = guarantee
        self.rounds_ = len(oracle.rounds)
        self._publish(chosen)

    def _publish(self, chosen: MaskedParity) -> None:
        self.parity_ = np.zeros(chosen.n_bits, dtype=np.uint8)
        self.parity_[list(chosen.shown)] = 1
        self.intercept_ = chosen.parity.intercept
        self.concept_ = ChosenConcept(chosen, tuple(self.domain_.names), tuple(self.classes_.tolist()))

    def _codes(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        rows = packed_rows(self._rows(X, reset=False), self.domain_, nearest=True)
        return self.concept_.predict(list(rows.unpack().T))

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Return X as `packed_rows` takes it."""
        if issparse(X):
            return read_rows(self, X, reset=reset, sparse=True)
        return read_features(self, X, domain=Bits(self.binarize), reset=reset)

    def _terms(self, reproducible: bool) -> "_Terms":
        """Read and check all parameters."""
        if self.classes is not None:
            check_two_labels(check_classes(self.classes), "a masked parity")
        if not isinstance(self.interactive, (bool, np.bool_)):
            raise TypeError(f"interactive must be True or False, got {self.interactive!r}")
        budget = ApproxDP(
            check_number("epsilon", self.epsilon, above=0), self.delta, reproducible=reproducible
        )
        return _Terms(
            price=replace(budget, delta=Fraction(0)),
            model=check_choice("model", self.model, QUERY_MODELS),
            interactive=bool(self.interactive),
            beta=check_number("beta", self.beta, above=0, below=1),
            bits=Bits(self.binarize),
            classes=self.classes,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class MaskedParityPlan(Plan):
    """What a fit of `MaskedParityClassifier` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would promise.
    n_samples : int
        Number of records.
    n_bits : int
        How many of the columns are bits of x.
    n_rounds : int
        How many rounds of questions there would be.
    first_share : float
        What part of epsilon, or of the records, the first would take.
    failure : float
        A bound on the probability that the error exceeds `alpha`, where a masked parity labels all records,
        masks are fair coins and indices uniform; with one round, bits fair coins besides.
    n_needed : int
        From how many records on `failure` is at most `beta`.
    alpha : float
        The error that is promised: 0, or 1/4 with one round.
    beta : float
        As the estimator has it.
    """

    guarantee: ApproxDP
    n_samples: int
    n_bits: int
    n_rounds: int
    first_share: float
    failure: float
    n_needed: int
    alpha: float
    beta: float


@dataclass(frozen=True)
class _Terms:
    """All parameters of one fit, read and checked before the data."""

    price: ApproxDP
    model: str
    interactive: bool
    beta: Fraction
    bits: Bits
    classes: Sequence[Any] | None

    def sizes(self, n_samples: int, n_bits: int) -> MaskedParitySizes:
        return masked_parity_sizes(
            n_samples,
            n_bits=n_bits,
            epsilon=self.price.epsilon,
            model=self.model,
            interactive=self.interactive,
        )

    def n_needed(self, n_bits: int) -> int:
        return masked_parity_sample_size(
            n_bits,
            epsilon=self.price.epsilon,
            beta=self.beta,
            model=self.model,
            interactive=self.interactive,
        )

    def guarantee(self, domain: Product) -> ApproxDP:
        """Return what a fit promises."""
        return replace(self.price, assumes=(*TABLE, *domain.assumes, labels_assumed(self.classes)))


def _askings(sizes: MaskedParitySizes) -> tuple[Asking, Asking | None]:
    """Return how each round asks; the last takes all that is left."""
    if sizes.second_way is None:
        return Asking(sizes.first_way), None
    return Asking(sizes.first_way, {"share": sizes.first_share}), Asking(sizes.second_way)


def _warn_if_few(terms: _Terms, sizes: MaskedParitySizes, n_samples: int, n_bits: int) -> None:
    """Warn if the public numbers promise less than is asked for."""
    if sizes.failure > terms.beta:
        warnings.warn(
            f"n_samples is {n_samples}: beta={float(terms.beta):g} with model={terms.model!r} takes"
            f" {terms.n_needed(n_bits)} records of {n_bits} bits; plan(n_samples, n_features=...) tells more,"
            " without any data",
            stacklevel=5,
        )
