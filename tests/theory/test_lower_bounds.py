"""No private rule is accurate on its own records with fewer than the bound, by linear programs."""

import math
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest

from dplearn.learners.limits import least_failure
from dplearn.theory import empirical_lower_bound, interior_point_lower_bound
from dplearn.theory.sample_sizes import too_few
from tests.learners.private_rules import best_rule, tables_of


def best_success(n, points, copies, wrong, epsilon, delta):
    """The best chance of at most `wrong` errors at points with copies of one label, in the worst case.

    Records: 0 is elsewhere, then both labels of each point. No hypothesis needs to err elsewhere.
    """
    universe = 1 + 2 * points
    hypotheses = list(product((0, 1), repeat=points))
    payoffs = []
    for labels in hypotheses:
        table = [1 + 2 * v + label for v, label in enumerate(labels) for _ in range(copies)]
        table += [0] * (n - len(table))
        payoffs.append(
            [
                (tuple(sorted(table)), i, 1.0)
                for i, h in enumerate(hypotheses)
                if sum(np.not_equal(h, labels)) <= wrong
            ]
        )
    return best_rule(tables_of(universe, n), universe, len(hypotheses), payoffs, epsilon, delta)


@pytest.mark.parametrize("delta", [0.0, 0.03])
@pytest.mark.parametrize(
    ("n", "points", "copies", "wrong"),
    [
        (1, 1, 1, 0),
        (3, 1, 2, 0),
        (2, 2, 1, 0),
        (2, 2, 1, 1),
        (4, 2, 2, 1),
        (5, 1, 4, 0),
        pytest.param(3, 3, 1, 1, marks=pytest.mark.nightly),
    ],
)
def test_no_private_rule_beats_the_proof(n, points, copies, wrong, delta):
    epsilon = 0.7
    best = best_success(n, points, copies, wrong, epsilon, delta)
    apart = least_failure(np.array([copies]), 0.0, -math.inf, epsilon, delta / math.expm1(epsilon))[0]
    # The mean share of wrong points is at least `apart`, and at most 1 - best + best * wrong / points.
    assert 1 - best + best * wrong / points >= apart - 1e-7
    if points == 1:
        assert 1 - best == pytest.approx(apart, abs=1e-7)


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("vc", [1, 2, 3])
def test_with_every_smaller_number_some_table_defeats_all_rules(vc, delta):
    asked = {"epsilon": 1.3, "delta": delta, "alpha": 0.45, "beta": 0.12}
    needed = empirical_lower_bound(vc, **asked)
    assert 3 <= needed <= 6
    for n in range(1, needed):
        tried = [
            (points, copies)
            for points in range(1, vc + 1)
            for copies in range(1, n // points + 1)
            if points < vc or points * copies == n
        ]
        worst = min(
            best_success(n, points, copies, math.floor(0.45 * n / copies), 1.3, delta)
            for points, copies in tried
            if points <= 2
        )
        assert worst < 1 - asked["beta"]


DELTA = Fraction(1, 10**6)


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 1, 3, 6])
@pytest.mark.parametrize("delta", [0, 0.1])
def test_one_record_is_excluded_exactly_where_randomized_response_fails_it(size, epsilon, delta):
    right = (exp(epsilon) + (size - 1) * delta) / (exp(epsilon) + size - 1)
    for beta in (0.9 * (1 - right), 1.1 * (1 - right)):
        if 0 < beta < 1:
            bound = interior_point_lower_bound(size, epsilon=epsilon, delta=delta, beta=beta)
            assert (bound > 1) == (right < 1 - beta)


def test_the_recursion_excludes_one_more_record_as_log_star_grows():
    epsilon, beta = Fraction(1), Fraction(1, 20)
    sizes = (2, 12, 13, 2**86, 2**87, 2**65536)
    assert [too_few(size, epsilon, DELTA, beta) for size in sizes] == [1, 1, 2, 2, 3, 3]
    # Three records: P = .7311 for two codes; with bases 14 and 112 it stays below .95.
    p = exp(1) / (1 + exp(1)) + exp(1) / 14 + exp(1) / 112 + 3e-6
    assert p < 0.95
    assert 112**13 < 2**256
