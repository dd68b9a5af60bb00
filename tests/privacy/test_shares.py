"""Shares of a budget are as large as the theorems allow, and never larger."""

from fractions import Fraction

import pytest

from dplearn.privacy import (
    ApproxDP,
    BoundedRange,
    Composition,
    GaussianSums,
    PureDP,
    ZeroConcentrated,
    ZeroConcentratedDP,
    event_of,
)
from dplearn.privacy.composition import least_epsilon
from dplearn.privacy.shares import concentrated_budget, equal_epsilon, equal_shares, gaussian_budget

BUDGETS = [ApproxDP(1, 1e-6), ApproxDP("1e-3", "1e-12"), ApproxDP(50, "0.05"), ApproxDP(3, "0.9")]


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 77])
def test_so_many_equal_releases_fit_and_slightly_larger_ones_do_not(privacy, count):
    share = equal_epsilon(privacy, count)
    assert share >= privacy.epsilon / count
    assert Composition({PureDP(share): count}).total(privacy.delta).epsilon <= privacy.epsilon
    larger = Composition({PureDP(share * Fraction(1001, 1000)): count}).total(privacy.delta).epsilon
    assert larger > privacy.epsilon or share == privacy.epsilon  # the whole is the most that is tried


@pytest.mark.parametrize("privacy", [*BUDGETS, ApproxDP("1e-11", "1e-300")], ids=str)
def test_the_concentrated_budget_implies_the_other_and_slightly_more_does_not(privacy):
    rho = concentrated_budget(privacy)
    assert ZeroConcentratedDP(rho).to_approx(privacy.delta).epsilon <= privacy.epsilon
    assert ZeroConcentratedDP(rho * Fraction(1001, 1000)).to_approx(privacy.delta).epsilon > privacy.epsilon
    assert equal_epsilon(ApproxDP(1), 7) == Fraction(1, 7)
    with pytest.raises(ValueError, match="delta must be a finite number above 0"):
        concentrated_budget(ApproxDP(1))


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 77])
def test_so_many_shares_of_each_kind_fit(privacy, count):
    shares = equal_shares(privacy, count)
    assert len(shares) <= 5
    assert [share.epsilon for share in shares] == sorted({share.epsilon for share in shares}, reverse=True)
    kinds = [
        lambda share: event_of(share),
        lambda share: PureDP(share.epsilon),
        lambda share: BoundedRange(share.epsilon),
        lambda share: ZeroConcentrated(concentrated_budget(share)),
        lambda share: GaussianSums(gaussian_budget(share)),
    ]

    def fits(event):
        return least_epsilon(Composition({event: count}), privacy.delta) <= privacy.epsilon

    assert fits(event_of(shares[-1]))
    assert all(any(fits(kind(share)) for kind in kinds) for share in shares)
    assert fits(PureDP(shares[-1].epsilon))


def test_no_delta_is_spent_on_composition_for_a_tiny_gain():
    last = equal_shares(ApproxDP(1, 1e-6), 5)[-1]
    assert last == ApproxDP("0.2", "2e-7")
    assert equal_shares(ApproxDP(1), 5) == (ApproxDP("0.2"),)
    kept = ApproxDP(1, 1e-6, protects="labels", reproducible=True)
    assert {(each.protects, each.reproducible) for each in equal_shares(kept, 9)} == {("labels", True)}
