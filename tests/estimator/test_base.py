"""The door of every private classifier."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from dplearn import ExponentialMechanismClassifier, ThresholdClassifier
from dplearn.audit import fitted_with
from dplearn.audit.outcomes import freeze
from dplearn.chance import EnumeratingDice, ReplayDice, SeededDice
from dplearn.domains import Grid
from dplearn.preprocessing import PrivateRobustScaler
from dplearn.privacy import PrivacyLedger


def learner(**parameters):
    return ExponentialMechanismClassifier(domain=Grid(0, 1, 5), classes=[0, 1], **parameters)


@pytest.fixture
def table():
    return np.linspace(0, 1, 20)[:, None], np.arange(20) % 2


def test_fit_is_the_audited_method_with_dice_chosen_at_the_door(table):
    first = learner(random_state=5).fit(*table)
    second = learner(random_state=5)
    dice = SeededDice(5, "ExponentialMechanismClassifier", *second._context())
    second = fitted_with(second, *table, dice=dice)
    assert first.concept_ == second.concept_


def test_all_chance_of_a_fit_is_two_draws(table):
    dice = ReplayDice(EnumeratingDice())
    fitted_with(learner(), *table, dice=dice)
    assert [draw.primitive for draw in dice.trace] == ["power_weighted", "below"]


def test_a_refused_table_draws_nothing(table):
    dice = ReplayDice(EnumeratingDice())
    X, y = table
    for bad_X, bad_y in ((X + 1, y), (X, y + 1), (X * np.nan, y), (X[:3], y)):
        with pytest.raises(ValueError, match=r"outside|declared classes|NaN|equal numbers"):
            fitted_with(learner(), bad_X, bad_y, dice=dice)
    assert dice.trace == []


def test_fitted_estimators_copy_and_pickle(table):
    fitted = learner().fit(*table)
    for twin in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert (twin.predict(table[0]) == fitted.predict(table[0])).all()
        assert twin.guarantee_ == fitted.guarantee_


def test_global_generators_are_left_alone(table):
    before = np.random.get_state()[1].tobytes()
    learner().fit(*table)
    assert np.random.get_state()[1].tobytes() == before


@pytest.mark.parametrize(
    "seed", [3, np.int64(3), np.random.RandomState(3), np.random.default_rng(3)], ids=type
)
def test_any_seed_makes_the_guarantee_reproducible(table, seed):
    assert learner(random_state=seed).fit(*table).guarantee_.reproducible


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


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_no_two_pickles_of_an_estimator_are_the_same_fitted_or_not(protocol, table):
    inner = PrivateRobustScaler()
    for kept in (learner().fit(*table), inner, [inner], {"a": inner}, ColumnTransformer([("a", inner, [0])])):
        assert len({pickle.dumps(kept, protocol) for _ in range(5)}) == 5
        assert len({joblib.hash(kept) for _ in range(5)}) == 5


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
