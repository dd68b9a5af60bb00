"""Stable answers: what they release, when they stop, and that only noise and distances decide it."""

import os
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn.audit import FaultyDice
from dplearn.audit.enumeration import exact_distribution, least_exp_epsilon
from dplearn.chance import EnumeratingDice, ReplayDice, SeededDice, SystemDice
from dplearn.kernels.exact import at_most_exp
from dplearn.mechanisms import sparse_vector
from dplearn.mechanisms.stable_answers import StableAnswers
from dplearn.privacy import ApproxDP
from dplearn.privacy.stable_answers import stable_answers_noise

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
ONE = ApproxDP(1, "1e-6")
STOPPED = "max_abstentions abstentions have occurred: the release has stopped"
FAR = 10**6


def release(max_abstentions=2, privacy=ONE, dice=None, **public):
    dice = SystemDice() if dice is None else dice
    return StableAnswers(max_abstentions=max_abstentions, privacy=privacy, dice=dice, **public)


# What is released


def test_stable_queries_get_their_answers_and_unstable_ones_none():
    asked = release(max_abstentions=3)
    released = asked.answer([7, 5, 0, 2**40], [FAR, 0, FAR, FAR])
    assert released.tolist() == [7, -1, 0, 2**40]
    assert released.dtype == np.int64
    assert (asked.abstentions_left, asked.stopped) == (2, False)


def test_after_max_unstable_queries_without_an_answer_it_stops_and_draws_nothing_more():
    dice = FaultyDice(SeededDice(0))
    asked = release(max_abstentions=2, dice=dice)
    assert asked.answer([1, 1, 1, 1, 1], [0, FAR, 0, FAR, FAR]).tolist() == [-1, 1, -1]
    assert (asked.abstentions_left, asked.stopped) == (0, True)
    drawn = dice.n_draws
    for distances in ([FAR], [0, 0], []):
        with pytest.raises(RuntimeError, match=f"^{STOPPED}$"):
            asked.answer([1] * len(distances), distances)
    assert dice.n_draws == drawn


def test_a_thread_that_comes_after_the_last_one_is_told_that_it_has_stopped(monkeypatch):
    asked = release(max_abstentions=1)
    asked.answer([1], [0])
    monkeypatch.setattr(StableAnswers, "stopped", False)  # as seen before the last answer
    with pytest.raises(RuntimeError, match=f"^{STOPPED}$"):
        asked.answer([1], [FAR])


def test_answers_that_are_given_use_up_nothing():
    asked = release(max_abstentions=1)
    for _ in range(50):
        assert asked.answer([3] * 100, [FAR] * 100).tolist() == [3] * 100
    assert asked.abstentions_left == 1


def test_no_queries_get_no_answers_and_cost_nothing():
    dice = FaultyDice(SeededDice(0))
    asked = release(dice=dice)
    for empty in ([], (), np.array([]), np.array([], dtype=np.int8)):
        released = asked.answer(empty, empty)
        assert (released.shape, released.dtype) == ((0,), np.int64)
    assert (dice.n_draws, asked.abstentions_left) == (0, 2)


# Its law


def released_to(dice, distances, batches, max_abstentions, privacy, n_queries=2):
    """What is released if queries come in batches of these sizes."""
    asked, seen, start = release(max_abstentions, privacy, dice, n_queries=n_queries), [], 0
    for size in batches:
        if not asked.stopped:
            part = distances[start : start + size]
            seen += asked.answer(range(start, start + len(part)), part).tolist()
        start += size
    return seen, asked.abstentions_left


LOOSE = ApproxDP(6, "0.1")


@pytest.mark.parametrize("max_abstentions", [1, 2])
@pytest.mark.parametrize("chunk", [1, 2, 4096])
@pytest.mark.parametrize("batches", [(1, 1, 1), (2, 1), (1, 2)])
def test_asking_one_by_one_in_parts_and_all_at_once_have_the_same_law(
    max_abstentions, chunk, batches, monkeypatch
):
    distances = [0, 2, 1]
    monkeypatch.setattr(sparse_vector, "_CHUNK", chunk)
    together, apart = (
        exact_distribution(
            partial(
                released_to, distances=distances, batches=how, max_abstentions=max_abstentions, privacy=LOOSE
            ),
            tail_bits=10,
        )
        for how in ((3,), batches)
    )
    assert together == apart
    assert len(together.masses) > 3


