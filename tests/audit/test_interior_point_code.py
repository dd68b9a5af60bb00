"""The interior-point game: somebody is always accused, innocents seldom, and private methods fail on it."""

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from scipy.stats import binom

from dplearn import ApproxDP
from dplearn.audit import InteriorPointCode, exact_distribution
from dplearn.chance import SeededDice
from dplearn.mechanisms import interior_point_code
from tests.learners.private_rules import best_rule, tables_of


def coalitions(n):
    return chain.from_iterable(combinations(range(n), size) for size in range(1, n + 1))


def answers(words, n=4):
    """Return interior points of some words, the words among them."""
    low, high = min(words), max(words)
    return sorted({*words, *(low + (high - low) * i // n for i in range(n + 1))})


def all_codes(n, m, bases):
    """Return all codes, each with its exact probability."""
    codes, places = {}, {}

    def draw(dice):
        code = InteriorPointCode.drawn(n, m, bases, dice=dice)
        codes.setdefault(code.levels, code)
        return places.setdefault(code.levels, len(places))

    law = exact_distribution(draw)
    return [(code, law.probability(place)) for place, code in enumerate(codes.values())]


def pirates(size):
    """What coalitions do: their own words, ends and means, words of nobody, and a word with another start."""
    return {
        "least": min,
        "middle": lambda words: sorted(words)[len(words) // 2],
        "mean": lambda words: sum(words) // len(words),
        "zero": lambda _: 0,
        "another start": lambda words: (words[0] + size // 2) % size,
        "next": lambda words: min(size - 1, words[0] + 1),
    }


@pytest.mark.parametrize(("n", "m", "bases"), [(1, 4, []), (2, 2, [3]), (2, 3, [2])])
def test_in_all_codes_every_interior_point_accuses_somebody_and_innocents_as_seldom_as_the_error_says(
    n, m, bases
):
    size = InteriorPointCode.drawn(n, m, bases).size
    cases = [(who, name) for who in [(), *coalitions(n)] for name in pirates(size) if who or name == "zero"]
    codes, found = all_codes(n, m, bases), np.zeros(len(cases))
    assert sum(chance for _, chance in codes) == 1
    for code, chance in codes:
        for who in coalitions(n):
            mine = [code.words[i] for i in who]
            assert all(len(code.accused(word)) == 1 for word in range(min(mine), max(mine) + 1))
        for place, (who, name) in enumerate(cases):
            word = pirates(size)[name]([code.words[i] for i in who])
            found[place] += chance * bool({*code.accused(word).tolist()} - {*who})
    error = InteriorPointCode.drawn(n, m, bases).error
    assert error == min(1, Fraction(1, m) + sum(Fraction(1, base) for base in bases))
    assert 0.2 < found.max() <= float(error) + 1e-12


def inside(code, epsilon, dice):
    found = interior_point_code(code.words, code.size, privacy=ApproxDP(epsilon), dice=dice)
    return min(code.words) <= found <= max(code.words)


@pytest.mark.parametrize(
    ("n", "m", "bases", "bits", "most", "seen"),
    [(2, 40, [30], 197, 0.0955, 4), (3, 4, [8, 64], 24577, 0.5865, 0)],
)
def test_our_method_finds_interior_points_no_more_often_than_any_private_method_can(
    n, m, bases, bits, most, seen
):
    dice, runs = SeededDice(1), 300 if n == 2 else 20
    codes = [InteriorPointCode.drawn(n, m, bases, dice=dice) for _ in range(runs)]
    assert codes[0].size.bit_length() == bits
    assert codes[0].success_bound(epsilon=0.5) == pytest.approx(most, abs=1e-4)
    assert sum(inside(code, 0.5, dice) for code in codes) == seen <= 0.05 * runs  # docs/theory/tracing.md
    if n == 2:  # the control
        assert all(inside(code, 400, dice) for code in codes[:20])


@pytest.mark.parametrize("delta", [0.0, 0.02])
@pytest.mark.parametrize(("m", "bases"), [(3, []), (2, [2]), (2, [3]), (3, [2])])
def test_no_private_rule_finds_interior_points_of_codes_more_often_than_the_bound(m, bases, delta):
    n, epsilon = len(bases) + 1, 0.4
    size = InteriorPointCode.drawn(n, m, bases).size
    payoff = [
        (code.words, word, float(chance))
        for code, chance in all_codes(n, m, bases)
        for word in range(min(code.words), max(code.words) + 1)
    ]
    best = best_rule(tables_of(size, n), size, size, [payoff], epsilon, delta)
    bound = InteriorPointCode.drawn(n, m, bases).success_bound(epsilon=epsilon, delta=delta)
    assert best <= bound + 1e-9
    if n == 1:
        assert best == pytest.approx(bound, abs=1e-7)


# the version of the paper, for docs/errata.md


def agreeing(one, other, digits, base):
    """The number of first digits in which two numbers agree."""
    left_out = (each for each in range(digits) if one // base**each == other // base**each)
    return digits - next(left_out, digits)


def paper_accused(code, word):
    """Lemma B.4: compare with the digits in which words agree; the code for one user always accuses."""
    users = len(code.bases)
    for user, step in enumerate(reversed(range(users))):
        digits, base = code._sizes()[step], code.bases[step]
        origin, *others = code.levels[step + 1]
        agreed = agreeing(word, origin, digits, base)
        if agreed > max(agreeing(other, origin, digits, base) for other in others):
            return [user]
        word = agreed
    return [users]


def paper_accused_by_equality(code, word):
    """The same, with the mended code for one user."""
    found = paper_accused(code, word)
    alone = code.levels[0][0]
    for step in reversed(range(len(code.bases))):
        word = agreeing(word, code.levels[step + 1][0], code._sizes()[step], code.bases[step])
    return found if found != [len(code.bases)] or word == alone else []


def test_erratum_the_code_for_one_user_accuses_an_innocent_always():
    """User 0 alone changes its first digit; the domain for one user has a single number, so digits are 1."""
    runs, mended = 1000, 0
    for seed in range(runs):
        code = InteriorPointCode.drawn(2, 50, [50], dice=SeededDice(seed))
        other = (code.words[0] + 50**49) % code.size  # the first of 50 digits
        assert paper_accused(code, other) == [1]
        mended += code.accused(other).tolist() == [1]
    assert code.error == Fraction(1, 25)
    assert mended == 12 <= binom.isf(1e-6, runs, 1 / 25)


@pytest.mark.parametrize(("runs", "said"), [(40, 5), pytest.param(400, 47, marks=pytest.mark.nightly)])
def test_erratum_agreement_by_chance_leaves_interior_points_untraced(runs, said):
    """Three users, base 8: the digits in which x_j agrees with x_0 may be more than z_j."""
    silent = 0
    for seed in range(runs):
        code = InteriorPointCode.drawn(3, 3, [8, 8], dice=SeededDice(seed))
        words = [word for who in coalitions(3) for word in answers([code.words[i] for i in who], 1)]
        silent += any(not paper_accused_by_equality(code, word) for word in words)
        assert all(len(code.accused(word)) == 1 for word in words)
    assert silent == said
