"""A table of few records, of one column or of one value is fitted, or refused before anything is spent."""

from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone

from dplearn.privacy import PrivacyLedger
from tests.laws.conftest import STAND_FOR_ALL, public_rows, written

TABLES = {
    "one row": np.ones((1, 2)),
    "two rows": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "one column": np.arange(60.0)[:, None],
    "constant": np.full((60, 3), 7.0),
}
ENSEMBLE = ("one row", "two rows")  # which has more teachers
REFUSED = {
    "KnowledgeTransferClassifier": ENSEMBLE,
    "SoftLabelAggregateClassifier": ENSEMBLE,
    "SoftLabelTransferClassifier": (*ENSEMBLE, "constant"),
    "SubsampleAggregateClassifier": ENSEMBLE,
    "MaskedParityClassifier": ("one row", "one column"),
    "PrivateSearchCV": ("one row",),
    "PrivateTunedThresholdClassifier": ("one row",),
}


def by_default(learner, ledger):
    """A learner with a ledger, the domain of its class by default, and declared labels."""
    names, domain = learner.get_params(), signature(type(learner)).parameters.get("domain")
    given = {"ledger": ledger, "random_state": 0} | ({"domain": domain.default} if domain else {})
    given |= {name: [0, 1] for name in ("classes", "estimator__classes") if name in names}
    return clone(learner).set_params(**given)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("epsilon", [1e-6, 1.0])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("learner", [each for each in STAND_FOR_ALL if hasattr(each, "ledger")], ids=written)
def test_it_is_fitted_or_refused_before_the_charge(learner, table, epsilon):
    protects = getattr(learner, "protects", "examples")
    ledger = PrivacyLedger(10, 0.9, protects=protects, allow_reproducible=True)
    X, model = TABLES[table], by_default(learner, ledger).set_params(epsilon=epsilon)
    with np.errstate(all="raise"):
        try:
            model.fit(X, np.arange(len(X)) % 2, **public_rows(model, X))
        except ValueError:
            assert table in REFUSED.get(type(learner).__name__, ())
            assert ledger.history() == []
            return
        shown = (model.transform if hasattr(model, "transform") else model.predict)(X)
    assert table not in REFUSED.get(type(learner).__name__, ())
    shown = shown.toarray() if hasattr(shown, "toarray") else np.asarray(shown, dtype=float)
    assert len(shown) == len(X)
    released = [value for name, value in vars(model).items() if name.endswith("_")]
    for numbers in (shown, *(each for each in released if isinstance(each, np.ndarray | float))):
        assert np.asarray(numbers).dtype.kind != "f" or np.isfinite(numbers).all()
