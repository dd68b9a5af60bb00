"""User-level tests of the generic learner."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_law
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import train_test_split

from dplearn import ExponentialMechanismClassifier, PrivacyLedger
from dplearn.chance import SystemDice
from dplearn.concepts import Conjunctions, DecisionStumps, FiniteClass, Thresholds
from dplearn.domains import Categories, DomainError, Floats, Grid, IntegerRange, Product, Schema
from dplearn.learners.rules.generic import representation_sample_size
from dplearn.mechanisms import select_exponential
from dplearn.privacy import ApproxDP
from dplearn.theory.rules import generic_failure_bound, generic_sample_size

MECHANISMS = ["exponential", "permute_and_flip"]


def best_stump_errors(X, y, classifier):
    """Return the least training errors in the concept class."""
    columns = classifier.domain_.encode(X)
    stumps = DecisionStumps(classifier.domain_, len(classifier.classes_))
    return stumps.error_profile(columns, np.searchsorted(classifier.classes_, y)).groups()[0][0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_at_a_large_epsilon_it_finds_a_best_stump(load, mechanism):
    X, y = load(return_X_y=True)
    fitted = ExponentialMechanismClassifier(epsilon=500, method=mechanism).fit(X, y)
    # exp(-250) for one error more: about 10**40 times as improbable as all stumps are many.
    assert (fitted.predict(X) != y).sum() == best_stump_errors(X, y, fitted)


def test_at_epsilon_1_breast_cancer_is_within_5_points_of_the_best_stump():
    X, y = load_breast_cancer(return_X_y=True)
    gaps = []
    for seed in range(20):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        private = ExponentialMechanismClassifier(epsilon=1).fit(X_train, y_train)
        best = ExponentialMechanismClassifier(epsilon=500).fit(X_train, y_train)
        gaps.append(best.score(X_test, y_test) - private.score(X_test, y_test))
    assert np.mean(gaps) < 0.05


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda table: pl.DataFrame(table)], ids=["pandas", "polars"])
def test_a_schema_reads_mixed_columns_by_name(frame):
    schema = Schema(
        {
            "job": Categories(["clerk", "farmer", None]),
            "age": IntegerRange(0, 120),
            "wage": Floats(missing=True),
        },
        labels=["no", "yes"],
    )
    job = ["farmer", "clerk", None] * 100
    table = {"age": list(range(20, 80)) * 5, "wage": [1.5, None, 2.0] * 100, "job": job, "ignored": [0] * 300}
    y = ["yes" if j == "farmer" else "no" for j in job]
    fitted = ExponentialMechanismClassifier(epsilon=50, domain=schema).fit(frame(table), y)
    assert repr(fitted.concept_) == "'yes' if job == 'farmer', else 'no'"
    assert fitted.score(frame(table), y) == 1
    unseen = frame({"age": [300], "wage": [None], "job": ["astronaut"], "ignored": [1]})
    assert fitted.predict(unseen).tolist() == ["no"]


@pytest.mark.parametrize(
    "domain", [Floats(missing=True), IntegerRange(0, 9, missing=True), Grid(0, 9, missing=True)], ids=repr
)
def test_missing_values_are_data_where_the_domain_says_so(domain):
    X = np.array([[np.nan], [1.0]] * 100)
    y = np.array(["gone", "here"] * 100)
    fitted = ExponentialMechanismClassifier(epsilon=50, domain=domain).fit(X, y)
    assert fitted.predict([[np.nan], [5e9]]).tolist() == ["gone", "here"]


def test_thresholds_look_at_one_column_and_bits_are_binarised():
    X = np.array([[0.2, 9.0], [0.4, -3.0], [0.6, 5.0], [0.8, 1.0]] * 50)
    y = X[:, 0] > 0.5
    thresholds = ExponentialMechanismClassifier("thresholds", epsilon=50).fit(X[:, :1], y)
    assert thresholds.score(X[:, :1], y) == 1
    negative = X[:, 1] <= 0
    conjunctions = ExponentialMechanismClassifier("conjunctions", epsilon=50).fit(X, negative)
    assert repr(conjunctions.concept_) in (
        "True if x1 <= 0, else False",
        "True if x0 > 0 and x1 <= 0, else False",
    )


@pytest.mark.parametrize(
    "concept_class",
    [
        Thresholds(Product([IntegerRange(0, 3), IntegerRange(0, 1)]), feature=0),
        Conjunctions(2, max_literals=1, binarize=1.5),
        FiniteClass([lambda X: (X[:, 0] > 1).astype(int), lambda X: np.zeros(len(X), dtype=int)]),
    ],
    ids=["thresholds", "conjunctions", "functions"],
)
def test_instances_of_concept_classes_state_their_domain(concept_class):
    X, y = np.array([[0, 1], [1, 0], [2, 1], [3, 0]] * 40), np.array([0, 0, 1, 1] * 40)
    learner = ExponentialMechanismClassifier(concept_class, epsilon=50)
    fitted = clone(learner).fit(X, y)
    assert fitted.score(X, y) == 1
    assert fitted.domain_.assumes <= fitted.guarantee_.assumes or not fitted.domain_.assumes


@pytest.mark.parametrize(
    ("size", "advice"),
    [
        (1001, "declare fewer values in domain="),
        (1002, "declare a smaller domain=, such as Grid(0, 100, 1001)"),
    ],
)
def test_a_warning_does_not_advise_a_domain_that_is_declared(size, advice):
    learner = ExponentialMechanismClassifier(epsilon=0.1, domain=Grid(0, 100, size))
    (text,) = learner.plan(300, n_features=3, n_labels=2).warnings
    assert f"; {advice}, spend more epsilon" in text


def test_numbers_outside_a_grid_are_refused_in_fit_and_moved_in_predict():
    learner = ExponentialMechanismClassifier(domain=Grid(0, 1, 11), epsilon=50)
    X, y = np.linspace(0, 1, 101)[:, None], np.linspace(0, 1, 101) > 0.45
    with pytest.raises(DomainError, match="column 'x0', a value lies outside the declared domain Grid"):
        learner.fit(X * 2, y)
    assert learner.fit(X, y).predict([[-7.0], [7.0]]).tolist() == [False, True]


def test_the_guarantee_is_known_before_the_data():
    learner = ExponentialMechanismClassifier(
        epsilon=0.3, domain=Grid(0, 1), classes=[0, 1], method="permute_and_flip"
    )
    plan = learner.plan(100, n_features=2)
    assert plan.guarantee == learner.fit([[0, 1], [1, 0]], [0, 1]).guarantee_
    assert plan.class_size == 2 * 256 * 4
    assert plan.method == "permute_and_flip"


def test_the_plans_training_error_holds():
    X, y = load_breast_cancer(return_X_y=True)
    learner = ExponentialMechanismClassifier(epsilon=1, classes=[0, 1])
    plan = learner.plan(len(y), n_features=30, beta=0.1)
    fitted = [clone(learner).fit(X, y) for _ in range(40)]
    best = best_stump_errors(X, y, fitted[0]) / len(y)
    missed = sum(np.mean(f.predict(X) != y) > best + plan.excess_error for f in fitted)
    # P[Binomial(40, 0.1) > 20] < 10**-9.
    assert missed <= 20


def test_an_error_of_a_concept_class_of_ones_own_shows_no_record():
    class Own(Thresholds):
        def error_profile(self, columns, y):
            error = ValueError(f"label {y[0]}, 9f3b")
            error.add_note("9f3b")
            raise error

    learner = ExponentialMechanismClassifier(Own(Product([IntegerRange(0, 7)])), epsilon=1)
    with pytest.raises(DomainError, match=r"^concept_class Own raised an error on the records") as caught:
        learner.fit(np.arange(8)[:, None], np.arange(8) > 3)
    assert caught.value.__context__ is None
    assert "9f3b" not in "".join(map(repr, (caught.value, getattr(caught.value, "__notes__", []))))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["clerk", "farmer"] * 5, r"not a number; declare the columns with domain=Schema.*CellEncoder"),
        ([None, 1.0] * 5, r"missing value; fill it .*Floats\(missing=True\), or Schema.*CellEncoder"),
    ],
)
def test_an_undeclared_frame_with_non_numeric_columns_is_refused_with_advice(column, message):
    frame = pd.DataFrame({"age": range(10), "other": column})
    with pytest.raises(DomainError, match=message):
        ExponentialMechanismClassifier(classes=[0, 1]).fit(frame, [0, 1] * 5)


def test_so_many_labels_that_they_look_like_numbers_are_refused_unless_declared():
    X, y = np.arange(400.0)[:, None], np.arange(400) % 200
    ledger = PrivacyLedger(1)
    with pytest.raises(DomainError, match=r"y has 200 labels, 200 or more.* declare them by classes=\[...\]"):
        ExponentialMechanismClassifier(ledger=ledger).fit(X, y)
    with pytest.raises(UserWarning, match="y has 200 labels: a rule predicts two of them"):  # errors here
        ExponentialMechanismClassifier(classes=range(200), ledger=ledger).fit(X, y)
    assert ledger.history() == []
    few = ExponentialMechanismClassifier(domain=Grid(0, 400, 4)).fit(X, y % 199)
    assert few.classes_.size == 199


@pytest.mark.filterwarnings("error:n_samples is")
@pytest.mark.parametrize(("n", "epsilon"), [(10, 1.0), (2250, 0.001)])
def test_too_few_records_are_warned_of_before_anything_is_spent(n, epsilon):
    ledger = PrivacyLedger(1)
    learner = ExponentialMechanismClassifier(epsilon=epsilon, classes=[0, 1], ledger=ledger)
    with pytest.raises(
        UserWarning,
        match=f"n_samples is {n}: with epsilon {epsilon:.3g} and 2.* concepts, the training",
    ):
        learner.fit(np.linspace(0, 1, n)[:, None], np.arange(n) % 2)  # warnings are errors here
    assert ledger.history() == []
    assert learner.plan(n, n_features=1).excess_error >= 0.5


# Sample sizes are the least that the bound allows, and at them the real learner succeeds.

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=200)

sizes = st.integers(1, 50) | st.integers(0, 500).map(lambda k: 2**k) | st.just(10**400)
epsilons = st.fractions(Fraction(1, 1000), 20, max_denominator=1000).filter(bool)
rates = st.fractions(Fraction(1, 200), Fraction(99, 100), max_denominator=200).filter(bool)


def exact_bound(class_size, n, epsilon, alpha):
    """The bound in the proof of Theorem 3.4, to 50 digits."""
    with localcontext(prec=50, Emax=10**9, Emin=-(10**9)):
        sampling = Decimal(-2 * n) * decimal(alpha) ** 2 / 9
        privacy = Decimal(-n) * decimal(epsilon) * decimal(alpha) / 6
        return class_size * (2 * sampling.exp() + privacy.exp())


def decimal(x):
    return Decimal(Fraction(x).numerator) / Fraction(x).denominator


# generic_sample_size


@repeatable
@given(sizes, epsilons, rates, rates)
def test_the_proofs_size_is_the_least_at_which_its_bound_is_at_most_beta(class_size, epsilon, alpha, beta):
    n = generic_sample_size(class_size, epsilon=epsilon, alpha=alpha, beta=beta)
    assert type(n) is int
    assert exact_bound(class_size, n, epsilon, alpha) <= decimal(beta)
    assert n == 1 or exact_bound(class_size, n - 1, epsilon, alpha) > decimal(beta)


@repeatable
@given(sizes, epsilons, rates, rates)
def test_the_papers_size_is_its_closed_form_rounded_up(class_size, epsilon, alpha, beta):
    n = generic_sample_size(class_size, epsilon=epsilon, alpha=alpha, beta=beta, bound="paper")
    with localcontext(prec=50):
        logarithms = Decimal(class_size).ln() - decimal(beta).ln()
        rate = max(1 / (decimal(epsilon) * decimal(alpha)), 1 / decimal(alpha) ** 2)
        assert type(n) is int
        assert n - 1 < 6 * logarithms * rate <= n


def test_two_concepts_require_more_examples_than_the_paper_states():
    example = {"epsilon": 0.5, "alpha": 0.5, "beta": 0.25}
    assert generic_sample_size(2, bound="paper", **example) == 50
    assert generic_sample_size(2, **example) == 65
    assert generic_sample_size(2, bound="proof", **example) == 65
    assert exact_bound(2, 50, 0.5, 0.5) > Decimal("0.25")


# generic_failure_bound


@repeatable
@given(sizes, st.integers(0, 20000), epsilons, rates)
def test_the_failure_bound_is_that_of_the_proof(class_size, n, epsilon, alpha):
    bound = generic_failure_bound(class_size, n, epsilon=epsilon, alpha=alpha)
    exact = exact_bound(class_size, n, epsilon, alpha)
    if exact > Decimal("1e304"):
        assert bound == math.inf or exact < Decimal("1.8e308")
    else:
        assert abs(Decimal(bound) - exact) <= exact * Decimal("1e-9") + Decimal("1e-320")


# The real learner at these sizes

UNSURE = 1e-6  # how often a Clopper-Pearson bound may be wrong

THRESHOLDS = [[int(place < cut) for place in range(8)] for cut in range(9)]
CUBE = [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
THREE_LABELS = [[a, b] for a in range(3) for b in range(3)]

# A class; for each place how often it occurs with each label, out of a sum; epsilon, alpha, beta; a size at
# which the learner must be seen to fail.
TASKS = {
    "two concepts": ([[0], [1]], [[1, 9]], 0.5, 0.5, 0.25, 1),
    "thresholds without noise": (THRESHOLDS, [[0, 1]] * 4 + [[1, 0]] * 4, 1, 0.2, 0.1, 2),
    "thresholds, private": (THRESHOLDS, [[1, 9]] * 4 + [[9, 1]] * 4, 0.05, 0.2, 0.2, 5),
    "functions of three places": (CUBE, [[4, 0], [0, 5], [1, 3]], 2, 0.15, 0.2, 2),
    "none of them fits": (
        THRESHOLDS,
        [[3, 1], [0, 8], [4, 0], [1, 5], [2, 2], [6, 1], [1, 0], [1, 1]],
        1,
        0.1,
        0.3,
        3,
    ),
    "three labels": (THREE_LABELS, [[1, 0, 7], [1, 5, 2]], 1, 0.25, 0.1, 2),
}


def failures(task, n, repetitions):
    """Return the frequency of an excess error above alpha."""
    table, weights, epsilon, alpha, _, _ = task
    distribution = np.array(weights, dtype=float) / np.sum(weights)
    concepts = FiniteClass(table, distribution.shape[1])
    true_error = [1 - distribution[np.arange(len(row)), row].sum() for row in table]
    allowed = min(true_error) + alpha + 1e-9
    privacy, dice, failed = ApproxDP(epsilon), SystemDice(), 0
    cells = np.array(
        [(place, label) for place in range(len(distribution)) for label in range(distribution.shape[1])]
    )
    for counts in np.random.default_rng(0).multinomial(n, distribution.ravel(), size=repetitions):
        places, labels = np.repeat(cells, counts, axis=0).T
        profile = concepts.error_profile(concepts.domain.encode(places[:, np.newaxis]), labels)
        errors, multiplicities = profile.groups()
        group, index = select_exponential(errors, multiplicities, privacy=privacy, dice=dice)
        failed += true_error[profile.member(errors[group], index).position] > allowed
    return failed


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", TASKS)
def test_at_the_size_of_the_plan_the_learner_fails_no_more_often_than_beta(name):
    table, _, epsilon, alpha, beta, _ = TASKS[name]
    n = representation_sample_size(len(table), epsilon=epsilon, alpha=alpha, beta=beta, agnostic=True)
    assert n < generic_sample_size(len(table), epsilon=epsilon, alpha=alpha, beta=beta, bound="proof") / 1.9
    repetitions = 400
    failed = failures(TASKS[name], n, repetitions)
    assert beta_law.ppf(1 - UNSURE, failed + 1, repetitions - failed) <= beta


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", TASKS)
def test_at_a_much_smaller_size_the_learner_is_seen_to_fail_more_often_than_beta(name):
    beta, n = TASKS[name][4:]
    repetitions = 1500
    failed = failures(TASKS[name], n, repetitions)
    assert beta_law.ppf(UNSURE, failed, repetitions - failed + 1) > beta
