"""Interior points of private numbers: method, cost and warnings are public; values are of the domain."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit.fits import ready
from dplearn.chance import SeededDice
from dplearn.domains import DomainError, Grid, IntegerRange, LargeIntegerRange
from dplearn.privacy import ApproxDP, BudgetExceededError, PrivacyLedger
from dplearn.releases.interior_point import _InteriorPoint, interior_point, interior_point_plan

HUGE = LargeIntegerRange(0, 2**4096 - 1)


def test_floats_need_no_bounds():
    point = interior_point(np.linspace(-3.5, 1e9, 400), epsilon=1, random_state=1)
    assert -3.5 <= point.value <= 1e9
    assert (point.plan.method, point.plan.n_needed) == ("exponential", 187)
    assert point.guarantee == ApproxDP(1, assumes=point.guarantee.assumes, reproducible=True)
    assert "the number of records is public" in point.guarantee.assumes


def test_auto_takes_the_recursive_method_where_the_domain_is_huge_and_delta_positive():
    values = [2**4095 + i for i in range(1000)]
    point = interior_point(values, domain=HUGE, delta=1e-6, random_state=0)
    assert (point.plan.method, point.guarantee.delta) == ("recursive", Fraction(1, 10**6))
    assert values[0] <= point.value <= values[-1]
    assert point.plan.n_needed < 1000


def test_the_exponential_method_spends_no_delta():
    point = interior_point([3] * 60, domain=IntegerRange(0, 9), delta=1e-6, random_state=0)
    assert (point.plan.method, point.guarantee.delta) == ("exponential", 0)


def test_few_records_are_warned_of_by_public_numbers_alone():
    texts = set()
    for values in ([1, 2], [9, 9]):
        with pytest.warns(UserWarning, match="2 records are fewer than the 18") as caught:
            interior_point(values, domain=IntegerRange(0, 9), random_state=0)
        texts.add(str(caught[0].message))
    assert len(texts) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        interior_point([1] * 18, domain=IntegerRange(0, 9), random_state=0)


def test_too_few_records_for_the_recursion_give_none():
    with pytest.warns(UserWarning, match="recursive method"):
        point = interior_point([1] * 5, domain=HUGE, delta=1e-6, method="recursive", random_state=0)
    assert point.value is None


def test_values_are_those_of_the_domain():
    grid = interior_point([2.5] * 200, domain=Grid(0, 10, size=5), random_state=0)
    assert grid.value == 2.5
    whole = interior_point([7] * 200, domain=IntegerRange(5, 9), random_state=0)
    assert whole.value == 7
    assert isinstance(whole.value, int)


def test_the_ledger_is_charged_before_the_draw_and_not_for_refused_values():
    ledger = PrivacyLedger(1)
    with pytest.raises(DomainError):
        interior_point([10], domain=IntegerRange(0, 9), ledger=ledger)
    assert ledger.remaining().epsilon == 1
    interior_point([5] * 30, domain=IntegerRange(0, 9), ledger=ledger)
    with pytest.raises(BudgetExceededError):
        interior_point([5] * 30, domain=IntegerRange(0, 9), ledger=ledger)


def test_a_seed_repeats_the_release_and_other_parameters_have_other_noise():
    values = list(range(100))
    seen = [
        interior_point(values, domain=IntegerRange(0, 10**6), epsilon=epsilon, random_state=5).value
        for epsilon in (1, 1, 1.001)
    ]
    assert seen[0] == seen[1] != seen[2]


def test_what_is_released_follows_the_plan():
    release = _InteriorPoint(IntegerRange(0, 99), "exponential", 1, 0, 0.05, "tight")
    found = ready(release, [40] * 50 + [60] * 50)
    assert found.plan.sizes is None
    assert found.plan == interior_point_plan(100, domain=IntegerRange(0, 99))
    assert 40 <= found.run(SeededDice(0)).value <= 60


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"method": "tree"}, ValueError, "method must be one of"),
        ({"epsilon": 0}, ValueError, "epsilon must be"),
        ({"beta": 0}, ValueError, "beta must be"),
        (
            {"method": "recursive"},
            ValueError,
            "delta with method='recursive' must be a finite number above 0",
        ),
        ({"constants": "loose"}, ValueError, "constants must be one of"),
        ({"domain": 7}, TypeError, "domain must be"),
        ({"ledger": 7}, TypeError, "ledger must be"),
        ({"values": []}, ValueError, "values must have shape"),
    ],
)
def test_a_wrong_parameter_is_named(changed, error, message):
    given = {"values": [1.0] * 5} | changed
    with pytest.raises(error, match=message):
        interior_point(given.pop("values"), **given)
