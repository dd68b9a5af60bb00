"""Private naive Bayes: what it learns and predicts, its bins and noise, and tables from answers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import CategoricalNB

from dplearn.chance import SeededDice
from dplearn.domains import Bits, Categories, Grid, IntegerRange
from dplearn.learners import StatisticalQueryNaiveBayes
from dplearn.learners.bins import binned, stacked
from dplearn.learners.counts.naive_bayes import asks_classes, learn_naive_bayes
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows, population
from dplearn.table.encodings import encoded

# Tables from answers.

BINS = (binned(Bits(None), 2), binned(IntegerRange(0, 3), 4))


def some_records(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return LabelledRows(
        np.column_stack((rng.random(n) < y / 2, (y + rng.integers(0, 3, n)) % 4)).astype(int), y
    )


def plan_of(n, deviation=0.0, smoothing=1e-9, bins=BINS):
    """The plan of a fit of n records with three labels, with noise of the given deviation."""
    model = StatisticalQueryNaiveBayes(smoothing=smoothing, domain=[each.domain for each in bins])
    noise = {"deviations": (deviation,) * len(bins), "class_deviation": deviation}
    return replace(model.plan(n, n_labels=3), bins=tuple(bins), **noise)


def test_with_exact_answers_it_is_scikit_learns():
    records = some_records(20_000)  # which are counted in several blocks
    oracle = CentralOracle(records, privacy=ApproxDP(10**6), dice=SeededDice(0))  # next to no noise
    tables = learn_naive_bayes(oracle, plan_of(len(records)))
    theirs = CategoricalNB(alpha=1e-9).fit(records.X, records.y)
    ours = tables.log_joint(list(records.X.T))
    expected = theirs.predict_joint_log_proba(records.X)
    seen = expected > -15
    # Up to a term of the record alone, which no class has more of than another.
    gaps = np.where(seen, ours - expected, np.nan)
    assert np.nanmax(np.nanmax(gaps, axis=1) - np.nanmin(gaps, axis=1)) < 1e-5


def test_all_is_asked_in_one_round_and_classes_apart_where_bins_are_many():
    oracle = population(some_records())
    learn_naive_bayes(oracle, plan_of(400))
    assert [each.n_queries for each in oracle.rounds] == [2]
    assert not oracle.adaptive
    assert not asks_classes(BINS)
    many = (binned(Categories(range(50)), 2),)
    assert asks_classes(many)
    records = some_records()
    oracle = population(LabelledRows(records.X[:, 1:], records.y))
    tables = learn_naive_bayes(oracle, plan_of(400, bins=many))
    assert [each.n_queries for each in oracle.rounds] == [2]
    assert np.exp(tables.log_prior) == pytest.approx(np.bincount(records.y) / 400, abs=1e-6)


def test_a_value_that_was_never_declared_tells_nothing():
    tables = learn_naive_bayes(population(some_records()), plan_of(400))
    joint = tables.log_joint([np.array([2]), np.array([4])])
    assert joint[0] == pytest.approx(tables.log_prior)


# Priors.


def test_priors_replace_the_shares_of_the_classes_and_nothing_else():
    y = np.repeat([0, 1], [1900, 100])
    X = np.clip(np.random.default_rng(0).normal(4 + 2 * y, 1.5), 0, 9.9)[:, None]
    kinds = {"epsilon": 5, "domain": Grid(0, 10), "classes": [0, 1], "n_bins": 8}
    learned = StatisticalQueryNaiveBayes(**kinds, random_state=0)
    given = clone(learned).set_params(priors=[0.5, 0.5])
    plans = [learner.plan(2000, n_features=1) for learner in (learned, given)]
    assert replace(plans[0], replan=None) == replace(plans[1], replan=None)  # the same queries and noise
    models = []
    for plan in plans:  # the same answers
        oracle = population(LabelledRows(stacked(plan.bins, encoded(X, plan.domain)), y))
        models.append(learn_naive_bayes(oracle, plan))
    assert np.array_equal(models[0].log_ratios[0], models[1].log_ratios[0])
    assert np.exp(models[0].log_prior) == pytest.approx([0.95, 0.05], abs=0.01)
    assert np.exp(models[1].log_prior) == pytest.approx([0.5, 0.5])


def test_priors_may_be_an_index_and_a_class_with_a_prior_of_zero_is_never_predicted():
    X, y = np.arange(100.0)[:, None] % 10, np.arange(100) % 2
    with np.errstate(all="raise"):
        model = StatisticalQueryNaiveBayes(domain=Grid(0, 10), classes=[0, 1], priors=pd.Index([0, 1]))
        found = model.fit(X, y).predict_proba(X)
    assert found.tolist() == [[0.0, 1.0]] * 100
