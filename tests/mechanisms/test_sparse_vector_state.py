"""A sparse vector stops in public, is one state in one process, and shows nothing that it holds."""

import copy
import threading

import pytest
from sklearn.base import BaseEstimator, clone

from dplearn.chance import ReplayDice, SeededDice, SystemDice
from dplearn.mechanisms import SparseVector
from dplearn.privacy import ApproxDP

ONE = ApproxDP(1)
STOPPED = "max_positives answers were above the threshold: the sparse vector has stopped"


# The stop


class Counting(SeededDice):
    """Dice that count what is drawn from them."""

    drawn = 0

    def geometric(self, *arguments, **options):
        self.drawn += 1
        return super().geometric(*arguments, **options)


@pytest.mark.parametrize("renew", [False, True])
def test_after_the_stop_nothing_is_drawn_and_the_error_is_always_the_same(renew):
    dice = Counting(0)
    vector = SparseVector(0, max_positives=2, privacy=ApproxDP(50), dice=dice, renew_threshold=renew)
    assert vector.ask_all([-9, 1000, -9, 1000, 7, 1000]).tolist() == [False, True, False, True]
    assert (vector.stopped, vector.positives_left) == (True, 0)
    before = dice.drawn
    for question in (5, -(10**6), 10**6):
        with pytest.raises(RuntimeError, match=f"^{STOPPED}$"):
            vector.ask(question)
        with pytest.raises(RuntimeError, match=f"^{STOPPED}$"):
            vector.ask_all([question, question])
    with pytest.raises(RuntimeError, match=f"^{STOPPED}$"):
        vector.ask_all([])
    assert dice.drawn == before


def test_a_thread_that_comes_between_the_last_answer_and_the_end_is_told_that_it_has_stopped(monkeypatch):
    vector = SparseVector(0, max_positives=1, privacy=ApproxDP(50), dice=SystemDice())
    monkeypatch.setattr(type(vector._one_time_state), "close", lambda holder: None)  # a moment later
    assert vector.ask(1000)
    monkeypatch.setattr(SparseVector, "stopped", False)  # as seen before the last answer
    with pytest.raises(RuntimeError, match=f"^{STOPPED}$"):
        vector.ask(1000)


# One state


class Asking(BaseEstimator):
    """What holds a sparse vector as a parameter, as a pipeline might."""

    def __init__(self, vector=None):
        self.vector = vector


def copies(vector):
    return [
        copy.copy(vector),
        copy.deepcopy(vector),
        clone(Asking(vector)).vector,
        copy.deepcopy({"deep": [vector]})["deep"][0],
    ]


def test_copies_never_answer_twice():
    for place in range(4):
        vector = SparseVector(0, max_positives=2, privacy=ApproxDP(50), dice=SystemDice())
        other = copies(vector)[place]
        assert type(other) is SparseVector
        assert vector.ask(1000)
        assert other.positives_left == 1
        assert other.ask(1000)
        assert vector.stopped
        for stopped in (vector, other, *copies(vector)):
            with pytest.raises(RuntimeError, match=STOPPED):
                stopped.ask(1000)


def test_copies_share_the_thresholds_noise():
    # Fresh noise on a copy's threshold would let two copies tell more about a value between them.
    dice = ReplayDice(SeededDice(0))
    vector = SparseVector(0, max_positives=9, privacy=ONE, dice=dice)
    for asked in (vector, *copies(vector)):
        asked.ask(0)
    of_threshold = [
        draw for draw in dice.trace if draw.arguments[2] is None
    ]  # the noise without an upper end
    assert len(of_threshold) == 1
    assert len(dice.trace) == 1 + 5


def test_nothing_private_is_shown():
    threshold, dice = 123_456_789, ReplayDice(SystemDice())
    vector = SparseVector(threshold, max_positives=3, privacy=ApproxDP("1e-9"), dice=dice)
    vector.ask_all([987_654, 987_654])
    (noise,) = (draw.outcome for draw in dice.trace if draw.arguments[2] is None)
    secrets = [str(noise), str(threshold + noise), str(threshold), "987654", "Dice"]
    holder = vars(vector)["_one_time_state"]
    shown = " ".join(map(repr, (vector, vars(vector), str(vector), dir(vector), holder, dir(holder))))
    assert list(vars(vector)) == ["_one_time_state"]
    assert not [secret for secret in secrets if secret in shown]


def test_many_threads_get_no_more_than_the_positives_that_were_paid_for():
    vector = SparseVector(0, max_positives=25, privacy=ApproxDP(10**4), dice=SystemDice())
    answers, together = [], threading.Barrier(8)

    def ask():
        together.wait()
        for _ in range(20):
            try:
                answers.append(vector.ask(10**6))
            except RuntimeError:
                return

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 25
    assert vector.stopped
