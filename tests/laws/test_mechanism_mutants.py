"""Deliberate mistakes in the mechanisms: of counts and scores, stability, sparse vectors, interior points.

The list of wrong sparse vectors is that of Lyu, Su and Li (2017), "Understanding the sparse vector
technique", and what else has been published or proposed: each is one change to the plain version.
"""

import copy
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil, log

import numpy as np
import pytest

from dplearn import mechanisms
from dplearn.audit.cases import CASES
from dplearn.audit.cases.mechanisms import MECHANISM_FITS
from dplearn.audit.replay import RULES
from dplearn.kernels.distributions import laplace_quantile
from dplearn.kernels.exact import decay_ratio, exp_bounds, selection_ratio
from dplearn.kernels.votes import plurality
from dplearn.mechanisms import (
    SparseVector,
    choosing,
    choosing_mechanism,
    gaussian_counts,
    interior_point,
    laplace_counts,
    release_if_stable,
    report_noisy_max,
    stable_answers,
    stable_histogram,
)
from dplearn.mechanisms.noisy_max import costs_of_candidates, epsilon_candidates
from dplearn.mechanisms.selection import select_exponential
from dplearn.mechanisms.sparse_vector import Questions
from dplearn.mechanisms.stable_answers import StableAnswers
from dplearn.privacy import ApproxDP, OneTimeState
from dplearn.privacy.stable_answers import stable_answers_noise
from dplearn.theory import choosing_threshold, stable_histogram_threshold, truth_probability
from tests.laws.conftest import OnePair
from tests.laws.mutants import (
    CERTAIN,
    EXCEEDS,
    LAW,
    NO_DICE,
    REPLAY,
    Mistake,
    assert_caught,
    instead,
    instead_of_the_fit,
    mistakes,
    of_two,
    original,
    with_epsilon,
)

TWICE, FIVE_PERCENT = 2, Fraction(105, 100)  # half of the sensitivity; noise that is 5% too small
NOISY, SHORT = Fraction(1, 1 << 10), Fraction(1, 1 << 8)  # deltas that pay for what short tapes leave out


def vectors(questions, epsilon, tail_bits):
    return {
        "universe": list(product((0, 1), repeat=questions)),
        "claim": ApproxDP(epsilon, SHORT),
        "tail_bits": tail_bits,
    }


#: What mutants are run over: smaller cases of the mechanisms.
SMALL = {
    name: replace(CASES[name], **changes)
    for name, changes in {
        "exponential_mechanism": {"n": 3},
        "permute_and_flip": {"n": 2},
        "report_noisy_max": {"n": 1, "claim": ApproxDP(2, NOISY), "tail_bits": 15},
        "laplace_counts": {"n": 2},
        "gaussian_counts": {},
        "gaussian_sums": {},
        "gaussian_sums_narrow": {},
        "gaussian_sums_by_shares": {},
        "choosing_mechanism": {},
        "most_frequent_if_stable": {"n": 12},
        "stable_histogram": {},
        "randomized_response": {},
        "sanitized_noisy_max_epsilon": {"n": 6},
        "above_threshold": vectors(4, 3, 14),
        "sparse_vector": vectors(3, 3, 14),
        "sparse_vector_renewed": vectors(3, 4, 15),
        "sparse_vector_composed": {},
    }.items()
}
ORDERED = replace(CASES["stable_histogram"], n=4, ordered=True)


def test_every_mechanism_case_has_mutants_here_or_in_the_file_of_its_kind():
    elsewhere = {"consistent_parity", "consistent_parity_of_one_bit", "consistent_parity_of_three_bits"}
    assert MECHANISM_FITS.keys() - elsewhere - {"stable_answers"} == SMALL.keys()
    assert {row.case.name for row in [*COUNTS, *VECTORS]} == SMALL.keys()


# Selection


def noisy_max(noise_of, choose=None):
    def select(qualities, *, privacy, dice):
        noisy = qualities + noise_of(selection_ratio(privacy.epsilon), qualities, dice)
        return int(np.argmax(noisy)) if choose is None else choose(noisy, qualities)

    return select


def of_one_draw(ratio, qualities, dice):
    return np.array([dice.geometric(ratio)] * qualities.size)


def fresh(ratio, qualities, dice):
    return dice.geometric(ratio, size=qualities.size)


def clamped_laplace(ratio, qualities, dice):
    return np.maximum(dice.discrete_laplace(ratio, 0, None, size=qualities.size), 0)


