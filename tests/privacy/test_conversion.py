"""Conversion from Renyi divergence: true of real laws, least over orders, equal to an independent one."""

import math
from fractions import Fraction

import pytest
from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.core.exact import exp_bounds, log_bounds
from dplearn.privacy.conversion import best_order, concentrated_epsilon, epsilon_at, rounded_up

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)

rhos = st.sampled_from([Fraction(1, 10**9), Fraction(1, 200), Fraction(1, 2), Fraction(30)]) | st.fractions(
    Fraction(1, 1000), 5, max_denominator=1000
)
deltas = st.sampled_from([Fraction(1, 10**15), Fraction(1, 10**6), Fraction(1, 3)])


def randomised_response(p, a):
    """exp of (a - 1) times the exact divergence of integer order a between coins of p and 1 - p."""
    return p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)


@repeatable
@given(rhos, deltas)
def test_no_order_gives_less_than_the_best(rho, delta):
    least = float(concentrated_epsilon(rho, delta))
    for exponent in range(-200, 400):
        a = 1 + math.exp(exponent / 20)
        epsilon = float(rho) * a - math.log(a * delta) / (a - 1) + math.log1p(-1 / a)
        assert least <= max(epsilon, 0) * (1 + 1e-9) + 1e-12


@repeatable
@given(rhos, deltas)
def test_the_conversion_agrees_with_dp_accounting_at_the_same_order(rho, delta):
    order = best_order(rho, delta)
    theirs, _ = compute_epsilon([float(order)], [float(rho * order)], float(delta))
    assert float(concentrated_epsilon(rho, delta)) == pytest.approx(theirs, rel=1e-9, abs=1e-9)


@repeatable
@given(st.fractions("0.5", "0.99", max_denominator=100), st.integers(2, 40), deltas)
def test_the_converted_epsilon_is_true_of_randomised_response(p, order, delta):
    divergence = log_bounds(randomised_response(p, order))[1] / (order - 1)
    epsilon = epsilon_at(Fraction(order), divergence, delta)
    assert p - exp_bounds(epsilon)[0] * (1 - p) <= delta


@pytest.mark.parametrize("rho", ["1e-400", "1e400"])
@pytest.mark.parametrize("delta", ["1e-500", "0.999"])
def test_numbers_beyond_floats_convert_too(rho, delta):
    epsilon = concentrated_epsilon(Fraction(rho), Fraction(delta))
    assert 0 <= epsilon < Fraction(10) ** 401
    assert epsilon > 10**399 or float(Fraction(rho)) == 0


@repeatable
@given(st.fractions(0, 100), st.integers(1, 20))
def test_rounding_up_is_up_and_by_little(x, digits):
    assert x <= rounded_up(x, digits) <= x * (1 + Fraction(1, 10 ** (digits - 1)))
