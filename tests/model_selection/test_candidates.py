"""Wherever an ensemble is held, whoever judges an estimator finds it."""

import weakref
from functools import partial
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, scale
from sklearn.svm import SVC

from dplearn import SubsampleAggregateClassifier
from dplearn.model_selection.candidates import answers_from_a_budget

ENSEMBLE = SubsampleAggregateClassifier()


class Wrapped:
    """Is no estimator, and predicts by one."""

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        return self.model.predict(X)


class Slotted:
    """Has no dictionary of attributes."""

    __slots__ = ("__model", "__weakref__", "model")

    def __init__(self, model, *, mangled=False):
        if mangled:
            self.__model = model
        else:
            self.model = model

    def predict(self, X):
        return self.model.predict(X)


def by_default(X, model=ENSEMBLE):
    return model.predict(X)


def by_name(X):
    return [ENSEMBLE.predict(X) for _ in range(1)]


def by_another(X):
    return by_name(X)


def recursive(model):
    if model is None:

        def inner(X):
            return later(X)
    else:

        def inner(X):
            return model.predict(inner)

        later = None
    return inner


ALIVE = Slotted(ENSEMBLE)


@pytest.mark.parametrize(
    "whole",
    [
        Slotted(ENSEMBLE),
        Slotted(ENSEMBLE, mangled=True),
        FunctionTransformer(Slotted(ENSEMBLE).predict),
        MappingProxyType({"a": ENSEMBLE}),
        weakref.ref(ALIVE),
        weakref.proxy(ALIVE),
        weakref.WeakValueDictionary({"a": ALIVE}),
        weakref.WeakKeyDictionary({ALIVE: 1}),
        weakref.WeakMethod(ALIVE.predict),
        by_default,
        by_another,
        lambda X: (lambda Z: ENSEMBLE.predict(Z))(X),
        recursive(ENSEMBLE),
        (each for each in [ENSEMBLE]),
        np.array([(ENSEMBLE,)], dtype=[("model", object)]),
        pd.DataFrame({"a": [ENSEMBLE]}),
        make_pipeline(ENSEMBLE),
        Wrapped(Wrapped([{"a": (ENSEMBLE,)}])),
        Wrapped(np.array([None, ENSEMBLE], dtype=object)),
        FunctionTransformer(partial(Wrapped.predict, ENSEMBLE)),
        FunctionTransformer((lambda model: lambda X: model.predict(X))(ENSEMBLE)),
    ],
    ids=lambda whole: type(whole).__name__,
)
def test_an_ensemble_is_found_wherever_python_keeps_it(whole):
    assert answers_from_a_budget(Wrapped(whole))
    assert answers_from_a_budget(whole)


@pytest.mark.parametrize(
    "whole",
    [
        LogisticRegression(),
        make_pipeline(LogisticRegression()),
        FunctionTransformer(np.abs),
        partial(abs),
        FunctionTransformer(scale),
        GridSearchCV(SVC(), {"C": [1]}),
        "text",
    ],
    ids=lambda whole: type(whole).__name__,
)
def test_where_there_is_none_none_is_found(whole):
    assert not answers_from_a_budget(whole)


def test_what_is_gone_is_held_by_nobody():
    passing = Slotted(ENSEMBLE)
    left_over = [weakref.ref(passing), weakref.proxy(passing)]
    del passing
    assert not answers_from_a_budget(left_over)
    assert not answers_from_a_budget(recursive(None))  # a variable that is not set


def test_what_holds_itself_is_gone_through_once():
    circle = Wrapped(None)
    circle.model = [circle]
    assert not answers_from_a_budget(circle)
