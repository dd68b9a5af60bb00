"""Every mechanism's claim survives sampling through the operating system's entropy; with less noise it does
not.

What the audit enumerates is run at the privacy that it claims, which must not be refuted, and again, as its
own control, with dice that make less noise, where as many samples must refute the claim. A claim that is true
is refuted once in a million runs; each control is missed less than once in a million.
"""

from fractions import Fraction

import pytest

from dplearn.audit import Required, sample_privacy
from dplearn.audit.cases import CASES, interior_point, quantiles
from dplearn.mechanisms import WindowTerms
from dplearn.privacy import ApproxDP
from tests.laws.test_mechanisms import MECHANISMS


class LessNoise:
    """Dice that draw as if epsilon, or rho's root, were several times as great; coins fall rarely on 0."""

    def __init__(self, dice, times):
        self.dice, self.times = dice, times

    def __getattr__(self, name):
        return getattr(self.dice, name)

    def bernoulli(self, p, size=None):
        return self.dice.bernoulli(1 - (1 - Fraction(p)) ** self.times, size)

    def discrete_laplace(self, ratio, *given, **size):
        return self.dice.discrete_laplace(ratio**self.times, *given, **size)

    def geometric(self, ratio, *given, **size):
        return self.dice.geometric(ratio**self.times, *given, **size)

    def power_weighted(self, ratio, *groups):
        return self.dice.power_weighted(ratio**self.times, *groups)

    def permute_and_flip(self, ratio, *groups):
        return self.dice.permute_and_flip(ratio**self.times, *groups)

    def discrete_gaussian(self, sigma2, *given, **size):
        return self.dice.discrete_gaussian(Fraction(sigma2) / self.times**2, *given, **size)


#: Cases of claims that so few samples can refute, where those that are enumerated have greater ones.
SIZES = interior_point.tiny_sizes(0, choice=ApproxDP(1, "0.2"), comparison=1, base=1)
TERMS = WindowTerms(
    (3,), 6, Fraction(8, 5), Fraction(1, 5), reach=1, least=2, ramp=4, decay=Fraction(2, 5), zone=2
)
SMALL = {
    "recursive": interior_point.recursive_case("recursive", SIZES, (0, 7), 10, 8, required=Required()),
    "windows": quantiles.windows_case("windows", TERMS),
}
ALL = CASES | SMALL

#: From a case to two neighbours, as places in its universe, and how many times less noise is to be seen.
PAIRS = {
    "laplace_counts": ((0, 0, 1), (0, 1, 1), 4),
    "above_threshold": ((15,), (16,), 4),
    "choosing_mechanism": ((0, 0, 0, 0, 1, 1, 3, 3, 3, 3), (0, 0, 0, 0, 1, 2, 3, 3, 3, 3), 16),
    "consistent_parity": ((0, 2, 4), (0, 1, 2), 4),
    "distribution_of_three_values": ((0, 0, 0), (0, 0, 2), 4),
    "exponential_mechanism": ((1, 1, 1, 1, 6, 6, 6), (1, 1, 1, 6, 6, 6, 6), 4),
    "first_reaching": ((0, 0, 1), (0, 1, 1), 4),
    "frequent_keys": ((0, 0, 0), (0, 0, 1), 4),
    "gaussian_counts": ((0, 0), (0, 1), 4),
    "gaussian_sums": ((0, 0), (0, 1), 4),
    "interior_point_exponential": ((0, 0, 1), (0, 4, 1), 4),
    "level_of_medians": ((0, 0, 1, 3), (0, 1, 2, 3), 16),
    "most_frequent_if_stable": ((0,) * 18 + (2, 2), (0,) * 18 + (1, 2), 16),
    "permute_and_flip": ((1, 1, 6, 6), (1, 6, 6, 6), 4),
    "randomized_response": ((0, 0), (1, 0), 4),
    "recursive": ((1,) * 10, (0,) + (1,) * 9, 40),
    "sparse_vector": ((3,), (12,), 4),
    "stable_answers": ((0, 0, 0, 0, 0, 1, 1), (0, 0, 0, 0, 0, 1, 2), 4),
    "stable_histogram": ((0, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 0), 4),
    "two_quantiles": ((0, 0, 1), (0, 1, 2), 16),
    "windows": ((0, 0, 0, 1, 1, 1), (0, 0, 0, 0, 1, 1), 200),
}
#: How many samples are enough, where it is not 3,000; the first case runs with every change.
SAMPLES = {"laplace_counts": 400, "frequent_keys": 16_000}


def test_every_mechanism_is_sampled():
    assert {name for case in PAIRS for name in ALL[case].verifies} == {*MECHANISMS}


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", PAIRS)
def test_the_claim_is_not_refuted_and_with_less_noise_it_is(name):
    case, (*places, times) = ALL[name], PAIRS[name]
    pair = [tuple(case.universe[place] for place in each) for each in places]

    def careless(rows, dice):
        return case.fit(rows, LessNoise(dice, times))

    for fit, refuted in ((case.fit, False), (careless, True)):
        report = sample_privacy(fit, *pair, claim=case.claim, n_samples=SAMPLES.get(name, 3000))
        assert report.refutes == refuted, report