@pytest.mark.parametrize("max_abstentions", [1, 2])
def test_an_answer_does_not_change_what_is_declined(max_abstentions):
    def abstained(answers, dice):
        asked = release(max_abstentions, LOOSE, dice, n_queries=2)
        return (asked.answer(answers, [0, 2, 1]) < 0).tolist()

    distributions = [
        exact_distribution(partial(abstained, answers), tail_bits=10)
        for answers in ([0, 0, 0], [5, 9, 2**40])
    ]
    assert distributions[0] == distributions[1]


@pytest.mark.parametrize("n_queries", [1, 10, 1000, 10**6])
@pytest.mark.parametrize("max_abstentions", [1, 3, 40])
def test_for_how_many_queries_noise_is_tuned_changes_no_privacy(n_queries, max_abstentions):
    noise = stable_answers_noise(ONE, max_abstentions, n_queries=n_queries, renew_threshold=False)
    spent = 1 / (noise.of_threshold * noise.of_test ** (2 * max_abstentions))
    assert at_most_exp(spent, ONE.epsilon)
    assert not at_most_exp(spent, ONE.epsilon * Fraction(999_999, 1_000_000))
    assert ONE.delta / 2 < noise.spoiled() <= ONE.delta


@pytest.mark.parametrize("n_queries", [1, 1000])
def test_neighbours_are_as_close_as_promised_for_however_many_queries_noise_is_tuned(n_queries):
    tail_bits = 18
    # Distances fall on one side and rise on the other; the first query's answer changes at distance 0.
    distributions = [
        exact_distribution(
            partial(
                lambda dice, answers, distances: (
                    release(1, ApproxDP(2, "0.01"), dice, n_queries=n_queries)
                    .answer(answers, distances)
                    .tolist()
                ),
                answers=answers,
                distances=distances,
            ),
            tail_bits,
        )
        for answers, distances in (([0, 1, 1], [0, 4, 3]), ([1, 1, 1], [0, 3, 4]))
    ]
    delta = Fraction(1, 100) + Fraction(1, 1 << (tail_bits - 2))  # with what a tape leaves out
    for both in (distributions, distributions[::-1]):
        ratio, _ = least_exp_epsilon(*both, delta)
        assert ratio is not None
        assert at_most_exp(ratio, Fraction(2))


@pytest.mark.parametrize("n_queries", [1, 10**6])
def test_the_noise_that_is_drawn_is_the_one_tuned_for_so_many_queries(n_queries):
    noise = stable_answers_noise(ONE, 3, n_queries=n_queries)
    dice = ReplayDice(SeededDice(0))
    release(3, dice=dice, n_queries=n_queries).answer([0], [0])
    threshold, test = dice.trace
    assert (threshold.arguments[0], test.arguments[0]) == (noise.of_threshold, noise.of_test)
    assert threshold.outcome - test.arguments[1][0] == noise.threshold


def test_more_queries_than_noise_was_tuned_for_can_be_asked():
    asked = release(n_queries=1)
    assert asked.answer([1] * 5000, [FAR] * 5000).tolist() == [1] * 5000


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


# What goes in


@pytest.mark.parametrize("far", [2**61, 2**61 + 1, 2**63, 2**64, 10**50])
def test_huge_distances_count_as_far(far):
    assert release().answer([4, 4], [far, far]).tolist() == [4, 4]


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u8", ">u8", ">i2"])
def test_every_integer_dtype_gives_the_same_answers(dtype):
    answers, distances = np.array([3, 0, 60, 59, 1]), np.array([120, 0, 60, 90, 30])
    for seed in range(10):
        first, second = (
            release(5, ApproxDP("0.5", "1e-3"), SeededDice(seed)).answer(*given)
            for given in ((answers, distances), (answers.astype(dtype), distances.astype(dtype)))
        )
        assert first.tolist() == second.tolist()


