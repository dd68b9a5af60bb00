"""The arithmetic of logistic regression: steps, calibration, class weights, effects and their deviations."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, recall_score, roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier

from dplearn import StatisticalQueryLogisticRegression
from dplearn.chance import SeededDice
from dplearn.domains import Categories, Grid, IntegerRange, Schema
from dplearn.learners.linear.logistic_queries import Mapped, score_edges, score_queries, weighted_parts
from dplearn.learners.linear.logistic_steps import ClassWeights, calibrate, learn_logistic, released_weights
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.queries import CentralOracle, LabelledRows, PopulationOracle, population
from tests.learners.logistic_plans import plan_of


def classes_of(n=2000, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    margins = X @ rng.normal(size=(d, k)) * 2 + rng.gumbel(size=(n, k))
    return X, margins.argmax(axis=1)


def accuracy(model, X, y):
    return np.mean(model.margins(X).argmax(axis=1) == y)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("order", [1, 2])
def test_without_noise_it_is_as_good_as_logistic_regression(k, order):
    X, y = classes_of(k=k)
    plan = plan_of(5, k, order=order)
    model = learn_logistic(PopulationOracle(LabelledRows(plan.rows(X), y)), plan)
    assert accuracy(model, X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.02


def test_answer_errors_within_a_tolerance_are_harmless():
    X, y = classes_of()
    plan = plan_of(5, 3)
    signs = np.random.default_rng(1)
    oracle = PopulationOracle(
        LabelledRows(plan.rows(X), y),
        tolerance=0.01,
        adversary=lambda exact: exact + 9 * signs.choice([-1, 1], exact.shape),
    )
    assert accuracy(learn_logistic(oracle, plan), X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.05


@pytest.mark.parametrize(("order", "delta"), [(1, 0), (2, "1e-6")])
def test_a_central_oracle_with_a_large_epsilon_is_as_accurate(order, delta):
    X, y = classes_of()
    plan = plan_of(5, 3, order=order, n_steps=6 if order == 1 else 24)
    oracle = CentralOracle(LabelledRows(plan.rows(X), y), privacy=ApproxDP(20, delta), dice=SeededDice(0))
    assert accuracy(learn_logistic(oracle, plan), X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.05
    assert oracle.left == 0
    assert len(oracle.rounds) == 2 + plan.n_steps


@pytest.mark.parametrize("second_moments", [True, False])
def test_one_step_classifies_digits(second_moments):
    """All images are similar: their common direction is separated."""
    X, y = load_digits(return_X_y=True)
    plan = plan_of(65, 10, n_steps=1, second_moments=second_moments)
    model = learn_logistic(PopulationOracle(LabelledRows(plan.rows(X), y)), plan)
    assert accuracy(model, X, y) > 0.86


def test_probabilities_are_calibrated_where_noise_is_small():
    X, y = classes_of(n=20_000, k=2)
    plan = plan_of(5, 2)
    oracle = CentralOracle(LabelledRows(plan.rows(X), y), privacy=ApproxDP(3, "1e-6"), dice=SeededDice(0))
    chances = softmax(learn_logistic(oracle, plan).margins(X), axis=1)[:, 1]
    for low in (0.1, 0.3, 0.5, 0.7):
        near = (chances >= low) & (chances < low + 0.2)
        assert abs(y[near].mean() - chances[near].mean()) < 0.12


def test_a_row_of_zeros_in_the_metric_has_no_margins_beyond_range():
    X, y = classes_of(n=100)
    plan = plan_of(5, 3, n_steps=2)
    model = learn_logistic(PopulationOracle(LabelledRows(plan.rows(X), y)), plan)
    assert np.isfinite(model.margins(np.zeros((1, 4)))).all()


EDGES = np.concatenate([[-1.0], score_edges(9), [1.0]])
MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2


def counts_of(slope, offset, n=100_000):
    likely = expit(slope * MIDDLES + offset)
    each = n / len(MIDDLES)
    return np.column_stack([each * (1 - likely), each * likely])


@pytest.mark.parametrize(("slope", "offset"), [(2.0, 0.0), (8.0, -3.0), (0.5, 1.0)])
def test_slope_and_offset_are_found_for_every_prior(slope, offset):
    found = calibrate(counts_of(slope, offset), EDGES, slope=1.0, noise=1.0)
    assert (found.slope, found.offset) == (pytest.approx(slope, rel=0.02), pytest.approx(offset, abs=0.02))


def test_the_deviation_of_the_slope_is_that_of_noisy_counts():
    exact, rng = counts_of(6.0, -1.0), np.random.default_rng(0)
    found = [
        calibrate(exact + rng.normal(scale=100.0, size=exact.shape), EDGES, slope=6.0, noise=100.0)
        for _ in range(200)
    ]
    given = np.mean([each.deviation for each in found])
    assert 0.8 < np.std([each.slope for each in found]) / given < 1.25


def test_noise_dominated_counts_give_the_prior_slope_and_offset():
    few = counts_of(50.0, -2.0, n=100)
    found = calibrate(few, EDGES, slope=3.0, noise=1e6)
    assert (found.slope, found.deviation) == (3.0, 3.0)
    assert found.offset == pytest.approx(np.log(few[:, 1].sum() / few[:, 0].sum()))


def test_scores_of_the_wrong_sign_give_nearly_no_slope():
    found = calibrate(counts_of(-4.0, 0.0), EDGES, slope=1.0, noise=1.0)
    assert 0 < found.slope < 1e-3


def test_scores_of_several_classes_are_of_the_label_against_its_two_neighbours():
    plan = plan_of(2, 3, levels=1)
    records = LabelledRows(np.array([[1.0, 0.0], [1.0, 0.0]]) * plan.reach, np.array([0, 2]))
    weights = np.array([[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])  # margins 3, 2, 1
    after, before = score_queries(plan, Mapped(plan, np.eye(2)), weights, shift=0.0, reach=4.0)
    assert after.inputs(records).tolist() == [1, 0]  # 3 - 2, 1 - 3
    assert before.inputs(records).tolist() == [1, 0]  # 3 - 1, 1 - 2


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    ("n_steps", "delta"),
    [
        (1, 0),
        pytest.param(1, 1e-6, marks=pytest.mark.nightly),
        ("auto", 1e-6),
        pytest.param(24, 1e-6, marks=pytest.mark.nightly),
    ],
)
def test_rare_labels_are_ranked_and_no_worse_is_predicted_than_the_majority(n_steps, delta):
    """One digit of ten: a step without the label's frequency predicts it too often."""
    images, digits = load_digits(return_X_y=True)
    images, rare = np.tile(images, (4, 1)), np.tile(digits == 4, 4).astype(int)
    for seed in range(2):
        model = StatisticalQueryLogisticRegression(
            epsilon=1.0,
            delta=delta,
            n_steps=n_steps,
            domain=IntegerRange(0, 16),
            classes=[0, 1],
            random_state=seed,
        ).fit(images, rare)
        chances = model.predict_proba(images)[:, 1]
        assert model.score(images, rare) > 1 - rare.mean() - 0.005
        assert roc_auc_score(rare, chances) > 0.85
        assert abs(chances.mean() - rare.mean()) < 0.03


