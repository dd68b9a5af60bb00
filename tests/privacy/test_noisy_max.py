"""The cost of noisy-max answers: at least the exact one of small votes, and as published in closed form.

Tails of a difference of discrete Gaussians: never below the exact convolution, and hardly above it.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from dplearn.kernels.distributions import gaussian_probabilities
from dplearn.privacy import Gaussian
from dplearn.privacy.conversion import log_float
from dplearn.privacy.noisy_max import (
    likely_outcome_renyi,
    log_tails,
    publishable_noisy_max_cost,
    secret_log_chance_of_another,
    secret_noisy_max_epsilon,
    secret_noisy_max_renyi,
    secret_noisy_max_total,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=150)

ORDERS = np.array([1.01, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0, 20.0])

#: 250 teachers, as in the figures of Papernot et al. (2018), and some that are hard.
PATTERNS = {
    "all agree": [250] + [0] * 9,
    "a wide lead": [200, 6, 6, 6, 6, 6, 5, 5, 5, 5],
    "a lead, the rest uniform": [160] + [10] * 9,
    "sixty to forty": [150, 100] + [0] * 8,
    "flat": [25] * 10,
    "a tie": [125, 125] + [0] * 8,
    "two labels": [250, 0],
}


def published_log_q(counts, sigma):
    """The union bound with continuous noise: the difference of two has twice the variance."""
    gaps = max(counts) - np.delete(np.array(counts, dtype=float), int(np.argmax(counts)))
    return min(
        float(np.logaddexp.reduce(log_ndtr(-gaps / (sigma * math.sqrt(2))))), math.log1p(-1 / len(counts))
    )


def published_renyi(log_q, sigma, order):
    """Theorem 6 at the orders of Proposition 10, one number at a time."""
    line = order / sigma**2
    m2 = sigma * math.sqrt(-log_q)
    m1 = m2 + 1
    e1, e2 = m1 / sigma**2, m2 / sigma**2
    if m2 <= 1 or order > m1 or log_q + e2 >= 0:
        return line
    if log_q > (m2 - 1) * e2 - m2 * math.log(m1 / (m1 - 1) * m2 / (m2 - 1)):
        return line
    x = math.exp((log_q + e2) * (1 - 1 / m2))
    stays = order * math.log1p(-math.exp(log_q)) - (order - 1) * math.log1p(-x)
    moves = log_q + (order - 1) * (e1 - log_q / (m1 - 1))
    return min(line, float(np.logaddexp(stays, moves)) / (order - 1))


def distribution(counts, sigma2):
    """The distribution of the released label."""
    reach = math.ceil(14 * math.sqrt(sigma2)) + 3
    noise = np.arange(-reach, reach + 1)
    masses = np.exp(-(noise**2) / (2 * sigma2))
    masses /= masses.sum()
    values = np.arange(-reach, reach + 1 + max(counts))
    at = np.array([np.interp(values - count, noise, masses, left=0, right=0) for count in counts])
    up_to = at.cumsum(axis=1)
    below = np.pad(up_to, ((0, 0), (1, 0)))[:, :-1]  # not up_to - at: no digits are lost
    return np.array(
        [
            (at[j] * np.prod(below[:j], axis=0) * np.prod(up_to[j + 1 :], axis=0)).sum()
            for j in range(len(counts))
        ]
    )


def divergence(p, q, order):
    return float(np.logaddexp.reduce(order * np.log(p) + (1 - order) * np.log(q))) / (order - 1)


def votes(teachers, labels):
    return [c for c in product(range(teachers + 1), repeat=labels) if sum(c) == teachers]


def moved(counts):
    """All votes that one teacher can make of these."""
    for giver, taker in product(range(len(counts)), repeat=2):
        if giver != taker and counts[giver]:
            changed = list(counts)
            changed[giver] -= 1
            changed[taker] += 1
            yield tuple(changed)


@pytest.mark.parametrize("sigma2", ["1/4", "1/2", "1", "2"])
@pytest.mark.parametrize(("teachers", "labels"), [(9, 2), (7, 3)])
def test_the_bounds_are_true_of_the_exact_laws_of_all_votes_and_their_neighbours(teachers, labels, sigma2):
    sigma2 = Fraction(sigma2)
    every = votes(teachers, labels)
    bounds = secret_noisy_max_renyi(every, sigma2=sigma2, orders=ORDERS)
    distributions = {counts: distribution(counts, float(sigma2)) for counts in every}
    assert (bounds < ORDERS / float(sigma2) * 0.5).any()  # data-dependent somewhere
    for counts, row in zip(every, bounds, strict=True):
        for other in moved(counts):
            for order, bound in zip(ORDERS, row, strict=True):
                assert (
                    divergence(distributions[counts], distributions[other], order)
                    <= bound * (1 + 1e-9) + 1e-13
                )


@pytest.mark.parametrize("sigma2", ["1/50", "1/4", "1", "2", "9"])
def test_another_label_is_released_no_more_often_than_said_ties_included(sigma2):
    every = votes(8, 3)
    log_q = secret_log_chance_of_another(every, sigma2=Fraction(sigma2))
    said, others = np.exp(log_q), []
    for counts in every:
        masses = distribution(counts, float(Fraction(sigma2)))
        others.append(float(np.delete(masses, int(np.argmax(counts))).sum()))
    assert (said >= np.array(others) * (1 - 1e-12)).all()
    two = secret_log_chance_of_another(votes(8, 2), sigma2=Fraction(sigma2))
    exact = [
        np.delete(distribution(c, float(Fraction(sigma2))), int(np.argmax(c))).sum() for c in votes(8, 2)
    ]
    assert np.exp(two) == pytest.approx(exact, rel=1e-7)  # with two labels there is no union


@pytest.mark.parametrize("sigma", [5, 20, 40, 100])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_with_continuous_noise_the_curve_is_the_published_one(pattern, sigma):
    log_q = published_log_q(PATTERNS[pattern], sigma)
    ours = likely_outcome_renyi(np.array([log_q]), 1 / sigma**2, ORDERS)[0]
    published = [published_renyi(log_q, sigma, order) for order in ORDERS]
    assert ours == pytest.approx(published, rel=1e-9, abs=1e-300)
    assert (ours >= np.array(published) * (1 - 1e-11)).all()


log_qs = st.one_of(
    st.sampled_from([-math.inf, -1e300, -1e100, -745.2, -0.0, -1e-300]),
    st.floats(-12, 12).map(lambda x: -math.exp(x)),
)
rhos = st.floats(-40, 40).map(math.exp) | st.sampled_from([1e-100, 1e100])
some_orders = st.lists(st.floats(-15, 15).map(lambda x: 1 + math.exp(x)), min_size=1, max_size=6)


@repeatable
@given(st.lists(log_qs, min_size=1, max_size=6), rhos, some_orders)
def test_a_bound_is_between_nothing_and_the_cost_on_any_data_and_rises_with_likelihood_and_order(
    log_q, rho, orders
):
    bounds, slack = likely_outcome_renyi(np.sort(log_q), rho, np.sort(orders)), 1 + 1e-9
    assert bounds.shape == (len(log_q), len(orders))
    assert (bounds >= 0).all()
    assert (bounds <= np.sort(orders) * rho * (1 + 1e-12)).all()
    if not 1e-6 < rho < 30:
        return
    assert (bounds[:-1] <= bounds[1:] * slack + 1e-300).all()
    assert (bounds[:, :-1] <= bounds[:, 1:] * slack + 1e-300).all()


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("sigma2", [25, 1600, 10**4])
def test_the_secret_epsilon_is_at_most_the_publishable_one_and_near_its_least_over_orders(pattern, sigma2):
    counts = np.tile(PATTERNS[pattern], (100, 1))
    secret = secret_noisy_max_epsilon(counts, sigma2=sigma2, delta=1e-5)
    publishable = publishable_noisy_max_cost(100, sigma2).total(1e-5).epsilon
    assert 0 <= secret <= float(publishable) * (1 + 1e-15)
    orders = 1 + np.exp(np.linspace(-2, 8, 2000))
    curve = secret_noisy_max_total(counts, sigma2=sigma2, orders=orders)
    epsilons = curve + np.log(1e5 / orders) / (orders - 1) + np.log1p(-1 / orders)
    assert secret == pytest.approx(min(max(epsilons.min(), 0), float(publishable)), rel=2e-3)


def test_the_total_is_the_sum_of_all_queries_block_by_block():
    counts = np.array([[9 + i % 90, i % 7, 3] for i in range(4000)])
    rows = secret_noisy_max_renyi(counts, sigma2=50, orders=ORDERS)
    total = secret_noisy_max_total(counts, sigma2=50, orders=ORDERS)
    exact = np.array([math.fsum(column) for column in rows.T])
    assert (total >= exact).all()
    assert total == pytest.approx(exact, rel=1e-11)


def test_the_publishable_cost_is_that_of_gaussian_noise_and_does_not_look_at_votes():
    cost = publishable_noisy_max_cost(30, 1600, n_asked=100, threshold_sigma2=10_000)
    assert dict(cost.parts) == {Gaussian(1600, 2): 30, Gaussian(10_000, 1): 100}
    assert publishable_noisy_max_cost(0, 1600).rho == 0
    nothing = np.zeros((0, 3), dtype=int)
    assert secret_noisy_max_epsilon(nothing, sigma2=1, delta=1e-5) == 0
    assert secret_noisy_max_renyi(nothing, sigma2=1, orders=[2.0]).shape == (0, 1)


repeatable_tails = settings(deadline=None, derandomize=True, database=None, max_examples=100)


def exact_tails(sigma2, size):
    """Bounds on P[Y - X >= g] from the exact distribution, apart by what it leaves out."""
    support, masses, left_out = gaussian_probabilities(sigma2, bits=1200)
    distribution = dict(zip(support, masses, strict=True))
    above = [
        sum((p * distribution.get(k + g, 0) for k, p in distribution.items()), Fraction(0))
        for g in range(2 * len(distribution))
    ]
    tails = [sum(above[g:], Fraction(0)) for g in range(size)]
    return [(tail, tail + 2 * left_out) for tail in tails]


@pytest.mark.parametrize(
    "sigma2", ["1/50", "1", *[pytest.param(each, marks=pytest.mark.nightly) for each in ("1/4", "7/3")]]
)
def test_tails_enclose_the_exact_convolution_within_one_part_in_a_hundred_million(sigma2):
    exact = exact_tails(Fraction(sigma2), 8)
    ours = log_tails(float(Fraction(sigma2)), 8)
    for (low, high), log in zip(exact, ours, strict=True):
        assert high < low * (1 + Fraction(1, 10**12))
        assert log >= log_float(high)
        assert log <= log_float(low) + 1e-8


@repeatable_tails
@given(st.floats(-100, 100).map(lambda x: float(10.0**x)), st.integers(1, 300))
def test_tails_fall_and_are_probabilities_for_noise_of_any_width(sigma2, size):
    logs = log_tails(sigma2, size)
    assert logs.shape == (size,)
    assert not np.isnan(logs).any()
    assert (logs <= 0).all()
    assert (logs[1:] <= logs[:-1]).all()
