"""Enumeration finds exactly what can be computed by hand."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplearn import ApproxDP
from dplearn.audit import enumerate_privacy
from dplearn.kernels.exact import decay_ratio


def noisy_sum(rows, dice, rate=1):
    n = len(rows)
    return max(0, min(n, sum(rows) + dice.discrete_laplace(decay_ratio(Fraction(rate)), -n, n)))


def test_discrete_laplace_noise_on_a_count_attains_its_epsilon():
    report = enumerate_privacy(noisy_sum, [0, 1], 3)
    assert report.exp_epsilon == 1 / decay_ratio(Fraction(1))
    assert report.keeps(ApproxDP(1))
    assert 0.999999 < report.tightness(ApproxDP(1)) <= 1
    assert (report.n_datasets, report.n_pairs, report.n_distributions, report.n_outcomes) == (8, 12, 4, 4)


def test_the_pair_and_the_event_attain_what_is_reported():
    report = enumerate_privacy(noisy_sum, [0, 1], 2)
    mine, theirs = report.pair
    assert sum(a != b for a, b in zip(mine, theirs, strict=True)) == 1
    assert len(report.event) >= 1


def test_a_report_is_one_short_line_that_never_understates_epsilon():
    report = enumerate_privacy(noisy_sum, [0, 1], 3)
    assert repr(report).startswith("PrivacyReport(epsilon 1.00000 at delta 0, replace_one, on (")
    assert repr(report).endswith("; 8 datasets, 12 pairs, 4 distributions, 4 outcomes)")
    rounded = replace(report, exp_epsilon=1 / decay_ratio(Fraction("1.00000001")))
    assert "epsilon 1.00001 at" in repr(rounded)
    assert "epsilon inf at" in repr(replace(report, exp_epsilon=None))
    assert len(repr(enumerate_privacy(lambda rows, dice: rows, range(3), 4, ordered=False))) < 500


def test_a_claim_that_is_a_hair_too_small_is_not_kept():
    report = enumerate_privacy(noisy_sum, [0, 1], 2)
    assert not report.keeps(ApproxDP("0.999999999"))


def test_randomized_response_is_read_off_exactly():
    report = enumerate_privacy(lambda rows, dice: rows[0] ^ dice.bernoulli(Fraction(1, 4)), [0, 1], 1)
    assert report.exp_epsilon == 3
    assert report.epsilon >= math.log(3)
    assert report.epsilon - math.log(3) < 1e-12


def test_certain_knowledge_has_infinite_epsilon():
    report = enumerate_privacy(lambda rows, dice: rows, [0, 1], 2)
    assert report.exp_epsilon is None
    assert report.epsilon == math.inf
    assert not report.keeps(ApproxDP(10**6))


def test_delta_buys_a_smaller_epsilon():
    # With probability 1/8 the record is shown: (0, 1/8)-private, and not pure at all.
    def leaky(rows, dice):
        return rows if dice.bernoulli(Fraction(1, 8)) else None

    assert enumerate_privacy(leaky, [0, 1], 1, delta=Fraction(1, 8)).exp_epsilon == 1
    assert enumerate_privacy(leaky, [0, 1], 1, delta=Fraction(1, 9)).exp_epsilon is None
    with pytest.raises(ValueError, match="the report is for delta"):
        enumerate_privacy(leaky, [0, 1], 1, delta=0.125).keeps(ApproxDP(1))


def test_adding_and_removing_are_neighbours_of_another_kind():
    report = enumerate_privacy(
        lambda rows, dice: min(3, max(0, sum(rows) + dice.discrete_laplace(decay_ratio(Fraction(1)), -3, 3))),
        [0, 1],
        2,
        neighbors="add_remove",
    )
    assert report.n_datasets == 4 + 2
    assert report.n_pairs == 8
    assert report.keeps(ApproxDP(1, neighbors="add_remove"))
    # The number of records is protected then: to show it is to break the guarantee.
    assert (
        enumerate_privacy(lambda rows, dice: len(rows), [0, 1], 2, neighbors="add_remove").exp_epsilon is None
    )


def test_order_can_leak_and_only_an_ordered_enumeration_sees_it():
    def first_record(rows, dice):
        return rows[0]

    assert enumerate_privacy(first_record, [0, 1], 2, ordered=True).exp_epsilon is None
    assert enumerate_privacy(noisy_sum, [0, 1], 3, ordered=False).n_datasets == 4


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("universe", [[0, 1], [0, 1, 2]])
@pytest.mark.parametrize("ordered", [True, False])
def test_every_pair_of_neighbours_is_compared_once(n, universe, ordered):
    report = enumerate_privacy(noisy_sum, universe, n, ordered=ordered)
    size = len(universe)
    if ordered:
        # Each of size**n datasets has n (size - 1) neighbours; each pair is seen from both sides.
        assert report.n_pairs == size**n * n * (size - 1) // 2
    else:
        # A pair of multisets is a multiset of n - 1 records and two different ones to complete it.
        assert report.n_pairs == math.comb(size + n - 2, n - 1) * math.comb(size, 2)


def test_any_two_datasets_differ_by_little_at_a_tiny_epsilon():
    # n steps of (epsilon, 0): total variation at most n * epsilon for small epsilon.
    from dplearn.audit.enumeration import enumerate_distributions
    from dplearn.mechanisms import exponential_mechanism

    tiny = ApproxDP("0.001")

    def fit(rows, dice):
        return exponential_mechanism(np.array(rows).sum(axis=0), privacy=tiny, dice=dice)

    distributions = list(enumerate_distributions(fit, [(0, 1), (1, 0), (1, 1)], 3).values())
    for distribution in distributions:
        for other in distributions:
            distance = sum(
                max(distribution.probability(i) - other.probability(i), 0) for i in distribution.masses
            )
            assert distance <= 3 * tiny.epsilon
