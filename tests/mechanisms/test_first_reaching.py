"""The first count that reaches a threshold, found with noise that is spent once for rising counts."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit import exact_distribution
from dplearn.chance import SeededDice
from dplearn.core.exact import decay_ratio
from dplearn.mechanisms.sparse_vector import first_reaching, reaching_ratios
from dplearn.privacy import ApproxDP


def test_the_two_ratios_together_spend_epsilon_and_no_more():
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(5)):
        of_threshold, of_count = reaching_ratios(epsilon)
        assert np.exp(-float(epsilon)) <= float(of_threshold * of_count) * (1 + 1e-15)
        assert of_threshold * of_count < decay_ratio(epsilon * Fraction(999, 1000))


def test_the_probability_of_the_first_is_that_of_two_noises():
    a, b = reaching_ratios(Fraction(3))
    distribution = exact_distribution(
        lambda dice: first_reaching([0, 5], 2, privacy=ApproxDP(3), dice=dice), tail_bits=60
    )
    # G >= 2 + B, summed over B: b**2 (1 - a) / (1 - a b).
    expected = b**2 * (1 - a) / (1 - a * b)
    [mass] = [
        float(Fraction(m, distribution.total)) for seen, m in distribution.masses.items() if "0" in str(seen)
    ]
    assert mass == pytest.approx(float(expected), rel=1e-9)


def test_counts_far_from_the_threshold_decide():
    dice = SeededDice(0)
    for _ in range(20):
        assert first_reaching([-(2**70), 0, 2**70, 2**71], 10**6, privacy=ApproxDP(1), dice=dice) == 2
    assert first_reaching(np.zeros(9000, dtype=int), 10**6, privacy=ApproxDP(1), dice=dice) == 8999


def test_counts_and_thresholds_are_checked():
    with pytest.raises(TypeError, match="counts must"):
        first_reaching([0.5], 1, privacy=ApproxDP(1), dice=SeededDice(0))
    with pytest.raises(ValueError, match="counts must"):
        first_reaching([], 1, privacy=ApproxDP(1), dice=SeededDice(0))
    with pytest.raises(TypeError, match="threshold must"):
        first_reaching([1], 0.5, privacy=ApproxDP(1), dice=SeededDice(0))
