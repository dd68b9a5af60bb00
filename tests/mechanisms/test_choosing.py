"""The choosing mechanism: its law, its threshold, and that published thresholds are greater."""

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from dplearn.kernels import decay_ratio, laplace_tail
from dplearn.mechanisms import choosing_mechanism
from dplearn.privacy import ApproxDP
from dplearn.theory import choosing_threshold
from tests.mechanisms.laws import law


def formula(qualities, epsilon, threshold):
    """The literal definition: a noisy test of the best, then a solution by its weight."""
    ratio = decay_ratio(Fraction(epsilon) / 4)
    weights = {i: ratio**-quality for i, quality in enumerate(qualities) if quality > 0}
    if not weights:
        return {None: Fraction(1)}
    passed = laplace_tail(ratio, threshold - max(qualities))
    chosen = {i: passed * weight / sum(weights.values()) for i, weight in weights.items()}
    return {None: 1 - passed} | chosen


@pytest.mark.parametrize("qualities", [(3,), (0, 7, 2), (30, 1, 1), (5, 5, 0), (0, 0), (-4, 3)])
@pytest.mark.parametrize("growth", [1, 2, 3])
def test_the_law_is_the_test_times_the_selection(qualities, growth):
    privacy = ApproxDP("0.5", "0.01")
    distribution = law(
        lambda dice: choosing_mechanism(np.array(qualities), growth=growth, privacy=privacy, dice=dice)
    )
    assert distribution == formula(qualities, "0.5", choosing_threshold(growth, privacy))


# The threshold


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("growth", [1, 2, 3, 100])
def test_the_bar_is_the_least_that_meets_both_conditions(epsilon, delta, growth):
    privacy = ApproxDP(epsilon, delta)
    threshold, ratio = choosing_threshold(growth, privacy), decay_ratio(privacy.epsilon / 4)
    crowded = 1
    while growth > (1 / ratio - 1) * ratio**-crowded:
        crowded += 1

    def meets(t):
        return laplace_tail(ratio, t - crowded + 1) <= privacy.delta and growth * ratio ** (
            t - 1
        ) <= privacy.delta * (1 + ratio)

    assert meets(threshold)
    assert not meets(threshold - 1)


@pytest.mark.parametrize(("epsilon", "beta"), [(0.1, 0.1), (1, 0.1), (1, 0.5), (3, 0.1)])
@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.2])
def test_the_bar_is_less_than_half_of_the_published_one(epsilon, beta, delta):
    for growth in (1, 3, 100):
        published = 8 / epsilon * log(4 * growth / (beta * epsilon * delta))
        assert choosing_threshold(growth, ApproxDP(epsilon, delta)) < 0.55 * published
    assert choosing_threshold(1, ApproxDP(1, "0.05")) == 15  # of docs/errata.md


# Accuracy


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_the_accuracy_line_holds(epsilon, beta):
    privacy = ApproxDP(epsilon, Fraction(1, 100))
    threshold = choosing_threshold(2, privacy)
    enough = int(threshold + 4 / epsilon * log(2 / beta)) + 1
    for behind in product((0, 1, 4, 9, 16, 25, 36), repeat=2):
        qualities = (enough, *(max(0, enough - fall) for fall in behind))
        distribution = formula(qualities, epsilon, threshold)
        allowed = 4 / epsilon * log(2 * 3 / beta)
        near = sum(p for i, p in distribution.items() if i is not None and enough - qualities[i] <= allowed)
        assert 1 - near <= beta
    # At the threshold itself it is silent with nearly one half.
    assert formula((threshold,), epsilon, threshold)[None] > Fraction(1, 10)


# What goes in and what comes out


@pytest.mark.parametrize("empty", [[], np.array([]), np.array([], dtype=np.int8), (), [0, 0], [-3]], ids=repr)
def test_where_nothing_has_a_positive_quality_the_answer_is_none(empty):
    distribution = law(lambda dice: choosing_mechanism(empty, privacy=ApproxDP(1, "0.2"), dice=dice))
    assert distribution == {None: 1}
