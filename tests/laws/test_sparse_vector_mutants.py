"""Every sparse vector that is known to be wrong exceeds its claim; the right one, written plainly, does not.

The list is that of Lyu, Su and Li (2017), "Understanding the sparse vector technique", and what else has been
published or proposed: each is one change to the plain version below.
"""

from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from dplearn import mechanisms
from dplearn.audit import Mutant, how_caught
from dplearn.audit.case import AuditCase
from dplearn.audit.cases import CASES
from dplearn.audit.cases.mechanisms import MECHANISM_FITS
from dplearn.kernels.exact import decay_ratio
from dplearn.mechanisms import AboveThreshold, SparseVector
from dplearn.privacy import ApproxDP
from tests.laws.conftest import OnePair

NOISY = Fraction(1, 1 << 8)  # a delta that pays for what a short tape leaves out


@dataclass(frozen=True)
class Smaller(AuditCase):
    """A case over fewer questions; mutants are compared with the unchanged mechanism's distribution."""

    mechanism: object = field(default=None)

    def frozen(self):
        return {"digest": unchanged_digest(self.name)}


@cache
def unchanged_digest(name):
    case = CASE_OF[name]
    return case.with_fit(MECHANISM_FITS[name](case.mechanism)).digest()


def smaller(name, mechanism, questions, epsilon, tail_bits):
    case = CASES[name]
    kept = {each.name: getattr(case, each.name) for each in fields(case)}
    universe = list(product((0, 1), repeat=questions))
    changes = {"universe": universe, "claim": ApproxDP(epsilon, NOISY), "tail_bits": tail_bits}
    return Smaller(**kept | changes | {"mechanism": mechanism})


CASE_OF = {
    "above_threshold": smaller("above_threshold", AboveThreshold, 4, 3, 14),
    "sparse_vector": smaller("sparse_vector", SparseVector, 3, 3, 14),
    "sparse_vector_renewed": smaller("sparse_vector_renewed", SparseVector, 3, 4, 15),
}


class Plain:
    """A sparse vector as its definition has it, question by question."""

    def __init__(self, threshold, *, privacy, dice, max_positives=1, sensitivity=1, renew_threshold=False):
        self.threshold, self.dice, self.left, self.renew = threshold, dice, max_positives, renew_threshold
        epochs = max_positives if renew_threshold else 1
        rates = self.rates(privacy.epsilon / epochs / sensitivity, max_positives // epochs)
        self.of_threshold, self.of_test = map(decay_ratio, rates)
        self.noisy_threshold = None  # until a question needs it

    def rates(self, epsilon, positives):
        share = Fraction(1, 1 + round((2 * positives) ** (2 / 3)))
        return epsilon * share, epsilon * (1 - share) / (2 * positives)

    def draw_noisy_threshold(self):
        self.noisy_threshold = self.threshold + self.dice.geometric(self.of_threshold)

    def is_above(self, value):
        gap = np.array([self.noisy_threshold - value + 1])
        return bool(self.dice.geometric(self.of_test, gap - 1, gap, size=1)[0] == gap[0])

    def after_positive(self, value):
        self.left -= 1
        if self.renew:
            self.noisy_threshold = None

    @property
    def stopped(self):
        return self.left == 0

    def ask(self, value):
        if self.noisy_threshold is None:
            self.draw_noisy_threshold()
        above = self.is_above(value)
        if above:
            self.after_positive(value)
        return above

    def ask_all(self, values):
        answers = []
        for value in values.tolist():
            if not self.stopped:
                answers.append(self.ask(value))
        return np.array(answers)


def caught(name, mechanism):
    return how_caught(Mutant(mechanism.__name__, CASE_OF[name], MECHANISM_FITS[name](mechanism)))


#: Neighbours that mistakes show on, found by running each over the whole universe.
WITNESSES = {
    "above_threshold": [
        (((0, 0, 0, 0),), ((0, 0, 0, 1),)),
        (((0, 0, 0, 0),), ((0, 0, 1, 0),)),
        (((0, 1, 0, 0),), ((1, 0, 0, 0),)),
    ],
    "sparse_vector": [(((0, 0, 0),), ((0, 0, 1),)), (((1, 0, 1),), ((0, 1, 0),))],
    "sparse_vector_renewed": [(((0, 0, 0),), ((0, 0, 1),)), (((1, 0, 1),), ((0, 1, 0),))],
}
#: Which witness a mistake shows on, where it is not the first.
SHOWN_ON = {
    ("above_threshold", "NoisyValueReleased"): 1,
    ("above_threshold", "HalfTheQueryNoise"): 2,
    ("above_threshold", "HalfTheSensitivity"): 1,
    ("above_threshold", "FivePercentTooSmall"): 2,
    ("above_threshold", "TwoSidedClampedFromBelow"): 2,
    ("sparse_vector", "NoiseForOnePositive"): 1,
    ("sparse_vector", "ThresholdLoweredByTheValue"): 1,
    ("sparse_vector", "HalfTheSensitivity"): 1,
    ("sparse_vector_renewed", "ThresholdDrawnOnceNoiseForOneEpoch"): 1,
    ("sparse_vector_renewed", "WholeEpsilonInEachEpoch"): 1,
}


@cache
def witness(name, place):
    return OnePair.of(CASE_OF[name], WITNESSES[name][place])


def caught_on_a_witness(name, mechanism):
    pair = witness(name, SHOWN_ON.get((name, mechanism.__name__), 0))
    return how_caught(Mutant(mechanism.__name__, pair, MECHANISM_FITS[name](mechanism)))


def exceed(ways):
    return [way for way in ways if way.startswith("exceeds the claim")]


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    ("name", "place"), [(name, i) for name in CASE_OF for i in range(len(WITNESSES[name]))]
)
def test_the_unchanged_mechanism_is_not_caught_on_any_witness(name, place):
    assert witness(name, place).is_kept()


