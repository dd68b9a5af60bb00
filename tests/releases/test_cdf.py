"""cdf: what it guarantees, what it refuses, what it charges, and how near it comes."""

import numpy as np
import pytest

from dplearn.audit import freeze
from dplearn.domains import DomainError, Floats, Grid, IntegerRange
from dplearn.domains.numbers import LargeIntegerRange
from dplearn.privacy import ApproxDP, BudgetExceededError, PrivacyLedger
from dplearn.releases.cdf import cdf, cdf_plan

AGES = IntegerRange(0, 120)
VALUES = [20] * 300 + [40] * 500 + [41] * 200


def test_the_guarantee_says_what_is_public_and_whether_noise_repeats():
    found = cdf(VALUES, epsilon=0.5, domain=AGES, random_state=0)
    expected = ApproxDP(
        0.5,
        assumes=("the number of records is public", "values are integers from 0 to 120"),
        reproducible=True,
    )
    assert found.guarantee == found.plan.guarantee == expected
    assert not cdf(VALUES, domain=AGES).guarantee.reproducible


def test_delta_is_promised_only_where_it_is_used():
    assert cdf_plan(1000, delta=1e-6, domain=AGES).guarantee.delta == 0
    paid = cdf_plan(1000, delta=1e-6).guarantee
    assert (paid.epsilon, paid.delta) == (1, ApproxDP(1, 1e-6).delta)


def test_an_integer_seed_repeats_the_release_and_parameters_have_noise_of_their_own():
    found = [cdf(VALUES, domain=AGES, epsilon=e, random_state=3) for e in (1, 1, 1.5)]
    seen = [freeze(each.cumulative) for each in found]
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]
    other, again = cdf(VALUES, domain=AGES), cdf(VALUES, domain=AGES)
    assert freeze(other.cumulative) != freeze(again.cumulative)


def test_a_ledger_is_charged_once_and_refuses_before_values_are_read():
    ledger = PrivacyLedger(1, 0)
    cdf(VALUES, epsilon=0.6, domain=AGES, ledger=ledger)
    assert ledger.spent().epsilon == ApproxDP(0.6).epsilon

    class Unread:
        def __array__(self, *_, **__):
            raise AssertionError("was read")

    with pytest.raises(BudgetExceededError):
        cdf(Unread(), epsilon=0.6, domain=AGES, ledger=ledger)


@pytest.mark.parametrize(
    "values", [[20, 121], [20, -1], [20.5, 3], ["20", 3], [20, None], [float("nan"), 1]], ids=str
)
def test_values_outside_the_domain_are_refused_and_nothing_is_spent(values):
    ledger = PrivacyLedger(1, 0)
    with pytest.raises(DomainError, match="a value lies outside the declared domain IntegerRange"):
        cdf(values, domain=AGES, ledger=ledger)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": 0}, ValueError, "epsilon must be a finite number at least 1e-09"),
        ({"delta": 1}, ValueError, "delta must be"),
        ({"method": "forest"}, ValueError, "method must be one of 'tree', 'blocks'"),
        ({"domain": "float32"}, TypeError, "domain must be 'float64' or a domain of numbers"),
        ({"domain": Floats(missing=True)}, ValueError, "domain must not accept missing values"),
        ({"domain": IntegerRange(0, 9, missing=True)}, ValueError, "domain must not accept missing values"),
        ({"domain": Grid(0, 9, missing=True)}, ValueError, "domain must not accept missing values"),
        ({"ledger": 3}, TypeError, "ledger must be None or a PrivacyLedger"),
        ({"random_state": "seed"}, TypeError, "random_state must be"),
    ],
    ids=[
        "epsilon",
        "delta",
        "method",
        "domain",
        "missing",
        "missing integer",
        "missing number",
        "ledger",
        "random_state",
    ],
)
def test_public_parameters_are_checked(parameters, error, message):
    with pytest.raises(error, match=message):
        cdf([1.0, 2.0], **parameters)


@pytest.mark.parametrize("values", [[], [[1, 2]], 3], ids=["none", "a table", "a number"])
def test_other_shapes_are_refused(values):
    with pytest.raises(ValueError, match="values must have shape"):
        cdf(values)


def test_nothing_private_is_left_behind():
    found = cdf(VALUES, domain=AGES, random_state=0)
    assert set(vars(found)) == {"knots", "cumulative", "least", "most", "levels", "plan"}
    assert repr(found).startswith("CDFRelease(IntegerRange(low=0, high=120")


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["pure", "approximate"])
def test_a_hundred_thousand_records_of_32_bits_are_known_to_within_half_a_percent(delta):
    size, n = 2**32, 10**5
    generator = np.random.default_rng(5)
    codes = np.clip(generator.normal(size / 2, size / 30, n), 0, size - 1).astype(np.int64)
    found = cdf(codes, delta=delta, domain=IntegerRange(0, size - 1), random_state=1)
    ordered = np.sort(codes)
    upto = np.searchsorted(ordered, ordered, "right") / n
    assert np.abs(found.cdf(ordered) - upto).max() < 0.005
    q = np.linspace(0.01, 0.99, 99)
    ranks = np.searchsorted(ordered, found.ppf(q), "right") / n
    assert np.abs(ranks - q).max() < 0.005
    low, high = found.band(beta=0.05, of="sample").at(ordered)
    assert ((low <= upto) & (upto <= high)).all()


