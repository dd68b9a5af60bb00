"""Both selection mechanisms: their accuracy and scale, and the first of equal runs."""

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
)
from dplearn.privacy import RandomStopping
from tests.mechanisms.laws import law

MECHANISMS = [exponential_mechanism, permute_and_flip]
ONE = ApproxDP(1)
TABLES = list(product(range(4), repeat=3))


def law_over(mechanism, qualities, privacy=ONE, **parameters):
    return law(lambda dice: mechanism(np.array(qualities), privacy=privacy, dice=dice, **parameters))


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


def test_of_equal_scores_the_first_run_is_kept():
    names = iter("abcdefgh")

    class ThreeRuns:
        def power_weighted(self, ratio, exponents, multiplicities):
            return 2

    assert best_of_runs(lambda _: (7, next(names)), stopping=RandomStopping(5), dice=ThreeRuns()) == (7, "a")
