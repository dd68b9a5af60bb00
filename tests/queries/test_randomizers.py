"""Local randomisers: they draw what they say, no report tells more than epsilon, and means are right."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dplearn.audit import exact_law
from dplearn.chance import SeededDice
from dplearn.core.exact import at_most_exp
from dplearn.queries import (
    BitRandomizer,
    CategoryRandomizer,
    LaplaceRandomizer,
    LocalRandomizer,
    MeanQuery,
    VectorRandomizer,
)

ROWS = [(0, 0, 0), (2, -1, 2), (-2, 1, -2), (3, 0, 0), (-1, -2, 2)]

#: Each with values to compare, and all reports that it can give.
FINITE = {
    "bit": (BitRandomizer(-2, 3, Fraction(1)), list(range(-2, 4)), range(2)),
    "category": (CategoryRandomizer(4, Fraction(2)), list(range(4)), range(4)),
    "vector": (VectorRandomizer(3, 3, Fraction("0.5")), ROWS, range(8)),
}
LAPLACE = LaplaceRandomizer(-2, 3, Fraction(1))


def test_every_randomiser_is_tested():
    tested = {type(randomizer) for randomizer, _, _ in FINITE.values()} | {type(LAPLACE)}
    assert tested == set(LocalRandomizer.__subclasses__())


@pytest.mark.parametrize("name", FINITE)
def test_the_probabilities_are_those_of_the_draws(name):
    randomizer, values, reports = FINITE[name]
    for value in values:
        law = exact_law(lambda dice, v=value: randomizer.draw(np.array([v]), dice).tolist()[0])
        assert {report: law.probability(report) for report in law.masses} == {
            report: randomizer.probability(value, report)
            for report in reports
            if randomizer.probability(value, report)
        }
        assert sum(randomizer.probability(value, report) for report in reports) == 1
        assert randomizer.probability(value, -1) == randomizer.probability(value, len(reports)) == 0


@pytest.mark.parametrize("name", FINITE)
def test_no_report_tells_more_than_epsilon_and_some_tell_nearly_all(name):
    randomizer, values, reports = FINITE[name]
    ratios = [
        randomizer.probability(a, report) / randomizer.probability(b, report)
        for a, b in product(values, repeat=2)
        for report in reports
    ]
    assert at_most_exp(max(ratios), randomizer.epsilon)
    share = Fraction(7, 10) if name == "vector" else Fraction(999_999, 1_000_000)  # no row has a turned end
    assert not at_most_exp(max(ratios), randomizer.epsilon * share)


@pytest.mark.parametrize("name", FINITE)
def test_estimates_have_no_bias_and_the_variance_that_is_stated(name):
    randomizer, values, reports = FINITE[name]
    for value in values:
        estimates = np.array([randomizer.estimate(np.array([report])) for report in reports])
        chances = np.array([float(randomizer.probability(value, report)) for report in reports])
        mean = chances @ estimates
        wanted = np.eye(4)[value] if name == "category" else np.atleast_1d(value)
        np.testing.assert_allclose(mean, wanted, atol=1e-9)
        assert (chances @ (estimates - mean) ** 2 <= randomizer.variance * (1 + 1e-9)).all()
        assert np.ptp(estimates, axis=0).max() <= randomizer.reach * (1 + 1e-9)


def test_laplace_reports_have_the_probabilities_that_are_stated():
    total = sum(LAPLACE.probability(1, report) for report in range(-400, 400))
    assert 1 - Fraction(1, 10**20) < total < 1
    ratios = [
        LAPLACE.probability(a, r) / LAPLACE.probability(b, r)
        for a, b in product((-2, 3), repeat=2)
        for r in (-9, 0, 9)
    ]
    assert at_most_exp(max(ratios), LAPLACE.epsilon)
    assert not at_most_exp(max(ratios), LAPLACE.epsilon * Fraction(999_999, 1_000_000))
    drawn = LAPLACE.draw(np.full(20_000, 1), SeededDice(0))
    shares = np.array([(drawn == report).mean() for report in range(-4, 7)])
    wanted = np.array([float(LAPLACE.probability(1, report)) for report in range(-4, 7)])
    assert (abs(shares - wanted) < 5 * np.sqrt(wanted / len(drawn))).all()
    assert LAPLACE.estimate(drawn)[0] == drawn.mean()
    assert drawn.var() <= LAPLACE.variance


@pytest.mark.parametrize("count", [1, 40, 4000])
def test_bounds_on_laplace_means_hold_for_the_exact_moments(count):
    """Chernoff's bound at every t is at least the best one: what is stated must not be below the best."""
    noise, _ = LAPLACE.bounds(count)
    ratio = float(LAPLACE._ratio)
    log = np.log(2 / 0.01)
    ts = np.linspace(1e-4, -np.log(ratio) * 0.9999, 4000)
    moments = 2 * np.log1p(-ratio) - np.log1p(-ratio * np.exp(ts)) - np.log1p(-ratio * np.exp(-ts))
    best = ((log + count * moments) / ts).min() / count
    assert best <= noise.at(0.01) < 4 * best


