"""The cost of a release: converted to the budget's kind and neighbours by a theorem, or refused."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from dplearn.kernels.exact import exp_bounds
from dplearn.privacy import ApproxDP, BudgetExceededError, LedgerError, PrivacyLedger, ZeroConcentratedDP

# A label is replaced: it is neither added nor removed.
WHOM = [("replace_one", "examples"), ("replace_one", "labels"), ("add_remove", "examples")]
CASES = [(*ledger, *release) for ledger, release in product(WHOM, repeat=2)]


@pytest.mark.parametrize(("neighbors", "protects", "charged", "covered"), CASES)
@pytest.mark.parametrize(
    "kind", [lambda *w: ApproxDP("0.1", 1e-9, *w), lambda *w: ZeroConcentratedDP(0.01, *w)]
)
def test_what_is_charged_implies_what_it_costs_and_everything_else_is_refused(
    kind, neighbors, protects, charged, covered
):
    guarantee = kind(charged, covered)
    if isinstance(guarantee, ApproxDP):
        ledger = PrivacyLedger(1, 1e-6, neighbors=neighbors, protects=protects)
    else:
        ledger = PrivacyLedger.of_rho(1, neighbors=neighbors, protects=protects)
    known = charged in (neighbors, "add_remove") and covered in (protects, "examples")
    if not known:
        with pytest.raises(LedgerError, match=r"which implies no guarantee for") as refusal:
            ledger.charge(guarantee)
        sides = (neighbors, charged) if covered in (protects, "examples") else (protects, covered)
        assert all(repr(side) in str(refusal.value) for side in sides)
        assert not isinstance(refusal.value, BudgetExceededError)
        return
    cost = ledger.charge(guarantee).cost
    assert guarantee.implies(cost)
    numbers = ("epsilon", "delta") if isinstance(cost, ApproxDP) else ("rho",)
    less = {name: getattr(cost, name) * Fraction(999, 1000) for name in numbers}
    assert not guarantee.implies(replace(cost, **less))
    assert (cost.neighbors, cost.protects) == (neighbors, protects)


def test_two_steps_cost_twice_epsilon_and_more_than_twice_delta():
    ledger = PrivacyLedger(1, 1e-3)
    cost = ledger.charge(ApproxDP(0.5, 1e-4, "add_remove")).cost
    assert cost.epsilon == 1
    assert cost.delta >= (1 + exp_bounds(Fraction(1, 2))[0]) / 10**4
    with pytest.raises(BudgetExceededError, match="delta reaches 1 for the ledger's neighbors='replace_one'"):
        PrivacyLedger(10, 0.9).charge(ApproxDP(1, 0.8, "add_remove"))


def test_rho_is_charged_to_epsilon_and_a_delta_to_rho_only_by_an_explicit_conversion():
    with pytest.raises(
        LedgerError, match=r"guarantees rho, and the ledger adds epsilon and delta: .*to_approx"
    ):
        PrivacyLedger(10, 1e-6).charge(ZeroConcentratedDP(0.1))
    with pytest.raises(LedgerError, match="has a delta, epsilon 1, delta 1e-06, and the ledger adds rho"):
        PrivacyLedger.of_rho(10).charge(ApproxDP(1, 1e-6))
    ledger = PrivacyLedger(10, 1e-6)
    ledger.charge(ZeroConcentratedDP(0.1).to_approx(1e-6))
    assert ledger.remaining().delta == 0


class Generous(ApproxDP):
    """Guarantees nothing to groups, which is false."""

    def for_group(self, k):
        return ApproxDP(0)


@pytest.mark.parametrize("asked", [0.1, None, "0.1", Generous(1), ApproxDP], ids=repr)
def test_only_a_guarantee_can_be_charged(asked):
    ledger = PrivacyLedger(1)
    with pytest.raises(TypeError, match="guarantee must be an ApproxDP or ZeroConcentratedDP, got"):
        ledger.charge(asked)
    assert ledger.history() == []


def test_noise_that_can_be_drawn_again_is_refused_unless_the_ledger_was_opened_for_tests():
    seeded = ApproxDP(0.1, reproducible=True)
    with pytest.raises(LedgerError, match=r"allow_reproducible=True, for tests.*can be subtracted"):
        PrivacyLedger(1).charge(seeded)
    ledger = PrivacyLedger(1, allow_reproducible=True)
    ledger.charge(seeded)
    assert ledger.spent().reproducible
