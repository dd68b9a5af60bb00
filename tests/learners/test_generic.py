"""The generic learner: what it finds, with public features and public rows too, and at which sizes."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from scipy.stats import beta as beta_law
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import log_loss

from dplearn import ExponentialMechanismClassifier, PublicData
from dplearn.audit import ready
from dplearn.chance import SystemDice
from dplearn.concepts import Conjunctions, DecisionStumps, FiniteClass, Parities, Thresholds
from dplearn.domains import DomainError, Grid, IntegerRange, Product
from dplearn.mechanisms import select_exponential
from dplearn.privacy import ApproxDP, BoundedRange
from dplearn.theory import generic_sample_size, representation_sample_size

MECHANISMS = ["exponential", "permute_and_flip"]
UNITS = ("labels", "examples")
X, Y = load_breast_cancer(return_X_y=True)


def learner(concept_class="stumps", **parameters):
    return ExponentialMechanismClassifier(concept_class, **{"epsilon": 1, "random_state": 0} | parameters)


@pytest.mark.parametrize("method", MECHANISMS)
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_at_a_large_epsilon_it_finds_a_best_stump_with_public_features_or_rows_too(load, method):
    table, y = load(return_X_y=True)
    fitted = learner(epsilon=500, method=method).fit(table, y)
    stumps = DecisionStumps(fitted.domain_, len(fitted.classes_))
    best = stumps.error_profile(fitted.domain_.encode(table), y).groups()[0][0]
    # exp(-250) for one error more: about 10**40 times as improbable as all stumps are many.
    assert (fitted.predict(table) != y).sum() == best
    public = learner(epsilon=500, method=method).fit(table, y, X_public=PublicData(table))
    labels = learner(epsilon=500, method=method, protects="labels").fit(table, y)
    assert (public.predict(table) != y).sum() == (labels.predict(table) != y).sum() == best


RNG = np.random.default_rng(0)  # public data
PEOPLE = pd.DataFrame(
    {"age": RNG.integers(18, 90, 400) * 1.0, "town": RNG.choice(["north", "south"], 400), "constant": 1.0}
)
PEOPLE.loc[::7, "age"] = np.nan


CENTRED = (X - np.median(X, axis=0))[:, :8]
COLUMNS = Product([Grid(-100, 100, outside="clip")] * 8)


@pytest.mark.parametrize("protects", UNITS)
@pytest.mark.parametrize(
    ("kind", "score"),
    [
        ("conjunctions", 0.8),
        ("parities", 0.8),
        (Thresholds(COLUMNS, feature=0), 0.6),
        (Thresholds(COLUMNS, feature=2), 0.8),
        (Conjunctions(8, 2), 0.8),
        (Parities(8, fit_intercept=True), 0.8),
        (FiniteClass([lambda rows, c=c: (rows[:, c] < 0).astype(int) for c in (0, 2, 2, 7)]), 0.8),
    ],
    ids=repr,
)
def test_each_concept_class_of_the_library_is_learned_and_protects_labels(kind, score, protects):
    y = (CENTRED[:, 2] < 0).astype(int) if "arities" in repr(kind) else Y
    y = 1 - y if kind == "parities" else y
    model = learner(kind, protects=protects, epsilon=20)
    plan = ready(model, CENTRED, y).plan
    of_class = model.plan(len(X), n_features=8, n_labels=2).class_size
    assert plan.class_size <= of_class if protects == "labels" else plan.class_size == of_class
    fitted = model.fit(CENTRED, y)
    assert fitted.guarantee_.protects == protects
    assert fitted.score(CENTRED, y) > score
    assert set(fitted.domain_.assumes) <= set(fitted.guarantee_.assumes)


def test_an_error_of_a_concept_class_of_ones_own_shows_no_record():
    class Own(Thresholds):
        def error_profile(self, columns, y):
            error = ValueError(f"label {y[0]}, 9f3b")
            error.add_note("9f3b")
            raise error

    with pytest.raises(DomainError, match=r"^concept_class Own raised an error on the records") as caught:
        learner(Own(Product([IntegerRange(0, 7)]))).fit(np.arange(8)[:, None], np.arange(8) > 3)
    assert caught.value.__context__ is None
    assert "9f3b" not in "".join(map(repr, (caught.value, getattr(caught.value, "__notes__", []))))


# Public features, and public rows.


@pytest.mark.parametrize("method", MECHANISMS)
def test_with_labels_only_the_class_is_that_of_the_behaviours_on_x(method):
    model = learner(protects="labels", method=method, classes=[0, 1])
    plan = ready(model, X, Y).plan
    n_cuts = sum(len(np.unique(column.astype(np.float32))) - 1 for column in X.T)
    assert abs(plan.class_size - (2 * n_cuts + 2)) < 30  # the domain has more bits than float32
    assert plan.class_size <= model.plan(len(X), n_features=30).class_size == 30 * 2 * len(X) + 2
    assert plan.excess_error < learner(classes=[0, 1]).plan(len(X), n_features=30).excess_error / 2
    functions = [lambda rows, cut=cut: (rows[:, 0] > cut).astype(int) for cut in (0.1, 0.2, 0.3, 5)]
    few = learner(FiniteClass(functions), protects="labels")
    assert ready(few, [[0.0], [1.0]], [0, 1]).plan.class_size == 2


@pytest.mark.parametrize(
    "table", [X[:1], np.ones((5, 3)), X[:3, :1]], ids=["one row", "constant", "one column"]
)
def test_tables_that_no_cut_divides_have_constant_rules(table):
    y = np.arange(len(table)) % 2
    with np.errstate(all="raise"):
        model = learner(protects="labels", classes=[0, 1]).fit(table, y)
        public = learner(classes=[0, 1]).fit(table, y, X_public=PublicData(table))
        assert {*model.predict(X[:, : table.shape[1]])} | {*public.predict(table)} <= {0, 1}
    if len(np.unique(table, axis=0)) == 1:
        assert repr(model.concept_) in ("always 0", "always 1")


def test_public_rows_place_the_cuts_and_protect_whole_records():
    model = learner(epsilon=2).fit(X[57:], Y[57:], X_public=PublicData(X[:57]))
    assert model.guarantee_.protects == "examples"
    stump = model.concept_.concept
    assert stump.inner == stump.outer or stump.code in model.domain_.encode(X[:57])[stump.feature]
    assert model.score(X, Y) > 0.85
    plans = [
        ready(learner(classes=[0, 1]), rows, Y[: len(rows)], X_public=PublicData(X[:50])).plan
        for rows in (X[50:], X[50:60], X[50:51] * 1000)
    ]
    assert len({plan.class_size for plan in plans}) == 1  # the class depends on public rows alone
    planned = learner(classes=[0, 1]).plan(500, n_features=30, n_rows=50)
    assert plans[0].class_size <= planned.class_size == 30 * 2 * 50 + 2


# With `probability`, a tenth of epsilon releases how frequent the labels are where the rule predicts one.

ROWS = RNG.integers(0, 20, (4000, 2))
LIKELY = (RNG.random(4000) < np.where(ROWS[:, 0] > 9, 0.7, 0.1)).astype(int)


def test_a_table_in_parts_has_the_dichotomies_of_the_whole_table_and_takes_public_cuts():
    table, y = [X[:100], X[100:]], [Y[:100], Y[100:]]
    model = learner(protects="labels", domain=[Grid(0, 100, 1001, outside="clip")] * 30, classes=[0, 1])
    assert repr(model.fit(table, y).concept_) == repr(model.fit(X, Y).concept_)
    plans = [ready(model, *each).plan for each in ((X, Y), (table, y))]
    assert plans[0].class_size == plans[1].class_size
    public = PublicData(X[:60])
    parted = learner(classes=[0, 1]).fit(table, y, X_public=public)
    assert repr(parted.concept_) == repr(learner(classes=[0, 1]).fit(X, Y, X_public=public).concept_)


@pytest.mark.parametrize("concept_class", ["stumps", "thresholds", "corners"])
def test_probabilities_are_the_shares_of_the_labels_and_agree_with_the_rule(concept_class):
    rows = ROWS[:, :1] if concept_class == "thresholds" else ROWS
    given = {"domain": IntegerRange(0, 19), "classes": [0, 1]}
    plain = learner(concept_class, **given).fit(rows, LIKELY)
    model = learner(concept_class, probability=True, **given).fit(rows, LIKELY)
    found, predicted = model.predict_proba(rows), model.predict(rows)
    for label in (0, 1):
        assert model.label_shares_[label, 1] == pytest.approx(LIKELY[predicted == label].mean(), abs=0.08)
    assert log_loss(LIKELY, found) < log_loss(LIKELY, plain.predict_proba(rows))
    parted = learner(concept_class, probability=True, **given)
    parted.fit([rows[:7], rows[7:]], [LIKELY[:7], LIKELY[7:]])
    np.testing.assert_array_equal(parted.label_shares_, model.label_shares_)
    plans = [each.plan(4000, n_features=rows.shape[1]) for each in (plain, model)]
    assert (plans[1].counting, plans[1].selection.epsilon) == (Fraction(1, 10), Fraction(9, 10))
    assert plans[1].n_needed > plans[0].n_needed
    assert [isinstance(each.event, BoundedRange) for each in plans] == [True, False]


@pytest.mark.parametrize("seed", range(8))
def test_noise_makes_no_label_more_probable_than_the_predicted_one(seed):
    model = learner(probability=True, epsilon=0.001, domain=IntegerRange(0, 19), random_state=seed)
    found = model.set_params(classes=[0, 1]).fit(ROWS[:50], LIKELY[:50]).predict_proba(ROWS)
    assert (found.argmax(axis=1) == model.predict(ROWS)).all()
    assert found.sum(axis=1) == pytest.approx(1)


# Sample sizes are the least that the bound allows, and at them the real learner succeeds.


sizes = st.integers(1, 50) | st.integers(0, 500).map(lambda k: 2**k) | st.just(10**400)


def exact_bound(class_size, n, epsilon, alpha):
    """The bound in the proof of Theorem 3.4, to 50 digits."""
    with localcontext(prec=50, Emax=10**9, Emin=-(10**9)):
        sampling = Decimal(-2 * n) * decimal(alpha) ** 2 / 9
        privacy = Decimal(-n) * decimal(epsilon) * decimal(alpha) / 6
        return class_size * (2 * sampling.exp() + privacy.exp())


def decimal(x):
    return Decimal(Fraction(x).numerator) / Fraction(x).denominator


def test_two_concepts_require_more_examples_than_the_paper_states():
    example = {"epsilon": 0.5, "alpha": 0.5, "beta": 0.25}
    assert generic_sample_size(2, bound="paper", **example) == 50
    assert generic_sample_size(2, **example) == 65
    assert generic_sample_size(2, bound="proof", **example) == 65
    assert exact_bound(2, 50, 0.5, 0.5) > Decimal("0.25")


# The real learner at these sizes

UNSURE = 1e-6  # how often a Clopper-Pearson bound may be wrong

THRESHOLDS = [[int(place < cut) for place in range(8)] for cut in range(9)]
ANY_LABELS = [[3, 1], [0, 8], [4, 0], [1, 5], [2, 2], [6, 1], [1, 0], [1, 1]]
THREE_LABELS = [[a, b] for a in range(3) for b in range(3)]

# A class; for each place how often it occurs with each label, out of a sum; epsilon, alpha, beta; a size at
# which the learner must be seen to fail.
TASKS = {
    "two concepts": ([[0], [1]], [[1, 9]], 0.5, 0.5, 0.25, 1),
    "thresholds, private": (THRESHOLDS, [[1, 9]] * 4 + [[9, 1]] * 4, 0.05, 0.2, 0.2, 5),
    "none of them fits": (THRESHOLDS, ANY_LABELS, 1, 0.1, 0.3, 3),
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
    cells = np.array(list(np.ndindex(distribution.shape)))
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