@pytest.mark.nightly  # enumeration runs each with every change
@pytest.mark.parametrize("name", CASE_OF)
def test_the_unchanged_mechanism_is_not_caught(name):
    assert caught(name, CASE_OF[name].mechanism) == []


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.nightly if "renewed" in name else ()) for name in CASE_OF],
)
def test_the_plain_version_has_the_same_law_and_keeps_the_claim(name):
    # Asked one by one it makes more draws than all at once, which replay may notice, and nothing else.
    assert [way for way in caught(name, Plain) if not way.startswith("violates replay")] == []


# The known mistakes


class NoThresholdNoise(Plain):
    """The False answers are then free only in appearance: each one tells as much as a True."""

    def draw_noisy_threshold(self):
        self.noisy_threshold = self.threshold


class NoQueryNoise(Plain):
    """Stoddard and others (2014): noise on the threshold alone leaves the order of values in clear."""

    def is_above(self, value):
        return value > self.noisy_threshold


class QueryNoiseReused(Plain):
    """One draw for all questions is noise on the threshold only."""

    def draw_noisy_threshold(self):
        super().draw_noisy_threshold()
        self.noise = self.dice.geometric(self.of_test)

    def is_above(self, value):
        return value + self.noise > self.noisy_threshold


class NoStop(Plain):
    """Answers for ever: every True costs, and their number has no bound."""

    def after_positive(self, value):
        pass


class NoisyValueReleased(Plain):
    """The lecture notes of 2011: where the answer is True the noisy value is shown in its place."""

    def is_above(self, value):
        noisy = value + self.dice.geometric(self.of_test, 0, 3 - value)  # within public ends
        return noisy if noisy > self.noisy_threshold else 0

    def ask(self, value):
        shown = super().ask(value)
        return shown or False


class NoiseForOnePositive(Plain):
    """Lee and Clifton (2014): the noise of a question does not grow with the number of positives."""

    def rates(self, epsilon, positives):
        return super().rates(epsilon, 1)


class ThresholdLoweredByTheValue(Plain):
    """What was seen on a hit, which is private, moves the threshold of all questions behind it."""

    def after_positive(self, value):
        super().after_positive(value)
        self.noisy_threshold -= 3 * value


class ThresholdDrawnOnceNoiseForOneEpoch(Plain):
    """Renewal left out, and each question's noise that of the one epoch that has the whole epsilon."""

    def __init__(self, threshold, *, privacy, dice, max_positives, renew_threshold):
        super().__init__(threshold, privacy=privacy, dice=dice, max_positives=1)
        self.left = max_positives


class WholeEpsilonInEachEpoch(Plain):
    """Renewal, as it must be, but every epoch spends what all together may."""

    def rates(self, epsilon, positives):
        return super().rates(2 * epsilon, positives)


class HalfTheQueryNoise(Plain):
    """Lee and Clifton (2014), Chen and others (2015): a True needs noise for twice the sensitivity."""

    def rates(self, epsilon, positives):
        of_threshold, of_test = super().rates(epsilon, positives)
        return of_threshold, 2 * of_test


class HalfTheSensitivity(Plain):
    """Both noises for half of what a record moves."""

    def rates(self, epsilon, positives):
        return super().rates(2 * epsilon, positives)


class FivePercentTooSmall(Plain):
    """Both noises 5% too small."""

    def rates(self, epsilon, positives):
        return super().rates(epsilon * Fraction(105, 100), positives)


class TwoSidedClampedFromBelow(Plain):
    """Two-sided noise, its negative half moved to 0: from 0 to 1 it falls by more than the ratio."""

    def is_above(self, value):
        gap = self.noisy_threshold - value + 1
        return gap <= 0 or self.dice.discrete_laplace(self.of_test, gap - 1, gap) == gap


