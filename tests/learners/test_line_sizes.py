"""The sizes of lines: bounds that hold against searches, sums that agree, and bounds for pure learners."""

from fractions import Fraction
from math import comb, exp, log

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from dplearn.learners.rules import line as line_sizes
from dplearn.learners.rules.line import line_budgets
from dplearn.theory import line_failure, line_sample_size, pure_line_lower_bound, pure_line_sample_size

USUAL = {"epsilon": 1, "delta": 1e-6, "alpha": 0.1}
PURE = {"epsilon": 1, "alpha": 0.1, "beta": 0.1}
PRIMES = (2**13 - 1, 2**61 - 1, 2**521 - 1)


def test_budgets_add_up():
    line, point = line_budgets(1, 1e-6)
    assert (line.epsilon, point.epsilon) == (Fraction(11, 20), Fraction(9, 20))
    assert line.delta + point.delta == Fraction(1, 10**6)


def test_small_epsilons_have_a_bound_that_is_nearly_as_small(monkeypatch):
    asked = {"epsilon": 3, "delta": 1e-6, "alpha": 0.3, "beta": 0.1}
    exact = line_sample_size(**asked)
    line_sizes._line_sample_size.cache_clear()
    monkeypatch.setattr(line_sizes, "_FEW", 0)
    assert exact < line_sample_size(**asked) < 1.1 * exact
    line_sizes._line_sample_size.cache_clear()


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
    silent = np.where(accurate, line_sizes._at(point, first - second), 1.0)
    return float(np.sum(np.exp(log_mass) * line_sizes._at(line, quality) * silent))


@pytest.mark.parametrize(
    ("n", "epsilon", "delta", "alpha"), [(30, 4, 0.1, 0.25), (40, 3, 0.05, 0.3), (24, 10, 0.001, 0.3)]
)
@pytest.mark.parametrize("trials", [20, pytest.param(200, marks=pytest.mark.nightly)])
def test_no_masses_that_a_search_finds_fail_more_often_than_the_bound(n, epsilon, delta, alpha, trials):
    rng = np.random.default_rng(0)
    silences = line_sizes._silences(Fraction(epsilon), Fraction(str(delta)))
    bound = line_failure(n, epsilon=epsilon, delta=delta, alpha=alpha)
    counts = {k: compositions(n, k + 1) for k in (2, 3)}
    worst = 0.0
    for trial in range(trials):
        k = 2 + trial % 2
        total = alpha * (1.00001 if trial % 4 < 2 else rng.uniform(1.00001, 2.5))
        masses = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0, 5.0]))) * min(total, 1)
        worst = max(worst, exact_failure(counts[k], masses, *silences, alpha))
    assert worst <= bound
    assert worst > bound / 3


def test_two_points_attain_the_bound_at_epsilon_1():
    n, alpha, share = 1627, 0.1, 0.32
    line, point = line_sizes._silences(Fraction(1), Fraction(1, 10**6))
    shares = line_sizes._Shares(n, alpha, line, point)
    assert shares.bound(share, share) == pytest.approx(line_failure(n, **USUAL), rel=2e-3)
    # The same sum by itself, with either point released.
    total = 0.0
    for ones in range(90, 250):
        j = np.arange(ones + 1)
        log_mass = [log(comb(n, ones)) + ones * log(alpha) + (n - ones) * log(1 - alpha)]
        log_mass = log_mass + gammaln(ones + 1) - gammaln(j + 1) - gammaln(ones - j + 1)
        log_mass = log_mass + j * log(share) + (ones - j) * log(1 - share)
        silent = line_sizes._at(line, np.minimum(j, ones - j)) * line_sizes._at(point, abs(ones - 2 * j))
        total += float(np.exp(log_mass) @ silent)
    assert total == pytest.approx(shares.bound(share, share), rel=1e-5)


def test_an_interval_of_shares_is_bounded():
    silences = line_sizes._silences(Fraction(1), Fraction(1, 10**6))
    shares = line_sizes._Shares(1600, 0.1, *silences)
    for low, high in ((0.0, 0.1), (0.25, 0.3), (0.3, 0.31), (0.4, 0.5)):
        inside = max(shares.bound(t, t) for t in np.linspace(low, high, 21))
        assert inside <= shares.bound(low, high) <= inside * (1 + 100 * (high - low)) + 1e-3


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
        bounds = line_sizes._PureBound(p, 1.0, alpha)
        for mass, log_good in list(zip(bounds._masses, bounds._log_good, strict=True))[::9]:
            weights = np.where(on, mass / 2 / p, mass / 2 / (p * p - p))
            weights[:, points.index((0, 0))] += 1 - mass
            errors = np.einsum("hlx,lx->hl", (hypotheses[:, None, :] != on[None]).astype(float), weights)
            accurate = (errors <= alpha + 1e-12).sum(axis=1)
            assert accurate.max() <= exp(log_good) * (1 + 1e-9)


def test_the_bound_on_success_is_that_of_a_plain_sum():
    bounds = line_sizes._PureBound(2**13 - 1, 1.0, 0.1)
    lines = (2**13 - 1) * (2**13 - 2)
    for n in (20, 39, 40, 60):
        plain = [
            sum(
                comb(n, k) * m**k * (1 - m) ** (n - k) * min(1, exp(good) / (1 + (lines - 1) * exp(-k)))
                for k in range(n + 1)
            )
            for m, good in zip(bounds._masses, bounds._log_good, strict=True)
        ]
        assert bounds.success(n) == pytest.approx(min(plain), rel=1e-9)
