"""Every private classifier is fitted to several labels within one budget, or is refused by name."""

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

from dplearn import PrivacyLedger, PrivateMultiOutputClassifier
from dplearn.learners.votes.online import OnlineEnsembleClassifier


def is_refused(classifier):
    return (
        is_regressor(classifier)
        or isinstance(classifier, OnlineEnsembleClassifier | PrivateMultiOutputClassifier)
        or getattr(classifier, "trust_model", "central") == "local"
    )


@pytest.mark.filterwarnings("ignore")
def test_every_classifier_is_fitted_to_two_labels_or_refused_before_a_charge(one_a_class, classifier, iris):
    X, y = iris
    Y = np.column_stack([y, np.roll(y, 7)])
    delta = 1e-6 if hasattr(classifier, "delta") else 0
    ledger = PrivacyLedger(
        2 * classifier.epsilon, delta, protects=getattr(classifier, "protects", "examples")
    )
    model = PrivateMultiOutputClassifier(
        clone(classifier), epsilon=2 * classifier.epsilon, delta=delta, ledger=ledger
    )
    if is_refused(classifier):
        with pytest.raises((TypeError, ValueError), match="estimator must"):
            model.fit(X, Y)
        assert ledger.history() == []
        return
    model.fit(X, Y)
    assert len(ledger.history()) == 1
    assert model.guarantee_.epsilon == ledger.spent().epsilon
    assert model.predict(X).shape == Y.shape
    assert [each.tolist() for each in model.classes_] == [np.unique(y).tolist()] * 2
    assert all(each.guarantee_.epsilon <= model.guarantee_.epsilon for each in model.estimators_)
    assert all(each.classes_.tolist() == np.unique(y).tolist() for each in model.estimators_)
