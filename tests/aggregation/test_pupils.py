"""A pupil has seeds of its own and prints nothing; one that would charge a ledger is refused."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from dplearn import ExponentialMechanismClassifier
from dplearn.aggregation.pupils import check_teachable, pupil
from dplearn.aggregation.teachers import train_teachers
from dplearn.privacy import PrivacyLedger

LEDGER = PrivacyLedger(1.0, 1e-6)
CHARGED = ExponentialMechanismClassifier(ledger=LEDGER)


@pytest.mark.parametrize(
    "estimator",
    [
        CHARGED,
        make_pipeline(CHARGED),
        BaggingClassifier(CHARGED),
        VotingClassifier([("a", LogisticRegression()), ("b", CHARGED)]),
        GridSearchCV(ExponentialMechanismClassifier(), {"ledger": [None, LEDGER]}),
        GridSearchCV(make_pipeline(None), [{"steps": [[("a", CHARGED)]]}]),
    ],
)
def test_what_would_charge_a_ledger_is_refused_before_the_first_shard(estimator):
    shards = [np.array([], dtype=int)]
    for refuse in (
        check_teachable,
        lambda each: train_teachers(each, np.zeros((0, 1)), [], shards, seeds=[0]),
    ):
        with pytest.raises(ValueError, match="estimator must have no ledger"):
            refuse(estimator)


def test_what_has_no_ledger_is_not_refused():
    check_teachable(make_pipeline(ExponentialMechanismClassifier()))
    check_teachable(GridSearchCV(LogisticRegression(), {"C": np.array([1.0, 2.0])}))


def test_what_cannot_be_cloned_is_refused():
    with pytest.raises(TypeError, match="Cannot clone object"):
        check_teachable(object())


def test_no_part_of_a_pupil_is_verbose():
    loud = make_pipeline(BaggingClassifier(MLPClassifier(verbose=True), verbose=3), verbose=True)
    parameters = pupil(loud, 1).get_params()
    told = {name: value for name, value in parameters.items() if name.rpartition("__")[2] == "verbose"}
    assert told == {
        "verbose": False,
        "baggingclassifier__verbose": 0,
        "baggingclassifier__estimator__verbose": False,
    }
    assert type(told["verbose"]) is bool  # a pipeline takes no integer
    assert loud.verbose is True


@pytest.mark.parametrize("verbose", [-1, 0, None, "auto"])
def test_a_verbose_that_is_no_positive_number_stays(verbose):
    assert pupil(LogisticRegression(verbose=verbose), 1).verbose == verbose
