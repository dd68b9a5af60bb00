"""Private learning of parities by linear algebra over GF(2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
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
from dplearn.concepts.parities import MOST_FEATURES, Parities
from dplearn.domains import Bits
from dplearn.estimator.base import SeveralOutputsClassifier
from dplearn.estimator.recipe import FitRecipe, OutputsFacts
from dplearn.fit import TABLE
from dplearn.kernels import BitMatrix
from dplearn.kernels.gf2 import solve
from dplearn.learners.limits import SIZE_NOTES, Task, least_of_outputs
from dplearn.learners.parity.sizes import (
    agnostic_failure,
    agnostic_sample_size,
    elimination_failure,
    elimination_sizes,
    elimination_split,
    stable_parity_failure,
    stable_parity_sizes,
    stable_parity_split,
)
from dplearn.learners.rules.constant import NOTES, compared
from dplearn.learners.rules.generic import selected
from dplearn.mechanisms import consistent_parity, most_frequent_if_stable
from dplearn.mechanisms.selection import select_exponential, select_permute_and_flip
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import StatedPlan
from dplearn.table.encodings import packed_rows, read_bits
from dplearn.table.features import as_product
from dplearn.table.table import Records, shape_of
from dplearn.table.targets import check_pairs, labels_assumed, n_outputs_of, read_outputs


@documented_by()
@dataclass(eq=False, repr=False, kw_only=True)
class ParityClassifier(SeveralOutputsClassifier):
    """Learn a parity: the label is the sum modulo 2 of the bits of some columns.

    Drop-in: any number of predictions costs no privacy. No statistical-query learner learns parities
    efficiently; Gaussian elimination does. If labels are noisy, the learner selects among all 2**d parities.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0.0
        ... `method="stable"` requires a positive delta; the other methods spend none.
    method : {"auto", "agnostic", "elimination", "stable"}, default="auto"
        "agnostic": the exponential mechanism over all parities, scored by training errors; for any labels and
        up to 26 columns. "elimination": Gaussian elimination; for any number of columns, and labels without
        noise. "stable": Gaussian elimination on disjoint parts, and release of the most frequent solution if
        it is stable; for several labels at once, labels without noise, and columns near independent fair
        coins. "auto": the first of these for which there are enough records, or else the first that is
        applicable.
    alpha : float, default=0.1
        Target error, from 1e-9 and below 1.
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
        ... An odd sum gives the second.
    method_ : str
        Public. The method: "agnostic", "elimination" or "stable".
    guarantee_, domain_, feature_importances_, n_features_in_, feature_names_in_

    See Also
    --------
    dplearn.mechanisms.consistent_parity : The mechanism that "elimination" runs on each part.
    dplearn.theory.parity_sample_size : The number of records for a given accuracy.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record, (epsilon, delta) with "stable";
    the number of records is public. With "stable" and one output, the parity is released with nine tenths of
    epsilon; the selection among it and the constant labels costs the rest.

    **Accuracy.** For records that a parity labels, the error is at most alpha with probability at least 1 -
    beta from `plan(n_samples, n_features=...).n_needed` records on: with "elimination" and "agnostic" for any
    distribution of the records, with "stable" if the bits are independent fair coins.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 4 for "elimination",
    Section 3 for "agnostic"; Bun, Nissim and Stemmer (2016), Theorem 3.12, for "stable".

    Examples
    --------
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
    concept_: Any = field(init=False)

    def plan(self, n_samples: int, *, n_features: int, n_outputs: int = 1) -> StatedPlan:
        """Return the plan of a fit: its guarantee, method, sizes and accuracy. No data is read.

        Parameters
        ----------
        n_samples, n_features : int
            The numbers of records and of columns.
        n_outputs : int, default=1
            Number of labels a record.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `method`, `n_samples` and the parameters `alpha` and `beta`, and of

            - `n_needed`, the least number of records from which on `failure` is at most `beta`;
            - `n_parts` and `test_size`, the numbers of parts, and of test records, into which the records are
              divided;
            - `failure`, a bound on the probability that the error exceeds `alpha`, if labels are a parity of
              the columns; with "stable", if also the columns are independent fair coins;
            - `excess_of_constant`, with "stable" and one output: on any labels, the training error exceeds
              that of the most frequent label by at most this, with probability at least 1 - beta / 10;
            - `epsilon_of_comparison`, the part of epsilon that this takes;
            - `n_least`: no learner with this guarantee is as accurate with fewer records: with probability at
              least 1 - beta, the errors of all outputs are at most alpha if parities decide the labels; with
              "stable", if also the columns are independent fair coins. See `theory.multi_label_lower_bound`.
        """
        fit = self._recipe(self.random_state is not None)
        public = OutputsFacts(
            check_count("n_samples", n_samples, low=1),
            check_count("n_features", n_features, low=1),
            2,
            n_outputs=check_count("n_outputs", n_outputs, low=1),
        )
        return fit.planned(public)

    def _recipe(self, reproducible: bool) -> "ParityFit":
        check_choice("method", self.method, (AUTO, *PARITY_METHODS))
        return ParityFit(
            self,
            self._cost(reproducible),
            method=self.method,
            fit_intercept=check_bool("fit_intercept", self.fit_intercept),
            alpha=float(check_number("alpha", self.alpha, above=0, below=1)),
            beta=float(check_number("beta", self.beta, above=0, below=1)),
            n_parts=check_count_or_auto("n_parts", self.n_parts, low=1),
            test_size=check_count_or_auto("test_size", self.test_size, low=0),
            bits=Bits(self.binarize),
        )

    def _publish(self, outcome: NDArray[np.uint8] | None, plan: StatedPlan) -> None:
        # An abstention is represented by the parity of no columns, which predicts the first label.
        public = plan.public
        answer = np.zeros((public.n_outputs, plan.n_unknowns), np.uint8) if outcome is None else outcome
        parity = answer[:, : public.n_features].copy()
        intercept = answer[:, public.n_features :].sum(axis=1, dtype=np.uint8)  # at most one
        names = tuple(plan.domain.names)
        concepts = [
            ChosenConcept(Parity.of(bits, int(c), plan.domain), names, tuple(labels.tolist()))
            for bits, c, labels in zip(parity, intercept, public.classes, strict=True)
        ]
        self.method_ = plan.method
        self.domain_ = plan.domain
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

    _two_labels = "a parity"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
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
        return chosen_plan(self, OutputsFacts(*shape, n_outputs=n_outputs_of(y))).guarantee

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        stream = self.stream()
        X = read_bits(reader, X, self.bits, reset=True)
        n, d = X.shape
        # Raises an error if parameters are incompatible.
        chosen_plan(self, OutputsFacts(n, d, n_outputs=n_outputs_of(y)))
        outputs = read_outputs(y, n, self.classes)
        check_pairs(outputs.classes, self.kind._two_labels)
        names = getattr(reader, "feature_names_in_", None)
        matrix = packed_rows(X, as_product(self.bits, d, names), intercept=self.fit_intercept)
        public = OutputsFacts(
            n, d, 2, names, outputs.classes, stream, n_outputs=len(outputs.classes), many=outputs.many
        )
        return public, Equations(matrix, outputs.codes.astype(np.uint8))

    def plan(self, facts: OutputsFacts) -> StatedPlan:
        plan = chosen_plan(self, facts)
        domain = as_product(self.bits, facts.n_features, facts.names)
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        guarantee = replace(plan.guarantee, assumes=assumes)
        return replace(plan, guarantee=guarantee, keeps={**plan.keeps, "domain": domain})

    def run(self, summary: "Equations", plan: StatedPlan, dice: Dice) -> NDArray[np.uint8] | None:
        # One replaced record replaces one equation.
        return PARITY_METHODS[plan.method].release(summary, plan, dice)