def ties_by_data(noisy, qualities):
    best = np.flatnonzero(noisy == noisy.max())
    return int(best[np.argmax(qualities[best])])


def best_of_all(qualities, *, privacy, dice):
    return int(np.argmax(qualities))


# Counts


def one_draw(counts, *, privacy, dice, sensitivity, low, high):
    noise = dice.discrete_laplace(decay_ratio(privacy.epsilon / sensitivity), -high, high)
    return np.clip(counts + noise, low, high)


def none_for_zeros(mechanism, counts, **parameters):
    return np.where(counts > 0, mechanism(counts, **parameters), 0)


def ends_from_data(counts, *, low, high, **parameters):
    return laplace_counts(counts, low=int(counts.min()), high=int(counts.max()), **parameters)


def clamped_noise(counts, *, privacy, dice, sensitivity, low, high):
    """The noise is moved to public ends, and not its sum with the counts."""
    ratio = decay_ratio(privacy.epsilon / sensitivity)
    return counts + dice.discrete_laplace(ratio, low - high, high - low, size=counts.size)


def raw_where_large(counts, **parameters):
    return np.where(counts == counts.sum(), counts, laplace_counts(counts, **parameters))


def gaussian(sigma2_of, reuse=False, far=1 << 40):
    def count(counts, *, privacy, dice, squared_sensitivity):
        sigma2 = sigma2_of(squared_sensitivity / (2 * privacy.rho))
        noise = dice.discrete_gaussian(sigma2, size=1 if reuse else counts.size)
        return counts + noise.clip(-far, far)

    return count


def sums(sigma2_of=lambda sigma2: sigma2, budget_of=lambda budget: budget, slack=4, reuse=False):
    def add(sums, *, privacy, dice, squared_sensitivity):
        sigma2 = sigma2_of(squared_sensitivity / (2 * Fraction(budget_of(privacy.budget)))) + slack
        return sums + dice.discrete_gaussian(sigma2, size=1 if reuse else sums.size)

    return add


# Choosing and stability


def choosing_by(
    bar_of=choosing_threshold, noise=True, select_epsilon=Fraction(1, 2), ratio_of=Fraction(1, 4)
):
    def choose(qualities, *, growth, privacy, dice):
        threshold, best = bar_of(growth, privacy), int(qualities.max(initial=0))
        gap = threshold - best
        ratio = decay_ratio(privacy.epsilon * ratio_of)
        passed = dice.discrete_laplace(ratio, gap - 1, gap) == gap if noise else gap <= 0
        if not passed or not best:
            return None
        spent = ApproxDP(privacy.epsilon * select_epsilon)
        return mechanisms.exponential_mechanism(qualities, privacy=spent, dice=dice)

    return choose


def choosing_surely_when_far(qualities, *, growth, privacy, dice):
    best = int(qualities.max(initial=0))
    if abs(best - choosing_threshold(growth, privacy)) > 2:
        return int(np.argmax(qualities)) if best > choosing_threshold(growth, privacy) else None
    return choosing_mechanism(qualities, growth=growth, privacy=privacy, dice=dice)


def gap_less_one(votes, n_labels):
    """The distance of the paper: it moves by 2 with one vote."""
    counts = np.bincount(votes[votes >= 0], minlength=n_labels)
    second, top = sorted(counts.tolist())[-2:]
    return int(counts.argmax()), max(0, top - second - 1)


def of_votes(votes, n_labels):
    winner, distance = plurality(np.bincount(votes[votes >= 0], minlength=n_labels))
    return int(winner), int(distance)


def stable(distance_of=of_votes, further=0):
    def release(votes, n_labels, *, privacy, dice):
        winner, distance = distance_of(votes, n_labels)
        return release_if_stable(winner, max(0, distance + further), privacy=privacy, dice=dice)

    return release


def stable_by_laplace(bar_of, far=None, distance_of=of_votes):
    def release(votes, n_labels, *, privacy, dice):
        winner, distance = distance_of(votes, n_labels)
        ratio, gap = decay_ratio(privacy.epsilon), bar_of(privacy) - distance
        if far is not None and abs(gap) >= far:
            return winner if gap <= 0 else None
        return winner if dice.discrete_laplace(ratio, gap - 1, gap) == gap else None

    return release


def continuous_bar(privacy):
    return ceil(log(1 / (2 * privacy.delta)) / privacy.epsilon)


