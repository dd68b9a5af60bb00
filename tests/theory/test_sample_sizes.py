"""From few errors on the records to few at large; the page of small databases shows what is computed."""

import math
import re
from math import comb, exp
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import hypergeom

from dplearn.chance import SystemDice
from dplearn.kernels import least
from dplearn.mechanisms import gaussian_counts, laplace_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP, concentrated_budget
from dplearn.theory import (
    generalisation_failure,
    generalisation_sample_size,
    noisy_counts_sample_size,
    uniform_convergence_failure,
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


def test_shares_of_thresholds_converge_uniformly_at_the_bound():
    n = least(lambda n: uniform_convergence_failure(1, n, alpha=0.2) <= 0.1, 1)
    rng, bad = np.random.default_rng(0), 0
    for _ in range(300):
        x = np.sort(rng.random(n))
        bad += np.abs(x - np.arange(1, n + 1) / n).max() > 0.2
    assert bad / 300 <= 0.1
    assert uniform_convergence_failure(3, 200, alpha=0.9) == pytest.approx(
        4 * sum(comb(400, i) for i in range(4)) * exp(-200 * 0.81 / 8)
    )


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


PAGE = Path(__file__).parents[2] / "docs" / "theory" / "thresholds.md"


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


def test_the_page_shows_what_its_code_computes():
    text = PAGE.read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    lines = []
    exec(compile(block, PAGE.name, "exec"), {"print": lambda *cells: lines.append(cells)})
    *table, (released,) = lines
    assert len(released) == 4
    for d, small, digits, laplace, gaussian in table:
        assert f"| {d} | {small:,} | $10^{{{digits:,}}}$ | {laplace:,} | {gaussian:,} |" in text
        assert small > laplace > gaussian
    assert [line[0] for line in table] == [4, 10, 20]
