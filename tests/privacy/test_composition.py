"""Totals: certainly valid, never below an independent exact accountant, and as low as the best theorem."""

import math
from dataclasses import dataclass, field, make_dataclass
from fractions import Fraction
from functools import reduce
from itertools import product

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.privacy import (
    THEOREMS,
    ApproxDP,
    Approximate,
    BoundedRange,
    Composition,
    Event,
    Gaussian,
    GaussianSums,
    Parallel,
    PermuteAndFlip,
    PureDP,
    Renyi,
    SampledWithReplacement,
    ZeroConcentrated,
    compose,
    least_epsilon,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=25)

SMALL = Fraction(1, 10**6)


def total(events, delta=1e-6):
    return float(compose(events).total(delta).epsilon)


def test_a_total_is_the_least_of_the_named_bounds_and_keeps_what_is_said_of_it():
    assert compose([PureDP(0.1)] * 10).total() == ApproxDP(1)
    assert compose([Approximate(0.1, 1e-7)] * 10).bounds(1e-6)["basic"] == 1
    # The failures add up to delta, of which (9 * 10 / 2) * 1e-14 is left: they may coincide.
    assert 1 - 1e-9 < compose([Approximate(0.1, 1e-7)] * 10).total(1e-6).epsilon < 1
    event = Composition({BoundedRange(0.01): 1000})
    bounds = event.bounds(1e-6)
    names = ["basic", "advanced", "optimal_homogeneous", "zero_concentrated", "renyi", "gaussian"]
    assert list(bounds) == names
    assert event.total(1e-6).epsilon == min(bounds.values()) <= 0.844
    assert total([(PermuteAndFlip(0.01), 1000)]) > 1.3
    said = {"neighbors": "add_remove", "assumes": ("n",), "reproducible": True}
    assert compose([PureDP(1)]).total(0, **said) == ApproxDP(1, **said)
    assert compose([PureDP(1)]).total(protects="labels").protects == "labels"
    assert compose([]).total() == ApproxDP(0)


@pytest.mark.parametrize(
    "event",
    [
        Composition({BoundedRange(0.6): 10}),
        Composition({BoundedRange(0.01): 1000, ZeroConcentrated("0.02"): 1}),
        Composition({PureDP(0.001): 3000, Approximate(0.1, 1e-9): 2}),
        Gaussian(40),
        GaussianSums("0.03"),
        ZeroConcentrated("0.03"),
    ],
    ids=repr,
)
def test_an_epsilon_that_is_enough_is_found_exactly_if_there_is_one(event):
    least = least_epsilon(event, SMALL)
    for share in (Fraction(1, 10), 1 - Fraction(1, 10**9), Fraction(1), 1 + Fraction(1, 10**9), Fraction(2)):
        found = least_epsilon(event, SMALL, least * share)
        assert found >= least
        assert (found <= least * share) == (share >= 1)


@pytest.mark.parametrize("rho", [Fraction(1, 10**9), Fraction(1, 30), Fraction(50)])
def test_the_curve_of_a_rho_needs_no_search(rho):
    event = compose([(ZeroConcentrated(rho), 3)])
    bounds = event.bounds(SMALL)
    assert bounds["renyi"] == bounds["zero_concentrated"]
    # A second curve, which is nowhere lower, makes the search necessary.
    orders = [1 + Fraction(10) ** power for power in range(-4, 9)]
    searched = compose([(ZeroConcentrated(rho), 3), Renyi(orders, [Fraction(0)] * len(orders))])
    assert bounds["renyi"] == pytest.approx(searched.bounds(SMALL)["renyi"], rel=1e-11)
    assert bounds["renyi"] <= searched.bounds(SMALL)["renyi"]


def test_the_sums_of_long_fractions_stay_short():
    event = compose(Gaussian(Fraction(10**6 + i, 7919)) for i in range(200))
    exact = sum(1 / (2 * one.sigma2) for one, _ in event.parts)
    assert exact <= event.rho <= exact * (1 + Fraction(1, 2**99))
    assert event.rho.denominator.bit_length() < 400
    assert compose([Gaussian(50)] * 10).rho == Fraction(1, 10)


# Against dp-accounting


# Their distributions are sums by Fourier transform in floats: what they say is good to about 1e-10.
FLOATS = 1 - 1e-9


