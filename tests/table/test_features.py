"""Features and labels are read one by one, and refused without being shown."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.pipeline import make_pipeline

from dplearn import (
    ExponentialMechanismClassifier,
    ParityClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    ThresholdClassifier,
)
from dplearn.domains import DomainError, Floats, Hashed, IntegerRange, Schema
from dplearn.preprocessing import CellEncoder


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "declare Dates.*, or give days, "),
        (pd.to_datetime(["2020-01-01", "2021-01-01"], utc=True), "declare Dates.*, or give days, "),
        (pd.to_datetime([None, None]), "declare Dates.*, or give days, "),
        (pd.to_timedelta([1, 2], unit="D"), "give seconds, "),
    ],
    ids=["dates", "zoned", "missing", "durations"],
)
@pytest.mark.parametrize("domain", [None, Floats()], ids=["any", "declared"])
def test_a_column_of_times_is_refused_by_its_type_with_advice(domain, times, words):
    frame = pd.DataFrame({"age": [1, 2], "when": times})
    learner = ExponentialMechanismClassifier(classes=[0, 1], domain=domain)
    with pytest.raises(
        DomainError, match=rf"in column 'when'.*values are {times.dtype}: {words}".replace("[", r"\[")
    ):
        learner.fit(frame, [0, 1])
    declared = learner.set_params(domain=Schema({"age": IntegerRange(0, 9), "when": Hashed()}))
    assert declared.fit(frame, [0, 1]).n_features_in_ == 2  # as texts


def test_the_message_advises_an_encoder_and_its_domain_and_the_advice_works():
    X, y = pd.DataFrame({"age": [34, 51] * 50, "job": ["clerk", "nurse"] * 50}), [0, 1] * 50
    learner = ExponentialMechanismClassifier(classes=[0, 1])
    for first in (learner, make_pipeline(CellEncoder(), learner)):
        with pytest.raises(DomainError, match=r"encoder = CellEncoder\(\)\.fit\(X\)") as caught:
            first.fit(X, y)
        assert "domain=encoder.domain()" in str(caught.value)
    encoder = CellEncoder().fit(X)
    given = make_pipeline(encoder, learner.set_params(domain=encoder.domain(), epsilon=9.0))
    assert given.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_new_records_need_the_columns_of_the_schema_and_no_others(frame):
    columns = {"other": [0, 1] * 50, "age": [20, 60] * 50, "last": [1, 2] * 50}
    schema = Schema({"age": IntegerRange(0, 99)}, labels=[0, 1])
    fitted = ExponentialMechanismClassifier(epsilon=9.0, domain=schema).fit(frame(columns), [0, 1] * 50)
    predicted = fitted.predict(frame(columns)).tolist()
    assert fitted.predict(frame({"age": columns["age"]})).tolist() == predicted
    assert fitted.predict(frame({"new": columns["last"], **columns})).tolist() == predicted
    with pytest.raises(ValueError, match="columns of its schema, but 'age' is missing"):
        fitted.predict(frame({"other": [1]}))
    if frame is pd.DataFrame:
        twice = pd.DataFrame(columns)[["age", "age"]]
        with pytest.raises(ValueError, match="each column of its schema once"):
            fitted.predict(twice)


LEARNERS_OF_SCHEMAS = [
    ExponentialMechanismClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    ThresholdClassifier,
]


@pytest.mark.parametrize("kind", [csr_matrix, csr_array])
def test_a_sparse_matrix_of_objects_is_refused_without_a_cell(kind):
    cells = np.array(["SECRET", 1.0] * 20, dtype=object)
    matrix = kind((cells, np.tile([0, 1], 20), np.arange(0, 41, 2)), shape=(20, 2))
    with pytest.raises(DomainError, match="X must hold numbers where it is a sparse matrix") as caught:
        ParityClassifier().fit(matrix, [0, 1] * 10)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("schema_order", [("age", "wage"), ("wage", "age"), ("age",)])
@pytest.mark.parametrize("make", LEARNERS_OF_SCHEMAS, ids=lambda make: make.__name__)
def test_columns_of_an_array_are_in_the_order_of_the_frame_that_was_fitted(make, schema_order):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"wage": rng.integers(0, 90, 3000), "age": rng.integers(0, 90, 3000)})
    schema = Schema({name: IntegerRange(0, 100) for name in schema_order}, labels=[0, 1])
    model = make(epsilon=30, domain=schema, random_state=0).fit(frame, frame["age"].to_numpy() > 40)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        assert (model.predict(frame.to_numpy()) == model.predict(frame)).all()
        assert (model.predict(frame.to_numpy().tolist()) == model.predict(frame)).all()
        with pytest.raises(ValueError, match=r"has 1 features, but .* is expecting 2 features"):
            model.predict(frame[["age"]].to_numpy())
    assert model.score(frame, frame["age"] > 40) > 0.9
