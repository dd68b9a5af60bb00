"""Settings are shown without seeds, ledgers and addresses in memory."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from dplearn import PointClassifier, PrivacyLedger, SecretSampleClassifier
from dplearn.display.described import settings_of
from dplearn.domains import Bits, Categories, IntegerRange, Product, Schema
from dplearn.releases import cdf, stable_counts


def test_seeds_are_not_shown_however_deep_they_are():
    inner = PointClassifier(epsilon=0.25, random_state=918273)
    found = settings_of(make_pipeline(SecretSampleClassifier(inner, sample_size=9, random_state=918273)))
    assert found["secretsampleclassifier__estimator__random_state"] == "set (not shown)"
    assert found["secretsampleclassifier__estimator__epsilon"] == "0.25"
    assert "918273" not in str(found)


@pytest.mark.parametrize(
    "holder",
    [
        {"random_state": 918273},
        {"inner__random_state": 918273, "ledger": "account"},
        [{"random_state": 918273}],
        partial(max, random_state=918273),
        partial(max, ledger=PrivacyLedger(1, path=None), random_state=918273),
    ],
)
def test_no_seed_and_no_ledger_within_a_value_is_shown(holder):
    text = settings_of(FunctionTransformer(kw_args={"value": holder}))["kw_args"]
    assert "918273" not in text
    assert "account" not in text
    assert "epsilon" not in text


def test_a_ledger_is_not_shown(tmp_path):
    found = settings_of(PointClassifier(ledger=PrivacyLedger(3, path=tmp_path / "account")))
    assert found["ledger"] == "set (not shown)"
    assert "account" not in str(found)


@pytest.mark.parametrize(
    "value",
    [
        np.arange(1000.0) + 0.125,
        [np.arange(3) + 0.125],
        object(),
        lambda x: x,
        np.random.RandomState(0),
        PrivacyLedger(0.125),
        {"a": np.arange(9) + 0.125},
        LogisticRegression(random_state=5),
    ],
    ids=["array", "array in a list", "object", "function", "generator", "ledger", "mapping", "estimator"],
)
def test_no_entries_of_arrays_and_no_addresses_in_memory_are_shown(value):
    text = settings_of(FunctionTransformer(kw_args={"value": value}))["kw_args"]
    assert "0x" not in text
    assert ".125" not in text
    assert "random_state" not in text


WORDS = [f"word number {place}" for place in range(2_000)]


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (list(range(2_000)), "2,000 in all"),
        (WORDS, "2,000 in all"),
        (dict.fromkeys(WORDS, 1), "2,000 in all"),
        (Categories(WORDS), "2,000 in all"),
        (Product([Categories(WORDS)] * 40), "Product(40 columns)"),
        (Schema({word: Bits() for word in WORDS[:14]}, labels=WORDS), "Schema(14 columns, labels=2000)"),
        ([Categories(WORDS)] * 40, "40 in all"),
        ("x" * 10**4, "..."),
    ],
    ids=["list", "words", "mapping", "categories", "product", "schema", "domains", "text"],
)
def test_a_long_value_is_short(value, given):
    text = settings_of(FunctionTransformer(kw_args={"a": value}))["kw_args"]
    assert given in text
    assert len(text) < 250


def test_a_seed_is_hidden_before_a_long_value_is_cut():
    for place in range(50, 250):
        value = type("Odd", (), {"__repr__": lambda _, n=place: f"Odd({'x' * n}, random_state=918273)"})()
        text = settings_of(FunctionTransformer(kw_args={"a": value}))["kw_args"]
        assert not any(part in text for part in ("9182", "1827", "8273"))


def test_steps_are_listed_once_by_name():
    found = settings_of(make_pipeline(StandardScaler(), LogisticRegression(C=3.0)))
    assert found["logisticregression"] == "LogisticRegression"
    assert found["logisticregression__C"] == "3.0"
    assert "steps" not in found


def test_a_release_shows_what_its_plan_takes_as_public():
    found = cdf(np.arange(500) % 10, epsilon=0.5, domain=IntegerRange(0, 9), random_state=1)
    assert settings_of(found) | {"domain": ""} == {
        "alpha": "0.05",
        "beta": "0.05",
        "domain": "",
        "method": "'tree'",
        "n_samples": "500",
    }
    assert settings_of(stable_counts(["a"] * 500, delta=1e-6))["threshold"] == "28"
