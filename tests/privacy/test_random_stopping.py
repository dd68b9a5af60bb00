"""The best of a random number of runs: costs, laws of the number, and the condition of the proof."""

from fractions import Fraction
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn.privacy import ApproxDP
from dplearn.privacy.random_stopping import RandomStopping

distributions = st.builds(RandomStopping, st.integers(1, 60), st.integers(0, 5))


def chance_of_at_most(stopping, x):
    """Return f(x), the mean of x to the power of the number of runs."""
    return sum(w * x**k for k, w in enumerate(stopping.weights, 1)) / sum(stopping.weights)


@given(distributions)
def test_weights_obey_what_the_proof_asks_of_them(stopping):
    weights, c = stopping.weights, stopping.concentration
    assert len(weights) == stopping.most
    assert all((k + 1) * weights[k] <= (k + c) * weights[k - 1] for k in range(1, stopping.most))


@given(distributions, st.integers(1, 40), st.integers(1, 40), st.sampled_from([0.1, 1.0, 3.0]))
def test_no_outcome_of_neighbouring_runs_differs_by_more_than_the_price(stopping, first, second, epsilon):
    """Of three ranks the middle one is rare: the best is there more often by the cost at most."""
    a = exp(epsilon)
    top = first / 41 / a
    middle = second / 1000
    one = [1 - middle - top, middle, top]
    other = [1 - middle / a - top * a, middle / a, top * a]
    if min(other) <= 0 or not 1 / a <= one[0] / other[0] <= a:
        return
    for run, neighbour in ((one, other), (other, one)):
        for rank in range(3):
            found = [
                chance_of_at_most(stopping, sum(p[: rank + 1])) - chance_of_at_most(stopping, sum(p[:rank]))
                for p in (run, neighbour)
            ]
            assert found[0] <= exp(stopping.factor * epsilon) * found[1] * (1 + 1e-9) + 1e-12


def test_a_uniform_number_of_runs_costs_three_of_them_and_one_run_costs_one():
    assert RandomStopping(100).factor == 3
    assert RandomStopping(100, 0).factor == 2
    assert RandomStopping(2).factor == 2
    assert RandomStopping(1, 5).factor == 1


@given(distributions, st.fractions(Fraction(1, 100), 5), st.fractions(0, Fraction(1, 10**4)))
def test_a_run_of_a_total_adds_up_to_that_total(stopping, epsilon, delta):
    total = ApproxDP(epsilon, delta, assumes=("something",))
    assert stopping.total(stopping.run_of(total)) == total


@given(distributions, st.fractions(Fraction(1, 50), Fraction(49, 50)))
def test_the_chance_to_miss_a_candidate_is_that_all_runs_draw_others(stopping, share):
    assert stopping.missed(share) == chance_of_at_most(stopping, 1 - share)


@given(st.integers(2, 40), st.integers(0, 4))
def test_a_larger_concentration_makes_more_runs_and_misses_less(most, concentration):
    few, many = RandomStopping(most, concentration), RandomStopping(most, concentration + 1)
    assert few.mean < many.mean
    assert few.missed(Fraction(1, 3)) > many.missed(Fraction(1, 3))


@pytest.mark.parametrize(("most", "concentration"), [(0, 1), (1.5, 1), (3, -1), ("3", 1)])
def test_numbers_that_make_no_law_are_refused(most, concentration):
    with pytest.raises((TypeError, ValueError), match=r"most|concentration"):
        RandomStopping(most, concentration)


def test_a_delta_that_would_reach_one_is_refused():
    with pytest.raises(ValueError, match="delta"):
        RandomStopping(100).total(ApproxDP(1, "0.1"))
