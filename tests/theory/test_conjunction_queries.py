"""How many records a conjunction takes: the promise holds, and depends on what it should."""

import numpy as np
import pytest

from dplearn.chance import PublicStream, SeededDice
from dplearn.domains import Bits
from dplearn.learners.bins import binned
from dplearn.learners.conjunction_rule import learn_conjunction
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, Examples, LocalOracle
from dplearn.theory.conjunction_queries import (
    conjunction_bar,
    conjunction_error,
    conjunction_query_sample_size,
    literals_kept,
)
from dplearn.theory.queries import TailBound

MODELS = ("laplace", "gaussian", "local")


@pytest.mark.parametrize("model", MODELS)
def test_the_least_number_is_the_first_that_keeps_alpha(model):
    asked = {"epsilon": 2, "delta": 1e-6, "alpha": 0.2, "beta": 0.1, "model": model}
    n = conjunction_query_sample_size([2, 3], **asked)
    assert conjunction_error([2, 3], n, **asked) <= 0.2 < conjunction_error([2, 3], n - len([2, 3]), **asked)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("share", [0.5, 0.02])
def test_from_that_number_on_the_error_is_at_most_alpha(model, share):
    # The hardest distribution: bits that the conjunction has nothing to do with are set nearly always among
    # positive records, so that a condition that is kept by mistake breaks for few.
    alpha, beta, d, epsilon = 0.2, 0.1, 3, 4
    n = conjunction_query_sample_size(
        [2] * d, epsilon=epsilon, delta=1e-3, alpha=alpha, beta=beta, model=model
    )
    rng = np.random.default_rng(5)
    failures = 0
    for seed in range(30):
        X = (rng.random((n, d)) < 1 - alpha / d * (1.5 if share == 0.5 else 1)).astype(int)
        X[:, 0] = rng.random(n) < share
        records = Examples(X, X[:, 0] & X[:, 1])
        privacy, dice = ApproxDP(epsilon, 1e-3 if model == "gaussian" else 0), SeededDice(seed)
        if model == "local":
            oracle = LocalOracle(records, privacy=privacy, dice=dice, stream=PublicStream(seed))
        else:
            oracle = CentralOracle(records, privacy=privacy, dice=dice, noise=model)
        learned = learn_conjunction(oracle, [binned(Bits(None), 2)] * d, positive=1, alpha=alpha, beta=beta)
        failures += (learned.predict(list(X.T)) != records.y).mean() > alpha
    assert failures <= 30 * beta


def test_more_of_anything_that_helps_helps():
    asked = {"epsilon": 1, "alpha": 0.1, "beta": 0.05}
    n = conjunction_query_sample_size([2] * 10, **asked)
    assert n < conjunction_query_sample_size([2] * 20, **asked) < 4 * n + 10**4
    assert n < conjunction_query_sample_size([3] * 10, **asked)
    for name, value in {"epsilon": 2, "alpha": 0.2, "beta": 0.2}.items():
        assert conjunction_query_sample_size([2] * 10, **asked | {name: value}) < n
    assert n < conjunction_query_sample_size([2] * 10, **asked, model="local")
    many = asked | {"delta": 1e-6}
    assert conjunction_query_sample_size([2] * 99, **many, model="gaussian") < conjunction_query_sample_size(
        [2] * 99, **asked
    )


def test_the_bar_is_half_of_alpha_over_the_literals_or_what_noise_may_show():
    assert literals_kept([2, 2, 5]) == 6
    assert literals_kept([2]) == 2
    assert conjunction_bar([2, 2], TailBound(), alpha=0.1, beta=0.05) == pytest.approx(0.025)
    noise = TailBound(linear=0.01, size=3)
    assert conjunction_bar([2, 2], noise, alpha=0.1, beta=0.05) == pytest.approx(0.01 * np.log(6 * 4 / 0.05))
    assert conjunction_bar([2, 2], noise.times(100), alpha=0.1, beta=0.05) == 1 / 4
    assert conjunction_error([2, 2], 10, epsilon=1, alpha=0.1, beta=0.05) == 1


def test_what_is_no_size_is_refused():
    asked = {"epsilon": 1, "alpha": 0.1, "beta": 0.05}
    with pytest.raises(ValueError, match="sizes must hold at least one number"):
        conjunction_query_sample_size([], **asked)
    with pytest.raises(ValueError, match="sizes must be an integer at least 1, got 0"):
        conjunction_error([0], 10, **asked)
    with pytest.raises(ValueError, match="alpha must be a finite number above 0 and below 1"):
        conjunction_error([2], 10, **asked | {"alpha": 1})
