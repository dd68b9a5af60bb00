"""The door of every private classifier."""

import copy
import pickle

import numpy as np
import pytest

from dplearn import ExponentialMechanismClassifier
from dplearn.chance import ReplayDice, SeededDice, TapeDice
from dplearn.domains import Grid


def learner(**parameters):
    return ExponentialMechanismClassifier(domain=Grid(0, 1, 5), classes=[0, 1], **parameters)


@pytest.fixture
def table():
    return np.linspace(0, 1, 20)[:, None], np.arange(20) % 2


def test_fit_is_the_audited_method_with_dice_chosen_at_the_door(table):
    first = learner(random_state=5).fit(*table)
    second = learner(random_state=5)
    second._fit(*table, SeededDice(5, "ExponentialMechanismClassifier", *second._context()))
    assert first.concept_ == second.concept_


def test_all_chance_of_a_fit_is_two_draws(table):
    dice = ReplayDice(TapeDice())
    learner()._fit(*table, dice)
    assert [draw.primitive for draw in dice.trace] == ["power_weighted", "below"]


def test_a_refused_table_draws_nothing(table):
    dice = ReplayDice(TapeDice())
    X, y = table
    for bad_X, bad_y in ((X + 1, y), (X, y + 1), (X * np.nan, y), (X[:3], y)):
        with pytest.raises(ValueError, match=r"outside|declared classes|NaN|equal numbers"):
            learner()._fit(bad_X, bad_y, dice)
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
