"""Local randomisers: draws have the stated probabilities, ratios keep exp(epsilon), estimates are right."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.kernels import at_most_exp, decay_ratio, hadamard_coordinate
from dplearn.queries import (
    BitRandomizer,
    CategoryRandomizer,
    LaplaceRandomizer,
    LocalRandomizer,
    VectorRandomizer,
)
from dplearn.queries import randomizers as randomised
from tests.mechanisms.laws import law

ROWS = [(0, 0, 0), (2, -1, 2), (-2, 1, -2), (3, 0, 0), (-1, -2, 2)]

LAPLACE = LaplaceRandomizer(-2, 3, Fraction(2))

#: Each with values to compare, and all reports that it can give.
FINITE = {
    "bit": (BitRandomizer(-2, 3, Fraction(1)), list(range(-2, 4)), range(2)),
    "category": (CategoryRandomizer(4, Fraction(2)), list(range(4)), range(4)),
    "vector": (VectorRandomizer(3, 3, Fraction("0.5")), ROWS, range(8)),
    "laplace": (LAPLACE, list(range(-2, 4)), range(-87, 89)),
}


def test_every_randomiser_is_tested():
    tested = {type(randomizer) for randomizer, _, _ in FINITE.values()}
    assert tested == set(LocalRandomizer.__subclasses__())


@pytest.mark.parametrize("name", FINITE)
def test_the_probabilities_are_those_of_the_draws(name):
    randomizer, values, reports = FINITE[name]
    estimates = np.array([randomizer.estimate(np.array([report])) for report in reports])
    wild = {-2: -99, 3: 10**6} if name in ("bit", "laplace") else {0: -1, 3: 7} if name == "category" else {}
    laws = {}
    for value in values:
        given = np.array([wild.get(value, value) if wild else value])
        drawn = law(lambda dice, given=given: randomizer.draw(given, dice).tolist()[0])
        laws[value] = {report: randomizer.probability(value, report) for report in reports}
        assert drawn == {report: p for report, p in laws[value].items() if p}
        assert sum(laws[value].values()) == 1
        beyond = [randomizer.probability(value, report) for report in (reports[0] - 1, reports[-1] + 1)]
        assert beyond == [0, 0]
        if value in wild:  # numbers beyond the bounds are reported as if at them
            assert randomizer.probability(wild[value], 1) == laws[value][1]
        chances = np.array([float(p) for p in laws[value].values()])
        mean = chances @ estimates
        wanted = np.eye(4)[value] if name == "category" else np.atleast_1d(value)
        np.testing.assert_allclose(mean, wanted, atol=1e-9)
        assert (chances @ (estimates - mean) ** 2 <= randomizer.variance * (1 + 1e-9)).all()
        assert np.ptp(estimates, axis=0).max() <= randomizer.reach * (1 + 1e-9)


@pytest.mark.parametrize("name", FINITE)
def test_no_likelihood_ratio_exceeds_exp_epsilon_and_some_nearly_attain_it(name):
    randomizer, values, reports = FINITE[name]
    laws = {value: [randomizer.probability(value, report) for report in reports] for value in values}
    pairs = product(laws.values(), repeat=2)
    greatest = max(a / b for p, q in pairs for a, b in zip(p, q, strict=True))
    assert at_most_exp(greatest, randomizer.epsilon)
    share = Fraction(7, 10) if name == "vector" else Fraction(999_999, 1_000_000)  # no row reaches an end
    assert not at_most_exp(greatest, randomizer.epsilon * share)


@pytest.mark.parametrize("far", [3, 6, 20])
def test_laplace_reports_with_ends_limited_by_64_bits_are_private_and_have_the_stated_bias(monkeypatch, far):
    monkeypatch.setattr(randomised, "FAR", far)
    randomizer, values, reports = LaplaceRandomizer(-2, 3, Fraction(1)), range(-2, 4), range(-far, far + 1)
    laws, biases = {}, []
    for value in values:
        laws[value] = law(lambda dice, v=value: randomizer.draw(np.array([v]), dice).tolist()[0])
        assert laws[value] == {report: randomizer.probability(value, report) for report in reports}
        biases.append(float(abs(sum(report * p for report, p in laws[value].items()) - value)))
        assert sum((report - value) ** 2 * p for report, p in laws[value].items()) <= randomizer.variance
    pairs = product(laws.values(), repeat=2)
    greatest = max(mine[report] / theirs[report] for mine, theirs in pairs for report in reports)
    assert at_most_exp(greatest, randomizer.epsilon)
    assert randomizer.bias / 2 < max(biases) <= randomizer.bias * (1 + 1e-9)
    assert randomizer.reach == 2 * far


class FarthestDice:
    """Noise so great that only ends hold it back."""

    def __init__(self, side):
        self.side = side

    def discrete_laplace(self, ratio, low, high, size):
        return np.broadcast_to(np.asarray(high if self.side > 0 else low), size)


def ends_of(randomizer):
    """The farthest reports, which are the same for all values."""
    values = np.array([randomizer.low, 0, randomizer.high])
    [[low], [high]] = ({*randomizer.draw(values, FarthestDice(side)).tolist()} for side in (-1, 1))
    return low, high


@pytest.mark.parametrize("epsilon", ["1e-6", "1e-3", "1", "100"])
@pytest.mark.parametrize("far", [10, 1 << 40, (1 << 62) - 1])
def test_the_farthest_reports_are_the_same_for_all_values(far, epsilon):
    randomizer = LaplaceRandomizer(-far, far, epsilon)
    for report in ends_of(randomizer):
        assert far <= abs(report) < 1 << 62
        assert randomizer.probability(0, 2 * report) == 0
        assert abs(randomizer.estimate(np.array([report]))[0]) < 1 << 63


def test_noise_wider_than_64_bits_is_drawn_and_its_bias_is_in_the_bounds():
    wide = LaplaceRandomizer(-(1 << 40), 1 << 40, "1e-6")
    drawn = wide.draw(np.full(2000, 1 << 40), SeededDice(0))
    scale = (1 << 41) * 1e6
    assert 0.05 < wide.bias / scale < 0.07  # half of exp(-2.1): 2**62 is 2.1 scales away
    noise, sampling = wide.bounds(2000)
    assert noise.bias == wide.bias
    assert abs(wide.estimate(drawn)[0] - (1 << 40)) < noise.at(0.01)
    assert sampling.bias == 0
    assert LaplaceRandomizer(0, 1, 1).bias < 1e-12


def test_bits_of_the_widest_range_do_not_wrap_around():
    far = (1 << 62) - 1
    bits = BitRandomizer(-far, far, 50).draw(np.repeat([-far, far], 50), SeededDice(0))
    assert bits.tolist() == [0] * 50 + [1] * 50


def ratio_of(randomizer):
    return decay_ratio(randomizer.epsilon / (randomizer.high - randomizer.low))


def noise_moments(ratio, ts):
    """The logarithms of E exp(t Z), Z discrete Laplace noise."""
    return 2 * np.log1p(-ratio) - np.log1p(-ratio * np.exp(ts)) - np.log1p(-ratio * np.exp(-ts))


@pytest.mark.parametrize("count", [1, 40, 4000])
def test_bounds_on_laplace_means_hold_for_the_exact_moments(count):
    """Return Chernoff's bound at the best t, which the stated bound must not be below."""
    noise, _ = LAPLACE.bounds(count)
    ratio, log = float(ratio_of(LAPLACE)), np.log(2 / 0.01)
    ts = np.linspace(1e-4, -np.log(ratio) * 0.9999, 4000)
    best = ((log + count * noise_moments(ratio, ts)) / ts).min() / count
    assert best <= noise.at(0.01) < 4 * best


