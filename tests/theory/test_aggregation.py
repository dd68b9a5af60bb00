"""Numbers of teachers: the published formulas as they stand; ours, least for its guarantee, and kept."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dplearn.kernels import plurality
from dplearn.privacy import ApproxDP
from dplearn.theory import (
    agreement_bound,
    classification_queries_sample_size,
    knowledge_transfer_sample_size,
    published_max_abstentions,
    stable_answers_noise,
    teachers_needed,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=100)
ONE = ApproxDP(1, 1e-6)

rates = st.sampled_from(["1e-12", "1e-3", "0.3", "0.9"]).map(Fraction)
counts = st.sampled_from([1, 7, 1000, 10**9])


def decimal(x):
    return Decimal(Fraction(x).numerator) / Fraction(x).denominator


@repeatable
@given(counts, rates, rates, st.sampled_from(["0", "0.2"]))
def test_the_published_unstable_queries_are_those_of_corollary_4_1(m, alpha, beta, gamma):
    with localcontext(prec=50):
        spread = (m * decimal(m / beta).ln() / 2).sqrt()
        wanted = 3 * ((decimal(alpha) + Decimal(gamma)) * m + spread)
    found = published_max_abstentions(m, alpha=alpha, beta=beta, gamma=gamma)
    assert type(found) is int
    assert wanted - Decimal("1e-6") <= found <= wanted * (1 + Decimal("1e-13")) + 1


@pytest.mark.parametrize("m", [1, 1000])
def test_at_the_published_number_of_teachers_two_thirds_agree(m):
    k = ceil(72 * float(np.log(2 * m / 0.1)))
    assert agreement_bound(k, n_queries=m, beta=0.05) >= 2 / 3
    assert agreement_bound(k - 2, n_queries=m, beta=0.05) < 2 / 3


@pytest.mark.parametrize("k", [1, 30, 300, 3000])
@pytest.mark.parametrize("m", [1, 50])
def test_the_stated_share_of_teachers_agrees_with_the_stated_probability(k, m):
    beta, p = 0.1, 0.75
    fewest = ceil(agreement_bound(k, n_queries=m, beta=beta, probability=p) * k)
    assert m * binom.cdf(fewest - 1, k, p) <= beta  # the union bound; queries may depend on one another


def test_noise_in_the_labels_costs_even_where_the_best_concept_makes_no_error():
    parameters = {"privacy": ONE, "alpha": 0.05, "beta": 0.05}
    realizable = classification_queries_sample_size(10, 10_000, **parameters)
    assert classification_queries_sample_size(10, 10_000, **parameters, gamma=0) > realizable


def test_theorems_4_3_and_4_4_have_the_stated_growth():
    # V sqrt(m / alpha) and V sqrt(m) / alpha**1.5, but for logarithms.
    def n(m, alpha, gamma=None):
        return classification_queries_sample_size(10**4, m, privacy=ONE, alpha=alpha, beta=0.05, gamma=gamma)

    for gamma, power in ((None, 0.5), (0, 1.5)):
        assert 1 < n(10**14, 0.1, gamma) / n(10**10, 0.1, gamma) / 10**2 < 1.4
        assert 0.9 < n(10**12, 0.001, gamma) / n(10**12, 0.1, gamma) / 100**power < 3


def test_a_transfer_labels_the_maximum_of_the_students_need_and_the_theorems_least():
    parameters = {"privacy": ONE, "alpha": 0.1, "beta": 0.05}
    small = knowledge_transfer_sample_size(1, **parameters)
    assert small.n_public == ceil(4 * np.log(200) / 0.1**2)
    large = knowledge_transfer_sample_size(100, **parameters, gamma=0.2, constant=3)
    m = ceil(3 * (100 + np.log(20)) / 0.1**2)
    n = classification_queries_sample_size(100, m, **parameters, gamma=0.2, constant=3)
    assert (large.n_private, large.n_public) == (n, m)


def least_distance_at(k, agreement, n_labels=3):
    """The least distance over all votes of which one label has at least its share."""
    winners = ceil(Fraction(agreement) * k)
    votes = [
        (winners + more, k - winners - more - third, third)
        for more in range(k - winners + 1)
        for third in range(k - winners - more + 1)
    ]
    counts = np.array([np.roll(vote, shift) for vote in votes for shift in range(n_labels)])
    return int(plurality(counts)[1].min())


@pytest.mark.parametrize(
    ("epsilon", "agreement"), [*product((3, 30), ("2/3", "5/6", "0.95", "1")), (100, "0.51"), (100, "5/6")]
)
def test_it_is_the_least_number_of_teachers_whose_agreement_is_far_enough(epsilon, agreement):
    privacy = ApproxDP(epsilon, 1e-3)
    k = teachers_needed(privacy, 2, n_queries=20, beta=0.1, agreement=agreement)
    noise = stable_answers_noise(privacy, 2, n_queries=20, beta=0.1)
    distance = noise.least_distance(20, 0.1)
    assert least_distance_at(k, agreement) >= distance
    fewer = range(max(1, k - 8), k)
    assert all(least_distance_at(each, agreement) < distance for each in fewer)
