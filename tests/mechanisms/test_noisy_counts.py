"""Noisy counts: their laws are the formulas and keep the claim in every setting; no message shows a count.

Trees of noisy counts: what is cut, what it costs, and that only released numbers decide.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from math import log, sqrt

import numpy as np
import pytest

from dplearn.audit import RULES, moved_by, replay_privacy
from dplearn.chance import SeededDice
from dplearn.kernels import at_most_exp, decay_ratio, gaussian_probabilities
from dplearn.mechanisms import gaussian_counts, gaussian_sums, laplace_counts, tree_counts
from dplearn.privacy import ApproxDP, GaussianSums, ZeroConcentratedDP
from tests.mechanisms.laws import law, left_out

LAPLACE = (laplace_counts, ApproxDP(1))
GAUSSIAN = (gaussian_counts, ZeroConcentratedDP(1))
BOTH = pytest.mark.parametrize(("mechanism", "privacy"), [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])


def law_of(mechanism, counts, tail_bits=40, **parameters):
    """The exact distribution of what is released, as a tuple or an int, without its type."""
    return law(
        lambda dice: np.asarray(mechanism(np.array(counts), dice=dice, **parameters)).tolist(), tail_bits
    )


@pytest.mark.parametrize("sensitivity", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", 1, 3])
def test_one_laplace_count_attains_epsilon_and_never_more(epsilon, sensitivity):
    privacy = ApproxDP(epsilon)
    laws = {
        count: law_of(laplace_counts, count, privacy=privacy, sensitivity=sensitivity, low=-1, high=6)
        for count in range(-3, 9)  # some lie beyond the ends
    }
    near = [(a, b) for a, b in product(laws, repeat=2) if abs(a - b) <= sensitivity]
    worst = max(laws[a][seen] / laws[b][seen] for a, b in near for seen in laws[a])
    assert at_most_exp(worst, privacy.epsilon)
    assert not at_most_exp(worst, privacy.epsilon * Fraction(999, 1000))


def test_a_laplace_count_follows_its_formula():
    ratio = decay_ratio(Fraction(1, 2))
    inside = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k - 2) for k in range(1, 5)}
    distribution = law_of(laplace_counts, 2, privacy=ApproxDP(1), sensitivity=2, low=0, high=5)
    assert distribution == {0: ratio**2 / (1 + ratio), **inside, 5: ratio**3 / (1 + ratio)}


@pytest.mark.parametrize(
    ("mechanism", "privacy", "sigma2"),
    [
        (gaussian_counts, ZeroConcentratedDP(1), Fraction(3, 2)),
        (gaussian_sums, GaussianSums(2), Fraction(3, 4) + 4),
    ],
)
def test_gaussian_noise_has_the_variance_of_its_budget_and_that_of_sums_four_more(mechanism, privacy, sigma2):
    support, masses, _ = gaussian_probabilities(sigma2, 40)
    distribution = law_of(mechanism, 7, privacy=privacy, squared_sensitivity=3)
    assert distribution == {7 + k: mass for k, mass in zip(support, masses, strict=True)}


@BOTH
@pytest.mark.parametrize(("low", "high"), [(0, None), (None, 3), (1, 3), (2, 2)])
def test_ends_move_what_is_released_and_nothing_else(mechanism, privacy, low, high):
    free = law_of(mechanism, 2, privacy=privacy)
    moved = Counter()
    for k, p in free.items():
        moved[int(np.clip(k, low, high))] += p
    distribution = law_of(mechanism, 2, privacy=privacy, low=low, high=high)
    for k in moved.keys() | distribution.keys():
        assert abs(distribution.get(k, 0) - moved[k]) <= left_out(free)


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
@pytest.mark.parametrize("counts", [(7,), (7, -2)])
@pytest.mark.parametrize("strength", ["0.5", 3])
@BOTH
def test_the_accuracy_line_holds_and_a_quarter_of_the_bound_does_not(
    mechanism, privacy, strength, counts, beta
):
    privacy = type(privacy)(strength)
    distribution = law_of(mechanism, counts, 16, privacy=privacy)
    bound = log(2 * len(counts) / beta) / -log(decay_ratio(Fraction(strength)))
    if mechanism is gaussian_counts:
        bound = sqrt(log(2 * len(counts) / beta) / privacy.rho)

    def beyond(t):
        return sum(p for noisy, p in distribution.items() if max(np.abs(np.subtract(noisy, counts))) > t)

    assert beyond(bound) + left_out(distribution) <= beta
    assert bound < 2 or beyond(bound / 4) > beta


# Trees


HUGE = ApproxDP(10**6)


def tree_of(codes, size, *, privacy=HUGE, fan_out=4, threshold=3, seed=0, **options):
    return tree_counts(
        codes, size, fan_out=fan_out, threshold=threshold, privacy=privacy, dice=SeededDice(seed), **options
    )


def test_without_noise_every_node_that_reaches_the_bar_is_cut_and_no_other():
    codes = np.repeat([0, 5, 200], [2, 3, 4])
    levels = tree_of(codes, 256)
    for above, level in zip(levels, [*levels[1:], None], strict=True):
        cut = set() if level is None else set(level.parents.tolist())
        reached = (above.counts >= 3) & (above.lengths > 1)
        assert cut == set(np.flatnonzero(reached).tolist())
    singles = {
        int(start): int(count)
        for level in levels
        for start, length, count in zip(level.starts, level.lengths, level.counts, strict=True)
        if length == 1
    }
    assert singles[5] == 3
    assert singles[200] == 4
    assert len(tree_of([1, 2], 100)) == 1  # fewer records than the bar
    assert len(tree_of([0, 0, 0], 1)) == 1  # one code


@pytest.mark.parametrize("size", [2**64 - 1, 2**64, 2**1000])
def test_domains_of_any_size_cost_what_the_records_cost(size):
    codes = [size // 3] * 300 + [size - 1] * 300
    levels = tree_of(codes, size, privacy=ApproxDP(1000), fan_out=16, threshold=100)
    # Two paths, and few besides.
    assert all(level.starts.size <= 64 for level in levels)
    [place] = np.flatnonzero(levels[-1].starts == size - 1)
    assert int(levels[-1].lengths[place]) == 1


def test_a_replaced_record_moves_at_most_two_counts_of_each_level():
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 1000, 200)
    rules = {**RULES, "discrete_laplace": moved_by(2)}

    def fit(rows, dice):
        return tree_counts(
            rows, 1000, fan_out=3, threshold=5, privacy=ApproxDP(3), dice=dice, low=0, high=200
        )

    for _ in range(5):
        other = codes.copy()
        other[generator.integers(200)] = generator.integers(1000)
        report = replay_privacy(fit, codes, other, rules=rules)
        assert report.kept
        assert report.n_draws


# Theorem 4.6 as it was published: docs/errata.md has the story.


def both_blocks_accept(records, j, k, per_length, per_block):
    """About how probable it is, over one cut of noisy length, that the blocks on its two sides both accept.

    A block's mechanism accepts with probability proportional to exp(per_block s): s is 1 if x is in it, less
    1 for each record that the cut at j would not have put there. One record more or less moves s by 1.
    """
    total = 0.0
    for cut in range(len(records) + 1):
        first, second = records[:cut], records[cut:]
        s = ("x" in first) - abs(first.count("a") - j) - first.count("b") - first.count("z")
        s += ("x" in second) - second.count("a") - abs(second.count("b") - k) - second.count("z")
        total += math.exp(-per_length * abs(cut - j - 1) + per_block * s)
    return total


@pytest.mark.parametrize(
    ("per_length", "per_block", "exceeds"),
    [(0.1, 0.3, True), (0.1, 1, True), (0.3, 0.3, False), (1, 1, False)],
)
def test_two_cuts_that_leave_the_same_blocks_of_the_others_cost_more_than_is_counted(
    per_length, per_block, exceeds
):
    with_x, without = "a" * 40 + "x" + "b" * 40, "a" * 40 + "b" * 40 + "z"
    chances = [both_blocks_accept(records, 40, 40, per_length, per_block) for records in (with_x, without)]
    cost = math.log(chances[0] / chances[1])
    assert (cost > 2 * per_length + 2 * per_block + 0.01) is exceeds
    if (per_length, per_block) == (0.1, 0.3):
        assert cost == pytest.approx(0.8703, abs=1e-4)