@pytest.mark.parametrize("epsilon", ["0.01", 1, 5, 20])
def test_a_bit_varies_less_than_laplace_noise_for_the_worst_values(epsilon):
    query = MeanQuery(None, low=0, high=1000)
    bit, laplace = (query.randomizer(Fraction(epsilon), kind) for kind in ("bit", "laplace"))
    assert (type(bit), type(laplace)) == (BitRandomizer, LaplaceRandomizer)
    assert bit.variance < laplace.variance


@pytest.mark.parametrize("make", [BitRandomizer, LaplaceRandomizer])
def test_numbers_beyond_the_bounds_are_reported_as_if_at_them(make):
    randomizer = make(0, 4, Fraction(1))
    wild, near = (randomizer.draw(np.array(values), SeededDice(0)) for values in ([-99, 10**6], [0, 4]))
    assert wild.tolist() == near.tolist()
    assert randomizer.probability(10**6, 1) == randomizer.probability(4, 1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: BitRandomizer(1, 0, 1), ValueError, "high must be an integer from 2"),
        (lambda: LaplaceRandomizer(0, 1.5, 1), TypeError, "high must be an integer from 1"),
        (lambda: CategoryRandomizer(1, 1), ValueError, "size must be an integer at least 2, got 1"),
        (lambda: VectorRandomizer(2, 0, 1), ValueError, "norm must be an integer from 1"),
        (lambda: BitRandomizer(0, 1, 0), ValueError, "epsilon must be a finite number above 0, got 0"),
        (lambda: CategoryRandomizer(2, "x"), ValueError, "epsilon must be a finite number above 0, got 'x'"),
        (
            lambda: MeanQuery(None, low=0, high=1).randomizer(1, "bits"),
            ValueError,
            "kind must be one of 'bit', 'laplace', got 'bits'",
        ),
    ],
    ids=["range", "end", "categories", "norm", "epsilon", "text", "kind"],
)
def test_what_is_public_is_checked(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_an_epsilon_is_the_decimal_that_is_written():
    given = [BitRandomizer(0, 1, epsilon).epsilon for epsilon in (0.1, "0.1", Fraction(1, 10))]
    assert given == [Fraction(1, 10)] * 3
    assert all(isinstance(epsilon, Fraction) for epsilon in given)


def test_categories_beyond_the_last_are_reported_as_if_the_last():
    randomizer = CategoryRandomizer(3, Fraction(1))
    wild, near = (randomizer.draw(np.array(values), SeededDice(0)) for values in ([-1, 7], [0, 2]))
    assert wild.tolist() == near.tolist()
    assert randomizer.probability(7, 2) == randomizer.probability(2, 2)
