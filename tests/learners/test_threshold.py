"""The threshold learner: what it learns, with both methods, and its bounds."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from dplearn import CornerClassifier, ExponentialMechanismClassifier
from dplearn.chance import SeededDice
from dplearn.domains import Bits, Categories, Floats, Grid, IntegerRange, LargeIntegerRange, Schema
from dplearn.kernels.cuts import NONUNIFORM_SIZE
from dplearn.learners import ThresholdClassifier
from dplearn.learners.rules.threshold import (
    THRESHOLD_METHODS,
    CutColumn,
    by_errors,
    by_interior_point,
    least_errors,
)
from dplearn.privacy import ApproxDP
from dplearn.theory import interior_point_examples, threshold_excess_errors, threshold_sample_size

METHODS = ["exponential", "interior_point"]
FRAMES = pytest.mark.parametrize(
    "frame", [pd.DataFrame, lambda table: pl.DataFrame(table)], ids=["pandas", "polars"]
)


def a_cut(n=400, seed=0):
    """Records of two columns; the second determines the label."""
    X = np.random.default_rng(seed).normal(size=(n, 2))  # public data
    return X, np.where(X[:, 1] > 0.3, "up", "down")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("flipped", [False, True])
def test_threshold_direction_and_feature_are_the_rule(method, flipped):
    X, y = a_cut()
    y = np.where(y == "up", "down", "up") if flipped else y
    fitted = ThresholdClassifier(epsilon=100, method=method).fit(X, y)
    above = X[:, fitted.feature_] > fitted.threshold_
    second = above if fitted.direction_ == ">" else ~above
    assert (fitted.predict(X) == fitted.classes_[second.astype(int)]).all()
    assert (fitted.feature_, fitted.direction_) == (1, "<=" if flipped else ">")
    assert abs(fitted.threshold_ - 0.3) < 0.1
    assert fitted.classes_.tolist() == ["down", "up"]
    assert fitted.predict_proba(X)[:, 1].tolist() == (fitted.predict(X) == "up").tolist()


@pytest.mark.parametrize("method", METHODS)
def test_with_one_label_the_threshold_is_a_constant(method):
    X = np.arange(10.0)[:, None]
    learner = ThresholdClassifier(
        epsilon=500, method=method, domain=IntegerRange(0, 9), classes=[0, 1], feature=0
    )
    for label in (0, 1):
        fitted = clone(learner).fit(X, [label] * 10)
        assert (fitted.predict(X) == label).all()
        assert fitted.threshold_ in (-np.inf, 9)


@FRAMES
def test_a_schema_declares_columns_and_labels_and_unordered_columns_are_skipped_and_named(frame):
    schema = Schema({"job": Categories(["a", "b"]), "age": IntegerRange(0, 120)}, labels=["no", "yes"])
    table = frame({"age": list(range(100)), "job": ["a", "b"] * 50, "ignored": [0] * 100})
    y = ["yes" if age >= 65 else "no" for age in range(100)]
    with pytest.warns(UserWarning, match=r"columns \['job'\] have no order and are not used; feature="):
        fitted = ThresholdClassifier(epsilon=100, domain=schema).fit(table, y)
    ThresholdClassifier(epsilon=100, domain=schema, feature="age").fit(table, y)  # without a warning
    assert fitted.score(table, y) == 1
    assert (fitted.feature_, fitted.direction_) == (1, ">")
    assert repr(fitted.concept_) == "'no' if age <= 64, else 'yes'"
    assert "labels are among the declared classes" in fitted.guarantee_.assumes
    with pytest.raises(ValueError, match="feature must have an ordered domain"):
        ThresholdClassifier(domain=schema, feature="job").fit(table, y)


@pytest.mark.parametrize("kind", ["array", "pandas", "nullable", "polars", "floats"])
@pytest.mark.parametrize(
    "learner", [ThresholdClassifier(), CornerClassifier(), ExponentialMechanismClassifier()], ids=repr
)
def test_undeclared_integers_are_cut_at_integers_and_floats_are_not(learner, kind):
    ages = np.random.default_rng(0).integers(18, 90, 4000)[:, None]
    y, plain = (ages[:, 0] < 65).astype(int), pd.DataFrame(ages, columns=["age"])
    made = {"array": ages, "pandas": plain, "nullable": plain.convert_dtypes(), "floats": ages.astype(float)}
    X = made[kind] if kind in made else pl.DataFrame({"age": ages[:, 0]})
    fitted = clone(learner).set_params(classes=[0, 1], random_state=0).fit(X, y)
    number = float(repr(fitted.concept_).split(" < ")[1].partition(",")[0])
    assert number.is_integer() == (kind != "floats")
    assert 60 < number < 70
    cells = np.array([[number - 1e-9], [number]])  # new records may be floats
    below, above = fitted.predict(cells if hasattr(X, "dtype") else pd.DataFrame(cells, columns=["age"]))
    assert below != above
    assert number - 1 <= getattr(fitted, "threshold_", number) <= number
    assert (fitted.predict(X) != y).mean() < 0.1


def test_integers_beyond_64_bits_are_cut_by_an_interior_point():
    X = [[2**90 + i] for i in range(100)] + [[2**95 + i] for i in range(100)]
    y = [0] * 100 + [1] * 100
    domain = LargeIntegerRange(0, 2**100)
    fitted = ThresholdClassifier(epsilon=50, domain=domain, classes=[0, 1]).fit(X, y)
    assert fitted.method_ == "interior_point"
    assert fitted.score(X, y) == 1
    assert 2**90 + 99 <= fitted.threshold_ < 2**95


@pytest.mark.parametrize(
    "domain",
    [Floats(missing=True), IntegerRange(0, 10, missing=True), Grid(0, 10, 101, missing=True), Bits(3.0)],
    ids=repr,
)
@pytest.mark.parametrize("method", METHODS)
def test_other_ordered_domains(domain, method):
    X = np.repeat([[1.0], [9.0]], 100, axis=0)
    y = np.repeat([0, 1], 100)
    fitted = ThresholdClassifier(epsilon=100, method=method, domain=domain).fit(X, y)
    assert fitted.score(X, y) == 1
    assert fitted.threshold_ == 0 if isinstance(domain, Bits) else 1 <= fitted.threshold_ < 9


def test_a_fitted_learner_plans_for_the_columns_it_saw():
    X, y = a_cut(3000)
    learner = ThresholdClassifier()
    one = learner.plan(3000, n_features=1)
    assert ThresholdClassifier(feature="age").plan(3000) == one
    assert learner.fit(X, y).plan(3000) == learner.plan(3000, n_features=2)
    assert learner.plan(3000).excess_error > one.excess_error


@pytest.mark.filterwarnings("error:n_samples is")
@pytest.mark.parametrize("method", METHODS)
def test_too_few_records_are_warned_of_from_where_the_plan_says(method):
    learner = ThresholdClassifier(method=method, classes=["down", "up"])
    enough = 2 * round(learner.plan(10**6, n_features=1).excess_error * 10**6) + 1
    X, y = a_cut(enough)
    learner.fit(X[:, 1:], y)
    with pytest.raises(
        UserWarning, match=f"n_samples is {enough - 1}: with epsilon 1 and 2.56 cuts, the training error"
    ):
        learner.fit(X[1:, 1:], y[1:])


# Both methods: their results with negligible noise, and the ties that the lemma ignores.

PLENTY = ApproxDP(2000)
SIZE = 8
TABLES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, 1)), min_size=1, max_size=12)


def errors_of(stump, codes, y):
    return int((stump.predict([codes]) != y).sum())


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_the_fewest_errors_of_each_direction_are_those_of_all_cuts(table):
    codes, y = np.array(table, dtype=np.uint8).T
    y = y.astype(np.intp)
    expected = tuple(
        min(int((np.where(codes <= cut, low, 1 - low) != y).sum()) for cut in range(-1, SIZE))
        for low in (1, 0)
    )
    for kind, size in ((np.uint8, SIZE), (np.uint64, 2**63), (object, 2**70)):
        assert least_errors(codes.astype(kind), y, size) == expected
    column = CutColumn(0, IntegerRange(0, SIZE - 1))
    stump = by_errors([column], [codes], y, privacy=PLENTY, dice=SeededDice(0))
    assert errors_of(stump, codes, y) == min(expected)


def test_floats_are_cut_on_the_nonuniform_grid_and_other_domains_at_every_code():
    assert CutColumn(0, Floats()).size == NONUNIFORM_SIZE
    assert CutColumn(0, Floats(missing=True)).size == Floats(missing=True).size
    assert CutColumn(0, Floats()).stump(NONUNIFORM_SIZE - 1, (0, 1)).code == Floats().size - 1
    assert CutColumn(0, Floats()).stump(-1, (0, 1)).code == -1


# Bounds: valid where that can be computed.


def test_exponential_is_the_formula():
    found = threshold_excess_errors("exponential", 2**20, epsilon=0.5, beta=0.01)
    assert found == math.floor(4 * math.log(2**21 / 0.01))


def test_examples_are_the_maximum_of_alpha_and_the_bound_and_at_most_all():
    few = interior_point_examples(1000, 100, epsilon=1, alpha=0.001, beta=0.05)
    assert 1 < few < 1000
    assert interior_point_examples(1000, 100, epsilon=1, alpha=0.5, beta=0.05) == 500
    assert interior_point_examples(10, 100, epsilon=1, alpha=0.5, beta=0.05) == 10


@pytest.mark.parametrize("method", THRESHOLD_METHODS)
def test_the_bound_on_training_errors_is_exceeded_with_probability_at_most_beta(method):
    beta, size = 0.2, 64
    codes = np.arange(400) * size // 400
    y = (codes <= 30).astype(np.intp)
    bound = threshold_excess_errors(method, size + 1, epsilon=2, beta=beta)
    column = [CutColumn(0, IntegerRange(0, size - 1))]
    m = interior_point_examples(400, size + 1, epsilon=2, alpha=0.1, beta=beta)
    learn, more = (by_errors, ()) if method == "exponential" else (by_interior_point, (m,))
    wrong = 0
    for seed in range(60):
        dice = SeededDice(seed)
        stump = learn(column, [codes.astype(np.uint8)], y, *more, privacy=ApproxDP(2), dice=dice)
        wrong += int((stump.predict([codes]) != y).sum() > bound)
    assert wrong <= 25  # P[Binomial(60, 0.2) > 25] < 1e-4


def test_without_a_perfect_threshold_the_sample_pays_one_over_alpha_squared():
    fine, coarse = (
        threshold_sample_size("exponential", 100, alpha=alpha, epsilon=10, beta=0.05) for alpha in (0.01, 0.1)
    )
    assert 50 < fine / coarse < 101
    n = threshold_sample_size("interior_point", 10**6, epsilon=1, alpha=0.1, beta=0.05, realizable=True)
    wrong = threshold_excess_errors("interior_point", 10**6, epsilon=1, beta=0.025)
    # By Chernoff's bound the proof holds from somewhat more on, and not for less than wrong / alpha.
    assert wrong / 0.1 < n < (wrong + math.sqrt(8 * wrong * math.log(160)) + 8 * math.log(160)) / 0.1


@pytest.mark.parametrize("share", [0, 0.3])
def test_from_the_sample_size_on_the_true_error_is_small_as_often_as_promised(share):
    """All values of a column are equally likely; the labels of a share of the records are flipped."""
    size, failures, cut = 32, [0, 0], 20
    column, rng = [CutColumn(0, IntegerRange(0, size - 1))], np.random.default_rng(5)
    terms = {"epsilon": 1, "alpha": 0.2, "beta": 0.2, "realizable": not share}
    needed = threshold_sample_size("exponential", size + 1, **terms)
    for seed in range(60):
        for place, n in enumerate((needed, needed // 40)):
            codes = rng.integers(0, size, n).astype(np.uint8)
            y = ((codes <= cut) ^ (rng.random(n) < share)).astype(np.intp)
            stump = by_errors(column, [codes], y, privacy=ApproxDP(1), dice=SeededDice(seed))
            values = np.arange(size).astype(np.uint8)
            off = (stump.predict([values]) != (values <= cut)).mean()
            failures[place] += off * (1 - 2 * share) > 0.2
    assert failures[0] <= 25  # P[Binomial(60, 0.2) > 25] < 1e-4
    assert failures[1] > failures[0] + 10
