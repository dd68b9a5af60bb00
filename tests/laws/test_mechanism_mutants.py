"""Deliberate mistakes in the mechanisms: of counts and scores, stability, sparse vectors, interior points.

The list of wrong sparse vectors is that of Lyu, Su and Li (2017), "Understanding the sparse vector
technique", and what else has been published or proposed. Mistakes in what the dice draw, of which half of the
noise is one, are in test_draw_mutants.
"""

import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dplearn import mechanisms
from dplearn.audit import RULES
from dplearn.audit.cases import CASES, MECHANISM_FITS
from dplearn.kernels import decay_ratio, exp_bounds, laplace_quantile
from dplearn.mechanisms import (
    Questions,
    choosing,
    gaussian_counts,
    interior_point,
    interior_point_code,
    laplace_counts,
    noisy_counts,
    release_if_stable,
    select_exponential,
    sparse_vector,
    stability,
    stable_answers,
)
from dplearn.privacy import ApproxDP
from dplearn.theory import stable_histogram_threshold
from tests.laws.mutants import (
    NO_DICE,
    REPLAY,
    Mistake,
    around,
    assert_caught,
    in_places,
    instead,
    instead_of_the_fit,
    mistakes,
    with_epsilon,
)
from tests.laws.test_draw_mutants import MECHANISMS, in_draws

# The package has functions of these names.
HISTOGRAM = sys.modules["dplearn.mechanisms.stable_histogram"]
RESPONSE = sys.modules["dplearn.mechanisms.randomized_response"]
ORDERED = replace(CASES["stable_histogram"], n=4, ordered=True)


def in_its_place(case, *mechanisms_of):
    """Other mechanisms in the place of a case's own."""
    made = MECHANISM_FITS[case.name]
    return [Mistake(instead_of_the_fit(each.__name__, made(each)), case) for each in mechanisms_of]


def spending(name, factor):
    """More of epsilon than is said: 2 is half of the sensitivity, 21/20 noise that is 5% too small."""
    [mechanism, *_] = CASES[name].verifies
    made = MECHANISM_FITS[name](with_epsilon(getattr(mechanisms, mechanism), factor))
    return Mistake(instead_of_the_fit(f"{factor}_epsilon", made), MECHANISMS[name])


# Counts, scores and keys


def laplace_none_for_zeros(counts, **how):
    return np.where(counts > 0, laplace_counts(counts, **how), 0)


def gaussian_none_for_zeros(counts, **how):
    return np.where(counts > 0, gaussian_counts(counts, **how), 0)


def ends_from_data(counts, *, low, high, **how):
    return laplace_counts(counts, low=int(counts.min()), high=int(counts.max()), **how)


def raw_where_all_agree(counts, **how):
    return np.where(counts == counts.sum(), counts, laplace_counts(counts, **how))


def cut_without_noise(keys, *, privacy, dice):
    """Only counts that reach the threshold as they are get published."""
    counts, threshold = Counter(keys), stable_histogram_threshold(privacy)
    kept = [key for key in keys if counts[key] >= threshold]
    return mechanisms.stable_histogram(kept, privacy=privacy, dice=dice) if kept else {}


def keys_in_data_order(keys, **how):
    found = mechanisms.stable_histogram(keys, **how)
    return {key: found[key] for key in dict.fromkeys(keys) if key in found}


def less(by):
    """A bar, a sum or a threshold that is too low."""
    return lambda right, *known: right(*known) - by


def truth_of(more):
    """The chance of the truth as if there were more values, or fewer."""
    return lambda _, n_values, epsilon: 1 / (1 + (n_values - 1 + more) * decay_ratio(Fraction(epsilon)))


def lead_less_one(_, counts):
    """The distance of the paper: it moves by 2 with one vote."""
    second, top = sorted(counts.tolist())[-2:]
    return int(counts.argmax()), max(0, top - second - 1)


def lead_and_winner(votes, n_labels):
    return lead_less_one(None, np.bincount(votes[votes >= 0], minlength=n_labels))


def by_the_lead(votes, n_labels, *, privacy, dice):
    return release_if_stable(*lead_and_winner(votes, n_labels), privacy=privacy, dice=dice)


def by_the_lead_and_laplace(votes, n_labels, *, privacy, dice):
    """Discrete Laplace noise, with its exact threshold."""
    (winner, distance), ratio = lead_and_winner(votes, n_labels), decay_ratio(privacy.epsilon)
    gap = laplace_quantile(ratio, privacy.delta) - distance
    return winner if dice.discrete_laplace(ratio, gap - 1, gap) == gap else None


def inside(case, place, name, wrap, title=None):
    """Something else in the place of a function that a mechanism calls."""
    return Mistake(around(place, name, wrap, title), MECHANISMS[case])