def exact_bar(privacy):
    return laplace_quantile(decay_ratio(privacy.epsilon), privacy.delta)


# Histograms and responses


def histogram(scale=2, lower=0, order=sorted, far=None):
    def publish(keys, *, privacy, dice):
        ratio, threshold, n = (
            decay_ratio(privacy.epsilon / scale),
            stable_histogram_threshold(privacy) - lower,
            len(keys),
        )
        shown = {}
        for key, count in order(Counter(keys).items()):
            ends = (min(threshold - 1, n) - count, n - count) if far is None else (-far, far)
            noisy = count + dice.discrete_laplace(ratio, *ends)
            if noisy >= threshold:
                shown[key] = noisy
        return shown

    return publish


def declared_noise(keys, *, privacy, dice):
    """Only counts that reach the threshold as they are get published: what is rare is cut without noise."""
    counts, threshold = Counter(keys), stable_histogram_threshold(privacy)
    kept = [key for key in keys if counts[key] >= threshold]
    return stable_histogram(kept, privacy=privacy, dice=dice) if kept else {}


def response(truth_of=truth_probability, first_shift=1, reuse=False):
    def respond(values, n_values, *, privacy, dice):
        codes, p = np.asarray(values), truth_of(n_values, privacy.epsilon)
        size = 1 if reuse else codes.size
        truthful = dice.bernoulli(p, size=size)
        shift = first_shift + dice.below(n_values - first_shift, size=size)
        return np.where(truthful == 1, codes, (codes + shift) % n_values)

    return respond


def off_by(more):
    def truth(n_values, epsilon):
        inverse = decay_ratio(Fraction(epsilon))
        return 1 / (1 + (n_values - 1 + more) * inverse)

    return truth


def bound_of_epsilon(costs_of):
    def release(counts, *, privacy, dice, **public):
        candidates = epsilon_candidates(
            n_queries=len(counts), n_labels=2, epsilon=privacy.epsilon, beta=0.05, **public
        )
        costs = costs_of(costs_of_candidates(candidates, np.abs(counts[:, 0] - counts[:, 1])))
        place = dice.power_weighted(selection_ratio(privacy.epsilon), costs, [1] * len(costs))
        return candidates.values[place]

    return release


def wrong(name, pair, *rows, case=None):
    """The mistakes in a mechanism that show on two neighbours: titles, what is run, and how it shows."""
    case = case or SMALL[name]
    return [
        Mistake(
            instead_of_the_fit(title.replace(" ", "_"), MECHANISM_FITS[name](mechanism)), case, pair, *way
        )
        for title, mechanism, *way in rows
    ]


def spent(name, factor):
    return with_epsilon(getattr(mechanisms, name), factor)