Solutions = NDArray[np.uint8]  # of shape (n_outputs, n_unknowns)


@dataclass(frozen=True, repr=False)  # a traceback may show it
class Equations(Records):
    """Linear equations over GF(2): one row a record, with a right-hand side for each output."""

    matrix: BitMatrix
    bits: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, places: NDArray[np.int64]) -> "Equations":
        return Equations(self.matrix[places], self.bits[places])


@lru_cache(maxsize=256)  # a fit plans before it reads, and again afterwards
def _elimination_sizes(
    n: int, d: int, fit_intercept: bool, n_parts: int | None, test_size: int | None, **goal: Any
) -> tuple[int, int, int, float]:
    """Return the sizes with the fewest records for `alpha` and `beta`, scaled to the table."""
    del goal["delta"]
    d += fit_intercept
    if test_size is not None and test_size >= n:
        raise ValueError(f"test_size must be below the number of records, {n}, got {test_size}")
    split = elimination_split(n, d, **goal)
    parts = split.n_parts if n_parts is None else n_parts
    tested = split.test_size if test_size is None else test_size
    failure = elimination_failure(
        d,
        n_parts=parts,
        part_size=max(n - tested, 0) // parts,
        test_size=tested,
        epsilon=goal["epsilon"],
        alpha=goal["alpha"],
    )
    return parts, tested, elimination_sizes(d, **goal).n_samples, failure


