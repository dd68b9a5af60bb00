"""Codes accuse members of coalitions and hardly ever innocents; p-values are exact, by enumeration."""

from fractions import Fraction
from itertools import pairwise, product
from math import ceil, log, sqrt

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from dplearn.audit import (
    BonehShawCode,
    TardosCode,
    ThresholdCode,
    UniformCode,
    codes,
    exact_distribution,
    trace_outputs,
)
from dplearn.chance import SeededDice


def majority(rows):
    return (2 * rows.sum(axis=0) > len(rows)).astype(int)


def minority(rows):
    """Return the rarer label, unless all rows agree."""
    ones = rows.sum(axis=0)
    return np.where((ones == 0) | (ones == len(rows)), ones > 0, 2 * ones < len(rows)).astype(int)


def one_of_them(rows):
    return rows[0].astype(int)


def interleaved(rows):
    """Return each label of another row."""
    return rows[np.arange(rows.shape[1]) % len(rows), np.arange(rows.shape[1])].astype(int)


PIRATES = [majority, minority, one_of_them, interleaved]


def law_of(p_value, draw):
    """Return the exact law of a p-value over all codes, as pairs of a value and its probability."""
    found = exact_distribution(lambda dice: round(1e9 * p_value(draw(dice))))
    return sorted((p / 1e9, found.probability(p)) for p in found.masses)


def is_valid(law):
    """Return whether P[p <= x] <= x at each value; p-values have rounding errors."""
    return all(sum(chance for q, chance in law if q <= p) <= p + 1e-8 for p, _ in law)


@pytest.mark.parametrize("pirate", PIRATES, ids=lambda each: each.__name__)
def test_p_values_of_the_innocent_are_valid_in_all_uniform_codes(pirate, monkeypatch):
    monkeypatch.setattr(codes, "_BIASES", 1)
    law = law_of(
        lambda code: float(code.p_values(pirate(code.words[1:]))[0]),
        lambda dice: UniformCode.drawn(3, 3, dice=dice),
    )
    assert is_valid(law)
    assert min(law)[0] == pytest.approx(1 / 8)
    assert sum(chance for p, chance in law if p < 0.2) == Fraction(
        1, 8
    )  # and exact where a value is attained


def test_p_values_of_the_innocent_are_valid_for_biases_that_differ(monkeypatch):
    monkeypatch.setattr(codes, "_BIASES", 2)
    law = law_of(
        lambda code: float(code.p_values(one_of_them(code.words[1:]))[0]),
        lambda dice: UniformCode.drawn(2, 2, dice=dice),
    )
    assert is_valid(law)
    assert len(law) > 3


@pytest.mark.parametrize("pirate", [*PIRATES, "labels of all points"])
@pytest.mark.parametrize("innocent", [0, 1, 2])
def test_p_values_of_the_innocent_are_valid_in_all_threshold_codes(pirate, innocent):
    def p_value(code):
        others = np.delete(code.words, innocent, axis=0)
        word = np.insert(others, 0, majority(others), axis=0) if isinstance(pirate, str) else pirate(others)
        return float(code.p_values(word)[innocent])

    assert is_valid(law_of(p_value, lambda dice: ThresholdCode.drawn(3, 4, dice=dice)))


@pytest.mark.parametrize("kind", [UniformCode, ThresholdCode])
def test_the_p_values_of_the_guilty_are_not_valid(kind, monkeypatch):
    """The control of the tests above: a user whose row makes the word."""
    monkeypatch.setattr(codes, "_BIASES", 1)
    law = law_of(
        lambda code: float(code.p_values(one_of_them(code.words))[0]),
        lambda dice: kind.drawn(1, 3, dice=dice),
    )
    assert not is_valid(law)


@pytest.mark.parametrize("likely", [[0.5], [0.1, 0.9], [0.25, 0.5, 0.75, 0.01]])
def test_the_tails_of_agreements_are_sums_over_all_events(likely):
    def chance(events):
        return np.prod([p if event else 1 - p for p, event in zip(likely, events, strict=True)])

    every = list(product((0, 1), repeat=len(likely)))
    tails = [sum(chance(e) for e in every if sum(e) >= a) for a in range(len(likely) + 1)]
    assert codes._agreement_tails(np.array(likely)) == pytest.approx(tails, rel=1e-12)


def test_far_tails_are_those_of_binomial_and_hypergeometric_laws():
    tails = codes._agreement_tails(np.full(2000, 0.3))
    assert tails[[500, 700, 900, 2000]] == pytest.approx(binom.sf([499, 699, 899, 1999], 2000, 0.3), rel=1e-9)
    for marked, others, drawn in ((3, 2, 0), (3, 2, 4), (40, 60, 30), (1, 0, 1), (0, 5, 3)):
        for found in range(marked + 2):
            tail = hypergeom.sf(found - 1, marked + others, marked, drawn)
            assert codes._hypergeometric_tail(found, marked, others, drawn) == pytest.approx(tail, abs=1e-12)


@pytest.mark.parametrize(("kind", "k"), [(UniformCode, 3000), (ThresholdCode, 400)])
def test_a_majority_is_traced_to_members_of_its_coalition_only_and_nobody_in_short_codes(kind, k):
    code = kind.drawn(12, k, dice=SeededDice(4))
    for word in (majority(code.words[:9]), majority(code.words[:9]).astype(bool)):
        accused = code.accused(word)
        assert len(accused) >= 1
        assert set(accused) <= set(range(9))
    code = kind.drawn(12, 5, dice=SeededDice(4))
    assert len(code.accused(majority(code.words))) == 0