HALF, FIVE = "half the sensitivity", "noise 5% too small"
NEAR = (0, 0), (0, 1)
GAP = ((0, 0),) * 4 + ((0, 1),) * 6
FEW_KEYS, RARE = (("",) * 3 + ("a",) * 3, ("",) * 4 + ("a",) * 2), (("",) * 5 + ("a",), ("",) * 6)
TIED, VOTED = ((-1,) * 10 + (1, 1), (-1,) * 10 + (0, 1)), ((-1,) * 6 + (0,) * 6, (-1,) * 7 + (0,) * 5)
NEW, APART = (
    (((0, 0),) * 9 + ((0, 1),), ((0, 0),) * 10),
    tuple(((0, 1), (x, 1 - x)) + ((1, 1),) * 8 for x in (1, 0)),
)
COUNTS = [
    *wrong(
        "exponential_mechanism",
        (((0, 0, 1), (1, 1, 0), (1, 1, 0)), ((1, 1, 0), (1, 1, 0), (1, 1, 0))),
        (HALF, spent("exponential_mechanism", TWICE)),
        (FIVE, spent("exponential_mechanism", FIVE_PERCENT), LAW),
    ),
    *wrong(
        "exponential_mechanism",
        (((0, 0, 0), (0, 0, 0), (0, 0, 0)), ((0, 0, 0), (0, 0, 0), (0, 0, 1))),
        ("the best itself", best_of_all),
    ),
    *wrong(
        "permute_and_flip",
        (((0, 0, 1), (0, 1, 0)), ((1, 1, 0), (0, 1, 0))),
        (HALF, spent("permute_and_flip", TWICE)),
        (FIVE, spent("permute_and_flip", FIVE_PERCENT)),
    ),
    *wrong(
        "report_noisy_max",
        (((0, 1),), ((1, 0),)),
        (HALF, with_epsilon(report_noisy_max, TWICE)),
        (FIVE, with_epsilon(report_noisy_max, FIVE_PERCENT)),
        ("one draw reused for all", noisy_max(of_one_draw)),
        ("two-sided noise clamped from below", noisy_max(clamped_laplace)),
        ("the best itself", best_of_all),
        ("ties by data", noisy_max(fresh, choose=ties_by_data), LAW),
    ),
    *wrong(
        "report_noisy_max",
        (((0, 0),), ((0, 1),)),
        ("the noisy value returned", noisy_max(fresh, choose=lambda noisy, _: int(noisy.max()))),
    ),
    *wrong(
        "laplace_counts",
        NEAR,
        (HALF, with_epsilon(laplace_counts, TWICE)),
        (FIVE, with_epsilon(laplace_counts, FIVE_PERCENT)),
        ("one draw reused for all", one_draw),
        ("no noise for zero counts", partial(none_for_zeros, laplace_counts)),
        ("ends from data", ends_from_data),
        ("ends of the noise", clamped_noise),
        ("no noise where all records agree", raw_where_large),
    ),
    *wrong(
        "gaussian_counts",
        NEAR,
        ("half the squared sensitivity", gaussian(lambda sigma2: sigma2 / 2)),
        ("sigma in place of sigma2", gaussian(lambda sigma2: Fraction(float(sigma2) ** 0.5))),
        ("one draw reused for all", gaussian(lambda sigma2: sigma2, reuse=True)),
        ("ends of the noise", gaussian(lambda sigma2: sigma2, far=2)),
        ("no noise for zero counts", partial(none_for_zeros, gaussian_counts)),
        (FIVE, gaussian(lambda sigma2: sigma2 * Fraction(95, 100)), LAW),
    ),
    *wrong(
        "gaussian_sums",
        NEAR,
        ("half the squared sensitivity", sums(lambda sigma2: sigma2 / 2)),
        ("one draw reused for all", sums(reuse=True)),
        ("a tenth of the deviation is missing", sums(lambda sigma2: sigma2 * Fraction(81, 100))),
        ("no additional variance on a fine grid", sums(slack=0), LAW),
    ),
    *wrong("gaussian_sums_narrow", NEAR, ("no additional variance", sums(slack=0))),
    *wrong(
        "gaussian_sums_by_shares",
        NEAR,
        ("roots of shares", sums(budget_of=lambda budget: float(budget) ** 0.5)),
    ),
    *wrong(
        "choosing_mechanism",
        (((0, 0), *GAP[:-1]), GAP),
        ("no noise in the test", choosing_by(noise=False)),
        (FIVE, choosing_by(ratio_of=Fraction(105, 400)), LAW),
    ),
    *wrong(
        "choosing_mechanism",
        (((0, 0),) * 6 + ((0, 1),) * 4, ((0, 0),) * 7 + ((0, 1),) * 3),
        ("no noise when far from the threshold", choosing_surely_when_far),
    ),
    *wrong(
        "choosing_mechanism",
        NEW,
        ("no threshold", choosing_by(bar_of=lambda growth, privacy: 0)),
        ("the threshold off by one", choosing_by(bar_of=lambda *public: choosing_threshold(*public) - 1)),
    ),
    *wrong(
        "choosing_mechanism",
        APART,
        ("selection at four times its epsilon", choosing_by(select_epsilon=2)),
        (HALF, choosing_by(select_epsilon=1), LAW),
    ),
    *wrong(
        "most_frequent_if_stable",
        TIED,
        ("the gap less one", stable(gap_less_one)),
        ("the distance off by one", stable(further=1)),
        ("the threshold of continuous noise", stable_by_laplace(continuous_bar)),
        ("the threshold off by one", stable_by_laplace(lambda privacy: exact_bar(privacy) - 1)),
    ),
    *wrong(
        "most_frequent_if_stable",
        VOTED,
        ("no noise when far from the threshold", stable_by_laplace(exact_bar, far=3)),
        (HALF, spent("most_frequent_if_stable", TWICE)),
        (FIVE, spent("most_frequent_if_stable", FIVE_PERCENT)),
    ),
    *wrong(
        "stable_histogram",
        FEW_KEYS,
        (HALF, histogram(scale=1)),
        ("cut without noise", declared_noise),
        ("ends of the noise", histogram(far=2)),
        (FIVE, histogram(scale=Fraction(190, 100)), LAW),
    ),
    *wrong(
        "stable_histogram",
        RARE,
        ("the threshold off by one", histogram(lower=1)),
        ("no threshold", histogram(lower=3)),
    ),
    *wrong(
        "stable_histogram",
        (("a", "", "", "a"), ("b", "", "", "a")),
        ("keys in data order", histogram(order=list), LAW),
        case=ORDERED,
    ),
    *wrong(
        "randomized_response",
        ((0, 0), (1, 0)),
        (FIVE, spent("randomized_response", FIVE_PERCENT)),
        (HALF, spent("randomized_response", TWICE)),
        ("a shift that may be 0", response(first_shift=0)),
        ("truth with e^eps / (e^eps + k - 2)", response(off_by(-1))),
        ("truth with e^eps / (e^eps + k)", response(off_by(1)), LAW),
        ("the values themselves", lambda values, n_values, *, privacy, dice: np.asarray(values)),
        ("one draw reused for all", response(reuse=True), LAW),
    ),
    *wrong(
        "sanitized_noisy_max_epsilon",
        (((1, 1), (0, 0)) + ((0, 1),) * 4, ((0, 0), (0, 0)) + ((0, 1),) * 4),
        (HALF, spent("sanitized_noisy_max_epsilon", TWICE)),
        ("squares of costs", bound_of_epsilon(lambda costs: [cost**2 for cost in costs])),
        ("the least bound that withstands", bound_of_epsilon(lambda costs: [9 * cost for cost in costs])),
        (FIVE, spent("sanitized_noisy_max_epsilon", FIVE_PERCENT), LAW),
    ),
]