class NoNoiseWhenFar(Plain):
    """A value at the threshold or below is answered False without a draw."""

    def is_above(self, value):
        return value > self.threshold and super().is_above(value)


EXCEEDING = [
    ("above_threshold", NoThresholdNoise),
    ("above_threshold", NoQueryNoise),
    ("above_threshold", QueryNoiseReused),
    ("above_threshold", NoStop),
    ("above_threshold", NoisyValueReleased),
    ("above_threshold", HalfTheQueryNoise),
    ("above_threshold", HalfTheSensitivity),
    ("above_threshold", FivePercentTooSmall),
    ("above_threshold", TwoSidedClampedFromBelow),
    ("above_threshold", NoNoiseWhenFar),
    ("sparse_vector", NoThresholdNoise),
    ("sparse_vector", NoQueryNoise),
    ("sparse_vector", QueryNoiseReused),
    ("sparse_vector", NoisyValueReleased),
    ("sparse_vector", NoiseForOnePositive),
    ("sparse_vector", ThresholdLoweredByTheValue),
    ("sparse_vector", HalfTheSensitivity),
    ("sparse_vector_renewed", NoThresholdNoise),
    ("sparse_vector_renewed", NoQueryNoise),
    ("sparse_vector_renewed", ThresholdDrawnOnceNoiseForOneEpoch),
    ("sparse_vector_renewed", WholeEpsilonInEachEpoch),
]


@pytest.mark.parametrize(("name", "wrong"), EXCEEDING, ids=lambda x: getattr(x, "__name__", x))
def test_a_wrong_sparse_vector_exceeds_its_claim(name, wrong):
    found = caught_on_a_witness(name, wrong)
    assert exceed(found), found


@pytest.mark.nightly  # with every change, on a witness
@pytest.mark.parametrize(("name", "wrong"), EXCEEDING, ids=lambda x: getattr(x, "__name__", x))
def test_a_wrong_sparse_vector_exceeds_its_claim_over_the_whole_universe(name, wrong):
    found = caught(name, wrong)
    assert exceed(found), found


class ThresholdDrawnOnce(Plain):
    """Renewal left out, each epoch's noise as it was."""

    def after_positive(self, value):
        self.left -= 1


class BarOffByOne(Plain):
    """At least in place of above: another threshold, which is public."""

    def is_above(self, value):
        return super().is_above(value + 1)


NO_BREACH = [
    ("sparse_vector_renewed", ThresholdDrawnOnce),
    ("sparse_vector", BarOffByOne),
    ("above_threshold", BarOffByOne),
]


@pytest.mark.parametrize("over", [caught_on_a_witness, pytest.param(caught, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("name", "wrong"), NO_BREACH, ids=lambda x: getattr(x, "__name__", x))
def test_a_mistake_that_costs_no_privacy_differs_from_the_frozen_law_and_only_that(name, wrong, over):
    # To leave renewal out saves what the second threshold costs: with noise for epsilon / T it is no breach.
    found = over(name, wrong)
    assert "differs from the frozen distribution" in found
    assert not exceed(found)


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    "spend",
    [
        lambda privacy: ApproxDP(privacy.epsilon * Fraction(105, 100), privacy.delta),
        lambda privacy: ApproxDP(2 * privacy.epsilon),
        lambda privacy: ApproxDP(privacy.epsilon, min(4 * privacy.delta, Fraction(1, 2))),
    ],
    ids=["5% too much epsilon", "all of epsilon in each epoch", "four times delta"],
)
def test_epochs_that_compose_to_more_than_the_claim_exceed_it(spend):
    def careless(threshold, *, privacy, **parameters):
        return SparseVector(threshold, privacy=spend(privacy), **parameters)

    case = CASES["sparse_vector_composed"]
    assert not case.with_fit(MECHANISM_FITS[case.name](careless)).run().keeps(case.claim)


def numpys(mechanism):
    rng = np.random.RandomState(0)

    class Careless(Plain):
        def draw_noisy_threshold(self):
            self.noisy_threshold = self.threshold + int(rng.geometric(1 - float(self.of_threshold))) - 1

    return Careless


@pytest.mark.parametrize("name", CASE_OF)
def test_noise_that_does_not_come_from_the_dice_is_caught(name):
    assert any("does not come from the dice" in way for way in caught(name, numpys(Plain)))


def test_every_sparse_vector_of_the_package_is_here():
    vectors = {
        name for name, member in vars(mechanisms).items() if name in ("AboveThreshold", "SparseVector")
    }
    assert {CASE_OF[name].mechanism.__name__ for name in CASE_OF} == vectors
    assert {name for name, _ in EXCEEDING} == set(CASE_OF)