@pytest.mark.parametrize("pirate", PIRATES, ids=lambda each: each.__name__)
def test_codes_of_the_published_length_trace_somebody_and_no_innocent(pirate):
    for seed in range(3):
        for code in (
            TardosCode.drawn(5, dice=SeededDice(seed)),
            BonehShawCode.drawn(5, dice=SeededDice(seed)),
        ):
            coalition = [0, 2, 3]
            accused = code.accused(pirate(code.words[coalition]))
            assert len(accused) >= 1
            assert set(accused) <= set(coalition)


@pytest.mark.nightly
@pytest.mark.parametrize("pirate", PIRATES, ids=lambda each: each.__name__)
def test_innocents_are_accused_at_most_as_often_as_the_error_says(pirate):
    def is_wrong(code):
        return bool(set(code.accused(pirate(code.words[:5]))) - set(range(5)))

    drawn = {
        "uniform": lambda: UniformCode.drawn(8, 60, error=0.1),
        "thresholds": lambda: ThresholdCode.drawn(8, 60, error=0.1),
    }
    for draw in drawn.values():
        assert sum(is_wrong(draw()) for _ in range(1000)) <= binom.isf(1e-6, 1000, 0.1)


def test_the_published_lengths():
    assert TardosCode.length(10) == 100 * 10**2 * ceil(log(1000)) == 70_000
    assert BonehShawCode.repetitions(10) == ceil(200 * log(2000)) == 1521
    assert TardosCode.drawn(4, 7, dice=SeededDice(0)).words.shape == (4, 7)
    assert BonehShawCode.drawn(4, 7, dice=SeededDice(0)).words.shape == (4, 21)


def test_the_labels_of_the_published_codes():
    tardos = TardosCode.drawn(4, 20_000, dice=SeededDice(0))
    least = 1 / (300 * 4)
    assert least <= tardos.biases.min() < 2 * least
    assert 1 - 2 * least < tardos.biases.max() <= 1 - least
    assert tardos.words.mean() == pytest.approx(0.5, abs=0.02)
    assert np.mean((tardos.words - tardos.biases) ** 2) == pytest.approx(
        1 / 8, rel=0.05
    )  # E p (1 - p), arcsine
    shaw = BonehShawCode.drawn(6, 50, dice=SeededDice(0))
    assert np.bincount(shaw.types).tolist() == [0, *[50] * 5]
    assert (np.diff(shaw.types) != 0).mean() > 0.7  # in random order
    assert np.array_equal(shaw.words.sum(axis=0), shaw.types)
    assert (np.diff(shaw.words.astype(int), axis=0) <= 0).all()


def test_the_published_scores_and_rule():
    code = TardosCode.drawn(3, 50, dice=SeededDice(2))
    word = majority(code.words)
    expected = [
        sum(
            ((1 - p) / p) ** 0.5 if label else -((p / (1 - p)) ** 0.5)
            for label, p, y in zip(row, code.biases, word, strict=True)
            if y
        )
        for row in code.words
    ]
    assert code.scores(word) == pytest.approx(expected)
    # The word is 1 in so many of the outputs of each type, of which user s labels the types above s with 1.
    code, d = BonehShawCode.drawn(5, 40, dice=SeededDice(3)), 40
    for ones in product((0, 12, 25, 40), repeat=4):
        word = np.zeros(4 * d, dtype=int)
        for kind, count in enumerate(ones, start=1):
            word[np.flatnonzero(code.types == kind)[:count]] = 1
        halves = [(one + next_one) / 2 for one, next_one in pairwise(ones)]
        limits = [half - sqrt(half * log(2 * 5 / 0.01)) for half in halves]
        guilty = [s for s, limit in enumerate(limits, start=1) if ones[s - 1] < limit]
        guilty = [0] * (ones[0] > 0) + guilty + [4] * (ones[3] < d)
        assert code.accused(word).tolist() == guilty


def test_biases_are_odd_256ths_about_one_half_and_all_orders_of_a_code_are_equally_likely():
    """With numbers of two bits instead of 63, equal ones keep their order: here only the mean is checked."""
    assert {*codes.uniform_biases(5000, SeededDice(0)).tolist()} == {*range(1, 256, 2)}
    assert codes.fair_biases(2).tolist() == [128, 128]
    assert repr(UniformCode.drawn(3, 5)) == "UniformCode(n=3, k=5, error=0.01)"
    first = [codes._permutation(5, SeededDice(seed))[0] for seed in range(2000)]
    assert ((np.bincount(first, minlength=5) - 400) ** 2 / 400).sum() < 40


def test_the_audit_draws_the_labels_of_the_code():
    seen = []
    trace_outputs(lambda X, Y: seen.append(Y) or Y[0], 30, 100, code="uniform", dice=SeededDice(0))
    code = UniformCode.drawn(60, 100, dice=SeededDice(0))  # 30 first candidates, then 30 second ones
    words = np.stack([code.words[:30], code.words[30:]])
    assert (seen[0] == words).all(axis=2).any(axis=0).all()