def no_additional_variance(_, squared, budget):
    return Fraction(squared) / (2 * budget)


def roots_of_shares(right, squared, budget):
    return right(squared, Fraction(float(budget) ** 0.5))


def four_times_epsilon(right, costs, sizes, *, privacy, dice):
    return right(costs, sizes, privacy=ApproxDP(4 * privacy.epsilon), dice=dice)


def distance_and_one(right, counts):
    winner, distance = right(counts)
    return winner, distance + 1


def and_0(right, dice, n, size=None):
    return right(dice, n + 1, size) - 1


COUNTS = [
    *in_its_place(MECHANISMS["laplace_counts"], laplace_none_for_zeros, ends_from_data, raw_where_all_agree),
    *in_its_place(MECHANISMS["gaussian_counts"], gaussian_none_for_zeros),
    *in_its_place(MECHANISMS["stable_histogram"], cut_without_noise),
    *in_its_place(ORDERED, keys_in_data_order),
    *(spending("randomized_response", factor) for factor in (2, Fraction(21, 20))),
    *(spending("most_frequent_if_stable", factor) for factor in (2, Fraction(21, 20))),
    inside("gaussian_sums_narrow", noisy_counts, "sums_sigma2", no_additional_variance),
    inside("gaussian_sums_by_shares", noisy_counts, "sums_sigma2", roots_of_shares),
    inside("choosing_mechanism", choosing, "choosing_threshold", less(1), "bar_less_1"),
    inside("choosing_mechanism", choosing, "choosing_threshold", less(99), "no_bar"),
    inside("choosing_mechanism", choosing, "select_exponential", four_times_epsilon),
    inside("most_frequent_if_stable", stability, "plurality", lead_less_one),
    inside("most_frequent_if_stable", stability, "plurality", distance_and_one),
    inside("stable_histogram", HISTOGRAM, "stable_histogram_threshold", less(1), "bar_less_1"),
    inside("stable_histogram", HISTOGRAM, "stable_histogram_threshold", less(3), "no_bar"),
    inside("randomized_response", RESPONSE, "truth_probability", truth_of(1), "one_value_more"),
    inside("randomized_response", RESPONSE, "truth_probability", truth_of(-1), "one_value_less"),
    Mistake(in_draws("a_shift_that_may_be_0", and_0, "below"), MECHANISMS["randomized_response"]),
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


@pytest.mark.parametrize(("release", "delta"), [(by_the_lead, "0.449"), (by_the_lead_and_laplace, "0.462")])
def test_the_gap_less_one_has_a_delta_of_almost_one_half_where_one_hundredth_was_promised(release, delta):
    case = replace(CASES["most_frequent_if_stable"], universe=range(2), n=10)
    assert f"{float(exact_delta(case.with_fit(MECHANISM_FITS[case.name](release)), 1)):.3f}" == delta
    assert exact_delta(case, 1) <= Fraction(1, 100)


# Sparse vectors


def asked(title, kind=Questions, place=sparse_vector, values=lambda right: {}):
    """Questions of another kind, or with other values, which are a function of the right ones."""

    def questions(right, *state):
        real = right(*state)
        return kind(**vars(real) | values(real))

    return around(place, "Questions", questions, title)


class NoThresholdNoise(Questions):
    """The False answers are then free only in appearance: each one tells as much as a True."""

    def noisy_threshold(self):
        return self.threshold


class NoQueryNoise(Questions):
    """Stoddard and others (2014): noise on the threshold alone leaves the order of values in clear."""

    def compare(self, noisy_threshold, values):
        return values > noisy_threshold


class NoisyValueReleased(Questions):
    """The lecture notes of 2011: where the answer is True the noisy value is shown in its place."""

    def compare(self, noisy_threshold, values):
        noisy = values + self.dice.geometric(self.of_test, 0, 3, size=values.size)  # within public ends
        return np.where(noisy > noisy_threshold, noisy, 0)


class ThresholdLoweredByTheValue(Questions):
    """What was seen on a hit, which is private, moves the threshold of all questions behind it."""

    def compare(self, noisy_threshold, values):
        found = np.zeros(values.size, dtype=bool)
        for place, value in enumerate(values):
            found[place] = super().compare(noisy_threshold, values[place : place + 1])[0]
            noisy_threshold -= 3 * int(value) * int(found[place])
        return found


class DiceOfNumpy(Questions):
    rng = np.random.RandomState(0)

    def noisy_threshold(self):
        return self.threshold + int(self.rng.geometric(1 - float(self.of_threshold))) - 1


def half_the_question_noise(right):
    """Lee and Clifton (2014), Chen and others (2015): a True needs noise for twice the sensitivity.

    Of two positives it is the noise for one.
    """
    return {"of_test": right.of_test**2}


def vector(case, title, **changes):
    return Mistake(asked(title, **changes), MECHANISMS[case])


def composed(title, spend):
    """Epochs of more than what composes to the claim."""

    def more(right, privacy, count):
        return right(spend(privacy.epsilon, privacy.delta), count)

    return Mistake(around(sparse_vector, "equal_epsilon", more, title), MECHANISMS["sparse_vector_composed"])


FIRST = in_places(MECHANISMS["above_threshold"], (0,), (1,))
VECTORS = [
    *(
        vector(case, kind.__name__, kind=kind)
        for case in ("above_threshold", "sparse_vector", "sparse_vector_renewed")
        for kind in (NoThresholdNoise, NoQueryNoise)
    ),
    vector("sparse_vector", "the_noisy_value_released", kind=NoisyValueReleased),
    vector("sparse_vector", "threshold_lowered_by_the_value", kind=ThresholdLoweredByTheValue),
    vector("above_threshold", "half_the_question_noise", values=half_the_question_noise),
    vector("sparse_vector", "noise_for_one_positive", values=half_the_question_noise),
    vector("above_threshold", "no_stop", values=lambda right: {"epoch": (99, None)}),
    vector("sparse_vector", "bar_less_1", values=lambda right: {"threshold": right.threshold - 1}),
    # The claim is kept: to leave renewal out saves what the second threshold costs.
    vector("sparse_vector_renewed", "not_renewed", values=lambda right: {"renew": False}),
    vector(
        "sparse_vector_renewed",
        "not_renewed_with_noise_for_one_epoch",
        values=lambda right: {"renew": False} | half_the_question_noise(right),
    ),
    Mistake(asked("dice_of_numpy", DiceOfNumpy), MECHANISMS["above_threshold"], FIRST, NO_DICE),
    composed("5_percent_too_much", lambda epsilon, delta: ApproxDP(epsilon * Fraction(21, 20), delta)),
    composed("all_in_each", lambda epsilon, delta: ApproxDP(2 * epsilon)),
    composed("four_deltas", lambda epsilon, delta: ApproxDP(epsilon, 4 * delta)),
]


# Stable answers


def of_answers(title, **changes):
    return Mistake(asked(title, place=stable_answers, **changes), MECHANISMS["stable_answers"])


ANSWERS = [
    of_answers("T_+_1_unanswered", values=lambda right: {"epoch": (2, None)}),
    of_answers("no_threshold_noise", kind=NoThresholdNoise),
    of_answers("bar_less_1", values=lambda right: {"threshold": right.threshold + 1}),
]


# Interior points


def ends_of_the_data(codes, size, **how):
    """The domain ends where the data do."""
    return interior_point_code(codes, min(size, max(codes) + 1), **how)


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


def all_prefixes(codes, n_bits, length, *, privacy, dice):
    """Prefixes that no record has are candidates too, each count raised by one."""
    counts = [1 + sum(code >> (n_bits - length) == prefix for code in codes) for prefix in range(1 << length)]
    return choosing.choosing_mechanism(np.array(counts), privacy=privacy, dice=dice)


def domain_of_the_data(right, codes, size, *rest):
    """Codes have as many bits as the greatest of the data."""
    return right(codes, max(codes) + 1 if codes else size, *rest)


def in_points(case, name, wrong, place=interior_point):
    return Mistake(instead(place, name, wrong), f"interior_point_{case}")


def replayed(patch):
    """On neighbours with records on both sides of the one that moves, and more of either prefix."""
    case = replace(CASES["interior_point_recursive"], rules=RULES)
    return Mistake(patch, case, ((0, 0, 0, 2, 7, 7), (0, 0, 2, 2, 7, 7)), REPLAY)


TWICE_AS_MUCH = with_epsilon(interior_point_code, 2)
INTERIOR = [
    in_points("lengths", "interior_point_code", ends_of_the_data),
    in_points("lengths", "_random_pairs", sorted_pairs),
    in_points("lengths", "_random_pairs", pairs_keyed_by_values),
    in_points("long_lengths", "interior_point_code", TWICE_AS_MUCH),
    in_points("recursive", "interior_point_code", TWICE_AS_MUCH),
    Mistake(around(choosing, "choosing_threshold", less(1), "one_lower"), "interior_point_prefixes"),
    Mistake(around(choosing, "choosing_threshold", less(1), "one_lower"), "interior_point_recursive"),
    in_points("recursive", "choose_prefix", chosen_without_test),
    # It breaks the proof, though no claim over so few records.
    in_points("recursive", "choose_prefix", all_prefixes),
    replayed(instead(interior_point, "interior_point_code", ends_of_the_data)),
    replayed(around(interior_point, "_interior_point", domain_of_the_data)),
]


@mistakes([*COUNTS, *VECTORS, *ANSWERS, *INTERIOR])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)
