"""A dry run returns an estimator's error and leaves shared state unchanged."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from dplearn.chance import PublicStream
from dplearn.estimator.base_models import dry_run
from dplearn.learners.votes.dry_runs import (
    column_taken_for_numbers,
    made_up_frame,
    made_up_rows,
    with_gaps,
)

CLASSES = np.array(["no", "yes"])


class Drawing(ClassifierMixin, BaseEstimator):
    """Draws from numpy's global generator, prints, and may raise."""

    def __init__(self, error=None):
        self.error = error

    def fit(self, X, y):
        print(np.random.normal(size=3))
        self.label_ = y[0]
        if self.error is not None:
            raise self.error("why")
        return self

    def predict(self, X):
        return [self.label_] * len(X)


def tried(estimator):
    stream = PublicStream(0)
    return dry_run(estimator, made_up_rows(10, 2, stream), CLASSES, stream)


def test_the_global_generator_is_left_alone_and_nothing_is_printed(capfd):
    before = np.random.get_state()[1].tolist(), np.random.get_state()[2]
    assert tried(Drawing()) == ""
    assert (np.random.get_state()[1].tolist(), np.random.get_state()[2]) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_only_columns_of_text_are_made_up_of_texts(frame):
    table = frame({"job": ["clerk"], "wage": [1.5], "kind": ["a"]})
    taken = "ValueError: could not convert string to float: 'two'"
    assert column_taken_for_numbers(table, taken) == "job"
    assert column_taken_for_numbers(table[["wage"]], taken) is None
    assert column_taken_for_numbers(table, "ValueError: could not convert string to float: 'no'") is None
    made_up = made_up_frame(table, 30, PublicStream(0))
    assert set(made_up["job"]) == set(made_up["kind"]) == {"one", "two"}
    assert 0 <= min(made_up["wage"]) < max(made_up["wage"]) < 1


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_gaps_are_made_in_columns_of_floats_alone(kind):
    frame = kind({"wage": [0.5] * 20, "age": [3] * 20, "town": ["a"] * 20, "rate": [0.25] * 20})
    gapped = with_gaps(frame)
    missing = {name: pd.isna(pd.Series(gapped[name].to_list())).to_numpy() for name in frame.columns}
    assert not missing["age"].any()
    assert not missing["town"].any()
    assert 0 < missing["wage"].sum() < 20
    assert (missing["wage"] != missing["rate"]).any()
    assert with_gaps(frame[["age", "town"]]) is None
