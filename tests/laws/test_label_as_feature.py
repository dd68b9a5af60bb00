"""A column that is passed as labels or groups, and left in X, is refused before the charge unless it is no
feature. Names are compared, which are public, and no values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dplearn import ExponentialMechanismClassifier
from dplearn.domains import Grid, Schema
from dplearn.estimator import PrivateEstimator
from dplearn.model_selection import PrivateSearchCV, private_score
from dplearn.privacy import PrivacyLedger
from tests.laws.conftest import framed, protects_labels, public_rows

FEATURE = "{} has the name and the type of a column of X that is used as a feature, 'kind': give X.drop"


@pytest.mark.filterwarnings("ignore")
def test_every_learner_refuses_labels_and_groups_that_are_features(classifier, iris, one_a_class):
    if not isinstance(classifier, PrivateEstimator):
        return
    X, y = iris
    table, of_labels = framed(X, kind=y), protects_labels(classifier)
    refused = [("y", table["kind"], None), ("y", table[["kind"]], None), ("groups", y, table["kind"])]
    for what, labels, groups in refused[: 2 if of_labels else 3]:
        protects = "groups" if groups is not None else "labels" if of_labels else "examples"
        model = clone(classifier).set_params(ledger=PrivacyLedger(10**13, 0.9, protects=protects))
        given = {} if groups is None else {"groups": groups}
        with pytest.raises(ValueError, match=FEATURE.format(what)):
            model.fit(table, labels, **given, **public_rows(model, X))
        assert model.ledger.history() == []


TABLE = framed(np.random.default_rng(0).random((400, 2)), kind=np.arange(400) % 2)
SCHEMA = Schema({"c0": Grid(0, 1, 11), "c1": Grid(0, 1, 11)})
STUMP = ExponentialMechanismClassifier(domain=SCHEMA)
WIDER = ExponentialMechanismClassifier(domain=Schema({**SCHEMA.columns, "kind": Grid(0, 1, 2)}))


@pytest.mark.filterwarnings("ignore")
def test_a_column_that_is_no_feature_may_stay():
    X, y = TABLE, TABLE["kind"]
    model = clone(STUMP).fit(X, y, groups=y)
    assert private_score(model, X, y).guarantee.epsilon == 1  # the model does not look at it
    search = PrivateSearchCV(STUMP, {"concept_class": ["stumps", "corners"]}).fit(X, y)
    assert private_score(search, X, y).guarantee.epsilon == 1
    clone(STUMP).fit([X, X], "kind")
    clone(WIDER).fit(X, y.to_numpy())
    clone(WIDER).fit(X, y.rename("later"))
    clone(WIDER).fit(X, X["kind"] > 0)  # of the same name, and another type
    numbered = pd.DataFrame(X.to_numpy())
    ExponentialMechanismClassifier(domain=Grid(0, 1, 11)).fit(numbered, pd.DataFrame(y.to_numpy())[0])
