"""No cache of joblib repeats a release: pickles never repeat, and direct calls are refused."""

import copy
import pickle
from inspect import isfunction

import joblib
import numpy as np
import pytest
from sklearn.compose import ColumnTransformer

from dplearn import ApproxDP, ExponentialMechanismClassifier, PrivacyLedger, ThresholdClassifier
from dplearn.domains import Grid
from dplearn.model_selection import PrivateSearchCV, private_score
from dplearn.preprocessing import CellEncoder, PrivateRobustScaler
from dplearn.releases import median
from dplearn.theory import simulate_locally
from tests.laws.releases import RELEASES, scored

VALUES = list(range(5000))
X, Y = np.linspace(0, 1, 200)[:, None], np.arange(200) % 2


def fitted_classifier():
    return ThresholdClassifier(domain=Grid(0, 1, 5), classes=[0, 1]).fit(X, Y)


RELEASING = {
    "transformer": PrivateRobustScaler,
    "fitted transformer": lambda: PrivateRobustScaler(domain=Grid(0, 1, 5)).fit(X),
    "encoder": CellEncoder,
    "fitted encoder": lambda: CellEncoder().fit(X),
    "classifier": ThresholdClassifier,
    "fitted classifier": fitted_classifier,
    "search": lambda: PrivateSearchCV(ThresholdClassifier(), {"epsilon": [1]}),
    "wrapped": lambda: {"any": [PrivateRobustScaler()]},
    "columns": lambda: ColumnTransformer([("a", PrivateRobustScaler(), [0])]),
}
#: Release something, and take nothing of this package; of each release the first.
FUNCTIONS = {record.name: record for record in reversed(RELEASES.values()) if isfunction(record.function)}


def all_zero(oracle):
    return 0


@pytest.mark.parametrize("kind", RELEASING)
def test_no_two_pickles_of_what_releases_something_are_alike_and_random_bytes_are_in_no_copy(kind):
    one = RELEASING[kind]()
    assert len({joblib.hash(one) for _ in range(3)}) == 3
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert len({pickle.dumps(one, protocol) for _ in range(3)}) == 3
    for twin in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert kind == "wrapped" or vars(twin).keys() == vars(one).keys()


def test_a_cached_function_that_is_given_a_ledger_is_called_and_charged_again(tmp_path):
    cached = joblib.Memory(tmp_path / "cache", verbose=0).cache(its_median)
    ledger = PrivacyLedger(100, path=tmp_path / "ledger")
    for _ in range(3):
        cached(VALUES, ledger)
    assert len(ledger.history()) == 3


def test_a_ledger_is_pickled_alike_until_it_is_charged_and_never_if_it_cannot_be_read(tmp_path):
    for path in (None, tmp_path / "ledger"):
        ledger = PrivacyLedger(1, path=path)
        pickles = [pickle.dumps(ledger), pickle.dumps(ledger)]
        ledger.charge(ApproxDP(0.25))
        pickles += [pickle.dumps(ledger), pickle.dumps(ledger)]
        assert pickles[0] == pickles[1] != pickles[2] == pickles[3]
        twins = [pickle.loads(file) for file in pickles]
        assert all(vars(twin).keys() == vars(ledger).keys() for twin in twins)
        assert all(twin.spent().epsilon == ApproxDP(0.25).epsilon for twin in twins)
    (tmp_path / "ledger").unlink()
    assert len({pickle.dumps(ledger) for _ in range(3)}) == 3


def its_median(values, ledger):
    return median(values, ledger=ledger).value


def test_releases_and_fits_refuse_to_be_cached_directly(tmp_path):
    fit = ThresholdClassifier(domain=Grid(0, 1, 5), classes=[0, 1]).fit
    calls = [
        (fit, (X, Y), {}),
        (simulate_locally, (all_zero, np.array(VALUES)), {"n_queries": 1, "tolerance": 0.5}),
        (private_score, scored("scored"), {}),
        *(
            (record.function, (record.table,), record.parameters)
            for record in FUNCTIONS.values()
            if record.function is not private_score
        ),
    ]
    for function, values, how in calls:
        with pytest.raises(TypeError, match=r"must not be cached by joblib\.Memory"):
            joblib.Memory(tmp_path, verbose=0).cache(function)(*values, **how)


def test_a_search_still_finds_equal_parameters_equal_and_workers_are_no_cache():
    assert joblib.hash(Grid(0, 1, 5)) == joblib.hash(Grid(0, 1, 5))
    assert ExponentialMechanismClassifier().get_params() == ExponentialMechanismClassifier().get_params()
    found = joblib.Parallel(n_jobs=1)(joblib.delayed(median)(VALUES) for _ in range(2))
    assert len(found) == 2