@repeatable
@given(
    st.lists(st.sampled_from([0.01, 0.05, 0.1, 0.5]), min_size=1, max_size=40), st.sampled_from([1e-9, 1e-4])
)
def test_a_total_is_never_below_the_exact_one_of_randomised_responses(epsilons, delta):
    # All losses are multiples of the interval, so nothing is lost by rounding them.
    ones = [
        pld.from_privacy_parameters(DifferentialPrivacyParameters(e, 0), value_discretization_interval=0.01)
        for e in epsilons
    ]
    composed = reduce(lambda one, other: one.compose(other, tail_mass_truncation=0), ones)
    theirs = composed.get_epsilon_for_delta(delta)
    ours = total((PureDP(e) for e in epsilons), delta)
    assert theirs * FLOATS <= ours <= 1.3 * theirs + 1e-9


# What wins


@pytest.mark.parametrize(
    ("events", "delta", "winner"),
    [
        ([(PureDP(0.1), 3)], 0, "basic"),
        ([(PureDP(0.1), 1000)], 1e-6, "optimal_homogeneous"),
        ([(PureDP(0.01), 500), (PureDP(0.1), 30)], 1e-6, "renyi"),
        ([(Gaussian(100), 5)], 1e-6, "gaussian"),
        ([(Gaussian(5), 1)], 1e-6, "zero_concentrated"),
        ([(BoundedRange(2), 3)], 1e-9, "basic"),
    ],
    ids=str,
)
def test_which_theorem_is_best_can_be_asked(events, delta, winner):
    bounds = compose(events).bounds(delta)
    assert bounds[winner] <= min(bounds.values()) * (1 + Fraction(1, 10**9))


# Refusals


class Inherits(PureDP):
    """Says with one more number what it costs, and inherits an equality that does not see it."""

    def __init__(self, epsilon, times):
        super().__init__(epsilon)
        object.__setattr__(self, "times", times)

    @property
    def pure(self):
        return self.times * self.epsilon


IN = {
    "composition": lambda *events: compose(events),
    "parallel": lambda *events: Parallel(events),
    "sample": lambda event, *_: SampledWithReplacement(event, 1, 10),
}


def kind(name, *fields, base=Inherits, **options):
    return make_dataclass(name, fields, bases=(base,), frozen=True, init=False, **options)


TIMES = ("times", int)
Sound = kind("Sound", TIMES)
UNSOUND = [
    (Inherits, "frozen dataclasses; Inherits itself is none"),
    (kind("SetsWhatIsNoField"), "SetsWhatIsNoField does not: times"),
    (kind("DoesNotCompare", (*TIMES, field(compare=False))), "DoesNotCompare does not: times"),
    (kind("ComparesByIdentity", TIMES, eq=False), "ComparesByIdentity itself is none"),
]


@pytest.mark.parametrize("combine", IN.values(), ids=IN)
def test_events_whose_equality_does_not_see_their_cost_are_refused(combine):
    for unsound, message in UNSOUND:
        with pytest.raises(TypeError, match=message):
            combine(unsound(1, 1), unsound(1, 50))
    with pytest.raises(TypeError, match="NeverSets does not: times"):
        combine(kind("NeverSets", TIMES, base=PureDP)(1))
    assert compose([Sound(1, 1), Sound(1, 50), Sound(1, 1)]).total().epsilon == 52
    assert Parallel([Sound(1, 1), Sound(1, 50)]).pure == 50


@dataclass(frozen=True)
class Negative(Event):
    """Certifies anything."""

    failure: Fraction = Fraction(0)
    pure: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)


@dataclass(frozen=True)
class TakesBack(PureDP):
    """Consists of a negative number of events."""

    epsilon: Fraction = Fraction(1)

    def flat(self, count):
        return {PureDP(1): -count}


def test_negative_costs_and_numbers_are_refused():
    for combine, cost in product(IN.values(), ("failure", "pure", "rho")):
        with pytest.raises(ValueError, match="nonnegative cost; one Negative has a negative one"):
            combine(Negative(**{cost: Fraction(-1, 10**9)}))
    for theorem in THEOREMS.values():
        with pytest.raises(ValueError, match="an event's failure must be at least 0, got -5"):
            theorem(Negative(failure=Fraction(-5)), SMALL)
    with pytest.raises(ValueError, match="count must be an integer at least 0, got -1"):
        compose([PureDP(1), TakesBack()])


def test_counts_beyond_all_floats_have_a_total():
    many = Composition({PureDP("1e-3"): 10**320, PureDP(0): 10**320, Renyi([2], [0]): 10**320})
    assert many.bounds(SMALL)["renyi"] == math.inf
    bounds = Composition({PureDP("1e-3"): 10**320}).bounds(SMALL)
    assert bounds["basic"] == 10**317
    # The mean loss of each is 1e-3 tanh(5e-4).
    assert 49 * 10**312 < bounds["advanced"] < 51 * 10**312
