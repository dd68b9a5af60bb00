"""The runner of deliberate mistakes takes none for caught that does not run, or that changes nothing."""

from dataclasses import replace

import pytest

from dplearn.audit.cases import CASES
from dplearn.learners.counts import naive_bayes
from dplearn.learners.votes import AGGREGATIONS
from dplearn.queries import noise
from tests.laws.mutants import LAW, REPLAY, Mistake, around, assert_caught, given, instead, original

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


def test_a_name_that_is_gone_is_not_patched(monkeypatch):
    for patch in (
        instead(noise.CentralNoise, "a_name_that_is_gone", None),
        around(naive_bayes, "a_name_that_is_gone", of_a_vanished_name),
        given("gone", noise, "a_name_that_is_gone", sensitivity=1),
    ):
        with pytest.raises(AttributeError, match="a_name_that_is_gone"):
            assert_caught(Mistake(patch, "naive_bayes", PAIR, late=True), monkeypatch)
    gone = instead(AGGREGATIONS, "a_name_that_is_gone", None, "gone")
    with pytest.raises(AssertionError, match="does not run"):
        assert_caught(Mistake(gone, "naive_bayes", PAIR, late=True), monkeypatch)


@pytest.mark.parametrize("way", [LAW, REPLAY, "exceeds", "certain"])
def test_a_change_that_is_no_mistake_is_not_caught(way, monkeypatch):
    same = given("same", noise, "laplace_counts", sensitivity=lambda old: old)
    with pytest.raises(AssertionError):
        assert_caught(Mistake(same, "naive_bayes", PAIR, way, late=True), monkeypatch)


def test_an_original_that_exceeds_its_claim_or_has_another_law_than_the_frozen_one_is_refused(monkeypatch):
    half = given("half", noise, "laplace_counts", sensitivity=lambda old: old // 2)
    with pytest.MonkeyPatch.context() as patch:
        half(patch)
        with pytest.raises(AssertionError, match="itself is not kept"):
            original(replace(CASES["naive_bayes"]), PAIR)
    twice = given("twice", noise, "laplace_counts", sensitivity=lambda old: 2 * old)
    with pytest.MonkeyPatch.context() as patch:
        twice(patch)
        with pytest.raises(AssertionError, match="another original law"):
            assert_caught(Mistake(half, replace(CASES["naive_bayes"]), PAIR), monkeypatch)
