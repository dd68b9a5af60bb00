"""Naive Bayes from shares: right where answers are, and cautious where they are noise."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.naive_bayes import CategoricalNB

from dplearn.domains import Bits, Categories, IntegerRange
from dplearn.learners.bins import binned
from dplearn.learners.naive_bayes_tables import (
    NaiveBayesTask,
    _nearest_shares,
    asks_classes,
    learn_naive_bayes,
)
from dplearn.queries import Examples, population

BINS = (binned(Bits(None), 2), binned(IntegerRange(0, 3), 4))


def some_records(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return Examples(np.column_stack((rng.random(n) < y / 2, (y + rng.integers(0, 3, n)) % 4)).astype(int), y)


def task(n, deviation=0.0, smoothing=1e-9, bins=BINS):
    return NaiveBayesTask(n, 3, bins, (deviation,) * len(bins), deviation, smoothing)


def test_with_exact_answers_it_is_scikit_learns():
    records = some_records()
    tables = learn_naive_bayes(population(records), task(len(records)))
    theirs = CategoricalNB(alpha=1e-9).fit(records.X, records.y)
    ours = tables.log_joint(list(records.X.T))
    expected = theirs.predict_joint_log_proba(records.X)
    seen = expected > -15
    # Up to a term of the record alone, which no class has more of than another.
    gaps = np.where(seen, ours - expected, np.nan)
    assert np.nanmax(np.nanmax(gaps, axis=1) - np.nanmin(gaps, axis=1)) < 1e-5


def test_all_is_asked_in_one_round_and_classes_apart_where_bins_are_many():
    oracle = population(some_records())
    learn_naive_bayes(oracle, task(400))
    assert [each.n_queries for each in oracle.rounds] == [2]
    assert not oracle.adaptive
    assert not asks_classes(BINS)
    many = (binned(Categories(range(50)), 2),)
    assert asks_classes(many)
    records = some_records()
    oracle = population(Examples(records.X[:, 1:], records.y))
    tables = learn_naive_bayes(oracle, task(400, bins=many))
    assert [each.n_queries for each in oracle.rounds] == [2]
    assert np.exp(tables.log_prior) == pytest.approx(np.bincount(records.y) / 400, abs=1e-6)


def test_answers_within_a_tolerance_move_the_tables_little_and_noise_hides_what_they_say():
    records = some_records()
    exact = learn_naive_bayes(population(records), task(400, smoothing=4.0))
    rng = np.random.default_rng(1)
    wrong = population(records, tolerance=0.001, adversary=lambda m: m + rng.uniform(-1, 1, m.shape))
    near = learn_naive_bayes(wrong, task(400, smoothing=4.0))
    for one, other in zip(exact.log_ratios, near.log_ratios, strict=True):
        assert np.abs(one - other).max() < 0.2
    hidden = learn_naive_bayes(population(records), task(400, deviation=10.0))
    assert max(np.abs(each).max() for each in hidden.log_ratios) < 0.01


def test_a_value_that_was_never_declared_tells_nothing():
    tables = learn_naive_bayes(population(some_records()), task(400))
    joint = tables.log_joint([np.array([2]), np.array([4])])
    assert joint[0] == pytest.approx(tables.log_prior)


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_shares_are_nearest(seed):
    values = np.random.default_rng(seed).normal(0.2, 0.5, 5)
    found = _nearest_shares(values)
    best = minimize(
        lambda x: ((x - values) ** 2).sum(),
        np.full(5, 0.2),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
    )
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    assert ((found - values) ** 2).sum() <= best.fun + 1e-6