def released_by_elimination(equations: Equations, plan: StatedPlan, dice: Dice) -> Solutions | None:
    """Solve a random sample of the equations of each part, and select a solution on further records.

    Privacy: a record is either in one part, whose candidate costs epsilon, or among the test records, on
    which the selection costs epsilon, since one replaced record changes the errors of each by at most 1.
    """
    privacy, places = plan.guarantee, plan.public.stream.permutation(plan.n_samples)
    tested, rest = places[: plan.test_size], places[plan.test_size :]
    matrix, bits = equations.matrix, equations.bits[:, 0]
    found = [
        consistent_parity(matrix[part], bits[part], privacy=privacy, dice=dice)
        for part in np.array_split(rest, plan.n_parts)
    ]
    candidates = np.array([candidate for candidate in found if candidate is not None])
    if not len(candidates):
        return None
    wrong = matrix[tested].dot(candidates.T) != bits[tested, None]
    errors = wrong.sum(axis=0).tolist()
    chosen, _ = select_permute_and_flip(errors, [1] * len(errors), privacy=privacy, dice=dice)
    return candidates[chosen : chosen + 1]


@lru_cache(maxsize=256)
def _stable_sizes(
    n: int, d: int, fit_intercept: bool, n_parts: int | None, test_size: int | None, **goal: Any
) -> tuple[int, int, int, float]:
    """Return the least number of parts that reaches `beta` on uniform rows, or else the best number."""
    del test_size
    beta, budget = goal["beta"], {"epsilon": goal["epsilon"], "delta": goal["delta"]}
    budget |= {"fit_intercept": fit_intercept}
    needed = stable_parity_sizes(d, beta=beta, **budget).n_samples
    parts = stable_parity_split(n, d, beta=beta, **budget).n_parts if n_parts is None else n_parts
    return parts, 0, needed, stable_parity_failure(d, n_parts=parts, part_size=n // parts, **budget)


def released_if_stable(equations: Equations, plan: StatedPlan, dice: Dice) -> Solutions | None:
    """Let each part vote for its solution, if it has one, and release the winner if it is stable.

    If a part has several solutions, it votes for the one without the dependent columns, the same for each
    part with this row space. Privacy: one replaced record changes, adds or removes one vote, and the winner
    is released by its distance to instability.
    """
    parts = np.array_split(plan.public.stream.permutation(plan.n_samples), plan.n_parts)
    solutions = [solve(equations.matrix[part], equations.bits[part]) for part in parts]
    votes = [None if solution is None else solution.T.tobytes() for solution in solutions]
    # Of all candidates without a vote, the first in order needs the fewest changed votes to win. None
    # represents them all: it has no votes, and it is the winner if no part votes.
    labels = [None, *sorted({vote for vote in votes if vote is not None})]
    places = {label: place for place, label in enumerate(labels)} | {None: -1}
    codes = [places[vote] for vote in votes]
    comparison, cost = plan.comparison, plan.guarantee
    privacy = replace(cost, epsilon=cost.epsilon - comparison.epsilon) if comparison else cost
    winner = most_frequent_if_stable(codes, max(2, len(labels)), privacy=privacy, dice=dice)
    released = labels[winner] if winner else None
    rules = None
    if released is not None:
        rules = np.frombuffer(released, dtype=np.uint8).reshape(plan.public.n_outputs, plan.n_unknowns)
    return rules if comparison is None else _compared(rules, equations, plan, dice)


def _compared(rule: Solutions | None, equations: Equations, plan: StatedPlan, dice: Dice) -> Solutions | None:
    """Return a released rule, None the first label, or the constant label that is selected instead."""
    y = equations.bits[:, 0]
    predicted = 0 if rule is None else equations.matrix.dot(rule.T)[:, 0]
    wrong = int(np.count_nonzero(predicted != y))
    constant = plan.comparison.constant(wrong, int(np.count_nonzero(y)), len(y), dice)
    if constant is None or (rule is None and not constant):
        return rule
    # The parity of no columns, and an intercept.
    return np.append(np.zeros(plan.public.n_features, np.uint8), np.uint8(constant))[None]


@lru_cache(maxsize=256)
def _agnostic_sizes(
    n: int, d: int, fit_intercept: bool, n_parts: int | None, test_size: int | None, **goal: Any
) -> tuple[int, int, int, float]:
    del n_parts, test_size
    d, asked = d + fit_intercept, {"epsilon": goal["epsilon"], "alpha": goal["alpha"]}
    return 1, 0, agnostic_sample_size(d, beta=goal["beta"], **asked), agnostic_failure(d, n, **asked)


def released_by_errors(equations: Equations, plan: StatedPlan, dice: Dice) -> Solutions:
    """Select by the exponential mechanism over all parities, by training errors; labels may be noisy."""
    d, fit_intercept = plan.public.n_features, plan.n_unknowns > plan.public.n_features
    concepts = Parities(d, fit_intercept=fit_intercept)
    profile = concepts.profile_of(equations.matrix.words[:, 0], equations.bits[:, 0])
    chosen: Any = selected(profile, select_exponential, privacy=plan.guarantee, dice=dice)
    intercept = [chosen.intercept] if fit_intercept else []
    return np.append(chosen.coefficients(d), intercept).astype(np.uint8)[None]


class ParityMethod(NamedTuple):
    """A method of learning a parity."""

    #: From public values to `n_parts`, `test_size`, `n_needed` and `failure` of the plan.
    sizes: Callable[..., tuple[int, int, int, float]]
    #: From equations, the plan and dice to a parity for each output, or None for an abstention.
    release: Callable[[Equations, StatedPlan, Dice], Solutions | None]


#: The methods by name, in the order of preference of "auto".
PARITY_METHODS = {
    "agnostic": ParityMethod(_agnostic_sizes, released_by_errors),
    "elimination": ParityMethod(_elimination_sizes, released_by_elimination),
    "stable": ParityMethod(_stable_sizes, released_if_stable),
}


def _objection(method: str, params: FitRecipe, facts: OutputsFacts) -> str | None:
    """Return the reason why a method does not support the table or the budget; None if it does."""
    if method == "agnostic" and facts.n_features > MOST_FEATURES:
        return f"compares all parities of at most {MOST_FEATURES} columns, got {facts.n_features}"
    if facts.n_outputs > 1 and method != "stable":
        return f"takes one label a record, got {facts.n_outputs}"
    if method == "stable" and not params.cost.delta:
        return "needs delta above 0, got 0"
    return None


def chosen_plan(params: FitRecipe, facts: OutputsFacts) -> StatedPlan:
    """Return the plan of the method; "auto" is the first with enough records, or else the first."""
    named = PARITY_METHODS if params.method == "auto" else [params.method]
    objections = {method: _objection(method, params, facts) for method in named}
    fitting = [method for method in named if not objections[method]]
    if not fitting:
        given = "; ".join(f"{name!r} {objection}" for name, objection in objections.items())
        raise ValueError(f"method must fit the table and the budget: {given}")
    first = plan_of_method(fitting[0], params, facts)
    plans = chain([first], (plan_of_method(each, params, facts) for each in fitting[1:]))  # evaluated lazily
    return next((plan for plan in plans if plan.n_needed <= plan.n_samples), first)


def plan_of_method(method: str, params: FitRecipe, facts: OutputsFacts) -> StatedPlan:
    """Return the plan of a fit by a method; its guarantee has no assumptions yet."""
    n, d = facts.n_samples, facts.n_features
    if (params.n_parts or 0) > n:
        raise ValueError(f"n_parts must be at most the number of records, {n}, got {params.n_parts}")
    n_unknowns, alpha, beta = d + params.fit_intercept, params.alpha, params.beta
    comparison, epsilon, rest = None, params.cost.epsilon, beta
    if method == "stable" and facts.n_outputs == 1:
        comparison, epsilon, left = compared(epsilon, beta)
        rest = float(left)
    budget = {"epsilon": epsilon, "delta": params.cost.delta}
    n_parts, test_size, n_needed, failure = PARITY_METHODS[method].sizes(
        n, d, params.fit_intercept, params.n_parts, params.test_size, **budget, alpha=alpha, beta=rest
    )
    if comparison:
        n_needed = max(n_needed, comparison.n_needed(alpha))
        failure = min(1.0, failure + comparison.failure(n, alpha))
    # Without an intercept all parities agree at 0.
    task = Task("parities", rooted=True, size=d)
    if method == "stable":
        task = Task("parities", rooted=False, size=n_unknowns)
    few = (
        f"n_samples is {n}: alpha={alpha} and beta={beta} with {method!r} require {n_needed} records of {d}"
        " columns; plan(n_samples, n_features=...) reports `failure` without data"
    )
    return StatedPlan(
        params.cost if method == "stable" else replace(params.cost, delta=Fraction(0)),
        title="ParityPlan",
        states={
            "method": method,
            "n_samples": n,
            "n_needed": n_needed,
            "n_parts": n_parts,
            "test_size": test_size,
            "failure": failure,
            **(comparison.states(n) if comparison else {}),
            "alpha": alpha,
            "beta": beta,
        },
        least={"n_least": partial(least_of_outputs, tasks=[task] * facts.n_outputs, alpha=alpha, beta=beta)},
        keeps={"n_unknowns": n_unknowns, "task": task, "comparison": comparison},
        notes={**SIZE_NOTES, "n_least": "no such learner with fewer", **NOTES},
        warns=(few,) if n < n_needed else (),
        public=facts,
        ranged=method == "agnostic",
    )
