"""The frequent keys of several columns: Gaussian noise, one threshold, and a guarantee for all columns."""

from fractions import Fraction
from math import log, sqrt

import pytest

from dplearn.audit import exact_distribution
from dplearn.chance import SeededDice, SystemDice
from dplearn.core.distributions import gaussian_probabilities
from dplearn.mechanisms import frequent_keys
from dplearn.mechanisms.stable_histogram import frequent_keys_threshold
from dplearn.privacy import ZeroConcentratedDP

DELTA = Fraction(1, 10**6)


def tail(sigma2, start):
    support, masses, _ = gaussian_probabilities(Fraction(sigma2), 60)
    return Fraction(sum(m for k, m in zip(support, masses, strict=True) if k >= start), sum(masses))


@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(1, 3), 2, 9])
@pytest.mark.parametrize("d", [1, 7])
@pytest.mark.parametrize("delta", [Fraction(1, 3), DELTA])
def test_keys_of_count_one_are_published_with_probability_at_most_delta(rho, d, delta):
    # **Privacy** of the threshold: d keys of count 1, one a column.
    threshold = frequent_keys_threshold(d, privacy=ZeroConcentratedDP(rho), delta=delta)
    assert d * tail(Fraction(d) / rho, threshold - 1) <= delta
    # **Accuracy** of the threshold.
    assert threshold <= 2 + sqrt(2 * d / rho * log(2 * d / delta))


def test_the_threshold_is_nearly_the_least():
    for rho in (Fraction(1, 100), Fraction(1, 3)):
        threshold = frequent_keys_threshold(3, privacy=ZeroConcentratedDP(rho), delta=DELTA)
        least = next(t for t in range(1, threshold + 1) if 3 * tail(3 / rho, t - 1) <= DELTA)
        assert threshold - least <= max(1, 0.03 * least)


def test_the_probability_of_a_list_is_that_of_its_noisy_count():
    rho, delta, count = Fraction(2), Fraction(1, 50), 3
    threshold = frequent_keys_threshold(1, privacy=ZeroConcentratedDP(rho), delta=delta)
    assert threshold == 3
    found = exact_distribution(
        lambda dice: frequent_keys([["a"] * count], privacy=ZeroConcentratedDP(rho), delta=delta, dice=dice)
    )
    published = sum(found.probability(seen) for seen in found.masses if "a" in str(seen))
    assert abs(published - tail(1 / rho, threshold - count)) < Fraction(1, 10**9)


def test_frequent_keys_are_listed_by_noisy_count_and_rare_ones_are_not():
    # **Accuracy**: the least frequent of k = 4 keys has the stated count.
    privacy, k, beta = ZeroConcentratedDP(Fraction(1, 50)), 4, 1e-6
    enough = frequent_keys_threshold(2, privacy=privacy, delta=DELTA) + sqrt(2 * 2 * 50 * log(k / beta))
    counts = [5 * int(enough), 4 * int(enough), 1 + int(enough)]
    column = [key for key, count in zip(("c", None, 7), counts, strict=True) for _ in range(count)]
    others = [f"{i}" for i in range(len(column))]
    for _ in range(20):
        found = frequent_keys([column, others], privacy=privacy, delta=DELTA, dice=SystemDice())
        assert found[0] == ["c", None, 7]
        assert found[1] == []


def test_the_order_of_the_records_has_no_influence():
    # **Assumes** nothing of the records' order: a list has the order of noisy counts.
    column = ["a"] * 60 + ["b"] * 60 + [3] * 60
    lists = [
        frequent_keys([each], privacy=ZeroConcentratedDP(1), delta=DELTA, dice=SeededDice(0))
        for each in (column, column[::-1])
    ]
    assert lists[0] == lists[1]


def test_nothing_is_drawn_or_published_where_no_count_can_reach_the_threshold():
    class NoDice:
        pass

    privacy = ZeroConcentratedDP(Fraction(1, 10**30))
    assert frequent_keys([["a"] * 99] * 2, privacy=privacy, delta=DELTA, dice=NoDice()) == [[], []]
    assert frequent_keys([], privacy=privacy, delta=DELTA, dice=NoDice()) == []


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="neighbors must be"):
        frequent_keys(
            [["a"]],
            privacy=ZeroConcentratedDP(1, neighbors="add_remove"),
            delta=DELTA,
            dice=SystemDice(),
        )
    for delta in (0, 1):
        with pytest.raises(ValueError, match="delta must be"):
            frequent_keys_threshold(1, privacy=ZeroConcentratedDP(1), delta=delta)
    with pytest.raises(TypeError, match="keys must be"):
        frequent_keys([[0.5]], privacy=ZeroConcentratedDP(1), delta=Fraction(1, 2), dice=SystemDice())
