"""Wherever an ensemble is held, whoever judges an estimator finds it."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dplearn import SubsampleAggregateClassifier
from dplearn.model_selection.held import answers_from_a_budget

ENSEMBLE = SubsampleAggregateClassifier()


class Wrapped:
    """Is no estimator, and predicts by one."""

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        return self.model.predict(X)


@pytest.mark.parametrize(
    "whole",
    [
        ENSEMBLE,
        make_pipeline(ENSEMBLE),
        Wrapped(ENSEMBLE),
        Wrapped(Wrapped([{"a": (ENSEMBLE,)}])),
        Wrapped({1, ENSEMBLE}),
        Wrapped(np.array([None, ENSEMBLE], dtype=object)),
        FunctionTransformer(ENSEMBLE.predict),
        FunctionTransformer(Wrapped(ENSEMBLE).predict),
        FunctionTransformer(partial(Wrapped.predict, ENSEMBLE)),
        FunctionTransformer((lambda model: lambda X: model.predict(X))(ENSEMBLE)),
    ],
    ids=["self", "step", "attribute", "deep", "set", "array", "method", "owner", "partial", "closure"],
)
def test_an_ensemble_is_found(whole):
    assert answers_from_a_budget(whole)


@pytest.mark.parametrize(
    "whole",
    [
        LogisticRegression(),
        make_pipeline(LogisticRegression()),
        FunctionTransformer(np.abs),
        partial(abs),
        "text",
    ],
    ids=repr,
)
def test_where_there_is_none_none_is_found(whole):
    assert not answers_from_a_budget(whole)


def test_what_holds_itself_is_gone_through_once():
    circle = Wrapped(None)
    circle.model = [circle]
    assert not answers_from_a_budget(circle)