@pytest.mark.parametrize("far", [3, 8])
def test_ends_add_no_more_than_the_bias_to_the_moments(monkeypatch, far):
    monkeypatch.setattr(randomised, "FAR", far)
    randomizer = LaplaceRandomizer(-2, 3, Fraction(1))
    bias = randomizer.bounds(40)[0].bias
    reports, ratio = np.arange(-far, far + 1), float(ratio_of(randomizer))
    ts = np.geomspace(1e-4, -np.log(ratio) * 0.9999, 200)
    for value, side in product(range(-2, 4), (-1, 1)):
        chances = np.array([float(randomizer.probability(value, int(report))) for report in reports])
        moments = np.log(np.exp(np.multiply.outer(ts, side * (reports - value))) @ chances)
        assert (moments <= noise_moments(ratio, ts) + ts * bias + 1e-12).all()


def aligned(randomizer, coordinates, height):
    """Return a vector with that many Hadamard coordinates of that height, and all others zero."""
    size = randomizer.size
    signs = hadamard_coordinate(
        np.eye(size, dtype=int)[np.repeat(np.arange(size), size)], np.tile(range(size), size)
    )
    transformed = np.zeros(size)
    transformed[:coordinates] = height
    return np.trunc(signs.reshape(size, size) @ transformed / size).astype(int)


