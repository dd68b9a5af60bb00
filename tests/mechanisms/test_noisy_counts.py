"""Noisy counts: their laws are the formulas and keep the claim in every setting; no message shows a count.

Trees of noisy counts: what is cut, what it costs, and that only released numbers decide.
"""

import math
from fractions import Fraction
from itertools import product
from math import ceil, isqrt, log, sqrt

import numpy as np
import pytest

from dplearn.audit import exact_distribution, replay_privacy
from dplearn.audit.enumeration import least_exp_epsilon
from dplearn.audit.replay import RULES, moved_by
from dplearn.chance import EnumeratingDice, SeededDice
from dplearn.kernels.distributions import gaussian_probabilities
from dplearn.kernels.exact import at_most_exp, decay_ratio, exp_bounds
from dplearn.mechanisms import gaussian_counts, gaussian_sums, laplace_counts
from dplearn.mechanisms.noisy_counts import tree_counts
from dplearn.privacy import ApproxDP, GaussianSums, ZeroConcentratedDP

FAR = 2**62 - 1
LAPLACE = (laplace_counts, ApproxDP(1))
GAUSSIAN = (gaussian_counts, ZeroConcentratedDP(1))
BOTH = pytest.mark.parametrize(("mechanism", "privacy"), [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])


def law_of(mechanism, counts, tail_bits=40, **parameters):
    """The exact distribution of what is released, as a tuple or an int, without its type."""

    def run(dice):
        return np.asarray(mechanism(np.array(counts), dice=dice, **parameters)).tolist()

    distribution = exact_distribution(run, tail_bits)
    return {
        outcome(seen): distribution.probability(seen) for seen in distribution.masses
    }, distribution.left_out


def outcome(seen):
    return seen if isinstance(seen, int) else seen[1]


def worst_exp_epsilon(run, tables, sensitivity):
    """The exact worst exp(epsilon) over all pairs of counts that differ by at most the sensitivity."""
    distributions = {
        counts: exact_distribution(lambda dice, counts=counts: run(counts, dice)) for counts in tables
    }
    return max(
        least_exp_epsilon(distributions[a], distributions[b])[0]
        for a, b in product(tables, repeat=2)
        if a != b and np.abs(np.subtract(a, b)).sum() <= sensitivity
    )


# Privacy of Laplace noise


