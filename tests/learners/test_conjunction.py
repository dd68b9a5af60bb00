"""Private conjunctions: what a fit finds and says, from answers within a threshold, and enough records."""

import numpy as np
import pandas as pd
import pytest

from dplearn import ParityClassifier, PointClassifier
from dplearn.chance import PublicStream, SeededDice
from dplearn.domains import Bits, Categories, Floats, Grid, IntegerRange, Schema
from dplearn.learners.bins import binned
from dplearn.learners.counts import ConjunctionClassifier
from dplearn.learners.counts.conjunction import learn_conjunction
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows, LocalOracle, population
from dplearn.theory import conjunction_error, conjunction_query_sample_size

BITS = Bits(None)


def bits(n=30_000, d=6, seed=0):
    X = np.random.default_rng(seed).integers(0, 2, (n, d))
    return X, X[:, 1] & ~X[:, 3] & 1


@pytest.mark.parametrize("model", ["central", "local"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_conjunction_of_bits_is_found(model, delta):
    X, y = bits(400_000 if model == "local" else 30_000)
    learner = ConjunctionClassifier(epsilon=4, delta=delta, trust_model=model, domain=BITS, alpha=0.3)
    plan, fitted = learner.plan(len(X), n_features=6), learner.fit(X, y)
    assert repr(fitted.concept_) == "1 if x1 and not x3, else 0"
    assert fitted.score(X, y) == 1
    assert plan.noise == fitted.noise_
    assert plan.n_needed <= plan.n_samples
    assert plan.error <= 0.3


@pytest.mark.parametrize("positive", ["low", "high"])
def test_either_label_can_be_the_positive_one(positive):
    X, y = bits()
    y = np.where(y, positive, {"low": "high", "high": "low"}[positive])
    fitted = ConjunctionClassifier(epsilon=4, domain=BITS, positive=positive, alpha=0.3).fit(X, y)
    assert repr(fitted.concept_).startswith(repr(positive))
    assert fitted.predict_proba(X).tolist() == (y[:, None] == fitted.classes_).tolist()


def test_ranges_and_lists_of_declared_columns():
    rng = np.random.default_rng(0)
    age, town = rng.integers(0, 80, 40_000), rng.choice(["a", "b", "c"], 40_000)
    y = np.where((age >= 20) & (age < 60) & (town != "b"), "yes", "no")
    schema = Schema({"age": IntegerRange(0, 79), "town": Categories(["a", "b", "c"])}, labels=["no", "yes"])
    X = pd.DataFrame({"age": age, "town": town})
    fitted = ConjunctionClassifier(domain=schema, alpha=0.2).fit(X, y)
    assert repr(fitted.concept_) == "'yes' if age > 19 and age <= 59 and town != 'b', else 'no'"
    assert fitted.score(X, y) == 1
    assert fitted.predict(pd.DataFrame({"age": [30], "town": ["elsewhere"]})).tolist() == ["no"]


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (ConjunctionClassifier(domain=BITS, classes=[0, 1]), 0.9),
        (ParityClassifier(method="stable", delta=1e-6, classes=[0, 1]), 0.99),
        (PointClassifier(method="stability", delta=1e-6, classes=[0, 1]), 0.99),
    ],
    ids=lambda each: type(each).__name__,
)
def test_no_rule_is_much_worse_than_the_most_frequent_label_and_true_rules_are_kept(model, least):
    X = np.random.default_rng(0).integers(0, 2, (4000, 3))
    plan = model.plan(4000, **({} if isinstance(model, PointClassifier) else {"n_features": 3}))
    assert plan.epsilon_of_comparison == 0.1
    for share in (0.1, 0.9):
        y = (np.random.default_rng(1).random(4000) < share).astype(int)
        assert model.fit(X, y).score(X, y) >= 0.9 - 0.02 - plan.excess_of_constant > 0.8
        assert not getattr(model, "abstained_", False) or share < 0.5
    key = X[:, 0] if isinstance(model, ParityClassifier) else (X[:, :2] == 1).all(axis=1)
    Z = X[:, :2] if isinstance(model, PointClassifier) else X
    assert model.fit(Z, key.astype(int)).score(Z, key) >= least


# Conjunctions from shares: found by any oracle, and said in words.


def test_a_range_has_no_holes_and_a_list_has():
    X = np.array([[0, 0], [2, 2], [3, 3]])
    bins = binned(IntegerRange(0, 3), 4), binned(Categories(list("abcd")), 4)
    learned = learn_conjunction(
        population(LabelledRows(X, np.ones(3, int))), bins, positive=1, alpha=0.1, beta=0.05
    )
    assert learned.allowed == ((True,) * 4, (True, False, True, True))
    assert learned.describe(["age", "town"], ["no", "yes"]) == "'yes' if town != 'b', else 'no'"


@pytest.mark.parametrize(
    "domain",
    [Floats(significand_bits=0, smallest=1, largest=1, missing=True), Grid(0, 2, 3, missing=True)],
    ids=repr,
)
def test_missing_values_are_no_end_of_a_range(domain):
    gap = binned(domain, 4)
    records = LabelledRows(np.array([[0], [3]]), np.ones(2, int))
    [allowed] = learn_conjunction(population(records), [gap], positive=1, alpha=0.1, beta=0.05).allowed
    assert allowed == (True, False, False, True)


# Sample complexity of conjunctions: validity and monotonicity of the bound.

NOISES = ("laplace", "gaussian", "local")


@pytest.mark.parametrize("kind", NOISES)
def test_the_least_number_is_the_first_that_keeps_alpha(kind):
    asked = {"epsilon": 2, "delta": 1e-6, "alpha": 0.2, "beta": 0.1, "noise": kind}
    n = conjunction_query_sample_size([2, 3], **asked)
    assert conjunction_error([2, 3], n, **asked) <= 0.2 < conjunction_error([2, 3], n - len([2, 3]), **asked)


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("share", [0.5, 0.02])
def test_from_that_number_on_the_error_is_at_most_alpha(kind, share):
    # The hardest distribution: bits that the conjunction has nothing to do with are set nearly always among
    # positive records, so that a condition that is kept by mistake breaks for few.
    alpha, beta, d, epsilon = 0.2, 0.1, 3, 4
    n = conjunction_query_sample_size(
        [2] * d, epsilon=epsilon, delta=1e-3, alpha=alpha, beta=beta, noise=kind
    )
    rng = np.random.default_rng(5)
    failures = 0
    for seed in range(30):
        X = (rng.random((n, d)) < 1 - alpha / d * (1.5 if share == 0.5 else 1)).astype(int)
        X[:, 0] = rng.random(n) < share
        records = LabelledRows(X, X[:, 0] & X[:, 1])
        privacy, dice = ApproxDP(epsilon, 1e-3 if kind == "gaussian" else 0), SeededDice(seed)
        if kind == "local":
            oracle = LocalOracle(records, privacy=privacy, dice=dice, stream=PublicStream(seed))
        else:
            oracle = CentralOracle(records, privacy=privacy, dice=dice, noise=kind)
        learned = learn_conjunction(oracle, [binned(Bits(None), 2)] * d, positive=1, alpha=alpha, beta=beta)
        failures += (learned.predict(list(X.T)) != records.y).mean() > alpha
    assert failures <= 30 * beta
