"""Both selection mechanisms, from arrays and from groups, and the best of a random number of runs."""

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from dplearn import ApproxDP
from dplearn.kernels import decay_ratio
from dplearn.mechanisms import (
    best_of_runs,
    exponential_mechanism,
    permute_and_flip,
    select_exponential,
    select_permute_and_flip,
)
from dplearn.privacy import RandomStopping
from tests.mechanisms.laws import law

MECHANISMS = [exponential_mechanism, permute_and_flip]
SELECTIONS = [select_exponential, select_permute_and_flip]
ONE = ApproxDP(1)
TABLES = list(product(range(4), repeat=3))


def law_over(mechanism, qualities, privacy=ONE, **parameters):
    return law(lambda dice: mechanism(np.array(qualities), privacy=privacy, dice=dice, **parameters))


def test_the_exponential_mechanism_follows_its_formula():
    ratio = decay_ratio(Fraction(1, 2))
    distribution = law_over(exponential_mechanism, [3, 5, 5, 0])
    weights = [ratio**2, 1, 1, ratio**5]
    assert distribution == {i: weight / sum(weights) for i, weight in enumerate(weights)}


@pytest.mark.parametrize("qualities", TABLES)
def test_permute_and_flip_is_never_worse_in_expectation(qualities):
    def expected(mechanism):
        return sum(qualities[i] * p for i, p in law_over(mechanism, qualities).items())

    assert expected(permute_and_flip) >= expected(exponential_mechanism)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)])
def test_the_accuracy_line_holds(mechanism, beta):
    # **Accuracy.** With probability 1 - beta the shortfall is at most ln(k / beta) / ln(1 / ratio).
    allowed = log(3 / beta) / -log(decay_ratio(ONE.epsilon / 2))
    for base in TABLES:
        qualities = [4 * quality for quality in base]
        distribution = law_over(mechanism, qualities)
        far = sum(p for i, p in distribution.items() if max(qualities) - qualities[i] > allowed)
        assert far <= beta


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sensitivity_stretches_the_scale(mechanism):
    narrow = law_over(mechanism, [0, 3, 1])
    wide = law_over(mechanism, [0, 6, 2], privacy=ONE, sensitivity=2)
    for i, p in narrow.items():
        # Each ratio is rounded up at about 2**-40, the one for half the rate three times as often.
        assert abs(wide[i] - p) < Fraction(1, 1 << 30)


@pytest.mark.parametrize("select", SELECTIONS)
def test_grouping_does_not_change_the_law(select):
    grouped = law(lambda dice: select([1, 3], [2, 2], privacy=ONE, dice=dice))
    single = law(lambda dice: select([1, 1, 3, 3], [1, 1, 1, 1], privacy=ONE, dice=dice)[0])
    assert sorted(grouped.values()) == sorted(single.values())


# The best of a random number of runs


def test_the_law_of_the_best_is_the_mean_power_of_the_runs_law():
    stopping, weights = RandomStopping(4, 2), (3, 1, 2)

    def run(dice):
        return dice.power_weighted(Fraction(1, 2), (0, 0, 0), weights), None

    def below(mass):
        x = Fraction(mass, 6)
        return sum(w * x**k for k, w in enumerate(stopping.weights, 1)) / sum(stopping.weights)

    found = law(lambda dice: best_of_runs(run, stopping=stopping, dice=dice)[0])
    assert found == {0: below(3), 1: below(4) - below(3), 2: 1 - below(4)}


def test_of_equal_scores_the_first_run_is_kept():
    names = iter("abcdefgh")

    class ThreeRuns:
        def power_weighted(self, ratio, exponents, multiplicities):
            return 2

    assert best_of_runs(lambda _: (7, next(names)), stopping=RandomStopping(5), dice=ThreeRuns()) == (7, "a")
