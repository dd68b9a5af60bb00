"""Laws of every privacy event, on examples; a new kind without examples fails."""

import pickle
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction
from itertools import pairwise, permutations
from math import inf

import numpy as np
import pytest

from dplearn.privacy import (
    EVENTS,
    THEOREMS,
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

ORDERS = np.array([1.0001, 1.5, 2, 10, 63.5, 1000, 1e6])
DELTAS = [Fraction(x) for x in ("1e-12", "1e-6", "1e-3", "0.5")]
_EPSILONS = (0, 0.01, 0.1, "1/3", 1, 5)
_BUDGETS = (0, "1e-9", 0.005, "1/7", 2)
_ORDERS = (1.5, 2, 8, 64)
_PARTS = [PureDP(0.1), Approximate(0.1, "1e-9"), PureDP(0.05)]
_ONE = Composition([PureDP(0.1), (BoundedRange(0.2), 3)])
_CURVE = Renyi((2, 16), ("0.01", "0.1"))
#: Examples of each kind of event, in nondecreasing order of cost.
LADDERS = {
    "PureDP": [PureDP(epsilon) for epsilon in _EPSILONS],
    "Approximate": [
        Approximate(epsilon, delta)
        for epsilon, delta in ((0.1, 0), (0.1, "1e-9"), ("1/3", "1e-9"), ("1/3", "1e-7"), (1, "3e-7"))
    ],
    "BoundedRange": [BoundedRange(epsilon) for epsilon in _EPSILONS],
    "PermuteAndFlip": [PermuteAndFlip(epsilon) for epsilon in _EPSILONS],
    "ZeroConcentrated": [ZeroConcentrated(rho) for rho in _BUDGETS],
    "Gaussian": [Gaussian(*parameters) for parameters in ((10**6,), (300,), (300, 2), ("7/3", 2))],
    "GaussianSums": [GaussianSums(budget) for budget in _BUDGETS],
    "Renyi": [Renyi(_ORDERS, [scale * order for order in _ORDERS]) for scale in (0.001, 0.01, 1)],
    "SampledWithReplacement": [
        SampledWithReplacement(Approximate(1, "1e-7"), m, n)
        for m, n in ((1, 1000), (10, 1000), (10, 100), (1, 1))
    ],
    "Parallel": [
        Parallel(_PARTS),
        Parallel(_PARTS, by="value"),
        Parallel([*_PARTS, Approximate(1, "1e-8")], by="value"),
    ],
    "Composition": [
        Composition([]),
        _ONE,
        Composition([_ONE, _ONE, Gaussian(100)]),
        Composition({_ONE: 2, Gaussian(100): 3, _CURVE: 1}),
        Composition({_ONE: 3, Gaussian(100): 3, _CURVE: 2, Approximate(0.1, "1e-9"): 2}),
    ],
}
EXAMPLES = [event for ladder in LADDERS.values() for event in ladder]
STEPS = [step for ladder in LADDERS.values() for step in pairwise(ladder)]
OTHERS = [Gaussian("7/3"), PureDP("1/7")]

examples = pytest.mark.parametrize("event", EXAMPLES, ids=repr)
steps = pytest.mark.parametrize(("less", "more"), STEPS, ids=repr)


def or_infinite(cost):
    return inf if cost is None else cost


@pytest.mark.parametrize("kind", EVENTS.values(), ids=lambda kind: kind.__name__)
def test_every_kind_has_examples(kind):
    ladder = LADDERS[kind.__name__]
    assert len(set(ladder)) == len(ladder) >= 3
    assert all(type(event) is kind for event in ladder)


@examples
def test_events_are_frozen_values_with_exact_numbers_and_rising_curves(event):
    twin = pickle.loads(pickle.dumps(event))
    for name in (*event.__dataclass_fields__, "new"):
        with pytest.raises(FrozenInstanceError):
            setattr(event, name, 1)
    assert twin == event
    assert hash(twin) == hash(event)
    for cost in (event.failure, event.pure, event.rho):
        assert cost is None or (isinstance(cost, Fraction) and cost >= 0)
    curve = event.renyi(ORDERS)
    assert (curve.dtype, curve.shape) == (np.float64, ORDERS.shape)
    assert (curve >= 0).all()
    assert all(low <= high * (1 + 1e-12) for low, high in pairwise(curve))
    assert (curve <= float(or_infinite(event.pure)) * (1 + 1e-12)).all()
    assert (curve <= float(or_infinite(event.rho)) * ORDERS * (1 + 1e-12)).all()


@examples
def test_counts_nesting_and_order_do_not_matter(event):
    for n in (0, 1, 2, 7):
        counted, listed = Composition({event: n}), compose([event] * n)
        assert counted == listed == Composition([(event, n)])
        assert hash(counted) == hash(listed)
        assert counted.bounds(DELTAS[1]) == listed.bounds(DELTAS[1])
        assert counted.failure == n * event.failure
    for delta in DELTAS[1:3]:
        for name, theorem in THEOREMS.items():
            costs = [float(theorem(each, delta)) for each in (event, compose([event]))]
            assert costs[0] == pytest.approx(costs[1], rel=1e-11), name
    nested = compose([compose([event, *OTHERS]), (compose([(event, 2), compose([event])]), 2)])
    flat = compose([(event, 7), *OTHERS])
    assert nested == flat
    assert nested.renyi(ORDERS).tolist() == flat.renyi(ORDERS).tolist()
    orders = {compose(order) for order in permutations([event, *OTHERS, compose([event, PureDP(2)])])}
    assert len(orders) == 1
    bounds = [compose(order).bounds(DELTAS[1]) for order in ([event, *OTHERS], [*OTHERS, event])]
    assert bounds[0] == bounds[1]


@steps
def test_every_number_and_every_total_rises_along_the_ladder(less, more):
    assert less.failure <= more.failure
    assert or_infinite(less.pure) <= or_infinite(more.pure)
    assert or_infinite(less.rho) <= or_infinite(more.rho)
    assert (less.renyi(ORDERS) <= more.renyi(ORDERS) * (1 + 1e-12)).all()
    for delta in DELTAS:
        assert least_epsilon(compose([(less, 3)]), delta) <= least_epsilon(compose([(more, 3)]), delta)


@examples
def test_a_total_falls_as_delta_rises_and_another_release_never_makes_it_cheaper(event):
    totals = [least_epsilon(compose([(event, 5), *OTHERS]), delta) for delta in DELTAS]
    assert all(high >= low for high, low in pairwise(totals))
    assert totals[-1] < inf
    base = compose([(event, 2)])
    for other in OTHERS:
        assert least_epsilon(base, DELTAS[1]) <= least_epsilon(compose([base, other]), DELTAS[1])
    both = compose([(event, 3), *OTHERS])
    assert both.failure == 3 * event.failure + sum(other.failure for other in OTHERS)
    if both.failure:  # what delta does not cover has no bound
        exact_failure = 1 - (1 - event.failure) ** 3 if both.failure < 1 else 1
        assert least_epsilon(both, exact_failure * (1 - Fraction(1, 2**30))) == inf
    assert least_epsilon(event, Fraction(0)) == (or_infinite(event.pure) if not event.failure else inf)


def test_an_event_that_says_nothing_has_no_bound():
    @dataclass(frozen=True, init=False)
    class Mystery(Event):
        pass

    for events in ([Mystery()], [Mystery(), PureDP(1)]):
        assert set(compose(events).bounds(0.5).values()) == {inf}
        with pytest.raises(
            ValueError, match=r"delta must be large enough for some theorem to apply, got 0\.5"
        ):
            compose(events).total(0.5)
