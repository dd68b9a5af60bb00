import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from dplearn.chance import SeededDice
from dplearn.learners.logistic_steps import learn_logistic
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, Examples, PopulationOracle
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
    model = learn_logistic(PopulationOracle(Examples(plan.rows(X), y)), plan)
    assert accuracy(model, X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.02


def test_answer_errors_within_a_tolerance_are_harmless():
    X, y = classes_of()
    plan = plan_of(5, 3)
    signs = np.random.default_rng(1)
    oracle = PopulationOracle(
        Examples(plan.rows(X), y),
        tolerance=0.01,
        adversary=lambda exact: exact + 9 * signs.choice([-1, 1], exact.shape),
    )
    assert accuracy(learn_logistic(oracle, plan), X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.05


@pytest.mark.parametrize(("order", "delta"), [(1, 0), (2, "1e-6")])
def test_a_central_oracle_with_a_large_epsilon_is_as_accurate(order, delta):
    X, y = classes_of()
    plan = plan_of(5, 3, order=order, n_steps=6 if order == 1 else 24)
    oracle = CentralOracle(Examples(plan.rows(X), y), privacy=ApproxDP(20, delta), dice=SeededDice(0))
    assert accuracy(learn_logistic(oracle, plan), X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.05
    assert oracle.left == 0
    assert len(oracle.rounds) == 2 + plan.n_steps


@pytest.mark.parametrize("second_moments", [True, False])
def test_one_step_classifies_digits(second_moments):
    """All images are similar: their common direction is separated."""
    X, y = load_digits(return_X_y=True)
    plan = plan_of(65, 10, n_steps=1, second_moments=second_moments)
    model = learn_logistic(PopulationOracle(Examples(plan.rows(X), y)), plan)
    assert accuracy(model, X, y) > 0.86


def test_probabilities_are_calibrated_where_noise_is_small():
    X, y = classes_of(n=20_000, k=2)
    plan = plan_of(5, 2)
    oracle = CentralOracle(Examples(plan.rows(X), y), privacy=ApproxDP(3, "1e-6"), dice=SeededDice(0))
    chances = softmax(learn_logistic(oracle, plan).margins(X), axis=1)[:, 1]
    for low in (0.1, 0.3, 0.5, 0.7):
        near = (chances >= low) & (chances < low + 0.2)
        assert abs(y[near].mean() - chances[near].mean()) < 0.12


def test_a_row_of_zeros_in_the_metric_has_no_margins_beyond_range():
    X, y = classes_of(n=100)
    plan = plan_of(5, 3, n_steps=2)
    model = learn_logistic(PopulationOracle(Examples(plan.rows(X), y)), plan)
    assert np.isfinite(model.margins(np.zeros((1, 4)))).all()