def exact_delta(case, epsilon):
    """The greatest delta at epsilon over all neighbours, rounded up."""
    factor, worst = exp_bounds(Fraction(epsilon))[0], Fraction(0)
    for rows, distribution in case.distributions.items():
        for i, other in product(range(case.n), range(len(case.universe))):
            there = case.distributions[tuple(sorted((*rows[:i], other, *rows[i + 1 :])))]
            excess = (
                distribution.probability(seen) - factor * there.probability(seen)
                for seen in distribution.masses
            )
            worst = max(worst, sum(max(0, more) for more in excess))
    return worst


@pytest.mark.parametrize(
    ("release", "delta"),
    [(stable(gap_less_one), "0.449"), (stable_by_laplace(exact_bar, distance_of=gap_less_one), "0.462")],
    ids=["the greatest probabilities", "discrete Laplace"],
)
def test_the_gap_less_one_has_a_delta_of_almost_one_half_where_one_hundredth_was_promised(release, delta):
    case = replace(CASES["most_frequent_if_stable"], universe=range(2), n=10)
    assert f"{float(exact_delta(case.with_fit(MECHANISM_FITS[case.name](release)), 1)):.3f}" == delta
    assert exact_delta(case, 1) <= Fraction(1, 100)


# Sparse vectors


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


class ThresholdDrawnOnce(Plain):
    """Renewal left out, each epoch's noise as it was."""

    def after_positive(self, value):
        self.left -= 1


class BarOffByOne(Plain):
    """At least in place of above: another threshold, which is public."""

    def is_above(self, value):
        return super().is_above(value + 1)


def numpys(mechanism):
    rng = np.random.RandomState(0)

    class Careless(Plain):
        def draw_noisy_threshold(self):
            self.noisy_threshold = self.threshold + int(rng.geometric(1 - float(self.of_threshold))) - 1

    return Careless


FIRST_ONE, SECOND_ONE, CROSSED = (
    (((0, 0, 0, 0),), ((0, 0, 0, 1),)),
    (((0, 0, 0, 0),), ((0, 0, 1, 0),)),
    (((0, 1, 0, 0),), ((1, 0, 0, 0),)),
)
ONE_OF_THREE, ALL_OF_THREE = (((0, 0, 0),), ((0, 0, 1),)), (((1, 0, 1),), ((0, 1, 0),))


def wrong_vectors(name, pair, *kinds, way=EXCEEDS):
    return wrong(name, pair, *((kind.__name__, kind, way) for kind in kinds))


def composed(title, spend):
    def careless(threshold, *, privacy, **parameters):
        return SparseVector(threshold, privacy=spend(privacy), **parameters)

    return wrong("sparse_vector_composed", COMPOSED, (title, careless))


