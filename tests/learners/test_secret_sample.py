"""Learners fitted on secret samples: what they guarantee and charge, refuse, and how often they err."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from dplearn import (
    ExponentialMechanismClassifier,
    ParityClassifier,
    PrivacyLedger,
    SyntheticDataClassifier,
    ThresholdClassifier,
)
from dplearn.domains import Categories, DomainError, Grid, IntegerRange, Schema
from dplearn.learners import PointClassifier, SecretSampleClassifier
from dplearn.privacy import ApproxDP, BudgetExceededError, subsampled

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
    for seed in range(40):
        fitted = sampled(thresholds(classes=[0, 1]), m=300, random_state=seed).fit(X, Y)
        failures += fitted.score(X, Y) < 0.9
    assert failures <= 2  # the learner's own n for alpha 0.1 and beta 0.05 is of that order


def test_the_promise_is_that_of_a_secret_sample():
    fitted = sampled().fit(X, Y)
    wanted = subsampled(ApproxDP(1), m=400, n=2000)
    assert fitted.guarantee_.epsilon == wanted.epsilon
    assert fitted.estimator_.guarantee_ == fitted.guarantee_
    assert any("400 rows" in words for words in fitted.guarantee_.assumes)


def test_the_ledger_refuses_before_anything_is_read():
    ledger = PrivacyLedger("0.1", allow_reproducible=True)
    with pytest.raises(BudgetExceededError):
        sampled(ledger=ledger).fit(X, object())
    shapes = SecretSampleClassifier(ParityClassifier(), sample_size=5, ledger=PrivacyLedger(1e-9))
    with pytest.raises(BudgetExceededError):  # of three labels, which reading would refuse
        shapes.fit(np.zeros((600, 3), dtype=int), np.arange(600) % 3)


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


def test_labels_that_a_schema_declares_need_not_all_occur():
    schema = Schema({"x": IntegerRange(0, 9)}, labels=["no", "yes"])
    table = pd.DataFrame({"x": [1, 8] * 20})
    model = SecretSampleClassifier(ThresholdClassifier(domain=schema), sample_size=10)
    assert model.fit(table, ["no"] * 40).classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("label", [1, 7])
def test_the_ledger_refuses_whatever_the_last_label_is(label):
    ledger = PrivacyLedger(1)  # without delta
    inner = PointClassifier(method="stability", delta=1e-6, classes=[0, 1])
    with pytest.raises(BudgetExceededError):
        SecretSampleClassifier(inner, sample_size=10, ledger=ledger).fit(
            np.arange(40.0)[:, None], [0] * 39 + [label]
        )
    assert ledger.spent().epsilon == 0


def test_the_learner_is_tried_out_before_the_charge_and_its_warnings_are_issued():
    """Of a synthetic table, the estimator: it takes neither text nor gaps."""
    rng = np.random.default_rng(0)
    towns, ages = rng.choice(["u", "v"], 3000), rng.random(3000)
    domain = Schema({"town": Categories(["u", "v"]), "age": Grid(0, 1, 8)})
    inner = SyntheticDataClassifier(LogisticRegression(), domain=domain, classes=[0, 1])
    model = SecretSampleClassifier(inner, sample_size=300, ledger=PrivacyLedger(10, 0.1))
    with pytest.raises(ValueError, match="estimator failed on made-up rows"):
        model.fit(pd.DataFrame({"town": towns, "age": ages}), (ages > 0.5).astype(int))
    assert model.ledger.history() == []
    gaps = pd.DataFrame({"age": np.where(rng.random(3000) < 0.3, np.nan, ages)})
    domain = Schema({"age": Grid(0, 1, 8, missing=True)})
    model.set_params(estimator=clone(inner).set_params(domain=domain, epsilon=1.5))
    with pytest.warns(UserWarning, match="estimator accepts no missing values"):
        model.fit(gaps, (ages > 0.5).astype(int))
    assert model.predict(gaps).shape == (3000,)
