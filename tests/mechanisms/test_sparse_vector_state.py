"""Sparse vectors and stable answers stop in public, are one state in one process, and show nothing of it."""

import copy
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest
from sklearn.base import BaseEstimator, clone

from dplearn.audit import FaultyDice
from dplearn.chance import ReplayDice, SeededDice, SystemDice
from dplearn.mechanisms import SparseVector, StableAnswers
from dplearn.privacy import ApproxDP, OneTimeState

FAR = 10**6


class Kind(NamedTuple):
    """How to make one that stops after so many answers of a kind, and to ask what gets them or not."""

    make: Callable[..., Any]
    limit: str
    left: str
    message: str
    ask: Callable[..., list]


def questions(vector, ends):
    """Questions far above the threshold, or far below it."""
    return vector.ask_all([FAR if end else -FAR for end in ends]).tolist()


def queries(release, ends):
    """Queries without a stable answer, or far from instability."""
    answers = release.answer([7] * len(ends), [0 if end else FAR for end in ends])
    return (answers == -1).tolist()


ABOVE = "max_positives answers were above the threshold: the sparse vector has stopped"
ABSTAINED = "max_abstentions abstentions have occurred: the release has stopped"
sparse = Kind(
    partial(SparseVector, 0, privacy=ApproxDP(10**4)), "max_positives", "positives_left", ABOVE, questions
)
KINDS = {
    "sparse": sparse,
    "renewed": sparse._replace(make=partial(sparse.make, renew_threshold=True)),
    "stable": Kind(
        partial(StableAnswers, privacy=ApproxDP(1, "1e-6")),
        "max_abstentions",
        "abstentions_left",
        ABSTAINED,
        queries,
    ),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def made(kind, most, dice=None):
    return kind.make(**{kind.limit: most}, dice=dice or SystemDice())


def test_after_the_stop_nothing_is_drawn_and_the_error_is_always_the_same(kind):
    dice = FaultyDice(SeededDice(0))
    release = made(kind, 2, dice)
    assert kind.ask(release, [False] * 50) == [False] * 50
    assert (release.stopped, getattr(release, kind.left)) == (False, 2)
    assert kind.ask(release, [False, True, False, True, False, True]) == [False, True, False, True]
    assert (release.stopped, getattr(release, kind.left)) == (True, 0)
    drawn = dice.n_draws
    for ends in ([False], [True, True], []):
        with pytest.raises(RuntimeError, match=f"^{kind.message}$"):
            kind.ask(release, ends)
    if kind.ask is questions:
        with pytest.raises(RuntimeError, match=f"^{kind.message}$"):
            release.ask(5)
    assert dice.n_draws == drawn


def test_a_thread_that_comes_between_the_last_answer_and_the_end_is_told_that_it_has_stopped(
    kind, monkeypatch
):
    dice = FaultyDice(SeededDice(0))
    release = made(kind, 1, dice)
    monkeypatch.setattr(OneTimeState, "close", lambda holder: None)  # a moment later
    kind.ask(release, [True])
    drawn = dice.n_draws
    monkeypatch.setattr(type(release), "stopped", False)  # as seen before the last answer
    with pytest.raises(RuntimeError, match=f"^{kind.message}$"):
        kind.ask(release, [False])
    assert dice.n_draws == drawn


def test_where_the_state_cannot_be_used_nothing_is_left(kind, monkeypatch):
    def closed(holder):
        raise RuntimeError("as in a forked process")

    release = made(kind, 5)
    monkeypatch.setattr(OneTimeState, "use", closed)
    assert (getattr(release, kind.left), release.stopped) == (0, True)
    with pytest.raises(RuntimeError, match=f"^{kind.message}$"):
        kind.ask(release, [False])


class Asking(BaseEstimator):
    """What holds one as a parameter, as a pipeline might."""

    def __init__(self, release=None):
        self.release = release


COPIES = [
    copy.copy,
    copy.deepcopy,
    lambda release: clone(Asking(release)).release,
    lambda release: copy.deepcopy({"deep": [release]})["deep"][0],
]


@pytest.mark.parametrize("twin", COPIES)
def test_copies_never_answer_twice_and_share_the_noise_of_the_threshold(kind, twin):
    dice = ReplayDice(SeededDice(0))
    release = made(kind, 2, dice)
    other = twin(release)
    assert type(other) is type(release)
    kind.ask(release, [False])
    drawn = len(dice.trace)
    kind.ask(other, [False])
    assert len(dice.trace) == drawn + 1 == 3  # the threshold's noise and that of a test, and of another
    kind.ask(release, [True])
    assert getattr(other, kind.left) == 1
    kind.ask(other, [True])
    for stopped in (release, other, twin(release)):
        with pytest.raises(RuntimeError, match=kind.message):
            kind.ask(stopped, [True])


def test_nothing_private_is_shown(kind):
    dice = ReplayDice(SystemDice())
    release = made(kind, 3, dice)
    for _ in range(2):
        kind.ask(release, [True])
    secrets = [str(FAR), "Dice"] + [str(draw.outcome) for draw in dice.trace if draw.outcome > 9]
    [holder] = vars(release).values()
    shown = " ".join(map(repr, (release, vars(release), str(release), dir(release), holder, dir(holder))))
    assert not [secret for secret in secrets if secret in shown]


def test_many_threads_get_no_more_than_was_paid_for(kind):
    release, answers, together = made(kind, 25), [], threading.Barrier(8)

    def ask():
        together.wait()
        for _ in range(20):
            try:
                answers.extend(kind.ask(release, [True]))
            except RuntimeError:
                return

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 25
    assert release.stopped