@pytest.mark.parametrize(
    ("size", "coordinates", "n_reports"), [(16, 1, 1), (64, 1, 1), (128, 3, 1), (64, 1, 10**7)]
)
def test_the_bias_of_clipped_coordinates_is_stated_and_attained_by_vectors_chosen_for_the_signs(
    size, coordinates, n_reports
):
    norm = 1000
    randomizer = VectorRandomizer(size, norm, Fraction(8), n_reports)
    row = aligned(randomizer, coordinates, norm * np.sqrt(size / coordinates))
    assert 0.98 * norm < np.linalg.norm(row) <= norm
    reports = np.arange(2 * size)
    chances = np.array([float(randomizer.probability(row, report)) for report in reports.tolist()])
    estimates = np.array([randomizer.estimate(np.array([report])) for report in reports])
    off = np.abs(chances @ estimates - row).max()
    assert 0.9 * randomizer.bias < off <= randomizer.bias * (1 + 1e-9)
    assert randomizer.bounds(100)[0].bias == randomizer.bias


@pytest.mark.nightly
@pytest.mark.parametrize("size", [4, 8, 16])
def test_reports_of_clipped_coordinates_have_the_probabilities_that_are_stated_and_all_of_epsilon(size):
    randomizer = VectorRandomizer(size, 100, Fraction(1))
    row = aligned(randomizer, 1, 400)
    laws = [law(lambda dice, r=each: randomizer.draw(r[None, :], dice).tolist()[0]) for each in (row, -row)]
    for found, each in zip(laws, (row, -row), strict=True):
        assert found == {report: randomizer.probability(each, report) for report in range(2 * size)}
    ratio = max(laws[0][report] / laws[1][report] for report in range(2 * size))
    assert at_most_exp(ratio, randomizer.epsilon)
    assert not at_most_exp(ratio, randomizer.epsilon * Fraction(999_999, 1_000_000))


def test_no_bias_is_left_where_coordinates_have_no_room_and_it_falls_with_the_number_of_reports():
    assert VectorRandomizer(9, 10, 1).bias == 0
    assert VectorRandomizer(10, 1000, 1).bias == 0
    biases = [VectorRandomizer(4096, 1000, 1, n_reports).bias for n_reports in 10 ** np.arange(0, 17, 2)]
    assert biases[0] == pytest.approx(76.8, abs=0.1)
    assert biases == sorted(biases, reverse=True)
    assert biases[-1] == 0
    for n_reports in (10**7, 10**9):  # and the tolerance is a quarter more than the best there is, or less
        tolerance, *others = (
            VectorRandomizer(4096, 1000, 1, n).bounds(n_reports)[0].at(0.05)
            for n in n_reports * 2 ** np.arange(0, 9)
        )
        assert min(others) < tolerance < 1.3 * min(others)


def test_a_likelihood_ratio_is_the_quotient_of_probabilities():
    randomizer = LaplaceRandomizer(0, 10, 2)
    for end in (-100, -17, 0, 3, 10, 40, *ends_of(randomizer)):
        for value, other in product((-1, 0, 1, 4, 9, 10, 11), repeat=2):
            quotient = randomizer.probability(value, end) / randomizer.probability(other, end)
            assert randomizer.likelihood_ratio(value, other, end) == quotient
    wide = LaplaceRandomizer(0, 10_000, "0.1")
    for end in ends_of(wide):  # which takes no power of a distance
        assert wide.likelihood_ratio(3, 0, end) == ratio_of(wide) ** (3 if end < 0 else -3)
