"""Tails of a difference of discrete Gaussians: never below the exact convolution, and hardly above it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from dplearn.core.distributions import gaussian_probabilities
from dplearn.privacy.conversion import log_float
from dplearn.privacy.noisy_max import log_tails

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=100)


def exact_tails(sigma2, size):
    """Bounds on P[Y - X >= g] from the exact distribution, apart by what it leaves out."""
    support, masses, left_out = gaussian_probabilities(sigma2, bits=1200)
    distribution = dict(zip(support, masses, strict=True))
    above = [
        sum((p * distribution.get(k + g, 0) for k, p in distribution.items()), Fraction(0))
        for g in range(2 * len(distribution))
    ]
    tails = [sum(above[g:], Fraction(0)) for g in range(size)]
    return [(tail, tail + 2 * left_out) for tail in tails]


@pytest.mark.parametrize(
    "sigma2", ["1/50", "1", *[pytest.param(each, marks=pytest.mark.nightly) for each in ("1/4", "7/3")]]
)
def test_tails_enclose_the_exact_convolution_within_one_part_in_a_hundred_million(sigma2):
    exact = exact_tails(Fraction(sigma2), 8)
    ours = log_tails(float(Fraction(sigma2)), 8)
    for (low, high), log in zip(exact, ours, strict=True):
        assert high < low * (1 + Fraction(1, 10**12))
        assert log >= log_float(high)
        assert log <= log_float(low) + 1e-8


@pytest.mark.nightly
def test_at_zero_the_tail_is_one_half_and_half_the_chance_of_a_tie():
    (low, _), *_ = exact_tails(Fraction(2), 1)
    masses = gaussian_probabilities(Fraction(2), bits=300)[1]
    assert float(low) == pytest.approx(float((1 + sum(p * p for p in masses)) / 2), rel=1e-12)
    assert np.exp(log_tails(2.0, 1)[0]) == pytest.approx(float(low), rel=1e-9)


@repeatable
@given(st.floats(-100, 100).map(lambda x: float(10.0**x)), st.integers(1, 300))
def test_tails_fall_and_are_probabilities_for_noise_of_any_width(sigma2, size):
    logs = log_tails(sigma2, size)
    assert logs.shape == (size,)
    assert not np.isnan(logs).any()
    assert (logs <= 0).all()
    assert (logs[1:] <= logs[:-1]).all()


@pytest.mark.parametrize("sigma2", [1600.0, 1e6])
def test_wide_noise_has_the_tails_of_continuous_noise_from_half_a_step_below(sigma2):
    gaps = np.arange(1, 200)
    continuous = log_ndtr(-(gaps - 0.5) / np.sqrt(2 * sigma2))
    assert log_tails(sigma2, 200)[1:] == pytest.approx(continuous, abs=2e-3)
