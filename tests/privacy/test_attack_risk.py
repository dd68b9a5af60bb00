"""No attacker does better than the stated risk, and the best one does as well where that is claimed."""

import doctest
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dplearn import ApproxDP, ZeroConcentratedDP
from dplearn.kernels import exp_bounds
from dplearn.privacy import (
    Approximate,
    BoundedRange,
    Composition,
    Event,
    Gaussian,
    GaussianSums,
    PureDP,
    attack_risk,
    epsilon_for_risk,
)
from tests.privacy.test_events import MECHANISMS, failing, gaussian_chain

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
RATES = [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2)]
NEAR = Fraction(1, 10**9)


def advantage_of(yes, no):
    """The total variation distance: the advantage of an attacker who knows both distributions."""
    return sum((max(Fraction(0), yes[seen] - no.get(seen, 0)) for seen in yes), Fraction(0))


def rate_of(yes, no, rate):
    """The true positive rate of the likelihood-ratio test with a false positive rate (Neyman and Pearson)."""
    ratios = sorted(
        ((p, Fraction(no.get(seen, 0))) for seen, p in yes.items() if p),
        key=lambda pair: (pair[1] > 0, -pair[0] / pair[1] if pair[1] else 0),
    )
    found, left = Fraction(0), Fraction(rate)
    for p, q in ratios:
        part = min(Fraction(1), left / q) if q else Fraction(1)
        found, left = found + part * p, left - part * q
    return found


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("0.01", 0), ("1", 0), ("4", 0), ("1", "1e-6"), ("0.5", "0.3")]
)
def test_randomised_response_with_a_failure_attains_advantage_and_rates(epsilon, delta):
    lost, factor = Fraction(delta), exp_bounds(Fraction(epsilon))[0]
    true, false = (1 - lost) * factor / (1 + factor), (1 - lost) / (1 + factor)
    yes, no = {0: lost, 1: true, 2: false, 3: 0}, {0: 0, 1: false, 2: true, 3: lost}
    risk = attack_risk(ApproxDP(epsilon, lost))
    assert 0 <= risk.advantage - advantage_of(yes, no) < NEAR
    for rate in [Fraction(0), *RATES, Fraction(1)]:
        assert 0 <= risk.true_positive_rate(rate) - rate_of(yes, no, rate) < NEAR
    if not lost:
        for prior in (Fraction(1, 2), Fraction(1, 100)):
            after = prior * true / (prior * true + (1 - prior) * false)
            assert 0 <= risk.posterior(prior) - after < NEAR
        concentrated = ZeroConcentratedDP(Fraction(epsilon) * (true - false))  # epsilon tanh(epsilon / 2)
        assert 0 <= attack_risk(concentrated).advantage - advantage_of(yes, no) < NEAR


#: Besides those of each kind, one that gives all away with probability 1/2, and else hardly anything.
ATTACKED = {
    **MECHANISMS,
    "failing": (Composition([Approximate(0, "1/2"), Gaussian(100)]), failing(gaussian_chain(100, 1), 0.5)),
}


@pytest.mark.parametrize("kind", ATTACKED)
def test_no_attacker_on_a_mechanism_of_any_kind_exceeds_the_risk_of_its_event(kind):
    event, (first, second, _) = ATTACKED[kind]
    risks = [attack_risk(ApproxDP(100, "1e-3"), event)]
    if event.rho is not None and not event.failure:
        risks.append(attack_risk(ZeroConcentratedDP(event.rho)))
    for yes, no in ((first, second), (second, first)):
        order = np.argsort(np.log(np.maximum(no, 1e-300)) - np.log(np.maximum(yes, 1e-300)))
        true, false = (np.cumsum([0, *masses[order]]) for masses in (yes, no))
        for risk in risks:
            assert max(true - false) <= float(risk.advantage) + 1e-12
            for rate in (0.01, 0.3):
                at = np.flatnonzero(false <= rate)[-1]  # of outcomes that are told apart for sure, all count
                found = np.interp(rate, false[at:], true[at:])
                assert found <= float(risk.true_positive_rate(Fraction(rate))) + 1e-9


