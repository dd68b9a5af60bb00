"""The runner of deliberate mistakes takes none for caught that does not run, or that changes nothing."""

from dataclasses import replace

import pytest

from dplearn.audit.cases import CASES
from dplearn.learners.counts import naive_bayes
from tests.laws.mutants import LAW, REPLAY, Mistake, around, assert_caught, edit, instead, original

PAIR = ((2, 0),), ((2, 1),)


def of_a_vanished_name(right, *given, **how):
    return naive_bayes.a_name_that_is_gone(right(*given, **how))


def of_a_vanished_module(right, *given, **how):
    from dplearn import a_module_that_is_gone  # noqa: F401

    return right(*given, **how)


def with_another_signature(right, oracle):
    return right(oracle)


@pytest.mark.parametrize("way", [LAW, REPLAY, "exceeds", "certain"])
@pytest.mark.parametrize("wrong", [of_a_vanished_name, of_a_vanished_module, with_another_signature])
def test_a_mistake_that_does_not_run_is_refused(wrong, way, monkeypatch):
    mistake = Mistake(around(naive_bayes, "learn_naive_bayes", wrong), "naive_bayes", PAIR, way, late=True)
    with pytest.raises(AssertionError, match="the mistake does not run"):
        assert_caught(mistake, monkeypatch)


NOISY = "queries.noise:LaplaceNoise.noisy"
HALF = edit(NOISY, "sensitivity=self.l1", "sensitivity=self.l1 // 2")


@pytest.mark.parametrize(
    ("patch", "match"),
    [
        (instead("queries.noise:CentralNoise", "a_name_that_is_gone", None), "a_name_that_is_gone"),
        (around(naive_bayes, "a_name_that_is_gone", of_a_vanished_name), "a_name_that_is_gone"),
        (edit("queries.noise:a_name_that_is_gone", "return", "pass"), "a_name_that_is_gone"),
        (edit(NOISY, "a text that is gone", ""), "not once"),
        (edit(NOISY, "self", "other"), "not once"),
        (
            edit(NOISY, "sensitivity=self.l1", "sensitivity=a_name_that_is_gone"),
            "knows no .*a_name_that_is_gone",
        ),
        (edit(NOISY, "dice: Dice", "dice"), "changes no statement"),
        (edit("mechanisms.parity:_chances", "growth + 2", "growth + 1"), "keeps right results"),
    ],
)
def test_a_mistake_that_is_gone_or_changes_nothing_is_refused(patch, match, monkeypatch):
    with pytest.raises((AssertionError, AttributeError), match=match):
        assert_caught(Mistake(patch, "naive_bayes", PAIR, late=True), monkeypatch)


@pytest.mark.parametrize("way", [LAW, REPLAY, "exceeds", "certain"])
def test_a_change_that_is_no_mistake_is_not_caught(way, monkeypatch):
    same = edit(NOISY, "sensitivity=self.l1", "sensitivity=1 * self.l1")
    with pytest.raises(AssertionError):
        assert_caught(Mistake(same, "naive_bayes", PAIR, way, late=True), monkeypatch)


def test_an_original_that_exceeds_its_claim_or_has_another_law_than_the_frozen_one_is_refused(monkeypatch):
    with pytest.MonkeyPatch.context() as patch:
        HALF(patch)
        with pytest.raises(AssertionError, match="itself is not kept"):
            original(replace(CASES["naive_bayes"]), PAIR)
    with pytest.MonkeyPatch.context() as patch:
        edit(NOISY, "sensitivity=self.l1", "sensitivity=2 * self.l1")(patch)
        with pytest.raises(AssertionError, match="another original law"):
            assert_caught(Mistake(HALF, replace(CASES["naive_bayes"]), PAIR), monkeypatch)
