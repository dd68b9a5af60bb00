"""User-level tests of the threshold learner."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from dplearn import BudgetExceededError, PrivacyLedger
from dplearn.chance import SeededDice
from dplearn.domains import (
    Bits,
    Categories,
    DomainError,
    Floats,
    Grid,
    IntegerRange,
    LargeIntegerRange,
    Schema,
)
from dplearn.kernels.cuts import NONUNIFORM_SIZE
from dplearn.learners.rules.threshold import (
    CutColumn,
    ThresholdClassifier,
    _least_errors,
    by_errors,
    by_interior_point,
    threshold_between,
)
from dplearn.privacy import ApproxDP

METHODS = ["exponential", "interior_point"]
FRAMES = pytest.mark.parametrize(
    "frame", [pd.DataFrame, lambda table: pl.DataFrame(table)], ids=["pandas", "polars"]
)


def a_cut(n=400, seed=0):
    """Records of two columns; the second determines the label."""
    X = np.random.default_rng(seed).normal(size=(n, 2))  # public data
    return X, np.where(X[:, 1] > 0.3, "up", "down")


@pytest.mark.parametrize("method", METHODS)
def test_breast_cancer_by_one_column_is_nearly_as_good_as_without_privacy(method):
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for seed in range(8):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        learner = ThresholdClassifier(epsilon=4, method=method, feature=23, classes=[0, 1])
        scores.append(learner.fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(scores) > 0.86  # the worst area, the best column of all, has .92 without privacy


@pytest.mark.parametrize("method", METHODS)
def test_the_column_is_chosen_among_thirteen(method):
    X, y = load_wine(return_X_y=True)
    keep = y > 0
    fitted = ThresholdClassifier(epsilon=100, method=method).fit(X[keep], y[keep])
    assert fitted.score(X[keep], y[keep]) > 0.9
    assert fitted.direction_ == ("<=" if fitted.concept_.concept.inner else ">")


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
def test_a_frame_names_the_column_and_the_rule_names_it_back(frame):
    X, y = a_cut()
    table = frame({"noise": X[:, 0], "signal": X[:, 1]})
    fitted = ThresholdClassifier(epsilon=100, feature="signal").fit(table, y)
    assert fitted.feature_ == 1
    assert "signal" in repr(fitted.concept_)
    assert fitted.score(table, y) > 0.97
    with pytest.raises(
        ValueError,
        match="feature must be the name or position of a column, among 'noise', 'signal', got 'other'",
    ):
        ThresholdClassifier(feature="other").fit(table, y)


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
    with pytest.raises(ValueError, match="domain must have an ordered column"):
        ThresholdClassifier(domain=Categories([1, 2])).fit([[1], [2]], [0, 1])


def test_integers_beyond_64_bits_are_cut_by_an_interior_point():
    X = [[2**90 + i] for i in range(100)] + [[2**95 + i] for i in range(100)]
    y = [0] * 100 + [1] * 100
    domain = LargeIntegerRange(0, 2**100)
    fitted = ThresholdClassifier(epsilon=50, domain=domain, classes=[0, 1]).fit(X, y)
    assert fitted.method_ == "interior_point"
    assert fitted.score(X, y) == 1
    assert 2**90 + 99 <= fitted.threshold_ < 2**95
    with pytest.raises(ValueError, match=r"domain must have fewer than 2\*\*64 values with method='expon"):
        ThresholdClassifier(method="exponential", domain=domain).fit(X, y)


@pytest.mark.parametrize(
    "domain",
    [
        Grid(0, 10, 101),
        Floats(missing=True),
        IntegerRange(0, 10, missing=True),
        Grid(0, 10, 101, missing=True),
        Bits(3.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", METHODS)
def test_other_ordered_domains(domain, method):
    X = np.repeat([[1.0], [9.0]], 100, axis=0)
    y = np.repeat([0, 1], 100)
    fitted = ThresholdClassifier(epsilon=100, method=method, domain=domain).fit(X, y)
    assert fitted.score(X, y) == 1
    assert fitted.threshold_ == 0 if isinstance(domain, Bits) else 1 <= fitted.threshold_ < 9


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_the_plan_matches_the_fit_and_needs_no_data(method):
    X, y = a_cut(50)
    learner = ThresholdClassifier(method=method, classes=["down", "up"], alpha=0.2, epsilon=0.7)
    plan = learner.plan(50, n_features=2)
    fitted = learner.fit(X, y)
    assert plan.guarantee == fitted.guarantee_
    assert plan.method == fitted.method_
    assert 0 < plan.excess_error <= 1 < plan.n_examples <= 50 < plan.n_needed
    assert learner.plan(10**6).excess_error < plan.excess_error


def test_auto_is_exponential_wherever_it_can_be_and_no_delta_is_spent():
    learner = ThresholdClassifier(feature="named by a frame")
    assert learner.plan(100, n_features=3).method == "exponential"
    assert learner.plan(100, n_features=3).guarantee.delta == 0


def test_a_ledger_is_charged_before_the_fit_and_refuses_a_greater_cost():
    X, y = a_cut(20)
    ledger = PrivacyLedger(1.0)
    learner = ThresholdClassifier(epsilon=0.6, ledger=ledger, classes=["down", "up"])
    with pytest.raises(DomainError):
        learner.fit(X, ["left"] * 20)
    assert ledger.spent().epsilon == 0
    learner.fit(X, y)
    with pytest.raises(BudgetExceededError):
        learner.fit(X, y)


def test_seeds_repeat_and_pickles_predict():
    X, y = a_cut()
    one, other = (ThresholdClassifier(epsilon=0.1, random_state=7).fit(X, y) for _ in range(2))
    assert (one.threshold_, one.guarantee_.reproducible) == (other.threshold_, True)
    assert (pickle.loads(pickle.dumps(one)).predict(X) == one.predict(X)).all()


@pytest.mark.parametrize(
    ("parameters", "kind", "message"),
    [
        ({"epsilon": 0}, ValueError, "epsilon must be a finite number above 0, got 0"),
        ({"method": "tree"}, ValueError, "method must be one of 'auto', 'exponential', 'interior_point'"),
        ({"alpha": 1}, ValueError, "alpha must be a finite number above 0 and below 1, got 1"),
        ({"beta": 0}, ValueError, "beta must be a finite number above 0 and below 1, got 0"),
        ({"feature": 2}, ValueError, "feature must be an integer from 0 to 1, got 2"),
        ({"feature": 0.5}, TypeError, "feature must be an integer at least 0, got 0.5"),
        ({"domain": "float32"}, TypeError, "domain must be 'float64' or a domain of numbers, got 'float32'"),
        ({"domain": [IntegerRange(0, 1)] * 3}, ValueError, "domain must describe 2 columns, as X has, got 3"),
        ({"classes": ["a", "b", "c"]}, ValueError, "a threshold needs 2 classes, got 3 classes"),
    ],
)
def test_bad_parameters_are_named_with_constraint_and_value(parameters, kind, message):
    with pytest.raises(kind, match=message):
        ThresholdClassifier(**parameters).fit([[0, 1], [1, 0]], [0, 1])


def test_a_feature_name_is_refused_if_columns_have_no_names():
    X, y = a_cut()
    with pytest.raises(
        ValueError, match=r"feature must be the position of a column, as X has no names .*set_output"
    ):
        ThresholdClassifier(feature="signal").fit(X, y)
    named = pd.DataFrame(np.zeros((400, 9)), columns=[f"c{i}" for i in range(9)])
    with pytest.raises(ValueError, match=r"among 'c0', .*'c7', \.\.\., got 'signal'"):
        ThresholdClassifier(feature="signal").fit(named, y)


def test_two_numbers_are_no_domain():
    with pytest.raises(TypeError, match=r"got \(0, 5\); for numbers from 0 to 5, take Grid\(0, 5, 1001\)"):
        ThresholdClassifier(domain=(0, 5)).fit(*a_cut())


def test_a_fitted_learner_plans_for_the_columns_it_saw():
    X, y = a_cut(3000)
    learner = ThresholdClassifier()
    one = learner.plan(3000)
    assert learner.fit(X, y).plan(3000) == learner.plan(3000, n_features=2)
    assert learner.plan(3000).excess_error > one.excess_error == learner.plan(3000, n_features=1).excess_error


@pytest.mark.filterwarnings("error:n_samples is")
@pytest.mark.parametrize("method", METHODS)
def test_too_few_records_are_warned_of_before_anything_is_spent(method):
    learner = ThresholdClassifier(method=method, classes=["down", "up"])
    enough = 2 * round(learner.plan(10**6).excess_error * 10**6) + 1
    X, y = a_cut(enough)
    learner.fit(X[:, 1:], y)
    ledger = PrivacyLedger(1)
    with pytest.raises(
        UserWarning, match=f"n_samples is {enough - 1}: with epsilon 1 and 2.56 cuts, the training error"
    ):
        clone(learner).set_params(ledger=ledger).fit(X[1:, 1:], y[1:])
    assert ledger.history() == []


def test_an_unfitted_learner_raises_not_fitted():
    with pytest.raises(NotFittedError):
        ThresholdClassifier().predict([[0]])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_and_infinite_values_are_refused(value):
    with pytest.raises(ValueError, match=r"NaN|infinity|outside the declared domain"):
        ThresholdClassifier().fit([[0.0], [value]], [0, 1])


# Both methods: their results with negligible noise, and the ties that the lemma ignores.

PLENTY = ApproxDP(2000)
SIZE = 8
TABLES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, 1)), min_size=1, max_size=12)


def errors_of(stump, codes, y):
    return int((stump.predict([codes]) != y).sum())


def least_errors(codes, y):
    """Return the errors of all cuts in both directions, by brute force."""
    return min(
        int((np.where(codes <= cut, low, 1 - low) != y).sum()) for cut in range(-1, SIZE) for low in (0, 1)
    )


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_with_plenty_of_privacy_errors_are_the_fewest(table):
    codes, y = np.array(table, dtype=np.uint8).T
    column = CutColumn(0, IntegerRange(0, SIZE - 1))
    stump = by_errors([column], [codes], y.astype(np.intp), privacy=PLENTY, dice=SeededDice(0))
    assert errors_of(stump, codes, y) == least_errors(codes, y)


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
        assert _least_errors(codes.astype(kind), y, size) == expected


@given(TABLES, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_a_threshold_between_errs_on_less_than_m_records_that_a_cut_labels(table, m):
    codes, _ = np.array(table, dtype=np.uint8).T
    lower = codes <= table[0][0] - 1 + table[0][1]
    cut = threshold_between(codes, lower, SIZE, m, privacy=ApproxDP(200), dice=SeededDice(0))
    assert -1 <= cut < SIZE
    assert ((codes.astype(int) <= cut) != lower).sum() < m


@pytest.mark.parametrize("wrong", range(3))
def test_errors_are_at_most_three_times_those_of_the_best_cut(wrong):
    codes = np.arange(100, dtype=np.uint8)
    y = (codes <= 40).astype(np.intp)
    y[[80, 85, 90][:wrong]] = 1
    column = CutColumn(0, IntegerRange(0, 99))
    stump = by_interior_point([column], [codes], y, 20, privacy=PLENTY, dice=SeededDice(0))
    assert errors_of(stump, codes, y) <= 3 * wrong


def test_a_domain_of_any_size_has_an_interior_point():
    domain = LargeIntegerRange(0, 2**300)
    values = [2**100 + i for i in range(200)] + [2**250 + i for i in range(200)]
    codes, y = domain.encode(values), np.repeat([0, 1], 200)
    stump = by_interior_point(
        [CutColumn(0, domain)], [codes], y, 150, privacy=ApproxDP(50), dice=SeededDice(0)
    )
    assert errors_of(stump, codes, y) == 0
    assert (stump.inner, stump.outer) == (0, 1)


def test_floats_are_cut_on_the_nonuniform_grid_and_other_domains_at_every_code():
    assert CutColumn(0, Floats()).size == NONUNIFORM_SIZE
    assert CutColumn(0, Floats(missing=True)).size == Floats(missing=True).size
    assert CutColumn(0, Floats()).stump(NONUNIFORM_SIZE - 1, (0, 1)).code == Floats().size - 1
    assert CutColumn(0, Floats()).stump(-1, (0, 1)).code == -1


@pytest.mark.parametrize("learn", [by_errors, by_interior_point])
def test_the_informative_column_is_found_among_others(learn):
    rng = np.random.default_rng(0)  # public data
    table = rng.integers(0, 100, (5, 300)).astype(np.uint8)
    y = (table[3] > 60).astype(np.intp)
    columns = [CutColumn(i, IntegerRange(0, 99)) for i in range(5)]
    more = (300,) if learn is by_interior_point else ()
    stump = learn(columns, list(table), y, *more, privacy=ApproxDP(50), dice=SeededDice(0))
    assert (stump.feature, stump.inner, stump.outer) == (3, 0, 1)
    assert abs(stump.code - 60) <= 3
