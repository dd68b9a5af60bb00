"""Deliberate mistakes in the release of stable answers: each exceeds the claim, by exactly so much."""

import copy
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn.audit.laws import exact_law, least_exp_epsilon
from dplearn.core.exact import log_bounds
from dplearn.mechanisms import stable_answers
from dplearn.mechanisms.sparse_vector import Questions
from dplearn.mechanisms.stable_answers import StableAnswers
from dplearn.privacy import ApproxDP, PrivateHolder
from dplearn.theory.stable_answers import stable_answers_noise

TAIL_BITS = 22
PROMISED = ApproxDP(2, Fraction(1, 1000))
DELTA = PROMISED.delta + Fraction(1, 1 << 20)  # with what a tape leaves out


def queries(*distances, answers=None):
    return (answers or [0] * len(distances), distances)


def answered_by(release, queries, more=()):
    """All answers to some queries, and to `more` by a copy: whatever is still to be had."""
    answers = [release.answer(*queries).tolist()]
    for other in more:
        twin = copy.deepcopy(release)
        answers.append("stopped" if twin.stopped else twin.answer(*other).tolist())
    return answers


def run(max_unstable, queries, dice, twice=False):
    release = StableAnswers(max_unstable=max_unstable, privacy=PROMISED, dice=dice, n_queries=2)
    return answered_by(release, queries, [queries] if twice else [])


def laws_of(pair, max_unstable=1, **how):
    return [exact_law(partial(run, max_unstable, each, **how), TAIL_BITS) for each in pair]


def exact_epsilon(*laws):
    """The least epsilon for both directions, to two places."""
    found = [least_exp_epsilon(*pair, DELTA)[0] for pair in (laws, laws[::-1])]
    return math.inf if None in found else round(max(float(log_bounds(ratio)[1]) for ratio in found), 2)


def instead(kind=None, noise_of=lambda noise: noise, **changes):
    """Return `stability_questions` with another kind of sparse vector, or other noise, or other state."""
    real = stable_answers.stability_questions

    def questions(noise, dice):
        made = replace(real(noise_of(noise), dice), **changes)
        return made if kind is None else kind(**vars(made))

    return questions


class NoiseOnceForAll(Questions):
    """One draw for all queries of a batch is noise on the bar only."""

    def compare(self, bar, values):
        return self.dice.geometric(self.of_test) > bar - values


class NoNoiseOnTheBar(Questions):
    def bar(self):
        return self.threshold


class NoNoiseWhenFar(Questions):
    """A query far above the bar is answered without a draw."""

    def compare(self, bar, values):
        return super().compare(bar, values) & (values > self.threshold - 2)


class BarForAllEpochs(Questions):
    """Never renewed, whatever the noise is for."""

    def __init__(self, **fields):
        super().__init__(**fields | {"renew": False})


class BarForEachEpoch(Questions):
    def __init__(self, **fields):
        super().__init__(**fields | {"renew": True})


def noise_for(unstable, renew=None):
    return lambda noise: replace(
        stable_answers_noise(PROMISED, unstable, n_queries=2, renew_threshold=renew),
        max_unstable=noise.max_unstable,
    )


UP_AND_DOWN = queries(7, 7, 7, 7), queries(6, 6, 8, 8)
ALL_UP = queries(4, 4, 4, 4, 8), queries(5, 5, 5, 5, 7)

#: The mistake, how many may stay unanswered, neighbours that show it, and the epsilon that they then have.
EXCEEDING = {
    "T + 1 unanswered": (instead(epoch=(2, None)), 1, UP_AND_DOWN, 2.98),
    "noise once for all queries": (instead(NoiseOnceForAll), 1, (queries(7, 6), queries(6, 7)), math.inf),
    "no noise on the bar": (instead(NoNoiseOnTheBar), 1, ALL_UP, 0),
    "no noise far above the bar": (instead(NoNoiseWhenFar), 1, (queries(8), queries(9)), math.inf),
    "the bar off by one": (
        instead(noise_of=lambda noise: replace(noise, bar=noise.bar - 1)),
        1,
        (queries(0, answers=[0]), queries(0, answers=[1])),
        math.inf,
    ),
    "noise for one unanswered query": (instead(noise_of=noise_for(1)), 2, UP_AND_DOWN, 0),
    "renewed, noise for a bar drawn once": (instead(BarForEachEpoch), 2, UP_AND_DOWN, 0),
    "all of epsilon in each epoch": (instead(BarForEachEpoch, noise_for(1)), 2, UP_AND_DOWN, 0),
    "all of epsilon in each epoch, not renewed": (instead(BarForAllEpochs, noise_for(1, True)), 2, UP_AND_DOWN, 0),
}


@pytest.mark.parametrize("mistake", EXCEEDING)
def test_a_mistake_exceeds_the_claim_where_the_original_keeps_it(mistake, monkeypatch):
    change, unstable, pair, epsilon = EXCEEDING[mistake]
    assert exact_epsilon(*laws_of(pair, unstable)) <= 2
    monkeypatch.setattr(stable_answers, "stability_questions", change)
    assert exact_epsilon(*laws_of(pair, unstable)) == epsilon > 2
