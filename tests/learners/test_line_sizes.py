"""The sizes of lines: bounds that hold against searches, sums that agree, and bounds for pure learners."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.special import gammaln, xlogy
from scipy.stats import binom

from dplearn.learners.rules.line import PureLineBound, line_budgets
from dplearn.learners.rules.point_sizes import silences
from dplearn.theory import line_failure, pure_line_lower_bound, pure_line_sample_size


def test_budgets_add_up():
    line, point = line_budgets(1, 1e-6)
    assert (line.epsilon, point.epsilon) == (Fraction(11, 20), Fraction(9, 20))
    assert line.delta + point.delta == Fraction(1, 10**6)


def compositions(n, parts):
    """All tuples of so many nonnegative integers of sum n, as rows."""
    if parts == 1:
        return np.array([[n]])
    rest = [compositions(n - first, parts - 1) for first in range(n + 1)]
    return np.concatenate(
        [np.column_stack([np.full(len(rows), first), rows]) for first, rows in enumerate(rest)]
    )


def exact_failure(counts, masses, line, point, alpha):
    """The probability of failure for points of these masses, with all counts of all points."""
    n, total = counts[0].sum(), masses.sum()
    probabilities = np.append(masses, 1 - total)
    log_mass = gammaln(n + 1) - gammaln(counts + 1).sum(axis=1) + xlogy(counts, probabilities).sum(axis=1)
    ones = counts[:, :-1]
    quality = ones.sum(axis=1) - ones.max(axis=1)
    first, second = -np.sort(-ones, axis=1)[:, :2].T
    accurate = total - masses[ones.argmax(axis=1)] <= alpha
    silent = np.where(accurate, point[(first - second).clip(max=len(point) - 1)], 1.0)
    return float(np.sum(np.exp(log_mass) * line[quality.clip(0, len(line) - 1)] * silent))


@pytest.mark.parametrize(
    ("n", "epsilon", "delta", "alpha"), [(30, 4, 0.1, 0.25), (40, 3, 0.05, 0.3), (24, 10, 0.001, 0.3)]
)
@pytest.mark.parametrize("trials", [20, pytest.param(200, marks=pytest.mark.nightly)])
def test_no_masses_that_a_search_finds_fail_more_often_than_the_bound(n, epsilon, delta, alpha, trials):
    rng = np.random.default_rng(0)
    silent = [silences(budget) for budget in line_budgets(epsilon, delta)]
    bound = line_failure(n, epsilon=epsilon, delta=delta, alpha=alpha)
    counts = {k: compositions(n, k + 1) for k in (2, 3)}
    worst = 0.0
    for trial in range(trials):
        k = 2 + trial % 2
        total = alpha * (1.00001 if trial % 4 < 2 else rng.uniform(1.00001, 2.5))
        masses = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0, 5.0]))) * min(total, 1)
        worst = max(worst, exact_failure(counts[k], masses, *silent, alpha))
    assert worst <= bound
    assert worst > bound / 3


def test_two_points_attain_the_bound_at_epsilon_1():
    n, alpha, share, total = 1627, 0.1, 0.32, 0.0
    line, point = [silences(budget) for budget in line_budgets(1, 1e-6)]
    for ones in range(90, 250):
        j = np.arange(ones + 1)
        either = np.minimum(j, ones - j).clip(max=len(line) - 1), abs(ones - 2 * j).clip(max=len(point) - 1)
        chances = binom.pmf(ones, n, alpha) * binom.pmf(j, ones, share)
        total += float(chances @ (line[either[0]] * point[either[1]]))
    assert total == pytest.approx(line_failure(n, epsilon=1, delta=1e-6, alpha=alpha), rel=2e-3)


@pytest.mark.parametrize("p", [2, 3, 5, 101, 2**13 - 1, 2**521 - 1], ids=int.bit_length)
@pytest.mark.parametrize("epsilon", [0.1, 1, 30])
@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.1), (0.01, 0.3), (0.45, 0.5)])
def test_no_lower_bound_exceeds_what_a_pure_learner_needs(p, epsilon, alpha, beta):
    given = {"epsilon": epsilon, "alpha": alpha, "beta": beta}
    assert 0 <= pure_line_lower_bound(p, **given) <= pure_line_sample_size(p, **given)


@pytest.mark.parametrize("p", [2, 3])
def test_a_hypothesis_is_accurate_for_few_lines(p):
    """By all hypotheses on the plane: the number of lines that one is accurate for is at most V."""
    points = [(x, y) for x in range(p) for y in range(p)]
    lines = [(a, b) for a in range(p) for b in range(p) if b != 0]  # those not through (0, 0)
    on = np.array([[(a * x + b - y) % p == 0 for x, y in points] for a, b in lines])
    hypotheses = (np.arange(2 ** len(points))[:, None] >> np.arange(len(points))) & 1 == 1
    for alpha in (0.05, 0.1, 0.2):
        bounds = PureLineBound(p, 1.0, alpha)
        for mass, log_good in list(zip(bounds.masses, bounds.log_good, strict=True))[::9]:
            weights = np.where(on, mass / 2 / p, mass / 2 / (p * p - p))
            weights[:, points.index((0, 0))] += 1 - mass
            errors = np.einsum("hlx,lx->hl", (hypotheses[:, None, :] != on[None]).astype(float), weights)
            accurate = (errors <= alpha + 1e-12).sum(axis=1)
            assert accurate.max() <= exp(log_good) * (1 + 1e-9)
