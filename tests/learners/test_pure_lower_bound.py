"""No private rule beats the bound, some rule for two concepts attains it, and floats round it down."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from dplearn.learners.limits import failure_of, least_of, packing_records
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from tests.learners.private_rules import best_rule, tables_of


def best_success(universe, leaves, hypotheses, good, n, share, epsilon):
    """The best chance of success of any private rule, in the worst case over the leaves: a linear program.

    A leaf has a record for each level; level 0 is drawn with probability 1 - share, the others alike.
    """
    payoffs = []
    for leaf, records in enumerate(leaves):
        levels = len(records) - 1
        chances = [1 - share, *[share / levels] * levels]
        payoffs.append(
            [
                ([records[level] for level in drawn], h, math.prod(chances[level] for level in drawn))
                for drawn in product(range(levels + 1), repeat=n)
                for h in range(len(hypotheses))
                if good[h][leaf]
            ]
        )
    return best_rule(tables_of(universe, n), universe, len(hypotheses), payoffs, epsilon)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize(("share", "epsilon"), [(0.1, 1.0), (0.4, 0.3), (0.7, 2.0)])
def test_two_concepts_are_told_apart_exactly_as_well_as_the_bound_says(n, share, epsilon):
    best = best_success(3, [(0, 1), (0, 2)], range(2), np.eye(2), n, share, epsilon)
    assert best == pytest.approx(1 - failure_of(share, 0.0, -math.inf, epsilon, n), abs=1e-7)


@pytest.mark.parametrize(
    ("n", "share", "epsilon"),
    [(1, 0.6, 1.0), (2, 0.6, 1.0), (2, 0.9, 0.4), pytest.param(3, 0.5, 1.5, marks=pytest.mark.nightly)],
)
def test_no_private_rule_beats_the_bound_for_two_levels(n, share, epsilon):
    # Records: the root, and both labels of the points x (first level), a and b (second level).
    leaves = [(0, 1 + first, 3 + 2 * first + second) for first in (0, 1) for second in (0, 1)]
    hypotheses = list(product((0, 1), repeat=3))
    mistakes = [
        [(h[0] != first) + (h[1 + first] != second) for first in (0, 1) for second in (0, 1)]
        for h in hypotheses
    ]
    for most, others in ((0, -math.inf), (1, math.log(2))):
        good = np.array(mistakes) <= most
        assert set(good.sum(axis=1)) == {1 + 2 * most}
        best = best_success(7, leaves, hypotheses, good, n, share, epsilon)
        assert best <= 1 - failure_of(share, math.log(3), others, epsilon, n) + 1e-7


def exact_failure(share, levels, mistakes, epsilon, n):
    """The bound, with every j tried."""
    counts, j = np.arange(n + 1)[:, None], np.arange(n + 1)[None]
    good = sum(math.comb(levels, i) for i in range(mistakes + 1))
    a = (2.0**levels - 1) * np.exp(-epsilon * (counts - j))
    bounds = np.where(j <= counts, (1 + a - good) / (1 + a * np.exp(epsilon * j)), 0)
    return float(binom.pmf(counts[:, 0], n, share) @ np.maximum(bounds.max(axis=1), 0))


def log_others(levels, mistakes):
    others = sum(math.comb(levels, i) for i in range(1, mistakes + 1))
    return math.log(others) if others else -math.inf


@pytest.mark.parametrize("levels", [1, 2, 5, 20, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_best_j_is_found(levels, epsilon):
    for mistakes in {0, 1, levels // 5, levels // 3} - {levels}:
        for share in (0.1, 0.5, 1.0):
            for n in (1, 10, 60):
                found = failure_of(share, math.log(2.0**levels - 1), log_others(levels, mistakes), epsilon, n)
                exact = exact_failure(share, levels, mistakes, epsilon, n)
                assert found == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_a_result_that_floats_cannot_decide_is_rounded_down():
    # Two concepts and one record: failure is exactly 1 / (1 + e) if every record tells them apart.
    exact = 1 / (1 + math.e)
    for beta, records in ((exact * (1 - 1e-9), 1), (exact * (1 - 1e-5), 2)):
        assert packing_records([(1.0, 0.0, -math.inf)], Fraction(1), Fraction(beta)) == records


def test_only_pure_guarantees_of_examples_have_a_bound():
    asked = {"dimension": 5, "alpha": 0.1, "beta": 0.1}
    assert least_of(ApproxDP(1), **asked) == 39
    for other in (
        ApproxDP(1, 1e-9),
        ApproxDP(1, protects="labels"),
        ApproxDP(1, neighbors="add_remove"),
        ZeroConcentratedDP(1),
    ):
        assert least_of(other, **asked) is None
    assert least_of(ApproxDP(1), **asked | {"dimension": 0}) is None


# learners that name the key


@pytest.mark.parametrize("delta", [0.0, 0.03])
@pytest.mark.parametrize(("keys", "n", "share"), [(3, 2, 0.4), (4, 2, 0.7), (4, 3, 0.3), (5, 2, 0.5)])
def test_no_private_rule_names_a_key_more_often(keys, n, share, delta):
    epsilon, others = 1.2, keys - 1
    payoffs = [
        [((0,) * (n - m) + (key,) * m, key - 1, binom.pmf(m, n, share)) for m in range(n + 1)]
        for key in range(1, keys)
    ]
    best = best_rule(tables_of(keys, n), keys, others, payoffs, epsilon, delta)
    excess = delta / math.expm1(epsilon)
    assert best <= 1 - failure_of(share, math.log(others - 1), -math.inf, epsilon, n, excess) + 1e-7
