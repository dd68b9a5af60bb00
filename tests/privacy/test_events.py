"""Events are true of the mechanisms that they stand for: exact distributions against their curves."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dplearn.audit import exact_distribution
from dplearn.chance import EnumeratingDice
from dplearn.kernels.distributions import (
    gaussian_probabilities,
    permute_and_flip_probabilities,
    power_probabilities,
)
from dplearn.kernels.exact import decay_ratio, exp_bounds
from dplearn.privacy import (
    ApproxDP,
    Approximate,
    BoundedRange,
    Event,
    Gaussian,
    Guarantee,
    PermuteAndFlip,
    PureDP,
    Renyi,
    ZeroConcentrated,
    ZeroConcentratedDP,
    event_of,
)

ORDERS = np.array([1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 40.0, 200.0])
FINE_ORDERS = 1 + np.logspace(-2, 4, 121)


def divergences(p, q, orders=ORDERS):
    """Renyi divergences between two laws given as Fractions, every logarithm of an exact ratio."""
    pairs = [(a, b) for a, b in zip(p, q, strict=True) if a]
    logs = np.array([math.log(a) - math.log(b) for a, b in pairs])
    weights = np.array([float(a) for a, _ in pairs])
    exponents = np.outer(orders - 1, logs)
    top = exponents.max(axis=1, keepdims=True)
    moments = np.log((weights * np.exp(exponents - top)).sum(axis=1)) + top[:, 0]
    return moments / (orders - 1)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(4)])
def test_randomised_response_attains_the_pure_curve(epsilon):
    z = exp_bounds(epsilon)[0]
    p = [z / (1 + z), 1 / (1 + z)]
    curve = PureDP(epsilon).renyi(ORDERS)
    assert divergences(p, p[::-1]) == pytest.approx(curve, rel=1e-9)


@pytest.mark.parametrize(
    "distribution",
    [power_probabilities, permute_and_flip_probabilities],
    ids=lambda distribution: distribution.__name__,
)
def test_selection_is_below_the_curve_charged_for_it_on_all_neighbouring_tables(distribution):
    epsilon = Fraction(1)
    ratio = decay_ratio(epsilon / 2)
    event = {power_probabilities: BoundedRange, permute_and_flip_probabilities: PermuteAndFlip}[distribution](
        epsilon
    )
    curve = event.renyi(ORDERS)
    tightness = 0.0
    for costs in product(range(4), repeat=3):
        for moves in product((-1, 0, 1), repeat=3):
            other = [cost + move for cost, move in zip(costs, moves, strict=True)]
            found = divergences(distribution(ratio, costs, [1] * 3), distribution(ratio, other, [1] * 3))
            assert (found <= curve * (1 + 1e-9)).all()
            tightness = max(tightness, (found / curve).max())
    assert tightness > 0.9


def greatest_rho(distribution, epsilon):
    """The greatest divergence / order between neighbouring costs of two candidates."""
    ratio, rho = decay_ratio(epsilon / 2), 0.0
    for gap in range(100):
        for other in range(gap - 2, gap + 3):
            p = distribution(ratio, [0, gap], [1, 1])
            q = distribution(ratio, [max(-other, 0), max(other, 0)], [1, 1])
            rho = max(rho, (divergences(p, q, FINE_ORDERS) / FINE_ORDERS).max())
    return rho


def test_permute_and_flip_is_not_of_bounded_range_so_its_rho_is_nearly_four_times_as_great():
    epsilon = Fraction(1, 10)
    flip = greatest_rho(permute_and_flip_probabilities, epsilon)
    exponential = greatest_rho(power_probabilities, epsilon)
    assert flip == pytest.approx(0.00476, abs=5e-6)
    assert float(BoundedRange(epsilon).rho) == 0.00125
    assert 3.8 * 0.00125 < flip <= float(PermuteAndFlip(epsilon).rho) == 0.005
    assert 0.99 * 0.00125 < exponential <= 0.00125


@pytest.mark.parametrize("sigma2", ["1/4", "1", "7/3", "25", "400"])
@pytest.mark.parametrize("shift", [1, 2, 3])
def test_the_discrete_gaussians_exact_divergences_are_at_most_rho_times_the_order(sigma2, shift):
    sigma2 = Fraction(sigma2)
    # Between weights exp(-k^2 / (2 sigma2)) and the same about `shift` all ratios are known in full.
    reach = math.ceil(40 * math.sqrt(sigma2)) + 450 * shift
    k = np.arange(-reach, reach + 1, dtype=float)
    s2 = float(sigma2)
    normaliser = np.log(np.exp(-k * k / (2 * s2)).sum())
    mine, theirs = -k * k / (2 * s2) - normaliser, -((k - shift) ** 2) / (2 * s2) - normaliser
    curve = Gaussian(sigma2, shift**2).renyi(ORDERS)
    for order, bound in zip(ORDERS, curve, strict=True):
        logs = order * mine - (order - 1) * theirs
        found = (np.log(np.exp(logs - logs.max()).sum()) + logs.max()) / (order - 1)
        assert found <= bound * (1 + 1e-9) + 1e-12 / (order - 1)
        if order == int(order):  # then both laws are samples of the Gaussian at the same points
            assert found == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("sigma2", [Fraction(1), Fraction(10)])
def test_the_law_that_dice_draw_agrees_with_the_gaussians_rho(sigma2):
    support, masses, left_out = gaussian_probabilities(sigma2, bits=80)
    here = dict(zip(support, masses, strict=True))
    moment = sum(
        float(p) ** 2 / float(here[k - 1]) for k, p in here.items() if k - 1 in here
    )  # order 2, exactly exp(2 rho)
    assert left_out < Fraction(1, 2**70)
    assert math.log(moment) == pytest.approx(2 * float(Gaussian(sigma2).rho), rel=1e-6)


def test_the_mixture_with_failure_is_what_an_approximate_event_says():
    epsilon, delta = Fraction(1, 2), Fraction(1, 50)
    z = exp_bounds(epsilon)[0]
    event = Approximate(epsilon, delta)
    assert (event.failure, event.pure) == (delta, epsilon)
    assert event.renyi(ORDERS).tolist() == PureDP(epsilon).renyi(ORDERS).tolist()

    def run(dice, bit):
        if dice.bernoulli(delta):
            return "failed", bit
        return dice.bernoulli(z / (1 + z)) ^ bit

    distribution, other = (exact_distribution(lambda dice, bit=bit: run(dice, bit)) for bit in (0, 1))
    excess = sum(
        max(Fraction(0), distribution.probability(seen) - z * other.probability(seen))
        for seen in distribution.masses
    )
    assert excess == delta
    assert EnumeratingDice().probability == 1


def test_a_curve_at_points_is_known_between_them_and_not_beyond():
    event = Renyi([2, 4], [1, "1.5"])
    # (a - 1) D: 0 at 1, 1 at 2, 4.5 at 4; chords between.
    assert event.renyi(np.array([1.5, 2, 3, 4, 4.001])) == pytest.approx([1, 1, 2.75 / 2, 1.5, np.inf])
    assert event.breakpoints == (2.0, 4.0)
    assert (event.pure, event.rho) == (None, None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PureDP(-1), "epsilon must be a finite number at least 0, got -1"),
        (lambda: Approximate(1, 1), "delta must be a finite number at least 0 and below 1, got 1"),
        (lambda: ZeroConcentrated("x"), "rho must be a finite number at least 0, got 'x'"),
        (lambda: Gaussian(0), "sigma2 must be a finite number above 0, got 0"),
        (lambda: Gaussian(1, -1), "sensitivity2 must be a finite number at least 0, got -1"),
        (lambda: Renyi([2, 3], [1]), "bounds must be as many as orders, got 1 for 2"),
        (lambda: Renyi([], []), "bounds must be as many as orders, got 0 for 0"),
        (lambda: Renyi([3, 2], [1, 1]), "orders must increase, got [3.0, 2.0]"),
        (lambda: Renyi([1], [1]), "orders must be a finite number above 1, got 1"),
    ],
)
def test_refusals_name_parameter_constraint_and_value(make, message):
    with pytest.raises(ValueError, match="must") as refusal:
        make()
    assert str(refusal.value) == message


def test_guarantees_have_events():
    assert event_of(ApproxDP(0.1)) == PureDP(0.1)
    assert event_of(ApproxDP(0.1, 1e-6)) == Approximate(0.1, 1e-6)
    assert event_of(ZeroConcentratedDP(0.1)) == ZeroConcentrated(0.1)
    assert issubclass(ZeroConcentratedDP, Guarantee)
    with pytest.raises(TypeError, match="guarantee must be an ApproxDP or a ZeroConcentratedDP, got 1"):
        event_of(1)


def test_equal_numbers_of_different_kinds_are_different_events():
    assert PureDP(1) != BoundedRange(1) != PermuteAndFlip(1)
    assert len({PureDP(1), BoundedRange(1), PermuteAndFlip(1), PureDP("1.0"), Event()}) == 4
