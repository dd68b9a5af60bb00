"""A published bound on a secret epsilon: seldom too small, and useful where teachers agree."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.chance import SeededDice, SystemDice
from dplearn.core.exact import selection_ratio
from dplearn.mechanisms import sanitized_noisy_max_epsilon
from dplearn.mechanisms.noisy_max import costs_of_candidates
from dplearn.privacy import ApproxDP, BoundedRange, Composition, Gaussian
from dplearn.privacy.noisy_max import (
    epsilon_candidates,
    publishable_noisy_max_cost,
    secret_noisy_max_epsilon,
    secret_noisy_max_total,
)

PUBLIC = {"n_teachers": 250, "sigma2": 1600, "delta": 1e-5, "privacy": ApproxDP(1)}
AGREED = np.tile([250] + [0] * 9, (1000, 1))


def test_the_bound_covers_the_secret_epsilon_and_lies_far_below_what_any_votes_cost():
    secret = secret_noisy_max_epsilon(AGREED, sigma2=1600, delta=1e-5)
    any_votes = publishable_noisy_max_cost(1000, 1600).total(1e-5).epsilon
    bounds = [sanitized_noisy_max_epsilon(AGREED, dice=SeededDice(i), **PUBLIC) for i in range(50)]
    assert all(isinstance(bound, Fraction) for bound in bounds)
    assert min(bounds) >= secret
    assert sorted(bounds)[45] < any_votes / 2


def test_where_teachers_do_not_agree_little_is_gained_and_the_last_candidate_is_true():
    flat = np.tile([25] * 10, (1000, 1))
    bounds = {sanitized_noisy_max_epsilon(flat, dice=SeededDice(i), **PUBLIC) for i in range(50)}
    any_votes = publishable_noisy_max_cost(1000, 1600).total(1e-5).epsilon
    assert max(bounds) > any_votes


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.uint64])
def test_counts_of_any_integer_type_give_the_same(dtype):
    counts = np.tile([200, 30, 20], (40, 1))
    bounds = [
        sanitized_noisy_max_epsilon(each, dice=SeededDice(3), **PUBLIC)
        for each in (counts, counts.astype(dtype))
    ]
    assert bounds[0] == bounds[1]


def test_the_order_of_queries_and_of_labels_does_not_matter():
    counts = np.array([[200, 30, 20], [250, 0, 0], [100, 100, 50]] * 30)
    shuffled = counts[::-1, ::-1]
    for seed in range(10):
        first = sanitized_noisy_max_epsilon(counts, dice=SeededDice(seed), **PUBLIC)
        assert sanitized_noisy_max_epsilon(shuffled, dice=SeededDice(seed), **PUBLIC) == first


def test_votes_beyond_the_teachers_and_no_queries_are_no_errors_that_could_tell():
    for counts in (np.array([[2**62, 0]]), np.array([[-5, 3]]), np.zeros((0, 2), dtype=int)):
        assert sanitized_noisy_max_epsilon(counts, dice=SystemDice(), **PUBLIC) > 0


@pytest.mark.parametrize("counts", [[12345, 678], [[12345.5, 1]], [[12345]], "12345"])
def test_errors_show_no_count(counts):
    with pytest.raises(TypeError, match="counts must be integers of shape") as caught:
        sanitized_noisy_max_epsilon(counts, dice=SystemDice(), **PUBLIC)
    assert "123" not in str(caught.value)


# Candidates for a published epsilon: costs move by one between neighbours, what is too small is far.

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)

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


def one_query(teachers, labels):
    return [c for c in product(range(teachers + 1), repeat=labels) if sum(c) == teachers]


def moved(counts):
    """Return a query after one teacher's vote has moved, or not."""
    yield tuple(counts)
    for giver, taker in product(range(len(counts)), repeat=2):
        if giver != taker and counts[giver]:
            changed = list(counts)
            changed[giver] -= 1
            changed[taker] += 1
            yield tuple(changed)


def true_epsilon(counts, candidates):
    """Return epsilon of all answers and of the release of the bound, from the secret curve of these votes."""
    curve = secret_noisy_max_total(counts, sigma2=candidates.sigma2, orders=ORDERS)
    curve = curve + BoundedRange(candidates.epsilon).renyi(ORDERS)
    epsilons = curve - np.log(ORDERS * float(candidates.delta)) / (ORDERS - 1) + np.log1p(-1 / ORDERS)
    return float(epsilons.min())


@pytest.mark.parametrize(("teachers", "labels", "epsilon"), [(12, 2, 3), (8, 3, 6), (5, 4, 12)])
def test_costs_move_by_at_most_one_between_all_neighbouring_votes_of_two_queries(teachers, labels, epsilon):
    every = one_query(teachers, labels)
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
        for other in product(moved(first), moved(second)):
            largest = max(largest, int(np.abs(costs(*other) - mine).max()))
    assert largest == 1
    assert len({tuple(each) for each in seen.values()}) > 4


@pytest.mark.parametrize(("teachers", "labels", "epsilon"), [(12, 2, 3), (9, 3, 6), (20, 2, "1/2")])
def test_what_does_not_cost_more_than_the_reserve_is_no_less_than_the_secret_epsilon(
    teachers, labels, epsilon
):
    every = one_query(teachers, labels)
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


def test_votes_that_all_agree_cost_far_less_than_any_votes_and_flat_ones_nothing_less():
    public = {"sigma2": 1600, "delta": 1e-5, "epsilon": Fraction(1)}
    agreed, flat = [[250, 0, 0]] * 1000, [[84, 83, 83]] * 1000
    values = candidates_of(agreed, **public).values
    assert float(values[costs_of(agreed, **public).index(0)]) < 0.5 * float(values[-1])
    assert costs_of(flat, **public)[-1] == 0
    assert min(costs_of(flat, **public)[:-1]) > candidates_of(flat, **public).reserve


@pytest.mark.parametrize("queries", [0, 1, 10**6])
@pytest.mark.parametrize("sigma2", ["1e-100", "1", "1e100"])
def test_extremes_give_costs_all_the_same(sigma2, queries):
    candidates = epsilon_candidates(
        n_queries=queries,
        n_labels=2,
        n_teachers=10,
        sigma2=sigma2,
        delta="1e-300",
        epsilon=Fraction(1),
        beta="1e-9",
    )
    costs = costs_of_candidates(candidates, np.full(queries, 10))
    assert len(costs) == len(candidates.values) == 64
    assert min(costs) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_labels": 1}, "n_labels must be an integer at least 2"),
        ({"n_teachers": 0}, "n_teachers must be an integer at least 1"),
        ({"sigma2": 0}, "sigma2 must be a finite number at least"),
        ({"delta": 0}, "delta must be a finite number above 0 and below 1"),
        ({"beta": 1}, "beta must be a finite number above 0 and below 1"),
        ({"epsilon": 0}, "epsilon must be a finite number above 0"),
    ],
)
def test_errors_name_the_parameter(changes, message):
    with pytest.raises(ValueError, match=message):
        candidates_of([[3, 0]], **changes)


def test_a_float_means_its_shortest_decimal_and_equal_questions_share_their_tables():
    by_float = candidates_of([[3, 0]], delta=0.1)
    assert by_float.delta == Fraction(1, 10)
    assert candidates_of([[3, 0]], delta="0.1") is by_float
