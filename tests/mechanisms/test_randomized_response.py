"""Randomised response: exact probabilities of truth, independent records, estimates of known error."""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest

from dplearn.kernels import at_most_exp, decay_ratio
from dplearn.mechanisms import randomized_response
from dplearn.privacy import ApproxDP
from dplearn.theory import estimated_frequencies, truth_probability
from tests.mechanisms.laws import law


def law_of(values, n_values, epsilon):
    privacy = ApproxDP(epsilon)
    return law(
        lambda dice: np.asarray(randomized_response(values, n_values, privacy=privacy, dice=dice)).tolist()
    )


@pytest.mark.parametrize("n_values", [2, 3, 5])
@pytest.mark.parametrize("epsilon", ["0.1", 1, 3])
def test_each_value_is_kept_with_its_probability_and_all_others_are_equal(n_values, epsilon):
    ratio = decay_ratio(Fraction(epsilon))
    p = truth_probability(n_values, epsilon)
    assert p == 1 / (1 + (n_values - 1) * ratio)
    for value in range(n_values):
        wanted = dict.fromkeys(range(n_values), p * ratio) | {value: p}
        assert law_of(value, n_values, epsilon) == wanted


# Privacy


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-12", 700, 10**9])
def test_for_every_epsilon_the_truth_is_likelier_than_a_lie_and_never_certain(epsilon):
    for n_values in (2, 1000, 1 << 31):
        p = truth_probability(n_values, epsilon)
        q = (1 - p) / (n_values - 1)
        assert q < p < 1
        assert at_most_exp(p / q, min(Fraction(epsilon), Fraction(700)))


# Accuracy


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)])
@pytest.mark.parametrize(("n_values", "truth"), [(2, (0, 0, 0, 0, 1)), (2, (0,) * 7), (3, (0, 1, 2, 2))])
@pytest.mark.parametrize("epsilon", [1, 3])
def test_the_accuracy_line_holds(n_values, truth, epsilon, beta):
    p = truth_probability(n_values, epsilon)
    q = (1 - p) / (n_values - 1)
    bound = sqrt(log(2 * n_values / beta) / (2 * len(truth))) / float(p - q)
    frequencies = np.bincount(truth, minlength=n_values) / len(truth)
    far = 0
    for reports, mass in law_of(list(truth), n_values, epsilon).items():
        estimate = estimated_frequencies(np.array(reports), n_values, epsilon=epsilon)
        far += mass * bool(np.abs(estimate - frequencies).max() > bound)
    assert far <= beta


@pytest.mark.parametrize(("n_values", "truth"), [(2, (0, 0, 1)), (3, (2, 2, 0)), (4, (1, 3))])
def test_estimates_are_unbiased_and_sum_to_1(n_values, truth):
    mean = np.zeros(n_values)
    for reports, mass in law_of(list(truth), n_values, 1).items():
        estimate = estimated_frequencies(reports, n_values, epsilon=1)
        assert estimate.dtype == np.float64
        assert estimate.sum() == pytest.approx(1, abs=1e-12)
        mean += float(mass) * estimate
    assert mean == pytest.approx(np.bincount(truth, minlength=n_values) / len(truth), abs=1e-12)
