"""Chosen terms of windows cost at most epsilon, meet the proof, and have the bounds that are stated."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.releases.window_terms import noise_bounds, window_terms


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(20)])
@pytest.mark.parametrize("size", [2, 1001, 2**64])
@pytest.mark.parametrize("k", [5, 99])
def test_terms_cost_at_most_epsilon_and_meet_the_assumptions_of_the_proof(epsilon, size, k):
    n = 10**7
    terms = window_terms(tuple(Fraction(i, k + 1) for i in range(1, k + 1)), size, n, epsilon=epsilon)
    assert epsilon * Fraction(9, 10) < terms.epsilon <= epsilon
    assert terms.zone <= 2 * terms.reach <= terms.least
    assert n > (k + 1) * terms.least
    assert min(terms.gaps) >= terms.least + terms.ramp


def test_there_are_no_terms_where_windows_would_meet():
    ends = (Fraction(0), Fraction(1, 2), Fraction(1))
    assert window_terms(ends, 2, 10**9, epsilon=Fraction(1)) is None
    tenths = tuple(Fraction(i, 10) for i in range(1, 10))
    assert window_terms(tenths, 2**64, 10**4, epsilon=Fraction(1)) is None
    assert window_terms(tenths, 2**64, 10**5, epsilon=Fraction(1)) is not None


def test_the_noise_of_ranks_stays_within_its_bound():
    """The exact law of the noise is known by convolution."""
    k, ratio, beta = 5, 0.6, 0.01
    move = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-200, 201))
    sums = [np.ones(1)]
    for _ in range(k + 1):
        sums.append(np.convolve(sums[-1], move))
    missed = 0.0
    for rank, bound in enumerate(noise_bounds(k, ratio, beta), 1):
        one, other = sums[rank], sums[k + 1 - rank]
        reach = min(len(one), len(other)) // 2
        middle = [len(each) // 2 for each in (one, other)]
        law = np.array([one[middle[0] + x] * other[middle[1] - x] for x in range(-reach, reach + 1)])
        law /= law.sum()
        missed += law[np.abs(np.arange(-reach, reach + 1)) > bound].sum()
    assert beta / 10**5 < missed < beta  # Chernoff's bound twice
