"""From few errors on the records to few at large."""

from math import comb, exp

import numpy as np
import pytest

from dplearn.theory.generalisation import generalisation_failure, generalisation_sample_size


def test_the_failure_is_the_formula():
    wanted = 4 * sum(comb(400, i) for i in range(4)) * exp(-200 * 0.3**2 / (4 * 0.4))
    assert generalisation_failure(3, 200, alpha=0.4, empirical_alpha=0.1) == pytest.approx(wanted)


@pytest.mark.parametrize("d", [0, 1, 2, 10])
@pytest.mark.parametrize(("alpha", "seen"), [(0.1, 0), (0.1, 0.05), (0.9, 0.1)])
def test_the_sample_size_is_where_it_begins_to_hold_for_good(d, alpha, seen):
    n = generalisation_sample_size(d, alpha=alpha, empirical_alpha=seen, beta=0.05)
    known = {"alpha": alpha, "empirical_alpha": seen}
    assert generalisation_failure(d, n - 1, **known) > 0.05
    assert all(generalisation_failure(d, n + k, **known) <= 0.05 for k in (0, 1, 10, 1000))


def test_thresholds_that_fit_generalise_far_more_often_than_promised():
    n = generalisation_sample_size(1, alpha=0.2, beta=0.1)
    rng, bad = np.random.default_rng(0), 0
    for _ in range(300):
        x = rng.random(n)
        # The worst threshold without error, where the target is 1/2: at the nearest record to either side.
        bad += max(x[x > 0.5].min() - 0.5, 0.5 - x[x <= 0.5].max()) > 0.2
    assert bad / 300 <= 0.1


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
