"""Means, shares and standard deviations: intervals of the population and of the table hold."""

import numpy as np
import pytest
from scipy.stats import binom

from dplearn.releases import mean, proportion, std

RNG = np.random.default_rng(0)
RUNS = 40
#: From names to a sampler, a release, and what the interval is of: a function of the sample, or a number.
CASES = {
    "mean, population": (lambda: RNG.normal(50, 2, 1000), lambda x: mean(x, (0, 100), epsilon=10), 50),
    "mean, table": (lambda: RNG.normal(50, 9, 500), lambda x: mean(x, (0, 100)), np.mean),
    "std at an end": (lambda: RNG.normal(90, 1, 50_000), lambda x: std(x, (0, 100)), np.std),
    "std, population": (lambda: RNG.normal(35, 5, 5000), lambda x: std(x, (0, 100)), 5),
    "rare ones": (lambda: RNG.random(1000) < 0.001, lambda x: proportion(x, epsilon=10), 0.001),
    "share, table": (lambda: RNG.random(300) < 0.3, lambda x: proportion(x, epsilon=0.5), np.mean),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_as_often_as_they_say(name):
    sample, release, wanted = CASES[name]
    missed = 0
    for _ in range(RUNS):
        values = sample()
        of = "table" if callable(wanted) else "population"
        low, high = release(values).interval(of=of, beta=0.1)
        exact = wanted(values) if callable(wanted) else wanted
        missed += not low - 1e-4 <= exact <= high + 1e-4
    assert missed <= binom.isf(1e-5, RUNS, 0.1)


def test_a_mean_of_persons_weights_each_once():
    ids, values = np.array([0] * 9 + [1]), np.array([10.0] * 9 + [0.0])
    assert mean(values, (0, 10), epsilon=1e6, groups=ids).value == pytest.approx(5, abs=0.01)


def test_bounds_whose_squares_are_no_floats_have_an_interval_or_are_refused():
    assert mean([0.0, 1.0] * 2000, (-1e300, 1e300)).interval() == (-1e300, 1e300)
    with pytest.raises(ValueError, match="bounds must have ends of magnitudes up to"):
        std([0.0, 1.0], (-1e300, 1e300))


def test_results_print_their_interval():
    assert str(proportion([True] * 50 + [False] * 50)).startswith("Mean: 0.")
    assert float(mean([1.0] * 100, (0, 2), epsilon=1e5)) == pytest.approx(1, abs=1e-3)
    for release, ends in ((mean, "18 to 90"), (std, "0 to 36")):
        text = str(release([20, 90], (18, 90), epsilon=0.01))
        assert text.endswith(f": too noisy (95 % interval {ends}), of numbers moved to 18 to 90")


@pytest.mark.parametrize("release", [mean, std])
def test_intervals_allow_for_a_rare_value_that_was_not_seen(release):
    low, high = release(np.zeros(100), (0, 1), epsilon=100).interval()
    exact = 0.01 if release is mean else 0.0995  # of one in a hundred
    assert low <= exact <= high


def test_a_share_of_persons_allows_for_unseen_ones_by_their_number():
    persons, how = np.arange(50), {"epsilon": 1e6}
    rows = proportion(np.zeros(250), groups=np.repeat(persons, 5), max_rows_per_group=5, **how)
    assert rows.interval() == pytest.approx(proportion(np.zeros(50), **how).interval(), abs=1e-4)
