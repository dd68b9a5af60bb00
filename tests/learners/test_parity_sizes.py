"""Bounds on elimination hold in the smallest cases exactly, and sizes are the least that they allow."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dplearn.kernels import exp_bounds
from dplearn.theory import (
    agnostic_failure,
    elimination_failure,
    elimination_sizes,
    elimination_split,
    nonprivate_parity_sample_size,
    parity_probabilities,
    parity_sample_size,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)

epsilons = st.floats(0.05, 30)
rates = st.floats(0.01, 0.95)

HALF = Fraction(1, 2)
NONE = "None"


# The mechanism, by its definition


def dot(x, h):
    return sum(a & b for a, b in zip(x, h, strict=True)) % 2


def law_of(records, p, q):
    """The exact distribution of `consistent_parity` on records (x, y), by enumeration of the kept sets."""
    d = len(records[0][0])
    distribution = {NONE: q} | {h: Fraction(0) for h in itertools.product((0, 1), repeat=d)}
    for kept in itertools.product((0, 1), repeat=len(records)):
        chance = (1 - q) * p ** sum(kept) * (1 - p) ** (len(kept) - sum(kept))
        left = [h for h in distribution if h != NONE]
        left = [h for h in left if all(dot(x, h) == y for k, (x, y) in zip(kept, records, strict=True) if k)]
        for h in left or [NONE]:
            distribution[h] += chance / max(1, len(left))
    return distribution


@cache
def worst_ratio(p, q, n, d):
    """The greatest ratio of probabilities of an outcome, over all neighbouring sets of n records."""
    all_records = list(itertools.product(itertools.product((0, 1), repeat=d), (0, 1)))
    distributions = {z: law_of(z, p, q) for z in itertools.product(all_records, repeat=n)}
    return max(
        distribution[outcome] / distributions[other][outcome]
        for z, distribution in distributions.items()
        for record in all_records
        for other in [(record, *z[1:])]
        for outcome in distribution
    )


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3])
def test_the_worst_neighbours_cost_all_of_epsilon_and_no_more(epsilon, n, d):
    ratio = worst_ratio(*parity_probabilities(epsilon), n, d)
    assert ratio <= exp_bounds(Fraction(str(epsilon)))[0]
    assert math.log(ratio) == pytest.approx(epsilon, rel=1e-12)
    # No greater chance to keep and no smaller one to decline would do.
    keep, abstain = parity_probabilities(epsilon)
    bound = exp_bounds(Fraction(str(epsilon)))[1]
    assert worst_ratio(keep * Fraction(1001, 1000), HALF, 1, 1) > bound
    assert worst_ratio(keep, abstain * Fraction(999, 1000), 1, 1) > bound


@repeatable
@given(epsilons)
def test_both_conditions_of_the_proof_hold_with_equality_but_for_rounding(epsilon):
    keep, abstain = parity_probabilities(epsilon)
    bound = exp_bounds(Fraction(repr(epsilon)))[1]
    solutions, none = 1 + 2 * keep / (1 - keep), 1 + keep * (1 - abstain) / abstain
    assert solutions == none <= bound
    assert bound - none < (bound - 1) * Fraction(1, 2**60)


# Errata: the cost of the paper's constants


def test_at_epsilon_one_half_the_papers_chances_cost_a_quarter():
    # One record and one column: a record that nothing solves against one that only h = 1 does.
    assert worst_ratio(Fraction(1, 8), HALF, 1, 1) == Fraction(9, 7)
    assert worst_ratio(Fraction(1, 8), HALF, 2, 2) == Fraction(9, 7)
    assert math.log(9 / 7) == pytest.approx(0.2513, abs=1e-4)
    # It is private up to epsilon 3.83, and None with probability 1/2 is more than is needed at epsilon 1.
    assert float(parity_probabilities(1)[1]) == pytest.approx(0.2119, abs=1e-4)
    assert worst_ratio(Fraction(383, 400), HALF, 1, 1) <= exp_bounds(Fraction(383, 100))[0]
    assert worst_ratio(Fraction(96, 100), HALF, 1, 1) > exp_bounds(Fraction(384, 100))[1]


def test_three_failures_of_half_of_beta_are_more_than_beta_and_the_papers_number_of_parts_is_negative():
    beta = 0.1
    assert 3 * (beta / 2) > beta
    assert math.ceil(math.log(1 / (beta / 2), 3 / 4)) == -10
    assert 0.75 ** math.ceil(math.log(3 / beta) / math.log(4 / 3)) <= beta / 3


def test_too_few_records_are_kept_more_often_than_the_papers_proof_says():
    # At epsilon 1/2 each is kept with probability 1/8; fewer than n/16 are too few. exp(-epsilon n/16) is too
    # little, and Chernoff's bound is exp(-epsilon n/32).
    few = {n: binom.cdf(math.ceil(n / 16) - 1, n, 1 / 8) for n in range(1, 2000)}
    assert next(n for n in few if few[n] > math.exp(-n / 32)) == 161
    assert few[161] == pytest.approx(0.00691, abs=1e-5)
    assert math.exp(-161 / 32) == pytest.approx(0.00653, abs=1e-5)
    assert all(few[n] <= math.exp(-n / 64) for n in few)


# The lemma behind the bound


def wrong_solution(points, p, n, alpha):
    """P[a random solution of what is kept of n records errs on more than alpha], the right parity being 0."""
    d = len(next(iter(points)))
    parities = list(itertools.product((0, 1), repeat=d))
    errors = {h: sum(share for x, share in points.items() if dot(x, h)) for h in parities}
    cells = [(None, 1 - p)] + [(x, p * share) for x, share in points.items()]
    total = 0.0
    for kept in itertools.product(cells, repeat=n):
        chance = math.prod(share for _, share in kept)
        left = [h for h in parities if not any(dot(x, h) for x, _ in kept if x is not None)]
        total += chance * sum(errors[h] > alpha for h in left) / len(left)
    return total


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.5, 1, 40])
def test_a_part_is_wrong_no_more_often_than_its_bound_for_any_distribution(n, epsilon):
    keep, decline = map(float, parity_probabilities(epsilon))
    points = list(itertools.product((0, 1), repeat=2))
    tight = []
    for counts in itertools.product(range(4), repeat=4):
        if sum(counts) == 3:
            shares = {x: c / 3 for x, c in zip(points, counts, strict=True) if c}
            for alpha in (0.25, 0.5):
                exact = decline + (1 - decline) * wrong_solution(shares, keep, n, alpha)
                one = {"n_parts": 1, "part_size": n, "test_size": 0}
                bound = elimination_failure(2, **one, epsilon=epsilon, alpha=alpha)
                assert exact <= bound * (1 + 1e-9)
                tight.append(exact / bound)
    assert max(tight) > 0.1


# elimination_failure


def by_definition(d, k, size, s, epsilon, alpha):
    p, q = (float(chance) for chance in parity_probabilities(epsilon))
    r = math.exp(-epsilon / 2)

    def wrong(error):
        return min(1, 2 ** (d - 1) * (1 - p * error) ** size)

    base = np.linspace(r, 1 / (2 - r), 200)
    failures = []
    for a in alpha * np.arange(1, 64) / 64:
        u = (q + (1 - q) * wrong(a)) ** (k - 1)
        x = 1 - alpha * (1 - base) + a * (1 / base - 1)
        lost = np.minimum(1, np.minimum(x, 2) ** s / 2)
        failures.append(q**k + k * (1 - q) * wrong(alpha) * np.min(u + (1 - u) * lost))
    return min(1, *failures)


@repeatable
@given(
    st.integers(1, 20),
    st.integers(1, 6),
    st.integers(0, 400),
    st.integers(0, 200),
    epsilons,
    st.floats(0.02, 0.9),
)
def test_the_bound_is_its_formula_with_the_best_base(d, k, size, s, epsilon, alpha):
    found = elimination_failure(d, n_parts=k, part_size=size, test_size=s, epsilon=epsilon, alpha=alpha)
    grid = by_definition(d, k, size, s, epsilon, alpha)
    assert found <= grid * (1 + 1e-9)
    assert found >= grid * 0.98  # the grid of bases is fine


# elimination_sizes and elimination_split


def least_by_going_through_all(d, task, beta, most):
    for n in range(1, most):
        for k in range(1, 6):
            for s in [0] if k == 1 else range(1, n - k + 1):
                if (n - s) % k == 0:
                    sizes = {"n_parts": k, "part_size": (n - s) // k, "test_size": s}
                    if elimination_failure(d, **sizes, **task) <= beta:
                        return n
    raise AssertionError(most)


@pytest.mark.parametrize(
    ("d", "epsilon", "alpha", "beta"),
    [(1, 1, 0.5, 0.1), (2, 3, 0.6, 0.02), (4, 2, 0.9, 0.05), (1, 5, 0.5, 1e-4), (3, 10, 0.4, 0.01)],
)
def test_elimination_needs_as_few_records_as_going_through_all_sizes_finds(d, epsilon, alpha, beta):
    task = {"epsilon": epsilon, "alpha": alpha}
    sizes = elimination_sizes(d, **task, beta=beta)
    assert least_by_going_through_all(d, task, beta, sizes.n_samples + 1) == sizes.n_samples


@repeatable
@given(st.integers(1, 3000), st.integers(1, 40), epsilons, rates, st.sampled_from([0.5, 0.1, 0.01]))
def test_a_split_uses_all_records_and_from_the_needed_number_on_keeps_the_promise(n, d, epsilon, alpha, beta):
    task = {"epsilon": epsilon, "alpha": alpha}
    plan, split = elimination_sizes(d, **task, beta=beta), elimination_split(n, d, **task, beta=beta)
    assert split.n_parts * split.part_size + split.test_size == split.n_samples == n
    assert (split.test_size == 0) == (split.n_parts == 1)
    assert min(split.part_size, split.test_size) >= 0
    assert plan.failure <= beta
    for each in (plan, split):
        cut = {"n_parts": each.n_parts, "part_size": each.part_size, "test_size": each.test_size}
        assert each.failure == elimination_failure(d, **cut, **task)
    if n >= plan.n_samples:
        less = beta * plan.n_samples / n
        sharper = elimination_sizes(d, **task, beta=less)
        assert split.failure <= (less if sharper.n_samples <= n else beta)
    assert elimination_split(plan.n_samples, d, **task, beta=beta) == plan


# Sample sizes


def test_lemma_4_1_is_kept_with_a_fraction_of_its_records():
    paper = parity_sample_size(16, epsilon=0.5, alpha=0.1, beta=0.75, method="once", bound="paper")
    assert paper == math.ceil(160 * math.log(2**18)) == 1997
    assert parity_sample_size(16, epsilon=0.5, alpha=0.1, beta=0.75, method="once") == 437


def test_the_papers_elimination_needs_over_a_hundred_times_as_many_records():
    task = {"epsilon": 1, "alpha": 0.1, "beta": 0.05}
    # 15 parts of 8 * 50 (16 ln 2 + ln 4), and 50 * 15 ln(15 * 60) for the test
    assert parity_sample_size(16, **task, bound="paper") == 15 * 4991 + 5102
    assert parity_sample_size(16, **task) == 663
    assert nonprivate_parity_sample_size(16, alpha=0.1, beta=0.05) == 128


def test_the_agnostic_bound_holds_exactly_in_the_smallest_case():
    # One column, alpha below its share of ones: the parity 1 is selected against 0 with odds r**ones.
    n, share, epsilon = 20, 0.3, 1.5
    ones, r = np.arange(n + 1), math.exp(-epsilon / 2)
    exact = float(binom.pmf(ones, n, share) @ (r**ones / (1 + r**ones)))
    bound = agnostic_failure(1, n, epsilon=epsilon, alpha=share * 0.999999)
    assert bound / 2.4 < exact < bound / 2  # the bound counts two parities, and no weight of the other
