"""Tests of the bounds for thresholds: validity where computable, and monotonicity."""

import math

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.domains import IntegerRange
from dplearn.learners.rules.threshold import (
    THRESHOLD_METHODS,
    CutColumn,
    by_errors,
    by_interior_point,
    interior_point_examples,
    threshold_excess_errors,
    threshold_sample_size,
)
from dplearn.privacy import ApproxDP


def test_exponential_is_the_formula():
    found = threshold_excess_errors("exponential", 2**20, epsilon=0.5, beta=0.01)
    assert found == math.floor(4 * math.log(2**21 / 0.01))


@pytest.mark.parametrize("n_cuts", [1, 3, 2**16, 2**64])
@pytest.mark.parametrize("n_columns", [1, 5, 10**4])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1, 30])
def test_exponential_never_has_a_greater_bound_on_errors(n_cuts, n_columns, epsilon):
    exponential, interior = (
        threshold_excess_errors(method, n_cuts, n_columns=n_columns, epsilon=epsilon, beta=0.05)
        for method in THRESHOLD_METHODS
    )
    assert exponential <= interior


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
    terms = {"epsilon": 10, "beta": 0.05}
    fine = threshold_sample_size("exponential", 100, alpha=0.01, **terms)
    coarse = threshold_sample_size("exponential", 100, alpha=0.1, **terms)
    assert 50 < fine / coarse < 100
    with pytest.raises(ValueError, match="realizable must be True with method 'interior_point', got False"):
        threshold_sample_size("interior_point", 100, alpha=0.1, **terms)
