"""Conversion from Renyi divergence: least over orders, and rounded up.

Curves in floats are never below the true ones, and hardly above.
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.privacy.conversion import (
    chords,
    concentrated_epsilon,
    pure_and_concentrated,
    rounded_up,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)

rhos = st.sampled_from([Fraction(1, 10**9), Fraction(1, 200), Fraction(1, 2), Fraction(30)]) | st.fractions(
    Fraction(1, 1000), 5, max_denominator=1000
)
deltas = st.sampled_from([Fraction(1, 10**15), Fraction(1, 10**6), Fraction(1, 3)])


@repeatable
@given(rhos, deltas)
def test_no_order_gives_less_than_the_best(rho, delta):
    least = float(concentrated_epsilon(rho, delta))
    for exponent in range(-200, 400, 10):
        a = 1 + math.exp(exponent / 20)
        epsilon = float(rho) * a - math.log(a * delta) / (a - 1) + math.log1p(-1 / a)
        assert least <= max(epsilon, 0) * (1 + 1e-9) + 1e-12


@repeatable
@given(st.fractions(0, 100), st.integers(1, 20))
def test_rounding_up_is_up_and_by_little_also_beyond_floats(x, digits):
    assert x <= rounded_up(x, digits) <= x * (1 + Fraction(1, 10 ** (digits - 1)))
    for rho, delta in product(("1e-400", "1e400"), ("1e-500", "0.999")):
        epsilon = concentrated_epsilon(Fraction(rho), Fraction(delta))
        assert 0 <= epsilon < Fraction(10) ** 401
        assert epsilon > 10**399 or float(Fraction(rho)) == 0


repeatable_curves = settings(deadline=None, derandomize=True, database=None, max_examples=200)

INFINITY = np.array([np.inf])


def exact_randomised_response(epsilon, order):
    """The divergence to 100 digits and more, from its definition."""
    with localcontext(Context(prec=160, Emin=MIN_EMIN, Emax=MAX_EMAX)) as context:
        e, a = (context.divide(x.numerator, x.denominator) for x in (Fraction(epsilon), Fraction(order)))
        moment = ((a * e).exp() + ((1 - a) * e).exp()) / (1 + e.exp())
        return Fraction(moment.ln() / (a - 1))


@repeatable_curves
@given(
    st.floats(-30, 4).map(lambda x: float(np.exp(x))),
    st.floats(-30, 12).map(lambda x: 1 + float(np.exp(x))),
)
def test_the_curve_of_pure_privacy_is_that_of_randomised_response_rounded_up(epsilon, order):
    true = exact_randomised_response(epsilon, order)
    ours = Fraction(float(pure_and_concentrated(np.array([epsilon]), INFINITY, np.array([order]))[0, 0]))
    assert true <= ours <= true * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-160, 709.0, 1e5, 1e308])
def test_extreme_epsilons_give_finite_bounds_that_are_no_smaller_than_they_may_be(epsilon):
    orders = np.array([1 + 2.0**-52, 1.5, 2.0, 1e8, 1e300])
    with np.errstate(all="raise"):
        curve = pure_and_concentrated(np.array([epsilon]), INFINITY, orders)[0]
    assert (curve > 0).all()
    assert (np.diff(curve) >= 0).all()
    assert (curve <= max(epsilon, 2.0**-400)).all()
    assert curve[-1] >= min(epsilon, 1e300) * (1 - 1e-12)


points = st.lists(
    st.tuples(st.fractions("1.02", 50, max_denominator=97), st.fractions(0, 3, max_denominator=97)),
    min_size=1,
    max_size=5,
    unique_by=lambda point: point[0],
).map(sorted)


@pytest.mark.nightly
@repeatable_curves
@given(points, st.fractions("1.001", 60, max_denominator=1009))
def test_chords_are_the_exact_chords_rounded_up_and_nothing_is_known_beyond_the_last(given_points, order):
    at, values = [Fraction(1)], [Fraction(0)]
    for i, (a, _) in enumerate(given_points):
        at.append(a)
        # A divergence rises with its order, so what bounds a later one bounds this one.
        values.append((a - 1) * min(value for _, value in given_points[i:]))
    order = Fraction(float(order))
    ours = float(
        chords([a for a, _ in given_points], [d for _, d in given_points], np.array([float(order)]))[0]
    )
    right = next((i for i, a in enumerate(at) if a >= order), None)
    if right is None:
        assert ours == np.inf
        return
    share = (order - at[right - 1]) / (at[right] - at[right - 1])
    exact = (values[right - 1] + share * (values[right] - values[right - 1])) / (order - 1)
    assert exact <= Fraction(ours) or ours == np.inf
    assert ours == np.inf or float(ours) <= float(exact) * (1 + 1e-10) + 1e-15
