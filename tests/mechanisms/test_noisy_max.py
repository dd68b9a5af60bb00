"""Report noisy max: its exact distribution and epsilon, and the scale that it needs.

A published bound on a secret epsilon: seldom too small, and useful where teachers agree.
"""

from fractions import Fraction
from itertools import product
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.chance import SeededDice, SystemDice
from dplearn.kernels.exact import selection_ratio
from dplearn.mechanisms import report_noisy_max, sanitized_noisy_max_epsilon
from dplearn.mechanisms.noisy_max import costs_of_candidates, epsilon_candidates
from dplearn.privacy import ApproxDP, BoundedRange, Composition, Gaussian
from dplearn.privacy.noisy_max import (
    publishable_noisy_max_cost,
    secret_noisy_max_epsilon,
    secret_noisy_max_total,
)
from tests.mechanisms.laws import law, left_out
from tests.privacy.test_noisy_max import moved, votes

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)


def formula(qualities, ratio):
    """The literal definition, summed: i wins with v if all before it stay below v, all behind at most at it.

    No noise is negative, so no v below the best quality wins, and P[G_j < t] = 1 - ratio**t. As a function of
    x = ratio**(v - best) the product of these is a polynomial.
    """
    best = max(qualities)
    distribution = {}
    for i, mine in enumerate(qualities):
        polynomial = [Fraction(1)]
        for j, other in enumerate(qualities):
            if j != i:
                c = ratio ** (best - other + (j > i))
                polynomial = [a - c * b for a, b in zip([*polynomial, 0], [0, *polynomial], strict=True)]
        first = ratio ** (best - mine) * (1 - ratio)
        distribution[i] = sum(c * first / (1 - ratio ** (k + 1)) for k, c in enumerate(polynomial))
    return distribution


@pytest.mark.parametrize("qualities", [(3,), (2, 2), (0, 3), (3, 0), (1, 2, 1), (4, 2, 4), (0, 1, 2)])
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(2, 1), (5, 1), (9, 2)])
def test_the_law_is_that_of_the_first_greatest_of_independent_noisy_qualities(
    qualities, epsilon, sensitivity
):
    how = {"privacy": ApproxDP(epsilon), "sensitivity": sensitivity}
    found = law(lambda dice: report_noisy_max(np.array(qualities), dice=dice, **how), tail_bits=14)
    wanted = formula(qualities, selection_ratio(Fraction(epsilon), sensitivity))
    assert sum(wanted.values()) == 1
    assert all(found[i] <= p <= found[i] + left_out(found) for i, p in wanted.items())


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)])
def test_the_accuracy_line_holds(beta):
    ratio = selection_ratio(Fraction(1))
    bound = log(3 / beta) / -log(ratio)
    for base in product(range(4), repeat=3):
        qualities = tuple(ceil(bound / 2) * quality for quality in base)
        distribution = formula(qualities, ratio)
        far = [i for i, quality in enumerate(qualities) if max(qualities) - quality > bound]
        assert sum(distribution[i] for i in far) <= beta


# What goes in and what comes out


def test_qualities_that_differ_only_beyond_53_bits_are_told_apart():
    qualities = np.array([2**62 + 1, 2**62 + 20, 2**62])
    assert report_noisy_max(qualities, privacy=ApproxDP(50), dice=SystemDice()) == 1


PUBLIC = {"n_teachers": 250, "sigma2": 1600, "delta": 1e-5, "privacy": ApproxDP(1)}
AGREED = np.tile([250] + [0] * 9, (1000, 1))


def test_the_bound_covers_the_secret_epsilon_and_lies_far_below_what_any_votes_cost():
    secret = secret_noisy_max_epsilon(AGREED, sigma2=1600, delta=1e-5)
    any_votes = publishable_noisy_max_cost(1000, 1600).total(1e-5).epsilon
    bounds = [sanitized_noisy_max_epsilon(AGREED, dice=SeededDice(i), **PUBLIC) for i in range(50)]
    assert all(isinstance(bound, Fraction) for bound in bounds)
    assert min(bounds) >= secret
    assert sorted(bounds)[45] < any_votes / 2


def test_votes_beyond_the_teachers_and_no_queries_are_no_errors_that_could_tell():
    for counts in (np.array([[2**62, 0]]), np.array([[-5, 3]]), np.zeros((0, 2), dtype=int)):
        assert sanitized_noisy_max_epsilon(counts, dice=SystemDice(), **PUBLIC) > 0


# Candidates for a published epsilon: costs move by one between neighbours, what is too small is far.


ORDERS = 1 + np.exp(np.linspace(-3, 7, 400))