COMPOSED = tuple((CASES["sparse_vector_composed"].universe[place],) for place in (1, 2))
VECTORS = [
    *wrong_vectors(
        "above_threshold", FIRST_ONE, NoThresholdNoise, NoQueryNoise, QueryNoiseReused, NoStop, NoNoiseWhenFar
    ),
    *wrong_vectors("above_threshold", SECOND_ONE, NoisyValueReleased, HalfTheSensitivity),
    *wrong_vectors(
        "above_threshold", CROSSED, HalfTheQueryNoise, FivePercentTooSmall, TwoSidedClampedFromBelow
    ),
    *wrong_vectors(
        "sparse_vector", ONE_OF_THREE, NoThresholdNoise, NoQueryNoise, QueryNoiseReused, NoisyValueReleased
    ),
    *wrong_vectors(
        "sparse_vector", ALL_OF_THREE, NoiseForOnePositive, ThresholdLoweredByTheValue, HalfTheSensitivity
    ),
    *wrong_vectors("sparse_vector_renewed", ONE_OF_THREE, NoThresholdNoise, NoQueryNoise),
    *wrong_vectors(
        "sparse_vector_renewed", ALL_OF_THREE, ThresholdDrawnOnceNoiseForOneEpoch, WholeEpsilonInEachEpoch
    ),
    # Of the second the claim is kept: to leave renewal out saves what the second threshold costs.
    *wrong_vectors("sparse_vector", ONE_OF_THREE, BarOffByOne, way=LAW),
    *wrong_vectors("sparse_vector_renewed", ONE_OF_THREE, ThresholdDrawnOnce, way=LAW),
    *wrong_vectors("above_threshold", FIRST_ONE, numpys(Plain), way=NO_DICE),
    *composed("5% too much", lambda privacy: ApproxDP(privacy.epsilon * FIVE_PERCENT, privacy.delta)),
    *composed("all in each", lambda privacy: ApproxDP(2 * privacy.epsilon)),
    *composed(
        "four deltas", lambda privacy: ApproxDP(privacy.epsilon, min(4 * privacy.delta, Fraction(1, 2)))
    ),
]


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("above_threshold", CROSSED),
        ("sparse_vector", ALL_OF_THREE),
        pytest.param("sparse_vector_renewed", ONE_OF_THREE, marks=pytest.mark.nightly),
    ],
)
def test_the_plain_version_has_the_same_law_and_a_bar_that_is_not_renewed_costs_nothing(name, pair):
    case = SMALL[name]
    plain = OnePair.of(case.with_fit(MECHANISM_FITS[name](Plain)), pair)
    assert plain.digest() == original(case, pair).digest()
    for kind in (BarOffByOne, *([ThresholdDrawnOnce] if "renewed" in name else [])):
        assert OnePair.of(case.with_fit(MECHANISM_FITS[name](kind)), pair).run().keeps(case.claim)


# Stable answers

PROMISED = ApproxDP(2, Fraction(1, 1000))


def answered(max_abstentions, pair, *, twice=False, tail_bits=22):
    """Answer some queries, and if asked `twice` let a copy answer them before."""

    def run(queries, dice):
        release = StableAnswers(max_abstentions=max_abstentions, privacy=PROMISED, dice=dice, n_queries=2)
        asked = [copy.deepcopy(release), release] if twice else [release]
        return ["stopped" if each.stopped else each.answer(*queries).tolist() for each in asked]

    claim = ApproxDP(
        2, PROMISED.delta + Fraction(1, 1 << min(20, tail_bits - 4))
    )  # with what a tape leaves out
    return of_two(f"stable_answers {max_abstentions} {twice}", run, pair, claim, tail_bits=tail_bits)


def queries(*distances, answers=None):
    return (answers or (0,) * len(distances), distances)


def questions_of(title, kind=None, noise_of=lambda noise: noise, **changes):
    """Return `stability_questions` with another kind of sparse vector, or other noise, or other state."""
    real = stable_answers.stability_questions

    def questions(noise, dice):
        made = replace(real(noise_of(noise), dice), **changes)
        return made if kind is None else kind(**vars(made))

    return instead(stable_answers, "stability_questions", questions, title)


class NoiseOnceForAll(Questions):
    """One draw for all queries of a batch is noise on the threshold only."""

    def compare(self, noisy_threshold, values):
        return self.dice.geometric(self.of_test) > noisy_threshold - values


