"""The best of a random number of runs: costs, laws of the number, and the condition of the proof.

The cost of the best of a random number of Gaussian-DP runs: bounds, budgets, worst ratios.
"""

import math
from fractions import Fraction
from itertools import combinations
from math import erfc, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.audit.cases.search import CASES, OF_100000
from dplearn.privacy import ApproxDP, RandomStopping, gaussian_budget, gaussian_run_budget
from dplearn.privacy.gaussian_dp import delta_of_mu
from dplearn.privacy.random_stopping import gaussian_runs_delta

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
distributions = st.builds(RandomStopping, st.integers(1, 60), st.integers(0, 5))


def chance_of_at_most(stopping, x):
    """Return f(x), the mean of x to the power of the number of runs."""
    return sum(w * x**k for k, w in enumerate(stopping.weights, 1)) / sum(stopping.weights)


@repeatable
@given(distributions)
def test_weights_obey_what_the_proof_asks_of_them(stopping):
    weights, c = stopping.weights, stopping.concentration
    assert len(weights) == stopping.most
    assert all((k + 1) * weights[k] <= (k + c) * weights[k - 1] for k in range(1, stopping.most))


@repeatable
@given(distributions, st.fractions(Fraction(1, 100), 5), st.fractions(0, Fraction(1, 10**4)))
def test_a_run_of_a_total_adds_up_to_that_total_and_a_uniform_number_costs_three_runs(
    stopping, epsilon, delta
):
    total = ApproxDP(epsilon, delta, assumes=("something",))
    assert stopping.total(stopping.run_of(total)) == total
    uniform = [RandomStopping(100), RandomStopping(100, 0), RandomStopping(2), RandomStopping(1, 5)]
    assert [each.factor for each in uniform] == [3, 2, 2, 1]


@repeatable
@given(distributions, st.fractions(Fraction(1, 50), Fraction(49, 50)))
def test_the_chance_to_miss_a_candidate_is_that_all_runs_draw_others(stopping, share):
    assert stopping.missed(share) == chance_of_at_most(stopping, 1 - share)


NORMAL = NormalDist()


def slope(stopping, x):
    return sum(k * w * x ** (k - 1) for k, w in enumerate(stopping.weights, 1)) / sum(stopping.weights)


@pytest.mark.parametrize(
    ("most", "concentration", "mu"), [(40, 1, 0.1), (7, 0, 0.5), (20, 3, 2.0), (2, 2, 1.0)]
)
def test_the_delta_is_that_of_the_greatest_ratio_of_slopes_on_the_trade_off(most, concentration, mu):
    stopping = RandomStopping(most, concentration)
    ratio = max(
        slope(stopping, NORMAL.cdf(z)) / slope(stopping, NORMAL.cdf(z - mu)) for z in np.linspace(-6, 8, 800)
    )
    epsilon = Fraction(math.log(ratio) + 3 * mu)
    found = gaussian_runs_delta(stopping, Fraction(mu) ** 2, epsilon)
    assert 1e-6 < found < 1
    for reached, sign in ((ratio, 1), (ratio * 1.001, -1)):
        delta = stopping.mean * delta_of_mu(Fraction(mu), epsilon - Fraction(math.log(reached)), 100)
        assert sign * (found - delta) >= -delta * Fraction(1, 10**9)


@pytest.mark.parametrize("most", [2, 40, pytest.param(400, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("concentration", [0, 2])
@pytest.mark.parametrize("epsilon", ["0.1", "2"])
def test_the_profile_gives_a_run_more_than_its_epsilon_and_delta_alone(most, concentration, epsilon):
    stopping, total = RandomStopping(most, concentration), ApproxDP(epsilon, "1e-6")
    budget, known = gaussian_run_budget(stopping, total), gaussian_budget(stopping.run_of(total))
    assert gaussian_runs_delta(stopping, 2 * budget, total.epsilon) <= total.delta
    assert budget > Fraction(5, 4) * known
    assert budget < gaussian_budget(total)


def test_several_fits_in_a_run_and_large_distributions_have_a_budget():
    total = ApproxDP(1, "1e-6")
    nine, one, huge = RandomStopping(9), RandomStopping(1), RandomStopping(2000)
    assert 0 < gaussian_run_budget(nine, total, 4) <= gaussian_run_budget(nine, total)
    assert gaussian_run_budget(huge, total) == gaussian_budget(huge.run_of(total))
    assert gaussian_run_budget(nine, ApproxDP(1, "1e-25")) == 0
    assert abs(gaussian_run_budget(one, total) / gaussian_budget(total) - 1) < Fraction(1, 10**9)
    assert gaussian_runs_delta(nine, Fraction(1), Fraction(1, 100)) == 1
    spent = gaussian_runs_delta(nine, 2 * gaussian_run_budget(nine, total), total.epsilon)
    assert spent <= total.delta == pytest.approx(float(spent), rel=1e-3)


def test_the_enumerated_runs_are_gaussian_and_their_claim_is_the_bound():
    """Each event of the case has a trade-off within that of mu = 1/2."""
    one, other = (np.array(weights) / 100_000 for weights in OF_100000.values())
    for size in (1, 2):
        for event in combinations(range(3), size):
            p, q = one[list(event)].sum(), other[list(event)].sum()
            assert abs(NORMAL.inv_cdf(p) - NORMAL.inv_cdf(q)) <= 0.5
    claim = next(case.claim for case in CASES if case.name == "best_of_gaussian_runs")
    assert gaussian_runs_delta(RandomStopping(7), Fraction(1, 4), claim.epsilon) <= claim.delta
    assert abs(erfc(2.6 / sqrt(2)) / 2 - one[1]) < 1e-5
