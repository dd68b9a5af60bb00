"""The runner of deliberate mistakes takes none for caught that does not run, or that changes nothing."""

from fractions import Fraction

import pytest

from dplearn.learners.counts import naive_bayes
from dplearn.learners.votes.aggregators import AGGREGATIONS
from dplearn.queries import noise
from dplearn.queries.noise import CentralNoise
from tests.laws.mutants import LAW, REPLAY, Mistake, around, assert_caught, given, instead

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
    mistake = Mistake(around(naive_bayes, "learn_naive_bayes", wrong), "naive_bayes", PAIR, way)
    with pytest.raises(AssertionError, match="the mistake does not run"):
        assert_caught(mistake, monkeypatch)


def test_a_name_that_is_gone_is_not_patched(monkeypatch):
    for patch in (
        instead(CentralNoise, "a_name_that_is_gone", None),
        around(naive_bayes, "a_name_that_is_gone", of_a_vanished_name),
        given("gone", noise, "a_name_that_is_gone", sensitivity=1),
    ):
        with pytest.raises(AttributeError, match="a_name_that_is_gone"):
            assert_caught(Mistake(patch, "naive_bayes", PAIR), monkeypatch)
    gone = instead(AGGREGATIONS, "a_name_that_is_gone", None, "gone")
    with pytest.raises(AssertionError, match="does not run"):
        assert_caught(Mistake(gone, "naive_bayes", PAIR), monkeypatch)


@pytest.mark.parametrize("way", [LAW, REPLAY, "exceeds", "certain"])
def test_a_change_that_is_no_mistake_is_not_caught(way, monkeypatch):
    same = given("same", noise, "laplace_counts", sensitivity=lambda old: old)
    with pytest.raises(AssertionError):
        assert_caught(Mistake(same, "naive_bayes", PAIR, way), monkeypatch)


def test_neighbours_on_which_the_original_exceeds_its_claim_are_refused(monkeypatch):
    doubled = given("doubled", noise, "laplace_counts", sensitivity=lambda old: Fraction(old))
    with pytest.raises(AssertionError):
        assert_caught(Mistake(doubled, "naive_bayes", (((2, 0),), ((2, 0),))), monkeypatch)