RARE = make_classification(20_000, 6, n_informative=4, weights=[0.98], class_sep=1.5, random_state=0)


def fitted(X, y, **parameters):
    known = {"classes": sorted(set(y.tolist())), "random_state": 0}
    return StatisticalQueryLogisticRegression(**known | parameters).fit(X, y)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_balanced_weights_find_a_rare_class_that_a_fit_without_weights_does_not_predict(epsilon):
    X, y = RARE
    plain, model = fitted(X, y, epsilon=epsilon), fitted(X, y, epsilon=epsilon, class_weight="balanced")
    assert balanced_accuracy_score(y, model.predict(X)) > balanced_accuracy_score(y, plain.predict(X)) + 0.1
    assert recall_score(y, model.predict(X)) > 0.6
    ranks = [roc_auc_score(y, each.decision_function(X)) for each in (plain, model)]
    assert ranks[1] > ranks[0] - 0.03


def test_probabilities_are_those_of_the_weighted_population():
    X, y = RARE
    model = fitted(X, y, epsilon=10.0, class_weight={0: 1, 1: 20})
    weights = np.where(y == 1, 20, 1)
    chances = model.predict_proba(X)[:, 1]
    assert np.average(chances, weights=weights) == pytest.approx(np.average(y, weights=weights), abs=0.03)


def test_only_ratios_of_weights_matter_and_absent_labels_have_the_weight_1():
    oracle = population(LabelledRows(np.zeros((4, 1)), np.array([1, 0, 0, 0])))
    found = [
        released_weights(oracle, each, (0, 1), share=1, noise_to_signal=0.0).loss.tolist()
        for each in ({0: 3.0, 1: 9.0}, {1: 3.0}, {0: 1 / 3})
    ]
    assert found == [pytest.approx([1 / 3, 1.0])] * 3


