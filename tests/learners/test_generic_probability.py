"""With `probability`, a tenth of epsilon releases how frequent the labels are where the rule predicts one."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from dplearn import ExponentialMechanismClassifier, PrivateMultiOutputClassifier
from dplearn.domains import IntegerRange
from dplearn.learners.rules.generic import _shares
from dplearn.privacy import BoundedRange

RNG = np.random.default_rng(0)
X = X2 = RNG.integers(0, 20, (4000, 2))
Y = (RNG.random(4000) < np.where(X[:, 0] > 9, 0.7, 0.1)).astype(int)
STUMPS = ExponentialMechanismClassifier(domain=IntegerRange(0, 19), classes=[0, 1], random_state=0)


@pytest.mark.parametrize("concept_class", ["stumps", "thresholds", "corners"])
def test_probabilities_are_the_shares_of_the_labels_and_agree_with_the_rule(concept_class):
    X = X2[:, :1] if concept_class == "thresholds" else X2
    model = clone(STUMPS).set_params(concept_class=concept_class, probability=True).fit(X, Y)
    found, predicted = model.predict_proba(X), model.predict(X)
    assert (found.argmax(axis=1) == predicted).all()
    assert found.sum(axis=1) == pytest.approx(1)
    for label in (0, 1):
        share = Y[predicted == label].mean()
        assert model.label_shares_[label, 1] == pytest.approx(share, abs=0.08)
    plain = clone(STUMPS).set_params(concept_class=concept_class).fit(X, Y)
    assert plain.label_shares_ is None
    assert set(np.unique(plain.predict_proba(X))) == {0, 1}
    assert log_loss(Y, found) < log_loss(Y, plain.predict_proba(X))


def test_the_guarantee_is_the_same_and_the_plan_says_what_the_rule_has():
    plain, counted = (clone(STUMPS).set_params(probability=each) for each in (False, True))
    plans = [each.plan(4000, n_features=2) for each in (plain, counted)]
    assert plans[0].guarantee == plans[1].guarantee == counted.fit(X, Y).guarantee_
    assert plans[1].selection.epsilon + plans[1].counting == 1
    assert plans[1].counting == Fraction(1, 10)
    assert plans[1].n_realizable > plans[0].n_realizable
    assert isinstance(plans[0].event, BoundedRange)
    assert not isinstance(plans[1].event, BoundedRange)


def test_tables_in_parts_public_labels_and_learned_schemas_have_them_too():
    model = clone(STUMPS).set_params(probability=True)
    whole = model.fit(X, Y).label_shares_
    parted = clone(model).fit([X[:7], X[7:]], [Y[:7], Y[7:]])
    np.testing.assert_array_equal(whole, parted.label_shares_)
    labels = clone(model).set_params(protects="labels").fit(X, Y)
    np.testing.assert_allclose(labels.label_shares_, whole, atol=0.05)
    learned = clone(model).set_params(domain="learn", epsilon=5).fit(X, Y)
    np.testing.assert_allclose(learned.label_shares_, whole, atol=0.05)
    several = PrivateMultiOutputClassifier(clone(model), epsilon=5, random_state=0)
    several.fit(X, np.column_stack([Y, 1 - Y]))
    assert [each.label_shares_.shape for each in several.estimators_] == [(2, 2)] * 2


def test_noise_makes_no_label_more_probable_than_the_predicted_one():
    shares = _shares(np.array([[5, 900, 0], [0, 0, 0], [40, 0, 2000]]), Fraction(1))
    assert shares.argmax(axis=1).tolist() == [0, 1, 2]
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares[1] == pytest.approx([1 / 3] * 3)
