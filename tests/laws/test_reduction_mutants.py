"""Deliberate mistakes in the learner from two releases, and the sum of both epsilons."""

import math

import pytest

from dplearn.audit.cases import CASES, reductions
from dplearn.kernels.exact import at_most_exp
from dplearn.releases.reductions import learner_from_release
from tests.laws.conftest import OnePair

#: Neighbours that a mistake shows on, found by running it over the whole universe.
WITNESS = ((0, 0), (0, 0)), ((0, 0), (0, 1))


def excess(name="learner_from_release", pair=None):
    """By what factor a case exceeds its claim; infinite if an outcome has no probability on one side."""
    case = CASES[name].with_fit(CASES[name].fit)  # with distributions of its own
    case = case if pair is None else OnePair.of(case, pair)
    found = case.run().exp_epsilon
    return math.inf if found is None else math.log(found) / float(case.claim.epsilon)


@pytest.mark.parametrize(
    ("name", "least"), [("learner_from_release", 0.999), ("learner_from_small_database", 0.69)]
)
def test_the_unchanged_learner_costs_both_releases_and_no_more(name, least):
    assert least < excess(name) <= 1
    assert not at_most_exp(
        CASES[name].run().exp_epsilon, reductions.EACH.epsilon
    )  # one release is not enough


def test_absent_records_that_are_left_out_are_counted(monkeypatch):
    def learner(values, labels, concepts, *, absent, release):
        def counted(rows):
            return release([row for row in rows if row != absent])

        return learner_from_release(values, labels, concepts, absent=absent, release=counted)

    monkeypatch.setattr(reductions, "learner_from_release", learner)
    assert excess() == math.inf


def test_noise_that_both_releases_share_breaks_the_claim():
    class Shared:
        def __init__(self, dice):
            self.dice, self.drawn = dice, None

        def __getattr__(self, name):
            return getattr(self.dice, name)

        def discrete_laplace(self, *arguments, **more):
            if self.drawn is None:
                self.drawn = self.dice.discrete_laplace(*arguments, **more)
            return self.drawn

    right = reductions.learned_by(reductions.noisy_thresholds)
    case = CASES["learner_from_release"].with_fit(lambda rows, dice: right(rows, Shared(dice)))
    assert case.run().exp_epsilon is None


@pytest.mark.parametrize("pair", [WITNESS, pytest.param(None, marks=pytest.mark.nightly)])
def test_a_second_release_of_the_ones_breaks_the_claim(monkeypatch, pair):
    def learner(values, labels, concepts, *, absent, release):
        ones = [value if label else absent for value, label in zip(values, labels, strict=True)]
        zeros = [absent if label else value for value, label in zip(values, labels, strict=True)]
        first, second, other = release(ones), release(ones), release(zeros)
        return min(concepts, key=lambda each: 2 * other(each) - first(each) - second(each))

    monkeypatch.setattr(reductions, "learner_from_release", learner)
    assert excess(pair=pair) > 1.4


def test_concepts_that_occur_in_the_table_are_found(monkeypatch):
    def learner(values, labels, concepts, **how):
        return learner_from_release(values, labels, sorted(set(values)), **how)

    monkeypatch.setattr(reductions, "learner_from_release", learner)
    assert excess() == math.inf