def test_weights_of_several_classes_shift_the_margins_only():
    X, y = load_digits(return_X_y=True)
    known = {"epsilon": 100.0, "domain": IntegerRange(0, 16)}
    model = fitted(X, y, class_weight={3: 50.0}, **known)
    assert (model.predict(X) == 3).sum() > (fitted(X, y, **known).predict(X) == 3).sum()
    assert np.ptp(model.offset_) == pytest.approx(np.log(50))


def test_the_plan_counts_the_query_for_the_classes():
    known = {"n_features": 4, "n_labels": 2}
    learner = StatisticalQueryLogisticRegression()
    plain, weighted = (
        learner.plan(1000, **known),
        learner.set_params(class_weight="balanced").plan(1000, **known),
    )
    assert weighted.n_queries == plain.n_queries + 1
    assert sum(weighted.shares[:2]) + weighted.shares[2] * (weighted.n_steps - 1) == (
        1 - weighted.calibration_share - weighted.counting_share
    )
    assert plain.deviation < weighted.deviation < 1.1 * plain.deviation


@pytest.mark.filterwarnings("ignore:n_samples is")
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_one_record_and_a_class_without_records_are_fitted(delta):
    model = StatisticalQueryLogisticRegression(
        classes=["a", "b"], class_weight="balanced", delta=delta, random_state=0
    )
    with np.errstate(all="raise"):
        model.fit(np.zeros((1, 2)), ["a"])
    assert np.isfinite(model.predict_proba(np.zeros((2, 2)))).all()


@pytest.mark.parametrize(
    ("class_weight", "error", "message"),
    [
        ("even", ValueError, "class_weight must be None, 'balanced' or a dict .*, got 'even'"),
        ([1, 2], TypeError, "class_weight must be None, 'balanced' or a dict"),
        ({0: 0, 1: 1}, ValueError, r"class_weight\[0\] must be a finite number above 0, got 0"),
        ({0: float("nan")}, ValueError, r"class_weight\[0\] must be a finite number above 0"),
        ({0: "x"}, (TypeError, ValueError), r"class_weight\[0\] must be a finite number above 0"),
        ({"no": 2}, ValueError, "class_weight must have labels of the classes as its keys, got 'no'"),
    ],
)
def test_bad_weights_are_refused_before_anything_is_charged(class_weight, error, message):
    ledger = PrivacyLedger(5, 1e-3)
    learner = StatisticalQueryLogisticRegression(class_weight=class_weight, classes=[0, 1], ledger=ledger)
    with pytest.raises(error, match=message):
        learner.fit(RARE[0], RARE[1])
    assert ledger.history() == []


def test_weighted_parts_are_whole_and_no_greater_than_those_of_weight_1():
    parts = lambda rows, y: np.array([[-5.0, 3.0], [511.0, -512.0]])  # noqa: E731
    found = weighted_parts(parts, np.array([1.0, 0.02]))(None, np.array([0, 1]))
    assert found.tolist() == [[-40, 24], [82, -82]]


def test_the_steps_use_weights_as_far_as_the_noise_allows():
    oracle = population(LabelledRows(np.zeros((50, 1)), np.array([1] + [0] * 49)))
    known = {"classes": (0, 1), "share": 1}
    found = [
        released_weights(oracle, "balanced", noise_to_signal=noise, **known).steps[0]
        for noise in (0.001, 0.003, 0.006, 0.015, 0.5)
    ]
    assert found == pytest.approx([49**-1, 49**-0.75, 49**-0.5, 49**-0.25, 1.0])


def test_noise_in_empty_bins_is_no_record_of_a_rare_class():
    weights = ClassWeights(np.ones(2), np.ones(2), 1.0, np.array([0.98, 0.02]))
    noisy = np.column_stack([[0.5, 0.48, 0.0, 0.0], [0.006, 0.006, 0.018, 0.006]])
    assert weights.counts(noisy)[:, 1] == pytest.approx([0.002, 0.002, 0.014, 0.002])


def test_a_fixed_threshold_of_scikit_learn_is_taken_around_a_fitted_model():
    X, y = RARE
    model = FixedThresholdClassifier(
        StatisticalQueryLogisticRegression(epsilon=3.0, classes=[0, 1], random_state=0), threshold=0.02
    ).fit(X, y)
    assert (model.predict(X) == (model.estimator_.predict_proba(X)[:, 1] >= 0.02)).all()
    assert recall_score(y, model.predict(X)) > 0.5
    assert model.estimator_.guarantee_.epsilon == 3


