"""Deliberate mistakes in fits of several outputs: each breaks a claim that the original keeps."""

import numpy as np
import pytest

from dplearn import ExponentialMechanismClassifier, PrivacyLedger, PrivateMultiOutputClassifier
from dplearn.audit.cases.multi_output import CASES as MULTI_OUTPUT_CASES
from dplearn.audit.cases.search import OneAnswerFit
from dplearn.domains import DomainError, IntegerRange
from dplearn.learners.several import multi_output
from dplearn.learners.several.multi_output import MultiOutputFit
from tests.changed import with_recipe
from tests.laws.conftest import OnePair

CASES = {case.name: case for case in MULTI_OUTPUT_CASES}


def the_whole_price_for_each_output(monkeypatch):
    monkeypatch.setattr(multi_output, "equal_shares", lambda privacy, count: (privacy,))
    monkeypatch.setattr(multi_output, "_costs_at_most", lambda cost, events: True)


class Repeating:
    """Dice that give every output the draws of the first."""

    def __init__(self, dice, made):
        self.dice, self.made, self.place = dice, made, 0

    def __getattr__(self, primitive):
        def draw(*arguments, **named):
            if self.place == len(self.made):
                self.made.append(getattr(self.dice, primitive)(*arguments, **named))
            self.place += 1
            return self.made[self.place - 1]

        return draw


def one_seed_for_all_outputs(monkeypatch):
    honest, own = MultiOutputFit.run, OneAnswerFit.run

    def run(self, summary, plan, dice):
        made = []
        monkeypatch.setattr(
            OneAnswerFit,
            "run",
            lambda fit, rows, inner, dice: own(fit, rows, inner, Repeating(dice, made)),
        )
        return honest(self, summary, plan, dice)

    monkeypatch.setattr(MultiOutputFit, "run", run)


NO, YES = (0, "no", "off"), (0, "yes", "on")
#: What each mistake is made in, and neighbours that it shows on.
BREACHES = [
    ("multi_output", the_whole_price_for_each_output, ((NO, YES), (NO, NO))),
    ("whole_multi_output", the_whole_price_for_each_output, (((0, 0, 0),) * 2, ((0, 1, 1), (0, 0, 0)))),
    ("multi_output_with_delta", the_whole_price_for_each_output, (((0, 0, 0),), ((0, 1, 1),))),
    ("whole_multi_output", one_seed_for_all_outputs, (((0, 0, 0),) * 2, ((0, 0, 1), (0, 0, 0)))),
    ("multi_output_with_delta", one_seed_for_all_outputs, (((0, 0, 0),), ((0, 0, 1),))),
]


def each_of(mistakes):
    names = lambda each: each if isinstance(each, str) else getattr(each, "__name__", "")  # noqa: E731
    return pytest.mark.parametrize(("name", "mistake", "pair"), mistakes, ids=names)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.nightly)])
@each_of(BREACHES)
def test_a_mistake_in_several_outputs_exceeds_the_claim(monkeypatch, name, mistake, pair, whole):
    case = CASES[name].with_fit(CASES[name].fit)
    case = case if whole else OnePair.of(case, pair)
    assert case.is_kept() if not whole else True
    vars(case).pop("distributions", None)
    mistake(monkeypatch)
    assert not case.run().keeps(case.claim)


def model(kind=PrivateMultiOutputClassifier):
    learner = ExponentialMechanismClassifier("thresholds", domain=IntegerRange(0, 9))
    return kind(learner, classes=[["no", "yes"]] * 3, ledger=PrivacyLedger(1))


def labels(foreign):
    Y = np.array([["no", "yes", "no"]] * 20, dtype=object)
    if foreign is not None:
        Y[-1, foreign] = "maybe"
    return Y


def checked_late():
    """Return a class that checks the labels of all outputs but the first in the release, after the charge."""
    late = []

    def encoded(own):
        def first(self, X, y, reader):
            late[:] = [y, lambda rows: own(self, rows, y, reader)[1]]
            return own(self, X, np.where(np.arange(y.shape[1]) == 0, y, "no"), reader)

        return first

    def run(own):
        return lambda self, summary, plan, dice: own(self, late[1](summary.X), plan, dice)

    return with_recipe(PrivateMultiOutputClassifier, encoded=encoded, run=run)


@pytest.mark.parametrize("foreign", range(3))
def test_a_foreign_label_in_any_output_is_refused_before_the_charge(foreign):
    learner = model()
    with pytest.raises(DomainError, match="not among the declared classes"):
        learner.fit(np.arange(20)[:, None] % 10, labels(foreign))
    assert learner.ledger.history() == []


@pytest.mark.filterwarnings("ignore:n_samples is")
def test_labels_that_are_checked_after_the_charge_are_caught_by_the_history():
    learner = model(checked_late())
    with pytest.raises(DomainError):
        learner.fit(np.arange(20)[:, None] % 10, labels(2))
    assert len(learner.ledger.history()) == 1
