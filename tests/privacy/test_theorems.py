"""Each theorem by itself: against exact distributions, its own formula in other words, and dp-accounting."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.audit import exact_distribution, least_exp_epsilon
from dplearn.kernels import exp_bounds, log_bounds
from dplearn.privacy import (
    THEOREMS,
    Approximate,
    BoundedRange,
    Composition,
    Gaussian,
    Parallel,
    PureDP,
    Renyi,
    compose,
)

basic, advanced, optimal_homogeneous, zero_concentrated, renyi, _ = THEOREMS.values()
repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)

SMALL = Fraction(1, 10**6)
LN3 = log_bounds(Fraction(3))[1]


def near_one(digits):
    return 1 - Fraction(1, 10**digits)


def answers(k, bit, failure=Fraction(0)):
    """k randomised responses that tell the truth with probability 3/4, or give the bit away."""

    def one(dice):
        return ("bit", bit) if dice.bernoulli(failure) else dice.bernoulli(Fraction(3, 4)) ^ bit

    def run(dice):
        seen = [one(dice) for _ in range(k)]
        given_away = [answer for answer in seen if isinstance(answer, tuple)]
        # Which responses failed does not matter once one has: all outcomes with a failure are alike.
        return given_away[0] if given_away else sum(seen)

    return exact_distribution(run)


@pytest.mark.parametrize("failure", ["0", "1/1000", "1/50"])
def test_the_optimal_bound_is_the_exact_epsilon_of_k_randomised_responses_with_failures_too(failure):
    failure = Fraction(failure)
    for k in range(1, 6) if not failure else range(1, 5):
        distributions = [answers(k, bit, failure) for bit in (0, 1)]
        for delta in (Fraction(1, 1000), Fraction(1, 20), Fraction(1, 3), Fraction(9, 10)):
            delta += 1 - (1 - failure) ** k
            if delta < 1:
                exact, _ = least_exp_epsilon(*distributions, delta)
                ours = optimal_homogeneous(Composition({Approximate(LN3, failure): k}), delta)
                low, high = log_bounds(exact)
                assert low <= ours <= high + Fraction(1, 10**10)


@repeatable
@given(
    st.sampled_from(["1e-350", "1e-30", "0.001", "0.3", "2", "30"]),
    st.sampled_from([1, 7, 10**4, 10**320]),
    st.sampled_from([Fraction(1, 10**1000), SMALL, Fraction(1, 3), near_one(20), near_one(400)]),
)
def test_advanced_composition_certainly_solves_its_equation_and_is_below_the_published_form(
    epsilon, k, delta
):
    epsilon, wanted = Fraction(epsilon), -log_bounds(delta, 60)[1]
    ours, square = advanced(Composition({PureDP(epsilon): k}), delta), k * epsilon**2
    least, most = (k * epsilon * (odds - 1) / (odds + 1) for odds in exp_bounds(epsilon))  # of the mean
    most = min(most, square / 2)

    def excess(t, side):
        return t * t / (2 * square) + log_bounds(1 + t / square, 60)[side] - wanted

    assert excess(ours - least, 1) >= 0
    if delta < Fraction(1, 2) and k < 10**9 and epsilon > Fraction(1, 10**4):
        assert excess((ours - most) * (1 - Fraction(1, 10**9)), 0) < 0
        assert (ours - most) ** 2 <= 2 * square * wanted * (1 + Fraction(1, 10**9))


# Renyi


@repeatable
@given(st.integers(1, 300), st.sampled_from(["0.001", "0.05", "0.4", "3"]))
def test_renyi_curves_are_at_least_as_good_as_their_straight_bound(k, epsilon):
    for event in (Composition({kind(epsilon): k}) for kind in (PureDP, BoundedRange, Gaussian)):
        assert float(renyi(event, SMALL)) <= float(zero_concentrated(event, SMALL)) * (1 + 1e-10)


def test_the_best_of_given_orders_is_found():
    orders = [1.5, 7.5, 9.3, 300]
    event = Renyi(orders, [0.5, 0.55, 0.6, 100])
    by_hand = min(
        float(bound) - math.log(a * 1e-6) / (a - 1) + math.log1p(-1 / a)
        for a, bound in zip(orders, map(float, event.bounds), strict=True)
    )
    assert float(renyi(event, SMALL)) <= by_hand * (1 + 1e-11)


@pytest.mark.parametrize("rho", ["1e-30", "1e-8", "0.01", "1", "1e6"])
@pytest.mark.parametrize("delta", ["1e-30", "1e-6", "0.9"])
def test_the_search_for_the_order_finds_what_the_closed_form_finds(rho, delta):
    event, delta = Gaussian(1 / (2 * Fraction(rho))), Fraction(delta)
    exact, found = (float(theorem(event, delta)) for theorem in (zero_concentrated, renyi))
    if rho == "1e-30" and delta < SMALL:
        assert exact <= found < 1e-6  # the best order lies beyond the grid
    else:
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_what_does_not_apply_is_infinite_and_what_delta_covers_whole_is_zero():
    nothing = Fraction(0)
    for event, theorem in product((PureDP(1), BoundedRange(1)), (advanced, optimal_homogeneous, renyi)):
        assert theorem(event, nothing) == math.inf
    for theorem in (basic, advanced, optimal_homogeneous):
        assert theorem(compose([Gaussian(1), PureDP(1)]), SMALL) == math.inf
    assert optimal_homogeneous(Composition({PureDP(1): 10**5 + 1}), SMALL) == math.inf
    for failure, delta in (("0.5", Fraction(1, 3)), ("0.5", Fraction(9, 10)), ("0.9", Fraction(9, 10))):
        for theorem in (basic, advanced, zero_concentrated, renyi):
            assert theorem(Composition({Approximate(1, failure): 2}), delta) == math.inf
    both = Parallel([Composition({Approximate(1, "0.6"): 2})])
    assert both.failure == Fraction(6, 5)
    assert optimal_homogeneous(Composition([both]), near_one(61)) == math.inf
    for theorem in (optimal_homogeneous, renyi):
        assert theorem(Composition({PureDP("1e-9"): 3}), Fraction(1, 10)) == 0


@pytest.mark.parametrize("delta", [SMALL, near_one(20), near_one(400), Fraction(1, 10**1000)])
@pytest.mark.parametrize("count", [1, 3, 10**320])
def test_numbers_beyond_all_floats_give_bounds(delta, count):
    for epsilon in ("1e-320", "1e-30", "1", "1e7", "1e154", "1e400"):
        event = Composition({PureDP(epsilon): count})
        assert basic(event, delta) == count * Fraction(epsilon)
        for theorem in (advanced, optimal_homogeneous, zero_concentrated, renyi):
            assert theorem(event, delta) >= 0


@pytest.mark.parametrize("short", [6, 20, 45, 65, 80])
def test_near_one_the_optimal_bound_is_infinite_where_a_failure_exceeds_delta_and_else_exact(short):
    delta, more, less = near_one(short), near_one(short + 5), near_one(short - 5)
    assert optimal_homogeneous(Composition({Approximate(LN3, more): 1}), delta) == math.inf
    assert optimal_homogeneous(Composition({Approximate(LN3, more): 1, PureDP(1): 1}), delta) == math.inf
    # Two that fail with probability f: what is left, (1 - f)^2, is below 1 - delta.
    half = 1 - Fraction(1, 10 ** (short // 2 + 1))
    assert optimal_homogeneous(Composition({Approximate(LN3, half): 2}), delta) == math.inf
    if short - 5 > 40:
        return  # such a failure is rounded up beyond delta
    # One response tells the truth with probability 3/4: exp(epsilon) = (3/4 - s) / (1/4), s what is left.
    left = (delta - less) / (1 - less)
    exact = max(Fraction(1), 3 - 4 * left)
    low, high = log_bounds(exact)
    ours = optimal_homogeneous(Composition({Approximate(LN3, less): 1}), delta)
    assert low <= ours <= high + Fraction(1, 10**10)
