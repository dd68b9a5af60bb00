"""Stable answers: what they release, when they stop, and that only noise and distances decide it."""

import numpy as np
import pytest

from dplearn.chance import ReplayDice, SeededDice, SystemDice
from dplearn.mechanisms import StableAnswers
from dplearn.privacy import ApproxDP
from dplearn.theory import stable_answers_noise

ONE = ApproxDP(1, "1e-6")
FAR = 10**6


def release(max_abstentions=2, privacy=ONE, dice=None, **public):
    dice = SystemDice() if dice is None else dice
    return StableAnswers(max_abstentions=max_abstentions, privacy=privacy, dice=dice, **public)


def test_stable_queries_get_their_answers_and_unstable_ones_none():
    asked = release(max_abstentions=3)
    released = asked.answer([7, 5, 0, 2**40], [FAR, 0, FAR, FAR])
    assert released.tolist() == [7, -1, 0, 2**40]
    assert released.dtype == np.int64
    assert (asked.abstentions_left, asked.stopped) == (2, False)
    assert release(max_abstentions=1).answer([7, 5, 9], [FAR, 0, FAR]).tolist() == [7, -1]


# Its law


@pytest.mark.parametrize("n_queries", [1, 10**6])
def test_the_noise_that_is_drawn_is_the_one_tuned_for_so_many_queries(n_queries):
    noise = stable_answers_noise(ONE, 3, n_queries=n_queries)
    dice = ReplayDice(SeededDice(0))
    release(3, dice=dice, n_queries=n_queries).answer([0], [0])
    threshold, test = dice.trace
    assert (threshold.arguments[0], test.arguments[0]) == (noise.of_threshold, noise.of_test)
    assert threshold.outcome - test.arguments[1][0] == noise.threshold


@pytest.mark.first_by_day
@pytest.mark.parametrize("n_queries", [pytest.param(1, marks=pytest.mark.nightly), 100])
@pytest.mark.parametrize("max_abstentions", [1, 20])
def test_from_the_least_distance_on_all_queries_are_answered_as_often_as_promised(n_queries, max_abstentions):
    distance = stable_answers_noise(ONE, max_abstentions, n_queries=n_queries).least_distance(n_queries, 0.05)

    def failed(distance):
        runs = [
            release(max_abstentions, dice=SeededDice(seed, n_queries), n_queries=n_queries)
            .answer([0] * n_queries, [distance] * n_queries)
            .any()
            for seed in range(200)
        ]
        return sum(runs)

    assert failed(distance) < 20  # 10 are expected at most, with a deviation of 3
    assert failed(distance // 2) > 60