class NoNoiseOnTheThreshold(Questions):
    def noisy_threshold(self):
        return self.threshold


class NoNoiseWhenFar(Questions):
    """A query far above the threshold is answered without a draw."""

    def compare(self, noisy_threshold, values):
        return super().compare(noisy_threshold, values) & (values > self.threshold - 2)


def with_state_of_its_own(release, memo):
    twin = copy.copy(release)
    with release._one_time_state.use() as state:
        twin._one_time_state = OneTimeState(replace(state))
    return twin


def noise_for(unstable, renew=None):
    return lambda noise: replace(
        stable_answers_noise(PROMISED, unstable, n_queries=2, renew_threshold=renew),
        max_abstentions=noise.max_abstentions,
    )


UP_AND_DOWN = queries(7, 7, 7, 7), queries(6, 6, 8, 8)
ANSWERS = [
    Mistake(questions_of("T_+_1_unanswered", epoch=(2, None)), *answered(1, UP_AND_DOWN)),
    Mistake(
        questions_of("once_for_all", NoiseOnceForAll),
        *answered(1, (queries(7, 6), queries(6, 7))),
        CERTAIN,
        late=True,
    ),
    Mistake(
        questions_of("no_threshold_noise", NoNoiseOnTheThreshold),
        *answered(1, (queries(7), queries(6))),
        CERTAIN,
    ),
    Mistake(
        questions_of("no_noise_when_far", NoNoiseWhenFar), *answered(1, (queries(8), queries(9))), CERTAIN
    ),
    Mistake(
        questions_of("off_by_one", noise_of=lambda noise: replace(noise, threshold=noise.threshold - 1)),
        *answered(1, (queries(0, answers=(0,)), queries(0, answers=(1,)))),
        CERTAIN,
    ),
    Mistake(questions_of("noise_for_one", noise_of=noise_for(1)), *answered(2, UP_AND_DOWN), late=True),
    Mistake(  # copies share one holder, which its own tests see with every change
        lambda monkeypatch: monkeypatch.setattr(
            StableAnswers, "__deepcopy__", with_state_of_its_own, raising=False
        ),
        *answered(1, (queries(7, 7), queries(6, 8)), twice=True, tail_bits=14),
        late=True,
    ),
]


# Interior points


def weights_of_the_whole_epsilon(costs, multiplicities, *, privacy, dice):
    """A code's weight is exp(epsilon depth): right only if the sum of the weights never moved."""
    return select_exponential(costs, multiplicities, privacy=ApproxDP(2 * privacy.epsilon), dice=dice)


POINT, SIZE = interior_point.interior_point_code, interior_point._interior_point


def ends_of_the_data(codes, size, *, privacy, dice):
    """The domain ends where the data do."""
    return POINT(codes, min(size, max(codes) + 1), privacy=privacy, dice=dice)


def sorted_pairs(codes, dice):
    """Each record is paired with the next: one that moves shifts all those between."""
    return list(zip(codes[::2], codes[1::2], strict=True))


def pairs_keyed_by_values(codes, dice):
    """A permutation that the values determine is no secret, and one record upsets it."""
    return sorted_pairs(sorted(codes, key=lambda code: (5 * code + 3) % 8), dice)


def chosen_without_test(codes, n_bits, length, *, privacy, dice):
    """The exponential mechanism over the prefixes that some record has, and no threshold."""
    found = sorted({code >> (n_bits - length) for code in codes})
    costs = [-sum(code >> (n_bits - length) == prefix for code in codes) for prefix in found]
    return found[select_exponential(costs, [1] * len(found), privacy=privacy, dice=dice)[0]]


def point_for_twice_as_much(codes, size, *, privacy, dice):
    """The innermost call spends twice what it is told."""
    return POINT(codes, size, privacy=ApproxDP(2 * privacy.epsilon), dice=dice)


def all_prefixes(codes, n_bits, length, *, privacy, dice):
    """Prefixes that no record has are candidates too, each count raised by one."""
    counts = [1 + sum(code >> (n_bits - length) == prefix for code in codes) for prefix in range(1 << length)]
    return choosing.choosing_mechanism(np.array(counts), privacy=privacy, dice=dice)