# By blocks.


@pytest.mark.parametrize("domain", [IntegerRange(0, 2**32 - 1), Floats()], ids=["integers", "floats"])
def test_blocks_are_as_near_as_they_promise_and_bands_hold(domain):
    n = 20_000
    values = np.random.default_rng(6).lognormal(11, 2, n).astype(np.int64)
    found = cdf(values, method="blocks", domain=domain, random_state=2)
    ordered = np.sort(values)
    upto = np.searchsorted(ordered, ordered, "right") / n
    off = np.abs(found.cdf(ordered) - upto).max()
    guarantee = found.plan.error
    assert off < 0.6 * guarantee
    assert guarantee < 0.09
    low, high = found.band(beta=0.05, of="sample").at(ordered)
    assert ((low <= upto) & (upto <= high)).all()
    assert 0 < (high - low).max() < 2 * guarantee
    assert found.guarantee.delta == 0


@pytest.mark.nightly
def test_blocks_know_the_distribution_of_integers_of_thousands_of_bits():
    domain, n = LargeIntegerRange(0, 2**4096), 60_000
    values = [2**4000 + (i << 3000) for i in range(n)]
    found = cdf(values, delta=1e-6, method="blocks", domain=domain, random_state=0)
    assert found.guarantee.epsilon == 1
    assert found.guarantee.delta == ApproxDP(1, 1e-6).delta
    asked = values[:: n // 50]
    upto = (np.arange(n)[:: n // 50] + 1) / n
    guarantee = found.plan.error
    assert np.abs(found.cdf(asked) - upto).max() < guarantee < 0.2


def test_blocks_plan_for_a_number_of_records_and_say_how_many_they_need():
    with pytest.raises(ValueError, match=r"n_samples must be at least [0-9]+ for blocks"):
        cdf_plan(2, method="blocks", domain=AGES)
    ledger = PrivacyLedger(1, 0)
    with pytest.raises(ValueError, match=r"n_samples must be at least [0-9]+ for blocks"):
        cdf([20, 40], method="blocks", domain=AGES, ledger=ledger)
    assert ledger.spent().epsilon == 0


def test_blocks_charge_a_ledger_before_values_are_read():
    ledger = PrivacyLedger(1, 0)
    asked = {"epsilon": 0.6, "method": "blocks", "domain": AGES, "ledger": ledger}
    cdf(VALUES * 5, **asked)
    assert ledger.spent().epsilon == ApproxDP(0.6).epsilon
    with pytest.raises(BudgetExceededError):
        cdf(object(), **asked)


@pytest.mark.filterwarnings("error:n_samples is")
@pytest.mark.parametrize("n", [100, 2753])
def test_too_few_records_are_warned_of_before_anything_is_spent(n):
    ledger = PrivacyLedger(1)
    with pytest.raises(UserWarning, match=f"n_samples is {n}: with epsilon 1, counts among 2"):
        cdf(np.linspace(30.0, 40.0, n), ledger=ledger)  # warnings are errors here
    assert ledger.history() == []


@pytest.mark.nightly
def test_a_median_lies_among_the_records_from_the_planned_number_on_and_not_long_before():
    domain, generator = Grid(0, 100, 1001), np.random.default_rng(0)
    enough = cdf_plan(1, domain=domain).mechanism_plan.n_inside

    def share_inside(n):
        columns = generator.uniform(60, 70, (100, n))
        releases = [cdf(row, domain=domain, random_state=i) for i, row in enumerate(columns)]
        medians = [float(release.median()) for release in releases]
        return np.mean(
            [row.min() <= median <= row.max() for row, median in zip(columns, medians, strict=True)]
        )

    assert share_inside(enough) > 0.95
    assert share_inside(enough // 3) < 0.9
    assert cdf_plan(1, domain=IntegerRange(3, 3)).mechanism_plan.n_inside == 1


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("method", ["tree", "blocks"])
def test_from_as_many_records_as_are_needed_the_error_is_at_most_alpha(method, alpha):
    asked = {"method": method, "domain": AGES, "alpha": alpha}
    needed = cdf_plan(100_000, **asked).n_needed
    assert cdf_plan(needed, **asked).error <= alpha < cdf_plan(needed - 1, **asked).error


def test_no_number_of_records_makes_blocks_fail_less_often_than_they_do():
    plan = cdf_plan(100_000, method="blocks", domain=AGES, beta=0.001)
    assert (plan.error, plan.n_needed) == (1, None)
