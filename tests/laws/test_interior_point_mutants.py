"""Deliberate mistakes in the methods for interior points: each is seen in one of their cases."""

from collections import Counter
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn.audit import least_exp_epsilon
from dplearn.audit.cases.interior_point import CASES as INTERIOR_POINT_CASES
from dplearn.audit.enumeration import distribution_on
from dplearn.audit.replay import replay_violations
from dplearn.chance import SeededDice
from dplearn.kernels.exact import at_most_exp, decay_ratio
from dplearn.mechanisms import choosing, interior_point
from dplearn.mechanisms.selection import select_exponential
from dplearn.privacy import ApproxDP

CASES = {case.name.removeprefix("interior_point_"): case for case in INTERIOR_POINT_CASES}


def laws_of(case, pair):
    return [distribution_on(case.fit, rows) for rows in pair]


def keeps(case, pair):
    one, other = laws_of(case, pair)
    worst = [
        least_exp_epsilon(*distributions, case.claim.delta)[0]
        for distributions in ((one, other), (other, one))
    ]
    return all(found is not None and at_most_exp(found, case.claim.epsilon) for found in worst)


# --- Mistakes that break the claim of the step that they are made in. ---


def weights_of_the_whole_epsilon(costs, multiplicities, *, privacy, dice):
    """A code's weight is exp(epsilon depth): right only if the sum of the weights never moved."""
    return select_exponential(costs, multiplicities, privacy=ApproxDP(2 * privacy.epsilon), dice=dice)


POINT = interior_point.interior_point_code
HALVES = (0,) * 7 + (2,) * 7
LONG = CASES["long_lengths"].universe[2]


def ends_of_the_data(codes, size, *, privacy, dice):
    """The domain ends where the data do."""
    return POINT(codes, min(size, max(codes) + 1), privacy=privacy, dice=dice)


def sorted_pairs(codes, dice):
    """Each record is paired with the next: one that moves shifts all those between."""
    return list(zip(codes[::2], codes[1::2], strict=True))


def pairs_keyed_by_values(codes, dice):
    """A permutation that the values determine is no secret, and one record upsets it."""
    return sorted_pairs(sorted(codes, key=lambda code: (5 * code + 3) % 8), dice)


def one_lower(growth, privacy, threshold=choosing.choosing_threshold):
    return threshold(growth, privacy) - 1


def chosen_without_test(codes, n_bits, length, *, privacy, dice):
    """The exponential mechanism over the prefixes that some record has, and no threshold."""
    found = sorted({code >> (n_bits - length) for code in codes})
    costs = [-sum(code >> (n_bits - length) == prefix for code in codes) for prefix in found]
    return found[select_exponential(costs, [1] * len(found), privacy=privacy, dice=dice)[0]]


def point_for_twice_as_much(codes, size, *, privacy, dice):
    """The innermost call spends twice what it is told."""
    return POINT(codes, size, privacy=ApproxDP(2 * privacy.epsilon), dice=dice)


def the_least_bar(growth, privacy):
    return 1


ALIKE = ((7,) * 6, (0, *(7,) * 5))
ONE_MORE_PREFIX = ((7,) * 6, (2, *(7,) * 5))
#: What is made where, in which case, and the neighbours that show it.
MISTAKES = [
    (
        weights_of_the_whole_epsilon,
        interior_point,
        "select_exponential",
        "exponential",
        ((0, 0, 1), (0, 1, 79)),
    ),
    (ends_of_the_data, interior_point, "interior_point_code", "lengths", ((0, 0, 1, 3, 4), (0, 1, 3, 4, 4))),
    (sorted_pairs, interior_point, "_random_pairs", "lengths", ((0, 0, 1, 1, 4), (0, 1, 1, 4, 4))),
    (pairs_keyed_by_values, interior_point, "_random_pairs", "lengths", ((0, 0, 1, 1, 4), (0, 0, 1, 4, 4))),
    (
        point_for_twice_as_much,
        interior_point,
        "interior_point_code",
        "long_lengths",
        ((0,) * 5, (0, 0, 0, LONG, LONG)),
    ),
    (one_lower, choosing, "choosing_threshold", "prefixes", (HALVES, (*HALVES[:-1], 6))),
    (the_least_bar, choosing, "choosing_threshold", "prefixes", (HALVES, (*HALVES[:-1], 6))),
    (one_lower, choosing, "choosing_threshold", "recursive", ONE_MORE_PREFIX),
    (the_least_bar, choosing, "choosing_threshold", "recursive", ONE_MORE_PREFIX),
    (
        chosen_without_test,
        interior_point,
        "choose_prefix",
        "recursive",
        ((0, 0, 0, 7, 7, 7), (0, 0, 2, 7, 7, 7)),
    ),
    (point_for_twice_as_much, interior_point, "interior_point_code", "recursive", ALIKE),
]


