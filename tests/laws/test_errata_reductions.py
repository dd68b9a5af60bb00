"""Smallest examples for `docs/errata.md`: a tail of Laplace sums, and the tree of noises of Appendix C."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.stats import gamma


def laplace_tail(n, mean):
    """P[|mean of n Laplace(1) variables| >= mean]: such a sum is a difference of two gamma variables."""
    if n == 1:
        return math.exp(-mean)
    width = 10 * math.sqrt(n)
    half, _ = quad(
        lambda x: gamma.pdf(x, n) * gamma.sf(x + n * mean, n),
        max(0, n - width),
        n + width,
        epsabs=0,
        limit=500,
    )
    return 2 * half


@pytest.mark.parametrize(("n", "mean"), [(1, 5), (200, 1), (400, 1)])
def test_a_mean_of_laplace_variables_has_a_heavier_tail_than_lemma_a_3_says(n, mean):
    stated = math.exp(-n * mean**2 / 4)
    assert laplace_tail(n, mean) > 3 * stated
    # Chernoff's bound with the moments of Laplace variables, at its best argument, holds.
    best = (math.sqrt(1 + mean**2) - 1) / mean
    assert laplace_tail(n, mean) < 2 * math.exp(-n * (best * mean + math.log(1 - best**2)))


def test_the_two_sides_of_laplace_tails_agree_with_draws():
    draws = np.random.default_rng(0).laplace(size=(200_000, 8)).mean(axis=1)
    assert np.mean(np.abs(draws) >= 1) == pytest.approx(laplace_tail(8, 1), rel=0.1)


def least_change(leaves, moved):
    """The least sum of changes of the noises of a complete tree that moves these leaves by 1 and no other."""
    levels = leaves.bit_length()
    nodes = [(level, place) for level in range(levels) for place in range(1 << level)]
    paths = np.array(
        [[leaf >> (levels - 1 - level) == place for level, place in nodes] for leaf in range(leaves)], float
    )
    target = [float(leaf in moved) for leaf in range(leaves)]
    # Positive and negative parts of each change.
    return linprog(np.ones(2 * len(nodes)), A_eq=np.hstack([paths, -paths]), b_eq=target).fun


def moved_cuts(cuts, low, high):
    """The cuts between the old and the new place of a record: these move by one."""
    return {leaf for leaf, cut in enumerate(cuts) if low < cut <= high}


@pytest.mark.parametrize("leaves", [8, 32])
def test_the_tree_of_appendix_c_moves_more_nodes_than_its_proof_counts(leaves):
    counted = 2 * (leaves.bit_length() - 1)
    spacing = 10
    regular = [spacing * (leaf + 1) for leaf in range(leaves)]
    runs = [moved_cuts(regular, regular[a] - 1, regular[b]) for a, b in combinations(range(leaves), 2)]
    assert max(least_change(leaves, run) for run in runs[:: max(1, leaves // 8)]) <= counted
    # Noise takes every second cut behind the record's new place, past all others.
    crossed = [cut + spacing * leaves * (leaf % 2) for leaf, cut in enumerate(regular)]
    moved = moved_cuts(crossed, 0, spacing * leaves)
    assert moved == {*range(0, leaves, 2)}
    assert least_change(leaves, moved) == pytest.approx(leaves / 2)
    assert (leaves / 2 > counted) == (leaves == 32)  # 16 against 10, and 4 against 6