def prefixes_of_any_length(codes, n_bits, length, *, privacy, dice):
    """A record supports as many prefixes as it has bits, and growth is said to be 1."""
    found = Counter((bits, code >> (n_bits - bits)) for code in codes for bits in range(1, length + 1))
    place = choosing.choosing_mechanism(np.array(list(found.values())), privacy=privacy, dice=dice)
    if place is None:
        return None
    bits, prefix = list(found)[place]
    return prefix << (length - bits)


def domain_of_the_data(codes, size, depth, sizes, dice):
    """Codes have as many bits as the greatest of the data."""
    return SIZE(codes, max(codes) + 1 if codes else size, depth, sizes, dice)


class NoiseReused:
    """Dice whose noise of one ratio is drawn once, between public ends, and used for all comparisons."""

    def __init__(self, dice, reused):
        self.below, self.power_weighted = dice.below, dice.power_weighted
        self._dice, self._reused, self._drawn = dice, reused, None

    def discrete_laplace(self, ratio, low, high):
        if ratio != self._reused:
            return self._dice.discrete_laplace(ratio, low, high)
        if self._drawn is None:
            self._drawn = self._dice.discrete_laplace(ratio, -4, 4)
        return min(max(self._drawn, low), high)


def noise_that_both_comparisons_share(rows, dice):
    return CASES["interior_point_recursive_twice"].fit(rows, NoiseReused(dice, decay_ratio(Fraction(24))))


def one_lower(growth, privacy):
    return choosing_threshold(growth, privacy) - 1


def in_points(name, wrong, case, pair, way=EXCEEDS, place=interior_point):
    case = CASES[f"interior_point_{case}"]
    case = replace(case, rules=RULES) if way == REPLAY else case
    return Mistake(instead(place, name, wrong), case, pair, way)


HALVES, LONG = (0,) * 7 + (2,) * 7, CASES["interior_point_long_lengths"].universe[2]
OF_HALVES, RISING = (HALVES, (*HALVES[:-1], 6)), ((0, 2, 2, 7, 7, 7), (0, 2, 2, 7, 7, 2))
#: Neighbours with records on both sides of the one that moves, and more of either prefix.
IN_PLACE, ONE_MORE = ((0, 0, 0, 2, 7, 7), (0, 0, 2, 2, 7, 7)), ((7,) * 6, (2, *(7,) * 5))
INTERIOR = [
    in_points("select_exponential", weights_of_the_whole_epsilon, "exponential", ((0, 0, 1), (0, 79, 1))),
    in_points("interior_point_code", ends_of_the_data, "lengths", ((0, 0, 1, 3, 4), (0, 4, 1, 3, 4))),
    in_points("_random_pairs", sorted_pairs, "lengths", ((0, 0, 1, 1, 4), (0, 4, 1, 1, 4))),
    in_points("_random_pairs", pairs_keyed_by_values, "lengths", ((0, 0, 1, 1, 4), (0, 0, 4, 1, 4))),
    in_points(
        "interior_point_code",
        point_for_twice_as_much,
        "long_lengths",
        ((0,) * 4 + (LONG,), (0,) * 3 + (LONG,) * 2),
    ),
    in_points("choosing_threshold", one_lower, "prefixes", OF_HALVES, place=choosing),
    in_points("choosing_threshold", one_lower, "recursive", ONE_MORE, place=choosing),
    in_points("choose_prefix", chosen_without_test, "recursive", ((0, 0, 0, 7, 7, 7), (0, 0, 2, 7, 7, 7))),
    in_points("interior_point_code", point_for_twice_as_much, "recursive", ((7,) * 6, (0, *(7,) * 5))),
    # These break the proof, though no claim over so few records.
    in_points("choose_prefix", all_prefixes, "recursive", RISING, LAW),
    in_points("choose_prefix", prefixes_of_any_length, "recursive", RISING, LAW),
    in_points("_interior_point", domain_of_the_data, "recursive", RISING, LAW),
    in_points("_random_pairs", sorted_pairs, "recursive", RISING, LAW),
    Mistake(
        instead_of_the_fit("shared_noise", noise_that_both_comparisons_share),
        "interior_point_recursive_twice",
        ((0, 1, 4, 7), (0, 1, 4, 4)),
        LAW,
    ),
    in_points("interior_point_code", ends_of_the_data, "recursive", IN_PLACE, REPLAY),
    in_points("_interior_point", domain_of_the_data, "recursive", IN_PLACE, REPLAY),
]


@mistakes([*COUNTS, *VECTORS, *ANSWERS, *INTERIOR])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)
