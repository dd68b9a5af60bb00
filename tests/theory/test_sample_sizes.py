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
from scipy.stats import binom, hypergeom

from dplearn.audit.cases.small_database import query_table, small_database
from dplearn.audit.enumeration import exact_distribution
from dplearn.chance import SystemDice
from dplearn.kernels.exact import decay_ratio
from dplearn.mechanisms import gaussian_counts, laplace_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.shares import concentrated_budget
from dplearn.theory import noisy_counts_sample_size, small_database_sizes
from dplearn.theory.sample_sizes import generalisation_failure, generalisation_sample_size


def test_the_failure_is_the_formula():
    wanted = 4 * sum(comb(400, i) for i in range(4)) * exp(-200 * 0.3**2 / (2 * 0.5))
    assert generalisation_failure(3, 200, alpha=0.4, empirical_alpha=0.1) == pytest.approx(wanted)


@pytest.mark.parametrize("d", [0, 1, 2, 10])
@pytest.mark.parametrize(("alpha", "seen"), [(0.1, 0), (0.1, 0.05), (0.9, 0.1)])
def test_the_sample_size_is_where_it_begins_to_hold_for_good(d, alpha, seen):
    n = generalisation_sample_size(d, alpha=alpha, empirical_alpha=seen, beta=0.05)
    known = {"alpha": alpha, "empirical_alpha": seen}
    assert generalisation_failure(d, n - 1, **known) > 0.05
    assert all(generalisation_failure(d, n + k, **known) <= 0.05 for k in (0, 1, 10, 1000))


def test_consistent_thresholds_fail_far_less_often_than_the_bound():
    n = generalisation_sample_size(1, alpha=0.2, beta=0.1)
    rng, bad = np.random.default_rng(0), 0
    for _ in range(300):
        x = rng.random(n)
        # The worst threshold without error, where the target is 1/2: at the nearest record to either side.
        bad += max(x[x > 0.5].min() - 0.5, 0.5 - x[x <= 0.5].max()) > 0.2
    assert bad / 300 <= 0.1


# --- The lemmas that the proof cites, and its last step. ---


def test_a_binomial_with_a_mean_above_1_reaches_it_with_probability_above_a_quarter():
    least = 1.0
    for n in range(2, 401):
        k = np.arange(1, n)
        # For p in (k / n, (k + 1) / n] the mean is reached from k + 1 on, least often near k / n.
        least = min(least, binom.sf(k, n, k / n).min())
    assert least == pytest.approx(1 / 4)  # at n = 2 as p falls to 1/2, and not attained there


@pytest.mark.parametrize("n", [1, 5, 12])
def test_halves_of_records_in_random_order_differ_as_seldom_as_hoeffding_says(n):
    for wrong in range(1, 2 * n + 1):
        k = np.arange(wrong + 1)
        chances = hypergeom.cdf(k, 2 * n, wrong, n)
        assert np.all(chances <= np.exp(-2 * np.maximum(wrong / 2 - k, 0) ** 2 / wrong) + 1e-12)


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


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"alpha": 0}, "alpha"),
        ({"alpha": 0.1, "empirical_alpha": 0.1}, "empirical_alpha"),
        ({"alpha": 0.1, "beta": 1}, "beta"),
    ],
)
def test_parameters_are_checked_by_name(given, name):
    with pytest.raises(ValueError, match=name):
        generalisation_sample_size(1, **{"beta": 0.1} | given)


PAGE = Path(__file__).parents[2] / "docs" / "theory" / "small_database.md"


@pytest.mark.parametrize(("alpha", "epsilon"), [(0.45, 4), (0.49, 2)])
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


def test_sizes_grow_with_what_is_asked():
    def n(**changed):
        given = {"domain_size": 16, "n_queries": 24, "epsilon": 1.0, "alpha": 0.1, "beta": 0.05}
        return small_database_sizes(**(given | changed)).n_samples

    assert n(domain_size=32) > n() > n(domain_size=8)
    assert n(n_queries=2**16) > n() > n(n_queries=2)
    assert n(epsilon=0.5) == pytest.approx(2 * n(), abs=2)
    assert n(alpha=0.05) > 2 * n()
    assert n(beta=0.01) > n()


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


def test_one_record_fewer_is_too_few_for_laplace_noise():
    n = noisy_counts_sample_size(30, n_moved=10, epsilon=1, alpha=0.1, beta=0.2)
    ratio = float(decay_ratio(Fraction(1, 10)))

    def failure(n):
        return 30 * 2 * ratio ** (math.floor(Fraction(n, 10)) + 1) / (1 + ratio)

    assert failure(n) <= 0.2 < failure(n - 1)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"domain_size": 1}, "domain_size"),
        ({"n_queries": 0}, "n_queries"),
        ({"epsilon": 0}, "epsilon"),
        ({"alpha": 1}, "alpha"),
        ({"beta": 0}, "beta"),
    ],
)
def test_a_bad_parameter_is_named(changed, named):
    given = {"domain_size": 16, "n_queries": 24, "epsilon": 1.0, "alpha": 0.1, "beta": 0.05}
    with pytest.raises(ValueError, match=named):
        small_database_sizes(**(given | changed))


def test_a_noisy_count_needs_one_count_that_moves():
    with pytest.raises(ValueError, match="n_moved"):
        noisy_counts_sample_size(3, n_moved=0, epsilon=1, alpha=0.1, beta=0.05)


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
