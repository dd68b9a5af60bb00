"""A published bound on a secret epsilon: seldom too small, and useful where teachers agree."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice, SystemDice
from dplearn.mechanisms import sanitized_noisy_max_epsilon
from dplearn.privacy import ApproxDP
from dplearn.privacy.noisy_max import publishable_noisy_max_cost, secret_noisy_max_epsilon

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
