"""No fit of any estimator takes weights, whoever hands them over; it says why, and spends nothing."""

from inspect import signature
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from dplearn import KnowledgeTransferClassifier, PrivacyLedger, ThresholdClassifier

X, y = np.linspace(0, 1, 12)[:, None], np.arange(12) % 2
WEIGHTS = np.full(12, 7.0)


def pytest_generate_tests(metafunc):
    distributions = metafunc.config.pluginmanager.get_plugin(str(Path(__file__).with_name("conftest.py")))
    everyone = [*distributions.PREDICTORS, *distributions.TRANSFORMERS]
    if "estimator" in metafunc.fixturenames:
        metafunc.parametrize("estimator", everyone, ids=repr)


@pytest.fixture(params=[False, True], ids=["as parameters", "routed"])
def routed(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


@pytest.fixture
def unfitted(estimator, monkeypatch):
    """An estimator that must not read data, and whose fit does nothing else."""
    if hasattr(estimator, "_fit"):
        monkeypatch.setattr(type(estimator), "_fit", read_no_weights)
        return clone(estimator).set_params(ledger=PrivacyLedger(1e15, 0.5))
    return clone(estimator)


def read_no_weights(self, *data, **how):
    self.read_ = all(part is not WEIGHTS for part in (*data, *how.values()))


def in_a_pipeline(estimator, weights, routed):
    how = {"sample_weight" if routed else "last__sample_weight": weights}
    Pipeline([("last", estimator)]).fit(X, y, **how)


def in_a_search(estimator, weights, routed):
    if routed:
        estimator.set_score_request(sample_weight=True)
    GridSearchCV(
        estimator, {"epsilon": [estimator.epsilon]}, cv=2, scoring=None, refit=False, error_score="raise"
    ).fit(X, y, sample_weight=weights)


def test_weights_are_refused_with_the_reason_and_nothing_is_spent(unfitted, routed):
    ways = [
        lambda each: each.fit(X, y, sample_weight=WEIGHTS),
        lambda each: in_a_pipeline(each, WEIGHTS, routed),
    ]
    if hasattr(unfitted, "predict"):
        ways.append(lambda each: in_a_search(each, WEIGHTS, routed))
    else:
        ways.append(lambda each: each.fit_transform(X, y, sample_weight=WEIGHTS))
    for fit in ways:
        with pytest.raises(TypeError, match="a weight changes how much one record counts") as refused:
            fit(unfitted)
        assert "7" not in str(refused.value)
        assert not hasattr(unfitted, "read_")
    if hasattr(unfitted, "ledger"):
        assert len(unfitted.ledger.history()) == 0


def test_no_weights_are_none(unfitted):
    unfitted.fit(X, y, sample_weight=None)
    assert getattr(unfitted, "read_", True)


def test_other_parameters_of_fit_are_refused_by_name(unfitted):
    with pytest.raises(TypeError, match=r"fit\(\) got an unexpected keyword argument 'cohorts'"):
        unfitted.fit(X, y, cohorts=WEIGHTS)


def test_scikit_learn_is_not_told_that_fits_weigh(estimator):
    assert not has_fit_parameter(estimator, "sample_weight")
    assert "sample_weight" in signature(getattr(estimator, "score", accuracy)).parameters


def accuracy(X, y, sample_weight=None):
    """Stands for the score that transformers have not."""


class SaysZero(ThresholdClassifier):
    """Fits like its base, and is right where the label is 0."""

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_a_score_weighs_where_the_fit_is_told_of_no_weights():
    model = SaysZero(classes=[0, 1], ledger=PrivacyLedger(300))
    right = (y == 0).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_score_request(sample_weight=True).set_fit_request(sample_weight=False)
        search = GridSearchCV(model, {"epsilon": [100.0]}, cv=2, error_score="raise")
        search.fit(X, y, sample_weight=right)
    assert search.best_score_ == 1
    assert model.ledger.spent().epsilon == 300
    assert search.best_estimator_.score(X, y, sample_weight=right) == 1
    assert search.best_estimator_.score(X, y) == 0.5


def test_public_rows_are_routed_to_the_fit_that_takes_them():
    taken = []

    class Noting(KnowledgeTransferClassifier):
        def _fit(self, *data, X_public, **how):
            taken.append(X_public)

    with sklearn.config_context(enable_metadata_routing=True):
        Pipeline([("last", Noting().set_fit_request(X_public=True))]).fit(X, y, X_public="rows")
    assert taken == ["rows"]