def candidates_of(counts, **changes):
    public = {
        "sigma2": Fraction(1, 2),
        "delta": Fraction(1, 100),
        "epsilon": Fraction(3),
        "beta": Fraction(1, 20),
    }
    shape = {"n_queries": len(counts), "n_labels": len(counts[0]), "n_teachers": int(np.sum(counts[0]))}
    return epsilon_candidates(**shape | public | changes)


def costs_of(counts, **changes):
    ordered = np.sort(np.array(counts), axis=1)
    return costs_of_candidates(candidates_of(counts, **changes), ordered[:, -1] - ordered[:, -2])


def true_epsilon(counts, candidates):
    """Return epsilon of all answers and of the release of the bound, from the secret curve of these votes."""
    curve = secret_noisy_max_total(counts, sigma2=candidates.sigma2, orders=ORDERS)
    curve = curve + BoundedRange(candidates.epsilon).renyi(ORDERS)
    epsilons = curve - np.log(ORDERS * float(candidates.delta)) / (ORDERS - 1) + np.log1p(-1 / ORDERS)
    return float(epsilons.min())


@pytest.mark.parametrize(("teachers", "labels", "epsilon"), [(12, 2, 3), (8, 3, 6), (5, 4, 12)])
def test_costs_move_by_at_most_one_between_all_neighbouring_votes_of_two_queries(teachers, labels, epsilon):
    every = votes(teachers, labels)
    pairs = every if labels == 2 else every[::3]
    seen = {}

    def costs(first, second):
        key = tuple(sorted((tuple(sorted(first)), tuple(sorted(second)))))
        if key not in seen:
            seen[key] = np.array(costs_of(key, epsilon=Fraction(epsilon)))
        return seen[key]

    largest = 0
    for first, second in product(pairs, repeat=2):
        mine = costs(first, second)
        for other in product([first, *moved(first)], [second, *moved(second)]):
            largest = max(largest, int(np.abs(costs(*other) - mine).max()))
    assert largest == 1
    assert len({tuple(each) for each in seen.values()}) > 4


@pytest.mark.parametrize(("teachers", "labels", "epsilon"), [(12, 2, 3), (9, 3, 6), (20, 2, "1/2")])
def test_what_does_not_cost_more_than_the_reserve_is_no_less_than_the_secret_epsilon(
    teachers, labels, epsilon
):
    every = votes(teachers, labels)
    for first, second in zip(every, reversed(every), strict=True):
        counts = [first, second, first]
        candidates = candidates_of(counts, epsilon=Fraction(epsilon))
        secret = true_epsilon(counts, candidates)
        costs = costs_of(counts, epsilon=Fraction(epsilon))
        assert min(costs) == 0
        for value, cost in zip(candidates.values, costs, strict=True):
            # The curve was looked at on a grid of orders of its own: a fine one.
            assert cost > candidates.reserve or float(value) >= secret * (1 - 1e-2)


@pytest.mark.nightly
@repeatable
@given(st.integers(1, 200), st.integers(1, 400), st.floats(-3, 9), st.floats(-3, 2), st.data())
def test_a_candidate_that_is_too_small_is_selected_with_probability_at_most_beta(
    n, teachers, log_s, log_e, data
):
    gaps = np.array(data.draw(st.lists(st.integers(0, teachers), min_size=n, max_size=n)))
    epsilon, beta = Fraction(float(np.exp(log_e))), data.draw(st.sampled_from(["0.5", "0.05", "1e-6"]))
    candidates = epsilon_candidates(
        n_queries=n,
        n_labels=4,
        n_teachers=teachers,
        sigma2=float(np.exp(log_s)),
        delta=1e-5,
        epsilon=epsilon,
        beta=beta,
    )
    costs = costs_of_candidates(candidates, gaps)
    ratio = selection_ratio(epsilon)
    weights = [ratio**cost for cost in costs]
    small = sum(w for w, cost in zip(weights, costs, strict=True) if cost > candidates.reserve)
    assert min(costs) == 0
    assert small <= Fraction(beta) * sum(weights)
    assert list(candidates.values) == sorted(candidates.values)


def test_the_last_candidate_is_true_of_any_votes_and_the_first_near_what_the_release_alone_costs():
    candidates = candidates_of([[250, 0]] * 1000, sigma2=1600, delta=1e-5, epsilon=Fraction(1))
    everything = Composition({Gaussian(1600, 2): 1000, BoundedRange(1): 1}).total(1e-5).epsilon
    alone = Composition({BoundedRange(1): 1}).total(1e-5).epsilon
    assert everything <= candidates.values[-1] <= everything * (1 + Fraction(1, 10**5))
    assert alone <= candidates.values[0] * (1 + Fraction(1, 100))
