"""Noisy counts: their accuracy.

Trees of noisy counts: what is cut, what it costs, and that only released numbers decide.
"""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.kernels import decay_ratio
from dplearn.mechanisms import gaussian_counts, laplace_counts, tree_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from tests.mechanisms.laws import law, left_out

LAPLACE = (laplace_counts, ApproxDP(1))
GAUSSIAN = (gaussian_counts, ZeroConcentratedDP(1))
BOTH = pytest.mark.parametrize(("mechanism", "privacy"), [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])


def law_of(mechanism, counts, tail_bits=40, **parameters):
    """The exact distribution of what is released, as a tuple or an int, without its type."""
    return law(
        lambda dice: np.asarray(mechanism(np.array(counts), dice=dice, **parameters)).tolist(), tail_bits
    )


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
