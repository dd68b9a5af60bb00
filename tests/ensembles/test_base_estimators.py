"""A base estimator has seeds of its own and prints nothing; one that would charge a ledger is refused."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dplearn import ExponentialMechanismClassifier, SubsampleAggregateClassifier
from dplearn.ensembles.base_estimators import Seeded, check_teachable, quiet
from dplearn.ensembles.teachers import train_teachers
from dplearn.privacy import PrivacyLedger

LEDGER = PrivacyLedger(1.0, 1e-6)
CHARGED = ExponentialMechanismClassifier(ledger=LEDGER)


class Slotted:
    """Holds a learner in a slot."""

    __slots__ = ("model",)

    def __init__(self, model):
        self.model = model

    def fitted(self, X):
        return self.model.fit(X, X[:, 0]).predict(X)


@pytest.mark.parametrize(
    "estimator",
    [
        CHARGED,
        make_pipeline(CHARGED),
        BaggingClassifier(CHARGED),
        VotingClassifier([("a", LogisticRegression()), ("b", CHARGED)]),
        GridSearchCV(ExponentialMechanismClassifier(), {"ledger": [None, LEDGER]}),
        GridSearchCV(make_pipeline(None), [{"steps": [[("a", CHARGED)]]}]),
        make_pipeline(FunctionTransformer(lambda X: CHARGED.fit(X, X[:, 0]).predict(X)), GaussianNB()),
        make_pipeline(FunctionTransformer(Slotted(CHARGED).fitted), GaussianNB()),
    ],
)
def test_an_estimator_with_a_ledger_is_refused_before_the_first_shard(estimator):
    shards = [np.array([], dtype=int)]
    for refuse in (
        check_teachable,
        lambda each: train_teachers(each, np.zeros((0, 1)), [], shards, seeds=[0]),
    ):
        with pytest.raises(ValueError, match="estimator must have no ledger"):
            refuse(estimator)


def test_an_estimator_without_a_ledger_is_not_refused():
    check_teachable(make_pipeline(ExponentialMechanismClassifier()))
    check_teachable(GridSearchCV(LogisticRegression(), {"C": np.array([1.0, 2.0])}))


def test_an_estimator_that_cannot_be_cloned_is_refused():
    with pytest.raises(TypeError, match="Cannot clone object"):
        check_teachable(object())


def test_no_part_of_a_quiet_estimator_is_verbose():
    loud = make_pipeline(BaggingClassifier(MLPClassifier(verbose=True), verbose=3), verbose=True)
    parameters = quiet(loud).get_params()
    given = {name: value for name, value in parameters.items() if name.rpartition("__")[2] == "verbose"}
    assert given == {
        "verbose": False,
        "baggingclassifier__verbose": 0,
        "baggingclassifier__estimator__verbose": False,
    }
    assert type(given["verbose"]) is bool  # a pipeline takes no integer
    assert loud.verbose is True


@pytest.mark.parametrize("verbose", [-1, 0, None, "auto"])
def test_a_verbose_that_is_no_positive_number_stays(verbose):
    assert quiet(LogisticRegression(verbose=verbose)).verbose == verbose


def test_every_open_random_state_is_settled_by_the_seed():
    pipeline = make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier()))
    first, again, other = (Seeded(pipeline).clone(seed).get_params() for seed in (1, 1, 2))
    names = [name for name in first if name.endswith("random_state")]
    assert names == ["baggingclassifier__estimator__random_state", "baggingclassifier__random_state"]
    assert len({params[name] for params in (first, other) for name in names}) == 4
    assert all(first[name] == again[name] for name in names)
    assert all(value is None for name, value in pipeline.get_params().items() if name in names)


def test_a_random_state_that_was_given_stays():
    assert Seeded(RandomForestClassifier(random_state=3)).clone(1).random_state == 3


def test_a_splitter_draws_from_no_shared_generator_either():
    search = GridSearchCV(DecisionTreeClassifier(), {}, cv=KFold(2, shuffle=True))
    seeded = Seeded(search).clone(1)
    assert isinstance(seeded.cv.random_state, int)
    assert search.cv.random_state is None
    assert seeded.cv.random_state != Seeded(search).clone(2).cv.random_state


def test_an_estimator_that_changes_later_changes_no_clone():
    forest = RandomForestClassifier(5)
    base_estimators = Seeded(forest)
    forest.set_params(n_estimators=7, random_state=1)
    assert base_estimators.clone(1).n_estimators == 5
    assert base_estimators.clone(1).random_state not in (None, 1)


def test_a_fitted_ensemble_is_no_teacher():
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    ensemble = SubsampleAggregateClassifier(GaussianNB(), n_teachers=4, epsilon=100.0, max_queries=5)
    frozen = FrozenEstimator(ensemble.fit(X, y))
    for each in (frozen, make_pipeline(frozen)):
        with pytest.raises(ValueError, match="estimator must hold no fitted ensemble"):
            check_teachable(each)
    check_teachable(ensemble)  # a clone of which is not fitted
