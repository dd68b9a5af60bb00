"""The door of every private classifier."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from dplearn import (
    ExponentialMechanismClassifier,
    ThresholdClassifier,
)
from dplearn.audit import fitted_with, freeze
from dplearn.chance import SeededDice, dice_for
from dplearn.domains import Grid
from dplearn.estimator import SeveralOutputsClassifier
from dplearn.preprocessing import PrivateRobustScaler
from dplearn.privacy import PrivacyLedger


def learner(**parameters):
    return ExponentialMechanismClassifier(domain=Grid(0, 1, 5), classes=[0, 1], **parameters)


@pytest.fixture
def table():
    return np.linspace(0, 1, 20)[:, None], np.arange(20) % 2


def test_fit_is_the_audited_method_with_dice_chosen_at_the_door(table, monkeypatch):
    asked = []
    monkeypatch.setattr("dplearn.estimator.base.dice_for", lambda *of: asked.append(of) or dice_for(*of))
    first = learner(random_state=5).fit(*table)
    (stream,) = asked
    assert stream[:2] == (5, "ExponentialMechanismClassifier")
    second = fitted_with(learner(random_state=5), *table, dice=SeededDice(*stream))
    assert first.concept_ == second.concept_


@pytest.mark.parametrize("secret", [3.0, 4.0])
def test_a_pipeline_with_a_cache_pays_for_every_fit_whether_tables_are_equal_or_not(secret, tmp_path):
    y = np.arange(51) > 20
    ledger = PrivacyLedger(100, path=tmp_path / "ledger")
    for last in (secret, 3.0):
        X = np.array([[float(i)] for i in range(50)] + [[last]])
        make_pipeline(
            PrivateRobustScaler(ledger=ledger),
            ThresholdClassifier(classes=[False, True], ledger=ledger),
            memory=str(tmp_path / "cache"),
        ).fit(X, y)
    names = [record.estimator for record in ledger.history()]
    assert names == ["PrivateRobustScaler", "ThresholdClassifier"] * 2


def test_pickles_omit_state_that_would_make_them_differ(table):
    unfitted = learner(epsilon=2)
    twins = [copy.copy(unfitted), copy.deepcopy(unfitted)]
    twins += [
        pickle.loads(pickle.dumps(unfitted, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]
    for twin in twins:
        assert vars(twin) == vars(unfitted)
        assert twin.fit(*table).guarantee_.epsilon == 2


def test_an_auditor_sees_one_outcome_in_equal_unfitted_estimators():
    assert freeze([learner()]) == freeze([learner()])
    assert freeze([learner()]) != freeze([learner(epsilon=2)])


class Fixed(SeveralOutputsClassifier):
    """Predicts given labels of two outputs."""

    def __init__(self):
        self.classes_ = [np.array(["no", "yes"]), np.array([3, 4])]

    def _codes(self, X):
        return np.array([[0, 1], [1, 1]])


def test_several_outputs_have_a_column_and_a_table_of_probabilities_each():
    model = Fixed()
    assert model.predict([[0], [0]]).tolist() == [["no", 4], ["yes", 4]]
    assert [each.tolist() for each in model.predict_proba([[0], [0]])] == [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]
    assert model.score([[0], [0]], [["no", 4], ["yes", 3]]) == 0.5
    assert model.score([[0], [0]], [["no", 4], ["yes", 3]], sample_weight=[3, 1]) == 0.75
    with pytest.raises(ValueError, match="y must have 2 outputs, got 1"):
        model.score([[0], [0]], ["no", "no"])


class Forgetful(ThresholdClassifier):
    def __init__(self, eps=0.1, ledger=None):
        self.eps, self.ledger = eps, ledger


def test_a_parameter_that_a_subclass_does_not_set_is_no_default():
    ledger = PrivacyLedger(5)
    with pytest.raises(AttributeError, match=r"'epsilon': a subclass must call super\(\)"):
        Forgetful(ledger=ledger).fit([[0], [1]], [0, 1])
    assert ledger.history() == []


def test_a_state_without_a_ledger_is_no_fit_without_one():
    ledger = PrivacyLedger(5)
    state = {
        name: value for name, value in vars(ThresholdClassifier(ledger=ledger)).items() if name != "ledger"
    }
    copied = ThresholdClassifier.__new__(ThresholdClassifier)
    copied.__setstate__(state)
    with pytest.raises(AttributeError, match="'ledger'"):
        copied.fit([[0], [1]], [0, 1])
