"""The bound on errors holds, on data of every kind, and falls where it should."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.core.ranks import SortedCodes
from dplearn.mechanisms.halving import codes_at_fractions
from dplearn.privacy import ApproxDP
from dplearn.theory.quantiles import quantile_errors

N, SIZE = 3000, 2**40
RNG = np.random.default_rng(0)
DATA = {
    "spread": RNG.integers(0, SIZE, N),
    "together": RNG.integers(SIZE // 2, SIZE // 2 + 5, N),
    "at the end": np.full(N, SIZE - 1),
}


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_errors_stay_within_the_bound(kind, k):
    q = [(i + 1) / (k + 1) for i in range(k)]
    bound = quantile_errors(q, SIZE, N, epsilon=2, beta=0.5)
    ranks, failures = SortedCodes(DATA[kind]), 0
    fractions = [Fraction(i + 1, k + 1) for i in range(k)]
    for seed in range(12):
        found = codes_at_fractions(ranks, SIZE, fractions, privacy=ApproxDP(2), dice=SeededDice(seed, kind))
        less, upto = np.array([ranks.count(code) for code in found]).T
        failures += bool(np.any((less > np.array(q) * N + bound) | (upto < np.array(q) * N - bound)))
    assert failures <= 6


def test_a_single_quantiles_error_is_that_of_the_exponential_mechanism():
    [error] = quantile_errors([0.5], SIZE, 10**6, epsilon=1, beta=0.05)
    assert error == pytest.approx(2 * np.log(SIZE / 0.05), abs=1)


def test_errors_fall_with_epsilon_and_grow_with_the_domain_and_certainty():
    def worst(**changed):
        given = {"size": SIZE, "n_samples": 10**6, "epsilon": 1, "beta": 0.05} | changed
        return quantile_errors([0.25, 0.5, 0.75], **given).max()

    assert worst(epsilon=2) < worst() < worst(size=SIZE**2)
    assert worst() < worst(beta=1e-6)
    assert worst(n_samples=50) == 50  # nothing is promised, and nothing misses by more


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0), ("beta", 1), ("n_samples", 0), ("size", 0), ("q", [1.5])]
)
def test_parameters_are_checked(name, value):
    given = {"q": [0.5], "size": 8, "n_samples": 10, "epsilon": 1, "beta": 0.1} | {name: value}
    with pytest.raises(ValueError, match=f"^{name} must"):
        quantile_errors(given.pop("q"), given.pop("size"), given.pop("n_samples"), **given)
