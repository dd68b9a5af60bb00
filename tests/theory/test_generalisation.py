"""From few errors on the records to few at large."""

from math import comb, exp

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

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
