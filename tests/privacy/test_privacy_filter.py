"""The cost of a release: converted to the budget's kind and neighbours by a theorem, or refused."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

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


def test_rho_is_charged_to_epsilon_by_an_explicit_conversion():
    ledger = PrivacyLedger(10, 1e-6)
    ledger.charge(ZeroConcentratedDP(0.1).to_approx(1e-6))
    assert ledger.remaining().delta == 0