@pytest.mark.parametrize("mu", [0.01, 0.2, 1.0, 3.0])
def test_gaussian_sums_have_the_risk_of_normal_numbers(mu):
    risk = attack_risk(ApproxDP(100), GaussianSums(Fraction(mu) ** 2 / 2))
    assert float(risk.advantage) == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-9)
    for rate in (1e-6, 1e-3, 0.01, 0.5, 0.99):
        exact = norm.sf(norm.isf(rate) - mu)
        assert exact * (1 - 1e-12) <= float(risk.true_positive_rate(rate)) <= exact * (1 + 1e-6)
    assert risk.true_positive_rate(0) < Fraction(1, 2**70)
    assert risk.true_positive_rate(1) == 1


def test_an_event_says_more_than_its_guarantee_and_an_unknown_one_nothing():
    whole, half = attack_risk(ApproxDP(1)).advantage, attack_risk(ApproxDP(1), BoundedRange(1)).advantage
    # Two candidates whose qualities both change: a log-ratio of 1/2 each way, the most of bounded range 1.
    assert math.tanh(1 / 4) <= half < whole * Fraction(54, 100)
    both = attack_risk(ApproxDP(1, "1e-6"), Composition([PureDP("0.1"), Gaussian(10**6)]))
    assert attack_risk(ApproxDP("0.1")).advantage < both.advantage < Fraction(1, 10)
    assert attack_risk(ApproxDP(1), Event()).advantage == whole


def test_extreme_guarantees_have_bounds():
    for nothing in (ApproxDP(0), ZeroConcentratedDP(0)):
        risk = attack_risk(nothing)
        assert risk.advantage == 0
        assert risk.true_positive_rate("0.01") == risk.posterior("0.01") == Fraction(1, 100)
    for everything in (ApproxDP(10**9), ZeroConcentratedDP(10**9), ApproxDP(1, "0.999")):
        risk = attack_risk(everything)
        assert risk.advantage > Fraction(99, 100)
        assert risk.posterior("0.01") == 1
    tiny = attack_risk(ZeroConcentratedDP("1e-400"))
    assert Fraction(7, 10**201) < tiny.advantage < Fraction(8, 10**201)
    assert tiny.true_positive_rate("1e-3") < Fraction("1.001e-3")


@repeatable
@given(st.sampled_from(["1e-6", "0", "0.01"]), st.fractions(Fraction(1, 20), Fraction(19, 20)))
def test_the_chosen_epsilon_is_the_greatest_with_the_wanted_risk(delta, wanted):
    more = Fraction(1, 10**6)
    for kind, risk_of in (
        ({"advantage": wanted}, lambda risk: risk.advantage),
        (
            {"true_positive_rate": wanted, "false_positive_rate": wanted / 3},
            lambda risk: risk.true_positive_rate(wanted / 3),
        ),
        ({"posterior": wanted, "prior": wanted / 3}, lambda risk: risk.posterior(wanted / 3)),
    ):
        epsilon = epsilon_for_risk(**kind, delta=delta)
        assert risk_of(attack_risk(ApproxDP(epsilon, delta))) <= wanted
        assert risk_of(attack_risk(ApproxDP(epsilon + more, delta))) > wanted


@repeatable
@given(st.fractions(0, 12), st.sampled_from([0, Fraction(1, 10**6), Fraction(1, 3)]))
def test_percentages_are_rounded_up(epsilon, delta):
    risk = attack_risk(ApproxDP(epsilon, delta))
    [points] = re.findall(r"at most ([\d.]+) percentage points", str(risk))
    assert risk.advantage <= Fraction(points) / 100 <= risk.advantage * Fraction(101, 100)


def test_the_examples_of_the_page_on_choosing_epsilon_run():
    page = Path(__file__).parents[2] / "docs" / "choosing_epsilon.md"
    failures, tried = doctest.testfile(str(page), module_relative=False)
    assert failures == 0
    assert tried >= 15
