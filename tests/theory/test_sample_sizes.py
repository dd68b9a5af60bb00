"""From few errors on the records to few at large.

A small database keeps its error bound, and its page shows what the calculators return.
"""

import math
import re
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, exp
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import hypergeom

from dplearn.audit import exact_distribution
from dplearn.audit.cases.small_database import query_table, small_database
from dplearn.chance import SystemDice
from dplearn.mechanisms import gaussian_counts, laplace_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.shares import concentrated_budget
from dplearn.theory import (
    generalisation_failure,
    generalisation_sample_size,
    noisy_counts_sample_size,
    small_database_sizes,
)


def test_the_failure_is_the_formula():
    wanted = 4 * sum(comb(400, i) for i in range(4)) * exp(-200 * 0.3**2 / (2 * 0.5))
    assert generalisation_failure(3, 200, alpha=0.4, empirical_alpha=0.1) == pytest.approx(wanted)


def test_consistent_thresholds_fail_far_less_often_than_the_bound():
    n = generalisation_sample_size(1, alpha=0.2, beta=0.1)
    rng, bad = np.random.default_rng(0), 0
    for _ in range(300):
        x = rng.random(n)
        # The worst threshold without error, where the target is 1/2: at the nearest record to either side.
        bad += max(x[x > 0.5].min() - 0.5, 0.5 - x[x <= 0.5].max()) > 0.2
    assert bad / 300 <= 0.1


# --- The lemmas that the proof cites, and its last step. ---


@pytest.mark.parametrize(("alpha", "seen"), [(0.2, 0), (0.3, 0.1), (0.35, 0.05)])
def test_no_number_of_errors_makes_good_first_and_bad_second_halves_likelier_than_the_bound(alpha, seen):
    n = 60
    bound = exp(-n * (alpha - seen) ** 2 / (2 * (alpha + seen)))
    found = []
    for wrong in range(2 * n + 1):
        # k of the first half wrong, k <= n * seen and wrong - k >= n * alpha
        most = min(int(n * seen + 1e-9), wrong - int(np.ceil(n * alpha - 1e-9)))
        found.append(hypergeom.cdf(most, 2 * n, wrong, n) if most >= 0 else 0.0)
    assert bound / 100 < max(found) <= bound


def test_the_bound_is_below_that_of_vapnik_on_relative_deviations():
    for alpha, seen in ((0.1, 0), (0.1, 0.05), (0.5, 0.49)):
        published = 4 * (2 * 10**4 + 1) * exp(-(10**4) * (alpha - seen) ** 2 / (4 * alpha))
        assert generalisation_failure(1, 10**4, alpha=alpha, empirical_alpha=seen) < published


PAGE = Path(__file__).parents[2] / "docs" / "theory" / "small_database.md"


@pytest.mark.parametrize(("alpha", "epsilon"), [(0.45, 4), pytest.param(0.49, 2, marks=pytest.mark.nightly)])
def test_the_error_exceeds_alpha_with_probability_at_most_beta(alpha, epsilon):
    queries, beta = query_table("points", 2), 0.2
    sizes = small_database_sizes(2, len(queries), epsilon=epsilon, alpha=alpha, beta=beta)
    n, m = sizes.n_samples, sizes.n_rows
    for ones in range(n + 1):
        rows = [0] * (n - ones) + [1] * ones
        found = exact_distribution(
            lambda dice, rows=rows: small_database(
                rows, queries, size=m, privacy=ApproxDP(epsilon), dice=dice
            )
        )
        wrong = sum(mass for seen, mass in found.masses.items() if abs(sum(seen[1]) / m - ones / n) > alpha)
        assert Fraction(wrong, found.total) <= beta


def test_no_other_number_of_rows_needs_fewer_records():
    size, queries, epsilon, alpha, beta = 16, 24, 1.0, 0.1, 0.05
    found = small_database_sizes(size, queries, epsilon=epsilon, alpha=alpha, beta=beta)

    def needed(m):
        slack = alpha - math.sqrt(math.log(2 * queries) / (2 * m))
        candidates = math.lgamma(size + m) - math.lgamma(m + 1) - math.lgamma(size)
        return math.inf if slack <= 0 else 2 * (candidates + math.log(1 / beta)) / (epsilon * slack)

    assert math.isclose(needed(found.n_rows), found.n_samples, rel_tol=1e-3)
    assert min(needed(m) for m in range(1, 20_000)) > found.n_samples - 1.001


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_noisy_counts_have_the_error_that_is_proved(delta):
    counts, moved, alpha, beta, runs = 30, 10, 0.1, 0.2, 400
    n = noisy_counts_sample_size(counts, n_moved=moved, epsilon=1, delta=delta, alpha=alpha, beta=beta)
    dice, zeros, failed = SystemDice(), np.zeros(counts, dtype=np.int64), 0
    for _ in range(runs):
        if delta:
            privacy = ZeroConcentratedDP(concentrated_budget(ApproxDP(1, delta)))
            noise = gaussian_counts(zeros, privacy=privacy, dice=dice, squared_sensitivity=moved)
        else:
            noise = laplace_counts(zeros, privacy=ApproxDP(1), dice=dice, sensitivity=moved)
        failed += int(np.abs(noise).max() > alpha * n)
    assert failed <= runs * beta + 6 * math.sqrt(runs * beta)


def test_a_small_database_has_so_many_rows_of_the_domain():
    for name, size in (("points", 3), ("thresholds", 4), ("parities", 8), ("all_queries", 3)):
        queries = query_table(name, size)
        found = small_database([size - 1] * 50, queries, size=2, privacy=ApproxDP(1000), dice=SystemDice())
        assert found in list(combinations_with_replacement(range(size), 2))
        assert (queries[:, list(found)].mean(axis=1) == queries[:, size - 1]).all()


def test_the_page_shows_what_its_code_computes():
    text = PAGE.read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    lines = []
    exec(compile(block, PAGE.name, "exec"), {"print": lambda *cells: lines.append(cells)})
    *table, (released,) = lines
    assert len(released) == 4
    assert set(released) <= {0, 1, 2, 3}
    for d, small, digits, laplace, gaussian in table:
        assert f"| {d} | {small:,} | $10^{{{digits:,}}}$ | {laplace:,} | {gaussian:,} |" in text
        assert small > laplace > gaussian
    assert [line[0] for line in table] == [4, 10, 20]
