"""Tests of the stable learner's sizes: failure is exact for fair coins, and sizes are minimal."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dplearn.kernels import plurality
from dplearn.privacy import ApproxDP
from dplearn.theory import (
    full_rank_probability,
    release_probabilities,
    stable_parity_failure,
    stable_parity_sizes,
    stable_parity_split,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=40)

epsilons = st.sampled_from([0.1, 0.5, 1, 3, 20])
deltas = st.sampled_from([1e-2, 1e-6, 1e-12])
betas = st.sampled_from([0.9, 0.5, 0.1, 0.05, 1e-3, 1e-9])


def has_full_rank(columns):
    """Whether no set of columns sums to 0, columns being integers whose bits are the rows."""
    return all(
        np.bitwise_xor.reduce(chosen)
        for size in range(1, len(columns) + 1)
        for chosen in itertools.combinations(columns, size)
    )


# full_rank_probability


@pytest.mark.parametrize(("rows", "columns"), list(itertools.product(range(5), range(4))))
@pytest.mark.parametrize("intercept", [False, True])
def test_the_probability_of_full_rank_is_the_share_of_all_matrices_that_have_it(rows, columns, intercept):
    ones = [2**rows - 1] * intercept
    matrices = list(itertools.product(range(2**rows), repeat=columns))
    share = sum(has_full_rank([*ones, *matrix]) for matrix in matrices) / len(matrices)
    assert full_rank_probability(rows, columns, fit_intercept=intercept) == pytest.approx(share, abs=1e-15)


# stable_parity_failure


def by_definition(d, m, size, privacy, intercept):
    """1 minus the probability that the right parity wins and is released."""
    speak = [*map(float, release_probabilities(privacy)), 1.0]
    rank = full_rank_probability(size, d, fit_intercept=intercept)
    succeeded = 0.0
    for votes in range(m + 1):
        winner, distance = plurality(np.array([0, m - votes, votes]))  # no votes, None, the parity
        if winner == 2:
            succeeded += binom.pmf(votes, m, rank) * speak[min(distance, len(speak) - 1)]
    return 1 - succeeded


@repeatable
@given(st.integers(1, 30), st.integers(1, 80), st.integers(0, 40), epsilons, deltas, st.booleans())
def test_failure_is_one_minus_the_probability_of_release_by_real_votes(d, m, size, epsilon, delta, intercept):
    found = stable_parity_failure(
        d, n_parts=m, part_size=size, epsilon=epsilon, delta=delta, fit_intercept=intercept
    )
    exact = by_definition(d, m, size, ApproxDP(epsilon, delta), intercept)
    assert found == pytest.approx(exact, abs=1e-11)


def test_rare_failures_keep_their_digits():
    speak = release_probabilities(ApproxDP(1, 1e-6))
    found = stable_parity_failure(5, n_parts=2 * len(speak) - 3, part_size=500, epsilon=1, delta=1e-6)
    assert found == pytest.approx(float(1 - speak[-2]), rel=1e-9)
    assert 0 < found < 1e-5


# stable_parity_sizes and stable_parity_split


@pytest.mark.parametrize(
    ("d", "epsilon", "delta", "beta", "intercept"),
    [
        (1, 1, 1e-2, 0.1, False),
        (1, 4, 1e-6, 0.05, True),
        (3, 2, 1e-3, 0.5, False),
        (2, 20, 1e-6, 1e-6, False),
        (6, 8, 1e-2, 0.02, True),
        (2, 40, 1e-2, 0.4, False),
    ],
)
def test_sizes_are_the_least_of_all(d, epsilon, delta, beta, intercept):
    task = {"epsilon": epsilon, "delta": delta, "fit_intercept": intercept}
    sizes = stable_parity_sizes(d, **task, beta=beta)
    assert sizes.n_samples == sizes.n_parts * sizes.part_size
    assert sizes.failure <= beta
    for m in range(1, sizes.n_samples // d):
        size = (sizes.n_samples - 1) // m
        assert stable_parity_failure(d, n_parts=m, part_size=size, **task) > beta


@repeatable
@given(st.sampled_from([1, 2, 5, 16, 100, 4096]), epsilons, deltas, betas, st.booleans(), st.floats(0.001, 3))
def test_a_split_reaches_beta_where_it_can(d, epsilon, delta, beta, intercept, times):
    task = {"epsilon": epsilon, "delta": delta, "fit_intercept": intercept}
    plan = stable_parity_sizes(d, **task, beta=beta)
    n = max(1, round(plan.n_samples * times))
    split = stable_parity_split(n, d, **task, beta=beta)
    assert split.n_samples == n
    assert split.part_size == n // split.n_parts
    found = stable_parity_failure(d, n_parts=split.n_parts, part_size=split.part_size, **task)
    assert split.failure == pytest.approx(found, rel=1e-12)
    assert (split.failure <= beta) == (n >= plan.n_samples)
    if n >= plan.n_samples and split.n_parts > 1:
        less = beta * plan.n_samples / n
        wanted = less if stable_parity_sizes(d, **task, beta=less).n_samples <= n else beta
        m = split.n_parts - 1
        assert split.failure <= wanted < stable_parity_failure(d, n_parts=m, part_size=n // m, **task)
