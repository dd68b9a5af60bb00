"""Events are true of the mechanisms that they stand for: exact distributions against their curves."""

import math
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest

from dplearn.kernels import decay_ratio, exp_bounds, permute_and_flip_probabilities, power_probabilities
from dplearn.privacy import (
    EVENTS,
    ApproxDP,
    Approximate,
    BoundedRange,
    Composition,
    Gaussian,
    GaussianSums,
    Parallel,
    PermuteAndFlip,
    PureDP,
    Renyi,
    SampledWithReplacement,
    ZeroConcentrated,
    ZeroConcentratedDP,
    compose,
)

ORDERS = np.array([1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 40.0, 200.0])


def divergences(p, q, orders=ORDERS):
    """Renyi divergences between two laws given as Fractions, every logarithm of an exact ratio."""
    pairs = [(a, b) for a, b in zip(p, q, strict=True) if a]
    logs = np.array([math.log(a) - math.log(b) for a, b in pairs])
    weights = np.array([float(a) for a, _ in pairs])
    exponents = np.outer(orders - 1, logs)
    top = exponents.max(axis=1, keepdims=True)
    moments = np.log((weights * np.exp(exponents - top)).sum(axis=1)) + top[:, 0]
    return moments / (orders - 1)


def test_a_curve_at_points_is_known_between_them_and_not_beyond():
    event = Renyi([2, 4], [1, "1.5"])
    # (a - 1) D: 0 at 1, 1 at 2, 4.5 at 4; chords between.
    assert event.renyi(np.array([1.5, 2, 3, 4, 4.001])) == pytest.approx([1, 1, 2.75 / 2, 1.5, np.inf])
    assert event.breakpoints == (2.0, 4.0)
    assert (event.pure, event.rho) == (None, None)


# Each kind of event against mechanisms whose distributions are written out


def responses(epsilon):
    """Randomised responses at epsilon to none, one and two of two questions about records."""
    truth = 1 / (1 + math.exp(-epsilon))
    yes, no = np.array([truth, 1 - truth]), np.array([1 - truth, truth])
    return [np.outer(a, b).ravel() for a, b in ((no, no), (yes, no), (yes, yes))]


def failing(chain, delta):
    """With probability delta it is told which of the chain's tables it was."""
    return [np.concatenate([(1 - delta) * p, delta * np.eye(len(chain))[i]]) for i, p in enumerate(chain)]


def selecting(formula, epsilon, costs=((0, 10), (1, 9), (2, 8))):
    ratio = decay_ratio(Fraction(epsilon) / 2)
    return [np.array([float(p) for p in formula(ratio, list(pair), [1, 1])]) for pair in costs]


def gaussian_chain(sigma2, shift):
    k = np.arange(-math.ceil(9 * sigma2**0.5), math.ceil(9 * sigma2**0.5) + 2 * shift + 1)
    weights = [np.exp(-((k - i * shift) ** 2) / (2 * sigma2)) for i in range(3)]
    return [weight / weight.sum() for weight in weights]


def drawn_chain(chain, m, n):
    """Of a sample of m from n records, of which 0, 1 and 2 are ones."""
    return [
        sum(math.comb(m, j) * (c / n) ** j * (1 - c / n) ** (m - j) * p for j, p in enumerate(chain[: m + 1]))
        for c in range(3)
    ]


def beside(*chains):
    """Several releases of the same table."""
    return [reduce(np.multiply.outer, laws).ravel() for laws in zip(*chains, strict=True)]


def renyi_event(chain):
    orders = (1.5, 2.0, 4.0, 16.0, 64.0)
    pairs = [(a, b) for p, q in pairwise(chain) for a, b in ((p, q), (q, p))]
    bounds = np.max([divergences(p.tolist(), q.tolist(), np.array(orders)) for p, q in pairs], axis=0)
    return Renyi(orders, bounds * (1 + 1e-9))


RESPONSES, THREE = responses(0.7), [np.array(law) / 20 for law in ((9, 6, 5), (6, 9, 5), (5, 7, 8))]
#: Of each kind, an event and a mechanism: its distributions for tables that each differ by a record.
MECHANISMS = {
    "PureDP": (PureDP(0.7), RESPONSES),
    "Approximate": (Approximate(0.7, "1e-3"), failing(RESPONSES, 1e-3)),
    "BoundedRange": (BoundedRange(1), selecting(power_probabilities, 1)),
    "PermuteAndFlip": (PermuteAndFlip(1), selecting(permute_and_flip_probabilities, 1)),
    "ZeroConcentrated": (ZeroConcentrated("1/8"), gaussian_chain(4, 1)),
    "Gaussian": (Gaussian(9, 4), gaussian_chain(9, 2)),
    "GaussianSums": (GaussianSums("1/2"), gaussian_chain(8**2 + 4, 8)),
    "Renyi": (renyi_event(THREE), THREE),
    "SampledWithReplacement": (
        SampledWithReplacement(Approximate(0.7, "1e-3"), 2, 5),
        drawn_chain(failing(RESPONSES, 1e-3), 2, 5),
    ),
    "Parallel": (
        Parallel([PureDP(0.7), BoundedRange(1), PureDP(0.1)], by="value"),
        beside(RESPONSES, selecting(power_probabilities, 1)),
    ),
    "Composition": (
        Composition({PureDP(0.7): 1, Gaussian(9, 4): 1}),
        beside(RESPONSES, gaussian_chain(9, 2)),
    ),
}


def hockey_stick(p, q, epsilon):
    """The exact delta at an epsilon, both ways."""
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))


def keeps(p, q, epsilon, delta):
    return epsilon == math.inf or hockey_stick(p, q, float(epsilon)) <= float(delta) * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("kind", EVENTS)
def test_all_theorems_are_true_of_a_mechanism_of_each_kind_alone_composed_and_for_groups(kind):
    event, chain = MECHANISMS[kind]
    assert type(event) is EVENTS[kind]
    kinds = [*MECHANISMS]
    together = [([event], chain)]
    for more, laws in (MECHANISMS[other] for other in (kind, kinds[kinds.index(kind) - 1])):
        together.append(([event, more], beside(chain, laws)))
    refuted = 0
    for delta in (Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 5)):
        for events, laws in together:
            for epsilon in compose(events).bounds(delta).values():
                assert all(keeps(p, q, epsilon, delta) for p, q in pairwise(laws))
        least = min(compose([event]).bounds(delta).values())
        if least == math.inf:
            assert event.failure > delta
            continue
        refuted += not all(keeps(p, q, Fraction(3, 4) * least, delta) for p, q in pairwise(chain))
        if delta * (1 + exp_bounds(least)[1]) < 1:
            both = ApproxDP(least, delta).for_group(2)
            assert keeps(chain[0], chain[2], both.epsilon, both.delta)
        if event.rho is not None and not event.failure:
            both = ZeroConcentratedDP(event.rho).for_group(2).to_approx(delta)
            assert keeps(chain[0], chain[2], both.epsilon, both.delta)
    assert refuted  # by an epsilon of three quarters: the mechanism nearly needs what it costs
