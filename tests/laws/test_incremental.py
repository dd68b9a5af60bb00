"""Estimators with `partial_fit`: the ledger adds calls, the guarantee is of new records, nothing is left."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris

from dplearn import PrivacyLedger
from dplearn.estimator import Incremental
from tests.laws.conftest import PREDICTORS, TRANSFORMERS, written

FOUND = [each for each in (*PREDICTORS, *TRANSFORMERS) if hasattr(each, "partial_fit")]
LEARNING = [each for each in FOUND if getattr(each, "domain", None) == "learn"]
DECLARED = [each for each in FOUND if not any(each is other for other in LEARNING)]
X, y = load_iris(return_X_y=True)
pytestmark = pytest.mark.filterwarnings("ignore:n_samples is")
incremental = pytest.mark.parametrize("estimator", DECLARED, ids=written)


def called(model, X, y):
    labels = {"classes": np.unique(y)} if is_classifier(model) else {}
    return model.partial_fit(X, y, **labels)


def test_all_of_them_are_among_the_settings():
    assert {type(each).__name__ for each in FOUND} == {each.__name__ for each in Incremental.__subclasses__()}


@incremental
def test_the_ledger_adds_calls_and_the_guarantee_is_the_greatest(estimator):
    ledger = PrivacyLedger(10**6, 0.9)
    model, total = clone(estimator).set_params(ledger=ledger), 0
    for place, factor in enumerate((1, 2, 1)):
        model.set_params(epsilon=factor * estimator.epsilon)
        called(model, X[place::3], y[place::3])
        total += factor * estimator.epsilon
        assert any("each call" in each for each in model.guarantee_.assumes) == (place > 0)
    charged = [each.guarantee for each in ledger.history()]
    assert ledger.spent().epsilon == total
    assert model.guarantee_.epsilon == max(each.epsilon for each in charged)
    assert model.guarantee_.delta == max(each.delta for each in charged)
    assert {text for each in charged for text in each.assumes} < set(model.guarantee_.assumes)


@incremental
def test_calls_leave_what_a_fit_leaves(estimator):
    model = called(clone(estimator), X, y)
    fitted = clone(estimator).fit(X, y)
    assert vars(model).keys() == vars(fitted).keys()
    once = len(pickle.dumps(model))
    for _ in range(3):
        called(model, X, y)
    assert len(pickle.dumps(model)) - once < 300  # texts of assumptions
    assert vars(model).keys() == vars(fitted).keys()
    assert re.fullmatch(r"Calls\(4 of 600 records in all\)", repr(model.calls_))


@incremental
def test_a_refused_call_spends_nothing_and_changes_nothing(estimator):
    ledger = PrivacyLedger(10**6, 0.9)
    model = called(clone(estimator).set_params(ledger=ledger), X, y)
    kept = dict(vars(model))
    for table, error in ((X[:, :2], ValueError), (np.full_like(X, np.nan), ValueError)):
        with pytest.raises(error):
            called(model, table, y)
    assert len(ledger.history()) == 1
    assert all(vars(model)[name] is value for name, value in kept.items())