N = 20_000
SCHEMA = Schema({"town": Categories(list("abcd")), "age": Grid(0, 1), "z": Grid(-2, 2)})


def table(k):
    rng = np.random.default_rng(0)
    town, age = rng.integers(4, size=N), rng.uniform(0, 1, N)
    z = rng.normal(size=N) * 0.2 + 0.5 * (town == 2)
    margins = 2 * (age - 0.5) + np.array([-1, 0, 1, 0.3])[town] - z + rng.logistic(size=N)
    y = (margins > 0).astype(int) if k == 2 else np.digitize(margins, [-1, 1])
    return pd.DataFrame({"town": np.array(list("abcd"))[town], "age": age, "z": z.clip(-2, 2)}), y


def fit(X, y, **parameters):
    return StatisticalQueryLogisticRegression(domain=SCHEMA, classes=sorted(set(y)), **parameters).fit(X, y)


@pytest.mark.parametrize(("k", "apart"), [(2, 0.15), (3, 0.25)])
def test_two_fits_have_coefficients_that_compare(k, apart):
    X, y = table(k)
    first, second = (fit(X, y, epsilon=3.0, random_state=seed) for seed in range(2))
    assert np.abs(first.coef_ - second.coef_).max() < apart
    assert np.allclose(first.coef_[:, :4].sum(axis=1), 0)
    assert np.abs(first.intercept_ - second.intercept_).max() < 0.1
    if k == 2:  # in the units of the margin that made the labels, but for the length of rows
        assert np.allclose(first.coef_[0, :4], np.array([-1, 0, 1, 0.3]) - 0.075, atol=0.25)
    assert list(first.get_feature_names_out()) == [
        *(f"town == '{name}'" for name in "abcd"),
        "age",
        "z",
    ]
    assert first.coef_.shape == first.coef_std_.shape == ((1 if k == 2 else k), 6)


@pytest.mark.nightly
def test_intervals_hold_the_coefficients_of_a_fit_with_next_to_no_noise_about_as_often_as_they_say():
    X, y = table(2)
    for n_steps in (1, 24):
        exact = fit(X, y, epsilon=1e4, n_steps=n_steps, random_state=0).coef_
        held = []
        for seed in range(8):
            low, high = np.moveaxis(
                fit(X, y, epsilon=1.0, n_steps=n_steps, random_state=seed).coef_interval(0.1), -1, 0
            )
            assert (low < high).all()
            held.append((low <= exact) & (exact <= high))
        assert 0.7 < np.mean(held) <= 1


def test_names_that_are_not_the_columns_are_refused():
    X, y = table(2)
    model = fit(X[:500], y[:500], epsilon=100.0)
    assert list(model.get_feature_names_out(["town", "age", "z"])) == list(model.get_feature_names_out())
    with pytest.raises(ValueError, match="input_features must equal feature_names_in_"):
        model.get_feature_names_out(["a", "b", "c"])
    with pytest.raises(ValueError, match="beta must be"):
        model.coef_interval(0)
    plain = StatisticalQueryLogisticRegression(epsilon=100.0, classes=[0, 1]).fit(
        X[["age", "z"]].to_numpy(), y
    )
    assert list(plain.get_feature_names_out()) == ["x0", "x1"]
    with pytest.raises(ValueError, match="input_features must be 2 names, got 1"):
        plain.get_feature_names_out(["a"])


@pytest.mark.parametrize("columns", [["signal", "noise"], ["noise", "signal"], ["noise", "other", "signal"]])
def test_names_go_with_effects_whatever_the_order_of_the_frame(columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.uniform(0, 10, 2000) for name in columns})
    schema = Schema({"signal": Grid(0, 10, 1001), "noise": Grid(0, 10, 1001)}, labels=[0, 1])
    model = StatisticalQueryLogisticRegression(epsilon=9, domain=schema, random_state=0)
    model.fit(frame, (frame["signal"] > 5).astype(int))
    assert list(model.get_feature_names_out()) == ["signal", "noise"]
    assert list(model.get_feature_names_out(columns)) == ["signal", "noise"]
    assert model.coef_[0, 0] > 10 * abs(model.coef_[0, 1])
    with pytest.raises(ValueError, match="input_features must equal feature_names_in_"):
        model.get_feature_names_out(["signal", "noise", "x"])
