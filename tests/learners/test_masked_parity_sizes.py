from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dplearn.kernels import decay_ratio, walsh_hadamard
from dplearn.learners.parity.masked import signs_failure
from dplearn.theory import truth_probability
from dplearn.theory.rules import nonadaptive_chance


@pytest.mark.parametrize("way", ["hadamard", "cells"])
@pytest.mark.parametrize("n", [40, 400, 4000])
def test_the_local_bound_exceeds_the_exact_probability(way, n):
    share, epsilon = 1 / 4, Fraction(1)
    if way == "hadamard":
        kept = float(2 * truth_probability(2, epsilon) - 1)
        exact = binom.cdf(n // 2, n, (1 + share * kept) / 2)
    else:
        truth = float(truth_probability(5, epsilon))
        other = (1 - truth) / 4
        likely = other + share * (truth - other)
        speak = np.arange(n + 1)
        exact = (
            binom.pmf(speak, n, likely + other) * binom.cdf(speak // 2, speak, likely / (likely + other))
        ).sum()
    [bound] = signs_failure(n, size=2, wanted=2, epsilon=epsilon, trust_model="local", way=way)
    assert 2 * exact <= bound <= min(1, 40 * exact)


def _laplace(epsilon, reach):
    ratio = float(decay_ratio(epsilon / 2))
    places = np.arange(-reach, reach + 1)
    return places, (1 - ratio) / (1 + ratio) * ratio ** np.abs(places)


@pytest.mark.parametrize("way", ["hadamard", "cells"])
@pytest.mark.parametrize(("n", "epsilon"), [(30, 1), (100, Fraction(1, 2)), (200, Fraction(1, 2))])
def test_the_central_bound_exceeds_the_exact_probability(way, n, epsilon):
    places, noise = _laplace(Fraction(epsilon), 400)
    counts = np.arange(n + 1)
    size = 1 if way == "hadamard" else 2
    of_counts = binom.pmf(counts, n, 1 / (2 * size))
    sums = counts[:, None] + places
    mass = of_counts[:, None] * noise
    if way == "hadamard":
        exact = mass[sums <= 0].sum()
    else:  # two counts, moved into 0..n with their noise
        mine = np.bincount(sums.clip(0, n).ravel(), mass.ravel(), minlength=n + 1)
        theirs = np.bincount(places.clip(0, n), noise, minlength=n + 1)
        exact = (mine * theirs[::-1].cumsum()[::-1]).sum()
    [bound] = signs_failure(n, size=size, wanted=size, epsilon=epsilon, trust_model="central", way=way)
    assert size * exact <= bound <= min(1, 60 * exact)


# --- Theorem 5.16, part 2. ---


def correlations(queries, d):
    """<f, c_r> for all r, exactly times 2 * d * 2**d; queries of shape (..., 2**d, d), in {-1, 0, 1}."""
    return np.array([walsh_hadamard(query.sum(axis=1)) for query in queries])


@pytest.mark.parametrize("d", range(3, 9))
def test_few_parities_correlate_with_a_query(d):
    generator = np.random.default_rng(d)
    points = np.arange(1 << d)
    guessed = np.array([[(-1) ** int(x & 5).bit_count()] * d for x in points])  # the parity 5 itself
    random = generator.integers(-1, 2, (5, 1 << d, d))
    found = correlations([guessed, *random], d) / (2 * d * 2**d)
    assert ((found**2).sum(axis=1) <= 1 / 4 + 1e-12).all()  # Parseval
    assert found[0, 5] == 1 / 2
    assert (found[0] ** 2).sum() == 1 / 4  # which a guess attains
    tolerance = 2 ** (-d / 3)
    given = (np.abs(found) >= tolerance).sum(axis=1)
    assert (given <= 1 / (4 * tolerance**2)).all()
    assert (np.abs(found[1:]) >= tolerance).sum() == 0 or d < 6  # at random none does


@pytest.mark.parametrize("d", [3, 6, 9, 30])
def test_the_chance_is_that_of_the_theorem_and_better(d):
    for t in (1, 4, 16):
        ours = nonadaptive_chance(d, t, 2 ** (-d / 3))
        assert ours == pytest.approx(max(0, 1 / 2 - t / 2 ** (d / 3 + 3)))
        assert ours >= 1 / 2 - t / 2 ** (d / 3 + 2)
    assert nonadaptive_chance(d, 1 << 40, 2 ** (-d / 3)) == 0