@pytest.mark.parametrize(
    ("mistake", "module", "name", "case", "pair"),
    MISTAKES,
    ids=[f"{mistake.__name__}-{case}" for mistake, _, _, case, _ in MISTAKES],
)
def test_a_mistake_breaks_the_claim(mistake, module, name, case, pair, monkeypatch):
    assert keeps(CASES[case], pair)
    monkeypatch.setattr(module, name, mistake)
    assert not keeps(CASES[case], pair)


# --- Mistakes that break the proof, though no claim over so few records: the distribution is another. ---


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


SIZE = interior_point._interior_point


def domain_of_the_data(codes, size, depth, sizes, dice):
    """Codes have as many bits as the greatest of the data."""
    return SIZE(codes, max(codes) + 1 if codes else size, depth, sizes, dice)


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("choose_prefix", all_prefixes),
        ("choose_prefix", prefixes_of_any_length),
        ("_interior_point", domain_of_the_data),
        ("_random_pairs", sorted_pairs),
    ],
)
def test_a_mistake_in_the_whole_changes_the_law(name, mistake, monkeypatch):
    case, rows = CASES["recursive"], (0, 2, 2, 7, 7, 7)
    [ours] = laws_of(case, [rows])
    monkeypatch.setattr(interior_point, name, mistake)
    [theirs] = laws_of(case, [rows])
    assert ours.key() != theirs.key()


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


def test_noise_that_both_comparisons_share_changes_the_law():
    case, rows = CASES["recursive_twice"], (0, 1, 4, 7)
    ratio = decay_ratio(Fraction(24))
    mistaken = case.with_fit(lambda rows, dice: case.fit(rows, NoiseReused(dice, ratio)))
    apart = case.with_fit(lambda rows, dice: case.fit(rows, NoiseReused(dice, None)))
    [ours], [same], [theirs] = (laws_of(one, [rows]) for one in (case, apart, mistaken))
    assert ours.key() == same.key()
    assert ours.key() != theirs.key()


# --- Replay: where a replaced record keeps its place, and each prefix some other record. ---


def replayed(case, pair):
    runs = [partial(case.fit, rows) for rows in pair]
    return [
        found
        for first, last in (runs, runs[::-1])
        for seed in range(20)
        for found in replay_violations(first, last, SeededDice(seed, case.name))
    ]


#: Neighbours with records on both sides of the one that moves, and more of either prefix.
IN_PLACE = ((0, 0, 0, 2, 7, 7), (0, 0, 2, 2, 7, 7))


def test_draws_for_records_that_keep_their_places_differ_as_the_proof_allows():
    assert replayed(CASES["recursive"], IN_PLACE) == []


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("interior_point_code", ends_of_the_data),
        ("_interior_point", domain_of_the_data),
        ("choose_prefix", chosen_without_test),
    ],
)
def test_a_mistake_in_the_whole_breaks_replay(name, mistake, monkeypatch):
    monkeypatch.setattr(interior_point, name, mistake)
    assert replayed(CASES["recursive"], IN_PLACE)
