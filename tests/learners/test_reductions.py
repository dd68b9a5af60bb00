"""Learners fitted on secret samples: what they promise, charge, refuse, and how many errors they make."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from dplearn import (
    ExponentialMechanismClassifier,
    ParityClassifier,
    PrivacyLedger,
    SubsampleAggregateClassifier,
)
from dplearn.domains import DomainError, IntegerRange
from dplearn.learners.point import PointClassifier
from dplearn.learners.reductions import SecretSampleClassifier
from dplearn.privacy import ApproxDP, BudgetExceededError
from dplearn.privacy.subsampled import subsampled

X = np.arange(2000)[:, None] % 100
Y = (X[:, 0] > 40).astype(int)


def thresholds(**parameters):
    return ExponentialMechanismClassifier("thresholds", domain=IntegerRange(0, 99), **parameters)


def sampled(estimator=None, m=400, **parameters):
    return SecretSampleClassifier(
        estimator or thresholds(), sample_size=m, **{"random_state": 0} | parameters
    )


def test_a_pac_learner_has_few_errors_on_any_records():
    failures = 0
    for seed in range(60):
        fitted = sampled(thresholds(classes=[0, 1]), m=300, random_state=seed).fit(X, Y)
        failures += fitted.score(X, Y) < 0.9
    assert failures <= 3  # the learner's own n for alpha 0.1 and beta 0.05 is of that order


def test_the_promise_is_that_of_a_secret_sample():
    fitted = sampled().fit(X, Y)
    wanted = subsampled(ApproxDP(1), m=400, n=2000)
    assert fitted.guarantee_.epsilon == wanted.epsilon
    assert fitted.estimator_.guarantee_ == fitted.guarantee_
    assert "the set of labels, and their type, is public" in fitted.guarantee_.assumes
    assert any("400 rows" in words for words in fitted.guarantee_.assumes)
    assert fitted.guarantee_.reproducible
    declared = sampled(thresholds(classes=[0, 1])).fit(X, Y).guarantee_
    assert "labels are among the declared classes" in declared.assumes


def test_delta_is_charged_only_where_the_learner_spends_it():
    bits = np.random.default_rng(0).integers(0, 2, (3000, 5))
    for method, spends in (("stable", True), ("elimination", False)):
        model = ParityClassifier(method=method, delta=1e-6, classes=[0, 1], epsilon=0.5)
        ledger = PrivacyLedger(1, 1e-6, allow_reproducible=True)
        sampled(model, m=1000, ledger=ledger).fit(bits, bits[:, 0])
        assert (ledger.spent().delta > 0) == spends
        assert ledger.spent().epsilon < Fraction(1, 4)


def test_a_ledger_that_holds_less_refuses_before_anything_is_read():
    ledger = PrivacyLedger("0.1", allow_reproducible=True)
    with pytest.raises(BudgetExceededError):
        sampled(ledger=ledger).fit(X, object())
    assert ledger.history() == []


def test_what_the_learner_refuses_is_refused_though_it_is_not_drawn():
    outside = X.copy()
    outside[-1] = 100
    ledger = PrivacyLedger(10, allow_reproducible=True)
    for seed in range(5):
        with pytest.raises(DomainError):
            sampled(m=1, random_state=seed, ledger=ledger).fit(outside, Y)
    assert ledger.history() == []


def test_a_label_that_is_not_drawn_is_still_a_class():
    labels = np.array(["common"] * 1999 + ["rare"])
    for seed in range(5):
        fitted = sampled(m=1, random_state=seed).fit(X, labels)
        assert fitted.classes_.tolist() == fitted.estimator_.classes_.tolist() == ["common", "rare"]
        assert fitted.predict_proba(X[:2]).shape == (2, 2)


@pytest.mark.parametrize(
    "holder",
    [np.ndarray.tolist, lambda X: pd.DataFrame(X, columns=["x"]), lambda X: pl.DataFrame(X, schema=["x"])],
    ids=["lists", "pandas", "polars"],
)
def test_any_holder_of_rows_gives_the_same_rule(holder):
    assert repr(sampled(thresholds(classes=[0, 1])).fit(holder(X), Y).estimator_.concept_.concept) == repr(
        sampled(thresholds(classes=[0, 1])).fit(X, Y).estimator_.concept_.concept
    )


def test_the_estimator_that_was_given_is_left_as_it_was():
    inner = PointClassifier(epsilon=0.5)
    before = inner.get_params()
    fitted = sampled(inner, m=100).fit(X, Y)
    assert inner.get_params() == before
    assert not hasattr(inner, "guarantee_")
    assert fitted.estimator_ is not inner
    assert clone(fitted).get_params()["estimator__epsilon"] == 0.5


@pytest.mark.parametrize(
    ("estimator", "error", "words"),
    [
        (LogisticRegression(), TypeError, "private classifier"),
        (SubsampleAggregateClassifier(), TypeError, "private classifier"),
        (thresholds(ledger=PrivacyLedger(1)), ValueError, "no ledger"),
    ],
    ids=["not private", "teachers", "ledger"],
)
def test_what_cannot_be_sampled_is_refused(estimator, error, words):
    with pytest.raises(error, match=words):
        sampled(estimator).fit(X, Y)


@pytest.mark.parametrize("m", [0, 1.5, 5000])
def test_the_sample_size_is_checked_by_name(m):
    with pytest.raises((TypeError, ValueError), match="sample_size"):
        sampled(m=m).fit(X, Y)
