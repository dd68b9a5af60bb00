"""A plan says before the release what the release then gives."""

import numpy as np
import pytest

from dplearn.domains import Floats, IntegerRange
from dplearn.releases.quantile_errors import quantile_errors
from dplearn.releases.quantile_plan import quantile_plan
from dplearn.releases.quantiles import median, quantiles

# Of few records it is said that they are few: tests/releases/test_few_records.py.


def test_the_guarantee_is_the_releases():
    domain = IntegerRange(18, 120)
    plan = quantile_plan(300, [0.25, 0.75], epsilon=0.1, domain=domain)
    released = quantiles([30] * 300, [0.25, 0.75], epsilon=0.1, domain=domain)
    assert plan.guarantee == released.guarantee
    assert plan.q == released.q


def test_errors_are_those_of_the_theory_for_the_domain():
    plan = quantile_plan(5000, [0.25, 0.75], epsilon=2, beta=0.1)
    wanted = quantile_errors([0.25, 0.75], Floats().size, 5000, epsilon=2, beta=0.1)
    assert plan.errors == tuple(wanted)
    assert all(type(error) is int for error in plan.errors)


def test_from_as_many_records_as_are_needed_no_error_exceeds_alpha():
    needed = quantile_plan(1, 0.5, alpha=0.02).n_needed
    assert max(quantile_plan(needed, 0.5).errors) <= 0.02 * needed
    assert max(quantile_plan(needed - 1, 0.5).errors) > 0.02 * (needed - 1)


def test_too_few_records_are_told_and_their_median_is_anywhere_and_enough_are_not():
    needed = quantile_plan(1).n_inside
    few, enough = quantile_plan(needed - 1), quantile_plan(needed)
    assert not few.inside
    assert enough.inside
    assert f"fewer than {needed}" in str(few)
    assert "outside the data" not in str(enough)
    spread = [median(np.full(20, 37.5), random_state=seed).value for seed in range(40)]
    assert max(np.abs(spread)) > 1e100
    kept = [median(np.full(needed, 37.5), random_state=seed).value for seed in range(40)]
    assert kept.count(37.5) >= 36


@pytest.mark.parametrize("q", [0, 1, [0, 0.5]])
def test_the_ends_are_said_to_lie_anywhere_however_many_records(q):
    plan = quantile_plan(10**9, q)
    assert plan.n_inside is None
    assert not plan.inside
    assert "for 0 or 1 may lie outside the data" in str(plan)
    assert abs(quantiles(np.full(3000, 37.5), [0], random_state=0).value) > 1e10


def test_several_are_spoken_of_as_several():
    assert str(quantile_plan(7, [0.2, 0.6])).startswith("2 quantiles of 7 records, epsilon 1.")
    assert "each is off by at most 7 ranks" in str(quantile_plan(7, [0.2, 0.6]))


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_samples", 0, ValueError),
        ("q", [0.5, 0.2], ValueError),
        ("epsilon", 0, ValueError),
        ("alpha", 0, ValueError),
        ("beta", 1, ValueError),
        ("domain", "float32", TypeError),
    ],
)
def test_parameters_are_checked_by_name(name, value, error):
    with pytest.raises(error, match=f"^{name} must"):
        quantile_plan(**{"n_samples": 10, name: value})