def test_unsigned_distances_beyond_63_bits_do_not_wrap():
    distances = np.array([2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
    assert release().answer([1, 2, 3], distances).tolist() == [1, 2, 3]


BAD = [[0.5], [[1, 2]], ["777"], [None], [True], 777, None, "777"]


@pytest.mark.parametrize("bad", BAD, ids=repr)
@pytest.mark.parametrize("name", ["answers", "distances"])
def test_what_are_no_integers_is_refused_by_name_without_a_value_and_costs_nothing(bad, name):
    asked = release(dice=EnumeratingDice())
    with pytest.raises(TypeError, match=f"^{name} must be a one-dimensional array of integers$"):
        asked.answer(**{"answers": [1], "distances": [1]} | {name: bad})
    assert asked.abstentions_left == 2


def test_answers_and_distances_of_different_length_are_refused_and_cost_nothing():
    dice = FaultyDice(SeededDice(0))
    asked = release(dice=dice)
    with pytest.raises(ValueError, match=r"^answers and distances must have equal lengths$"):
        asked.answer([777, 777], [777])
    assert (dice.n_draws, asked.abstentions_left) == (0, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_abstentions": 0}, "max_abstentions must be an integer from 1 to 1000000000, got 0$"),
        ({"max_abstentions": 1.5}, "max_abstentions must be an integer from 1 to 1000000000, got 1.5$"),
        ({"max_abstentions": True}, "max_abstentions must be an integer .*, got True$"),
        ({"n_queries": 0}, "n_queries must be an integer at least 1, got 0$"),
        ({"n_queries": "many"}, "n_queries must be an integer at least 1, got 'many'$"),
        ({"privacy": ApproxDP(1)}, "delta must be a finite number above 0, got "),
        ({"privacy": ApproxDP(0, "1e-6")}, "epsilon must be a finite number above 0, got "),
        ({"privacy": 1.0}, "privacy must be of type ApproxDP, got 1.0$"),
    ],
    ids=str,
)
def test_bad_public_parameters_are_named_before_anything_is_drawn(parameters, message):
    dice = ReplayDice(SeededDice(0))
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        StableAnswers(**{"max_abstentions": 1, "privacy": ONE, "dice": dice} | parameters)
    assert not dice.trace


# One state


def test_a_closed_release_has_nothing_left_and_cannot_be_asked():
    asked = release(max_abstentions=5)
    asked._one_time_state.close()
    assert (asked.abstentions_left, asked.stopped) == (0, True)
    with pytest.raises(RuntimeError, match=STOPPED):
        asked.answer([777], [777])


FORK = """
import os
from dplearn.chance import SystemDice
from dplearn.mechanisms.stable_answers import StableAnswers
from dplearn.privacy import ApproxDP
asked = StableAnswers(max_abstentions=2, privacy=ApproxDP(1, "1e-6"), dice=SystemDice())
child = os.fork()
if not child:
    try:
        print(asked.answer([7], [1000]).tolist(), flush=True)
    except RuntimeError:
        print("refused", asked.stopped, asked.abstentions_left, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(asked.answer([7], [0]).tolist(), asked.abstentions_left)
"""


@posix
def test_a_forked_child_cannot_answer(program):
    done = program(FORK)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["refused True 0", "[-1] 1"]


def test_nothing_private_is_shown():
    dice = ReplayDice(SystemDice())
    asked = release(privacy=ApproxDP("1e-9", "1e-9"), dice=dice)
    asked.answer([987_654], [0])
    (noise,) = (draw.outcome for draw in dice.trace if draw.arguments[2] is None)
    shown = " ".join(map(repr, (asked, vars(asked), dir(asked), vars(asked)["_one_time_state"])))
    assert list(vars(asked)) == ["_one_time_state"]
    assert not [secret for secret in (str(noise), "987654", "Dice") if secret in shown]
