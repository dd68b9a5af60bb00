"""Dask-ML's wrappers and its search charge as scikit-learn's do; without Dask-ML, these tests are skipped."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from dplearn import AdditiveClassifier, BudgetExceededError, PrivacyLedger, StatisticalQueryNaiveBayes
from dplearn.domains import Grid

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]
wrappers = pytest.importorskip("dask_ml.wrappers")
array = pytest.importorskip("dask.array")

X = np.random.default_rng(0).uniform(0, 9, (2000, 2))
Y = (X[:, 0] > 5).astype(int)
PARTS = array.from_array(X, chunks=(500, 2)), array.from_array(Y, chunks=500)


def learner(budget=1e6):
    ledger = PrivacyLedger(budget, 1e-3)
    return StatisticalQueryNaiveBayes(epsilon=5, domain=Grid(0, 9), classes=[0, 1], ledger=ledger)


def test_predictions_of_parts_are_those_of_the_table_and_cost_nothing():
    model = learner()
    fitted = wrappers.ParallelPostFit(model, scoring="accuracy").fit(X, Y)
    for method in ("predict", "predict_proba"):
        assert (getattr(fitted, method)(PARTS[0]).compute() == getattr(fitted, method)(X)).all()
    assert fitted.score(*PARTS) > 0.9
    assert len(model.ledger.history()) == 1


def test_incremental_fits_charge_for_each_part_and_need_partial_fit():
    model = learner()
    assert wrappers.Incremental(model).fit(*PARTS, classes=[0, 1]).score(*PARTS) > 0.9
    assert len(model.ledger.history()) == 4
    other = AdditiveClassifier(domain=Grid(0, 9), ledger=PrivacyLedger(9, 1e-3))
    with pytest.raises(ValueError, match="AdditiveClassifier'>' does not implement 'partial_fit'"):
        wrappers.Incremental(other).fit(*PARTS)
    assert other.ledger.history() == []


def test_a_search_charges_each_fit_and_stops_where_the_ledger_does():
    search = pytest.importorskip("dask_ml.model_selection").GridSearchCV
    for budget in (1e6, 6):
        model = learner(budget)
        found = search(model, {"epsilon": [1.0, 5.0]}, cv=KFold(2), scheduler="sync")
        if budget > 17:
            assert found.fit(X, Y).score(X, Y) > 0.9
            assert len(model.ledger.history()) == 5
            continue
        with pytest.raises(BudgetExceededError):
            found.fit(X, Y)
