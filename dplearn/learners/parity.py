"""Private learning of parities by linear algebra over GF(2)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import (
    AUTO,
    check_bool,
    check_choice,
    check_count,
    check_count_or_auto,
    check_number,
    is_positive,
)
from dplearn.chance.dice import Dice
from dplearn.concepts import Parity
from dplearn.concepts.base import ChosenConcept
from dplearn.domains import Bits
from dplearn.estimator.base import SeveralOutputsClassifier
from dplearn.estimator.recipe import FitRecipe, Public, PublicOutputs
from dplearn.fit.relation import TABLE
from dplearn.learners.parity_methods import PARITY_METHODS, Equations, ParityPlan, chosen_plan
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.table.encodings import packed_rows, read_bits
from dplearn.table.features import as_product
from dplearn.table.rows import shape_of
from dplearn.table.targets import check_two_labels, declared_sets, labels_assumed, n_outputs_of, read_outputs

__all__ = ["ParityClassifier", "ParityPlan"]


@dataclass(eq=False, repr=False, kw_only=True)
class ParityClassifier(SeveralOutputsClassifier):
    """Learn a parity: the label is the sum modulo 2 of the bits of some columns.

    No statistical-query learner learns parities efficiently, with or without privacy. Gaussian elimination
    does; if labels are noisy, the learner selects among all 2**d parities instead.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples.
        `method="stable"` requires a positive delta; the other methods spend none.
    method : {"auto", "agnostic", "elimination", "stable"}, default="auto"
        "agnostic": the exponential mechanism over all parities, scored by training errors; for any labels and
        up to 26 columns. "elimination": Gaussian elimination; for any number of columns, and labels without
        noise. "stable": Gaussian elimination on disjoint parts, and release of the most frequent solution if
        it is stable; for any number of columns and several labels at once, labels without noise, and columns
        near independent fair coins. "auto": the first of these, in this order, for which there are enough
        records, or else the first that is applicable.
    alpha : float, default=0.1
        Target error, from 1e-9 and below 1.
    beta : float, default=0.05
        Allowed probability of failure, in (0, 1).
    fit_intercept : bool, default=False
        Whether to learn also complements of parities.
    binarize : float or None, default=0.0
        Numbers above it become 1, others 0. None: all values must be 0 or 1.
    n_parts : int or "auto", default="auto"
        Number of disjoint parts of "elimination" and "stable". "auto": a function of public numbers.
    test_size : int or "auto", default="auto"
        Number of further records on which "elimination" compares the candidates of the parts. "auto": a
        function of public numbers.
    classes : sequence, optional
        The two labels that can occur, known without looking at the data; with several outputs, a sequence of
        two for each. None: the labels that occur in `y`; the guarantee then assumes that the set of labels is
        public.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.

    Attributes
    ----------
    parity_ : ndarray of uint8 of shape (n_features,) or (n_outputs, n_features)
        Released. 1 for each column of the parity; all 0 after an abstention.
    intercept_ : int or ndarray of uint8 of shape (n_outputs,)
        Released. 1 if the complement of the parity was learned, else 0.
    abstained_ : bool
        Released. Whether the mechanism abstained; the first of `classes_` is then predicted for every record.
    concept_ : ChosenConcept or list of ChosenConcept
        Released. The parity; its `repr` is the rule. With several outputs, one for each.
    classes_ : ndarray of shape (2,), or list of such
        Public. The labels, sorted; declared, or assumed to be public. An odd sum gives the second.
    method_ : str
        Public. The method: "agnostic", "elimination" or "stable".
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, with its assumptions.
    domain_ : Product
        Public. The domain of a record, which determines the numbers that become 1.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.mechanisms.consistent_parity : The mechanism that "elimination" runs on each part.
    dplearn.theory.parity_sample_size : The number of records for a given accuracy.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record, (epsilon, delta) with "stable";
    the number of records is public.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** For records that a parity labels, the error is at most alpha with probability at least 1 -
    beta from `plan(n_samples, n_features=...).n_needed` records on: with "elimination" and "agnostic" for any
    distribution of the records, with "stable" if the bits are independent fair coins.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 4 for "elimination",
    Section 3 for "agnostic"; Bun, Nissim and Stemmer (2016), Theorem 3.12, for "stable".

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn import ParityClassifier
    >>> generator = np.random.default_rng(0)
    >>> X = generator.integers(0, 2, (4000, 40))
    >>> y = np.where(X[:, [3, 14, 27]].sum(axis=1) % 2, "odd", "even")
    >>> learner = ParityClassifier(classes=["even", "odd"], binarize=None, random_state=0).fit(X, y)
    >>> learner.concept_
    'odd' if x3 + x14 + x27 is odd, else 'even'
    >>> learner.guarantee_.epsilon, learner.guarantee_.delta, learner.method_
    (Fraction(1, 1), Fraction(0, 1), 'elimination')
    """

    epsilon: float = 1.0
    delta: float = 0.0
    method: str = AUTO
    alpha: float = 0.1
    beta: float = 0.05
    fit_intercept: bool = False
    binarize: float | None = 0.0
    n_parts: int | str = AUTO
    test_size: int | str = AUTO
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    parity_: NDArray[np.uint8] = field(init=False)
    intercept_: Any = field(init=False)
    concept_: Any = field(init=False)
    classes_: Any = field(init=False)

    def plan(self, n_samples: int, *, n_features: int, n_outputs: int = 1) -> ParityPlan:
        """Return the plan of a fit: its guarantee, method, sizes and accuracy. No data is read.

        Parameters
        ----------
        n_samples, n_features : int
            The numbers of records and of columns.
        n_outputs : int, default=1
            Number of labels a record.
        """
        fit = self._recipe(self.random_state is not None)
        public = PublicOutputs(
            check_count("n_samples", n_samples, low=1),
            check_count("n_features", n_features, low=1),
            2,
            n_outputs=check_count("n_outputs", n_outputs, low=1),
        )
        plan: ParityPlan = fit.planned(public)
        return plan

    def _recipe(self, reproducible: bool) -> "ParityFit":
        check_choice("method", self.method, (AUTO, *PARITY_METHODS))
        if self.classes is not None:
            _check_two_labels(declared_sets(self.classes))
        epsilon = check_number("epsilon", self.epsilon, above=0)
        return ParityFit(
            self,
            ApproxDP(epsilon, self.delta, reproducible=reproducible),
            method=self.method,
            fit_intercept=check_bool("fit_intercept", self.fit_intercept),
            alpha=float(check_number("alpha", self.alpha, above=0, below=1)),
            beta=float(check_number("beta", self.beta, above=0, below=1)),
            n_parts=check_count_or_auto("n_parts", self.n_parts, low=1),
            test_size=check_count_or_auto("test_size", self.test_size, low=0),
            bits=Bits(self.binarize),
            classes=self.classes,
        )

    def _publish(self, outcome: NDArray[np.uint8] | None, plan: ParityPlan) -> None:
        # An abstention is represented by the parity of no columns, which predicts the first label.
        public = plan.public
        answer = np.zeros((public.n_outputs, plan.n_unknowns), np.uint8) if outcome is None else outcome
        parity = answer[:, : public.n_features].copy()
        intercept = answer[:, -1].copy() if plan.fit_intercept else np.zeros(public.n_outputs, np.uint8)
        names = tuple(plan.domain.names)
        concepts = [
            ChosenConcept(Parity.of(bits, int(c), plan.domain), names, tuple(labels.tolist()))
            for bits, c, labels in zip(parity, intercept, public.classes, strict=True)
        ]
        self.method_ = plan.method
        self.domain_ = plan.domain
        self.guarantee_ = plan.guarantee
        self.abstained_ = outcome is None
        if public.many:
            self.parity_, self.intercept_ = parity, intercept
            self.concept_, self.classes_ = concepts, public.classes
        else:
            self.parity_, self.intercept_ = parity[0], int(intercept[0])
            self.concept_, self.classes_ = concepts[0], public.classes[0]

    def _codes(self, X: Any) -> NDArray[np.uint8]:
        """Return the predicted label code of each row in each output."""
        check_is_fitted(self)
        rows = packed_rows(read_bits(self, X, Bits(self.binarize), reset=False), self.domain_, nearest=True)
        return rows.dot(np.atleast_2d(self.parity_).T) ^ np.atleast_1d(np.asarray(self.intercept_, np.uint8))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        many = self.method in (AUTO, "stable") and is_positive(self.delta)
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = many
        tags.input_tags.sparse = True
        return tags


class ParityFit(FitRecipe):
    """The fit of `ParityClassifier`."""

    def cost_of(self, X: Any, y: Any) -> ApproxDP | None:
        """Return the cost of a fit as a function of shapes; not every method spends delta."""
        shape = shape_of(X)
        if shape is None:
            return None
        return chosen_plan(self, PublicOutputs(*shape, n_outputs=n_outputs_of(y))).guarantee

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        stream = self.stream()
        X = read_bits(reader, X, self.bits, reset=True)
        n, d = X.shape
        # Raises an error if parameters are incompatible.
        chosen_plan(self, PublicOutputs(n, d, n_outputs=n_outputs_of(y)))
        outputs = read_outputs(y, n, self.classes)
        _check_two_labels(outputs.classes)
        names = getattr(reader, "feature_names_in_", None)
        matrix = packed_rows(X, as_product(self.bits, d, names), intercept=self.fit_intercept)
        public = PublicOutputs(
            n, d, 2, names, outputs.classes, stream, n_outputs=len(outputs.classes), many=outputs.many
        )
        return public, Equations(matrix, outputs.codes.astype(np.uint8))

    def plan(self, public: Public) -> ParityPlan:
        assert isinstance(public, PublicOutputs)
        plan = chosen_plan(self, public)
        domain = as_product(self.bits, public.n_features, public.names)
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        return replace(plan, guarantee=replace(plan.guarantee, assumes=assumes), domain=domain)

    def run(self, summary: Equations, plan: ParityPlan, dice: Dice) -> NDArray[np.uint8] | None:
        # One replaced record replaces one equation.
        return PARITY_METHODS[plan.method].release(summary, plan, dice)


def _check_two_labels(classes: Sequence[NDArray[Any]]) -> None:
    """Raise unless every output has two labels."""
    for labels in classes:
        check_two_labels(labels, "a parity")