@pytest.mark.parametrize("sensitivity", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", 1, 3])
def test_one_laplace_count_attains_epsilon_and_never_more(epsilon, sensitivity):
    privacy = ApproxDP(epsilon)

    def run(count, dice):
        return laplace_counts(count, privacy=privacy, dice=dice, sensitivity=sensitivity, low=-1, high=6)

    worst = worst_exp_epsilon(run, range(-3, 9), sensitivity)  # some counts lie beyond the ends
    assert at_most_exp(worst, privacy.epsilon)
    assert not at_most_exp(worst, privacy.epsilon * Fraction(999, 1000))


@pytest.mark.parametrize("sensitivity", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.1", 3])
def test_two_laplace_counts_share_one_epsilon(epsilon, sensitivity):
    privacy = ApproxDP(epsilon)

    def run(counts, dice):
        values = np.array(counts)
        return laplace_counts(values, privacy=privacy, dice=dice, sensitivity=sensitivity, low=0, high=3)

    worst = worst_exp_epsilon(run, list(product(range(4), repeat=2)), sensitivity)
    assert at_most_exp(worst, privacy.epsilon)
    assert not at_most_exp(worst, privacy.epsilon * Fraction(999, 1000))


# Privacy of Gaussian noise: exact Renyi divergences


def root_above(x):
    return Fraction(isqrt((x.numerator << 4096) // x.denominator) + 1, 1 << 2048)


def renyi_sums(distribution, other, left_out, order):
    """Bounds of the sum of P**order Q**(1 - order), where each mass may be greater by left_out."""
    twice = int(2 * order)

    def total(more_here, more_there):
        squares = (
            (distribution[k] + more_here) ** twice / (other[k] + more_there) ** (twice - 2)
            for k in distribution
        )
        return sum(map(root_above, squares))

    return total(0, left_out), total(left_out, 0)


NARROW = product([Fraction(1, 50), Fraction(1, 4)], [1, 2], [Fraction(3, 2), 2, 3])
WIDE = product([Fraction(1), Fraction(5)], [1, 2, 3], [Fraction(3, 2), 2, 5, Fraction(9, 2)])


@pytest.mark.parametrize(("sigma2", "step", "order"), [*NARROW, *WIDE])
def test_every_renyi_divergence_is_at_most_rho_times_its_order(sigma2, step, order):
    rho = step * step / (2 * sigma2)
    low, high = -1 - ceil(4 * sqrt(sigma2)), ceil(order * step + 4 * sqrt(sigma2)) + 1
    tail_bits = (
        ceil(high**2 / sigma2) + 60
    )  # the end's mass, exp(-high**2 / (2 sigma2)), is well above 2**-bits
    distributions, lefts = zip(
        *(
            law_of(
                gaussian_counts,
                count,
                tail_bits,
                privacy=ZeroConcentratedDP(rho),
                squared_sensitivity=step * step,
                low=low,
                high=high,
            )
            for count in (step, 0)
        ),
        strict=True,
    )
    # It is exp((order - 1) divergence) that must be at most exp((order - 1) order rho).
    at_least, at_most = renyi_sums(*distributions, max(lefts), order)
    claim = (order - 1) * order * rho
    assert at_most_exp(at_most, claim)
    # A whole order attains it; others all but, for where the noise is narrow no integer is near the peak.
    if order == int(order):
        assert not at_most_exp(at_least, claim * Fraction(999, 1000))


def test_the_divergences_of_two_gaussian_counts_add():
    rho = Fraction(1, 2)
    distributions = [
        law_of(
            gaussian_counts,
            counts,
            100,
            privacy=ZeroConcentratedDP(rho),
            squared_sensitivity=2,
            low=-4,
            high=5,
        )
        for counts in ((1, 0), (0, 1))
    ]
    (mine, left), (theirs, _) = distributions
    second = sum((p + left) ** 2 / theirs[seen] for seen, p in mine.items())
    assert at_most_exp(second, 2 * rho)
    assert not at_most_exp(second, 2 * rho * Fraction(99, 100))


def test_counts_that_move_by_more_than_the_squared_sensitivity_break_the_claim():
    rho = Fraction(1, 2)
    claimed = {"privacy": ZeroConcentratedDP(rho), "squared_sensitivity": 2, "low": -20, "high": 20}
    (mine, left), (theirs, _) = (law_of(gaussian_counts, count, 400, **claimed) for count in (2, 0))
    assert not at_most_exp(sum(p**2 / (theirs[seen] + left) for seen, p in mine.items()), 2 * rho)


# The formulas


def test_a_laplace_count_follows_its_formula():
    ratio = decay_ratio(Fraction(1, 2))
    distribution, left_out = law_of(laplace_counts, 2, privacy=ApproxDP(1), sensitivity=2, low=0, high=5)
    inside = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k - 2) for k in range(1, 5)}
    assert distribution == {0: ratio**2 / (1 + ratio), **inside, 5: ratio**3 / (1 + ratio)}
    assert left_out == 0


def test_a_gaussian_sum_has_the_variance_of_its_budget_and_four_more():
    support, masses, left = gaussian_probabilities(Fraction(3, 4) + 4, 40)
    distribution, left_out = law_of(gaussian_sums, 7, privacy=GaussianSums(2), squared_sensitivity=3)
    assert distribution == {7 + k: mass for k, mass in zip(support, masses, strict=True)}
    assert left_out == left
    with pytest.raises(ValueError, match="budget must be a finite number above 0, got"):
        gaussian_sums(5, privacy=GaussianSums(0), dice=EnumeratingDice())
    with pytest.raises(TypeError, match="privacy must be of type GaussianSums, got ZeroConcentratedDP"):
        gaussian_sums(5, privacy=ZeroConcentratedDP(1), dice=EnumeratingDice())


def test_a_gaussian_count_follows_its_formula():
    support, masses, left = gaussian_probabilities(Fraction(3, 2), 40)
    distribution, left_out = law_of(gaussian_counts, 7, privacy=ZeroConcentratedDP(1), squared_sensitivity=3)
    assert distribution == {7 + k: mass for k, mass in zip(support, masses, strict=True)}
    assert left_out == left
    weights = {k: exp_bounds(Fraction(-((k - 7) ** 2), 3)) for k in distribution}
    total_low, total_high = (sum(side) for side in zip(*weights.values(), strict=True))
    for k, mass in distribution.items():
        assert weights[k][0] / (total_high + left) - Fraction(1, 1 << 39) <= mass <= weights[k][1] / total_low


@BOTH
@pytest.mark.parametrize(("low", "high"), [(0, None), (None, 3), (1, 3), (2, 2)])
def test_ends_move_what_is_released_and_nothing_else(mechanism, privacy, low, high):
    free, left = law_of(mechanism, 2, privacy=privacy)
    moved = {}
    for k, p in free.items():
        end = int(np.clip(k, low, high))
        moved[end] = moved.get(end, 0) + p
    distribution, _ = law_of(mechanism, 2, privacy=privacy, low=low, high=high)
    assert all(abs(distribution.get(k, 0) - p) <= left for k, p in moved.items())
    assert all(p <= left for k, p in distribution.items() if k not in moved)


# Accuracy


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
@pytest.mark.parametrize(("epsilon", "k"), [("0.5", 1), (1, 1), (3, 1), (1, 2), (3, 3)])
def test_the_accuracy_of_laplace_counts_holds_and_a_quarter_of_the_bound_does_not(epsilon, k, beta):
    counts = (7, -2, 100)[:k]
    distribution, left_out = law_of(laplace_counts, counts, 16, privacy=ApproxDP(epsilon))
    bound = log(2 * k / beta) / -log(decay_ratio(Fraction(epsilon)))

    def beyond(t):
        return sum(p for noisy, p in distribution.items() if max(np.abs(np.subtract(noisy, counts))) > t)

    assert beyond(bound) + left_out <= beta
    if bound >= 2:
        assert beyond(bound / 4) > beta


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)])
@pytest.mark.parametrize("sigma2", [Fraction(1, 50), Fraction(1, 4), Fraction(1), Fraction(30)], ids=str)
def test_the_accuracy_of_a_gaussian_count_holds_and_a_quarter_of_the_bound_does_not(sigma2, beta):
    distribution, left_out = law_of(gaussian_counts, 5, privacy=ZeroConcentratedDP(1 / (2 * sigma2)))
    bound = sqrt(2 * sigma2 * log(2 / beta))

    def beyond(t):
        return sum(p for k, p in distribution.items() if abs(k - 5) > t)

    assert beyond(bound) + left_out <= beta
    if bound >= 2:
        assert beyond(bound / 4) > beta


# What goes in and what comes out


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


@pytest.mark.parametrize("privacy", [ApproxDP(2), ZeroConcentratedDP(1)], ids=["laplace", "gaussian"])
def test_noise_has_the_scale_that_all_levels_share(privacy):
    levels = tree_of([0] * 4000, 2**12, privacy=privacy, fan_out=64, threshold=10**6, low=None)
    assert len(levels) == 1
    levels = tree_of([0] * 4000, 2**12, privacy=privacy, fan_out=64, threshold=1, seed=3)
    noise = np.concatenate([level.counts[1:] for level in levels[1:]])
    # Two levels: Laplace of epsilon / 2 for a change of 2, or sigma2 = depth / rho.
    expected = 2 * 2**2 if isinstance(privacy, ApproxDP) else 2
    assert noise.size > 1000
    assert noise.var() == pytest.approx(expected, rel=0.2)
    assert abs(noise.mean()) < 5 * np.sqrt(expected / noise.size)


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
