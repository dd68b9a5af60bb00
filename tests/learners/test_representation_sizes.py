"""Sample sizes of a selection among drawn candidates: by the formula, and kept by simulated selections."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from dplearn.chance import SystemDice
from dplearn.learners.point_sizes import hashed_point_failure
from dplearn.mechanisms import exponential_mechanism, permute_and_flip
from dplearn.privacy import ApproxDP
from dplearn.theory import representation_failure, representation_sample_size

PUBLIC = {"epsilon": 1, "alpha": 0.1}


def test_without_a_miss_the_number_is_the_logarithm_over_the_rate():
    rate = -math.log(1 - (1 - math.exp(-0.5)) * 0.1)
    for size in (2, 2**16 + 1, 10**200):
        n = representation_sample_size(size, **PUBLIC, beta=0.1)
        assert n == math.ceil(math.log(10 * size) / rate)
    assert [representation_sample_size(2**d + 1, **PUBLIC, beta=0.1) for d in (16, 32, 64)] == [
        334,
        610,
        1163,
    ]


@pytest.mark.parametrize(("kappa", "miss"), [(0, 0), (0.01, 0), (0.01, 0.03), (0, 0.04)])
@pytest.mark.parametrize("size", [1, 50, 2**40])
def test_so_many_records_suffice_and_one_fewer_does_not(size, kappa, miss):
    n = representation_sample_size(size, **PUBLIC, beta=0.05, kappa=kappa, miss=miss)
    given = {**PUBLIC, "kappa": kappa, "miss": miss}
    assert representation_failure(size, n, **given) <= 0.05
    assert n == 1 or representation_failure(size, n - 1, **given) > 0.05


def test_buckets_of_one_key_are_such_candidates():
    bound = min(
        representation_failure(4096, 308, **PUBLIC, kappa=kappa, miss=1 / (4096 * kappa))
        for kappa in 0.1 * 2.0 ** -np.arange(1 / 4, 24, 1 / 4)
        if 1 / (4096 * kappa) < 1
    )
    assert hashed_point_failure(308, 4096, **PUBLIC) == pytest.approx(bound)


@pytest.mark.parametrize("select", [exponential_mechanism, permute_and_flip])
def test_selections_fail_as_seldom_as_is_promised(select):
    alpha, kappa, size, beta, runs = 0.2, 0.05, 30, 0.2, 150
    n = representation_sample_size(size, epsilon=2, alpha=alpha, beta=beta, kappa=kappa)
    rng, dice, failures = np.random.default_rng(0), SystemDice(), 0
    for _ in range(runs):  # the best errs on its own records, and all others on their own ones too
        errors = np.array([rng.binomial(n, kappa), *rng.binomial(n, alpha + 1e-9, size - 1)])
        failures += select(-errors, privacy=ApproxDP(2), dice=dice) > 0
    assert failures <= binom.ppf(1 - 1e-5, runs, beta)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"class_size": 0}, "class_size"),
        ({"epsilon": 0}, "epsilon"),
        ({"alpha": 1}, "alpha"),
        ({"beta": 0}, "beta"),
        ({"kappa": 0.1}, "kappa must be .*below 0.1"),
        ({"kappa": -0.1}, "kappa"),
        ({"kappa": 0.0999999999}, "kappa"),
        ({"miss": 0.05}, "miss must be .*below 0.05"),
    ],
)
def test_bad_numbers_are_refused_by_name(changed, words):
    given = {"class_size": 9, **PUBLIC, "beta": 0.05, **changed}
    with pytest.raises(ValueError, match=words):
        representation_sample_size(given.pop("class_size"), **given)


def test_float_errors_that_raise_change_nothing():
    with np.errstate(all="raise"):
        assert representation_failure(10**400, 1, **PUBLIC) == math.inf
        assert representation_failure(2, 10**9, **PUBLIC) == 0
        assert representation_sample_size(10**400, epsilon=1e-6, alpha=1e-6, beta=1e-9) > 10**14
